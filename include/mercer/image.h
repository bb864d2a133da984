/* SPDX-License-Identifier: BSD-3-Clause */
/* Images in files; folders of them are read as tables, see <mercer/io.h>. */
#ifndef MERCER_IMAGE_H
#define MERCER_IMAGE_H

#include <mercer/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Write one image: height lines of width pixels of `channels` numbers (1: grey, 3: red, green and
 * blue), rounded to 0 .. 255. format: "pgm" (grey), "ppm" (colour), "png"; NULL: by the ending of
 * path. The file appears whole or not at all. *clipped grows by the count of numbers that lay
 * outside; clipped may be NULL. */
MERCER_API mercer_status mercer_image_write(mercer_ctx *ctx, const char *path, const char *format,
                                            const double *x, int64_t width, int64_t height,
                                            int64_t channels, int64_t *clipped, mercer_error *err);

/* The bytes of the same image as PNG, which may also have 4 channels: red, green, blue and how
 * opaque it is. On MERCER_OK the caller frees *out with mercer_free(); on error *out is NULL. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_image_to_png(const double *x, int64_t width,
                                                                 int64_t height, int64_t channels,
                                                                 int64_t *clipped, void **out,
                                                                 size_t *size, mercer_error *err);

#ifdef __cplusplus
}
#endif
#endif
