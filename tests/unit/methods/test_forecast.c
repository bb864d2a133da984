/* SPDX-License-Identifier: BSD-3-Clause */
/* What a forecast tells without a clock: the store and the memory of the fit that follows, that
 * nothing else changes by it, and what it refuses. Times are judged by tests/long. */
#include "classes_support.h"

#include "base/memory.h"

enum { N = 300 };
CLASSES_GROUP(N)

static mercer_fit_options options_of(const char *method)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.components = 3;
    return options;
}

static bool counts_outputs(const char *method)
{
    return strcmp(method, "krr") == 0 || strcmp(method, "kfd") == 0;
}

/* Every listed method knows its work, and says beforehand how the matrix will be held. */
static void test_every_method(void **state)
{
    (void)state;
    for (int i = 0; mercer_method_at(i); i++) {
        const char *name = mercer_entry_name(mercer_method_at(i));
        mercer_fit_options options = options_of(name);
        mercer_forecast told = {.struct_size = sizeof told};
        mercer_fit_report report = {.struct_size = sizeof report};
        mercer_model *model = NULL;
        if (counts_outputs(name))
            options.components = 0;
        assert_ok(mercer_fit_forecast(ctx, &options, rows, classes, 0, 0, &told, err));
        if (strncmp(name, "toy", 3) == 0) /* it does not say */
            continue;
        if (!told.measured || !(told.seconds > 0) || !(told.seconds_low < told.seconds) ||
            !(told.seconds_high > told.seconds) || told.memory_bytes <= 0)
            fail_msg("%s: %g s (%g to %g), %lld bytes", name, told.seconds, told.seconds_low,
                     told.seconds_high, (long long)told.memory_bytes);
        assert_ok(mercer_fit(ctx, &options, rows, classes, &model, &report, err));
        if (strcmp(told.store, "none") != 0 && strcmp(told.store, report.store) != 0)
            fail_msg("%s: store %s forecast, %s taken", name, told.store, report.store);
        mercer_model_free(model);
    }
}

/* Rows, a store, and the columns of a factor that follow from them. */
static void check_memory(const mercer_rows *given, const char *method, const char *kernel,
                         const char *scale, int64_t budget, const char *store)
{
    mercer_ctx *own = new_ctx(2);
    mercer_fit_options options = options_of(method);
    mercer_forecast told = {.struct_size = sizeof told};
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model *model = NULL;
    options.kernel = kernel;
    options.scale = scale;
    if (budget > 0)
        assert_ok(mercer_ctx_set_memory(own, budget, err));
    assert_ok(mercer_fit_forecast(own, &options, given, NULL, 0, 0, &told, err));
    mrc_alloc_peak(true);
    const int64_t before = mrc_alloc_peak(false);
    assert_ok(mercer_fit(own, &options, given, NULL, &model, &report, err));
    const double took = (double)(mrc_alloc_peak(true) - before);
    assert_string_equal(told.store, store);
    assert_string_equal(report.store, store);
    /* A factor is given room that it does not touch; tests/long/run_memory_tests.py has what a
     * process really takes. */
    const double ratio = took / (double)told.memory_bytes;
    if (!(ratio > 0.5 && (ratio < 2 || told.store_rank > 0)))
        fail_msg("%s, %s, scale %s: %lld bytes forecast, %.0f taken", method, store,
                 scale ? scale : "none", (long long)told.memory_bytes, took);
    if (report.store_rank && fabs((double)told.store_rank / (double)report.store_rank - 1) > 0.5)
        fail_msg("rank %lld forecast, %lld found", (long long)told.store_rank,
                 (long long)report.store_rank);
    mercer_model_free(model);
    mercer_ctx_free(own);
}

static void test_memory_and_store(void **state)
{
    enum { DENSE = 1500, D = 40, RING = 4000 };
    double *plain = normal_rows(5, DENSE, D, 0, 1), *ring = ring_rows(6, RING);
    mercer_rows *dense = view(ctx, plain, DENSE, D), *curve = view(ctx, ring, RING, 2);
    (void)state;
    check_memory(dense, "kpca", "rbf", NULL, 0, "dense");
    check_memory(dense, "kpca", "rbf", "standard", 0, "dense");
    check_memory(dense, "akfa", "rbf", NULL, 0, "dense");
    check_memory(dense, "kpca", "rbf", NULL, 8 << 20, "stream");
    check_memory(curve, "kpca", "rbf:sigma=4", NULL, 0, "lowrank");
    check_memory(curve, "akfa", "rbf:sigma=4", NULL, 0, "lowrank");
    check_memory(curve, "nystroem:points=200", "rbf:sigma=0.5", NULL, 0, "stream");
    mercer_rows_free(dense);
    mercer_rows_free(curve);
    free(plain);
    free(ring);
}

