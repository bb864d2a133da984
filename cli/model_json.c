/* What reports say of a model, as JSON. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_json_method(json_t *json, const char *spec)
{
    char *name = cli_format("%.*s", (int)strcspn(spec, ":"), spec);
    json_object_set_new(json, "method", cli_json_text(name));
    free(name);
    json_object_set_new(json, "method_spec", cli_json_text(spec));
}

json_t *cli_json_share(const mercer_model_info *info)
{
    return info->novelty_share > 0 ? json_real(info->novelty_share) : json_null();
}

void cli_json_sparse(json_t *json, int64_t entries, int64_t rows, int64_t columns)
{
    const bool sparse = entries >= 0;
    json_object_set_new(json, "entries", sparse ? json_integer(entries) : json_null());
    json_object_set_new(json, "density",
                        cli_json_real(sparse ? cli_density(entries, rows, columns) : NAN));
}

void cli_json_preparation(json_t *json, const mercer_model_info *info)
{
    json_object_set_new(json, "encode", cli_json_text(info->encode));
    json_object_set_new(json, "missing", cli_json_text(info->missing));
    if (info->id_column)
        json_object_set_new(json, "id_column", cli_json_text(info->id_column));
    if (info->label_column)
        json_object_set_new(json, "label_column", cli_json_text(info->label_column));
    json_object_set_new(json, "image_features", cli_json_text(info->image_features));
    if (info->image_features)
        json_object_set_new(json, "image_size",
                            json_pack("[I,I,I]", (json_int_t)info->image_width,
                                      (json_int_t)info->image_height,
                                      (json_int_t)info->image_channels));
}

void cli_json_head(json_t *json, const mercer_model *model, const mercer_model_info *info)
{
    json_t *names = json_array();
    for (int64_t i = 0; i < info->head_outputs && mercer_model_output_name(model, i); i++)
        json_array_append_new(names, cli_json_text(mercer_model_output_name(model, i)));
    json_object_set_new(json, "head", cli_json_text(info->head));
    json_object_set_new(json, "head_rows", json_integer(info->head_rows));
    json_object_set_new(json, "head_names", names);
    json_object_set_new(json, "head_metric",
                        info->head ? cli_json_text(cli_error_key(info)) : json_null());
    json_object_set_new(json, "head_errors",
                        cli_json_reals(info->head_errors, info->components, 1));
    json_object_set_new(json, "scale_target", cli_json_text(info->scale_target));
}

void cli_json_alignment(json_t *json, const mercer_model_info *info)
{
    json_t *alignment = json_array(), *covariance = json_array();
    double aligned = 0, covaried = 0;
    for (int64_t j = 0; info->alignment && j < info->components; j++) {
        json_array_append_new(alignment, cli_json_real(aligned += info->alignment[j]));
        json_array_append_new(covariance, cli_json_real(covaried += info->covariance[j]));
    }
    json_object_set_new(json, "alignment", alignment);
    json_object_set_new(json, "covariance", covariance);
    if (!info->alignment)
        return;
    json_t *evaluations = json_array(), *bound = json_array(), *influence = json_array();
    for (int64_t j = 0; info->bound && j < info->components; j++) {
        const double *terms = info->bound + j * MERCER_BOUND_COLUMNS;
        json_t *entry = json_object();
        json_object_set_new(entry, "empirical", cli_json_real(terms[MERCER_BOUND_EMPIRICAL]));
        json_object_set_new(entry, "complexity", cli_json_real(terms[MERCER_BOUND_COMPLEXITY]));
        json_object_set_new(entry, "confidence", cli_json_real(terms[MERCER_BOUND_CONFIDENCE]));
        json_array_append_new(bound, entry);
    }
    for (int64_t j = 0; info->evaluations && j < info->components; j++)
        json_array_append_new(evaluations, json_integer(info->evaluations[j]));
    for (int64_t i = 0; i < info->influence_count; i++) {
        json_t *entry = json_object();
        json_object_set_new(entry, "row", json_integer((json_int_t)info->influence[2 * i]));
        json_object_set_new(entry, "value", cli_json_real(info->influence[2 * i + 1]));
        json_array_append_new(influence, entry);
    }
    json_object_set_new(json, "kernel_alignment", cli_json_real(info->kernel_alignment));
    json_object_set_new(json, "kernel_evaluations", evaluations);
    json_object_set_new(json, "bound", bound);
    json_object_set_new(json, "influence", influence);
}

void cli_json_trace(json_t *json, const mercer_model_info *info)
{
    json_t *trace = json_array();
    for (int64_t i = 0; info->trace && i < info->trace_count; i++) {
        const double *row = info->trace + i * MERCER_TRACE_COLUMNS;
        json_t *step = json_object();
        json_object_set_new(step, "iteration",
                            json_integer((json_int_t)row[MERCER_TRACE_ITERATION]));
        json_object_set_new(step, "performance", cli_json_real(row[MERCER_TRACE_PERFORMANCE]));
        json_object_set_new(step, "rate", cli_json_real(row[MERCER_TRACE_RATE]));
        json_object_set_new(step, "distance", cli_json_real(row[MERCER_TRACE_DISTANCE]));
        if (info->trace_seconds)
            json_object_set_new(step, "seconds", cli_json_real(info->trace_seconds[i]));
        json_array_append_new(trace, step);
    }
    json_object_set_new(json, "trace", trace);
}

void cli_json_blocks(json_t *json, const mercer_model_info *info)
{
    if (info->stream_blocks == 0)
        return;
    json_object_set_new(json, "blocks", json_integer(info->stream_blocks));
    if (info->stream_evaluations == 0)
        return;
    json_object_set_new(json, "evaluations", json_integer(info->stream_evaluations));
    json_object_set_new(json, "evaluations_newest_block",
                        json_integer(info->stream_block_evaluations));
}

void cli_json_selection(json_t *json, const mercer_model_info *info)
{
    json_t *selected = json_array(), *selection = json_array();
    for (int64_t i = 0; info->selected && i < info->selected_count; i++) {
        json_array_append_new(selected, json_integer(info->selected[i]));
        if (!info->selection)
            continue;
        const double *row = info->selection + i * MERCER_SELECTION_COLUMNS;
        json_t *step = json_object();
        json_object_set_new(step, "row", json_integer(info->selected[i]));
        json_object_set_new(step, "score", cli_json_real(row[MERCER_SELECTION_SCORE]));
        json_object_set_new(step, "residual", cli_json_real(row[MERCER_SELECTION_RESIDUAL]));
        json_object_set_new(step, "reconstruction_error",
                            cli_json_real(row[MERCER_SELECTION_ERROR]));
        json_object_set_new(step, "projection_variance",
                            cli_json_real(row[MERCER_SELECTION_VARIANCE]));
        json_array_append_new(selection, step);
    }
    json_object_set_new(json, "selected", selected);
    json_object_set_new(json, "selection", selection);
}
