/* SPDX-License-Identifier: BSD-3-Clause */
/* What evaluate and compare share: their inputs, options and JSON. */
#ifndef CLI_EVALUATE_H
#define CLI_EVALUATE_H

#include "cli.h"

/* Everything that is read before the work starts. */
typedef struct cli_evaluate_inputs {
    mercer_table *table, *test; /* owned */
    cli_splits splits;
    int64_t *groups; /* owned, or NULL */
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

/* What an interruption says when there is a journal. */
void cli_journal_note(const cli_settings *set);
/* The journal, if there is one, is not needed any more once everything is printed and written.
 * Returns status, or another one after one line. */
int cli_journal_end(const cli_app *app, int status);

/* Several ranks can share every evaluation. */
bool cli_evaluate_is_spread(const cli_settings *set);

/* The file that an error of the library is about. */
const char *cli_evaluate_file_of(const cli_settings *set, const mercer_error *err);

/* A note when the fits of the folds will take long, where that is known without a grid. */
void cli_forecast_folds(cli_app *app, const cli_evaluate_inputs *o);

/* A cell with a number, or an empty one for NaN. */
void cli_table_number(cli_table *table, const char *format, double value);

/* Read --cv into the number of folds, and whether they are in time. Returns 0 or a status. */
int cli_read_cv(const char *text, int64_t *folds, int *ordered);

/* The groups of a table that was read with --groups, else NULL; owned by the caller. */
mercer_status cli_read_groups(const cli_settings *set, const mercer_table *table, int64_t **groups,
                              mercer_error *err);

/* What --tune came to on all rows: the grid, the choice, and where to look further. expected: what
 * to expect of it, "0.037 on new rows (nested, above)"; NULL: nothing is known. */
void cli_print_tuning(FILE *out, const mercer_evaluation *e, const char *expected);
/* What was chosen, "components=20, kernel.sigma=16"; owned by the caller. */
char *cli_tuned_settings(const mercer_evaluation *e);
/* The call of fit for what was chosen, quoted for a shell, with every option that matters; output:
 * of the model, or NULL. Owned by the caller. */
char *cli_tuned_command(const cli_app *app, const mercer_evaluation *e, const char *output);

#define CLI_OPTION_EVALUATE                                                                        \
    CLI_FIT("kernel", 'k', "KERNEL", "as for fit", NULL),                                          \
        CLI_FIT("components", 'n', "N",                                                            \
                "how many features, unless --tune components tries several", NULL),                \
        CLI_FIT("head", 0, "HEAD",                                                                 \
                "what predicts from the features, e.g. ls or knn:k=5; 'mercer heads' lists "       \
                "them; default: the method's own",                                                 \
                NULL),                                                                             \
        CLI_OPTION("cv", 0, CLI_TEXT, cv, "K|loo|time:K", NULL,                                    \
                   "number of folds, each held out in turn; loo: one fold per row, or per group; " \
                   "time:K: rows are in the order of time, and each fold is learnt for from "      \
                   "earlier rows only; default 5"),                                                \
        CLI_OPTION_GROUPS,                                                                         \
        CLI_OPTION("repeats", 0, CLI_COUNT, repeats, "R", NULL, "draw the folds R times"),         \
        CLI_OPTION("split", 0, CLI_TEXT, split, "FILE", NULL,                                      \
                   "instead of folds: each line lists the training rows of a split, from 0"),      \
        CLI_OPTION("test", 0, CLI_TEXT, test, "DATA", NULL,                                        \
                   "instead of folds: learn from all rows and judge by the rows of this file"),    \
        CLI_OPTION("test-labels", 0, CLI_TEXT, test_labels, "FILE", NULL,                          \
                   "labels of the test rows, one per line, like --labels for the others"),         \
        CLI_OPTION_METRIC, CLI_OPTION_POSITIVE("auc, ap and --roc"),                               \
        CLI_OPTION_TUNE("values to choose from within each training part, then on all rows"),      \
        CLI_OPTION_TUNE_RULE,                                                                      \
        CLI_OPTION("inner", 0, CLI_COUNT, inner, "K", NULL,                                        \
                   "folds within each training part for --tune; default 5"),                       \
        CLI_OPTION_JOURNAL("every trial"), CLI_FIT("center", 0, "HOW", "as for fit", NULL),        \
        CLI_FIT("scale", 0, "HOW",                                                                 \
                "scale the columns or rows first, learnt within each training part", NULL),        \
        CLI_FIT("scale_target", 0, "HOW", "as for fit", NULL),                                     \
        CLI_FIT("store", 0, "HOW", "as for fit", NULL),                                            \
        CLI_FIT("precision", 0, "P", "as for fit", NULL), CLI_FIT_OTHERS(MERCER_CALL_EVALUATE),    \
        CLI_OPTION_LABELS, CLI_OPTION_COLUMNS, CLI_OPTION_FORMAT, CLI_OPTION_RESIZE,               \
        CLI_OPTION_IMAGE_FEATURES, CLI_OPTION_ENCODE, CLI_OPTION_MISSING, CLI_OPTION_UNLABELLED,   \
        CLI_OPTION_SEED, CLI_OPTION_MACHINE, CLI_OPTION_UNTRUSTED, CLI_OPTION_JSON,                \
        CLI_OPTION_QUIET, CLI_OPTION_HELP, CLI_OPTION_END

#endif
