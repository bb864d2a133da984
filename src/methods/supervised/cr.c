/* SPDX-License-Identifier: BSD-3-Clause */
/* Continuum regression: from least squares (alpha = 0) over partial least squares (1/2) to
 * principal components (1), one criterion (Stone, Brooks 1990):
 *     maximise |Y'X_j u|^2 (u'X_j'X_j u)^(g - 1) over |u| = 1,  g = alpha / (1 - alpha).
 *
 * Let P_j K P_j = V W V' (the eigenvectors of K once, then an eigenproblem of the order of its rank
 * a feature), R = V'Y, and (a, s) = (|Y'X_j u|^2, u'X_j'X_j u). The pairs (a, s) of all unit u fill
 * a convex set and the criterion grows with a, so the best u is the leading eigenvector of some
 * X_j'YY'X_j + m X_j'X_j, m = (g - 1) a / s. In the eigenbasis that is
 *     u_i = sqrt(w_i) (r_i'c) / (w_i + d),  c leading eigenvector of sum_i w_i r_i r_i' / (w_i +
 * d), with d (g - 1) = -g s: d = 0 at alpha = 0, positive up to 1/2, infinite there, and below -w_1
 * beyond. Below 1/2 there may be several such d, all between g / (1 - g) times the ends of what s
 * can be: a grid finds them and the best is taken. Beyond 1/2 there is one. */
#include "methods/supervised/supervised.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

struct cr_params {
    double components;
    double alpha;
    int points;
};

static const mrc_param cr_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct cr_params, 10),
    MRC_REAL(struct cr_params, alpha, 0.5, 0, 1,
             "0: least squares, 0.5: partial least squares, 1: principal components, or between"),
    MRC_STORED_ROWS(struct cr_params), MRC_PARAM_END};

static const double RANGE = 1e-10;   /* of the first eigenvalue of K: what counts */
static const double NOTHING = 1e-12; /* of what Y'X could be: nothing is left of it */
static const double EQUAL = 1e-10;   /* relative difference of eigenvalues that are one */
enum { HALVINGS = 200, PER_E = 10 }; /* steps to rounding, and of the grid for a factor of e */

struct continuum {
    double alpha;
    double least;       /* eigenvalues at or below are left out */
    int64_t dimensions; /* of the labels */
    mrc_spectrum k;
    /* The spectrum of P_j K P_j: eigenvalues, decreasing; eigenvectors in terms of those of K (in
     * rows, from the smallest); labels. */
    int64_t rank, outputs;
    double *values, *vectors, *labels;
    double *u;            /* rank: the direction at hand, of length one */
    double *inner, *eigs; /* outputs x outputs and outputs */
};

static void destroy(struct continuum *w)
{
    mrc_spectrum_destroy(&w->k);
    mrc_free(w->values);
    mrc_free(w->vectors);
    mrc_free(w->labels);
    mrc_free(w->u);
    mrc_free(w->inner);
    mrc_free(w->eigs);
}

/* ---- the eigenbasis ---- */

/* A low-rank store gives eigenvectors that are orthogonal to eps sqrt(l_1 / l_i), the leading ones
 * being the better: take them off the others. What is left is of second order. */
static mercer_status orthogonalise(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    int64_t q = w->k.count, n = dual->n;
    double *inner = NULL, *better = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, q, q, sizeof *inner, err));
    MRC_TRY(mrc_alloc2_raw(&better, n, q, sizeof *better, err));
    MRC_TRY(mrc_gram_of_columns(dual->ctx, w->k.vectors, n, q, q, inner, err));
    for (int64_t i = 0; i < q; i++)
        for (int64_t j = 0; j < q; j++)
            inner[i * q + j] = i < j ? -inner[i * q + j] : i == j ? 1 / sqrt(inner[i * q + i]) : 0;
    MRC_TRY(mrc_tall_times_checked(dual->ctx, n, q, q, 1, w->k.vectors, q, inner, q, 0, better, q,
                                   err));
    mrc_free(w->k.vectors);
    w->k.vectors = better;
    better = NULL;
