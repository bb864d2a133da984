/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows drawn by what is left of them, through the public interface: the model against that of the
 * same rows as landmarks and against plain elimination; the certificate against eigenvalues of the
 * whole matrix in many trials; how well the rows cover the others beside greedy and uniform ones;
 * refusals. The draws themselves are tested in gram/test_solve.c. */
#include "support.h"

#include "deflation.h"
#include "fit_support.h"

#include "base/order.h"
#include "model/model.h"

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

/* Elimination in the order of selection, in long double: what each of the rows had left, and the
 * mean of what it left of all rows. */
static void eliminate(const mercer_model *model, const double *gram, int64_t n, double scale,
                      const char *what)
{
    int64_t m = model->selected_count;
    long double *e = calloc((size_t)(n * n), sizeof *e),
                *column = calloc((size_t)n, sizeof *column);
    assert_true(e && column);
    for (int64_t i = 0; i < n * n; i++)
        e[i] = gram[i];
    for (int64_t t = 0; t < m; t++) {
        const double *told = model->selection + t * MERCER_SELECTION_COLUMNS;
        int64_t p = model->selected[t];
        long double pivot = e[p * n + p], error = 0;
        for (int64_t i = 0; i < n; i++)
            column[i] = e[i * n + p] / pivot;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                e[i * n + j] -= column[i] * column[j] * pivot;
        for (int64_t i = 0; i < n; i++)
            error += e[i * n + i] / n;
        double off[] = {fabs(told[MERCER_SELECTION_RESIDUAL] - (double)pivot),
                        fabs(told[MERCER_SELECTION_ERROR] - (double)error)};
        if (!(off[0] < 1e-11 * scale && off[1] < 1e-11 * scale))
            fail_msg("%s, point %lld: residual off by %.1e, error by %.1e", what, (long long)t,
                     off[0] / scale, off[1] / scale);
    }
    free(e);
    free(column);
}

/* y y' of two models, which signs and equal eigenvalues leave alone. */
static double features_off(mercer_ctx *ctx, const mercer_model *a, const mercer_model *b,
                           const mercer_rows *rows, int64_t l)
{
    int64_t n = mercer_rows_count(rows);
    double *y[2] = {new_doubles(n * l), new_doubles(n * l)}, off = 0, largest = 0;
    assert_ok(mercer_model_transform(ctx, a, rows, NULL, y[0], NULL, err));
    assert_ok(mercer_model_transform(ctx, b, rows, NULL, y[1], NULL, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double dot[2] = {0};
            for (int w = 0; w < 2; w++)
                for (int64_t c = 0; c < l; c++)
                    dot[w] += y[w][i * l + c] * y[w][j * l + c];
            off = fmax(off, fabs(dot[0] - dot[1]));
            largest = fmax(largest, fabs(dot[0]));
        }
    free(y[0]);
    free(y[1]);
    return off / largest;
}

/* The model is made of the factor that the draws leave; given the same rows as landmarks, another
 * one goes through their own matrix and kernel values with all rows. */
static void test_rpcholesky_is_nystroem_of_its_rows(void **state)
{
    enum { MOST = 300, FRESH = 20 };
    static const char *const kernels[] = {"rbf:sigma=%g", "laplacian:gamma=%g", "linear",
                                          "poly:degree=2,coef0=1,gamma=%g"};
    static const int sizes[] = {2, 7, 33, 100, 257, MOST};
    static const double scales[] = {1e-3, 1, 1e4};
    static const char *const centers[] = {"none", "span"};
    (void)state;
    mercer_ctx *ctx = new_ctx(2);
    double worst = 0;
    for (int trial = 0; trial < 6 * 3 * 4 * 2 * 3; trial++) {
        int64_t n = sizes[trial % 6], d = 1 + trial % 5, l = 1 + trial % 4, selected[MOST];
        double scale = scales[trial / 6 % 3];
        int which = trial / 18 % 4;
        uint64_t seed = (uint64_t)trial;
        char kernel[64], method[64], what[192];
        double width = which == 1 ? 0.5 / scale : which == 3 ? 1 / (scale * scale) : 2 * scale;
        snprintf(kernel, sizeof kernel, kernels[which], width);
        int points = (int)mrc_min64(80, 1 + (n - 1) * (1 + trial / 144 % 3) / 4);
        snprintf(method, sizeof method, "nystroem:sampling=rpcholesky,points=%d", points);
        const char *center = centers[trial / 72 % 2];
        snprintf(what, sizeof what, "%s, %s, center %s, %lld rows of %lld", method, kernel, center,
                 (long long)n, (long long)d);
        double *x = normal_rows(seed, n + FRESH, d, 0, scale);
        mercer_rows *rows = view(ctx, x, n, d), *fresh = view(ctx, x + n * d, FRESH, d);
        mercer_model_info drawn, given;
        mercer_model *model = fit(ctx, rows, method, kernel, center, l, seed, &drawn);
        double *gram = gram_of(kernel, x, n, d, false), kmax = largest_modulus(gram, n * n);
        memcpy(selected, model->selected, (size_t)model->selected_count * sizeof *selected);
        eliminate(model, gram, n, kmax, what);

        mercer_fit_options options;
        mercer_model *other = NULL;
        mercer_rows *landmarks = NULL;
        mercer_fit_options_init(&options);
        options.method = "nystroem";
        options.kernel = kernel;
        options.center = center;
        options.components = (double)drawn.components;
        assert_ok(mrc_rows_take(rows, selected, model->selected_count, &landmarks, err));
        options.landmarks = landmarks;
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &other, NULL, err));
        given = (mercer_model_info){.struct_size = sizeof given};
        mercer_model_get_info(other, &given);
        assert_int_equal(given.components, drawn.components);
        double off = fmax(features_off(ctx, model, other, rows, drawn.components),
                          features_off(ctx, model, other, fresh, drawn.components));
        worst = fmax(worst, off);
        /* Kernel values with the points are multiplied by L^-1, of norm 1 / least pivot about. */
        double least = kmax;
        for (int64_t t = 0; t < model->selected_count; t++)
            least = fmin(
                least, model->selection[t * MERCER_SELECTION_COLUMNS + MERCER_SELECTION_RESIDUAL]);
        if (!(off < 300 * DBL_EPSILON / sqrt(least / kmax)))
            fail_msg("%s: features differ by %.1e", what, off);
        assert_close(drawn.spectrum, given.spectrum, drawn.components, 1e-11 * (double)n * kmax);
        assert_close(&drawn.total_variance, &given.total_variance, 1, 1e-11 * kmax);
        assert_close(&drawn.reconstruction_error, &given.reconstruction_error, 1, 1e-11 * kmax);
        mercer_model_free(model);
        mercer_model_free(other);
        mercer_rows_free(landmarks);
        mercer_rows_free(rows);
        mercer_rows_free(fresh);
        free(gram);
        free(x);
    }
    print_message("largest difference of features: %.1e\n", worst);
    mercer_ctx_free(ctx);
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
        cmocka_unit_test(test_rpcholesky_is_nystroem_of_its_rows),
        cmocka_unit_test(test_rpcholesky_certificate),
        cmocka_unit_test(test_rpcholesky_covers),
        cmocka_unit_test(test_rpcholesky_refuses_indefinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
