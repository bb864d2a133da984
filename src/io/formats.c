/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of formats: by name, by ending, by first bytes, and in messages. */
#include "io/format.h"

#include "base/number.h"

#include <mercer/fit.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const mrc_format *const formats[] = {
#define MRC_FORMAT(file, name) &mrc_format_##name,
#include "io/formats.def"
#undef MRC_FORMAT
};

enum { FORMATS = sizeof formats / sizeof *formats, LIST_SIZE = 160 };

static bool has_ending(const char *path, size_t length, const char *ending, size_t size)
{
    return length > size && memcmp(path + length - size, ending, size) == 0;
}

static bool has_gz(const char *path)
{
    return has_ending(path, strlen(path), ".gz", 3);
}

/* The next word of a list and its length; false at the end. */
static bool next_word(const char **list, const char **word, size_t *length)
{
    if (!*list || !**list)
        return false;
    *word = *list;
    *length = strcspn(*list, " ");
    *list += *length + strspn(*list + *length, " ");
    return true;
}

static bool is_called(const mrc_format *format, const char *name)
{
    const char *list = format->also, *word;
    size_t length;
    if (strcmp(format->entry.name, name) == 0)
        return true;
    while (next_word(&list, &word, &length))
        if (mrc_same_text(name, word, length))
            return true;
    return false;
}

/* Whether path, of this length without ".gz", is of the format. */
static bool is_ending(const mrc_format *format, const char *path, size_t path_length)
{
    const char *list = format->endings, *word;
    size_t length;
    while (next_word(&list, &word, &length))
        if (has_ending(path, path_length, word, length))
            return true;
    return false;
}

/* The place in the list, or -1. */
static int find(const char *path, const char *name)
{
    size_t length = strlen(path) - (has_gz(path) ? 3 : 0);
    for (int i = 0; i < FORMATS; i++)
        if (name ? is_called(formats[i], name) : is_ending(formats[i], path, length))
            return i;
    return -1;
}

const mrc_format *mrc_format_of_stream(const void *bytes, size_t count)
{
    for (int i = 0; i < FORMATS; i++) {
        const char *magic = formats[i]->magic;
        if (magic && count >= strlen(magic) && memcmp(bytes, magic, strlen(magic)) == 0)
            return formats[i];
    }
    return formats[0];
}

const mrc_format *mrc_format_of_folder(void)
{
    int i = 0;
    while (!(formats[i]->caps & MRC_OPENS_FOLDER))
        i++;
    return formats[i];
}

const mercer_entry *mercer_format_at(int index)
{
    return index >= 0 && index < FORMATS ? &formats[index]->entry : NULL;
}

const mrc_format *mrc_format_of(const mercer_entry *entry)
{
    for (int i = 0; i < FORMATS; i++)
        if (&formats[i]->entry == entry)
            return formats[i];
    return NULL;
}

int mercer_entry_writes(const mercer_entry *entry)
{
    const mrc_format *format = mrc_format_of(entry);
    return format && format->writer;
}

const mercer_entry *mercer_format_find(const char *path, const char *format)
{
    int found = find(path ? path : "", format);
    return found >= 0 ? &formats[found]->entry : NULL;
}

/* --- messages --- */

static void append(char list[LIST_SIZE], const char *word, size_t length)
{
    size_t used = strlen(list);
    snprintf(list + used, LIST_SIZE - used, "%s%.*s", used ? ", " : "", (int)length, word);
}

/* Append endings of a file, one or all. */
static void append_endings(char list[LIST_SIZE], const mrc_format *format, bool all)
{
    const char *rest = format->endings, *word;
    size_t length;
    if (format->caps & MRC_OPENS_FOLDER)
        return;
    for (bool more = true; more && next_word(&rest, &word, &length); more = all)
        append(list, word, length);
}

/* "a, b, c" as "a, b and c". */
static void say_and(char list[LIST_SIZE])
{
    char *last = NULL, end[LIST_SIZE];
    for (char *at = list; (at = strstr(at, ", ")); at++)
        last = at;
    if (!last)
        return;
    snprintf(end, sizeof end, "%s", last + 2);
    snprintf(last, (size_t)(list + LIST_SIZE - last), " and %s", end);
}

mercer_status mrc_format_find(const char *path, const char *name, const mrc_format **out,
                              bool *gzip, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], list[2][LIST_SIZE] = {"", ""};
    *gzip = has_gz(path);
    int found = find(path, name);
    *out = found >= 0 ? formats[found] : NULL;
    if (found >= 0 || !name)
        return MERCER_OK;
    for (int i = 0; i < FORMATS; i++)
        append(list[!formats[i]->writer], formats[i]->entry.name, strlen(formats[i]->entry.name));
    return mrc_fail(err, MERCER_ERR_ARGUMENT,
                    "unknown format '%s' (known: %s; for reading also %s)",
                    mrc_show(shown, name, strlen(name)), list[0], list[1]);
}

/* What to do with files of other programs, by their ending. */
static const struct stranger {
    const char *ending, *advice;
} strangers[] = {
    {".xlsx", "Excel is not read; save it as CSV"},
    {".xls", "Excel is not read; save it as CSV"},
    {".ods", "OpenDocument is not read; save it as CSV"},
    {".db", "SQLite is not read; let sqlite3 -csv -header write CSV"},
    {".sqlite", "SQLite is not read; let sqlite3 -csv -header write CSV"},
    {".sqlite3", "SQLite is not read; let sqlite3 -csv -header write CSV"},
    {".parquet", "Parquet is not read; in Python df.to_csv(\"x.csv\", index=False) writes CSV"},
    {".feather", "Feather is not read; in Python df.to_csv(\"x.csv\", index=False) writes CSV"},
    {".pkl", "pickles are not read; in Python df.to_csv(\"x.csv\", index=False) writes CSV"},
    {".pickle", "pickles are not read; in Python df.to_csv(\"x.csv\", index=False) writes CSV"},
    {".rds", "R's own files are not read; in R write.csv(x, \"x.csv\") writes CSV"},
    {".json", "JSON is not read; write it as CSV"},
    {".jsonl", "JSON is not read; write it as CSV"},
};

mercer_status mrc_format_fail(const char *path, bool reading, mercer_error *err)
{
    char list[2][LIST_SIZE] = {"", ""};
    size_t length = strlen(path);
    for (size_t i = 0; reading && i < sizeof strangers / sizeof *strangers; i++) {
        size_t ending = strlen(strangers[i].ending);
        if (length > ending && strcasecmp(path + length - ending, strangers[i].ending) == 0)
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: %s", path,
                               strangers[i].advice);
    }
    for (int i = 0; i < FORMATS; i++)
        append_endings(list[!formats[i]->writer], formats[i], true);
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                       "%s: cannot infer the format from the extension (known: %s, each also with "
                       ".gz; for reading "
                       "also %s and folders of %s)",
                       path, list[0], list[1], mrc_format_of_folder()->entry.name);
}

mercer_status mrc_format_fail_array(const char *path, const char *array, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], list[LIST_SIZE] = "";
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->caps & MRC_HAS_ARRAYS)
            append_endings(list, formats[i], false);
    say_and(list);
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                       "%s: has no arrays by name, so ':%s' cannot follow (%s have)", path,
                       mrc_show(shown, array, strlen(array)), list);
}

mercer_status mrc_format_fail_write(const char *path, mercer_error *err)
{
    char list[LIST_SIZE] = "";
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->writer)
            append_endings(list, formats[i], false);
    say_and(list);
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                       "%s: this format is read but not written (%s are)", path, list);
}
