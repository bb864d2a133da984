/* SPDX-License-Identifier: BSD-3-Clause */
/* The parallel loop: a pool of threads that the context owns.
 *
 * The calling thread invites the others and works itself. Who is not there when the tasks run out
 * is not waited for: its invitation is withdrawn. Threads are started when a loop first wants them;
 * where the system allows no more, fewer do the same work.
 *
 * A forked child has the memory of the pool but none of its threads, so threads are started anew
 * when the process has changed. For the same reason OpenMP never gets to know of them: a child
 * whose parent had a team would wait for that team for ever, whoever had asked for it.
 *
 * OpenBLAS must stay on one thread inside. Its OpenMP build asks OpenMP for the number of threads,
 * so each thread of the pool, and the calling one while it works, is in an OpenMP region of one
 * thread, of whose implicit task we set that number: a setting that dies with the region, so that
 * the host's settings are never touched. A build for the thread sanitizer (MRC_THREADS_PTHREAD)
 * does without OpenMP, and without that care. */
#include "base/ctx.h"
#include "base/memory.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#ifdef MRC_THREADS_PTHREAD

void mrc_on_one_thread(void (*run)(void *), void *arg)
{
    run(arg);
}

#else

#include <omp.h>

void mrc_on_one_thread(void (*run)(void *), void *arg)
{
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1); /* of this implicit task only, see above */
        run(arg);
    }
}

#endif

/* What a seat of the pool is doing. An invitation is taken (WORKING) or withdrawn (IDLE) by whoever
 * is first. */
enum { IDLE, INVITED, WORKING, LEAVE };

struct seat {
    _Alignas(64) atomic_int state;
    atomic_bool asleep; /* or about to be: lock and signal, to be seen */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct mrc_pool *pool;
};

struct loop {
    _Atomic int64_t next;
    int64_t tasks;
    mercer_ctx *ctx;
    bool drops; /* tasks not begun when ctx is cancelled */
    mercer_parfor_body body;
    void *arg;
};

struct mrc_pool {
    pid_t process;      /* that started the threads */
    int seats, started; /* beside the calling thread */
    bool full;          /* the system refused one more thread */
    bool spins;         /* every thread can have a processor: short waits spin */
    struct loop *loop;
    atomic_bool awaited; /* the caller sleeps until all are idle */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct seat seat[];
};

/* A thread that sleeps takes some 50 us to wake up, more than many loops; loops often follow each
 * other within this time. Raising it takes the processor from others for longer. */
static const double SPIN_SECONDS = 1e-3;

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Wait a short time for the state to become another one. */
static bool changes_soon(const atomic_int *state, int old)
{
    enum { BETWEEN_CLOCKS = 32 };
    double end = mrc_seconds() + SPIN_SECONDS;
    do
        for (int i = 0; i < BETWEEN_CLOCKS; i++) {
            if (atomic_load_explicit(state, memory_order_acquire) != old)
                return true;
            relax();
        }
    while (mrc_seconds() < end);
    return false;
}

static void await_invitation(struct seat *seat)
{
    if (seat->pool->spins && changes_soon(&seat->state, IDLE))
        return;
    pthread_mutex_lock(&seat->lock);
    atomic_store(&seat->asleep, true);
    while (atomic_load(&seat->state) == IDLE)
        pthread_cond_wait(&seat->wake, &seat->lock);
    atomic_store(&seat->asleep, false);
    pthread_mutex_unlock(&seat->lock);
}

static void set_state(struct seat *seat, int state)
{
    atomic_store(&seat->state, state);
    if (!atomic_load(&seat->asleep))
        return;
    pthread_mutex_lock(&seat->lock);
    pthread_cond_signal(&seat->wake);
    pthread_mutex_unlock(&seat->lock);
}

/* What the thread works at, of the outermost loop of a context: failures are told apart by it
 * (mrc_ctx_fail). */
static _Thread_local struct {
    const mercer_ctx *ctx;
    int64_t task;
} at_work;

int64_t mrc_task_of(const mercer_ctx *ctx)
{
    return at_work.ctx == ctx ? at_work.task : INT64_MAX;
}

void mrc_task_set(int64_t task)
{
    at_work.task = task;
}

/* Whether a task is not to be begun any more. */
static bool is_dropped(const struct loop *loop, int64_t task)
{
    mercer_ctx *ctx = loop->ctx;
    return loop->drops && (mrc_is_cancelled(ctx) ||
                           mrc_ctx_failed_before(ctx, at_work.ctx == ctx ? at_work.task : task));
}

/* The next task of a loop; false: there is none. */
static bool take_task(struct loop *loop, int64_t *task)
{
    *task = atomic_fetch_add(&loop->next, 1);
    return *task < loop->tasks && !is_dropped(loop, *task);
}

