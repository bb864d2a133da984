/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of functions made of kernels: against central differences of the kernels' formulas, and
 * against the formulas of the gradients in long double, also of rows that nearly agree. */
#include "support.h"

#include "kernel/gradient.h"
#include "naive.h"
#include "views.h"

#include <float.h>
#include <math.h>

static const char *const kernels[] = {"rbf",
                                      "exponential",
                                      "matern:nu=0.5",
                                      "matern",
                                      "matern:nu=2.5",
                                      "matern:nu=inf",
                                      "rq",
                                      "rq:alpha=2.5",
                                      "poly",
                                      "poly:degree=1",
                                      "poly:coef0=0,degree=2",
                                      "laplacian"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* By the formulas of the gradients, one pair at a time. */
static void naive_gradient(const mrc_kernel_part *k, const double *x, const double *a, int64_t n,
                           int64_t d, int64_t t, long double *out, long double *size)
{
    const char *name = k->def->entry.name;
    for (int64_t c = 0; c < d; c++)
        out[c] = size[c] = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *u = x + t * d, *v = x + i * d;
        long double r2 = 0, dot = 0, absolute = 0, weight, sigma = k->sigma;
        for (int64_t c = 0; c < d; c++) {
            r2 += ((long double)u[c] - v[c]) * ((long double)u[c] - v[c]);
            dot += (long double)u[c] * v[c];
            absolute += fabsl((long double)u[c] - v[c]);
        }
        long double r = sqrtl(r2);
        bool is_poly = strcmp(name, "poly") == 0, is_signs = strcmp(name, "laplacian") == 0;
        if (is_poly)
            weight = k->degree * (long double)k->gamma *
                     powl(k->gamma * dot + k->coef0, (long double)(k->degree - 1));
        else if (is_signs)
            weight = -k->gamma * expl(-k->gamma * absolute);
        else if (strcmp(name, "rq") == 0)
            weight = powl(1 + r2 / (2 * k->alpha * sigma * sigma), -k->alpha - 1) / (sigma * sigma);
        else if (strcmp(name, "rbf") == 0 || (strcmp(name, "matern") == 0 && k->nu == 3))
            weight = expl(-r2 / (2 * sigma * sigma)) / (sigma * sigma);
        else if (strcmp(name, "matern") == 0 && k->nu == 1)
            weight = 3 / (sigma * sigma) * expl(-sqrtl(3) * r / sigma);
        else if (strcmp(name, "matern") == 0 && k->nu == 2)
            weight =
                5 / (3 * sigma * sigma) * (1 + sqrtl(5) * r / sigma) * expl(-sqrtl(5) * r / sigma);
        else
            weight = r > 0 ? expl(-r / sigma) / (sigma * r) : 0;
        for (int64_t c = 0; c < d; c++) {
            long double difference = (long double)v[c] - u[c];
            long double along = is_poly    ? v[c]
                                : is_signs ? (difference < 0) - (difference > 0)
                                           : difference;
            out[c] += a[i] * weight * along;
            size[c] += fabsl(a[i] * weight * along);
        }
    }
}

static double function_at(const mrc_kernel *kernel, const double *at, const double *x,
                          const double *a, int64_t n, int64_t d)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (long double)a[i] * naive_kernel(kernel, at, x + i * d, d);
    return (double)sum;
}

/* out: n x d, of output 1 of two. */
static void gradients(mercer_ctx *ctx, const mrc_kernel *kernel, const mercer_rows *rows,
                      const double *a, int64_t block, double *out)
{
    int64_t n = rows->n;
    mrc_points points;
    assert_ok(mrc_points_init(&points, ctx, kernel, rows, NULL, err));
    assert_ok(mrc_points_build_index(&points, ctx, err));
    double *both = calloc((size_t)(2 * n), sizeof *both);
    double *slopes = calloc((size_t)(block * n), sizeof *slopes);
    bool *near = calloc((size_t)(block * n), sizeof *near);
    double *scratch = calloc((size_t)mrc_gradient_scratch(&points, block), sizeof *scratch);
    for (int64_t i = 0; i < n; i++) {
        both[2 * i] = NAN;
        both[2 * i + 1] = a[i];
    }
    for (int64_t t = 0; t < n; t += block) {
        int64_t count = n - t < block ? n - t : block;
        mrc_kernel_slopes(kernel, ctx, &points, t, count, slopes, near);
        mrc_kernel_gradients(kernel, &points, t, count, slopes, near, both + 1, 2, scratch,
                             out + t * rows->d);
    }
    free(both);
    free(slopes);
    free(near);
    free(scratch);
    mrc_points_destroy(&points);
}

static mrc_kernel resolved(mercer_ctx *ctx, const char *spec, const mercer_rows *rows)
{
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    assert_true(mrc_kernel_has_gradient(&kernel));
    return kernel;
}

