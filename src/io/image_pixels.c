/* SPDX-License-Identifier: BSD-3-Clause */
/* The pixels of one image: PGM and PPM are read here, others by stb_image (image_decode.c). The
 * library decodes images itself, or has the helper program mercer-read do it. */
#include "base/memory.h"
#include "base/number.h"
#include "io/image.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBER = 1 << 24 };

/* --- PGM and PPM --- */

struct scan {
    const unsigned char *p, *end;
};

/* The next number of a header or of text pixels, after blanks and comments; -1 for none. */
static int64_t scan_number(struct scan *scan)
{
    int64_t value = 0;
    while (scan->p < scan->end && (*scan->p == '#' || strchr(" \t\r\n\v\f", *scan->p))) {
        if (*scan->p == 0)
            return -1;
        if (*scan->p == '#')
            while (scan->p < scan->end && *scan->p != '\n')
                scan->p++;
        else
            scan->p++;
    }
    const unsigned char *first = scan->p;
    for (; scan->p < scan->end && *scan->p >= '0' && *scan->p <= '9'; scan->p++)
        value = value < MAX_NUMBER ? 10 * value + (*scan->p - '0') : value;
    return scan->p > first ? value : -1;
}

static mercer_status decode_pnm(const char *path, const unsigned char *bytes, size_t length,
                                mrc_pixels *out, mercer_error *err)
{
    struct scan scan = {bytes + 2, bytes + length};
    bool text = bytes[1] < '4';
    mercer_status rc = MERCER_OK;
    out->channels = bytes[1] == '2' || bytes[1] == '5' ? 1 : 3;
    out->width = scan_number(&scan);
    out->height = scan_number(&scan);
    int64_t most = scan_number(&scan);
    if (out->width < 1 || out->height < 1 || most < 1 || most > 65535 ||
        out->width > MRC_MAX_PIXELS / out->height)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: the header of the image is damaged",
                    path);
    int64_t count = out->width * out->height * out->channels;
    int64_t width = most > 255 ? 2 : 1, there = scan.end - scan.p - 1;
    if (text ? there < 2 * count - 1 : there < count * width)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: %lld bytes of pixels where %lld were expected (truncated file)", path,
                    (long long)(there < 0 ? 0 : there),
                    (long long)(text ? 2 * count - 1 : count * width));
    MRC_TRY(mrc_alloc2_raw(&out->values, count, 1, 1, err));
    const unsigned char *p = scan.p + 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t value = text         ? scan_number(&scan)
                        : width == 2 ? p[2 * i] << 8 | p[2 * i + 1]
                                     : p[i];
        if (value < 0 || value > most)
            MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                        "%s: pixel %lld is not a number from 0 to %lld", path, (long long)i + 1,
                        (long long)most);
        out->values[i] = mrc_pixel_byte(value, most);
    }
out:
    return rc;
}

/* --- others --- */

static uint32_t get4(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* What stb_image does not say about a BMP: it takes what is missing at the end, or in the palette,
 * for black, and a palette for colours although all of them may be grey. */
struct bmp {
    const char *damage; /* NULL: none */
    bool grey;
};

static struct bmp look_at_bmp(const unsigned char *bytes, size_t length)
{
    enum { FILE_HEADER = 14, HEADER = 40 };
    static const char *const cut = "it is truncated";
    struct bmp bmp = {.damage = length < FILE_HEADER + HEADER ? cut : NULL};
    if (bmp.damage || get4(bytes + FILE_HEADER) < HEADER)
        return bmp; /* the old header has its sizes elsewhere */
    int64_t pixels = get4(bytes + 10), palette = FILE_HEADER + (int64_t)get4(bytes + FILE_HEADER);
    int64_t width = (int32_t)get4(bytes + 18), height = llabs((int64_t)(int32_t)get4(bytes + 22));
    int64_t bits = bytes[28] | bytes[29] << 8, line = (width * bits + 31) / 32 * 4;
    int64_t colours = get4(bytes + 46);
    if (width < 0 || height > MRC_MAX_PIXELS || width > MRC_MAX_PIXELS ||
        pixels > (int64_t)length || line > ((int64_t)length - pixels) / (height ? height : 1))
        bmp.damage = cut;
    else if (bits <= 8 && (pixels - palette) / 4 < (colours > 0 ? colours : (int64_t)1 << bits))
        bmp.damage = "its palette is cut off";
    bmp.grey = bits <= 8 && palette < pixels;
    for (int64_t i = palette; !bmp.damage && bmp.grey && i + 4 <= pixels; i += 4)
        bmp.grey = bytes[i] == bytes[i + 1] && bytes[i] == bytes[i + 2];
    return bmp;
}

mercer_status mrc_image_decode(const char *path, const unsigned char *bytes, size_t length,
                               mrc_pixels *out, mercer_error *err)
{
    *out = (mrc_pixels){0};
    const char *reason = NULL;
    char shown[MRC_SHOWN_SIZE];
    if (length > 2 && bytes[0] == 'P' && memchr("2356", bytes[1], 4))
        return decode_pnm(path, bytes, length, out, err);
    struct bmp bmp = {0};
    if (length > 2 && memcmp(bytes, "BM", 2) == 0)
        bmp = look_at_bmp(bytes, length);
    if (!bmp.damage && mrc_stb_decode(bytes, length, out, &reason)) {
        for (int64_t i = 0; bmp.grey && out->channels == 3 && i < out->width * out->height; i++)
            out->values[i] = out->values[3 * i];
        out->channels = bmp.grey ? 1 : out->channels;
        return MERCER_OK;
    }
    reason = bmp.damage ? bmp.damage : reason;
    bool memory = strcmp(reason, "outofmem") == 0;
    return mrc_fail(err, memory ? MERCER_ERR_MEMORY : MERCER_ERR_FORMAT,
                    "%s: is not a whole PGM, PPM, PNG, JPEG or BMP image (%s)", path,
                    mrc_show(shown, reason, strlen(reason))); /* it may name a chunk of the file */
}

double mrc_image_room(const unsigned char *bytes, size_t length)
{
    if (length > 2 && bytes[0] == 'P' && memchr("2356", bytes[1], 4)) {
        struct scan scan = {bytes + 2, bytes + length};
        double width = (double)scan_number(&scan), height = (double)scan_number(&scan);
        return width * height * (bytes[1] == '2' || bytes[1] == '5' ? 1 : 3);
    }
    return mrc_stb_room(bytes, length);
}
