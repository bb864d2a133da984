/* Any bytes as an NPY file; the first byte chooses columns and block size.
 *
 * Build with clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -DMRC_THREADS_PTHREAD
 * -Iinclude -Isrc, src/base and the readers of src/data, -lz -lm; run on a copy of fuzz/corpus/npy
 * with ASAN_OPTIONS=allocator_may_return_null=1. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_reader("npy", data, size);
}
