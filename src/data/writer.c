/* Writing tables of numbers: CSV, TSV, NPY and LIBSVM text, plain or gzipped.
 *
 * Rows are formatted into one buffer, which goes to the output file directly or through zlib. The
 * row count stands in the header of an NPY file but is known only at the end: in a file the header
 * is written again in place, everything else (a pipe, gzip) has to wait in memory for the end. */
#include "base/number.h"
#include "base/output.h"
#include "data/reader.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER_SIZE = 1 << 17, /* bytes per write() */
    NPY_HEADER = 128,      /* as NumPy writes it; leaves room for any shape */
    GZIP_LEVEL = 6,        /* zlib's own default; higher is slower and hardly smaller */
    GZIP_WINDOW = 15 + 16, /* largest window, gzip wrapper */
    GZIP_MEMORY = 8
};

struct mercer_writer {
    mrc_output output;
    mrc_format format;
    char delimiter;
    bool with_text, gzip, gzip_live, held;
    int64_t columns, rows;
    char *buffer;
    size_t used;
    unsigned char *packed; /* output of zlib */
    z_stream z;
    double *waiting; /* NPY rows that wait for the end */
    int64_t waiting_capacity;
    double *wide; /* a sparse or packed row as doubles */
};

/* Send bytes on, through zlib when the file is compressed. last: nothing follows. */
static mercer_status send(mercer_writer *writer, const void *data, size_t bytes, bool last,
                          mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!writer->gzip)
        return mrc_output_write(&writer->output, data, bytes, err);
    const unsigned char *p = data;
    int status = Z_OK;
    do {
        uInt part = bytes < BUFFER_SIZE ? (uInt)bytes : BUFFER_SIZE;
        bool final = last && part == bytes;
        writer->z.next_in = (Bytef *)(uintptr_t)p; /* zlib's interface lacks a const */
        writer->z.avail_in = part;
        do {
            writer->z.next_out = writer->packed;
            writer->z.avail_out = BUFFER_SIZE;
            status = deflate(&writer->z, final ? Z_FINISH : Z_NO_FLUSH);
            MRC_TRY(mrc_output_write(&writer->output, writer->packed,
                                     BUFFER_SIZE - writer->z.avail_out, err));
        } while (writer->z.avail_out == 0 || (final && status == Z_OK));
        p += part;
        bytes -= part;
    } while (bytes > 0);
out:
    return rc;
}

static mercer_status flush(mercer_writer *writer, bool last, mercer_error *err)
{
    size_t used = writer->used;
    writer->used = 0;
    return used || last ? send(writer, writer->buffer, used, last, err) : MERCER_OK;
}

static mercer_status put_bytes(mercer_writer *writer, const char *bytes, size_t count,
                               mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    while (count > 0) {
        if (writer->used == BUFFER_SIZE)
            MRC_TRY(flush(writer, false, err));
        size_t part = BUFFER_SIZE - writer->used < count ? BUFFER_SIZE - writer->used : count;
        memcpy(writer->buffer + writer->used, bytes, part);
        writer->used += part;
        bytes += part;
        count -= part;
    }
out:
    return rc;
}

/* A text cell, in quotes when it needs them to be read back as it is. */
static mercer_status put_text(mercer_writer *writer, const char *text, bool quote,
                              mercer_error *err)
{
    size_t length = strlen(text);
    mercer_status rc = MERCER_OK;
    quote |= length == 0 || strpbrk(text, "\"\r\n") || strchr(text, writer->delimiter) ||
             strchr(" \t", text[0]) || strchr(" \t", text[length - 1]);
    if (!quote)
        return put_bytes(writer, text, length, err);
    MRC_TRY(put_bytes(writer, "\"", 1, err));
    for (;;) {
        size_t part = strcspn(text, "\"");
        MRC_TRY(put_bytes(writer, text, part, err));
        if (!text[part])
            break;
        MRC_TRY(put_bytes(writer, "\"\"", 2, err));
        text += part + 1;
    }
    MRC_TRY(put_bytes(writer, "\"", 1, err));
out:
    return rc;
}

/* The header row. A name that looks like a number puts all names in quotes: so the reader knows it
 * for a header. */
