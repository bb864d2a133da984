/* The performance function and its gradient; see koca_objective.h.
 *
 * Neighbours are found from products: with rows sorted by class, own and other ones are ranges of
 * |y_t|^2 - 2 y_i'y_t, a tile at a time; the distances of those found are computed anew by
 * differences. The gradient goes by scatter: with s_i = 2 beta h (1 - h) times the weight of row i,
 *     dF/dU = sum over i and neighbours t of c_it (z_i - z_t) (y_i - y_t)',
 *     c_it = 2/K s_i / (w_i + eps) for others, -2/K s_i b_i / (w_i + eps)^2 for own ones,
 * so c_it (y_i - y_t) is added to a row of features for i and taken off one for t, and two products
 * with the coordinates do the rest: no difference of coordinates is formed.
 * Cost: n m r for features and gradient each, v M r for v judged rows and M others. */
#include "methods/koca_objective.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

enum {
    TILE = 32,    /* judged rows of a task */
    STRIP = 512,  /* rows whose distances from them are held at once */
    COLUMNS = 64, /* coordinates of the gradient that a task makes */
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

/* Doubles a worker needs: distances, features of the judged rows, distances of the nearest. */
static int64_t scratch_size(const mrc_koca_objective *o)
{
    return TILE * (STRIP + o->r + 1 + 2 * o->room);
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
    MRC_TRY(mrc_alloc2(&o->y_from, from->n, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&o->pull_from, from->n, r, sizeof(double), err));
    o->y_judged = o->y_from;
    o->pull_judged = o->pull_from;
    if (!o->same) {
        MRC_TRY(mrc_alloc2(&o->y_judged, judged->n, r, sizeof(double), err));
        MRC_TRY(mrc_alloc2(&o->pull_judged, judged->n, r, sizeof(double), err));
    }
    MRC_TRY(mrc_alloc(&o->center, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&o->tail, o->from.listed, r + 1, sizeof(double), err));
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
    mrc_free(o->y_from);
    mrc_free(o->pull_from);
    mrc_free(o->center);
    mrc_free(o->tail);
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
static void scan(struct nearest *near, const double *d, int64_t base, int64_t first, int64_t end)
{
    double worst = near->found < near->k ? INFINITY : near->distance[near->k - 1];
    for (int64_t t = first; t < end; t++) {
        double value = d[t - base];
        if (!(value < worst) && near->found == near->k)
            continue;
        int64_t at = near->found < near->k ? near->found++ : near->k - 1;
        for (; at > 0 && near->distance[at - 1] > value; at--) {
            near->distance[at] = near->distance[at - 1];
            near->index[at] = near->index[at - 1];
        }
        near->distance[at] = value;
        near->index[at] = t;
        worst = near->found < near->k ? INFINITY : near->distance[near->k - 1];
    }
}

/* The same without place `skip` (-1: none), cut to the strip [base, base + count). */
static void scan_range(struct nearest *near, const double *d, int64_t base, int64_t count,
                       int64_t first, int64_t end, int64_t skip)
{
    first = first > base ? first : base;
    end = end < base + count ? end : base + count;
    if (skip >= first && skip < end) {
        scan(near, d, base, first, skip);
        first = skip + 1;
    }
    scan(near, d, base, first, end);
}

/* The neighbours found are places: they become rows, and their distances those by differences. */
static void settle(const mrc_koca_objective *o, const double *y, struct nearest *near,
                   double *distance)
{
    for (int64_t t = 0; t < near->found; t++) {
        double d = 0;
        near->index[t] = o->sorted[near->index[t]];
        const double *other = o->y_from + near->index[t] * o->r;
        for (int64_t j = 0; j < o->r; j++)
            d += (y[j] - other[j]) * (y[j] - other[j]);
        distance[t] = d;
    }
}

static void find_neighbours(void *arg, int64_t task, int worker)
{
    mrc_koca_objective *o = arg;
    int64_t r = o->r, k = o->rule.neighbours, first = task * TILE;
    int64_t rows = o->judged.listed - first < TILE ? o->judged.listed - first : TILE;
    double *d = o->scratch + worker * scratch_size(o);
    double *head = d + TILE * STRIP, *best = head + TILE * (r + 1);
    struct nearest near[2 * TILE];
    for (int64_t i = 0; i < rows; i++) {
        const double *y = o->y_judged + row_of(&o->judged, first + i) * r;
        near[2 * i] = (struct nearest){
            .k = k, .distance = best + 2 * i * k, .index = o->own + (first + i) * o->room};
        near[2 * i + 1] = (struct nearest){
            .k = k, .distance = best + (2 * i + 1) * k, .index = o->other + (first + i) * o->room};
        for (int64_t j = 0; j < r; j++)
            head[i * (r + 1) + j] = -2 * (y[j] - o->center[j]);
        head[i * (r + 1) + r] = 1;
    }
    for (int64_t base = 0; base < o->from.listed; base += STRIP) {
        int64_t count = o->from.listed - base < STRIP ? o->from.listed - base : STRIP;
        mrc_gemm(false, true, rows, count, r + 1, 1, head, r + 1, o->tail + base * (r + 1), r + 1,
                 0, d, STRIP);
        for (int64_t i = 0; i < rows; i++) {
            int64_t c = class_of(o, first + i);
            int64_t begin = o->class_start[c], end = o->class_start[c + 1];
            const double *line = d + i * STRIP;
            scan_range(&near[2 * i], line, base, count, begin, end, o->place[first + i]);
            scan_range(&near[2 * i + 1], line, base, count, 0, begin, -1);
            scan_range(&near[2 * i + 1], line, base, count, end, o->from.listed, -1);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = first + i;
        const double *y = o->y_judged + row_of(&o->judged, at) * r;
        settle(o, y, &near[2 * i], o->own_distance + at * o->room);
        settle(o, y, &near[2 * i + 1], o->other_distance + at * o->room);
    }
}

/* Features of the sorted rows about their mean, with their squared lengths. */
static void make_tail(mrc_koca_objective *o)
{
    int64_t r = o->r, count = o->from.listed;
    memset(o->center, 0, (size_t)r * sizeof *o->center);
    for (int64_t t = 0; t < count; t++)
        for (int64_t j = 0; j < r; j++)
            o->center[j] += o->y_from[o->sorted[t] * r + j] / (double)count;
    for (int64_t t = 0; t < count; t++) {
        double *line = o->tail + t * (r + 1);
        line[r] = 0;
        for (int64_t j = 0; j < r; j++) {
            line[j] = o->y_from[o->sorted[t] * r + j] - o->center[j];
            line[r] += line[j] * line[j];
        }
    }
}

/* ---- value and gradient ---- */

/* Which of the first count distances is the largest: the one that aggregate=kth looks at. */
static int64_t farthest(const double *distance, int64_t count)
{
    int64_t at = 0;
    for (int64_t t = 1; t < count; t++)
        if (distance[t] > distance[at])
            at = t;
    return at;
}

static double aggregate(const mrc_koca_rule *rule, const double *distance, int64_t count)
{
    double sum = 0;
    if (rule->kth)
        return distance[farthest(distance, count)];
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

double mrc_koca_value(mrc_koca_objective *o, const double *u)
{
    int64_t m = o->m, r = o->r, tasks = (o->judged.listed + TILE - 1) / TILE;
    mrc_tall_times(o->ctx, o->from.n, r, m, 1, o->from.z, m, u, r, 0, o->y_from, r);
    if (!o->same)
        mrc_tall_times(o->ctx, o->judged.n, r, m, 1, o->judged.z, m, u, r, 0, o->y_judged, r);
    make_tail(o);
    mrc_parfor_sized(o->ctx, tasks,
                     2 * (double)o->judged.listed * (double)o->from.listed * (double)(r + 2),
                     find_neighbours, o);
    return mrc_koca_value_by(o, &o->rule);
}

/* Add 2 c (y_i - y_t), c shared by the neighbours t of judged row i that count. */
static void scatter(mrc_koca_objective *o, int64_t i, const int64_t *index, const double *distance,
                    int64_t count, double c)
{
    int64_t r = o->r, row = row_of(&o->judged, i);
    const double *y = o->y_judged + row * r;
    double *pull = o->pull_judged + row * r;
    if (o->rule.kth) {
        index += farthest(distance, count);
        count = 1;
    }
    for (int64_t t = 0; t < count; t++)
        for (int64_t j = 0; j < r; j++) {
            double part = 2 * c / (double)count * (y[j] - o->y_from[index[t] * r + j]);
            pull[j] += part;
            o->pull_from[index[t] * r + j] -= part;
        }
}

struct product {
    const double *z, *s;
    int64_t n, m, r;
    double beta, *g;
};

static void product_panel(void *arg, int64_t task, int worker)
{
    const struct product *p = arg;
    int64_t first = task * COLUMNS, count = p->m - first < COLUMNS ? p->m - first : COLUMNS;
    (void)worker;
    mrc_gemm(true, false, count, p->r, p->n, 1, p->z + first, p->m, p->s, p->r, p->beta,
             p->g + first * p->r, p->r);
}

/* g = z's + beta g, by ranges of the coordinates. */
static void add_product(mrc_koca_objective *o, const mrc_koca_rows *rows, const double *s,
                        double beta, double *g)
{
    struct product p = {
        .z = rows->z, .s = s, .n = rows->n, .m = o->m, .r = o->r, .beta = beta, .g = g};
    mrc_parfor_sized(o->ctx, (o->m + COLUMNS - 1) / COLUMNS,
                     2 * (double)rows->n * (double)o->m * (double)o->r, product_panel, &p);
}

void mrc_koca_gradient(mrc_koca_objective *o, double *g)
{
    int64_t k = o->rule.neighbours;
    double w, b;
    memset(o->pull_from, 0, (size_t)(o->from.n * o->r) * sizeof(double));
    memset(o->pull_judged, 0, (size_t)(o->judged.n * o->r) * sizeof(double));
    for (int64_t i = 0; i < o->judged.listed; i++) {
        int64_t at = i * o->room;
        if (o->weight[i] == 0)
            continue;
        double h = performance(o, &o->rule, i, &w, &b), below = w + o->rule.epsilon;
        double s = 2 * o->rule.beta * h * (1 - h) * o->weight[i];
        if (s == 0)
            continue;
        scatter(o, i, o->other + at, o->other_distance + at, other_count(o, i, k), s / below);
        scatter(o, i, o->own + at, o->own_distance + at, own_count(o, i, k),
                -s / below * (b / below));
    }
    add_product(o, &o->from, o->pull_from, 0, g);
    if (!o->same)
        add_product(o, &o->judged, o->pull_judged, 1, g);
}
