/* SPDX-License-Identifier: BSD-3-Clause */
/* Nearest class centre: the score of a class is minus the squared distance between the features and
 * the mean features of its training rows. Every feature adds a term of its own, so that the first
 * ones alone give the nearest centre among them. Cost: n l. */
#include "heads/heads.h"

static const mrc_param centre_schema[] = {MRC_PARAM_END};

static mercer_status centre_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                                mrc_head *head, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    (void)params;
    MRC_TRY(mrc_alloc2(&head->class_centers, data->outputs, data->l, sizeof(double), err));
    MRC_TRY(mrc_head_class_means(ctx, data, head->class_centers, err));
out:
    return rc;
}

static bool centre_is_complete(const mrc_head *head)
{
    return head->class_centers != NULL;
}

static void centre_add_feature(const mrc_head *head, const double *features, int64_t l, int64_t j,
                               double *scores)
{
    for (int64_t k = 0; k < head->outputs; k++) {
        double away = features[j] - head->class_centers[k * l + j];
        scores[k] -= away * away;
    }
}

const mrc_head_def mrc_head_centre = {
    .entry = {.name = "centre",
              .summary = "the class whose mean features are nearest",
              .reference = "Dhanjal, Gunn, Shawe-Taylor 2009, footnote 1",
              .params = centre_schema},
    .spreads = true,
    .fit = centre_fit,
    .is_complete = centre_is_complete,
    .add_feature = centre_add_feature,
};
