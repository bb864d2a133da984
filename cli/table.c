/* SPDX-License-Identifier: BSD-3-Clause */
/* Text tables with aligned columns. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cli_table_cell(cli_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = cli_clean(cli_format_list(format, args));
    va_end(args);
    /* Room doubles whenever the count is a power of two. */
    if ((table->count & (table->count - 1)) == 0) {
        char **grown = cli_alloc(2 * (size_t)table->count + 1, sizeof *grown);
        if (table->count)
            memcpy(grown, table->cells, (size_t)table->count * sizeof *grown);
        free(table->cells);
        table->cells = grown;
    }
    table->cells[table->count++] = text;
}

void cli_table_print(cli_table *table, FILE *out, int indent)
{
    enum { GAP = 2, MIN_WRAP = 16 };
    const int columns = (int)strlen(table->align);
    const int64_t rows = table->count / columns;
    int width[16] = {0};
    for (int64_t i = 0; i < rows; i++) {
        for (int j = 0; j < columns && j < 16; j++) {
            const int cell = cli_display_width(table->cells[i * columns + j]);
            if (cell > width[j])
                width[j] = cell;
        }
    }
    int last = indent;
    for (int j = 0; j + 1 < columns; j++)
        last += width[j] + GAP;
    int wrap = cli_terminal_width();
    if (wrap < last + MIN_WRAP)
        wrap = last + MIN_WRAP;

    for (int64_t i = 0; i < rows; i++) {
        fprintf(out, "%*s", indent, "");
        for (int j = 0; j < columns; j++) {
            const char *cell = table->cells[i * columns + j];
            const int blank = width[j] - cli_display_width(cell);
            if (table->align[j] == 'r')
                fprintf(out, "%*s%s", blank, "", cell);
            else if (j + 1 < columns)
                fprintf(out, "%s%*s", cell, blank, "");
            else
                cli_print_wrapped(out, cell, last, wrap);
            /* No blanks at the end of a line. */
            const bool more = j + 1 < columns;
            if (more && !(j + 2 == columns && table->cells[i * columns + j + 1][0] == 0))
                fprintf(out, "%*s", GAP, "");
            else if (!more && table->align[j] == 'r')
                fputc('\n', out);
        }
        if (i == 0 && table->header) {
            fprintf(out, "%*s", indent, "");
            int total = last - indent + width[columns - 1];
            if (total > wrap - indent)
                total = wrap - indent;
            for (int j = 0; j < total; j++)
                fputs("─", out);
            fputc('\n', out);
        }
    }
    for (int64_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (cli_table){0};
}

void cli_print_row(FILE *out, const char *name, const char *format, ...)
{
    enum { COLUMN = 24 };
    va_list args;
    va_start(args, format);
    char *text = cli_clean(cli_format_list(format, args));
    va_end(args);
    const int width = cli_terminal_width();
    fprintf(out, "  %-*s", COLUMN - 2, name);
    cli_print_wrapped(out, text, COLUMN, width < COLUMN + 30 ? COLUMN + 30 : width);
    free(text);
}
