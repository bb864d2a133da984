/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy's array files.
 *
 * A magic string, a version, the length of a header, the header (a Python dictionary with 'descr',
 * 'fortran_order' and 'shape') and the raw values. Of more than two axes the first counts the rows
 * and the others are flattened row-major; of one axis every value is a row. All real dtypes are
 * turned into doubles, of which integers beyond 2^53 round; small types are kept in little memory.
 *
 * Nothing is believed: lengths are compared with the bytes that are there before memory is asked
 * for, and where their number is not known (a pipe, gzip) memory grows as they come. C order is
 * read block by block; Fortran order has to be read whole, because its first row ends at the last
 * value.
 */
#include "io/npy.h"
#include "base/number.h"
#include "io/writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PREFIX = 10,           /* magic, version and the first two bytes of the length */
    MAX_HEADER = 1 << 16,  /* a plain dtype and a shape need a hundred bytes */
    CHUNK_BYTES = 1 << 18, /* converted at a time; fits the second-level cache */
    GROW_BYTES = 1 << 24,  /* first step of memory for a stream of unknown length */
    MAX_AXES = 32,         /* as in NumPy */
    DTYPE_SIZE = 32
};

struct npy {
    mrc_input *input;   /* borrowed */
    mrc_budget *budget; /* likewise; or NULL */
    int64_t rows, columns;
    int kind;  /* 'f', 'i', 'u' or 'b' */
    int width; /* bytes per value */
    bool swapped, fortran;
    int64_t chunk_rows;  /* rows converted at a time at most */
    unsigned char *raw;  /* a chunk of the file as it is; of a Fortran array, all of it */
    int64_t *order;      /* Fortran, 3 axes or more: where each column is stored; or NULL */
    mrc_image_size size; /* when each row is an image */
};

struct header {
    const char *p, *end;
    char dtype[DTYPE_SIZE];
    int fortran; /* -1 until seen */
    int axes;    /* -1 until seen */
    int64_t shape[MAX_AXES];
    bool parsed;
};

static void skip_space(struct header *h)
{
    while (h->p < h->end && (*h->p == ' ' || *h->p == '\n' || *h->p == '\t'))
        h->p++;
}

/* Take c when it comes next, after blanks. */
static bool take(struct header *h, char c)
{
    skip_space(h);
    if (h->p >= h->end || *h->p != c)
        return false;
    h->p++;
    return true;
}

static bool take_word(struct header *h, const char *word)
{
    size_t length = strlen(word);
    skip_space(h);
    if ((size_t)(h->end - h->p) < length || memcmp(h->p, word, length) != 0)
        return false;
    h->p += length;
    return true;
}

/* A quoted string of fewer than size bytes. */
static bool take_string(struct header *h, char *out, size_t size)
{
    skip_space(h);
    if (h->p >= h->end || (*h->p != '\'' && *h->p != '"'))
        return false;
    const char *first = h->p + 1, *close = memchr(first, *h->p, (size_t)(h->end - first));
    if (!close || (size_t)(close - first) >= size)
        return false;
    memcpy(out, first, (size_t)(close - first));
    out[close - first] = 0;
    h->p = close + 1;
    return true;
}

static bool take_shape(struct header *h)
{
    int axes = 0;
    if (!take(h, '('))
        return false;
    while (!take(h, ')')) {
        const char *first;
        skip_space(h);
        first = h->p;
        while (h->p < h->end && *h->p >= '0' && *h->p <= '9')
            h->p++;
        if (axes == MAX_AXES || !mrc_parse_int(first, (size_t)(h->p - first), &h->shape[axes]))
            return false;
        axes++;
        take(h, 'L'); /* written by Python 2 */
        if (!take(h, ',') && (skip_space(h), h->p >= h->end || *h->p != ')'))
            return false;
    }
    h->axes = axes;
    return true;
}

