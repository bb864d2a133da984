/* The low-rank store: K = F F' to rounding, by a block pivoted Cholesky factorisation.
 *
 * Each step looks at the POOL rows with the largest residual diagonal, runs an exact pivoted
 * Cholesky factorisation on their small residual matrix, and takes its first pivots together: the
 * new columns of F then cost one kernel block and one GEMM instead of a memory-bound product each.
 * It ends when the largest residual diagonal entry is at most 1e-13 kmax. q columns cost n q kernel
 * values and n q^2 flops; an n x n matrix never exists.
 *
 * F lies in panels of MRC_PANEL columns because q is not known beforehand; work on it packs strips
 * of rows first. Centring subtracts the column means of F in place. */
#include "kernel/gram_parts.h"

#include "linalg/linalg.h"
#include "linalg/narrow.h"

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
static const double LEAST_RESIDUAL = 32 * 2.2e-16;
/* Pivots of a step must keep this share of its first one, or points outside the pool would have
 * been better. */
static const double PIVOT_SHARE = 0.05;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static double *panel(const mrc_gram *g, int64_t column)
{
    return g->factor + (size_t)(column / MRC_PANEL) * (size_t)g->n * MRC_PANEL;
}

/* Row i of F, its first `columns` entries, into out. */
static void unpack_row(const mrc_gram *g, int64_t i, int64_t columns, double *out)
{
    for (int64_t c = 0; c < columns; c += MRC_PANEL)
        memcpy(out + c, panel(g, c) + i * MRC_PANEL,
               (size_t)least(MRC_PANEL, columns - c) * sizeof *out);
}

static void pack_strip(const mrc_gram *g, int64_t first, int64_t rows, int64_t columns, double *out)
{
    for (int64_t r = 0; r < rows; r++)
        unpack_row(g, first + r, columns, out + r * columns);
}

struct factorisation {
    mrc_gram *g;
    double floor;       /* residual that counts as zero */
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
    mrc_gram *g = f->g;
    int64_t p = f->pool_size, q = f->columns;
    double *matrix = f->pool_matrix;
    int64_t taken[BLOCK];
    (void)task, (void)worker;

    mrc_points rows = mrc_points_gather(&g->points, f->pool, p, f->pool_points);
    mrc_kernel_tile(g->kernel, g->ctx->simd, &rows, 0, p, &rows, 0, p, matrix, POOL);
    for (int64_t i = 0; i < p; i++)
        unpack_row(g, f->pool[i], q, f->pool_rows + i * q);
    mrc_gemm(false, true, p, p, q, -1, f->pool_rows, q, f->pool_rows, q, 1, matrix, POOL);
    for (int64_t i = 0; i < p; i++)
        matrix[i * POOL + i] = f->residual[f->pool[i]];

    f->pivot_count = 0;
    double first = 0;
    while (f->pivot_count < least(BLOCK, p)) {
        int64_t best = 0, k = f->pivot_count;
        for (int64_t i = 1; i < p; i++)
            if (matrix[i * POOL + i] > matrix[best * POOL + best])
                best = i;
        double pivot = matrix[best * POOL + best];
        first = k == 0 ? pivot : first;
        if (pivot <= f->floor || pivot < PIVOT_SHARE * first)
            break;
        /* Column of the pool's factor; the rows of earlier pivots give the triangle. */
        double root = sqrt(pivot);
        for (int64_t t = 0; t < k; t++)
            f->triangle[k * BLOCK + t] = f->pool_rows[best * POOL + t];
        f->triangle[k * BLOCK + k] = root;
        double column[POOL];
        for (int64_t i = 0; i < p; i++) {
            double value = i == best ? root : matrix[i * POOL + best] / root;
            column[i] = value;
        }
        for (int64_t i = 0; i < p; i++)
            for (int64_t j = 0; j < p; j++)
                matrix[i * POOL + j] -= column[i] * column[j];
        for (int64_t i = 0; i < p; i++)
            f->pool_rows[i * POOL + k] = column[i]; /* pool_rows is free again: POOL x BLOCK */
        matrix[best * POOL + best] = 0;
        for (int64_t t = 0; t < k; t++)
            matrix[taken[t] * POOL + taken[t]] = 0;
        taken[k] = best;
        f->pivots[f->pivot_count++] = f->pool[best];
    }
}

