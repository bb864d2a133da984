/* SPDX-License-Identifier: BSD-3-Clause */
/* The lasso path by its corners (Osborne, Presnell, Turlach 2000; Efron et al. 2004).
 *
 * At price p, with s the signs of the entries in use (set A) and c = G(w - b): c_A = p s, and
 * |c_i| <= p elsewhere. As p falls by t, b_A moves by t d, d = G_AA^-1 s, and c by -t G d. The next
 * corner is where some |c_i| meets the price (i joins) or some entry of b_A comes to zero (it
 * leaves). A Cholesky factor of G_AA is kept through both. Each corner costs n |A| for G d; of G
 * only the columns of A are asked for. */
#include "linalg/lasso.h"

#include "linalg/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DEPENDENT = 1e-10; /* of G_ii, that the entries in use must leave */
static const double LAST = 1e-12;      /* of the first price: what is below is rounding */
static const double TIE = 1e-12;       /* of the price: corners this near are one */
enum { TURNS = 8 }; /* times the entries wanted: met only where ties go round in circles */

struct path {
    mercer_ctx *ctx;
    const mrc_lasso_matrix *matrix;
    int64_t n, used;
    double price;
    double *c;          /* n: G(w - b) */
    double *image;      /* n: G d */
    double *columns;    /* used x n: G e_i of the entries in use; grows */
    double *factor;     /* Cholesky factor of G_AA, row i at i (i + 1) / 2; grows */
    int64_t *row;       /* most + 1: the entries in use, */
    double *sign;       /* their signs, */
    double *b;          /* values */
    double *d;          /* and directions */
    unsigned char *out; /* n: one of the following */
};

/* SPANNED: depends on those in use; LEFT: at the last corner. */
enum state { FREE, IN_USE, SPANNED, LEFT };

static void destroy(struct path *p)
{
    mrc_free(p->c);
    mrc_free(p->image);
    mrc_free(p->columns);
    mrc_free(p->factor);
    mrc_free(p->row);
    mrc_free(p->sign);
    mrc_free(p->b);
    mrc_free(p->d);
    mrc_free(p->out);
}

static mercer_status reserve(struct path *p, int64_t most, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&p->c, p->n, sizeof *p->c, err));
    MRC_TRY(mrc_alloc(&p->image, p->n, sizeof *p->image, err));
    MRC_TRY(mrc_alloc(&p->row, most + 1, sizeof *p->row, err));
    MRC_TRY(mrc_alloc(&p->sign, most + 1, sizeof *p->sign, err));
    MRC_TRY(mrc_alloc(&p->b, most + 1, sizeof *p->b, err));
    MRC_TRY(mrc_alloc(&p->d, most + 1, sizeof *p->d, err));
    MRC_TRY(mrc_alloc(&p->out, p->n, 1, err));
out:
    return rc;
}

/* ---- the factor ---- */

static double *factor_row(const struct path *p, int64_t i)
{
    return p->factor + i * (i + 1) / 2;
}

/* x = L^-1 x for the first `count` rows of L. */
static void solve_lower(const struct path *p, int64_t count, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        const double *row = factor_row(p, i);
        x[i] = (x[i] - mrc_dot(row, x, i)) / row[i];
    }
}

/* x = G_AA^-1 x. */
static void solve(const struct path *p, double *x)
{
    solve_lower(p, p->used, x);
    for (int64_t i = p->used - 1; i >= 0; i--) {
        const double *row = factor_row(p, i);
        x[i] /= row[i];
        for (int64_t j = 0; j < i; j++)
            x[j] -= row[j] * x[i];
    }
}

/* Take entry i in; *joined is false when it depends on those in use. */
static mercer_status join(struct path *p, int64_t i, bool *joined, mercer_error *err)
{
    int64_t m = p->used;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_grow(&p->columns, (m + 1) * p->n, sizeof *p->columns, err));
    MRC_TRY(mrc_grow(&p->factor, (m + 1) * (m + 2) / 2, sizeof *p->factor, err));
    double *column = p->columns + m * p->n, *last = factor_row(p, m);
    MRC_TRY(p->matrix->column(p->matrix->self, i, column, err));
    for (int64_t a = 0; a < m; a++)
        last[a] = column[p->row[a]];
    solve_lower(p, m, last);
    double pivot = column[i] - mrc_dot(last, last, m);
    *joined = pivot > DEPENDENT * column[i];
    p->out[i] = *joined ? IN_USE : SPANNED;
    if (*joined) {
        last[m] = sqrt(pivot);
        p->row[m] = i;
        p->sign[m] = p->c[i] < 0 ? -1 : 1;
        p->b[m] = 0;
        p->used++;
    }
out:
    return rc;
}

/* Let the entry at place `at` go: rotations make L triangular again. What depended on it may be
 * free now. */
static void leave(struct path *p, int64_t at)
{
    int64_t m = --p->used;
    for (int64_t i = 0; i < p->n; i++)
        if (p->out[i] == SPANNED)
            p->out[i] = FREE;
    p->out[p->row[at]] = LEFT;
    for (int64_t k = at; k < m; k++) {
        const double *below = factor_row(p, k + 1);
        double x = below[k], y = below[k + 1], r = hypot(x, y), cosine = x / r, sine = y / r;
        for (int64_t i = k + 1; i <= m; i++) {
            double *row = factor_row(p, i), left = row[k], right = row[k + 1];
            row[k] = cosine * left + sine * right;
            row[k + 1] = cosine * right - sine * left;
        }
        memmove(factor_row(p, k), below, (size_t)(k + 1) * sizeof *below);
        p->row[k] = p->row[k + 1];
        p->sign[k] = p->sign[k + 1];
        p->b[k] = p->b[k + 1];
    }
    memmove(p->columns + at * p->n, p->columns + (at + 1) * p->n,
            (size_t)((m - at) * p->n) * sizeof *p->columns);
}

