/* SPDX-License-Identifier: BSD-3-Clause */
/* Views: rows made of the arrays of a host.
 *
 * Doubles, floats and bytes whose rows lie as ours do (values of a row side by side, rows apart by
 * a stride that leaves room for them) are borrowed. All else is copied once, in its own type and
 * within the memory budget: columns side by side (Fortran order), steps, rows that overlap,
 * addresses that are not those of their type; of sparse rows starts of 32 bits, columns of 64 bits,
 * values that are not doubles.
 *
 * A release function is called once, whatever happens: at once when the call fails or its array
 * was copied, else when the rows are freed.
 */
#include "base/params.h"
#include "data/budget.h"
#include "data/rows.h"

#include <string.h>

MRC_VERSIONED(array, )

static const char *dtype_name(mercer_dtype dtype)
{
    static const char *const names[] = {"float64", "float32", "uint8", "int64", "int32"};
    return (unsigned)dtype < sizeof names / sizeof *names ? names[dtype] : "an unknown type";
}

static size_t dtype_bytes(mercer_dtype dtype)
{
    return dtype == MERCER_U8 ? 1 : dtype == MERCER_F32 || dtype == MERCER_I32 ? 4 : 8;
}

/* The host gets its array back, the first time that this is called. */
static void give_back(mercer_array *array)
{
    if (array->release)
        array->release(array->host);
    array->release = NULL;
}

/* A copy of a caller's array, as much of it as the caller knows. Whatever fails from here on, its
 * release function is called by give_back(). */
static mercer_status import(const char *what, const mercer_array *given, mercer_array *out,
                            mercer_error *err)
{
    size_t known = 0;
    if (!given)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: the array is NULL", what);
    memcpy(&known, given, sizeof known);
    if (known < sizeof known)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: the array was not initialised", what);
    return mrc_options_import(what, given, out, sizeof *out, err);
}

/* Strides as they are used, or a refusal of what no array in memory can be. */
static mercer_status check_shape(const char *what, int rank, mercer_array *a, mercer_error *err)
{
    size_t span[2], values;
    if (a->rank != rank && !(rank == 2 && a->rank == 1))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: an array of rank %d, not %d", what, a->rank,
                        rank);
    if (a->rank == 1) {
        a->shape[1] = 1;
        a->stride[1] = a->stride[0] ? 1 : 0;
    }
    if (!a->data || a->shape[0] < 0 || a->shape[1] < 0 || a->stride[0] == INT64_MIN ||
        a->stride[1] == INT64_MIN)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "%s: %s%lld x %lld values with strides of %lld and %lld cannot be viewed",
                        what, a->data ? "" : "no data: ", (long long)a->shape[0],
                        (long long)a->shape[1], (long long)a->stride[0], (long long)a->stride[1]);
    if (a->stride[0] == 0 && a->stride[1] == 0) {
        a->stride[0] = a->shape[1];
        a->stride[1] = 1;
    }
    /* The stride of an axis of one value means nothing, and hosts put anything there. */
    if (a->shape[1] == 1)
        a->stride[1] = 1;
    if (a->shape[0] == 1)
        a->stride[0] = a->shape[1];
    for (int k = 0; k < 2; k++) {
        int64_t step = a->stride[k] < 0 ? -a->stride[k] : a->stride[k];
        mercer_status rc = mrc_size_mul(a->shape[k], step, &span[k], err);
        if (rc != MERCER_OK)
            return rc;
    }
    mercer_status rc = mrc_size_mul((int64_t)(span[0] / 2 + span[1] / 2 + 1),
                                    2 * (int64_t)dtype_bytes(a->dtype), &values, err);
    return rc;
}

mercer_status mrc_array_import(const char *what, const mercer_array *given, mercer_array *out,
                               mercer_error *err)
{
    mercer_status rc = import(what, given, out, err);
    return rc == MERCER_OK ? check_shape(what, 2, out, err) : rc;
}

