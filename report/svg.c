/* SPDX-License-Identifier: BSD-3-Clause */
/* Charts as SVG.
 *
 * Positions are written as whole tenths of a pixel, or halves where there are many: the same bytes
 * in every locale, and 11 bytes per dot (a path of strokes of length zero with round ends), so that
 * 20,000 points stay below 300 kB. More than that are a raster of densities: cells of two pixels,
 * in the mean colour of their classes, as opaque as the logarithm of their count.
 *
 * Colours are attributes, which every program knows that shows SVG, and classes, by which a style
 * turns them dark. */
#include "draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DOTS = 20000,  /* of a picture; above it is a raster */
    MAX_SHAPES = 2500, /* of a picture; above it every mark is a dot */
    MAX_TITLES = 400,  /* marks of a series that a pointer can ask */
    ROUNDS = 6,        /* in which classes take turns */
    CELL = 2,          /* pixels of a raster's cell */
    FONT = 12,
    LINE_HEIGHT = 18,  /* of the legend */
    LONGEST_NAME = 26, /* characters of a name in the legend */
};

typedef struct box {
    double x, y, width, height;
} box;

/* What is being written, and where. */
typedef struct canvas {
    chart_text out;
    mercer_ctx *ctx;
    const chart *picture;
    const char *prefix;
    double width, height;
    bool raster;         /* panels with many points are rasters */
    bool plain;          /* all marks are dots */
    double left, bottom; /* margins that every panel has at least, so that they line up */
    int64_t rastered;    /* points shown as density, in the panel with most of them */
    int dense_panels;    /* panels shown as density */
    mercer_status rc;
    mercer_error *err;
} canvas;

/* One name of the legend. */
typedef struct entry {
    const chart_series *series;
    double width;
} entry;

/* ---- elements ---- */

static void put_tenths(chart_text *out, double value)
{
    const long tenths = lround(10 * value);
    chart_putf(out, "%s%ld", tenths < 0 ? "-" : "", labs(tenths) / 10);
    if (tenths % 10)
        chart_putf(out, ".%ld", labs(tenths) % 10);
}

static void put_attribute(chart_text *out, const char *name, double value)
{
    chart_putf(out, " %s=\"", name);
    put_tenths(out, value);
    chart_put(out, "\"");
}

/* Roughly how wide a text is: no font is known, so an average one is assumed. */
static double text_width(const char *text, double size)
{
    double width = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if ((*s & 0xC0) == 0x80)
            continue;
        width += *s >= 0xE3                      ? 1.0
                 : strchr("iljtf.,:;|!'() ", *s) ? 0.34
                 : *s >= 'A' && *s <= 'Z'        ? 0.68
                                                 : 0.57;
    }
    return width * size;
}

typedef enum anchor { START, MIDDLE, END } anchor;

/* A text whose name part is the user's. turn: degrees, 0: none. */
static void put_text(chart_text *out, double x, double y, anchor where, const char *class,
                     int colour, double size, double turn, const char *text, int64_t most)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    chart_putf(out, "<text class=\"%s\" fill=\"%s\"%s", class, chart_colour_hex(colour, false),
               anchors[where]);
    put_attribute(out, "x", x);
    put_attribute(out, "y", y);
    if (size != FONT)
        put_attribute(out, "font-size", size);
    if (strstr(class, "mc-halo"))
        chart_put(out, " stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" "
                       "paint-order=\"stroke\"");
    if (turn != 0) {
        chart_put(out, " transform=\"rotate(");
        put_tenths(out, turn);
        chart_put(out, " ");
        put_tenths(out, x);
        chart_put(out, " ");
        put_tenths(out, y);
        chart_put(out, ")\"");
    }
    chart_put(out, ">");
    chart_put_name(out, text, most, true);
    if (chart_characters(text) > most) {
        chart_put(out, "<title>");
        chart_put_name(out, text, 1000, true);
        chart_put(out, "</title>");
    }
    chart_put(out, "</text>\n");
}

static void put_rule(chart_text *out, const char *class, int colour, double x1, double y1,
                     double x2, double y2, bool dashed)
{
    chart_putf(out, "<path class=\"%s\" stroke=\"%s\" fill=\"none\"%s%s d=\"M", class,
               chart_colour_hex(colour, false), dashed ? " stroke-dasharray=\"5 4\"" : "",
               strcmp(class, "mc-grid") == 0 ? " stroke-opacity=\".25\"" : "");
    put_tenths(out, x1);
    chart_put(out, " ");
    put_tenths(out, y1);
    chart_put(out, "L");
    put_tenths(out, x2);
    chart_put(out, " ");
    put_tenths(out, y2);
    chart_put(out, "\"/>\n");
}

/* ---- marks ---- */

