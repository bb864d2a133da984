/* SPDX-License-Identifier: BSD-3-Clause */
/* criterion=top of rkpca on harsh tables, judged in quadruple precision: polynomial kernels of
 * columns of very different size or far from zero, rings under wide Gaussians. Each table is moved
 * until a choice is about to change, so that the two best scores are as close as the engine
 * distinguishes; there every error of its scores shows.
 *
 * The exact score is that of K^i = K - U U', K as the store has it and U as it was computed: what
 * errors of these mean is the business of test_deflated.c. With x = H K^i_z / sqrt(K^i_zz) and P
 * the projection on the m leading directions of the new scatter, the score changes by 2 Px.dx to
 * first order. Numbers of 53 bits have entries of K^i_z off by g s_z s_t, g = 4 sqrt(i + 8) u (see
 * gram/residual.c), with signs of their own, so along any direction by g s_z max s (low-rank: the
 * factor's errors are common to all entries, g s_z |s|), and K^i_zz by g s_z^2. This is what a
 * choice may lose. */
#include "selection_support.h"

#include "gram/factor.h"
#include "gram/residual.h"
#include "gram/store.h"
#include "methods/points/top.h"

enum { COLUMNS = 9, MOST = 32, KINDS = 5 };

/* ---- tables ---- */

struct table {
    char kernel[64];
    int64_t n, d;
    double *x;
};

/* Columns in the manner of a table of glass. */
static double *glass_rows(mrc_rng *rng, int64_t n)
{
    static const double mean[COLUMNS] = {72.6, 13.4, 8.9, 2.7, 1.44, 0.5, 0.17, 0.06, 1.518};
    static const double spread[COLUMNS] = {0.8, 0.8, 1.4, 1.44, 0.5, 0.65, 0.5, 0.1, 0.003};
    double *x = new_doubles(n * COLUMNS), factor[COLUMNS];
    for (int64_t k = 0; k < COLUMNS; k++)
        factor[k] = exp(mrc_rng_normal(rng) / 2);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < COLUMNS; k++) {
            double value = mean[k] + spread[k] * factor[k] * mrc_rng_normal(rng);
            x[i * COLUMNS + k] = fmax(round(value * 1000) / 1000, 0);
        }
    return x;
}

/* Columns of sizes 1e-3 ... 1e3, about zero or about a mean far off. */
static double *sized_rows(mrc_rng *rng, int64_t n, int64_t d, double shift)
{
    double *x = new_doubles(n * d);
    for (int64_t k = 0; k < d; k++) {
        double size = pow(10, 6 * mrc_rng_uniform(rng) - 3);
        for (int64_t i = 0; i < n; i++)
            x[i * d + k] = size * (shift + mrc_rng_normal(rng));
    }
    return x;
}

static struct table make_table(uint64_t seed, int64_t n)
{
    static const double widths[] = {1, 3, 10, 30};
    static const char *const gammas[] = {"1", "0.1111", "0.001"};
    struct table t = {.n = n, .d = COLUMNS};
    int degree = seed / 5 % 2 ? 2 : 3, kind = (int)(seed % KINDS);
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    snprintf(t.kernel, sizeof t.kernel, "poly:degree=%d,gamma=%s,coef0=%d", degree,
             gammas[seed / 10 % 3], (int)(seed / 30 % 2));
    if (kind == 0)
        t.x = glass_rows(&rng, n);
    if (kind == 1 || kind == 2) {
        t.d = kind == 1 ? 5 : 3;
        t.x = sized_rows(&rng, n, t.d, kind == 1 ? 0 : 30);
    }
    if (kind == 3) {
        t.d = 2;
        t.x = ring_rows(seed, n);
        snprintf(t.kernel, sizeof t.kernel, "rbf:sigma=%g", 4 * widths[seed / 10 % 4]);
    }
    if (kind == 4) {
        t.x = glass_rows(&rng, n);
        snprintf(t.kernel, sizeof t.kernel, "rbf:sigma=%g", 2 * widths[seed / 10 % 4]);
    }
    return t;
}

