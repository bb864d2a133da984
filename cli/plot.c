/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures into files or the terminal, and bars of tables in eighths. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int cli_check_picture(const char *command, const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (!path)
        return CLI_DONE;
    if (strcmp(path, "-") != 0 && (!dot || strcasecmp(dot, ".svg") != 0))
        return cli_fail(CLI_WRONG_CALL, "%s: %s: a picture is written as SVG; name it FILE.svg",
                        command, path);
    return cli_check_output(path);
}

const char *cli_usual_kind(const chart_subject *subject)
{
    for (int i = 0; chart_kind_at(i); i++) {
        const chart_kind *kind = chart_kind_at(i);
        chart *picture = NULL;
        if (!(kind->of & CHART_OF_MODEL))
            continue;
        const mercer_status rc = chart_make(subject, kind->name, &picture, NULL);
        chart_free(picture);
        if (rc != MERCER_ERR_UNSUPPORTED) /* what else is wrong is told when it is drawn */
            return kind->name;
    }
    return subject->data ? "features" : NULL;
}

mercer_status cli_draw(cli_app *app, const chart_subject *subject, const char *kind,
                       const char *path, mercer_error *err)
{
    chart *picture = NULL;
    char *text = NULL;
    size_t size = 0;
    mercer_status rc = chart_make(subject, kind, &picture, err);
    if (rc == MERCER_OK && path)
        rc = chart_svg(picture, NULL, &text, &size, err);
    if (rc == MERCER_OK && path)
        rc = mercer_file_write(app->ctx, path, text, size, err);
    if (rc == MERCER_OK && !path)
        rc = chart_terminal(picture, cli_terminal_width(), cli_terminal_colour(), &text, err);
    cli_progress_clear();
    if (rc == MERCER_OK && !path)
        fputs(text, stdout);
    free(text);
    chart_free(picture);
    return rc;
}

mercer_status cli_draw_rows(cli_app *app, const chart_subject *subject, const char *data,
                            const char *kind, const char *path, mercer_error *err)
{
    chart_subject about = *subject;
    chart_data *rows = NULL;
    mercer_table *table = NULL;
    mercer_read_options reading;
    cli_read_options(&app->set, &reading);
    mercer_model_read_options(subject->model, &reading);
    mercer_status rc = mercer_table_read(app->ctx, data, &reading, &table, err);
    if (rc == MERCER_OK)
        rc = chart_data_new(app->ctx, subject->model, table, NULL, &rows, err);
    about.data = rows;
    if (rc == MERCER_OK)
        rc = cli_draw(app, &about, kind, path, err);
    chart_data_free(rows);
    mercer_table_free(table);
    return rc;
}

char *cli_bar(double share, int width)
{
    static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (!(share > 0))
        share = 0;
    if (share > 1)
        share = 1;
    const int eighths = (int)lround(share * 8 * width);
    char *bar = cli_alloc((size_t)width + 2, 4);
    size_t at = 0;
    for (int i = 0; i < eighths / 8; i++, at += 3)
        memcpy(bar + at, "█", 3);
    const char *rest = part[eighths % 8];
    memcpy(bar + at, rest, strlen(rest));
    at += strlen(rest);
    for (int i = (eighths + 7) / 8; i < width; i++)
        bar[at++] = ' ';
    return bar;
}
