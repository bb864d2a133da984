/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rows are held out: folds drawn at random, the same share of every class in each. */
#ifndef MRC_EVAL_FOLDS_H
#define MRC_EVAL_FOLDS_H

#include "base/ctx.h"
#include "base/memory.h"

typedef struct mrc_folds {
    int64_t n;     /* rows */
    int64_t count; /* folds, those of all repeats */
    int64_t *start;
    int64_t *rows; /* held out by fold f, increasing: rows[start[f]] to rows[start[f + 1] - 1] */
} mrc_folds;

/* k folds of n rows, drawn `repeats` times: every row is held out once a time, fold sizes differ by
 * one at most. codes (or NULL) are classes below `classes`, whose rows are dealt out in turn, so
 * that their numbers in two folds of a repeat differ by one at most. k = n leaves one row out.
 * MERCER_ERR_DATA when there are fewer rows than folds. Draws from the random state of ctx. */
mercer_status mrc_folds_draw(mercer_ctx *ctx, int64_t n, const int64_t *codes, int64_t classes,
                             int64_t k, int64_t repeats, mrc_folds *out, mercer_error *err);
void mrc_folds_destroy(mrc_folds *folds);

/* The rows that fold f leaves to learn from, increasing, into rows (n - held out); returns how
 * many.
 */
int64_t mrc_folds_rest(const mrc_folds *folds, int64_t f, int64_t *rows);

#endif