/* The path of a mark around (x, y), all in tenths. */
static void put_mark(chart_text *out, chart_shape shape, double x, double y)
{
    const long px = lround(10 * x), py = lround(10 * y);
    switch (shape) {
    case CHART_SQUARE:
        chart_putf(out, "M%ld %ldh40v40h-40z", px - 20, py - 20);
        break;
    case CHART_TRIANGLE:
        chart_putf(out, "M%ld %ldl26 44h-52z", px, py - 28);
        break;
    case CHART_DIAMOND:
        chart_putf(out, "M%ld %ldl29 29l-29 29l-29 -29z", px, py - 29);
        break;
    case CHART_TRIANGLE_DOWN:
        chart_putf(out, "M%ld %ldl26 -44h-52z", px, py + 28);
        break;
    case CHART_PLUS:
        chart_putf(out, "M%ld %ldh60m-30 -30v60", px - 30, py);
        break;
    case CHART_CROSS:
        chart_putf(out, "M%ld %ldl52 52m0 -52l-52 52", px - 26, py - 26);
        break;
    case CHART_RING:
        chart_putf(out, "M%ld %lda60 60 0 1 0 120 0a60 60 0 1 0 -120 0", px - 60, py);
        break;
    default:
        chart_putf(out, "M%ld %ldh0", px, py);
        break;
    }
}

/* The group that marks of a shape stand in, which says how they are painted. */
static void open_marks(chart_text *out, const chart_series *series, chart_shape shape, bool many)
{
    const char *hex = chart_colour_hex(series->colour, false);
    if (shape == CHART_DOT)
        chart_putf(out,
                   "<g class=\"mc-s%d\" fill=\"none\" stroke=\"%s\" stroke-opacity=\"%s\" "
                   "stroke-linecap=\"round\" stroke-width=\"%s\" transform=\"scale(%s)\">",
                   series->colour, hex, many ? ".6" : ".75", many ? "7" : "48",
                   many ? ".5" : ".1"); /* many dots are placed by half pixels: fewer digits */
    else if (shape >= CHART_PLUS)
        chart_putf(out,
                   "<g class=\"mc-s%d\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" "
                   "transform=\"scale(.1)\">",
                   series->colour, hex, "16");
    else
        chart_putf(out,
                   "<g class=\"mc-f%d\" fill=\"%s\" fill-opacity=\".75\" "
                   "transform=\"scale(.1)\">",
                   series->colour, hex);
}

static void put_title(chart_text *out, const char *title)
{
    chart_put(out, "<title>");
    chart_put_name(out, title, 200, true);
    chart_put(out, "</title>");
}

/* Names beside marks, where they do not cover each other. */
static void put_labels(canvas *c, const chart_series *series, box inside, const chart_range *rx,
                       const chart_range *ry)
{
    enum { MAX_LABELS = 16, SIZE = 11, TRIES = 6 };
    static const int shifts[TRIES / 2] = {4, -7, 15};
    box taken[2 * MAX_LABELS]; /* first the marks themselves */
    const int marks = series->count < MAX_LABELS ? (int)series->count : MAX_LABELS;
    int count = marks;
    for (int i = 0; i < marks; i++) {
        const double x = inside.x + inside.width * chart_place(rx, series->x[i]);
        const double y = inside.y + inside.height * (1 - chart_place(ry, series->y[i]));
        taken[i] = (box){x - 5, y + shifts[0], 10, SIZE};
    }
    for (int i = 0; i < marks; i++) {
        if (!series->text || !series->text[i])
            continue;
        const double x = taken[i].x + 5, y = taken[i].y - shifts[0];
        const double wide = fmin(text_width(series->text[i], SIZE), 20 * 0.6 * SIZE);
        box here = {0, 0, wide, SIZE};
        bool fits = false, right = false;
        for (int k = 0; k < 2 * TRIES && !fits; k++) { /* beside all marks, else over some */
            right = (k % TRIES < TRIES / 2) == (x + 10 + wide > inside.x + inside.width);
            here.x = right ? x - 9 - wide : x + 9;
            here.y = y + shifts[k % (TRIES / 2)];
            fits = here.x >= inside.x && here.x + wide <= inside.x + inside.width + 10;
            for (int j = k < TRIES ? 0 : marks; j < count && fits; j++)
                fits = j == i || fabs(here.y - taken[j].y) >= SIZE ||
                       here.x > taken[j].x + taken[j].width || here.x + here.width < taken[j].x;
        }
        if (!fits)
            continue;
        taken[count++] = here;
        put_text(&c->out, right ? x - 9 : x + 9, here.y, right ? END : START, "mc-ink mc-halo",
                 CHART_INK, SIZE, 0, series->text[i], 20);
    }
}

