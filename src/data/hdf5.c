/* Arrays in HDF5 files, through the HDF5 library.
 *
 * The datasets of all groups are listed by their full names. The one that is meant is read block by
 * block as doubles, the conversion being the library's; of more than two axes the first counts the
 * rows and the others are flattened row-major, of one axis every value is a row.
 *
 * A file is trusted with nothing but its own bytes. HDF5 can keep the values of a dataset in other
 * files (external storage), put them together from datasets of other files (virtual layout), link
 * to objects of other files, and load code that unpacks values (plugins). Otherwise whoever writes
 * a file decides which file of the reader's machine comes out as numbers; so all of these are
 * refused.
 */
#include "data/hdf5.h"

#include "base/number.h"
#include "data/containers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef MRC_HAVE_HDF5
#define H5_USE_110_API
#include <hdf5.h>
#endif

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

#ifdef MRC_HAVE_HDF5
static pthread_once_t confined = PTHREAD_ONCE_INIT;

/* For the whole process, so that it also holds for matio, whose calls we do not see: no filter is
 * loaded as a plugin, and no external link leads anywhere. A library that refuses this has neither.
 */
static void confine(void)
{
    H5PLset_loading_state(0);
    H5Lunregister(H5L_TYPE_EXTERNAL);
}
#endif

void mrc_hdf5_enter(mrc_hdf5_saved *saved)
{
    *saved = (mrc_hdf5_saved){0};
    pthread_mutex_lock(&busy);
#ifdef MRC_HAVE_HDF5
    H5Eget_auto2(H5E_DEFAULT, &saved->print, &saved->host);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    pthread_once(&confined, confine);
#endif
}

void mrc_hdf5_leave(const mrc_hdf5_saved *saved)
{
#ifdef MRC_HAVE_HDF5
    H5Eset_auto2(H5E_DEFAULT, saved->print, saved->host);
#else
    (void)saved;
#endif
    pthread_mutex_unlock(&busy);
}

#ifndef MRC_HAVE_HDF5
mercer_status mrc_hdf5_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                            mercer_error *err)
{
    (void)array;
    (void)matrix;
    (void)shown;
    return mrc_fail(err, MERCER_ERR_FORMAT, "%s: this build cannot read HDF5 files", file);
}

mercer_status mrc_hdf5_check_alone(const char *file, mercer_error *err)
{
    (void)file;
    (void)err;
    return MERCER_OK;
}
#else

enum {
    CHUNK_BYTES = 1 << 22,      /* doubles asked for at a time; the library is slow in small bits */
    CHUNK_MOST_BYTES = 1 << 26, /* the same, when the file's own blocks are that large */
    REASON_SIZE = 160
};

struct dataset {
    const char *shown; /* borrowed */
    hid_t file, data;
    int axes;
    int64_t columns;
    hsize_t shape[H5S_MAX_RANK];
};

/* The innermost reason of the library for its last error. */
static herr_t take_reason(unsigned depth, const H5E_error2_t *error, void *text)
{
    if (depth == 0 && error->desc)
        snprintf(text, REASON_SIZE, "%s", error->desc);
    return 0;
}

static mercer_status fail_library(const char *shown, const char *what, mercer_error *err)
{
    char reason[REASON_SIZE] = "no reason given";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, reason);
    return mrc_fail(err, MERCER_ERR_FORMAT, "%s: %s (%s)", shown, what, reason);
}

/* Whether floating-point numbers are of a form that processors have. HDF5 can describe any other,
 * by the places of its bits; a damaged file does, and the library's conversion of such numbers
 * depends on how many it converts at a time. */
static bool is_plain_float(hid_t type)
{
    static const struct {
        size_t bytes, exponent_at, exponent_bits, bias;
    } forms[] = {{2, 10, 5, 15}, {4, 23, 8, 127}, {8, 52, 11, 1023}};
    size_t sign, exponent_at, exponent_bits, fraction_at, fraction_bits;
    H5T_order_t order = H5Tget_order(type);
    if (H5Tequal(type, H5T_NATIVE_LDOUBLE) > 0)
        return true;
    if (H5Tget_fields(type, &sign, &exponent_at, &exponent_bits, &fraction_at, &fraction_bits) < 0)
        return false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (H5Tget_size(type) == forms[i].bytes)
            return (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && H5Tget_offset(type) == 0 &&
                   H5Tget_precision(type) == 8 * forms[i].bytes && sign == 8 * forms[i].bytes - 1 &&
                   exponent_at == forms[i].exponent_at && exponent_bits == forms[i].exponent_bits &&
                   fraction_at == 0 && fraction_bits == forms[i].exponent_at &&
                   H5Tget_ebias(type) == forms[i].bias && H5Tget_norm(type) == H5T_NORM_IMPLIED;
    return false;
}

/* What the values of a dataset are, when they are no numbers; else NULL. */
static const char *not_numbers(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        return is_plain_float(type) ? NULL : "of floating-point numbers of an unknown form";
    case H5T_INTEGER:
        return NULL;
    case H5T_STRING:
        return "text";
    case H5T_COMPOUND:
        return "compound";
    case H5T_ENUM:
        return "an enumeration or booleans";
    default:
        return "no plain numbers";
    }
}

