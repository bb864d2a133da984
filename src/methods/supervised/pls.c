/* SPDX-License-Identifier: BSD-3-Clause */
/* Partial least squares: kernel PLS with the linear kernel, collapsed to d x l weights (Wold 1966).
 * Products go through X(X'q), so that no matrix of rows is formed. */
#include "methods/supervised/supervised.h"

struct pls_params {
    double components;
    int discriminant;
};

static const mrc_param pls_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct pls_params, 10),
    MRC_CHOICE(struct pls_params, discriminant, 0, "off|on",
               "classes weigh the same whatever their size, and prediction is the nearest centre"),
    MRC_PARAM_END};

static mercer_status pls_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    const struct pls_params *p = params;
    return mrc_kpls_features(ctx, problem, p->discriminant == 1, model, err);
}

static const char *choose_head(const void *params)
{
    const struct pls_params *p = params;
    return p->discriminant == 1 ? "centre" : "ls";
}

const mrc_method mrc_method_pls = {
    .entry = {.name = "pls",
              .summary = "partial least squares",
              .reference = "Wold 1966",
              .params = pls_schema},
    .params_size = sizeof(struct pls_params),
    .linear_kernel = true,
    .default_center = MRC_CENTER_EXACT,
    .check_spread = mrc_kpls_check_spread,
    .fit = pls_fit,
    .work = mrc_kpls_work,
    .default_head = "ls",
    .choose_head = choose_head,
};
