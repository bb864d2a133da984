/* Any bytes as a file of a format without column names. The first byte chooses columns and block
 * size, the rest is the file. */
#ifndef MERCER_FUZZ_READER_H
#define MERCER_FUZZ_READER_H

#include "data/reader.h"

#include <stdlib.h>

static inline int fuzz_reader(const char *format, const uint8_t *data, size_t size)
{
    mercer_ctx *ctx;
    mercer_reader *reader = NULL;
    mercer_read_options options;
    mercer_error err;
    if (size == 0 || mercer_ctx_new(&ctx, NULL) != MERCER_OK)
        return 0;
    mercer_read_options_init(&options);
    options.format = format;
    options.label = data[0] & 1 ? "1" : NULL;
    options.target = (data[0] & 3) == 2 ? "2" : NULL;
    mercer_status rc =
        mrc_reader_open_memory(ctx, "fuzz", data + 1, size - 1, &options, &reader, &err);
    while (rc == MERCER_OK) {
        mercer_table *block;
        rc = mercer_reader_next(ctx, reader, data[0] & 4 ? INT64_MAX : 1 + (data[0] >> 3), &block,
                                &err);
        if (rc != MERCER_OK || !block)
            break;
        const mercer_rows *rows = mercer_table_rows(block);
        if (mrc_first_not_finite(rows->x, rows->n * rows->d) >= 0)
            abort();
        mercer_table_free(block);
    }
    mercer_reader_close(reader);
    mercer_ctx_free(ctx);
    return 0;
}

#endif
