/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer demo: the noisy ring, small and large, with pictures.
 *
 * Kernel PCA of points on a noisy circle. The first two features are the circle again; the features
 * of a row lead back to a row with less noise; a ring of 100,000 rows needs a kernel matrix that no
 * machine holds, which the low-rank store never forms; and methods that choose a few rows are put
 * beside kernel PCA. */
#include "cli.h"
#include "report/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PROBED rows are transformed at every size: all of the large ring would take longer than its fit,
 * for the kernel between every two rows is exactly what the fit avoids. */
enum { ROWS = 1000, LARGE = 100000, PROBED = 1000, COMPONENTS = 10 };
#define METHOD "kpca"
#define KERNEL "rbf:sigma=4"

typedef struct trial {
    int64_t rows, shown;
    double *x, *features; /* shown x 2, shown x l; owned */
    double *preimages;    /* shown x 2, or NULL; owned */
    double seconds_transform, seconds_inverse;
    mercer_fit_report report;
    mercer_model_info info;
    mercer_model *model; /* owned */
} trial;

static void trial_destroy(trial *t)
{
    free(t->x);
    free(t->features);
    free(t->preimages);
    mercer_model_free(t->model);
}

static mercer_status run_trial(cli_app *app, int64_t rows, bool with_preimages, trial *t,
                               mercer_error *err)
{
    *t = (trial){.rows = rows,
                 .shown = rows < PROBED ? rows : PROBED,
                 .report = {.struct_size = sizeof t->report},
                 .info = {.struct_size = sizeof t->info}};
    mercer_table *table = NULL;
    mercer_rows *probe = NULL;
    mercer_dataset_options generating;
    mercer_dataset_options_init(&generating);
    generating.rows = rows;
    mercer_fit_options fitting;
    mercer_fit_options_init(&fitting);
    fitting.method = METHOD;
    fitting.kernel = KERNEL;
    fitting.components = COMPONENTS;

    mercer_status rc = mercer_dataset_generate(app->ctx, "circle", &generating, &table, err);
    if (rc != MERCER_OK)
        goto out;
    const mercer_rows *data = mercer_table_rows(table);
    const int64_t d = mercer_rows_columns(data);
    t->x = cli_alloc((size_t)t->shown, (size_t)d * sizeof *t->x);
    mercer_rows_copy(data, 0, t->shown, t->x);
    rc = mercer_fit(app->ctx, &fitting, data, NULL, &t->model, &t->report, err);
    if (rc != MERCER_OK)
        goto out;
    mercer_model_get_info(t->model, &t->info);

    t->features = cli_alloc((size_t)t->shown, (size_t)t->info.components * sizeof *t->features);
    mercer_array shown = {
        .struct_size = sizeof shown, .data = t->x, .rank = 2, .shape = {t->shown, d}};
    rc = mercer_rows_view(app->ctx, &shown, &probe, err);
    if (rc != MERCER_OK)
        goto out;
    double start = cli_now();
    rc = mercer_model_transform(app->ctx, t->model, probe, NULL, t->features, NULL, err);
    if (rc != MERCER_OK)
        goto out;
    t->seconds_transform = cli_now() - start;
    if (with_preimages) {
        t->preimages = cli_alloc((size_t)t->shown, (size_t)d * sizeof *t->preimages);
        start = cli_now();
        rc = mercer_model_inverse(app->ctx, t->model, t->features, t->shown, t->preimages, NULL,
                                  err);
        t->seconds_inverse = cli_now() - start;
    }
out:
    mercer_rows_free(probe);
    mercer_table_free(table);
    return rc;
}

/* Root mean square distance from the circle of radius 8. */
static double off_circle(const double *x, int64_t rows)
{
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        const double off = hypot(x[2 * i], x[2 * i + 1]) - 8;
        sum += off * off;
    }
    return sqrt(sum / (double)rows);
}

/* Print a chart and free it. */
static void show(chart *picture)
{
    mercer_error err = {0};
    char *text = NULL;
    if (chart_terminal(picture, cli_terminal_width(), cli_terminal_colour(), &text, &err) !=
        MERCER_OK)
        cli_out_of_memory(); /* the only thing that can be */
    fputs(text, stdout);
    free(text);
    chart_free(picture);
}

