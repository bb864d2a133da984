/* SPDX-License-Identifier: BSD-3-Clause */
/* The role of each column of a file: data, label, target, id, or not wanted.
 *
 * Label, targets and id are those that the caller names, else those that the preparation of a model
 * remembers, else those of the rule in io.h. Of the other columns those are data that the caller
 * wants (use_columns, drop_columns), and of these those that a model has (only). */
#include "io/matrix.h"
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

/* Where a name of two columns stands in the way: in the table, in what the caller asks for, or in
 * what a model needs. */
enum twice { TWICE_IN_TABLE, TWICE_ASKED, TWICE_NEEDED };

static mercer_status refuse_name(const mercer_reader *reader, int64_t first, int64_t second,
                                 enum twice twice, mercer_error *err)
{
    static const char *const hints[] = {
        [TWICE_IN_TABLE] = "leave one of them out by its position",
        [TWICE_ASKED] = "write the position of the one that is meant, and leave the other one out",
        [TWICE_NEEDED] = "the model needs one of them: give the other one another name"};
    const char *name = reader->source.columns.names[first];
    char shown[MRC_SHOWN_SIZE], position[MRC_NUMBER_SIZE + 16] = "position:";
    mrc_format_double((double)(second + 1), position + strlen(position));
    return mrc_fail_at(err, MERCER_ERR_DATA,
                       MRC_AT(.names_file = 1, .column = name, .position = second + 1,
                              .advice_key = twice == TWICE_IN_TABLE ? "drop" : NULL,
                              .advice_value = position),
                       "%s: two columns are called '%s', %lld and %lld; %s",
                       reader->source.input.shown, mrc_show(shown, name, strlen(name)),
                       (long long)first + 1, (long long)second + 1, hints[twice]);
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
    /* By its name a column is meant only where no other one has it. */
    for (int64_t i = *out + 1;
         columns->names && *out >= 0 && *out != asked.position - 1 && i < columns->count; i++)
        if (strcmp(columns->names[i], columns->names[*out]) == 0)
            return refuse_name(reader, *out, i, TWICE_ASKED, err);
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
    char shown[MRC_SHOWN_SIZE], listed[LISTED_SIZE], near[MRC_SHOWN_SIZE + 24];
    mercer_status rc = find_column(reader, text, length, out, err);
    if (rc != MERCER_OK || *out >= 0)
        return rc;
    list_columns(&reader->source.columns, listed, sizeof listed);
    mrc_column_near(near, &reader->source.columns, text, length);
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: there is no column '%s'%s (%s)",
                       reader->source.input.shown, mrc_show(shown, text, length), near, listed);
}

struct named {
    const char *name;
    int64_t column;
    bool used;
};

/* Columns of one name in their order. */
static int compare_names(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

/* Two columns of one name could be taken for each other; refuse them, unless the caller has left
 * one of them out. by_name: those that are used were found by their names, so no other column may
 * have these. *twice: another column has the name of one that is used. */
static mercer_status check_names(const mercer_reader *reader, bool by_name, bool *twice,
                                 mercer_error *err)
{
    const mrc_columns *columns = &reader->source.columns;
    struct named *sorted = NULL;
    mercer_status rc = MERCER_OK;
    *twice = false;
    if (!columns->names)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&sorted, columns->count, 1, sizeof *sorted, err));
    for (int64_t i = 0; i < columns->count; i++)
        sorted[i] = (struct named){columns->names[i], i, columns->role[i] != MRC_ROLE_SKIPPED};
    qsort(sorted, (size_t)columns->count, sizeof *sorted, compare_names);
    for (int64_t i = 0, end; i < columns->count; i = end) {
        int64_t used = 0, pair[2] = {sorted[i].column, sorted[i].column};
        for (end = i; end < columns->count && strcmp(sorted[i].name, sorted[end].name) == 0; end++)
            if (sorted[end].used && used++ < 2)
                pair[used - 1] = sorted[end].column;
        *twice |= used == 1 && end > i + 1;
        if (used > 1)
            MRC_TRY(refuse_name(reader, pair[0], pair[1], by_name ? TWICE_NEEDED : TWICE_IN_TABLE,
                                err));
        else if (by_name && used == 1 && end > i + 1)
            MRC_TRY(refuse_name(reader, sorted[i].column, sorted[i + 1].column, TWICE_NEEDED, err));
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
    for (int64_t i = 0; i < (label > target ? label : target); i++)
        if (strcmp(columns->names[i], columns->names[label > target ? label : target]) == 0)
            return mrc_fail_at(err, MERCER_ERR_DATA,
                               MRC_AT(.key = reader->prepare_from_model
                                                 ? (label >= 0 ? "label" : "target")
                                             : label >= 0 ? "label drop"
                                                          : "target drop",
                                      .names_file = 1, .column = columns->names[i]),
                               "%s: two columns are called '%s', %lld and %lld; name one by its "
                               "position and leave the other one out",
                               reader->source.input.shown, label >= 0 ? "label" : "target",
                               (long long)i + 1, (long long)(label > target ? label : target) + 1);
    if (label >= 0)
        columns->label = label;
    if (target >= 0) {
        columns->role[target] = MRC_ROLE_TARGET(0);
        columns->targets = 1;
    }
    return MERCER_OK;
}

