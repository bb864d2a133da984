/* SPDX-License-Identifier: BSD-3-Clause */
/* A linear map before the kernel: u = x L of scaled rows x, learnt from targets (methods/common/
 * agop.c) and kept in the model. Points of a model with a map are kept as u. L is d x width with
 * orthogonal columns, or diagonal; the weight of a column is its diagonal entry of M = L L'. */
#include "model/map.h"

#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

mrc_map mrc_map_of(const mercer_model *model)
{
    return (mrc_map){.d = model->columns,
                     .width = mrc_model_width(model),
                     .matrix = model->map,
                     .weights = model->map_weights};
}

void mrc_map_apply(const mrc_map *map, mrc_simd simd, const double *x, int64_t count, double *out)
{
    int64_t d = map->d;
    if (map->matrix) {
        mrc_gemm_rows(simd, false, count, map->width, d, 1, x, d, map->matrix, map->width, 0, out,
                      map->width);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < d; k++)
            out[i * d + k] = sqrt(map->weights[k]) * x[i * d + k];
}

static mercer_status map_sparse(const mrc_map *map, const mercer_rows *rows, mercer_rows **out,
                                mercer_error *err)
{
    int64_t entries = rows->csr.start[rows->n];
    mrc_csr_owned csr = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&csr.start, rows->n + 1, sizeof *csr.start, err));
    MRC_TRY(mrc_alloc2_raw(&csr.column, entries, 1, sizeof *csr.column, err));
    MRC_TRY(mrc_alloc2_raw(&csr.value, entries, 1, sizeof *csr.value, err));
    int64_t at = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        for (int64_t k = rows->csr.start[i]; k < rows->csr.start[i + 1]; k++) {
            double value = sqrt(map->weights[rows->csr.column[k]]) * rows->csr.value[k];
            if (value == 0) /* which entries are not */
                continue;
            csr.column[at] = rows->csr.column[k];
            csr.value[at++] = value;
        }
        csr.start[i + 1] = at;
    }
    MRC_TRY(mrc_rows_adopt_csr(&csr, rows->n, rows->d, out, err));
out:
    mrc_csr_owned_destroy(&csr);
    return rc;
}

mercer_status mrc_map_rows(mercer_ctx *ctx, const mrc_map *map, const mercer_rows *rows,
                           mercer_rows **out, mercer_error *err)
{
    double *u = NULL, *scratch = NULL;
    mercer_status rc = MERCER_OK;
    if (mercer_rows_is_sparse(rows))
        return map_sparse(map, rows, out, err);
    MRC_TRY(mrc_alloc(&scratch, rows->d, sizeof *scratch, err));
    MRC_TRY(mrc_alloc2_raw(&u, rows->n, map->width, sizeof *u, err));
    for (int64_t i = 0; i < rows->n; i++) {
        mrc_map_apply(map, ctx->simd, mrc_rows_line(rows, i, scratch), 1, u + i * map->width);
        MRC_TRY(mrc_check_pass(ctx, i, rows->d * map->width, err));
    }
    MRC_TRY(mrc_rows_adopt(MRC_F64, u, rows->n, map->width, out, err));
    u = NULL;
out:
    mrc_free(u);
    mrc_free(scratch);
    return rc;
}

/* The square of singular value j of L: its columns are orthogonal. */
static double squared_value(const mrc_map *map, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; map->matrix && k < map->d; k++)
        sum += map->matrix[k * map->width + j] * map->matrix[k * map->width + j];
    return map->matrix ? sum : map->weights[j];
}

/* Kernels see squared distances, to which a direction adds s^2 times the square along it, s its
 * singular value. Features are known to a relative epsilon, and with them what is along the
 * direction to epsilon (s_max / s)^2: more than half of the digits are lost where that exceeds the
 * root of epsilon. */
const char *mrc_map_refusal(const mrc_map *map)
{
    double least = INFINITY, largest = 0;
    for (int64_t j = 0; j < map->width; j++) {
        double value = squared_value(map, j);
        least = fmin(least, value);
        largest = fmax(largest, value);
    }
    if (map->width != map->d || !(least > 0))
        return "leaves out columns, which cannot be found again";
    if (least < sqrt(DBL_EPSILON) * largest)
        return "weights a direction of the columns by less than 1.5e-8 of the largest weight: more "
               "than half of the digits along it are lost";
    return NULL;
}

mercer_status mrc_map_undo(mercer_ctx *ctx, const mrc_map *map, double *x, int64_t count,
                           mercer_error *err)
{
    int64_t d = map->d;
    double *copy = NULL;
    bool singular = false;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; !map->matrix && i < count * d; i++)
        x[i] /= sqrt(map->weights[i % d]);
    if (!map->matrix)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&copy, d, d, sizeof *copy, err));
    memcpy(copy, map->matrix, (size_t)(d * d) * sizeof *copy);
    MRC_TRY(mrc_solve(ctx, d, copy, count, x, &singular, err));
    if (singular)
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "pre-images: the map of the model cannot be undone");
out:
    mrc_free(copy);
    return rc;
}
