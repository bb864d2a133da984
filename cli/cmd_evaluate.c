/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer evaluate: how well features predict, or keep, rows held out. */
#include "evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The settings of a fold's model, "components=5,kernel.sigma=2"; owned by the caller. */
static char *chosen_text(const mercer_evaluation_fold *fold)
{
    return cli_format("components=%lld%s%s", (long long)fold->components, *fold->chosen ? "," : "",
                      fold->chosen);
}

static void print_confusion(FILE *out, const mercer_evaluation_info *info,
                            const mercer_targets *targets)
{
    enum { MOST = 12 };
    const int64_t o = info->outputs;
    char align[MOST + 3];
    bool undecided = false;
    if (!info->confusion || o > MOST)
        return;
    for (int64_t i = 0; i < o; i++)
        undecided |= info->undecided[i] > 0;
    memset(align, 'r', sizeof align);
    align[0] = 'l';
    align[o + 1 + undecided] = 0;
    cli_table table = {.align = align, .header = true};
    cli_table_cell(&table, "true \\ predicted");
    for (int64_t j = 0; j < o; j++)
        cli_table_cell(&table, "%s", mercer_targets_class_name(targets, j));
    if (undecided)
        cli_table_cell(&table, "(none)");
    for (int64_t i = 0; i < o; i++) {
        cli_table_cell(&table, "%s", mercer_targets_class_name(targets, i));
        for (int64_t j = 0; j < o; j++)
            cli_table_cell(&table, "%lld", (long long)info->confusion[i * o + j]);
        if (undecided)
            cli_table_cell(&table, "%lld", (long long)info->undecided[i]);
    }
    fprintf(out, "\n");
    cli_table_print(&table, out, 2);
}

/* Whether it matters which of two classes is the positive one. */
static bool looks_for_one(const mercer_evaluation_info *info)
{
    return strcmp(info->metric, "auc") == 0 || strcmp(info->metric, "ap") == 0;
}

/* What --tune chose for the only split; several have a table, and with test rows the choice is that
 * on all rows. */
static void print_choice(FILE *out, const cli_settings *set, const mercer_evaluation *e,
                         const mercer_evaluation_info *info)
{
    if (info->folds != 1 || info->choices <= 1 || set->test)
        return;
    mercer_evaluation_fold fold = {.struct_size = sizeof fold};
    mercer_evaluation_get_fold(e, 0, &fold);
    char *chosen = chosen_text(&fold);
    cli_print_row(out, "chosen", "%s", chosen);
    free(chosen);
}

static void print_folds(FILE *out, const mercer_evaluation *e, const mercer_evaluation_info *info)
{
    enum { MOST = 20 };
    if (isnan(info->sd))
        return;
    cli_table table = {.align = "rrrl", .header = true};
    cli_table_cell(&table, "fold");
    cli_table_cell(&table, "rows");
    cli_table_cell(&table, "%s", info->metric);
    cli_table_cell(&table, "%s", info->choices > 1 ? "by inner CV" : "settings");
    for (int64_t f = 0; f < info->folds && f < MOST; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(e, f, &fold);
        char *chosen = chosen_text(&fold);
        cli_table_cell(&table, "%lld", (long long)f + 1);
        cli_table_cell(&table, "%lld", (long long)fold.rows);
        cli_table_number(&table, "%.4g", fold.value);
        cli_table_cell(&table, "%s", chosen);
        free(chosen);
    }
    fprintf(out, "\n");
    cli_table_print(&table, out, 2);
    if (info->folds > MOST)
        fprintf(out, "  ... and %lld more (--json lists them)\n", (long long)(info->folds - MOST));
}

/* A column and how much it matters, to be sorted. */
typedef struct column_loss {
    int64_t column;
    double loss, sd;
} column_loss;

