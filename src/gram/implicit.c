/* SPDX-License-Identifier: BSD-3-Clause */
/* The implicit store of sparse rows whose kernel is a dot product: K v = X (X' v), two passes over
 * the entries instead of one over n x n values.
 *
 * A block X' v of l columns is kept in panels of PANEL columns, each d x PANEL: an entry of X then
 * touches one cache line of a panel. X' v is summed by ranges of the columns of X, each in the
 * order of the rows: threads share no output, a range of a panel stays in the cache, and the number
 * of threads changes nothing. Cost of a product: 4 l operations per entry, and d l doubles beside
 * the result.
 *
 * Rows that are spread over ranks: products with all of them, columns of a few, whose rows every
 * rank gets, and lengths of all columns, for which every rank gets all rows in turn. Ranks hand
 * X' v on from one to the next, a group of ranges at a time: the order of the rows stays, and one
 * rank pays nothing for what several need. Sums of parts on grids would send less where there are
 * many ranks, but take one rank a third to a half of a product more. */
#include "gram/store.h"

#include "base/order.h"
#include "base/running.h"
#include "data/means.h"
#include "kernel/sparse.h"
#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <string.h>

enum {
    PANEL = MRC_PANEL_LANES,
    STRIP = 256,    /* rows of a task */
    COLUMNS = 16,   /* rows J of K computed together */
    FETCHED = 1024, /* rows that all ranks get at a time */
    SHARES = 2,     /* ranges of the columns of X that threads share */
    GROUPS = 8,     /* of as many ranges, which ranks hand on one after the other */
};

struct implicit {
    const mrc_gram *gram;
    double scale;                       /* what values are multiplied with */
    int64_t ranges;                     /* of the columns, about equally full */
    int32_t range_end[GROUPS * SHARES]; /* all ranks have the same */
    int32_t *row_cuts;                  /* n x ranges: where in its entries a row leaves each */
};

struct implicit_work {
    const struct implicit *s;
    int64_t l;
    double *inner; /* panels of what is multiplied by X */
    mrc_pick pick;
    double *out;
};

