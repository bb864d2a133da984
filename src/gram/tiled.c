/* SPDX-License-Identifier: BSD-3-Clause */
/* The Gram operator as one triangle of square tiles, which a store keeps (dense), computes again at
 * every pass (stream), or takes from the caller's matrix (precomputed).
 *
 * A symmetric product uses each off-diagonal tile twice, for rows I and for rows J. To let tiles
 * run in parallel and still add up in a fixed order, the pairs (I, J) are played like a round-robin
 * tournament: within a round every row block occurs once, so matches never share an output, and
 * each block goes through the rounds in order. The result is the same for any number of threads.
 *
 * Cost of a pass: n^2/2 kernel values computed (stream) or read (dense), 2 n^2 l flops. */
#include "gram/tiled.h"

#include "base/order.h"
#include "kernel/single.h"
#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static int64_t gathered_size(const mrc_gram *g)
{
    return MRC_GATHER * mrc_points_gather_size(&g->points);
}

/* Whether tiles are made of products with rows that stay packed while a column of tiles is made.
 * Very wide rows would take more room than tiles do; but where rows have windows, one is packed
 * instead. */
static bool makes_products(const mrc_gram *g)
{
    enum { WIDE = 1024 }; /* 2 MB */
    return !mrc_kernel_is_precomputed(g->kernel) &&
           mrc_kernel_takes_products(g->kernel, &g->points) &&
           (g->points.packed || g->points.d <= WIDE);
}

enum { LINE = 8 }; /* doubles of a cache line, which vectors should not straddle */

static int64_t columns_size(const mrc_gram *g)
{
    return makes_products(g) ? MRC_TILE * g->points.d + LINE : 0;
}

/* One window is enough where the other rows are packed. */
static int64_t windows_size(const mrc_gram *g)
{
    return (makes_products(g) ? 1 : 2) * MRC_TILE * mrc_points_window_size(&g->points);
}

/* A store that gathers computes values of chosen rows, too, which are to be the same ones. */
static bool tries_single(const mrc_gram *g, bool gathers)
{
    return g->single && !gathers && makes_products(g) &&
           mrc_single_serves(g->kernel, &g->points, g->rows);
}

static size_t worker_bytes(const mrc_gram *g, bool gathers)
{
    int64_t gathered = gathers ? gathered_size(g) : 0;
    int64_t single = tries_single(g, gathers) ? mrc_single_size(&g->points, MRC_TILE) : 0;
    return sizeof(mrc_tile_space) +
           (size_t)(gathered + windows_size(g) + columns_size(g) + single) * sizeof(double);
}

int64_t mrc_tiled_scratch_bytes(const mrc_gram *g)
{
    size_t gathering = worker_bytes(g, true), others = worker_bytes(g, false);
    return g->threads * (int64_t)(gathering > others ? gathering : others); /* none is chosen yet */
}

/* The values by BLAS, or column by column. */
static void compute_plain(const mrc_tiled *t, int64_t i, int64_t j, int worker, double *values)
{
    const mrc_gram *g = t->gram;
    const mrc_tile_space *space = t->space[worker];
    double *second = space->windows + MRC_TILE * mrc_points_window_size(&g->points);
    int64_t rows = mrc_tile_rows(t, i), cols = mrc_tile_rows(t, j);
    int64_t a0 = i * MRC_TILE, b0 = j * MRC_TILE;
    mrc_points a_own, b_own;
    const mrc_points *a = mrc_points_window(&g->points, &a0, rows, space->windows, &a_own);
    const mrc_points *b = mrc_points_window(&g->points, &b0, cols, second, &b_own);
    mrc_kernel_tile(g->kernel, g->ctx, a, a0, rows, b, b0, cols, values, MRC_TILE);
}

/* The values from products. BLAS would pack the rows of both sides again for every tile, and where
 * it does not know the processor it is slower by a factor of four. */
