/* SPDX-License-Identifier: BSD-3-Clause */
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
    assert_ok(view_f64(ctx, x, 2, 2, 3, &rows, &err));
    assert_int_equal(mercer_rows_count(rows), 2);
    assert_int_equal(mercer_rows_columns(rows), 2);
    assert_null(mercer_rows_name(rows, 0));
    assert_true(rows->x == x && !rows->owned);
    mercer_rows_copy(rows, 1, 1, copy);
    assert_true(copy[0] == 3 && copy[1] == 4);
    mercer_rows_free(rows);
    mercer_rows_free(NULL);
}

/* A host that counts how often it gets an array back. */
static void count_release(void *host)
{
    ++*(int *)host;
}

static mercer_array lent(mercer_array array, int *released)
{
    array.release = count_release;
    array.host = released;
    return array;
}

/* Every type and layout gives the same numbers; what lies as rows do is not copied. */
static void test_view_layouts(void **state)
{
    enum { N = 70, D = 3 };
    static double x[N * D], aside[N * D * 8 + 1];
    static float f[N * D * 8];
    static uint8_t u[N * D * 8];
    static char odd[N * D * sizeof(double) + 1];
    static const int64_t strides[][2] = {
        {0, 0}, {D, 1}, {7, 1}, {1, N}, {2, 2 * N}, {8, 2}, {-D, 1}, {D, -1}, {0, 1}, {1, 1},
    };
    (void)state;
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++)
        for (int type = 0; type < 3; type++) {
            int64_t s0 = strides[s][0], s1 = strides[s][1];
            int released = 0, copied = s > 2;
            double got[N * D];
            mercer_rows *rows = NULL;
            if (!s0 && !s1)
                s0 = D, s1 = 1;
            int64_t first = (s0 < 0 ? -s0 * (N - 1) : 0) + (s1 < 0 ? -s1 * (D - 1) : 0);
            for (int64_t i = 0; i < N * D; i++) { /* values that overlapping rows share, too */
                int64_t at = first + i / D * s0 + i % D * s1;
                aside[at] = (double)(at % 251);
                f[at] = (float)aside[at];
                u[at] = (uint8_t)(at % 251);
                x[i] = aside[at];
            }
            const void *data = type == 0   ? (const void *)(aside + first)
                               : type == 1 ? (const void *)(f + first)
                                           : (const void *)(u + first);
            mercer_array a = lent(matrix_array((mercer_dtype)type, data, N, D, 0), &released);
            a.stride[0] = strides[s][0];
            a.stride[1] = strides[s][1];
            assert_ok(mercer_rows_view(ctx, &a, &rows, &err));
            assert_int_equal(released, copied);
            assert_int_equal(rows->dtype, type);
            assert_true(((rows->x ? rows->x : rows->packed) == data) == !copied);
            mercer_rows_copy(rows, 0, N, got);
            assert_memory_equal(got, x, sizeof x);
            mercer_rows_free(rows);
            assert_int_equal(released, 1);
        }
    for (int i = 0; i < N * D; i++)
        x[i] = i;
    memcpy(odd + 1, x, sizeof x); /* not where doubles stand */
    mercer_array a = matrix_array(MERCER_F64, odd + 1, N, D, D);
    mercer_rows *rows = NULL;
    assert_ok(mercer_rows_view(ctx, &a, &rows, &err));
    assert_true(mrc_rows_at(rows, N - 1, D - 1) == N * D - 1);
    mercer_rows_free(rows);
    a = vector_array(MERCER_F64, x, N); /* one column */
    a.stride[0] = 2;
    assert_ok(mercer_rows_view(ctx, &a, &rows, &err));
    assert_true(rows->n == N && rows->d == 1 && rows->x == x && mrc_rows_at(rows, 5, 0) == 10);
    mercer_rows_free(rows);
    a = matrix_array(MERCER_F64, x, 1, D, INT64_MAX); /* the stride of a single row means nothing */
    assert_ok(mercer_rows_view(ctx, &a, &rows, &err));
    assert_true(rows->x == x);
    mercer_rows_free(rows);
}

