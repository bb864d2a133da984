/* SPDX-License-Identifier: BSD-3-Clause */
/* Charts as lines of text: points and lines in braille dots (2 x 4 per character), bars and
 * densities in block characters.
 *
 * Without colours a braille dot has no class, so that classes become letters. Every line
 * is at most as wide as the terminal, from 20 columns on. */
#include "draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_PANEL = 34,    /* columns of a panel that stands beside another */
    WIDEST_PANEL = 96, /* wider ones are not easier to read */
    MAX_DOTS = 20000,  /* of a panel; above it is shaded by density */
    MAX_BARS = 24,     /* that lie one below the other */
    LABEL_ROOM = 10,
};

/* A character of a drawing: what stands there, and in which colour. */
typedef struct cell {
    char glyph[4]; /* UTF-8, not ended when full */
    short colour;  /* of the palette; -1: the terminal's own */
    bool marked;
} cell;

typedef struct grid {
    int width, height;
    cell *cells;
} grid;

typedef struct drawing {
    const chart *picture;
    bool colour, failed;
    chart_text out;
} drawing;

/* ---- characters ---- */

static grid make_grid(drawing *d, int width, int height)
{
    grid g = {width, height, calloc((size_t)width * (size_t)height + 1, sizeof *g.cells)};
    d->failed |= !g.cells;
    for (int i = 0; g.cells && i < width * height; i++)
        g.cells[i] = (cell){" ", -1, false};
    return g;
}

static void set(grid *g, int x, int y, const char *glyph, int colour)
{
    if (!g->cells || x < 0 || y < 0 || x >= g->width || y >= g->height)
        return;
    cell *at = &g->cells[y * g->width + x];
    memset(at->glyph, 0, sizeof at->glyph);
    memcpy(at->glyph, glyph, strnlen(glyph, sizeof at->glyph));
    at->colour = (short)colour;
}

/* A text from column x on, cut at the end of the line; control characters are made harmless. */
static void set_text(drawing *d, grid *g, int x, int y, const char *text, int most, int colour)
{
    chart_text safe = {0};
    chart_put_name(&safe, text, most, false);
    d->failed |= safe.failed;
    for (const char *s = safe.bytes ? safe.bytes : ""; *s; x++) {
        char glyph[5] = {*s++};
        for (int i = 1; i < 4 && ((unsigned char)*s & 0xC0) == 0x80; i++)
            glyph[i] = *s++;
        set(g, x, y, glyph, colour);
    }
    free(safe.bytes);
}

/* The nearest of the 216 colours that terminals have. */
static int terminal_colour(int colour)
{
    const unsigned long rgb = strtoul(chart_colour_hex(colour, true) + 1, NULL, 16);
    int code = 16;
    for (int k = 0; k < 3; k++) {
        const int value = (int)(rgb >> (16 - 8 * k) & 255);
        const int level = value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
        code += level * (k == 0 ? 36 : k == 1 ? 6 : 1);
    }
    return code;
}

/* The lines of grids side by side. */
static void put_grids(drawing *d, const grid *grids, int count)
{
    int height = 0;
    for (int i = 0; i < count; i++)
        height = grids[i].height > height ? grids[i].height : height;
    for (int y = 0; y < height && !d->failed; y++) {
        chart_text line = {0};
        size_t used = 0; /* without blanks at the end */
        int now = -1;
        for (int i = 0; i < count; i++)
            for (int x = 0; x < grids[i].width; x++) {
                const cell blank = {" ", -1, false};
                const cell *at =
                    y < grids[i].height ? &grids[i].cells[y * grids[i].width + x] : &blank;
                const bool empty = at->glyph[0] == ' ' && !at->glyph[1];
                if (d->colour && !empty && at->colour != now) {
                    now = at->colour;
                    if (now < 0)
                        chart_put(&line, "\033[0m");
                    else
                        chart_putf(&line, "\033[0;38;5;%dm", terminal_colour(now));
                }
                chart_put_bytes(&line, at->glyph, strnlen(at->glyph, sizeof at->glyph));
                if (!empty)
                    used = line.size;
            }
        if (line.bytes)
            chart_put_bytes(&d->out, line.bytes, used);
        if (now >= 0)
            chart_put(&d->out, "\033[0m");
        chart_put(&d->out, "\n");
        d->failed |= line.failed;
        free(line.bytes);
    }
}