/* How a dataset gets its values from other files; NULL when it does not. Asked before its shape is,
 * for which a virtual one would open them. */
static const char *not_alone(hid_t data)
{
    hid_t plist = H5Dget_create_plist(data);
    if (plist < 0)
        return "damaged";
    bool virtual = H5Pget_layout(plist) == H5D_VIRTUAL;
    int external = H5Pget_external_count(plist);
    H5Pclose(plist);
    return virtual ? "a virtual dataset, put together from others"
           : external != 0 ? "stored outside of this file"
                           : NULL;
}

struct walk {
    hid_t file;
    mrc_arrays *arrays;
    mercer_status rc;
    mercer_error *err;
};

/* Enter a dataset in the list; for H5Ovisit, which stops at anything but 0. */
static herr_t visit(hid_t root, const char *name, const H5O_info_t *info, void *user)
{
    struct walk *walk = user;
    hid_t data, space = -1, type = -1;
    hsize_t shape[H5S_MAX_RANK] = {0};
    int64_t lengths[H5S_MAX_RANK] = {0};
    (void)root;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    data = H5Dopen2(walk->file, name, H5P_DEFAULT);
    const char *other = data >= 0 ? not_alone(data) : "damaged";
    bool elsewhere = data >= 0 && other;
    if (!other) {
        space = H5Dget_space(data);
        type = H5Dget_type(data);
    }
    int axes = space >= 0 ? H5Sget_simple_extent_dims(space, shape, NULL) : -1;
    if (!other)
        other = type >= 0 && axes >= 0 ? not_numbers(type) : "damaged";
    for (int i = 0; i < axes; i++)
        lengths[i] = shape[i] < INT64_MAX ? (int64_t)shape[i] : INT64_MAX;
    walk->rc = other ? mrc_arrays_add_other(walk->arrays, name, other, walk->err)
                     : mrc_arrays_add(walk->arrays, name, axes, lengths, walk->err);
    if (walk->rc == MERCER_OK)
        walk->arrays->list[walk->arrays->count - 1].elsewhere = elsewhere;
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    if (data >= 0)
        H5Dclose(data);
    return walk->rc != MERCER_OK || walk->arrays->count >= MRC_ARRAYS_MOST;
}

/* Enter a link that leads elsewhere, so that asking for it is answered; for H5Lvisit. */
static herr_t visit_link(hid_t root, const char *name, const H5L_info_t *info, void *user)
{
    struct walk *walk = user;
    (void)root;
    if (info->type == H5L_TYPE_HARD || info->type == H5L_TYPE_SOFT)
        return 0;
    walk->rc = mrc_arrays_add_other(walk->arrays, name,
                                    info->type == H5L_TYPE_EXTERNAL ? "a link to another file"
                                                                    : "a link of unknown kind",
                                    walk->err);
    if (walk->rc == MERCER_OK)
        walk->arrays->list[walk->arrays->count - 1].elsewhere = true;
    return walk->rc != MERCER_OK || walk->arrays->count >= MRC_ARRAYS_MOST;
}

/* List the datasets of a file and the links that lead out of it. */
static mercer_status list_file(hid_t file, const char *shown, mrc_arrays *arrays, mercer_error *err)
{
    struct walk walk = {.file = file, .arrays = arrays, .err = err};
    if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk) < 0 ||
        (walk.rc == MERCER_OK && arrays->count < MRC_ARRAYS_MOST &&
         H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_link, &walk) < 0))
        return fail_library(shown, "its groups cannot be read; damaged file?", err);
    return walk.rc;
}

static void close_ids(struct dataset *set)
{
    if (set->data >= 0)
        H5Dclose(set->data);
    if (set->file >= 0)
        H5Fclose(set->file);
}

static void destroy(void *self)
{
    mrc_hdf5_saved saved;
    mrc_hdf5_enter(&saved);
    close_ids(self);
    mrc_hdf5_leave(&saved);
    mrc_free(self);
}

