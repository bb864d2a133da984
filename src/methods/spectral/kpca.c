/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel PCA: the directions of largest variance of the mapped rows phi(x), as expansions over all
 * training rows (Schoelkopf, Smola, Mueller 1998).
 *
 * Eigenpairs of the centred Gram operator; see spectral.c for the model and gram/spectrum.c for
 * the solver, grouped.c for rows in groups. Cost: a few passes over the operator (n^2 each), or n
 * q^2 with a low-rank store. */
#include "methods/common/request.h"
#include "methods/spectral/grouped.h"
#include "methods/spectral/spectral.h"

struct kpca_params {
    double components;
    int64_t groups;
    int points;
};

static const mrc_param kpca_schema[] = {
    MRC_COMPONENTS(struct kpca_params, 10),
    MRC_INT(
        struct kpca_params, groups, 1, 1, 1e6,
        "split the rows into this many groups and merge their components, which is approximate; "
        "1: exact"),
    MRC_STORED_ROWS(struct kpca_params), MRC_PARAM_END};

static mercer_status kpca_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    const struct kpca_params *p = params;
    return p->groups > 1 ? mrc_split_fit(ctx, problem, p->groups, model, err)
                         : mrc_spectral_fit(ctx, problem, model, err);
}

/* Groups keep twice as many directions as components are wanted, and so does what they are merged
 * to. */
static bool kpca_is_nested(const void *params)
{
    const struct kpca_params *p = params;
    return p->groups == 1;
}

/* Groups: their matrices, a solver on each, and a merge. */
static void kpca_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                      int64_t n, mrc_work *work)
{
    enum { PASSES = 20, BLOCK = 8 };
    const struct kpca_params *p = params;
    double rows = (double)n, groups = (double)p->groups;
    mrc_spectral_work(ctx, params, problem, n, work);
    if (p->groups == 1)
        return;
    work->columns = rows / groups / 2;
    work->flops = 2 * PASSES * BLOCK * rows * rows / groups;
    work->bytes = 8 * rows * (4 * work->pairs + rows / groups / groups / 2);
    work->pairs = 0;
    work->spread = 3;
}

static mercer_status kpca_check(const mrc_request *request, mercer_error *err)
{
    const struct kpca_params *p = request->params;
    if (p->groups == 1 || request->options.tolerance == 0)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "tolerance"),
                       "tolerance: groups are approximate already; leave one of the two out");
}

static bool kpca_on_pivots(const void *params)
{
    const struct kpca_params *p = params;
    return p->points == MRC_ROWS_AUTO;
}

static mercer_status kpca_check_spread(const mrc_request *request, mercer_error *err)
{
    const struct kpca_params *p = request->params;
    const char *key = p->groups > 1 ? "groups" : p->points != MRC_ROWS_AUTO ? "points" : NULL;
    if (!key)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "method"),
                       "method kpca: %s cannot be set where rows are spread over ranks: leave it "
                       "out, or fit on one rank",
                       key);
}

const mrc_method mrc_method_kpca = {
    .entry = {.name = "kpca",
              .summary = "kernel principal component analysis",
              .reference = "Schoelkopf, Smola, Mueller 1998",
              .params = kpca_schema},
    .params_size = sizeof(struct kpca_params),
    .default_center = MRC_CENTER_EXACT,
    .takes_tolerance = true,
    .check = kpca_check,
    .check_spread = kpca_check_spread,
    .fit = kpca_fit,
    .is_nested = kpca_is_nested,
    .on_pivots = kpca_on_pivots,
    .work = kpca_work,
    .cheaper = "nystroem:points=1000",
};
