/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel partial least squares: each feature is the direction of largest covariance between the
 * mapped rows and the targets, after the features before it (Rosipal, Trejo 2001).
 *
 * beta = Y_j a with a the leading eigenvector of Y_j' K Y_j (outputs x outputs), Y_j = P_j Y,
 * scaled so that the direction has length one: beta' K beta = 1. One product with `outputs` columns
 * per feature; K is never deflated. */
#include "methods/common/request.h"
#include "methods/supervised/supervised.h"

struct kpls_params {
    double components;
    int discriminant;
    int points;
};

static const mrc_param kpls_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct kpls_params, 10),
    MRC_CHOICE(struct kpls_params, discriminant, 0, "off|on",
               "classes weigh the same whatever their size, and prediction is the nearest centre"),
    MRC_STORED_ROWS(struct kpls_params), MRC_PARAM_END};

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    double *beta = NULL;
    mercer_status rc = MERCER_OK;
    (void)self;
    MRC_TRY(mrc_alloc2(&beta, 2, dual->n, sizeof *beta, err));
    MRC_TRY(mrc_deflation_lead(dual, dual->rest, dual->outputs, beta, beta + dual->n, err));
    MRC_TRY(mrc_deflation_add(dual, NULL, dual->n, beta, beta + dual->n, added, err));
out:
    mrc_free(beta);
    return rc;
}

mercer_status mrc_kpls_features(mercer_ctx *ctx, const mrc_problem *problem, bool discriminant,
                                mercer_model *model, mercer_error *err)
{
    mrc_supervised method = {
        .choose = choose, .balanced = discriminant, .only_products = true, .follows_rest = true};
    return mrc_supervised_fit(ctx, problem, &method, model, err);
}

/* A product for what is left of the targets, and one for the direction. */
void mrc_kpls_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem, int64_t n,
                   mrc_work *work)
{
    const mrc_supervised method = {.choose = choose, .only_products = true};
    (void)ctx;
    (void)params;
    mrc_supervised_work(problem, n, &method, 2, work);
}

static mercer_status kpls_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    const struct kpls_params *p = params;
    return mrc_kpls_features(ctx, problem, p->discriminant == 1, model, err);
}

static const char *choose_head(const void *params)
{
    const struct kpls_params *p = params;
    return p->discriminant == 1 ? "centre" : "ls";
}

static bool kpls_on_pivots(const void *params)
{
    const struct kpls_params *p = params;
    return p->points == MRC_ROWS_AUTO;
}

/* A linear kernel goes through the rows, of which only products are wanted. */
mercer_status mrc_kpls_check_spread(const mrc_request *request, mercer_error *err)
{
    const char *name = request->method->entry.name;
    if (!mrc_kernel_is_linear(&request->kernel))
        return MERCER_OK;
    if (request->problem.store)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "store"),
                           "method %s: store %s is not possible with a linear kernel where rows "
                           "are spread over ranks: leave it out",
                           name, request->options.store);
    if (request->problem.components == 0)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "components"),
                           "method %s: a share of the labels is not possible with a linear kernel "
                           "where rows are spread over ranks: give a number of components, or fit "
                           "on one rank",
                           name);
    return MERCER_OK;
}

/* Else rows that span all others are the points of the model. */
static mercer_status kpls_check_spread(const mrc_request *request, mercer_error *err)
{
    if (!kpls_on_pivots(request->params))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "method"),
                           "method kpls: points cannot be set where rows are spread over ranks: "
                           "leave it out, or fit on one rank");
    return mrc_kpls_check_spread(request, err);
}

const mrc_method mrc_method_kpls = {
    .entry = {.name = "kpls",
              .summary = "kernel partial least squares",
              .reference = "Rosipal, Trejo 2001",
              .params = kpls_schema},
    .params_size = sizeof(struct kpls_params),
    .default_center = MRC_CENTER_EXACT,
    .check_spread = kpls_check_spread,
    .fit = kpls_fit,
    .on_pivots = kpls_on_pivots,
    .work = mrc_kpls_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "ls",
    .choose_head = choose_head,
};
