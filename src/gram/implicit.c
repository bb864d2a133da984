/* SPDX-License-Identifier: BSD-3-Clause */
/* The implicit store of sparse rows whose kernel is a dot product: K v = X (X' v), two passes over
 * the entries instead of one over n x n values.
 *
 * A block X' v of l columns is kept in panels of PANEL columns, each d x PANEL: an entry of X then
 * touches one cache line of a panel. X' v is summed by ranges of the columns of X, each in the
 * order of the rows: threads share no output, a range of a panel stays in the cache, and the number
 * of threads changes nothing. Cost of a product: 4 l operations per entry, and d l doubles beside
 * the result. */
#include "gram/store.h"

#include "base/order.h"
#include "kernel/sparse.h"
#include "linalg/panel.h"

#include <string.h>

enum {
    PANEL = MRC_PANEL_LANES,
    STRIP = 256,  /* rows of a task */
    COLUMNS = 16, /* rows J of K computed together */
    RANGES = 2,   /* of the columns of X */
};

struct implicit {
    const mrc_gram *gram;
    double scale;              /* what values are multiplied with */
    int32_t range_end[RANGES]; /* ranges of the columns, about equally full */
    int32_t *row_cuts;         /* n x RANGES: where in its entries a row leaves each range */
};

struct implicit_work {
    const struct implicit *s;
    const double *v; /* n x l */
    int64_t l;
    double *inner; /* panels of X' v, or of what is to be multiplied by X */
    mrc_pick pick;
    double *out;
};

static int64_t panels_of(int64_t l)
{
    return (l + PANEL - 1) / PANEL;
}

/* Doubles that X' v takes for l columns. */
static int64_t inner_size(const struct implicit *s, int64_t l)
{
    return panels_of(l) * s->gram->points.d * PANEL;
}

static void implicit_destroy(void *self)
{
    struct implicit *s = self;
    mrc_free(s->row_cuts);
    mrc_free(s);
}

/* Cut the columns of X into ranges of about equally many entries, and note where they cut each row.
 */
static mercer_status cut_columns(struct implicit *s, mercer_error *err)
{
    const mrc_gram *g = s->gram;
    int64_t d = g->points.d, entries = mercer_rows_entries(g->rows), *count = NULL, sum = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&count, d, sizeof *count, err));
    MRC_TRY(mrc_alloc2_raw(&s->row_cuts, g->n, RANGES, sizeof *s->row_cuts, err));
    for (int64_t k = 0; k < entries; k++)
        count[g->rows->csr.column[k]]++;
    for (int64_t c = 0, range = 0; c < d; c++) {
        sum += count[c];
        while (range < RANGES && sum * RANGES >= (range + 1) * entries)
            s->range_end[range++] = (int32_t)(c + 1);
    }
    s->range_end[RANGES - 1] = (int32_t)d;
    for (int64_t i = 0; i < g->n; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&g->points, i);
        for (int64_t range = 0, k = 0; range < RANGES; range++) {
            while (k < row.count && row.column[k] < s->range_end[range])
                k++;
            s->row_cuts[i * RANGES + range] = (int32_t)k;
        }
    }
out:
    mrc_free(count);
    return rc;
}

static mercer_status implicit_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                                   mercer_error *err)
{
    struct implicit *s = NULL;
    mercer_status rc = mrc_alloc(&s, 1, sizeof *s, err);
    (void)plan;
    if (rc != MERCER_OK)
        return rc;
    s->gram = g;
    s->scale = 1;
    rc = cut_columns(s, err);
    if (rc == MERCER_OK)
        *self = s;
    else
        implicit_destroy(s);
    return rc;
}

