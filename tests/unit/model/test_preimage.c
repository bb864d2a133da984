/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-images: exact where they can be, never worse than the best training row elsewhere. */
#include "model_support.h"

/* |P - phi(x)|^2 by the formulas: gamma = B y + v over the points. */
static double naive_distance(const mercer_model *model, const double *features, const double *x)
{
    int64_t m = model->points, d = model->columns, l = model->components;
    long double sum = naive_kernel(&model->kernel, x, x, d);
    double *gamma = ref_alloc(m, 1);
    for (int64_t i = 0; i < m; i++) {
        gamma[i] = model->mean ? model->mean[i] : 0;
        for (int64_t j = 0; i < model->basis_points && j < l; j++)
            gamma[i] += model->coefficients[i * l + j] * features[j];
    }
    for (int64_t i = 0; i < m; i++) {
        sum -= 2.0L * gamma[i] * naive_kernel(&model->kernel, model->z + i * d, x, d);
        for (int64_t j = 0; j < m; j++)
            sum += (long double)gamma[i] * gamma[j] *
                   naive_kernel(&model->kernel, model->z + i * d, model->z + j * d, d);
    }
    mrc_free(gamma);
    return (double)sum;
}

/* Full features of training rows lead back to them; returns the largest distance. */
static double worst_return(const struct recipe *recipe)
{
    mercer_model *model = make_model(recipe);
    int64_t m = model->basis_points, d = model->columns, l = model->components;
    double *features = ref_alloc(m, l), *x = ref_alloc(m, d), *errors = ref_alloc(m, 1), worst = 0;
    mercer_rows *rows = view(model->z, m, d);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
    assert_ok(mercer_model_inverse(ctx, model, features, m, x, errors, &err));
    for (int64_t i = 0; i < m; i++) {
        double distance2 = 0, scale = 1 + naive_kernel(&model->kernel, x + i * d, x + i * d, d);
        for (int64_t k = 0; k < d; k++)
            distance2 += pow(x[i * d + k] - model->z[i * d + k], 2);
        worst = fmax(worst, sqrt(distance2));
        assert_true(fabs(errors[i] - naive_distance(model, features + i * l, x + i * d)) <
                    1e-9 * scale);
    }
    mercer_rows_free(rows);
    mercer_model_free(model);
    mrc_free(features);
    mrc_free(x);
    mrc_free(errors);
    return worst;
}

static void test_training_rows_return(void **state)
{
    static const char *const kernels[] = {
        "linear", "rbf:sigma=0.7", "poly:gamma=0.5,coef0=1,degree=2",
        "poly:gamma=0.5,coef0=1,degree=3", "poly:gamma=1,coef0=0,degree=3"};
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int center = 0; center < 3; center++)
            for (int64_t d = 2; d <= 12; d += 5) {
                struct recipe recipe = {
                    .kernel = kernels[k], .center = (mrc_center)center, .n = 30, .d = d};
                if (center == MRC_CENTER_SPAN)
                    recipe.basis = 25;
                assert_true(worst_return(&recipe) < 1e-6);
            }
}

/* Points of the feature space that are the image of a row no model has seen. */
static void test_new_rows_return_where_the_basis_holds_them(void **state)
{
    static const char *const kernels[] = {
        "poly:gamma=0.5,coef0=1,degree=2", "poly:gamma=0.2,coef0=2,degree=3",
        "poly:gamma=1,coef0=0,degree=3", "poly:gamma=0.7,coef0=0.4,degree=1"};
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int center = 0; center < 2; center++) {
            /* 60 rows span all polynomials of degree 3 in 3 variables. */
            struct recipe recipe = {
                .kernel = kernels[k], .center = (mrc_center)center, .n = 60, .d = 3};
            mercer_model *model = make_model(&recipe);
            int64_t l = model->components;
            double *fresh = ref_rows(50, 20, 3, 1, 0.2), *features = ref_alloc(20, l), x[60];
            double errors[20], left[20];
            mercer_rows *rows = view(fresh, 20, 3);
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, left, &err));
            assert_ok(mercer_model_inverse(ctx, model, features, 20, x, errors, &err));
            for (int i = 0; i < 20; i++)
                assert_true(left[i] < 1e-6 * (1 + naive_kernel(&model->kernel, fresh + i * 3,
                                                               fresh + i * 3, 3)));
            assert_true(ref_difference(x, fresh, 60) < 1e-5);
            mercer_rows_free(rows);
            mercer_model_free(model);
            mrc_free(fresh);
            mrc_free(features);
        }
}

