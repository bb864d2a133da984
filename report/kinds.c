/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of kinds, and the pictures of a model alone. */
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    chart_kind kind;
    chart_builder build;
} kinds[] = {
    {{"spectrum", "variance of each component", CHART_OF_MODEL}, chart_build_spectrum},
    {{"selection", "rows that were selected, and what each was worth", CHART_OF_MODEL},
     chart_build_selection},
    {{"head", "error of predictions by number of features", CHART_OF_MODEL}, chart_build_head},
    {{"trace", "the search for the features, step by step", CHART_OF_MODEL}, chart_build_trace},
    {{"features", "two features of the rows", CHART_OF_DATA}, chart_build_features},
    {{"pairs", "the first features against each other", CHART_OF_DATA}, chart_build_pairs},
    {{"errors", "reconstruction errors, and the rows with the largest", CHART_OF_DATA},
     chart_build_errors},
    {{"preimages", "rows beside what their features are mapped back to", CHART_OF_DATA},
     chart_build_preimages},
    {{"confusion", "which classes are predicted as which", CHART_OF_DATA | CHART_OF_EVALUATION},
     chart_build_confusion},
    {{"roc", "rows found against rows wrongly taken", CHART_OF_DATA | CHART_OF_EVALUATION},
     chart_build_roc},
    {{"folds", "the metric of each fold", CHART_OF_EVALUATION}, chart_build_folds},
    {{"tuning", "what each combination of a tuning was worth", CHART_OF_GRID}, chart_build_tuning},
    {{"importance", "how much each column matters", CHART_OF_IMPORTANCE}, chart_build_importance},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const chart_kind *chart_kind_at(int index)
{
    return index >= 0 && index < KINDS ? &kinds[index].kind : NULL;
}

static int find(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].kind.name, name) == 0)
            return i;
    return -1;
}

const chart_kind *chart_kind_find(const char *name)
{
    return chart_kind_at(find(name));
}

/* What the subject has of what the kind can be drawn of. */
static bool has_subject(const chart_subject *subject, const chart_kind *kind)
{
    return ((kind->of & CHART_OF_MODEL) && subject->model) ||
           ((kind->of & CHART_OF_DATA) && subject->data) ||
           ((kind->of & CHART_OF_EVALUATION) && subject->entrant_count > 0) ||
           ((kind->of & CHART_OF_GRID) && subject->grid) ||
           ((kind->of & CHART_OF_IMPORTANCE) && subject->importance);
}

mercer_status chart_make(const chart_subject *subject, const char *kind, chart **out,
                         mercer_error *err)
{
    const int which = find(kind);
    *out = NULL;
    if (which < 0)
        return chart_fail(err, MERCER_ERR_ARGUMENT, "there is no picture of kind '%s'", kind);
    if (!has_subject(subject, &kinds[which].kind))
        return chart_fail(err, MERCER_ERR_UNSUPPORTED, "a picture of kind '%s' needs %s", kind,
                          kinds[which].kind.of & CHART_OF_DATA         ? "rows"
                          : kinds[which].kind.of & CHART_OF_MODEL      ? "a model"
                          : kinds[which].kind.of & CHART_OF_GRID       ? "a tuning"
                          : kinds[which].kind.of & CHART_OF_IMPORTANCE ? "the importance of columns"
                                                                       : "an evaluation");
    chart *picture = chart_new();
    if (!picture)
        return chart_fail(err, MERCER_ERR_MEMORY, "out of memory for a picture");
    mercer_status rc = kinds[which].build(subject, picture, err);
    if (rc == MERCER_OK && picture->failed)
        rc = chart_fail(err, MERCER_ERR_MEMORY, "out of memory for a picture");
    if (rc != MERCER_OK) {
        chart_free(picture);
        return rc;
    }
    *out = picture;
    return MERCER_OK;
}

enum { MAX_BARS = 1000 };

static mercer_model_info info_of(const chart_subject *subject)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(subject->model, &info);
    return info;
}

/* Digits and a point as a number, in every locale. */
static double read_decimal(const char *text, size_t length)
{
    double value = 0, unit = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.') {
            unit = unit > 0 ? unit : 1;
            continue;
        }
        unit /= 10;
        value = unit > 0 ? value + unit * (text[i] - '0') : 10 * value + (text[i] - '0');
    }
    return value;
}

/* A method or kernel with its keys, numbers of many digits rounded to four. */
static void put_spec(chart_text *text, const char *spec)
{
    enum { LONG = 7 };
    while (*spec) {
        const size_t digits = strspn(spec, "0123456789."), word = strcspn(spec, "0123456789.");
        if (digits >= LONG && memchr(spec, '.', digits))
            chart_put_number(text, read_decimal(spec, digits), 4);
        else
            chart_put_bytes(text, spec, digits);
        chart_put_bytes(text, spec + digits, digits ? 0 : word);
        spec += digits ? digits : word;
    }
}

