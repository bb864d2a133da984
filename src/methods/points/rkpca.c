/* SPDX-License-Identifier: BSD-3-Clause */
/* Refined kernel PCA: the data are centred and projected on the span of a few mapped rows that are
 * not, so that new rows need only their kernel values with those few (Li, Yu, Sun 2011).
 *
 * Points are added one by one. criterion=trace takes the one with which the span captures most
 * variance: |K^i_z H|^2 / K^i_zz, K^i the uncentred matrix after i points, H = I - 11'/n; one pass
 * over the matrix a point. criterion=top looks at the m largest eigenvalues of the scatter alone, m
 * the components wanted: see top.c. Up to m points the criteria are the same. */
#include "methods/common/request.h"
#include "methods/points/subset.h"
#include "methods/points/top.h"

struct rkpca_params {
    double components;
    int64_t points;
    double captured;
    int criterion;
};

static const mrc_param rkpca_schema[] = {
    MRC_COMPONENTS(struct rkpca_params, 10), MRC_POINTS(struct rkpca_params),
    MRC_REAL(struct rkpca_params, captured, 1, DBL_MIN, 1,
             "stop once their span captures this share of the variance; 1: no such stop"),
    MRC_CHOICE(struct rkpca_params, criterion, 0, "trace|top",
               "what a new row is to add to: all of the variance captured, or that of the wanted "
               "components"),
    MRC_PARAM_END};

static mrc_subset_choice choice_of(const struct rkpca_params *p)
{
    return (mrc_subset_choice){.points = p->points,
                               .rule = {.score = MRC_SCORE_DIRECTION,
                                        .about_mean = true,
                                        .captured = p->captured < 1 ? p->captured : 0}};
}

static mercer_status rkpca_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                               mercer_model *model, mercer_error *err)
{
    const struct rkpca_params *p = params;
    mrc_top top = {.ctx = ctx,
                   .wanted = problem->components,
                   .about_mean = problem->center != MRC_CENTER_NONE};
    mrc_subset_choice choice = choice_of(p);
    if (p->criterion == 1 && problem->share > 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "method rkpca: criterion=top requires a number of components, not a "
                        "share of the variance");
    if (p->criterion == 1) {
        choice.rule.rescore = mrc_top_scores;
        choice.rule.rescore_error = mrc_top_error;
        choice.rule.renew = mrc_top_renew;
        choice.rule.self = &top;
    }
    mercer_status rc = mrc_subset_fit(ctx, problem, &choice, model, err);
    mrc_top_destroy(&top);
    return rc;
}

/* The points must not hang on the number of components, by their number or by the criterion. */
static bool rkpca_is_nested(const void *params)
{
    const struct rkpca_params *p = params;
    return p->criterion == 0 && (p->points > 0 || p->captured < 1);
}

static void rkpca_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work)
{
    const struct rkpca_params *p = params;
    mrc_subset_choice choice = choice_of(p);
    mrc_subset_work(ctx, problem, n, &choice, work);
    if (p->criterion == 1) { /* the leading pairs of what is selected so far, for each row */
        work->flops *= 4;
        work->spread = 3;
    }
}

static mercer_status rkpca_check_spread(const mrc_request *request, mercer_error *err)
{
    const struct rkpca_params *p = request->params;
    if (mrc_request_has_landmarks(request))
        return mrc_subset_check_store(request, err);
    if (p->criterion != 0 || p->captured < 1 || p->points == 1 || request->problem.share > 0)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "method"),
                           "method rkpca: rows that are spread over ranks are chosen by "
                           "criterion=trace, a number of components and 2 points or more: leave "
                           "out criterion, captured and shares, or fit on one rank");
    return mrc_subset_check_center(request, err);
}

const mrc_method mrc_method_rkpca = {
    .entry = {.name = "rkpca",
              .summary = "refined kernel PCA: centred, on few rows",
              .reference = "Li, Yu, Sun 2011",
              .params = rkpca_schema},
    .params_size = sizeof(struct rkpca_params),
    .default_center = MRC_CENTER_SPAN,
    .takes_landmarks = true,
    .check_spread = rkpca_check_spread,
    .fit = rkpca_fit,
    .is_nested = rkpca_is_nested,
    .work = rkpca_work,
    .cheaper = "nystroem:points=1000",
};