/* The marks number round, round + rounds, ... of a series. */
static void put_points(canvas *c, const chart_series *series, int round, int rounds, box inside,
                       const chart_range *rx, const chart_range *ry)
{
    chart_text *out = &c->out;
    const chart_shape shape = c->plain && !series->overlay ? CHART_DOT : series->shape;
    const bool titled =
        series->text && !series->labelled && !c->plain && series->count <= MAX_TITLES;
    if (round >= series->count)
        return;
    open_marks(out, series, shape, c->plain);
    if (!titled)
        chart_put(out, "<path d=\"");
    for (int64_t i = round; i < series->count; i += rounds) {
        const double x = inside.x + inside.width * chart_place(rx, series->x[i]);
        const double y = inside.y + inside.height * (1 - chart_place(ry, series->y[i]));
        if (titled)
            chart_put(out, "<path d=\"");
        if (shape == CHART_DOT && c->plain)
            chart_putf(out, "M%ld %ldh0", lround(2 * x), lround(2 * y));
        else
            put_mark(out, shape, x, y);
        if (titled) {
            chart_put(out, "\">");
            if (series->text[i])
                put_title(out, series->text[i]);
            chart_put(out, "</path>");
        }
    }
    chart_put(out, titled ? "</g>\n" : "\"/></g>\n");
    if (series->labelled)
        put_labels(c, series, inside, rx, ry);
}

static void put_line(canvas *c, const chart_series *series, box inside, const chart_range *rx,
                     const chart_range *ry)
{
    chart_text *out = &c->out;
    chart_putf(out,
               "<path class=\"mc-s%d\" fill=\"none\" stroke=\"%s\" stroke-width=\"20\" "
               "stroke-linejoin=\"round\"%s transform=\"scale(.1)\" d=\"",
               series->colour, chart_colour_hex(series->colour, false),
               series->dashed ? " stroke-dasharray=\"60 40\"" : "");
    long lastx = 0, lasty = 0;
    for (int64_t i = 0; i < series->count; i++) {
        const long x = lround(10 * (inside.x + inside.width * chart_place(rx, series->x[i])));
        const long y =
            lround(10 * (inside.y + inside.height * (1 - chart_place(ry, series->y[i]))));
        if (i == 0 || x != lastx || y != lasty)
            chart_putf(out, "%s%ld %ld", i ? "L" : "M", x, y);
        lastx = x;
        lasty = y;
    }
    chart_put(out, "\"/>\n");
    if (series->with_points)
        put_points(c, series, 0, 1, inside, rx, ry);
}

static void put_bars(canvas *c, const chart_series *series, box inside, const chart_range *rx,
                     const chart_range *ry)
{
    chart_text *out = &c->out;
    const double wide = chart_bar_width(series);
    chart_putf(out, "<g class=\"mc-f%d\" fill=\"%s\" fill-opacity=\".85\">", series->colour,
               chart_colour_hex(series->colour, false));
    for (int64_t i = 0; i < series->count; i++) {
        const double left = chart_place(rx, series->x[i] - 0.5 * wide);
        const double right = chart_place(rx, series->x[i] + 0.5 * wide);
        const double base = series->base ? series->base[i] : ry->low > 0 ? ry->low : 0;
        const double low = chart_place(ry, base), high = chart_place(ry, series->y[i]);
        const double whole = inside.width * fabs(right - left);
        if (series->y[i] == base)
            continue;
        const double gap = whole > 6 ? 0.1 * whole : whole > 2 ? 0.5 : 0;
        chart_put(out, "<rect");
        put_attribute(out, "x", inside.x + inside.width * fmin(left, right) + gap / 2);
        put_attribute(out, "y", inside.y + inside.height * (1 - fmax(low, high)));
        put_attribute(out, "width", fmax(0.3, whole - gap));
        put_attribute(out, "height", inside.height * fabs(high - low));
        if (series->text && series->text[i] && series->count <= MAX_TITLES) {
            chart_put(out, ">");
            put_title(out, series->text[i]);
            chart_put(out, "</rect>");
        } else {
            chart_put(out, "/>");
        }
    }
    chart_put(out, "</g>\n");
}

static void put_level_bars(canvas *c, const chart_series *series, box inside, const chart_range *rx,
                           const chart_range *ry)
{
    chart_text *out = &c->out;
    const double high = 0.7 * inside.height / (ry->high - ry->low);
    const double from = inside.x + inside.width * chart_place(rx, 0);
    const char *hex = chart_colour_hex(series->colour, false);
    chart_putf(out, "<g class=\"mc-f%d\" fill=\"%s\" fill-opacity=\".85\">", series->colour, hex);
    for (int64_t i = 0; i < series->count; i++) {
        const double to = inside.x + inside.width * chart_place(rx, series->x[i]);
        const double y = inside.y + inside.height * (1 - chart_place(ry, series->y[i]));
        chart_put(out, "<rect");
        put_attribute(out, "x", fmin(from, to));
        put_attribute(out, "y", y - high / 2);
        put_attribute(out, "width", fmax(0.3, fabs(to - from)));
        put_attribute(out, "height", high);
        chart_put(out, ">");
        if (series->text && series->text[i])
            put_title(out, series->text[i]);
        chart_put(out, "</rect>");
    }
    chart_put(out, "</g>\n");
    char class[16];
    snprintf(class, sizeof class, "mc-s%d", CHART_INK);
    for (int64_t i = 0; i < series->count; i++) {
        const double y = inside.y + inside.height * (1 - chart_place(ry, series->y[i]));
        if (series->value[i] > 0)
            put_rule(out, class, CHART_INK,
                     inside.x + inside.width * chart_place(rx, series->x[i] - series->value[i]), y,
                     inside.x + inside.width * chart_place(rx, series->x[i] + series->value[i]), y,
                     false);
    }
    put_rule(out, "mc-ax", CHART_GREY, from, inside.y, from, inside.y + inside.height, false);
}

