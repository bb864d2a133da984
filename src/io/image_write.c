/* SPDX-License-Identifier: BSD-3-Clause */
/* Images out: rows of a model that was fitted to pixels, to be looked at.
 *
 * PGM (grey) and PPM (colour) are a line of text and the bytes. PNG is one compressed block of
 * lines without prediction between three chunks of a few bytes; it is written here because zlib,
 * which is linked anyway, is all it takes, and stb_image_write does not survive a lack of memory.
 */
#include "base/output.h"
#include "data/image.h"
#include "io/input.h"

#include <mercer/image.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum kind { PNM, PNG };

static mercer_status find_kind(const char *path, const char *format, const mrc_image_size *size,
                               enum kind *out, mercer_error *err)
{
    const char *dot = strrchr(path, '.'), *name = format ? format : dot ? dot + 1 : "";
    *out = strcasecmp(name, "png") == 0 ? PNG : PNM;
    if (*out == PNG || strcasecmp(name, "pnm") == 0 ||
        strcasecmp(name, size->channels == 1 ? "pgm" : "ppm") == 0)
        return MERCER_OK;
    return mrc_fail_at(
        err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: a %s image is written as .%s or .png", path,
        size->channels == 1 ? "grey" : "colour", size->channels == 1 ? "pgm" : "ppm");
}

/* Whole numbers from 0 to 255, each line after `gap` zero bytes; returns how many did not fit. */
static int64_t to_bytes(const double *x, const mrc_image_size *size, int64_t gap,
                        unsigned char *out)
{
    int64_t clipped = 0, line = size->width * size->channels;
    for (int64_t y = 0; y < size->height; y++) {
        memset(out, 0, (size_t)gap);
        out += gap;
        for (int64_t i = 0; i < line; i++) {
            double value = round(x[y * line + i]);
            clipped += !(value >= 0 && value <= 255);
            *out++ = value >= 255 ? 255 : value > 0 ? (unsigned char)value : 0;
        }
    }
    return clipped;
}

static void put4(unsigned char *out, uint64_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* A chunk of a PNG file around data that are in place behind its head already: length, name, data,
 * checksum of the last two. Returns where the next one starts. */
static unsigned char *close_chunk(unsigned char *chunk, const char *name, size_t length)
{
    put4(chunk, length);
    memcpy(chunk + 4, name, 4);
    put4(chunk + 8 + length, crc32_z(0, chunk + 4, length + 4));
    return chunk + 12 + length;
}

/* The whole file, given its lines; the caller frees *out. */
static mercer_status make_png(const mrc_image_size *size, const unsigned char *lines, size_t length,
                              unsigned char **out, size_t *count, mercer_error *err)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    enum { HEADER = 13, CHUNKS = 3 * 12 + HEADER + sizeof signature };
    unsigned char *file = NULL;
    z_stream z = {.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
    bool live = false;
    mercer_status rc = MERCER_OK;
    if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK)
        MRC_FAIL(err, MERCER_ERR_MEMORY, "out of memory for compressing an image");
    live = true;
    uLong room = deflateBound(&z, length);
    MRC_TRY(mrc_alloc2_raw(&file, (int64_t)room + CHUNKS, 1, 1, err));
    memcpy(file, signature, sizeof signature);
    unsigned char *chunk = file + sizeof signature;
    memset(chunk + 8, 0, HEADER);
    put4(chunk + 8, (uint64_t)size->width);
    put4(chunk + 12, (uint64_t)size->height);
    chunk[16] = 8; /* bits */
    chunk[17] = size->channels == 1 ? 0 : size->channels == 3 ? 2 : 6;
    chunk = close_chunk(chunk, "IHDR", HEADER);
    z.next_in = (unsigned char *)lines; /* only read */
    z.avail_in = (uInt)length;
    z.next_out = chunk + 8;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        MRC_FAIL(err, MERCER_ERR_IO, "an image cannot be compressed");
    chunk = close_chunk(chunk, "IDAT", z.total_out);
    chunk = close_chunk(chunk, "IEND", 0);
    *count = (size_t)(chunk - file);
    *out = file;
    file = NULL;
out:
    if (live)
        deflateEnd(&z);
    mrc_free(file);
    return rc;
}

static mercer_status check_size(const mrc_image_size *size, bool opacity, mercer_error *err)
{
    if (size->width >= 1 && size->height >= 1 && size->width <= MRC_MAX_PIXELS / size->height &&
        (size->channels == 1 || size->channels == 3 || (opacity && size->channels == 4)))
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "an image of %lldx%lld pixels cannot be written",
                    (long long)size->width, (long long)size->height);
}

mercer_status mercer_image_to_png(const double *x, int64_t width, int64_t height, int64_t channels,
                                  int64_t *clipped, void **out, size_t *size, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(size);
    *size = 0;
    MRC_NEED(x);
    const mrc_image_size shape = {width, height, channels};
    unsigned char *lines = NULL, *file = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_size(&shape, true, err));
    int64_t length = mrc_image_values(&shape) + height;
    MRC_TRY(mrc_alloc2_raw(&lines, length, 1, 1, err));
    int64_t outside = to_bytes(x, &shape, 1, lines);
    MRC_TRY(make_png(&shape, lines, (size_t)length, &file, size, err));
    *out = file;
    if (clipped)
        *clipped += outside;
out:
    mrc_free(lines);
    return rc;
}

mercer_status mercer_image_write(mercer_ctx *ctx, const char *path, const char *format,
                                 const double *x, int64_t width, int64_t height, int64_t channels,
                                 int64_t *clipped, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(path);
    MRC_NEED(x);
    const mrc_image_size size = {width, height, channels};
    mrc_output *output = NULL;
    unsigned char *bytes = NULL, *file = NULL;
    enum kind kind;
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_size(&size, false, err));
    MRC_TRY(find_kind(path, format, &size, &kind, err));
    int64_t gap = kind == PNG ? 1 : 0; /* how a line of a PNG was predicted: not at all */
    int64_t length = mrc_image_values(&size) + gap * height;
    MRC_TRY(mrc_alloc2_raw(&bytes, length, 1, 1, err));
    int64_t outside = to_bytes(x, &size, gap, bytes);
    MRC_TRY(mrc_alloc(&output, 1, sizeof *output, err));
    output->fd = -1;
    MRC_TRY(mrc_output_open(output, ctx, path, err));
    if (kind == PNG) {
        size_t count;
        MRC_TRY(make_png(&size, bytes, (size_t)length, &file, &count, err));
        MRC_TRY(mrc_output_write(output, file, count, err));
    } else {
        char header[64];
        int head = snprintf(header, sizeof header, "P%d\n%lld %lld\n255\n", channels == 1 ? 5 : 6,
                            (long long)width, (long long)height);
        MRC_TRY(mrc_output_write(output, header, (size_t)head, err));
        MRC_TRY(mrc_output_write(output, bytes, (size_t)length, err));
    }
    MRC_TRY(mrc_output_finish(output, err));
    if (clipped)
        *clipped += outside;
out:
    if (output)
        mrc_output_abort(output); /* nothing to do once finished */
    mrc_free(output);
    mrc_free(file);
    mrc_free(bytes);
    return rc;
}
