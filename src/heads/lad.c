/* SPDX-License-Identifier: BSD-3-Clause */
/* Least absolute deviations: a row far off does not count for more than its distance. See loss.c.
 */
#include "heads/loss.h"

static mercer_status lad_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                             mrc_head *head, mercer_error *err)
{
    (void)params;
    return mrc_loss_head_fit(ctx, MRC_LOSS_LAD, data, head, err);
}

const mrc_head_def mrc_head_lad = {
    .entry = {.name = "lad",
              .summary = "least absolute deviations: values, or classes by their labels",
              .reference = "Momma, Bennett 2005",
              .params = mrc_loss_head_schema},
    .values = true,
    .scale_free = true,
    .copies = 1,
    .fit = lad_fit,
    .is_complete = mrc_loss_head_is_complete,
    .add_feature = mrc_loss_head_add_feature,
};
