/* SPDX-License-Identifier: BSD-3-Clause */
/* The greedy engine; see selection.h.
 *
 * The guard: a score from the recurrence is trusted to the doubt that residual.h adds up, and to 64
 * eps r_j kmax / d_j, which no way of computing it avoids (eps of doubles, also where the matrix is
 * stored in single precision: what is stored is computed with exactly). Rows that this leaves as
 * possible winners are evaluated from the matrix itself, until the winner and its rivals all are.
 * Mostly that is one row a step or none. Where a rule's own scores depend on more than energies, it
 * says how far that may put them off, and rows that this leaves as possible winners are renewed in
 * the same way; but not those whose scores are off by less than what counts as equal. Cost of l
 * rows: l products with the operator (one more at the start) and 4 n l^2.
 *
 * Energies are squares of kernel values. Where these would leave the range of numbers the operator
 * gives its values in units of the largest while rows are taken; all results are in units of one
 * again. Nothing else changes: the unit is a power of four. */
#include "methods/greedy/selection.h"

#include "base/running.h"
#include "base/share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TIE = 1e-10;       /* scores this close are equal */
static const double MIN_SHARE = 1e-10; /* of the diagonal that a candidate has left */
enum { SAFETY = 64 }; /* rounding errors in units of eps; raising it evaluates more rows anew */

void mrc_selection_destroy(mrc_selection *s)
{
    mrc_residual_gram_destroy(&s->def);
    mrc_free(s->score);
    mrc_free(s->residual);
    mrc_free(s->error);
    mrc_free(s->variance);
    mrc_free(s->scores);
    mrc_free(s->l1);
    mrc_free(s->weights);
    mrc_free(s->list);
    mrc_free(s->fresh);
    mrc_free(s->renewed);
    mrc_free(s->listed);
    memset(s, 0, sizeof *s);
}

static int64_t looked_at(const mrc_selection_rule *rule, int64_t n)
{
    return rule->score == MRC_SCORE_RESIDUAL ? 1
           : rule->candidates                ? rule->candidates
           : rule->depth                     ? rule->depth
                                             : n;
}

/* A column for each row taken, from which those of the rows before are subtracted; where energies
 * of all rows follow, by a product for each row taken and one more, they are read twice again. Of a
 * few rows energies come from their columns. */
void mrc_selection_work(const mrc_selection_rule *rule, int64_t n, int64_t expected, mrc_work *work)
{
    double taken = (double)expected;
    bool few = looked_at(rule, n) < n;
    work->columns += few ? taken * (double)looked_at(rule, n) : taken;
    work->passes += few ? 0 : taken;
    work->norms += few ? 0 : 1;
    work->vectors = 1;
    work->reads += (few ? 1 : 3) * (double)n * taken * taken / 2;
}

bool mrc_selection_needs_few_columns(const mrc_selection_rule *rule, int64_t n)
{
    /* A store costs half a matrix of kernel values, or a factorisation; then every column of it
     * that is looked at has to be read again. */
    return rule->terms == 0 && (double)looked_at(rule, n) * (double)rule->most < 2 * (double)n;
}

/* ---- candidates ---- */

static bool is_candidate(const mrc_selection *s, int64_t j)
{
    return s->def.residual[j] > s->least_residual &&
           (s->delta <= 0 || !s->def.mask || s->def.mask[j]) && (s->list_count < 0 || s->listed[j]);
}

static int64_t count_candidates(const mrc_selection *s, int64_t *list)
{
    int64_t count = 0;
    for (int64_t j = 0; j < s->def.n; j++)
        if (is_candidate(s, j))
            list[count++] = j;
    return count;
}

struct ranked {
    double residual;
    int64_t row;
};

