/* SPDX-License-Identifier: BSD-3-Clause */
/* The precomputed store: tiles of the caller's matrix. It must be symmetric up to rounding; its
 * lower triangle is used. */
#include "gram/tiled.h"

#include <math.h>

static double largest_entry(const mercer_rows *rows)
{
    double largest = 0;
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t j = 0; j < rows->d; j++)
            largest = fmax(largest, fabs(mrc_rows_at(rows, i, j)));
    return largest;
}

mercer_status mrc_precomputed_read(mrc_gram *g, mercer_error *err)
{
    /* Relative to the largest entry: sums in another order differ by far less. */
    static const double ASYMMETRY = 1e-8;
    const mercer_rows *rows = g->rows;
    if (rows->csr.start)
        return mrc_fail(
            err, MERCER_ERR_DATA,
            "kernel precomputed: the matrix is sparse; a kernel matrix must be given dense");
    if (rows->n != rows->d)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "kernel precomputed: the matrix is %lld x %lld; a fit needs a square one "
                        "(rows in training order)",
                        (long long)rows->n, (long long)rows->d);
    g->kmax = largest_entry(rows); /* only a semidefinite matrix has it on the diagonal */
    for (int64_t i = 0; i < g->n; i++) {
        for (int64_t j = 0; j < i; j++) {
            double a = mrc_rows_at(rows, i, j), b = mrc_rows_at(rows, j, i);
            if (fabs(a - b) > ASYMMETRY * g->kmax)
                return mrc_fail_at(
                    err, MERCER_ERR_DATA, MRC_AT(.row = i + 1, .column_number = j + 1),
                    "kernel precomputed: the matrix is not symmetric: row %lld column "
                    "%lld is %g, row %lld column %lld is %g",
                    (long long)(i + 1), (long long)(j + 1), a, (long long)(j + 1),
                    (long long)(i + 1), b);
        }
        g->raw_diag[i] = mrc_rows_at(rows, i, i);
    }
    return MERCER_OK;
}

/* Entry (a, b) by the lower triangle. */
static double entry(const mrc_tiled *t, int64_t a, int64_t b)
{
    return t->scale * mrc_rows_at(t->gram->rows, a > b ? a : b, a > b ? b : a);
}

static const double *given_tile(const mrc_tiled *t, int64_t i, int64_t j, int worker,
                                int64_t *stride)
{
    const mercer_rows *rows = t->gram->rows;
    if (i != j && rows->x && t->scale == 1) {
        *stride = rows->ld;
        return rows->x + i * MRC_TILE * rows->ld + j * MRC_TILE;
    }
    double *tile = t->space[worker]->tile;
    *stride = MRC_TILE;
    for (int64_t r = 0; r < mrc_tile_rows(t, i); r++)
        for (int64_t c = 0; c < mrc_tile_rows(t, j); c++)
            tile[r * MRC_TILE + c] = entry(t, i * MRC_TILE + r, j * MRC_TILE + c);
    return tile;
}

static void given_block(const mrc_tiled *t, const int64_t *rows, int64_t nrows, int64_t first,
                        int64_t count, int worker, double *out, int64_t ldo)
{
    (void)worker;
    for (int64_t i = 0; i < nrows; i++)
        for (int64_t k = 0; k < count; k++)
            out[i * ldo + k] = entry(t, rows[i], first + k);
}

static mercer_status precomputed_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                                      mercer_error *err)
{
    static const mrc_tile_source source = {.tile = given_tile, .block = given_block};
    (void)plan;
    return mrc_tiled_new(g, &source, sizeof(mrc_tiled), self, err);
}

const mrc_store mrc_store_precomputed = {
    .name = "precomputed",
    .caps = MRC_STORE_NO_NEW_ROWS,
    .init = precomputed_init,
    .apply = mrc_tiled_apply,
    .columns = mrc_tiled_columns,
    .row_norms2 = mrc_tiled_row_norms2,
    .scale = mrc_tiled_scale,
    .destroy = mrc_tiled_destroy,
};
