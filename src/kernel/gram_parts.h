/* The inside of the Gram operator, shared by its front (gram.c), the stores made of tiles
 * (tiled.c), the low-rank store (lowrank.c), the implicit one (implicit.c) and the eigen-solver's
 * choice (spectrum.c). */
#ifndef MRC_KERNEL_GRAM_PARTS_H
#define MRC_KERNEL_GRAM_PARTS_H

#include "kernel/gram.h"

/* Edge of a tile: 512 KB of doubles, which stays in a core's second-level cache while it is
 * multiplied. Larger tiles leave it, smaller ones make BLAS calls too short. */
enum { MRC_TILE = 256 };
/* Rows J of K are computed in groups of this many. */
enum { MRC_GATHER = 64 };
/* The columns of sparse rows are summed in so many ranges. */
enum { MRC_RANGES = 2 };

struct mrc_gram {
    mercer_ctx *ctx;
    const mrc_kernel *kernel;
    const mercer_rows *rows;
    int64_t n;
    int threads; /* as the context had them: scratch is per worker */
    mrc_store_kind store;
    bool single, centered;
    double eps, kmax;
    double unit;       /* of all values; see mrc_gram_set_unit() */
    double scale;      /* what values are multiplied with as they are read: stores that keep none */
    mrc_points points; /* not for precomputed */
    double *raw_diag;  /* n, uncentred */
    double *diag;      /* n, centred when the operator is; filled with the means */
    double *means;     /* n, of the uncentred matrix */
    double grand;
    bool means_known;

    /* Tiled stores: one triangle of tiles, (I, J) with I >= J at index I (I + 1) / 2 + J. */
    int64_t tiles; /* per side */
    double *tile_values;
    float *tile_singles;
    void **scratch; /* per worker */

    /* Low-rank: F, n x rank, in panels of MRC_PANEL columns, each panel n x MRC_PANEL. */
    double *factor;
    int64_t rank;
    double left_out; /* largest diagonal entry of K - F F'; 0 for other stores */

    /* Implicit: ranges of the columns of sparse rows, about equally full. */
    int32_t range_end[MRC_RANGES];
    int32_t *row_cuts; /* n x MRC_RANGES: where in its entries a row leaves each range */
};

enum { MRC_PANEL = 32 };

/* Tiled stores. init allocates what the store needs and computes the tiles of a dense one. */
mercer_status mrc_tiled_init(mrc_gram *g, mercer_error *err);
void mrc_tiled_scale(mrc_gram *g, double factor); /* the stored values, in place */
int64_t mrc_tiled_dense_bytes(int64_t n, bool single);
int64_t mrc_tiled_scratch_bytes(const mrc_gram *g);
/* Uncentred out (n x l) = K v. */
mercer_status mrc_tiled_apply(mrc_gram *g, const double *v, int64_t l, double *out,
                              mercer_error *err);
/* out[i] = sum_t mask[t] (K_it + row_shift[i] + column_shift[t])^2 of the uncentred matrix, all i;
 * mask and column_shift may be NULL. */
mercer_status mrc_tiled_row_norms2(mrc_gram *g, const unsigned char *mask, const double *row_shift,
                                   const double *column_shift, double *out, mercer_error *err);
/* Uncentred K[J, first .. first + count), at most MRC_GATHER rows J, into out (stride ldo).
 * Single-threaded, for use inside parfor. */
void mrc_tiled_block(const mrc_gram *g, const int64_t *rows, int64_t nrows, int64_t first,
                     int64_t count, int worker, double *out, int64_t ldo);

/* Low-rank store. most: columns allowed; eager: give up early when the decay of the residual shows
 * that more than `most` would be needed. *reached: columns computed; *residual: the largest
 * remaining diagonal entry over kmax. On MERCER_OK g->rank > 0 when the factor is complete, 0 when
 * it was given up (and nothing is left allocated). */
mercer_status mrc_lowrank_init(mrc_gram *g, int64_t most, bool eager, int64_t *reached,
                               double *residual, mercer_error *err);
/* The factor of the linear kernel: the rows themselves. */
mercer_status mrc_lowrank_init_linear(mrc_gram *g, mercer_error *err);
/* Means, diagonal and centring in place; called once after init. */
mercer_status mrc_lowrank_center(mrc_gram *g, mercer_error *err);
void mrc_lowrank_scale(mrc_gram *g, double factor); /* F, in place */
mercer_status mrc_lowrank_apply(mrc_gram *g, const double *v, int64_t l, double *out,
                                mercer_error *err);
/* out (count x rank): rows J of F. */
void mrc_lowrank_rows(const mrc_gram *g, const int64_t *rows, int64_t count, double *out);
/* s (rank x rank) = sum of F_t F_t' over the rows t under mask (NULL: all), F_t about their mean
 * over all rows when about_mean says so, and without their part along the orthonormal directions
 * (count x rank). sums = NULL: F'F. */
typedef struct mrc_lowrank_sums {
    const unsigned char *mask;
    bool about_mean;
    const double *directions;
    int64_t count;
} mrc_lowrank_sums;
mercer_status mrc_lowrank_inner(mrc_gram *g, const mrc_lowrank_sums *sums, double *s,
                                mercer_error *err);
/* out (count x rank): rows J of F without their part along the directions of sums. */
mercer_status mrc_lowrank_rows_left(mrc_gram *g, const int64_t *rows, int64_t count,
                                    const mrc_lowrank_sums *sums, double *out, mercer_error *err);
/* out (rank x l) = F' v for v n x l. */
mercer_status mrc_lowrank_transposed_times(mrc_gram *g, const double *v, int64_t l, double *out,
                                           mercer_error *err);
/* out (n x l) = F w for w rank x l. */
mercer_status mrc_lowrank_times(mrc_gram *g, const double *w, int64_t l, double *out,
                                mercer_error *err);
/* out[i] = F_i' S F_i for all i. */
mercer_status mrc_lowrank_quadratic(mrc_gram *g, const double *s, double *out, mercer_error *err);

/* Implicit store. init: once. Uncentred out (count x l) = K[J, :] v for v n x l; J = NULL: the
 * first count. */
mercer_status mrc_implicit_init(mrc_gram *g, mercer_error *err);
mercer_status mrc_implicit_apply_rows(mrc_gram *g, const int64_t *rows, int64_t count,
                                      const double *v, int64_t l, double *out, mercer_error *err);
/* Columns J of K a few at a time: block (n x count) holds those of J[first .. first + count).
 * J = NULL: all. */
typedef void (*mrc_implicit_visit)(void *arg, int64_t first, int64_t count, const double *block);
mercer_status mrc_implicit_columns(mrc_gram *g, const int64_t *rows, int64_t count,
                                   mrc_implicit_visit visit, void *arg, mercer_error *err);
/* Doubles that X' v takes for l columns. */
int64_t mrc_implicit_inner_size(const mrc_gram *g, int64_t l);

/* Fill means, grand and the centred diagonal (once). */
mercer_status mrc_gram_learn_means(mrc_gram *g, mercer_error *err);

#endif