/* X' v on its way. */
struct sums {
    const struct implicit *s;
    const double *v; /* n x l */
    int64_t l;
    bool begins;        /* at zero; else goes on with the sums of the ranks before this one */
    int64_t first_task; /* of those at work */
    double *inner;      /* panels */
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

/* Cut the columns of X into ranges of about equally many entries of rank 0, and note where they cut
 * each row. */
static mercer_status cut_columns(struct implicit *s, mercer_error *err)
{
    const mrc_gram *g = s->gram;
    int64_t d = g->points.d, entries = mercer_rows_entries(g->rows), *count = NULL, sum = 0;
    mercer_status rc = MERCER_OK;
    s->ranges = g->span.spread ? GROUPS * SHARES : SHARES;
    MRC_TRY(mrc_alloc(&count, d, sizeof *count, err));
    MRC_TRY(mrc_alloc2_raw(&s->row_cuts, g->n, s->ranges, sizeof *s->row_cuts, err));
    for (int64_t k = 0; k < entries; k++)
        count[g->rows->csr.column[k]]++;
    for (int64_t c = 0, range = 0; c < d; c++) {
        sum += count[c];
        while (range < s->ranges && sum * s->ranges >= (range + 1) * entries)
            s->range_end[range++] = (int32_t)(c + 1);
    }
    s->range_end[s->ranges - 1] = (int32_t)d;
    MRC_TRY(mrc_decide(g->ctx, &g->span, s->range_end, sizeof s->range_end, err));
    for (int64_t i = 0; i < g->n; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&g->points, i);
        for (int64_t range = 0, k = 0; range < s->ranges; range++) {
            while (k < row.count && row.column[k] < s->range_end[range])
                k++;
            s->row_cuts[i * s->ranges + range] = (int32_t)k;
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

/* Where the columns of a range begin. */
static int32_t range_start(const struct implicit *s, int64_t range)
{
    return range ? s->range_end[range - 1] : 0;
}

/* A task is one range of one panel; where its numbers begin in the panels. */
static int64_t task_start(const struct implicit *s, int64_t task)
{
    return (task / s->ranges * s->gram->points.d + range_start(s, task % s->ranges)) * PANEL;
}

static void gather_range(void *arg, int64_t number, int worker)
{
    const struct sums *w = arg;
    const struct implicit *s = w->s;
    const mrc_gram *g = s->gram;
    const int64_t task = w->first_task + number, range = task % s->ranges;
    const int64_t first = task / s->ranges * PANEL, width = mrc_min64(PANEL, w->l - first);
    const int64_t begin = range_start(s, range), end = s->range_end[range];
    const mrc_panel_loops *loops = mrc_panel_loops_for(g->ctx->simd);
    double *panel = w->inner + first * g->points.d;
    (void)worker;
    if (w->begins)
        memset(panel + begin * PANEL, 0, (size_t)((end - begin) * PANEL) * sizeof *panel);
    for (int64_t i = 0; i < g->n; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&g->points, i);
        const int32_t *cuts = s->row_cuts + i * s->ranges;
        const int64_t k = range ? cuts[range - 1] : 0;
        double across[PANEL] = {0};
        memcpy(across, w->v + i * w->l + first, (size_t)width * sizeof *across);
        loops->scatter(row.column + k, row.value + k, cuts[range] - k, across, panel);
    }
}

/* The numbers [begin, end) of X' v, which are those of whole tasks. */
static mercer_status add_rows(void *arg, int64_t begin, int64_t end, double *inner,
                              mercer_error *err)
{
    struct sums *w = arg;
    const int64_t tasks = panels_of(w->l) * w->s->ranges;
    int64_t count = 0;
    w->inner = inner;
    w->first_task = 0;
    while (w->first_task < tasks && task_start(w->s, w->first_task) < begin)
        w->first_task++;
    while (w->first_task + count < tasks && task_start(w->s, w->first_task + count) < end)
        count++;
    return mrc_parfor_checked(w->s->gram->ctx, count, gather_range, w, err);
}

/* *inner: panels of X' v over the rows of all ranks, to be freed. */
static mercer_status sum_rows(const struct implicit *s, const double *v, int64_t l, double **inner,
                              mercer_error *err)
{
    const mrc_gram *g = s->gram;
    const int64_t size = inner_size(s, l), groups = panels_of(l) * GROUPS;
    struct sums w = {.s = s, .v = v, .l = l, .begins = mrc_decides(g->ctx, &g->span)};
    int64_t *cuts = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(inner, size, 1, sizeof(double), err));
    if (!g->span.spread)
        return add_rows(&w, 0, size, *inner, err);
    MRC_TRY(mrc_alloc(&cuts, groups + 1, sizeof *cuts, err));
    for (int64_t k = 0; k <= groups; k++)
        cuts[k] = task_start(s, k * SHARES);
    MRC_TRY(mrc_comm_relay_cut(g->ctx, *inner, cuts, groups, add_rows, &w, err));
out:
    mrc_free(cuts);
    return rc;
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
    const mrc_gram *g = s->gram;
    struct implicit_work w = {.s = s, .l = l, .pick = j, .out = out};
    mercer_status rc = MERCER_OK;
    if (j.rows && g->span.spread)
        MRC_TRY(mrc_rows_need_whole(g->rows, "products of few rows", err));
    MRC_TRY(sum_rows(s, v, l, &w.inner, err));
    MRC_TRY(mrc_parfor_checked(g->ctx, (j.count + STRIP - 1) / STRIP, times_strip, &w, err));
out:
    mrc_free(w.inner);
    return rc;
}

/* (X - 1 c')' B = X' B - c (1' B), c being the mean of a centred operator. Rows are used as they
 * are where this is asked for: the kernel is linear. */
static mercer_status implicit_collapse(void *self, const double *b, int64_t l, double *out,
                                       mercer_error *err)
{
    const struct implicit *s = self;
    const mrc_gram *g = s->gram;
    const int64_t d = g->points.d;
    double *inner = NULL, *mean = NULL, *sums = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&mean, d, sizeof *mean, err));
    MRC_TRY(mrc_alloc(&sums, l, sizeof *sums, err));
    if (g->centered) {
        MRC_TRY(mrc_rows_mean(g->ctx, g->rows, mean, err));
        MRC_TRY(mrc_column_sums_of_span(g->ctx, &g->span, b, l, sums, err));
    }
    MRC_TRY(sum_rows(s, b, l, &inner, err));
    for (int64_t k = 0; k < d; k++)
        for (int64_t j = 0; j < l; j++)
            out[k * l + j] = inner[(j / PANEL * d + k) * PANEL + j % PANEL] - mean[k] * sums[j];
out:
    mrc_free(inner);
    mrc_free(mean);
    mrc_free(sums);
    return rc;
}

/* ---- columns ---- */

/* Columns of K: the rows of X that they belong to, and where they go. shift is NULL where they are
 * wanted as they are. */
struct target {
    int64_t n;
    mrc_pick pick;
    const mrc_fetched *fetched; /* the rows of the pick; NULL: those here have them */
    const mrc_shift *shift;
    double *out;
};

