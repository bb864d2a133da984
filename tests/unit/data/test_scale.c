/* SPDX-License-Identifier: BSD-3-Clause */
/* Scaling: the definitions, and data that break careless formulas. */
#include "data_support.h"

#include "base/rng.h"
#include "data/scale.h"

#include <float.h>
#include <math.h>

enum { N = 200, D = 3 };

static mercer_rows *rows_of(const double *x, int64_t n, int64_t d)
{
    mercer_rows *rows;
    assert_ok(view_f64(ctx, x, n, d, d, &rows, &err));
    return rows;
}

static mercer_rows *scaled_of(const double *x, int64_t n, int64_t d, const char *kind)
{
    mercer_rows *rows = rows_of(x, n, d), *scaled;
    assert_ok(mercer_rows_scale(ctx, rows, kind, &scaled, &err));
    mercer_rows_free(rows);
    assert_int_equal(mrc_first_not_finite(scaled->x, n * d), -1);
    return scaled;
}

static void fill(double *x, double shift, double width)
{
    mrc_rng rng;
    mrc_rng_seed(&rng, 9);
    for (int i = 0; i < N * D; i++)
        x[i] = shift + width * mrc_rng_normal(&rng);
}

/* Mean and mean square of a column or row, in long double. */
static void moments(const double *x, int64_t n, int64_t step, long double *mean,
                    long double *square)
{
    *mean = *square = 0;
    for (int64_t i = 0; i < n; i++) {
        *mean += x[i * step] / (long double)n;
        *square += (long double)x[i * step] * x[i * step] / (long double)n;
    }
}

static void test_names(void **state)
{
    mrc_scale_kind kind;
    (void)state;
    for (int i = MRC_SCALE_NONE; i <= MRC_SCALE_ROBUST; i++) {
        assert_ok(mrc_scale_parse(mrc_scale_name((mrc_scale_kind)i), &kind, &err));
        assert_int_equal(kind, i);
    }
    assert_ok(mrc_scale_parse(NULL, &kind, &err));
    assert_int_equal(kind, MRC_SCALE_NONE);
    assert_fails(mrc_scale_parse("zscore", &kind, &err), MERCER_ERR_ARGUMENT,
                 "unknown scaling 'zscore' (known: none, standard, robust, minmax, norm, unit, "
                 "rowstandard)");
}

static void test_columns(void **state)
{
    static const double shifts[] = {0, 1e8, -3e5, 1e300, 0}, widths[] = {1, 1e-3, 7, 1e299, 1e-300};
    double x[N * D];
    long double mean, square;
    (void)state;
    for (int way = 0; way < 5; way++) {
        fill(x, shifts[way], widths[way]);
        mercer_rows *standard = scaled_of(x, N, D, "standard"), *norm = scaled_of(x, N, D, "norm"),
                    *minmax = scaled_of(x, N, D, "minmax");
        for (int j = 0; j < D; j++) {
            /* The mean of the data is a double: its rounding shows after division by the sd. */
            long double rounding = 1e-15L + 2e-16L * fabs(shifts[way]) / widths[way];
            moments(standard->x + j, N, D, &mean, &square);
            assert_true(fabsl(mean) < rounding && fabsl(square - mean * mean - 1) < 1e-13L);
            moments(norm->x + j, N, D, &mean, &square);
            assert_true(fabsl(mean) < rounding && fabsl((square - mean * mean) * N - 1) < 1e-13L);
            double least = 1, most = 0;
            for (int i = 0; i < N; i++) {
                least = fmin(least, minmax->x[i * D + j]);
                most = fmax(most, minmax->x[i * D + j]);
            }
            assert_true(least == 0 && most <= 1 && most > 1 - 1e-15);
        }
        mercer_rows_free(standard);
        mercer_rows_free(norm);
        mercer_rows_free(minmax);
    }
}

