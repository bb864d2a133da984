/* SPDX-License-Identifier: BSD-3-Clause */
/* Building the description of a chart, and its colours.
 *
 * The colours of classes and methods are those of Okabe and Ito and of Tol's muted scheme, told
 * apart with every kind of colour vision; on a dark background the dark ones are lighter. Shades
 * are cut from cividis. */
#include "draw.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number, on light, on dark. */
#define PALETTE(X)                                                                                 \
    X(0, "#0072b2", "#3a9bdc")                                                                     \
    X(1, "#d55e00", "#f0803c")                                                                     \
    X(2, "#009e73", "#1fbf92")                                                                     \
    X(3, "#cc79a7", "#dc94bb")                                                                     \
    X(4, "#e69f00", "#f0b030")                                                                     \
    X(5, "#56b4e9", "#6cc0f0")                                                                     \
    X(6, "#882255", "#c8558f")                                                                     \
    X(7, "#332288", "#8f7fe0")                                                                     \
    X(8, "#44aa99", "#58c0ae")                                                                     \
    X(9, "#117733", "#45a868")                                                                     \
    X(10, "#aa4499", "#cf6fbf")                                                                    \
    X(11, "#999933", "#b8b850")                                                                    \
    X(12, "#00306f", "#2f5aa8")                                                                    \
    X(13, "#35456c", "#5f7299")                                                                    \
    X(14, "#5a5c6e", "#82869b")                                                                    \
    X(15, "#7b7b78", "#a3a39f")                                                                    \
    X(16, "#a49a6d", "#bdb384")                                                                    \
    X(17, "#cfba57", "#dcc96a")                                                                    \
    X(18, "#f0d41c", "#fde945")                                                                    \
    X(19, "#222222", "#e6e6e6")                                                                    \
    X(20, "#6b6b6b", "#a8a8a8")                                                                    \
    X(21, "#ffffff", "#ffffff")

static const struct {
    char light[8], dark[8];
} palette[] = {
#define COLOUR(number, light, dark) {light, dark},
    PALETTE(COLOUR)
#undef COLOUR
};

_Static_assert(sizeof palette / sizeof *palette == CHART_COLOURS, "a colour for every number");

const char *chart_svg_style(void)
{
#define RULES(number, light, dark)                                                                 \
    ".mc-s" #number "{stroke:" dark "}.mc-f" #number "{fill:" dark "}"
    return "@media (prefers-color-scheme:dark){.mc-bg{fill:#16181c}.mc-ink{fill:#e6e6e6}"
           ".mc-halo{stroke:#16181c}.mc-grey{fill:#a8a8a8}.mc-grid,.mc-ax{stroke:#a8a8a8}" PALETTE(
               RULES) "}";
#undef RULES
}

const char *chart_colour_hex(int colour, bool dark)
{
    return dark ? palette[colour].dark : palette[colour].light;
}

/* The numbers are those of the palette's categories. */
static const struct {
    char name[10];
    unsigned char colour;
    bool dashed;
} methods[] = {
    {"kpca", 0, false},   {"akfa", 1, false},   {"ackfa", 2, false},  {"skfa", 3, false},
    {"sma", 4, false},    {"smc", 5, false},    {"kpls", 6, false},   {"koca", 7, false},
    {"ikpca", 8, false},  {"kboost", 9, false}, {"skpls", 10, false}, {"blf", 11, false},
    {"pca", 0, true},     {"pls", 6, true},     {"rkpca", 2, true},   {"nystroem", 4, true},
    {"greedy", 3, true},  {"kica", 5, true},    {"kha", 8, true},     {"cr", 11, true},
    {"rkopls", 10, true}, {"kfd", 1, true},     {"krr", 9, true},     {"tipping", 7, true},
};

static int find_method(const char *method)
{
    const size_t length = strcspn(method, ":");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strlen(methods[i].name) == length && strncmp(methods[i].name, method, length) == 0)
            return (int)i;
    return -1;
}

int chart_method_colour(const char *method)
{
    const int found = find_method(method);
    return found < 0 ? CHART_GREY : methods[found].colour;
}

