/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels as text, what they claim about themselves, and digits where distances are small. */
#include "support.h"

#include "data/scale.h"
#include "gram/gram.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>

static const char *const kernels[] = {
    "linear",
    "poly:degree=2",
    "rbf",
    "laplacian",
    "exponential",
    "matern:nu=0.5",
    "matern",
    "matern:nu=2.5",
    "matern:nu=inf",
    "rq",
    "rq:alpha=0.1",
    "chi2",
    "intersection",
    "cosine",
    "toy",
    "0.7*rbf + linear",
    "laplacian*poly:degree=2 + 3*intersection*chi2",
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void same_kernel(const mrc_kernel *a, const mrc_kernel *b)
{
    assert_int_equal(a->parts, b->parts);
    assert_int_equal(a->terms, b->terms);
    for (int p = 0; p < a->parts; p++) {
        const mrc_kernel_part *x = &a->part[p], *y = &b->part[p];
        assert_int_equal(a->term[p], b->term[p]);
        assert_ptr_equal(x->def, y->def);
        assert_true(x->gamma == y->gamma && x->sigma == y->sigma && x->coef0 == y->coef0);
        assert_true(x->alpha == y->alpha && x->degree == y->degree && x->nu == y->nu);
    }
    for (int t = 0; t < a->terms; t++)
        assert_true(a->weight[t] == b->weight[t]);
}

/* Parse, resolve on rows, write, parse again: the same kernel; and the text stays as it is. */
static void test_kernel_text_round_trips(void **state)
{
    static const struct {
        const char *spec, *text;
    } cases[] = {
        {"rbf:sigma=2", "rbf:sigma=2"},
        {" rbf : sigma = 2 ", "rbf:sigma=2"},
        {"1*rbf:sigma=2", "rbf:sigma=2"},
        {"rbf:gamma=0.1", NULL},
        {"exponential:gamma=0.1", NULL},
        {"exponential:gamma=0.3", NULL},
        {"exponential:sigma=3", "exponential:sigma=3"},
        {"laplacian", "laplacian:gamma=0.25"},
        {"chi2", "chi2:gamma=1"},
        {"matern:sigma=2", "matern:sigma=2,nu=1.5"},
        {"matern:sigma=2,nu=inf", "matern:sigma=2,nu=inf"},
        {"rq:sigma=2", "rq:sigma=2,alpha=1"},
        {"0.7*rbf:sigma=2+linear", "0.7*rbf:sigma=2 + linear"},
        {"  0.7 * rbf: sigma=2 \t+  linear ", "0.7*rbf:sigma=2 + linear"},
        {"rbf:sigma=2*poly:gamma=1e+0,coef0=+1,degree=2*0.5*4",
         "2*rbf:sigma=2*poly:gamma=1,coef0=1,degree=2"},
        {"linear*linear", "linear*linear"},
        {"2e+1*chi2 + 3", "20*chi2:gamma=1 + 3"},
        {"3+chi2+0*intersection", "3 + chi2:gamma=1 + 0*intersection"},
        {"0.1*rbf + 0.3333333333333333*matern + rq*laplacian", NULL},
        {"rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf", NULL},
        {"rbf*rq*rbf*rbf*rbf*rbf*rbf*poly:gamma=0.1234567890123456,coef0=1e-300", NULL},
    };
    (void)state;
    double *x = normal_rows(3, 40, 4, 1, 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *rows = view(ctx, x, 40, 4);
        mrc_kernel kernel, back;
        char text[1024], again[1024];
        print_message("%s\n", cases[c].spec);
        assert_ok(mrc_kernel_parse(&kernel, cases[c].spec, err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        assert_false(mrc_kernel_is_open(&kernel));
        assert_ok(mrc_kernel_format(&kernel, text, sizeof text, err));
        if (cases[c].text)
            assert_string_equal(text, cases[c].text);
        assert_ok(mrc_kernel_parse(&back, text, err));
        assert_false(mrc_kernel_is_open(&back));
        assert_ok(mrc_kernel_resolve(&back, ctx, NULL, err));
        same_kernel(&kernel, &back);
        assert_ok(mrc_kernel_format(&back, again, sizeof again, err));
        assert_string_equal(text, again);
        for (size_t size = 1; size < strlen(text) + 1; size++) {
            mercer_error why;
            assert_int_equal(mrc_kernel_format(&kernel, again, size, &why), MERCER_ERR_ARGUMENT);
        }
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
    }
    free(x);
}

static void test_kernel_refuses_bad_text(void **state)
{
    static const struct {
        const char *spec, *words;
    } cases[] = {
        {"", "unknown kernel ''"},
        {"nosuch", "unknown kernel 'nosuch' (known: linear, poly, rbf, laplacian"},
        {"rbf:sigma=1,gamma=1", "kernel rbf: give sigma or gamma, not both"},
        {"exponential:sigma=1,gamma=1", "kernel exponential: give sigma or gamma, not both"},
        {"matern:nu=3", "kernel matern: nu=3 is not one of 0.5, 1.5, 2.5, inf"},
        {"rq:alpha=0", "alpha=0 is out of range"},
        {"rbf:sigma=1,gamma=auto", "kernel rbf: give sigma or gamma, not both"},
        {"chi2:gamma=auto", "is not a number"},
        {"intersection:gamma=1", "it has no keys"},
        {"laplacian:sigma=1", "unknown key 'sigma'"},
        {"0.7*", "nothing where a kernel or a weight was expected"},
        {"*rbf", "nothing where"},
        {"rbf + + linear", "nothing where"},
        {"rbf +", "nothing where"},
        {"+rbf", "nothing where"},
        {"-0.5*rbf", "'-0.5' is a negative weight"},
        {"rbf + -1*linear", "'-1' is a negative weight"},
        {"inf*rbf", "'inf' is not a finite weight"},
        {"nan*rbf", "not a finite weight"},
        {"1e200*1e200*rbf", "overflow"},
        {"3", "'3' names no kernel"},
        {"3 + 2*4", "names no kernel"},
        {"rbf - linear", "unknown kernel 'rbf - linear'"},
        {"rbf linear", "unknown kernel 'rbf linear'"},
        {"0.5rbf", "unknown kernel '0.5rbf'"},
        {"precomputed + rbf", "combines precomputed"},
        {"2*precomputed", "combines precomputed"},
        {"rbf + poly:degree=0", "kernel poly: degree=0"},
        {"rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf", "8 terms"},
        {"rbf*rbf*rbf*rbf*rbf*rbf*rbf*rbf*rbf", "one kernel too many"},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mrc_kernel kernel;
        mercer_error why = {0};
        assert_int_equal(mrc_kernel_parse(&kernel, cases[c].spec, &why), MERCER_ERR_ARGUMENT);
        if (!strstr(why.text, cases[c].words))
            fail_msg("'%s': '%s' does not say '%s'", cases[c].spec, why.text, cases[c].words);
    }
    char long_one[700];
    memset(long_one, 'x', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = 0;
    mrc_kernel kernel;
    mercer_error why = {0};
    assert_int_equal(mrc_kernel_parse(&kernel, long_one, &why), MERCER_ERR_ARGUMENT);
    static const char *const extreme[] = {"rbf:sigma=1e-200", "matern:sigma=1e-200",
                                          "rq:sigma=1e200", "rq:sigma=1e200,alpha=1e-300",
                                          "exponential:sigma=1e-310"};
    for (size_t c = 0; c < sizeof extreme / sizeof *extreme; c++) {
        mercer_status rc = mrc_kernel_parse(&kernel, extreme[c], &why);
        if (rc == MERCER_OK)
            rc = mrc_kernel_resolve(&kernel, NULL, NULL, &why);
        print_message("%s: %s\n", extreme[c], rc ? why.text : "fine");
        assert_true(rc == MERCER_ERR_ARGUMENT || c == 3);
    }
}

static double smallest_eigenvalue(double *gram, int64_t n, double *largest)
{
    double *values = new_doubles(n);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', (int)n, gram, (int)n, values), 0);
    double smallest = values[0];
    *largest = values[n - 1];
    free(values);
    return smallest;
}

/* Whoever says semidefinite has no negative eigenvalue beyond rounding, in few and many columns. */
static void test_kernel_semidefinite_claims_hold(void **state)
{
    enum { N = 120 };
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (int64_t d = 1; d <= 25; d += 8) {
            mercer_ctx *ctx = new_ctx(1);
            double *x = normal_rows(11, N, d, 0, 1), largest;
            make_nonnegative(kernels[k], x, N * d);
            mercer_rows *rows = view(ctx, x, N, d);
            mrc_kernel kernel;
            mrc_points points;
            double *tile = new_doubles(N * N), *diag = new_doubles(N);
            assert_ok(mrc_kernel_parse(&kernel, kernels[k], err));
            assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
            assert_true(mrc_kernel_is_semidefinite(&kernel));
            assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
            mrc_kernel_tile(&kernel, ctx, &points, 0, N, &points, 0, N, tile, N);
            mrc_kernel_diag(&kernel, ctx, &points, 0, N, diag);
            for (int64_t i = 0; i < N; i++) {
                double exact = naive_kernel(&kernel, x + i * d, x + i * d, d);
                assert_true(fabs(diag[i] - exact) <= 1e-14 * fabs(exact));
                assert_true(fabs(tile[i * N + i] - diag[i]) <= 1e-13 * fabs(exact));
            }
            double smallest = smallest_eigenvalue(tile, N, &largest);
            if (smallest < -1e-13 * N * largest)
                fail_msg("%s: eigenvalue %g, largest %g", kernels[k], smallest, largest);
            mrc_points_destroy(&points);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
            free(tile);
            free(diag);
            free(x);
        }
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, "rbf + sigmoid", err));
    assert_false(mrc_kernel_is_semidefinite(&kernel));
    assert_ok(mrc_kernel_parse(&kernel, "rbf*poly:coef0=-1", err));
    assert_false(mrc_kernel_is_semidefinite(&kernel));
}

/* Every listed kernel is what its formula says, and keeps to what its descriptor claims, in few and
 * many columns, dense and sparse. */
static void test_kernel_descriptors_hold(void **state)
{
    enum { N = 40 };
    const struct mercer_entry *entry;
    (void)state;
    for (int e = 0; (entry = mrc_kernel_entry_at(e)); e++)
        for (int64_t d = 3; d <= 20; d += 17)
            for (int sparse = 0; sparse < 2; sparse++) {
                mercer_ctx *ctx = new_ctx(1);
                double *x = normal_rows(13, N, d, 0.2, 1), tile[N * N], diag[N], bound = 0;
                mrc_kernel kernel;
                mrc_points points;
                make_nonnegative(entry->name, x, N * d);
                thin_out(13, x, N * d, 0.4);
                mercer_rows *rows = sparse ? sparse_copy(x, N, d) : view(ctx, x, N, d);
                assert_ok(mrc_kernel_parse(&kernel, entry->name, err));
                if (!mrc_kernel_is_precomputed(&kernel)) {
                    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
                    assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
                    mrc_kernel_tile(&kernel, ctx, &points, 0, N, &points, 0, N, tile, N);
                    mrc_kernel_diag(&kernel, ctx, &points, 0, N, diag);
                    mrc_points_destroy(&points);
                    bound = mrc_kernel_max_abs(&kernel);
                    for (int64_t i = 0; i < N && mrc_kernel_max_abs(&kernel) == 0; i++)
                        bound = fmax(bound, diag[i]);
                    assert_true(largest_modulus(tile, N * N) <= (1 + 1e-14) * bound);
                }
                for (int64_t i = 0; i < N && bound > 0; i++) {
                    assert_close(&tile[i * N + i], &diag[i], 1, 1e-14 * bound);
                    for (int64_t j = 0; j < N; j++) {
                        double exact = naive_kernel(&kernel, x + i * d, x + j * d, d);
                        assert_close(&tile[i * N + j], &exact, 1, 1e-13 * bound);
                    }
                }
                mercer_rows_free(rows);
                mercer_ctx_free(ctx);
                free(x);
            }
}

/* Near pairs and equal rows far from the origin, where |x|^2 + |y|^2 - 2 x.y has no digits left and
 * a square root would make 1e-8 of 1e-16. */
static void test_kernel_small_distances_keep_their_digits(void **state)
{
    enum { N = 40, D = 30 };
    static const char *const near[] = {"exponential:sigma=1e-6", "matern:sigma=1e-6,nu=0.5",
                                       "matern:sigma=1e-6",      "matern:sigma=1e-6,nu=2.5",
                                       "rq:sigma=1e-6",          "laplacian:gamma=1e6",
                                       "rbf:sigma=1e-6"};
    (void)state;
    for (size_t k = 0; k < sizeof near / sizeof *near; k++)
        for (int64_t d = 3; d <= D; d += D - 3) {
            mercer_ctx *ctx = new_ctx(1);
            double *x = normal_rows(4, N, d, 0, 1), tile[N * N];
            for (int64_t i = 1; i < N; i += 2)
                for (int64_t c = 0; c < d; c++) /* every fourth pair is equal */
                    x[i * d + c] = x[(i - 1) * d + c] + (c == 0 && i % 8 != 1 ? 1e-6 : 0);
            mercer_rows *rows = view(ctx, x, N, d);
            mrc_kernel kernel;
            mrc_points points;
            assert_ok(mrc_kernel_parse(&kernel, near[k], err));
            assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
            assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
            mrc_kernel_tile(&kernel, ctx, &points, 0, N, &points, 0, N, tile, N);
            for (int64_t i = 0; i < N; i += 2) {
                double exact = naive_kernel(&kernel, x + i * d, x + (i + 1) * d, d);
                assert_true(exact > 0.3);
                /* The shift by the means rounds the rows: 1e-16 of 1e-6. */
                assert_true(fabs(tile[i * N + i + 1] - exact) < 1e-9);
                assert_true(i % 8 != 0 || tile[i * N + i + 1] == 1);
                assert_true(tile[i * N + i] == 1);
            }
            mrc_points_destroy(&points);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
            free(x);
        }
}

/* Distances whose squares overflow give 0, not NaN; zeroes in chi2 count nothing. */
static void test_kernel_extreme_values(void **state)
{
    static const char *const far[] = {"exponential:sigma=1", "matern:sigma=1", "laplacian",
                                      "matern:sigma=1,nu=2.5", "rq:sigma=1,alpha=3"};
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    const double huge[] = {0, 1e160, 1e200, 1e100}, zeroes[] = {0, 0, 1, 0, 0, 1, 1e-310, 2};
    mrc_kernel kernel;
    mrc_points points;
    double tile[16];
    for (mrc_simd simd = MRC_SIMD_BASELINE; simd <= mrc_simd_detect(); simd++) {
        mercer_rows *rows = view(ctx, huge, 4, 1);
        for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
            assert_ok(mrc_kernel_parse(&kernel, far[k], err));
            assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
            assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
            mrc_kernel_tile(&kernel, ctx, &points, 0, 4, &points, 0, 4, tile, 4);
            for (int i = 0; i < 16; i++)
                assert_true(i % 5 == 0 ? tile[i] == 1 : tile[i] >= 0 && tile[i] < 1e-100);
            mrc_points_destroy(&points);
        }
        mercer_rows_free(rows);
        rows = view(ctx, zeroes, 4, 2);
        assert_ok(mrc_kernel_parse(&kernel, "chi2:gamma=0.5", err));
        assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
        mrc_kernel_tile(&kernel, ctx, &points, 0, 4, &points, 0, 4, tile, 4);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                assert_true(fabs(tile[i * 4 + j] -
                                 naive_kernel(&kernel, zeroes + 2 * i, zeroes + 2 * j, 2)) < 1e-15);
        mrc_points_destroy(&points);
        mercer_rows_free(rows);
    }
    mercer_ctx_free(ctx);
}

/* A negative value is refused where it stands, in training rows and in new ones. */
static void test_kernel_names_negative_values(void **state)
{
    static const char *const names[] = {"chi2", "intersection", "rbf:sigma=1 + 2*chi2"};
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(4, 30, 3, 0, 1), *fresh = normal_rows(5, 300, 3, 0, 1);
    make_nonnegative("chi2", x, 90);
    make_nonnegative("chi2", fresh, 900);
    for (int k = 0; k < 3; k++) {
        mercer_rows *rows = view(ctx, x, 30, 3), *bad = view(ctx, fresh, 300, 3);
        mrc_kernel kernel;
        mrc_gram *g = NULL;
        mrc_gram_request request = {.centered = true};
        mercer_error why = {0};
        double *out = new_doubles(300 * 30);
        assert_ok(mrc_kernel_parse(&kernel, names[k], err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
        assert_ok(mrc_gram_cross(g, bad, 0, 300, out, err));
        fresh[3 * 200 + 1] = -0.25;
        assert_int_equal(mrc_gram_cross(g, bad, 0, 300, out, &why), MERCER_ERR_DATA);
        assert_non_null(strstr(why.text, "row 201 column 2 is -0.25"));
        fresh[3 * 200 + 1] = 1;
        mrc_gram_free(g);
        x[3 * 6 + 2] = -1;
        assert_int_equal(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, &why),
                         MERCER_ERR_DATA);
        assert_non_null(strstr(why.text, "row 7 column 3 is -1"));
        assert_null(g);
        x[3 * 6 + 2] = 1;
        mercer_rows_free(rows);
        mercer_rows_free(bad);
        free(out);
    }
    mercer_ctx_free(ctx);
    free(x);
    free(fresh);
}

static void keep_text(void *host, const mercer_notice *notice)
{
    snprintf(host, 128, "%.127s", notice->text);
}

/* gamma=auto is 1 / columns, with a note; without gamma the width is the median. */
static void test_kernel_gamma_auto_is_of_the_columns(void **state)
{
    static const struct {
        const char *spec, *shown;
        double gamma;
        bool notes;
    } cases[] = {{"rbf:gamma=auto", "rbf:gamma=0.2", 0.2, true},
                 {"exponential:gamma=auto", "exponential:sigma=5", 0.2, true},
                 {"2*rbf:gamma=auto + 1", NULL, 0.2, true},
                 {"rbf", NULL, 0, false},
                 {"rbf:gamma=sigma", NULL, 0, false},
                 {"exponential:gamma=sigma,sigma=4", "exponential:sigma=4", 0.25, false},
                 {"laplacian:gamma=auto", "laplacian:gamma=0.2", 0.2, false}};
    char text[128], said[128];
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(4, 60, 5, 0, 1);
    mercer_rows *rows = view(ctx, x, 60, 5);
    mrc_kernel kernel, median;
    assert_ok(mrc_kernel_parse(&median, "rbf:sigma=median", err));
    assert_ok(mrc_kernel_resolve(&median, ctx, rows, err));
    mercer_ctx_free(ctx);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        said[0] = '\0';
        ctx = new_ctx(1); /* the median draws from the generator */
        mercer_ctx_set_notice(ctx, keep_text, said);
        assert_ok(mrc_kernel_parse(&kernel, cases[c].spec, err));
        assert_int_equal(mrc_kernel_is_open(&kernel), cases[c].gamma != 0.25);
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        assert_false(mrc_kernel_is_open(&kernel));
        double gamma = kernel.part[0].gamma;
        assert_true(gamma == (cases[c].gamma > 0 ? cases[c].gamma : median.part[0].gamma));
        assert_string_equal(
            said, cases[c].notes ? "gamma=auto is 1/5; leave gamma out for the median width" : "");
        assert_ok(mrc_kernel_format(&kernel, text, sizeof text, err));
        if (cases[c].shown)
            assert_string_equal(text, cases[c].shown);
        assert_null(strstr(text, "auto"));
        mercer_ctx_free(ctx);
    }
    mercer_rows_free(rows);
    free(x);
}

/* Both parts that ask for the median get the same number. */
static void test_kernel_parts_share_the_median(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(4, 700, 3, 0, 1);
    mercer_rows *rows = view(ctx, x, 700, 3);
    mrc_kernel kernel, alone;
    assert_ok(mrc_kernel_parse(&alone, "rbf", err));
    assert_ok(mrc_kernel_resolve(&alone, ctx, rows, err));
    mercer_ctx *again = new_ctx(1);
    assert_ok(mrc_kernel_parse(&kernel, "laplacian + 2*rbf + exponential*rq", err));
    assert_ok(mrc_kernel_resolve(&kernel, again, rows, err));
    assert_true(kernel.part[0].gamma == 1.0 / 3);
    for (int p = 1; p < 4; p++)
        assert_true(kernel.part[p].sigma == mrc_kernel_width(&alone));
    assert_true(kernel.part[2].gamma == 1 / mrc_kernel_width(&alone));
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    mercer_ctx_free(again);
    free(x);
}

static int by_size(const void *a, const void *b)
{
    long double x = *(const long double *)a, y = *(const long double *)b;
    return (x > y) - (x < y);
}

/* The median of the distances between the listed rows, the mean of the two in the middle; of the
 * positive distances where that is 0, and 1 where none is. In long doubles, whose range squares do
 * not leave. */
static double plain_median(const double *x, int64_t d, const int64_t *list, int64_t n)
{
    int64_t pairs = 0, zeros = 0;
    long double *distance = malloc((size_t)(n * n) * sizeof *distance);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            long double sum = 0;
            for (int64_t k = 0; k < d; k++) {
                long double difference = (long double)x[list[i] * d + k] - x[list[j] * d + k];
                sum += difference * difference;
            }
            distance[pairs] = sqrtl(sum);
            zeros += distance[pairs++] == 0;
        }
    int64_t skip = 0;
    qsort(distance, (size_t)pairs, sizeof *distance, by_size);
    long double median = 1;
    if (zeros < pairs) {
        if (distance[pairs / 2] == 0)
            skip = zeros;
        int64_t count = pairs - skip, middle = skip + count / 2;
        median = count % 2 ? distance[middle] : (distance[middle - 1] + distance[middle]) / 2;
    }
    free(distance);
    return (double)median;
}

