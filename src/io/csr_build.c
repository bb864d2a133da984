/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse rows from entries in any order.
 *
 * Entries are brought to their rows by counting, then each row that is not in order yet is sorted
 * by column and what falls into one place is added up. Cost: O(entries + rows), and the sorting of
 * rows that need it. A rank that wants some of the rows sees all entries, and keeps those of these
 * rows: it finds what is wrong with any of them, as a rank that is alone does. */
#include "io/csr_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Rows without any entry take memory that no bytes of the file stand for; a matrix that is
     * nearly all empty rows is a damaged one. */
    EMPTY_ROWS = 1 << 20,
    ROWS_PER_ENTRY = 1 << 10
};

struct entry {
    int32_t column;
    int64_t order;
    double value;
};

enum {
    LISTED_BYTES = sizeof(int64_t) + sizeof(int32_t) + sizeof(double),
    PLACED_BYTES = sizeof(int32_t) + sizeof(double)
};
static const char too_many[] = "this number of rows or entries";

mrc_entries mrc_entries_of(const mrc_matrix *matrix)
{
    return (mrc_entries){.budget = matrix->budget,
                         .wanted = mrc_wanted_rows(matrix->part_of, matrix->rows)};
}

static mercer_status grow(mrc_entries *entries, int64_t count, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(
        mrc_budget_take(entries->budget, count - entries->capacity, LISTED_BYTES, too_many, err));
    MRC_TRY(mrc_grow(&entries->row, count, sizeof *entries->row, err));
    MRC_TRY(mrc_grow(&entries->column, count, sizeof *entries->column, err));
    MRC_TRY(mrc_grow(&entries->value, count, sizeof *entries->value, err));
    entries->capacity = count;
out:
    return rc;
}

mercer_status mrc_entries_reserve(mrc_entries *entries, int64_t count, mercer_error *err)
{
    const bool all = entries->wanted.n == entries->wanted.total;
    return all ? grow(entries, count, err) : MERCER_OK;
}

mercer_status mrc_entries_add(mrc_entries *entries, int64_t row, int64_t column, double value,
                              mercer_error *err)
{
    const int64_t own = row - entries->wanted.first;
    entries->listed++;
    if (own < 0 || own >= entries->wanted.n)
        return MERCER_OK;
    if (entries->count == entries->capacity) {
        int64_t capacity = entries->capacity + entries->capacity / 2 + 1024;
        int64_t fitting = entries->count + mrc_budget_left(entries->budget) / LISTED_BYTES;
        if (capacity > fitting && fitting > entries->count)
            capacity = fitting;
        mercer_status rc = grow(entries, capacity, err);
        if (rc != MERCER_OK)
            return rc;
    }
    entries->row[entries->count] = own;
    entries->column[entries->count] = (int32_t)column;
    entries->value[entries->count++] = value;
    return MERCER_OK;
}

mercer_status mrc_sparse_check(const mrc_matrix *matrix, mercer_error *err)
{
    if (matrix->columns > INT32_MAX)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: has more than %d columns",
                           matrix->shown, INT32_MAX);
    return mrc_matrix_check(matrix, err);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Bring the entries to their rows, in the order in which they came. */
static mercer_status place(mrc_csr_owned *csr, int64_t rows, const mrc_entries *entries,
                           mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_budget_take(entries->budget, rows + 1, sizeof *csr->start, too_many, err));
    MRC_TRY(mrc_budget_take(entries->budget, entries->count, PLACED_BYTES, too_many, err));
    MRC_TRY(mrc_grow(&csr->start, rows + 1, sizeof *csr->start, err));
    MRC_TRY(mrc_grow(&csr->column, entries->count, sizeof *csr->column, err));
    MRC_TRY(mrc_grow(&csr->value, entries->count, sizeof *csr->value, err));
    memset(csr->start, 0, (size_t)(rows + 1) * sizeof *csr->start);
    for (int64_t k = 0; k < entries->count; k++)
        csr->start[entries->row[k] + 1]++;
    for (int64_t i = 0; i < rows; i++)
        csr->start[i + 1] += csr->start[i];
    for (int64_t k = 0; k < entries->count; k++) {
        int64_t to = csr->start[entries->row[k]]++;
        csr->column[to] = entries->column[k];
        csr->value[to] = entries->value[k];
    }
    /* Each start has moved to the end of its row, where the next one starts. */
    memmove(csr->start + 1, csr->start, (size_t)rows * sizeof *csr->start);
    csr->start[0] = 0;
