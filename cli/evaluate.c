/* SPDX-License-Identifier: BSD-3-Clause */
/* What evaluate and compare share; see evaluate.h. */
#include "evaluate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cli_read_cv(const char *text, int64_t *folds, int *ordered)
{
    static const char time[] = "time:";
    char *end = NULL;
    if (!text)
        return CLI_DONE;
    if (strcmp(text, "loo") == 0) {
        *folds = MERCER_LEAVE_ONE_OUT;
        return CLI_DONE;
    }
    *ordered = strncmp(text, time, strlen(time)) == 0;
    const char *number = text + (*ordered ? strlen(time) : 0);
    const long long value = strtoll(number, &end, 10);
    if (!isdigit((unsigned char)*number) || *end || value < 2 || value > 1000000000)
        return cli_fail(CLI_WRONG_CALL,
                        "--cv: '%s' is neither a number of folds from 2 on nor loo nor time:K%s",
                        text, strcmp(text, "time") == 0 ? "; did you mean time:5?" : "");
    *folds = value;
    return CLI_DONE;
}

mercer_status cli_read_groups(const cli_settings *set, const mercer_table *table, int64_t **groups,
                              mercer_error *err)
{
    if (!set->groups)
        return MERCER_OK;
    *groups = cli_alloc((size_t)mercer_rows_count(mercer_table_rows(table)) + 1, sizeof **groups);
    return mercer_table_groups(table, *groups, err);
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
        status = cli_fail(CLI_WRONG_CALL, "--cv, --split and --test: give only one of them");
    if (status == CLI_DONE && set->repeats &&
        (set->split || set->test || (set->cv && strcmp(set->cv, "loo") == 0) ||
         (set->cv && strncmp(set->cv, "time:", 5) == 0)))
        status = cli_fail(CLI_WRONG_CALL, "--repeats requires --cv and a number of folds");
    if (status == CLI_DONE && set->inner && set->tune.count == 0)
        status = cli_fail(CLI_WRONG_CALL, "--inner requires --tune");
    if (status == CLI_DONE && set->tune_rule && set->tune.count == 0)
        status = cli_fail(CLI_WRONG_CALL, "--tune-rule requires --tune");
    if (status == CLI_DONE && set->groups && set->cv && strncmp(set->cv, "time:", 5) == 0)
        status = cli_fail(CLI_WRONG_CALL, "--groups and --cv time:K: give only one of them");
    if (status == CLI_DONE && set->test_labels && !set->test)
        status = cli_fail(CLI_WRONG_CALL, "--test-labels requires --test");
    if (status == CLI_DONE && set->test && set->labels && !set->test_labels)
        status = cli_fail(CLI_WRONG_CALL,
                          "--labels are those of %s; give those of %s by "
                          "--test-labels",
                          cli_shown(set->operand[0]), cli_shown(set->test));
    if (status == CLI_DONE && set->split && set->missing && strcmp(set->missing, "drop") == 0)
        status = cli_fail(CLI_WRONG_CALL, "--missing drop with --split: row numbers would change; "
                                          "remove those rows from the file first");
    if (status == CLI_DONE && set->split && set->unlabelled && strcmp(set->unlabelled, "drop") == 0)
        status = cli_fail(CLI_WRONG_CALL, "--unlabelled drop with --split: row numbers would "
                                          "change; remove those rows from the file first");
    if (status == CLI_DONE)
        status = check_outputs(set);
    return status;
}

void cli_journal_note(const cli_settings *set)
{
    if (!set->journal)
        return;
    char *note = cli_format("the same command goes on with what is in %s.*", set->journal);
    cli_interrupt_note(note);
    free(note);
}

int cli_journal_end(const cli_app *app, int status)
{
    mercer_error err = {0};
    if (!app->set.journal || mercer_ctx_rank(app->ctx) > 0)
        return status;
    status = cli_finish_stdout(status);
    if (status != CLI_DONE)
        return status;
    const mercer_status rc = mercer_journal_remove(app->set.journal, &err);
    return rc == MERCER_OK ? status : cli_fail_library(rc, &err, NULL);
}

bool cli_evaluate_is_spread(const cli_settings *set)
{
    (void)set;
    return true;
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
    o->options.tune_rule = set->tune_rule;
    o->options.importance = set->importance;
    o->options.journal = set->journal;
    cli_journal_note(set);
    o->options.predictions = set->roc           ? MERCER_PREDICTIONS_RANKED
                             : set->predictions ? MERCER_PREDICTIONS_ANY
                                                : 0;
    int status = cli_read_cv(set->cv, &o->options.folds, &o->options.ordered);
    if (status == CLI_DONE)
        status = cli_spool(app);
    if (status != CLI_DONE)
        return status;
    mercer_read_options reading;
    cli_read_options(set, &reading);
    mercer_status rc = mercer_table_read(app->ctx, set->operand[0], &reading, &o->table, err);
    if (rc != MERCER_OK)
        return cli_fail_reading(set, rc, err, set->operand[0]);
    rc = cli_read_groups(set, o->table, &o->groups, err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, err, set->operand[0]);
    o->options.groups = o->groups;
    const int64_t n = mercer_rows_count(mercer_table_rows(o->table));
    if (set->split) {
        status = cli_splits_read(app, set->split, n, &o->splits);
        o->options.splits = o->splits.count;
        o->options.split_start = o->splits.start;
        o->options.split_rows = o->splits.rows;
    }
    if (set->test) {
        mercer_table_read_options(o->table, &reading);
        /* by their names */
        reading.use_columns = reading.drop_columns = reading.id = reading.groups = NULL;
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
    free(o->groups);
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
