/* Rows: views, names, copies, and what is refused. */
#include "data_support.h"

#include "data/rows.h"

#include <math.h>

static void test_view(void **state)
{
    const double x[] = {1, 2, 9, 3, 4, 9};
    double copy[2];
    mercer_rows *rows;
    (void)state;
    assert_ok(mercer_rows_view(ctx, x, 2, 2, 3, &rows, &err));
    assert_int_equal(mercer_rows_count(rows), 2);
    assert_int_equal(mercer_rows_columns(rows), 2);
    assert_null(mercer_rows_name(rows, 0));
    assert_true(rows->x == x && !rows->owned);
    mercer_rows_copy(rows, 1, 1, copy);
    assert_true(copy[0] == 3 && copy[1] == 4);
    mercer_rows_free(rows);
    mercer_rows_free(NULL);
}

static void test_names(void **state)
{
    static const char *const names[] = {"a", "b"}, *const others[] = {"c", "b"};
    const double x[] = {1, 2};
    mercer_rows *rows;
    (void)state;
    assert_ok(mercer_rows_view(ctx, x, 1, 2, 2, &rows, &err));
    assert_int_equal(mrc_rows_find(rows, "a"), -1);
    assert_ok(mercer_rows_set_names(rows, names, &err));
    assert_ok(mercer_rows_set_names(rows, others, &err));
    assert_string_equal(mercer_rows_name(rows, 0), "c");
    assert_null(mercer_rows_name(rows, 2));
    assert_null(mercer_rows_name(rows, -1));
    assert_int_equal(mrc_rows_find(rows, "b"), 1);
    assert_int_equal(mrc_rows_find(rows, "x"), -1);
    assert_fails(mercer_rows_set_names(rows, (const char *const[]){"a", NULL}, &err),
                 MERCER_ERR_ARGUMENT, "column 2");
    assert_ok(mercer_rows_set_names(rows, NULL, &err));
    assert_null(mercer_rows_name(rows, 0));
    mercer_rows_free(rows);
}

static void test_refusals(void **state)
{
    static double x[2000];
    mercer_rows *rows = (mercer_rows *)x;
    (void)state;
    assert_fails(mercer_rows_view(ctx, x, 0, 2, 2, &rows, &err), MERCER_ERR_DATA, "no rows");
    assert_null(rows);
    assert_fails(mercer_rows_view(ctx, x, 1, 0, 2, &rows, &err), MERCER_ERR_DATA, "no columns");
    assert_fails(mercer_rows_view(ctx, x, 1, 2, 1, &rows, &err), MERCER_ERR_ARGUMENT, "stride");
    assert_fails(mercer_rows_view(ctx, x, -1, 2, 2, &rows, &err), MERCER_ERR_ARGUMENT, "-1 x 2");
    assert_fails(mercer_rows_view(ctx, NULL, 1, 2, 2, &rows, &err), MERCER_ERR_ARGUMENT, "view");
    assert_fails(mercer_rows_view(ctx, x, INT64_MAX / 2, 2, 16, &rows, &err), MERCER_ERR_MEMORY,
                 "addressed");
    x[700] = (double)NAN;
    assert_fails(mercer_rows_view(ctx, x, 2, 600, 600, &rows, &err), MERCER_ERR_DATA,
                 "row 2, column 101: nan is not finite");
    x[700] = 1e308; /* sums overflow, values do not */
    x[701] = 1e308;
    assert_ok(mercer_rows_view(ctx, x, 2, 600, 600, &rows, &err));
    mercer_rows_free(rows);
    x[0] = -HUGE_VAL;
    assert_fails(mercer_rows_view(ctx, x, 2, 600, 600, &rows, &err), MERCER_ERR_DATA,
                 "row 1, column 1: -inf is not finite");
    assert_null(rows);
}

static void test_targets_of_nothing(void **state)
{
    mercer_targets none = {0};
    (void)state;
    assert_int_equal(mercer_targets_kind(NULL), MERCER_TARGET_NONE);
    assert_int_equal(mercer_targets_kind(&none), MERCER_TARGET_NONE);
    assert_int_equal(mercer_targets_classes(&none), 0);
    assert_null(mercer_targets_class_name(&none, 0));
    assert_null(mercer_targets_name(&none, 0));
    mrc_targets_destroy(&none);
    mercer_table_free(NULL);
}

static void test_some_rows(void **state)
{
    const double x[] = {1, 2, 9, 3, 4, 9, 5, 6, 9};
    const int64_t start[] = {0, 2, 2, 3}, which[] = {2, 0, 1, 2};
    const int32_t column[] = {0, 2, 1};
    const double value[] = {7, 8, 9};
    mercer_rows *rows[2], *some = NULL;
    double copy[12];
    (void)state;
    assert_ok(mercer_rows_view(ctx, x, 3, 2, 3, &rows[0], &err));
    assert_ok(mercer_rows_view_csr(ctx, start, column, value, 3, 3, &rows[1], &err));
    for (int i = 0; i < 2; i++) {
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int k = 0; rc != MERCER_OK; k++) {
            mrc_alloc_fail_after(k);
            rc = mrc_rows_take(rows[i], which, 4, &some, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || (rc == MERCER_ERR_MEMORY && mrc_alloc_live() == live));
        }
        assert_int_equal(mercer_rows_is_sparse(some), i);
        mercer_rows_copy(some, 0, 4, copy);
        assert_memory_equal(copy,
                            i ? ((double[]){0, 9, 0, 7, 0, 8, 0, 0, 0, 0, 9, 0})
                              : ((double[]){5, 6, 1, 2, 3, 4, 5, 6}),
                            (i ? 12 : 8) * sizeof(double));
        mercer_rows_free(some);
        mercer_rows_free(rows[i]);
    }
}

static void test_every_allocation_fails(void **state)
{
    static const char *const names[] = {"a", "b"};
    const double x[] = {1, 2};
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    (void)state;
    for (int k = 0; rc != MERCER_OK; k++) {
        mercer_rows *rows = NULL;
        mrc_alloc_fail_after(k);
        rc = mercer_rows_view(ctx, x, 1, 2, 2, &rows, &err);
        if (rc == MERCER_OK)
            rc = mercer_rows_set_names(rows, names, &err);
        mrc_alloc_fail_after(-1);
        mercer_rows_free(rows);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_view),      TEST(test_names),
        TEST(test_refusals),  TEST(test_targets_of_nothing),
        TEST(test_some_rows), TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
