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
 * columns cost n q kernel values and n q^2 flops. */
#include "gram/sampled.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/strips.h"
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

struct sampling {
    mrc_gram *gram;
    mrc_factor *factor;
    uint64_t seed;
    double floor;
    double *residual;               /* n */
    int64_t drawn[BLOCK];           /* in this step */
    double keys[BLOCK];             /* theirs, decreasing */
    int64_t count;                  /* of them */
    int64_t accepted[BLOCK];        /* of the rows drawn, places in `drawn` */
    int64_t accepted_count;         /* */
    double triangle[BLOCK * BLOCK]; /* L, of the accepted rows */
    double *columns;                /* BLOCK x n: rows of K, then of K - F F' */
    double *pivot_rows;             /* BLOCK x columns of F: F_J */
};

/* Streams of random numbers of a step: for drawing rows, and for accepting them. */
static uint64_t stream_of(uint64_t step, bool accepting)
{
    return 2 * step + (accepting ? 1 : 0);
}

/* The rows of the largest keys, in decreasing order. */
static void draw(struct sampling *s, int64_t wanted, uint64_t step)
{
    s->count = 0;
    for (int64_t i = 0; i < s->factor->n; i++) {
        if (!(s->residual[i] > s->floor))
            continue;
        double key =
            s->residual[i] / -log(mrc_rng_uniform_at(s->seed, stream_of(step, false), (uint64_t)i));
        if (s->count == wanted && !(key > s->keys[wanted - 1]))
            continue;
        int64_t at = s->count < wanted ? s->count++ : wanted - 1;
        assert(at >= 0 && at < BLOCK);
        for (; at > 0 && key > s->keys[at - 1]; at--) {
            s->keys[at] = s->keys[at - 1];
            s->drawn[at] = s->drawn[at - 1];
        }
        s->keys[at] = key;
        s->drawn[at] = i;
    }
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

/* Columns K_J - F F_J' of the rows drawn, in s->columns. */
static mercer_status residual_columns(struct sampling *s, mercer_error *err)
{
    mrc_factor *f = s->factor;
    mercer_status rc = mrc_gram_columns(s->gram, s->drawn, s->count, s->columns, err);
    if (rc != MERCER_OK || f->rank == 0)
        return rc;
    mrc_factor_rows(f, s->drawn, s->count, s->pivot_rows);
    return mrc_sweep(f->ctx, mrc_strips(f->n), (double)f->n * (double)(f->rank + s->count),
                     residual_strip, s, err);
}

/* Which of the rows drawn stay, and their triangle: a Cholesky factorisation in the order drawn. */
static void accept(struct sampling *s, uint64_t step)
{
    int64_t n = s->factor->n, b = s->count;
    double lower[BLOCK][BLOCK] = {{0}}; /* of every row drawn, over the accepted ones */
    s->accepted_count = 0;
    for (int64_t i = 0; i < b; i++) {
        const double *column = s->columns + i * n;
        double first = column[s->drawn[i]], left = first;
        int64_t k = s->accepted_count;
        if (!(first > s->floor)) { /* the recurrence had rounding only */
            s->residual[s->drawn[i]] = 0;
            continue;
        }
        for (int64_t t = 0; t < k; t++) {
            double value = column[s->drawn[s->accepted[t]]];
            for (int64_t r = 0; r < t; r++)
                value -= lower[i][r] * s->triangle[t * BLOCK + r];
            lower[i][t] = value / s->triangle[t * BLOCK + t];
            left -= lower[i][t] * lower[i][t];
        }
        if (!(left > s->floor) ||
            mrc_rng_uniform_at(s->seed, stream_of(step, true), (uint64_t)s->drawn[i]) * first >
                left)
            continue;
        for (int64_t t = 0; t < k; t++)
            s->triangle[k * BLOCK + t] = lower[i][t];
        s->triangle[k * BLOCK + k] = sqrt(left);
        s->accepted[s->accepted_count++] = i;
    }
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
    for (int64_t t = 0; t < s->accepted_count; t++) {
        double *column = s->columns + s->accepted[t] * n + first;
        const double *weights = s->triangle + t * BLOCK;
        for (int64_t r = 0; r < t; r++) {
            const double *before = s->columns + s->accepted[r] * n + first;
            for (int64_t i = 0; i < rows; i++)
                column[i] -= before[i] * weights[r];
        }
        for (int64_t i = 0; i < rows; i++) {
            column[i] /= weights[t];
            sum[i] += column[i] * column[i];
        }
    }
    for (int64_t t = 0, width; t < s->accepted_count; t += width) { /* those of one panel */
        int64_t at = (q + t) % MRC_PANEL;
        double *values = mrc_factor_panel(f, q + t) + first * MRC_PANEL + at;
        width = mrc_min64(MRC_PANEL - at, s->accepted_count - t);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t c = 0; c < width; c++)
                values[i * MRC_PANEL + c] = s->columns[s->accepted[t + c] * n + first + i];
    }
    for (int64_t i = 0; i < rows; i++)
        s->residual[first + i] -= sum[i];
}

static void sampling_destroy(struct sampling *s)
{
    mrc_free(s->residual);
    mrc_free(s->columns);
    mrc_free(s->pivot_rows);
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
    s->factor->span = mrc_span_whole(n);
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

/* The sum of what is left, and the least entry. */
static double sum_left(const struct sampling *s, double *least)
{
    int64_t n = s->factor->n;
    double sum = 0;
    *least = 0;
    for (int64_t part = 0; part < mrc_parts(n); part++) {
        double partial = 0;
        for (int64_t i = mrc_part_start(n, part); i < mrc_part_start(n, part + 1); i++) {
            partial += fmax(s->residual[i], 0);
            *least = fmin(*least, s->residual[i]);
        }
        sum += partial;
    }
    return sum;
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
    out->left = out->trace = sum_left(&s, &least);
    for (uint64_t step = 0; out->factor->rank < most && out->left > target; step++) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        mrc_progress(ctx, "rows drawn", (double)out->factor->rank / (double)most);
        draw(&s, mrc_min64(BLOCK, most - out->factor->rank), step);
        if (s.count == 0)
            break;
        MRC_TRY(residual_columns(&s, err));
        accept(&s, step);
        MRC_TRY(mrc_sweep(ctx, mrc_strips(n), (double)n * (double)(s.count + s.accepted_count),
                          extend_strip, &s, err));
        for (int64_t t = 0; t < s.accepted_count; t++) {
            int64_t row = s.drawn[s.accepted[t]];
            s.residual[row] = 0;
            out->factor->pivots[out->factor->rank++] = row;
        }
        out->left = sum_left(&s, &least);
        /* A semidefinite kernel has no such entries but by rounding, which then is all that would
         * be drawn from here on. */
        if (least < -fmax(NEGATIVE, 16 * rounding) * kmax) {
            out->indefinite = !mrc_kernel_is_semidefinite(gram->kernel);
            break;
        }
    }
    for (int64_t i = 0; i < n; i++)
        out->factor->left_out = fmax(out->factor->left_out, s.residual[i]);
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
