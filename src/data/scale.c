/* SPDX-License-Identifier: BSD-3-Clause */
/* Input scaling.
 *
 * Column kinds are x -> (x - shift) * factor with, over the training rows,
 *   standard  shift = mean,  factor = 1 / sd               (sd by n)
 *   minmax    shift = min,   factor = 1 / (max - min)
 *   norm      shift = mean,  factor = 1 / (sd sqrt(n))
 *   robust    shift = median,  factor = 1 / (third quartile - first quartile)
 * Quartiles lie between neighbours in proportion (as NumPy and R do it by default). Where half of
 * the values are the same, the factor of robust is 1, as that of a constant column. Row kinds need
 * nothing learnt: unit divides by the length, rowstandard subtracts the mean of the row and divides
 * by its sd.
 *
 * Mean and variance take two passes with the usual correction, on values divided by a power of two
 * near the largest one where squares would overflow or vanish. A column whose values differ by no
 * more than a few units in the last place is constant for us: dividing by such an sd would blow
 * rounding noise up to the size of real data. Cost: three passes over n x d.
 *
 * Sparse rows stay sparse, so nothing may be shifted: unit always works, minmax when the smallest
 * value of every column is 0 (an entry that is not stored is 0). */
#include "data/scale.h"

#include "base/bytes.h"
#include "base/number.h"
#include "base/order.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ROWS = 512,   /* summed apart before they join the total: keeps rounding small */
    SAFE_EXPONENT = 400 /* squares and sums of values below 2^400 stay far from overflow */
};

/* Values whose range is below this many units in the last place of the largest count as equal. */
static const double noise_ulps = 8;

static const char *const kind_names[] = {
    [MRC_SCALE_NONE] = "none",     [MRC_SCALE_STANDARD] = "standard",
    [MRC_SCALE_MINMAX] = "minmax", [MRC_SCALE_NORM] = "norm",
    [MRC_SCALE_UNIT] = "unit",     [MRC_SCALE_ROWSTANDARD] = "rowstandard",
    [MRC_SCALE_ROBUST] = "robust"};

const char *mrc_scale_name(mrc_scale_kind kind)
{
    return kind_names[kind];
}

mercer_status mrc_scale_parse(const char *name, mrc_scale_kind *out, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE];
    *out = MRC_SCALE_NONE;
    if (!name)
        return MERCER_OK;
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
        if (strcmp(name, kind_names[i]) == 0) {
            *out = (mrc_scale_kind)i;
            return MERCER_OK;
        }
    return mrc_fail(err, MERCER_ERR_ARGUMENT,
                    "unknown scaling '%s' (known: none, standard, robust, minmax, norm, unit, "
                    "rowstandard)",
                    mrc_show(shown, name, strlen(name)));
}

