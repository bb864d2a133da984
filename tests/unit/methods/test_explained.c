/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods whose features follow what is left of the targets end when that is rounding, and not
 * before. On rows whose columns are signs of bits, kernels are functions of i xor j, so Walsh
 * functions are eigenvectors: one feature explains a target that is one of them, or is a sum of
 * some with the same eigenvalue. */
#include "support.h"

#include <stdio.h>

enum { COLUMNS = 4, WANTED = 6 };

/* The Walsh function of `bits` at row i. */
static double walsh(int64_t i, int64_t bits)
{
    int sign = 0;
    for (int64_t both = i & bits; both > 0; both >>= 1)
        sign += (int)(both & 1);
    return sign % 2 ? -1 : 1;
}

struct trial {
    const char *method, *kernel, *store, *center;
    int64_t n, outputs;
    double scale, factor; /* of all columns; of each column to the one before it */
};

/* How many features there are of WANTED. */
static int64_t count_features(const struct trial *t, const double *y, int threads)
{
    mercer_ctx *ctx = new_ctx(threads);
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_targets *targets = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    double *x = new_doubles(t->n * COLUMNS), sum = 0;
    char kernel[96];
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t c = 0; c < COLUMNS; c++)
            x[i * COLUMNS + c] = walsh(i, 1 << c) * t->scale * pow(t->factor, (double)c);
    mercer_rows *rows = view(ctx, x, t->n, COLUMNS);
    assert_ok(mercer_targets_new_values(y, t->n, t->outputs, NULL, &targets, err));
    snprintf(kernel, sizeof kernel, "rbf:sigma=%.17g", 2 * t->scale);
    mercer_fit_options_init(&options);
    options.method = t->method;
    options.kernel = strcmp(t->method, "pls") == 0   ? NULL
                     : strcmp(t->kernel, "rbf") == 0 ? kernel
                                                     : t->kernel;
    options.components = WANTED;
    options.head = "none";
    options.store = t->store;
    options.center = t->center;
    assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
    mercer_model_get_info(model, &info);
    for (int64_t j = 0; j < info.components; j++)
        sum += info.alignment[j];
    if (info.components < WANTED)
        assert_true(fabs(sum - 1) < 1e-12);
    mercer_targets_free(targets);
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
    return info.components;
}

static const struct {
    const char *method, *kernel;
} ways[] = {{"pls", "linear"},
            {"kpls", "linear"},
            {"kpls", "rbf"},
            {"kpls", "poly:degree=2"},
            {"cr:alpha=0.6", "rbf"},
            {"cr", "linear"},
            {"kpls:discriminant=on", "rbf"}};

static const char *const stores[] = {NULL, "dense", "lowrank", "stream"};

/* Sums of the functions of single columns have one eigenvalue where columns are as long. */
static void test_one_eigenvalue_is_one_feature(void **state)
{
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t s = 0; s < sizeof stores / sizeof *stores; s++)
            for (int64_t n = 16; n <= 1024; n *= 4)
                for (int unit = -1; unit <= 1; unit++)
                    for (int64_t outputs = 1; outputs <= 2; outputs++) {
                        bool power = strncmp(ways[w].kernel, "poly", 4) == 0; /* has a unit */
                        struct trial t = {.method = ways[w].method,
                                          .kernel = ways[w].kernel,
                                          .store = stores[s],
                                          .n = n,
                                          .outputs = outputs,
                                          .scale = power ? 1 : pow(10, 60.0 * unit),
                                          .factor = 1};
                        double *y = new_doubles(n * outputs);
                        for (int64_t i = 0; i < n; i++) {
                            y[i * outputs] = walsh(i, 1) + 0.3 * walsh(i, 2) + 0.7 * walsh(i, 4);
                            if (outputs == 2)
                                y[i * 2 + 1] = 0.2 * walsh(i, 2) - 0.6 * walsh(i, 8);
                        }
                        if (strcmp(t.method, "pls") != 0 || !t.store)
                            assert_int_equal(count_features(&t, y, 1 + (int)(n / 16 % 2)), outputs);
                        free(y);
                    }
}

/* What is small, but not rounding, is still found. */
static void test_small_rests_are_learnt(void **state)
{
    const double rests[] = {1e-3, 1e-7, 1e-11};
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t r = 0; r < sizeof rests / sizeof *rests; r++)
            for (int64_t n = 16; n <= 256; n *= 4) {
                struct trial t = {.method = ways[w].method,
                                  .kernel = ways[w].kernel,
                                  .n = n,
                                  .outputs = 1,
                                  .scale = 1,
                                  .factor = 0.7};
                double *y = new_doubles(n);
                for (int64_t i = 0; i < n; i++)
                    y[i] = walsh(i, 1) + rests[r] * walsh(i, 4);
                assert_int_equal(count_features(&t, y, 2), 2);
                free(y);
            }
}

