/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows, targets and tables: the objects themselves, without files.
 *
 * Rows are n x d numbers, row-major with a stride, as doubles or packed (floats, bytes), or sparse
 * (CSR). They either borrow the caller's memory (a view, whose values are checked once; those of a
 * host are made in view.c) or own what a reader has filled (adopted, already checked).
 */
#include "data/rows.h"

#include "base/number.h"
#include "data/prepare.h"

#include <math.h>
#include <string.h>

void mrc_free_names(char **names, int64_t count)
{
    if (!names)
        return;
    for (int64_t i = 0; i < count; i++)
        mrc_free(names[i]);
    mrc_free(names);
}

mercer_status mrc_copy_names(char ***out, char *const *names, int64_t count, mercer_error *err)
{
    char **copy = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!names)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&copy, count, sizeof *copy, err));
    for (int64_t i = 0; i < count; i++)
        MRC_TRY(mrc_strdup(&copy[i], names[i], err));
    *out = copy;
    copy = NULL;
out:
    mrc_free_names(copy, count);
    return rc;
}

int64_t mrc_first_not_finite(const double *x, int64_t count)
{
    enum { CHUNK = 256 }; /* small enough to stay in the nearest cache for the second look */
    for (int64_t start = 0; start < count; start += CHUNK) {
        int64_t length = count - start < CHUNK ? count - start : CHUNK;
        double zero = 0; /* x - x is 0 for a finite x and NaN else; this loop is vectorised */
        for (int64_t i = 0; i < length; i++)
            zero += x[start + i] - x[start + i];
        if (zero == 0)
            continue;
        for (int64_t i = 0; i < length; i++)
            if (!isfinite(x[start + i]))
                return start + i;
    }
    return -1;
}

size_t mrc_dtype_bytes(mrc_dtype dtype)
{
    return dtype == MRC_F64 ? sizeof(double) : dtype == MRC_F32 ? sizeof(float) : 1;
}

void mrc_unpack(mrc_dtype dtype, const void *from, int64_t first, int64_t count, double *out)
{
    if (dtype == MRC_F64)
        memcpy(out, (const double *)from + first, (size_t)count * sizeof *out);
    for (int64_t k = 0; dtype == MRC_F32 && k < count; k++)
        out[k] = (double)((const float *)from)[first + k];
    for (int64_t k = 0; dtype == MRC_U8 && k < count; k++)
        out[k] = ((const uint8_t *)from)[first + k];
}

void mrc_pack(mrc_dtype dtype, const double *x, int64_t count, void *to, int64_t first)
{
    if (dtype == MRC_F64)
        memcpy((double *)to + first, x, (size_t)count * sizeof *x);
    for (int64_t k = 0; dtype == MRC_F32 && k < count; k++)
        ((float *)to)[first + k] = (float)x[k];
    for (int64_t k = 0; dtype == MRC_U8 && k < count; k++)
        ((uint8_t *)to)[first + k] = (uint8_t)x[k];
}

int64_t mrc_first_not_finite_of(mrc_dtype dtype, const void *x, int64_t first, int64_t count)
{
    enum { PART = 256 }; /* unpacked at a time */
    double part[PART];
    for (int64_t k = 0; k < count; k += PART) {
        int64_t length = count - k < PART ? count - k : PART;
        mrc_unpack(dtype, x, first + k, length, part);
        int64_t bad = mrc_first_not_finite(part, length);
        if (bad >= 0)
            return k + bad;
    }
    return -1;
}

mercer_status mrc_rows_view(mrc_dtype dtype, const void *x, int64_t n, int64_t d, int64_t ld,
                            mercer_rows **out, mercer_error *err)
{
    return mrc_rows_view_from(dtype, x, n, d, ld, 0, out, err);
}

