/* mercer info: what a model file holds. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *info_json(const mercer_model *model, const mercer_model_info *info, double factor)
{
    json_t *names = json_array();
    for (int64_t j = 0; j < info->columns && mercer_model_column_name(model, j); j++)
        json_array_append_new(names, cli_json_text(mercer_model_column_name(model, j)));
    json_t *json = json_object();
    cli_json_method(json, info->method);
    json_object_set_new(json, "kernel", cli_json_text(info->kernel));
    json_object_set_new(json, "center", cli_json_text(info->center));
    json_object_set_new(json, "scale", cli_json_text(info->scale));
    json_object_set_new(json, "rows", json_integer(info->rows));
    json_object_set_new(json, "weight", cli_json_real(info->weight));
    json_object_set_new(json, "columns", json_integer(info->columns));
    json_object_set_new(json, "column_names", names);
    cli_json_preparation(json, info);
    json_object_set_new(json, "components", json_integer(info->components));
    json_object_set_new(json, "expansion_points", json_integer(info->expansion_points));
    cli_json_sparse(json, info->expansion_entries, info->expansion_points, info->columns);
    cli_json_head(json, model, info);
    json_object_set_new(json, "orthonormal", json_boolean(info->orthonormal));
    cli_json_selection(json, info);
    cli_json_alignment(json, info);
    cli_json_trace(json, info);
    cli_json_blocks(json, info);
    if (info->stream_blocks > 0)
        json_object_set_new(json, "unfinished", json_boolean(info->stream_unfinished));
    json_object_set_new(json, "spectrum", cli_json_reals(info->spectrum, info->components, 1));
    json_object_set_new(json, "share", cli_json_reals(info->spectrum, info->components, factor));
    json_object_set_new(json, "total_variance", cli_json_real(info->total_variance));
    json_object_set_new(json, "reconstruction_error", cli_json_real(info->reconstruction_error));
    json_object_set_new(json, "novelty_threshold", cli_json_real(info->novelty_threshold));
    json_object_set_new(json, "novelty_share", cli_json_share(info));
    json_object_set_new(json, "version", cli_json_text(info->version));
    json_object_set_new(json, "command", cli_json_text(info->command));
    json_object_set_new(json, "seed", json_integer((json_int_t)info->seed));
    json_object_set_new(json, "data_hash", cli_json_text(info->data_hash));
    return json;
}

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

static int run_info(cli_app *app)
{
    mercer_error err = {0};
    mercer_model *model = NULL;
    const char *path = app->set.operand[0];
    const mercer_status rc = mercer_model_load(app->ctx, path, &model, &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, path);
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    const double total = info.weight * info.total_variance;
    const double factor = total > 0 ? 1 / total : NAN;

    if (app->set.json) {
        cli_json_print(stdout, info_json(model, &info, factor));
        mercer_model_free(model);
        return CLI_DONE;
    }
    printf("Model %s\n\n", cli_visible(cli_shown(path)));
    cli_print_row(stdout, "method", "%s", info.method);
    cli_print_row(stdout, "kernel", "%s", info.kernel);
    cli_print_row(stdout, "centring", "%s", info.center);
    cli_print_preparation(stdout, &info);
    cli_print_row(stdout, "scaling", "%s", info.scale);
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
        cli_print_features(stdout, &info, factor);
    }
    mercer_model_free(model);
    return CLI_DONE;
}

static const cli_option options[] = {CLI_OPTION_JSON, CLI_OPTION_HELP, CLI_OPTION_END};

const cli_command cli_command_info = {
    .name = "info",
    .summary = "show what a model holds and how it was made",
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .options = options,
    .run = run_info,
};
