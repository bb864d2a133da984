/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawings in the terminal: a scatter in braille dots (2 x 4 per character) and bars in eighths. */
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
    const char *first = NULL;
    for (int i = 0; chart_kind_at(i); i++) {
        const chart_kind *kind = chart_kind_at(i);
        chart *picture = NULL;
        if (!(kind->of & CHART_OF_MODEL))
            continue;
        first = first ? first : kind->name;
        const mercer_status rc = chart_make(subject, kind->name, &picture, NULL);
        chart_free(picture);
        if (rc == MERCER_OK)
            return kind->name;
    }
    return first;
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

typedef struct range {
    double low, high;
} range;

static void stretch(range *r, const double *x, int64_t count, int64_t stride)
{
    for (int64_t i = 0; i < count; i++) {
        const double value = x[i * stride];
        if (!isfinite(value))
            continue;
        r->low = value < r->low ? value : r->low;
        r->high = value > r->high ? value : r->high;
    }
}

static range range_of(const double *x, int64_t count, const double *marks, int64_t mark_count,
                      int64_t stride)
{
    range r = {INFINITY, -INFINITY};
    stretch(&r, x, count, stride);
    stretch(&r, marks, mark_count, stride);
    if (!(r.low <= r.high))
        r = (range){0, 1};
    if (r.high - r.low < 1e-300 + 1e-12 * fabs(r.high)) {
        const double half = r.high == 0 ? 0.5 : 0.5 * fabs(r.high);
        r.low -= half;
        r.high += half;
    }
    return r;
}

/* The dot of a value on a line of `dots` dots. */
static int place(double value, range r, int dots)
{
    const int at = (int)((value - r.low) / (r.high - r.low) * dots);
    return at < 0 ? 0 : at >= dots ? dots - 1 : at;
}

/* Give both axes as much room per unit; a braille dot is about as high as it is wide. */
static void make_square(range *x, range *y, int wide, int high)
{
    const double sx = (x->high - x->low) / wide;
    const double sy = (y->high - y->low) / high;
    range *narrow = sx < sy ? x : y;
    const double wanted = sx < sy ? sy * wide : sx * high;
    const double extra = (wanted - (narrow->high - narrow->low)) / 2;
    narrow->low -= extra;
    narrow->high += extra;
}

enum { LABEL = 8, FRAME = 2 };

static void put_frame(FILE *out, const char *left, const char *right, int wide)
{
    fprintf(out, "%*s%s", LABEL, "", left);
    for (int i = 0; i < wide; i++)
        fputs("─", out);
    fputs(right, out);
}

char **cli_plot_draw(const cli_plot *plot)
{
    /* Bits of the dots of a braille character by row and column of the dot. */
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    static const char *const colour[] = {"\033[0;36m", "\033[0;33m", "\033[1;31m"};
    const int wide = plot->width - LABEL - FRAME;
    const int high = plot->height - 4; /* title, two lines of the frame, labels of x */
    const size_t cells = (size_t)wide * (size_t)high;
    unsigned char *dots = cli_alloc(cells, 1);
    unsigned char *marked = cli_alloc(cells, 1);
    int *votes = cli_alloc(cells, sizeof *votes);

    range rx = range_of(plot->x, plot->count, plot->mark_x, plot->marks, plot->stride);
    range ry = range_of(plot->y, plot->count, plot->mark_y, plot->marks, plot->stride);
    if (plot->square)
        make_square(&rx, &ry, 2 * wide, 4 * high);
    for (int64_t i = 0; i < plot->count; i++) {
        const double x = plot->x[i * plot->stride], y = plot->y[i * plot->stride];
        if (!isfinite(x) || !isfinite(y))
            continue;
        const int px = place(x, rx, 2 * wide);
        const int py = 4 * high - 1 - place(y, ry, 4 * high);
        const size_t cell = (size_t)(py / 4) * (size_t)wide + (size_t)(px / 2);
        dots[cell] |= bit[py % 4][px % 2];
        if (plot->group)
            votes[cell] += plot->group[i] ? 1 : -1;
    }
    for (int64_t i = 0; i < plot->marks; i++) {
        const double x = plot->mark_x[i * plot->stride], y = plot->mark_y[i * plot->stride];
        if (!isfinite(x) || !isfinite(y))
            continue;
        const int px = place(x, rx, wide), py = high - 1 - place(y, ry, high);
        marked[(size_t)py * (size_t)wide + (size_t)px] = 1;
    }

    char **lines = cli_alloc((size_t)plot->height, sizeof *lines);
    for (int line = 0; line < plot->height; line++) {
        FILE *out = cli_text_open(&lines[line]);
        const int row = line - 2;
        if (line == 0) {
            fprintf(out, "%*s%-*.*s", LABEL + 1, "", wide + 1, wide, plot->title);
        } else if (line == 1) {
            put_frame(out, "┌", "┐", wide);
        } else if (row < high) {
            if (row == 0)
                fprintf(out, "%*.3g ", LABEL - 1, ry.high);
            else if (row == high - 1)
                fprintf(out, "%*.3g ", LABEL - 1, ry.low);
            else
                fprintf(out, "%*s", LABEL, "");
            fputs("│", out);
            int now = -1;
            for (int j = 0; j < wide; j++) {
                const size_t cell = (size_t)row * (size_t)wide + (size_t)j;
                const bool empty = !dots[cell] && !marked[cell];
                const int want = empty ? now : marked[cell] ? 2 : votes[cell] > 0;
                if (plot->colour && want != now)
                    fputs(colour[want], out);
                now = want;
                if (marked[cell])
                    fputc('o', out);
                else if (!dots[cell])
                    fputc(' ', out);
                else /* U+2800 + dots, in UTF-8 */
                    fprintf(out, "\xe2%c%c", 0xa0 + (dots[cell] >> 6), 0x80 + (dots[cell] & 0x3f));
            }
            fprintf(out, "%s│", plot->colour && now >= 0 ? "\033[0m" : "");
        } else if (row == high) {
            put_frame(out, "└", "┘", wide);
        } else {
            char low[16], top[16];
            snprintf(low, sizeof low, "%.3g", rx.low);
            snprintf(top, sizeof top, "%.3g", rx.high);
            fprintf(out, "%*s%-*s%s ", LABEL + 1, "", wide - (int)strlen(top), low, top);
        }
        fclose(out);
    }
    free(dots);
    free(marked);
    free(votes);
    return lines;
}

void cli_plot_print(FILE *out, char ***drawings, int count, int height, int indent)
{
    for (int line = 0; line < height; line++) {
        fprintf(out, "%*s", indent, "");
        for (int i = 0; i < count; i++) {
            fputs(drawings[i][line], out);
            free(drawings[i][line]);
        }
        fputc('\n', out);
    }
    for (int i = 0; i < count; i++)
        free(drawings[i]);
}
