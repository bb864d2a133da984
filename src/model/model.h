/* SPDX-License-Identifier: BSD-3-Clause */
/* The one model form from the inside.
 *
 *   features(x) = B' k(Z, x) + t mean(x) + b    mean(x) = v' k(Z, x), squared norm of the mean: g
 *
 * Z: m x d expansion points in scaled units; B: m' x l over the first m' points; b: l offsets;
 * v: m coefficients of the mean in feature space. A linear kernel may be collapsed: then m = 0 and
 * features(x) = W' (x - center), W: d x l. A model may have a linear map of the scaled columns,
 * map.h: kernel and Z then see these.
 * The directions are w_j = sum_i B_ij phi(z_i) + t_j mean, and b_j = -<w_j, mean> for centred
 * models. Only sparse models of exactly centred mapped rows have t. */
#ifndef MRC_MODEL_MODEL_H
#define MRC_MODEL_MODEL_H

#include "data/prepare.h"
#include "data/scale.h"
#include "kernel/kernel.h"

#include <mercer/model.h>

/* A flag that older files do not have. */
typedef enum mrc_truth { MRC_UNKNOWN = -1, MRC_FALSE, MRC_TRUE } mrc_truth;
typedef enum mrc_center { MRC_CENTER_NONE, MRC_CENTER_EXACT, MRC_CENTER_SPAN } mrc_center;
const char *mrc_center_name(mrc_center center);

/* Every array and number of a file is a line of parts.def, which declares it here. */
#define MRC_C_F64 double
#define MRC_C_I64 int64_t
#define MRC_DECLARE_SIZE(member) int64_t member
#define MRC_DECLARE_REAL(member) double member
#define MRC_DECLARE_FLAG(member) bool member
#define MRC_DECLARE_TEXT(member) char *member
#define MRC_DECLARE_SEED(member) uint64_t member
#define MRC_DECLARE_TRUTH(member) mrc_truth member
#define MRC_DECLARE_CENTER(member) mrc_center member
#define MRC_DECLARE_TARGETS(member) mercer_target_kind member
#define MRC_DECLARE_RANDOM(member) uint64_t member[4]

/* What turns features into predictions; see heads/. A score belongs to each output: a target
 * column, whose prediction it is, or a class. Unless the head is whole, every part is about all l
 * features and its leading part about the first ones, so that shorter models need no other fit. */
typedef struct mrc_head {
    char *spec;           /* NAME[:key=value,...]; NULL: there is no head */
    mrc_scale_kind scale; /* of the target values when the method saw them */
#define MRC_IN_head(...) __VA_ARGS__
#include "model/members.h"
} mrc_head;

/* Decision functions of a head that has them: one for each pair of classes (0 and 1, 0 and 2, ...,
 * 1 and 2, ...), positive for the first of both, or one for each target column. */
int64_t mrc_head_functions(const mrc_head *head);
/* Columns of its increments, for l features. */
int64_t mrc_head_increments(const mrc_head *head, int64_t l);

/* What a streaming method goes on from; see methods/streaming.h. The points of the model have the
 * coordinates `factor` in an orthonormal frame of their span (factor factor' is their kernel
 * matrix), and directions and mean stand in the same frame: B, b and the mean of the model are
 * derived from them. */
typedef struct mrc_state {
    mrc_csr_owned kept_csr; /* `kept` of sparse rows, kept_entries entries */
    int64_t input_crc;      /* of the input that is being read: checksum of input_rows rows */
#define MRC_IN_state(...) __VA_ARGS__
#define MRC_IN_counts(...) __VA_ARGS__
#include "model/members.h"
} mrc_state;

