/* SPDX-License-Identifier: BSD-3-Clause */
/* Cholesky coordinates of a growing and shrinking set of points; see library.h.
 *
 * A block B gets W = k(B, Y) L^-T; what the points do not span, K_BB - W W' = T T', is factorised
 * by Cholesky with the largest residual as pivot, and the pivots become points: their rows of [W,
 * T] are the new rows of L. The rule stops at residuals of tolerance^2 kmax, where differences of
 * kernel values begin to be rounding.
 *
 * Choosing a subset is orthogonal least squares: with q_i the part of point i outside the span so
 * far, |q_i' targets|^2 / |q_i|^2 is what it would add. After a pick p with direction v = q_p /
 * |q_p| all products are downdated by a = L v: q_i' targets -= a_i v' targets, |q_i|^2 -= a_i^2.
 * The a are the columns of a pivoted Cholesky factor of L L', so pick s costs m s and m k, and no
 * vector v is needed before the end, when one Householder factorisation of the picks gives the new
 * frame. The points come in the order of the picks, so L stays triangular. */
#include "methods/streaming/library.h"

#include "gram/gram.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

void mrc_library_destroy(mrc_library *lib)
{
    mercer_rows_free(lib->rows);
    mrc_free(lib->factor);
}

mercer_status mrc_library_copy(mrc_library *out, const mrc_library *lib, mercer_error *err)
{
    size_t size = (size_t)(lib->count * lib->count) * sizeof(double);
    mercer_status rc = MERCER_OK;
    *out = (mrc_library){.kernel = lib->kernel, .count = lib->count, .largest = lib->largest};
    if (!lib->rows)
        return MERCER_OK;
    MRC_TRY(mrc_rows_take(lib->rows, NULL, lib->count, &out->rows, err));
    MRC_TRY(mrc_alloc2_raw(&out->factor, lib->count, lib->count, sizeof(double), err));
    memcpy(out->factor, lib->factor, size);
out:
    return rc;
}

void mrc_subframe_destroy(mrc_subframe *frame)
{
    mrc_free(frame->chosen);
    mrc_free(frame->directions);
    mrc_free(frame->factor);
}

/* ---- kernel values ---- */

enum { TILE = 64 }; /* rows a task */

struct tiles {
    const mrc_kernel *kernel;
    mercer_ctx *ctx;
    const mrc_points *a, *b;
    bool symmetric; /* a is b: columns up to the diagonal will do */
    double *out;
};

/* Columns that the strip of rows from `first` on is computed for. */
static int64_t strip_columns(const struct tiles *t, int64_t first, int64_t rows)
{
    return t->symmetric ? first + rows : t->b->n;
}

static void tile_rows(void *arg, int64_t task, int worker)
{
    const struct tiles *t = arg;
    int64_t first = task * TILE, rows = t->a->n - first < TILE ? t->a->n - first : TILE;
    int64_t end = strip_columns(t, first, rows);
    (void)worker;
    for (int64_t c = 0; c < end; c += TILE) {
        int64_t columns = end - c < TILE ? end - c : TILE;
        mrc_kernel_tile(t->kernel, t->ctx, t->a, first, rows, t->b, c, columns,
                        t->out + first * t->b->n + c, t->b->n);
    }
}

/* The part of x, n x n and symmetric, that strips of rows up to the diagonal leave out. */
static void mirror(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i / TILE * TILE + TILE; j < n; j++)
            x[i * n + j] = x[j * n + i];
}

/* out = L L', m x m, in strips of rows up to the diagonal, where L has no more columns, either. */
static void product_with_itself(const double *l, int64_t m, double *out)
{
    for (int64_t first = 0; first < m; first += TILE) {
        int64_t rows = m - first < TILE ? m - first : TILE, end = first + rows;
        mrc_gemm(false, true, rows, end, end, 1, l + first * m, m, l, m, 0, out + first * m, m);
    }
    mirror(out, m);
}

/* out (a->n x b->n) = k(a_i, b_j); returns how many of them had to be computed. */
static int64_t kernel_values(mercer_ctx *ctx, const mrc_kernel *kernel, const mrc_points *a,
                             const mrc_points *b, double *out)
{
    struct tiles t = {.kernel = kernel, .ctx = ctx, .a = a, .b = b, .out = out};
    int64_t n = a->n, computed = 0;
    t.symmetric = a == b;
    for (int64_t first = 0; first < n; first += TILE) {
        int64_t rows = n - first < TILE ? n - first : TILE;
        computed += rows * strip_columns(&t, first, rows);
    }
    mrc_parfor_sized(ctx, (n + TILE - 1) / TILE, 2 * (double)(computed * (a->d + 20)), tile_rows,
                     &t);
    if (t.symmetric)
        mirror(out, n);
    return computed;
}

