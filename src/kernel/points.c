/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepared rows. Functions of the distance, in few dimensions: a transposed copy; in many: a copy
 * shifted by the column means (which shrinks |x|^2 and with it the cancellation in
 * |x|^2 + |y|^2 - 2 x.y) and squared norms. Other sums over columns: a transposed copy. cosine: a
 * copy with rows of length one. The others: the rows themselves. A combination: all this for each
 * of its parts.
 *
 * Many packed rows stay packed: of each block of them that tiles ask for a window is made, in
 * doubles and as above. Few are copied.
 *
 * Sparse rows stay as they are (cosine: with values of their own), with norms where distances need
 * them; nothing is shifted, which would fill them. */
#include "kernel/points.h"

#include "base/order.h"
#include "base/strips.h"
#include "base/sweep.h"
#include "data/means.h"
#include "kernel/named.h"
#include "kernel/sparse.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PACKED_FROM = 1024 }; /* rows per thread; windows take 512 each, so fewer gain little */

static bool stays_packed(const mercer_ctx *ctx, const mrc_kernel_def *def, const mercer_rows *rows)
{
    return rows->packed && rows->n > (int64_t)PACKED_FROM * ctx->threads &&
           def->rows != MRC_ROWS_DENSE;
}

static void subtract(double *x, const double *shift, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        x[k] -= shift[k];
}

struct copy {
    mrc_points *points;
    const mercer_rows *rows;
};

static void copy_strip(void *arg, int64_t task, int worker)
{
    const struct copy *c = arg;
    int64_t d = c->rows->d, first = task * MRC_STRIP;
    int64_t count = mrc_min64(MRC_STRIP, c->rows->n - first);
    double *to = c->points->storage + first * d;
    (void)worker;
    mercer_rows_copy(c->rows, first, count, to);
    for (int64_t i = 0; c->points->shift && i < count; i++)
        subtract(to + i * d, c->points->shift, d);
}

/* All rows as doubles of our own, shifted if there is a shift. */
static mercer_status copy_rows(mrc_points *points, mercer_ctx *ctx, const mercer_rows *rows,
                               mercer_error *err)
{
    struct copy c = {.points = points, .rows = rows};
    mercer_status rc = MERCER_OK;
    if (!points->storage)
        rc = mrc_alloc2_raw(&points->storage, rows->n, rows->d, sizeof(double), err);
    if (rc == MERCER_OK)
        rc = mrc_sweep(ctx, mrc_strips(rows->n), (double)rows->n * (double)rows->d, copy_strip, &c,
                       err);
    points->x = points->storage;
    points->ld = rows->d;
    return rc;
}

static mercer_status choose_shift(mrc_points *points, mercer_ctx *ctx, const mercer_rows *rows,
                                  const mrc_points *shift_from, mercer_error *err)
{
    mercer_status rc = mrc_alloc(&points->shift, rows->d, sizeof(double), err);
    if (rc != MERCER_OK || !shift_from)
        return rc == MERCER_OK ? mrc_rows_mean(ctx, rows, points->shift, err) : rc;
    memcpy(points->shift, shift_from->shift, (size_t)rows->d * sizeof(double));
    return MERCER_OK;
}

/* A copy shifted by the column means, or by the shift of other points; packed: the shift alone. */
static mercer_status prepare_shifted(mrc_points *points, mercer_ctx *ctx, const mercer_rows *rows,
                                     const mrc_points *shift_from, mercer_error *err)
{
    mercer_status rc = choose_shift(points, ctx, rows, shift_from, err);
    return rc == MERCER_OK && !points->packed ? copy_rows(points, ctx, rows, err) : rc;
}

static void to_length_one(double *x, int64_t count)
{
    double largest = 0, sum = 0;
    for (int64_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(x[k]));
    if (largest == 0)
        return;
    for (int64_t k = 0; k < count; k++) { /* scaled first: squares of huge rows overflow */
        x[k] /= largest;
        sum += x[k] * x[k];
    }
    for (int64_t k = 0; k < count; k++)
        x[k] /= sqrt(sum);
}

const double *mrc_points_row(const mrc_points *points, int64_t i, double *scratch)
{
    if (!points->packed)
        return points->x + i * points->ld;
    mercer_rows_copy(points->packed, i, 1, scratch);
    if (points->shift)
        subtract(scratch, points->shift, points->d);
    if (points->directions)
        to_length_one(scratch, points->d);
    return scratch;
}

