/* SPDX-License-Identifier: BSD-3-Clause */
/* Training by LIBSVM and LIBLINEAR in the helper program mercer-train.
 *
 * Both libraries crash, or end the process, when they get no memory. A context starts the program
 * at its first training and keeps it for the next ones: an evaluation trains thousands of small
 * machines. What goes to and fro is a request, the features and class weights, and then, for each
 * machine, its targets and the answer. Both sides are built together, so structs go as they are. */
#ifndef MRC_HEADS_TRAINING_H
#define MRC_HEADS_TRAINING_H

#include "base/ctx.h"

#define MRC_TRAIN_PROGRAM "mercer-train"

/* Changes with every change of these structs. */
#define MRC_TRAIN_VERSION UINT64_C(0x6d72637472616932)

/* By LIBSVM the first three, by LIBLINEAR the others. */
typedef enum mrc_train_kind {
    MRC_TRAIN_C,
    MRC_TRAIN_NU,
    MRC_TRAIN_SVR,
    MRC_TRAIN_LINEAR_SQUARED,
    MRC_TRAIN_LINEAR_HINGE
} mrc_train_kind;

/* Followed by n x l features and the weights of the classes. */
typedef struct mrc_train_request {
    uint64_t version;
    int32_t kind; /* an mrc_train_kind */
    int32_t rbf;  /* instead of a linear kernel; not of LIBLINEAR */
    int64_t n, l;
    int64_t classes;  /* 0 for values */
    int64_t machines; /* trained on the same features */
    double c, nu, epsilon, gamma, tolerance;
    double bias;     /* LIBLINEAR: of the feature behind the others; 0: there is none */
    double cache_mb; /* LIBSVM */
    int64_t memory;  /* the budget */
} mrc_train_request;

/* The sizes of one machine. Followed by labels and counts (of classes), indices (of vectors), rho,
 * coef and weights, as they are in mrc_machine. */
typedef struct mrc_train_answer {
    uint64_t version;
    int32_t status; /* a mercer_status; nothing follows unless MERCER_OK */
    char text[sizeof((mercer_error *)0)->text];
    int64_t classes, vectors, weights;
    int64_t given_up; /* steps at whose limit the library ended, short of the tolerance; or 0 */
} mrc_train_answer;

/* What a library found. */
typedef struct mrc_machine {
    int64_t classes; /* 0 for values */
    int32_t *label;  /* classes, in the library's order */
    int32_t *count;  /* LIBSVM: support vectors of each */
    int64_t vectors; /* LIBSVM: support vectors, those of a class together */
    int32_t *index;  /* their rows, from 1 */
    double *rho;     /* of each pair of classes; or one */
    double *coef;    /* (classes - 1, or 1) x vectors */
    int64_t weights; /* LIBLINEAR: numbers in w */
    double *w;
    int64_t given_up; /* as in mrc_train_answer */
} mrc_machine;

/* Pairs of classes, one for values. */
int64_t mrc_machine_pairs(int64_t classes);
void mrc_machine_destroy(mrc_machine *machine);

/* Give the helper of this context the features; `head` is for messages. */
mercer_status mrc_train_begin(mercer_ctx *ctx, const char *head, mrc_train_request *request,
                              const double *features, const double *class_weights,
                              mercer_error *err);
/* Train the next machine on these targets: classes from 0, or values. A library that dies is
 * MERCER_ERR_MEMORY; one that ends short of the tolerance is a notice. */
mercer_status mrc_train_next(mercer_ctx *ctx, const char *head, const mrc_train_request *request,
                             const double *targets, mrc_machine *out, mercer_error *err);

#endif
