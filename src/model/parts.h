/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a model (parts.def) as tables, and what is done to all of them alike. */
#ifndef MRC_MODEL_PARTS_H
#define MRC_MODEL_PARTS_H

#include "model/model.h"

/* Parts that are there together. */
typedef enum mrc_group {
    MRC_GROUP_model,
    MRC_GROUP_novelty, /* a threshold was learnt */
    MRC_GROUP_head,
    MRC_GROUP_state,
    MRC_GROUP_counts, /* of the state; not in the first files */
    MRC_GROUPS
} mrc_group;

typedef enum mrc_size {
#define MRC_SIZE(name, value, symbol) MRC_SIZE_##name,
#define MRC_LENGTH(group, member, name, symbol) MRC_SIZE_##name,
#define MRC_LENGTH_AT(group, path, name, symbol) MRC_SIZE_##name,
#include "model/parts.def"
    MRC_SIZES
} mrc_size;

enum {
    /* Arrays: */
    MRC_DROPPED = 1,    /* shorter models do not have it */
    MRC_UNSAVED = 2,    /* it is not in files */
    MRC_UNCHECKED = 4,  /* any number will do */
    MRC_OR_NAN = 8,     /* NaN will do: not known */
    MRC_FORMAT_2 = 16,  /* readers of format 1 do not know it */
    MRC_ELSEWHERE = 32, /* its struct frees, checks and copies it */
    /* Numbers: */
    MRC_IF_SET = 64,           /* left out when it is 0, false or NULL */
    MRC_UNLESS_NAN = 128,      /* left out when it is NaN */
    MRC_UNLESS_ROWS = 256,     /* left out when it is the number of rows */
    MRC_DESCRIBES = 512,       /* part of mrc_model_copy_description() */
    MRC_UNLESS_UNKNOWN = 1024, /* an mrc_truth, left out when nobody knows it */
};

enum { MRC_PACKED = -1 }; /* for mercer_dtype: what model->z_dtype says */

typedef struct mrc_array_part {
    const char *name; /* in files, and for mercer_model_array() */
    mrc_group group;
    int dtype; /* mercer_dtype or MRC_PACKED */
    mrc_size rows, columns;
    unsigned flags;
    size_t offset; /* of the pointer in the struct of its group */
} mrc_array_part;

/* How a number stands in C and in a file: a count, a double, a bool, an mrc_truth, a text, a
 * uint64_t, an mrc_center, an mrc_scale_kind, a mercer_target_kind, the state of a generator, a
 * list of names.
 */
typedef enum mrc_kind {
    MRC_KIND_SIZE,
    MRC_KIND_REAL,
    MRC_KIND_FLAG,
    MRC_KIND_TRUTH,
    MRC_KIND_TEXT,
    MRC_KIND_SEED,
    MRC_KIND_CENTER,
    MRC_KIND_SCALE,
    MRC_KIND_TARGETS,
    MRC_KIND_RANDOM,
    MRC_KIND_NAMES,
    MRC_KIND_NESTED, /* key is the name of the line */
    MRC_KINDS
} mrc_kind;

typedef struct mrc_number_part {
    const char *key; /* in files */
    mrc_group group;
    mrc_kind kind;
    mrc_size count; /* of names */
    unsigned flags;
    size_t offset;
} mrc_number_part;

enum {
    MRC_ARRAY_PARTS = 0
#define MRC_ARRAY(...) +1
#define MRC_ARRAY_AT(...) +1
#include "model/parts.def"
    ,
    MRC_NUMBER_PARTS = 0
#define MRC_NUMBER(...) +1
#define MRC_NUMBER_AT(...) +1
#define MRC_NAMES(...) +1
#define MRC_NESTED(...) +1
#include "model/parts.def"
};
extern const mrc_array_part mrc_array_parts[MRC_ARRAY_PARTS];
extern const mrc_number_part mrc_number_parts[MRC_NUMBER_PARTS];

/* Whether the model has the parts of a group; and the keys, up to two, that say so in a file. */
bool mrc_group_is_there(const mercer_model *model, mrc_group group);
const char *const *mrc_group_keys(mrc_group group);

int64_t mrc_size_of(const mercer_model *model, mrc_size size);
/* The member that holds a size which only shapes of arrays tell; NULL for other sizes. */
int64_t *mrc_length_of(mercer_model *model, mrc_size size);

/* Where the model has a number, or its pointer to an array; who got a const model only reads. */
void *mrc_number_place(const mercer_model *model, const mrc_number_part *part);
void *mrc_array_place(const mercer_model *model, const mrc_array_part *part);
/* An array as the model has it: the shape is set also when data is NULL, because it has none. */
mercer_array mrc_array_of(const mercer_model *model, const mrc_array_part *part);

/* The arrays of a group, whose struct is `base`: free them, or forget them in a copy that does not
 * own them. Both leave NULL. */
void mrc_arrays_free(mrc_group group, void *base);
void mrc_arrays_forget(mrc_group group, void *base);
/* Are the numbers in the arrays of a group finite? */
mercer_status mrc_arrays_check(const mercer_model *model, mrc_group group, mercer_error *err);
/* Copy the arrays of a group, of each the leading part that the sizes of `copy` ask for. Lengths
 * that are 0 in copy become those of model. */
mercer_status mrc_arrays_truncate(mercer_model *copy, const mercer_model *model, mrc_group group,
                                  mercer_error *err);

/* Bytes of a number in the model. */
size_t mrc_kind_bytes(mrc_kind kind);
/* Numbers that stand for "not known" at the start. */
void mrc_numbers_init(mercer_model *model);
void mrc_numbers_free(mercer_model *model);
/* Copy the numbers of a group: those that describe, or the others. */
mercer_status mrc_numbers_copy(mercer_model *copy, const mercer_model *model, mrc_group group,
                               bool describing, mercer_error *err);

#endif
