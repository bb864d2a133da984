/* SPDX-License-Identifier: BSD-3-Clause */
/* The page itself: sections in the order in which a reader asks. Sections that have nothing to say
 * are left out, and the list of sections at the top has those that are there. */
#include "page_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SECTIONS = 16 };

typedef struct page {
    const chart_subject *subject;
    const page_options *options;
    mercer_model_info info; /* zero without a model */
    const chart_data *data; /* NULL: no rows */
    chart_text body;
    struct {
        const char *id, *title;
    } sections[MAX_SECTIONS];
    int section_count, picture_count;
    int64_t max_points;
    mercer_status rc; /* the first that failed: nothing is drawn after it */
    mercer_error *err;
} page;

static void open_section(page *p, const char *id, const char *title)
{
    if (p->section_count < MAX_SECTIONS) {
        p->sections[p->section_count].id = id;
        p->sections[p->section_count++].title = title;
    }
    chart_putf(&p->body,
               "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
               id, id, id, title);
}

static void close_section(page *p)
{
    chart_put(&p->body, "</section>\n");
}

/* A picture of some kind for put_picture(); NULL where there can be none. */
static chart *picture_of(page *p, const char *kind)
{
    chart *picture = NULL;
    if (p->rc != MERCER_OK)
        return NULL;
    p->rc = chart_make(p->subject, kind, &picture, p->err);
    if (p->rc == MERCER_ERR_UNSUPPORTED)
        p->rc = MERCER_OK;
    return picture;
}

/* Put it into the page and free it. */
static void put_picture(page *p, chart *picture)
{
    char *svg = NULL, prefix[16];
    size_t size = 0;
    if (!picture)
        return;
    snprintf(prefix, sizeof prefix, "p%d", ++p->picture_count);
    free(picture->subtitle); /* the page says at its top what was fitted */
    picture->subtitle = NULL;
    if (p->rc == MERCER_OK)
        p->rc = chart_svg(picture, &(chart_svg_options){.prefix = prefix, .inline_page = true},
                          &svg, &size, p->err);
    if (p->rc == MERCER_OK) {
        chart_put(&p->body, "<figure class=\"wide\" tabindex=\"0\">\n");
        chart_put_bytes(&p->body, svg, size);
        chart_put(&p->body, "\n</figure>\n");
    }
    free(svg);
    chart_free(picture);
}

/* ---- what was fitted ---- */

static void put_fact(page *p, const char *name, const char *text)
{
    chart_putf(&p->body, "<dt>%s</dt><dd>", name);
    page_put_text(&p->body, text);
    chart_put(&p->body, "</dd>\n");
}

static void put_count_fact(page *p, const char *name, int64_t count, const char *unit)
{
    chart_putf(&p->body, "<dt>%s</dt><dd>", name);
    chart_put_count(&p->body, count);
    chart_putf(&p->body, "%s</dd>\n", unit);
}

static void put_number_fact(page *p, const char *name, double value)
{
    if (isnan(value))
        return;
    chart_putf(&p->body, "<dt>%s</dt><dd>", name);
    chart_put_number(&p->body, value, 5);
    chart_put(&p->body, "</dd>\n");
}

static void put_card(page *p, const char *name, double value, const char *unit)
{
    if (isnan(value))
        return;
    chart_putf(&p->body, "<div><dt>%s</dt><dd>", name);
    if (value == floor(value) && fabs(value) < 1e15 && !*unit)
        chart_put_count(&p->body, (int64_t)value);
    else
        chart_put_number(&p->body, value, 3);
    chart_putf(&p->body, "%s</dd></div>\n", unit);
}

static void put_cards(page *p)
{
    const page_judgement judged = page_judge(p->data);
    chart_put(&p->body, "<dl class=\"cards\">\n");
    put_card(p, "training rows", (double)p->info.rows, "");
    put_card(p, "columns", (double)p->info.columns, "");
    put_card(p, "features", (double)p->info.components, "");
    put_card(p, "variance kept", 100 * page_captured(&p->info), " %");
    if (p->data && !p->data->training)
        put_card(p, "rows in this report", (double)p->data->rows, "");
    if (judged.known)
        put_card(p, judged.classes ? "in the wrong class" : "RMSE of predictions",
                 judged.classes ? 100 * judged.error : judged.error, judged.classes ? " %" : "");
    if (p->data && p->data->errors && p->info.novelty_share > 0) {
        int64_t novel = 0;
        for (int64_t i = 0; i < p->data->rows; i++)
            novel += p->data->errors[i] > p->info.novelty_threshold;
        put_card(p, "novel rows", (double)novel, "");
    }
    chart_put(&p->body, "</dl>\n");
}

