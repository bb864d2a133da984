/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading tables: blocks of rows with their classes, prepared.
 *
 * A reader holds one open file. Reading a whole table is reading one block without a limit, so both
 * ways share every line. Class indices are given in order of first appearance and kept in the
 * reader, so later blocks continue them; each block carries the names seen so far. */
#include "base/bytes.h"
#include "base/params.h"
#include "data/dress.h"
#include "io/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of the columns of one kind, in the order of their roles. */
static mercer_status names_of_role(const mrc_columns *columns, int64_t count, bool data,
                                   char ***out, mercer_error *err)
{
    char **names = NULL;
    mercer_status rc = MERCER_OK;
    if (!columns->names || count == 0)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&names, count, sizeof *names, err));
    for (int64_t i = 0; i < columns->count; i++) {
        int64_t role = columns->role[i];
        if (role == MRC_ROLE_SKIPPED || role == MRC_ROLE_ID || role == MRC_ROLE_GROUP)
            continue;
        if ((role >= 0) == data && (data || role != MRC_ROLE_LABEL))
            MRC_TRY(
                mrc_strdup(&names[data ? role : MRC_ROLE_TARGET(role)], columns->names[i], err));
    }
    *out = names;
    names = NULL;
out:
    mrc_free_names(names, count);
    return rc;
}

/* Whether what is done to columns has to be learnt from the rows that come next. */
static bool learns(const mercer_reader *reader)
{
    return !reader->prepare_from_model && reader->rows == 0 &&
           (reader->source.columns.texts_open || mrc_missing_fills(reader->prepare->missing));
}

/* Rows of the next block: fewer than wanted where the columns made of them would not fit. */
static int64_t rows_to_prepare(const mercer_reader *reader, int64_t wanted)
{
    int64_t data = reader->source.columns.data, width = mrc_prepare_width(reader->prepare, data);
    int64_t bytes = (width + data) * (int64_t)sizeof(double);
    if (width == data || reader->source.sparse)
        return wanted;
    int64_t fitting = mrc_budget_left(&reader->source.budget) / 2 / bytes;
    return fitting >= wanted ? wanted : fitting > 1 ? fitting : 1;
}

/* Images can have thousands of features: say what the table will take before the first is read. */
static mercer_status forecast(const mercer_reader *reader, const mercer_ctx *ctx, int64_t rows,
                              mercer_error *err)
{
    if (reader->prepare->image != MRC_IMAGE_HAAR)
        return MERCER_OK;
    int64_t left = reader->source.rows - reader->rows;
    int64_t width = mrc_prepare_width(reader->prepare, reader->source.columns.data);
    if (reader->source.rows > 0 && rows > left)
        rows = left;
    double bytes =
        (double)rows * (double)(width + reader->source.columns.data) * (double)sizeof(double);
    if (rows == INT64_MAX || bytes <= (double)mercer_ctx_memory(ctx))
        return MERCER_OK; /* a stream, whose length nobody knows, grows as it comes */
    const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, (double)mercer_ctx_memory(ctx));
    return mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory resize", .names_file = 1),
                       "%s: the haar features, %lld x %lld numbers, need %s, the memory budget "
                       "is %s: raise it, or make the images smaller",
                       reader->source.input.shown, (long long)rows, (long long)width,
                       sizes.first.text, sizes.second.text);
}

