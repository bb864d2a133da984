/* SPDX-License-Identifier: BSD-3-Clause */
/* The Gram operator: the only way a method sees the kernel matrix.
 *
 * Behind it are interchangeable stores: dense (tiles of one triangle, double or single), stream
 * (tiles computed again at every pass, O(n) memory), lowrank (one n x q factor F with K = F F' to
 * rounding, centred in place), implicit (sparse rows X of a dot-product kernel, K = X X'), rows
 * (the same for dense rows of a linear kernel) and precomputed (the caller's matrix). All
 * operations are on the centred matrix K^ = H K H when the operator is centred, else on K; no
 * centred copy is made. Blocks of vectors are n x l, row-major, tightly packed. Work is split into
 * fixed tiles and reduced in tile order, so results do not depend on the number of threads. */
#ifndef MRC_GRAM_GRAM_H
#define MRC_GRAM_GRAM_H

#include "kernel/kernel.h"

#include <mercer/fit.h>

/* How the matrix is held: store.h says what a store is, stores.def lists them. */
typedef struct mrc_store mrc_store;
#define MRC_STORE(name, use) extern const mrc_store mrc_store_##name;
#include "gram/stores.def"
#undef MRC_STORE
/* "auto" and the stores that callers may ask for, "auto|dense|...". */
extern const char mrc_store_choices[];
/* The store of this name; NULL: none has it, and "auto" is none. */
const mrc_store *mrc_store_find(const char *name);
/* Whether it can hold the matrix in single precision. */
bool mrc_store_holds_single(const mrc_store *store);
/* Whether its rows may be spread over ranks. */
bool mrc_store_spreads(const mrc_store *store);

/* Below, the full matrix takes milliseconds, and so does finding out that a factor would not do. */
enum { MRC_FACTOR_ROWS = 2500 };

typedef struct mrc_gram_request {
    const mrc_store *store; /* NULL: auto */
    bool single;
    bool centered;
    double tolerance;       /* of eigenpairs and the factor, a share of the trace; 0: rounding */
    double products;        /* how many it asks for, where it asks for nothing else but columns and
                             * lengths in rare cases; 0: for more */
    int64_t vectors;        /* of each product */
    bool few_columns;       /* needs only a few columns: do not store the matrix */
    bool by_products;       /* needs products and a few columns, however many: sparse rows of a
                             * linear kernel may be spread over ranks */
    int64_t work_columns;   /* n-vectors of double the method itself will hold, for the forecast */
    int64_t solver_columns; /* and those of an iterative solver, which a low-rank store needs not */
    int64_t solver_pairs;   /* eigenpairs that it looks for, 0: a share; for the forecast alone */
} mrc_gram_request;

typedef struct mrc_gram mrc_gram;

/* Build the operator over rows (borrowed, like kernel, for its life). Fills the store fields of
 * report when it is not NULL. MERCER_ERR_BUDGET before any long work when it cannot fit. */
mercer_status mrc_gram_new(mrc_gram **out, mercer_ctx *ctx, const mrc_kernel *kernel,
                           const mercer_rows *rows, const mrc_gram_request *request,
                           mercer_fit_report *report, mercer_error *err);
void mrc_gram_free(mrc_gram *gram);
/* No kernel values with new rows are wanted: free the prepared rows where the store can do without.
 */
void mrc_gram_release_points(mrc_gram *gram);
/* Free the prepared rows and what the store holds, before a model takes as much memory again: only
 * diagonal and means may still be asked for. */
void mrc_gram_release(mrc_gram *gram);

/* Rows that this rank has, of all: of vectors, columns, lengths, diagonal and means it has these.
 * Rows J are counted in all rows. Where rows are spread, all ranks ask the same; a store that does
 * not spread refuses products and columns then. */
int64_t mrc_gram_size(const mrc_gram *gram);
mrc_span mrc_gram_span(const mrc_gram *gram);
bool mrc_gram_centered(const mrc_gram *gram);
/* Rounding unit of the stored values (2.2e-16 or 1.2e-7), and the largest modulus on the diagonal
 * of the uncentred matrix: rounding errors are of the order of their product. */
double mrc_gram_eps(const mrc_gram *gram);
double mrc_gram_kmax(const mrc_gram *gram);
/* What takes the place of kmax in rounding errors of values among rows whose diagonal entries are
 * `largest` at most. A value of two rows is off by a share of their own lengths, so rows of any
 * length elsewhere do not spoil it; means, factors and matrices of the caller's are off by a share
 * of the largest value. */
double mrc_gram_size_of(const mrc_gram *gram, double largest);
/* Values in units of a power of four: products of kernel values of 1e-200 or 1e200 leave the
 * range of doubles, in units of the largest they stay in it. It is exact, since factors and roots
 * are powers of two. usual: the power of four next to kmax, or 1 where squares and their squares
 * are numbers anyway. set: all that the operator gives is in this unit from now on; 1 at first, not
 * for single precision. */
double mrc_usual_unit(double kmax);
double mrc_gram_usual_unit(const mrc_gram *gram);
double mrc_gram_unit(const mrc_gram *gram);
void mrc_gram_set_unit(mrc_gram *gram, double unit);
/* MERCER_ERR_DATA when values of the size of kmax, of these rows, are so small that they have lost
 * digits, or so large that their sums are not finite; the message names a column. */
mercer_status mrc_check_kmax(mercer_ctx *ctx, const mrc_kernel *kernel, const mercer_rows *rows,
                             double kmax, mercer_error *err);
/* Largest diagonal entry of K that a low-rank store leaves out; 0 for others. */
double mrc_gram_left_out(const mrc_gram *gram);
/* Diagonal of the (centred) matrix, n values, borrowed. Costs a pass when the operator is centred
 * and nothing was applied before. */
