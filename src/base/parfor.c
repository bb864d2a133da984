/* The parallel loop: OpenMP, or plain threads when built with MRC_THREADS_PTHREAD (which the thread
 * sanitizer understands).
 *
 * OpenBLAS must stay on one thread inside. Its OpenMP build does so by itself in an active parallel
 * region; for a team of one we set the thread count of the region's own implicit task, a setting
 * that dies with the region, so that the host's settings are never touched. */
#include "base/ctx.h"

/* Both forms of run_team run the loop and return the seconds lost by waiting for the other threads:
 * 0 unless that took much longer than the calling thread's part of the work. */

#ifdef MRC_THREADS_PTHREAD

#include <pthread.h>

struct team {
    _Atomic int64_t next;
    int64_t tasks;
    mercer_parfor_body body;
    void *arg;
};

struct member {
    struct team *team;
    int worker;
};

static void *run_member(void *arg)
{
    struct member *member = arg;
    struct team *team = member->team;
    for (;;) {
        int64_t task = atomic_fetch_add(&team->next, 1);
        if (task >= team->tasks)
            return NULL;
        team->body(team->arg, task, member->worker);
    }
}

static double run_team(int64_t tasks, int threads, mercer_parfor_body body, void *arg)
{
    enum { MOST = 64 };
    struct team team = {.tasks = tasks, .body = body, .arg = arg};
    struct member members[MOST];
    pthread_t ids[MOST];
    int wanted = threads < MOST ? threads : MOST, started = 0;
    if (wanted > tasks)
        wanted = (int)tasks;
    for (int i = 1; i < wanted; i++) {
        members[i] = (struct member){.team = &team, .worker = i};
        if (pthread_create(&ids[i], NULL, run_member, &members[i]) != 0)
            break; /* fewer threads do the same work */
        started = i;
    }
    members[0] = (struct member){.team = &team, .worker = 0};
    run_member(&members[0]);
    for (int i = 1; i <= started; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

#else

#include <omp.h>
#include <time.h>

/* A thread that sleeps wakes up in less. */
static const double LEAST_WAIT = 1e-4;

/* Of the calling thread: a busy machine may take the processor from it, too. */
static double worked_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double run_team(int64_t tasks, int threads, mercer_parfor_body body, void *arg)
{
    int team = tasks < threads ? (int)tasks : threads;
    double start = worked_seconds(), worked = 0, idle = 0;
    if (team < 1)
        team = 1; /* NOLINT(clang-analyzer-deadcode.DeadStores): the pragma below reads it */
#pragma omp parallel num_threads(team)
    {
        omp_set_num_threads(1); /* of this implicit task only, see above */
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t task = 0; task < tasks; task++)
            body(arg, task, omp_get_thread_num());
        if (omp_get_thread_num() == 0) {
            worked = worked_seconds() - start;
            idle = mrc_seconds();
        }
    }
    double waited = mrc_seconds() - idle;
    return waited > 2 * worked + LEAST_WAIT ? waited : 0;
}

#endif

void mrc_parfor_default(void *host, int64_t tasks, int threads, mercer_parfor_body body, void *arg)
{
    (void)host;
    run_team(tasks, threads, body, arg);
}

/* A task run by the host's loop, whose threads know nothing of our care for BLAS. */
struct hosted {
    mercer_parfor_body body;
    void *arg;
};

static void run_hosted(void *arg, int64_t task, int worker)
{
    const struct hosted *hosted = arg;
#ifdef MRC_THREADS_PTHREAD
    hosted->body(hosted->arg, task, worker);
#else
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1);
        hosted->body(hosted->arg, task, worker);
    }
#endif
}

void mrc_parfor(mercer_ctx *ctx, int64_t tasks, mercer_parfor_body body, void *arg)
{
    struct hosted hosted = {.body = body, .arg = arg};
    if (tasks <= 0)
        return;
    if (ctx->parfor == mrc_parfor_default)
        mrc_parfor_default(NULL, tasks, ctx->threads, body, arg);
    else
        ctx->parfor(ctx->parfor_host, tasks, ctx->threads, run_hosted, &hosted);
}

void mrc_parfor_sized(mercer_ctx *ctx, int64_t tasks, double flops, mercer_parfor_body body,
                      void *arg)
{
    /* About a tenth of a millisecond of BLAS on one core. */
    static const double WORTH_WAKING = 4e6;
    /* On a busy machine the others may not get a processor for many times that, and those that wait
     * for them spin. Once that was seen, loops below this size stay on the calling thread until the
     * loss is small beside the time since. */
    static const double WORTH_WAITING = 4e8, REPAYMENT = 20;
    if (flops < WORTH_WAKING || (flops < WORTH_WAITING && mrc_seconds() < ctx->alone_until)) {
        run_team(tasks, 1, body, arg);
    } else if (ctx->parfor != mrc_parfor_default) {
        mrc_parfor(ctx, tasks, body, arg);
    } else {
        double lost = run_team(tasks, ctx->threads, body, arg);
        if (lost > 0)
            ctx->alone_until = mrc_seconds() + REPAYMENT * lost;
    }
}

void mrc_serial(mercer_ctx *ctx, mercer_parfor_body body, void *arg)
{
    (void)ctx;
    mrc_parfor_default(NULL, 1, 1, body, arg);
}
