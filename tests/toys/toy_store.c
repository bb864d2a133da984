/* SPDX-License-Identifier: BSD-3-Clause */
/* A toy store, which shows that a store is one file and one line: the whole matrix, n x n, of which
 * each rank holds every size-th column. On one rank it is a plain matrix. */
#include "gram/store.h"

struct toy {
    const mrc_gram *gram;
    double *values; /* n x n, zero in the columns of other ranks */
};

static bool is_own(const struct toy *s, int64_t column)
{
    const mercer_comm *comm = &s->gram->ctx->comm.table;
    return column % comm->size == comm->rank;
}

/* Lower triangle by tiles, mirrored. */
static void fill(struct toy *s, double *storage)
{
    const mrc_gram *g = s->gram;
    int64_t n = g->n, half = MRC_TILE * mrc_points_window_size(&g->points);
    for (int64_t i = 0; i < n; i += MRC_TILE)
        for (int64_t j = 0; j <= i; j += MRC_TILE) {
            int64_t rows = n - i < MRC_TILE ? n - i : MRC_TILE, a0 = i;
            int64_t cols = n - j < MRC_TILE ? n - j : MRC_TILE, b0 = j;
            mrc_points a_own, b_own;
            const mrc_points *a = mrc_points_window(&g->points, &a0, rows, storage, &a_own);
            const mrc_points *b = mrc_points_window(&g->points, &b0, cols, storage + half, &b_own);
            mrc_kernel_tile(g->kernel, g->ctx, a, a0, rows, b, b0, cols, s->values + i * n + j, n);
        }
    for (int64_t i = 0; i < n; i++) {
        s->values[i * n + i] = g->raw_diag[i];
        for (int64_t t = 0; t < i; t++)
            s->values[t * n + i] = s->values[i * n + t];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < n; t++)
            if (!is_own(s, t))
                s->values[i * n + t] = 0;
}

static void toy_destroy(void *self)
{
    struct toy *s = self;
    mrc_free(s->values);
    mrc_free(s);
}

static mercer_status toy_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                              mercer_error *err)
{
    struct toy *s = NULL;
    double *storage = NULL;
    mercer_status rc = MERCER_OK;
    (void)plan;
    MRC_TRY(mrc_alloc(&s, 1, sizeof *s, err));
    s->gram = g;
    MRC_TRY(mrc_alloc2(&s->values, g->n, g->n, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&storage, 2 * MRC_TILE, mrc_points_window_size(&g->points), sizeof(double),
                       err));
    fill(s, storage);
    *self = s;
    s = NULL;
out:
    mrc_free(storage);
    if (s)
        toy_destroy(s);
    return rc;
}

static mercer_status toy_apply(void *self, mrc_pick j, const double *v, int64_t l, double *out,
                               mercer_error *err)
{
    const struct toy *s = self;
    int64_t n = s->gram->n;
    (void)err;
    for (int64_t i = 0; i < j.count; i++)
        for (int64_t c = 0; c < l; c++) {
            double sum = 0;
            for (int64_t t = 0; t < n; t++)
                sum += s->values[mrc_pick_row(j, i) * n + t] * v[t * l + c];
            out[i * l + c] = sum;
        }
    return MERCER_OK;
}

/* Entry (i, t) of the shifted matrix, t a column of this rank. */
static double shifted(const struct toy *s, const mrc_shift *shift, int64_t i, int64_t t)
{
    return s->values[i * s->gram->n + t] + mrc_shift_row(shift, i) -
           (shift->column ? shift->column[t] : 0);
}

static mercer_status toy_columns(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                 mercer_error *err)
{
    const struct toy *s = self;
    int64_t n = s->gram->n;
    (void)err;
    for (int64_t i = 0; i < j.count; i++)
        for (int64_t t = 0; t < n; t++)
            out[i * n + t] = is_own(s, t) ? shifted(s, shift, mrc_pick_row(j, i), t) : 0;
    return MERCER_OK;
}

static mercer_status toy_row_norms2(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                    mercer_error *err)
{
    const struct toy *s = self;
    (void)err;
    for (int64_t i = 0; i < j.count; i++) {
        out[i] = 0;
        for (int64_t t = 0; t < s->gram->n; t++) {
            double value = shifted(s, shift, mrc_pick_row(j, i), t);
            if (is_own(s, t) && (!shift->mask || shift->mask[t]))
                out[i] += value * value;
        }
    }
    return MERCER_OK;
}

static void toy_scale(void *self, double factor)
{
    struct toy *s = self;
    for (int64_t i = 0; i < s->gram->n * s->gram->n; i++)
        s->values[i] *= factor;
}

static int64_t toy_bytes(const void *self, bool held)
{
    const struct toy *s = self;
    (void)held;
    return 8 * s->gram->n * s->gram->n;
}

const mrc_store mrc_store_toy = {
    .name = "toy",
    .caps = MRC_STORE_PARTIAL,
    .init = toy_init,
    .apply = toy_apply,
    .columns = toy_columns,
    .row_norms2 = toy_row_norms2,
    .scale = toy_scale,
    .bytes = toy_bytes,
    .destroy = toy_destroy,
};
