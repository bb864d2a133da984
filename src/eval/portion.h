/* Rows to learn from and rows held out, as copies of their own. */
#ifndef MRC_EVAL_PORTION_H
#define MRC_EVAL_PORTION_H

#include "data/scale.h"
#include "kernel/pairs.h"

/* Some rows, with their targets where there are any. */
typedef struct mrc_portion {
    mercer_rows *rows;
    mercer_targets *targets;
    double *self; /* k(x,x) of rows held out, of a precomputed kernel; else NULL */
} mrc_portion;

void mrc_portion_destroy(mrc_portion *portion);

/* Which rows, both increasing. */
typedef struct mrc_split {
    const int64_t *learn, *held;
    int64_t learn_count, held_count;
} mrc_split;

/* Take both portions of rows. Of a precomputed kernel, the matrix between rows to learn from, and
 * the rows held out by those to learn from. To be destroyed, also after an error. */
mercer_status mrc_portions_take(const mercer_rows *rows, const mercer_targets *targets,
                                bool precomputed, const mrc_split *split, mrc_portion *train,
                                mrc_portion *test, mercer_error *err);

/* Rows whose pairs are known, for kernels of many kinds and parts of the rows. */
typedef struct mrc_known_rows {
    mercer_rows rows; /* a view, never to be freed */
    mrc_pairs pairs;
    mercer_rows *scaled; /* or NULL */
} mrc_known_rows;

/* Know the wanted pairs of rows, scaled as the rows to learn from say: nothing else of the others
 * is looked at. Rows are borrowed. To be destroyed, also after an error. */
mercer_status mrc_known_rows_init(mrc_known_rows *known, mercer_ctx *ctx, const mercer_rows *rows,
                                  mrc_scale_kind scale, const mrc_split *split,
                                  const bool wanted[MRC_PAIR_SUMS], mercer_error *err);
void mrc_known_rows_destroy(mrc_known_rows *known);

#endif
