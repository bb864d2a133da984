/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer plot: pictures of a model, and of rows as it sees them. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* --axes 1,2. Returns 0 or a status after one line. */
static int read_axes(const char *text, int64_t axes[2])
{
    char *end = NULL;
    if (!text)
        return CLI_DONE;
    axes[0] = strtoll(text, &end, 10);
    if (end != text && *end == ',' && axes[0] > 0) {
        const char *second = end + 1;
        axes[1] = strtoll(second, &end, 10);
        if (end != second && !*end && axes[1] > 0)
            return CLI_DONE;
    }
    return cli_fail(CLI_WRONG_CALL,
                    "--axes: '%s' is not two numbers of 1 or more with a comma between them, e.g. "
                    "1,2",
                    text);
}

/* ---- a tuning, from the report of evaluate ---- */

typedef struct tuning {
    json_t *report;        /* owned */
    chart_grid_axis *axis; /* owned, with its values */
    double *mean, *se;     /* owned */
    chart_grid grid;
} tuning;

static void free_tuning(tuning *t)
{
    for (int64_t a = 0; t->axis && a < t->grid.axes; a++) {
        for (int64_t i = 0; t->axis[a].values && i < t->axis[a].count; i++)
            free((char *)t->axis[a].values[i]);
        free((void *)t->axis[a].values);
    }
    free(t->axis);
    free(t->mean);
    free(t->se);
    json_decref(t->report);
}

/* null is NaN. */
static double real_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static char *text_of(const json_t *value)
{
    char number[MERCER_NUMBER_SIZE];
    if (json_is_string(value))
        return cli_copy(json_string_value(value));
    mercer_number_format(real_of(value), number, sizeof number);
    return cli_copy(number);
}

/* Whether the report has all of a grid, each part as long as it says. */
static bool read_grid(tuning *t)
{
    const json_t *grid = json_object_get(t->report, "grid");
    const json_t *axes = json_object_get(grid, "axes"), *cells = json_object_get(grid, "cells");
    const json_t *metric = json_object_get(t->report, "metric");
    const char *name = json_string_value(metric);
    int64_t product = 1;
    t->grid.axes = (int64_t)json_array_size(axes);
    t->grid.cells = (int64_t)json_array_size(cells);
    t->grid.chosen = json_integer_value(json_object_get(grid, "chosen"));
    t->grid.metric = name;
    t->grid.method = json_string_value(json_object_get(t->report, "method"));
    if (!name || t->grid.axes < 1 || t->grid.cells < 1 || t->grid.chosen < 0 ||
        t->grid.chosen >= t->grid.cells)
        return false;
    t->grid.larger_is_better = json_is_true(json_object_get(t->report, "larger_is_better"));
    t->grid.axis = t->axis = cli_alloc((size_t)t->grid.axes, sizeof *t->axis);
    t->grid.mean = t->mean = cli_alloc((size_t)t->grid.cells, sizeof *t->mean);
    t->grid.se = t->se = cli_alloc((size_t)t->grid.cells, sizeof *t->se);
    for (int64_t a = 0; a < t->grid.axes; a++) {
        const json_t *one = json_array_get(axes, (size_t)a);
        const json_t *values = json_object_get(one, "values");
        const int64_t count = (int64_t)json_array_size(values);
        const char **texts = cli_alloc((size_t)count, sizeof *texts);
        for (int64_t i = 0; i < count; i++)
            texts[i] = text_of(json_array_get(values, (size_t)i));
        t->axis[a] =
            (chart_grid_axis){json_string_value(json_object_get(one, "key")), count, texts};
        if (!t->axis[a].key || count < 1 || count > t->grid.cells)
            return false;
        product *= count;
        if (product > t->grid.cells)
            return false;
    }
    for (int64_t i = 0; i < t->grid.cells; i++) {
        const json_t *cell = json_array_get(cells, (size_t)i);
        t->mean[i] = real_of(json_object_get(cell, "mean"));
        t->se[i] = real_of(json_object_get(cell, "se"));
    }
    return product == t->grid.cells;
}

