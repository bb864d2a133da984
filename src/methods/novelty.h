/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconstruction error above which a row is called novel. */
#ifndef MRC_METHODS_NOVELTY_H
#define MRC_METHODS_NOVELTY_H

#include "methods/common/method.h"

#include <mercer/fit.h>

/* Set threshold and share of a sealed model that was fitted to rows with these options. The random
 * state of ctx is left as it was. */
mercer_status mrc_novelty_learn(mercer_ctx *ctx, const mercer_fit_options *options,
                                const mercer_rows *rows, mercer_model *model, mercer_error *err);

#endif