/* One range of one panel of X' v. */
static void gather_range(void *arg, int64_t task, int worker)
{
    const struct implicit_work *w = arg;
    const mrc_gram *g = w->s->gram;
    int64_t first = task / RANGES * PANEL, range = task % RANGES;
    int64_t width = mrc_min64(PANEL, w->l - first);
    int32_t begin = range ? w->s->range_end[range - 1] : 0, end = w->s->range_end[range];
    double *panel = w->inner + first * g->points.d;
    const mrc_panel_loops *loops = mrc_panel_loops_for(g->ctx->simd);
    (void)worker;
    memset(panel + (int64_t)begin * PANEL, 0, (size_t)(end - begin) * PANEL * sizeof *panel);
    for (int64_t i = 0; i < g->n; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&g->points, i);
        const int32_t *cuts = w->s->row_cuts + i * RANGES;
        double across[PANEL] = {0};
        memcpy(across, w->v + i * w->l + first, (size_t)width * sizeof *across);
        int64_t k = range ? cuts[range - 1] : 0;
        loops->scatter(row.column + k, row.value + k, cuts[range] - k, across, panel);
    }
}

/* Row i of X times the panels. */
static void times_row(const struct implicit_work *w, int64_t i, double *out)
{
    int64_t d = w->s->gram->points.d;
    const mrc_panel_loops *loops = mrc_panel_loops_for(w->s->gram->ctx->simd);
    mrc_sparse_row row = mrc_sparse_row_of(&w->s->gram->points, i);
    for (int64_t first = 0; first < w->l; first += PANEL) {
        const double *panel = w->inner + first * d; /* panel first / PANEL */
        double sum[PANEL];
        loops->gather(row.column, row.value, row.count, panel, sum);
        for (int64_t j = 0; w->s->scale != 1 && j < PANEL; j++)
            sum[j] *= w->s->scale;
        memcpy(out + first, sum, (size_t)mrc_min64(PANEL, w->l - first) * sizeof *sum);
    }
}

static void times_strip(void *arg, int64_t task, int worker)
{
    const struct implicit_work *w = arg;
    int64_t end = mrc_min64((task + 1) * STRIP, w->pick.count);
    (void)worker;
    for (int64_t i = task * STRIP; i < end; i++)
        times_row(w, mrc_pick_row(w->pick, i), w->out + i * w->l);
}

static mercer_status implicit_apply(void *self, mrc_pick j, const double *v, int64_t l, double *out,
                                    mercer_error *err)
{
    const struct implicit *s = self;
    mercer_ctx *ctx = s->gram->ctx;
    struct implicit_work w = {.s = s, .v = v, .l = l, .pick = j, .out = out};
    mercer_status rc = mrc_alloc2_raw(&w.inner, inner_size(s, l), 1, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    rc = mrc_parfor_checked(ctx, panels_of(l) * RANGES, gather_range, &w, err);
    if (rc == MERCER_OK)
        rc = mrc_parfor_checked(ctx, (j.count + STRIP - 1) / STRIP, times_strip, &w, err);
    mrc_free(w.inner);
    return rc;
}

/* ---- columns ---- */

/* Where columns of K go; shift is NULL where they are wanted as they are. */
struct target {
    int64_t n;
    mrc_pick pick;
    const mrc_shift *shift;
    double *out;
};

/* block (n x count) holds columns J[first .. first + count) of K. */
typedef void (*column_visit)(const struct target *to, int64_t first, int64_t count,
                             const double *block);

/* All columns J, a few at a time. */
static mercer_status for_columns(const struct implicit *s, const struct target *to,
                                 column_visit visit, mercer_error *err)
{
    const mrc_gram *g = s->gram;
    struct implicit_work w = {.s = s, .pick = {.count = g->n}};
    double *block = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&w.inner, inner_size(s, COLUMNS), 1, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&block, g->n, COLUMNS, sizeof(double), err));
    w.out = block;
    for (int64_t first = 0; first < to->pick.count; first += COLUMNS) {
        w.l = mrc_min64(COLUMNS, to->pick.count - first);
        memset(w.inner, 0, (size_t)inner_size(s, w.l) * sizeof(double));
        for (int64_t c = 0; c < w.l; c++) { /* X_J' */
            mrc_sparse_row row = mrc_sparse_row_of(&g->points, mrc_pick_row(to->pick, first + c));
            double *panel = w.inner + c / PANEL * PANEL * g->points.d;
            for (int64_t k = 0; k < row.count; k++)
                panel[(int64_t)row.column[k] * PANEL + c % PANEL] = row.value[k];
        }
        MRC_TRY(mrc_parfor_checked(g->ctx, (g->n + STRIP - 1) / STRIP, times_strip, &w, err));
        visit(to, first, w.l, block);
    }
