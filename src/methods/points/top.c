/* SPDX-License-Identifier: BSD-3-Clause */
/* criterion=top of rkpca: rows by how much the m largest eigenvalues of the scatter grow with them.
 *
 * With theta, V the eigenpairs of U~'U~ (U~ = H U: coordinates so far, H = I - 11'/n or I), the
 * scatter with row z is the arrowhead matrix of theta, the border c = V' U~' K^i_z / sqrt(K^i_zz)
 * and the corner |H K^i_z|^2 / K^i_zz, whose eigenvalues are the roots of
 *     x - corner - sum_j c_j^2 / (x - theta_j),
 * one above each theta. T = U~' K^i follows by deflation. Up to m points the score is the corner;
 * beyond, a step costs n i^2 for c and n m i for the roots, for all candidates.
 *
 * Errors of T. They stay in it: deflation takes K^i down, but not what rounding has put there. In
 * the terms of gram/residual.c (u, g, s_z, T there is S here: S^2 = sum s_z^2) entry (k, z) of T is
 * off by at most s_z a_k, where a_k starts with what the image K^i H u_k has,
 *     g(n) u S |u~_k|, and g(n) u |u_k| sqrt(tr K^i) by the mean subtracted from u_k
 * (low-rank: its errors of S instead), and grows with each point l by
 *     g(n) u |u_k| |u~_l|                        the product u_k.u~_l, times |u_l(z)| <= s_z
 *     g(2) u (|u~_k| sqrt(tr K^i) + |u_k.u~_l|)  the subtraction.
 * For nearly constant u the first and the mean exceed all else: |u_k| is hundreds of |u~_k|. So
 * c_j is off by dc_j = s_z b_j / sqrt(K^i_zz), b_j^2 = sum_k (V_kj a_k)^2, errors having signs of
 * their own. From row z of K^i itself entries are off by e = g(i) u s_z s_t, and b_j =
 * sqrt(theta_j) g(i) u max s + g(n) u sqrt(tr K^i tr U~'U~): such columns are what a row in doubt
 * gets.
 *
 * The score f grows with every |c_j| and is convex in c (a sum of the largest eigenvalues of a
 * matrix that is linear in c): f(|c| + dc) - f(c) bounds its error on both sides. Two bounds need
 * no roots: the positive eigenvalue of the arrowhead matrix of 0, dc and 0 is |dc|; and as images
 * x, x + dx, |x|^2 = corner, |dx|^2 = sum_j dc_j^2 / theta_j, change f by 2 |x| |dx| + |dx|^2 at
 * most. What theta and V are off by is the same for all rows and cannot be mended row by row; the
 * roots are within 4 eps. Both stay below what the entries of K^i leave open (test_top.c). */
#include "methods/points/top.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

enum { TILE = 256, GROUP = 64 }; /* candidates whose borders, or columns, are computed at once */

void mrc_top_destroy(mrc_top *t)
{
    mrc_free(t->images);
    mrc_free(t->scatter);
    mrc_free(t->newest);
    mrc_free(t->length);
    mrc_free(t->off);
    mrc_free(t->size);
    mrc_free(t->renewed);
    mrc_free(t->carried);
    mrc_free(t->fresh);
    mrc_free(t->theta);
    mrc_free(t->vectors);
    mrc_free(t->border);
}

static mercer_status top_reserve(mrc_top *t, int64_t n, mercer_error *err)
{
    int64_t old = t->capacity, wanted = old ? 2 * old : 16;
    mercer_status rc = MERCER_OK;
    if (t->count < old)
        return MERCER_OK;
    MRC_TRY(mrc_grow(&t->images, wanted * n, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->scatter, wanted * wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->newest, n, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->size, n, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->length, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->off, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->carried, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->fresh, wanted, sizeof(double), err));
    if (!t->renewed)
        MRC_TRY(mrc_alloc(&t->renewed, n, sizeof *t->renewed, err));
    MRC_TRY(mrc_grow(&t->theta, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->vectors, wanted * wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->border, t->ctx->threads * wanted * (TILE + 1), sizeof(double), err));
    for (int64_t i = old - 1; i > 0; i--) /* rows move to their new places, the last one first */
        memmove(t->scatter + i * wanted, t->scatter + i * old, (size_t)old * sizeof(double));
    t->capacity = wanted;
out:
    return rc;
}

/* g(terms) u: as in gram/residual.c. */
static double rounding_of(int64_t terms)
{
    return 4 * sqrt((double)terms) * (DBL_EPSILON / 2);
}

