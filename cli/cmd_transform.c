/* mercer transform: features of new rows, block by block in bounded memory. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A model whose own columns are called label or target wants them as data. */
static bool model_has_column(const mercer_model *model, int64_t columns, const char *name)
{
    for (int64_t j = 0; j < columns; j++) {
        const char *known = mercer_model_column_name(model, j);
        if (known && strcmp(known, name) == 0)
            return true;
    }
    return false;
}

static void note_skipped(cli_app *app, const mercer_reader *reader)
{
    const char *first;
    const int64_t skipped = mercer_reader_skipped(reader, &first);
    if (skipped == 0)
        return;
    char *text = skipped == 1
                     ? cli_format("%s: column '%s' is not used by the model",
                                  cli_shown(app->set.operand[1]), first)
                     : cli_format("%s: %lld columns are not used by the model, the first is '%s'",
                                  cli_shown(app->set.operand[1]), (long long)skipped, first);
    cli_notice(app, text);
    free(text);
}

/* k(x,x) of the rows, from --self: one number a row. */
static mercer_status read_self(cli_app *app, double **self, int64_t *count, mercer_error *err)
{
    mercer_read_options reading;
    mercer_read_options_init(&reading);
    reading.no_label = 1;
    mercer_table *table = NULL;
    const mercer_status rc = mercer_table_read(app->ctx, app->set.self, &reading, &table, err);
    if (rc != MERCER_OK)
        return rc;
    const mercer_rows *rows = mercer_table_rows(table);
    const int64_t columns = mercer_rows_columns(rows);
    if (columns != 1) {
        err->code = MERCER_ERR_DATA;
        snprintf(err->text, sizeof err->text,
                 "%s: has %lld columns; expected one, k(x,x) of each row", app->set.self,
                 (long long)columns);
        mercer_table_free(table);
        return MERCER_ERR_DATA;
    }
    *count = mercer_rows_count(rows);
    *self = cli_alloc((size_t)*count, sizeof **self);
    mercer_rows_copy(rows, 0, *count, *self);
    mercer_table_free(table);
    return MERCER_OK;
}

/* Put the errors behind the features of their rows and, when the model has a threshold (width is
 * l + 2), 1 behind those above it and 0 behind the others. Returns how many are above. */
static int64_t append_errors(double *out, const double *features, const double *errors,
                             int64_t count, int64_t l, int64_t width, double threshold)
{
    int64_t novel = 0;
    for (int64_t i = 0; i < count; i++) {
        double *row = out + i * width;
        memcpy(row, features + i * l, (size_t)l * sizeof *out);
        row[l] = errors[i];
        if (width == l + 2)
            row[l + 1] = errors[i] > threshold;
        novel += errors[i] > threshold; /* never with a threshold of NaN */
    }
    return novel;
}

