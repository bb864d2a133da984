/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice on all rows as text: the grid, what was chosen from it, and the call that fits it. */
#include "evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is printed. */
typedef struct view {
    const mercer_evaluation *e;
    mercer_evaluation_info info;
    mercer_tuning tuning;
    int digits; /* behind the point, the same for all cells */
} view;

static mercer_tuning_axis axis_at(const view *v, int64_t index)
{
    mercer_tuning_axis axis = {.struct_size = sizeof axis};
    mercer_evaluation_get_axis(v->e, index, &axis);
    return axis;
}

static view view_of(const mercer_evaluation *e)
{
    view v = {.e = e,
              .info = {.struct_size = sizeof v.info},
              .tuning = {.struct_size = sizeof v.tuning},
              .digits = 4};
    double most = 0;
    mercer_evaluation_get_info(e, &v.info);
    mercer_evaluation_get_tuning(e, &v.tuning);
    for (int64_t c = 0; c < v.tuning.cells; c++)
        if (isfinite(v.tuning.mean[c]))
            most = fmax(most, fabs(v.tuning.mean[c]));
    const int power = most > 0 ? (int)floor(log10(most)) : 0;
    if (power > 0)
        v.digits = power < 4 ? 4 - power : 0;
    if (power < -2)
        v.digits = power > -12 ? 3 - power : 15;
    return v;
}

/* The mean of a cell, "*0.0352" when it is the chosen one; "-" where there is none. Owned by the
 * caller. */
static char *cell_text(const view *v, int64_t cell)
{
    const char *mark = cell == v->tuning.chosen ? "*" : "";
    if (isnan(v->tuning.mean[cell]))
        return cli_format("%s-", mark);
    return cli_format("%s%.*f", mark, v->digits, v->tuning.mean[cell]);
}

/* How good a cell is: 0 for the worst, 1 for the best. */
static double rank_of(const view *v, int64_t cell)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t c = 0; c < v->tuning.cells; c++)
        if (isfinite(v->tuning.mean[c])) {
            least = fmin(least, v->tuning.mean[c]);
            most = fmax(most, v->tuning.mean[c]);
        }
    if (!isfinite(v->tuning.mean[cell]) || !(most > least))
        return NAN;
    const double rank = (v->tuning.mean[cell] - least) / (most - least);
    return v->info.larger_is_better ? rank : 1 - rank;
}

/* A cell of `width` columns: dark for the worst, bright for the best (the colours of viridis). */
static void print_cell(FILE *out, const view *v, int64_t cell, int width, bool colour)
{
    static const int shades[] = {53, 54, 60, 66, 72, 78, 113, 149, 185, 227};
    enum { SHADES = sizeof shades / sizeof *shades, BRIGHT = 5 };
    char *text = cell_text(v, cell);
    const double rank = rank_of(v, cell);
    const int blank = width - (int)strlen(text);
    if (colour && !isnan(rank)) {
        const int shade = rank >= 1 ? SHADES - 1 : (int)(rank * SHADES);
        fprintf(out, "\x1b[48;5;%d;38;5;%dm%*s%s\x1b[0m", shades[shade], shade >= BRIGHT ? 16 : 231,
                blank, "", text);
    } else {
        fprintf(out, "%*s%s", blank, "", text);
    }
    free(text);
}

/* A key without its kind where no other key is called alike. */
static const char *short_key(const view *v, int64_t index)
{
    const char *key = axis_at(v, index).key, *dot = strchr(key, '.');
    for (int64_t a = 0; dot && a < v->tuning.axes; a++) {
        const char *other = axis_at(v, a).key, *tail = strchr(other, '.');
        if (a != index && strcmp(tail ? tail + 1 : other, dot + 1) == 0)
            return key;
    }
    return dot ? dot + 1 : key;
}

/* The values of some axes in a cell, or (values is false) their keys, "4, 0.1"; owned by the
 * caller. */
static char *label_of(const view *v, int64_t axes, int64_t cell, bool values)
{
    char *text = NULL;
    FILE *out = cli_text_open(&text);
    int64_t block = v->tuning.cells;
    for (int64_t a = 0; a < axes; a++) {
        const mercer_tuning_axis axis = axis_at(v, a);
        block /= axis.count;
        fprintf(out, "%s%s", a ? ", " : "",
                values ? axis.values[cell / block % axis.count] : short_key(v, a));
    }
    fclose(out);
    return cli_clean(text);
}

/* All settings of a cell, "components=20, kernel.sigma=16"; owned by the caller. */
static char *settings_of(const view *v, int64_t cell)
{
    char *text = NULL;
    FILE *out = cli_text_open(&text);
    for (int64_t i = 0; i < v->tuning.axes; i++) {
        /* components, which are last, come first, as in the table of folds */
        const bool numbers = strcmp(axis_at(v, v->tuning.axes - 1).key, "components") == 0;
        const int64_t a = numbers ? (i + v->tuning.axes - 1) % v->tuning.axes : i;
        int64_t block = 1;
        for (int64_t b = a + 1; b < v->tuning.axes; b++)
            block *= axis_at(v, b).count;
        const mercer_tuning_axis axis = axis_at(v, a);
        fprintf(out, "%s%s=%s", i ? ", " : "", axis.key, axis.values[cell / block % axis.count]);
    }
    fclose(out);
    return cli_clean(text);
}

