/* SPDX-License-Identifier: BSD-3-Clause */
/* Named kernels: what one is, and how its values come about. kernel.c is the front that takes one
 * of them or a combination. Contracts as in kernel.h. */
#ifndef MRC_KERNEL_NAMED_H
#define MRC_KERNEL_NAMED_H

#include "kernel/kernel.h"
#include "kernel/simd.h"

/* What a kernel wants of the rows, beside what its term does. */
typedef enum mrc_row_form {
    MRC_ROWS_AS_IS,
    MRC_ROWS_UNIT,   /* of length one; with products only */
    MRC_ROWS_DENSE,  /* whole rows of doubles: a function of the host is called with them */
    MRC_ROWS_MATRIX, /* none: the rows are the kernel matrix */
} mrc_row_form;

/* Whether sigma and gamma are two forms of one number, of which either may be given. */
typedef enum mrc_width {
    MRC_WIDTH_ONE_FORM,
    MRC_WIDTH_INVERSE,        /* gamma = 1 / sigma */
    MRC_WIDTH_INVERSE_SQUARE, /* gamma = 1 / (2 sigma^2) */
} mrc_width;

/* out (na x nb, row stride ldo) = the values of plain rows a (na x d, row stride lda) and of
 * b[b0 + j], from b->transposed. */
typedef void (*mrc_tile_fn)(const mrc_kernel_part *part, const mrc_simd_loops *loops,
                            const double *a, int64_t lda, int64_t na, const mrc_points *b,
                            int64_t b0, int64_t nb, double *out, int64_t ldo);

/* A kernel k(x, y) = value(sum over columns of a term of x and y). The rest of the library derives
 * from this how rows are prepared, tiles of dense, packed and sparse rows, diagonals, the sums that
 * an evaluation keeps, and which stores can hold the matrix. */
struct mrc_kernel_def {
    struct mercer_entry entry; /* name, summary, formula, parameters */
    mrc_term term;
    mrc_row_form rows;
    mrc_width width;
    bool nonnegative;   /* takes values >= 0 only */
    bool unit_diagonal; /* k(x, x) is 1 */
    double max_abs;     /* as mrc_kernel_max_abs() */
    double most;        /* takes values up to it only; 0: all whose kernel values are numbers */
    bool (*semidefinite)(const mrc_kernel_part *part);            /* NULL: always */
    double (*rank_limit)(const mrc_kernel_part *part, int64_t d); /* NULL: infinite */
    /* The factor of the sum, which must be a number; NULL: gamma. */
    double (*scale)(const mrc_kernel_part *part);
    /* Values in the place of n sums; NULL: the sums are the values. */
    void (*value)(const mrc_kernel_part *part, const mrc_simd_loops *loops, double *sums,
                  int64_t n);
    /* Derivatives of the value by the sum in the place of n sums, by libm; of a distance that is 0
     * any number will do where there is one, and 0 where there is none. With terms x y, (x - y)^2
     * and |x - y|. NULL: the kernel has no gradients here. */
    void (*slope)(const mrc_kernel_part *part, double *sums, int64_t n);
    /* k(x, x) from the sum of x with itself, by libm; NULL: the sum. */
    double (*self)(const mrc_kernel_part *part, double sum);
    /* Values of few columns, of MRC_TERM_SQUARE, in one loop; NULL: sums, then value. */
    mrc_tile_fn by_differences;
};

/* A function that the host added to the context: no line of kernels.def. */
extern const mrc_kernel_def mrc_kernel_def_host;

/* Words in the place of a number, and what the families say about them. */
#define MRC_SIGMA_MEDIAN MRC_KEYWORD(0)
#define MRC_SIGMA_LEARN MRC_KEYWORD(1)
#define MRC_GAMMA_OPEN MRC_KEYWORD(0)
/* Kernels with two forms of a width have it beside MRC_GAMMA_OPEN, which is "as sigma says". */
#define MRC_GAMMA_AUTO MRC_KEYWORD(1)
#define MRC_PARAM_SIGMA(help)                                                                      \
    MRC_REAL_OR(mrc_kernel_part, sigma, MRC_SIGMA_MEDIAN, DBL_MIN, DBL_MAX, "median|learn",        \
                help "; median: the median distance between 512 training rows drawn by the seed; " \
                     "learn: found beside the features, by koca")
