/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that do kernel PCA in the span of a few points: rkpca, greedy, nystroem, tipping. They
 * differ only in how the points are chosen. */
#ifndef MRC_METHODS_POINTS_SUBSET_H
#define MRC_METHODS_POINTS_SUBSET_H

#include "methods/greedy/selection.h"

/* Choose up to *count rows, put them into list (room for n, and for *count) and set *count. gram is
 * the uncentred operator; self is that of the choice. Rows that are spread over ranks are counted
 * in those of all. */
typedef mercer_status (*mrc_subset_choose)(void *self, mercer_ctx *ctx, const mrc_problem *problem,
                                           mrc_gram *gram, int64_t *list, int64_t *count,
                                           mercer_error *err);

typedef struct mrc_subset_choice {
    mrc_selection_rule rule;  /* a greedy one; what the problem says of it is set here */
    int64_t points;           /* asked for; 0: the default */
    bool depth_of_points;     /* the rule looks at as many rows in each step as it will take */
    mrc_subset_choose choose; /* instead of the rule, or NULL */
    void *self;
    bool many_passes;      /* choose makes many products with the matrix */
    const double *weights; /* n, zero for rows beside the points: directions are the leading ones
                              of sum_i weights_i phi(x_i) phi(x_i)', not of the scatter of the rows;
                              set by choose at the latest; NULL: of the scatter */
    mrc_factor *factor; /* set by choose, and owned here: of the uncentred matrix, with the rows of
                           the list as its pivots, so that nothing is computed again; NULL: there
                           is none */
    double left_out_share; /* set by a fit: share of the variance outside the span of the points;
                              about the mean in the span, when the model keeps that one */
} mrc_subset_choice;

/* An orthonormal basis of the span of m points, and the n mapped training rows in it. */
typedef struct mrc_frame {
    int64_t n, m;        /* n: rows here, of */
    mrc_span span;       /* all of them, which may be spread over ranks */
    int64_t *selected;   /* the points: training rows, */
    mercer_rows *points; /* or rows of their own; the other one is NULL */
    double *coordinates; /* P', m x n; its means are subtracted when the model is centred */
    double *basis;       /* C, m x m */
    double *own;         /* coordinates of the points themselves, m x m */
    double *mean;        /* mu, m; zero without centring */
    double diagonal;     /* mean of k(x, x) over the training rows */
    double floor;        /* eigenvalues above count */
    double grand;        /* squared norm of the true mean, when the model keeps that one */
} mrc_frame;

/* Choose the points, or take the problem's landmarks. Scores of selected rows go to the model. */
mercer_status mrc_subset_frame(mercer_ctx *ctx, const mrc_problem *problem,
                               mrc_subset_choice *choice, mrc_frame *frame, mercer_model *model,
                               mercer_error *err);
void mrc_frame_destroy(mrc_frame *frame);

/* The same, and fill the model. */
mercer_status mrc_subset_fit(mercer_ctx *ctx, const mrc_problem *problem, mrc_subset_choice *choice,
                             mercer_model *model, mercer_error *err);

/* check_spread of such a method: landmarks, which every rank has, can be its points, and rows of
 * its own choice cannot. */
mercer_status mrc_subset_check_spread(const struct mrc_request *request, mercer_error *err);
/* MERCER_ERR_ARGUMENT where the model would have to store all rows. */
mercer_status mrc_subset_check_center(const struct mrc_request *request, mercer_error *err);
/* MERCER_ERR_ARGUMENT where a store is asked for, which rows that are spread would have no use for.
 */
mercer_status mrc_subset_check_store(const struct mrc_request *request, mercer_error *err);

/* What that takes for n rows; see mrc_method. */
void mrc_subset_work(const mercer_ctx *ctx, const mrc_problem *problem, int64_t n,
                     mrc_subset_choice *choice, mrc_work *work);

/* The schema line of `points`. */
#define MRC_POINTS(type)                                                                           \
    MRC_INT(type, points, 0, 0, 1e9,                                                               \
            "rows the features use; 0: three times the components, or what a share or "            \
            "another stop takes")

#endif