/* Whether the columns that a model needs stand where they stood in its own file, with their names:
 * then others may have these names, too. */
static bool stands_as_ever(const mercer_reader *reader, const mercer_read_options *options)
{
    const mrc_columns *columns = &reader->source.columns;
    const mrc_remembered *remembered = &reader->prepare->remembered;
    bool same = reader->prepare_from_model && remembered->places && columns->names &&
                columns->count == remembered->file_columns &&
                options->only_count == remembered->place_count;
    for (int64_t j = 0; same && j < options->only_count; j++) {
        const int64_t place = remembered->places[j];
        same = place >= 0 && place < columns->count && columns->role[place] == 0 &&
               strcmp(columns->names[place], options->only[j]) == 0;
    }
    return same;
}

/* The columns that were asked for by name, in that order; *placed: by their places as well. */
static mercer_status take_only(mercer_reader *reader, const mercer_read_options *options,
                               bool *placed, mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    char listed[LISTED_SIZE];
    int64_t *where = NULL;
    struct named *sorted = NULL; /* by name: there may be very many */
    mercer_status rc = MERCER_OK;
    *placed = stands_as_ever(reader, options);
    MRC_TRY(mrc_alloc(&where, options->only_count, sizeof *where, err));
    MRC_TRY(mrc_alloc2_raw(&sorted, columns->count, 1, sizeof *sorted, err));
    for (int64_t i = 0; i < columns->count; i++)
        sorted[i] = (struct named){columns->names[i], i, columns->role[i] == 0};
    qsort(sorted, (size_t)columns->count, sizeof *sorted, compare_names);
    for (int64_t j = 0; j < options->only_count; j++) {
        int64_t low = 0, high = columns->count; /* the first that is not before lies in between */
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (strcmp(sorted[middle].name, options->only[j]) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        where[j] = *placed ? reader->prepare->remembered.places[j] : -1;
        for (; low < columns->count && where[j] < 0; low++) {
            if (strcmp(sorted[low].name, options->only[j]) != 0)
                break;
            where[j] = sorted[low].used ? sorted[low].column : -1;
        }
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
    mrc_free(sorted);
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

/* Label or targets that the preparation of a model remembers; false when they are not there. */
static bool recall(mercer_reader *reader)
{
    mrc_columns *columns = &reader->source.columns;
    const mrc_remembered *remembered = &reader->prepare->remembered;
    int64_t found = 0;
    if (!columns->names)
        return false;
    if (remembered->label)
        columns->label = mrc_column_named(columns, remembered->label, strlen(remembered->label));
    for (int64_t k = 0; k < remembered->target_count; k++)
        found +=
            mrc_column_named(columns, remembered->targets[k], strlen(remembered->targets[k])) >= 0;
    if (found == 0 || found < remembered->target_count)
        return columns->label >= 0;
    for (int64_t k = 0; k < found; k++)
        columns->role[mrc_column_named(columns, remembered->targets[k],
                                       strlen(remembered->targets[k]))] = MRC_ROLE_TARGET(k);
    columns->targets = found;
    return true;
}

/* Whether the columns of a file without names stand where those of the model's file did. */
static bool has_places(const mercer_reader *reader)
{
    const mrc_remembered *remembered = &reader->prepare->remembered;
    return reader->prepare_from_model && remembered->places && !reader->source.columns.names &&
           reader->source.columns.count == remembered->file_columns;
}

/* A first column without a name that counts rows, or names them, is the id unless the caller has
 * another use for it. */
static bool is_id_by_itself(const mercer_reader *reader, const mercer_ctx *ctx,
                            const mercer_read_options *options)
{
    const mrc_columns *columns = &reader->source.columns;
    bool texts = columns->counting == MRC_COUNTING_TEXTS;
    if (columns->counting == MRC_COUNTING_NONE || columns->role[0] != 0 || columns->label == 0 ||
        options->only || options->use_columns || columns->count == 1)
        return false;
    if (texts)
        mrc_notice_at(ctx, MRC_AT(.key = "id", .names_file = 1),
                      "%s: column 1 has no name and a different text in each row: taken as the id",
                      reader->source.input.shown);
    else
        mrc_notice_at(ctx, MRC_AT(.advice_key = "id", .advice_value = "none", .names_file = 1),
                      "%s: column 1 has no name and counts rows: taken as the id; id none reads it "
                      "as data",
                      reader->source.input.shown);
    return true;
}

static mercer_status decide_id(mercer_reader *reader, const mercer_ctx *ctx,
                               const mercer_read_options *options, mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    const mrc_remembered *remembered = &reader->prepare->remembered;
    const char *id = options->id;
    bool counted = false;
    mercer_status rc = MERCER_OK;
    if (id && strcmp(id, "none") == 0 && mrc_column_named(columns, id, strlen(id)) < 0)
        goto out;
    if (id) {
        MRC_TRY(options->id_optional ? find_column(reader, id, strlen(id), &columns->id, err)
                                     : need_column(reader, id, strlen(id), &columns->id, err));
    } else if (reader->prepare_from_model && remembered->id && columns->names) {
        columns->id = mrc_column_named(columns, remembered->id, strlen(remembered->id));
    } else if (has_places(reader)) {
        columns->id = remembered->id_place - 1;
    } else if (is_id_by_itself(reader, ctx, options)) {
        columns->id = 0;
        counted = true;
    }
    if (columns->id >= 0 && (columns->role[columns->id] != 0 || columns->label == columns->id)) {
        char shown[MRC_COLUMN_SHOWN];
        if (id && !options->id_optional)
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "id", .names_file = 1),
                        "%s: %s is the id, so it cannot be label or target, too",
                        reader->source.input.shown, mrc_column_shown(shown, columns, columns->id));
        columns->id = -1;
    }
    if (columns->id >= 0)
        columns->role[columns->id] = MRC_ROLE_ID;
out:
    columns->counting = counted ? columns->counting : MRC_COUNTING_NONE;
    return rc;
}

/* The column of groups: the id may be that, too. */
static mercer_status decide_group(mercer_reader *reader, const mercer_read_options *options,
                                  mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    mercer_status rc = MERCER_OK;
    if (!options->groups)
        goto out;
    MRC_TRY(need_column(reader, options->groups, strlen(options->groups), &columns->group, err));
    if (columns->group == columns->id)
        goto out;
    if (columns->role[columns->group] != 0 || columns->label == columns->group) {
        char shown[MRC_COLUMN_SHOWN];
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "groups", .names_file = 1),
                    "%s: %s has the groups, so it cannot be label or target, too",
                    reader->source.input.shown, mrc_column_shown(shown, columns, columns->group));
    }
    columns->role[columns->group] = MRC_ROLE_GROUP;
