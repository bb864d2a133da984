/* SPDX-License-Identifier: BSD-3-Clause */
/* Charts as data: what is drawn, not how. Two writers draw them: report/svg.c for files and pages,
 * report/terminal.c for terminals.
 *
 * A client of libmercer (public headers only) that both the command line and a package for another
 * language can link: it never prints or exits, every failure is a mercer_status with one line.
 *
 *     chart_data *data = NULL;            what the rows of a table are to a model, computed once
 *     chart *picture = NULL;
 *     char *text = NULL;
 *     rc = chart_data_new(ctx, model, table, NULL, &data, &err);
 *     chart_subject about = {.ctx = ctx, .model = model, .data = data};
 *     rc = chart_make(&about, "features", &picture, &err);
 *     rc = chart_svg(picture, &(chart_svg_options){.prefix = "f1", .inline_page = true}, &text,
 * NULL, &err);
 *     ...
 *     free(text); chart_free(picture); chart_data_free(data);
 *
 * Kinds that cannot be drawn of a subject (no labels, no head, ...) are MERCER_ERR_UNSUPPORTED with
 * the reason. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include <mercer/mercer.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- colours ---- */

/* Colours by number: categories (classes, methods), then shades from low to high, then ink and
 * grey. Each has a value for a light and one for a dark background. */
enum {
    CHART_CATEGORIES = 12,
    CHART_SHADES = 7,
    CHART_SHADE = CHART_CATEGORIES, /* the first shade */
    CHART_INK = CHART_SHADE + CHART_SHADES,
    CHART_GREY,
    CHART_WHITE, /* on strong colours, whatever the background */
    CHART_COLOURS
};
/* "#0072b2"; a constant. */
const char *chart_colour_hex(int colour, bool dark);
/* The colour of a method wherever it is drawn, by NAME[:key=value,...]; and whether its lines are
 * dashed (methods without a kernel). */
int chart_method_colour(const char *method);
bool chart_method_dashed(const char *method);

/* ---- the description ---- */

typedef enum chart_mark {
    CHART_POINTS,     /* a mark per point, of the series' shape */
    CHART_LINE,       /* joined; with_points: and marked */
    CHART_BARS,       /* from base[i] (or 0) to y[i] at x[i], as wide as x steps allow */
    CHART_LEVEL_BARS, /* lie from 0 to x[i] at y[i], with a line from x[i] - value[i] to + value[i]
                       */
    CHART_CELLS,      /* a square at whole x, y, as dark as value[i] is large, with text[i] in it */
    CHART_RULE_X,     /* a line across the panel at x[0]; name stands beside it */
    CHART_RULE_Y,     /* the same at y[0] */
} chart_mark;

typedef enum chart_shape {
    CHART_DOT,
    CHART_SQUARE,
    CHART_TRIANGLE,
    CHART_DIAMOND,
    CHART_TRIANGLE_DOWN,
    CHART_PLUS,
    CHART_CROSS,
    CHART_RING, /* around what it marks */
    CHART_SHAPES
} chart_shape;

typedef struct chart_series {
    char *name; /* in the legend; NULL: not there */
    chart_mark mark;
    int colour;
    chart_shape shape;
    bool dashed, with_points;
    bool overlay;  /* marks points of other series that stand out */
    bool labelled; /* text stands beside the marks; else it is what a pointer over them shows */
    int64_t count, room;
    double *x, *y;
    double *base, *value; /* NULL where the mark has no use for them */
    char **text;          /* of each mark, what it is (a row's id); NULL: nothing; entries may be */
} chart_series;

typedef struct chart_axis {
    char *title;
    bool aside;       /* another panel of the line or column has the title, where they line up */
    double low, high; /* NaN: by the data */
    bool from_zero;   /* 0 is in the range */
    bool whole;       /* ticks at whole numbers only */
    bool percent;     /* values are shares */
    bool log;
    bool reversed; /* low at the top, or right */
    char **names;  /* of the positions 0, 1, ...; NULL: numbers */
    int64_t name_count;
} chart_axis;

/* Pixels in rows of tiles, with a caption at each row. */
typedef struct chart_image {
    int64_t width, height, channels; /* 1: grey, 3: colour */
    double *pixels;                  /* 0 to 255 */
    int64_t tile; /* columns from one image of a sheet to the next; 0: it is one image */
} chart_image;

enum { CHART_MAX_PANELS = 25, CHART_MAX_SERIES = 68 };

typedef struct chart_panel {
    char *title;
    chart_axis x, y;
    bool square; /* the same scale on both axes */
    bool bare;   /* no axes: nothing but the title and an image */
    chart_image image;
    chart_series series[CHART_MAX_SERIES];
    int count;
} chart_panel;

