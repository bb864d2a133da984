/* SPDX-License-Identifier: BSD-3-Clause */
/* Least absolute deviations by descent along edges (Barrodale, Roberts 1973; Bloomfield, Steiger
 * 1980), in the form of a simplex method with long steps.
 *
 * A vertex is a basis B of p rows without residual, c = A_B^-1 y_B. With signs s_i of the other
 * residuals, z_B = -A_B^-T sum_i s_i a_i are the multipliers of the basis; |z_b| <= 1 for all b
 * proves the optimum. Else leaving row b along d = -+A_B^-1 e_b has slope 1 - |z_b| < 0, to which
 * each residual that passes zero adds 2 |a_i'd|: the row at which the slope turns, a weighted
 * median of the ratios r_i / a_i'd, enters. A new column is a first edge along which no row is
 * left.
 *
 * Ties (duplicates, equal labels) make vertices of more than p rows, where a plain method can turn
 * round in circles. Here y_i stands for y_i + epsilon tilt_i, epsilon infinitesimal and tilt_i
 * fixed pseudo-random numbers: residuals that are 0 have a ghost that is not, and every step falls.
 * The basis found is optimal for y itself. Cost of a step: 4 n p for the edge and the multipliers,
 * n for the median, p^2 for the inverse, which is computed anew every RENEW steps. */
#include "linalg/lad.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double ZERO = 0x1p-44;    /* of the terms of a residual: what their rounding makes */
static const double DEPENDENT = 1e-10; /* what a new column must leave of itself */
static const double PIVOT = 1e-10;     /* of the steepest row along an edge: one that may enter */
static const double SLACK = 1e-9;      /* of a multiplier above 1 */
enum { RENEW = 64 };                   /* steps after which the inverse is computed anew */
enum { PATIENCE = 4 }; /* times n + p steps without a gain: only rounding moves it then */

mercer_status mrc_lad_init(mrc_lad *lad, mercer_ctx *ctx, const double *y, int64_t n, int64_t most,
                           mercer_error *err)
{
    mrc_rng rng;
    mercer_status rc = MERCER_OK;
    memset(lad, 0, sizeof *lad);
    lad->ctx = ctx;
    lad->n = n;
    lad->most = most;
    lad->y = y;
    MRC_TRY(mrc_alloc(&lad->coefficients, most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->residual, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->used, most, sizeof *lad->used, err));
    MRC_TRY(mrc_alloc(&lad->basis, most, sizeof *lad->basis, err));
    MRC_TRY(mrc_alloc2(&lad->inverse, most, most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->ghost, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->tilt, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->sign, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->edge, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->key, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->list, n, sizeof *lad->list, err));
    MRC_TRY(mrc_alloc2(&lad->small, most, 2 * most + 3, sizeof(double), err));
    MRC_TRY(mrc_alloc(&lad->size, most, sizeof(double), err));
    mrc_rng_seed(&rng, 1);
    for (int64_t i = 0; i < n; i++)
        lad->tilt[i] = (mrc_rng_uniform(&rng) + 1) * (mrc_rng_uniform(&rng) < 0.5 ? -1 : 1);
out:
    if (rc != MERCER_OK)
        mrc_lad_destroy(lad);
    return rc;
}

void mrc_lad_destroy(mrc_lad *lad)
{
    mrc_free(lad->coefficients);
    mrc_free(lad->residual);
    mrc_free(lad->used);
    mrc_free(lad->basis);
    mrc_free(lad->inverse);
    mrc_free(lad->ghost);
    mrc_free(lad->tilt);
    mrc_free(lad->sign);
    mrc_free(lad->edge);
    mrc_free(lad->key);
    mrc_free(lad->list);
    mrc_free(lad->small);
    mrc_free(lad->size);
    memset(lad, 0, sizeof *lad);
}

/* ---- the vertex ---- */

