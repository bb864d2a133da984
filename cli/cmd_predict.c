/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer predict: classes or target values of new rows by the model's head, block by block in
 * bounded memory. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where predictions go between the library and the table. */
typedef struct answers {
    int64_t *codes;     /* of the rows at hand; NULL for values; owned */
    const char **names; /* of all classes; owned, its texts borrowed from the model */
    double *half;       /* of the widths of intervals, one per target; NULL: none; owned */
    double *predicted;  /* then the predictions of the rows at hand; owned */
} answers;

/* Names of the columns after 'prediction', or instead of it, and with intervals the lower and upper
 * end of each; owned by the caller. */
static char **column_names(const mercer_model *model, const mercer_model_info *info, bool intervals)
{
    const int64_t outputs = info->head_outputs;
    char **names = cli_alloc((size_t)(intervals ? 3 * outputs : outputs), sizeof *names);
    for (int64_t k = 0; k < outputs; k++) {
        const char *name = mercer_model_output_name(model, k);
        if (info->head_kind == MERCER_TARGET_CLASSES)
            names[k] = cli_format("score_%s", name);
        else if (outputs == 1)
            names[k] = cli_copy("prediction");
        else if (name)
            names[k] = cli_format("prediction_%s", name);
        else
            names[k] = cli_format("prediction_%lld", (long long)k + 1);
        const char *which = names[k] + strcspn(names[k], "_"); /* "" or "_NAME" */
        if (intervals) {
            names[outputs + 2 * k] = cli_format("lower%s", which);
            names[outputs + 2 * k + 1] = cli_format("upper%s", which);
        }
    }
    return names;
}

/* What is tallied: rows in the wrong class, or squares of differences. */
static void judge_classes(const answers *a, const mercer_targets *truth, int64_t count,
                          cli_row_pipe *p)
{
    const int64_t *codes = mercer_targets_codes(truth);
    for (int64_t i = 0; i < count; i++)
        cli_row_pipe_tally(
            p, a->codes[i] == MERCER_NO_CLASS ||
                   strcmp(mercer_targets_class_name(truth, codes[i]), a->names[a->codes[i]]) != 0);
    p->own.judged += count;
}

static void judge_values(const answers *a, const mercer_targets *truth, int64_t count,
                         cli_row_pipe *p)
{
    const double *values = mercer_targets_values(truth), *got = a->half ? a->predicted : p->values;
    const int64_t columns = mercer_targets_columns(truth);
    for (int64_t i = 0; i < count * columns; i++)
        cli_row_pipe_tally(p, (got[i] - values[i]) * (got[i] - values[i]));
    for (int64_t i = 0; a->half && i < count * columns; i++)
        p->own.within += fabs(got[i] - values[i]) <= a->half[i % columns];
    p->own.judged += count;
}

/* The predictions with their intervals beside them. */
static void join_intervals(const answers *a, int64_t count, int64_t outputs, double *out)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < outputs; k++) {
            const double value = a->predicted[i * outputs + k];
            double *row = out + i * 3 * outputs;
            row[k] = value;
            row[outputs + 2 * k] = value - a->half[k];
            row[outputs + 2 * k + 1] = value + a->half[k];
        }
}

/* Compare with what the data says, when it says anything about the same targets. */
static void judge(const answers *a, cli_row_pipe *p, int64_t count)
{
    const mercer_targets *truth = mercer_table_targets(p->block);
    if (mercer_targets_kind(truth) != p->info.head_kind)
        return;
    if (a->codes)
        judge_classes(a, truth, count, p);
    else if (mercer_targets_columns(truth) == p->info.head_outputs)
        judge_values(a, truth, count, p);
}

/* The rows at hand: predicted, judged, written. */
static mercer_status predict_block(cli_row_pipe *p, const mercer_rows *rows, const answers *a)
{
    const int64_t count = mercer_rows_count(rows);
    mercer_targets *predicted = NULL;
    mercer_status rc = mercer_model_predict(p->app->ctx, p->model, rows, p->app->set.keep,
                                            a->half ? a->predicted : p->values, a->codes, &p->err);
    if (rc == MERCER_ERR_DATA)
        cli_error_place(&p->err, p->before);
    if (rc == MERCER_OK && a->codes)
        rc = cli_predicted_classes(a->codes, count, a->names, p->info.head_outputs, &predicted,
                                   &p->err);
    if (rc == MERCER_OK) {
        judge(a, p, count);
        if (a->half)
            join_intervals(a, count, p->info.head_outputs, p->values);
        rc = cli_row_pipe_write(p, predicted);
    }
    mercer_targets_free(predicted);
    return rc;
}

static void summarise(cli_row_pipe *p, const answers *a)
{
    if (p->total.judged == 0)
        return;
    p->error = p->total.sum / (double)p->total.judged;
    if (!a->codes)
        p->error = sqrt(p->error / (double)p->info.head_outputs);
    snprintf(p->note, sizeof p->note, "; %s", cli_text_error(&p->info, p->error).text);
    if (a->half) {
        const size_t used = strlen(p->note);
        p->within = (double)p->total.within / (double)(p->total.judged * p->info.head_outputs);
        snprintf(p->note + used, sizeof p->note - used, "; %.4g %% within", 100 * p->within);
    }
}

