/* SPDX-License-Identifier: BSD-3-Clause */
/* What fits will cost: a note before long work, and a refusal of what takes longer than --time. */
#include "evaluate.h"

#include <math.h>
#include <stdlib.h>

static const double LONG_SECONDS = 30; /* more than a user waits for without having been told */

/* Two digits, in steps that people use. */
static double rounded(double value)
{
    const double unit = pow(10, floor(log10(fmax(value, 1e-3))));
    return round(value / unit * 2) / 2 * unit;
}

/* What seconds are counted in. */
static const char *unit_of(double seconds, double *unit)
{
    const bool minutes = seconds >= 90, hours = seconds >= 90 * 60;
    *unit = hours ? 3600 : minutes ? 60 : 1;
    return hours ? "h" : minutes ? "min" : "s";
}

cli_text cli_text_about(double seconds)
{
    cli_text out;
    double unit;
    const char *name = unit_of(seconds, &unit);
    if (seconds < 0.95)
        snprintf(out.text, sizeof out.text, "under 1 s");
    else
        snprintf(out.text, sizeof out.text, "about %g %s", rounded(seconds / unit), name);
    return out;
}

cli_text cli_text_span(double low, double high)
{
    cli_text out;
    double low_unit, unit;
    const char *low_name = unit_of(low, &low_unit), *name = unit_of(high, &unit);
    if (low_unit == unit)
        snprintf(out.text, sizeof out.text, "%g to %g %s", rounded(low / unit),
                 rounded(high / unit), name);
    else
        snprintf(out.text, sizeof out.text, "%g %s to %g %s", rounded(low / low_unit), low_name,
                 rounded(high / unit), name);
    return out;
}

/* "exact kpca of 100,000 rows: 20 to 50 min; -m nystroem:points=1000 takes about 6 s
 * (approximate)". Owned by the caller. */
static char *describe(const mercer_fit_options *options, int64_t rows, const mercer_forecast *told)
{
    char *cheaper = told->cheaper[0] ? cli_format("; -m %s takes %s (approximate)", told->cheaper,
                                                  cli_text_about(told->cheaper_seconds).text)
                                     : cli_copy("");
    const mercer_entry *method = mercer_method_find(options->method);
    char *text = cli_format("%s%s of %s rows: %s%s", told->cheaper[0] ? "exact " : "",
                            mercer_entry_name(method), cli_text_count(rows).text,
                            cli_text_span(told->seconds_low, told->seconds_high).text, cheaper);
    free(cheaper);
    return text;
}

int cli_forecast_fit(cli_app *app, const mercer_fit_options *options, const mercer_rows *rows,
                     const mercer_targets *targets, double *seconds)
{
    const double limit = app->set.time;
    mercer_forecast told = {.struct_size = sizeof told};
    mercer_error err = {0};
    const double brief = limit > 0 && limit < LONG_SECONDS ? limit : LONG_SECONDS;
    *seconds = NAN;
    /* What is wrong is told by the fit, in its own order. */
    if (mercer_fit_forecast(app->ctx, options, rows, targets, 0, brief, &told, &err) != MERCER_OK ||
        !told.measured)
        return CLI_DONE;
    *seconds = told.seconds;
    char *text = describe(options, mercer_rows_count(rows), &told);
    int status = CLI_DONE;
    if (limit > 0 && told.seconds > limit) {
        status = cli_fail(CLI_FAILED, "fit: not begun, it would take longer than --time: %s", text);
    } else if (told.seconds > LONG_SECONDS && !app->set.quiet && !cli_is_silent()) {
        cli_progress_clear();
        fprintf(stderr, "mercer: note: %s\n", text);
        fflush(stderr);
    }
    free(text);
    return status;
}

void cli_forecast_folds(cli_app *app, const cli_evaluate_inputs *o)
{
    const mercer_evaluate_options *e = &o->options;
    const mercer_rows *rows = mercer_table_rows(o->table);
    const int64_t n = mercer_rows_count(rows), folds = e->folds ? e->folds : 5;
    const int64_t fits = e->test ? 1 : folds * (e->repeats ? e->repeats : 1);
    mercer_forecast told = {.struct_size = sizeof told};
    mercer_error err = {0};
    /* Grids have combinations that share their work, splits and runs of time parts of any size. */
    if (e->tune_count || e->splits || e->ordered || folds < 0 || app->set.quiet || cli_is_silent())
        return;
    if (mercer_fit_forecast(app->ctx, e->fit, rows, mercer_table_targets(o->table),
                            e->test ? n : n - n / folds, LONG_SECONDS / (double)fits, &told,
                            &err) != MERCER_OK ||
        !told.measured || told.seconds * (double)fits < LONG_SECONDS)
        return;
    char *times = fits > 1 ? cli_format("%lld times ", (long long)fits) : cli_copy("");
    char *text = describe(e->fit, e->test ? n : n - n / folds, &told);
    cli_progress_clear();
    fprintf(stderr, "mercer: note: %s%s\n", times, text);
    free(times);
    free(text);
}