/* The pivots as points, and their rows of F as columns, for all strips. */
static void gather_pivots(struct factorisation *f)
{
    int64_t k = f->pivot_count, q = f->columns;
    f->pivot_points = mrc_points_gather(&f->g->points, f->pivots, k, f->pivot_storage);
    memset(f->pivot_columns, 0, (size_t)(q * BLOCK) * sizeof *f->pivot_columns);
    for (int64_t t = 0; t < k; t++) {
        unpack_row(f->g, f->pivots[t], q, f->pool_rows);
        for (int64_t c = 0; c < q; c++)
            f->pivot_columns[c * BLOCK + t] = f->pool_rows[c];
    }
}

/* New columns of F for one strip of rows: (K[strip, J] - F_strip F_J') L^-T. */
static void extend_strip(void *arg, int64_t task, int worker)
{
    struct factorisation *f = arg;
    mrc_gram *g = f->g;
    const mrc_narrow *narrow = mrc_narrow_for(g->ctx->simd);
    int64_t first = task * STRIP, rows = least(STRIP, g->n - first);
    int64_t k = f->pivot_count, q = f->columns;
    double *values = f->scratch[worker]; /* STRIP x BLOCK */

    memset(values, 0, (size_t)(rows * BLOCK) * sizeof *values);
    int64_t a0 = first;
    mrc_points own;
    const mrc_points *a = mrc_points_window(&g->points, &a0, rows, values + STRIP * BLOCK, &own);
    mrc_kernel_tile(g->kernel, g->ctx->simd, a, a0, rows, &f->pivot_points, 0, k, values, BLOCK);
    for (int64_t c = 0; c < q; c += MRC_PANEL)
        narrow->times(panel(g, c) + first * MRC_PANEL, MRC_PANEL, rows, least(MRC_PANEL, q - c), -1,
                      f->pivot_columns + c * BLOCK, BLOCK, 1, values, BLOCK, BLOCK);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, mrc_blas_int(rows),
                mrc_blas_int(k), 1, f->triangle, BLOCK, values, BLOCK);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t t = 0; t < k; t++) {
            double value = values[r * BLOCK + t];
            panel(g, q + t)[(first + r) * MRC_PANEL + (q + t) % MRC_PANEL] = value;
            sum += value * value;
        }
        f->residual[first + r] -= sum;
    }
}

