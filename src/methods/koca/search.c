/* SPDX-License-Identifier: BSD-3-Clause */
/* The search; see search.h.
 *
 * Ascent: along the geodesic of the Riemannian gradient R = (I - UU') dF/dU; the angle grows by
 * half after a step that gains and is halved after one that does not, which is not taken. Annealing
 * (Liu, Srivastava, Gallivan 2004): steps of R/2 with noise, accepted with probability
 * exp(dF / D), D falling. A small beta makes F flat far from a solution, so larger ones go first
 * when there is a continuation; of many rows, some are enough for these. The subspace kept is the
 * best one seen, of the held-out rows when there are some. A step costs one evaluation, and a
 * gradient when it is taken. */
#include "methods/koca/search.h"

#include "linalg/grassmann.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double FIRST_ANGLE = 0.1, LARGEST_ANGLE = 1;
/* Steps below this angle gain nothing that anyone could see. */
static const double MIN_ANGLE = 1e-7;
/* Nor is there anything to gain above this performance. */
static const double ENOUGH = 1 - 1e-6;
/* A stage ends when this many steps taken gained less than that together: what is left of it helps
 * the rows that are judged, and hardly any others. Fewer steps, or a larger gain, make fits
 * shorter. */
enum { WINDOW = 25 };
static const double MIN_GAIN = 1e-4;
/* Betas before the wanted one, as far as they are larger. */
static const double EARLIER[] = {2, 1, 0.5};
enum { STAGES = sizeof EARLIER / sizeof *EARLIER };

mercer_status mrc_koca_search_init(mrc_koca_search *s, mercer_ctx *ctx,
                                   mrc_koca_objective *objective, mrc_koca_objective *sample,
                                   mrc_koca_objective *held, const mrc_koca_options *options,
                                   mercer_error *err)
{
    int64_t m = objective->m, r = objective->r;
    mercer_status rc = MERCER_OK;
    *s = (mrc_koca_search){.ctx = ctx,
                           .objective = objective,
                           .sample = sample,
                           .held = held,
                           .options = options,
                           .rule = objective->rule,
                           .best_value = -INFINITY,
                           .begun = mrc_seconds()};
    MRC_TRY(mrc_alloc2(&s->best, m, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->u, m, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->start, m, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->gradient, m, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->direction, m, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->next, m, r, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->inner, 4 * r + 1, r, sizeof(double), err));
out:
    return rc;
}

void mrc_koca_search_destroy(mrc_koca_search *s)
{
    mrc_free(s->best);
    mrc_free(s->trace);
    mrc_free(s->seconds);
    mrc_free(s->u);
    mrc_free(s->start);
    mrc_free(s->gradient);
    mrc_free(s->direction);
    mrc_free(s->next);
    mrc_free(s->inner);
    memset(s, 0, sizeof *s);
}

/* The subspace the objective saw last is where the search stands: a line of the trace, and perhaps
 * the best one. */
static mercer_status arrive(mrc_koca_search *s, const double *u, mercer_error *err)
{
    const mrc_koca_objective *o = s->now;
    size_t size = (size_t)(o->m * o->r) * sizeof *u;
    double f = mrc_koca_value_by(o, &s->rule), judged = f;
    mercer_status rc = MERCER_OK;
    if (s->steps == s->room) {
        int64_t room = 2 * s->room + 64;
        MRC_TRY(mrc_grow(&s->trace, room * MERCER_TRACE_COLUMNS, sizeof(double), err));
        MRC_TRY(mrc_grow(&s->seconds, room, sizeof(double), err));
        s->room = room;
    }
    double *line = s->trace + s->steps * MERCER_TRACE_COLUMNS;
    line[MERCER_TRACE_PERFORMANCE] = f;
    line[MERCER_TRACE_RATE] = mrc_koca_rate(o);
    line[MERCER_TRACE_DISTANCE] = mrc_subspace_distance(o->m, o->r, u, s->start, s->inner);
    line[MERCER_TRACE_ITERATION] = (double)s->steps;
    s->seconds[s->steps++] = mrc_seconds() - s->begun;
    if (!s->held && s->now != s->objective)
        goto out; /* a value over some rows is not comparable with one over all */
    if (s->held)
        judged = mrc_koca_value(s->held, u);
    s->stale++;
    if (judged > s->best_value) {
        s->best_value = judged;
        s->stale = 0;
        memcpy(s->best, u, size);
    }
out:
    return rc;
}

static mercer_status look_up(const mrc_koca_search *s, double done, mercer_error *err)
{
    mrc_progress(s->ctx, "subspaces", done);
    return mrc_check_cancel(s->ctx, err);
}

static double length_of(const mrc_koca_search *s, const double *x)
{
    int64_t size = s->objective->m * s->objective->r;
    return sqrt(mrc_dot(x, x, size));
}

/* direction = the Riemannian gradient at u, which the objective saw last. */
static void find_slope(mrc_koca_search *s)
{
    const mrc_koca_objective *o = s->now;
    mrc_koca_gradient(s->now, s->direction);
    mrc_make_tangent(o->m, o->r, s->u, s->direction, s->inner);
}

/* A step failed: between u and the end of it a neighbour changed, and with it the gradient. The
 * shortest combination of the direction and of the gradient there leads along the edge. */
