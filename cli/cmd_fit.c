/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer fit: read a table, fit a model, say what came out, keep it. */
#include "evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything the report needs. */
typedef struct outcome {
    const mercer_model *model;
    mercer_model_info info;
    mercer_fit_report report;
    const char *origin;              /* where labels came from, or NULL */
    int64_t classes;                 /* number of classes, or 0 */
    int64_t columns;                 /* columns of the data */
    int64_t entries;                 /* of sparse data, or -1 */
    const mercer_evaluation *tuning; /* what --tune came to, or NULL */
    double seconds_read, seconds_write;
    double forecast; /* seconds that were expected; NaN: not known */
} outcome;

/* Share of the variance per unit of the spectrum; NaN when there is no variance. */
static double share_factor(const outcome *o)
{
    const double total = o->info.weight * o->info.total_variance;
    return total > 0 ? 1 / total : NAN;
}

static json_t *report_json(const cli_app *app, const outcome *o)
{
    char *text = NULL;
    json_t *json = cli_json_take(mercer_fit_report_json(o->model, &o->report, &text, NULL), &text);
    cli_json_insert(json, "rows", "data", cli_json_text(app->set.operand[0]));
    json_object_set_new(json, "columns", json_integer(o->columns)); /* as they were read */
    cli_json_insert(json, "encode", "entries",
                    o->entries >= 0 ? json_integer(o->entries) : json_null());
    cli_json_insert(json, "encode", "density",
                    o->entries >= 0
                        ? cli_json_real(cli_density(o->entries, o->info.rows, o->columns))
                        : json_null());
    cli_json_insert(json, "encode", "labels", cli_json_text(o->origin));
    if (o->tuning) {
        char *tuned = NULL, *command = cli_tuned_command(app, o->tuning, app->set.output);
        json_t *tuning = cli_json_take(mercer_evaluation_json(o->tuning, &tuned, NULL), &tuned);
        json_object_set(json, "metric", json_object_get(tuning, "metric"));
        cli_json_move(tuning, "grid", json);
        cli_json_move(tuning, "chosen", json);
        json_object_set_new(json, "command", cli_json_text(command));
        json_decref(tuning);
        free(command);
    }
    cli_json_insert(json, "seconds", "seed", json_integer((json_int_t)app->set.seed));
    cli_json_insert(json, "seconds", "threads", json_integer(mercer_ctx_threads(app->ctx)));
    cli_json_insert(json, "seconds", "model", cli_json_text(app->set.output));
    json_object_set_new(json, "forecast_seconds", cli_json_real(o->forecast));
    json_object_set_new(json, "seconds_read", cli_json_real(o->seconds_read));
    json_object_set_new(json, "seconds_write", cli_json_real(o->seconds_write));
    json_object_set_new(json, "peak_memory_bytes", json_integer(cli_peak_memory()));
    json_object_set_new(json, "notices", cli_json_notices(app));
    return json;
}

static void print_next(FILE *out, const cli_app *app, const outcome *o)
{
    const bool piped = strcmp(app->set.operand[0], "-") == 0;
    char *data = piped ? cli_copy("DATA") : cli_clean(cli_quote_path(app->set.operand[0]));
    char *words = cli_file_words(&app->set);
    char *file = cli_format("%s%s", words, cli_unlabelled_words(&app->set));
    free(words);
    fprintf(out, "\nNext:\n");
    if (!app->set.output) {
        fprintf(out, "  %s -o my.model\n", cli_visible(app->command_line));
    } else if (cli_is_stdout(app->set.output)) {
        fprintf(out, "  mercer transform MODEL %s%s -o features.csv\n", data, file);
    } else {
        char *model = cli_clean(cli_quote_path(app->set.output));
        fprintf(out, "  mercer transform %s %s%s -o features.csv\n", model, data, file);
        if (o->info.head)
            fprintf(out, "  mercer predict %s %s%s -o predictions.csv\n", model, data, file);
        const char *images = o->info.image_features;
        if (o->info.invertible)
            fprintf(out, "  mercer inverse %s features.csv -o %s\n", model,
                    images && strcmp(images, "pixels") == 0 ? "images/" : "rows.csv");
        fprintf(out, "  mercer info %s\n", model);
        free(model);
    }
    free(data);
    free(file);
}