/* ---- the frame of a panel ---- */

typedef struct view {
    grid *g;
    int left, top, wide, high; /* where marks are, in characters */
    chart_range rx, ry;
} view;

static const char *tick_name(const chart_axis *axis, const chart_ticks *ticks, int i)
{
    return axis->names ? axis->names[(int64_t)ticks->at[i]] : ticks->text[i];
}

static void put_frame(drawing *d, const chart_panel *panel, view *v)
{
    grid *g = v->g;
    chart_ticks tx, ty;
    int label = 3;
    v->top = (panel->title != NULL) + (panel->y.title != NULL);
    v->high = g->height - v->top - 2 - (panel->x.title != NULL);
    v->wide = g->width - 12;
    chart_panel_ranges(panel, 2 * v->wide, 4 * v->high, &v->rx, &v->ry);
    chart_find_ticks(&panel->y, &v->ry, 2 * v->high / 5 < 2 ? 2 : 2 * v->high / 5, &ty);
    for (int i = 0; i < ty.count; i++) {
        const int length = (int)chart_characters(tick_name(&panel->y, &ty, i));
        label = length > label ? length : label;
    }
    label = label > LABEL_ROOM ? LABEL_ROOM : label;
    v->left = label + 1;
    v->wide = g->width - v->left - 1;
    chart_panel_ranges(panel, 2 * v->wide, 4 * v->high, &v->rx, &v->ry);
    chart_find_ticks(&panel->x, &v->rx, v->wide / 7 < 2 ? 2 : v->wide / 7, &tx);

    if (panel->title)
        set_text(d, g, v->left, 0, panel->title, v->wide, -1);
    if (panel->y.title)
        set_text(d, g, 0, v->top - 1, panel->y.title, g->width, CHART_GREY);
    for (int y = 0; y < v->high; y++)
        set(g, v->left - 1, v->top + y, "│", CHART_GREY);
    for (int x = 0; x < v->wide; x++)
        set(g, v->left + x, v->top + v->high, "─", CHART_GREY);
    set(g, v->left - 1, v->top + v->high, "└", CHART_GREY);
    int last = -1;
    for (int i = 0; i < ty.count; i++) {
        const int y = v->top + (int)((1 - chart_place(&v->ry, ty.at[i])) * v->high * 0.9999);
        const char *name = tick_name(&panel->y, &ty, i);
        const int length = (int)chart_characters(name);
        if (y == last || y < v->top || y >= v->top + v->high)
            continue;
        last = y;
        set_text(d, g, length > label ? 0 : label - length, y, name, label, -1);
        set(g, v->left - 1, y, "┤", CHART_GREY);
    }
    int free_from = 0;
    for (int i = 0; i < tx.count; i++) {
        const int x = v->left + (int)(chart_place(&v->rx, tx.at[i]) * v->wide * 0.9999);
        const char *name = tick_name(&panel->x, &tx, i);
        int length = (int)chart_characters(name);
        const int room = panel->x.names ? v->wide / (tx.count ? tx.count : 1) - 1 : length;
        length = length > room ? (room < 1 ? 1 : room) : length;
        int from = x - length / 2;
        from = from + length > g->width ? g->width - length : from;
        if (x < v->left || x >= v->left + v->wide)
            continue;
        set(g, x, v->top + v->high, "┬", CHART_GREY);
        if (from < free_from)
            continue;
        set_text(d, g, from, v->top + v->high + 1, name, length, -1);
        free_from = from + length + 1;
    }
    if (panel->x.title) {
        const int length = (int)chart_characters(panel->x.title);
        int from = v->left + (v->wide - length) / 2;
        from = from + length > g->width ? g->width - length : from;
        from = from < 0 ? 0 : from;
        set_text(d, g, from, g->height - 1, panel->x.title, g->width - from, CHART_GREY);
    }
}

