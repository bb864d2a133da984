/* SPDX-License-Identifier: BSD-3-Clause */
/* Coordinate ascent of the likelihood; see likelihood.h.
 *
 * A weight that changes by delta changes C by delta c_i c_i'. With v = V_i, h = H v, u = V h and
 * c = delta / (1 + delta s_i), the Sherman-Morrison formula gives, s and q entrywise,
 *     V <- V - c v v',  s <- s - c v v,  q <- q - 2 c u v + c^2 |h|^2 v v.
 * V is K / s2 less a sum of such terms, so columns of it and products with it take those of K and
 * 2 n each term. a = 1 - w s is kept by updates, too: it would lose all digits where a weight is
 * large beside the noise.
 *
 * q falls by powers of ten, and what rounding leaves in it stays: `doubt` adds it up. Before it
 * could change a choice, after a weight has fallen far (which takes the digits of v along) and
 * every 64 steps all is computed from the weights: with R = W^1/2 and the eigenpairs (Lambda, Y) of
 * R K_AA R, T = (I + Lambda / s2)^-1/2 Y' R K_A / s2,
 *     V = K / s2 - T'T,  a_i = sum_k Y_ik^2 / (1 + Lambda_k / s2).
 * Of a low-rank store K = F F', T = P F' and V = F N F' with N = I / s2 - P'P, so that
 * q_i = F_i' N F'HF N F_i. */
#include "methods/points/likelihood.h"

#include "gram/factor.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

enum {
    RENEW = 64,  /* steps after which all is computed anew: fewer cost time, more lose digits */
    FALL = 4,    /* and the factor by which 1 - w s may grow in one: as above */
    BLOCK = 128, /* rows of V made at once for that */
    STEPS = 100, /* per row, and some: gains that are only rounding would never end */
    MORE_STEPS = 10000
};
/* Gains this close, as shares, are equal. */
static const double EQUAL = 1e-9;
/* Rounding may put gains off by this share of the tolerance, and need not be below the second. */
static const double DOUBTFUL = 1e-3, EXACT_ENOUGH = 1e-9;

/* The share by which rounding may make something negative that is not. */
static double negative_share(const mrc_gram *gram)
{
    return fmax(1e-6, 1e3 * mrc_gram_eps(gram));
}

static mercer_status refuse_indefinite(mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_DATA,
                    "the kernel is not positive semidefinite on these rows, so it gives no "
                    "covariance and no likelihood");
}

void mrc_likelihood_destroy(mrc_likelihood *l)
{
    mrc_free(l->weights);
    mrc_free(l->s);
    mrc_free(l->q);
    mrc_free(l->left);
    mrc_free(l->doubt);
    mrc_free(l->active);
    mrc_free(l->t);
    mrc_free(l->sign);
    mrc_free(l->inner);
    mrc_free(l->scratch);
    memset(l, 0, sizeof *l);
}

mercer_status mrc_likelihood_init(mrc_likelihood *l, mercer_ctx *ctx, mrc_gram *gram,
                                  bool about_mean, double noise, mercer_error *err)
{
    int64_t n = mrc_gram_size(gram);
    const mrc_factor *f = mrc_gram_factor(gram);
    mercer_status rc = MERCER_OK;
    l->ctx = ctx;
    l->gram = gram;
    l->about_mean = about_mean;
    l->noise = noise;
    l->n = n;
    MRC_TRY(mrc_gram_diag(gram, &l->diag, err));
    MRC_TRY(mrc_alloc(&l->weights, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&l->s, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&l->q, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&l->left, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&l->doubt, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&l->active, n, sizeof *l->active, err));
    MRC_TRY(mrc_alloc2(&l->scratch, 4, n, sizeof(double), err));
    for (int64_t i = 0; i < n; i++) {
        if (l->diag[i] < -negative_share(gram) * mrc_gram_kmax(gram))
            MRC_TRY(refuse_indefinite(err));
        l->left[i] = 1;
        l->s[i] = l->diag[i] / noise;
    }
    MRC_TRY(about_mean ? mrc_gram_row_variances(gram, l->q, err)
                       : mrc_gram_row_norms2(gram, NULL, n, NULL, l->q, err));
    for (int64_t i = 0; i < n; i++)
        l->q[i] = l->q[i] / noise / noise;
    if (f) {
        mrc_factor_sums sums = {.about_mean = about_mean};
        MRC_TRY(mrc_alloc2(&l->inner, f->rank, f->rank, sizeof(double), err));
        MRC_TRY(mrc_factor_inner(f, &sums, l->inner, err));
    }
out:
    return rc;
}

double mrc_likelihood_limit(const mrc_likelihood *l)
{
    double limit = 0;
    for (int64_t i = 0; i < l->n; i++)
        if (l->s[i] > 0)
            limit = fmax(limit, l->q[i] / l->s[i] * l->noise / (double)l->n);
    return limit;
}

