/* SPDX-License-Identifier: BSD-3-Clause */
/* The context and what the machine offers: processors, memory, vector instructions. */
#include "base/ctx.h"

#include "base/memory.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int mrc_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return 1;
}

static int64_t limit_in_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char text[32] = "";
    if (!file)
        return INT64_MAX;
    long long bytes = fgets(text, sizeof text, file) ? strtoll(text, NULL, 10) : 0;
    fclose(file);
    return bytes > 0 ? bytes : INT64_MAX; /* 0 also stands for the word "max" */
}

/* The smallest limit of a group and of those above it; group is cut down on the way. Inside a
 * container the groups above may not be there to see. */
static int64_t limit_of_group(const char *mount, char *group, const char *file)
{
    int64_t limit = INT64_MAX;
    for (;;) {
        char path[1024];
        if (snprintf(path, sizeof path, "%s%s/%s", mount, group, file) < (int)sizeof path) {
            int64_t found = limit_in_file(path);
            limit = found < limit ? found : limit;
        }
        char *slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

/* The smallest memory limit of our cgroup (version 2 or 1) and those above, or INT64_MAX. */
static int64_t cgroup_limit(void)
{
    int64_t limit = INT64_MAX;
    char line[768]; /* "0::/group" or "4:cpu,memory:/group" */
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = NULL;
        if (controllers)
            group = strchr(controllers + 1, ':');
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        int64_t found = INT64_MAX;
        if (controllers[1] == '\0')
            found = limit_of_group("/sys/fs/cgroup", group, "memory.max");
        else if (strstr(controllers, "memory"))
            found = limit_of_group("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        limit = found < limit ? found : limit;
    }
    if (file)
        fclose(file);
    return limit;
}

static pthread_once_t memory_asked = PTHREAD_ONCE_INIT;
static int64_t memory_found;

static void find_memory(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t machine = pages > 0 && page > 0 ? pages * page : (int64_t)1 << 30;
    int64_t limit = cgroup_limit();
    memory_found = (machine < limit ? machine : limit) / 2;
}

/* Found once a process, when a budget is first asked for: the files take ten times as long to read
 * as a context takes to make. */
static int64_t memory_default(void)
{
    pthread_once(&memory_asked, find_memory);
    return memory_found;
}

mrc_simd mrc_simd_detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return MRC_SIMD_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return MRC_SIMD_AVX2;
#endif
    return MRC_SIMD_BASELINE;
}

mercer_status mercer_ctx_new(mercer_ctx **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    mercer_ctx *ctx;
    mercer_status rc = mrc_alloc(&ctx, 1, sizeof *ctx, err);
    if (rc != MERCER_OK)
        return rc;
    ctx->threads = mrc_processors();
    rc = mrc_pool_new(&ctx->pool, ctx->threads, err);
    if (rc != MERCER_OK) {
        mrc_free(ctx);
        return rc;
    }
    pthread_mutex_init(&ctx->failure.lock, NULL);
    ctx->simd = mrc_simd_detect();
    mercer_comm_init(&ctx->comm.table);
    mercer_ctx_set_seed(ctx, 1);
    *out = ctx;
    return MERCER_OK;
}

void mercer_ctx_free(mercer_ctx *ctx)
{
    if (ctx) {
        mrc_helper_stop(&ctx->trainer);
        mrc_pool_free(ctx->pool);
        for (int i = 0; i < ctx->kernel_count; i++)
            mrc_host_kernel_drop(ctx->kernels[i]);
        pthread_mutex_destroy(&ctx->failure.lock);
    }
    mrc_free(ctx);
}

mercer_status mercer_ctx_set_threads(mercer_ctx *ctx, int threads, mercer_error *err)
{
    MRC_NEED(ctx);
    if (threads < 1 || threads > 1024)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "threads"),
                           "threads: %d is not in 1 .. 1024", threads);
    if (threads > mrc_pool_threads(ctx->pool)) {
        struct mrc_pool *larger;
        mercer_status rc = mrc_pool_new(&larger, threads, err);
        if (rc != MERCER_OK)
            return rc;
        mrc_pool_free(ctx->pool);
        ctx->pool = larger;
    }
    ctx->threads = threads;
    return MERCER_OK;
}

int mercer_ctx_threads(const mercer_ctx *ctx)
{
    if (!ctx)
        return 0;
    return ctx->threads;
}

