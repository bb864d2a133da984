/* MATLAB's files, versions 5 (plain or compressed) and 7.3, through the matio library.
 *
 * Arrays are stored by columns, so the one that is meant is read whole and handed out by rows. The
 * library overlooks much of what can be wrong with a version 5 file. Before it is let in, the
 * elements of the file are therefore walked through (each must end inside the file), and the
 * compressed one that is meant is unpacked once for its check sum alone. A version 7.3 file is an
 * HDF5 file. Sparse matrices, stored as compressed columns, become sparse rows. */
#include "base/number.h"
#include "data/hdf5.h"
#include "data/sparse.h"

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
    return mrc_fail(err, MERCER_ERR_FORMAT, "%s: this build cannot read MAT files", file);
}
#else

enum {
    HEADER = 128, /* text, version, byte order */
    TAG = 8,      /* in front of each element: type and length */
    TYPE_COMPRESSED = 15,
    BUFFER_SIZE = 1 << 16,
    VERSION_5 = 0x0100,
    VERSION_73 = 0x0200
};

struct variable {
    mat_t *mat;
    matvar_t *var;
    int64_t rows, columns;
};

static uint32_t get4(const unsigned char *p, bool swapped)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

/* Unpack an element for its check sum alone. */
static mercer_status check_packed(mrc_input *input, int64_t offset, int64_t bytes,
                                  mercer_error *err)
{
    unsigned char *in = NULL, *out = NULL;
    z_stream z = {.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
    bool live = false;
    int status = Z_OK;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&in, BUFFER_SIZE, 1, 1, err));
    MRC_TRY(mrc_alloc2_raw(&out, BUFFER_SIZE, 1, 1, err));
    if (inflateInit(&z) != Z_OK)
        MRC_FAIL(err, MERCER_ERR_MEMORY, "%s: out of memory for unpacking", input->shown);
    live = true;
    while (bytes > 0 && status == Z_OK) {
        size_t got;
        MRC_TRY(mrc_input_at(input, offset, in, bytes < BUFFER_SIZE ? (size_t)bytes : BUFFER_SIZE,
                             &got, err));
        if (got == 0)
            break;
        offset += (int64_t)got;
        bytes -= (int64_t)got;
        z.next_in = in;
        z.avail_in = (uInt)got;
        do {
            z.next_out = out;
            z.avail_out = BUFFER_SIZE;
            status = inflate(&z, Z_NO_FLUSH);
        } while (status == Z_OK && (z.avail_in > 0 || z.avail_out == 0));
        status = status == Z_BUF_ERROR ? Z_OK : status; /* it wants more */
    }
    if (status != Z_STREAM_END)
        MRC_FAIL(err, status == Z_MEM_ERROR ? MERCER_ERR_MEMORY : MERCER_ERR_FORMAT,
                 "%s: the compressed data are damaged (%s)", input->shown,
                 z.msg ? z.msg : "they end too early");
out:
    if (live)
        inflateEnd(&z);
    mrc_free(in);
    mrc_free(out);
    return rc;
}

/* Walk through the elements of a version 5 file. With wanted >= 0 also look into that one. */
static mercer_status check_elements(mrc_input *input, bool swapped, int64_t wanted,
                                    mercer_error *err)
{
    int64_t at = HEADER;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; at < input->size; i++) {
        unsigned char tag[TAG];
        size_t got;
        MRC_TRY(mrc_input_at(input, at, tag, TAG, &got, err));
        int64_t bytes = got == TAG ? (int64_t)get4(tag + 4, swapped) : 0;
        if (got < TAG || bytes > input->size - at - TAG)
            MRC_FAIL(err, MERCER_ERR_FORMAT,
                     "%s: array %lld reaches beyond the end (truncated or damaged file)",
                     input->shown, (long long)i + 1);
        if (i == wanted && get4(tag, swapped) == TYPE_COMPRESSED)
            MRC_TRY(check_packed(input, at + TAG, bytes, err));
        at += TAG + bytes;
    }
out:
    return rc;
}

/* The version, and whether the bytes are swapped; refuse what is no MAT file. */
static mercer_status check_header(mrc_input *input, int *version, bool *swapped, mercer_error *err)
{
    unsigned char header[HEADER];
    size_t got;
    mercer_status rc = mrc_input_at(input, 0, header, HEADER, &got, err);
    if (rc != MERCER_OK)
        return rc;
    bool little = got == HEADER && header[126] == 'I' && header[127] == 'M';
    bool big = got == HEADER && header[126] == 'M' && header[127] == 'I';
    *version = little ? header[125] << 8 | header[124] : big ? header[124] << 8 | header[125] : 0;
    *swapped = little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    if (got == 0)
        return mrc_fail(err, MERCER_ERR_DATA, "%s: is empty", input->shown);
    if (*version != VERSION_5 && *version != VERSION_73)
        return mrc_fail(err, MERCER_ERR_FORMAT,
                        "%s: is not a MAT file of version 5 (v6, v7) or 7.3", input->shown);
    return MERCER_OK;
}

