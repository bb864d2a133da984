/* What evaluate and compare share; see evaluate.h. */
#include "evaluate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

int cli_evaluate_check(const cli_settings *set, const cli_list *methods)
{
    if (methods->count == 0)
        return cli_fail(CLI_WRONG_CALL, "%s: name a method, e.g. -m kpls",
                        methods == &set->methods ? "compare" : "evaluate");
    int status = CLI_DONE;
    for (int i = 0; i < methods->count && status == CLI_DONE; i++)
        status = cli_check_spec("method", methods->item[i], mercer_method_at);
    if (status == CLI_DONE && (set->cv != NULL) + (set->split != NULL) + (set->test != NULL) > 1)
        status = cli_fail(CLI_WRONG_CALL, "--cv, --split and --test: only one of them at a time");
    if (status == CLI_DONE && set->repeats &&
        (set->split || set->test || (set->cv && strcmp(set->cv, "loo") == 0)))
        status = cli_fail(CLI_WRONG_CALL, "--repeats requires --cv and a number of folds");
    if (status == CLI_DONE && set->inner && set->tune.count == 0)
        status = cli_fail(CLI_WRONG_CALL, "--inner requires --tune");
    if (status == CLI_DONE && set->test_labels && !set->test)
        status = cli_fail(CLI_WRONG_CALL, "--test-labels requires --test");
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

int cli_evaluate_prepare(cli_app *app, cli_evaluate_inputs *o, mercer_error *err)
{
    const cli_settings *set = &app->set;
    o->fit = set->fit;
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
        reading.use_columns = reading.drop_columns = reading.id = NULL; /* by their names */
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

void cli_evaluate_finish(cli_evaluate_inputs *o)
{
    mercer_table_free(o->table);
    mercer_table_free(o->test);
    cli_splits_free(&o->splits);
}

void cli_table_number(cli_table *table, const char *format, double value)
{
    char text[40] = "";
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
    cli_table_cell(table, "%s", text);
}

const char *cli_evaluate_file_of(const cli_settings *set, const mercer_error *err)
{
    return strcmp(err->input, "test") == 0 ? set->test : set->operand[0];
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

json_t *cli_json_evaluation(const mercer_evaluation *e, const mercer_targets *targets)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_get_info(e, &info);
    json_t *json = json_object(), *folds = json_array();
    json_object_set_new(json, "metric", cli_json_text(info.metric));
    json_object_set_new(json, "larger_is_better", json_boolean(info.larger_is_better));
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
