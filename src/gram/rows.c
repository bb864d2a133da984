/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of dense rows whose kernel is linear and of which only products are wanted: K v =
 * X (X' v), two passes over the rows, and no matrix of n x n or d x d values.
 *
 * X' v is summed by parts of the rows, and these by pieces of the columns, which threads share; the
 * sums of parts are added in order, so the number of threads changes nothing. Both products go
 * through X in blocks of few rows and columns, so that what they are multiplied with stays in the
 * first cache: they run at the speed of memory. Cost of a product with l vectors: 4 n d l flops and
 * 2 n d numbers read; PARTS d l doubles beside the result. Lengths of all columns come from X'X
 * where that is the smaller matrix; all else is computed as the stream store does.
 *
 * Rows that are spread over ranks: a part that begins on one rank is handed on to the next, with
 * the sums that it has come to. So ranks wait for each other where there are more of them than
 * parts. */
#include "gram/rows.h"

#include "base/order.h"
#include "base/running.h"
#include "gram/tiled.h"
#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    LANES = MRC_PANEL_LANES,
    PARTS = 16,         /* of the rows at most: their sums take d l doubles each */
    PIECE = 2048,       /* columns of a task, so that it reads whole pages, */
    BLOCK_CELLS = 2048, /* and doubles of a vector block that stay in the first cache */
    GROUP = 8,          /* rows that a sum over rows goes through at a time */
};

struct rows_store {
    const mrc_gram *gram;
    double root;   /* of what values are multiplied with: a power of two */
    void *stream;  /* for all but products and lengths */
    double *inner; /* d x d: X'X once it was needed, */
    double *mean;  /* and d: the mean of the prepared rows; NULL: not centred */
};

static int64_t width_of(int64_t l)
{
    return l == 1 ? 1 : (l + LANES - 1) / LANES * LANES;
}

static int64_t parts_of(int64_t n)
{
    return mrc_min64(mrc_parts(n), PARTS);
}

/* The first row of a part, a multiple of MRC_STRIP. */
static int64_t part_start(int64_t n, int64_t part)
{
    int64_t strips = mrc_strips(n), parts = parts_of(n);
    return part < parts ? strips * part / parts * MRC_STRIP : n;
}

int64_t mrc_rows_store_doubles(int64_t n, int64_t d, int64_t l)
{
    return (parts_of(n) + 1) * d * width_of(l);
}

double mrc_rows_store_flops(int64_t n, int64_t d, int64_t l)
{
    /* A number comes from memory in the time of 20 flops of a product of matrices, and the loops
     * for few vectors run at two thirds of its rate; measured, and fixed like all such ratios: the
     * bits of a fit may not depend on how busy the machine is. */
    static const double READ = 20, SLOWER = 1.5;
    return (double)n * (double)d * (2 * READ + 4 * SLOWER * (double)width_of(l));
}

bool mrc_rows_store_squares_pay(int64_t n, int64_t d, const mrc_gram_request *request)
{
    double flops = (double)n * (double)d * (double)mrc_min64(n, d);
    return flops <= request->products * mrc_rows_store_flops(n, d, request->vectors);
}

static void rows_destroy(void *self)
{
    struct rows_store *s = self;
    if (s->stream)
        mrc_store_stream.destroy(s->stream);
    mrc_free(s->inner);
    mrc_free(s->mean);
    mrc_free(s);
}

static mercer_status rows_init(mrc_gram *g, const mrc_store_plan *plan, void **self,
                               mercer_error *err)
{
    struct rows_store *s = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&s, 1, sizeof *s, err));
    s->gram = g;
    s->root = 1;
    MRC_TRY(mrc_store_stream.init(g, plan, &s->stream, err));
    *self = s;
    s = NULL;
out:
    if (s)
        rows_destroy(s);
    return rc;
}

struct product {
    const mrc_gram *g;
    const mrc_panel_loops *loops;
    int64_t width, piece, pieces;
    const double *v; /* n x width */
    double *sums;    /* parts x d x width */
    int64_t turn;    /* the parts of which as many ranks before have rows are gone on with */
    double *inner;   /* d x width: X' v */
    double root;     /* what inner is multiplied with at the end */
    mrc_pick pick;
    double *out;      /* count x width */
    double **scratch; /* per worker: a window of MRC_STRIP packed points, or a row */
};

