/* SPDX-License-Identifier: BSD-3-Clause */
/* Randomly pivoted Cholesky factorisation (Chen, Epperly, Tropp, Webber 2023), several rows per
 * step (Epperly, Tropp, Webber 2024).
 *
 * With the residual d_i = (K - F F')_ii, a step draws BLOCK rows with probabilities in proportion
 * to d: those of the largest d_i / -log u, u a hash of seed, row and step, so that threads and
 * stores do not matter. In their order, each is accepted with probability d now / d when drawn,
 * another hash; together that is drawing one row after the other. The accepted rows give new
 * columns of F, (K_J - F F_J') L^-T with L L' their residual matrix. Greedy choices pick outliers,
 * uniform ones the dense regions; this one is near the best of all choices on the average. q
 * columns cost n q kernel values and n q^2 flops.
 *
 * Rows that are spread over ranks: each has the residuals and the rows of F that are its own. The
 * ranks compare the largest keys of each, get the columns of K and the rows of F of those drawn
 * from the ranks that have them, and rank 0 accepts. */
#include "gram/sampled.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/running.h"
#include "base/sweep.h"
#include "gram/store.h"
#include "linalg/linalg.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 16 }; /* rows drawn per step; more are drawn in vain, fewer make products short */

/* Residuals at or below this, of kmax, are rounding. */
static const double RESIDUAL = 1e-13;
/* Relative to kmax, a residual below minus this says that K has a negative eigenvalue. */
static const double NEGATIVE = 1e-8;

/* Which of the rows drawn stay. Rank 0 decides. */
struct choice {
    int64_t count, taken[BLOCK];    /* places among those drawn */
    bool spent[BLOCK];              /* of the rows drawn: rounding is all that is left */
    double triangle[BLOCK * BLOCK]; /* L, of the rows that stay */
};

struct sampling {
    mrc_gram *gram;
    mrc_factor *factor;
    uint64_t seed;
    double floor;
    double *residual;            /* n: of the rows here */
    int64_t drawn[BLOCK];        /* in this step, of all rows */
    double keys[BLOCK];          /* theirs, decreasing */
    int64_t count;               /* of them */
    double among[BLOCK * BLOCK]; /* of K - F F': the rows drawn, and their columns */
    struct choice chosen;        /* of them */
    double *columns;             /* BLOCK x n: rows of K, then of K - F F' */
    double *pivot_rows;          /* BLOCK x columns of F: F_J */
    double *told;                /* what ranks tell each other; NULL: one has all rows */
};

/* Streams of random numbers of a step: for drawing rows, and for accepting them. */
static uint64_t stream_of(uint64_t step, bool accepting)
{
    return 2 * step + (accepting ? 1 : 0);
}

/* Keep this row if its key is one of the largest so far; of equal keys the first stays. */
static inline void offer(struct sampling *s, int64_t wanted, double key, int64_t row)
{
    if (s->count == wanted && !(key > s->keys[wanted - 1]))
        return;
    int64_t at = s->count < wanted ? s->count++ : wanted - 1;
    assert(at >= 0 && at < BLOCK);
    for (; at > 0 && key > s->keys[at - 1]; at--) {
        s->keys[at] = s->keys[at - 1];
        s->drawn[at] = s->drawn[at - 1];
    }
    s->keys[at] = key;
    s->drawn[at] = row;
}

/* What a rank tells of the rows that it would draw: how many they are, their keys and numbers. */
enum { COUNT, DRAWN, TOLD = DRAWN + 2 * BLOCK };

/* The largest keys of all ranks, in the order of their rows. */
static mercer_status share_drawn(struct sampling *s, int64_t wanted, mercer_error *err)
{
    const mrc_comm *comm = &s->gram->ctx->comm;
    const int64_t size = comm->table.size * (int64_t)TOLD;
    double *mine = s->told + comm->table.rank * (int64_t)TOLD;
    memset(s->told, 0, (size_t)size * sizeof *s->told);
    mine[COUNT] = (double)s->count;
    for (int64_t i = 0; i < s->count; i++) {
        mine[DRAWN + 2 * i] = s->keys[i];
        mine[DRAWN + 2 * i + 1] = (double)s->drawn[i];
    }
    mercer_status rc = mrc_comm_sum(s->gram->ctx, s->told, size, err);
    s->count = 0;
    for (const double *told = s->told; rc == MERCER_OK && told < s->told + size; told += TOLD)
        for (int64_t i = 0; i < (int64_t)told[COUNT]; i++)
            offer(s, wanted, told[DRAWN + 2 * i], (int64_t)told[DRAWN + 2 * i + 1]);
    return rc;
}

