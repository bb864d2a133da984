/* SPDX-License-Identifier: BSD-3-Clause */
/* The store that goes through dense rows of a linear kernel, and the bounds of column lengths,
 * against sums written out in more digits. */
#include "support.h"

#include "gram/rows.h"
#include "kernel/simd.h"

#include <float.h>

struct shape {
    int64_t n, d;
};

/* One strip and several, one part and several, columns beside the width of vectors, pieces of
 * columns, more columns than rows. */
static const struct shape shapes[] = {{200, 1},   {257, 37},   {300, 300}, {600, 5},  {1030, 64},
                                      {200, 300}, {130, 2100}, {2300, 9},  {4400, 3}, {256, 120}};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST_L = 17 };

/* Rows as the operator has them, in more digits: about their mean, or as they are. */
static long double *plain_rows(const double *x, int64_t n, int64_t d, bool centered)
{
    long double *out = calloc((size_t)(n * d), sizeof *out);
    assert_non_null(out);
    for (int64_t k = 0; k < d; k++) {
        long double mean = 0;
        for (int64_t i = 0; centered && i < n; i++)
            mean += x[i * d + k] / (long double)n;
        for (int64_t i = 0; i < n; i++)
            out[i * d + k] = x[i * d + k] - mean;
    }
    return out;
}

/* out (d x l) = X' v */
static void plain_inner(const long double *x, int64_t n, int64_t d, const double *v, int64_t l,
                        long double *out)
{
    memset(out, 0, (size_t)(d * l) * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < d; k++)
            for (int64_t j = 0; j < l; j++)
                out[k * l + j] += x[i * d + k] * v[i * l + j];
}

static mrc_gram *make(mercer_ctx *ctx, const mrc_kernel *kernel, const mercer_rows *rows,
                      bool centered)
{
    mrc_gram *g = NULL;
    mrc_gram_request request = {.centered = centered, .products = 1, .vectors = 1};
    assert_ok(mrc_gram_new(&g, ctx, kernel, rows, &request, NULL, err));
    assert_ptr_equal(mrc_gram_store(g), &mrc_store_rows);
    return g;
}

/* Products with l vectors, some rows of them, and X' v, to a few roundings of |x_i| |X' v|. */
static void check_products(mrc_gram *g, const long double *x, int64_t n, int64_t d, int64_t l,
                           double unit)
{
    enum { J = 70 };
    double *v = normal_rows(7 + (uint64_t)l, n, l, 0, 1), *out = new_doubles(n * l), *w = NULL;
    long double *inner = calloc((size_t)(d * l), sizeof *inner);
    int64_t chosen[J];
    double *part = new_doubles(J * l);
    assert_non_null(inner);
    for (int64_t i = 0; i < J; i++)
        chosen[i] = i * 37 % n;
    if (mrc_gram_centered(g)) /* K^ v is that of v about its mean */
        for (int64_t j = 0; j < l; j++) {
            double mean = 0;
            for (int64_t i = 0; i < n; i++)
                mean += v[i * l + j] / (double)n;
            for (int64_t i = 0; i < n; i++)
                v[i * l + j] -= mean;
        }
    plain_inner(x, n, d, v, l, inner);
    assert_ok(mrc_gram_apply(g, v, l, out, err));
    assert_ok(mrc_gram_apply_rows(g, chosen, J, v, l, part, err));
    for (int64_t j = 0; j < l; j++) {
        long double length = 0, longest = 0, largest = 0;
        for (int64_t k = 0; k < d; k++)
            length += inner[k * l + j] * inner[k * l + j];
        for (int64_t i = 0; i < n; i++) {
            long double norm = 0;
            for (int64_t k = 0; k < d; k++)
                norm += x[i * d + k] * x[i * d + k];
            longest = norm > longest ? norm : longest;
        }
        /* X' v is off by eps |x_i| sqrt(n) |v| at least, however short it is. */
        long double size = sqrtl(longest) * (sqrtl(length) + sqrtl(longest) * (long double)n);
        for (int64_t i = 0; i < n; i++) {
            long double sum = 0;
            for (int64_t k = 0; k < d; k++)
                sum += x[i * d + k] * inner[k * l + j];
            sum /= unit;
            largest = fmaxl(largest, fabsl(sum - out[i * l + j]));
            for (int64_t c = 0; c < J; c++)
                if (chosen[c] == i && !(fabsl(sum - part[c * l + j]) <= 1e-13L * size / unit))
                    fail_msg("%lld x %lld, l %lld: row %lld of some is %g, not %Lg", (long long)n,
                             (long long)d, (long long)l, (long long)i, part[c * l + j], sum);
        }
        if (!(largest <= 1e-13L * size / unit))
            fail_msg("%lld x %lld, l %lld: products off by %Lg of %Lg", (long long)n, (long long)d,
                     (long long)l, largest, size / unit);
    }
    assert_ok(mrc_gram_collapse(g, v, l, &w, err));
    long double most = 0, off = 0;
    for (int64_t i = 0; i < n * d; i++)
        most = fmaxl(most, fabsl(x[i]));
    for (int64_t k = 0; k < d * l; k++)
        off = fmaxl(off, fabsl(inner[k] - w[k]));
    assert_true(off <= 1e-14L * (long double)n * most);
    mrc_free(w);
    free(v);
    free(out);
    free(part);
    free(inner);
}

