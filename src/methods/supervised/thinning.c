/* SPDX-License-Identifier: BSD-3-Clause */
/* Which entries of a dual direction to keep; see thinning.h.
 *
 * mr: a sort. mi: `cache` rows of the matrix times w. eps: the lasso
 *     min 1/2 |X_j'(w - b)|^2 + eps |b|_1,  X_j = P_j X,
 * whose path in eps ends when one entry more would come in; its matrix G = P_j K P_j is known by
 * columns, P_j (K e_i - (K Q) Q_i'). N entries cost N columns of K, N n memory and n N^2. */
#include "methods/supervised/thinning.h"

#include "base/order.h"
#include "base/share.h"
#include "linalg/lasso.h"
#include "linalg/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t entries_to_keep(const mrc_thinning *rule, int64_t n)
{
    int64_t wanted = mrc_share_ceil(rule->nu, n);
    return wanted < 1 ? 1 : wanted < n ? wanted : n;
}

void mrc_thin_columns(const mrc_thinning *rule, const mrc_problem *problem, int64_t *work,
                      int64_t *solver)
{
    int64_t n = problem->rows->n, wanted = entries_to_keep(rule, n);
    int64_t features = problem->components > 0 ? problem->components : n;
    bool path = rule->heuristic == MRC_WITHIN_TUBE && wanted < n;
    *work = (int64_t)(2 * rule->nu * (double)features) + 4;           /* values and their rows */
    *solver = path ? wanted + wanted * wanted / n + 3 * features : 0; /* columns, factor, K Q */
}

/* ---- by a score ---- */

static int by_score(const void *a, const void *b, void *arg)
{
    const double *score = arg;
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    if (score[i] != score[j])
        return score[i] > score[j] ? -1 : 1;
    return (i > j) - (i < j);
}

/* Keep the `wanted` rows with the largest score, among those of *count rows that have a kernel
 * value and an entry in w. */
static mercer_status keep_largest(mrc_deflation *dual, const double *w, double *score,
                                  int64_t wanted, int64_t *rows, double *values, int64_t *count,
                                  mercer_error *err)
{
    const double *diag;
    int64_t left = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    double zero = 8 * mrc_gram_eps(dual->gram) * mrc_gram_kmax(dual->gram);
    for (int64_t i = 0; i < *count; i++)
        if (diag[rows[i]] > zero && w[rows[i]] != 0)
            rows[left++] = rows[i];
    qsort_r(rows, (size_t)left, sizeof *rows, by_score, score);
    *count = left < wanted ? left : wanted;
    qsort(rows, (size_t)*count, sizeof *rows, mrc_compare_rows);
    for (int64_t i = 0; i < *count; i++)
        values[i] = w[rows[i]];
out:
    return rc;
}

static void list_all(int64_t n, int64_t *rows, int64_t *count)
{
    for (int64_t i = 0; i < n; i++)
        rows[i] = i;
    *count = n;
}

static mercer_status keep_residual(mrc_deflation *dual, const double *w, int64_t wanted,
                                   int64_t *rows, double *values, int64_t *count, mercer_error *err)
{
    double *score = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&score, dual->n, sizeof *score, err));
    for (int64_t i = 0; i < dual->n; i++)
        score[i] = fabs(w[i]);
    list_all(dual->n, rows, count);
    MRC_TRY(keep_largest(dual, w, score, wanted, rows, values, count, err));
out:
    mrc_free(score);
    return rc;
}

static mercer_status keep_information(mrc_deflation *dual, const double *w, int64_t cache,
                                      int64_t wanted, int64_t *rows, double *values, int64_t *count,
                                      mercer_error *err)
{
    double *score = NULL, *image = NULL;
    mercer_status rc = MERCER_OK;
    cache = cache < dual->n ? cache : dual->n;
    list_all(dual->n, rows, count);
    mrc_rng_draw(&dual->ctx->rng, rows, dual->n, cache);
    *count = cache;
    MRC_TRY(mrc_alloc(&image, cache, sizeof *image, err));
    MRC_TRY(mrc_alloc(&score, dual->n, sizeof *score, err));
    MRC_TRY(mrc_gram_apply_rows(dual->gram, rows, cache, w, 1, image, err));
    for (int64_t i = 0; i < cache; i++)
        score[rows[i]] = w[rows[i]] * image[i];
    MRC_TRY(keep_largest(dual, w, score, wanted, rows, values, count, err));
out:
    mrc_free(image);
    mrc_free(score);
    return rc;
}

/* ---- the tube ---- */

struct deflated {
    mrc_deflation *dual;
    double *image; /* (K Q)', features x n */
    double *along; /* features: a row of Q; and room for the products of a projection */
    double *dots;
};

