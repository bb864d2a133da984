/* SPDX-License-Identifier: BSD-3-Clause */
/* How good a fitted model is on rows held out, for many numbers of components at once. */
#ifndef MRC_EVAL_SCORING_H
#define MRC_EVAL_SCORING_H

#include "eval/fold_rows.h"
#include "eval/metrics.h"
#include "model/model.h"

/* What is judged, all borrowed. */
typedef struct mrc_scoring {
    const mrc_metric *metric;
    const mercer_targets *targets; /* of predictions: in whose classes they are told */
    int64_t outputs;
    int64_t positive; /* of two classes: the one that rankings look for */
    bool together;    /* rows are judged later, all together: values are NaN */
} mrc_scoring;

/* Leading features that a number of components asks for: 0 or too many are all of them. */
int64_t mrc_prefix_of(const mercer_model *model, double number);

/* Values of a model fitted to train for each of `count` numbers of components, which do not
 * decrease (0: as many as the model has). With scores (n x outputs) and codes (n, of classes), the
 * last ones' predictions are left there. Rows are projected once, and predictions from more
 * features go on from those of fewer. */
mercer_status mrc_score_model(mercer_ctx *ctx, const mrc_scoring *scoring,
                              const mercer_model *model, const mrc_fold_rows *train,
                              const mrc_fold_rows *test, const double *numbers, int64_t count,
                              double *values, double *scores, int64_t *codes, mercer_error *err);

/* The mean squared distance of n rows of d numbers from their mean. */
double mrc_spread(const double *x, int64_t n, int64_t d);

#endif
