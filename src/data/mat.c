/* MATLAB's files, versions 5 (plain or compressed) and 7.3, through the matio library.
 *
 * Arrays are stored by columns, so the one that is meant is read whole and handed out by rows. The
 * library overlooks much of what can be wrong with a version 5 file. Before it is let in, the
 * elements of the file are therefore walked through: each must end inside the file, and so must the
 * parts of the array that is meant (and the heads of all others), once it is unpacked; it must have
 * the values its dimensions announce, and its check sum is verified on the way. A version 7.3 file
 * is an HDF5 file. Sparse matrices, stored as compressed columns, become sparse rows. Arrays of
 * more than two axes are stacks of images, of which the last axis counts the rows. */
#include "base/number.h"
#include "data/containers.h"
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
    TAG_DATA = 4, /* bytes that may stand in the tag itself */
    TYPE_INT32 = 5,
    TYPE_UINT32 = 6,
    TYPE_MATRIX = 14,
    TYPE_COMPRESSED = 15,
    CLASS_CELL = 1, /* this and the next two, and functions, hold arrays */
    CLASS_STRUCT = 2,
    CLASS_OBJECT = 3,
    CLASS_SPARSE = 5,
    CLASS_FUNCTION = 16,
    CLASS_OPAQUE = 17, /* has no dimensions */
    PARTS_OF_HEAD = 3, /* flags, dimensions, name */
    PARTS_OF_DATA = 3, /* of a sparse array: rows, starts of columns, values */
    STARTS = 1,
    HEAD_PART_MOST = 256, /* bytes of each: 64 dimensions; names have up to 63 letters */
    DEPTH_MOST = 64,
    BUFFER_SIZE = 1 << 16,
    VERSION_5 = 0x0100,
    VERSION_73 = 0x0200
};

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

static uint32_t get4(const unsigned char *p, bool swapped)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

/* The bytes of one element behind its tag, unpacked when they are compressed. */
struct element {
    mrc_input *input; /* borrowed */
    int64_t offset, left;
    bool swapped, packed, live, ended;
    z_stream z;
    unsigned char *in; /* BUFFER_SIZE bytes when packed */
};

