/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of splits: each line lists the training rows of one, from 0; the other rows are held out.
 *
 * Cells are divided by commas or, in a line without any, by blanks, and may be quoted; empty ones
 * are padding. A first line of names may mark columns called split and kind, which are skipped;
 * --list-header says whether it is one. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { READ_BYTES = 1 << 16 };

static void fail_budget(const char *path, const char *what, int64_t most)
{
    cli_fail(CLI_FAILED, "%s: %s more than the memory budget of %s: raise --memory",
             cli_shown(path), what, cli_text_bytes((double)most).text);
}

/* The whole file, of *size bytes and a zero; gzip or not. NULL after one line on standard error. */
static char *read_all(const cli_settings *set, const char *path, int64_t most, size_t *size)
{
    const char *why = NULL;
    char *text = NULL;
    size_t used = 0, room = 0;
    int got, code = Z_OK;
    const int fd = cli_open_list(set, path);
    if (fd < 0)
        return NULL;
    errno = 0;
    gzFile file = gzdopen(fd, "r");
    if (!file) {
        cli_fail(CLI_FAILED, "%s: %s", cli_shown(path), strerror(errno ? errno : ENOMEM));
        close(fd);
        return NULL;
    }
    do {
        if (used + READ_BYTES + 1 > room) {
            room = used + used / 2 + READ_BYTES + 1;
            text = cli_resize(text, room, 1);
        }
        got = gzread(file, text + used, READ_BYTES);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0 && (int64_t)used <= most);
    text[used] = 0;
    if (got > 0) {
        fail_budget(path, "takes", most);
        gzclose_r(file);
        free(text);
        return NULL;
    }
    if (got < 0)
        why = gzerror(file, &code);
    if (why && code == Z_ERRNO)
        why = strerror(errno);
    if (why)
        cli_fail(CLI_FAILED, "%s: %s", cli_shown(path), why);
    code = gzclose_r(file);
    if (!why && code == Z_BUF_ERROR) {
        why = "the compressed data end early";
        cli_fail(CLI_FAILED, "%s: %s", cli_shown(path), why);
    }
    if (why) {
        free(text);
        return NULL;
    }
    *size = used;
    return text;
}

static const char BLANKS[] = " \t\r";

/* Cut the next cell off a line: without quotes and blanks around it. NULL: there is none. */
static char *next_cell(char **rest, bool commas)
{
    char *cell = *rest;
    if (!cell)
        return NULL;
    cell += strspn(cell, BLANKS);
    if (!commas && !*cell)
        return NULL;
    char *end = cell + strcspn(cell, commas ? "," : BLANKS);
    *rest = *end ? end + 1 : NULL;
    *end = 0;
    while (end > cell && strchr(BLANKS, end[-1]))
        *--end = 0;
    if (end - cell >= 2 && *cell == '"' && end[-1] == '"') {
        end[-1] = 0;
        cell++;
    }
    return cell;
}

static bool is_number(const char *cell)
{
    char *end = NULL;
    (void)strtod(cell, &end);
    return end > cell && !*end;
}

/* Columns that are not row numbers. */
typedef struct names {
    bool *skipped; /* count; owned */
    int64_t count;
} names;

/* Whether the first line names the columns: the caller says so, or one of them is split or kind, or
 * none is a number. */
static bool read_names(const char *line, const char *header, names *out)
{
    char *copy = cli_copy(line), *rest = copy, *cell;
    const bool commas = strchr(line, ',') != NULL;
    bool special = false, numbers = false;
    while ((cell = next_cell(&rest, commas))) {
        const bool skip = strcmp(cell, "split") == 0 || strcmp(cell, "kind") == 0;
        out->skipped = cli_resize(out->skipped, (size_t)out->count + 1, sizeof *out->skipped);
        out->skipped[out->count++] = skip;
        special |= skip;
        numbers |= is_number(cell);
    }
    free(copy);
    if (header ? strcmp(header, "yes") == 0 : special || !numbers)
        return true;
    out->count = 0;
    return false;
}