mercer_status mrc_gram_diag(mrc_gram *gram, const double **out, mercer_error *err);
/* Column means of the uncentred matrix (n values, borrowed) and their mean; zero when the operator
 * is not centred. */
mercer_status mrc_gram_means(mrc_gram *gram, const double **out, double *grand, mercer_error *err);

/* The mean of all entries: the squared norm of the mean of the mapped rows. Costs a pass. */
mercer_status mrc_gram_grand_mean(mrc_gram *gram, double *out, mercer_error *err);

/* out (n x l) = K V. */
mercer_status mrc_gram_apply(mrc_gram *gram, const double *v, int64_t l, double *out,
                             mercer_error *err);
/* out (count x l) = K[J, :] V. */
mercer_status mrc_gram_apply_rows(mrc_gram *gram, const int64_t *rows, int64_t count,
                                  const double *v, int64_t l, double *out, mercer_error *err);
/* out (count x n): rows (= columns) J of K. J = NULL: all n. */
mercer_status mrc_gram_columns(mrc_gram *gram, const int64_t *rows, int64_t count, double *out,
                               mercer_error *err);
/* out[i] = sum over t of mask[t] K[J[i], t]^2. J = NULL: all n rows; mask = NULL: all ones. */
mercer_status mrc_gram_row_norms2(mrc_gram *gram, const int64_t *rows, int64_t count,
                                  const unsigned char *mask, double *out, mercer_error *err);
/* *out (d x l, from mrc_alloc, the caller's) = X' b, b n x l, for rows X of a linear kernel, about
 * their mean when the operator is centred; NULL: the store does not have it. */
mercer_status mrc_gram_collapse(mrc_gram *gram, const double *b, int64_t l, double **out,
                                mercer_error *err);
/* The sum of squares of all entries of K. */
mercer_status mrc_gram_squares(mrc_gram *gram, double *out, mercer_error *err);
/* Whether that costs no more than the products of the request; always where the matrix is held. */
bool mrc_gram_squares_pay(const mrc_gram *gram, const mrc_gram_request *request);
/* No column of K is longer than this; infinite where the kernel is not semidefinite. It costs a
 * pass at most, where lengths themselves may take n^2 kernel values. close: closer, where the store
 * can, for n d^2 flops. */
mercer_status mrc_gram_longest(mrc_gram *gram, bool close, double *out, mercer_error *err);
/* out[i] = sum over t of (K_it - mean over s of K_is)^2, all rows; not for a centred operator,
 * whose rows have mean zero. */
mercer_status mrc_gram_row_variances(mrc_gram *gram, double *out, mercer_error *err);
/* out (count x n) = k(y_i, x_t) between new rows and the training rows, centred like the operator
 * (training means). Not for a precomputed store, whose new kernel values come from the caller. */
mercer_status mrc_gram_cross(mrc_gram *gram, const mercer_rows *rows, int64_t first, int64_t count,
                             double *out, mercer_error *err);

const mrc_store *mrc_gram_store(const mrc_gram *gram);
/* Whether columns come from what the store holds; else their kernel values are computed each time.
 */
bool mrc_gram_holds_columns(const mrc_gram *gram);
/* F with K = F F' to rounding, K centred when the operator is; borrowed. NULL: the store has none.
 */
typedef struct mrc_factor mrc_factor;
const mrc_factor *mrc_gram_factor(const mrc_gram *gram);

/* Leading eigenpairs. count > 0: that many; count = 0: as many as reach `share` of the trace. */
typedef struct mrc_spectrum {
    int64_t count;        /* pairs found: eigenvalue > 8 n eps kmax, decreasing */
    double *values;       /* count */
    double *vectors;      /* n x count, row-major; signs fixed */
    double *inner;        /* of a store with a factor F: rank x count, the eigenvectors w of F'F,
                             u = F w / sqrt(lambda); else NULL */
    double trace;         /* of the (centred) matrix */
    double most_negative; /* smallest eigenvalue seen, when clearly negative; else 0 */
    int64_t passes;
    double residual; /* largest |K u - lambda u| / largest eigenvalue */
    const char *solver;
} mrc_spectrum;
mercer_status mrc_gram_spectrum(mrc_gram *gram, int64_t count, double share, mrc_spectrum *out,
                                mercer_error *err);
/* Eigenvalues of a matrix of n rows, whose values have this rounding error, count above this;
 * left_out: what a low-rank factor left out of the diagonal. */
double mrc_rank_floor(int64_t n, double rounding, double left_out);
/* How many of the leading values (decreasing) are wanted, by count or share as above, and lie above
 * floor. */
int64_t mrc_wanted_pairs(const double *values, int64_t available, double floor, int64_t count,
                         double share, double trace);
/* The least number of n-vectors the eigen-solver holds for `count` pairs, for work_columns. */
int64_t mrc_spectrum_columns(int64_t n, int64_t count);
/* Whether all of the spectrum of n rows costs less than that many pairs; 0: a share. */
bool mrc_spectrum_is_full(int64_t n, int64_t count);
/* The n-vectors that it holds on n rows like those of g, with its store, where memory allows it. */
int64_t mrc_spectrum_takes(const mrc_gram *g, int64_t n, int64_t count);
/* How many products it takes, of how many vectors, where it asks for nothing else; 0: it asks for
 * the matrix, or nobody knows. count = 0: a share. */
double mrc_spectrum_passes(int64_t n, int64_t count);
int64_t mrc_spectrum_block(int64_t count);
void mrc_spectrum_destroy(mrc_spectrum *spectrum);

#endif
