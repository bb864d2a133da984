/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator: everything ranks exchange, made of two functions of the host's table.
 *
 * Bytes travel as sums. Each rank writes its bytes into their places of a zeroed buffer, four bytes
 * are one number below 2^32, and the numbers are summed over the ranks. Every sum has one addend
 * that is not zero, so it is exact in any order, and all bits arrive, those of NaN and -0 too.
 *
 * Before a payload the ranks sum two numbers: how many have failed, and how many of these are about
 * to leave altogether. A rank that fails cannot know how long the payload would be that the others
 * come with; therefore the agreement does not ride in it. Cost: a sum of 16 bytes per exchange.
 * After a failed agreement the text of the lowest rank that failed is broadcast. When some ranks
 * failed and others did not, their next steps differ: from then on no rank exchanges anything
 * (parted). When all failed they are still in step, and may go on together with another call.
 *
 * A rank that fails tells the others by two more functions, where the table has them. One that has
 * heard it leaves its work and comes to the agreement as a rank that failed and is about to leave;
 * its text is nobody's, unless no rank has another one. */
#include "base/comm.h"

#include "base/ctx.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/strips.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

MRC_VERSIONED(comm, .size = 1)

enum { WORD = 4 };        /* bytes per number: a double holds all of them exactly */
enum { PIECE = 1 << 16 }; /* numbers per sum of a merge: half a megabyte of scratch */
enum { FAILED, LEAVING, VOTES };
static const double ITSELF = 1, HEARD = 0.5; /* how a rank has failed */

mercer_status mercer_ctx_set_comm(mercer_ctx *ctx, const mercer_comm *comm, mercer_error *err)
{
    MRC_NEED(ctx);
    mercer_comm table;
    mercer_comm_init(&table);
    mercer_status rc = mrc_options_import("comm", comm, &table, sizeof table, err);
    if (rc != MERCER_OK)
        return rc;
    if (table.size < 1 || table.rank < 0 || table.rank >= table.size)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "comm: rank %d of %d ranks", table.rank,
                        table.size);
    if (table.size > 1 && (!table.sum || !table.broadcast))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "comm: %d ranks need both functions", table.size);
    if (!table.tell != !table.heard)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "comm: tell and heard need each other");
    atomic_store(&ctx->heard, 0);
    ctx->comm = (mrc_comm){.table = table};
    return MERCER_OK;
}

int mercer_ctx_rank(const mercer_ctx *ctx)
{
    return ctx ? ctx->comm.table.rank : 0;
}

int mercer_ctx_ranks(const mercer_ctx *ctx)
{
    return ctx ? ctx->comm.table.size : 0;
}

int64_t mercer_ctx_sent(const mercer_ctx *ctx)
{
    return ctx ? ctx->comm.sent : 0;
}

