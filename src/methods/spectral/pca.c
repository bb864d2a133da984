/* SPDX-License-Identifier: BSD-3-Clause */
/* Principal component analysis: kernel PCA with the linear kernel, collapsed to d x l weights
 * (Pearson 1901). Few columns: the d x d problem of X'X; few rows: the n x n one. */
#include "methods/spectral/spectral.h"

struct pca_params {
    double components;
};

static const mrc_param pca_schema[] = {MRC_COMPONENTS(struct pca_params, 10), MRC_PARAM_END};

static mercer_status pca_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    (void)params;
    return mrc_spectral_fit(ctx, problem, model, err);
}

static mercer_status pca_check_spread(const struct mrc_request *request, mercer_error *err)
{
    (void)request, (void)err;
    return MERCER_OK;
}

const mrc_method mrc_method_pca = {
    .entry = {.name = "pca",
              .summary = "linear principal component analysis",
              .reference = "Pearson 1901",
              .params = pca_schema},
    .params_size = sizeof(struct pca_params),
    .linear_kernel = true,
    .default_center = MRC_CENTER_EXACT,
    .takes_tolerance = true,
    .check_spread = pca_check_spread,
    .fit = pca_fit,
    .work = mrc_spectral_work,
};
