/* Preparation: what happens to the columns of a file before a model sees them, kept in the model so
 * that it happens to new rows too. prepare.c tells how. */
#ifndef MRC_DATA_PREPARE_H
#define MRC_DATA_PREPARE_H

#include "base/ctx.h"
#include "base/memory.h"
#include "data/image.h"
#include "data/reader.h"

#include <mercer/io.h>

typedef enum mrc_missing { MRC_MISSING_ERROR, MRC_MISSING_MEAN, MRC_MISSING_DROP } mrc_missing;
typedef enum mrc_image_kind { MRC_IMAGE_NONE, MRC_IMAGE_PIXELS, MRC_IMAGE_HAAR } mrc_image_kind;

struct mercer_prepare {
    mrc_missing missing;
    double
        *means; /* of the columns before image features, once learnt; NULL unless missing: mean */
    int64_t means_count;
    mrc_image_kind image;
    mrc_image_size size; /* of every image; all 0 when there are none */
};

/* "error", "mean", "drop", and back: NULL means error. */
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

/* What happened to rows, for a notice. */
typedef struct mrc_prepared {
    int64_t filled; /* missing values replaced */
} mrc_prepared;

/* Learn from the first n rows of a file (shown, for messages) what the preparation still needs. */
mercer_status mrc_prepare_learn(mercer_prepare *prepare, const char *shown, const mrc_columns *file,
                                const double *x, int64_t n, mercer_error *err);
/* Prepare n rows of `columns` numbers: *x (from mrc_grow or mrc_alloc2, tightly packed) is changed
 * or replaced by another array, then n x mrc_prepare_width(). */
mercer_status mrc_prepare_apply(const mercer_prepare *prepare, mercer_ctx *ctx, double **x,
                                int64_t n, int64_t columns, mrc_prepared *done, mercer_error *err);

/* Rectangle features of grey images; image_features.c tells which and in what order. */
int64_t mrc_haar_count(int64_t width, int64_t height);
/* out: n x mrc_haar_count(); pixels: n x (width * height). */
mercer_status mrc_haar_rows(mercer_ctx *ctx, const double *pixels, int64_t n, int64_t width,
                            int64_t height, double *out, mercer_error *err);

#endif
