/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads of a loss that is not a square: its coefficients change with every feature that joins, all
 * of them. The head keeps by how much: score_o = intercept_o + sum over j <= k of (d_j0o + sum over
 * i <= j of d_j(i+1)o f_i) so that the first k features have the fit that is best for them alone,
 * for every k. Two classes are +-1 and have scores -f and f; more have one 0/1 indicator each.
 * Features are fitted about their means and scaled to length one. Cost: l fits to n rows, each from
 * the one before. */
#include "heads/loss.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double LEAST = 1e-12; /* of a feature that is not constant; below it is rounding */

/* Features as columns of length one, with that of ones first: (l + 1) x n. */
struct design {
    int64_t n, l;
    double *columns, *mean, *factor;
};

static void fill_column(const mrc_head_data *data, struct design *d, int64_t j)
{
    double *column = d->columns + (j + 1) * d->n, size2 = 0;
    for (int64_t i = 0; i < d->n; i++) {
        column[i] = data->features[i * d->l + j];
        d->mean[j] += column[i] / (double)d->n;
        size2 += column[i] * column[i];
    }
    for (int64_t i = 0; i < d->n; i++)
        column[i] -= d->mean[j];
    double norm = sqrt(mrc_dot(column, column, d->n));
    d->factor[j] = norm > LEAST * sqrt(size2) ? 1 / norm : 0;
    for (int64_t i = 0; i < d->n; i++)
        column[i] *= d->factor[j];
}

static mercer_status make_design(const mrc_head_data *data, struct design *d, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    d->n = data->n;
    d->l = data->l;
    MRC_TRY(mrc_alloc2_raw(&d->columns, d->l + 1, d->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&d->mean, d->l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&d->factor, d->l, sizeof(double), err));
    for (int64_t i = 0; i < d->n; i++)
        d->columns[i] = 1 / sqrt((double)d->n);
    for (int64_t j = 0; j < d->l; j++)
        fill_column(data, d, j);
out:
    return rc;
}

/* What output o is fitted to. */
static void take_target(const mrc_head_data *data, int64_t o, double *y)
{
    for (int64_t i = 0; i < data->n; i++)
        y[i] = !data->codes         ? data->values[i * data->outputs + o]
               : data->outputs == 2 ? (data->codes[i] == o ? 1 : -1)
                                    : data->codes[i] == o;
}

/* Fit output o to the first 0, 1, ... features and keep how the coefficients change. */
static mercer_status fit_output(mercer_ctx *ctx, mrc_loss loss, const struct design *d,
                                const double *y, int64_t o, mrc_head *head, mercer_error *err)
{
    int64_t l = d->l, outputs = head->outputs;
    double *now = NULL, *before = NULL; /* the intercept and the coefficients of plain features */
    mrc_loss_fit fit = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&now, l + 1, sizeof *now, err));
    MRC_TRY(mrc_alloc(&before, l + 1, sizeof *before, err));
    MRC_TRY(mrc_loss_fit_init(&fit, ctx, loss, y, d->n, l + 1, err));
    for (int64_t k = 0; k <= l; k++) {
        mrc_progress(ctx, "head", (double)(o * l + k) / (double)(outputs * l));
        MRC_TRY(mrc_loss_fit_update(&fit, d->columns, k + 1, err));
        now[0] = fit.coefficients[0] / sqrt((double)d->n);
        for (int64_t j = 0; j < k; j++) {
            now[j + 1] = fit.coefficients[j + 1] * d->factor[j];
            now[0] -= now[j + 1] * d->mean[j];
        }
        for (int64_t i = 0; i <= k; i++) {
            double *to =
                k == 0 ? head->intercept : head->increments + ((k - 1) * (l + 1) + i) * outputs;
            to[o] = now[i] - before[i];
            before[i] = now[i];
        }
    }
out:
    mrc_free(now);
    mrc_free(before);
    mrc_loss_fit_destroy(&fit);
    return rc;
}

mercer_status mrc_loss_head_fit(mercer_ctx *ctx, mrc_loss loss, const mrc_head_data *data,
                                mrc_head *head, mercer_error *err)
{
    int64_t l = data->l, outputs = data->outputs;
    bool pair = data->codes && outputs == 2;
    struct design d = {0};
    double *y = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&head->intercept, outputs, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&head->increments, l, (l + 1) * outputs, sizeof(double), err));
    MRC_TRY(make_design(data, &d, err));
    MRC_TRY(mrc_alloc2_raw(&y, data->n, 1, sizeof *y, err));
    for (int64_t o = pair ? 1 : 0; o < outputs; o++) {
        take_target(data, o, y);
        MRC_TRY(fit_output(ctx, loss, &d, y, o, head, err));
    }
    for (int64_t i = 0; pair && i < l * (l + 1); i++)
        head->increments[2 * i] = -head->increments[2 * i + 1];
    if (pair)
        head->intercept[0] = -head->intercept[1];
out:
    mrc_free(y);
    mrc_free(d.columns);
    mrc_free(d.mean);
    mrc_free(d.factor);
    return rc;
}

bool mrc_loss_head_is_complete(const mrc_head *head)
{
    return head->intercept && head->increments;
}

void mrc_loss_head_add_feature(const mrc_head *head, const double *features, int64_t l, int64_t j,
                               double *scores)
{
    const double *change = head->increments + j * (l + 1) * head->outputs;
    for (int64_t i = 0; i <= j + 1; i++)
        for (int64_t o = 0; o < head->outputs; o++)
            scores[o] += change[i * head->outputs + o] * (i == 0 ? 1 : features[i - 1]);
}
