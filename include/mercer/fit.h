/* SPDX-License-Identifier: BSD-3-Clause */
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

    /* NAME[:key=value,...]; required unless there is a criterion. */
    const char *method;
    /* A choice of direction of the caller's own, instead of a method (then NULL); borrowed for the
     * call. NULL: none. */
    const mercer_criterion *criterion;
    /* NAME[:key=value,...]; NULL: the default_kernel of the method. */
    const char *kernel;
    /* 0: the method's default; 1, 2, ...: that many; in (0,1): as many as capture that share of the
     * variance (methods that learn from targets: explain that share of them);
     * MERCER_COMPONENTS_BOUND. */
    double components;
    /* none, exact, span; NULL: the method's default. */
    const char *center;

    /* none, standard, minmax, norm, unit, rowstandard, robust; NULL: none. */
    const char *scale;
    /* none, standard, norm: of target values, for methods and heads that learn from them;
     * predictions are in the units of the targets. NULL: none. */
    const char *scale_target;

    /* Points that rkpca, greedy, nystroem, koca use instead of choosing rows; NULL: none. Like the
     * rows in everything: units, columns (matched by name when both have names) and preparation.
     * For a precomputed kernel one column of row numbers, from 0. Borrowed for the call. */
    const mercer_rows *landmarks;
    /* Rows that koca judges subspaces by, instead of its training rows; NULL: none. Like the rows
     * in everything, as landmarks are. Borrowed for the call, like their targets. */
    const mercer_rows *validation;
    /* The classes of the validation rows, matched by name. */
    const mercer_targets *validation_targets;

    /* NAME[:key=value,...], what predicts from the features: ls, centre, lad, exp, log, knn, svm,
     * linsvm; none; NULL: the method's own, which methods that learn from targets have. Needs
     * targets, and the features of all rows in memory. */
    const char *head;
    /* 0: none; in (0,1): learn the reconstruction error that this share of new rows from the same
     * source exceeds. Costs a second fit, to 80 % of the rows; the model is the same otherwise. */
    double novelty;

    /* auto, dense, stream, lowrank; NULL: auto. */
    const char *store;
    /* double, single; NULL: double. */
    const char *precision;

    /* Kept in the model as provenance; may be NULL. */
    const char *command;
    /* 1: mercer_fit() hands over the features of the training rows in mercer_fit_report.features;
     * 0: not. Only mercer_fit() takes it. */
    int want_features;
    /* off, on; NULL: off. on: learn how far predictions of held-out rows are off, for
     * mercer_model_half_widths(). Needs target values and a head; costs a second fit, to 80 % of
     * the rows, the same as that of novelty. */
    const char *intervals;
    /* refit, fitted; NULL: refit. Which model is kept where rows are held out, by novelty or
     * intervals: one that learns from all rows, or the one that learnt from 80 % of them, for which
     * what the held-out rows promise holds exactly. */
    const char *keep;
    /* Where rows are held out, by novelty or intervals: one number per row, from 0 to rows - 1.
     * Rows of one number are a group, for example those of one patient: groups are held out, not
     * rows, and of each one row, drawn by the seed, is judged. What is promised is promised for
     * rows of new groups. The folds that a map is chosen by keep groups together, too. NULL: each
     * row is its own. Borrowed for the call. */
    const int64_t *groups;
    /* NAME[:key=value,...], a linear map of the scaled columns that is learnt from the targets
     * before the method runs: agop; none; NULL: none. Not for a stream. */
    const char *map;
    /* 0: eigenpairs as exact as rounding allows; in [1e-12, 0.01]: their values may be off by this
     * share of the total variance, which takes less time. For methods that are eigenpairs of the
     * kernel matrix: kpca, pca. What was reached is in mercer_fit_report.residual. */
    double tolerance;
#ifdef MRC_TOYS
    /* For the library's own tests: what an option of a later version would be. */
    const char *toy;
#endif
} mercer_fit_options;
MERCER_VERSIONED(fit_options)

