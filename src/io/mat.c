/* SPDX-License-Identifier: BSD-3-Clause */
/* MATLAB's files, versions 5 (plain or compressed) and 7.3, through the matio library.
 *
 * Arrays are stored by columns, so the one that is meant is read whole and handed out by rows. Of a
 * version 5 file mat_check.c sees to what the library overlooks. A version 7.3 file is an HDF5
 * file. Sparse matrices, stored as compressed columns, become sparse rows. Arrays of more than two
 * axes are stacks of images, of which the last axis counts the rows. */
#include "base/number.h"
#include "io/containers.h"
#include "io/csr_build.h"
#include "io/hdf5.h"
#include "io/mat_check.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#ifdef MRC_HAVE_MATIO
#include <matio.h>
#endif

#ifndef MRC_HAVE_MATIO
mercer_status mrc_mat_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                           mercer_error *err)
{
    (void)array;
    (void)matrix;
    (void)shown;
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: this build cannot read MAT files",
                       file);
}
#else

/* Rows and columns, and how the values of an array stand. A matrix is stored by columns; a stack
 * image by image, each by columns, as A(:,:,i) gives it, or in colour A(:,:,:,i), channel after
 * channel. */
struct layout {
    int64_t rows, columns;
    int64_t height, width, channels; /* of images; 0: a matrix */
};

struct variable {
    mat_t *mat;
    matvar_t *var;
    struct layout layout;
};

/* Find the layout of a variable; false when it is none that we read. */
static bool take_layout(const matvar_t *var, struct layout *out)
{
    const size_t *dims = var->dims;
    *out = (struct layout){0};
    if (!dims || var->rank < 2 || var->rank > 4 ||
        (var->rank > 2 && var->class_type == MAT_C_SPARSE))
        return false;
    for (int i = 0; i < var->rank; i++)
        if (dims[i] > INT64_MAX)
            return false;
    out->rows = (int64_t)dims[var->rank == 2 ? 0 : var->rank - 1];
    out->columns = (int64_t)dims[var->rank == 2 ? 1 : 0];
    if (var->rank == 2)
        return true;
    out->height = out->columns;
    out->width = (int64_t)dims[1];
    out->channels = var->rank == 4 ? (int64_t)dims[2] : 1;
    return (out->channels == 1 || out->channels == 3) &&
           !__builtin_mul_overflow(out->columns, out->width, &out->columns) &&
           !__builtin_mul_overflow(out->columns, out->channels, &out->columns);
}

/* Where the first value of a column stands; images are flattened row-major, channels last. */
static int64_t column_start(const struct layout *layout, int64_t column)
{
    if (!layout->channels)
        return column * layout->rows;
    int64_t pixel = column / layout->channels, channel = column % layout->channels;
    return (channel * layout->width + pixel % layout->width) * layout->height +
           pixel / layout->width;
}

/* What a variable is, when it cannot be read; else NULL. */
static const char *not_numbers(const matvar_t *var)
{
    struct layout layout;
    switch (var->class_type) {
    case MAT_C_DOUBLE:
    case MAT_C_SINGLE:
    case MAT_C_INT8:
    case MAT_C_UINT8:
    case MAT_C_INT16:
    case MAT_C_UINT16:
    case MAT_C_INT32:
    case MAT_C_UINT32:
    case MAT_C_INT64:
    case MAT_C_UINT64:
    case MAT_C_SPARSE:
        return var->isComplex               ? "complex"
               : !take_layout(var, &layout) ? "neither a matrix nor a stack of images"
                                            : NULL;
    case MAT_C_CELL:
        return "a cell array";
    case MAT_C_STRUCT:
        return "a struct";
    case MAT_C_CHAR:
        return "text";
    case MAT_C_EMPTY:
        return "empty";
    default:
        return "an object";
    }
}

/* Bytes of one value of an array of this class, once it is read. */
static int64_t class_width(enum matio_classes class)
{
    switch (class) {
    case MAT_C_INT8:
    case MAT_C_UINT8:
        return 1;
    case MAT_C_INT16:
    case MAT_C_UINT16:
        return 2;
    case MAT_C_SINGLE:
    case MAT_C_INT32:
    case MAT_C_UINT32:
        return 4;
    default:
        return 8;
    }
}

/* What is known of a variable before it is read. */
struct listed {
    int64_t element; /* in the file, that holds it */
    bool sparse;
    int64_t width; /* bytes per value, in memory */
    struct layout layout;
};