static mercer_status put_names(mercer_writer *writer, const char *const *names,
                               const char *text_name, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    bool quote = false, first = true;
    double value;
    for (int64_t i = 0; i < writer->columns; i++)
        quote |= mrc_parse_double(names[i], strlen(names[i]), &value);
    if (text_name) {
        MRC_TRY(put_text(writer, text_name, quote, err));
        first = false;
    }
    for (int64_t i = 0; i < writer->columns; i++) {
        if (!first)
            MRC_TRY(put_bytes(writer, &writer->delimiter, 1, err));
        MRC_TRY(put_text(writer, names[i], quote, err));
        first = false;
    }
    MRC_TRY(put_bytes(writer, "\n", 1, err));
out:
    return rc;
}

static void npy_header(const mercer_writer *writer, char out[NPY_HEADER])
{
    static const unsigned char prefix[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, NPY_HEADER - 10, 0};
    char text[NPY_HEADER];
    int length = snprintf(text, sizeof text,
                          "{'descr': '<f8', 'fortran_order': False, 'shape': (%lld, %lld), }",
                          (long long)writer->rows, (long long)writer->columns);
    memset(out, ' ', NPY_HEADER);
    memcpy(out, prefix, sizeof prefix);
    memcpy(out + sizeof prefix, text, (size_t)length);
    out[NPY_HEADER - 1] = '\n';
}

static void writer_free(mercer_writer *writer)
{
    if (!writer)
        return;
    mrc_output_abort(&writer->output);
    if (writer->gzip_live)
        deflateEnd(&writer->z);
    mrc_free(writer->buffer);
    mrc_free(writer->packed);
    mrc_free(writer->waiting);
    mrc_free(writer->wide);
    mrc_free(writer);
}

static mercer_status check_call(const char *path, mrc_format format, int64_t columns,
                                const char *text_name, mercer_error *err)
{
    if (format > MRC_FORMAT_LIBSVM)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "%s: this format is read but not written (.csv, .tsv, .npy and .svm are)",
                        path);
    if (columns < (text_name ? 0 : 1))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: a table of %lld columns cannot be written",
                        path, (long long)columns);
    if (format == MRC_FORMAT_NPY && text_name)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "%s: an NPY file cannot hold the text column '%s' (csv and tsv can)", path,
                        text_name);
    return MERCER_OK;
}

