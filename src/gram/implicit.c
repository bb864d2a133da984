/* SPDX-License-Identifier: BSD-3-Clause */
/* The implicit store of sparse rows whose kernel is a dot product: K v = X (X' v), two passes over
 * the entries instead of one over n x n values.
 *
 * A block X' v of l columns is kept in panels of PANEL columns, each d x PANEL: an entry of X then
 * touches one cache line of a panel. X' v is summed by ranges of the columns of X, which threads
 * share. The sum of a part of the rows (base/strips.h) is taken in their order, and the sums of
 * parts are added on two grids, which is exact: neither the number of threads nor that of ranks
 * changes anything. Only columns that a part has are touched. Cost of a product: 4 l operations per
 * entry, less than that for the grids, and 3 d l doubles beside the result; ranks exchange 2 d l.
 * The list of the columns that parts have takes 4 bytes per entry at most.
 *
 * Rows that are spread over ranks: products with all of them, columns of a few, whose rows every
 * rank gets, and lengths of all columns, for which every rank gets all rows in turn. */
#include "gram/store.h"

#include "base/order.h"
#include "base/running.h"
#include "data/means.h"
#include "kernel/sparse.h"
#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <math.h>
#include <string.h>

enum {
    PANEL = MRC_PANEL_LANES,
    STRIP = 256,    /* rows of a task */
    COLUMNS = 16,   /* rows J of K computed together */
    RANGES = 2,     /* of the columns of X */
    FETCHED = 1024, /* rows that all ranks get at a time */
};

struct implicit {
    const mrc_gram *gram;
    double scale;              /* what values are multiplied with */
    int32_t range_end[RANGES]; /* ranges of the columns, about equally full */
    int32_t *row_cuts;         /* n x RANGES: where in its entries a row leaves each range */
    int64_t first_part;        /* of the rows here, */
    int64_t end_part;          /* and the one behind the last */
    int32_t *had;              /* the columns that a part has in a range, */
    int64_t *had_start;        /* parts x RANGES + 1: where they begin */
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
    mrc_grids grids;
    double *part; /* panels of the sums of a part, */
    double *all;  /* and of all parts, on the grids: twice as wide */
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
    mrc_free(s->had);
    mrc_free(s->had_start);
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

/* The rows here of a part. */
static void rows_of_part(const mrc_gram *g, int64_t part, int64_t *begin, int64_t *end)
{
    *begin = mrc_part_start(g->span.total, part) - g->span.first;
    *end = mrc_part_start(g->span.total, part + 1) - g->span.first;
}

/* Where the entries of row i in a range begin; they end at row_cuts[i RANGES + range]. */
static int64_t range_start(const struct implicit *s, int64_t i, int64_t range)
{
    return range ? s->row_cuts[i * RANGES + range - 1] : 0;
}

/* The columns that a part has in a range, into list unless it is NULL; returns how many. seen: d
 * numbers, none of which is `mark` before. */
static int64_t columns_of_part(const struct implicit *s, int64_t part, int64_t range, int64_t mark,
                               int64_t *seen, int32_t *list)
{
    int64_t begin, end, count = 0;
    rows_of_part(s->gram, part, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&s->gram->points, i);
        for (int64_t k = range_start(s, i, range); k < s->row_cuts[i * RANGES + range]; k++) {
            if (seen[row.column[k]] == mark)
                continue;
            seen[row.column[k]] = mark;
            if (list)
                list[count] = row.column[k];
            count++;
        }
    }
    return count;
}

static mercer_status list_columns(struct implicit *s, mercer_error *err)
{
    const mrc_gram *g = s->gram;
    int64_t *seen = NULL, mark = 0;
    mercer_status rc = MERCER_OK;
    mrc_span_parts(g->ctx, &g->span, &s->first_part, &s->end_part);
    const int64_t parts = s->end_part - s->first_part;
    MRC_TRY(mrc_alloc2(&s->had_start, parts * RANGES + 1, 1, sizeof *s->had_start, err));
    MRC_TRY(mrc_alloc(&seen, g->points.d, sizeof *seen, err));
    for (int64_t k = 0; k < parts * RANGES; k++)
        s->had_start[k + 1] = s->had_start[k] + columns_of_part(s, s->first_part + k / RANGES,
                                                                k % RANGES, ++mark, seen, NULL);
    MRC_TRY(mrc_alloc2_raw(&s->had, s->had_start[parts * RANGES], 1, sizeof *s->had, err));
    for (int64_t k = 0; k < parts * RANGES; k++)
        columns_of_part(s, s->first_part + k / RANGES, k % RANGES, ++mark, seen,
                        s->had + s->had_start[k]);
out:
    mrc_free(seen);
    return rc;
}

