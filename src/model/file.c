/* SPDX-License-Identifier: BSD-3-Clause */
/* Model files: the parts of a model (parts.def) in a safetensors container, so that any language
 * can open them. docs/format.md is the description.
 *
 * All meaning is in the metadata; numbers there are exact in every locale. Tensors are read
 * straight into the arrays of the model. The same model gives the same bytes. */
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "data/dress.h"
#include "model/json.h"
#include "model/parts.h"
#include "model/safetensors.h"
#include "model/text_code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FORMAT_VERSION = 2 /* the newest we read. A streaming state does not need it: older readers skip
                          it and have the model */
};

/* By mercer_target_kind. */
static const char *const head_kinds[] = {"none", "classes", "values"};

/* Metadata of a file that is read. */
struct metadata {
    mercer_ctx *ctx;
    const mrc_tensor_source *source;
    const json_t *json;
};

static mercer_status damaged(const struct metadata *meta, const char *reason, const char *what,
                             mercer_error *err)
{
    return mrc_tensor_source_damaged(meta->source, reason, what, err);
}

static bool has_key(const struct metadata *meta, const char *key)
{
    return json_object_get(meta->json, key) != NULL;
}

/* ---- Numbers: each kind as a text, and back ---- */

static mercer_status put_text(json_t *object, const char *key, const char *text, mercer_error *err)
{
    char *encoded = NULL;
    mercer_status rc = MERCER_OK;
    if (!text)
        return MERCER_OK;
    MRC_TRY(mrc_text_encode(text, &encoded, err));
    if (json_object_set_new(object, key, json_string(encoded)) != 0)
        rc = mrc_json_no_memory(err);
out:
    mrc_free(encoded);
    return rc;
}

static mercer_status get_text(const struct metadata *meta, const char *key, const char **out,
                              mercer_error *err)
{
    *out = json_string_value(json_object_get(meta->json, key));
    return *out ? MERCER_OK : damaged(meta, "no metadata ", key, err);
}

static mercer_status get_unsigned(const struct metadata *meta, const char *key, uint64_t most,
                                  uint64_t *out, mercer_error *err)
{
    const char *text, *s;
    uint64_t value = 0;
    mercer_status rc = get_text(meta, key, &text, err);
    if (rc != MERCER_OK)
        return rc;
    for (s = text; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (value > (most - digit) / 10)
            break;
        value = value * 10 + digit;
    }
    if (s == text || *s)
        return damaged(meta, "metadata is not a usable integer: ", key, err);
    *out = value;
    return MERCER_OK;
}

static mercer_status put_int(json_t *object, const char *key, int64_t value, mercer_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return put_text(object, key, text, err);
}

static mercer_status put_size(json_t *object, const char *key, const void *value, mercer_error *err)
{
    return put_int(object, key, *(const int64_t *)value, err);
}

static mercer_status get_size(const struct metadata *meta, const char *key, void *out,
                              mercer_error *err)
{
    uint64_t value = 0;
    mercer_status rc = get_unsigned(meta, key, INT64_MAX / 4, &value, err);
    *(int64_t *)out = (int64_t)value;
    return rc;
}

static mercer_status put_real(json_t *object, const char *key, const void *value, mercer_error *err)
{
    char text[MRC_NUMBER_SIZE];
    mrc_format_double(*(const double *)value, text);
    return put_text(object, key, text, err);
}

static mercer_status get_real(const struct metadata *meta, const char *key, void *out,
                              mercer_error *err)
{
    const char *text;
    mercer_status rc = get_text(meta, key, &text, err);
    if (rc == MERCER_OK && !mrc_parse_double(text, strlen(text), out))
        rc = damaged(meta, "metadata is not a number: ", key, err);
    return rc;
}

static mercer_status put_flag(json_t *object, const char *key, const void *value, mercer_error *err)
{
    return put_text(object, key, *(const bool *)value ? "true" : "false", err);
}

static mercer_status get_flag(const struct metadata *meta, const char *key, void *out,
                              mercer_error *err)
{
    const char *text;
    mercer_status rc = get_text(meta, key, &text, err);
    if (rc != MERCER_OK)
        return rc;
    const bool is_true = strcmp(text, "true") == 0;
    *(bool *)out = is_true;
    if (!is_true && strcmp(text, "false") != 0) {
        char reason[64];
        snprintf(reason, sizeof reason, "%s is neither true nor false", key);
        return damaged(meta, reason, NULL, err);
    }
    return MERCER_OK;
}

static mercer_status put_truth(json_t *object, const char *key, const void *value,
                               mercer_error *err)
{
    bool flag = *(const mrc_truth *)value == MRC_TRUE;
    return put_flag(object, key, &flag, err);
}

static mercer_status get_truth(const struct metadata *meta, const char *key, void *out,
                               mercer_error *err)
{
    bool flag;
    mercer_status rc = get_flag(meta, key, &flag, err);
    if (rc == MERCER_OK)
        *(mrc_truth *)out = flag ? MRC_TRUE : MRC_FALSE;
    return rc;
}