static int by_residual(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->residual != y->residual)
        return x->residual < y->residual ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static mercer_status keep_largest(mrc_selection *s, int64_t count, int64_t wanted,
                                  mercer_error *err)
{
    struct ranked *ranked = NULL;
    mercer_status rc = mrc_alloc(&ranked, count, sizeof *ranked, err);
    for (int64_t i = 0; rc == MERCER_OK && i < count; i++)
        ranked[i] = (struct ranked){s->def.residual[s->list[i]], s->list[i]};
    if (rc == MERCER_OK)
        qsort(ranked, (size_t)count, sizeof *ranked, by_residual);
    for (int64_t i = 0; rc == MERCER_OK && i < wanted; i++)
        s->list[i] = ranked[i].row;
    mrc_free(ranked);
    return rc;
}

/* Which rows this step looks at: all candidates (list_count < 0), or those in list. */
static mercer_status choose_candidates(mrc_selection *s, mercer_error *err)
{
    const mrc_selection_rule *rule = s->rule;
    mercer_status rc = MERCER_OK;
    s->list_count = -1;
    if ((!rule->candidates && !rule->depth) || rule->score == MRC_SCORE_RESIDUAL)
        return MERCER_OK;
    int64_t count = count_candidates(s, s->list);
    int64_t wanted = rule->candidates ? rule->candidates : rule->depth;
    wanted = wanted < count ? wanted : count;
    if (rule->candidates)
        mrc_rng_draw(&s->def.ctx->rng, s->list, count, wanted);
    else if (wanted < count)
        rc = keep_largest(s, count, wanted, err);
    for (int64_t j = 0; j < s->def.n; j++)
        s->listed[j] = 0;
    for (int64_t i = 0; i < wanted; i++)
        s->listed[s->list[i]] = 1;
    s->list_count = wanted;
    return rc;
}

/* ---- scores ---- */

/* What r_j is divided by. */
static double divisor(const mrc_selection *s, int64_t j)
{
    return s->rule->score == MRC_SCORE_DIRECTION ? s->def.residual[j] : s->l1[j] * s->l1[j];
}

/* Largest error of score j that rounding explains. */
static double score_error(const mrc_selection *s, int64_t j)
{
    const mrc_residual_gram *def = &s->def;
    if (!def->energy)
        return 0;
    double inherent = SAFETY * DBL_EPSILON * mrc_gram_kmax(def->gram) / def->residual[j];
    return (def->doubt[j] + fmax(def->energy[j], 0) * inherent) / divisor(s, j);
}

/* Scores of the rows in list, for a rule whose energies are not carried. */
static mercer_status score_list(mrc_selection *s, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (s->rule->score == MRC_SCORE_RESIDUAL) {
        memcpy(s->scores, s->def.residual, (size_t)s->def.n * sizeof *s->scores);
        return MERCER_OK;
    }
    double *energies = NULL;
    MRC_TRY(mrc_alloc(&energies, s->list_count, sizeof *energies, err));
    MRC_TRY(mrc_residual_gram_energies(&s->def, s->list, s->list_count, energies, err));
    for (int64_t i = 0; i < s->list_count; i++)
        s->scores[s->list[i]] = energies[i] / divisor(s, s->list[i]);
out:
    mrc_free(energies);
    return rc;
}

static mercer_status score_all(mrc_selection *s, mercer_error *err)
{
    const mrc_selection_rule *rule = s->rule;
    if (rule->rescore)
        return rule->rescore(rule->self, s, s->scores, err);
    for (int64_t j = 0; j < s->def.n; j++)
        if (is_candidate(s, j))
            s->scores[j] = fmax(s->def.energy[j], 0) / divisor(s, j); /* rounding may go below */
    return MERCER_OK;
}

/* The candidate of largest score among the rows here, or -1. */
static int64_t find_best(const mrc_selection *s)
{
    int64_t best = -1;
    for (int64_t j = 0; j < s->def.n; j++)
        if (is_candidate(s, j) && (best < 0 || s->scores[j] > s->scores[best]))
            best = j;
    return best;
}

/* Relative difference of scores that rounding explains, for a row with this residual. */
static double tie_width(const mrc_selection *s, int64_t j)
{
    const mrc_residual_gram *def = &s->def;
    double noise = fmax(SAFETY * DBL_EPSILON * s->largest, mrc_gram_left_out(def->gram));
    return fmin(fmax(TIE, noise / def->residual[j]), 0.5);
}

