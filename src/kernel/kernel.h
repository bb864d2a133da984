/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel functions on blocks of rows.
 *
 * Rows are first prepared once (shifted by the column means where distances go through GEMM,
 * squared norms, transposed where a small dimension makes plain differences faster); then tiles of
 * kernel values are computed from prepared rows. */
#ifndef MRC_KERNEL_KERNEL_H
#define MRC_KERNEL_KERNEL_H

#include "base/params.h"
#include "data/rows.h"

/* What is known of a kernel with a name: see named.h. Other layers ask the functions below. */
typedef struct mrc_kernel_def mrc_kernel_def;
#define MRC_KERNEL(family, name) extern const mrc_kernel_def mrc_kernel_def_##name;
#include "kernel/kernels.def"
#undef MRC_KERNEL

/* One named kernel. It has room for the parameters of all; its schema names the ones it has. */
typedef struct mrc_kernel_part {
    const mrc_kernel_def *def;
    double gamma; /* as in each formula; rbf, exponential: always the number really used */
    double sigma; /* rbf: gamma = 1 / (2 sigma^2); exponential: gamma = 1 / sigma */
    double coef0;
    double alpha;
    int64_t degree;
    int nu;                /* matern: index of 0.5, 1.5, 2.5, inf */
    mrc_host_kernel *host; /* a function of the host's own, borrowed; else NULL */
} mrc_kernel_part;

/* Largest number of named kernels and terms in a combination. */
enum { MRC_KERNEL_PARTS = 8 };

/* The sum over terms of weight times the product of the term's parts. A named kernel is one part
 * of weight 1, part[0]; anything else is a combination. */
typedef struct mrc_kernel {
    int parts, terms;
    mrc_kernel_part part[MRC_KERNEL_PARTS];
    int term[MRC_KERNEL_PARTS]; /* which term a part belongs to; in increasing order */
    double weight[MRC_KERNEL_PARTS];
} mrc_kernel;

/* Name, summary, formula and parameters of the kernels of kernels.def; NULL: there is none. */
const struct mercer_entry *mrc_kernel_entry_at(int index);
/* Its name in messages: "combined" for all combinations, "host" for all functions of the host. */
const char *mrc_kernel_name(const mrc_kernel *kernel);
bool mrc_kernel_is_combined(const mrc_kernel *kernel);
/* What is known of a named kernel; of a combination nothing but its name. */
const mrc_kernel_def *mrc_kernel_def_of(const mrc_kernel *kernel);
/* Whether the rows are the kernel matrix itself, so that there are no kernel values to compute. */
bool mrc_kernel_is_precomputed(const mrc_kernel *kernel);
/* Whether the kernel is x.y. */
bool mrc_kernel_is_linear(const mrc_kernel *kernel);
/* Whether it is x.y of prepared points, which are then a factor of the matrix. */
bool mrc_kernel_is_product(const mrc_kernel *kernel);
/* A bound of |k(x, y)|; 0: the largest k(x, x). */
double mrc_kernel_max_abs(const mrc_kernel *kernel);
/* Whether a function of the host is called for its values. */
bool mrc_kernel_asks_host(const mrc_kernel *kernel);
/* Whether this kernel, with its parameters, has no negative eigenvalues. */
bool mrc_kernel_is_semidefinite(const mrc_kernel *kernel);
/* The dimension of its feature space on rows of d columns: no matrix of it has a higher rank. */
double mrc_kernel_rank_limit(const mrc_kernel *kernel, int64_t d);

/* Parse a kernel: terms joined by '+', each of factors joined by '*', each a weight >= 0 or
 * NAME[:key=value,...]; at most MRC_KERNEL_PARTS names, and as many terms. Data-dependent defaults
 * (sigma=median, gamma=1/columns) stay open. */
mercer_status mrc_kernel_parse(mrc_kernel *kernel, const char *spec, mercer_error *err);
/* The same with the host's own kernels in ctx, which may be NULL. */
mercer_status mrc_kernel_parse_in(mrc_kernel *kernel, const mercer_ctx *ctx, const char *spec,
                                  mercer_error *err);
