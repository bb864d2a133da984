/* SPDX-License-Identifier: BSD-3-Clause */
/* The sparse methods the slow and obvious way, to judge the fast ones by: the whole (centred or
 * not) Gram matrix is deflated entry by entry, and every candidate is scored from its deflated row.
 *
 *   k_jt <- k_jt - k_jp k_pt / k_pp                    after the pick p
 *
 * One loop serves all of them; they differ in the score of a candidate j:
 *
 *   akfa, ackfa  |k_j|^2 / k_jj, ackfa over the rows that are not cut (k_jj < delta at any step)
 *   skfa         |k_j|^2 / (n L_j^2), L_j the l1 norm of the deflated image's coefficients
 *   rkpca        |k_j - mean|^2 / k_jj on the uncentred Gram, or the growth of the sum of the m
 *                largest eigenvalues
 *   greedy       akfa's, but only among the `depth` rows with the largest k_jj
 *
 * A candidate is valid when k_jj > 1e-10 kmax. Ties: the lowest index among the scores of at least
 * max (1 - t), t = max(1e-10, 64 eps kmax / k_jj of the best one). */
#ifndef MERCER_TESTS_DEFLATION_H
#define MERCER_TESTS_DEFLATION_H

#include "support.h"

#include "reference.h"

#include <float.h>

/* The Gram matrix of rows by the kernel's formula. */
static inline double *gram_of(const char *spec, const double *x, int64_t n, int64_t d,
                              bool centered)
{
    mrc_kernel kernel;
    double unused[64] = {0};
    mercer_rows rows = {.n = 1, .d = d, .ld = 0, .x = unused};
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, NULL, &rows, err));
    return naive_gram(&kernel, x, n, d, centered);
}

struct rule {
    bool l1;       /* divide by the squared l1 norm instead of k_jj */
    bool features; /* l1 coefficients on the features before, not on the images */
    bool spread;   /* take the mean off the deflated row first */
    int64_t depth; /* how many rows with the largest residuals are scored; 0: all */
    int64_t top;   /* number of eigenvalues whose growing sum is the score; 0: the usual score */
    double delta;  /* cut rows with a smaller residual for good */
    double eps;    /* of the numbers in the Gram matrix; 0: double */
};

static const struct rule akfa_rule = {0}, skfa_rule = {.l1 = true}, rkpca_rule = {.spread = true};

struct deflated {
    int64_t n, wanted, count; /* rows, picks asked for, picks made */
    double kmax;              /* largest diagonal entry of the Gram matrix as given */
    const double *gram;       /* which is borrowed, */
    const struct rule *rule;  /* as the rule is */
    int64_t *selected;
    double *scores;   /* of every row at each pick, wanted x n; -1: no candidate */
    double *score;    /* of each pick */
    double *at;       /* its residual when it was picked */
    double *error;    /* mean residual after it */
    double *most;     /* largest residual after it */
    double *c;        /* C, wanted x wanted, upper triangular */
    double *p;        /* projections of all rows, n x wanted */
    double *residual; /* diagonal of the deflated Gram matrix at the end */
};

static inline void deflated_free(struct deflated *f)
{
    mrc_free(f->selected);
    mrc_free(f->scores);
    mrc_free(f->score);
    mrc_free(f->at);
    mrc_free(f->error);
    mrc_free(f->most);
    mrc_free(f->c);
    mrc_free(f->p);
    mrc_free(f->residual);
}

/* Sum of squares of every deflated row over the active rows, less the mean when wanted. */
static inline void row_sums(const double *k, int64_t n, const bool *active, bool spread,
                            double *sum)
{
    double *mean = ref_alloc(n, 1);
    for (int64_t t = 0; spread && t < n; t++)
        for (int64_t j = 0; j < n; j++)
            mean[j] += k[t * n + j] / (double)n;
    for (int64_t j = 0; j < n; j++)
        sum[j] = 0;
    for (int64_t t = 0; t < n; t++)
        for (int64_t j = 0; active[t] && j < n; j++)
            sum[j] += (k[t * n + j] - mean[j]) * (k[t * n + j] - mean[j]);
    mrc_free(mean);
}

/* Sum of the m largest eigenvalues of Y'HY, Y being the projections and one more column. */
static inline double top_variance(const struct deflated *f, const double *more, int64_t m)
{
    int64_t n = f->n, l = f->count + (more != NULL);
    double *y = ref_alloc(n, l), *s = ref_alloc(l, l), *values = ref_alloc(l, 1), sum = 0;
    double *vectors = ref_alloc(l, l);
    for (int64_t j = 0; j < l; j++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) {
            y[i * l + j] = j < f->count ? f->p[i * f->wanted + j] : more[i];
            mean += y[i * l + j] / (double)n;
        }
        for (int64_t i = 0; i < n; i++)
            y[i * l + j] -= mean;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < l; a++)
            for (int64_t b = 0; b < l; b++)
                s[a * l + b] += y[i * l + a] * y[i * l + b];
    ref_eigen(s, l, values, vectors);
    for (int64_t j = 0; j < l && j < m; j++)
        sum += values[j];
    mrc_free(y);
    mrc_free(s);
    mrc_free(values);
    mrc_free(vectors);
    return sum;
}

/* How many rows have a larger residual; among equals the lower index comes first. */
static inline int64_t residual_rank(const double *k, int64_t n, int64_t j)
{
    int64_t rank = 0;
    for (int64_t t = 0; t < n; t++)
        rank += k[t * (n + 1)] > k[j * (n + 1)] || (k[t * (n + 1)] == k[j * (n + 1)] && t < j);
    return rank;
}

