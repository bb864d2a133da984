/* SPDX-License-Identifier: BSD-3-Clause */
/* What evaluate and compare share: their inputs, options and JSON. */
#ifndef CLI_EVALUATE_H
#define CLI_EVALUATE_H

#include "cli.h"

/* Everything that is read before the work starts. */
typedef struct cli_evaluate_inputs {
    mercer_table *table, *test; /* owned */
    cli_splits splits;
    mercer_fit_options fit;
    mercer_evaluate_options options;
} cli_evaluate_inputs;

/* Whether the call makes sense, for the methods that it names. Returns 0 or a status after one
 * line. */
int cli_evaluate_check(const cli_settings *set, const cli_list *methods);

/* Options of the fits, and of the evaluation around them, and all files read. Returns 0 or a status
 * after one line; cli_evaluate_finish() is due in any case. */
int cli_evaluate_prepare(cli_app *app, cli_evaluate_inputs *o, mercer_error *err);
void cli_evaluate_finish(cli_evaluate_inputs *o);

/* The file that an error of the library is about. */
const char *cli_evaluate_file_of(const cli_settings *set, const mercer_error *err);

/* A cell with a number, or an empty one for NaN. */
void cli_table_number(cli_table *table, const char *format, double value);

#define CLI_OPTION_EVALUATE                                                                        \
    CLI_FIT("kernel", 'k', "KERNEL", "as for fit", NULL),                                          \
        CLI_FIT("components", 'n', "N",                                                            \
                "how many features, unless --tune components tries several", NULL),                \
        CLI_FIT("head", 0, "HEAD",                                                                 \
                "what predicts from the features, e.g. ls or knn:k=5; 'mercer heads' lists "       \
                "them; default: the method's own",                                                 \
                NULL),                                                                             \
        CLI_OPTION("cv", 0, CLI_TEXT, cv, "K|loo", NULL,                                           \
                   "number of folds, each held out in turn; loo: one fold per row; default 5"),    \
        CLI_OPTION("repeats", 0, CLI_COUNT, repeats, "R", NULL, "draw the folds R times"),         \
        CLI_OPTION("split", 0, CLI_TEXT, split, "FILE", NULL,                                      \
                   "instead of folds: each line lists the training rows of a split, from 0"),      \
        CLI_OPTION("test", 0, CLI_TEXT, test, "DATA", NULL,                                        \
                   "instead of folds: learn from all rows and judge by the rows of this file"),    \
        CLI_OPTION("test-labels", 0, CLI_TEXT, test_labels, "FILE", NULL,                          \
                   "labels of the test rows, one per line, like --labels for the others"),         \
        CLI_OPTION("metric", 0, CLI_CHOICE, metric, "M",                                           \
                   "error|balanced|auc|ap|rmse|columns|structure|reconstruction|preimage",         \
                   "what is measured; default: error for classes, rmse for values, structure "     \
                   "without a head"),                                                              \
        CLI_OPTION("positive", 0, CLI_TEXT, positive, "CLASS", NULL,                               \
                   "which of two classes auc, ap and --roc look for; default: the one whose "      \
                   "first row comes later"),                                                       \
        CLI_OPTION("tune", 0, CLI_LIST, tune, "KEY=VALUES", NULL,                                  \
                   "values to choose from within each training part: KEY is components, "          \
                   "method.KEY, kernel.KEY "                                                       \
                   "or head.KEY, VALUES a,b,c or A:B:+STEP or A:B:*FACTOR; or KEY is kernel and "  \
                   "VALUES are kernels; may be repeated"),                                         \
        CLI_OPTION("inner", 0, CLI_COUNT, inner, "K", NULL,                                        \
                   "folds within each training part for --tune; default 5"),                       \
        CLI_FIT("center", 0, "HOW", "as for fit", NULL),                                           \
        CLI_FIT("scale", 0, "HOW",                                                                 \
                "scale the columns or rows first, learnt within each training part", NULL),        \
        CLI_FIT("scale_target", 0, "HOW", "as for fit", NULL),                                     \
        CLI_FIT("store", 0, "HOW", "as for fit", NULL),                                            \
        CLI_FIT("precision", 0, "P", "as for fit", NULL), CLI_FIT_OTHERS(MERCER_CALL_EVALUATE),    \
        CLI_OPTION_LABELS, CLI_OPTION_COLUMNS, CLI_OPTION_FORMAT, CLI_OPTION_RESIZE,               \
        CLI_OPTION_IMAGE_FEATURES, CLI_OPTION_ENCODE, CLI_OPTION_MISSING, CLI_OPTION_SEED,         \
        CLI_OPTION_MACHINE, CLI_OPTION_JSON, CLI_OPTION_QUIET, CLI_OPTION_HELP, CLI_OPTION_END

#endif
