/* SPDX-License-Identifier: BSD-3-Clause */
/* BLAS and LAPACK behind checked sizes, and the eigen-solvers. Row-major throughout. */
#ifndef MRC_LINALG_LINALG_H
#define MRC_LINALG_LINALG_H

#include "base/ctx.h"
#include "base/memory.h"
#include "base/strips.h"

/* A size as BLAS wants it. Callers keep every BLAS dimension below 2^31 by working in tiles; this
 * is the check that they did. */
int mrc_blas_int(int64_t size);

/* c (m x n) = alpha op(a) op(b) + beta c, row strides lda, ldb, ldc; op(a) is m x k. */
void mrc_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
              const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
              int64_t ldc);

/* The same for a few rows of a, which is not transposed; beta is 0 or 1. A row of c has the same
 * bits whatever stands beside it, which need not be those of mrc_gemm(). */
void mrc_gemm_rows(mrc_simd simd, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
                   const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                   double *c, int64_t ldc);

/* y = alpha op(a) x + beta y for a m x n (row stride lda). */
void mrc_gemv(bool transpose, int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
              const double *x, double beta, double *y);

/* Solve with a lower triangular matrix l, row stride ldl, or with its transpose: b (m x n, row
 * stride ldb) = op(l)^-1 b, or b op(l)^-1 when l is the right factor. */
void mrc_lower_solve(bool right, bool transpose, int64_t m, int64_t n, const double *l, int64_t ldl,
                     double *b, int64_t ldb);

/* sum of a_i b_i. */
double mrc_dot(const double *a, const double *b, int64_t n);

/* to (columns x rows) = from' for from rows x columns. */
void mrc_transpose(const double *from, int64_t rows, int64_t columns, double *to);

/* gram (k x k) = A' A for A n x k (row stride lda), summed by parts (base/strips.h). */
mercer_status mrc_gram_of_columns(mercer_ctx *ctx, const double *a, int64_t n, int64_t k,
                                  int64_t lda, double *gram, mercer_error *err);
/* The same of the rows of all ranks, those of this one being the rows of a; bound as in
 * mrc_sum_span(). */
mercer_status mrc_gram_of_span(mercer_ctx *ctx, const double *a, const mrc_span *span, int64_t k,
                               int64_t lda, double bound, double *gram, mercer_error *err);
/* c (ka x kb) = A' B for A n x ka, B n x kb, in the same way. */
mercer_status mrc_tall_product(mercer_ctx *ctx, const double *a, int64_t ka, int64_t lda,
                               const double *b, int64_t kb, int64_t ldb, int64_t n, double *c,
                               mercer_error *err);
/* The same of the rows of all ranks, those of this one being the rows of A and B. */
mercer_status mrc_tall_product_of_span(mercer_ctx *ctx, const double *a, int64_t ka, int64_t lda,
                                       const double *b, int64_t kb, int64_t ldb,
                                       const mrc_span *span, double *c, mercer_error *err);
/* The same for B' instead of B: kb vectors one after the other, as mrc_wide_stride() has them. */
mercer_status mrc_tall_wide_product_of_span(mercer_ctx *ctx, const double *a, int64_t ka,
                                            int64_t lda, const double *b, int64_t kb,
                                            const mrc_span *span, double *c, mercer_error *err);
/* C (n x m) = alpha A (n x k) S (k x m) + beta C: parallel over blocks of rows. C may not alias A.
 */
void mrc_tall_times(mercer_ctx *ctx, int64_t n, int64_t m, int64_t k, double alpha, const double *a,
                    int64_t lda, const double *s, int64_t lds, double beta, double *c, int64_t ldc);
/* The same for products that may be long: it can be cancelled, which leaves c half done. */
mercer_status mrc_tall_times_checked(mercer_ctx *ctx, int64_t n, int64_t m, int64_t k, double alpha,
                                     const double *a, int64_t lda, const double *s, int64_t lds,
                                     double beta, double *c, int64_t ldc, mercer_error *err);
/* C (n x m) = A (n x k) S (k x m) for the rows here of all: a row has the bits that
 * mrc_tall_times() has for all of them. */
mercer_status mrc_tall_times_as_one(mercer_ctx *ctx, const mrc_span *span, int64_t m, int64_t k,
                                    const double *a, const double *s, double *c, mercer_error *err);
/* As mrc_tall_times_checked() for the rows here of all, in strips that ranks have whole: a row has
 * the same bits whatever the number of ranks. */
mercer_status mrc_tall_times_of_span(mercer_ctx *ctx, const mrc_span *span, int64_t m, int64_t k,
                                     double alpha, const double *a, int64_t lda, const double *s,
                                     int64_t lds, double beta, double *c, int64_t ldc,
                                     mercer_error *err);

