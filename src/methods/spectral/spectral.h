/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods whose features are eigenvectors of the Gram operator. */
#ifndef MRC_METHODS_SPECTRAL_SPECTRAL_H
#define MRC_METHODS_SPECTRAL_SPECTRAL_H

#include "methods/common/method.h"

/* Leading eigenpairs of the (centred) Gram operator, as a model with unit-norm directions. */
mercer_status mrc_spectral_fit(mercer_ctx *ctx, const mrc_problem *problem, mercer_model *model,
                               mercer_error *err);

/* What that takes; see mrc_method. */
void mrc_spectral_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work);

/* The model of components over all rows, whatever found them: s->vectors are the coefficients B of
 * unit directions on the (centred) mapped rows. Takes values and vectors of s over. */
mercer_status mrc_spectral_model(mercer_ctx *ctx, const mrc_problem *problem, mrc_gram *gram,
                                 mrc_spectrum *s, mercer_model *model, mercer_error *err);

#endif
