/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduced kernel orthonormalised partial least squares: the combinations of a few columns of K that
 * fit the labels best (Arenas-Garcia, Petersen, Hansen 2006).
 *
 * With R the rows drawn and C = K[:, R], the features T = C B solve C'YY'C b = m C'C b, T'T = I.
 * The pencil is singular when C has less than full rank, so it is solved in the range of C: with C
 * = U S V' (singular values above 1e-10 of the first) and U'Y = L D A', T = U L and B = V S^-1 L.
 * One label: T is its least-squares fit by the columns. There are at most rank(Y) features. n r
 * kernel values, n r memory, 6 n r^2. */
#include "methods/supervised/supervised.h"

#include "base/order.h"
#include "linalg/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUBSET = 100 };
static const double RANGE = 1e-10; /* of the first singular value */
static const double LEAST = 1e-6;  /* of |Y|, that a feature must have to do with it */

struct rkopls_params {
    double components;
    int64_t subset;
};

static const mrc_param rkopls_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct rkopls_params, 10),
    MRC_INT(struct rkopls_params, subset, SUBSET, 1, 1e9,
            "rows that the features use, drawn at random; all when there are fewer"),
    MRC_PARAM_END};

struct reduced {
    int64_t subset, count, next; /* rows drawn, features solved for, and the one to add */
    int64_t *rows;
    double *features;     /* T', count x n */
    double *coefficients; /* B', count x subset */
};

static void destroy(struct reduced *r)
{
    mrc_free(r->rows);
    mrc_free(r->features);
    mrc_free(r->coefficients);
}

static mercer_status draw(struct reduced *r, mrc_deflation *dual, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    r->subset = r->subset < dual->n ? r->subset : dual->n;
    MRC_TRY(mrc_alloc(&r->rows, dual->n, sizeof *r->rows, err));
    for (int64_t i = 0; i < dual->n; i++)
        r->rows[i] = i;
    mrc_rng_draw(&dual->ctx->rng, r->rows, dual->n, r->subset);
    qsort(r->rows, (size_t)r->subset, sizeof *r->rows, mrc_compare_rows);
out:
    return rc;
}

/* L (size x rank: the leading left singular vectors of U'Y, one after the other) and how many. */
static mercer_status match_labels(mrc_deflation *dual, const double *u, int64_t rank, double **left,
                                  int64_t *size, int64_t *count, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs;
    double *y = NULL, *s = NULL, *v = NULL;
    mercer_status rc = MERCER_OK;
    *size = rank > m ? rank : m; /* zeroes fill up a range smaller than the labels */
    MRC_TRY(mrc_alloc2(left, m, *size, sizeof **left, err));
    MRC_TRY(mrc_alloc(&y, n, sizeof *y, err));
    MRC_TRY(mrc_alloc(&s, m, sizeof *s, err));
    MRC_TRY(mrc_alloc2(&v, m, m, sizeof *v, err));
    for (int64_t c = 0; c < m; c++) {
        for (int64_t i = 0; i < n; i++)
            y[i] = dual->y[i * m + c];
        MRC_TRY(mrc_wide_dots(dual->ctx, u, rank, n, y, *left + c * *size, err));
    }
    MRC_TRY(mrc_wide_svd(dual->ctx, *left, m, *size, s, v, err));
    double least = LEAST * sqrt(mrc_dot(dual->y, dual->y, n * m));
    for (*count = 0; *count < m && *count < rank && s[*count] > least;)
        ++*count;
out:
    mrc_free(y);
    mrc_free(s);
    mrc_free(v);
    return rc;
}

static mercer_status solve(struct reduced *r, mrc_deflation *dual, mercer_error *err)
{
    int64_t n = dual->n, k, rank = 0, size;
    double *u = NULL, *s = NULL, *v = NULL, *left = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(draw(r, dual, err));
    k = r->subset;
    MRC_TRY(mrc_alloc2_raw(&u, k, n, sizeof *u, err));
    MRC_TRY(mrc_alloc(&s, k, sizeof *s, err));
    MRC_TRY(mrc_alloc2_raw(&v, k, k, sizeof *v, err));
    MRC_TRY(mrc_gram_columns(dual->gram, r->rows, k, u, err));
    mrc_progress(dual->ctx, "singular values", -1);
    MRC_TRY(mrc_wide_svd(dual->ctx, u, k, n, s, v, err));
    while (rank < k && s[rank] > RANGE * s[0])
        rank++;
    MRC_TRY(match_labels(dual, u, rank, &left, &size, &r->count, err));
    MRC_TRY(mrc_alloc2_raw(&r->features, r->count, n, sizeof *r->features, err));
    MRC_TRY(mrc_alloc2(&r->coefficients, r->count, k, sizeof *r->coefficients, err));
    for (int64_t f = 0; f < r->count; f++) {
        double *b = r->coefficients + f * k;
        const double *l = left + f * size;
        mrc_wide_times(dual->ctx, u, rank, n, 1, l, 0, r->features + f * n);
        for (int64_t i = 0; i < k; i++)
            for (int64_t t = 0; t < rank; t++)
                b[i] += v[i * k + t] * l[t] / s[t];
    }
out:
    mrc_free(u);
    mrc_free(s);
    mrc_free(v);
    mrc_free(left);
    return rc;
}

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    struct reduced *r = self;
    mercer_status rc = MERCER_OK;
    *added = false;
    dual->ended = "there are no more than the labels have dimensions";
    if (!r->rows)
        MRC_TRY(solve(r, dual, err));
    while (!*added && r->next < r->count) {
        int64_t f = r->next++;
        MRC_TRY(mrc_deflation_add(dual, r->rows, r->subset, r->coefficients + f * r->subset,
                                  r->features + f * dual->n, added, err));
    }
out:
    return rc;
}

static mercer_status rkopls_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                                mercer_model *model, mercer_error *err)
{
    const struct rkopls_params *p = params;
    struct reduced r = {.subset = p->subset};
    mrc_supervised method = {.choose = choose,
                             .self = &r,
                             .sparse = true,
                             .few_columns = p->subset,
                             .scale = MRC_UNIT_FEATURES,
                             .work_columns =
                                 p->subset < problem->rows->n ? p->subset : problem->rows->n};
    mercer_status rc = mrc_supervised_fit(ctx, problem, &method, model, err);
    destroy(&r);
    return rc;
}

static void rkopls_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                        int64_t n, mrc_work *work)
{
    const struct rkopls_params *p = params;
    int64_t subset = p->subset < n ? p->subset : n;
    double m = (double)subset;
    const mrc_supervised method = {
        .choose = choose, .sparse = true, .few_columns = p->subset, .work_columns = subset};
    (void)ctx;
    mrc_supervised_work(problem, n, &method, 1, work);
    work->columns = m;
    work->flops += 2 * (double)n * m * m;
    work->order = m;
    work->points = m;
}

const mrc_method mrc_method_rkopls = {
    .entry = {.name = "rkopls",
              .summary = "reduced orthonormalised PLS, on rows drawn",
              .reference = "Arenas-Garcia, Petersen, Hansen 2006",
              .params = rkopls_schema},
    .params_size = sizeof(struct rkopls_params),
    .default_center = MRC_CENTER_NONE,
    .centers = "none|exact",
    .fit = rkopls_fit,
    .work = rkopls_work,
    .default_head = "ls",
};
