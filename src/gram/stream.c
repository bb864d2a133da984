/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream store: it keeps nothing; tiles are computed again at every pass. In single precision
 * they are rounded like the stored form. */
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
    .init = stream_init,
    .apply = mrc_tiled_apply,
    .columns = mrc_tiled_columns,
    .row_norms2 = mrc_tiled_row_norms2,
    .scale = mrc_tiled_scale,
    .destroy = mrc_tiled_destroy,
};