static int compare_losses(const void *a, const void *b)
{
    const column_loss *x = a, *y = b;
    if (x->loss != y->loss && !(isnan(x->loss) && isnan(y->loss)))
        return isnan(y->loss) || x->loss > y->loss ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static void print_importance(FILE *out, const mercer_evaluation *e,
                             const mercer_evaluation_info *info)
{
    enum { MOST = 20 };
    const double *values;
    int64_t columns;
    mercer_evaluation_importance(e, &values, &columns);
    if (!values)
        return;
    column_loss *all = cli_alloc((size_t)columns, sizeof *all);
    for (int64_t k = 0; k < columns; k++)
        all[k] = (column_loss){k, values[k * MERCER_IMPORTANCE_COLUMNS + MERCER_IMPORTANCE_LOSS],
                               values[k * MERCER_IMPORTANCE_COLUMNS + MERCER_IMPORTANCE_SD]};
    qsort(all, (size_t)columns, sizeof *all, compare_losses);
    cli_table table = {.align = "lrr", .header = true};
    cli_table_cell(&table, "column");
    cli_table_cell(&table, "loss of %s", info->metric);
    cli_table_cell(&table, "SD");
    for (int64_t k = 0; k < columns && k < MOST; k++) {
        const char *name = mercer_evaluation_column_name(e, all[k].column);
        if (name)
            cli_table_cell(&table, "%s", cli_visible(name));
        else
            cli_table_cell(&table, "%lld", (long long)all[k].column + 1);
        cli_table_number(&table, "%.4g", all[k].loss);
        cli_table_number(&table, "%.4g", all[k].sd);
    }
    fprintf(out, "\n");
    cli_table_print(&table, out, 2);
    if (columns > MOST)
        fprintf(out, "  ... and %lld more (--json lists them)\n", (long long)(columns - MOST));
    free(all);
}

static void print_value(FILE *out, const mercer_evaluation_info *info)
{
    if (isnan(info->sd))
        cli_print_row(out, info->metric, "%.4g", info->mean);
    else
        cli_print_row(out, info->metric, "mean %.4g, SD %.4g over %lld folds", info->mean, info->sd,
                      (long long)info->folds);
}

/* id, prediction (of classes), fold, row and the scores of every row held out. */
static mercer_status save_predictions(cli_app *app, const mercer_evaluation *e,
                                      const mercer_targets *targets, const mercer_table *table,
                                      mercer_error *err)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_get_info(e, &info);
    const int64_t o = info.outputs, columns = o + 2;
    const bool classes = info.kind == MERCER_TARGET_CLASSES;
    cli_sink sink = {0};
    mercer_status rc = MERCER_OK;
    char **names = cli_alloc((size_t)columns, sizeof *names);
    const char **labels = cli_alloc((size_t)o, sizeof *labels);
    names[0] = cli_copy("fold");
    names[1] = cli_copy("row");
    for (int64_t j = 0; j < o; j++) {
        labels[j] = classes ? mercer_targets_class_name(targets, j) : NULL;
        names[j + 2] = classes ? cli_format("score_%s", labels[j])
                       : o > 1 ? cli_format("prediction_%lld", (long long)j + 1)
                               : cli_copy("prediction");
    }
    for (int64_t f = 0; f < info.folds && rc == MERCER_OK; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_targets *predicted = NULL;
        mercer_evaluation_get_fold(e, f, &fold);
        const cli_ids ids = {.table = table, .row = fold.row};
        double *x = cli_alloc((size_t)(fold.rows * columns), sizeof *x);
        for (int64_t i = 0; i < fold.rows; i++) {
            x[i * columns] = (double)f + 1;
            x[i * columns + 1] = (double)fold.row[i];
            memcpy(x + i * columns + 2, fold.scores + i * o, (size_t)o * sizeof *x);
        }
        if (classes)
            rc = cli_predicted_classes(fold.codes, fold.rows, labels, o, &predicted, err);
        if (rc == MERCER_OK && f == 0)
            rc = cli_sink_open(&sink, app, app->set.predictions, NULL, columns,
                               (const char *const *)names, predicted, &ids, err);
        if (rc == MERCER_OK)
            rc = cli_sink_rows(&sink, app->ctx, x, fold.rows, predicted, &ids, err);
        mercer_targets_free(predicted);
        free(x);
    }
    if (rc == MERCER_OK)
        rc = cli_sink_finish(&sink, app->ctx, err);
    else
        cli_sink_abort(&sink);
    for (int64_t j = 0; j < columns; j++)
        free(names[j]);
    free(names);
    free(labels);
    return rc;
}

/* points: those of the curve. */
static mercer_status save_roc(cli_app *app, const double *points, int64_t count, mercer_error *err)
{
    static const char *const names[MERCER_ROC_COLUMNS] = {"fpr", "tpr", "threshold"};
    cli_sink sink = {0};
    mercer_status rc =
        cli_sink_open(&sink, app, app->set.roc, NULL, MERCER_ROC_COLUMNS, names, NULL, NULL, err);
    if (rc == MERCER_OK)
        rc = cli_sink_rows(&sink, app->ctx, points, count, NULL, NULL, err);
    if (rc == MERCER_OK)
        rc = cli_sink_finish(&sink, app->ctx, err);
    else
        cli_sink_abort(&sink);
    return rc;
}