/* Set the member called key from a text, which is borrowed as the members are; NULL: back to the
 * default. Rows cannot be set so. MERCER_ERR_ARGUMENT names the known keys or values, and leaves
 * the options as they were. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_fit_options_set(mercer_fit_options *options,
                                                                    const char *key,
                                                                    const char *value,
                                                                    mercer_error *err);

/* Rows that the options do not name yet, but will when mercer_fit() is called; SPREAD: those of the
 * fit will be spread over ranks (<mercer/comm.h>), which few methods and options allow. */
enum { MERCER_EXPECT_LANDMARKS = 1, MERCER_EXPECT_VALIDATION = 2, MERCER_EXPECT_SPREAD = 4 };
/* Check everything about a fit that can be checked before the data are there: names, keys, values
 * and which of them go together. mercer_fit() does the same first. expected: 0, or
 * MERCER_EXPECT_... */
MERCER_API mercer_status mercer_fit_options_check(const mercer_fit_options *options,
                                                  unsigned expected, mercer_error *err);

/* What a fit did. Set struct_size before the call. */
typedef struct mercer_fit_report {
    size_t struct_size;
    char store[16];              /* dense, stream, lowrank, precomputed */
    char store_reason[224];      /* why that one, for people */
    char solver[16];             /* lapack, krylov, lowrank, greedy, split, likelihood */
    int64_t store_bytes;         /* memory the store takes */
    int64_t store_rank;          /* columns of the low-rank factor, else 0 */
    int64_t passes;              /* applications of the Gram operator to a block */
    double residual;             /* largest residual of an eigenpair over the largest eigenvalue;
                                    LAPACK and lowrank: a bound of it */
    double reconstruction_error; /* mean over the training rows; NaN when undefined */
    double projection_variance;  /* mean squared length of the features; NaN where they are longer
                                    than the mapped rows, or are predictions */
    double total_variance;       /* mean squared (centred) norm of the mapped training rows */
    double seconds;              /* the fit alone */
    double
        *features; /* of the training rows, rows x components and row-major, if want_features
                      was set: those of mercer_model_transform() to 1e-12 of the largest one, and
                      often without its work. Freed by the caller with mercer_free(). Else NULL */
} mercer_fit_report;
MERCER_VERSIONED(fit_report)

/* Fit a model to rows (targets may be NULL). On MERCER_OK the caller owns *out and frees it with
 * mercer_model_free(). On error *out is NULL. rows and targets are borrowed for the call only; the
 * model copies what it keeps. report and err may be NULL. MERCER_ERR_ARGUMENT when features are
 * wanted and report is NULL or of a version that cannot hold them. */
MERCER_API mercer_status mercer_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                                    const mercer_rows *rows, const mercer_targets *targets,
                                    mercer_model **out, mercer_fit_report *report,
                                    mercer_error *err);

/* What methods, kernels, heads and formats of tables there are; index from 0, NULL past the last.
 * The same descriptors give --help, range checks and the tables in the docs. */
typedef struct mercer_entry mercer_entry;
MERCER_API const mercer_entry *mercer_method_at(int index);
MERCER_API const mercer_entry *mercer_kernel_at(int index);
MERCER_API const mercer_entry *mercer_head_at(int index);
MERCER_API const mercer_entry *mercer_format_at(int index);
/* The one that NAME[:key=value,...] names, whatever its keys; NULL when there is none, and for a
 * kernel that is a sum or product, or the host's own. */
MERCER_API const mercer_entry *mercer_method_find(const char *spec);
MERCER_API const mercer_entry *mercer_kernel_find(const char *spec);
MERCER_API const mercer_entry *mercer_head_find(const char *spec);
/* The format of a file of this name, or of this format ("csv"); NULL when neither tells. Both may
 * be NULL. */
MERCER_API const mercer_entry *mercer_format_find(const char *path, const char *format);
MERCER_API const char *mercer_entry_name(const mercer_entry *entry);
MERCER_API const char *mercer_entry_summary(const mercer_entry *entry);
MERCER_API const char *mercer_entry_reference(const mercer_entry *entry); /* paper or formula */

/* What a method or a head learns from, beside rows. */
enum {
    MERCER_LEARNS_CLASSES = 1,
    MERCER_LEARNS_VALUES = 2,
    MERCER_LEARNS_TWO_CLASSES = 4 /* from two classes, or values of -1 and +1, and no others */
};