static mercer_status read_rows(void *self, mercer_ctx *ctx, int64_t first, int64_t count,
                               double *out, mercer_error *err)
{
    struct dataset *set = self;
    hsize_t start[H5S_MAX_RANK] = {0}, length[H5S_MAX_RANK];
    mrc_hdf5_saved saved;
    mercer_status rc = MERCER_OK;
    (void)ctx;
    memcpy(length, set->shape, sizeof length);
    start[0] = (hsize_t)first;
    length[0] = (hsize_t)count;
    hsize_t values = (hsize_t)(count * set->columns);
    mrc_hdf5_enter(&saved);
    hid_t there = H5Dget_space(set->data), here = H5Screate_simple(1, &values, NULL);
    if (there < 0 || here < 0 ||
        H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, length, NULL) < 0 ||
        H5Dread(set->data, H5T_NATIVE_DOUBLE, here, there, H5P_DEFAULT, out) < 0)
        rc = fail_library(set->shown, "cannot be read; damaged file?", err);
    if (there >= 0)
        H5Sclose(there);
    if (here >= 0)
        H5Sclose(here);
    mrc_hdf5_leave(&saved);
    return rc;
}

/* Rows to ask for at a time: whole blocks of the file, so that none is unpacked twice. */
static int64_t choose_chunk(hid_t data, int64_t columns)
{
    hsize_t block[H5S_MAX_RANK] = {0};
    int64_t row = columns * (int64_t)sizeof(double);
    int64_t fitting = CHUNK_BYTES / row, most = CHUNK_MOST_BYTES / row;
    hid_t plist = H5Dget_create_plist(data);
    if (plist < 0)
        return fitting > 0 ? fitting : 1;
    if (H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_chunk(plist, H5S_MAX_RANK, block) > 0 &&
        block[0] > 0 && (int64_t)block[0] <= most) {
        int64_t rows = (int64_t)block[0];
        fitting = fitting > rows ? fitting / rows * rows : rows;
    }
    H5Pclose(plist);
    return fitting > 0 ? fitting : 1;
}

/* Bytes of a block of the file, which the library unpacks whole; 0 when it has none. */
static int64_t block_bytes(hid_t data)
{
    hsize_t block[H5S_MAX_RANK] = {0};
    hid_t plist = H5Dget_create_plist(data), type = H5Dget_type(data);
    int64_t bytes = type >= 0 ? (int64_t)H5Tget_size(type) : 0;
    int axes = plist >= 0 && H5Pget_layout(plist) == H5D_CHUNKED
                   ? H5Pget_chunk(plist, H5S_MAX_RANK, block)
                   : 0;
    for (int i = 0; i < axes; i++)
        if (__builtin_mul_overflow(bytes, (int64_t)block[i], &bytes))
            bytes = INT64_MAX;
    if (type >= 0)
        H5Tclose(type);
    if (plist >= 0)
        H5Pclose(plist);
    return axes > 0 ? bytes : 0;
}

/* What holds all values of the dataset. */
static mrc_dtype dtype_of(hid_t data)
{
    hid_t type = H5Dget_type(data);
    if (type < 0)
        return MRC_F64;
    size_t bytes = H5Tget_size(type);
    bool real = H5Tget_class(type) == H5T_FLOAT;
    bool byte = !real && bytes == 1 && H5Tget_sign(type) == H5T_SGN_NONE;
    bool single = real ? H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0
                       : bytes <= 2;
    H5Tclose(type);
    return byte ? MRC_U8 : single ? MRC_F32 : MRC_F64;
}