/* Values of rows with the points, and, unless own is NULL, with one another. diag may be NULL. */
static mercer_status values_with(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                                 double *values, double *own, double *diag, mercer_error *err)
{
    mrc_points points = {0}, block = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_check_cancel(ctx, err));
    MRC_TRY(mrc_kernel_check_rows(lib->kernel, ctx, rows, 0, err));
    if (lib->count > 0) {
        MRC_TRY(mrc_points_init(&points, ctx, lib->kernel, lib->rows, NULL, err));
        MRC_TRY(mrc_points_build_index(&points, ctx, err));
    }
    MRC_TRY(mrc_points_init(&block, ctx, lib->kernel, rows, lib->count > 0 ? &points : NULL, err));
    if (lib->count > 0)
        lib->evaluations += kernel_values(ctx, lib->kernel, &block, &points, values);
    if (own) {
        MRC_TRY(mrc_points_build_index(&block, ctx, err));
        lib->evaluations += kernel_values(ctx, lib->kernel, &block, &block, own);
    }
    if (diag) {
        mrc_kernel_diag(lib->kernel, ctx, &block, 0, rows->n, diag);
        lib->evaluations += own ? 0 : rows->n; /* else they were among the others */
    }
    MRC_TRY(mrc_check_cancel(ctx, err));
    double kmax = 0;
    for (int64_t i = 0; diag && i < rows->n; i++) {
        if (!isfinite(diag[i]))
            MRC_FAIL_AT(err, MERCER_ERR_DATA,
                        MRC_AT(.row = i + 1, .advice_key = "scale", .advice_value = "standard"),
                        "row %lld of the block is too large: k(x,x) overflows; scale the data",
                        (long long)i + 1);
        kmax = fmax(kmax, fabs(diag[i]));
    }
    if (lib->count == 0 || kmax > 1) /* later rows may be short, beside those before */
        MRC_TRY(mrc_check_kmax(ctx, lib->kernel, rows, kmax, err));
out:
    mrc_points_destroy(&points);
    mrc_points_destroy(&block);
    return rc;
}

/* ---- coordinates ---- */

/* rows x m triangular solve, on one thread whatever the size. */
struct solve {
    int64_t n, m;
    const double *factor;
    double *x;
};

static void solve_run(void *arg, int64_t task, int worker)
{
    const struct solve *s = arg;
    (void)task, (void)worker;
    mrc_lower_solve(true, true, s->n, s->m, s->factor, s->m, s->x, s->m);
}

mercer_status mrc_library_project(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                                  double **coordinates, double *diag, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(coordinates, rows->n, lib->count, sizeof(double), err));
    MRC_TRY(values_with(lib, ctx, rows, *coordinates, NULL, diag, err));
    struct solve s = {.n = rows->n, .m = lib->count, .factor = lib->factor, .x = *coordinates};
    mrc_serial(ctx, solve_run, &s);
out:
    return rc;
}

/* A residual matrix n x n and its factor: at step s column s of t (n x room). */
struct cholesky {
    int64_t n, count;
    double *residual; /* its diagonal is kept up to date */
    double *t;
    int64_t *pivot;
    double floor;
};

static void cholesky_run(void *arg, int64_t task, int worker)
{
    struct cholesky *c = arg;
    int64_t n = c->n;
    (void)task, (void)worker;
    c->count = mrc_pivoted_cholesky(n, c->residual, n, n, c->floor, 0, c->t, n, c->pivot);
}

static void cholesky_destroy(struct cholesky *c)
{
    mrc_free(c->residual);
    mrc_free(c->t);
    mrc_free(c->pivot);
}

static mercer_status cholesky_init(struct cholesky *c, int64_t n, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    c->n = n;
    MRC_TRY(mrc_alloc2_raw(&c->residual, n, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&c->t, n, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&c->pivot, n, sizeof *c->pivot, err));
out:
    return rc;
}