mercer_status mercer_writer_open(mercer_ctx *ctx, const char *path, const char *format,
                                 int64_t columns, const char *const *names, const char *text_name,
                                 mercer_writer **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    mercer_writer *writer = NULL;
    mercer_status rc = MERCER_OK;
    mrc_format found = MRC_FORMAT_UNKNOWN;
    bool gzip = false;
    if (!path || !*path)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "the name of the output file is empty");
    MRC_TRY(mrc_format_find(path, format, &found, &gzip, err));
    if (found == MRC_FORMAT_UNKNOWN && (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0))
        found = MRC_FORMAT_CSV;
    if (found == MRC_FORMAT_UNKNOWN)
        MRC_TRY(mrc_format_fail(path, err));
    MRC_TRY(check_call(path, found, columns, text_name, err));
    MRC_TRY(mrc_alloc(&writer, 1, sizeof *writer, err));
    writer->format = found;
    writer->columns = columns;
    writer->delimiter = found == MRC_FORMAT_TSV ? '\t' : ',';
    writer->with_text = text_name != NULL;
    writer->gzip = gzip;
    MRC_TRY(mrc_alloc2_raw(&writer->buffer, BUFFER_SIZE, 1, 1, err));
    if (gzip) {
        MRC_TRY(mrc_alloc2_raw(&writer->packed, BUFFER_SIZE, 1, 1, err));
        writer->z = (z_stream){.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
        if (deflateInit2(&writer->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            MRC_FAIL(err, MERCER_ERR_MEMORY, "%s: out of memory for compressing", path);
        writer->gzip_live = true;
    }
    MRC_TRY(mrc_output_open(&writer->output, ctx, path, err));
    writer->held = found == MRC_FORMAT_NPY && (gzip || writer->output.slot < 0);
    if (found == MRC_FORMAT_NPY && !writer->held) {
        char header[NPY_HEADER];
        npy_header(writer, header);
        MRC_TRY(put_bytes(writer, header, sizeof header, err));
    } else if (found <= MRC_FORMAT_TSV && names) {
        MRC_TRY(put_names(writer, names, text_name, err));
    }
    *out = writer;
    writer = NULL;
out:
    writer_free(writer);
    return rc;
}

static mercer_status put_csv_row(mercer_writer *writer, const double *x, const char *text,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    const int64_t columns = x ? writer->columns : 0; /* a text column may stand alone */
    assert(text || !writer->with_text);
    if (writer->with_text)
        MRC_TRY(put_text(writer, text, false, err));
    for (int64_t j = 0; j < columns; j++) {
        if (BUFFER_SIZE - writer->used < MRC_NUMBER_SIZE + 2)
            MRC_TRY(flush(writer, false, err));
        if (j || writer->with_text)
            writer->buffer[writer->used++] = writer->delimiter;
        writer->used += (size_t)mrc_format_double(x[j], writer->buffer + writer->used);
    }
    MRC_TRY(put_bytes(writer, "\n", 1, err));
out:
    return rc;
}

/* The label of LIBSVM text must be what its readers take: numbers, separated by commas. */
static mercer_status put_label(mercer_writer *writer, const char *text, mercer_error *err)
{
    for (const char *p = text; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        double value;
        if (!mrc_parse_double(p, strcspn(p, ","), &value) || !isfinite(value)) {
            char shown[MRC_SHOWN_SIZE];
            return mrc_fail(err, MERCER_ERR_DATA,
                            "%s: label '%s' is not a number; LIBSVM text takes no other (csv does)",
                            writer->output.shown, mrc_show(shown, text, strlen(text)));
        }
    }
    return put_bytes(writer, text, strlen(text), err);
}

/* A row of count values; value k is in column[k], or in column k when column is NULL. */
static mercer_status put_libsvm_row(mercer_writer *writer, const int32_t *column, const double *x,
                                    int64_t count, const char *text, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(put_label(writer, text ? text : "0", err));
    for (int64_t k = 0; k < count; k++) {
        if (x[k] == 0)
            continue;
        if (BUFFER_SIZE - writer->used < 2 * MRC_NUMBER_SIZE)
            MRC_TRY(flush(writer, false, err));
        writer->buffer[writer->used++] = ' ';
        writer->used += (size_t)mrc_format_double((double)(column ? column[k] : k) + 1,
                                                  writer->buffer + writer->used);
        writer->buffer[writer->used++] = ':';
        writer->used += (size_t)mrc_format_double(x[k], writer->buffer + writer->used);
    }
    MRC_TRY(put_bytes(writer, "\n", 1, err));
out:
    return rc;
}

/* Little-endian bytes of doubles; x itself on nearly all machines. */
static mercer_status put_doubles(mercer_writer *writer, const double *x, int64_t count,
                                 mercer_error *err)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return put_bytes(writer, (const char *)x, (size_t)count * sizeof *x, err);
#else
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < count && rc == MERCER_OK; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits = __builtin_bswap64(bits);
        rc = put_bytes(writer, (const char *)&bits, sizeof bits, err);
    }
    return rc;
#endif
}

/* Keep a row for the end. */
static mercer_status hold_row(mercer_writer *writer, const double *x, mercer_error *err)
{
    if (writer->rows == writer->waiting_capacity) {
        int64_t rows = 2 * writer->waiting_capacity + 64;
        size_t cells;
        mercer_status rc = mrc_size_mul(rows, writer->columns, &cells, err);
        if (rc == MERCER_OK)
            rc = mrc_grow(&writer->waiting, (int64_t)cells, sizeof *writer->waiting, err);
        if (rc != MERCER_OK)
            return rc;
        writer->waiting_capacity = rows;
    }
    if (x) /* there is none when the table has no columns */
        memcpy(writer->waiting + writer->rows * writer->columns, x,
               (size_t)writer->columns * sizeof *x);
    return MERCER_OK;
}

