/* SPDX-License-Identifier: BSD-3-Clause */
/* Leading eigenpairs of matrices that are hard on the vectors: equal, clustered and graded values,
 * glued Wilkinson matrices, entries near the ends of the range. */
#include "support.h"

#include "linalg/linalg.h"

enum { N = 105 };

static void fill_unit(double *a, double size)
{
    for (int64_t i = 0; i < N; i++)
        a[i * (N + 1)] = size;
}

static void fill_wilkinson(double *a, double size)
{
    /* Five blocks of order 21, each with pairs of values equal to 14 digits, glued by 1e-9. */
    for (int64_t i = 0; i < N; i++)
        a[i * (N + 1)] = size * fabs((double)(i % 21) - 10);
    for (int64_t i = 1; i < N; i++)
        a[i * N + i - 1] = a[(i - 1) * N + i] = size * (i % 21 == 0 ? 1e-9 : 1);
}

static void fill_smooth(double *a, double size)
{
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            a[i * N + j] = size * exp(-pow((double)(i - j) / 40, 2));
}

static void fill_rough(double *a, double size)
{
    double *x = normal_rows(5, N, N, 0, 1);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j <= i; j++)
            a[i * N + j] = a[j * N + i] = size * x[i * N + j];
    free(x);
}

static void fill_zero(double *a, double size)
{
    memset(a, 0, (size_t)N * N * sizeof *a);
    (void)size;
}

/* Worst |A v - value v| / largest |value| and |V V' - I|. */
static void check_leading(const double *a, const double *values, const double *rows, int64_t count)
{
    double largest = fmax(fabs(values[0]), fabs(values[N - 1])), residual = 0, skew = 0;
    largest = largest > 0 ? largest : 1;
    for (int64_t r = 0; r < count; r++) {
        const double *v = rows + r * N;
        for (int64_t i = 0; i < N; i++) {
            double sum = -values[N - count + r] / largest * v[i];
            for (int64_t j = 0; j < N; j++)
                sum += a[i * N + j] / largest * v[j];
            residual = fmax(residual, fabs(sum));
        }
        for (int64_t s = 0; s <= r; s++)
            skew = fmax(skew, fabs(mrc_dot(v, rows + s * N, N) - (r == s)));
    }
    if (!(residual < 4e-14 && skew < 4e-15))
        fail_msg("residual %.1e, orthogonality %.1e", residual, skew);
}

static void test_eigen_leading(void **state)
{
    static void (*const fill[])(double *, double) = {fill_unit, fill_wilkinson, fill_smooth,
                                                     fill_rough, fill_zero};
    static const double sizes[] = {1, 1e-300, 1e300, 1e-150, 1e-12, 1e-307};
    static const int64_t counts[] = {0, 1, 5, 21, 22, 60, N};
    (void)state;
    mercer_ctx *ctx = new_ctx(2);
    for (size_t f = 0; f < sizeof fill / sizeof *fill; f++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                mrc_tridiagonal t;
                double *a = new_doubles(N * N), *copy;
                double *values = new_doubles(N), *all = new_doubles(N);
                double *rows = new_doubles(counts[c] * N + 1);
                print_message("matrix %zu, size %g, %lld pairs\n", f, sizes[s],
                              (long long)counts[c]);
                memset(a, 0, (size_t)N * N * sizeof *a);
                fill[f](a, sizes[s]);
                assert_ok(mrc_alloc2(&copy, N, N, sizeof *copy, err));
                memcpy(copy, a, (size_t)N * N * sizeof *a);
                assert_ok(mrc_tridiagonal_init(ctx, N, &copy, values, &t, err));
                assert_null(copy);
                assert_ok(mrc_tridiagonal_leading(ctx, &t, counts[c], rows, err));
                mrc_tridiagonal_destroy(&t);
                check_leading(a, values, rows, counts[c]);
                assert_ok(mrc_eigen_symmetric(ctx, N, a, all, err));
                assert_close(values, all, N, 1e-13 * fmax(fabs(all[0]), fabs(all[N - 1])));
                free(a), free(values), free(all), free(rows);
            }
    mercer_ctx_free(ctx);
}

static void test_eigen_of_one_row(void **state)
{
    double *a, value = 0, row = 0;
    mrc_tridiagonal t;
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    assert_ok(mrc_alloc(&a, 1, sizeof *a, err));
    *a = -3;
    assert_ok(mrc_tridiagonal_init(ctx, 1, &a, &value, &t, err));
    assert_ok(mrc_tridiagonal_leading(ctx, &t, 1, &row, err));
    mrc_tridiagonal_destroy(&t);
    assert_float_equal(value, -3, 0);
    assert_float_equal(fabs(row), 1, 0);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_eigen_leading),
                                       cmocka_unit_test(test_eigen_of_one_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