/* Lengths of columns, their squares, and that no bound is below the longest one. */
static void check_lengths(mrc_gram *g, const long double *x, int64_t n, int64_t d, double unit)
{
    double *norms2 = new_doubles(n), squares, bound[2];
    long double sum = 0, longest = 0, off = 0;
    assert_ok(mrc_gram_row_norms2(g, NULL, n, NULL, norms2, err));
    assert_ok(mrc_gram_squares(g, &squares, err));
    for (int close = 0; close < 2; close++)
        assert_ok(mrc_gram_longest(g, close, &bound[close], err));
    for (int64_t i = 0; i < n; i++) {
        long double norm = 0;
        for (int64_t t = 0; t < n; t++) {
            long double value = 0;
            for (int64_t k = 0; k < d; k++)
                value += x[i * d + k] * x[t * d + k];
            norm += value / unit * (value / unit);
        }
        sum += norm;
        longest = fmaxl(longest, norm);
        off = fmaxl(off, fabsl(norm - norms2[i]));
    }
    if (!(off <= 1e-12L * longest) || !(fabsl(sum - squares) <= 1e-12L * sum))
        fail_msg("%lld x %lld: lengths off by %Lg of %Lg, squares %g, not %Lg", (long long)n,
                 (long long)d, off, longest, squares, sum);
    if (!(bound[1] <= bound[0]) || !(bound[1] >= sqrtl(longest)))
        fail_msg("%lld x %lld: bounds %g, %g of %Lg", (long long)n, (long long)d, bound[0],
                 bound[1], sqrtl(longest));
    free(norms2);
}

