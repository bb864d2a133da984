/* SPDX-License-Identifier: BSD-3-Clause */
/* The explorer of a page: a sample of the rows, scaled as the model scales them, for the script
 * that computes kernel PCA of them again. Numbers are whole doubles, so that what it finds is what
 * a fit finds. */
#include "page_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ROWS = 2000,      /* raising it makes the script slower by the square */
    MAX_NUMBERS = 500000, /* of all rows together: 5.3 MB of text */
    MIN_ROWS = 20
};

static const char live[] =
    "<div class=\"live\" id=\"explore-live\">\n"
    "<div class=\"sliders\">\n"
    "<label for=\"explore-kernel\">kernel</label> <select id=\"explore-kernel\"></select> "
    "<span></span>\n"
    "<label for=\"explore-key\">its key</label> <input type=\"range\" id=\"explore-key\" min=\"0\" "
    "max=\"1000\"> <output for=\"explore-key\"></output>\n"
    "<label for=\"explore-parts\">features</label> <input type=\"range\" id=\"explore-parts\" "
    "min=\"1\" "
    "max=\"20\"> <output for=\"explore-parts\"></output>\n"
    "</div>\n"
    "<div class=\"explore\"><canvas role=\"img\" aria-label=\"Shares of the variance of the "
    "features\"></canvas><canvas role=\"img\" aria-label=\"Rows by the first two "
    "features\"></canvas></div>\n"
    "<p class=\"said\" role=\"status\"></p>\n"
    "<p>The command for the whole table:</p>\n"
    "<div class=\"command\"><pre></pre></div>\n"
    "</div>\n";

static int64_t sample_size(const chart_data *data, int64_t columns)
{
    int64_t count = data->rows < MAX_ROWS ? data->rows : MAX_ROWS;
    return count * columns > MAX_NUMBERS ? MAX_NUMBERS / columns : count;
}

bool page_can_explore(const chart_data *data)
{
    const int64_t d = data ? mercer_rows_columns(mercer_table_rows(data->table)) : 0;
    return d > 0 && d <= MAX_NUMBERS / MIN_ROWS && data->rows > 1 && !data->info.precomputed;
}

/* Row `row` into x, as the model would see it. */
static void copy_scaled(const chart_data *data, const mercer_rows *rows, int64_t row, double *x)
{
    mercer_array shift = {.struct_size = sizeof shift}, factor = {.struct_size = sizeof factor};
    mercer_rows_copy(rows, row, 1, x);
    if (mercer_model_array(data->model, "scale_shift", &shift, NULL) != MERCER_OK ||
        mercer_model_array(data->model, "scale_factor", &factor, NULL) != MERCER_OK)
        return;
    for (int64_t j = 0; j < data->info.columns; j++)
        x[j] = (x[j] - ((const double *)shift.data)[j]) * ((const double *)factor.data)[j];
}

static mercer_status put_rows(const chart_subject *subject, chart_text *out, int64_t count,
                              mercer_error *err)
{
    const chart_data *data = subject->data;
    const mercer_rows *rows = mercer_table_rows(data->table);
    const int64_t d = mercer_rows_columns(rows);
    mercer_rows *scaled = NULL;
    mercer_status rc = MERCER_OK;
    /* Scalings of rows hang on nothing else; those of columns are the model's. */
    if (strcmp(data->info.scale, "unit") == 0 || strcmp(data->info.scale, "rowstandard") == 0)
        rc = mercer_rows_scale(subject->ctx, rows, data->info.scale, &scaled, err);
    double *x = rc == MERCER_OK ? malloc((size_t)(count * d) * sizeof *x) : NULL;
    if (rc == MERCER_OK && !x)
        rc = chart_fail(err, MERCER_ERR_MEMORY, "out of memory for the explorer");
    if (x) {
        for (int64_t i = 0; i < count; i++)
            copy_scaled(data, scaled ? scaled : rows, page_sampled(data->rows, count, i),
                        x + i * d);
        chart_put_base64(out, (const unsigned char *)x, (size_t)(count * d) * sizeof *x);
    }
    free(x);
    mercer_rows_free(scaled);
    return rc;
}

mercer_status page_put_explorer(const chart_subject *subject, const page_options *options,
                                chart_text *out, mercer_error *err)
{
    const chart_data *data = subject->data;
    const int64_t d = mercer_rows_columns(mercer_table_rows(data->table));
    const int64_t count = sample_size(data, d);
    chart_put(out, "<p>Kernel PCA of ");
    chart_put_count(out, count);
    if (count < data->rows) {
        chart_put(out, " of ");
        chart_put_count(out, data->rows);
    }
    chart_put(
        out,
        " rows, computed anew in the browser at every move. <strong>The file holds these rows, "
        "with all their columns.</strong></p>\n<p class=\"still\">It needs scripts.</p>\n");
    chart_put(out, live);
    chart_putf(
        out,
        "<script type=\"application/json\" id=\"explore-data\">\n{\"rows\":%lld,\"columns\":%lld,"
        "\"components\":%lld,\"kernel\":",
        (long long)count, (long long)d, (long long)data->info.components);
    page_put_json(out, data->info.kernel);
    chart_put(out, ",\"before\":");
    page_put_json(out, options->explore_before);
    chart_put(out, ",\"after\":");
    page_put_json(out, options->explore_after);
    if (data->targets && mercer_targets_kind(data->targets) == MERCER_TARGET_CLASSES) {
        unsigned char codes[MAX_ROWS];
        for (int64_t i = 0; i < count; i++) {
            const int64_t code =
                mercer_targets_codes(data->targets)[page_sampled(data->rows, count, i)];
            codes[i] = (unsigned char)(code < PAGE_MAX_CLASSES ? code : PAGE_MAX_CLASSES - 1);
        }
        chart_put(out, ",\"codes\":\"");
        chart_put_base64(out, codes, (size_t)count);
        chart_put(out, "\"");
    }
    chart_put(out, ",\n\"data\":\"");
    const mercer_status rc = put_rows(subject, out, count, err);
    chart_put(out, "\"}\n</script>\n");
    return rc;
}