/* near: rows in pairs at this distance of each other, relative to their length; 0: none. */
static void check(const char *spec, int64_t n, int64_t d, double mean, double unit, double nearness)
{
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *rows = NULL;
    double *x = normal_rows((uint64_t)(n + d), n, d, mean * unit, unit);
    double *a = normal_rows((uint64_t)(n + 1), n, 1, 0, 1), *out = malloc((size_t)(n * d) * 8);
    for (int64_t i = 1; nearness > 0 && i < n; i += 2)
        for (int64_t c = 0; c < d; c++)
            x[i * d + c] = x[(i - 1) * d + c] + nearness * (i == 1 ? 0 : x[i * d + c]);
    assert_ok(view_f64(ctx, x, n, d, d, &rows, err));
    mrc_kernel kernel = resolved(ctx, spec, rows);
    const mrc_kernel_part *part = &kernel.part[0];
    gradients(ctx, &kernel, rows, a, n < 5 ? 1 : 5, out);
    for (int64_t t = 0; t < n; t++) {
        long double exact[64], size[64], most = 0;
        naive_gradient(part, x, a, n, d, t, exact, size);
        for (int64_t c = 0; c < d; c++)
            most = fmaxl(most, size[c]);
        for (int64_t c = 0; c < d; c++) {
            /* Two digits lost in differences, others in kernel values of large arguments; a shift
             * by the mean rounds what rows differ by. */
            double limit = 2e-11 + (nearness > 0 ? 8 * DBL_EPSILON / nearness : 0);
            if (!(fabsl(out[t * d + c] - exact[c]) <= limit * most + 1e-300L))
                fail_msg("%s, %d x %d, mean %g, unit %g, near %g: %g is off by %Lg of %Lg", spec,
                         (int)n, (int)d, mean, unit, nearness, out[t * d + c],
                         out[t * d + c] - exact[c], most);
            /* Third derivatives make the differences; at equal rows some kernels have a corner. */
            double step = 1e-5 * unit, kept = x[t * d + c], at[64];
            if (nearness > 0 || t >= 4) /* the others are like these */
                continue;
            for (int64_t j = 0; j < d; j++)
                at[j] = x[t * d + j];
            at[c] = kept + step;
            double up = at[c], f = function_at(&kernel, at, x, a, n, d);
            at[c] = kept - step;
            f = (f - function_at(&kernel, at, x, a, n, d)) / (up - at[c]);
            double terms = 0; /* whose rounding is divided by the step */
            for (int64_t i = 0; i < n; i++)
                terms += fabs(a[i] * naive_kernel(&kernel, at, x + i * d, d));
            if (!(fabs(f - out[t * d + c]) <= 3e-7 * (double)most + DBL_EPSILON * terms / step))
                fail_msg("%s, %d x %d, mean %g, unit %g: %g, by differences %g (of %Lg)", spec,
                         (int)n, (int)d, mean, unit, out[t * d + c], f, most);
        }
    }
    mercer_rows_free(rows);
    free(x);
    free(a);
    free(out);
    mercer_ctx_free(ctx);
}

static void test_gradients(void **state)
{
    static const int64_t sizes[][2] = {{2, 1}, {3, 2}, {7, 8}, {7, 9}, {40, 3}, {45, 20}};
    static const double units[] = {1e-3, 1, 1e3}, means[] = {0, 10};
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int u = 0; u < 3; u++)
                for (int m = 0; m < 2; m++)
                    check(kernels[k], sizes[s][0], sizes[s][1], means[m], units[u], 0);
}

/* Pairs of rows that nearly agree, and one that does: slopes grow without bound there. */
static void test_near_rows(void **state)
{
    static const double distances[] = {1e-2, 1e-5, 1e-9};
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (int64_t d = 4; d <= 12; d += 8)
            for (int i = 0; i < 3; i++)
                check(kernels[k], 20, d, 0, 1, distances[i]);
}

/* Sparse rows have the gradients of the same rows dense. */
static void test_sparse(void **state)
{
    enum { ROWS = 37, COLUMNS = 23 };
    (void)state;
    for (int k = 0; k < KERNELS; k++) {
        mercer_ctx *ctx = new_ctx(1);
        double *x = normal_rows(4, ROWS, COLUMNS, 0, 1), *a = normal_rows(5, ROWS, 1, 0, 1);
        double dense[ROWS * COLUMNS], sparse[ROWS * COLUMNS];
        for (int64_t i = 0; i < ROWS * COLUMNS; i++)
            x[i] = i % 3 == 0 || i < 2 * COLUMNS ? x[i] : 0;
        for (int64_t c = 0; c < COLUMNS; c++) /* near ones, and an empty one */
            x[COLUMNS + c] = x[c] * (1 + 1e-7), x[2 * COLUMNS + c] = 0;
        mercer_rows *rows = NULL, *csr = NULL;
        int64_t map[COLUMNS];
        for (int64_t c = 0; c < COLUMNS; c++)
            map[c] = c;
        assert_ok(view_f64(ctx, x, ROWS, COLUMNS, COLUMNS, &rows, err));
        assert_ok(mrc_rows_arrange(rows, map, COLUMNS, true, &csr, err));
        assert_true(mercer_rows_is_sparse(csr));
        mrc_kernel kernel = resolved(ctx, kernels[k], rows);
        gradients(ctx, &kernel, rows, a, 8, dense);
        gradients(ctx, &kernel, csr, a, 8, sparse);
        double most = 0;
        for (int64_t i = 0; i < ROWS * COLUMNS; i++)
            most = fmax(most, fabs(dense[i]));
        for (int64_t i = 0; i < ROWS * COLUMNS; i++)
            if (!(fabs(dense[i] - sparse[i]) <=
                  8 * DBL_EPSILON / 1e-7 * most)) /* dense ones are shifted */
                fail_msg("%s: %g, sparse %g of %g", kernels[k], dense[i], sparse[i], most);
        mercer_rows_free(rows);
        mercer_rows_free(csr);
        free(x);
        free(a);
        mercer_ctx_free(ctx);
    }
}

static void test_names(void **state)
{
    static const char *const without[] = {"linear", "cosine", "chi2", "sigmoid", "rbf+rbf"};
    char text[256];
    mrc_kernel kernel;
    (void)state;
    assert_string_equal(mrc_kernels_with_gradient(text, sizeof text),
                        "poly, rbf, laplacian, exponential, matern, rq");
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        assert_ok(mrc_kernel_parse(&kernel, without[i], err));
        assert_false(mrc_kernel_has_gradient(&kernel));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_near_rows),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
