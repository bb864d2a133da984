/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer update: more rows into a model of a streaming method. */
#include "cli.h"

#include <string.h>
#include <unistd.h>

/* What became of the model, and what it cost. */
struct outcome {
    const mercer_model *model; /* of the feed's stream */
    int64_t blocks, evaluations;
};

static void print_report(FILE *out, const cli_app *app, const cli_stream_input *feed,
                         const struct outcome *o, double seconds)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_stream_info where = {.struct_size = sizeof where};
    mercer_model_get_info(o->model, &info);
    mercer_stream_get_info(feed->stream, &where);
    if (app->set.json) {
        char *text = NULL;
        json_t *json = json_object();
        json_t *known = cli_json_take(mercer_model_info_json(o->model, &text, NULL), &text);
        json_object_set_new(json, "model", cli_json_text(app->set.operand[0]));
        json_object_set_new(json, "data", cli_json_text(feed->path));
        json_object_set_new(json, "output", cli_json_text(feed->output));
        cli_json_move(known, "method", json);
        cli_json_move(known, "method_spec", json);
        cli_json_move(known, "rows", json);
        json_object_set_new(json, "rows_learnt", json_integer(feed->learnt));
        json_object_set_new(json, "rows_passed_over", json_integer(feed->read - feed->learnt));
        cli_json_move(known, "blocks", json);
        cli_json_move(known, "evaluations", json);
        cli_json_move(known, "evaluations_newest_block", json);
        json_object_set_new(json, "blocks_learnt", json_integer(o->blocks));
        json_object_set_new(json, "evaluations_learnt", json_integer(o->evaluations));
        cli_json_move(known, "components", json);
        cli_json_move(known, "expansion_points", json);
        cli_json_move(known, "spectrum", json);
        cli_json_move(known, "reconstruction_error", json);
        cli_json_move(known, "total_variance", json);
        json_decref(known);
        json_object_set_new(json, "lost", cli_json_real(where.lost));
        json_object_set_new(json, "outside", cli_json_real(where.outside));
        json_object_set_new(json, "checkpoints", json_integer(feed->checkpoints));
        json_object_set_new(json, "seconds", cli_json_real(seconds));
        json_object_set_new(json, "peak_memory_bytes", json_integer(cli_peak_memory()));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(out, json);
        return;
    }
    cli_print_notices(app);
    if (app->set.quiet)
        return;
    fprintf(out,
            "%s: %s row%s learnt in %s, %s in all; %lld components on %lld points, error %s; %s "
            "kernel values in %s block%s\n",
            strcmp(feed->output, "-") == 0 ? "standard output" : cli_visible(feed->output),
            cli_text_count(feed->learnt).text, feed->learnt == 1 ? "" : "s",
            cli_text_seconds(seconds).text, cli_text_count(info.rows).text,
            (long long)info.components, (long long)info.expansion_points,
            cli_text_number(info.reconstruction_error).text, cli_text_count(o->evaluations).text,
            cli_text_count(o->blocks).text, o->blocks == 1 ? "" : "s");
}

static int check_call(const cli_settings *set, const char *output)
{
    if (!set->output && strcmp(set->operand[0], "-") == 0)
        return cli_fail(CLI_WRONG_CALL, "update: standard input cannot be replaced; give -o FILE");
    if (set->checkpoint && cli_is_stdout(output))
        return cli_fail(CLI_WRONG_CALL, "update: --checkpoint needs a file to write; give -o FILE");
    if (set->resume && strcmp(set->operand[0], "-") == 0)
        return cli_fail(CLI_WRONG_CALL, "update: --resume needs a model in a file");
    int status = cli_check_output(output);
    if (status == CLI_DONE)
        status = cli_check_overwrite(output, set->operand[1], "data");
    if (status == CLI_DONE)
        status = cli_check_overwrite_options(output, set);
    if (status == CLI_DONE)
        status = cli_check_model_output("update", output);
    return status;
}

