/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a context: loops of every kind, threads that the system refuses, and processes
 * that fork. The linker puts __wrap_pthread_create in place of pthread_create. */
#include "sanitizer.h"
#include "support.h"

#include "base/memory.h"

#include <mercer/mercer.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int threads_left = 1000000; /* that may still be started */
static atomic_int threads_started;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
    if (atomic_fetch_sub(&threads_left, 1) <= 0)
        return EAGAIN;
    atomic_fetch_add(&threads_started, 1);
    return __real_pthread_create(thread, attributes, run, arg);
}

enum { MAX_TASKS = 5000 };

struct visits {
    mercer_ctx *ctx;
    int threads;
    atomic_int count[MAX_TASKS];
    atomic_int at_work[1024]; /* by worker */
    atomic_int clashes;
    int64_t inner; /* tasks of a loop inside each task */
};

static void visit_inside(void *arg, int64_t task, int worker)
{
    atomic_int *count = arg;
    (void)task, (void)worker;
    atomic_fetch_add(count, 1);
}

static void visit(void *arg, int64_t task, int worker)
{
    struct visits *v = arg;
    if (worker < 0 || worker >= v->threads || atomic_fetch_add(&v->at_work[worker], 1) != 0)
        atomic_fetch_add(&v->clashes, 1);
    atomic_fetch_add(&v->count[task], 1);
    if (v->inner > 0) {
        atomic_int inner = 0;
        mrc_parfor(v->ctx, v->inner, visit_inside, &inner);
        if (inner != v->inner)
            atomic_fetch_add(&v->clashes, 1);
    }
    for (volatile int i = 0; i < 200; i++) /* long enough for others to come */
        ;
    atomic_fetch_sub(&v->at_work[worker], 1);
}

/* Every task once, no worker number used twice at a time. */
static void check_loop(mercer_ctx *ctx, int64_t tasks, int64_t inner)
{
    struct visits *v = calloc(1, sizeof *v);
    assert_non_null(v);
    v->ctx = ctx;
    v->threads = mercer_ctx_threads(ctx);
    v->inner = inner;
    mrc_parfor(ctx, tasks, visit, v);
    for (int64_t i = 0; i < MAX_TASKS; i++)
        assert_int_equal(v->count[i], i < tasks);
    assert_int_equal(v->clashes, 0);
    free(v);
}

static void test_loops_run_every_task_once(void **state)
{
    static const int threads[] = {1, 2, 3, 8, 200};
    static const int64_t tasks[] = {0, 1, 2, 3, 7, 8, 9, 100, MAX_TASKS};
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        mercer_ctx *ctx = new_ctx(threads[t]);
        for (int round = 0; round < 20; round++)
            for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++)
                check_loop(ctx, tasks[k], round % 4 == 0 ? 5 : 0);
        mercer_ctx_free(ctx);
    }
}

static void test_threads_may_become_more_and_fewer(void **state)
{
    static const int threads[] = {2, 1, 5, 3, 1024, 2};
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        assert_ok(mercer_ctx_set_threads(ctx, threads[t], err));
        check_loop(ctx, MAX_TASKS, 0);
        check_loop(ctx, 3, 2);
    }
    mercer_ctx_free(ctx);
}

/* One thread is what there always is. */
static void test_loops_go_on_where_threads_are_refused(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 4; allowed++) {
        mercer_ctx *ctx = new_ctx(4);
        atomic_store(&threads_left, allowed);
        atomic_store(&threads_started, 0);
        for (int round = 0; round < 10; round++)
            check_loop(ctx, 1000, 0);
        assert_int_equal(threads_started, allowed < 3 ? allowed : 3);
        atomic_store(&threads_left, 1000000);
        mercer_ctx_free(ctx);
    }
}

static void test_nothing_is_started_before_it_is_needed(void **state)
{
    (void)state;
    atomic_store(&threads_started, 0);
    for (int i = 0; i < 50; i++)
        mercer_ctx_free(new_ctx(8));
    mercer_ctx *ctx = new_ctx(8);
    check_loop(ctx, 1, 0);
    assert_int_equal(threads_started, 0);
    check_loop(ctx, 3, 0);
    assert_int_equal(threads_started, 2);
    mercer_ctx_free(ctx);
}

static void *loops_of_its_own(void *arg)
{
    (void)arg;
    for (int round = 0; round < 10; round++) {
        mercer_ctx *ctx = new_ctx(3);
        for (int i = 0; i < 20; i++)
            check_loop(ctx, 50, i % 2);
        mercer_ctx_free(ctx);
    }
    return NULL;
}

static void test_many_contexts_at_once(void **state)
{
    enum { MANY = 60, HOSTS = 4 };
    mercer_ctx *idle[MANY];
    pthread_t hosts[HOSTS];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        idle[i] = new_ctx(4);
        check_loop(idle[i], 20, 0);
    }
    for (int i = 0; i < HOSTS; i++)
        assert_int_equal(pthread_create(&hosts[i], NULL, loops_of_its_own, NULL), 0);
    for (int i = 0; i < HOSTS; i++)
        assert_int_equal(pthread_join(hosts[i], NULL), 0);
    for (int i = 0; i < MANY; i++)
        mercer_ctx_free(idle[i]);
}

