/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer compare: several methods judged by the same rows held out. */
#include "evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The power of two next to the largest difference: squares of huge or tiny ones leave the range of
 * numbers. */
static double unit_of(double largest)
{
    int exponent;
    if (!(largest > 0 && isfinite(largest)))
        return 1;
    frexp(largest, &exponent);
    return ldexp(1, exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent);
}

/* Mean and spread of the folds' differences from the first method, of folds where both have a
 * value. Rows that are judged together have none of their own: NaN. */
static void pair(const mercer_evaluation *first, const mercer_evaluation *other, int64_t folds,
                 double *mean, double *sd)
{
    double told = 0, sum = 0, squares = 0, largest = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int64_t f = 0; f < folds; f++) {
            mercer_evaluation_fold a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
            mercer_evaluation_get_fold(first, f, &a);
            mercer_evaluation_get_fold(other, f, &b);
            const double difference = b.value - a.value;
            if (isnan(difference))
                continue;
            const double part = difference / unit_of(largest);
            if (pass == 0) {
                largest = fmax(largest, fabs(difference));
            } else if (pass == 1) {
                told++;
                sum += part;
            } else {
                squares += pow(part - sum / told, 2);
            }
        }
    *mean = unit_of(largest) * (sum / told);
    *sd = told > 1 ? unit_of(largest) * sqrt(squares / (told - 1)) : NAN;
}

static double mean_points(const mercer_evaluation *e, int64_t folds)
{
    double sum = 0;
    for (int64_t f = 0; f < folds; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(e, f, &fold);
        sum += (double)fold.points / (double)folds;
    }
    return sum;
}

/* Values of different metrics cannot stand in one column. */
static int check_metrics(const cli_list *methods, mercer_evaluation **all)
{
    mercer_evaluation_info first = {.struct_size = sizeof first};
    mercer_evaluation_get_info(all[0], &first);
    for (int i = 1; i < methods->count; i++) {
        mercer_evaluation_info info = {.struct_size = sizeof info};
        mercer_evaluation_get_info(all[i], &info);
        if (strcmp(info.metric, first.metric) != 0)
            return cli_fail(CLI_WRONG_CALL,
                            "compare: %s is judged by %s, %s by %s; name a --head for all",
                            methods->item[0], first.metric, methods->item[i], info.metric);
    }
    return CLI_DONE;
}

/* A method beside the first one. */
typedef struct standing {
    mercer_evaluation_info info;
    double difference, spread; /* less the first, and of the folds' differences */
    double points;             /* mean over the folds */
} standing;

static standing standing_of(const mercer_evaluation *first, const mercer_evaluation *e)
{
    standing s = {.info = {.struct_size = sizeof s.info}};
    mercer_evaluation_info base = {.struct_size = sizeof base};
    mercer_evaluation_get_info(first, &base);
    mercer_evaluation_get_info(e, &s.info);
    pair(first, e, s.info.folds, &s.difference, &s.spread);
    if (isnan(s.difference))
        s.difference = s.info.mean - base.mean;
    s.points = mean_points(e, s.info.folds);
    return s;
}

static void print_comparison_json(const cli_app *app, mercer_evaluation **all)
{
    const cli_list *methods = &app->set.methods;
    json_t *json = json_object(), *list = json_array();
    for (int i = 0; i < methods->count; i++) {
        const standing s = standing_of(all[0], all[i]);
        char *text = NULL;
        json_t *entry = cli_json_take(mercer_evaluation_json(all[i], &text, NULL), &text);
        json_object_set_new(entry, "method", cli_json_text(methods->item[i]));
        json_object_set_new(entry, "difference", cli_json_real(s.difference));
        json_object_set_new(entry, "difference_sd", cli_json_real(s.spread));
        json_object_set_new(entry, "expansion_points", cli_json_real(s.points));
        json_array_append_new(list, entry);
    }
    json_object_set_new(json, "data", cli_json_text(app->set.operand[0]));
    json_object_set_new(json, "metric", cli_json_text(standing_of(all[0], all[0]).info.metric));
    json_object_set_new(json, "methods", list);
    json_object_set_new(json, "notices", cli_json_notices(app));
    cli_json_print(stdout, json);
}