/* What is known of an entry; texts are constants. Set struct_size before the call. */
typedef struct mercer_entry_info {
    size_t struct_size;
    const char *name, *summary;
    const char *reference; /* paper or formula; NULL: none, as of formats */
    /* Methods; of others NULL: */
    const char *default_center;
    const char *default_head; /* as its keys are by default, and of values where that depends on the
                                 targets; NULL: none, it learns from rows only */
    /* Methods and heads, MERCER_LEARNS_...; 0: from rows only */
    unsigned learns;
    /* Methods, 1 or 0: */
    int streams;          /* it learns from a stream, see <mercer/stream.h> */
    int linear_only;      /* it has no kernel but linear */
    int takes_landmarks;  /* of the fit options */
    int takes_validation; /* likewise */
    int learns_width;     /* it takes kernels with sigma=learn */
    int not_nested; /* with its keys at their defaults, the first k features are not those of a fit
                       with k components */
    const char *centers; /* methods: centrings that it can have, "none|exact|span" */
    const char *endings; /* formats: of file names, ".tsv .tab"; "/": it is a folder; "": none */
    int writes;          /* formats: 1 when it is written, not only read */
    int has_header;      /* formats: 1 when the first line may hold the names of the columns */
    int has_arrays;      /* formats: 1 when a file holds several tables: FILE:NAME is one of them */
    const char *default_kernel; /* methods: the kernel unless another is asked for */
    int takes_tolerance;        /* methods: 1 when it takes that of the fit options */
} mercer_entry_info;
MERCER_VERSIONED(entry_info)
MERCER_API MERCER_EXPERIMENTAL void mercer_entry_get_info(const mercer_entry *entry,
                                                          mercer_entry_info *out);

/* 1 for a method that learns from a stream, see <mercer/stream.h>; else 0. */
MERCER_API int mercer_entry_streams(const mercer_entry *entry);
/* 1 for a format that is written, not only read; else 0. */
MERCER_API int mercer_entry_writes(const mercer_entry *entry);

typedef enum mercer_parameter_type {
    MERCER_PARAMETER_WHOLE,
    MERCER_PARAMETER_REAL,
    MERCER_PARAMETER_CHOICE,
    /* Only fit options have these, and methods COMPONENTS as their first key: */
    MERCER_PARAMETER_SPEC,       /* NAME[:key=value,...] */
    MERCER_PARAMETER_COMPONENTS, /* a whole number from 1 on, or a share below 1 */
    MERCER_PARAMETER_SHARE,      /* between 0 and 1, both left out */
    MERCER_PARAMETER_ROWS        /* mercer_rows: no text can set it */
} mercer_parameter_type;

/* Calls that take fit options. */
enum { MERCER_CALL_FIT = 1, MERCER_CALL_EVALUATE = 2, MERCER_CALL_STREAM = 4 };

/* One parameter. Texts that are not arrays are constants. Set struct_size before the call. */
typedef struct mercer_parameter {
    size_t struct_size;
    const char *key;
    const char *help;
    char default_value[96]; /* as text; "": there is none, or help says how it is found */
    char allowed[96];       /* its values, for people */
    mercer_parameter_type type;
    const char *choices; /* words that are allowed, "a|b|c"; of a number, beside numbers; or NULL */
    unsigned calls;      /* of fit options: MERCER_CALL_... that people set it for; else 0 */
    double default_number;   /* NaN: the default is a word, a spec or none */
    double minimum, maximum; /* of a number; infinite: no such limit, or not a number */
    int minimum_open;        /* 1: the minimum itself is not allowed; likewise */
    int maximum_open;        /* the maximum */
    char default_word[32];   /* of a choice, or in place of a number; "": no word is the default */
    const char *other_key;   /* another spelling of key that is understood, or NULL */
} mercer_parameter;
MERCER_VERSIONED(parameter)
/* Get a parameter of a method, kernel or head; 0 past the last. */
MERCER_API int mercer_entry_parameter(const mercer_entry *entry, int index, mercer_parameter *out);
/* The options of a fit that mercer_fit_options_set() takes, and rows; 0 past the last. */
MERCER_API MERCER_EXPERIMENTAL int mercer_fit_option_at(int index, mercer_parameter *out);

#ifdef __cplusplus
}
#endif
#endif
