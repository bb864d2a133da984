/* SPDX-License-Identifier: BSD-3-Clause */
/* How a text is written, by its first lines.
 *
 * A separator qualifies when it gives every line the same number of cells, two or more. Commas are
 * taken first, unless another one qualifies, too, and either every comma stands inside a number
 * (1,5;2,5 has decimal commas), or commas leave no column of numbers and the other one does. Blanks
 * separate only where nothing else does and a column of numbers comes out: texts have blanks, too.
 * Without any that qualifies commas separate, and reading says what is wrong.
 *
 * The decimal mark is a comma when a number shows it: 3,14 or 0,125 or 1.234,5, but not 1,065,
 * which * may be a thousand. A number with a point that can be nothing else (3.14) says no. Where
 * semicolons separate, as in countries with decimal commas, and all there is are numbers
 * like 1.065, nothing is settled, and the reader refuses them.
 *
 * Quotes are obeyed. A line that goes on behind the end of the text does not count. Cost: five
 * passes over a few lines. */
#include "io/sniff.h"

#include <string.h>

enum { MAX_LINES = 20, MAX_COLUMNS = 256 };

/* Cells of a text, one after the other. */
struct walk {
    const char *p, *end;
    char delimiter, comment;
    const char *cell; /* the present one, without quotes and blanks around it */
    size_t length;
    bool quoted;
    bool last;  /* in its line */
    bool first; /* the next cell is the first of a line */
};

static bool is_blank(const struct walk *w, char c)
{
    return c == ' ' || (c == '\t' && w->delimiter != '\t');
}

static bool is_end(char c)
{
    return c == '\n' || c == '\r';
}

/* Step over blank lines and comments. */
static void skip_lines(struct walk *w)
{
    for (;;) {
        const char *p = w->p;
        while (p < w->end && is_blank(w, *p))
            p++;
        if (p < w->end && w->comment && *p == w->comment)
            while (p < w->end && !is_end(*p))
                p++;
        else if (p < w->end && !is_end(*p))
            return;
        if (p >= w->end) {
            w->p = w->end;
            return;
        }
        w->p = p + 1;
    }
}

/* The next cell; false at the end of the text, or where a cell is not complete. */
static bool next(struct walk *w)
{
    if (w->first)
        skip_lines(w);
    if (w->p >= w->end && w->first)
        return false;
    const char *p = w->p;
    while (p < w->end && is_blank(w, *p))
        p++;
    w->cell = p;
    w->quoted = p < w->end && *p == '"';
    if (w->quoted) {
        w->cell = ++p;
        for (; p < w->end && (*p != '"' || (p + 1 < w->end && p[1] == '"')); p++)
            p += *p == '"';
        if (p >= w->end)
            return false;
        w->length = (size_t)(p++ - w->cell);
    }
    while (p < w->end && !is_end(*p) && *p != w->delimiter && !(w->delimiter == ' ' && *p == '\t'))
        p++;
    if (!w->quoted) {
        const char *stop = p;
        while (stop > w->cell && is_blank(w, stop[-1]))
            stop--;
        w->length = (size_t)(stop - w->cell);
    }
    while (w->delimiter == ' ' && p < w->end && is_blank(w, *p))
        p++;
    w->last = p >= w->end || is_end(*p);
    w->first = w->last;
    if (w->last || w->delimiter != ' ')
        p += p < w->end;
    w->p = p;
    return true;
}

/* Whether a cell has nothing but what numbers are written with. */
static bool is_number(const char *cell, size_t length)
{
    bool digit = false;
    for (size_t i = 0; i < length; i++) {
        digit |= cell[i] >= '0' && cell[i] <= '9';
        if (!cell[i] || !strchr("0123456789.,+-eE%'", cell[i]))
            return false;
    }
    return digit && !strchr("eE%'", cell[0]);
}

/* What a separator makes of a text. */
struct outcome {
    int lines;
    int cells;       /* of each line; 0: not the same in all */
    int first;       /* of the first two lines; 0: not the same in both */
    bool numbers;    /* some column has numbers, in all lines but the first if there are more */
    bool any_comma;  /* some cell has a comma, */
    bool in_numbers; /* and all of these are numbers */
};

/* named_rows: the first line has one cell less than the others, as R writes tables with row names.
 */