/* ---- the importance of columns, from the report of evaluate ---- */

typedef struct columns {
    const char **names; /* owned; texts borrowed from the report */
    double *loss, *sd;  /* owned */
    chart_importance importance;
} columns;

static void free_columns(columns *c)
{
    free(c->names);
    free(c->loss);
    free(c->sd);
}

/* Whether the report tells of columns. */
static bool read_columns(columns *c, const json_t *report)
{
    const json_t *list = json_object_get(report, "importance");
    const size_t count = json_array_size(list);
    c->importance.metric = json_string_value(json_object_get(report, "metric"));
    c->importance.method = json_string_value(json_object_get(report, "method"));
    if (!c->importance.metric || count == 0)
        return false;
    c->importance.columns = (int64_t)count;
    c->importance.names = c->names = cli_alloc(count, sizeof *c->names);
    c->importance.loss = c->loss = cli_alloc(count, sizeof *c->loss);
    c->importance.sd = c->sd = cli_alloc(count, sizeof *c->sd);
    for (size_t k = 0; k < count; k++) {
        const json_t *one = json_array_get(list, k);
        c->names[k] = json_string_value(json_object_get(one, "column"));
        c->loss[k] = real_of(json_object_get(one, "loss"));
        c->sd[k] = real_of(json_object_get(one, "sd"));
    }
    return true;
}

/* The report at `path`. NULL after one line on standard error. */
static json_t *load_report(const cli_settings *set, const char *path)
{
    json_error_t fault;
    json_t *report = NULL;
    if (strcmp(path, "-") == 0) {
        report = json_loadf(stdin, 0, &fault);
    } else if (!set->untrusted && set->limits.count == 0) {
        report = json_load_file(path, 0, &fault);
    } else {
        const int fd = cli_open_list(set, path);
        if (fd < 0)
            return NULL;
        report = json_loadfd(fd, 0, &fault);
        close(fd);
    }
    if (!report)
        cli_fail(CLI_FAILED, "%s: is not JSON: line %d: %s", cli_shown(path), fault.line,
                 fault.text);
    return report;
}

/* The kind that was asked for, else what the report has. */
static int plot_report(cli_app *app, const chart_kind *kind)
{
    const cli_settings *set = &app->set;
    const char *path = set->operand[0];
    mercer_error err = {0};
    tuning t = {.report = load_report(set, path)};
    columns c = {0};
    chart_subject subject = {.ctx = app->ctx};
    int status = CLI_DONE;
    const bool grid = !kind || (kind->of & CHART_OF_GRID), wants_columns = !kind || !grid;
    if (!t.report)
        status = CLI_FAILED;
    else if (grid && read_grid(&t))
        subject.grid = &t.grid;
    else if (wants_columns && read_columns(&c, t.report))
        subject.importance = &c.importance;
    else
        status = cli_fail(CLI_FAILED, "%s: has no %s; write it with mercer evaluate ... %s --json",
                          cli_shown(path),
                          kind && !grid ? "importance of columns"
                          : kind        ? "grid"
                                        : "grid and no importance of columns",
                          kind && !grid ? "--importance"
                          : kind        ? "--tune ..."
                                        : "--tune ... or --importance");
    if (status == CLI_DONE) {
        const mercer_status rc =
            cli_draw(app, &subject, subject.grid ? "tuning" : "importance", set->output, &err);
        if (rc != MERCER_OK)
            status = cli_fail_library(rc, &err, path);
    }
    free_columns(&c);
    free_tuning(&t);
    return status;
}

/* Whether MODEL is the report of an evaluation. */
static bool is_report(const char *path)
{
    const char *dot = strrchr(path, '.');
    return strcmp(path, "-") == 0 || (dot && strcasecmp(dot, ".json") == 0);
}