mercer_status mrc_rows_view_from(mrc_dtype dtype, const void *x, int64_t n, int64_t d, int64_t ld,
                                 int64_t first, mercer_rows **out, mercer_error *err)
{
    mercer_rows *rows = NULL;
    size_t bytes;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!x || n < 0 || d < 0 || ld < d)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "rows: %lld x %lld values with a stride of %lld cannot be viewed", (long long)n,
                 (long long)d, (long long)ld);
    if (n == 0 || d == 0)
        MRC_FAIL(err, MERCER_ERR_DATA, "rows: there are no %s", n == 0 ? "rows" : "columns");
    MRC_TRY(mrc_size_mul(n, ld, &bytes, err));
    MRC_TRY(mrc_size_mul((int64_t)bytes, sizeof(double), &bytes, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t bad = mrc_first_not_finite_of(dtype, x, i * ld, d);
        if (bad >= 0) {
            char number[MRC_NUMBER_SIZE];
            double value;
            mrc_unpack(dtype, x, i * ld + bad, 1, &value);
            mrc_format_double(value, number);
            MRC_FAIL_AT(err, MERCER_ERR_DATA,
                        MRC_AT(.row = first + i + 1, .column_number = bad + 1),
                        "row %lld, column %lld: %s is not finite", (long long)(first + i + 1),
                        (long long)bad + 1, number);
        }
    }
    MRC_TRY(mrc_rows_adopt(dtype, (void *)(uintptr_t)x, n, d, &rows, err));
    rows->owned = NULL;
    rows->ld = ld;
    *out = rows;
out:
    return rc;
}

mercer_status mrc_rows_adopt(mrc_dtype dtype, void *x, int64_t n, int64_t d, mercer_rows **out,
                             mercer_error *err)
{
    mercer_rows *rows;
    *out = NULL;
    mercer_status rc = mrc_alloc(&rows, 1, sizeof *rows, err);
    if (rc != MERCER_OK)
        return rc;
    *rows = (mercer_rows){.n = n, .d = d, .ld = d, .dtype = dtype, .owned = x};
    if (dtype == MRC_F64)
        rows->x = x;
    else
        rows->packed = x;
    *out = rows;
    return MERCER_OK;
}

static bool is_sparse(const mercer_rows *rows)
{
    return rows->csr.start != NULL;
}

mercer_status mrc_csr_check(const mrc_csr *csr, int64_t n, int64_t d, const char *what,
                            mercer_error *err)
{
    return mrc_csr_check_from(csr, n, d, 0, what, err);
}

mercer_status mrc_csr_check_from(const mrc_csr *csr, int64_t n, int64_t d, int64_t first,
                                 const char *what, mercer_error *err)
{
    if (csr->start[0] != 0)
        return mrc_fail(err, MERCER_ERR_DATA, "%s: the entries of row %lld start at %lld, not 0",
                        what, (long long)first + 1, (long long)csr->start[0]);
    for (int64_t i = 0; i < n; i++) {
        if (csr->start[i + 1] < csr->start[i])
            return mrc_fail_at(err, MERCER_ERR_DATA, MRC_AT(.row = first + i + 1),
                               "%s: row %lld ends before it starts", what,
                               (long long)(first + i + 1));
        for (int64_t k = csr->start[i]; k < csr->start[i + 1]; k++) {
            if (csr->column[k] < 0 || csr->column[k] >= d)
                return mrc_fail_at(
                    err, MERCER_ERR_DATA,
                    MRC_AT(.row = first + i + 1, .column_number = csr->column[k] + 1),
                    "%s: row %lld has an entry in column %lld, and there are %lld", what,
                    (long long)(first + i + 1), (long long)csr->column[k] + 1, (long long)d);
            if (k > csr->start[i] && csr->column[k] <= csr->column[k - 1])
                return mrc_fail_at(
                    err, MERCER_ERR_DATA,
                    MRC_AT(.row = first + i + 1, .column_number = csr->column[k] + 1),
                    "%s: row %lld: column %lld does not come after column %lld", what,
                    (long long)(first + i + 1), (long long)csr->column[k] + 1,
                    (long long)csr->column[k - 1] + 1);
            if (!isfinite(csr->value[k])) {
                char number[MRC_NUMBER_SIZE];
                mrc_format_double(csr->value[k], number);
                return mrc_fail_at(
                    err, MERCER_ERR_DATA,
                    MRC_AT(.row = first + i + 1, .column_number = csr->column[k] + 1),
                    "%s: row %lld, column %lld: %s is not finite", what, (long long)(first + i + 1),
                    (long long)csr->column[k] + 1, number);
            }
        }
    }
    return MERCER_OK;
}