/* Whether it can be read where it lies: rows that do not overlap, of values side by side, at an
 * address of their type. */
static bool lies_as_rows(const mercer_array *a)
{
    return a->stride[1] == 1 && a->stride[0] >= a->shape[1] &&
           (uintptr_t)a->data % dtype_bytes(a->dtype) == 0;
}

/* A packed copy in the type of the array, from mrc_alloc2. */
static mercer_status copy_packed(const mercer_ctx *ctx, const char *what, const mercer_array *a,
                                 void **out, mercer_error *err)
{
    enum { BAND = 32 }; /* rows at a time: columns side by side are read by whole cache lines */
    char *name = (char *)(uintptr_t)what, *to = NULL;
    mrc_budget budget = {.shown = &name, .most = mercer_ctx_memory(ctx)};
    int64_t n = a->shape[0], d = a->shape[1];
    size_t size = dtype_bytes(a->dtype), values;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_size_mul(n, d, &values, err));
    MRC_TRY(mrc_budget_take(&budget, (int64_t)values, (int64_t)size, "a copy", err));
    MRC_TRY(mrc_alloc2_raw(&to, n, d, size, err));
    for (int64_t band = 0; band < n; band += BAND)
        for (int64_t j = 0; j < d; j++)
            for (int64_t i = band; i < n && i < band + BAND; i++) {
                int64_t at = i * a->stride[0] + j * a->stride[1];
                memcpy(to + (size_t)(i * d + j) * size, (const char *)a->data + at * (int64_t)size,
                       size);
            }
    *out = to;
out:
    return rc;
}

/* A rank has the rows that are dealt to it, no others. */
static mercer_status check_part(const mercer_ctx *ctx, int64_t n, int64_t total, mercer_error *err)
{
    const mercer_comm *comm = &ctx->comm.table;
    if (total < 1)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "rows: a part of a table without rows");
    mrc_span span = mrc_span_of_rank(total, comm->rank, comm->size);
    if (n == span.n)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_ARGUMENT,
                    "rows: rank %d of %d has %lld of %lld rows, and its part are the %lld from row "
                    "%lld on (mercer_ctx_part)",
                    comm->rank, comm->size, (long long)n, (long long)total, (long long)span.n,
                    (long long)span.first + 1);
}

/* Rows of an array; total > 0: rows [first, ...) of as many, of which there may be none here. */
static mercer_status view_rows(mercer_ctx *ctx, const mercer_array *x, int64_t first, int64_t total,
                               mercer_rows **out, mercer_error *err)
{
    mercer_array a = {0};
    mercer_rows *rows = NULL;
    void *copy = NULL;
    mercer_status rc = MERCER_OK;
    if (out)
        *out = NULL;
    MRC_TRY(import("rows", x, &a, err));
    if (!ctx || !out)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "mercer_rows_view: %s is NULL", ctx ? "out" : "ctx");
    if (a.dtype != MERCER_F64 && a.dtype != MERCER_F32 && a.dtype != MERCER_U8)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "rows: values are %s, not float64, float32 or uint8",
                 dtype_name(a.dtype));
    MRC_TRY(check_shape("rows", 2, &a, err));
    if (total != 0)
        MRC_TRY(check_part(ctx, a.shape[0], total, err));
    if (!lies_as_rows(&a) && a.shape[0] > 0 && a.shape[1] > 0) {
        MRC_TRY(copy_packed(ctx, "rows", &a, &copy, err));
        give_back(&a);
        a.data = copy;
        a.stride[0] = a.shape[1];
    }
    if (total > 0 && a.shape[0] == 0 && a.shape[1] > 0) {
        MRC_TRY(mrc_alloc2_raw(&copy, 0, a.shape[1], dtype_bytes(a.dtype), err));
        MRC_TRY(mrc_rows_adopt((mrc_dtype)a.dtype, copy, 0, a.shape[1], &rows, err));
    } else {
        MRC_TRY(mrc_rows_view_from((mrc_dtype)a.dtype, a.data, a.shape[0], a.shape[1], a.stride[0],
                                   first, &rows, err));
    }
    rows->first = first;
    rows->total = total;
    rows->owned = copy;
    rows->given[0] = (mrc_release){a.release, a.host};
    a.release = NULL;
    copy = NULL;
    *out = rows;