/* Squares as dark as their values, which are from 0 to 1. */
static void put_cells(canvas *c, const chart_series *series, box inside, const chart_range *rx,
                      const chart_range *ry)
{
    chart_text *out = &c->out;
    const double wide = inside.width / (rx->high - rx->low);
    const double high = inside.height / (ry->high - ry->low);
    const double size = fmin(FONT, fmin(0.5 * high, 0.3 * wide));
    for (int64_t i = 0; i < series->count; i++) {
        const double x = inside.x + inside.width * chart_place(rx, series->x[i]);
        const double y = inside.y + inside.height * (1 - chart_place(ry, series->y[i]));
        const double value = series->value ? series->value[i] : 1;
        chart_putf(out, "<rect class=\"mc-f%d\" fill=\"%s\" fill-opacity=\"", series->colour,
                   chart_colour_hex(series->colour, false));
        chart_put_number(out, value, 2);
        chart_put(out, "\"");
        put_attribute(out, "x", x - wide / 2 + 0.5);
        put_attribute(out, "y", y - high / 2 + 0.5);
        put_attribute(out, "width", wide - 1);
        put_attribute(out, "height", high - 1);
        chart_put(out, "/>\n");
        if (series->text && series->text[i] && size >= 5)
            put_text(out, x, y + 0.35 * size, MIDDLE, value > 0.75 ? "mc-on" : "mc-ink",
                     value > 0.75 ? CHART_WHITE : CHART_INK, size, 0, series->text[i], 12);
    }
}

/* ---- rasters ---- */

/* Pixels as they are, each `grow` times in both directions. */
static double *enlarge(const double *pixels, int64_t wide, int64_t high, int64_t channels,
                       int64_t grow)
{
    const size_t size = (size_t)channels * sizeof *pixels;
    double *out = calloc((size_t)(grow * wide), (size_t)(grow * high) * size);
    for (int64_t y = 0; out && y < grow * high; y++)
        for (int64_t x = 0; x < grow * wide; x++)
            memcpy(out + (y * grow * wide + x) * channels,
                   pixels + (y / grow * wide + x / grow) * channels, size);
    return out;
}

/* Pixels (1, 3 or 4 channels, 0 to 255) as an image that fills a box. Some programs smooth what
 * they enlarge, whatever image-rendering says: few pixels are repeated instead, to twice the box.
 */
static void put_image(canvas *c, const double *pixels, int64_t wide, int64_t high, int64_t channels,
                      box where)
{
    const double ratio = where.width / (double)wide;
    const int64_t grow = ratio >= 4 ? (int64_t)ceil(2 * ratio) : 1;
    double *large = NULL;
    void *png = NULL;
    size_t size = 0;
    if (c->rc != MERCER_OK)
        return;
    if (grow > 1 && !(large = enlarge(pixels, wide, high, channels, grow))) {
        c->rc = chart_fail(c->err, MERCER_ERR_MEMORY, "out of memory for an image");
        return;
    }
    c->rc = mercer_image_to_png(large ? large : pixels, grow * wide, grow * high, channels, NULL,
                                &png, &size, c->err);
    free(large);
    if (c->rc != MERCER_OK)
        return;
    chart_put(&c->out, "<image preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\"");
    put_attribute(&c->out, "x", where.x);
    put_attribute(&c->out, "y", where.y);
    put_attribute(&c->out, "width", where.width);
    put_attribute(&c->out, "height", where.height);
    chart_put(&c->out, " href=\"data:image/png;base64,");
    chart_put_base64(&c->out, png, size);
    chart_put(&c->out, "\"/>\n");
    mercer_free(png);
}

static void rgb_of(int colour, double rgb[3])
{
    const unsigned long value = strtoul(chart_colour_hex(colour, false) + 1, NULL, 16);
    for (int k = 0; k < 3; k++)
        rgb[k] = (double)(value >> (16 - 8 * k) & 255);
}

static int64_t points_of(const chart_panel *panel)
{
    int64_t count = 0;
    for (int s = 0; s < panel->count; s++)
        if (panel->series[s].mark == CHART_POINTS && !panel->series[s].overlay)
            count += panel->series[s].count;
    return count;
}

