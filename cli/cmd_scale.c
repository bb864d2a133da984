/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer scale: scaling as a step of its own. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int run_scale(cli_app *app)
{
    const cli_settings *set = &app->set;
    const char *path = set->operand[0];
    const char *kind = set->fit.scale ? set->fit.scale : "standard";
    int status = cli_check_output(set->output);
    if (status == CLI_DONE)
        status = cli_check_overwrite_options(set->output, set);
    if (status != CLI_DONE)
        return status;

    mercer_error err = {0};
    mercer_table *table = NULL;
    cli_sink sink = {0};
    char **names = NULL;
    mercer_read_options reading;
    cli_read_options(set, &reading);
    const double start = cli_now();

    mercer_status rc = mercer_table_read(app->ctx, path, &reading, &table, &err);
    if (rc == MERCER_OK)
        rc = mercer_table_scale(app->ctx, table, kind, &err);
    if (rc != MERCER_OK)
        goto out;
    const mercer_rows *rows = mercer_table_rows(table);
    const mercer_targets *targets = mercer_table_targets(table);
    const cli_ids ids = {.table = table};
    const int64_t n = mercer_rows_count(rows), d = mercer_rows_columns(rows);
    /* A table without a header stays one, unless a label has to be told from the rest. */
    const bool labelled = targets && mercer_targets_kind(targets) != MERCER_TARGET_NONE;
    names = cli_names(rows, labelled || mercer_table_id_name(table) ? "x" : NULL, d);
    rc = cli_sink_open(&sink, app, set->output, set->output_format, d, (const char *const *)names,
                       targets, &ids, &err);
    if (rc == MERCER_OK)
        rc = cli_sink_table(&sink, app->ctx, rows, targets, &ids, &err);
    if (rc == MERCER_OK)
        rc = cli_sink_finish(&sink, app->ctx, &err);
    if (rc != MERCER_OK)
        goto out;

    const bool on_stdout = cli_is_stdout(set->output);
    if (set->json) {
        json_t *json = json_object();
        json_object_set_new(json, "data", cli_json_text(path));
        json_object_set_new(json, "output", cli_json_text(sink.path));
        json_object_set_new(json, "scale", cli_json_text(kind));
        json_object_set_new(json, "rows", json_integer(n));
        json_object_set_new(json, "columns", json_integer(d));
        json_object_set_new(json, "labels", cli_json_text(mercer_table_target_origin(table)));
        json_object_set_new(json, "seconds", cli_json_real(cli_now() - start));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(on_stdout ? stderr : stdout, json);
    } else {
        cli_print_notices(app);
        if (!on_stdout && !set->quiet)
            printf("%s: %s rows x %s columns, scaled: %s\n", cli_visible(sink.path),
                   cli_text_count(n).text, cli_text_count(d).text, kind);
    }
out:
    if (rc != MERCER_OK)
        status = cli_fail_reading(set, rc, &err, path);
    cli_sink_abort(&sink);
    if (names)
        cli_names_free(names, mercer_rows_columns(mercer_table_rows(table)));
    mercer_table_free(table);
    return status;
}

static const cli_option options[] = {
    CLI_FIT("scale", 0, "KIND",
            "columns: standard (mean 0, standard deviation 1; the default), robust (median 0, "
            "distance of the quartiles 1), minmax (0 to 1), norm (mean 0, length 1); rows: unit "
            "(length 1), rowstandard",
            NULL),
    CLI_OPTION_OUTPUT,
    CLI_OPTION_LABELS,
    CLI_OPTION_COLUMNS,
    CLI_OPTION_FORMAT,
    CLI_OPTION_RESIZE,
    CLI_OPTION_IMAGE_FEATURES,
    CLI_OPTION_ENCODE,
    CLI_OPTION_MISSING,
    CLI_OPTION_UNLABELLED,
    CLI_OPTION_OUTPUT_FORMAT,
    CLI_OPTION_MEMORY,
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_JSON,
    CLI_OPTION_LAST,
};

const cli_command cli_command_scale = {
    .name = "scale",
    .summary = "scale the columns or rows of a table",
    .operands = "DATA",
    .least = 1,
    .most = 1,
    .options = options,
    .details = "A label column comes out unchanged, in front. To keep the scaling in a model use\n"
               "'mercer fit --scale KIND' instead.\n\n"
               "Example:\n"
               "  mercer scale data.csv --scale minmax -o scaled.csv\n",
    .run = run_scale,
};