/* The best candidate of all ranks, and what others are compared with. */
struct leader {
    int64_t row; /* of all; -1: there is no candidate */
    double score, residual;
    double error; /* of the score, by rounding */
    double tie;   /* tie_width() */
    bool sure;    /* its energy need not be computed anew */
};

/* Row j, which is here, as a leader; -1: none. */
static struct leader leader_of(const mrc_selection *s, int64_t j)
{
    const mrc_residual_gram *def = &s->def;
    if (j < 0)
        return (struct leader){.row = -1};
    return (struct leader){
        .row = def->span.first + j,
        .score = s->scores[j],
        .residual = def->residual[j],
        .error = score_error(s, j),
        .tie = tie_width(s, j),
        .sure = def->energy &&
                (s->fresh[j] == def->count || def->doubt[j] <= 1e-9 * fmax(def->energy[j], 0))};
}

/* *mine of the ranks becomes one for all: the one of largest score, or the first one. Of equal ones
 * the lowest row. */
static mercer_status agree_on(mercer_ctx *ctx, bool by_score, struct leader *mine,
                              mercer_error *err)
{
    enum { ROW, SCORE, RESIDUAL, ERROR, TIE_WIDTH, SURE, NUMBERS };
    const int size = ctx->comm.table.size;
    const double own[NUMBERS] = {(double)mine->row, mine->score, mine->residual,
                                 mine->error,       mine->tie,   mine->sure};
    double *all = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&all, size, NUMBERS, sizeof *all, err));
    MRC_TRY(mrc_comm_collect(ctx, own, NUMBERS, all, err));
    *mine = (struct leader){.row = -1};
    for (int r = 0; r < size; r++) {
        const double *x = all + (size_t)r * NUMBERS;
        if (x[ROW] >= 0 && (mine->row < 0 || (by_score && x[SCORE] > mine->score)))
            *mine = (struct leader){.row = (int64_t)x[ROW],
                                    .score = x[SCORE],
                                    .residual = x[RESIDUAL],
                                    .error = x[ERROR],
                                    .tie = x[TIE_WIDTH],
                                    .sure = x[SURE] > 0};
    }
out:
    mrc_free(all);
    return rc;
}

static mercer_status find_leader(const mrc_selection *s, struct leader *best, mercer_error *err)
{
    *best = leader_of(s, find_best(s));
    return s->def.span.spread ? agree_on(s->def.ctx, true, best, err) : MERCER_OK;
}

/* Rows of all ranks whose place against the best is in doubt, and their number: those here into
 * list and, where rows are spread, all of them into *all, to be freed. */
static mercer_status list_doubtful(const mrc_selection *s, const struct leader *best, int64_t *list,
                                   char **all, int64_t *count, mercer_error *err)
{
    const mrc_residual_gram *def = &s->def;
    double floor = (best->score - best->error) * (1 - best->tie), rivals = 0;
    int64_t bytes = (int64_t)sizeof *list;
    mercer_status rc = MERCER_OK;
    *count = 0;
    for (int64_t j = 0; j < def->n; j++)
        if (is_candidate(s, j) && s->scores[j] + score_error(s, j) >= floor) {
            rivals += def->span.first + j != best->row;
            if (s->fresh[j] != def->count)
                list[(*count)++] = def->span.first + j;
        }
    if (def->span.spread) {
        MRC_TRY(mrc_comm_sum(def->ctx, &rivals, 1, err));
        MRC_TRY(mrc_comm_gather(def->ctx, list, *count * bytes, all, count, err));
        *count /= bytes;
    }
    if (rivals == 0 && best->sure)
        *count = 0;
out:
    return rc;
}

