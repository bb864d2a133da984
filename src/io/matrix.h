/* SPDX-License-Identifier: BSD-3-Clause */
/* What formats without column names share: NPY and NPZ, Matrix Market, MAT, HDF5, image folders. */
#ifndef MRC_IO_MATRIX_H
#define MRC_IO_MATRIX_H

#include "base/strips.h"
#include "io/format.h"

/* An open array and how to get its rows. A format fills everything but budget, source, next and
 * wide. */
typedef struct mrc_matrix {
    mrc_budget *budget;       /* set by the reader before the array is opened, borrowed; or NULL */
    mrc_table_source *source; /* set by mrc_matrix_describe() */
    const char *shown;        /* borrowed; file, or file:array, for messages */
    int64_t rows, columns;
    int64_t chunk_rows;  /* rows to ask for at a time; 0: as many as fit the cache */
    bool vouched;        /* the file's size proves that the rows are there */
    mrc_image_size size; /* when each row is an image */
    mrc_dtype dtype;     /* the smallest that holds every value, whatever it is in the file */
    /* Rows first .. first + count, in order and each once, as doubles. */
    mercer_status (*read)(void *self, mercer_ctx *ctx, int64_t first, int64_t count, double *out,
                          mercer_error *err);
    mrc_csr_owned csr;           /* instead of read, when the array is sparse: the rows wanted, */
    int64_t csr_first, csr_rows; /* the first of them and their number */
    const mercer_ctx *part_of;   /* by whom, mrc_wanted_rows() */
    void (*destroy)(void *self); /* or NULL */
    void *self;
    int64_t next; /* row that comes next */
    double *wide; /* a chunk, when columns have to be taken apart or values packed; or NULL */
} mrc_matrix;

/* Which of `total` rows will be asked for; of a rank that has none the first one, for its columns.
 */
mrc_span mrc_wanted_rows(const mercer_ctx *part_of, int64_t total);

/* Refuse an empty shape, and one whose doubles could not be addressed. */
mercer_status mrc_matrix_check(const mrc_matrix *matrix, mercer_error *err);
/* Take from the budget what an array of `width` bytes per value takes that can only be read whole.
 */
mercer_status mrc_matrix_take_whole(const mrc_matrix *matrix, int64_t width, mercer_error *err);
/* Refuse a table that is read whole and whose announced values alone exceed what is left of the
 * budget; before anything is made per column, of which there may be millions. */
mercer_status mrc_source_check_size(const mrc_table_source *source, mercer_error *err);
/* What the axes of an array say about images: rows, height, width, and channels if there are four.
 */
mrc_image_size mrc_matrix_images(int axes, const int64_t *shape);
/* Rows asked for at a time. */
int64_t mrc_matrix_chunk(const mrc_matrix *matrix);
void mrc_matrix_destroy(mrc_matrix *matrix);

/* What a format of matrices is made of. self is a matrix: an empty one, to be opened; */
mercer_status mrc_matrix_new(mrc_table_source *source, mrc_matrix **out, mercer_error *err);
/* once it is open, what the reader has to know of it; */
void mrc_matrix_describe(mrc_matrix *matrix, mrc_table_source *source);
/* its rows, and its end. */
mercer_status mrc_matrix_rows(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                              mercer_error *err);
void mrc_matrix_close(void *self);
/* Step over rows of a matrix that is in memory. */
mercer_status mrc_matrix_skip(void *self, mercer_ctx *ctx, int64_t rows, int64_t *skipped,
                              mercer_error *err);

#endif