static mercer_status factorisation_init(struct factorisation *f, int64_t most, mercer_error *err)
{
    mrc_gram *g = f->g;
    mercer_status rc = MERCER_OK;
    int64_t panels = (most + BLOCK + MRC_PANEL - 1) / MRC_PANEL;
    int64_t wide = most + BLOCK > POOL ? most + BLOCK : POOL;
    /* Pages of panels that are never reached are never touched and take no memory. */
    MRC_TRY(mrc_alloc2_raw(&g->factor, panels * MRC_PANEL, g->n, sizeof *g->factor, err));
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
static double centred_mean(const struct factorisation *f)
{
    const mrc_gram *g = f->g;
    double mean = 0, n = (double)g->n;
    for (int64_t i = 0; i < g->n; i++)
        mean += g->raw_diag[i] / n;
    for (int64_t c = 0; c < f->columns; c += MRC_PANEL) {
        const double *values = panel(g, c);
        int64_t width = least(MRC_PANEL, f->columns - c);
        double sums[MRC_PANEL] = {0};
        for (int64_t i = 0; i < g->n; i++)
            for (int64_t t = 0; t < width; t++)
                sums[t] += values[i * MRC_PANEL + t];
        for (int64_t t = 0; t < width; t++)
            mean -= sums[t] / n * (sums[t] / n);
    }
    return fmax(mean, 0);
}

mercer_status mrc_lowrank_init(mrc_gram *g, int64_t most, bool eager, int64_t *reached,
                               double *residual, mercer_error *err)
{
    /* The residual at half the present number of columns, to see how fast it falls. */
    enum { HISTORY = 4096 };
    struct factorisation f = {.g = g, .floor = RESIDUAL * g->kmax};
    double *history = NULL;
    int64_t *history_columns = NULL, steps = 0;
    double sum, largest;
    bool complete = false, tightened = false;
    mercer_status rc = MERCER_OK;

    MRC_TRY(factorisation_init(&f, most, err));
    MRC_TRY(mrc_alloc(&history, HISTORY, sizeof *history, err));
    MRC_TRY(mrc_alloc(&history_columns, HISTORY, sizeof *history_columns, err));
    memcpy(f.residual, g->raw_diag, (size_t)g->n * sizeof *f.residual);
    for (;;) {
        MRC_TRY(mrc_check_cancel(g->ctx, err));
        largest = largest_residual(&f, &sum);
        complete = largest <= f.floor;
        if (complete && g->centered && !tightened) {
            /* A common part of all images takes no share in the centred matrix: what is left out
             * must be small against the rest. */
            tightened = true;
            f.floor = fmin(f.floor, fmax(RESIDUAL * centred_mean(&f), LEAST_RESIDUAL * g->kmax));
            complete = largest <= f.floor;
        }
        if (complete || f.columns >= most)
            break;
        if (steps < HISTORY) {
            history[steps] = sum;
            history_columns[steps++] = f.columns;
        }
        if (eager && f.columns >= 4 * BLOCK) {
            int64_t before = steps - 1;
            while (before > 0 && history_columns[before] > f.columns / 2)
                before--;
            double fall =
                log(history[before] / sum) / (double)(f.columns - history_columns[before]);
            double missing = log(sum / ((double)g->n * f.floor)) / fmax(fall, 1e-12);
            if ((double)f.columns + missing > 2 * (double)most)
                break;
        }
        mrc_progress(g->ctx, "low-rank factor",
                     log(largest / g->kmax) / log(RESIDUAL)); /* digits reached of digits wanted */
        choose_pool(&f);
        mrc_serial(g->ctx, choose_pivots, &f); /* it calls BLAS */
        gather_pivots(&f);
        MRC_TRY(mrc_parfor_checked(g->ctx, (g->n + STRIP - 1) / STRIP, extend_strip, &f, err));
        for (int64_t t = 0; t < f.pivot_count; t++)
            f.residual[f.pivots[t]] = 0;
        f.columns += f.pivot_count;
    }
    *reached = f.columns;
    *residual = g->kmax > 0 ? largest / g->kmax : 0;
    if (complete) {
        /* A matrix of zeroes has rank 0; one column of zeroes keeps the rest simple. */
        g->rank = f.columns > 0 ? f.columns : 1;
        g->left_out = f.floor;
        if (f.columns == 0)
            memset(g->factor, 0, (size_t)g->n * MRC_PANEL * sizeof *g->factor);
    }
out:
    if (rc != MERCER_OK || !complete) {
        mrc_free(g->factor);
        g->factor = NULL;
    }
    factorisation_destroy(&f);
    mrc_free(history);
    mrc_free(history_columns);
    return rc;
}

mercer_status mrc_lowrank_init_linear(mrc_gram *g, mercer_error *err)
{
    int64_t d = g->rows->d, panels = (d + MRC_PANEL - 1) / MRC_PANEL;
    double *scratch = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&scratch, d, sizeof *scratch, err));
    MRC_TRY(mrc_alloc2_raw(&g->factor, panels * MRC_PANEL, g->n, sizeof(double), err));
    g->rank = d;
    for (int64_t i = 0; i < g->n; i++) {
        const double *x = mrc_points_row(&g->points, i, scratch);
        if (i % STRIP == 0)
            MRC_TRY(mrc_check_cancel(g->ctx, err));
        for (int64_t c = 0; c < d; c += MRC_PANEL)
            memcpy(panel(g, c) + i * MRC_PANEL, x + c,
                   (size_t)least(MRC_PANEL, d - c) * sizeof(double));
    }
out:
    mrc_free(scratch);
    return rc;
}

