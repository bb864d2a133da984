/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated data: shapes, geometry, seeds. */
#include "data_support.h"

#include "data/rows.h"

#include <math.h>

static mercer_table *drawn(const char *name, int64_t rows, double noise)
{
    mercer_dataset_options options;
    mercer_table *table;
    mercer_dataset_options_init(&options);
    options.rows = rows;
    options.noise = noise;
    assert_ok(mercer_dataset_generate(ctx, name, &options, &table, &err));
    assert_int_equal(mrc_first_not_finite(table->rows->x, table->rows->n * table->rows->d), -1);
    return table;
}

static void test_list(void **state)
{
    int count = 0;
    (void)state;
    while (mercer_dataset_name(count)) {
        assert_non_null(mercer_dataset_summary(count));
        mercer_table *table;
        assert_ok(mercer_dataset_generate(ctx, mercer_dataset_name(count), NULL, &table, &err));
        assert_non_null(mercer_rows_name(mercer_table_rows(table), 0));
        mercer_table_free(table);
        count++;
    }
    assert_int_equal(count, 5);
    assert_null(mercer_dataset_summary(count));
    assert_null(mercer_dataset_name(-1));
}

static void test_circle(void **state)
{
    mercer_table *table = drawn("circle", 0, 0);
    double x = 0, y = 0;
    (void)state;
    assert_int_equal(table->rows->n, 1000);
    assert_int_equal(table->rows->d, 2);
    assert_string_equal(mercer_rows_name(table->rows, 1), "y");
    for (int i = 0; i < 1000; i++) {
        const double *p = table->rows->x + 2 * i;
        assert_true(fabs(hypot(p[0], p[1]) - 8) < 1e-12);
        x += p[0] / 1000;
        y += p[1] / 1000;
    }
    assert_true(hypot(x, y) < 1);
    mercer_table_free(table);
    table = drawn("circle", 20000, -1);
    double spread = 0;
    for (int i = 0; i < 20000; i++)
        spread += pow(hypot(table->rows->x[2 * i], table->rows->x[2 * i + 1]) - 8, 2) / 20000;
    assert_true(fabs(sqrt(spread) - 1) < 0.05);
    mercer_table_free(table);
}

static void test_cross(void **state)
{
    mercer_table *table = drawn("swiss-cross", 12000, 0);
    int on_cap = 0;
    (void)state;
    for (int i = 0; i < 12000; i++) {
        double a = fabs(table->rows->x[2 * i]), b = fabs(table->rows->x[2 * i + 1]);
        double far = fmax(a, b), near = fmin(a, b);
        int cap = fabs(far - 12) < 1e-12 && near <= 4, side = fabs(near - 4) < 1e-12 && far >= 4;
        assert_true(cap || side);
        on_cap += cap;
    }
    assert_true(abs(on_cap - 4000) < 250); /* a third of the outline */
    mercer_table_free(table);
}

static void test_roll(void **state)
{
    mercer_table *table = drawn("swiss-roll", 0, -1);
    (void)state;
    assert_int_equal(table->rows->n, 800);
    assert_int_equal(table->rows->d, 3);
    for (int i = 0; i < 800; i++) {
        const double *p = table->rows->x + 3 * i;
        double t = hypot(p[0], p[2]);
        assert_true(t > 4.7 && t < 14.2 && p[1] >= 0 && p[1] < 21);
        assert_true(fabs(p[0] - t * cos(t)) < 1e-9);
        assert_false(t > 9 && t < 12 && p[1] > 9 && p[1] < 14);
    }
    mercer_table_free(table);
}

static void test_parabola(void **state)
{
    mercer_table *table = drawn("parabola", 500, 0);
    (void)state;
    for (int i = 0; i < 500; i++) {
        const double *p = table->rows->x + 2 * i;
        assert_true(fabs(p[0]) <= 1 && p[1] == p[0] * p[0]);
    }
    mercer_table_free(table);
}

