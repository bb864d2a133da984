/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of f(x) = sum_i a_i k(x, x_i) at the points x_t themselves.
 *
 * A kernel is a function of a sum s over the columns (named.h), and k' its derivative by s:
 *
 *   (x - y)^2   2 sum_i a_i k'(s_ti) (x_t - x_i)
 *   x y         sum_i a_i k'(s_ti) x_i
 *   |x - y|     sum_i a_i k'(s_ti) sign(x_t - x_i)
 *
 * The first two are products of matrices, W X - diag(W 1) X and W X. The difference of these loses
 * digits where a pair is much nearer than its points are to the origin, and k' may grow without
 * bound there; such pairs are added up by differences. Cost: n d multiply-adds a point and output;
 * of sparse rows as many as there are entries. */
#include "kernel/gradient.h"

#include "kernel/named.h"
#include "kernel/sparse.h"
#include "linalg/linalg.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool mrc_kernel_has_gradient(const mrc_kernel *kernel)
{
    return !mrc_kernel_is_combined(kernel) && kernel->part[0].def->slope;
}

const char *mrc_kernels_with_gradient(char *text, size_t size)
{
    text[0] = 0;
#define MRC_KERNEL(family, name)                                                                   \
    if (mrc_kernel_def_##name.slope)                                                               \
        snprintf(text + strlen(text), size - strlen(text), "%s%s", text[0] ? ", " : "", #name);
#include "kernel/kernels.def"
#undef MRC_KERNEL
    return text;
}

/* Which pairs have differences that must not be taken from products, by their squared distances;
 * few columns are cheap. */
static void find_near(const mrc_points *points, int64_t t, const double *sums, bool *near)
{
    static const double SHARE = 1e-3; /* of both squared lengths: two digits are lost at most */
    for (int64_t i = 0; i < points->n; i++)
        near[i] = !points->norm2 || sums[i] < SHARE * (points->norm2[t] + points->norm2[i]);
}

void mrc_kernel_slopes(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *points,
                       int64_t first, int64_t count, double *out, bool *near)
{
    /* The same kernel without a function of the sums has them as its values. */
    mrc_kernel_def sums = *kernel->part[0].def;
    mrc_kernel_part part = kernel->part[0];
    int64_t n = points->n;
    sums.value = NULL;
    sums.by_differences = NULL;
    part.def = &sums;
    mrc_part_tile(&part, ctx, points, first, count, points, 0, n, out, n);
    for (int64_t i = 0; i < count; i++) {
        double *row = out + i * n;
        if (mrc_term_is_distance(sums.term))
            row[first + i] = 0;
        if (sums.term == MRC_TERM_SQUARE)
            find_near(points, first + i, row, near + i * n);
        kernel->part[0].def->slope(&kernel->part[0], row, n);
    }
}

/* out (d) += weight (x_t - x_i). */
static void add_difference(const mrc_points *points, int64_t t, int64_t i, double weight,
                           double *out)
{
    mrc_sparse_row a = mrc_any_row_of(points, t), b = mrc_any_row_of(points, i);
    if (!mrc_points_are_sparse(points)) {
        for (int64_t k = 0; k < points->d; k++)
            out[k] += weight * (a.value[k] - b.value[k]);
        return;
    }
    for (int64_t p = 0, q = 0; p < a.count || q < b.count;) {
        int32_t left = p < a.count ? a.column[p] : INT32_MAX;
        int32_t right = q < b.count ? b.column[q] : INT32_MAX;
        int32_t k = left < right ? left : right;
        double x = left == k ? a.value[p++] : 0, y = right == k ? b.value[q++] : 0;
        out[k] += weight * (x - y);
    }
}

/* out (count x d) += W X, W count x n. */
static void add_products(const mrc_points *points, const double *w, int64_t count, double *out)
{
    int64_t n = points->n, d = points->d;
    if (!mrc_points_are_sparse(points)) {
        mrc_gemm(false, false, count, d, n, 1, w, n, points->x, points->ld, 1, out, d);
        return;
    }
    for (int64_t i = 0; i < n; i++) { /* each row is looked at once */
        mrc_sparse_row row = mrc_sparse_row_of(points, i);
        for (int64_t t = 0; t < count; t++)
            for (int64_t k = 0; k < row.count; k++)
                out[t * d + row.column[k]] += w[t * n + i] * row.value[k];
    }
}

/* Near pairs are added by differences, the others by products. */
static void of_squares(const mrc_points *points, int64_t first, int64_t count, const bool *near,
                       double *w, double *out)
{
    int64_t n = points->n, d = points->d;
    for (int64_t t = 0; t < count; t++) {
        double *row = w + t * n, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            row[i] *= -2;
            if (near[t * n + i]) {
                if (row[i] != 0 && i != first + t)
                    add_difference(points, first + t, i, -row[i], out + t * d);
                row[i] = 0;
            }
            sum += row[i];
        }
        mrc_sparse_row own = mrc_any_row_of(points, first + t);
        for (int64_t k = 0; k < own.count; k++)
            out[t * d + (own.column ? own.column[k] : k)] -= sum * own.value[k];
    }
    if (points->norm2) /* else all were near */
        add_products(points, w, count, out);
}

static inline double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/* Sparse rows count as rows of zeroes at first; then comes what their entries change. */
static void of_signs(const mrc_points *points, int64_t first, int64_t count, const double *w,
                     double *x, double *out)
{
    int64_t n = points->n, d = points->d;
    for (int64_t t = 0; t < count; t++) {
        const double *weights = w + t * n;
        double *to = out + t * d, sum = 0;
        mrc_sparse_row own = mrc_any_row_of(points, first + t);
        memset(x, 0, (size_t)d * sizeof *x);
        for (int64_t k = 0; k < own.count; k++)
            x[own.column ? own.column[k] : k] = own.value[k];
        for (int64_t i = 0; i < n; i++) {
            mrc_sparse_row row = mrc_any_row_of(points, i);
            sum += weights[i];
            for (int64_t p = 0; p < row.count; p++) {
                int64_t k = row.column ? row.column[p] : p;
                to[k] += weights[i] * (sign(x[k] - row.value[p]) - (row.column ? sign(x[k]) : 0));
            }
        }
        for (int64_t k = 0; own.column && k < own.count; k++)
            to[own.column[k]] += sum * sign(own.value[k]);
    }
}

int64_t mrc_gradient_scratch(const mrc_points *points, int64_t count)
{
    return count * points->n + points->d;
}

void mrc_kernel_gradients(const mrc_kernel *kernel, const mrc_points *points, int64_t first,
                          int64_t count, const double *slopes, const bool *near, const double *a,
                          int64_t outputs, double *scratch, double *out)
{
    int64_t n = points->n, d = points->d;
    double *w = scratch; /* count x n */
    assert(!points->packed);
    memset(out, 0, (size_t)(count * d) * sizeof *out);
    for (int64_t t = 0; t < count; t++)
        for (int64_t i = 0; i < n; i++)
            w[t * n + i] = slopes[t * n + i] * a[i * outputs];
    switch (mrc_kernel_def_of(kernel)->term) {
    case MRC_TERM_SQUARE:
        of_squares(points, first, count, near, w, out);
        break;
    case MRC_TERM_PRODUCT:
        add_products(points, w, count, out);
        break;
    default:
        of_signs(points, first, count, w, scratch + count * n, out);
    }
}