/* Work on strips of F: what to do with a packed strip. */
struct strip_work {
    mrc_gram *g;
    double **scratch; /* per worker: STRIP x rank, and STRIP x rank more for products */
    const double *mean, *weights;
    double *out;
    int64_t l;
};

static mercer_status strip_scratch(mrc_gram *g, double ***scratch, mercer_error *err)
{
    mercer_status rc = mrc_alloc(scratch, g->threads, sizeof **scratch, err);
    for (int i = 0; rc == MERCER_OK && i < g->threads; i++)
        rc = mrc_alloc2(&(*scratch)[i], 2 * STRIP, g->rank, sizeof(double), err);
    return rc;
}

static void strip_scratch_free(const mrc_gram *g, double **scratch)
{
    for (int i = 0; scratch && i < g->threads; i++)
        mrc_free(scratch[i]);
    mrc_free(scratch);
}

static mercer_status run_strips(struct strip_work *w, mercer_parfor_body body, mercer_error *err)
{
    mercer_status rc = strip_scratch(w->g, &w->scratch, err);
    if (rc == MERCER_OK)
        rc = mrc_parfor_checked(w->g->ctx, (w->g->n + STRIP - 1) / STRIP, body, w, err);
    strip_scratch_free(w->g, w->scratch);
    return rc;
}

/* Means of the uncentred matrix for a strip (F_i . mean), then subtract the mean from F. */
static void center_strip(void *arg, int64_t task, int worker)
{
    struct strip_work *w = arg;
    mrc_gram *g = w->g;
    int64_t first = task * STRIP, rows = least(STRIP, g->n - first), q = g->rank;
    double *strip = w->scratch[worker];
    pack_strip(g, first, rows, q, strip);
    for (int64_t r = 0; r < rows; r++) {
        double dot = 0, norm = 0;
        for (int64_t c = 0; c < q; c++) {
            double centred = strip[r * q + c] - w->mean[c];
            dot += strip[r * q + c] * w->mean[c];
            norm += centred * centred;
            panel(g, c)[(first + r) * MRC_PANEL + c % MRC_PANEL] = centred;
        }
        g->means[first + r] = dot;
        g->diag[first + r] = norm;
    }
}

struct panel_sums {
    const mrc_gram *g;
    double *sums;
};

static void sum_panel(void *arg, int64_t task, int worker)
{
    const struct panel_sums *p = arg;
    const double *values = panel(p->g, task * MRC_PANEL);
    int64_t width = least(MRC_PANEL, p->g->rank - task * MRC_PANEL);
    double *sums = p->sums + task * MRC_PANEL;
    (void)worker;
    for (int64_t i = 0; i < p->g->n; i++)
        for (int64_t c = 0; c < width; c++)
            sums[c] += values[i * MRC_PANEL + c];
}

/* Mean of the rows of F; mean holds zeroes. */
static void factor_mean(const mrc_gram *g, double *mean)
{
    struct panel_sums p = {.g = g, .sums = mean};
    mrc_parfor(g->ctx, (g->rank + MRC_PANEL - 1) / MRC_PANEL, sum_panel, &p);
    for (int64_t c = 0; c < g->rank; c++)
        mean[c] /= (double)g->n;
}

mercer_status mrc_lowrank_center(mrc_gram *g, mercer_error *err)
{
    double *mean = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&mean, g->rank, sizeof *mean, err));
    factor_mean(g, mean);
    g->grand = 0;
    for (int64_t c = 0; c < g->rank; c++)
        g->grand += mean[c] * mean[c];
    struct strip_work w = {.g = g, .mean = mean};
    MRC_TRY(run_strips(&w, center_strip, err));
    g->means_known = true;
out:
    mrc_free(mean);
    return rc;
}

void mrc_lowrank_scale(mrc_gram *g, double factor)
{
    for (int64_t c = 0; c < g->rank; c++) {
        double *panel = g->factor + c / MRC_PANEL * MRC_PANEL * g->n;
        for (int64_t i = 0; i < g->n; i++)
            panel[i * MRC_PANEL + c % MRC_PANEL] *= factor;
    }
}

