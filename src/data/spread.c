/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that are spread over ranks: each has a part of the table, whole parts of base/strips.h in
 * their order. What is asked of all rows is answered alike on all ranks, with the bits that one
 * rank has that holds the whole table. */
#include "base/comm.h"
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

mercer_status mrc_rows_take_of_all(mercer_ctx *ctx, const mercer_rows *rows, const int64_t *which,
                                   int64_t count, mercer_rows **out, mercer_error *err)
{
    char *copy = NULL;
    size_t bytes = mrc_dtype_bytes(rows->dtype);
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!mrc_rows_span(ctx, rows).spread)
        return mrc_rows_take(rows, which, count, out, err);
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
