/* The parallel loop: OpenMP, or plain threads when built with MRC_THREADS_PTHREAD (which the thread
 * sanitizer understands).
 *
 * OpenBLAS must stay on one thread inside. Its OpenMP build does so by itself in an active parallel
 * region; for a team of one we set the thread count of the region's own implicit task, a setting
 * that dies with the region, so that the host's settings are never touched. */
#include "base/ctx.h"

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

void mrc_parfor_default(void *host, int64_t tasks, int threads, mercer_parfor_body body, void *arg)
{
    enum { MOST = 64 };
    struct team team = {.tasks = tasks, .body = body, .arg = arg};
    struct member members[MOST];
    pthread_t ids[MOST];
    int wanted = threads < MOST ? threads : MOST, started = 0;
    (void)host;
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
}

#else

#include <omp.h>

void mrc_parfor_default(void *host, int64_t tasks, int threads, mercer_parfor_body body, void *arg)
{
    (void)host;
    int team = tasks < threads ? (int)tasks : threads;
    if (team < 1)
        team = 1; /* NOLINT(clang-analyzer-deadcode.DeadStores): the pragma below reads it */
#pragma omp parallel num_threads(team)
    {
        omp_set_num_threads(1); /* of this implicit task only, see above */
#pragma omp for schedule(dynamic, 1)
        for (int64_t task = 0; task < tasks; task++)
            body(arg, task, omp_get_thread_num());
    }
}

#endif

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
    /* About a tenth of a millisecond of BLAS on one core. On a busy machine a sleeping thread may
     * take many times that to come. */
    static const double WORTH_WAKING = 4e6;
    if (flops < WORTH_WAKING)
        mrc_parfor_default(NULL, tasks, 1, body, arg);
    else
        mrc_parfor(ctx, tasks, body, arg);
}

void mrc_serial(mercer_ctx *ctx, mercer_parfor_body body, void *arg)
{
    (void)ctx;
    mrc_parfor_default(NULL, 1, 1, body, arg);
}
