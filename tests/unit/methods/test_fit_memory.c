/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a fit takes beside the rows it is given, and a model that prepares its points
 * when it is first used: by threads at once, without memory, after a cancellation. */
#include "support.h"

#include "base/memory.h"
#include "model/model.h"

#include <pthread.h>

/* A table of 34 MB, beside which kernel matrix and solver, 5 MB together, are small. */
enum { N = 512, D = 8192, THREADS = 2 };

static const double SPARE = 2 << 20; /* bytes of a huge page */

/* Zeroes are left out of sparse rows, of which this share stays. */
static const double FILLED = 0.2;

struct table {
    double *x;
    float *narrow;
    mercer_rows *dense, *packed, *sparse;
};

static void table_init(struct table *t, mercer_ctx *ctx)
{
    *t = (struct table){.x = normal_rows(7, N, D, 1, 1)};
    t->narrow = malloc((size_t)(N * D) * sizeof *t->narrow);
    assert_non_null(t->narrow);
    for (int64_t i = 0; i < (int64_t)N * D; i++)
        t->narrow[i] = (float)t->x[i];
    t->dense = view(ctx, t->x, N, D);
    assert_ok(view_f32(ctx, t->narrow, N, D, D, &t->packed, err));
    double *thin = normal_rows(8, N, D, 1, 1);
    thin_out(9, thin, (int64_t)N * D, 1 - FILLED);
    t->sparse = sparse_copy(thin, N, D);
    free(thin);
}

static void table_destroy(struct table *t)
{
    mercer_rows_free(t->dense);
    mercer_rows_free(t->packed);
    mercer_rows_free(t->sparse);
    free(t->x);
    free(t->narrow);
}

/* Bytes of rows, and those that a fit has at most: the rows and what it allocates. */
static double table_bytes(const mercer_rows *rows)
{
    return mercer_rows_is_sparse(rows) ? 12 * (double)mercer_rows_entries(rows) + 8 * N
                                       : 8.0 * N * D;
}

static double fit_bytes(mercer_ctx *ctx, const mercer_rows *rows, const char *method,
                        const char *kernel, const char *scale)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    double own = mrc_rows_bytes(rows);
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.scale = scale;
    options.store = "dense";
    mrc_alloc_peak(true);
    int64_t before = mrc_alloc_peak(false);
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    assert_int_equal(model->points, N); /* or there would be nothing to hold */
    mercer_model_free(model);
    return own + (double)(mrc_alloc_peak(true) - before);
}

struct bound {
    const char *method, *kernel, *scale;
    double dense, packed, sparse; /* in tables; of packed rows in tables of doubles; 0: not tried */
};

static void test_a_fit_holds_each_array_once(void **state)
{
    /* The table, prepared rows or Z, and 0.2 for the kernel matrix and the solver; scaled rows
     * become Z. Packed rows are half a table. Sparse tables are smaller beside the matrix. */
    static const struct bound bounds[] = {
        {"kpca", "rbf", NULL, 2.2, 1.7, 2.3},
        {"kpca", "rbf", "standard", 3.2, 2.7, 0},
        {"kpca", "rbf", "unit", 3.2, 2.7, 3.3},
        {"kpca", "laplacian:gamma=0.001", NULL, 2.2, 0, 0},
        {"kpca", "poly:degree=2", NULL, 2.2, 1.7, 2.3},
        {"akfa:components=5", "rbf", NULL, 2.2, 1.7, 2.3},
        {"akfa:components=5", "rbf", "standard", 3.2, 2.7, 0},
    };
    mercer_ctx *ctx = new_ctx(THREADS);
    struct table t;
    (void)state;
    table_init(&t, ctx);
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        const mercer_rows *rows[] = {t.dense, t.packed, t.sparse};
        const double most[] = {bounds[b].dense, bounds[b].packed, bounds[b].sparse};
        for (int k = 0; k < 3; k++) {
            if (most[k] == 0)
                continue;
            /* Behind an array on huge pages the allocator may keep most of one. */
            double held =
                -SPARE / table_bytes(rows[k]) +
                fit_bytes(ctx, rows[k], bounds[b].method, bounds[b].kernel, bounds[b].scale) /
                    table_bytes(rows[k]);
            if (!(held <= most[k]) || held < 1)
                fail_msg("%s, %s, scale %s, rows of kind %d: %.3f tables, at most %.1f expected",
                         bounds[b].method, bounds[b].kernel,
                         bounds[b].scale ? bounds[b].scale : "none", k, held, most[k]);
        }
    }
    table_destroy(&t);
    mercer_ctx_free(ctx);
}

/* ---- points prepared at first use ---- */

enum { ROWS = 300, COLUMNS = 40, COMPONENTS = 4, USERS = 8 };

