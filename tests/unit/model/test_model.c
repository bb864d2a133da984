/* SPDX-License-Identifier: BSD-3-Clause */
/* The model as an object: what sealing accepts and refuses, and what info shows. */
#include "model_support.h"

static const struct recipe small = {
    .kernel = "rbf:sigma=2", .center = MRC_CENTER_EXACT, .n = 12, .d = 3, .l = 2, .basis = 8};

static mercer_model *unsealed(const struct recipe *recipe)
{
    double *x = recipe_rows(recipe);
    mercer_model *model = unsealed_model(recipe, x);
    mrc_free(x);
    return model;
}

static void test_free_accepts_null_and_empty(void **state)
{
    mercer_model *model = NULL;
    (void)state;
    mercer_model_free(NULL);
    assert_ok(mrc_model_new(&model, &err));
    mercer_model_free(model);
}

static void test_sealing_builds_the_derived_parts(void **state)
{
    mercer_model *model = unsealed(&small);
    int64_t l = model->components;
    (void)state;
    assert_ok(mrc_model_seal(model, ctx, &err));
    assert_string_equal(model->kernel_text, "rbf:sigma=2");
    const mrc_points *points = NULL;
    assert_ok(mrc_model_points(model, ctx, &points, &err));
    assert_int_equal(points->n, 12);
    assert_ptr_equal(model->z_rows->x, model->z);
    for (int64_t i = 0; i < model->basis_points; i++) {
        assert_memory_equal(model->extended + i * (l + 1), model->coefficients + i * l,
                            (size_t)l * sizeof(double));
        assert_true(model->extended[i * (l + 1) + l] == model->mean[i]);
    }
    mercer_model_free(model);
}

/* One change that makes a model useless, and words of the refusal. */
struct fault {
    void (*spoil)(mercer_model *model);
    const char *words;
};

static void no_components(mercer_model *model)
{
    model->components = 0;
}
static void basis_beyond_points(mercer_model *model)
{
    model->basis_points = 13;
}
static void infinite_point(mercer_model *model)
{
    model->z[5] = INFINITY;
}
static void nan_coefficient(mercer_model *model)
{
    model->coefficients[3] = NAN;
}
static void nan_mean(mercer_model *model)
{
    model->mean[3] = NAN;
}
static void no_method(mercer_model *model)
{
    mrc_free(model->method);
    model->method = NULL;
}
static void no_coefficients(mercer_model *model)
{
    mrc_free(model->coefficients);
    model->coefficients = NULL;
}
static void no_points(mercer_model *model)
{
    mrc_free(model->z);
    model->z = NULL;
}
static void mean_without_centring(mercer_model *model)
{
    model->center = MRC_CENTER_NONE;
}
static void centring_without_mean(mercer_model *model)
{
    mrc_free(model->mean);
    model->mean = NULL;
}
static void selected_beyond_rows(mercer_model *model)
{
    model->selected = NULL;
    assert_ok(mrc_alloc(&model->selected, 1, sizeof(int64_t), &err));
    model->selected[0] = 12;
    model->selected_count = 1;
}
static void open_kernel(mercer_model *model)
{
    model->kernel.part[0].gamma = MRC_KEYWORD(0);
}
static void scaling_without_numbers(mercer_model *model)
{
    model->scale.kind = MRC_SCALE_STANDARD;
    model->scale.d = 3;
}
static void scaling_of_other_columns(mercer_model *model)
{
    model->scale.kind = MRC_SCALE_UNIT;
    model->scale.d = 2;
}
static void weights_too(mercer_model *model)
{
    model->weights = ref_alloc(3, 2);
}
static void variance_of_fewer_points(mercer_model *model)
{
    model->variance_rank = model->basis_points - 1;
    model->variance = ref_alloc(model->variance_rank, model->variance_rank);
    model->variance_offsets = ref_alloc(model->variance_rank, 1);
}
static void variance_without_offsets(mercer_model *model)
{
    model->variance_rank = model->basis_points;
    model->variance = ref_alloc(model->variance_rank, model->variance_rank);
}
static void unsorted_errors(mercer_model *model)
{
    model->held_errors_count = 3;
    model->held_errors = ref_alloc(3, 1);
    model->held_errors[0] = 1;
}
static void unsorted_residuals(mercer_model *model)
{
    model->head.outputs = 2;
    model->held_residuals_count = 2;
    model->held_residuals = ref_alloc(2, 2);
    model->held_residuals[1] = 1; /* of the second output */
}
static void precomputed_with_points(mercer_model *model)
{
    model->kernel.part[0].def = &mrc_kernel_def_precomputed;
}

