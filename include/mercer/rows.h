/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows (samples x columns) and targets: what a fit learns from. */
#ifndef MERCER_ROWS_H
#define MERCER_ROWS_H

#include <mercer/array.h>
#include <mercer/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mercer_rows mercer_rows;
typedef struct mercer_targets mercer_targets;

/* Rows from an array: x->shape[0] rows of x->shape[1] columns (rank 1: one column) of type
 * MERCER_F64, _F32 or _U8; others are MERCER_ERR_ARGUMENT. Floats and bytes stay what they are as
 * long as nothing changes them, in less memory; every computation is done in doubles, and its
 * results are those of the same numbers as doubles. Values must be finite: checked here,
 * MERCER_ERR_DATA names the first bad cell. The caller frees the view with mercer_rows_free().
 *
 * Not copied, but borrowed: arrays with stride[1] == 1 and stride[0] >= shape[1]. They must outlive
 * the view and stay as they are. All others (Fortran order, steps, overlapping or reversed rows,
 * addresses that are not aligned) are copied once; a copy that does not fit the memory budget of
 * ctx is MERCER_ERR_BUDGET. data points to the first value of the first row, also where strides are
 * negative; strides of which both are 0 mean packed, not one value again and again.
 *
 * x itself is borrowed for the call only. Its release function, unless NULL, is called with x->host
 * exactly once: before this function returns, if it fails or has made a copy; else by
 * mercer_rows_free(), on the thread that calls that. */
MERCER_API mercer_status mercer_rows_view(mercer_ctx *ctx, const mercer_array *x, mercer_rows **out,
                                          mercer_error *err);

/* Sparse rows (CSR), three arrays of rank 1: row i has the entries start[i] .. start[i + 1) - 1 of
 * column (counted from 0, increasing within a row) and value; start[0] is 0, start has one value
 * more than there are rows, column and value as many as there are entries, or more. `columns`: how
 * many columns the rows have. Start is MERCER_I64, column MERCER_I32, value MERCER_F64: borrowed
 * when they are packed, and copied else; MERCER_I32 starts, MERCER_I64 columns, MERCER_F32 and _U8
 * values are copied. They are checked here: MERCER_ERR_DATA names the first bad entry. Each of the
 * three is released as above, once. Everything that takes rows takes sparse ones, and none of it
 * makes them dense. */
MERCER_API mercer_status mercer_rows_view_csr(mercer_ctx *ctx, const mercer_array *start,
                                              const mercer_array *column, const mercer_array *value,
                                              int64_t columns, mercer_rows **out,
                                              mercer_error *err);

/* Whether the rows are sparse, and how many entries they store: n x d when they are not. */
MERCER_API int mercer_rows_is_sparse(const mercer_rows *rows);
MERCER_API int64_t mercer_rows_entries(const mercer_rows *rows);

/* Give the columns names (copied), d of them. */
MERCER_API mercer_status mercer_rows_set_names(mercer_rows *rows, const char *const *names,
                                               mercer_error *err);

MERCER_API int64_t mercer_rows_count(const mercer_rows *rows);
MERCER_API int64_t mercer_rows_columns(const mercer_rows *rows);

/* The name of a column, borrowed, or NULL when the columns have none. */
MERCER_API const char *mercer_rows_name(const mercer_rows *rows, int64_t column);

/* Copy rows [first, first + count) into out, count x d, row-major, tightly packed; zeroes included
 * when the rows are sparse. */
MERCER_API void mercer_rows_copy(const mercer_rows *rows, int64_t first, int64_t count,
                                 double *out);

MERCER_API void mercer_rows_free(mercer_rows *rows);

/* A checksum of the numbers, as data_hash of mercer_model_info has it: equal when these are the
 * rows that a model was fitted to. On MERCER_OK the caller frees *out with mercer_free(). */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_rows_checksum(const mercer_rows *rows,
                                                                  char **out, mercer_error *err);

/* Scaling. kinds: none, standard (mean 0, sd 1 by n), minmax (to [0,1]), norm (mean 0, length 1),
 * all three on columns; unit (length 1) and rowstandard (mean 0, sd 1), both on rows. Constant
 * columns and zero rows are only shifted. Sparse rows stay sparse: none, unit, and minmax of
 * columns whose minimum is 0 work, the rest is MERCER_ERR_DATA. On MERCER_OK *out holds a scaled
 * copy of the rows; the caller frees it. */
MERCER_API mercer_status mercer_rows_scale(mercer_ctx *ctx, const mercer_rows *rows,
                                           const char *kind, mercer_rows **out, mercer_error *err);

typedef enum mercer_target_kind {
    MERCER_TARGET_NONE = 0,
    MERCER_TARGET_CLASSES = 1, /* one class per row */
    MERCER_TARGET_VALUES = 2,  /* one or more real values per row */
} mercer_target_kind;

/* Targets of n rows from arrays, which are copied. Classes: codes index class_names, of which there
 * are `classes`; name is that of the label column, or NULL. Values: n x columns, row-major, tightly
 * packed and finite; names of the columns, or NULL. MERCER_ERR_DATA names the first row that cannot
 * be. The caller frees *out with mercer_targets_free(), which accepts NULL. */
MERCER_API mercer_status mercer_targets_new_classes(const int64_t *codes, int64_t n,
                                                    const char *const *class_names, int64_t classes,
                                                    const char *name, mercer_targets **out,
                                                    mercer_error *err);
MERCER_API mercer_status mercer_targets_new_values(const double *values, int64_t n, int64_t columns,
                                                   const char *const *names, mercer_targets **out,
                                                   mercer_error *err);
MERCER_API void mercer_targets_free(mercer_targets *targets);

MERCER_API mercer_target_kind mercer_targets_kind(const mercer_targets *targets);
/* Classes: the number of names, a name, and per row the index of its name. All borrowed. */
MERCER_API int64_t mercer_targets_classes(const mercer_targets *targets);
MERCER_API const char *mercer_targets_class_name(const mercer_targets *targets, int64_t index);
MERCER_API const int64_t *mercer_targets_codes(const mercer_targets *targets);
/* Values: rows x columns, row-major, tightly packed, borrowed. */
MERCER_API int64_t mercer_targets_columns(const mercer_targets *targets);
MERCER_API const double *mercer_targets_values(const mercer_targets *targets);
/* The name of the label column (column 0) or of a target column; NULL when unnamed. */
MERCER_API const char *mercer_targets_name(const mercer_targets *targets, int64_t column);

#ifdef __cplusplus
}
#endif
#endif