/* ---- points and lines ---- */

/* Counts of each series in each dot's character, and the dots themselves. */
typedef struct canvas {
    view *v;
    unsigned char *dots;
    int *counts; /* characters x series */
} canvas;

static void put_dot(canvas *c, int series, int of, int px, int py)
{
    /* Bits of a braille character by row and column of the dot. */
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (px < 0 || py < 0 || px >= 2 * c->v->wide || py >= 4 * c->v->high)
        return;
    const int at = py / 4 * c->v->wide + px / 2;
    c->dots[at] |= bit[py % 4][px % 2];
    c->counts[at * of + series]++;
}

static int dot_x(const view *v, double x)
{
    return (int)(chart_place(&v->rx, x) * 2 * v->wide * 0.9999);
}

static int dot_y(const view *v, double y)
{
    return (int)((1 - chart_place(&v->ry, y)) * 4 * v->high * 0.9999);
}

static void put_segment(canvas *c, int series, int of, bool dashed, int x0, int y0, int x1, int y1)
{
    enum { DASH = 3 };
    const int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i += dashed && i % (2 * DASH) == DASH ? DASH : 1)
        put_dot(c, series, of, x0 + (int)lround((double)(x1 - x0) * i / (steps ? steps : 1)),
                y0 + (int)lround((double)(y1 - y0) * i / (steps ? steps : 1)));
}

/* Whether a reader has to tell a series from others of its kind: by its colour, else by a letter.
 */
static bool is_told(const chart_series *series)
{
    return series->mark == CHART_POINTS
               ? !series->overlay
               : series->mark == CHART_LINE && series->name && !series->dashed;
}

/* How many series of a panel a reader has to tell apart. */
static int count_told(const chart_panel *panel)
{
    int count = 0;
    for (int s = 0; s < panel->count; s++)
        count += is_told(&panel->series[s]) && panel->series[s].count > 0;
    return count;
}

static bool is_dense(const chart_panel *panel)
{
    int64_t count = 0;
    for (int s = 0; s < panel->count; s++)
        if (panel->series[s].mark == CHART_POINTS && !panel->series[s].overlay)
            count += panel->series[s].count;
    return count > MAX_DOTS;
}

/* The glyph of a series in a drawing without colours, and in its legend: its name, if all names are
 * single characters. */
static void letter_of(const chart_panel *panel, int series, char out[2])
{
    int number = 0;
    bool single = true;
    for (int s = 0; s < panel->count && single; s++)
        if (is_told(&panel->series[s])) {
            const char *name = panel->series[s].name;
            single = name && name[0] > ' ' && name[0] < 0x7f && !name[1];
        }
    if (single && panel->series[series].name) {
        out[0] = panel->series[series].name[0];
        out[1] = 0;
        return;
    }
    for (int s = 0; s < series; s++)
        number += is_told(&panel->series[s]);
    out[0] = (char)(number < 26 ? 'a' + number : number < 36 ? '0' + number - 26 : '*');
    out[1] = 0;
}

static const char *overlay_of(chart_shape shape)
{
    return shape == CHART_RING ? "O" : shape == CHART_CROSS ? "×" : "•";
}

static void put_rules(view *v, const chart_panel *panel)
{
    for (int s = 0; s < panel->count; s++) {
        const chart_series *series = &panel->series[s];
        if (series->count == 0)
            continue;
        if (series->mark == CHART_RULE_X)
            for (int y = 0; y < v->high; y++)
                set(v->g, v->left + dot_x(v, series->x[0]) / 2, v->top + y, "┊", series->colour);
        if (series->mark == CHART_RULE_Y)
            for (int x = 0; x < v->wide; x++)
                set(v->g, v->left + x, v->top + dot_y(v, series->y[0]) / 4, "┈", series->colour);
    }
}