/* What --importance found; names and numbers are owned by the caller, who frees them. */
static chart_importance importance_of(const mercer_evaluation *e, const char *metric,
                                      const char *method)
{
    const double *values;
    int64_t count;
    mercer_evaluation_importance(e, &values, &count);
    if (!values)
        return (chart_importance){0};
    const char **names = cli_alloc((size_t)count, sizeof *names);
    double *numbers = cli_alloc((size_t)count, 2 * sizeof *numbers); /* losses, then SDs */
    for (int64_t k = 0; k < count; k++) {
        names[k] = mercer_evaluation_column_name(e, k);
        numbers[k] = values[k * MERCER_IMPORTANCE_COLUMNS + MERCER_IMPORTANCE_LOSS];
        numbers[count + k] = values[k * MERCER_IMPORTANCE_COLUMNS + MERCER_IMPORTANCE_SD];
    }
    return (chart_importance){metric, method, count, names, numbers, numbers + count};
}

/* The picture of --plot (what was tuned, columns that matter, classes that are taken for each
 * other, else the folds) and the page of --report. */
static mercer_status draw(cli_app *app, mercer_evaluation *e, const mercer_targets *targets,
                          mercer_error *err)
{
    const cli_settings *set = &app->set;
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_tuning tuning = {.struct_size = sizeof tuning};
    mercer_status rc = MERCER_OK;
    if (!set->plot && !set->report)
        return rc;
    mercer_evaluation_get_info(e, &info);
    mercer_evaluation_get_tuning(e, &tuning);
    chart_grid_axis *axes = cli_alloc((size_t)tuning.axes, sizeof *axes);
    for (int64_t a = 0; a < tuning.axes; a++) {
        mercer_tuning_axis axis = {.struct_size = sizeof axis};
        mercer_evaluation_get_axis(e, a, &axis);
        axes[a] = (chart_grid_axis){axis.key, axis.count, axis.values};
    }
    const chart_grid grid = {.metric = info.metric,
                             .method = set->fit.method,
                             .larger_is_better = info.larger_is_better,
                             .axes = tuning.axes,
                             .cells = tuning.cells,
                             .chosen = tuning.chosen,
                             .axis = axes,
                             .mean = tuning.mean,
                             .se = tuning.se};
    const chart_importance importance = importance_of(e, info.metric, set->fit.method);
    const chart_entrant entrant = {set->fit.method, set->fit.method, e};
    const chart_subject subject = {.ctx = app->ctx,
                                   .entrants = &entrant,
                                   .entrant_count = 1,
                                   .targets = targets,
                                   .grid = tuning.cells > 0 ? &grid : NULL,
                                   .importance = importance.columns ? &importance : NULL};
    const char *kind = subject.grid         ? "tuning"
                       : subject.importance ? "importance"
                       : info.confusion     ? "confusion"
                                            : "folds";
    if (set->plot)
        rc = cli_draw(app, &subject, kind, set->plot, err);
    if (rc == MERCER_OK && set->report)
        rc = cli_write_page(app, &subject, NULL, set->operand[0], set->report, NULL, err);
    free(axes);
    free((void *)importance.names);
    free((void *)importance.loss);
    return rc;
}

/* What was asked for besides the report; nothing when part of it cannot be had. */
static mercer_status save(cli_app *app, mercer_evaluation *e, const mercer_targets *targets,
                          const mercer_table *held, mercer_error *err)
{
    const double *points = NULL;
    int64_t count = 0;
    mercer_status rc = MERCER_OK;
    if (app->set.roc)
        rc = mercer_evaluation_get_roc(e, &points, &count, err);
    if (rc == MERCER_OK && app->set.predictions)
        rc = save_predictions(app, e, targets, held, err);
    if (rc == MERCER_OK && app->set.roc)
        rc = save_roc(app, points, count, err);
    if (rc == MERCER_OK)
        rc = draw(app, e, targets, err);
    return rc;
}

/* What comes of --tune: the grid on all rows, the choice, and the call to paste. */
static void print_conclusion(FILE *out, const cli_app *app, const mercer_evaluation *e,
                             const mercer_evaluation_info *info)
{
    mercer_tuning tuning = {.struct_size = sizeof tuning};
    mercer_evaluation_get_tuning(e, &tuning);
    if (tuning.cells == 0)
        return;
    char *expected = cli_format("%.4f on new rows (%s, above)", info->mean,
                                app->set.test ? "the test rows" : "nested");
    char *command = cli_tuned_command(app, e, "my.model");
    cli_print_tuning(out, e, expected);
    fprintf(out, "Next:  %s\n", cli_visible(command));
    free(expected);
    free(command);
}

