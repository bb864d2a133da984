/* SPDX-License-Identifier: BSD-3-Clause */
/* Input scaling: fitted on training rows, kept in the model, applied to blocks of new rows. */
#ifndef MRC_DATA_SCALE_H
#define MRC_DATA_SCALE_H

#include "data/rows.h"

typedef enum mrc_scale_kind {
    MRC_SCALE_NONE,
    MRC_SCALE_STANDARD,
    MRC_SCALE_MINMAX,
    MRC_SCALE_NORM,
    MRC_SCALE_UNIT,
    MRC_SCALE_ROWSTANDARD,
    MRC_SCALE_ROBUST,
} mrc_scale_kind;

typedef struct mrc_scale {
    mrc_scale_kind kind;
    int64_t d;
    double *shift;  /* column kinds: x -> (x - shift) * factor; NULL for none and row kinds */
    double *factor; /* never zero: 1 for a constant column */
} mrc_scale;

/* Name of a kind, and back; MERCER_ERR_ARGUMENT lists the names. NULL means none. */
const char *mrc_scale_name(mrc_scale_kind kind);
mercer_status mrc_scale_parse(const char *name, mrc_scale_kind *out, mercer_error *err);

/* Learn shift and factor from rows (nothing to learn for none, unit, rowstandard). Of sparse rows
 * MERCER_ERR_DATA refuses every kind that would shift their zeroes: standard, norm, rowstandard,
 * and minmax when the minimum of some column is not 0. */
mercer_status mrc_scale_fit(mrc_scale *scale, mrc_scale_kind kind, const mercer_rows *rows,
                            mercer_error *err);
/* The same from all rows where they are spread over the ranks of ctx: not robust, whose quartiles
 * take all values of a column at once. */
mercer_status mrc_scale_fit_of_all(mrc_scale *scale, mrc_scale_kind kind, mercer_ctx *ctx,
                                   const mercer_rows *rows, mercer_error *err);
/* Smallest and largest value of each column of all dense rows, likewise; line: d numbers of
 * scratch.
 */
mercer_status mrc_rows_ranges(mercer_ctx *ctx, const mercer_rows *rows, double *least, double *most,
                              double *line, mercer_error *err);
/* Apply in place to count rows of x (ld >= d). */
void mrc_scale_apply(const mrc_scale *scale, double *x, int64_t count, int64_t ld);
/* New rows, scaled, sparse or dense as the given ones; names are left out. A scale that would shift
 * the zeroes of sparse rows is refused. */
mercer_status mrc_scale_rows(const mrc_scale *scale, const mercer_rows *rows, mercer_rows **out,
                             mercer_error *err);
/* Rows that own their numbers, each scaled on its own, that all agree to the rounding of the
 * scaling are made the same: multiples of one row, whose differences would else be learnt from. All
 * rows where they are spread over the ranks of ctx, which make this call together. given: the rows
 * before the scaling. */
mercer_status mrc_scale_join_equal(const mrc_scale *scale, mercer_ctx *ctx,
                                   const mercer_rows *given, mercer_rows *rows, mercer_error *err);
/* Undo a column scaling in place; row scalings cannot be undone: returns false, x unchanged. */
bool mrc_scale_undo(const mrc_scale *scale, double *x, int64_t count, int64_t ld);
/* Targets of the same rows with every column of values scaled; kind is none, standard or norm. */
mercer_status mrc_targets_scale(const mercer_targets *targets, mrc_scale_kind kind,
                                mercer_targets **out, mercer_error *err);
void mrc_scale_destroy(mrc_scale *scale);

#endif
