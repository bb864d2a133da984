/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that is not waited for after a cancellation.
 *
 * The thread that does it then owns its memory, and ends with it. A process that exits in between
 * would take the memory of BLAS away under it, so threads left to themselves are in a list and are
 * stopped first: this list is what the library knows beyond contexts. */
#include "base/aside.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct aside {
    const mrc_aside_work *work;
    void *call;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool finished, abandoned;
    atomic_bool stop;
    pthread_t thread;
    bool parked; /* for good, because the process ends */
    struct aside *next;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t list_changed = PTHREAD_COND_INITIALIZER;
static struct aside *list; /* of those abandoned */
static pthread_once_t process_known = PTHREAD_ONCE_INIT;

bool mrc_aside_pays(double flops)
{
    /* LAPACK's slowest parts do 2 to 4 of these a nanosecond. */
    return flops > 2e8;
}

static void aside_free(struct aside *a)
{
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->done);
    mrc_free(a);
}

/* The end of a thread that nobody waits for. */
static void leave_list(struct aside *a)
{
    a->work->release(a->call);
    pthread_mutex_lock(&list_lock);
    struct aside **at = &list;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    pthread_detach(a->thread);
    aside_free(a);
    pthread_cond_broadcast(&list_changed);
    pthread_mutex_unlock(&list_lock);
}

/* Where a thread goes that the end of the process has stopped. It stays, for OpenMP could not clean
 * up after it. */
static void park(void *arg)
{
    struct aside *a = arg;
    pthread_mutex_lock(&list_lock);
    a->parked = true;
    pthread_cond_broadcast(&list_changed);
    pthread_mutex_unlock(&list_lock);
    for (;;)
        pause();
}

static void run_call(void *arg)
{
    struct aside *a = arg;
    int old;
    pthread_cleanup_push(park, a);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    a->work->run(a->call, &a->stop);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_cleanup_pop(0);
}

static void *run_aside(void *arg)
{
    struct aside *a = arg;
    int old;
    /* The end of the process may stop the work, whatever it is doing, but nothing else here. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    /* NOLINTNEXTLINE(cert-pos47-c): LAPACK has no points at which it could be stopped */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    mrc_on_one_thread(run_call, a);
    pthread_mutex_lock(&a->lock);
    a->finished = true;
    bool abandoned = a->abandoned;
    pthread_cond_signal(&a->done);
    pthread_mutex_unlock(&a->lock);
    if (abandoned)
        leave_list(a);
    return NULL;
}

static bool is_listed(const struct aside *wanted)
{
    const struct aside *a = list;
    while (a && a != wanted)
        a = a->next;
    return a != NULL;
}

static struct aside *next_to_stop(void)
{
    struct aside *a = list;
    while (a && a->parked)
        a = a->next;
    return a;
}

/* A thread that is stopped holds none of the locks that are needed later, unless it was within some
 * nanoseconds of calls that take milliseconds. Its memory is freed with the process. */
static void stop_all(void)
{
    struct aside *a;
    pthread_mutex_lock(&list_lock);
    while ((a = next_to_stop())) {
        pthread_cancel(a->thread);
        while (is_listed(a) && !a->parked)
            pthread_cond_wait(&list_changed, &list_lock);
    }
    pthread_mutex_unlock(&list_lock);
}

/* A forked child has none of the threads. */
static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&list_lock);
}

static void in_child(void)
{
    list = NULL;
    pthread_mutex_unlock(&list_lock);
}

static void know_the_process(void)
{
    atexit(stop_all);
    pthread_atfork(before_fork, in_parent, in_child);
}

static void abandon(struct aside *a)
{
    pthread_once(&process_known, know_the_process);
    atomic_store(&a->stop, true);
    a->abandoned = true;
    pthread_mutex_lock(&list_lock);
    a->next = list;
    list = a;
    pthread_mutex_unlock(&list_lock);
}

void mrc_aside_settle(void)
{
    pthread_mutex_lock(&list_lock);
    while (list)
        pthread_cond_wait(&list_changed, &list_lock);
    pthread_mutex_unlock(&list_lock);
}

static void run_here(void *arg)
{
    struct aside *a = arg;
    a->work->run(a->call, &a->stop);
}

/* Wait for the work, or for the reason not to. */
static mercer_status await_work(mercer_ctx *ctx, struct aside *a, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    pthread_mutex_lock(&a->lock);
    while (!a->finished && rc == MERCER_OK) {
        mrc_cond_wait(&a->done, &a->lock, MRC_WAIT_SECONDS);
        if (a->finished)
            break;
        pthread_mutex_unlock(&a->lock);
        rc = mrc_check_cancel(ctx, err);
        pthread_mutex_lock(&a->lock);
    }
    bool finished = a->finished;
    if (!finished)
        abandon(a);
    pthread_mutex_unlock(&a->lock);
    if (!finished)
        return rc;
    pthread_join(a->thread, NULL);
    aside_free(a);
    return MERCER_OK;
}

mercer_status mrc_aside(mercer_ctx *ctx, const mrc_aside_work *work, double flops, void *call,
                        mercer_error *err)
{
    struct aside here = {.work = work}, *a = NULL;
    mercer_status rc = MERCER_OK;
    memcpy(&here.call, call, sizeof here.call);
    if (!mrc_aside_pays(flops)) {
        mrc_on_one_thread(run_here, &here);
        return MERCER_OK;
    }
    MRC_TRY(mrc_check_cancel(ctx, err));
    MRC_TRY(mrc_alloc(&a, 1, sizeof *a, err));
    a->work = work;
    a->call = here.call;
    pthread_mutex_init(&a->lock, NULL);
    mrc_cond_init(&a->done);
    if (mrc_thread_start(&a->thread, run_aside, a)) {
        rc = await_work(ctx, a, err);
        if (rc != MERCER_OK) /* the thread has it now */
            memset(call, 0, sizeof here.call);
        return rc;
    }
    mrc_on_one_thread(run_here, &here);
    aside_free(a);
out:
    return rc;
}
