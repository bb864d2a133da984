/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of rows as a model sees them: features, pairs of them, errors, pre-images. */
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_CLASSES = 23,    /* with a colour and shape of their own */
    MAX_NAMED = 1500,    /* rows that a pointer can ask */
    MAX_RINGS = 400,     /* novel rows that are ringed */
    MAX_CROSSES = 1000,  /* selected rows that have a cross */
    MAX_STACKED = 8,     /* classes in each histogram of many */
    MAX_PAIRS = 4,       /* features that are drawn against each other */
    MAX_PREIMAGES = 2000 /* rows drawn beside what their features are mapped back to */
};

/* ---- groups: classes, or ranges of a value ---- */

typedef struct group {
    char *name; /* NULL: nothing to tell */
    int colour;
    chart_shape shape;
} group;

/* Which row is in which group. */
typedef struct groups {
    group each[MAX_CLASSES + 1];
    int count;
    int *of;          /* per row; owned */
    const char *what; /* that they stand for: the name of the label; or NULL */
} groups;

static void free_groups(groups *g)
{
    for (int i = 0; i < g->count; i++)
        free(g->each[i].name);
    free(g->of);
}

static int compare_counts(const void *a, const void *b)
{
    const int64_t *x = a, *y = b; /* count, class */
    return x[0] != y[0] ? (x[0] < y[0]) - (x[0] > y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

static void group_classes(chart *picture, const mercer_targets *targets, int64_t n, groups *g)
{
    const int64_t classes = mercer_targets_classes(targets);
    const int64_t *codes = mercer_targets_codes(targets);
    int64_t *rank = chart_alloc(picture, (size_t)classes, 2 * sizeof *rank);
    int64_t *order = chart_alloc(picture, (size_t)classes, sizeof *order);
    int *place = chart_alloc(picture, (size_t)classes, sizeof *place);
    const char **names = chart_alloc(picture, (size_t)classes, sizeof *names);
    if (!rank || !place || !order || !names)
        goto out;
    for (int64_t k = 0; k < classes; k++)
        names[k] = mercer_targets_class_name(targets, k);
    chart_sort_names(names, classes, order);
    for (int64_t k = 0; k < classes; k++)
        place[order[k]] = (int)k;
    for (int64_t k = 0; k < classes; k++)
        rank[2 * k + 1] = order[k];
    for (int64_t i = 0; i < n; i++)
        rank[2 * place[codes[i]]]++;
    /* The largest classes keep their names where there are too many. */
    const bool many = classes > MAX_CLASSES;
    if (many)
        qsort(rank, (size_t)classes, 2 * sizeof *rank, compare_counts);
    for (int64_t k = 0; k < classes; k++)
        place[k] = MAX_CLASSES - 1;
    for (int64_t k = 0; k < (many ? MAX_CLASSES - 1 : classes); k++) {
        group *one = &g->each[g->count];
        chart_text name = {0};
        chart_put_name(&name, names[rank[2 * k + 1]], 60, false);
        picture->failed |= name.failed;
        one->name = chart_take(&name);
        chart_class_style(g->count, &one->colour, &one->shape);
        place[rank[2 * k + 1]] = g->count++;
    }
    if (many) {
        char *name =
            chart_format(picture, "%lld other classes", (long long)(classes - MAX_CLASSES + 1));
        g->each[g->count++] = (group){name, CHART_GREY, CHART_DOT};
    }
    for (int64_t i = 0; i < n; i++)
        g->of[i] = place[codes[i]];
out:
    free(rank);
    free(order);
    free(place);
    free(names);
}

static void group_values(chart *picture, const double *values, int64_t columns, int64_t n,
                         groups *g)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, values[i * columns]);
        high = fmax(high, values[i * columns]);
    }
    const int count = high > low ? CHART_SHADES : 1;
    for (int k = 0; k < count; k++) {
        chart_text name = {0};
        const double from = (double)k / count, to = (double)(k + 1) / count;
        chart_put_number(&name, low * (1 - from) + high * from, 3);
        if (count > 1) {
            chart_put(&name, " to ");
            chart_put_number(&name, low * (1 - to) + high * to, 3);
        }
        picture->failed |= name.failed;
        g->each[g->count++] = (group){chart_take(&name), CHART_SHADE + k, CHART_DOT};
    }
    for (int64_t i = 0; i < n; i++) {
        const int k = (int)(chart_share(values[i * columns], low, high) * count);
        g->of[i] = k < count ? k : count - 1;
    }
}

