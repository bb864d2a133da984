/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the page share. Inside report/ only. */
#ifndef REPORT_PAGE_PARTS_H
#define REPORT_PAGE_PARTS_H

#include "draw.h"
#include "page.h"

/* Embedded by report/page_embed.py. */
extern const char page_style[], page_script[], page_explore_script[];

/* ---- page_bytes.c ---- */

/* The sha256 of a text as base64, as a policy names it. */
void page_put_hash(chart_text *out, const char *text, size_t size);
/* A text of the user's as a JSON string that may stand in a script element. */
void page_put_json(chart_text *out, const char *text);
/* A number as JSON: one that reads back to the same bits. */
void page_put_real(chart_text *out, double value);
/* A text of the user's in a page, whole. */
void page_put_text(chart_text *out, const char *text);
/* A cell of a table: a number with four digits, or nothing for NaN. */
void page_put_cell(chart_text *out, double value);

/* ---- page_points.c ---- */

enum { PAGE_MAX_CLASSES = 255 }; /* the last stands for all others where there are more */

/* Which of n rows is number i of a sample of `count`: one of each stretch, at places that follow
 * the golden section, because equal steps would show one phase of rows with a period. The script
 * does the same. */
int64_t page_sampled(int64_t n, int64_t count, int64_t i);

/* What a page of many rows has no room for. */
typedef struct page_left_out {
    bool ids;
    int64_t columns; /* errors, predictions, features past the second, ... */
} page_left_out;

/* The points of the map as JSON. */
page_left_out page_put_points(chart_text *out, const chart_data *data, int64_t most);

/* ---- page_explore.c ---- */

/* Whether the rows can be explored: there are some, of not too many columns. */
bool page_can_explore(const chart_data *data);
mercer_status page_put_explorer(const chart_subject *subject, const page_options *options,
                                chart_text *out, mercer_error *err);

/* ---- page_tables.c ---- */

/* Tables of a section each; nothing where there is nothing to list. */
void page_put_columns(chart_text *out, const chart_data *data);
void page_put_spectrum(chart_text *out, const mercer_model_info *info);
void page_put_selection(chart_text *out, const mercer_model_info *info, const chart_data *data);
void page_put_odd_rows(chart_text *out, const chart_data *data);
void page_put_wrong_rows(chart_text *out, const chart_data *data);
void page_put_evaluations(chart_text *out, const chart_subject *subject);

/* What the rows are said to be, and what the head says of them: rows in the wrong class, or the
 * root mean square of what is between values. */
typedef struct page_judgement {
    bool known, classes;
    int64_t wrong;
    double error;
} page_judgement;
page_judgement page_judge(const chart_data *data);
/* Whether the head predicts another class than the table has; both must be known. */
bool page_is_wrong(const chart_data *data, int64_t row);
/* The share of the variance that the features keep; NaN: not known. */
double page_captured(const mercer_model_info *info);

#endif
