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

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double DELTA = 0.1;

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

/* W'W (k x k) = A'T = (A'Q) R. */
static mercer_status direction_products(mrc_deflation *dual, mrc_deflation_scale scale,
                                        const double *a, int64_t points, double *out,
                                        mercer_error *err)
{
    int64_t k = dual->count, n = dual->n;
    double *q = NULL, *r = NULL, *along = NULL, *part = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&q, points < GATHERED ? points : GATHERED, k, sizeof *q, err));
    MRC_TRY(mrc_alloc2(&r, k, k, sizeof *r, err));
    MRC_TRY(mrc_alloc2(&along, k, k, sizeof *along, err));
    MRC_TRY(mrc_alloc2(&part, k, k, sizeof *part, err));
    for (int64_t t = 0; t < k; t++)
        for (int64_t j = 0; j < k; j++)
            r[t * k + j] = mrc_deflation_coordinate(dual, scale, t, j);
    for (int64_t first = 0; first < points; first += GATHERED) {
        int64_t count = points - first < GATHERED ? points - first : GATHERED;
        for (int64_t p = 0; p < count; p++)
            for (int64_t j = 0; j < k; j++)
                q[p * k + j] =
                    dual->q[j * n + (dual->sparse ? dual->selected[first + p] : first + p)];
        MRC_TRY(mrc_tall_product(dual->ctx, a + first * k, k, k, q, k, k, count, part, err));
        for (int64_t e = 0; e < k * k; e++)
            along[e] += part[e];
    }
    mrc_gemm(false, false, k, k, k, 1, along, k, r, k, 0, out, k);
out:
    mrc_free(q);
    mrc_free(r);
    mrc_free(along);
    mrc_free(part);
    return rc;
}

/* (1/n) sum_i y_i^2 T_ij^2 for every feature j. */
static mercer_status expectations(mrc_deflation *dual, mrc_deflation_scale scale, const double *y2,
                                  double *out, mercer_error *err)
{
    int64_t n = dual->n, k = dual->count;
    double *feature = NULL, *along = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&feature, n, sizeof *feature, err));
    MRC_TRY(mrc_alloc(&along, k, sizeof *along, err));
    for (int64_t j = 0; j < k; j++) {
        int64_t first = scale == MRC_AS_GIVEN ? 0 : j;
        for (int64_t t = first; t <= j; t++)
            along[t - first] = mrc_deflation_coordinate(dual, scale, t, j);
        mrc_wide_times(dual->ctx, dual->q + first * n, j + 1 - first, n, 1, along, 0, feature);
        out[j] = 0;
        for (int64_t i = 0; i < n; i++)
            out[j] += y2[i] * feature[i] * feature[i] / (double)n;
    }
out:
    mrc_free(feature);
    mrc_free(along);
    return rc;
}

mercer_status mrc_bound_terms(mrc_deflation *dual, mrc_deflation_scale scale, const double *a,
                              int64_t points, double *bound, mercer_error *err)
{
    int64_t n = dual->n, k = dual->count;
    double *y2 = NULL, *products = NULL, *means = NULL;
    double spread = 0, radius2 = 0, expectation = 0, c2 = 0;
    const double *diag;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&y2, n, sizeof *y2, err));
    MRC_TRY(mrc_alloc(&means, k, sizeof *means, err));
    MRC_TRY(mrc_alloc2(&products, k, k, sizeof *products, err));
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    square_targets(dual, y2);
    for (int64_t i = 0; i < n; i++)
        radius2 = fmax(radius2, y2[i] * diag[i]);
    for (int64_t i = 0; radius2 > 0 && i < n; i++) { /* over radius2: fourth powers overflow */
        double share = y2[i] * (diag[i] / radius2);
        spread += share * share;
    }
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
        terms[MERCER_BOUND_COMPLEXITY] = 2 * sqrt(c2) / (double)n * radius2 * sqrt(spread);
        terms[MERCER_BOUND_CONFIDENCE] =
            3 * sqrt(c2) * radius2 * sqrt(log(2 / DELTA) / (2 * (double)n));
    }
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

mercer_status mrc_bound_rows(mrc_deflation *dual, double *out, int64_t *count, mercer_error *err)
{
    double *y2 = NULL;
    const double *diag;
    mercer_status rc = MERCER_OK;
    *count = 0;
    MRC_TRY(mrc_alloc(&y2, dual->n, sizeof *y2, err));
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    square_targets(dual, y2);
    for (int64_t i = 0; i < dual->n; i++) {
        double value = y2[i] * diag[i];
        int64_t at = *count;
        while (at > 0 && value > out[2 * at - 1])
            at--;
        if (at == MRC_INFLUENTIAL)
            continue;
        *count += *count < MRC_INFLUENTIAL;
        memmove(out + 2 * at + 2, out + 2 * at, (size_t)(2 * (*count - at - 1)) * sizeof *out);
        out[2 * at] = (double)i;
        out[2 * at + 1] = value;
    }
out:
    mrc_free(y2);
    return rc;
}