/* scale: of the values; far: their mean over their spread. */
static void check_shape(struct shape s, uint64_t seed, double scale, double far, bool centered,
                        int threads)
{
    static const int64_t widths[] = {1, 2, 8, MOST_L};
    mercer_ctx *ctx = new_ctx(threads);
    mrc_kernel kernel;
    double *x = normal_rows(seed, s.n, s.d, far * scale, scale);
    mercer_rows *rows = view(ctx, x, s.n, s.d);
    long double *plain = plain_rows(x, s.n, s.d, centered);
    assert_ok(mrc_kernel_parse(&kernel, "linear", err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    mrc_gram *g = make(ctx, &kernel, rows, centered);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        check_products(g, plain, s.n, s.d, widths[w], 1);
    bool squares_fit = scale > 1e-60 && scale < 1e60;
    if (s.n <= 700 && squares_fit)
        check_lengths(g, plain, s.n, s.d, 1);
    double unit = mrc_gram_usual_unit(g);
    mrc_gram_set_unit(g, unit == 1 ? ldexp(1, -6) : unit);
    unit = mrc_gram_unit(g);
    check_products(g, plain, s.n, s.d, 1, unit);
    check_products(g, plain, s.n, s.d, 3, unit);
    if (s.n <= 700)
        check_lengths(g, plain, s.n, s.d, unit);
    mrc_gram_free(g);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(plain);
    free(x);
}

static void test_rows_match_plain_sums(void **state)
{
    static const double scales[] = {1, 1e-100, 1e100, 1e-20, 1e30};
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int c = 0; c < 2; c++) {
            print_message("%lld x %lld, centred %d\n", (long long)shapes[s].n,
                          (long long)shapes[s].d, c);
            check_shape(shapes[s], (uint64_t)s + 1, 1, 0, c, 1);
            check_shape(shapes[s], (uint64_t)s + 20, scales[s % 5], c ? 1000 : 1, c, 2);
        }
    for (int s = 0; s < 5; s++)
        check_shape((struct shape){257, 37}, (uint64_t)s + 40, scales[s], 1, s % 2, 2);
}

static void backwards_loop(void *host, int64_t tasks, int threads, mercer_parfor_body body,
                           void *arg)
{
    (void)host, (void)threads;
    for (int64_t i = tasks; i-- > 0;)
        body(arg, i, 0);
}

/* Neither threads, nor the order of tasks, nor rows that are packed change a bit. */
static void test_rows_are_the_same_for_any_thread_count(void **state)
{
    static const struct shape sizes[] = {{5000, 40}, {2100, 2100}, {4200, 5}};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s].n, d = sizes[s].d;
        double *x = normal_rows(s + 3, n, d, 2, 1), *v = normal_rows(4, n, 9, 0, 1);
        float *packed = calloc((size_t)(n * d), sizeof *packed);
        double *first[2] = {NULL, NULL};
        assert_non_null(packed);
        for (int64_t i = 0; i < n * d; i++)
            x[i] = packed[i] = (float)x[i];
        for (int run = 0; run < 6; run++) {
            mercer_ctx *ctx = new_ctx(run < 3 ? run + 1 : run == 3 ? 3 : run - 3);
            mercer_rows *rows = NULL;
            mrc_kernel kernel;
            if (run == 3)
                mercer_ctx_set_parfor(ctx, backwards_loop, NULL);
            if (run < 4)
                rows = view(ctx, x, n, d);
            else
                assert_ok(view_f32(ctx, packed, n, d, d, &rows, err));
            assert_ok(mrc_kernel_parse(&kernel, "linear", err));
            assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
            mrc_gram *g = make(ctx, &kernel, rows, true);
            for (int wide = 0; wide < 2; wide++) {
                double *out = new_doubles(n * 9);
                assert_ok(mrc_gram_apply(g, v, wide ? 9 : 1, out, err));
                if (!first[wide])
                    first[wide] = out;
                assert_memory_equal(out, first[wide], (size_t)(n * 9) * sizeof *out);
                if (out != first[wide])
                    free(out);
            }
            mrc_gram_free(g);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
        free(first[0]);
        free(first[1]);
        free(packed);
        free(x);
        free(v);
    }
}

/* No bound is below the longest column, of any store and kernel: rows that are all the same, one
 * row far off the others, a matrix like the identity, one of rank one, far from the origin. */
static void test_bounds_hold(void **state)
{
    static const char *const kernels[] = {"linear",         "rbf:sigma=0.05",
                                          "rbf:sigma=1000", "poly:gamma=0.3,coef0=1,degree=3",
                                          "cosine",         "sigmoid:gamma=0.1,coef0=-0.5"};
    static const mrc_store *const stores[] = {&mrc_store_dense, &mrc_store_stream, NULL};
    enum { N = 150, D = 4, SETS = 6 };
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int set = 0; set < SETS; set++)
            for (int which = 0; which < 12; which++) {
                const mrc_store *store = stores[which % 3];
                bool centered = which / 3 % 2, single = which / 6 && store;
                mercer_ctx *ctx = new_ctx(2);
                double *x = normal_rows(k * 10 + (uint64_t)set + 1, N, D, set == 1 ? 1e5 : 0,
                                        set == 2 ? 1e-3 : 1);
                for (int64_t i = 0; i < N * D; i++)
                    x[i] = set == 3   ? 1.25
                           : set == 4 ? (i < D ? 1e4 * x[i] : 1e-3 * x[i])
                           : set == 5 ? x[i / D * D] * (double)(1 + i % D)
                                      : x[i];
                mercer_rows *rows = view(ctx, x, N, D);
                mrc_kernel kernel;
                mrc_gram *g = NULL;
                mrc_gram_request request = {.store = store,
                                            .single = single,
                                            .centered = centered,
                                            .products = 1,
                                            .vectors = 1};
                double norms2[N], longest = 0, bound;
                assert_ok(mrc_kernel_parse(&kernel, kernels[k], err));
                assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
                assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
                assert_ok(mrc_gram_row_norms2(g, NULL, N, NULL, norms2, err));
                for (int64_t i = 0; i < N; i++)
                    longest = fmax(longest, sqrt(norms2[i]));
                for (int close = 0; close < 2; close++) {
                    assert_ok(mrc_gram_longest(g, close, &bound, err));
                    assert_true(mrc_kernel_is_semidefinite(&kernel) ? isfinite(bound)
                                                                    : isinf(bound));
                    if (!(bound >= longest))
                        fail_msg("%s, set %d, store %s, centred %d, single %d: %g is below %g",
                                 kernels[k], set, mrc_gram_store(g)->name, centered, single, bound,
                                 longest);
                }
                mrc_gram_free(g);
                mercer_rows_free(rows);
                mercer_ctx_free(ctx);
                free(x);
            }
}

