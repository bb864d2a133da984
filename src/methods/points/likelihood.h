/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights of mapped rows by maximum likelihood (Tipping 2001).
 *
 * The mapped rows f_t, about their mean or not, are draws from a Gaussian with covariance
 *     C = s2 I + sum_i w_i c_i c_i',  w_i >= 0,  c_i = phi(x_i), never centred.
 * With V = Phi C^-1 Phi' all that the likelihood asks for is in kernel values:
 *     s_i = V_ii,  q_i = |H V_i|^2  (H centres, or is the unit matrix);  dL/dw_i = (q_i - n s_i)/2.
 * One weight alone has a best value: with i taken out, s' = s / a and q' = q / a^2, a = 1 - w s, L
 * is l(w) = (-n log(1 + w s') + w q' / (1 + w s')) / 2, which is largest at w = (theta - 1) / s',
 * theta = q' / (n s'), where theta > 1, else at 0. */
#ifndef MRC_METHODS_POINTS_LIKELIHOOD_H
#define MRC_METHODS_POINTS_LIKELIHOOD_H

#include "gram/gram.h"

typedef struct mrc_likelihood {
    mercer_ctx *ctx; /* borrowed, like gram, which is not centred */
    mrc_gram *gram;
    bool about_mean;
    double noise; /* s2, in the unit of gram */
    int64_t n;
    const double *diag; /* of gram */
    double *weights;    /* w, n */
    double *s, *q;      /* n */
    double *left;       /* a, n */
    double *doubt;      /* n: rounding errors that q may hold since it was computed anew */
    int64_t count;      /* rows whose weight is positive, */
    int64_t *active;    /* these, in the order they came; room for n */
    int64_t terms;      /* V = K / s2 - sum of sign_r t_r t_r', this many */
    double *t, *sign;   /* terms x n, terms */
    int64_t capacity;
    int64_t steps, since; /* changes so far, and since all was computed anew */
    double gained;        /* L less that of w = 0 */
    bool converged;       /* no change gains more than was asked for */
    double *inner;        /* F'HF of a low-rank store, rank x rank; or NULL */
    double *scratch;      /* 4 n */
} mrc_likelihood;

/* Begin with all weights zero. l starts zeroed. */
mercer_status mrc_likelihood_init(mrc_likelihood *l, mercer_ctx *ctx, mrc_gram *gram,
                                  bool about_mean, double noise, mercer_error *err);
void mrc_likelihood_destroy(mrc_likelihood *l);

/* The noise from which on no weight is positive, max_i |H K_i|^2 / (n k_ii): of l at its beginning.
 * 0: no row has anything to explain. */
double mrc_likelihood_limit(const mrc_likelihood *l);

/* The change of one weight that raises L most: row, its weight, the gain. Where gains are equal to
 * 1e-9 or rounding, rows with a weight come first, then the lowest: a copy of a row does not join
 * it. may_add: other rows may get one. *row is -1 where nothing gains. */
typedef struct mrc_likelihood_change {
    int64_t row;
    double weight, gain;
    double error; /* the largest that rounding may have put the gain of any row off */
} mrc_likelihood_change;
void mrc_likelihood_best(const mrc_likelihood *l, bool may_add, mrc_likelihood_change *out);

/* Make that change. MERCER_ERR_DATA where the kernel shows not to be positive semidefinite. Cost: a
 * product with the matrix, and 6 n terms. */
mercer_status mrc_likelihood_make(mrc_likelihood *l, const mrc_likelihood_change *change,
                                  mercer_error *err);

/* s, q and V from the weights alone. Cost: n^2 count; low-rank: n rank (rank + count). */
mercer_status mrc_likelihood_renew(mrc_likelihood *l, mercer_error *err);

/* Change weights until none gains more than tolerance n; most: rows that may have one. */
mercer_status mrc_likelihood_climb(mrc_likelihood *l, int64_t most, double tolerance,
                                   mercer_error *err);

#endif
