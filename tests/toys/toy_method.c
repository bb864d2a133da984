/* SPDX-License-Identifier: BSD-3-Clause */
/* A toy method, as another family would add one: features of rows that stand out most. It looks at
 * the toy option before there are rows. */
#include "methods/common/request.h"
#include "methods/greedy/sparse_features.h"

#include <string.h>

static const mrc_param toy_schema[] = {MRC_COMPONENTS(mrc_common_params, 10), MRC_PARAM_END};

static mercer_status toy_check(const mrc_request *request, mercer_error *err)
{
    if (request->options.toy && strcmp(request->options.toy, "all") == 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "method toy: toy all is too much");
    return MERCER_OK;
}

static mercer_status toy_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    mrc_selection_rule rule = {.score = MRC_SCORE_RESIDUAL};
    (void)params;
    return mrc_sparse_features_fit(ctx, problem, &rule, model, err);
}

const mrc_method mrc_method_toy = {
    .entry = {.name = "toy", .summary = "a toy", .reference = "tests/toys", .params = toy_schema},
    .params_size = sizeof(mrc_common_params),
    .default_center = MRC_CENTER_EXACT,
    .check = toy_check,
    .fit = toy_fit,
};