static double median_width(mercer_rows *rows, const char *spec, uint64_t seed)
{
    mercer_ctx *ctx = new_ctx(1);
    mercer_ctx_set_seed(ctx, seed);
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    mercer_ctx_free(ctx);
    return mrc_kernel_width(&kernel);
}

static void assert_is_median(double found, double plain, int64_t n, const char *what)
{
    if (!(fabs(found - plain) <= 1e-14 * plain))
        fail_msg("%s, %lld rows: sigma=median is %.17g, the median %.17g", what, (long long)n,
                 found, plain);
}

/* Every size up to 512: all rows, whatever the seed, dense, sparse or packed. */
static void test_kernel_median_is_the_median(void **state)
{
    (void)state;
    int64_t list[600];
    for (int64_t i = 0; i < 600; i++)
        list[i] = i;
    for (int64_t n = 2; n <= 512; n++) {
        int64_t d = 1 + n % 4;
        double *x = normal_rows((uint64_t)n, n, d, 1, 2);
        if (n % 5 == 0) /* ties, and a median of 0 now and then */
            for (int64_t i = 0; i < n * d; i++)
                x[i] = round(x[i] / (double)(n % 3 + 1));
        double plain = plain_median(x, d, list, n);
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *rows = view(ctx, x, n, d), *sparse = sparse_copy(x, n, d);
        assert_is_median(median_width(rows, "rbf", 1 + (uint64_t)n % 2), plain, n, "dense");
        if (n % 3 == 0 || n < 100)
            assert_is_median(median_width(sparse, "rbf", 3), plain, n, "sparse");
        float *small = malloc((size_t)(n * d) * sizeof *small);
        for (int64_t i = 0; i < n * d; i++) {
            small[i] = (float)x[i];
            x[i] = small[i];
        }
        mercer_rows *packed = NULL;
        assert_ok(view_f32(ctx, small, n, d, d, &packed, err));
        if (n % 3 == 1 || n < 100)
            assert_is_median(median_width(packed, "rbf", 4), plain_median(x, d, list, n), n,
                             "packed");
        mercer_rows_free(rows);
        mercer_rows_free(sparse);
        mercer_rows_free(packed);
        mercer_ctx_free(ctx);
        free(small);
        free(x);
    }
}