static void print_comparison(const cli_app *app, mercer_evaluation **all)
{
    const cli_list *methods = &app->set.methods;
    const mercer_evaluation_info first = standing_of(all[0], all[0]).info;
    cli_table table = {.align = "lrrrrr", .header = true};
    cli_table_cell(&table, "method");
    cli_table_cell(&table, "%s", first.metric);
    cli_table_cell(&table, "SD");
    cli_table_cell(&table, "difference");
    cli_table_cell(&table, "SD of difference");
    cli_table_cell(&table, "rows stored");
    for (int i = 0; i < methods->count; i++) {
        const standing s = standing_of(all[0], all[i]);
        cli_table_cell(&table, "%s", methods->item[i]);
        cli_table_cell(&table, "%.4g", s.info.mean);
        cli_table_number(&table, "%.4g", s.info.sd);
        cli_table_number(&table, "%+.4g", i ? s.difference : NAN);
        cli_table_number(&table, "%.4g", i ? s.spread : NAN);
        cli_table_cell(&table, "%.4g", s.points);
    }
    printf("Compared on %s: %s, %lld fold%s\n\n", cli_visible(cli_shown(app->set.operand[0])),
           first.summary, (long long)first.folds, first.folds == 1 ? "" : "s");
    cli_table_print(&table, stdout, 2);
    cli_print_ranks(stdout, app);
    cli_print_notices(app);
}

/* What is tuned of method i: of the texts that some method takes, those that this one takes. */
static cli_list tunes_of(cli_app *app, cli_evaluate_inputs *o, int i)
{
    const cli_settings *set = &app->set;
    cli_list taken = {.count = 0};
    for (int t = 0; t < set->tune.count; t++) {
        const char *text = set->tune.item[t];
        bool here = false, anywhere = false;
        for (int m = 0; m < set->methods.count; m++) {
            o->fit.method = set->methods.item[m];
            const bool applies = mercer_fit_options_can_tune(&o->fit, text);
            anywhere |= applies;
            here |= applies && m == i;
        }
        if (here || !anywhere) { /* a mistake is told by the evaluation */
            taken.item[taken.count++] = text;
            continue;
        }
        char *note = cli_format("%s: has no %.*s to tune", set->methods.item[i],
                                (int)strcspn(text, "="), text);
        cli_notice(app, note);
        free(note);
    }
    return taken;
}

/* The picture of --plot and the page of --report. */
static int draw(cli_app *app, mercer_evaluation **all)
{
    chart_entrant entrants[CLI_MAX_LIST];
    const cli_list *methods = &app->set.methods;
    mercer_error err = {0};
    for (int i = 0; i < methods->count; i++)
        entrants[i] = (chart_entrant){methods->item[i], methods->item[i], all[i]};
    const chart_subject subject = {
        .ctx = app->ctx, .entrants = entrants, .entrant_count = methods->count};
    mercer_status rc = MERCER_OK;
    if (app->set.plot)
        rc = cli_draw(app, &subject, "folds", app->set.plot, &err);
    if (rc == MERCER_OK && app->set.report)
        rc = cli_write_page(app, &subject, NULL, app->set.operand[0], app->set.report, NULL, &err);
    return rc == MERCER_OK ? CLI_DONE : cli_fail_library(rc, &err, app->set.operand[0]);
}

/* Whether a method has features of straight directions that do not look at targets. */
static bool is_pca(const char *spec)
{
    mercer_entry_info info = {.struct_size = sizeof info};
    mercer_entry_get_info(mercer_method_find(spec), &info);
    return info.linear_only && !info.learns;
}

/* Whether a method has a kernel whose width may be wrong. */
static bool has_width(const cli_settings *set, const char *spec)
{
    mercer_entry_info info = {.struct_size = sizeof info};
    mercer_parameter parameter = {.struct_size = sizeof parameter};
    mercer_entry_get_info(mercer_method_find(spec), &info);
    const mercer_entry *kernel =
        mercer_kernel_find(set->fit.kernel ? set->fit.kernel : info.default_kernel);
    for (int i = 0; !info.linear_only && kernel && mercer_entry_parameter(kernel, i, &parameter);
         i++)
        if (strcmp(parameter.key, "sigma") == 0)
            return true;
    return false;
}

/* How much better b is than a, and the standard error of that. */
static double gain(const mercer_evaluation *a, const mercer_evaluation *b, double *error)
{
    const standing s = standing_of(a, b);
    *error = isnan(s.spread) ? 0 : s.spread / sqrt((double)s.info.folds);
    return s.info.larger_is_better ? s.difference : -s.difference;
}