static void make_groups(chart *picture, const chart_data *data, groups *g)
{
    *g = (groups){.of = chart_alloc(picture, (size_t)data->rows, sizeof *g->of)};
    const mercer_targets *targets = data->targets;
    if (!g->of)
        return;
    g->what = targets ? mercer_targets_name(targets, 0) : NULL;
    if (!targets)
        g->each[g->count++] = (group){NULL, chart_method_colour(data->info.method), CHART_DOT};
    else if (mercer_targets_kind(targets) == MERCER_TARGET_CLASSES)
        group_classes(picture, targets, data->rows, g);
    else
        group_values(picture, mercer_targets_values(targets), mercer_targets_columns(targets),
                     data->rows, g);
}

/* ---- what rows are called, and which stand out ---- */

/* "row 17", or its id; with its group. Owned by the caller. */
static char *row_name(chart *picture, const chart_data *data, int64_t row, const groups *g)
{
    const char *id = mercer_table_id(data->table, row);
    const char *name = g ? g->each[g->of[row]].name : NULL;
    chart_text text = {0};
    if (id)
        chart_put_name(&text, id, 60, false);
    else
        chart_putf(&text, "row %lld", (long long)row);
    if (name)
        chart_putf(&text, ": %s", name);
    picture->failed |= text.failed;
    return chart_take(&text);
}

/* Rows by decreasing error. */
typedef struct ranked {
    double error;
    int64_t row;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->error != y->error ? (x->error < y->error) - (x->error > y->error)
                                : (x->row > y->row) - (x->row < y->row);
}

/* The rows beyond the novelty threshold, worst first; NULL: none. Owned by the caller. */
static ranked *find_novel(chart *picture, const chart_data *data, int64_t *count)
{
    *count = 0;
    if (!data->errors || !(data->info.novelty_share > 0))
        return NULL;
    for (int64_t i = 0; i < data->rows; i++)
        *count += data->errors[i] > data->info.novelty_threshold;
    ranked *novel = *count ? chart_alloc(picture, (size_t)*count, sizeof *novel) : NULL;
    int64_t at = 0;
    for (int64_t i = 0; novel && i < data->rows; i++)
        if (data->errors[i] > data->info.novelty_threshold)
            novel[at++] = (ranked){data->errors[i], i};
    if (novel)
        qsort(novel, (size_t)at, sizeof *novel, compare_ranked);
    return novel;
}

/* What stands at row i of a panel. */
typedef struct place {
    const double *x, *y; /* at [i * stride]; x NULL: the number of the row */
    int64_t stride;
} place;

static void add_row(chart *picture, chart_series *series, place at, int64_t row, const char *text)
{
    chart_add(picture, series, at.x ? at.x[row * at.stride] : (double)row, at.y[row * at.stride],
              text);
}

/* All rows, a series per group. */
static void add_groups(chart *picture, chart_panel *panel, const chart_data *data, const groups *g,
                       place at, bool named)
{
    chart_series *series[MAX_CLASSES + 1];
    for (int k = 0; k < g->count; k++) {
        series[k] =
            chart_add_series(picture, panel, CHART_POINTS, g->each[k].name, g->each[k].colour);
        series[k]->shape = g->each[k].shape;
    }
    for (int64_t i = 0; i < data->rows && !picture->failed; i++) {
        char *text = named && data->rows <= MAX_NAMED ? row_name(picture, data, i, g) : NULL;
        add_row(picture, series[g->of[i]], at, i, text);
        free(text);
    }
}

