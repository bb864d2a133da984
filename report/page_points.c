/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of a page's map: features and errors as 16-bit positions, classes as bytes, in base64.
 *
 * Two features and the classes are always there; what else is (ids, errors, predictions, more
 * features) depends only on the number of rows, so that a page of 100,000 rows stays below 1.5 MB.
 */
#include "page_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM = 900000, /* bytes for all points; raising it lets pages of many rows know more of each */
    MAX_FEATURES = 8,
    MAX_CLASSES = PAGE_MAX_CLASSES
};

typedef struct points {
    chart_text *out;
    const chart_data *data;
    int64_t shown, used; /* points, and bytes that they have taken */
    int64_t items;       /* of the list at hand */
    page_left_out left;
    unsigned char *bytes; /* of one item: two per point */
} points;

int64_t page_sampled(int64_t n, int64_t count, int64_t i)
{
    static const double golden = 0.6180339887498949;
    const double at = (double)i, rows = (double)n, shown = (double)count;
    const double first = floor(at * rows / shown), length = floor((at + 1) * rows / shown) - first;
    return (int64_t)(first + floor(length * fmod(at * golden, 1)));
}

static int64_t row_of(const points *p, int64_t i)
{
    return page_sampled(p->data->rows, p->shown, i);
}

/* Room for `size` more bytes per point. Items come in the order of their worth: one without room
 * ends the list for those after it. */
static bool fits(points *p, int64_t size)
{
    const int64_t bytes = (p->shown * size + 2) / 3 * 4;
    if (p->used + bytes > ROOM) {
        p->used = ROOM;
        p->left.columns++;
        return false;
    }
    p->used += bytes;
    return true;
}

/* A column of positions: value i is at values[i * stride]; NULL: the number of the row. */
static void put_column(points *p, const char *name, const double *values, int64_t stride)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < p->shown; i++) {
        const double v = values ? values[row_of(p, i) * stride] : (double)row_of(p, i);
        low = fmin(low, v);
        high = fmax(high, v);
    }
    if (!(high > low))
        high = low + fmax(1, fabs(low));
    for (int64_t i = 0; i < p->shown; i++) {
        const double v = values ? values[row_of(p, i) * stride] : (double)row_of(p, i);
        const double share = (v / 2 - low / 2) / (high / 2 - low / 2); /* halves never overflow */
        const unsigned at = isnan(share) ? 0 : (unsigned)lround(share * 65535);
        p->bytes[2 * i] = (unsigned char)(at & 255);
        p->bytes[2 * i + 1] = (unsigned char)(at >> 8);
    }
    chart_put(p->out, p->items++ ? ",\n{\"name\":" : "\n{\"name\":");
    page_put_json(p->out, name);
    chart_put(p->out, ",\"low\":");
    page_put_real(p->out, low);
    chart_put(p->out, ",\"high\":");
    page_put_real(p->out, high);
    chart_put(p->out, ",\"data\":\"");
    chart_put_base64(p->out, p->bytes, (size_t)(2 * p->shown));
    chart_put(p->out, "\"}");
}

static void put_features(points *p, int64_t from, int64_t to)
{
    const int64_t l = p->data->info.components;
    for (int64_t j = from; j < to && j < l; j++) {
        char name[24];
        snprintf(name, sizeof name, "f%lld", (long long)j + 1);
        if (j < 2 || fits(p, 2))
            put_column(p, name, p->data->features + j, l);
    }
}

static void put_columns(points *p)
{
    const chart_data *data = p->data;
    put_features(p, 0, 2);
    if (data->errors && fits(p, 2))
        put_column(p, "error", data->errors, 1);
    if (data->targets && mercer_targets_kind(data->targets) == MERCER_TARGET_VALUES) {
        const char *name = mercer_targets_name(data->targets, 0);
        if (fits(p, 2))
            put_column(p, name ? name : "target", mercer_targets_values(data->targets),
                       mercer_targets_columns(data->targets));
    }
    if (data->scores && data->info.head_kind == MERCER_TARGET_VALUES && fits(p, 2))
        put_column(p, "prediction", data->scores, data->info.head_outputs);
    put_features(p, 2, MAX_FEATURES);
    if (p->items < 2)
        put_column(p, "row", NULL, 0);
}

/* A division of the rows: who is in which class. */
typedef struct division {
    const char *name;
    int64_t classes;
    const char *(*class_name)(const chart_data *data, int64_t index);
    int64_t (*of)(const chart_data *data, int64_t row);
    const int *colours; /* of the classes; NULL: those of classes everywhere */
} division;

static const char *label_name(const chart_data *data, int64_t index)
{
    return mercer_targets_class_name(data->targets, index);
}

static int64_t label_of(const chart_data *data, int64_t row)
{
    return mercer_targets_codes(data->targets)[row];
}

static const char *output_name(const chart_data *data, int64_t index)
{
    if (index == data->info.head_outputs)
        return "none";
    return mercer_model_output_name(data->model, index);
}

static int64_t output_of(const chart_data *data, int64_t row)
{
    const int64_t code = data->predicted[row];
    return code == MERCER_NO_CLASS ? data->info.head_outputs : code;
}

static const char *right_name(const chart_data *data, int64_t index)
{
    (void)data;
    return index ? "wrong" : "right";
}

static int64_t right_of(const chart_data *data, int64_t row)
{
    return page_is_wrong(data, row);
}

static const char *novel_name(const chart_data *data, int64_t index)
{
    (void)data;
    return index ? "novel" : "usual";
}

static int64_t novel_of(const chart_data *data, int64_t row)
{
    return data->errors[row] > data->info.novelty_threshold;
}

