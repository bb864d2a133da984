/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancelling work that is under way, by another thread and by the host's poll: it ends with
 * MERCER_ERR_CANCELLED, whatever it was doing, and in the end nothing is left behind. How soon is
 * measured by tests/long/measure_cancel.c. */
#include "sanitizer.h"
#include "support.h"

#include "base/aside.h"
#include "kernel/kernel.h"
#include "linalg/linalg.h"

#include <mercer/mercer.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A poll that cancels at its `last` call. */
struct polls {
    pthread_t caller;
    int count, last, elsewhere;
};

static int poll_and_cancel(void *host)
{
    struct polls *polls = host;
    polls->elsewhere += !pthread_equal(pthread_self(), polls->caller);
    return ++polls->count == polls->last;
}

static void set_polls(mercer_ctx *ctx, struct polls *polls, int last)
{
    *polls = (struct polls){.caller = pthread_self(), .last = last};
    mercer_ctx_set_poll(ctx, poll_and_cancel, polls);
}

struct call {
    double *memory;
    atomic_int *running, *released;
    bool stubborn; /* goes on until it is allowed to end */
    atomic_bool *may_end;
};

static void call_run(void *arg, const atomic_bool *stop)
{
    struct call *c = arg;
    atomic_store(c->running, 1);
    while (!(c->stubborn ? atomic_load(c->may_end) : atomic_load(stop)))
        usleep(1000);
    c->memory[0] = 1;
}

static void call_release(void *arg)
{
    struct call *c = arg;
    atomic_fetch_add(c->released, 1);
    mrc_free(c->memory);
    mrc_free(c);
}

static const mrc_aside_work call_work = {.run = call_run, .release = call_release};

static void test_work_aside_is_left_alone_when_cancelled(void **state)
{
    (void)state;
    for (int stubborn = 0; stubborn < 2; stubborn++) {
        mercer_ctx *ctx = new_ctx(2);
        int64_t alive = mrc_alloc_live();
        atomic_int running = 0, released = 0;
        atomic_bool may_end = false;
        struct polls polls;
        struct call *c;
        assert_ok(mrc_alloc(&c, 1, sizeof *c, err));
        *c = (struct call){
            .running = &running, .released = &released, .stubborn = stubborn, .may_end = &may_end};
        assert_ok(mrc_alloc(&c->memory, 1000, sizeof *c->memory, err));
        set_polls(ctx, &polls, 3);
        assert_int_equal(mrc_aside(ctx, &call_work, 1e12, &c, NULL), MERCER_ERR_CANCELLED);
        assert_null(c);
        assert_int_equal(polls.count, 3);
        assert_int_equal(running, 1);
        if (stubborn)
            assert_int_equal(released, 0);
        atomic_store(&may_end, true);
        mrc_aside_settle();
        assert_int_equal(released, 1);
        assert_int_equal(mrc_alloc_live(), alive);
        mercer_ctx_free(ctx);
    }
}

/* Work that has ended, and work that is too short to leave, belongs to the caller as before. */
static void test_work_aside_is_waited_for(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(2);
    for (double flops = 1; flops <= 1e12; flops *= 1e12) {
        atomic_int running = 0, released = 0;
        atomic_bool may_end = true;
        double memory[1] = {0};
        struct call here = {.memory = memory,
                            .running = &running,
                            .released = &released,
                            .stubborn = true,
                            .may_end = &may_end},
                    *c = &here;
        assert_ok(mrc_aside(ctx, &call_work, flops, &c, err));
        assert_ptr_equal(c, &here);
        assert_float_equal(memory[0], 1, 0);
        assert_int_equal(released, 0);
    }
    mercer_ctx_free(ctx);
}

enum { ORDER = 900 };

static double *random_matrix(int64_t rows, int64_t columns)
{
    mrc_rng rng;
    double *a = NULL;
    mrc_rng_seed(&rng, 5);
    assert_ok(mrc_alloc2(&a, rows, columns, sizeof *a, err));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            a[i * columns + j] = mrc_rng_normal(&rng);
    for (int64_t i = 0; rows == columns && i < rows; i++)
        for (int64_t j = 0; j < i; j++)
            a[j * columns + i] = a[i * columns + j];
    return a;
}

typedef mercer_status (*long_call)(mercer_ctx *ctx, double *a, double *b, double *c);

