/* Any bytes as CSV or TSV: the first byte chooses separator, columns and block size, the rest is
 * the file. Whole and blockwise reading must agree.
 *
 * Build with clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -DMRC_THREADS_PTHREAD
 * -Iinclude -Isrc, src/base and the readers of src/data, -lz -lm; run on a copy of fuzz/corpus/csv
 * with ASAN_OPTIONS=allocator_may_return_null=1. */
#include "data/reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read all blocks; returns the number of rows, or minus the status. sum: of the values seen. */
static int64_t read_all(mercer_ctx *ctx, const mercer_read_options *options, const void *bytes,
                        size_t count, int64_t max_rows, uint64_t *sum)
{
    mercer_reader *reader = NULL;
    int64_t rows = 0;
    mercer_error err;
    mercer_status rc = mrc_reader_open_memory(ctx, "fuzz", bytes, count, options, &reader, &err);
    *sum = 0;
    while (rc == MERCER_OK) {
        mercer_table *block;
        rc = mercer_reader_next(ctx, reader, max_rows, &block, &err);
        if (rc != MERCER_OK || !block)
            break;
        const mercer_rows *part = mercer_table_rows(block);
        if (mrc_first_not_finite(part->x, part->n * part->d) >= 0)
            abort();
        for (int64_t i = 0; i < part->n * part->d; i++) {
            uint64_t bits;
            memcpy(&bits, &part->x[i], sizeof bits);
            *sum = *sum * 31 + bits;
        }
        rows += part->n;
        mercer_table_free(block);
    }
    mercer_reader_close(reader);
    return rc == MERCER_OK ? rows : -(int64_t)rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mercer_ctx *ctx;
    mercer_read_options options;
    uint64_t whole_sum, block_sum;
    if (size == 0 || mercer_ctx_new(&ctx, NULL) != MERCER_OK)
        return 0;
    int choice = data[0];
    mercer_read_options_init(&options);
    options.format = choice & 1 ? "tsv" : "csv";
    options.label = choice & 2 ? "1" : NULL;
    options.target = (choice & 6) == 4 ? "2,a" : NULL;
    options.no_label = (choice & 14) == 8;
    int64_t whole = read_all(ctx, &options, data + 1, size - 1, INT64_MAX, &whole_sum);
    int64_t blocks = read_all(ctx, &options, data + 1, size - 1, 1 + (choice >> 4), &block_sum);
    if (whole != blocks || (whole >= 0 && whole_sum != block_sum))
        abort();
    /* Text columns and missing values: learnt from the first block, and still finite numbers. */
    options.encode = "onehot";
    options.missing = choice & 16 ? "mean" : choice & 32 ? "drop" : NULL;
    read_all(ctx, &options, data + 1, size - 1, INT64_MAX, &whole_sum);
    read_all(ctx, &options, data + 1, size - 1, 1 + (choice >> 4), &block_sum);
    mercer_ctx_free(ctx);
    return 0;
}
