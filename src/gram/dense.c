/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense store: one triangle of tiles in double or single precision, (I, J) with I >= J at index
 * I (I + 1) / 2 + J. About 4 n^2 bytes, half of that in single precision. */
#include "gram/tiled.h"

#include <math.h>
#include <string.h>

struct dense {
    mrc_tiled tiled;
    double *values; /* or */
    float *singles;
};

/* Tiles have rows of MRC_TILE values, and those of the last row of tiles only the rows there are.
 */
static size_t tile_offset(const mrc_tiled *t, int64_t i, int64_t j)
{
    return (size_t)(i * (i + 1) / 2) * MRC_TILE * MRC_TILE +
           (size_t)(j * mrc_tile_rows(t, i)) * MRC_TILE;
}

static double value_count(int64_t n)
{
    int64_t whole = n / MRC_TILE, left = n % MRC_TILE;
    double full = (double)whole;
    return full * (full + 1) / 2 * MRC_TILE * MRC_TILE + (full + 1) * (double)left * MRC_TILE;
}

int64_t mrc_dense_bytes(int64_t n, bool single)
{
    double bytes = value_count(n) * (single ? 4 : 8);
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static void fill_tile(void *arg, int64_t task, int worker)
{
    struct dense *d = arg;
    const mrc_tiled *t = &d->tiled;
    if (mrc_check_cancel(t->gram->ctx, NULL) != MERCER_OK)
        return; /* the caller sees it, too */
    /* Column by column of tiles, which share packed rows. Counted from the last one, task I (I + 1)
     * / 2 + J is tile (n - J, n - I), n being the last row and column. */
    int64_t last = t->tiles - 1, left = (last + 1) * (last + 2) / 2 - 1 - task;
    int64_t above = (int64_t)((sqrt(8.0 * (double)left + 1) - 1) / 2);
    while (above * (above + 1) / 2 > left)
        above--;
    while ((above + 1) * (above + 2) / 2 <= left)
        above++;
    const int64_t j = last - above, i = last - (left - above * (above + 1) / 2);
    int64_t size = mrc_tile_rows(t, i) * MRC_TILE;
    if (d->values) {
        double *tile = d->values + tile_offset(t, i, j);
        if (mrc_tile_rows(t, j) < MRC_TILE)
            memset(tile, 0, (size_t)size * sizeof *tile);
        mrc_tiled_compute(t, i, j, worker, tile);
    } else {
        mrc_tile_space *space = t->space[worker];
        float *to = d->singles + tile_offset(t, i, j);
        memset(space->tile, 0, sizeof space->tile);
        mrc_tiled_compute(t, i, j, worker, space->tile);
        for (int64_t k = 0; k < size; k++)
            to[k] = (float)space->tile[k];
    }
}

static const double *dense_tile(const mrc_tiled *t, int64_t i, int64_t j, int worker,
                                int64_t *stride)
{
    const struct dense *d = (const struct dense *)t;
    *stride = MRC_TILE;
    if (d->values)
        return d->values + tile_offset(t, i, j);
    double *tile = t->space[worker]->tile;
    const float *from = d->singles + tile_offset(t, i, j);
    for (int64_t k = 0; k < mrc_tile_rows(t, i) * MRC_TILE; k++)
        tile[k] = from[k];
    return tile;
}

static const float *dense_single(const mrc_tiled *t, int64_t i, int64_t j)
{
    const struct dense *d = (const struct dense *)t;
    return d->singles ? d->singles + tile_offset(t, i, j) : NULL;
}

/* K[row, first .. first + count), within one tile. Only the tiles of one triangle are there: a row
 * of one, or a column of its mirror image. */
static void copy_stored(const struct dense *d, int64_t row, int64_t first, int64_t count,
                        double *out)
{
    const mrc_tiled *t = &d->tiled;
    int64_t i = row / MRC_TILE, j = first / MRC_TILE, r = row % MRC_TILE, c = first % MRC_TILE;
    size_t at = i >= j ? tile_offset(t, i, j) + (size_t)(r * MRC_TILE + c)
                       : tile_offset(t, j, i) + (size_t)(c * MRC_TILE + r);
    int64_t step = i >= j ? 1 : MRC_TILE;
    for (int64_t k = 0; k < count; k++, at += (size_t)step)
        out[k] = d->values ? d->values[at] : (double)d->singles[at];
}

static void dense_block(const mrc_tiled *t, const int64_t *rows, int64_t nrows, int64_t first,
                        int64_t count, int worker, double *out, int64_t ldo)
{
    (void)worker;
    for (int64_t i = 0; i < nrows; i++)
        for (int64_t k = 0; k < count;) {
            int64_t b = first + k, left = MRC_TILE - b % MRC_TILE;
            int64_t run = left < count - k ? left : count - k;
            copy_stored((const struct dense *)t, rows[i], b, run, out + i * ldo + k);
            k += run;
        }
}

static void dense_destroy(void *self)
{
    struct dense *d = self;
    mrc_free(d->values);
    mrc_free(d->singles);
    mrc_tiled_destroy(self);
}

static mercer_status dense_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                                mercer_error *err)
{
    static const mrc_tile_source source = {
        .tile = dense_tile, .single = dense_single, .block = dense_block};
    int64_t rows = (int64_t)(value_count(g->n) / MRC_TILE);
    void *made = NULL;
    struct dense *d = NULL;
    mercer_status rc = MERCER_OK;
    (void)plan;
    MRC_TRY(mrc_tiled_new(g, &source, sizeof *d, &made, err));
    d = made;
    if (g->single)
        MRC_TRY(mrc_alloc2_raw(&d->singles, rows, MRC_TILE, sizeof(float), err));
    else
        MRC_TRY(mrc_alloc2_raw(&d->values, rows, MRC_TILE, sizeof(double), err));
    mrc_progress(g->ctx, "kernel matrix", -1);
    MRC_TRY(
        mrc_parfor_checked(g->ctx, d->tiled.tiles * (d->tiled.tiles + 1) / 2, fill_tile, d, err));
    *self = d;
    d = NULL;
out:
    if (d)
        dense_destroy(d);
    return rc;
}

static void dense_scale(void *self, double factor)
{
    struct dense *d = self;
    int64_t values = (int64_t)value_count(d->tiled.gram->n);
    for (int64_t i = 0; i < values; i++)
        d->values[i] *= factor;
}

static int64_t dense_bytes(const void *self, bool held)
{
    const struct dense *d = self;
    (void)held;
    return mrc_dense_bytes(d->tiled.gram->n, d->tiled.gram->single);
}

const mrc_store mrc_store_dense = {
    .name = "dense",
    .caps = MRC_STORE_COMPLETE,
    .init = dense_init,
    .apply = mrc_tiled_apply,
    .columns = mrc_tiled_columns,
    .row_norms2 = mrc_tiled_row_norms2,
    .scale = dense_scale,
    .bytes = dense_bytes,
    .destroy = dense_destroy,
};
