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
#include "base/comm.h"
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

/* Ranges of the columns of all ranks, as one rank finds them that goes through the rows in order:
 * some columns at a time, so that the ranges of all ranks take little memory. stored: the entries
 * that each column has. */
static mercer_status join_sparse_ranges(mercer_ctx *ctx, int64_t d, double *least, double *most,
                                        double *stored, mercer_error *err)
{
    enum { TOGETHER = 1 << 16, NUMBERS = 3 };
    const int64_t size = ctx->comm.table.size;
    int64_t piece = TOGETHER / size > 0 ? TOGETHER / size : 1;
    double *mine = NULL, *all = NULL;
    mercer_status rc = MERCER_OK;
    piece = piece < d ? piece : d;
    MRC_TRY(mrc_alloc2(&mine, NUMBERS, piece, sizeof *mine, err));
    MRC_TRY(mrc_alloc2(&all, size, NUMBERS * piece, sizeof *all, err));
    for (int64_t first = 0; first < d; first += piece) {
        const int64_t count = d - first < piece ? d - first : piece;
        const size_t bytes = (size_t)count * sizeof *mine;
        memcpy(mine, least + first, bytes);
        memcpy(mine + count, most + first, bytes);
        memcpy(mine + 2 * count, stored + first, bytes);
        MRC_TRY(mrc_comm_collect(ctx, mine, NUMBERS * count, all, err));
        memset(stored + first, 0, bytes);
        for (int64_t r = 0; r < size; r++) {
            const double *low = all + r * NUMBERS * count, *high = low + count, *n = high + count;
            for (int64_t j = 0; j < count; j++) {
                const int64_t k = first + j;
                if (n[j] == 0)
                    continue;
                least[k] = stored[k] == 0 || low[j] < least[k] ? low[j] : least[k];
                most[k] = stored[k] == 0 || high[j] > most[k] ? high[j] : most[k];
                stored[k] += n[j];
            }
        }
    }
out:
    mrc_free(mine);
    mrc_free(all);
    return rc;
}

/* Smallest and largest value of each column of sparse rows. */
static mercer_status find_sparse_ranges(mercer_ctx *ctx, const mercer_rows *rows, struct stats *s,
                                        mercer_error *err)
{
    double *stored = s->part; /* entries of the column so far */
    mercer_status rc = MERCER_OK;
    for (int64_t k = 0; k < rows->csr.start[rows->n]; k++) {
        int64_t j = rows->csr.column[k];
        double x = rows->csr.value[k];
        s->least[j] = stored[j] == 0 || x < s->least[j] ? x : s->least[j];
        s->most[j] = stored[j] == 0 || x > s->most[j] ? x : s->most[j];
        stored[j]++;
    }
    if (ctx && mrc_rows_span(ctx, rows).spread)
        MRC_TRY(join_sparse_ranges(ctx, rows->d, s->least, s->most, stored, err));
    for (int64_t j = 0; j < rows->d; j++)
        if (stored[j] < (double)mrc_rows_total(rows)) {
            s->least[j] = fmin(s->least[j], 0);
            s->most[j] = fmax(s->most[j], 0);
        }
out:
    return rc;
}

/* The ranges of all ranks become one, in the order of their rows; ranks without rows have none. */
static mercer_status join_ranges(mercer_ctx *ctx, int64_t d, bool any, double *least, double *most,
                                 mercer_error *err)
{
    const int64_t size = ctx->comm.table.size, width = 2 * d + 1;
    double *mine = NULL, *all = NULL;
    bool begun = false;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&mine, width, sizeof *mine, err));
    MRC_TRY(mrc_alloc2(&all, size, width, sizeof *all, err));
    mine[0] = any;
    memcpy(mine + 1, least, (size_t)d * sizeof *mine);
    memcpy(mine + 1 + d, most, (size_t)d * sizeof *mine);
    MRC_TRY(mrc_comm_collect(ctx, mine, width, all, err));
    for (int64_t r = 0; r < size; r++) {
        const double *low = all + r * width + 1, *high = low + d;
        for (int64_t j = 0; low[-1] > 0 && j < d; j++) {
            least[j] = !begun || low[j] < least[j] ? low[j] : least[j];
            most[j] = !begun || high[j] > most[j] ? high[j] : most[j];
        }
        begun = begun || low[-1] > 0;
    }