static mercer_status put_string(json_t *object, const char *key, const void *value,
                                mercer_error *err)
{
    return put_text(object, key, *(char *const *)value, err);
}

static mercer_status get_string(const struct metadata *meta, const char *key, void *out,
                                mercer_error *err)
{
    const char *text;
    mercer_status rc = MERCER_OK;
    MRC_TRY(get_text(meta, key, &text, err));
    MRC_TRY(mrc_strdup(out, text, err));
    mrc_text_decode(*(char **)out);
out:
    return rc;
}

static mercer_status put_seed(json_t *object, const char *key, const void *value, mercer_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)*(const uint64_t *)value);
    return put_text(object, key, text, err);
}

static mercer_status get_seed(const struct metadata *meta, const char *key, void *out,
                              mercer_error *err)
{
    return get_unsigned(meta, key, UINT64_MAX, out, err);
}

static mercer_status put_center(json_t *object, const char *key, const void *value,
                                mercer_error *err)
{
    return put_text(object, key, mrc_center_name(*(const mrc_center *)value), err);
}

static mercer_status get_center(const struct metadata *meta, const char *key, void *out,
                                mercer_error *err)
{
    mrc_center center = MRC_CENTER_NONE;
    const char *text;
    mercer_status rc = MERCER_OK;
    MRC_TRY(get_text(meta, key, &text, err));
    while (strcmp(text, mrc_center_name(center)) != 0) {
        if (center == MRC_CENTER_SPAN)
            MRC_TRY(damaged(meta, "unknown centring ", text, err));
        center++;
    }
    *(mrc_center *)out = center;
out:
    return rc;
}

static mercer_status put_scale(json_t *object, const char *key, const void *value,
                               mercer_error *err)
{
    return put_text(object, key, mrc_scale_name(*(const mrc_scale_kind *)value), err);
}

static mercer_status get_scale(const struct metadata *meta, const char *key, void *out,
                               mercer_error *err)
{
    const char *text;
    mercer_status rc = get_text(meta, key, &text, err);
    if (rc == MERCER_OK && mrc_scale_parse(text, out, NULL) != MERCER_OK)
        rc = damaged(meta, "unknown scaling ", text, err);
    return rc;
}

static mercer_status put_targets(json_t *object, const char *key, const void *value,
                                 mercer_error *err)
{
    return put_text(object, key, head_kinds[*(const mercer_target_kind *)value], err);
}

static mercer_status get_targets(const struct metadata *meta, const char *key, void *out,
                                 mercer_error *err)
{
    const char *text;
    mercer_target_kind kind = MERCER_TARGET_CLASSES;
    mercer_status rc = get_text(meta, key, &text, err);
    if (rc != MERCER_OK)
        return rc;
    if (strcmp(text, head_kinds[MERCER_TARGET_VALUES]) == 0)
        kind = MERCER_TARGET_VALUES;
    if (strcmp(text, head_kinds[kind]) != 0)
        return damaged(meta, "a head predicts neither classes nor values but ", text, err);
    *(mercer_target_kind *)out = kind;
    return MERCER_OK;
}

static mercer_status put_random(json_t *object, const char *key, const void *value,
                                mercer_error *err)
{
    const uint64_t *random = value;
    char text[80];
    snprintf(text, sizeof text, "%016llx %016llx %016llx %016llx", (unsigned long long)random[0],
             (unsigned long long)random[1], (unsigned long long)random[2],
             (unsigned long long)random[3]);
    return put_text(object, key, text, err);
}

static mercer_status get_random(const struct metadata *meta, const char *key, void *out,
                                mercer_error *err)
{
    const char *text;
    char *end;
    mercer_status rc = MERCER_OK;
    MRC_TRY(get_text(meta, key, &text, err));
    for (int i = 0; i < 4; i++, text = end) {
        ((uint64_t *)out)[i] = strtoull(text, &end, 16);
        if (end == text)
            MRC_TRY(damaged(meta, "state_random is not four numbers", NULL, err));
    }
out:
    return rc;
}

static const struct coding {
    mercer_status (*put)(json_t *object, const char *key, const void *value, mercer_error *err);
    mercer_status (*get)(const struct metadata *meta, const char *key, void *out,
                         mercer_error *err);
} codings[MRC_KINDS] = {
    [MRC_KIND_SIZE] = {put_size, get_size},          [MRC_KIND_REAL] = {put_real, get_real},
    [MRC_KIND_FLAG] = {put_flag, get_flag},          [MRC_KIND_TRUTH] = {put_truth, get_truth},
    [MRC_KIND_TEXT] = {put_string, get_string},      [MRC_KIND_SEED] = {put_seed, get_seed},
    [MRC_KIND_CENTER] = {put_center, get_center},    [MRC_KIND_SCALE] = {put_scale, get_scale},
    [MRC_KIND_TARGETS] = {put_targets, get_targets}, [MRC_KIND_RANDOM] = {put_random, get_random},
};

