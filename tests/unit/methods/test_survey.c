/* SPDX-License-Identifier: BSD-3-Clause */
/* What a survey tells of rows, against plain counts and the fits that it stands for. */
#include "classes_support.h"

#include "base/memory.h"

#include <stdio.h>

enum { N = 240, D = 12 };
CLASSES_GROUP(N)

static int up(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static double share_of(const mercer_rows *given, const char *method, const char *kernel,
                       const char *scale)
{
    mercer_fit_options options;
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.scale = scale;
    options.components = 10;
    assert_ok(mercer_fit(ctx, &options, given, NULL, &model, &report, err));
    mercer_model_free(model);
    return report.projection_variance / report.total_variance;
}

static void check_shares(const mercer_rows *given, const char *scale)
{
    mercer_survey told = {.struct_size = sizeof told};
    char kernel[64];
    assert_ok(mercer_rows_survey(ctx, given, scale, &told, err));
    snprintf(kernel, sizeof kernel, "rbf:sigma=%.17g", told.median_distance);
    assert_true(fabs(told.linear_share - share_of(given, "pca", NULL, scale)) < 1e-9);
    assert_true(fabs(told.kernel_share - share_of(given, "kpca", kernel, scale)) < 1e-9);
}

/* Rows with a period, of which the number looked at takes one phase; and a value that is rare. */
static void test_rows_with_a_period(void **state)
{
    enum { ROWS = 24000, COLUMNS = 3 };
    double *own = normal_rows(4, ROWS, COLUMNS, 0, 1);
    mercer_survey told = {.struct_size = sizeof told};
    (void)state;
    for (int64_t i = 0; i < ROWS; i++) {
        own[i * COLUMNS] = (double)(i % 24);
        own[i * COLUMNS + 1] = i == 12345;
    }
    mercer_rows *given = view(ctx, own, ROWS, COLUMNS);
    assert_ok(mercer_rows_survey(ctx, given, NULL, &told, err));
    assert_int_equal(told.looked_at, 1000);
    assert_int_equal(told.constant_columns, 0);
    assert_int_equal(told.widest_column, 0);
    assert_true(told.least < 0 && told.largest == 23);
    assert_true(told.median_distance > 5 && told.median_distance < 9); /* that of hours: 7 */
    mercer_rows_free(given);
    free(own);
}

/* Spreads that have no squares. */
static void test_spreads_of_any_unit(void **state)
{
    enum { ROWS = 50, COLUMNS = 4 };
    static const double units[] = {1e-250, 1e-160, 1, 1e200, 1e300};
    (void)state;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        double *own = normal_rows(4, ROWS, COLUMNS, 3, 1);
        mercer_survey told = {.struct_size = sizeof told};
        for (int64_t i = 0; i < ROWS * COLUMNS; i++)
            own[i] *= units[u] * (i % COLUMNS == 2 ? 100 : 1);
        mercer_rows *given = view(ctx, own, ROWS, COLUMNS);
        assert_ok(mercer_rows_survey(ctx, given, "standard", &told, err));
        assert_int_equal(told.widest_column, 2);
        assert_true(told.spread_ratio > 80 && told.spread_ratio < 120);
        mercer_rows_free(given);
        free(own);
    }
}

static void test_columns_and_repeats(void **state)
{
    double *own = normal_rows(4, N, D, 3, 1), *distance = new_doubles(N * N);
    int64_t pairs = 0;
    mercer_survey told = {.struct_size = sizeof told};
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        own[i * D + 2] = 5;
        own[i * D + 7] *= 400;
    }
    for (int64_t i = 0; i < 9; i++) /* rows 200 to 208 are rows 0 to 2, three times */
        memcpy(own + (200 + i) * D, own + i % 3 * D, D * sizeof *own);
    mercer_rows *given = view(ctx, own, N, D);
    assert_ok(mercer_rows_survey(ctx, given, NULL, &told, err));
    assert_int_equal(told.looked_at, N);
    assert_int_equal(told.constant_columns, 1);
    assert_int_equal(told.repeated_rows, 9);
    assert_int_equal(told.widest_column, 7);
    assert_true(told.spread_ratio > 300 && told.spread_ratio < 500);
    assert_false(told.whole_numbers || told.square_symmetric);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < i; j++) {
            double sum = 0;
            for (int64_t k = 0; k < D; k++)
                sum += pow(own[i * D + k] - own[j * D + k], 2);
            if (sum > 0)
                distance[pairs++] = sqrt(sum);
        }
    qsort(distance, (size_t)pairs, sizeof *distance, up);
    /* The median of all pairs may count those that are equal. */
    assert_true(fabs(told.median_distance / distance[pairs / 2] - 1) < 0.01);
    check_shares(given, NULL);
    check_shares(given, "standard");
    mercer_rows_free(given);
    free(own);
    free(distance);
}