/* Turn a block into a table; the block's memory goes over to it. */
static mercer_status make_table(mercer_reader *reader, mercer_ctx *ctx, mrc_block *block,
                                mercer_table **out, mercer_error *err)
{
    mrc_columns *columns = &reader->source.columns;
    mercer_prepare *prepare = reader->prepare;
    mercer_table *table = NULL;
    mercer_targets *targets;
    mercer_status rc = MERCER_OK;
    if (block->capacity > block->n)
        MRC_TRY(mrc_block_reserve(block, columns, block->n, err)); /* give back what is spare */
    MRC_TRY(mrc_alloc(&table, 1, sizeof *table, err));
    targets = &table->targets;
    if (block->sparse) {
        MRC_TRY(mrc_block_reserve_entries(block, block->csr.start[block->n], err));
        MRC_TRY(mrc_rows_adopt_csr(&block->csr, block->n, columns->data, &table->rows, err));
    } else if (block->packed) {
        MRC_TRY(mrc_rows_adopt(block->dtype, block->packed, block->n, columns->data, &table->rows,
                               err));
        block->packed = NULL;
    } else {
        if (columns->dress_open)
            MRC_TRY(mrc_dress_learn(prepare, ctx, reader->source.input.shown, columns, block->x,
                                    block->values, block->n, err));
        MRC_TRY(mrc_prepare_rows(prepare, ctx, reader->source.input.shown, columns, &block->x,
                                 block->n, &reader->prepare_counts, err));
        int64_t width = mrc_prepare_width(prepare, columns->data);
        MRC_TRY(mrc_rows_adopt(MRC_F64, block->x, block->n, width, &table->rows, err));
        block->x = NULL;
    }
    if (prepare->sources > 0)
        MRC_TRY(mrc_encode_names(prepare, &table->rows->names, err));
    else if (prepare->image == MRC_IMAGE_NONE)
        MRC_TRY(names_of_role(columns, columns->data, true, &table->rows->names, err));
    if (!mrc_prepare_is_empty(prepare))
        MRC_TRY(mrc_prepare_clone(prepare, &table->rows->prepare, err));
    if (reader->prepare_counts.gap_count > 0 && prepare->image == MRC_IMAGE_NONE) {
        table->rows->gaps = reader->prepare_counts.gaps;
        table->rows->gap_count = reader->prepare_counts.gap_count;
        table->rows->gap_prepare = table->rows->prepare;
        reader->prepare_counts.gaps = NULL;
    }
    targets->n = block->n;
    if (block->with_codes) {
        targets->kind = MERCER_TARGET_CLASSES;
        MRC_TRY(mrc_copy_names(&targets->class_names, reader->source.classes.names,
                               reader->source.classes.count, err));
        targets->classes = reader->source.classes.count;
        targets->codes = block->codes;
        block->codes = NULL;
        if (columns->label >= 0 && columns->names)
            MRC_TRY(mrc_copy_names(&targets->names, &columns->names[columns->label], 1, err));
    } else if (columns->targets) {
        targets->kind = MERCER_TARGET_VALUES;
        targets->columns = columns->targets;
        targets->values = block->values;
        block->values = NULL;
        MRC_TRY(names_of_role(columns, columns->targets, false, &targets->names, err));
    }
    if (reader->source.origin[0])
        MRC_TRY(mrc_strdup(&table->origin, reader->source.origin, err));
    if (columns->id >= 0) {
        bool named = columns->names && !(columns->unnamed && columns->id == 0);
        MRC_TRY(mrc_strdup(&table->id_name, named ? columns->names[columns->id] : "id", err));
        table->ids = block->ids;
        block->ids = (mrc_row_texts){0};
    }
    table->grouped_by_ids = columns->group >= 0 && columns->group == columns->id;
    if (columns->group >= 0 && !table->grouped_by_ids) {
        table->groups = block->groups;
        block->groups = (mrc_row_texts){0};
    }
    *out = table;
    table = NULL;
out:
    mercer_table_free(table);
    return rc;
}

static bool misses_a_value(const mrc_columns *columns, const double *row)
{
    for (int64_t j = 0; j < columns->data; j++)
        if (mrc_is_missing(columns, row[j]))
            return true;
    return false;
}

/* Whether row i has no class, or lacks a target value. */
static bool is_unlabelled(const mrc_columns *columns, const mrc_block *block, int64_t i)
{
    for (int64_t k = 0; k < columns->targets && block->values; k++)
        if (mrc_is_missing(columns, block->values[i * columns->targets + k]))
            return true;
    return block->codes && block->codes[i] == MRC_NO_LABEL;
}

/* Leave out the rows with a missing value, or without a label, as far as that is wanted. */
static void drop_rows(mercer_reader *reader, mrc_block *block)
{
    const mrc_columns *columns = &reader->source.columns;
    const bool gaps = columns->missing && reader->prepare->missing == MRC_MISSING_DROP;
    int64_t d = columns->data, targets = columns->targets, kept = 0;
    for (int64_t i = 0; i < block->n; i++) {
        bool unlabelled = columns->drop_unlabelled && is_unlabelled(columns, block, i);
        bool gap = gaps && !unlabelled && misses_a_value(columns, block->x + i * d);
        reader->unlabelled += unlabelled;
        reader->dropped += gap;
        if (unlabelled || gap)
            continue;
        if (kept < i) {
            memcpy(block->x + kept * d, block->x + i * d, (size_t)d * sizeof *block->x);
            if (targets)
                memcpy(block->values + kept * targets, block->values + i * targets,
                       (size_t)targets * sizeof *block->values);
            if (block->codes)
                block->codes[kept] = block->codes[i];
            if (block->ids.end)
                mrc_row_texts_move(&block->ids, i, kept);
            if (block->groups.bytes)
                mrc_row_texts_move(&block->groups, i, kept);
        }
        kept++;
    }
    block->n = kept;
}

