/* Preparation: from the columns of a file to the columns a model sees.
 *
 * A reader learns the preparation from the first block it hands out (of a whole table: from the
 * table), or is given the one of a model. Each block then goes through
 *
 *   image features   pixels stay pixels, or become rectangle features (image_features.c)
 *
 * and comes out with as many columns as the model has. The rows carry their preparation with them,
 * a fit copies it into the model, the model's file keeps it, and mercer_model_read_options() hands
 * it to the reader of new rows. Scaling comes after all of it and is the model's own affair. */
#include "data/prepare.h"

#include <string.h>

static const char *const image_kinds[] = {NULL, "pixels", "haar"};

const char *mrc_image_kind_name(mrc_image_kind kind)
{
    return image_kinds[kind];
}

mercer_status mrc_image_kind_parse(const char *name, mrc_image_kind *out, mercer_error *err)
{
    *out = MRC_IMAGE_NONE;
    for (int i = MRC_IMAGE_PIXELS; name && i <= MRC_IMAGE_HAAR; i++)
        if (strcmp(name, image_kinds[i]) == 0)
            *out = (mrc_image_kind)i;
    if (name && *out == MRC_IMAGE_NONE)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "image features '%s' are not one of pixels, haar",
                        name);
    return MERCER_OK;
}

mercer_status mrc_prepare_new(mercer_prepare **out, mercer_error *err)
{
    return mrc_alloc(out, 1, sizeof **out, err);
}

void mrc_prepare_free(mercer_prepare *prepare)
{
    mrc_free(prepare);
}

mercer_status mrc_prepare_clone(const mercer_prepare *prepare, mercer_prepare **out,
                                mercer_error *err)
{
    mercer_prepare *copy = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!prepare)
        return MERCER_OK;
    MRC_TRY(mrc_prepare_new(&copy, err));
    copy->image = prepare->image;
    copy->size = prepare->size;
    *out = copy;
    copy = NULL;
out:
    mrc_prepare_free(copy);
    return rc;
}

bool mrc_prepare_is_empty(const mercer_prepare *prepare)
{
    return prepare->image == MRC_IMAGE_NONE;
}

mercer_status mrc_prepare_check(const mercer_prepare *prepare, int64_t columns, mercer_error *err)
{
    const mrc_image_size *size = &prepare->size;
    if (prepare->image == MRC_IMAGE_NONE)
        return MERCER_OK;
    if (size->width < 1 || size->height < 1 || size->width > MRC_PIXELS_MOST / size->height ||
        (size->channels != 1 && (size->channels != 3 || prepare->image == MRC_IMAGE_HAAR)))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "model: images of %lldx%lld pixels with %lld channels",
                        (long long)size->width, (long long)size->height, (long long)size->channels);
    int64_t wanted = mrc_prepare_width(prepare, mrc_image_values(size));
    if (columns != wanted)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "model: %lld columns, but its images have %lld values", (long long)columns,
                        (long long)wanted);
    return MERCER_OK;
}

int64_t mrc_prepare_width(const mercer_prepare *prepare, int64_t columns)
{
    return prepare->image == MRC_IMAGE_HAAR
               ? mrc_haar_count(prepare->size.width, prepare->size.height)
               : columns;
}

mercer_status mrc_prepare_apply(const mercer_prepare *prepare, mercer_ctx *ctx, double **x,
                                int64_t n, int64_t columns, mercer_error *err)
{
    double *features = NULL;
    mercer_status rc = MERCER_OK;
    if (prepare->image != MRC_IMAGE_HAAR)
        return MERCER_OK;
    MRC_TRY(
        mrc_alloc2_raw(&features, n, mrc_prepare_width(prepare, columns), sizeof *features, err));
    MRC_TRY(mrc_haar_rows(ctx, *x, n, prepare->size.width, prepare->size.height, features, err));
    mrc_free(*x);
    *x = features;
    features = NULL;
out:
    mrc_free(features);
    return rc;
}