static void print_summary(FILE *out, const cli_app *app, const outcome *o)
{
    const mercer_model_info *info = &o->info;
    const mercer_fit_report *report = &o->report;
    const double factor = share_factor(o);

    const int name = (int)strcspn(info->method, ":");
    if (o->tuning) {
        fprintf(out, "Tuned %.*s on %s\n", name, info->method,
                cli_visible(cli_shown(app->set.operand[0])));
        cli_print_tuning(out, o->tuning, NULL);
        fprintf(out, "\n");
    }
    fprintf(out, "Fitted %.*s to %s\n\n", name, info->method,
            cli_visible(cli_shown(app->set.operand[0])));
    char *sparse = cli_sparse_text(o->entries, info->rows, o->columns);
    cli_print_row(out, "data", "%s rows x %s column%s%s", cli_text_count(info->rows).text,
                  cli_text_count(o->columns).text, o->columns == 1 ? "" : "s", sparse);
    free(sparse);
    char *unused =
        info->head ? cli_copy("") : cli_format("; %.*s does not use them", name, info->method);
    if (o->origin && o->classes)
        cli_print_row(out, "labels", "%s (%lld classes)%s", o->origin, (long long)o->classes,
                      unused);
    else if (o->origin)
        cli_print_row(out, "targets", "%s%s", o->origin, unused);
    free(unused);
    cli_print_preparation(out, o->model, info);
    if (info->scale && strcmp(info->scale, "none") != 0)
        cli_print_row(out, "scaling", "%s", info->scale);
    if (info->map)
        cli_print_row(out, "map", "%s: %lld column%s for the kernel", info->map,
                      (long long)info->map_columns, info->map_columns == 1 ? "" : "s");
    cli_print_row(out, "method", "%s", info->method);
    cli_print_row(out, "kernel", "%s", info->kernel);
    cli_print_row(out, "centring", "%s", info->center);
    char share[64];
    snprintf(share, sizeof share,
             info->alignment ? "explain %g of the labels" : "capture %g of the variance",
             app->set.fit.components);
    if (app->set.fit.components > 0 && app->set.fit.components < 1 && info->spectrum)
        cli_print_row(out, "components", "%lld, which %s", (long long)info->components, share);
    else
        cli_print_row(out, "components", "%lld", (long long)info->components);
    cli_print_points(out, info);
    if (report->store[0])
        cli_print_row(out, "kernel matrix", "%s%s%s", report->store,
                      report->store_reason[0] ? ": " : "", report->store_reason);
    fprintf(out, "\n");
    if (info->spectrum && info->components) {
        cli_print_features(out, info, factor, app->set.fit.components == MERCER_COMPONENTS_BOUND);
        fprintf(out, "\n");
    }
    if (report->total_variance > 0 && isfinite(report->reconstruction_error))
        cli_print_row(out, "reconstruction error", "%.6g, mean per row (%.2f %% of the variance)",
                      report->reconstruction_error,
                      100 * report->reconstruction_error / report->total_variance);
    else
        cli_print_row(out, "reconstruction error", "%s",
                      cli_text_number(report->reconstruction_error).text);
    if (isfinite(report->projection_variance)) /* predictions do not have one */
        cli_print_row(out, "projection variance", "%.6g of %.6g", report->projection_variance,
                      report->total_variance);
    else if (info->spectrum) /* features of another length than the rows they are of */
        cli_print_row(out, "projection variance", "undefined");
    cli_print_trace(out, info);
    cli_print_blocks(out, info);
    cli_print_novelty(out, info);
    cli_print_head(out, info);
    const cli_text written = cli_text_seconds(o->seconds_write);
    cli_print_row(out, "time", "read %s, fit %s%s%s", cli_text_seconds(o->seconds_read).text,
                  cli_text_seconds(report->seconds).text, app->set.output ? ", write " : "",
                  app->set.output ? written.text : "");
    cli_print_row(out, "peak memory", "%s%s", cli_text_bytes((double)cli_peak_memory()).text,
                  mercer_ctx_ranks(app->ctx) > 1 ? ", of rank 0" : "");
    if (app->set.output && !cli_is_stdout(app->set.output))
        cli_print_row(out, "model", "%s", app->set.output);
    if (app->notice_count)
        fprintf(out, "\n");
    for (int64_t i = 0; i < app->notice_count; i++)
        cli_print_row(out, "note", "%s", app->notices[i]);
    print_next(out, app, o);
    cli_print_ranks(out, app);
}