bool chart_method_dashed(const char *method)
{
    const int found = find_method(method);
    return found >= 0 && methods[found].dashed;
}

void chart_class_style(int64_t index, int *colour, chart_shape *shape)
{
    static const unsigned char order[] = {0, 1, 2, 3, 4, 5, 6, 7, 11, 9};
    enum { COLOURS = sizeof order, SHAPES = CHART_CROSS }; /* 30 pairs before one comes again */
    *colour = order[index % COLOURS];
    *shape = (chart_shape)((index + index / 30) % SHAPES);
}

void *chart_alloc(chart *picture, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    picture->failed |= !memory;
    return memory;
}

char *chart_copy(chart *picture, const char *text)
{
    if (!text)
        return NULL;
    char *copy = strdup(text);
    picture->failed |= !copy;
    return copy;
}

chart *chart_new(void)
{
    chart *picture = calloc(1, sizeof *picture);
    if (picture)
        picture->columns = 1;
    return picture;
}

static void free_texts(char **texts, int64_t count)
{
    for (int64_t i = 0; texts && i < count; i++)
        free(texts[i]);
    free(texts);
}

static void free_axis(chart_axis *axis)
{
    free(axis->title);
    free_texts(axis->names, axis->name_count);
}

void chart_free(chart *picture)
{
    if (!picture)
        return;
    for (int p = 0; p < picture->panel_count; p++) {
        chart_panel *panel = &picture->panels[p];
        for (int s = 0; s < panel->count; s++) {
            chart_series *series = &panel->series[s];
            free(series->name);
            free(series->x);
            free(series->y);
            free(series->base);
            free(series->value);
            free_texts(series->text, series->count);
        }
        free(panel->title);
        free(panel->image.pixels);
        free_axis(&panel->x);
        free_axis(&panel->y);
    }
    free(picture->title);
    free(picture->subtitle);
    free(picture->summary);
    free(picture->note);
    free(picture);
}

chart_panel *chart_add_panel(chart *picture, const char *title, const char *x, const char *y)
{
    assert(picture->panel_count < CHART_MAX_PANELS);
    chart_panel *panel = &picture->panels[picture->panel_count++];
    panel->title = chart_copy(picture, title);
    panel->x = (chart_axis){.title = chart_copy(picture, x), .low = NAN, .high = NAN};
    panel->y = (chart_axis){.title = chart_copy(picture, y), .low = NAN, .high = NAN};
    return panel;
}

chart_series *chart_add_series(chart *picture, chart_panel *panel, chart_mark mark,
                               const char *name, int colour)
{
    assert(panel->count < CHART_MAX_SERIES);
    chart_series *series = &panel->series[panel->count++];
    *series = (chart_series){.name = chart_copy(picture, name), .mark = mark, .colour = colour};
    return series;
}

/* Room for one more point. */
static bool make_room(chart_series *series)
{
    if (series->count < series->room)
        return true;
    const size_t room = 2 * (size_t)series->room + 16;
    double *x = reallocarray(series->x, room, sizeof *x);
    if (x)
        series->x = x;
    double *y = reallocarray(series->y, room, sizeof *y);
    if (y)
        series->y = y;
    char **text = series->text ? reallocarray(series->text, room, sizeof *text) : NULL;
    if (text)
        series->text = text;
    if (!x || !y || (series->text && !text))
        return false;
    series->room = (int64_t)room;
    return true;
}

void chart_add(chart *picture, chart_series *series, double x, double y, const char *text)
{
    if (picture->failed || !chart_is_drawable(x) || !chart_is_drawable(y))
        return;
    if (!make_room(series)) {
        picture->failed = true;
        return;
    }
    if (text && !series->text) {
        series->text = chart_alloc(picture, (size_t)series->room, sizeof *series->text);
        if (!series->text)
            return;
    }
    if (series->text)
        series->text[series->count] = chart_copy(picture, text);
    series->x[series->count] = x;
    series->y[series->count++] = y;
}
