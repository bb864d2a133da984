/* SPDX-License-Identifier: BSD-3-Clause */
/* The performance function of optimal component analysis (Liu, Mio 2005): how well the nearest
 * neighbours of a row tell its class, in a subspace.
 *
 * Rows have coordinates z (m); a subspace is U (m x r), orthonormal columns, and distances are
 * |U'(z - z')|^2. For a judged row i, w_i and b_i are the mean of the K smallest squared distances
 * to rows of its own and of other classes, or the K-th of them, and
 *     F = mean over classes of the mean over their judged rows of h(b_i / (w_i + epsilon) - 1),
 *     h(x) = 1 / (1 + exp(-2 beta x)),
 * which tends to the recognition rate, averaged over classes, as beta grows. Rows without a
 * neighbour of their own or of another class do not count, nor do classes without rows that do. F
 * depends on the subspace alone and is smooth where no neighbour changes. */
#ifndef MRC_METHODS_KOCA_OBJECTIVE_H
#define MRC_METHODS_KOCA_OBJECTIVE_H

#include "base/ctx.h"

/* Labelled rows in coordinates, borrowed; `listed` of them (row numbers), or all when list is NULL.
 */
typedef struct mrc_koca_rows {
    const double *z;      /* n x m */
    const int64_t *codes; /* n: classes, below `classes` */
    int64_t n;
    const int64_t *list;
    int64_t listed;
} mrc_koca_rows;

typedef struct mrc_koca_rule {
    int64_t neighbours; /* K */
    bool kth;           /* the K-th distance instead of the mean of K */
    double beta, epsilon;
} mrc_koca_rule;

typedef struct mrc_koca_objective {
    mercer_ctx *ctx; /* borrowed */
    int64_t m, r, classes;
    int64_t stride;     /* r, or a little more so that vectors fill it; the rest is zero */
    mrc_koca_rule rule; /* may be changed at any time, with up to `room` neighbours */
    int64_t room;
    mrc_koca_rows from, judged;
    bool same;            /* both are parts of the same rows: a row is not its own neighbour */
    int64_t *sorted;      /* rows neighbours come from, by class */
    int64_t *class_start; /* classes + 1 */
    int64_t *place;       /* of a judged row among the sorted ones, or -1 */
    double *weight;       /* judged: 1 / (classes that count x rows of the class that do), or 0 */
    int64_t counted;      /* judged rows that count */
    /* Results of the last evaluation. */
    double *u;                 /* m x stride: the subspace */
    double *y_from, *y_judged; /* features: rows of `stride` numbers (the same when same) */
    double *across;            /* features of the listed rows of from, sorted, in strips */
    int64_t *own, *other;      /* judged x room: neighbours as rows of from, nearest first */
    double *own_distance, *other_distance; /* judged x room: from these, squared */
    double *pull_from, *pull_judged;       /* of the gradient, like y_from and y_judged */
    double *scratch;                       /* per worker */
} mrc_koca_objective;

/* from: where neighbours come from; judged: the rows that count. Both lie in m dimensions; they are
 * parts of the same rows when z is the same. room: the most neighbours the rule will ever have. */
mercer_status mrc_koca_init(mrc_koca_objective *o, mercer_ctx *ctx, int64_t m, int64_t r,
                            int64_t classes, const mrc_koca_rows *from, const mrc_koca_rows *judged,
                            const mrc_koca_rule *rule, int64_t room, mercer_error *err);
void mrc_koca_destroy(mrc_koca_objective *o);

/* F of the subspace U. Allocates nothing. */
double mrc_koca_value(mrc_koca_objective *o, const double *u);
/* F of the last subspace by another rule, which has no more neighbours. */
double mrc_koca_value_by(const mrc_koca_objective *o, const mrc_koca_rule *rule);
/* Its recognition rate: the share of rows whose nearest neighbour is of their class, averaged over
 * classes, ties counting half. */
double mrc_koca_rate(const mrc_koca_objective *o);
/* g (m x r) = dF/dU at the last subspace. */
void mrc_koca_gradient(mrc_koca_objective *o, double *g);

#endif
