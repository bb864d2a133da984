/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done to all parts of a model alike: parts.def lists them, two tables hold the list.
 *
 * A part is a pointer or a number at an offset in the struct of its group. Pointers of different
 * types may not be read as one another, only copied: load_pointer and store_pointer. */
#include "model/parts.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "model/safetensors.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The struct of each group, and what precedes the names of its members in files. */
typedef mercer_model struct_model, struct_novelty;
typedef mrc_head struct_head;
typedef mrc_state struct_state, struct_counts;
#define ARRAYS_model ""
#define ARRAYS_head "head."
#define ARRAYS_state "state."
#define NUMBERS_model ""
#define NUMBERS_novelty ""
#define NUMBERS_head "head_"
#define NUMBERS_state "state_"
#define NUMBERS_counts "state_"

static const struct group {
    size_t offset;       /* of its struct in the model */
    const char *keys[2]; /* all of them are in a file that has the group */
} groups[MRC_GROUPS] = {
    [MRC_GROUP_novelty] = {0, {"novelty_threshold"}},
    [MRC_GROUP_head] = {offsetof(mercer_model, head), {"head"}},
    [MRC_GROUP_state] = {offsetof(mercer_model, state), {"state_rank"}},
    [MRC_GROUP_counts] = {offsetof(mercer_model, state), {"state_rank", "state_evaluations"}},
};

/* The words of parts.def. */
enum {
    ALWAYS = 0,
    DROPPED = MRC_DROPPED,
    UNSAVED = MRC_UNSAVED,
    UNCHECKED = MRC_UNCHECKED,
    OR_NAN = MRC_OR_NAN,
    FORMAT_2 = MRC_FORMAT_2,
    IF_SET = MRC_IF_SET,
    UNLESS_NAN = MRC_UNLESS_NAN,
    UNLESS_ROWS = MRC_UNLESS_ROWS,
    DESCRIBES = MRC_DESCRIBES,
    UNLESS_UNKNOWN = MRC_UNLESS_UNKNOWN,
    TYPE_F64 = MERCER_F64,
    TYPE_I64 = MERCER_I64,
    TYPE_I32 = MERCER_I32,
    TYPE_PACKED = MRC_PACKED
};