/* sums (l) of the columns of v (n x l), over the rows of all ranks in their order. */
mercer_status mrc_column_sums_of_span(mercer_ctx *ctx, const mrc_span *span, const double *v,
                                      int64_t l, double *sums, mercer_error *err);

/* For k vectors of length n one after the other (a: k x n), parallel over ranges of their elements:
 * out (n) = alpha a' w + beta out, */
void mrc_wide_times(mercer_ctx *ctx, const double *a, int64_t k, int64_t n, double alpha,
                    const double *w, double beta, double *out);
/* and out (k) = a v, summed by parts, */
mercer_status mrc_wide_dots(mercer_ctx *ctx, const double *a, int64_t k, int64_t n, const double *v,
                            double *out, mercer_error *err);
/* The same for vectors that are spread over ranks, of which a and v have the elements of this one;
 * those of a begin at multiples of the stride. Where BLAS aligns its loads, the order of additions
 * depends on the address of a vector modulo 64: these have those that they have on one rank, where
 * the stride is n. */
static inline int64_t mrc_wide_stride(const mrc_span *span)
{
    enum { NUMBERS = 8 };
    return span->n + (span->total - span->n) % NUMBERS;
}
void mrc_wide_times_of_span(mercer_ctx *ctx, const double *a, int64_t k, const mrc_span *span,
                            double alpha, const double *w, double beta, double *out);
mercer_status mrc_wide_dots_of_span(mercer_ctx *ctx, const double *a, int64_t k,
                                    const mrc_span *span, const double *v, double *out,
                                    mercer_error *err);
/* and out (k x k) = a a'. */
mercer_status mrc_wide_gram(mercer_ctx *ctx, const double *a, int64_t k, int64_t n, double *out,
                            mercer_error *err);
/* The latter for vectors that are spread over ranks, of which a has the elements of this one; bound
 * as in mrc_sum_span(). */
mercer_status mrc_wide_gram_of_span(mercer_ctx *ctx, const double *a, int64_t k,
                                    const mrc_span *span, double bound, double *out,
                                    mercer_error *err);

/* and A = U diag(s) V', A (n x k, n >= k) being the matrix of these vectors: a is replaced by the
 * columns of U, one after the other; s (k) is decreasing, v (k x k) is V. */
mercer_status mrc_wide_svd(mercer_ctx *ctx, double *a, int64_t k, int64_t n, double *s, double *v,
                           mercer_error *err);

/* Eigenvalues (increasing) and, in the rows of a, eigenvectors of the symmetric n x n matrix a
 * (tightly packed, lower triangle used, overwritten). */
mercer_status mrc_eigen_symmetric(mercer_ctx *ctx, int64_t n, double *a, double *values,
                                  mercer_error *err);

/* The same of a matrix that all ranks have, where rows are spread, as rank 0 finds them. */
mercer_status mrc_eigen_symmetric_of_all(mercer_ctx *ctx, const mrc_span *span, int64_t n,
                                         double *a, double *values, mercer_error *err);

/* The same in two steps, for leading pairs of large matrices: first all eigenvalues (increasing),
 * ... */
typedef struct mrc_tridiagonal {
    int64_t n;
    double scale;                    /* what the matrix was multiplied by */
    double *reflectors;              /* n x n: what is left of the matrix */
    double *diagonal, *beside, *tau; /* n each */
} mrc_tridiagonal;

/* ... *a as above, from mrc_alloc, taken over whatever comes (*a is NULL then); */
mercer_status mrc_tridiagonal_init(mercer_ctx *ctx, int64_t n, double **a, double *values,
                                   mrc_tridiagonal *out, mercer_error *err);
void mrc_tridiagonal_destroy(mrc_tridiagonal *t);

/* then the eigenvectors of the last `count` values in rows (count x n), in their order. After a
 * cancellation t is empty. */
mercer_status mrc_tridiagonal_leading(mercer_ctx *ctx, mrc_tridiagonal *t, int64_t count,
                                      double *rows, mercer_error *err);

/* Singular values (decreasing) and left singular vectors of a (rows x k, tightly packed,
 * destroyed). With q = min(rows, k): values has q places, vectors is rows x q, row-major. */
mercer_status mrc_svd_left(mercer_ctx *ctx, int64_t rows, int64_t k, double *a, double *values,
                           double *vectors, mercer_error *err);

/* Make the rows of a (k x n, tightly packed, k <= n) orthonormal: row j becomes what of it lies
 * outside the span of the rows before, of length one. factor (k x k) times the new rows are the old
 * ones; it is lower triangular, with a diagonal >= 0. */
