/* SPDX-License-Identifier: BSD-3-Clause */
/* Image files: their bytes as pixels. */
#ifndef MRC_IO_IMAGE_H
#define MRC_IO_IMAGE_H

#include "base/memory.h"
#include "data/image.h"

/* 8-bit pixels, row by row, `channels` values each. */
typedef struct mrc_pixels {
    int64_t width, height;
    int channels;
    unsigned char *values; /* owned; freed by mrc_free */
} mrc_pixels;

/* A value of 0 .. most as the nearest of 0 .. 255; most is at least 1. */
static inline unsigned char mrc_pixel_byte(int64_t value, int64_t most)
{
    return (unsigned char)((255 * value + most / 2) / most);
}

/* The bytes of an image file of any kind we read. path is for messages. Also on error the caller
 * frees out->values. */
mercer_status mrc_image_decode(const char *path, const unsigned char *bytes, size_t length,
                               mrc_pixels *out, mercer_error *err);

/* Bytes that decoding these takes at most, by the size they announce; 0 when it is not known. */
double mrc_image_room(const unsigned char *bytes, size_t length);
/* The same of what stb_image decodes. */
double mrc_stb_room(const unsigned char *bytes, size_t length);

/* PNG, JPEG or BMP bytes through stb_image: grey stays one channel, everything else becomes three;
 * transparency is left out, 16 bits are rounded to 8. *reason says what is wrong when the result is
 * false. */
bool mrc_stb_decode(const unsigned char *bytes, size_t length, mrc_pixels *out,
                    const char **reason);

#endif
