/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of an evaluation: its life, and what hosts are shown of it. */
#include "eval/result.h"

#include "base/memory.h"
#include "base/params.h"
#include "data/rows.h"

#include <string.h>

void mrc_fold_result_destroy(mrc_fold_result *fold)
{
    mrc_free(fold->rows);
    mrc_free(fold->codes);
    mrc_free(fold->truth);
    mrc_free(fold->scores);
    mrc_free(fold->why);
    for (int i = 0; i < fold->notice_count; i++)
        mrc_free(fold->notices[i]);
    memset(fold, 0, sizeof *fold);
}

void mercer_evaluation_free(mercer_evaluation *evaluation)
{
    if (!evaluation)
        return;
    for (int64_t f = 0; evaluation->folds && f < evaluation->count; f++)
        mrc_fold_result_destroy(&evaluation->folds[f]);
    mrc_free(evaluation->folds);
    mrc_free(evaluation->positive_name);
    mrc_free_names(evaluation->class_names, evaluation->outputs);
    mrc_free(evaluation->confusion);
    mrc_free(evaluation->undecided);
    mrc_free(evaluation->roc);
    mrc_grid_destroy(&evaluation->grid);
    mrc_free(evaluation);
}

MRC_VERSIONED(evaluation_info, )
MRC_VERSIONED(evaluation_fold, )

void mercer_evaluation_get_info(const mercer_evaluation *evaluation, mercer_evaluation_info *info)
{
    if (!evaluation || !info)
        return;
    const mrc_grid *grid = &evaluation->grid;
    mercer_evaluation_info full = {
        .metric = evaluation->metric->name,
        .summary = evaluation->metric->summary,
        .larger_is_better = evaluation->metric->larger_is_better,
        .mean = evaluation->mean,
        .sd = evaluation->sd,
        .folds = evaluation->count,
        .kind = evaluation->kind,
        .outputs = evaluation->outputs,
        .confusion = evaluation->confusion,
        .choices = grid->count * (grid->components ? grid->components_count : 1),
        .undecided = evaluation->undecided,
        .positive = evaluation->positive_name,
    };
    mrc_give_struct(&full, sizeof full, info);
}

void mercer_evaluation_get_fold(const mercer_evaluation *evaluation, int64_t index,
                                mercer_evaluation_fold *out)
{
    if (!evaluation || !out || index < 0 || index >= evaluation->count)
        return;
    const mrc_fold_result *fold = &evaluation->folds[index];
    mercer_evaluation_fold full = {
        .value = fold->value,
        .inner = fold->inner,
        .chosen = evaluation->grid.choices[fold->choice].text,
        .components = fold->components,
        .points = fold->points,
        .rows = fold->n,
        .row = fold->rows,
        .codes = fold->codes,
        .scores = fold->scores,
    };
    mrc_give_struct(&full, sizeof full, out);
}

mercer_status mercer_evaluation_get_roc(mercer_evaluation *e, const double **points, int64_t *count,
                                        mercer_error *err)
{
    MRC_NEED(points);
    *points = NULL;
    MRC_NEED(e);
    MRC_NEED(count);
    double *scores = NULL;
    int64_t *truth = NULL, n = 0, at = 0;
    mercer_status rc = MERCER_OK;
    *count = 0;
    if (e->kind != MERCER_TARGET_CLASSES || e->outputs != 2)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "a ROC curve needs predictions of two classes");
    for (int64_t f = 0; f < e->count; f++)
        n += e->folds[f].n;
    MRC_TRY(mrc_alloc2_raw(&scores, n, 2, sizeof *scores, err));
    MRC_TRY(mrc_alloc2_raw(&truth, n, 1, sizeof *truth, err));
    for (int64_t f = 0; f < e->count; at += e->folds[f++].n) {
        memcpy(scores + 2 * at, e->folds[f].scores, (size_t)(2 * e->folds[f].n) * sizeof *scores);
        memcpy(truth + at, e->folds[f].truth, (size_t)e->folds[f].n * sizeof *truth);
    }
    mrc_free(e->roc);
    mrc_predictions judged = {
        .n = n, .outputs = 2, .truth = truth, .scores = scores, .positive = e->positive};
    MRC_TRY(mrc_roc(&judged, &e->roc, &e->roc_count, err));
    *points = e->roc;
    *count = e->roc_count;
out:
    mrc_free(scores);
    mrc_free(truth);
    return rc;
}