static mercer_status all_pairs(mercer_ctx *ctx, double *a, double *b, double *c)
{
    (void)c;
    return mrc_eigen_symmetric(ctx, ORDER, a, b, NULL);
}

static mercer_status leading_pairs(mercer_ctx *ctx, double *a, double *b, double *c, int64_t count)
{
    double *copy = NULL;
    mrc_tridiagonal t;
    assert_ok(mrc_alloc2(&copy, ORDER, ORDER, sizeof *copy, err));
    memcpy(copy, a, ORDER * ORDER * sizeof *a);
    mercer_status rc = mrc_tridiagonal_init(ctx, ORDER, &copy, b, &t, NULL);
    assert_null(copy);
    if (rc == MERCER_OK)
        rc = mrc_tridiagonal_leading(ctx, &t, count, c, NULL);
    mrc_tridiagonal_destroy(&t);
    return rc;
}

static mercer_status few_pairs(mercer_ctx *ctx, double *a, double *b, double *c)
{
    return leading_pairs(ctx, a, b, c, ORDER / 5);
}

static mercer_status many_pairs(mercer_ctx *ctx, double *a, double *b, double *c)
{
    return leading_pairs(ctx, a, b, c, ORDER);
}

static mercer_status singular(mercer_ctx *ctx, double *a, double *b, double *c)
{
    return mrc_svd_left(ctx, ORDER, ORDER, a, b, c, NULL);
}

static mercer_status wide_singular(mercer_ctx *ctx, double *a, double *b, double *c)
{
    return mrc_wide_svd(ctx, a, ORDER, ORDER, b, c, NULL);
}

static mercer_status basis(mercer_ctx *ctx, double *a, double *b, double *c)
{
    (void)b;
    return mrc_orthonormal_rows(ctx, ORDER, ORDER, a, c, NULL);
}

static mercer_status factor(mercer_ctx *ctx, double *a, double *b, double *c)
{
    (void)b, (void)c;
    return mrc_qr_factor(ctx, ORDER, ORDER, a, NULL);
}

static mercer_status solve(mercer_ctx *ctx, double *a, double *b, double *c)
{
    bool is_singular;
    (void)b;
    return mrc_solve(ctx, ORDER, a, ORDER, c, &is_singular, NULL);
}

static const struct {
    const char *name;
    long_call run;
} long_calls[] = {{"all pairs", all_pairs}, {"few pairs", few_pairs}, {"many pairs", many_pairs},
                  {"singular", singular},   {"wide", wide_singular},  {"basis", basis},
                  {"factor", factor},       {"solve", solve}};

/* At the poll `last`, if the call takes as long as that. The caller may free all it gave at once.
 */
static mercer_status cancel_at(long_call run, int last, struct polls *polls)
{
    mercer_ctx *ctx = new_ctx(2);
    double *a = random_matrix(ORDER, ORDER), *c = random_matrix(ORDER, ORDER), *b = NULL;
    assert_ok(mrc_alloc(&b, ORDER, sizeof *b, err));
    set_polls(ctx, polls, last);
    mercer_status rc = run(ctx, a, b, c);
    mrc_free(a);
    mrc_free(b);
    mrc_free(c);
    mercer_ctx_free(ctx);
    return rc;
}

static void test_lapack_is_cancelled(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof long_calls / sizeof *long_calls; i++) {
        int64_t alive = mrc_alloc_live();
        struct polls polls;
        assert_int_equal(cancel_at(long_calls[i].run, 1, &polls), MERCER_ERR_CANCELLED);
        assert_int_equal(cancel_at(long_calls[i].run, 0, &polls), MERCER_OK);
        int all = polls.count;
        print_message("%s: %d polls\n", long_calls[i].name, all);
        for (int last = 2; last <= all; last += all / 3 + 1) {
            mercer_status rc = cancel_at(long_calls[i].run, last, &polls);
            /* The time it takes may vary. */
            assert_int_equal(rc, polls.count < last ? MERCER_OK : MERCER_ERR_CANCELLED);
            assert_int_equal(polls.elsewhere, 0);
        }
        mrc_aside_settle();
        assert_int_equal(mrc_alloc_live(), alive);
    }
}