/* block (n x count) holds columns J[first .. first + count) of K. */
typedef void (*column_visit)(const struct target *to, int64_t first, int64_t count,
                             const double *block);

/* Room for COLUMNS of them, the rows here. */
static mercer_status columns_init(struct implicit_work *w, const struct implicit *s,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *w = (struct implicit_work){.s = s, .pick = {.count = s->gram->n}};
    MRC_TRY(mrc_alloc2_raw(&w->inner, inner_size(s, COLUMNS), 1, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&w->out, s->gram->n, COLUMNS, sizeof(double), err));
out:
    return rc;
}

static void columns_destroy(const struct implicit_work *w)
{
    mrc_free(w->inner);
    mrc_free(w->out);
}

/* w->out (n x count): columns J[first .. first + count), COLUMNS at most. */
static mercer_status few_columns(struct implicit_work *w, const struct target *to, int64_t first,
                                 int64_t count, mercer_error *err)
{
    const mrc_gram *g = w->s->gram;
    w->l = count;
    memset(w->inner, 0, (size_t)inner_size(w->s, count) * sizeof(double));
    for (int64_t c = 0; c < count; c++) { /* X_J' */
        mrc_sparse_row row = to->fetched
                                 ? mrc_sparse_row_of(&to->fetched->points, first + c)
                                 : mrc_sparse_row_of(&g->points, mrc_pick_row(to->pick, first + c));
        double *panel = w->inner + c / PANEL * PANEL * g->points.d;
        for (int64_t k = 0; k < row.count; k++)
            panel[(int64_t)row.column[k] * PANEL + c % PANEL] = row.value[k];
    }
    return mrc_parfor_checked(g->ctx, (g->n + STRIP - 1) / STRIP, times_strip, w, err);
}

/* All columns J, a few at a time. */
static mercer_status for_columns(const struct implicit *s, const struct target *to,
                                 column_visit visit, mercer_error *err)
{
    struct implicit_work w;
    mercer_status rc = MERCER_OK;
    MRC_TRY(columns_init(&w, s, err));
    for (int64_t first = 0; first < to->pick.count; first += COLUMNS) {
        const int64_t count = mrc_min64(COLUMNS, to->pick.count - first);
        MRC_TRY(few_columns(&w, to, first, count, err));
        visit(to, first, count, w.out);
    }
out:
    columns_destroy(&w);
    return rc;
}