/* Beyond: one row of each of 512 stretches, whose ends are those of exact fractions. */
static void test_kernel_median_of_a_sample(void **state)
{
    (void)state;
    static const int64_t sizes[] = {513, 514, 600, 767, 1023, 1024, 1025, 1536, 3000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s], list[512];
        double *x = normal_rows((uint64_t)n, n, 2, 0, 1);
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *rows = view(ctx, x, n, 2);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            mrc_rng rng;
            mrc_rng_seed(&rng, seed);
            uint64_t draw = mrc_rng_next(&rng);
            int64_t end = 0;
            for (int64_t i = 0; i < 512; i++) {
                int64_t first = end;
                while ((end + 1) * 512 <= (i + 1) * n)
                    end++;
                double u = mrc_rng_uniform_at(draw, 0, (uint64_t)i);
                list[i] = first + (int64_t)floor(u * (double)(end - first));
            }
            assert_int_equal(end, n);
            assert_is_median(median_width(rows, "rbf", seed), plain_median(x, 2, list, 512), n,
                             "sample");
        }
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        free(x);
    }
}

/* Most rows are multiples of one, and the others of another: what rounding puts between multiples
 * is not a width. Rows that are not multiples have their median all the same. */
static void test_kernel_median_of_multiples(void **state)
{
    enum { N = 60, MOST = 100 };
    static const char *const scalings[] = {"unit", "rowstandard"};
    static const char *const names[] = {"rbf", "exponential", "rq", "matern"};
    static const double sizes[] = {1, 1e-100, 1e100, 1e-7, 1e9};
    static const int64_t columns[] = {2, 3, 7, 20, MOST};
    int64_t all[N];
    double x[N * MOST];
    (void)state;
    for (int64_t i = 0; i < N; i++)
        all[i] = i;
    for (uint64_t seed = 1; seed <= 240; seed++) {
        const int64_t d = columns[seed % 5], others = 1 + (int64_t)(seed % 11);
        const bool unit = seed % 2, sparse = unit && seed % 4 == 1, multiples = seed % 3;
        mercer_ctx *ctx = new_ctx(1);
        mrc_scale scale = {0};
        mrc_scale_kind kind;
        mrc_rng rng;
        mrc_rng_seed(&rng, seed);
        for (int64_t i = 0; i < N; i++) {
            const int64_t as = !multiples || i == 0 ? -1 : i > N - others - 1 ? N - 1 : 0;
            const double factor = exp(3 * mrc_rng_normal(&rng)), size = sizes[seed / 5 % 5];
            for (int64_t k = 0; k < d; k++)
                x[i * d + k] = as == 0 ? factor * x[k] : size * mrc_rng_normal(&rng);
            for (int64_t k = 0; as > 0 && k < d && i > N - others; k++)
                x[i * d + k] = factor * x[(N - others) * d + k];
        }
        mercer_rows *rows = sparse ? sparse_copy(x, N, d) : view(ctx, x, N, d), *scaled = NULL;
        assert_ok(mrc_scale_parse(scalings[!unit], &kind, err));
        assert_ok(mrc_scale_fit(&scale, kind, rows, err));
        assert_ok(mrc_scale_rows(&scale, rows, &scaled, err));
        mrc_scale_apply(&scale, x, N, d);
        const int64_t ends[] = {0, N - 1};
        const double plain = multiples ? plain_median(x, d, ends, 2) : plain_median(x, d, all, N);
        const double found = median_width(scaled, names[seed % 4], seed);
        if (!(fabs(found - plain) <= 1e-12 * plain))
            fail_msg("seed %d: sigma=median of %s is %g, not %g", (int)seed, names[seed % 4], found,
                     plain);
        mrc_scale_destroy(&scale);
        mercer_rows_free(scaled);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
    }
}

