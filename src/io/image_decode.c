/* SPDX-License-Identifier: BSD-3-Clause */
/* stb_image, compiled once, with our memory and only the formats whose errors it reports. */
#include "io/image.h"

#ifdef MRC_HAVE_STB
#include <limits.h>
#include <string.h>

/* Memory that can grow comes from mrc_grow alone, so all of it does. */
static void *stb_grow(void *old, size_t size)
{
    void *block = old;
    if (size > INT64_MAX || mrc_grow(&block, (int64_t)size, 1, NULL) != MERCER_OK)
        return NULL;
    return block;
}

/* Zeroed: version 2.27 of stb_image uses Huffman tables that a damaged JPEG never defines. */
static void *stb_new(size_t size)
{
    void *block = stb_grow(NULL, size);
    return block ? memset(block, 0, size) : NULL;
}

/* A byte of a file makes at most 8 x 1032 pixels (PNG of one bit); more is not believed. */
enum { PIXELS_PER_BYTE = 1 << 14 };

#define STBI_MALLOC(size) stb_new(size)
#define STBI_REALLOC(old, size) stb_grow(old, size)
#define STBI_FREE(block) mrc_free(block)
#define STBI_ASSERT(x) ((void)0) /* the library never ends the process */
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
/* Not restored: what it declares and leaves out is reported at the end of this file. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>

/* One segment of Huffman tables, from its length on: version 2.27 writes beyond its own table when
 * one has more than 256 codes. */
static bool tables_are_safe(const unsigned char *p, size_t left)
{
    if (left < 2)
        return true; /* it ends here; nothing of it can be read */
    size_t length = (size_t)(p[0] << 8 | p[1]), at = 2;
    while (at < length) { /* as it does: the last table may reach beyond the segment */
        size_t codes = 0;
        for (size_t i = at + 1; i <= at + 16 && i < left; i++)
            codes += p[i];
        if (codes > 256)
            return false;
        at += 17 + codes;
    }
    return at == length;
}

/* Whether all Huffman tables of a JPEG can be given to stb_image. Up to the first scan segments are
 * stepped over as it does; from there on every mark of a table counts, wherever it stands. */
static bool jpeg_is_safe(const unsigned char *bytes, size_t length)
{
    enum { MARK = 0xff, TABLES = 0xc4, SCAN = 0xda, FIRST_ALONE = 0xd0, LAST_ALONE = 0xd9 };
    bool scanning = false;
    for (size_t at = 0; at + 1 < length;) {
        int kind = bytes[at] == MARK ? bytes[at + 1] : 0;
        if (kind == TABLES && !tables_are_safe(bytes + at + 2, length - at - 2))
            return false;
        scanning |= kind == SCAN;
        bool segment =
            kind != 0 && kind != MARK && kind != 1 && !(kind >= FIRST_ALONE && kind <= LAST_ALONE);
        if (scanning || !segment || length - at < 4)
            at++;
        else
            at += 2 + (size_t)(bytes[at + 2] << 8 | bytes[at + 3]);
    }
    return true;
}

/* Whether the pixels of a PNG begin with data: version 2.27 copies an empty first chunk of them to
 * where there is no memory yet. */
static bool png_is_safe(const unsigned char *bytes, size_t length)
{
    enum { SIGNATURE = 8, HEAD = 8, CHECKSUM = 4 };
    for (size_t at = SIGNATURE; at < length && length - at >= HEAD;) {
        const unsigned char *p = bytes + at;
        size_t size = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        if (memcmp(p + 4, "IDAT", 4) == 0)
            return size > 0;
        at += HEAD + size + CHECKSUM;
    }
    return true;
}

/* Whether stb_image can be given these bytes; *reason says why not. */
static bool is_safe(const unsigned char *bytes, size_t length, const char **reason)
{
    *reason = "it is too large";
    if (length > INT_MAX)
        return false;
    *reason = "bad Huffman table";
    if (length > 2 && bytes[0] == 0xff && !jpeg_is_safe(bytes, length))
        return false;
    *reason = "it begins with an empty chunk of data";
    return !(length > 1 && bytes[0] == 0x89 && !png_is_safe(bytes, length));
}

double mrc_stb_room(const unsigned char *bytes, size_t length)
{
    /* A PNG has the unpacked file, the pixels and their final form in memory at once, a JPEG the
     * coefficients, the planes and the pixels. */
    enum { CHANNELS = 4, COPIES = 3 };
    int width = 0, height = 0, channels = 0;
    const char *reason;
    if (!is_safe(bytes, length, &reason) ||
        !stbi_info_from_memory(bytes, (int)length, &width, &height, &channels))
        return 0;
    int wide = stbi_is_16_bit_from_memory(bytes, (int)length) ? 2 : 1;
    return (double)width * height * CHANNELS * COPIES * wide;
}

/* The pixels of 16 bits as bytes, rounded: stb_image itself cuts the lower bits off. */
static unsigned char *load_16(const unsigned char *bytes, int length, int channels)
{
    enum { MOST = 65535 };
    int width = 0, height = 0, found = 0;
    stbi_us *wide = stbi_load_16_from_memory(bytes, length, &width, &height, &found, channels);
    unsigned char *values = (unsigned char *)wide;
    int64_t count = (int64_t)width * height * channels;
    for (int64_t i = 0; wide && i < count; i++) {
        stbi_us value;
        memcpy(&value, values + 2 * i, sizeof value);
        values[i] = mrc_pixel_byte(value, MOST);
    }
    return values;
}

bool mrc_stb_decode(const unsigned char *bytes, size_t length, mrc_pixels *out, const char **reason)
{
    int width = 0, height = 0, channels = 0;
    *out = (mrc_pixels){0};
    if (!is_safe(bytes, length, reason))
        return false;
    *reason = "it is too large";
    bool known = stbi_info_from_memory(bytes, (int)length, &width, &height, &channels);
    int64_t pixels = (int64_t)width * height;
    if (known && (width < 1 || height < 1 || pixels > MRC_MAX_PIXELS ||
                  pixels / PIXELS_PER_BYTE > (int64_t)length))
        return false;
    if (known) {
        out->channels = channels < 3 ? 1 : 3;
        out->values = stbi_is_16_bit_from_memory(bytes, (int)length)
                          ? load_16(bytes, (int)length, out->channels)
                          : stbi_load_from_memory(bytes, (int)length, &width, &height, &channels,
                                                  out->channels);
    }
    if (!out->values) {
        *reason = stbi_failure_reason();
        *reason = *reason ? *reason : "damaged";
        return false;
    }
    out->width = width;
    out->height = height;
    return true;
}
#else
double mrc_stb_room(const unsigned char *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    return 0;
}

bool mrc_stb_decode(const unsigned char *bytes, size_t length, mrc_pixels *out, const char **reason)
{
    (void)bytes;
    (void)length;
    *out = (mrc_pixels){0};
    *reason = "this build reads only PGM and PPM";
    return false;
}
#endif
