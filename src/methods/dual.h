/* The one deflation engine of the supervised methods (Dhanjal, Gunn, Shawe-Taylor 2009).
 *
 * A method chooses a dual direction beta_j; its feature on the training rows is
 *     tau_j = P_j K beta_j,   P_j = I - Q Q' over the features before it
 * (left deflation only, so K is never changed), and with M_tj = tau_t' K beta_j / tau_t' tau_t,
 * unit upper triangular, features(x) = k(x)' A, A = B M^-1, give exactly T on the training rows.
 * Columns of A do not depend on later ones: every prefix is a model of its own. The engine keeps Q,
 * the norms of tau, M, the directions and what the features leave of the targets, P_j Y. */
#ifndef MRC_METHODS_DUAL_H
#define MRC_METHODS_DUAL_H

#include "methods/method.h"

typedef struct mrc_dual {
    mercer_ctx *ctx; /* borrowed, like gram */
    mrc_gram *gram;
    int64_t n, outputs;
    int64_t count, most;
    double *y;         /* targets as the method wants them, n x outputs */
    double *rest;      /* P_j Y, n x outputs */
    double *q;         /* Q', count x n, orthonormal rows */
    double *norms;     /* |tau_j| */
    double *m;         /* M column by column: entry (t, j) at j (j + 1) / 2 + t */
    double *beta;      /* directions of all rows, count x n; NULL for those of single rows */
    int64_t *selected; /* directions of single rows: beta_j = scale_j e_selected[j] */
    double *scale;
    double largest;     /* max_i |k_i|, for the stopping rule; not with single rows */
    double *aligned;    /* sum over outputs of (q_j' y)^2 / y'y: the share each feature explains */
    double *covariance; /* sum over outputs of (tau_j' y)^2 / n^2 with unit-norm directions */
} mrc_dual;

/* Room for most features of gram; y (n x outputs) is copied. Directions are dense, or of single
 * rows. */
mercer_status mrc_dual_init(mrc_dual *dual, mercer_ctx *ctx, mrc_gram *gram, const double *y,
                            int64_t outputs, int64_t most, bool single_rows, mercer_error *err);
void mrc_dual_destroy(mrc_dual *dual);

/* Add the feature of beta (n values, K beta in image; copied). *added is false, and nothing
 * changes, when the earlier features leave nothing of it. */
mercer_status mrc_dual_add(mrc_dual *dual, const double *beta, const double *image, bool *added,
                           mercer_error *err);
/* The same for beta = scale e_row. */
mercer_status mrc_dual_add_row(mrc_dual *dual, int64_t row, double scale, bool *added,
                               mercer_error *err);

/* What the features leave of v (n values): v - Q Q' v, twice; dots (count) receives Q'v. */
mercer_status mrc_dual_project(mrc_dual *dual, double *v, double *dots, mercer_error *err);

/* Fill the model: points, A, offsets, mean. unit_features: feature columns of length one on the
 * training rows instead of the scale of the directions. */
mercer_status mrc_dual_finish(mrc_dual *dual, const mrc_problem *problem, bool unit_features,
                              mercer_model *model, mercer_error *err);

/* Targets as columns about their means, n x *outputs: numbers as they are, classes as an indicator
 * matrix (two classes: one column of +-1). MERCER_ERR_ARGUMENT without targets. */
mercer_status mrc_dual_targets(const mrc_problem *problem, double **y, int64_t *outputs,
                               mercer_error *err);

#endif