static void times_strip(void *arg, int64_t task, int worker)
{
    struct strip_work *w = arg;
    mrc_gram *g = w->g;
    int64_t first = task * STRIP, rows = least(STRIP, g->n - first), q = g->rank;
    double *strip = w->scratch[worker];
    pack_strip(g, first, rows, q, strip);
    mrc_gemm(false, false, rows, w->l, q, 1, strip, q, w->weights, w->l, 0, w->out + first * w->l,
             w->l);
}

mercer_status mrc_lowrank_times(mrc_gram *g, const double *weights, int64_t l, double *out,
                                mercer_error *err)
{
    struct strip_work w = {.g = g, .weights = weights, .l = l, .out = out};
    return run_strips(&w, times_strip, err);
}

static void quadratic_strip(void *arg, int64_t task, int worker)
{
    struct strip_work *w = arg;
    mrc_gram *g = w->g;
    int64_t first = task * STRIP, rows = least(STRIP, g->n - first), q = g->rank;
    double *strip = w->scratch[worker], *product = strip + STRIP * q;
    pack_strip(g, first, rows, q, strip);
    mrc_gemm(false, false, rows, q, q, 1, strip, q, w->weights, q, 0, product, q);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t c = 0; c < q; c++)
            sum += strip[r * q + c] * product[r * q + c];
        w->out[first + r] = sum;
    }
}

mercer_status mrc_lowrank_quadratic(mrc_gram *g, const double *s, double *out, mercer_error *err)
{
    struct strip_work w = {.g = g, .weights = s, .out = out};
    return run_strips(&w, quadratic_strip, err);
}

/* Sums over all rows are cut into at most PARTS runs of strips, added in order. */
enum { PARTS = 16 };

struct inner {
    mrc_gram *g;
    mrc_lowrank_sums sums;
    const double *mean; /* taken off F first, or NULL */
    const double *v;    /* NULL: F'F, else F'V */
    int64_t l, strips_per_part, width;
    double *partial;
    double **scratch;
};

/* Rows of a strip without their part along the directions; dots: rows x count of scratch. Twice,
 * for what rounding leaves of the first time. */
static void take_off(const mrc_lowrank_sums *sums, double *strip, int64_t rows, int64_t q,
                     double *dots)
{
    int64_t l = sums->count;
    for (int pass = 0; pass < 2; pass++) {
        mrc_gemm(false, true, rows, l, q, 1, strip, q, sums->directions, q, 0, dots, l);
        mrc_gemm(false, false, rows, q, l, -1, dots, l, sums->directions, q, 1, strip, q);
    }
}

static void inner_part(void *arg, int64_t part, int worker)
{
    struct inner *w = arg;
    mrc_gram *g = w->g;
    int64_t q = g->rank, strips = (g->n + STRIP - 1) / STRIP;
    int64_t end = least(strips, (part + 1) * w->strips_per_part);
    double *strip = w->scratch[worker], *sum = w->partial + part * q * w->width;
    memset(sum, 0, (size_t)(q * w->width) * sizeof *sum);
    for (int64_t s = part * w->strips_per_part; s < end; s++) {
        int64_t first = s * STRIP, rows = least(STRIP, g->n - first);
        if (mrc_check_cancel(g->ctx, NULL) != MERCER_OK)
            return; /* the caller sees it, too */
        pack_strip(g, first, rows, q, strip);
        for (int64_t i = 0; w->mean && i < rows * q; i++)
            strip[i] -= w->mean[i % q];
        for (int64_t r = 0; w->sums.mask && r < rows; r++)
            if (!w->sums.mask[first + r])
                memset(strip + r * q, 0, (size_t)q * sizeof *strip);
        if (w->sums.count > 0)
            take_off(&w->sums, strip, rows, q, strip + STRIP * q);
        if (w->v)
            mrc_gemm(true, false, q, w->l, rows, 1, strip, q, w->v + first * w->l, w->l, 1, sum,
                     w->l);
        else
            cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, mrc_blas_int(q), mrc_blas_int(rows),
                        1, strip, mrc_blas_int(q), 1, sum, mrc_blas_int(q));
    }
}