/* Take the training rows of a line off `held`, which is true for all n rows. */
static bool read_line(const char *path, int64_t number, char *line, const names *columns, int64_t n,
                      bool *held)
{
    const bool commas = strchr(line, ',') != NULL;
    char *rest = line, *cell;
    int64_t left = n;
    for (int64_t column = 0; (cell = next_cell(&rest, commas)); column++) {
        char *end = NULL;
        if (!*cell || (column < columns->count && columns->skipped[column]))
            continue;
        errno = 0;
        const long long row = strtoll(cell, &end, 10);
        if (*end || errno || row < 0 || row >= n) {
            cli_fail(CLI_FAILED, "%s:%lld: column %lld: '%s' is not a row number from 0 to %lld",
                     cli_shown(path), (long long)number, (long long)column + 1, cell,
                     (long long)n - 1);
            return false;
        }
        if (!held[row]) {
            cli_fail(CLI_FAILED, "%s:%lld: column %lld: row %lld is there twice", cli_shown(path),
                     (long long)number, (long long)column + 1, row);
            return false;
        }
        held[row] = false;
        left--;
    }
    if (left > 0 && left < n)
        return true;
    cli_fail(CLI_FAILED, "%s:%lld: %s", cli_shown(path), (long long)number,
             left ? "there is no training row" : "all rows are training rows: none is left");
    return false;
}

/* Room for `least` numbers, half as many more than there was if it has to grow. */
static int64_t *make_room(int64_t *numbers, int64_t *room, int64_t least)
{
    if (least <= *room)
        return numbers;
    *room = least > *room + *room / 2 ? least : *room + *room / 2;
    return cli_resize(numbers, (size_t)*room, sizeof *numbers);
}

static bool add_split(const char *path, int64_t number, char *line, const names *columns, int64_t n,
                      int64_t most, cli_splits *out)
{
    if (out->count > 0 && out->start[out->count] + n > most / (int64_t)sizeof *out->rows) {
        fail_budget(path, "its splits take", most);
        return false;
    }
    bool *held = cli_alloc((size_t)n, sizeof *held);
    memset(held, true, (size_t)n * sizeof *held);
    const bool good = read_line(path, number, line, columns, n, held);
    if (good) {
        out->start = make_room(out->start, &out->start_room, out->count + 2);
        if (out->count == 0)
            out->start[0] = 0;
        int64_t at = out->start[out->count];
        out->rows = make_room(out->rows, &out->rows_room, at + n);
        for (int64_t i = 0; i < n; i++)
            if (held[i])
                out->rows[at++] = i;
        out->start[++out->count] = at;
    }
    free(held);
    return good;
}

int cli_splits_read(const cli_app *app, const char *path, int64_t n, cli_splits *out)
{
    const int64_t most = mercer_ctx_memory(app->ctx);
    size_t size = 0;
    char *text = read_all(&app->set, path, most, &size);
    if (!text)
        return CLI_FAILED;
    names columns = {0};
    bool good = true, first = true;
    int64_t number = 1;
    if (strlen(text) != size) {
        for (const char *c = text; *c; c++)
            number += *c == '\n';
        cli_fail(CLI_FAILED, "%s:%lld: a zero byte; this is not a text file", cli_shown(path),
                 (long long)number);
        good = false;
    }
    char *line = text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    for (char *next; good && line; line = next, number++) {
        next = memchr(line, '\n', (size_t)(text + size - line));
        if (next)
            *next++ = 0;
        if (!line[strspn(line, BLANKS)])
            continue;
        if (!first || !read_names(line, app->set.list_header, &columns))
            good = add_split(path, number, line, &columns, n, most, out);
        first = false;
    }
    if (good && out->count == 0) {
        cli_fail(CLI_FAILED, "%s: there is no split in it", cli_shown(path));
        good = false;
    }
    free(columns.skipped);
    free(text);
    return good ? CLI_DONE : CLI_FAILED;
}

void cli_splits_free(cli_splits *splits)
{
    free(splits->start);
    free(splits->rows);
    memset(splits, 0, sizeof *splits);
}