/* No value of rq is zero to rounding, so that squares which overflow would make wrong ones. */
static void test_kernel_rq_takes_no_huge_values(void **state)
{
    static const char *const specs[] = {"rq:sigma=1e148,alpha=0.01", "linear + rq:sigma=1"};
    const double fits[] = {0, 1e150, -1e150, 3}, too_large[] = {0, 1, 2, -1e155};
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    for (int sparse = 0; sparse < 2; sparse++)
        for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
            mercer_rows *good = sparse ? sparse_copy(fits, 2, 2) : view(ctx, fits, 2, 2);
            mercer_rows *bad = sparse ? sparse_copy(too_large, 2, 2) : view(ctx, too_large, 2, 2);
            mrc_kernel kernel;
            mercer_error why = {0};
            assert_ok(mrc_kernel_parse(&kernel, specs[k], err));
            assert_ok(mrc_kernel_check_rows(&kernel, ctx, good, 0, err));
            assert_int_equal(mrc_kernel_check_rows(&kernel, ctx, bad, 10, &why), MERCER_ERR_DATA);
            assert_string_equal(why.text, "kernel rq: row 12 column 2 is -1e+155, and it takes "
                                          "values up to 1e+150 only (after scaling)");
            mercer_rows_free(good);
            mercer_rows_free(bad);
        }
    mercer_ctx_free(ctx);
}

