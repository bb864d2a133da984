/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer transform: features of new rows, block by block in bounded memory. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* k(x,x) of the rows, from --self: one number per row. Returns 0 or a status after one line. */
static int read_self(cli_app *app, double **self, int64_t *count)
{
    const char *path = app->set.self;
    mercer_error err = {0};
    mercer_read_options reading;
    mercer_read_options_init(&reading);
    reading.no_label = 1;
    reading.header = app->set.header;
    cli_read_other(path, &reading);
    mercer_table *table = NULL;
    const mercer_status rc = mercer_table_read(app->ctx, path, &reading, &table, &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, path);
    const mercer_rows *rows = mercer_table_rows(table);
    const int64_t columns = mercer_rows_columns(rows);
    if (columns == 1) {
        *count = mercer_rows_count(rows);
        *self = cli_alloc((size_t)*count, sizeof **self);
        mercer_rows_copy(rows, 0, *count, *self);
    }
    mercer_table_free(table);
    if (columns == 1)
        return CLI_DONE;
    return cli_fail(CLI_FAILED, "%s: has %lld columns; expected one, k(x,x) of each row",
                    cli_shown(path), (long long)columns);
}

/* There is nothing for --keep-label. */
static int fail_to_keep(const cli_row_pipe *p)
{
    const char *name =
        p->info.label_column ? p->info.label_column : mercer_model_target_name(p->model, 0);
    if (name && !p->app->set.no_label)
        return cli_fail(CLI_FAILED,
                        "%s: the model's %s column '%s' is not in the table; name another with "
                        "--label COL",
                        cli_shown(p->path), p->info.label_column ? "label" : "target", name);
    return cli_fail(CLI_FAILED, "%s: has no label column to keep; name it with --label COL",
                    cli_shown(p->path));
}

