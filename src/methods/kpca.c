/* Kernel PCA: the directions of largest variance of the images phi(x), as expansions over all
 * training rows (Schoelkopf, Smola, Mueller 1998).
 *
 * Eigenpairs of the centred Gram operator; see spectral.c for the model and kernel/spectrum.c for
 * the solver. Cost: a few passes over the operator (n^2 each), or n q^2 with a low-rank store. */
#include "methods/spectral.h"

struct kpca_params {
    double components;
};

static const mrc_param kpca_schema[] = {MRC_COMPONENTS(struct kpca_params, 10), MRC_PARAM_END};

static mercer_status kpca_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    (void)params;
    return mrc_spectral_fit(ctx, problem, model, err);
}

const mrc_method mrc_method_kpca = {
    .abi = MRC_METHOD_ABI,
    .entry = {.name = "kpca",
              .summary = "kernel principal component analysis",
              .reference = "Schoelkopf, Smola, Mueller 1998",
              .params = kpca_schema},
    .params_size = sizeof(struct kpca_params),
    .needs = MRC_NEEDS_NOTHING,
    .default_center = MRC_CENTER_EXACT,
    .fit = kpca_fit,
};
