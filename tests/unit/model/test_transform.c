/* SPDX-License-Identifier: BSD-3-Clause */
/* Features and errors of new rows: against the formulas, and the same bits in every company. */
#include "model_support.h"

static const char *const kernels[] = {"linear", "poly:gamma=0.3,coef0=1,degree=3", "rbf:sigma=2",
                                      "sigmoid:gamma=0.05,coef0=0.2", "cosine"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* transform against the formulas, for new rows. */
static void compare(const mercer_model *model, int64_t t, double tolerance)
{
    int64_t l = model->components, d = model->columns;
    double *x = ref_rows(99, t, d, 1.2, 0.1), *features = ref_alloc(t, l),
           *errors = ref_alloc(t, 1);
    double *wanted = ref_alloc(t, l), *wanted_errors = ref_alloc(t, 1);
    mercer_rows *rows = view(x, t, d);

    naive_transform(model, x, t, wanted, wanted_errors);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, errors, &err));
    assert_true(ref_difference(features, wanted, t * l) < tolerance);
    for (int64_t i = 0; i < t; i++) {
        double scale = 1 + naive_kernel(&model->kernel, x + i * d, x + i * d, d);
        assert_true(fabs(errors[i] - wanted_errors[i]) < tolerance * scale);
    }
    memset(features, 0xFF, (size_t)(t * l) * sizeof(double));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
    assert_true(ref_difference(features, wanted, t * l) < tolerance);
    mercer_rows_free(rows);
    mrc_free(x);
    mrc_free(features);
    mrc_free(errors);
    mrc_free(wanted);
    mrc_free(wanted_errors);
}

static void test_every_kernel_and_centring(void **state)
{
    static const int64_t dims[] = {1, 3, 8, 9, 40};
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (int center = 0; center < 3; center++)
            for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
                struct recipe recipe = {.kernel = kernels[k],
                                        .center = (mrc_center)center,
                                        .n = 40,
                                        .d = dims[i],
                                        .l = 7,
                                        .basis = 0};
                if (center == MRC_CENTER_SPAN)
                    recipe.basis = 15;
                if (strncmp(kernels[k], "sigmoid", 7) == 0)
                    recipe.l = 2; /* indefinite: few eigenvalues are safely positive */
                mercer_model *model = make_model(&recipe);
                compare(model, 75, 1e-10);
                mercer_model_free(model);
            }
}

static void test_more_points_than_one_tile(void **state)
{
    struct recipe recipe = {.kernel = "rbf:sigma=3",
                            .center = MRC_CENTER_EXACT,
                            .n = 600,
                            .d = 12,
                            .l = 5,
                            .basis = 30};
    (void)state;
    mercer_model *model = make_model(&recipe);
    assert_int_equal(model->points, 600);
    assert_int_equal(model->basis_points, 30);
    compare(model, 130, 1e-10);
    mercer_model_free(model);
}

/* Features of a training row in a full basis reproduce it: no error is left. */
static void test_full_basis_leaves_no_error(void **state)
{
    struct recipe recipe = {.kernel = "rbf:sigma=1", .center = MRC_CENTER_EXACT, .n = 20, .d = 3};
    double features[20 * 20], errors[20];
    (void)state;
    mercer_model *model = make_model(&recipe);
    assert_int_equal(model->components, 19);
    assert_ok(mercer_model_transform(ctx, model, model->z_rows, NULL, features, errors, &err));
    for (int i = 0; i < 20; i++)
        assert_true(errors[i] >= 0 && errors[i] < 1e-12);
    mercer_model_free(model);
}