out:
    return rc;
}

/* Leave out what the caller does not want. A label or target of the rule that is dropped is
 * none. */
static mercer_status leave_out(mercer_reader *reader, const mercer_read_options *options,
                               mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    bool *used = NULL, *dropped = NULL;
    mercer_status rc = MERCER_OK;
    if (!options->use_columns && !options->drop_columns)
        goto out;
    MRC_TRY(mrc_alloc(&used, columns->count, sizeof *used, err));
    MRC_TRY(mrc_alloc(&dropped, columns->count, sizeof *dropped, err));
    if (options->use_columns)
        MRC_TRY(mrc_column_list(reader, "columns", options->use_columns, used, err));
    if (options->drop_columns)
        MRC_TRY(mrc_column_list(reader, "drop", options->drop_columns, dropped, err));
    for (int64_t i = 0; i < columns->count; i++) {
        int64_t role = columns->role[i];
        if (role == 0 && (dropped[i] || (options->use_columns && !used[i])))
            columns->role[i] = MRC_ROLE_SKIPPED;
        if (role == 0 || !dropped[i])
            continue;
        if (role == MRC_ROLE_ID      ? options->id != NULL
            : role == MRC_ROLE_GROUP ? true
                                     : options->label || options->target) {
            char shown[MRC_COLUMN_SHOWN];
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "drop", .names_file = 1),
                        "%s: %s is dropped, but it is the %s", reader->source.input.shown,
                        mrc_column_shown(shown, columns, i),
                        role == MRC_ROLE_ID      ? "id"
                        : role == MRC_ROLE_GROUP ? "column of groups"
                        : role == MRC_ROLE_LABEL ? "label"
                                                 : "target");
        }
        columns->role[i] = MRC_ROLE_SKIPPED;
        columns->id = role == MRC_ROLE_ID ? -1 : columns->id;
        columns->label = role == MRC_ROLE_LABEL ? -1 : columns->label;
        columns->targets = mrc_role_is_target(role) ? 0 : columns->targets;
    }
