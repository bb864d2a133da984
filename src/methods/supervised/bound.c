/* SPDX-License-Identifier: BSD-3-Clause */
/* The stability bound; see bound.h.
 *
 * With probability 1 - delta over the training rows, the mean of y^2 |features(x)|^2 on new rows is
 * at least
 *     (1/n) sum_i y_i^2 |T_i|^2 - (2c/n) sqrt(sum_i y_i^4 K_ii^2) - 3 c R^2 sqrt(ln(2/delta)/(2n)),
 * c = |W'W|_F for the directions W in feature space, R^2 = max_i y_i^2 K_ii, delta = 0.1. With
 * T = K A it is W'W = A'K A = A'T, so no further kernel value is needed. Several targets: y_i^2 is
 * the sum over them. */
#include "methods/supervised/bound.h"

#include "base/running.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double DELTA = 0.1;
enum { TOGETHER = 8 }; /* running sums that a rank hands on at a time */

double mrc_deflation_coordinate(const mrc_deflation *dual, mrc_deflation_scale scale, int64_t t,
                                int64_t j)
{
    if (scale == MRC_AS_GIVEN)
        return t <= j ? dual->given[j] * dual->m[j * (j + 1) / 2 + t] * dual->norms[t] : 0;
    return t != j ? 0 : scale == MRC_UNIT_FEATURES ? 1 : dual->norms[j];
}

/* |y_i|^2 of every row. */
static void square_targets(const mrc_deflation *dual, double *out)
{
    for (int64_t i = 0; i < dual->n; i++)
        out[i] = mrc_dot(dual->y + i * dual->outputs, dual->y + i * dual->outputs, dual->outputs);
}

enum { GATHERED = 16384 }; /* points whose rows of Q are brought together at a time */

/* The rows of Q of `count` selected rows, from `first` on. */
static mercer_status gather(const mrc_deflation *dual, int64_t first, int64_t count, double *q,
                            mercer_error *err)
{
    int64_t k = dual->count;
    for (int64_t p = 0; p < count; p++) {
        int64_t row = dual->selected[first + p] - dual->span.first;
        bool here = row >= 0 && row < dual->n;
        for (int64_t j = 0; j < k; j++)
            q[p * k + j] = here ? dual->q[j * dual->stride + row] : 0;
    }
    return dual->span.spread ? mrc_comm_merge_numbers(dual->ctx, q, count * k, err) : MERCER_OK;
}

/* A'Q, A over all rows or over the selected ones. */
static mercer_status coefficients_along(mrc_deflation *dual, const double *a, int64_t points,
                                        double *out, mercer_error *err)
{
    int64_t k = dual->count;
    double *q = NULL, *part = NULL;
    mercer_status rc = MERCER_OK;
    if (!dual->sparse)
        return mrc_tall_wide_product_of_span(dual->ctx, a, k, k, dual->q, k, &dual->span, out, err);
    MRC_TRY(mrc_alloc2_raw(&q, points < GATHERED ? points : GATHERED, k, sizeof *q, err));
    MRC_TRY(mrc_alloc2(&part, k, k, sizeof *part, err));
    memset(out, 0, (size_t)(k * k) * sizeof *out);
    for (int64_t first = 0; first < points; first += GATHERED) {
        int64_t count = points - first < GATHERED ? points - first : GATHERED;
        MRC_TRY(gather(dual, first, count, q, err));
        MRC_TRY(mrc_tall_product(dual->ctx, a + first * k, k, k, q, k, k, count, part, err));
        for (int64_t e = 0; e < k * k; e++)
            out[e] += part[e];
    }
out:
    mrc_free(q);
    mrc_free(part);
    return rc;
}

