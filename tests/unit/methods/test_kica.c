/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel ICA: sources come back out of their mixture, and what it finds is a fixed point. */
#include "support.h"

#include "fit_support.h"

#include <stdio.h>

static mercer_model_info info_of(const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    return info;
}

/* Features (n x l) of the training rows. */
static double *features_of(mercer_ctx *ctx, const char *method, const char *kernel,
                           double components, const mercer_rows *rows, mercer_model_info *info)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.components = components;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    *info = info_of(model);
    double *y = new_doubles(info->rows * info->components);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, y, NULL, err));
    mercer_model_free(model);
    return y;
}

/* Mean 0, variance 1, uncorrelated. */
static void check_white(const double *y, int64_t n, int64_t l, double tolerance)
{
    for (int64_t j = 0; j < l; j++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++)
            mean += y[i * l + j] / (double)n;
        assert_true(fabs(mean) < tolerance);
        for (int64_t k = 0; k <= j; k++) {
            double dot = 0;
            for (int64_t i = 0; i < n; i++)
                dot += y[i * l + j] * y[i * l + k] / (double)n;
            assert_true(fabs(dot - (j == k)) < tolerance);
        }
    }
}

/* Two uniform sources, a heavy-tailed and a two-valued one, mixed into six columns. */
static void test_kica_separates_a_mixture(void **state)
{
    static const char *const specs[] = {"kica:energy=1", "kica:energy=1,scheme=symmetric",
                                        "kica:energy=1,contrast=cube",
                                        "kica:energy=1,contrast=gauss,scheme=symmetric"};
    enum { N = 1500, S = 4, D = 6 };
    mercer_ctx *ctx = new_ctx(2);
    mrc_rng rng;
    double *source = new_doubles(N * S), *x = new_doubles(N * D), mix[S][D];
    (void)state;
    mrc_rng_seed(&rng, 3);
    for (int j = 0; j < S; j++)
        for (int k = 0; k < D; k++)
            mix[j][k] = mrc_rng_normal(&rng);
    for (int64_t i = 0; i < N; i++) {
        double *s = source + i * S, u = mrc_rng_uniform(&rng) - 0.5;
        s[0] = mrc_rng_uniform(&rng);
        s[1] = mrc_rng_uniform(&rng);
        s[2] = (u > 0 ? -1 : 1) * log(1 - 2 * fabs(u) + 1e-12);
        s[3] = mrc_rng_uniform(&rng) < 0.4 ? -1 : 1;
        for (int j = 0; j < S; j++)
            for (int k = 0; k < D; k++)
                x[i * D + k] += s[j] * mix[j][k];
    }
    mercer_rows *rows = view(ctx, x, N, D);
    for (size_t t = 0; t < sizeof specs / sizeof *specs; t++) {
        mercer_model_info info;
        double *y = features_of(ctx, specs[t], "linear", S, rows, &info);
        assert_int_equal(info.components, S);
        check_white(y, N, S, 1e-10);
        for (int j = 0; j < S; j++) {
            double best = 0, mean = 0, norm2 = 0;
            for (int64_t i = 0; i < N; i++)
                mean += source[i * S + j] / N;
            for (int64_t i = 0; i < N; i++)
                norm2 += pow(source[i * S + j] - mean, 2);
            for (int k = 0; k < S; k++) {
                double dot = 0;
                for (int64_t i = 0; i < N; i++)
                    dot += (source[i * S + j] - mean) * y[i * S + k];
                best = fmax(best, fabs(dot) / sqrt(norm2 * N));
            }
            if (!(best > 0.99))
                fail_msg("%s: source %d comes back with correlation %.4f", specs[t], j, best);
        }
        free(y);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(source);
    free(x);
}

/* White coordinates x of all m dimensions, from kernel PCA: components s = W'x found all at once
 * are a fixed point when M = E[x g(s)'] - W diag(E[g'(s)]) has the polar factor W, except for the
 * signs of columns: M lies in the span of W, and W'M is symmetric once the signs are removed. */
static void test_kica_finds_a_fixed_point_of_all_dimensions(void **state)
{
    enum { N = 150, L = 3, M = 12 };
    mercer_ctx *ctx = new_ctx(2);
    double *rings = ring_rows(4, N);
    mercer_rows *rows = view(ctx, rings, N, 2);
    mercer_model_info info, whole;
    (void)state;
    double *s = features_of(ctx, "kica:energy=1,rank=12,scheme=symmetric,iterations=5000",
                            "rbf:sigma=4", L, rows, &info);
    double *x = features_of(ctx, "kpca", "rbf:sigma=4", M, rows, &whole);
    double w[M][L] = {{0}}, pull[M][L] = {{0}}, inner[L][L] = {{0}}, sign[L];
    assert_int_equal(info.components, L);
    assert_false(info.orthonormal);
    check_white(s, N, L, 1e-9);
    for (int64_t i = 0; i < N; i++)
        for (int k = 0; k < M; k++) {
            double white = 0;
            for (int64_t t = 0; t < N; t++)
                white += x[t * M + k] * x[t * M + k] / N;
            for (int j = 0; j < L; j++) {
                w[k][j] += x[i * M + k] / sqrt(white) * s[i * L + j] / N;
                pull[k][j] += x[i * M + k] / sqrt(white) * tanh(s[i * L + j]) / N;
            }
        }
    for (int a = 0; a < L; a++)
        for (int b = 0; b < L; b++)
            for (int k = 0; k < M; k++)
                inner[a][b] += w[k][a] * pull[k][b];
    for (int a = 0; a < L; a++) {
        double slope = 0;
        for (int64_t i = 0; i < N; i++)
            slope += (1 - pow(tanh(s[i * L + a]), 2)) / N;
        sign[a] = inner[a][a] < slope ? -1 : 1;
    }
    for (int a = 0; a < L; a++)
        for (int b = 0; b < a; b++)
            assert_true(fabs(sign[a] * inner[a][b] - sign[b] * inner[b][a]) < 1e-5);
    for (int k = 0; k < M; k++)
        for (int b = 0; b < L; b++) {
            for (int a = 0; a < L; a++)
                pull[k][b] -= w[k][a] * inner[a][b];
            assert_true(fabs(pull[k][b]) < 1e-5);
        }
    free(s);
    free(x);
    free(rings);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
}

enum { NOTICES = 2000 };

static void keep_notice(void *host, const mercer_notice *given)
{
    size_t used = strlen(host);
    snprintf((char *)host + used, NOTICES - used, "%s\n", given->text);
}

static void test_kica_says_what_it_could_not_do(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(1, 40, 3, 0, 1);
    mercer_rows *rows = view(ctx, x, 40, 3);
    char notice[NOTICES] = "";
    mercer_model_info info;
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, notice);
    free(features_of(ctx, "kica", "linear", 7, rows, &info));
    assert_int_equal(info.components, 3);
    assert_non_null(strstr(notice, "7 components asked for"));
    free(features_of(ctx, "kica:iterations=1", "linear", 2, rows, &info));
    assert_non_null(strstr(notice, "still moved after 1 steps"));
    free(features_of(ctx, "kica", "linear", 0.5, rows, &info)); /* a share of the variance */
    assert_true(info.components >= 1 && info.components < 3);
    assert_null(info.spectrum); /* every variance is 1, whatever that of the rows is */
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kica_separates_a_mixture),
        cmocka_unit_test(test_kica_finds_a_fixed_point_of_all_dimensions),
        cmocka_unit_test(test_kica_says_what_it_could_not_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