/* Crosses on the rows that the method selected, rings around novel ones. */
static void add_marks(chart *picture, chart_panel *panel, const chart_data *data, place at)
{
    const mercer_model_info *info = &data->info;
    int64_t count;
    if (data->training && info->selected_count > 0 && info->selected_count < data->rows) {
        char *name = chart_format(picture, "selected (%lld)", (long long)info->selected_count);
        chart_series *marks = chart_add_series(picture, panel, CHART_POINTS, name, CHART_INK);
        marks->shape = CHART_CROSS;
        marks->overlay = true;
        for (int64_t i = 0; i < info->selected_count && i < MAX_CROSSES; i++) {
            char *text = row_name(picture, data, info->selected[i], NULL);
            add_row(picture, marks, at, info->selected[i], text);
            free(text);
        }
        if (info->selected_count > MAX_CROSSES && !picture->note)
            picture->note =
                chart_format(picture, "only the first %d selected rows have a cross", MAX_CROSSES);
        free(name);
    }
    ranked *novel = find_novel(picture, data, &count);
    if (novel) {
        char *name = chart_format(picture, "novel (%lld)", (long long)count);
        chart_series *rings = chart_add_series(picture, panel, CHART_POINTS, name, 1);
        rings->shape = CHART_RING;
        rings->overlay = true;
        for (int64_t i = 0; i < count && i < MAX_RINGS; i++) {
            char *text = row_name(picture, data, novel[i].row, NULL);
            add_row(picture, rings, at, novel[i].row, text);
            free(text);
        }
        if (count > MAX_RINGS && !picture->note)
            picture->note = chart_format(picture,
                                         "only the %d novel rows of the largest errors "
                                         "are ringed",
                                         MAX_RINGS);
        free(name);
    }
    free(novel);
}

/* ---- histograms ---- */

/* Counts of values per group, stacked. */
static void add_histogram(chart *picture, chart_panel *panel, const groups *g, place at, int64_t n,
                          bool named)
{
    enum { MAX_BINS = 60 };
    double low = INFINITY, high = -INFINITY, base[MAX_BINS] = {0};
    for (int64_t i = 0; i < n; i++)
        if (chart_is_drawable(at.x[i * at.stride])) {
            low = fmin(low, at.x[i * at.stride]);
            high = fmax(high, at.x[i * at.stride]);
        }
    if (!(low <= high))
        low = high = 0;
    if (high - low < 1e-300 + 1e-12 * fabs(high)) { /* one value: one bar in the middle */
        const double half = high == 0 ? 0.5 : 0.05 * fabs(high);
        low -= half;
        high += half;
    }
    int bins = (int)(2 * cbrt((double)n)) + 5;
    bins = bins > MAX_BINS ? MAX_BINS : bins;
    const double step = (high - low) / bins;
    panel->y.from_zero = panel->y.whole = true;
    /* Stacks of many classes beside other panels would be neither small nor legible. */
    const bool whole = !named && g->count > MAX_STACKED;
    for (int k = 0; k < (whole ? 1 : g->count) && !picture->failed; k++) {
        double counts[MAX_BINS] = {0};
        for (int64_t i = 0; i < n; i++) {
            const double value = at.x[i * at.stride];
            if (!chart_is_drawable(value) || (!whole && g->of[i] != k))
                continue;
            const int bin = (int)((value - low) / step);
            counts[bin < bins ? bin : bins - 1]++;
        }
        chart_series *bars =
            chart_add_series(picture, panel, CHART_BARS, named ? g->each[k].name : NULL,
                             whole ? CHART_GREY : g->each[k].colour);
        for (int b = 0; b < bins; b++) {
            char *text = chart_format(picture, "%lld row%s", (long long)counts[b],
                                      counts[b] == 1 ? "" : "s");
            chart_add(picture, bars, low + (b + 0.5) * step, base[b] + counts[b], text);
            free(text);
        }
        bars->base = chart_alloc(picture, (size_t)bins, sizeof *bars->base);
        for (int b = 0; b < bins && bars->base; b++) {
            bars->base[b] = base[b];
            base[b] += counts[b];
        }
    }
}

