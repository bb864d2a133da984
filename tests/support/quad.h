/* SPDX-License-Identifier: BSD-3-Clause */
/* Greedy selection in quadruple precision (33 digits), along the picks of a fit, and what rounding
 * in double precision explains of its scores.
 *
 * How far scores can be off. A fit works with numbers of 53 bits, u = 2^-53. Whatever it does, it
 * deflates a matrix K + E instead of K:
 *   - kernel values are rounded: E_jt has `values` kmax of that, which the caller knows;
 *   - U with K_S = U U_S' is a Cholesky factor, row by row: column s of row j is a rounded sum of
 *     s + 1 terms whose moduli add up to at most 2 kmax, and so is the deflated row K_j - U U_j'
 *     that is looked at: 3 (i + 1) roundings of u kmax after i rows, with signs of their own, which
 *     add up to sqrt(3 (i + 1)) u kmax.
 * What is left of image j is w_j = phi_j + sum_s W_js phi_s, so to first order entry (j, t) of the
 * deflated matrix moves by w_j' E w_t. With errors of independent signs and size eta that is a sum
 * of standard deviation eta |w_j| |w_t|, |w_j|^2 = 1 + sum_s W_js^2, and six of them are not seen
 * in practice. This is the condition of the problem, not of an algorithm: no arithmetic of 53 bits
 * does better. From it follow intervals for d_j, for r_j (every square moves by (2 |k_jt| + e) e)
 * and for the weights, dW_j = K_SS^-1 (E_Sj + E_SS W_j), and with them for each score. */
#ifndef MERCER_TESTS_QUAD_H
#define MERCER_TESTS_QUAD_H

#include "deflation.h"
#include "quadruple.h"

#include <stdio.h>

static const double UNIT = DBL_EPSILON / 2;

struct quad_deflation {
    int64_t n, wanted, count;
    double kmax;     /* largest diagonal entry of the matrix before it was centred */
    double largest;  /* and of the one that is deflated */
    double values;   /* errors of its entries, in units of kmax */
    quad *k;         /* n x n */
    quad *w;         /* W, n x wanted */
    double *inverse; /* K_SS^-1, wanted x wanted */
    int64_t *picks;
    signed char *active; /* 1: a row of the data, 0: cut, -1: cut or not, by rounding */
    /* What every row has at this step. */
    double *norm; /* |w_j| */
    double *sum;  /* L_j = 1 + sum_s |W_js| */
    double *residual, *score, *least, *most;
    double *low, *high; /* of the residual */
};

/* Deflation of an n x n matrix, centred first if wanted; values: errors of its entries. */
static inline struct quad_deflation quad_start(const double *gram, int64_t n, int64_t wanted,
                                               bool centered, double values)
{
    struct quad_deflation f = {.n = n, .wanted = wanted, .values = values};
    quad *mean = new_quads(n), grand = 0;
    f.k = new_quads(n * n);
    f.w = new_quads(n * wanted);
    f.inverse = new_doubles(wanted * wanted);
    f.norm = new_doubles(8 * n);
    f.residual = f.norm + n;
    f.score = f.norm + 2 * n;
    f.least = f.norm + 3 * n;
    f.most = f.norm + 4 * n;
    f.low = f.norm + 5 * n;
    f.high = f.norm + 6 * n;
    f.sum = f.norm + 7 * n;
    f.picks = calloc((size_t)wanted + 1, sizeof *f.picks);
    f.active = calloc((size_t)n, 1);
    assert_true(f.picks && f.active);
    for (int64_t i = 0; i < n; i++) {
        f.active[i] = 1;
        for (int64_t j = 0; j < n; j++) {
            f.kmax = fmax(f.kmax, fabs(gram[i * n + j]));
            f.k[i * n + j] = gram[i * n + j];
            mean[i] += f.k[i * n + j] / (quad)n;
        }
        grand += mean[i] / (quad)n;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; centered && j < n; j++)
            f.k[i * n + j] += grand - mean[i] - mean[j];
        f.largest = fmax(f.largest, (double)f.k[i * (n + 1)]);
    }
    free(mean);
    return f;
}

static inline void quad_free(struct quad_deflation *f)
{
    free(f->k);
    free(f->w);
    free(f->inverse);
    free(f->norm);
    free(f->picks);
    free(f->active);
}

/* Six times eta: see above. */
static inline double quad_blur(const struct quad_deflation *f)
{
    return 6 * (f->values + sqrt(3 * (double)(f->count + 1)) * UNIT) * f->kmax;
}

/* r_j and how far it can be off, to either side. */
static inline double quad_energy(const struct quad_deflation *f, int64_t j, bool spread,
                                 double *below, double *above)
{
    int64_t n = f->n;
    const quad *row = f->k + j * n;
    quad mean = 0;
    double middle = 0, sum = 0, eta = quad_blur(f);
    *below = *above = 0;
    for (int64_t t = 0; spread && t < n; t++) {
        mean += row[t] / (quad)n;
        middle += f->norm[t] / (double)n;
    }
    for (int64_t t = 0; t < n; t++) {
        double value = (double)(row[t] - mean), error = eta * f->norm[j] * (f->norm[t] + middle);
        if (!f->active[t])
            continue;
        sum += value * value;
        *above += (2 * fabs(value) + error) * error;
        *below += (2 * fabs(value) + error) * error;
        *below += f->active[t] < 0 ? value * value : 0;
    }
    *above += (double)n * UNIT * sum;
    *below += (double)n * UNIT * sum;
    return sum;
}

/* Scores of all rows, exactly and with their intervals, for a rule by directions or by the l1 norm
 * on images. */