static mercer_status element_open(struct element *e, bool packed, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    e->packed = packed;
    if (!packed)
        goto out;
    MRC_TRY(mrc_alloc2_raw(&e->in, BUFFER_SIZE, 1, 1, err));
    e->z = (z_stream){.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
    if (inflateInit(&e->z) != Z_OK)
        MRC_FAIL(err, MERCER_ERR_MEMORY, "%s: out of memory for unpacking", e->input->shown);
    e->live = true;
out:
    return rc;
}

static void element_close(struct element *e)
{
    if (e->live)
        inflateEnd(&e->z);
    mrc_free(e->in);
    e->live = false;
    e->in = NULL;
}

/* Fill the next part of a buffer from the compressed bytes; *got 0 only at their end. */
static mercer_status unpack(struct element *e, unsigned char *out, size_t wanted, size_t *got,
                            mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    e->z.next_out = out;
    e->z.avail_out = (uInt)wanted;
    *got = 0;
    while (e->z.avail_out > 0 && !e->ended) {
        if (e->z.avail_in == 0 && e->left > 0) {
            size_t part = e->left < BUFFER_SIZE ? (size_t)e->left : BUFFER_SIZE;
            MRC_TRY(mrc_input_at(e->input, e->offset, e->in, part, &part, err));
            e->offset += (int64_t)part;
            e->left = part > 0 ? e->left - (int64_t)part : 0;
            e->z.next_in = e->in;
            e->z.avail_in = (uInt)part;
        }
        int status = inflate(&e->z, Z_NO_FLUSH);
        e->ended = status == Z_STREAM_END;
        bool starved = status == Z_BUF_ERROR && e->z.avail_in == 0 && e->left == 0;
        if (starved || (status != Z_OK && status != Z_BUF_ERROR && !e->ended))
            MRC_FAIL(err, status == Z_MEM_ERROR ? MERCER_ERR_MEMORY : MERCER_ERR_FORMAT,
                     "%s: the compressed data are damaged (%s)", e->input->shown,
                     e->z.msg ? e->z.msg : "they end too early");
    }
    *got = wanted - e->z.avail_out;
out:
    return rc;
}

/* The next bytes of an element, which must be there; out may be NULL to step over them. */
static mercer_status element_read(struct element *e, unsigned char *out, int64_t count,
                                  mercer_error *err)
{
    unsigned char dropped[1024] = {0};
    mercer_status rc = MERCER_OK;
    while (count > 0) {
        size_t part = count < (int64_t)sizeof dropped ? (size_t)count : sizeof dropped, got = part;
        unsigned char *to = out ? out : dropped;
        if (e->packed) {
            MRC_TRY(unpack(e, to, part, &got, err));
        } else {
            got = e->left < count ? 0 : out ? part : (size_t)count;
            if (got > 0 && out)
                MRC_TRY(mrc_input_at(e->input, e->offset, to, part, &got, err));
            e->offset += (int64_t)got;
            e->left -= (int64_t)got;
        }
        if (got < part)
            MRC_FAIL(err, MERCER_ERR_FORMAT, "%s: an array ends too early (damaged file)",
                     e->input->shown);
        count -= (int64_t)got;
        out = out ? out + got : NULL;
    }
out:
    return rc;
}

/* The tag of a part of an array. */
struct part {
    uint32_t type;
    int64_t bytes;  /* of its data */
    int64_t behind; /* bytes behind the tag, padding included; 0 when the data stand in the tag */
};

/* Read the next tag; *left bytes of the array are then left behind the part. */
static mercer_status part_tag(struct element *e, int64_t *left, struct part *part,
                              mercer_error *err)
{
    unsigned char tag[TAG];
    mercer_status rc = element_read(e, tag, TAG, err);
    if (rc != MERCER_OK)
        return rc;
    *left -= TAG;
    part->type = get4(tag, e->swapped);
    part->bytes = part->behind = (int64_t)get4(tag + 4, e->swapped);
    if (part->type >> 16) {
        part->bytes = part->type >> 16;
        part->behind = 0;
        part->type &= 0xffff;
    }
    /* The last part need not be padded, nor are the arrays inside an array. */
    if (part->type != TYPE_MATRIX && part->behind % TAG && part->behind / TAG * TAG + TAG <= *left)
        part->behind += TAG - part->behind % TAG;
    if (*left < 0 || part->behind > *left || (part->behind == 0 && part->bytes > TAG_DATA))
        return mrc_fail(err, MERCER_ERR_FORMAT, "%s: a part of an array reaches beyond its end",
                        e->input->shown);
    *left -= part->behind;
    return MERCER_OK;
}

/* Values in a part, by its type: 8 bits to 64, signed and unsigned, float and double; 0 for what
 * are no numbers. */
static int64_t values_of(const struct part *part)
{
    static const int8_t width[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
    int8_t bytes = part->type < sizeof width ? width[part->type] : 0;
    return bytes > 0 ? part->bytes / bytes : 0;
}

/* What the head of an array announces, and what is there. */
struct claims {
    uint32_t class;
    double values;                /* product of the dimensions; -1 as long as there are none */
    double columns;               /* the second one */
    int64_t found[PARTS_OF_DATA]; /* values in each part behind the head */
    int64_t entries;              /* of a sparse array: where its last column ends */
    int64_t inside;               /* arrays in this one */
};

static bool holds_arrays(const struct claims *claims)
{
    return (claims->class >= CLASS_CELL && claims->class <= CLASS_OBJECT) ||
           claims->class == CLASS_FUNCTION;
}

/* The library takes memory by the dimensions, and hands it out whether or not it was filled. */
static mercer_status check_claims(const struct claims *claims, const char *shown, mercer_error *err)
{
    const int64_t *found = claims->found;
    bool good = claims->values >= 0;
    if (claims->class == CLASS_SPARSE)
        good &= (double)found[STARTS] > claims->columns && found[0] >= claims->entries &&
                found[PARTS_OF_DATA - 1] >= claims->entries;
    else if ((claims->class == CLASS_STRUCT && found[1] == 0) ||
             (claims->class == CLASS_OBJECT && found[2] == 0))
        good = true; /* there are no fields, whose names would stand in this part */
    else
        good &= (double)(holds_arrays(claims) ? claims->inside : found[0]) >= claims->values;
    if (!good)
        return mrc_fail(err, MERCER_ERR_FORMAT, "%s: has fewer values than it says (damaged file)",
                        shown);
    return MERCER_OK;
}

/* Flags and dimensions, as they stand behind their tags; false unless they are of the form that the
 * library takes for granted. */
static bool take_head(int part, const struct part *tag, const unsigned char *data, bool swapped,
                      struct claims *claims)
{
    if (part == 0) {
        claims->class = get4(data, swapped) & 0xff;
        return tag->type == TYPE_UINT32 && tag->behind == TAG;
    }
    if (part > 1 || claims->class == CLASS_OPAQUE)
        return true;
    int64_t size = sizeof(int32_t);
    if (tag->type != TYPE_INT32 || tag->behind == 0 || tag->bytes < 2 * size ||
        tag->bytes % size != 0)
        return false;
    claims->values = 1;
    for (int64_t i = 0; i < tag->bytes / size; i++) {
        double length = get4(data + i * size, swapped);
        claims->values *= length;
        claims->columns = i == 1 ? length : claims->columns;
    }
    return true;
}

/* Read a part, the tag of which is known, and note what it says. */
static mercer_status check_part(struct element *e, int part, const struct part *tag,
                                struct claims *claims, mercer_error *err)
{
    unsigned char head[HEAD_PART_MOST] = {0}, last[sizeof(int32_t)];
    int data = part - PARTS_OF_HEAD;
    bool index = claims->class == CLASS_SPARSE && data <= STARTS; /* rows, or starts of columns */
    bool whole_numbers = tag->type == TYPE_INT32 || tag->type == TYPE_UINT32;
    mercer_status rc = MERCER_OK;
    if (data < 0) {
        bool fits = tag->behind <= HEAD_PART_MOST;
        MRC_TRY(element_read(e, head, fits ? tag->behind : 0, err));
        if (!fits || !take_head(part, tag, head, e->swapped, claims))
            MRC_FAIL(err, MERCER_ERR_FORMAT, "%s: the head of an array is damaged",
                     e->input->shown);
        goto out;
    }
    if (data < PARTS_OF_DATA && (!index || whole_numbers))
        claims->found[data] = values_of(tag);
    if (!index || data != STARTS || tag->behind < (int64_t)sizeof last) {
        MRC_TRY(element_read(e, NULL, tag->behind, err));
        goto out;
    }
    MRC_TRY(element_read(e, NULL, tag->bytes - (int64_t)sizeof last, err));
    MRC_TRY(element_read(e, last, sizeof last, err));
    MRC_TRY(element_read(e, NULL, tag->behind - tag->bytes, err));
    claims->entries = get4(last, e->swapped);
out:
    return rc;
}

/* Walk through the parts of an array of `left` bytes: flags, dimensions, name and, with `whole`,
 * all that follows. The library takes memory by these lengths before it looks at what is there. */
static mercer_status check_array(struct element *e, int64_t left, bool whole, int depth,
                                 struct claims *claims, mercer_error *err)
{
    struct part tag;
    mercer_status rc = MERCER_OK;
    *claims = (struct claims){.values = -1};
    if (depth > DEPTH_MOST)
        MRC_FAIL(err, MERCER_ERR_FORMAT, "%s: arrays inside arrays, more than %d deep",
                 e->input->shown, DEPTH_MOST);
    for (int part = 0; left >= TAG && (part < PARTS_OF_HEAD || whole); part++) {
        MRC_TRY(part_tag(e, &left, &tag, err));
        if (tag.type == TYPE_MATRIX) {
            struct claims inside;
            MRC_TRY(check_array(e, tag.behind, whole, depth + 1, &inside, err));
            claims->inside++;
            continue;
        }
        MRC_TRY(check_part(e, part, &tag, claims, err));
        whole |= holds_arrays(claims); /* the library looks inside */
    }
    if (whole)
        MRC_TRY(element_read(e, NULL, left, err));
    if (holds_arrays(claims))
        MRC_TRY(check_claims(claims, e->input->shown, err));
out:
    return rc;
}

/* Look into the element at this offset; with `whole` it is an array of numbers. */
static mercer_status check_element(mrc_input *input, int64_t offset, int64_t bytes, uint32_t type,
                                   bool swapped, bool whole, mercer_error *err)
{
    struct element e = {.input = input, .offset = offset, .left = bytes, .swapped = swapped};
    unsigned char tag[TAG];
    struct claims claims;
    mercer_status rc = MERCER_OK;
    if (type != TYPE_MATRIX && type != TYPE_COMPRESSED)
        goto out;
    MRC_TRY(element_open(&e, type == TYPE_COMPRESSED, err));
    if (e.packed) {
        MRC_TRY(element_read(&e, tag, TAG, err));
        if (get4(tag, swapped) != TYPE_MATRIX)
            goto out;
        bytes = (int64_t)get4(tag + 4, swapped);
    }
    MRC_TRY(check_array(&e, bytes, whole, 0, &claims, err));
    if (whole)
        MRC_TRY(check_claims(&claims, input->shown, err));
    size_t got = 1;
    while (whole && e.packed && got > 0) /* up to the check sum */
        MRC_TRY(unpack(&e, (unsigned char[1024]){0}, 1024, &got, err));
out:
    element_close(&e);
    return rc;
}

/* Walk through the elements of a version 5 file and look at the head of each; with wanted >= 0, at
 * all of that one instead. */
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
        if (wanted < 0 || i == wanted)
            MRC_TRY(check_element(input, at + TAG, bytes, get4(tag, swapped), swapped, wanted >= 0,
                                  err));
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
    int64_t width; /* bytes a value, in memory */
    struct layout layout;
};

/* List the variables; (*list)[i] belongs to the i-th of the arrays. */
static mercer_status list_variables(mat_t *mat, mrc_arrays *arrays, struct listed **list,
                                    mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    matvar_t *var = NULL;
    for (int64_t i = 0; i < MRC_ARRAYS_MOST && (var = Mat_VarReadNextInfo(mat)); i++) {
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
    mrc_entries entries = {.budget = matrix->budget};
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
    struct layout layout;
    v->var = Mat_VarReadInfo(v->mat, name);
    if (!v->var || not_numbers(v->var) || !take_layout(v->var, &layout) ||
        memcmp(&layout, &v->layout, sizeof layout) != 0 ||
        Mat_VarReadDataAll(v->mat, v->var) != 0 || !v->var->data)
        return mrc_fail(err, MERCER_ERR_FORMAT, "%s: cannot be read; damaged file?", shown);
    if (v->var->class_type == MAT_C_SPARSE)
        return take_sparse(v, matrix, err);
    size_t width = width_of(v->var->data_type);
    if (!width || (size_t)v->var->data_size != width ||
        v->var->nbytes < (size_t)layout.rows * (size_t)layout.columns * width)
        return mrc_fail(err, MERCER_ERR_FORMAT, "%s: has fewer values than it says (damaged file)",
                        shown);
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
    MRC_TRY(check_header(input, &version, &swapped, err));
    if (version == VERSION_5)
        MRC_TRY(check_elements(input, swapped, -1, err));
    else
        MRC_TRY(mrc_hdf5_check_alone(file, err));
    v->mat = Mat_Open(file, MAT_ACC_RDONLY);
    if (!v->mat)
        MRC_FAIL(err, MERCER_ERR_FORMAT, "%s: is not a whole MAT file (damaged or truncated)",
                 file);
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
        MRC_FAIL(err, MERCER_ERR_DATA,
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
    if (version == VERSION_5)
        MRC_TRY(check_elements(input, swapped, list[chosen].element, err));
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