/* An allocation that fails before the work is aside. */
static void test_lapack_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof long_calls / sizeof *long_calls; i++) {
        int64_t alive = mrc_alloc_live();
        mercer_ctx *ctx = new_ctx(1);
        double *a = random_matrix(ORDER, ORDER), *c = random_matrix(ORDER, ORDER), *b = NULL;
        assert_ok(mrc_alloc(&b, ORDER, sizeof *b, err));
        bool leads = long_calls[i].run == few_pairs || long_calls[i].run == many_pairs;
        int64_t within = mrc_alloc_live();
        mercer_ctx_cancel(ctx); /* the work itself is not the point */
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int64_t after = leads ? 1 : 0; rc == MERCER_ERR_MEMORY; after++) {
            mrc_alloc_fail_after(after);
            rc = long_calls[i].run(ctx, a, b, c);
            mrc_alloc_fail_after(-1);
            assert_int_equal(mrc_alloc_live(), within);
        }
        assert_int_equal(rc, MERCER_ERR_CANCELLED);
        mrc_free(a);
        mrc_free(b);
        mrc_free(c);
        mercer_ctx_free(ctx);
        assert_int_equal(mrc_alloc_live(), alive);
    }
}

/* A process may end while a thread is still at what nobody waits for. */
static void test_exit_with_work_aside(void **state)
{
    (void)state;
#ifdef THREAD_SANITIZER
    skip(); /* it knows no threads in a child */
#endif
    for (size_t i = 0; i < sizeof long_calls / sizeof *long_calls; i++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct polls polls;
            mercer_status rc = cancel_at(long_calls[i].run, 3, &polls);
            exit(rc == MERCER_OK || rc == MERCER_ERR_CANCELLED ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

enum { N = 1000, D = 6 };

static mercer_status fit(mercer_ctx *ctx, const char *method, const char *store, double *x,
                         double *features)
{
    mercer_fit_options options;
    mercer_rows *rows = view(ctx, x, N, D);
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    options.method = method;
    options.store = store;
    options.kernel = "rbf:sigma=2";
    options.components = 300;
    mercer_status rc = mercer_fit(ctx, &options, rows, NULL, &model, NULL, NULL);
    assert_int_equal(model != NULL, rc == MERCER_OK);
    if (model && features)
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, err));
    mercer_model_free(model);
    mercer_rows_free(rows);
    return rc;
}

/* After a cancelled fit the context is as good as new: the next fit has the same bits. */
static void test_fits_are_cancelled_and_done_again(void **state)
{
    static const char *const methods[] = {"kpca", "akfa", "nystroem"};
    static const char *const stores[] = {"dense", "stream"};
    (void)state;
    double *x = normal_rows(3, N, D, 0, 1), *once = new_doubles(N * 300),
           *again = new_doubles(N * 300);
    for (size_t m = 0; m < 3; m++)
        for (size_t s = 0; s < 2; s++) {
            int64_t alive = mrc_alloc_live();
            struct polls polls;
            mercer_ctx *ctx = new_ctx(2);
            set_polls(ctx, &polls, 0);
            assert_int_equal(fit(ctx, methods[m], stores[s], x, once), MERCER_OK);
            int all = polls.count;
            print_message("%s %s: %d polls\n", methods[m], stores[s], all);
            assert_true(all > 0);
            assert_int_equal(polls.elsewhere, 0);
            for (int last = 1; last <= all / 2; last += all / 5 + 1) {
                set_polls(ctx, &polls, last);
                mercer_status rc = fit(ctx, methods[m], stores[s], x, NULL);
                assert_int_equal(rc, polls.count < last ? MERCER_OK : MERCER_ERR_CANCELLED);
                mercer_ctx_resume(ctx);
            }
            mercer_ctx_set_poll(ctx, NULL, NULL);
            mercer_ctx_set_seed(ctx, mercer_ctx_seed(ctx));
            assert_int_equal(fit(ctx, methods[m], stores[s], x, again), MERCER_OK);
            assert_memory_equal(once, again, (size_t)N * 300 * sizeof *once);
            mercer_ctx_free(ctx);
            mrc_aside_settle();
            assert_int_equal(mrc_alloc_live(), alive);
        }
    free(x), free(once), free(again);
}

static void *cancel_later(void *arg)
{
    usleep(100000);
    mercer_ctx_cancel(arg);
    return NULL;
}

static void test_another_thread_cancels(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(2);
    double *x = normal_rows(3, N, D, 0, 1);
    pthread_t thread;
    mercer_status rc = MERCER_OK;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, ctx), 0);
    while (rc == MERCER_OK)
        rc = fit(ctx, "kpca", "dense", x, NULL);
    assert_int_equal(rc, MERCER_ERR_CANCELLED);
    pthread_join(thread, NULL);
    mercer_ctx_free(ctx);
    mrc_aside_settle();
    free(x);
}

