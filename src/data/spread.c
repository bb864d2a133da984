/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that are spread over ranks: each has a part of the table, whole parts of base/strips.h in
 * their order. What is asked of all rows is answered alike on all ranks, with the bits that one
 * rank has that holds the whole table. */
#include "base/comm.h"
#include "base/ctx.h"
#include "data/rows.h"

#include <math.h>
#include <string.h>

mrc_span mrc_rows_span(const mercer_ctx *ctx, const mercer_rows *rows)
{
    return (mrc_span){.first = rows->first,
                      .n = rows->n,
                      .total = mrc_rows_total(rows),
                      .spread = rows->total > 0 && ctx && ctx->comm.table.size > 1};
}

mercer_status mrc_rows_need_whole(const mercer_rows *rows, const char *what, mercer_error *err)
{
    if (!rows || rows->total == 0)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                    "%s: the rows are a part of a table that is spread over ranks, of which only "
                    "mercer_fit() can learn",
                    what);
}

/* The wanted rows that this rank has, at their places among zeroes. */
static void fill_in(const mercer_rows *rows, const int64_t *which, int64_t count, char *out)
{
    const char *from = rows->x ? (const char *)rows->x : rows->packed;
    size_t bytes = mrc_dtype_bytes(rows->dtype), width = (size_t)rows->d * bytes;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = (which ? which[i] : i) - rows->first;
        if (row >= 0 && row < rows->n)
            memcpy(out + (size_t)i * width, from + (size_t)(row * rows->ld) * bytes, width);
    }
}

/* Sparse rows travel as their entries: how many each has, then columns and values side by side. */
static mercer_status take_entries_of_all(mercer_ctx *ctx, const mercer_rows *rows,
                                         const int64_t *which, int64_t count, mercer_rows **out,
                                         mercer_error *err)
{
    const mrc_csr *csr = &rows->csr;
    mrc_csr_owned copy = {0};
    double *lengths = NULL;
    int64_t entries;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&lengths, count, sizeof *lengths, err));
    MRC_TRY(mrc_alloc(&copy.start, count + 1, sizeof *copy.start, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = (which ? which[i] : i) - rows->first;
        if (row >= 0 && row < rows->n)
            lengths[i] = (double)(csr->start[row + 1] - csr->start[row]);
    }
    MRC_TRY(mrc_comm_sum(ctx, lengths, count, err));
    for (int64_t i = 0; i < count; i++)
        copy.start[i + 1] = copy.start[i] + (int64_t)lengths[i];
    entries = copy.start[count];
    MRC_TRY(mrc_alloc(&copy.column, entries, sizeof *copy.column, err));
    MRC_TRY(mrc_alloc(&copy.value, entries, sizeof *copy.value, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = (which ? which[i] : i) - rows->first;
        if (row < 0 || row >= rows->n || lengths[i] == 0)
            continue;
        memcpy(copy.column + copy.start[i], csr->column + csr->start[row],
               (size_t)lengths[i] * sizeof *copy.column);
        memcpy(copy.value + copy.start[i], csr->value + csr->start[row],
               (size_t)lengths[i] * sizeof *copy.value);
    }
    if (entries > 0) {
        MRC_TRY(mrc_comm_merge(ctx, copy.column, entries * (int64_t)sizeof *copy.column, err));
        MRC_TRY(mrc_comm_merge_numbers(ctx, copy.value, entries, err));
    }
    MRC_TRY(mrc_rows_adopt_csr(&copy, count, rows->d, out, err));
out:
    mrc_free(lengths);
    mrc_csr_owned_destroy(&copy);
    return rc;
}

mercer_status mrc_rows_take_of_all(mercer_ctx *ctx, const mercer_rows *rows, const int64_t *which,
                                   int64_t count, mercer_rows **out, mercer_error *err)
{
    char *copy = NULL;
    size_t bytes = mrc_dtype_bytes(rows->dtype);
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!mrc_rows_span(ctx, rows).spread)
        return mrc_rows_take(rows, which, count, out, err);
    if (mercer_rows_is_sparse(rows))
        return take_entries_of_all(ctx, rows, which, count, out, err);
    MRC_TRY(mrc_alloc2(&copy, count, rows->d, bytes, err));
    fill_in(rows, which, count, copy);
    if (rows->dtype == MRC_F64)
        MRC_TRY(mrc_comm_merge_numbers(ctx, (double *)(void *)copy, count * rows->d, err));
    else
        MRC_TRY(mrc_comm_merge(ctx, copy, count * rows->d * (int64_t)bytes, err));
    MRC_TRY(mrc_rows_adopt(rows->dtype, copy, count, rows->d, out, err));
    copy = NULL;
out:
    mrc_free(copy);
    return rc;
}

mercer_status mrc_rows_entries_of_all(mercer_ctx *ctx, const mercer_rows *rows, int64_t *out,
                                      mercer_error *err)
{
    double entries = (double)mercer_rows_entries(rows); /* of all ranks below 2^53 */
    mercer_status rc = MERCER_OK;
    *out = mercer_rows_entries(rows);
    if (!mrc_rows_span(ctx, rows).spread)
        return rc;
    MRC_TRY(mrc_comm_sum(ctx, &entries, 1, err));
    *out = (int64_t)entries;
out:
    return rc;
}

mercer_status mrc_rows_largest_of_all(mercer_ctx *ctx, const mercer_rows *rows, double *value,
                                      int64_t *column, mercer_error *err)
{
    double mine[2], *all = NULL;
    mercer_status rc = MERCER_OK;
    *value = mrc_rows_largest(rows, 0, rows->n, column);
    if (!mrc_rows_span(ctx, rows).spread)
        return rc;
    mine[0] = *value;
    mine[1] = (double)*column;
    *value = 0;
    *column = 0;
    MRC_TRY(mrc_alloc2(&all, ctx->comm.table.size, 2, sizeof *all, err));
    MRC_TRY(mrc_comm_collect(ctx, mine, 2, all, err));
    for (int r = 0; r < ctx->comm.table.size; r++)
        if (fabs(all[2 * r]) > fabs(*value)) {
            *value = all[2 * r];
            *column = (int64_t)all[2 * r + 1];
        }
out:
    mrc_free(all);
    return rc;
}

/* The rows of the smallest hashes of all ranks are among those of each. */
mercer_status mrc_draw_of_all(mercer_ctx *ctx, const mrc_span *span, int64_t *list, int64_t count,
                              int64_t most, int64_t **out, int64_t *found, mercer_error *err)
{
    const int64_t own = count < most ? count : most, bytes = (int64_t)sizeof *list;
    mrc_rng rng = ctx->rng; /* the same draw again, for all of them */
    char *all = NULL;
    int64_t total = own * bytes;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    mrc_rng_draw(span->spread ? &rng : &ctx->rng, list, count, own);
    if (span->spread) {
        MRC_TRY(mrc_comm_gather(ctx, list, own * bytes, &all, &total, err));
        *found = total / bytes < most ? total / bytes : most;
        mrc_rng_draw(&ctx->rng, (int64_t *)(void *)all, total / bytes, *found);
        *out = (int64_t *)(void *)all;
        all = NULL;
    } else {
        MRC_TRY(mrc_alloc(out, own, sizeof **out, err));
        memcpy(*out, list, (size_t)total);
        *found = own;
    }
out:
    mrc_free(all);
    return rc;
}