static void put_notices(page *p)
{
    if (!p->options->notice_count)
        return;
    chart_put(&p->body, "<h3>What to know</h3>\n<ul class=\"notices\">\n");
    for (int64_t i = 0; i < p->options->notice_count; i++) {
        chart_put(&p->body, "<li>");
        page_put_text(&p->body, p->options->notices[i]);
        chart_put(&p->body, "</li>\n");
    }
    chart_put(&p->body, "</ul>\n");
}

static void put_command(page *p, const char *what, const char *line)
{
    chart_put(&p->body, "<p>");
    page_put_text(&p->body, what);
    chart_put(&p->body, "</p>\n<div class=\"command\"><pre>");
    page_put_text(&p->body, line);
    chart_put(&p->body, "</pre></div>\n");
}

static void put_summary(page *p)
{
    const mercer_model_info *info = &p->info;
    open_section(p, "summary", "What was fitted");
    put_cards(p);
    chart_put(&p->body, "<dl class=\"facts\">\n");
    put_fact(p, "method", info->method);
    put_fact(p, "kernel", info->kernel);
    put_fact(p, "centring", info->center);
    put_fact(p, "scaling of columns", info->scale);
    if (info->image_features) {
        chart_putf(&p->body, "<dt>images</dt><dd>%lld x %lld pixels, %s; features: ",
                   (long long)info->image_width, (long long)info->image_height,
                   info->image_channels == 1 ? "grey" : "colour");
        page_put_text(&p->body, info->image_features);
        chart_put(&p->body, "</dd>\n");
    }
    if (strcmp(info->encode, "none") != 0)
        put_fact(p, "text columns", info->encode);
    if (strcmp(info->missing, "error") != 0)
        put_fact(p, "missing values", info->missing);
    put_count_fact(p, "rows stored", info->expansion_points,
                   info->expansion_points ? "" : ": the linear map is kept instead");
    put_number_fact(p, "reconstruction error", info->reconstruction_error);
    put_number_fact(p, "total variance", info->total_variance);
    if (info->head)
        put_fact(p, "head", info->head);
    if (info->label_column)
        put_fact(p, "label column", info->label_column);
    if (info->novelty_share > 0)
        put_number_fact(p, "novelty threshold", info->novelty_threshold);
    if (info->version && *info->version) {
        chart_put(&p->body, "<dt>made by</dt><dd>mercer ");
        page_put_text(&p->body, info->version);
        chart_putf(&p->body, ", seed %llu</dd>\n", (unsigned long long)info->seed);
    }
    if (info->data_hash && *info->data_hash)
        put_fact(p, "hash of the data", info->data_hash);
    chart_put(&p->body, "</dl>\n");
    put_notices(p);
    if (info->command && *info->command)
        put_command(p, "The command that fitted it:", info->command);
    close_section(p);
}

/* ---- rows ---- */

/* What the script fills in and brings to life. */
static const char live_map[] =
    "<div class=\"live\" id=\"map-live\">\n"
    "<div class=\"tools\">\n"
    "<label>across <select name=\"x\"></select></label>\n"
    "<label>up <select name=\"y\"></select></label>\n"
    "<label>colour <select name=\"paint\"></select></label>\n"
    "<span class=\"gap\"></span>\n"
    "<button type=\"button\" data-do=\"lasso\" aria-pressed=\"false\">lasso</button>\n"
    "<button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>\n"
    "<button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">\xe2\x88\x92</button>\n"
    "<button type=\"button\" data-do=\"all\">show all</button>\n"
    "</div>\n"
    "<div class=\"stage\"><canvas class=\"back\" aria-hidden=\"true\"></canvas><canvas "
    "class=\"front\" "
    "tabindex=\"0\" role=\"application\" aria-label=\"Map of the rows\" "
    "aria-describedby=\"map-keys\"></canvas><div class=\"tip\" aria-hidden=\"true\" "
    "hidden></div></div>\n"
    "<ul class=\"key\" aria-label=\"Classes; press one to hide it\"></ul>\n"
    "<p class=\"said\" role=\"status\"></p>\n"
    "<div class=\"chosen\" hidden><h3>Rows chosen</h3>\n"
    "<table><thead><tr><th scope=\"col\">class</th><th scope=\"col\" class=\"n\">chosen</th>"
    "<th scope=\"col\" class=\"n\">of the class</th></tr></thead><tbody></tbody></table>\n"
    "<div class=\"tools\"><span class=\"names\"><label><input type=\"radio\" name=\"names\" "
    "value=\"rows\" checked> row numbers, from 0</label> <label><input type=\"radio\" "
    "name=\"names\" value=\"ids\"> ids</label></span>\n"
    "<button type=\"button\" data-do=\"copy\">copy</button> <button type=\"button\" "
    "data-do=\"clear\">clear</button></div>\n"
    "<textarea readonly aria-label=\"Rows chosen, one per line\"></textarea></div>\n"
    "<p class=\"note\" id=\"map-keys\">Drag to move; wheel (after a click), + and \xe2\x88\x92 "
    "zoom, 0 "
    "shows all. Shift and drag, or the button, draws a lasso around rows to choose them. Keys: "
    "arrows "
    "move, full stop and comma go from row to row, Enter chooses the row, Escape chooses "
    "none.</p>\n"
    "</div>\n";