/* ---- the best change ---- */

struct gain {
    double weight, value, error;
};

/* What row i alone could gain, and by how much rounding may have put that off. */
static struct gain gain_of(const mrc_likelihood *l, int64_t i)
{
    double n = (double)l->n, left = l->left[i], w = l->weights[i];
    struct gain g = {.weight = w};
    if (!(l->s[i] > 0))
        return g;
    double s = l->s[i] / left, q = l->q[i] / (left * left), theta = q / (n * s);
    g.weight = theta > 1 ? (theta - 1) / s : 0;
    double now = w / (1 + w * s), then = g.weight / (1 + g.weight * s);
    /* log of a quotient: of like weights it is small, and so are its errors */
    g.value = (q * (then - now) - n * log1p((g.weight - w) * s / (1 + w * s))) / 2;
    g.error = l->doubt[i] / (left * left) * fabs(then - now) / 2;
    return g;
}

void mrc_likelihood_best(const mrc_likelihood *l, bool may_add, mrc_likelihood_change *out)
{
    struct gain best = {0};
    *out = (mrc_likelihood_change){.row = -1};
    for (int64_t i = 0; i < l->n; i++) {
        struct gain g = gain_of(l, i);
        if (l->weights[i] == 0 && (!may_add || g.weight == 0))
            continue;
        out->error = fmax(out->error, g.error);
        if (g.value > best.value)
            best = g;
    }
    for (int pass = 0; best.value > 0 && pass < 2 && out->row < 0; pass++)
        for (int64_t i = 0; i < l->n && out->row < 0; i++) {
            struct gain g = gain_of(l, i);
            bool wanted = pass == 0 ? l->weights[i] > 0 : may_add && g.weight > 0;
            if (wanted && g.value > 0 &&
                g.value + g.error >= best.value * (1 - EQUAL) - best.error) {
                out->row = i;
                out->weight = g.weight;
                out->gain = g.value;
            }
        }
}

/* ---- making it ---- */

/* Room for this number of terms. */
static mercer_status reserve(mrc_likelihood *l, int64_t terms, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (terms <= l->capacity)
        return MERCER_OK;
    int64_t wanted = terms + terms / 2 + 8;
    MRC_TRY(mrc_grow(&l->sign, wanted, sizeof *l->sign, err));
    MRC_TRY(mrc_grow(&l->t, wanted * l->n, sizeof *l->t, err));
    l->capacity = wanted;
out:
    return rc;
}

static void subtract_mean(int64_t n, double *v)
{
    double mean = 0;
    for (int64_t t = 0; t < n; t++)
        mean += v[t] / (double)n;
    for (int64_t t = 0; t < n; t++)
        v[t] -= mean;
}

/* v = V_i, h = H v, product = K h, u = V h. */
static mercer_status find_images(const mrc_likelihood *l, int64_t i, double *v, double *h,
                                 double *product, double *u, mercer_error *err)
{
    int64_t n = l->n;
    double *along = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&along, l->terms + 1, sizeof *along, err));
    MRC_TRY(mrc_gram_columns(l->gram, &i, 1, v, err));
    for (int64_t r = 0; r < l->terms; r++)
        along[r] = l->sign[r] * l->t[r * n + i];
    mrc_wide_times(l->ctx, l->t, l->terms, n, -1, along, 1 / l->noise, v);
    memcpy(h, v, (size_t)n * sizeof *h);
    if (l->about_mean)
        subtract_mean(n, h);
    MRC_TRY(mrc_gram_apply(l->gram, h, 1, product, err));
    MRC_TRY(mrc_wide_dots(l->ctx, l->t, l->terms, n, h, along, err));
    for (int64_t r = 0; r < l->terms; r++)
        along[r] *= l->sign[r];
    memcpy(u, product, (size_t)n * sizeof *u);
    mrc_wide_times(l->ctx, l->t, l->terms, n, -1, along, 1 / l->noise, u);
out:
    mrc_free(along);
    return rc;
}

/* Row i joins those with a weight, or leaves them. */
static void set_weight(mrc_likelihood *l, int64_t i, double weight)
{
    int64_t kept = 0;
    if (l->weights[i] == 0)
        l->active[l->count++] = i;
    l->weights[i] = weight;
    for (int64_t r = 0; r < l->count; r++)
        if (l->weights[l->active[r]] > 0)
            l->active[kept++] = l->active[r];
    l->count = kept;
}

