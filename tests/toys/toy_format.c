/* SPDX-License-Identifier: BSD-3-Clause */
/* A toy format, which only the library of the tests has: numbers in a line, separated by ';'. It is
 * added by this file and a line in formats.def; tests/unit/test_writer.c reads and writes it. */
#include "base/number.h"
#include "io/format.h"
#include "io/text.h"
#include "io/writer.h"

#include <string.h>

struct toy {
    mrc_table_source *source;
    mrc_text text;
};

/* The columns are those of the first line, which is read again as a row. */
static mercer_status toy_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                              mercer_error *err)
{
    struct toy *toy;
    const char *first, *end;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&toy, 1, sizeof *toy, err));
    *self = toy;
    toy->source = source;
    MRC_TRY(mrc_text_init(&toy->text, &source->input, &source->budget, err));
    MRC_TRY(mrc_text_line(&toy->text, ctx, &first, &end, err));
    if (!first)
        MRC_FAIL(err, MERCER_ERR_DATA, "%s: is empty", source->input.shown);
    source->columns.count = 1;
    for (const char *p = first; p < end; p++)
        source->columns.count += *p == ';';
    toy->text.start = (size_t)(first - toy->text.data);
    toy->text.line--;
out:
    return rc;
}

static mercer_status toy_rows(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                              mercer_error *err)
{
    struct toy *toy = self;
    const mrc_columns *columns = &toy->source->columns;
    const char *p, *end;
    mercer_status rc = MERCER_OK;
    while (block->n < most) {
        MRC_TRY(mrc_text_line(&toy->text, ctx, &p, &end, err));
        if (!p)
            break;
        if (block->n == block->capacity)
            MRC_TRY(mrc_block_grow(block, columns, most, err));
        for (int64_t j = 0; j < columns->count; j++) {
            const char *stop = p <= end ? memchr(p, ';', (size_t)(end - p)) : NULL;
            int64_t role = columns->role[j];
            double value;
            stop = stop ? stop : end;
            if (p > end || !mrc_parse_double(p, (size_t)(stop - p), &value))
                MRC_FAIL(err, MERCER_ERR_DATA, "%s: line %lld is not a row",
                         toy->source->input.shown, (long long)toy->text.line - 1);
            if (role >= 0)
                block->x[block->n * columns->data + role] = value;
            else if (role == MRC_ROLE_LABEL)
                MRC_TRY(mrc_classes_code(&toy->source->classes, p, (size_t)(stop - p),
                                         &block->codes[block->n], err));
            else
                block->values[block->n * columns->targets + MRC_ROLE_TARGET(role)] = value;
            p = stop + 1;
        }
        block->n++;
    }
out:
    return rc;
}

static void toy_close(void *self)
{
    struct toy *toy = self;
    mrc_text_destroy(&toy->text);
    mrc_free(toy);
}

static mercer_status toy_row(mercer_writer *writer, const double *x, const char *const *text,
                             mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    (void)text;
    for (int64_t j = 0; j < writer->columns; j++) {
        char number[MRC_NUMBER_SIZE];
        int length = mrc_format_double(x[j], number);
        MRC_TRY(mrc_writer_put(writer, number, (size_t)length, err));
        MRC_TRY(mrc_writer_put(writer, j + 1 < writer->columns ? ";" : "\n", 1, err));
    }
out:
    return rc;
}

static const mrc_format_writer toy_writer = {.row = toy_row};

const mrc_format mrc_format_toy = {
    .entry = {.name = "toy", .summary = "numbers with semicolons between them"},
    .endings = ".toy",
    .magic = "0;",
    .open = toy_open,
    .rows = toy_rows,
    .close = toy_close,
    .writer = &toy_writer,
};