/* W'W (k x k) = A'T = (A'Q) R. */
static mercer_status direction_products(mrc_deflation *dual, mrc_deflation_scale scale,
                                        const double *a, int64_t points, double *out,
                                        mercer_error *err)
{
    int64_t k = dual->count;
    double *r = NULL, *along = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&r, k, k, sizeof *r, err));
    MRC_TRY(mrc_alloc2(&along, k, k, sizeof *along, err));
    for (int64_t t = 0; t < k; t++)
        for (int64_t j = 0; j < k; j++)
            r[t * k + j] = mrc_deflation_coordinate(dual, scale, t, j);
    MRC_TRY(coefficients_along(dual, a, points, along, err));
    mrc_gemm(false, false, k, k, k, 1, along, k, r, k, 0, out, k);
out:
    mrc_free(r);
    mrc_free(along);
    return rc;
}

struct features {
    mrc_deflation *dual;
    mrc_deflation_scale scale;
    const double *y2;
    double *feature, *along; /* n, count */
};

static mercer_status add_expectations(void *arg, int64_t begin, int64_t end, double *out,
                                      mercer_error *err)
{
    const struct features *w = arg;
    const mrc_deflation *dual = w->dual;
    const double n = (double)dual->span.total;
    (void)err;
    for (int64_t j = begin; j < end; j++) {
        int64_t first = w->scale == MRC_AS_GIVEN ? 0 : j;
        for (int64_t t = first; t <= j; t++)
            w->along[t - first] = mrc_deflation_coordinate(dual, w->scale, t, j);
        mrc_wide_times_of_span(dual->ctx, dual->q + first * dual->stride, j + 1 - first,
                               &dual->span, 1, w->along, 0, w->feature);
        for (int64_t i = 0; i < dual->n; i++)
            out[j] += w->y2[i] * w->feature[i] * w->feature[i] / n;
    }
    return MERCER_OK;
}

/* (1/n) sum_i y_i^2 T_ij^2 for every feature j; out holds zeroes. */
static mercer_status expectations(mrc_deflation *dual, mrc_deflation_scale scale, const double *y2,
                                  double *out, mercer_error *err)
{
    struct features w = {.dual = dual, .scale = scale, .y2 = y2};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&w.feature, dual->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w.along, dual->count, sizeof(double), err));
    MRC_TRY(mrc_run_span(dual->ctx, &dual->span, out, dual->count, TOGETHER, add_expectations, &w,
                         err));
out:
    mrc_free(w.feature);
    mrc_free(w.along);
    return rc;
}

/* What the rows add to the complexity: |y_i|^2 K_ii over the largest of them. */
struct sizes {
    const double *y2, *diag;
    int64_t n;
    double radius2;
};

static mercer_status add_sizes(void *arg, int64_t begin, int64_t end, double *out,
                               mercer_error *err)
{
    const struct sizes *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; w->radius2 > 0 && i < w->n; i++) { /* else fourth powers overflow */
        double share = w->y2[i] * (w->diag[i] / w->radius2);
        *out += share * share;
    }
    return MERCER_OK;
}

mercer_status mrc_bound_terms(mrc_deflation *dual, mrc_deflation_scale scale, const double *a,
                              int64_t points, double *bound, mercer_error *err)
{
    int64_t k = dual->count;
    double *y2 = NULL, *products = NULL, *means = NULL;
    double n = (double)dual->span.total, spread = 0, radius2 = 0, expectation = 0, c2 = 0;
    const double *diag;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&y2, dual->n, sizeof *y2, err));
    MRC_TRY(mrc_alloc(&means, k, sizeof *means, err));
    MRC_TRY(mrc_alloc2(&products, k, k, sizeof *products, err));
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    square_targets(dual, y2);
    for (int64_t i = 0; i < dual->n; i++)
        radius2 = fmax(radius2, y2[i] * diag[i]);
    if (dual->span.spread)
        MRC_TRY(mrc_comm_largest(dual->ctx, &radius2, err));
    struct sizes sizes = {.y2 = y2, .diag = diag, .n = dual->n, .radius2 = radius2};
    MRC_TRY(mrc_run_span(dual->ctx, &dual->span, &spread, 1, 1, add_sizes, &sizes, err));
    MRC_TRY(expectations(dual, scale, y2, means, err));
    MRC_TRY(direction_products(dual, scale, a, points, products, err));
    for (int64_t j = 0; j < k; j++) {
        double *terms = bound + j * MERCER_BOUND_COLUMNS;
        expectation += means[j];
        for (int64_t t = 0; t <= j; t++) {
            double product = products[t * k + j];
            c2 += (t < j ? 2 : 1) * product * product;
        }
        terms[MERCER_BOUND_EMPIRICAL] = expectation;
        terms[MERCER_BOUND_COMPLEXITY] = 2 * sqrt(c2) / n * radius2 * sqrt(spread);
        terms[MERCER_BOUND_CONFIDENCE] = 3 * sqrt(c2) * radius2 * sqrt(log(2 / DELTA) / (2 * n));
    }
    MRC_TRY(mrc_decide_numbers(dual->ctx, &dual->span, bound, k * MERCER_BOUND_COLUMNS, err));
