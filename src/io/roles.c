/* The role of each column of a file: data, label, target, or not wanted. */
#include "io/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LISTED_SIZE = 240,     /* of the columns listed in an error */
    MAX_LABELLED = 1 << 24 /* columns of a sparse matrix that get a role each */
};

/* Append the columns' names to text for a message, as many as fit. */
static void list_columns(const mrc_columns *columns, char *text, size_t size)
{
    size_t used = 0;
    if (!columns->names) {
        snprintf(text, size, "it has %lld column%s without names", (long long)columns->count,
                 columns->count == 1 ? "" : "s");
        return;
    }
    used = (size_t)snprintf(text, size, "columns: ");
    for (int64_t i = 0; i < columns->count; i++) {
        char shown[MRC_SHOWN_SIZE];
        size_t left = size - used;
        mrc_show(shown, columns->names[i], strlen(columns->names[i]));
        if (strlen(shown) + sizeof ", , ..." > left) {
            snprintf(text + used, left, "%s...", i ? ", " : "");
            return;
        }
        used += (size_t)snprintf(text + used, left, "%s%s", i ? ", " : "", shown);
    }
}

/* The column that a text of the caller means, -1 for none: NAME, a 1-based POSITION, name:NAME or
 * position:POSITION. A text that means two columns is refused, because either choice would be a
 * silent mistake for somebody. */
static mercer_status find_column(const mercer_reader *reader, const char *text, size_t length,
                                 int64_t *out, mercer_error *err)
{
    const mrc_columns *columns = &reader->source.columns;
    char shown[MRC_SHOWN_SIZE], other[MRC_COLUMN_SHOWN];
    mrc_asked asked = mrc_column_asked(text, length, columns->count);
    int64_t whole = mrc_column_named(columns, text, length);
    int64_t part =
        asked.name ? mrc_column_named(columns, asked.name, asked.length) : asked.position - 1;
    *out = whole >= 0 ? whole : part;
    if (whole < 0 || part < 0 || whole == part)
        return MERCER_OK;
    mrc_show(shown, text, length);
    mrc_column_shown(other, columns, part);
    return mrc_fail_at(
        err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
        "%s: '%s' means two columns: column %lld by its name, and %s; write name:%s for "
        "the first, position:%lld for the second",
        reader->source.input.shown, shown, (long long)whole + 1, other, shown, (long long)part + 1);
}

static mercer_status need_column(const mercer_reader *reader, const char *text, size_t length,
                                 int64_t *out, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], listed[LISTED_SIZE];
    mercer_status rc = find_column(reader, text, length, out, err);
    if (rc != MERCER_OK || *out >= 0)
        return rc;
    list_columns(&reader->source.columns, listed, sizeof listed);
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: there is no column '%s' (%s)",
                       reader->source.input.shown, mrc_show(shown, text, length), listed);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Two columns of one name could be taken for each other; refuse them. */
static mercer_status check_names(const mercer_reader *reader, mercer_error *err)
{
    const mrc_columns *columns = &reader->source.columns;
    char **sorted = NULL;
    mercer_status rc = MERCER_OK;
    if (!columns->names)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&sorted, columns->count, 1, sizeof *sorted, err));
    memcpy(sorted, columns->names, (size_t)columns->count * sizeof *sorted);
    qsort(sorted, (size_t)columns->count, sizeof *sorted, compare_names);
    for (int64_t i = 1; i < columns->count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            char shown[MRC_SHOWN_SIZE];
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: two columns are called '%s'",
                        reader->source.input.shown, mrc_show(shown, sorted[i], strlen(sorted[i])));
        }
out:
    mrc_free(sorted);
    return rc;
}

