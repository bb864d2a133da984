/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a page: columns of the data, eigenvalues, rows worth a look, evaluations. */
#include "page_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 12, MAX_COLUMNS = 100, WIDEST = 4096, TOLD = 3, BINS = 24 };

double page_captured(const mercer_model_info *info)
{
    const double total = info->weight * info->total_variance;
    double sum = 0;
    if (!info->spectrum || !(total > 0))
        return NAN;
    for (int64_t j = 0; j < info->components; j++)
        sum += info->spectrum[j];
    return sum / total;
}

bool page_is_wrong(const chart_data *data, int64_t row)
{
    const int64_t code = data->predicted[row];
    const char *truth =
        mercer_targets_class_name(data->targets, mercer_targets_codes(data->targets)[row]);
    return code == MERCER_NO_CLASS ||
           strcmp(truth, mercer_model_output_name(data->model, code)) != 0;
}

page_judgement page_judge(const chart_data *data)
{
    page_judgement j = {.error = NAN};
    if (!data || !data->scores || !data->targets ||
        mercer_targets_kind(data->targets) != data->info.head_kind || data->rows == 0)
        return j;
    j.classes = data->info.head_kind == MERCER_TARGET_CLASSES;
    if (j.classes) {
        for (int64_t i = 0; i < data->rows; i++)
            j.wrong += page_is_wrong(data, i);
        j.error = (double)j.wrong / (double)data->rows;
    } else {
        const int64_t o = data->info.head_outputs;
        if (mercer_targets_columns(data->targets) != o)
            return j;
        const double *truth = mercer_targets_values(data->targets);
        double sum = 0;
        for (int64_t i = 0; i < data->rows * o; i++)
            sum += (data->scores[i] - truth[i]) * (data->scores[i] - truth[i]);
        j.error = sqrt(sum / (double)(data->rows * o));
    }
    j.known = true;
    return j;
}

/* The start of a table: its name for those who do not see it, what it lists, and heads "a|b|>c",
 * numbers with >. */
