/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as LIBSVM text; the first byte chooses labels, columns and block size. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mercer_read_options options;
    if (size == 0)
        return fuzz_result(false);
    mercer_read_options_init(&options);
    int choice = data[0];
    options.format = "libsvm";
    options.label = choice & 1 ? "label" : NULL;
    options.target = (choice & 3) == 2 ? "target" : NULL;
    options.no_label = (choice & 7) == 4;
    options.columns = choice & 8 ? 1 + (choice >> 4) : 0;
    options.ignore_extra_columns = choice >> 7;
    fuzz_compare_skipping(&options, data + 1, size - 1, 1 + (choice >> 4));
    return fuzz_result(fuzz_compare(&options, NULL, data + 1, size - 1, 1 + (choice >> 4)));
}