static void test_collapsed_equals_expanded(void **state)
{
    (void)state;
    for (int center = 0; center < 2; center++)
        for (int64_t d = 2; d <= 300; d += 149) {
            struct recipe recipe = {.kernel = "linear",
                                    .center = (mrc_center)center,
                                    .n = 30,
                                    .d = d,
                                    .l = 2,
                                    .offset = 100};
            mercer_model *expanded = make_model(&recipe);
            recipe.collapse = true;
            mercer_model *collapsed = make_model(&recipe);
            int64_t t = 70, l = expanded->components;
            double *x = ref_rows(5, t, d, 1, 100), *a = ref_alloc(t, l), *b = ref_alloc(t, l);
            double *errors_a = ref_alloc(t, 1), *errors_b = ref_alloc(t, 1);
            mercer_rows *rows = view(x, t, d);
            assert_int_equal(collapsed->points, 0);
            assert_ok(mercer_model_transform(ctx, expanded, rows, NULL, a, errors_a, &err));
            assert_ok(mercer_model_transform(ctx, collapsed, rows, NULL, b, errors_b, &err));
            double size = 1e4 * (double)d; /* |x|^2: what the expanded form cancels */
            for (int64_t i = 0; i < t * l; i++)
                assert_true(fabs(a[i] - b[i]) < 1e-11 * size);
            for (int64_t i = 0; i < t; i++)
                assert_true(fabs(errors_a[i] - errors_b[i]) < 1e-11 * size);
            if (d == 2 && center == 1)
                for (int64_t i = 0; i < t; i++)
                    assert_true(errors_b[i] < 1e-22 * size); /* two components are everything */
            mercer_rows_free(rows);
            mercer_model_free(expanded);
            mercer_model_free(collapsed);
            mrc_free(x);
            mrc_free(a);
            mrc_free(b);
            mrc_free(errors_a);
            mrc_free(errors_b);
        }
}

/* The same model over a precomputed matrix; keep = number of points it keeps. */
static mercer_model *make_precomputed(const struct recipe *recipe, bool kept_only)
{
    double *x = recipe_rows(recipe);
    mercer_model *model = unsealed_model(recipe, x);
    mrc_free(x);
    mrc_free(model->z);
    model->z = NULL;
    model->kernel = kernel_of("precomputed", 1);
    model->columns = model->rows = recipe->n;
    if (kept_only) {
        model->selected_count = model->points;
        assert_ok(mrc_alloc(&model->selected, model->points, sizeof(int64_t), &err));
        for (int64_t i = 0; i < model->points; i++)
            model->selected[i] = i; /* unsealed_model takes the first rows */
    }
    assert_ok(mrc_model_seal(model, ctx, &err));
    return model;
}

static void test_precomputed(void **state)
{
    (void)state;
    for (int center = 0; center < 3; center++) {
        struct recipe recipe = {.kernel = "rbf:sigma=2",
                                .center = (mrc_center)center,
                                .n = 300,
                                .d = 4,
                                .l = 3,
                                .basis = 20};
        mercer_model *plain = make_model(&recipe), *given = make_precomputed(&recipe, center != 1);
        double *z = recipe_rows(&recipe), *x = ref_rows(7, 70, 4, 1, 0), self[70];
        double *k = ref_cross(&plain->kernel, x, 70, z, 300, 4);
        double a[210], b[210], errors_a[70], errors_b[70];
        mercer_rows *rows = view(x, 70, 4), *all = view(k, 70, 300), *kept = NULL;
        assert_ok(view_f64(ctx, k, 70, plain->points, 300, &kept, &err));
        for (int i = 0; i < 70; i++)
            self[i] = 1;
        assert_ok(mercer_model_transform(ctx, plain, rows, NULL, a, errors_a, &err));
        assert_ok(mercer_model_transform(ctx, given, all, self, b, errors_b, &err));
        assert_true(ref_difference(a, b, 210) < 1e-11);
        assert_true(ref_difference(errors_a, errors_b, 70) < 1e-11);
        assert_ok(mercer_model_transform(ctx, given, kept, NULL, a, NULL, &err));
        assert_memory_equal(a, b, sizeof a);
        assert_fails(mercer_model_transform(ctx, given, all, NULL, b, errors_b, &err),
                     MERCER_ERR_ARGUMENT, "k(x,x)");
        self[3] = NAN;
        assert_fails(mercer_model_transform(ctx, given, all, self, b, errors_b, &err),
                     MERCER_ERR_DATA, "row 4");
        assert_fails(mercer_model_transform(ctx, given, rows, NULL, b, NULL, &err), MERCER_ERR_DATA,
                     "4 columns where 300");
        mercer_rows_free(rows);
        mercer_rows_free(all);
        mercer_rows_free(kept);
        mercer_model_free(plain);
        mercer_model_free(given);
        mrc_free(z);
        mrc_free(x);
        mrc_free(k);
    }
}