static void compute_products(const mrc_tiled *t, int64_t i, int64_t j, int worker, double *values)
{
    const mrc_gram *g = t->gram;
    const double *norms = g->points.norm2;
    mrc_tile_space *space = t->space[worker];
    int64_t rows = mrc_tile_rows(t, i), cols = mrc_tile_rows(t, j), d = g->points.d;
    mrc_points own;
    if (space->column != j) {
        int64_t b0 = j * MRC_TILE;
        const mrc_points *b = mrc_points_window(&g->points, &b0, cols, space->windows, &own);
        mrc_pack_rows(b->x + b0 * b->ld, b->ld, cols, d, space->columns);
        space->column = j;
    }
    int64_t a0 = i * MRC_TILE;
    const mrc_points *points = mrc_points_window(&g->points, &a0, rows, space->windows, &own);
    const double *a = points->x + a0 * points->ld;
    mrc_panel_loops_for(g->ctx->simd)
        ->products(a, points->ld, rows, d, space->columns, (cols + MRC_PACK - 1) / MRC_PACK, values,
                   MRC_TILE);
    mrc_kernel_tile_of_products(g->kernel, g->ctx, a, points->ld,
                                norms ? norms + i * MRC_TILE : NULL, rows, space->columns,
                                norms ? norms + j * MRC_TILE : NULL, cols, d, values, MRC_TILE);
}

void mrc_tiled_compute(const mrc_tiled *t, int64_t i, int64_t j, int worker, double *values)
{
    const mrc_gram *g = t->gram;
    int64_t rows = mrc_tile_rows(t, i), cols = mrc_tile_rows(t, j);
    mrc_tile_space *space = t->space[worker];
    bool made = space->single &&
                mrc_single_tile(g->kernel, g->ctx, &g->points, i * MRC_TILE, rows, j * MRC_TILE,
                                cols, MRC_TILE, space->single, &space->first, values, MRC_TILE);
    if (!made && space->columns)
        compute_products(t, i, j, worker, values);
    else if (!made)
        compute_plain(t, i, j, worker, values);
    for (int64_t r = 0; t->scale != 1 && r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            values[r * MRC_TILE + c] *= t->scale;
    if (i != j)
        return;
    for (int64_t r = 0; r < rows; r++) {
        values[r * MRC_TILE + r] = g->raw_diag[i * MRC_TILE + r];
        for (int64_t c = 0; c < r; c++)
            values[c * MRC_TILE + r] = values[r * MRC_TILE + c];
    }
}

mercer_status mrc_tiled_new(const mrc_gram *g, const mrc_tile_source *source, size_t size,
                            void **self, mercer_error *err)
{
    mrc_tiled *t = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&t, 1, size, err));
    t->gram = g;
    t->source = source;
    t->tiles = (g->n + MRC_TILE - 1) / MRC_TILE;
    t->scale = 1;
    MRC_TRY(mrc_alloc(&t->space, g->threads, sizeof *t->space, err));
    for (int i = 0; i < g->threads; i++) {
        int64_t bytes = (int64_t)worker_bytes(g, source->gathers);
        MRC_TRY(mrc_alloc2(&t->space[i], bytes, 1, 1, err));
        mrc_tile_space *space = t->space[i];
        space->windows = space->gathered + (source->gathers ? gathered_size(g) : 0);
        space->column = space->first = -1;
        if (makes_products(g)) {
            double *behind = space->windows + windows_size(g);
            space->columns = behind + (LINE - (uintptr_t)behind / sizeof *behind % LINE) % LINE;
            if (tries_single(g, source->gathers))
                space->single = behind + columns_size(g);
        }
    }
    *self = t;
    t = NULL;
out:
    if (t)
        mrc_tiled_destroy(t);
    return rc;
}

void mrc_tiled_destroy(void *self)
{
    mrc_tiled *t = self;
    for (int i = 0; t->space && i < t->gram->threads; i++)
        mrc_free(t->space[i]);
    mrc_free(t->space);
    mrc_free(t);
}

void mrc_tiled_scale(void *self, double factor)
{
    mrc_tiled *t = self;
    t->scale *= factor;
}

/* ---- sweeps over all tiles ---- */

/* What a sweep does with tile (I, J), I >= J. It may compute at once, but must call await_turn()
 * before it touches the outputs of rows I and J. */
struct sweep;
typedef void (*tile_visit)(struct sweep *sweep, int64_t i, int64_t j, int64_t round, int worker);

/* One sweep over all tiles. Workers claim matches in the order of the tournament; a match waits
 * until both of its row blocks have been through all earlier rounds, which matters only when one
 * worker falls a whole round behind. So there is one parallel region a sweep and no barrier, and
 * still every output is summed in the order of the rounds. */