static int check_call(const cli_settings *set)
{
    if (!set->fit.method) {
        char *names = cli_entry_names(mercer_method_at);
        const int status = cli_fail(
            CLI_WRONG_CALL, "fit: the method is missing; add -m kpca (there are %s)", names);
        free(names);
        return status;
    }
    int status = cli_check_spec("method", set->fit.method, mercer_method_at);
    /* A combination is looked into by the library. */
    if (status == CLI_DONE && set->fit.kernel && !strpbrk(set->fit.kernel, "+* "))
        status = cli_check_spec("kernel", set->fit.kernel, mercer_kernel_at);
    if (status == CLI_DONE && set->fit.head && strcmp(set->fit.head, "none") != 0)
        status = cli_check_spec("head", set->fit.head, mercer_head_at);
    int64_t folds = 0;
    int ordered = 0;
    if (status == CLI_DONE)
        status = cli_read_cv(set->cv, &folds, &ordered);
    if (status == CLI_DONE && folds == MERCER_LEAVE_ONE_OUT)
        status = cli_fail(CLI_WRONG_CALL, "fit: --cv loo: --tune takes a number of folds");
    if (status == CLI_DONE && ordered && set->groups)
        status = cli_fail(CLI_WRONG_CALL, "--groups and --cv time:K: give only one of them");
    if (status == CLI_DONE && set->tune.count == 0) {
        const char *const needing[] = {set->tune_rule ? "tune-rule" : NULL, set->cv ? "cv" : NULL,
                                       set->metric ? "metric" : NULL,
                                       set->positive ? "positive" : NULL,
                                       set->journal ? "journal" : NULL};
        for (size_t i = 0; i < sizeof needing / sizeof *needing && status == CLI_DONE; i++)
            if (needing[i])
                status = cli_fail(CLI_WRONG_CALL, "fit: --%s requires --tune", needing[i]);
    }
    if (status == CLI_DONE)
        status = cli_check_output(set->output);
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, set->operand[0], "data");
    if (status == CLI_DONE)
        status = cli_check_overwrite_options(set->output, set);
    if (status == CLI_DONE && set->output)
        status = cli_check_model_output("fit", set->output);
    if (status == CLI_DONE)
        status = cli_check_picture("fit", set->plot);
    if (status == CLI_DONE && set->plot)
        status = cli_check_overwrite(set->plot, set->operand[0], "data");
    if (status == CLI_DONE)
        status = cli_check_page("fit", set, set->report);
    return status;
}

/* More rows are read like the data: by the same columns, prepared alike. */
static void read_like(const cli_settings *set, const mercer_table *data, const char *path,
                      mercer_read_options *reading)
{
    cli_read_options(set, reading);
    mercer_table_read_options(data, reading);
    /* by their names */
    reading->use_columns = reading->drop_columns = reading->id = reading->groups = NULL;
    if (mercer_format_find(path, NULL))
        reading->format = NULL;
    reading->labels_file = NULL;
    cli_read_other(path, reading);
}