/* ---- the exact score ---- */

static quad quad_root(quad x)
{
    quad y = (quad)sqrt((double)x);
    for (int i = 0; i < 3 && y > 0; i++)
        y = (y + x / y) / 2;
    return y;
}

/* Eigenvalues (increasing) and vectors (rows of v) of the symmetric matrix a, by Jacobi. */
static void quad_eigen(quad *a, int64_t n, quad *values, quad *v)
{
    for (int64_t i = 0; i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 30; sweep++) {
        bool turned = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                quad apq = a[p * n + q], size = a[p * n + p] * a[q * n + q];
                if (apq * apq <= (size > 0 ? size : -size) * (quad)1e-60)
                    continue;
                turned = true;
                quad h = (a[q * n + q] - a[p * n + p]) / (2 * apq);
                quad t = 1 / ((h < 0 ? -h : h) + quad_root(h * h + 1));
                t = h < 0 ? -t : t;
                quad c = 1 / quad_root(t * t + 1), s = t * c;
                for (int64_t k = 0; k < n; k++) {
                    quad x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for (int64_t k = 0; k < n; k++) {
                    quad x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                    x = v[p * n + k], y = v[q * n + k];
                    v[p * n + k] = c * x - s * y;
                    v[q * n + k] = s * x + c * y;
                }
            }
        if (!turned)
            break;
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = a[i * (n + 1)];
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            least = values[j] < values[least] ? j : least;
        quad value = values[i];
        values[i] = values[least];
        values[least] = value;
        for (int64_t k = 0; least != i && k < n; k++) {
            value = v[i * n + k];
            v[i * n + k] = v[least * n + k];
            v[least * n + k] = value;
        }
    }
}

/* The secular function at theta_k + y. */
static quad secular(const quad *theta, const quad *squares, int64_t count, quad corner, int64_t k,
                    quad y)
{
    quad sum = theta[k] + y - corner;
    for (int64_t j = 0; j < count; j++)
        if (squares[j] > 0)
            sum -= squares[j] / (y + (theta[k] - theta[j]));
    return sum;
}

/* Its root above theta_k, as a distance from there, by bisection of the exponent and false
 * position. */
static quad quad_shift(const quad *theta, const quad *squares, int64_t count, quad corner,
                       int64_t k)
{
    bool last = k + 1 == count;
    quad high = last ? 0 : theta[k + 1] - theta[k], low;
    for (int64_t j = 0; last && j < count; j++)
        high += squares[j];
    if (last)
        high = (corner > theta[k] ? corner - theta[k] : 0) + quad_root(high);
    if (!(high > 0) || !(squares[k] > 0))
        return 0;
    low = high;
    for (int i = 0; i < 60; i++) { /* a power of 16 below the root */
        low /= 16;
        if (secular(theta, squares, count, corner, k, low) < 0)
            break;
        high = low;
    }
    /* y f(y) has no pole at zero: false position on it, Illinois. */
    quad fl = low * secular(theta, squares, count, corner, k, low);
    quad fh = last || high < theta[k + (last ? 0 : 1)] - theta[k]
                  ? high * secular(theta, squares, count, corner, k, high)
                  : 1;
    int side = 0;
    for (int i = 0; i < 300 && high - low > low * (quad)1e-22; i++) {
        quad y = i % 3 == 2 ? (low + high) / 2 : (low * fh - high * fl) / (fh - fl);
        if (!(y > low && y < high))
            y = (low + high) / 2;
        quad f = y * secular(theta, squares, count, corner, k, y);
        if (f < 0) {
            low = y, fl = f;
            fh = side < 0 ? fh / 2 : fh;
            side = -1;
        } else {
            high = y, fh = f;
            fl = side > 0 ? fl / 2 : fl;
            side = 1;
        }
    }
    return (low + high) / 2;
}

