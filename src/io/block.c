/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of rows: memory that grows with the rows and stays within the budget. */
#include "base/bytes.h"
#include "io/reader.h"

#include <stdio.h>
#include <string.h>

enum {
    FIRST_BYTES = 1 << 16,   /* first memory of a block of unknown length */
    ENTRIES_FIRST = 1 << 10, /* entries of sparse rows */
    TEXTS_FIRST = 1 << 10    /* bytes of ids, of groups */
};

int64_t mrc_block_row_bytes(const mrc_block *block, const mrc_columns *columns)
{
    const int64_t number = (int64_t)sizeof(double);
    int64_t data = block->sparse ? number : columns->data * (int64_t)mrc_dtype_bytes(block->dtype);
    return data + columns->targets * number + (block->with_codes ? number : 0) +
           (columns->id >= 0 ? number : 0) + (columns->group >= 0 ? number : 0);
}

enum { ENTRY_BYTES = sizeof(int32_t) + sizeof(double) };

bool mrc_block_is_full(mrc_block *block, const mrc_columns *columns)
{
    int64_t row = mrc_block_row_bytes(block, columns);
    int64_t entries = block->sparse && block->n > 0 ? block->csr.start[block->n] : 0;
    block->full = block->elastic && block->n > 0 &&
                  block->n + 1 > (mrc_budget_left(block->budget) / 2 - entries * ENTRY_BYTES) / row;
    return block->full;
}

/* Fail because rows, or their entries, go on beyond the budget. */
static mercer_status fail_rows(const mrc_block *block, double bytes, mercer_error *err)
{
    /* Where there is no budget nothing is refused. */
    const double most = block->budget ? (double)block->budget->most : 0;
    double done = mrc_input_done(block->input);
    const mrc_bytes_pair sizes = mrc_bytes_texts(most, done > 0 ? bytes / done : 0);
    char all[64] = "";
    if (done > 0 && done < 1)
        snprintf(all, sizeof all, " (about %s in all)", sizes.second.text);
    return mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory", .names_file = 1),
                       "%s: its rows take more than the memory budget of %s%s: raise it, or "
                       "read fewer rows or columns",
                       block->input->shown, sizes.first.text, all);
}

/* Rows that the block can have at most. */
static int64_t rows_that_fit(const mrc_block *block, const mrc_columns *columns)
{
    int64_t left = mrc_budget_left(block->budget) - block->entry_capacity * ENTRY_BYTES;
    int64_t row = mrc_block_row_bytes(block, columns);
    int64_t fitting = left >= row ? left / row - block->sparse : 0; /* one start more than rows */
    int64_t half = fitting / 2 > 1 ? fitting / 2 : 1;
    return block->elastic && half < fitting ? half : fitting;
}

mercer_status mrc_block_reserve(mrc_block *block, const mrc_columns *columns, int64_t rows,
                                mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    size_t cells;
    if (rows > block->n && rows > rows_that_fit(block, columns))
        MRC_TRY(fail_rows(block, (double)rows * (double)mrc_block_row_bytes(block, columns), err));
    if (block->sparse) {
        MRC_TRY(mrc_grow(&block->csr.start, rows + 1, sizeof *block->csr.start, err));
        block->csr.start[0] = 0;
    } else {
        MRC_TRY(mrc_size_mul(rows, columns->data, &cells, err));
        if (block->dtype == MRC_F64)
            MRC_TRY(mrc_grow(&block->x, (int64_t)cells, sizeof *block->x, err));
        else
            MRC_TRY(mrc_grow(&block->packed, (int64_t)cells, mrc_dtype_bytes(block->dtype), err));
    }
    if (columns->targets) {
        MRC_TRY(mrc_size_mul(rows, columns->targets, &cells, err));
        MRC_TRY(mrc_grow(&block->values, (int64_t)cells, sizeof *block->values, err));
    }
    if (block->with_codes)
        MRC_TRY(mrc_grow(&block->codes, rows, sizeof *block->codes, err));
    if (columns->id >= 0)
        MRC_TRY(mrc_grow(&block->ids.end, rows, sizeof *block->ids.end, err));
    if (columns->group >= 0)
        MRC_TRY(mrc_grow(&block->groups.end, rows, sizeof *block->groups.end, err));
    block->capacity = rows;
out:
    return rc;
}

