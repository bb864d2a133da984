/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of predictions: which classes are taken for which, ROC curves, evaluations side by side.
 */
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_CLASSES = 30, /* of a confusion matrix; the others are taken together */
    MAX_CURVES = 8
};

static const char of_training[] = "of the rows it learnt from: new rows fare worse";

/* ---- confusion ---- */

/* Counts of what is (lines) against what is predicted (columns). */
typedef struct matrix {
    int64_t classes;
    int64_t *counts;           /* owned */
    const char **names;        /* owned; texts borrowed */
    int64_t rows, hits, apart; /* apart: rows that no class won, or of a class nobody learnt */
} matrix;

static void free_matrix(matrix *m)
{
    free(m->counts);
    free(m->names);
}

static bool make_matrix(chart *picture, matrix *m, int64_t classes)
{
    m->classes = classes;
    m->counts = chart_alloc(picture, (size_t)classes, (size_t)classes * sizeof *m->counts);
    m->names = chart_alloc(picture, (size_t)classes, sizeof *m->names);
    return m->counts && m->names;
}

static const char *output_name(const chart_data *data, int64_t k)
{
    const char *name = mercer_model_output_name(data->model, k);
    return name ? name : "?";
}

/* For each class of the data the number that the head gives it, -1: none. Owned by the caller. */
static int64_t *match_classes(chart *picture, const chart_data *data)
{
    const int64_t classes = mercer_targets_classes(data->targets);
    const int64_t outputs = data->info.head_outputs;
    int64_t *match = chart_alloc(picture, (size_t)classes, sizeof *match);
    for (int64_t k = 0; match && k < classes; k++) {
        const char *name = mercer_targets_class_name(data->targets, k);
        match[k] = -1;
        /* Mostly in the same order: then every search ends at once. */
        for (int64_t j = 0; j < outputs && match[k] < 0; j++) {
            const int64_t at = (k + j) % outputs;
            if (strcmp(output_name(data, at), name) == 0)
                match[k] = at;
        }
    }
    return match;
}

static mercer_status need_predictions(const chart_data *data, mercer_error *err)
{
    if (!data->info.head)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "the model has no head: it predicts nothing");
    if (!data->predicted)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "the model predicts values, and this picture is of classes");
    if (!data->targets || mercer_targets_kind(data->targets) != MERCER_TARGET_CLASSES)
        return chart_fail(err, MERCER_ERR_DATA, "has no classes to compare predictions with");
    return MERCER_OK;
}

static void count_rows(chart *picture, const chart_data *data, matrix *m)
{
    int64_t *match = match_classes(picture, data);
    const int64_t *codes = mercer_targets_codes(data->targets);
    if (match && make_matrix(picture, m, data->info.head_outputs)) {
        for (int64_t k = 0; k < m->classes; k++)
            m->names[k] = output_name(data, k);
        for (int64_t i = 0; i < data->rows; i++) {
            const int64_t is = match[codes[i]], got = data->predicted[i];
            if (is < 0 || got < 0)
                m->apart++;
            else
                m->counts[is * m->classes + got]++;
            m->hits += is >= 0 && is == got;
        }
        m->rows = data->rows;
    }
    free(match);
}

static void count_folds(chart *picture, const chart_subject *subject,
                        const mercer_evaluation_info *info, matrix *m)
{
    if (!make_matrix(picture, m, info->outputs))
        return;
    for (int64_t k = 0; k < m->classes; k++) {
        m->names[k] = mercer_targets_class_name(subject->targets, k);
        m->apart += info->undecided ? info->undecided[k] : 0;
        m->hits += info->confusion[k * m->classes + k];
    }
    m->rows = m->apart;
    for (int64_t i = 0; i < m->classes * m->classes; i++) {
        m->counts[i] = info->confusion[i];
        m->rows += info->confusion[i];
    }
}