/* Every number of rows: none is looked at twice. */
static void test_samples_have_no_row_twice(void **state)
{
    static const int64_t sizes[] = {2, 3, 7, 49, 97, 98, 569, 999, 1000, 1001, 1777, 4001};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        mercer_survey told = {.struct_size = sizeof told};
        double *own = normal_rows(8, sizes[s], 3, 0, 1);
        mercer_rows *given = view(ctx, own, sizes[s], 3);
        assert_ok(mercer_rows_survey(ctx, given, NULL, &told, err));
        assert_int_equal(told.looked_at, sizes[s] < 1000 ? sizes[s] : 1000);
        assert_int_equal(told.repeated_rows, 0);
        mercer_rows_free(given);
        free(own);
    }
}

static void test_matrices_and_odd_rows(void **state)
{
    double *own = normal_rows(9, N, 3, 0, 1), *matrix = new_doubles(N * N), two[] = {1, 1};
    mercer_survey told = {.struct_size = sizeof told};
    (void)state;
    for (int64_t i = 0; i < N * N; i++) {
        const double *a = own + i / N * 3, *b = own + i % N * 3;
        matrix[i] = exp(-pow(a[0] - b[0], 2) - pow(a[1] - b[1], 2) - pow(a[2] - b[2], 2));
    }
    mercer_rows *given = view(ctx, matrix, N, N);
    assert_ok(mercer_rows_survey(ctx, given, "standard", &told, err));
    assert_int_equal(told.square_symmetric, 1);
    assert_true(fabs(told.kernel_share - share_of(given, "kpca", "precomputed", NULL)) < 1e-9);
    mercer_rows_free(given);
    matrix[1] += 0.1;
    given = view(ctx, matrix, N, N);
    assert_ok(mercer_rows_survey(ctx, given, NULL, &told, err));
    assert_int_equal(told.square_symmetric, 0);
    mercer_rows_free(given);
    given = view(ctx, two, 2, 1); /* which do not differ */
    assert_ok(mercer_rows_survey(ctx, given, NULL, &told, err));
    assert_true(isnan(told.linear_share) && isnan(told.spread_ratio));
    assert_int_equal(told.constant_columns, 1);
    mercer_rows_free(given);
    given = view(ctx, two, 1, 2);
    assert_ok(mercer_rows_survey(ctx, given, NULL, &told, err));
    assert_int_equal(told.looked_at, 1);
    mercer_rows_free(given);
    assert_int_equal(mercer_rows_survey(ctx, rows, "wrong", &told, NULL), MERCER_ERR_ARGUMENT);
    free(own);
    free(matrix);
}

static void test_failing_allocations(void **state)
{
    const int64_t alive = mrc_alloc_live();
    mercer_status rc;
    int64_t after = 0;
    (void)state;
    do {
        mercer_survey told = {.struct_size = sizeof told};
        mrc_alloc_fail_after(after++);
        rc = mercer_rows_survey(ctx, rows, "standard", &told, NULL);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), alive);
    } while (rc != MERCER_OK && after < 10000);
    assert_int_equal(rc, MERCER_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_with_a_period),
        cmocka_unit_test(test_spreads_of_any_unit),
        cmocka_unit_test(test_columns_and_repeats),
        cmocka_unit_test(test_samples_have_no_row_twice),
        cmocka_unit_test(test_matrices_and_odd_rows),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