static void run_task(const struct loop *loop, int64_t task, int worker)
{
    const mercer_ctx *outer_ctx = at_work.ctx;
    int64_t outer_task = at_work.task;
    if (outer_ctx != loop->ctx) {
        at_work.ctx = loop->ctx;
        at_work.task = task;
    }
    loop->body(loop->arg, task, worker);
    at_work.ctx = outer_ctx;
    at_work.task = outer_task;
}

static void work(struct loop *loop, int worker)
{
    int64_t task;
    while (take_task(loop, &task))
        run_task(loop, task, worker);
}

static void serve(void *arg)
{
    struct seat *seat = arg;
    struct mrc_pool *pool = seat->pool;
    for (;;) {
        int state = INVITED;
        await_invitation(seat);
        if (atomic_compare_exchange_strong(&seat->state, &state, WORKING)) {
            work(pool->loop, (int)(seat - pool->seat) + 1);
            atomic_store(&seat->state, IDLE);
            if (atomic_load(&pool->awaited)) {
                pthread_mutex_lock(&pool->lock);
                pthread_cond_signal(&pool->idle);
                pthread_mutex_unlock(&pool->lock);
            }
        } else if (state == LEAVE) {
            return;
        }
    }
}

static void *run_seat(void *arg)
{
    mrc_on_one_thread(serve, arg);
    return NULL;
}

bool mrc_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int refused = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return refused == 0;
}

void mrc_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void mrc_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, double seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)seconds;
    end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(cond, lock, &end);
}

/* A pool without threads. Of one that a forked child has inherited nothing is destroyed: its locks
 * may be held by threads that are not there. */
static void reset(struct mrc_pool *pool)
{
    pool->process = getpid();
    pool->started = 0;
    pool->full = false;
    pool->spins = pool->seats < mrc_processors();
    atomic_store(&pool->awaited, false);
    pthread_mutex_init(&pool->lock, NULL);
    mrc_cond_init(&pool->idle);
}

mercer_status mrc_pool_new(struct mrc_pool **out, int threads, mercer_error *err)
{
    int seats = threads - 1;
    mercer_status rc =
        mrc_alloc(out, 1, sizeof(struct mrc_pool) + (size_t)seats * sizeof(struct seat), err);
    if (rc != MERCER_OK)
        return rc;
    (*out)->seats = seats;
    reset(*out);
    return MERCER_OK;
}

void mrc_pool_free(struct mrc_pool *pool)
{
    if (pool && pool->process == getpid()) {
        for (int i = 0; i < pool->started; i++)
            set_state(&pool->seat[i], LEAVE);
        for (int i = 0; i < pool->started; i++) {
            pthread_join(pool->seat[i].thread, NULL);
            pthread_mutex_destroy(&pool->seat[i].lock);
            pthread_cond_destroy(&pool->seat[i].wake);
        }
        pthread_mutex_destroy(&pool->lock);
        pthread_cond_destroy(&pool->idle);
    }
    mrc_free(pool);
}

int mrc_pool_threads(const struct mrc_pool *pool)
{
    return pool->seats + 1;
}

static void start_seat(struct mrc_pool *pool)
{
    struct seat *seat = &pool->seat[pool->started];
    seat->pool = pool;
    atomic_store(&seat->state, IDLE);
    atomic_store(&seat->asleep, false);
    pthread_mutex_init(&seat->lock, NULL);
    pthread_cond_init(&seat->wake, NULL);
    if (mrc_thread_start(&seat->thread, run_seat, seat)) {
        pool->started++;
        return;
    }
    pthread_mutex_destroy(&seat->lock);
    pthread_cond_destroy(&seat->wake);
    pool->full = true;
}

/* How many of the threads wanted beside the calling one there are. */
static int enlist(struct mrc_pool *pool, int64_t wanted)
{
    if (wanted <= 0)
        return 0;
    if (pool->process != getpid())
        reset(pool);
    if (wanted > pool->seats)
        wanted = pool->seats;
    while (pool->started < wanted && !pool->full)
        start_seat(pool);
    return pool->started < wanted ? pool->started : (int)wanted;
}

static bool any_works(const struct mrc_pool *pool, int helpers)
{
    for (int i = 0; i < helpers; i++)
        if (atomic_load(&pool->seat[i].state) == WORKING)
            return true;
    return false;
}