static mercer_status prepare_distances(mrc_points *points, mercer_ctx *ctx, const mercer_rows *rows,
                                       const mrc_points *shift_from, mercer_error *err)
{
    double *scratch = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(prepare_shifted(points, ctx, rows, shift_from, err));
    MRC_TRY(mrc_alloc(&points->norm2, rows->n, sizeof(double), err));
    if (points->packed)
        MRC_TRY(mrc_alloc(&scratch, rows->d, sizeof *scratch, err));
    for (int64_t i = 0; i < rows->n; i++) {
        const double *x = mrc_points_row(points, i, scratch);
        for (int64_t k = 0; k < rows->d; k++)
            points->norm2[i] += x[k] * x[k];
        MRC_TRY(mrc_check_pass(ctx, i, rows->d, err));
    }
out:
    mrc_free(scratch);
    return rc;
}

static mercer_status prepare_differences(mrc_points *points, mercer_ctx *ctx,
                                         const mercer_rows *rows, mercer_error *err)
{
    points->by_columns = true;
    if (points->packed)
        return MERCER_OK;
    mercer_status rc = mrc_alloc2_raw(&points->transposed, rows->d, rows->n, sizeof(double), err);
    for (int64_t i = 0; rc == MERCER_OK && i < rows->n; i++) {
        for (int64_t k = 0; k < rows->d; k++)
            points->transposed[k * rows->n + i] = points->x[i * points->ld + k];
        rc = mrc_check_pass(ctx, i, rows->d, err);
    }
    return rc;
}

static mercer_status prepare_directions(mrc_points *points, mercer_ctx *ctx,
                                        const mercer_rows *rows, mercer_error *err)
{
    points->directions = true;
    if (points->packed)
        return MERCER_OK;
    mercer_status rc = copy_rows(points, ctx, rows, err);
    for (int64_t i = 0; rc == MERCER_OK && i < rows->n; i++) {
        to_length_one(points->storage + i * rows->d, rows->d);
        rc = mrc_check_pass(ctx, i, rows->d, err);
    }
    return rc;
}

/* norm2 of sparse rows, and of those beside them: what distances start from. */
static mercer_status prepare_norms(mrc_points *points, mercer_ctx *ctx, mrc_term term,
                                   mercer_error *err)
{
    bool squares = term == MRC_TERM_SQUARE;
    int64_t values = points->csr.start ? points->csr.start[points->n] / (points->n + 1) : points->d;
    mercer_status rc = mrc_alloc(&points->norm2, points->n, sizeof(double), err);
    for (int64_t i = 0; rc == MERCER_OK && i < points->n; i++) {
        mrc_sparse_row row = mrc_any_row_of(points, i);
        for (int64_t k = 0; k < row.count; k++)
            points->norm2[i] += squares ? row.value[k] * row.value[k] : fabs(row.value[k]);
        rc = mrc_check_pass(ctx, i, values, err);
    }
    return rc;
}

static mercer_status prepare_sparse(mrc_points *points, mercer_ctx *ctx, const mrc_kernel_def *def,
                                    const mercer_rows *rows, mercer_error *err)
{
    int64_t entries = rows->csr.start[rows->n];
    mercer_status rc = MERCER_OK;
    points->csr = rows->csr;
    points->products = !mrc_term_is_by_columns(def->term);
    if (mrc_term_is_distance(def->term))
        return prepare_norms(points, ctx, def->term, err);
    if (def->rows != MRC_ROWS_UNIT)
        return MERCER_OK;
    rc = mrc_alloc2_raw(&points->storage, entries, 1, sizeof(double), err);
    if (rc != MERCER_OK || entries == 0)
        return rc;
    memcpy(points->storage, rows->csr.value, (size_t)entries * sizeof(double));
    for (int64_t i = 0; rc == MERCER_OK && i < rows->n; i++) {
        to_length_one(points->storage + rows->csr.start[i],
                      rows->csr.start[i + 1] - rows->csr.start[i]);
        rc = mrc_check_pass(ctx, i, entries / rows->n, err);
    }
    points->csr.value = points->storage;
    return rc;
}