static void put_character(canvas *c, const chart_panel *panel, int at, bool letters, bool dense,
                          double most)
{
    static const char *const shades[] = {"░", "▒", "▓", "█"};
    const int of = panel->count, *counts = c->counts + at * of;
    int best = 0, sum = 0;
    for (int s = 0; s < of; s++) {
        best = counts[s] > counts[best] ? s : best;
        sum += counts[s];
    }
    /* U+2800 + dots, in UTF-8 */
    const unsigned char dots = c->dots[at];
    char braille[] = {(char)0xe2, (char)(0xa0 + (dots >> 6)), (char)(0x80 + (dots & 0x3f)), 0};
    char letter[2];
    letter_of(panel, best, letter);
    const int shade = (int)(3.999 * log(1 + sum) / log(1 + most));
    set(c->v->g, c->v->left + at % c->v->wide, c->v->top + at / c->v->wide,
        dense                                      ? shades[shade]
        : letters && is_told(&panel->series[best]) ? letter
                                                   : braille,
        panel->series[best].colour);
}

/* Whether nothing stands in some characters of a line. */
static bool is_blank(const grid *g, int x, int y, int length)
{
    for (int i = 0; i < length; i++)
        if (x + i < 0 || x + i >= g->width ||
            strcmp(g->cells[y * g->width + x + i].glyph, " ") != 0)
            return false;
    return true;
}

/* Names beside marks, where nothing else is. */
static void put_labels(drawing *d, view *v, const chart_series *series)
{
    enum { LONGEST = 12 };
    for (int64_t i = 0; series->text && i < series->count; i++) {
        const int x = v->left + dot_x(v, series->x[i]) / 2, y = v->top + dot_y(v, series->y[i]) / 4;
        const int all = series->text[i] ? (int)chart_characters(series->text[i]) : 0;
        const int length = all < LONGEST ? all : LONGEST;
        if (length && is_blank(v->g, x + 1, y, length + 1))
            set_text(d, v->g, x + 2, y, series->text[i], length, -1);
        else if (length && x - length - 1 > v->left &&
                 is_blank(v->g, x - length - 1, y, length + 1))
            set_text(d, v->g, x - length - 1, y, series->text[i], length, -1);
    }
}

static void put_marks(drawing *d, const chart_panel *panel, view *v)
{
    const int cells = v->wide * v->high, of = panel->count;
    canvas c = {v, calloc((size_t)cells + 1, 1),
                calloc((size_t)cells * (size_t)of + 1, sizeof(int))};
    const bool dense = is_dense(panel);
    const bool letters = !d->colour && count_told(panel) > 1 && !dense;
    d->failed |= !c.dots || !c.counts;
    for (int s = 0; s < of && !d->failed; s++) {
        const chart_series *series = &panel->series[s];
        if (series->mark == CHART_POINTS && !series->overlay)
            for (int64_t i = 0; i < series->count; i++)
                put_dot(&c, s, of, dot_x(v, series->x[i]), dot_y(v, series->y[i]));
        if (series->mark == CHART_LINE)
            for (int64_t i = 0; i < series->count; i++) {
                const int64_t before = i ? i - 1 : 0;
                put_segment(&c, s, of, series->dashed, dot_x(v, series->x[before]),
                            dot_y(v, series->y[before]), dot_x(v, series->x[i]),
                            dot_y(v, series->y[i]));
            }
    }
    double most = 1;
    for (int i = 0; i < cells && !d->failed; i++) {
        double sum = 0;
        for (int s = 0; s < of; s++)
            sum += c.counts[i * of + s];
        most = sum > most ? sum : most;
    }
    for (int i = 0; i < cells && !d->failed; i++)
        if (c.dots[i])
            put_character(&c, panel, i, letters, dense, most);
    for (int s = 0; s < of; s++) {
        const chart_series *series = &panel->series[s];
        for (int64_t i = 0; i < series->count && series->mark == CHART_POINTS && series->overlay;
             i++)
            set(v->g, v->left + dot_x(v, series->x[i]) / 2, v->top + dot_y(v, series->y[i]) / 4,
                overlay_of(series->shape), series->colour);
    }
    for (int s = 0; s < of && !d->failed; s++)
        if (panel->series[s].labelled)
            put_labels(d, v, &panel->series[s]);
    free(c.dots);
    free(c.counts);
}