static mercer_status implicit_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                                   mercer_error *err)
{
    struct implicit *s = NULL;
    mercer_status rc = MERCER_OK;
    (void)plan;
    MRC_TRY(mrc_alloc(&s, 1, sizeof *s, err));
    s->gram = g;
    s->scale = 1;
    MRC_TRY(cut_columns(s, err));
    MRC_TRY(list_columns(s, err));
    *self = s;
    s = NULL;
out:
    if (s)
        implicit_destroy(s);
    return rc;
}

/* One range of one panel of X' v. */
static void gather_range(void *arg, int64_t task, int worker)
{
    const struct sums *w = arg;
    const struct implicit *s = w->s;
    const mrc_gram *g = s->gram;
    const int64_t d = g->points.d, first = task / RANGES * PANEL, range = task % RANGES;
    const int64_t width = mrc_min64(PANEL, w->l - first);
    const int64_t begin = range ? s->range_end[range - 1] : 0, end = s->range_end[range];
    const mrc_panel_loops *loops = mrc_panel_loops_for(g->ctx->simd);
    double *panel = w->part + first * d, *all = w->all + 2 * first * d;
    (void)worker;
    memset(panel + begin * PANEL, 0, (size_t)((end - begin) * PANEL) * sizeof *panel);
    memset(all + 2 * begin * PANEL, 0, (size_t)(2 * (end - begin) * PANEL) * sizeof *all);
    for (int64_t part = s->first_part; part < s->end_part; part++) {
        const int64_t *had = s->had_start + (part - s->first_part) * RANGES + range;
        int64_t from, to;
        rows_of_part(g, part, &from, &to);
        for (int64_t i = from; i < to; i++) {
            mrc_sparse_row row = mrc_sparse_row_of(&g->points, i);
            const int64_t k = range_start(s, i, range);
            double across[PANEL] = {0};
            memcpy(across, w->v + i * w->l + first, (size_t)width * sizeof *across);
            loops->scatter(row.column + k, row.value + k, s->row_cuts[i * RANGES + range] - k,
                           across, panel);
        }
        loops->fold(&w->grids, s->had + had[0], had[1] - had[0], panel, all);
    }
}

/* What no entry of X' v over the rows of one part exceeds: no number of a row is larger than the
 * root of its K_ii. */
static mercer_status largest_sum(const mrc_gram *g, const double *v, int64_t l, double *out,
                                 mercer_error *err)
{
    static const double ROUNDING = 1.01; /* far above that of as many additions */
    const int64_t total = g->span.total, rows = (mrc_strips(total) / mrc_parts(total) + 1) * STRIP;
    double largest = 0;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < g->n * l; i++)
        largest = fabs(v[i]) <= largest ? largest : isnan(v[i]) ? INFINITY : fabs(v[i]);
    if (g->span.spread)
        MRC_TRY(mrc_comm_largest(g->ctx, &largest, err));
    *out = ROUNDING * (double)rows * sqrt(g->kmax * g->unit) * largest;
out:
    return rc;
}

/* *inner: panels of X' v over the rows of all ranks, to be freed. */
static mercer_status sum_rows(const struct implicit *s, const double *v, int64_t l, double **inner,
                              mercer_error *err)
{
    const mrc_gram *g = s->gram;
    const int64_t size = inner_size(s, l);
    struct sums w = {.s = s, .v = v, .l = l};
    double bound;
    mercer_status rc = MERCER_OK;
    MRC_TRY(largest_sum(g, v, l, &bound, err));
    w.grids = mrc_grids_for(bound, mrc_parts(g->span.total));
    MRC_TRY(mrc_alloc2_raw(&w.part, size, 1, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&w.all, size, 2, sizeof(double), err));
    MRC_TRY(mrc_parfor_checked(g->ctx, panels_of(l) * RANGES, gather_range, &w, err));
    if (g->span.spread)
        MRC_TRY(mrc_comm_sum(g->ctx, w.all, 2 * size, err));
    for (int64_t i = 0; i < size; i++) {
        const double *high = w.all + i / PANEL * 2 * PANEL + i % PANEL;
        w.part[i] = mrc_grids_sum(&w.grids, high[0], high[PANEL]);
    }
    *inner = w.part;
    w.part = NULL;
out:
    mrc_free(w.part);
    mrc_free(w.all);
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
    return 3 * inner_size(self, l);
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