static chart *new_chart(void)
{
    chart *picture = chart_new();
    if (picture)
        picture->columns = 2;
    else
        cli_out_of_memory();
    return picture;
}

/* Rows with `stride` numbers each in a panel, the first two of them shown. side, unless NULL, parts
 * them by the sign of its number, which stands as far apart, where there are colours. */
static chart_panel *add_rows(chart *picture, const char *title, const char *x, const char *y,
                             const double *rows, int64_t count, int64_t stride, const double *side,
                             int64_t apart)
{
    chart_panel *panel = chart_add_panel(picture, title, x, y);
    chart_series *series[2];
    panel->square = true;
    for (int k = 0; k < 2; k++)
        series[k] = chart_add_series(picture, panel, CHART_POINTS, NULL, k);
    for (int64_t i = 0; rows && i < count; i++)
        chart_add(picture, series[cli_terminal_colour() && side && side[i * apart] > 0],
                  rows[i * stride], rows[i * stride + 1], NULL);
    return panel;
}

/* Rows that stand out, of two numbers each. */
static void add_marks(chart *picture, chart_panel *panel, chart_shape shape)
{
    chart_series *marks = chart_add_series(picture, panel, CHART_POINTS, NULL, CHART_INK);
    marks->shape = shape;
    marks->overlay = true;
}

/* The data and the first two features, side by side where the terminal is wide enough. */
static void draw(const trial *t)
{
    enum { MARKS = 40 };
    const int64_t l = t->info.components, marks = t->shown < MARKS ? t->shown : MARKS;
    if (l < 2)
        return;
    chart *picture = new_chart();
    chart_panel *data = add_rows(picture, "data", "x", "y", t->x, t->shown, 2, t->features, l);
    add_marks(picture, data, CHART_RING);
    for (int64_t i = 0; i < marks; i++) {
        const double *row = t->preimages + 2 * (i * t->shown / marks);
        chart_add(picture, &data->series[data->count - 1], row[0], row[1], NULL);
    }
    add_rows(picture, "features", "f1", "f2", t->features, t->shown, l, t->features, l);
    show(picture);
    printf("\n");
    char *text = cli_format(
        "O: rows that the features of some rows are mapped back to (mercer inverse). These rows "
        "were "
        "%.2f off the circle, and are %.2f off it after the way there and back: the features leave "
        "most of the noise out.%s",
        off_circle(t->x, t->shown), off_circle(t->preimages, t->shown),
        cli_terminal_colour() ? " Colour: the sign of f1." : "");
    cli_print_wrapped(stdout, text, 0, cli_terminal_width());
    free(text);
}

/* One column per size, so that it fits a narrow terminal. */
static void compare(const trial *trials, int count)
{
    cli_table table = {.align = count > 1 ? "lrr" : "lr", .header = true};
    cli_table_cell(&table, "rows");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%s", cli_text_count(trials[i].rows).text);
    cli_table_cell(&table, "kernel matrix");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%s",
                       cli_text_bytes(8 * (double)trials[i].rows * (double)trials[i].rows).text);
    cli_table_cell(&table, "held as");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%s", trials[i].report.store);
    cli_table_cell(&table, "taking");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%s", cli_text_bytes((double)trials[i].report.store_bytes).text);
    cli_table_cell(&table, "mean error");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%.4f", trials[i].report.reconstruction_error);
    cli_table_cell(&table, "fit");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%s", cli_text_seconds(trials[i].report.seconds).text);
    cli_table_cell(&table, "transform*");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%s", cli_text_seconds(trials[i].seconds_transform).text);
    cli_table_cell(&table, "inverse*");
    for (int i = 0; i < count; i++)
        cli_table_cell(&table, "%s",
                       trials[i].preimages ? cli_text_seconds(trials[i].seconds_inverse).text
                                           : "-");
    cli_table_print(&table, stdout, 2);
    printf("  * of %s rows\n", cli_text_count(trials[0].shown).text);
}

/* ---- methods side by side ---- */

/* A method on the rows of the small ring. */
typedef struct entrant {
    const char *name, *method, *center;
    double seconds_transform;
    mercer_fit_report report;
    mercer_model_info info;
    mercer_model *model; /* owned */
} entrant;

enum { KPCA, AKFA, AKFA_SPAN, ACKFA, SKFA, RKPCA, ENTRANTS };