/* ---- the kinds ---- */

/* "feature 1 (22.2 % of the variance)". Owned by the caller. */
static char *feature_title(chart *picture, const mercer_model_info *info, int64_t feature,
                           bool brief)
{
    const double total = info->weight * info->total_variance;
    chart_text text = {0};
    chart_putf(&text, "%s%lld", brief ? "f" : "feature ", (long long)feature + 1);
    if (info->spectrum && !info->correlated && total > 0 && isfinite(total) && !brief) {
        chart_put(&text, " (");
        chart_put_number(&text, 100 * info->spectrum[feature] / total, 3);
        chart_put(&text, " % of the variance)");
    }
    picture->failed |= text.failed;
    return chart_take(&text);
}

/* Title, subtitle and words of a picture of rows. */
static void describe(chart *picture, const chart_data *data, const groups *g, const char *what)
{
    chart_text title = {0}, summary = {0};
    chart_putf(&title, "%s of ", what);
    chart_put_count(&title, data->rows);
    chart_put(&title, data->rows == 1 ? " row" : " rows");
    if (g->what && g->count > 1) {
        chart_put(&title, ", by ");
        chart_put_name(&title, g->what, 40, false);
    }
    chart_put(&summary, title.bytes ? title.bytes : "");
    chart_put(&summary, ".");
    for (int k = 0; g->count > 1 && k < g->count; k++) {
        int64_t count = 0;
        for (int64_t i = 0; i < data->rows; i++)
            count += g->of[i] == k;
        chart_putf(&summary, "%s %s: %lld", k ? "," : " Groups:", g->each[k].name,
                   (long long)count);
    }
    picture->failed |= title.failed || summary.failed;
    picture->title = chart_take(&title);
    picture->summary = chart_take(&summary);
    picture->subtitle = chart_describe(picture, &data->info);
}

/* The two axes asked for, from 0, of `count` that there are. */
static mercer_status find_axes(const chart_subject *subject, int64_t count, const char *what,
                               int64_t axes[2], mercer_error *err)
{
    for (int k = 0; k < 2; k++) {
        axes[k] = subject->axes[k] ? subject->axes[k] - 1 : k;
        if (axes[k] >= count)
            return chart_fail(err, MERCER_ERR_ARGUMENT,
                              "axis %lld cannot be drawn: there %s %lld %s%s",
                              (long long)axes[k] + 1, count == 1 ? "is" : "are", (long long)count,
                              what, count == 1 ? "" : "s");
    }
    return MERCER_OK;
}

mercer_status chart_build_features(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const chart_data *data = subject->data;
    const int64_t l = data->info.components;
    const bool one = l == 1 && !subject->axes[0];
    int64_t axes[2] = {0, 0};
    mercer_status rc = one ? MERCER_OK : find_axes(subject, l, "feature", axes, err);
    if (rc != MERCER_OK)
        return rc;
    groups g;
    make_groups(picture, data, &g);
    if (picture->failed)
        goto out;
    describe(picture, data, &g, "Features");
    char *x = feature_title(picture, &data->info, axes[0], false);
    char *y =
        one ? chart_copy(picture, "rows") : feature_title(picture, &data->info, axes[1], false);
    chart_panel *panel = chart_add_panel(picture, NULL, x, y);
    const place at = {data->features + axes[0], data->features + axes[1], l};
    if (one) {
        add_histogram(picture, panel, &g, at, data->rows, true);
    } else {
        add_groups(picture, panel, data, &g, at, true);
        add_marks(picture, panel, data, at);
    }
    free(x);
    free(y);
out:
    free_groups(&g);
    return MERCER_OK;
}

