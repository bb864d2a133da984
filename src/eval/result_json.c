/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of an evaluation as JSON; docs/json.md lists the members. */
#include "base/json_writer.h"
#include "base/number.h"
#include "eval/result.h"

#include <mercer/json.h>

#include <math.h>
#include <string.h>

/* A value of a key that is tuned; numbers are numbers. */
static void put_value(mrc_json_writer *json, const char *key, const char *text)
{
    double number;
    if (mrc_parse_double(text, strlen(text), &number) && isfinite(number))
        mrc_json_put_real(json, key, number);
    else
        mrc_json_put_text(json, key, text);
}

/* The values that a choice has, components aside. */
static void put_choice(mrc_json_writer *json, const mrc_grid *grid, int64_t choice)
{
    const int64_t cell = choice * mrc_grid_numbers(grid);
    for (int64_t a = 0; a < grid->axis_count - (grid->components != NULL); a++)
        put_value(json, grid->axes[a].key, grid->axes[a].values[mrc_grid_place(grid, a, cell)]);
}

static void put_chosen(mrc_json_writer *json, const mercer_evaluation *e, int64_t fold)
{
    mrc_json_open_object(json, "chosen");
    mrc_json_put_int(json, "components", e->folds[fold].components);
    put_choice(json, &e->grid, e->folds[fold].choice);
    mrc_json_close(json);
}

/* A cell of the grid: what it is, and what it was worth. */
static void put_cell(mrc_json_writer *json, const mercer_evaluation *e, int64_t cell)
{
    const mrc_grid *grid = &e->grid;
    const mrc_scores *scores = &e->tuning.scores;
    const int64_t numbers = mrc_grid_numbers(grid);
    mrc_json_open_object(json, NULL);
    if (grid->components)
        mrc_json_put_int(json, "components", (int64_t)grid->components[cell % numbers]);
    put_choice(json, grid, cell / numbers);
    mrc_json_put_real(json, "mean", scores->mean[cell]);
    mrc_json_put_real(json, "se", scores->se[cell]);
    mrc_json_open_array(json, "values");
    for (int64_t f = 0; f < scores->folds; f++)
        mrc_json_put_real(json, NULL,
                          scores->failed[cell] ? NAN : scores->values[f * scores->cells + cell]);
    mrc_json_close(json);
    mrc_json_close(json);
}

/* The choice on all rows: the grid, and what is chosen from it. */
static void put_tuning(mrc_json_writer *json, const mercer_evaluation *e)
{
    const mrc_grid *grid = &e->grid;
    mercer_tuning tuning = {.struct_size = sizeof tuning};
    mercer_evaluation_get_tuning(e, &tuning);
    if (tuning.cells == 0)
        return;
    mrc_json_open_object(json, "grid");
    mrc_json_put_text(json, "rule", tuning.rule);
    mrc_json_put_int(json, "rows", tuning.rows);
    mrc_json_put_int(json, "folds", tuning.folds);
    mrc_json_put_int(json, "best", tuning.best);
    mrc_json_put_int(json, "chosen", tuning.chosen);
    mrc_json_open_array(json, "axes");
    for (int64_t a = 0; a < tuning.axes; a++) {
        mrc_json_open_object(json, NULL);
        mrc_json_put_text(json, "key", grid->axes[a].key);
        mrc_json_open_array(json, "values");
        for (int64_t i = 0; i < grid->axes[a].count; i++)
            put_value(json, NULL, grid->axes[a].values[i]);
        mrc_json_close(json);
        mrc_json_put_text(json, "further", e->tuning.further[a]);
        mrc_json_close(json);
    }
    mrc_json_close(json);
    mrc_json_open_array(json, "cells");
    for (int64_t c = 0; c < tuning.cells; c++)
        put_cell(json, e, c);
    mrc_json_close(json);
    mrc_json_close(json);
    mrc_json_open_object(json, "chosen");
    if (grid->components)
        mrc_json_put_int(json, "components", (int64_t)tuning.components);
    put_choice(json, grid, tuning.chosen / mrc_grid_numbers(grid));
    mrc_json_close(json);
}

static void put_counts(mrc_json_writer *json, const char *key, const int64_t *counts, int64_t count)
{
    mrc_json_open_array(json, key);
    for (int64_t i = 0; i < count; i++)
        mrc_json_put_int(json, NULL, counts[i]);
    mrc_json_close(json);
}

static void put_confusion(mrc_json_writer *json, const mercer_evaluation *e)
{
    mrc_json_open_array(json, "classes");
    for (int64_t i = 0; i < e->outputs; i++)
        mrc_json_put_text(json, NULL, e->class_names[i]);
    mrc_json_close(json);
    mrc_json_open_array(json, "confusion");
    for (int64_t i = 0; i < e->outputs; i++)
        put_counts(json, NULL, e->confusion + i * e->outputs, e->outputs);
    mrc_json_close(json);
    put_counts(json, "undecided", e->undecided, e->outputs);
}

static void put_importance(mrc_json_writer *json, const mercer_evaluation *e)
{
    mrc_json_open_array(json, "importance");
    for (int64_t k = 0; k < e->columns; k++) {
        const double *of = e->importance + k * MERCER_IMPORTANCE_COLUMNS;
        mrc_json_open_object(json, NULL);
        mrc_json_put_text(json, "column", mercer_evaluation_column_name(e, k));
        mrc_json_put_real(json, "loss", of[MERCER_IMPORTANCE_LOSS]);
        mrc_json_put_real(json, "sd", of[MERCER_IMPORTANCE_SD]);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

mercer_status mercer_evaluation_json(const mercer_evaluation *evaluation, char **out,
                                     mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(evaluation);
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mrc_json_writer json;
    mercer_evaluation_get_info(evaluation, &info);
    mrc_json_start(&json, err);
    mrc_json_put_text(&json, "metric", info.metric);
    mrc_json_put_truth(&json, "larger_is_better", info.larger_is_better != 0);
    mrc_json_put_text(&json, "positive", info.positive);
    mrc_json_put_real(&json, "mean", info.mean);
    mrc_json_put_real(&json, "sd", info.sd);
    mrc_json_put_int(&json, "choices", info.choices);
    mrc_json_open_array(&json, "folds");
    for (int64_t f = 0; f < info.folds; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(evaluation, f, &fold);
        mrc_json_open_object(&json, NULL);
        mrc_json_put_real(&json, "value", fold.value);
        mrc_json_put_real(&json, "inner", fold.inner);
        mrc_json_put_int(&json, "rows", fold.rows);
        mrc_json_put_int(&json, "expansion_points", fold.points);
        put_chosen(&json, evaluation, f);
        mrc_json_close(&json);
    }
    mrc_json_close(&json);
    if (info.confusion)
        put_confusion(&json, evaluation);
    if (evaluation->importance)
        put_importance(&json, evaluation);
    put_tuning(&json, evaluation);
    return mrc_json_finish(&json, out);
}
