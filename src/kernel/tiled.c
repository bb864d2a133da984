/* The Gram operator as one triangle of square tiles: stored in double or single (dense), computed
 * again at every pass (stream), or taken from the caller's matrix (precomputed).
 *
 * A symmetric product uses each off-diagonal tile twice, for rows I and for rows J. To let tiles
 * run in parallel and still add up in a fixed order, the pairs (I, J) are played like a round-robin
 * tournament: within a round every row block occurs once, so matches never share an output, and
 * each block goes through the rounds in order. The result is the same for any number of threads.
 *
 * Cost of a pass: n^2/2 kernel values computed (stream) or read (dense), 2 n^2 l flops. */
#include "kernel/gram_parts.h"

#include "linalg/linalg.h"
#include "linalg/narrow.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

struct worker_space {
    double tile[MRC_TILE * MRC_TILE];
    double *windows;   /* two of MRC_TILE packed points each, behind gathered */
    double gathered[]; /* MRC_GATHER x mrc_points_gather_size() */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t tile_rows(const mrc_gram *g, int64_t index)
{
    return least(MRC_TILE, g->n - index * MRC_TILE);
}

/* Tiles have rows of MRC_TILE values, and those of the last row of tiles only the rows there are.
 */
static size_t tile_offset(const mrc_gram *g, int64_t i, int64_t j)
{
    return (size_t)(i * (i + 1) / 2) * MRC_TILE * MRC_TILE +
           (size_t)(j * tile_rows(g, i)) * MRC_TILE;
}

static double dense_values(int64_t n)
{
    int64_t whole = n / MRC_TILE, left = n % MRC_TILE;
    double full = (double)whole;
    return full * (full + 1) / 2 * MRC_TILE * MRC_TILE + (full + 1) * (double)left * MRC_TILE;
}

int64_t mrc_tiled_dense_bytes(int64_t n, bool single)
{
    double bytes = dense_values(n) * (single ? 4 : 8);
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static int64_t gathered_size(const mrc_gram *g)
{
    return MRC_GATHER * mrc_points_gather_size(&g->points);
}

static size_t worker_bytes(const mrc_gram *g)
{
    int64_t windows = 2 * MRC_TILE * mrc_points_window_size(&g->points);
    return sizeof(struct worker_space) + (size_t)(gathered_size(g) + windows) * sizeof(double);
}

int64_t mrc_tiled_scratch_bytes(const mrc_gram *g)
{
    return g->threads * (int64_t)worker_bytes(g);
}

/* Compute tile (I, J), I >= J, into values (stride MRC_TILE). The diagonal is exact and a tile on
 * the diagonal is symmetric to the last bit. */
static void compute_tile(const mrc_gram *g, int64_t i, int64_t j, int worker, double *values)
{
    const struct worker_space *space = g->scratch[worker];
    double *second = space->windows + MRC_TILE * mrc_points_window_size(&g->points);
    int64_t rows = tile_rows(g, i), cols = tile_rows(g, j), a0 = i * MRC_TILE, b0 = j * MRC_TILE;
    mrc_points a_own, b_own;
    const mrc_points *a = mrc_points_window(&g->points, &a0, rows, space->windows, &a_own);
    const mrc_points *b = mrc_points_window(&g->points, &b0, cols, second, &b_own);
    mrc_kernel_tile(g->kernel, g->ctx->simd, a, a0, rows, b, b0, cols, values, MRC_TILE);
    for (int64_t r = 0; g->scale != 1 && r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            values[r * MRC_TILE + c] *= g->scale;
    if (i != j)
        return;
    for (int64_t r = 0; r < rows; r++) {
        values[r * MRC_TILE + r] = g->raw_diag[i * MRC_TILE + r];
        for (int64_t c = 0; c < r; c++)
            values[c * MRC_TILE + r] = values[r * MRC_TILE + c];
    }
}

/* Tile (I, J) as doubles; *stride is its row stride. */
static const double *tile_of(const mrc_gram *g, int64_t i, int64_t j, int worker, int64_t *stride)
{
    *stride = MRC_TILE;
    if (g->store == MRC_STORE_PRECOMPUTED) {
        if (i != j && g->rows->x && g->scale == 1) {
            *stride = g->rows->ld;
            return g->rows->x + i * MRC_TILE * g->rows->ld + j * MRC_TILE;
        }
        struct worker_space *own = g->scratch[worker];
        for (int64_t r = 0; r < tile_rows(g, i); r++)
            for (int64_t c = 0; c < tile_rows(g, j); c++) { /* the lower triangle, mirrored */
                int64_t row = i * MRC_TILE + r, column = j * MRC_TILE + c;
                own->tile[r * MRC_TILE + c] =
                    g->scale *
                    mrc_rows_at(g->rows, row > column ? row : column, row > column ? column : row);
            }
        return own->tile;
    }
    if (g->tile_values)
        return g->tile_values + tile_offset(g, i, j);
    struct worker_space *space = g->scratch[worker];
    if (g->tile_singles) {
        const float *from = g->tile_singles + tile_offset(g, i, j);
        for (int64_t k = 0; k < tile_rows(g, i) * MRC_TILE; k++)
            space->tile[k] = from[k];
    } else {
        compute_tile(g, i, j, worker, space->tile);
        if (g->single) /* a single-precision stream rounds like the stored form */
            for (int64_t r = 0; r < tile_rows(g, i); r++)
                for (int64_t c = 0; c < tile_rows(g, j); c++)
                    space->tile[r * MRC_TILE + c] = (float)space->tile[r * MRC_TILE + c];
    }
    return space->tile;
}

static void fill_dense_tile(void *arg, int64_t task, int worker)
{
    mrc_gram *g = arg;
    if (mrc_check_cancel(g->ctx, NULL) != MERCER_OK)
        return; /* the caller sees it, too */
    /* task = I (I + 1) / 2 + J */
    int64_t i = (int64_t)((sqrt(8.0 * (double)task + 1) - 1) / 2);
    while (i * (i + 1) / 2 > task)
        i--;
    while ((i + 1) * (i + 2) / 2 <= task)
        i++;
    int64_t j = task - i * (i + 1) / 2, size = tile_rows(g, i) * MRC_TILE;
    if (g->tile_values) {
        double *tile = g->tile_values + tile_offset(g, i, j);
        if (tile_rows(g, j) < MRC_TILE)
            memset(tile, 0, (size_t)size * sizeof *tile);
        compute_tile(g, i, j, worker, tile);
    } else {
        struct worker_space *space = g->scratch[worker];
        float *to = g->tile_singles + tile_offset(g, i, j);
        memset(space->tile, 0, sizeof space->tile);
        compute_tile(g, i, j, worker, space->tile);
        for (int64_t k = 0; k < size; k++)
            to[k] = (float)space->tile[k];
    }
}

mercer_status mrc_tiled_init(mrc_gram *g, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    g->tiles = (g->n + MRC_TILE - 1) / MRC_TILE;
    MRC_TRY(mrc_alloc(&g->scratch, g->threads, sizeof *g->scratch, err));
    for (int i = 0; i < g->threads; i++) {
        MRC_TRY(mrc_alloc2(&g->scratch[i], (int64_t)worker_bytes(g), 1, 1, err));
        struct worker_space *space = g->scratch[i];
        space->windows = space->gathered + gathered_size(g);
    }
    if (g->store != MRC_STORE_DENSE)
        goto out;
    int64_t rows = (int64_t)(dense_values(g->n) / MRC_TILE);
    if (g->single)
        MRC_TRY(mrc_alloc2_raw(&g->tile_singles, rows, MRC_TILE, sizeof(float), err));
    else
        MRC_TRY(mrc_alloc2_raw(&g->tile_values, rows, MRC_TILE, sizeof(double), err));
    mrc_progress(g->ctx, "kernel matrix", -1);
    mrc_parfor(g->ctx, g->tiles * (g->tiles + 1) / 2, fill_dense_tile, g);
    MRC_TRY(mrc_check_cancel(g->ctx, err));
out:
    return rc;
}

void mrc_tiled_scale(mrc_gram *g, double factor)
{
    int64_t values = (int64_t)dense_values(g->n);
    for (int64_t i = 0; i < values; i++)
        g->tile_values[i] *= factor;
}

/* What a sweep does with tile (I, J), I >= J. It may compute at once, but must call await_turn()
 * before it touches the outputs of rows I and J. */
struct sweep;
typedef void (*tile_visit)(struct sweep *sweep, int64_t i, int64_t j, int64_t round, int worker);

/* One sweep over all tiles. Workers claim matches in the order of the tournament; a match waits
 * until both of its row blocks have been through all earlier rounds, which matters only when one
 * worker falls a whole round behind. So there is one parallel region a sweep and no barrier, and
 * still every output is summed in the order of the rounds. */
struct sweep {
    const mrc_gram *g;
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
    int64_t tiles = sweep->g->tiles, ring = sweep->players - 1, half = sweep->players / 2;
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
    while (mrc_check_cancel(sweep->g->ctx, NULL) == MERCER_OK) {
        int64_t match = atomic_fetch_add(&sweep->next, 1);
        if (match >= sweep->matches)
            return;
        play_match(sweep, match, worker);
    }
}

static mercer_status for_all_tiles(const mrc_gram *g, tile_visit visit, void *arg,
                                   mercer_error *err)
{
    int64_t players = g->tiles + (g->tiles & 1);
    struct sweep sweep = {.g = g,
                          .players = players,
                          .matches = (players - 1) * (players / 2) + g->tiles,
                          .visit = visit,
                          .arg = arg};
    mercer_status rc = mrc_alloc(&sweep.rounds_done, g->tiles, sizeof *sweep.rounds_done, err);
    if (rc != MERCER_OK)
        return rc;
    mrc_parfor(g->ctx, least(g->threads, players / 2), sweep_worker, &sweep);
    mrc_free(sweep.rounds_done);
    return mrc_check_cancel(g->ctx, err);
}

struct product {
    const mrc_narrow *loops;
    const double *v;
    double *out;
    int64_t l;
};

static void multiply_tile(struct sweep *sweep, int64_t i, int64_t j, int64_t round, int worker)
{
    const mrc_gram *g = sweep->g;
    const struct product *p = sweep->arg;
    int64_t stride, rows = tile_rows(g, i), cols = tile_rows(g, j), l = p->l;
    const double *tile = tile_of(g, i, j, worker, &stride);
    await_turn(sweep, i, round);
    await_turn(sweep, j, round);
    if (l == 1)
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
    int64_t common = least(l, to_l);
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * to_l, from + i * l, (size_t)common * sizeof *to);
        memset(to + i * to_l + common, 0, (size_t)(to_l - common) * sizeof *to);
    }
}

mercer_status mrc_tiled_apply(mrc_gram *g, const double *v, int64_t l, double *out,
                              mercer_error *err)
{
    int64_t lanes = (l + MRC_NARROW_LANES - 1) / MRC_NARROW_LANES * MRC_NARROW_LANES;
    int64_t width = l == 1 ? 1 : lanes;
    struct product p = {.loops = mrc_narrow_for(g->ctx->simd), .v = v, .out = out, .l = width};
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
    MRC_TRY(for_all_tiles(g, multiply_tile, &p, err));
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
    const mrc_gram *g = sweep->g;
    const struct norms *p = sweep->arg;
    int64_t stride, rows = tile_rows(g, i), cols = tile_rows(g, j);
    const double *tile = tile_of(g, i, j, worker, &stride);
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

mercer_status mrc_tiled_row_norms2(mrc_gram *g, const unsigned char *mask, const double *row_shift,
                                   const double *column_shift, double *out, mercer_error *err)
{
    struct norms p = {
        .mask = mask, .row_shift = row_shift, .column_shift = column_shift, .out = out};
    memset(out, 0, (size_t)g->n * sizeof *out);
    return for_all_tiles(g, square_tile, &p, err);
}

/* K[row, first .. first + count) of a stored matrix, within one tile. Only the tiles of one
 * triangle are there: a row of one, or a column of its mirror image. */
static void copy_stored(const mrc_gram *g, int64_t row, int64_t first, int64_t count, double *out)
{
    int64_t i = row / MRC_TILE, j = first / MRC_TILE, r = row % MRC_TILE, c = first % MRC_TILE;
    size_t at = i >= j ? tile_offset(g, i, j) + (size_t)(r * MRC_TILE + c)
                       : tile_offset(g, j, i) + (size_t)(c * MRC_TILE + r);
    int64_t step = i >= j ? 1 : MRC_TILE;
    for (int64_t t = 0; t < count; t++, at += (size_t)step)
        out[t] = g->tile_values ? g->tile_values[at] : (double)g->tile_singles[at];
}

void mrc_tiled_block(const mrc_gram *g, const int64_t *rows, int64_t nrows, int64_t first,
                     int64_t count, int worker, double *out, int64_t ldo)
{
    if (g->store == MRC_STORE_PRECOMPUTED) {
        for (int64_t i = 0; i < nrows; i++)
            for (int64_t t = 0; t < count; t++) {
                int64_t a = rows[i], b = first + t;
                out[i * ldo + t] = g->scale * mrc_rows_at(g->rows, a >= b ? a : b, a >= b ? b : a);
            }
        return;
    }
    if (g->tile_values || g->tile_singles) {
        for (int64_t i = 0; i < nrows; i++)
            for (int64_t t = 0; t < count;) {
                int64_t b = first + t, left = MRC_TILE - b % MRC_TILE;
                int64_t run = left < count - t ? left : count - t;
                copy_stored(g, rows[i], b, run, out + i * ldo + t);
                t += run;
            }
        return;
    }
    struct worker_space *space = g->scratch[worker];
    int64_t b0 = first;
    mrc_points own;
    const mrc_points *b = mrc_points_window(&g->points, &b0, count, space->windows, &own);
    mrc_kernel_tile_gather(g->kernel, g->ctx->simd, &g->points, rows, nrows, b, b0, count,
                           space->gathered, out, ldo);
    for (int64_t i = 0; i < nrows; i++) {
        for (int64_t t = 0; g->scale != 1 && t < count; t++)
            out[i * ldo + t] *= g->scale;
        if (rows[i] >= first && rows[i] < first + count)
            out[i * ldo + rows[i] - first] = g->raw_diag[rows[i]];
        if (g->single)
            for (int64_t t = 0; t < count; t++)
                out[i * ldo + t] = (float)out[i * ldo + t];
    }
}
