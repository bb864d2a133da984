/* SPDX-License-Identifier: BSD-3-Clause */
/* What the writers and the kinds of charts share: growing texts, building a description, ranges and
 * ticks. For report/, and for clients that describe a chart of their own. */
#ifndef REPORT_DRAW_H
#define REPORT_DRAW_H

#include "chart.h"

/* Fill an error; returns code. */
mercer_status chart_fail(mercer_error *err, mercer_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- texts ---- */

/* A text that grows. Once memory ran out it stays empty and says so. */
typedef struct chart_text {
    char *bytes; /* owned; NULL: nothing yet */
    size_t size, room;
    bool failed;
} chart_text;

void chart_put_bytes(chart_text *text, const char *bytes, size_t count);
void chart_put(chart_text *text, const char *words);
/* For whole numbers and texts: decimals would depend on the locale. */
void chart_putf(chart_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number with `digits` significant digits, in every locale with a point: 0.0352, 12.5, 3e-07. */
void chart_put_number(chart_text *text, double value, int digits);
/* A count with commas: 20,000. */
void chart_put_count(chart_text *text, int64_t count);
/* count bytes as base64. */
void chart_put_base64(chart_text *text, const unsigned char *bytes, size_t count);
/* A name of the user's: bytes that are not UTF-8, control characters and turns of the writing
 * direction become '?'; characters beyond `most` become one ellipsis. xml: with & < > " ' escaped.
 */
void chart_put_name(chart_text *text, const char *name, int64_t most, bool xml);
/* Characters of a UTF-8 text. */
int64_t chart_characters(const char *text);
/* The text, handed over; NULL after a failure. */
char *chart_take(chart_text *text);

/* ---- building ---- */

/* One more thing to say below the picture. */
void chart_add_note(chart *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory of the chart; NULL, and chart->failed, when there is none. */
void *chart_alloc(chart *picture, size_t count, size_t size);
/* Text as by chart_putf(), owned by the caller. */
char *chart_format(chart *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *chart_copy(chart *picture, const char *text);
chart *chart_new(void);
/* A panel with ranges by the data, and a series of one; never NULL. */
chart_panel *chart_add_panel(chart *picture, const char *title, const char *x, const char *y);
chart_series *chart_add_series(chart *picture, chart_panel *panel, chart_mark mark,
                               const char *name, int colour);
/* A point of a series; text is copied, or NULL. Points that are not finite are left out. */
void chart_add(chart *picture, chart_series *series, double x, double y, const char *text);
/* The shape and colour of a class by its number: no two of the first 30 are alike. */
void chart_class_style(int64_t index, int *colour, chart_shape *shape);

/* Numbers of names in the order that people expect: numbers by value, in texts, too. */
void chart_sort_names(const char *const *names, int64_t count, int64_t *order);

/* ---- ranges and ticks ---- */

typedef struct chart_range {
    double low, high;
    bool log, reversed;
} chart_range;

/* The ranges that both axes of a panel show, with room around the marks. */
void chart_panel_ranges(const chart_panel *panel, double width, double height, chart_range *x,
                        chart_range *y);
/* How wide bars are, in units of x. */
double chart_bar_width(const chart_series *series);
/* Whether a number leaves room for a range around it; others are not drawn. */
bool chart_is_drawable(double value);
/* Where a finite value lies between two others, from 0 to 1. */
double chart_share(double value, double low, double high);
/* Where a value is, from 0 to 1. */
double chart_place(const chart_range *range, double value);

enum { CHART_MAX_TICKS = 40, CHART_TICK_TEXT = 64 };
typedef struct chart_ticks {
    int count;
    double at[CHART_MAX_TICKS];
    char text[CHART_MAX_TICKS][CHART_TICK_TEXT];
} chart_ticks;
/* At most `most` ticks (2 or more) at round numbers inside a range. */
void chart_find_ticks(const chart_axis *axis, const chart_range *range, int most, chart_ticks *out);

#endif
