/* SPDX-License-Identifier: BSD-3-Clause */
/* All pairs and triples of rows, in closed form.
 *
 * With correlations c and matches g the sum of the solutions of g_S g_S' a = value G_SS a, which is
 * the value itself when there is one label and a bound of it otherwise, is for a pair
 *     (g_a.g_a + g_b.g_b - 2 c g_a.g_b) / (1 - c^2).
 * A triple is its first row i and a pair of what i leaves of the others: matches g_b - c_ib g_i,
 * squares 1 - c_ib^2, products c_bc - c_ib c_ic. So one loop over the last row serves both, and
 * the largest solution is computed only where the bound promises a new best. Cost: size^2 / 2
 * divisions for pairs, size^3 / 6 for triples, times 1 + outputs / 4 or so. */
#include "methods/supervised/combinations.h"

#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double TIE = 1e-10;      /* relative difference of values that count as equal */
static const double SINGULAR = 1e-10; /* determinant of correlations that counts as zero */
static const double ROUNDING = 16 * DBL_EPSILON; /* error of a determinant */
enum { S = MRC_MAX_COMBINED };

struct found {
    int64_t count;
    int64_t row[S];
    double corr[S]; /* of rows 0 and 1, 0 and 2, 1 and 2 */
    double value;
};

/* What the first row of a triple leaves of all rows; pairs have no such row. */
struct left {
    int64_t first;         /* row projected out, or -1 */
    double base;           /* its own value */
    const double *corr;    /* its correlations; zeroes */
    double *zero;          /* size */
    double *match;         /* outputs x size */
    double *square;        /* size */
    double *norm;          /* size: sum of match^2 over the outputs */
    double *bound, *trust; /* size, scratch */
};

struct work {
    const mrc_combination_search *search;
    const double *corr; /* rows from row0 on */
    int64_t row0;
    struct found best;   /* before this run of rows */
    struct found *found; /* one per row of the run */
    struct left *left;   /* one per worker */
};

/* ---- the value of one subset ---- */

/* Lower triangular L with L L' = G of the correlations; unused rows are those of the identity. */
static void factor(const struct found *f, double l[S][S])
{
    memset(l, 0, sizeof(double[S][S]));
    l[0][0] = l[1][1] = l[2][2] = 1;
    if (f->count > 1) {
        l[1][0] = f->corr[0];
        l[1][1] = sqrt(1 - l[1][0] * l[1][0]);
    }
    if (f->count > 2) {
        l[2][0] = f->corr[1];
        l[2][1] = (f->corr[2] - l[1][0] * l[2][0]) / l[1][1];
        l[2][2] = sqrt(1 - l[2][0] * l[2][0] - l[2][1] * l[2][1]);
    }
}

/* W = L^-1 g_S g_S' L^-T, whose largest eigenvalue is the value. */
static void whiten(const mrc_combination_search *search, const struct found *f, double w[S][S])
{
    double l[S][S];
    factor(f, l);
    memset(w, 0, sizeof(double[S][S]));
    for (int64_t o = 0; o < search->outputs; o++) {
        double h[S] = {0};
        for (int64_t a = 0; a < f->count; a++) {
            h[a] = search->match[o * search->size + f->row[a]];
            for (int64_t b = 0; b < a; b++)
                h[a] -= l[a][b] * h[b];
            h[a] /= l[a][a];
        }
        for (int64_t a = 0; a < f->count; a++)
            for (int64_t b = 0; b < f->count; b++)
                w[a][b] += h[a] * h[b];
    }
}

/* The largest eigenvalue, by Newton's method from the trace, which lies above: every step stays
 * above it. */
static double largest(double w[S][S])
{
    double t = w[0][0] + w[1][1] + w[2][2];
    double minor01 = w[0][0] * w[1][1] - w[0][1] * w[0][1];
    double minor02 = w[0][0] * w[2][2] - w[0][2] * w[0][2];
    double minor12 = w[1][1] * w[2][2] - w[1][2] * w[1][2];
    double s = minor01 + minor02 + minor12;
    double det = w[0][0] * minor12 - w[0][1] * (w[0][1] * w[2][2] - w[1][2] * w[0][2]) +
                 w[0][2] * (w[0][1] * w[1][2] - w[1][1] * w[0][2]);
    double x = t;
    for (int step = 0; step < 60; step++) {
        double slope = (3 * x - 2 * t) * x + s;
        double next = slope > 0 ? x - (((x - t) * x + s) * x - det) / slope : x;
        if (!(next < x * (1 - 1e-15)))
            break;
        x = next;
    }
    return x;
}

