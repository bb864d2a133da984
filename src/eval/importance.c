/* SPDX-License-Identifier: BSD-3-Clause */
/* Importance of columns: what is lost without one, by rows held out.
 *
 * A column of the held-out rows is rotated by half their number, so that each row has the value of
 * another one: the distribution of the column stays, what it tells of the row is gone. The metric
 * of these rows, less that of the rows as they are, is the loss (Breiman 2001, who permutes). A
 * rotation needs no seed, and a constant column has a loss of exactly 0. Cost: the features of the
 * held-out rows for each column. */
#include "eval/importance.h"

#include <math.h>
#include <string.h>

/* to[i] = column k of row i + half. */
static void rotate(const double *x, int64_t n, int64_t d, int64_t k, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i * d + k] = x[(i + n / 2) % n * d + k];
}

mercer_status mrc_importance_of_columns(mercer_ctx *ctx, const mrc_scoring *aim,
                                        const mercer_model *model, const mrc_fold_rows *train,
                                        const mrc_fold_rows *test, double number, double *out,
                                        mercer_error *err)
{
    int64_t n = test->rows->n, d = model->columns;
    mrc_fold_rows changed = {.targets = test->targets};
    mercer_rows *arranged = NULL;
    double *x = NULL, *copy = NULL, *scores = NULL, value;
    int64_t *codes = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_model_arrange(model, test->rows, false, &arranged, err));
    MRC_TRY(mrc_alloc2_raw(&x, n, d, sizeof *x, err));
    MRC_TRY(mrc_alloc2_raw(&copy, n, d, sizeof *copy, err));
    if (aim->outputs > 0) {
        MRC_TRY(mrc_alloc2_raw(&scores, n, aim->outputs, sizeof *scores, err));
        MRC_TRY(mrc_alloc(&codes, n, sizeof *codes, err));
    }
    mercer_rows_copy(arranged, 0, n, x);
    memcpy(copy, x, (size_t)(n * d) * sizeof *x);
    MRC_TRY(mrc_rows_adopt(MRC_F64, copy, n, d, &changed.rows, err));
    double *rotated = copy; /* the memory of the rows, which own it now */
    copy = NULL;
    /* Rows held out may know their pairs, which changes last digits: these do not. */
    MRC_TRY(
        mrc_score_model(ctx, aim, model, train, &changed, &number, 1, &value, scores, codes, err));
    for (int64_t k = 0; k < d; k++) {
        double then;
        MRC_TRY(mrc_check_cancel(ctx, err));
        rotate(x, n, d, k, rotated);
        MRC_TRY(mrc_score_model(ctx, aim, model, train, &changed, &number, 1, &then, scores, codes,
                                err));
        out[k] = aim->metric->larger_is_better ? value - then : then - value;
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
        double *to = result->importance + k * MERCER_IMPORTANCE_COLUMNS, sum = 0, squares = 0;
        int64_t told = 0;
        for (int64_t f = 0; f < result->count; f++) {
            double loss = result->folds[f].importance[k];
            told += !isnan(loss);
            sum += isnan(loss) ? 0 : loss;
        }
        to[MERCER_IMPORTANCE_LOSS] = told > 0 ? sum / (double)told : NAN;
        for (int64_t f = 0; f < result->count; f++) {
            double loss = result->folds[f].importance[k];
            squares += isnan(loss) ? 0 : pow(loss - to[MERCER_IMPORTANCE_LOSS], 2);
        }
        to[MERCER_IMPORTANCE_SD] = told > 1 ? sqrt(squares / (double)(told - 1)) : NAN;
    }
out:
    return rc;
}
