/* mercer evaluate and mercer compare: how well features predict, or keep, rows held out. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Everything that is read before the work starts. */
typedef struct occasion {
    mercer_table *table, *test; /* owned */
    cli_splits splits;
    mercer_fit_options fit;
    mercer_evaluate_options options;
} occasion;

static int read_cv(const char *text, int64_t *folds)
{
    char *end = NULL;
    if (!text)
        return CLI_DONE;
    if (strcmp(text, "loo") == 0) {
        *folds = MERCER_LEAVE_ONE_OUT;
        return CLI_DONE;
    }
    const long long value = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || value < 2 || value > 1000000000)
        return cli_fail(CLI_WRONG_CALL, "--cv: '%s' is neither a number of folds from 2 on nor loo",
                        text);
    *folds = value;
    return CLI_DONE;
}

/* stat() of the file, or of its folder while it is not there; *name: what it is called in that. */
static bool stat_output(const char *path, struct stat *info, const char **name)
{
    *name = "";
    if (stat(path, info) == 0)
        return true;
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    char *folder = slash ? cli_format("%.*s", (int)(slash + 1 - path), path) : cli_copy(".");
    const bool there = stat(folder, info) == 0;
    free(folder);
    return there;
}

/* True when the second of two outputs would be mixed with the first, or replace it. */
static bool same_output(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const char *name_a, *name_b;
    if (cli_is_stdout(a) || cli_is_stdout(b))
        return cli_is_stdout(a) && cli_is_stdout(b);
    return stat_output(a, &of_a, &name_a) && stat_output(b, &of_b, &name_b) &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino &&
           strcmp(name_a, name_b) == 0 && !S_ISCHR(of_a.st_mode); /* both may go to /dev/null */
}

static int check_outputs(const cli_settings *set)
{
    int status = CLI_DONE;
    if (set->predictions)
        status = cli_check_output(set->predictions);
    if (status == CLI_DONE && set->roc)
        status = cli_check_output(set->roc);
    const char *const outputs[] = {set->predictions, set->roc};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        if (status == CLI_DONE)
            status = cli_check_overwrite(outputs[i], set->operand[0], "data");
        if (status == CLI_DONE)
            status = cli_check_overwrite_options(outputs[i], set);
    }
    if (status == CLI_DONE && set->predictions && set->roc &&
        same_output(set->predictions, set->roc))
        status = cli_fail(CLI_WRONG_CALL, "--save-predictions %s and --roc %s: give two files",
                          set->predictions, set->roc);
    return status;
}

static int check_call(const cli_settings *set, const cli_list *methods)
{
    if (methods->count == 0)
        return cli_fail(CLI_WRONG_CALL, "%s: name a method by -m, as -m kpls",
                        methods == &set->methods ? "compare" : "evaluate");
    int status = CLI_DONE;
    for (int i = 0; i < methods->count && status == CLI_DONE; i++)
        status = cli_check_spec("method", methods->item[i], mercer_method_at);
    if (status == CLI_DONE && (set->cv != NULL) + (set->split != NULL) + (set->test != NULL) > 1)
        status = cli_fail(CLI_WRONG_CALL, "--cv, --split and --test: only one of them at a time");
    if (status == CLI_DONE && set->repeats &&
        (set->split || set->test || (set->cv && strcmp(set->cv, "loo") == 0)))
        status = cli_fail(CLI_WRONG_CALL, "--repeats goes with --cv and a number of folds");
    if (status == CLI_DONE && set->inner && set->tune.count == 0)
        status = cli_fail(CLI_WRONG_CALL, "--inner goes with --tune");
    if (status == CLI_DONE && set->test_labels && !set->test)
        status = cli_fail(CLI_WRONG_CALL, "--test-labels goes with --test");
    if (status == CLI_DONE && set->test && set->labels && !set->test_labels)
        status = cli_fail(CLI_WRONG_CALL,
                          "--labels are those of %s; give those of %s by "
                          "--test-labels",
                          cli_shown(set->operand[0]), cli_shown(set->test));
    if (status == CLI_DONE && set->split && set->missing && strcmp(set->missing, "drop") == 0)
        status = cli_fail(CLI_WRONG_CALL,
                          "--missing drop with --split: rows would be counted without those "
                          "dropped; leave them out of the file first");
    if (status == CLI_DONE && !set->test && set->missing && strcmp(set->missing, "mean") == 0)
        status = cli_fail(CLI_WRONG_CALL,
                          "--missing mean would fill cells from rows held out; use --missing drop, "
                          "or fill them first");
    if (status == CLI_DONE)
        status = check_outputs(set);
    return status;
}