mercer_status mercer_ctx_set_memory(mercer_ctx *ctx, int64_t bytes, mercer_error *err)
{
    MRC_NEED(ctx);
    if (bytes < (1 << 20))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "memory"),
                           "memory: %lld bytes is less than 1 MiB", (long long)bytes);
    ctx->budget = bytes;
    return MERCER_OK;
}

int64_t mercer_ctx_memory(const mercer_ctx *ctx)
{
    if (!ctx)
        return 0;
    return ctx->budget > 0 ? ctx->budget : memory_default();
}

void mercer_ctx_set_seed(mercer_ctx *ctx, uint64_t seed)
{
    if (!ctx)
        return;
    ctx->seed = seed;
    mrc_rng_seed(&ctx->rng, seed);
}

uint64_t mercer_ctx_seed(const mercer_ctx *ctx)
{
    if (!ctx)
        return 0;
    return ctx->seed;
}

void mercer_ctx_set_parfor(mercer_ctx *ctx, mercer_parfor_fn fn, void *host)
{
    if (!ctx)
        return;
    ctx->parfor = fn;
    ctx->parfor_host = host;
}

void mercer_ctx_set_progress(mercer_ctx *ctx, mercer_progress_fn fn, void *host)
{
    if (!ctx)
        return;
    ctx->progress = fn;
    ctx->progress_host = host;
}

void mercer_ctx_set_notice(mercer_ctx *ctx, mercer_notice_fn fn, void *host)
{
    if (!ctx)
        return;
    ctx->notice = fn;
    ctx->notice_host = host;
}

void mercer_ctx_set_poll(mercer_ctx *ctx, mercer_poll_fn fn, void *host)
{
    if (!ctx)
        return;
    ctx->poll = fn;
    ctx->poll_host = host;
}

void mercer_ctx_cancel(mercer_ctx *ctx)
{
    if (!ctx)
        return;
    atomic_store_explicit(&ctx->cancelled, 1, memory_order_relaxed);
}

void mercer_ctx_resume(mercer_ctx *ctx)
{
    if (!ctx)
        return;
    atomic_store_explicit(&ctx->cancelled, 0, memory_order_relaxed);
}

void mercer_ctx_discard_temporaries(mercer_ctx *ctx)
{
    if (!ctx)
        return;
    for (int i = 0; i < MRC_TEMPORARIES; i++)
        if (ctx->temporary_live[i])
            unlink(ctx->temporary[i]);
}

void mrc_ctx_inherit(mercer_ctx *child, mercer_ctx *parent)
{
    child->simd = parent->simd;
    for (int i = 0; i < parent->kernel_count; i++) {
        mrc_host_kernel_hold(parent->kernels[i]);
        child->kernels[i] = parent->kernels[i];
    }
    child->kernel_count = parent->kernel_count;
    child->parent = parent;
}

void mrc_poll(mercer_ctx *ctx)
{
    if (ctx->parent)
        mrc_poll(ctx->parent);
    if ((!ctx->poll && ctx->limits.deadline == 0 && !ctx->comm.listens) ||
        (ctx->inside && !pthread_equal(ctx->caller, pthread_self())))
        return;
    struct timespec clock;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &clock); /* a few nanoseconds: loops come here often */
    double now = (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
    if (now - ctx->polled < MRC_POLL_SECONDS)
        return;
    ctx->polled = now;
    if (ctx->poll && ctx->poll(ctx->poll_host) != 0)
        mercer_ctx_cancel(ctx);
    if (mrc_limit_time(&ctx->limits, NULL, NULL) != MERCER_OK)
        atomic_store_explicit(&ctx->expired, 1, memory_order_relaxed);
    if (mrc_comm_heard(&ctx->comm))
        atomic_store_explicit(&ctx->heard, 1, memory_order_relaxed);
}

/* ---- failures of the host's functions ---- */

void mrc_host_kernel_hold(mrc_host_kernel *kernel)
{
    if (kernel)
        atomic_fetch_add_explicit(&kernel->owners, 1, memory_order_relaxed);
}

void mrc_host_kernel_drop(mrc_host_kernel *kernel)
{
    if (!kernel || atomic_fetch_sub_explicit(&kernel->owners, 1, memory_order_acq_rel) > 1)
        return;
    if (kernel->release)
        kernel->release(kernel->host);
    mrc_free(kernel);
}

