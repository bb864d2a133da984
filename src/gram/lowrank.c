/* SPDX-License-Identifier: BSD-3-Clause */
/* The low-rank store: K = F F' to rounding, by a block pivoted Cholesky factorisation.
 *
 * A step draws POOL rows with probabilities in proportion to the residual diagonal, those of the
 * largest residual / -log u with u a hash of step and row, and puts the row of the largest residual
 * beside them. It runs an exact pivoted Cholesky factorisation on their small residual matrix, and
 * takes its first pivots together: the new columns of F then cost one kernel block and one GEMM
 * instead of a memory-bound product each. (The rows of the largest residuals would be neighbours,
 * of which one leaves little to the others.) It ends when the largest residual diagonal entry is at
 * most 1e-13 kmax. q columns cost n q kernel values and n q^2 flops; an n x n matrix never exists.
 * The rows of a linear kernel are its factor.
 *
 * Centring subtracts the column means of F in place. */
#include "base/order.h"
#include "base/running.h"
#include "gram/factor.h"
#include "gram/store.h"

#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOL = 128, /* rows considered per step; more gives a slightly smaller q and costs POOL^2 q */
    BLOCK = 16, /* pivots taken per step at most */
    LANES = MRC_PANEL_LANES, /* the columns of a product are a multiple of it */
};

/* Residual diagonal at which the factor counts as exact, relative to kmax: the rounding error of
 * the diagonal recurrence after a few hundred columns is just below. */
static const double RESIDUAL = 1e-13;
/* Relative to kmax, what the recurrence for the residual can still resolve. */
static const double MIN_RESIDUAL = 32 * 2.2e-16;
/* Pivots of a step must keep this share of the largest residual of all rows. Fewer would be better
 * choices, but this is also what keeps rounding small: entries of the residual matrix are known to
 * e = eps kmax, so a column that is made from a pivot of residual p is off by e / sqrt(p), and the
 * residual r of a row by 2 sqrt(r / p) e: twenty times e at most. */
static const double PIVOT_SHARE = 0.01;

/* A row that may get into the pool. */
struct candidate {
    double key;
    int64_t row;
};

/* What is left of some rows. */
struct left {
    double largest, sum;
    int64_t row; /* of the largest */
};

/* The pivots of a step: which of the pool, and their triangle. Rank 0 decides, since BLAS differs
 * from processor to processor. */
struct choice {
    int64_t count, taken[BLOCK];    /* in order */
    double triangle[BLOCK * BLOCK]; /* Cholesky factor of their residual matrix */
};

struct factorisation {
    const mrc_gram *g;
    mrc_factor *factor; /* its rank is set at the end */
    double floor;       /* residual that counts as zero */
    double goal;        /* of the trace of K - F F', with a tolerance */
    double *residual;   /* n: diagonal of K - F F' */
    int64_t columns;    /* of F so far */
    uint64_t step;
    int64_t first_part, end_part; /* that are here */
    struct left left;             /* of all rows, and */
    struct left *parts;           /* of each part that is here */
    struct candidate **candidate; /* per worker: POOL rows, a heap with the worst on top */
    int64_t *candidates;          /* per worker: how many */
    double *told;                 /* what ranks tell each other of their rows; NULL: one has all */
    int64_t pool[POOL];           /* rows considered in this step */
    int64_t pool_size;
    struct choice chosen;
    int64_t pivots[BLOCK];  /* rows taken, in order */
    int64_t width;          /* their number rounded up to LANES */
    double *pool_storage;   /* prepared copies of the pool's rows, */
    mrc_points pool_points; /* which these are */
    double *pool_rows;      /* pool_size x columns of F, and behind them */
    double *pool_left;      /* pool_size residuals */
    double *pool_matrix;    /* POOL x POOL */
    double *pool_triangle;  /* POOL x BLOCK: its Cholesky factor */
    double *pivot_columns;  /* columns x width: the pivots' rows of F, transposed */
    double *pivot_storage;
    mrc_points pivot_points;
    /* Several ranks have the rows themselves, owned; points made of them are owned as well. */
    mercer_rows *pool_data, *pivot_data;
    double **scratch; /* per worker: STRIP x BLOCK values, a window of STRIP packed points */
};

