/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices without column names, from whatever format: rows as doubles in, blocks by role out.
 *
 * The format only knows how to give the next rows as doubles. Here they are checked, put where the
 * roles of their columns say, and the memory of the block grows with them unless the format vouches
 * that the rows are there. */
#include "io/matrix.h"
#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 18 }; /* converted at a time; fits the second-level cache */

mrc_span mrc_wanted_rows(const mercer_ctx *part_of, int64_t total)
{
    mrc_span span = mrc_span_whole(total);
    if (part_of)
        span = mrc_span_of_rank(total, part_of->comm.table.rank, part_of->comm.table.size);
    if (span.n == 0 && total > 0)
        span = (mrc_span){.n = 1, .total = total};
    return span;
}

mercer_status mrc_matrix_check(const mrc_matrix *matrix, mercer_error *err)
{
    int64_t values, bytes;
    if (matrix->rows < 1 || matrix->columns < 1)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: has no %s", matrix->shown,
                           matrix->rows < 1 ? "rows" : "columns");
    mercer_status rc = mrc_budget_rows(matrix->budget, matrix->rows, true, err);
    if (rc == MERCER_OK)
        rc = mrc_budget_columns(matrix->budget, matrix->columns, true, err);
    if (rc != MERCER_OK)
        return rc;
    if (__builtin_mul_overflow(matrix->rows, matrix->columns, &values) ||
        __builtin_mul_overflow(values, (int64_t)sizeof(double), &bytes))
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: its shape is too large",
                           matrix->shown);
    return MERCER_OK;
}

/* "its 1000 rows of 20 columns". */
enum { SHAPE_SIZE = 80 };
static const char *show_shape(char out[SHAPE_SIZE], int64_t rows, int64_t columns)
{
    snprintf(out, SHAPE_SIZE, "its %lld row%s of %lld column%s", (long long)rows,
             rows == 1 ? "" : "s", (long long)columns, columns == 1 ? "" : "s");
    return out;
}

mercer_status mrc_matrix_take_whole(const mrc_matrix *matrix, int64_t width, mercer_error *err)
{
    char shape[SHAPE_SIZE];
    return mrc_budget_take(matrix->budget, matrix->rows * matrix->columns, width,
                           show_shape(shape, matrix->rows, matrix->columns), err);
}

mercer_status mrc_source_check_size(const mrc_table_source *source, mercer_error *err)
{
    double bytes = (double)source->rows * (double)source->columns.count *
                   (double)mrc_dtype_bytes(source->dtype);
    char shape[SHAPE_SIZE];
    if (!source->whole || source->sparse || bytes <= (double)mrc_budget_left(&source->budget))
        return MERCER_OK;
    return mrc_budget_fail(&source->budget, show_shape(shape, source->rows, source->columns.count),
                           bytes, err);
}

mrc_image_size mrc_matrix_images(int axes, const int64_t *shape)
{
    mrc_image_size size = {0};
    if (axes == 3 || (axes == 4 && (shape[3] == 1 || shape[3] == 3)))
        size = (mrc_image_size){shape[2], shape[1], axes == 4 ? shape[3] : 1};
    if (size.channels && size.width > MRC_MAX_PIXELS / size.height)
        size = (mrc_image_size){0}; /* some other numbers */
    return size;
}

/* The class of a number. */
static mercer_status class_of(double value, mrc_classes *classes, int64_t *code, mercer_error *err)
{
    char text[MRC_NUMBER_SIZE];
    int length = mrc_format_double(value == 0 ? 0 : value, text);
    *code = MRC_NO_LABEL;
    if (isnan(value)) /* of a row that is left out, see check_finite() */
        return MERCER_OK;
    return mrc_classes_code(classes, text, (size_t)length, code, err);
}

/* Put count whole rows (as doubles) where the roles of their columns say, packed if that is asked
 * for. */
