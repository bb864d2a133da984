/* SPDX-License-Identifier: BSD-3-Clause */
/* Preparation: from the columns of a file to the columns a model sees.
 *
 * A reader learns the preparation from the first block it hands out (of a whole table: from the
 * table), or is given the one of a model. Each block then goes through
 *
 *   text columns     0/1 columns, one for each value of the training table (encode.c)
 *   missing values   NaN in a data column: an error in the reader, the mean or the median of the
 *                    column in the training table (of a text column the shares of its values), or
 *                    (drop) the row is left out by the reader
 *   image features   pixels stay pixels, or become rectangle features (image_features.c)
 *
 * and comes out with as many columns as the model has. The rows carry their preparation with them,
 * a fit copies it into the model, the model's file keeps it, and mercer_model_read_options() hands
 * it to the reader of new rows. Scaling comes after all of it and is the model's own affair. */
#include "data/prepare.h"

#include "base/order.h"
#include "data/rows.h"

#include <math.h>
#include <string.h>

static const char *const missing_names[] = {"error", "mean", "drop", "median"};

const char *mrc_missing_name(mrc_missing missing)
{
    return missing_names[missing];
}

mercer_status mrc_missing_parse(const char *name, mrc_missing *out, mercer_error *err)
{
    *out = MRC_MISSING_ERROR;
    for (int i = MRC_MISSING_ERROR; name && i <= MRC_MISSING_MEDIAN; i++) {
        *out = (mrc_missing)i;
        if (strcmp(name, missing_names[i]) == 0)
            return MERCER_OK;
    }
    return name ? mrc_fail(err, MERCER_ERR_ARGUMENT,
                           "missing '%s' is not one of error, mean, median, drop", name)
                : MERCER_OK;
}

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

void mrc_prepare_destroy(mercer_prepare *prepare)
{
    for (int64_t s = 0; prepare->encodings && s < prepare->sources; s++)
        mrc_free_names(prepare->encodings[s].values, prepare->encodings[s].count);
    mrc_free(prepare->encodings);
    mrc_free_names(prepare->source_names, prepare->sources);
    mrc_free(prepare->means);
    mrc_free(prepare->dress);
    mrc_free(prepare->target_dress);
    mrc_free(prepare->date_format);
    mrc_free_names(prepare->na, prepare->na_count);
    mrc_free(prepare->remembered.label);
    mrc_free(prepare->remembered.id);
    mrc_free_names(prepare->remembered.targets, prepare->remembered.target_count);
    mrc_free(prepare->remembered.places);
    *prepare = (mercer_prepare){0};
}

void mrc_prepare_free(mercer_prepare *prepare)
{
    if (!prepare)
        return;
    mrc_prepare_destroy(prepare);
    mrc_free(prepare);
}

static mercer_status copy_remembered(const mrc_remembered *from, mrc_remembered *to,
                                     mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    to->id_unnamed = from->id_unnamed;
    if (from->label)
        MRC_TRY(mrc_strdup(&to->label, from->label, err));
    if (from->id)
        MRC_TRY(mrc_strdup(&to->id, from->id, err));
    MRC_TRY(mrc_copy_names(&to->targets, from->targets, from->target_count, err));
    to->target_count = from->target_count;
    if (from->places) {
        MRC_TRY(mrc_alloc2_raw(&to->places, from->place_count, 1, sizeof *to->places, err));
        memcpy(to->places, from->places, (size_t)from->place_count * sizeof *to->places);
        to->place_count = from->place_count;
        to->file_columns = from->file_columns;
        to->id_place = from->id_place;
    }
out:
    return rc;
}

static mercer_status copy_dress(const mrc_dress *from, int64_t count, mrc_dress **to,
                                int64_t *to_count, mercer_error *err)
{
    if (!from)
        return MERCER_OK;
    mercer_status rc = mrc_alloc2_raw(to, count, 1, sizeof **to, err);
    if (rc == MERCER_OK) {
        memcpy(*to, from, (size_t)count * sizeof **to);
        *to_count = count;
    }
    return rc;
}

