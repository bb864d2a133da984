/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a MAT file; the first byte chooses columns and block size. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_format("mat", true, data, size);
}
