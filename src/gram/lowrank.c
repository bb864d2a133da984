/* SPDX-License-Identifier: BSD-3-Clause */
/* The low-rank store: K = F F' to rounding, by a block pivoted Cholesky factorisation.
 *
 * Each step looks at the POOL rows with the largest residual diagonal, runs an exact pivoted
 * Cholesky factorisation on their small residual matrix, and takes its first pivots together: the
 * new columns of F then cost one kernel block and one GEMM instead of a memory-bound product each.
 * It ends when the largest residual diagonal entry is at most 1e-13 kmax. q columns cost n q kernel
 * values and n q^2 flops; an n x n matrix never exists. The rows of a linear kernel are its factor.
 *
 * Centring subtracts the column means of F in place. */
#include "base/order.h"
#include "gram/factor.h"
#include "gram/store.h"

#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    POOL = 128,  /* rows considered per step; more gives a slightly smaller q and costs POOL^2 q */
    BLOCK = 16,  /* pivots taken per step at most */
    STRIP = 256, /* rows of F handled together */
};

/* Residual diagonal at which the factor counts as exact, relative to kmax: the rounding error of
 * the diagonal recurrence after a few hundred columns is just below. */
static const double RESIDUAL = 1e-13;
/* Relative to kmax, what the recurrence for the residual can still resolve. */
static const double MIN_RESIDUAL = 32 * 2.2e-16;
/* Pivots of a step must keep this share of its first one, or points outside the pool would have
 * been better. */
static const double PIVOT_SHARE = 0.05;

struct factorisation {
    const mrc_gram *g;
    mrc_factor *factor; /* its rank is set at the end */
    double floor;       /* residual that counts as zero */
    double goal;        /* of the trace of K - F F' */
    double *residual;   /* n: diagonal of K - F F' */
    int64_t columns;    /* of F so far */
    int64_t pool[POOL]; /* rows considered in this step */
    int64_t pool_size;
    int64_t pivots[BLOCK]; /* rows taken, in order */
    int64_t pivot_count;
    double *pool_points;            /* prepared copies of the pool's rows */
    double *pool_rows;              /* POOL x columns of F */
    double *pool_matrix;            /* POOL x POOL */
    double triangle[BLOCK * BLOCK]; /* Cholesky factor of the pivots' residual matrix */
    double *pivot_columns;          /* columns x BLOCK: the pivots' rows of F, transposed */
    double *pivot_storage;
    mrc_points pivot_points;
    double **scratch; /* per worker: STRIP x BLOCK values, a window of STRIP packed points */
};

/* The POOL rows of largest residual, by a heap whose top is the smallest kept. */
static void choose_pool(struct factorisation *f)
{
    const double *d = f->residual;
    int64_t *heap = f->pool, size = 0;
    for (int64_t i = 0; i < f->g->n; i++) {
        int64_t at;
        if (size < POOL) {
            at = size++;
            while (at > 0 && d[heap[(at - 1) / 2]] > d[i]) {
                heap[at] = heap[(at - 1) / 2];
                at = (at - 1) / 2;
            }
        } else if (d[i] > d[heap[0]]) {
            at = 0;
            for (;;) {
                int64_t child = 2 * at + 1;
                if (child >= size)
                    break;
                if (child + 1 < size && d[heap[child + 1]] < d[heap[child]])
                    child++;
                if (d[heap[child]] >= d[i])
                    break;
                heap[at] = heap[child];
                at = child;
            }
        } else {
            continue;
        }
        heap[at] = i;
    }
    f->pool_size = size;
}

