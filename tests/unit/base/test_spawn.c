/* SPDX-License-Identifier: BSD-3-Clause */
/* Helper programs: their life and death, and hosts that do as they like with their children. */
#include "data_support.h"

#include "base/spawn.h"
#include "heads/training.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { ROWS = 40, COLUMNS = 3 };

/* No child is left, not even a dead one. */
static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void assert_child_succeeds(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* One machine of two classes. */
static mrc_train_request request_for(int64_t rows, int64_t columns, double cost)
{
    return (mrc_train_request){.kind = MRC_TRAIN_C,
                               .n = rows,
                               .l = columns,
                               .classes = 2,
                               .machines = 1,
                               .c = cost,
                               .tolerance = 1e-3,
                               .cache_mb = 1};
}

/* Train a machine of two classes. */
static mercer_status train_some(mercer_ctx *context, mrc_machine *machine)
{
    double features[ROWS * COLUMNS], targets[ROWS], weights[] = {1, 1};
    mrc_train_request request = request_for(ROWS, COLUMNS, 1);
    for (int i = 0; i < ROWS; i++) {
        targets[i] = i % 2;
        for (int j = 0; j < COLUMNS; j++)
            features[i * COLUMNS + j] = (double)((i * 7 + j * 5) % 11) + (j == 0 ? targets[i] : 0);
    }
    *machine = (mrc_machine){0};
    mercer_status rc = mrc_train_begin(context, "svm", &request, features, weights, &err);
    return rc == MERCER_OK ? mrc_train_next(context, "svm", &request, targets, machine, &err) : rc;
}

static void assert_same_machine(const mrc_machine *a, const mrc_machine *b)
{
    assert_int_equal(a->vectors, b->vectors);
    assert_true(a->vectors > 0);
    assert_memory_equal(a->index, b->index, (size_t)a->vectors * sizeof *a->index);
    assert_memory_equal(a->coef, b->coef, (size_t)a->vectors * sizeof *a->coef);
    assert_memory_equal(a->rho, b->rho, sizeof *a->rho);
}

static void test_start_and_stop(void **state)
{
    mrc_helper helper;
    (void)state;
    int before = count_descriptors();
    assert_ok(mrc_helper_start(&helper, MRC_TRAIN_PROGRAM, NULL, "x", &err));
    assert_true(mrc_helper_is_ours(&helper));
    mrc_helper_stop(&helper);
    assert_false(mrc_helper_is_ours(&helper));
    mrc_helper_stop(&helper);
    assert_fails(mrc_helper_start(&helper, "no-such-program", NULL, "x", &err), MERCER_ERR_IO,
                 "x: cannot start the helper program ");
    assert_non_null(strstr(err.text, "program no-such-program: it is neither in /"));
    assert_non_null(strstr(err.text, " nor in "));
    assert_int_equal(helper.pid, 0);
    assert_int_equal(count_descriptors(), before);
    assert_no_children();
}

/* The program that prints its surroundings, one string per line, from any folder. */
#define ENV_PROGRAM                                                                                \
    "../../../../../../../../../../../../../../../../../../../../../../../../usr/bin/env"

/* How often a line stands in what a helper prints; `total` counts all lines. */
static int count_lines(mrc_helper *helper, const char *wanted, int *total)
{
    static char text[1 << 20];
    size_t length = 0;
    int found = 0;
    struct pollfd printed = {.fd = helper->answers, .events = POLLIN};
    for (ssize_t got = 1; got != 0 && length < sizeof text - 1;) {
        assert_true(poll(&printed, 1, 60000) > 0);
        got = read(helper->answers, text + length, sizeof text - 1 - length);
        assert_true(got >= 0);
        length += (size_t)got;
    }
    text[length] = 0;
    *total = 0;
    for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1, ++*total) {
        *end = 0;
        found += strcmp(at, wanted) == 0;
    }
    return found;
}

/* One setting takes the place of what the process has by that name; the rest is handed on. */
static void test_surroundings_with_a_setting(void **state)
{
    static const char *const set[] = {NULL, "MERCER_TEST_A=1",
                                      "MERCER_TEST_A=", "MERCER_TEST=here"};
    (void)state;
    for (int there = 0; there < 2; there++) {
        int plain = 0;
        unsetenv("MERCER_TEST_A");
        setenv("MERCER_TEST_AB", "untouched", 1);
        if (there)
            setenv("MERCER_TEST_A", "old", 1);
        for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
            const bool replaces = there && (i == 1 || i == 2);
            const char *const lines[] = {"MERCER_TEST_AB=untouched", "MERCER_TEST_A=old",
                                         set[i] ? set[i] : "MERCER_TEST=here"};
            const int expected[] = {1, there && !replaces, i > 0};
            for (size_t j = 0; j < sizeof lines / sizeof *lines; j++) {
                mrc_helper helper;
                int total = 0;
                assert_ok(mrc_helper_start(&helper, ENV_PROGRAM, set[i], "x", &err));
                assert_int_equal(count_lines(&helper, lines[j], &total), expected[j]);
                mrc_helper_stop(&helper);
                if (i == 0)
                    plain = total;
                assert_int_equal(total, plain + (i > 0 && !replaces));
            }
        }
    }
    unsetenv("MERCER_TEST_A");
    unsetenv("MERCER_TEST_AB");
    assert_no_children();
}