mercer_status mrc_prepare_copy(const mercer_prepare *prepare, mercer_prepare *out,
                               mercer_error *err)
{
    mercer_prepare copy = {.sources = prepare->sources,
                           .missing = prepare->missing,
                           .means_count = prepare->means_count,
                           .image = prepare->image,
                           .size = prepare->size};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_copy_names(&copy.source_names, prepare->source_names, prepare->sources, err));
    if (prepare->sources > 0)
        MRC_TRY(mrc_alloc(&copy.encodings, prepare->sources, sizeof *copy.encodings, err));
    for (int64_t s = 0; s < prepare->sources; s++) {
        const mrc_encoding *from = &prepare->encodings[s];
        MRC_TRY(mrc_copy_names(&copy.encodings[s].values, from->values, from->count, err));
        copy.encodings[s].count = from->count;
    }
    if (prepare->means) {
        MRC_TRY(mrc_alloc2_raw(&copy.means, prepare->means_count, 1, sizeof *copy.means, err));
        memcpy(copy.means, prepare->means, (size_t)prepare->means_count * sizeof *copy.means);
    }
    MRC_TRY(copy_remembered(&prepare->remembered, &copy.remembered, err));
    MRC_TRY(copy_dress(prepare->dress, prepare->dress_count, &copy.dress, &copy.dress_count, err));
    MRC_TRY(copy_dress(prepare->target_dress, prepare->target_dress_count, &copy.target_dress,
                       &copy.target_dress_count, err));
    MRC_TRY(mrc_copy_names(&copy.na, prepare->na, prepare->na_count, err));
    copy.na_count = prepare->na_count;
    if (prepare->date_format)
        MRC_TRY(mrc_strdup(&copy.date_format, prepare->date_format, err));
    *out = copy;
    copy = (mercer_prepare){0};
out:
    mrc_prepare_destroy(&copy);
    return rc;
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
    MRC_TRY(mrc_prepare_copy(prepare, copy, err));
    *out = copy;
    copy = NULL;
out:
    mrc_prepare_free(copy);
    return rc;
}

bool mrc_prepare_is_empty(const mercer_prepare *prepare)
{
    const mrc_remembered *remembered = &prepare->remembered;
    return prepare->sources == 0 && prepare->missing == MRC_MISSING_ERROR &&
           prepare->image == MRC_IMAGE_NONE && !remembered->label && !remembered->id &&
           !remembered->targets && !remembered->places && !prepare->dress &&
           !prepare->target_dress && prepare->na_count == 0;
}

/* Places in a file without names: as many as there are columns, each once, none that of the ids. */
static mercer_status check_places(const mercer_prepare *prepare, int64_t columns, mercer_error *err)
{
    const mrc_remembered *r = &prepare->remembered;
    int64_t wanted = prepare->sources > 0 ? prepare->sources : columns, last = -1;
    bool right = !r->places ||
                 (r->place_count == wanted && r->id_place >= 0 && r->id_place <= r->file_columns);
    for (int64_t j = 0; right && r->places && j < r->place_count; j++) {
        right = r->places[j] > last && r->places[j] < r->file_columns &&
                r->places[j] != r->id_place - 1;
        last = r->places[j];
    }
    return right ? MERCER_OK
                 : mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "model: the places of its columns do not fit %lld columns of a file "
                            "with %lld",
                            (long long)wanted, (long long)r->file_columns);
}

static mercer_status check_images(const mercer_prepare *prepare, mercer_error *err)
{
    const mrc_image_size *size = &prepare->size;
    if (prepare->image == MRC_IMAGE_NONE)
        return MERCER_OK;
    if (size->width < 1 || size->height < 1 || size->width > MRC_MAX_PIXELS / size->height ||
        (size->channels != 1 && (size->channels != 3 || prepare->image == MRC_IMAGE_HAAR)))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "model: images of %lldx%lld pixels with %lld channels",
                        (long long)size->width, (long long)size->height, (long long)size->channels);
    return MERCER_OK;
}