out:
    mrc_free(w.inner);
    mrc_free(block);
    return rc;
}

static double row_shift(const struct target *to, int64_t i)
{
    return mrc_shift_row(to->shift, mrc_pick_row(to->pick, i));
}

static void copy_columns(const struct target *to, int64_t first, int64_t count, const double *block)
{
    const double *column = to->shift->column;
    for (int64_t i = 0; i < count; i++)
        for (int64_t t = 0; t < to->n; t++)
            to->out[(first + i) * to->n + t] =
                block[t * count + i] + row_shift(to, first + i) - (column ? column[t] : 0);
}

static mercer_status implicit_columns(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                      mercer_error *err)
{
    const struct implicit *s = self;
    struct target to = {.n = s->gram->n, .pick = j, .shift = shift, .out = out};
    return for_columns(s, &to, copy_columns, err);
}

static void column_squares(const struct target *to, int64_t first, int64_t count,
                           const double *block)
{
    const double *column = to->shift->column;
    const unsigned char *mask = to->shift->mask;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0, shift = row_shift(to, first + i);
        for (int64_t t = 0; t < to->n; t++) {
            double value = block[t * count + i] + shift - (column ? column[t] : 0);
            if (!mask || mask[t])
                sum += value * value;
        }
        to->out[first + i] = sum;
    }
}

static mercer_status implicit_row_norms2(void *self, mrc_pick j, const mrc_shift *shift,
                                         double *out, mercer_error *err)
{
    const struct implicit *s = self;
    struct target to = {.n = s->gram->n, .pick = j, .shift = shift, .out = out};
    return for_columns(s, &to, column_squares, err);
}

/* Squares of columns about their mean. */
static void column_variances(const struct target *to, int64_t first, int64_t count,
                             const double *block)
{
    int64_t n = to->n;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0, mean = 0;
        for (int64_t t = 0; t < n; t++)
            mean += block[t * count + i] / (double)n;
        for (int64_t t = 0; t < n; t++)
            sum += (block[t * count + i] - mean) * (block[t * count + i] - mean);
        to->out[first + i] = sum;
    }
}

static mercer_status implicit_row_variances(void *self, double *out, mercer_error *err)
{
    const struct implicit *s = self;
    struct target to = {.n = s->gram->n, .pick = {.count = s->gram->n}, .out = out};
    return for_columns(s, &to, column_variances, err);
}

static void implicit_scale(void *self, double factor)
{
    struct implicit *s = self;
    s->scale *= factor;
}

/* The rows it reads are the caller's: a number and a column per entry. */
static int64_t implicit_bytes(const void *self, bool held)
{
    const struct implicit *s = self;
    return held ? 0 : 12 * s->gram->entries;
}

static int64_t implicit_work_doubles(const void *self, int64_t l)
{
    return inner_size(self, l);
}

const mrc_store mrc_store_implicit = {
    .name = "implicit",
    .caps = MRC_STORE_CHEAP_PASSES,
    .init = implicit_init,
    .apply = implicit_apply,
    .columns = implicit_columns,
    .row_norms2 = implicit_row_norms2,
    .row_variances = implicit_row_variances,
    .scale = implicit_scale,
    .bytes = implicit_bytes,
    .work_doubles = implicit_work_doubles,
    .destroy = implicit_destroy,
};