/* W beside the first `count` columns of T: n x (m + count). */
static void join(const double *w, const double *t, int64_t n, int64_t m, int64_t count, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + i * (m + count), w + i * m, (size_t)m * sizeof *out);
        memcpy(out + i * (m + count) + m, t + i * n, (size_t)count * sizeof *out);
    }
}

/* The pivots become points; the coordinates of all rows have ld columns. */
static mercer_status add_points(mrc_library *lib, const mercer_rows *rows, const struct cholesky *c,
                                const double *coordinates, int64_t ld, mercer_error *err)
{
    int64_t m = lib->count, wide = m + c->count;
    mercer_rows *fresh = NULL;
    double *factor = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&factor, wide, wide, sizeof *factor, err));
    MRC_TRY(mrc_rows_take(rows, c->pivot, c->count, &fresh, err));
    MRC_TRY(mrc_rows_append(&lib->rows, fresh, err));
    for (int64_t i = 0; i < m; i++)
        memcpy(factor + i * wide, lib->factor + i * m, (size_t)m * sizeof *factor);
    for (int64_t i = 0; i < c->count; i++)
        memcpy(factor + (m + i) * wide, coordinates + c->pivot[i] * ld,
               (size_t)wide * sizeof *factor);
    mrc_free(lib->factor);
    lib->factor = factor;
    lib->count = wide;
    factor = NULL;
out:
    mercer_rows_free(fresh);
    mrc_free(factor);
    return rc;
}

/* K - W W', on one thread. */
struct residual {
    int64_t n, m;
    const double *w;
    double *own;
};

static void residual_run(void *arg, int64_t task, int worker)
{
    const struct residual *r = arg;
    (void)task, (void)worker;
    mrc_gemm(false, true, r->n, r->n, r->m, -1, r->w, r->m, r->w, r->m, 1, r->own, r->n);
}

/* Whether no row has a coordinate along a weak point that is much longer than the point's own. */
static bool fits_frame(const mrc_library *lib, const double *w, int64_t n)
{
    /* Rounding may grow by the first factor with each weak point, but hardly does. */
    static const double GROWTH = 10, WEAK = 1e-4;
    int64_t m = lib->count;
    for (int64_t k = 0; k < m; k++) {
        double own = lib->factor[k * m + k];
        for (int64_t i = 0; own * own < WEAK * lib->largest && i < n; i++)
            if (fabs(w[i * m + k]) > GROWTH * own)
                return false;
    }
    return true;
}

/* Kernel values of points and rows together: n' x n', n' = m + n. */
static mercer_status joint_values(const mrc_library *lib, const double *values, const double *own,
                                  int64_t n, double *out, mercer_error *err)
{
    int64_t m = lib->count, all = m + n;
    double *products = NULL;
    mercer_status rc = mrc_alloc2_raw(&products, m, m, sizeof *products, err);
    if (rc != MERCER_OK)
        return rc;
    product_with_itself(lib->factor, m, products);
    for (int64_t i = 0; i < m; i++) {
        memcpy(out + i * all, products + i * m, (size_t)m * sizeof *out);
        for (int64_t j = 0; j < n; j++)
            out[i * all + m + j] = values[j * m + i];
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + (m + i) * all, values + i * m, (size_t)m * sizeof *out);
        memcpy(out + (m + i) * all + m, own + i * n, (size_t)n * sizeof *out);
    }
    mrc_free(products);
    return MERCER_OK;
}

/* Points and frame chosen anew from points and rows, given the values of the rows with the points
 * and with one another. */
struct rejoin {
    mrc_library *lib;
    const double *values, *own;
    struct cholesky c;
    double *turn, *coordinates;
    mercer_error *err;
    mercer_status rc;
};

static void rejoin_run(void *arg, int64_t task, int worker)
{
    struct rejoin *r = arg;
    int64_t m = r->lib->count, all = r->c.n;
    mercer_status rc = MERCER_OK;
    MRC_TRY(joint_values(r->lib, r->values, r->own, all - m, r->c.residual, r->err));
    cholesky_run(&r->c, task, worker);
    int64_t s = r->c.count;
    MRC_TRY(mrc_alloc2(&r->turn, m, s, sizeof(double), r->err));
    MRC_TRY(mrc_alloc2(&r->coordinates, all - m, s, sizeof(double), r->err));
    for (int64_t i = 0; i < all; i++)
        memcpy(i < m ? r->turn + i * s : r->coordinates + (i - m) * s, r->c.t + i * all,
               (size_t)s * sizeof(double));
    mrc_lower_solve(false, false, m, s, r->lib->factor, m, r->turn, s);
out:
    r->rc = rc;
}

