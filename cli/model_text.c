/* SPDX-License-Identifier: BSD-3-Clause */
/* What summaries say of a model, as text. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double cli_density(int64_t entries, int64_t rows, int64_t columns)
{
    return (double)entries / ((double)rows * (double)columns);
}

char *cli_sparse_text(int64_t entries, int64_t rows, int64_t columns)
{
    if (entries < 0)
        return cli_copy("");
    return cli_format(", sparse: %s entr%s (%.2g %%)", cli_text_count(entries).text,
                      entries == 1 ? "y" : "ies", 100 * cli_density(entries, rows, columns));
}

/* What became of the columns of the file whose cells are not plain numbers: those with texts, or
 * the others. NULL when there are none; owned by the caller. */
static char *encoded_text(const json_t *columns, bool texts)
{
    enum { VALUES = 4 }; /* shown of a column */
    static const char *const others[][2] = {{"grouped", "thousands separators left out"},
                                            {"percent", "percent signs left out"},
                                            {"boolean", "true and yes are 1, false and no 0"},
                                            {"date", "days since 1970-01-01"}};
    char *text = NULL;
    FILE *out = cli_text_open(&text);
    size_t i;
    json_t *column;
    json_array_foreach(columns, i, column)
    {
        const json_t *name = json_object_get(column, "column");
        const json_t *values = json_object_get(column, "values");
        const char *as = json_string_value(json_object_get(column, "as"));
        if (texts != (values != NULL) || !as)
            continue;
        fputs(*text ? "; " : "", out);
        if (json_is_string(name))
            fprintf(out, "'%s': ", json_string_value(name));
        else
            fprintf(out, "column %lld: ", (long long)json_integer_value(name));
        for (size_t k = 0; !values && k < sizeof others / sizeof *others; k++)
            if (strcmp(as, others[k][0]) == 0)
                fputs(others[k][1], out);
        const size_t count = json_array_size(values);
        for (size_t k = 0; values && k < count && k < VALUES; k++)
            fprintf(out, "%s%s", k ? ", " : "", json_string_value(json_array_get(values, k)));
        if (values)
            fprintf(out, "%s (%lld values)", count > VALUES ? ", ..." : "", (long long)count);
        fflush(out);
    }
    fclose(out);
    if (*text)
        return text;
    free(text);
    return NULL;
}

void cli_print_preparation(FILE *out, const mercer_model *model, const mercer_model_info *info)
{
    char *told = NULL;
    json_t *all = cli_json_take(mercer_model_info_json(model, &told, NULL), &told);
    char *texts = encoded_text(json_object_get(all, "encoded"), true);
    char *others = encoded_text(json_object_get(all, "encoded"), false);
    if (info->id_column)
        cli_print_row(out, "ids", "column '%s'", info->id_column);
    if (texts)
        cli_print_row(out, "text columns", "onehot, a 0/1 column for each value of %s", texts);
    if (others)
        cli_print_row(out, "cells read as", "%s", others);
    free(texts);
    free(others);
    json_decref(all);
    if (strcmp(info->missing, "error") != 0)
        cli_print_row(out, "missing values", "%s",
                      strcmp(info->missing, "drop") == 0     ? "rows left out"
                      : strcmp(info->missing, "median") == 0 ? "median of the column"
                                                             : "mean of the column");
    if (info->image_features)
        cli_print_row(out, "images", "%lldx%lld, %s; features: %s", (long long)info->image_width,
                      (long long)info->image_height,
                      info->image_channels == 1 ? "greyscale" : "colour", info->image_features);
}

void cli_print_novelty(FILE *out, const mercer_model_info *info)
{
    if (info->novelty_share > 0)
        cli_print_row(out, "novelty threshold", "%.6g, which %g %% of held-out rows exceed",
                      info->novelty_threshold, 100 * info->novelty_share);
}

const char *cli_error_key(const mercer_model_info *info)
{
    return info->head_kind == MERCER_TARGET_CLASSES ? "error_rate" : "rmse";
}

cli_text cli_text_error(const mercer_model_info *info, double error)
{
    cli_text text;
    if (info->head_kind == MERCER_TARGET_CLASSES)
        snprintf(text.text, sizeof text.text, "error rate %.4g %%", 100 * error);
    else
        snprintf(text.text, sizeof text.text, "RMSE %.6g", error);
    return text;
}

void cli_print_head(FILE *out, const mercer_model_info *info)
{
    if (!info->head)
        return;
    const bool classes = info->head_kind == MERCER_TARGET_CLASSES;
    const char *plural = info->head_outputs == 1 ? "" : classes ? "es" : "s";
    const double known = info->head_errors[info->components - 1];
    const cli_text error = cli_text_error(info, known);
    const double other = info->head_left_out;
    const bool seen = info->alignment || info->trace; /* labels had a part in the features */
    char *left_out = isnan(other) ? cli_copy("")
                                  : cli_format(", %.4g%s with each row left out of its vote%s",
                                               classes ? 100 * other : other, classes ? " %" : "",
                                               seen ? " (the features have seen its label)" : "");
    cli_print_row(out, "head", "%s, predicts %lld %s%s%s%s%s%s", info->head,
                  (long long)info->head_outputs, classes ? "class" : "value", plural,
                  isnan(known) ? "" : "; ", isnan(known) ? "" : error.text,
                  isnan(known) ? "" : " on the training rows", left_out);
    free(left_out);
}