mercer_status chart_build_pairs(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const chart_data *data = subject->data;
    const int64_t l = data->info.components;
    const int k = l < MAX_PAIRS ? (int)l : MAX_PAIRS;
    if (l < 2)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "pairs of features need two of them, and the model has one");
    groups g;
    make_groups(picture, data, &g);
    if (picture->failed)
        goto out;
    describe(picture, data, &g, k < l ? "First features" : "Features");
    picture->columns = k;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            char *x = feature_title(picture, &data->info, j, true);
            char *y =
                i == j ? chart_copy(picture, "rows") : feature_title(picture, &data->info, i, true);
            chart_panel *panel = chart_add_panel(picture, NULL, j > i ? NULL : x, j > i ? NULL : y);
            panel->x.aside = i < k - 1;
            panel->y.aside = i != j && j > 0;
            const place at = {data->features + j, data->features + i, l};
            panel->bare = j > i;
            if (i == j)
                add_histogram(picture, panel, &g, at, data->rows, false);
            else if (j < i)
                add_groups(picture, panel, data, &g, at, false);
            free(x);
            free(y);
        }
out:
    free_groups(&g);
    return MERCER_OK;
}

/* Names of the rows with the largest errors, beside their marks. */
static void add_worst(chart *picture, chart_panel *panel, const chart_data *data)
{
    enum { NAMED = 5 };
    ranked worst[NAMED + 1];
    int count = 0;
    for (int64_t i = 0; i < data->rows; i++) {
        int at = count < NAMED ? count++ : NAMED;
        for (; at > 0 && data->errors[i] > worst[at - 1].error; at--)
            worst[at] = worst[at - 1];
        worst[at] = (ranked){data->errors[i], i};
    }
    chart_series *names = chart_add_series(picture, panel, CHART_POINTS, NULL, CHART_INK);
    names->shape = CHART_DOT;
    names->labelled = names->overlay = true;
    for (int k = 0; k < count; k++) {
        char *text = row_name(picture, data, worst[k].row, NULL);
        chart_add(picture, names, (double)worst[k].row, worst[k].error, text);
        free(text);
    }
}

mercer_status chart_build_errors(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const chart_data *data = subject->data;
    const mercer_model_info *info = &data->info;
    if (!data->errors)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          info->precomputed ? "errors with a precomputed kernel need k(x,x) of "
                                              "each row"
                                            : "the model has no reconstruction errors: its "
                                              "features are not orthonormal (%s)",
                          info->method);
    groups g;
    make_groups(picture, data, &g);
    if (picture->failed)
        goto out;
    describe(picture, data, &g, "Reconstruction errors");
    picture->columns = 2;
    chart_panel *many = chart_add_panel(picture, "how many", "squared error", "rows");
    chart_panel *each = chart_add_panel(picture, "row by row", "row", "squared error");
    const place at = {data->errors, NULL, 1}, rows = {NULL, data->errors, 1};
    add_histogram(picture, many, &g, at, data->rows, false);
    each->y.from_zero = each->x.whole = true;
    add_groups(picture, each, data, &g, rows, true);
    add_marks(picture, each, data, rows);
    add_worst(picture, each, data);
    if (info->novelty_share > 0) {
        chart_series *rule =
            chart_add_series(picture, many, CHART_RULE_X, "novel beyond", CHART_INK);
        rule->dashed = true;
        chart_add(picture, rule, info->novelty_threshold, 0, NULL);
        rule = chart_add_series(picture, each, CHART_RULE_Y, "novel beyond", CHART_INK);
        rule->dashed = true;
        chart_add(picture, rule, 0, info->novelty_threshold, NULL);
    }
out:
    free_groups(&g);
    return MERCER_OK;
}

/* ---- pre-images ---- */