static void test_rows(void **state)
{
    static const double widths[] = {1, 1e200, 1e-200, 1e-310};
    double x[N * D];
    long double mean, square;
    (void)state;
    for (int way = 0; way < 4; way++) {
        fill(x, 0, widths[way]);
        mercer_rows *unit = scaled_of(x, N, D, "unit"),
                    *standard = scaled_of(x, N, D, "rowstandard");
        for (int i = 0; i < N; i++) {
            moments(unit->x + i * D, D, 1, &mean, &square);
            assert_true(fabsl(square * D - 1) < 1e-14L);
            assert_true((unit->x[i * D] > 0) == (x[i * D] > 0));
            moments(standard->x + i * D, D, 1, &mean, &square);
            assert_true(fabsl(mean) < 1e-14L && fabsl(square - mean * mean - 1) < 1e-13L);
        }
        mercer_rows_free(unit);
        mercer_rows_free(standard);
    }
}

static void test_constant(void **state)
{
    static const char *const columns[] = {"standard", "minmax", "norm"};
    /* exactly constant; constant up to rounding; constant 0; one small real step */
    double x[100 * 4];
    (void)state;
    for (int i = 0; i < 100; i++) {
        x[4 * i] = 0.1;
        x[4 * i + 1] = 1e10 * (1 + (i % 3) * DBL_EPSILON);
        x[4 * i + 2] = 0;
        x[4 * i + 3] = 1e10 + (i == 50 ? 1e-4 : 0);
    }
    for (int k = 0; k < 3; k++) {
        mercer_rows *scaled = scaled_of(x, 100, 4, columns[k]);
        double widest = 0;
        for (int i = 0; i < 100; i++) {
            assert_true(scaled->x[4 * i] == 0 && scaled->x[4 * i + 2] == 0);
            assert_true(fabs(scaled->x[4 * i + 1]) < 1e-5); /* shifted, not blown up */
            widest = fmax(widest, fabs(scaled->x[4 * i + 3]));
        }
        assert_true(widest > 0.9);
        mercer_rows_free(scaled);
    }
    const double y[] = {5, 5, 5, 0, 0, 0};
    mercer_rows *unit = scaled_of(y, 2, 3, "unit"), *standard = scaled_of(y, 2, 3, "rowstandard");
    for (int j = 0; j < 3; j++) {
        assert_true(fabs(unit->x[j] - 1 / sqrt(3)) < 1e-15 && unit->x[3 + j] == 0);
        assert_true(standard->x[j] == 0 && standard->x[3 + j] == 0);
    }
    mercer_rows_free(unit);
    mercer_rows_free(standard);
}

static void test_extremes(void **state)
{
    static const char *const kinds[] = {"none", "standard", "minmax",
                                        "norm", "unit",     "rowstandard"};
    const double x[] = {DBL_MAX, -DBL_MAX, 5e-324, -DBL_MAX, DBL_MAX, 0, DBL_MAX, -DBL_MAX, 1e-310};
    (void)state;
    for (int k = 0; k < 6; k++) {
        mercer_rows *scaled = scaled_of(x, 3, 3, kinds[k]); /* asserts that all is finite */
        for (int i = 0; k && i < 9; i++)
            assert_true(fabs(scaled->x[i]) < 2);
        mercer_rows_free(scaled);
    }
    mercer_rows *one = scaled_of(x, 1, 3, "standard");
    assert_true(one->x[0] == 0 && one->x[1] == 0 && one->x[2] == 0);
    mercer_rows_free(one);
}

static void test_fit_apply_undo(void **state)
{
    double x[N * D], wide[N * (D + 2)];
    (void)state;
    fill(x, 40, 3);
    mercer_rows *rows = rows_of(x, N, D);
    for (int kind = MRC_SCALE_NONE; kind <= MRC_SCALE_ROWSTANDARD; kind++) {
        mrc_scale scale;
        assert_ok(mrc_scale_fit(&scale, (mrc_scale_kind)kind, rows, &err));
        assert_int_equal(scale.d, D);
        for (int i = 0; i < N * (D + 2); i++)
            wide[i] = i % (D + 2) < D ? x[i / (D + 2) * D + i % (D + 2)] : 77;
        mrc_scale_apply(&scale, wide, N, D + 2);
        bool row_kind = kind == MRC_SCALE_UNIT || kind == MRC_SCALE_ROWSTANDARD;
        double before = wide[0];
        assert_true(mrc_scale_undo(&scale, wide, N, D + 2) == !row_kind);
        if (row_kind)
            assert_true(wide[0] == before && !scale.shift);
        for (int i = 0; i < N * (D + 2) && !row_kind; i++)
            if (i % (D + 2) < D)
                assert_true(fabs(wide[i] - x[i / (D + 2) * D + i % (D + 2)]) < 1e-12);
            else
                assert_true(wide[i] == 77);
        mrc_scale_destroy(&scale);
        mrc_scale_destroy(&scale);
    }
    mercer_rows_free(rows);
}

