/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream store: it keeps nothing; tiles are computed again at every pass. In single precision
 * they are rounded like the stored form. */
#include "base/order.h"
#include "gram/tiled.h"

static const double *stream_tile(const mrc_tiled *t, int64_t i, int64_t j, int worker,
                                 int64_t *stride)
{
    double *tile = t->space[worker]->tile;
    *stride = MRC_TILE;
    mrc_tiled_compute(t, i, j, worker, tile);
    if (t->gram->single)
        for (int64_t r = 0; r < mrc_tile_rows(t, i); r++)
            for (int64_t c = 0; c < mrc_tile_rows(t, j); c++)
                tile[r * MRC_TILE + c] = (float)tile[r * MRC_TILE + c];
    return tile;
}

static void stream_block(const mrc_tiled *t, const int64_t *rows, int64_t nrows, int64_t first,
                         int64_t count, int worker, double *out, int64_t ldo)
{
    const mrc_gram *g = t->gram;
    mrc_tile_space *space = t->space[worker];
    int64_t b0 = first;
    mrc_points own;
    const mrc_points *b = mrc_points_window(&g->points, &b0, count, space->windows, &own);
    mrc_kernel_tile_gather(g->kernel, g->ctx, &g->points, rows, nrows, b, b0, count,
                           space->gathered, out, ldo);
    for (int64_t i = 0; i < nrows; i++) {
        for (int64_t k = 0; t->scale != 1 && k < count; k++)
            out[i * ldo + k] *= t->scale;
        if (rows[i] >= first && rows[i] < first + count)
            out[i * ldo + rows[i] - first] = g->raw_diag[rows[i]];
        if (g->single)
            for (int64_t k = 0; k < count; k++)
                out[i * ldo + k] = (float)out[i * ldo + k];
    }
}

/* Columns of rows of any rank, over the rows here. */
struct columns {
    const mrc_tiled *t;
    mrc_pick pick;
    const mrc_fetched *fetched;
    const mrc_shift *shift;
    double *out;
};

static void columns_tile(void *arg, int64_t task, int worker)
{
    const struct columns *w = arg;
    const mrc_tiled *t = w->t;
    const mrc_gram *g = t->gram;
    const double *column = w->shift->column;
    int64_t n = g->n, c = task * MRC_TILE, cols = mrc_min64(MRC_TILE, n - c), b0 = c;
    mrc_points own;
    const mrc_points *b = mrc_points_window(&g->points, &b0, cols, t->space[worker]->windows, &own);
    for (int64_t first = 0; first < w->pick.count; first += MRC_GATHER)
        mrc_kernel_tile(g->kernel, g->ctx, &w->fetched->points, first,
                        mrc_min64(MRC_GATHER, w->pick.count - first), b, b0, cols,
                        w->out + first * n + c, n);
    for (int64_t i = 0; i < w->pick.count; i++) {
        double *values = w->out + i * n + c;
        int64_t at = w->pick.rows[i] - g->span.first;
        for (int64_t k = 0; t->scale != 1 && k < cols; k++)
            values[k] *= t->scale;
        if (at >= c && at < c + cols)
            values[at - c] = g->raw_diag[at];
        for (int64_t k = 0; w->fetched->means && k < cols; k++)
            values[k] += w->shift->base - w->fetched->means[i] - (column ? column[c + k] : 0);
    }
}

static mercer_status stream_columns(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                    mercer_error *err)
{
    const mrc_tiled *t = self;
    mrc_fetched fetched = {0};
    struct columns w = {.t = t, .pick = j, .fetched = &fetched, .shift = shift, .out = out};
    mercer_status rc = MERCER_OK;
    if (!t->gram->span.spread)
        return mrc_tiled_columns(self, j, shift, out, err);
    MRC_TRY(mrc_fetch(t->gram, j, shift, &fetched, err));
    MRC_TRY(mrc_parfor_checked(t->gram->ctx, t->tiles, columns_tile, &w, err));
out:
    mrc_fetched_destroy(&fetched);
    return rc;
}

static mercer_status stream_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                                 mercer_error *err)
{
    static const mrc_tile_source source = {
        .tile = stream_tile, .block = stream_block, .gathers = true};
    (void)plan;
    return mrc_tiled_new(g, &source, sizeof(mrc_tiled), self, err);
}

const mrc_store mrc_store_stream = {
    .name = "stream",
    .caps = MRC_STORE_SPREADS_COLUMNS,
    .init = stream_init,
    .apply = mrc_tiled_apply,
    .columns = stream_columns,
    .row_norms2 = mrc_tiled_row_norms2,
    .scale = mrc_tiled_scale,
    .destroy = mrc_tiled_destroy,
};
