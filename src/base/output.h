/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that appear whole or not at all.
 *
 * A regular file is written beside its target under a temporary name, synced (file and folder) and
 * renamed; the mode of an existing file is kept, symbolic links are followed. Devices, pipes and
 * "-" (standard output) are written through. */
#ifndef MRC_BASE_OUTPUT_H
#define MRC_BASE_OUTPUT_H

#include "base/ctx.h"

#include <stdbool.h>

typedef struct mrc_output {
    mercer_ctx *ctx;
    char target[MRC_PATH_MAX]; /* real path of the file to be replaced */
    char shown[MRC_PATH_MAX];  /* the path as the caller wrote it, for messages */
    int fd;                    /* open descriptor; -1 when closed */
    int slot;                  /* index into ctx->temporary, or -1 when written through */
    bool borrowed_fd;          /* standard output: not ours to close */
} mrc_output;

/* Open path for writing. On error nothing is left behind and *output is closed. */
mercer_status mrc_output_open(mrc_output *output, mercer_ctx *ctx, const char *path,
                              mercer_error *err);
mercer_status mrc_output_write(mrc_output *output, const void *data, size_t bytes,
                               mercer_error *err);
/* Sync and rename, or give up and remove. Both leave *output closed; abort accepts a closed or
 * zeroed one. */
mercer_status mrc_output_finish(mrc_output *output, mercer_error *err);
void mrc_output_abort(mrc_output *output);

#endif