struct mercer_model {
    _Atomic int64_t other_owners; /* beside the first: see mercer_model_share() */
    char *version;                /* of the library that fitted it */
    char *map_text;               /* how the map was learnt; NULL: there is none */
    mrc_kernel kernel;
    char kernel_text[1024];
    mercer_prepare prepare; /* from the columns of a file to ours */
    mrc_scale scale;
    mrc_head head;
    mrc_state state;
    int64_t points; /* m; 0 when collapsed */
    /* Z, m x width, in one of three forms; none when collapsed or precomputed: */
    double *z;
    void *z_packed;      /* of type z_dtype, which is MRC_F64 when there are none */
    mrc_csr_owned z_csr; /* sparse rows; z_entries entries */
    mrc_dtype z_dtype;
#define MRC_IN_model(...) __VA_ARGS__
#define MRC_IN_novelty(...) __VA_ARGS__
#include "model/members.h"
    /* Derived at load or fit, never stored: Z as rows, room for Z as the kernel wants it (see
     * mrc_model_points()), and [B, v] side by side over the first m' points (m' x (l + 1)), so that
     * one product gives features and the mean term. The points from m' on carry only the mean:
     * features never touch them. */
    mercer_rows *z_rows;
    struct mrc_lazy_points *lazy;
    const struct mrc_pairs
        *z_pairs;     /* of the set that Z was taken from, or NULL: see pairs.h. It */
    int64_t *z_place; /* must outlive the model; places in it, until sealed */
    double *extended;
};

/* Columns of Z: those that the kernel sees. */
static inline int64_t mrc_model_width(const mercer_model *model)
{
    return model->map_columns > 0 ? model->map_columns : model->columns;
}

/* A model with nothing but zeroes, for a method or the loader to fill. */
mercer_status mrc_model_new(mercer_model **out, mercer_error *err);
/* The kernel of a model that has none yet, or the same with another width; the model holds the
 * functions of the host in it. */
void mrc_model_set_kernel(mercer_model *model, const mrc_kernel *kernel);
/* The numbers of rows, which keep only what tells about them, become the points of the model. */
void mrc_model_take_points(mercer_model *model, mercer_rows *rows);
/* Check that the parts fit together and build the derived ones; sets kernel_text, and offsets to
 * zero when there are none. Called once, last. A precomputed kernel has z = NULL; its points are
 * the training rows in order when m = columns, else point i is training row selected[i]. */
mercer_status mrc_model_seal(mercer_model *model, mercer_ctx *ctx, mercer_error *err);
/* Z prepared for the kernel, borrowed from the sealed model; zeroes when there is no Z. The first
 * call makes it, so that a fit, and a model that is only looked at, do without this copy of Z.
 * Threads may share the model; the others wait for the one that makes it. */
mercer_status mrc_model_points(const mercer_model *model, mercer_ctx *ctx, const mrc_points **out,
                               mercer_error *err);
/* How few rows are transformed with an instruction set: what transform.c has found out, 0 before.
 */
_Atomic int *mrc_model_few_rows(const mercer_model *model, mrc_simd simd);
/* Check that the parts of the head fit together, of a model that may have none. */
mercer_status mrc_model_check_head(const mercer_model *model, mercer_error *err);
/* Where each input column of the model stands in rows: map has room for model->columns entries.
 * Not for a precomputed kernel. MERCER_ERR_DATA when a column is missing. */
mercer_status mrc_model_map_columns(const mercer_model *model, const mercer_rows *rows,
                                    int64_t *map, mercer_error *err);
/* The rows with their columns in the order of the model, sparse or dense. */
mercer_status mrc_model_arrange(const mercer_model *model, const mercer_rows *rows, bool sparse,
                                mercer_rows **out, mercer_error *err);

/* Copy what does not depend on points and components: names, scaling, kernel, provenance. */
mercer_status mrc_model_copy_description(mercer_model *copy, const mercer_model *model,
                                         mercer_error *err);
void mrc_state_destroy(mrc_state *state);
/* Check that the parts of the state fit together, of a model that may have none. */
mercer_status mrc_model_check_state(const mercer_model *model, mercer_error *err);

/* A model from a file, or from its bytes, as it is; mercer_model_load() and
 * mercer_model_from_bytes() also ask the method what older files do not say. */
mercer_status mrc_model_load(mercer_ctx *ctx, const char *path, mercer_model **out,
                             mercer_error *err);
mercer_status mrc_model_from_bytes(mercer_ctx *ctx, const void *bytes, size_t size,
                                   mercer_model **out, mercer_error *err);
/* Fail because a number of this name is not finite. */
mercer_status mrc_model_not_finite(const char *name, mercer_error *err);

#endif
