/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse rows through the whole library give what the same rows give dense. */
#include "support.h"

#include "kernel/sparse.h"
#include "model/model.h"

#include <mercer/mercer.h>

#include <stdio.h>
#include <unistd.h>

enum { N = 300, D = 40, T = 70, L = 6 };

static const char *const kernels[] = {"linear",
                                      "cosine",
                                      "rbf:sigma=3",
                                      "poly:gamma=0.1,degree=2",
                                      "laplacian:gamma=0.05",
                                      "chi2:gamma=0.05",
                                      "intersection",
                                      "rq:sigma=3",
                                      "toy",
                                      "0.5*rbf:sigma=3 + cosine*linear"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static double *thin_rows(uint64_t seed, int64_t n, const char *kernel)
{
    double *x = normal_rows(seed, n, D, 0.3, 1);
    make_nonnegative(kernel, x, n * D);
    thin_out(seed, x, n * D, 0.8);
    return x;
}

static mercer_status fit_with(mercer_ctx *ctx, const mercer_rows *rows, const char *kernel,
                              const char *center, const char *scale, mercer_model **model,
                              mercer_error *why)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = kernel;
    options.center = center;
    options.scale = scale;
    options.components = L;
    return mercer_fit(ctx, &options, rows, NULL, model, NULL, why);
}

static mercer_model *fit(mercer_ctx *ctx, const mercer_rows *rows, const char *kernel,
                         const char *center, const char *scale)
{
    mercer_model *model = NULL;
    assert_ok(fit_with(ctx, rows, kernel, center, scale, &model, err));
    return model;
}