/* For a precomputed kernel landmarks are row numbers. */
static mercer_status read_landmarks(const cli_app *app, const mercer_table *data,
                                    mercer_table **out, mercer_error *err)
{
    const cli_settings *set = &app->set;
    mercer_read_options reading;
    const char *kernel = mercer_entry_name(mercer_kernel_find(set->fit.kernel));
    if (kernel && strcmp(kernel, "precomputed") == 0) {
        mercer_read_options_init(&reading);
        reading.header = set->header;
        cli_read_other(set->landmarks, &reading);
    } else {
        read_like(set, data, set->landmarks, &reading);
    }
    if (reading.only) { /* labels are among the columns that are skipped */
        reading.label = reading.target = NULL;
        reading.no_label = 1;
    }
    return mercer_table_read(app->ctx, set->landmarks, &reading, out, err);
}

static mercer_status read_validation(const cli_app *app, const mercer_table *data,
                                     mercer_table **out, mercer_error *err)
{
    mercer_read_options reading;
    read_like(&app->set, data, app->set.validation, &reading);
    return mercer_table_read(app->ctx, app->set.validation, &reading, out, err);
}

static void print_outcome(const cli_app *app, const outcome *o)
{
    const cli_settings *set = &app->set;
    FILE *out = set->output && cli_is_stdout(set->output) ? stderr : stdout;
    cli_progress_clear();
    if (set->json)
        cli_json_print(out, report_json(app, o));
    else if (!set->quiet)
        print_summary(out, app, o);
}

/* The picture of --plot and the page of --report; table: NULL when the rows went by. */
static mercer_status draw(cli_app *app, const mercer_model *model, const mercer_table *table,
                          mercer_error *err)
{
    const cli_settings *set = &app->set;
    chart_subject subject = {.ctx = app->ctx, .model = model};
    chart_data *data = NULL;
    mercer_status rc = MERCER_OK;
    const char *kind = set->plot ? cli_usual_kind(&subject) : NULL;
    if (table && (set->report || (set->plot && !kind)))
        rc = chart_data_new(app->ctx, model, table, NULL, &data, err);
    subject.data = data;
    if (rc == MERCER_OK && set->plot)
        rc = cli_draw(app, &subject, kind ? kind : "features", set->plot, err);
    if (rc == MERCER_OK && set->report)
        rc = cli_write_page(app, &subject, set->output, set->operand[0], set->report, NULL, err);
    chart_data_free(data);
    return rc;
}

/* Whether rows go to the method as they come, so that the table need not fit into memory. LIBSVM
 * text does not tell how many columns it has before its end. */
static bool learns_from_stream(const cli_settings *set)
{
    const char *format = mercer_entry_name(mercer_format_find(set->operand[0], set->format));
    if (set->fit.head || set->fit.novelty > 0 || set->tune.count > 0 || set->groups ||
        (format && strcmp(format, "libsvm") == 0))
        return false;
    return mercer_entry_streams(mercer_method_find(set->fit.method));
}

/* The command line without --resume: that of the fit which is resumed. Owned by the caller. */
static char *command_resumed(const cli_app *app)
{
    static const char word[] = " --resume";
    char *line = cli_copy(app->command_line), *at = line;
    const size_t length = sizeof word - 1;
    while ((at = strstr(at, word))) {
        if (at[length] == ' ' || !at[length])
            memmove(at, at + length, strlen(at + length) + 1);
        else
            at += length;
    }
    return line;
}

/* Go on from what an interrupted fit has written, if it has; else *model is NULL. */
static int open_interrupted(cli_app *app, const char *command, cli_stream_input *feed,
                            mercer_model **model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    const char *path = app->set.output;
    if (!path || cli_is_stdout(path))
        return cli_fail(CLI_WRONG_CALL, "fit: --resume needs the model's file; give -o MODEL");
    if (access(path, F_OK) != 0)
        return CLI_DONE;
    mercer_status rc = mercer_model_load(app->ctx, path, model, &feed->err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &feed->err, path);
    mercer_model_get_info(*model, &info);
    const bool ours = strcmp(info.command, command) == 0;
    if (!ours && info.stream_unfinished)
        return cli_fail(CLI_FAILED, "%s: was not begun by this command, but by '%s'", path,
                        info.command);
    if (!ours) { /* what another command has finished is replaced, as without --resume */
        mercer_model_free(*model);
        *model = NULL;
        return CLI_DONE;
    }
    rc = mercer_stream_continue(app->ctx, *model, &feed->stream, &feed->err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &feed->err, path);
    mercer_stream_resume_input(feed->stream);
    return CLI_DONE;
}