out:
    mrc_free(inner);
    mrc_free(better);
    return rc;
}

static mercer_status reserve(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    int64_t m = w->outputs = dual->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_spectrum(dual->gram, dual->n, 0, &w->k, err));
    int64_t q = w->k.count;
    if (q > 0 && mrc_gram_factor(dual->gram))
        MRC_TRY(orthogonalise(w, dual, err));
    MRC_TRY(mrc_alloc(&w->values, q, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&w->vectors, q, q, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&w->labels, q, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->u, q, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&w->inner, m, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->eigs, m, sizeof(double), err));
    w->least = q > 0 ? RANGE * w->k.values[0] : 0;
    MRC_TRY(mrc_gram_of_columns(dual->ctx, dual->y, dual->n, m, m, w->inner, err));
    MRC_TRY(mrc_eigen_symmetric(dual->ctx, m, w->inner, w->eigs, err));
    for (int64_t c = 0; c < m; c++)
        w->dimensions += w->eigs[c] > NOTHING * w->eigs[m - 1];
out:
    return rc;
}

/* P L P in the eigenbasis of K, P = I - ZZ', Z = V'Q:
 * L - Z S' - SZ',  S = LZ - Z (Z'LZ) / 2. */
static mercer_status take_features_off(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    int64_t q = w->k.count, j = dual->count, n = dual->n;
    double *features = NULL, *z = NULL, *s = NULL, *inner = NULL, *across = NULL, *h = w->vectors;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&features, n, j, sizeof *features, err));
    MRC_TRY(mrc_alloc2(&z, q, j, sizeof *z, err));
    MRC_TRY(mrc_alloc2(&s, q, j, sizeof *s, err));
    MRC_TRY(mrc_alloc2(&inner, j, j, sizeof *inner, err));
    MRC_TRY(mrc_alloc2(&across, j, q, sizeof *across, err));
    mrc_transpose(dual->q, j, n, features);
    MRC_TRY(mrc_tall_product(dual->ctx, w->k.vectors, q, q, features, j, j, n, z, err));
    for (int64_t i = 0; i < q; i++)
        for (int64_t t = 0; t < j; t++)
            s[i * j + t] = w->k.values[i] * z[i * j + t];
    MRC_TRY(mrc_tall_product(dual->ctx, z, j, j, s, j, j, q, inner, err));
    mrc_tall_times(dual->ctx, q, j, j, -0.5, z, j, inner, j, 1, s, j);
    memset(h, 0, (size_t)(q * q) * sizeof *h);
    for (int64_t i = 0; i < q; i++)
        h[i * (q + 1)] = w->k.values[i];
    mrc_transpose(s, q, j, across);
    MRC_TRY(mrc_tall_times_checked(dual->ctx, q, q, j, -1, z, j, across, q, 1, h, q, err));
    mrc_transpose(z, q, j, across);
    MRC_TRY(mrc_tall_times_checked(dual->ctx, q, q, j, -1, s, j, across, q, 1, h, q, err));
out:
    mrc_free(features);
    mrc_free(z);
    mrc_free(s);
    mrc_free(inner);
    mrc_free(across);
    return rc;
}

/* Eigenvalues above the least, eigenvectors and labels of P_j K P_j. */
static mercer_status decompose(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    int64_t q = w->k.count, m = w->outputs;
    double *labels = NULL, *turned = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&labels, q, m, sizeof *labels, err));
    MRC_TRY(mrc_alloc2(&turned, q, m, sizeof *turned, err));
    MRC_TRY(
        mrc_tall_product(dual->ctx, w->k.vectors, q, q, dual->rest, m, m, dual->n, labels, err));
    if (dual->count > 0) {
        MRC_TRY(take_features_off(w, dual, err));
        MRC_TRY(mrc_eigen_symmetric(dual->ctx, q, w->vectors, w->values, err));
        for (int64_t i = 0; i < q / 2; i++) {
            double swap = w->values[i];
            w->values[i] = w->values[q - 1 - i];
            w->values[q - 1 - i] = swap;
        }
    } else {
        memcpy(w->values, w->k.values, (size_t)q * sizeof *w->values);
        memset(w->vectors, 0, (size_t)(q * q) * sizeof *w->vectors);
        for (int64_t i = 0; i < q; i++)
            w->vectors[i * q + q - 1 - i] = 1;
    }
    for (w->rank = 0; w->rank < q && w->values[w->rank] > w->least;)
        w->rank++;
    mrc_tall_times(dual->ctx, q, m, q, 1, w->vectors, q, labels, m, 0, turned, m);
    for (int64_t i = 0; i < w->rank; i++)
        memcpy(w->labels + i * m, turned + (q - 1 - i) * m, (size_t)m * sizeof *turned);
