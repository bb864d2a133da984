/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow and obvious versions of what the library does fast, to compare with: kernel matrices, a
 * Jacobi eigen-solver, centring, random rows. Include after cmocka.h. Memory comes from ref_alloc
 * and mrc_free frees it. */
#ifndef MERCER_TESTS_REFERENCE_H
#define MERCER_TESTS_REFERENCE_H

#include "naive.h"

#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

static inline double *ref_alloc(int64_t rows, int64_t cols)
{
    double *x = NULL;
    if (mrc_alloc2(&x, rows, cols, sizeof *x, NULL) != MERCER_OK)
        fail_msg("out of memory");
    return x;
}

/* n x d normal numbers times spread, plus offset. */
static inline double *ref_rows(uint64_t seed, int64_t n, int64_t d, double spread, double offset)
{
    double *x = ref_alloc(n, d);
    mrc_rng rng = {0};
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n * d; i++)
        x[i] = spread * mrc_rng_normal(&rng) + offset;
    return x;
}

/* na x nb values k(a_i, b_j). */
static inline double *ref_cross(const mrc_kernel *kernel, const double *a, int64_t na,
                                const double *b, int64_t nb, int64_t d)
{
    double *k = ref_alloc(na, nb);
    for (int64_t i = 0; i < na; i++)
        for (int64_t j = 0; j < nb; j++)
            k[i * nb + j] = naive_kernel(kernel, a + i * d, b + j * d, d);
    return k;
}

/* H K H in place. */
static inline void ref_center(double *k, int64_t n)
{
    double *means = ref_alloc(n, 1), grand = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            means[i] += k[i * n + j] / (double)n;
        grand += means[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            k[i * n + j] += grand - means[i] - means[j];
    mrc_free(means);
}

/* Eigenvalues (decreasing) and eigenvectors (columns of vectors, n x n) of a symmetric matrix by
 * Jacobi rotations; a is destroyed. */
static inline void ref_eigen(double *a, int64_t n, double *values, double *vectors)
{
    for (int64_t i = 0; i < n * n; i++)
        vectors[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, all = 0;
        for (int64_t i = 0; i < n * n; i++) {
            all += a[i] * a[i];
            off += i % (n + 1) == 0 ? 0 : a[i] * a[i];
        }
        if (off <= 1e-32 * all)
            break;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                if (a[p * n + q] == 0)
                    continue;
                double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int64_t k = 0; k < n; k++) {
                    double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for (int64_t k = 0; k < n; k++) {
                    double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                }
                for (int64_t k = 0; k < n; k++) {
                    double x = vectors[k * n + p], y = vectors[k * n + q];
                    vectors[k * n + p] = c * x - s * y;
                    vectors[k * n + q] = s * x + c * y;
                }
            }
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = a[i * n + i];
    for (int64_t i = 0; i < n; i++) /* sort by selection */
        for (int64_t j = i + 1; j < n; j++)
            if (values[j] > values[i]) {
                double swap = values[i];
                values[i] = values[j];
                values[j] = swap;
                for (int64_t k = 0; k < n; k++) {
                    swap = vectors[k * n + i];
                    vectors[k * n + i] = vectors[k * n + j];
                    vectors[k * n + j] = swap;
                }
            }
}

/* Largest |a - b| relative to the largest |b|. */
static inline double ref_difference(const double *a, const double *b, int64_t count)
{
    double most = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return INFINITY;
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return size > 0 ? most / size : most;
}

#endif