void mrc_ctx_fail(mercer_ctx *ctx, const mercer_error *why)
{
    mrc_failure *failure = &ctx->failure;
    int64_t task = mrc_task_of(ctx);
    pthread_mutex_lock(&failure->lock);
    if (!atomic_load(&failure->is_set) || (failure->loop == ctx->loops && task < failure->task)) {
        mrc_fail_again(&failure->why, why->code, why);
        failure->loop = ctx->loops;
        failure->task = task;
        atomic_store(&failure->is_set, true);
    }
    pthread_mutex_unlock(&failure->lock);
}

bool mrc_ctx_failed_before(mercer_ctx *ctx, int64_t task)
{
    mrc_failure *failure = &ctx->failure;
    if (!atomic_load(&failure->is_set))
        return false;
    pthread_mutex_lock(&failure->lock);
    bool before = failure->loop != ctx->loops || failure->task <= task;
    pthread_mutex_unlock(&failure->lock);
    return before;
}

bool mrc_ctx_has_failed(mercer_ctx *ctx)
{
    return mrc_ctx_failed_before(ctx, mrc_task_of(ctx));
}

static mercer_status get_failure(mercer_ctx *ctx, mercer_error *err)
{
    mrc_failure *failure = &ctx->failure;
    pthread_mutex_lock(&failure->lock);
    mercer_status rc = mrc_fail_again(err, failure->why.code, &failure->why);
    pthread_mutex_unlock(&failure->lock);
    return rc;
}

void mrc_ctx_enter(mercer_ctx *ctx)
{
    atomic_fetch_add(&ctx->depth, 1);
}

mercer_status mrc_ctx_leave(mercer_ctx *ctx, mercer_status rc, mercer_error *err)
{
    bool outermost = atomic_fetch_sub(&ctx->depth, 1) == 1;
    if (!atomic_load(&ctx->failure.is_set))
        return rc;
    rc = get_failure(ctx, err);
    if (outermost) {
        if (ctx->parent)
            mrc_ctx_fail(ctx->parent, &ctx->failure.why);
        atomic_store(&ctx->failure.is_set, false);
    }
    return rc;
}

bool mrc_is_cancelled(const mercer_ctx *ctx)
{
    return atomic_load_explicit(&ctx->cancelled, memory_order_relaxed) ||
           atomic_load_explicit(&ctx->expired, memory_order_relaxed) ||
           atomic_load_explicit(&ctx->stopped, memory_order_relaxed) ||
           atomic_load_explicit(&ctx->heard, memory_order_relaxed) ||
           (ctx->parent && mrc_is_cancelled(ctx->parent));
}

mercer_status mrc_check_cancel(mercer_ctx *ctx, mercer_error *err)
{
    mrc_poll(ctx);
    if (mrc_is_cancelled(ctx)) {
        bool cancelled = false;
        for (const mercer_ctx *at = ctx; at; at = at->parent) {
            if (atomic_load_explicit(&at->expired, memory_order_relaxed))
                return mrc_limit_time(&at->limits, NULL, err);
            cancelled = cancelled || atomic_load_explicit(&at->cancelled, memory_order_relaxed);
        }
        return cancelled ? mrc_fail(err, MERCER_ERR_CANCELLED, "cancelled")
                         : mrc_fail(err, MERCER_ERR_PEER, "another part of the work has failed");
    }
    return mrc_ctx_has_failed(ctx) ? get_failure(ctx, err) : MERCER_OK;
}

void mrc_ctx_stop(mercer_ctx *ctx, bool stop)
{
    atomic_store_explicit(&ctx->stopped, stop, memory_order_relaxed);
}

mercer_status mrc_check_pass(mercer_ctx *ctx, int64_t i, int64_t values, mercer_error *err)
{
    return i % (1 + (1 << 20) / (values + 1)) == 0 ? mrc_check_cancel(ctx, err) : MERCER_OK;
}

void mrc_progress(const mercer_ctx *ctx, const char *phase, double done)
{
    if (ctx->progress)
        ctx->progress(ctx->progress_host, phase, done);
}

static void send_notice(const mercer_ctx *ctx, const mrc_at *at, const char *format, va_list args)
{
    mercer_notice notice = {.code = MERCER_OK};
    if (!ctx->notice)
        return;
    vsnprintf(notice.text, sizeof notice.text, format, args);
    mrc_error_place(&notice, at);
    ctx->notice(ctx->notice_host, &notice);
}

void mrc_notice(const mercer_ctx *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    send_notice(ctx, MRC_AT(0), format, args);
    va_end(args);
}

void mrc_notice_at(const mercer_ctx *ctx, const mrc_at *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    send_notice(ctx, at, format, args);
    va_end(args);
}

double mrc_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
