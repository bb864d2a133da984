/* Text tables with aligned columns. */
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cli_table_cell(cli_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = cli_clean(cli_format_list(format, args));
    va_end(args);
    /* Room doubles whenever the count is a power of two. */
    if ((table->count & (table->count - 1)) == 0) {
        char **grown = cli_alloc(2 * (size_t)table->count + 1, sizeof *grown);
        if (table->count)
            memcpy(grown, table->cells, (size_t)table->count * sizeof *grown);
        free(table->cells);
        table->cells = grown;
    }
    table->cells[table->count++] = text;
}

void cli_table_print(cli_table *table, FILE *out, int indent)
{
    enum { GAP = 2, LEAST_WRAP = 16 };
    const int columns = (int)strlen(table->align);
    const int64_t rows = table->count / columns;
    int width[16] = {0};
    for (int64_t i = 0; i < rows; i++) {
        for (int j = 0; j < columns && j < 16; j++) {
            const int cell = cli_display_width(table->cells[i * columns + j]);
            if (cell > width[j])
                width[j] = cell;
        }
    }
    int last = indent;
    for (int j = 0; j + 1 < columns; j++)
        last += width[j] + GAP;
    int wrap = cli_terminal_width();
    if (wrap < last + LEAST_WRAP)
        wrap = last + LEAST_WRAP;

    for (int64_t i = 0; i < rows; i++) {
        fprintf(out, "%*s", indent, "");
        for (int j = 0; j < columns; j++) {
            const char *cell = table->cells[i * columns + j];
            const int blank = width[j] - cli_display_width(cell);
            if (table->align[j] == 'r')
                fprintf(out, "%*s%s", blank, "", cell);
            else if (j + 1 < columns)
                fprintf(out, "%s%*s", cell, blank, "");
            else
                cli_print_wrapped(out, cell, last, wrap);
            /* No blanks at the end of a line. */
            const bool more = j + 1 < columns;
            if (more && !(j + 2 == columns && table->cells[i * columns + j + 1][0] == 0))
                fprintf(out, "%*s", GAP, "");
            else if (!more && table->align[j] == 'r')
                fputc('\n', out);
        }
        if (i == 0 && table->header) {
            fprintf(out, "%*s", indent, "");
            int total = last - indent + width[columns - 1];
            if (total > wrap - indent)
                total = wrap - indent;
            for (int j = 0; j < total; j++)
                fputs("─", out);
            fputc('\n', out);
        }
    }
    for (int64_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (cli_table){0};
}

void cli_print_row(FILE *out, const char *name, const char *format, ...)
{
    enum { COLUMN = 24 };
    va_list args;
    va_start(args, format);
    char *text = cli_clean(cli_format_list(format, args));
    va_end(args);
    const int width = cli_terminal_width();
    fprintf(out, "  %-*s", COLUMN - 2, name);
    cli_print_wrapped(out, text, COLUMN, width < COLUMN + 30 ? COLUMN + 30 : width);
    free(text);
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
    cli_print_row(out, "head", "%s, predicts %lld %s%s%s%s%s", info->head,
                  (long long)info->head_outputs, classes ? "class" : "value", plural,
                  isnan(known) ? "" : "; ", isnan(known) ? "" : error.text,
                  isnan(known) ? "" : " on the training rows");
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
        cli_print_row(out, "points kept", "none: the linear map is kept instead");
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
    cli_print_row(out, "points kept", "%s%s%s", cli_text_count(info->expansion_points).text, sparse,
                  others);
    free(sparse);
    free(others);
}

/* What is known of the features on new rows. */
static void print_bound(FILE *out, const mercer_model_info *info)
{
    if (!isnan(info->kernel_alignment))
        cli_print_row(out, "kernel and labels", "alignment %.4f of the two matrices",
                      info->kernel_alignment);
    if (info->evaluations)
        cli_print_row(out, "a new row needs", "%s kernel values",
                      cli_text_count(info->evaluations[info->components - 1]).text);
    if (!info->bound)
        return;
    const double *bound = info->bound + (info->components - 1) * MERCER_BOUND_COLUMNS;
    const double value = bound[MERCER_BOUND_EMPIRICAL] - bound[MERCER_BOUND_COMPLEXITY] -
                         bound[MERCER_BOUND_CONFIDENCE];
    cli_print_row(out, "on new rows", "y²|f|² %.4g here, bound %.4g%s",
                  bound[MERCER_BOUND_EMPIRICAL], value, value > 0 ? "" : ": no promise");
    if (info->influence_count > 0)
        cli_print_row(out, "largest influence", "row %lld%s", (long long)info->influence[0],
                      " (--json lists more, and the terms of the bound)");
}

void cli_print_alignment(FILE *out, const mercer_model_info *info)
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
    fprintf(
        out,
        "  %sexplains: share of the labels' squares; covariance: squares of it with the labels, "
        "so far\n",
        rows ? "* rows count from 0; " : "");
    print_bound(out, info);
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

void cli_print_features(FILE *out, const mercer_model_info *info, double factor)
{
    if (info->alignment) {
        cli_print_alignment(out, info);
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
                  "%s steps: performance %.4f to %.4f, recognition rate %.1f %% to %.1f %%",
                  cli_text_count(info->trace_count - 1).text, first[MERCER_TRACE_PERFORMANCE],
                  last[MERCER_TRACE_PERFORMANCE], 100 * first[MERCER_TRACE_RATE],
                  100 * last[MERCER_TRACE_RATE]);
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

void cli_print_blocks(FILE *out, const mercer_model_info *info)
{
    char values[128] = ""; /* of models from before they were counted nothing is said */
    if (info->stream_blocks == 0)
        return;
    if (info->stream_evaluations > 0)
        snprintf(values, sizeof values, ", %s kernel values, %s of them for the newest",
                 cli_text_count(info->stream_evaluations).text,
                 cli_text_count(info->stream_block_evaluations).text);
    cli_print_row(out, "learnt from", "%s block%s%s", cli_text_count(info->stream_blocks).text,
                  info->stream_blocks == 1 ? "" : "s", values);
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
