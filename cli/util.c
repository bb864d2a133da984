/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, clocks, and texts for people. */
#include "util.h"
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

_Noreturn void cli_out_of_memory(void)
{
    cli_emergency_cleanup();
    (void)cli_fail(CLI_FAILED, "out of memory");
    _exit(CLI_FAILED);
}

void *cli_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        cli_out_of_memory();
    return memory;
}

void *cli_resize(void *memory, size_t count, size_t size)
{
    void *resized = reallocarray(memory, count ? count : 1, size);
    if (!resized)
        cli_out_of_memory();
    return resized;
}

char *cli_copy(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        cli_out_of_memory();
    return copy;
}

char *cli_format_list(const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        cli_out_of_memory();
    return text;
}

char *cli_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = cli_format_list(format, args);
    va_end(args);
    return text;
}

/* A text that grows; open_memstream() does not tell when its own cannot. */
struct growing {
    char **text;
    size_t size;
};

static ssize_t grow(void *cookie, const char *bytes, size_t count)
{
    struct growing *growing = cookie;
    *growing->text = cli_resize(*growing->text, growing->size + count + 1, 1);
    memcpy(*growing->text + growing->size, bytes, count);
    growing->size += count;
    (*growing->text)[growing->size] = 0;
    return (ssize_t)count;
}

static int end_growing(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *cli_text_open(char **text)
{
    struct growing *growing = cli_alloc(1, sizeof *growing);
    growing->text = text;
    *text = cli_copy("");
    FILE *out =
        fopencookie(growing, "w", (cookie_io_functions_t){.write = grow, .close = end_growing});
    if (!out)
        cli_out_of_memory();
    return out;
}

static void *json_alloc(size_t bytes)
{
    return cli_alloc(bytes, 1);
}

void cli_mind_memory(void)
{
    json_set_alloc_funcs(json_alloc, free);
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int64_t cli_peak_memory(void)
{
    /* Not getrusage: its maximum survives exec, so a large parent would be counted. */
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long long kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtoll(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return (int64_t)kilobytes * 1024;
}

cli_text cli_text_bytes(double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    cli_text out;
    int unit = 0;
    while (bytes >= 1023.5 && unit < 5) { /* like --memory 4G, which is read in 1024s */
        bytes /= 1024;
        unit++;
    }
    const int digits = unit > 0 && bytes < 9.95 ? 1 : 0;
    snprintf(out.text, sizeof out.text, "%.*f %s", digits, bytes, units[unit]);
    return out;
}

cli_text cli_text_count(int64_t count)
{
    char digits[24];
    cli_text out;
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        out.text[at++] = digits[i];
        const int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            out.text[at++] = ',';
    }
    out.text[at] = 0;
    return out;
}

cli_text cli_text_seconds(double seconds)
{
    cli_text out;
    if (seconds < 0.9995)
        snprintf(out.text, sizeof out.text, "%.3g ms", 1e3 * seconds);
    else if (seconds < 99.95)
        snprintf(out.text, sizeof out.text, "%.3g s", seconds);
    else if (seconds < 3600)
        snprintf(out.text, sizeof out.text, "%d min %d s", (int)(seconds / 60),
                 (int)fmod(seconds, 60));
    else
        snprintf(out.text, sizeof out.text, "%.0f h %d min", floor(seconds / 3600),
                 (int)(fmod(seconds, 3600) / 60));
    return out;
}

cli_text cli_text_number(double value)
{
    cli_text out;
    if (isnan(value))
        snprintf(out.text, sizeof out.text, "undefined");
    else
        snprintf(out.text, sizeof out.text, "%.4g", value);
    return out;
}

/* Bytes of the UTF-8 sequence at s, 1 for a byte that begins none. */
static size_t sequence_length(const unsigned char *s)
{
    const size_t length = s[0] >= 0xC2 && s[0] <= 0xDF   ? 2
                          : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
                          : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                         : 1;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 1;
    return length;
}

/* Whether a terminal could take the sequence for a command, or show what is beside it in another
 * place: control characters, also those above 127; ends of lines; turns of the writing direction.
 */
static bool is_unsafe(const unsigned char *s, size_t length)
{
    if (length == 1)
        return s[0] < 0x20 || (s[0] >= 0x7F && s[0] < 0xA0);
    if (length == 2)
        return s[0] == 0xC2 && s[1] < 0xA0;
    return length == 3 && s[0] == 0xE2 &&
           ((s[1] == 0x80 && s[2] >= 0xA8 && s[2] <= 0xAE) ||
            (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9));
}

char *cli_clean(char *text)
{
    const unsigned char *from = (const unsigned char *)text;
    char *to = text;
    for (size_t length; *from; from += length) {
        length = sequence_length(from);
        if (is_unsafe(from, length)) {
            *to++ = '?';
            continue;
        }
        memmove(to, from, length);
        to += length;
    }
    *to = 0;
    return text;
}

const char *cli_visible(const char *text)
{
    enum { AT_A_TIME = 8 };
    static char *kept[AT_A_TIME];
    static int next;
    next = (next + 1) % AT_A_TIME;
    free(kept[next]);
    kept[next] = cli_clean(cli_copy(text));
    return kept[next];
}

void cli_put_json(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t length; *s; s += length) {
        length = sequence_length(s);
        if (!is_unsafe(s, length))
            fwrite(s, 1, length, out);
        else
            fprintf(out, "\\u%04x",
                    length == 1   ? s[0]
                    : length == 2 ? (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu)
                                  : (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu));
    }
}

char *cli_quote(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+%@";
    if (*word && word[strspn(word, plain)] == 0)
        return cli_copy(word);
    char *quoted = cli_alloc(4 * strlen(word) + 3, 1);
    size_t at = 0;
    quoted[at++] = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(quoted + at, "'\\''", 4);
            at += 4;
        } else {
            quoted[at++] = *word;
        }
    }
    quoted[at] = '\'';
    return quoted;
}