/* Wait until those who have taken the invitation are done. */
static void await_helpers(mercer_ctx *ctx, int helpers)
{
    struct mrc_pool *pool = ctx->pool;
    for (int i = 0; i < helpers; i++) {
        int invited = INVITED;
        atomic_compare_exchange_strong(&pool->seat[i].state, &invited, IDLE);
    }
    if (pool->spins) {
        int done = 0;
        while (done < helpers && changes_soon(&pool->seat[done].state, WORKING))
            done++;
        if (done == helpers)
            return;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->awaited, true);
    while (any_works(pool, helpers)) {
        mrc_cond_wait(&pool->idle, &pool->lock, MRC_WAIT_SECONDS);
        pthread_mutex_unlock(&pool->lock);
        mrc_poll(ctx);
        pthread_mutex_lock(&pool->lock);
    }
    atomic_store(&pool->awaited, false);
    pthread_mutex_unlock(&pool->lock);
}

/* The processor time of the calling thread, which a busy machine may interrupt, too. */
static double worked_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_own_part(void *arg)
{
    struct loop *loop = arg;
    int64_t task;
    while (take_task(loop, &task)) {
        run_task(loop, task, 0);
        mrc_poll(loop->ctx);
    }
}

/* A loop inside a task of another one belongs to that task. */
static void begin_loop(mercer_ctx *ctx)
{
    if (at_work.ctx != ctx)
        ctx->loops++;
}

/* Run the loop on the calling thread and up to threads - 1 others. Returns the seconds lost by
 * waiting for them: 0 unless that took much longer than the calling thread's part of the work. */
static double run_team(struct loop *loop, int threads)
{
    static const double MIN_WAIT = 1e-4; /* a thread that sleeps wakes up in less */
    mercer_ctx *ctx = loop->ctx;
    int64_t wanted = loop->tasks < threads ? loop->tasks : threads;
    begin_loop(ctx);
    /* A loop inside a task of another one stays where it is. */
    int helpers = ctx->inside ? 0 : enlist(ctx->pool, wanted - 1);
    if (helpers == 0) {
        mrc_on_one_thread(run_own_part, loop);
        return 0;
    }
    ctx->pool->loop = loop;
    ctx->caller = pthread_self();
    ctx->inside = true;
    for (int i = 0; i < helpers; i++)
        set_state(&ctx->pool->seat[i], INVITED);
    double start = worked_seconds();
    mrc_on_one_thread(run_own_part, loop);
    double worked = worked_seconds() - start, idle = mrc_seconds();
    await_helpers(ctx, helpers);
    ctx->inside = false;
    double waited = mrc_seconds() - idle;
    return waited > 2 * worked + MIN_WAIT ? waited : 0;
}

/* A task run by the host's loop, whose threads know nothing of our care for BLAS. */
struct hosted_task {
    struct loop *loop;
    int64_t task;
    int worker;
};

static void run_hosted_task(void *arg)
{
    const struct hosted_task *t = arg;
    struct loop *loop = t->loop;
    if (is_dropped(loop, t->task))
        return;
    run_task(loop, t->task, t->worker);
    mrc_poll(loop->ctx);
}

static void run_hosted(void *arg, int64_t task, int worker)
{
    struct hosted_task t = {.loop = arg, .task = task, .worker = worker};
    mrc_on_one_thread(run_hosted_task, &t);
}

static void run_loop(struct loop *loop)
{
    mercer_ctx *ctx = loop->ctx;
    if (loop->tasks <= 0)
        return;
    if (!ctx->parfor || ctx->inside) {
        run_team(loop, ctx->threads);
        return;
    }
    begin_loop(ctx);
    ctx->caller = pthread_self();
    ctx->inside = true;
    ctx->parfor(ctx->parfor_host, loop->tasks, ctx->threads, run_hosted, loop);
    ctx->inside = false;
}

void mrc_parfor(mercer_ctx *ctx, int64_t tasks, mercer_parfor_body body, void *arg)
{
    struct loop loop = {.ctx = ctx, .tasks = tasks, .body = body, .arg = arg};
    run_loop(&loop);
}

mercer_status mrc_parfor_checked(mercer_ctx *ctx, int64_t tasks, mercer_parfor_body body, void *arg,
                                 mercer_error *err)
{
    struct loop loop = {.ctx = ctx, .tasks = tasks, .drops = true, .body = body, .arg = arg};
    run_loop(&loop);
    return mrc_check_cancel(ctx, err);
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
    struct loop loop = {.ctx = ctx, .tasks = tasks, .body = body, .arg = arg};
    if (flops < WORTH_WAKING || (flops < WORTH_WAITING && mrc_seconds() < ctx->alone_until)) {
        run_team(&loop, 1);
    } else if (ctx->parfor) {
        run_loop(&loop);
    } else {
        double lost = run_team(&loop, ctx->threads);
        if (lost > 0)
            ctx->alone_until = mrc_seconds() + REPAYMENT * lost;
    }
}

void mrc_serial(mercer_ctx *ctx, mercer_parfor_body body, void *arg)
{
    struct loop loop = {.ctx = ctx, .tasks = 1, .body = body, .arg = arg};
    run_team(&loop, 1);
}