static mercer_status distribute(const mrc_matrix *matrix, const mrc_columns *columns,
                                mrc_classes *classes, int64_t count, mrc_block *block,
                                mercer_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        const double *row = matrix->wide + i * matrix->columns;
        int64_t at = block->n + i;
        for (int64_t j = 0; j < matrix->columns; j++) {
            int64_t role = columns->role[j];
            if (role >= 0) {
                mrc_pack(block->dtype, &row[j], 1, block->packed ? block->packed : block->x,
                         at * columns->data + role);
            } else if (role == MRC_ROLE_LABEL) {
                mercer_status rc = class_of(row[j], classes, &block->codes[at], err);
                if (rc != MERCER_OK)
                    return rc;
            } else if (role == MRC_ROLE_ID) {
                mercer_status rc = mrc_block_set_number(block, &block->ids, at, row[j], err);
                if (rc != MERCER_OK)
                    return rc;
            } else if (role == MRC_ROLE_GROUP) {
                mercer_status rc = mrc_block_set_number(block, &block->groups, at, row[j], err);
                if (rc != MERCER_OK)
                    return rc;
            } else if (role != MRC_ROLE_SKIPPED) {
                block->values[at * columns->targets + MRC_ROLE_TARGET(role)] = row[j];
            }
        }
    }
    return MERCER_OK;
}

static mercer_status check_finite(const mrc_matrix *matrix, const mrc_columns *columns,
                                  const double *x, int64_t count, mercer_error *err)
{
    int64_t values = count * matrix->columns, at = 0, next;
    while ((next = mrc_first_not_finite(x + at, values - at)) >= 0) {
        at += next;
        int64_t role = columns->role[at % matrix->columns];
        bool label = role == MRC_ROLE_LABEL || mrc_role_is_target(role);
        bool missing = isnan(x[at]) && role >= 0, unlabelled = isnan(x[at]) && label;
        if (role == MRC_ROLE_SKIPPED) {
            at++;
            continue;
        }
        if (!(missing && columns->missing) && !(unlabelled && columns->drop_unlabelled)) {
            const char *hint = missing && columns->missing_hint ? columns->missing_hint
                               : unlabelled && !columns->of_model
                                   ? "; rows without a class or target value can be left out"
                                   : "";
            char number[MRC_NUMBER_SIZE];
            mrc_format_double(x[at], number);
            return mrc_fail_at(
                err, MERCER_ERR_DATA,
                MRC_AT(.cause = isnan(x[at]) ? MERCER_CAUSE_MISSING_VALUE : MERCER_CAUSE_NONE,
                       .row = matrix->next + at / matrix->columns + 1,
                       .column_number = at % matrix->columns + 1, .names_file = 1,
                       .advice_key = missing && columns->missing_advice ? "missing"
                                     : unlabelled && !columns->of_model ? "unlabelled"
                                                                        : NULL,
                       .advice_value = missing                            ? columns->missing_advice
                                       : unlabelled && !columns->of_model ? "drop"
                                                                          : NULL),
                "%s: row %lld, column %lld: %s is not finite%s", matrix->shown,
                (long long)(matrix->next + at / matrix->columns + 1),
                (long long)(at % matrix->columns + 1), number, hint);
        }
        at++;
    }
    return MERCER_OK;
}

int64_t mrc_matrix_chunk(const mrc_matrix *matrix)
{
    int64_t fitting = CHUNK_BYTES / (int64_t)sizeof(double) / matrix->columns;
    return matrix->chunk_rows > 0 ? matrix->chunk_rows : fitting > 0 ? fitting : 1;
}

