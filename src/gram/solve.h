/* SPDX-License-Identifier: BSD-3-Clause */
/* Ridge regression on the kernel matrix: (K + mu I) A = Y on every store, mu = ridge tr K.
 *
 * K and Y are centred when the operator is: the intercept then has no penalty. */
#ifndef MRC_GRAM_SOLVE_H
#define MRC_GRAM_SOLVE_H

#include "gram/gram.h"

/* Instead of a ridge: the one of MRC_RIDGES values 10^-7, 10^-6.5, ..., 1 with the least sum of
 * squared leave-one-out errors, the largest among equals. */
#define MRC_RIDGE_AUTO (-1.0)
enum { MRC_RIDGES = 15 };
double mrc_ridge_at(int index);

typedef struct mrc_ridge {
    double ridge, mu;    /* used; mu is in the unit of the operator */
    double trace;        /* of K, in the same unit */
    double *mean;        /* outputs: of the targets, zeroes when the operator is not centred */
    double *fitted;      /* n x outputs: K A, without the mean */
    double *dual;        /* n x outputs: A; NULL with a factor */
    const mrc_factor *f; /* of the operator, borrowed; or NULL. With it: */
    double *weights;     /* q x outputs: W with K A = F W, |w|^2 = A'K A */
    double *values;      /* q: eigenvalues of F'F, increasing, none negative */
    double *vectors;     /* q x q, eigenvectors as rows */
    /* By leave-one-out: mean squares over rows and outputs for each value; else NaN. Infinite where
     * rounding leaves no digit of an error. */
    double errors[MRC_RIDGES];
    int64_t stand_in;     /* columns of the factor that stood in for K in these errors, or 0: none
                             did */
    double stand_in_left; /* share of the trace that it left out */
    int64_t products;     /* with K */
    double residual;      /* share of the targets of an output that the fit may be off by, see
                             solve.c; |Y - (K + mu I) A| / |Y| without a factor */
    int64_t rank;         /* of F or of K, as far as it is known */
} mrc_ridge;

/* targets: n x outputs. ridge > 0; or 0, only with a factor: the least squares solution of least
 * norm; or MRC_RIDGE_AUTO. MERCER_ERR_DATA: the matrix is zero to rounding (out->trace tells), or
 * not semidefinite, or the ridge is too small for its digits; MERCER_ERR_NUMERIC: no solution was
 * found. A residual above 1e-6 is told in a notice, above 1e-3 it is an error. The operator should
 * be in its usual unit. Where rows are spread over ranks, arrays of n numbers have those here, and
 * all else is the same on all ranks. To be destroyed, also after an error. */
mercer_status mrc_gram_solve(mrc_gram *gram, const double *targets, int64_t outputs, double ridge,
                             mrc_ridge *out, mercer_error *err);
void mrc_ridge_destroy(mrc_ridge *ridge);

/* n-vectors that a solution without a factor holds, for solver_columns of the request; n: rows
 * here. */
int64_t mrc_solve_columns(const mercer_ctx *ctx, int64_t n, int64_t outputs);

#endif