/* A tile is the same to rounding whichever side has the index, and without any. */
static void test_sparse_sums_do_not_depend_on_the_index(void **state)
{
    (void)state;
    for (int k = 0; k < KERNELS; k++) {
        mercer_ctx *ctx = new_ctx(2);
        double *x = thin_rows(3, N, kernels[k]), *tiles[3];
        mercer_rows *rows = sparse_copy(x, N, D);
        mrc_kernel kernel;
        mrc_points plain, indexed;
        assert_ok(mrc_kernel_parse(&kernel, kernels[k], err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        assert_ok(mrc_points_init(&plain, ctx, &kernel, rows, NULL, err));
        assert_ok(mrc_points_init(&indexed, ctx, &kernel, rows, NULL, err));
        assert_ok(mrc_points_build_index(&indexed, ctx, err));
        for (int side = 0; side < 3; side++) {
            /* Ranges that begin and end inside blocks of the index. */
            tiles[side] = new_doubles(N * N);
            mrc_kernel_tile(&kernel, ctx, side == 1 ? &indexed : &plain, 7, 280,
                            side == 2 ? &indexed : &plain, 250, 49, tiles[side], N);
            assert_close(tiles[side], tiles[0], N * N, 1e-14 * largest_modulus(tiles[0], N * N));
        }
        for (int64_t i = 0; i < 280; i++)
            for (int64_t j = 0; j < 49; j++) {
                double exact = naive_kernel(&kernel, x + (7 + i) * D, x + (250 + j) * D, D);
                assert_true(fabs(tiles[0][i * N + j] - exact) <= 1e-13 * fmax(1, fabs(exact)));
            }
        for (int side = 0; side < 3; side++)
            free(tiles[side]);
        mrc_points_destroy(&plain);
        mrc_points_destroy(&indexed);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        free(x);
    }
}

/* Nearly equal long rows: |x|^2 + |y|^2 - 2 x.y alone would lose their distance. */
static void test_sparse_rows_keep_small_distances(void **state)
{
    static const char *const narrow[] = {"rbf:sigma=0.001", "laplacian:gamma=1000",
                                         "chi2:gamma=1e9"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        mercer_ctx *ctx = new_ctx(1);
        double x[2 * D] = {0}, value;
        for (int c = 0; c < D; c += 2)
            x[c] = x[D + c] = k == 2 ? 1e3 : 1e6 * (c + 1);
        x[D] += 1e-3;
        mercer_rows *rows = sparse_copy(x, 2, D);
        mrc_kernel kernel;
        mrc_points points;
        assert_ok(mrc_kernel_parse(&kernel, narrow[k], err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
        mrc_kernel_tile(&kernel, ctx, &points, 0, 1, &points, 1, 1, &value, 1);
        double exact = naive_kernel(&kernel, x, x + D, D);
        assert_true(exact > 0.3 && exact < 0.7);
        assert_true(fabs(value - exact) < 1e-12);
        mrc_points_destroy(&points);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
    }
}

/* Models of sparse and of dense rows, on new rows of either kind. */
static void test_sparse_models_equal_dense_ones(void **state)
{
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (int centered = 0; centered < 2; centered++)
            for (int scaled = 0; scaled < 2; scaled++) {
                mercer_ctx *ctx = new_ctx(2);
                double *x = thin_rows(1, N, kernels[k]), *fresh = thin_rows(2, T, kernels[k]);
                mercer_rows *train[2] = {view(ctx, x, N, D), sparse_copy(x, N, D)};
                mercer_rows *rows[2] = {view(ctx, fresh, T, D), sparse_copy(fresh, T, D)};
                double *first = NULL, errors[T];
                for (int m = 0; m < 2; m++) {
                    mercer_model *model = fit(ctx, train[m], kernels[k],
                                              centered ? "exact" : "none", scaled ? "unit" : NULL);
                    assert_int_equal(model->components, L);
                    for (int r = 0; r < 2; r++) {
                        double *y = new_doubles(T * L), *one = new_doubles(L), e[T];
                        assert_ok(mercer_model_transform(ctx, model, rows[r], NULL, y, e, err));
                        if (!first) {
                            memcpy(errors, e, sizeof e);
                            first = y;
                            free(one);
                            continue;
                        }
                        double size = largest_modulus(first, T * L);
                        assert_close(y, first, T * L, 1e-9 * size);
                        assert_close(e, errors, T, 1e-9 * size * size);
                        free(y);
                        free(one);
                    }
                    mercer_model_free(model);
                }
                for (int m = 0; m < 2; m++) {
                    mercer_rows_free(train[m]);
                    mercer_rows_free(rows[m]);
                }
                free(first);
                free(x);
                free(fresh);
                mercer_ctx_free(ctx);
            }
}

/* Pre-images of models of sparse and of dense rows: the same rows, and the same errors. */
static void test_sparse_preimages_equal_dense_ones(void **state)
{
    static const char *const some[] = {"rbf:sigma=3", "rbf:sigma=1.5", "poly:gamma=0.1,degree=2",
                                       "poly:gamma=0.1,coef0=0.5,degree=3", "linear"};
    (void)state;
    for (int k = 0; k < 5; k++)
        for (int centered = 0; centered < 2; centered++) {
            mercer_ctx *ctx = new_ctx(2);
            /* Fewer linear rows than columns: W would take more than the sparse points do. */
            int64_t n = k == 4 ? 12 : N;
            double *x = thin_rows(1, n, some[k]), *back[2], errors[2][T];
            double *fresh = thin_rows(2, T, some[k]), *y = new_doubles(T * L);
            mercer_rows *rows = view(ctx, fresh, T, D);
            mercer_rows *train[2] = {view(ctx, x, n, D), sparse_copy(x, n, D)};
            for (int m = 0; m < 2; m++) {
                mercer_model *model =
                    fit(ctx, train[m], some[k], centered ? "exact" : "none", NULL);
                assert_int_equal(model->components, L);
                assert_true((model->z_csr.start != NULL) == (m == 1));
                back[m] = new_doubles(T * D);
                if (m == 0)
                    assert_ok(mercer_model_transform(ctx, model, rows, NULL, y, NULL, err));
                assert_ok(mercer_model_inverse(ctx, model, y, T, back[m], errors[m], err));
                mercer_model_free(model);
                mercer_rows_free(train[m]);
            }
            assert_close(back[1], back[0], T * D, 1e-10 * largest_modulus(back[0], T * D));
            assert_close(errors[1], errors[0], T, 1e-10 * (1 + largest_modulus(errors[0], T)));
            free(back[0]);
            free(back[1]);
            mercer_rows_free(rows);
            free(fresh);
            free(x);
            free(y);
            mercer_ctx_free(ctx);
        }
}

/* Saved and loaded, with one thread and two, alone or among others: the same bits. */
static void test_sparse_models_keep_their_bits(void **state)
{
    static const char *const some[] = {"rbf:sigma=3", "cosine", "linear"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        mercer_ctx *ctx = new_ctx(1), *two = new_ctx(2);
        double *x = thin_rows(1, N, some[k]);
        mercer_rows *rows = sparse_copy(x, N, D);
        mercer_model *model = fit(ctx, rows, some[k], NULL, NULL);
        mercer_model *other = fit(two, rows, some[k], NULL, NULL), *loaded = NULL;
        double *y = new_doubles(N * L), *again = new_doubles(N * L);
        char path[64];
        snprintf(path, sizeof path, "/tmp/mercer-sparse-%ld.mercer", (long)getpid());
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, y, NULL, err));
        assert_ok(mercer_model_transform(two, other, rows, NULL, again, NULL, err));
        assert_memory_equal(y, again, N * L * sizeof(double));
        assert_ok(mercer_model_save(ctx, model, path, err));
        assert_ok(mercer_model_load(ctx, path, &loaded, err));
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model_get_info(loaded, &info); /* linear is collapsed */
        assert_int_equal(info.expansion_entries, k == 2 ? -1 : mercer_rows_entries(rows));
        for (int64_t i = 0; i < N; i++) {
            mercer_rows *one = sparse_copy(x + i * D, 1, D);
            assert_ok(mercer_model_transform(ctx, loaded, one, NULL, again + i * L, NULL, err));
            mercer_rows_free(one);
        }
        assert_memory_equal(y, again, N * L * sizeof(double));
        unlink(path);
        mercer_model_free(model);
        mercer_model_free(other);
        mercer_model_free(loaded);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        mercer_ctx_free(two);
        free(x);
        free(y);
        free(again);
    }
}

/* Columns are matched by name, extra ones ignored, in whichever order they stand. */
static void test_sparse_columns_are_matched_by_name(void **state)
{
    (void)state;
    static const char *const some[] = {"rbf:sigma=3", "linear"};
    for (int k = 0; k < 2; k++) {
        mercer_ctx *ctx = new_ctx(1);
        double *x = thin_rows(1, N, some[k]), *turned = new_doubles(T * (D + 1));
        double *y = new_doubles(N * L), *again = new_doubles(T * L);
        char text[D + 1][8];
        const char *names[D + 1], *backwards[D + 1];
        for (int c = 0; c <= D; c++) {
            snprintf(text[c], sizeof text[c], "w%d", c);
            names[c] = text[c];
            backwards[D - c] = text[c];
        }
        for (int64_t i = 0; i < T; i++)
            for (int c = 0; c <= D; c++)
                turned[i * (D + 1) + D - c] = c < D ? x[i * D + c] : 99;
        mercer_rows *rows = sparse_copy(x, N, D), *other = sparse_copy(turned, T, D + 1);
        assert_ok(mercer_rows_set_names(rows, names, err));
        assert_ok(mercer_rows_set_names(other, backwards, err));
        mercer_model *model = fit(ctx, rows, some[k], NULL, NULL);
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, y, NULL, err));
        assert_ok(mercer_model_transform(ctx, model, other, NULL, again, NULL, err));
        assert_memory_equal(y, again, T * L * sizeof(double));
        mercer_model_free(model);
        mercer_rows_free(rows);
        mercer_rows_free(other);
        mercer_ctx_free(ctx);
        free(x);
        free(turned);
        free(y);
        free(again);
    }
}