out:
    mrc_free(copy);
    give_back(&a);
    return rc;
}

mercer_status mercer_rows_view(mercer_ctx *ctx, const mercer_array *x, mercer_rows **out,
                               mercer_error *err)
{
    return view_rows(ctx, x, 0, 0, out, err);
}

/* The first row that a rank has of as many. */
static int64_t first_of(const mercer_ctx *ctx, int64_t total)
{
    if (!ctx || total < 1)
        return 0;
    return mrc_span_of_rank(total, ctx->comm.table.rank, ctx->comm.table.size).first;
}

mercer_status mercer_rows_view_part(mercer_ctx *ctx, const mercer_array *x, int64_t total,
                                    mercer_rows **out, mercer_error *err)
{
    return view_rows(ctx, x, first_of(ctx, total), total > 0 ? total : -1, out, err);
}

/* The values of a vector as doubles, or the integers as int64_t or int32_t, in *at: where they lie
 * when they lie so, else a copy, which *copy then is and the array's host gets back at once. */
static mercer_status take_vector(const mercer_ctx *ctx, const char *what, mercer_array *a,
                                 mercer_dtype wanted, const void **at, void **copy,
                                 mercer_error *err)
{
    int64_t n = a->shape[0];
    size_t size = dtype_bytes(wanted);
    char *to = NULL;
    void *own = NULL;
    mercer_status rc = MERCER_OK;
    *at = a->data;
    if (a->dtype == wanted && lies_as_rows(a) && (n < 2 || a->stride[0] == 1))
        return MERCER_OK;
    MRC_TRY(copy_packed(ctx, what, a, &own, err));
    if (a->dtype != wanted) {
        MRC_TRY(mrc_alloc2_raw(&to, n, 1, size, err));
        if (wanted == MERCER_F64)
            mrc_unpack((mrc_dtype)a->dtype, own, 0, n, (double *)(void *)to);
        for (int64_t i = 0; wanted == MERCER_I64 && i < n; i++)
            ((int64_t *)(void *)to)[i] = ((const int32_t *)own)[i];
        for (int64_t i = 0; wanted == MERCER_I32 && i < n; i++) {
            int64_t value = ((const int64_t *)own)[i];
            if (value < 0 || value >= INT32_MAX)
                MRC_FAIL(err, MERCER_ERR_DATA, "%s: entry %lld is in column %lld", what,
                         (long long)i + 1, (long long)value);
            ((int32_t *)(void *)to)[i] = (int32_t)value;
        }
        mrc_free(own);
        own = to;
        to = NULL;
    }
    give_back(a);
    *at = *copy = own;
    own = NULL;
out:
    mrc_free(own);
    mrc_free(to);
    return rc;
}