/* ---- Lists of names ---- */

/* Strings of any bytes as a JSON array, for json_decref. */
static mercer_status names_to_json(char *const *names, int64_t count, json_t **out,
                                   mercer_error *err)
{
    char *name = NULL;
    mercer_status rc = MERCER_OK;
    *out = json_array();
    if (!*out)
        MRC_TRY(mrc_json_no_memory(err));
    for (int64_t j = 0; j < count; j++) {
        MRC_TRY(mrc_text_encode(names[j], &name, err));
        if (json_array_append_new(*out, json_string(name)) != 0)
            MRC_TRY(mrc_json_no_memory(err));
        mrc_free(name);
        name = NULL;
    }
out:
    mrc_free(name);
    return rc;
}

/* Metadata is text, so lists stand in it as the text of their JSON. */
static mercer_status put_json(json_t *object, const char *key, const json_t *value,
                              mercer_error *err)
{
    char *text = NULL;
    size_t length = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_json_text(value, &text, &length, err));
    if (json_object_set_new(object, key, json_string(text)) != 0)
        MRC_TRY(mrc_json_no_memory(err));
out:
    mrc_free(text);
    return rc;
}

static mercer_status put_names(json_t *object, const char *key, char *const *names, int64_t count,
                               mercer_error *err)
{
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;
    if (!names)
        return MERCER_OK;
    MRC_TRY(names_to_json(names, count, &list, err));
    MRC_TRY(put_json(object, key, list, err));
out:
    json_decref(list);
    return rc;
}

/* The strings of a JSON array; also on error the caller frees *out, which has `count` places. */
static mercer_status names_from_json(const struct metadata *meta, const json_t *list, int64_t count,
                                     char ***out, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(out, count, sizeof **out, err));
    for (int64_t j = 0; j < count; j++) {
        const char *name = json_string_value(json_array_get(list, (size_t)j));
        if (!name)
            MRC_TRY(damaged(meta, "a name is not text", NULL, err));
        MRC_TRY(mrc_strdup(&(*out)[j], name, err));
        mrc_text_decode((*out)[j]);
    }
out:
    return rc;
}

/* The value of a JSON text in the metadata; NULL when it is none. */
static mercer_status get_json(const char *text, json_t **out, mercer_error *err)
{
    const char *reason;
    mercer_status rc = mrc_json_parse(text, strlen(text), out, &reason, err);
    return rc == MERCER_ERR_FORMAT ? MERCER_OK : rc;
}

/* A list of as many names as there must be, or none at all. */
static mercer_status get_names(const struct metadata *meta, const char *key, int64_t count,
                               char ***out, mercer_error *err)
{
    const char *text = json_string_value(json_object_get(meta->json, key));
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;

    if (!text)
        return MERCER_OK;
    MRC_TRY(get_json(text, &list, err));
    if (!json_is_array(list) || (int64_t)json_array_size(list) != count)
        MRC_TRY(damaged(meta, "not the right number of names in ", key, err));
    MRC_TRY(names_from_json(meta, list, count, out, err));
out:
    json_decref(list);
    return rc;
}

/* ---- What a line MRC_NESTED names: several keys at a time ---- */

/* The columns of the file: {"name": ..., "values": [...]}, the values of text columns only. */
static mercer_status put_encodings(json_t *meta, const mercer_prepare *prepare, mercer_error *err)
{
    json_t *list = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    if (prepare->sources == 0)
        return MERCER_OK;
    MRC_TRY(put_text(meta, "encode", "onehot", err));
    list = json_array();
    for (int64_t s = 0; s < prepare->sources; s++) {
        const mrc_encoding *encoding = &prepare->encodings[s];
        json_t *source = json_object();
        if (json_array_append_new(list, source) != 0) /* list owns source, also now */
            MRC_TRY(mrc_json_no_memory(err));
        if (prepare->source_names)
            MRC_TRY(put_text(source, "name", prepare->source_names[s], err));
        if (encoding->count == 0)
            continue;
        MRC_TRY(names_to_json(encoding->values, encoding->count, &values, err));
        if (json_object_set(source, "values", values) != 0)
            MRC_TRY(mrc_json_no_memory(err));
        json_decref(values);
        values = NULL;
    }
    MRC_TRY(put_json(meta, "encodings", list, err));
out:
    json_decref(list);
    json_decref(values);
    return rc;
}

/* Columns that are not data, and the places of those that are. */
static mercer_status put_remembered(json_t *meta, const mrc_remembered *r, mercer_error *err)
{
    json_t *places = NULL;
    mercer_status rc = MERCER_OK;
    if (r->label)
        MRC_TRY(put_text(meta, "label_column", r->label, err));
    MRC_TRY(put_names(meta, "target_columns", r->targets, r->target_count, err));
    if (r->id)
        MRC_TRY(put_text(meta, "id_column", r->id, err));
    if (r->id_unnamed)
        MRC_TRY(put_text(meta, "id_unnamed", "true", err));
    if (r->places) {
        places = json_array();
        for (int64_t j = 0; j < r->place_count; j++)
            if (json_array_append_new(places, json_integer(r->places[j])) != 0)
                MRC_TRY(mrc_json_no_memory(err));
        MRC_TRY(put_json(meta, "column_places", places, err));
        MRC_TRY(put_int(meta, "file_columns", r->file_columns, err));
        MRC_TRY(put_int(meta, "id_place", r->id_place, err));
    }
out:
    json_decref(places);
    return rc;
}