static void test_sparse_refusals(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mercer_error why;
    mercer_model *model = NULL;
    mercer_rows *rows = NULL;
    double *x = thin_rows(1, N, "rbf"), value[] = {1, 2, NAN};
    int64_t start[] = {0, 2, 3}, bad_start[] = {0, 3, 2};
    int32_t column[] = {0, 4, 1}, order[] = {4, 0, 1}, twice[] = {4, 4, 1}, outside[] = {0, 5, 1};
    assert_int_equal(view_csr(ctx, start, column, value, 2, 5, &rows, &why), MERCER_ERR_DATA);
    assert_string_equal(why.text, "rows: row 2, column 2: nan is not finite");
    value[2] = 3;
    assert_int_equal(view_csr(ctx, bad_start, column, value, 2, 5, &rows, &why), MERCER_ERR_DATA);
    assert_int_equal(view_csr(ctx, start, order, value, 2, 5, &rows, &why), MERCER_ERR_DATA);
    assert_string_equal(why.text, "rows: row 1: column 1 does not come after column 5");
    assert_int_equal(view_csr(ctx, start, twice, value, 2, 5, &rows, &why), MERCER_ERR_DATA);
    assert_int_equal(view_csr(ctx, start, outside, value, 2, 5, &rows, &why), MERCER_ERR_DATA);
    assert_string_equal(why.text, "rows: row 1 has an entry in column 6, and there are 5");
    assert_null(rows);
    assert_ok(view_csr(ctx, start, column, value, 2, 5, &rows, err));
    assert_true(mercer_rows_is_sparse(rows) && mercer_rows_entries(rows) == 3);
    mercer_rows_free(rows);

    rows = sparse_copy(x, N, D);
    assert_int_equal(fit_with(ctx, rows, "precomputed", NULL, NULL, &model, &why), MERCER_ERR_DATA);
    assert_int_equal(fit_with(ctx, rows, "rbf", NULL, "standard", &model, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "unit"));
    assert_int_equal(fit_with(ctx, rows, "chi2", NULL, NULL, &model, &why), MERCER_ERR_DATA);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* What kind of rows a model keeps, and takes. */
static void test_info_tells_the_kind_of_rows(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mercer_model_info info;
    double *x = thin_rows(1, N, "rbf"), *gram = new_doubles(N * N);
    mercer_rows *rows[3] = {sparse_copy(x, N, D), view(ctx, x, N, D), NULL};
    for (int i = 0; i < N; i++)
        gram[i * N + i] = 1 + i;
    rows[2] = view(ctx, gram, N, N);
    mercer_model_info_init(&info);
    for (int i = 0; i < 3; i++) {
        mercer_model *model = fit(ctx, rows[i], i < 2 ? "rbf:sigma=3" : "precomputed", NULL, NULL);
        mercer_model_get_info(model, &info);
        assert_int_equal(info.sparse, i == 0);
        assert_int_equal(info.precomputed, i == 2);
        mercer_model_free(model);
        mercer_rows_free(rows[i]);
    }
    mercer_ctx_free(ctx);
    free(gram);
    free(x);
}

static void test_sparse_failing_allocations(void **state)
{
    static const char *const some[] = {"rbf:sigma=3", "cosine", "linear", "rbf:sigma=3 + cosine"};
    (void)state;
    for (int k = 0; k < 4; k++) {
        mercer_ctx *ctx = new_ctx(1);
        double *x = thin_rows(1, N, some[k]), *y = new_doubles(N * L), back[D];
        mercer_rows *rows = sparse_copy(x, N, D);
        mercer_status rc = MERCER_ERR_MEMORY;
        mercer_error why;
        for (int64_t after = 0; rc != MERCER_OK; after++) {
            mercer_model *model = NULL;
            int64_t live = mrc_alloc_live();
            mrc_alloc_fail_after(after);
            rc = fit_with(ctx, rows, some[k], NULL, NULL, &model, &why);
            if (rc == MERCER_OK)
                rc = mercer_model_transform(ctx, model, rows, NULL, y, NULL, &why);
            if (rc == MERCER_OK && k == 0)
                rc = mercer_model_inverse(ctx, model, y, 1, back, NULL, &why);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            mercer_model_free(model);
            assert_int_equal(mrc_alloc_live(), live);
        }
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        free(x);
        free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse_sums_do_not_depend_on_the_index),
        cmocka_unit_test(test_sparse_rows_keep_small_distances),
        cmocka_unit_test(test_sparse_models_equal_dense_ones),
        cmocka_unit_test(test_sparse_preimages_equal_dense_ones),
        cmocka_unit_test(test_sparse_models_keep_their_bits),
        cmocka_unit_test(test_sparse_columns_are_matched_by_name),
        cmocka_unit_test(test_sparse_refusals),
        cmocka_unit_test(test_info_tells_the_kind_of_rows),
        cmocka_unit_test(test_sparse_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
