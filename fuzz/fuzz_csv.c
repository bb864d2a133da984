/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a CSV or TSV file; the first byte chooses format, columns and
 * block size. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mercer_read_options options;
    if (size == 0)
        return fuzz_result(false);
    mercer_read_options_init(&options);
    int choice = data[0];
    options.format = choice & 1 ? "tsv" : "csv";
    options.label = choice & 2 ? "1" : NULL;
    options.target = (choice & 6) == 4 ? "2,a" : NULL;
    options.no_label = (choice & 14) == 8;
    bool loaded = fuzz_compare(&options, NULL, data + 1, size - 1, 1 + (choice >> 4));
    fuzz_compare_skipping(&options, data + 1, size - 1, 1 + (choice >> 4));
    /* Text columns and missing values: learnt from the first block, and still finite numbers. */
    uint64_t sum;
    options.encode = "onehot";
    options.missing = choice & 16 ? "mean" : choice & 32 ? "drop" : NULL;
    fuzz_read(&options, NULL, data + 1, size - 1, INT64_MAX, &sum);
    fuzz_read(&options, NULL, data + 1, size - 1, 1 + (choice >> 4), &sum);
    return fuzz_result(loaded);
}