struct sweep {
    const mrc_tiled *t;
    int64_t players, matches; /* matches: off-diagonal ones of all rounds, then the diagonal */
    _Atomic int64_t next;
    atomic_int *rounds_done; /* per row block */
    tile_visit visit;
    void *arg;
};

static void await_turn(struct sweep *sweep, int64_t block, int64_t round)
{
    while (atomic_load_explicit(&sweep->rounds_done[block], memory_order_acquire) < round)
        sched_yield();
}

static void end_turn(struct sweep *sweep, int64_t block, int64_t round)
{
    atomic_store_explicit(&sweep->rounds_done[block], (int)round + 1, memory_order_release);
}

static void play_match(struct sweep *sweep, int64_t match, int worker)
{
    int64_t tiles = sweep->t->tiles, ring = sweep->players - 1, half = sweep->players / 2;
    int64_t round = match / half, seat = match % half, i, j;
    if (match >= ring * half) { /* after all rounds: the tiles on the diagonal */
        round = ring;
        i = j = match - ring * half;
    } else if (seat == 0) {
        i = ring;
        j = round;
    } else {
        i = (round + seat) % ring;
        j = (round + ring - seat) % ring;
    }
    if (i < j) {
        int64_t swap = i;
        i = j;
        j = swap;
    }
    if (i < tiles)
        sweep->visit(sweep, i, j, round, worker);
    else /* the bye of an odd number of tiles */
        await_turn(sweep, j, round);
    end_turn(sweep, j, round);
    if (i < tiles)
        end_turn(sweep, i, round);
}

static void sweep_worker(void *arg, int64_t task, int worker)
{
    struct sweep *sweep = arg;
    (void)task;
    while (mrc_check_cancel(sweep->t->gram->ctx, NULL) == MERCER_OK) {
        int64_t match = atomic_fetch_add(&sweep->next, 1);
        if (match >= sweep->matches)
            return;
        mrc_task_set(match); /* whichever worker plays it */
        play_match(sweep, match, worker);
    }
}

static mercer_status for_all_tiles(const mrc_tiled *t, tile_visit visit, void *arg,
                                   mercer_error *err)
{
    const mrc_gram *g = t->gram;
    int64_t players = t->tiles + (t->tiles & 1);
    struct sweep sweep = {.t = t,
                          .players = players,
                          .matches = (players - 1) * (players / 2) + t->tiles,
                          .visit = visit,
                          .arg = arg};
    mercer_status rc = mrc_alloc(&sweep.rounds_done, t->tiles, sizeof *sweep.rounds_done, err);
    if (rc != MERCER_OK)
        return rc;
    mrc_parfor(g->ctx, mrc_min64(g->threads, players / 2), sweep_worker, &sweep);
    mrc_free(sweep.rounds_done);
    return mrc_check_cancel(g->ctx, err);
}

struct product {
    const mrc_panel_loops *loops;
    const double *v;
    double *out;
    int64_t l;
};

static void multiply_tile(struct sweep *sweep, int64_t i, int64_t j, int64_t round, int worker)
{
    const mrc_tiled *t = sweep->t;
    const struct product *p = sweep->arg;
    int64_t stride, rows = mrc_tile_rows(t, i), cols = mrc_tile_rows(t, j), l = p->l;
    const float *single = t->source->single && l > 1 && i != j ? t->source->single(t, i, j) : NULL;
    const double *tile = single ? NULL : t->source->tile(t, i, j, worker, &stride);
    await_turn(sweep, i, round);
    await_turn(sweep, j, round);
    if (single)
        p->loops->both_single(single, MRC_TILE, rows, cols, p->v + i * MRC_TILE * l,
                              p->v + j * MRC_TILE * l, p->out + i * MRC_TILE * l,
                              p->out + j * MRC_TILE * l, l);
    else if (l == 1)
        p->loops->both_one(tile, stride, rows, cols, p->v + i * MRC_TILE, p->v + j * MRC_TILE,
                           p->out + i * MRC_TILE, i == j ? NULL : p->out + j * MRC_TILE);
    else if (i == j)
        p->loops->times(tile, stride, rows, cols, 1, p->v + j * MRC_TILE * l, l, 1,
                        p->out + i * MRC_TILE * l, l, l);
    else
        p->loops->both(tile, stride, rows, cols, p->v + i * MRC_TILE * l, p->v + j * MRC_TILE * l,
                       p->out + i * MRC_TILE * l, p->out + j * MRC_TILE * l, l);
}