/* Columns that are worked on together. */
static int64_t block_of(const struct product *p)
{
    return mrc_min64(PIECE, BLOCK_CELLS / p->width > LANES ? BLOCK_CELLS / p->width : LANES);
}

/* sums += T' v for rows of X from x on, columns `begin` to `end`. */
static void add_rows(const struct product *p, const double *x, int64_t ld, int64_t rows,
                     const double *v, int64_t begin, int64_t end, double *sums)
{
    int64_t block = block_of(p);
    for (int64_t c = begin; c < end; c += block) {
        int64_t columns = mrc_min64(block, end - c);
        for (int64_t i = 0; p->width == 1 && i < rows; i += GROUP)
            p->loops->row_times(v + i, x + i * ld + c, ld, mrc_min64(GROUP, rows - i), columns, 1,
                                sums + c);
        if (p->width > 1)
            p->loops->transposed_times(x + c, ld, rows, columns, v, p->width, sums + c * p->width,
                                       p->width, p->width);
    }
}

/* The rows of a part that are here, counted from the first one here. */
static void part_here(const mrc_gram *g, int64_t part, int64_t *begin, int64_t *end)
{
    const int64_t first = g->span.first;
    *begin = mrc_min64(part_start(g->span.total, part) - first, g->n);
    *end = mrc_min64(part_start(g->span.total, part + 1) - first, g->n);
    *begin = *begin < 0 ? 0 : *begin;
    *end = *end < *begin ? *begin : *end;
}

/* Ranks from 0 up to `rank` that have rows of the part. */
static int64_t ranks_before(const mrc_gram *g, int64_t part, int64_t rank)
{
    const int64_t total = g->span.total, size = g->ctx->comm.table.size;
    int64_t count = 0;
    for (int64_t r = 0; r < rank; r++) {
        mrc_span span = mrc_span_of_rank(total, r, size);
        int64_t begin = part_start(total, part), end = part_start(total, part + 1);
        count += span.n > 0 && span.first < end && span.first + span.n > begin;
    }
    return count;
}

/* Whether it is the turn of this rank to add its rows of the part. */
static bool is_in_turn(const struct product *p, int64_t part)
{
    int64_t begin, end;
    part_here(p->g, part, &begin, &end);
    return begin < end &&
           (!p->g->span.spread || ranks_before(p->g, part, p->g->ctx->comm.table.rank) == p->turn);
}

/* X' v over the rows of one part, for one piece of the columns. */
static void sum_piece(void *arg, int64_t task, int worker)
{
    const struct product *p = arg;
    const mrc_gram *g = p->g;
    int64_t part = task / p->pieces, d = g->points.d, from, to;
    int64_t begin = task % p->pieces * p->piece, end = mrc_min64(d, begin + p->piece);
    double *sums = p->sums + part * d * p->width;
    if (p->turn == 0)
        memset(sums + begin * p->width, 0, (size_t)((end - begin) * p->width) * sizeof *sums);
    if (!is_in_turn(p, part))
        return;
    part_here(g, part, &from, &to);
    for (int64_t i = from; i < to; i += MRC_STRIP) {
        int64_t rows = mrc_min64(MRC_STRIP, to - i), first = i;
        mrc_points own;
        const mrc_points *x = mrc_points_window(&g->points, &first, rows, p->scratch[worker], &own);
        if (mrc_check_cancel(g->ctx, NULL) != MERCER_OK)
            return; /* the caller sees it, too */
        add_rows(p, x->x + first * x->ld, x->ld, rows, p->v + i * p->width, begin, end, sums);
    }
}

/* The sums of all parts, in their order. */
static void add_piece(void *arg, int64_t task, int worker)
{
    const struct product *p = arg;
    int64_t size = p->g->points.d * p->width, begin = task * p->piece * p->width;
    int64_t end = mrc_min64(size, begin + p->piece * p->width), parts = parts_of(p->g->span.total);
    (void)worker;
    memcpy(p->inner + begin, p->sums + begin, (size_t)(end - begin) * sizeof *p->inner);
    for (int64_t part = 1; part < parts; part++)
        for (int64_t i = begin; i < end; i++)
            p->inner[i] += p->sums[part * size + i];
    for (int64_t i = begin; p->root != 1 && i < end; i++)
        p->inner[i] *= p->root;
}