/* An output that is far smaller than another one is learnt once that one is explained. cr has a
 * limit of its own. */
static void test_small_outputs_are_learnt(void **state)
{
    const double sizes[] = {1e-6, 1e-10, 1e-13, 1e-40, 1e-75}, units[] = {1, 1e-60, 1e100};
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t u = 0; u < sizeof units / sizeof *units; u++)
                for (int64_t n = 16; n <= 1024; n *= 4) {
                    struct trial t = {.method = ways[w].method,
                                      .kernel = ways[w].kernel,
                                      .store = stores[(s + u + w) % 4],
                                      .n = n,
                                      .outputs = 2,
                                      .scale = 1,
                                      .factor = 0.7};
                    double *y = new_doubles(n * 2);
                    for (int64_t i = 0; i < n; i++) {
                        y[i * 2] = units[u] * walsh(i, 1);
                        y[i * 2 + 1] = units[u] * sizes[s] * walsh(i, 4);
                    }
                    if (sizes[s] > 1e-12 || strncmp(t.method, "cr", 2) != 0) {
                        const int64_t found = count_features(&t, y, 2);
                        if (found != 2)
                            fail_msg("%s of %s, %lld rows, targets of %g and %g: %lld features",
                                     t.method, t.kernel, (long long)n, units[u],
                                     units[u] * sizes[s], (long long)found);
                    }
                    free(y);
                }
}

/* A column of the matrix explains itself. */
static void test_a_column_is_one_feature(void **state)
{
    static const char *const methods[] = {"smc", "sma", "smc:candidates=99", "sma:candidates=99"};
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int64_t n = 16; n <= 1024; n *= 4) {
            struct trial t = {.method = methods[m],
                              .kernel = "rbf",
                              .center = "exact",
                              .n = n,
                              .outputs = 1,
                              .scale = 1,
                              .factor = 1};
            double *y = new_doubles(n);
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < COLUMNS; c++)
                    y[i] += walsh(i, 1 << c) != walsh(5, 1 << c) ? -0.5 : 0; /* |x - z|^2 / 8 */
            for (int64_t i = 0; i < n; i++)
                y[i] = exp(y[i]);
            assert_int_equal(count_features(&t, y, 2), 1);
            free(y);
        }
}

/* A target whose squares underflow could only be ignored: it is refused, beside others, too. */
static void test_targets_without_squares(void **state)
{
    enum { N = 32, REFUSED = 5 };
    static const char *const methods[] = {"pls", "kpls",  "cr:alpha=0.6",    "smc",         "sma",
                                          "krr", "skpls", "rkopls:subset=9", "blf:loss=lad"};
    static const double sizes[][2] = {{1, 1e-200}, {1e-141, 1}, {1, 1e145},  {1e-300, 1e-300},
                                      {0, 1e-200}, {1e-50, 0},  {1, 1e-139}, {1e139, 1}};
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            mercer_ctx *ctx = new_ctx(1);
            mercer_fit_options options;
            mercer_model *model = NULL;
            mercer_targets *targets = NULL;
            double x[N * COLUMNS], y[N * 2];
            mercer_error why = {0};
            for (int64_t i = 0; i < N; i++) {
                for (int64_t c = 0; c < COLUMNS; c++)
                    x[i * COLUMNS + c] = walsh(i, 1 << c) * pow(0.7, (double)c);
                for (int64_t c = 0; c < 2; c++)
                    y[i * 2 + c] = sizes[s][c] * walsh(i, 1 + 3 * c);
            }
            mercer_rows *rows = view(ctx, x, N, COLUMNS);
            assert_ok(mercer_targets_new_values(y, N, 2, NULL, &targets, err));
            mercer_fit_options_init(&options);
            options.method = methods[m];
            options.head = "none";
            mercer_status rc = mercer_fit(ctx, &options, rows, targets, &model, NULL, &why);
            assert_int_equal(rc, s < REFUSED ? MERCER_ERR_DATA : MERCER_OK);
            if (s < REFUSED)
                assert_non_null(strstr(why.text, s == 2 ? "1e+145: their squares overflow; scale"
                                                        : "are too small for numbers; scale"));
            mercer_model_free(model);
            mercer_targets_free(targets);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_eigenvalue_is_one_feature),
        cmocka_unit_test(test_small_rests_are_learnt),
        cmocka_unit_test(test_small_outputs_are_learnt),
        cmocka_unit_test(test_a_column_is_one_feature),
        cmocka_unit_test(test_targets_without_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