/* Whether a comes before b in the pool: an order in which no two rows are equal, so the first POOL
 * do not depend on who has looked at which rows. */
static bool comes_before(struct candidate a, struct candidate b)
{
    return a.key != b.key ? a.key > b.key : a.row < b.row;
}

static int by_key(const void *a, const void *b)
{
    return comes_before(*(const struct candidate *)a, *(const struct candidate *)b) ? -1 : 1;
}

/* Keep c if it is among the first POOL so far. */
static void offer(struct candidate *heap, int64_t *size, struct candidate c)
{
    int64_t at;
    if (*size < POOL) {
        at = (*size)++;
        for (; at > 0 && comes_before(heap[(at - 1) / 2], c); at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
    } else if (comes_before(c, heap[0])) {
        at = 0;
        for (int64_t child = 1; child < *size; child = 2 * at + 1) {
            child += child + 1 < *size && comes_before(heap[child], heap[child + 1]);
            if (!comes_before(c, heap[child]))
                break;
            heap[at] = heap[child];
            at = child;
        }
    } else {
        return;
    }
    heap[at] = c;
}

/* What is left of one part, and which of its rows are drawn. */
static void look_at_part(void *arg, int64_t task, int worker)
{
    /* The pool is the same for every fit: F is K to rounding whichever rows it is made from. */
    static const uint64_t SEED = 0;
    struct factorisation *f = arg;
    struct candidate *heap = f->candidate[worker];
    struct left left = {.row = -1};
    const mrc_span *span = &f->g->span;
    int64_t part = f->first_part + task, end = mrc_part_start(span->total, part + 1) - span->first;
    for (int64_t i = mrc_part_start(span->total, part) - span->first; i < end; i++) {
        double r = f->residual[i];
        int64_t row = span->first + i;
        if (!(r > 0))
            continue;
        left.sum += r;
        if (r > left.largest) {
            left.largest = r;
            left.row = row;
        }
        if (!(r > f->floor))
            continue;
        double u = mrc_rng_uniform_at(SEED, f->step, (uint64_t)row);
        /* -log u >= 1 - u, so most keys are seen to be too small without a logarithm; the margin is
         * for rounding, which must not make a difference between workers. */
        if (f->candidates[worker] == POOL && r < 0.999 * heap[0].key * (1 - u))
            continue;
        offer(heap, &f->candidates[worker], (struct candidate){.key = r / -log(u), .row = row});
    }
    f->parts[part] = left;
}

/* The candidates of all workers become those of the first. */
static void join_candidates(struct factorisation *f)
{
    for (int worker = 1; worker < f->g->threads; worker++) {
        for (int64_t c = 0; c < f->candidates[worker]; c++)
            offer(f->candidate[0], &f->candidates[0], f->candidate[worker][c]);
        f->candidates[worker] = 0;
    }
}

/* What is told: the sums of all parts; of each rank its largest residual and the row of that, and
 * how many candidates it has, their keys and rows. */
enum { LARGEST, ROW, COUNT, CANDIDATES, TOLD = CANDIDATES + 2 * POOL };

static int64_t told_size(const mrc_gram *g)
{
    return mrc_parts(g->span.total) + g->ctx->comm.table.size * (int64_t)TOLD;
}

/* The sums of all parts, the largest residual, and the best candidates of all ranks. */
static mercer_status share_view(struct factorisation *f, mercer_error *err)
{
    const mrc_gram *g = f->g;
    const int64_t parts = mrc_parts(g->span.total), size = g->ctx->comm.table.size;
    const struct candidate *best = f->candidate[0];
    double *mine = f->told + parts + g->ctx->comm.table.rank * (int64_t)TOLD;
    mercer_status rc = MERCER_OK;
    memset(f->told, 0, (size_t)told_size(g) * sizeof *f->told);
    for (int64_t p = f->first_part; p < f->end_part; p++)
        f->told[p] = f->parts[p].sum;
    mine[LARGEST] = f->left.largest;
    mine[ROW] = (double)f->left.row;
    mine[COUNT] = (double)f->candidates[0];
    for (int64_t c = 0; c < f->candidates[0]; c++) {
        mine[CANDIDATES + 2 * c] = best[c].key;
        mine[CANDIDATES + 2 * c + 1] = (double)best[c].row;
    }
    MRC_TRY(mrc_comm_sum(g->ctx, f->told, told_size(g), err));
    f->left = (struct left){.row = -1};
    for (int64_t p = 0; p < parts; p++)
        f->left.sum += f->told[p];
    f->candidates[0] = 0;
    for (int64_t r = 0; r < size; r++) {
        const double *told = f->told + parts + r * TOLD;
        if (told[LARGEST] > f->left.largest) {
            f->left.largest = told[LARGEST];
            f->left.row = (int64_t)told[ROW];
        }
        for (int64_t c = 0; c < (int64_t)told[COUNT]; c++)
            offer(f->candidate[0], &f->candidates[0],
                  (struct candidate){.key = told[CANDIDATES + 2 * c],
                                     .row = (int64_t)told[CANDIDATES + 2 * c + 1]});
    }
out:
    return rc;
}

/* What the columns so far leave, and the candidates for the next ones. */
static mercer_status look_at_rows(struct factorisation *f, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    memset(f->candidates, 0, (size_t)f->g->threads * sizeof *f->candidates);
    MRC_TRY(mrc_parfor_checked(f->g->ctx, f->end_part - f->first_part, look_at_part, f, err));
    f->left = (struct left){.row = -1};
    for (int64_t p = f->first_part; p < f->end_part; p++) {
        double sum = f->left.sum + f->parts[p].sum;
        if (f->parts[p].largest > f->left.largest)
            f->left = f->parts[p];
        f->left.sum = sum;
    }
    join_candidates(f);
    if (f->g->span.spread)
        MRC_TRY(share_view(f, err));
out:
    return rc;
}

/* The pool: the best of all candidates in order, the row of the largest residual among them. */
static void choose_pool(struct factorisation *f)
{
    struct candidate *best = f->candidate[0];
    int64_t size = f->candidates[0], i = 0;
    qsort(best, (size_t)size, sizeof *best, by_key);
    while (i < size && best[i].row != f->left.row)
        i++;
    if (i == size) /* it was not drawn, so there are POOL others */
        best[size - 1].row = f->left.row;
    f->pool_size = size;
    for (i = 0; i < size; i++)
        f->pool[i] = best[i].row;
}

/* Rows of other ranks as points of our own, prepared as these are. */
static mercer_status prepare_rows(const mrc_gram *g, mercer_rows *rows, mrc_points *points,
                                  mercer_error *err)
{
    mrc_points_destroy(points);
    return mrc_points_init(points, g->ctx, g->kernel, rows, &g->points, err);
}

/* The pool as points, with its rows of F and what is left of them. */
static mercer_status fetch_pool(struct factorisation *f, mercer_error *err)
{
    const mrc_gram *g = f->g;
    int64_t p = f->pool_size, q = f->columns;
    mercer_status rc = MERCER_OK;
    f->pool_left = f->pool_rows + p * q;
    memset(f->pool_rows, 0, (size_t)(p * (q + 1)) * sizeof *f->pool_rows);
    for (int64_t i = 0; i < p; i++) {
        int64_t row = f->pool[i] - g->span.first;
        if (row < 0 || row >= g->n)
            continue;
        mrc_factor_row(f->factor, row, q, f->pool_rows + i * q);
        f->pool_left[i] = f->residual[row];
    }
    if (!g->span.spread) {
        f->pool_points = mrc_points_gather(&g->points, f->pool, p, f->pool_storage);
        return rc;
    }
    mercer_rows_free(f->pool_data);
    f->pool_data = NULL;
    MRC_TRY(mrc_rows_take_of_all(g->ctx, g->rows, f->pool, p, &f->pool_data, err));
    MRC_TRY(prepare_rows(g, f->pool_data, &f->pool_points, err));
    MRC_TRY(mrc_comm_merge_numbers(g->ctx, f->pool_rows, p * (q + 1), err));
out:
    return rc;
}

/* Residual matrix of the pool, then pivoted Cholesky on it: pivots and their triangle. */
static void choose_pivots(void *arg, int64_t task, int worker)
{
    struct factorisation *f = arg;
    const mrc_gram *g = f->g;
    int64_t p = f->pool_size, q = f->columns;
    double *matrix = f->pool_matrix;
    struct choice *chosen = &f->chosen;
    (void)task, (void)worker;

    mrc_kernel_tile(g->kernel, g->ctx, &f->pool_points, 0, p, &f->pool_points, 0, p, matrix, POOL);
    mrc_gemm(false, true, p, p, q, -1, f->pool_rows, q, f->pool_rows, q, 1, matrix, POOL);
    for (int64_t i = 0; i < p; i++)
        matrix[i * POOL + i] = f->pool_left[i];
    chosen->count = mrc_pivoted_cholesky(p, matrix, POOL, mrc_min64(BLOCK, p), f->floor,
                                         PIVOT_SHARE, f->pool_triangle, BLOCK, chosen->taken);
    for (int64_t t = 0; t < chosen->count; t++) /* the rows of the pivots are the triangle */
        memcpy(chosen->triangle + t * BLOCK, f->pool_triangle + chosen->taken[t] * BLOCK,
               (size_t)(t + 1) * sizeof(double));
}

/* The pivots as points, and their rows of F as columns, for all strips. */
static mercer_status gather_pivots(struct factorisation *f, mercer_error *err)
{
    const struct choice *chosen = &f->chosen;
    const mrc_gram *g = f->g;
    int64_t k = chosen->count, q = f->columns, width = (k + LANES - 1) / LANES * LANES;
    mercer_status rc = MERCER_OK;
    f->width = width;
    memset(f->pivot_columns, 0, (size_t)(q * width) * sizeof *f->pivot_columns);
    for (int64_t t = 0; t < k; t++) {
        f->pivots[t] = f->pool[chosen->taken[t]];
        for (int64_t c = 0; c < q; c++)
            f->pivot_columns[c * width + t] = f->pool_rows[chosen->taken[t] * q + c];
    }
    if (!g->span.spread) {
        f->pivot_points = mrc_points_gather(&g->points, f->pivots, k, f->pivot_storage);
        return rc;
    }
    mercer_rows_free(f->pivot_data);
    f->pivot_data = NULL;
    MRC_TRY(mrc_rows_take(f->pool_data, chosen->taken, k, &f->pivot_data, err));
    MRC_TRY(prepare_rows(g, f->pivot_data, &f->pivot_points, err));
out:
    return rc;
}

/* The pivots of this step, on all ranks. */
static mercer_status find_pivots(struct factorisation *f, mercer_error *err)
{
    mercer_ctx *ctx = f->g->ctx;
    mercer_status rc = MERCER_OK;
    choose_pool(f);
    MRC_TRY(fetch_pool(f, err));
    if (mrc_decides(ctx, &f->g->span))
        mrc_serial(ctx, choose_pivots, f); /* it calls BLAS */
    MRC_TRY(mrc_decide(ctx, &f->g->span, &f->chosen, sizeof f->chosen, err));
    MRC_TRY(gather_pivots(f, err));
out:
    return rc;
}

/* New columns of F for one strip of rows: (K[strip, J] - F_strip F_J') L^-T. */
static void extend_strip(void *arg, int64_t task, int worker)
{
    struct factorisation *f = arg;
    const mrc_gram *g = f->g;
    const mrc_panel_loops *narrow = mrc_panel_loops_for(g->ctx->simd);
    int64_t first = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, g->n - first);
    int64_t k = f->chosen.count, q = f->columns, width = f->width;
    double *values = f->scratch[worker]; /* STRIP x width */

    memset(values, 0, (size_t)(rows * width) * sizeof *values);
    int64_t a0 = first;
    mrc_points own;
    const mrc_points *a =
        mrc_points_window(&g->points, &a0, rows, values + MRC_STRIP * BLOCK, &own);
    mrc_kernel_tile(g->kernel, g->ctx, a, a0, rows, &f->pivot_points, 0, k, values, width);
    for (int64_t c = 0; c < q; c += MRC_PANEL)
        narrow->times(mrc_factor_panel(f->factor, c) + first * MRC_PANEL, MRC_PANEL, rows,
                      mrc_min64(MRC_PANEL, q - c), -1, f->pivot_columns + c * width, width, 1,
                      values, width, width);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, mrc_blas_int(rows),
                mrc_blas_int(k), 1, f->chosen.triangle, BLOCK, values, mrc_blas_int(width));
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t t = 0; t < k; t++) {
            double value = values[r * width + t];
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
    MRC_TRY(mrc_alloc(&f->parts, mrc_parts(g->span.total), sizeof *f->parts, err));
    mrc_span_parts(g->ctx, &g->span, &f->first_part, &f->end_part);
    if (g->span.spread)
        MRC_TRY(mrc_alloc(&f->told, told_size(g), sizeof *f->told, err));
    MRC_TRY(mrc_alloc(&f->candidates, g->threads, sizeof *f->candidates, err));
    MRC_TRY(mrc_alloc(&f->candidate, g->threads, sizeof *f->candidate, err));
    for (int i = 0; i < g->threads; i++)
        MRC_TRY(mrc_alloc(&f->candidate[i], POOL, sizeof **f->candidate, err));
    MRC_TRY(mrc_alloc2(&f->pool_storage, POOL, mrc_points_gather_size(&g->points), sizeof(double),
                       err));
    MRC_TRY(mrc_alloc2(&f->pool_rows, POOL, wide + 1, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pool_triangle, POOL, BLOCK, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pool_matrix, POOL, POOL, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pivot_columns, wide, BLOCK, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->pivot_storage, BLOCK, mrc_points_gather_size(&g->points), sizeof(double),
                       err));
    MRC_TRY(mrc_alloc(&f->scratch, g->threads, sizeof *f->scratch, err));
    for (int i = 0; i < g->threads; i++)
        MRC_TRY(mrc_alloc2(&f->scratch[i], MRC_STRIP, BLOCK + mrc_points_window_size(&g->points),
                           sizeof(double), err));
out:
    return rc;
}