/* How the cells of columns are written. */
static mercer_status put_dress(json_t *meta, const char *key, const mrc_dress *dress, int64_t count,
                               mercer_error *err)
{
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;
    if (!dress)
        return MERCER_OK;
    list = json_array();
    for (int64_t j = 0; j < count; j++)
        if (json_array_append_new(list, json_string(mrc_dress_name(dress[j]))) != 0)
            MRC_TRY(mrc_json_no_memory(err));
    MRC_TRY(put_json(meta, key, list, err));
out:
    json_decref(list);
    return rc;
}

/* Only what there is: most models are fitted to the columns as they stand. */
static mercer_status put_prepare(json_t *meta, const mercer_model *model, mercer_error *err)
{
    const mercer_prepare *prepare = &model->prepare;
    mercer_status rc = MERCER_OK;
    MRC_TRY(put_encodings(meta, prepare, err));
    if (prepare->missing != MRC_MISSING_ERROR)
        MRC_TRY(put_text(meta, "missing", mrc_missing_name(prepare->missing), err));
    if (prepare->image != MRC_IMAGE_NONE) {
        MRC_TRY(put_text(meta, "image_features", mrc_image_kind_name(prepare->image), err));
        MRC_TRY(put_int(meta, "image_width", prepare->size.width, err));
        MRC_TRY(put_int(meta, "image_height", prepare->size.height, err));
        MRC_TRY(put_int(meta, "image_channels", prepare->size.channels, err));
    }
    MRC_TRY(put_remembered(meta, &prepare->remembered, err));
    MRC_TRY(put_dress(meta, "column_cells", prepare->dress, prepare->dress_count, err));
    MRC_TRY(
        put_dress(meta, "target_cells", prepare->target_dress, prepare->target_dress_count, err));
    MRC_TRY(put_names(meta, "na", prepare->na, prepare->na_count, err));
    if (prepare->date_format)
        MRC_TRY(put_text(meta, "date_format", prepare->date_format, err));
out:
    return rc;
}

static mercer_status get_encodings(const struct metadata *meta, mercer_prepare *prepare,
                                   mercer_error *err)
{
    const char *text = json_string_value(json_object_get(meta->json, "encodings"));
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;

    if (!text)
        return MERCER_OK;
    MRC_TRY(get_json(text, &list, err));
    if (json_array_size(list) == 0) /* also of what is not an array */
        MRC_TRY(damaged(meta, "encodings is not a list of columns", NULL, err));
    int64_t count = (int64_t)json_array_size(list);
    MRC_TRY(mrc_alloc(&prepare->encodings, count, sizeof *prepare->encodings, err));
    prepare->sources = count;
    if (json_object_get(json_array_get(list, 0), "name"))
        MRC_TRY(mrc_alloc(&prepare->source_names, count, sizeof *prepare->source_names, err));
    for (int64_t s = 0; s < count; s++) {
        const json_t *source = json_array_get(list, (size_t)s);
        const json_t *values = json_object_get(source, "values");
        const char *name = json_string_value(json_object_get(source, "name"));
        if (prepare->source_names) {
            if (!name)
                MRC_TRY(damaged(meta, "some encodings have no name", NULL, err));
            MRC_TRY(mrc_strdup(&prepare->source_names[s], name, err));
            mrc_text_decode(prepare->source_names[s]);
        }
        prepare->encodings[s].count = (int64_t)json_array_size(values);
        if (prepare->encodings[s].count > 0)
            MRC_TRY(names_from_json(meta, values, prepare->encodings[s].count,
                                    &prepare->encodings[s].values, err));
    }
out:
    json_decref(list);
    return rc;
}

/* A text that may be any bytes, or NULL. */
static mercer_status get_coded(const struct metadata *meta, const char *key, char **out,
                               mercer_error *err)
{
    const char *text = json_string_value(json_object_get(meta->json, key));
    mercer_status rc = text ? mrc_strdup(out, text, err) : MERCER_OK;
    if (text && rc == MERCER_OK)
        mrc_text_decode(*out);
    return rc;
}