mercer_status mrc_prepare_check(const mercer_prepare *prepare, int64_t columns, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_images(prepare, err));
    bool images = prepare->image != MRC_IMAGE_NONE;
    int64_t numbers = images ? mrc_image_values(&prepare->size) : columns;
    if (images && columns != mrc_prepare_width(prepare, numbers))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: %lld columns, but its images have %lld values",
                 (long long)columns, (long long)mrc_prepare_width(prepare, numbers));
    if (prepare->sources > 0 && (images || mrc_encode_width(prepare) != columns))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: %lld columns, but its text columns make %lld",
                 (long long)columns, (long long)mrc_encode_width(prepare));
    if (mrc_missing_fills(prepare->missing) != (prepare->means != NULL) ||
        (prepare->means && prepare->means_count != numbers))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: missing values '%s' with %lld means of columns",
                 mrc_missing_name(prepare->missing), (long long)prepare->means_count);
    if (prepare->means && mrc_first_not_finite(prepare->means, numbers) >= 0)
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "model: the mean of a column is not finite");
    MRC_TRY(check_places(prepare, columns, err));
    if (prepare->dress &&
        (images || prepare->dress_count != (prepare->sources > 0 ? prepare->sources : columns)))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: how %lld columns are written is not known",
                 (long long)prepare->dress_count);
out:
    return rc;
}

int64_t mrc_prepare_width(const mercer_prepare *prepare, int64_t columns)
{
    if (prepare->image == MRC_IMAGE_HAAR)
        return mrc_haar_count(prepare->size.width, prepare->size.height);
    return prepare->sources > 0 ? mrc_encode_width(prepare) : columns;
}

/* Whether column j of what comes out of the text columns is 0 and 1: then its mean is a share, and
 * its median would say nothing. */
static bool is_encoded(const mercer_prepare *prepare, int64_t j)
{
    for (int64_t s = 0, at = 0; s < prepare->sources; s++) {
        int64_t width = prepare->encodings[s].count > 0 ? prepare->encodings[s].count : 1;
        if (j < at + width)
            return prepare->encodings[s].count > 0;
        at += width;
    }
    return false;
}

/* Medians in the place of the means of columns. */
static mercer_status learn_medians(mercer_prepare *prepare, const double *x, int64_t n, int64_t d,
                                   mercer_error *err)
{
    double *there = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&there, n, 1, sizeof *there, err));
    for (int64_t j = 0; j < d; j++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (!isnan(x[i * d + j]))
                there[count++] = x[i * d + j];
        if (count > 0 && !is_encoded(prepare, j))
            prepare->means[j] = mrc_median(there, count);
    }
out:
    mrc_free(there);
    return rc;
}

mercer_status mrc_prepare_learn_fill(mercer_prepare *prepare, const char *shown,
                                     const mrc_columns *file, const double *x, int64_t n, int64_t d,
                                     mercer_error *err)
{
    int64_t *counts = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&counts, d, sizeof *counts, err));
    MRC_TRY(mrc_alloc(&prepare->means, d, sizeof *prepare->means, err));
    prepare->means_count = d;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            if (!isnan(x[i * d + j])) {
                counts[j]++;
                prepare->means[j] += x[i * d + j];
            }
    for (int64_t j = 0; j < d; j++)
        prepare->means[j] /= (double)counts[j]; /* 0 / 0 is refused below */
    if (prepare->missing == MRC_MISSING_MEDIAN)
        MRC_TRY(learn_medians(prepare, x, n, d, err));
    const char *what = prepare->missing == MRC_MISSING_MEDIAN ? "median" : "mean";
    for (int64_t s = 0, j = 0; file && s < file->data; s++) {
        if (!isfinite(prepare->means[j])) {
            char where[MRC_COLUMN_SHOWN];
            int64_t column = 0;
            while (file->role[column] != s)
                column++;
            MRC_FAIL_AT(err, MERCER_ERR_DATA,
                        MRC_AT(.names_file = 1, .key = "drop", .position = column + 1,
                               .column = file->names ? file->names[column] : NULL,
                               .column_number = file->names ? 0 : column + 1),
                        "%s: %s has %s to take the %s of; leave it out", shown,
                        mrc_column_shown(where, file, column),
                        counts[j] == 0 ? "no value" : "values too large", what);
        }
        j += prepare->sources > 0 && prepare->encodings[s].count > 0 ? prepare->encodings[s].count
                                                                     : 1;
    }
    for (int64_t j = 0; !file && j < d; j++)
        if (!isfinite(prepare->means[j]))
            MRC_FAIL(err, MERCER_ERR_DATA, "column %lld has %s to take the %s of", (long long)j + 1,
                     counts[j] == 0 ? "no value" : "values too large", what);
