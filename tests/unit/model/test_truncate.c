/* SPDX-License-Identifier: BSD-3-Clause */
/* The first components of a model: the same features, the error that grows, and what is refused. */
#include "model_support.h"

static const struct recipe recipes[] = {
    {.kernel = "rbf:sigma=2", .center = MRC_CENTER_EXACT, .n = 90, .d = 5, .l = 9, .basis = 60},
    {.kernel = "rbf:sigma=2", .center = MRC_CENTER_SPAN, .n = 40, .d = 5, .l = 9, .basis = 20},
    {.kernel = "poly:degree=3,gamma=1,coef0=1", .n = 30, .d = 4, .l = 9},
    {.kernel = "linear", .center = MRC_CENTER_EXACT, .n = 50, .d = 12, .l = 9, .collapse = true},
};
enum { RECIPES = sizeof recipes / sizeof *recipes, NEW_ROWS = 70 };

static void test_features_are_the_first_ones(void **state)
{
    (void)state;
    for (int r = 0; r < RECIPES; r++) {
        mercer_model *model = make_model(&recipes[r]);
        int64_t l = model->components;
        double *x = ref_rows(99, NEW_ROWS, recipes[r].d, 1, 0);
        double *all = ref_alloc(NEW_ROWS, l), *first = ref_alloc(NEW_ROWS, l);
        mercer_rows *rows = view(x, NEW_ROWS, recipes[r].d);
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, all, NULL, &err));
        for (int64_t kept = 1; kept <= l; kept++) {
            mercer_model *shorter = NULL;
            assert_ok(mercer_model_truncate(ctx, model, kept, &shorter, &err));
            assert_int_equal(shorter->components, kept);
            assert_ok(mercer_model_transform(ctx, shorter, rows, NULL, first, NULL, &err));
            for (int64_t i = 0; i < NEW_ROWS; i++)
                for (int64_t j = 0; j < kept; j++)
                    assert_true(fabs(first[i * kept + j] - all[i * l + j]) <=
                                1e-12 * (1 + fabs(all[i * l + j])));
            mercer_model_free(shorter);
        }
        mercer_rows_free(rows);
        mercer_model_free(model);
        mrc_free(x);
        mrc_free(all);
        mrc_free(first);
    }
}

static void test_error_grows_by_the_dropped_spectrum(void **state)
{
    mercer_model *model = make_model(&recipes[0]), *shorter = NULL;
    double dropped = 0;
    (void)state;
    model->reconstruction_error = 0.25;
    for (int64_t j = 4; j < model->components; j++)
        dropped += model->spectrum[j] / (double)model->rows;
    assert_ok(mercer_model_truncate(ctx, model, 4, &shorter, &err));
    assert_true(fabs(shorter->reconstruction_error - 0.25 - dropped) < 1e-15);
    mercer_model_free(shorter);

    assert_ok(mercer_model_truncate(ctx, model, model->components, &shorter, &err));
    assert_true(shorter->reconstruction_error == 0.25);
    mercer_model_free(shorter);

    mrc_free(model->spectrum); /* a method that has none does not know the new error */
    model->spectrum = NULL;
    assert_ok(mercer_model_truncate(ctx, model, 4, &shorter, &err));
    assert_true(isnan(shorter->reconstruction_error));
    mercer_model_free(shorter);
    mercer_model_free(model);
}

