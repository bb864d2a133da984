/* SPDX-License-Identifier: BSD-3-Clause */
/* Small helpers of the command line: memory that never fails quietly, texts for people. */
#ifndef CLI_UTIL_H
#define CLI_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zeroed memory of count x size bytes, freed with free(). When there is none the program removes
 * its temporary files and ends with one line and status 1. */
void *cli_alloc(size_t count, size_t size);
/* What it does then. */
_Noreturn void cli_out_of_memory(void);
/* The same memory with another number of elements; new ones are not defined. NULL: new memory. */
void *cli_resize(void *memory, size_t count, size_t size);
char *cli_copy(const char *text);
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *cli_format_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Texts of others, from files or their names, for a terminal: what it could take for a command
 * (control characters, escape sequences), or for an end of the line, becomes '?'. In place; or of a
 * copy, of which the last eight are there. Every text for people goes through one of them: errors,
 * notices, cells and rows of tables automatically. Data (CSV) and JSON do not. */
char *cli_clean(char *text);
const char *cli_visible(const char *text);

/* Print a JSON text, in one line, with the same characters escaped as JSON does it: Jansson leaves
 * those above 31 as they are. */
void cli_put_json(FILE *out, const char *text);

/* A file to print a text into, which is the caller's to free once fclose() was called. */
FILE *cli_text_open(char **text);

/* Let JSON values, too, have memory that never fails quietly: a report without some of its keys
 * would be a wrong one. Only a program may do that; a library has a host that uses Jansson, too. */
void cli_mind_memory(void);

/* Seconds on a clock that never goes back. */
double cli_now(void);

/* Largest resident size of the process so far, in bytes. */
int64_t cli_peak_memory(void);

/* Numbers for people, in storage of the caller. */
typedef struct cli_text {
    char text[40];
} cli_text;
cli_text cli_text_bytes(double bytes);     /* 75 GB */
cli_text cli_text_count(int64_t count);    /* 100,000 */
cli_text cli_text_seconds(double seconds); /* 12.3 ms, 2 min 5 s */
cli_text cli_text_number(double value);    /* 4 digits, or "undefined" for NaN */

/* The word as a shell would need it: quoted only where necessary. Owned by the caller. */
char *cli_quote(const char *word);
/* A file's name likewise, which must not look like an option. */
char *cli_quote_path(const char *path);
/* " --option value" into a command to paste; nothing when value is NULL. */
void cli_put_option(FILE *out, const char *option, const char *value);

/* How far two words are apart in single edits (insert, delete, replace, swap of neighbours). */
int cli_distance(const char *a, const char *b);

/* True when `near` is close enough to `word` to be what was meant. */
bool cli_resembles(const char *word, const char *near);

/* Columns of the terminal: COLUMNS, else what the descriptor says, else 80. The first asks standard
 * output. */
int cli_terminal_width(void);
int cli_terminal_width_of(int descriptor);

/* True when standard output is a terminal that shows colours and NO_COLOR is unset. */
bool cli_terminal_colour(void);

/* How many columns a UTF-8 text takes. */
int cli_display_width(const char *text);

/* Print text wrapped at `width` columns; lines after the first start with `indent` blanks. The
 * cursor is expected at column `indent` already. Ends with a newline. */
void cli_print_wrapped(FILE *out, const char *text, int indent, int width);

#endif