static mercer_status rejoin(struct rejoin *r, mercer_ctx *ctx, const mercer_rows *rows,
                            double tolerance, double **coordinates, double **turn,
                            mercer_error *err)
{
    mrc_library *lib = r->lib, fresh = {.kernel = lib->kernel, .largest = lib->largest};
    mercer_rows *joined = NULL;
    mercer_status rc = MERCER_OK;
    r->err = err;
    MRC_TRY(cholesky_init(&r->c, lib->count + rows->n, err));
    r->c.floor = tolerance * tolerance * lib->largest;
    mrc_serial(ctx, rejoin_run, r);
    MRC_TRY(r->rc);
    MRC_TRY(mrc_rows_append(&joined, lib->rows, err));
    MRC_TRY(mrc_rows_append(&joined, rows, err));
    MRC_TRY(add_points(&fresh, joined, &r->c, r->c.t, r->c.n, err));
    fresh.evaluations = lib->evaluations;
    mrc_library_destroy(lib);
    *lib = fresh;
    fresh = (mrc_library){0};
    *coordinates = r->coordinates;
    *turn = r->turn;
    r->coordinates = r->turn = NULL;
out:
    mrc_library_destroy(&fresh);
    mercer_rows_free(joined);
    mrc_free(r->coordinates);
    mrc_free(r->turn);
    cholesky_destroy(&r->c);
    return rc;
}

/* The points stay, those of the rows that they do not span join them. w: coordinates of the rows;
 * c: their values with one another. */
static mercer_status append(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                            const double *w, struct cholesky *c, double tolerance,
                            double **coordinates, mercer_error *err)
{
    int64_t n = rows->n, m = lib->count;
    struct residual r = {.n = n, .m = m, .w = w, .own = c->residual};
    double *out = NULL;
    mercer_status rc = MERCER_OK;
    if (m > 0)
        mrc_serial(ctx, residual_run, &r);
    c->floor = tolerance * tolerance * lib->largest;
    mrc_serial(ctx, cholesky_run, c);
    MRC_TRY(mrc_alloc2_raw(&out, n, m + c->count, sizeof *out, err));
    join(w, c->t, n, m, c->count, out);
    if (c->count > 0)
        MRC_TRY(add_points(lib, rows, c, out, m + c->count, err));
    *coordinates = out;
    out = NULL;
out:
    mrc_free(out);
    return rc;
}

mercer_status mrc_library_take_in(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                                  double tolerance, double **coordinates, double *diag,
                                  double **turn, mercer_error *err)
{
    int64_t n = rows->n, m = lib->count;
    struct cholesky c = {0};
    double *w = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&w, n, m, sizeof *w, err));
    MRC_TRY(mrc_alloc2_raw(&values, n, m, sizeof *values, err));
    MRC_TRY(cholesky_init(&c, n, err));
    MRC_TRY(values_with(lib, ctx, rows, values, c.residual, diag, err));
    for (int64_t i = 0; i < n; i++) {
        c.residual[i * n + i] = diag[i];
        lib->largest = fmax(lib->largest, diag[i]);
    }
    if (m > 0) {
        memcpy(w, values, (size_t)(n * m) * sizeof *w);
        struct solve s = {.n = n, .m = m, .factor = lib->factor, .x = w};
        mrc_serial(ctx, solve_run, &s);
    }
    if (turn && !fits_frame(lib, w, n)) {
        struct rejoin r = {.lib = lib, .values = values, .own = c.residual};
        MRC_TRY(rejoin(&r, ctx, rows, tolerance, coordinates, turn, err));
    } else {
        MRC_TRY(append(lib, ctx, rows, w, &c, tolerance, coordinates, err));
    }
out:
    mrc_free(w);
    mrc_free(values);
    cholesky_destroy(&c);
    return rc;
}

/* The coordinates along the newer points, a solve with the lower right part of L. */
struct extension {
    const mrc_library *lib;
    int64_t n, known;
    double *x; /* n x m: coordinates, then kernel values */
};

static void extension_run(void *arg, int64_t task, int worker)
{
    const struct extension *e = arg;
    int64_t m = e->lib->count, known = e->known;
    const double *below = e->lib->factor + known * m;
    (void)task, (void)worker;
    mrc_gemm(false, true, e->n, m - known, known, -1, e->x, m, below, m, 1, e->x + known, m);
    mrc_lower_solve(true, true, e->n, m - known, below + known, m, e->x + known, m);
}