static inline void quad_scores(struct quad_deflation *f, const struct rule *rule)
{
    int64_t n = f->n;
    double eta = quad_blur(f), inverse = 0;
    for (int64_t s = 0; s < f->count; s++) {
        double norm2 = 0;
        for (int64_t t = 0; t < f->count; t++)
            norm2 += f->inverse[s * f->wanted + t] * f->inverse[s * f->wanted + t];
        inverse += sqrt(norm2);
    }
    for (int64_t j = 0; j < n; j++) {
        double norm2 = 1;
        f->sum[j] = 1;
        for (int64_t s = 0; s < f->count; s++) {
            double weight = (double)f->w[j * f->wanted + s];
            norm2 += weight * weight;
            f->sum[j] += fabs(weight);
        }
        f->norm[j] = sqrt(norm2);
        double blur = eta * f->norm[j] * f->norm[j];
        f->residual[j] = (double)f->k[j * (n + 1)];
        f->low[j] = f->residual[j] - blur;
        f->high[j] = f->residual[j] + blur;
        if (rule->delta > 0 && f->active[j] != 0 && f->low[j] < rule->delta)
            f->active[j] = f->high[j] < rule->delta ? 0 : -1;
    }
    for (int64_t j = 0; j < n; j++) {
        double below, above, sum = quad_energy(f, j, rule->spread, &below, &above);
        double least = fmax(sum - below, 0), most = sum + above, moved;
        if (rule->l1) {
            moved = inverse * eta * f->norm[j];
            f->score[j] = sum / (f->sum[j] * f->sum[j]);
            f->least[j] = least / pow(f->sum[j] + moved, 2);
            f->most[j] = most / pow(fmax(f->sum[j] - moved, 1), 2);
        } else {
            f->score[j] = sum / f->residual[j];
            f->least[j] = f->high[j] > 0 ? least / f->high[j] : 0;
            f->most[j] = f->low[j] > 0 ? most / f->low[j] : INFINITY;
        }
    }
}

/* Row p is taken. */
static inline void quad_take(struct quad_deflation *f, int64_t p)
{
    int64_t n = f->n, w = f->wanted, i = f->count;
    quad *row = new_quads(n), *weights = new_quads(w);
    memcpy(row, f->k + p * n, (size_t)n * sizeof *row);
    memcpy(weights, f->w + p * w, (size_t)w * sizeof *weights);
    weights[i] = 1;
    for (int64_t j = 0; j < n; j++) {
        quad share = row[j] / row[p];
        for (int64_t t = 0; t < n; t++)
            f->k[j * n + t] -= share * row[t];
        for (int64_t s = 0; s <= i; s++)
            f->w[j * w + s] -= share * weights[s];
    }
    for (int64_t s = 0; s <= i; s++)
        for (int64_t t = 0; t <= i; t++)
            f->inverse[s * w + t] += (double)(weights[s] * weights[t] / row[p]);
    f->picks[f->count++] = p;
    free(row);
    free(weights);
}

/* Whether taking row p next (p < 0: stopping) is what the rule asks for, or differs from it by what
 * rounding explains; tell says what is wrong. Candidates have more than floor times the largest
 * entry of the diagonal left; scores within max(1e-10, 64 eps largest / residual, left_out /
 * residual) of the best are equal, and the lowest row of them is taken. */
static inline bool quad_allows(struct quad_deflation *f, const struct rule *rule, int64_t p,
                               double floor, double left_out, char *tell, size_t size)
{
    int64_t best = -1, lower = -1;
    double sure = 0, top = 0, widest = 0, narrowest = 0.5;
    quad_scores(f, rule);
    floor = fmax(floor * f->largest, 64 * DBL_EPSILON * f->kmax);
    for (int64_t j = 0; j < f->n; j++) {
        if (f->low[j] > floor && f->active[j] > 0 && f->least[j] > sure) {
            sure = f->least[j];
            best = j;
        }
        if (f->high[j] > floor && f->active[j] != 0)
            top = fmax(top, f->most[j]);
    }
    for (int64_t j = 0; j < f->n; j++)
        if (f->high[j] > floor && f->active[j] != 0 && f->most[j] >= sure) { /* may be the best */
            double noise = fmax(64 * DBL_EPSILON * f->largest, left_out);
            widest = fmax(widest, f->low[j] > 2 * noise ? noise / f->low[j] : 0.5);
            narrowest = fmin(narrowest, fmax(1e-10, noise / f->high[j]));
        }
    widest = fmin(fmax(widest, 1e-10), 0.5);
    if (p < 0) {
        snprintf(tell, size, "stops, but row %lld has a score of %.6g (residual %.3g of kmax)",
                 (long long)best, sure, best < 0 ? 0 : f->residual[best] / f->kmax);
        return best < 0;
    }
    for (int64_t j = 0; j < p && lower < 0; j++)
        if (f->low[j] > floor && f->active[j] > 0 && f->least[j] > top * (1 - narrowest))
            lower = j;
    snprintf(tell, size,
             "step %lld takes row %lld of score %.9g (%.9g to %.9g, residual %.3g of kmax, norm "
             "%.3g); the best is row %lld of %.9g (%.9g to %.9g), lower rows as good: %lld",
             (long long)f->count, (long long)p, f->score[p], f->least[p], f->most[p],
             f->residual[p] / f->kmax, f->norm[p], (long long)best, best < 0 ? 0 : f->score[best],
             sure, best < 0 ? 0 : f->most[best], (long long)lower);
    return f->high[p] > floor && f->active[p] != 0 && f->most[p] >= sure * (1 - widest) &&
           lower < 0;
}

#endif
