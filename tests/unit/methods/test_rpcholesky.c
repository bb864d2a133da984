/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows drawn by what is left of them, through the public interface: the certificate against
 * eigenvalues of the whole matrix in many trials, how well the rows cover the others beside greedy
 * and uniform ones; refusals. The draws themselves are tested in gram/test_solve.c. */
#include "support.h"

#include "fit_support.h"

#include <stdio.h>

static mercer_model *fit(mercer_ctx *ctx, const mercer_rows *rows, const char *method,
                         const char *kernel, const char *center, int64_t components, uint64_t seed,
                         mercer_model_info *info)
{
    mercer_model *model = NULL;
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.center = center;
    options.components = (double)components;
    mercer_ctx_set_seed(ctx, seed);
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    *info = (mercer_model_info){.struct_size = sizeof *info};
    mercer_model_get_info(model, info);
    return model;
}

/* 0 <= lambda_j - lambda'_j, and together the gaps are the share that is told: exactly with the
 * exact mean or none, at most with the mean in the span. */
static void test_rpcholesky_certificate(void **state)
{
    enum { N = 40, TRIALS = 1000 };
    static const char *const centers[] = {"none", "exact", "span"};
    static const char *const kernels[] = {"rbf:sigma=1", "laplacian:gamma=0.3", "linear"};
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t m = 1 + trial % 12, d = 1 + trial % 4;
        const char *kernel = kernels[trial / 3 % 3], *center = centers[trial % 3];
        double *x = normal_rows((uint64_t)trial, N, d, 0.2, 1), gaps = 0;
        mercer_rows *rows = view(ctx, x, N, d);
        mercer_model_info whole, some;
        char method[64];
        snprintf(method, sizeof method, "nystroem:sampling=rpcholesky,points=%d", (int)m);
        mercer_model *all =
            fit(ctx, rows, "kpca", kernel, trial % 3 ? "exact" : "none", N, 1, &whole);
        mercer_model *few = fit(ctx, rows, method, kernel, center, m, (uint64_t)trial, &some);
        double trace = whole.total_variance * N,
               told = some.left_out_share * some.total_variance * N;
        for (int64_t j = 0; j < whole.components; j++) {
            double value = j < some.components ? some.spectrum[j] : 0;
            assert_true(whole.spectrum[j] - value > -1e-10 * trace);
            assert_true(whole.spectrum[j] - value < told + 1e-9 * trace);
            gaps += whole.spectrum[j] - value;
        }
        bool exact = trial % 3 < 2 || strcmp(kernel, "linear") == 0;
        if (exact ? fabs(gaps - told) > 1e-9 * trace : gaps > told + 1e-9 * trace)
            fail_msg("%s, center %s, %lld points: gaps %.12g, told %.12g", kernel, center,
                     (long long)m, gaps, told);
        mercer_model_free(all);
        mercer_model_free(few);
        mercer_rows_free(rows);
        free(x);
    }
    mercer_ctx_free(ctx);
}

/* The mean share left out over some seeds: at most twice that of the greedy choice, and uniform
 * draws are not better by more than 5 %. */
static void test_rpcholesky_covers(void **state)
{
    enum { N = 600, SEEDS = 10, SETS = 3 };
    static const char *const kernels[SETS] = {"rbf:sigma=4", "rbf:sigma=1", "rbf:sigma=4"};
    static const int points[SETS] = {30, 40, 60};
    (void)state;
    mercer_ctx *ctx = new_ctx(2);
    for (int s = 0; s < SETS; s++) {
        int64_t d = s == 2 ? 10 : 2;
        double *x = s == 0 ? ring_rows(1, N) : normal_rows(2, N, d, 0, s == 1 ? 1.5 : 1);
        mercer_rows *rows = view(ctx, x, N, d);
        double left[3] = {0};
        static const char *const ways[] = {"rpcholesky", "greedy", "uniform"};
        for (int w = 0; w < 3; w++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                char method[64];
                mercer_model_info info;
                snprintf(method, sizeof method, "nystroem:sampling=%s,points=%d", ways[w],
                         points[s]);
                mercer_model *model =
                    fit(ctx, rows, method, kernels[s], "none", points[s], seed, &info);
                left[w] += info.reconstruction_error / info.total_variance / SEEDS;
                assert_true(w > 0 ? isnan(info.left_out_share) : info.left_out_share < 1);
                mercer_model_free(model);
            }
        print_message("set %d: rpcholesky %.3e, greedy %.3e, uniform %.3e\n", s, left[0], left[1],
                      left[2]);
        assert_true(left[0] <= 2 * left[1]);
        assert_true(left[2] >= 0.95 * left[0]);
        mercer_rows_free(rows);
        free(x);
    }
    mercer_ctx_free(ctx);
}

static void test_rpcholesky_refuses_indefinite(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(1, 80, 4, 0, 1);
    mercer_rows *rows = view(ctx, x, 80, 4);
    mercer_model *model = NULL;
    mercer_fit_options options;
    mercer_error why = {0};
    mercer_fit_options_init(&options);
    options.method = "nystroem:sampling=rpcholesky,points=40";
    options.kernel = "sigmoid:gamma=0.5,coef0=-1";
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "semidefinite"));
    options.kernel = "rbf";
    options.method = "nystroem:sampling=rpcholesky,points=10";
    check_failing_allocations(ctx, &options, rows, NULL);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rpcholesky_certificate),
        cmocka_unit_test(test_rpcholesky_covers),
        cmocka_unit_test(test_rpcholesky_refuses_indefinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
