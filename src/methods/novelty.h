/* SPDX-License-Identifier: BSD-3-Clause */
/* What rows held out from a fit say about new ones: the reconstruction error above which a row is
 * called novel, and how far predictions are off. */
#ifndef MRC_METHODS_NOVELTY_H
#define MRC_METHODS_NOVELTY_H

#include "methods/common/method.h"

#include <mercer/fit.h>

/* Whether the options ask for it, and for the model that has not seen the held-out rows. */
bool mrc_holds_out(const mercer_fit_options *options);
bool mrc_keeps_fitted(const mercer_fit_options *options);

/* Refuse what cannot be, before any fit. head: the fit has one. */
mercer_status mrc_held_out_check(const mercer_fit_options *options, const mercer_rows *rows,
                                 const mercer_targets *targets, bool precomputed, bool head,
                                 mercer_error *err);

/* Fill what the options ask for of a sealed model that was fitted to rows with them. The random
 * state of ctx is left as it was. */
mercer_status mrc_held_out_learn(mercer_ctx *ctx, const mercer_fit_options *options,
                                 const mercer_rows *rows, const mercer_targets *targets,
                                 mercer_model *model, mercer_error *err);

/* Fit a model to the rows that are not held out, and fill the same. */
mercer_status mrc_held_out_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                               const mercer_rows *rows, const mercer_targets *targets,
                               mercer_fit_report *report, mercer_model **out, mercer_error *err);

#endif
