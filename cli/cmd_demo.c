/* mercer demo: the noisy ring, small and large, with pictures.
 *
 * Kernel PCA of points on a noisy circle. The first two features are the circle again; the features
 * of a row lead back to a row with less noise; and a ring of 100,000 rows needs a kernel matrix
 * that no machine holds, which the low-rank store never forms. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1000, LARGE = 100000, COMPONENTS = 10 };
#define METHOD "kpca"
#define KERNEL "rbf:sigma=4"

typedef struct trial {
    int64_t rows;
    double *x, *features, *errors; /* rows x 2, rows x l, rows; owned */
    double *preimages;             /* rows x 2, or NULL; owned */
    double seconds_generate, seconds_transform, seconds_inverse;
    mercer_fit_report report;
    mercer_model_info info;
    mercer_model *model; /* owned */
} trial;

static void trial_destroy(trial *t)
{
    free(t->x);
    free(t->features);
    free(t->errors);
    free(t->preimages);
    mercer_model_free(t->model);
}

static mercer_status run_trial(cli_app *app, int64_t rows, bool with_preimages, trial *t,
                               mercer_error *err)
{
    *t = (trial){.rows = rows,
                 .report = {.struct_size = sizeof t->report},
                 .info = {.struct_size = sizeof t->info}};
    mercer_table *table = NULL;
    mercer_generate_options generating;
    mercer_generate_options_init(&generating);
    generating.rows = rows;
    mercer_fit_options fitting;
    mercer_fit_options_init(&fitting);
    fitting.method = METHOD;
    fitting.kernel = KERNEL;
    fitting.components = COMPONENTS;

    double start = cli_now();
    mercer_status rc = mercer_generate(app->ctx, "circle", &generating, &table, err);
    if (rc != MERCER_OK)
        goto out;
    t->seconds_generate = cli_now() - start;
    const mercer_rows *data = mercer_table_rows(table);
    const int64_t d = mercer_rows_columns(data);
    t->x = cli_alloc((size_t)rows, (size_t)d * sizeof *t->x);
    mercer_rows_copy(data, 0, rows, t->x);
    rc = mercer_fit(app->ctx, &fitting, data, NULL, &t->model, &t->report, err);
    if (rc != MERCER_OK)
        goto out;
    mercer_model_get_info(t->model, &t->info);

    t->features = cli_alloc((size_t)rows, (size_t)t->info.components * sizeof *t->features);
    t->errors = cli_alloc((size_t)rows, sizeof *t->errors);
    start = cli_now();
    rc = mercer_model_transform(app->ctx, t->model, data, NULL, t->features, t->errors, err);
    if (rc != MERCER_OK)
        goto out;
    t->seconds_transform = cli_now() - start;
    if (with_preimages) {
        t->preimages = cli_alloc((size_t)rows, (size_t)d * sizeof *t->preimages);
        start = cli_now();
        rc = mercer_model_inverse(app->ctx, t->model, t->features, rows, t->preimages, NULL, err);
        t->seconds_inverse = cli_now() - start;
    }
out:
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

static void draw(const trial *t)
{
    enum { WIDE = 42, HIGH = 20, NARROW = 30 };
    const int64_t l = t->info.components;
    if (l < 2)
        return;
    const int width = cli_terminal_width();
    unsigned char *side = cli_alloc((size_t)t->rows, 1);
    for (int64_t i = 0; i < t->rows; i++)
        side[i] = t->features[i * l] > 0;
    const bool beside = width >= 2 * WIDE - 8;
    int each = beside ? (width - 2) / 2 : width - 2;
    each = each > WIDE ? WIDE : each;
    int high = (each - 10) / 2 + 4;
    high = high > HIGH ? HIGH : high;

    cli_plot plot = {.title = "the data: x1, x2",
                     .x = t->x,
                     .y = t->x + 1,
                     .count = t->rows,
                     .stride = 2,
                     .group = side,
                     .width = each,
                     .height = high,
                     .colour = cli_terminal_colour(),
                     .square = true};
    char **drawing[2];
    drawing[0] = cli_plot_draw(&plot);
    plot.title = "the first two features: f1, f2";
    plot.x = t->features;
    plot.y = t->features + 1;
    plot.stride = l;
    drawing[1] = cli_plot_draw(&plot);
    if (beside) {
        cli_plot_print(stdout, drawing, 2, high, 0);
    } else {
        cli_plot_print(stdout, drawing, 1, high, 0);
        cli_plot_print(stdout, drawing + 1, 1, high, 0);
    }
    if (plot.colour)
        cli_print_wrapped(stdout, "Colour: the side of zero on which f1 lies.", 0, width);
    if (t->preimages) {
        printf("\n");
        plot.title = "the rows led back from their features";
        plot.x = t->preimages;
        plot.y = t->preimages + 1;
        plot.stride = 2;
        drawing[0] = cli_plot_draw(&plot);
        cli_plot_print(stdout, drawing, 1, high, 0);
        char *text = cli_format("Noise, as root mean square distance from the circle: %.3f in the "
                                "data, %.3f after the way there and back.",
                                off_circle(t->x, t->rows), off_circle(t->preimages, t->rows));
        cli_print_wrapped(stdout, text, 0, width);
        free(text);
    }
    free(side);
}

static double mean(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

static void compare(const trial *trials, int count)
{
    cli_table table = {.align = "rrlrrrr", .header = true};
    static const char *const head[] = {"rows",        "kernel matrix", "held as",  "error",
                                       "error again", "fit",           "transform"};
    for (int i = 0; i < 7; i++)
        cli_table_cell(&table, "%s", head[i]);
    for (int i = 0; i < count; i++) {
        const trial *t = &trials[i];
        const double n = (double)t->rows;
        cli_table_cell(&table, "%s", cli_text_count(t->rows).text);
        cli_table_cell(&table, "%s", cli_text_bytes(8 * n * n).text);
        if (t->report.store_rank)
            cli_table_cell(&table, "%s, %s", t->report.store,
                           cli_text_bytes((double)t->report.store_bytes).text);
        else
            cli_table_cell(&table, "%s", t->report.store);
        cli_table_cell(&table, "%.4f", t->report.reconstruction_error);
        cli_table_cell(&table, "%.4f", mean(t->errors, t->rows));
        cli_table_cell(&table, "%s", cli_text_seconds(t->report.seconds).text);
        cli_table_cell(&table, "%s", cli_text_seconds(t->seconds_transform).text);
    }
    cli_table_print(&table, stdout, 2);
}

static int run_demo(cli_app *app)
{
    const int64_t rows = app->set.rows ? app->set.rows : ROWS;
    const int width = cli_terminal_width();
    mercer_error err = {MERCER_OK, ""};
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
                           1 / ((double)rows * info->total_variance));
    }
    fflush(stdout);

    if (rows < LARGE) {
        rc = run_trial(app, LARGE, false, &trials[1], &err);
        if (rc != MERCER_OK)
            goto out;
        done = 2;
        cli_progress_clear();
    }
    printf("\nThe same at another size:\n");
    compare(trials, done);
    printf("\n");
    text =
        cli_format("'error' is the mean squared distance of a row from its reconstruction, out of "
                   "%.3f; 'error again' is the same by transforming the rows anew.",
                   info->total_variance);
    cli_print_wrapped(stdout, text, 0, width);
    free(text);
    const trial *large = &trials[done - 1];
    if (strcmp(large->report.store, "lowrank") == 0) {
        const double n = (double)large->rows;
        text = cli_format("The kernel matrix of %s rows would take %s and was never formed: its "
                          "low-rank factor has %lld columns and is exact to rounding.",
                          cli_text_count(large->rows).text, cli_text_bytes(8 * n * n).text,
                          (long long)large->report.store_rank);
        cli_print_wrapped(stdout, text, 0, width);
        free(text);
    }
    cli_print_notices(app);
    printf("\nPeak memory of all this: %s.\n", cli_text_bytes((double)cli_peak_memory()).text);
    printf("\nNext, on a file:\n"
           "  mercer generate circle -o ring.csv\n"
           "  mercer fit ring.csv -m kpca -k rbf:sigma=4 -n 10 -o ring.model\n"
           "  mercer transform ring.model ring.csv --errors | head\n"
           "and on your own table, with a kernel width taken from the data:\n"
           "  mercer fit YOUR.csv -m kpca --scale standard\n");
out:
    for (int i = 0; i < 2; i++)
        trial_destroy(&trials[i]);
    return rc == MERCER_OK ? CLI_DONE : cli_fail_library(rc, &err, NULL);
}

static const cli_option options[] = {
    CLI_OPTION("rows", 0, CLI_COUNT, rows, "N", NULL, "points of the small ring; default 1000"),
    CLI_OPTION_SEED,
    CLI_OPTION_MACHINE,
    CLI_OPTION_QUIET,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

const cli_command cli_command_demo = {
    .name = "demo",
    .summary = "see kernel PCA work on a noisy ring, with pictures",
    .operands = "",
    .options = options,
    .run = run_demo,
};