/* A power of two that brings values of size m to where squares are safe; 1 for everyday values. */
static double safe_power(double m)
{
    int exponent;
    frexp(m, &exponent);
    if (m == 0 || (exponent > -SAFE_EXPONENT && exponent < SAFE_EXPONENT))
        return 1;
    /* 2^1074 is not a double: a subnormal value is brought up part of the way, far enough. */
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

static bool is_constant(double least, double most)
{
    return most / 2 - least / 2 <= noise_ulps / 2 * DBL_EPSILON * fmax(fabs(least), fabs(most));
}

/* Per column, over all rows. */
struct stats {
    double *least, *most, *power, *mean, *sd; /* mean and sd in units of the data */
    double *part, *square;                    /* of one block of rows */
    double *line;                             /* of packed rows, as doubles */
};

/* Smallest and largest value of each column of sparse rows. */
static void find_sparse_ranges(const mercer_rows *rows, struct stats *s)
{
    double *stored = s->part; /* entries of the column so far */
    for (int64_t k = 0; k < rows->csr.start[rows->n]; k++) {
        int64_t j = rows->csr.column[k];
        double x = rows->csr.value[k];
        s->least[j] = stored[j] == 0 || x < s->least[j] ? x : s->least[j];
        s->most[j] = stored[j] == 0 || x > s->most[j] ? x : s->most[j];
        stored[j]++;
    }
    for (int64_t j = 0; j < rows->d; j++)
        if (stored[j] < (double)rows->n) {
            s->least[j] = fmin(s->least[j], 0);
            s->most[j] = fmax(s->most[j], 0);
        }
}

/* Smallest and largest value of each column, and from them the power of two to work with. */
static void find_ranges(const mercer_rows *rows, struct stats *s)
{
    if (mercer_rows_is_sparse(rows)) {
        find_sparse_ranges(rows, s);
        return; /* only minmax comes here, which needs no powers */
    }
    for (int64_t j = 0; j < rows->d; j++)
        s->least[j] = s->most[j] = mrc_rows_at(rows, 0, j);
    for (int64_t i = 1; i < rows->n; i++) {
        const double *x = mrc_rows_line(rows, i, s->line);
        for (int64_t j = 0; j < rows->d; j++) {
            s->least[j] = x[j] < s->least[j] ? x[j] : s->least[j];
            s->most[j] = x[j] > s->most[j] ? x[j] : s->most[j];
        }
    }
    for (int64_t j = 0; j < rows->d; j++)
        s->power[j] = safe_power(fmax(fabs(s->least[j]), fabs(s->most[j])));
}

/* Add up x * power - offset (and its square, when wanted) over all rows, block by block. */
static void add_up(const mercer_rows *rows, struct stats *s, const double *offset, double *sum,
                   double *squares)
{
    int64_t d = rows->d;
    for (int64_t start = 0; start < rows->n; start += BLOCK_ROWS) {
        int64_t end = rows->n - start < BLOCK_ROWS ? rows->n : start + BLOCK_ROWS;
        memset(s->part, 0, (size_t)d * sizeof *s->part);
        memset(s->square, 0, (size_t)d * sizeof *s->square);
        for (int64_t i = start; i < end; i++) {
            const double *x = mrc_rows_line(rows, i, s->line);
            for (int64_t j = 0; j < d; j++) {
                double value = x[j] * s->power[j] - offset[j];
                s->part[j] += value;
                s->square[j] += value * value;
            }
        }
        for (int64_t j = 0; j < d; j++) {
            sum[j] += s->part[j];
            if (squares)
                squares[j] += s->square[j];
        }
    }
}

/* Means and standard deviations. The first pass leaves a mean in error by rounding; the second
 * measures that error as the mean deviation from it, and takes it out of both. */
static void find_moments(const mercer_rows *rows, struct stats *s, double *sum)
{
    int64_t d = rows->d;
    double n = (double)rows->n;
    memset(s->mean, 0, (size_t)d * sizeof *s->mean);
    memset(s->sd, 0, (size_t)d * sizeof *s->sd);
    memset(sum, 0, (size_t)d * sizeof *sum);
    add_up(rows, s, s->mean, sum, NULL); /* mean is all zero: no offset yet */
    for (int64_t j = 0; j < d; j++) {
        s->mean[j] = sum[j] / n;
        sum[j] = 0;
    }
    add_up(rows, s, s->mean, sum, s->sd);
    for (int64_t j = 0; j < d; j++) {
        double error = sum[j] / n, variance = s->sd[j] / n - error * error;
        s->mean[j] = (s->mean[j] + error) / s->power[j];
        s->sd[j] = sqrt(variance > 0 ? variance : 0) / s->power[j];
        if (s->least[j] == s->most[j])
            s->mean[j] = s->least[j]; /* exactly */
    }
}

/* 1 / width when that is a number, else 1. */
static double factor_of(double width)
{
    double factor = 1 / width;
    return width > 0 && isfinite(factor) && factor > 0 ? factor : 1;
}

/* The largest factor that takes the whole range into [0, 1] after rounding. */
static double minmax_factor(double least, double most)
{
    double range = most - least;
    double factor = isfinite(range) ? factor_of(range) : 0.5 / (most / 2 - least / 2);
    while (isfinite(range) && range * factor > 1)
        factor = nextafter(factor, 0);
    return factor;
}

/* Refuse kinds that would make zeroes of sparse rows into other numbers, whatever the data. */
static mercer_status check_kind_sparse(mrc_scale_kind kind, mercer_error *err)
{
    if (kind == MRC_SCALE_NONE || kind == MRC_SCALE_UNIT || kind == MRC_SCALE_MINMAX)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_DATA,
                    "scaling %s shifts every value, so sparse rows would become dense; unit keeps "
                    "them sparse",
                    kind_names[kind]);
}