static mercer_status prepare(mrc_points *points, mercer_ctx *ctx, const mrc_kernel_def *def,
                             const mercer_rows *rows, const mrc_points *shift_from,
                             mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    points->n = rows->n;
    points->d = rows->d;
    points->x = rows->x;
    points->ld = rows->ld;
    points->pairs = rows->pairs;
    points->place = rows->place;
    if (rows->csr.start)
        return prepare_sparse(points, ctx, def, rows, err);
    bool beside_sparse = shift_from && mrc_points_are_sparse(shift_from);
    if (stays_packed(ctx, def, rows) && !beside_sparse)
        points->packed = rows;
    else if (rows->packed)
        rc = copy_rows(points, ctx, rows, err);
    if (rc != MERCER_OK)
        return rc;
    if (def->term == MRC_TERM_SQUARE) {
        if (beside_sparse)
            return prepare_norms(points, ctx, def->term, err);
        return rows->d <= MRC_SMALL_DIMENSION
                   ? prepare_differences(points, ctx, rows, err)
                   : prepare_distances(points, ctx, rows, shift_from, err);
    }
    if (mrc_term_is_by_columns(def->term))
        return prepare_differences(points, ctx, rows, err);
    if (def->rows == MRC_ROWS_UNIT)
        return prepare_directions(points, ctx, rows, err);
    if (shift_from && shift_from->shift) /* new rows against shifted ones of a linear kernel */
        return prepare_shifted(points, ctx, rows, shift_from, err);
    return MERCER_OK;
}

mercer_status mrc_points_init(mrc_points *points, mercer_ctx *ctx, const mrc_kernel *kernel,
                              const mercer_rows *rows, const mrc_points *shift_from,
                              mercer_error *err)
{
    int parts = mrc_kernel_is_combined(kernel) ? kernel->parts : 0;
    mercer_status rc = MERCER_OK;
    memset(points, 0, sizeof *points);
    MRC_TRY(prepare(points, ctx, mrc_kernel_def_of(kernel), rows, shift_from, err));
    if (parts > 0)
        MRC_TRY(mrc_alloc(&points->part, parts, sizeof *points->part, err));
    for (points->parts = 0; points->parts < parts; points->parts++)
        MRC_TRY(prepare(&points->part[points->parts], ctx, kernel->part[points->parts].def, rows,
                        shift_from ? &shift_from->part[points->parts] : NULL, err));
out:
    if (rc != MERCER_OK) {
        points->parts = points->part ? parts : 0; /* the one that failed, too */
        mrc_points_destroy(points);
    }
    return rc;
}

mercer_status mrc_points_shift(mrc_points *points, mercer_ctx *ctx, const mercer_rows *rows,
                               mercer_error *err)
{
    return prepare_shifted(points, ctx, rows, NULL, err);
}

mercer_status mrc_points_build_index(mrc_points *points, mercer_ctx *ctx, mercer_error *err)
{
    const mrc_span all = {.n = points->n, .total = points->n};
    return mrc_points_build_index_of_all(points, ctx, &all, err);
}

mercer_status mrc_points_build_index_of_all(mrc_points *points, mercer_ctx *ctx,
                                            const mrc_span *span, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!mrc_points_are_sparse(points))
        return MERCER_OK;
    if (points->parts == 0)
        return points->index ? MERCER_OK
                             : mrc_sparse_index_build(points, points->products, ctx, span, err);
    for (int p = 0; p < points->parts && rc == MERCER_OK; p++) {
        mrc_points *part = &points->part[p];
        for (int q = 0; q < p && !part->index; q++)
            if (points->part[q].csr.value == part->csr.value &&
                points->part[q].products == part->products) {
                part->index = points->part[q].index;
                part->index_borrowed = true;
            }
        if (!part->index)
            rc = mrc_sparse_index_build(part, part->products, ctx, span, err);
    }
    return rc;
}

double mrc_points_row_size(const mercer_ctx *ctx, const mrc_kernel *kernel, const mercer_rows *rows)
{
    return mrc_points_row_size_of(ctx, kernel, rows, rows->n, mercer_rows_entries(rows));
}

double mrc_points_row_size_of(const mercer_ctx *ctx, const mrc_kernel *kernel,
                              const mercer_rows *rows, int64_t n, int64_t entries)
{
    double parts = kernel->parts;
    if (stays_packed(ctx, mrc_kernel_def_of(kernel), rows))
        return parts; /* norms */
    if (!rows->csr.start)
        return parts * (double)rows->d;
    if (n == 0) /* of a rank that has none */
        return parts;
    return parts * (1 + ((double)entries + mrc_sparse_index_bytes(n, entries) / 8) / (double)n);
}