mercer_status mercer_ctx_part(const mercer_ctx *ctx, int64_t total, int64_t *first, int64_t *count,
                              mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(first);
    MRC_NEED(count);
    if (total < 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%lld rows cannot be spread", (long long)total);
    mrc_span span = mrc_span_of_rank(total, ctx->comm.table.rank, ctx->comm.table.size);
    *first = span.first;
    *count = span.n;
    return MERCER_OK;
}

/* ---- the table ---- */

/* Ranks no longer talk; why: what later calls say. */
static void part(mrc_comm *comm, mercer_status code, const mercer_error *why)
{
    comm->parted = true;
    mrc_fail_again(&comm->why, code, why);
}

/* The host's function failed: there is no way to tell the others, but they will see it there. */
static mercer_status lose(mrc_comm *comm, mercer_status rc, const mercer_error *why,
                          mercer_error *err)
{
    part(comm, rc, why);
    return mrc_fail_again(err, rc, &comm->why);
}

static mercer_status table_sum(mrc_comm *comm, double *values, int64_t count, mercer_error *err)
{
    mercer_error why = {0};
    comm->sent += count * (int64_t)sizeof *values;
    mercer_status rc = comm->table.sum(comm->table.host, values, count, &why);
    return rc == MERCER_OK ? MERCER_OK : lose(comm, rc, &why, err);
}

static mercer_status table_broadcast(mrc_comm *comm, void *data, size_t bytes, int root,
                                     mercer_error *err)
{
    mercer_error why = {0};
    if (comm->table.rank == root)
        comm->sent += (int64_t)bytes;
    mercer_status rc = comm->table.broadcast(comm->table.host, data, bytes, root, &why);
    return rc == MERCER_OK ? MERCER_OK : lose(comm, rc, &why, err);
}

/* ---- agreement ---- */

/* The lowest rank that failed itself, else that has heard of one: a slot per rank, in stretches
 * that need no memory, since there may be none left. failed: of this rank, or 0. */
static mercer_status find_lowest(mrc_comm *comm, double failed, int *lowest, mercer_error *err)
{
    enum { STRETCH = 512 };
    double slot[STRETCH];
    int heard = -1;
    mercer_status rc = MERCER_OK;
    *lowest = -1;
    for (int first = 0; first < comm->table.size && *lowest < 0; first += STRETCH) {
        memset(slot, 0, sizeof slot);
        if (comm->table.rank >= first && comm->table.rank < first + STRETCH)
            slot[comm->table.rank - first] = failed;
        MRC_TRY(table_sum(comm, slot, STRETCH, err));
        for (int i = 0; i < STRETCH && *lowest < 0; i++) {
            if (slot[i] >= ITSELF)
                *lowest = first + i;
            else if (slot[i] > 0 && heard < 0)
                heard = first + i;
        }
    }
    if (*lowest < 0)
        *lowest = heard;
out:
    return rc;
}

/* Tell all ranks why the lowest one failed; rc is what this one came to alone. */
static mercer_status share_failure(mrc_comm *comm, mercer_status rc, bool heard, bool stay,
                                   mercer_error *err)
{
    mercer_error why = {0};
    int lowest;
    mercer_status told = find_lowest(comm,
                                     rc != MERCER_OK ? ITSELF
                                     : heard         ? HEARD
                                                     : 0,
                                     &lowest, err);
    if (told != MERCER_OK)
        return rc != MERCER_OK ? rc : told;
    if (comm->table.rank == lowest) {
        if (err && rc != MERCER_OK)
            why = *err;
        why.code = rc != MERCER_OK ? rc : MERCER_ERR_PEER;
        if (!why.text[0])
            snprintf(why.text, sizeof why.text, "%s", mercer_status_text(why.code));
    }
    told = table_broadcast(comm, &why, sizeof why, lowest, err);
    if (told != MERCER_OK)
        return rc != MERCER_OK ? rc : told;
    const mercer_status code =
        why.code == MERCER_ERR_CANCELLED ? MERCER_ERR_CANCELLED : MERCER_ERR_PEER;
    mrc_fail_again(&why, code, &why); /* texts from another process are ended */
    mrc_fail_within(&why, code, NULL, "rank %d: ", lowest);
    if (!stay)
        part(comm, code, &why);
    return rc != MERCER_OK ? rc : mrc_fail_again(err, code, &why);
}

/* leaving: this rank, if it failed, makes no call of the library after this one. */
static mercer_status agree(mercer_ctx *ctx, mercer_status rc, bool leaving, mercer_error *err)
{
    mrc_comm *comm = &ctx->comm;
    double votes[VOTES] = {0};
    if (comm->table.size == 1)
        return rc;
    if (comm->parted)
        return rc != MERCER_OK ? rc : mrc_fail_again(err, comm->why.code, &comm->why);
    if (rc == MERCER_OK)
        rc = mrc_check_cancel(ctx, err);
    const bool heard = atomic_exchange(&ctx->heard, 0) && rc == MERCER_ERR_PEER;
    votes[FAILED] = rc != MERCER_OK;
    votes[LEAVING] = rc != MERCER_OK && (leaving || heard);
    if (heard)
        rc = MERCER_OK; /* alone */
    if (rc != MERCER_OK && comm->table.tell)
        comm->table.tell(comm->table.host);
    mercer_error why = {0}; /* an error of the table does not replace that of this rank */
    mercer_status told = table_sum(comm, votes, VOTES, &why);
    if (told != MERCER_OK)
        return rc != MERCER_OK ? rc : mrc_fail_again(err, told, &why);
    if (!(votes[FAILED] > 0))
        return MERCER_OK;
    const bool stay = votes[FAILED] >= comm->table.size && !(votes[LEAVING] > 0);
    if (rc == MERCER_OK)
        return share_failure(comm, rc, heard, stay, err);
    if (err)
        why = *err;
    return share_failure(comm, rc, false, stay, &why);
}

mercer_status mrc_comm_agree(mercer_ctx *ctx, mercer_status rc, mercer_error *err)
{
    return agree(ctx, rc, false, err);
}

mercer_status mercer_ctx_agree(mercer_ctx *ctx, mercer_status status, mercer_error *err)
{
    MRC_NEED(ctx);
    return agree(ctx, status, true, err);
}

void mrc_comm_listen(mercer_ctx *ctx, bool on)
{
    mrc_comm *comm = &ctx->comm;
    comm->listens = on && comm->table.size > 1 && comm->table.heard && !comm->parted;
}

bool mrc_comm_heard(const mrc_comm *comm)
{
    return comm->listens && comm->table.heard(comm->table.host) != 0;
}

/* ---- payloads ---- */

mercer_status mrc_comm_sum(mercer_ctx *ctx, double *values, int64_t count, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (ctx->comm.table.size == 1)
        return rc;
    MRC_TRY(mrc_comm_agree(ctx, MERCER_OK, err));
    MRC_TRY(table_sum(&ctx->comm, values, count, err));
out:
    return rc;
}

static mercer_status broadcast(mercer_ctx *ctx, void *data, size_t bytes, int root,
                               mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (ctx->comm.table.size == 1)
        return rc;
    MRC_TRY(mrc_comm_agree(ctx, MERCER_OK, err));
    if (bytes > 0)
        MRC_TRY(table_broadcast(&ctx->comm, data, bytes, root, err));
out:
    return rc;
}

mercer_status mrc_comm_broadcast(mercer_ctx *ctx, void *data, int64_t bytes, mercer_error *err)
{
    return broadcast(ctx, data, (size_t)bytes, 0, err);
}

mercer_status mercer_ctx_broadcast(mercer_ctx *ctx, void *data, size_t bytes, int root,
                                   mercer_error *err)
{
    MRC_NEED(ctx);
    if (bytes > 0)
        MRC_NEED(data);
    if (root < 0 || root >= ctx->comm.table.size)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "comm: rank %d of %d ranks", root,
                        ctx->comm.table.size);
    return broadcast(ctx, data, bytes, root, err);
}

