/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a model as JSON; docs/json.md lists the members. */
#include "model/info_json.h"

#include "data/dress.h"
#include "model/model.h"

#include <mercer/json.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mrc_info_put_settings(mrc_json_writer *json, const mercer_model_info *info)
{
    mrc_json_put_text_part(json, "method", info->method, strcspn(info->method, ":"));
    mrc_json_put_text(json, "method_spec", info->method);
    mrc_json_put_text(json, "kernel", info->kernel);
    mrc_json_put_text(json, "center", info->center);
    mrc_json_put_text(json, "scale", info->scale);
    if (info->map) {
        mrc_json_put_text(json, "map", info->map);
        mrc_json_put_int(json, "map_columns", info->map_columns);
    }
}

/* A column of the file whose cells become other numbers. values: those of a text column, or NULL.
 */
static void put_encoded(mrc_json_writer *json, const char *name, int64_t column, const char *as,
                        const mrc_encoding *values)
{
    mrc_json_open_object(json, NULL);
    if (name)
        mrc_json_put_text(json, "column", name);
    else
        mrc_json_put_int(json, "column", column + 1);
    mrc_json_put_text(json, "as", as);
    if (values) {
        mrc_json_open_array(json, "values");
        for (int64_t i = 0; i < values->count; i++)
            mrc_json_put_text(json, NULL, values->values[i]);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

/* What is done to each data column of the file, where something is. */
static void put_columns(mrc_json_writer *json, const mercer_model *model)
{
    const mercer_prepare *prepare = &model->prepare;
    const int64_t count = prepare->sources ? prepare->sources : prepare->dress_count;
    char **names = prepare->sources ? prepare->source_names : model->column_names;
    bool any = false;
    for (int64_t j = 0; j < count; j++) {
        const mrc_encoding *values = prepare->sources ? &prepare->encodings[j] : NULL;
        const mrc_dress dress =
            prepare->dress && j < prepare->dress_count ? prepare->dress[j] : MRC_PLAIN;
        const bool text = values && values->count > 0;
        if (!text && dress == MRC_PLAIN)
            continue;
        if (!any)
            mrc_json_open_array(json, "encoded");
        any = true;
        put_encoded(json, names ? names[j] : NULL, j, text ? "onehot" : mrc_dress_name(dress),
                    text ? values : NULL);
    }
    if (any)
        mrc_json_close(json);
}

void mrc_info_put_preparation(mrc_json_writer *json, const mercer_model *model,
                              const mercer_model_info *info)
{
    mrc_json_put_text(json, "encode", info->encode);
    put_columns(json, model);
    mrc_json_put_text(json, "missing", info->missing);
    if (info->id_column)
        mrc_json_put_text(json, "id_column", info->id_column);
    if (info->label_column)
        mrc_json_put_text(json, "label_column", info->label_column);
    mrc_json_put_text(json, "image_features", info->image_features);
    if (!info->image_features)
        return;
    mrc_json_open_array(json, "image_size");
    mrc_json_put_int(json, NULL, info->image_width);
    mrc_json_put_int(json, NULL, info->image_height);
    mrc_json_put_int(json, NULL, info->image_channels);
    mrc_json_close(json);
}

static void put_selection(mrc_json_writer *json, const mercer_model_info *info)
{
    const int64_t count = info->selected ? info->selected_count : 0;
    mrc_json_open_array(json, "selected");
    for (int64_t i = 0; i < count; i++)
        mrc_json_put_int(json, NULL, info->selected[i]);
    mrc_json_close(json);
    mrc_json_open_array(json, "selection");
    for (int64_t i = 0; info->selection && i < count; i++) {
        const double *row = info->selection + i * MERCER_SELECTION_COLUMNS;
        mrc_json_open_object(json, NULL);
        mrc_json_put_int(json, "row", info->selected[i]);
        mrc_json_put_real(json, "score", row[MERCER_SELECTION_SCORE]);
        mrc_json_put_real(json, "residual", row[MERCER_SELECTION_RESIDUAL]);
        mrc_json_put_real(json, "reconstruction_error", row[MERCER_SELECTION_ERROR]);
        mrc_json_put_real(json, "projection_variance", row[MERCER_SELECTION_VARIANCE]);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

/* Writes the sums of the first 1, 2, ... values. */
static void put_sums(mrc_json_writer *json, const char *key, const double *values, int64_t count)
{
    double sum = 0;
    mrc_json_open_array(json, key);
    for (int64_t j = 0; values && j < count; j++)
        mrc_json_put_real(json, NULL, sum += values[j]);
    mrc_json_close(json);
}

static void put_bound(mrc_json_writer *json, const mercer_model_info *info)
{
    mrc_json_open_array(json, "bound");
    for (int64_t j = 0; info->bound && j < info->components; j++) {
        const double *terms = info->bound + j * MERCER_BOUND_COLUMNS;
        mrc_json_open_object(json, NULL);
        mrc_json_put_real(json, "empirical", terms[MERCER_BOUND_EMPIRICAL]);
        mrc_json_put_real(json, "complexity", terms[MERCER_BOUND_COMPLEXITY]);
        mrc_json_put_real(json, "confidence", terms[MERCER_BOUND_CONFIDENCE]);
        mrc_json_close(json);
    }
    mrc_json_close(json);
    mrc_json_open_array(json, "influence");
    for (int64_t i = 0; i < info->influence_count; i++) {
        mrc_json_open_object(json, NULL);
        mrc_json_put_int(json, "row", (int64_t)info->influence[2 * i]);
        mrc_json_put_real(json, "value", info->influence[2 * i + 1]);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

static void put_alignment(mrc_json_writer *json, const mercer_model_info *info)
{
    put_sums(json, "alignment", info->alignment, info->components);
    put_sums(json, "covariance", info->alignment ? info->covariance : NULL, info->components);
    if (!info->alignment)
        return;
    mrc_json_put_real(json, "kernel_alignment", info->kernel_alignment);
    mrc_json_open_array(json, "kernel_evaluations");
    for (int64_t j = 0; info->kernel_evaluations && j < info->components; j++)
        mrc_json_put_int(json, NULL, info->kernel_evaluations[j]);
    mrc_json_close(json);
    put_bound(json, info);
}

static void put_trace(mrc_json_writer *json, const mercer_model_info *info)
{
    mrc_json_open_array(json, "trace");
    for (int64_t i = 0; info->trace && i < info->trace_count; i++) {
        const double *row = info->trace + i * MERCER_TRACE_COLUMNS;
        mrc_json_open_object(json, NULL);
        mrc_json_put_int(json, "iteration", (int64_t)row[MERCER_TRACE_ITERATION]);
        mrc_json_put_real(json, "performance", row[MERCER_TRACE_PERFORMANCE]);
        mrc_json_put_real(json, "rate", row[MERCER_TRACE_RATE]);
        mrc_json_put_real(json, "distance", row[MERCER_TRACE_DISTANCE]);
        if (info->trace_seconds)
            mrc_json_put_real(json, "seconds", info->trace_seconds[i]);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

static void put_blocks(mrc_json_writer *json, const mercer_model_info *info)
{
    if (info->stream_blocks == 0)
        return;
    mrc_json_put_int(json, "blocks", info->stream_blocks);
    if (info->stream_evaluations == 0) /* some were folded in before they were counted */
        return;
    mrc_json_put_int(json, "evaluations", info->stream_evaluations);
    mrc_json_put_int(json, "evaluations_newest_block", info->stream_block_evaluations);
}

typedef struct column_weight {
    int64_t column;
    double weight;
} column_weight;

static int compare_weights(const void *a, const void *b)
{
    const column_weight *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Columns by how much they count in the map, the largest weight first. */
static mercer_status put_map_weights(mrc_json_writer *json, const mercer_model *model,
                                     const mercer_model_info *info, mercer_error *err)
{
    column_weight *all = NULL;
    mercer_status rc = MERCER_OK;
    if (!info->map_weights)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&all, info->columns, sizeof *all, err));
    for (int64_t k = 0; k < info->columns; k++)
        all[k] = (column_weight){k, info->map_weights[k]};
    qsort(all, (size_t)info->columns, sizeof *all, compare_weights);
    mrc_json_open_array(json, "map_weights");
    for (int64_t k = 0; k < info->columns; k++) {
        const char *name = mercer_model_column_name(model, all[k].column);
        mrc_json_open_object(json, NULL);
        if (name)
            mrc_json_put_text(json, "column", name);
        else
            mrc_json_put_int(json, "column", all[k].column + 1);
        mrc_json_put_real(json, "weight", all[k].weight);
        mrc_json_close(json);
    }
    mrc_json_close(json);
out:
    mrc_free(all);
    return rc;
}

void mrc_info_put_history(mrc_json_writer *json, const mercer_model_info *info)
{
    put_selection(json, info);
    put_alignment(json, info);
    if (!isnan(info->left_out_share))
        mrc_json_put_real(json, "left_out_share", info->left_out_share);
    put_trace(json, info);
    put_blocks(json, info);
}

void mrc_info_put_spectrum(mrc_json_writer *json, const mercer_model_info *info)
{
    const double total = info->weight * info->total_variance;
    mrc_json_put_reals(json, "spectrum", info->spectrum, info->components, 1);
    mrc_json_put_reals(json, "share", info->spectrum, info->components,
                       total > 0 ? 1 / total : NAN);
}

void mrc_info_put_novelty(mrc_json_writer *json, const mercer_model_info *info)
{
    mrc_json_put_real(json, "novelty_threshold", info->novelty_threshold);
    mrc_json_put_real(json, "novelty_share", info->novelty_share > 0 ? info->novelty_share : NAN);
}

void mrc_info_put_head(mrc_json_writer *json, const mercer_model *model,
                       const mercer_model_info *info)
{
    const char *metric = info->head_kind == MERCER_TARGET_CLASSES ? "error_rate" : "rmse";
    mrc_json_put_text(json, "head", info->head);
    mrc_json_put_int(json, "head_rows", info->head_rows);
    mrc_json_open_array(json, "head_names");
    for (int64_t i = 0; i < info->head_outputs && mercer_model_output_name(model, i); i++)
        mrc_json_put_text(json, NULL, mercer_model_output_name(model, i));
    mrc_json_close(json);
    mrc_json_put_text(json, "head_metric", info->head ? metric : NULL);
    mrc_json_put_reals(json, "head_errors", info->head_errors, info->components, 1);
    if (!isnan(info->head_left_out))
        mrc_json_put_real(json, "head_error_left_out", info->head_left_out);
    mrc_json_put_text(json, "scale_target", info->scale_target);
}

mercer_status mercer_model_info_json(const mercer_model *model, char **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(model);
    mercer_model_info info = {.struct_size = sizeof info};
    mrc_json_writer json;
    mercer_status rc = MERCER_OK;
    mercer_model_get_info(model, &info);
    mrc_json_start(&json, err);
    mrc_info_put_settings(&json, &info);
    mrc_json_put_int(&json, "rows", info.rows);
    mrc_json_put_real(&json, "weight", info.weight);
    mrc_json_put_int(&json, "columns", info.columns);
    mrc_json_open_array(&json, "column_names");
    for (int64_t j = 0; j < info.columns && mercer_model_column_name(model, j); j++)
        mrc_json_put_text(&json, NULL, mercer_model_column_name(model, j));
    mrc_json_close(&json);
    mrc_info_put_preparation(&json, model, &info);
    mrc_json_put_int(&json, "components", info.components);
    mrc_json_put_int(&json, "expansion_points", info.expansion_points);
    if (info.expansion_entries >= 0) {
        const double room = (double)info.expansion_points * (double)info.columns;
        mrc_json_put_int(&json, "entries", info.expansion_entries);
        mrc_json_put_real(&json, "density", (double)info.expansion_entries / room);
    } else {
        mrc_json_put_null(&json, "entries");
        mrc_json_put_null(&json, "density");
    }
    mrc_info_put_head(&json, model, &info);
    mrc_json_put_truth(&json, "orthonormal", info.orthonormal != 0);
    mrc_info_put_history(&json, &info);
    if (info.stream_blocks)
        mrc_json_put_truth(&json, "unfinished", info.stream_unfinished != 0);
    mrc_info_put_spectrum(&json, &info);
    rc = put_map_weights(&json, model, &info, err);
    mrc_json_put_real(&json, "total_variance", info.total_variance);
    mrc_json_put_real(&json, "reconstruction_error", info.reconstruction_error);
    mrc_info_put_novelty(&json, &info);
    mrc_json_put_text(&json, "version", info.version);
    mrc_json_put_text(&json, "command", info.command);
    mrc_json_put_int(&json, "seed", (int64_t)info.seed);
    mrc_json_put_text(&json, "data_hash", info.data_hash);
    mercer_status finished = mrc_json_finish(&json, out);
    if (finished == MERCER_OK && rc != MERCER_OK) {
        mercer_free(*out);
        *out = NULL;
    }
    return finished == MERCER_OK ? rc : finished;
}