/* Folds run in contexts of their own, on several threads; the poll stays where it was asked for. */
static void test_an_evaluation_polls_on_the_calling_thread(void **state)
{
    enum { ROWS = 1200 };
    (void)state;
    double *x = normal_rows(3, ROWS, D, 0, 1);
    int64_t codes[ROWS];
    for (int i = 0; i < ROWS; i++)
        codes[i] = x[i * D] * x[i * D + 1] > 0;
    for (int threads = 1; threads <= 3; threads++) {
        const char *names[] = {"no", "yes"};
        mercer_ctx *ctx = new_ctx(threads);
        mercer_rows *rows = view(ctx, x, ROWS, D);
        mercer_targets *targets = NULL;
        mercer_evaluation *result = NULL;
        mercer_fit_options options;
        mercer_evaluate_options how;
        struct polls polls;
        assert_ok(mercer_targets_new_classes(codes, ROWS, names, 2, NULL, &targets, err));
        mercer_fit_options_init(&options);
        options.method = "kpls";
        options.kernel = "rbf:sigma=2";
        options.components = 40;
        mercer_evaluate_options_init(&how);
        how.fit = &options;
        how.folds = 6;
        set_polls(ctx, &polls, 3);
        mercer_status rc = mercer_evaluate(ctx, &how, rows, targets, &result, NULL);
        assert_int_equal(rc, polls.count < 3 ? MERCER_OK : MERCER_ERR_CANCELLED);
        assert_int_equal(polls.elsewhere, 0);
        assert_true(polls.count > 0);
        mercer_evaluation_free(result);
        mercer_targets_free(targets);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
    }
    mrc_aside_settle();
    free(x);
}

/* Loops over the rows look for a cancellation before the first kernel value: with many rows and
 * columns they take seconds. */
static void test_preparing_rows_is_cancelled(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=2", "laplacian:gamma=0.1", "cosine"};
    enum { WIDE = 40 }; /* more columns than differences are taken of */
    (void)state;
    double *x = normal_rows(3, N, WIDE, 0, 1);
    for (int64_t d = D; d <= WIDE; d += WIDE - D)
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
            mercer_ctx *ctx = new_ctx(1);
            mercer_rows *rows = view(ctx, x, N, d);
            mrc_kernel kernel;
            mrc_points points;
            assert_ok(mrc_kernel_parse(&kernel, kernels[i], err));
            mercer_ctx_cancel(ctx);
            int64_t alive = mrc_alloc_live();
            assert_int_equal(mrc_points_init(&points, ctx, &kernel, rows, NULL, NULL),
                             MERCER_ERR_CANCELLED);
            assert_int_equal(mrc_alloc_live(), alive);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
    free(x);
}

/* A long product drops the strips that were not begun: c is as it was. */
static void test_a_tall_product_is_cancelled(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        mercer_ctx *ctx = new_ctx(threads);
        double *a = random_matrix(ORDER, ORDER), *c = random_matrix(ORDER, ORDER),
               *as_was = random_matrix(ORDER, ORDER);
        mercer_ctx_cancel(ctx);
        assert_int_equal(mrc_tall_times_checked(ctx, ORDER, ORDER, ORDER, 1, a, ORDER, a, ORDER, 0,
                                                c, ORDER, NULL),
                         MERCER_ERR_CANCELLED);
        assert_memory_equal(c, as_was, (size_t)ORDER * ORDER * sizeof *c);
        mrc_free(a), mrc_free(c), mrc_free(as_was);
        mercer_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_aside_is_left_alone_when_cancelled),
        cmocka_unit_test(test_work_aside_is_waited_for),
        cmocka_unit_test(test_lapack_is_cancelled),
        cmocka_unit_test(test_lapack_without_memory),
        cmocka_unit_test(test_exit_with_work_aside),
        cmocka_unit_test(test_fits_are_cancelled_and_done_again),
        cmocka_unit_test(test_another_thread_cancels),
        cmocka_unit_test(test_preparing_rows_is_cancelled),
        cmocka_unit_test(test_a_tall_product_is_cancelled),
        cmocka_unit_test(test_an_evaluation_polls_on_the_calling_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