const mrc_array_part mrc_array_parts[MRC_ARRAY_PARTS] = {
#define PART(name, group, path, dtype, rows, columns, flags)                                       \
    {name,                                                                                         \
     MRC_GROUP_##group,                                                                            \
     TYPE_##dtype,                                                                                 \
     MRC_SIZE_##rows,                                                                              \
     MRC_SIZE_##columns,                                                                           \
     flags,                                                                                        \
     offsetof(struct_##group, path)},
#define MRC_ARRAY(group, member, dtype, rows, columns, flags, help)                                \
    PART(ARRAYS_##group #member, group, member, dtype, rows, columns, flags)
#define MRC_ARRAY_AT(group, path, name, dtype, rows, columns, flags, help)                         \
    PART(name, group, path, dtype, rows, columns, (flags) | MRC_ELSEWHERE)
#include "model/parts.def"
#undef PART
};

const mrc_number_part mrc_number_parts[MRC_NUMBER_PARTS] = {
#define PART(key, group, path, kind, count, flags)                                                 \
    {key,                                                                                          \
     MRC_GROUP_##group,                                                                            \
     MRC_KIND_##kind,                                                                              \
     MRC_SIZE_##count,                                                                             \
     flags,                                                                                        \
     offsetof(struct_##group, path)},
#define MRC_NUMBER(group, member, kind, flags, help)                                               \
    PART(NUMBERS_##group #member, group, member, kind, ONE, flags)
#define MRC_NUMBER_AT(group, path, key, kind, flags, help) PART(key, group, path, kind, ONE, flags)
#define MRC_NAMES(group, member, count, flags, help)                                               \
    PART(NUMBERS_##group #member, group, member, NAMES, count, flags)
#define MRC_NESTED(name) PART(#name, model, name, NESTED, ONE, 0)
#include "model/parts.def"
#undef PART
};

/* ---- Sizes and places ---- */

bool mrc_group_is_there(const mercer_model *model, mrc_group group)
{
    switch (group) {
    case MRC_GROUP_novelty:
        return model->novelty_share > 0;
    case MRC_GROUP_head:
        return model->head.spec != NULL;
    case MRC_GROUP_state:
    case MRC_GROUP_counts:
        return model->state.factor != NULL;
    default:
        return true;
    }
}

const char *const *mrc_group_keys(mrc_group group)
{
    return groups[group].keys;
}

int64_t mrc_size_of(const mercer_model *model, mrc_size size)
{
    switch (size) {
#define MRC_SIZE(name, value, symbol)                                                              \
    case MRC_SIZE_##name:                                                                          \
        return value;
#include "model/parts.def"
    default:
        return *mrc_length_of((mercer_model *)model, size); /* only read here */
    }
}

int64_t *mrc_length_of(mercer_model *model, mrc_size size)
{
#define PATH_model(member) &model->member
#define PATH_state(member) &model->state.member
    switch (size) {
#define MRC_LENGTH(group, member, name, symbol)                                                    \
    case MRC_SIZE_##name:                                                                          \
        return PATH_##group(member);
#define MRC_LENGTH_AT(group, path, name, symbol)                                                   \
    case MRC_SIZE_##name:                                                                          \
        return PATH_##group(path);
#include "model/parts.def"
    default:
        return NULL;
    }
}

static void *load_pointer(const void *from)
{
    void *pointer;
    memcpy(&pointer, from, sizeof pointer);
    return pointer;
}

static void store_pointer(void *to, const void *pointer)
{
    memcpy(to, &pointer, sizeof pointer);
}

void *mrc_number_place(const mercer_model *model, const mrc_number_part *part)
{
    return (char *)model + groups[part->group].offset + part->offset;
}

void *mrc_array_place(const mercer_model *model, const mrc_array_part *part)
{
    return (char *)model + groups[part->group].offset + part->offset;
}

mercer_array mrc_array_of(const mercer_model *model, const mrc_array_part *part)
{
    mercer_array array = {
        .struct_size = sizeof array,
        .data = load_pointer(mrc_array_place(model, part)),
        .dtype = (mercer_dtype)model->z_dtype,
        .rank = part->columns == MRC_SIZE_ONE ? 1 : 2,
        .shape = {mrc_size_of(model, part->rows), mrc_size_of(model, part->columns)}};
    if (part->dtype != MRC_PACKED)
        array.dtype = (mercer_dtype)part->dtype;
    return array;
}

/* ---- Arrays ---- */

void mrc_arrays_free(mrc_group group, void *base)
{
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        if (part->group == group && !(part->flags & MRC_ELSEWHERE))
            mrc_free(load_pointer((char *)base + part->offset));
    }
    mrc_arrays_forget(group, base);
}

void mrc_arrays_forget(mrc_group group, void *base)
{
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        if (part->group == group && !(part->flags & MRC_ELSEWHERE))
            store_pointer((char *)base + part->offset, NULL);
    }
}

static mercer_status check_array(const mrc_array_part *part, const double *x, int64_t count,
                                 mercer_error *err)
{
    if (!(part->flags & MRC_OR_NAN))
        return mrc_first_not_finite(x, count) < 0 ? MERCER_OK
                                                  : mrc_model_not_finite(part->name, err);
    for (int64_t i = 0; i < count; i++)
        if (isinf(x[i]))
            return mrc_fail(err, MERCER_ERR_NUMERIC, "model: %s holds a value that is infinite",
                            part->name);
    return MERCER_OK;
}

mercer_status mrc_arrays_check(const mercer_model *model, mrc_group group, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        if (part->group != group || part->dtype != MERCER_F64 ||
            part->flags & (MRC_ELSEWHERE | MRC_UNCHECKED))
            continue;
        mercer_array array = mrc_array_of(model, part);
        if (array.data)
            MRC_TRY(check_array(part, array.data, array.shape[0] * array.shape[1], err));
    }
out:
    return rc;
}

static mercer_status truncate_array(mercer_model *copy, const mercer_model *model,
                                    const mrc_array_part *part, mercer_error *err)
{
    mercer_array from = mrc_array_of(model, part);
    int64_t *length = mrc_length_of(copy, part->rows);
    void *out = NULL;
    if (!from.data)
        return MERCER_OK;
    if (length && *length == 0)
        *length = from.shape[0];
    mercer_array to = mrc_array_of(copy, part);
    size_t width = (size_t)mrc_value_bytes(from.dtype);
    mercer_status rc = mrc_alloc2_raw(&out, to.shape[0], to.shape[1], width, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < to.shape[0]; i++)
        memcpy((char *)out + (size_t)(i * to.shape[1]) * width,
               (const char *)from.data + (size_t)(i * from.shape[1]) * width,
               (size_t)to.shape[1] * width);
    store_pointer(mrc_array_place(copy, part), out);
    return MERCER_OK;
}

mercer_status mrc_arrays_truncate(mercer_model *copy, const mercer_model *model, mrc_group group,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        if (part->group == group && !(part->flags & (MRC_ELSEWHERE | MRC_DROPPED)))
            MRC_TRY(truncate_array(copy, model, part, err));
    }
out:
    return rc;
}

/* ---- Numbers ---- */

size_t mrc_kind_bytes(mrc_kind kind)
{
    static const size_t bytes[MRC_KINDS] = {
        [MRC_KIND_SIZE] = sizeof(int64_t),
        [MRC_KIND_REAL] = sizeof(double),
        [MRC_KIND_FLAG] = sizeof(bool),
        [MRC_KIND_TRUTH] = sizeof(mrc_truth),
        [MRC_KIND_TEXT] = sizeof(char *),
        [MRC_KIND_SEED] = sizeof(uint64_t),
        [MRC_KIND_CENTER] = sizeof(mrc_center),
        [MRC_KIND_SCALE] = sizeof(mrc_scale_kind),
        [MRC_KIND_TARGETS] = sizeof(mercer_target_kind),
        [MRC_KIND_RANDOM] = 4 * sizeof(uint64_t),
        [MRC_KIND_NAMES] = sizeof(char **),
    };
    return bytes[kind];
}

void mrc_numbers_init(mercer_model *model)
{
    static const double not_known = NAN;
    for (int i = 0; i < MRC_NUMBER_PARTS; i++)
        if (mrc_number_parts[i].flags & MRC_UNLESS_NAN)
            memcpy(mrc_number_place(model, &mrc_number_parts[i]), &not_known, sizeof not_known);
}

void mrc_numbers_free(mercer_model *model)
{
    for (int i = 0; i < MRC_NUMBER_PARTS; i++) {
        const mrc_number_part *part = &mrc_number_parts[i];
        if (part->kind == MRC_KIND_TEXT)
            mrc_free(*(char **)mrc_number_place(model, part));
        else if (part->kind == MRC_KIND_NAMES)
            mrc_free_names(*(char ***)mrc_number_place(model, part),
                           mrc_size_of(model, part->count));
    }
}

static mercer_status copy_number(mercer_model *copy, const mercer_model *model,
                                 const mrc_number_part *part, mercer_error *err)
{
    const void *from = mrc_number_place(model, part);
    void *to = mrc_number_place(copy, part);
    if (part->kind == MRC_KIND_TEXT)
        return mrc_strdup(to, *(char *const *)from, err);
    if (part->kind == MRC_KIND_NAMES)
        return mrc_copy_names(to, *(char *const *const *)from, mrc_size_of(model, part->count),
                              err);
    memcpy(to, from, mrc_kind_bytes(part->kind));
    return MERCER_OK;
}

mercer_status mrc_numbers_copy(mercer_model *copy, const mercer_model *model, mrc_group group,
                               bool describing, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int i = 0; i < MRC_NUMBER_PARTS; i++) {
        const mrc_number_part *part = &mrc_number_parts[i];
        if (part->group == group && part->kind != MRC_KIND_NESTED &&
            describing == ((part->flags & MRC_DESCRIBES) != 0))
            MRC_TRY(copy_number(copy, model, part, err));
    }
out:
    return rc;
}

/* ---- By name ---- */

/* Whether an earlier line has the same name: the points may be packed or not. */
static bool is_repeated(int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(mrc_array_parts[i].name, mrc_array_parts[index].name) == 0)
            return true;
    return false;
}

const char *mercer_model_array_name(int index)
{
    for (int i = 0; i < MRC_ARRAY_PARTS && index >= 0; i++)
        if (!is_repeated(i) && index-- == 0)
            return mrc_array_parts[i].name;
    return NULL;
}

mercer_status mercer_model_array(const mercer_model *model, const char *name, mercer_array *out,
                                 mercer_error *err)
{
    MRC_NEED(model);
    MRC_NEED(name);
    MRC_NEED(out);
    char shown[MRC_SHOWN_SIZE];
    bool known = false;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        if (strcmp(mrc_array_parts[i].name, name) != 0)
            continue;
        mercer_array array = mrc_array_of(model, &mrc_array_parts[i]);
        known = true;
        if (!array.data)
            continue;
        mrc_give_struct(&array, sizeof array, out);
        return MERCER_OK;
    }
    return known ? mrc_fail(err, MERCER_ERR_UNSUPPORTED, "the model has no array %s", name)
                 : mrc_fail(err, MERCER_ERR_ARGUMENT, "there is no array called %s",
                            mrc_show(shown, name, strlen(name)));
}