/* a_k of all points; the newest one's products are in the last row of the scatter. */
static void bound_images(mrc_top *t, const mrc_residual_gram *def, const double *u)
{
    int64_t n = def->n, k = t->count;
    const double *dots = t->scatter + k * t->capacity;
    double total2 = 0, before = 0, length2 = 0, data = sqrt(dots[k]), image;
    t->left = 0;
    for (int64_t z = 0; z < n; z++) {
        double size2 = def->size[z] * def->size[z] + u[z] * u[z];
        t->size[z] = sqrt(size2);
        total2 += size2;
        length2 += u[z] * u[z];
        t->left += fmax(def->residual[z], 0);
        before += fmax(def->residual[z], 0) + u[z] * u[z];
    }
    t->length[k] = sqrt(length2);
    for (int64_t j = 0; j < k; j++)
        t->off[j] +=
            rounding_of(n) * t->length[j] * data +
            rounding_of(2) * (sqrt(t->scatter[j * (t->capacity + 1)] * before) + fabs(dots[j]));
    if (def->inner) {
        double trace = fmax(t->trace, def->inner_trace);
        double rows = rounding_of(n) * sqrt(total2);
        image = (rounding_of(n + 4 * def->inner_steps) + rounding_of(n)) * trace +
                (2 * sqrt(trace) + rows) * rows;
    } else {
        image = rounding_of(n + k) * sqrt(total2) * data;
        if (t->about_mean)
            image += rounding_of(n) * t->length[k] * sqrt(before);
    }
    t->off[k] = image;
}

/* b_j of all borders. */
static void bound_borders(mrc_top *t, int64_t n)
{
    int64_t count = t->count;
    double most = 0, trace = 0;
    for (int64_t z = 0; z < n; z++)
        most = fmax(most, t->size[z]);
    for (int64_t j = 0; j < count; j++)
        trace += fmax(t->theta[j], 0);
    for (int64_t j = 0; j < count; j++) {
        double sum = 0, along = rounding_of(count + 8) * most * sqrt(fmax(t->theta[j], 0));
        for (int64_t k = 0; k < count; k++)
            sum += pow(t->vectors[j * count + k] * t->off[k], 2);
        t->carried[j] = sqrt(sum);
        t->fresh[j] = along + rounding_of(n) * sqrt(t->left * trace);
    }
}