/* "error, mean of 5 folds of all 569 rows"; owned by the caller. */
static char *title_of(const view *v)
{
    return cli_format("%s, mean of %lld folds of all %s rows", v->info.metric,
                      (long long)v->tuning.folds, cli_text_count(v->tuning.rows).text);
}

/* The best cells, one per line, where the grid does not fit. */
static void print_best(FILE *out, const view *v)
{
    enum { MOST = 12 };
    const int64_t cells = v->tuning.cells, shown = cells < MOST ? cells : MOST;
    bool *taken = cli_alloc((size_t)cells, sizeof *taken);
    cli_table table = {.align = "rl", .header = true};
    cli_table_cell(&table, "%s", v->info.metric);
    cli_table_cell(&table, "settings");
    for (int64_t i = 0; i < shown; i++) {
        int64_t best = -1;
        for (int64_t c = 0; c < cells; c++) {
            const double mean = v->tuning.mean[c];
            if (taken[c] || (best >= 0 && isnan(mean)))
                continue;
            if (best < 0 || isnan(v->tuning.mean[best]) ||
                (v->info.larger_is_better ? mean > v->tuning.mean[best]
                                          : mean < v->tuning.mean[best]))
                best = c;
        }
        taken[best] = true;
        char *text = cell_text(v, best), *settings = settings_of(v, best);
        cli_table_cell(&table, "%s", text);
        cli_table_cell(&table, "%s", settings);
        free(text);
        free(settings);
    }
    cli_table_print(&table, out, 2);
    if (shown < cells)
        fprintf(out, "  ... and %lld more (--json lists them)\n", (long long)(cells - shown));
    free(taken);
}

/* The grid: a line for each value of all axes but the last, whose values stand side by side. Of one
 * axis each value has a line. */
static void print_grid(FILE *out, const view *v)
{
    enum { MAX_LINES = 40, GAP = 2 };
    const int64_t axes = v->tuning.axes;
    const mercer_tuning_axis last = axis_at(v, axes - 1);
    const int64_t columns = axes > 1 ? last.count : 1, lines = v->tuning.cells / columns;
    const int64_t named = axes > 1 ? axes - 1 : 1;
    const bool colour = out == stdout && cli_terminal_colour();
    int width = 0, left = 0;
    for (int64_t c = 0; c < v->tuning.cells; c++) {
        char *text = cell_text(v, c), *label = label_of(v, named, c, true);
        width = (int)strlen(text) > width ? (int)strlen(text) : width;
        left = cli_display_width(label) > left ? cli_display_width(label) : left;
        free(text);
        free(label);
    }
    for (int64_t j = 0; axes > 1 && j < columns; j++)
        if (cli_display_width(last.values[j]) > width)
            width = cli_display_width(last.values[j]);
    char *keys = label_of(v, named, 0, false), *title = title_of(v);
    char *corner = axes > 1 ? cli_format("%s \\ %s", keys, short_key(v, axes - 1)) : cli_copy(keys);
    left = cli_display_width(corner) > left ? cli_display_width(corner) : left;
    const int total = 2 + left + (int)columns * (width + GAP), room = cli_terminal_width();
    const bool beside = total + 2 * GAP + cli_display_width(title) <= room;
    fprintf(out, "\n");
    if (lines > MAX_LINES || total > room) {
        fprintf(out, "  %s\n", title);
        print_best(out, v);
        goto out;
    }
    if (!beside)
        fprintf(out, "  %s\n", title);
    fprintf(out, "  %s%*s", corner, left - cli_display_width(corner), "");
    for (int64_t j = 0; axes > 1 && j < columns; j++)
        fprintf(out, "%*s%s", width + GAP - cli_display_width(last.values[j]), "",
                cli_visible(last.values[j]));
    if (axes == 1 && beside)
        fprintf(out, "%*s", width + GAP, "");
    fprintf(out, "%s%s\n", beside ? "    " : "", beside ? title : "");
    for (int64_t i = 0; i < lines; i++) {
        char *label = label_of(v, named, i * columns, true);
        fprintf(out, "  %s%*s", label, left - cli_display_width(label), "");
        for (int64_t j = 0; j < columns; j++)
            print_cell(out, v, i * columns + j, width + GAP, colour);
        fprintf(out, "\n");
        free(label);
    }
out:
    free(keys);
    free(title);
    free(corner);
}