/* From where the model stands, or from nothing when it is NULL, to the end of the rows. */
static mercer_status learn(cli_stream_input *feed, const mercer_fit_options *options,
                           const mercer_model *model)
{
    mercer_read_options reading;
    mercer_status rc = MERCER_OK;
    cli_read_options(&feed->app->set, &reading);
    if (model)
        mercer_model_read_options(model, &reading);
    else
        rc = mercer_stream_new(feed->app->ctx, options, &feed->stream, &feed->err);
    return rc == MERCER_OK ? cli_stream_input_run(feed, &reading) : rc;
}

static int fit_stream(cli_app *app, mercer_fit_options *options)
{
    const cli_settings *set = &app->set;
    cli_stream_input feed = {
        .app = app, .path = set->operand[0], .output = set->output, .err = {0}};
    outcome o = {.report = {.struct_size = sizeof(mercer_fit_report)},
                 .info = {.struct_size = sizeof(mercer_model_info)}};
    char *command = command_resumed(app);
    mercer_model *model = NULL;
    mercer_status rc = MERCER_OK;
    int status = CLI_DONE;
    options->command = command;
    if (set->checkpoint && (!set->output || cli_is_stdout(set->output)))
        status = cli_fail(CLI_WRONG_CALL, "fit: --checkpoint needs a file to write; give -o MODEL");
    if (status == CLI_DONE && set->resume)
        status = open_interrupted(app, command, &feed, &model);
    if (status != CLI_DONE)
        goto out;
    rc = learn(&feed, options, model);
    if (model && cli_stream_input_start_over(&feed))
        rc = learn(&feed, options, NULL);
    if (rc == MERCER_OK)
        rc = mercer_stream_model(app->ctx, feed.stream, &o.model, &o.report, &feed.err);
    if (rc == MERCER_OK)
        rc = draw(app, o.model, NULL, &feed.err);
    if (rc != MERCER_OK) {
        status = cli_fail_reading(set, rc, &feed.err, feed.path);
        goto out;
    }
    mercer_model_get_info(o.model, &o.info);
    o.report.seconds = feed.seconds;
    o.forecast = NAN;
    o.seconds_read = feed.seconds_read;
    o.seconds_write = feed.seconds_write;
    o.origin = feed.origin;
    o.classes = feed.classes;
    o.columns = feed.columns;
    o.entries = feed.sparse ? feed.entries : -1;
    print_outcome(app, &o);
out:
    cli_stream_input_end(&feed);
    mercer_model_free(model);
    free(command);
    return status;
}

/* Choose what --tune leaves open, on all rows, and put it into the options. *command: how the model
 * came to be, with the choice as a comment; owned by the caller, as the evaluation is. */
static mercer_status tune(cli_app *app, const mercer_table *table, mercer_fit_options *options,
                          mercer_evaluation **out, char **command, mercer_error *err)
{
    const cli_settings *set = &app->set;
    mercer_evaluate_options how;
    mercer_tuning tuning = {.struct_size = sizeof tuning};
    int64_t *groups = NULL;
    mercer_evaluate_options_init(&how);
    how.fit = options;
    how.tune = set->tune.item;
    how.tune_count = set->tune.count;
    how.tune_rule = set->tune_rule;
    how.metric = set->metric;
    how.positive = set->positive;
    how.journal = set->journal;
    cli_journal_note(set);
    (void)cli_read_cv(set->cv, &how.inner_folds, &how.ordered); /* check_call() has seen it */
    mercer_status rc = cli_read_groups(set, table, &groups, err);
    how.groups = groups;
    if (rc == MERCER_OK)
        rc = mercer_tune(app->ctx, &how, mercer_table_rows(table), mercer_table_targets(table), out,
                         err);
    free(groups);
    if (rc != MERCER_OK)
        return rc;
    mercer_evaluation_get_tuning(*out, &tuning);
    options->method = tuning.method;
    options->kernel = tuning.kernel;
    options->head = tuning.head;
    options->components = tuning.components;
    char *chosen = cli_tuned_settings(*out);
    *command = cli_format("%s  # chose %s, %s of %lld", app->command_line, chosen,
                          strcmp(tuning.rule, "best") == 0 ? "the best" : "the simplest good one",
                          (long long)tuning.cells);
    free(chosen);
    options->command = *command;
    mercer_ctx_set_seed(app->ctx, set->seed); /* as without a choice */
    return MERCER_OK;
}

