/* SPDX-License-Identifier: BSD-3-Clause */
/* Greedy kernel PCA: a few rows whose span comes close to all mapped rows, and linear PCA in it
 * (Franc, Hlavac 2006).
 *
 * On the uncentred matrix, of the `depth` rows with the largest residual the one is taken that
 * leaves the smallest mean residual; see selection.c, and subset.c for the features. depth=1 is the
 * pivoted Cholesky factorisation: one column of the matrix a point, n m^2 in all and no pass over
 * the matrix. A larger depth takes as many columns per step; depth=n is the full scan. */
#include "methods/points/subset.h"

struct greedy_params {
    double components;
    int64_t points, depth;
    double maxerr, mserr;
};

static const mrc_param greedy_schema[] = {
    MRC_COMPONENTS(struct greedy_params, 10),
    MRC_POINTS(struct greedy_params),
    MRC_INT(struct greedy_params, depth, 0, 0, 1e9,
            "rows tried in each step, those worst covered so far; 0: as many as points, 1: the "
            "worst one is taken"),
    MRC_REAL(struct greedy_params, maxerr, 0, 0, DBL_MAX,
             "stop once no row is farther from the span than this, squared; 0: no such stop"),
    MRC_REAL(struct greedy_params, mserr, 0, 0, DBL_MAX,
             "stop once the mean squared distance is at most this; 0: no such stop"),
    MRC_PARAM_END};

static mrc_subset_choice choice_of(const struct greedy_params *p)
{
    return (mrc_subset_choice){
        .points = p->points,
        .depth_of_points = p->depth == 0,
        .rule = {.score = p->depth == 1 ? MRC_SCORE_RESIDUAL : MRC_SCORE_DIRECTION,
                 .depth = p->depth,
                 .maxerr = p->maxerr,
                 .mserr = p->mserr}};
}

static mercer_status greedy_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                                mercer_model *model, mercer_error *err)
{
    const struct greedy_params *p = params;
    mrc_subset_choice choice = choice_of(p);
    return mrc_subset_fit(ctx, problem, &choice, model, err);
}

/* The points, and the rows tried for each, must not hang on the number of components. */
static bool greedy_is_nested(const void *params)
{
    const struct greedy_params *p = params;
    return p->points > 0 || (p->depth > 0 && (p->maxerr > 0 || p->mserr > 0));
}

static void greedy_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                        int64_t n, mrc_work *work)
{
    const struct greedy_params *p = params;
    mrc_subset_choice choice = choice_of(p);
    mrc_subset_work(ctx, problem, n, &choice, work);
}

const mrc_method mrc_method_greedy = {
    .entry = {.name = "greedy",
              .summary = "greedy kernel PCA: rows that cover the others",
              .reference = "Franc, Hlavac 2006",
              .params = greedy_schema},
    .params_size = sizeof(struct greedy_params),
    .default_center = MRC_CENTER_SPAN,
    .takes_landmarks = true,
    .check_spread = mrc_subset_check_spread,
    .fit = greedy_fit,
    .is_nested = greedy_is_nested,
    .work = greedy_work,
    .cheaper = "nystroem:points=1000",
};
