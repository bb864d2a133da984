/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of axes, and ticks at round numbers.
 *
 * A tick is a whole multiple of a step of 1, 2 or 5 times a power of ten. Its label is made of that
 * whole number and the power, so that no rounding and no locale is in it. */
#include "draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stretch(chart_range *range, double value)
{
    if (range->log && !(value > 0))
        return;
    range->low = value < range->low ? value : range->low;
    range->high = value > range->high ? value : range->high;
}

bool chart_is_drawable(double value)
{
    return fabs(value) < 1e300;
}

double chart_share(double value, double low, double high)
{
    const double span = high - low; /* quarters of large numbers are exact, and do not overflow */
    const double share =
        isfinite(span) ? (value - low) / span : (value / 4 - low / 4) / (high / 4 - low / 4);
    return share > 0 ? fmin(share, 1) : 0;
}

/* Bars are as wide as the smallest step between them. */
double chart_bar_width(const chart_series *series)
{
    double least = INFINITY;
    for (int64_t i = 1; i < series->count; i++) {
        const double step = fabs(series->x[i] - series->x[i - 1]);
        least = step > 0 && step < least ? step : least;
    }
    return isfinite(least) ? least : 1;
}

static chart_range range_of(const chart_panel *panel, bool is_x)
{
    const chart_axis *axis = is_x ? &panel->x : &panel->y;
    chart_range range = {INFINITY, -INFINITY, axis->log, axis->reversed};
    bool loose = false; /* marks that need room around them */
    if (axis->names) {
        range.low = -0.5;
        range.high = (double)axis->name_count - 0.5;
        return range;
    }
    for (int s = 0; s < panel->count; s++) {
        const chart_series *series = &panel->series[s];
        const double half = series->mark == CHART_BARS ? chart_bar_width(series) / 2 : 0;
        const double *values = is_x ? series->x : series->y;
        if (series->mark == (is_x ? CHART_RULE_Y : CHART_RULE_X))
            continue;
        const bool level = is_x && series->mark == CHART_LEVEL_BARS;
        loose |= series->mark != CHART_BARS && series->mark != CHART_CELLS;
        for (int64_t i = 0; i < series->count; i++) {
            stretch(&range, is_x ? values[i] - half : values[i]);
            stretch(&range, is_x ? values[i] + half : values[i]);
            if (level) {
                stretch(&range, values[i] - series->value[i]);
                stretch(&range, values[i] + series->value[i]);
            }
            if (!is_x && series->mark == CHART_BARS && !series->base)
                stretch(&range, 0);
        }
    }
    if (axis->from_zero)
        stretch(&range, 0);
    if (!(range.low <= range.high)) /* nothing to show */
        range = (chart_range){range.log ? 1 : 0, range.log ? 10 : 1, range.log, range.reversed};
    const double span = range.high - range.low;
    if (range.log) {
        const double room = range.low == range.high ? 2 : pow(range.high / range.low, 0.04);
        range.low /= room;
        range.high *= room;
    } else if (span < 1e-300 + 1e-12 * fabs(range.high)) {
        const double half = axis->whole ? 1 : range.high == 0 ? 0.5 : 0.5 * fabs(range.high);
        range.low -= axis->from_zero && range.low == 0 ? 0 : half;
        range.high += half;
    } else {
        /* Room beyond the outermost marks, but not below a zero that the axis starts at. */
        const double room = 0.04 * span;
        if (loose && !(axis->from_zero && range.low == 0))
            range.low -= room;
        if (loose || !is_x)
            range.high += room;
    }
    if (!isnan(axis->low))
        range.low = axis->low;
    if (!isnan(axis->high))
        range.high = axis->high;
    return range;
}

void chart_panel_ranges(const chart_panel *panel, double width, double height, chart_range *x,
                        chart_range *y)
{
    *x = range_of(panel, true);
    *y = range_of(panel, false);
    if (!panel->square)
        return;
    const double sx = (x->high - x->low) / width, sy = (y->high - y->low) / height;
    chart_range *narrow = sx < sy ? x : y;
    const double wanted = sx < sy ? sy * width : sx * height;
    const double extra = (wanted - (narrow->high - narrow->low)) / 2;
    narrow->low -= extra;
    narrow->high += extra;
}

