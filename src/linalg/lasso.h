/* SPDX-License-Identifier: BSD-3-Clause */
/* The path of least squares with an l1 price. */
#ifndef MRC_LINALG_LASSO_H
#define MRC_LINALG_LASSO_H

#include "base/ctx.h"
#include "base/memory.h"

/* A semidefinite matrix G, n x n, known by its columns: out (n) = G e_i. */
typedef struct mrc_lasso_matrix {
    int64_t n;
    mercer_status (*column)(void *self, int64_t i, double *out, mercer_error *err);
    void *self;
} mrc_lasso_matrix;

/* Minimise 1/2 (w - b)'G(w - b) + price |b|_1 for the least price before more than `most` entries
 * of b are used; aim is G w. rows and values (room for min(most, n)) receive the entries that are
 * not zero, in increasing order of their rows; *price (or NULL) the price. Fewer than `most` when
 * the rank of G allows no more: then the price is 0 to rounding. Where entries tie, the lower one
 * comes first, and one that depends on those in use stays out. */
mercer_status mrc_lasso_path(mercer_ctx *ctx, const mrc_lasso_matrix *matrix, const double *aim,
                             int64_t most, int64_t *rows, double *values, int64_t *count,
                             double *price, mercer_error *err);

#endif
