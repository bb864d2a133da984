/* One image as numbers. */
#ifndef MRC_DATA_IMAGE_H
#define MRC_DATA_IMAGE_H

#include "base/memory.h"

#define MRC_PIXELS_MOST ((int64_t)1 << 28)

/* 8-bit pixels, row by row, `channels` values each. */
typedef struct mrc_pixels {
    int64_t width, height;
    int channels;
    unsigned char *values; /* owned; freed by mrc_free */
} mrc_pixels;

/* Whether stb_image was there when this was built. */
extern const bool mrc_stb_there;

/* PNG, JPEG or BMP bytes through stb_image: grey stays one channel, everything else becomes three;
 * transparency is left out. *reason says what is wrong when the result is false. */
bool mrc_stb_decode(const unsigned char *bytes, size_t length, mrc_pixels *out,
                    const char **reason);

#endif
