/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear fits f = A c that minimise a loss between y and f, and grow by columns.
 *
 *   lad   sum |y - f|
 *   exp   sum exp(-y f),  y = +-1
 *   log   sum log(1 + exp(-y f)),  y = +-1
 *
 * The gradient is w = -dL/df: what the fit leaves to learn. */
#ifndef MRC_LINALG_LOSSES_H
#define MRC_LINALG_LOSSES_H

#include "linalg/lad.h"

typedef enum mrc_loss { MRC_LOSS_LAD, MRC_LOSS_EXP, MRC_LOSS_LOG } mrc_loss;

/* Whether the loss is of margins y f, with y = +-1. */
bool mrc_loss_has_margins(mrc_loss loss);

typedef struct mrc_loss_fit {
    mercer_ctx *ctx; /* borrowed, like y */
    mrc_loss loss;
    int64_t n, most;
    const double *y;
    double *coefficients; /* most; those of columns not there yet are 0 */
    double *f;            /* n: A c */
    double value;         /* of the loss */
    bool separated;       /* every margin is beyond MRC_MARGIN: no finite c is best */
    mrc_lad lad;          /* of that loss alone */
    double *trial, *rates, *scaled, *square; /* work of the others */
} mrc_loss_fit;

#define MRC_MARGIN 30.0

/* y (n values; +-1 where the loss has margins) stays the caller's and must outlive fit; at most
 * `most` columns. */
mercer_status mrc_loss_fit_init(mrc_loss_fit *fit, mercer_ctx *ctx, mrc_loss loss, const double *y,
                                int64_t n, int64_t most, mercer_error *err);
void mrc_loss_fit_destroy(mrc_loss_fit *fit);

/* Fit all columns: a, `columns` x n, of lengths alike; those of the last call come first,
 * unchanged. */
mercer_status mrc_loss_fit_update(mrc_loss_fit *fit, const double *a, int64_t columns,
                                  mercer_error *err);

/* w (n values, `stride` apart) at the fit; 0 where least absolute deviations go through y. */
void mrc_loss_fit_gradient(const mrc_loss_fit *fit, double *w, int64_t stride);

#endif
