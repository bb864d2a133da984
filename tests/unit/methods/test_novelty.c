/* SPDX-License-Identifier: BSD-3-Clause */
/* The novelty threshold: the share it promises, outliers, and what must not change by it. */
#include "support.h"

#include <mercer/mercer.h>

enum { ROWS = 600, NEW_ROWS = 2000 };

static mercer_fit_options options_of(const char *method, const char *kernel, double share)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.components = 6;
    options.novelty = share;
    return options;
}

/* The share of the rows above the threshold of the model. */
static double novel_share(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows)
{
    int64_t n = mercer_rows_count(rows), above = 0;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    double *features = new_doubles(n * info.components), *errors = new_doubles(n);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, errors, err));
    for (int64_t i = 0; i < n; i++)
        above += errors[i] > info.novelty_threshold;
    free(features);
    free(errors);
    return (double)above / (double)n;
}

static void test_share_of_like_rows(void **state)
{
    static const double shares[] = {0.02, 0.05, 0.2};
    static const char *const scales[] = {"none", "standard"};
    mercer_ctx *ctx = new_ctx(2);
    double *train = ring_rows(1, ROWS), *fresh = ring_rows(2, NEW_ROWS);
    mercer_rows *rows = view(ctx, train, ROWS, 2), *others = view(ctx, fresh, NEW_ROWS, 2);
    (void)state;
    for (int i = 0; i < 6; i++) {
        mercer_fit_options options = options_of("kpca", NULL, shares[i / 2]);
        options.scale = scales[i % 2];
        mercer_model *model = NULL;
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        double share = novel_share(ctx, model, others);
        /* 120 held-out rows: three standard deviations of a binomial share. */
        double slack = 3 * sqrt(shares[i / 2] / 120);
        if (fabs(share - shares[i / 2]) > slack)
            fail_msg("share %g: %g of the new rows are novel", shares[i / 2], share);
        mercer_model_free(model);
    }
    mercer_rows_free(rows);
    mercer_rows_free(others);
    free(train);
    free(fresh);
    mercer_ctx_free(ctx);
}

static void test_outliers(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *train = ring_rows(1, ROWS);
    static const double far[] = {0, 0, 20, 0, 0, -25, 14, 14};
    mercer_rows *rows = view(ctx, train, ROWS, 2), *outliers = view(ctx, far, 4, 2);
    mercer_fit_options options = options_of("kpca", "rbf:sigma=4", 0.05);
    mercer_model *model = NULL;
    (void)state;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    assert_true(novel_share(ctx, model, outliers) == 1);
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_rows_free(outliers);
    free(train);
    mercer_ctx_free(ctx);
}

/* A model with and without threshold is the same, and so is what follows in the random state. */
static void test_nothing_else_changes(void **state)
{
    double *train = ring_rows(1, ROWS);
    double features[2][2 * 6], next[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        mercer_ctx *ctx = new_ctx(1 + i);
        mercer_rows *rows = view(ctx, train, ROWS, 2), *two = view(ctx, train, 2, 2);
        mercer_fit_options options = options_of("kpca", NULL, i * 0.1);
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model *model = NULL;
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        mercer_model_get_info(model, &info);
        assert_true(isnan(info.novelty_threshold) == (i == 0));
        assert_true(info.novelty_share == i * 0.1);
        assert_ok(mercer_model_transform(ctx, model, two, NULL, features[i], NULL, err));
        next[i] = mrc_rng_uniform(&ctx->rng);
        mercer_model_free(model);
        mercer_rows_free(rows);
        mercer_rows_free(two);
        mercer_ctx_free(ctx);
    }
    assert_memory_equal(features[0], features[1], sizeof features[0]);
    assert_true(next[0] == next[1]);
    free(train);
}

/* A kernel matrix computed elsewhere gives the threshold that its kernel gives. */
static void test_precomputed(void **state)
{
    enum { N = 150 };
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(3, N), *k = new_doubles(N * N), threshold[2];
    mercer_rows *rows[2] = {view(ctx, x, N, 2), NULL};
    mrc_kernel kernel;
    (void)state;
    assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=4", err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows[0], err));
    for (int64_t i = 0; i < N * N; i++)
        k[i] = naive_kernel(&kernel, x + 2 * (i / N), x + 2 * (i % N), 2);
    rows[1] = view(ctx, k, N, N);
    for (int i = 0; i < 2; i++) {
        mercer_fit_options options = options_of("kpca", i ? "precomputed" : "rbf:sigma=4", 0.1);
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model *model = NULL;
        assert_ok(mercer_fit(ctx, &options, rows[i], NULL, &model, NULL, err));
        mercer_model_get_info(model, &info);
        threshold[i] = info.novelty_threshold;
        mercer_model_free(model);
        mercer_rows_free(rows[i]);
    }
    assert_true(fabs(threshold[0] - threshold[1]) < 1e-10);
    free(x);
    free(k);
    mercer_ctx_free(ctx);
}