/* An array that is refused is given back, once. */
static void test_view_refusals(void **state)
{
    static double x[64];
    static const struct {
        mercer_array array;
        mercer_status status;
        const char *text;
    } cases[] = {
        {{.dtype = MERCER_I64, .rank = 2, .shape = {2, 2}}, MERCER_ERR_ARGUMENT, "int64"},
        {{.dtype = MERCER_I32, .rank = 2, .shape = {2, 2}}, MERCER_ERR_ARGUMENT, "int32"},
        {{.dtype = (mercer_dtype)77, .rank = 2, .shape = {2, 2}}, MERCER_ERR_ARGUMENT, "unknown"},
        {{.rank = 3, .shape = {2, 2}}, MERCER_ERR_ARGUMENT, "rank 3"},
        {{.rank = 2, .shape = {2, -2}}, MERCER_ERR_ARGUMENT, "2 x -2"},
        {{.rank = 2, .shape = {0, 2}}, MERCER_ERR_DATA, "no rows"},
        {{.rank = 2, .shape = {2, 0}, .stride = {1, 2}}, MERCER_ERR_DATA, "no columns"},
        {{.rank = 2, .shape = {2, 2}, .stride = {1, INT64_MAX}}, MERCER_ERR_MEMORY, "addressed"},
        {{.rank = 2, .shape = {1L << 40, 1L << 40}}, MERCER_ERR_MEMORY, "addressed"},
        {{.rank = 2, .shape = {INT64_MAX / 8, 2}, .stride = {0, 1}}, MERCER_ERR_BUDGET, "copy"},
        {{.rank = 2, .shape = {8, 8}}, MERCER_ERR_DATA, "row 8, column 8: nan"},
        {{.rank = 2, .shape = {8, 8}, .stride = {1, 8}}, MERCER_ERR_DATA, "row 8, column 8: nan"},
    };
    (void)state;
    x[63] = (double)NAN;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int released = 0;
        mercer_rows *rows = (mercer_rows *)x;
        mercer_array a = lent(cases[c].array, &released);
        a.data = x;
        assert_fails(mercer_rows_view(ctx, &a, &rows, &err), MERCER_ERR_ARGUMENT, "initialised");
        assert_int_equal(released, 0); /* nothing of it is known */
        a.struct_size = sizeof a;
        assert_fails(mercer_rows_view(ctx, &a, &rows, &err), cases[c].status, cases[c].text);
        assert_null(rows);
        assert_int_equal(released, 1);
        assert_int_equal(mercer_rows_view(NULL, &a, &rows, NULL), MERCER_ERR_ARGUMENT);
        assert_int_equal(mercer_rows_view(ctx, &a, NULL, NULL), MERCER_ERR_ARGUMENT);
        assert_int_equal(released, 3);
    }
}