static void put_density(canvas *c, const chart_panel *panel, box inside, const chart_range *rx,
                        const chart_range *ry)
{
    enum { LEVELS = 16 };
    const int64_t wide = lround(inside.width / CELL), high = lround(inside.height / CELL);
    double *cells = calloc((size_t)(wide * high), 4 * sizeof *cells); /* colour, count */
    if (!cells) {
        c->rc = chart_fail(c->err, MERCER_ERR_MEMORY, "out of memory for a raster of points");
        return;
    }
    double most = 1;
    for (int s = 0; s < panel->count; s++) {
        const chart_series *series = &panel->series[s];
        double rgb[3];
        if (series->mark != CHART_POINTS || series->overlay)
            continue;
        rgb_of(series->colour, rgb);
        for (int64_t i = 0; i < series->count; i++) {
            const double fx = chart_place(rx, series->x[i]), fy = 1 - chart_place(ry, series->y[i]);
            const int64_t px = (int64_t)fmin(fmax(fx, 0) * (double)wide, (double)wide - 1);
            const int64_t py = (int64_t)fmin(fmax(fy, 0) * (double)high, (double)high - 1);
            double *cell = cells + 4 * (py * wide + px);
            for (int k = 0; k < 3; k++)
                cell[k] += rgb[k];
            cell[3]++;
            most = fmax(most, cell[3]);
        }
    }
    for (int64_t i = 0; i < wide * high; i++) {
        double *cell = cells + 4 * i;
        const double count = cell[3];
        if (count == 0)
            continue;
        for (int k = 0; k < 3; k++)
            cell[k] = 8 * round(cell[k] / count / 8); /* few colours: small files */
        cell[3] = 255 * (0.3 + 0.7 * round(LEVELS * log(1 + count) / log(1 + most)) / LEVELS);
    }
    put_image(c, cells, wide, high, 4, inside);
    free(cells);
}

/* ---- panels ---- */

/* What a panel needs around its marks. */
typedef struct frame {
    chart_range rx, ry;
    chart_ticks tx, ty;
    box inside;
    bool turned; /* the names below stand aslant */
} frame;

static const char *tick_name(const chart_axis *axis, const chart_ticks *ticks, int i)
{
    return axis->names ? axis->names[(int64_t)ticks->at[i]] : ticks->text[i];
}

static double widest(const chart_axis *axis, const chart_ticks *ticks, int64_t most)
{
    double width = 0;
    for (int i = 0; i < ticks->count; i++) {
        const char *name = tick_name(axis, ticks, i);
        double here = text_width(name, FONT);
        if (chart_characters(name) > most)
            here = (double)most * 0.6 * FONT;
        width = fmax(width, here);
    }
    return width;
}

/* The title of an axis, unless another panel has it. */
static const char *title_of(const chart_axis *axis)
{
    return axis->aside ? NULL : axis->title;
}

enum { NAME_LENGTH = 14, LEVEL_NAME = 24 }; /* characters of a name below an axis, and beside one */

static void lay_out(const canvas *c, const chart_panel *panel, box outer, frame *f)
{
    const double top = panel->title ? 22 : 8, right = 12;
    double needed = 14 + (title_of(&panel->y) ? 18 : 0);
    double below = 22 + (title_of(&panel->x) ? 18 : 0);
    f->turned = false;
    if (panel->bare) {
        f->inside = (box){outer.x + 4, outer.y + top, outer.width - 8, outer.height - top - 4};
        return;
    }
    /* Ticks decide the margins, and the margins the ticks: the second time they agree. */
    for (int pass = 0; pass < 2; pass++) {
        const double left = fmax(needed, c->left), bottom = fmax(below, c->bottom);
        f->inside = (box){outer.x + left, outer.y + top, outer.width - left - right,
                          outer.height - top - bottom};
        f->inside.width = fmax(f->inside.width, 20);
        f->inside.height = fmax(f->inside.height, 20);
        chart_panel_ranges(panel, f->inside.width, f->inside.height, &f->rx, &f->ry);
        chart_find_ticks(&panel->y, &f->ry, (int)(f->inside.height / (panel->y.names ? 13 : 34)),
                         &f->ty);
        chart_find_ticks(&panel->x, &f->rx, (int)(f->inside.width / (panel->x.names ? 16 : 52)),
                         &f->tx);
        if (pass == 1)
            break;
        needed += widest(&panel->y, &f->ty, LEVEL_NAME);
        if (panel->x.names &&
            widest(&panel->x, &f->tx, NAME_LENGTH) + 6 > f->inside.width / fmax(1, f->tx.count)) {
            f->turned = true;
            below += 0.7 * widest(&panel->x, &f->tx, NAME_LENGTH);
        }
    }
}