/* A forecast of more rows than there are. */
static void test_more_rows(void **state)
{
    mercer_fit_options options = options_of("kpca");
    mercer_forecast few = {.struct_size = sizeof few}, many = {.struct_size = sizeof many};
    (void)state;
    options.store = "stream";
    assert_ok(mercer_fit_forecast(ctx, &options, rows, NULL, 0, 0, &few, err));
    assert_ok(mercer_fit_forecast(ctx, &options, rows, NULL, 100 * N, 0, &many, err));
    assert_true(many.seconds > few.seconds);
    assert_true(many.memory_bytes > few.memory_bytes + 8 * 100 * N);
    assert_string_equal(many.cheaper, "nystroem:points=1000");
    assert_true(many.cheaper_seconds < many.seconds / 2);
}

/* A map takes some fifty regressions; rates are timed anew, hence the wide margin. */
static void test_a_map_takes_longer_than_the_fit(void **state)
{
    mercer_fit_options options = options_of("krr");
    mercer_forecast plain = {.struct_size = sizeof plain}, more = plain;
    (void)state;
    assert_ok(mercer_fit_forecast(ctx, &options, rows, classes, 4000, 0, &plain, err));
    options.map = "agop";
    assert_ok(mercer_fit_forecast(ctx, &options, rows, classes, 4000, 0, &more, err));
    assert_true(more.seconds > 2 * plain.seconds);
}

static int notices;

static void count_notice(void *host, const mercer_notice *notice)
{
    (void)host;
    (void)notice;
    notices++;
}

/* What is drawn at random afterwards is what would have been drawn without it. */
static void test_it_changes_nothing(void **state)
{
    mercer_fit_options options = options_of("nystroem:points=20");
    mercer_forecast told = {.struct_size = sizeof told};
    double features[2][N * 3];
    (void)state;
    mercer_ctx_set_notice(ctx, count_notice, NULL);
    notices = 0;
    for (int i = 0; i < 2; i++) {
        mercer_model *model = NULL;
        mercer_ctx_set_seed(ctx, 7);
        if (i == 1)
            assert_ok(mercer_fit_forecast(ctx, &options, rows, classes, 0, 0, &told, err));
        if (i == 1)
            assert_int_equal(notices, 0);
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, features[i], NULL, err));
        mercer_model_free(model);
        notices = 0;
    }
    mercer_ctx_set_notice(ctx, NULL, NULL);
    assert_memory_equal(features[0], features[1], sizeof features[0]);
}

static void test_short_work_is_not_timed(void **state)
{
    mercer_fit_options options = options_of("kpca");
    mercer_forecast told = {.struct_size = sizeof told};
    (void)state;
    assert_ok(mercer_fit_forecast(ctx, &options, rows, NULL, 0, 30, &told, err));
    assert_int_equal(told.measured, 0);
    assert_true(told.seconds_high > 0 && told.seconds_high < 30);
    assert_string_equal(told.store, "dense");
    assert_true(told.memory_bytes > 4 * N * N && told.memory_bytes < 64 * N * N + (1 << 20));
    options.method = "pca";
    assert_ok(mercer_fit_forecast(ctx, &options, rows, NULL, 0, 30, &told, err));
    assert_string_equal(told.store, "lowrank");
    assert_int_equal(told.store_rank, 3);
    assert_true(told.memory_bytes > 0 && told.memory_bytes < 1 << 21);
    options.method = "kpca";
    assert_ok(mercer_fit_forecast(ctx, &options, rows, NULL, 1000000, 30, &told, err));
    assert_int_equal(told.measured, 1);
}

static void test_refusals(void **state)
{
    mercer_fit_options options = options_of("kpca");
    mercer_forecast told = {.struct_size = sizeof told};
    mercer_error why = {0};
    mercer_model *model = NULL;
    (void)state;
    options.method = "kpcaa";
    assert_int_equal(mercer_fit_forecast(ctx, &options, rows, NULL, 0, 0, &told, &why),
                     MERCER_ERR_ARGUMENT);
    options = options_of("kpca");
    options.store = "dense";
    assert_int_equal(mercer_fit_forecast(ctx, &options, rows, NULL, 10000000, 0, &told, &why),
                     MERCER_ERR_BUDGET);
    assert_string_equal(why.key, "store memory");
    mercer_fit_forecast(ctx, &options, rows, NULL, 0, 0, &told, NULL);
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, NULL), MERCER_OK);
    mercer_model_free(model);
}

static void test_failing_allocations(void **state)
{
    mercer_fit_options options = options_of("kpls");
    const int64_t alive = mrc_alloc_live();
    mercer_status rc;
    int64_t after = 0;
    (void)state;
    do {
        mercer_forecast told = {.struct_size = sizeof told};
        /* Work that is timed is repeated, the more often the faster the machine is, and so are its
         * allocations: later ones fail with gaps in between. */
        mrc_alloc_fail_after(after);
        after += 1 + after / 16;
        rc = mercer_fit_forecast(ctx, &options, rows, classes, 0, 0, &told, NULL);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), alive);
    } while (rc != MERCER_OK && after < 1000000);
    assert_int_equal(rc, MERCER_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method),
        cmocka_unit_test(test_memory_and_store),
        cmocka_unit_test(test_more_rows),
        cmocka_unit_test(test_a_map_takes_longer_than_the_fit),
        cmocka_unit_test(test_it_changes_nothing),
        cmocka_unit_test(test_short_work_is_not_timed),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