/* out (rows x width) = T inner for rows of X from x on. */
static void times_rows(const struct product *p, const double *x, int64_t ld, int64_t rows,
                       double *out)
{
    int64_t d = p->g->points.d, width = p->width, block = block_of(p);
    memset(out, 0, (size_t)(rows * width) * sizeof *out);
    if (width == 1) { /* without y_cols v_rows is not read */
        p->loops->both_one(x, ld, rows, d, out, p->inner, out, NULL);
        return;
    }
    for (int64_t c = 0; c < d; c += block)
        p->loops->times(x + c, ld, rows, mrc_min64(block, d - c), 1, p->inner + c * width, width, 1,
                        out, width, width);
}

enum { TIMES = 64 }; /* rows of a task */

static void times_strip(void *arg, int64_t task, int worker)
{
    const struct product *p = arg;
    const mrc_points *points = &p->g->points;
    int64_t first = task * TIMES, rows = mrc_min64(TIMES, p->pick.count - first);
    double *out = p->out + first * p->width, *scratch = p->scratch[worker];
    mrc_points own;
    if (p->pick.rows) {
        for (int64_t i = 0; i < rows; i++)
            times_rows(p, mrc_points_row(points, p->pick.rows[first + i], scratch), points->d, 1,
                       out + i * p->width);
        return;
    }
    const mrc_points *x = mrc_points_window(points, &first, rows, scratch, &own);
    times_rows(p, x->x + first * x->ld, x->ld, rows, out);
}

/* `size` doubles per worker. */
static mercer_status scratch_new(const mrc_gram *g, int64_t size, double ***out, mercer_error *err)
{
    mercer_status rc = mrc_alloc(out, g->threads, sizeof **out, err);
    for (int i = 0; rc == MERCER_OK && i < g->threads; i++)
        rc = mrc_alloc2_raw(&(*out)[i], size > 0 ? size : 1, 1, sizeof(double), err);
    return rc;
}

static void scratch_free(const mrc_gram *g, double **scratch)
{
    for (int i = 0; scratch && i < g->threads; i++)
        mrc_free(scratch[i]);
    mrc_free(scratch);
}

static void product_destroy(const struct product *p, double *wide)
{
    scratch_free(p->g, p->scratch);
    mrc_free(p->sums);
    mrc_free(p->inner);
    mrc_free(wide);
}

/* The sums of all parts over the rows of all ranks. */
static mercer_status sum_all_parts(struct product *p, mercer_error *err)
{
    const mrc_gram *g = p->g;
    const int64_t parts = parts_of(g->span.total), size = g->points.d * p->width;
    const int64_t ranks = g->ctx->comm.table.size;
    int64_t turns = 1;
    mercer_status rc = MERCER_OK;
    for (int64_t part = 0; g->span.spread && part < parts; part++)
        turns = ranks_before(g, part, ranks) > turns ? ranks_before(g, part, ranks) : turns;
    for (p->turn = 0; p->turn < turns; p->turn++) {
        MRC_TRY(mrc_parfor_checked(g->ctx, parts * p->pieces, sum_piece, p, err));
        if (!g->span.spread)
            break;
        for (int64_t part = 0; part < parts; part++) { /* rank 0 keeps those that are complete */
            bool kept = g->ctx->comm.table.rank == 0 && ranks_before(g, part, ranks) <= p->turn;
            if (!kept && !is_in_turn(p, part))
                memset(p->sums + part * size, 0, (size_t)size * sizeof *p->sums);
        }
        MRC_TRY(mrc_comm_merge_numbers(g->ctx, p->sums, parts * size, err));
    }
out:
    return rc;
}