/* List the variables; (*list)[i] belongs to the i-th of the arrays. */
static mercer_status list_variables(mat_t *mat, mrc_arrays *arrays, struct listed **list,
                                    mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    matvar_t *var = NULL;
    for (int64_t i = 0; i < MRC_MAX_ARRAYS && (var = Mat_VarReadNextInfo(mat)); i++) {
        if (var->name && *var->name) { /* the nameless one belongs to objects */
            const char *other = not_numbers(var);
            MRC_TRY(mrc_grow(list, arrays->count + 1, sizeof **list, err));
            struct listed *entry = &(*list)[arrays->count];
            *entry = (struct listed){.element = i,
                                     .sparse = var->class_type == MAT_C_SPARSE,
                                     .width = class_width(var->class_type)};
            if (other) {
                MRC_TRY(mrc_arrays_add_other(arrays, var->name, other, err));
            } else {
                int64_t shape[4] = {0};
                take_layout(var, &entry->layout);
                for (int k = 0; k < var->rank; k++)
                    shape[k] = (int64_t)var->dims[k];
                MRC_TRY(mrc_arrays_add(arrays, var->name, var->rank, shape, err));
            }
        }
        Mat_VarFree(var);
        var = NULL;
    }
out:
    Mat_VarFree(var);
    return rc;
}

static void close_variable(struct variable *variable)
{
    Mat_VarFree(variable->var);
    if (variable->mat)
        Mat_Close(variable->mat);
    *variable = (struct variable){0};
}

static void destroy(void *self)
{
    mrc_hdf5_saved saved;
    mrc_hdf5_enter(&saved);
    close_variable(self);
    mrc_hdf5_leave(&saved);
    mrc_free(self);
}

static mercer_status read_rows(void *self, mercer_ctx *ctx, int64_t first, int64_t count,
                               double *out, mercer_error *err)
{
    const struct variable *v = self;
    const struct layout *layout = &v->layout;
    int64_t columns = layout->columns, step = layout->channels ? columns : 1; /* to the next row */
    (void)ctx;
    (void)err;
#define COPY(code, type)                                                                           \
    case code:                                                                                     \
        for (int64_t j = 0; j < columns; j++) {                                                    \
            const type *column =                                                                   \
                (const type *)v->var->data + column_start(layout, j) + first * step;               \
            for (int64_t i = 0; i < count; i++)                                                    \
                out[i * columns + j] = (double)column[i * step];                                   \
        }                                                                                          \
        break;
    switch (v->var->data_type) {
        COPY(MAT_T_DOUBLE, double)
        COPY(MAT_T_SINGLE, float)
        COPY(MAT_T_INT8, int8_t)
        COPY(MAT_T_UINT8, uint8_t)
        COPY(MAT_T_INT16, int16_t)
        COPY(MAT_T_UINT16, uint16_t)
        COPY(MAT_T_INT32, int32_t)
        COPY(MAT_T_UINT32, uint32_t)
        COPY(MAT_T_INT64, int64_t)
        COPY(MAT_T_UINT64, uint64_t)
    default:
        return mrc_fail(err, MERCER_ERR_FORMAT, "the MAT array changed its type while read");
    }
#undef COPY
    return MERCER_OK;
}

/* Bytes of one value of the type the library has given the data; 0 for what we do not read. */
static size_t width_of(enum matio_types type)
{
    switch (type) {
    case MAT_T_DOUBLE:
    case MAT_T_INT64:
    case MAT_T_UINT64:
        return 8;
    case MAT_T_SINGLE:
    case MAT_T_INT32:
    case MAT_T_UINT32:
        return 4;
    case MAT_T_INT16:
    case MAT_T_UINT16:
        return 2;
    case MAT_T_INT8:
    case MAT_T_UINT8:
        return 1;
    default:
        return 0;
    }
}

/* What holds all values of the type, which may be a smaller one than the class of the array. */
static mrc_dtype dtype_of(enum matio_types type)
{
    return type == MAT_T_UINT8                           ? MRC_U8
           : type == MAT_T_SINGLE || width_of(type) <= 2 ? MRC_F32
                                                         : MRC_F64;
}

/* Value k of a sparse matrix; the type is one that width_of() knows. */
static double sparse_value(enum matio_types type, const void *data, int64_t k)
{
#define VALUE(code, type)                                                                          \
    case code:                                                                                     \
        return (double)((const type *)data)[k];
    switch (type) {
        VALUE(MAT_T_SINGLE, float)
        VALUE(MAT_T_INT8, int8_t)
        VALUE(MAT_T_UINT8, uint8_t)
        VALUE(MAT_T_INT16, int16_t)
        VALUE(MAT_T_UINT16, uint16_t)
        VALUE(MAT_T_INT32, int32_t)
        VALUE(MAT_T_UINT32, uint32_t)
        VALUE(MAT_T_INT64, int64_t)
        VALUE(MAT_T_UINT64, uint64_t)
    default:
        return ((const double *)data)[k];
    }
#undef VALUE
}

/* Compressed columns, as the library read them, into rows. */
static mercer_status take_sparse(const struct variable *v, mrc_matrix *matrix, mercer_error *err)
{
    const mat_sparse_t *sparse = v->var->data;
    mrc_entries entries = mrc_entries_of(matrix);
    mercer_status rc = MERCER_OK;
    bool good = width_of(v->var->data_type) > 0 && sparse->jc && sparse->jc[0] == 0 &&
                (int64_t)sparse->njc > matrix->columns;
    for (int64_t j = 0; j < matrix->columns && good; j++) {
        good = sparse->jc[j + 1] >= sparse->jc[j] && sparse->jc[j + 1] <= sparse->nir &&
               sparse->jc[j + 1] <= sparse->ndata;
        for (int64_t k = sparse->jc[j]; good && k < sparse->jc[j + 1]; k++) {
            good = sparse->ir[k] < matrix->rows;
            if (good)
                MRC_TRY(mrc_entries_add(&entries, sparse->ir[k], j,
                                        sparse_value(v->var->data_type, sparse->data, k), err));
        }
    }
    if (!good)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: the parts of this sparse matrix do not fit together", matrix->shown);
    MRC_TRY(mrc_sparse_build(matrix, &entries, err));
out:
    mrc_entries_destroy(&entries);
    return rc;
}

