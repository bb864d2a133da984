/* SPDX-License-Identifier: BSD-3-Clause */
/* Means of the columns. Threads share the columns, and ranks hand them on: each is summed from the
 * first row of the table to its last, whoever does it. */
#include "data/means.h"

#include "base/comm.h"
#include "base/ctx.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/strips.h"
#include "base/sweep.h"

struct means {
    mercer_ctx *ctx;
    const mercer_rows *rows;
    int64_t piece; /* columns of a task */
    double *mean;
};

static void mean_piece(void *arg, int64_t task, int worker)
{
    const struct means *w = arg;
    const mercer_rows *rows = w->rows;
    int64_t begin = task * w->piece, end = mrc_min64(rows->d, begin + w->piece);
    double n = (double)mrc_rows_total(rows), *mean = w->mean;
    (void)worker;
    for (int64_t first = 0; first < rows->n; first += MRC_STRIP) {
        int64_t last = mrc_min64(rows->n, first + MRC_STRIP);
        if (mrc_check_cancel(w->ctx, NULL) != MERCER_OK)
            return; /* the caller sees it, too */
        for (int64_t i = first; i < last; i++) {
            const double *x = rows->x + i * rows->ld;
            for (int64_t k = begin; k < end; k++)
                mean[k] += x[k] / n;
        }
    }
}

/* Sparse rows: of each the entries in these columns. */
static mercer_status mean_of_entries(mercer_ctx *ctx, const mercer_rows *rows, int64_t begin,
                                     int64_t end, double *mean, mercer_error *err)
{
    const double n = (double)mrc_rows_total(rows);
    const mrc_csr *csr = &rows->csr;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t k = csr->start[i], stop = csr->start[i + 1], count = 0;
        for (int64_t most = stop; begin > 0 && k < most;) { /* the first of them */
            int64_t middle = k + (most - k) / 2;
            if (csr->column[middle] < begin)
                k = middle + 1;
            else
                most = middle;
        }
        for (; k < stop && csr->column[k] < end; k++, count++)
            mean[csr->column[k]] += csr->value[k] / n;
        MRC_TRY(mrc_check_pass(ctx, i, count + 1, err));
    }
out:
    return rc;
}

/* Row by row: packed and sparse ones. */
static mercer_status mean_of_lines(mercer_ctx *ctx, const mercer_rows *rows, int64_t begin,
                                   int64_t end, double *mean, mercer_error *err)
{
    double n = (double)mrc_rows_total(rows), *scratch = NULL;
    mercer_status rc = MERCER_OK;
    if (mercer_rows_is_sparse(rows))
        return mean_of_entries(ctx, rows, begin, end, mean, err);
    MRC_TRY(mrc_alloc(&scratch, rows->d, sizeof *scratch, err));
    for (int64_t i = 0; i < rows->n; i++) {
        const double *line = mrc_rows_line(rows, i, scratch);
        for (int64_t k = begin; k < end; k++)
            mean[k] += line[k] / n;
        MRC_TRY(mrc_check_pass(ctx, i, end - begin, err));
    }
out:
    mrc_free(scratch);
    return rc;
}

/* What is handed on from rank to rank. */
static mercer_status go_on(void *arg, int64_t begin, int64_t end, double *mean, mercer_error *err)
{
    const struct means *w = arg;
    return mean_of_lines(w->ctx, w->rows, begin, end, mean, err);
}

mercer_status mrc_rows_mean(mercer_ctx *ctx, const mercer_rows *rows, double *mean,
                            mercer_error *err)
{
    /* Pieces are whole pages, and where there are few columns, some for each thread; ranks hand on
     * a cache line, or of sparse rows, which are gone through once for each piece, a few pieces per
     * rank. How columns are cut changes no bits. */
    enum { WIDE = 512, PIECE = 64, LINE = 8, PIECES = 4 };
    struct means w = {.ctx = ctx, .rows = rows, .mean = mean};
    if (mrc_rows_span(ctx, rows).spread) {
        const int64_t few = rows->d / (PIECES * (int64_t)ctx->comm.table.size) + 1;
        return mrc_comm_relay(ctx, mean, rows->d,
                              mercer_rows_is_sparse(rows) && few > LINE ? few : LINE, go_on, &w,
                              err);
    }
    if (mercer_rows_is_sparse(rows) || !rows->x)
        return mean_of_lines(ctx, rows, 0, rows->d, mean, err);
    w.piece = ctx->threads == 1 ? rows->d : rows->d > WIDE ? WIDE : PIECE;
    return mrc_sweep(ctx, (rows->d + w.piece - 1) / w.piece, (double)rows->n * (double)rows->d,
                     mean_piece, &w, err);
}