/* Evaluate the energies of the doubtful rows until there are none. */
static mercer_status settle_doubts(mrc_selection *s, mercer_error *err)
{
    const mrc_span *span = &s->def.span;
    int64_t *own = NULL, step = s->def.count, count;
    char *of_all = NULL;
    struct leader best;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&own, s->def.n, sizeof *own, err));
    for (;;) {
        MRC_TRY(find_leader(s, &best, err));
        if (best.row < 0)
            break;
        MRC_TRY(list_doubtful(s, &best, own, &of_all, &count, err));
        if (count == 0)
            break;
        const int64_t *doubtful = of_all ? (const int64_t *)(const void *)of_all : own;
        bool all = 2 * count > span->total;
        MRC_TRY(mrc_residual_gram_evaluate(&s->def, all ? NULL : doubtful, count, err));
        for (int64_t i = 0; all && i < s->def.n; i++)
            s->fresh[i] = step;
        for (int64_t i = 0; !all && i < count; i++)
            if (doubtful[i] >= span->first && doubtful[i] < span->first + span->n)
                s->fresh[doubtful[i] - span->first] = step;
        MRC_TRY(score_all(s, err));
        mrc_free(of_all);
        of_all = NULL;
    }
out:
    mrc_free(own);
    mrc_free(of_all);
    return rc;
}

/* Rows whose place against the best is in doubt by what the rule's scores have beside energies, and
 * that the rule has not renewed in this step, into list; their number. */
static int64_t list_unsure(const mrc_selection *s, int64_t best, int64_t *list)
{
    const mrc_selection_rule *rule = s->rule;
    int64_t count = 0, rivals = 0;
    double best_error = rule->rescore_error(rule->self, s, best, 0);
    double floor = s->scores[best] - best_error - score_error(s, best);
    floor *= 1 - tie_width(s, best);
    for (int64_t j = 0; j < s->def.n; j++) {
        double error = best_error, reach;
        if (!is_candidate(s, j))
            continue;
        if (j != best) {
            reach = floor - s->scores[j] - score_error(s, j);
            error = rule->rescore_error(rule->self, s, j, reach);
            if (error < reach)
                continue;
            rivals++;
        }
        if (s->renewed[j] <= s->def.count && error > tie_width(s, j) * fabs(s->scores[j]))
            list[count++] = j;
    }
    return rivals > 0 ? count : 0;
}

/* Let the rule renew the rows in doubt, with their energies, until there are none. */
static mercer_status settle_rule(mrc_selection *s, mercer_error *err)
{
    const mrc_selection_rule *rule = s->rule;
    int64_t *unsure = NULL, step = s->def.count, best, count;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&unsure, s->def.n, sizeof *unsure, err));
    while ((best = find_best(s)) >= 0 && (count = list_unsure(s, best, unsure)) > 0) {
        MRC_TRY(rule->renew(rule->self, s, unsure, count, err));
        MRC_TRY(mrc_residual_gram_evaluate(&s->def, unsure, count, err));
        for (int64_t i = 0; i < count; i++) {
            s->fresh[unsure[i]] = step;
            s->renewed[unsure[i]] = step + 1;
        }
        MRC_TRY(score_all(s, err));
        MRC_TRY(settle_doubts(s, err));
    }
out:
    mrc_free(unsure);
    return rc;
}

/* The given row with most left, so that the basis is as well conditioned as they allow;
 * -1: the others are combinations of those taken. */
static int64_t next_given(const mrc_selection *s)
{
    int64_t best = -1;
    for (int64_t i = 0; i < s->rule->given_count; i++) {
        int64_t j = s->rule->given[i];
        if (is_candidate(s, j) && (best < 0 || s->def.residual[j] > s->def.residual[best]))
            best = j;
    }
    return best;
}

/* The row to take: the lowest of those whose score equals the largest to rounding; row -1: none. */
static mercer_status pick(mrc_selection *s, struct leader *out, mercer_error *err)
{
    bool carried = s->def.energy != NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(choose_candidates(s, err));
    if (s->rule->given) {
        *out = leader_of(s, next_given(s));
        goto out;
    }
    if (!carried)
        MRC_TRY(score_list(s, err));
    else
        MRC_TRY(score_all(s, err));
    if (carried)
        MRC_TRY(settle_doubts(s, err));
    if (carried && s->rule->renew)
        MRC_TRY(settle_rule(s, err));
    MRC_TRY(find_leader(s, out, err));
    if (out->row < 0)
        goto out;
    /* Rounding can leave no score above zero. */
    double floor = out->score - fabs(out->score) * out->tie;
    int64_t first = 0;
    while (first < s->def.n && (!is_candidate(s, first) || s->scores[first] < floor))
        first++;
    *out = leader_of(s, first < s->def.n ? first : -1);
    if (s->def.span.spread)
        MRC_TRY(agree_on(s->def.ctx, false, out, err));
out:
    return rc;
}