static void factorisation_destroy(struct factorisation *f)
{
    mrc_free(f->residual);
    mrc_free(f->parts);
    mrc_free(f->candidates);
    for (int i = 0; f->candidate && i < f->g->threads; i++)
        mrc_free(f->candidate[i]);
    mrc_free(f->candidate);
    mrc_free(f->told);
    mrc_free(f->pool_storage);
    mrc_free(f->pool_rows);
    mrc_free(f->pool_matrix);
    mrc_free(f->pool_triangle);
    if (f->g->span.spread) { /* else they lie in the storage */
        mrc_points_destroy(&f->pool_points);
        mrc_points_destroy(&f->pivot_points);
    }
    mercer_rows_free(f->pool_data);
    mercer_rows_free(f->pivot_data);
    mrc_free(f->pivot_columns);
    mrc_free(f->pivot_storage);
    for (int i = 0; f->scratch && i < f->g->threads; i++)
        mrc_free(f->scratch[i]);
    mrc_free(f->scratch);
}

static mercer_status mean_diagonal(const mrc_gram *g, double *out, mercer_error *err)
{
    mercer_status rc = mrc_sum_span_rows(g->ctx, &g->span, g->raw_diag, out, err);
    *out /= (double)g->span.total;
    return rc;
}

/* Mean diagonal entry of the centred matrix, as far as the factor tells: too large by what the mean
 * of the mapped rows has outside of the span of the pivots, squared, which is at most the mean of
 * what all rows have there. */