/* Every way to cut the rows, and every number of threads, gives the same bits. */
static void assert_same_bits(const mercer_model *model, int64_t t)
{
    int64_t l = model->components, d = model->columns;
    double *x = ref_rows(3, t, d, 1, 0.5), *all = ref_alloc(t, l), *errors = ref_alloc(t, 1);
    double *part = ref_alloc(t, l), *part_errors = ref_alloc(t, 1);
    static const struct {
        int threads;
        int64_t rows;
    } cuts[] = {{1, 1}, {1, 7}, {2, 8}, {1, 9}, {1, 63}, {1, 65}, {2, 100}, {3, 150}};
    mercer_rows *rows = view(x, t, d);

    assert_ok(mercer_ctx_set_threads(ctx, 1, &err));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, all, errors, &err));
    mercer_rows_free(rows);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++)
        for (int with_errors = 1; with_errors >= 0; with_errors--) {
            assert_ok(mercer_ctx_set_threads(ctx, cuts[c].threads, &err));
            memset(part, 0xFF, (size_t)(t * l) * sizeof(double));
            for (int64_t at = 0; at < t; at += cuts[c].rows) {
                int64_t count = t - at < cuts[c].rows ? t - at : cuts[c].rows;
                rows = view(x + at * d, count, d);
                assert_ok(mercer_model_transform(ctx, model, rows, NULL, part + at * l,
                                                 with_errors ? part_errors + at : NULL, &err));
                mercer_rows_free(rows);
            }
            assert_memory_equal(part, all, (size_t)(t * l) * sizeof(double));
            assert_memory_equal(part_errors, errors, (size_t)t * sizeof(double));
        }
    mrc_free(x);
    mrc_free(all);
    mrc_free(errors);
    mrc_free(part);
    mrc_free(part_errors);
}

static void test_bits_do_not_depend_on_neighbours(void **state)
{
    enum { COMBINED = 6 }; /* has products of its own, and needs no trial */
    static const struct recipe recipes[] = {
        {.kernel = "rbf:sigma=2",
         .center = MRC_CENTER_EXACT,
         .n = 300,
         .d = 3,
         .l = 5,
         .basis = 40},
        {.kernel = "rbf:sigma=9", .center = MRC_CENTER_EXACT, .n = 80, .d = 50, .l = 17},
        {.kernel = "rbf:sigma=9", .center = MRC_CENTER_NONE, .n = 80, .d = 257, .l = 1},
        {.kernel = "poly:gamma=0.1,degree=2",
         .center = MRC_CENTER_SPAN,
         .n = 80,
         .d = 11,
         .l = 8,
         .basis = 33},
        {.kernel = "cosine", .center = MRC_CENTER_NONE, .n = 70, .d = 31, .l = 30},
        {.kernel = "rbf:sigma=9",
         .center = MRC_CENTER_EXACT,
         .n = 300,
         .d = 784,
         .l = 70,
         .basis = 90},
        {.kernel = "0.5*rbf:sigma=9 + poly:gamma=0.1,degree=2 * rbf:sigma=5",
         .center = MRC_CENTER_EXACT,
         .n = 60,
         .d = 20,
         .l = 6},
        {.kernel = "linear",
         .center = MRC_CENTER_EXACT,
         .n = 70,
         .d = 300,
         .l = 13,
         .collapse = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        mercer_model *model = make_model(&recipes[i]);
        for (mrc_simd simd = MRC_SIMD_BASELINE; simd <= mrc_simd_detect(); simd++) {
            ctx->simd = simd;
            assert_same_bits(model, 150);
            assert_true(*mrc_model_few_rows(model, simd) || i == COMBINED);
        }
        mercer_model_free(model);
    }
}

/* How few rows are transformed is found out by products that are as large for any weights. */
static void test_bits_of_small_weights(void **state)
{
    static const struct recipe recipe = {
        .kernel = "laplacian:gamma=0.1", .center = MRC_CENTER_NONE, .n = 80, .d = 20, .l = 1};
    (void)state;
    for (mrc_simd simd = MRC_SIMD_BASELINE; simd <= mrc_simd_detect(); simd++)
        for (int scale = 0; scale <= 16; scale += 4) {
            double *x = recipe_rows(&recipe);
            mercer_model *model = unsealed_model(&recipe, x);
            for (int64_t i = 0; i < model->basis_points * model->components; i++)
                model->coefficients[i] *= pow(10, -scale);
            assert_ok(mrc_model_seal(model, ctx, &err));
            ctx->simd = simd;
            assert_same_bits(model, 150);
            mercer_model_free(model);
            mrc_free(x);
        }
}

/* Few rows go one by one, in short chunks or in full ones, by what BLAS does. Each way is right. */
static void test_every_way_of_few_rows(void **state)
{
    static const struct recipe recipes[] = {
        {.kernel = "rbf:sigma=3",
         .center = MRC_CENTER_EXACT,
         .n = 600,
         .d = 12,
         .l = 5,
         .basis = 30},
        {.kernel = "cosine", .center = MRC_CENTER_NONE, .n = 40, .d = 31, .l = 17},
    };
    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        mercer_model *model = make_model(&recipes[i]);
        for (int way = 1; way <= 3; way++) {
            *mrc_model_few_rows(model, ctx->simd) = way;
            for (int64_t rows = 1; rows <= 9; rows++)
                compare(model, rows, 1e-10);
            assert_int_equal(*mrc_model_few_rows(model, ctx->simd), way);
        }
        mercer_model_free(model);
    }
}