static int run_transform(cli_app *app)
{
    const cli_settings *set = &app->set;
    if (set->self && !set->errors)
        return cli_fail(CLI_WRONG_CALL, "transform: --self is for --errors; add --errors");

    if (set->top && !set->errors)
        return cli_fail(CLI_WRONG_CALL, "transform: --top is for --errors; add --errors");

    if (set->plot && strcmp(set->operand[1], "-") == 0)
        return cli_fail(CLI_WRONG_CALL,
                        "transform: --plot reads the rows a second time; give DATA as a file");

    if (set->top && mercer_ctx_ranks(app->ctx) > 1)
        return cli_fail(CLI_WRONG_CALL,
                        "transform: --top compares all rows, which are spread over ranks: leave it "
                        "out, or run on one, without the launcher");

    const bool writes = mercer_ctx_rank(app->ctx) == 0;
    cli_row_pipe p;
    double *self = NULL;
    int64_t self_count = 0;
    mercer_status rc = MERCER_OK;
    int status = cli_row_pipe_start(&p, app, false);
    if (status == CLI_DONE && writes)
        status = cli_check_picture("transform", set->plot);
    if (status == CLI_DONE && set->plot)
        status = cli_check_overwrite(set->plot, set->operand[1], "data");
    if (status != CLI_DONE)
        goto out;
    const int64_t l = p.info.components;
    p.top = set->top ? cli_top_new(set->top) : NULL;
    if (set->errors && !set->self && p.info.precomputed) {
        status =
            cli_fail(CLI_WRONG_CALL, "transform: errors with a precomputed kernel need k(x,x) of "
                                     "each row; add --self FILE");
        goto out;
    }
    if (set->self)
        status = read_self(app, &self, &self_count);
    if (status != CLI_DONE)
        goto out;

    mercer_read_options reading;
    cli_read_options(set, &reading);
    mercer_model_read_options(p.model, &reading);
    reading.skip_labels = !set->keep_label;
    mercer_array held = {.struct_size = sizeof held};
    const bool novelty = set->errors && p.info.novelty_share > 0;
    const int extra =
        set->errors + novelty +
        (novelty && mercer_model_array(p.model, "held_errors", &held, NULL) == MERCER_OK);
    rc = cli_row_pipe_open(&p, &reading, p.info.columns, l, cli_names_numbered("f", l, extra), l,
                           extra);
    if (rc != MERCER_OK)
        goto out;

    for (const mercer_rows *rows;;) {
        rc = cli_row_pipe_next(&p, &rows);
        if (rc != MERCER_OK || !rows)
            break;
        const mercer_targets *targets = mercer_table_targets(p.block);
        if (!p.begun) {
            if (set->keep_label &&
                (!targets || mercer_targets_kind(targets) == MERCER_TARGET_NONE)) {
                status = fail_to_keep(&p);
                goto out;
            }
            cli_row_pipe_note_skipped(&p);
        }
        if (self && p.before + mercer_rows_count(rows) > self_count) {
            status = cli_fail(CLI_FAILED, "%s: has only %lld rows, %s has more", set->self,
                              (long long)self_count, cli_shown(p.path));
            goto out;
        }
        rc = mercer_model_transform(app->ctx, p.model, rows, self ? self + p.before : NULL,
                                    p.values, p.errors, &p.err);
        if (rc == MERCER_ERR_DATA)
            cli_error_place(&p.err, p.before);
        if (rc == MERCER_OK)
            rc = cli_row_pipe_write(&p, set->keep_label ? targets : NULL);
        if (rc != MERCER_OK)
            break;
    }
    if (rc == MERCER_OK && self && p.total.rows < self_count) {
        status = cli_fail(CLI_FAILED, "%s: has %lld rows, but %s only %lld", set->self,
                          (long long)self_count, cli_shown(p.path), (long long)p.total.rows);
        goto out;
    }
    if (rc == MERCER_OK && set->plot && writes) {
        const chart_subject subject = {.ctx = app->ctx, .model = p.model};
        rc = cli_draw_rows(app, &subject, p.path, "features", set->plot, &p.err);
    }
    if (rc == MERCER_OK)
        rc = cli_row_pipe_finish(&p, "features", "components", "reconstruction_error");
out:
    free(self);
    return cli_row_pipe_end(&p, rc, status);
}

static const cli_option options[] = {
    CLI_OPTION_OUTPUT,
    CLI_OPTION("errors", 0, CLI_FLAG, errors, NULL, NULL,
               "add a column 'error': the squared reconstruction error of the row; and a column "
               "'novel', 0 or 1, and 'p', its p-value, when the model was fitted with --novelty"),
    CLI_OPTION("top", 0, CLI_COUNT, top, "N", NULL,
               "with --errors: only the N rows of the largest errors, worst first, and of each its "
               "id (else its row, from 0), the label with --keep-label, error, novel and p"),
    CLI_OPTION_PLOT("the first two features, by class"),
    CLI_OPTION("keep-label", 0, CLI_FLAG, keep_label, NULL, NULL,
               "put the label column (or the target columns) in front"),
    CLI_OPTION("self", 0, CLI_TEXT, self, "FILE", NULL,
               "k(x,x) of each row, one per line; for --errors with a precomputed kernel"),
    CLI_OPTION_NEW_ROWS,
    CLI_OPTION_END,
};

const cli_command cli_command_transform = {
    .name = "transform",
    .summary = "compute the features f1, f2, ... of the rows of a table",
    .operands = "MODEL DATA",
    .least = 2,
    .most = 2,
    .options = options,
    .details = "Columns are matched by name when both the model and the data have names, else by\n"
               "position. "
               "DATA may be '-', standard input; each row from a pipe is answered\n"
               "at once.\n\n"
               "Examples:\n"
               "  mercer transform my.model new.csv -o features.csv\n"
               "  mercer transform my.model new.csv --errors --keep-label | head\n",
    .run = run_transform,
    .is_spread = cli_share_is_spread,
};