/* The rows of the largest keys, in decreasing order. */
static mercer_status draw(struct sampling *s, int64_t wanted, uint64_t step, mercer_error *err)
{
    const uint64_t before = (uint64_t)s->factor->span.first;
    s->count = 0;
    for (int64_t i = 0; i < s->factor->n; i++) {
        if (!(s->residual[i] > s->floor))
            continue;
        const uint64_t row = before + (uint64_t)i;
        offer(s, wanted,
              s->residual[i] / -log(mrc_rng_uniform_at(s->seed, stream_of(step, false), row)),
              (int64_t)row);
    }
    return s->factor->span.spread ? share_drawn(s, wanted, err) : MERCER_OK;
}

/* Where a row of all is here; -1: on another rank. */
static int64_t place_of(const struct sampling *s, int64_t row)
{
    const int64_t at = row - s->factor->span.first;
    return at >= 0 && at < s->factor->n ? at : -1;
}

/* K_J - F F_J' for one strip of rows: the panels as they are, so that nothing is packed. */
static void residual_strip(void *arg, int64_t task, int worker)
{
    const struct sampling *s = arg;
    const mrc_factor *f = s->factor;
    int64_t first = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, f->n - first), q = f->rank;
    (void)worker;
    for (int64_t c = 0; c < q; c += MRC_PANEL)
        mrc_gemm(false, true, s->count, rows, mrc_min64(MRC_PANEL, q - c), -1, s->pivot_rows + c, q,
                 mrc_factor_panel(f, c) + first * MRC_PANEL, MRC_PANEL, 1, s->columns + first,
                 f->n);
}

/* Columns K_J - F F_J' of the rows drawn, in s->columns, and what they have in these rows. */
static mercer_status residual_columns(struct sampling *s, mercer_error *err)
{
    mrc_factor *f = s->factor;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_columns(s->gram, s->drawn, s->count, s->columns, err));
    if (f->rank > 0) {
        MRC_TRY(mrc_factor_rows_of_all(f, s->drawn, s->count, s->pivot_rows, err));
        MRC_TRY(mrc_sweep(f->ctx, mrc_strips(f->n), (double)f->n * (double)(f->rank + s->count),
                          residual_strip, s, err));
    }
    for (int64_t j = 0; j < s->count; j++) {
        const int64_t at = place_of(s, s->drawn[j]);
        for (int64_t i = 0; i < s->count; i++)
            s->among[i * BLOCK + j] = at >= 0 ? s->columns[i * f->n + at] : 0;
    }
    if (f->span.spread)
        MRC_TRY(mrc_comm_merge_numbers(f->ctx, s->among, s->count * BLOCK, err));
out:
    return rc;
}

/* Which of the rows drawn stay, and their triangle: a Cholesky factorisation in the order drawn. */
static void choose(struct sampling *s, uint64_t step)
{
    struct choice *c = &s->chosen;
    double lower[BLOCK][BLOCK] = {{0}}; /* of every row drawn, over those that stay */
    memset(c, 0, sizeof *c);
    for (int64_t i = 0; i < s->count; i++) {
        const double *column = s->among + i * BLOCK;
        double first = column[i], left = first;
        int64_t k = c->count;
        c->spent[i] = !(first > s->floor); /* the recurrence had rounding only */
        if (c->spent[i])
            continue;
        for (int64_t t = 0; t < k; t++) {
            double value = column[c->taken[t]];
            for (int64_t r = 0; r < t; r++)
                value -= lower[i][r] * c->triangle[t * BLOCK + r];
            lower[i][t] = value / c->triangle[t * BLOCK + t];
            left -= lower[i][t] * lower[i][t];
        }
        if (!(left > s->floor) ||
            mrc_rng_uniform_at(s->seed, stream_of(step, true), (uint64_t)s->drawn[i]) * first >
                left)
            continue;
        for (int64_t t = 0; t < k; t++)
            c->triangle[k * BLOCK + t] = lower[i][t];
        c->triangle[k * BLOCK + k] = sqrt(left);
        c->taken[c->count++] = i;
    }
}