static bool parse_header(struct header *h)
{
    if (!take(h, '{'))
        return false;
    while (!take(h, '}')) {
        char key[DTYPE_SIZE];
        if (!take_string(h, key, sizeof key) || !take(h, ':'))
            return false;
        if (strcmp(key, "descr") == 0) {
            if (!take_string(h, h->dtype, sizeof h->dtype)) {
                memcpy(h->dtype, "with fields", sizeof "with fields");
                return true; /* a list: refused as a dtype, the rest does not matter */
            }
        } else if (strcmp(key, "fortran_order") == 0) {
            h->fortran = take_word(h, "True") ? 1 : take_word(h, "False") ? 0 : -1;
            if (h->fortran < 0)
                return false;
        } else if (strcmp(key, "shape") != 0 || !take_shape(h)) {
            return false;
        }
        if (!take(h, ',') && (h->p >= h->end || *h->p != '}'))
            return false;
    }
    while (h->p < h->end && *h->p == ' ') /* what fills the header up */
        h->p++;
    return h->p == h->end || (*h->p == '\n' && h->p + 1 == h->end);
}

/* "<f8" and its kin into kind, width and byte order. */
static bool parse_dtype(struct npy *npy, const char *dtype)
{
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (strlen(dtype) != 3 || !strchr("<>|=", dtype[0]) || !strchr("fiub", dtype[1]))
        return false;
    npy->kind = (unsigned char)dtype[1];
    npy->width = dtype[2] - '0';
    npy->swapped = (dtype[0] == '<' && !little) || (dtype[0] == '>' && little);
    switch (npy->kind) {
    case 'f':
        return npy->width == 2 || npy->width == 4 || npy->width == 8;
    case 'b':
        return npy->width == 1;
    default:
        return npy->width == 1 || npy->width == 2 || npy->width == 4 || npy->width == 8;
    }
}

static mercer_status fail_short(const struct npy *npy, mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                       "%s: the NPY header ends too early (truncated file)", npy->input->shown);
}

/* Rows, columns and dtype from the text of the header. */
static mercer_status use_header(struct npy *npy, struct header *h, mercer_error *err)
{
    const char *file = npy->input->shown;
    int64_t columns = 1, values, bytes;
    bool fits = true;
    bool parsed = h->parsed;
    if (parsed && h->dtype[0] && !parse_dtype(npy, h->dtype)) {
        char shown[MRC_SHOWN_SIZE];
        return mrc_fail_at(
            err, MERCER_ERR_FORMAT, MRC_IN_FILE,
            "%s: values of type '%s' cannot be read (only f2 f4 f8 i1..i8 u1..u8 b1)", file,
            mrc_show(shown, h->dtype, strlen(h->dtype)));
    }
    if (!parsed || !h->dtype[0] || h->fortran < 0 || h->axes < 0)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: the NPY header is damaged",
                           file);
    if (h->axes == 0)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE,
                           "%s: holds a single number, not a table", file);
    for (int i = 1; i < h->axes; i++)
        fits = fits && !__builtin_mul_overflow(columns, h->shape[i], &columns);
    npy->rows = h->shape[0];
    npy->columns = columns;
    /* Doubles have to be addressable as well, whatever the width in the file. */
    fits = fits && !__builtin_mul_overflow(npy->rows, columns, &values) &&
           !__builtin_mul_overflow(values, (int64_t)sizeof(double), &bytes);
    if (!fits)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: the shape in the NPY header is too large", file);
    if (npy->rows == 0 || columns == 0)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: has no %s", file,
                           npy->rows == 0 ? "rows" : "columns");
    npy->fortran = h->fortran && columns > 1 && (npy->rows > 1 || h->axes > 2);
    bytes = values * npy->width;
    if (mrc_input_left(npy->input) < bytes)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: %lld bytes of data where %lld were expected (truncated file)", file,
                           (long long)mrc_input_left(npy->input), (long long)bytes);
    return MERCER_OK;
}