static void hosts_loop(void *host, int64_t tasks, int threads, mercer_parfor_body body, void *arg)
{
    ++*(int *)host;
    for (int64_t i = tasks; i-- > 0;)
        body(arg, i, (int)(i % threads));
}

static void test_a_loop_of_the_host(void **state)
{
    int calls = 0;
    (void)state;
    mercer_ctx *ctx = new_ctx(3);
    mercer_ctx_set_parfor(ctx, hosts_loop, &calls);
    check_loop(ctx, 100, 4);
    assert_int_equal(calls, 1); /* loops inside stay where they are */
    mercer_ctx_set_parfor(ctx, NULL, NULL);
    check_loop(ctx, 100, 4);
    assert_int_equal(calls, 1);
    mercer_ctx_free(ctx);
}

enum { N = 900, L = 6 };

struct run {
    const char *method, *store;
};

static const struct run runs[] = {{"kpca", "dense"}, {"kpca", "stream"}, {"akfa", "dense"}};
enum { RUNS = 3 };

static mercer_status features(mercer_ctx *ctx, const double *x, double *out)
{
    mercer_status rc = MERCER_OK;
    for (int r = 0; r < RUNS && rc == MERCER_OK; r++) {
        mercer_fit_options options;
        mercer_rows *rows = NULL;
        mercer_model *model = NULL;
        mercer_fit_options_init(&options);
        options.method = runs[r].method;
        options.store = runs[r].store;
        options.kernel = "rbf:sigma=2";
        options.components = L;
        mercer_ctx_set_seed(ctx, 7);
        rc = view_f64(ctx, x, N, 2, 2, &rows, NULL);
        if (rc == MERCER_OK)
            rc = mercer_fit(ctx, &options, rows, NULL, &model, NULL, NULL);
        if (rc == MERCER_OK)
            rc = mercer_model_transform(ctx, model, rows, NULL, out + r * N * L, NULL, NULL);
        mercer_model_free(model);
        mercer_rows_free(rows);
    }
    return rc;
}

/* 0 when a context gives the features expected. */
static int differs(mercer_ctx *ctx, const double *x, const double *expected)
{
    double *found = calloc(RUNS * N * L, sizeof *found);
    int status = !found || features(ctx, x, found) != MERCER_OK ||
                 memcmp(found, expected, RUNS * N * L * sizeof *found) != 0;
    free(found);
    return status;
}

/* What a child says of its parent's context and one of its own, and of a child of its own. */
static int child(mercer_ctx *ctx, const double *x, const double *expected, int generations)
{
    mercer_ctx *own = NULL;
    int status = 0;
    alarm(300); /* a hang is a failure */
    if (mercer_ctx_new(&own, NULL) != MERCER_OK ||
        mercer_ctx_set_threads(own, 2, NULL) != MERCER_OK)
        return 2;
    status |= differs(own, x, expected);
    status |= differs(ctx, x, expected);
    if (generations > 1) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(child(ctx, x, expected, generations - 1));
        int result = -1;
        if (grandchild < 0 || waitpid(grandchild, &result, 0) != grandchild || result != 0)
            status |= 4;
    }
    mercer_ctx_free(own);
    mercer_ctx_free(ctx);
    return status;
}

static void check_children(mercer_ctx *ctx, const double *x, const double *expected)
{
    pid_t ids[2];
    for (int c = 0; c < 2; c++) {
        ids[c] = fork();
        assert_true(ids[c] >= 0);
        if (ids[c] == 0)
            _exit(child(ctx, x, expected, 2));
    }
    for (int c = 0; c < 2; c++) {
        int status = -1;
        assert_int_equal(waitpid(ids[c], &status, 0), ids[c]);
        assert_int_equal(status, 0);
    }
}

static void test_a_forked_child_fits_like_its_parent(void **state)
{
    (void)state;
#ifdef THREAD_SANITIZER
    skip(); /* it knows no threads in a child */
#endif
    double *x = ring_rows(4, N), *expected = new_doubles(RUNS * N * L);
    mercer_ctx *ctx = new_ctx(2), *single = new_ctx(1);
    assert_int_equal(features(single, x, expected), MERCER_OK);
    assert_int_equal(differs(ctx, x, expected), 0);
    check_children(ctx, x, expected);
    assert_int_equal(differs(ctx, x, expected), 0); /* the parent's threads are still there */
    mercer_ctx_free(ctx);
    mercer_ctx_free(single);
    free(x), free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_run_every_task_once),
        cmocka_unit_test(test_threads_may_become_more_and_fewer),
        cmocka_unit_test(test_loops_go_on_where_threads_are_refused),
        cmocka_unit_test(test_nothing_is_started_before_it_is_needed),
        cmocka_unit_test(test_many_contexts_at_once),
        cmocka_unit_test(test_a_loop_of_the_host),
        cmocka_unit_test(test_a_forked_child_fits_like_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
