/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that share a call: what is exchanged between them, and how they agree that one failed. */
#ifndef MRC_BASE_COMM_H
#define MRC_BASE_COMM_H

#include "base/error.h"

#include <mercer/comm.h>

#include <stdbool.h>

/* The ranks of a context. Alone: size 1, and none of the functions below exchanges or copies. */
typedef struct mrc_comm {
    mercer_comm table;
    int64_t sent;     /* bytes given to the table */
    bool parted;      /* ranks no longer talk: one failed, or the table did */
    bool listens;     /* mrc_comm_listen() */
    mercer_error why; /* of that, as other calls tell it; code and all */
} mrc_comm;

/* All ranks make the calls below in the same order. Each begins with an agreement: a rank that has
 * failed since the last one makes, instead of the next call, mrc_comm_agree() with its error, and
 * all others return from theirs with MERCER_ERR_PEER. So a function between two of these calls may
 * leave only through a label where mrc_comm_agree() follows. */

/* Agree that all ranks came here with MERCER_OK; rc is what this one came to, why in *err. Ends
 * every call that has used one of the functions below: its result may be handed over when this
 * returns MERCER_OK, since then all ranks have it. */
mercer_status mrc_comm_agree(mercer_ctx *ctx, mercer_status rc, mercer_error *err);

/* Until it is turned off, what is under way in ctx ends with MERCER_ERR_PEER, as by a cancellation,
 * when another rank has told that it fails. For work between two exchanges that all ranks leave by
 * an agreement, and in which no rank meets with an error that all others would meet with, too:
 * which of them heard of it first would differ from run to run. */
void mrc_comm_listen(mercer_ctx *ctx, bool on);
/* Whether another rank has told so; called by mrc_poll(). */
bool mrc_comm_heard(const mrc_comm *comm);

/* The sum over all ranks, in place. The order of addition is the table's: sums whose bits are to be
 * those of one rank are made of slots (mrc_comm_merge). */
mercer_status mrc_comm_sum(mercer_ctx *ctx, double *values, int64_t count, mercer_error *err);

/* The bytes of rank 0, which decides. */
mercer_status mrc_comm_broadcast(mercer_ctx *ctx, void *data, int64_t bytes, mercer_error *err);

/* Slots with disjoint support: each rank has filled its own places of data, and zeroed those of the
 * others; afterwards all places are filled on all ranks, with the bits that were put there. */
mercer_status mrc_comm_merge(mercer_ctx *ctx, void *data, int64_t bytes, mercer_error *err);

/* The same for numbers, none of which is NaN, in half the bytes. */
mercer_status mrc_comm_merge_numbers(mercer_ctx *ctx, double *values, int64_t count,
                                     mercer_error *err);

/* The numbers of every rank, `count` each, in the order of ranks: all has size x count of them. */
mercer_status mrc_comm_collect(mercer_ctx *ctx, const double *mine, int64_t count, double *all,
                               mercer_error *err);

/* Running sums over all rows in their order, with the bits that one rank gets that adds row by row:
 * rank 0 begins, each rank goes on with what the one before it came to, and in the end all have the
 * sums. state (count numbers, as they are before the first row, none of them -0 at any time) is
 * handed on in groups of `group`: while a rank works on one, the rank before it is at the next, so
 * that with as many groups as ranks all of them are at work half of the time at least. body goes on
 * with the numbers [begin, end) of state over the rows of its rank. */
typedef mercer_status (*mrc_relay_body)(void *arg, int64_t begin, int64_t end, double *state,
                                        mercer_error *err);
mercer_status mrc_comm_relay(mercer_ctx *ctx, double *state, int64_t count, int64_t group,
                             mrc_relay_body body, void *arg, mercer_error *err);

/* The same in groups of any size: number k begins at cuts[k], and the last one ends at
 * cuts[groups]. All ranks give the same cuts. */
mercer_status mrc_comm_relay_cut(mercer_ctx *ctx, double *state, const int64_t *cuts,
                                 int64_t groups, mrc_relay_body body, void *arg, mercer_error *err);

/* The largest of the numbers that the ranks have, none of which is NaN. */
mercer_status mrc_comm_largest(mercer_ctx *ctx, double *value, mercer_error *err);

/* The bytes of all ranks, one after the other: *all, *total of them, to be freed. Not for a rank
 * that is alone, which has them already. */
mercer_status mrc_comm_gather(mercer_ctx *ctx, const void *mine, int64_t bytes, char **all,
                              int64_t *total, mercer_error *err);

#endif