/* Append one sparse row to the block, by the roles of its columns. */
static mercer_status add_sparse_row(const mrc_matrix *matrix, const mrc_columns *columns,
                                    mrc_classes *classes, mrc_block *block, mercer_error *err)
{
    const int64_t *start = matrix->csr.start + (matrix->next - matrix->csr_first);
    int64_t first = start[0], end = start[1];
    int64_t n = block->n, at = block->csr.start[n];
    double label = 0, id = 0, group = 0,
           *values = columns->targets ? block->values + n * columns->targets : NULL;
    mercer_status rc = MERCER_OK;
    if (at + end - first > block->entry_capacity)
        MRC_TRY(mrc_block_grow_entries(block, at + end - first, err));
    for (int64_t k = 0; k < columns->targets; k++)
        values[k] = 0;
    for (int64_t k = first; k < end; k++) {
        int64_t column = matrix->csr.column[k];
        int64_t role = columns->role ? columns->role[column] : column;
        if (role >= 0) {
            block->csr.column[at] = (int32_t)role;
            block->csr.value[at++] = matrix->csr.value[k];
        } else if (role == MRC_ROLE_LABEL) {
            label = matrix->csr.value[k];
        } else if (role == MRC_ROLE_ID) {
            id = matrix->csr.value[k];
        } else if (role == MRC_ROLE_GROUP) {
            group = matrix->csr.value[k];
        } else if (values && role != MRC_ROLE_SKIPPED) {
            values[MRC_ROLE_TARGET(role)] = matrix->csr.value[k];
        }
    }
    if (columns->label >= 0)
        MRC_TRY(class_of(label, classes, &block->codes[n], err));
    if (columns->id >= 0)
        MRC_TRY(mrc_block_set_number(block, &block->ids, n, id, err));
    if (columns->group >= 0 && columns->group != columns->id)
        MRC_TRY(mrc_block_set_number(block, &block->groups, n, group, err));
    block->csr.start[n + 1] = at;
out:
    return rc;
}

/* The rows of a sparse matrix, of those that are there; all at once are handed over as they are. */
static mercer_status sparse_rows(mrc_matrix *matrix, const mrc_columns *columns,
                                 mrc_classes *classes, int64_t most, mrc_block *block,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    assert(matrix->next >= matrix->csr_first &&
           matrix->next + most - block->n <= matrix->csr_first + matrix->csr_rows);
    if (matrix->next == matrix->csr_first && most == matrix->csr_rows && !columns->role &&
        !block->with_codes) {
        block->csr = matrix->csr;
        block->entry_capacity = block->csr.start[most];
        block->n = block->capacity = most;
        matrix->next += most;
        matrix->csr = (mrc_csr_owned){0};
        goto out;
    }
    while (block->n < most && !mrc_block_is_full(block, columns)) {
        if (block->n == block->capacity)
            MRC_TRY(mrc_block_grow(block, columns, most, err));
        MRC_TRY(add_sparse_row(matrix, columns, classes, block, err));
        block->n++;
        matrix->next++;
    }
out:
    return rc;
}

/* Rows to ask for at a time, of a small budget few; the same from the first block on. */
static int64_t fit_chunk(mrc_matrix *matrix, const mrc_budget *budget)
{
    int64_t row = matrix->columns * (int64_t)sizeof *matrix->wide;
    int64_t fitting = mrc_budget_left(budget) / 4 / row, chunk = mrc_matrix_chunk(matrix);
    fitting = fitting > 1 ? fitting : 1;
    if (matrix->next == 0)
        matrix->chunk_rows = fitting < chunk ? fitting : chunk;
    return mrc_matrix_chunk(matrix);
}

/* See that rows up to *most fit the budget; an elastic block gets fewer. */
static mercer_status fit_budget(const mrc_matrix *matrix, const mrc_columns *columns,
                                mrc_block *block, int64_t *most, mercer_error *err)
{
    int64_t row = mrc_block_row_bytes(block, columns), left = mrc_budget_left(block->budget);
    int64_t fitting = left / row, half = fitting / 2 > 1 ? fitting / 2 : 1;
    if (block->elastic && fitting > 0) {
        block->full = *most > half;
        *most = block->full ? half : *most;
    } else if (*most > fitting) {
        char shape[SHAPE_SIZE];
        return mrc_budget_fail(block->budget, show_shape(shape, *most, matrix->columns),
                               (double)*most * (double)row, err);
    }
    return MERCER_OK;
}