/* A row of all columns. */
static mercer_status put_row(mercer_writer *writer, const double *x, const char *text,
                             mercer_error *err)
{
    if (writer->format == MRC_FORMAT_LIBSVM)
        return put_libsvm_row(writer, NULL, x, x ? writer->columns : 0, text, err);
    if (writer->format != MRC_FORMAT_NPY)
        return put_csv_row(writer, x, text, err);
    return writer->held ? hold_row(writer, x, err) : put_doubles(writer, x, writer->columns, err);
}

enum { CHECK_ROWS = 1024 }; /* written between two looks whether to go on */

mercer_status mercer_writer_rows(mercer_ctx *ctx, mercer_writer *writer, const double *x,
                                 int64_t count, int64_t ld, const char *const *text,
                                 mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(writer);
    mercer_status rc = MERCER_OK;
    if (count < 0 || (count > 0 && (ld < writer->columns || (!x && writer->columns > 0))) ||
        (count > 0 && writer->with_text != (text != NULL)))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: rows that do not fit the table",
                 writer->output.shown);
    for (int64_t i = 0; i < count; i++) {
        if (i % CHECK_ROWS == 0)
            MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(put_row(writer, x ? x + i * ld : NULL, text ? text[i] : NULL, err));
        writer->rows++;
    }
out:
    return rc;
}

mercer_status mercer_writer_add(mercer_ctx *ctx, mercer_writer *writer, const mercer_rows *rows,
                                const char *const *text, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(writer);
    MRC_NEED(rows);
    const mrc_csr *csr = &rows->csr;
    mercer_status rc = MERCER_OK;
    if (rows->d != writer->columns || writer->with_text != (text != NULL))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: rows that do not fit the table",
                 writer->output.shown);
    if (rows->x)
        return mercer_writer_rows(ctx, writer, rows->x, rows->n, rows->ld, text, err);
    const bool entries = writer->format == MRC_FORMAT_LIBSVM && csr->start;
    if (!entries && !writer->wide)
        MRC_TRY(mrc_alloc2_raw(&writer->wide, rows->d, 1, sizeof *writer->wide, err));
    for (int64_t i = 0; i < rows->n; i++) {
        const char *label = text ? text[i] : NULL;
        if (i % CHECK_ROWS == 0)
            MRC_TRY(mrc_check_cancel(ctx, err));
        if (entries) {
            int64_t first = csr->start[i];
            MRC_TRY(put_libsvm_row(writer, csr->column + first, csr->value + first,
                                   csr->start[i + 1] - first, label, err));
        } else {
            mercer_rows_copy(rows, i, 1, writer->wide);
            MRC_TRY(put_row(writer, writer->wide, label, err));
        }
        writer->rows++;
    }
out:
    return rc;
}

mercer_status mercer_writer_flush(mercer_writer *writer, mercer_error *err)
{
    MRC_NEED(writer);
    return writer->gzip || writer->format == MRC_FORMAT_NPY ? MERCER_OK : flush(writer, false, err);
}

/* Write the NPY header again, now that the number of rows is known. */
static mercer_status rewrite_header(mercer_writer *writer, mercer_error *err)
{
    char header[NPY_HEADER];
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

mercer_status mercer_writer_finish(mercer_ctx *ctx, mercer_writer *writer, mercer_error *err)
{
    MRC_NEED(writer);
    mercer_status rc = MERCER_OK;
    if (!ctx)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: ctx is NULL", __func__);
    MRC_TRY(mrc_check_cancel(ctx, err));
    if (writer->held) {
        char header[NPY_HEADER];
        npy_header(writer, header);
        MRC_TRY(put_bytes(writer, header, sizeof header, err));
        MRC_TRY(put_doubles(writer, writer->waiting, writer->rows * writer->columns, err));
    }
    MRC_TRY(flush(writer, true, err));
    if (writer->format == MRC_FORMAT_NPY && !writer->held)
        MRC_TRY(rewrite_header(writer, err));
    MRC_TRY(mrc_output_finish(&writer->output, err));
out:
    writer_free(writer);
    return rc;
}

void mercer_writer_abort(mercer_writer *writer)
{
    writer_free(writer);
}