/* Evenly spread rows, and what their features are mapped back to; both owned by the caller. */
static mercer_status map_back(const chart_subject *subject, chart *picture, int64_t most,
                              int64_t *count, double **rows, double **back, mercer_error *err)
{
    const chart_data *data = subject->data;
    const int64_t d = data->info.columns, l = data->info.components;
    const int64_t n = data->rows < most ? data->rows : most;
    double *features = chart_alloc(picture, (size_t)n, (size_t)l * sizeof *features);
    mercer_status rc = MERCER_OK;
    *count = n;
    *rows = chart_alloc(picture, (size_t)n, (size_t)d * sizeof **rows);
    *back = chart_alloc(picture, (size_t)n, (size_t)d * sizeof **back);
    for (int64_t i = 0; i < n && !picture->failed; i++) {
        const int64_t row = i * data->rows / n;
        mercer_rows_copy(mercer_table_rows(data->table), row, 1, *rows + i * d);
        memcpy(features + i * l, data->features + row * l, (size_t)l * sizeof *features);
    }
    if (!picture->failed)
        rc = mercer_model_inverse(subject->ctx, data->model, features, n, *back, NULL, err);
    free(features);
    return rc;
}

enum { SHEET_BYTES = 150000 }; /* of all images: what cannot be compressed stays below 300 kB */

/* Pixels of large images that become one, on a side: five pairs have room then. */
static int64_t shrink_of(const mercer_model_info *info)
{
    enum { LEAST = 5 };
    const double bytes = 2.0 * LEAST * (double)info->columns;
    int64_t step = (int64_t)ceil(sqrt(bytes / SHEET_BYTES));
    const int64_t side =
        info->image_width < info->image_height ? info->image_width : info->image_height;
    step = step < 1 ? 1 : step;
    return step < side ? step : side;
}

/* How many pairs a sheet has room for. */
static int64_t pairs_of(const mercer_model_info *info)
{
    enum { MOST = 30 };
    const int64_t step = shrink_of(info);
    const int64_t count = SHEET_BYTES / (2 * info->columns / (step * step) + 1);
    return count < 1 ? 1 : count < MOST ? count : MOST;
}

/* The mean of a square of pixels. */
static double mean_of(const double *image, const mercer_model_info *info, int64_t x, int64_t y,
                      int64_t channel, int64_t step)
{
    double sum = 0;
    for (int64_t j = 0; j < step; j++)
        for (int64_t i = 0; i < step; i++)
            sum += image[((y + j) * info->image_width + x + i) * info->image_channels + channel];
    return sum / (double)(step * step);
}

/* A sheet of pairs of images, the row above its pre-image. */
static void add_sheet(chart *picture, const mercer_model_info *info, int64_t count,
                      const double *rows, const double *back)
{
    enum { GAP = 2, ACROSS = 10, PAPER = 255 };
    const int64_t of = info->image_channels, step = shrink_of(info);
    const int64_t wide = info->image_width / step, high = info->image_height / step;
    const int64_t across = count < ACROSS ? count : ACROSS, lines = (count + across - 1) / across;
    const int64_t width = across * (wide + GAP) - GAP;
    const int64_t block = 2 * high + GAP + 3 * GAP, height = lines * block - 3 * GAP;
    double low = INFINITY, top = -INFINITY;
    for (int64_t i = 0; i < count * info->columns; i++) {
        low = fmin(low, rows[i]);
        top = fmax(top, rows[i]);
    }
    /* Bytes stay what they are; other numbers from the least to the largest, and numbers that end
     * in the darker half of the bytes (digits from 0 to 16) are other numbers. */
    const bool bytes = low >= 0 && top <= 255 && top > 127;
    const double shift = bytes ? 0 : low, factor = bytes ? 1 : top > low ? 255 / (top - low) : 0;
    chart_panel *panel = chart_add_panel(picture, NULL, NULL, NULL);
    double *pixels = chart_alloc(picture, (size_t)(width * height), (size_t)of * sizeof *pixels);
    panel->bare = true;
    panel->image = (chart_image){width, height, of, pixels, wide + GAP};
    if (!pixels)
        return;
    for (int64_t i = 0; i < width * height * of; i++)
        pixels[i] = PAPER;
    for (int64_t i = 0; i < count; i++)
        for (int half = 0; half < 2; half++) {
            const double *image = (half ? back : rows) + i * info->columns;
            const int64_t left = i % across * (wide + GAP);
            const int64_t over = i / across * block + half * (high + GAP);
            for (int64_t y = 0; y < high; y++)
                for (int64_t x = 0; x < wide * of; x++) {
                    const double value =
                        mean_of(image, info, x / of * step, y * step, x % of, step);
                    pixels[((over + y) * width + left) * of + x] =
                        fmin(255, fmax(0, (value - shift) * factor));
                }
        }
}