/* Residual matrix of the pool, then pivoted Cholesky on it: pivots and their triangle. */
static void choose_pivots(void *arg, int64_t task, int worker)
{
    struct factorisation *f = arg;
    const mrc_gram *g = f->g;
    int64_t p = f->pool_size, q = f->columns;
    double *matrix = f->pool_matrix;
    (void)task, (void)worker;

    mrc_points rows = mrc_points_gather(&g->points, f->pool, p, f->pool_points);
    mrc_kernel_tile(g->kernel, g->ctx, &rows, 0, p, &rows, 0, p, matrix, POOL);
    for (int64_t i = 0; i < p; i++)
        mrc_factor_row(f->factor, f->pool[i], q, f->pool_rows + i * q);
    mrc_gemm(false, true, p, p, q, -1, f->pool_rows, q, f->pool_rows, q, 1, matrix, POOL);
    for (int64_t i = 0; i < p; i++)
        matrix[i * POOL + i] = f->residual[f->pool[i]];

    /* pool_rows is free again. The rows of the pivots are the triangle. */
    int64_t taken[BLOCK], k = mrc_pivoted_cholesky(p, matrix, POOL, mrc_min64(BLOCK, p), f->floor,
                                                   PIVOT_SHARE, f->pool_rows, BLOCK, taken);
    for (int64_t t = 0; t < k; t++) {
        memcpy(f->triangle + t * BLOCK, f->pool_rows + taken[t] * BLOCK,
               (size_t)(t + 1) * sizeof(double));
        f->pivots[t] = f->pool[taken[t]];
    }
    f->pivot_count = k;
}

/* The pivots as points, and their rows of F as columns, for all strips. */
static void gather_pivots(struct factorisation *f)
{
    int64_t k = f->pivot_count, q = f->columns;
    f->pivot_points = mrc_points_gather(&f->g->points, f->pivots, k, f->pivot_storage);
    memset(f->pivot_columns, 0, (size_t)(q * BLOCK) * sizeof *f->pivot_columns);
    for (int64_t t = 0; t < k; t++) {
        mrc_factor_row(f->factor, f->pivots[t], q, f->pool_rows);
        for (int64_t c = 0; c < q; c++)
            f->pivot_columns[c * BLOCK + t] = f->pool_rows[c];
    }
}

/* New columns of F for one strip of rows: (K[strip, J] - F_strip F_J') L^-T. */
static void extend_strip(void *arg, int64_t task, int worker)
{
    struct factorisation *f = arg;
    const mrc_gram *g = f->g;
    const mrc_panel_loops *narrow = mrc_panel_loops_for(g->ctx->simd);
    int64_t first = task * STRIP, rows = mrc_min64(STRIP, g->n - first);
    int64_t k = f->pivot_count, q = f->columns;
    double *values = f->scratch[worker]; /* STRIP x BLOCK */

    memset(values, 0, (size_t)(rows * BLOCK) * sizeof *values);
    int64_t a0 = first;
    mrc_points own;
    const mrc_points *a = mrc_points_window(&g->points, &a0, rows, values + STRIP * BLOCK, &own);
    mrc_kernel_tile(g->kernel, g->ctx, a, a0, rows, &f->pivot_points, 0, k, values, BLOCK);
    for (int64_t c = 0; c < q; c += MRC_PANEL)
        narrow->times(mrc_factor_panel(f->factor, c) + first * MRC_PANEL, MRC_PANEL, rows,
                      mrc_min64(MRC_PANEL, q - c), -1, f->pivot_columns + c * BLOCK, BLOCK, 1,
                      values, BLOCK, BLOCK);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, mrc_blas_int(rows),
                mrc_blas_int(k), 1, f->triangle, BLOCK, values, BLOCK);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t t = 0; t < k; t++) {
            double value = values[r * BLOCK + t];
            mrc_factor_panel(f->factor, q + t)[(first + r) * MRC_PANEL + (q + t) % MRC_PANEL] =
                value;
            sum += value * value;
        }
        f->residual[first + r] -= sum;
    }
}

static mercer_status factorisation_init(struct factorisation *f, int64_t most, mercer_error *err)
{
    const mrc_gram *g = f->g;
    mercer_status rc = MERCER_OK;
    int64_t panels = (most + BLOCK + MRC_PANEL - 1) / MRC_PANEL;
    int64_t wide = most + BLOCK > POOL ? most + BLOCK : POOL;
    /* Pages of panels that are never reached are never touched and take no memory. */
    MRC_TRY(mrc_alloc2_raw(&f->factor->values, panels * MRC_PANEL, g->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&f->factor->pivots, most + BLOCK, sizeof *f->factor->pivots, err));
    MRC_TRY(mrc_alloc(&f->residual, g->n, sizeof *f->residual, err));
    MRC_TRY(
        mrc_alloc2(&f->pool_points, POOL, mrc_points_gather_size(&g->points), sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pool_rows, POOL, wide, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pool_matrix, POOL, POOL, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pivot_columns, wide, BLOCK, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pivot_storage, BLOCK, mrc_points_gather_size(&g->points), sizeof(double),
                       err));
    MRC_TRY(mrc_alloc(&f->scratch, g->threads, sizeof *f->scratch, err));
    for (int i = 0; i < g->threads; i++)
        MRC_TRY(mrc_alloc2(&f->scratch[i], STRIP, BLOCK + mrc_points_window_size(&g->points),
                           sizeof(double), err));
out:
    return rc;
}

