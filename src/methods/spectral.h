/* Methods whose features are eigenvectors of the Gram operator. */
#ifndef MRC_METHODS_SPECTRAL_H
#define MRC_METHODS_SPECTRAL_H

#include "methods/method.h"

/* Leading eigenpairs of the (centred) Gram operator, as a model with unit-norm directions. */
mercer_status mrc_spectral_fit(mercer_ctx *ctx, const mrc_problem *problem, mercer_model *model,
                               mercer_error *err);

#endif
