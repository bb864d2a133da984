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
    mrc_free(fold->importance);
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
    mrc_scores_destroy(&evaluation->tuning.scores);
    mrc_free_names(evaluation->tuning.further, evaluation->grid.axis_count);
    mrc_free(evaluation->importance);
    mrc_free_names(evaluation->column_names, evaluation->columns);
    mrc_grid_destroy(&evaluation->grid);
    mrc_free(evaluation);
}

MRC_VERSIONED(evaluation_info, )
MRC_VERSIONED(evaluation_fold, )
MRC_VERSIONED(tuning, )
MRC_VERSIONED(tuning_axis, )

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
        .choices = mrc_grid_cells(grid),
        .undecided = evaluation->undecided,
        .positive = evaluation->positive_name,
    };
    mrc_give_struct(&full, sizeof full, info);
}

void mercer_evaluation_importance(const mercer_evaluation *evaluation, const double **values,
                                  int64_t *columns)
{
    if (values)
        *values = evaluation ? evaluation->importance : NULL;
    if (columns)
        *columns = evaluation ? evaluation->columns : 0;
}

const char *mercer_evaluation_column_name(const mercer_evaluation *evaluation, int64_t k)
{
    if (!evaluation || !evaluation->column_names || k < 0 || k >= evaluation->columns)
        return NULL;
    return evaluation->column_names[k];
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

void mercer_evaluation_get_tuning(const mercer_evaluation *evaluation, mercer_tuning *out)
{
    static const char *const rules[] = {[MRC_RULE_BEST] = "best", [MRC_RULE_1SE] = "1se"};
    if (!evaluation || !out)
        return;
    const mrc_grid *grid = &evaluation->grid;
    const mrc_tuning *tuning = &evaluation->tuning;
    const mrc_scores *scores = &tuning->scores;
    mercer_tuning full = {.cells = scores->cells};
    if (scores->cells > 0) {
        const int64_t numbers = mrc_grid_numbers(grid);
        const mrc_choice *choice = &grid->choices[scores->chosen / numbers];
        full = (mercer_tuning){.cells = scores->cells,
                               .axes = grid->axis_count,
                               .rows = tuning->rows,
                               .folds = scores->folds,
                               .rule = rules[tuning->rule],
                               .mean = scores->mean,
                               .se = scores->se,
                               .values = scores->values,
                               .best = scores->best,
                               .chosen = scores->chosen,
                               .method = choice->method,
                               .kernel = choice->kernel,
                               .head = choice->head,
                               .components = grid->components
                                                 ? grid->components[scores->chosen % numbers]
                                                 : tuning->components};
    }
    mrc_give_struct(&full, sizeof full, out);
}

void mercer_evaluation_get_axis(const mercer_evaluation *evaluation, int64_t index,
                                mercer_tuning_axis *out)
{
    if (!evaluation || !out || index < 0 || index >= evaluation->grid.axis_count)
        return;
    const mrc_axis *axis = &evaluation->grid.axes[index];
    const mrc_tuning *tuning = &evaluation->tuning;
    mercer_tuning_axis full = {
        .key = axis->key,
        .count = axis->count,
        .values = (const char *const *)axis->values,
        .chosen = tuning->scores.cells > 0
                      ? mrc_grid_place(&evaluation->grid, index, tuning->scores.chosen)
                      : 0,
        .further = tuning->further ? tuning->further[index] : NULL};
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