char *chart_describe(chart *picture, const mercer_model_info *info)
{
    chart_text text = {0};
    put_spec(&text, info->method);
    chart_put(&text, ", kernel ");
    put_spec(&text, info->kernel);
    chart_put(&text, ", ");
    chart_put_count(&text, info->components);
    chart_put(&text, info->components == 1 ? " feature of " : " features of ");
    chart_put_count(&text, info->rows);
    chart_put(&text, info->rows == 1 ? " training row" : " training rows");
    picture->failed |= text.failed;
    return chart_take(&text);
}

mercer_status chart_build_spectrum(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const mercer_model_info info = info_of(subject);
    const double total = info.weight * info.total_variance;
    if (!info.spectrum || info.components == 0)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "the model has no spectrum: its method (%s) "
                          "has no variances of components",
                          info.method);
    const bool shares = total > 0 && isfinite(total);
    chart_text summary = {0};
    picture->title = chart_copy(picture, info.correlated ? "Sums of squares of the features"
                                                         : "Variance of the components");
    picture->subtitle = chart_describe(picture, &info);
    picture->columns = shares ? 2 : 1;
    const int colour = chart_method_colour(info.method);
    chart_panel *each = chart_add_panel(picture, shares ? "each" : NULL, "component",
                                        shares ? "share of the variance" : "sum of squares");
    each->x.whole = true;
    each->y.percent = shares;
    chart_series *bars = chart_add_series(picture, each, CHART_BARS, NULL, colour);
    chart_series *line = NULL;
    if (shares) {
        chart_panel *sum =
            chart_add_panel(picture, "together", "components", "share of the variance so far");
        sum->x.whole = sum->y.percent = sum->y.from_zero = true;
        line = chart_add_series(picture, sum, CHART_LINE, NULL, colour);
        line->with_points = info.components <= 60;
        line->dashed = chart_method_dashed(info.method);
    }
    double so_far = 0;
    if (info.components > MAX_BARS)
        picture->note = chart_format(picture, "bars of the first %d components", MAX_BARS);
    for (int64_t i = 0; i < info.components; i++) {
        const double value = shares ? info.spectrum[i] / total : info.spectrum[i];
        chart_text text = {0};
        chart_putf(&text, "component %lld: ", (long long)i + 1);
        chart_put_number(&text, shares ? 100 * value : value, 3);
        chart_put(&text, shares ? " %" : "");
        if (i < MAX_BARS)
            chart_add(picture, bars, (double)i + 1, value, text.bytes);
        so_far += value;
        if (line)
            chart_add(picture, line, (double)i + 1, so_far, NULL);
        picture->failed |= text.failed;
        free(text.bytes);
    }
    chart_putf(&summary, "%s of %lld components, bars from the first to the last.",
               shares ? "Shares of the variance" : "Sums of squares", (long long)info.components);
    if (shares) {
        chart_put(&summary, " The first has ");
        chart_put_number(&summary, 100 * info.spectrum[0] / total, 3);
        chart_put(&summary, " %, all together ");
        chart_put_number(&summary, 100 * so_far, 3);
        chart_put(&summary, " %.");
    }
    picture->failed |= summary.failed;
    picture->summary = chart_take(&summary);
    return MERCER_OK;
}

/* A panel with a line of a value after each of `count` steps from 1. */
static chart_series *add_course(chart *picture, const char *title, const char *x, const char *y,
                                int colour, int64_t count)
{
    chart_panel *panel = chart_add_panel(picture, title, x, y);
    panel->x.whole = true;
    chart_series *line = chart_add_series(picture, panel, CHART_LINE, NULL, colour);
    line->with_points = count <= 60;
    return line;
}