/* What the exact scores of a step are made of, and they themselves. */
struct exact {
    int64_t n, wanted, count;
    bool about_mean;
    quad *k;       /* K^i = K - U U', U as computed */
    quad *u;       /* U~', count x n */
    quad *scatter; /* count x count, stride MOST */
    /* What belongs to the step. */
    quad *theta, *vectors;
    bool *candidate;
    double *score; /* exact */
    double *grip;  /* |P x|, P on the m leading directions of the new scatter */
    double *residual, *noise;
    /* What belongs to the run. */
    mrc_top top;
    const char *what;
    double worst_pick, worst_loss, worst_score; /* of what is allowed, of the best, of its bound */
    int64_t steps, wrong, renewals;
};

static void exact_follow(struct exact *e, const mrc_residual_gram *def)
{
    int64_t n = e->n, i = e->count;
    const double *u = def->projections + i * n;
    quad mean = 0;
    for (int64_t t = 0; e->about_mean && t < n; t++)
        mean += (quad)u[t] / (quad)n;
    for (int64_t t = 0; t < n; t++) {
        e->u[i * n + t] = u[t] - mean;
        for (int64_t j = 0; j < n; j++)
            e->k[t * n + j] -= (quad)u[t] * u[j];
    }
    for (int64_t s = 0; s <= i; s++) {
        quad dot = 0;
        for (int64_t t = 0; t < n; t++)
            dot += e->u[s * n + t] * e->u[i * n + t];
        e->scatter[s * MOST + i] = e->scatter[i * MOST + s] = dot;
    }
    e->count++;
}

static void exact_scores(struct exact *e, const mrc_selection *s)
{
    int64_t n = e->n, i = e->count;
    quad *a = new_quads(i * i + 1), *c = new_quads(i + 1), *sq = new_quads(i + 1);
    quad *x = new_quads(n);
    double total = 0, most = 0;
    bool lowrank = mrc_gram_factor(s->def.gram) != NULL;
    for (int64_t r = 0; r < i; r++)
        for (int64_t t = 0; t < i; t++)
            a[r * i + t] = e->scatter[r * MOST + t];
    quad_eigen(a, i, e->theta, e->vectors);
    for (int64_t j = 0; j < n; j++) {
        double own = s->def.base2[j] + fmax(s->def.gram->diag[j] - s->def.residual[j], 0);
        total += own;
        most = fmax(most, own);
    }
    for (int64_t j = 0; j < n; j++) {
        quad d = e->k[j * (n + 1)], mean = 0, corner = 0, gain = 0, grip = 0;
        e->candidate[j] = s->def.residual[j] > s->least_residual;
        if (!e->candidate[j])
            continue;
        for (int64_t t = 0; e->about_mean && t < n; t++)
            mean += e->k[j * n + t] / (quad)n;
        for (int64_t t = 0; t < n; t++) {
            x[t] = e->k[j * n + t] - mean;
            corner += x[t] * x[t] / d;
        }
        for (int64_t r = 0; r < i; r++) {
            a[r] = 0;
            for (int64_t t = 0; t < n; t++)
                a[r] += e->u[r * n + t] * x[t];
        }
        quad outside = corner;
        for (int64_t r = 0; r < i; r++) {
            c[r] = 0;
            for (int64_t t = 0; t < i; t++)
                c[r] += e->vectors[r * i + t] * a[t];
            sq[r] = c[r] * c[r] / d;
            outside -= e->theta[r] > 0 ? sq[r] / e->theta[r] : 0;
        }
        if (outside < 0)
            outside = 0;
        for (int64_t k = i < e->wanted ? 0 : i - e->wanted; i >= e->wanted && k < i; k++) {
            quad y = quad_shift(e->theta, sq, i, corner, k), lambda = e->theta[k] + y;
            quad sum = lambda > 0 ? outside / lambda / lambda : 0;
            gain += y;
            for (int64_t r = 0; r < i; r++) {
                quad gap = y + (e->theta[k] - e->theta[r]);
                if (sq[r] > 0 && gap != 0)
                    sum += sq[r] / e->theta[r] / gap / gap;
            }
            grip += sum > 0 ? 1 / sum : 0;
        }
        if (i < e->wanted)
            gain = grip = corner;
        double own = s->def.base2[j] + fmax(s->def.gram->diag[j] - s->def.residual[j], 0);
        double g = 4 * sqrt((double)i + 8) * UNIT,
               dx = g * sqrt(own * (lowrank ? total : most) / (double)d);
        e->score[j] = (double)gain;
        e->grip[j] = sqrt((double)grip);
        e->residual[j] = (double)d;
        double dd = (g * own + mrc_gram_left_out(s->def.gram)) / (double)d;
        e->noise[j] = (2 * e->grip[j] + dx) * dx + e->grip[j] * e->grip[j] * dd;
    }
    free(a);
    free(c);
    free(sq);
    free(x);
}

