/* SPDX-License-Identifier: BSD-3-Clause */
/* Running sums over rows, from the first one of the table to its last, whoever has them. */
#ifndef MRC_BASE_RUNNING_H
#define MRC_BASE_RUNNING_H

#include "base/comm.h"
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

#endif