static void test_names_are_kept(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    double x[N * D];
    mercer_rows *scaled;
    (void)state;
    fill(x, 0, 1);
    mercer_rows *rows = rows_of(x, N, D);
    assert_ok(mercer_rows_set_names(rows, names, &err));
    assert_ok(mercer_rows_scale(ctx, rows, "standard", &scaled, &err));
    assert_string_equal(mercer_rows_name(scaled, 2), "c");
    mercer_rows_free(scaled);
    assert_fails(mercer_rows_scale(ctx, rows, "x", &scaled, &err), MERCER_ERR_ARGUMENT, "scaling");
    assert_null(scaled);
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    for (int k = 0; rc != MERCER_OK; k++) {
        mrc_alloc_fail_after(k);
        rc = mercer_rows_scale(ctx, rows, "standard", &scaled, &err);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        mercer_rows_free(scaled);
        assert_int_equal(mrc_alloc_live(), live);
    }
    mercer_rows_free(rows);
}

/* Sparse rows scale to what the same dense rows do, or are refused. */
static void test_sparse(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    const int64_t start[] = {0, 2, 2, 4, 5};
    const int32_t column[] = {0, 2, 0, 1, 0};
    double value[] = {3, 4, 1e200, 5e200, 7}, dense[4 * D], got[4 * D];
    mercer_rows *rows, *scaled, *expected;
    (void)state;
    assert_ok(view_csr(ctx, start, column, value, 4, D, &rows, &err));
    assert_ok(mercer_rows_set_names(rows, names, &err));
    mercer_rows_copy(rows, 0, 4, dense);
    for (int i = 0; i < 3; i++) {
        const char *kind = i == 0 ? "none" : i == 1 ? "unit" : "minmax";
        expected = scaled_of(dense, 4, D, kind);
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int k = 0; rc != MERCER_OK; k++) {
            assert_int_equal(mrc_alloc_live(), live);
            mrc_alloc_fail_after(k);
            rc = mercer_rows_scale(ctx, rows, kind, &scaled, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || (rc == MERCER_ERR_MEMORY && !scaled));
        }
        assert_int_equal(mercer_rows_entries(scaled), 5);
        assert_string_equal(mercer_rows_name(scaled, 2), "c");
        mercer_rows_copy(scaled, 0, 4, got);
        assert_memory_equal(got, expected->x, sizeof got);
        mercer_rows_free(scaled);
        mercer_rows_free(expected);
    }
    assert_fails(mercer_rows_scale(ctx, rows, "standard", &scaled, &err), MERCER_ERR_DATA,
                 "scaling standard shifts every value");
    assert_fails(mercer_rows_scale(ctx, rows, "norm", &scaled, &err), MERCER_ERR_DATA, "unit");
    assert_fails(mercer_rows_scale(ctx, rows, "rowstandard", &scaled, &err), MERCER_ERR_DATA,
                 "unit");
    value[3] = -5;
    assert_fails(mercer_rows_scale(ctx, rows, "minmax", &scaled, &err), MERCER_ERR_DATA,
                 "column b: its minimum is -5, not 0");
    assert_null(scaled);
    mercer_rows_free(rows);
}

/* What was learnt from dense rows is applied to sparse ones only where it keeps their zeroes. */
static void test_sparse_rows_by_dense_scale(void **state)
{
    const double x[] = {0, 2, 4, 1};
    const int64_t start[] = {0, 1};
    const int32_t column[] = {0};
    const double value[] = {3};
    double got[2];
    mercer_rows *rows, *scaled, *dense = rows_of(x, 2, 2);
    mrc_scale scale;
    (void)state;
    assert_ok(view_csr(ctx, start, column, value, 1, 2, &rows, &err));
    assert_ok(mrc_scale_fit(&scale, MRC_SCALE_MINMAX, dense, &err));
    assert_fails(mrc_scale_rows(&scale, rows, &scaled, &err), MERCER_ERR_DATA,
                 "column 2: its minimum is 1, not 0");
    assert_null(scaled);
    scale.shift[1] = 0;
    assert_ok(mrc_scale_rows(&scale, rows, &scaled, &err));
    mercer_rows_copy(scaled, 0, 1, got);
    assert_true(got[0] == 0.75 && got[1] == 0);
    mercer_rows_free(scaled);
    mrc_scale_destroy(&scale);
    mercer_rows_free(rows);
    mercer_rows_free(dense);
}

