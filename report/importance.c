/* SPDX-License-Identifier: BSD-3-Clause */
/* How much columns matter: bars, the longest first. */
#include "kinds.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_COLUMNS = 20 };

static int compare_losses(const void *a, const void *b, void *all)
{
    const double *loss = all;
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    return loss[i] != loss[j] ? (loss[i] < loss[j]) - (loss[i] > loss[j]) : (i > j) - (i < j);
}

/* Columns with a loss, the largest first; how many in *count. Owned by the caller. */
static int64_t *sort_columns(chart *picture, const chart_importance *of, int64_t *count)
{
    int64_t *order = chart_alloc(picture, (size_t)of->columns, sizeof *order);
    *count = 0;
    for (int64_t k = 0; order && k < of->columns; k++)
        if (chart_is_drawable(of->loss[k]))
            order[(*count)++] = k;
    if (order)
        qsort_r(order, (size_t)*count, sizeof *order, compare_losses, (void *)of->loss);
    return order;
}

static char *name_column(chart *picture, const chart_importance *of, int64_t column)
{
    return of->names[column] ? chart_copy(picture, of->names[column])
                             : chart_format(picture, "%lld", (long long)column + 1);
}

static void add_bars(chart *picture, const chart_importance *of, const int64_t *order,
                     int64_t count)
{
    char *title = chart_format(picture, "loss of %s", of->metric);
    chart_panel *panel = chart_add_panel(picture, NULL, title, NULL);
    free(title);
    panel->x.from_zero = true;
    panel->y.reversed = true;
    panel->y.names = chart_alloc(picture, (size_t)count, sizeof *panel->y.names);
    panel->y.name_count = panel->y.names ? count : 0;
    chart_series *bars = chart_add_series(picture, panel, CHART_LEVEL_BARS, NULL,
                                          chart_method_colour(of->method ? of->method : ""));
    bars->value = chart_alloc(picture, (size_t)count, sizeof *bars->value);
    for (int64_t i = 0; i < count && !picture->failed; i++) {
        const double sd = of->sd[order[i]];
        chart_text text = {0};
        panel->y.names[i] = name_column(picture, of, order[i]);
        bars->value[i] = chart_is_drawable(sd) ? sd : 0;
        chart_put(&text, panel->y.names[i] ? panel->y.names[i] : "");
        chart_put(&text, ": ");
        chart_put_number(&text, of->loss[order[i]], 4);
        picture->failed |= text.failed;
        chart_add(picture, bars, of->loss[order[i]], (double)i, text.bytes);
        free(text.bytes);
    }
}

mercer_status chart_build_importance(const chart_subject *subject, chart *picture,
                                     mercer_error *err)
{
    const chart_importance *of = subject->importance;
    int64_t count;
    int64_t *order = sort_columns(picture, of, &count);
    if (count == 0 && !picture->failed) {
        free(order);
        return chart_fail(err, MERCER_ERR_UNSUPPORTED, "no column has an importance");
    }
    const int64_t shown = count < MAX_COLUMNS ? count : MAX_COLUMNS;
    picture->title = chart_format(picture, "Loss of %s without each column", of->metric);
    picture->subtitle = chart_format(
        picture,
        "%s%sthe column's values exchanged among held-out rows; \xc2\xb1 SD over the folds",
        of->method ? of->method : "", of->method ? ", " : "");
    if (!picture->failed)
        add_bars(picture, of, order, shown);
    if (!picture->failed) {
        char *first = name_column(picture, of, order[0]);
        picture->summary =
            chart_format(picture, "Bars of %lld columns, the longest first: %s matters most.",
                         (long long)shown, first ? first : "");
        free(first);
    }
    if (shown < of->columns)
        picture->note = chart_format(picture, "the first %lld of %lld columns", (long long)shown,
                                     (long long)of->columns);
    free(order);
    return MERCER_OK;
}