/* In Fortran order the axes behind the first one are stored column-major among themselves, too;
 * `order` then says from which stored column each of ours is taken. */
static int64_t stored_column(const int64_t *shape, int axes, int64_t column)
{
    int64_t stored = 0, stride = 1, rest = column;
    int64_t index[MAX_AXES] = {0};
    for (int i = axes - 1; i >= 1; i--) {
        index[i] = rest % shape[i];
        rest /= shape[i];
    }
    for (int i = 1; i < axes; i++) {
        stored += index[i] * stride;
        stride *= shape[i];
    }
    return stored;
}

/* Read and parse the header; *text is owned by the caller, also on error. */
static mercer_status read_header(struct npy *npy, struct header *h, char **text, mercer_error *err)
{
    unsigned char prefix[PREFIX + 2];
    mrc_input *input = npy->input;
    size_t got, length, more = 0;
    mercer_status rc = MERCER_OK;
    *text = NULL;
    MRC_TRY(mrc_input_read(input, prefix, PREFIX, &got, err));
    if (got == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is empty", input->shown);
    if (got < 6 || memcmp(prefix, "\x93NUMPY", 6) != 0)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: is not an NPY file", input->shown);
    if (got < PREFIX)
        MRC_TRY(fail_short(npy, err));
    if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: NPY version %d.%d is not known",
                    input->shown, prefix[6], prefix[7]);
    length = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    if (prefix[6] > 1) {
        MRC_TRY(mrc_input_read(input, prefix + PREFIX, 2, &more, err));
        if (more < 2)
            MRC_TRY(fail_short(npy, err));
        length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (mrc_input_left(input) < (int64_t)length)
        MRC_TRY(fail_short(npy, err));
    if (length > MAX_HEADER)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: an NPY header of %zu bytes is too long for a table", input->shown, length);
    MRC_TRY(mrc_alloc(text, (int64_t)length + 1, 1, err));
    MRC_TRY(mrc_input_read(input, *text, length, &got, err));
    if (got < length)
        MRC_TRY(fail_short(npy, err));
    *h = (struct header){.p = *text, .end = *text + length, .fortran = -1, .axes = -1};
    h->parsed = parse_header(h);
out:
    return rc;
}

mercer_status mrc_npy_peek(mrc_input *input, mrc_arrays *arrays, const char *name,
                           mercer_error *err)
{
    struct npy npy = {.input = input};
    struct header h;
    char *text = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(read_header(&npy, &h, &text, err));
    if (h.parsed && h.dtype[0] && !parse_dtype(&npy, h.dtype))
        MRC_TRY(mrc_arrays_add_other(arrays, name, "no numbers", err));
    else if (h.parsed && h.axes >= 0)
        MRC_TRY(mrc_arrays_add(arrays, name, h.axes, h.shape, err));
    else
        MRC_TRY(mrc_arrays_add_other(arrays, name, "damaged", err));
out:
    mrc_free(text);
    return rc;
}

/* IEEE half precision: 1 sign bit, 5 exponent bits, 10 mantissa bits. */
static double half_to_double(uint16_t half)
{
    int exponent = (half >> 10) & 31, mantissa = half & 1023;
    double value;
    if (exponent == 31)
        value = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, -24);
    else
        value = ldexp(mantissa + 1024, exponent - 25);
    return half & 0x8000 ? -value : value;
}

