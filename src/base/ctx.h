/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of the context: threads, random state, progress, cancellation, temporaries. */
#ifndef MRC_BASE_CTX_H
#define MRC_BASE_CTX_H

#include "base/comm.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/spawn.h"

#include <mercer/context.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Vector instruction sets, narrowest first. NARROW is SSE2 on x86-64 and NEON on arm64. */
typedef enum mrc_simd { MRC_SIMD_BASELINE, MRC_SIMD_AVX2, MRC_SIMD_AVX512, MRC_SIMDS } mrc_simd;

/* A kernel of the host's own. Contexts, models and streams that know it own it together; whoever
 * works during a call borrows it. */
typedef struct mrc_host_kernel {
    char name[64];
    mercer_kernel_fn fn;
    void *host;
    mercer_release_fn release; /* or NULL */
    bool semidefinite;
    atomic_int owners;
} mrc_host_kernel;

void mrc_host_kernel_hold(mrc_host_kernel *kernel); /* one more owner; NULL: nothing */
void mrc_host_kernel_drop(mrc_host_kernel *kernel); /* one less; the last one frees it */

/* A failure of a function of the host where there is no way to return it: kept in the context until
 * the public function that is running ends with it. */
typedef struct mrc_failure {
    atomic_bool is_set;
    pthread_mutex_t lock; /* of the rest */
    mercer_error why;     /* code and all */
    int64_t loop, task;   /* where it happened, see mrc_ctx_fail() */
} mrc_failure;

enum { MRC_HOST_KERNELS = 16 };

enum { MRC_TEMPORARIES = 4, MRC_PATH_MAX = 4096 };

struct mercer_ctx {
    int threads;
    int64_t budget;    /* of memory; 0: what the machine offers. Ask mercer_ctx_memory() */
    mrc_limits limits; /* none, unless the caller has set some */
    uint64_t seed;
    mrc_rng rng;
    mrc_simd simd;           /* widest set the processor has; tests lower it */
    mrc_comm comm;           /* one rank unless the host says otherwise */
    mercer_parfor_fn parfor; /* the host's, or NULL */
    void *parfor_host;
    struct mrc_pool *pool; /* threads of our own loop */
    bool inside;           /* a loop runs on several threads, */
    pthread_t caller;      /* called by this one */
    double alone_until;    /* mrc_seconds() when short loops may wait for other threads again */
    mercer_progress_fn progress;
    void *progress_host;
    mercer_notice_fn notice;
    void *notice_host;
    mercer_poll_fn poll;
    void *poll_host;
    double polled; /* when poll was called last, on the clock of mrc_poll */
    mrc_host_kernel *kernels[MRC_HOST_KERNELS];
    int kernel_count;
    atomic_int cancelled;
    atomic_int expired; /* the time of the limits is over */
    atomic_int stopped; /* mrc_ctx_stop() */
    atomic_int heard;   /* another rank has told that it fails (mrc_comm_listen) */
    mrc_failure failure;
    atomic_int depth;   /* public functions that are running, one inside the other */
    int64_t loops;      /* parallel loops so far, without those inside another one */
    mrc_helper trainer; /* trains one SVM after another (heads/training.c); or none */
    mercer_ctx *parent; /* whose cancellation ends this one's work, too; or NULL */
    /* Names of unfinished output files; live[i] is set only while the name is complete. */
    char temporary[MRC_TEMPORARIES][MRC_PATH_MAX];
    volatile sig_atomic_t temporary_live[MRC_TEMPORARIES];
};

/* Let child, new, be like parent: its kernels and instruction set, and cancelled with it. */
void mrc_ctx_inherit(mercer_ctx *child, mercer_ctx *parent);

/* Processors the process may use. */
int mrc_processors(void);

/* Threads for loops of up to `threads` threads, the calling one among them; none is started yet.
 * Freeing accepts NULL, and in a forked child leaves the parent's threads alone. */
mercer_status mrc_pool_new(struct mrc_pool **out, int threads, mercer_error *err);
void mrc_pool_free(struct mrc_pool *pool);
int mrc_pool_threads(const struct mrc_pool *pool);

/* Start a thread that no signal is delivered to; false when the system refuses. */
bool mrc_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* Call run(arg) so that BLAS inside stays on one thread. */
void mrc_on_one_thread(void (*run)(void *), void *arg);