/* ---- the steps ---- */

/* ACKFA: rows below delta leave candidates and data. */
static mercer_status cut(mrc_selection *s, mercer_error *err)
{
    mrc_residual_gram *def = &s->def;
    int64_t count = 0;
    for (int64_t j = 0; j < def->n; j++)
        if ((!def->mask || def->mask[j]) && def->residual[j] < s->delta)
            s->list[count++] = j;
    s->cut += count;
    return count > 0 ? mrc_residual_gram_drop(def, s->list, count, err) : MERCER_OK;
}

static mercer_status reserve(mrc_selection *s, mercer_error *err)
{
    int64_t count = s->def.count, wanted = s->capacity ? 2 * s->capacity : 16;
    mercer_status rc = MERCER_OK;
    if (count < s->capacity)
        return MERCER_OK;
    MRC_TRY(mrc_grow(&s->score, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&s->residual, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&s->error, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&s->variance, wanted, sizeof(double), err));
    if (s->rule->score == MRC_SCORE_L1_IMAGES)
        MRC_TRY(mrc_grow(&s->weights, wanted * s->def.n, sizeof(double), err));
    s->capacity = wanted;
out:
    return rc;
}

/* L after the newest row p was taken. */
static void update_l1(mrc_selection *s, int64_t p, double residual)
{
    const mrc_residual_gram *def = &s->def;
    int64_t n = def->n, newest = def->count - 1;
    const double *u = def->projections + newest * n;
    const double *column = def->coefficients + newest * (newest + 1) / 2;
    if (s->rule->score == MRC_SCORE_L1_FEATURES) {
        double factor = s->l1[p] / sqrt(residual);
        for (int64_t j = 0; j < n; j++)
            s->l1[j] += fabs(u[j]) * factor;
        return;
    }
    /* Phi_j + sum_s W_js Phi_s: what is left of mapped row j. */
    memset(s->weights + newest * n, 0, (size_t)n * sizeof *s->weights);
    for (int64_t j = 0; j < n; j++)
        s->l1[j] = 1;
    for (int64_t k = 0; k <= newest; k++) {
        double *weights = s->weights + k * n;
        for (int64_t j = 0; j < n; j++) {
            weights[j] -= u[j] * column[k];
            s->l1[j] += fabs(weights[j]);
        }
    }
}

/* What sums over the rows are taken of: the newest projections. */
struct newest {
    const mrc_residual_gram *def;
    const double *u;
    double mean;
};

/* What is left of the rows, and their projections. */
static mercer_status add_rows(void *arg, int64_t begin, int64_t end, double *sums,
                              mercer_error *err)
{
    const struct newest *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t j = 0; j < w->def->n; j++) {
        sums[0] += w->def->residual[j];
        sums[1] += w->u[j];
    }
    return MERCER_OK;
}

static mercer_status add_squares(void *arg, int64_t begin, int64_t end, double *sum,
                                 mercer_error *err)
{
    const struct newest *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t j = 0; j < w->def->n; j++)
        *sum += (w->u[j] - w->mean) * (w->u[j] - w->mean);
    return MERCER_OK;
}

/* What the row that was taken last achieved. */
static mercer_status record(mrc_selection *s, double score, double residual, mercer_error *err)
{
    const mrc_residual_gram *def = &s->def;
    int64_t newest = def->count - 1;
    struct newest w = {.def = def, .u = def->projections + newest * def->stride};
    double n = (double)def->span.total, sums[2] = {0}, captured = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_run_span(def->ctx, &def->span, sums, 2, 2, add_rows, &w, err));
    w.mean = s->rule->centered ? sums[1] / n : 0;
    MRC_TRY(mrc_run_span(def->ctx, &def->span, &captured, 1, 1, add_squares, &w, err));
    if (s->rule->score == MRC_SCORE_RESIDUAL) /* as if the others had been looked at */
        score = captured;
    s->score[newest] = score / n;
    s->residual[newest] = residual;
    s->error[newest] = sums[0] / n;
    s->variance[newest] = (newest > 0 ? s->variance[newest - 1] : 0) + captured / n;