static mercer_status get_places(const struct metadata *meta, mrc_remembered *r, mercer_error *err)
{
    const char *text = json_string_value(json_object_get(meta->json, "column_places"));
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;
    if (!text)
        return MERCER_OK;
    MRC_TRY(get_json(text, &list, err));
    if (json_array_size(list) == 0)
        MRC_TRY(damaged(meta, "column_places is not a list of columns", NULL, err));
    MRC_TRY(mrc_alloc(&r->places, (int64_t)json_array_size(list), sizeof *r->places, err));
    r->place_count = (int64_t)json_array_size(list);
    for (int64_t j = 0; j < r->place_count; j++) {
        const json_t *place = json_array_get(list, (size_t)j);
        if (!json_is_integer(place))
            MRC_TRY(damaged(meta, "column_places is not a list of columns", NULL, err));
        r->places[j] = (int64_t)json_integer_value(place);
    }
    MRC_TRY(get_size(meta, "file_columns", &r->file_columns, err));
    MRC_TRY(get_size(meta, "id_place", &r->id_place, err));
out:
    json_decref(list);
    return rc;
}

/* A list of any number of texts, or none. */
static mercer_status get_list(const struct metadata *meta, const char *key, char ***out,
                              int64_t *count, mercer_error *err)
{
    const char *text = json_string_value(json_object_get(meta->json, key));
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;
    if (!text)
        return MERCER_OK;
    MRC_TRY(get_json(text, &list, err));
    if (json_array_size(list) == 0)
        MRC_TRY(damaged(meta, "not a list of texts: ", key, err));
    *count = (int64_t)json_array_size(list);
    MRC_TRY(names_from_json(meta, list, *count, out, err));
out:
    json_decref(list);
    return rc;
}

static mercer_status get_dress(const struct metadata *meta, const char *key, mrc_dress **out,
                               int64_t *count, mercer_error *err)
{
    char **names = NULL;
    int64_t length = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(get_list(meta, key, &names, &length, err));
    if (!names)
        goto out;
    MRC_TRY(mrc_alloc(out, length, sizeof **out, err));
    *count = length;
    for (int64_t j = 0; j < length; j++)
        if (!mrc_dress_find(names[j], &(*out)[j]))
            MRC_TRY(damaged(meta, "cells are written in an unknown way: ", names[j], err));
out:
    mrc_free_names(names, length);
    return rc;
}

static mercer_status get_remembered(const struct metadata *meta, mrc_remembered *r,
                                    mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(get_coded(meta, "label_column", &r->label, err));
    MRC_TRY(get_coded(meta, "id_column", &r->id, err));
    r->id_unnamed = r->id && json_object_get(meta->json, "id_unnamed");
    MRC_TRY(get_list(meta, "target_columns", &r->targets, &r->target_count, err));
    MRC_TRY(get_places(meta, r, err));
out:
    return rc;
}

static mercer_status get_prepare(const struct metadata *meta, mercer_model *model,
                                 mercer_error *err)
{
    const char *images = json_string_value(json_object_get(meta->json, "image_features"));
    const char *missing = json_string_value(json_object_get(meta->json, "missing"));
    mercer_prepare *prepare = &model->prepare;
    mercer_status rc = MERCER_OK;
    MRC_TRY(get_encodings(meta, prepare, err));
    if (mrc_missing_parse(missing, &prepare->missing, NULL) != MERCER_OK)
        MRC_TRY(damaged(meta, "unknown treatment of missing values ", missing, err));
    if (mrc_image_kind_parse(images, &prepare->image, NULL) != MERCER_OK)
        MRC_TRY(damaged(meta, "unknown image features ", images, err));
    if (images) {
        MRC_TRY(get_size(meta, "image_width", &prepare->size.width, err));
        MRC_TRY(get_size(meta, "image_height", &prepare->size.height, err));
        MRC_TRY(get_size(meta, "image_channels", &prepare->size.channels, err));
    }
    MRC_TRY(get_remembered(meta, &prepare->remembered, err));
    MRC_TRY(get_dress(meta, "column_cells", &prepare->dress, &prepare->dress_count, err));
    MRC_TRY(
        get_dress(meta, "target_cells", &prepare->target_dress, &prepare->target_dress_count, err));
    MRC_TRY(get_list(meta, "na", &prepare->na, &prepare->na_count, err));
    MRC_TRY(get_coded(meta, "date_format", &prepare->date_format, err));
out:
    return rc;
}

static mercer_status put_kernel(json_t *meta, const mercer_model *model, mercer_error *err)
{
    return put_text(meta, "kernel", model->kernel_text, err);
}

static mercer_status get_kernel(const struct metadata *meta, mercer_model *model, mercer_error *err)
{
    mercer_error inner = {0};
    mrc_kernel kernel;
    const char *text;
    mercer_status rc = get_text(meta, "kernel", &text, err);
    if (rc != MERCER_OK)
        return rc;
    rc = mrc_kernel_parse_in(&kernel, meta->ctx, text, &inner);
    if (rc == MERCER_OK && mrc_kernel_is_open(&kernel))
        return damaged(meta, "a kernel parameter is not a number: ", text, err);
    if (rc == MERCER_OK) /* only derives the other form of a width: nothing is open */
        rc = mrc_kernel_resolve(&kernel, meta->ctx, NULL, &inner);
    if (rc == MERCER_OK)
        mrc_model_set_kernel(model, &kernel);
    if (rc == MERCER_ERR_MEMORY)
        return mrc_fail_again(err, rc, &inner);
    return rc == MERCER_OK ? rc : damaged(meta, inner.text, NULL, err);
}