static mercer_status centered_mean(const struct factorisation *f, double *out, mercer_error *err)
{
    const mrc_gram *g = f->g;
    double *mean = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&mean, f->columns, sizeof *mean, err));
    MRC_TRY(mrc_factor_mean(f->factor, f->columns, mean, err));
    MRC_TRY(mean_diagonal(g, out, err));
    for (int64_t c = 0; c < f->columns; c++)
        *out -= mean[c] * mean[c];
    *out = fmax(*out, 0);
out:
    mrc_free(mean);
    return rc;
}

/* A factor with a tolerance ends by the trace of what it leaves out, which no eigenvalue is off by
 * more than; one without by its largest entry, which no kernel value is. Where all entries are zero
 * to rounding there is no row to go on with, whatever the trace. */
static bool is_complete(const struct factorisation *f)
{
    return f->left.largest <= f->floor || (f->g->tolerance > 0 && f->left.sum <= f->goal);
}

/* The trace may be at most this share of that of all rows, whose mean is given. Entries below the
 * mean of what may be left are still rows to go on with, as far as rounding lets them be told. */
static void set_goal(struct factorisation *f, double share, double mean)
{
    double n = (double)f->g->span.total, least = MIN_RESIDUAL * f->g->kmax;
    f->floor = fmin(f->floor, fmax(RESIDUAL * mean, least));
    f->goal = fmin(f->goal, n * fmax(share * mean, least));
    if (f->g->tolerance > 0)
        f->floor = fmax(fmin(f->floor, f->goal / n), least);
}

