/* SPDX-License-Identifier: BSD-3-Clause */
/* What a method is: a name, a parameter schema and fit. methods.def lists them. */
#ifndef MRC_METHODS_COMMON_METHOD_H
#define MRC_METHODS_COMMON_METHOD_H

#include "base/params.h"
#include "gram/gram.h"
#include "model/model.h"

#include <float.h>

/* The one argument of fit: everything a method may look at, all borrowed. */
typedef struct mrc_problem {
    const mercer_rows *rows; /* scaled training rows */
    mercer_ctx *ranks;       /* whose ranks they are spread over, or NULL */
    int64_t entries;         /* of the rows of all ranks then */
    mercer_rows *own_rows;   /* the same where the fit has made them: their memory may become the
                                model's, as long as they can still be read; else NULL */
    const mercer_targets *targets;
    const mrc_kernel *kernel;
    bool learn_width;             /* the kernel's width is only where to start from */
    const mercer_rows *landmarks; /* points to use, like rows (precomputed: row numbers); or NULL */
    const mercer_rows *validation;   /* more labelled rows, like rows; or NULL */
    const int64_t *validation_codes; /* their classes, as codes of targets */
    mrc_center center;
    int64_t components; /* wanted; 0 when given by share */
    double share;       /* of the variance, 0 when components are given */
    double tolerance;   /* of eigenpairs, a share of the variance; 0: as exact as rounding allows */
    bool by_bound;      /* components are the most; the bound chooses how many */
    const mrc_store *store; /* asked for; NULL: auto */
    bool single;
    bool on_pivots; /* the model may store rows that span all others instead of all of them */
    const mercer_criterion *criterion; /* the caller's choice of direction, or NULL */
    mercer_fit_report *report;         /* never NULL */
    /* NULL, or where a method may leave the features of the rows, n x l from mrc_alloc, when it has
     * them at hand as exactly as a transform gives them. */
    double **features;
} mrc_problem;

/* What callers are promised of the features of a fit: how far they may be from those of a
 * transform, as a share of the largest. */
#define MRC_FEATURES_TOLERANCE 1e-12

/* Build the Gram operator a method works on, as it requests, in the store the user chose. */
mercer_status mrc_problem_gram(mercer_ctx *ctx, const mrc_problem *problem,
                               mrc_gram_request *request, mrc_gram **out, mercer_error *err);

/* MERCER_ERR_DATA: the matrix is zero to rounding. */
mercer_status mrc_problem_no_component(const mrc_problem *problem, mercer_error *err);
/* MERCER_ERR_DATA, naming the column, where the rows are so small or large that their kernel values
 * are not finite: the reason to look at before others. */
mercer_status mrc_problem_check_range(const mrc_problem *problem, mercer_error *err);

/* What a fit asks of the machine, for its forecast (methods/forecast.c). Numbers that hang on the
 * data are what data usually take. */
typedef struct mrc_work {
    mrc_gram_request request; /* of its operator; store and precision are left out */
    double pairs;             /* leading eigenpairs of the operator */
    double passes, vectors;   /* products with all of it, and the vectors of each */
    double norms;             /* times that the lengths of all its rows are wanted */
    double columns;           /* columns of it, each with n kernel values */
    double flops;             /* of matrix products besides */
    double reads;             /* numbers that products with one vector read from memory besides */
    double order;             /* of an eigenproblem besides */
    double points;            /* rows that the features of the model are made of */
    double bytes;             /* held instead of an operator; 0: an operator is */
    double beside;            /* bytes held besides, which no budget asks for */
    double spread;            /* factor by which the time may be longer or shorter; 0: the usual */
} mrc_work;

/* Targets as columns of numbers: classes by indicators, two of them by one. */
int64_t mrc_problem_outputs(const mrc_problem *problem);
/* Entries of all rows of the problem, of which there are mrc_rows_total(). */
int64_t mrc_problem_entries(const mrc_problem *problem);

/* Every method's parameter struct starts with this field, and its schema with this line. */
typedef struct mrc_common_params {
    double components;
} mrc_common_params;
#define MRC_MAX_COMPONENTS 1e9
#define MRC_COMPONENTS(type, initial)                                                              \
    MRC_REAL(type, components, initial, DBL_MIN, MRC_MAX_COMPONENTS,                               \
             "features to extract; below 1: as many as capture that share of the variance")

/* A line of the schema of a method whose directions are expansions over all rows; its on_pivots
 * tells whether the choice is MRC_ROWS_AUTO. */
enum { MRC_ROWS_AUTO, MRC_ROWS_ALL };
#define MRC_STORED_ROWS(type)                                                                      \
    MRC_CHOICE(type, points, MRC_ROWS_AUTO, "auto|all",                                            \
               "rows that the model stores; auto: with a low-rank store, those few that span the " \
               "others to rounding")

