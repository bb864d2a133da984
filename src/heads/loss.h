/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads that minimise a loss other than squares: lad, exp, log. */
#ifndef MRC_HEADS_LOSS_H
#define MRC_HEADS_LOSS_H

#include "heads/heads.h"
#include "linalg/losses.h"

static const mrc_param mrc_loss_head_schema[] = {MRC_PARAM_END};

/* The least loss for every number of features, into head->intercept and head->increments. */
mercer_status mrc_loss_head_fit(mercer_ctx *ctx, mrc_loss loss, const mrc_head_data *data,
                                mrc_head *head, mercer_error *err);
bool mrc_loss_head_is_complete(const mrc_head *head);
void mrc_loss_head_add_feature(const mrc_head *head, const double *features, int64_t l, int64_t j,
                               double *scores);

#endif