static mercer_status accept(struct sampling *s, uint64_t step, mercer_error *err)
{
    const mrc_factor *f = s->factor;
    if (mrc_decides(f->ctx, &f->span))
        choose(s, step);
    mercer_status rc = mrc_decide(f->ctx, &f->span, &s->chosen, sizeof s->chosen, err);
    for (int64_t i = 0; rc == MERCER_OK && i < s->count; i++) {
        const int64_t at = place_of(s, s->drawn[i]);
        if (at >= 0 && s->chosen.spent[i])
            s->residual[at] = 0;
    }
    return rc;
}

/* New columns of F for one strip of rows, in place of their residual columns at first: a column at
 * a time, which compilers make vectors of. */
static void extend_strip(void *arg, int64_t task, int worker)
{
    struct sampling *s = arg;
    mrc_factor *f = s->factor;
    int64_t n = f->n, q = f->rank, first = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, n - first);
    double sum[MRC_STRIP] = {0};
    (void)worker;
    for (int64_t t = 0; t < s->chosen.count; t++) {
        double *column = s->columns + s->chosen.taken[t] * n + first;
        const double *weights = s->chosen.triangle + t * BLOCK;
        for (int64_t r = 0; r < t; r++) {
            const double *before = s->columns + s->chosen.taken[r] * n + first;
            for (int64_t i = 0; i < rows; i++)
                column[i] -= before[i] * weights[r];
        }
        for (int64_t i = 0; i < rows; i++) {
            column[i] /= weights[t];
            sum[i] += column[i] * column[i];
        }
    }
    for (int64_t t = 0, width; t < s->chosen.count; t += width) { /* those of one panel */
        int64_t at = (q + t) % MRC_PANEL;
        double *values = mrc_factor_panel(f, q + t) + first * MRC_PANEL + at;
        width = mrc_min64(MRC_PANEL - at, s->chosen.count - t);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t c = 0; c < width; c++)
                values[i * MRC_PANEL + c] = s->columns[s->chosen.taken[t + c] * n + first + i];
    }
    for (int64_t i = 0; i < rows; i++)
        s->residual[first + i] -= sum[i];
}

static void sampling_destroy(struct sampling *s)
{
    mrc_free(s->residual);
    mrc_free(s->columns);
    mrc_free(s->pivot_rows);
    mrc_free(s->told);
}

static mercer_status sampling_init(struct sampling *s, mercer_ctx *ctx, int64_t most,
                                   mercer_error *err)
{
    int64_t n = mrc_gram_size(s->gram), panels = (most + MRC_PANEL - 1) / MRC_PANEL;
    const double *diag;
    mercer_status rc = MERCER_OK;
    s->factor->ctx = ctx;
    s->factor->threads = ctx->threads;
    s->factor->n = n;
    s->factor->span = mrc_gram_span(s->gram);
    if (s->factor->span.spread)
        MRC_TRY(mrc_alloc2(&s->told, ctx->comm.table.size, TOLD, sizeof *s->told, err));
    MRC_TRY(mrc_alloc2_raw(&s->factor->values, panels * MRC_PANEL, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s->factor->pivots, most, sizeof *s->factor->pivots, err));
    MRC_TRY(mrc_alloc(&s->residual, n, sizeof *s->residual, err));
    MRC_TRY(mrc_alloc2_raw(&s->columns, BLOCK, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s->pivot_rows, most, BLOCK, sizeof(double), err));
    MRC_TRY(mrc_gram_diag(s->gram, &diag, err));
    memcpy(s->residual, diag, (size_t)n * sizeof *diag);
out:
    return rc;
}

