/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ranks share the rows that go through a model, and write one file.
 *
 * Rows are dealt in steps: `size` of them to rank 0, the next to rank 1, and so on; the next step
 * begins behind those of the last rank. So the output is made in the order of the file, and nobody
 * holds more than a step's share: with one range per rank, all but the first would have to keep
 * theirs. Each rank makes the bytes of its rows as they stand in the output, and hands them to rank
 * 0 when its turn comes. With them goes the tally of all rows up to there, which the next rank goes
 * on with: sums are added row by row in the order of the file, as on one rank, with the same bits.
 *
 * The first steps are small, so that a short file is shared, too. A rank with fewer rows than its
 * share has seen the end of the file, and all ranks see that from what it sends. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST = 64,      /* rows per rank in the first step; each step doubles them, up to: */
    MOST = 1 << 13,  /* more would leave ranks without work at the end, fewer cost exchanges */
    PIECE = 1 << 20, /* bytes per exchange; all ranks have room for as many */
};

/* What a rank says of its rows in a step before their bytes. */
typedef struct share_head {
    int64_t rows, bytes, sent;
    cli_tally total; /* up to these rows */
} share_head;

bool cli_share_is_spread(const cli_settings *set)
{
    (void)set;
    return true;
}

/* ---- before the first rows ---- */

/* FNV-1a: tells texts apart, with their ends. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (const char *p = text ? text : "";; p++) {
        hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
        if (!*p)
            return hash;
    }
}

/* What all ranks must have in common: the model, and the columns that go out. */
static mercer_status fingerprint(cli_row_pipe *p, uint64_t *out)
{
    const cli_settings *set = &p->app->set;
    char *text = NULL;
    const mercer_status rc = mercer_model_info_json(p->model, &text, &p->err);
    if (rc != MERCER_OK)
        return rc;
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), text);
    for (int64_t j = 0; j < p->width + p->extra; j++)
        hash = hash_text(hash, p->names[j]);
    hash = hash_text(hash, set->keep_label ? "keep" : "");
    hash = hash_text(hash, set->output);
    *out = hash_text(hash, set->output_format);
    free(text);
    return MERCER_OK;
}

mercer_status cli_share_open(cli_row_pipe *p)
{
    mercer_ctx *ctx = p->app->ctx;
    uint64_t mine, first;
    mercer_status rc = fingerprint(p, &mine);
    if (rc != MERCER_OK)
        return rc;
    first = mine;
    rc = mercer_ctx_broadcast(ctx, &first, sizeof first, 0, &p->err);
    if (rc == MERCER_OK && first != mine)
        rc = cli_error(&p->err, MERCER_ERR_ARGUMENT,
                       "the model or the options are not those of rank 0");
    p->share = (cli_share){.size = p->room < FIRST ? p->room : FIRST,
                           .most = p->room < MOST ? p->room : MOST,
                           .piece = cli_alloc(PIECE, 1)};
    p->share.ahead = mercer_ctx_rank(ctx) * p->share.size;
    return rc;
}

/* ---- steps ---- */

/* The bytes of a rank's rows to rank 0, which puts them behind those it has. */
static mercer_status hand_over(cli_row_pipe *p, int from, const char *bytes, const share_head *head)
{
    mercer_ctx *ctx = p->app->ctx;
    const int rank = mercer_ctx_rank(ctx);
    mercer_status rc = MERCER_OK;
    for (int64_t at = 0; at < head->bytes && rc == MERCER_OK; at += PIECE) {
        const int64_t left = head->bytes - at, count = left < PIECE ? left : PIECE;
        if (rank == from && bytes)
            memcpy(p->share.piece, bytes + at, (size_t)count);
        rc = mercer_ctx_broadcast(ctx, p->share.piece, (size_t)count, from, &p->err);
        if (rc == MERCER_OK && rank == 0)
            rc = mercer_writer_append(ctx, p->sink.writer, p->share.piece, (size_t)count,
                                      left == count ? head->rows : 0, &p->err);
    }
    return rc;
}

/* All ranks have their rows of a step: into the file with them. *last: there are no more. */
static mercer_status meet(cli_row_pipe *p, bool *last)
{
    mercer_ctx *ctx = p->app->ctx;
    const int rank = mercer_ctx_rank(ctx), ranks = mercer_ctx_ranks(ctx);
    const void *bytes = NULL;
    size_t size = 0;
    int64_t rows;
    mercer_status rc = MERCER_OK;
    if (rank > 0 && p->sink.writer)
        rc = mercer_writer_take(p->sink.writer, &bytes, &size, &rows, &p->err);
    *last = false;
    for (int from = 0; from < ranks && rc == MERCER_OK; from++) {
        share_head head = {0};
        if (from == rank) {
            head.rows = p->own.rows;
            head.bytes = (int64_t)size;
            head.sent = mercer_ctx_sent(ctx) + head.bytes;
            cli_row_pipe_fold(p);
            head.total = p->total;
        }
        rc = mercer_ctx_broadcast(ctx, &head, sizeof head, from, &p->err);
        if (rc != MERCER_OK)
            break;
        if (*last && head.rows > 0)
            return cli_error(&p->err, MERCER_ERR_DATA,
                             "has more rows on rank %d than on others; all ranks must read the "
                             "same file",
                             from);
        *last = *last || head.rows < p->share.size;
        p->total = head.total;
        p->share.sent = head.sent > p->share.sent ? head.sent : p->share.sent;
        rc = hand_over(p, from, bytes, &head);
    }
    return rc;
}

/* What is told at the end of a file is told by rank 0, so it goes there. */
static mercer_status see_the_end(cli_row_pipe *p)
{
    int64_t skipped;
    if (mercer_ctx_rank(p->app->ctx) > 0)
        return MERCER_OK;
    return mercer_reader_skip(p->app->ctx, p->reader, INT64_MAX, &skipped, &p->err);
}

mercer_status cli_share_next(cli_row_pipe *p, int64_t *rows)
{
    cli_share *share = &p->share;
    const int rank = mercer_ctx_rank(p->app->ctx), ranks = mercer_ctx_ranks(p->app->ctx);
    mercer_status rc = MERCER_OK;
    for (bool last = false; rc == MERCER_OK && !last;) {
        int64_t skipped = 0;
        if (!share->ended && share->ahead > 0) {
            rc = mercer_reader_skip(p->app->ctx, p->reader, share->ahead, &skipped, &p->err);
            share->ended = skipped < share->ahead;
            share->ahead = 0;
            p->at += skipped;
        }
        *rows = share->size - p->own.rows;
        if (rc != MERCER_OK || (!share->ended && *rows > 0))
            return rc;
        rc = meet(p, &last);
        share->ahead = (ranks - 1 - rank) * share->size;
        share->size = 2 * share->size < share->most ? 2 * share->size : share->most;
        share->ahead += rank * share->size;
    }
    *rows = 0;
    return rc == MERCER_OK ? see_the_end(p) : rc;
}