mercer_status mrc_orthonormal_rows(mercer_ctx *ctx, int64_t k, int64_t n, double *a, double *factor,
                                   mercer_error *err);

/* Rows of a lower triangular matrix with a diagonal > 0, of which some were left out, become one
 * again by an orthogonal matrix from the right, and others (k x n) are multiplied by it, too. a
 * (count x n, tightly packed) has them: row j ends with column last[j] >= j, increasing. Those
 * before the first gap stay as they are. Cost: 4 (g + 32) numbers of each row times the rows above
 * it, for g rows left out. After an error both are half done. */
mercer_status mrc_lower_from_rows(mercer_ctx *ctx, int64_t count, int64_t n, const int64_t *last,
                                  double *a, int64_t k, double *others, mercer_error *err);

/* Pivoted Cholesky factorisation of the symmetric matrix a (n x n, row stride lda): rows are taken,
 * that of the largest diagonal entry first, while it exceeds floor and is at least `share` of the
 * first one, and at most `most` (up to n). Gives their number q; pivot (most) has them in order, t
 * (n x most, row stride ldt) columns with a ~ t t'; the diagonal of a becomes what they leave. One
 * thread. */
int64_t mrc_pivoted_cholesky(int64_t n, double *a, int64_t lda, int64_t most, double floor,
                             double share, double *t, int64_t ldt, int64_t *pivot);

/* Replace a (rows x k, tightly packed, rows >= k) by the triangular factor R of its QR
 * factorisation: the first k rows are R, upper triangular with zeroes below, the rest is not
 * defined. So rows can come in turn: put the next ones under R. */
mercer_status mrc_qr_factor(mercer_ctx *ctx, int64_t rows, int64_t k, double *a, mercer_error *err);

/* Solve X A = B for A n x n (overwritten) and B count x n, which X replaces, by LU factors; A is
 * often symmetric, or B the unit matrix. *singular: A is, exactly, and B is not defined. */
mercer_status mrc_solve(mercer_ctx *ctx, int64_t n, double *a, int64_t count, double *b,
                        bool *singular, mercer_error *err);

/* Solve A R = B for A in place of B (rows x k, tightly packed), R upper triangular, k x k. */
void mrc_solve_upper(const double *r, int64_t k, double *b, int64_t rows);

/* A symmetric operator for the block Krylov solver: out (n x l) = A v. */
typedef struct mrc_operator {
    mrc_span
        span; /* its rows, which may be spread over ranks: v and out have those that are here */
    mercer_status (*apply)(void *self, const double *v, int64_t l, double *out, mercer_error *err);
    void *self;
} mrc_operator;

typedef struct mrc_krylov_options {
    int64_t count;        /* eigenpairs wanted; 0: until their sum reaches target */
    double target;        /* wanted sum of eigenvalues when count = 0 */
    double floor;         /* eigenvalues at or below are not wanted */
    double tolerance;     /* of |A u - lambda u| relative to the largest eigenvalue */
    double rounding;      /* error of a product A u, below which no residual can get */
    int64_t block;        /* columns per application */
    int64_t most_columns; /* basis columns that fit in memory */
    int64_t most_passes; /* with count = 0, after which a full basis ends the search; 0: no limit */
    bool keep_images;    /* keep the basis twice, which saves a pass at the end */
    const char *phase;   /* for progress */
} mrc_krylov_options;

typedef struct mrc_krylov_result {
    int64_t count;
    double *values;  /* decreasing */
    double *vectors; /* n x count, row-major, orthonormal columns */
    double smallest; /* smallest Ritz value seen */
    double residual; /* largest, relative to the largest eigenvalue */
    int64_t passes;
} mrc_krylov_result;

/* Where rows are spread, all ranks give the same options and random state, and vectors have the
 * rows that are here; all else is the same on all ranks, and as one rank finds it. Leading
 * (algebraically largest) eigenpairs by a block Krylov method with thick restarts and true
 * residuals. out->count = 0 with options->count = 0: the target needs more columns or passes.
 * Starts from the random state of ctx. MERCER_ERR_NUMERIC when the residuals do not
 * reach a usable level. */
mercer_status mrc_krylov_eigen(mercer_ctx *ctx, const mrc_operator *op,
                               const mrc_krylov_options *options, mrc_krylov_result *out,
                               mercer_error *err);
void mrc_krylov_result_destroy(mrc_krylov_result *result);

/* The one sign convention: make the entry of largest modulus of every column positive (the first
 * one among equals). vectors: n x count, row-major. */
void mrc_fix_signs(int64_t n, int64_t count, double *vectors);
/* The same, and the columns of along (m x count) are turned where those of vectors are. */
void mrc_fix_signs_of_both(int64_t n, int64_t count, double *vectors, int64_t m, double *along);

#endif