/* The sum of what is left, and the least entry, but not above 0. */
static mercer_status sum_left(const struct sampling *s, double *sum, double *least,
                              mercer_error *err)
{
    const mrc_span *span = &s->factor->span;
    mercer_ctx *ctx = s->factor->ctx;
    double partial[MRC_PARTS] = {0}, lowest = 0;
    int64_t begin, end, parts = mrc_parts(span->total);
    mercer_status rc = MERCER_OK;
    mrc_span_parts(ctx, span, &begin, &end);
    for (int64_t part = begin; part < end; part++) {
        const int64_t last = mrc_part_start(span->total, part + 1) - span->first;
        double own = 0, own_least = 0;
        for (int64_t i = mrc_part_start(span->total, part) - span->first; i < last; i++) {
            own += fmax(s->residual[i], 0);
            own_least = fmin(own_least, s->residual[i]);
        }
        partial[part] = own;
        lowest = fmin(lowest, own_least);
    }
    if (span->spread) {
        lowest = -lowest;
        MRC_TRY(mrc_comm_sum(ctx, partial, parts, err));
        MRC_TRY(mrc_comm_largest(ctx, &lowest, err));
        lowest = -lowest;
    }
    *sum = 0;
    for (int64_t part = 0; part < parts; part++)
        *sum += partial[part];
    *least = lowest;
out:
    return rc;
}

/* No entry of the diagonal that is left is larger. */
static mercer_status find_left_out(const struct sampling *s, mercer_error *err)
{
    mrc_factor *f = s->factor;
    for (int64_t i = 0; i < f->n; i++)
        f->left_out = fmax(f->left_out, s->residual[i]);
    return f->span.spread ? mrc_comm_largest(f->ctx, &f->left_out, err) : MERCER_OK;
}

mercer_status mrc_gram_sample(mrc_gram *gram, int64_t most, double target, uint64_t seed,
                              mrc_sampled *out, mercer_error *err)
{
    int64_t n = mrc_gram_size(gram);
    mercer_ctx *ctx = gram->ctx;
    double kmax = mrc_gram_kmax(gram), rounding = 64 * mrc_gram_eps(gram), least;
    struct sampling s = {.gram = gram, .seed = seed, .floor = fmax(RESIDUAL, rounding) * kmax};
    mrc_factor *factor = NULL;
    mercer_status rc = MERCER_OK;

    memset(out, 0, sizeof *out);
    MRC_TRY(mrc_alloc(&factor, 1, sizeof *factor, err));
    s.factor = out->factor = factor;
    MRC_TRY(sampling_init(&s, ctx, most, err));
    MRC_TRY(sum_left(&s, &out->trace, &least, err));
    out->left = out->trace;
    for (uint64_t step = 0; out->factor->rank < most && out->left > target; step++) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        mrc_progress(ctx, "rows drawn", (double)out->factor->rank / (double)most);
        MRC_TRY(draw(&s, mrc_min64(BLOCK, most - out->factor->rank), step, err));
        if (s.count == 0)
            break;
        MRC_TRY(residual_columns(&s, err));
        MRC_TRY(accept(&s, step, err));
        MRC_TRY(mrc_sweep(ctx, mrc_strips(n), (double)n * (double)(s.count + s.chosen.count),
                          extend_strip, &s, err));
        for (int64_t t = 0; t < s.chosen.count; t++) {
            const int64_t row = s.drawn[s.chosen.taken[t]], at = place_of(&s, row);
            if (at >= 0)
                s.residual[at] = 0;
            out->factor->pivots[out->factor->rank++] = row;
        }
        MRC_TRY(sum_left(&s, &out->left, &least, err));
        /* A semidefinite kernel has no such entries but by rounding, which then is all that would
         * be drawn from here on. */
        if (least < -fmax(NEGATIVE, 16 * rounding) * kmax) {
            out->indefinite = !mrc_kernel_is_semidefinite(gram->kernel);
            break;
        }
    }
    MRC_TRY(find_left_out(&s, err));
    out->complete = !out->indefinite && out->factor->left_out <= s.floor;
out:
    sampling_destroy(&s);
    if (rc != MERCER_OK)
        mrc_sampled_destroy(out);
    return rc;
}

void mrc_sampled_destroy(mrc_sampled *sampled)
{
    mrc_factor_free(sampled->factor);
    memset(sampled, 0, sizeof *sampled);
}
