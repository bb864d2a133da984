/* The implicit store of sparse rows whose kernel is a dot product: K v = X (X' v), two passes over
 * the entries instead of one over n x n values.
 *
 * A block X' v of l columns is kept in panels of PANEL columns, each d x PANEL: an entry of X then
 * touches one cache line of a panel. X' v is summed by ranges of the columns of X, each in the
 * order of the rows: threads share no output, a range of a panel stays in the cache, and the number
 * of threads changes nothing. Cost of a product: 4 l operations an entry, and d l doubles beside
 * the result. */
#include "kernel/gram_parts.h"

#include "kernel/sparse.h"
#include "linalg/narrow.h"

#include <string.h>

enum {
    PANEL = MRC_NARROW_LANES,
    STRIP = 256,  /* rows of a task */
    COLUMNS = 16, /* rows J of K computed together */
};

struct implicit_work {
    const mrc_gram *g;
    const double *v; /* n x l */
    int64_t l;
    double *inner; /* panels of X' v, or of what is to be multiplied by X */
    const int64_t *rows;
    int64_t count;
    double *out;
};

static int64_t panels_of(int64_t l)
{
    return (l + PANEL - 1) / PANEL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t mrc_implicit_inner_size(const mrc_gram *g, int64_t l)
{
    return panels_of(l) * g->points.d * PANEL;
}

/* Cut the columns of X into ranges of about equally many entries, and note where they cut each row.
 */
mercer_status mrc_implicit_init(mrc_gram *g, mercer_error *err)
{
    int64_t d = g->points.d, entries = mercer_rows_entries(g->rows), *count = NULL, sum = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&count, d, sizeof *count, err));
    MRC_TRY(mrc_alloc2_raw(&g->row_cuts, g->n, MRC_RANGES, sizeof *g->row_cuts, err));
    for (int64_t k = 0; k < entries; k++)
        count[g->rows->csr.column[k]]++;
    for (int64_t c = 0, range = 0; c < d; c++) {
        sum += count[c];
        while (range < MRC_RANGES && sum * MRC_RANGES >= (range + 1) * entries)
            g->range_end[range++] = (int32_t)(c + 1);
    }
    g->range_end[MRC_RANGES - 1] = (int32_t)d;
    for (int64_t i = 0; i < g->n; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&g->points, i);
        for (int64_t range = 0, k = 0; range < MRC_RANGES; range++) {
            while (k < row.count && row.column[k] < g->range_end[range])
                k++;
            g->row_cuts[i * MRC_RANGES + range] = (int32_t)k;
        }
    }
out:
    mrc_free(count);
    return rc;
}

/* One range of one panel of X' v. */
static void gather_range(void *arg, int64_t task, int worker)
{
    const struct implicit_work *w = arg;
    const mrc_gram *g = w->g;
    int64_t first = task / MRC_RANGES * PANEL, range = task % MRC_RANGES;
    int64_t width = least(PANEL, w->l - first);
    int32_t begin = range ? g->range_end[range - 1] : 0, end = g->range_end[range];
    double *panel = w->inner + first * g->points.d;
    const mrc_narrow *loops = mrc_narrow_for(g->ctx->simd);
    (void)worker;
    memset(panel + (int64_t)begin * PANEL, 0, (size_t)(end - begin) * PANEL * sizeof *panel);
    for (int64_t i = 0; i < g->n; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&g->points, i);
        const int32_t *cuts = g->row_cuts + i * MRC_RANGES;
        double across[PANEL] = {0};
        memcpy(across, w->v + i * w->l + first, (size_t)width * sizeof *across);
        int64_t k = range ? cuts[range - 1] : 0;
        loops->scatter(row.column + k, row.value + k, cuts[range] - k, across, panel);
    }
}

/* Row i of X times the panels. */
static void times_row(const struct implicit_work *w, int64_t i, double *out)
{
    int64_t d = w->g->points.d;
    const mrc_narrow *loops = mrc_narrow_for(w->g->ctx->simd);
    mrc_sparse_row row = mrc_sparse_row_of(&w->g->points, i);
    for (int64_t first = 0; first < w->l; first += PANEL) {
        const double *panel = w->inner + first * d; /* panel first / PANEL */
        double sum[PANEL];
        loops->gather(row.column, row.value, row.count, panel, sum);
        for (int64_t j = 0; w->g->scale != 1 && j < PANEL; j++)
            sum[j] *= w->g->scale;
        memcpy(out + first, sum, (size_t)least(PANEL, w->l - first) * sizeof *sum);
    }
}

static void times_strip(void *arg, int64_t task, int worker)
{
    const struct implicit_work *w = arg;
    int64_t end = least((task + 1) * STRIP, w->count);
    (void)worker;
    for (int64_t i = task * STRIP; i < end; i++)
        times_row(w, w->rows ? w->rows[i] : i, w->out + i * w->l);
}

mercer_status mrc_implicit_apply_rows(mrc_gram *g, const int64_t *rows, int64_t count,
                                      const double *v, int64_t l, double *out, mercer_error *err)
{
    struct implicit_work w = {.g = g, .v = v, .l = l, .rows = rows, .count = count, .out = out};
    mercer_status rc =
        mrc_alloc2_raw(&w.inner, mrc_implicit_inner_size(g, l), 1, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    mrc_parfor(g->ctx, panels_of(l) * MRC_RANGES, gather_range, &w);
    mrc_parfor(g->ctx, (count + STRIP - 1) / STRIP, times_strip, &w);
    mrc_free(w.inner);
    return mrc_check_cancel(g->ctx, err);
}

mercer_status mrc_implicit_columns(mrc_gram *g, const int64_t *rows, int64_t count,
                                   mrc_implicit_visit visit, void *arg, mercer_error *err)
{
    struct implicit_work w = {.g = g, .count = g->n};
    double *block = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&w.inner, mrc_implicit_inner_size(g, COLUMNS), 1, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&block, g->n, COLUMNS, sizeof(double), err));
    w.out = block;
    for (int64_t first = 0; first < count; first += COLUMNS) {
        w.l = least(COLUMNS, count - first);
        memset(w.inner, 0, (size_t)mrc_implicit_inner_size(g, w.l) * sizeof(double));
        for (int64_t c = 0; c < w.l; c++) { /* X_J' */
            mrc_sparse_row row = mrc_sparse_row_of(&g->points, rows ? rows[first + c] : first + c);
            double *panel = w.inner + c / PANEL * PANEL * g->points.d;
            for (int64_t k = 0; k < row.count; k++)
                panel[(int64_t)row.column[k] * PANEL + c % PANEL] = row.value[k];
        }
        mrc_parfor(g->ctx, (g->n + STRIP - 1) / STRIP, times_strip, &w);
        MRC_TRY(mrc_check_cancel(g->ctx, err));
        visit(arg, first, w.l, block);
    }
out:
    mrc_free(w.inner);
    mrc_free(block);
    return rc;
}