out:
    mrc_free(mine);
    mrc_free(all);
    return rc;
}

mercer_status mrc_rows_ranges(mercer_ctx *ctx, const mercer_rows *rows, double *least, double *most,
                              double *line, mercer_error *err)
{
    memset(least, 0, (size_t)rows->d * sizeof *least);
    memset(most, 0, (size_t)rows->d * sizeof *most);
    for (int64_t j = 0; rows->n > 0 && j < rows->d; j++)
        least[j] = most[j] = mrc_rows_at(rows, 0, j);
    for (int64_t i = 1; i < rows->n; i++) { /* in the order of memory */
        const double *x = mrc_rows_line(rows, i, line);
        for (int64_t j = 0; j < rows->d; j++) {
            least[j] = x[j] < least[j] ? x[j] : least[j];
            most[j] = x[j] > most[j] ? x[j] : most[j];
        }
    }
    return ctx && mrc_rows_span(ctx, rows).spread
               ? join_ranges(ctx, rows->d, rows->n > 0, least, most, err)
               : MERCER_OK;
}

/* Smallest and largest value of each column, and from them the power of two to work with. */
static mercer_status find_ranges(mercer_ctx *ctx, const mercer_rows *rows, struct stats *s,
                                 mercer_error *err)
{
    if (mercer_rows_is_sparse(rows)) /* only minmax comes here, which needs no powers */
        return find_sparse_ranges(ctx, rows, s, err);
    mercer_status rc = mrc_rows_ranges(ctx, rows, s->least, s->most, s->line, err);
    for (int64_t j = 0; rc == MERCER_OK && j < rows->d; j++)
        s->power[j] = safe_power(fmax(fabs(s->least[j]), fabs(s->most[j])));
    return rc;
}

/* A pass over the rows, in blocks of the whole table: what a column has come to is its sum and sum
 * of squares, and those of the block that is under way. */
enum { SUM, SQUARES, PART, SQUARE, STATE };
struct pass {
    const mercer_rows *rows;
    struct stats *s;
    const double *offset;
    int64_t total;
};

static void end_block(double *state)
{
    state[SUM] += state[PART];
    state[SQUARES] += state[SQUARE];
    state[PART] = state[SQUARE] = 0;
}

/* Add up x * power - offset and its square over the rows of this rank, block by block, for the
 * columns whose state is from begin to end. */
static mercer_status add_up(void *arg, int64_t begin, int64_t end, double *state, mercer_error *err)
{
    const struct pass *p = arg;
    const struct stats *s = p->s;
    const mercer_rows *rows = p->rows;
    int64_t first = begin / STATE, last = end / STATE;
    (void)err;
    for (int64_t start = 0, stop; start < rows->n; start = stop) {
        /* From row 0 of the table on a block has BLOCK_ROWS rows. */
        int64_t here = rows->first + start, block_end = (here / BLOCK_ROWS + 1) * BLOCK_ROWS;
        stop = block_end - rows->first < rows->n ? block_end - rows->first : rows->n;
        for (int64_t j = first; j < last; j++) {
            s->part[j] = state[j * STATE + PART];
            s->square[j] = state[j * STATE + SQUARE];
        }
        for (int64_t i = start; i < stop; i++) {
            const double *x = mrc_rows_line(rows, i, s->line);
            for (int64_t j = first; j < last; j++) {
                double value = x[j] * s->power[j] - p->offset[j];
                s->part[j] += value;
                s->square[j] += value * value;
            }
        }
        for (int64_t j = first; j < last; j++) {
            state[j * STATE + PART] = s->part[j];
            state[j * STATE + SQUARE] = s->square[j];
            if (rows->first + stop == block_end || rows->first + stop == p->total)
                end_block(state + j * STATE);
        }
    }
    return MERCER_OK;
}

