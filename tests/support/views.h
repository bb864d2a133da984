/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows from plain C arrays, in one line. */
#ifndef MRC_TESTS_VIEWS_H
#define MRC_TESTS_VIEWS_H

#include <mercer/mercer.h>

static inline mercer_array matrix_array(mercer_dtype dtype, const void *x, int64_t n, int64_t d,
                                        int64_t ld)
{
    return (mercer_array){.struct_size = sizeof(mercer_array),
                          .data = x,
                          .dtype = dtype,
                          .rank = 2,
                          .shape = {n, d},
                          .stride = {ld, 1}};
}

static inline mercer_array vector_array(mercer_dtype dtype, const void *x, int64_t n)
{
    return (mercer_array){
        .struct_size = sizeof(mercer_array), .data = x, .dtype = dtype, .rank = 1, .shape = {n, 1}};
}

static inline mercer_status view_f64(mercer_ctx *ctx, const double *x, int64_t n, int64_t d,
                                     int64_t ld, mercer_rows **out, mercer_error *err)
{
    mercer_array a = matrix_array(MERCER_F64, x, n, d, ld);
    return mercer_rows_view(ctx, &a, out, err);
}

static inline mercer_status view_f32(mercer_ctx *ctx, const float *x, int64_t n, int64_t d,
                                     int64_t ld, mercer_rows **out, mercer_error *err)
{
    mercer_array a = matrix_array(MERCER_F32, x, n, d, ld);
    return mercer_rows_view(ctx, &a, out, err);
}

static inline mercer_status view_csr(mercer_ctx *ctx, const int64_t *start, const int32_t *column,
                                     const double *value, int64_t n, int64_t d, mercer_rows **out,
                                     mercer_error *err)
{
    mercer_array s = vector_array(MERCER_I64, start, n + 1);
    mercer_array c = vector_array(MERCER_I32, column, start[n]);
    mercer_array v = vector_array(MERCER_F64, value, start[n]);
    return mercer_rows_view_csr(ctx, &s, &c, &v, d, out, err);
}

#endif