/* Options of the fits, and of the evaluation around them. */
static int prepare(cli_app *app, occasion *o, mercer_error *err)
{
    const cli_settings *set = &app->set;
    mercer_fit_options_init(&o->fit);
    o->fit.kernel = set->kernel;
    o->fit.components = set->components;
    o->fit.center = set->center;
    o->fit.store = set->store;
    o->fit.precision = set->precision;
    o->fit.scale = set->scale;
    o->fit.head = set->head;
    o->fit.scale_target = set->scale_target;
    mercer_evaluate_options_init(&o->options);
    o->options.fit = &o->fit;
    o->options.repeats = set->repeats;
    o->options.metric = set->metric;
    o->options.positive = set->positive;
    o->options.tune = set->tune.item;
    o->options.tune_count = set->tune.count;
    o->options.inner_folds = set->inner;
    o->options.predictions = set->roc           ? MERCER_PREDICTIONS_RANKED
                             : set->predictions ? MERCER_PREDICTIONS_ANY
                                                : 0;
    int status = read_cv(set->cv, &o->options.folds);
    if (status != CLI_DONE)
        return status;
    mercer_read_options reading;
    cli_read_options(set, &reading);
    mercer_status rc = mercer_table_read(app->ctx, set->operand[0], &reading, &o->table, err);
    if (rc != MERCER_OK)
        return cli_fail_reading(set, rc, err, set->operand[0]);
    const int64_t n = mercer_rows_count(mercer_table_rows(o->table));
    if (set->split) {
        status = cli_splits_read(app, set->split, n, &o->splits);
        o->options.splits = o->splits.count;
        o->options.split_start = o->splits.start;
        o->options.split_rows = o->splits.rows;
    }
    if (set->test) {
        mercer_table_read_options(o->table, &reading);
        reading.labels_file = set->test_labels;
        cli_read_other(set->test, &reading);
        rc = mercer_table_read(app->ctx, set->test, &reading, &o->test, err);
        if (rc != MERCER_OK)
            return cli_fail_reading(set, rc, err, set->test);
        o->options.test = mercer_table_rows(o->test);
        o->options.test_targets = mercer_table_targets(o->test);
    }
    return status;
}

static void finish(occasion *o)
{
    mercer_table_free(o->table);
    mercer_table_free(o->test);
    cli_splits_free(&o->splits);
}

/* What a fold's model was made of, "components=5,kernel.sigma=2"; owned by the caller. */
static char *chosen_text(const mercer_evaluation_fold *fold)
{
    return cli_format("components=%lld%s%s", (long long)fold->components, *fold->chosen ? "," : "",
                      fold->chosen);
}