/* Residuals as they count: none that is rounding, none in the basis; and their signs. */
static void drop_rounding(mrc_lad *lad)
{
    for (int64_t b = 0; b < lad->count; b++)
        lad->residual[lad->basis[b]] = lad->ghost[lad->basis[b]] = 0;
    lad->loss = 0;
    for (int64_t i = 0; i < lad->n; i++) {
        if (fabs(lad->residual[i]) <= lad->zero)
            lad->residual[i] = 0;
        double of = lad->residual[i] != 0 ? lad->residual[i] : lad->ghost[i];
        lad->sign[i] = (of > 0) - (of < 0);
        lad->loss += fabs(lad->residual[i]);
    }
}

/* values - A c into out, c being the fit through the values of the basis; c goes to small. Done
 * twice, the second time for what the rounding of a bad basis has left in its rows. */
static void subtract_fit(mrc_lad *lad, const double *a, const double *values, double *out)
{
    double *whole = lad->small; /* c over all columns */
    memset(whole, 0, (size_t)lad->most * sizeof *whole);
    memcpy(out, values, (size_t)lad->n * sizeof *out);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < lad->count; j++)
            for (int64_t b = 0; b < lad->count; b++)
                whole[lad->used[j]] += lad->inverse[j * lad->count + b] * out[lad->basis[b]];
        memcpy(out, values, (size_t)lad->n * sizeof *out);
        mrc_wide_times(lad->ctx, a, lad->columns, lad->n, -1, whole, 1, out);
    }
}

/* How large the terms are that a residual is the difference of. */
static double size_of_terms(const mrc_lad *lad)
{
    double most = 0;
    for (int64_t i = 0; i < lad->n; i++)
        most = fmax(most, fabs(lad->y[i]));
    for (int64_t j = 0; j < lad->columns; j++)
        most += lad->size[j] * fabs(lad->coefficients[j]);
    return most;
}

/* Everything from the basis alone, free of what rounding has added up to. */
static mercer_status renew(mrc_lad *lad, const double *a, mercer_error *err)
{
    int64_t p = lad->count;
    double *square = lad->small + 3 * lad->most, *inverse = square + lad->most * lad->most;
    bool singular;
    mercer_status rc = MERCER_OK;
    for (int64_t b = 0; b < p; b++)
        for (int64_t j = 0; j < p; j++) {
            square[b * p + j] = a[lad->used[j] * lad->n + lad->basis[b]];
            inverse[b * p + j] = b == j;
        }
    MRC_TRY(mrc_solve(lad->ctx, p, square, p, inverse, &singular, err));
    if (singular)
        MRC_FAIL(err, MERCER_ERR_NUMERIC,
                 "least absolute deviations: the rows of a fit are dependent to rounding");
    memcpy(lad->inverse, inverse, (size_t)(p * p) * sizeof *inverse);
    subtract_fit(lad, a, lad->tilt, lad->ghost);
    subtract_fit(lad, a, lad->y, lad->residual);
    memcpy(lad->coefficients, lad->small, (size_t)lad->columns * sizeof(double));
    lad->zero = ZERO * size_of_terms(lad);
    drop_rounding(lad);
out:
    return rc;
}

/* ---- along an edge ---- */

/* The row of the list with the smallest key such that the weights |edge| up to it reach `need`. */
static int64_t weighted_quantile(const mrc_lad *lad, int64_t count, double need)
{
    int64_t *list = lad->list, first = 0, end = count, row = list[0];
    while (first < end) {
        double pivot = lad->key[list[first + (end - first) / 2]], below = 0, equal = 0;
        int64_t low = first, high = end;
        for (int64_t i = first; i < high;) {
            row = list[i];
            if (lad->key[row] < pivot) {
                below += fabs(lad->edge[row]);
                list[i++] = list[low];
                list[low++] = row;
            } else if (lad->key[row] > pivot) {
                list[i] = list[--high];
                list[high] = row;
            } else {
                equal += fabs(lad->edge[row]);
                i++;
            }
        }
        row = list[low];
        if (below > 0 && below >= need) {
            end = low;
        } else if (below + equal >= need) {
            break;
        } else {
            need -= below + equal;
            first = high;
        }
    }
    return row;
}

