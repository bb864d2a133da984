/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerated kernel feature analysis: one row after the other, always the one whose direction
 * captures most variance of what the others left (Jiang, Snapp, Motai, Zhu 2006).
 *
 * score_j = sum_t (K^i_jt)^2 / K^i_jj, with K^i the centred matrix after i rows were taken: exactly
 * n times the drop of the mean reconstruction error, so this is greedy forward selection. One pass
 * over the matrix a feature (selection.c), n q with a low-rank store. */
#include "methods/greedy/sparse_features.h"

struct akfa_params {
    double components;
    double captured;
    int64_t candidates;
};

static const mrc_param akfa_schema[] = {
    MRC_COMPONENTS(struct akfa_params, 10),
    MRC_REAL(struct akfa_params, captured, 1, DBL_MIN, 1,
             "stop once this share of the variance is captured; 1: no such stop"),
    MRC_INT(struct akfa_params, candidates, 0, 0, 1e9,
            "rows looked at in each step, drawn at random; 0: all"),
    MRC_PARAM_END};

static mrc_selection_rule rule_of(const struct akfa_params *p)
{
    return (mrc_selection_rule){.score = MRC_SCORE_DIRECTION,
                                .captured = p->captured < 1 ? p->captured : 0,
                                .candidates = p->candidates};
}

static mercer_status akfa_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    const struct akfa_params *p = params;
    mrc_selection_rule rule = rule_of(p);
    return mrc_sparse_features_fit(ctx, problem, &rule, model, err);
}

static void akfa_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                      int64_t n, mrc_work *work)
{
    const struct akfa_params *p = params;
    mrc_selection_rule rule = rule_of(p);
    (void)ctx;
    mrc_sparse_features_work(problem, n, &rule, work);
}

const mrc_method mrc_method_akfa = {
    .entry = {.name = "akfa",
              .summary = "accelerated kernel feature analysis",
              .reference = "Jiang, Snapp, Motai, Zhu 2006",
              .params = akfa_schema},
    .params_size = sizeof(struct akfa_params),
    .default_center = MRC_CENTER_EXACT,
    .fit = akfa_fit,
    .work = akfa_work,
    .cheaper = "nystroem:points=1000",
};
