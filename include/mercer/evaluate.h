/* SPDX-License-Identifier: BSD-3-Clause */
/* How well features predict, or keep, rows that were not learnt from. */
#ifndef MERCER_EVALUATE_H
#define MERCER_EVALUATE_H

#include <mercer/fit.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MERCER_LEAVE_ONE_OUT = -1 };

/* Predictions of any kind, or such that the rows of two classes can be ranked by. */
enum { MERCER_PREDICTIONS_ANY = 1, MERCER_PREDICTIONS_RANKED = 2 };

/* Set the fields by mercer_evaluate_options_init(), then change what you need. All borrowed. */
typedef struct mercer_evaluate_options {
    size_t struct_size;
    const mercer_fit_options *fit; /* what is fitted to the training part of every fold; required.
                                      Scaling, kernel widths and heads are learnt there alone */
    int64_t folds;                 /* 0: 5; MERCER_LEAVE_ONE_OUT. Classes are spread evenly */
    int64_t repeats;               /* times that folds are drawn; 0: 1 */
    int64_t splits;                /* instead of folds: split s holds out the rows                */
    const int64_t *split_start; /* split_rows[split_start[s]] to [split_start[s + 1] - 1], each */
    const int64_t *split_rows;  /* once, increasing; split_start has splits + 1 entries         */
    const mercer_rows *test; /* instead of folds: learn from all rows, judge by these and their */
    const mercer_targets *test_targets; /* targets, whose classes are found by name */
    const char *metric; /* classes: error, balanced, auc, ap; values: rmse; NULL: error, rmse. When
                           nothing is predicted, in shares: structure, of the squared length of
                           held-out mapped rows that the features keep, minus that of rows whose
                           columns were shuffled (larger is better; NULL, but not for sparse rows or
                           precomputed kernels); columns, of the variance of columns that features
                           of the other columns do not predict; reconstruction, of the squared
                           length of held-out mapped rows that the features do not keep (NULL else);
                           preimage, of the squared distance from the mean that is between rows and
                           their pre-images */
    const char *const *tune; /* tune_count texts KEY=VALUES: KEY components, method.K, kernel.K, */
    int64_t tune_count;      /* head.K; VALUES a,b,c or A:B:+STEP or A:B:*FACTOR; or KEY kernel,
                                VALUES kernels. The best of all combinations is found within the
                                training part of each fold */
    int64_t inner_folds;     /* for that; 0: 5 */
    int predictions; /* what will be asked for: MERCER_PREDICTIONS_... refuses at once what will
                        not be there; 0: nothing is */
    const char *positive;  /* which of two classes auc, ap and the ROC curve look for; NULL: the
                              second that the targets list */
    const char *tune_rule; /* "best": the best mean over the inner folds, the first among equals;
                              "1se": of all that are within one standard error of it the one with
                              the fewest components, then the widest kernel, then the most ridge;
                              NULL: best */
    const int64_t *groups; /* one number per row, from 0 to rows - 1: rows of one group are in one
                              fold, outer and inner. MERCER_LEAVE_ONE_OUT leaves one group out.
                              NULL: there are none */
    int ordered;           /* 1: rows are in the order of time. Of n rows and K folds the last
                              K * (n / (K + 1)) are held out in K runs of equal length, and learnt
                              are all rows before a run; inner folds likewise. 0: no order */
    int choose;            /* 1: when the folds are done, choose on all rows, too, as for a model of
                              them: mercer_evaluation_get_tuning(). 0: not */
    int importance; /* 1: tell how much each column matters, see mercer_evaluation_importance();
                       without predictions metric then is reconstruction; 0: not */
    const char *journal; /* experimental: trials that are done are appended to the file JOURNAL.R,
                            R the rank (0 when alone), and those that any JOURNAL.* has of the same
                            rows, options and seed are not done again, with any number of ranks;
                            NULL: none. mercer_journal_remove() removes the files */
} mercer_evaluate_options;
MERCER_VERSIONED(evaluate_options)

/* 1 when the fit's method, kernel or head has the key of a text KEY=VALUES, with its first value.
 */
MERCER_API int mercer_fit_options_can_tune(const mercer_fit_options *fit, const char *tune);

typedef struct mercer_evaluation mercer_evaluation;

/* Evaluate. Folds run in parallel, and results do not depend on the number of threads. On MERCER_OK
 * the caller frees *out with mercer_evaluation_free(), which accepts NULL. Errors inside a fold
 * name it. */
MERCER_API mercer_status mercer_evaluate(mercer_ctx *ctx, const mercer_evaluate_options *options,
                                         const mercer_rows *rows, const mercer_targets *targets,
                                         mercer_evaluation **out, mercer_error *err);
MERCER_API void mercer_evaluation_free(mercer_evaluation *evaluation);

/* Remove the files of a journal, once its result is where it should be. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_journal_remove(const char *path,
                                                                   mercer_error *err);

/* The result, every pointer borrowed from it. Set struct_size before the call. */
typedef struct mercer_evaluation_info {
    size_t struct_size;
    const char *metric;   /* its name, and */
    const char *summary;  /* what it is */
    int larger_is_better; /* 1: the larger the better */
    double mean; /* over the folds with a defined metric (a ranking takes rows of both classes); of
                    folds of one row: of all rows together */
    double sd;   /* of the folds' values; NaN when there is one, or rows are judged together */
    int64_t folds;
    mercer_target_kind kind;  /* what was predicted */
    int64_t outputs;          /* classes (as the targets list them), or target columns */
    const int64_t *confusion; /* outputs x outputs: rows of class i that were predicted as j */
    int64_t choices;          /* combinations tried in each fold; 1: nothing was tuned */
    const int64_t *undecided; /* outputs: rows of class i that no class won, beside confusion */
    const char *positive;     /* of two classes: which rankings look for, as the targets name it;
                                 NULL: there are no two */
} mercer_evaluation_info;
MERCER_VERSIONED(evaluation_info)
MERCER_API void mercer_evaluation_get_info(const mercer_evaluation *evaluation,
                                           mercer_evaluation_info *info);