/* Read the values of the chosen variable, and see that they are what was announced. */
static mercer_status read_values(struct variable *v, const char *name, mrc_matrix *matrix,
                                 mercer_error *err)
{
    const char *shown = matrix->shown;
    struct layout layout;
    v->var = Mat_VarReadInfo(v->mat, name);
    if (!v->var || not_numbers(v->var) || !take_layout(v->var, &layout) ||
        memcmp(&layout, &v->layout, sizeof layout) != 0 ||
        Mat_VarReadDataAll(v->mat, v->var) != 0 || !v->var->data)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: cannot be read; damaged file?",
                           shown);
    if (v->var->class_type == MAT_C_SPARSE)
        return take_sparse(v, matrix, err);
    size_t width = width_of(v->var->data_type);
    if (!width || (size_t)v->var->data_size != width ||
        v->var->nbytes < (size_t)layout.rows * (size_t)layout.columns * width)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: has fewer values than it says (damaged file)", shown);
    matrix->read = read_rows;
    matrix->dtype = dtype_of(v->var->data_type);
    return MERCER_OK;
}

/* Choose a variable and read it; the libraries are ours. */
static mercer_status open_variable(struct variable *v, mrc_input *input, const char *array,
                                   mrc_matrix *matrix, char **shown, mercer_error *err)
{
    mrc_arrays arrays = {0};
    struct listed *list = NULL;
    int64_t chosen = -1;
    const char *file = input->shown;
    char *full = NULL;
    int version;
    bool swapped;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_mat_check_header(input, &version, &swapped, err));
    if (version == MRC_MAT_5)
        MRC_TRY(mrc_mat_check_elements(input, swapped, -1, err));
    else
        MRC_TRY(mrc_hdf5_check_alone(file, err));
    v->mat = Mat_Open(file, MAT_ACC_RDONLY);
    if (!v->mat)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: is not a whole MAT file (damaged or truncated)", file);
    MRC_TRY(list_variables(v->mat, &arrays, &list, err));
    MRC_TRY(mrc_arrays_choose(&arrays, file, array, &chosen, err));
    assert(arrays.list && list); /* mrc_arrays_choose found one in it */
    const mrc_array *found = &arrays.list[chosen];
    size_t room = strlen(file) + strlen(found->name) + 2;
    MRC_TRY(mrc_alloc(&full, (int64_t)room, 1, err));
    snprintf(full, room, "%s:%s", file, found->name);
    mrc_free(*shown);
    *shown = full;
    if (found->axes == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE,
                    "%s: is %s; only real numbers are read, in matrices or stacks of images", full,
                    found->note);
    const struct layout *layout = &list[chosen].layout;
    bool sparse = list[chosen].sparse;
    v->layout = *layout;
    *matrix = (mrc_matrix){.budget = matrix->budget,
                           .shown = full,
                           .rows = layout->rows,
                           .columns = layout->columns,
                           .vouched = true};
    MRC_TRY(sparse ? mrc_sparse_check(matrix, err) : mrc_matrix_check(matrix, err));
    if (!sparse) /* the library reads all of it at once */
        MRC_TRY(mrc_matrix_take_whole(matrix, list[chosen].width, err));
    if (layout->channels)
        matrix->size = mrc_matrix_images(
            4, (int64_t[]){layout->rows, layout->height, layout->width, layout->channels});
    if (version == MRC_MAT_5)
        MRC_TRY(mrc_mat_check_elements(input, swapped, list[chosen].element, err));
    MRC_TRY(read_values(v, found->name, matrix, err));
out:
    mrc_free(list);
    mrc_arrays_destroy(&arrays);
    return rc;
}

mercer_status mrc_mat_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                           mercer_error *err)
{
    struct variable *v = NULL;
    mrc_input input = {.fd = -1};
    mrc_hdf5_saved saved;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_input_open(&input, file, NULL, err));
    MRC_TRY(mrc_alloc(&v, 1, sizeof *v, err));
    mrc_hdf5_enter(&saved);
    rc = open_variable(v, &input, array, matrix, shown, err);
    if (rc != MERCER_OK)
        close_variable(v);
    mrc_hdf5_leave(&saved);
    if (rc == MERCER_OK) {
        matrix->self = v;
        matrix->destroy = destroy;
        v = NULL;
    }
out:
    mrc_free(v);
    mrc_input_close(&input);
    if (rc != MERCER_OK)
        *matrix = (mrc_matrix){0};
    return rc;
}
#endif
