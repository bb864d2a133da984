/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of one process: a thread and a context for each, and a communicator of shared memory
 * between them, which can be told to fail. Ranks that no longer agree on what they exchange, and a
 * rank that waits for a minute, end the program with a line. */
#ifndef MRC_TESTS_RANKS_H
#define MRC_TESTS_RANKS_H

#ifndef MERCER_TESTS_DATA_SUPPORT_H /* which has the same for tests of files */
#include "support.h"
#endif
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { MAX_RANKS = 8, WATCHDOG_SECONDS = 60 };

/* What a rank came with. */
struct rank_call {
    double *values; /* of a sum; NULL: a broadcast */
    void *data;
    int64_t count;
    int root;
};

struct rank_world {
    int size;
    int fail_rank;     /* whose call number fail_call (from 0) of the table fails; */
    int64_t fail_call; /* negative: none does */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int arrived;
    int64_t exchanges; /* that are done, */
    int64_t choices;   /* and those of them that broadcast this number of bytes: */
    int64_t choice_bytes;
    bool lost;
    struct rank_call calls[MAX_RANKS];
    int64_t made[MAX_RANKS]; /* calls of each rank, */
    int64_t
        told[MAX_RANKS]; /* and how many it had made when it told of a failure; -1: it has not */
    bool mute;           /* ranks do not tell, as in an older table */
};

/* A rank, and what it came to. */
struct rank {
    struct rank_world *world;
    int rank;
    mercer_status (*body)(struct rank *rank, mercer_ctx *ctx, mercer_error *why);
    void *arg;
    int64_t fail_alloc; /* the allocation of this rank that fails; negative: none */
    bool alloc_failed;  /* it came to that */
    mercer_status rc;
    mercer_error why;
};

static inline void rank_abort(const char *text)
{
    fprintf(stderr, "ranks: %s\n", text);
    abort();
}

/* All have arrived, and wait: do what they came for. Later ranks are added first, since no order of
 * addition is promised. */
static inline void ranks_exchange(struct rank_world *w)
{
    const struct rank_call *first = &w->calls[0];
    for (int r = 1; r < w->size; r++)
        if (w->calls[r].count != first->count || !w->calls[r].values != !first->values ||
            w->calls[r].root != first->root)
            rank_abort("ranks exchange different things");
    for (int64_t i = 0; first->values && i < first->count; i++) {
        double sum = 0;
        for (int r = w->size - 1; r >= 0; r--)
            sum += w->calls[r].values[i];
        for (int r = 0; r < w->size; r++)
            w->calls[r].values[i] = sum;
    }
    for (int r = 0; !first->values && r < w->size; r++)
        if (r != first->root)
            memcpy(w->calls[r].data, w->calls[first->root].data, (size_t)first->count);
    w->arrived = 0;
    w->choices += !first->values && first->count == w->choice_bytes;
    w->exchanges++;
    pthread_cond_broadcast(&w->moved);
}

static inline mercer_status rank_arrive(const struct rank *rank, struct rank_call call,
                                        mercer_error *why)
{
    struct rank_world *w = rank->world;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WATCHDOG_SECONDS;
    pthread_mutex_lock(&w->lock);
    if (w->fail_rank == rank->rank && w->made[rank->rank] == w->fail_call) {
        w->lost = true;
        pthread_cond_broadcast(&w->moved);
        pthread_mutex_unlock(&w->lock);
        return mrc_fail(why, MERCER_ERR_IO, "the network is gone");
    }
    w->made[rank->rank]++;
    w->calls[rank->rank] = call;
    int64_t mine = w->exchanges;
    if (!w->lost && ++w->arrived == w->size)
        ranks_exchange(w);
    while (!w->lost && w->exchanges == mine)
        if (pthread_cond_timedwait(&w->moved, &w->lock, &until) == ETIMEDOUT)
            rank_abort("a rank waits for ever");
    bool done = w->exchanges > mine;
    pthread_mutex_unlock(&w->lock);
    return done ? MERCER_OK : mrc_fail(why, MERCER_ERR_PEER, "another rank has lost the network");
}

static inline mercer_status rank_sum(void *host, double *values, int64_t count, mercer_error *why)
{
    return rank_arrive(host, (struct rank_call){.values = values, .count = count}, why);
}

static inline mercer_status rank_broadcast(void *host, void *data, size_t bytes, int root,
                                           mercer_error *why)
{
    return rank_arrive(
        host, (struct rank_call){.data = data, .count = (int64_t)bytes, .root = root}, why);
}

static inline void rank_tell(void *host)
{
    const struct rank *rank = host;
    struct rank_world *w = rank->world;
    pthread_mutex_lock(&w->lock);
    w->told[rank->rank] = w->made[rank->rank];
    pthread_mutex_unlock(&w->lock);
}

static inline int rank_heard(void *host)
{
    const struct rank *rank = host;
    struct rank_world *w = rank->world;
    bool heard = false;
    pthread_mutex_lock(&w->lock);
    for (int r = 0; r < w->size; r++)
        heard = heard || (r != rank->rank && w->told[r] == w->made[rank->rank]);
    pthread_mutex_unlock(&w->lock);
    return heard;
}

static inline void *rank_thread(void *arg)
{
    struct rank *rank = arg;
    mercer_ctx *own = NULL;
    mercer_comm comm;
    if (mercer_ctx_new(&own, NULL) != MERCER_OK ||
        mercer_ctx_set_threads(own, 1, NULL) != MERCER_OK)
        rank_abort("no context");
    mercer_comm_init(&comm);
    comm.rank = rank->rank;
    comm.size = rank->world->size;
    comm.sum = rank_sum;
    comm.broadcast = rank_broadcast;
    comm.host = rank;
    if (rank->world->mute)
        comm.struct_size = offsetof(mercer_comm, tell);
    comm.tell = rank_tell;
    comm.heard = rank_heard;
    if (mercer_ctx_set_comm(own, &comm, NULL) != MERCER_OK)
        rank_abort("a table is refused");
    (void)mrc_alloc_fail_here(rank->fail_alloc);
    rank->rc = rank->body(rank, own, &rank->why);
    rank->alloc_failed = rank->fail_alloc >= 0 && mrc_alloc_fail_here(-1) < 0;
    mercer_ctx_free(own);
    return NULL;
}

/* Run body on every rank; ranks[r].arg and fail_alloc are the caller's, all else is set here. */
static inline void run_ranks(struct rank_world *w, struct rank *ranks,
                             mercer_status (*body)(struct rank *, mercer_ctx *, mercer_error *))
{
    pthread_t threads[MAX_RANKS];
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->moved, NULL);
    w->arrived = 0;
    w->exchanges = 0;
    w->choices = 0;
    w->lost = false;
    memset(w->made, 0, sizeof w->made);
    for (int r = 0; r < w->size; r++)
        w->told[r] = -1;
    for (int r = 0; r < w->size; r++) {
        ranks[r].world = w;
        ranks[r].rank = r;
        ranks[r].body = body;
        ranks[r].rc = MERCER_OK;
        ranks[r].why = (mercer_error){.code = MERCER_OK};
        if (pthread_create(&threads[r], NULL, rank_thread, &ranks[r]) != 0)
            rank_abort("no thread");
    }
    for (int r = 0; r < w->size; r++)
        pthread_join(threads[r], NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->moved);
}

#endif
