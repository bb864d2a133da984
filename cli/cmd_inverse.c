/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer inverse: rows whose features are near the given ones (pre-images), block by block. */
#include "cli.h"

#include <stdlib.h>

static char **model_names(const mercer_model *model, int64_t columns, bool with_error)
{
    char **names = cli_names_numbered("x", columns, with_error);
    for (int64_t j = 0; j < columns; j++) {
        const char *name = mercer_model_column_name(model, j);
        if (name) {
            free(names[j]);
            names[j] = cli_copy(name);
        }
    }
    return names;
}

static int run_inverse(cli_app *app)
{
    cli_row_pipe p;
    double *features = NULL;
    char **feature_names = NULL;
    mercer_status rc = MERCER_OK;
    int status = cli_row_pipe_start(&p, app, true);
    const int64_t l = p.info.components, d = p.info.columns;
    if (status != CLI_DONE)
        goto out;

    mercer_read_options reading;
    cli_read_options(&app->set, &reading);
    feature_names = cli_names_numbered("f", l, 0);
    reading.only = (const char *const *)feature_names;
    reading.only_count = l;
    reading.columns = l;
    if (!reading.id) {
        reading.id = p.info.id_column ? p.info.id_column : "none";
        reading.id_optional = 1;
    }
    reading.skip_labels = 1;
    rc = cli_row_pipe_open(&p, &reading, l, l + d, model_names(p.model, d, app->set.errors), d,
                           app->set.errors);
    if (rc != MERCER_OK)
        goto out;
    features = cli_alloc((size_t)p.room, (size_t)l * 8);

    for (const mercer_rows *rows;;) {
        rc = cli_row_pipe_next(&p, &rows);
        if (rc != MERCER_OK || !rows)
            break;
        const int64_t count = mercer_rows_count(rows), columns = mercer_rows_columns(rows);
        if (columns != l) { /* only without names: else just f1, f2, ... were read */
            status = cli_fail(CLI_FAILED,
                              "%s: has %lld columns; expected f1 to f%lld, the model's features",
                              cli_shown(p.path), (long long)columns, (long long)l);
            goto out;
        }
        mercer_rows_copy(rows, 0, count, features);
        rc = mercer_model_inverse(app->ctx, p.model, features, count, p.values, p.errors, &p.err);
        if (rc == MERCER_OK)
            rc = cli_row_pipe_write(&p, NULL);
        if (rc != MERCER_OK)
            break;
    }
    if (rc == MERCER_OK)
        rc = cli_row_pipe_finish(&p, "columns", "columns", "preimage_error");
out:
    cli_names_free(feature_names, l);
    free(features);
    return cli_row_pipe_end(&p, rc, status);
}

static const cli_option options[] = {
    CLI_OPTION(
        "output", 'o', CLI_TEXT, output, "OUT", NULL,
        "file to write; its extension gives the format: .csv .tsv .npy .svm, also .gz; for a "
        "model of images also .pgm .png, or a folder, e.g. images/; default: CSV on standard "
        "output"),
    CLI_OPTION("errors", 0, CLI_FLAG, errors, NULL, NULL,
               "add a column 'error': the squared distance in feature space between what was asked "
               "for and what was found"),
    CLI_OPTION("sheet", 0, CLI_SHAPE, sheet, "WxH", NULL,
               "several images in one file, W side by side and H below each other; default: "
               "ten in a line"),
    CLI_OPTION_ID,
    CLI_OPTION_FORMAT,
    CLI_OPTION(
        "output-format", 0, CLI_FORMAT_OUT, output_format, "F", "pgm|ppm|png",
        "format of the output when its extension does not say; default: csv; in a folder pgm, "
        "or ppm for colour"),
    CLI_OPTION_MACHINE,
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_JSON,
    CLI_OPTION_LAST,
};

const cli_command cli_command_inverse = {
    .name = "inverse",
    .summary = "find the rows that belong to given features (pre-images)",
    .operands = "MODEL FEATURES",
    .least = 2,
    .most = 2,
    .options = options,
    .details = "FEATURES is what 'mercer transform' writes: columns f1, f2, ...; other\n"
               "columns are ignored. "
               "Noisy rows come back with less noise.\n\n"
               "Examples:\n"
               "  mercer transform my.model noisy.csv | mercer inverse my.model - -o clean.csv\n"
               "  mercer transform faces.model faces | mercer inverse faces.model - -o seen/\n",
    .run = run_inverse,
};
