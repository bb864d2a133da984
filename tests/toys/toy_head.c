/* SPDX-License-Identifier: BSD-3-Clause */
/* A toy head: the class whose mean features are nearest by absolute differences. */
#include "heads/heads.h"

#include <math.h>

static const mrc_param toy_schema[] = {MRC_PARAM_END};

static mercer_status toy_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                             mrc_head *head, mercer_error *err)
{
    int64_t l = data->l;
    double *count = NULL;
    mercer_status rc = MERCER_OK;
    (void)ctx, (void)params;
    MRC_TRY(mrc_alloc(&count, data->outputs, sizeof *count, err));
    MRC_TRY(mrc_alloc2(&head->class_centers, data->outputs, l, sizeof(double), err));
    for (int64_t i = 0; i < data->n; i++)
        count[data->codes[i]]++;
    for (int64_t i = 0; i < data->n; i++)
        for (int64_t j = 0; j < l; j++)
            head->class_centers[data->codes[i] * l + j] +=
                data->features[i * l + j] / count[data->codes[i]];
out:
    mrc_free(count);
    return rc;
}

static bool toy_is_complete(const mrc_head *head)
{
    return head->class_centers != NULL;
}

static void toy_add_feature(const mrc_head *head, const double *features, int64_t l, int64_t j,
                            double *scores)
{
    for (int64_t k = 0; k < head->outputs; k++)
        scores[k] -= fabs(features[j] - head->class_centers[k * l + j]);
}

const mrc_head_def mrc_head_toy = {
    .entry = {.name = "toy", .summary = "a toy", .reference = "tests/toys", .params = toy_schema},
    .fit = toy_fit,
    .is_complete = toy_is_complete,
    .add_feature = toy_add_feature,
};
