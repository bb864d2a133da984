/* SPDX-License-Identifier: BSD-3-Clause */
/* Least absolute deviations: the c that minimises sum_i |y_i - sum_j c_j a_ij|, exactly.
 *
 * Columns may be added later; the fit then starts from the one before. */
#ifndef MRC_LINALG_LAD_H
#define MRC_LINALG_LAD_H

#include "base/ctx.h"
#include "base/memory.h"

typedef struct mrc_lad {
    mercer_ctx *ctx; /* borrowed, like y */
    int64_t n, most;
    const double *y;
    int64_t columns;      /* in the fit so far */
    double *coefficients; /* of each; 0 for a column that depends on those before it */
    double *residual;     /* n: y - A c; exactly 0 in the rows that the fit goes through */
    double loss;          /* sum of |residual| */
    int64_t steps;        /* taken so far, from vertex to vertex */
    /* The vertex: as many rows without residual as there are independent columns. */
    int64_t count;
    int64_t *used;        /* those columns */
    int64_t *basis;       /* the rows */
    double *inverse;      /* count x count, of A over both */
    double *ghost, *tilt; /* n: residual and value of infinitesimal shifts, which part ties */
    double *sign;         /* n: of the residual, or of the ghost where that is 0; 0 in the basis */
    double *edge, *key;   /* n: work */
    int64_t *list;        /* n: work */
    double *small;        /* 3 most + 2 most^2: work */
    double *size;         /* of each column: its largest entry */
    double zero;          /* residuals up to this are rounding */
} mrc_lad;

/* y (n values, finite) stays the caller's and must outlive lad; at most `most` columns. */
mercer_status mrc_lad_init(mrc_lad *lad, mercer_ctx *ctx, const double *y, int64_t n, int64_t most,
                           mercer_error *err);
void mrc_lad_destroy(mrc_lad *lad);

/* Fit all columns, `columns` of n values one after the other; those of the last call come first,
 * unchanged. No columns: the residual is y. */
mercer_status mrc_lad_fit(mrc_lad *lad, const double *a, int64_t columns, mercer_error *err);

#endif