/* "  note    text", wrapped. */
static void print_line(FILE *out, const char *name, char *text)
{
    enum { INDENT = 10, LEAST = 50 };
    const int room = cli_terminal_width();
    fprintf(out, "  %-*s", INDENT - 2, name);
    cli_print_wrapped(out, text, INDENT, room < LEAST ? LEAST : room);
    free(text);
}

/* Where the choice lies at the edge of the grid: the grid to try. */
static void print_edges(FILE *out, const view *v)
{
    char *tries = NULL, *names = NULL;
    FILE *text = cli_text_open(&tries), *list = cli_text_open(&names);
    int64_t edges = 0;
    for (int64_t a = 0; a < v->tuning.axes; a++) {
        const mercer_tuning_axis axis = axis_at(v, a);
        if (!axis.further)
            continue;
        char *grid = cli_format("%s=%s", axis.key, axis.further), *word = cli_quote(grid);
        fprintf(list, "%s%s", edges++ ? " and " : "", axis.key);
        fprintf(text, " --tune %s", word);
        free(grid);
        free(word);
    }
    fclose(text);
    fclose(list);
    if (edges > 0)
        print_line(out, "note",
                   cli_format("%s %s at the edge of the grid: try%s",
                              edges == 2 && v->tuning.axes == 2 ? "both" : names,
                              edges == 1 ? "lies" : "lie", tries));
    free(tries);
    free(names);
}

void cli_print_tuning(FILE *out, const mercer_evaluation *e, const char *expected)
{
    const view v = view_of(e);
    print_grid(out, &v);
    char *settings = settings_of(&v, v.tuning.chosen);
    char *rule =
        strcmp(v.tuning.rule, "1se") == 0 && v.tuning.best != v.tuning.chosen
            ? cli_format(" (the simplest within one standard error, %.*f, of %.*f)", v.digits,
                         v.tuning.se[v.tuning.best], v.digits, v.tuning.mean[v.tuning.best])
            : cli_copy("");
    print_line(out, "chosen",
               expected ? cli_format("%s%s; expect %s, not %.*f", settings, rule, expected,
                                     v.digits, v.tuning.mean[v.tuning.chosen])
                        : cli_format("%s%s; %.*f is optimistic, because it was chosen by it: "
                                     "mercer evaluate tells what to expect on new rows",
                                     settings, rule, v.digits, v.tuning.mean[v.tuning.chosen]));
    free(settings);
    free(rule);
    print_edges(out, &v);
}

char *cli_tuned_settings(const mercer_evaluation *e)
{
    const view v = view_of(e);
    return settings_of(&v, v.tuning.chosen);
}

/* ---- the call ---- */

/* Whether a key of this kind is tuned: "kernel", "head.". */
static bool tunes(const cli_settings *set, const char *kind)
{
    for (int i = 0; i < set->tune.count; i++)
        if (strncmp(set->tune.item[i], kind, strlen(kind)) == 0)
            return true;
    return false;
}

static void put_word(FILE *out, const char *word)
{
    char *quoted = cli_quote(word);
    fprintf(out, " %s", quoted);
    free(quoted);
}

char *cli_tuned_command(const cli_app *app, const mercer_evaluation *e, const char *output)
{
    /* What the choice replaces, and what changes nothing in a model. */
    static const char *const others[] = {
        "method",   "kernel",     "components", "head",      "output", "json",   "quiet",
        "threads",  "memory",     "tune",       "tune-rule", "cv",     "metric", "inner",
        "positive", "checkpoint", "resume",     "time",      "plot",   "report", "journal"};
    const cli_settings *set = &app->set;
    const view v = view_of(e);
    char *line = NULL;
    FILE *out = cli_text_open(&line);
    fputs("mercer fit", out);
    char *data = cli_quote_path(strcmp(set->operand[0], "-") == 0 ? "DATA" : set->operand[0]);
    fprintf(out, " %s", data);
    free(data);
    fputs(" -m", out);
    put_word(out, v.tuning.method);
    if (set->fit.kernel || tunes(set, "kernel")) {
        fputs(" -k", out);
        put_word(out, v.tuning.kernel);
    }
    if (tunes(set, "components="))
        fprintf(out, " -n %.15g", v.tuning.components);
    for (int i = 0; i < set->given_count && !tunes(set, "components="); i++)
        if (strcmp(set->given[i].name, "components") == 0) {
            fputs(" -n", out);
            put_word(out, set->given[i].value);
        }
    if (v.tuning.head) {
        fputs(" --head", out);
        put_word(out, v.tuning.head);
    }
    for (int i = 0; i < set->given_count; i++) {
        bool other = !cli_command_has_option(&cli_command_fit, set->given[i].name);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            other |= strcmp(set->given[i].name, others[k]) == 0;
        if (other)
            continue;
        if (set->given[i].value)
            cli_put_option(out, set->given[i].name, set->given[i].value);
        else
            fprintf(out, " --%s", set->given[i].name);
    }
    if (output) {
        fputs(" -o", out);
        put_word(out, output);
    }
    fclose(out);
    return line;
}
