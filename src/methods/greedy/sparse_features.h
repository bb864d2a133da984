/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods whose features are the directions of the selected rows themselves. */
#ifndef MRC_METHODS_GREEDY_SPARSE_FEATURES_H
#define MRC_METHODS_GREEDY_SPARSE_FEATURES_H

#include "methods/greedy/selection.h"

/* Build the operator, select rows by rule (whose most and captured are set here from the problem)
 * and fill the model: feature j is the j-th direction. */
mercer_status mrc_sparse_features_fit(mercer_ctx *ctx, const mrc_problem *problem,
                                      mrc_selection_rule *rule, mercer_model *model,
                                      mercer_error *err);

/* What that takes for n rows; see mrc_method. */
void mrc_sparse_features_work(const mrc_problem *problem, int64_t n, mrc_selection_rule *rule,
                              mrc_work *work);

/* What a selection left to say: rows, scores, residuals and errors into the model. */
mercer_status mrc_selection_describe(const mrc_selection *selection, mercer_model *model,
                                     mercer_error *err);

#endif
