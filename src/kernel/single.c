/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel values from products in single precision, which take half the time.
 *
 * Rows are shifted by the column means, as for products of doubles, and each is multiplied by a
 * power of two that brings its length to .7 .. 2, so that no product leaves the range of floats.
 * Then a sum of products, in parts of 192 columns (panel_products.h), is off by some eps |x| |y|,
 * eps = 2^-23: one at usual pairs, 4 seen at pairs that are near each other, where roundings of
 * sums that grow have one sign, 200 in theory. So is |x|^2 + |y|^2 - 2 x.y, which is made in
 * doubles. A value k(r) of a distance r moves by |r k'(r)| of the relative error of r, and that is
 * .37 for rbf, less than .6 for the others. Pairs whose distance is less than 1/16 of |x|^2 + |y|^2
 * are computed again from differences of doubles, so values are off by 4 x 16 x .4 eps = 3e-6 at
 * most as far as seen, and by 1e-7 usually.
 *
 * Where many pairs are near each other, one by one they would take longer than the products. */
#include "kernel/single.h"

#include "kernel/named.h"
#include "linalg/panel.h"

#include <math.h>

static const double SHARE = 1.0 / 16; /* of |x|^2 + |y|^2; a distance below it is computed again */
enum {
    FEW = 64,  /* one pair in 64 may be computed again */
    LINE = 16, /* floats of a cache line */
};

bool mrc_single_serves(const mrc_kernel *kernel, const mrc_points *points, const mercer_rows *rows)
{
    return mrc_kernel_takes_products(kernel, points) && points->norm2 && rows->packed &&
           rows->dtype != MRC_F64 && mrc_kernel_def_of(kernel)->term == MRC_TERM_SQUARE;
}

/* Behind each other: two rows of doubles, two factors for each row, floats of both sides. */
int64_t mrc_single_size(const mrc_points *points, int64_t tile)
{
    return 2 * points->d + 2 * tile + tile * points->d + LINE;
}

/* The power of two by which a row is multiplied. */
static double factor_of(double norm2)
{
    int exponent;
    if (!(norm2 > 0))
        return 1;
    frexp(norm2, &exponent); /* of a squared float, at least 2^-298 */
    return ldexp(1, 1 - (exponent + 1) / 2);
}

/* Rows from `first` on as floats, row stride d, and what their products are to be multiplied with.
 */
static void round_rows(const mrc_points *points, int64_t first, int64_t count, double *scratch,
                       float *to, double *units)
{
    for (int64_t i = 0; i < count; i++, to += points->d) {
        const double *x = mrc_points_row(points, first + i, scratch);
        double factor = factor_of(points->norm2[first + i]);
        units[i] = 1 / factor;
        for (int64_t k = 0; k < points->d; k++)
            to[k] = (float)(factor * x[k]);
    }
}

/* Distances of one row that are too small a share of the norms. */
static int64_t count_near(const double *row, int64_t nb, double norm_a, const double *norm_b)
{
    int64_t near = 0;
    for (int64_t j = 0; j < nb; j++)
        near += !(row[j] >= SHARE * (norm_a + norm_b[j]));
    return near;
}

/* Such distances once more from differences. scratch: two rows. */
static void repair_near(const mrc_points *points, int64_t i, int64_t b0, int64_t nb,
                        double *scratch, double *row)
{
    const double *a = mrc_points_row(points, i, scratch);
    for (int64_t j = 0; j < nb; j++) {
        if (row[j] >= SHARE * (points->norm2[i] + points->norm2[b0 + j]))
            continue;
        const double *b = mrc_points_row(points, b0 + j, scratch + points->d);
        double sum = 0;
        for (int64_t k = 0; k < points->d; k++)
            sum += (a[k] - b[k]) * (a[k] - b[k]);
        row[j] = sum;
    }
}

bool mrc_single_tile(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *points,
                     int64_t a0, int64_t na, int64_t b0, int64_t nb, int64_t tile, double *space,
                     int64_t *column, double *out, int64_t ldo)
{
    const mrc_simd_loops *loops = mrc_simd_loops_for(ctx->simd);
    const mrc_kernel_part *part = &kernel->part[0];
    int64_t d = points->d, near = 0, groups = (nb + MRC_PACK_SINGLE - 1) / MRC_PACK_SINGLE;
    double *unit_a = space + 2 * d, *unit_b = unit_a + tile;
    float *rows = (float *)(void *)(unit_b + tile);
    float *packed = rows + tile * d;
    packed += (LINE - (uintptr_t)packed / sizeof *packed % LINE) % LINE;
    if (*column != b0) {
        round_rows(points, b0, nb, space, rows, unit_b);
        mrc_pack_rows_single(rows, d, nb, d, packed);
        *column = b0;
    }
    round_rows(points, a0, na, space, rows, unit_a);
    mrc_panel_loops_for(ctx->simd)->products_single(rows, d, na, d, packed, groups, out, ldo);
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo, norm_a = points->norm2[a0 + i];
        for (int64_t j = 0; j < nb; j++)
            row[j] *= unit_a[i] * unit_b[j];
        loops->distances_from_dots(row, nb, norm_a, points->norm2 + b0);
        near += count_near(row, nb, norm_a, points->norm2 + b0);
    }
    if (near * FEW > na * nb)
        return false;
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo;
        if (near > 0)
            repair_near(points, a0 + i, b0, nb, space, row);
        if (part->def->value)
            part->def->value(part, loops, row, nb);
    }
    return true;
}
