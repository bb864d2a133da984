/* SPDX-License-Identifier: BSD-3-Clause */
/* Where bytes come from: a file, standard input or memory; gzip is undone on the way. */
#ifndef MRC_IO_INPUT_H
#define MRC_IO_INPUT_H

#include "base/ctx.h"
#include "base/memory.h"

#include <zlib.h>

typedef struct mrc_input {
    char *shown; /* the name for messages */
    int fd;      /* -1 when closed, or when the bytes are in memory */
    bool borrowed_fd;
    int64_t start;               /* where the input begins in its file */
    const unsigned char *memory; /* borrowed; used when fd is -1 */
    size_t memory_left;
    int64_t size;       /* bytes from there on, as the file stands, or -1 when that is not known */
    int64_t taken;      /* of them, read so far */
    unsigned char *raw; /* read ahead: to see the kind of file, and compressed bytes */
    size_t raw_at, raw_end;
    bool raw_ended;
    bool gzip, gzip_live, gzip_ended; /* compressed; z is set up; its last member is complete */
    z_stream z;
    const unsigned char *memory_all; /* all bytes in memory */
    size_t memory_size;
    bool part;                 /* only the bytes of mrc_input_part() */
    int64_t packed, unpacked;  /* of them, still to be read, and still to be handed out */
    uLong check, check_wanted; /* CRC-32 of those handed out, and of all */
    mrc_limits limits;
    int64_t handed; /* bytes handed out, of a part those of the part */
} mrc_input;

/* Open a file, or "-" for standard input. Gzip is known by its first bytes; a name that ends in .gz
 * must have them. Folders are refused. On error the input is closed. limits, which may be NULL, are
 * copied: they say what may be opened, how many bytes come out and how long they are waited for. */
mercer_status mrc_input_open(mrc_input *input, const char *path, const mrc_limits *limits,
                             mercer_error *err);
/* The same for a file that has to be a regular one, or a link to one: a pipe, which could keep us
 * waiting, is refused. */
mercer_status mrc_input_open_regular(mrc_input *input, const char *path, const mrc_limits *limits,
                                     mercer_error *err);
/* The same for bytes in memory, which must outlive the input. */
mercer_status mrc_input_open_memory(mrc_input *input, const char *shown, const void *bytes,
                                    size_t count, const mrc_limits *limits, mercer_error *err);
/* Fill out; *got < wanted only at the end of the data. */
mercer_status mrc_input_read(mrc_input *input, void *out, size_t wanted, size_t *got,
                             mercer_error *err);
/* Up to `most` bytes: those that are there, without waiting for the rest; at least one, for which
 * it does wait. *got = 0 only at the end of the data. */
mercer_status mrc_input_some(mrc_input *input, void *out, size_t most, size_t *got,
                             mercer_error *err);
/* Step over bytes: in a plain file without reading them. Fewer are stepped over at the end of the
 * data, where the next read finds none. */
mercer_status mrc_input_skip(mrc_input *input, int64_t bytes, mercer_error *err);
/* Whether the next byte, or the end, can be read without waiting. */
bool mrc_input_ready(const mrc_input *input);
/* Bytes from anywhere in the file, by its offset; *got < wanted only at its end. Only for inputs
 * that mrc_input_seekable(); reading on from where one was is then no longer possible. */
bool mrc_input_seekable(const mrc_input *input);
mercer_status mrc_input_at(mrc_input *input, int64_t offset, void *out, size_t wanted, size_t *got,
                           mercer_error *err);
/* Go back to the start, and whether that is possible; gzip does not matter. */
bool mrc_input_rewinds(const mrc_input *input);
mercer_status mrc_input_rewind(mrc_input *input, mercer_error *err);
/* From now on, read one member of an archive and call the input by another name: `packed` bytes at
 * offset, plain or deflated, `unpacked` bytes with this CRC-32 when they come out. The sum is
 * checked when the last of them is read. */
typedef struct mrc_part {
    int64_t offset, packed, unpacked;
    uint32_t check;
    bool deflated;
} mrc_part;
mercer_status mrc_input_part(mrc_input *input, const mrc_part *part, const char *shown,
                             mercer_error *err);
/* Read what is left of a part, so that its sum is checked. */
mercer_status mrc_input_drain(mrc_input *input, mercer_error *err);
/* Bytes that can still come, as far as the size of the file tells; INT64_MAX when it does not. */
int64_t mrc_input_left(const mrc_input *input);
/* The share that has been read, from 0 to 1; negative when that is not known. */
double mrc_input_done(const mrc_input *input);
/* Accepts a closed or zeroed input. */
void mrc_input_close(mrc_input *input);

/* Memory for zlib, counted like all other; for z_stream's zalloc and zfree. */
voidpf mrc_zlib_alloc(voidpf opaque, uInt items, uInt size);
void mrc_zlib_free(voidpf opaque, voidpf address);

#endif