static const struct nesting {
    const char *name;
    mercer_status (*put)(json_t *meta, const mercer_model *model, mercer_error *err);
    mercer_status (*get)(const struct metadata *meta, mercer_model *model, mercer_error *err);
} nestings[] = {
#define MRC_NESTED(name) {#name, put_##name, get_##name},
#include "model/parts.def"
};

static const struct nesting *nesting_of(const mrc_number_part *part)
{
    const struct nesting *nesting = nestings;
    while (strcmp(nesting->name, part->key) != 0)
        nesting++;
    return nesting;
}

/* ---- Saving ---- */

static bool is_left_out(const mercer_model *model, const mrc_number_part *part)
{
    static const uint64_t nothing[4] = {0}; /* as long as the longest */
    const void *value = mrc_number_place(model, part);
    if (part->flags & MRC_IF_SET && memcmp(value, nothing, mrc_kind_bytes(part->kind)) == 0)
        return true;
    if (part->flags & MRC_UNLESS_NAN && isnan(*(const double *)value))
        return true;
    if (part->flags & MRC_UNLESS_UNKNOWN && *(const mrc_truth *)value == MRC_UNKNOWN)
        return true;
    return part->flags & MRC_UNLESS_ROWS && *(const double *)value == (double)model->rows;
}

static mercer_status put_number(json_t *meta, const mercer_model *model,
                                const mrc_number_part *part, mercer_error *err)
{
    const void *value = mrc_number_place(model, part);
    if (!mrc_group_is_there(model, part->group) || is_left_out(model, part))
        return MERCER_OK;
    if (part->kind == MRC_KIND_NESTED)
        return nesting_of(part)->put(meta, model, err);
    if (part->kind == MRC_KIND_NAMES)
        return put_names(meta, part->key, *(char *const *const *)value,
                         mrc_size_of(model, part->count), err);
    return codings[part->kind].put(meta, part->key, value, err);
}

/* As old a reader as can be will do. */
static int version_of(const mrc_tensor *tensors)
{
    for (int i = 0; i < MRC_ARRAY_PARTS; i++)
        if (mrc_array_parts[i].flags & MRC_FORMAT_2 && tensors[i].array.data)
            return FORMAT_VERSION;
    return 1;
}

static mercer_status put_metadata(json_t *meta, const mercer_model *model, int version,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(put_text(meta, "format", "mercer-model", err));
    MRC_TRY(put_int(meta, "format_version", version, err));
    MRC_TRY(put_int(meta, "oldest_readable_version", version, err));
    MRC_TRY(put_text(meta, "checksum", MRC_CHECKSUM_BLANK, err));
    for (int i = 0; i < MRC_NUMBER_PARTS; i++)
        MRC_TRY(put_number(meta, model, &mrc_number_parts[i], err));
out:
    return rc;
}

/* The bytes of a model, in pieces, to what open makes ready for them. */
struct sink {
    mercer_status (*open)(struct sink *sink, size_t bytes, mercer_error *err);
    mrc_write_fn write;
    mercer_ctx *ctx;
    const char *path;
    mrc_output *output; /* a file, */
    char *bytes;        /* or memory, */
    size_t filled;      /* bytes that are filled */
};

static mercer_status save(const mercer_model *model, struct sink *sink, mercer_error *err)
{
    mrc_tensor list[MRC_ARRAY_PARTS];
    mrc_tensors tensors = {0};
    json_t *meta = json_object();
    mercer_status rc = MERCER_OK;

    if (!meta)
        MRC_TRY(mrc_json_no_memory(err));
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        list[i] = (mrc_tensor){mrc_array_parts[i].name, mrc_array_of(model, &mrc_array_parts[i])};
        if (mrc_array_parts[i].flags & MRC_UNSAVED)
            list[i].array.data = NULL;
    }
    MRC_TRY(put_metadata(meta, model, version_of(list), err));
    MRC_TRY(mrc_tensors_init(&tensors, meta, list, MRC_ARRAY_PARTS, err));
    if (tensors.header_bytes > MRC_MAX_HEADER)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "the names of columns and values of the model take more than 64 MB");
    MRC_TRY(sink->open(sink, tensors.bytes, err));
    MRC_TRY(mrc_tensors_write(&tensors, sink->write, sink, err));
out:
    mrc_tensors_destroy(&tensors);
    json_decref(meta);
    return rc;
}

static mercer_status open_file(struct sink *sink, size_t bytes, mercer_error *err)
{
    (void)bytes;
    return mrc_output_open(sink->output, sink->ctx, sink->path, err);
}

static mercer_status write_file(void *host, const void *data, size_t bytes, mercer_error *err)
{
    return mrc_output_write(((struct sink *)host)->output, data, bytes, err);
}

