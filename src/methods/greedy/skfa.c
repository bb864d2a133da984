/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse kernel feature analysis: directions of few mapped rows, compared at l1 norm one (Smola,
 * Mangasarian, Schoelkopf 1999).
 *
 * What the selected rows leave of mapped row j is phi_j + sum_s W_js phi_s; with L_j = 1 + sum_s
 * |W_js| its score is sum_t (K^i_jt)^2 / (n L_j^2). Features are then scaled to unit norm, so that
 * all but the choice of rows is as in akfa. criterion=variance subtracts the mean over t first,
 * which changes nothing on a centred matrix. l1=features counts weights on the earlier
 * l1-normalised features instead of mapped rows. One pass per feature where the published form
 * takes one for each pair of features. */
#include "methods/greedy/sparse_features.h"

struct skfa_params {
    double components;
    int criterion, l1;
    int64_t candidates, terms;
};

static const mrc_param skfa_schema[] = {
    MRC_COMPONENTS(struct skfa_params, 10),
    MRC_CHOICE(struct skfa_params, criterion, 0, "moment|variance",
               "what a direction is to have much of over the rows"),
    MRC_CHOICE(
        struct skfa_params, l1, 0, "images|features",
        "which weights the l1 norm of a direction counts: those of mapped rows or of features"),
    MRC_INT(struct skfa_params, candidates, 0, 0, 1e9,
            "rows looked at in each step, drawn at random; 0: all"),
    MRC_INT(struct skfa_params, terms, 0, 0, 1e9,
            "rows the criterion sums over, drawn at random once; 0: all"),
    MRC_PARAM_END};

static mrc_selection_rule rule_of(const struct skfa_params *p, const mrc_problem *problem)
{
    bool variance = p->criterion == 1 && problem->center == MRC_CENTER_NONE;
    return (mrc_selection_rule){.score = p->l1 == 1 ? MRC_SCORE_L1_FEATURES : MRC_SCORE_L1_IMAGES,
                                .about_mean = variance,
                                .candidates = p->candidates,
                                .terms = p->terms};
}

static mercer_status skfa_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    const struct skfa_params *p = params;
    mrc_selection_rule rule = rule_of(p, problem);
    if (p->criterion == 1 && p->terms > 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "method skfa: terms requires criterion=moment, not variance");
    return mrc_sparse_features_fit(ctx, problem, &rule, model, err);
}

static void skfa_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                      int64_t n, mrc_work *work)
{
    const struct skfa_params *p = params;
    mrc_selection_rule rule = rule_of(p, problem);
    (void)ctx;
    mrc_sparse_features_work(problem, n, &rule, work);
}

const mrc_method mrc_method_skfa = {
    .entry = {.name = "skfa",
              .summary = "sparse kernel feature analysis",
              .reference = "Smola, Mangasarian, Schoelkopf 1999",
              .params = skfa_schema},
    .params_size = sizeof(struct skfa_params),
    .default_center = MRC_CENTER_EXACT,
    .fit = skfa_fit,
    .work = skfa_work,
    .cheaper = "nystroem:points=1000",
};