static void test_sealing_refuses_what_does_not_fit(void **state)
{
    static const struct fault faults[] = {
        {no_components, "0 components"},
        {basis_beyond_points, "13 of 12 points"},
        {infinite_point, "z holds"},
        {nan_coefficient, "coefficients holds"},
        {nan_mean, "mean holds"},
        {no_method, "method"},
        {no_coefficients, "missing"},
        {no_points, "missing"},
        {mean_without_centring, "with a mean"},
        {centring_without_mean, "without a mean"},
        {selected_beyond_rows, "selected row 12"},
        {open_kernel, "without a number"},
        {scaling_without_numbers, "scaling"},
        {scaling_of_other_columns, "scaling of 2 columns"},
        {weights_too, "beside"},
        {variance_of_fewer_points, "parts of the variance"},
        {variance_without_offsets, "parts of the variance"},
        {unsorted_errors, "held_errors is not in increasing order"},
        {unsorted_residuals, "held_residuals is not in increasing order"},
        {precomputed_with_points, "missing"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        mercer_model *model = unsealed(&small);
        faults[i].spoil(model);
        mercer_status rc = mrc_model_seal(model, ctx, &err);
        assert_int_not_equal(rc, MERCER_OK);
        assert_fails(rc, err.code, faults[i].words);
        mercer_model_free(model);
    }
}

static void test_sealing_refuses_a_bad_collapsed_model(void **state)
{
    struct recipe recipe = {
        .kernel = "linear", .center = MRC_CENTER_EXACT, .n = 12, .d = 3, .l = 2, .collapse = true};
    mercer_model *model = unsealed(&recipe);
    (void)state;
    model->kernel.part[0].def = &mrc_kernel_def_cosine;
    assert_fails(mrc_model_seal(model, ctx, &err), MERCER_ERR_ARGUMENT, "no weights");
    model->kernel.part[0].def = &mrc_kernel_def_linear;
    mrc_free(model->input_center);
    model->input_center = NULL;
    assert_fails(mrc_model_seal(model, ctx, &err), MERCER_ERR_ARGUMENT, "centre");
    model->center = MRC_CENTER_NONE;
    assert_ok(mrc_model_seal(model, ctx, &err));
    mercer_model_free(model);
}

static void test_info(void **state)
{
    mercer_model *model = make_model(&small);
    mercer_model_info info = {.struct_size = sizeof info};
    (void)state;
    mercer_model_get_info(model, &info);
    assert_string_equal(info.method, "kpca");
    assert_string_equal(info.kernel, "rbf:sigma=2");
    assert_string_equal(info.center, "exact");
    assert_string_equal(info.scale, "none");
    assert_int_equal(info.components, 2);
    assert_int_equal(info.columns, 3);
    assert_int_equal(info.rows, 12);
    assert_int_equal(info.expansion_points, 12);
    assert_int_equal(info.orthonormal, 1);
    assert_true(info.spectrum[0] >= info.spectrum[1]);
    assert_null(info.selected);
    assert_string_equal(info.version, "0.1.0");
    assert_null(info.command);
    assert_int_equal(info.struct_size, sizeof info);

    /* A program built against an older, shorter struct gets only that. */
    mercer_model_info shorter;
    memset(&shorter, 0x55, sizeof shorter);
    shorter.struct_size = offsetof(mercer_model_info, columns);
    mercer_model_get_info(model, &shorter);
    assert_int_equal(shorter.components, 2);
    assert_int_equal(shorter.columns, 0x5555555555555555);
    assert_null(mercer_model_column_name(model, 0));
    mercer_model_free(model);
}

static void test_centre_names(void **state)
{
    (void)state;
    assert_string_equal(mrc_center_name(MRC_CENTER_NONE), "none");
    assert_string_equal(mrc_center_name(MRC_CENTER_EXACT), "exact");
    assert_string_equal(mrc_center_name(MRC_CENTER_SPAN), "span");
}

static void test_failing_allocations(void **state)
{
    int64_t k = 0;
    (void)state;
    for (;; k++) {
        int64_t live = mrc_alloc_live();
        mercer_model *model = unsealed(&small);
        mrc_alloc_fail_after(k);
        mercer_status rc = mrc_model_seal(model, ctx, &err);
        mrc_alloc_fail_after(-1);
        mercer_model_free(model);
        assert_int_equal(mrc_alloc_live(), live);
        if (rc == MERCER_OK)
            break;
        assert_int_equal(rc, MERCER_ERR_MEMORY);
    }
    assert_true(k >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_free_accepts_null_and_empty),
        TEST(test_sealing_builds_the_derived_parts),
        TEST(test_sealing_refuses_what_does_not_fit),
        TEST(test_sealing_refuses_a_bad_collapsed_model),
        TEST(test_info),
        TEST(test_centre_names),
        TEST(test_failing_allocations),
    };
    return RUN_TESTS(tests);
}