static struct outcome try_delimiter(const char *text, size_t size, char delimiter, char comment,
                                    bool named_rows)
{
    struct walk w = {
        .p = text, .end = text + size, .delimiter = delimiter, .comment = comment, .first = true};
    struct outcome o = {.in_numbers = true};
    bool numeric[MAX_COLUMNS];
    int count = 0;
    memset(numeric, true, sizeof numeric);
    while (o.lines < MAX_LINES && next(&w)) {
        bool number = is_number(w.cell, w.length);
        if (count < MAX_COLUMNS && (o.lines > 0 || w.p >= w.end))
            numeric[count] &= number;
        if (!w.quoted && memchr(w.cell, ',', w.length)) {
            o.any_comma = true;
            o.in_numbers &= number;
        }
        count++;
        if (!w.last)
            continue;
        if (named_rows && o.lines == 1)
            o.cells += o.cells > 0;
        o.cells = o.lines == 0 || o.cells == count ? count : 0;
        o.first = o.lines < 2 ? o.cells : o.first;
        o.lines++;
        if (o.cells == 0)
            return o;
        count = 0;
    }
    for (int j = 0; j < o.cells && j < MAX_COLUMNS; j++)
        o.numbers |= numeric[j] && o.lines > 1;
    return o;
}

char mrc_sniff_delimiter(const char *text, size_t size, char comment)
{
    static const char others[] = {';', '\t', '|'};
    struct outcome comma = try_delimiter(text, size, ',', comment, false);
    for (size_t k = 0; k < sizeof others; k++) {
        struct outcome o = try_delimiter(text, size, others[k], comment, false);
        bool rival = (o.any_comma && o.in_numbers) || (!comma.numbers && o.numbers);
        if (o.cells > 1 && (rival || (comma.cells < 2 && (o.numbers || !o.any_comma))))
            return others[k];
    }
    struct outcome blank = try_delimiter(text, size, ' ', comment, false);
    if (comma.cells < 2 && blank.cells > 1 && blank.numbers)
        return ' ';
    static const char all[] = {',', ';', '\t', '|', ' '};
    for (size_t k = 0; k < sizeof all && comma.cells < 2; k++) {
        struct outcome o = try_delimiter(text, size, all[k], comment, true);
        if (o.cells > 1 && o.lines > 2 && o.numbers)
            return all[k];
    }
    /* No separator fits. One that fits the first two lines makes a better message than a comma that
     * does not occur. */
    for (size_t k = 0; k < sizeof others && comma.cells == 1; k++)
        if (try_delimiter(text, size, others[k], comment, false).first > 1)
            return others[k];
    return ',';
}

/* Which mark a number shows to be the decimal one: ',', '.', or 0 where it does not. *point: it has
 * a point that may separate thousands. */
static char shown_mark(const char *cell, size_t length, bool *point)
{
    const char *mark = NULL;
    size_t start = length > 0 && (*cell == '-' || *cell == '+'), end = length;
    int marks = 0;
    while (end > start && strchr("% ", cell[end - 1]))
        end--;
    for (size_t i = start; i < end; i++)
        if (cell[i] == 'e' || cell[i] == 'E')
            end = i;
    for (size_t i = start; i < end; i++)
        if (cell[i] == ',' || cell[i] == '.') {
            if (mark && *mark == cell[i])
                return 0; /* groups of digits, or something else */
            mark = cell + i;
            marks++;
        } else if (cell[i] < '0' || cell[i] > '9') {
            return 0;
        }
    if (marks == 0)
        return 0;
    size_t before = (size_t)(mark - cell) - start, behind = (size_t)(cell + end - mark) - 1;
    bool group = marks == 1 && behind == 3 && before >= 1 && before <= 3 && cell[start] != '0';
    *point |= group && *mark == '.';
    return group ? 0 : *mark;
}

char mrc_sniff_decimal(const char *text, size_t size, char delimiter, char comment, bool *doubtful)
{
    struct walk w = {
        .p = text, .end = text + size, .delimiter = delimiter, .comment = comment, .first = true};
    bool comma = false, point = false;
    *doubtful = false;
    for (int lines = 0; lines < MAX_LINES && next(&w); lines += w.last) {
        char mark = is_number(w.cell, w.length) ? shown_mark(w.cell, w.length, doubtful) : 0;
        comma |= mark == ',';
        point |= mark == '.';
    }
    *doubtful &= !comma && !point;
    return comma && !point ? ',' : '.';
}
