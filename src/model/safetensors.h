/* SPDX-License-Identifier: BSD-3-Clause */
/* The container of model files: safetensors, with a checksum of our own. It knows nothing of
 * models.
 *
 *   8 bytes   N, little-endian
 *   N bytes   JSON, padded with spaces: {"__metadata__":{text:text,...}, name:{dtype,shape,
 *             data_offsets}, ...}
 *   the rest  the tensors, little-endian, back to back in the order of their offsets
 *
 * The checksum is the CRC-32 of the whole file with its own eight digits taken as zeroes. Lengths
 * are compared with the bytes that are there before anything is allocated for them. */
#ifndef MRC_MODEL_SAFETENSORS_H
#define MRC_MODEL_SAFETENSORS_H

#include "base/limits.h"

#include <mercer/array.h>

#include <jansson.h>
#include <stdbool.h>

enum { MRC_MAX_HEADER = 64 << 20, MRC_CHECKSUM_DIGITS = 8 };

/* Bytes of one value. */
int64_t mrc_value_bytes(mercer_dtype dtype);

/* ---- Writing ---- */

/* The metadata must have this text under the key "checksum" for the digits to stand in. */
#define MRC_CHECKSUM_BLANK "crc32:00000000"

typedef struct mrc_tensor {
    const char *name;
    mercer_array array; /* packed, row-major */
} mrc_tensor;

/* A file to be written: the tensors are borrowed. mrc_tensors_destroy() accepts a zeroed one. */
typedef struct mrc_tensors {
    const mrc_tensor *list;
    int count;
    char *header;
    size_t header_bytes, bytes; /* bytes: of the whole file */
} mrc_tensors;

/* The header, with its checksum. Metadata is borrowed. A reader refuses a header of more than
 * MRC_MAX_HEADER bytes: the caller knows what to say then. */
mercer_status mrc_tensors_init(mrc_tensors *tensors, json_t *metadata, const mrc_tensor *list,
                               int count, mercer_error *err);
void mrc_tensors_destroy(mrc_tensors *tensors);

typedef mercer_status (*mrc_write_fn)(void *host, const void *data, size_t bytes,
                                      mercer_error *err);
/* All bytes of the file, in pieces. */
mercer_status mrc_tensors_write(const mrc_tensors *tensors, mrc_write_fn write, void *host,
                                mercer_error *err);

/* ---- Reading ---- */

/* The bytes of a file: a descriptor, or memory. */
typedef struct mrc_tensor_source {
    const char *name;            /* for messages */
    const char *kind;            /* what it should be: "Mercer model" */
    int fd;                      /* -1: memory */
    bool opened;                 /* the descriptor is ours to close */
    const unsigned char *memory; /* the bytes from `base` on */
    unsigned char *owned;        /* what a pipe delivered; behind memory */
    size_t base, at, size;
    bool size_known;
    unsigned long crc;
    mrc_limits limits;
} mrc_tensor_source;

/* path may be "-", standard input. Both are closed by mrc_tensor_source_close(), which accepts a
 * source that could not be opened. */
mercer_status mrc_tensor_source_open(mrc_tensor_source *source, const char *path, const char *kind,
                                     const mrc_limits *limits, mercer_error *err);
void mrc_tensor_source_memory(mrc_tensor_source *source, const char *name, const char *kind,
                              const void *bytes, size_t size);
void mrc_tensor_source_close(mrc_tensor_source *source);

/* Fail because of what is in the file: MERCER_ERR_FORMAT. `what` may be NULL. */
mercer_status mrc_tensor_source_foreign(const mrc_tensor_source *source, const char *reason,
                                        mercer_error *err);
mercer_status mrc_tensor_source_damaged(const mrc_tensor_source *source, const char *reason,
                                        const char *what, mercer_error *err);

/* One tensor of the header. */
typedef struct mrc_entry {
    const char *name;
    const json_t *json;
    int64_t begin, end;
} mrc_entry;

/* The header of a file. mrc_header_destroy() accepts a zeroed one. */
typedef struct mrc_header {
    char *text;
    size_t length;
    json_t *json;
    const json_t *metadata; /* NULL when there is none */
    mrc_entry *entries;     /* in the order of their bytes */
    int64_t count;
    char digits[MRC_CHECKSUM_DIGITS]; /* of the checksum */
} mrc_header;

/* Read the header, after which metadata can be looked at; then list the entries and compare what
 * they promise with the bytes that are there. */
mercer_status mrc_header_read(mrc_header *header, mrc_tensor_source *source, mercer_error *err);
mercer_status mrc_header_list(mrc_header *header, mrc_tensor_source *source, mercer_error *err);
void mrc_header_destroy(mrc_header *header);

/* The entry of this name, or NULL. */
const mrc_entry *mrc_header_find(const mrc_header *header, const char *name);
/* Rows of a tensor, as its shape says, which may not be true; false when it says nothing. */
bool mrc_entry_rows(const mrc_entry *entry, int64_t *rows);
/* Whether the entry is of this type; of this type and shape, with as many bytes. */
bool mrc_entry_has_type(const mrc_entry *entry, mercer_dtype dtype);
bool mrc_entry_fits(const mrc_entry *entry, const mercer_array *array);
/* Read the bytes of the next entry, in the order of the list; to may be NULL: they are skipped. */
mercer_status mrc_entry_read(const mrc_entry *entry, mrc_tensor_source *source, void *to,
                             mercer_error *err);
/* After all entries: is the checksum right? */
mercer_status mrc_header_verify(const mrc_header *header, const mrc_tensor_source *source,
                                mercer_error *err);

#endif
