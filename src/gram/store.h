/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of the Gram operator: what it keeps for every store, and what a store is.
 *
 * A store is one file with a descriptor, mrc_store_<name>, and one line in stores.def. It answers
 * for the uncentred K of n rows; the front (gram.c) centres, checks and sums over ranks, and
 * choose_store.c has the rule for `auto`. */
#ifndef MRC_GRAM_STORE_H
#define MRC_GRAM_STORE_H

#include "gram/gram.h"

/* Rows J of K are computed in groups of this many. */
enum { MRC_GATHER = 64 };
/* Columns of K that new rows, and stores made of tiles, are computed for at a time. Tiles of this
 * edge are 512 KB of doubles, which stay in a core's second-level cache while they are multiplied.
 * Larger tiles leave it, smaller ones make BLAS calls too short. */
enum { MRC_TILE = 256 };

struct mrc_gram {
    mercer_ctx *ctx;
    const mrc_kernel *kernel;
    const mercer_rows *rows;
    int64_t n;       /* rows here; the matrix is that of all rows of */
    mrc_span span;   /* which may be spread over ranks: the store has MRC_STORE_SPREADS then, or is
                        stream where only the diagonal is asked for */
    int64_t entries; /* of all rows, where they are sparse and not those of a forecast */
    int threads;     /* as the context had them: scratch is per worker */
    bool single, centered;
    double eps, kmax;
    double tolerance;  /* of eigenpairs and the factor, a share of the trace; 0: rounding */
    double unit;       /* of all values; see mrc_gram_set_unit() */
    mrc_points points; /* not for precomputed */
    double *raw_diag;  /* n, uncentred */
    double *diag;      /* n, centred when the operator is; filled with the means */
    double *means;     /* n, of the uncentred matrix */
    double grand;
    bool means_known;
    const mrc_store *store;
    void *self; /* the store's own, owned */
};

/* What is special about a store. */
enum {
    MRC_STORE_CENTERS = 1,      /* holds the centred K: init fills means, grand and diag */
    MRC_STORE_CHEAP_PASSES = 2, /* one more product costs less than keeping what it gave */
    MRC_STORE_NO_NEW_ROWS = 4,  /* kernel values with new rows must be given */
    MRC_STORE_PARTIAL = 8,      /* writes this rank's addends, zero elsewhere; the front sums */
    MRC_STORE_DOUBLES = 16,     /* holds doubles only, whatever precision is asked for */
    MRC_STORE_COMPLETE = 32,    /* needs the prepared rows only in init */
    MRC_STORE_SPREADS = 64,     /* its rows may be spread over ranks */
    MRC_STORE_NARROW =
        128, /* one vector costs much less than two: means have a product of their own */
    MRC_STORE_SPREADS_COLUMNS = 256, /* or only columns of few rows are those of all ranks */
};

/* Rows J of K. rows = NULL: all of them, count is n. */
typedef struct mrc_pick {
    const int64_t *rows;
    int64_t count;
} mrc_pick;

static inline int64_t mrc_pick_row(mrc_pick j, int64_t i)
{
    return j.rows ? j.rows[i] : i;
}

/* K_it becomes K_it + (base - row[i]) - column[t]; row = NULL: it stays. Both are indexed by row of
 * the data, and column = NULL means zeroes. Sums leave out the t that mask (NULL: none) has 0 for.
 */
typedef struct mrc_shift {
    const double *row, *column;
    double base;
    const unsigned char *mask;
} mrc_shift;

/* base - row[i], or 0. */
static inline double mrc_shift_row(const mrc_shift *shift, int64_t i)
{
    return shift->row ? shift->base - shift->row[i] : 0;
}

/* Rows of all ranks that every rank gets, and what shifts their columns. */
typedef struct mrc_fetched {
    mercer_rows *rows;
    mrc_points points;
    double *means; /* base - means[i] is added to column i; NULL: it stays */
} mrc_fetched;
mercer_status mrc_fetch(const mrc_gram *g, mrc_pick j, const mrc_shift *shift, mrc_fetched *out,
                        mercer_error *err);
void mrc_fetched_destroy(mrc_fetched *fetched);

/* What a store with a factor is allowed, and what it says when it gives up; zero for others. */
typedef struct mrc_store_plan {
    int64_t factor_columns; /* at most */
    double give_up;   /* as soon as it seems that more than this many will be needed; 0: never */
    int64_t *reached; /* columns computed */
    double *residual; /* the largest diagonal entry that is left, over kmax */
} mrc_store_plan;