/* Let the margins of all panels be those of the one that needs most. */
static void line_up(canvas *c, const chart_panel *panel, box outer)
{
    const canvas alone = {0};
    frame f = {0};
    if (panel->bare)
        return;
    lay_out(&alone, panel, outer, &f);
    c->left = fmax(c->left, f.inside.x - outer.x);
    c->bottom = fmax(c->bottom, outer.y + outer.height - f.inside.y - f.inside.height);
}

static void put_axes(canvas *c, const chart_panel *panel, const frame *f)
{
    chart_text *out = &c->out;
    const box b = f->inside;
    const bool cells = panel->count && panel->series[0].mark == CHART_CELLS;
    for (int i = 0; i < f->ty.count; i++) {
        const double y = b.y + b.height * (1 - chart_place(&f->ry, f->ty.at[i]));
        if (!cells)
            put_rule(out, "mc-grid", CHART_GREY, b.x, y, b.x + b.width, y, false);
        put_text(out, b.x - 6, y + 4, END, "mc-ink", CHART_INK, FONT, 0,
                 tick_name(&panel->y, &f->ty, i), LEVEL_NAME);
    }
    for (int i = 0; i < f->tx.count; i++) {
        const double x = b.x + b.width * chart_place(&f->rx, f->tx.at[i]);
        if (!cells && !panel->x.names)
            put_rule(out, "mc-grid", CHART_GREY, x, b.y, x, b.y + b.height, false);
        put_text(out, x + (f->turned ? 4 : 0), b.y + b.height + (f->turned ? 12 : 17),
                 f->turned ? END : MIDDLE, "mc-ink", CHART_INK, FONT, f->turned ? -40 : 0,
                 tick_name(&panel->x, &f->tx, i), NAME_LENGTH);
    }
    put_rule(out, "mc-ax", CHART_GREY, b.x, b.y + b.height, b.x + b.width, b.y + b.height, false);
    put_rule(out, "mc-ax", CHART_GREY, b.x, b.y, b.x, b.y + b.height, false);
}

static void put_axis_titles(canvas *c, const chart_panel *panel, const frame *f, box outer)
{
    const box b = f->inside;
    if (title_of(&panel->x))
        put_text(&c->out, b.x + b.width / 2, outer.y + outer.height - 5, MIDDLE, "mc-ink",
                 CHART_INK, FONT, 0, panel->x.title, 80);
    if (title_of(&panel->y))
        put_text(&c->out, outer.x + 14, b.y + b.height / 2, MIDDLE, "mc-ink", CHART_INK, FONT, -90,
                 panel->y.title, 60);
}

static void put_rule_series(canvas *c, const chart_series *series, const frame *f)
{
    const box b = f->inside;
    const bool is_x = series->mark == CHART_RULE_X;
    if (series->count == 0)
        return;
    const double at = is_x ? b.x + b.width * chart_place(&f->rx, series->x[0])
                           : b.y + b.height * (1 - chart_place(&f->ry, series->y[0]));
    char class[16];
    snprintf(class, sizeof class, "mc-s%d", series->colour);
    if (is_x)
        put_rule(&c->out, class, series->colour, at, b.y, at, b.y + b.height, series->dashed);
    else
        put_rule(&c->out, class, series->colour, b.x, at, b.x + b.width, at, series->dashed);
}

static void put_panel(canvas *c, const chart_panel *panel, box outer)
{
    frame f = {0};
    lay_out(c, panel, outer, &f);
    chart_put(&c->out, "<g>\n");
    if (panel->title)
        put_text(&c->out, f.inside.x, f.inside.y - 8, START, "mc-ink", CHART_INK, FONT, 0,
                 panel->title, (int64_t)(f.inside.width / (0.56 * FONT)));
    if (panel->image.pixels) {
        const chart_image *image = &panel->image;
        const double scale =
            fmin(f.inside.width / (double)image->width, f.inside.height / (double)image->height);
        const box where = {f.inside.x, f.inside.y, scale * (double)image->width,
                           scale * (double)image->height};
        put_image(c, image->pixels, image->width, image->height, image->channels, where);
    }
    if (!panel->bare)
        put_axes(c, panel, &f);
    const bool dense = c->raster && points_of(panel) > MAX_DOTS / c->picture->panel_count;
    if (dense) {
        put_density(c, panel, f.inside, &f.rx, &f.ry);
        c->rastered = points_of(panel) > c->rastered ? points_of(panel) : c->rastered;
        c->dense_panels++;
    }
    /* Classes take turns, or the last one would lie on top of all others. */
    const int rounds = points_of(panel) > 500 ? ROUNDS : 1;
    for (int round = 0; round < rounds && !dense; round++)
        for (int s = 0; s < panel->count; s++)
            if (panel->series[s].mark == CHART_POINTS && !panel->series[s].overlay)
                put_points(c, &panel->series[s], round, rounds, f.inside, &f.rx, &f.ry);
    for (int s = 0; s < panel->count; s++) {
        const chart_series *series = &panel->series[s];
        if (series->mark == CHART_POINTS && series->overlay)
            put_points(c, series, 0, 1, f.inside, &f.rx, &f.ry);
        else if (series->mark == CHART_LINE)
            put_line(c, series, f.inside, &f.rx, &f.ry);
        else if (series->mark == CHART_BARS)
            put_bars(c, series, f.inside, &f.rx, &f.ry);
        else if (series->mark == CHART_LEVEL_BARS)
            put_level_bars(c, series, f.inside, &f.rx, &f.ry);
        else if (series->mark == CHART_CELLS)
            put_cells(c, series, f.inside, &f.rx, &f.ry);
        else if (series->mark != CHART_POINTS)
            put_rule_series(c, series, &f);
    }
    if (!panel->bare)
        put_axis_titles(c, panel, &f, outer);
    chart_put(&c->out, "</g>\n");
}