static int run_evaluate(cli_app *app)
{
    const cli_settings *set = &app->set;
    const cli_list methods = {{set->fit.method}, set->fit.method != NULL};
    cli_evaluate_inputs o = {0};
    mercer_evaluation *e = NULL;
    mercer_error err = {0};
    const double start = cli_now();
    int status = cli_evaluate_check(set, &methods);
    if (status == CLI_DONE)
        status = cli_check_picture("evaluate", set->plot);
    if (status == CLI_DONE && set->plot)
        status = cli_check_overwrite(set->plot, set->operand[0], "data");
    if (status == CLI_DONE)
        status = cli_check_page("evaluate", set, set->report);
    FILE *out = (set->predictions && cli_is_stdout(set->predictions)) ||
                        (set->roc && cli_is_stdout(set->roc))
                    ? stderr
                    : stdout;
    if (status == CLI_DONE)
        status = cli_evaluate_prepare(app, &o, &err);
    if (status != CLI_DONE)
        goto out;
    const mercer_targets *targets = mercer_table_targets(o.table);
    o.options.choose = 1;
    cli_forecast_folds(app, &o);
    mercer_status rc =
        mercer_evaluate(app->ctx, &o.options, mercer_table_rows(o.table), targets, &e, &err);
    mercer_evaluation_info info = {.struct_size = sizeof info};
    if (rc == MERCER_OK && mercer_ctx_rank(app->ctx) > 0)
        goto out; /* rank 0 tells and writes */
    if (rc == MERCER_OK) {
        mercer_evaluation_get_info(e, &info);
        rc = save(app, e, targets, o.test ? o.test : o.table, &err);
    }
    if (rc != MERCER_OK)
        status = cli_fail_library(rc, &err, cli_evaluate_file_of(set, &err));
    if (status != CLI_DONE)
        goto out;
    cli_progress_clear();
    if (set->json) {
        char *text = NULL;
        json_t *json = json_object();
        json_t *report = cli_json_take(mercer_evaluation_json(e, &text, NULL), &text);
        json_object_set_new(json, "method", cli_json_text(set->fit.method));
        json_object_set_new(json, "data", cli_json_text(set->operand[0]));
        json_object_set_new(json, "rows",
                            json_integer(mercer_rows_count(mercer_table_rows(o.table))));
        json_object_update(json, report);
        json_decref(report);
        if (json_object_get(json, "grid")) {
            char *command = cli_tuned_command(app, e, "my.model");
            json_object_set_new(json, "command", cli_json_text(command));
            free(command);
        }
        json_object_set_new(json, "seconds", cli_json_real(cli_now() - start));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(out, json);
    } else if (!set->quiet) {
        fprintf(out, "Evaluated %s on %s\n\n", cli_visible(set->fit.method),
                cli_visible(cli_shown(set->operand[0])));
        print_value(out, &info);
        cli_print_row(out, "metric", "%s", info.summary);
        if (info.positive && (set->positive || looks_for_one(&info)))
            cli_print_row(out, "positive class", "'%s'", info.positive);
        print_choice(out, set, e, &info);
        print_folds(out, e, &info);
        print_confusion(out, &info, targets);
        print_conclusion(out, app, e, &info);
        print_importance(out, e, &info);
        cli_print_ranks(out, app);
        cli_print_notices(app);
    }
    status = cli_journal_end(app, status);
out:
    mercer_evaluation_free(e);
    cli_evaluate_finish(&o);
    return status;
}

static const cli_option options[] = {
    CLI_FIT("method", 'm', "METHOD", "how to find the features, e.g. kpls", NULL),
    CLI_OPTION("save-predictions", 0, CLI_TEXT, predictions, "FILE", NULL,
               "predictions of all rows held out, with fold, row (from 0) and scores"),
    CLI_OPTION("roc", 0, CLI_TEXT, roc, "FILE", NULL,
               "ROC curve of two classes, over all rows held out: fpr, tpr, threshold"),
    CLI_OPTION(
        "importance", 0, CLI_FLAG, importance, NULL, NULL,
        "how much each column matters: by how much the metric gets worse when the column of "
        "the rows held out is shuffled, the mean of 5 times; without a head, the rise of the "
        "reconstruction error"),
    CLI_OPTION_PLOT("what --tune tried, else what --importance found, else which classes are "
                    "predicted as which, else the metric of each fold"),
    CLI_OPTION_REPORT,
    CLI_OPTION_EVALUATE,
};

const cli_command cli_command_evaluate = {
    .name = "evaluate",
    .summary = "judge a method by rows that it has not learnt from",
    .operands = "DATA",
    .least = 1,
    .most = 1,
    .options = options,
    .details = "Scaling, kernel widths, the head and what --tune chooses are learnt\n"
               "only from the training part of each fold.\n\n"
               "Examples:\n"
               "  mercer evaluate data.csv -m kpls --label species --tune components=1:20:+1\n"
               "  mercer evaluate data.csv -m kpca --tune kernel.sigma=0.5:8:*2 -n 10\n"
               "  mpirun -n 4 mercer evaluate data.csv -m kpls --label species\n",
    .is_spread = cli_evaluate_is_spread,
    .run = run_evaluate,
};