/* Operations that may be NULL say so. Those on K are called by one thread, and give the same bits
 * for any number of threads. */
struct mrc_store {
    const char *name;
    unsigned caps;
    /* *self is owned by the operator. MERCER_OK with *self = NULL: the store gave up, as plan says.
     */
    mercer_status (*init)(mrc_gram *gram, const mrc_store_plan *plan, void **self,
                          mercer_error *err);
    /* out (count x l) = K[J, :] v for v n x l. */
    mercer_status (*apply)(void *self, mrc_pick j, const double *v, int64_t l, double *out,
                           mercer_error *err);
    /* out (count x n): rows J of K, shifted. */
    mercer_status (*columns)(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                             mercer_error *err);
    /* out[i] = sum over t of squares of row J[i] of K, shifted, under the mask. */
    mercer_status (*row_norms2)(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                mercer_error *err);
    /* out[i] = sum over t of (K_it - mean over s of K_is)^2. NULL: by apply and row_norms2. */
    mercer_status (*row_variances)(void *self, double *out, mercer_error *err);
    /* The sum of squares of all entries of K, centred when the operator is and its means are known.
     * NULL: by row_norms2. */
    mercer_status (*squares)(void *self, double *out, mercer_error *err);
    /* Whether these cost no more than the products of the request. NULL: they do not. */
    bool (*squares_pay)(const void *self, const mrc_gram_request *request);
    /* out (d x l) = X' b for b n x l, in units of one, where K = X X' with the rows as prepared: of
     * a centred operator about their mean. NULL: the store does not go through them. */
    mercer_status (*collapse)(void *self, const double *b, int64_t l, double *out,
                              mercer_error *err);
    /* A number that no eigenvalue of K exceeds, of which a few per cent are lost to rounding at
     * most, where that is cheaper than row_norms2. NULL: it is not. */
    mercer_status (*eigen_bound)(void *self, double *out, mercer_error *err);
    /* K by a power of four from now on. Not for single precision. */
    void (*scale)(void *self, double factor);
    /* F with K = F F' to rounding, borrowed. NULL: no factor. */
    const mrc_factor *(*factor)(const void *self);
    /* What it takes: held, beside the budget that solvers may use; else, as reported. NULL: 0. */
    int64_t (*bytes)(const void *self, bool held);
    /* Doubles of scratch that a product with l columns takes. NULL: 0. */
    int64_t (*work_doubles)(const void *self, int64_t l);
    void (*destroy)(void *self);
};

/* Decide on the store and build it; reason tells people why. */
mercer_status mrc_store_choose(mrc_gram *g, const mrc_gram_request *request, char *reason,
                               size_t size, mercer_error *err);
/* The same for n rows of the kind of `rows`, with nothing built. sample: an operator on some of
 * them. rank: columns of a factor that gives their matrix to rounding; infinite: more than pay. */
typedef struct mrc_store_outlook {
    const mrc_store *store;
    int64_t rank;     /* of a low-rank factor, else 0 */
    double made;      /* kernel values that are computed when it is built, */
    double again;     /* at each pass, */
    double lengths;   /* and for the lengths of all rows of the matrix */
    int64_t across;   /* columns of dense rows that a pass goes through, else 0 */
    bool linear;      /* a pass takes time in proportion to n, not n^2 */
    double bytes;     /* points, store, solver and the method's own vectors at their peak */
    char reason[224]; /* why that store, for people */
} mrc_store_outlook;
mercer_status mrc_store_forecast(const mrc_gram *sample, const mercer_rows *rows, int64_t n,
                                 const mrc_gram_request *request, double rank,
                                 mrc_store_outlook *out, mercer_error *err);
/* The columns of such a factor, as far as up to `columns` of them tell for the rows of the sample.
 */
mercer_status mrc_store_rank(mrc_gram *sample, int64_t columns, double *rank, mercer_error *err);
/* The diagonal and kmax of the caller's matrix, which is checked first. */
mercer_status mrc_precomputed_read(mrc_gram *g, mercer_error *err);
/* Bytes of the store, or 0: see mrc_store. */
int64_t mrc_gram_bytes(const mrc_gram *g, bool held);

/* Fill means, grand and the centred diagonal (once). */
mercer_status mrc_gram_learn_means(mrc_gram *g, mercer_error *err);

#endif