/* Whether each part of a comma-separated text means a column. */
static bool is_list(const mercer_reader *reader, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        int64_t column;
        if (find_column(reader, text, length, &column, NULL) == MERCER_OK && column < 0)
            return false;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

/* Mark the columns listed in text (a name, or comma-separated names and positions) as targets. */
static mercer_status mark_targets(mercer_reader *reader, const char *text, mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    char shown[MRC_SHOWN_SIZE];
    int64_t column;
    mercer_status rc = find_column(reader, text, strlen(text), &column, err);
    if (rc != MERCER_OK)
        return rc;
    if (column >= 0) { /* also a name with a comma in it */
        if (strchr(text, ',') && column == mrc_column_named(columns, text, strlen(text)) &&
            is_list(reader, text)) {
            mrc_show(shown, text, strlen(text));
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                               "%s: '%s' is the name of column %lld, but also a list of other "
                               "columns; write name:%s for the first, positions for the others",
                               reader->source.input.shown, shown, (long long)column + 1, shown);
        }
        columns->role[column] = MRC_ROLE_TARGET(0);
        columns->targets = 1;
        return MERCER_OK;
    }
    for (;;) {
        size_t length = strcspn(text, ",");
        rc = need_column(reader, text, length, &column, err);
        if (rc != MERCER_OK)
            return rc;
        if (columns->role[column] <= MRC_ROLE_TARGET(0))
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                               "%s: target column '%s' is given twice", reader->source.input.shown,
                               mrc_show(shown, text, length));
        columns->role[column] = MRC_ROLE_TARGET(columns->targets);
        columns->targets++;
        if (!text[length])
            return MERCER_OK;
        text += length + 1;
    }
}

/* "column 'age'" or "column 3", appended. */
static void append_column(char *text, size_t size, const mrc_columns *columns, int64_t column)
{
    char shown[MRC_SHOWN_SIZE];
    size_t used = strlen(text);
    if (columns->names)
        snprintf(text + used, size - used, "'%s'",
                 mrc_show(shown, columns->names[column], strlen(columns->names[column])));
    else
        snprintf(text + used, size - used, "%lld", (long long)column + 1);
}

static void describe_origin(mercer_reader *reader, const char *labels_file)
{
    const mrc_columns *columns = &reader->source.columns;
    char *text = reader->source.origin;
    if (labels_file) {
        snprintf(text, MRC_ORIGIN_SIZE, "classes from %s", labels_file);
    } else if (columns->label >= 0) {
        snprintf(text, MRC_ORIGIN_SIZE, "classes from column ");
        append_column(text, MRC_ORIGIN_SIZE, columns, columns->label);
    } else if (columns->targets) {
        snprintf(text, MRC_ORIGIN_SIZE, "values from column%s ", columns->targets > 1 ? "s" : "");
        for (int64_t k = 0; k < columns->targets; k++)
            for (int64_t i = 0; i < columns->count; i++)
                if (columns->role[i] == MRC_ROLE_TARGET(k)) {
                    size_t used = strlen(text);
                    snprintf(text + used, MRC_ORIGIN_SIZE - used, "%s", k ? ", " : "");
                    append_column(text, MRC_ORIGIN_SIZE, columns, i);
                }
    }
}

/* The rule of io.h: columns called "label" and "target" when the caller says nothing. */
static mercer_status decide_by_name(mercer_reader *reader, const mercer_read_options *options,
                                    mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    if (!columns->names || options->no_label)
        return MERCER_OK;
    int64_t label = -1, target = -1;
    for (int64_t i = 0; i < columns->count; i++) {
        label = strcmp(columns->names[i], "label") == 0 ? i : label;
        target = strcmp(columns->names[i], "target") == 0 ? i : target;
    }
    if (options->labels_file && (label >= 0 || target >= 0))
        return mrc_fail_at(
            err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
            "%s: has a column '%s', but classes are to come from %s (with no-label the "
            "column is data)",
            reader->source.input.shown, label >= 0 ? "label" : "target", options->labels_file);
    if (label >= 0 && target >= 0)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "label target", .names_file = 1),
                           "%s: has a column 'label' and a column 'target'; choose one",
                           reader->source.input.shown);
    if (label >= 0)
        columns->label = label;
    if (target >= 0) {
        columns->role[target] = MRC_ROLE_TARGET(0);
        columns->targets = 1;
    }
    return MERCER_OK;
}