out:
    mrc_free(used);
    mrc_free(dropped);
    return rc;
}

/* The columns of a file without names, by the places that a model remembers. */
static void take_places(mercer_reader *reader)
{
    mrc_columns *columns = &reader->source.columns;
    const mrc_remembered *remembered = &reader->prepare->remembered;
    for (int64_t j = 0; j < remembered->place_count; j++)
        if (columns->role[remembered->places[j]] == 0)
            columns->role[remembered->places[j]] = ++columns->data;
    for (int64_t i = 0; i < columns->count; i++)
        if (columns->role[i] >= 0)
            columns->role[i] = columns->role[i] > 0 ? columns->role[i] - 1 : MRC_ROLE_SKIPPED;
}

/* Keep what a reader of more rows has to know of the columns that are not data. What the rule of
 * io.h finds need not be kept. twice: names alone do not tell the columns. */
static mercer_status remember(mercer_reader *reader, const mercer_read_options *options, bool twice,
                              mercer_error *err)
{
    const mrc_columns *columns = &reader->source.columns;
    mrc_remembered *remembered = &reader->prepare->remembered;
    const char *label = columns->names && columns->label >= 0 ? columns->names[columns->label] : "";
    mercer_status rc = MERCER_OK;
    if (options->label && *label && strcmp(label, "label") != 0)
        MRC_TRY(mrc_strdup(&remembered->label, label, err));
    if (columns->id >= 0 && columns->names) {
        MRC_TRY(mrc_strdup(&remembered->id, columns->names[columns->id], err));
        remembered->id_unnamed = columns->unnamed && columns->id == 0;
    }
    if (options->target && columns->names &&
        (columns->targets > 1 || mrc_column_named(columns, "target", strlen("target")) < 0 ||
         columns->role[mrc_column_named(columns, "target", strlen("target"))] !=
             MRC_ROLE_TARGET(0))) {
        MRC_TRY(
            mrc_alloc(&remembered->targets, columns->targets, sizeof *remembered->targets, err));
        remembered->target_count = columns->targets;
        for (int64_t i = 0; i < columns->count; i++)
            if (mrc_role_is_target(columns->role[i]))
                MRC_TRY(mrc_strdup(&remembered->targets[MRC_ROLE_TARGET(columns->role[i])],
                                   columns->names[i], err));
    }
    if (columns->names ? !twice
                       : !options->use_columns && !options->drop_columns && columns->id < 0 &&
                             columns->group < 0)
        goto out;
    MRC_TRY(mrc_alloc(&remembered->places, columns->data, sizeof *remembered->places, err));
    remembered->place_count = columns->data;
    remembered->file_columns = columns->count;
    remembered->id_place = columns->id + 1;
    for (int64_t i = 0; i < columns->count; i++)
        if (columns->role[i] >= 0)
            remembered->places[columns->role[i]] = i;
out:
    return rc;
}

