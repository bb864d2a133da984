/* Fitting a model, and the list of methods and kernels with their parameters. */
#ifndef MERCER_FIT_H
#define MERCER_FIT_H

#include <mercer/criterion.h>
#include <mercer/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As many components, at most 100, as make the bound of mercer_model_info largest when each feature
 * costs half of what the first one brings; for methods that learn from targets. */
#define MERCER_COMPONENTS_BOUND (-1.0)

/* Set the fields by mercer_fit_options_init(), then change what you need. Strings are borrowed. */
typedef struct mercer_fit_options {
    size_t struct_size;
    const char *method;    /* NAME[:key=value,...]; required unless there is a criterion */
    const char *kernel;    /* NAME[:key=value,...]; NULL: rbf:sigma=median (linear for pca) */
    double components;     /* 0: the method's default; 1, 2, ...: that many; in (0,1): as many as
                              capture that share of the variance (methods that learn from targets:
                              explain that share of them); MERCER_COMPONENTS_BOUND */
    const char *center;    /* none, exact, span; NULL: the method's default */
    const char *store;     /* auto, dense, stream, lowrank; NULL: auto */
    const char *precision; /* double, single; NULL: double */
    const char *scale;     /* none, standard, minmax, norm, unit, rowstandard; NULL: none */
    const char *command;   /* kept in the model as provenance; may be NULL */
    double novelty;        /* 0: none; in (0,1): learn the reconstruction error that this share of
                              new rows from the same source exceeds. Costs a second fit, to 80 % of
                              the rows; the model is the same otherwise */
    const mercer_rows *landmarks; /* points that rkpca, greedy, nystroem, koca use instead of
                                     choosing rows; NULL: none. Like the rows in everything: units,
                                     columns (matched by name when both have names) and preparation.
                                     For a precomputed kernel one column of row numbers, from 0.
                                     Borrowed for the call */
    int expects_landmarks;    /* for mercer_fit_options_check() alone: 1 when there will be some */
    const char *head;         /* NAME[:key=value,...], what predicts from the features: ls, centre,
                                 lad, exp, log, knn, svm, linsvm; none; NULL: the method's own,
                                 which methods that learn from targets have. Needs targets, and the
                                 features of all rows in memory */
    const char *scale_target; /* none, standard, norm: of target values, for methods and heads that
                                 learn from them; predictions are in the units of the targets. NULL:
                                 none */
    const mercer_criterion *criterion; /* instead of a method (then NULL): a choice of direction of
                                          the caller's own; borrowed for the call. NULL: none */
    const mercer_rows *validation; /* rows that koca judges subspaces by, instead of its training
                                      rows; NULL: none. Like the rows in everything, as landmarks
                                      are. Borrowed for the call, like their targets */
    const mercer_targets *validation_targets; /* their classes, matched by name */
    int expects_validation; /* for mercer_fit_options_check() alone: 1 when there will be some */
} mercer_fit_options;
/* Defaults, in as much of the struct as the caller was compiled with. */
MERCER_API void mercer_fit_options_init_sized(mercer_fit_options *options, size_t size);
static inline void mercer_fit_options_init(mercer_fit_options *options)
{
    mercer_fit_options_init_sized(options, sizeof *options);
}

/* Check everything about a fit that can be checked before the data are there: names, keys, values
 * and which of them go together. mercer_fit() does the same first. */
MERCER_API mercer_status mercer_fit_options_check(const mercer_fit_options *options,
                                                  mercer_error *err);

/* What a fit did. Set struct_size before the call. */
typedef struct mercer_fit_report {
    size_t struct_size;
    char store[16];              /* dense, stream, lowrank, precomputed */
    char store_reason[224];      /* why that one, for people */
    char solver[16];             /* lapack, krylov, lowrank, greedy, split */
    int64_t store_bytes;         /* memory the store takes */
    int64_t store_rank;          /* columns of the low-rank factor, else 0 */
    int64_t passes;              /* applications of the Gram operator to a block */
    double residual;             /* largest residual of an eigenpair over the largest eigenvalue;
                                    LAPACK and lowrank: a bound of it */
    double reconstruction_error; /* mean over the training rows; NaN when undefined */
    double projection_variance;  /* mean squared length of the features */
    double total_variance;       /* mean squared (centred) norm of the training images */
    double seconds;              /* the fit alone */
} mercer_fit_report;

/* Fit a model to rows (targets may be NULL). On MERCER_OK the caller owns *out and frees it with
 * mercer_model_free(). On error *out is NULL. rows and targets are borrowed for the call only; the
 * model copies what it keeps. report and err may be NULL. */
MERCER_API mercer_status mercer_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                                    const mercer_rows *rows, const mercer_targets *targets,
                                    mercer_model **out, mercer_fit_report *report,
                                    mercer_error *err);

/* What methods, kernels and heads there are; index from 0, NULL past the last. The same descriptors
 * give
 * --help, range checks and the tables in the docs. */
typedef struct mercer_entry mercer_entry;
MERCER_API const mercer_entry *mercer_method_at(int index);
MERCER_API const mercer_entry *mercer_kernel_at(int index);
MERCER_API const mercer_entry *mercer_head_at(int index);
MERCER_API const char *mercer_entry_name(const mercer_entry *entry);
MERCER_API const char *mercer_entry_summary(const mercer_entry *entry);
MERCER_API const char *mercer_entry_reference(const mercer_entry *entry); /* paper or formula */

/* 1 for a method that learns from a stream, see <mercer/stream.h>; else 0. */
MERCER_API int mercer_entry_streams(const mercer_entry *entry);

/* One parameter: key and meaning (constants), its default and its allowed values as text. Returns 0
 * past the last. */
typedef struct mercer_parameter {
    const char *key;
    const char *help;
    char initial[96];
    char allowed[96];
} mercer_parameter;
MERCER_API int mercer_entry_parameter(const mercer_entry *entry, int index, mercer_parameter *out);

#ifdef __cplusplus
}
#endif
#endif
