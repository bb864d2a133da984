/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing tables from the inside: what writer.c and the formats share. */
#ifndef MRC_IO_WRITER_H
#define MRC_IO_WRITER_H

#include "base/output.h"
#include "io/format.h"

struct mercer_writer {
    mrc_output output;
    const mrc_format *format;
    bool gzip, gzip_live;
    int64_t texts;         /* text columns in front */
    int64_t columns, rows; /* rows: written so far */
    char *buffer;
    size_t used;
    unsigned char *packed; /* output of zlib */
    z_stream z;
    double *wide; /* a sparse or packed row as doubles */
    bool holds;   /* bytes wait here instead of going out: */
    char *held;
    size_t held_used, held_room;
    bool is_part; /* there is no file; held bytes are taken */
};

/* How a format is written; members may be NULL, except row. */
struct mrc_format_writer {
    bool at_end;     /* nobody can read rows before the last one is written */
    bool many_texts; /* there may be more than one text column */
    /* Refuse a table before its file is touched. text_name: of the first text column, or NULL. */
    mercer_status (*check)(const char *path, const char *text_name, mercer_error *err);
    /* What stands in front of the rows. names may be NULL; text_names: writer->texts. */
    mercer_status (*begin)(mercer_writer *writer, const char *const *names,
                           const char *const *text_names, mercer_error *err);
    /* A row of writer->columns numbers (x may be NULL when there are none) and its writer->texts
     * texts; NULL when there are none. */
    mercer_status (*row)(mercer_writer *writer, const double *x, const char *const *text,
                         mercer_error *err);
    /* A sparse row: x[k] is in column[k]. NULL: sparse rows are made dense. */
    mercer_status (*entries)(mercer_writer *writer, const int32_t *column, const double *x,
                             int64_t count, const char *const *text, mercer_error *err);
    /* What stands behind the rows. */
    mercer_status (*end)(mercer_writer *writer, mercer_error *err);
};

enum { MRC_WRITER_BUFFER = 1 << 17 }; /* bytes per write() */

mercer_status mrc_writer_put(mercer_writer *writer, const char *bytes, size_t count,
                             mercer_error *err);
/* Hand what is in the buffer on. */
mercer_status mrc_writer_pass_on(mercer_writer *writer, mercer_error *err);
/* Send what was held out, and hold nothing any more. */
mercer_status mrc_writer_release(mercer_writer *writer, mercer_error *err);
/* See that `bytes` bytes can be put into writer->buffer, from writer->used on. */
static inline mercer_status mrc_writer_room(mercer_writer *writer, size_t bytes, mercer_error *err)
{
    return MRC_WRITER_BUFFER - writer->used < bytes ? mrc_writer_pass_on(writer, err) : MERCER_OK;
}

#endif
