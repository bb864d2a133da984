/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerated kernel feature analysis with a cut: rows that are nearly explained leave the
 * candidates and the data (Jiang, Snapp, Motai, Zhu 2006).
 *
 * As akfa, but before each step every row with K^i_jj < delta is dropped for good; when none is
 * left the method stops. The sums then run only over the remaining rows, while features
 * and errors are of all rows. Its use is the stopping rule: dropping rows saves no time beside one
 * product per feature. */
#include "methods/greedy/sparse_features.h"

struct ackfa_params {
    double components;
    double delta;
    int relative;
    int64_t candidates;
};

static const mrc_param ackfa_schema[] = {
    MRC_COMPONENTS(struct ackfa_params, 10),
    MRC_REAL(struct ackfa_params, delta, 0.5, 0, 1e300,
             "rows whose squared distance from the span of the selected ones is below leave"),
    MRC_CHOICE(struct ackfa_params, relative, 1, "off|on",
               "delta is in units of the mean squared norm of the (centred) mapped rows"),
    MRC_INT(struct ackfa_params, candidates, 0, 0, 1e9,
            "rows looked at in each step, drawn at random; 0: all"),
    MRC_PARAM_END};

static mrc_selection_rule rule_of(const struct ackfa_params *p)
{
    return (mrc_selection_rule){.score = MRC_SCORE_DIRECTION,
                                .delta = p->delta,
                                .relative = p->relative == 1,
                                .candidates = p->candidates};
}

static mercer_status ackfa_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                               mercer_model *model, mercer_error *err)
{
    const struct ackfa_params *p = params;
    mrc_selection_rule rule = rule_of(p);
    return mrc_sparse_features_fit(ctx, problem, &rule, model, err);
}

static void ackfa_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work)
{
    const struct ackfa_params *p = params;
    mrc_selection_rule rule = rule_of(p);
    (void)ctx;
    mrc_sparse_features_work(problem, n, &rule, work);
}

const mrc_method mrc_method_ackfa = {
    .entry = {.name = "ackfa",
              .summary = "akfa with a cut, which ends the search",
              .reference = "Jiang, Snapp, Motai, Zhu 2006",
              .params = ackfa_schema},
    .params_size = sizeof(struct ackfa_params),
    .default_center = MRC_CENTER_EXACT,
    .fit = ackfa_fit,
    .work = ackfa_work,
    .cheaper = "nystroem:points=1000",
};