/* What the map does not know of its rows, since a page of very many stays small. */
static void put_left_out(chart_text *out, page_left_out left, int64_t rows)
{
    if (!left.ids && !left.columns)
        return;
    chart_put(out, " <strong>This file has no room for ");
    if (left.ids)
        chart_put(out, "ids");
    if (left.columns)
        chart_putf(out, "%s%lld more columns (errors, predictions, further features)",
                   left.ids ? " and " : "", (long long)left.columns);
    chart_put(out, " of ");
    chart_put_count(out, rows);
    chart_putf(out, " rows%s.</strong>",
               left.ids ? ": the map names rows by their numbers, from 0" : "");
}

static void put_map(page *p)
{
    const chart_data *data = p->data;
    chart_text points = {0};
    const page_left_out left = page_put_points(&points, data, p->max_points);
    open_section(p, "map", "Map of the rows");
    chart_put(&p->body, "<p>Each point is a row of ");
    page_put_text(&p->body, p->options->data_name ? p->options->data_name : "the table");
    chart_put(&p->body, ", where its features are. Rows that lie together are alike to the model.");
    if (data->rows > p->max_points) {
        chart_put(&p->body, " <strong>");
        chart_put_count(&p->body, p->max_points);
        chart_put(&p->body, " of ");
        chart_put_count(&p->body, data->rows);
        chart_put(&p->body, " rows can be explored here, one of each stretch of the table; the "
                            "other numbers of this page are of all rows.</strong>");
    }
    put_left_out(&p->body, left, data->rows < p->max_points ? data->rows : p->max_points);
    chart_put(&p->body, "<span class=\"some\"></span></p>\n<div class=\"still\">\n");
    put_picture(p, picture_of(p, "features"));
    chart_put(&p->body, "</div>\n");
    chart_put(&p->body, live_map);
    chart_put(&p->body, "<script type=\"application/json\" id=\"points\">\n");
    if (points.bytes)
        chart_put_bytes(&p->body, points.bytes, points.size);
    p->body.failed |= points.failed;
    free(points.bytes);
    chart_put(&p->body, "\n</script>\n");
    close_section(p);
}

static bool explores(const page *p)
{
    return p->options->explore_before && page_can_explore(p->data);
}

static void put_explorer(page *p)
{
    if (!explores(p) || p->rc != MERCER_OK)
        return;
    open_section(p, "explore", "Explorer");
    p->rc = page_put_explorer(p->subject, p->options, &p->body, p->err);
    close_section(p);
}

static void put_spectrum(page *p)
{
    chart *picture = picture_of(p, "spectrum");
    if (!picture)
        return;
    open_section(p, "spectrum", "Spectrum");
    chart_put(&p->body, "<p>How much each feature carries. Where the bars level out, further "
                        "features tell little of the data.</p>\n");
    put_picture(p, picture);
    page_put_spectrum(&p->body, &p->info);
    close_section(p);
}

static void put_odd_rows(page *p)
{
    if (!p->data || !p->data->errors)
        return;
    open_section(p, "odd", "Unusual rows");
    chart_put(&p->body, "<p>The reconstruction error of a row is what its features leave out. Rows "
                        "of large errors are unlike those that the model was fitted to. Row "
                        "numbers count from 0.</p>\n");
    put_picture(p, picture_of(p, "errors"));
    page_put_odd_rows(&p->body, p->data);
    close_section(p);
}