/* The same for what was learnt of the columns. */
static mercer_status check_shift_sparse(const mrc_scale *scale, const mercer_rows *rows,
                                        mercer_error *err)
{
    char number[MRC_NUMBER_SIZE], shown[MRC_SHOWN_SIZE];
    for (int64_t j = 0; scale->shift && j < scale->d; j++)
        if (scale->shift[j] != 0) {
            const char *name = mercer_rows_name(rows, j);
            mrc_format_double(scale->shift[j], number);
            mrc_format_double((double)(j + 1), shown);
            return mrc_fail(err, MERCER_ERR_DATA,
                            "column %s: its minimum is %s, not 0, so scaling %s would make sparse "
                            "rows dense; unit keeps them sparse",
                            name ? mrc_show(shown, name, strlen(name)) : shown, number,
                            kind_names[scale->kind]);
        }
    return MERCER_OK;
}

/* The value below which a share of n > 0 sorted values lies. */
static double quantile(const double *sorted, int64_t n, double share)
{
    double place = share * (double)(n - 1);
    int64_t below = (int64_t)place, above = below + 1 < n ? below + 1 : below;
    double part = place - (double)below;
    /* Not a + t (b - a), whose difference may overflow. */
    return sorted[below] == sorted[above] ? sorted[below]
                                          : (1 - part) * sorted[below] + part * sorted[above];
}

/* Medians and what one over the distance of the quartiles is, column by column. */
static mercer_status fit_robust(mrc_scale *scale, const mercer_rows *rows, mercer_error *err)
{
    double *sorted = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&sorted, rows->n, 1, sizeof *sorted, err));
    for (int64_t j = 0; j < rows->d; j++) {
        for (int64_t i = 0; i < rows->n; i++)
            sorted[i] = mrc_rows_at(rows, i, j);
        qsort(sorted, (size_t)rows->n, sizeof *sorted, mrc_compare_doubles);
        double low = quantile(sorted, rows->n, 0.25), high = quantile(sorted, rows->n, 0.75);
        double half = high / 2 - low / 2; /* the distance alone may overflow */
        scale->shift[j] = quantile(sorted, rows->n, 0.5);
        scale->factor[j] = is_constant(low, high) ? 1 : factor_of(half) / 2;
        if (!(scale->factor[j] > 0) || !isfinite(scale->factor[j]))
            scale->factor[j] = 1;
    }
out:
    mrc_free(sorted);
    return rc;
}

mercer_status mrc_scale_fit(mrc_scale *scale, mrc_scale_kind kind, const mercer_rows *rows,
                            mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    int64_t d = rows->d;
    double *work = NULL;
    *scale = (mrc_scale){.kind = kind, .d = d};
    if (mercer_rows_is_sparse(rows))
        MRC_TRY(check_kind_sparse(kind, err));
    if (kind != MRC_SCALE_STANDARD && kind != MRC_SCALE_MINMAX && kind != MRC_SCALE_NORM &&
        kind != MRC_SCALE_ROBUST)
        goto out;
    MRC_TRY(mrc_alloc2(&scale->shift, d, 1, sizeof *scale->shift, err));
    MRC_TRY(mrc_alloc2(&scale->factor, d, 1, sizeof *scale->factor, err));
    if (kind == MRC_SCALE_ROBUST) {
        rc = fit_robust(scale, rows, err);
        goto out;
    }
    MRC_TRY(mrc_alloc2(&work, 9, d, sizeof *work, err));
    struct stats s = {.least = work,
                      .most = work + d,
                      .power = work + 2 * d,
                      .mean = work + 3 * d,
                      .sd = work + 4 * d,
                      .part = work + 5 * d,
                      .square = work + 6 * d,
                      .line = work + 8 * d};
    find_ranges(rows, &s);
    if (kind != MRC_SCALE_MINMAX)
        find_moments(rows, &s, work + 7 * d);
    for (int64_t j = 0; j < d; j++) {
        bool constant = is_constant(s.least[j], s.most[j]);
        double root = kind == MRC_SCALE_NORM ? sqrt((double)rows->n) : 1;
        scale->shift[j] = kind == MRC_SCALE_MINMAX ? s.least[j] : s.mean[j];
        if (constant)
            scale->factor[j] = 1;
        else if (kind == MRC_SCALE_MINMAX)
            scale->factor[j] = minmax_factor(s.least[j], s.most[j]);
        else
            scale->factor[j] = factor_of(s.sd[j]) / root;
    }
    if (mercer_rows_is_sparse(rows))
        MRC_TRY(check_shift_sparse(scale, rows, err));
out:
    mrc_free(work);
    if (rc != MERCER_OK)
        mrc_scale_destroy(scale);
    return rc;
}