static void learn_from_failure(mrc_koca_search *s)
{
    const mrc_koca_objective *o = s->now;
    int64_t size = o->m * o->r;
    double *g = s->gradient, *d = s->direction, dot = 0, apart = 0;
    mrc_koca_gradient(s->now, g);
    mrc_make_tangent(o->m, o->r, s->u, g, s->inner);
    for (int64_t i = 0; i < size; i++) {
        dot += d[i] * (d[i] - g[i]);
        apart += (d[i] - g[i]) * (d[i] - g[i]);
    }
    double share = apart > 0 ? fmin(fmax(dot / apart, 0), 1) : 0;
    for (int64_t i = 0; i < size; i++)
        d[i] += share * (g[i] - d[i]);
}

static bool is_overtaken(const mrc_koca_search *s)
{
    return s->held && s->stale >= s->options->patience;
}

static void swap_next(mrc_koca_search *s)
{
    double *swap = s->u;
    s->u = s->next;
    s->next = swap;
}

/* Ascent from u for the objective's beta; `done` and `share`: of the progress. */
static mercer_status ascend(mrc_koca_search *s, double done, double share, mercer_error *err)
{
    mrc_koca_objective *o = s->now;
    double angle = FIRST_ANGLE, value = mrc_koca_value(o, s->u), earlier = value, slope;
    int64_t limit = s->options->iterations, taken = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(arrive(s, s->u, err));
    find_slope(s);
    for (int64_t t = 0; t < limit && angle > MIN_ANGLE && !is_overtaken(s); t++) {
        MRC_TRY(look_up(s, done + share * (double)t / (double)limit, err));
        slope = length_of(s, s->direction);
        if (!(slope > 0 && value < ENOUGH))
            break;
        MRC_TRY(mrc_geodesic(s->ctx, o->m, o->r, s->u, s->direction, angle / slope, s->inner,
                             s->next, err));
        double reached = mrc_koca_value(o, s->next);
        if (reached > value) {
            value = reached;
            swap_next(s);
            MRC_TRY(arrive(s, s->u, err));
            find_slope(s);
            angle = fmin(1.5 * angle, LARGEST_ANGLE);
            if (++taken % WINDOW == 0) {
                if (value < earlier + MIN_GAIN)
                    break;
                earlier = value;
            }
        } else {
            learn_from_failure(s);
            angle /= 2;
        }
    }
out:
    return rc;
}

/* Annealing from u. The step is such that the noise turns the subspace by about FIRST_ANGLE. */
static mercer_status anneal(mrc_koca_search *s, double done, double share, mercer_error *err)
{
    mrc_koca_objective *o = s->now;
    int64_t m = o->m, r = o->r, limit = s->options->iterations;
    double heat = s->options->temperature, value = mrc_koca_value(o, s->u), *move = NULL;
    double step = FIRST_ANGLE * FIRST_ANGLE / (heat * (double)(m * r));
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&move, m, r, sizeof *move, err));
    MRC_TRY(arrive(s, s->u, err));
    find_slope(s);
    for (int64_t t = 0; t < limit && !is_overtaken(s); t++) {
        MRC_TRY(look_up(s, done + share * (double)t / (double)limit, err));
        /* Normal in the basis of tangent vectors of length 1 / sqrt(2). */
        for (int64_t i = 0; i < m * r; i++)
            move[i] = sqrt(step * heat) * mrc_rng_normal(&s->ctx->rng);
        for (int64_t i = 0; i < m * r; i++)
            move[i] += step / 2 * s->direction[i];
        mrc_make_tangent(m, r, s->u, move, s->inner);
        MRC_TRY(mrc_geodesic(s->ctx, m, r, s->u, move, 1, s->inner, s->next, err));
        double reached = mrc_koca_value(o, s->next);
        if (log(1 - mrc_rng_uniform(&s->ctx->rng)) < (reached - value) / heat) {
            value = reached;
            swap_next(s);
            MRC_TRY(arrive(s, s->u, err));
            find_slope(s);
        }
        heat /= s->options->cooling;
    }
out:
    mrc_free(move);
    return rc;
}

/* The rules of the stages, the wanted one last; returns how many there are. */
static int list_stages(const mrc_koca_search *s, mrc_koca_rule rules[STAGES + 2])
{
    const mrc_koca_objective *o = s->objective;
    int count = 0;
    for (int i = 0; s->options->continuation && i < STAGES; i++)
        if (EARLIER[i] > s->rule.beta) {
            rules[count] = s->rule;
            rules[count++].beta = EARLIER[i];
        }
    rules[count++] = s->rule;
    if (s->options->continuation && o->room > s->rule.neighbours) {
        memmove(rules + 1, rules, (size_t)count++ * sizeof *rules);
        rules[0].neighbours = o->room;
        rules[0].kth = false;
    }
    return count;
}

mercer_status mrc_koca_search_run(mrc_koca_search *s, const double *start, mercer_error *err)
{
    size_t size = (size_t)(s->objective->m * s->objective->r) * sizeof *start;
    mrc_koca_rule rules[STAGES + 2];
    int count = list_stages(s, rules);
    mercer_status rc = MERCER_OK;
    memcpy(s->u, start, size);
    memcpy(s->start, start, size);
    s->stale = 0;
    for (int stage = 0; stage < count && !is_overtaken(s); stage++) {
        double share = 1 / (double)count, done = (double)stage * share;
        s->now = s->sample && stage < count - 1 ? s->sample : s->objective;
        s->now->rule = rules[stage];
        if (s->options->anneal)
            MRC_TRY(anneal(s, done, share, err));
        else
            MRC_TRY(ascend(s, done, share, err));
    }
out:
    s->objective->rule = s->rule;
    return rc;
}