/* Without a wish the first two columns that are not the same in every row drawn. */
static void skip_constants(const chart_subject *subject, const double *rows, int64_t count,
                           int64_t columns, int64_t axes[2])
{
    int found = 0;
    for (int64_t j = 0; j < columns && found < 2 && !subject->axes[0]; j++)
        for (int64_t i = 1; i < count; i++)
            if (rows[i * columns + j] != rows[j]) {
                axes[found++] = j;
                break;
            }
    if (found == 1) /* and one beside it */
        axes[1] = axes[0] ? 0 : 1;
}

/* The name of a column, or its number; owned by the caller. */
static char *column_title(chart *picture, const chart_data *data, int64_t column)
{
    const char *name = mercer_model_column_name(data->model, column);
    return name ? chart_copy(picture, name)
                : chart_format(picture, "column %lld", (long long)column + 1);
}

mercer_status chart_build_preimages(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const chart_data *data = subject->data;
    const mercer_model_info *info = &data->info;
    const bool images = info->image_features && strcmp(info->image_features, "pixels") == 0;
    double *rows = NULL, *back = NULL;
    int64_t count, axes[2] = {0, 0};
    mercer_status rc = MERCER_OK;
    if (!images && info->columns > 1)
        rc = find_axes(subject, info->columns, "column", axes, err);
    if (rc == MERCER_OK)
        rc = map_back(subject, picture, images ? pairs_of(info) : MAX_PREIMAGES, &count, &rows,
                      &back, err);
    if (rc != MERCER_OK || picture->failed)
        goto out;
    chart_text title = {0};
    chart_put_count(&title, count);
    if (count < data->rows) {
        chart_put(&title, " of ");
        chart_put_count(&title, data->rows);
    }
    chart_put(&title, " rows and what their features are mapped back to");
    picture->failed |= title.failed;
    picture->title = chart_take(&title);
    picture->subtitle = chart_describe(picture, info);
    picture->summary = chart_format(picture, "%s%s", picture->title ? picture->title : "",
                                    images ? ": images, each above its pre-image." : ".");
    if (images) {
        picture->note = chart_copy(picture, "each row above its pre-image");
        add_sheet(picture, info, count, rows, back);
        goto out;
    }
    if (info->columns > 2)
        skip_constants(subject, rows, count, info->columns, axes);
    char *x =
        info->columns == 1 ? chart_copy(picture, "row") : column_title(picture, data, axes[0]);
    char *y = column_title(picture, data, axes[1]);
    chart_panel *panel = chart_add_panel(picture, NULL, x, y);
    chart_series *series[2];
    series[0] = chart_add_series(picture, panel, CHART_POINTS, "rows", CHART_GREY);
    series[1] = chart_add_series(picture, panel, CHART_POINTS, "pre-images",
                                 chart_method_colour(info->method));
    panel->square = info->columns == 2;
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) {
            const double *at = (k ? back : rows) + i * info->columns;
            chart_add(picture, series[k], info->columns == 1 ? (double)i : at[axes[0]], at[axes[1]],
                      NULL);
        }
    free(x);
    free(y);
out:
    free(rows);
    free(back);
    return rc;
}
