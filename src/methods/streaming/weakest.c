/* SPDX-License-Identifier: BSD-3-Clause */
/* Dropping the points of a library that are missed least; see library.h.
 *
 * Column p of X = L^-1 is orthogonal to all points but p: it is what the span loses with that
 * point. So the targets T lose |b_p|^2 / c_p of their squared lengths, b_p being row p of X'T,
 * their coefficients over the points, and c_p = |X_p|^2. When p has gone, with a = X'X_p /
 * sqrt(c_p) of what was left, the others have c_j - a_j^2 and b_j - a_j b_p / sqrt(c_p). The a are
 * the columns of a Cholesky factor of X'X, pivoted by the loss, of which only those of points that
 * go are needed.
 *
 * Points are never chosen anew: those that stay keep their order, and their rows of L are turned
 * into a triangle again, with the targets behind them. To drop g of m points with k targets takes
 * m^3 / 3 for X, g m^2 for the losses, (g + 64) m (m + 2 k) for the triangle.
 *
 * c_j is a difference that loses digits when j was nearly in the span of others and one of them
 * went: then it is not known how much j matters now, and it stays until the factor is inverted
 * anew. */
#include "methods/streaming/library.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

enum { STRIP = 64 };          /* columns of X a task */
enum { DROPS_PER_LOOK = 16 }; /* at the cancellation */

/* c_j below this share of what it was says nothing any more. */
static const double SURE = 1e-9;

struct dropping {
    int64_t m, k, goal; /* points to drop; more when more are too weak */
    int64_t count;      /* dropped so far */
    double unit;        /* root of the largest k(x,x): X is in units of it */
    const double *factor;
    double *inverse;      /* m x m: X */
    double *coefficients; /* m x k: b */
    double *size;         /* m: |b_j|^2 */
    double *left, *first; /* m: c_j now, and of all points */
    double *along;        /* m x room: the a */
    int64_t room;
    double *column, *newest; /* m */
    bool *is_weak, *gone;    /* m */
    bool ended;
};

static void dropping_destroy(struct dropping *d)
{
    mrc_free(d->inverse);
    mrc_free(d->coefficients);
    mrc_free(d->size);
    mrc_free(d->left);
    mrc_free(d->first);
    mrc_free(d->along);
    mrc_free(d->column);
    mrc_free(d->newest);
    mrc_free(d->is_weak);
    mrc_free(d->gone);
}

/* A strip of columns of X, of which rows above the diagonal are zero. */
static void invert_strip(void *arg, int64_t task, int worker)
{
    const struct dropping *d = arg;
    int64_t m = d->m, at = task * STRIP, columns = m - at < STRIP ? m - at : STRIP;
    double *x = d->inverse + at * (m + 1);
    (void)worker;
    for (int64_t j = 0; j < columns; j++)
        x[j * (m + 1)] = d->unit;
    mrc_lower_solve(false, false, m - at, columns, d->factor + at * (m + 1), m, x, m);
}

static void begin(void *arg, int64_t task, int worker)
{
    const struct dropping *d = arg;
    int64_t m = d->m;
    (void)task, (void)worker;
    mrc_lower_solve(false, true, m, d->k, d->factor, m, d->coefficients, d->k);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++)
            d->left[j] += d->inverse[i * m + j] * d->inverse[i * m + j];
    for (int64_t i = 0; i < m; i++)
        d->size[i] = mrc_dot(d->coefficients + i * d->k, d->coefficients + i * d->k, d->k);
    memcpy(d->first, d->left, (size_t)m * sizeof *d->first);
}

/* The point that is missed least of those that can be judged, or -1. */
static int64_t least_missed(const struct dropping *d, bool weak_ones)
{
    int64_t best = -1;
    double least = 0;
    for (int64_t j = 0; j < d->m; j++) {
        if (d->gone[j] || (weak_ones && !d->is_weak[j]) || !(d->left[j] > SURE * d->first[j]))
            continue;
        double loss = d->size[j] / d->left[j];
        if (best < 0 || loss < least) {
            least = loss;
            best = j;
        }
    }
    return best;
}

static void drop(struct dropping *d, int64_t p)
{
    int64_t m = d->m, k = d->k, s = d->count, ld = d->room;
    double root = sqrt(d->left[p]), *a = d->newest, *own = d->coefficients + p * k;
    for (int64_t i = p; i < m; i++)
        d->column[i] = d->inverse[i * m + p];
    mrc_gemv(true, m - p, m, 1, d->inverse + p * m, m, d->column + p, 0, a);
    mrc_gemv(false, m, s, -1, d->along, ld, d->along + p * ld, 1, a);
    for (int64_t j = 0; j < k; j++)
        own[j] /= root;
    d->gone[p] = true;
    for (int64_t i = 0; i < m; i++) {
        double share = a[i] / root, *b = d->coefficients + i * k;
        d->along[i * ld + s] = share;
        d->left[i] -= share * share;
        for (int64_t j = 0; !d->gone[i] && j < k; j++)
            b[j] -= share * own[j];
        d->size[i] = d->gone[i] ? 0 : mrc_dot(b, b, k);
    }
    d->count++;
}