/* A condition to wait for, up to `seconds`, whatever the clock on the wall says. */
void mrc_cond_init(pthread_cond_t *cond);
void mrc_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, double seconds);

/* Run body(arg, task, worker) for every task in [0, tasks), in parallel. A task must not depend on
 * another, and what it computes must not depend on worker, which only indexes scratch space (of
 * ctx->threads parts). BLAS called inside runs on one thread. */
void mrc_parfor(mercer_ctx *ctx, int64_t tasks, mercer_parfor_body body, void *arg);

/* The same; tasks that were not begun when ctx was cancelled are dropped, which is then the status.
 */
mercer_status mrc_parfor_checked(mercer_ctx *ctx, int64_t tasks, mercer_parfor_body body, void *arg,
                                 mercer_error *err);

/* The same as mrc_parfor for a loop of `flops` operations in all: a short one runs on the calling
 * thread, because waking the others would cost more; on a busy machine, where they come late, a
 * longer one too. */
void mrc_parfor_sized(mercer_ctx *ctx, int64_t tasks, double flops, mercer_parfor_body body,
                      void *arg);

/* The same machinery for one serial call into LAPACK: keeps a threaded BLAS on one thread, so that
 * the thread count does not change results. */
void mrc_serial(mercer_ctx *ctx, mercer_parfor_body body, void *arg);

/* Long loops call this, every 50 ms or oftener: polls (below), and MERCER_ERR_CANCELLED once the
 * caller has asked to stop, MERCER_ERR_LIMIT once the time is over, MERCER_ERR_PEER where another
 * part of the work has failed; a failure that the context keeps likewise. */
mercer_status mrc_check_cancel(mercer_ctx *ctx, mercer_error *err);
bool mrc_is_cancelled(const mercer_ctx *ctx); /* for any of these reasons; without polling */

/* Let what is under way in ctx, and in contexts that inherit from it, end with MERCER_ERR_PEER, as
 * by a cancellation, until this is taken back: a part of the work has failed, and whoever began it
 * says why. */
void mrc_ctx_stop(mercer_ctx *ctx, bool stop);

/* The same in pass i of a loop whose passes touch `values` values each: looks about every million
 * values, some milliseconds. */
mercer_status mrc_check_pass(mercer_ctx *ctx, int64_t i, int64_t values, mercer_error *err);

/* Public functions that may run functions of the host lie between these two. The outermost one, or
 * any inside it, ends with the failure that the context keeps, whatever rc it came to; what it was
 * to hand over is to be checked by mrc_check_cancel() before. The outermost one clears it, and
 * hands it to the context it inherits from. */
void mrc_ctx_enter(mercer_ctx *ctx);
mercer_status mrc_ctx_leave(mercer_ctx *ctx, mercer_status rc, mercer_error *err);

/* Keep a failure, why->code. Of several in one parallel loop that of the first task is kept,
 * whichever thread is faster: tasks are begun in their order, and those before a failed one are
 * finished. Otherwise the first one is. */
void mrc_ctx_fail(mercer_ctx *ctx, const mercer_error *why);
/* Whether a failure is kept that nothing this thread is about to do can come before. */
bool mrc_ctx_has_failed(mercer_ctx *ctx);
/* The same of a task that is about to be begun. */
bool mrc_ctx_failed_before(mercer_ctx *ctx, int64_t task);
/* The task of a loop of ctx that this thread runs; INT64_MAX outside of loops. A task that takes
 * pieces of work from a list sets the number of the piece instead. */
int64_t mrc_task_of(const mercer_ctx *ctx);
void mrc_task_set(int64_t task);

/* Let the host look for its signals, if it wants to, this is the thread that called us, and the
 * last time was MRC_POLL_SECONDS ago. */
void mrc_poll(mercer_ctx *ctx);
#define MRC_POLL_SECONDS 0.05
/* Who waits wakes up to poll after this time, a little more for a clock of coarse ticks. */
#define MRC_WAIT_SECONDS 0.06

void mrc_progress(const mercer_ctx *ctx, const char *phase, double done);
void mrc_notice(const mercer_ctx *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same, and what it is about. */
void mrc_notice_at(const mercer_ctx *ctx, const mrc_at *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The widest vector set of this processor. */
mrc_simd mrc_simd_detect(void);

/* Seconds on a clock that never goes back. */
double mrc_seconds(void);

#endif