/* Convert count values at raw into out. */
static void convert(const struct npy *npy, const unsigned char *raw, int64_t count, double *out)
{
    int kind = npy->kind == 'b' ? 'u' : npy->kind, width = npy->width;
#define CONVERT(letter, bytes, type, swap, expression)                                             \
    if (kind == letter && width == bytes) {                                                        \
        for (int64_t i = 0; i < count; i++) {                                                      \
            uint##bytes##_bits bits;                                                               \
            type value;                                                                            \
            memcpy(&bits, raw + i * bytes, bytes);                                                 \
            if (npy->swapped)                                                                      \
                bits = swap(bits);                                                                 \
            memcpy(&value, &bits, bytes);                                                          \
            out[i] = expression;                                                                   \
        }                                                                                          \
        return;                                                                                    \
    }
#define SAME(bits) (bits)
    typedef uint8_t uint1_bits;
    typedef uint16_t uint2_bits;
    typedef uint32_t uint4_bits;
    typedef uint64_t uint8_bits;
    CONVERT('f', 8, double, __builtin_bswap64, value)
    CONVERT('f', 4, float, __builtin_bswap32, (double)value)
    CONVERT('f', 2, uint16_t, __builtin_bswap16, half_to_double(value))
    CONVERT('i', 8, int64_t, __builtin_bswap64, (double)value)
    CONVERT('i', 4, int32_t, __builtin_bswap32, value)
    CONVERT('i', 2, int16_t, __builtin_bswap16, value)
    CONVERT('i', 1, int8_t, SAME, value)
    CONVERT('u', 8, uint64_t, __builtin_bswap64, (double)value)
    CONVERT('u', 4, uint32_t, __builtin_bswap32, value)
    CONVERT('u', 2, uint16_t, __builtin_bswap16, value)
    CONVERT('u', 1, uint8_t, SAME, npy->kind == 'b' ? value != 0 : value)
#undef SAME
#undef CONVERT
}

/* Read exactly this many bytes, `before` of the data having been read. */
static mercer_status read_bytes(struct npy *npy, void *out, int64_t bytes, int64_t before,
                                mercer_error *err)
{
    size_t got;
    mercer_status rc = mrc_input_read(npy->input, out, (size_t)bytes, &got, err);
    if (rc == MERCER_OK && (int64_t)got < bytes)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: %lld bytes of data where %lld were expected (truncated file)",
                           npy->input->shown, (long long)(before + (int64_t)got),
                           (long long)(npy->rows * npy->columns * npy->width));
    return rc;
}

/* All bytes of a Fortran array; memory grows as they come unless the file's size vouches for them.
 */
static mercer_status read_fortran(struct npy *npy, mercer_ctx *ctx, mercer_error *err)
{
    int64_t bytes = npy->rows * npy->columns * npy->width, have = 0, room = 0;
    mercer_status rc = MERCER_OK;
    while (have < bytes) {
        int64_t wanted = bytes - have < CHUNK_BYTES ? bytes - have : CHUNK_BYTES;
        if (have + wanted > room) {
            room = mrc_input_left(npy->input) < INT64_MAX ? bytes : 2 * room + GROW_BYTES;
            room = room < bytes ? room : bytes;
            MRC_TRY(mrc_grow(&npy->raw, room, 1, err));
        }
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(read_bytes(npy, npy->raw + have, wanted, have, err));
        have += wanted;
        mrc_progress(ctx, "reading", (double)have / (double)bytes);
    }
out:
    return rc;
}

/* The next count rows of the file as doubles; for mrc_matrix. */
static mercer_status read_rows(void *self, mercer_ctx *ctx, int64_t first, int64_t count,
                               double *out, mercer_error *err)
{
    enum { PART = 256 };
    struct npy *npy = self;
    mercer_status rc = MERCER_OK;
    if (npy->fortran && !npy->raw)
        MRC_TRY(read_fortran(npy, ctx, err));
    if (npy->fortran) {
        for (int64_t j = 0; j < npy->columns; j++) {
            int64_t stored = npy->order ? npy->order[j] : j;
            const unsigned char *column = npy->raw + (stored * npy->rows + first) * npy->width;
            for (int64_t i = 0; i < count; i += PART) {
                double part[PART];
                int64_t length = count - i < PART ? count - i : PART;
                convert(npy, column + i * npy->width, length, part);
                for (int64_t k = 0; k < length; k++)
                    out[(i + k) * npy->columns + j] = part[k];
            }
        }
    } else {
        int64_t values = count * npy->columns, before = first * npy->columns * npy->width;
        bool as_is = npy->kind == 'f' && npy->width == 8 && !npy->swapped;
        if (!as_is && !npy->raw) {
            MRC_TRY(mrc_budget_take(npy->budget, npy->chunk_rows * npy->columns, npy->width,
                                    "rows as long as these", err));
            MRC_TRY(mrc_alloc2_raw(&npy->raw, npy->chunk_rows, npy->columns * npy->width, 1, err));
        }
        MRC_TRY(read_bytes(npy, as_is ? (void *)out : npy->raw, values * npy->width, before, err));
        if (!as_is)
            convert(npy, npy->raw, values, out);
    }
out:
    return rc;
}