/* Along residual - t edge, whose slope starts at `slope` <= 0: how far, in size (*t) and, among the
 * rows that meet zero there, in the infinitesimal (*tau). The row that enters; -1: none can. */
static int64_t search_edge(mrc_lad *lad, double slope, double *t, double *tau)
{
    double steepest = 0;
    int64_t count = 0, group = 0;
    for (int64_t i = 0; i < lad->n; i++)
        steepest = fmax(steepest, fabs(lad->edge[i]));
    for (int64_t i = 0; i < lad->n; i++)
        if (lad->sign[i] * lad->edge[i] > PIVOT * steepest) {
            lad->key[i] = lad->residual[i] / lad->edge[i];
            lad->list[count++] = i;
        }
    if (count == 0)
        return -1;
    *t = lad->key[weighted_quantile(lad, count, -slope / 2)];
    for (int64_t c = 0; c < count; c++) {
        int64_t i = lad->list[c];
        double left = lad->sign[i] * (lad->residual[i] - *t * lad->edge[i]);
        if (fabs(left) <= lad->zero) {
            lad->key[i] = lad->ghost[i] / lad->edge[i];
            lad->list[group++] = i;
        } else if (left < 0) {
            slope += 2 * fabs(lad->edge[i]);
        }
    }
    int64_t enters = weighted_quantile(lad, group, -slope / 2);
    *tau = lad->key[enters];
    return enters;
}

static void walk(mrc_lad *lad, double t, double tau)
{
    for (int64_t i = 0; i < lad->n; i++) {
        lad->residual[i] -= t * lad->edge[i];
        lad->ghost[i] -= tau * lad->edge[i];
    }
}

/* Let row `enters` take the place of basis row b; gain: of the row along A_B^-1 e_b. */
static void exchange(mrc_lad *lad, const double *a, int64_t b, int64_t enters, double gain)
{
    int64_t p = lad->count;
    double *row = lad->small, *direction = row + lad->most;
    memset(row, 0, (size_t)p * sizeof *row);
    for (int64_t j = 0; j < p; j++) {
        double value = a[lad->used[j] * lad->n + enters];
        direction[j] = lad->inverse[j * p + b];
        for (int64_t c = 0; c < p; c++)
            row[c] += value * lad->inverse[j * p + c];
    }
    row[b] -= 1;
    for (int64_t j = 0; j < p; j++)
        for (int64_t c = 0; c < p; c++)
            lad->inverse[j * p + c] -= direction[j] * row[c] / gain;
    lad->basis[b] = enters;
}

/* edge = A d for d over the columns of the fit. */
static void find_edge(mrc_lad *lad, const double *a, double factor, const double *direction)
{
    double *whole = lad->small;
    memset(whole, 0, (size_t)lad->most * sizeof *whole);
    for (int64_t j = 0; j < lad->count; j++)
        whole[lad->used[j]] = factor * direction[j];
    mrc_wide_times(lad->ctx, a, lad->columns, lad->n, 1, whole, 0, lad->edge);
}

/* ---- the descent ---- */

/* Multipliers of the basis; the row whose one is farthest from what is allowed, or -1. */
static mercer_status find_leaving(mrc_lad *lad, const double *a, int64_t *leaves, double *z,
                                  mercer_error *err)
{
    int64_t p = lad->count;
    double *sums = lad->small, worst = 1 + SLACK;
    mercer_status rc = MERCER_OK;
    *leaves = -1;
    MRC_TRY(mrc_wide_dots(lad->ctx, a, lad->columns, lad->n, lad->sign, sums, err));
    for (int64_t b = 0; b < p; b++) {
        double sum = 0;
        for (int64_t j = 0; j < p; j++)
            sum -= lad->inverse[j * p + b] * sums[lad->used[j]];
        if (fabs(sum) > worst) {
            worst = fabs(sum);
            *leaves = b;
            *z = sum;
        }
    }
out:
    return rc;
}

