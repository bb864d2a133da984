/* SPDX-License-Identifier: BSD-3-Clause */
/* The grid of a tuning: a line where one key is tuned, else cells of two keys. */
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 30 };

/* Cells between two values of a key that stand side by side. */
static int64_t step_of(const chart_grid *grid, int64_t axis)
{
    int64_t step = 1;
    for (int64_t a = grid->axes - 1; a > axis; a--)
        step *= grid->axis[a].count;
    return step;
}

/* Which value of a key a cell has. */
static int64_t place_of(const chart_grid *grid, int64_t axis, int64_t cell)
{
    return cell / step_of(grid, axis) % grid->axis[axis].count;
}

static char **copy_values(chart *picture, const chart_grid_axis *axis)
{
    char **names = chart_alloc(picture, (size_t)axis->count, sizeof *names);
    for (int64_t i = 0; names && i < axis->count; i++)
        names[i] = chart_copy(picture, axis->values[i]);
    return names;
}

/* A line over the values, with the standard errors beside it. */
static void add_course(chart *picture, const chart_grid *grid)
{
    const chart_grid_axis *axis = &grid->axis[0];
    const int colour = chart_method_colour(grid->method ? grid->method : "");
    chart_panel *panel = chart_add_panel(picture, NULL, axis->key, grid->metric);
    panel->x.names = copy_values(picture, axis);
    panel->x.name_count = panel->x.names ? axis->count : 0;
    chart_series *line =
        chart_add_series(picture, panel, CHART_LINE, "mean over the folds", colour);
    line->with_points = axis->count <= 60;
    chart_series *side[2];
    for (int k = 0; k < 2; k++) {
        side[k] = chart_add_series(picture, panel, CHART_LINE,
                                   k ? NULL : "mean \xc2\xb1 standard error", CHART_GREY);
        side[k]->dashed = true;
    }
    for (int64_t i = 0; i < grid->cells; i++) {
        chart_add(picture, line, (double)i, grid->mean[i], axis->values[i]);
        for (int k = 0; k < 2; k++)
            chart_add(picture, side[k], (double)i, grid->mean[i] + (k ? -1 : 1) * grid->se[i],
                      NULL);
    }
    chart_series *ring = chart_add_series(picture, panel, CHART_POINTS, "chosen", CHART_INK);
    ring->shape = CHART_RING;
    ring->overlay = true;
    chart_add(picture, ring, (double)grid->chosen, grid->mean[grid->chosen],
              axis->values[grid->chosen]);
}

/* The last two keys against each other, the others as they were chosen. */
static void add_cells(chart *picture, const chart_grid *grid)
{
    const int64_t down = grid->axes - 2, across = grid->axes - 1;
    chart_panel *panel =
        chart_add_panel(picture, NULL, grid->axis[across].key, grid->axis[down].key);
    panel->x.names = copy_values(picture, &grid->axis[across]);
    panel->y.names = copy_values(picture, &grid->axis[down]);
    panel->x.name_count = panel->x.names ? grid->axis[across].count : 0;
    panel->y.name_count = panel->y.names ? grid->axis[down].count : 0;
    panel->y.reversed = true;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < grid->cells; i++)
        if (isfinite(grid->mean[i])) {
            low = fmin(low, grid->mean[i]);
            high = fmax(high, grid->mean[i]);
        }
    chart_series *cells = chart_add_series(picture, panel, CHART_CELLS, NULL, 0);
    const int64_t many = grid->axis[across].count * grid->axis[down].count;
    cells->value = chart_alloc(picture, (size_t)many, sizeof *cells->value);
    for (int64_t i = 0; i < grid->cells && !picture->failed; i++) {
        bool shown = isfinite(grid->mean[i]);
        for (int64_t a = 0; a < down; a++)
            shown &= place_of(grid, a, i) == place_of(grid, a, grid->chosen);
        if (!shown)
            continue;
        const double part = high > low ? (grid->mean[i] - low) / (high - low) : 1;
        chart_text text = {0};
        chart_put(&text, i == grid->chosen ? "*" : "");
        chart_put_number(&text, grid->mean[i], 3);
        cells->value[cells->count] = grid->larger_is_better ? part : 1 - part;
        chart_add(picture, cells, (double)place_of(grid, across, i),
                  (double)place_of(grid, down, i), text.bytes);
        picture->failed |= text.failed;
        free(text.bytes);
    }
}

mercer_status chart_build_tuning(const chart_subject *subject, chart *picture, mercer_error *err)
{
    const chart_grid *grid = subject->grid;
    if (grid->axes == 0 || grid->cells == 0 || grid->chosen < 0)
        return chart_fail(err, MERCER_ERR_UNSUPPORTED, "nothing was tuned");
    for (int64_t a = grid->axes > 1 ? grid->axes - 2 : 0; a < grid->axes; a++)
        if (grid->axis[a].count > MAX_VALUES)
            return chart_fail(err, MERCER_ERR_UNSUPPORTED,
                              "'%s' has %lld values, and a picture has room for %d",
                              grid->axis[a].key, (long long)grid->axis[a].count, MAX_VALUES);
    chart_text title = {0}, note = {0};
    chart_putf(&title, "%s by ", grid->metric);
    for (int64_t a = 0; a < grid->axes; a++)
        chart_putf(&title, "%s%s", a ? " and " : "", grid->axis[a].key);
    chart_put(&note, grid->axes > 1 ? "* chosen: " : "chosen: ");
    for (int64_t a = 0; a < grid->axes; a++)
        chart_putf(&note, "%s%s=%s", a ? ", " : "", grid->axis[a].key,
                   grid->axis[a].values[place_of(grid, a, grid->chosen)]);
    if (isfinite(grid->mean[grid->chosen])) {
        chart_put(&note, ": ");
        chart_put_number(&note, grid->mean[grid->chosen], 4);
        chart_put(&note, ", optimistic: it was chosen by that");
    }
    picture->failed |= title.failed || note.failed;
    picture->title = chart_take(&title);
    picture->note = chart_take(&note);
    picture->subtitle = chart_format(picture, "%s%smean over the folds of all rows; %s is better",
                                     grid->method ? grid->method : "", grid->method ? ", " : "",
                                     grid->larger_is_better ? "larger" : "smaller");
    picture->summary =
        chart_format(picture, "%s, %lld combinations. %s.", picture->title ? picture->title : "",
                     (long long)grid->cells, picture->note ? picture->note : "");
    if (grid->axes == 1)
        add_course(picture, grid);
    else
        add_cells(picture, grid);
    return MERCER_OK;
}
