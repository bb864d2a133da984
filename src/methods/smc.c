/* Sparse maximal covariance: each feature is the column of the row that matches the labels best for
 * its norm, after the features before it (Dhanjal, Gunn, Shawe-Taylor 2009). A new row needs the
 * kernel values with the k selected rows alone. See matching.c. */
#include "methods/matching.h"

struct smc_params {
    double components;
    int64_t candidates;
    int norm;
};

static const mrc_param smc_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct smc_params, 10),
    MRC_INT(struct smc_params, candidates, 0, 0, 1e9,
            "rows looked at for each feature, drawn at random; 0: all"),
    MRC_CHOICE(struct smc_params, norm, 0, "direction|feature",
               "what has length one: the direction in feature space, or the feature of the rows"),
    MRC_PARAM_END};

static mercer_status smc_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    const struct smc_params *p = params;
    mrc_matching_rule rule = {
        .alignment = false, .candidates = p->candidates, .unit_features = p->norm == 1};
    return mrc_matching_fit(ctx, problem, &rule, model, err);
}

const mrc_method mrc_method_smc = {
    .abi = MRC_METHOD_ABI,
    .entry = {.name = "smc",
              .summary = "sparse maximal covariance with the labels",
              .reference = "Dhanjal, Gunn, Shawe-Taylor 2009",
              .params = smc_schema},
    .params_size = sizeof(struct smc_params),
    .needs = MRC_NEEDS_NOTHING,
    .default_center = MRC_CENTER_NONE,
    .refuses_span = true,
    .fit = smc_fit,
    .default_head = "ls",
};