/* What the trace will be then. */
static double target_of(const struct factorisation *f)
{
    /* When the largest residual counts as zero, their mean is about this share of it. */
    static const double MEAN = 0.2;
    return f->g->tolerance > 0 ? f->goal : MEAN * (double)f->g->span.total * f->floor;
}

/* How what is left has fallen with the number of columns. */
enum { HISTORY = 4096 };

struct history {
    int64_t count, *columns; /* increasing */
    double *sum;             /* of what is left */
};

static mercer_status history_init(struct history *h, mercer_error *err)
{
    mercer_status rc = mrc_alloc(&h->columns, HISTORY, sizeof *h->columns, err);
    return rc == MERCER_OK ? mrc_alloc(&h->sum, HISTORY, sizeof *h->sum, err) : rc;
}

static void history_destroy(struct history *h)
{
    mrc_free(h->columns);
    mrc_free(h->sum);
}

/* log(sum) at this number of columns, between two that are known. */
static double history_at(const struct history *h, double columns)
{
    int64_t i = h->count - 1;
    while (i > 0 && (double)h->columns[i] > columns)
        i--;
    if (i == h->count - 1)
        return log(h->sum[i]);
    double width = (double)(h->columns[i + 1] - h->columns[i]);
    double t = (columns - (double)h->columns[i]) / width;
    return (1 - t) * log(h->sum[i]) + t * log(h->sum[i + 1]);
}

