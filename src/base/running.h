/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that may be spread over ranks: running sums over them, from the first one of the table to
 * its last, whoever has them, and what rank 0 decides for all. */
#ifndef MRC_BASE_RUNNING_H
#define MRC_BASE_RUNNING_H

#include "base/ctx.h"
#include "base/strips.h"

/* body goes on with the numbers [begin, end) of state over the rows that are here. Ranks hand them
 * on in groups of `group`, see mrc_comm_relay(). */
static inline mercer_status mrc_run_span(mercer_ctx *ctx, const mrc_span *span, double *state,
                                         int64_t count, int64_t group, mrc_relay_body body,
                                         void *arg, mercer_error *err)
{
    return span->spread ? mrc_comm_relay(ctx, state, count, group, body, arg, err)
                        : body(arg, 0, count, state, err);
}

/* Whether this rank is the one that decides. */
static inline bool mrc_decides(const mercer_ctx *ctx, const mrc_span *span)
{
    return !span->spread || ctx->comm.table.rank == 0;
}

/* What every rank has computed for itself, or rank 0 alone: rank 0 says what it is, since BLAS,
 * LAPACK and logarithms differ from processor to processor. */
static inline mercer_status mrc_decide(mercer_ctx *ctx, const mrc_span *span, void *data,
                                       int64_t bytes, mercer_error *err)
{
    return span->spread ? mrc_comm_broadcast(ctx, data, bytes, err) : MERCER_OK;
}

/* The same for numbers. */
static inline mercer_status mrc_decide_numbers(mercer_ctx *ctx, const mrc_span *span, double *x,
                                               int64_t count, mercer_error *err)
{
    return mrc_decide(ctx, span, x, count * (int64_t)sizeof *x, err);
}

#endif
