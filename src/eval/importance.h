/* SPDX-License-Identifier: BSD-3-Clause */
/* How much a model needs each column. */
#ifndef MRC_EVAL_IMPORTANCE_H
#define MRC_EVAL_IMPORTANCE_H

#include "eval/result.h"
#include "eval/scoring.h"

enum { MRC_IMPORTANCE_TIMES = 5 };

/* The numbers 0 .. n - 1 in an order drawn by the seed: in the way w = 1, 2, ... row ring[i] gets
 * the values of row ring[(i + w) % n]. */
void mrc_importance_ring(uint64_t seed, int64_t n, int64_t *ring);

/* out[k], of each column of the model: by how much the metric of its test rows, with this number of
 * components, gets worse on the mean when every row gets the value of another one, in
 * MRC_IMPORTANCE_TIMES ways or one less than there are rows; NaN of a single row. */
mercer_status mrc_importance_of_columns(mercer_ctx *ctx, const mrc_scoring *scoring,
                                        const mercer_model *model, const mrc_fold_rows *train,
                                        const mrc_fold_rows *test, double number, double *out,
                                        mercer_error *err);

/* MERCER_ERR_ARGUMENT where that cannot be asked for; rows are those of the evaluation. */
mercer_status mrc_importance_check(const mrc_metric *metric, const mercer_rows *rows,
                                   bool precomputed, bool together, mercer_error *err);

/* Means and standard deviations over the folds, and names of the columns, into the result. */
mercer_status mrc_importance_summarise(mercer_evaluation *result, const mercer_rows *rows,
                                       mercer_error *err);

#endif