out:
    return rc;
}

static bool is_done(const mrc_selection *s)
{
    const mrc_selection_rule *rule = s->rule;
    int64_t count = s->def.count;
    if (count == 0)
        return false;
    if (count >= rule->most ||
        (rule->captured > 0 &&
         s->variance[count - 1] >= mrc_share_target(rule->captured, s->total_variance)) ||
        (rule->mserr > 0 && s->error[count - 1] <= rule->mserr / s->unit))
        return true;
    for (int64_t j = 0; rule->maxerr > 0 && j < s->def.n; j++)
        if (s->def.residual[j] > rule->maxerr / s->unit)
            return false;
    return rule->maxerr > 0;
}

static mercer_status add_residuals(void *arg, int64_t begin, int64_t end, double *mean,
                                   mercer_error *err)
{
    const mrc_residual_gram *def = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t j = 0; j < def->n; j++)
        *mean += def->residual[j] / (double)def->span.total;
    return MERCER_OK;
}

/* Mean squared norm of the mapped rows, about their mean where that is to be captured. */
static mercer_status measure_total(mrc_selection *s, mercer_error *err)
{
    mrc_residual_gram *def = &s->def;
    double mean = 0;
    mercer_status rc = MERCER_OK;
    s->total_variance = 0;
    MRC_TRY(mrc_run_span(def->ctx, &def->span, &s->total_variance, 1, 1, add_residuals, def, err));
    if (s->rule->centered && s->rule->captured > 0)
        MRC_TRY(mrc_gram_grand_mean(def->gram, &mean, err));
    s->total_variance -= mean;
out:
    return rc;
}

/* Rows that are spread can be chosen by what they add to a direction, all of them, until there are
 * enough: everything else would be chosen, or stopped, by those of one rank. */
static bool can_be_spread(const mrc_selection_rule *rule)
{
    return rule->score == MRC_SCORE_DIRECTION && rule->captured == 0 && rule->candidates == 0 &&
           rule->depth == 0 && rule->terms == 0 && rule->delta == 0 && rule->maxerr == 0 &&
           rule->mserr == 0 && !rule->given && !rule->rescore;
}