static mercer_status view_csr(mercer_ctx *ctx, const mercer_array *start,
                              const mercer_array *column, const mercer_array *value,
                              int64_t columns, int64_t first, int64_t total, mercer_rows **out,
                              mercer_error *err)
{
    enum { START, COLUMN, VALUE, PARTS };
    static const char *const names[] = {"starts of rows", "columns of entries",
                                        "values of entries"};
    static const mercer_dtype wanted[] = {MERCER_I64, MERCER_I32, MERCER_F64};
    const mercer_array *const given[] = {start, column, value};
    mercer_array a[PARTS] = {{0}};
    void *copy[PARTS] = {NULL};
    const void *at[PARTS] = {NULL};
    mercer_rows *rows = NULL;
    mercer_status rc = MERCER_OK, known = MERCER_OK;
    if (out)
        *out = NULL;
    for (int k = 0; k < PARTS; k++) { /* all three, because all three are given back */
        mercer_status one = import(names[k], given[k], &a[k], known == MERCER_OK ? err : NULL);
        known = known == MERCER_OK ? one : known;
    }
    MRC_TRY(known);
    if (!ctx || !out)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "mercer_rows_view_csr: %s is NULL", ctx ? "out" : "ctx");
    for (int k = 0; k < PARTS; k++) {
        bool whole = a[k].dtype == MERCER_I64 || a[k].dtype == MERCER_I32;
        bool real = a[k].dtype == MERCER_F64 || a[k].dtype == MERCER_F32 || a[k].dtype == MERCER_U8;
        if (k == VALUE ? !real : !whole)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: they are %s, not %s", names[k],
                     dtype_name(a[k].dtype),
                     k == VALUE ? "float64, float32 or uint8" : "int64 or int32");
        if (k != START && !a[k].data && a[k].shape[0] == 0)
            a[k].data = ""; /* rows without entries have none to point to */
        MRC_TRY(check_shape(names[k], 1, &a[k], err));
    }
    int64_t n = a[START].shape[0] - 1, entries = a[COLUMN].shape[0];
    if (n < 0 || columns < 0 || columns > INT32_MAX)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "rows: %lld x %lld sparse values cannot be viewed",
                 (long long)n, (long long)columns);
    if (total != 0)
        MRC_TRY(check_part(ctx, n, total, err));
    if ((n == 0 && total == 0) || columns == 0)
        MRC_FAIL(err, MERCER_ERR_DATA, "rows: there are no %s", columns > 0 ? "rows" : "columns");
    if (a[VALUE].shape[0] != entries)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "rows: %lld columns of entries, but %lld values",
                 (long long)entries, (long long)a[VALUE].shape[0]);
    for (int k = 0; k < PARTS; k++)
        MRC_TRY(take_vector(ctx, names[k], &a[k], wanted[k], &at[k], &copy[k], err));
    mrc_csr csr = {.start = at[START], .column = at[COLUMN], .value = at[VALUE]};
    for (int64_t i = 0; i < n; i++) /* before anything is read through them */
        if (csr.start[i + 1] > entries)
            MRC_FAIL(err, MERCER_ERR_DATA,
                     "rows: the entries of row %lld end at %lld, and there are %lld",
                     (long long)(first + i + 1), (long long)csr.start[i + 1], (long long)entries);
    MRC_TRY(mrc_csr_check_from(&csr, n, columns, first, "rows", err));
    MRC_TRY(mrc_alloc(&rows, 1, sizeof *rows, err));
    *rows = (mercer_rows){.n = n, .d = columns, .csr = csr, .first = first, .total = total};
    rows->owned_csr = (mrc_csr_owned){copy[START], copy[COLUMN], copy[VALUE]};
    for (int k = 0; k < PARTS; k++) {
        rows->given[k] = (mrc_release){a[k].release, a[k].host};
        a[k].release = NULL;
        copy[k] = NULL;
    }
    *out = rows;
out:
    for (int k = 0; k < PARTS; k++) {
        mrc_free(copy[k]);
        give_back(&a[k]);
    }
    return rc;
}

mercer_status mercer_rows_view_csr(mercer_ctx *ctx, const mercer_array *start,
                                   const mercer_array *column, const mercer_array *value,
                                   int64_t columns, mercer_rows **out, mercer_error *err)
{
    return view_csr(ctx, start, column, value, columns, 0, 0, out, err);
}

mercer_status mercer_rows_view_csr_part(mercer_ctx *ctx, const mercer_array *start,
                                        const mercer_array *column, const mercer_array *value,
                                        int64_t columns, int64_t total, mercer_rows **out,
                                        mercer_error *err)
{
    return view_csr(ctx, start, column, value, columns, first_of(ctx, total),
                    total > 0 ? total : -1, out, err);
}