/* Few components: the result is at least as good as any training row, and its error is right. */
static void test_never_worse_than_training_rows(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=1.5", "poly:gamma=0.5,coef0=1,degree=2",
                                          "poly:gamma=0.5,coef0=0,degree=2",
                                          "poly:gamma=0.3,coef0=0.5,degree=5"};
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int center = 0; center < 3; center++) {
            struct recipe recipe = {.kernel = kernels[k],
                                    .center = (mrc_center)center,
                                    .n = 40,
                                    .d = 4,
                                    .l = 3,
                                    .basis = center == 2 ? 20 : 0};
            mercer_model *model = make_model(&recipe);
            double *fresh = ref_rows(51, 15, 4, 1, 0), features[45], x[60], errors[15];
            mercer_rows *rows = view(fresh, 15, 4);
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
            assert_ok(mercer_model_inverse(ctx, model, features, 15, x, errors, &err));
            for (int i = 0; i < 15; i++) {
                double found = naive_distance(model, features + i * 3, x + i * 4);
                double scale = 1 + found + naive_kernel(&model->kernel, x + i * 4, x + i * 4, 4);
                assert_true(fabs(errors[i] - found) < 1e-10 * scale);
                for (int64_t j = 0; j < model->points; j++)
                    assert_true(found <= 1e-10 * scale + naive_distance(model, features + i * 3,
                                                                        model->z + j * 4));
            }
            mercer_rows_free(rows);
            mercer_model_free(model);
            mrc_free(fresh);
        }
}

static void test_linear_is_exact(void **state)
{
    (void)state;
    for (int collapsed = 0; collapsed < 2; collapsed++) {
        struct recipe recipe = {.kernel = "linear",
                                .center = MRC_CENTER_EXACT,
                                .n = 40,
                                .d = 3,
                                .offset = 7,
                                .collapse = collapsed};
        mercer_model *model = make_model(&recipe);
        double *x = ref_rows(9, 150, 3, 2, 5), features[450], back[450], errors[150];
        mercer_rows *rows = view(x, 150, 3);
        assert_int_equal(model->components, 3);
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
        assert_ok(mercer_model_inverse(ctx, model, features, 150, back, errors, &err));
        assert_true(ref_difference(back, x, 450) < 1e-11);
        for (int i = 0; i < 150; i++)
            assert_true(errors[i] == 0);
        assert_ok(mercer_model_inverse(ctx, model, features, 150, back, NULL, &err));
        mercer_rows_free(rows);
        mercer_model_free(model);
        mrc_free(x);
    }
}