/* Whether the caller chooses among the columns. */
static bool chooses(const mercer_read_options *options)
{
    return options->use_columns || options->drop_columns || options->groups ||
           (options->id && !options->id_optional && strcmp(options->id, "none") != 0);
}

static mercer_status decide_targets(mercer_reader *reader, const mercer_read_options *options,
                                    mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    bool recalls = reader->prepare_from_model && options->no_label != 1 && !options->labels_file;
    if (options->label)
        return need_column(reader, options->label, strlen(options->label), &columns->label, err);
    if (options->target)
        return mark_targets(reader, options->target, err);
    return recalls && recall(reader) ? MERCER_OK : decide_by_name(reader, options, err);
}

mercer_status mrc_decide_roles(mercer_reader *reader, const mercer_ctx *ctx,
                               const mercer_read_options *options, mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    mercer_status rc = MERCER_OK;
    columns->label = columns->id = columns->group = -1;
    if (reader->source.format->caps & MRC_LABELS_FRONT) { /* labels are not columns */
        if (chooses(options))
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "columns drop id", .names_file = 1),
                        "%s: its columns have no names and are sparse, so none can be chosen",
                        reader->source.input.shown);
        goto out;
    }
    if (reader->source.sparse && !options->label && !options->target && !chooses(options)) {
        columns->data = columns->count; /* there may be many, and none is told apart */
        describe_origin(reader, options->labels_file);
        goto out;
    }
    if (reader->source.sparse && columns->count > MAX_LABELLED)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE,
                    "%s: columns of a sparse matrix of more than %d cannot be chosen",
                    reader->source.input.shown, MAX_LABELLED);
    if (!chooses(options) && !options->only && !has_places(reader))
        MRC_TRY(mrc_source_check_size(&reader->source, err));
    MRC_TRY(mrc_budget_take(&reader->source.budget, columns->count,
                            2 * (int64_t)sizeof *columns->role, "this number of columns",
                            err)); /* for their names in order, too */
    MRC_TRY(mrc_alloc2(&columns->role, columns->count, 1, sizeof *columns->role, err));
    MRC_TRY(decide_targets(reader, options, err));
    MRC_TRY(decide_id(reader, ctx, options, err));
    MRC_TRY(decide_group(reader, options, err));
    if (columns->label >= 0)
        columns->role[columns->label] = MRC_ROLE_LABEL;
    MRC_TRY(leave_out(reader, options, err));
    bool chosen = options->only && columns->names, placed = false, twice = false;
    if (chosen)
        MRC_TRY(take_only(reader, options, &placed, err));
    MRC_TRY(check_names(reader, chosen && !placed, &twice, err));
    if (!chosen && has_places(reader))
        take_places(reader);
    for (int64_t i = 0; i < columns->count && !chosen && !has_places(reader); i++)
        if (columns->role[i] == 0)
            columns->role[i] = columns->data++;
    if (columns->data == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: no data columns are left%s%s",
                    reader->source.input.shown,
                    columns->label >= 0 || columns->targets ? " beside the " : "",
                    columns->label >= 0 ? "label"
                    : columns->targets  ? "targets"
                                        : "");
    if (!reader->prepare_from_model)
        MRC_TRY(remember(reader, options, twice, err));
    describe_origin(reader, options->labels_file);
out:
    return rc;
}