/* Whether the rows are spread over ranks; those that --tune judges by are all on each. */
static bool spreads_rows(const cli_app *app)
{
    return mercer_ctx_ranks(app->ctx) > 1 && app->set.tune.count == 0;
}

/* What needs rows that are on other ranks. */
static int check_spread(const cli_settings *set)
{
    if (set->report)
        return cli_fail(CLI_WRONG_CALL,
                        "fit: --report shows rows, which are spread over ranks: leave "
                        "it out, or run on one, without the launcher");
    if (set->checkpoint || set->resume)
        return cli_fail(CLI_WRONG_CALL,
                        "fit: --checkpoint and --resume: a stream of rows cannot be "
                        "spread over ranks; run on one, without the launcher");
    return CLI_DONE;
}

/* Sum the entries over all ranks. */
static mercer_status count_entries(cli_app *app, int64_t *entries, mercer_error *err)
{
    const int64_t own = *entries;
    mercer_status rc = MERCER_OK;
    *entries = 0;
    for (int r = 0; r < mercer_ctx_ranks(app->ctx) && rc == MERCER_OK; r++) {
        int64_t theirs = own;
        rc = mercer_ctx_broadcast(app->ctx, &theirs, sizeof theirs, r, err);
        *entries += theirs;
    }
    return rc;
}