out:
    return rc;
}

static bool in_order(const mrc_csr_owned *csr, int64_t from, int64_t to)
{
    for (int64_t k = from + 1; k < to; k++)
        if (csr->column[k] <= csr->column[k - 1])
            return false;
    return true;
}

/* Sort every row by column and add up what is in one place. */
static mercer_status put_in_order(mrc_csr_owned *csr, int64_t rows, const mrc_budget *budget,
                                  mercer_error *err)
{
    struct entry *row = NULL;
    int64_t room = 0, used = 0, from = 0;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < rows; i++) {
        int64_t to = csr->start[i + 1], length = to - from, first = used;
        if (!in_order(csr, from, to)) {
            if (length > room && length > mrc_budget_left(budget) / (int64_t)sizeof *row)
                MRC_TRY(mrc_budget_fail(budget, too_many, (double)length * sizeof *row, err));
            if (length > room) {
                MRC_TRY(mrc_grow(&row, length, sizeof *row, err));
                room = length;
            }
            assert(row); /* a row out of order has entries */
            for (int64_t k = 0; k < length; k++)
                row[k] = (struct entry){csr->column[from + k], k, csr->value[from + k]};
            qsort(row, (size_t)length, sizeof *row, compare_entries);
            for (int64_t k = 0; k < length; k++) {
                csr->column[from + k] = row[k].column;
                csr->value[from + k] = row[k].value;
            }
        }
        for (; from < to; from++)
            if (used > first && csr->column[used - 1] == csr->column[from]) {
                csr->value[used - 1] += csr->value[from];
            } else {
                csr->column[used] = csr->column[from];
                csr->value[used++] = csr->value[from];
            }
        csr->start[i + 1] = used;
    }
out:
    mrc_free(row);
    return rc;
}

mercer_status mrc_sparse_adopt(mrc_matrix *matrix, mrc_csr_owned *csr, mrc_span wanted,
                               int64_t listed, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if ((matrix->rows - EMPTY_ROWS) / ROWS_PER_ENTRY > listed)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE,
                    "%s: has %lld entries in %lld rows; nearly all are empty", matrix->shown,
                    (long long)listed, (long long)matrix->rows);
    MRC_TRY(put_in_order(csr, wanted.n, matrix->budget, err));
    MRC_TRY(mrc_csr_check_from(&(mrc_csr){csr->start, csr->column, csr->value}, wanted.n,
                               matrix->columns, wanted.first, matrix->shown, err));
    matrix->csr = *csr;
    matrix->csr_first = wanted.first;
    matrix->csr_rows = wanted.n;
    *csr = (mrc_csr_owned){0};
out:
    mrc_csr_owned_destroy(csr);
    return rc;
}

mercer_status mrc_sparse_build(mrc_matrix *matrix, const mrc_entries *entries, mercer_error *err)
{
    mrc_csr_owned csr = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(place(&csr, entries->wanted.n, entries, err));
    MRC_TRY(mrc_sparse_adopt(matrix, &csr, entries->wanted, entries->listed, err));
out:
    mrc_csr_owned_destroy(&csr);
    return rc;
}

void mrc_entries_destroy(mrc_entries *entries)
{
    mrc_budget_give(entries->budget, entries->capacity, LISTED_BYTES);
    mrc_free(entries->row);
    mrc_free(entries->column);
    mrc_free(entries->value);
    *entries = (mrc_entries){0};
}
