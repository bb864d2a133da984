/* Prepared rows. Functions of the distance, in few dimensions: a transposed copy; in many: a copy
 * shifted by the column means (which shrinks |x|^2 and with it the cancellation in
 * |x|^2 + |y|^2 - 2 x.y) and squared norms. Other sums over columns: a transposed copy. cosine: a
 * copy with rows of length one. The others: the rows themselves. A combination: all this for each
 * of its parts.
 *
 * Sparse rows stay as they are (cosine: with values of their own), with norms where distances need
 * them; nothing is shifted, which would fill them. */
#include "kernel/points.h"

#include "kernel/sparse.h"

#include <math.h>
#include <string.h>

static mercer_status copy_rows(mrc_points *points, const mercer_rows *rows, mercer_error *err)
{
    mercer_status rc = mrc_alloc2_raw(&points->storage, rows->n, rows->d, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < rows->n; i++)
        memcpy(points->storage + i * rows->d, rows->x + i * rows->ld,
               (size_t)rows->d * sizeof(double));
    points->x = points->storage;
    points->ld = rows->d;
    return MERCER_OK;
}

static mercer_status choose_shift(mrc_points *points, const mercer_rows *rows,
                                  const mrc_points *shift_from, mercer_error *err)
{
    mercer_status rc = mrc_alloc(&points->shift, rows->d, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    if (shift_from) {
        memcpy(points->shift, shift_from->shift, (size_t)rows->d * sizeof(double));
        return MERCER_OK;
    }
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t k = 0; k < rows->d; k++)
            points->shift[k] += rows->x[i * rows->ld + k] / (double)rows->n;
    return MERCER_OK;
}

/* A copy shifted by the column means, or by the shift of other points. */
static mercer_status prepare_shifted(mrc_points *points, const mercer_rows *rows,
                                     const mrc_points *shift_from, mercer_error *err)
{
    mercer_status rc = copy_rows(points, rows, err);
    if (rc == MERCER_OK)
        rc = choose_shift(points, rows, shift_from, err);
    for (int64_t i = 0; rc == MERCER_OK && i < rows->n; i++)
        for (int64_t k = 0; k < rows->d; k++)
            points->storage[i * rows->d + k] -= points->shift[k];
    return rc;
}

static mercer_status prepare_distances(mrc_points *points, const mercer_rows *rows,
                                       const mrc_points *shift_from, mercer_error *err)
{
    mercer_status rc = prepare_shifted(points, rows, shift_from, err);
    if (rc == MERCER_OK)
        rc = mrc_alloc(&points->norm2, rows->n, sizeof(double), err);
    for (int64_t i = 0; rc == MERCER_OK && i < rows->n; i++) {
        const double *x = points->storage + i * rows->d;
        for (int64_t k = 0; k < rows->d; k++)
            points->norm2[i] += x[k] * x[k];
    }
    return rc;
}

