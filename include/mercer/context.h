/* SPDX-License-Identifier: BSD-3-Clause */
/* The context: threads, memory budget, limits, random state, progress, notices, cancellation.
 *
 * Use one context per thread. Every function that works for more than a moment takes one. The
 * library holds no other state but a list of threads that are left to themselves by a cancellation,
 * and how much memory there was when the process made its first context.
 * It never prints, never exits and never reads the environment.
 *
 * A forked child may use new contexts, and those of its parent that were in no call. */
#ifndef MERCER_CONTEXT_H
#define MERCER_CONTEXT_H

#include <mercer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mercer_ctx mercer_ctx;

/* Create a context: threads = processors available to the process, memory = half of what the
 * machine or its cgroup has, seed = 1. The caller frees it with mercer_ctx_free(), which accepts
 * NULL. On error *out is NULL. */
MERCER_API mercer_status mercer_ctx_new(mercer_ctx **out, mercer_error *err);
MERCER_API void mercer_ctx_free(mercer_ctx *ctx);

/* Free bytes or a text that the library has handed over; NULL is fine. */
MERCER_API MERCER_EXPERIMENTAL void mercer_free(void *memory);

/* Threads to use, 1 to 1024. The results do not depend on it. */
MERCER_API mercer_status mercer_ctx_set_threads(mercer_ctx *ctx, int threads, mercer_error *err);
MERCER_API int mercer_ctx_threads(const mercer_ctx *ctx);

/* Memory budget in bytes, at least 1 MiB: what a fit may hold beyond the caller's data. It decides
 * how the kernel matrix is stored; work that cannot fit is refused before it starts. */
MERCER_API mercer_status mercer_ctx_set_memory(mercer_ctx *ctx, int64_t bytes, mercer_error *err);
MERCER_API int64_t mercer_ctx_memory(const mercer_ctx *ctx);

/* What the library takes of files that it reads and of time; a member that is 0 sets no limit. What
 * exceeds one is refused with MERCER_ERR_LIMIT while it is read, and nothing is handed over.
 * mercer_limits_init() sets none at all. */
typedef struct mercer_limits {
    size_t struct_size;
    int64_t max_rows;       /* of one table, those that are left out among them */
    int64_t max_columns;    /* of one table, as its file has them */
    int64_t max_bytes;      /* of one file, table or model, before and after unpacking */
    int64_t max_name_bytes; /* of one name: a column, a class, an id, an array or image of a file */
    double max_seconds;     /* of all work with the context, from mercer_ctx_set_limits() on */
    int plain_files;        /* 1: a file or folder that is named, or lies in a folder of images, has
                               to be one: symbolic links, pipes and devices are refused. Standard
                               input is what the caller made it */
    int confine;            /* 1: images are decoded, and MAT and HDF5 files read, in a process that
                               can open no other file, write none, reach no network and start no
                               program, as far as the kernel has what that takes */
} mercer_limits;
MERCER_VERSIONED(limits)

/* Limits for files of strangers, in a struct that was initialised: 1,000,000 rows, 100,000 columns,
 * 1 GiB, names of 255 bytes, 10 minutes, plain files only, confined. Other numbers may be better
 * ones in a later version. */
MERCER_API MERCER_EXPERIMENTAL void mercer_limits_untrusted(mercer_limits *limits);

/* Set all limits of a context, which starts with none; NULL: none. They hold for what is opened
 * afterwards, max_seconds for everything until they are set again: work that is running then ends
 * with MERCER_ERR_LIMIT as it would by mercer_ctx_cancel(). A pipe is not waited for any longer. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_ctx_set_limits(mercer_ctx *ctx,
                                                                   const mercer_limits *limits,
                                                                   mercer_error *err);

/* Seed of the random state; setting it restarts the sequence. */
MERCER_API void mercer_ctx_set_seed(mercer_ctx *ctx, uint64_t seed);
MERCER_API uint64_t mercer_ctx_seed(const mercer_ctx *ctx);

/* A parallel loop supplied by the host: call body(arg, task, worker) once for every task in
 * [0, tasks), from at most `threads` threads at a time, worker in [0, threads) and not shared by
 * two running calls, and return when all are done. NULL restores the library's own. */
