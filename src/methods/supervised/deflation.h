/* SPDX-License-Identifier: BSD-3-Clause */
/* The one deflation engine of the supervised methods (Dhanjal, Gunn, Shawe-Taylor 2009).
 *
 * A method chooses a dual direction beta_j; its feature on the training rows is
 *     tau_j = P_j K beta_j,   P_j = I - Q Q' over the features before it
 * (left deflation only, so K is never changed), and with M_tj = tau_t' K beta_j / tau_t' tau_t,
 * unit upper triangular, features(x) = k(x)' A, A = B M^-1, give exactly T on the training rows.
 * Columns of A do not depend on later ones: every prefix is a model of its own. The engine scales
 * each direction to length one in feature space (beta' K beta = 1) and keeps Q, the norms of tau,
 * M, the directions and what the features leave of the targets, P_j Y. */
#ifndef MRC_METHODS_SUPERVISED_DEFLATION_H
#define MRC_METHODS_SUPERVISED_DEFLATION_H

#include "methods/common/method.h"

typedef struct mrc_deflation {
    mercer_ctx *ctx; /* borrowed, like gram */
    mrc_gram *gram;
    int64_t n, outputs; /* n: rows here, of */
    mrc_span span;      /* all of them, which may be spread over ranks: arrays of n numbers are
                           those of the rows here, everything else is the same on all ranks */
    int64_t stride;     /* between the rows of q: n, or somewhat more */
    int64_t count, most;
    double *y;       /* targets as the method wants them, n x outputs */
    double *rest;    /* P_j Y, n x outputs */
    double *q;       /* Q', count x n, orthonormal rows, from each multiple of the stride on */
    double targets2; /* sum of y^2 once asked for, else -1 */
    double *blur;    /* of each output: how long the part of rest may be that rounding made */
    double *norms;   /* |tau_j| for a direction of length one */
    double *m;       /* M column by column: entry (t, j) at j (j + 1) / 2 + t */
    double *given;   /* length of each direction as the method gave it */
    /* The directions, one after the other: of all rows, n values each; or of few (sparse), those of
     * direction j from start[j] to start[j + 1], point[] indexing selected[]. */
    double *values;
    bool sparse;
    int64_t *start, *point;
    int64_t *selected;     /* sparse: the rows used, of all, in order of their first use */
    int64_t *used;         /* sparse: how many of them the first j + 1 directions use */
    int64_t *place;        /* sparse: row -> its index in selected, or -1; NULL: rows are spread */
    double one_length;     /* |k_i| of the row with the largest K_ii once asked for, else 0 */
    double *column_norms2; /* |k_i|^2 once asked for; see mrc_deflation_column_norms2 */
    double *aligned;       /* sum over outputs of (q_j' y)^2 / y'y: the share each explains */
    double *covariance;    /* sum over outputs of (tau_j' y)^2 / n^2 */
    bool repeats;          /* keep directions, too, that the earlier features leave nothing of: they
                            * explain nothing, and require MRC_AS_GIVEN */
    int64_t repeated;      /* how many of those there are */
    const char *ended;     /* why the method found no more features, if it knows better; or NULL */
} mrc_deflation;

/* Room for most features of gram; y (n x outputs) is copied. sparse: directions are of few rows,
 * and the model keeps only the rows that have a part in one. */
mercer_status mrc_deflation_init(mrc_deflation *dual, mercer_ctx *ctx, mrc_gram *gram,
                                 const double *y, int64_t outputs, int64_t most, bool sparse,
                                 mercer_error *err);
void mrc_deflation_destroy(mrc_deflation *dual);

/* Add the feature of beta: values over the given rows (distinct; NULL: all n, in order), of any
 * length but zero. image is K beta, or NULL: then it is computed. All is copied. *added is false,
 * and nothing changes, when the earlier features leave nothing of it (unless dual repeats), or when
 * its squared length beta' K beta is not positive. Given rows and image, the caller answers for it
 * that the image is more than rounding. */
mercer_status mrc_deflation_add(mrc_deflation *dual, const int64_t *rows, int64_t count,
                                const double *values, const double *image, bool *added,
                                mercer_error *err);

/* Whether the features leave anything of the direction beta (n values), image being K beta: what
 * mrc_deflation_add asks of it. */
mercer_status mrc_deflation_remains(mrc_deflation *dual, const double *beta, const double *image,
                                    bool *remains, mercer_error *err);

/* Whether the features explain the targets except for what rounding left of them. Each output is
 * judged in its own unit; what is left of one that is explained is made zero. */
mercer_status mrc_deflation_explains(mrc_deflation *dual, bool *all, mercer_error *err);

/* Find the combination beta = W a, |a| = 1, of w (n x columns) that is longest in feature space:
 * largest beta' K beta. image receives K beta. Both n values. */
mercer_status mrc_deflation_lead(mrc_deflation *dual, const double *w, int64_t columns,
                                 double *beta, double *image, mercer_error *err);

/* sum of a_i b_i over n x width values of the rows of all ranks, row by row. */
mercer_status mrc_deflation_dot(const mrc_deflation *dual, const double *a, const double *b,
                                int64_t width, double *out, mercer_error *err);

/* What the features leave of v (n values): v - Q Q' v, twice where much is subtracted; dots (count)
 * receives Q'v. */
mercer_status mrc_deflation_project(mrc_deflation *dual, double *v, double *dots,
                                    mercer_error *err);

/* |k_i|^2 of all columns of K, n values, borrowed. A pass over the matrix at the first call. */
mercer_status mrc_deflation_column_norms2(mrc_deflation *dual, const double **out,
                                          mercer_error *err);

/* How features and coefficients come out of the directions. */
typedef enum mrc_deflation_scale {
    MRC_UNIT_DIRECTIONS, /* deflated features of directions of length one */
    MRC_UNIT_FEATURES,   /* the same, scaled to length one on the training rows */
    MRC_AS_GIVEN,        /* K beta as the method gave it, not deflated: A = B */
} mrc_deflation_scale;

/* The operator in another unit (gram/gram.h), and norms of its columns forgotten that are not. */
void mrc_deflation_set_unit(mrc_deflation *dual, double unit);
/* All features were added with the operator in this unit (gram/gram.h), not MRC_AS_GIVEN: back to
 * units of one. */
void mrc_deflation_leave_unit(mrc_deflation *dual, double unit);

/* Fill the model: points, A, offsets, mean, alignment, covariance and the bound. */
mercer_status mrc_deflation_finish(mrc_deflation *dual, const mrc_problem *problem,
                                   mrc_deflation_scale scale, mercer_model *model,
                                   mercer_error *err);

/* Targets as columns, n x *outputs: numbers as they are, classes as an indicator matrix (two
 * classes: one column of +-1); about their means unless raw. MERCER_ERR_ARGUMENT without targets.
 */
mercer_status mrc_deflation_targets(const mrc_problem *problem, bool raw, double **y,
                                    int64_t *outputs, mercer_error *err);

#endif