/* The columns that were asked for by name, in that order. */
static mercer_status take_only(mercer_reader *reader, const mercer_read_options *options,
                               mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    char listed[LISTED_SIZE];
    int64_t *where = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&where, options->only_count, sizeof *where, err));
    for (int64_t j = 0; j < options->only_count; j++) {
        where[j] = -1;
        for (int64_t i = 0; i < columns->count && where[j] < 0; i++)
            if (columns->role[i] == 0 && strcmp(columns->names[i], options->only[j]) == 0)
                where[j] = i;
        if (where[j] < 0) {
            list_columns(columns, listed, sizeof listed);
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.column = options->only[j], .names_file = 1),
                        "%s: needed column '%s' is missing (%s)", reader->source.input.shown,
                        options->only[j], listed);
        }
    }
    for (int64_t i = 0; i < columns->count; i++)
        if (columns->role[i] == 0) {
            columns->role[i] = MRC_ROLE_SKIPPED;
            columns->skipped++;
        }
    for (int64_t j = 0; j < options->only_count; j++)
        columns->role[where[j]] = j;
    columns->data = options->only_count;
    columns->skipped -= options->only_count;
out:
    mrc_free(where);
    return rc;
}

int64_t mercer_reader_skipped(const mercer_reader *reader, const char **first)
{
    if (first)
        *first = NULL;
    if (!reader)
        return 0;
    const mrc_columns *columns = &reader->source.columns;
    const char *name = NULL;
    for (int64_t i = 0; columns->skipped && i < columns->count && !name; i++)
        if (columns->role[i] == MRC_ROLE_SKIPPED)
            name = columns->names[i];
    if (first)
        *first = name;
    return columns->skipped;
}

mercer_status mrc_decide_roles(mercer_reader *reader, const mercer_read_options *options,
                               mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    mercer_status rc = MERCER_OK;
    columns->label = -1;
    if (reader->source.format->caps & MRC_LABELS_FRONT) /* labels are not columns */
        goto out;
    if (reader->source.sparse && !options->label && !options->target) {
        columns->data = columns->count; /* there may be many, and none is told apart */
        describe_origin(reader, options->labels_file);
        goto out;
    }
    if (reader->source.sparse && columns->count > MAX_LABELLED)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE,
                    "%s: label and target cannot be columns of a sparse matrix of more than %d",
                    reader->source.input.shown, MAX_LABELLED);
    MRC_TRY(mrc_budget_take(&reader->source.budget, columns->count,
                            2 * (int64_t)sizeof *columns->role, "this number of columns",
                            err)); /* for their names in order, too */
    MRC_TRY(check_names(reader, err));
    MRC_TRY(mrc_alloc2(&columns->role, columns->count, 1, sizeof *columns->role, err));
    if (options->label)
        MRC_TRY(need_column(reader, options->label, strlen(options->label), &columns->label, err));
    else if (options->target)
        MRC_TRY(mark_targets(reader, options->target, err));
    else
        MRC_TRY(decide_by_name(reader, options, err));
    if (columns->label >= 0)
        columns->role[columns->label] = MRC_ROLE_LABEL;
    bool chosen = options->only && columns->names;
    if (chosen)
        MRC_TRY(take_only(reader, options, err));
    for (int64_t i = 0; i < columns->count && !chosen; i++)
        if (columns->role[i] == 0)
            columns->role[i] = columns->data++;
    if (columns->data == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: no data columns are left beside the %s",
                    reader->source.input.shown, columns->label >= 0 ? "label" : "targets");
    describe_origin(reader, options->labels_file);
out:
    return rc;
}
