/* SPDX-License-Identifier: BSD-3-Clause */
/* How good predictions are. */
#ifndef MRC_EVAL_METRICS_H
#define MRC_EVAL_METRICS_H

#include "base/memory.h"

#include <mercer/rows.h>

/* Predictions and truth of n rows, all borrowed. Classes: codes below outputs, -1 where none won;
 * values: n x outputs. A score belongs to each class, the larger the more likely. */
typedef struct mrc_predictions {
    int64_t n, outputs;
    const int64_t *predicted, *truth; /* classes, or NULL */
    const double *scores;             /* n x outputs; of values, the predictions */
    const double *values;             /* the true values, or NULL */
    int64_t positive;                 /* rankings: the class that is looked for, 0 or 1 */
} mrc_predictions;

/* What is judged: predictions of classes or values, or without labels how well columns are
 * predicted from the features of others, how much of the mapped rows the features keep, and how
 * much more than of rows with shuffled columns, or how near the pre-images of features come to the
 * rows. */
typedef enum mrc_metric_subject {
    MRC_OF_CLASSES,
    MRC_OF_VALUES,
    MRC_OF_COLUMNS,
    MRC_OF_STRUCTURE,
    MRC_OF_IMAGES,
    MRC_OF_PREIMAGES
} mrc_metric_subject;

typedef struct mrc_metric {
    const char *name, *summary;
    mrc_metric_subject of;
    bool two;              /* of two classes only, one of which is looked for */
    bool larger_is_better; /* else smaller is better */
    /* Measures predictions; NaN where these rows leave it undefined: a ranking of one class. */
    mercer_status (*measure)(const mrc_predictions *judged, double *out, mercer_error *err);
} mrc_metric;

/* The metric of a name for predictions of some kind, or, of NONE, without any; NULL: error of
 * classes, rmse of values, columns without. MERCER_ERR_ARGUMENT lists those that can be had. */
mercer_status mrc_metric_find(const char *name, mercer_target_kind kind, int64_t outputs,
                              const mrc_metric **out, mercer_error *err);

/* Confusion counts: table[truth * outputs + predicted] += 1, or undecided[truth] += 1 where no
 * class won. */
void mrc_confusion_add(const mrc_predictions *judged, int64_t *table, int64_t *undecided);

/* The points of the ROC curve from (0,0) to (1,1), one after each distinct score: false and true
 * positive rates, and the least score in favour of the positive class that is counted as it
 * (infinite at first); count x 3 numbers from mrc_alloc. MERCER_ERR_DATA when all rows are of one
 * class. */
mercer_status mrc_roc(const mrc_predictions *judged, double **points, int64_t *count,
                      mercer_error *err);

#endif