mercer_status mercer_model_save(mercer_ctx *ctx, const mercer_model *model, const char *path,
                                mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(model);
    MRC_NEED(path);
    struct sink sink = {.open = open_file, .write = write_file, .ctx = ctx, .path = path};
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_alloc(&sink.output, 1, sizeof *sink.output, err));
    sink.output->fd = -1;
    MRC_TRY(save(model, &sink, err));
    MRC_TRY(mrc_output_finish(sink.output, err));
out:
    if (sink.output)
        mrc_output_abort(sink.output); /* nothing to do once finished */
    mrc_free(sink.output);
    return rc;
}

static mercer_status open_memory(struct sink *sink, size_t bytes, mercer_error *err)
{
    return mrc_alloc2_raw(&sink->bytes, (int64_t)bytes, 1, 1, err);
}

static mercer_status write_memory(void *host, const void *data, size_t bytes, mercer_error *err)
{
    struct sink *sink = host;
    (void)err;
    memcpy(sink->bytes + sink->filled, data, bytes);
    sink->filled += bytes;
    return MERCER_OK;
}

mercer_status mercer_model_to_bytes(mercer_ctx *ctx, const mercer_model *model, void **out,
                                    size_t *size, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(size);
    *size = 0;
    MRC_NEED(ctx);
    MRC_NEED(model);
    struct sink sink = {.open = open_memory, .write = write_memory};
    mercer_status rc = save(model, &sink, err);
    if (rc != MERCER_OK) {
        mrc_free(sink.bytes);
        return rc;
    }
    *out = sink.bytes;
    *size = sink.filled;
    return MERCER_OK;
}

/* ---- Loading ---- */

static mercer_status check_format(const struct metadata *meta, mercer_error *err)
{
    const char *format = json_string_value(json_object_get(meta->json, "format"));
    uint64_t version = 0, oldest = 0;
    mercer_status rc = MERCER_OK;

    if (!format || strcmp(format, "mercer-model") != 0)
        MRC_TRY(mrc_tensor_source_foreign(meta->source,
                                          "a safetensors file without Mercer's metadata", err));
    MRC_TRY(get_unsigned(meta, "format_version", UINT64_MAX, &version, err));
    MRC_TRY(get_unsigned(meta, "oldest_readable_version", UINT64_MAX, &oldest, err));
    if (oldest > FORMAT_VERSION)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: was written by a newer Mercer (format %llu, this reads up to %d)",
                    meta->source->name, (unsigned long long)version, FORMAT_VERSION);
    if (version < 1 || oldest < 1)
        MRC_TRY(damaged(meta, "there was no format 0", NULL, err));
out:
    return rc;
}

static bool group_is_in(const struct metadata *meta, mrc_group group)
{
    const char *const *keys = mrc_group_keys(group);
    return (!keys[0] || has_key(meta, keys[0])) && (!keys[1] || has_key(meta, keys[1]));
}

static mercer_status get_number(const struct metadata *meta, mercer_model *model,
                                const mrc_number_part *part, mercer_error *err)
{
    const unsigned optional = MRC_IF_SET | MRC_UNLESS_NAN | MRC_UNLESS_ROWS;
    void *out = mrc_number_place(model, part);
    if (!group_is_in(meta, part->group))
        return MERCER_OK;
    if (part->kind == MRC_KIND_NESTED)
        return nesting_of(part)->get(meta, model, err);
    if (part->kind == MRC_KIND_NAMES)
        return get_names(meta, part->key, mrc_size_of(model, part->count), out, err);
    if (part->flags & MRC_UNLESS_UNKNOWN && !has_key(meta, part->key)) {
        *(mrc_truth *)out = MRC_UNKNOWN;
        return MERCER_OK;
    }
    if (part->flags & optional && !has_key(meta, part->key))
        return MERCER_OK;
    return codings[part->kind].get(meta, part->key, out, err);
}

/* What follows from the numbers, and what they may not be. */
static mercer_status complete_metadata(const struct metadata *meta, mercer_model *model,
                                       mercer_error *err)
{
    mrc_state *state = &model->state;
    model->scale.d = model->columns;
    if (group_is_in(meta, MRC_GROUP_novelty) &&
        !(model->novelty_share > 0 && model->novelty_share < 1))
        return damaged(meta, "novelty_share is not between 0 and 1", NULL, err);
    if (group_is_in(meta, MRC_GROUP_state) && !group_is_in(meta, MRC_GROUP_counts)) {
        /* What the first files tell: */
        state->input_finished = state->pending == 0;
        state->uncounted = state->blocks;
    }
    return MERCER_OK;
}

static mercer_status get_metadata(const struct metadata *meta, mercer_model *model,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    /* Sizes first: there must be as many names. */
    for (int sizes = 1; sizes >= 0; sizes--)
        for (int i = 0; i < MRC_NUMBER_PARTS; i++)
            if (sizes == (mrc_number_parts[i].kind == MRC_KIND_SIZE))
                MRC_TRY(get_number(meta, model, &mrc_number_parts[i], err));
    MRC_TRY(complete_metadata(meta, model, err));
out:
    return rc;
}

