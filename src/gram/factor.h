/* SPDX-License-Identifier: BSD-3-Clause */
/* A factor F (n x rank) of a matrix K = F F', in panels of MRC_PANEL columns, each n x MRC_PANEL,
 * because the rank is not known while F grows. */
#ifndef MRC_GRAM_FACTOR_H
#define MRC_GRAM_FACTOR_H

#include "base/ctx.h"
#include "base/strips.h"

#include <string.h>

enum { MRC_PANEL = 32 };

typedef struct mrc_factor {
    mercer_ctx *ctx; /* borrowed */
    int threads;     /* as the context had them: scratch is per worker */
    int64_t n, rank; /* n: rows here, of */
    mrc_span span;   /* all of them, which may be spread over ranks */
    double *values;  /* owned */
    double left_out; /* no eigenvalue of K - F F' exceeds n times this */
    int64_t *pivots; /* rank: the rows, of all, that the columns were made from, in order, or NULL:
                        F before it was centred is lower triangular in these rows; owned */
    double *mean;    /* rank: subtracted from the rows of F, or NULL: nothing was; owned */
} mrc_factor;

/* NULL is accepted. */
void mrc_factor_free(mrc_factor *f);

/* The panel that holds this column of F. */
static inline double *mrc_factor_panel(const mrc_factor *f, int64_t column)
{
    return f->values + (size_t)(column / MRC_PANEL) * (size_t)f->n * MRC_PANEL;
}

/* Row i of F, its first `columns` entries, into out. */
static inline void mrc_factor_row(const mrc_factor *f, int64_t i, int64_t columns, double *out)
{
    for (int64_t c = 0; c < columns; c += MRC_PANEL)
        memcpy(out + c, mrc_factor_panel(f, c) + i * MRC_PANEL,
               (size_t)(columns - c < MRC_PANEL ? columns - c : MRC_PANEL) * sizeof *out);
}

/* Sums below are over the rows of all ranks, with the same bits on all of them; arrays of n numbers
 * have the rows that are here. */

/* mean (columns): of the rows of F, their first entries, as F is. */
mercer_status mrc_factor_mean(const mrc_factor *f, int64_t columns, double *mean,
                              mercer_error *err);
/* Subtract the mean of its rows from F, in place, and keep it. means (n), grand: of K as it was;
 * diag (n): of K as it is then. */
mercer_status mrc_factor_center(mrc_factor *f, double *means, double *grand, double *diag,
                                mercer_error *err);
void mrc_factor_scale(mrc_factor *f, double factor); /* K by a power of four, in place */
/* *out (rank x rank, from mrc_alloc): the pivots' rows of F before it was centred, lower
 * triangular. Only for a factor that has pivots. */
mercer_status mrc_factor_triangle(const mrc_factor *f, double **out, mercer_error *err);
/* out (count x rank): rows J of F; J = NULL: the first count. */
void mrc_factor_rows(const mrc_factor *f, const int64_t *rows, int64_t count, double *out);
/* The same of all ranks' rows, on all of them; J counts the rows of all. */
mercer_status mrc_factor_rows_of_all(const mrc_factor *f, const int64_t *rows, int64_t count,
                                     double *out, mercer_error *err);
/* s (rank x rank) = sum of F_t F_t' over the rows t under mask (NULL: all), F_t about their mean
 * over all rows when about_mean says so, and without their part along the orthonormal directions
 * (count x rank). sums = NULL: F'F. */
typedef struct mrc_factor_sums {
    const unsigned char *mask;
    bool about_mean;
    const double *directions;
    int64_t count;
} mrc_factor_sums;
mercer_status mrc_factor_inner(const mrc_factor *f, const mrc_factor_sums *sums, double *s,
                               mercer_error *err);
/* out (count x rank): rows J of F, of all ranks, without their part along the directions of sums.
 */
mercer_status mrc_factor_rows_left(const mrc_factor *f, const int64_t *rows, int64_t count,
                                   const mrc_factor_sums *sums, double *out, mercer_error *err);
/* out (rank x l) = F' v for v n x l. */
mercer_status mrc_factor_transposed_times(const mrc_factor *f, const double *v, int64_t l,
                                          double *out, mercer_error *err);
/* out (n x l) = F w for w rank x l. */
mercer_status mrc_factor_times(const mrc_factor *f, const double *w, int64_t l, double *out,
                               mercer_error *err);
/* out[i] = F_i' S F_i for all i. */
mercer_status mrc_factor_quadratic(const mrc_factor *f, const double *s, double *out,
                                   mercer_error *err);

#endif
