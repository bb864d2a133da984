/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse rows: sums over the columns that two rows share, through an inverted index. */
#ifndef MRC_KERNEL_SPARSE_H
#define MRC_KERNEL_SPARSE_H

#include "kernel/kernel.h"
#include "kernel/simd.h"

/* Build the index of sparse points; it belongs to them. Dense points need none. products: only
 * MRC_TERM_PRODUCT and _SQUARE will be asked for. span: what the points are of all; the ranks of
 * ctx agree on what the index says of all of them. */
mercer_status mrc_sparse_index_build(mrc_points *points, bool products, mercer_ctx *ctx,
                                     const mrc_span *span, mercer_error *err);
void mrc_sparse_index_free(struct mrc_sparse_index *index);
/* Bytes an index takes for this many rows and entries, roughly. */
double mrc_sparse_index_bytes(int64_t rows, int64_t entries);

/* out[i][j] = sum over the columns that rows a[a0 + i] and b[b0 + j] share. Fast when one side has
 * an index, right always. Dense rows a have dot products only. What a column adds is, by term,
 *   PRODUCT and SQUARE  x y: the squared distance is |x|^2 + |y|^2 - 2 sum
 *   ABSOLUTE            (|x| + |y| - |x - y|) / 2, and likewise from sums of |x|
 *   CHI2                2 x y / (x + y), and likewise from sums of x >= 0
 *   MIN                 min(x, y) of x, y >= 0 */
void mrc_sparse_sums(mrc_term term, const mrc_points *a, int64_t a0, int64_t na,
                     const mrc_points *b, int64_t b0, int64_t nb, double *out, int64_t ldo);

/* The sum over all columns of one pair, term by term: keeps every digit of a small distance. */
double mrc_sparse_pair(mrc_term term, const mrc_points *a, int64_t i, const mrc_points *b,
                       int64_t j);
/* factor (x - y) for a power of two: exact except for the one rounding of x - y. What is large must
 * become smaller before the difference overflows, and what is small larger after it, lest two equal
 * large numbers become infinite. */
static inline double mrc_scaled_difference(double factor, double x, double y)
{
    return factor > 1 ? factor * (x - y) : factor * x - factor * y;
}

/* Squared distance between two rows of the same points, both times a factor. */
double mrc_sparse_distance2(const mrc_points *points, double factor, int64_t i, int64_t j);

/* Entries of row i, and the same of any points: those of a dense row are all its values. */
typedef struct mrc_sparse_row {
    const int32_t *column; /* NULL: 0, 1, ... */
    const double *value;
    int64_t count;
} mrc_sparse_row;
mrc_sparse_row mrc_sparse_row_of(const mrc_points *points, int64_t i);
mrc_sparse_row mrc_any_row_of(const mrc_points *points, int64_t i);

/* Product of a sparse row with a dense one. */
static inline double mrc_sparse_dot(mrc_sparse_row row, const double *x)
{
    double sum = 0;
    for (int64_t k = 0; k < row.count; k++)
        sum += row.value[k] * x[row.column[k]];
    return sum;
}

static inline bool mrc_points_are_sparse(const mrc_points *points)
{
    return points->csr.start != NULL;
}

#endif
