/* SPDX-License-Identifier: BSD-3-Clause */
/* What several unit tests need: data sets, Gram matrices, comparisons. */
#ifndef MRC_TESTS_SUPPORT_H
#define MRC_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "naive.h"
#include "views.h"

#include "data/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fail with the library's own text. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        mercer_error support_err = {0};                                                            \
        mercer_error *err = &support_err;                                                          \
        mercer_status support_rc = (call);                                                         \
        if (support_rc != MERCER_OK)                                                               \
            fail_msg("%s: status %d: %s", #call, (int)support_rc, support_err.text);               \
    } while (0)

static inline mercer_ctx *new_ctx(int threads)
{
    mercer_ctx *ctx = NULL;
    assert_int_equal(mercer_ctx_new(&ctx, NULL), MERCER_OK);
    assert_int_equal(mercer_ctx_set_threads(ctx, threads, NULL), MERCER_OK);
    return ctx;
}

static inline double *new_doubles(int64_t count)
{
    double *x = calloc((size_t)count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* n x d normal numbers around `center`, of the given spread. */
static inline double *normal_rows(uint64_t seed, int64_t n, int64_t d, double center, double spread)
{
    mrc_rng rng;
    double *x = new_doubles(n * d);
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n * d; i++)
        x[i] = center + spread * mrc_rng_normal(&rng);
    return x;
}

/* Points on a ring of radius 8 with unit noise. */
static inline double *ring_rows(uint64_t seed, int64_t n)
{
    mrc_rng rng;
    double *x = new_doubles(2 * n);
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n; i++) {
        double angle = 6.283185307179586 * mrc_rng_uniform(&rng);
        x[2 * i] = 8 * cos(angle) + mrc_rng_normal(&rng);
        x[2 * i + 1] = 8 * sin(angle) + mrc_rng_normal(&rng);
    }
    return x;
}

static inline mercer_rows *view(mercer_ctx *ctx, const double *x, int64_t n, int64_t d)
{
    mercer_rows *rows = NULL;
    assert_ok(view_f64(ctx, x, n, d, d, &rows, err));
    return rows;
}

/* Set a share of the values to zero. */
static inline void thin_out(uint64_t seed, double *x, int64_t count, double share)
{
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < count; i++)
        if (mrc_rng_uniform(&rng) < share)
            x[i] = 0;
}

/* The same values as sparse rows, zeroes left out. */
static inline mercer_rows *sparse_copy(const double *x, int64_t n, int64_t d)
{
    mrc_csr_owned csr = {0};
    mercer_rows *rows = NULL;
    int64_t end = 0;
    assert_ok(mrc_alloc(&csr.start, n + 1, sizeof *csr.start, err));
    assert_ok(mrc_alloc(&csr.column, n * d, sizeof *csr.column, err));
    assert_ok(mrc_alloc(&csr.value, n * d, sizeof *csr.value, err));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < d; k++)
            if (x[i * d + k] != 0) {
                csr.column[end] = (int32_t)k;
                csr.value[end++] = x[i * d + k];
            }
        csr.start[i + 1] = end;
    }
    assert_ok(mrc_rows_adopt_csr(&csr, n, d, &rows, err));
    return rows;
}

/* Some kernels take values >= 0 only. */
static inline void make_nonnegative(const char *spec, double *x, int64_t count)
{
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    bool needed = false;
    for (int p = 0; p < kernel.parts; p++)
        needed = needed || kernel.part[p].def->nonnegative;
    for (int64_t i = 0; needed && i < count; i++)
        x[i] = fabs(x[i]);
}

/* The full Gram matrix, centred or not. */
static inline double *naive_gram(const mrc_kernel *k, const double *x, int64_t n, int64_t d,
                                 bool centered)
{
    double *gram = new_doubles(n * n), *mean = new_doubles(n), grand = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            gram[i * n + j] = naive_kernel(k, x + i * d, x + j * d, d);
            mean[j] += gram[i * n + j] / (double)n;
        }
    for (int64_t i = 0; i < n; i++)
        grand += mean[i] / (double)n;
    for (int64_t i = 0; centered && i < n; i++)
        for (int64_t j = 0; j < n; j++)
            gram[i * n + j] += grand - mean[i] - mean[j];
    free(mean);
    return gram;
}

static inline double largest_difference(const double *a, const double *b, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs(a[i] - b[i]);
        if (!(difference <= largest)) /* NaN counts as a difference */
            largest = difference;
    }
    return largest;
}

static inline double largest_modulus(const double *a, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(a[i]));
    return largest;
}

#define assert_close(a, b, count, tolerance)                                                       \
    do {                                                                                           \
        double support_difference = largest_difference(a, b, count);                               \
        if (!(support_difference <= (tolerance)))                                                  \
            fail_msg("%s and %s differ by %.3g, more than %.3g", #a, #b, support_difference,       \
                     (double)(tolerance));                                                         \
    } while (0)

#endif
