/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rows are held out: folds drawn at random, the same share of every class in each; whole
 * groups of rows; or later rows than those that are learnt from. */
#ifndef MRC_EVAL_FOLDS_H
#define MRC_EVAL_FOLDS_H

#include "base/ctx.h"
#include "base/memory.h"

/* What is to be cut into folds, all borrowed. */
typedef struct mrc_fold_plan {
    int64_t n;             /* rows */
    const int64_t *codes;  /* classes of the rows, below `classes`; or NULL */
    int64_t classes;       /* 0 without codes */
    const int64_t *groups; /* from 0 on: rows of a group stay together; or NULL */
    bool ordered;          /* learn only from earlier rows; without groups and repeats */
    int64_t count;         /* folds */
    int64_t repeats;       /* times that they are drawn */
} mrc_fold_plan;

typedef struct mrc_folds {
    int64_t n;     /* rows */
    int64_t count; /* folds, those of all repeats */
    int64_t *start;
    int64_t *rows; /* held out by fold f, increasing: rows[start[f]] to rows[start[f + 1] - 1] */
    bool ordered;  /* rows behind those held out are not learnt from */
} mrc_folds;

/* Folds of the rows, as planned; draws from the random state of ctx.
 * Each row is held out once per repeat, and fold sizes differ by one at most. Rows of a class are
 * dealt out in turn, so that their numbers in two folds of a repeat differ by one at most. A count
 * of n leaves one row out.
 * Groups: sizes and classes are as even as dealing out whole groups in turn makes them. The groups
 * are shuffled, those of twice the rows and more before others; each goes to the fold that has
 * least of its classes, then fewest rows.
 * Ordered: the last count * m rows, m = n / (count + 1), are held out in runs of m, each learnt for
 * from all rows before it; nothing is drawn.
 * MERCER_ERR_DATA when there are fewer rows or groups than folds. */
mercer_status mrc_folds_draw(mercer_ctx *ctx, const mrc_fold_plan *plan, mrc_folds *out,
                             mercer_error *err);
void mrc_folds_destroy(mrc_folds *folds);

/* The rows that fold f leaves to learn from, increasing, into rows (room for n); returns how many.
 */
int64_t mrc_folds_rest(const mrc_folds *folds, int64_t f, int64_t *rows);

/* How many different groups n rows have; *classes_in_two, unless NULL: how many classes have rows
 * in two groups at least. */
mercer_status mrc_groups_count(const mrc_fold_plan *plan, int64_t *count, int64_t *classes_in_two,
                               mercer_error *err);

#endif