/* A terminal stops both (the process group is the host's); the end is for the host to ask for. */
static void test_signals_of_a_terminal(void **state)
{
    static const int asking[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM};
    mrc_helper helper;
    int status;
    (void)state;
    assert_ok(mrc_helper_start(&helper, MRC_TRAIN_PROGRAM, NULL, "x", &err));
    assert_int_equal(getpgid(helper.pid), getpgrp());
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        assert_int_equal(kill(helper.pid, asking[i]), 0);
    usleep(100000);
    assert_int_equal(waitpid(helper.pid, &status, WNOHANG), 0);
    mrc_helper_stop(&helper);
    assert_no_children();
}

static void *cancel_soon(void *unused)
{
    (void)unused;
    usleep(100000);
    mercer_ctx_cancel(ctx);
    return NULL;
}

/* Whoever waits for an answer that does not come, or for room in the socket, can be called off. */
static void test_cancel(void **state)
{
    static const char bytes[1 << 20];
    (void)state;
    for (int i = 0; i < 2; i++) {
        char answer;
        mrc_helper helper;
        pthread_t thread;
        assert_ok(mrc_helper_start(&helper, MRC_TRAIN_PROGRAM, NULL, "x", &err));
        assert_int_equal(kill(helper.pid, SIGSTOP), 0);
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
        assert_fails(i ? mrc_helper_send(&helper, ctx, bytes, sizeof bytes, &err)
                       : mrc_helper_receive(&helper, ctx, &answer, 1, &err),
                     MERCER_ERR_CANCELLED, "cancelled");
        pthread_join(thread, NULL);
        mercer_ctx_resume(ctx);
        mrc_helper_stop(&helper); /* a stopped one, too, is gone at once */
        assert_no_children();
    }
}

/* Pure chance, which a high cost makes LIBSVM learn by heart: it would take minutes. */
static void test_cancel_training(void **state)
{
    enum { MANY = 4000, FEW = 4 };
    double *features = test_malloc(sizeof(double) * MANY * FEW), weights[] = {1, 1};
    double *targets = test_malloc(sizeof(double) * MANY);
    mrc_train_request request = request_for(MANY, FEW, 1e6);
    mrc_machine machine = {0};
    pthread_t thread;
    (void)state;
    for (int i = 0; i < MANY * FEW; i++)
        features[i] = mrc_rng_normal(&ctx->rng);
    for (int i = 0; i < MANY; i++)
        targets[i] = mrc_rng_normal(&ctx->rng) > 0;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
    mercer_status rc = mrc_train_begin(ctx, "svm", &request, features, weights, &err);
    if (rc == MERCER_OK)
        rc = mrc_train_next(ctx, "svm", &request, targets, &machine, &err);
    pthread_join(thread, NULL);
    mercer_ctx_resume(ctx);
    assert_fails(rc, MERCER_ERR_CANCELLED, "cancelled");
    mrc_machine_destroy(&machine);
    test_free(features);
    test_free(targets);
    assert_no_children(); /* the helper was killed */
    assert_ok(train_some(ctx, &machine));
    mrc_machine_destroy(&machine);
    mrc_helper_stop(&ctx->trainer);
}

static void test_death(void **state)
{
    static const struct {
        int signal;
        mrc_fate fate;
    } cases[] = {{SIGSEGV, MRC_FATE_CRASH},
                 {SIGABRT, MRC_FATE_CRASH},
                 {SIGKILL, MRC_FATE_KILLED},
                 {SIGXCPU, MRC_FATE_TIME}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char answer;
        mrc_helper helper;
        assert_ok(mrc_helper_start(&helper, MRC_TRAIN_PROGRAM, NULL, "x", &err));
        assert_int_equal(kill(helper.pid, cases[i].signal), 0);
        assert_fails(mrc_helper_receive(&helper, ctx, &answer, 1, &err), MERCER_ERR_IO,
                     "mercer-train ended unexpectedly");
        assert_int_equal(helper.fate, cases[i].fate);
        mrc_helper_stop(&helper);
        assert_no_children();
    }
}

/* One trainer serves a context; when it dies, the training fails and the next one has another. */
static void test_trainer(void **state)
{
    mrc_machine first, next;
    (void)state;
    assert_ok(train_some(ctx, &first));
    pid_t pid = ctx->trainer.pid;
    assert_ok(train_some(ctx, &next));
    assert_int_equal(ctx->trainer.pid, pid);
    assert_same_machine(&first, &next);
    mrc_machine_destroy(&next);
    assert_int_equal(kill(pid, SIGABRT), 0); /* sanitizers make a status of SIGSEGV */
    while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) != 0)
        ;
    assert_fails(train_some(ctx, &next), MERCER_ERR_MEMORY,
                 "head svm: LIBSVM ended before it was done; out of memory?");
    mrc_machine_destroy(&next);
    assert_no_children();
    assert_ok(train_some(ctx, &next));
    assert_true(ctx->trainer.pid != pid);
    assert_same_machine(&first, &next);
    mrc_machine_destroy(&next);
    mrc_machine_destroy(&first);
    mrc_helper_stop(&ctx->trainer);
    assert_no_children();
}

