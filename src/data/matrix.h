/* What formats without column names share: NPY and NPZ, Matrix Market, MAT, HDF5, image folders. */
#ifndef MRC_DATA_MATRIX_H
#define MRC_DATA_MATRIX_H

#include "data/reader.h"

/* An open array and how to get its rows. A format fills everything but budget, next and wide. */
struct mrc_matrix {
    mrc_budget *budget; /* set by the reader before the array is opened, borrowed; or NULL */
    const char *shown;  /* borrowed; file, or file:array, for messages */
    int64_t rows, columns;
    int64_t chunk_rows;  /* rows to ask for at a time; 0: as many as fit the cache */
    bool vouched;        /* the file's size proves that the rows are there */
    mrc_image_size size; /* when each row is an image */
    mrc_dtype dtype;     /* the smallest that holds every value, whatever it is in the file */
    /* Rows first .. first + count, in order and each once, as doubles. */
    mercer_status (*read)(void *self, mercer_ctx *ctx, int64_t first, int64_t count, double *out,
                          mercer_error *err);
    mrc_csr_owned csr;           /* instead of read, when the array is sparse: all of it */
    void (*destroy)(void *self); /* or NULL */
    void *self;
    int64_t next; /* row that comes next */
    double *wide; /* a chunk, when columns have to be taken apart or values packed; or NULL */
};

/* Refuse an empty shape, and one whose doubles could not be addressed. */
mercer_status mrc_matrix_check(const mrc_matrix *matrix, mercer_error *err);
/* Take from the budget what an array of `width` bytes a value takes that can only be read whole. */
mercer_status mrc_matrix_take_whole(const mrc_matrix *matrix, int64_t width, mercer_error *err);
/* What the axes of an array say about images: rows, height, width, and channels if there are four.
 */
mrc_image_size mrc_matrix_images(int axes, const int64_t *shape);
/* Rows asked for at a time. */
int64_t mrc_matrix_chunk(const mrc_matrix *matrix);
/* Append up to most - block->n rows; fewer only at the end. */
mercer_status mrc_matrix_rows(mrc_matrix *matrix, mercer_ctx *ctx, const mrc_columns *columns,
                              mrc_classes *classes, int64_t most, mrc_block *block,
                              mercer_error *err);
void mrc_matrix_destroy(mrc_matrix *matrix);

#endif