char *cli_quote_path(const char *path)
{
    char *named = cli_format("%s%s", *path == '-' && path[1] ? "./" : "", path);
    char *quoted = cli_quote(named);
    free(named);
    return quoted;
}

void cli_put_option(FILE *out, const char *option, const char *value)
{
    char *quoted = value ? cli_quote(value) : NULL;
    if (value) /* what begins with a dash would be another option */
        fprintf(out, " --%s%c%s", option, *value == '-' ? '=' : ' ', quoted);
    free(quoted);
}

int cli_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    int d[LONGEST + 1][LONGEST + 1];
    const int n = (int)strnlen(a, LONGEST + 1);
    const int m = (int)strnlen(b, LONGEST + 1);
    if (n > LONGEST || m > LONGEST)
        return INT_MAX;
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= m; j++) {
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[n][m];
}

bool cli_resembles(const char *word, const char *near)
{
    const size_t length = strlen(word);
    if (length >= 3 && strncmp(word, near, length) == 0)
        return true; /* the beginning of it */
    const int allowed = length <= 3 ? 1 : length <= 7 ? 2 : 3;
    return cli_distance(word, near) <= allowed;
}

int cli_terminal_width(void)
{
    return cli_terminal_width_of(STDOUT_FILENO);
}

int cli_terminal_width_of(int descriptor)
{
    enum { LEAST = 20, MOST = 1000, USUAL = 80 };
    const char *columns = getenv("COLUMNS");
    if (columns && *columns) {
        char *end = NULL;
        const long value = strtol(columns, &end, 10);
        if (*end == 0 && value > 0)
            return value < LEAST ? LEAST : value > MOST ? MOST : (int)value;
    }
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col < LEAST ? LEAST : size.ws_col > MOST ? MOST : size.ws_col;
    return USUAL;
}

bool cli_terminal_colour(void)
{
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

int cli_display_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

void cli_print_wrapped(FILE *out, const char *text, int indent, int width)
{
    int column = indent;
    bool first = true;
    while (*text) {
        size_t length = strcspn(text, " ");
        char word[512];
        if (length >= sizeof word)
            length = sizeof word - 1;
        memcpy(word, text, length);
        word[length] = 0;
        const int columns = cli_display_width(word);
        if (!first && column + 1 + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fputs(word, out);
        column += columns;
        first = false;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}
