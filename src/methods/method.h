/* What a method is: a name, a parameter schema and fit. methods.def lists them. */
#ifndef MRC_METHODS_METHOD_H
#define MRC_METHODS_METHOD_H

#include "base/params.h"
#include "kernel/gram.h"
#include "model/model.h"

#include <float.h>

/* The one argument of fit: everything a method may look at, all borrowed. */
typedef struct mrc_problem {
    const mercer_rows *rows; /* scaled training rows */
    const mercer_targets *targets;
    const mrc_kernel *kernel;
    bool learn_width;             /* the kernel's width is only where to start from */
    const mercer_rows *landmarks; /* points to use, like rows (precomputed: row numbers); or NULL */
    const mercer_rows *validation;   /* more labelled rows, like rows; or NULL */
    const int64_t *validation_codes; /* their classes, as codes of targets */
    mrc_center center;
    int64_t components; /* wanted; 0 when given by share */
    double share;       /* of the variance, 0 when components are given */
    bool by_bound;      /* components are the most; the bound chooses how many */
    mrc_store_kind store;
    bool single;
    const mercer_criterion *criterion; /* the caller's choice of direction, or NULL */
    mercer_fit_report *report;         /* never NULL */
} mrc_problem;

/* Build the Gram operator a method works on, as it requests, in the store the user chose. */
mercer_status mrc_problem_gram(mercer_ctx *ctx, const mrc_problem *problem,
                               mrc_gram_request *request, mrc_gram **out, mercer_error *err);

/* MERCER_ERR_DATA: the matrix is zero to rounding. */
mercer_status mrc_problem_no_component(const mrc_problem *problem, mercer_error *err);
/* MERCER_ERR_DATA, naming the column, where the rows are so small or large that their kernel values
 * are no numbers: the reason to look at before others. */
mercer_status mrc_problem_check_range(const mrc_problem *problem, mercer_error *err);

enum { MRC_METHOD_ABI = 1 };

/* Every method's parameter struct starts with this field, and its schema with this line. */
typedef struct mrc_common_params {
    double components;
} mrc_common_params;
#define MRC_COMPONENTS(type, initial)                                                              \
    MRC_REAL(type, components, initial, DBL_MIN, 1e9,                                              \
             "features to extract; below 1: as many as capture that share of the variance")

/* The same for methods that learn from targets. */
#define MRC_COMPONENTS_SUPERVISED(type, initial)                                                   \
    MRC_REAL_OR(type, components, initial, DBL_MIN, 1e9, "bound",                                  \
                "features to extract; below 1: as many as explain that share of the labels")
enum { MRC_MOST_BY_BOUND = 100 };

typedef enum mrc_needs { MRC_NEEDS_NOTHING = 0, MRC_NEEDS_LINEAR_KERNEL = 1 } mrc_needs;

typedef struct mrc_method {
    int abi;
    struct mercer_entry entry; /* name, summary, paper, parameters */
    size_t params_size;        /* of a struct that starts like mrc_common_params */
    mrc_needs needs;
    mrc_center default_center;
    bool refuses_span;        /* no mean in the span of its rows */
    bool takes_landmarks;     /* instead of all its keys but components */
    bool landmarks_keep_keys; /* instead of its key points alone */
    bool takes_validation;
    bool learns_width; /* sigma=learn */
    /* Of a method that learns from a stream, instead of fit; else NULL. See streaming.h. */
    const struct mrc_streaming *streaming;
    /* Fill the parts of a new model that the method decides: points, coefficients, offsets, mean,
     * spectrum. The caller has set kernel, scaling, names and provenance, and seals the model. */
    mercer_status (*fit)(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                         mercer_model *model, mercer_error *err);
    /* Of a method that learns from targets, and so refuses to do without: the head it gets unless
     * another is asked for. NULL: it does not look at targets. */
    const char *default_head;
    /* The same where it depends on the parameters, or NULL. */
    const char *(*choose_head)(const void *params);
    /* Whether its features are nested with these parameters: the first k of more are those of a fit
     * with k components. NULL: always. Asked by mrc_method_is_nested() alone. */
    bool (*is_nested)(const void *params);
} mrc_method;

/* For is_nested of a method whose features never are. */
bool mrc_never_nested(const void *params);

#define MRC_METHOD(name) extern const mrc_method mrc_method_##name;
#include "methods/methods.def"
#undef MRC_METHOD

#endif