static int compare_missed(const void *a, const void *b)
{
    const int64_t *x = a, *y = b; /* missed, class */
    return x[0] != y[0] ? (x[0] < y[0]) - (x[0] > y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* The classes with the most errors stay; the others become one. */
static void take_together(chart *picture, matrix *m)
{
    const int64_t all = m->classes, kept = MAX_CLASSES - 1;
    matrix small = {.rows = m->rows, .hits = m->hits, .apart = m->apart};
    int64_t *rank = chart_alloc(picture, (size_t)all, 2 * sizeof *rank);
    int64_t *place = chart_alloc(picture, (size_t)all, sizeof *place);
    if (!rank || !place || !make_matrix(picture, &small, MAX_CLASSES))
        goto out;
    for (int64_t i = 0; i < all; i++) {
        rank[2 * i + 1] = i;
        place[i] = kept;
        for (int64_t j = 0; j < all; j++)
            rank[2 * i] += i != j ? m->counts[i * all + j] + m->counts[j * all + i] : 0;
    }
    qsort(rank, (size_t)all, 2 * sizeof *rank, compare_missed);
    for (int64_t k = 0; k < kept; k++) {
        place[rank[2 * k + 1]] = k;
        small.names[k] = m->names[rank[2 * k + 1]];
    }
    small.names[kept] = "all others";
    for (int64_t i = 0; i < all; i++)
        for (int64_t j = 0; j < all; j++)
            small.counts[place[i] * MAX_CLASSES + place[j]] += m->counts[i * all + j];
    const matrix before = *m;
    *m = small;
    small = before;
    chart_add_note(picture,
                   "the %lld of %lld classes with the most errors; the others are taken together",
                   (long long)kept, (long long)all);
out:
    free_matrix(&small);
    free(rank);
    free(place);
}

/* Lines and columns in the order of the names. */
static void sort_matrix(chart *picture, matrix *m)
{
    matrix sorted = {.rows = m->rows, .hits = m->hits, .apart = m->apart};
    int64_t *order = chart_alloc(picture, (size_t)m->classes, sizeof *order);
    if (make_matrix(picture, &sorted, m->classes) && order) {
        chart_sort_names(m->names, m->classes, order);
        for (int64_t i = 0; i < m->classes; i++) {
            sorted.names[i] = m->names[order[i]];
            for (int64_t j = 0; j < m->classes; j++)
                sorted.counts[i * m->classes + j] = m->counts[order[i] * m->classes + order[j]];
        }
        const matrix before = *m;
        *m = sorted;
        sorted = before;
    }
    free_matrix(&sorted);
    free(order);
}

static char **copy_names(chart *picture, const matrix *m)
{
    char **names = chart_alloc(picture, (size_t)m->classes, sizeof *names);
    for (int64_t k = 0; names && k < m->classes; k++)
        names[k] = chart_copy(picture, m->names[k] ? m->names[k] : "?");
    return names;
}

mercer_status chart_build_confusion(const chart_subject *subject, chart *picture, mercer_error *err)
{
    matrix m = {0};
    mercer_evaluation_info judged = {.struct_size = sizeof judged};
    if (subject->data) {
        const mercer_status rc = need_predictions(subject->data, err);
        if (rc != MERCER_OK)
            return rc;
        count_rows(picture, subject->data, &m);
        picture->subtitle = chart_describe(picture, &subject->data->info);
        if (subject->data->training)
            chart_add_note(picture, "%s", of_training);
    } else {
        mercer_evaluation_get_info(subject->entrants[0].evaluation, &judged);
        if (!judged.confusion || judged.kind != MERCER_TARGET_CLASSES || !subject->targets)
            return chart_fail(err, MERCER_ERR_UNSUPPORTED, "no classes were predicted");
        count_folds(picture, subject, &judged, &m);
        picture->subtitle = chart_copy(picture, subject->entrants[0].name);
    }
    if (!picture->failed && m.classes > MAX_CLASSES) {
        take_together(picture, &m);
    } else if (!picture->failed) {
        sort_matrix(picture, &m);
    }
    if (picture->failed)
        goto out;
    chart_text title = {0};
    chart_put_count(&title, m.hits);
    chart_put(&title, " of ");
    chart_put_count(&title, m.rows);
    chart_put(&title, subject->data ? " rows" : " held-out rows");
    chart_put(&title, " in their class");
    if (m.apart) {
        chart_put(&title, ", ");
        chart_put_count(&title, m.apart);
        chart_put(&title, subject->data ? " not compared" : " undecided");
    }
    picture->failed |= title.failed;
    picture->title = chart_take(&title);
    picture->summary = chart_format(
        picture,
        "Confusion of %lld classes: %s. A line per actual class, a column per predicted "
        "one.",
        (long long)m.classes, picture->title ? picture->title : "");
    chart_panel *panel = chart_add_panel(picture, NULL, "predicted", "actual");
    panel->x.names = copy_names(picture, &m);
    panel->y.names = copy_names(picture, &m);
    panel->x.name_count = panel->y.name_count = picture->failed ? 0 : m.classes;
    panel->y.reversed = true;
    chart_series *cells = chart_add_series(picture, panel, CHART_CELLS, NULL, 0);
    cells->value = chart_alloc(picture, (size_t)(m.classes * m.classes), sizeof *cells->value);
    for (int64_t i = 0; i < m.classes && !picture->failed; i++) {
        int64_t sum = 0;
        for (int64_t j = 0; j < m.classes; j++)
            sum += m.counts[i * m.classes + j];
        for (int64_t j = 0; j < m.classes; j++) {
            const int64_t count = m.counts[i * m.classes + j];
            char *text = chart_format(picture, "%lld", (long long)count);
            cells->value[cells->count] = sum ? (double)count / (double)sum : 0;
            chart_add(picture, cells, (double)j, (double)i, text);
            free(text);
        }
    }
out:
    free_matrix(&m);
    return MERCER_OK;
}

/* ---- ROC ---- */

typedef struct scored {
    double score;
    bool is;
} scored;

static int compare_scored(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* A line from (0,0) to (1,1) with a point per step that can be seen, and the area below it. */
typedef struct curve {
    chart *picture;
    chart_series *line;
    double x, y, shown_x, shown_y, area;
} curve;

static void extend(curve *c, double x, double y, bool last)
{
    enum { STEPS = 500 };
    c->area += (x - c->x) * (y + c->y) / 2;
    /* A corner stays: the point before it is drawn when the direction changes. */
    if (last || fabs(x - c->shown_x) + fabs(y - c->shown_y) >= 1.0 / STEPS) {
        if (c->x != c->shown_x || c->y != c->shown_y)
            chart_add(c->picture, c->line, c->x, c->y, NULL);
        chart_add(c->picture, c->line, x, y, NULL);
        c->shown_x = x;
        c->shown_y = y;
    }
    c->x = x;
    c->y = y;
}

/* Rows in order of their scores, from the largest. Returns the area below the curve. */
static double add_curve(chart *picture, chart_series *line, const scored *rows, int64_t n,
                        int64_t positive)
{
    curve c = {.picture = picture, .line = line};
    const double up = 1 / (double)positive, right = 1 / (double)(n - positive);
    int64_t hits = 0, misses = 0;
    chart_add(picture, line, 0, 0, NULL);
    for (int64_t i = 0; i < n; i++) {
        hits += rows[i].is;
        misses += !rows[i].is;
        if (i + 1 == n || rows[i + 1].score != rows[i].score)
            extend(&c, (double)misses * right, (double)hits * up, i + 1 == n);
    }
    return c.area;
}

static void name_curve(chart *picture, chart_series *line, const char *name, double area)
{
    chart_text text = {0};
    if (name) {
        chart_put_name(&text, name, 24, false);
        chart_put(&text, ": ");
    }
    chart_put(&text, "area ");
    chart_put_number(&text, area, 4);
    picture->failed |= text.failed;
    line->name = chart_take(&text);
}

/* Share of right ones against share of wrong ones, on axes from 0 to 1. */
static chart_panel *add_roc_panel(chart *picture)
{
    chart_panel *panel =
        chart_add_panel(picture, NULL, "share of the other rows taken for the class",
                        "share of the rows of the class found");
    panel->x.low = panel->y.low = -0.02;
    panel->x.high = panel->y.high = 1.02;
    panel->x.percent = panel->y.percent = true;
    chart_series *chance = chart_add_series(picture, panel, CHART_LINE, NULL, CHART_GREY);
    chance->dashed = true;
    chart_add(picture, chance, 0, 0, NULL);
    chart_add(picture, chance, 1, 1, NULL);
    return panel;
}

static mercer_status roc_of_folds(const chart_subject *subject, chart *picture, mercer_error *err)
{
    chart_panel *panel = add_roc_panel(picture);
    for (int64_t e = 0; e < subject->entrant_count && e < MAX_CURVES; e++) {
        const chart_entrant *entrant = &subject->entrants[e];
        const double *points;
        int64_t count;
        const mercer_status rc =
            mercer_evaluation_get_roc(entrant->evaluation, &points, &count, err);
        if (rc != MERCER_OK)
            return rc;
        chart_series *line = chart_add_series(picture, panel, CHART_LINE, NULL,
                                              chart_method_colour(entrant->method));
        line->dashed = chart_method_dashed(entrant->method);
        curve c = {.picture = picture, .line = line};
        chart_add(picture, line, 0, 0, NULL);
        for (int64_t i = 1; i < count; i++)
            extend(&c, points[i * MERCER_ROC_COLUMNS + MERCER_ROC_FALSE_RATE],
                   points[i * MERCER_ROC_COLUMNS + MERCER_ROC_TRUE_RATE], i + 1 == count);
        name_curve(picture, line, entrant->name, c.area);
    }
    picture->title = chart_copy(picture, "ROC of held-out rows");
    picture->summary = chart_copy(picture, "ROC curves of the rows held out by all folds.");
    return MERCER_OK;
}

mercer_status chart_build_roc(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const chart_data *data = subject->data;
    if (!data)
        return roc_of_folds(subject, picture, err);
    mercer_status rc = need_predictions(data, err);
    if (rc != MERCER_OK)
        return rc;
    const int64_t outputs = data->info.head_outputs, n = data->rows;
    const int64_t *codes = mercer_targets_codes(data->targets);
    int64_t *match = match_classes(picture, data);
    int64_t *order = chart_alloc(picture, (size_t)outputs, sizeof *order);
    const char **names = chart_alloc(picture, (size_t)outputs, sizeof *names);
    scored *rows = chart_alloc(picture, (size_t)n, sizeof *rows);
    chart_panel *panel = add_roc_panel(picture);
    int64_t drawn = 0, left = 0;
    for (int64_t k = 0; k < outputs && names; k++)
        names[k] = output_name(data, k);
    if (!picture->failed)
        chart_sort_names(names, outputs, order);
    for (int64_t place = outputs == 2 ? 1 : 0; place < outputs && names && !picture->failed;
         place++) {
        const int64_t k = order[place]; /* of two classes: the later name */
        int64_t positive = 0;
        for (int64_t i = 0; i < n; i++) {
            const double *score = data->scores + i * outputs;
            rows[i] =
                (scored){outputs == 2 ? score[k] - score[1 - k] : score[k], match[codes[i]] == k};
            positive += rows[i].is;
        }
        if (positive == 0 || positive == n)
            continue;
        if (drawn == MAX_CURVES) {
            left++;
            continue;
        }
        qsort(rows, (size_t)n, sizeof *rows, compare_scored);
        int colour;
        chart_shape shape;
        chart_class_style(place, &colour, &shape);
        chart_series *line = chart_add_series(picture, panel, CHART_LINE, NULL, colour);
        const double area = add_curve(picture, line, rows, n, positive);
        name_curve(picture, line, names[k], area);
        drawn++;
    }
    free(match);
    free(order);
    free(names);
    free(rows);
    if (drawn == 0 && !picture->failed)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                          "a ROC curve needs rows of a class that the model knows, and others");
    picture->title = chart_format(picture, "ROC: %s",
                                  outputs == 2 ? "one class against the other"
                                               : "each class against all others");
    picture->subtitle = chart_describe(picture, &data->info);
    picture->summary = chart_format(
        picture, "ROC curves of %lld classes with the areas below them.", (long long)drawn);
    if (data->training)
        chart_add_note(picture, "%s", of_training);
    if (left)
        chart_add_note(picture, "the first %d classes; %lld more have rows", MAX_CURVES,
                       (long long)left);
    return MERCER_OK;
}

/* ---- evaluations side by side ---- */

mercer_status chart_build_folds(const chart_subject *subject, chart *picture, mercer_error *err)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_get_info(subject->entrants[0].evaluation, &info);
    picture->title = chart_format(picture, "%s of each fold", info.metric);
    picture->subtitle = chart_format(picture, "%s; %s is better; bar: the mean", info.summary,
                                     info.larger_is_better ? "larger" : "smaller");
    picture->summary = chart_format(picture, "%s of %lld folds for %lld methods.", info.metric,
                                    (long long)info.folds, (long long)subject->entrant_count);
    chart_panel *panel = chart_add_panel(picture, NULL, NULL, info.metric);
    const int64_t room = CHART_MAX_SERIES / 2;
    const int64_t count = subject->entrant_count < room ? subject->entrant_count : room;
    panel->x.names = chart_alloc(picture, (size_t)count, sizeof *panel->x.names);
    panel->x.name_count = panel->x.names ? count : 0;
    int64_t shown = 0;
    for (int64_t e = 0; panel->x.names && e < count && !picture->failed; e++) {
        const chart_entrant *entrant = &subject->entrants[e];
        const int colour = chart_method_colour(entrant->method);
        mercer_evaluation_info one = {.struct_size = sizeof one};
        mercer_evaluation_get_info(entrant->evaluation, &one);
        panel->x.names[e] = chart_copy(picture, entrant->name);
        chart_series *marks = chart_add_series(picture, panel, CHART_POINTS, NULL, colour);
        for (int64_t f = 0; f < one.folds; f++) {
            mercer_evaluation_fold fold = {.struct_size = sizeof fold};
            mercer_evaluation_get_fold(entrant->evaluation, f, &fold);
            char *text = chart_format(picture, "fold %lld", (long long)f + 1);
            chart_add(picture, marks, (double)e, fold.value, text);
            free(text);
        }
        shown += marks->count;
        chart_series *mean = chart_add_series(picture, panel, CHART_LINE, NULL, colour);
        mean->dashed = chart_method_dashed(entrant->method);
        chart_add(picture, mean, (double)e - 0.25, one.mean, NULL);
        chart_add(picture, mean, (double)e + 0.25, one.mean, NULL);
        shown += mean->count;
    }
    if (shown == 0 && !picture->failed)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED, "the metric is undefined in every fold");
    return MERCER_OK;
}
