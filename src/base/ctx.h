/* The inside of the context: threads, random state, progress, cancellation, temporaries. */
#ifndef MRC_BASE_CTX_H
#define MRC_BASE_CTX_H

#include "base/error.h"
#include "base/rng.h"

#include <mercer/context.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Vector instruction sets, narrowest first. NARROW is SSE2 on x86-64 and NEON on arm64. */
typedef enum mrc_simd { MRC_SIMD_NARROW, MRC_SIMD_AVX2, MRC_SIMD_AVX512 } mrc_simd;

/* Ranks that share one fit. The core knows only this table; an MPI build fills it. Sums are taken
 * in rank order, so that every rank gets the same bits. */
typedef struct mrc_comm {
    int rank, size;
    mercer_status (*sum)(void *self, double *values, int64_t count, mercer_error *err);
    mercer_status (*broadcast)(void *self, void *data, size_t bytes, int root, mercer_error *err);
    void *self;
} mrc_comm;

/* A kernel of the host's own; kernels copy it, so that models outlive the context. */
typedef struct mrc_host_kernel {
    char name[64];
    mercer_kernel_fn fn;
    void *host;
    bool semidefinite;
} mrc_host_kernel;

enum { MRC_HOST_KERNELS = 16 };

enum { MRC_TEMPORARIES = 4, MRC_PATH_MAX = 4096 };

struct mercer_ctx {
    int threads;
    int64_t memory;
    uint64_t seed;
    mrc_rng rng;
    mrc_simd simd; /* widest set the processor has; tests lower it */
    mrc_comm comm; /* one rank unless an MPI client says otherwise */
    mercer_parfor_fn parfor;
    void *parfor_host;
    double alone_until; /* mrc_seconds() when short loops may wait for other threads again */
    mercer_progress_fn progress;
    void *progress_host;
    mercer_notice_fn notice;
    void *notice_host;
    mrc_host_kernel kernels[MRC_HOST_KERNELS];
    int kernel_count;
    atomic_int cancelled;
    const mercer_ctx *parent; /* whose cancellation ends this one's work, too; or NULL */
    /* Names of unfinished output files; live[i] is set only while the name is complete. */
    char temporary[MRC_TEMPORARIES][MRC_PATH_MAX];
    volatile sig_atomic_t temporary_live[MRC_TEMPORARIES];
};

/* Let child, new, be like parent: its kernels and instruction set, and cancelled with it. */
void mrc_ctx_inherit(mercer_ctx *child, const mercer_ctx *parent);

/* Run body(arg, task, worker) for every task in [0, tasks), in parallel. A task must not depend on
 * another, and what it computes must not depend on worker, which only indexes scratch space (of
 * ctx->threads parts). BLAS called inside runs on one thread. */
void mrc_parfor(mercer_ctx *ctx, int64_t tasks, mercer_parfor_body body, void *arg);

/* The same for a loop of `flops` operations in all: a short one runs on the calling thread, because
 * waking the others would cost more; on a busy machine, where they come late, a longer one too. */
void mrc_parfor_sized(mercer_ctx *ctx, int64_t tasks, double flops, mercer_parfor_body body,
                      void *arg);

/* The loop used unless the host supplies one. */
void mrc_parfor_default(void *host, int64_t tasks, int threads, mercer_parfor_body body, void *arg);

/* The same machinery for one serial call into LAPACK: keeps a threaded BLAS on one thread, so that
 * the thread count does not change results. */
void mrc_serial(mercer_ctx *ctx, mercer_parfor_body body, void *arg);

/* Long loops call this; MERCER_ERR_CANCELLED once the caller has asked to stop. */
mercer_status mrc_check_cancel(const mercer_ctx *ctx, mercer_error *err);

void mrc_progress(const mercer_ctx *ctx, const char *phase, double done);
void mrc_notice(const mercer_ctx *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The widest vector set of this processor. */
mrc_simd mrc_simd_detect(void);

/* Seconds on a clock that never goes back. */
double mrc_seconds(void);

#endif