mercer_status mrc_comm_merge(mercer_ctx *ctx, void *data, int64_t bytes, mercer_error *err)
{
    if (ctx->comm.table.size == 1)
        return MERCER_OK;
    int64_t words = (bytes + WORD - 1) / WORD, piece = words < PIECE ? words : PIECE;
    double *numbers = NULL;
    mercer_status rc = mrc_alloc(&numbers, piece, sizeof *numbers, err);
    MRC_TRY(mrc_comm_agree(ctx, rc, err));
    for (int64_t first = 0; first < words; first += piece) {
        int64_t here = words - first < piece ? words - first : piece;
        char *at = (char *)data + first * WORD;
        int64_t left = bytes - first * WORD; /* the last word may be a shorter one */
        for (int64_t i = 0; i < here; i++) {
            uint32_t word = 0;
            memcpy(&word, at + i * WORD, (size_t)(left - i * WORD < WORD ? left - i * WORD : WORD));
            numbers[i] = word;
        }
        MRC_TRY(table_sum(&ctx->comm, numbers, here, err));
        for (int64_t i = 0; i < here; i++) {
            uint32_t word = (uint32_t)numbers[i];
            memcpy(at + i * WORD, &word, (size_t)(left - i * WORD < WORD ? left - i * WORD : WORD));
        }
    }
out:
    mrc_free(numbers);
    return rc;
}

/* A sum of one number and zeroes is that number, unless it is -0, which is told in bits apart. */
mercer_status mrc_comm_merge_numbers(mercer_ctx *ctx, double *values, int64_t count,
                                     mercer_error *err)
{
    uint8_t *negative = NULL;
    double zeroes = 0;
    mercer_status rc = MERCER_OK;
    if (ctx->comm.table.size == 1)
        return rc;
    for (int64_t i = 0; i < count; i++)
        zeroes += values[i] == 0 && signbit(values[i]);
    MRC_TRY(mrc_comm_sum(ctx, &zeroes, 1, err));
    if (zeroes > 0) {
        MRC_TRY(mrc_alloc(&negative, count / 8 + 1, 1, err));
        for (int64_t i = 0; i < count; i++)
            if (values[i] == 0 && signbit(values[i]))
                negative[i / 8] |= (uint8_t)(1u << i % 8);
        MRC_TRY(mrc_comm_merge(ctx, negative, count / 8 + 1, err));
    }
    MRC_TRY(mrc_comm_sum(ctx, values, count, err));
    for (int64_t i = 0; negative && i < count; i++)
        if (negative[i / 8] >> i % 8 & 1)
            values[i] = -0.0;
out:
    mrc_free(negative);
    return rc;
}