/* (x - shift) * factor, also where the difference alone would overflow. */
static double shifted(double x, double shift, double factor)
{
    double difference = x - shift;
    return isfinite(difference) ? difference * factor : (x / 2 - shift / 2) * factor * 2;
}

/* Divide a row by its length. */
static void unit_row(double *x, int64_t d)
{
    double most = 0, sum = 0;
    for (int64_t j = 0; j < d; j++)
        most = fmax(most, fabs(x[j]));
    if (most == 0)
        return;
    double power = safe_power(most);
    for (int64_t j = 0; j < d; j++)
        sum += x[j] * power * (x[j] * power);
    double length = sqrt(sum);
    for (int64_t j = 0; j < d; j++)
        x[j] = x[j] * power / length;
}

/* Mean 0 and sd 1 over a row. */
static void standard_row(double *x, int64_t d)
{
    double least = x[0], most = x[0], sum = 0, error = 0, squares = 0;
    for (int64_t j = 0; j < d; j++) {
        least = fmin(least, x[j]);
        most = fmax(most, x[j]);
    }
    if (least == most) {
        memset(x, 0, (size_t)d * sizeof *x);
        return;
    }
    double power = safe_power(fmax(fabs(least), fabs(most))), n = (double)d;
    for (int64_t j = 0; j < d; j++) {
        x[j] *= power;
        sum += x[j];
    }
    for (int64_t j = 0; j < d; j++) {
        x[j] -= sum / n;
        error += x[j];
    }
    for (int64_t j = 0; j < d; j++) {
        x[j] -= error / n;
        squares += x[j] * x[j];
    }
    double sd = sqrt(squares / n);
    double divide = is_constant(least, most) || sd == 0 ? power : sd;
    for (int64_t j = 0; j < d; j++)
        x[j] /= divide;
}

void mrc_scale_apply(const mrc_scale *scale, double *x, int64_t count, int64_t ld)
{
    for (int64_t i = 0; i < count; i++) {
        double *row = x + i * ld;
        switch (scale->kind) {
        case MRC_SCALE_NONE:
            return;
        case MRC_SCALE_UNIT:
            unit_row(row, scale->d);
            break;
        case MRC_SCALE_ROWSTANDARD:
            standard_row(row, scale->d);
            break;
        default:
            for (int64_t j = 0; j < scale->d; j++)
                row[j] = shifted(row[j], scale->shift[j], scale->factor[j]);
        }
    }
}

bool mrc_scale_undo(const mrc_scale *scale, double *x, int64_t count, int64_t ld)
{
    if (scale->kind == MRC_SCALE_UNIT || scale->kind == MRC_SCALE_ROWSTANDARD)
        return false;
    for (int64_t i = 0; scale->kind != MRC_SCALE_NONE && i < count; i++)
        for (int64_t j = 0; j < scale->d; j++)
            x[i * ld + j] = x[i * ld + j] / scale->factor[j] + scale->shift[j];
    return true;
}

void mrc_scale_destroy(mrc_scale *scale)
{
    mrc_free(scale->shift);
    mrc_free(scale->factor);
    *scale = (mrc_scale){0};
}

