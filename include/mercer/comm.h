/* SPDX-License-Identifier: BSD-3-Clause */
/* Several processes, called ranks, that share the work of one call (experimental).
 *
 * The library knows ranks by a table of functions, which the host fills, for example with calls of
 * MPI. Every rank makes the same calls with the same options and seed, and gets the same result.
 * Trials of mercer_evaluate() and mercer_tune() are dealt to the ranks, which all have the same
 * rows. mercer_fit() learns from rows that are spread over the ranks (mercer_rows_view_part()). All
 * other calls, and a fit to other rows, are done by each rank for itself. Results do not depend on
 * the number of ranks.
 *
 * Ranks agree on errors: when a rank fails, the call ends on all of them. A rank that had no error
 * of its own gets MERCER_ERR_PEER with the text of the lowest rank that had one, or
 * MERCER_ERR_CANCELLED where that one was cancelled. The others notice it when they next exchange
 * anything, which is at the end of their share of the trials; where the table has tell and heard,
 * they leave those trials within about 0.1 s, wherever a cancellation is looked for. */
#ifndef MERCER_COMM_H
#define MERCER_COMM_H

#include <mercer/context.h>
#include <mercer/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both functions are called by all ranks in the same order, on the thread that called the library,
 * and return when the exchange is done. A failure is final: the host sees to it that the call does
 * not wait on other ranks for ever, but fails there or ends the process, and it is not called
 * again.
 *
 * sum: replaces values[0] to [count - 1] by the sums over all ranks, with the same bits on all of
 * them; the order of addition is free.
 * broadcast: copies the bytes of rank root to all others. */
typedef mercer_status (*mercer_comm_sum_fn)(void *host, double *values, int64_t count,
                                            mercer_error *err);
typedef mercer_status (*mercer_comm_broadcast_fn)(void *host, void *data, size_t bytes, int root,
                                                  mercer_error *err);

/* Both may be NULL, and are called on the thread that called the library, at any time between
 * exchanges, by each rank for itself: they wait for nobody.
 *
 * tell: this rank fails; the next exchange is one in which it says so.
 * heard: not 0 when another rank has told so since the last exchange that this rank has made. It
 * may come late, or never, but what was told before that exchange is forgotten: a rank that hears
 * leaves its work for the next exchange. Called every 50 ms at most. */
typedef void (*mercer_comm_tell_fn)(void *host);
typedef int (*mercer_comm_heard_fn)(void *host);

/* Set the fields by mercer_comm_init(), then fill those up to host. */
typedef struct mercer_comm {
    size_t struct_size;
    int rank, size; /* this rank, from 0, and how many there are */
    mercer_comm_sum_fn sum;
    mercer_comm_broadcast_fn broadcast;
    void *host;               /* handed to all functions */
    mercer_comm_tell_fn tell; /* both, or neither */
    mercer_comm_heard_fn heard;
} mercer_comm;
MERCER_VERSIONED(comm)

/* The table is copied; NULL: ctx works alone, as a new context does. After a call that ended on
 * some ranks with an error and on others because of it, all further ones do at once, until the
 * table is set again. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_ctx_set_comm(mercer_ctx *ctx,
                                                                 const mercer_comm *comm,
                                                                 mercer_error *err);
MERCER_API MERCER_EXPERIMENTAL int mercer_ctx_rank(const mercer_ctx *ctx);  /* 0 when alone */
MERCER_API MERCER_EXPERIMENTAL int mercer_ctx_ranks(const mercer_ctx *ctx); /* 1 when alone */
/* Bytes that this rank has given to the table's functions so far. */
MERCER_API MERCER_EXPERIMENTAL int64_t mercer_ctx_sent(const mercer_ctx *ctx);

/* A table of `total` rows that are spread over the ranks of ctx: rows [*first, *first + *count) are
 * this rank's, which may be none. Ranks have consecutive rows; all of them start at multiples of
 * 256 rows. Alone: all of them. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_ctx_part(const mercer_ctx *ctx, int64_t total,
                                                             int64_t *first, int64_t *count,
                                                             mercer_error *err);
/* Rows from an array, as mercer_rows_view() makes them, which are this rank's part of a table of
 * `total` rows, as mercer_ctx_part() says; the array may have no rows. Errors count the rows of the
 * table.
 *
 * mercer_fit() learns from the rows of all ranks then, and every rank gets the whole model, bit for
 * bit that of a fit to all rows on one rank. Methods: kpca and pca, with a low-rank or linear
 * kernel matrix (of sparse rows a low-rank one); fewer than 2500 rows are given to every rank,
 * unless store lowrank is asked for. Refused before work, with MERCER_ERR_ARGUMENT: other methods
 * and stores, heads, novelty, intervals, a map, scale robust, single precision, features of the
 * training rows. Targets are not looked at. A kernel matrix that turns out not to be low-rank is
 * MERCER_ERR_UNSUPPORTED. What would take a part for all rows (mercer_evaluate(), mercer_tune(),
 * streams, scaling, surveys, forecasts) is MERCER_ERR_UNSUPPORTED, also where there is one rank.
 * Transforming and predicting take the rows that are there, as ever. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_rows_view_part(mercer_ctx *ctx,
                                                                   const mercer_array *x,
                                                                   int64_t total, mercer_rows **out,
                                                                   mercer_error *err);
/* The same of sparse rows, as mercer_rows_view_csr() makes them; start has one value where this
 * rank has no rows. `columns` is that of the table, on all ranks. */
MERCER_API MERCER_EXPERIMENTAL mercer_status
mercer_rows_view_csr_part(mercer_ctx *ctx, const mercer_array *start, const mercer_array *column,
                          const mercer_array *value, int64_t columns, int64_t total,
                          mercer_rows **out, mercer_error *err);

/* Meet the other ranks with what this one came to between two calls of the library, status and
 * *err: what a host does before it gives up, because the others may wait for this rank in a call,
 * and before it ends. Returns status when that is an error; else MERCER_OK when all came with
 * MERCER_OK, and an error in *err when one did not. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_ctx_agree(mercer_ctx *ctx, mercer_status status,
                                                              mercer_error *err);

/* The bytes of rank root, copied to all others; what a host exchanges of its own between calls.
 * Begins with an agreement: where a rank comes to mercer_ctx_agree() with an error instead, it
 * fails. Alone: nothing to do. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_ctx_broadcast(mercer_ctx *ctx, void *data,
                                                                  size_t bytes, int root,
                                                                  mercer_error *err);

/* What rank 0 reads from its descriptor `from`, to the end, is written to the descriptor `to` of
 * every rank, that of rank 0 too: for rows in a pipe, of which one rank gets the bytes. `from` is
 * looked at on rank 0 only. The limits of ctx hold for the time, and for the bytes as they come,
 * before gzip is undone. from_shown and to_shown are their names in messages. A rank that cannot
 * write, too, ends the call on all. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_ctx_copy_input(mercer_ctx *ctx, int from,
                                                                   const char *from_shown, int to,
                                                                   const char *to_shown,
                                                                   mercer_error *err);

#ifdef __cplusplus
}
#endif
#endif