mercer_status mrc_rows_adopt_csr(mrc_csr_owned *csr, int64_t n, int64_t d, mercer_rows **out,
                                 mercer_error *err)
{
    mercer_rows *rows;
    *out = NULL;
    mercer_status rc = mrc_alloc(&rows, 1, sizeof *rows, err);
    if (rc != MERCER_OK)
        return rc;
    *rows = (mercer_rows){
        .n = n, .d = d, .csr = {csr->start, csr->column, csr->value}, .owned_csr = *csr};
    *csr = (mrc_csr_owned){0};
    *out = rows;
    return MERCER_OK;
}

void mrc_csr_owned_destroy(mrc_csr_owned *csr)
{
    mrc_free(csr->start);
    mrc_free(csr->column);
    mrc_free(csr->value);
    *csr = (mrc_csr_owned){0};
}

int mercer_rows_is_sparse(const mercer_rows *rows)
{
    if (!rows)
        return 0;
    return is_sparse(rows);
}

int64_t mercer_rows_entries(const mercer_rows *rows)
{
    if (!rows)
        return 0;
    return is_sparse(rows) ? rows->csr.start[rows->n] : rows->n * rows->d;
}

double mrc_rows_largest(const mercer_rows *rows, int64_t first, int64_t count, int64_t *column)
{
    double largest = 0;
    *column = 0;
    for (int64_t i = first; i < first + count; i++) {
        int64_t begin = is_sparse(rows) ? rows->csr.start[i] : 0;
        int64_t end = is_sparse(rows) ? rows->csr.start[i + 1] : rows->d;
        for (int64_t k = begin; k < end; k++) {
            double value = is_sparse(rows) ? rows->csr.value[k] : mrc_rows_at(rows, i, k);
            if (fabs(value) > fabs(largest)) {
                largest = value;
                *column = is_sparse(rows) ? rows->csr.column[k] : k;
            }
        }
    }
    return largest;
}

double mrc_rows_bytes(const mercer_rows *rows)
{
    size_t one = mrc_dtype_bytes(rows->dtype) + (is_sparse(rows) ? sizeof *rows->csr.column : 0);
    return (double)mercer_rows_entries(rows) * (double)one;
}

mercer_status mercer_rows_set_names(mercer_rows *rows, const char *const *names, mercer_error *err)
{
    MRC_NEED(rows);
    char **copy = NULL;
    for (int64_t i = 0; names && i < rows->d; i++)
        if (!names[i])
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "column %lld has no name", (long long)i + 1);
    /* The cast drops a const that mrc_copy_names, which only reads, puts back elsewhere. */
    mercer_status rc = mrc_copy_names(&copy, (char *const *)names, rows->d, err);
    if (rc != MERCER_OK)
        return rc;
    mrc_free_names(rows->names, rows->d);
    rows->names = copy;
    return MERCER_OK;
}

int64_t mercer_rows_count(const mercer_rows *rows)
{
    if (!rows)
        return 0;
    return rows->n;
}

int64_t mercer_rows_columns(const mercer_rows *rows)
{
    if (!rows)
        return 0;
    return rows->d;
}

const char *mercer_rows_name(const mercer_rows *rows, int64_t column)
{
    if (!rows)
        return NULL;
    return rows->names && column >= 0 && column < rows->d ? rows->names[column] : NULL;
}

int64_t mrc_rows_find(const mercer_rows *rows, const char *name)
{
    for (int64_t i = 0; rows->names && i < rows->d; i++)
        if (strcmp(rows->names[i], name) == 0)
            return i;
    return -1;
}

const double *mrc_rows_line(const mercer_rows *rows, int64_t i, double *scratch)
{
    if (rows->x)
        return rows->x + i * rows->ld;
    mrc_unpack(rows->dtype, rows->packed, i * rows->ld, rows->d, scratch);
    return scratch;
}

