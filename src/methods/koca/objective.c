/* SPDX-License-Identifier: BSD-3-Clause */
/* The performance function and its gradient; see objective.h.
 *
 * Neighbours: with rows sorted by class, own and other ones are ranges of squared distances, which
 * are made by differences, a tile at a time. The gradient goes by scatter: with s_i = 2 beta h (1 -
 * h) times the weight of row i, dF/dU = sum over i and neighbours t of c_it (z_i - z_t) (y_i -
 * y_t)', c_it = 2/K s_i / (w_i + eps) for others, -2/K s_i b_i / (w_i + eps)^2 for own ones, so
 * c_it (y_i - y_t) is added to a row of features for i and subtracted from one for t, and two
 * products with the coordinates do the rest: no difference of coordinates is formed. Cost: n m r
 * for features and gradient each, v M r for v judged rows and M others. */
#include "methods/koca/objective.h"

#include "kernel/simd.h"
#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <math.h>
#include <string.h>

enum {
    TILE = 32,     /* judged rows of a task */
    STRIP = 128,   /* rows whose distances from them are held at once */
    COLUMNS = 128, /* coordinates of the gradient that a task makes */
    LANES = MRC_PANEL_LANES,
    MAX_LANES = 4 * LANES, /* more columns than that are work for BLAS */
};

static int64_t row_of(const mrc_koca_rows *rows, int64_t i)
{
    return rows->list ? rows->list[i] : i;
}

/* ---- which rows count ---- */

/* Rows of `from` by class, and where each class starts. */
static mercer_status sort_by_class(mrc_koca_objective *o, mercer_error *err)
{
    int64_t count = o->from.listed, *at = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&o->class_start, o->classes + 1, sizeof *at, err));
    MRC_TRY(mrc_alloc(&o->sorted, count, sizeof *at, err));
    MRC_TRY(mrc_alloc(&at, o->classes, sizeof *at, err));
    for (int64_t i = 0; i < count; i++)
        o->class_start[o->from.codes[row_of(&o->from, i)] + 1]++;
    for (int64_t c = 0; c < o->classes; c++) {
        o->class_start[c + 1] += o->class_start[c];
        at[c] = o->class_start[c];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t row = row_of(&o->from, i);
        o->sorted[at[o->from.codes[row]]++] = row;
    }
out:
    mrc_free(at);
    return rc;
}

static int64_t class_of(const mrc_koca_objective *o, int64_t i)
{
    return o->judged.codes[row_of(&o->judged, i)];
}

/* Neighbours to be had of the own and of other classes, at most k. */
static int64_t own_count(const mrc_koca_objective *o, int64_t i, int64_t k)
{
    int64_t c = class_of(o, i);
    int64_t there = o->class_start[c + 1] - o->class_start[c] - (o->place[i] >= 0);
    return there < k ? there : k;
}

static int64_t other_count(const mrc_koca_objective *o, int64_t i, int64_t k)
{
    int64_t c = class_of(o, i);
    int64_t there = o->from.listed - (o->class_start[c + 1] - o->class_start[c]);
    return there < k ? there : k;
}

static mercer_status weigh(mrc_koca_objective *o, mercer_error *err)
{
    int64_t v = o->judged.listed, *rows = NULL, *count = NULL, present = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&o->place, v, sizeof *o->place, err));
    MRC_TRY(mrc_alloc(&o->weight, v, sizeof(double), err));
    MRC_TRY(mrc_alloc(&rows, o->from.n, sizeof *rows, err));
    MRC_TRY(mrc_alloc(&count, o->classes, sizeof *count, err));
    for (int64_t t = 0; t < o->from.listed; t++)
        rows[o->sorted[t]] = t + 1;
    for (int64_t i = 0; i < v; i++) {
        o->place[i] = o->same ? rows[row_of(&o->judged, i)] - 1 : -1;
        if (own_count(o, i, 1) > 0 && other_count(o, i, 1) > 0)
            count[class_of(o, i)]++;
    }
    for (int64_t c = 0; c < o->classes; c++)
        present += count[c] > 0;
    for (int64_t i = 0; i < v; i++)
        if (own_count(o, i, 1) > 0 && other_count(o, i, 1) > 0) {
            o->weight[i] = 1 / ((double)present * (double)count[class_of(o, i)]);
            o->counted++;
        }