static void set_names(mercer_model *model, const char *const *names)
{
    /* The cast drops a const that mrc_copy_names, which only reads, puts back elsewhere. */
    assert_ok(mrc_copy_names(&model->column_names, (char *const *)names, model->columns, &err));
}

static void test_columns_by_name(void **state)
{
    static const char *const names[] = {"age", "height", "weight"};
    static const char *const shuffled[] = {"weight", "id", "age", "height"};
    static const char *const poor[] = {"weight", "height", "ages"};
    struct recipe recipe = {
        .kernel = "rbf:sigma=2", .center = MRC_CENTER_EXACT, .n = 20, .d = 3, .l = 2};
    double *x = ref_rows(8, 5, 3, 1, 0), wide[20], a[10], b[10];
    (void)state;
    mercer_model *model = make_model(&recipe);
    mercer_rows *plain = view(x, 5, 3), *four;
    for (int i = 0; i < 5; i++) {
        wide[i * 4] = x[i * 3 + 2];
        wide[i * 4 + 1] = 1e6;
        wide[i * 4 + 2] = x[i * 3];
        wide[i * 4 + 3] = x[i * 3 + 1];
    }
    four = view(wide, 5, 4);
    assert_ok(mercer_model_transform(ctx, model, plain, NULL, a, NULL, &err));
    assert_ok(mercer_rows_set_names(four, shuffled, &err));
    assert_fails(mercer_model_transform(ctx, model, four, NULL, b, NULL, &err), MERCER_ERR_DATA,
                 "4 columns where 3 were expected");
    set_names(model, names);
    assert_ok(mercer_model_transform(ctx, model, four, NULL, b, NULL, &err));
    assert_memory_equal(a, b, sizeof a);
    assert_ok(mercer_model_transform(ctx, model, plain, NULL, b, NULL, &err));
    assert_memory_equal(a, b, sizeof a);
    assert_ok(mercer_rows_set_names(plain, poor, &err));
    assert_fails(mercer_model_transform(ctx, model, plain, NULL, b, NULL, &err), MERCER_ERR_DATA,
                 "column 'age' is missing (the model was fitted with it)");
    assert_string_equal(mercer_model_column_name(model, 1), "height");
    assert_null(mercer_model_column_name(model, 3));
    mercer_rows_free(plain);
    mercer_rows_free(four);
    mercer_model_free(model);
    mrc_free(x);
}

