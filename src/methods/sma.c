/* Sparse maximal alignment: each feature is the column of the row that matches the labels best for
 * its length, after the features before it (Dhanjal, Gunn, Shawe-Taylor 2009). A new row needs the
 * kernel values with the k selected rows alone. See matching.c. */
#include "methods/matching.h"

struct sma_params {
    double components;
    int64_t candidates;
    int norm;
};

static const mrc_param sma_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct sma_params, 10),
    MRC_INT(struct sma_params, candidates, 0, 0, 1e9,
            "rows looked at for each feature, drawn at random; 0: all"),
    MRC_CHOICE(struct sma_params, norm, 1, "direction|feature",
               "what has length one: the direction in feature space, or the feature of the rows"),
    MRC_PARAM_END};

static mercer_status sma_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    const struct sma_params *p = params;
    mrc_matching_rule rule = {
        .alignment = true, .candidates = p->candidates, .unit_features = p->norm == 1};
    return mrc_matching_fit(ctx, problem, &rule, model, err);
}

const mrc_method mrc_method_sma = {
    .abi = MRC_METHOD_ABI,
    .entry = {.name = "sma",
              .summary = "sparse maximal alignment with the labels",
              .reference = "Dhanjal, Gunn, Shawe-Taylor 2009",
              .params = sma_schema},
    .params_size = sizeof(struct sma_params),
    .needs = MRC_NEEDS_NOTHING,
    .default_center = MRC_CENTER_NONE,
    .refuses_span = true,
    .fit = sma_fit,
    .default_head = "ls",
};