/* A cell with a bar, or nothing where there is no room for one. */
static void add_bar(cli_table *table, double share, int width)
{
    char *bar = width > 3 ? cli_bar(share, width) : cli_copy("");
    cli_table_cell(table, "%s", bar);
    free(bar);
}

void cli_print_spectrum(FILE *out, const double *spectrum, int64_t count, double factor)
{
    enum { MOST = 12, SHOWN = 10, BAR = 24 };
    const int64_t shown = count > MOST ? SHOWN : count;
    const int room = cli_terminal_width() - 46;
    const int bar_width = room > BAR ? BAR : room;
    cli_table table = {.align = "lrrrl", .header = true};
    cli_table_cell(&table, "feature");
    cli_table_cell(&table, "eigenvalue");
    cli_table_cell(&table, "share");
    cli_table_cell(&table, "so far");
    cli_table_cell(&table, "%s", "");
    double sum = 0;
    for (int64_t j = 0; j < shown; j++) {
        const double share = spectrum[j] * factor;
        sum += share;
        cli_table_cell(&table, "f%lld", (long long)j + 1);
        cli_table_cell(&table, "%.5g", spectrum[j]);
        cli_table_cell(&table, "%.2f %%", 100 * share);
        cli_table_cell(&table, "%.2f %%", 100 * sum);
        add_bar(&table, share / (spectrum[0] * factor), bar_width);
    }
    cli_table_print(&table, out, 2);
    if (shown < count) {
        for (int64_t j = shown; j < count; j++)
            sum += spectrum[j] * factor;
        fprintf(out, "  ... and %lld more; all %lld together: %.2f %% (--json lists them)\n",
                (long long)(count - shown), (long long)count, 100 * sum);
    }
}

void cli_print_selection(FILE *out, const mercer_model_info *info)
{
    enum { MOST = 12, SHOWN = 10, BAR = 16 };
    const int64_t count = info->selected_count, shown = count > MOST ? SHOWN : count;
    const double *last = info->selection + (count - 1) * MERCER_SELECTION_COLUMNS;
    const double most = last[MERCER_SELECTION_VARIANCE];
    const int room = cli_terminal_width() - 62;
    const int bar_width = room > BAR ? BAR : room;
    cli_table table = {.align = "lrrrrrl", .header = true};
    const bool features = info->correlated && info->components == count;
    cli_table_cell(&table, features ? "feature" : "point");
    cli_table_cell(&table, "row*");
    cli_table_cell(&table, "score");
    cli_table_cell(&table, "residual");
    cli_table_cell(&table, "error");
    cli_table_cell(&table, "captured");
    cli_table_cell(&table, "%s", "");
    for (int64_t i = 0; i < shown; i++) {
        const double *row = info->selection + i * MERCER_SELECTION_COLUMNS;
        cli_table_cell(&table, "%s%lld", features ? "f" : "", (long long)i + 1);
        cli_table_cell(&table, "%lld", (long long)info->selected[i]);
        cli_table_cell(&table, "%.4g", row[MERCER_SELECTION_SCORE]);
        cli_table_cell(&table, "%.4g", row[MERCER_SELECTION_RESIDUAL]);
        cli_table_cell(&table, "%.4g", row[MERCER_SELECTION_ERROR]);
        cli_table_cell(&table, "%.4g", row[MERCER_SELECTION_VARIANCE]);
        add_bar(&table, row[MERCER_SELECTION_VARIANCE] / most, bar_width);
    }
    cli_table_print(&table, out, 2);
    if (shown < count)
        fprintf(out, "  ... and %lld more, down to an error of %.4g (--json lists them)\n",
                (long long)(count - shown), last[MERCER_SELECTION_ERROR]);
    fprintf(out, "  * rows count from 0; error and captured: means over all rows so far\n");
}

void cli_print_points(FILE *out, const mercer_model_info *info)
{
    if (!info->expansion_points) {
        cli_print_row(out, "rows stored", "none: the linear map is kept instead");
        return;
    }
    char *sparse = cli_sparse_text(info->expansion_entries, info->expansion_points, info->columns);
    char *others = cli_copy("");
    if (info->selected_count > 0 && info->expansion_points > info->selected_count &&
        strcmp(info->center, "exact") == 0) {
        free(others);
        others = cli_format(": %s selected, the others for the exact mean",
                            cli_text_count(info->selected_count).text);
    }
    cli_print_row(out, "rows stored", "%s%s%s", cli_text_count(info->expansion_points).text, sparse,
                  others);
    free(sparse);
    free(others);
}