static void test_scaling_is_applied(void **state)
{
    static const mrc_scale_kind kinds[] = {MRC_SCALE_STANDARD, MRC_SCALE_MINMAX, MRC_SCALE_NORM,
                                           MRC_SCALE_UNIT, MRC_SCALE_ROWSTANDARD};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int collapsed = 0; collapsed < 2; collapsed++) {
            struct recipe recipe = {.kernel = collapsed ? "linear" : "rbf:sigma=1",
                                    .center = MRC_CENTER_EXACT,
                                    .n = 25,
                                    .d = 4,
                                    .l = 2,
                                    .collapse = collapsed};
            double *x = ref_rows(1, 25, 4, 3, 10), *fresh = ref_rows(2, 66, 4, 3, 10);
            double a[132], b[132], errors_a[66], errors_b[66];
            mercer_rows *train = view(x, 25, 4), *rows = view(fresh, 66, 4);
            mrc_scale scale = {0};
            assert_ok(mrc_scale_fit(&scale, kinds[k], train, &err));
            mrc_scale_apply(&scale, x, 25, 4);
            mercer_model *model = unsealed_model(&recipe, x);
            assert_ok(mrc_model_seal(model, ctx, &err));
            model->scale = scale;
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, a, errors_a, &err));
            mercer_rows_free(rows);
            mrc_scale_apply(&scale, fresh, 66, 4);
            rows = view(fresh, 66, 4);
            memset(&model->scale, 0, sizeof model->scale);
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, b, errors_b, &err));
            assert_memory_equal(a, b, sizeof a);
            assert_memory_equal(errors_a, errors_b, sizeof errors_a);
            model->scale = scale;
            mercer_model_free(model);
            mercer_rows_free(train);
            mercer_rows_free(rows);
            mrc_free(x);
            mrc_free(fresh);
        }
}

static void test_refusals(void **state)
{
    struct recipe recipe = {.kernel = "rbf:sigma=2", .n = 20, .d = 3, .l = 2};
    double *x = ref_rows(8, 5, 3, 1, 0), a[10], errors[5];
    (void)state;
    mercer_model *model = make_model(&recipe);
    mercer_rows *rows = view(x, 5, 3);
    model->orthonormal = false;
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, a, NULL, &err));
    assert_fails(mercer_model_transform(ctx, model, rows, NULL, a, errors, &err),
                 MERCER_ERR_UNSUPPORTED, "orthonormal");
    mercer_ctx_cancel(ctx);
    assert_fails(mercer_model_transform(ctx, model, rows, NULL, a, NULL, &err),
                 MERCER_ERR_CANCELLED, "cancelled");
    mercer_ctx_resume(ctx);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, a, NULL, &err));
    mercer_rows_free(rows);
    mercer_model_free(model);
    mrc_free(x);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof small_recipes / sizeof *small_recipes; i++) {
        int64_t d = small_recipes[i].d;
        double *x = ref_rows(8, 70, d, 1, 0), a[140], errors[70];
        mercer_model *model = make_model(&small_recipes[i]);
        mercer_rows *rows = view(x, 70, d);
        /* A new model each time: the first call prepares the points, which the model then keeps. */
        assert_each_allocation_fails(
            3, mercer_model_transform(ctx, model, rows, NULL, a, errors, &err),
            (mercer_model_free(model), model = make_model(&small_recipes[i])));
        mercer_rows_free(rows);
        mercer_model_free(model);
        mrc_free(x);
    }
}