/* After a fork both processes train, each with a helper of its own. */
static void test_fork(void **state)
{
    mrc_machine ours, again;
    (void)state;
    assert_ok(train_some(ctx, &ours));
    pid_t trainer = ctx->trainer.pid, child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool good = train_some(ctx, &again) == MERCER_OK && ctx->trainer.pid != trainer &&
                    again.vectors == ours.vectors && again.rho[0] == ours.rho[0];
        mercer_ctx_free(ctx);
        _exit(good && waitpid(-1, NULL, WNOHANG) == -1 ? 0 : 1);
    }
    assert_child_succeeds(child);
    assert_ok(train_some(ctx, &again));
    assert_int_equal(ctx->trainer.pid, trainer);
    assert_same_machine(&ours, &again);
    mrc_machine_destroy(&ours);
    mrc_machine_destroy(&again);
    mrc_helper_stop(&ctx->trainer);
    assert_no_children();
}

/* A table through mercer-read; the seed of a fuzzer is the file. */
static void read_seed(const char *seed, const char *name, bool good)
{
    char path[1024];
    size_t length;
    mercer_table *table;
    snprintf(path, sizeof path, "%s/%s", MERCER_CORPUS, seed);
    char *bytes = get_bytes(path, &length);
    put_bytes(name, bytes + 1, length - 1);
    test_free(bytes);
    mercer_status rc = mercer_table_read(ctx, in_scratch(name), NULL, &table, &err);
    if (good) {
        assert_ok(rc);
        assert_int_equal(mercer_rows_count(mercer_table_rows(table)), 2);
    } else {
        assert_int_equal(rc, MERCER_ERR_FORMAT);
    }
    mercer_table_free(table);
}

static void reap_all(int number)
{
    int before = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    errno = before;
}

/* Hosts that take the death of every child for themselves. */
static void test_host_reaps(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        mrc_machine machine;
        mrc_helper helper;
        char answer;
        struct sigaction action = {.sa_handler = i ? reap_all : SIG_IGN}, before;
        assert_int_equal(sigaction(SIGCHLD, &action, &before), 0);
        read_seed("mat/full", "a.mat", true);
        read_seed("hdf5/plain", "a.h5", true);
        read_seed("hdf5/cut", "b.h5", false);
        assert_ok(train_some(ctx, &machine));
        mrc_machine_destroy(&machine);
        mrc_helper_stop(&ctx->trainer);
        assert_ok(mrc_helper_start(&helper, MRC_TRAIN_PROGRAM, NULL, "x", &err));
        assert_int_equal(kill(helper.pid, SIGSEGV), 0);
        assert_int_equal(mrc_helper_receive(&helper, ctx, &answer, 1, &err), MERCER_ERR_IO);
        assert_int_equal(helper.fate, MRC_FATE_CRASH);
        mrc_helper_stop(&helper);
        assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
        assert_no_children();
    }
}

/* A host without standard streams, whose numbers the next descriptors get. */
static void test_no_streams(void **state)
{
    char path[1024];
    (void)state;
    read_seed("mat/full", "a.mat", true);
    snprintf(path, sizeof path, "%s", in_scratch("a.mat"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mercer_table *table;
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        _exit(mercer_table_read(ctx, path, NULL, &table, &err) == MERCER_OK ? 0 : 1);
    }
    assert_child_succeeds(child);
}

/* A helper keeps nothing open that the host has: it would hold the pipe here. */
static void test_descriptors(void **state)
{
    mrc_machine machine;
    int ends[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_ok(train_some(ctx, &machine)); /* so it has started for certain */
    mrc_machine_destroy(&machine);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    mrc_helper_stop(&ctx->trainer);
}

/* Allocations of the library's side; of the helper's, tests/faults has the like. */
static void test_failing(void **state)
{
    mrc_machine machine = {0};
    (void)state;
    assert_each_allocation_fails(4, train_some(ctx, &machine), mrc_machine_destroy(&machine));
    mrc_helper_stop(&ctx->trainer);
    assert_no_children();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_start_and_stop),
        TEST(test_surroundings_with_a_setting),
        TEST(test_signals_of_a_terminal),
        TEST(test_cancel),
        TEST(test_cancel_training),
        TEST(test_death),
        TEST(test_trainer),
        TEST(test_fork),
        TEST(test_host_reaps),
        TEST(test_no_streams),
        TEST(test_descriptors),
        TEST(test_failing),
    };
    return RUN_TESTS(tests);
}