static mercer_status prepare_differences(mrc_points *points, const mercer_rows *rows,
                                         mercer_error *err)
{
    mercer_status rc = mrc_alloc2_raw(&points->transposed, rows->d, rows->n, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t k = 0; k < rows->d; k++)
            points->transposed[k * rows->n + i] = rows->x[i * rows->ld + k];
    return MERCER_OK;
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

static mercer_status prepare_directions(mrc_points *points, const mercer_rows *rows,
                                        mercer_error *err)
{
    mercer_status rc = copy_rows(points, rows, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < rows->n; i++)
        to_length_one(points->storage + i * rows->d, rows->d);
    return MERCER_OK;
}

/* norm2 of sparse rows, and of those beside them: what distances start from. */
static mercer_status prepare_norms(mrc_points *points, mrc_kernel_kind kind, mercer_error *err)
{
    bool absolute = kind == MRC_KERNEL_laplacian || kind == MRC_KERNEL_chi2;
    mercer_status rc = mrc_alloc(&points->norm2, points->n, sizeof(double), err);
    for (int64_t i = 0; rc == MERCER_OK && i < points->n; i++) {
        mrc_sparse_row row = mrc_any_row_of(points, i);
        for (int64_t k = 0; k < row.count; k++)
            points->norm2[i] += absolute ? fabs(row.value[k]) : row.value[k] * row.value[k];
    }
    return rc;
}

static mercer_status prepare_sparse(mrc_points *points, mrc_kernel_kind kind,
                                    const mercer_rows *rows, mercer_error *err)
{
    int64_t entries = rows->csr.start[rows->n];
    mercer_status rc = MERCER_OK;
    points->csr = rows->csr;
    points->products =
        kind != MRC_KERNEL_laplacian && kind != MRC_KERNEL_chi2 && kind != MRC_KERNEL_intersection;
    switch (kind) {
    case MRC_KERNEL_rbf:
    case MRC_KERNEL_exponential:
    case MRC_KERNEL_matern:
    case MRC_KERNEL_rq:
    case MRC_KERNEL_laplacian:
    case MRC_KERNEL_chi2:
        return prepare_norms(points, kind, err);
    case MRC_KERNEL_cosine:
        rc = mrc_alloc2_raw(&points->storage, entries, 1, sizeof(double), err);
        if (rc != MERCER_OK || entries == 0)
            return rc;
        memcpy(points->storage, rows->csr.value, (size_t)entries * sizeof(double));
        for (int64_t i = 0; i < rows->n; i++)
            to_length_one(points->storage + rows->csr.start[i],
                          rows->csr.start[i + 1] - rows->csr.start[i]);
        points->csr.value = points->storage;
        return MERCER_OK;
    default:
        return MERCER_OK;
    }
}

static mercer_status prepare(mrc_points *points, mrc_kernel_kind kind, const mercer_rows *rows,
                             const mrc_points *shift_from, mercer_error *err)
{
    points->n = rows->n;
    points->d = rows->d;
    points->x = rows->x;
    points->ld = rows->ld;
    if (rows->csr.start)
        return prepare_sparse(points, kind, rows, err);
    switch (kind) {
    case MRC_KERNEL_rbf:
    case MRC_KERNEL_exponential:
    case MRC_KERNEL_matern:
    case MRC_KERNEL_rq:
        if (shift_from && mrc_points_are_sparse(shift_from))
            return prepare_norms(points, kind, err);
        return rows->d <= MRC_SMALL_DIMENSION ? prepare_differences(points, rows, err)
                                              : prepare_distances(points, rows, shift_from, err);
    case MRC_KERNEL_laplacian:
    case MRC_KERNEL_chi2:
    case MRC_KERNEL_intersection:
        return prepare_differences(points, rows, err);
    case MRC_KERNEL_cosine:
        return prepare_directions(points, rows, err);
    case MRC_KERNEL_linear: /* new rows against shifted ones */
        return shift_from && shift_from->shift ? prepare_shifted(points, rows, shift_from, err)
                                               : MERCER_OK;
    default:
        return MERCER_OK;
    }
}

mercer_status mrc_points_init(mrc_points *points, mercer_ctx *ctx, const mrc_kernel *kernel,
                              const mercer_rows *rows, const mrc_points *shift_from,
                              mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    (void)ctx;
    memset(points, 0, sizeof *points);
    MRC_TRY(prepare(points, kernel->kind, rows, shift_from, err));
    if (kernel->parts > 0)
        MRC_TRY(mrc_alloc(&points->part, kernel->parts, sizeof *points->part, err));
    for (points->parts = 0; points->parts < kernel->parts; points->parts++)
        MRC_TRY(prepare(&points->part[points->parts], kernel->part[points->parts].kind, rows,
                        shift_from ? &shift_from->part[points->parts] : NULL, err));
out:
    if (rc != MERCER_OK) {
        points->parts = points->part ? kernel->parts : 0; /* the one that failed, too */
        mrc_points_destroy(points);
    }
    return rc;
}

mercer_status mrc_points_shift(mrc_points *points, const mercer_rows *rows, mercer_error *err)
{
    return prepare_shifted(points, rows, NULL, err);
}

mercer_status mrc_points_build_index(mrc_points *points, mercer_ctx *ctx, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!mrc_points_are_sparse(points))
        return MERCER_OK;
    if (points->parts == 0)
        return points->index ? MERCER_OK
                             : mrc_sparse_index_build(points, points->products, ctx, err);
    for (int p = 0; p < points->parts && rc == MERCER_OK; p++) {
        mrc_points *part = &points->part[p];
        for (int q = 0; q < p && !part->index; q++)
            if (points->part[q].csr.value == part->csr.value &&
                points->part[q].products == part->products) {
                part->index = points->part[q].index;
                part->index_borrowed = true;
            }
        if (!part->index)
            rc = mrc_sparse_index_build(part, part->products, ctx, err);
    }
    return rc;
}

