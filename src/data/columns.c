/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes and texts by their names, and columns in messages. */
#include "data/columns.h"

#include "base/memory.h"
#include "data/rows.h"

#include <stdio.h>
#include <string.h>

enum { CLASSES_FIRST = 16 };

bool mrc_same_text(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == 0;
}

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static const char too_many_classes[] = "this number of different classes or texts";

/* Double the hash table and enter all classes again. */
static mercer_status grow_slots(mrc_classes *classes, mercer_error *err)
{
    int64_t count = classes->slot_count ? 2 * classes->slot_count : 2 * CLASSES_FIRST, *slots;
    mercer_status rc = mrc_budget_take(classes->budget, count - classes->slot_count, sizeof *slots,
                                       too_many_classes, err);
    if (rc == MERCER_OK)
        rc = mrc_alloc(&slots, count, sizeof *slots, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < classes->count; i++) {
        uint64_t at = hash_text(classes->names[i], strlen(classes->names[i]));
        while (slots[at & (uint64_t)(count - 1)])
            at++;
        slots[at & (uint64_t)(count - 1)] = i + 1;
    }
    classes->taken += (count - classes->slot_count) * (int64_t)sizeof *slots;
    mrc_free(classes->slots);
    classes->slots = slots;
    classes->slot_count = count;
    return MERCER_OK;
}

mercer_status mrc_classes_code(mrc_classes *classes, const char *text, size_t length, int64_t *code,
                               mercer_error *err)
{
    char *name = NULL;
    mercer_status rc = MERCER_OK;
    if (classes->count && mrc_same_text(classes->names[classes->last], text, length)) {
        *code = classes->last;
        return MERCER_OK;
    }
    if (2 * (classes->count + 1) > classes->slot_count)
        MRC_TRY(grow_slots(classes, err));
    uint64_t at = hash_text(text, length), mask = (uint64_t)(classes->slot_count - 1);
    for (; classes->slots[at & mask]; at++)
        if (mrc_same_text(classes->names[classes->slots[at & mask] - 1], text, length))
            break;
    if (!classes->slots[at & mask]) {
        MRC_TRY(mrc_budget_name(classes->budget, "a class", length, err));
        if (classes->count == classes->capacity) {
            int64_t capacity = 2 * classes->capacity + CLASSES_FIRST;
            MRC_TRY(mrc_grow(&classes->names, capacity, sizeof *classes->names, err));
            classes->capacity = capacity;
        }
        const int64_t bytes = MRC_NAME_BYTES + 2 * (int64_t)length;
        MRC_TRY(mrc_budget_take(classes->budget, 1, bytes, too_many_classes, err));
        classes->taken += bytes;
        MRC_TRY(mrc_alloc(&name, (int64_t)length + 1, 1, err));
        memcpy(name, text, length);
        classes->names[classes->count++] = name;
        classes->slots[at & mask] = classes->count;
    }
    classes->last = classes->slots[at & mask] - 1;
    *code = classes->last;
out:
    return rc;
}

void mrc_classes_destroy(mrc_classes *classes)
{
    mrc_free_names(classes->names, classes->count);
    mrc_free(classes->slots);
    mrc_budget_give(classes->budget, classes->taken, 1);
    *classes = (mrc_classes){.budget = classes->budget};
}

int64_t mrc_column_named(const mrc_columns *columns, const char *text, size_t length)
{
    for (int64_t i = 0; columns->names && i < columns->count; i++)
        if (mrc_same_text(columns->names[i], text, length))
            return i;
    return -1;
}

const char *mrc_column_shown(char out[MRC_COLUMN_SHOWN], const mrc_columns *columns, int64_t column)
{
    char name[MRC_SHOWN_SIZE];
    if (columns->names)
        snprintf(out, MRC_COLUMN_SHOWN, "column '%s'",
                 mrc_show(name, columns->names[column], strlen(columns->names[column])));
    else
        snprintf(out, MRC_COLUMN_SHOWN, "column %lld", (long long)column + 1);
    return out;
}