/* Scale the entries of n sparse rows in place; nothing is shifted. */
static void apply_sparse(const mrc_scale *scale, int64_t n, const mrc_csr_owned *csr)
{
    for (int64_t i = 0; i < n && scale->kind == MRC_SCALE_UNIT; i++)
        unit_row(csr->value + csr->start[i], csr->start[i + 1] - csr->start[i]);
    for (int64_t k = 0; k < csr->start[n] && scale->factor; k++)
        csr->value[k] *= scale->factor[csr->column[k]];
}

static mercer_status check_sparse(const mrc_scale *scale, const mercer_rows *rows,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (mercer_rows_is_sparse(rows)) {
        MRC_TRY(check_kind_sparse(scale->kind, err));
        MRC_TRY(check_shift_sparse(scale, rows, err));
    }
out:
    return rc;
}

/* Rows that own their numbers, none of them packed. */
static void apply_in_place(const mrc_scale *scale, mercer_rows *rows)
{
    if (mercer_rows_is_sparse(rows))
        apply_sparse(scale, rows->n, &rows->owned_csr);
    else
        mrc_scale_apply(scale, rows->owned, rows->n, rows->ld);
}

mercer_status mrc_scale_rows(const mrc_scale *scale, const mercer_rows *rows, mercer_rows **out,
                             mercer_error *err)
{
    mercer_rows *scaled = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(check_sparse(scale, rows, err));
    MRC_TRY(scale->kind == MRC_SCALE_NONE || mercer_rows_is_sparse(rows)
                ? mrc_rows_take(rows, NULL, rows->n, &scaled, err)
                : mrc_rows_widen(rows, &scaled, err));
    apply_in_place(scale, scaled);
    *out = scaled;
out:
    return rc;
}

/* A scaled copy with the names of the rows. */
static mercer_status scaled_copy(const mrc_scale *scale, const mercer_rows *rows, mercer_rows **out,
                                 mercer_error *err)
{
    mercer_rows *scaled = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_scale_rows(scale, rows, &scaled, err));
    MRC_TRY(mrc_copy_names(&scaled->names, rows->names, rows->d, err));
    *out = scaled;
    scaled = NULL;
out:
    mercer_rows_free(scaled);
    return rc;
}

mercer_status mercer_table_scale(mercer_ctx *ctx, mercer_table *table, const char *kind,
                                 mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(table);
    mercer_rows *rows = table->rows, *wide = NULL;
    mrc_scale scale = {0};
    mrc_scale_kind parsed;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_check_cancel(ctx, err));
    MRC_TRY(mrc_scale_parse(kind, &parsed, err));
    MRC_TRY(mrc_scale_fit(&scale, parsed, rows, err));
    MRC_TRY(check_sparse(&scale, rows, err));
    if (parsed == MRC_SCALE_NONE)
        goto out;
    if ((rows->x && rows->owned) || rows->owned_csr.start) {
        apply_in_place(&scale, rows);
        goto out;
    }
    double both = mrc_rows_bytes(rows) + (double)rows->n * (double)rows->d * sizeof(double);
    if (both > (double)mercer_ctx_memory(ctx)) {
        const mrc_bytes_pair sizes = mrc_bytes_texts(both, (double)mercer_ctx_memory(ctx));
        MRC_FAIL_AT(err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                    "scaling makes doubles of these rows and needs %s with them, the memory budget "
                    "is %s: raise it, or read fewer rows or columns",
                    sizes.first.text, sizes.second.text);
    }
    MRC_TRY(scaled_copy(&scale, rows, &wide, err));
    wide->prepare = rows->prepare;
    rows->prepare = NULL;
    mercer_rows_free(rows);
    table->rows = wide;
out:
    mrc_scale_destroy(&scale);
    return rc;
}

mercer_status mercer_rows_scale(mercer_ctx *ctx, const mercer_rows *rows, const char *kind,
                                mercer_rows **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(rows);
    mrc_scale scale = {0};
    mrc_scale_kind parsed;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_check_cancel(ctx, err));
    MRC_TRY(mrc_scale_parse(kind, &parsed, err));
    MRC_TRY(mrc_scale_fit(&scale, parsed, rows, err));
    MRC_TRY(scaled_copy(&scale, rows, out, err));
out:
    mrc_scale_destroy(&scale);
    return rc;
}