/* The next rows of the file with their classes. */
static mercer_status read_block(mercer_reader *reader, mercer_ctx *ctx, int64_t max_rows,
                                mrc_block *block, mercer_error *err)
{
    const mrc_format *format = reader->source.format;
    mercer_status rc = MERCER_OK;
    block->with_codes =
        reader->with_labels || reader->source.classed || reader->source.columns.label >= 0;
    block->sparse = reader->source.sparse;
    block->before = reader->rows;
    /* What will be changed has to be doubles. */
    if (!reader->source.columns.missing && !reader->source.columns.encode &&
        !reader->source.columns.drop_unlabelled && reader->prepare->image != MRC_IMAGE_HAAR)
        block->dtype = reader->source.dtype;
    MRC_TRY(format->rows(reader->self, ctx, max_rows, block, err));
    MRC_TRY(mrc_budget_rows(&reader->source.budget, reader->rows + block->n, false, err));
    reader->ended =
        block->n < max_rows && !block->full && !(format->paused && format->paused(reader->self));
    if (reader->with_labels)
        MRC_TRY(mrc_labels_take(reader, ctx, block, err));
    reader->rows += block->n;
out:
    return rc;
}

/* Say once, at the end of the file, what was done to its rows. */
static mercer_status finish_prepare(const mercer_reader *reader, const mercer_ctx *ctx,
                                    mercer_error *err)
{
    const int64_t left = reader->rows - reader->unlabelled;
    if (reader->unlabelled > 0 && left == 0)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: no row has a label",
                           reader->source.input.shown);
    if (reader->dropped > 0 && reader->dropped == left)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: every row has a missing value",
                           reader->source.input.shown);
    if (reader->unlabelled > 0)
        mrc_notice(ctx, "%s: %lld of %lld rows have no label and are left out",
                   reader->source.input.shown, (long long)reader->unlabelled,
                   (long long)reader->rows);
    if (reader->dropped > 0)
        mrc_notice(ctx, "%s: %lld of %lld rows have missing values and are left out",
                   reader->source.input.shown, (long long)reader->dropped, (long long)left);
    if (reader->prepare_counts.filled > 0)
        mrc_notice(ctx, "%s: %lld missing value%s replaced by the %s of the column",
                   reader->source.input.shown, (long long)reader->prepare_counts.filled,
                   reader->prepare_counts.filled == 1 ? " is" : "s are",
                   mrc_missing_name(reader->prepare->missing));
    if (reader->prepare_counts.unknown > 0)
        mrc_notice(ctx, "%s: %lld cell%s a text that the training table does not have: all 0",
                   reader->source.input.shown, (long long)reader->prepare_counts.unknown,
                   reader->prepare_counts.unknown == 1 ? " has" : "s have");
    return MERCER_OK;
}

const char *mrc_doubtful_class(const mercer_reader *reader, const mercer_targets *targets)
{
    double value;
    if (!reader->source.doubtful || reader->source.columns.label < 0)
        return NULL;
    const char *name = targets->class_names[targets->codes[0]];
    return mrc_parse_double(name, strlen(name), &value) ? NULL : name;
}

/* The classes of a whole table. Those of images are the names of folders, whatever they look like.
 */
static mercer_status judge_classes(const mercer_reader *reader, const mercer_ctx *ctx,
                                   const mercer_targets *targets, mercer_error *err)
{
    if (targets->kind != MERCER_TARGET_CLASSES || reader->source.classed)
        return MERCER_OK;
    const char *doubtful = mrc_doubtful_class(reader, targets);
    const mrc_class_kinds kinds = mrc_targets_class_kinds(targets);
    int64_t others = 0;
    for (int64_t i = 1; doubtful && i < targets->n; i++)
        others += targets->codes[i] == targets->codes[0];
    if (doubtful && others == 0)
        mrc_note_lonely_class(ctx, reader->source.input.shown, doubtful);
    return mrc_class_kinds_judge(ctx, reader->source.input.shown, reader->source.origin,
                                 reader->with_labels, &kinds, targets->n, err);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Whether column j has whole numbers, no two of them the same. */
static bool is_like_an_id(const mercer_rows *rows, int64_t j, double *sorted)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < rows->n; i++) {
        double value = rows->x[i * rows->ld + j];
        if (value != floor(value) || fabs(value) > 0x1p53) /* beyond, every double is whole */
            return false;
        least = value < least ? value : least;
        most = value > most ? value : most;
        sorted[i] = value;
    }
    if (most - least + 1 < (double)rows->n) /* some must be the same */
        return false;
    qsort(sorted, (size_t)rows->n, sizeof *sorted, compare_doubles);
    for (int64_t i = 1; i < rows->n; i++)
        if (sorted[i] == sorted[i - 1])
            return false;
    return true;
}