static int run_fit(cli_app *app)
{
    const cli_settings *set = &app->set;
    const char *path = set->operand[0];
    const bool spread = spreads_rows(app);
    int status = check_call(set);
    if (status == CLI_DONE && spread)
        status = check_spread(set);
    if (status != CLI_DONE)
        return status;

    mercer_error err = {0};
    mercer_table *table = NULL, *landmarks = NULL, *validation = NULL;
    mercer_model *model = NULL;
    mercer_evaluation *tuning = NULL;
    int64_t *groups = NULL;
    char *command = NULL;
    outcome o = {.report = {.struct_size = sizeof(mercer_fit_report)},
                 .info = {.struct_size = sizeof(mercer_model_info)}};
    mercer_read_options reading;
    cli_read_options(set, &reading);
    mercer_fit_options options = set->fit;
    options.command = app->command_line;

    /* A typing error must not wait until a large file has been read. */
    mercer_status rc =
        mercer_fit_options_check(&options,
                                 (set->landmarks ? MERCER_EXPECT_LANDMARKS : 0u) |
                                     (set->validation ? MERCER_EXPECT_VALIDATION : 0u) |
                                     (spread ? MERCER_EXPECT_SPREAD : 0u),
                                 &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, path);
    const bool stream = learns_from_stream(set);
    if (!stream && (set->checkpoint || set->resume))
        return cli_fail(CLI_WRONG_CALL,
                        "fit: --checkpoint and --resume are for methods that learn from a stream "
                        "(ikpca), without --head and --novelty");
    int lock = -1;
    const bool writes = mercer_ctx_rank(app->ctx) == 0;
    status = writes ? cli_lock(app, set->output, &lock) : CLI_DONE;
    if (status != CLI_DONE)
        return status;
    if (stream) {
        status = fit_stream(app, &options);
        cli_unlock(lock);
        return status;
    }
    status = cli_spool(app);
    double start = cli_now();
    if (status != CLI_DONE)
        goto out;
    rc = spread ? mercer_table_read_part(app->ctx, path, &reading, &table, &err)
                : mercer_table_read(app->ctx, path, &reading, &table, &err);
    if (rc != MERCER_OK)
        goto out;
    if (set->landmarks) {
        path = set->landmarks;
        rc = read_landmarks(app, table, &landmarks, &err);
        if (rc != MERCER_OK)
            goto out;
        path = set->operand[0];
        options.landmarks = mercer_table_rows(landmarks);
    }
    if (set->validation) {
        path = set->validation;
        rc = read_validation(app, table, &validation, &err);
        if (rc != MERCER_OK)
            goto out;
        path = set->operand[0];
        options.validation = mercer_table_rows(validation);
        options.validation_targets = mercer_table_targets(validation);
    }
    o.seconds_read = cli_now() - start;
    const mercer_rows *rows = mercer_table_rows(table);
    const mercer_targets *targets = mercer_table_targets(table);
    o.columns = mercer_rows_columns(rows);
    o.entries = mercer_rows_is_sparse(rows) ? mercer_rows_entries(rows) : -1;
    o.origin = mercer_table_target_origin(table);
    if (!spread && targets && mercer_targets_kind(targets) == MERCER_TARGET_CLASSES)
        o.classes = mercer_targets_classes(targets);

    if (options.novelty > 0 || options.intervals || options.map) {
        rc = cli_read_groups(set, table, &groups, &err);
        if (rc != MERCER_OK)
            goto out;
        options.groups = groups;
    }
    if (set->tune.count > 0) {
        rc = tune(app, table, &options, &tuning, &command, &err);
        if (rc != MERCER_OK)
            goto out;
        o.tuning = tuning;
    }
    if (!writes && !spread)
        goto out; /* the choice is what ranks share: rank 0 fits it */
    o.forecast = NAN;
    if (!spread)
        status = cli_forecast_fit(app, &options, rows, targets, &o.forecast);
    if (status != CLI_DONE)
        goto out;
    rc = mercer_fit(app->ctx, &options, rows, targets, &model, &o.report, &err);
    if (rc == MERCER_OK && spread && o.entries >= 0) /* on all ranks: the fit has compared them */
        rc = count_entries(app, &o.entries, &err);
    if (rc != MERCER_OK || !writes)
        goto out; /* all ranks have the model, and rank 0 writes it */
    o.model = model;
    mercer_model_get_info(model, &o.info);
    if (spread && o.info.head && o.info.head_kind == MERCER_TARGET_CLASSES)
        o.classes = o.info.head_outputs; /* of all ranks */
    if (set->output) {
        start = cli_now();
        rc = mercer_model_save(app->ctx, model, set->output, &err);
        if (rc != MERCER_OK)
            goto out;
        o.seconds_write = cli_now() - start;
        cli_interrupt_note("the model was written");
    }
    rc = draw(app, model, table, &err);
    if (rc != MERCER_OK)
        goto out;
    print_outcome(app, &o);
    status = cli_journal_end(app, status);
out:
    if (rc != MERCER_OK)
        status = cli_fail_reading(set, rc, &err, path);
    mercer_model_free(model);
    mercer_evaluation_free(tuning);
    free(groups);
    free(command);
    mercer_table_free(table);
    mercer_table_free(landmarks);
    mercer_table_free(validation);
    cli_unlock(lock);
    return status;
}

static void print_lists(void)
{
    char *methods = cli_entry_names(mercer_method_at);
    char *kernels = cli_entry_names(mercer_kernel_at);
    char *heads = cli_entry_names(mercer_head_at);
    char *text = cli_format("Methods: %s. Kernels: %s. Heads: %s. Their keys: mercer methods NAME, "
                            "mercer kernels NAME, mercer heads NAME.",
                            methods, kernels, heads);
    cli_print_wrapped(stdout, text, 0, cli_terminal_width());
    free(text);
    free(methods);
    free(kernels);
    free(heads);
}