/* Where pca does as well as every kernel: a reason, and what to try. */
static void note_straight_rows(cli_app *app, const cli_evaluate_inputs *o, mercer_evaluation **all)
{
    const cli_list *methods = &app->set.methods;
    int pca = -1, kernels = 0;
    for (int i = 0; i < methods->count; i++)
        pca = pca < 0 && is_pca(methods->item[i]) ? i : pca;
    for (int t = 0; t < app->set.tune.count; t++)
        if (strncmp(app->set.tune.item[t], "kernel", strlen("kernel")) == 0)
            return; /* the width was tried */
    for (int i = 0; pca >= 0 && i < methods->count; i++) {
        double error;
        if (i == pca || !has_width(&app->set, methods->item[i]))
            continue;
        if (!(gain(all[pca], all[i], &error) <= error))
            return;
        kernels++;
    }
    mercer_survey survey = {.struct_size = sizeof survey};
    if (kernels == 0 ||
        mercer_rows_survey(app->ctx, mercer_table_rows(o->table), app->set.fit.scale, &survey,
                           NULL) != MERCER_OK ||
        !(survey.median_distance > 0))
        return;
    char *text =
        cli_format("pca is level with every kernel: linear structure, or a wrong width; try "
                   "--tune kernel.sigma=%.2g:%.2g:*2",
                   survey.median_distance / 2, 8 * survey.median_distance);
    cli_notice(app, text);
    free(text);
}

static int run_compare(cli_app *app)
{
    const cli_settings *set = &app->set;
    mercer_evaluation *all[CLI_MAX_LIST] = {NULL};
    cli_evaluate_inputs o = {0};
    mercer_error err = {0};
    int status = cli_evaluate_check(set, &set->methods);
    if (status == CLI_DONE)
        status = cli_check_picture("compare", set->plot);
    if (status == CLI_DONE && set->plot)
        status = cli_check_overwrite(set->plot, set->operand[0], "data");
    if (status == CLI_DONE)
        status = cli_check_page("compare", set, set->report);
    if (status == CLI_DONE)
        status = cli_evaluate_prepare(app, &o, &err);
    for (int i = 0; i < set->methods.count && status == CLI_DONE; i++) {
        mercer_ctx_set_seed(app->ctx, set->seed); /* the same folds for all */
        const cli_list tunes = tunes_of(app, &o, i);
        o.options.tune = tunes.item;
        o.options.tune_count = tunes.count;
        o.fit.method = set->methods.item[i];
        cli_forecast_folds(app, &o);
        mercer_status rc = mercer_evaluate(app->ctx, &o.options, mercer_table_rows(o.table),
                                           mercer_table_targets(o.table), &all[i], &err);
        if (rc != MERCER_OK) {
            char *about = cli_format("%s: %s", cli_shown(cli_evaluate_file_of(set, &err)),
                                     set->methods.item[i]);
            status = cli_fail_library(rc, &err, about);
            free(about);
        }
    }
    if (status == CLI_DONE)
        status = check_metrics(&set->methods, all);
    const bool tells = mercer_ctx_rank(app->ctx) == 0; /* and writes */
    if (status == CLI_DONE && tells)
        status = draw(app, all);
    if (status == CLI_DONE && tells) {
        note_straight_rows(app, &o, all);
        cli_progress_clear();
        if (set->json)
            print_comparison_json(app, all);
        else if (!set->quiet)
            print_comparison(app, all);
        status = cli_journal_end(app, status);
    }
    for (int i = 0; i < CLI_MAX_LIST; i++)
        mercer_evaluation_free(all[i]);
    cli_evaluate_finish(&o);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION("method", 'm', CLI_LIST, methods, "METHOD", NULL,
               "a method to compare; give it once for each"),
    CLI_OPTION_PLOT("the metric of each fold, method by method"),
    CLI_OPTION_REPORT,
    CLI_OPTION_EVALUATE,
};

const cli_command cli_command_compare = {
    .name = "compare",
    .summary = "judge several methods by the same rows held out",
    .operands = "DATA",
    .least = 1,
    .most = 1,
    .options = options,
    .details = "Examples:\n"
               "  mercer compare data.csv -m pls -m kpls -m sma --label species -n 10\n",
    .is_spread = cli_evaluate_is_spread,
    .run = run_compare,
};
