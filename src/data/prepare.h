/* SPDX-License-Identifier: BSD-3-Clause */
/* Preparation: what happens to the columns of a file before a model sees them, kept in the model so
 * that it happens to new rows too. prepare.c tells how. */
#ifndef MRC_DATA_PREPARE_H
#define MRC_DATA_PREPARE_H

#include "base/ctx.h"
#include "base/memory.h"
#include "data/columns.h"
#include "data/image.h"

#include <mercer/io.h>

#include <math.h>
#include <string.h>

typedef enum mrc_missing {
    MRC_MISSING_ERROR,
    MRC_MISSING_MEAN,
    MRC_MISSING_DROP,
    MRC_MISSING_MEDIAN
} mrc_missing;
/* Whether numbers learnt from the training rows stand in for missing values. */
static inline bool mrc_missing_fills(mrc_missing missing)
{
    return missing == MRC_MISSING_MEAN || missing == MRC_MISSING_MEDIAN;
}
typedef enum mrc_image_kind { MRC_IMAGE_NONE, MRC_IMAGE_PIXELS, MRC_IMAGE_HAAR } mrc_image_kind;

/* The values of a text column, sorted; none for a column of numbers. */
typedef struct mrc_encoding {
    char **values;
    int64_t count;
} mrc_encoding;

/* Columns of a file that are not data, or not wanted, by which new files are read like the first.
 */
typedef struct mrc_remembered {
    char *label, *id; /* names; or NULL */
    bool id_unnamed;  /* that of the ids is made up: the column has none */
    char **targets;   /* target_count names; or NULL */
    int64_t target_count;
    /* Where the data columns stand in a file of which columns were chosen, from 0, if it has no
     * names or other columns have the same; how many it has, and where the ids stand, from 1; 0:
     * there are none. */
    int64_t *places, place_count, file_columns, id_place;
} mrc_remembered;

struct mercer_prepare {
    int64_t sources; /* columns of the file; 0 when none of them is text */
    char **source_names;
    mrc_encoding *encodings; /* of each source */
    mrc_missing missing;
    double *means; /* or medians, before image features; NULL unless missing values are filled, and
                      until learnt */
    int64_t means_count;
    mrc_image_kind image;
    mrc_image_size size; /* of every image; all 0 when there are none */
    mrc_remembered remembered;
    /* How numbers are written in each data column and target of the file; NULL: plainly. */
    mrc_dress *dress, *target_dress;
    int64_t dress_count, target_dress_count;
    char *date_format; /* of the columns of dates; NULL: ISO 8601 */
    char **na;         /* further words for a missing value */
    int64_t na_count;
};

/* A text among numbers: a NaN with its index; and back, -1 for everything else. */
#define MRC_TEXT_CELL_BITS UINT64_C(0x7ffc000000000000)
static inline double mrc_text_cell(int64_t code)
{
    uint64_t bits = MRC_TEXT_CELL_BITS | (uint64_t)code;
    double word;
    memcpy(&word, &bits, sizeof word);
    return word;
}

static inline int64_t mrc_text_cell_code(double cell)
{
    uint64_t bits;
    memcpy(&bits, &cell, sizeof bits);
    return (bits & MRC_TEXT_CELL_BITS) == MRC_TEXT_CELL_BITS && !(bits >> 63)
               ? (int64_t)(bits & ~MRC_TEXT_CELL_BITS)
               : -1;
}

/* Whether a cell as it was read is missing; a text is not. */
static inline bool mrc_is_missing(const mrc_columns *file, double cell)
{
    return isnan(cell) && !(file->texts && mrc_text_cell_code(cell) >= 0);
}

/* "error", "mean", "drop", "median", and back: NULL means error. */
const char *mrc_missing_name(mrc_missing missing);
mercer_status mrc_missing_parse(const char *name, mrc_missing *out, mercer_error *err);
/* "pixels", "haar"; NULL for none. And back: NULL means none. */
const char *mrc_image_kind_name(mrc_image_kind kind);
mercer_status mrc_image_kind_parse(const char *name, mrc_image_kind *out, mercer_error *err);