out:
    mrc_free(y2);
    mrc_free(means);
    mrc_free(products);
    return rc;
}

int64_t mrc_bound_choose(const double *bound, int64_t count)
{
    double cost = bound[MERCER_BOUND_EMPIRICAL] / 2, best = -INFINITY;
    int64_t chosen = 1;
    for (int64_t j = 0; j < count; j++) {
        const double *terms = bound + j * MERCER_BOUND_COLUMNS;
        double value = terms[MERCER_BOUND_EMPIRICAL] - terms[MERCER_BOUND_COMPLEXITY] -
                       terms[MERCER_BOUND_CONFIDENCE] - cost * (double)(j + 1);
        if (value > best) {
            best = value;
            chosen = j + 1;
        }
    }
    return chosen;
}

/* Put a row among the `count` of the largest values, behind those that are as large. */
static void offer(double row, double value, double *out, int64_t *count)
{
    int64_t at = *count;
    while (at > 0 && value > out[2 * at - 1])
        at--;
    if (at == MRC_INFLUENTIAL)
        return;
    *count += *count < MRC_INFLUENTIAL;
    memmove(out + 2 * at + 2, out + 2 * at, (size_t)(2 * (*count - at - 1)) * sizeof *out);
    out[2 * at] = row;
    out[2 * at + 1] = value;
}

/* Join what all ranks have: the rows of a rank come before those of the next one. */
static mercer_status join_rows(const mrc_deflation *dual, double *out, int64_t *count,
                               mercer_error *err)
{
    enum { COUNT, ROWS, TOLD = ROWS + 2 * MRC_INFLUENTIAL };
    const int64_t size = dual->ctx->comm.table.size;
    double mine[TOLD] = {(double)*count}, *all = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&all, size, TOLD, sizeof *all, err));
    memcpy(mine + ROWS, out, (size_t)(2 * *count) * sizeof *out);
    MRC_TRY(mrc_comm_collect(dual->ctx, mine, TOLD, all, err));
    *count = 0;
    for (int64_t r = 0; r < size; r++) {
        const double *told = all + r * TOLD;
        for (int64_t i = 0; i < (int64_t)told[COUNT]; i++)
            offer(told[ROWS + 2 * i], told[ROWS + 2 * i + 1], out, count);
    }
out:
    mrc_free(all);
    return rc;
}

mercer_status mrc_bound_rows(mrc_deflation *dual, double *out, int64_t *count, mercer_error *err)
{
    double *y2 = NULL;
    const double *diag;
    mercer_status rc = MERCER_OK;
    *count = 0;
    MRC_TRY(mrc_alloc(&y2, dual->n, sizeof *y2, err));
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    square_targets(dual, y2);
    for (int64_t i = 0; i < dual->n; i++)
        offer((double)(dual->span.first + i), y2[i] * diag[i], out, count);
    if (dual->span.spread)
        MRC_TRY(join_rows(dual, out, count, err));
out:
    mrc_free(y2);
    return rc;
}