static mercer_status run_pass(mercer_ctx *ctx, struct pass *p, double *state, mercer_error *err)
{
    enum { COLUMNS = 8 }; /* handed on together: a cache line of doubles */
    int64_t count = p->rows->d * STATE;
    memset(state, 0, (size_t)count * sizeof *state);
    if (mrc_rows_span(ctx, p->rows).spread)
        return mrc_comm_relay(ctx, state, count, (int64_t)COLUMNS * STATE, add_up, p, err);
    return add_up(p, 0, count, state, err);
}

/* Means and standard deviations. The first pass leaves a mean in error by rounding; the second
 * measures that error as the mean deviation from it, and takes it out of both. */
static mercer_status find_moments(mercer_ctx *ctx, const mercer_rows *rows, struct stats *s,
                                  mercer_error *err)
{
    int64_t d = rows->d;
    struct pass p = {.rows = rows, .s = s, .offset = s->mean, .total = mrc_rows_total(rows)};
    double n = (double)p.total, *state = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&state, d, STATE, sizeof *state, err));
    memset(s->mean, 0, (size_t)d * sizeof *s->mean); /* no offset yet */
    MRC_TRY(run_pass(ctx, &p, state, err));
    for (int64_t j = 0; j < d; j++)
        s->mean[j] = state[j * STATE + SUM] / n;
    MRC_TRY(run_pass(ctx, &p, state, err));
    for (int64_t j = 0; j < d; j++) {
        const double *sums = state + j * STATE;
        double error = sums[SUM] / n, variance = sums[SQUARES] / n - error * error;
        s->mean[j] = (s->mean[j] + error) / s->power[j];
        s->sd[j] = sqrt(variance > 0 ? variance : 0) / s->power[j];
        if (s->least[j] == s->most[j])
            s->mean[j] = s->least[j]; /* exactly */
    }
out:
    mrc_free(state);
    return rc;
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
    return mrc_scale_fit_of_all(scale, kind, NULL, rows, err);
}