static void put_division(points *p, const division *d)
{
    const bool others = d->classes > MAX_CLASSES;
    const int64_t listed = others ? MAX_CLASSES : d->classes;
    int64_t counts[MAX_CLASSES] = {0};
    for (int64_t i = 0; i < p->shown; i++) {
        const int64_t code = d->of(p->data, row_of(p, i));
        const int64_t at = code < listed - others ? code : listed - 1;
        p->bytes[i] = (unsigned char)at;
        counts[at]++;
    }
    chart_put(p->out, p->items++ ? ",\n{\"name\":" : "\n{\"name\":");
    page_put_json(p->out, d->name);
    chart_put(p->out, ",\"names\":[");
    for (int64_t k = 0; k < listed; k++) {
        chart_put(p->out, k ? "," : "");
        if (others && k == listed - 1)
            chart_putf(p->out, "\"one of %lld other classes\"", (long long)(d->classes - k));
        else
            page_put_json(p->out, d->class_name(p->data, k));
    }
    chart_put(p->out, "],\"counts\":[");
    for (int64_t k = 0; k < listed; k++)
        chart_putf(p->out, "%s%lld", k ? "," : "", (long long)counts[k]);
    chart_text shapes = {0};
    chart_put(p->out, "],\"colours\":[");
    for (int64_t k = 0; k < listed; k++) {
        int colour = CHART_GREY;
        chart_shape shape = CHART_DOT;
        if (!d->colours && !(others && k == listed - 1))
            chart_class_style(k, &colour, &shape);
        else if (d->colours) {
            colour = d->colours[k];
            shape = k ? CHART_DIAMOND : CHART_DOT;
        }
        chart_putf(p->out, "%s%d", k ? "," : "", colour);
        chart_putf(&shapes, "%s%d", k ? "," : "", (int)shape);
    }
    chart_put(p->out, "],\"shapes\":[");
    chart_put(p->out, shapes.bytes ? shapes.bytes : "");
    p->out->failed |= shapes.failed;
    free(shapes.bytes);
    chart_put(p->out, "],\"data\":\"");
    chart_put_base64(p->out, p->bytes, (size_t)p->shown);
    chart_put(p->out, "\"}");
}

static void put_divisions(points *p)
{
    static const int good_or_bad[] = {CHART_GREY, 1};
    const chart_data *data = p->data;
    const bool labels =
        data->targets && mercer_targets_kind(data->targets) == MERCER_TARGET_CLASSES;
    if (labels) {
        const char *name = mercer_targets_name(data->targets, 0);
        put_division(p, &(division){name ? name : "class", mercer_targets_classes(data->targets),
                                    label_name, label_of, NULL});
    }
    if (data->predicted && labels && fits(p, 1))
        put_division(p, &(division){"prediction", 2, right_name, right_of, good_or_bad});
    if (data->errors && data->info.novelty_share > 0 && fits(p, 1))
        put_division(p, &(division){"novelty", 2, novel_name, novel_of, good_or_bad});
    if (data->predicted && fits(p, 1))
        put_division(p, &(division){"predicted class", data->info.head_outputs + 1, output_name,
                                    output_of, NULL});
}

/* Ids of the points, when there are any and they fit. */
static void put_ids(points *p)
{
    const mercer_table *table = p->data->table;
    int64_t length = 0;
    if (!mercer_table_id_name(table)) {
        chart_put(p->out, "null");
        return;
    }
    for (int64_t i = 0; i < p->shown; i++)
        length += (int64_t)strlen(mercer_table_id(table, row_of(p, i))) + 3;
    p->left.ids = p->used + length > ROOM;
    if (p->left.ids) {
        chart_put(p->out, "null");
        return;
    }
    p->used += length;
    chart_put(p->out, "{\"name\":");
    page_put_json(p->out, mercer_table_id_name(table));
    chart_put(p->out, ",\"values\":[");
    for (int64_t i = 0; i < p->shown; i++) {
        chart_put(p->out, i ? "," : "");
        page_put_json(p->out, mercer_table_id(table, row_of(p, i)));
    }
    chart_put(p->out, "]}");
}

static void put_palette(chart_text *out, int from, int to)
{
    for (int dark = 0; dark < 2; dark++) {
        chart_put(out, dark ? ",\"dark\":[" : "{\"light\":[");
        for (int k = from; k < to; k++)
            chart_putf(out, "%s\"%s\"", k > from ? "," : "", chart_colour_hex(k, dark));
        chart_put(out, "]");
    }
    chart_put(out, "}");
}

page_left_out page_put_points(chart_text *out, const chart_data *data, int64_t most)
{
    points p = {.out = out, .data = data, .shown = data->rows < most ? data->rows : most};
    p.bytes = malloc((size_t)(2 * p.shown));
    if (!p.bytes) {
        free(out->bytes);
        *out = (chart_text){.failed = true};
        return p.left;
    }
    p.used = (p.shown * 5 + 2) / 3 * 4; /* two features and a class */
    chart_putf(out, "{\"rows\":%lld,\"shown\":%lld,\"ids\":", (long long)data->rows,
               (long long)p.shown);
    put_ids(&p);
    chart_put(out, ",\n\"groups\":[");
    put_divisions(&p);
    p.items = 0;
    chart_put(out, "],\n\"columns\":[");
    put_columns(&p);
    chart_put(out, "],\n\"selected\":[");
    if (data->training)
        for (int64_t k = 0; k < data->info.selected_count && k < 1000; k++)
            chart_putf(out, "%s%lld", k ? "," : "", (long long)data->info.selected[k]);
    chart_put(out, "],\n\"palette\":");
    put_palette(out, 0, CHART_COLOURS);
    chart_put(out, ",\"shades\":");
    put_palette(out, CHART_SHADE, CHART_SHADE + CHART_SHADES);
    chart_put(out, "}");
    free(p.bytes);
    return p.left;
}
