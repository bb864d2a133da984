/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing tables of numbers, plain or gzipped.
 *
 * A format puts its rows into one buffer, which goes to the output file directly or through zlib;
 * or it is held in memory, until a format has put in front what only the end tells, or until
 * another process takes it that has the file. */
#include "io/writer.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

enum {
    GZIP_LEVEL = 6,        /* zlib's own default; higher is slower and hardly smaller */
    GZIP_WINDOW = 15 + 16, /* largest window, gzip wrapper */
    GZIP_MEMORY = 8
};

/* Keep bytes in memory. */
static mercer_status hold(mercer_writer *writer, const void *data, size_t bytes, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (bytes > writer->held_room - writer->held_used) {
        size_t room;
        MRC_TRY(mrc_size_mul((int64_t)(writer->held_room + bytes), 2, &room, err));
        MRC_TRY(mrc_grow(&writer->held, (int64_t)room, 1, err));
        writer->held_room = room;
    }
    if (bytes > 0)
        memcpy(writer->held + writer->held_used, data, bytes);
    writer->held_used += bytes;
out:
    return rc;
}

/* Send bytes on, through zlib when the file is compressed. last: nothing follows. */
static mercer_status send(mercer_writer *writer, const void *data, size_t bytes, bool last,
                          mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (writer->holds)
        return hold(writer, data, bytes, err);
    if (!writer->gzip)
        return mrc_output_write(&writer->output, data, bytes, err);
    const unsigned char *p = data;
    int status = Z_OK;
    do {
        uInt part = bytes < MRC_WRITER_BUFFER ? (uInt)bytes : MRC_WRITER_BUFFER;
        bool final = last && part == bytes;
        writer->z.next_in = (Bytef *)(uintptr_t)p; /* zlib's interface lacks a const */
        writer->z.avail_in = part;
        do {
            writer->z.next_out = writer->packed;
            writer->z.avail_out = MRC_WRITER_BUFFER;
            status = deflate(&writer->z, final ? Z_FINISH : Z_NO_FLUSH);
            MRC_TRY(mrc_output_write(&writer->output, writer->packed,
                                     MRC_WRITER_BUFFER - writer->z.avail_out, err));
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

mercer_status mrc_writer_pass_on(mercer_writer *writer, mercer_error *err)
{
    return flush(writer, false, err);
}

mercer_status mrc_writer_release(mercer_writer *writer, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    writer->holds = false;
    MRC_TRY(flush(writer, false, err));
    MRC_TRY(send(writer, writer->held, writer->held_used, false, err));
    writer->held_used = 0;
out:
    return rc;
}

mercer_status mrc_writer_put(mercer_writer *writer, const char *bytes, size_t count,
                             mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    while (count > 0) {
        if (writer->used == MRC_WRITER_BUFFER)
            MRC_TRY(flush(writer, false, err));
        size_t part =
            MRC_WRITER_BUFFER - writer->used < count ? MRC_WRITER_BUFFER - writer->used : count;
        memcpy(writer->buffer + writer->used, bytes, part);
        writer->used += part;
        bytes += part;
        count -= part;
    }
out:
    return rc;
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
    mrc_free(writer->wide);
    mrc_free(writer->held);
    mrc_free(writer);
}

static mercer_status check_call(const char *path, const mrc_format *format, int64_t columns,
                                int64_t texts, const char *const *text_names, mercer_error *err)
{
    const char *text_name = texts > 0 ? text_names[0] : NULL;
    if (!format->writer)
        return mrc_format_fail_write(path, err);
    if (texts > 1 && !format->writer->many_texts)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                           "%s: this format cannot hold several text columns (csv and tsv can)",
                           path);
    if (columns < (texts > 0 ? 0 : 1))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                           "%s: a table of %lld columns cannot be written", path,
                           (long long)columns);
    return format->writer->check ? format->writer->check(path, text_name, err) : MERCER_OK;
}

mercer_status mercer_writer_open(mercer_ctx *ctx, const char *path, const char *format,
                                 int64_t columns, const char *const *names, const char *text_name,
                                 mercer_writer **out, mercer_error *err)
{
    return mercer_writer_open_texts(ctx, path, format, columns, names, text_name != NULL,
                                    text_name ? &text_name : NULL, out, err);
}

/* A writer of a table, of a file or of a part without one. */
static mercer_status writer_open(mercer_ctx *ctx, const char *path, const char *format,
                                 int64_t columns, const char *const *names, int64_t texts,
                                 const char *const *text_names, bool is_part, mercer_writer **out,
                                 mercer_error *err)
{
    mercer_writer *writer = NULL;
    mercer_status rc = MERCER_OK;
    const mrc_format *found = NULL;
    bool gzip = false;
    if (!path || !*path)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "the name of the output file is empty");
    MRC_TRY(mrc_format_find(path, format, &found, &gzip, err));
    if (!found && (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0))
        found = mrc_format_of_stream("", 0);
    if (!found) {
        rc = mrc_format_fail(path, false, err);
        goto out;
    }
    if (texts < 0 || texts > INT32_MAX)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "a table cannot have %lld text columns",
                 (long long)texts);
    MRC_TRY(check_call(path, found, columns, texts, text_names, err));
    MRC_TRY(mrc_alloc(&writer, 1, sizeof *writer, err));
    writer->output.fd = -1;
    writer->format = found;
    writer->columns = columns;
    writer->texts = texts;
    writer->gzip = gzip && !is_part;
    writer->is_part = writer->holds = is_part;
    MRC_TRY(mrc_alloc2_raw(&writer->buffer, MRC_WRITER_BUFFER, 1, 1, err));
    if (writer->gzip) {
        MRC_TRY(mrc_alloc2_raw(&writer->packed, MRC_WRITER_BUFFER, 1, 1, err));
        writer->z = (z_stream){.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
        if (deflateInit2(&writer->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            MRC_FAIL_AT(err, MERCER_ERR_MEMORY, MRC_IN_FILE, "%s: out of memory for compressing",
                        path);
        writer->gzip_live = true;
    }
    if (is_part) {
        snprintf(writer->output.shown, sizeof writer->output.shown, "%s", path);
    } else {
        MRC_TRY(mrc_output_open(&writer->output, ctx, path, err));
        if (found->writer->begin)
            MRC_TRY(found->writer->begin(writer, names, text_names, err));
    }
    *out = writer;
    writer = NULL;
out:
    writer_free(writer);
    return rc;
}

mercer_status mercer_writer_open_texts(mercer_ctx *ctx, const char *path, const char *format,
                                       int64_t columns, const char *const *names, int64_t texts,
                                       const char *const *text_names, mercer_writer **out,
                                       mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    if (texts != 0)
        MRC_NEED(text_names);
    return writer_open(ctx, path, format, columns, names, texts, text_names, false, out, err);
}

mercer_status mercer_writer_open_part(mercer_ctx *ctx, const char *path, const char *format,
                                      int64_t columns, int64_t texts, const char *const *text_names,
                                      mercer_writer **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    if (texts != 0)
        MRC_NEED(text_names);
    return writer_open(ctx, path, format, columns, NULL, texts, text_names, true, out, err);
}

enum { CHECK_ROWS = 1024 }; /* written between two looks whether to go on */

mercer_status mercer_writer_rows(mercer_ctx *ctx, mercer_writer *writer, const double *x,
                                 int64_t count, int64_t ld, const char *const *text,
                                 mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(writer);
    mercer_status (*row)(mercer_writer *, const double *, const char *const *, mercer_error *) =
        writer->format->writer->row;
    mercer_status rc = MERCER_OK;
    if (count < 0 || (count > 0 && (ld < writer->columns || (!x && writer->columns > 0))) ||
        (count > 0 && (writer->texts > 0) != (text != NULL)))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: rows that do not fit the table",
                    writer->output.shown);
    for (int64_t i = 0; i < count; i++) {
        if (i % CHECK_ROWS == 0)
            MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(row(writer, x ? x + i * ld : NULL, text ? text + i * writer->texts : NULL, err));
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
    if (rows->d != writer->columns || (writer->texts > 0) != (text != NULL))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: rows that do not fit the table",
                    writer->output.shown);
    if (rows->x)
        return mercer_writer_rows(ctx, writer, rows->x, rows->n, rows->ld, text, err);
    const bool entries = writer->format->writer->entries && csr->start;
    if (!entries && !writer->wide)
        MRC_TRY(mrc_alloc2_raw(&writer->wide, rows->d, 1, sizeof *writer->wide, err));
    for (int64_t i = 0; i < rows->n; i++) {
        const char *const *label = text ? text + i * writer->texts : NULL;
        if (i % CHECK_ROWS == 0)
            MRC_TRY(mrc_check_cancel(ctx, err));
        if (entries) {
            int64_t first = csr->start[i];
            MRC_TRY(writer->format->writer->entries(writer, csr->column + first, csr->value + first,
                                                    csr->start[i + 1] - first, label, err));
        } else {
            mercer_rows_copy(rows, i, 1, writer->wide);
            MRC_TRY(writer->format->writer->row(writer, writer->wide, label, err));
        }
        writer->rows++;
    }
out:
    return rc;
}

mercer_status mercer_writer_take(mercer_writer *writer, const void **bytes, size_t *size,
                                 int64_t *rows, mercer_error *err)
{
    MRC_NEED(writer);
    MRC_NEED(bytes);
    MRC_NEED(size);
    MRC_NEED(rows);
    mercer_status rc = MERCER_OK;
    if (!writer->is_part)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                    "%s: rows that go to a file cannot be taken", writer->output.shown);
    MRC_TRY(flush(writer, false, err));
    *bytes = writer->held;
    *size = writer->held_used;
    *rows = writer->rows;
    writer->held_used = 0;
    writer->rows = 0;
out:
    return rc;
}

