/* SPDX-License-Identifier: BSD-3-Clause */
/* A page to send to a colleague: one HTML file with everything that is known of a model, of rows
 * and of evaluations. It asks for nothing from elsewhere, its policy allows nothing else, and it is
 * whole without its script, which adds a map of the rows. The same subject gives the same bytes.
 *
 * Like the charts it never prints or exits. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "chart.h"

/* Something to type, and what for. */
typedef struct page_command {
    const char *what, *line;
} page_command;

/* All borrowed; every member may be 0. */
typedef struct page_options {
    const char *name;           /* of the model or the table: the page's title */
    const char *data_name;      /* of the table that the rows are from */
    const char *const *notices; /* what was said on the way */
    int64_t notice_count;
    const page_command *commands;
    int64_t command_count;
    /* With an explorer, which holds up to 2000 rows in full: what stands before and after kernel
     * and number of features in the command that it ends in. NULL: without. */
    const char *explore_before, *explore_after;
    int64_t max_points; /* of the map; 0: PAGE_MAX_POINTS. Of more rows every k-th is there */
} page_options;

enum { PAGE_MAX_POINTS = 200000 };

/* The page about a subject, which has a model, evaluations or both. *out is the caller's to free();
 * size, unless NULL, is its length. */
mercer_status page_html(const chart_subject *subject, const page_options *options, char **out,
                        size_t *size, mercer_error *err);

#endif