/* What a variable is, when it cannot be read; else NULL. */
static const char *not_numbers(const matvar_t *var)
{
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
        return var->isComplex ? "complex" : var->rank != 2 || !var->dims ? "not 2-D" : NULL;
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

/* List the variables; index[i] is the element in the file that holds the i-th, which may be sparse.
 */
static mercer_status list_variables(mat_t *mat, mrc_arrays *arrays, int64_t **index, bool **sparse,
                                    mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    matvar_t *var = NULL;
    for (int64_t i = 0; i < MRC_ARRAYS_MOST && (var = Mat_VarReadNextInfo(mat)); i++) {
        if (var->name && *var->name) { /* the nameless one belongs to objects */
            const char *other = not_numbers(var);
            MRC_TRY(mrc_grow(index, arrays->count + 1, sizeof **index, err));
            MRC_TRY(mrc_grow(sparse, arrays->count + 1, sizeof **sparse, err));
            (*index)[arrays->count] = i;
            (*sparse)[arrays->count] = var->class_type == MAT_C_SPARSE;
            if (other) {
                MRC_TRY(mrc_arrays_add_other(arrays, var->name, other, err));
            } else {
                int64_t shape[2] = {(int64_t)var->dims[0], (int64_t)var->dims[1]};
                MRC_TRY(mrc_arrays_add(arrays, var->name, 2, shape, err));
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
    (void)ctx;
    (void)err;
#define COPY(code, type)                                                                           \
    case code:                                                                                     \
        for (int64_t j = 0; j < v->columns; j++) {                                                 \
            const type *column = (const type *)v->var->data + j * v->rows + first;                 \
            for (int64_t i = 0; i < count; i++)                                                    \
                out[i * v->columns + j] = (double)column[i];                                       \
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
    mrc_entries entries = {0};
    mercer_status rc = MERCER_OK;
    bool good = width_of(v->var->data_type) > 0 && sparse->jc && sparse->jc[0] == 0 &&
                (int64_t)sparse->njc > v->columns;
    for (int64_t j = 0; j < v->columns && good; j++) {
        good = sparse->jc[j + 1] >= sparse->jc[j] && sparse->jc[j + 1] <= sparse->nir &&
               sparse->jc[j + 1] <= sparse->ndata;
        for (int64_t k = sparse->jc[j]; good && k < sparse->jc[j + 1]; k++) {
            good = sparse->ir[k] < v->rows;
            if (good)
                MRC_TRY(mrc_entries_add(&entries, sparse->ir[k], j,
                                        sparse_value(v->var->data_type, sparse->data, k), err));
        }
    }
    if (!good)
        MRC_FAIL(err, MERCER_ERR_FORMAT, "%s: the parts of this sparse matrix do not fit together",
                 matrix->shown);
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
    v->var = Mat_VarReadInfo(v->mat, name);
    if (!v->var || not_numbers(v->var) || (int64_t)v->var->dims[0] != v->rows ||
        (int64_t)v->var->dims[1] != v->columns || Mat_VarReadDataAll(v->mat, v->var) != 0 ||
        !v->var->data)
        return mrc_fail(err, MERCER_ERR_FORMAT, "%s: cannot be read; damaged file?", shown);
    if (v->var->class_type == MAT_C_SPARSE)
        return take_sparse(v, matrix, err);
    size_t width = width_of(v->var->data_type);
    if (!width || (size_t)v->var->data_size != width ||
        v->var->nbytes < (size_t)v->rows * (size_t)v->columns * width)
        return mrc_fail(err, MERCER_ERR_FORMAT, "%s: has fewer values than it says (damaged file)",
                        shown);
    matrix->read = read_rows;
    return MERCER_OK;
}

/* Choose a variable and read it; the libraries are ours. */
static mercer_status open_variable(struct variable *v, mrc_input *input, const char *array,
                                   mrc_matrix *matrix, char **shown, mercer_error *err)
{
    mrc_arrays arrays = {0};
    int64_t *index = NULL, chosen = -1;
    const char *file = input->shown;
    char *full = NULL;
    int version;
    bool swapped, *sparse = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_header(input, &version, &swapped, err));
    if (version == VERSION_5)
        MRC_TRY(check_elements(input, swapped, -1, err));
    v->mat = Mat_Open(file, MAT_ACC_RDONLY);
    if (!v->mat)
        MRC_FAIL(err, MERCER_ERR_FORMAT, "%s: is not a whole MAT file (damaged or truncated)",
                 file);
    MRC_TRY(list_variables(v->mat, &arrays, &index, &sparse, err));
    MRC_TRY(mrc_arrays_choose(&arrays, file, array, &chosen, err));
    assert(arrays.list); /* mrc_arrays_choose found one in it */
    const mrc_array *found = &arrays.list[chosen];
    size_t room = strlen(file) + strlen(found->name) + 2;
    MRC_TRY(mrc_alloc(&full, (int64_t)room, 1, err));
    snprintf(full, room, "%s:%s", file, found->name);
    mrc_free(*shown);
    *shown = full;
    if (found->axes == 0)
        MRC_FAIL(err, MERCER_ERR_DATA, "%s: is %s; only real 2-D arrays of numbers are read", full,
                 found->note);
    v->rows = found->rows;
    v->columns = found->rest;
    *matrix = (mrc_matrix){.shown = full, .rows = v->rows, .columns = v->columns, .vouched = true};
    MRC_TRY(sparse[chosen] ? mrc_sparse_check(matrix, err) : mrc_matrix_check(matrix, err));
    if (version == VERSION_5) {
        MRC_TRY(check_elements(input, swapped, index[chosen], err));
        /* Compressed data grow by 1032 at most, and values widen from 1 byte to 8. */
        if (!sparse[chosen] && (double)v->rows * (double)v->columns > 1032.0 * (double)input->size)
            MRC_FAIL(err, MERCER_ERR_FORMAT, "%s: has fewer values than it says (damaged file)",
                     full);
    }
    MRC_TRY(read_values(v, found->name, matrix, err));
out:
    mrc_free(index);
    mrc_free(sparse);
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
    MRC_TRY(mrc_input_open(&input, file, err));
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