/* G e_i = P_j (K e_i - K Q Q_i'). */
static mercer_status deflated_column(void *self, int64_t i, double *out, mercer_error *err)
{
    struct deflated *g = self;
    mrc_deflation *dual = g->dual;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_columns(dual->gram, &i, 1, out, err));
    for (int64_t t = 0; t < dual->count; t++)
        g->along[t] = dual->q[t * dual->n + i];
    mrc_wide_times(dual->ctx, g->image, dual->count, dual->n, -1, g->along, 1, out);
    MRC_TRY(mrc_deflation_project(dual, out, g->dots, err));
out:
    return rc;
}

static mercer_status keep_tube(mrc_deflation *dual, const double *w, int64_t wanted, int64_t *rows,
                               double *values, int64_t *count, mercer_error *err)
{
    int64_t n = dual->n, k = dual->count;
    struct deflated g = {.dual = dual};
    mrc_lasso_matrix matrix = {.n = n, .column = deflated_column, .self = &g};
    double *q = NULL, *product = NULL, *aim = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&g.along, k + 1, sizeof(double), err));
    MRC_TRY(mrc_alloc(&g.dots, k + 1, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&g.image, k, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&q, n, k, sizeof *q, err));
    MRC_TRY(mrc_alloc2_raw(&product, n, k, sizeof *product, err));
    MRC_TRY(mrc_alloc(&aim, n, sizeof *aim, err));
    if (k > 0) {
        mrc_transpose(dual->q, k, n, q);
        MRC_TRY(mrc_gram_apply(dual->gram, q, k, product, err));
        mrc_transpose(product, n, k, g.image);
    }
    MRC_TRY(mrc_gram_apply(dual->gram, w, 1, aim, err));
    MRC_TRY(mrc_deflation_project(dual, aim, g.dots, err));
    MRC_TRY(mrc_lasso_path(dual->ctx, &matrix, aim, wanted, rows, values, count, NULL, err));
out:
    mrc_free(g.along);
    mrc_free(g.dots);
    mrc_free(g.image);
    mrc_free(q);
    mrc_free(product);
    mrc_free(aim);
    return rc;
}

/* ---- */

mercer_status mrc_thin(const mrc_thinning *rule, mrc_deflation *dual, const double *w,
                       int64_t *rows, double *values, int64_t *count, mercer_error *err)
{
    int64_t n = dual->n, wanted = entries_to_keep(rule, n);
    if (wanted == n) {
        list_all(n, rows, count);
        memcpy(values, w, (size_t)n * sizeof *w);
        return MERCER_OK;
    }
    switch ((mrc_heuristic)rule->heuristic) {
    case MRC_LARGEST_INFORMATION:
        return keep_information(dual, w, rule->cache, wanted, rows, values, count, err);
    case MRC_WITHIN_TUBE:
        return keep_tube(dual, w, wanted, rows, values, count, err);
    default:
        return keep_residual(dual, w, wanted, rows, values, count, err);
    }
}

/* The rows that have the largest positive part in w'K w. */
static mercer_status keep_contributing(mrc_deflation *dual, const double *w, const double *image,
                                       int64_t wanted, int64_t *rows, double *values,
                                       int64_t *count, mercer_error *err)
{
    double *score = NULL;
    mercer_status rc = MERCER_OK;
    *count = 0;
    MRC_TRY(mrc_alloc(&score, dual->n, sizeof *score, err));
    for (int64_t i = 0; i < dual->n; i++) {
        score[i] = w[i] * image[i];
        if (score[i] > 0)
            rows[(*count)++] = i;
    }
    MRC_TRY(keep_largest(dual, w, score, wanted, rows, values, count, err));
out:
    mrc_free(score);
    return rc;
}

mercer_status mrc_thin_add(const mrc_thinning *rule, mrc_deflation *dual, const double *w,
                           int64_t columns, bool *added, mercer_error *err)
{
    int64_t n = dual->n, wanted = entries_to_keep(rule, n), *rows = NULL, count;
    double *beta = NULL, *image, *values;
    bool remains;
    mercer_status rc = MERCER_OK;
    *added = false;
    MRC_TRY(mrc_alloc2(&beta, 3, n, sizeof *beta, err));
    MRC_TRY(mrc_alloc(&rows, n, sizeof *rows, err));
    image = beta + n;
    values = beta + 2 * n;
    MRC_TRY(mrc_deflation_lead(dual, w, columns, beta, image, err));
    if (wanted == n) {
        MRC_TRY(mrc_deflation_add(dual, NULL, n, beta, image, added, err));
        goto out;
    }
    MRC_TRY(mrc_deflation_remains(dual, beta, image, &remains, err));
    if (!remains)
        goto out;
    MRC_TRY(mrc_thin(rule, dual, beta, rows, values, &count, err));
    if (count > 0)
        MRC_TRY(mrc_deflation_add(dual, rows, count, values, NULL, added, err));
    if (*added)
        goto out;
    MRC_TRY(keep_contributing(dual, beta, image, wanted, rows, values, &count, err));
    if (count > 0)
        MRC_TRY(mrc_deflation_add(dual, rows, count, values, NULL, added, err));
out:
    mrc_free(beta);
    mrc_free(rows);
    return rc;
}