#define MRC_PARAM_GAMMA(help)                                                                      \
    MRC_REAL_OR(mrc_kernel_part, gamma, MRC_GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto", help)
#define MRC_PARAM_GAMMA_OR_SIGMA(help)                                                             \
    MRC_REAL_OR(mrc_kernel_part, gamma, MRC_GAMMA_OPEN, DBL_MIN, DBL_MAX, "sigma|auto",            \
                help "; sigma: as sigma says; auto: 1 / columns")

static inline bool mrc_never_semidefinite(const mrc_kernel_part *part)
{
    (void)part;
    return false;
}

static inline double mrc_part_scale(const mrc_kernel_part *part)
{
    return part->def->scale ? part->def->scale(part) : part->gamma;
}

/* Whether the sum is a distance, 0 for equal rows: sparse rows start from norms. */
static inline bool mrc_term_is_distance(mrc_term term)
{
    return term == MRC_TERM_SQUARE || term == MRC_TERM_ABSOLUTE || term == MRC_TERM_CHI2;
}

/* Whether no dot product helps: the sum is always added up column by column. */
static inline bool mrc_term_is_by_columns(mrc_term term)
{
    return term > MRC_TERM_SQUARE;
}

/* A kernel of kernels.def by its name of `length` characters; NULL: there is none. */
const mrc_kernel_def *mrc_kernel_def_find(const char *name, size_t length);
/* ctx: where the host's kernels are; may be NULL. */
mercer_status mrc_part_parse(mrc_kernel_part *kernel, const mercer_ctx *ctx, const char *spec,
                             mercer_error *err);
/* *median: the median distance between rows once it is known, 0 before; parts share it. */
mercer_status mrc_part_resolve(mrc_kernel_part *kernel, mercer_ctx *ctx, const mercer_rows *rows,
                               double *median, mercer_error *err);
mercer_status mrc_part_format(const mrc_kernel_part *kernel, char *text, size_t size,
                              mercer_error *err);
bool mrc_part_is_open(const mrc_kernel_part *kernel);
bool mrc_part_learns_width(const mrc_kernel_part *kernel);
/* As mrc_kernel_set_width. */
void mrc_part_set_width(mrc_kernel_part *kernel, double sigma);
bool mrc_part_is_semidefinite(const mrc_kernel_part *kernel);
/* As mrc_kernel_rank_limit. */
double mrc_part_rank_limit(const mrc_kernel_part *kernel, int64_t d);
void mrc_part_tile(const mrc_kernel_part *kernel, mercer_ctx *ctx, const mrc_points *a, int64_t a0,
                   int64_t na, const mrc_points *b, int64_t b0, int64_t nb, double *out,
                   int64_t ldo);
/* As mrc_kernel_takes_products() and mrc_kernel_tile_of_products(). */
bool mrc_part_takes_products(const mrc_kernel_part *kernel, const mrc_points *points);
void mrc_part_tile_of_products(const mrc_kernel_part *kernel, mercer_ctx *ctx, const double *a,
                               int64_t lda, const double *norm_a, int64_t na, const double *packed,
                               const double *norm_b, int64_t nb, int64_t d, double *out,
                               int64_t ldo);
void mrc_part_diag(const mrc_kernel_part *kernel, mercer_ctx *ctx, const mrc_points *points,
                   int64_t first, int64_t count, double *out);
/* Values that a function of the host gives, out (nx x ny, row stride ldo); zeroes when it fails,
 * which ctx keeps. */
void mrc_host_values(const mrc_host_kernel *kernel, mercer_ctx *ctx, const double *x, int64_t nx,
                     int64_t ldx, const double *y, int64_t ny, int64_t ldy, int64_t d, double *out,
                     int64_t ldo);

#endif
