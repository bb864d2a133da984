/* SPDX-License-Identifier: BSD-3-Clause */
/* criterion=top of rkpca: rows by how much the m largest eigenvalues of the scatter grow with them.
 * See top.c. */
#ifndef MRC_METHODS_POINTS_TOP_H
#define MRC_METHODS_POINTS_TOP_H

#include "methods/greedy/selection.h"

/* The caller sets ctx, wanted and about_mean; the rest starts zeroed. */
typedef struct mrc_top {
    mercer_ctx *ctx;
    int64_t wanted;   /* m */
    bool about_mean;  /* H is there */
    int64_t count;    /* points taken so far */
    int64_t capacity; /* points there is room for */
    double *images;   /* T, count x n */
    double *scatter;  /* U~'U~, count x count, row stride capacity */
    double *newest;   /* U~ of the newest point, n */
    double *length;   /* |u_k| of each point */
    double *off;      /* a_k of each row of T */
    double *size;     /* s_z, n */
    double left;      /* trace of K^i */
    double trace;     /* of S, low-rank store, before the newest point */
    int64_t *renewed; /* points there were when column z of T was computed from K^i, n */
    /* While candidates are judged. */
    const mrc_selection *selection;
    double *theta;           /* increasing */
    double *vectors;         /* V', count x count */
    double *border;          /* per worker: count x TILE, and count squares of a border */
    double *carried, *fresh; /* b_j of columns that were carried, and of those computed anew */
    double *scores;
} mrc_top;

/* Growth of the sum of the m largest eigenvalues: mrc_selection_rule.rescore, self is a mrc_top. */
mercer_status mrc_top_scores(void *self, const mrc_selection *selection, double *scores,
                             mercer_error *err);
/* Its rescore_error and renew, which see to the errors of T. */
double mrc_top_error(const void *self, const mrc_selection *selection, int64_t j, double reach);
mercer_status mrc_top_renew(void *self, const mrc_selection *selection, const int64_t *rows,
                            int64_t count, mercer_error *err);
void mrc_top_destroy(mrc_top *top);

#endif