/* Columns at which the sum will be down to the target. The logarithm falls as a - b q^p, with p
 * from 1 down to 1/d for smooth functions of d columns: then its falls from q/4 to q/2 and from q/2
 * to q have the ratio 2^p. A forecast that takes p for 1 comes out at half the rank too early. */
static double history_forecast(const struct history *h, double target)
{
    static const double MIN_POWER = 1.0 / 3;
    double q = (double)h->columns[h->count - 1], now = history_at(h, q);
    double half = history_at(h, q / 2), fall = half - now, before = history_at(h, q / 4) - half;
    double missing = now - log(target);
    if (missing <= 0)
        return q;
    if (!(fall > 0))
        return INFINITY;
    double p = before > 0 ? fmin(fmax(log2(fall / before), MIN_POWER), 1) : 1;
    return q * pow(1 + missing / fall * (1 - pow(2, -p)), 1 / p);
}

/* The factor's rank stays 0 when it is given up. */
static mercer_status factorise(const mrc_gram *g, const mrc_store_plan *plan, mrc_factor *factor,
                               mercer_error *err)
{
    struct factorisation f = {.g = g, .factor = factor, .floor = RESIDUAL * g->kmax};
    double tolerance = fmax(g->tolerance, RESIDUAL);
    struct history history = {0};
    bool complete = false, tightened = false, doubtful = false; /* tightened: once is enough */
    const double n = (double)g->span.total;
    double mean;
    mercer_status rc = MERCER_OK;

    MRC_TRY(factorisation_init(&f, plan->factor_columns, err));
    MRC_TRY(history_init(&history, err));
    memcpy(f.residual, g->raw_diag, (size_t)g->n * sizeof *f.residual);
    f.goal = INFINITY;
    if (g->tolerance > 0) {
        MRC_TRY(mean_diagonal(g, &mean, err));
        set_goal(&f, tolerance, mean);
    }
    for (;;) {
        MRC_TRY(mrc_check_cancel(g->ctx, err));
        MRC_TRY(look_at_rows(&f, err));
        complete = is_complete(&f);
        if (complete && g->centered && !tightened) {
            /* Centring removes a common part of all mapped rows: what is left out must be small
             * against the rest. With a tolerance much may be left out, and the rest is known only
             * as well as that: where the first pivot is a row far off, the mean of the others is
             * hardly in its span, and the rest seems to be n times what it is. Then the goal is
             * looked at each time it is reached, and counts what is sure. */
            MRC_TRY(centered_mean(&f, &mean, err));
            tightened = g->tolerance == 0;
            if (!tightened)
                mean = fmax(mean - f.left.sum / n, 0);
            set_goal(&f, tolerance, mean);
            complete = is_complete(&f);
            if (!complete)
                continue; /* rows that the old floor kept out are candidates now */
        }
        if (complete || f.columns >= plan->factor_columns)
            break;
        if (plan->give_up > 0 && history.count < HISTORY) {
            history.columns[history.count] = f.columns;
            history.sum[history.count++] = f.left.sum;
            bool hopeless = f.columns >= 2 * MRC_PANEL &&
                            history_forecast(&history, target_of(&f)) > plan->give_up;
            MRC_TRY(mrc_decide(g->ctx, &g->span, &hopeless, sizeof hopeless, err));
            if (hopeless && doubtful)
                break; /* one forecast alone may see a step between two plateaus */
            doubtful = hopeless;
        }
        mrc_progress(g->ctx, "low-rank factor",
                     log(f.left.largest / g->kmax) /
                         log(tolerance)); /* digits reached of digits wanted */
        MRC_TRY(find_pivots(&f, err));
        MRC_TRY(mrc_parfor_checked(g->ctx, mrc_strips(g->n), extend_strip, &f, err));
        for (int64_t t = 0; t < f.chosen.count; t++) {
            int64_t row = f.pivots[t] - g->span.first;
            if (row >= 0 && row < g->n)
                f.residual[row] = 0;
            factor->pivots[f.columns + t] = f.pivots[t];
        }
        f.columns += f.chosen.count;
        f.step++;
    }
    *plan->reached = f.columns;
    *plan->residual = g->kmax > 0 ? f.left.largest / g->kmax : 0;
    if (complete) {
        /* A matrix of zeroes has rank 0; one column of zeroes keeps the rest simple. */
        factor->rank = f.columns > 0 ? f.columns : 1;
        factor->left_out = g->tolerance > 0 ? f.left.sum / n : f.floor;
        if (f.columns == 0)
            memset(factor->values, 0, (size_t)g->n * MRC_PANEL * sizeof *factor->values);
    }
out:
    factorisation_destroy(&f);
    history_destroy(&history);
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
        if (i % MRC_STRIP == 0)
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
    factor->span = g->span;
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
    MRC_TRY(mrc_factor_rows_of_all(f, j.rows, j.count, rows, err));
    MRC_TRY(mrc_tall_times_checked(f->ctx, j.count, l, f->rank, 1, rows, f->rank, inner, l, 0, out,
                                   l, err));
    MRC_TRY(mrc_decide_numbers(f->ctx, &f->span, out, j.count * l, err));
out:
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
    MRC_TRY(mrc_factor_rows_of_all(f, j.rows, count, rows, err));
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
    MRC_TRY(mrc_factor_rows_of_all(f, j.rows, j.count, rows, err));
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

/* |F F'| = |F' F| */
static mercer_status lowrank_squares(void *self, double *out, mercer_error *err)
{
    const mrc_factor *f = self;
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, f->rank, f->rank, sizeof *inner, err));
    MRC_TRY(mrc_factor_inner(f, NULL, inner, err));
    *out = mrc_dot(inner, inner, f->rank * f->rank);
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
    return held ? 0 : (int64_t)(8 * (double)f->span.total * (double)f->rank);
}

static void lowrank_destroy(void *self)
{
    mrc_factor_free(self);
}

const mrc_store mrc_store_lowrank = {
    .name = "lowrank",
    .caps = MRC_STORE_CENTERS | MRC_STORE_DOUBLES | MRC_STORE_COMPLETE | MRC_STORE_SPREADS,
    .init = lowrank_init,
    .apply = lowrank_apply,
    .columns = lowrank_columns,
    .row_norms2 = lowrank_row_norms2,
    .row_variances = lowrank_row_variances,
    .squares = lowrank_squares,
    .scale = lowrank_scale,
    .factor = lowrank_factor,
    .bytes = lowrank_bytes,
    .destroy = lowrank_destroy,
};