static int run_transform(cli_app *app)
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
    if (set->self && !set->errors)
        return cli_fail(CLI_WRONG_CALL, "transform: --self is for --errors; add --errors");

    mercer_error err = {MERCER_OK, ""};
    mercer_model *model = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_reader *reader = NULL;
    mercer_table *block = NULL;
    cli_sink sink = {0};
    double *features = NULL, *errors = NULL, *joined = NULL, *self = NULL;
    int64_t self_count = 0, done = 0, novel = 0;
    double error_sum = 0;
    int64_t width = 0;
    char **names = NULL;
    const char **wanted_names = NULL;
    const bool live = cli_is_live(path);
    const bool talking =
        live && cli_is_stdout(set->output); /* a bar would stand between the rows */
    const double start = cli_now();

    mercer_status rc = mercer_model_load(app->ctx, set->operand[0], &model, &err);
    if (rc != MERCER_OK)
        goto out;
    mercer_model_get_info(model, &info);
    const bool judged = set->errors && info.novelty_share > 0;
    const int64_t l = info.components;
    width = l + set->errors + judged;
    names = cli_names_numbered("f", l, set->errors + judged);
    if (set->errors && !set->self && strncmp(info.kernel, "precomputed", 11) == 0) {
        status =
            cli_fail(CLI_WRONG_CALL, "transform: errors with a precomputed kernel need k(x,x) of "
                                     "each row; add --self FILE");
        goto out;
    }
    if (set->self && (rc = read_self(app, &self, &self_count, &err)) != MERCER_OK)
        goto out;

    mercer_read_options reading;
    cli_read_options(set, &reading);
    if (!set->label && !set->target && !set->labels &&
        (model_has_column(model, info.columns, "label") ||
         model_has_column(model, info.columns, "target")))
        reading.no_label = 1;
    if (mercer_model_column_name(model, 0) && strncmp(info.kernel, "precomputed", 11) != 0) {
        wanted_names = cli_alloc((size_t)info.columns, sizeof *wanted_names);
        for (int64_t j = 0; j < info.columns; j++)
            wanted_names[j] = mercer_model_column_name(model, j);
        reading.only = wanted_names;
        reading.only_count = info.columns;
    }
    rc = mercer_reader_open(app->ctx, path, &reading, &reader, &err);
    if (rc != MERCER_OK)
        goto out;
    mercer_ctx_set_progress(app->ctx, NULL, NULL); /* the rows are the progress */

    const int64_t room = cli_block_rows(info.columns + l, INT64_MAX);
    int64_t wanted = cli_block_rows(info.columns + l, 0);
    for (;;) {
        rc = mercer_reader_next(app->ctx, reader, wanted, &block, &err);
        if (rc != MERCER_OK || !block)
            break;
        const mercer_rows *rows = mercer_table_rows(block);
        const mercer_targets *targets = mercer_table_targets(block);
        const int64_t count = mercer_rows_count(rows);
        if (!sink.writer) {
            if (set->keep_label &&
                (!targets || mercer_targets_kind(targets) == MERCER_TARGET_NONE)) {
                status = cli_fail(CLI_FAILED,
                                  "%s: has no label column to keep; name it with --label COL",
                                  cli_shown(path));
                goto out;
            }
            note_skipped(app, reader);
            features = cli_alloc((size_t)room, (size_t)l * 8);
            if (set->errors) {
                errors = cli_alloc((size_t)room, 8);
                joined = cli_alloc((size_t)room, (size_t)width * 8);
            }
        }
        if (self && done + count > self_count) {
            status = cli_fail(CLI_FAILED, "%s: has only %lld rows, %s has more", set->self,
                              (long long)self_count, cli_shown(path));
            goto out;
        }
        rc = mercer_model_transform(app->ctx, model, rows, self ? self + done : NULL, features,
                                    errors, &err);
        if (rc == MERCER_ERR_DATA && done > 0) { /* the library knows only this block's rows */
            const size_t used = strlen(err.text);
            snprintf(err.text + used, sizeof err.text - used, ", counted after the first %lld rows",
                     (long long)done);
        }
        if (rc != MERCER_OK)
            break;
        for (int64_t i = 0; errors && i < count; i++)
            error_sum += errors[i];
        if (errors)
            novel +=
                append_errors(joined, features, errors, count, l, width, info.novelty_threshold);
        const mercer_targets *kept = set->keep_label ? targets : NULL;
        /* Opened only now: a call that cannot work leaves nothing behind, not even a header. */
        if (!sink.writer)
            rc = cli_sink_open(&sink, app->ctx, set->output, set->output_format, width,
                               (const char *const *)names, kept, &err);
        if (rc == MERCER_OK)
            rc = cli_sink_rows(&sink, app->ctx, errors ? joined : features, count, kept, &err);
        if (rc == MERCER_OK && live)
            rc = cli_sink_flush(&sink, &err);
        if (rc != MERCER_OK)
            break;
        done += count;
        wanted = cli_block_rows(mercer_rows_columns(rows) + l, room);
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
    if (self && done < self_count) {
        status = cli_fail(CLI_FAILED, "%s: has %lld rows, but %s only %lld", set->self,
                          (long long)self_count, cli_shown(path), (long long)done);
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
        json_object_set_new(json, "components", json_integer(l));
        json_object_set_new(json, "reconstruction_error",
                            cli_json_real(set->errors ? error_sum / (double)done : NAN));
        json_object_set_new(json, "novel", judged ? json_integer(novel) : json_null());
        json_object_set_new(json, "seconds", cli_json_real(seconds));
        json_object_set_new(json, "peak_memory_bytes", json_integer(cli_peak_memory()));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(on_stdout ? stderr : stdout, json);
    } else {
        cli_print_notices(app);
        char note[64] = "";
        if (judged)
            snprintf(note, sizeof note, "; %s novel", cli_text_count(novel).text);
        if (!on_stdout && !set->quiet)
            printf("%s: %s rows x %lld features in %s%s\n", sink.path, cli_text_count(done).text,
                   (long long)l, cli_text_seconds(seconds).text, note);
    }
out:
    if (rc != MERCER_OK)
        status = cli_fail_reading(set, rc, &err, path);
    cli_sink_abort(&sink);
    mercer_table_free(block);
    mercer_reader_close(reader);
    cli_names_free(names, width);
    free(wanted_names);
    mercer_model_free(model);
    free(features);
    free(errors);
    free(joined);
    free(self);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION_OUTPUT,
    CLI_OPTION("errors", 0, CLI_FLAG, errors, NULL, NULL,
               "add a column 'error': the squared reconstruction error of the row; and a column "
               "'novel', 0 or 1, when the model was fitted with --novelty"),
    CLI_OPTION("keep-label", 0, CLI_FLAG, keep_label, NULL, NULL,
               "put the label column (or the target columns) in front"),
    CLI_OPTION("self", 0, CLI_TEXT, self, "FILE", NULL,
               "k(x,x) of each row, one a line; for --errors with a precomputed kernel"),
    CLI_OPTION_LABELS,
    CLI_OPTION_FORMAT,
    CLI_OPTION_RESIZE,
    CLI_OPTION_OUTPUT_FORMAT,
    CLI_OPTION_MACHINE,
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

const cli_command cli_command_transform = {
    .name = "transform",
    .summary = "compute the features f1, f2, ... of the rows of a table",
    .operands = "MODEL DATA",
    .least = 2,
    .most = 2,
    .options = options,
    .details = "Columns are matched by name when both the model and the data have names, else by "
               "position.\n"
               "DATA may be '-', standard input; from a pipe every row is answered as it comes.\n\n"
               "Examples:\n"
               "  mercer transform my.model new.csv -o features.csv\n"
               "  mercer transform my.model new.csv --errors --keep-label | head\n",
    .run = run_transform,
};
