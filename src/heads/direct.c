/* SPDX-License-Identifier: BSD-3-Clause */
/* Features that are predictions already, one per output, handed on: of values in the units of the
 * data, when the method saw scaled ones; of classes, the largest wins. Another fit, such as least
 * squares, would undo the shrinkage that makes them good predictions. Cost: n. */
#include "heads/heads.h"

static const mrc_param direct_schema[] = {MRC_PARAM_END};

static mercer_status direct_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                                mrc_head *head, mercer_error *err)
{
    int64_t o = data->outputs;
    mercer_rows *rows = NULL;
    mrc_scale scale = {0};
    mercer_status rc = MERCER_OK;
    (void)ctx, (void)params;
    if (data->l != o)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "head direct: %lld features, where %lld are predicted",
                 (long long)data->l, (long long)o);
    if (data->codes)
        goto out;
    MRC_TRY(mrc_alloc(&head->intercept, o, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&head->weights, o, o, sizeof(double), err));
    if (head->scale != MRC_SCALE_NONE) {
        MRC_TRY(mrc_rows_view(MRC_F64, data->values, data->n, o, o, &rows, err));
        MRC_TRY(mrc_scale_fit(&scale, head->scale, rows, err));
    }
    for (int64_t k = 0; k < o; k++) {
        head->weights[k * o + k] = scale.factor ? 1 / scale.factor[k] : 1;
        head->intercept[k] = scale.shift ? scale.shift[k] : 0;
    }
out:
    mercer_rows_free(rows);
    mrc_scale_destroy(&scale);
    return rc;
}

static bool direct_is_complete(const mrc_head *head)
{
    return head->kind == MERCER_TARGET_CLASSES || (head->weights && head->intercept);
}

static void direct_add_feature(const mrc_head *head, const double *features, int64_t l, int64_t j,
                               double *scores)
{
    if (j < head->outputs) /* a damaged file may have more */
        scores[j] += features[j] * (head->weights ? head->weights[j * head->outputs + j] : 1);
    (void)l;
}

const mrc_head_def mrc_head_direct = {
    .entry = {.name = "direct",
              .summary = "the features themselves, where they are predictions",
              .reference = "Saunders, Gammerman, Vovk 1998",
              .params = direct_schema},
    .values = true,
    .scale_free = true,
    .needs_all_features = true,
    .of_predictions = true,
    .spreads = true,
    .fit = direct_fit,
    .is_complete = direct_is_complete,
    .add_feature = direct_add_feature,
};
