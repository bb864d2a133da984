/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that one rank gets from a pipe, for all ranks: piece by piece, of which the others learn
 * the length first. A piece is filled before it is sent, since a pipe gives little at a time. */
#include "base/comm.h"
#include "base/ctx.h"
#include "base/memory.h"

#include <errno.h>
#include <unistd.h>

enum { PIECE = 1 << 22 }; /* bytes; larger ones make no difference to the time */

/* Fill a piece; *got < PIECE only at the end. */
static mercer_status read_piece(mercer_ctx *ctx, int from, const char *shown, char *piece,
                                int64_t *got, mercer_error *err)
{
    ssize_t done = 1;
    mercer_status rc = MERCER_OK;
    *got = 0;
    while (*got < PIECE && done > 0) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(mrc_limit_wait(&ctx->limits, from, shown, err));
        do
            done = read(from, piece + *got, (size_t)(PIECE - *got));
        while (done < 0 && errno == EINTR);
        if (done < 0)
            MRC_TRY(mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", shown));
        *got += done;
    }
out:
    return rc;
}

static mercer_status write_piece(int to, const char *shown, const char *piece, int64_t count,
                                 mercer_error *err)
{
    for (int64_t at = 0; at < count;) {
        const ssize_t done = write(to, piece + at, (size_t)(count - at));
        if (done < 0 && errno != EINTR)
            return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot write", shown);
        at += done > 0 ? done : 0;
    }
    return MERCER_OK;
}

mercer_status mercer_ctx_copy_input(mercer_ctx *ctx, int from, const char *from_shown, int to,
                                    const char *to_shown, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(from_shown);
    MRC_NEED(to_shown);
    char *piece = NULL;
    int64_t got = 0, total = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&piece, PIECE, 1, 1, err));
    do {
        if (ctx->comm.table.rank == 0)
            MRC_TRY(read_piece(ctx, from, from_shown, piece, &got, err));
        MRC_TRY(mrc_comm_broadcast(ctx, &got, sizeof got, err));
        total += got;
        MRC_TRY(mrc_limit_bytes(&ctx->limits, from_shown, total, false, err));
        if (got > 0)
            MRC_TRY(mrc_comm_broadcast(ctx, piece, got, err));
        MRC_TRY(write_piece(to, to_shown, piece, got, err));
    } while (got > 0);
out:
    mrc_free(piece);
    return mrc_comm_agree(ctx, rc, err);
}
