/* SPDX-License-Identifier: BSD-3-Clause */
/* The Gram operator after some rows were taken: K^i = K - U U', never formed.
 *
 * Taking row p adds the unit vector v along what is left of the mapped row phi(x_p) once the
 * earlier ones are projected out; U (n x i) holds the projections of all mapped rows on these
 * vectors, and C (i x i, upper triangular) writes them as v_j = sum_s C_sj phi(x_selected[s]), so
 * that U = K[:, S] C and C' K_SS C = I. K is the operator's matrix: centred when it is.
 *
 * Beside the diagonal d of K^i (residual) the object can carry the energies
 * r_j = sum over the data t of (K^i_jt)^2 of all rows by one product per row taken:
 *     z = K^i M u,   r_j -= 2 u_j z_j - u_j^2 |M u|^2,   d_j -= u_j^2
 * where M keeps the data the sums run over: all of them, those under a mask, or all about their
 * mean (K^i_j - mean_t K^i_jt). The recurrence loses digits as r falls: `doubt` bounds what
 * rounding has done to a row's energy, since and when it was computed from K^i itself, and
 * mrc_residual_gram_evaluate() computes chosen rows anew. Every store of the operator serves, the
 * low-rank one in q dimensions: with Q = F_S' C and S = (I - QQ') F'MF (I - QQ'), u = F v,
 * z = F S v and r_j = F_j' S F_j. S is kept by updates, and computed anew before it has lost many
 * digits. */
#ifndef MRC_GRAM_RESIDUAL_H
#define MRC_GRAM_RESIDUAL_H

#include "base/strips.h"
#include "gram/gram.h"

typedef struct mrc_residual_gram {
    mercer_ctx *ctx; /* borrowed, like gram */
    mrc_gram *gram;
    int64_t n, count;     /* n: rows here, of */
    mrc_span span;        /* all of them; rows that are taken or evaluated are counted in these */
    int64_t *selected;    /* rows taken, in order */
    double *projections;  /* U', count x n, each vector `stride` after the one before */
    int64_t stride;       /* n, unless rows are spread: as mrc_wide_stride() has it */
    double *coefficients; /* C column by column: entry (s, j) at j (j + 1) / 2 + s */
    double *residual;     /* n; exactly zero for rows taken */
    double *energy;       /* n; NULL before mrc_residual_gram_start() */
    double *doubt;        /* n: rounding errors that energy may hold; see residual.c */
    double *base2, *size; /* n: what bounds the entries of a row */
    double *image;        /* K^i M u of the newest u, with the newest u projected out */
    double data_norm2;    /* |M u|^2 */

    /* The data side M. */
    unsigned char *mask; /* n, or NULL */
    int64_t active;      /* rows under the mask */
    bool only_active;    /* no other energies are of use (rows were dropped) */
    bool about_mean;
    int64_t *held_rows; /* a few rows under the mask, whose columns of K are held ... */
    double *held;       /* ... here, active x n; or NULL */

    /* Low-rank store, q dimensions. */
    double *directions;  /* Q', count x q */
    double *inner;       /* S, q x q */
    double inner_trace;  /* of S when it was last computed from F */
    int64_t inner_steps; /* updates since */

    int64_t capacity, most;
    double *scratch; /* 2 n */
} mrc_residual_gram;

/* most: rows that will be taken, as far as is known. */
mercer_status mrc_residual_gram_init(mrc_residual_gram *def, mercer_ctx *ctx, mrc_gram *gram,
                                     int64_t most, mercer_error *err);
void mrc_residual_gram_destroy(mrc_residual_gram *def);

/* Begin to carry energies, before any row is taken. mask (n, NULL: all rows) is copied; about_mean
 * goes without a mask. hold: keep the columns of the rows under the mask, active x n doubles, so
 * that a product costs active x n instead of n x n. */
mercer_status mrc_residual_gram_start(mrc_residual_gram *def, const unsigned char *mask,
                                      bool about_mean, bool hold, mercer_error *err);

/* Take row p, whose residual is positive. Energies follow when they are carried and `energies`
 * says so (the last row of a run has no use for them). */
mercer_status mrc_residual_gram_take(mrc_residual_gram *def, int64_t p, bool energies,
                                     mercer_error *err);

/* Energies of rows J from K^i itself; J = NULL: of all rows. */
mercer_status mrc_residual_gram_evaluate(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                         mercer_error *err);
/* The same into out, also for an object that carries no energies: over the data that mask and
 * about_mean leave, whoever set them. */
mercer_status mrc_residual_gram_energies(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                         double *out, mercer_error *err);

/* Take the given rows, all under the mask, out of the data. */
mercer_status mrc_residual_gram_drop(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                     mercer_error *err);

/* C as a square matrix, count x count. */
void mrc_residual_gram_coefficients(const mrc_residual_gram *def, double *c);

#endif