mercer_status mrc_block_grow(mrc_block *block, const mrc_columns *columns, int64_t most,
                             mercer_error *err)
{
    int64_t width = (block->sparse ? 1 : columns->data) + columns->targets;
    int64_t first = FIRST_BYTES / (int64_t)sizeof(double) / width + 1;
    int64_t rows = block->capacity ? block->capacity + block->capacity / 2 + 1 : first;
    int64_t fitting = rows_that_fit(block, columns);
    if (block->budget && block->budget->limits.set.max_rows > 0) {
        /* A row more than are allowed has room: only when it comes there are too many. */
        const int64_t allowed = block->budget->limits.set.max_rows - block->before;
        mercer_status rc = mrc_budget_rows(block->budget, block->before + block->n, false, err);
        if (rc != MERCER_OK)
            return rc;
        rows = rows < allowed + 1 ? rows : allowed + 1;
    }
    if (fitting <= block->n)
        return fail_rows(block,
                         (double)(block->n + 1) * (double)mrc_block_row_bytes(block, columns) +
                             (double)block->entry_capacity * ENTRY_BYTES,
                         err);
    rows = rows < fitting ? rows : fitting;
    return mrc_block_reserve(block, columns, rows < most ? rows : most, err);
}

mercer_status mrc_block_reserve_entries(mrc_block *block, int64_t count, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_grow(&block->csr.column, count, sizeof *block->csr.column, err));
    MRC_TRY(mrc_grow(&block->csr.value, count, sizeof *block->csr.value, err));
    block->entry_capacity = count;
out:
    return rc;
}

mercer_status mrc_block_grow_entries(mrc_block *block, int64_t least, mercer_error *err)
{
    int64_t more = block->entry_capacity + block->entry_capacity / 2 + ENTRIES_FIRST;
    int64_t starts = (block->capacity + 1) * (int64_t)sizeof *block->csr.start;
    int64_t fitting = (mrc_budget_left(block->budget) - starts) / ENTRY_BYTES;
    if (least > fitting)
        return fail_rows(block, (double)least * ENTRY_BYTES + (double)starts, err);
    more = more > least ? more : least;
    return mrc_block_reserve_entries(block, more < fitting ? more : fitting, err);
}

mercer_status mrc_block_set_text(const mrc_block *block, mrc_row_texts *texts, int64_t row,
                                 const char *text, size_t length, mercer_error *err)
{
    int64_t start = row > 0 ? texts->end[row - 1] : 0, end = start + (int64_t)length + 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_budget_name(block->budget, "a row or group", length, err));
    if (end > texts->room) {
        int64_t room = 2 * end + TEXTS_FIRST, left = mrc_budget_left(block->budget);
        if (end > left)
            MRC_TRY(mrc_budget_fail(block->budget, "the ids of its rows", (double)end, err));
        room = room < left ? room : left;
        MRC_TRY(mrc_grow(&texts->bytes, room, 1, err));
        texts->room = room;
    }
    memcpy(texts->bytes + start, text, length);
    texts->bytes[end - 1] = 0;
    texts->end[row] = end;
out:
    return rc;
}

mercer_status mrc_block_set_number(const mrc_block *block, mrc_row_texts *texts, int64_t row,
                                   double value, mercer_error *err)
{
    char text[MRC_NUMBER_SIZE];
    int length = mrc_format_double(value == 0 ? 0 : value, text);
    return mrc_block_set_text(block, texts, row, text, (size_t)length, err);
}

void mrc_row_texts_move(mrc_row_texts *texts, int64_t from, int64_t to)
{
    int64_t start = from > 0 ? texts->end[from - 1] : 0, at = to > 0 ? texts->end[to - 1] : 0;
    int64_t length = texts->end[from] - start;
    memmove(texts->bytes + at, texts->bytes + start, (size_t)length);
    texts->end[to] = at + length;
}

void mrc_block_destroy(mrc_block *block)
{
    mrc_csr_owned_destroy(&block->csr);
    mrc_free(block->x);
    mrc_free(block->packed);
    mrc_free(block->values);
    mrc_free(block->codes);
    mrc_row_texts_destroy(&block->ids);
    mrc_row_texts_destroy(&block->groups);
    *block = (mrc_block){.input = block->input, .budget = block->budget, .elastic = block->elastic};
}