static void factorisation_destroy(struct factorisation *f)
{
    mrc_free(f->residual);
    mrc_free(f->pool_points);
    mrc_free(f->pool_rows);
    mrc_free(f->pool_matrix);
    mrc_free(f->pivot_columns);
    mrc_free(f->pivot_storage);
    for (int i = 0; f->scratch && i < f->g->threads; i++)
        mrc_free(f->scratch[i]);
    mrc_free(f->scratch);
}

static double largest_residual(const struct factorisation *f, double *sum)
{
    double largest = 0;
    *sum = 0;
    for (int64_t i = 0; i < f->g->n; i++) {
        largest = fmax(largest, f->residual[i]);
        *sum += fmax(f->residual[i], 0);
    }
    return largest;
}

/* Mean diagonal entry of the centred matrix, as far as the factor tells. */
static double centered_mean(const struct factorisation *f)
{
    const mrc_gram *g = f->g;
    double mean = 0, n = (double)g->n;
    for (int64_t i = 0; i < g->n; i++)
        mean += g->raw_diag[i] / n;
    for (int64_t c = 0; c < f->columns; c += MRC_PANEL) {
        const double *values = mrc_factor_panel(f->factor, c);
        int64_t width = mrc_min64(MRC_PANEL, f->columns - c);
        double sums[MRC_PANEL] = {0};
        for (int64_t i = 0; i < g->n; i++)
            for (int64_t t = 0; t < width; t++)
                sums[t] += values[i * MRC_PANEL + t];
        for (int64_t t = 0; t < width; t++)
            mean -= sums[t] / n * (sums[t] / n);
    }
    return fmax(mean, 0);
}

/* A factor with a tolerance ends by the trace of what it leaves out, which no eigenvalue is off by
 * more than; one without by its largest entry, which no kernel value is. */
static bool is_complete(const struct factorisation *f, double largest, double sum)
{
    return f->g->tolerance > 0 ? sum <= f->goal : largest <= f->floor;
}

