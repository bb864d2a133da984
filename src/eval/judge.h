/* How good a fitted model is on rows held out, for many numbers of components at once. */
#ifndef MRC_EVAL_JUDGE_H
#define MRC_EVAL_JUDGE_H

#include "eval/metrics.h"
#include "eval/portion.h"
#include "model/model.h"

/* What is judged, all borrowed. */
typedef struct mrc_aim {
    const mrc_metric *metric;      /* of predictions; NULL: reconstruction */
    const mercer_targets *targets; /* in whose classes predictions are told */
    int64_t outputs;
    bool together; /* rows are judged later, all together: values are NaN */
} mrc_aim;

/* Values for each of `count` numbers of components, which do not decrease (0: as many as the model
 * has). With scores (n x outputs) and codes (n, of classes), the last ones' predictions are left
 * there. Rows are projected once, and predictions from more features go on from those of fewer. */
mercer_status mrc_judge(mercer_ctx *ctx, const mrc_aim *aim, const mercer_model *model,
                        const mrc_portion *test, const double *numbers, int64_t count,
                        double *values, double *scores, int64_t *codes, mercer_error *err);

#endif