/* Half the widths of the intervals that --coverage asks for. Returns 0 or a status after a line. */
static int find_intervals(cli_row_pipe *p, answers *a)
{
    const cli_settings *set = &p->app->set;
    if (p->info.head_kind == MERCER_TARGET_CLASSES)
        return cli_fail(CLI_WRONG_CALL, "predict: --coverage is for target values, and the model "
                                        "predicts classes");
    if (set->keep && set->keep < p->info.components)
        return cli_fail(CLI_WRONG_CALL, "predict: --coverage requires all components, which the "
                                        "held-out rows were predicted from; leave -n out");
    a->half = cli_alloc((size_t)p->info.head_outputs, sizeof *a->half);
    const mercer_status rc = mercer_model_half_widths(p->model, set->coverage, a->half, &p->err);
    return rc == MERCER_OK ? CLI_DONE : cli_fail_library(rc, &p->err, set->operand[0]);
}

/* Fewer features than the model has, where another fit would have others. */
static void note_first_features(const cli_row_pipe *p)
{
    char *text = cli_format(
        "-n %lld: the first %lld features of a fit with %lld components predict, "
        "not those of a fit with %lld, which method %.*s finds anew",
        (long long)p->app->set.keep, (long long)p->app->set.keep, (long long)p->info.components,
        (long long)p->app->set.keep, (int)strcspn(p->info.method, ":"), p->info.method);
    cli_notice(p->app, text);
    free(text);
}

static int run_predict(cli_app *app)
{
    const cli_settings *set = &app->set;
    cli_row_pipe p;
    answers a = {0};
    mercer_status rc = MERCER_OK;
    int status = cli_row_pipe_start(&p, app, false);
    if (status == CLI_DONE && !p.info.head)
        status =
            cli_fail(CLI_FAILED, "%s: the model has no head to predict with; fit it with --head ls",
                     cli_shown(set->operand[0]));
    if (status == CLI_DONE && set->keep > p.info.components)
        status = cli_fail(CLI_WRONG_CALL, "predict: -n %lld: the model has %lld components",
                          (long long)set->keep, (long long)p.info.components);
    if (status == CLI_DONE && set->coverage > 0)
        status = find_intervals(&p, &a);
    if (status != CLI_DONE)
        goto out;
    if (set->keep && set->keep < p.info.components && !p.info.nested)
        note_first_features(&p);

    mercer_read_options reading;
    cli_read_options(set, &reading);
    mercer_model_read_options(p.model, &reading);
    const int64_t outputs = p.info.head_outputs;
    const bool classes = p.info.head_kind == MERCER_TARGET_CLASSES;
    const int64_t width = a.half ? 3 * outputs : outputs;
    p.shown = outputs;
    rc = cli_row_pipe_open(&p, &reading, p.info.columns, p.info.components + width,
                           column_names(p.model, &p.info, a.half != NULL), width, 0);
    if (a.half)
        a.predicted = cli_alloc((size_t)p.room, (size_t)outputs * sizeof *a.predicted);
    if (classes) {
        a.codes = cli_alloc((size_t)p.room, sizeof *a.codes);
        a.names = cli_alloc((size_t)outputs, sizeof *a.names);
        for (int64_t k = 0; k < outputs; k++)
            a.names[k] = mercer_model_output_name(p.model, k);
    }
    for (const mercer_rows *rows; rc == MERCER_OK;) {
        rc = cli_row_pipe_next(&p, &rows);
        if (rc != MERCER_OK || !rows)
            break;
        if (!p.begun)
            cli_row_pipe_note_skipped(&p);
        rc = predict_block(&p, rows, &a);
    }
    if (rc == MERCER_OK) {
        summarise(&p, &a);
        rc = cli_row_pipe_finish(&p, classes ? "classes" : "predictions", "outputs",
                                 cli_error_key(&p.info));
    }
out:
    free(a.codes);
    free(a.names);
    free(a.half);
    free(a.predicted);
    return cli_row_pipe_end(&p, rc, status);
}

static const cli_option options[] = {
    CLI_OPTION_OUTPUT,
    CLI_OPTION("components", 'n', CLI_COUNT, keep, "K", NULL,
               "predict from the first K features; default: all"),
    CLI_OPTION(
        "coverage", 0, CLI_SHARE, coverage, "SHARE", NULL,
        "add columns 'lower' and 'upper' (of several targets lower_TARGET, upper_TARGET): an "
        "interval that holds the true value in this share of new rows at least, e.g. 0.9; "
        "for models fitted with --intervals on"),
    CLI_OPTION_NEW_ROWS,
    CLI_OPTION_END,
};

const cli_command cli_command_predict = {
    .name = "predict",
    .summary = "predict classes or target values of the rows of a table",
    .operands = "MODEL DATA",
    .least = 2,
    .most = 2,
    .options = options,
    .details =
        "The model needs a head: 'mercer fit --head'. For classes the columns are\n"
        "prediction and score_CLASS; for target values prediction, or prediction_TARGET for\n"
        "several. When the data has labels, the report gives the error of the predictions.\n\n"
        "Examples:\n"
        "  mercer fit train.csv -m kpca --label species --head ls -o my.model\n"
        "  mercer predict my.model new.csv -o predictions.csv\n",
    .run = run_predict,
    .is_spread = cli_share_is_spread,
};
