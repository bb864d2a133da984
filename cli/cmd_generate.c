/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer generate: data sets to try things on. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int unknown_set(const char *name)
{
    char *known = cli_copy("");
    const char *best = NULL;
    int least = 0;
    for (int i = 0; mercer_dataset_name(i); i++) {
        const char *candidate = mercer_dataset_name(i);
        const int distance = cli_distance(name, candidate);
        if (cli_resembles(name, candidate) && (!best || distance < least)) {
            best = candidate;
            least = distance;
        }
        char *longer = cli_format("%s%s%s", known, i ? ", " : "", candidate);
        free(known);
        known = longer;
    }
    const int status =
        best ? cli_fail(CLI_WRONG_CALL, "unknown data set '%s'; did you mean '%s'? There are %s",
                        name, best, known)
             : cli_fail(CLI_WRONG_CALL, "unknown data set '%s'; there are %s", name, known);
    free(known);
    return status;
}

static int run_generate(cli_app *app)
{
    const cli_settings *set = &app->set;
    bool found = false;
    for (int i = 0; mercer_dataset_name(i) && !found; i++)
        found = strcmp(mercer_dataset_name(i), set->operand[0]) == 0;
    if (!found)
        return unknown_set(set->operand[0]);
    int status = cli_check_output(set->output);
    if (status != CLI_DONE)
        return status;

    mercer_error err = {0};
    mercer_table *table = NULL;
    cli_sink sink = {0};
    char **names = NULL;
    mercer_dataset_options options;
    mercer_dataset_options_init(&options);
    if (set->rows)
        options.rows = set->rows;
    if (set->noise >= 0)
        options.noise = set->noise;

    mercer_status rc = mercer_dataset_generate(app->ctx, set->operand[0], &options, &table, &err);
    if (rc != MERCER_OK)
        goto out;
    const mercer_rows *rows = mercer_table_rows(table);
    const mercer_targets *targets = mercer_table_targets(table);
    const int64_t n = mercer_rows_count(rows), d = mercer_rows_columns(rows);
    names = cli_names(rows, "x", d);
    rc = cli_sink_open(&sink, app, set->output, set->format, d, (const char *const *)names, targets,
                       NULL, &err);
    if (rc == MERCER_OK)
        rc = cli_sink_table(&sink, app->ctx, rows, targets, NULL, &err);
    if (rc == MERCER_OK)
        rc = cli_sink_finish(&sink, app->ctx, &err);
    if (rc != MERCER_OK)
        goto out;
    cli_print_notices(app);
    if (!cli_is_stdout(set->output) && !set->quiet)
        printf("%s: %s rows x %s columns\n", cli_visible(sink.path), cli_text_count(n).text,
               cli_text_count(d).text);
out:
    if (rc != MERCER_OK)
        status = cli_fail_library(rc, &err, NULL);
    cli_sink_abort(&sink);
    if (names)
        cli_names_free(names, mercer_rows_columns(mercer_table_rows(table)));
    mercer_table_free(table);
    return status;
}

static void print_sets(void)
{
    printf("Data sets:\n");
    cli_table table = {.align = "ll"};
    for (int i = 0; mercer_dataset_name(i); i++) {
        cli_table_cell(&table, "%s", mercer_dataset_name(i));
        cli_table_cell(&table, "%s", mercer_dataset_summary(i));
    }
    cli_table_print(&table, stdout, 2);
}

static const cli_option options[] = {
    CLI_OPTION("rows", 0, CLI_COUNT, rows, "N", NULL, "how many rows; default: the set's own"),
    CLI_OPTION("noise", 0, CLI_REAL, noise, "S", NULL,
               "standard deviation of the noise; default: the set's own"),
    CLI_OPTION_SEED,
    CLI_OPTION_OUTPUT,
    CLI_OPTION("format", 0, CLI_FORMAT_OUT, format, "F", NULL,
               "format of the output when its extension does not say"),
    CLI_OPTION_LAST,
};

const cli_command cli_command_generate = {
    .name = "generate",
    .summary = "make a data set to try things on",
    .operands = "NAME",
    .least = 1,
    .most = 1,
    .options = options,
    .print_extra = print_sets,
    .name_at = mercer_dataset_name,
    .details = "Examples:\n"
               "  mercer generate circle --rows 1000 -o ring.csv\n"
               "  mercer generate swiss-roll --seed 7 | mercer fit - -m kpca\n",
    .run = run_generate,
};