/* A kernel borrows the functions of the host that it calls. Who keeps it beyond a call holds them,
 * and drops them in the end; of a kernel of zeroes there is nothing to drop. */
void mrc_kernel_hold(const mrc_kernel *kernel);
void mrc_kernel_drop(const mrc_kernel *kernel);
/* Replace what is open by numbers learnt from the rows; draws from the random state of ctx. */
mercer_status mrc_kernel_resolve(mrc_kernel *kernel, mercer_ctx *ctx, const mercer_rows *rows,
                                 mercer_error *err);
/* Whether the width is to be learnt by a method; the median distance is where it starts from. */
bool mrc_kernel_learns_width(const mrc_kernel *kernel);
/* The width of a named kernel, 0 where there is none; and another one where there is. */
double mrc_kernel_width(const mrc_kernel *kernel);
void mrc_kernel_set_width(mrc_kernel *kernel, double sigma);
/* Whether something is still open that only training rows decide. */
bool mrc_kernel_is_open(const mrc_kernel *kernel);
/* The spec with the numbers used, "rbf:sigma=4"; parsing it gives the same kernel exactly. */
mercer_status mrc_kernel_format(const mrc_kernel *kernel, char *text, size_t size,
                                mercer_error *err);

/* MERCER_ERR_DATA with row (counted from first) and column when the kernel needs values >= 0 and
 * there is a negative one, or when the rows are sparse and a host's kernel takes dense ones. */
mercer_status mrc_kernel_check_rows(const mrc_kernel *kernel, mercer_ctx *ctx,
                                    const mercer_rows *rows, int64_t first, mercer_error *err);

/* Prepared rows. Two sets can be combined when both are dense and were prepared with the same
 * shift, or both are sparse; rbf, exponential, matern and rq also take dense rows beside sparse
 * ones that they were prepared for. */
typedef struct mrc_points {
    int64_t n, d;
    const double *x; /* n x d, row stride ld: the rows as the kernel wants them; or NULL */
    int64_t ld;
    const mercer_rows *packed;      /* the rows, instead of x: see mrc_points_window(); else NULL */
    bool by_columns;                /* tiles need transposed */
    bool directions;                /* rows have length one */
    bool one_by_one;                /* new rows: their products are made by mrc_gemm_rows() */
    mrc_csr csr;                    /* sparse rows; csr.start is NULL when they are dense */
    const int64_t *picked;          /* sparse: point i is row picked[i] of csr; NULL: row i */
    struct mrc_sparse_index *index; /* sparse: see sparse.h; or NULL */
    bool index_borrowed;            /* from another part */
    bool products;                  /* sparse: the kernel is made of dot products */
    double *storage;    /* owned copy behind x or csr.value, or NULL when borrowed from the rows */
    double *transposed; /* d x n (stride n), for small d; else NULL */
    double *norm2; /* n squared norms (sparse laplacian and chi2: sums of |x|), for kernels that
                      need them; else NULL */
    double *shift; /* d: subtracted from the rows; NULL when nothing was */
    const struct mrc_pairs *pairs; /* of the set that the rows were taken from, and */
    const int64_t *place;          /* n: their places in it, both borrowed; or NULL: see pairs.h */
    struct mrc_points *part;       /* of a combination: the same rows for each part; else NULL */
    int parts;
} mrc_points;

/* Prepare all rows. shift_from: prepared points whose shift is to be used too (new rows against
 * training rows), or NULL to choose one. rows are borrowed for the life of the points. */
mercer_status mrc_points_init(mrc_points *points, mercer_ctx *ctx, const mrc_kernel *kernel,
                              const mercer_rows *rows, const mrc_points *shift_from,
                              mercer_error *err);
/* Index sparse points, so that tiles with them are fast; nothing to do for dense ones. */
mercer_status mrc_points_build_index(mrc_points *points, mercer_ctx *ctx, mercer_error *err);
/* The same of points that may be spread over ranks, all of which call this: sums have the bits of
 * one rank then. */