/* ---- bars ---- */

static void put_columns(const chart_panel *panel, view *v)
{
    static const char *const part[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    for (int s = panel->count - 1; s >= 0; s--) { /* stacked: the topmost first, then those below */
        const chart_series *series = &panel->series[s];
        if (series->mark != CHART_BARS)
            continue;
        const double wide = chart_bar_width(series);
        for (int64_t i = 0; i < series->count; i++) {
            const int from = (int)lround(chart_place(&v->rx, series->x[i] - wide / 2) * v->wide);
            int to = (int)lround(chart_place(&v->rx, series->x[i] + wide / 2) * v->wide);
            to = to > from ? to : from + 1;
            const double height = chart_place(&v->ry, series->y[i]) * v->high;
            const double base = series->base ? chart_place(&v->ry, series->base[i]) * v->high : 0;
            if (height <= base)
                continue;
            int eighths = (int)lround(8 * height);
            eighths = eighths < 1 ? 1 : eighths; /* what is there is seen */
            for (int x = from; x < to && x < v->wide; x++)
                for (int y = 0; y < v->high && 8 * y < eighths; y++)
                    set(v->g, v->left + x, v->top + v->high - 1 - y,
                        part[eighths - 8 * y > 8 ? 8 : eighths - 8 * y], series->colour);
        }
    }
}

/* Whether a panel is a few bars, which then lie one below the other with their numbers. */
static bool is_list(const chart_panel *panel)
{
    const chart_series *first = &panel->series[0];
    return panel->count == 1 && first->count <= MAX_BARS &&
           (first->mark == CHART_LEVEL_BARS ||
            (first->mark == CHART_BARS && (panel->x.whole || panel->x.names)));
}

/* The name of bar i of a list: that of its place, or its number. */
static void put_bar_name(chart_text *out, const chart_panel *panel, int64_t i)
{
    const chart_series *series = &panel->series[0];
    const bool level = series->mark == CHART_LEVEL_BARS;
    const chart_axis *axis = level ? &panel->y : &panel->x;
    const double at = level ? series->y[i] : series->x[i];
    if (axis->names)
        chart_put(out, axis->names[(int64_t)at]);
    else
        chart_put_number(out, at, 6);
}

static grid draw_list(drawing *d, const chart_panel *panel, int width)
{
    static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    enum { SHORT = 8, NUMBER = 10, WITH_SD = 21, WIDE = 60 };
    const chart_series *series = &panel->series[0];
    const bool level = series->mark == CHART_LEVEL_BARS;
    const chart_axis *axis = level ? &panel->x : &panel->y;
    const double *values = level ? series->x : series->y;
    const int head = 1 + (panel->title != NULL), widest = width / 3 > 24 ? 24 : width / 3;
    grid g = make_grid(d, width, head + (int)series->count);
    const int numbers = level && width >= WIDE ? WITH_SD : NUMBER;
    double most = 0;
    int names = SHORT;
    for (int64_t i = 0; i < series->count; i++) {
        chart_text name = {0};
        put_bar_name(&name, panel, i);
        const int length = name.bytes ? 1 + (int)chart_characters(name.bytes) : 0;
        names = level && length > names ? (length < widest ? length : widest) : names;
        most = fmax(most, values[i]);
        d->failed |= name.failed;
        free(name.bytes);
    }
    if (panel->title)
        set_text(d, &g, 0, 0, panel->title, width, -1);
    set_text(d, &g, 0, head - 1, axis->title ? axis->title : "", width, CHART_GREY);
    const int room = width - names - numbers - 2;
    for (int64_t i = 0; i < series->count && !d->failed; i++) {
        const int y = head + (int)i;
        chart_text number = {0}, name = {0};
        put_bar_name(&name, panel, i);
        chart_put_number(&number, (axis->percent ? 100 : 1) * values[i], 3);
        chart_put(&number, axis->percent ? " %" : "");
        if (numbers == WITH_SD && series->value[i] > 0) {
            chart_put(&number, " \xc2\xb1 ");
            chart_put_number(&number, series->value[i], 2);
        }
        d->failed |= number.failed || name.failed;
        if (!d->failed) {
            const int length = (int)chart_characters(number.bytes);
            const int before = (int)chart_characters(name.bytes);
            set_text(d, &g, before < 4 && !level ? 4 - before : 0, y, name.bytes, names - 1, -1);
            set_text(d, &g, names + numbers - length, y, number.bytes, numbers, -1);
            const int eighths =
                most > 0 && values[i] > 0 ? (int)lround(8 * room * (values[i] / most)) : 0;
            for (int x = 0; x < eighths / 8; x++)
                set(&g, names + numbers + 2 + x, y, "█", series->colour);
            if (eighths > 0 && eighths % 8)
                set(&g, names + numbers + 2 + eighths / 8, y, part[eighths % 8], series->colour);
        }
        free(number.bytes);
        free(name.bytes);
    }
    return g;
}

/* ---- cells and images ---- */

static grid draw_cells(drawing *d, const chart_panel *panel, int width)
{
    static const char *const shades[] = {"·", "░", "▒", "▓", "█"};
    const chart_series *series = &panel->series[0];
    const int columns = (int)panel->x.name_count, rows = (int)panel->y.name_count;
    int longest = 1, label = 1;
    for (int64_t i = 0; i < series->count; i++) {
        const int length =
            series->text && series->text[i] ? (int)chart_characters(series->text[i]) : 1;
        longest = length > longest ? length : longest;
    }
    for (int i = 0; i < rows; i++) {
        const int length = (int)chart_characters(panel->y.names[i]);
        label = length > label ? length : label;
    }
    label = label > 12 ? 12 : label;
    for (int i = 0; i < columns; i++) { /* short names stand whole above their column */
        const int length = (int)chart_characters(panel->x.names[i]);
        longest = length > longest && length <= 8 ? length : longest;
    }
    int each = longest + 1;
    const bool numbers = label + 1 + columns * each <= width;
    if (!numbers)
        each = label + 1 + 2 * columns <= width ? 2 : 1;
    const int head = 2;
    grid g = make_grid(d, width, head + rows);
    chart_text title = {0};
    chart_putf(&title, "%s \\ %s", panel->y.title ? panel->y.title : "",
               panel->x.title ? panel->x.title : "");
    set_text(d, &g, 0, 0, title.bytes ? title.bytes : "", width, CHART_GREY);
    d->failed |= title.failed;
    free(title.bytes);
    for (int i = 0; i < columns; i++) {
        const int length = (int)chart_characters(panel->x.names[i]);
        const int shown = length < each ? length : each - 1;
        if (numbers)
            set_text(d, &g, label + 1 + (i + 1) * each - shown, 1, panel->x.names[i], each - 1, -1);
        else if (length == 1)
            set_text(d, &g, label + 1 + i * each, 1, panel->x.names[i], 1, -1);
    }
    for (int i = 0; i < rows; i++)
        set_text(d, &g, 0, head + i, panel->y.names[i], label, -1);
    for (int64_t i = 0; i < series->count; i++) {
        const int x = (int)series->x[i], y = head + (int)series->y[i];
        const double value = series->value ? series->value[i] : 1;
        if (numbers && series->text && series->text[i]) {
            const int length = (int)chart_characters(series->text[i]);
            set_text(d, &g, label + 1 + (x + 1) * each - length, y, series->text[i], each,
                     value > 0 ? series->colour : CHART_GREY);
        } else if (!numbers) {
            set(&g, label + 1 + x * each, y, shades[value > 0 ? 1 + (int)(3.999 * value) : 0],
                series->colour);
        }
    }
    return g;
}

/* How many columns of pixels are drawn: of a sheet as many images as can be told. */
static int64_t shown_width(const chart_image *image, int width)
{
    enum { LEAST = 16 }; /* characters of an image */
    const int64_t each = image->tile < LEAST ? image->tile : LEAST;
    const int64_t room = each > 0 && width / each > 1 ? width / each * image->tile : image->tile;
    return image->tile > 0 && room < image->width ? room : image->width;
}

/* Two pixels per character, one above the other; without colours by how much ink they take. */
static void put_image(drawing *d, const chart_image *image, int width)
{
    static const char ramp[] = " .:-=+*#%@";
    const int64_t shown = shown_width(image, width);
    const int wide = shown < width ? (int)shown : width;
    const double scale = (double)shown / wide;
    const int high = (int)ceil((double)image->height / scale / 2);
    for (int y = 0; y < high; y++) {
        for (int x = 0; x < wide; x++) {
            double value[2][3] = {{0}};
            for (int half = 0; half < 2; half++) {
                const int64_t from_x = (int64_t)(x * scale),
                              from_y = (int64_t)((2 * y + half) * scale);
                int64_t to_x = (int64_t)((x + 1) * scale),
                        to_y = (int64_t)((2 * y + half + 1) * scale);
                to_x = to_x > from_x ? to_x : from_x + 1;
                to_y = to_y > from_y ? to_y : from_y + 1;
                double count = 0;
                for (int64_t py = from_y; py < to_y && py < image->height; py++)
                    for (int64_t px = from_x; px < to_x && px < shown; px++, count++)
                        for (int k = 0; k < 3; k++)
                            value[half][k] += fmin(
                                255,
                                fmax(0, image->pixels[(py * image->width + px) * image->channels +
                                                      (image->channels == 3 ? k : 0)]));
                for (int k = 0; k < 3; k++)
                    value[half][k] = count > 0 ? value[half][k] / count : 0;
            }
            if (d->colour)
                chart_putf(&d->out, "\033[38;2;%d;%d;%d;48;2;%d;%d;%dm▀", (int)value[0][0],
                           (int)value[0][1], (int)value[0][2], (int)value[1][0], (int)value[1][1],
                           (int)value[1][2]);
            else
                chart_put_bytes(&d->out,
                                &ramp[(int)(9.999 *
                                            (value[0][0] + value[0][1] + value[0][2] + value[1][0] +
                                             value[1][1] + value[1][2]) /
                                            (6 * 255))],
                                1);
        }
        chart_put(&d->out, d->colour ? "\033[0m\n" : "\n");
    }
}

/* ---- the whole ---- */

static grid draw_panel(drawing *d, const chart_panel *panel, int width, int height)
{
    if (is_list(panel))
        return draw_list(d, panel, width);
    if (panel->count && panel->series[0].mark == CHART_CELLS)
        return draw_cells(d, panel, width);
    grid g = make_grid(d, width, height);
    view v = {.g = &g};
    put_frame(d, panel, &v);
    put_columns(panel, &v);
    put_rules(&v, panel);
    put_marks(d, panel, &v);
    return g;
}

static void put_paragraph(drawing *d, const char *text, int width)
{
    chart_text safe = {0};
    int column = 0;
    chart_put_name(&safe, text, 2000, false);
    d->failed |= safe.failed;
    for (char *word = safe.bytes; word && *word;) {
        const size_t length = strcspn(word, " ");
        char *next = word + length + (word[length] == ' ');
        word[length] = 0;
        const int columns = (int)chart_characters(word);
        if (column > 0 && column + 1 + columns > width) {
            chart_put(&d->out, "\n");
            column = 0;
        }
        if (column > 0)
            chart_put(&d->out, " ");
        chart_put_name(&d->out, word, width, false);
        column += (column > 0) + (columns > width ? width : columns);
        word = next;
    }
    chart_put(&d->out, "\n");
    free(safe.bytes);
}

/* Names of the series, each behind its mark, as many in a line as there is room for. */
static void put_legend(drawing *d, int width)
{
    const chart *picture = d->picture;
    const char *seen[CHART_MAX_SERIES] = {NULL};
    int count = 0, column = 0;
    for (int p = 0; p < picture->panel_count; p++)
        for (int s = 0; s < picture->panels[p].count; s++) {
            const chart_panel *panel = &picture->panels[p];
            const chart_series *series = &panel->series[s];
            bool known = !series->name || count == CHART_MAX_SERIES;
            for (int i = 0; !known && i < count; i++)
                known = strcmp(seen[i], series->name) == 0;
            if (known)
                continue;
            seen[count++] = series->name;
            const bool letters = !d->colour && count_told(panel) > 1 && !is_dense(panel);
            char letter[2];
            letter_of(panel, s, letter);
            const char *glyph = letters && is_told(series)     ? letter
                                : series->mark == CHART_RULE_X ? "┊"
                                : series->mark == CHART_RULE_Y ? "┈"
                                : series->mark == CHART_LINE   ? (series->dashed ? "╌" : "─")
                                : series->mark != CHART_POINTS ? "█"
                                : series->overlay              ? overlay_of(series->shape)
                                                               : "●";
            int length = (int)chart_characters(series->name);
            const int most = width - 2 < 24 ? width - 2 : 24;
            length = length > most ? most : length;
            if (column > 0 && column + length + 4 > width) {
                chart_put(&d->out, "\n");
                column = 0;
            }
            if (column > 0)
                chart_put(&d->out, "  ");
            if (d->colour)
                chart_putf(&d->out, "\033[0;38;5;%dm%s\033[0m ", terminal_colour(series->colour),
                           glyph);
            else
                chart_putf(&d->out, "%s ", glyph);
            chart_put_name(&d->out, series->name, most, false);
            column += length + (column > 0 ? 4 : 2);
        }
    if (column > 0)
        chart_put(&d->out, "\n");
}

mercer_status chart_terminal(const chart *picture, int width, bool colour, char **out,
                             mercer_error *err)
{
    drawing d = {.picture = picture, .colour = colour, .failed = picture->failed};
    grid beside[CHART_MAX_PANELS];
    bool dense = false, cropped = false;
    *out = NULL;
    if (picture->title)
        put_paragraph(&d, picture->title, width);
    if (picture->subtitle)
        put_paragraph(&d, picture->subtitle, width);
    if (picture->title)
        chart_put(&d.out, "\n");
    int columns = width / MIN_PANEL;
    columns = columns > picture->columns ? picture->columns : columns < 1 ? 1 : columns;
    int each = width / columns - (columns > 1);
    each = each > WIDEST_PANEL ? WIDEST_PANEL : each;
    int high = picture->panel_count && picture->panels[0].square ? each / 2 : each / 3 + 3;
    high = high > 24 ? 24 : high < 12 ? 12 : high;
    for (int p = 0; p < picture->panel_count && !d.failed;) {
        int count = 0;
        for (; count < columns && p < picture->panel_count; p++) {
            const chart_panel *panel = &picture->panels[p];
            const int room = each + (count < columns - 1);
            dense |= is_dense(panel);
            if (panel->image.pixels) {
                if (panel->title)
                    put_paragraph(&d, panel->title, width);
                put_image(&d, &panel->image, width);
                cropped |= shown_width(&panel->image, width) < panel->image.width;
                beside[count++] = (grid){0};
            } else if (!panel->bare) {
                beside[count++] = draw_panel(&d, panel, room, high);
            } else if (columns == picture->columns) { /* where nothing is, others line up */
                beside[count++] = make_grid(&d, room, 1);
            }
        }
        put_grids(&d, beside, count);
        if (p < picture->panel_count)
            chart_put(&d.out, "\n");
        for (int i = 0; i < count; i++)
            free(beside[i].cells);
    }
    put_legend(&d, width);
    if (picture->note)
        put_paragraph(&d, picture->note, width);
    if (cropped)
        put_paragraph(&d, "as many of each line as there is room for", width);
    if (dense)
        put_paragraph(&d, "many points: shaded by how many there are (logarithmic)", width);
    if (d.failed || d.out.failed) {
        free(d.out.bytes);
        return chart_fail(err, MERCER_ERR_MEMORY, "out of memory for a picture");
    }
    *out = chart_take(&d.out);
    return MERCER_OK;
}
