/* SPDX-License-Identifier: BSD-3-Clause */
/* Portions of rows: copies, so that a fit to one of them can reach no other row. */
#include "eval/fold_rows.h"

#include "base/order.h"

#include <string.h>

void mrc_fold_rows_destroy(mrc_fold_rows *portion)
{
    mercer_rows_free(portion->rows);
    mercer_targets_free(portion->targets);
    mrc_free(portion->self);
    mrc_free(portion->groups);
    memset(portion, 0, sizeof *portion);
}

static mercer_status take(const mercer_rows *rows, const mercer_targets *targets,
                          const int64_t *columns, int64_t columns_count, const int64_t *which,
                          int64_t count, mrc_fold_rows *out, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(columns
                ? mrc_rows_take_block(rows, which, count, columns, columns_count, &out->rows, err)
                : mrc_rows_take(rows, which, count, &out->rows, err));
    if (targets)
        MRC_TRY(mrc_targets_take(targets, which, count, &out->targets, err));
out:
    return rc;
}

mercer_status mrc_fold_rows_take(const mercer_rows *rows, const mercer_targets *targets,
                                 const int64_t *groups, bool precomputed, const mrc_split *split,
                                 mrc_fold_rows *train, mrc_fold_rows *test, mercer_error *err)
{
    const int64_t *columns = precomputed ? split->learn : NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(take(rows, targets, columns, split->learn_count, split->learn, split->learn_count,
                 train, err));
    MRC_TRY(take(rows, targets, columns, split->learn_count, split->held, split->held_count, test,
                 err));
    if (groups)
        MRC_TRY(mrc_groups_take(groups, rows->n, split->learn, split->learn_count, &train->groups,
                                err));
    if (!precomputed)
        MRC_TRY(mrc_gaps_refill(train->rows, test->rows, err));
    if (precomputed) {
        MRC_TRY(mrc_alloc(&test->self, split->held_count, sizeof *test->self, err));
        mrc_rows_take_diagonal(rows, split->held, split->held_count, test->self);
    }
out:
    return rc;
}

mercer_status mrc_pair_cache_init(mrc_pair_cache *known, mercer_ctx *ctx, const mercer_rows *rows,
                                  mrc_scale_kind scale, const mrc_split *split,
                                  const bool wanted[MRC_TERMS], mercer_error *err)
{
    mrc_scale learnt = {0};
    mercer_rows *learn = NULL;
    mercer_status rc = MERCER_OK;
    memset(known, 0, sizeof *known);
    if (scale != MRC_SCALE_NONE) {
        MRC_TRY(mrc_rows_take(rows, split->learn, split->learn_count, &learn, err));
        MRC_TRY(mrc_scale_fit(&learnt, scale, learn, err));
        MRC_TRY(mrc_scale_rows(&learnt, rows, &known->scaled, err));
        rows = known->scaled;
    }
    MRC_TRY(mrc_pairs_init(&known->pairs, ctx, rows, wanted, err));
    known->rows = *rows;
    known->rows.pairs = &known->pairs;
    MRC_TRY(mrc_alloc(&known->rows.place, rows->n, sizeof *known->rows.place, err));
    for (int64_t i = 0; i < rows->n; i++)
        known->rows.place[i] = i;
out:
    mrc_scale_destroy(&learnt);
    mercer_rows_free(learn);
    return rc;
}

void mrc_pair_cache_destroy(mrc_pair_cache *known)
{
    if (known->rows.pairs)
        mrc_free(known->rows.place);
    mrc_pairs_destroy(&known->pairs);
    mercer_rows_free(known->scaled);
    memset(known, 0, sizeof *known);
}