/* Say of a text file which columns may be ids, whatever is done to the columns later. */
static mercer_status note_ids(const mercer_reader *reader, const mercer_ctx *ctx,
                              const mercer_rows *rows, mercer_error *err)
{
    enum { MIN_ROWS = 10 }; /* of fewer, numbers differ too easily */
    const mrc_columns *columns = &reader->source.columns;
    double *sorted = NULL;
    mercer_status rc = MERCER_OK;
    if (reader->prepare_from_model || reader->prepare->sources > 0 || !rows->x ||
        rows->n < MIN_ROWS || !(reader->source.format->caps & MRC_HAS_HEADER))
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&sorted, rows->n, 1, sizeof *sorted, err));
    for (int64_t i = 0; i < columns->count; i++) {
        char shown[MRC_COLUMN_SHOWN], position[MRC_NUMBER_SIZE];
        if (columns->role[i] < 0 || !is_like_an_id(rows, columns->role[i], sorted))
            continue;
        mrc_format_double((double)(i + 1), position);
        bool fits = columns->names &&
                    strlen(columns->names[i]) < sizeof((mercer_error *)NULL)->advice_value;
        const char *name = fits ? columns->names[i] : position;
        mrc_notice_at(ctx,
                      MRC_AT(.advice_key = "id", .advice_value = name, .names_file = 1,
                             .column = columns->names ? columns->names[i] : NULL,
                             .column_number = columns->names ? 0 : i + 1, .position = i + 1),
                      "%s: %s has %lld different whole numbers in %lld rows; if it is an id, name "
                      "it as such",
                      reader->source.input.shown, mrc_column_shown(shown, columns, i),
                      (long long)rows->n, (long long)rows->n);
    }
out:
    mrc_free(sorted);
    return rc;
}

mercer_status mercer_reader_next(mercer_ctx *ctx, mercer_reader *reader, int64_t max_rows,
                                 mercer_table **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(reader);
    mercer_table *table = NULL;
    bool whole = max_rows == INT64_MAX;
    mrc_block block = {.input = &reader->source.input,
                       .budget = &reader->source.budget,
                       .elastic = !whole && !learns(reader)};
    mercer_status rc = MERCER_OK;
    if (max_rows < 1)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "a block of %lld rows cannot be read",
                 (long long)max_rows);
    if (reader->ended)
        goto out;
    if (block.elastic)
        max_rows = rows_to_prepare(reader, max_rows);
    reader->prepare_counts.keep_gaps = whole && !reader->prepare_from_model;
    MRC_TRY(forecast(reader, ctx, max_rows, err));
    while (!table && !reader->ended) { /* more than once only when all rows are left out */
        mrc_block_destroy(&block);
        MRC_TRY(read_block(reader, ctx, max_rows, &block, err));
        if (reader->source.columns.drop_unlabelled ||
            (reader->source.columns.missing && reader->prepare->missing == MRC_MISSING_DROP))
            drop_rows(reader, &block);
        if (block.n > 0)
            MRC_TRY(make_table(reader, ctx, &block, &table, err));
    }
    if (reader->ended)
        MRC_TRY(finish_prepare(reader, ctx, err));
    if (whole && table)
        MRC_TRY(judge_classes(reader, ctx, &table->targets, err));
    if (whole && table)
        MRC_TRY(note_ids(reader, ctx, table->rows, err));
    *out = table;
    table = NULL;
out:
    mercer_table_free(table);
    mrc_block_destroy(&block);
    return rc;
}

/* Whether rows can be stepped over without a look at them: none of them would be counted, told or
 * left out, and nothing is learnt from them. */