static mercer_model *fitted(mercer_ctx *ctx, const mercer_rows *rows, const char *scale)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.components = COMPONENTS;
    options.scale = scale;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    return model;
}

struct user {
    const mercer_model *model;
    const mercer_rows *rows;
    pthread_barrier_t *start;
    double *out;
    mercer_status rc;
};

static void *use(void *arg)
{
    struct user *user = arg;
    mercer_ctx *ctx = NULL;
    user->rc = mercer_ctx_new(&ctx, NULL);
    pthread_barrier_wait(user->start);
    if (user->rc == MERCER_OK)
        user->rc =
            mercer_model_transform(ctx, user->model, user->rows, NULL, user->out, NULL, NULL);
    mercer_ctx_free(ctx);
    return NULL;
}

static void test_threads_share_a_fresh_model(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(3, ROWS, COLUMNS, 0, 1), *expected = new_doubles(ROWS * COMPONENTS);
    mercer_rows *rows = view(ctx, x, ROWS, COLUMNS);
    (void)state;
    for (int round = 0; round < 10; round++) {
        mercer_model *model = fitted(ctx, rows, NULL), *other = fitted(ctx, rows, NULL);
        pthread_t threads[USERS];
        struct user users[USERS];
        pthread_barrier_t start;
        int64_t alive = mrc_alloc_live();
        assert_int_equal(pthread_barrier_init(&start, NULL, USERS), 0);
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, expected, NULL, err));
        int64_t prepared = mrc_alloc_live() - alive;
        assert_true(prepared > 0); /* by the first use, not by the fit */
        for (int u = 0; u < USERS; u++) {
            users[u] = (struct user){.model = other,
                                     .rows = rows,
                                     .start = &start,
                                     .out = new_doubles(ROWS * COMPONENTS)};
            assert_int_equal(pthread_create(&threads[u], NULL, use, &users[u]), 0);
        }
        for (int u = 0; u < USERS; u++) {
            assert_int_equal(pthread_join(threads[u], NULL), 0);
            assert_int_equal(users[u].rc, MERCER_OK);
            assert_memory_equal(users[u].out, expected, ROWS * COMPONENTS * sizeof(double));
            free(users[u].out);
        }
        assert_int_equal(mrc_alloc_live() - alive, 2 * prepared); /* once, for all of them */
        pthread_barrier_destroy(&start);
        mercer_model_free(model);
        mercer_model_free(other);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
    free(expected);
}

static void test_a_failed_first_use_leaves_the_model_whole(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(4, ROWS, COLUMNS, 0, 1);
    double *expected = new_doubles(ROWS * COMPONENTS), *got = new_doubles(ROWS * COMPONENTS);
    mercer_rows *rows = view(ctx, x, ROWS, COLUMNS);
    int64_t failures = 0;
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        mercer_model *model = fitted(ctx, rows, kind ? "standard" : NULL);
        mercer_model *fresh = fitted(ctx, rows, kind ? "standard" : NULL);
        mercer_status rc = MERCER_ERR_MEMORY;
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, expected, NULL, err));
        mercer_ctx_cancel(ctx);
        assert_int_equal(mercer_model_transform(ctx, fresh, rows, NULL, got, NULL, NULL),
                         MERCER_ERR_CANCELLED);
        mercer_ctx_resume(ctx);
        for (int64_t after = 0; rc != MERCER_OK; after++) {
            mrc_alloc_fail_after(after);
            rc = mercer_model_transform(ctx, fresh, rows, NULL, got, NULL, NULL);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            failures += rc != MERCER_OK;
        }
        assert_memory_equal(got, expected, ROWS * COMPONENTS * sizeof(double));
        mercer_model_free(model);
        mercer_model_free(fresh);
    }
    assert_true(failures > 6);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
    free(expected);
    free(got);
    assert_int_equal(mrc_alloc_live(), 0);
}

/* Rows that the fit has scaled become the model's points: the bits are those of a copy. */
static void test_scaled_rows_become_the_points(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(5, ROWS, COLUMNS, 3, 2);
    mercer_rows *rows = view(ctx, x, ROWS, COLUMNS), *scaled = NULL;
    static const char *const kinds[] = {"standard", "minmax", "norm", "unit", "rowstandard"};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        mercer_model *model = fitted(ctx, rows, kinds[k]);
        assert_ok(mercer_rows_scale(ctx, rows, kinds[k], &scaled, err));
        assert_memory_equal(model->z, scaled->x, ROWS * COLUMNS * sizeof(double));
        mercer_rows_free(scaled);
        mercer_model_free(model);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fit_holds_each_array_once),
        cmocka_unit_test(test_threads_share_a_fresh_model),
        cmocka_unit_test(test_a_failed_first_use_leaves_the_model_whole),
        cmocka_unit_test(test_scaled_rows_become_the_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
