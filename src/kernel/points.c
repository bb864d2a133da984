/* Prepared rows. rbf in few dimensions: a transposed copy. rbf in many: a copy shifted by the
 * column means (which shrinks |x|^2 and with it the cancellation in |x|^2 + |y|^2 - 2 x.y) and
 * squared norms. cosine: a copy with rows of length one. The others: the rows themselves. */
#include "kernel/points.h"

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

static mercer_status prepare_distances(mrc_points *points, const mercer_rows *rows,
                                       const mrc_points *shift_from, mercer_error *err)
{
    mercer_status rc = copy_rows(points, rows, err);
    if (rc == MERCER_OK)
        rc = choose_shift(points, rows, shift_from, err);
    if (rc == MERCER_OK)
        rc = mrc_alloc(&points->norm2, rows->n, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < rows->n; i++) {
        double *x = points->storage + i * rows->d, sum = 0;
        for (int64_t k = 0; k < rows->d; k++) {
            x[k] -= points->shift[k];
            sum += x[k] * x[k];
        }
        points->norm2[i] = sum;
    }
    return MERCER_OK;
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

static mercer_status prepare_directions(mrc_points *points, const mercer_rows *rows,
                                        mercer_error *err)
{
    mercer_status rc = copy_rows(points, rows, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < rows->n; i++) {
        double *x = points->storage + i * rows->d, largest = 0, sum = 0;
        for (int64_t k = 0; k < rows->d; k++)
            largest = fmax(largest, fabs(x[k]));
        if (largest == 0)
            continue;
        for (int64_t k = 0; k < rows->d; k++) { /* scaled first: squares of huge rows overflow */
            x[k] /= largest;
            sum += x[k] * x[k];
        }
        for (int64_t k = 0; k < rows->d; k++)
            x[k] /= sqrt(sum);
    }
    return MERCER_OK;
}

mercer_status mrc_points_init(mrc_points *points, mercer_ctx *ctx, const mrc_kernel *kernel,
                              const mercer_rows *rows, const mrc_points *shift_from,
                              mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    (void)ctx;
    memset(points, 0, sizeof *points);
    points->n = rows->n;
    points->d = rows->d;
    points->x = rows->x;
    points->ld = rows->ld;
    if (kernel->kind == MRC_KERNEL_rbf && rows->d <= MRC_SMALL_DIMENSION)
        rc = prepare_differences(points, rows, err);
    else if (kernel->kind == MRC_KERNEL_rbf)
        rc = prepare_distances(points, rows, shift_from, err);
    else if (kernel->kind == MRC_KERNEL_cosine)
        rc = prepare_directions(points, rows, err);
    if (rc != MERCER_OK)
        mrc_points_destroy(points);
    return rc;
}

int64_t mrc_points_gather_size(const mrc_points *points)
{
    return 2 * points->d + 1;
}

mrc_points mrc_points_gather(const mrc_points *points, const int64_t *index, int64_t count,
                             double *storage)
{
    int64_t d = points->d;
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

void mrc_points_destroy(mrc_points *points)
{
    mrc_free(points->storage);
    mrc_free(points->transposed);
    mrc_free(points->norm2);
    mrc_free(points->shift);
    memset(points, 0, sizeof *points);
}