static void test_bits_do_not_depend_on_neighbours(void **state)
{
    static const struct recipe recipes[] = {
        {.kernel = "rbf:sigma=2",
         .center = MRC_CENTER_EXACT,
         .n = 300,
         .d = 3,
         .l = 4,
         .basis = 30},
        {.kernel = "rbf:sigma=6", .center = MRC_CENTER_SPAN, .n = 40, .d = 30, .l = 4, .basis = 25},
        {.kernel = "poly:gamma=0.2,degree=2", .n = 50, .d = 5, .l = 4},
        {.kernel = "linear", .center = MRC_CENTER_EXACT, .n = 40, .d = 12, .l = 4},
    };
    enum { T = 70 };
    (void)state;
    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
        mercer_model *model = make_model(&recipes[r]);
        int64_t d = model->columns;
        double *fresh = ref_rows(52, T, d, 1, 0), features[T * 4], errors[T], part_errors[T];
        double *x = ref_alloc(T, d), *part = ref_alloc(T, d);
        mercer_rows *rows = view(fresh, T, d);
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
        assert_ok(mercer_ctx_set_threads(ctx, 1, &err));
        assert_ok(mercer_model_inverse(ctx, model, features, T, x, errors, &err));
        for (int threads = 1; threads <= 3; threads++) {
            int64_t step = threads == 1 ? 1 : threads == 2 ? 7 : T;
            assert_ok(mercer_ctx_set_threads(ctx, threads, &err));
            for (int64_t at = 0; at < T; at += step)
                assert_ok(mercer_model_inverse(ctx, model, features + at * 4,
                                               step < T - at ? step : T - at, part + at * d,
                                               part_errors + at, &err));
            assert_memory_equal(part, x, (size_t)(T * d) * sizeof(double));
            assert_memory_equal(part_errors, errors, sizeof errors);
        }
        mercer_rows_free(rows);
        mercer_model_free(model);
        mrc_free(fresh);
        mrc_free(x);
        mrc_free(part);
    }
}

static void count_notice(void *host, const mercer_notice *given)
{
    assert_non_null(strstr(given->text, "scaled units"));
    ++*(int *)host;
}

static void test_scaling_is_undone(void **state)
{
    struct recipe recipe = {.kernel = "rbf:sigma=1", .center = MRC_CENTER_EXACT, .n = 20, .d = 2};
    double *x = ref_rows(1, 20, 2, 3, 10), *raw = ref_alloc(20, 2), features[400], back[40];
    mercer_rows *train = view(x, 20, 2), *rows;
    mrc_scale scale = {0};
    int notices = 0;
    (void)state;
    memcpy(raw, x, 40 * sizeof(double));
    assert_ok(mrc_scale_fit(&scale, MRC_SCALE_STANDARD, train, &err));
    mrc_scale_apply(&scale, x, 20, 2);
    mercer_model *model = unsealed_model(&recipe, x);
    model->scale = scale;
    assert_ok(mrc_model_seal(model, ctx, &err));
    rows = view(raw, 20, 2);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
    mercer_ctx_set_notice(ctx, count_notice, &notices);
    assert_ok(mercer_model_inverse(ctx, model, features, 20, back, NULL, &err));
    assert_true(ref_difference(back, raw, 40) < 1e-7);
    assert_int_equal(notices, 0);

    model->scale = (mrc_scale){.kind = MRC_SCALE_UNIT, .d = 2};
    assert_ok(mercer_model_inverse(ctx, model, features, 20, back, NULL, &err));
    assert_true(ref_difference(back, x, 40) < 1e-7);
    assert_int_equal(notices, 1);
    mercer_ctx_set_notice(ctx, NULL, NULL);
    model->scale = scale;
    mercer_model_free(model);
    mercer_rows_free(train);
    mercer_rows_free(rows);
    mrc_free(x);
    mrc_free(raw);
}

static void test_fewer_points_than_starts(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=2", "poly:gamma=0.5,coef0=1,degree=2",
                                          "poly:gamma=0.5,coef0=1,degree=3"};
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int64_t n = 1; n <= 4; n++) {
            struct recipe recipe = {.kernel = kernels[k], .n = n, .d = 2};
            assert_true(worst_return(&recipe) < 1e-6);
        }
}

static int is_invertible(const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    return info.invertible;
}

