/* SPDX-License-Identifier: BSD-3-Clause */
/* Importance of columns: what is lost without one, by rows held out.
 *
 * The held-out rows are put in a ring in random order, and each takes the value of a column from
 * the row s places ahead, s = 1, 2, ..., 5: the distribution of the column stays, what it tells of
 * the row is gone. The metric of these rows, less that of the rows as they are, is the loss; its
 * mean over the five is the importance (Breiman 2001, who permutes once). No row ever keeps its own
 * value, and none gets the same value from two places, so that the variance is at most that of five
 * permutations: a fifth of one. The order of the ring has nothing to do with the order of the rows,
 * which may be sorted or alternate. A constant column has a loss of exactly 0. Cost: five times the
 * features of the held-out rows for each column. */
#include "eval/importance.h"

#include "base/rng.h"
#include "eval/moments.h"

#include <math.h>
#include <string.h>

void mrc_importance_ring(uint64_t seed, int64_t n, int64_t *ring)
{
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n; i++)
        ring[i] = i;
    mrc_rng_shuffle(&rng, ring, n);
}

/* Each row gets column k of the row `ahead` places further in the ring. */
static void rotate(const double *x, const int64_t *ring, int64_t n, int64_t d, int64_t k,
                   int64_t ahead, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[ring[i] * d + k] = x[ring[(i + ahead) % n] * d + k];
}

mercer_status mrc_importance_of_columns(mercer_ctx *ctx, const mrc_scoring *scoring,
                                        const mercer_model *model, const mrc_fold_rows *train,
                                        const mrc_fold_rows *test, double number, double *out,
                                        mercer_error *err)
{
    int64_t n = test->rows->n, d = model->columns;
    int64_t times = n - 1 < MRC_IMPORTANCE_TIMES ? n - 1 : MRC_IMPORTANCE_TIMES;
    mrc_fold_rows changed = {.targets = test->targets};
    mercer_rows *arranged = NULL;
    double *x = NULL, *copy = NULL, *scores = NULL, value;
    int64_t *codes = NULL, *ring = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_model_arrange(model, test->rows, false, &arranged, err));
    MRC_TRY(mrc_alloc2_raw(&x, n, d, sizeof *x, err));
    MRC_TRY(mrc_alloc2_raw(&copy, n, d, sizeof *copy, err));
    if (scoring->outputs > 0) {
        MRC_TRY(mrc_alloc2_raw(&scores, n, scoring->outputs, sizeof *scores, err));
        MRC_TRY(mrc_alloc(&codes, n, sizeof *codes, err));
    }
    MRC_TRY(mrc_alloc(&ring, n, sizeof *ring, err));
    mrc_importance_ring(ctx->seed, n, ring); /* the fold's own */
    mercer_rows_copy(arranged, 0, n, x);
    memcpy(copy, x, (size_t)(n * d) * sizeof *x);
    MRC_TRY(mrc_rows_adopt(MRC_F64, copy, n, d, &changed.rows, err));
    double *rotated = copy; /* the memory of the rows, which own it now */
    copy = NULL;
    /* Rows held out may know their pairs, which changes last digits: these do not. */
    MRC_TRY(mrc_score_model(ctx, scoring, model, train, &changed, &number, 1, &value, scores, codes,
                            err));
    for (int64_t k = 0; k < d; k++) {
        double sum = 0; /* of one row there is no other: what its column tells is not known */
        for (int64_t ahead = 1; ahead <= times; ahead++) {
            double then;
            MRC_TRY(mrc_check_cancel(ctx, err));
            rotate(x, ring, n, d, k, ahead, rotated);
            MRC_TRY(mrc_score_model(ctx, scoring, model, train, &changed, &number, 1, &then, scores,
                                    codes, err));
            sum += scoring->metric->larger_is_better ? value - then : then - value;
        }
        out[k] = times > 0 ? sum / (double)times : NAN;
        for (int64_t i = 0; i < n; i++)
            rotated[i * d + k] = x[i * d + k];
    }
out:
    mercer_rows_free(arranged);
    mercer_rows_free(changed.rows);
    mrc_free(x);
    mrc_free(copy);
    mrc_free(scores);
    mrc_free(codes);
    mrc_free(ring);
    return rc;
}

mercer_status mrc_importance_check(const mrc_metric *metric, const mercer_rows *rows,
                                   bool precomputed, bool together, mercer_error *err)
{
    if (precomputed)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "importance"),
                           "importance: a precomputed kernel has no columns to leave out");
    if (mercer_rows_is_sparse(rows))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "importance"),
                           "importance: needs dense rows");
    if (together)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "importance"),
                           "importance: a fold of one row has no other row to take values from; "
                           "use fewer folds");
    if (metric->of != MRC_OF_CLASSES && metric->of != MRC_OF_VALUES && metric->of != MRC_OF_IMAGES)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "importance"),
                           "importance: without predictions it is the rise of metric "
                           "reconstruction, not of %s",
                           metric->name);
    return MERCER_OK;
}

/* What one column matters in each fold. */
struct column {
    const mrc_fold_result *folds;
    int64_t number;
};

static double loss_in_fold(const void *arg, int64_t f)
{
    const struct column *column = arg;
    return column->folds[f].importance[column->number];
}

mercer_status mrc_importance_summarise(mercer_evaluation *result, const mercer_rows *rows,
                                       mercer_error *err)
{
    int64_t d = rows->d;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&result->importance, d, MERCER_IMPORTANCE_COLUMNS, sizeof(double), err));
    result->columns = d;
    if (rows->names)
        MRC_TRY(mrc_copy_names(&result->column_names, rows->names, d, err));
    for (int64_t k = 0; k < d; k++) {
        double *to = result->importance + k * MERCER_IMPORTANCE_COLUMNS;
        const struct column column = {result->folds, k};
        const mrc_moments of = mrc_moments_of(loss_in_fold, &column, result->count);
        to[MERCER_IMPORTANCE_LOSS] = mrc_moments_mean(&of);
        to[MERCER_IMPORTANCE_SD] = mrc_moments_sd(&of);
    }
out:
    return rc;
}