double chart_place(const chart_range *range, double value)
{
    const double at = range->log ? log(value / range->low) / log(range->high / range->low)
                                 : (value - range->low) / (range->high - range->low);
    return range->reversed ? 1 - at : at;
}

/* The label of multiple x 10^power. */
static void label(int64_t multiple, int power, bool percent, char *out)
{
    enum { SHORT = 6 }; /* zeroes that are still written out */
    power += percent ? 2 : 0;
    while (multiple && multiple % 10 == 0) {
        multiple /= 10;
        power++;
    }
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)llabs(multiple));
    const char *sign = multiple < 0 ? "\xe2\x88\x92" : "";
    const char *unit = percent ? " %" : "";
    if (multiple == 0)
        snprintf(out, CHART_TICK_TEXT, "0%s", unit);
    else if (power >= 0 && length + power <= SHORT)
        snprintf(out, CHART_TICK_TEXT, "%s%s%.*s%s", sign, digits, power, "000000", unit);
    else if (power < 0 && length + power > 0)
        snprintf(out, CHART_TICK_TEXT, "%s%.*s.%s%s", sign, length + power, digits,
                 digits + length + power, unit);
    else if (power < 0 && -power <= SHORT)
        snprintf(out, CHART_TICK_TEXT, "%s0.%.*s%s%s", sign, -power - length, "000000", digits,
                 unit);
    else
        snprintf(out, CHART_TICK_TEXT, "%s%c%s%.8se%d%s", sign, digits[0], length > 1 ? "." : "",
                 digits + 1, power + length - 1, unit);
}

static void put_tick(chart_ticks *out, double at, int64_t multiple, int power, bool percent)
{
    if (out->count == CHART_MAX_TICKS)
        return;
    out->at[out->count] = at;
    label(multiple, power, percent, out->text[out->count++]);
}

/* Powers of ten, or every second, third, ... of them; 1, 2 and 5 times them where there is room, or
 * where there is only one decade. */
static void find_log_ticks(const chart_axis *axis, const chart_range *range, int most,
                           chart_ticks *out)
{
    const int first = (int)floor(log10(range->low)), last = (int)ceil(log10(range->high));
    const int step = 1 + (last - first) / most;
    const bool fine = 3 * (last - first) <= most || last - first < 2;
    for (int power = first; power <= last; power += step)
        for (int m = 1; m <= (fine ? 5 : 1); m += m == 2 ? 3 : 1) {
            const double at = m * pow(10, power);
            if (at >= range->low && at <= range->high)
                put_tick(out, at, m, power, axis->percent);
        }
}

/* Positions that have names. */
static void find_named_ticks(const chart_axis *axis, int most, chart_ticks *out)
{
    const int64_t room = most < CHART_MAX_TICKS ? most : CHART_MAX_TICKS;
    const int64_t step = 1 + (axis->name_count - 1) / room;
    for (int64_t i = 0; i < axis->name_count; i += step)
        out->at[out->count++] = (double)i; /* the writer has the name */
}

static void find_even_ticks(const chart_axis *axis, const chart_range *range, int most,
                            chart_ticks *out)
{
    const double least = (range->high - range->low) / most;
    int power = (int)floor(log10(least));
    static const int steps[] = {1, 2, 5, 10};
    int which = 0;
    while (which < 3 && steps[which] * pow(10, power) < least)
        which++;
    if (axis->whole && power < 0) {
        power = 0;
        which = 0;
    }
    const double step = steps[which] * pow(10, power);
    const int64_t first = (int64_t)ceil(range->low / step - 1e-9);
    const int64_t last = (int64_t)floor(range->high / step + 1e-9);
    out->count = 0;
    for (int64_t k = first; k <= last; k++)
        put_tick(out, (double)k * step, k * steps[which], power, axis->percent);
}

void chart_find_ticks(const chart_axis *axis, const chart_range *range, int most, chart_ticks *out)
{
    *out = (chart_ticks){0};
    most = most < 2 ? 2 : most > CHART_MAX_TICKS ? CHART_MAX_TICKS : most;
    if (axis->names) {
        find_named_ticks(axis, most, out);
        return;
    }
    if (range->log)
        find_log_ticks(axis, range, most, out);
    /* One tick says nothing about the scale: then there are more than there is room for. */
    for (int more = most; out->count < 2 && more <= CHART_MAX_TICKS; more += more)
        find_even_ticks(axis, range, more, out);
}