typedef void (*mercer_parfor_body)(void *arg, int64_t task, int worker);
typedef void (*mercer_parfor_fn)(void *host, int64_t tasks, int threads, mercer_parfor_body body,
                                 void *arg);
MERCER_API void mercer_ctx_set_parfor(mercer_ctx *ctx, mercer_parfor_fn fn, void *host);

/* Called now and then from the calling thread during long work: the phase in a few words, and how
 * much of it is done, from 0 to 1, or a negative number when that is not known. */
typedef void (*mercer_progress_fn)(void *host, const char *phase, double done);
MERCER_API void mercer_ctx_set_progress(mercer_ctx *ctx, mercer_progress_fn fn, void *host);

/* Called on the calling thread during long work, every 50 to 100 ms, so that the host can look for
 * signals. Any other value than 0 cancels, as mercer_ctx_cancel() does. It must return
 * (no longjmp, no exception), and of the functions that take ctx it may call mercer_ctx_cancel()
 * alone. In a loop of the host's own it is called where the calling thread takes tasks. */
typedef int (*mercer_poll_fn)(void *host);
MERCER_API MERCER_EXPERIMENTAL void mercer_ctx_set_poll(mercer_ctx *ctx, mercer_poll_fn fn,
                                                        void *host);

/* Called with what the user should know but is not an error: fewer components than asked, an
 * indefinite kernel, a store that was given up. A notice has the members of an error
 * (mercer/status.h): one line of text, and the option it is about or advises; code is MERCER_OK. It
 * is borrowed for the call only. */
typedef mercer_error mercer_notice;
typedef void (*mercer_notice_fn)(void *host, const mercer_notice *notice);
MERCER_API void mercer_ctx_set_notice(mercer_ctx *ctx, mercer_notice_fn fn, void *host);

/* A kernel of the host's own, on dense rows: out[i * ldo + j] = k(x_i, y_j), x_i starting at
 * x + i*ldx, y_j at y + j*ldy, each of d values (after scaling). It must be symmetric and finite,
 * is called from several threads at once, and must give the same value whatever stands beside a
 * row. Any other status than MERCER_OK ends the call that asked for the values, with that status
 * and with what the function wrote to err, which is never NULL and starts empty. When several
 * threads fail, the values that one thread would have asked for first decide. */
typedef mercer_status (*mercer_kernel_fn)(void *host, const double *x, int64_t nx, int64_t ldx,
                                          const double *y, int64_t ny, int64_t ldy, int64_t d,
                                          double *out, int64_t ldo, mercer_error *err);
/* Once added it can be named wherever a kernel is, in sums and products too; semidefinite: 1 when
 * it has no negative eigenvalues on any rows. Names are letters, digits, '_' and '-', at most 63,
 * and new. A fitted or loaded model holds the kernel and works with any context. A file holds the
 * name alone: to load it, add the kernel to the context first. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_ctx_add_kernel(mercer_ctx *ctx,
                                                                   const char *name,
                                                                   mercer_kernel_fn fn, void *host,
                                                                   int semidefinite,
                                                                   mercer_error *err);
/* The same, and release(host) is called once, when no context, model or stream knows the kernel any
 * more: by the _free function that drops the last of them, on its thread. On error it is not
 * called: host is still the caller's. release may be NULL. */
typedef void (*mercer_release_fn)(void *host);
MERCER_API MERCER_EXPERIMENTAL mercer_status
mercer_ctx_add_kernel_owned(mercer_ctx *ctx, const char *name, mercer_kernel_fn fn, void *host,
                            mercer_release_fn release, int semidefinite, mercer_error *err);

/* Ask running work to end with MERCER_ERR_CANCELLED, within half a second; may be called from
 * another thread or a signal handler. What cannot be stopped goes on for a while on a thread of its
 * own and then frees its memory; the process may exit meanwhile. The next call on ctx starts afresh
 * only after mercer_ctx_resume(). */
MERCER_API void mercer_ctx_cancel(mercer_ctx *ctx);
MERCER_API void mercer_ctx_resume(mercer_ctx *ctx);

/* Remove the half-written temporary files of ctx. Only for a process that is about to end inside a
 * signal handler (it is async-signal-safe); afterwards ctx must not be used. */
MERCER_API void mercer_ctx_discard_temporaries(mercer_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