mercer_status mrc_library_extend(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                                 int64_t known, double **coordinates, mercer_error *err)
{
    int64_t n = rows->n, m = lib->count, fresh = m - known;
    mrc_library newer = {.kernel = lib->kernel, .count = fresh};
    double *values = NULL, *x = NULL;
    mercer_status rc = MERCER_OK;
    if (fresh == 0)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&values, n, fresh, sizeof *values, err));
    MRC_TRY(mrc_alloc2_raw(&x, n, m, sizeof *x, err));
    MRC_TRY(mrc_rows_slice(lib->rows, known, fresh, &newer.rows, err));
    MRC_TRY(values_with(&newer, ctx, rows, values, NULL, NULL, err));
    lib->evaluations += newer.evaluations;
    for (int64_t i = 0; i < n; i++) {
        memcpy(x + i * m, *coordinates + i * known, (size_t)known * sizeof *x);
        memcpy(x + i * m + known, values + i * fresh, (size_t)fresh * sizeof *x);
    }
    struct extension e = {.lib = lib, .n = n, .known = known, .x = x};
    mrc_serial(ctx, extension_run, &e);
    mrc_free(*coordinates);
    *coordinates = x;
    x = NULL;
out:
    mrc_library_destroy(&newer);
    mrc_free(values);
    mrc_free(x);
    return rc;
}

/* ---- choosing ---- */

struct choice {
    const mrc_library *lib;
    const double *targets;
    int64_t k, most;
    double floor;
    double *gram;     /* m x m: L L' */
    double *along;    /* m x most: a of each pick, its columns */
    double *products; /* m x k: of what is left of the points with the targets */
    double *left;     /* m: squared lengths of what is left */
    double *newest;   /* m: the latest a */
    bool ended;
    mrc_subframe *out;
};

enum { PICKS_PER_LOOK = 16 }; /* at the cancellation: a pick costs some m (most + k) operations */

/* The point that adds most, or -1. */
static int64_t best_point(const struct choice *c)
{
    int64_t best = -1;
    double most = 0;
    for (int64_t i = 0; i < c->lib->count; i++) {
        const double *g = c->products + i * c->k;
        if (!(c->left[i] > c->floor))
            continue;
        double gain = mrc_dot(g, g, c->k) / c->left[i];
        if (best < 0 || gain > most) {
            most = gain;
            best = i;
        }
    }
    return best;
}

/* Take point p: its column of the factor, and what is left without it. */
static void take(const struct choice *c, int64_t p)
{
    int64_t m = c->lib->count, k = c->k, s = c->out->count, ld = c->most;
    double root = sqrt(c->left[p]), *a = c->newest, *own = c->products + p * k;
    memcpy(a, c->gram + p * m, (size_t)m * sizeof *a);
    mrc_gemv(false, m, s, -1, c->along, ld, c->along + p * ld, 1, a);
    for (int64_t j = 0; j < k; j++)
        own[j] /= root; /* the products of its direction with the targets */
    for (int64_t i = 0; i < m; i++) {
        double share = a[i] / root;
        c->along[i * ld + s] = share;
        c->left[i] -= share * share;
        for (int64_t j = 0; i != p && j < k; j++)
            c->products[i * k + j] -= share * own[j];
    }
    c->left[p] = 0;
    c->out->chosen[c->out->count++] = p;
}

static void choice_begin(void *arg, int64_t task, int worker)
{
    struct choice *c = arg;
    int64_t m = c->lib->count, k = c->k;
    const double *factor = c->lib->factor;
    (void)task, (void)worker;
    mrc_gemm(false, false, m, k, m, 1, factor, m, c->targets, k, 0, c->products, k);
    product_with_itself(factor, m, c->gram);
    for (int64_t i = 0; i < m; i++)
        c->left[i] = c->gram[i * m + i];
}

/* Take the next points, until none adds anything. */
static void choice_go_on(void *arg, int64_t task, int worker)
{
    struct choice *c = arg;
    (void)task, (void)worker;
    for (int i = 0; i < PICKS_PER_LOOK && !c->ended; i++) {
        const int64_t p = c->out->count < c->most ? best_point(c) : -1;
        c->ended = p < 0;
        if (!c->ended)
            take(c, p);
    }
}