static void test_view_sparse(void **state)
{
    static const int64_t start[] = {0, 2, 2, 3}, wide_column[] = {0, 2, 1, 0, 0};
    static const int32_t short_start[] = {0, 2, 2, 3}, column[] = {0, 2, 1, 0, 0};
    static const double value[] = {7, 8, 9, 0, 0}, apart[] = {7, -1, 8, -1, 9};
    static const float small[] = {7, 8, 9, 0, 0};
    static const uint8_t bytes[] = {7, 8, 9, 0, 0};
    const mercer_array starts[] = {vector_array(MERCER_I64, start, 4),
                                   vector_array(MERCER_I32, short_start, 4)};
    mercer_array columns[] = {vector_array(MERCER_I32, column, 3),
                              vector_array(MERCER_I64, wide_column, 3)};
    mercer_array values[] = {vector_array(MERCER_F64, value, 3), vector_array(MERCER_F32, small, 3),
                             vector_array(MERCER_U8, bytes, 3), vector_array(MERCER_F64, apart, 3)};
    double got[9];
    (void)state;
    values[3].stride[0] = 2;
    for (int k = 0; k < 16; k++) {
        int r[3] = {0};
        mercer_rows *rows = NULL;
        mercer_array s = lent(starts[k % 2], &r[0]), c = lent(columns[k / 2 % 2], &r[1]);
        mercer_array v = lent(values[k / 4], &r[2]);
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int fail = 0; rc != MERCER_OK; fail++) {
            memset(r, 0, sizeof r);
            mrc_alloc_fail_after(fail);
            rc = mercer_rows_view_csr(ctx, &s, &c, &v, 3, &rows, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK ||
                        (rc == MERCER_ERR_MEMORY && mrc_alloc_live() == live && !rows));
            assert_true(rc == MERCER_OK || (r[0] == 1 && r[1] == 1 && r[2] == 1));
        }
        assert_true(r[0] == (k % 2 > 0) && r[1] == (k / 2 % 2 > 0) && r[2] == (k / 4 > 0));
        assert_true((rows->csr.start == start) == !r[0] && (rows->csr.column == column) == !r[1] &&
                    (rows->csr.value == value) == !r[2]);
        mercer_rows_copy(rows, 0, 3, got);
        assert_memory_equal(got, ((double[]){7, 0, 8, 0, 0, 0, 0, 9, 0}), sizeof got);
        mercer_rows_free(rows);
        assert_true(r[0] == 1 && r[1] == 1 && r[2] == 1);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

static void test_view_sparse_refusals(void **state)
{
    static const int64_t start[] = {0, 2, 3}, beyond[] = {0, 9, 3}, huge[] = {0, 1, 1LL << 33};
    static const int32_t column[] = {0, 2, 1};
    static const double value[] = {7, 8, 9};
    mercer_array s = vector_array(MERCER_I64, start, 3), c = vector_array(MERCER_I32, column, 3);
    mercer_array v = vector_array(MERCER_F64, value, 3), other;
    mercer_rows *rows = NULL;
    (void)state;
    other = vector_array(MERCER_I64, beyond, 3);
    assert_fails(mercer_rows_view_csr(ctx, &other, &c, &v, 3, &rows, &err), MERCER_ERR_DATA,
                 "row 1 end at 9, and there are 3");
    other = vector_array(MERCER_F64, value, 3);
    assert_fails(mercer_rows_view_csr(ctx, &other, &c, &v, 3, &rows, &err), MERCER_ERR_ARGUMENT,
                 "starts of rows: they are float64");
    assert_fails(mercer_rows_view_csr(ctx, &s, &other, &v, 3, &rows, &err), MERCER_ERR_ARGUMENT,
                 "columns of entries");
    assert_fails(mercer_rows_view_csr(ctx, &s, &c, &s, 3, &rows, &err), MERCER_ERR_ARGUMENT,
                 "values of entries");
    other = vector_array(MERCER_I64, huge, 3);
    assert_fails(mercer_rows_view_csr(ctx, &s, &other, &v, 3, &rows, &err), MERCER_ERR_DATA,
                 "column 8589934592");
    other = vector_array(MERCER_F64, value, 2);
    assert_fails(mercer_rows_view_csr(ctx, &s, &c, &other, 3, &rows, &err), MERCER_ERR_ARGUMENT,
                 "2 values");
    other = matrix_array(MERCER_F64, value, 3, 1, 1);
    assert_fails(mercer_rows_view_csr(ctx, &s, &c, &other, 3, &rows, &err), MERCER_ERR_ARGUMENT,
                 "rank 2");
    other = vector_array(MERCER_I64, start, 0);
    assert_fails(mercer_rows_view_csr(ctx, &other, &c, &v, 3, &rows, &err), MERCER_ERR_ARGUMENT,
                 "-1 x 3");
    other = vector_array(MERCER_I64, start, 1);
    assert_fails(mercer_rows_view_csr(ctx, &other, &c, &v, 3, &rows, &err), MERCER_ERR_DATA,
                 "no rows");
    assert_fails(mercer_rows_view_csr(ctx, &s, &c, &v, 1LL << 31, &rows, &err), MERCER_ERR_ARGUMENT,
                 "2147483648");
    assert_null(rows);
}

static void test_names(void **state)
{
    static const char *const names[] = {"a", "b"}, *const others[] = {"c", "b"};
    const double x[] = {1, 2};
    mercer_rows *rows;
    (void)state;
    assert_ok(view_f64(ctx, x, 1, 2, 2, &rows, &err));
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
    assert_fails(view_f64(ctx, x, 0, 2, 2, &rows, &err), MERCER_ERR_DATA, "no rows");
    assert_null(rows);
    assert_fails(view_f64(ctx, x, 1, 0, 2, &rows, &err), MERCER_ERR_DATA, "no columns");
    assert_fails(view_f64(ctx, x, 2, 2, INT64_MIN, &rows, &err), MERCER_ERR_ARGUMENT, "stride");
    assert_fails(view_f64(ctx, x, -1, 2, 2, &rows, &err), MERCER_ERR_ARGUMENT, "-1 x 2");
    assert_fails(view_f64(ctx, NULL, 1, 2, 2, &rows, &err), MERCER_ERR_ARGUMENT, "no data");
    assert_fails(view_f64(ctx, x, INT64_MAX / 2, 2, 16, &rows, &err), MERCER_ERR_MEMORY,
                 "addressed");
    x[700] = (double)NAN;
    assert_fails(view_f64(ctx, x, 2, 600, 600, &rows, &err), MERCER_ERR_DATA,
                 "row 2, column 101: nan is not finite");
    x[700] = 1e308; /* sums overflow, values do not */
    x[701] = 1e308;
    assert_ok(view_f64(ctx, x, 2, 600, 600, &rows, &err));
    mercer_rows_free(rows);
    x[0] = -HUGE_VAL;
    assert_fails(view_f64(ctx, x, 2, 600, 600, &rows, &err), MERCER_ERR_DATA,
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
    assert_ok(view_f64(ctx, x, 3, 2, 3, &rows[0], &err));
    assert_ok(view_csr(ctx, start, column, value, 3, 3, &rows[1], &err));
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
    const double x[] = {1, 2, 3};
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    (void)state;
    for (int k = 0; rc != MERCER_OK; k++) {
        mercer_rows *rows = NULL;
        mrc_alloc_fail_after(k);
        rc = view_f64(ctx, x, 2, 2, 1, &rows, &err); /* copied: its rows overlap */
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
        TEST(test_view),         TEST(test_names),
        TEST(test_view_layouts), TEST(test_view_refusals),
        TEST(test_view_sparse),  TEST(test_view_sparse_refusals),
        TEST(test_refusals),     TEST(test_targets_of_nothing),
        TEST(test_some_rows),    TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