mercer_status mrc_comm_collect(mercer_ctx *ctx, const double *mine, int64_t count, double *all,
                               mercer_error *err)
{
    const int size = ctx->comm.table.size;
    memset(all, 0, (size_t)size * (size_t)count * sizeof *all);
    if (count > 0)
        memcpy(all + ctx->comm.table.rank * count, mine, (size_t)count * sizeof *all);
    return mrc_comm_merge_numbers(ctx, all, size * count, err);
}

/* Groups of numbers: cut where this is said, or all of one size but the last. */
struct groups {
    const int64_t *cuts;
    int64_t number, size, count;
};

static int64_t group_start(const struct groups *g, int64_t group)
{
    if (group >= g->number)
        return g->count;
    return g->cuts ? g->cuts[group] : group * g->size;
}

/* In step s rank r is at group s - r. What the ranks came to in a step are disjoint stretches, of
 * which the outermost are those of the first and the last rank that has work. */
static mercer_status relay(mercer_ctx *ctx, double *state, const struct groups *g,
                           mrc_relay_body body, void *arg, mercer_error *err)
{
    const int64_t size = ctx->comm.table.size, rank = ctx->comm.table.rank;
    mercer_status rc = MERCER_OK;
    if (size == 1)
        return body(arg, 0, g->count, state, err);
    for (int64_t step = 0; step < g->number + size - 1; step++) {
        const int64_t begin = group_start(g, step < size ? 0 : step - size + 1);
        const int64_t end = group_start(g, step + 1), mine = step - rank;
        const bool works = mine >= 0 && mine < g->number;
        const int64_t own = works ? group_start(g, mine) : end;
        const int64_t own_end = works ? group_start(g, mine + 1) : end;
        if (own < own_end)
            MRC_TRY(body(arg, own, own_end, state, err));
        memset(state + begin, 0, (size_t)(own - begin) * sizeof *state);
        memset(state + own_end, 0, (size_t)(end - own_end) * sizeof *state);
        MRC_TRY(mrc_comm_sum(ctx, state + begin, end - begin, err));
    }
out:
    return rc;
}

mercer_status mrc_comm_relay(mercer_ctx *ctx, double *state, int64_t count, int64_t group,
                             mrc_relay_body body, void *arg, mercer_error *err)
{
    const struct groups g = {.number = (count + group - 1) / group, .size = group, .count = count};
    return relay(ctx, state, &g, body, arg, err);
}

mercer_status mrc_comm_relay_cut(mercer_ctx *ctx, double *state, const int64_t *cuts,
                                 int64_t groups, mrc_relay_body body, void *arg, mercer_error *err)
{
    const struct groups g = {.cuts = cuts, .number = groups, .count = cuts[groups]};
    return relay(ctx, state, &g, body, arg, err);
}

mercer_status mrc_comm_largest(mercer_ctx *ctx, double *value, mercer_error *err)
{
    const int size = ctx->comm.table.size;
    double *slot = NULL;
    if (size == 1)
        return MERCER_OK;
    mercer_status rc = mrc_alloc(&slot, size, sizeof *slot, err);
    MRC_TRY(mrc_comm_agree(ctx, rc, err));
    slot[ctx->comm.table.rank] = *value;
    MRC_TRY(mrc_comm_merge(ctx, slot, size * (int64_t)sizeof *slot, err));
    for (int r = 0; r < size; r++)
        *value = slot[r] > *value ? slot[r] : *value;
out:
    mrc_free(slot);
    return rc;
}

mercer_status mrc_comm_gather(mercer_ctx *ctx, const void *mine, int64_t bytes, char **all,
                              int64_t *total, mercer_error *err)
{
    const int size = ctx->comm.table.size, rank = ctx->comm.table.rank;
    int64_t *lengths = NULL, before = 0, sum = 0;
    char *joined = NULL;
    mercer_status rc = mrc_alloc(&lengths, size, sizeof *lengths, err);
    MRC_TRY(mrc_comm_agree(ctx, rc, err));
    lengths[rank] = bytes;
    MRC_TRY(mrc_comm_merge(ctx, lengths, size * (int64_t)sizeof *lengths, err));
    for (int r = 0; r < size; r++) {
        before += r < rank ? lengths[r] : 0;
        sum += lengths[r];
    }
    rc = mrc_alloc(&joined, sum, 1, err);
    MRC_TRY(mrc_comm_agree(ctx, rc, err));
    if (bytes > 0)
        memcpy(joined + before, mine, (size_t)bytes);
    MRC_TRY(mrc_comm_merge(ctx, joined, sum, err));
    *all = joined;
    *total = sum;
    joined = NULL;
out:
    mrc_free(lengths);
    mrc_free(joined);
    return rc;
}