/* Doubles that hold the headers of the parts. */
static int64_t header_size(const mrc_points *points)
{
    return (int64_t)(((size_t)points->parts * sizeof *points + sizeof(double) - 1) /
                     sizeof(double));
}

/* Doubles a row takes, without the headers: itself, transposed if need be, its norm and place. */
static int64_t row_size(const mrc_points *points)
{
    bool by_columns = points->by_columns;
    for (int p = 0; p < points->parts; p++)
        by_columns = by_columns || points->part[p].by_columns;
    int64_t one = mrc_points_are_sparse(points) ? 1 : (by_columns ? 2 : 1) * points->d + 2;
    return points->parts ? points->parts * one : one;
}

int64_t mrc_points_gather_size(const mrc_points *points)
{
    return row_size(points) + header_size(points);
}

static mrc_points gather_sparse(const mrc_points *points, const int64_t *index, int64_t count,
                                double *storage)
{
    assert(index); /* sparse points need no windows */
    for (int64_t i = 0; points->norm2 && i < count; i++)
        storage[i] = points->norm2[index[i]];
    return (mrc_points){.n = count,
                        .d = points->d,
                        .csr = points->csr,
                        .picked = index,
                        .norm2 = points->norm2 ? storage : NULL};
}

/* The rows index[0], ..., or, when it is NULL, those from `first` on. */
static mrc_points gather(const mrc_points *points, const int64_t *index, int64_t first,
                         int64_t count, double *storage)
{
    int64_t d = points->d;
    if (mrc_points_are_sparse(points))
        return gather_sparse(points, index, count, storage);
    bool by_columns = points->by_columns;
    double *transposed = storage + count * d,
           *norms = by_columns ? transposed + count * d : transposed;
    int64_t *place = (int64_t *)(void *)(norms + count);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = index ? index[i] : first + i;
        double *to = storage + i * d;
        const double *x = mrc_points_row(points, row, to);
        if (x != to)
            memcpy(to, x, (size_t)d * sizeof *x);
        for (int64_t k = 0; by_columns && k < d; k++)
            transposed[k * count + i] = x[k];
        norms[i] = points->norm2 ? points->norm2[row] : 0;
        if (points->pairs)
            place[i] = points->place[row];
    }
    return (mrc_points){.n = count,
                        .d = d,
                        .x = storage,
                        .ld = d,
                        .transposed = by_columns ? transposed : NULL,
                        .by_columns = by_columns,
                        .norm2 = points->norm2 ? norms : NULL,
                        .shift = points->shift,
                        .pairs = points->pairs,
                        .place = points->pairs ? place : NULL};
}

static mrc_points gather_all(const mrc_points *points, const int64_t *index, int64_t first,
                             int64_t count, double *storage)
{
    if (!points->parts)
        return gather(points, index, first, count, storage);
    mrc_points *part = (mrc_points *)(void *)storage;
    double *values = storage + header_size(points);
    int64_t one = row_size(points) / points->parts;
    for (int p = 0; p < points->parts; p++)
        part[p] = gather(&points->part[p], index, first, count, values + p * count * one);
    /* A combination has no values of its own: those of its first part stand for n, d and ld. */
    return (mrc_points){.n = count,
                        .d = points->d,
                        .x = part[0].x,
                        .ld = points->d,
                        .csr = part[0].csr,
                        .picked = part[0].picked,
                        .part = part,
                        .parts = points->parts};
}

mrc_points mrc_points_gather(const mrc_points *points, const int64_t *index, int64_t count,
                             double *storage)
{
    return gather_all(points, index, 0, count, storage);
}

int64_t mrc_points_window_size(const mrc_points *points)
{
    return points->packed ? mrc_points_gather_size(points) : 0;
}

const mrc_points *mrc_points_window(const mrc_points *points, int64_t *first, int64_t count,
                                    double *storage, mrc_points *window)
{
    if (!points->packed)
        return points;
    *window = gather_all(points, NULL, *first, count, storage);
    *first = 0;
    return window;
}

void mrc_points_destroy(mrc_points *points)
{
    for (int p = 0; p < points->parts; p++)
        mrc_points_destroy(&points->part[p]);
    mrc_free(points->part);
    if (!points->index_borrowed)
        mrc_sparse_index_free(points->index);
    mrc_free(points->storage);
    mrc_free(points->transposed);
    mrc_free(points->norm2);
    mrc_free(points->shift);
    memset(points, 0, sizeof *points);
}