/* p->inner = root X' (before v), d x width; *wide: v as wide as that, where it is not. */
static mercer_status sum_rows(const struct rows_store *s, struct product *p, const double *v,
                              int64_t l, double before, double **wide, mercer_error *err)
{
    const mrc_gram *g = s->gram;
    int64_t n = g->n, d = g->points.d, width = width_of(l);
    mercer_status rc = MERCER_OK;
    p->g = g;
    p->loops = mrc_panel_loops_for(g->ctx->simd);
    p->width = width;
    p->v = v;
    /* A window is made of whole rows, so packed ones are not gone through piece by piece. */
    p->piece = g->points.packed || d < PIECE ? d : PIECE;
    p->pieces = (d + p->piece - 1) / p->piece;
    MRC_TRY(scratch_new(g, MRC_STRIP * mrc_points_window_size(&g->points), &p->scratch, err));
    MRC_TRY(mrc_alloc2_raw(&p->sums, parts_of(g->span.total), d * width, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&p->inner, d, width, sizeof(double), err));
    if (width != l || before != 1) {
        MRC_TRY(mrc_alloc2_raw(wide, n, width, sizeof **wide, err));
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < width; c++)
                (*wide)[i * width + c] = c < l ? before * v[i * l + c] : 0;
        p->v = *wide;
    }
    MRC_TRY(sum_all_parts(p, err));
    MRC_TRY(mrc_parfor_checked(g->ctx, p->pieces, add_piece, p, err));
out:
    return rc;
}

/* Values of K times a power of four are X root^2 X', and both roots stand where neither product
 * leaves the range of numbers on the way: X' (root v), and root times that. */
static mercer_status rows_apply(void *self, mrc_pick j, const double *v, int64_t l, double *out,
                                mercer_error *err)
{
    const struct rows_store *s = self;
    int64_t width = width_of(l);
    struct product p = {.g = s->gram, .root = s->root, .pick = j, .out = out};
    double *wide = NULL, *wide_out = NULL;
    mercer_status rc = MERCER_OK;
    if (j.rows && s->gram->span.spread)
        MRC_TRY(mrc_rows_need_whole(s->gram->rows, "products of few rows", err));
    MRC_TRY(sum_rows(s, &p, v, l, s->root, &wide, err));
    if (width != l) {
        MRC_TRY(mrc_alloc2_raw(&wide_out, j.count, width, sizeof *wide_out, err));
        p.out = wide_out;
    }
    MRC_TRY(mrc_parfor_checked(s->gram->ctx, (j.count + TIMES - 1) / TIMES, times_strip, &p, err));
    for (int64_t i = 0; width != l && i < j.count; i++)
        memcpy(out + i * l, wide_out + i * width, (size_t)l * sizeof *out);
out:
    product_destroy(&p, wide);
    mrc_free(wide_out);
    return rc;
}

static mercer_status rows_collapse(void *self, const double *b, int64_t l, double *out,
                                   mercer_error *err)
{
    const struct rows_store *s = self;
    struct product p = {.g = s->gram, .root = 1};
    double *wide = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(sum_rows(s, &p, b, l, 1, &wide, err));
    for (int64_t k = 0; k < s->gram->points.d; k++)
        memcpy(out + k * l, p.inner + k * p.width, (size_t)l * sizeof *out);
out:
    product_destroy(&p, wide);
    return rc;
}

static mercer_status rows_columns(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                  mercer_error *err)
{
    const struct rows_store *s = self;
    return mrc_store_stream.columns(s->stream, j, shift, out, err);
}

/* ---- lengths ---- */

/* X'X and its products with rows are products of four values of X: a power of two for X makes them
 * numbers, and changes no bits beside the exponent. */
static double inner_power(const mrc_gram *g)
{
    double kmax = g->kmax * g->unit;
    return kmax > 0 ? 1 / sqrt(mrc_usual_unit(kmax)) : 1;
}

/* Work on S = X'X in these units, X about its mean when the operator is centred: prepared rows are
 * so to rounding, which is not enough where they are all the same. */
struct inner_work {
    const mrc_gram *g;
    const double *mean; /* of the prepared rows; NULL: nothing to subtract */
    const double *s;    /* d x d */
    double power, factor;
    double *out;
    double **scratch; /* per worker: a window of MRC_STRIP packed points, */
    double **strip;   /* MRC_STRIP rows about their mean, */
    double **product; /* and their products with S */
};

/* A strip of rows, d numbers each. */
static const double *centered_strip(const struct inner_work *w, int64_t first, int64_t rows,
                                    int worker)
{
    int64_t d = w->g->points.d;
    double *strip = w->strip[worker];
    mrc_points own;
    const mrc_points *x = mrc_points_window(&w->g->points, &first, rows, w->scratch[worker], &own);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < d; k++)
            strip[i * d + k] =
                (x->x[(first + i) * x->ld + k] - (w->mean ? w->mean[k] : 0)) * w->power;
    return strip;
}

