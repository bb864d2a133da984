/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer info: what a model file holds. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_columns(const mercer_model *model, int64_t columns)
{
    enum { MOST = 8 };
    if (!mercer_model_column_name(model, 0)) {
        cli_print_row(stdout, "columns", "%s, without names", cli_text_count(columns).text);
        return;
    }
    char *list = cli_copy("");
    for (int64_t j = 0; j < columns && j < MOST; j++) {
        char *longer =
            cli_format("%s%s%s", list, j ? ", " : "", mercer_model_column_name(model, j));
        free(list);
        list = longer;
    }
    cli_print_row(stdout, "columns", "%s: %s%s", cli_text_count(columns).text, list,
                  columns > MOST ? ", ..." : "");
    free(list);
}

/* The column that comes after `last` (-1: the first of all) when those that count most come first.
 */
static int64_t next_column(const double *weights, int64_t columns, int64_t last)
{
    const double before = last < 0 ? INFINITY : weights[last];
    int64_t next = -1;
    for (int64_t k = 0; k < columns; k++) {
        const bool is_later = weights[k] < before || (weights[k] == before && k > last);
        if (is_later && (next < 0 || weights[k] > weights[next]))
            next = k;
    }
    return next;
}

/* How much the columns count in the map, the first ones. */
static void print_weights(const mercer_model *model, const mercer_model_info *info)
{
    enum { MOST = 20 };
    if (!info->map_weights)
        return;
    cli_table table = {.align = "lr", .header = true};
    cli_table_cell(&table, "column");
    cli_table_cell(&table, "weight");
    int64_t column = -1;
    for (int64_t k = 0; k < info->columns && k < MOST; k++) {
        column = next_column(info->map_weights, info->columns, column);
        const char *name = mercer_model_column_name(model, column);
        if (name)
            cli_table_cell(&table, "%s", cli_visible(name));
        else
            cli_table_cell(&table, "%lld", (long long)column + 1);
        cli_table_cell(&table, "%.4g", info->map_weights[column]);
    }
    printf("\n");
    cli_table_print(&table, stdout, 2);
    if (info->columns > MOST)
        printf("  ... and %lld more (--json lists them)\n", (long long)(info->columns - MOST));
}

static int run_info(cli_app *app)
{
    mercer_error err = {0};
    mercer_model *model = NULL;
    const char *path = app->set.operand[0];
    const int status = cli_load_model(app, path, &model, &err);
    if (status != CLI_DONE)
        return status;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    const double total = info.weight * info.total_variance;
    const double factor = total > 0 ? 1 / total : NAN;

    if (app->set.json) {
        char *text = NULL;
        cli_json_print(stdout, cli_json_take(mercer_model_info_json(model, &text, NULL), &text));
        mercer_model_free(model);
        return CLI_DONE;
    }
    printf("Model %s\n\n", cli_visible(cli_shown(path)));
    cli_print_row(stdout, "method", "%s", info.method);
    cli_print_row(stdout, "kernel", "%s", info.kernel);
    cli_print_row(stdout, "centring", "%s", info.center);
    cli_print_preparation(stdout, model, &info);
    cli_print_row(stdout, "scaling", "%s", info.scale);
    if (info.map)
        cli_print_row(stdout, "map", "%s: %lld column%s for the kernel", info.map,
                      (long long)info.map_columns, info.map_columns == 1 ? "" : "s");
    cli_print_row(stdout, "fitted to", "%s rows", cli_text_count(info.rows).text);
    print_columns(model, info.columns);
    cli_print_row(stdout, "components", "%lld", (long long)info.components);
    cli_print_points(stdout, &info);
    cli_print_row(stdout, "reconstruction error", "%s",
                  cli_text_number(info.reconstruction_error).text);
    cli_print_row(stdout, "total variance", "%s", cli_text_number(info.total_variance).text);
    cli_print_trace(stdout, &info);
    cli_print_blocks(stdout, &info);
    if (info.stream_unfinished)
        cli_print_row(stdout, "last input", "not at its end; --resume goes on with it");
    cli_print_novelty(stdout, &info);
    cli_print_head(stdout, &info);
    if (info.version && *info.version)
        cli_print_row(stdout, "made by", "mercer %s, seed %" PRIu64, info.version, info.seed);
    if (info.command && *info.command)
        cli_print_row(stdout, "command", "%s", info.command);
    if (info.data_hash && *info.data_hash)
        cli_print_row(stdout, "data hash", "%s", info.data_hash);
    if (info.spectrum && info.components) {
        printf("\n");
        cli_print_features(stdout, &info, factor, false);
    }
    print_weights(model, &info);
    mercer_model_free(model);
    return CLI_DONE;
}

static const cli_option options[] = {CLI_OPTION_UNTRUSTED, CLI_OPTION_JSON, CLI_OPTION_HELP,
                                     CLI_OPTION_END};

const cli_command cli_command_info = {
    .name = "info",
    .summary = "show what a model holds and how it was made",
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .options = options,
    .run = run_info,
};
