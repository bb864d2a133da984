/* SPDX-License-Identifier: BSD-3-Clause */
/* Read tables one after the other, for test_readers.py: lines "FORMAT SIZE" on standard input, each
 * followed by SIZE bytes of a file. Writes for each the status, the number of rows and of columns
 * as 64-bit integers and, of a table that was read, its numbers as doubles.
 *
 * Nothing is left to be found: a CSV has no header, commas, decimal points and no thousands. */
#include <mercer/mercer.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NUMBERS = 1 << 22 };

static void put(const void *data, size_t size)
{
    if (fwrite(data, 1, size, stdout) != size)
        exit(1);
}

static void answer(mercer_ctx *ctx, const char *format, const char *path)
{
    mercer_read_options options;
    mercer_table *table = NULL;
    mercer_error err = {0};
    int64_t head[3] = {0};
    mercer_read_options_init(&options);
    options.format = format;
    options.no_label = 1;
    if (strcmp(format, "libsvm") == 0)
        options.skip_labels = 1;
    if (strcmp(format, "csv") == 0) {
        options.header = "no";
        options.id = "none";
        options.delimiter = "comma";
        options.decimal = "point";
        options.thousands = "none";
    }
    head[0] = mercer_table_read(ctx, path, &options, &table, &err);
    if (head[0] != MERCER_OK) {
        put(head, sizeof head);
        return;
    }
    const mercer_rows *rows = mercer_table_rows(table);
    head[1] = mercer_rows_count(rows);
    head[2] = mercer_rows_columns(rows);
    put(head, sizeof head);
    double *row = calloc((size_t)head[2] + 1, sizeof *row);
    if (!row || head[1] * head[2] > MAX_NUMBERS)
        exit(1);
    for (int64_t i = 0; i < head[1]; i++) {
        mercer_rows_copy(rows, i, 1, row);
        put(row, (size_t)head[2] * sizeof *row);
    }
    free(row);
    mercer_table_free(table);
}

int main(int argc, char **argv)
{
    char format[16];
    size_t size;
    mercer_ctx *ctx;
    if (argc != 2 || mercer_ctx_new(&ctx, NULL) != MERCER_OK ||
        mercer_ctx_set_memory(ctx, 64 << 20, NULL) != MERCER_OK)
        return 2;
    while (scanf("%15s %zu", format, &size) == 2 && getchar() == '\n') {
        char *bytes = malloc(size + 1);
        FILE *file = fopen(argv[1], "wb");
        if (!bytes || !file || fread(bytes, 1, size, stdin) != size ||
            fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
            return 1;
        free(bytes);
        answer(ctx, format, argv[1]);
        if (fflush(stdout) != 0)
            return 1;
    }
    mercer_ctx_free(ctx);
    return 0;
}