static mercer_status run_entrant(cli_app *app, const mercer_rows *rows, entrant *e,
                                 mercer_error *err)
{
    const int64_t n = mercer_rows_count(rows);
    mercer_fit_options fitting;
    mercer_fit_options_init(&fitting);
    fitting.method = e->method;
    fitting.kernel = KERNEL;
    fitting.components = COMPONENTS;
    fitting.center = e->center;
    e->report.struct_size = sizeof e->report;
    e->info.struct_size = sizeof e->info;
    mercer_status rc = mercer_fit(app->ctx, &fitting, rows, NULL, &e->model, &e->report, err);
    if (rc != MERCER_OK)
        return rc;
    mercer_model_get_info(e->model, &e->info);
    double *features = cli_alloc((size_t)n, (size_t)e->info.components * sizeof *features);
    const double start = cli_now();
    rc = mercer_model_transform(app->ctx, e->model, rows, NULL, features, NULL, err);
    e->seconds_transform = cli_now() - start;
    free(features);
    return rc;
}

/* The rows and which of them a method selected. */
static void add_selected(chart *picture, const double *x, int64_t rows, const entrant *e)
{
    char *title = cli_format("rows that %s selects", e->name);
    chart_panel *panel = add_rows(picture, title, "x", "y", x, rows, 2, NULL, 0);
    add_marks(picture, panel, CHART_CROSS);
    for (int64_t i = 0; i < e->info.selected_count; i++) {
        const double *row = x + 2 * e->info.selected[i];
        chart_add(picture, &panel->series[panel->count - 1], row[0], row[1], NULL);
    }
    free(title);
}

static void print_entrants(const entrant *entrants, int64_t rows)
{
    cli_table table = {.align = "lrrrrr", .header = true};
    cli_table_cell(&table, "method");
    cli_table_cell(&table, "error");
    cli_table_cell(&table, "rows used");
    cli_table_cell(&table, "rows stored");
    cli_table_cell(&table, "fit");
    cli_table_cell(&table, "transform*");
    for (int i = 0; i < ENTRANTS; i++) {
        const entrant *e = &entrants[i];
        const int64_t used =
            e->info.selected_count ? e->info.selected_count : e->info.expansion_points;
        cli_table_cell(&table, "%s", e->name);
        cli_table_cell(&table, "%.4f", e->report.reconstruction_error);
        cli_table_cell(&table, "%s", cli_text_count(used).text);
        cli_table_cell(&table, "%s", cli_text_count(e->info.expansion_points).text);
        cli_table_cell(&table, "%s", cli_text_seconds(e->report.seconds).text);
        cli_table_cell(&table, "%s", cli_text_seconds(e->seconds_transform).text);
    }
    cli_table_print(&table, stdout, 2);
    printf("  * of %s rows\n", cli_text_count(rows).text);
}

/* Kernel PCA beside methods whose features depend on a few rows: x has `rows` rows. */
static mercer_status compare_methods(cli_app *app, const double *x, int64_t rows, mercer_error *err)
{
    enum { BESIDE = 70 };
    entrant entrants[ENTRANTS] = {
        [KPCA] = {.name = "kpca", .method = "kpca"},
        [AKFA] = {.name = "akfa", .method = "akfa"},
        [AKFA_SPAN] = {.name = "akfa, span", .method = "akfa", .center = "span"},
        [ACKFA] = {.name = "ackfa", .method = "ackfa:delta=0.4,relative=off"},
        [SKFA] = {.name = "skfa", .method = "skfa"},
        [RKPCA] = {.name = "rkpca", .method = "rkpca"}};
    const int width = cli_terminal_width();
    mercer_rows *view = NULL;
    mercer_array plane = {.struct_size = sizeof plane, .data = x, .rank = 2, .shape = {rows, 2}};
    mercer_status rc = mercer_rows_view(app->ctx, &plane, &view, err);
    for (int i = 0; rc == MERCER_OK && i < ENTRANTS; i++)
        rc = run_entrant(app, view, &entrants[i], err);
    if (rc != MERCER_OK)
        goto out;
    cli_progress_clear();
    printf("\nFeatures that depend on a few rows, %d each, on the same ring:\n\n", COMPONENTS);
    if (width >= BESIDE) {
        chart *picture = new_chart();
        add_selected(picture, x, rows, &entrants[AKFA]);
        add_selected(picture, x, rows, &entrants[SKFA]);
        show(picture);
        printf("\n");
    }
    print_entrants(entrants, rows);
    printf("\n");
    cli_print_wrapped(
        stdout,
        "akfa, ackfa and skfa choose a row for each feature; with the exact mean of all rows the "
        "model still keeps them all. With the mean taken in the span of the chosen rows "
        "(--center span) it keeps only those; rkpca is centred and sparse from the start, on "
        "three rows for each feature.",
        0, width);
out:
    for (int i = 0; i < ENTRANTS; i++)
        mercer_model_free(entrants[i].model);
    mercer_rows_free(view);
    return rc;
}

