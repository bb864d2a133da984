/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums of rows: CRC-32 of the numbers themselves, and of the structure of sparse rows. */
#include "data/checksum.h"

#include "base/comm.h"
#include "base/ctx.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sweep.h"

#include <stdio.h>
#include <zlib.h>

mercer_status mrc_rows_checksum(const mercer_rows *rows, unsigned long *crc, mercer_error *err)
{
    double *line = NULL;
    mercer_status rc = MERCER_OK;
    if (rows->packed)
        MRC_TRY(mrc_alloc(&line, rows->d, sizeof *line, err));
    for (int64_t i = 0; i < rows->n && !mercer_rows_is_sparse(rows); i++)
        *crc = crc32_z(*crc, (const Bytef *)mrc_rows_line(rows, i, line),
                       (size_t)rows->d * sizeof *line);
    if (mercer_rows_is_sparse(rows) && mercer_rows_entries(rows) > 0) {
        size_t entries = (size_t)mercer_rows_entries(rows);
        *crc = crc32_z(*crc, (const Bytef *)rows->csr.start,
                       (size_t)(rows->n + 1) * sizeof *rows->csr.start);
        *crc = crc32_z(*crc, (const Bytef *)rows->csr.column, entries * sizeof *rows->csr.column);
        *crc = crc32_z(*crc, (const Bytef *)rows->csr.value, entries * sizeof *rows->csr.value);
    }
out:
    mrc_free(line);
    return rc;
}

/* Rows that are one after the other in memory, in pieces: the checksum of all follows from those
 * of the pieces. */
struct pieces {
    const Bytef *bytes;
    size_t size;
    unsigned long *crc;
};

enum { PIECE = 1 << 20 };

static void checksum_piece(void *arg, int64_t task, int worker)
{
    const struct pieces *p = arg;
    size_t begin = (size_t)task * PIECE, left = p->size - begin;
    (void)worker;
    p->crc[task] = crc32_z(0, p->bytes + begin, left < PIECE ? left : PIECE);
}

mercer_status mrc_rows_checksum_by(mercer_ctx *ctx, const mercer_rows *rows, unsigned long *crc,
                                   mercer_error *err)
{
    if (mercer_rows_is_sparse(rows) || !rows->x || rows->ld != rows->d)
        return mrc_rows_checksum(rows, crc, err);
    struct pieces p = {.bytes = (const Bytef *)rows->x,
                       .size = (size_t)(rows->n * rows->d) * sizeof(double)};
    int64_t count = (int64_t)((p.size + PIECE - 1) / PIECE);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&p.crc, count, sizeof *p.crc, err));
    MRC_TRY(mrc_sweep(ctx, count, (double)p.size / sizeof(double), checksum_piece, &p, err));
    for (int64_t i = 0; i < count; i++) {
        size_t left = p.size - (size_t)i * PIECE;
        *crc = crc32_combine(*crc, p.crc[i], (z_off_t)(left < PIECE ? left : PIECE));
    }
out:
    mrc_free(p.crc);
    return rc;
}

/* The checksum of sparse rows is that of three arrays, of which each rank has a piece. Where a row
 * starts is counted from the first entry of the table. */