out:
    mrc_free(rows);
    mrc_free(count);
    return rc;
}

/* Doubles a worker needs: distances, features of the judged rows. */
static int64_t scratch_size(const mrc_koca_objective *o)
{
    return TILE * (STRIP + o->r);
}

mercer_status mrc_koca_init(mrc_koca_objective *o, mercer_ctx *ctx, int64_t m, int64_t r,
                            int64_t classes, const mrc_koca_rows *from, const mrc_koca_rows *judged,
                            const mrc_koca_rule *rule, int64_t room, mercer_error *err)
{
    int64_t v = judged->list ? judged->listed : judged->n;
    mercer_status rc = MERCER_OK;
    *o = (mrc_koca_objective){.ctx = ctx,
                              .m = m,
                              .r = r,
                              .stride = r > MAX_LANES ? r : (r + LANES - 1) / LANES * LANES,
                              .classes = classes,
                              .rule = *rule,
                              .room = room,
                              .from = *from,
                              .judged = *judged,
                              .same = from->z == judged->z};
    o->from.listed = from->list ? from->listed : from->n;
    o->judged.listed = v;
    MRC_TRY(sort_by_class(o, err));
    MRC_TRY(weigh(o, err));
    MRC_TRY(mrc_alloc2(&o->u, m, o->stride, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&o->y_from, from->n, o->stride, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&o->pull_from, from->n, o->stride, sizeof(double), err));
    o->y_judged = o->y_from;
    o->pull_judged = o->pull_from;
    if (!o->same) {
        MRC_TRY(mrc_alloc2(&o->y_judged, judged->n, o->stride, sizeof(double), err));
        MRC_TRY(mrc_alloc2(&o->pull_judged, judged->n, o->stride, sizeof(double), err));
    }
    MRC_TRY(mrc_alloc2(&o->across, r, (o->from.listed / STRIP + 1) * STRIP, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&o->own, v, room, sizeof *o->own, err));
    MRC_TRY(mrc_alloc2(&o->other, v, room, sizeof *o->other, err));
    MRC_TRY(mrc_alloc2(&o->own_distance, v, room, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&o->other_distance, v, room, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&o->scratch, ctx->threads, scratch_size(o), sizeof(double), err));
out:
    return rc;
}

void mrc_koca_destroy(mrc_koca_objective *o)
{
    if (o->y_judged != o->y_from)
        mrc_free(o->y_judged);
    if (o->pull_judged != o->pull_from)
        mrc_free(o->pull_judged);
    mrc_free(o->sorted);
    mrc_free(o->class_start);
    mrc_free(o->place);
    mrc_free(o->weight);
    mrc_free(o->u);
    mrc_free(o->y_from);
    mrc_free(o->pull_from);
    mrc_free(o->across);
    mrc_free(o->own);
    mrc_free(o->other);
    mrc_free(o->own_distance);
    mrc_free(o->other_distance);
    mrc_free(o->scratch);
    memset(o, 0, sizeof *o);
}

/* ---- neighbours ---- */

/* The k nearest so far, nearest first. */
struct nearest {
    int64_t k, found;
    double *distance;
    int64_t *index;
};

/* Look at places [first, end) whose distances start at d[0] for place `base`. */
static void scan(struct nearest *near, const mrc_simd_loops *loops, const double *d, int64_t base,
                 int64_t first, int64_t end)
{
    for (int64_t t = first; t < end; t++) {
        if (near->found == near->k) /* only a nearer one counts */
            t += loops->first_below(d + t - base, end - t, near->distance[near->k - 1]);
        if (t == end)
            break;
        double value = d[t - base];
        int64_t at = near->found < near->k ? near->found++ : near->k - 1;
        for (; at > 0 && near->distance[at - 1] > value; at--) {
            near->distance[at] = near->distance[at - 1];
            near->index[at] = near->index[at - 1];
        }
        near->distance[at] = value;
        near->index[at] = t;
    }
}

/* The same without place `skip` (-1: none), cut to the strip [base, base + count). */
static void scan_range(struct nearest *near, const mrc_simd_loops *loops, const double *d,
                       int64_t base, int64_t count, int64_t first, int64_t end, int64_t skip)
{
    first = first > base ? first : base;
    end = end < base + count ? end : base + count;
    if (skip >= first && skip < end) {
        scan(near, loops, d, base, first, skip);
        first = skip + 1;
    }
    scan(near, loops, d, base, first, end);
}