/* Eigenpairs through the rows are those of the matrix. */
static void test_rows_give_the_spectrum(void **state)
{
    enum { COUNT = 6 };
    (void)state;
    for (int run = 0; run < 4; run++) {
        int64_t n = run % 2 ? 900 : 520, d = run % 2 ? 60 : 700;
        double scale = run < 2 ? 1 : 1e-90;
        mercer_ctx *ctx = new_ctx(1 + run % 2);
        double *x = normal_rows((uint64_t)run + 1, n, d, 5 * scale, scale);
        for (int64_t i = 0; i < n * d; i++)
            x[i] *= 1 + 8.0 / (double)(1 + i % d);
        mercer_rows *rows = view(ctx, x, n, d);
        mrc_kernel kernel;
        mrc_spectrum found[2] = {{0}, {0}};
        assert_ok(mrc_kernel_parse(&kernel, "linear", err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        for (int dense = 0; dense < 2; dense++) {
            mrc_gram *g = NULL;
            mrc_gram_request request = {.centered = true, .store = &mrc_store_dense};
            if (dense)
                assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
            else
                g = make(ctx, &kernel, rows, true);
            assert_ok(mrc_gram_spectrum(g, COUNT, 0, &found[dense], err));
            assert_string_equal(found[dense].solver, "krylov");
            assert_int_equal(found[dense].count, COUNT);
            mrc_gram_free(g);
        }
        for (int64_t j = 0; j < COUNT; j++) {
            double dot = 0;
            assert_true(fabs(found[0].values[j] - found[1].values[j]) <=
                        1e-12 * found[1].values[0]);
            for (int64_t i = 0; i < n; i++)
                dot += found[0].vectors[i * COUNT + j] * found[1].vectors[i * COUNT + j];
            assert_true(fabs(dot - 1) <= 1e-9);
        }
        assert_true(fabs(found[0].trace - found[1].trace) <= 1e-12 * found[1].trace);
        mrc_spectrum_destroy(&found[0]);
        mrc_spectrum_destroy(&found[1]);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        free(x);
    }
}

/* What decides between the rows and the matrix. */
static void test_rows_are_taken_where_few_products_are_wanted(void **state)
{
    static const struct {
        int64_t n, d;
        double products;
        const char *kernel;
        const mrc_store *store;
    } cases[] = {
        {400, 30, 5, "linear", &mrc_store_rows},   {400, 30, 0, "linear", &mrc_store_lowrank},
        {400, 300, 1, "linear", &mrc_store_rows},  {400, 300, 50, "linear", &mrc_store_dense},
        {400, 300, 0, "linear", &mrc_store_dense}, {400, 30, 5, "rbf:sigma=3", &mrc_store_dense},
        {400, 30, 5, "cosine", &mrc_store_dense},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_ctx *ctx = new_ctx(1);
        double *x = normal_rows(c + 1, cases[c].n, cases[c].d, 0, 1);
        mercer_rows *rows = view(ctx, x, cases[c].n, cases[c].d);
        mrc_kernel kernel;
        mrc_gram *g = NULL;
        mrc_gram_request request = {.products = cases[c].products, .vectors = 1};
        assert_ok(mrc_kernel_parse(&kernel, cases[c].kernel, err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
        assert_string_equal(mrc_gram_store(g)->name, cases[c].store->name);
        mrc_gram_free(g);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_match_plain_sums),
        cmocka_unit_test(test_rows_are_the_same_for_any_thread_count),
        cmocka_unit_test(test_bounds_hold),
        cmocka_unit_test(test_rows_give_the_spectrum),
        cmocka_unit_test(test_rows_are_taken_where_few_products_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
