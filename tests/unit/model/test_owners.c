/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners of a model: whatever their number, their order and their threads, it is released once, by
 * the last of them, and until then it is the same. */
#include "support.h"

#include "fit_support.h"
#include "stream_support.h"

#include "base/memory.h"

#include <pthread.h>

enum { N = 60, D = 2, L = 3 };

static const char *const methods[] = {"kpca:components=3", "ikpca:components=3,first=20,block=15"};

/* A kernel that counts how often it is released. */
static mercer_status gaussian(void *host, const double *x, int64_t nx, int64_t ldx, const double *y,
                              int64_t ny, int64_t ldy, int64_t d, double *out, int64_t ldo,
                              mercer_error *err)
{
    (void)host, (void)err;
    return host_gaussian(0.02, x, nx, ldx, y, ny, ldy, d, out, ldo);
}

static void let_go(void *host)
{
    ++*(int *)host;
}

static mercer_ctx *ctx_with_kernel(int *released)
{
    mercer_ctx *ctx = new_ctx(1);
    *released = 0;
    assert_ok(mercer_ctx_add_kernel_owned(ctx, "mine", gaussian, released, let_go, 1, err));
    return ctx;
}

/* Two owners of a fitted model, three of a stream's, and the stream go in every order. */
static void test_released_once_in_every_order(void **state)
{
    enum { OWNERS = 6, ORDERS = 720 };
    double *x = ring_rows(1, N), y[N * L];
    (void)state;
    for (int order = 0; order < ORDERS; order++) {
        int64_t alive = mrc_alloc_live();
        int released, left[OWNERS] = {0, 1, 2, 3, 4, 5};
        mercer_ctx *ctx = ctx_with_kernel(&released), *other = new_ctx(1);
        mercer_stream *stream = new_stream(ctx, methods[1], "mine");
        mercer_model *owned[OWNERS] = {fit_model(ctx, methods[0], "mine", NULL, x, N, D)};
        push_rows(ctx, stream, x, N, D, N);
        owned[1] = mercer_model_share(owned[0]);
        owned[2] = mercer_model_share(model_of(ctx, stream));
        owned[3] = mercer_model_share(model_of(ctx, stream));
        owned[4] = mercer_model_share(owned[3]);
        assert_ptr_equal(owned[1], owned[0]);
        assert_ptr_equal(owned[2], model_of(ctx, stream));
        double *expected[2] = {features_of(ctx, owned[0], x, N, D),
                               features_of(ctx, owned[2], x, N, D)};
        mercer_ctx_free(ctx);
        mercer_rows *rows = view(other, x, N, D);
        for (int k = OWNERS, code = order; k > 0; code /= k, k--) {
            int pick = code % k, owner = left[pick];
            assert_int_equal(released, 0);
            memmove(left + pick, left + pick + 1, (size_t)(k - 1 - pick) * sizeof *left);
            if (owner == 5) {
                push_rows(other, stream, x, 20, D, 20); /* its model is then another */
                mercer_stream_free(stream);
                continue;
            }
            assert_ok(mercer_model_transform(other, owned[owner], rows, NULL, y, NULL, err));
            assert_memory_equal(y, expected[owner > 1], sizeof y);
            mercer_model_free(owned[owner]);
        }
        assert_int_equal(released, 1);
        mercer_rows_free(rows);
        mercer_ctx_free(other);
        free(expected[0]);
        free(expected[1]);
        assert_int_equal(mrc_alloc_live(), alive);
    }
    free(x);
}

struct owner {
    mercer_model *model;
    const double *x, *expected;
    int wrong;
    pthread_t thread;
};

/* Share and free many times, use the model meanwhile, and give up the share one was handed. */
static void *own(void *arg)
{
    struct owner *owner = arg;
    mercer_ctx *ctx = new_ctx(1);
    for (int round = 0; round < 3; round++) {
        mercer_model *mine[50];
        for (int k = 0; k < 2000; k++) {
            if (k >= 50)
                mercer_model_free(mine[k % 50]);
            mine[k % 50] = mercer_model_share(owner->model);
        }
        double *y = features_of(ctx, mine[0], owner->x, N, D);
        owner->wrong += memcmp(y, owner->expected, N * L * sizeof *y) != 0;
        free(y);
        for (int k = 0; k < 50; k++)
            mercer_model_free(mine[k]);
    }
    mercer_model_free(owner->model);
    mercer_ctx_free(ctx);
    return NULL;
}

static void test_owners_on_several_threads(void **state)
{
    enum { OWNERS = 4 };
    double *x = ring_rows(1, N);
    (void)state;
    for (int m = 0; m < 2; m++) {
        int released;
        int64_t alive = mrc_alloc_live();
        mercer_ctx *ctx = ctx_with_kernel(&released);
        struct owner owners[OWNERS];
        mercer_model *model = fit_model(ctx, methods[m], "mine", NULL, x, N, D);
        double *expected = features_of(ctx, model, x, N, D);
        mercer_ctx_free(ctx);
        for (int o = 0; o < OWNERS; o++)
            owners[o] = (struct owner){mercer_model_share(model), x, expected, 0, 0};
        for (int o = 0; o < OWNERS; o++)
            assert_int_equal(pthread_create(&owners[o].thread, NULL, own, &owners[o]), 0);
        mercer_model_free(model); /* the threads may be done, or not */
        for (int o = 0; o < OWNERS; o++) {
            pthread_join(owners[o].thread, NULL);
            assert_int_equal(owners[o].wrong, 0);
        }
        assert_int_equal(released, 1);
        free(expected);
        assert_int_equal(mrc_alloc_live(), alive);
    }
    free(x);
}

/* Sharing takes no memory, and what a stream loses or learns later does not touch a share. */
static void test_shares_while_allocations_fail(void **state)
{
    double *x = ring_rows(1, N);
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *rows = view(ctx, x, N, D);
    int64_t alive = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    for (int64_t after = 0; rc != MERCER_OK; after++) {
        mercer_stream *stream = new_stream(ctx, methods[1], "rbf:sigma=4");
        push_rows(ctx, stream, x, N, D, N);
        const mercer_model *lent = model_of(ctx, stream);
        mrc_alloc_fail_after(0);
        mercer_model *shared = mercer_model_share(lent);
        mrc_alloc_fail_after(-1);
        assert_ptr_equal(shared, lent);
        double *before = features_of(ctx, shared, x, N, D);
        mrc_alloc_fail_after(after);
        rc = mercer_stream_push(ctx, stream, rows, NULL);
        if (rc == MERCER_OK)
            rc = mercer_stream_model(ctx, stream, &lent, NULL, NULL);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        if (after % 2)
            mercer_stream_free(stream);
        double *later = features_of(ctx, shared, x, N, D);
        assert_memory_equal(before, later, N * L * sizeof *before);
        mercer_model_free(shared);
        if (!(after % 2))
            mercer_stream_free(stream);
        free(before);
        free(later);
        assert_int_equal(mrc_alloc_live(), alive);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_released_once_in_every_order),
        cmocka_unit_test(test_owners_on_several_threads),
        cmocka_unit_test(test_shares_while_allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