out:
    mrc_free(labels);
    mrc_free(turned);
    return rc;
}

/* ---- the search ---- */

/* Where on the curve: w_i + d, or beyond 1/2 -(w_i + d) = (w_1 - w_i) + e. */
struct place {
    bool beyond;
    double shift; /* d or e; INFINITY: the limit of large ones, as at 1/2 */
};

static double divisor(const struct continuum *w, struct place at, int64_t i)
{
    if (isinf(at.shift))
        return 1;
    return at.beyond ? w->values[0] - w->values[i] + at.shift : w->values[i] + at.shift;
}

/* c into w->inner's last row: leading eigenvector of sum over i of w_i r_i r_i' / divisor. */
static mercer_status lead_labels(struct continuum *w, mrc_deflation *dual, struct place at,
                                 int64_t rank, mercer_error *err)
{
    int64_t m = w->outputs;
    memset(w->inner, 0, (size_t)(m * m) * sizeof *w->inner);
    for (int64_t i = 0; i < rank; i++) {
        const double *r = w->labels + i * m;
        double weight = w->values[i] / divisor(w, at, i);
        for (int64_t a = 0; a < m; a++)
            for (int64_t b = 0; b <= a; b++)
                w->inner[a * m + b] += weight * r[a] * r[b];
    }
    return m == 1 ? MERCER_OK : mrc_eigen_symmetric(dual->ctx, m, w->inner, w->eigs, err);
}

/* Let u be the point of the curve, from the first `rank` eigenvectors; then *criterion is the
 * logarithm of what is to be as large as possible, and *slope the sign of where it lies: positive
 * when the shift is too large. */
static mercer_status visit(struct continuum *w, mrc_deflation *dual, struct place at, int64_t rank,
                           double *criterion, double *slope, mercer_error *err)
{
    int64_t m = w->outputs;
    double g = w->alpha / (1 - w->alpha), norm2 = 0, s = 0, gap = 0, a = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(lead_labels(w, dual, at, rank, err));
    const double one = 1, *c = m == 1 ? &one : w->inner + (m - 1) * m;
    memset(w->u, 0, (size_t)w->rank * sizeof *w->u);
    for (int64_t i = 0; i < rank; i++) {
        w->u[i] = sqrt(w->values[i]) * mrc_dot(w->labels + i * m, c, m) / divisor(w, at, i);
        norm2 += w->u[i] * w->u[i];
    }
    for (int64_t i = 0; i < rank; i++) {
        w->u[i] /= sqrt(norm2);
        s += w->values[i] * w->u[i] * w->u[i];
        gap += (w->values[0] - w->values[i]) * w->u[i] * w->u[i];
    }
    for (int64_t b = 0; b < m; b++) {
        double dot = 0;
        for (int64_t i = 0; i < rank; i++)
            dot += sqrt(w->values[i]) * w->labels[i * m + b] * w->u[i];
        a += dot * dot;
    }
    *criterion = log(a) + (g - 1) * log(s);
    /* d (1 - g) = g s; beyond 1/2 (w_1 + e)(g - 1) = g s, with s = w_1 - gap */
    *slope = at.beyond ? (g - 1) * at.shift + g * gap - w->values[0] : (1 - g) * at.shift - g * s;
out:
    return rc;
}

/* The shift between low and high (of different slopes) where the slope changes, to rounding; u is
 * left there. */
