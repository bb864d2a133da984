/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds: rows are shuffled within their class and dealt out in turn, one class after the other
 * without starting anew, so that sizes and classes are both as even as they can be. */
#include "eval/folds.h"

#include <string.h>

/* All rows, shuffled, class after class. */
static void shuffle(mercer_ctx *ctx, int64_t n, const int64_t *codes, int64_t classes,
                    int64_t *order)
{
    int64_t filled = 0;
    for (int64_t c = 0; c < (codes ? classes : 1); c++) {
        int64_t first = filled;
        for (int64_t i = 0; i < n; i++)
            if (!codes || codes[i] == c)
                order[filled++] = i;
        mrc_rng_draw(&ctx->rng, order + first, filled - first, filled - first);
    }
}

mercer_status mrc_folds_draw(mercer_ctx *ctx, int64_t n, const int64_t *codes, int64_t classes,
                             int64_t k, int64_t repeats, mrc_folds *out, mercer_error *err)
{
    int64_t *order = NULL, *fold_of = NULL;
    mercer_status rc = MERCER_OK;
    memset(out, 0, sizeof *out);
    if (n < 2)
        MRC_FAIL(err, MERCER_ERR_DATA, "%lld row%s: there must be two to hold one out",
                 (long long)n, n == 1 ? "" : "s");
    if (k < 2)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%lld folds: at least 2 are needed", (long long)k);
    if (n < k)
        MRC_FAIL(err, MERCER_ERR_DATA, "%lld folds cannot be made of %lld rows", (long long)k,
                 (long long)n);
    out->n = n;
    out->count = k * repeats;
    MRC_TRY(mrc_alloc(&out->start, out->count + 1, sizeof *out->start, err));
    MRC_TRY(mrc_alloc2(&out->rows, n, repeats, sizeof *out->rows, err));
    MRC_TRY(mrc_alloc(&order, n, sizeof *order, err));
    MRC_TRY(mrc_alloc(&fold_of, n, sizeof *fold_of, err));
    for (int64_t r = 0, filled = 0; r < repeats; r++) {
        shuffle(ctx, n, codes, classes, order);
        for (int64_t i = 0; i < n; i++)
            fold_of[order[i]] = i % k;
        for (int64_t f = 0; f < k; f++) {
            for (int64_t i = 0; i < n; i++)
                if (fold_of[i] == f)
                    out->rows[filled++] = i;
            out->start[r * k + f + 1] = filled;
        }
    }
out:
    mrc_free(order);
    mrc_free(fold_of);
    if (rc != MERCER_OK)
        mrc_folds_destroy(out);
    return rc;
}

void mrc_folds_destroy(mrc_folds *folds)
{
    mrc_free(folds->start);
    mrc_free(folds->rows);
    memset(folds, 0, sizeof *folds);
}

int64_t mrc_folds_rest(const mrc_folds *folds, int64_t f, int64_t *rows)
{
    int64_t count = 0, held = folds->start[f];
    for (int64_t i = 0; i < folds->n; i++) {
        if (held < folds->start[f + 1] && folds->rows[held] == i)
            held++;
        else
            rows[count++] = i;
    }
    return count;
}
