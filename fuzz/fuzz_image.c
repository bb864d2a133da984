/* Any bytes as the file of an image.
 *
 * Build with clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -DMRC_THREADS_PTHREAD
 * -DMRC_HAVE_STB -Iinclude -Isrc, src/base and the readers of src/data, -lz -lm; run on a copy of
 * fuzz/corpus/image with ASAN_OPTIONS=allocator_may_return_null=1. */
#include "data/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mrc_pixels pixels;
    mercer_error err;
    mrc_image_decode("fuzz", data, size, &pixels, &err);
    mrc_free(pixels.values);
    return 0;
}