/* A table of numbers of any width, whose memory is its own. */
static mercer_table *table_of(const double *x, int64_t n, int64_t d, mrc_dtype dtype)
{
    mercer_table *table = NULL;
    void *own = NULL;
    static const char *const names[] = {"p", "q", "r"};
    assert_ok(mrc_alloc(&table, 1, sizeof *table, &err));
    assert_ok(mrc_alloc2_raw(&own, n * d, 1, mrc_dtype_bytes(dtype), &err));
    mrc_pack(dtype, x, n * d, own, 0);
    assert_ok(mrc_rows_adopt(dtype, own, n, d, &table->rows, &err));
    assert_ok(mercer_rows_set_names(table->rows, names, &err));
    return table;
}

static mercer_table *sparse_table_of(const double *x, int64_t n, int64_t d)
{
    mercer_table *table = NULL;
    mrc_csr_owned csr = {0};
    assert_ok(mrc_alloc(&table, 1, sizeof *table, &err));
    assert_ok(mrc_alloc(&csr.start, n + 1, sizeof *csr.start, &err));
    assert_ok(mrc_alloc(&csr.column, n * d, sizeof *csr.column, &err));
    assert_ok(mrc_alloc(&csr.value, n * d, sizeof *csr.value, &err));
    for (int64_t i = 0, k = 0; i < n; i++) {
        for (int64_t j = 0; j < d; j++)
            if (x[i * d + j] > 0) {
                csr.column[k] = (int32_t)j;
                csr.value[k++] = x[i * d + j];
            }
        csr.start[i + 1] = k;
    }
    assert_ok(mrc_rows_adopt_csr(&csr, n, d, &table->rows, &err));
    return table;
}

/* In place: the same bits as a scaled copy, and doubles stay where they are. */
static void test_tables_are_scaled_in_place(void **state)
{
    static const mrc_dtype dtypes[] = {MRC_F64, MRC_F32, MRC_U8, MRC_F64};
    double x[N * D];
    (void)state;
    fill(x, 60, 15);
    for (int i = 0; i < N * D; i++)
        x[i] = floor(fmax(x[i] - (i % 3 ? 0 : 60), 0)); /* what bytes can hold */
    for (int kind = MRC_SCALE_NONE; kind <= MRC_SCALE_ROBUST; kind++)
        for (int t = 0; t < 4; t++) {
            const char *name = mrc_scale_name((mrc_scale_kind)kind);
            mercer_table *table = t < 3 ? table_of(x, N, D, dtypes[t]) : sparse_table_of(x, N, D);
            mercer_rows *copy = NULL;
            const double *before = table->rows->x;
            double found[N * D], expected[N * D];
            mercer_status rc = mercer_rows_scale(ctx, table->rows, name, &copy, &err);
            assert_int_equal(mercer_table_scale(ctx, table, name, &err), rc);
            if (rc == MERCER_OK) {
                mercer_rows_copy(copy, 0, N, expected);
                mercer_rows_copy(table->rows, 0, N, found);
                assert_memory_equal(found, expected, sizeof found);
                assert_true(t != 0 || table->rows->x == before);
                assert_string_equal(t == 3 ? "q" : mercer_rows_name(table->rows, 1), "q");
            } else { /* as it was */
                assert_true(t == 3);
                mercer_rows_copy(table->rows, 0, N, found);
                assert_memory_equal(found, x, sizeof found);
            }
            mercer_rows_free(copy);
            mercer_table_free(table);
        }
    mercer_table *bytes = table_of(x, N, D, MRC_U8);
    ctx->budget = N * D * 9 - 1;
    assert_int_equal(mercer_table_scale(ctx, bytes, "unit", &err), MERCER_ERR_BUDGET);
    assert_true(bytes->rows->packed != NULL);
    ctx->budget++;
    assert_ok(mercer_table_scale(ctx, bytes, "unit", &err));
    ctx->budget = 0;
    mercer_table_free(bytes);
}