/* Whether there is something to rank: rows, or evaluations of two classes. */
static bool has_ranking(const page *p)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    if (!p->subject->entrant_count)
        return true;
    mercer_evaluation_get_info(p->subject->entrants[0].evaluation, &info);
    return info.kind == MERCER_TARGET_CLASSES && info.positive;
}

static void put_predictions(page *p)
{
    static const char *const kinds[] = {"confusion", "roc", "head"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const page_judgement judged = page_judge(p->data);
    const bool unlabelled =
        p->data &&
        (!p->data->targets || mercer_targets_kind(p->data->targets) != MERCER_TARGET_CLASSES);
    chart *pictures[KINDS];
    bool any = judged.known;
    for (int i = 0; i < KINDS; i++) {
        const bool ranks = strcmp(kinds[i], "roc") == 0;
        const bool left_out = (ranks && !has_ranking(p)) ||
                              (unlabelled && (ranks || strcmp(kinds[i], "confusion") == 0));
        pictures[i] = left_out ? NULL : picture_of(p, kinds[i]);
        any |= pictures[i] != NULL;
    }
    if (!any)
        return;
    open_section(p, "predictions", "Predictions");
    if (judged.known && p->data->training)
        chart_put(&p->body, "<p>These are of the rows that the model has learnt from: on new rows "
                            "it is worse. <code>mercer evaluate</code> tells by how much.</p>\n");
    chart_put(&p->body, "<div class=\"pair\">\n");
    for (int i = 0; i < KINDS; i++)
        put_picture(p, pictures[i]);
    if (judged.known)
        page_put_wrong_rows(&p->body, p->data);
    chart_put(&p->body, "</div>\n");
    close_section(p);
}

static void put_selection(page *p)
{
    if (!p->info.selected_count)
        return;
    open_section(p, "selection", "Selected rows");
    chart_put(&p->body, "<p>The method has built its features on these rows of the training table. "
                        "Row numbers count from 0.</p>\n");
    put_picture(p, picture_of(p, "selection"));
    page_put_selection(&p->body, &p->info, p->data);
    close_section(p);
}

/* A section that is one picture. */
static void put_plain(page *p, const char *kind, const char *title, const char *words)
{
    chart *picture = picture_of(p, kind);
    if (!picture)
        return;
    open_section(p, kind, title);
    chart_putf(&p->body, "<p>%s</p>\n", words);
    put_picture(p, picture);
    close_section(p);
}

static void put_columns(page *p)
{
    if (!p->data || p->info.image_features || p->info.precomputed) /* pixels, or kernel values */
        return;
    open_section(p, "columns", "Columns of the table");
    page_put_columns(&p->body, p->data);
    close_section(p);
}

static void put_commands(page *p)
{
    if (!p->options->command_count)
        return;
    open_section(p, "next", "To go on");
    for (int64_t i = 0; i < p->options->command_count; i++)
        put_command(p, p->options->commands[i].what, p->options->commands[i].line);
    close_section(p);
}

static void put_evaluations(page *p)
{
    open_section(p, "evaluation", "On rows held out");
    if (!p->subject->model)
        put_notices(p);
    page_put_evaluations(&p->body, p->subject);
    put_picture(p, picture_of(p, "folds"));
    close_section(p);
}

static void put_body(page *p)
{
    if (p->subject->model)
        put_summary(p);
    if (p->subject->entrant_count)
        put_evaluations(p);
    if (p->data)
        put_map(p);
    put_spectrum(p);
    put_odd_rows(p);
    put_selection(p);
    put_predictions(p);
    put_explorer(p);
    put_plain(p, "tuning", "Tuning",
              "What was tried, and how good each was within the training rows.");
    put_plain(
        p, "importance", "Columns that matter",
        "By how much predictions get worse when the values of a column are exchanged among the "
        "rows held out; without predictions, by how much the reconstruction error rises.");
    put_plain(p, "trace", "The search for the features", "Step by step.");
    put_plain(p, "preimages", "What the features keep",
              "Rows, and below each what can be seen of it in its features only.");
    put_columns(p);
    put_commands(p);
}

/* ---- around it ---- */

static void put_title(page *p, chart_text *out)
{
    const char *name = p->options->data_name ? p->options->data_name : p->options->name;
    page_put_text(out, name ? name : "Mercer");
    if (p->subject->model) {
        chart_putf(out, ": %lld feature%s by ", (long long)p->info.components,
                   p->info.components == 1 ? "" : "s");
        chart_text method = {0}; /* of a file, which may say anything */
        chart_put_bytes(&method, p->info.method, strcspn(p->info.method, ":"));
        page_put_text(out, method.bytes ? method.bytes : "");
        out->failed |= method.failed;
        free(method.bytes);
    } else if (p->subject->entrant_count == 1) {
        chart_put(out, ": ");
        chart_put_name(out, p->subject->entrants[0].method, 60, true);
        chart_put(out, " on rows held out");
    } else
        chart_putf(out, ": %lld methods compared", (long long)p->subject->entrant_count);
}

static void put_lead(page *p, chart_text *out)
{
    chart_put(out, "<p class=\"lead\">");
    if (p->subject->model) {
        chart_put(out, "Kernel ");
        page_put_text(out, p->info.kernel);
        chart_put(out, ", learnt from ");
        chart_put_count(out, p->info.rows);
        chart_put(out, p->info.rows == 1 ? " row of " : " rows of ");
        chart_put_count(out, p->info.columns);
        chart_put(out, p->info.columns == 1 ? " column" : " columns");
        if (p->options->name) {
            chart_put(out, "; model ");
            page_put_text(out, p->options->name);
        }
        chart_put(out, ".");
    } else
        chart_put(out, "Every method learns from a part of the rows and is judged by the others.");
    chart_put(out, "</p>\n");
}

static void put_page(page *p, chart_text *out)
{
    chart_text style = {0};
    chart_put(&style, page_style);
    chart_put(&style, chart_svg_style());
    chart_put(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "script-src 'sha256-");
    page_put_hash(out, page_script, strlen(page_script));
    if (explores(p)) {
        chart_put(out, "' 'sha256-");
        page_put_hash(out, page_explore_script, strlen(page_explore_script));
        chart_put(out, "'; worker-src blob:");
    } else
        chart_put(out, "'");
    chart_put(out, "; style-src 'sha256-");
    page_put_hash(out, style.bytes ? style.bytes : "", style.size);
    chart_put(out, "'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"generator\" content=\"mercer ");
    page_put_text(out, mercer_version());
    chart_put(out, "\">\n<title>");
    put_title(p, out);
    chart_put(out, "</title>\n<style>");
    chart_put(out, style.bytes ? style.bytes : "");
    chart_put(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
    put_title(p, out);
    chart_put(out, "</h1>\n");
    put_lead(p, out);
    chart_put(out, "</header>\n<nav aria-label=\"Sections\"><ul>\n");
    for (int i = 0; i < p->section_count; i++)
        chart_putf(out, "<li><a href=\"#%s\">%s</a></li>\n", p->sections[i].id,
                   p->sections[i].title);
    chart_put(out, "</ul></nav>\n<main>\n");
    if (p->body.bytes)
        chart_put_bytes(out, p->body.bytes, p->body.size);
    chart_put(out, "</main>\n<footer>Written by mercer ");
    page_put_text(out, mercer_version());
    chart_put(out,
              ". This file holds all that it shows and asks for nothing from elsewhere.</footer>\n"
              "<script>");
    chart_put(out, page_script);
    if (explores(p)) {
        chart_put(out, "</script>\n<script>");
        chart_put(out, page_explore_script);
    }
    chart_put(out, "</script>\n</body>\n</html>\n");
    out->failed |= style.failed || p->body.failed;
    free(style.bytes);
}

mercer_status page_html(const chart_subject *subject, const page_options *options, char **out,
                        size_t *size, mercer_error *err)
{
    page p = {.subject = subject,
              .options = options,
              .info = {.struct_size = sizeof p.info},
              .data = subject->data,
              .max_points = options->max_points ? options->max_points : PAGE_MAX_POINTS,
              .err = err};
    chart_text text = {0};
    *out = NULL;
    if (subject->model)
        mercer_model_get_info(subject->model, &p.info);
    put_body(&p);
    if (p.rc == MERCER_OK) {
        put_page(&p, &text);
        if (text.failed)
            p.rc = chart_fail(err, MERCER_ERR_MEMORY, "out of memory for the page");
    }
    free(p.body.bytes);
    if (p.rc != MERCER_OK) {
        free(text.bytes);
        return p.rc;
    }
    if (size)
        *size = text.size;
    *out = text.bytes;
    return MERCER_OK;
}
