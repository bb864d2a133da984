/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer plot: pictures of a model, and of rows as it sees them. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

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
    rc = data ? cli_draw_rows(app, &subject, data, set->kind ? set->kind : "features", set->output,
                              &err)
              : cli_draw(app, &subject, set->kind ? set->kind : cli_usual_kind(&subject),
                         set->output, &err);
    if (rc == MERCER_OK)
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
               "spectrum|selection|head|trace|features|pairs|errors|preimages|confusion|roc",
               "what to draw; default: features with DATA, else the first of spectrum, selection, "
               "head, trace that there is"),
    CLI_OPTION("output", 'o', CLI_TEXT, output, "FILE.svg", NULL,
               "SVG file to write; default: draw in the terminal"),
    CLI_OPTION("axes", 0, CLI_TEXT, axes, "X,Y", NULL,
               "which features (of preimages: columns) to draw, by their numbers; default 1,2"),
    CLI_OPTION_LABELS,
    CLI_OPTION_ID,
    CLI_OPTION_FORMAT,
    CLI_OPTION_RESIZE,
    CLI_OPTION_MACHINE,
    CLI_OPTION_QUIET,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
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
