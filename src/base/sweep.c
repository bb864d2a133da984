/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that wait for memory: copies, sums over columns, checksums. */
#include "base/sweep.h"

#include "base/ctx.h"

mercer_status mrc_sweep(mercer_ctx *ctx, int64_t tasks, double numbers, mercer_parfor_body body,
                        void *arg, mercer_error *err)
{
    /* A number comes from memory in the time of 20 flops of a matrix product. Up to LONG of
     * them take some ten milliseconds, which a cancellation can wait for. */
    static const double FLOPS = 20, LONG = 1e7;
    if (numbers >= LONG)
        return mrc_parfor_checked(ctx, tasks, body, arg, err);
    mrc_parfor_sized(ctx, tasks, FLOPS * numbers, body, arg);
    return mrc_check_cancel(ctx, err);
}
