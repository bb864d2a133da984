/* SPDX-License-Identifier: BSD-3-Clause */
/* MAT and HDF5 files, and images: what the library and its helper program mercer-read tell each
 * other.
 *
 * One request, then one answer; after an answer that is MERCER_OK, the rows of a dense array follow
 * in pieces, or the arrays of a sparse one. Both sides are built together and run on one machine,
 * so structs go as they are; `version` is the first thing that is looked at.
 *
 * Images come as bytes, one after another: the helper that decodes them needs no file at all. */
#ifndef MRC_IO_CONTAINERS_H
#define MRC_IO_CONTAINERS_H

#include "io/arrays.h"
#include "io/image.h"
#include "io/matrix.h"

#define MRC_READ_PROGRAM "mercer-read"

/* Changes with every change of these structs. */
#define MRC_READ_VERSION UINT64_C(0x6d72637265616434)

/* Whose library reads the file. */
typedef enum mrc_container {
    MRC_CONTAINER_MAT,
    MRC_CONTAINER_HDF5,
    MRC_CONTAINER_IMAGES /* no names follow, but requests for images */
} mrc_container;

/* Followed by the name of the file and, when asked for, that of the array, each ending in 0. */
typedef struct mrc_read_request {
    uint64_t version;
    int32_t format;       /* an mrc_container */
    int32_t named;        /* an array is asked for */
    int64_t file_bytes;   /* of the names, with their ends */
    int64_t array_bytes;  /* 0 unless named */
    int64_t memory;       /* the budget */
    int64_t time_seconds; /* of the processor, that it may take */
    mrc_limits limits;    /* of the caller; confine: see serve_seal() */
} mrc_read_request;

/* Followed by the name for messages: of the array when one was found, also after some errors. */
typedef struct mrc_read_answer {
    uint64_t version;
    int32_t status; /* a mercer_status */
    int32_t dtype;
    mercer_error error;
    int64_t shown_bytes; /* with the end; 0: none */
    int64_t rows, columns, chunk_rows;
    mrc_image_size size;
    int32_t vouched;
    int32_t open;    /* the caller wants it confined, and the kernel cannot do all of that */
    int32_t sparse;  /* row starts (rows + 1), columns and values of the entries follow */
    int64_t entries; /* when sparse */
} mrc_read_answer;

/* In front of the next rows, which are doubles; or, instead of them, an error. */
typedef struct mrc_read_piece {
    int64_t rows;
    int32_t status;
    mercer_error error;
} mrc_read_piece;

/* One image: its name for messages, with its end, and its bytes follow. */
typedef struct mrc_image_request {
    int64_t name_bytes, bytes;
} mrc_image_request;

/* Its pixels follow when it is MERCER_OK. */
typedef struct mrc_image_answer {
    int32_t status;
    int32_t channels;
    int32_t open; /* as above */
    mercer_error error;
    int64_t width, height;
} mrc_image_answer;

/* A process that decodes images. Freeing accepts NULL. */
typedef struct mrc_image_decoder mrc_image_decoder;
mercer_status mrc_image_decoder_new(mercer_ctx *ctx, const mrc_limits *limits, const char *shown,
                                    mrc_image_decoder **out, mercer_error *err);
void mrc_image_decoder_free(mrc_image_decoder *decoder);
/* As mrc_image_decode() does; what decoding takes, and the pixels, have to fit the budget. */
mercer_status mrc_image_decoder_run(mrc_image_decoder *decoder, mercer_ctx *ctx, const char *path,
                                    const unsigned char *bytes, size_t length,
                                    const mrc_budget *budget, mrc_pixels *out, mercer_error *err);

/* MAT or HDF5: *shown, owned by the caller also on error, is set to file:array; the matrix borrows
 * it and owns the open file. */
mercer_status mrc_containers_open(mercer_ctx *ctx, mrc_container format, const char *file,
                                  const char *array, mrc_matrix *matrix, char **shown,
                                  mercer_error *err);

/* The same in this process, by the libraries themselves; only the helper, the fuzzers and the tests
 * have these two. */
mercer_status mrc_mat_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                           mercer_error *err);
mercer_status mrc_hdf5_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                            mercer_error *err);

#endif