mercer_status mrc_matrix_rows(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                              mercer_error *err)
{
    mrc_matrix *matrix = self;
    const mrc_columns *columns = &matrix->source->columns;
    mrc_classes *classes = &matrix->source->classes;
    mercer_status rc = MERCER_OK;
    bool whole = columns->data == matrix->columns; /* no column is taken apart */
    if (most - block->n > matrix->rows - matrix->next)
        most = block->n + matrix->rows - matrix->next;
    if (matrix->csr.start) {
        MRC_TRY(sparse_rows(matrix, columns, classes, most, block, err));
        goto out;
    }
    bool direct = whole && block->dtype == MRC_F64;
    int64_t chunk = fit_chunk(matrix, block->budget);
    if (!direct && !matrix->wide) {
        int64_t rows = chunk < matrix->rows ? chunk : matrix->rows;
        char shape[SHAPE_SIZE];
        MRC_TRY(mrc_budget_take(block->budget, rows * matrix->columns, sizeof *matrix->wide,
                                show_shape(shape, rows, matrix->columns), err));
        MRC_TRY(mrc_alloc2_raw(&matrix->wide, rows, matrix->columns, sizeof *matrix->wide, err));
    }
    MRC_TRY(fit_budget(matrix, columns, block, &most, err));
    while (block->n < most) {
        int64_t count = most - block->n < chunk ? most - block->n : chunk;
        MRC_TRY(mrc_check_cancel(ctx, err));
        while (block->capacity < block->n + count) {
            if (block->capacity == 0 && matrix->vouched)
                MRC_TRY(mrc_block_reserve(block, columns, most, err));
            else
                MRC_TRY(mrc_block_grow(block, columns, most, err));
        }
        double *x = direct ? block->x + block->n * columns->data : matrix->wide;
        MRC_TRY(matrix->read(matrix->self, ctx, matrix->next, count, x, err));
        MRC_TRY(check_finite(matrix, columns, x, count, err));
        if (!whole)
            MRC_TRY(distribute(matrix, columns, classes, count, block, err));
        else if (!direct)
            mrc_pack(block->dtype, x, count * columns->data, block->packed,
                     block->n * columns->data);
        block->n += count;
        matrix->next += count;
        mrc_progress(ctx, "reading", (double)matrix->next / (double)matrix->rows);
    }
out:
    return rc;
}

mercer_status mrc_matrix_skip(void *self, mercer_ctx *ctx, int64_t rows, int64_t *skipped,
                              mercer_error *err)
{
    mrc_matrix *matrix = self;
    const int64_t left = matrix->rows - matrix->next;
    (void)ctx, (void)err;
    *skipped = rows < left ? rows : left;
    matrix->next += *skipped;
    return MERCER_OK;
}

void mrc_matrix_destroy(mrc_matrix *matrix)
{
    if (matrix->destroy)
        matrix->destroy(matrix->self);
    mrc_csr_owned_destroy(&matrix->csr);
    mrc_free(matrix->wide);
    *matrix = (mrc_matrix){0};
}

mercer_status mrc_matrix_new(mrc_table_source *source, mrc_matrix **out, mercer_error *err)
{
    mercer_status rc = mrc_alloc(out, 1, sizeof **out, err);
    if (rc == MERCER_OK) {
        (*out)->budget = &source->budget;
        (*out)->part_of = source->part_of;
    }
    return rc;
}

void mrc_matrix_describe(mrc_matrix *matrix, mrc_table_source *source)
{
    matrix->source = source;
    source->columns.count = matrix->columns;
    source->sparse = matrix->csr.start != NULL;
    source->rows = matrix->rows;
    source->dtype = matrix->dtype;
    source->size = matrix->size;
}

void mrc_matrix_close(void *self)
{
    mrc_matrix_destroy(self);
    mrc_free(self);
}