/* What holds all values of the array. */
static mrc_dtype dtype_of(const struct npy *npy)
{
    if (npy->width == 1 && npy->kind != 'i')
        return MRC_U8;
    return npy->width <= 2 || (npy->width == 4 && npy->kind == 'f') ? MRC_F32 : MRC_F64;
}

static void destroy(void *self)
{
    struct npy *npy = self;
    if (!npy)
        return;
    mrc_free(npy->raw);
    mrc_free(npy->order);
    mrc_free(npy);
}

mercer_status mrc_npy_open(mrc_input *input, mrc_matrix *matrix, mercer_error *err)
{
    mrc_budget *budget = matrix->budget;
    struct npy *npy = NULL;
    static const char whole[] = "its values, which can only be read at once (Fortran order),";
    struct header h;
    char *text = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&npy, 1, sizeof *npy, err));
    npy->input = input;
    npy->budget = budget;
    MRC_TRY(read_header(npy, &h, &text, err));
    MRC_TRY(use_header(npy, &h, err));
    if (npy->fortran)
        MRC_TRY(mrc_budget_take(budget, npy->rows * npy->columns, npy->width, whole, err));
    if (npy->fortran && h.axes > 2) {
        MRC_TRY(mrc_budget_take(budget, npy->columns, sizeof *npy->order, whole, err));
        MRC_TRY(mrc_alloc2_raw(&npy->order, npy->columns, 1, sizeof *npy->order, err));
        for (int64_t i = 0; i < npy->columns; i++)
            npy->order[i] = stored_column(h.shape, h.axes, i);
    }
    npy->size = mrc_matrix_images(h.axes, h.shape);
    *matrix = (mrc_matrix){.budget = budget,
                           .shown = input->shown,
                           .rows = npy->rows,
                           .columns = npy->columns,
                           .vouched = mrc_input_left(input) < INT64_MAX,
                           .size = npy->size,
                           .dtype = dtype_of(npy),
                           .read = read_rows,
                           .destroy = destroy,
                           .self = npy};
    npy->chunk_rows = mrc_matrix_chunk(matrix);
    npy = NULL;
out:
    mrc_free(text);
    destroy(npy);
    return rc;
}

static mercer_status npy_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                              mercer_error *err)
{
    mrc_matrix *matrix;
    mercer_status rc = MERCER_OK;
    (void)ctx;
    MRC_TRY(mrc_matrix_new(source, &matrix, err));
    *self = matrix;
    MRC_TRY(mrc_npy_open(&source->input, matrix, err));
    mrc_matrix_describe(matrix, source);
out:
    return rc;
}

static mercer_status npy_skip(void *self, mercer_ctx *ctx, int64_t rows, int64_t *skipped,
                              mercer_error *err)
{
    mrc_matrix *matrix = self;
    const struct npy *npy = matrix->self;
    const int64_t left = matrix->rows - matrix->next;
    (void)ctx;
    *skipped = 0;
    if (npy->fortran)
        return mrc_fail_at(err, MERCER_ERR_UNSUPPORTED, MRC_IN_FILE,
                           "%s: its values lie column by column (Fortran order), so rows cannot be "
                           "read without all others: save it in C order",
                           npy->input->shown);
    rows = rows < left ? rows : left;
    matrix->next += rows;
    *skipped = rows;
    return mrc_input_skip(npy->input, rows * npy->columns * npy->width, err);
}