static mercer_status run_inner(struct inner *w, double *out, mercer_error *err)
{
    mrc_gram *g = w->g;
    int64_t q = g->rank, strips = (g->n + STRIP - 1) / STRIP;
    /* The partial sums together stay below half the size of F. */
    int64_t parts = least(least(PARTS, (strips + 3) / 4), 1 + g->n / (2 * q));
    mercer_status rc = MERCER_OK;
    w->width = w->v ? w->l : q;
    w->strips_per_part = (strips + parts - 1) / parts;
    MRC_TRY(strip_scratch(g, &w->scratch, err));
    MRC_TRY(mrc_alloc2_raw(&w->partial, parts, q * w->width, sizeof *w->partial, err));
    MRC_TRY(mrc_parfor_checked(g->ctx, parts, inner_part, w, err));
    memcpy(out, w->partial, (size_t)(q * w->width) * sizeof *out);
    for (int64_t part = 1; part < parts; part++)
        for (int64_t i = 0; i < q * w->width; i++)
            out[i] += w->partial[part * q * w->width + i];
out:
    strip_scratch_free(g, w->scratch);
    mrc_free(w->partial);
    return rc;
}

mercer_status mrc_lowrank_inner(mrc_gram *g, const mrc_lowrank_sums *sums, double *s,
                                mercer_error *err)
{
    struct inner w = {.g = g};
    double *mean = NULL;
    mercer_status rc = MERCER_OK;
    if (sums)
        w.sums = *sums;
    if (w.sums.about_mean) {
        MRC_TRY(mrc_alloc(&mean, g->rank, sizeof *mean, err));
        factor_mean(g, mean);
        w.mean = mean;
    }
    MRC_TRY(run_inner(&w, s, err));
    for (int64_t i = 0; i < g->rank; i++)
        for (int64_t j = 0; j < i; j++)
            s[j * g->rank + i] = s[i * g->rank + j];
out:
    mrc_free(mean);
    return rc;
}

mercer_status mrc_lowrank_transposed_times(mrc_gram *g, const double *v, int64_t l, double *out,
                                           mercer_error *err)
{
    struct inner w = {.g = g, .v = v, .l = l};
    return run_inner(&w, out, err);
}

mercer_status mrc_lowrank_apply(mrc_gram *g, const double *v, int64_t l, double *out,
                                mercer_error *err)
{
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, g->rank, l, sizeof *inner, err));
    MRC_TRY(mrc_lowrank_transposed_times(g, v, l, inner, err));
    MRC_TRY(mrc_lowrank_times(g, inner, l, out, err));
out:
    mrc_free(inner);
    return rc;
}

struct left {
    const mrc_gram *g;
    const int64_t *rows;
    int64_t count;
    const mrc_lowrank_sums *sums;
    double *out;
    double **scratch;
};

static void left_strip(void *arg, int64_t task, int worker)
{
    const struct left *w = arg;
    int64_t q = w->g->rank, first = task * STRIP, rows = least(STRIP, w->count - first);
    double *out = w->out + first * q;
    for (int64_t i = 0; i < rows; i++)
        unpack_row(w->g, w->rows[first + i], q, out + i * q);
    if (w->sums->count > 0)
        take_off(w->sums, out, rows, q, w->scratch[worker]);
}

mercer_status mrc_lowrank_rows_left(mrc_gram *g, const int64_t *rows, int64_t count,
                                    const mrc_lowrank_sums *sums, double *out, mercer_error *err)
{
    struct left w = {.g = g, .rows = rows, .count = count, .sums = sums, .out = out};
    mercer_status rc = MERCER_OK;
    MRC_TRY(strip_scratch(g, &w.scratch, err));
    MRC_TRY(mrc_parfor_checked(g->ctx, (count + STRIP - 1) / STRIP, left_strip, &w, err));
out:
    strip_scratch_free(g, w.scratch);
    return rc;
}

void mrc_lowrank_rows(const mrc_gram *g, const int64_t *rows, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++)
        unpack_row(g, rows[i], g->rank, out + i * g->rank);
}
