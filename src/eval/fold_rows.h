/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows to learn from and rows held out, as copies of their own. */
#ifndef MRC_EVAL_FOLD_ROWS_H
#define MRC_EVAL_FOLD_ROWS_H

#include "data/scale.h"
#include "kernel/pairs.h"

/* Some rows, with their targets where there are any. */
typedef struct mrc_fold_rows {
    mercer_rows *rows;
    mercer_targets *targets;
    double *self;    /* k(x,x) of rows held out, of a precomputed kernel; else NULL */
    int64_t *groups; /* that rows to learn from are of, for folds of them, from 0 on; else NULL */
} mrc_fold_rows;

void mrc_fold_rows_destroy(mrc_fold_rows *portion);

/* Which rows, both increasing. */
typedef struct mrc_split {
    const int64_t *learn, *held;
    int64_t learn_count, held_count;
} mrc_split;

/* Take both portions of rows; groups: of the rows, from 0 to rows - 1, or NULL. Of a precomputed
 * kernel, the matrix between rows to learn from, and the rows held out by those to learn from. To
 * be destroyed, also after an error. */
mercer_status mrc_fold_rows_take(const mercer_rows *rows, const mercer_targets *targets,
                                 const int64_t *groups, bool precomputed, const mrc_split *split,
                                 mrc_fold_rows *train, mrc_fold_rows *test, mercer_error *err);

/* Rows whose pairs are known, for kernels of many kinds and parts of the rows. */
typedef struct mrc_pair_cache {
    mercer_rows rows; /* a view, never to be freed */
    mrc_pairs pairs;
    mercer_rows *scaled; /* or NULL */
} mrc_pair_cache;

/* Know the wanted pairs of rows, scaled as the rows to learn from say: nothing else of the others
 * is looked at. Rows are borrowed. To be destroyed, also after an error. */
mercer_status mrc_pair_cache_init(mrc_pair_cache *known, mercer_ctx *ctx, const mercer_rows *rows,
                                  mrc_scale_kind scale, const mrc_split *split,
                                  const bool wanted[MRC_TERMS], mercer_error *err);
void mrc_pair_cache_destroy(mrc_pair_cache *known);

#endif
