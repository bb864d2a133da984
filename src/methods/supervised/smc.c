/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse maximal covariance: each feature is the column of the row that matches the labels best for
 * its norm, after the features before it (Dhanjal, Gunn, Shawe-Taylor 2009). A new row needs
 * only the kernel values with the k selected rows. See matching.c. */
#include "methods/supervised/matching.h"

static const mrc_param smc_schema[] = MRC_MATCHING_SCHEMA(0);

static mercer_status smc_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    return mrc_matching_fit(ctx, params, false, problem, model, err);
}

const mrc_method mrc_method_smc = {
    .entry = {.name = "smc",
              .summary = "sparse maximal covariance with the labels",
              .reference = "Dhanjal, Gunn, Shawe-Taylor 2009",
              .params = smc_schema},
    .params_size = sizeof(struct mrc_matching_params),
    .default_center = MRC_CENTER_NONE,
    .centers = "none|exact",
    .check_spread = mrc_matching_check_spread,
    .fit = smc_fit,
    .work = mrc_matching_work,
    .cheaper = "smc:candidates=59",
    .default_head = "ls",
};
