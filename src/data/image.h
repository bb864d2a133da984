/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of images whose pixels are rows. */
#ifndef MRC_DATA_IMAGE_H
#define MRC_DATA_IMAGE_H

#include <stdint.h>

#define MRC_MAX_PIXELS ((int64_t)1 << 26)

/* What all images of a table share. channels: 1 for grey, 3 for colour; all 0 for no images. */
typedef struct mrc_image_size {
    int64_t width, height, channels;
} mrc_image_size;

/* Numbers an image of this size has. */
static inline int64_t mrc_image_values(const mrc_image_size *size)
{
    return size->width * size->height * size->channels;
}

#endif