/* Copy an n x l block into an n x to_l one, with zeroes behind or without the last columns. */
static void change_width(int64_t n, const double *from, int64_t l, double *to, int64_t to_l)
{
    int64_t common = mrc_min64(l, to_l);
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * to_l, from + i * l, (size_t)common * sizeof *to);
        memset(to + i * to_l + common, 0, (size_t)(to_l - common) * sizeof *to);
    }
}

static mercer_status apply_all(const mrc_tiled *t, const double *v, int64_t l, double *out,
                               mercer_error *err)
{
    const mrc_gram *g = t->gram;
    int64_t lanes = (l + MRC_PANEL_LANES - 1) / MRC_PANEL_LANES * MRC_PANEL_LANES;
    int64_t width = l == 1 ? 1 : lanes;
    struct product p = {.loops = mrc_panel_loops_for(g->ctx->simd), .v = v, .out = out, .l = width};
    double *wide = NULL, *wide_out = NULL;
    mercer_status rc = MERCER_OK;
    if (width != l) {
        MRC_TRY(mrc_alloc2_raw(&wide, g->n, width, sizeof *wide, err));
        MRC_TRY(mrc_alloc2_raw(&wide_out, g->n, width, sizeof *wide_out, err));
        change_width(g->n, v, l, wide, width);
        p.v = wide;
        p.out = wide_out;
    }
    memset(p.out, 0, (size_t)(g->n * width) * sizeof *p.out);
    MRC_TRY(for_all_tiles(t, multiply_tile, &p, err));
    if (width != l)
        change_width(g->n, wide_out, width, out, l);
out:
    mrc_free(wide);
    mrc_free(wide_out);
    return rc;
}

struct norms {
    const unsigned char *mask;
    const double *row_shift, *column_shift;
    double *out;
};

static void square_tile(struct sweep *sweep, int64_t i, int64_t j, int64_t round, int worker)
{
    const mrc_tiled *t = sweep->t;
    const struct norms *p = sweep->arg;
    int64_t stride, rows = mrc_tile_rows(t, i), cols = mrc_tile_rows(t, j);
    const double *tile = t->source->tile(t, i, j, worker, &stride);
    await_turn(sweep, i, round);
    await_turn(sweep, j, round);
    for (int64_t r = 0; r < rows; r++) {
        int64_t row = i * MRC_TILE + r;
        double sum = 0, as_row = p->row_shift[row];
        double as_column = p->column_shift ? p->column_shift[row] : 0;
        bool row_counts = !p->mask || p->mask[row];
        for (int64_t c = 0; c < cols; c++) {
            int64_t col = j * MRC_TILE + c;
            double value =
                tile[r * stride + c] + as_row + (p->column_shift ? p->column_shift[col] : 0);
            double mirrored = tile[r * stride + c] + p->row_shift[col] + as_column;
            if (!p->mask || p->mask[col])
                sum += value * value;
            if (i != j && row_counts)
                p->out[col] += mirrored * mirrored;
        }
        p->out[row] += sum;
    }
}

/* (K_it + (base - row_i)) - column_t, summed tile by tile. */
static mercer_status all_row_norms2(const mrc_tiled *t, const mrc_shift *shift, double *out,
                                    mercer_error *err)
{
    int64_t n = t->gram->n;
    struct norms p = {.mask = shift->mask, .out = out};
    double *sums = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&sums, 2, n, sizeof *sums, err));
    for (int64_t i = 0; i < n; i++)
        sums[i] = mrc_shift_row(shift, i);
    p.row_shift = sums;
    if (shift->column) {
        for (int64_t i = 0; i < n; i++)
            sums[n + i] = -shift->column[i];
        p.column_shift = sums + n;
    }
    memset(out, 0, (size_t)n * sizeof *out);
    MRC_TRY(for_all_tiles(t, square_tile, &p, err));
out:
    mrc_free(sums);
    return rc;
}

/* ---- chosen rows ---- */

/* Rows J in groups of MRC_GATHER, each group in column ranges of MRC_TILE. */
struct row_work {
    const mrc_tiled *t;
    mrc_pick pick;
    int64_t l;
    const double *v;
    const mrc_shift *shift;
    double *out;
};