static int run_demo(cli_app *app)
{
    const int64_t rows = app->set.rows ? app->set.rows : ROWS;
    const int width = cli_terminal_width();
    mercer_error err = {0};
    trial trials[2] = {{0}};
    int done = 0;
    char *text = cli_format("Kernel PCA of a noisy ring: %s points around a circle of radius 8, "
                            "kernel " KERNEL ", %d features.",
                            cli_text_count(rows).text, COMPONENTS);
    cli_print_wrapped(stdout, text, 0, width);
    free(text);
    printf("\n");
    fflush(stdout);

    mercer_status rc = run_trial(app, rows, true, &trials[0], &err);
    if (rc != MERCER_OK)
        goto out;
    done = 1;
    cli_progress_clear();
    draw(&trials[0]);
    const mercer_model_info *info = &trials[0].info;
    if (info->spectrum && info->components) {
        printf("\nShare of the variance in each feature:\n");
        cli_print_spectrum(stdout, info->spectrum, info->components,
                           1 / (info->weight * info->total_variance));
    }
    fflush(stdout);

    if (rows < LARGE) {
        rc = run_trial(app, LARGE, false, &trials[1], &err);
        if (rc != MERCER_OK)
            goto out;
        done = 2;
        cli_progress_clear();
    }
    printf("\n%s\n", done > 1 ? "The same ring, small and large:" : "In figures:");
    compare(trials, done);
    printf("\n");
    text =
        cli_format("The error is the squared distance of a row from its reconstruction in feature "
                   "space, out of a variance of %.3f.",
                   info->total_variance);
    cli_print_wrapped(stdout, text, 0, width);
    free(text);
    const trial *large = &trials[done - 1];
    if (large->report.store_rank > 0) {
        const double n = (double)large->rows;
        text = cli_format("The kernel matrix of %s rows would take %s and was never formed: its "
                          "low-rank factor has %lld columns and is exact to rounding.",
                          cli_text_count(large->rows).text, cli_text_bytes(8 * n * n).text,
                          (long long)large->report.store_rank);
        cli_print_wrapped(stdout, text, 0, width);
        free(text);
    }
    cli_print_notices(app);
    const bool quiet = app->set.quiet;
    app->set.quiet = true; /* the notes of the methods are said in one sentence */
    rc = compare_methods(app, trials[0].x, trials[0].shown, &err);
    app->set.quiet = quiet;
    if (rc != MERCER_OK)
        goto out;
    printf("\nPeak memory of all this: %s.\n", cli_text_bytes((double)cli_peak_memory()).text);
    printf("\nNext, on a file:\n"
           "  mercer generate circle -o ring.csv\n"
           "  mercer fit ring.csv -m kpca -k rbf:sigma=4 -n 10 -o ring.model\n"
           "  mercer transform ring.model ring.csv --errors | head\n"
           "and on your own table, with a kernel width taken from the data:\n"
           "  mercer fit YOUR.csv -m kpca --scale standard\n"
           "  mercer fit YOUR.csv -m rkpca --scale standard\n");
out:
    for (int i = 0; i < 2; i++)
        trial_destroy(&trials[i]);
    return rc == MERCER_OK ? CLI_DONE : cli_fail_library(rc, &err, NULL);
}

static const cli_option options[] = {
    CLI_OPTION("rows", 0, CLI_COUNT, rows, "N", NULL, "points of the small ring; default 1000"),
    CLI_OPTION_SEED,
    CLI_OPTION_MACHINE,
    CLI_OPTION_LAST,
};

const cli_command cli_command_demo = {
    .name = "demo",
    .summary = "see kernel PCA work on a noisy ring, with pictures",
    .operands = "",
    .options = options,
    .run = run_demo,
};