/* One fold, index from 0. Set struct_size before the call. */
typedef struct mercer_evaluation_fold {
    size_t struct_size;
    double value; /* the metric on its rows; NaN: undefined there, or rows are judged together */
    double inner; /* the same within the training part, of what was chosen; NaN: no choice */
    const char *chosen;   /* "kernel.sigma=2", without components; "" when there is no choice */
    int64_t components;   /* that its model had */
    int64_t points;       /* training rows that its model kept */
    int64_t rows;         /* held out */
    const int64_t *row;   /* which, from 0, increasing */
    const int64_t *codes; /* their predicted classes, -1: none; NULL: values, or none */
    const double *scores; /* rows x outputs: of classes, or the predicted values; NULL: none */
} mercer_evaluation_fold;
MERCER_VERSIONED(evaluation_fold)
MERCER_API void mercer_evaluation_get_fold(const mercer_evaluation *evaluation, int64_t index,
                                           mercer_evaluation_fold *fold);

/* How much each column matters: by how much the metric of the held-out rows gets worse when the
 * column is shuffled, so that each row has the value of another one: of each fold the mean of five
 * times, of these the mean over the folds and its standard deviation.
 * *values, *columns x MERCER_IMPORTANCE_COLUMNS numbers, lives as long as the evaluation; NULL and
 * 0 where importance was not asked for. mercer_evaluation_column_name(): of column k, NULL when it
 * has none. */
enum { MERCER_IMPORTANCE_LOSS, MERCER_IMPORTANCE_SD, MERCER_IMPORTANCE_COLUMNS };
MERCER_API void mercer_evaluation_importance(const mercer_evaluation *evaluation,
                                             const double **values, int64_t *columns);
MERCER_API const char *mercer_evaluation_column_name(const mercer_evaluation *evaluation,
                                                     int64_t k);

/* The ROC curve of the positive of two classes, over the rows held out by all folds: from (0,0) to
 * (1,1), a point after each distinct score. A row is counted as of that class when its score of it,
 * less that of the other, is at least the threshold (infinite at the first point). *points,
 * *count x MERCER_ROC_COLUMNS numbers, lives as long as the evaluation, or until the next call. */
enum { MERCER_ROC_FALSE_RATE, MERCER_ROC_TRUE_RATE, MERCER_ROC_THRESHOLD, MERCER_ROC_COLUMNS };
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_evaluation_get_roc(
    mercer_evaluation *evaluation, const double **points, int64_t *count, mercer_error *err);

/* Choose without an estimate of what the choice is worth: what mercer_evaluate() does with `choose`
 * set, and no folds around it. Folds are options->inner_folds; folds, repeats, splits, test and
 * importance of the options must not be set. *out has no folds, and mercer_evaluation_get_tuning()
 * tells the choice. MERCER_ERR_ARGUMENT when nothing is tuned. */
MERCER_API MERCER_EXPERIMENTAL mercer_status
mercer_tune(mercer_ctx *ctx, const mercer_evaluate_options *options, const mercer_rows *rows,
            const mercer_targets *targets, mercer_evaluation **out, mercer_error *err);

/* The choice on all rows, every pointer borrowed from the evaluation. The mean of what is chosen is
 * optimistic, because it was chosen by it: that of the evaluation's folds is not. Set struct_size
 * before the call. */
typedef struct mercer_tuning {
    size_t struct_size;
    int64_t cells;        /* combinations tried; 0: nothing was chosen on all rows */
    int64_t axes;         /* keys that are tuned; in cells the last one changes fastest */
    int64_t rows, folds;  /* all rows, and the folds they were split into */
    const char *rule;     /* best, 1se */
    const double *mean;   /* cells: over the folds; NaN: undefined, or it cannot be fitted */
    const double *se;     /* cells: standard error of the mean; NaN: undefined */
    const double *values; /* folds x cells; NaN likewise */
    int64_t best, chosen; /* the cell with the best mean, and that of the rule */
    /* What is chosen, for mercer_fit_options: */
    const char *method, *kernel;
    const char *head;  /* NULL: the method's own */
    double components; /* 0: the method's default */
} mercer_tuning;
MERCER_VERSIONED(tuning)
MERCER_API MERCER_EXPERIMENTAL void
mercer_evaluation_get_tuning(const mercer_evaluation *evaluation, mercer_tuning *tuning);

/* One key that is tuned, index from 0, in the order of the texts with components last. Set
 * struct_size before the call. */
typedef struct mercer_tuning_axis {
    size_t struct_size;
    const char *key;           /* components, kernel.sigma */
    int64_t count;             /* values */
    const char *const *values; /* components are increasing, others as given */
    int64_t chosen;            /* which of them, on all rows */
    const char *further;       /* VALUES to try where the chosen one is at the edge of the grid:
                                  "16:128:*2"; NULL: it is not */
} mercer_tuning_axis;
MERCER_VERSIONED(tuning_axis)
MERCER_API MERCER_EXPERIMENTAL void mercer_evaluation_get_axis(const mercer_evaluation *evaluation,
                                                               int64_t index,
                                                               mercer_tuning_axis *axis);

#ifdef __cplusplus
}
#endif
#endif