static mercer_status for_row_groups(struct row_work *w, mercer_parfor_body body, mercer_error *err)
{
    mercer_ctx *ctx = w->t->gram->ctx;
    return mrc_parfor_checked(ctx, (w->pick.count + MRC_GATHER - 1) / MRC_GATHER, body, w, err);
}

static void apply_group(void *arg, int64_t task, int worker)
{
    struct row_work *w = arg;
    const mrc_tiled *t = w->t;
    int64_t n = t->gram->n, first = task * MRC_GATHER;
    int64_t rows = mrc_min64(MRC_GATHER, w->pick.count - first);
    double *block = t->space[worker]->tile, *out = w->out + first * w->l;
    memset(out, 0, (size_t)(rows * w->l) * sizeof *out);
    for (int64_t c = 0; c < n; c += MRC_TILE) {
        int64_t cols = mrc_min64(MRC_TILE, n - c);
        t->source->block(t, w->pick.rows + first, rows, c, cols, worker, block, MRC_TILE);
        mrc_gemm(false, false, rows, w->l, cols, 1, block, MRC_TILE, w->v + c * w->l, w->l, 1, out,
                 w->l);
    }
}

mercer_status mrc_tiled_apply(void *self, mrc_pick j, const double *v, int64_t l, double *out,
                              mercer_error *err)
{
    struct row_work w = {.t = self, .pick = j, .l = l, .v = v, .out = out};
    return j.rows ? for_row_groups(&w, apply_group, err) : apply_all(self, v, l, out, err);
}

static void norms_group(void *arg, int64_t task, int worker)
{
    struct row_work *w = arg;
    const mrc_tiled *t = w->t;
    const double *column = w->shift->column;
    const unsigned char *mask = w->shift->mask;
    int64_t n = t->gram->n, first = task * MRC_GATHER;
    int64_t rows = mrc_min64(MRC_GATHER, w->pick.count - first);
    double *block = t->space[worker]->tile;
    for (int64_t i = 0; i < rows; i++)
        w->out[first + i] = 0;
    for (int64_t c = 0; c < n; c += MRC_TILE) {
        int64_t cols = mrc_min64(MRC_TILE, n - c);
        t->source->block(t, w->pick.rows + first, rows, c, cols, worker, block, MRC_TILE);
        for (int64_t i = 0; i < rows; i++) {
            double shift = mrc_shift_row(w->shift, w->pick.rows[first + i]), sum = 0;
            for (int64_t k = 0; k < cols; k++) {
                double value = block[i * MRC_TILE + k] + shift - (column ? column[c + k] : 0);
                if (!mask || mask[c + k])
                    sum += value * value;
            }
            w->out[first + i] += sum;
        }
    }
}

mercer_status mrc_tiled_row_norms2(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                   mercer_error *err)
{
    struct row_work w = {.t = self, .pick = j, .shift = shift, .out = out};
    return j.rows ? for_row_groups(&w, norms_group, err) : all_row_norms2(self, shift, out, err);
}

static void columns_range(void *arg, int64_t task, int worker)
{
    struct row_work *w = arg;
    const mrc_tiled *t = w->t;
    const double *column = w->shift->column;
    int64_t n = t->gram->n, c = task * MRC_TILE, cols = mrc_min64(MRC_TILE, n - c);
    for (int64_t first = 0; first < w->pick.count; first += MRC_GATHER) {
        int64_t rows = mrc_min64(MRC_GATHER, w->pick.count - first), group[MRC_GATHER];
        for (int64_t i = 0; i < rows; i++)
            group[i] = mrc_pick_row(w->pick, first + i);
        t->source->block(t, group, rows, c, cols, worker, w->out + first * n + c, n);
        for (int64_t i = 0; w->shift->row && i < rows; i++) {
            double shift = mrc_shift_row(w->shift, group[i]);
            double *row = w->out + (first + i) * n + c;
            for (int64_t k = 0; k < cols; k++)
                row[k] += shift - (column ? column[c + k] : 0);
        }
    }
}

mercer_status mrc_tiled_columns(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                mercer_error *err)
{
    struct row_work w = {.t = self, .pick = j, .shift = shift, .out = out};
    mercer_ctx *ctx = w.t->gram->ctx;
    return mrc_parfor_checked(ctx, w.t->tiles, columns_range, &w, err);
}