mercer_status mrc_points_build_index_of_all(mrc_points *points, mercer_ctx *ctx,
                                            const mrc_span *span, mercer_error *err);
/* Doubles that prepared rows and, for sparse ones, their index take per row, roughly. */
double mrc_points_row_size(const mercer_ctx *ctx, const mrc_kernel *kernel,
                           const mercer_rows *rows);
/* The same of n rows of this kind, and of their entries if they are sparse. */
double mrc_points_row_size_of(const mercer_ctx *ctx, const mrc_kernel *kernel,
                              const mercer_rows *rows, int64_t n, int64_t entries);
/* Replace the rows of a linear kernel by ones shifted to mean zero. A centred matrix stays the
 * same, and a large mean costs no digits. */
mercer_status mrc_points_shift(mrc_points *points, mercer_ctx *ctx, const mercer_rows *rows,
                               mercer_error *err);
void mrc_points_destroy(mrc_points *points);

/* Chosen rows as points of their own, copied into storage: count x mrc_points_gather_size()
 * doubles. The result lives as long as storage and index, and must not be destroyed. */
int64_t mrc_points_gather_size(const mrc_points *points);
mrc_points mrc_points_gather(const mrc_points *points, const int64_t *index, int64_t count,
                             double *storage);

/* Points [*first, *first + count) as tiles need them. Packed ones are unpacked into storage (count
 * x mrc_points_window_size() doubles, none for others): *window has them then, from *first = 0 on,
 * as long as storage lives, and must not be destroyed. Others are returned as they are. */
int64_t mrc_points_window_size(const mrc_points *points);
const mrc_points *mrc_points_window(const mrc_points *points, int64_t *first, int64_t count,
                                    double *storage, mrc_points *window);
/* One dense point: borrowed, or unpacked into scratch (d doubles). */
const double *mrc_points_row(const mrc_points *points, int64_t i, double *scratch);

/* out (na x nb, row stride ldo) = k(a[a0 + i], b[b0 + j]). Single-threaded, allocates nothing;
 * called inside parfor. Not for precomputed, and not for packed points, which need a window. When a
 * function of the host fails, ctx keeps that (mrc_ctx_fail), and the values are zeroes. */
void mrc_kernel_tile(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *a, int64_t a0,
                     int64_t na, const mrc_points *b, int64_t b0, int64_t nb, double *out,
                     int64_t ldo);
/* The same with rows a[index[i]] in any order; scratch: na x mrc_points_gather_size(a) doubles. */
void mrc_kernel_tile_gather(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *a,
                            const int64_t *index, int64_t na, const mrc_points *b, int64_t b0,
                            int64_t nb, double *scratch, double *out, int64_t ldo);
/* Whether tiles are functions of products of all rows with all rows, which a caller may have made
 * from dense points itself, and norms. */
bool mrc_kernel_takes_products(const mrc_kernel *kernel, const mrc_points *points);
/* Such a tile in the place of the products of na rows a (row stride lda) with nb rows that
 * mrc_pack_rows() has packed; norm_a, norm_b: their norm2, or NULL where points have none. */
void mrc_kernel_tile_of_products(const mrc_kernel *kernel, mercer_ctx *ctx, const double *a,
                                 int64_t lda, const double *norm_a, int64_t na,
                                 const double *packed, const double *norm_b, int64_t nb, int64_t d,
                                 double *out, int64_t ldo);
/* out[i] = k(x_i, x_i) for i in [first, first + count). Exactly 1 for functions of a
 * distance. */
void mrc_kernel_diag(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *points,
                     int64_t first, int64_t count, double *out);
/* The same of all points, which may be many: it can be cancelled. */
mercer_status mrc_kernel_whole_diag(const mrc_kernel *kernel, mercer_ctx *ctx,
                                    const mrc_points *points, double *out, mercer_error *err);

#endif