/* The rule for ties; -1 when no score is positive or zero. */
static inline int64_t pick_row(const double *score, const double *k, int64_t n, double kmax,
                               double eps)
{
    int64_t best = -1, first = 0;
    for (int64_t j = 0; j < n; j++)
        if (score[j] >= 0 && (best < 0 || score[j] > score[best]))
            best = j;
    if (best < 0)
        return -1;
    double t = fmax(1e-10, 64 * eps * kmax / k[best * (n + 1)]);
    while (score[first] < 0 || score[first] < score[best] * (1 - t))
        first++;
    return first;
}

/* Append the picked row: C by the recursion, projections of all rows, the deflation itself. */
static inline void append_row(struct deflated *f, const double *gram, double *k, int64_t p)
{
    int64_t n = f->n, w = f->wanted, i = f->count;
    double length = sqrt(k[p * (n + 1)]), *u = ref_alloc(n, 1);
    for (int64_t t = 0; t < i; t++) {
        double along = 0; /* <image of p, feature t> */
        for (int64_t s = 0; s <= t; s++)
            along += f->c[s * w + t] * gram[f->selected[s] * n + p];
        for (int64_t s = 0; s <= t; s++)
            f->c[s * w + i] -= f->c[s * w + t] * along / length;
    }
    f->c[i * w + i] = 1 / length;
    for (int64_t j = 0; j < n; j++)
        f->p[j * w + i] = u[j] = k[j * n + p] / length;
    for (int64_t j = 0; j < n; j++)
        for (int64_t t = 0; t < n; t++)
            k[j * n + t] -= u[j] * u[t];
    f->most[i] = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        f->residual[j] = k[j * (n + 1)];
        f->error[i] += f->residual[j] / (double)n;
        f->most[i] = fmax(f->most[i], f->residual[j]);
    }
    f->selected[i] = p;
    f->count++;
    mrc_free(u);
}

/* Up to `wanted` picks on an n x n Gram matrix, which stays as it is. The caller frees the result
 * with deflated_free(). */
static inline struct deflated deflate_plainly(const double *gram, int64_t n, int64_t wanted,
                                              const struct rule *rule)
{
    struct deflated f = {.n = n, .wanted = wanted, .gram = gram, .rule = rule};
    double *k = ref_alloc(n, n), *sum = ref_alloc(n, 1);
    double *w = ref_alloc(n, wanted); /* coefficients of what was subtracted from each image */
    double *column = ref_alloc(n, 1);
    bool *active = NULL;
    double eps = rule->eps > 0 ? rule->eps : DBL_EPSILON;
    if (mrc_alloc(&active, n, sizeof *active, NULL) != MERCER_OK ||
        mrc_alloc(&f.selected, wanted, sizeof *f.selected, NULL) != MERCER_OK)
        fail_msg("out of memory");
    f.scores = ref_alloc(wanted, n);
    f.score = ref_alloc(wanted, 1);
    f.at = ref_alloc(wanted, 1);
    f.error = ref_alloc(wanted, 1);
    f.most = ref_alloc(wanted, 1);
    f.c = ref_alloc(wanted, wanted);
    f.p = ref_alloc(n, wanted);
    f.residual = ref_alloc(n, 1);
    memcpy(k, gram, (size_t)(n * n) * sizeof *k);
    for (int64_t j = 0; j < n; j++) {
        f.residual[j] = k[j * (n + 1)];
        f.kmax = fmax(f.kmax, k[j * (n + 1)]);
        active[j] = true;
    }
    while (f.count < wanted) {
        double *score = f.scores + f.count * n;
        double before = rule->top ? top_variance(&f, NULL, rule->top) : 0;
        for (int64_t j = 0; j < n; j++)
            active[j] = active[j] && (rule->delta == 0 || k[j * (n + 1)] >= rule->delta);
        row_sums(k, n, active, rule->spread, sum);
        for (int64_t j = 0; j < n; j++) {
            double d = k[j * (n + 1)], norm = 1;
            score[j] = -1;
            if (!active[j] || !(d > 1e-10 * f.kmax) ||
                (rule->depth && residual_rank(k, n, j) >= rule->depth))
                continue;
            for (int64_t s = 0; s < f.count; s++)
                norm += fabs(w[j * wanted + s]);
            score[j] = rule->l1 ? sum[j] / ((double)n * norm * norm) : sum[j] / d;
            for (int64_t t = 0; rule->top && t < n; t++)
                column[t] = k[t * n + j] / sqrt(d);
            if (rule->top)
                score[j] = fmax(top_variance(&f, column, rule->top) - before, 0);
        }
        int64_t p = pick_row(score, k, n, f.kmax, eps), i = f.count;
        if (p < 0)
            break;
        double norm = 1;
        for (int64_t s = 0; s < i; s++)
            norm += fabs(w[p * wanted + s]);
        f.score[i] = score[p];
        f.at[i] = k[p * (n + 1)];
        append_row(&f, gram, k, p);
        /* Each image loses its projection times the new feature: that feature is a sum of
         * images, or of l1 norm one and length sqrt(at) / norm. */
        for (int64_t j = 0; j < n; j++)
            for (int64_t s = 0; s <= i; s++) {
                double on_feature = s < i ? 0 : f.p[j * wanted + i] * norm / sqrt(f.at[i]);
                w[j * wanted + s] -=
                    rule->features ? on_feature : f.p[j * wanted + i] * f.c[s * wanted + i];
            }
    }
    mrc_free(k);
    mrc_free(sum);
    mrc_free(w);
    mrc_free(column);
    mrc_free(active);
    return f;
}

#endif