/* Multiples of one row are the same rows once each is scaled, rounding or not; others are left. */
static void test_multiples_of_a_row_become_equal(void **state)
{
    static const char *const kinds[] = {"unit", "rowstandard"};
    static const double means[] = {0, 1e3, 1e6}; /* beside which the spread has fewer digits */
    double x[N * D];
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 3);
    for (int k = 0; k < 6; k++)
        for (int other = 0; other < 2; other++) {
            mrc_scale scale = {0};
            mrc_scale_kind kind;
            mercer_rows *rows, *scaled, *plain;
            for (int i = 0; i < N; i++) {
                double factor = exp(3 * mrc_rng_normal(&rng));
                for (int j = 0; j < D; j++)
                    x[i * D + j] = factor * (means[k / 2] + (j == 1 ? -0.3 : 0.1 + j));
            }
            x[N * D - 1] *= other ? 1 + 1e-13 : 1;
            rows = rows_of(x, N, D);
            assert_ok(mrc_scale_parse(kinds[k % 2], &kind, &err));
            assert_ok(mrc_scale_fit(&scale, kind, rows, &err));
            assert_ok(mrc_scale_rows(&scale, rows, &plain, &err));
            assert_ok(mrc_scale_rows(&scale, rows, &scaled, &err));
            assert_ok(mrc_scale_join_equal(&scale, ctx, rows, scaled, &err));
            int64_t same = 0;
            for (int i = 0; i < N; i++)
                same += memcmp(scaled->x + i * D, scaled->x, D * sizeof *x) == 0;
            if (other)
                assert_memory_equal(scaled->x, plain->x, sizeof x);
            else
                assert_int_equal(same, N);
            mrc_scale_destroy(&scale);
            mercer_rows_free(rows);
            mercer_rows_free(plain);
            mercer_rows_free(scaled);
        }
}

/* Sparse rows likewise; one that has another column is not a multiple. */
static void test_sparse_multiples_become_equal(void **state)
{
    double x[N * D];
    mrc_rng rng;
    mrc_scale scale = {.kind = MRC_SCALE_UNIT, .d = D};
    (void)state;
    mrc_rng_seed(&rng, 4);
    for (int other = 0; other < 3; other++) {
        mercer_rows *scaled, *plain;
        for (int i = 0; i < N; i++) {
            double factor = exp(3 * mrc_rng_normal(&rng));
            for (int j = 0; j < D; j++)
                x[i * D + j] = j == 1 ? 0 : factor * (0.1 + j);
        }
        x[N * D - 1] *= other == 1 ? 1 + 1e-13 : 1;
        if (other == 2) { /* the same values elsewhere */
            x[N * D - 2] = x[N * D - 1];
            x[N * D - 1] = 0;
        }
        mercer_table *table = sparse_table_of(x, N, D);
        assert_ok(mrc_scale_rows(&scale, table->rows, &plain, &err));
        assert_ok(mrc_scale_rows(&scale, table->rows, &scaled, &err));
        assert_ok(mrc_scale_join_equal(&scale, ctx, table->rows, scaled, &err));
        int64_t same = 0;
        for (int i = 0; i < N; i++)
            same += memcmp(scaled->csr.value + 2 * i, scaled->csr.value, 2 * sizeof *x) == 0;
        if (other)
            assert_memory_equal(scaled->csr.value, plain->csr.value, 2 * N * sizeof *x);
        else
            assert_int_equal(same, N);
        mercer_rows_free(plain);
        mercer_rows_free(scaled);
        mercer_table_free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_columns),
        TEST(test_rows),
        TEST(test_constant),
        TEST(test_extremes),
        TEST(test_fit_apply_undo),
        TEST(test_names_are_kept),
        TEST(test_sparse),
        TEST(test_sparse_rows_by_dense_scale),
        TEST(test_tables_are_scaled_in_place),
        TEST(test_multiples_of_a_row_become_equal),
        TEST(test_sparse_multiples_become_equal),
    };
    return RUN_TESTS(tests);
}