mercer_status mrc_library_choose(const mrc_library *lib, mercer_ctx *ctx, const double *targets,
                                 int64_t k, int64_t most, double tolerance, mrc_subframe *out,
                                 mercer_error *err)
{
    int64_t m = lib->count;
    most = most < m ? most : m;
    struct choice c = {.lib = lib, .targets = targets, .k = k, .most = most, .out = out};
    mercer_status rc = MERCER_OK;
    c.floor = tolerance * tolerance * lib->largest;
    MRC_TRY(mrc_alloc(&out->chosen, most, sizeof *out->chosen, err));
    MRC_TRY(mrc_alloc2(&out->directions, most, m, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&c.gram, m, m, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&c.along, m, most, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&c.products, m, k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&c.left, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&c.newest, m, sizeof(double), err));
    mrc_serial(ctx, choice_begin, &c);
    while (!c.ended) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        mrc_serial(ctx, choice_go_on, &c);
    }
    for (int64_t i = 0; i < out->count; i++)
        memcpy(out->directions + i * m, lib->factor + out->chosen[i] * m,
               (size_t)m * sizeof *lib->factor);
    MRC_TRY(mrc_alloc2_raw(&out->factor, out->count, out->count, sizeof(double), err));
    MRC_TRY(mrc_orthonormal_rows(ctx, out->count, m, out->directions, out->factor, err));
out:
    mrc_free(c.gram);
    mrc_free(c.along);
    mrc_free(c.products);
    mrc_free(c.left);
    mrc_free(c.newest);
    return rc;
}

/* out (count x k) = directions x, or out (n x count) = x directions'. */
struct turn {
    const mrc_subframe *frame;
    int64_t m, n;
    const double *x;
    double *out;
    bool rows;
};

static void turn_run(void *arg, int64_t task, int worker)
{
    const struct turn *t = arg;
    int64_t s = t->frame->count;
    (void)task, (void)worker;
    if (t->rows)
        mrc_gemm(false, true, t->n, s, t->m, 1, t->x, t->m, t->frame->directions, t->m, 0, t->out,
                 s);
    else
        mrc_gemm(false, false, s, t->n, t->m, 1, t->frame->directions, t->m, t->x, t->n, 0, t->out,
                 t->n);
}

static mercer_status turn(const mrc_subframe *frame, mercer_ctx *ctx, int64_t m, double **x,
                          int64_t n, bool rows, mercer_error *err)
{
    struct turn t = {.frame = frame, .m = m, .n = n, .x = *x, .rows = rows};
    mercer_status rc = mrc_alloc2(&t.out, frame->count, n, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    mrc_serial(ctx, turn_run, &t);
    mrc_free(*x);
    *x = t.out;
    return MERCER_OK;
}

mercer_status mrc_subframe_project(const mrc_subframe *frame, mercer_ctx *ctx, int64_t m,
                                   double **x, int64_t k, mercer_error *err)
{
    return turn(frame, ctx, m, x, k, false, err);
}

mercer_status mrc_subframe_project_rows(const mrc_subframe *frame, mercer_ctx *ctx, int64_t m,
                                        double **x, int64_t n, mercer_error *err)
{
    return turn(frame, ctx, m, x, n, true, err);
}

mercer_status mrc_library_keep(mrc_library *lib, mrc_subframe *frame, mercer_error *err)
{
    mercer_rows *rows = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_rows_take(lib->rows, frame->chosen, frame->count, &rows, err));
    mercer_rows_free(lib->rows);
    mrc_free(lib->factor);
    lib->rows = rows;
    lib->factor = frame->factor;
    lib->count = frame->count;
    frame->factor = NULL;
out:
    return rc;
}

mercer_status mrc_library_drift(mrc_library *lib, mercer_ctx *ctx, double *out, mercer_error *err)
{
    int64_t m = lib->count;
    double *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&values, m, m, sizeof *values, err));
    MRC_TRY(values_with(lib, ctx, lib->rows, values, NULL, NULL, err));
    struct residual r = {.n = m, .m = m, .w = lib->factor, .own = values};
    mrc_serial(ctx, residual_run, &r);
    *out = 0;
    for (int64_t i = 0; i < m * m; i++)
        *out = fmax(*out, fabs(values[i]) / lib->largest);
out:
    mrc_free(values);
    return rc;
}