/* From the model at path to the end of the rows. *wrong: the file that an error is about. */
static mercer_status learn(cli_stream_input *feed, const char *path, bool resume,
                           const char **wrong, struct outcome *o)
{
    mercer_ctx *ctx = feed->app->ctx;
    mercer_model *model = NULL;
    mercer_stream_info before = {.struct_size = sizeof before}, after = before;
    *wrong = path;
    mercer_status rc = mercer_model_load(ctx, path, &model, &feed->err);
    if (rc == MERCER_OK)
        rc = mercer_stream_continue(ctx, model, &feed->stream, &feed->err);
    if (rc == MERCER_OK && resume)
        mercer_stream_resume_input(feed->stream);
    else if (rc == MERCER_OK) {
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model_get_info(model, &info);
        if (info.stream_unfinished)
            cli_notice(feed->app, "the last input of the model was not read to its end; --resume "
                                  "with that input would go on");
        rc = cli_stream_input_begin(feed);
    }
    if (rc == MERCER_OK) {
        mercer_read_options reading;
        mercer_stream_get_info(feed->stream, &before);
        *wrong = feed->path;
        cli_read_options(&feed->app->set, &reading);
        mercer_model_read_options(model, &reading);
        reading.skip_labels = 1;
        rc = cli_stream_input_run(feed, &reading);
    }
    if (rc == MERCER_OK)
        rc = mercer_stream_model(ctx, feed->stream, &o->model, NULL, &feed->err);
    if (rc == MERCER_OK) {
        mercer_stream_get_info(feed->stream, &after);
        o->blocks = after.blocks - before.blocks;
        o->evaluations = after.evaluations - before.evaluations;
    }
    mercer_model_free(model);
    return rc;
}

static int run_update(cli_app *app)
{
    const cli_settings *set = &app->set;
    const double start = cli_now();
    cli_stream_input feed = {.app = app, .path = set->operand[1], .err = {0}};
    feed.output = set->output ? set->output : set->operand[0];
    struct outcome o = {0};
    const char *wrong = NULL;
    int lock = -1, status = check_call(set, feed.output);
    if (status == CLI_DONE)
        status = cli_lock(app, feed.output, &lock);
    if (status != CLI_DONE)
        return status;

    /* What was begun goes on from what it had written, if it had. */
    const bool written = set->resume && access(feed.output, F_OK) == 0;
    mercer_status rc =
        learn(&feed, written ? feed.output : set->operand[0], set->resume, &wrong, &o);
    if (set->resume && cli_stream_input_start_over(&feed))
        rc = learn(&feed, set->operand[0], false, &wrong, &o);
    cli_progress_clear();
    if (rc == MERCER_OK)
        print_report(cli_is_stdout(feed.output) ? stderr : stdout, app, &feed, &o,
                     cli_now() - start);
    else
        status = cli_fail_library(rc, &feed.err, wrong);
    cli_stream_input_end(&feed);
    cli_unlock(lock);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION("output", 'o', CLI_TEXT, output, "MODEL2", NULL,
               "file for the updated model; without it MODEL is replaced, in one step"),
    CLI_OPTION_CHECKPOINT,
    CLI_OPTION("resume", 0, CLI_FLAG, resume, NULL, NULL,
               "go on where an update with the same DATA was interrupted: rows that it had learnt "
               "from are passed over"),
    CLI_OPTION_MODEL_ROWS,
    CLI_OPTION_MACHINE,
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_JSON,
    CLI_OPTION_LAST,
};

const cli_command cli_command_update = {
    .name = "update",
    .summary = "let a model of a streaming method learn from more rows",
    .operands = "MODEL DATA",
    .usage = "MODEL DATA [-o MODEL2] [--checkpoint ROWS] [--resume] [options]",
    .least = 2,
    .most = 2,
    .options = options,
    .details = "DATA may be '-', standard input, of any length: memory does not grow with it.\n"
               "Columns are matched by name when both the model and the data have names, else by\n"
               "position.\n\n"
               "Examples:\n"
               "  mercer fit monday.csv -m ikpca -o my.model\n"
               "  mercer update my.model tuesday.csv\n"
               "  sensor | mercer update my.model - --checkpoint 100000\n",
    .run = run_update,
};