void mercer_rows_copy(const mercer_rows *rows, int64_t first, int64_t count, double *out)
{
    if (!rows || !out)
        return;
    for (int64_t i = 0; i < count; i++) {
        double *to = out + i * rows->d;
        if (!is_sparse(rows)) {
            mrc_unpack(rows->dtype, rows->x ? rows->x : rows->packed, (first + i) * rows->ld,
                       rows->d, to);
            continue;
        }
        memset(to, 0, (size_t)rows->d * sizeof *to);
        for (int64_t k = rows->csr.start[first + i]; k < rows->csr.start[first + i + 1]; k++)
            to[rows->csr.column[k]] = rows->csr.value[k];
    }
}

void mercer_rows_free(mercer_rows *rows)
{
    if (!rows)
        return;
    mrc_free_names(rows->names, rows->d);
    mrc_free(rows->owned);
    mrc_csr_owned_destroy(&rows->owned_csr);
    mrc_prepare_free(rows->prepare);
    mrc_free(rows->place);
    mrc_free(rows->gaps);
    for (size_t k = 0; k < sizeof rows->given / sizeof *rows->given; k++)
        if (rows->given[k].release)
            rows->given[k].release(rows->given[k].host);
    mrc_free(rows);
}

mercer_target_kind mercer_targets_kind(const mercer_targets *targets)
{
    return targets ? targets->kind : MERCER_TARGET_NONE;
}

int64_t mercer_targets_classes(const mercer_targets *targets)
{
    if (!targets)
        return 0;
    return targets->classes;
}

const char *mercer_targets_class_name(const mercer_targets *targets, int64_t index)
{
    if (!targets)
        return NULL;
    return index >= 0 && index < targets->classes ? targets->class_names[index] : NULL;
}

const int64_t *mercer_targets_codes(const mercer_targets *targets)
{
    if (!targets)
        return NULL;
    return targets->codes;
}

int64_t mercer_targets_columns(const mercer_targets *targets)
{
    if (!targets)
        return 0;
    return targets->columns;
}

const double *mercer_targets_values(const mercer_targets *targets)
{
    if (!targets)
        return NULL;
    return targets->values;
}

/* How many names targets have: one for classes, one per column for values. */
static int64_t target_names(const mercer_targets *targets)
{
    return targets->kind == MERCER_TARGET_CLASSES ? 1 : targets->columns;
}

const char *mercer_targets_name(const mercer_targets *targets, int64_t column)
{
    if (!targets)
        return NULL;
    bool inside = targets->names && column >= 0 && column < target_names(targets);
    return inside ? targets->names[column] : NULL;
}

void mrc_targets_destroy(mercer_targets *targets)
{
    mrc_free_names(targets->names, target_names(targets));
    mrc_free_names(targets->class_names, targets->classes);
    mrc_free(targets->codes);
    mrc_free(targets->values);
    *targets = (mercer_targets){0};
}

const mercer_rows *mercer_table_rows(const mercer_table *table)
{
    if (!table)
        return NULL;
    return table->rows;
}

const mercer_targets *mercer_table_targets(const mercer_table *table)
{
    if (!table)
        return NULL;
    return &table->targets;
}

const char *mercer_table_target_origin(const mercer_table *table)
{
    if (!table)
        return NULL;
    return table->origin;
}

void mrc_row_texts_destroy(mrc_row_texts *texts)
{
    mrc_free(texts->bytes);
    mrc_free(texts->end);
    *texts = (mrc_row_texts){0};
}

const char *mrc_row_text(const mrc_row_texts *texts, int64_t row)
{
    return texts->bytes + (row > 0 ? texts->end[row - 1] : 0);
}

void mercer_table_free(mercer_table *table)
{
    if (!table)
        return;
    mercer_rows_free(table->rows);
    mrc_targets_destroy(&table->targets);
    mrc_free(table->origin);
    mrc_row_texts_destroy(&table->ids);
    mrc_row_texts_destroy(&table->groups);
    mrc_free(table->id_name);
    mrc_free(table);
}

const char *mercer_table_id(const mercer_table *table, int64_t row)
{
    if (!table || !table->ids.bytes || row < 0 || row >= table->rows->n)
        return NULL;
    return mrc_row_text(&table->ids, row);
}

const char *mercer_table_id_name(const mercer_table *table)
{
    return table ? table->id_name : NULL;
}