static mercer_status checksum_entries_of_all(mercer_ctx *ctx, const mercer_rows *rows,
                                             unsigned long *crc, mercer_error *err)
{
    enum { STARTS, COLUMNS, VALUES, ARRAYS, TOLD = 2 * ARRAYS, TOGETHER = 512 };
    const int size = ctx->comm.table.size, rank = ctx->comm.table.rank;
    const int64_t own = mercer_rows_entries(rows);
    double mine[TOLD] = {0}, *all = NULL, count = (double)own;
    int64_t before = 0, total = 0;
    uLong start = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&all, size, TOLD, sizeof *all, err));
    MRC_TRY(mrc_comm_collect(ctx, &count, 1, all, err));
    for (int r = 0; r < size; r++) {
        before += r < rank ? (int64_t)all[r] : 0;
        total += (int64_t)all[r];
    }
    if (total == 0)
        goto out;
    for (int64_t i = rows->first == 0 ? 0 : 1; rows->n > 0 && i <= rows->n;) {
        int64_t at[TOGETHER], k = 0;
        for (; k < TOGETHER && i <= rows->n; k++, i++)
            at[k] = before + rows->csr.start[i];
        start = crc32_z(start, (const Bytef *)at, (size_t)k * sizeof *at);
        mine[2 * STARTS + 1] += (double)k * sizeof *at;
    }
    mine[2 * STARTS] = (double)start;
    if (own > 0) {
        const size_t columns = (size_t)own * sizeof *rows->csr.column;
        const size_t values = (size_t)own * sizeof *rows->csr.value;
        mine[2 * COLUMNS] = (double)crc32_z(0, (const Bytef *)rows->csr.column, columns);
        mine[2 * COLUMNS + 1] = (double)columns;
        mine[2 * VALUES] = (double)crc32_z(0, (const Bytef *)rows->csr.value, values);
        mine[2 * VALUES + 1] = (double)values;
    }
    MRC_TRY(mrc_comm_collect(ctx, mine, TOLD, all, err));
    for (int a = 0; a < ARRAYS; a++)
        for (int r = 0; r < size; r++) {
            const double *told = all + (int64_t)r * TOLD + 2 * a;
            *crc = crc32_combine(*crc, (uLong)told[0], (z_off_t)told[1]);
        }
out:
    mrc_free(all);
    return rc;
}

mercer_status mrc_rows_checksum_of_all(mercer_ctx *ctx, const mercer_rows *rows, unsigned long *crc,
                                       mercer_error *err)
{
    double mine[2], *all = NULL;
    unsigned long own = 0;
    mercer_status rc = MERCER_OK;
    if (!mrc_rows_span(ctx, rows).spread)
        return mrc_rows_checksum_by(ctx, rows, crc, err);
    if (mercer_rows_is_sparse(rows))
        return checksum_entries_of_all(ctx, rows, crc, err);
    MRC_TRY(mrc_rows_checksum_by(ctx, rows, &own, err));
    mine[0] = (double)own;
    mine[1] = (double)(rows->n * rows->d) * sizeof(double);
    MRC_TRY(mrc_alloc2(&all, ctx->comm.table.size, 2, sizeof *all, err));
    MRC_TRY(mrc_comm_collect(ctx, mine, 2, all, err));
    for (int r = 0; r < ctx->comm.table.size; r++)
        *crc = crc32_combine(*crc, (uLong)all[2 * r], (z_off_t)all[2 * r + 1]);
out:
    mrc_free(all);
    return rc;
}

mercer_status mrc_rows_hash(const mercer_rows *rows, uint64_t *hash, mercer_error *err)
{
    const int64_t shape[] = {rows->n, rows->d, mercer_rows_is_sparse(rows)};
    double *line = NULL;
    mercer_status rc = MERCER_OK;
    *hash = mrc_hash(*hash, shape, sizeof shape);
    if (rows->packed)
        MRC_TRY(mrc_alloc(&line, rows->d, sizeof *line, err));
    for (int64_t i = 0; i < rows->n && !mercer_rows_is_sparse(rows); i++)
        *hash = mrc_hash(*hash, mrc_rows_line(rows, i, line), rows->d * (int64_t)sizeof *line);
    if (mercer_rows_is_sparse(rows)) {
        int64_t entries = mercer_rows_entries(rows);
        *hash = mrc_hash(*hash, rows->csr.start, (rows->n + 1) * (int64_t)sizeof(int64_t));
        *hash = mrc_hash(*hash, rows->csr.column, entries * (int64_t)sizeof(int32_t));
        *hash = mrc_hash(*hash, rows->csr.value, entries * (int64_t)sizeof(double));
    }
    *hash = mrc_hash(*hash, rows->gaps, rows->gap_count * (int64_t)sizeof *rows->gaps);
out:
    mrc_free(line);
    return rc;
}

mercer_status mrc_format_checksum(unsigned long crc, int64_t n, int64_t d, char **out,
                                  mercer_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "crc32:%08lx %lldx%lld", crc, (long long)n, (long long)d);
    return mrc_strdup(out, text, err);
}

mercer_status mercer_rows_checksum(const mercer_rows *rows, char **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(rows);
    MRC_NEED_WHOLE(rows);
    unsigned long crc = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_rows_checksum(rows, &crc, err));
    MRC_TRY(mrc_format_checksum(crc, rows->n, rows->d, out, err));
out:
    return rc;
}