static mercer_status halve(struct continuum *w, mrc_deflation *dual, bool beyond, double low,
                           double high, double *criterion, mercer_error *err)
{
    double slope, middle = high;
    mercer_status rc = MERCER_OK;
    for (int step = 0; step < HALVINGS && high > low * (1 + DBL_EPSILON); step++) {
        middle = sqrt(low) * sqrt(high);
        if (!(middle > low && middle < high))
            break;
        MRC_TRY(visit(w, dual, (struct place){beyond, middle}, w->rank, criterion, &slope, err));
        *(slope > 0 ? &high : &low) = middle;
    }
    MRC_TRY(visit(w, dual, (struct place){beyond, middle}, w->rank, criterion, &slope, err));
out:
    return rc;
}

/* Below 1/2. Where the slope turns positive the criterion has a maximum. */
static mercer_status search_below(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    double g = w->alpha / (1 - w->alpha), most = -INFINITY, best = 0, criterion, slope;
    double low = g / (1 - g) * w->values[w->rank - 1] / 2, high = g / (1 - g) * w->values[0] * 2;
    int64_t steps = 1 + (int64_t)(PER_E * log(high / low));
    double ratio = exp(log(high / low) / (double)steps), at = low, before = -1;
    mercer_status rc = MERCER_OK;
    for (int64_t step = 0; step <= steps; step++, at *= ratio) {
        MRC_TRY(visit(w, dual, (struct place){false, at}, w->rank, &criterion, &slope, err));
        bool crossed = step > 0 && before <= 0 && slope > 0;
        before = slope;
        if (!crossed)
            continue;
        MRC_TRY(halve(w, dual, false, at / ratio, at, &criterion, err));
        if (criterion > most) {
            most = criterion;
            best = at;
        }
    }
    MRC_TRY(halve(w, dual, false, best / ratio, best, &criterion, err));
out:
    return rc;
}

/* Beyond 1/2: the slope grows with the shift. Where it is positive down to nothing, the labels have
 * no part in the leading eigenvector, and as much of it is added as makes the slope zero. */
static mercer_status search_beyond(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    double g = w->alpha / (1 - w->alpha), top = w->values[0], criterion, slope;
    double low = 1e-30 * top, high = 2 * top / (g - 1), gap = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(visit(w, dual, (struct place){true, low}, w->rank, &criterion, &slope, err));
    if (slope <= 0) {
        MRC_TRY(halve(w, dual, true, low, high, &criterion, err));
        goto out;
    }
    for (int64_t i = 0; i < w->rank; i++)
        gap += (top - w->values[i]) * w->u[i] * w->u[i];
    double part = sqrt(g * gap / top - 1), norm = sqrt(g * gap / top);
    w->u[0] += part;
    for (int64_t i = 0; i < w->rank; i++)
        w->u[i] /= norm;
out:
    return rc;
}

/* The leading eigenvector, or of several with one eigenvalue what has most to do with the labels.
 */
static mercer_status take_leading(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    double criterion, slope;
    int64_t equal = 1;
    mercer_status rc = MERCER_OK;
    while (equal < w->rank && w->values[equal] >= w->values[0] * (1 - EQUAL))
        equal++;
    if (equal > 1)
        MRC_TRY(visit(w, dual, (struct place){.shift = INFINITY}, equal, &criterion, &slope, err));
    if (equal == 1 || !isfinite(w->u[0])) {
        memset(w->u, 0, (size_t)w->rank * sizeof *w->u);
        w->u[0] = 1;
    }
out:
    return rc;
}

/* Whether what is left of the labels has anything to do with what is left of the rows. */
static bool has_covariance(const struct continuum *w, const mrc_deflation *dual)
{
    int64_t m = w->outputs;
    double sum = 0;
    for (int64_t i = 0; i < w->rank; i++)
        sum += w->values[i] * mrc_dot(w->labels + i * m, w->labels + i * m, m);
    double most = w->k.values[0] * mrc_dot(dual->y, dual->y, dual->n * m);
    return sum > NOTHING * NOTHING * most;
}