static mercer_status start(mrc_selection *s, mercer_ctx *ctx, mrc_gram *gram, mercer_error *err)
{
    const mrc_selection_rule *rule = s->rule;
    int64_t n = mrc_gram_size(gram);
    unsigned char *mask = NULL;
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_residual_gram_init(&s->def, ctx, gram, rule->most, err));
    if (s->def.span.spread && !(can_be_spread(rule) && mrc_store_spreads(mrc_gram_store(gram))))
        MRC_FAIL(err, MERCER_ERR_UNSUPPORTED,
                 "rows that are spread over ranks cannot be chosen in this way: fit on one rank");
    int64_t looked = rule->given ? rule->given_count : n; /* others have no say in what is left */
    for (int64_t i = 0; i < looked; i++)
        s->largest = fmax(s->largest, s->def.residual[rule->given ? rule->given[i] : i]);
    /* Centring reduces the diagonal, but not its rounding errors. */
    if (s->def.span.spread)
        MRC_TRY(mrc_comm_largest(ctx, &s->largest, err));
    double rounding = mrc_gram_eps(gram);
    double share = fmin((double)s->def.span.total * rounding, 1e-3);
    share = fmax(MIN_SHARE, share);
    double size = rule->given ? mrc_gram_size_of(gram, s->largest) : mrc_gram_kmax(gram);
    s->least_residual = fmax(share * s->largest, SAFETY * rounding * size);
    MRC_TRY(measure_total(s, err));
    s->delta = rule->delta * (rule->relative ? s->total_variance : 1 / s->unit);
    MRC_TRY(mrc_alloc(&s->scores, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s->list, n, sizeof *s->list, err));
    MRC_TRY(mrc_alloc(&s->fresh, n, sizeof *s->fresh, err));
    MRC_TRY(mrc_alloc(&s->renewed, n, sizeof *s->renewed, err));
    MRC_TRY(mrc_alloc(&s->listed, n, 1, err));
    MRC_TRY(mrc_alloc(&s->l1, n, sizeof(double), err));
    for (int64_t j = 0; j < n; j++)
        s->l1[j] = 1;

    s->def.about_mean = rule->about_mean;
    bool listed = rule->candidates > 0 || (rule->depth > 0 && rule->depth < n);
    bool cheap = mrc_gram_factor(gram) || rule->terms > 0;
    if (rule->score == MRC_SCORE_RESIDUAL || (listed && !cheap && !rule->rescore))
        goto out; /* columns of a few rows per step cost less than a product */
    if (rule->terms > 0 && rule->terms < n) {
        MRC_TRY(mrc_alloc(&mask, n, 1, err));
        for (int64_t j = 0; j < n; j++)
            s->list[j] = j;
        mrc_rng_draw(&ctx->rng, s->list, n, rule->terms);
        for (int64_t i = 0; i < rule->terms; i++)
            mask[s->list[i]] = 1;
    }
    /* The columns of the terms are held where they are few: a product then is the smaller one. */
    bool hold = mask && 8 * rule->terms <= n && 8 * rule->terms * n < mercer_ctx_memory(ctx) / 4;
    MRC_TRY(mrc_residual_gram_start(&s->def, mask, rule->about_mean, hold, err));
out:
    mrc_free(mask);
    return rc;
}

/* Results in units of one. Scores by the l1 norm are in squares of kernel values, which may be too
 * large for a number: then they are the largest one. */
static void leave_unit(mrc_selection *s)
{
    double unit = s->unit, root = sqrt(unit);
    bool squares = s->rule->score == MRC_SCORE_L1_IMAGES || s->rule->score == MRC_SCORE_L1_FEATURES;
    int64_t count = s->def.count;
    if (unit == 1)
        return;
    for (int64_t i = 0; i < count; i++) {
        s->score[i] = fmin(s->score[i] * unit * (squares ? unit : 1), DBL_MAX);
        s->residual[i] *= unit;
        s->error[i] *= unit;
        s->variance[i] *= unit;
    }
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < s->def.n; i++)
            s->def.projections[j * s->def.stride + i] *= root;
    for (int64_t i = 0; i < count * (count + 1) / 2; i++)
        s->def.coefficients[i] /= root;
    for (int64_t j = 0; j < s->def.n; j++)
        s->def.residual[j] *= unit;
    s->total_variance *= unit;
    s->largest *= unit;
    s->least_residual *= unit;
    s->delta *= unit;
}

mercer_status mrc_selection_run(mrc_selection *s, mercer_ctx *ctx, mrc_gram *gram,
                                const mrc_selection_rule *rule, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    s->rule = rule;
    s->unit = mrc_gram_usual_unit(gram);
    mrc_gram_set_unit(gram, s->unit);
    MRC_TRY(start(s, ctx, gram, err));
    while (!is_done(s)) {
        int64_t count = s->def.count;
        struct leader p;
        mrc_progress(ctx, "select", (double)count / (double)rule->most);
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(reserve(s, err));
        if (s->delta > 0)
            MRC_TRY(cut(s, err));
        MRC_TRY(pick(s, &p, err));
        s->exhausted = p.row < 0;
        if (p.row < 0)
            break;
        MRC_TRY(mrc_residual_gram_take(&s->def, p.row, count + 1 < rule->most, err));
        if (rule->score == MRC_SCORE_L1_IMAGES || rule->score == MRC_SCORE_L1_FEATURES)
            update_l1(s, p.row, p.residual);
        MRC_TRY(record(s, p.score, p.residual, err));
    }
out:
    if (rc == MERCER_OK)
        leave_unit(s);
    mrc_gram_set_unit(gram, 1);
    return rc;
}
