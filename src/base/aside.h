/* SPDX-License-Identifier: BSD-3-Clause */
/* Long calls that cannot be asked to stop, such as LAPACK's, on a thread of their own. */
#ifndef MRC_BASE_ASIDE_H
#define MRC_BASE_ASIDE_H

#include "base/ctx.h"

typedef struct mrc_aside_work {
    /* Do the work of a call. Where *stop has become true nobody wants the result any more: return
     * as soon as that is possible. */
    void (*run)(void *call, const atomic_bool *stop);
    /* Free the call and all it owns; accepts NULL. */
    void (*release)(void *call);
} mrc_aside_work;

/* Whether work of `flops` operations may take so long that it should not be waited for. Shorter
 * work need not own its memory. */
bool mrc_aside_pays(double flops);

/* Do work->run(*call), with BLAS on one thread, and wait for it; call is the address of a pointer.
 * When `flops` are many it runs on another thread, which may touch nothing but what *call owns, and
 * the wait ends with MERCER_ERR_CANCELLED as soon as ctx is cancelled: then *call is NULL, and that
 * thread releases it when its work has come to an end. On any other error *call is still the
 * caller's. Where no thread can be had the calling one does the work. */
mercer_status mrc_aside(mercer_ctx *ctx, const mrc_aside_work *work, double flops, void *call,
                        mercer_error *err);

/* For tests: wait until no thread does work that nobody waits for. */
void mrc_aside_settle(void);

#endif
