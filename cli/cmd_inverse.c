/* mercer inverse: rows whose features are near the given ones (pre-images), block by block. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char **model_names(const mercer_model *model, int64_t columns, bool with_error)
{
    char **names = cli_names_numbered("x", columns, with_error);
    for (int64_t j = 0; j < columns; j++) {
        const char *name = mercer_model_column_name(model, j);
        if (name) {
            free(names[j]);
            names[j] = cli_copy(name);
        }
    }
    return names;
}

static int run_inverse(cli_app *app)
{
    const cli_settings *set = &app->set;
    const char *path = set->operand[1];
    int status = cli_check_output(set->output);
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, set->operand[0], "model");
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, path, "data");
    if (status != CLI_DONE)
        return status;

    mercer_error err = {MERCER_OK, ""};
    mercer_model *model = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_reader *reader = NULL;
    mercer_table *block = NULL;
    cli_sink sink = {0};
    double *features = NULL, *rows_out = NULL, *errors = NULL, *joined = NULL;
    int64_t done = 0;
    double error_sum = 0;
    char **names = NULL, **feature_names = NULL;
    const bool live = cli_is_live(path);
    const bool talking =
        live && cli_is_stdout(set->output); /* a bar would stand between the rows */
    const double start = cli_now();

    mercer_status rc = mercer_model_load(app->ctx, set->operand[0], &model, &err);
    if (rc != MERCER_OK)
        goto out;
    mercer_model_get_info(model, &info);
    const int64_t l = info.components, d = info.columns, width = d + (set->errors ? 1 : 0);
    names = model_names(model, d, set->errors);

    mercer_read_options reading;
    cli_read_options(set, &reading);
    feature_names = cli_names_numbered("f", l, 0);
    reading.only = (const char *const *)feature_names;
    reading.only_count = l;
    rc = mercer_reader_open(app->ctx, path, &reading, &reader, &err);
    if (rc != MERCER_OK)
        goto out;
    mercer_ctx_set_progress(app->ctx, NULL, NULL); /* the rows are the progress */

    const int64_t room = cli_block_rows(2 * l + d, INT64_MAX);
    int64_t wanted = cli_block_rows(2 * l + d, 0);
    for (;;) {
        rc = mercer_reader_next(app->ctx, reader, wanted, &block, &err);
        if (rc != MERCER_OK || !block)
            break;
        const mercer_rows *rows = mercer_table_rows(block);
        const int64_t count = mercer_rows_count(rows), columns = mercer_rows_columns(rows);
        if (!sink.writer) {
            if (columns != l) { /* only without names: else just f1, f2, ... were read */
                status = cli_fail(CLI_FAILED,
                                  "%s: has %lld columns; expected f1 to f%lld, the model's "
                                  "features",
                                  cli_shown(path), (long long)columns, (long long)l);
                goto out;
            }
            features = cli_alloc((size_t)room, (size_t)l * 8);
            rows_out = cli_alloc((size_t)room, (size_t)d * 8);
            if (set->errors) {
                errors = cli_alloc((size_t)room, 8);
                joined = cli_alloc((size_t)room, (size_t)width * 8);
            }
        }
        mercer_rows_copy(rows, 0, count, features);
        rc = mercer_model_inverse(app->ctx, model, features, count, rows_out, errors, &err);
        if (rc != MERCER_OK)
            break;
        for (int64_t i = 0; errors && i < count; i++) {
            error_sum += errors[i];
            memcpy(joined + i * width, rows_out + i * d, (size_t)d * 8);
            joined[i * width + d] = errors[i];
        }
        if (!sink.writer)
            rc = cli_sink_open(&sink, app->ctx, set->output, set->output_format, width,
                               (const char *const *)names, NULL, &err);
        if (rc == MERCER_OK)
            rc = cli_sink_rows(&sink, app->ctx, errors ? joined : rows_out, count, NULL, &err);
        if (rc == MERCER_OK && live)
            rc = cli_sink_flush(&sink, &err);
        if (rc != MERCER_OK)
            break;
        done += count;
        wanted = cli_block_rows(2 * columns + l + d, room);
        mercer_table_free(block);
        block = NULL;
        char phase[48];
        snprintf(phase, sizeof phase, "%s rows", cli_text_count(done).text);
        if (!talking)
            cli_progress(NULL, phase, -1);
    }
    if (rc != MERCER_OK)
        goto out;
    if (!sink.writer) {
        status = cli_fail(CLI_FAILED, "%s: has no rows", cli_shown(path));
        goto out;
    }
    rc = cli_sink_finish(&sink, app->ctx, &err);
    if (rc != MERCER_OK)
        goto out;

    const bool on_stdout = cli_is_stdout(set->output);
    const double seconds = cli_now() - start;
    cli_progress_clear();
    if (set->json) {
        json_t *json = json_object();
        json_object_set_new(json, "model", cli_json_text(set->operand[0]));
        json_object_set_new(json, "data", cli_json_text(path));
        json_object_set_new(json, "output", cli_json_text(sink.path));
        json_object_set_new(json, "rows", json_integer(done));
        json_object_set_new(json, "columns", json_integer(d));
        json_object_set_new(json, "preimage_error",
                            cli_json_real(set->errors ? error_sum / (double)done : NAN));
        json_object_set_new(json, "seconds", cli_json_real(seconds));
        json_object_set_new(json, "peak_memory_bytes", json_integer(cli_peak_memory()));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(on_stdout ? stderr : stdout, json);
    } else {
        cli_print_notices(app);
        if (!on_stdout && !set->quiet)
            printf("%s: %s rows x %lld columns in %s\n", sink.path, cli_text_count(done).text,
                   (long long)d, cli_text_seconds(seconds).text);
    }
out:
    if (rc != MERCER_OK)
        status = cli_fail_reading(set, rc, &err, path);
    cli_sink_abort(&sink);
    mercer_table_free(block);
    mercer_reader_close(reader);
    cli_names_free(names, names ? info.columns + (set->errors ? 1 : 0) : 0);
    cli_names_free(feature_names, feature_names ? info.components : 0);
    mercer_model_free(model);
    free(features);
    free(rows_out);
    free(errors);
    free(joined);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION_OUTPUT,
    CLI_OPTION("errors", 0, CLI_FLAG, errors, NULL, NULL,
               "add a column 'error': the squared distance in feature space between what was asked "
               "for and what was found"),
    CLI_OPTION_FORMAT,
    CLI_OPTION_OUTPUT_FORMAT,
    CLI_OPTION_MACHINE,
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

const cli_command cli_command_inverse = {
    .name = "inverse",
    .summary = "find the rows that belong to given features (pre-images)",
    .operands = "MODEL FEATURES",
    .least = 2,
    .most = 2,
    .options = options,
    .details = "FEATURES is what 'mercer transform' writes: columns f1, f2, ...; other columns are "
               "ignored.\n"
               "Features of noisy rows lead back to rows without much of the noise.\n\n"
               "Example:\n"
               "  mercer transform my.model noisy.csv | mercer inverse my.model - -o clean.csv\n",
    .run = run_inverse,
};