/* rbf, or exponential, of two rows. */
static double expected_value(const double *x, int64_t d, int64_t i, int64_t j, double width,
                             int exponential)
{
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += (x[i * d + k] - x[j * d + k]) * (x[i * d + k] - x[j * d + k]);
    return exponential ? exp(-sqrt(sum) / width) : exp(-sum / (2 * width * width));
}

/* Squares of tiny and huge differences leave the range of doubles; the width follows the rows. */
static void test_kernel_median_at_any_scale(void **state)
{
    (void)state;
    enum { N = 60, D = 3 };
    static const char *const of_root[] = {"rbf", "exponential"};
    double *x = normal_rows(8, N, D, 0, 1), scaled[N * D];
    for (int64_t i = 0; i < N * D; i++)
        x[i] = round(x[i] * 1024) / 1024; /* few digits: exact as denormals too */
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *plain = view(ctx, x, N, D);
    double width = median_width(plain, "exponential", 1);
    for (int power = -1020; power <= 1020; power += 20) {
        for (int64_t i = 0; i < N * D; i++)
            scaled[i] = ldexp(x[i], power);
        mercer_rows *rows = view(ctx, scaled, N, D), *sparse = sparse_copy(scaled, N, D);
        mercer_rows *all[] = {rows, sparse};
        for (int which = 0; which < 2; which++)
            for (int k = 0; k < 2; k++) {
                mrc_kernel kernel;
                mrc_points points;
                mercer_error error;
                double tile[N * N];
                assert_ok(mrc_kernel_parse(&kernel, of_root[k], err));
                mercer_status rc = mrc_kernel_resolve(&kernel, ctx, all[which], &error);
                /* Squares of the distances must be numbers; where they are none, that is said. */
                if (rc != MERCER_OK) {
                    assert_true(rc == MERCER_ERR_DATA && abs(power) > 480);
                    continue;
                }
                assert_true(mrc_kernel_width(&kernel) == ldexp(width, power));
                assert_ok(mrc_points_init(&points, ctx, &kernel, all[which], NULL, err));
                mrc_kernel_tile(&kernel, ctx, &points, 0, N, &points, 0, N, tile, N);
                for (int64_t i = 0; i < N * N; i++)
                    assert_true(fabs(tile[i] - expected_value(x, D, i / N, i % N, width, k)) <
                                1e-14);
                mrc_points_destroy(&points);
            }
        mercer_rows_free(rows);
        mercer_rows_free(sparse);
    }
    mercer_rows_free(plain);
    mercer_ctx_free(ctx);
    free(x);
}

