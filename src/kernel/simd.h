/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops over kernel values, once per vector width.
 *
 * simd_loops.h is compiled once for each instruction set; mrc_simd_loops() hands out the table that
 * a context asks for. A value depends only on its own inputs, never on its place in the tile. */
#ifndef MRC_KERNEL_SIMD_H
#define MRC_KERNEL_SIMD_H

#include "base/ctx.h"

#include <stdbool.h>
#include <stddef.h>

/* What is summed over the columns of two rows. */
typedef enum mrc_term {
    MRC_TERM_NONE,     /* nothing: values come from elsewhere */
    MRC_TERM_PRODUCT,  /* x y, by GEMM */
    MRC_TERM_SQUARE,   /* (x - y)^2 */
    MRC_TERM_ABSOLUTE, /* |x - y| */
    MRC_TERM_CHI2,     /* (x - y)^2 / (x + y), 0 where both are 0; x, y >= 0 */
    MRC_TERM_MIN,      /* min(x, y) */
    MRC_TERMS
} mrc_term;

typedef struct mrc_simd_loops {
    const char *name;
    /* out[i][j] = exp(-gamma |a_i - b_j|^2), a: na x d (stride lda), b transposed: d x nb
     * (stride ldb). */
    void (*gaussian_by_differences)(const double *a, int64_t na, int64_t lda, const double *bt,
                                    int64_t nb, int64_t ldb, int64_t d, double gamma, double *out,
                                    int64_t ldo);
    /* Squared distances from dot products in one row: row[j] = max(0, norm_a + norm_b[j] - 2
     * row[j]). Returns true when some distance is so small against the norms that digits were
     * lost, and must be computed by differences. */
    bool (*distances_from_dots)(double *row, int64_t nb, double norm_a, const double *norm_b);
    void (*exponential)(double *row, int64_t count, double factor); /* exp(factor * x) */
    /* out[i][j] = sum over columns of a term of a_i and b_j, from MRC_TERM_SQUARE on; a, b as
     * above, any d. Keeps every digit of a small distance. */
    void (*column_sums)(mrc_term term, const double *a, int64_t na, int64_t lda, const double *bt,
                        int64_t nb, int64_t ldb, int64_t d, double *out, int64_t ldo);
    /* Functions of squared distances, x -> */
    void (*exponential_of_root)(double *row, int64_t count, double factor); /* exp(factor sqrt x) */
    /* with r = sqrt(scale x): order 1: (1 + r) exp(-r), order 2: (1 + r + r^2 / 3) exp(-r) */
    void (*matern)(double *row, int64_t count, double scale, int order);
    void (*rational)(double *row, int64_t count, double scale,
                     double power); /* (1+scale x)^-power */
    void (*power)(double *row, int64_t count, double gamma, double coef0, int64_t degree);
    void (*hyperbolic_tangent)(double *row, int64_t count, double gamma, double coef0);
    /* Place of the first value below the limit, or count. */
    int64_t (*first_below)(const double *row, int64_t count, double limit);
} mrc_simd_loops;

/* A squared distance below this share of |a|^2 + |b|^2 has lost more than three digits in
 * |a|^2 + |b|^2 - 2 a.b. Raising it recomputes more pairs and gains accuracy. */
#define MRC_DISTANCE_SHARE 1e-3

const mrc_simd_loops *mrc_simd_loops_baseline(void);
#if defined(__x86_64__)
const mrc_simd_loops *mrc_simd_loops_avx2(void);
const mrc_simd_loops *mrc_simd_loops_avx512(void);
#endif

/* The loops for a width the processor has. */
const mrc_simd_loops *mrc_simd_loops_for(mrc_simd simd);

#endif