mercer_status mrc_scale_fit_of_all(mrc_scale *scale, mrc_scale_kind kind, mercer_ctx *ctx,
                                   const mercer_rows *rows, mercer_error *err)
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
    MRC_TRY(mrc_alloc2(&work, 8, d, sizeof *work, err));
    struct stats s = {.least = work,
                      .most = work + d,
                      .power = work + 2 * d,
                      .mean = work + 3 * d,
                      .sd = work + 4 * d,
                      .part = work + 5 * d,
                      .square = work + 6 * d,
                      .line = work + 7 * d};
    MRC_TRY(find_ranges(ctx, rows, &s, err));
    if (kind != MRC_SCALE_MINMAX)
        MRC_TRY(find_moments(ctx, rows, &s, err));
    for (int64_t j = 0; j < d; j++) {
        bool constant = is_constant(s.least[j], s.most[j]);
        double root = kind == MRC_SCALE_NORM ? sqrt((double)mrc_rows_total(rows)) : 1;
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

/* How far multiples of one row can be apart once each is scaled on its own. The length that a row
 * is divided by is a sum of d squares, off by d/2 + 2 roundings at most, and the quotient by half a
 * one: each row is off by (d/2 + 3) eps of its new length, two of them by (d + 6) eps. The new
 * length is 1, or sqrt(d) with a mean that is off by as much. */
static double blur_of(const mrc_scale *scale, int64_t d)
{
    const double digits = ((double)d + 8) * DBL_EPSILON;
    return scale->kind == MRC_SCALE_UNIT          ? digits
           : scale->kind == MRC_SCALE_ROWSTANDARD ? digits * sqrt((double)d)
                                                  : 0;
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
    scaled->blur = blur_of(scale, rows->d);
    *out = scaled;
out:
    return rc;
}

/* The numbers of a row that owns them, and the columns of those of a sparse one. */
typedef struct line {
    int64_t count;
    const int32_t *column; /* NULL: a dense row */
    double *value;
} line;

static line line_of(const mercer_rows *rows, int64_t i)
{
    const mrc_csr_owned *csr = &rows->owned_csr;
    if (!mercer_rows_is_sparse(rows))
        return (line){.count = rows->d, .value = (double *)rows->owned + i * rows->ld};
    return (line){.count = csr->start[i + 1] - csr->start[i],
                  .column = csr->column + csr->start[i],
                  .value = csr->value + csr->start[i]};
}

static bool agree(const line *a, const line *b, double within)
{
    if (a->count != b->count)
        return false;
    for (int64_t k = 0; k < a->count; k++)
        if ((a->column && b->column && a->column[k] != b->column[k]) ||
            !(fabs(a->value[k] - b->value[k]) <= within))
            return false;
    return true;
}

/* How far the last digits of the numbers of a row move what rowstandard makes of it, at most: they
 * are those of its mean, which may be far larger than its spread. */
static double lost_digits(const mercer_rows *given, int64_t i, const line *scaled)
{
    double least = mrc_rows_at(given, i, 0), most = least;
    double low = scaled->value[0], high = low;
    for (int64_t k = 0; k < scaled->count; k++) {
        least = fmin(least, mrc_rows_at(given, i, k));
        most = fmax(most, mrc_rows_at(given, i, k));
        low = fmin(low, scaled->value[k]);
        high = fmax(high, scaled->value[k]);
    }
    const double digits = 2 * DBL_EPSILON * fmax(fabs(least), fabs(most));
    return most > least ? digits / (most - least) * (high - low) : 0;
}

mercer_status mrc_scale_join_equal(const mrc_scale *scale, mercer_ctx *ctx,
                                   const mercer_rows *given, mercer_rows *rows, mercer_error *err)
{
    const bool shifts = scale->kind == MRC_SCALE_ROWSTANDARD;
    mercer_rows *one = NULL, *one_given = NULL; /* the first of all */
    double largest = 0, differ = 0;
    mercer_status rc = MERCER_OK;
    if ((scale->kind != MRC_SCALE_UNIT && scale->kind != MRC_SCALE_ROWSTANDARD) ||
        mrc_rows_total(rows) < 2)
        return rc;
    MRC_TRY(mrc_rows_take_of_all(ctx, rows, NULL, 1, &one, err));
    const line first = line_of(one, 0);
    for (int64_t k = 0; k < first.count; k++)
        largest = fmax(largest, fabs(first.value[k]));
    double within = (double)(first.count + 8) * DBL_EPSILON * largest;
    if (shifts) {
        MRC_TRY(mrc_rows_take_of_all(ctx, given, NULL, 1, &one_given, err));
        within += lost_digits(one_given, 0, &first);
    }
    for (int64_t i = 0; i < rows->n && differ == 0; i++) {
        const line other = line_of(rows, i);
        differ = !agree(&first, &other, within + (shifts ? lost_digits(given, i, &other) : 0));
    }
    if (mrc_rows_span(ctx, rows).spread)
        MRC_TRY(mrc_comm_largest(ctx, &differ, err));
    for (int64_t i = 0; i < rows->n && differ == 0 && first.count > 0; i++)
        memcpy(line_of(rows, i).value, first.value, (size_t)first.count * sizeof *first.value);
out:
    mercer_rows_free(one);
    mercer_rows_free(one_given);
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
    MRC_NEED_WHOLE(table->rows);
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
    MRC_NEED_WHOLE(rows);
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