/* Lengths that only shapes tell, each by the first array that has it. */
static void get_lengths(mercer_model *model, const mrc_header *header)
{
    bool told[MRC_SIZES] = {false};
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        int64_t *length = mrc_length_of(model, part->rows);
        const mrc_entry *entry = mrc_header_find(header, part->name);
        if (length && !told[part->rows] && entry)
            mrc_entry_rows(entry, length);
        told[part->rows] = true;
    }
}

/* The part that an entry is, of those of its name the one whose type it has; NULL when it is none
 * of ours. */
static const mrc_array_part *part_of(mercer_model *model, const mrc_entry *entry)
{
    const mrc_array_part *found = NULL;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        if (part->flags & MRC_UNSAVED || strcmp(part->name, entry->name) != 0)
            continue;
        if (!found)
            found = part;
        for (mrc_dtype type = MRC_F32; part->dtype == MRC_PACKED && type <= MRC_U8; type++)
            if (mrc_entry_has_type(entry, (mercer_dtype)type)) {
                model->z_dtype = type;
                found = part;
            }
    }
    return found;
}

static mercer_status get_array(const struct metadata *meta, mrc_tensor_source *source,
                               mercer_model *model, const mrc_entry *entry, mercer_error *err)
{
    const mrc_array_part *part = part_of(model, entry);
    mercer_status rc = MERCER_OK;
    if (part) {
        if (!group_is_in(meta, part->group))
            MRC_TRY(damaged(meta, "no metadata for tensor ", entry->name, err));
        mercer_array array = mrc_array_of(model, part);
        if (!mrc_entry_fits(entry, &array))
            MRC_TRY(damaged(meta, "wrong type, shape or length of tensor ", entry->name, err));
        MRC_TRY(mrc_alloc2_raw(mrc_array_place(model, part), entry->end - entry->begin, 1, 1, err));
        array = mrc_array_of(model, part);
        MRC_TRY(mrc_entry_read(entry, source, (void *)(uintptr_t)array.data, err));
    } else {
        MRC_TRY(mrc_entry_read(entry, source, NULL, err));
    }
out:
    return rc;
}

/* Numbers of a group whose arrays are missing would be lost when the model is saved again. */
static mercer_status check_groups(const struct metadata *meta, const mercer_model *model,
                                  mercer_error *err)
{
    for (mrc_group group = 0; group < MRC_GROUPS; group++)
        if (group_is_in(meta, group) && !mrc_group_is_there(model, group))
            return damaged(meta, "no tensor for metadata ", mrc_group_keys(group)[0], err);
    return MERCER_OK;
}

static mercer_status seal(const struct metadata *meta, mercer_model *model, mercer_error *err)
{
    mercer_error inner = {0};
    mercer_status rc = mrc_model_seal(model, meta->ctx, &inner);
    if (rc == MERCER_ERR_MEMORY || mrc_is_end(rc))
        return mrc_fail_again(err, rc, &inner);
    return rc == MERCER_OK ? rc : damaged(meta, inner.text, NULL, err);
}

static mercer_status load(mercer_ctx *ctx, mrc_tensor_source *source, mercer_model **out,
                          mercer_error *err)
{
    mercer_model *model = NULL;
    mrc_header header = {0};
    struct metadata meta = {.ctx = ctx, .source = source};
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_header_read(&header, source, err));
    meta.json = header.metadata;
    MRC_TRY(check_format(&meta, err));
    MRC_TRY(mrc_header_list(&header, source, err));
    MRC_TRY(mrc_model_new(&model, err));
    MRC_TRY(get_metadata(&meta, model, err));
    get_lengths(model, &header);
    for (int64_t i = 0; i < header.count; i++)
        MRC_TRY(get_array(&meta, source, model, &header.entries[i], err));
    MRC_TRY(mrc_header_verify(&header, source, err));
    MRC_TRY(check_groups(&meta, model, err));
    MRC_TRY(seal(&meta, model, err));
    *out = model;
    model = NULL;
out:
    mercer_model_free(model);
    mrc_header_destroy(&header);
    return rc;
}

mercer_status mrc_model_load(mercer_ctx *ctx, const char *path, mercer_model **out,
                             mercer_error *err)
{
    mrc_tensor_source source;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(mrc_tensor_source_open(&source, path, "Mercer model", &ctx->limits, err));
    MRC_TRY(load(ctx, &source, out, err));
out:
    mrc_tensor_source_close(&source);
    return rc;
}

mercer_status mrc_model_from_bytes(mercer_ctx *ctx, const void *bytes, size_t size,
                                   mercer_model **out, mercer_error *err)
{
    mrc_tensor_source source;
    *out = NULL;
    mrc_tensor_source_memory(&source, "bytes", "Mercer model", bytes, size);
    mercer_status rc = mrc_limit_bytes(&ctx->limits, source.name, (int64_t)size, true, err);
    if (rc == MERCER_OK)
        rc = load(ctx, &source, out, err);
    mrc_tensor_source_close(&source);
    return rc;
}