/* Make f the best when it is better by more than rounding; trust: share of its value that rounding
 * leaves, bound: what its value cannot exceed after that. */
static void consider(const mrc_combination_search *search, struct found *f, double bound,
                     double trust, struct found *best)
{
    double w[S][S];
    f->value = bound;
    if (!(bound > best->value * (1 + TIE)))
        return;
    if (search->outputs > 1 && f->count > 1) {
        whiten(search, f, w);
        f->value = largest(w) * trust;
    }
    if (f->value > best->value * (1 + TIE))
        *best = *f;
}

/* ---- all of them ---- */

/* Rows b < c with what is left of them: bounds, then the best. A value loses the digits that the
 * determinant has lost; without them near-singular subsets would win ties. */
static void scan_last(const mrc_combination_search *search, const struct left *left, int64_t b,
                      const double *corr, struct found *best)
{
    int64_t size = search->size;
    double *bound = left->bound, *trust = left->trust;
    double square = left->square[b], norm = left->norm[b], taken = left->corr[b];
    double error = ROUNDING + search->blur[b] + (left->first < 0 ? 0 : search->blur[left->first]);
    memset(bound + b + 1, 0, (size_t)(size - b - 1) * sizeof *bound);
    for (int64_t o = 0; o < search->outputs; o++) {
        const double *match = left->match + o * size;
        for (int64_t c = b + 1; c < size; c++)
            bound[c] += match[b] * match[c];
    }
    for (int64_t c = b + 1; c < size; c++) {
        double product = corr[c] - taken * left->corr[c];
        double det = square * left->square[c] - product * product;
        double above = norm * left->square[c] - 2 * product * bound[c] + square * left->norm[c];
        trust[c] = 1 - (error + search->blur[c]) / det;
        bound[c] = det > SINGULAR ? (left->base + above / det) * trust[c] : 0;
    }
    for (int64_t c = b + 1; c < size; c++)
        if (bound[c] > best->value) {
            struct found f = {.count = 2, .row = {b, c}, .corr = {corr[c]}};
            if (left->first >= 0)
                f = (struct found){.count = 3,
                                   .row = {left->first, b, c},
                                   .corr = {taken, left->corr[c], corr[c]}};
            consider(search, &f, bound[c], trust[c], best);
        }
}

/* sum over the outputs of match^2. */
static void sum_norms(const mrc_combination_search *search, const double *match, double *norm)
{
    memset(norm, 0, (size_t)search->size * sizeof *norm);
    for (int64_t o = 0; o < search->outputs; o++)
        for (int64_t c = 0; c < search->size; c++)
            norm[c] += match[o * search->size + c] * match[o * search->size + c];
}

/* Take row i off the others. */
static void take_off(const mrc_combination_search *search, int64_t i, const double *corr,
                     struct left *left)
{
    int64_t size = search->size;
    left->first = i;
    left->corr = corr;
    left->base = 0;
    for (int64_t o = 0; o < search->outputs; o++) {
        const double *match = search->match + o * size;
        left->base += match[i] * match[i];
        for (int64_t c = i + 1; c < size; c++)
            left->match[o * size + c] = match[c] - corr[c] * match[i];
    }
    for (int64_t c = i + 1; c < size; c++)
        left->square[c] = 1 - corr[c] * corr[c];
    sum_norms(search, left->match, left->norm);
}

/* All pairs that begin with one row of the run. */
static void scan_pairs(void *arg, int64_t task, int worker)
{
    const struct work *w = arg;
    int64_t b = w->row0 + task;
    w->found[task] = w->best;
    scan_last(w->search, w->left + worker, b, w->corr + task * w->search->size, w->found + task);
}

/* All triples that begin with one row of the run. */
static void scan_triples(void *arg, int64_t task, int worker)
{
    const struct work *w = arg;
    int64_t size = w->search->size, i = w->row0 + task;
    struct left *left = w->left + worker;
    w->found[task] = w->best;
    take_off(w->search, i, w->corr + i * size, left);
    for (int64_t b = i + 1; b + 1 < size; b++)
        scan_last(w->search, left, b, w->corr + b * size, w->found + task);
}