out:
    mrc_free(counts);
    return rc;
}

static int64_t count_missing(const mrc_columns *file, const double *x, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n * file->data; i++)
        count += mrc_is_missing(file, x[i]);
    return count;
}

void mrc_prepare_fill(const mercer_prepare *prepare, double *x, int64_t n, int64_t d)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            if (isnan(x[i * d + j]))
                x[i * d + j] = prepare->means[j];
}

static mercer_status image_features(const mercer_prepare *prepare, mercer_ctx *ctx, double **x,
                                    int64_t n, int64_t d, mercer_error *err)
{
    double *features = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&features, n, mrc_prepare_width(prepare, d), sizeof *features, err));
    MRC_TRY(mrc_haar_rows(ctx, *x, n, prepare->size.width, prepare->size.height, features, err));
    mrc_free(*x);
    *x = features;
    features = NULL;
out:
    mrc_free(features);
    return rc;
}

static mercer_status keep_gaps(const double *x, int64_t count, mrc_prepared *done,
                               mercer_error *err)
{
    int64_t gaps = 0;
    for (int64_t i = 0; i < count; i++)
        gaps += isnan(x[i]);
    mercer_status rc = mrc_alloc(&done->gaps, gaps, sizeof *done->gaps, err);
    for (int64_t i = 0; i < count && rc == MERCER_OK; i++)
        if (isnan(x[i]))
            done->gaps[done->gap_count++] = i;
    return rc;
}

mercer_status mrc_prepare_rows(mercer_prepare *prepare, mercer_ctx *ctx, const char *shown,
                               mrc_columns *file, double **x, int64_t n, mrc_prepared *done,
                               mercer_error *err)
{
    int64_t d = file->data;
    mercer_status rc = MERCER_OK;
    if (mrc_missing_fills(prepare->missing))
        done->filled += count_missing(file, *x, n);
    if (file->texts_open)
        MRC_TRY(mrc_encode_learn(prepare, ctx, shown, file, *x, n, err));
    if (prepare->sources > 0) {
        MRC_TRY(mrc_encode_rows(prepare, ctx, shown, file, x, n, &done->unknown, err));
        d = mrc_encode_width(prepare);
    }
    if (mrc_missing_fills(prepare->missing) && done->keep_gaps)
        MRC_TRY(keep_gaps(*x, n * d, done, err));
    if (mrc_missing_fills(prepare->missing) && !prepare->means)
        MRC_TRY(mrc_prepare_learn_fill(prepare, shown, file, *x, n, d, err));
    if (mrc_missing_fills(prepare->missing))
        mrc_prepare_fill(prepare, *x, n, d);
    if (prepare->image == MRC_IMAGE_HAAR)
        MRC_TRY(image_features(prepare, ctx, x, n, d, err));
out:
    return rc;
}

static bool has_name(char *const *names, int64_t count, const char *name)
{
    for (int64_t j = 0; names && j < count; j++)
        if (strcmp(names[j], name) == 0)
            return true;
    return false;
}

void mrc_read_options_like(const mercer_prepare *prepare, char *const *names, int64_t columns,
                           mercer_read_options *options)
{
    bool encoded = prepare && prepare->sources > 0;
    int64_t count = encoded ? prepare->sources : columns;
    bool named = options->label || options->target || options->labels_file;
    names = encoded ? prepare->source_names : names;
    options->prepare = prepare;
    if (!named && !options->no_label &&
        (has_name(names, count, "label") || has_name(names, count, "target")))
        options->no_label = 2;
    options->columns = columns;
    if (names) {
        options->only = (const char *const *)names;
        options->only_count = count;
    }
}