/* ---- the legend ---- */

enum { MAX_ENTRIES = 40 };

static int find_entries(const chart *picture, entry *entries)
{
    int count = 0;
    for (int p = 0; p < picture->panel_count; p++)
        for (int s = 0; s < picture->panels[p].count; s++) {
            const chart_series *series = &picture->panels[p].series[s];
            bool known = !series->name || count == MAX_ENTRIES;
            for (int i = 0; !known && i < count; i++)
                known = strcmp(entries[i].series->name, series->name) == 0;
            if (known)
                continue;
            double width = text_width(series->name, FONT);
            if (chart_characters(series->name) > LONGEST_NAME)
                width = LONGEST_NAME * 0.6 * FONT;
            entries[count++] = (entry){series, width + 36};
        }
    return count;
}

static void put_entry(canvas *c, const chart_series *series, double x, double y)
{
    chart_text *out = &c->out;
    const chart_shape shape = c->plain && !series->overlay ? CHART_DOT : series->shape;
    chart_put(out, "<g class=\"mc-key\">");
    if (series->mark == CHART_LINE || series->mark == CHART_RULE_X || series->mark == CHART_RULE_Y)
        chart_putf(out,
                   "<path class=\"mc-s%d\" stroke=\"%s\" stroke-width=\"2\"%s d=\"M%ld %ldh20\"/>",
                   series->colour, chart_colour_hex(series->colour, false),
                   series->dashed ? " stroke-dasharray=\"6 4\"" : "", lround(x), lround(y - 4));
    if (series->mark == CHART_BARS || series->mark == CHART_LEVEL_BARS ||
        series->mark == CHART_CELLS) {
        chart_putf(out, "<rect class=\"mc-f%d\" fill=\"%s\" fill-opacity=\".85\"", series->colour,
                   chart_colour_hex(series->colour, false));
        put_attribute(out, "x", x + 4);
        put_attribute(out, "y", y - 10);
        chart_put(out, " width=\"12\" height=\"11\"/>");
    }
    if (series->mark == CHART_POINTS || series->with_points) {
        open_marks(out, series, shape, false);
        chart_put(out, "<path d=\"");
        put_mark(out, shape, x + 10, y - 4);
        chart_put(out, "\"/></g>");
    }
    put_text(out, x + 26, y, START, "mc-ink", CHART_INK, FONT, 0, series->name, LONGEST_NAME);
    chart_put(out, "</g>\n");
}

/* ---- the whole ---- */

static void put_head(canvas *c, bool inside_page)
{
    const chart *picture = c->picture;
    chart_text *out = &c->out;
    if (!inside_page)
        chart_put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    chart_put(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mc\" viewBox=\"0 0 ");
    put_tenths(out, c->width);
    chart_put(out, " ");
    put_tenths(out, c->height);
    chart_put(out, "\"");
    put_attribute(out, "width", c->width);
    put_attribute(out, "height", c->height);
    chart_putf(out,
               " role=\"img\" aria-labelledby=\"%s-t %s-d\" font-family=\"Helvetica, Arial, "
               "'Liberation Sans', 'DejaVu Sans', sans-serif\" font-size=\"%d\">\n<title "
               "id=\"%s-t\">",
               c->prefix, c->prefix, FONT, c->prefix);
    chart_put_name(out, picture->title ? picture->title : "", 400, true);
    chart_putf(out, "</title>\n<desc id=\"%s-d\">", c->prefix);
    chart_put_name(out, picture->summary ? picture->summary : "", 2000, true);
    chart_put(out, "</desc>\n");
    if (!inside_page)
        chart_putf(out,
                   "<style>%s</style>\n<rect class=\"mc-bg\" fill=\"#ffffff\" width=\"100%%\" "
                   "height=\"100%%\"/>\n",
                   chart_svg_style());
}