/* What --tune tries is an evaluation, and the fit itself is one rank's; else rows are spread, as
 * far as the library lets them be. */
static bool is_spread(const cli_settings *set)
{
    (void)set;
    return true;
}

static const cli_option options[] = {
    CLI_FIT("method", 'm', "METHOD", NULL, NULL),
    CLI_FIT("kernel", 'k', "KERNEL", NULL, NULL),
    CLI_FIT("components", 'n', "N", NULL, NULL),
    CLI_OPTION("output", 'o', CLI_TEXT, output, "MODEL", NULL,
               "keep the model in this file; without it only the summary is printed"),
    CLI_OPTION_PLOT(
        "the variance of the components, or what else there is of the model; its features, "
        "where there is nothing else"),
    CLI_OPTION_REPORT,
    CLI_FIT("center", 0, "HOW", NULL, NULL),
    CLI_FIT("scale", 0, "KIND", NULL, NULL),
    CLI_FIT_FILE(landmarks),
    CLI_FIT_FILE(validation),
    CLI_FIT(
        "novelty", 0, "SHARE", NULL,
        "; 'transform --errors' then marks novel rows. Costs a second fit, to 80 % of the rows"),
    CLI_FIT("head", 0, "HEAD", NULL, NULL),
    CLI_OPTION_TUNE("values to choose from by cross-validation of all rows, before the fit"),
    CLI_OPTION_TUNE_RULE,
    CLI_OPTION("cv", 0, CLI_TEXT, cv, "K|time:K", NULL,
               "with --tune: number of folds; time:K: rows are in the order of time, and each fold "
               "is learnt for from earlier rows only; default 5"),
    CLI_OPTION_JOURNAL("with --tune: every trial"),
    CLI_OPTION_METRIC,
    CLI_OPTION_POSITIVE("auc and ap"),
    CLI_OPTION_GROUPS,
    CLI_OPTION_CHECKPOINT,
    CLI_OPTION("resume", 0, CLI_FLAG, resume, NULL, NULL,
               "go on where the same fit was interrupted, from the model it had written; rows that "
               "it had learnt from are passed over"),
    CLI_FIT("scale_target", 0, "KIND", NULL, NULL),
    CLI_OPTION_LABELS,
    CLI_OPTION_COLUMNS,
    CLI_OPTION_FORMAT,
    CLI_OPTION_RESIZE,
    CLI_OPTION_IMAGE_FEATURES,
    CLI_OPTION_ENCODE,
    CLI_OPTION_MISSING,
    CLI_OPTION_UNLABELLED,
    CLI_FIT("store", 0, "S", NULL, ", which picks by --memory"),
    CLI_FIT("precision", 0, "P", NULL, NULL),
    CLI_FIT("tolerance", 0, "T", NULL, NULL),
    CLI_FIT_OTHERS(MERCER_CALL_FIT),
    CLI_OPTION_MACHINE,
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_TIME,
    CLI_OPTION_SEED,
    CLI_OPTION_JSON,
    CLI_OPTION_LAST,
};

const cli_command cli_command_fit = {
    .name = "fit",
    .summary = "learn features from a table and keep them as a model",
    .operands = "DATA",
    .usage = "DATA -m METHOD[:key=value,...] [-k KERNEL[:key=value,...]]\n"
             "                  [-n N] [-o MODEL] [options]",
    .least = 1,
    .most = 1,
    .options = options,
    .print_extra = print_lists,
    .details = "Examples:\n"
               "  mercer fit data.csv -m kpca\n"
               "  mercer fit data.csv -m kpca -k rbf:sigma=4 -n 10 -o my.model\n"
               "  mercer fit data.csv -m kpca -n 0.95 --scale standard --label species --json\n"
               "  mercer fit data.csv -m kpca --label species --head ls -o my.model\n"
               "  mercer generate circle | mercer fit - -m kpca -k rbf:sigma=4\n",
    .is_spread = is_spread,
    .run = run_fit,
};