static void inner_part(void *arg, int64_t begin, int64_t end, double *sum, int worker)
{
    const struct inner_work *w = arg;
    int d = mrc_blas_int(w->g->points.d);
    for (int64_t i = begin; i < end; i += MRC_STRIP) {
        int64_t rows = mrc_min64(MRC_STRIP, end - i);
        if (mrc_check_cancel(w->g->ctx, NULL) != MERCER_OK)
            return; /* the caller sees it, too */
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, d, mrc_blas_int(rows), 1,
                    centered_strip(w, i, rows, worker), d, 1, sum, d);
    }
}

static mercer_status inner_work_init(struct inner_work *w, const struct rows_store *s,
                                     mercer_error *err)
{
    const mrc_gram *g = s->gram;
    int64_t d = g->points.d;
    mercer_status rc = MERCER_OK;
    w->g = g;
    w->mean = s->mean;
    w->s = s->inner;
    w->power = inner_power(g);
    MRC_TRY(scratch_new(g, MRC_STRIP * mrc_points_window_size(&g->points), &w->scratch, err));
    MRC_TRY(scratch_new(g, MRC_STRIP * d, &w->strip, err));
    MRC_TRY(scratch_new(g, MRC_STRIP * d, &w->product, err));
out:
    return rc;
}

static void inner_work_destroy(struct inner_work *w)
{
    scratch_free(w->g, w->scratch);
    scratch_free(w->g, w->strip);
    scratch_free(w->g, w->product);
}

static mercer_status learn_mean(struct rows_store *s, mercer_error *err)
{
    int64_t n = s->gram->n, d = s->gram->points.d;
    double *ones = NULL, *mean = NULL;
    mercer_status rc = MERCER_OK;
    if (!s->gram->centered || s->mean)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&ones, n, sizeof *ones, err));
    MRC_TRY(mrc_alloc(&mean, d, sizeof *mean, err));
    for (int64_t i = 0; i < n; i++)
        ones[i] = 1;
    MRC_TRY(rows_collapse(s, ones, 1, mean, err));
    for (int64_t k = 0; k < d; k++)
        mean[k] /= (double)s->gram->span.total;
    s->mean = mean;
    mean = NULL;
out:
    mrc_free(ones);
    mrc_free(mean);
    return rc;
}

/* S, once. */
static mercer_status learn_inner(struct rows_store *s, mercer_error *err)
{
    int64_t n = s->gram->n, d = s->gram->points.d;
    struct inner_work w = {.g = s->gram};
    double *inner = NULL, size = (double)n * (double)d;
    mercer_status rc = MERCER_OK;
    if (s->inner)
        return MERCER_OK;
    MRC_TRY(learn_mean(s, err));
    MRC_TRY(inner_work_init(&w, s, err));
    MRC_TRY(mrc_alloc2_raw(&inner, d, d, sizeof *inner, err));
    /* Rows about their mean are at most twice as long as they were. */
    double bound = 4.5 * (double)w.g->span.total * w.g->kmax * w.g->unit * w.power * w.power;
    MRC_TRY(mrc_sum_span(w.g->ctx, &w.g->span, d * d, size / 2, size * (double)d, bound, inner_part,
                         &w, inner, err));
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < i; j++)
            inner[j * d + i] = inner[i * d + j];
    s->inner = inner;
    inner = NULL;
out:
    inner_work_destroy(&w);
    mrc_free(inner);
    return rc;
}

/* |k_i|^2 = x_i' S x_i */
static void length_strip(void *arg, int64_t task, int worker)
{
    const struct inner_work *w = arg;
    int64_t d = w->g->points.d, i = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, w->g->n - i);
    const double *x = centered_strip(w, i, rows, worker);
    double *product = w->product[worker];
    mrc_gemm(false, false, rows, d, d, w->factor, x, d, w->s, d, 0, product, d);
    for (int64_t r = 0; r < rows; r++)
        w->out[i + r] = w->factor * mrc_dot(x + r * d, product + r * d, d);
}

/* Whether S is the smaller matrix. */
static bool goes_by_inner(const mrc_gram *g)
{
    return g->points.d < g->span.total;
}

/* What values of S, which are in units of power^-2, are multiplied with to be those of K. */
static double inner_factor(const struct rows_store *s)
{
    const double power = inner_power(s->gram);
    return s->root / power * (s->root / power);
}