mercer_status chart_build_selection(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const mercer_model_info info = info_of(subject);
    if (!info.selected || info.selected_count == 0)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "the model has no selected rows: its method (%s) uses all of them",
                          info.method);
    const int64_t n = info.selected_count;
    const int colour = chart_method_colour(info.method);
    picture->title = chart_copy(picture, "Selected rows, in order");
    picture->subtitle = chart_describe(picture, &info);
    picture->summary = chart_format(
        picture, "%lld of %lld training rows were selected.%s", (long long)n, (long long)info.rows,
        info.selection ? " Left: what remains of the reconstruction error after each. Right: its "
                         "distance from those before it."
                       : " A mark for each: its order and its number in the training data.");
    if (!info.selection) {
        chart_panel *panel =
            chart_add_panel(picture, NULL, "order of selection", "row of the training data");
        panel->x.whole = panel->y.whole = true;
        chart_series *marks = chart_add_series(picture, panel, CHART_POINTS, NULL, colour);
        for (int64_t i = 0; i < n; i++) {
            char *text = chart_format(picture, "row %lld", (long long)info.selected[i]);
            chart_add(picture, marks, (double)i + 1, (double)info.selected[i], text);
            free(text);
        }
        return MERCER_OK;
    }
    picture->columns = 2;
    chart_series *error = add_course(picture, "left by all so far", "rows selected",
                                     "mean reconstruction error", colour, n);
    chart_series *apart = add_course(picture, "distance from the span of those before",
                                     "order of selection", "squared distance", colour, n);
    picture->panels[0].y.from_zero = true;
    double low = INFINITY, high = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *about = info.selection + i * MERCER_SELECTION_COLUMNS;
        const double distance = about[MERCER_SELECTION_RESIDUAL];
        char *text =
            chart_format(picture, "%lld: row %lld", (long long)i + 1, (long long)info.selected[i]);
        chart_add(picture, error, (double)i + 1, about[MERCER_SELECTION_ERROR], text);
        chart_add(picture, apart, (double)i + 1, distance, text);
        free(text);
        low = fmin(low, distance);
        high = fmax(high, distance);
    }
    picture->panels[1].y.log = low > 0 && high > 20 * low;
    picture->panels[1].y.from_zero = !picture->panels[1].y.log;
    return MERCER_OK;
}

mercer_status chart_build_head(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const mercer_model_info info = info_of(subject);
    if (!info.head)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "the model has no head: it predicts nothing");
    const bool classes = info.head_kind == MERCER_TARGET_CLASSES;
    int64_t known = 0;
    for (int64_t i = 0; info.head_errors && i < info.components; i++)
        known += isfinite(info.head_errors[i]);
    if (known == 0)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "the model's head (%s) does not know its errors on the training rows",
                          info.head);
    picture->title = chart_copy(picture, "Error on the training rows, by number of features");
    picture->subtitle = chart_describe(picture, &info);
    picture->note = chart_copy(
        picture, "on the rows it learnt from: new rows have larger errors (see evaluate)");
    chart_panel *panel =
        chart_add_panel(picture, NULL, "features used",
                        classes ? "share of rows in the wrong class" : "root mean squared error");
    panel->x.whole = true;
    panel->y.percent = classes;
    panel->y.from_zero = true;
    chart_series *line =
        chart_add_series(picture, panel, CHART_LINE, NULL, chart_method_colour(info.method));
    line->with_points = info.components <= 60;
    for (int64_t i = 0; i < info.components; i++)
        chart_add(picture, line, (double)i + 1, info.head_errors[i], NULL);
    chart_text summary = {0};
    chart_putf(&summary, "Error of the head %s with the first 1 to %lld features.", info.head,
               (long long)info.components);
    picture->failed |= summary.failed;
    picture->summary = chart_take(&summary);
    return MERCER_OK;
}

mercer_status chart_build_trace(const chart_subject *subject, chart *picture, mercer_error *err)
{
    static const struct {
        int column;
        const char *title, *axis;
    } panels[] = {{MERCER_TRACE_PERFORMANCE, "performance of the features", "performance"},
                  {MERCER_TRACE_RATE, "recognition rate", "share of rows"},
                  {MERCER_TRACE_DISTANCE, "distance from the start", "distance"}};
    const mercer_model_info info = info_of(subject);
    if (!info.trace || info.trace_count == 0)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "the model has no trace: its method (%s) did not search for features",
                          info.method);
    picture->title = chart_copy(picture, "The search for the features");
    picture->subtitle = chart_describe(picture, &info);
    picture->summary = chart_format(picture,
                                    "Performance, recognition rate and distance from the start "
                                    "over %lld steps of the search.",
                                    (long long)info.trace_count);
    picture->columns = 3;
    for (int p = 0; p < 3; p++) {
        chart_series *line = add_course(picture, panels[p].title, "iteration", panels[p].axis,
                                        chart_method_colour(info.method), info.trace_count);
        picture->panels[p].y.percent = panels[p].column == MERCER_TRACE_RATE;
        for (int64_t i = 0; i < info.trace_count; i++) {
            const double *step = info.trace + i * MERCER_TRACE_COLUMNS;
            chart_add(picture, line, step[MERCER_TRACE_ITERATION], step[panels[p].column], NULL);
        }
    }
    return MERCER_OK;
}