static void find_neighbours(void *arg, int64_t task, int worker)
{
    mrc_koca_objective *o = arg;
    const mrc_simd_loops *loops = mrc_simd_loops_for(o->ctx->simd);
    int64_t r = o->r, k = o->rule.neighbours, first = task * TILE, all = o->from.listed;
    int64_t rows = o->judged.listed - first < TILE ? o->judged.listed - first : TILE;
    double *d = o->scratch + worker * scratch_size(o), *y = d + TILE * STRIP;
    struct nearest own[TILE], other[TILE];
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = (first + i) * o->room;
        own[i] = (struct nearest){.k = k, .distance = o->own_distance + at, .index = o->own + at};
        other[i] =
            (struct nearest){.k = k, .distance = o->other_distance + at, .index = o->other + at};
        memcpy(y + i * r, o->y_judged + row_of(&o->judged, first + i) * o->stride,
               (size_t)r * sizeof *y);
    }
    for (int64_t base = 0; base < all; base += STRIP) {
        int64_t count = all - base < STRIP ? all - base : STRIP;
        loops->column_sums(MRC_TERM_SQUARE, y, rows, r, o->across + base * r, count, STRIP, r, d,
                           STRIP);
        for (int64_t i = 0; i < rows; i++) {
            int64_t c = class_of(o, first + i);
            int64_t begin = o->class_start[c], end = o->class_start[c + 1];
            const double *line = d + i * STRIP;
            scan_range(&own[i], loops, line, base, count, begin, end, o->place[first + i]);
            scan_range(&other[i], loops, line, base, count, 0, begin, -1);
            scan_range(&other[i], loops, line, base, count, end, all, -1);
        }
    }
    for (int64_t i = 0; i < rows; i++) { /* places become rows */
        for (int64_t t = 0; t < own[i].found; t++)
            own[i].index[t] = o->sorted[own[i].index[t]];
        for (int64_t t = 0; t < other[i].found; t++)
            other[i].index[t] = o->sorted[other[i].index[t]];
    }
}

/* Features of the sorted rows, in strips that have a line for each feature. */
static void lay_across(mrc_koca_objective *o)
{
    for (int64_t t = 0; t < o->from.listed; t++) {
        const double *y = o->y_from + o->sorted[t] * o->stride;
        double *strip = o->across + t / STRIP * STRIP * o->r + t % STRIP;
        for (int64_t j = 0; j < o->r; j++)
            strip[j * STRIP] = y[j];
    }
}

/* ---- value and gradient ---- */

static double aggregate(const mrc_koca_rule *rule, const double *distance, int64_t count)
{
    double sum = 0;
    if (rule->kth)
        return distance[count - 1]; /* nearest first */
    for (int64_t t = 0; t < count; t++)
        sum += distance[t];
    return sum / (double)count;
}

/* h of judged row i; *w and *b as in the header. */
static double performance(const mrc_koca_objective *o, const mrc_koca_rule *rule, int64_t i,
                          double *w, double *b)
{
    int64_t k = rule->neighbours;
    *w = aggregate(rule, o->own_distance + i * o->room, own_count(o, i, k));
    *b = aggregate(rule, o->other_distance + i * o->room, other_count(o, i, k));
    return 1 / (1 + exp(fmin(-2 * rule->beta * (*b / (*w + rule->epsilon) - 1), 700)));
}

double mrc_koca_value_by(const mrc_koca_objective *o, const mrc_koca_rule *rule)
{
    double f = 0, w, b;
    for (int64_t i = 0; i < o->judged.listed; i++)
        if (o->weight[i] > 0)
            f += o->weight[i] * performance(o, rule, i, &w, &b);
    return f;
}

double mrc_koca_rate(const mrc_koca_objective *o)
{
    const mrc_koca_rule nearest_one = {.neighbours = 1};
    double rate = 0, own, other;
    for (int64_t i = 0; i < o->judged.listed; i++)
        if (o->weight[i] > 0) {
            performance(o, &nearest_one, i, &own, &other);
            rate += own < other ? o->weight[i] : own == other ? o->weight[i] / 2 : 0;
        }
    return rate;
}

