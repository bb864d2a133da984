/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the file of an image. */
#include "fuzz_seed.h"

#include "io/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mrc_pixels pixels;
    mercer_error err;
    mercer_status rc = mrc_image_decode("fuzz", data, size, &pixels, &err);
    mrc_free(pixels.values);
    return fuzz_result(rc == MERCER_OK);
}
