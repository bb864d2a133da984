/* SPDX-License-Identifier: BSD-3-Clause */
/* The pivoted Cholesky factorisation: T T' is the matrix to rounding, each row taken has the
 * largest diagonal entry that those before it leave, and it ends where it was told to. What the
 * columns leave is computed in quadruple precision. */
#include "support.h"

#include "quad.h"

#include "base/rng.h"
#include "linalg/linalg.h"

/* X X' of n rows of r columns, each column less than the one before. */
static void draw(mrc_rng *rng, int64_t n, int64_t r, double fall, double scale, double *a,
                 int64_t lda)
{
    double *x = new_doubles(n * r);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < r; j++)
            x[i * r + j] = sqrt(scale) * pow(fall, (double)j) * mrc_rng_normal(rng);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            a[i * lda + j] = 0;
            for (int64_t k = 0; k < r; k++)
                a[i * lda + j] += x[i * r + k] * x[j * r + k];
        }
    free(x);
}

/* A - T T' with the first `columns` of T, at (i, j). */
static double left(const double *a, int64_t lda, const double *t, int64_t ldt, int64_t columns,
                   int64_t i, int64_t j)
{
    quad sum = a[i * lda + j];
    for (int64_t k = 0; k < columns; k++)
        sum -= (quad)t[i * ldt + k] * t[j * ldt + k];
    return (double)sum;
}

static void check(mrc_rng *rng, int64_t n, int64_t r, double fall, double scale, int64_t most,
                  double share)
{
    int64_t lda = n + 3, ldt = most + 2;
    double *a = new_doubles(n * lda), *given = new_doubles(n * lda), *t = new_doubles(n * ldt);
    int64_t *pivot = calloc((size_t)n, sizeof *pivot);
    double kmax = 0;
    assert_non_null(pivot);
    draw(rng, n, r, fall, scale, given, lda);
    memcpy(a, given, (size_t)(n * lda) * sizeof *a);
    for (int64_t i = 0; i < n; i++)
        kmax = fmax(kmax, given[i * lda + i]);
    double floor = 1e-10 * kmax, first = 0;
    int64_t q = mrc_pivoted_cholesky(n, a, lda, most, floor, share, t, ldt, pivot);
    double off = 4 * (double)(q + 2) * DBL_EPSILON * kmax;
    assert_in_range(q, 1, most < r ? most : r);
    for (int64_t s = 0; s <= q; s++) { /* after s columns */
        double largest = 0;
        for (int64_t i = 0; i < n; i++)
            largest = fmax(largest, left(given, lda, t, ldt, s, i, i));
        first = s == 0 ? largest : first;
        if (s == q) {
            assert_true(q == most || largest <= floor + off || largest <= share * first + off);
            break;
        }
        double own = left(given, lda, t, ldt, s, pivot[s], pivot[s]);
        assert_true(own >= largest - off && own > floor - off && own >= share * first - off);
        for (int64_t k = 0; k < s; k++) {
            assert_true(pivot[k] != pivot[s]);
            assert_true(t[pivot[k] * ldt + s] == 0);
        }
        for (int64_t i = 0; i < n; i++)
            assert_true(fabs(left(given, lda, t, ldt, q, i, pivot[s])) <= off);
    }
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(a[i * lda + i] - left(given, lda, t, ldt, q, i, i)) <= off);
    free(a);
    free(given);
    free(t);
    free(pivot);
}

static void test_against_quadruple_precision(void **state)
{
    static const double scales[] = {1e-280, 1e-9, 1, 1e9, 1e280}, shares[] = {0, 0.05, 0.9};
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 7);
    for (int64_t n = 1; n <= 41; n += 4)
        for (int64_t r = 1; r <= n; r += 3)
            for (int c = 0; c < 15; c++) {
                check(&rng, n, r, 1, scales[c % 5], n, shares[c % 3]);
                check(&rng, n, r, 0.3, scales[c % 5], n, shares[c % 3]);
                check(&rng, n, r, 0.8, scales[c % 5], (n + 1) / 2, shares[c % 3]);
            }
}

/* Rows that repeat others, and matrices of which nothing is taken. */
static void test_dependent_rows(void **state)
{
    double twice[] = {4, 4, 2, 4, 4, 2, 2, 2, 9}, t[9] = {0}, zero[4] = {0}, low[] = {-1, 0, 0, -1};
    double unknown[] = {NAN, 0, 0, NAN};
    int64_t pivot[3];
    (void)state;
    assert_int_equal(mrc_pivoted_cholesky(3, twice, 3, 3, 1e-12, 0, t, 3, pivot), 2);
    assert_int_equal(pivot[0], 2);
    assert_int_equal(pivot[1], 0);
    assert_true(t[6] == 3 && t[0] == t[3] && t[1] == t[4] && twice[4] <= 1e-12);
    assert_int_equal(mrc_pivoted_cholesky(2, zero, 2, 2, 0, 0, t, 2, pivot), 0);
    assert_int_equal(mrc_pivoted_cholesky(2, low, 2, 2, 0, 0, t, 2, pivot), 0);
    assert_int_equal(mrc_pivoted_cholesky(2, unknown, 2, 2, 0, 0, t, 2, pivot), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_quadruple_precision),
        cmocka_unit_test(test_dependent_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