/* Features of rows in the subspace o->u. */
static void find_features(mrc_koca_objective *o, const mrc_koca_rows *rows, double *y)
{
    mrc_tall_times(o->ctx, rows->n, o->stride, o->m, 1, rows->z, o->m, o->u, o->stride, 0, y,
                   o->stride);
}

double mrc_koca_value(mrc_koca_objective *o, const double *u)
{
    int64_t tasks = (o->judged.listed + TILE - 1) / TILE;
    for (int64_t i = 0; i < o->m; i++)
        memcpy(o->u + i * o->stride, u + i * o->r, (size_t)o->r * sizeof *u);
    find_features(o, &o->from, o->y_from);
    if (!o->same)
        find_features(o, &o->judged, o->y_judged);
    lay_across(o);
    mrc_parfor_sized(o->ctx, tasks,
                     3 * (double)o->judged.listed * (double)o->from.listed * (double)(o->r + 1),
                     find_neighbours, o);
    return mrc_koca_value_by(o, &o->rule);
}

/* Add 2 c (y_i - y_t), c shared by the neighbours t of judged row i that count. */
static void scatter(mrc_koca_objective *o, int64_t i, const int64_t *index, int64_t count, double c)
{
    int64_t row = row_of(&o->judged, i);
    const double *y = o->y_judged + row * o->stride;
    double *pull = o->pull_judged + row * o->stride;
    if (o->rule.kth) {
        index += count - 1;
        count = 1;
    }
    for (int64_t t = 0; t < count; t++) {
        const double *there = o->y_from + index[t] * o->stride;
        double *push = o->pull_from + index[t] * o->stride;
        for (int64_t j = 0; j < o->r; j++) {
            double part = 2 * c / (double)count * (y[j] - there[j]);
            pull[j] += part;
            push[j] -= part;
        }
    }
}

struct product {
    const mrc_koca_objective *o;
    const mrc_koca_rows *rows;
    const double *pull;
    double *g;
};

static void add_panel(void *arg, int64_t task, int worker)
{
    const struct product *p = arg;
    int64_t m = p->o->m, width = p->o->stride, first = task * COLUMNS;
    int64_t count = m - first < COLUMNS ? m - first : COLUMNS;
    const double *z = p->rows->z + first;
    double *g = p->g + first * width;
    (void)worker;
    if (width <= MAX_LANES)
        mrc_panel_loops_for(p->o->ctx->simd)
            ->transposed_times(z, m, p->rows->n, count, p->pull, width, g, width, width);
    else
        mrc_gemm(true, false, count, width, p->rows->n, 1, z, m, p->pull, width, 1, g, width);
}

/* g += z'pull, by ranges of the coordinates. */
static void add_product(const mrc_koca_objective *o, const mrc_koca_rows *rows, const double *pull,
                        double *g)
{
    struct product p = {.o = o, .rows = rows, .pull = pull, .g = g};
    mrc_parfor_sized(o->ctx, (o->m + COLUMNS - 1) / COLUMNS,
                     2 * (double)rows->n * (double)o->m * (double)o->stride, add_panel, &p);
}

void mrc_koca_gradient(mrc_koca_objective *o, double *g)
{
    int64_t k = o->rule.neighbours;
    double w, b;
    memset(o->pull_from, 0, (size_t)(o->from.n * o->stride) * sizeof(double));
    memset(o->pull_judged, 0, (size_t)(o->judged.n * o->stride) * sizeof(double));
    for (int64_t i = 0; i < o->judged.listed; i++) {
        int64_t at = i * o->room;
        if (o->weight[i] == 0)
            continue;
        double h = performance(o, &o->rule, i, &w, &b), below = w + o->rule.epsilon;
        double s = 2 * o->rule.beta * h * (1 - h) * o->weight[i];
        if (s == 0)
            continue;
        scatter(o, i, o->other + at, other_count(o, i, k), s / below);
        scatter(o, i, o->own + at, own_count(o, i, k), -s / below * (b / below));
    }
    memset(o->u, 0, (size_t)(o->m * o->stride) * sizeof *g); /* no more needed */
    add_product(o, &o->from, o->pull_from, o->u);
    if (!o->same)
        add_product(o, &o->judged, o->pull_judged, o->u);
    for (int64_t i = 0; i < o->m; i++)
        memcpy(g + i * o->r, o->u + i * o->stride, (size_t)o->r * sizeof *g);
}