static void open_table(chart_text *out, const char *name, const char *heads)
{
    chart_put(out, "<div><h3>");
    page_put_text(out, name);
    chart_put(out, "</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
    page_put_text(out, name);
    chart_put(out, "\"><table><thead><tr>");
    while (*heads) {
        const size_t length = strcspn(heads, "|");
        const bool numbers = *heads == '>';
        chart_put(out, numbers ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
        chart_put_bytes(out, heads + numbers, length - numbers);
        chart_put(out, "</th>");
        heads += length + (heads[length] == '|');
    }
    chart_put(out, "</tr></thead><tbody>\n");
}

/* A name of the user's among the heads. */
static void add_head(chart_text *heads, const char *name)
{
    chart_text text = {0};
    page_put_text(&text, name);
    chart_put(heads, "|");
    for (const char *at = text.bytes ? text.bytes : ""; *at; at++)
        if (*at == '|')
            chart_put(heads, "&#124;");
        else
            chart_put_bytes(heads, at, 1);
    heads->failed |= text.failed;
    free(text.bytes);
}

static void close_table(chart_text *out)
{
    chart_put(out, "</tbody></table></div></div>\n");
}

static void put_name_cell(chart_text *out, const char *text)
{
    chart_put(out, "<td class=\"t\">");
    if (text)
        page_put_text(out, text);
    chart_put(out, "</td>");
}

static void put_percent_cell(chart_text *out, double share)
{
    chart_put(out, "<td class=\"n\">");
    if (!isnan(share)) {
        chart_put_number(out, 100 * share, 3);
        chart_put(out, " %");
    }
    chart_put(out, "</td>");
}

/* The cells that say which row: its number, which the script makes a way to the map, and its id and
 * class where there are any. */
static void put_row_cells(chart_text *out, const chart_data *data, int64_t row)
{
    chart_putf(out, "<td class=\"n\" data-row=\"%lld\">%lld</td>", (long long)row, (long long)row);
    if (mercer_table_id_name(data->table))
        put_name_cell(out, mercer_table_id(data->table, row));
}

static bool has_classes(const chart_data *data)
{
    return data->targets && mercer_targets_kind(data->targets) == MERCER_TARGET_CLASSES;
}

static const char *class_of(const chart_data *data, int64_t row)
{
    return mercer_targets_class_name(data->targets, mercer_targets_codes(data->targets)[row]);
}

/* ---- eigenvalues ---- */

void page_put_spectrum(chart_text *out, const mercer_model_info *info)
{
    const double total = info->weight * info->total_variance;
    const double factor = total > 0 ? 1 / total : NAN;
    double sum = 0;
    if (!info->spectrum)
        return;
    chart_put(out, "<details><summary>The numbers</summary>\n");
    open_table(out, info->correlated ? "Sums of squares of the features" : "Eigenvalues",
               info->correlated ? "feature|>sum of squares|>share|>so far"
                                : "feature|>eigenvalue|>share|>so far");
    for (int64_t j = 0; j < info->components && j < MAX_COLUMNS; j++) {
        sum += info->spectrum[j] * factor;
        chart_putf(out, "<tr><td>f%lld</td>", (long long)j + 1);
        page_put_cell(out, info->spectrum[j]);
        put_percent_cell(out, info->spectrum[j] * factor);
        put_percent_cell(out, sum);
        chart_put(out, "</tr>\n");
    }
    close_table(out);
    if (info->components > MAX_COLUMNS)
        chart_putf(out, "<p class=\"note\">The first %d of %lld.</p>\n", MAX_COLUMNS,
                   (long long)info->components);
    chart_put(out, "</details>\n");
}

/* ---- rows ---- */

/* A row and what it is listed for. */
typedef struct listed {
    int64_t row;
    double value;
} listed;

static int by_value(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The rows of the largest values, worst first, the others (NaN) left out; how many there are of
 * them, and *count how many are listed. NULL where memory ran out, or none is. */
static listed *list_rows(chart_text *out, const chart_data *data,
                         double (*value)(const chart_data *, int64_t), int64_t *count, int64_t *all)
{
    listed *list = malloc((size_t)(data->rows ? data->rows : 1) * sizeof *list);
    *count = *all = 0;
    if (!list) {
        free(out->bytes);
        *out = (chart_text){.failed = true};
        return NULL;
    }
    for (int64_t i = 0; i < data->rows; i++) {
        const double v = value(data, i);
        if (!isnan(v))
            list[(*all)++] = (listed){i, v};
    }
    qsort(list, (size_t)*all, sizeof *list, by_value);
    *count = *all < MAX_ROWS ? *all : MAX_ROWS;
    return list;
}

static double error_of(const chart_data *data, int64_t row)
{
    return data->errors[row];
}

void page_put_odd_rows(chart_text *out, const chart_data *data)
{
    if (!data || !data->errors)
        return;
    const bool ids = mercer_table_id_name(data->table), classes = has_classes(data);
    const bool novelty = data->info.novelty_share > 0;
    int64_t count, all;
    listed *list = list_rows(out, data, error_of, &count, &all);
    if (count > 0) {
        chart_text heads = {0};
        chart_put(&heads, ">row");
        if (ids)
            add_head(&heads, mercer_table_id_name(data->table));
        chart_put(&heads, classes ? "|class|>error" : "|>error");
        chart_put(&heads, novelty ? "|" : "");
        open_table(out, "The largest errors", heads.bytes ? heads.bytes : "");
        out->failed |= heads.failed;
        free(heads.bytes);
        for (int64_t k = 0; k < count; k++) {
            chart_put(out, "<tr>");
            put_row_cells(out, data, list[k].row);
            if (classes)
                put_name_cell(out, class_of(data, list[k].row));
            page_put_cell(out, list[k].value);
            if (novelty)
                chart_put(out, list[k].value > data->info.novelty_threshold ? "<td>novel</td>"
                                                                            : "<td>usual</td>");
            chart_put(out, "</tr>\n");
        }
        close_table(out);
    }
    free(list);
}

/* By how much the wrong class won, or how far a prediction is off. */
static double miss_of(const chart_data *data, int64_t row)
{
    const int64_t o = data->info.head_outputs;
    const double *scores = data->scores + row * o;
    if (data->info.head_kind != MERCER_TARGET_CLASSES)
        return fabs(scores[0] - mercer_targets_values(data->targets)[row * o]);
    if (!page_is_wrong(data, row))
        return NAN;
    const int64_t code = data->predicted[row];
    const char *truth = class_of(data, row);
    for (int64_t k = 0; k < o && code != MERCER_NO_CLASS; k++)
        if (strcmp(mercer_model_output_name(data->model, k), truth) == 0)
            return scores[code] - scores[k];
    return 0; /* undecided, or a class that the head does not know */
}

void page_put_wrong_rows(chart_text *out, const chart_data *data)
{
    const page_judgement judged = page_judge(data);
    if (!judged.known || (judged.classes && judged.wrong == 0))
        return;
    const bool ids = mercer_table_id_name(data->table);
    int64_t count, all;
    listed *list = list_rows(out, data, miss_of, &count, &all);
    chart_text heads = {0}, name = {0};
    chart_put(&heads, ">row");
    if (ids)
        add_head(&heads, mercer_table_id_name(data->table));
    chart_put(&heads,
              judged.classes ? "|class|predicted|>margin" : "|>value|>predicted|>difference");
    if (judged.classes && all > count)
        chart_putf(&name, "%lld of %lld rows in the wrong class, the clearest first",
                   (long long)count, (long long)all);
    else
        chart_put(&name, judged.classes ? "Rows in the wrong class, the clearest first"
                                        : "The largest differences");
    open_table(out, name.bytes ? name.bytes : "", heads.bytes ? heads.bytes : "");
    out->failed |= heads.failed || name.failed;
    free(heads.bytes);
    free(name.bytes);
    for (int64_t k = 0; k < count; k++) {
        const int64_t row = list[k].row, o = data->info.head_outputs;
        chart_put(out, "<tr>");
        put_row_cells(out, data, row);
        if (judged.classes) {
            const int64_t code = data->predicted[row];
            put_name_cell(out, class_of(data, row));
            put_name_cell(out, code == MERCER_NO_CLASS
                                   ? "none"
                                   : mercer_model_output_name(data->model, code));
        } else {
            page_put_cell(out, mercer_targets_values(data->targets)[row * o]);
            page_put_cell(out, data->scores[row * o]);
        }
        page_put_cell(out, list[k].value);
        chart_put(out, "</tr>\n");
    }
    close_table(out);
    free(list);
}

void page_put_selection(chart_text *out, const mercer_model_info *info, const chart_data *data)
{
    if (info->selected_count == 0)
        return;
    const bool known = data && data->training;
    const bool ids = known && mercer_table_id_name(data->table);
    const bool classes = known && has_classes(data);
    chart_text heads = {0};
    chart_put(&heads, ">place|>row");
    if (ids)
        add_head(&heads, mercer_table_id_name(data->table));
    chart_put(&heads, classes ? "|class" : "");
    chart_put(&heads, info->selection ? "|>score|>residual|>error left|>captured" : "");
    open_table(out, "In the order of selection", heads.bytes ? heads.bytes : "");
    out->failed |= heads.failed;
    free(heads.bytes);
    for (int64_t k = 0; k < info->selected_count && k < MAX_ROWS; k++) {
        const int64_t row = info->selected[k];
        chart_putf(out, "<tr><td class=\"n\">%lld</td>", (long long)k + 1);
        if (known)
            put_row_cells(out, data, row);
        else
            chart_putf(out, "<td class=\"n\">%lld</td>", (long long)row);
        if (classes)
            put_name_cell(out, class_of(data, row));
        for (int c = 0; info->selection && c < MERCER_SELECTION_COLUMNS; c++)
            page_put_cell(out, info->selection[k * MERCER_SELECTION_COLUMNS + c]);
        chart_put(out, "</tr>\n");
    }
    close_table(out);
    if (info->selected_count > MAX_ROWS)
        chart_putf(out, "<p class=\"note\">The first %d of %lld.</p>\n", MAX_ROWS,
                   (long long)info->selected_count);
}

/* ---- columns ---- */

/* What is known of a column after two passes over the rows. */
typedef struct column {
    int64_t index, bins[BINS];
    double low, high, mean, spread; /* spread: the sum of squares about the mean */
    double product[TOLD];           /* with the first features, about the means */
    double worth;                   /* the largest correlation of them */
} column;

static int by_worth(const void *a, const void *b)
{
    const column *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth < y->worth ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_index(const void *a, const void *b)
{
    const column *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Means and ranges first, what hangs on them second. */
static void measure(const chart_data *data, const mercer_rows *rows, int64_t told, double *block,
                    int64_t size, column *c, double *mean, double *square)
{
    const int64_t n = data->rows, d = mercer_rows_columns(rows), l = data->info.components;
    for (int64_t j = 0; j < d; j++)
        c[j] = (column){.index = j, .low = INFINITY, .high = -INFINITY};
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t first = 0; first < n; first += size) {
            const int64_t count = n - first < size ? n - first : size;
            mercer_rows_copy(rows, first, count, block);
            for (int64_t i = 0; i < count; i++) {
                const double *x = block + i * d, *f = data->features + (first + i) * l;
                for (int64_t t = 0; t < told; t++) {
                    if (pass)
                        square[t] += (f[t] - mean[t]) * (f[t] - mean[t]);
                    else
                        mean[t] += f[t] / (double)n;
                }
                for (int64_t j = 0; j < d; j++) {
                    if (pass == 0) {
                        c[j].low = fmin(c[j].low, x[j]);
                        c[j].high = fmax(c[j].high, x[j]);
                        c[j].mean += x[j] / (double)n;
                        continue;
                    }
                    const double off = x[j] - c[j].mean;
                    const int bin = (int)(chart_share(x[j], c[j].low, c[j].high) * BINS);
                    c[j].bins[bin < BINS ? bin : BINS - 1]++;
                    c[j].spread += off * off;
                    for (int64_t t = 0; t < told; t++)
                        c[j].product[t] += off * (f[t] - mean[t]);
                }
            }
        }
    }
    for (int64_t j = 0; j < d; j++)
        for (int64_t t = 0; t < told; t++) {
            const double scale = sqrt(c[j].spread) * sqrt(square[t]);
            c[j].product[t] = scale > 0 && isfinite(scale) ? c[j].product[t] / scale : NAN;
            c[j].worth = fmax(c[j].worth, fabs(c[j].product[t]));
        }
}

/* How the values of a column lie, in a row of bars. */
static void put_bars(chart_text *out, const column *c)
{
    int64_t most = 1;
    for (int b = 0; b < BINS; b++)
        most = c->bins[b] > most ? c->bins[b] : most;
    chart_putf(
        out, "<td><svg class=\"spark\" width=\"%d\" height=\"20\" aria-hidden=\"true\"><path d=\"",
        4 * BINS);
    for (int b = 0; b < BINS; b++) {
        const int height = c->bins[b] ? 1 + (int)(19 * c->bins[b] / most) : 0;
        if (height)
            chart_putf(out, "M%d 20v-%dh3v%dz", 4 * b, height, height);
    }
    chart_put(out, "\"/></svg></td>");
}

static void put_column_row(chart_text *out, const mercer_rows *rows, const column *c, int64_t n,
                           int64_t told)
{
    const char *name = mercer_rows_name(rows, c->index);
    chart_put(out, "<tr><th scope=\"row\" class=\"t\">");
    if (name)
        page_put_text(out, name);
    else
        chart_putf(out, "column %lld", (long long)c->index + 1);
    chart_put(out, "</th>");
    put_bars(out, c);
    page_put_cell(out, c->low);
    page_put_cell(out, c->mean);
    page_put_cell(out, c->high);
    page_put_cell(out, sqrt(c->spread / (double)n));
    for (int64_t t = 0; t < told; t++) {
        chart_put(out, "<td class=\"n\">");
        if (isnan(c->product[t]))
            chart_put(out, c->high > c->low ? "" : "constant");
        else
            chart_putf(out, "%s0.%02d", c->product[t] < 0 ? "\xe2\x88\x92" : "",
                       (int)fmin(99, round(100 * fabs(c->product[t]))));
        chart_put(out, "</td>");
    }
    chart_put(out, "</tr>\n");
}

void page_put_columns(chart_text *out, const chart_data *data)
{
    const mercer_rows *rows = mercer_table_rows(data->table);
    const int64_t d = mercer_rows_columns(rows), n = data->rows;
    const int64_t told = data->info.components < TOLD ? data->info.components : TOLD;
    const int64_t size = d ? 1 + 200000 / d : 1;
    if (d == 0 || d > WIDEST || n == 0) {
        chart_put(out, "<p>");
        chart_put_count(out, d);
        chart_put(out, " columns are too many to list.</p>\n");
        return;
    }
    column *columns = calloc((size_t)d, sizeof *columns);
    double *block = malloc((size_t)(size * d) * sizeof *block), mean[TOLD] = {0},
           square[TOLD] = {0};
    if (!columns || !block) {
        free(out->bytes);
        *out = (chart_text){.failed = true};
        free(columns);
        free(block);
        return;
    }
    measure(data, rows, told, block, size, columns, mean, square);
    const int64_t shown = d < MAX_COLUMNS ? d : MAX_COLUMNS;
    if (shown < d) {
        qsort(columns, (size_t)d, sizeof *columns, by_worth);
        qsort(columns, (size_t)shown, sizeof *columns, by_index);
        chart_putf(out, "<p>%lld of ", (long long)shown);
        chart_put_count(out, d);
        chart_put(out, " columns: those that go most with the first features.</p>\n");
    }
    chart_text heads = {0};
    chart_put(&heads, "column|values|>least|>mean|>most|>SD");
    for (int64_t t = 0; t < told; t++)
        chart_putf(&heads, "|>with f%lld", (long long)t + 1);
    open_table(out, "Columns, and the correlation of each with the first features",
               heads.bytes ? heads.bytes : "");
    out->failed |= heads.failed;
    free(heads.bytes);
    for (int64_t j = 0; j < shown; j++)
        put_column_row(out, rows, &columns[j], n, told);
    close_table(out);
    free(columns);
    free(block);
}

/* ---- evaluations ---- */

static void put_folds(chart_text *out, const chart_entrant *e, const mercer_evaluation_info *info)
{
    chart_put(out, "<details><summary>Folds");
    if (e->name) {
        chart_put(out, " of ");
        page_put_text(out, e->name);
    }
    chart_put(out, "</summary>\n");
    open_table(out, "Folds", ">fold|>rows|>value|>features|settings");
    for (int64_t f = 0; f < info->folds && f < MAX_COLUMNS; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(e->evaluation, f, &fold);
        chart_putf(out, "<tr><td class=\"n\">%lld</td><td class=\"n\">%lld</td>", (long long)f + 1,
                   (long long)fold.rows);
        page_put_cell(out, fold.value);
        chart_putf(out, "<td class=\"n\">%lld</td>", (long long)fold.components);
        put_name_cell(out, fold.chosen);
        chart_put(out, "</tr>\n");
    }
    close_table(out);
    chart_put(out, "</details>\n");
}

void page_put_evaluations(chart_text *out, const chart_subject *subject)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_get_info(subject->entrants[0].evaluation, &info);
    chart_put(out, "<p>Metric: ");
    page_put_text(out, info.metric);
    chart_put(out, ", ");
    page_put_text(out, info.summary);
    chart_put(out,
              info.larger_is_better ? "; larger is better.</p>\n" : "; smaller is better.</p>\n");
    open_table(out, "Values on rows held out", "method|>mean|>SD|>folds|>choices tried");
    for (int64_t k = 0; k < subject->entrant_count; k++) {
        const chart_entrant *e = &subject->entrants[k];
        mercer_evaluation_get_info(e->evaluation, &info);
        chart_put(out, "<tr><th scope=\"row\" class=\"t\">");
        page_put_text(out, e->name ? e->name : e->method);
        chart_put(out, "</th>");
        page_put_cell(out, info.mean);
        page_put_cell(out, info.sd);
        chart_putf(out, "<td class=\"n\">%lld</td><td class=\"n\">%lld</td></tr>\n",
                   (long long)info.folds, (long long)info.choices);
    }
    close_table(out);
    for (int64_t k = 0; k < subject->entrant_count; k++) {
        mercer_evaluation_get_info(subject->entrants[k].evaluation, &info);
        if (info.folds > 1)
            put_folds(out, &subject->entrants[k], &info);
    }
}
