/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel PCA of rows in groups, merged. */
#ifndef MRC_METHODS_SPECTRAL_GROUPED_H
#define MRC_METHODS_SPECTRAL_GROUPED_H

#include "methods/common/method.h"

/* Split the rows into `groups` groups (2 or more) and fill the model. */
mercer_status mrc_split_fit(mercer_ctx *ctx, const mrc_problem *problem, int64_t groups,
                            mercer_model *model, mercer_error *err);

#endif