mercer_status mrc_prepare_new(mercer_prepare **out, mercer_error *err);
/* A copy; NULL stays NULL. */
mercer_status mrc_prepare_clone(const mercer_prepare *prepare, mercer_prepare **out,
                                mercer_error *err);
/* The contents alone, over an empty or zeroed one. */
mercer_status mrc_prepare_copy(const mercer_prepare *prepare, mercer_prepare *out,
                               mercer_error *err);
void mrc_prepare_destroy(mercer_prepare *prepare);
/* Accepts NULL. */
void mrc_prepare_free(mercer_prepare *prepare);

/* Whether nothing is done to any row. */
bool mrc_prepare_is_empty(const mercer_prepare *prepare);
/* Whether the parts go together and give `columns` columns; else MERCER_ERR_ARGUMENT. */
mercer_status mrc_prepare_check(const mercer_prepare *prepare, int64_t columns, mercer_error *err);
/* Columns that come out when `columns` go in. */
int64_t mrc_prepare_width(const mercer_prepare *prepare, int64_t columns);

/* Make options read more rows like those that had these columns and were prepared like this: the
 * bodies of mercer_table_read_options() and mercer_model_read_options(). names may be NULL. */
void mrc_read_options_like(const mercer_prepare *prepare, char *const *names, int64_t columns,
                           mercer_read_options *options);

/* Learn what fills the missing values (NaN) of n x d numbers, d being the width of what comes
 * before image features; file (or NULL) tells the names of columns. */
mercer_status mrc_prepare_learn_fill(mercer_prepare *prepare, const char *shown,
                                     const mrc_columns *file, const double *x, int64_t n, int64_t d,
                                     mercer_error *err);
/* Put it in their place. */
void mrc_prepare_fill(const mercer_prepare *prepare, double *x, int64_t n, int64_t d);

/* What happened to rows, for a notice. */
typedef struct mrc_prepared {
    int64_t filled; /* missing values replaced */
    bool keep_gaps; /* which ones is wanted: */
    int64_t *gaps;  /* i * d + j, increasing, from mrc_alloc; the caller's */
    int64_t gap_count;
    int64_t unknown; /* texts that the training table does not have */
} mrc_prepared;

/* Prepare n rows of a file (shown, for messages), after learning from them what is not yet known:
 * *x (file->data numbers per row, from mrc_grow, tightly packed) is changed or replaced by another
 * array, then n x mrc_prepare_width(). */
mercer_status mrc_prepare_rows(mercer_prepare *prepare, mercer_ctx *ctx, const char *shown,
                               mrc_columns *file, double **x, int64_t n, mrc_prepared *done,
                               mercer_error *err);

/* Text columns; encode.c tells how. Learn them from x, in which texts are then numbered anew. */
mercer_status mrc_encode_learn(mercer_prepare *prepare, const mercer_ctx *ctx, const char *shown,
                               mrc_columns *file, double *x, int64_t n, mercer_error *err);
/* Make the texts known to the reader of new rows. */
mercer_status mrc_encode_load(const mercer_prepare *prepare, mrc_columns *file, mercer_error *err);
/* Columns that come out. */
int64_t mrc_encode_width(const mercer_prepare *prepare);
/* Replace *x by n x mrc_encode_width() numbers; *unknown grows. */
mercer_status mrc_encode_rows(const mercer_prepare *prepare, const mercer_ctx *ctx,
                              const char *shown, const mrc_columns *file, double **x, int64_t n,
                              int64_t *unknown, mercer_error *err);
/* The names of what comes out, owned by the caller; NULL when the file had none. */
mercer_status mrc_encode_names(const mercer_prepare *prepare, char ***out, mercer_error *err);

/* Rectangle features of grey images; image_features.c tells which and in what order. */
int64_t mrc_haar_count(int64_t width, int64_t height);
/* out: n x mrc_haar_count(); pixels: n x (width * height). */
mercer_status mrc_haar_rows(mercer_ctx *ctx, const double *pixels, int64_t n, int64_t width,
                            int64_t height, double *out, mercer_error *err);

#endif