static void test_everything_else_is_kept(void **state)
{
    double *x = recipe_rows(&recipes[0]);
    mercer_model *model = unsealed_model(&recipes[0], x), *shorter = NULL;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    mercer_rows *rows = view(x, recipes[0].n, recipes[0].d);
    (void)state;
    assert_ok(mrc_scale_fit(&model->scale, MRC_SCALE_STANDARD, rows, &err));
    assert_ok(mrc_copy_names(&model->column_names, (char *const *)names, 5, &err));
    assert_ok(mrc_strdup(&model->command, "mercer fit", &err));
    assert_ok(mrc_strdup(&model->data_hash, "crc32:1", &err));
    assert_ok(mrc_alloc(&model->selected, 2, sizeof *model->selected, &err));
    model->selected[1] = 7;
    model->selected_count = 2;
    model->seed = 5;
    assert_ok(mrc_model_seal(model, ctx, &err));
    assert_ok(mercer_model_truncate(ctx, model, 2, &shorter, &err));

    mercer_model_info before = {.struct_size = sizeof before}, after = before;
    mercer_model_get_info(model, &before);
    mercer_model_get_info(shorter, &after);
    assert_string_equal(after.method, before.method);
    assert_string_equal(after.kernel, before.kernel);
    assert_string_equal(after.scale, "standard");
    assert_string_equal(after.command, before.command);
    assert_string_equal(after.data_hash, before.data_hash);
    assert_string_equal(mercer_model_column_name(shorter, 4), "e");
    assert_int_equal(after.seed, 5);
    assert_int_equal(after.rows, before.rows);
    assert_int_equal(after.expansion_points, before.expansion_points);
    assert_int_equal(after.selected_count, 2);
    assert_int_equal(after.selected[1], 7);
    assert_memory_equal(after.spectrum, before.spectrum, 2 * sizeof(double));
    assert_memory_equal(shorter->scale.shift, model->scale.shift, 5 * sizeof(double));
    assert_memory_equal(shorter->scale.factor, model->scale.factor, 5 * sizeof(double));
    mercer_rows_free(rows);
    mercer_model_free(shorter);
    mercer_model_free(model);
    mrc_free(x);
}

static void keep_notice(void *host, const mercer_notice *given)
{
    snprintf(host, 200, "%.199s", given->text);
}

/* The threshold is one for errors with all components. */
static void test_novelty_threshold_is_left_out(void **state)
{
    mercer_model *model = make_model(&recipes[0]), *shorter = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    char text[200] = "";
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, text);
    model->novelty_share = 0.1;
    model->novelty_threshold = 0.5;
    assert_ok(mercer_model_truncate(ctx, model, model->components, &shorter, &err));
    mercer_model_get_info(shorter, &info);
    assert_true(info.novelty_threshold == 0.5 && info.novelty_share == 0.1 && !*text);
    mercer_model_free(shorter);
    assert_ok(mercer_model_truncate(ctx, model, 3, &shorter, &err));
    mercer_model_get_info(shorter, &info);
    assert_true(isnan(info.novelty_threshold) && info.novelty_share == 0);
    assert_string_equal(text, "the novelty threshold was learnt with 9 components and is left out");
    mercer_ctx_set_notice(ctx, NULL, NULL);
    mercer_model_free(shorter);
    mercer_model_free(model);
}

static void test_numbers_that_cannot_be(void **state)
{
    mercer_model *model = make_model(&recipes[0]), *shorter = model;
    (void)state;
    assert_fails(mercer_model_truncate(ctx, model, 0, &shorter, &err), MERCER_ERR_ARGUMENT,
                 "0 components cannot be kept: the model has 9, so 1 to 9 are possible");
    assert_null(shorter);
    assert_fails(mercer_model_truncate(ctx, model, 10, &shorter, &err), MERCER_ERR_ARGUMENT,
                 "10 components cannot be kept");
    mercer_model_free(model);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (int r = 0; r < RECIPES; r++) {
        mercer_model *model = make_model(&recipes[r]), *shorter = NULL;
        mercer_status rc = MERCER_ERR_MEMORY;
        int64_t live = mrc_alloc_live();
        for (int64_t k = 0; rc != MERCER_OK; k++) {
            mrc_alloc_fail_after(k);
            rc = mercer_model_truncate(ctx, model, 3, &shorter, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(shorter != NULL, rc == MERCER_OK);
            mercer_model_free(shorter);
            assert_int_equal(mrc_alloc_live(), live);
        }
        mercer_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_features_are_the_first_ones), TEST(test_error_grows_by_the_dropped_spectrum),
        TEST(test_everything_else_is_kept),     TEST(test_novelty_threshold_is_left_out),
        TEST(test_numbers_that_cannot_be),      TEST(test_failing_allocations),
    };
    return RUN_TESTS(tests);
}