/* Open the file and choose the dataset; the library is ours. */
static mercer_status open_dataset(struct dataset *set, const char *file, const char *array,
                                  char **shown, mercer_error *err)
{
    mrc_arrays arrays = {0};
    int64_t chosen = -1;
    char *full = NULL;
    mercer_status rc = MERCER_OK;
    FILE *plain = fopen(file, "rb");
    if (!plain) {
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot open", file);
        goto out;
    }
    const bool empty = fgetc(plain) == EOF && feof(plain);
    fclose(plain);
    if (empty)
        MRC_FAIL(err, MERCER_ERR_DATA, "%s: is empty", file);
    set->file = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (set->file < 0)
        MRC_TRY(fail_library(file, "is not a whole HDF5 file", err));
    MRC_TRY(list_file(set->file, file, &arrays, err));
    while (array && *array == '/')
        array++;
    MRC_TRY(mrc_arrays_choose(&arrays, file, array, &chosen, err));
    const mrc_array *found = &arrays.list[chosen];
    size_t room = strlen(file) + strlen(found->name) + 3;
    MRC_TRY(mrc_alloc(&full, (int64_t)room, 1, err));
    snprintf(full, room, "%s:/%s", file, found->name);
    mrc_free(*shown);
    *shown = full;
    set->shown = full;
    if (found->axes == 0)
        MRC_FAIL(err, MERCER_ERR_DATA, "%s: is %s; only %s", full, found->note,
                 found->elsewhere ? MRC_HDF5_ALONE : "real numbers can be read");
    set->axes = found->axes;
    set->columns = found->rest;
    set->data = H5Dopen2(set->file, found->name, H5P_DEFAULT);
    if (set->data < 0)
        MRC_TRY(fail_library(full, "cannot be opened; damaged file?", err));
    hid_t space = H5Dget_space(set->data);
    if (space < 0 || H5Sget_simple_extent_dims(space, set->shape, NULL) != set->axes)
        rc = fail_library(full, "cannot be opened; damaged file?", err);
    if (space >= 0)
        H5Sclose(space);
out:
    mrc_arrays_destroy(&arrays);
    return rc;
}

mercer_status mrc_hdf5_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                            mercer_error *err)
{
    struct dataset *set = NULL;
    mrc_hdf5_saved saved;
    mercer_status rc = mrc_alloc(&set, 1, sizeof *set, err);
    if (rc != MERCER_OK)
        return rc;
    set->file = set->data = -1;
    mrc_hdf5_enter(&saved);
    MRC_TRY(open_dataset(set, file, array, shown, err));
    *matrix = (mrc_matrix){.budget = matrix->budget,
                           .shown = set->shown,
                           .rows = (int64_t)set->shape[0],
                           .columns = set->columns,
                           .read = read_rows};
    MRC_TRY(mrc_matrix_check(matrix, err));
    int64_t shape[4] = {0};
    for (int i = 0; i < set->axes && i < 4; i++)
        shape[i] = (int64_t)set->shape[i];
    matrix->size = mrc_matrix_images(set->axes, shape);
    MRC_TRY(mrc_budget_take(matrix->budget, block_bytes(set->data), 1,
                            "blocks as large as those of its dataset", err));
    matrix->chunk_rows = choose_chunk(set->data, set->columns);
    matrix->dtype = dtype_of(set->data);
    matrix->self = set;
    matrix->destroy = destroy;
out:
    if (rc != MERCER_OK) {
        close_ids(set);
        mrc_free(set);
    }
    mrc_hdf5_leave(&saved);
    return rc;
}

struct suspect {
    hid_t file;
    char name[MRC_SHOWN_SIZE];
    const char *what; /* NULL: none was found */
};

static herr_t suspect_dataset(hid_t root, const char *name, const H5O_info_t *info, void *user)
{
    struct suspect *suspect = user;
    (void)root;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    hid_t data = H5Dopen2(suspect->file, name, H5P_DEFAULT);
    if (data < 0)
        return 0; /* matio cannot read it either */
    suspect->what = not_alone(data);
    H5Dclose(data);
    if (suspect->what)
        mrc_show(suspect->name, name, strlen(name));
    return suspect->what != NULL;
}

static herr_t suspect_link(hid_t root, const char *name, const H5L_info_t *info, void *user)
{
    struct suspect *suspect = user;
    (void)root;
    if (info->type == H5L_TYPE_HARD || info->type == H5L_TYPE_SOFT)
        return 0;
    suspect->what = "a link that leads out of this file";
    mrc_show(suspect->name, name, strlen(name));
    return 1;
}

mercer_status mrc_hdf5_check_alone(const char *file, mercer_error *err)
{
    struct suspect suspect = {.file = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT)};
    mercer_status rc = MERCER_OK;
    if (suspect.file < 0)
        return MERCER_OK; /* matio says what is wrong */
    if (H5Ovisit(suspect.file, H5_INDEX_NAME, H5_ITER_INC, suspect_dataset, &suspect) < 0 ||
        (!suspect.what &&
         H5Lvisit(suspect.file, H5_INDEX_NAME, H5_ITER_INC, suspect_link, &suspect) < 0))
        MRC_TRY(fail_library(file, "its groups cannot be read; damaged file?", err));
    if (suspect.what)
        MRC_FAIL(err, MERCER_ERR_DATA, "%s: '%s' is %s; only %s", file, suspect.name, suspect.what,
                 MRC_HDF5_ALONE);
out:
    H5Fclose(suspect.file);
    return rc;
}
#endif