mercer_status mrc_likelihood_make(mrc_likelihood *l, const mrc_likelihood_change *change,
                                  mercer_error *err)
{
    int64_t n = l->n, i = change->row;
    double *v = l->scratch, *h = v + n, *u = h + n, *product = u + n, w = l->weights[i];
    double eps = 32 * mrc_gram_eps(l->gram);
    double least = -negative_share(l->gram) * mrc_gram_kmax(l->gram);
    mercer_status rc = MERCER_OK;
    MRC_TRY(reserve(l, l->terms + 1, err));
    MRC_TRY(find_images(l, i, v, h, product, u, err));
    double h2 = mrc_dot(h, h, n);
    if (mrc_dot(h, product, n) < least * h2)
        MRC_TRY(refuse_indefinite(err));

    double s = l->s[i] / l->left[i], q = l->q[i] / (l->left[i] * l->left[i]);
    double left = 1 / (1 + change->weight * s), ratio = left / l->left[i];
    double c = (change->weight - w) * ratio, root = sqrt(fabs(c));
    /* rounding of v and of u, in units of eps: both are differences of what K / s2 has */
    double off_v = mrc_gram_kmax(l->gram) / l->noise, off_u = off_v * sqrt((double)n * h2);
    for (int64_t t = 0; t < n; t++) {
        double cross = 2 * c * v[t], square = c * v[t] * (c * v[t]) * h2;
        l->t[l->terms * n + t] = root * v[t];
        l->q[t] = fmax(l->q[t] - cross * u[t] + square, 0);
        l->s[t] -= c * v[t] * v[t];
        l->left[t] = fmin(l->left[t] + c * v[t] * v[t] * l->weights[t], 1);
        l->doubt[t] += eps * (l->q[t] + square + fabs(cross) * (fabs(u[t]) + off_u) +
                              2 * fabs(c) * (fabs(u[t]) + fabs(c * v[t]) * h2) * off_v);
        if (l->s[t] < least / l->noise)
            MRC_TRY(refuse_indefinite(err));
    }
    l->sign[l->terms++] = c < 0 ? -1 : 1;
    l->s[i] = s * left;
    l->q[i] = q * left * left;
    l->left[i] = left;
    set_weight(l, i, change->weight);
    l->gained += change->gain;
    l->steps++;
    l->since++;
    if (ratio > FALL)
        MRC_TRY(mrc_likelihood_renew(l, err));
out:
    return rc;
}

/* ---- all from the weights ---- */

/* T, s and a from the weights. *map: P with T = P K_A, count x count, from mrc_alloc. */
static mercer_status renew_terms(mrc_likelihood *l, double **map, mercer_error *err)
{
    int64_t m = l->count, n = l->n;
    double *columns = NULL, *axes = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(reserve(l, m, err));
    MRC_TRY(mrc_alloc2_raw(&columns, m, n, sizeof *columns, err));
    MRC_TRY(mrc_alloc2(&axes, m, m, sizeof *axes, err));
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    MRC_TRY(mrc_alloc2(map, m, m, sizeof **map, err));
    MRC_TRY(mrc_gram_columns(l->gram, l->active, m, columns, err));
    for (int64_t a = 0; a < m; a++)
        for (int64_t b = 0; b <= a; b++)
            axes[a * m + b] = columns[a * n + l->active[b]] / l->noise *
                              sqrt(l->weights[l->active[a]]) * sqrt(l->weights[l->active[b]]);
    MRC_TRY(mrc_eigen_symmetric(l->ctx, m, axes, values, err));
    if (values[0] < -negative_share(l->gram) * fabs(values[m - 1]))
        MRC_TRY(refuse_indefinite(err));
    for (int64_t k = 0; k < m; k++)
        for (int64_t a = 0; a < m; a++)
            (*map)[k * m + a] = axes[k * m + a] * sqrt(l->weights[l->active[a]]) / l->noise /
                                sqrt(1 + fmax(values[k], 0));
    MRC_TRY(mrc_tall_times_checked(l->ctx, m, n, m, 1, *map, m, columns, n, 0, l->t, n, err));
    l->terms = m;
    for (int64_t i = 0; i < n; i++) {
        l->s[i] = l->diag[i] / l->noise;
        l->left[i] = 1;
    }
    for (int64_t k = 0; k < m; k++) {
        l->sign[k] = 1;
        for (int64_t i = 0; i < n; i++)
            l->s[i] -= l->t[k * n + i] * l->t[k * n + i];
    }
    for (int64_t a = 0; a < m; a++) {
        int64_t i = l->active[a];
        double left = 0;
        for (int64_t k = 0; k < m; k++)
            left += axes[k * m + a] * axes[k * m + a] / (1 + fmax(values[k], 0));
        l->left[i] = fmin(left, 1);
        if (l->weights[i] * l->diag[i] > l->noise) /* the form with fewer rounding errors */
            l->s[i] = (1 - l->left[i]) / l->weights[i];
    }
out:
    mrc_free(columns);
    mrc_free(axes);
    mrc_free(values);
    return rc;
}

