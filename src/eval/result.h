/* SPDX-License-Identifier: BSD-3-Clause */
/* What an evaluation came to; <mercer/evaluate.h> shows it to hosts. */
#ifndef MRC_EVAL_RESULT_H
#define MRC_EVAL_RESULT_H

#include "eval/grid.h"
#include "eval/metrics.h"
#include "eval/rule.h"

#include <mercer/evaluate.h>

enum { MRC_MAX_NOTICES = 4 };

/* What a fold came to. */
typedef struct mrc_fold_result {
    double value, inner;
    int64_t choice, components, points;
    int64_t n, *rows;
    int64_t *codes, *truth; /* of its rows: predicted classes, and what they are */
    double *scores;
    double *importance; /* of columns; NULL: not asked for */
    mercer_notice *notices[MRC_MAX_NOTICES];
    int notice_count;
    mercer_status rc;
    mercer_error *why; /* when it failed; NULL then: no memory for that either */
} mrc_fold_result;

/* The choice on all rows. */
typedef struct mrc_tuning {
    mrc_scores scores; /* no cells: nothing was chosen */
    mrc_rule rule;
    int64_t rows;
    double components; /* of the call, where they are not tuned */
    char **further;    /* one text per axis, or NULL: see mercer_tuning_axis */
} mrc_tuning;

struct mercer_evaluation {
    const mrc_metric *metric;
    mercer_target_kind kind;
    int64_t outputs, count;
    int64_t positive;    /* of two classes: the one that rankings look for */
    char *positive_name; /* NULL: there are no two */
    char **class_names;  /* outputs texts; NULL: values, or nothing is predicted */
    mrc_fold_result *folds;
    mrc_grid grid;
    int64_t *confusion, *undecided;
    mrc_tuning tuning;
    double mean, sd;
    double *roc; /* roc_count x MERCER_ROC_COLUMNS, once it was asked for */
    int64_t roc_count;
    double *importance; /* columns x MERCER_IMPORTANCE_COLUMNS; NULL: not asked for */
    int64_t columns;
    char **column_names; /* or NULL */
};

/* Free what a fold holds, and zero it. */
void mrc_fold_result_destroy(mrc_fold_result *fold);

#endif