/* The same rows, dense and sparse: the same threshold, and truncating keeps the sparse points. */
static void test_sparse(void **state)
{
    enum { N = 120, D = 6 };
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(5, N, D, 0, 1), threshold[2], features[2][N];
    int64_t start[N + 1] = {0};
    int32_t column[N * D];
    double value[N * D];
    mercer_rows *rows[2];
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        start[i + 1] = start[i];
        for (int32_t j = 0; j < D; j++) {
            if ((i + j) % 3)
                x[i * D + j] = 0;
            else {
                column[start[i + 1]] = j;
                value[start[i + 1]++] = x[i * D + j];
            }
        }
    }
    rows[0] = view(ctx, x, N, D);
    assert_ok(view_csr(ctx, start, column, value, N, D, &rows[1], err));
    for (int i = 0; i < 2; i++) {
        mercer_fit_options options = options_of("kpca", "rbf:sigma=2", 0.1);
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model *model = NULL, *shorter = NULL;
        assert_ok(mercer_fit(ctx, &options, rows[i], NULL, &model, NULL, err));
        mercer_model_get_info(model, &info);
        threshold[i] = info.novelty_threshold;
        assert_ok(mercer_model_truncate(ctx, model, 1, &shorter, err));
        assert_ok(mercer_model_transform(ctx, shorter, rows[i], NULL, features[i], NULL, err));
        mercer_model_free(shorter);
        mercer_model_free(model);
        mercer_rows_free(rows[i]);
    }
    assert_true(fabs(threshold[0] - threshold[1]) < 1e-10);
    assert_close(features[0], features[1], N, 1e-9);
    free(x);
    mercer_ctx_free(ctx);
}

static void test_refusals(void **state)
{
    static const double wrong[] = {-0.1, 1, 2, NAN};
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 94);
    mercer_rows *rows = view(ctx, x, 94, 2);
    mercer_model *model = NULL;
    mercer_error err;
    (void)state;
    for (int i = 0; i < 4; i++) {
        mercer_fit_options options = options_of("kpca", NULL, wrong[i]);
        assert_int_equal(mercer_fit_options_check(&options, 0, &err), MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, "novelty"));
    }
    mercer_fit_options options = options_of("kpca", NULL, 0.05);
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err), MERCER_ERR_DATA);
    assert_string_equal(err.text, "novelty 0.05 needs at least 95 rows, of which one in 5 is held "
                                  "out; there are 94");
    assert_null(model);
    mercer_rows_free(rows);
    free(x);

    x = ring_rows(1, 95);
    rows = view(ctx, x, 95, 2);
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err), MERCER_OK);
    mercer_model_free(model);
    mercer_rows_free(rows);
    free(x);
    mercer_ctx_free(ctx);
}

static void test_every_allocation_fails(void **state)
{
    enum { N = 24 };
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, N), k[N * N];
    for (int64_t i = 0; i < N * N; i++)
        k[i] = i / N == i % N ? 2 : 1;
    mercer_rows *rows[2] = {view(ctx, x, N, 2), view(ctx, k, N, N)};
    (void)state;
    for (int i = 0; i < 2; i++) {
        mercer_fit_options options = options_of("kpca", i ? "precomputed" : "rbf", 0.3);
        mercer_status rc = MERCER_ERR_MEMORY;
        int64_t live = mrc_alloc_live();
        for (int64_t failing = 0; rc != MERCER_OK; failing++) {
            mercer_model *model = NULL;
            mrc_alloc_fail_after(failing);
            rc = mercer_fit(ctx, &options, rows[i], NULL, &model, NULL, NULL);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(model != NULL, rc == MERCER_OK);
            mercer_model_free(model);
            assert_int_equal(mrc_alloc_live(), live);
        }
        mercer_rows_free(rows[i]);
    }
    free(x);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_of_like_rows),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_nothing_else_changes),
        cmocka_unit_test(test_precomputed),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
