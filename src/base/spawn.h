/* SPDX-License-Identifier: BSD-3-Clause */
/* Helper programs: libraries of others that may crash run in a process of their own.
 *
 * A helper is started by its name, gets requests on its standard input and answers on its standard
 * output (helper/serve.c is the other side). When it dies, the caller gets an error and goes on. A
 * helper belongs to one thread at a time, as the context does. */
#ifndef MRC_BASE_SPAWN_H
#define MRC_BASE_SPAWN_H

#include "base/error.h"

#include <mercer/context.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How a helper ended. */
typedef enum mrc_fate {
    MRC_FATE_ALIVE,
    MRC_FATE_CRASH,  /* by a signal of its own, or nobody knows how */
    MRC_FATE_TIME,   /* it used up its processor time */
    MRC_FATE_KILLED, /* from outside; mostly because the machine had no memory left */
    MRC_FATE_EXIT    /* with a status, which a helper only does when it could not start */
} mrc_fate;

enum { MRC_HELPER_PATH = 4096 };

/* Zeroed: none. */
typedef struct mrc_helper {
    pid_t pid, owner; /* pid 0: none */
    int pidfd;        /* or -1 */
    int requests;     /* socket */
    int answers;      /* pipe */
    mrc_fate fate;
    bool reaped;
    char path[MRC_HELPER_PATH]; /* the file that was started */
} mrc_helper;

/* Start the program in the surroundings of this process, with one setting, "NAME=value" or NULL, in
 * the place of what they have by that name. MERCER_ERR_IO when it cannot be found or run, for what
 * is `shown`; the helper is then none. */
mercer_status mrc_helper_start(mrc_helper *helper, const char *program, const char *setting,
                               const char *shown, mercer_error *err);

/* Send all bytes, receive exactly count bytes, looking at the context's cancellation while waiting.
 * MERCER_ERR_CANCELLED, or MERCER_ERR_IO when the helper has died; its fate then says how. After an
 * error the helper can only be stopped. */
mercer_status mrc_helper_send(mrc_helper *helper, mercer_ctx *ctx, const void *bytes, size_t count,
                              mercer_error *err);
mercer_status mrc_helper_receive(mrc_helper *helper, mercer_ctx *ctx, void *out, size_t count,
                                 mercer_error *err);

/* Whether there is one that this process started: after a fork, the child has a copy of a helper
 * that is not its own. */
bool mrc_helper_is_ours(const mrc_helper *helper);

/* End it, whatever it is doing, and leave no process behind; one that is not ours is left alone.
 * Then it is none. */
void mrc_helper_stop(mrc_helper *helper);

/* Say that the kernel cannot confine the helper that reads `shown`. */
void mrc_helper_note_open(const mercer_ctx *ctx, const char *shown);

#endif