static bool starts_choice(const char *text)
{
    static const char *const keys[] = {"kernel=", "kernel.", "method.", "head."};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(text, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static json_t *chosen_json(const mercer_evaluation_fold *fold)
{
    json_t *json = json_object();
    char *text = cli_copy(fold->chosen);
    json_object_set_new(json, "components", json_integer(fold->components));
    for (char *item = text, *next; item && *item; item = next) {
        char *value = strchr(item, '=');
        char *end = NULL;
        for (next = strchr(item, ','); next && !starts_choice(next + 1);
             next = strchr(next + 1, ','))
            ; /* a comma within a kernel */
        if (next)
            *next++ = 0;
        *value++ = 0;
        const double number = strtod(value, &end);
        json_object_set_new(json, item, *end ? cli_json_text(value) : cli_json_real(number));
    }
    free(text);
    return json;
}

static json_t *evaluation_json(const mercer_evaluation *e, const mercer_targets *targets)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_get_info(e, &info);
    json_t *json = json_object(), *folds = json_array();
    json_object_set_new(json, "metric", cli_json_text(info.metric));
    json_object_set_new(json, "larger_is_better", json_boolean(info.larger_wins));
    json_object_set_new(json, "positive",
                        info.positive ? cli_json_text(info.positive) : json_null());
    json_object_set_new(json, "mean", cli_json_real(info.mean));
    json_object_set_new(json, "sd", cli_json_real(info.sd));
    json_object_set_new(json, "choices", json_integer(info.choices));
    for (int64_t f = 0; f < info.folds; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(e, f, &fold);
        json_t *entry = json_object();
        json_object_set_new(entry, "value", cli_json_real(fold.value));
        json_object_set_new(entry, "inner", cli_json_real(fold.inner));
        json_object_set_new(entry, "rows", json_integer(fold.rows));
        json_object_set_new(entry, "expansion_points", json_integer(fold.points));
        json_object_set_new(entry, "chosen", chosen_json(&fold));
        json_array_append_new(folds, entry);
    }
    json_object_set_new(json, "folds", folds);
    if (info.confusion) {
        json_t *names = json_array(), *table = json_array();
        for (int64_t i = 0; i < info.outputs; i++) {
            json_t *row = json_array();
            for (int64_t j = 0; j < info.outputs; j++)
                json_array_append_new(row, json_integer(info.confusion[i * info.outputs + j]));
            json_array_append_new(table, row);
            json_array_append_new(names, cli_json_text(mercer_targets_class_name(targets, i)));
        }
        json_t *undecided = json_array();
        for (int64_t i = 0; i < info.outputs; i++)
            json_array_append_new(undecided, json_integer(info.undecided[i]));
        json_object_set_new(json, "classes", names);
        json_object_set_new(json, "confusion", table);
        json_object_set_new(json, "undecided", undecided);
    }
    return json;
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
    cli_table_cell(&table, "is \\ predicted");
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

static void cell_or_blank(cli_table *table, const char *format, double value)
{
    char text[40] = "";
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
    cli_table_cell(table, "%s", text);
}

/* Whether it matters which of two classes is the positive one. */
static bool looks_for_one(const mercer_evaluation_info *info)
{
    return strcmp(info->metric, "auc") == 0 || strcmp(info->metric, "ap") == 0;
}

/* What --tune chose for the only fold; several have a table. */
static void print_choice(FILE *out, const mercer_evaluation *e, const mercer_evaluation_info *info)
{
    if (info->folds != 1 || info->choices <= 1)
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
    cli_table_cell(&table, "%s", info->choices > 1 ? "chosen within" : "made of");
    for (int64_t f = 0; f < info->folds && f < MOST; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(e, f, &fold);
        char *chosen = chosen_text(&fold);
        cli_table_cell(&table, "%lld", (long long)f + 1);
        cli_table_cell(&table, "%lld", (long long)fold.rows);
        cell_or_blank(&table, "%.4g", fold.value);
        cli_table_cell(&table, "%s", chosen);
        free(chosen);
    }
    fprintf(out, "\n");
    cli_table_print(&table, out, 2);
    if (info->folds > MOST)
        fprintf(out, "  ... and %lld more (--json lists them)\n", (long long)(info->folds - MOST));
}

static void print_value(FILE *out, const mercer_evaluation_info *info)
{
    if (isnan(info->sd))
        cli_print_row(out, info->metric, "%.4g", info->mean);
    else
        cli_print_row(out, info->metric, "%.4g +- %.4g, mean and spread of %lld folds", info->mean,
                      info->sd, (long long)info->folds);
}

/* prediction (of classes), fold, row and the scores of every row held out. */
static mercer_status save_predictions(const cli_app *app, const mercer_evaluation *e,
                                      const mercer_targets *targets, mercer_error *err)
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
        double *x = cli_alloc((size_t)(fold.rows * columns), sizeof *x);
        for (int64_t i = 0; i < fold.rows; i++) {
            x[i * columns] = (double)f + 1;
            x[i * columns + 1] = (double)fold.row[i];
            memcpy(x + i * columns + 2, fold.scores + i * o, (size_t)o * sizeof *x);
        }
        if (classes)
            rc = cli_predicted_classes(fold.codes, fold.rows, labels, o, &predicted, err);
        if (rc == MERCER_OK && f == 0)
            rc = cli_sink_open(&sink, app->ctx, app->set.predictions, NULL, columns,
                               (const char *const *)names, predicted, err);
        if (rc == MERCER_OK)
            rc = cli_sink_rows(&sink, app->ctx, x, fold.rows, predicted, err);
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
static mercer_status save_roc(const cli_app *app, const double *points, int64_t count,
                              mercer_error *err)
{
    static const char *const names[MERCER_ROC_COLUMNS] = {"fpr", "tpr", "threshold"};
    cli_sink sink = {0};
    mercer_status rc =
        cli_sink_open(&sink, app->ctx, app->set.roc, NULL, MERCER_ROC_COLUMNS, names, NULL, err);
    if (rc == MERCER_OK)
        rc = cli_sink_rows(&sink, app->ctx, points, count, NULL, err);
    if (rc == MERCER_OK)
        rc = cli_sink_finish(&sink, app->ctx, err);
    else
        cli_sink_abort(&sink);
    return rc;
}

/* What was asked for besides the report; nothing when part of it cannot be had. */
static mercer_status save(const cli_app *app, mercer_evaluation *e, const mercer_targets *targets,
                          mercer_error *err)
{
    const double *points = NULL;
    int64_t count = 0;
    mercer_status rc = MERCER_OK;
    if (app->set.roc)
        rc = mercer_evaluation_roc(e, &points, &count, err);
    if (rc == MERCER_OK && app->set.predictions)
        rc = save_predictions(app, e, targets, err);
    if (rc == MERCER_OK && app->set.roc)
        rc = save_roc(app, points, count, err);
    return rc;
}

/* The file that the library's message is about; it takes the place of "test rows: " in it. */
static const char *file_of(const cli_settings *set, mercer_error *err)
{
    static const char of_test[] = "test rows: ";
    const size_t length = strlen(of_test);
    if (err->code != MERCER_ERR_DATA || strncmp(err->text, of_test, length) != 0)
        return set->operand[0];
    memmove(err->text, err->text + length, strlen(err->text + length) + 1);
    return set->test;
}

static int run_evaluate(cli_app *app)
{
    const cli_settings *set = &app->set;
    const cli_list methods = {{set->method}, set->method != NULL};
    occasion o = {0};
    mercer_evaluation *e = NULL;
    mercer_error err = {MERCER_OK, ""};
    const double start = cli_now();
    int status = check_call(set, &methods);
    FILE *out = (set->predictions && cli_is_stdout(set->predictions)) ||
                        (set->roc && cli_is_stdout(set->roc))
                    ? stderr
                    : stdout;
    if (status == CLI_DONE)
        status = prepare(app, &o, &err);
    if (status != CLI_DONE)
        goto out;
    const mercer_targets *targets = mercer_table_targets(o.table);
    o.fit.method = set->method;
    mercer_status rc =
        mercer_evaluate(app->ctx, &o.options, mercer_table_rows(o.table), targets, &e, &err);
    mercer_evaluation_info info = {.struct_size = sizeof info};
    if (rc == MERCER_OK) {
        mercer_evaluation_get_info(e, &info);
        rc = save(app, e, targets, &err);
    }
    if (rc != MERCER_OK)
        status = cli_fail_library(rc, &err, file_of(set, &err));
    if (status != CLI_DONE)
        goto out;
    cli_progress_clear();
    if (set->json) {
        json_t *json = json_object(), *report = evaluation_json(e, targets);
        json_object_set_new(json, "method", cli_json_text(set->method));
        json_object_set_new(json, "data", cli_json_text(set->operand[0]));
        json_object_set_new(json, "rows",
                            json_integer(mercer_rows_count(mercer_table_rows(o.table))));
        json_object_update(json, report);
        json_decref(report);
        json_object_set_new(json, "seconds", cli_json_real(cli_now() - start));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(out, json);
    } else if (!set->quiet) {
        fprintf(out, "Evaluated %s on %s\n\n", cli_visible(set->method),
                cli_visible(cli_shown(set->operand[0])));
        print_value(out, &info);
        cli_print_row(out, "which is", "%s", info.summary);
        if (info.positive && (set->positive || looks_for_one(&info)))
            cli_print_row(out, "looking for", "class '%s'", info.positive);
        print_choice(out, e, &info);
        print_folds(out, e, &info);
        print_confusion(out, &info, targets);
        cli_print_notices(app);
    }
out:
    mercer_evaluation_free(e);
    finish(&o);
    return status;
}

/* ---- compare ---- */

/* Mean and spread of the folds' differences from the first method, of folds where both have a
 * value. Rows that are judged together have none of their own: NaN. */
static void pair(const mercer_evaluation *first, const mercer_evaluation *other, int64_t folds,
                 double *mean, double *sd)
{
    double told = 0, sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t f = 0; f < folds; f++) {
            mercer_evaluation_fold a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
            mercer_evaluation_get_fold(first, f, &a);
            mercer_evaluation_get_fold(other, f, &b);
            const double difference = b.value - a.value;
            if (isnan(difference))
                continue;
            if (pass == 0) {
                told++;
                sum += difference;
            } else {
                squares += pow(difference - sum / told, 2);
            }
        }
    *mean = sum / told;
    *sd = told > 1 ? sqrt(squares / (told - 1)) : NAN;
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

static void print_comparison_json(const cli_app *app, mercer_evaluation **all,
                                  const mercer_targets *targets)
{
    const cli_list *methods = &app->set.methods;
    json_t *json = json_object(), *list = json_array();
    for (int i = 0; i < methods->count; i++) {
        const standing s = standing_of(all[0], all[i]);
        json_t *entry = evaluation_json(all[i], targets);
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
    cli_table_cell(&table, "spread");
    cli_table_cell(&table, "less the first");
    cli_table_cell(&table, "spread");
    cli_table_cell(&table, "points kept");
    for (int i = 0; i < methods->count; i++) {
        const standing s = standing_of(all[0], all[i]);
        cli_table_cell(&table, "%s", methods->item[i]);
        cli_table_cell(&table, "%.4g", s.info.mean);
        cell_or_blank(&table, "%.4g", s.info.sd);
        cell_or_blank(&table, "%+.4g", i ? s.difference : NAN);
        cell_or_blank(&table, "%.4g", i ? s.spread : NAN);
        cli_table_cell(&table, "%.4g", s.points);
    }
    printf("Compared on %s: %s, %lld fold%s\n\n", cli_visible(cli_shown(app->set.operand[0])),
           first.summary, (long long)first.folds, first.folds == 1 ? "" : "s");
    cli_table_print(&table, stdout, 2);
    cli_print_notices(app);
}

/* What is tuned of method i: of the texts that some method takes, those that this one takes. */
static cli_list tunes_of(cli_app *app, occasion *o, int i)
{
    const cli_settings *set = &app->set;
    cli_list taken = {.count = 0};
    for (int t = 0; t < set->tune.count; t++) {
        const char *text = set->tune.item[t];
        bool here = false, anywhere = false;
        for (int m = 0; m < set->methods.count; m++) {
            o->fit.method = set->methods.item[m];
            const bool applies = mercer_tune_applies(&o->fit, text);
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

static int run_compare(cli_app *app)
{
    const cli_settings *set = &app->set;
    mercer_evaluation *all[CLI_LIST_MOST] = {NULL};
    occasion o = {0};
    mercer_error err = {MERCER_OK, ""};
    int status = check_call(set, &set->methods);
    if (status == CLI_DONE)
        status = prepare(app, &o, &err);
    for (int i = 0; i < set->methods.count && status == CLI_DONE; i++) {
        mercer_ctx_set_seed(app->ctx, set->seed); /* the same folds for all */
        const cli_list tunes = tunes_of(app, &o, i);
        o.options.tune = tunes.item;
        o.options.tune_count = tunes.count;
        o.fit.method = set->methods.item[i];
        mercer_status rc = mercer_evaluate(app->ctx, &o.options, mercer_table_rows(o.table),
                                           mercer_table_targets(o.table), &all[i], &err);
        if (rc != MERCER_OK) {
            char *about = cli_format("%s: %s", cli_shown(file_of(set, &err)), set->methods.item[i]);
            status = cli_fail_library(rc, &err, about);
            free(about);
        }
    }
    if (status == CLI_DONE)
        status = check_metrics(&set->methods, all);
    if (status == CLI_DONE) {
        cli_progress_clear();
        if (set->json)
            print_comparison_json(app, all, mercer_table_targets(o.table));
        else if (!set->quiet)
            print_comparison(app, all);
    }
    for (int i = 0; i < CLI_LIST_MOST; i++)
        mercer_evaluation_free(all[i]);
    finish(&o);
    return status;
}

#define EVALUATE_OPTIONS                                                                           \
    CLI_OPTION("kernel", 'k', CLI_TEXT, kernel, "KERNEL", NULL, "as for fit"),                     \
        CLI_OPTION("components", 'n', CLI_COMPONENTS, components, "N", NULL,                       \
                   "how many features, unless --tune components tries several"),                   \
        CLI_OPTION("head", 0, CLI_TEXT, head, "HEAD", NULL,                                        \
                   "what predicts from the features, as ls or knn:k=5; 'mercer heads' lists "      \
                   "them; default: the method's own"),                                             \
        CLI_OPTION("cv", 0, CLI_TEXT, cv, "K|loo", NULL,                                           \
                   "folds, each held out in turn, or every row; default 5"),                       \
        CLI_OPTION("repeats", 0, CLI_COUNT, repeats, "R", NULL, "draw the folds R times"),         \
        CLI_OPTION("split", 0, CLI_TEXT, split, "FILE", NULL,                                      \
                   "instead of folds: each line lists the training rows of a split, from 0"),      \
        CLI_OPTION("test", 0, CLI_TEXT, test, "DATA", NULL,                                        \
                   "instead of folds: learn from all rows and judge by the rows of this file"),    \
        CLI_OPTION("test-labels", 0, CLI_TEXT, test_labels, "FILE", NULL,                          \
                   "labels of the test rows, one a line, as --labels are of the others"),          \
        CLI_OPTION("metric", 0, CLI_CHOICE, metric, "M",                                           \
                   "error|balanced|auc|ap|rmse|columns|structure|reconstruction|preimage",         \
                   "what is measured; default error of classes, rmse of values, without a head "   \
                   "structure"),                                                                   \
        CLI_OPTION("positive", 0, CLI_TEXT, positive, "CLASS", NULL,                               \
                   "which of two classes auc, ap and --roc look for; default: the one whose "      \
                   "first row comes later"),                                                       \
        CLI_OPTION("tune", 0, CLI_LIST, tune, "KEY=VALUES", NULL,                                  \
                   "choose within each training part: KEY is components, method.KEY, kernel.KEY "  \
                   "or head.KEY, VALUES a,b,c or A:B:+STEP or A:B:*FACTOR; or KEY is kernel and "  \
                   "VALUES are kernels; may be repeated"),                                         \
        CLI_OPTION("inner", 0, CLI_COUNT, inner, "K", NULL,                                        \
                   "folds within each training part for --tune; default 5"),                       \
        CLI_OPTION("center", 0, CLI_CHOICE, center, "HOW", "none|exact|span", "as for fit"),       \
        CLI_OPTION("scale", 0, CLI_CHOICE, scale, "HOW", CLI_SCALES,                               \
                   "scale the columns or rows first, learnt within each training part"),           \
        CLI_OPTION("scale-target", 0, CLI_CHOICE, scale_target, "HOW", "none|standard|norm",       \
                   "as for fit"),                                                                  \
        CLI_OPTION("store", 0, CLI_CHOICE, store, "HOW", "auto|dense|stream|lowrank",              \
                   "as for fit"),                                                                  \
        CLI_OPTION("precision", 0, CLI_CHOICE, precision, "P", "double|single", "as for fit"),     \
        CLI_OPTION_LABELS, CLI_OPTION_FORMAT, CLI_OPTION_RESIZE, CLI_OPTION_IMAGE_FEATURES,        \
        CLI_OPTION_ENCODE, CLI_OPTION_MISSING, CLI_OPTION_SEED, CLI_OPTION_MACHINE,                \
        CLI_OPTION_JSON, CLI_OPTION_QUIET, CLI_OPTION_HELP, CLI_OPTION_END

static const cli_option evaluate_options[] = {
    CLI_OPTION("method", 'm', CLI_TEXT, method, "METHOD", NULL,
               "how to find the features, as kpls"),
    CLI_OPTION("save-predictions", 0, CLI_TEXT, predictions, "FILE", NULL,
               "predictions of all rows held out, with fold, row (from 0) and scores"),
    CLI_OPTION("roc", 0, CLI_TEXT, roc, "FILE", NULL,
               "ROC curve of two classes, over all rows held out: fpr, tpr, threshold"),
    EVALUATE_OPTIONS,
};

static const cli_option compare_options[] = {
    CLI_OPTION("method", 'm', CLI_LIST, methods, "METHOD", NULL,
               "a method to compare; give it once for each"),
    EVALUATE_OPTIONS,
};

const cli_command cli_command_evaluate = {
    .name = "evaluate",
    .summary = "judge a method by rows that it has not learnt from",
    .operands = "DATA",
    .least = 1,
    .most = 1,
    .options = evaluate_options,
    .details = "Scaling, kernel widths, the head and what --tune chooses are learnt from the\n"
               "training part of each fold alone.\n\n"
               "Examples:\n"
               "  mercer evaluate data.csv -m kpls --label species --tune components=1:20:+1\n"
               "  mercer evaluate data.csv -m kpca --tune kernel.sigma=0.5:8:*2 -n 10\n",
    .run = run_evaluate,
};

const cli_command cli_command_compare = {
    .name = "compare",
    .summary = "judge several methods by the same rows held out",
    .operands = "DATA",
    .least = 1,
    .most = 1,
    .options = compare_options,
    .details = "Examples:\n"
               "  mercer compare data.csv -m pls -m kpls -m sma --label species -n 10\n",
    .run = run_compare,
};