static bool can_step_over(const mercer_reader *reader)
{
    const mrc_columns *columns = &reader->source.columns;
    const bool cells = reader->source.format->caps & MRC_HAS_HEADER; /* that may be texts */
    return reader->source.format->skip && !reader->with_labels && !learns(reader) &&
           !columns->missing && !columns->drop_unlabelled &&
           !(cells && (columns->dress_open || reader->prepare->sources > 0));
}

/* Step over rows; *done: that was possible. */
static mercer_status step_over(mercer_ctx *ctx, mercer_reader *reader, int64_t rows, bool *done,
                               mercer_error *err)
{
    int64_t skipped = 0;
    mercer_error why = {0};
    *done = false;
    if (!can_step_over(reader))
        return MERCER_OK;
    mercer_status rc = reader->source.format->skip(reader->self, ctx, rows, &skipped, &why);
    if (rc == MERCER_ERR_UNSUPPORTED)
        return MERCER_OK;
    if (rc != MERCER_OK)
        return mrc_fail_again(err, rc, &why);
    *done = true;
    reader->rows += skipped;
    reader->ended =
        skipped < rows || (reader->source.rows > 0 && reader->rows == reader->source.rows);
    return mrc_budget_rows(&reader->source.budget, reader->rows, false, err);
}

mercer_status mercer_reader_skip(mercer_ctx *ctx, mercer_reader *reader, int64_t rows,
                                 int64_t *skipped, mercer_error *err)
{
    enum { BYTES = 1 << 22 }; /* read and forgotten at a time */
    MRC_NEED(ctx);
    MRC_NEED(reader);
    MRC_NEED(skipped);
    mercer_table *table = NULL;
    mercer_status rc = MERCER_OK;
    bool done;
    *skipped = 0;
    if (rows < 0)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%lld rows cannot be skipped", (long long)rows);
    const int64_t most = BYTES / (int64_t)sizeof(double) / (reader->source.columns.data + 1) + 1;
    while (*skipped < rows && !reader->ended) {
        const int64_t before = reader->rows, left = rows - *skipped;
        MRC_TRY(step_over(ctx, reader, left, &done, err));
        if (done) {
            *skipped += reader->rows - before;
            break;
        }
        MRC_TRY(mercer_reader_next(ctx, reader, left < most ? left : most, &table, err));
        if (!table)
            break;
        *skipped += table->rows->n;
        mercer_table_free(table);
        table = NULL;
    }
out:
    mercer_table_free(table);
    return rc;
}

mercer_status mercer_table_read(mercer_ctx *ctx, const char *path,
                                const mercer_read_options *options, mercer_table **out,
                                mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(path);
    mercer_reader *reader = NULL;
    mercer_table *table = NULL;
    mercer_read_options taken;
    mercer_status rc = MERCER_OK;
    mercer_read_options_init(&taken);
    MRC_TRY(mrc_options_import("read", options, &taken, sizeof taken, err));
    taken.fill_blocks = 1;
    MRC_TRY(mrc_reader_open(ctx, path, &taken, MRC_READ_WHOLE, &reader, err));
    MRC_TRY(mercer_reader_next(ctx, reader, INT64_MAX, &table, err));
    *out = table;
out:
    mercer_reader_close(reader);
    return rc;
}

void mercer_table_read_options(const mercer_table *table, mercer_read_options *options)
{
    if (!table || !options)
        return;
    const mercer_rows *rows = table->rows;
    mercer_read_options taken = {.struct_size = sizeof taken};
    if (mrc_options_import("read", options, &taken, sizeof taken, NULL) != MERCER_OK)
        return;
    mrc_read_options_like(rows->prepare, rows->names, rows->d, &taken);
    mrc_give_struct(&taken, sizeof taken, options);
}

mercer_status mercer_table_groups(const mercer_table *table, int64_t *codes, mercer_error *err)
{
    MRC_NEED(table);
    MRC_NEED(codes);
    const mrc_row_texts *texts = table->grouped_by_ids ? &table->ids : &table->groups;
    mrc_classes groups = {0};
    mercer_status rc = MERCER_OK;
    if (!texts->bytes)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "groups"),
                    "the table was read without groups");
    for (int64_t i = 0; i < table->rows->n; i++) {
        const char *text = mrc_row_text(texts, i);
        MRC_TRY(mrc_classes_code(&groups, text, strlen(text), &codes[i], err));
    }
out:
    mrc_classes_destroy(&groups);
    return rc;
}