static mercer_status search(struct continuum *w, mrc_deflation *dual, mercer_error *err)
{
    double criterion, slope;
    if (w->alpha == 1)
        return take_leading(w, dual, err);
    if (w->alpha == 0)
        return visit(w, dual, (struct place){false, 0}, w->rank, &criterion, &slope, err);
    return w->alpha < 0.5 ? search_below(w, dual, err) : search_beyond(w, dual, err);
}

/* ---- the method ---- */

/* beta = V W^-1/2 u in terms of the rows. */
static mercer_status find_beta(const struct continuum *w, mrc_deflation *dual, double *beta,
                               mercer_error *err)
{
    int64_t q = w->k.count;
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&inner, q, sizeof *inner, err));
    for (int64_t i = 0; i < w->rank; i++)
        for (int64_t t = 0; t < q; t++)
            inner[t] += w->vectors[(q - 1 - i) * q + t] * w->u[i] / sqrt(w->values[i]);
    mrc_tall_times(dual->ctx, dual->n, 1, q, 1, w->k.vectors, q, inner, 1, 0, beta, 1);
out:
    mrc_free(inner);
    return rc;
}

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    struct continuum *w = self;
    double *beta = NULL;
    mercer_status rc = MERCER_OK;
    *added = false;
    MRC_TRY(mrc_alloc(&beta, dual->n, sizeof *beta, err));
    if (!w->values)
        MRC_TRY(reserve(w, dual, err));
    /* Least squares leaves nothing but what its small eigenvalues cost in digits. */
    if (w->alpha == 0 && dual->count == w->dimensions) {
        dual->ended = "least squares has no more than the labels have dimensions";
        goto out;
    }
    MRC_TRY(decompose(w, dual, err));
    /* A direction of small eigenvalues may be too long for the digits there are: without them. */
    while (!*added && w->rank > 0 && (w->alpha == 1 || has_covariance(w, dual))) {
        MRC_TRY(mrc_check_cancel(dual->ctx, err));
        MRC_TRY(search(w, dual, err));
        MRC_TRY(find_beta(w, dual, beta, err));
        MRC_TRY(mrc_deflation_add(dual, NULL, dual->n, beta, NULL, added, err));
        for (w->least *= *added ? 1 : 10; w->rank > 0 && w->values[w->rank - 1] <= w->least;)
            w->rank--;
    }
out:
    mrc_free(beta);
    return rc;
}

static mercer_status cr_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                            mercer_model *model, mercer_error *err)
{
    const struct cr_params *p = params;
    int64_t n = problem->rows->n;
    struct continuum w = {.alpha = p->alpha};
    mrc_supervised method = {.choose = choose,
                             .self = &w,
                             .solver_columns = mrc_spectrum_columns(n, n) + 4 * n,
                             .follows_rest = p->alpha > 0}; /* else it says why it ends */
    if (p->alpha == 0.5)                                    /* needs no eigenvectors */
        return mrc_kpls_features(ctx, problem, false, model, err);
    mercer_status rc = mrc_supervised_fit(ctx, problem, &method, model, err);
    destroy(&w);
    return rc;
}

static void cr_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                    int64_t n, mrc_work *work)
{
    const struct cr_params *p = params;
    const mrc_supervised method = {.choose = choose,
                                   .solver_columns = mrc_spectrum_columns(n, n) + 4 * n};
    if (p->alpha == 0.5) {
        mrc_kpls_work(ctx, params, problem, n, work);
        return;
    }
    mrc_supervised_work(problem, n, &method, 2, work);
    work->pairs = (double)n;
    work->spread = 3;
}

static bool cr_on_pivots(const void *params)
{
    const struct cr_params *p = params;
    return p->points == MRC_ROWS_AUTO;
}

const mrc_method mrc_method_cr = {
    .entry = {.name = "cr",
              .summary = "continuum regression",
              .reference = "Stone, Brooks 1990",
              .params = cr_schema},
    .params_size = sizeof(struct cr_params),
    .default_center = MRC_CENTER_EXACT,
    .fit = cr_fit,
    .on_pivots = cr_on_pivots,
    .work = cr_work,
    .cheaper = "kpls",
    .default_head = "ls",
};