/* q_i = |H V_i|^2, a block of rows of V at a time. */
static mercer_status renew_squares(mrc_likelihood *l, mercer_error *err)
{
    int64_t m = l->count, n = l->n, rows[BLOCK];
    double *block = NULL, *own = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&block, n < BLOCK ? n : BLOCK, n, sizeof *block, err));
    MRC_TRY(mrc_alloc2_raw(&own, BLOCK, m, sizeof *own, err));
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t some = n - first < BLOCK ? n - first : BLOCK;
        for (int64_t b = 0; b < some; b++) {
            rows[b] = first + b;
            for (int64_t k = 0; k < m; k++)
                own[b * m + k] = l->t[k * n + first + b];
        }
        MRC_TRY(mrc_gram_columns(l->gram, rows, some, block, err));
        MRC_TRY(mrc_tall_times_checked(l->ctx, some, n, m, -1, own, m, l->t, n, 1 / l->noise, block,
                                       n, err));
        for (int64_t b = 0; b < some; b++) {
            double *row = block + b * n;
            if (l->about_mean)
                subtract_mean(n, row);
            l->q[first + b] = mrc_dot(row, row, n);
        }
    }
out:
    mrc_free(block);
    mrc_free(own);
    return rc;
}

/* The same in the coordinates of a factor. */
static mercer_status renew_in_factor(mrc_likelihood *l, const mrc_factor *f, const double *map,
                                     mercer_error *err)
{
    int64_t m = l->count, q = f->rank;
    double *rows = NULL, *p = NULL, *inverse = NULL, *half = NULL, *whole = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&rows, m, q, sizeof *rows, err));
    MRC_TRY(mrc_alloc2_raw(&p, m, q, sizeof *p, err));
    MRC_TRY(mrc_alloc2(&inverse, q, q, sizeof *inverse, err));
    MRC_TRY(mrc_alloc2_raw(&half, q, q, sizeof *half, err));
    MRC_TRY(mrc_alloc2_raw(&whole, q, q, sizeof *whole, err));
    mrc_factor_rows(f, l->active, m, rows);
    mrc_tall_times(l->ctx, m, q, m, 1, map, m, rows, q, 0, p, q);
    MRC_TRY(mrc_gram_of_columns(l->ctx, p, m, q, q, inverse, err));
    for (int64_t k = 0; k < q * q; k++)
        inverse[k] = (k % (q + 1) == 0 ? 1 / l->noise : 0) - inverse[k];
    MRC_TRY(mrc_tall_times_checked(l->ctx, q, q, q, 1, inverse, q, l->inner, q, 0, half, q, err));
    MRC_TRY(mrc_tall_times_checked(l->ctx, q, q, q, 1, half, q, inverse, q, 0, whole, q, err));
    MRC_TRY(mrc_factor_quadratic(f, whole, l->q, err));
    for (int64_t i = 0; i < l->n; i++)
        l->q[i] = fmax(l->q[i], 0);
out:
    mrc_free(rows);
    mrc_free(p);
    mrc_free(inverse);
    mrc_free(half);
    mrc_free(whole);
    return rc;
}

mercer_status mrc_likelihood_renew(mrc_likelihood *l, mercer_error *err)
{
    const mrc_factor *f = mrc_gram_factor(l->gram);
    double *map = NULL;
    mercer_status rc = MERCER_OK;
    l->since = 0;
    if (l->count == 0)
        return MERCER_OK;
    MRC_TRY(renew_terms(l, &map, err));
    MRC_TRY(f ? renew_in_factor(l, f, map, err) : renew_squares(l, err));
    memset(l->doubt, 0, (size_t)l->n * sizeof *l->doubt);
out:
    mrc_free(map);
    return rc;
}

mercer_status mrc_likelihood_climb(mrc_likelihood *l, int64_t most, double tolerance,
                                   mercer_error *err)
{
    double n = (double)l->n, doubtful = fmax(DOUBTFUL * tolerance, EXACT_ENOUGH) * n;
    mrc_likelihood_change change;
    mercer_status rc = MERCER_OK;
    while (l->steps < STEPS * l->n + MORE_STEPS) {
        mrc_progress(l->ctx, "weights of rows", -1);
        MRC_TRY(mrc_check_cancel(l->ctx, err));
        mrc_likelihood_best(l, l->count < most, &change);
        if (l->since >= RENEW || (l->since > 0 && change.error > doubtful)) {
            MRC_TRY(mrc_likelihood_renew(l, err));
            mrc_likelihood_best(l, l->count < most, &change);
        }
        if (change.row < 0 || change.gain <= tolerance * n) {
            l->converged = true;
            break;
        }
        MRC_TRY(mrc_likelihood_make(l, &change, err));
    }
out:
    return rc;
}