/* What is known of the features on new rows. asked: the bound was to choose their number. */
static void print_bound(FILE *out, const mercer_model_info *info, bool asked)
{
    if (!isnan(info->kernel_alignment))
        cli_print_row(out, "kernel and labels", "alignment %.4f of the two matrices",
                      info->kernel_alignment);
    if (info->kernel_evaluations)
        cli_print_row(out, "a new row needs", "%s kernel values",
                      cli_text_count(info->kernel_evaluations[info->components - 1]).text);
    if (!info->bound)
        return;
    const double *bound = info->bound + (info->components - 1) * MERCER_BOUND_COLUMNS;
    const double value = bound[MERCER_BOUND_EMPIRICAL] - bound[MERCER_BOUND_COMPLEXITY] -
                         bound[MERCER_BOUND_CONFIDENCE];
    if (value <= 0 && !asked) /* it says nothing; --json has its terms */
        return;
    cli_print_row(out, "on new rows",
                  value > 0 ? "y²|f|² %.4g here, bound %.4g"
                            : "y²|f|² %.4g here; the bound is vacuous (%.2g)",
                  bound[MERCER_BOUND_EMPIRICAL], value);
    if (info->influence_count > 0)
        cli_print_row(out, "largest influence", "row %lld%s", (long long)info->influence[0],
                      " (--json lists more, and the terms of the bound)");
}

void cli_print_alignment(FILE *out, const mercer_model_info *info, bool bound)
{
    enum { MOST = 12, SHOWN = 10, BAR = 24 };
    const int64_t count = info->components, shown = count > MOST ? SHOWN : count;
    const bool rows = info->selected_count == count;
    const int room = cli_terminal_width() - 60;
    const int bar_width = room > BAR ? BAR : room;
    cli_table table = {.align = rows ? "lrrrrl" : "lrrrl", .header = true};
    double sum = 0, covariance = 0;
    cli_table_cell(&table, "feature");
    if (rows)
        cli_table_cell(&table, "row*");
    cli_table_cell(&table, "covariance");
    cli_table_cell(&table, "explains");
    cli_table_cell(&table, "so far");
    cli_table_cell(&table, "%s", "");
    for (int64_t j = 0; j < count; j++) {
        sum += info->alignment[j];
        covariance += info->covariance[j];
        if (j >= shown)
            continue;
        cli_table_cell(&table, "f%lld", (long long)j + 1);
        if (rows)
            cli_table_cell(&table, "%lld", (long long)info->selected[j]);
        cli_table_cell(&table, "%.4g", covariance);
        cli_table_cell(&table, "%.2f %%", 100 * info->alignment[j]);
        cli_table_cell(&table, "%.2f %%", 100 * sum);
        add_bar(&table, sum, bar_width);
    }
    cli_table_print(&table, out, 2);
    if (shown < count)
        fprintf(out, "  ... and %lld more; all %lld together: %.2f %% (--json lists them)\n",
                (long long)(count - shown), (long long)count, 100 * sum);
    fprintf(out,
            "  %sexplains: fraction of label variance;\n"
            "  covariance: cumulative squared covariance with the labels\n",
            rows ? "* rows count from 0; " : "");
    print_bound(out, info, bound);
}

void cli_print_features(FILE *out, const mercer_model_info *info, double factor, bool bound)
{
    if (info->alignment) {
        cli_print_alignment(out, info, bound);
        return;
    }
    const bool selection = info->selection && info->selected_count > 0;
    if (selection)
        cli_print_selection(out, info);
    if (selection && !info->correlated)
        fprintf(out, "\n");
    if (info->spectrum && info->components && !(selection && info->correlated))
        cli_print_spectrum(out, info->spectrum, info->components, factor);
}

void cli_print_trace(FILE *out, const mercer_model_info *info)
{
    if (!info->trace || info->trace_count == 0)
        return;
    const double *first = info->trace;
    const double *last = first + (info->trace_count - 1) * MERCER_TRACE_COLUMNS;
    cli_print_row(out, "search",
                  "%s steps: performance %.4f to %.4f, recognition rate %.1f %% to %.1f %% on the "
                  "rows it searched; for new rows: mercer evaluate",
                  cli_text_count(info->trace_count - 1).text, first[MERCER_TRACE_PERFORMANCE],
                  last[MERCER_TRACE_PERFORMANCE], 100 * first[MERCER_TRACE_RATE],
                  100 * last[MERCER_TRACE_RATE]);
}

void cli_print_blocks(FILE *out, const mercer_model_info *info)
{
    char values[128] = ""; /* of models from before they were counted nothing is said */
    if (info->stream_blocks == 0)
        return;
    if (info->stream_evaluations > 0)
        snprintf(values, sizeof values, ", %s kernel values, %s of them for the latest",
                 cli_text_count(info->stream_evaluations).text,
                 cli_text_count(info->stream_block_evaluations).text);
    cli_print_row(out, "learnt from", "%s block%s%s", cli_text_count(info->stream_blocks).text,
                  info->stream_blocks == 1 ? "" : "s", values);
}
