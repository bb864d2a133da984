/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of quadruple precision, 33 digits, for judges. Include after support.h. */
#ifndef MERCER_TESTS_QUADRUPLE_H
#define MERCER_TESTS_QUADRUPLE_H

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 quad;
#else
typedef long double quad; /* which has 113 bits where there is no __float128 */
#endif

static inline quad *new_quads(int64_t count)
{
    quad *x = calloc((size_t)(count > 0 ? count : 1), sizeof *x);
    assert_non_null(x);
    return x;
}

static inline quad *quads_of(const double *x, int64_t count)
{
    quad *out = new_quads(count);
    for (int64_t i = 0; i < count; i++)
        out[i] = x[i];
    return out;
}

/* b (n x l) becomes a^-1 b by elimination; a (n x n) is destroyed. It is positive definite, so no
 * pivots are needed. */
static inline void quad_eliminate(quad *a, int64_t n, quad *b, int64_t l)
{
    for (int64_t p = 0; p < n; p++)
        for (int64_t i = p + 1; i < n; i++) {
            quad factor = a[i * n + p] / a[p * n + p];
            for (int64_t j = p; j < n; j++)
                a[i * n + j] -= factor * a[p * n + j];
            for (int64_t c = 0; c < l; c++)
                b[i * l + c] -= factor * b[p * l + c];
        }
    for (int64_t p = n - 1; p >= 0; p--)
        for (int64_t c = 0; c < l; c++) {
            for (int64_t j = p + 1; j < n; j++)
                b[p * l + c] -= a[p * n + j] * b[j * l + c];
            b[p * l + c] /= a[p * n + p];
        }
}

#endif