static double row_shift(const struct target *to, int64_t i)
{
    if (to->fetched)
        return to->fetched->means ? to->shift->base - to->fetched->means[i] : 0;
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
    mrc_fetched fetched = {0};
    struct target to = {.n = s->gram->n,
                        .pick = j,
                        .fetched = s->gram->span.spread ? &fetched : NULL,
                        .shift = shift,
                        .out = out};
    mercer_status rc = MERCER_OK;
    if (s->gram->span.spread)
        MRC_TRY(mrc_fetch(s->gram, j, shift, &fetched, err));
    MRC_TRY(for_columns(s, &to, copy_columns, err));
out:
    mrc_fetched_destroy(&fetched);
    return rc;
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

struct lengths {
    struct implicit_work *work;
    const struct target *to;
};

static mercer_status add_squares(void *arg, int64_t begin, int64_t end, double *sums,
                                 mercer_error *err)
{
    const struct lengths *w = arg;
    const struct target *to = w->to;
    const double *column = to->shift->column, *block = w->work->out;
    const int64_t count = end - begin;
    mercer_status rc = few_columns(w->work, to, begin, count, err);
    for (int64_t i = 0; rc == MERCER_OK && i < count; i++) {
        const double shift = row_shift(to, begin + i);
        for (int64_t t = 0; t < to->n; t++) {
            double value = block[t * count + i] + shift - (column ? column[t] : 0);
            sums[begin + i] += value * value;
        }
    }
    return rc;
}

/* The columns of all ranks, each summed over the rows of one rank after the other. */
static mercer_status lengths_of_all(const struct implicit *s, const mrc_shift *shift, double *out,
                                    mercer_error *err)
{
    const mrc_gram *g = s->gram;
    const mrc_span *span = &g->span;
    struct implicit_work work;
    mrc_fetched fetched = {0};
    double sums[FETCHED];
    int64_t rows[FETCHED];
    mercer_status rc = MERCER_OK;
    MRC_TRY(columns_init(&work, s, err));
    for (int64_t first = 0; first < span->total; first += FETCHED) {
        const int64_t count = mrc_min64(FETCHED, span->total - first);
        struct target to = {
            .n = g->n, .pick = {.rows = rows, .count = count}, .fetched = &fetched, .shift = shift};
        struct lengths w = {.work = &work, .to = &to};
        for (int64_t i = 0; i < count; i++) {
            rows[i] = first + i;
            sums[i] = 0;
        }
        mrc_fetched_destroy(&fetched);
        MRC_TRY(mrc_fetch(g, to.pick, shift, &fetched, err));
        MRC_TRY(mrc_run_span(g->ctx, span, sums, count, COLUMNS, add_squares, &w, err));
        for (int64_t i = 0; i < count; i++)
            if (rows[i] >= span->first && rows[i] < span->first + g->n)
                out[rows[i] - span->first] = sums[i];
    }
out:
    mrc_fetched_destroy(&fetched);
    columns_destroy(&work);
    return rc;
}

static mercer_status implicit_row_norms2(void *self, mrc_pick j, const mrc_shift *shift,
                                         double *out, mercer_error *err)
{
    const struct implicit *s = self;
    struct target to = {.n = s->gram->n, .pick = j, .shift = shift, .out = out};
    if (!s->gram->span.spread)
        return for_columns(s, &to, column_squares, err);
    if (j.rows || shift->mask)
        return mrc_rows_need_whole(s->gram->rows, "lengths of columns", err);
    return lengths_of_all(s, shift, out, err);
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

struct variances {
    struct implicit_work *work;
    const struct target *to;
    const double *means; /* of the columns; NULL: they are what is summed */
};

static mercer_status add_variances(void *arg, int64_t begin, int64_t end, double *sums,
                                   mercer_error *err)
{
    const struct variances *w = arg;
    const double *block = w->work->out;
    const double total = (double)w->work->s->gram->span.total;
    const int64_t count = end - begin, n = w->to->n;
    mercer_status rc = few_columns(w->work, w->to, begin, count, err);
    for (int64_t i = 0; rc == MERCER_OK && i < count; i++) {
        const double mean = w->means ? w->means[begin + i] : 0;
        double sum = sums[begin + i];
        if (w->means)
            for (int64_t t = 0; t < n; t++)
                sum += (block[t * count + i] - mean) * (block[t * count + i] - mean);
        else
            for (int64_t t = 0; t < n; t++)
                sum += block[t * count + i] / total;
        sums[begin + i] = sum;
    }
    return rc;
}

/* Squares of the columns of all ranks about their means, for which they are computed twice. */
static mercer_status variances_of_all(const struct implicit *s, double *out, mercer_error *err)
{
    const mrc_gram *g = s->gram;
    const mrc_span *span = &g->span;
    struct implicit_work work;
    mrc_fetched fetched = {0};
    double means[FETCHED], sums[FETCHED];
    int64_t rows[FETCHED];
    mercer_status rc = MERCER_OK;
    MRC_TRY(columns_init(&work, s, err));
    for (int64_t first = 0; first < span->total; first += FETCHED) {
        const int64_t count = mrc_min64(FETCHED, span->total - first);
        const mrc_shift shift = {0};
        struct target to = {.n = g->n, .pick = {.rows = rows, .count = count}, .fetched = &fetched};
        struct variances w = {.work = &work, .to = &to};
        for (int64_t i = 0; i < count; i++) {
            rows[i] = first + i;
            means[i] = sums[i] = 0;
        }
        mrc_fetched_destroy(&fetched);
        MRC_TRY(mrc_fetch(g, to.pick, &shift, &fetched, err));
        MRC_TRY(mrc_run_span(g->ctx, span, means, count, COLUMNS, add_variances, &w, err));
        w.means = means;
        MRC_TRY(mrc_run_span(g->ctx, span, sums, count, COLUMNS, add_variances, &w, err));
        for (int64_t i = 0; i < count; i++)
            if (rows[i] >= span->first && rows[i] < span->first + g->n)
                out[rows[i] - span->first] = sums[i];
    }
out:
    mrc_fetched_destroy(&fetched);
    columns_destroy(&work);
    return rc;
}

static mercer_status implicit_row_variances(void *self, double *out, mercer_error *err)
{
    const struct implicit *s = self;
    struct target to = {.n = s->gram->n, .pick = {.count = s->gram->n}, .out = out};
    return s->gram->span.spread ? variances_of_all(s, out, err)
                                : for_columns(s, &to, column_variances, err);
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
    .caps = MRC_STORE_CHEAP_PASSES | MRC_STORE_SPREADS,
    .init = implicit_init,
    .apply = implicit_apply,
    .columns = implicit_columns,
    .row_norms2 = implicit_row_norms2,
    .row_variances = implicit_row_variances,
    .collapse = implicit_collapse,
    .scale = implicit_scale,
    .bytes = implicit_bytes,
    .work_doubles = implicit_work_doubles,
    .destroy = implicit_destroy,
};