/* The factor's rank stays 0 when it is given up. */
static mercer_status factorise(const mrc_gram *g, const mrc_store_plan *plan, mrc_factor *factor,
                               mercer_error *err)
{
    /* The residual at half the present number of columns, to see how fast it falls. */
    enum { HISTORY = 4096 };
    struct factorisation f = {.g = g, .factor = factor, .floor = RESIDUAL * g->kmax};
    double tolerance = fmax(g->tolerance, RESIDUAL);
    double *history = NULL;
    int64_t *history_columns = NULL, steps = 0;
    double sum, largest;
    bool complete = false, tightened = false;
    mercer_status rc = MERCER_OK;

    MRC_TRY(factorisation_init(&f, plan->factor_columns, err));
    MRC_TRY(mrc_alloc(&history, HISTORY, sizeof *history, err));
    MRC_TRY(mrc_alloc(&history_columns, HISTORY, sizeof *history_columns, err));
    memcpy(f.residual, g->raw_diag, (size_t)g->n * sizeof *f.residual);
    (void)largest_residual(&f, &sum);
    f.goal = g->tolerance > 0 ? tolerance * sum : (double)g->n * f.floor;
    for (;;) {
        MRC_TRY(mrc_check_cancel(g->ctx, err));
        largest = largest_residual(&f, &sum);
        complete = is_complete(&f, largest, sum);
        if (complete && g->centered && !tightened) {
            /* Centring removes a common part of all mapped rows: what is left out
             * must be small against the rest. */
            tightened = true;
            double mean = centered_mean(&f), least = MIN_RESIDUAL * g->kmax;
            f.floor = fmin(f.floor, fmax(RESIDUAL * mean, least));
            f.goal = fmin(f.goal, (double)g->n * fmax(tolerance * mean, least));
            complete = is_complete(&f, largest, sum);
        }
        if (complete || f.columns >= plan->factor_columns)
            break;
        if (steps < HISTORY) {
            history[steps] = sum;
            history_columns[steps++] = f.columns;
        }
        if (plan->eager && f.columns >= 4 * BLOCK) {
            int64_t before = steps - 1;
            while (before > 0 && history_columns[before] > f.columns / 2)
                before--;
            double fall =
                log(history[before] / sum) / (double)(f.columns - history_columns[before]);
            double missing = log(sum / f.goal) / fmax(fall, 1e-12);
            if ((double)f.columns + missing > 2 * (double)plan->factor_columns)
                break;
        }
        mrc_progress(g->ctx, "low-rank factor",
                     log(largest / g->kmax) / log(tolerance)); /* digits reached of digits wanted */
        choose_pool(&f);
        mrc_serial(g->ctx, choose_pivots, &f); /* it calls BLAS */
        gather_pivots(&f);
        MRC_TRY(mrc_parfor_checked(g->ctx, (g->n + STRIP - 1) / STRIP, extend_strip, &f, err));
        for (int64_t t = 0; t < f.pivot_count; t++) {
            f.residual[f.pivots[t]] = 0;
            factor->pivots[f.columns + t] = f.pivots[t];
        }
        f.columns += f.pivot_count;
    }
    *plan->reached = f.columns;
    *plan->residual = g->kmax > 0 ? largest / g->kmax : 0;
    if (complete) {
        /* A matrix of zeroes has rank 0; one column of zeroes keeps the rest simple. */
        factor->rank = f.columns > 0 ? f.columns : 1;
        factor->left_out = g->tolerance > 0 ? sum / (double)g->n : f.floor;
        if (f.columns == 0)
            memset(factor->values, 0, (size_t)g->n * MRC_PANEL * sizeof *factor->values);
    }
out:
    factorisation_destroy(&f);
    mrc_free(history);
    mrc_free(history_columns);
    return rc;
}

/* The factor of the linear kernel: the rows themselves. */
static mercer_status copy_rows(const mrc_gram *g, mrc_factor *factor, mercer_error *err)
{
    int64_t d = g->rows->d, panels = (d + MRC_PANEL - 1) / MRC_PANEL;
    double *scratch = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&scratch, d, sizeof *scratch, err));
    MRC_TRY(mrc_alloc2_raw(&factor->values, panels * MRC_PANEL, g->n, sizeof(double), err));
    factor->rank = d;
    for (int64_t i = 0; i < g->n; i++) {
        const double *x = mrc_points_row(&g->points, i, scratch);
        if (i % STRIP == 0)
            MRC_TRY(mrc_check_cancel(g->ctx, err));
        for (int64_t c = 0; c < d; c += MRC_PANEL)
            memcpy(mrc_factor_panel(factor, c) + i * MRC_PANEL, x + c,
                   (size_t)mrc_min64(MRC_PANEL, d - c) * sizeof(double));
    }
out:
    mrc_free(scratch);
    return rc;
}

/* ---- the store ---- */

static mercer_status lowrank_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                                  mercer_error *err)
{
    mrc_factor *factor = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&factor, 1, sizeof *factor, err));
    factor->ctx = g->ctx;
    factor->threads = g->threads;
    factor->n = g->n;
    if (mrc_kernel_is_linear(g->kernel))
        MRC_TRY(copy_rows(g, factor, err));
    else
        MRC_TRY(factorise(g, plan, factor, err));
    if (factor->rank == 0)
        goto out;
    if (g->centered) {
        MRC_TRY(mrc_factor_center(factor, g->means, &g->grand, g->diag, err));
        g->means_known = true;
    }
    *self = factor;
    factor = NULL;
out:
    mrc_factor_free(factor);
    return rc;
}

static mercer_status lowrank_apply_rows(const mrc_factor *f, mrc_pick j, const double *inner,
                                        int64_t l, double *out, mercer_error *err)
{
    double *rows = NULL;
    mercer_status rc = mrc_alloc2(&rows, j.count, f->rank, sizeof *rows, err);
    if (rc != MERCER_OK)
        return rc;
    mrc_factor_rows(f, j.rows, j.count, rows);
    rc = mrc_tall_times_checked(f->ctx, j.count, l, f->rank, 1, rows, f->rank, inner, l, 0, out, l,
                                err);
    mrc_free(rows);
    return rc;
}

