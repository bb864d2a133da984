/* SPDX-License-Identifier: BSD-3-Clause */
/* The exponential loss exp(-y f) of the margins of two classes. See loss.c. */
#include "heads/loss.h"

static mercer_status exp_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                             mrc_head *head, mercer_error *err)
{
    (void)params;
    return mrc_loss_head_fit(ctx, MRC_LOSS_EXP, data, head, err);
}

const mrc_head_def mrc_head_exp = {
    .entry = {.name = "exp",
              .summary = "two classes by the exponential loss of their margins",
              .reference = "Momma, Bennett 2005",
              .params = mrc_loss_head_schema},
    .values = true,
    .signs = true,
    .copies = 2,
    .fit = exp_fit,
    .is_complete = mrc_loss_head_is_complete,
    .add_feature = mrc_loss_head_add_feature,
};