static mercer_status descend(mrc_lad *lad, const double *a, mercer_error *err)
{
    int64_t b, fresh = 0, idle = 0; /* steps since everything was renewed, since the loss fell */
    double z = 0, t, tau, least = lad->loss;
    mercer_status rc = MERCER_OK;
    while (lad->loss > 0 && idle < PATIENCE * (lad->n + lad->count)) {
        MRC_TRY(mrc_check_cancel(lad->ctx, err));
        MRC_TRY(find_leaving(lad, a, &b, &z, err));
        if (b < 0 && fresh == 0)
            break;
        if (b < 0 || fresh >= RENEW) {
            MRC_TRY(renew(lad, a, err));
            fresh = 0;
            continue;
        }
        double way = z > 0 ? -1 : 1;
        double *direction = lad->small + 2 * lad->most;
        for (int64_t j = 0; j < lad->count; j++)
            direction[j] = lad->inverse[j * lad->count + b];
        find_edge(lad, a, way, direction);
        int64_t leaves = lad->basis[b], enters = search_edge(lad, 1 - fabs(z), &t, &tau);
        if (enters < 0)
            break;
        walk(lad, t, tau);
        exchange(lad, a, b, enters, way * lad->edge[enters]);
        lad->residual[leaves] = -way * t; /* free of the rounding of the edge */
        lad->ghost[leaves] = -way * tau;
        drop_rounding(lad);
        lad->steps++;
        fresh++;
        idle = lad->loss < least ? 0 : idle + 1;
        least = fmin(least, lad->loss);
    }
    if (fresh > 0)
        MRC_TRY(renew(lad, a, err));
out:
    return rc;
}

/* Column j enters with the row at which the loss turns along it, the basis staying without
 * residual. */
static mercer_status add_column(mrc_lad *lad, const double *a, int64_t j, mercer_error *err)
{
    const double *column = a + j * lad->n;
    double *size = lad->size + j, left = 0, slope = 0, t, tau;
    mercer_status rc = MERCER_OK;
    lad->columns = j + 1;
    subtract_fit(lad, a, column, lad->edge);
    for (int64_t b = 0; b < lad->count; b++)
        lad->edge[lad->basis[b]] = 0;
    for (int64_t i = 0; i < lad->n; i++) {
        *size = fmax(*size, fabs(column[i]));
        left = fmax(left, fabs(lad->edge[i]));
        slope -= lad->sign[i] * lad->edge[i];
    }
    if (!(left > DEPENDENT * *size))
        goto out;
    for (int64_t i = 0; slope > 0 && i < lad->n; i++)
        lad->edge[i] = -lad->edge[i];
    int64_t enters = search_edge(lad, -fabs(slope), &t, &tau);
    if (enters < 0)
        goto out;
    lad->used[lad->count] = j;
    lad->basis[lad->count++] = enters;
    MRC_TRY(renew(lad, a, err));
out:
    return rc;
}

mercer_status mrc_lad_fit(mrc_lad *lad, const double *a, int64_t columns, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (lad->columns == 0) {
        lad->zero = ZERO * size_of_terms(lad);
        memcpy(lad->residual, lad->y, (size_t)lad->n * sizeof(double));
        memcpy(lad->ghost, lad->tilt, (size_t)lad->n * sizeof(double));
        drop_rounding(lad);
    }
    for (int64_t j = lad->columns; j < columns; j++) {
        MRC_TRY(add_column(lad, a, j, err));
        MRC_TRY(descend(lad, a, err));
    }
out:
    return rc;
}