/* u~ = H u; may be u itself. */
static void take_mean_off(const mrc_top *t, const double *u, int64_t n, double *out)
{
    double mean = 0;
    for (int64_t i = 0; t->about_mean && i < n; i++)
        mean += u[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        out[i] = u[i] - mean;
}

/* Take the newest point of the selection into account. */
static mercer_status top_follow(mrc_top *t, const mrc_residual_gram *def, mercer_error *err)
{
    int64_t n = def->n, k = t->count;
    const double *u = def->projections + k * n;
    double *dots;
    mercer_status rc = MERCER_OK;
    MRC_TRY(top_reserve(t, n, err));
    take_mean_off(t, u, n, t->newest);
    dots = t->scatter + k * t->capacity;
    MRC_TRY(mrc_wide_dots(t->ctx, def->projections, k + 1, n, t->newest, dots, err));
    for (int64_t j = 0; j < k; j++) {
        double *image = t->images + j * n;
        t->scatter[j * t->capacity + k] = dots[j];
        for (int64_t i = 0; i < n; i++)
            image[i] -= dots[j] * u[i];
    }
    memcpy(t->images + k * n, def->image, (size_t)n * sizeof *u);
    bound_images(t, def, u);
    t->count++;
out:
    return rc;
}

/* How far the k-th eigenvalue of the arrowhead matrix lies above theta_k: the root of the secular
 * equation by rational interpolation between its poles, kept inside a bracket. */
static double shift_of(const double *theta, const double *squares, int64_t count, double corner,
                       int64_t k)
{
    bool last = k + 1 == count;
    double base = theta[k], low = 0, high = last ? 0 : theta[k + 1] - base, gap = high;
    for (int64_t j = 0; last && j < count; j++)
        high += squares[j];
    if (last)
        high = fmax(corner - base, 0) + sqrt(high);
    double y = high / 2;
    for (int step = 0; step < 100 && high > 0; step++) {
        double left = 0, left_slope = 0, right = base + y - corner, slope = 1, next;
        for (int64_t j = 0; j <= k; j++) {
            double r = 1 / (y + (base - theta[j]));
            left += squares[j] * r;
            left_slope += squares[j] * r * r;
        }
        for (int64_t j = k + 1; j < count; j++) {
            double r = 1 / (y + (base - theta[j]));
            right -= squares[j] * r;
            slope += squares[j] * r * r;
        }
        if (right < left)
            low = y;
        else
            high = y;
        /* left ~ s + q / y; right ~ t + p / (gap - y), or straight above the last pole. */
        double q = left_slope * y * y, s = left - left_slope * y;
        if (last) {
            double w = right - slope * y - s, root = sqrt(w * w + 4 * slope * q);
            next = w > 0 ? 2 * q / (w + root) : (root - w) / (2 * slope);
        } else {
            double p = slope * (gap - y) * (gap - y), w = right - slope * (gap - y) - s;
            double b = w * gap + p + q, root = sqrt(fmax(b * b - 4 * w * q * gap, 0));
            next = b > 0 ? 2 * q * gap / (b + root) : (b - root) / (2 * w);
        }
        if (!(next > low && next < high))
            next = (low + high) / 2;
        if (fabs(next - y) <= 4 * DBL_EPSILON * y)
            return next;
        y = next;
    }
    return y;
}

static void judge_tile(void *arg, int64_t task, int worker)
{
    const mrc_top *t = arg;
    const mrc_selection *s = t->selection;
    int64_t n = s->def.n, count = t->count, first = task * TILE;
    int64_t cols = n - first < TILE ? n - first : TILE;
    double *border = t->border + (int64_t)worker * t->capacity * (TILE + 1);
    double *squares = border + count * TILE;
    mrc_gemm(false, false, count, cols, count, 1, t->vectors, count, t->images + first, n, 0,
             border, TILE);
    for (int64_t z = 0; z < cols; z++) {
        double left = s->def.residual[first + z], gain = 0;
        if (left <= s->least_residual)
            continue;
        for (int64_t j = 0; j < count; j++)
            squares[j] = border[j * TILE + z] * border[j * TILE + z] / left;
        for (int64_t k = count - t->wanted; k < count; k++)
            gain += shift_of(t->theta, squares, count, s->def.energy[first + z] / left, k);
        t->scores[first + z] = gain;
    }
}

mercer_status mrc_top_scores(void *self, const mrc_selection *s, double *scores, mercer_error *err)
{
    mrc_top *t = self;
    int64_t n = s->def.n;
    mercer_status rc = MERCER_OK;
    if (t->count < s->def.count)
        MRC_TRY(top_follow(t, &s->def, err));
    t->trace = s->def.inner_trace;
    if (t->count < t->wanted) { /* all eigenvalues count */
        for (int64_t j = 0; j < n; j++)
            if (s->def.residual[j] > s->least_residual)
                scores[j] = s->def.energy[j] / s->def.residual[j];
        goto out;
    }
    t->selection = s;
    t->scores = scores;
    for (int64_t i = 0; i < t->count; i++)
        memcpy(t->vectors + i * t->count, t->scatter + i * t->capacity,
               (size_t)t->count * sizeof(double));
    MRC_TRY(mrc_eigen_symmetric(t->ctx, t->count, t->vectors, t->theta, err));
    bound_borders(t, n);
    mrc_parfor(t->ctx, (n + TILE - 1) / TILE, judge_tile, t);
    rc = mrc_check_cancel(t->ctx, err);
out:
    return rc;
}

double mrc_top_error(const void *self, const mrc_selection *s, int64_t z, double reach)
{
    const mrc_top *t = self;
    int64_t n = s->def.n, count = t->count;
    if (count < t->wanted)
        return 0;
    const double *off = t->renewed[z] == count ? t->fresh : t->carried;
    double left = s->def.residual[z], corner = fmax(s->def.energy[z], 0) / left, moved = 0;
    double border = 0, image = 0, *squares = t->border;
    for (int64_t j = 0; j < count; j++) {
        double own = t->size[z] * off[j] / sqrt(left);
        border += own * own;
        image += own * own / fmax(t->theta[j], DBL_MIN);
    }
    double most = fmin(sqrt(border), (2 * sqrt(corner) + sqrt(image)) * sqrt(image));
    if (most < reach)
        return most;
    for (int64_t j = 0; j < count; j++) {
        double c = 0;
        for (int64_t k = 0; k < count; k++)
            c += t->vectors[j * count + k] * t->images[k * n + z];
        squares[j] = pow(fabs(c) + t->size[z] * off[j], 2) / left;
    }
    for (int64_t k = count - t->wanted; k < count; k++)
        moved += shift_of(t->theta, squares, count, s->def.energy[z] / left, k);
    return fmin(fmax(moved - s->scores[z], 0), most);
}

/* Columns of T from K^i: U~' (K_z - U U_z - mean). */
mercer_status mrc_top_renew(void *self, const mrc_selection *s, const int64_t *rows, int64_t count,
                            mercer_error *err)
{
    mrc_top *t = self;
    const mrc_residual_gram *def = &s->def;
    int64_t n = def->n, points = t->count;
    double *block = NULL, *dots = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&block, count < GROUP ? count : GROUP, n, sizeof *block, err));
    MRC_TRY(mrc_alloc(&dots, GROUP, sizeof *dots, err));
    for (int64_t first = 0; first < count; first += GROUP) {
        int64_t size = count - first < GROUP ? count - first : GROUP;
        MRC_TRY(mrc_check_cancel(t->ctx, err));
        MRC_TRY(mrc_gram_columns(def->gram, rows + first, size, block, err));
        for (int64_t i = 0; i < size; i++) {
            double *row = block + i * n;
            for (int64_t k = 0; k < points; k++) {
                const double *u = def->projections + k * n;
                double own = u[rows[first + i]];
                for (int64_t z = 0; z < n; z++)
                    row[z] -= own * u[z];
            }
            take_mean_off(t, row, n, row);
            t->renewed[rows[first + i]] = points;
        }
        for (int64_t k = 0; k < points; k++) {
            take_mean_off(t, def->projections + k * n, n, t->newest);
            MRC_TRY(mrc_wide_dots(t->ctx, block, size, n, t->newest, dots, err));
            for (int64_t i = 0; i < size; i++)
                t->images[k * n + rows[first + i]] = dots[i];
        }
    }
out:
    mrc_free(block);
    mrc_free(dots);
    return rc;
}