static mercer_status rows_row_norms2(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                     mercer_error *err)
{
    struct rows_store *s = self;
    const mrc_gram *g = s->gram;
    struct inner_work w = {.g = g, .out = out, .factor = inner_factor(s)};
    mercer_status rc = MERCER_OK;
    if (g->span.spread && (j.rows || !goes_by_inner(g)))
        MRC_TRY(mrc_rows_need_whole(g->rows, "lengths of columns", err));
    if (j.rows || shift->mask || !goes_by_inner(g))
        return mrc_store_stream.row_norms2(s->stream, j, shift, out, err);
    MRC_TRY(learn_inner(s, err));
    MRC_TRY(inner_work_init(&w, s, err));
    MRC_TRY(mrc_parfor_checked(g->ctx, mrc_strips(g->n), length_strip, &w, err));
out:
    inner_work_destroy(&w);
    return rc;
}

/* |X X'| = |X' X| */
static mercer_status rows_squares(void *self, double *out, mercer_error *err)
{
    struct rows_store *s = self;
    const mrc_gram *g = s->gram;
    int64_t d = g->points.d;
    const mrc_shift shift = {.row = g->centered ? g->means : NULL,
                             .column = g->centered ? g->means : NULL,
                             .base = g->grand};
    double *norms2 = NULL;
    mercer_status rc = MERCER_OK;
    if (goes_by_inner(g)) {
        MRC_TRY(learn_inner(s, err));
        double factor = inner_factor(s);
        *out = factor * factor * mrc_dot(s->inner, s->inner, d * d);
        goto out;
    }
    MRC_TRY(mrc_alloc(&norms2, g->n, sizeof *norms2, err));
    MRC_TRY(rows_row_norms2(self, (mrc_pick){.count = g->n}, &shift, norms2, err));
    *out = mrc_sum_rows(norms2, g->n);
out:
    mrc_free(norms2);
    return rc;
}

static bool rows_squares_pay(const void *self, const mrc_gram_request *request)
{
    const struct rows_store *s = self;
    return mrc_rows_store_squares_pay(s->gram->span.total, s->gram->points.d, request);
}

/* The largest eigenvalue of S is the root of that of S^2, which is at most |S^2|: too large by a
 * factor of d^1/4 where all eigenvalues are the same, and by less else. */
static mercer_status rows_eigen_bound(void *self, double *out, mercer_error *err)
{
    struct rows_store *s = self;
    const mrc_gram *g = s->gram;
    int64_t d = g->points.d;
    double *square = NULL;
    mercer_status rc = MERCER_OK;
    *out = INFINITY;
    if (!goes_by_inner(g))
        return MERCER_OK;
    MRC_TRY(learn_inner(s, err));
    MRC_TRY(mrc_alloc2_raw(&square, d, d, sizeof *square, err));
    MRC_TRY(
        mrc_tall_times_checked(g->ctx, d, d, d, 1, s->inner, d, s->inner, d, 0, square, d, err));
    /* Products of four values of X are numbers here, and rounding is a share of d eps of them. */
    double bound = sqrt(sqrt(mrc_dot(square, square, d * d))) * (1 + 4 * (double)d * DBL_EPSILON);
    *out = inner_factor(s) * bound;
    MRC_TRY(mrc_decide_numbers(g->ctx, &g->span, out, 1, err));
out:
    mrc_free(square);
    return rc;
}

static void rows_scale(void *self, double factor)
{
    struct rows_store *s = self;
    s->root *= sqrt(factor);
    mrc_store_stream.scale(s->stream, factor);
}

static int64_t rows_work_doubles(const void *self, int64_t l)
{
    const struct rows_store *s = self;
    return mrc_rows_store_doubles(s->gram->span.total, s->gram->points.d, l);
}

const mrc_store mrc_store_rows = {
    .name = "rows",
    .caps = MRC_STORE_DOUBLES | MRC_STORE_NARROW | MRC_STORE_SPREADS,
    .init = rows_init,
    .apply = rows_apply,
    .columns = rows_columns,
    .row_norms2 = rows_row_norms2,
    .squares = rows_squares,
    .squares_pay = rows_squares_pay,
    .collapse = rows_collapse,
    .eigen_bound = rows_eigen_bound,
    .scale = rows_scale,
    .work_doubles = rows_work_doubles,
    .destroy = rows_destroy,
};