/* Arrays of every type and layout get the features of transform, over several groups of rows. */
static void test_into_arrays(void **state)
{
    enum { T = 9000, L = 3, WIDE = 5 };
    static const int64_t strides[][2] = {{0, 0}, {L, 1}, {WIDE, 1}, {1, T}, {-L, 1}, {WIDE, 2}};
    const struct recipe recipe = {.kernel = "rbf:sigma=2", .n = 20, .d = 2, .l = L};
    mercer_model *model = make_model(&recipe);
    double *x = ref_rows(7, T, 2, 1.2, 0.1), *wanted = ref_alloc(T, L), *errors = ref_alloc(T, 2);
    double *storage = ref_alloc(T, WIDE);
    mercer_rows *rows = view(x, T, 2);
    (void)state;
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, wanted, errors, &err));
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++)
        for (int narrow = 0; narrow < 2; narrow++) {
            int64_t s0 = strides[s][0], s1 = strides[s][1], first = s0 < 0 ? -s0 * (T - 1) : 0;
            float *floats = (float *)storage + first;
            mercer_array a =
                matrix_array(narrow ? MERCER_F32 : MERCER_F64, storage + first, T, L, s0);
            a.stride[1] = s1;
            if (narrow)
                a.data = floats;
            if (!s0)
                s0 = L, s1 = 1;
            memset(storage, 0xFF, (size_t)T * WIDE * sizeof *storage);
            assert_ok(mercer_model_transform_into(ctx, model, rows, NULL, &a, errors + T, &err));
            assert_memory_equal(errors, errors + T, T * sizeof *errors);
            for (int64_t i = 0; i < T * L; i++) {
                int64_t at = i / L * s0 + i % L * s1;
                if (narrow)
                    assert_true(floats[at] == (float)wanted[i]);
                else
                    assert_true(storage[first + at] == wanted[i]);
            }
            if (s == 2) /* what lies between the rows is not touched */
                assert_true(narrow ? isnan(floats[L]) : isnan(storage[L]));
        }
    mercer_rows_free(rows);
    mercer_model_free(model);
    mrc_free(x);
    mrc_free(wanted);
    mrc_free(errors);
    mrc_free(storage);
}

static void test_into_arrays_refusals(void **state)
{
    enum { N = 4, L = 2 };
    const struct recipe recipe = {.kernel = "linear", .n = 20, .d = 3, .l = L};
    mercer_model *model = make_model(&recipe);
    double x[N * 3] = {1, 2, 3, 3, 2, 1, 1, 0, 1, 1e39, -2e39, 1e39}, out[64];
    mercer_rows *rows = view(x, N, 3);
    mercer_array a = matrix_array(MERCER_F32, out, N, L, L);
    (void)state;
    assert_fails(mercer_model_transform_into(ctx, model, rows, NULL, &a, NULL, &err),
                 MERCER_ERR_DATA, "row 4: feature");
    a.dtype = MERCER_F64;
    assert_ok(mercer_model_transform_into(ctx, model, rows, NULL, &a, NULL, &err));
    a.dtype = MERCER_I64;
    assert_fails(mercer_model_transform_into(ctx, model, rows, NULL, &a, NULL, &err),
                 MERCER_ERR_ARGUMENT, "float32");
    a = matrix_array(MERCER_F64, out, N, L + 1, 8);
    assert_fails(mercer_model_transform_into(ctx, model, rows, NULL, &a, NULL, &err),
                 MERCER_ERR_ARGUMENT, "4 x 3 values, where 4 x 2 were expected");
    for (int64_t s = 0; s < 2; s++) {
        a = matrix_array(MERCER_F64, out, N, L, s); /* rows in one place, or one over the other */
        assert_fails(mercer_model_transform_into(ctx, model, rows, NULL, &a, NULL, &err),
                     MERCER_ERR_ARGUMENT, "overlap");
    }
    a.struct_size = 0;
    assert_fails(mercer_model_transform_into(ctx, model, rows, NULL, &a, NULL, &err),
                 MERCER_ERR_ARGUMENT, "not initialised");
    mercer_rows_free(rows);
    mercer_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_kernel_and_centring),
        TEST(test_more_points_than_one_tile),
        TEST(test_full_basis_leaves_no_error),
        TEST(test_collapsed_equals_expanded),
        TEST(test_precomputed),
        TEST(test_bits_do_not_depend_on_neighbours),
        TEST(test_bits_of_small_weights),
        TEST(test_every_way_of_few_rows),
        TEST(test_columns_by_name),
        TEST(test_scaling_is_applied),
        TEST(test_refusals),
        TEST(test_failing_allocations),
        TEST(test_into_arrays),
        TEST(test_into_arrays_refusals),
    };
    return RUN_TESTS(tests);
}