static int run_plot(cli_app *app)
{
    const cli_settings *set = &app->set;
    const char *data = set->operands > 1 ? set->operand[1] : NULL;
    const chart_kind *kind = set->kind ? chart_kind_find(set->kind) : NULL;
    chart_subject subject = {.ctx = app->ctx};
    mercer_error err = {0};
    mercer_model *model = NULL;
    int status = cli_check_picture("plot", set->output);
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, set->operand[0], "model");
    if (status == CLI_DONE && data)
        status = cli_check_overwrite(set->output, data, "data");
    if (status == CLI_DONE)
        status = read_axes(set->axes, subject.axes);
    const bool report = is_report(set->operand[0]);
    const bool of_report = kind && (kind->of & (CHART_OF_GRID | CHART_OF_IMPORTANCE));
    if (status == CLI_DONE && (report ? kind && !of_report : of_report))
        status = cli_fail(CLI_WRONG_CALL,
                          "plot: --kind tuning and --kind importance draw the JSON report of "
                          "'mercer evaluate' with --tune or --importance, and no other kind does");
    if (status == CLI_DONE && report && data)
        status =
            cli_fail(CLI_WRONG_CALL,
                     "plot: the report of an evaluation is drawn without rows; leave %s out", data);
    if (status == CLI_DONE && report)
        return plot_report(app, kind);
    if (status == CLI_DONE && kind && !data && !(kind->of & CHART_OF_MODEL))
        status = cli_fail(CLI_WRONG_CALL, "plot: --kind %s needs rows: mercer plot MODEL DATA ...",
                          set->kind);
    if (status == CLI_DONE && kind && data && !(kind->of & CHART_OF_DATA))
        status = cli_fail(CLI_WRONG_CALL,
                          "plot: --kind %s is a picture of the model alone; leave %s out",
                          set->kind, data);
    if (status != CLI_DONE)
        return status;

    mercer_status rc = mercer_model_load(app->ctx, set->operand[0], &model, &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, set->operand[0]);
    subject.model = model;
    const char *name = set->kind ? set->kind : data ? "features" : cli_usual_kind(&subject);
    if (data)
        rc = cli_draw_rows(app, &subject, data, name, set->output, &err);
    else if (name)
        rc = cli_draw(app, &subject, name, set->output, &err);
    if (!name)
        status = cli_fail(CLI_FAILED,
                          "plot: %s: there is nothing to draw of this model alone; name "
                          "rows, too: mercer plot MODEL DATA ...",
                          set->operand[0]);
    else if (rc == MERCER_OK)
        cli_print_notices(app);
    else if (data && !mercer_model_column_name(model, 0))
        status = cli_fail_reading(set, rc, &err, data);
    else
        status = cli_fail_library(rc, &err, data ? data : set->operand[0]);
    mercer_model_free(model);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION("kind", 0, CLI_CHOICE, kind, "KIND",
               "spectrum|selection|head|trace|features|pairs|errors|preimages|confusion|roc|"
               "tuning|importance",
               "what to draw; default: features with DATA, else the first of spectrum, selection, "
               "head, trace that there is; of a JSON report tuning, else importance"),
    CLI_OPTION("output", 'o', CLI_TEXT, output, "FILE.svg", NULL,
               "SVG file to write; default: draw in the terminal"),
    CLI_OPTION("axes", 0, CLI_TEXT, axes, "X,Y", NULL,
               "which features (of preimages: columns) to draw, by their numbers; default 1,2, of "
               "preimages the first two columns that are not constant"),
    CLI_OPTION_MODEL_ROWS,
    CLI_OPTION_MACHINE,
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_LAST,
};

const cli_command cli_command_plot = {
    .name = "plot",
    .summary = "draw a model, or rows as it sees them, in the terminal or as SVG",
    .operands = "MODEL DATA",
    .usage = "MODEL [DATA] [options]",
    .least = 1,
    .most = 2,
    .options = options,
    .details = "Examples:\n"
               "  mercer plot my.model\n"
               "  mercer plot my.model data.csv -o features.svg\n"
               "  mercer plot my.model data.csv --kind errors\n",
    .run = run_plot,
};
