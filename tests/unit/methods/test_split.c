/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel PCA of rows in groups: a model like any other, at most as good as that of all rows at
 * once, and the same where the groups leave nothing out. */
#include "support.h"

#include "fit_support.h"

enum { N = 120, L = 4 };

static mercer_model *fit(mercer_ctx *ctx, const char *method, const char *kernel,
                         const char *center, double components, const mercer_rows *rows)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.center = center;
    options.components = components;
    mercer_ctx_set_seed(ctx, 5);
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    return model;
}

static mercer_model_info info_of(const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    return info;
}

/* Features are uncorrelated with the spectrum on the diagonal, and errors have the mean that was
 * reported. */
static void check_model(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows)
{
    mercer_model_info info = info_of(model);
    double *y = new_doubles(N * L), *errors = new_doubles(N), mean = 0;
    assert_int_equal(info.components, L);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, y, errors, err));
    for (int j = 0; j < L; j++)
        for (int k = 0; k <= j; k++) {
            double dot = j == k ? -info.spectrum[j] : 0;
            for (int64_t i = 0; i < N; i++)
                dot += y[i * L + j] * y[i * L + k];
            assert_true(fabs(dot) < 1e-9 * info.spectrum[0]);
        }
    for (int64_t i = 0; i < N; i++)
        mean += errors[i] / N;
    assert_true(fabs(mean - info.reconstruction_error) < 1e-10);
    free(y);
    free(errors);
}

static void test_split_loses_little(void **state)
{
    static const char *const centers[] = {"exact", "none"};
    mercer_ctx *ctx = new_ctx(2);
    double *x = ring_rows(1, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int c = 0; c < 2; c++) {
        mercer_model *whole = fit(ctx, "kpca", "rbf:sigma=2", centers[c], L, rows);
        mercer_model *parts = fit(ctx, "kpca:groups=3", "rbf:sigma=2", centers[c], L, rows);
        double least = info_of(whole).reconstruction_error;
        check_model(ctx, parts, rows);
        assert_true(info_of(parts).reconstruction_error >= least - 1e-12);
        assert_true(info_of(parts).reconstruction_error <= 1.01 * least);
        mercer_model_free(whole);
        mercer_model_free(parts);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* A feature space of few dimensions: every group spans it. */
static void test_split_of_low_rank_is_exact(void **state)
{
    static const char *const kernels[] = {"poly:degree=2", "linear"};
    mercer_ctx *ctx = new_ctx(2);
    double *x = normal_rows(2, N, 4, 1, 1);
    mercer_rows *rows = view(ctx, x, N, 4);
    (void)state;
    for (int k = 0; k < 2; k++) {
        mercer_model *whole = fit(ctx, "kpca", kernels[k], NULL, L, rows);
        mercer_model *parts = fit(ctx, "kpca:groups=4", kernels[k], NULL, L, rows);
        assert_close(info_of(parts).spectrum, info_of(whole).spectrum, L,
                     1e-8 * info_of(whole).spectrum[0]);
        check_model(ctx, parts, rows);
        mercer_model_free(whole);
        mercer_model_free(parts);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_split_of_a_matrix_and_by_share(void **state)
{
    mercer_ctx *ctx = new_ctx(2);
    double *x = ring_rows(3, N), *k;
    mercer_rows *rows = view(ctx, x, N, 2), *matrix;
    mrc_kernel kernel;
    (void)state;
    assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=3", err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    k = naive_gram(&kernel, x, N, 2, false);
    matrix = view(ctx, k, N, N);
    mercer_model *one = fit(ctx, "kpca:groups=3", "rbf:sigma=3", NULL, L, rows);
    mercer_model *two = fit(ctx, "kpca:groups=3", "precomputed", NULL, L, matrix);
    assert_close(info_of(one).spectrum, info_of(two).spectrum, L, 1e-8);
    mercer_model_free(one);
    mercer_model_free(two);
    one = fit(ctx, "kpca:groups=3", "rbf:sigma=3", NULL, 0.9, rows);
    two = fit(ctx, "kpca", "rbf:sigma=3", NULL, 0.9, rows);
    assert_int_equal(info_of(one).components, info_of(two).components);
    mercer_model_free(one);
    mercer_model_free(two);
    mercer_rows_free(rows);
    mercer_rows_free(matrix);
    mercer_ctx_free(ctx);
    free(x);
    free(k);
}

static void test_split_edges(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(4, 20, 2, 0, 1), same[12];
    mercer_rows *rows = view(ctx, x, 20, 2), *equal;
    mercer_fit_options options;
    mercer_model *model = NULL;
    (void)state;
    for (int i = 0; i < 12; i++)
        same[i] = 3;
    equal = view(ctx, same, 6, 2);
    mercer_fit_options_init(&options);
    options.method = "kpca:groups=11";
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, NULL), MERCER_ERR_DATA);
    options.method = "kpca:groups=2";
    assert_int_equal(mercer_fit(ctx, &options, equal, NULL, &model, NULL, NULL), MERCER_ERR_DATA);
    check_failing_allocations(ctx, &options, rows, NULL);
    mercer_rows_free(rows);
    mercer_rows_free(equal);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_loses_little),
        cmocka_unit_test(test_split_of_low_rank_is_exact),
        cmocka_unit_test(test_split_of_a_matrix_and_by_share),
        cmocka_unit_test(test_split_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