/* Scratch of all workers. Pairs project no row out: they share matches and squares. */
static mercer_status reserve(const mrc_combination_search *search, struct left *left, int workers,
                             mercer_error *err)
{
    int64_t size = search->size;
    mercer_status rc = MERCER_OK;
    for (int k = 0; k < workers; k++) {
        left[k].first = -1;
        MRC_TRY(mrc_alloc2(&left[k].match, search->outputs, size, sizeof(double), err));
        MRC_TRY(mrc_alloc(&left[k].square, size, sizeof(double), err));
        MRC_TRY(mrc_alloc(&left[k].norm, size, sizeof(double), err));
        MRC_TRY(mrc_alloc(&left[k].bound, size, sizeof(double), err));
        MRC_TRY(mrc_alloc(&left[k].trust, size, sizeof(double), err));
        MRC_TRY(mrc_alloc(&left[k].zero, size, sizeof(double), err));
        left[k].corr = left[k].zero;
        memcpy(left[k].match, search->match,
               (size_t)(search->outputs * size) * sizeof *search->match);
        for (int64_t c = 0; c < size; c++)
            left[k].square[c] = 1;
        sum_norms(search, left[k].match, left[k].norm);
    }
out:
    return rc;
}

/* The best of a run of rows, in their order. */
static mercer_status scan_run(mercer_ctx *ctx, struct work *w, int64_t first, int64_t count,
                              mercer_parfor_body body, mercer_error *err)
{
    double last = (double)(w->search->size - first), cost = 8 + 2 * (double)w->search->outputs;
    w->row0 = first;
    mrc_parfor_sized(ctx, count, cost * last * (double)count * (body == scan_pairs ? 1 : last / 2),
                     body, w);
    for (int64_t t = 0; t < count; t++)
        if (w->found[t].value > w->best.value * (1 + TIE))
            w->best = w->found[t];
    return mrc_check_cancel(ctx, err);
}

/* The weights of the best subset: L^-T times the leading eigenvector of W. */
static mercer_status weigh(mercer_ctx *ctx, const mrc_combination_search *search,
                           const struct found *best, mrc_combination *out, mercer_error *err)
{
    double w[S][S], l[S][S], values[S];
    mercer_status rc = MERCER_OK;
    *out = (mrc_combination){.count = best->count};
    if (best->count == 0)
        goto out;
    factor(best, l);
    whiten(search, best, w);
    MRC_TRY(mrc_eigen_symmetric(ctx, S, &w[0][0], values, err));
    for (int64_t a = best->count - 1; a >= 0; a--) {
        out->row[a] = best->row[a];
        out->weight[a] = w[S - 1][a];
        for (int64_t b = a + 1; b < best->count; b++)
            out->weight[a] -= l[b][a] * out->weight[b];
        out->weight[a] /= l[a][a];
    }
    for (int64_t a = best->count - 1; a >= 0; a--)
        out->weight[a] *= out->weight[0] < 0 ? -1 : 1;
out:
    return rc;
}

mercer_status mrc_combination_find(mercer_ctx *ctx, const mrc_combination_search *search,
                                   mrc_combination *out, mercer_error *err)
{
    int64_t size = search->size, stored = search->most > 2 ? size : MRC_COMBINED_ROWS;
    struct found found[MRC_COMBINED_ROWS];
    struct work w = {.search = search, .found = found};
    double *corr = NULL;
    int workers = search->most > 1 ? ctx->threads : 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&w.left, workers, sizeof *w.left, err));
    MRC_TRY(reserve(search, w.left, workers, err));
    for (int64_t i = 0; i < size; i++) {
        struct found f = {.count = 1, .row = {i}};
        consider(search, &f, w.left[0].norm[i], 1, &w.best);
    }
    if (search->most > 1)
        MRC_TRY(mrc_alloc2_raw(&corr, stored, size, sizeof *corr, err));
    for (int64_t first = 0, count; search->most > 1 && first < size; first += count) {
        count = size - first < MRC_COMBINED_ROWS ? size - first : MRC_COMBINED_ROWS;
        double *run = corr + (search->most > 2 ? first * size : 0);
        MRC_TRY(search->correlate(search->self, first, count, run, err));
        w.corr = run;
        MRC_TRY(scan_run(ctx, &w, first, count, scan_pairs, err));
    }
    w.corr = corr;
    for (int64_t first = 0, count; search->most > 2 && first < size; first += count) {
        count = size - first < MRC_COMBINED_ROWS ? size - first : MRC_COMBINED_ROWS;
        MRC_TRY(scan_run(ctx, &w, first, count, scan_triples, err));
    }
    MRC_TRY(weigh(ctx, search, &w.best, out, err));
out:
    for (int k = 0; w.left && k < workers; k++) {
        mrc_free(w.left[k].match);
        mrc_free(w.left[k].square);
        mrc_free(w.left[k].norm);
        mrc_free(w.left[k].bound);
        mrc_free(w.left[k].trust);
        mrc_free(w.left[k].zero);
    }
    mrc_free(w.left);
    mrc_free(corr);
    return rc;
}