/* How far the engine's scores are off, in units of their bound. */
static void judge_scores(struct exact *e, const mrc_selection *s, const double *scores)
{
    const mrc_residual_gram *def = &s->def;
    for (int64_t j = 0; e->count >= e->wanted && j < e->n; j++) {
        if (!e->candidate[j])
            continue;
        double bound = def->doubt[j] / def->residual[j] + e->noise[j];
        double error = fabs(scores[j] - e->score[j]);
        bound += mrc_top_error(&e->top, s, j, 0) + 1e-14 * e->score[j];
        e->worst_score = fmax(e->worst_score, error / bound);
        if (error > bound)
            complain(e->what, "step %lld, row %lld: score %.9g, truly %.9g, bound %.3g",
                     (long long)def->count, (long long)j, scores[j], e->score[j], bound);
    }
}

/* Judge the row taken last by the scores of the step before: it has the best score, except for what
 * rounding leaves open, or is a lower row of a score that counts as equal. */
static void judge_pick(struct exact *e, const mrc_selection *s, int64_t p)
{
    int64_t best = -1;
    double noise = fmax(64 * DBL_EPSILON * s->largest, mrc_gram_left_out(s->def.gram));
    for (int64_t j = 0; j < e->n; j++)
        if (e->candidate[j] && (best < 0 || e->score[j] > e->score[best]))
            best = j;
    double tie = p < best ? fmin(fmax(1e-10, noise / e->residual[best]), 0.5) : 0;
    double lost = e->score[best] - e->score[p];
    double allowed = tie * e->score[best] + e->noise[best] + e->noise[p];
    e->steps++;
    if (best == p)
        return;
    e->worst_pick = fmax(e->worst_pick, lost / allowed);
    e->worst_loss = fmax(e->worst_loss, lost / e->score[best]);
    if (lost <= allowed)
        return;
    e->wrong++;
    complain(e->what,
             "step %lld takes row %lld of score %.12g, the best is row %lld of %.12g: %.3g times "
             "what rounding explains",
             (long long)s->def.count - 1, (long long)p, e->score[p], (long long)best,
             e->score[best], lost / allowed);
}

static mercer_status watch(void *self, const mrc_selection *s, double *scores, mercer_error *er)
{
    struct exact *e = self;
    mercer_status rc = mrc_top_scores(&e->top, s, scores, er);
    if (rc != MERCER_OK)
        return rc;
    if (e->count < s->def.count) {
        judge_pick(e, s, s->def.selected[e->count]);
        exact_follow(e, &s->def);
        exact_scores(e, s);
    } else if (e->steps == 0 && e->count == 0) {
        exact_scores(e, s);
    }
    judge_scores(e, s, scores);
    return rc;
}

static double watch_error(const void *self, const mrc_selection *s, int64_t j, double reach)
{
    const struct exact *e = self;
    return mrc_top_error(&e->top, s, j, reach);
}

static mercer_status watch_renew(void *self, const mrc_selection *s, const int64_t *rows,
                                 int64_t count, mercer_error *er)
{
    struct exact *e = self;
    e->renewals += count;
    return mrc_top_renew(&e->top, s, rows, count, er);
}