double mrc_points_row_size(const mrc_kernel *kernel, const mercer_rows *rows)
{
    double parts = kernel->parts > 1 ? kernel->parts : 1;
    if (!rows->csr.start)
        return parts * (double)rows->d;
    double entries = (double)rows->csr.start[rows->n], n = (double)rows->n;
    return parts *
           (1 + (entries + mrc_sparse_index_bytes(rows->n, rows->csr.start[rows->n]) / 8) / n);
}

/* Doubles that hold the headers of the parts. */
static int64_t header_size(const mrc_points *points)
{
    return (int64_t)(((size_t)points->parts * sizeof *points + sizeof(double) - 1) /
                     sizeof(double));
}

/* Doubles a row takes, without the headers. */
static int64_t row_size(const mrc_points *points)
{
    int64_t one = mrc_points_are_sparse(points) ? 1 : 2 * points->d + 1;
    return points->parts ? points->parts * one : one;
}

int64_t mrc_points_gather_size(const mrc_points *points)
{
    return row_size(points) + header_size(points);
}

static mrc_points gather_sparse(const mrc_points *points, const int64_t *index, int64_t count,
                                double *storage)
{
    for (int64_t i = 0; points->norm2 && i < count; i++)
        storage[i] = points->norm2[index[i]];
    return (mrc_points){.n = count,
                        .d = points->d,
                        .csr = points->csr,
                        .picked = index,
                        .norm2 = points->norm2 ? storage : NULL};
}

static mrc_points gather(const mrc_points *points, const int64_t *index, int64_t count,
                         double *storage)
{
    int64_t d = points->d;
    if (mrc_points_are_sparse(points))
        return gather_sparse(points, index, count, storage);
    double *transposed = storage + count * d, *norms = transposed + count * d;
    for (int64_t i = 0; i < count; i++) {
        const double *x = points->x + index[i] * points->ld;
        memcpy(storage + i * d, x, (size_t)d * sizeof *x);
        for (int64_t k = 0; points->transposed && k < d; k++)
            transposed[k * count + i] = x[k];
        norms[i] = points->norm2 ? points->norm2[index[i]] : 0;
    }
    return (mrc_points){.n = count,
                        .d = d,
                        .x = storage,
                        .ld = d,
                        .transposed = points->transposed ? transposed : NULL,
                        .norm2 = points->norm2 ? norms : NULL,
                        .shift = points->shift};
}

mrc_points mrc_points_gather(const mrc_points *points, const int64_t *index, int64_t count,
                             double *storage)
{
    if (!points->parts)
        return gather(points, index, count, storage);
    mrc_points *part = (mrc_points *)(void *)storage;
    double *values = storage + header_size(points);
    int64_t one = row_size(points) / points->parts;
    for (int p = 0; p < points->parts; p++)
        part[p] = gather(&points->part[p], index, count, values + p * count * one);
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
