/* SPDX-License-Identifier: BSD-3-Clause */
/* From directions in feature space to the model form.
 *
 * A method finds directions w_j = sum_s B_sj phi(p_s) over points p_s: all training rows, some of
 * them, or points of the caller's. This puts them into a model: the points themselves or, for a
 * linear kernel where that is smaller, the map W; offsets; and the mean as the centring wants it.
 */
#ifndef MRC_METHODS_COMMON_EXPANSION_H
#define MRC_METHODS_COMMON_EXPANSION_H

#include "methods/common/method.h"

typedef struct mrc_expansion {
    const mercer_rows *points; /* the caller's points (without an exact mean), or NULL: rows */
    const int64_t *selected;   /* which training rows, or NULL: all, in order */
    int64_t count;             /* points; of rows that are spread over ranks: all of them */
    int64_t components;
    double *coefficients; /* B, count x components, from mrc_alloc; the model takes it over. Of all
                           * rows where they are spread: those of the rows here */
    /* The same directions in the coordinates of the factor of gram, its rank x components, or NULL:
     * they are the caller's, and more exact than F' B. */
    const double *inner;
    bool centered_images; /* w_j = sum_s B_sj (phi(p_s) - mean) instead */
    /* Centred models only. */
    const double *mean_products; /* <phi(p_s), mean>, count */
    double mean_norm2;           /* squared norm of the mean: the one of span in that case */
    const double *mean_span;     /* span: the mean is sum_s mean_span[s] phi(p_s), count */
    /* The operator of all rows, which is released (mrc_gram_release) before the model takes memory;
     * NULL: the caller did so. Directions over all rows become directions over the pivots of its
     * factor where problem->on_pivots lets them. */
    mrc_gram *gram;
} mrc_expansion;

/* Fill points, coefficients, offsets and mean of model, whose member `center` says which mean it
 * keeps; and its selected rows. e->coefficients is NULL afterwards, also on error. */
mercer_status mrc_expand(mercer_ctx *ctx, const mrc_problem *problem, mrc_expansion *e,
                         mercer_model *model, mercer_error *err);

/* Fill the model of a linear kernel with the map W (columns x l) itself, for rows about their mean
 * where it is centred. *w is NULL afterwards, also on error. */
mercer_status mrc_expand_map(mercer_ctx *ctx, const mrc_problem *problem, double **w, int64_t l,
                             mercer_model *model, mercer_error *err);

/* Fill a model of the (centred) operator with directions in the coordinates of its factor, which
 * has pivots: w_j = sum_c W_cj e_c, W rank x l. The model has the pivots as its points, and the
 * mean is in their span, because all mapped rows are, to rounding. */
mercer_status mrc_expand_on_pivots(mercer_ctx *ctx, const mrc_problem *problem, mrc_gram *gram,
                                   const double *w, int64_t l, mercer_model *model,
                                   mercer_error *err);

/* Make the columns of B (n x l) sum to zero exactly: for centred mapped rows that changes no
 * direction. */
mercer_status mrc_center_columns(mercer_ctx *ctx, const mrc_span *span, int64_t l, double *b,
                                 mercer_error *err);

/* Refuse, before work, sparse rows that are spread over ranks of which a model with these
 * components is not kept as such a map, see below: no rank has all of them. */
mercer_status mrc_expansion_check_spread(const mrc_problem *problem, int64_t components,
                                         mercer_error *err);

/* Whether such a model of `count` dense points or the problem's sparse ones is kept as a linear
 * map, whose mean then costs nothing. */
bool mrc_expansion_collapses(const mrc_problem *problem, int64_t count, int64_t components);

#endif