static mercer_status lowrank_apply(void *self, mrc_pick j, const double *v, int64_t l, double *out,
                                   mercer_error *err)
{
    const mrc_factor *f = self;
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, f->rank, l, sizeof *inner, err));
    MRC_TRY(mrc_factor_transposed_times(f, v, l, inner, err));
    if (j.rows)
        MRC_TRY(lowrank_apply_rows(f, j, inner, l, out, err));
    else
        MRC_TRY(mrc_factor_times(f, inner, l, out, err));
out:
    mrc_free(inner);
    return rc;
}

/* (F F_J')' */
static mercer_status lowrank_columns(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                     mercer_error *err)
{
    const mrc_factor *f = self;
    int64_t q = f->rank, count = j.count;
    double *rows = NULL, *transposed = NULL, *columns = NULL;
    mercer_status rc = MERCER_OK;
    (void)shift; /* centred in place */
    MRC_TRY(mrc_alloc2(&rows, count, q, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&transposed, q, count, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&columns, f->n, count, sizeof(double), err));
    mrc_factor_rows(f, j.rows, count, rows);
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < q; c++)
            transposed[c * count + i] = rows[i * q + c];
    MRC_TRY(mrc_factor_times(f, transposed, count, columns, err));
    for (int64_t t = 0; t < f->n; t++)
        for (int64_t i = 0; i < count; i++)
            out[i * f->n + t] = columns[t * count + i];
out:
    mrc_free(rows);
    mrc_free(transposed);
    mrc_free(columns);
    return rc;
}

static mercer_status lowrank_row_norms2(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                        mercer_error *err)
{
    const mrc_factor *f = self;
    mrc_factor_sums sums = {.mask = shift->mask};
    double *inner = NULL, *rows = NULL, *product = NULL;
    int64_t q = f->rank;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, q, q, sizeof *inner, err));
    MRC_TRY(mrc_factor_inner(f, &sums, inner, err));
    if (!j.rows) {
        rc = mrc_factor_quadratic(f, inner, out, err);
        goto out;
    }
    MRC_TRY(mrc_alloc2(&rows, j.count, q, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&product, j.count, q, sizeof(double), err));
    mrc_factor_rows(f, j.rows, j.count, rows);
    MRC_TRY(
        mrc_tall_times_checked(f->ctx, j.count, q, q, 1, rows, q, inner, q, 0, product, q, err));
    for (int64_t i = 0; i < j.count; i++) {
        out[i] = 0;
        for (int64_t c = 0; c < q; c++)
            out[i] += product[i * q + c] * rows[i * q + c];
    }
out:
    mrc_free(inner);
    mrc_free(rows);
    mrc_free(product);
    return rc;
}

static mercer_status lowrank_row_variances(void *self, double *out, mercer_error *err)
{
    const mrc_factor *f = self;
    mrc_factor_sums sums = {.about_mean = true};
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, f->rank, f->rank, sizeof *inner, err));
    MRC_TRY(mrc_factor_inner(f, &sums, inner, err));
    MRC_TRY(mrc_factor_quadratic(f, inner, out, err));
out:
    mrc_free(inner);
    return rc;
}

static void lowrank_scale(void *self, double factor)
{
    mrc_factor_scale(self, factor);
}

static const mrc_factor *lowrank_factor(const void *self)
{
    return self;
}

/* The choice of this store has looked at the budget; what it holds is not subtracted again. */
static int64_t lowrank_bytes(const void *self, bool held)
{
    const mrc_factor *f = self;
    return held ? 0 : (int64_t)(8 * (double)f->n * (double)f->rank);
}

static void lowrank_destroy(void *self)
{
    mrc_factor_free(self);
}

const mrc_store mrc_store_lowrank = {
    .name = "lowrank",
    .caps = MRC_STORE_CENTERS | MRC_STORE_DOUBLES | MRC_STORE_COMPLETE,
    .init = lowrank_init,
    .apply = lowrank_apply,
    .columns = lowrank_columns,
    .row_norms2 = lowrank_row_norms2,
    .row_variances = lowrank_row_variances,
    .scale = lowrank_scale,
    .factor = lowrank_factor,
    .bytes = lowrank_bytes,
    .destroy = lowrank_destroy,
};