/* Letters of ASCII in lower case. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Single edits (insert, delete, replace) between two texts in any case; more than MAX_EDITS for
 * texts that are too long to be compared. */
enum { MAX_EDITS = 2, MAX_COMPARED = 48 };
static int count_edits(const char *a, size_t n, const char *b, size_t m)
{
    int row[MAX_COMPARED + 1];
    if (n > MAX_COMPARED || m > MAX_COMPARED)
        return MAX_EDITS + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int replaced = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            int one = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = replaced < one + 1 ? replaced : one + 1;
        }
    }
    return row[m];
}

const char *mrc_column_near(char out[MRC_SHOWN_SIZE + 24], const mrc_columns *columns,
                            const char *text, size_t length)
{
    char shown[MRC_SHOWN_SIZE];
    int least = length <= 4 ? 1 : MAX_EDITS; /* short names resemble each other too easily */
    const char *best = NULL;
    for (int64_t i = 0; columns->names && i < columns->count; i++) {
        int edits = count_edits(text, length, columns->names[i], strlen(columns->names[i]));
        if (best ? edits < least : edits <= least) {
            best = columns->names[i];
            least = edits;
        }
    }
    out[0] = 0;
    if (best)
        snprintf(out, MRC_SHOWN_SIZE + 24, "; did you mean '%s'?",
                 mrc_show(shown, best, strlen(best)));
    return out;
}

/* Words that other programs write for a value that is not there. */
bool mrc_means_missing(const char *text, size_t length, bool certain)
{
    enum { CERTAIN = 6 }; /* the first ones; others can be values of a text column */
    static const char *const words[] = {"",    "NA",  "NaN", "nan",  "?",    "#N/A",
                                        "N/A", "n/a", "na",  "null", "NULL", "None"};
    size_t count = certain ? CERTAIN : sizeof words / sizeof *words;
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
            return true;
    return false;
}

bool mrc_means_na(const mrc_columns *columns, const char *text, size_t length)
{
    double value, number;
    for (int64_t i = 0; i < columns->na_count; i++) {
        const char *na = columns->na[i];
        if (mrc_same_text(na, text, length))
            return true;
        if (mrc_parse_double(na, strlen(na), &number) && mrc_parse_double(text, length, &value) &&
            value == number)
            return true;
    }
    return false;
}

bool mrc_may_mean_missing(const char *text, size_t length)
{
    static const char *const marks[] = {"-",       "--",      ".",      "..",    "?",
                                        "*",       "<NA>",    "NaT",    "#N/A",  "#REF!",
                                        "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (mrc_same_text(marks[i], text, length))
            return true;
    return false;
}

bool mrc_means_unlabelled(const mrc_columns *columns, const char *text, size_t length)
{
    return mrc_means_missing(text, length, true) || mrc_means_na(columns, text, length);
}

mrc_asked mrc_column_asked(const char *text, size_t length, int64_t count)
{
    static const char name[] = "name:", position[] = "position:";
    const size_t to_name = sizeof name - 1, to_position = sizeof position - 1;
    mrc_asked asked = {0};
    if (length > to_name && memcmp(text, name, to_name) == 0) {
        asked.name = text + to_name;
        asked.length = length - to_name;
        return asked;
    }
    const bool told = length > to_position && memcmp(text, position, to_position) == 0;
    const size_t skip = told ? to_position : 0;
    if (!mrc_parse_int(text + skip, length - skip, &asked.position) || asked.position < 1 ||
        asked.position > count)
        asked.position = 0;
    return asked;
}

bool mrc_column_range(const char *text, size_t length, int64_t count, int64_t *first, int64_t *last)
{
    const char *dash = memchr(text, '-', length);
    if (!dash || !mrc_parse_int(text, (size_t)(dash - text), first) || *first < 1)
        return false;
    size_t rest = length - (size_t)(dash - text) - 1;
    if (rest == 0)
        *last = count;
    else if (!mrc_parse_int(dash + 1, rest, last))
        return false;
    return *first <= *last && *last <= count;
}