/* Equal rows and constant columns of values whose scaled forms overflow: their differences are 0.
 */
static void test_kernel_median_beside_large_constants(void **state)
{
    (void)state;
    enum { N = 40, D = 3 };
    int64_t list[N];
    for (int64_t i = 0; i < N; i++)
        list[i] = i;
    for (int power = 0; power <= 1020; power += 60) {
        double *x = normal_rows(9, N, D, 0, 1), *y = new_doubles(N * D);
        for (int64_t i = 0; i < N; i++)
            x[i * D] = ldexp(1.25, power);
        memcpy(x + N / 2 * D, x, (size_t)(N / 2 * D) * sizeof *x); /* every row twice */
        for (int64_t i = 0; i < N * D; i++)
            y[i] = ldexp(x[i], i % D ? power / 2 - 20 : 0);
        const double *sets[] = {x, y};
        mercer_ctx *ctx = new_ctx(1);
        for (int s = 0; s < 2; s++) {
            mercer_rows *rows = view(ctx, sets[s], N, D), *sparse = sparse_copy(sets[s], N, D);
            double plain = plain_median(sets[s], D, list, N);
            assert_is_median(median_width(rows, "exponential", 1), plain, N, "dense constants");
            assert_is_median(median_width(sparse, "exponential", 1), plain, N, "sparse constants");
            mercer_rows_free(rows);
            mercer_rows_free(sparse);
        }
        mercer_ctx_free(ctx);
        free(x);
        free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_text_round_trips),
        cmocka_unit_test(test_kernel_refuses_bad_text),
        cmocka_unit_test(test_kernel_semidefinite_claims_hold),
        cmocka_unit_test(test_kernel_descriptors_hold),
        cmocka_unit_test(test_kernel_small_distances_keep_their_digits),
        cmocka_unit_test(test_kernel_extreme_values),
        cmocka_unit_test(test_kernel_names_negative_values),
        cmocka_unit_test(test_kernel_gamma_auto_is_of_the_columns),
        cmocka_unit_test(test_kernel_parts_share_the_median),
        cmocka_unit_test(test_kernel_median_is_the_median),
        cmocka_unit_test(test_kernel_median_of_a_sample),
        cmocka_unit_test(test_kernel_median_of_multiples),
        cmocka_unit_test(test_kernel_rq_takes_no_huge_values),
        cmocka_unit_test(test_kernel_median_at_any_scale),
        cmocka_unit_test(test_kernel_median_beside_large_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