/* Drop the next points: the weak ones first, which are no longer weak once they cannot be judged.
 */
static void drop_some(void *arg, int64_t task, int worker)
{
    struct dropping *d = arg;
    (void)task, (void)worker;
    for (int i = 0; i < DROPS_PER_LOOK && !d->ended; i++) {
        int64_t p = least_missed(d, true);
        if (p < 0 && d->count < d->goal)
            p = least_missed(d, false);
        d->ended = p < 0;
        if (!d->ended)
            drop(d, p);
    }
}

static mercer_status dropping_init(struct dropping *d, const mrc_library *lib,
                                   const double *targets, double floor, mercer_error *err)
{
    int64_t m = d->m, weak = 0;
    mercer_status rc = MERCER_OK;
    d->unit = sqrt(lib->largest);
    d->factor = lib->factor;
    MRC_TRY(mrc_alloc(&d->is_weak, m, sizeof *d->is_weak, err));
    MRC_TRY(mrc_alloc(&d->gone, m, sizeof *d->gone, err));
    for (int64_t j = 0; j < m; j++) {
        double own = lib->factor[j * (m + 1)];
        d->is_weak[j] = !(own * own > floor);
        weak += d->is_weak[j];
    }
    d->room = weak > d->goal ? weak : d->goal;
    MRC_TRY(mrc_alloc2(&d->inverse, m, m, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&d->coefficients, m, d->k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&d->size, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&d->left, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&d->first, m, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&d->along, m, d->room, sizeof(double), err));
    MRC_TRY(mrc_alloc(&d->column, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&d->newest, m, sizeof(double), err));
    memcpy(d->coefficients, targets, (size_t)(m * d->k) * sizeof(double));
out:
    return rc;
}

/* The library without the points that are gone; vectors are n rows of m numbers, which lose those
 * behind the first `count`. */
static mercer_status leave_out(mrc_library *lib, mercer_ctx *ctx, const bool *gone, int64_t count,
                               double *vectors, int64_t n, mercer_error *err)
{
    int64_t m = lib->count, *kept = NULL, at = 0;
    double *factor = lib->factor;
    mercer_rows *rows = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&kept, count, sizeof *kept, err));
    for (int64_t j = 0; j < m; j++)
        if (!gone[j])
            kept[at++] = j;
    MRC_TRY(mrc_rows_take(lib->rows, kept, count, &rows, err));
    for (int64_t i = 0; i < count; i++)
        memmove(factor + i * m, factor + kept[i] * m, (size_t)m * sizeof *factor);
    mercer_rows_free(lib->rows);
    lib->rows = rows;
    lib->count = count;
    MRC_TRY(mrc_lower_from_rows(ctx, count, m, kept, factor, n, vectors, err));
    for (int64_t i = 0; i < count; i++)
        memmove(factor + i * count, factor + i * m, (size_t)count * sizeof *factor);
    for (int64_t i = 0; i < n; i++)
        memmove(vectors + i * count, vectors + i * m, (size_t)count * sizeof *vectors);
out:
    mrc_free(kept);
    return rc;
}

/* One factor's worth of drops; vectors as in leave_out(), the first k of them the targets. */
static mercer_status drop_round(mrc_library *lib, mercer_ctx *ctx, double *vectors, int64_t k,
                                int64_t n, int64_t most, double floor, mercer_error *err)
{
    int64_t m = lib->count;
    struct dropping d = {.m = m, .k = k, .goal = m - most};
    double *targets = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&targets, m, k, sizeof *targets, err));
    mrc_transpose(vectors, k, m, targets);
    MRC_TRY(dropping_init(&d, lib, targets, floor, err));
    MRC_TRY(mrc_parfor_checked(ctx, (m + STRIP - 1) / STRIP, invert_strip, &d, err));
    mrc_serial(ctx, begin, &d);
    while (!d.ended) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        mrc_serial(ctx, drop_some, &d);
    }
    if (d.count == 0)
        MRC_FAIL(err, MERCER_ERR_NUMERIC,
                 "the points of the library cannot be told apart: rounding has taken their factor");
    MRC_TRY(leave_out(lib, ctx, d.gone, m - d.count, vectors, n, err));
out:
    dropping_destroy(&d);
    mrc_free(targets);
    return rc;
}

mercer_status mrc_library_drop(mrc_library *lib, mercer_ctx *ctx, int64_t most, double tolerance,
                               double *targets, int64_t k, double *rows, int64_t n,
                               mercer_error *err)
{
    int64_t m = lib->count;
    double *vectors = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&vectors, k + n, m, sizeof *vectors, err));
    mrc_transpose(targets, m, k, vectors);
    if (n > 0)
        memcpy(vectors + k * m, rows, (size_t)(n * m) * sizeof *vectors);
    while (lib->count > most)
        MRC_TRY(drop_round(lib, ctx, vectors, k, k + n, most, tolerance * tolerance * lib->largest,
                           err));
    m = lib->count;
    mrc_transpose(vectors, k, m, targets);
    if (n > 0)
        memcpy(rows, vectors + k * m, (size_t)(n * m) * sizeof *vectors);
out:
    mrc_free(vectors);
    return rc;
}
