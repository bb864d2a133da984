/* SPDX-License-Identifier: BSD-3-Clause */
/* Some rows of a table, or all, as rows of their own, of the table's kind or as doubles. */
#include "data/rows.h"

#include <string.h>

static mercer_status take_csr(const mercer_rows *rows, const int64_t *which, int64_t count,
                              mercer_rows **out, mercer_error *err)
{
    const mrc_csr *csr = &rows->csr;
    mrc_csr_owned copy = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&copy.start, count + 1, sizeof *copy.start, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = which ? which[i] : i;
        copy.start[i + 1] = copy.start[i] + csr->start[row + 1] - csr->start[row];
    }
    MRC_TRY(mrc_alloc2_raw(&copy.column, copy.start[count], 1, sizeof *copy.column, err));
    MRC_TRY(mrc_alloc2_raw(&copy.value, copy.start[count], 1, sizeof *copy.value, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t from = csr->start[which ? which[i] : i];
        size_t entries = (size_t)(copy.start[i + 1] - copy.start[i]);
        if (entries == 0)
            continue;
        memcpy(copy.column + copy.start[i], csr->column + from, entries * sizeof *copy.column);
        memcpy(copy.value + copy.start[i], csr->value + from, entries * sizeof *copy.value);
    }
    MRC_TRY(mrc_rows_adopt_csr(&copy, count, rows->d, out, err));
out:
    mrc_csr_owned_destroy(&copy);
    return rc;
}

mercer_status mrc_rows_take(const mercer_rows *rows, const int64_t *which, int64_t count,
                            mercer_rows **out, mercer_error *err)
{
    const char *from = rows->x ? (const char *)rows->x : rows->packed;
    char *copy = NULL;
    int64_t *place = NULL;
    size_t bytes = mrc_dtype_bytes(rows->dtype), width = (size_t)rows->d * bytes;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (mercer_rows_is_sparse(rows)) {
        MRC_TRY(take_csr(rows, which, count, out, err));
        (*out)->blur = rows->blur;
        return rc;
    }
    MRC_TRY(mrc_alloc2_raw(&copy, count, rows->d, bytes, err));
    for (int64_t i = 0; i < count; i++)
        memcpy(copy + (size_t)i * width, from + (size_t)((which ? which[i] : i) * rows->ld) * bytes,
               width);
    MRC_TRY(mrc_alloc(&place, rows->pairs ? count : 0, sizeof *place, err));
    for (int64_t i = 0; rows->pairs && i < count; i++)
        place[i] = rows->place[which ? which[i] : i];
    MRC_TRY(mrc_rows_adopt(rows->dtype, copy, count, rows->d, out, err));
    copy = NULL;
    (*out)->blur = rows->blur;
    (*out)->pairs = rows->pairs;
    (*out)->place = place;
    place = NULL;
    MRC_TRY(mrc_gaps_take(rows, which, *out, err));
out:
    if (rc != MERCER_OK) {
        mercer_rows_free(*out);
        *out = NULL;
    }
    mrc_free(copy);
    mrc_free(place);
    return rc;
}

mercer_status mrc_rows_take_block(const mercer_rows *rows, const int64_t *which, int64_t count,
                                  const int64_t *columns, int64_t columns_count, mercer_rows **out,
                                  mercer_error *err)
{
    double *x = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(mrc_alloc2_raw(&x, count, columns_count, sizeof *x, err));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < columns_count; j++)
            x[i * columns_count + j] = mrc_rows_at(rows, which[i], columns[j]);
    MRC_TRY(mrc_rows_adopt(MRC_F64, x, count, columns_count, out, err));
    x = NULL;
out:
    mrc_free(x);
    return rc;
}

void mrc_rows_take_diagonal(const mercer_rows *rows, const int64_t *which, int64_t count,
                            double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = mrc_rows_at(rows, which[i], which[i]);
}

mercer_status mrc_rows_slice(const mercer_rows *rows, int64_t first, int64_t count,
                             mercer_rows **out, mercer_error *err)
{
    int64_t *which = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(mrc_alloc(&which, count, sizeof *which, err));
    for (int64_t i = 0; i < count; i++)
        which[i] = first + i;
    MRC_TRY(mrc_rows_take(rows, which, count, out, err));
out:
    mrc_free(which);
    return rc;
}

/* The entries of both, those of more behind those of rows. */
static mercer_status append_csr(const mercer_rows *rows, const mercer_rows *more, mercer_rows **out,
                                mercer_error *err)
{
    const mercer_rows *part[2] = {rows, more};
    int64_t entries = mercer_rows_entries(rows), at = 0;
    mrc_csr_owned copy = {0};
    mercer_status rc = MERCER_OK;
    entries += mercer_rows_entries(more);
    MRC_TRY(mrc_alloc(&copy.start, rows->n + more->n + 1, sizeof *copy.start, err));
    MRC_TRY(mrc_alloc2_raw(&copy.column, entries, 1, sizeof *copy.column, err));
    MRC_TRY(mrc_alloc2_raw(&copy.value, entries, 1, sizeof *copy.value, err));
    for (int p = 0; p < 2; p++) {
        const mrc_csr *csr = &part[p]->csr;
        int64_t first = p ? rows->n : 0;
        size_t count = (size_t)mercer_rows_entries(part[p]);
        for (int64_t i = 0; i < part[p]->n; i++)
            copy.start[first + i + 1] = at + csr->start[i + 1];
        if (count > 0) {
            memcpy(copy.column + at, csr->column, count * sizeof *copy.column);
            memcpy(copy.value + at, csr->value, count * sizeof *copy.value);
        }
        at += (int64_t)count;
    }
    MRC_TRY(mrc_rows_adopt_csr(&copy, rows->n + more->n, rows->d, out, err));
out:
    mrc_csr_owned_destroy(&copy);
    return rc;
}

mercer_status mrc_rows_append(mercer_rows **rows, const mercer_rows *more, mercer_error *err)
{
    mercer_rows *joined = NULL;
    double *copy = NULL;
    mercer_status rc = MERCER_OK;
    if (!*rows)
        return mrc_rows_take(more, NULL, more->n, rows, err);
    int64_t n = (*rows)->n, d = (*rows)->d;
    if (mercer_rows_is_sparse(more)) {
        MRC_TRY(append_csr(*rows, more, &joined, err));
    } else {
        MRC_TRY(mrc_alloc2_raw(&copy, n + more->n, d, sizeof *copy, err));
        mercer_rows_copy(*rows, 0, n, copy);
        mercer_rows_copy(more, 0, more->n, copy + n * d);
        MRC_TRY(mrc_rows_adopt(MRC_F64, copy, n + more->n, d, &joined, err));
        copy = NULL;
    }
    mercer_rows_free(*rows);
    *rows = joined;
out:
    mrc_free(copy);
    return rc;
}

mercer_status mrc_rows_widen(const mercer_rows *rows, mercer_rows **out, mercer_error *err)
{
    double *copy = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(mrc_alloc2_raw(&copy, rows->n, rows->d, sizeof *copy, err));
    mercer_rows_copy(rows, 0, rows->n, copy);
    MRC_TRY(mrc_rows_adopt(MRC_F64, copy, rows->n, rows->d, out, err));
    copy = NULL;
out:
    mrc_free(copy);
    return rc;
}