static void test_refusals(void **state)
{
    struct recipe recipe = {.kernel = "cosine", .n = 20, .d = 3, .l = 2};
    mercer_model *cosine = make_model(&recipe);
    double features[4] = {0.1, 0.2, 0.3, 0.4}, x[6];
    (void)state;
    assert_fails(mercer_model_inverse(ctx, cosine, features, 2, x, NULL, &err),
                 MERCER_ERR_UNSUPPORTED, "kernel 'cosine' (linear, poly and rbf have them)");
    assert_int_equal(is_invertible(cosine), 0);
    mercer_model_free(cosine);
    recipe.kernel = "rbf:sigma=1";
    mercer_model *model = make_model(&recipe);
    features[3] = NAN;
    assert_fails(mercer_model_inverse(ctx, model, features, 2, x, NULL, &err), MERCER_ERR_DATA,
                 "row 2: feature 2 is not finite");
    assert_ok(mercer_model_inverse(ctx, model, features, 0, x, NULL, &err));
    assert_int_equal(is_invertible(model), 1);
    features[3] = 0;
    mercer_ctx_cancel(ctx);
    assert_fails(mercer_model_inverse(ctx, model, features, 2, x, NULL, &err), MERCER_ERR_CANCELLED,
                 "cancelled");
    mercer_ctx_resume(ctx);
    model->orthonormal = false;
    assert_fails(mercer_model_inverse(ctx, model, features, 2, x, NULL, &err),
                 MERCER_ERR_UNSUPPORTED, "orthonormal");
    assert_int_equal(is_invertible(model), 0);
    model->orthonormal = true;
    model->scale.kind = MRC_SCALE_UNIT; /* rows are found, but not in the units of the input */
    assert_int_equal(is_invertible(model), 0);
    mercer_model_free(model);
    recipe.kernel = "poly:gamma=1,coef0=1,degree=2";
    model = make_model(&recipe);
    model->kernel.part[0].coef0 = -1;
    assert_fails(mercer_model_inverse(ctx, model, features, 2, x, NULL, &err),
                 MERCER_ERR_UNSUPPORTED, "coef0");
    assert_int_equal(is_invertible(model), 0);
    mercer_model_free(model);
}

/* Features far from every image: still a finite answer. */
static void test_wild_features(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=0.1", "poly:gamma=1,coef0=1,degree=2",
                                          "poly:gamma=1,coef0=0,degree=4", "linear"};
    double features[9] = {1e6, -1e6, 1e6, 0, 0, 0, -1e-9, 3, -1e5}, x[6], errors[3];
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        struct recipe recipe = {
            .kernel = kernels[k], .center = MRC_CENTER_NONE, .n = 20, .d = 2, .l = 3};
        mercer_model *model = make_model(&recipe);
        if (model->components == 3) {
            assert_ok(mercer_model_inverse(ctx, model, features, 3, x, errors, &err));
            for (int i = 0; i < 6; i++)
                assert_true(isfinite(x[i]));
            for (int i = 0; i < 3; i++)
                assert_true(isfinite(errors[i]) && errors[i] >= 0);
        }
        mercer_model_free(model);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof small_recipes / sizeof *small_recipes; i++) {
        double features[4] = {0.1, 0.2, 0.3, 0.1}, x[24], errors[2];
        mercer_model *model = make_model(&small_recipes[i]);
        /* A new model each time: the first call prepares the points, which the model then keeps. */
        assert_each_allocation_fails(
            3, mercer_model_inverse(ctx, model, features, 2, x, errors, &err),
            (mercer_model_free(model), model = make_model(&small_recipes[i])));
        mercer_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_training_rows_return),
        TEST(test_new_rows_return_where_the_basis_holds_them),
        TEST(test_never_worse_than_training_rows),
        TEST(test_linear_is_exact),
        TEST(test_bits_do_not_depend_on_neighbours),
        TEST(test_scaling_is_undone),
        TEST(test_fewer_points_than_starts),
        TEST(test_refusals),
        TEST(test_wild_features),
        TEST(test_failing_allocations),
    };
    return RUN_TESTS(tests);
}