/* The same for methods that learn from targets. */
#define MRC_COMPONENTS_SUPERVISED(type, initial)                                                   \
    MRC_REAL_OR(type, components, initial, DBL_MIN, MRC_MAX_COMPONENTS, "bound",                   \
                "features to extract; below 1: as many as explain that share of the labels")
enum { MRC_MAX_BY_BOUND = 100 };

/* The same for methods that have as many as the targets allow: their problem then asks for none. */
#define MRC_COMPONENTS_OUTPUTS(type, what)                                                         \
    MRC_REAL_OR(type, components, MRC_KEYWORD(0), 1, 1e9, "all", what)

struct mrc_request; /* request.h */
struct mercer_stream;

/* What a streaming method makes of its parameters. */
typedef struct mrc_plan {
    int64_t first, block; /* rows of the first block and of the others */
    double captured;      /* no more components than capture this share; 1: no such stop */
} mrc_plan;

/* What a streaming method adds to a method; see streaming.h. */
typedef struct mrc_streaming {
    /* Check what the schema cannot, and fill the plan. */
    mercer_status (*plan)(const struct mrc_request *request, mrc_plan *plan, mercer_error *err);
    /* Fold a block of scaled rows into library and state; rows counts them afterwards. */
    mercer_status (*fold)(mercer_ctx *ctx, struct mercer_stream *stream, const mercer_rows *block,
                          mercer_error *err);
    bool correlated; /* features of the rows may be, as long as directions are on their way */
} mrc_streaming;

typedef struct mrc_method {
    struct mercer_entry entry;  /* name, summary, paper, parameters */
    size_t params_size;         /* of a struct that starts like mrc_common_params */
    bool linear_kernel;         /* it has no other */
    const char *default_kernel; /* where that is not rbf; else NULL */
    mrc_center default_center;
    const char *centers;    /* it can have, "none|exact"; NULL: all of them */
    bool takes_landmarks;   /* instead of all its keys but components */
    bool landmarks_replace; /* instead of its key points alone */
    bool takes_validation;
    bool takes_tolerance; /* it is eigenpairs of the operator, which may be left early */
    bool learns_width;    /* sigma=learn */
    bool counts_outputs;  /* its components are MRC_COMPONENTS_OUTPUTS */
    bool predicts;        /* its features are predictions, one per output */
    /* Replaces fit in a method that learns from a stream; else NULL. */
    const mrc_streaming *streaming;
    /* Check what the schema and the flags above cannot, before there are rows; or NULL. */
    mercer_status (*check)(const struct mrc_request *request, mercer_error *err);
    /* The same for rows that are spread over ranks, and a low-rank store. NULL: it needs all rows
     * on one. */
    mercer_status (*check_spread)(const struct mrc_request *request, mercer_error *err);
    /* Fill the parts of a new model that the method decides: points, coefficients, offsets, mean,
     * spectrum. The caller has set kernel, scaling, names and provenance, and seals the model. */
    mercer_status (*fit)(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                         mercer_model *model, mercer_error *err);
    /* The head of a method that learns from targets, unless another is asked for; it refuses data
     * without targets. NULL: the method does not look at targets. */
    const char *default_head;
    /* What targets a method with a default_head learns from, MERCER_LEARNS_...; 0: from classes and
     * from values. */
    unsigned learns;
    /* Settle the parameters that are left to the targets; or NULL. */
    void (*settle)(void *params, const mercer_targets *targets);
    /* The default head where it depends on the parameters, or NULL. */
    const char *(*choose_head)(const void *params);
    /* Whether its features are nested with these parameters: the first k of more are those of a fit
     * with k components. NULL: always. Asked by mrc_method_is_nested() alone. */
    bool (*is_nested)(const void *params);
    /* Whether its model may store the pivots of a low-rank factor alone. NULL: it stores the rows
     * that it says. */
    bool (*on_pivots)(const void *params);
    /* What a fit to n rows like those of the problem takes. NULL: nobody knows. */
    void (*work)(const mercer_ctx *ctx, const void *params, const mrc_problem *problem, int64_t n,
                 mrc_work *work);
    /* A method that gives nearly the same for many rows in less time, NAME:key=value; or NULL. */
    const char *cheaper;
} mrc_method;

/* The method with params as the text of the model: where a fit has chosen some of them. */
mercer_status mrc_method_describe(const mrc_method *method, const void *params, mercer_model *model,
                                  mercer_error *err);

/* For is_nested of a method whose features never are. */
bool mrc_never_nested(const void *params);

/* The method that stands for a criterion of the fit options; it is in no list. */
extern const mrc_method mrc_method_criterion;

#define MRC_METHOD(family, name) extern const mrc_method mrc_method_##name;
#include "methods/methods.def"
#undef MRC_METHOD

#endif