static quad *matrix_of(mrc_gram *raw)
{
    const mrc_factor *factor = mrc_gram_factor(raw);
    bool lowrank = factor != NULL;
    int64_t n = raw->n, q = lowrank ? factor->rank : 0;
    double *values = new_doubles(n * (lowrank ? q : n));
    int64_t *all = calloc((size_t)n, sizeof *all);
    quad *k = new_quads(n * n);
    assert_non_null(all);
    for (int64_t i = 0; i < n; i++)
        all[i] = i;
    if (lowrank)
        mrc_factor_rows(factor, NULL, n, values);
    else
        assert_ok(mrc_gram_columns(raw, all, n, values, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (!lowrank)
                k[i * n + j] = values[i * n + j];
            for (int64_t c = 0; lowrank && c < q; c++)
                k[i * n + j] += (quad)values[i * q + c] * values[j * q + c];
        }
    free(values);
    free(all);
    return k;
}

static void attack(const struct table *t, const mercer_rows *rows, const mrc_store *store,
                   bool centred, int64_t wanted, int64_t points, struct exact *sum)
{
    char what[200];
    int64_t n = t->n;
    mrc_gram_request request = {.store = store};
    mrc_gram *gram = NULL, *raw = NULL;
    mrc_kernel kernel;
    mrc_selection s = {0};
    struct exact e = {.n = n, .wanted = wanted, .about_mean = centred, .what = what};
    e.top = (mrc_top){.ctx = ctx, .wanted = wanted, .about_mean = centred};
    mrc_selection_rule rule = {.score = MRC_SCORE_DIRECTION,
                               .about_mean = centred,
                               .centered = centred,
                               .most = points,
                               .rescore = watch,
                               .rescore_error = watch_error,
                               .renew = watch_renew,
                               .self = &e};
    snprintf(what, sizeof what, "%s, store %s, %s, m=%d", t->kernel, store->name,
             centred ? "centred" : "plain", (int)wanted);
    assert_ok(mrc_kernel_parse(&kernel, t->kernel, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    assert_ok(mrc_gram_new(&gram, ctx, &kernel, rows, &request, NULL, err));
    assert_ok(mrc_gram_new(&raw, ctx, &kernel, rows, &request, NULL, err));
    assert_true(mrc_gram_usual_unit(gram) == 1);
    e.k = matrix_of(raw);
    e.u = new_quads(MOST * n);
    e.scatter = new_quads(MOST * MOST);
    e.theta = new_quads(MOST);
    e.vectors = new_quads(MOST * MOST);
    e.score = new_doubles(4 * n);
    e.grip = e.score + n;
    e.residual = e.score + 2 * n;
    e.noise = e.score + 3 * n;
    e.candidate = calloc((size_t)n, sizeof *e.candidate);
    assert_ok(mrc_selection_run(&s, ctx, gram, &rule, err));
    if (s.def.count > e.count)
        judge_pick(&e, &s, s.def.selected[e.count]);
    sum->steps += e.steps;
    sum->wrong += e.wrong;
    sum->renewals += e.renewals;
    sum->worst_pick = fmax(sum->worst_pick, e.worst_pick);
    sum->worst_score = fmax(sum->worst_score, e.worst_score);
    sum->worst_loss = fmax(sum->worst_loss, e.worst_loss);
    mrc_top_destroy(&e.top);
    mrc_selection_destroy(&s);
    mrc_gram_free(gram);
    mrc_gram_free(raw);
    free(e.k);
    free(e.u);
    free(e.scatter);
    free(e.theta);
    free(e.vectors);
    free(e.score);
    free(e.candidate);
}

static int64_t picks_of(const struct table *t, const double *x, const mrc_store *store,
                        bool centred, int64_t wanted, int64_t points, int64_t *picks)
{
    mrc_gram_request request = {.store = store};
    mrc_gram *gram = NULL;
    mrc_kernel kernel;
    mrc_selection s = {0};
    mrc_top top = {.ctx = ctx, .wanted = wanted, .about_mean = centred};
    mrc_selection_rule rule = {.score = MRC_SCORE_DIRECTION,
                               .about_mean = centred,
                               .centered = centred,
                               .most = points,
                               .rescore = mrc_top_scores,
                               .rescore_error = mrc_top_error,
                               .renew = mrc_top_renew,
                               .self = &top};
    mercer_rows *rows = view(ctx, x, t->n, t->d);
    assert_ok(mrc_kernel_parse(&kernel, t->kernel, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    assert_ok(mrc_gram_new(&gram, ctx, &kernel, rows, &request, NULL, err));
    assert_ok(mrc_selection_run(&s, ctx, gram, &rule, err));
    int64_t count = s.def.count;
    memcpy(picks, s.def.selected, (size_t)count * sizeof *picks);
    mrc_top_destroy(&top);
    mrc_selection_destroy(&s);
    mrc_gram_free(gram);
    mercer_rows_free(rows);
    return count;
}

/* Two tables that hardly differ, whose picks do: between the table and another one. */
static bool find_switch(const struct table *t, uint64_t seed, const mrc_store *store, bool centred,
                        int64_t wanted, int64_t points, double *low, double *high)
{
    int64_t size = t->n * t->d, first[MOST], other[MOST], count, others;
    double *middle = new_doubles(size);
    mrc_rng rng;
    mrc_rng_seed(&rng, 77 * seed + 1);
    for (int64_t i = 0; i < size; i++) {
        low[i] = t->x[i];
        high[i] = t->x[i] * (1 + 1e-3 * mrc_rng_normal(&rng));
    }
    count = picks_of(t, low, store, centred, wanted, points, first);
    others = picks_of(t, high, store, centred, wanted, points, other);
    int64_t at = 0;
    while (at < count && at < others && first[at] == other[at])
        at++;
    bool found = at < count && at < others && at >= wanted;
    for (int step = 0; found && step < 48; step++) {
        for (int64_t i = 0; i < size; i++)
            middle[i] = low[i] + (high[i] - low[i]) / 2;
        int64_t got = picks_of(t, middle, store, centred, wanted, points, other);
        bool same = got >= at && memcmp(other, first, (size_t)(at + 1) * sizeof *first) == 0;
        memcpy(same ? low : high, middle, (size_t)size * sizeof *middle);
    }
    free(middle);
    return found;
}

static void test_top_choices_of_harsh_tables(void **state)
{
    static const mrc_store *const stores[] = {&mrc_store_dense, &mrc_store_stream,
                                              &mrc_store_lowrank};
    static const int64_t wanted[] = {1, 2, 3, 5};
    enum { TABLES = 150, POINTS = 14 };
    struct exact sums[KINDS] = {0};
    int64_t judged = 0, wrong = 0;
    (void)state;
    for (uint64_t seed = 0; seed < TABLES; seed++) {
        struct table t = make_table(seed, 40);
        const mrc_store *store = stores[seed / KINDS % 3];
        bool centred = seed / 3 % 4 != 3;
        int64_t m = wanted[seed % 4];
        double *sides[2] = {new_doubles(t.n * t.d), new_doubles(t.n * t.d)};
        bool two = find_switch(&t, seed, store, centred, m, POINTS, sides[0], sides[1]);
        for (int side = 0; side < 1 + two; side++) {
            mercer_rows *rows = view(ctx, sides[side], t.n, t.d);
            attack(&t, rows, store, centred, m, POINTS, &sums[seed % KINDS]);
            mercer_rows_free(rows);
            judged++;
        }
        free(sides[0]);
        free(sides[1]);
        free(t.x);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        const struct exact *sum = &sums[kind];
        print_message("kind %d: %lld steps, %lld wrong; worst pick %.3g of what is allowed, loses "
                      "%.3g; worst score %.3g of its bound; %lld columns renewed\n",
                      kind, (long long)sum->steps, (long long)sum->wrong, sum->worst_pick,
                      sum->worst_loss, sum->worst_score, (long long)sum->renewals);
        wrong += sum->wrong;
    }
    print_message("%lld tables, %lld wrong picks\n", (long long)judged, (long long)wrong);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_top_choices_of_harsh_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