/* ---- corners ---- */

/* How far the price falls until entry i joins; INFINITY: it does not. */
static double time_to_join(const struct path *p, int64_t i)
{
    double least = INFINITY;
    if (p->out[i] == IN_USE || p->out[i] == SPANNED)
        return least;
    for (int sign = -1; sign <= 1; sign += 2) {
        double closing = 1 - sign * p->image[i];
        /* One that has just left stands at its own side of the price, and goes away from it. */
        if (closing > 0 && !(p->out[i] == LEFT && sign * p->c[i] > 0))
            least = fmin(least, fmax(p->price - sign * p->c[i], 0) / closing);
    }
    return least;
}

/* The next corner: *joining, an entry, or *leaving, a place; -1: neither. Returns how far it is. */
static double find_corner(const struct path *p, int64_t *joining, int64_t *leaving)
{
    double nearest = p->price;
    *joining = *leaving = -1;
    for (int64_t i = 0; i < p->n; i++) {
        double time = time_to_join(p, i);
        if (time < nearest - (*joining < 0 ? 0 : TIE * p->price)) {
            nearest = time;
            *joining = i;
        }
    }
    for (int64_t a = 0; a < p->used; a++) {
        double time = p->sign[a] * p->d[a] < 0 ? fabs(p->b[a] / p->d[a]) : INFINITY;
        if (time < nearest) {
            nearest = time;
            *leaving = a;
            *joining = -1;
        }
    }
    return nearest;
}

static void turn(struct path *p)
{
    memcpy(p->d, p->sign, (size_t)p->used * sizeof *p->d);
    solve(p, p->d);
    mrc_wide_times(p->ctx, p->columns, p->used, p->n, 1, p->d, 0, p->image);
}

static void walk(struct path *p, double time)
{
    for (int64_t i = 0; i < p->n; i++)
        p->c[i] -= time * p->image[i];
    for (int64_t a = 0; a < p->used; a++)
        p->b[a] += time * p->d[a];
    p->price -= time;
}

/* From b = 0 to the corner where entry most + 1 would join. */
static mercer_status follow(struct path *p, int64_t most, mercer_error *err)
{
    double first = p->price;
    bool turned = false, joined;
    mercer_status rc = MERCER_OK;
    for (int64_t turns = 0; turns < TURNS * most && p->price > LAST * first;) {
        int64_t joining, leaving;
        MRC_TRY(mrc_check_cancel(p->ctx, err));
        if (!turned) {
            turn(p);
            turns++;
        }
        walk(p, find_corner(p, &joining, &leaving));
        turned = true;
        for (int64_t i = 0; i < p->n; i++)
            p->out[i] = p->out[i] == LEFT ? FREE : p->out[i];
        if (leaving >= 0) {
            leave(p, leaving);
            turned = false;
        } else if (joining >= 0) {
            MRC_TRY(join(p, joining, &joined, err));
            turned = !joined;
        }
        if (p->used > most) { /* one too many, and not one that depends on the others */
            p->out[p->row[--p->used]] = FREE;
            break;
        }
    }
out:
    return rc;
}

/* b_A = G_AA^-1 ((Gw)_A - price s), in increasing order of the rows. */
static void report(struct path *p, const double *aim, int64_t *rows, double *values, int64_t *count)
{
    for (int64_t a = 0; a < p->used; a++)
        p->b[a] = aim[p->row[a]] - p->price * p->sign[a];
    solve(p, p->b);
    for (int64_t a = 0; a < p->used; a++)
        p->image[p->row[a]] = p->b[a];
    *count = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->out[i] == IN_USE && p->image[i] != 0) {
            rows[*count] = i;
            values[(*count)++] = p->image[i];
        }
}

mercer_status mrc_lasso_path(mercer_ctx *ctx, const mrc_lasso_matrix *matrix, const double *aim,
                             int64_t most, int64_t *rows, double *values, int64_t *count,
                             double *price, mercer_error *err)
{
    struct path p = {.ctx = ctx, .matrix = matrix, .n = matrix->n};
    int64_t start = 0;
    bool joined = false;
    mercer_status rc = MERCER_OK;
    most = most < p.n ? most : p.n;
    *count = 0;
    MRC_TRY(reserve(&p, most, err));
    memcpy(p.c, aim, (size_t)p.n * sizeof *aim);
    for (int64_t i = 0; i < p.n; i++) {
        double modulus = fabs(aim[i]);
        if (modulus > p.price * (1 + TIE)) {
            p.price = modulus;
            start = i;
        }
    }
    if (p.price > 0)
        MRC_TRY(join(&p, start, &joined, err));
    if (joined) {
        MRC_TRY(follow(&p, most, err));
        report(&p, aim, rows, values, count);
    }
    if (price)
        *price = p.price;
out:
    destroy(&p);
    return rc;
}