/* --- writing --- */

enum { HEADER_SIZE = 128 }; /* as NumPy writes it; leaves room for any shape */

static void npy_header(const mercer_writer *writer, char out[HEADER_SIZE])
{
    static const unsigned char prefix[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, HEADER_SIZE - 10,
                                           0};
    char text[HEADER_SIZE];
    int length = snprintf(text, sizeof text,
                          "{'descr': '<f8', 'fortran_order': False, 'shape': (%lld, %lld), }",
                          (long long)writer->rows, (long long)writer->columns);
    memset(out, ' ', HEADER_SIZE);
    memcpy(out, prefix, sizeof prefix);
    memcpy(out + sizeof prefix, text, (size_t)length);
    out[HEADER_SIZE - 1] = '\n';
}

/* Little-endian bytes of doubles; x itself on nearly all machines. */
static mercer_status put_doubles(mercer_writer *writer, const double *x, int64_t count,
                                 mercer_error *err)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return mrc_writer_put(writer, (const char *)x, (size_t)count * sizeof *x, err);
#else
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < count && rc == MERCER_OK; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits = __builtin_bswap64(bits);
        rc = mrc_writer_put(writer, (const char *)&bits, sizeof bits, err);
    }
    return rc;
#endif
}

/* Write the NPY header again, now that the number of rows is known. */
static mercer_status rewrite_header(mercer_writer *writer, mercer_error *err)
{
    char header[HEADER_SIZE];
    size_t done = 0;
    npy_header(writer, header);
    while (done < sizeof header) {
        ssize_t part = pwrite(writer->output.fd, header + done, sizeof header - done, (off_t)done);
        if (part < 0 && errno != EINTR)
            return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot write",
                                  writer->output.shown);
        done += part > 0 ? (size_t)part : 0;
    }
    return MERCER_OK;
}

static mercer_status npy_check(const char *path, const char *text_name, mercer_error *err)
{
    if (!text_name)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                       "%s: an NPY file cannot hold the text column '%s' (csv and tsv can)", path,
                       text_name);
}

/* The row count stands in the header but is known only at the end: in a file the header is written
 * again in place, everything else (a pipe, gzip) has to wait in memory. */
static mercer_status npy_begin(mercer_writer *writer, const char *const *names,
                               const char *const *text_names, mercer_error *err)
{
    char header[HEADER_SIZE];
    (void)names;
    (void)text_names;
    writer->holds = writer->gzip || writer->output.slot < 0;
    if (writer->holds)
        return MERCER_OK;
    npy_header(writer, header);
    return mrc_writer_put(writer, header, sizeof header, err);
}

static mercer_status npy_row(mercer_writer *writer, const double *x, const char *const *text,
                             mercer_error *err)
{
    (void)text;
    return put_doubles(writer, x, writer->columns, err);
}

static mercer_status npy_end(mercer_writer *writer, mercer_error *err)
{
    char header[HEADER_SIZE];
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_writer_pass_on(writer, err));
    if (!writer->holds) {
        MRC_TRY(rewrite_header(writer, err));
        goto out;
    }
    npy_header(writer, header);
    MRC_TRY(mrc_writer_put(writer, header, sizeof header, err));
    MRC_TRY(mrc_writer_release(writer, err));
out:
    return rc;
}

static const mrc_format_writer npy_writer = {
    .at_end = true,
    .check = npy_check,
    .begin = npy_begin,
    .row = npy_row,
    .end = npy_end,
};

const mrc_format mrc_format_npy = {
    .entry = {.name = "npy", .summary = "arrays of NumPy"},
    .endings = ".npy",
    .magic = "\x93NUMPY",
    .open = npy_open,
    .rows = mrc_matrix_rows,
    .skip = npy_skip,
    .close = mrc_matrix_close,
    .writer = &npy_writer,
};