static void choose_size(canvas *c, double head, double legend_right)
{
    const chart *picture = c->picture;
    const int columns = picture->columns, rows = (picture->panel_count + columns - 1) / columns;
    const chart_panel *first = &picture->panels[0];
    const bool cells =
        picture->panel_count == 1 && first->count && first->series[0].mark == CHART_CELLS;
    if (picture->panel_count == 1 && first->count && first->series[0].mark == CHART_LEVEL_BARS &&
        c->height <= 0)
        c->height = head + 60 + 20 * (double)first->y.name_count;
    if (cells && c->width <= 0)
        c->width = fmax(560, 110 + 26 * (double)first->x.name_count);
    if (cells && c->height <= 0)
        c->height = head + fmax(400, 90 + 20 * (double)first->y.name_count);
    if (c->width <= 0)
        c->width = columns == 1   ? 560 + legend_right
                   : columns == 2 ? 760
                   : columns == 3 ? 840
                                  : 880;
    if (c->height <= 0) {
        const double each = (c->width - legend_right) / columns;
        c->height = head + (rows == 1 ? fmin(400, 0.75 * each + 60) : rows * fmin(300, 0.8 * each));
        if (picture->panel_count == 1 && picture->panels[0].bare && picture->panels[0].image.width)
            c->height = head + 16 +
                        (c->width - 8) * (double)picture->panels[0].image.height /
                            (double)picture->panels[0].image.width;
    }
}

mercer_status chart_svg(const chart *picture, const chart_svg_options *options, char **out,
                        size_t *size, mercer_error *err)
{
    const chart_svg_options none = {0}, *o = options ? options : &none;
    canvas c = {.picture = picture,
                .prefix = o->prefix ? o->prefix : "m",
                .width = o->width,
                .height = o->height,
                .err = err};
    entry entries[MAX_ENTRIES];
    int64_t points = 0;
    *out = NULL;
    for (int p = 0; p < picture->panel_count; p++)
        points += points_of(&picture->panels[p]);
    c.raster = points > MAX_DOTS;
    c.plain = points > MAX_SHAPES;

    /* One line of names above, else a column at the right. */
    const int count = find_entries(picture, entries);
    double line = 0, widest_name = 0;
    for (int i = 0; i < count; i++) {
        line += entries[i].width;
        widest_name = fmax(widest_name, entries[i].width);
    }
    const double title = picture->title ? (picture->subtitle ? 48 : 30) : 8;
    const bool beside = line > (o->width > 0 ? o->width - 40 : 560);
    const double head = title + (count && !beside ? 24 : 0), right = beside ? widest_name + 10 : 0;
    const bool noted = picture->note || c.raster;
    choose_size(&c, head + (noted ? 20 : 0), right);
    if (beside)
        c.height = fmax(c.height, title + count * LINE_HEIGHT + 30);

    put_head(&c, o->inline_page);
    if (picture->title)
        put_text(&c.out, 14, 22, START, "mc-ink", CHART_INK, 15, 0, picture->title,
                 (int64_t)((c.width - 28) / 8));
    if (picture->subtitle)
        put_text(&c.out, 14, 40, START, "mc-grey", CHART_GREY, 11, 0, picture->subtitle,
                 (int64_t)((c.width - 28) / 5.8));
    double x = 16, y = title + 16;
    for (int i = 0; i < count; i++) {
        put_entry(&c, entries[i].series, beside ? c.width - right + 4 : x,
                  beside ? title + 22 + i * LINE_HEIGHT : y);
        x += entries[i].width;
    }
    const int columns = picture->columns, rows = (picture->panel_count + columns - 1) / columns;
    const double wide = (c.width - right - 8) / columns;
    const double high = (c.height - head - (noted ? 22 : 4)) / (rows ? rows : 1);
    for (int draw = columns > 1 ? 0 : 1; draw < 2; draw++)
        for (int p = 0; p < picture->panel_count; p++) {
            const int row = p / columns, column = p % columns;
            const box outer = {4 + wide * column, head + high * row, wide, high};
            if (draw)
                put_panel(&c, &picture->panels[p], outer);
            else
                line_up(&c, &picture->panels[p], outer);
        }
    chart_text note = {0};
    if (picture->note)
        chart_put(&note, picture->note);
    if (c.rastered) {
        chart_put(&note, picture->note ? "; " : "");
        chart_put_count(&note, c.rastered);
        chart_put(&note, c.dense_panels > 1 ? " points per panel" : " points");
        chart_put(&note, " drawn as density: the stronger the colour, the more (logarithmic)");
    }
    if (note.bytes)
        put_text(&c.out, 14, c.height - 8, START, "mc-grey", CHART_GREY, 11, 0, note.bytes,
                 (int64_t)((c.width - 28) / 5.6));
    chart_put(&c.out, "</svg>\n");
    if (c.rc == MERCER_OK && (c.out.failed || note.failed || picture->failed))
        c.rc = chart_fail(err, MERCER_ERR_MEMORY, "out of memory for a picture");
    free(note.bytes);
    if (size)
        *size = c.out.size;
    *out = chart_take(&c.out);
    if (c.rc != MERCER_OK) {
        free(*out);
        *out = NULL;
    }
    return c.rc;
}