static void test_sparse(void **state)
{
    mercer_table *table = drawn("sparse-linear", 400, -1);
    const mercer_targets *targets = mercer_table_targets(table);
    int64_t filled = 0, positive = 0;
    (void)state;
    assert_int_equal(table->rows->d, 1000);
    assert_string_equal(mercer_rows_name(table->rows, 999), "c1000");
    assert_int_equal(mercer_targets_kind(targets), MERCER_TARGET_CLASSES);
    assert_int_equal(mercer_targets_classes(targets), 2);
    assert_int_equal(mercer_targets_codes(targets)[0], 0);
    assert_string_equal(mercer_targets_name(targets, 0), "label");
    for (int64_t i = 0; i < 400 * 1000; i++)
        filled += table->rows->x[i] != 0;
    assert_true(filled > 38000 && filled < 42000);
    for (int i = 0; i < 400; i++)
        positive += mercer_targets_codes(targets)[i];
    assert_true(positive > 140 && positive < 260);
    mercer_table_free(table);
    table = drawn("sparse-linear", 1, -1); /* one row has one class */
    assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 1);
    mercer_table_free(table);
}

static void test_seed(void **state)
{
    mercer_table *a = drawn("circle", 50, 1), *b = drawn("circle", 50, 1);
    (void)state;
    assert_memory_not_equal(a->rows->x, b->rows->x, 800);
    mercer_table_free(b);
    mercer_ctx_set_seed(ctx, 1);
    b = drawn("circle", 50, 1);
    assert_memory_equal(a->rows->x, b->rows->x, 800);
    mercer_table_free(a);
    mercer_table_free(b);
}

static void test_refusals(void **state)
{
    mercer_dataset_options options;
    mercer_table *table;
    (void)state;
    assert_fails(mercer_dataset_generate(ctx, "torus", NULL, &table, &err), MERCER_ERR_ARGUMENT,
                 "unknown data set 'torus' (known: circle, swiss-cross, swiss-roll, parabola, "
                 "sparse-linear)");
    assert_null(table);
    assert_fails(mercer_dataset_generate(ctx, NULL, NULL, &table, &err), MERCER_ERR_ARGUMENT, "''");
    mercer_dataset_options_init(&options);
    options.rows = -1;
    assert_fails(mercer_dataset_generate(ctx, "circle", &options, &table, &err),
                 MERCER_ERR_ARGUMENT, "-1 rows");
    options.rows = INT64_MAX / 4;
    assert_fails(mercer_dataset_generate(ctx, "circle", &options, &table, &err), MERCER_ERR_MEMORY,
                 "");
    options.rows = 10;
    options.noise = (double)NAN;
    assert_fails(mercer_dataset_generate(ctx, "circle", &options, &table, &err),
                 MERCER_ERR_ARGUMENT, "noise");
    options.noise = 1.7e308;
    assert_fails(mercer_dataset_generate(ctx, "circle", &options, &table, &err),
                 MERCER_ERR_ARGUMENT, "not finite");
    options.struct_size = 0;
    assert_fails(mercer_dataset_generate(ctx, "circle", &options, &table, &err),
                 MERCER_ERR_ARGUMENT, "initialised");
}

static void test_every_allocation_fails(void **state)
{
    mercer_dataset_options options;
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    (void)state;
    mercer_dataset_options_init(&options);
    options.rows = 3;
    for (int k = 0; rc != MERCER_OK; k++) {
        mercer_table *table = NULL;
        assert_true(k < 5000);
        mrc_alloc_fail_after(k);
        rc = mercer_dataset_generate(ctx, "sparse-linear", &options, &table, &err);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        mercer_table_free(table);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_list), TEST(test_circle),   TEST(test_cross),
        TEST(test_roll), TEST(test_parabola), TEST(test_sparse),
        TEST(test_seed), TEST(test_refusals), TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