mercer_status mercer_writer_append(mercer_ctx *ctx, mercer_writer *writer, const void *bytes,
                                   size_t size, int64_t rows, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(writer);
    if (size > 0)
        MRC_NEED(bytes);
    mercer_status rc = MERCER_OK;
    if (rows < 0)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: %lld rows cannot be appended",
                    writer->output.shown, (long long)rows);
    MRC_TRY(mrc_check_cancel(ctx, err));
    MRC_TRY(mrc_writer_put(writer, bytes, size, err));
    writer->rows += rows;
out:
    return rc;
}

mercer_status mercer_writer_flush(mercer_writer *writer, mercer_error *err)
{
    MRC_NEED(writer);
    return writer->gzip || writer->format->writer->at_end ? MERCER_OK : flush(writer, false, err);
}

int mercer_number_format(double value, char *out, size_t size)
{
    _Static_assert((int)MERCER_NUMBER_SIZE == (int)MRC_NUMBER_SIZE, "one size of a number");
    return out && size >= MERCER_NUMBER_SIZE ? mrc_format_double(value, out) : 0;
}

mercer_status mercer_writer_finish(mercer_ctx *ctx, mercer_writer *writer, mercer_error *err)
{
    MRC_NEED(writer);
    mercer_status rc = MERCER_OK;
    if (!ctx)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: ctx is NULL", __func__);
    if (writer->is_part)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: a part of a table has no file",
                    writer->output.shown);
    MRC_TRY(mrc_check_cancel(ctx, err));
    if (writer->format->writer->end)
        MRC_TRY(writer->format->writer->end(writer, err));
    MRC_TRY(flush(writer, true, err));
    MRC_TRY(mrc_output_finish(&writer->output, err));
out:
    writer_free(writer);
    return rc;
}

void mercer_writer_abort(mercer_writer *writer)
{
    writer_free(writer);
}

mercer_status mercer_file_write(mercer_ctx *ctx, const char *path, const void *bytes, size_t size,
                                mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(path);
    MRC_NEED(bytes);
    mrc_output *output = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&output, 1, sizeof *output, err));
    output->fd = -1;
    MRC_TRY(mrc_output_open(output, ctx, path, err));
    MRC_TRY(mrc_output_write(output, bytes, size, err));
    MRC_TRY(mrc_output_finish(output, err));
out:
    if (output)
        mrc_output_abort(output); /* nothing to do once finished */
    mrc_free(output);
    return rc;
}