typedef struct chart {
    char *title, *subtitle; /* subtitle: what was fitted, how many rows */
    char *summary;          /* what it shows, in words: for those who cannot see it */
    char *note;             /* below: what is left out or sampled; or NULL */
    int columns;            /* panels side by side */
    chart_panel panels[CHART_MAX_PANELS];
    int panel_count;
    bool failed; /* memory ran out while it was described */
} chart;

void chart_free(chart *picture); /* accepts NULL */

/* ---- what it is about ---- */

/* What the rows of a table are to a model. Borrows model and table. */
typedef struct chart_data {
    const mercer_model *model;
    const mercer_table *table;
    mercer_model_info info;
    const mercer_targets *targets; /* NULL: none */
    int64_t rows;
    double *features;   /* rows x info.components */
    double *errors;     /* squared reconstruction errors; NULL: undefined for the model */
    int64_t *predicted; /* classes as the model's head numbers them; NULL: no classes predicted */
    double *scores;     /* rows x info.head_outputs; NULL: no head */
    bool training;      /* these are the rows that the model was fitted to */
} chart_data;

/* Features, errors and predictions of the rows. self: k(x,x) of each row, for the errors of a
 * precomputed kernel; or NULL. */
mercer_status chart_data_new(mercer_ctx *ctx, const mercer_model *model, const mercer_table *table,
                             const double *self, chart_data **out, mercer_error *err);
void chart_data_free(chart_data *data); /* accepts NULL */

/* An evaluation under its name, for comparisons. */
typedef struct chart_entrant {
    const char *name; /* "kpca -n 10" */
    const char *method;
    mercer_evaluation *evaluation;
} chart_entrant;

/* What a tuning tried: as mercer_tuning tells it, or as it stands in a JSON report. In cells the
 * last key changes fastest. */
typedef struct chart_grid_axis {
    const char *key; /* "kernel.sigma" */
    int64_t count;
    const char *const *values;
} chart_grid_axis;

typedef struct chart_grid {
    const char *metric;
    const char *method; /* or NULL */
    bool larger_is_better;
    int64_t axes, cells, chosen;
    const chart_grid_axis *axis;
    const double *mean, *se; /* of each cell; NaN: undefined */
} chart_grid;

/* How much each column matters: as mercer_evaluation_importance() tells it, or a JSON report. */
typedef struct chart_importance {
    const char *metric;
    const char *method; /* or NULL */
    int64_t columns;
    const char *const *names; /* an entry may be NULL: a column without a name */
    const double *loss, *sd;  /* of each column; NaN: undefined */
} chart_importance;

/* All borrowed; what a kind does not need may be NULL. */
typedef struct chart_subject {
    mercer_ctx *ctx;
    const mercer_model *model;
    const chart_data *data;
    const chart_entrant *entrants; /* evaluations: one, or those compared */
    int64_t entrant_count;
    const mercer_targets *targets; /* that the entrants were judged by */
    const chart_grid *grid;        /* what was tuned */
    const chart_importance *importance;
    int64_t axes[2]; /* features, or columns, to draw, from 1; 0: 1 and 2 */
} chart_subject;

enum {
    CHART_OF_MODEL = 1,
    CHART_OF_DATA = 2,
    CHART_OF_EVALUATION = 4,
    CHART_OF_GRID = 8,
    CHART_OF_IMPORTANCE = 16
};

typedef struct chart_kind {
    const char *name, *summary;
    unsigned of; /* CHART_OF_...: what it is drawn of, any one of them */
} chart_kind;

/* Kinds in the order of a report; NULL past the last. */
const chart_kind *chart_kind_at(int index);
const chart_kind *chart_kind_find(const char *name);

/* Describe a picture. On MERCER_OK the caller frees *out with chart_free(). */
mercer_status chart_make(const chart_subject *subject, const char *kind, chart **out,
                         mercer_error *err);

/* ---- drawing ---- */

typedef struct chart_svg_options {
    const char *prefix;   /* of ids, different for each picture of a page; NULL: "m" */
    bool inline_page;     /* part of a page: no XML declaration, no style element, no background;
                             the page has chart_svg_style() in its own style */
    double width, height; /* in pixels; 0: as the chart needs */
} chart_svg_options;

/* The picture as SVG: one element with title and description. Colours are attributes, so it is
 * right without any style; the style turns them dark where the reader prefers that. The text is the
 * caller's to free(); size, unless NULL, is its length. */
mercer_status chart_svg(const chart *picture, const chart_svg_options *options, char **out,
                        size_t *size, mercer_error *err);
/* Rules of the classes that the pictures use (all begin with mc-); a constant. */
const char *chart_svg_style(void);

/* The picture as lines of text, at most `width` columns wide; colour: with escape sequences. The
 * text is the caller's to free(). */
mercer_status chart_terminal(const chart *picture, int width, bool colour, char **out,
                             mercer_error *err);

#endif
