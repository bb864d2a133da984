/* SPDX-License-Identifier: BSD-3-Clause */
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
#include "io/hdf5.h"

#include "base/number.h"
#include "io/containers.h"

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
enum { KEPT_BYTES = 1 << 20 }; /* of free memory that the library may keep for its next calls */

static pthread_once_t confined = PTHREAD_ONCE_INIT;

/* For the whole process, so that it also holds for matio, whose calls we do not see: no filter is
 * loaded as a plugin, and no external link leads anywhere. A library that refuses this has neither.
 */
static void confine(void)
{
    H5PLset_loading_state(0);
    H5Lunregister(H5L_TYPE_EXTERNAL);
    /* Memory that the library has given up goes back, not into its own lists: those are in nobody's
     * budget. A limit for all lists of a kind, then for each; of objects, arrays and blocks. */
    H5set_free_list_limits(KEPT_BYTES, KEPT_BYTES, KEPT_BYTES, KEPT_BYTES, KEPT_BYTES, KEPT_BYTES);
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
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: this build cannot read HDF5 files",
                       file);
}

mercer_status mrc_hdf5_check_alone(const char *file, mercer_error *err)
{
    (void)file;
    (void)err;
    return MERCER_OK;
}
#else

enum {
    CHUNK_BYTES = 1 << 22, /* doubles asked for at a time; the library is slow in small bits */
    BUDGET_SHARE = 4,      /* of what the budget has left, rows at hand may take this part */
    MAX_PASSES = 16,       /* times that a packed block is unpacked; more: slower, in less memory */
    MAX_TOUCHED = 2048,    /* blocks that one call of the library touches */
    TOUCHED_BYTES = 8192,  /* that it takes for each of them, beside the values */
    MAX_LOOKED_AT = 1024,  /* blocks whose places are looked at; for each the library walks to it */
    CHECK_SUM_BYTES = 4,
    REASON_SIZE = 160
};

/* Blocks of a file may be long and thin, in the worst case a column each. Then all blocks that hold
 * a row take far more than the rows that are asked for, and unpacking them again for each few rows
 * takes for ever. So many rows are read at once and kept, as narrow as they are in the file, until
 * they are asked for. */
struct window {
    void *values;        /* capacity x columns; NULL: rows are read when they are asked for */
    int64_t capacity;    /* rows */
    int64_t first, rows; /* that it holds */
    int64_t band;        /* rows of a block; a window never holds rows of two */
};

struct dataset {
    const char *shown; /* borrowed */
    hid_t file, data;
    int axes;
    int64_t columns;
    hsize_t shape[H5S_MAX_RANK];
    mrc_dtype dtype; /* that holds all values */
    hsize_t step[2]; /* lengths of the first two axes that one call reads at most */
    struct window window;
};

struct reason {
    bool memory; /* there was none */
    char text[REASON_SIZE];
};

/* The innermost reason of the library for its last error. */
static herr_t take_reason(unsigned depth, const H5E_error2_t *error, void *user)
{
    struct reason *reason = user;
    if (depth == 0) {
        reason->memory = error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC;
        if (error->desc)
            snprintf(reason->text, sizeof reason->text, "%s", error->desc);
    }
    return 0;
}

/* To be asked first of all: every other call of the library forgets it. */
static struct reason last_reason(void)
{
    struct reason reason = {.text = "no reason given"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, &reason);
    return reason;
}

static mercer_status fail_reason(const char *shown, const char *what, const struct reason *reason,
                                 mercer_error *err)
{
    if (reason->memory)
        return mrc_fail_at(
            err, MERCER_ERR_MEMORY, MRC_AT(.key = "memory", .names_file = 1),
            "%s: the HDF5 library had not enough memory (%s): raise the memory budget, unless "
            "the file is damaged",
            shown, reason->text);
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: %s (%s)", shown, what,
                       reason->text);
}

static mercer_status fail_library(const char *shown, const char *what, mercer_error *err)
{
    const struct reason reason = last_reason();
    return fail_reason(shown, what, &reason, err);
}

/* Why values cannot be read: mostly a filter that this library has not. */
static mercer_status fail_read(const char *shown, hid_t data, mercer_error *err)
{
    const struct reason reason = last_reason();
    hid_t plist = H5Dget_create_plist(data);
    char name[MRC_SHOWN_SIZE], raw[64] = "";
    H5Z_filter_t missing = 0;
    for (int i = 0; plist >= 0 && missing == 0 && i < H5Pget_nfilters(plist); i++) {
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL, sizeof raw, raw, &config);
        if (filter > 0 && H5Zfilter_avail(filter) <= 0)
            missing = filter;
    }
    if (plist >= 0)
        H5Pclose(plist);
    if (missing == 0)
        return fail_reason(shown, "cannot be read; damaged file?", &reason, err);
    raw[sizeof raw - 1] = 0;
    mrc_show(name, raw[0] ? raw : "unnamed", strlen(raw[0] ? raw : "unnamed"));
    return mrc_fail_at(
        err, MERCER_ERR_FORMAT, MRC_IN_FILE,
        "%s: unsupported filter '%s' (HDF5 filter %d): no plugins are loaded; store it "
        "again with gzip, or without a filter",
        shown, name, (int)missing);
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

/* What the values of a dataset are, when they are not numbers; else NULL. */
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

/* Number of blocks of that length. */
static hsize_t across(hsize_t length, hsize_t block)
{
    return length > 0 ? (length - 1) / block + 1 : 0;
}

/* Whether bytes from there on lie before the end that the file itself names. The library reads what
 * lies behind it as if it were there, and leaves memory as it was. */
static bool is_inside(haddr_t at, hsize_t bytes, haddr_t end)
{
    return at <= end && bytes <= end - at;
}

/* The filters of blocks that change the number of their bytes in a way that is known. */
struct filters {
    bool known;
    hsize_t more; /* bytes that a block may have beside its values: a check sum */
};

static struct filters find_filters(hid_t plist)
{
    struct filters found = {.known = true};
    for (int i = 0; i < H5Pget_nfilters(plist); i++) {
        unsigned flags;
        size_t none = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(plist, (unsigned)i, &flags, &none, NULL, 0, NULL, NULL);
        found.known &= filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32;
        found.more += filter == H5Z_FILTER_FLETCHER32 ? CHECK_SUM_BYTES : 0;
    }
    return found;
}

/* Whether the blocks of a dataset are more than it can have, have other axes, lie outside of the
 * file or, as long as they are not compressed, do not have the bytes of their values. The library
 * does not look: it would give what lies behind them in memory. Compressed ones are found out by
 * nobody before they are unpacked; all this runs in a program of its own. */
static bool blocks_misfit(hid_t data, hid_t plist, hid_t space, hsize_t bytes, haddr_t end)
{
    hsize_t shape[H5S_MAX_RANK], block[H5S_MAX_RANK], count, most = 1, each = bytes, wanted;
    const struct filters filters = find_filters(plist);
    int axes = H5Sget_simple_extent_dims(space, shape, NULL);
    if (axes < 0 || H5Pget_chunk(plist, H5S_MAX_RANK, block) != axes)
        return true;
    for (int i = 0; i < axes; i++) {
        if (block[i] == 0 || __builtin_mul_overflow(each, block[i], &each))
            return true;
        if (__builtin_mul_overflow(most, across(shape[i], block[i]), &most))
            most = INT64_MAX;
    }
    if (H5Dget_num_chunks(data, space, &count) < 0 || count > most ||
        __builtin_mul_overflow(count, each, &wanted))
        return true;
    const hsize_t held = H5Dget_storage_size(data);
    if (filters.known && (held < wanted || held - wanted > filters.more * count))
        return true;
    for (hsize_t k = 0; count <= MAX_LOOKED_AT && k < count; k++) {
        hsize_t at[H5S_MAX_RANK], size;
        haddr_t address;
        unsigned mask;
        if (H5Dget_chunk_info(data, space, k, at, &mask, &address, &size) < 0 ||
            !is_inside(address, size, end) ||
            (filters.known && (size < each || size - each > filters.more)))
            return true; /* the place in the dataset, *at, is wrong where it can grow */
    }
    return false;
}

/* Whether a dataset in one piece has other bytes than its shape asks for, or lies outside of the
 * file. Nothing is there as long as nothing was written. */
static bool piece_misfits(hid_t data, bool compact, hid_t space, hsize_t bytes, haddr_t end)
{
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    const hsize_t held = H5Dget_storage_size(data);
    hsize_t wanted;
    if (points < 0 || __builtin_mul_overflow((hsize_t)points, bytes, &wanted))
        return true;
    if (compact)
        return held < wanted;
    return held != 0 && (held != wanted || !is_inside(H5Dget_offset(data), held, end));
}

/* Whether what is stored cannot be the values of a dataset. */
static bool is_misfit(hid_t data, hid_t plist)
{
    hid_t file = H5Iget_file_id(data), space = H5Dget_space(data), type = H5Dget_type(data);
    const hsize_t bytes = type >= 0 ? H5Tget_size(type) : 0;
    const H5D_layout_t layout = H5Pget_layout(plist);
    haddr_t end;
    bool is = false;
    if (space < 0 || bytes == 0 || H5Fget_eoa(file, &end) < 0)
        is = true;
    else if (layout == H5D_CHUNKED)
        is = blocks_misfit(data, plist, space, bytes, end);
    else if (layout == H5D_COMPACT || layout == H5D_CONTIGUOUS)
        is = piece_misfits(data, layout == H5D_COMPACT, space, bytes, end);
    if (file >= 0)
        H5Fclose(file);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return is;
}

/* Why a dataset cannot be read from this file alone; NULL when it can. Asked before its shape is,
 * for which a virtual one would open other files. */
static const char *not_alone(hid_t data)
{
    hid_t plist = H5Dget_create_plist(data);
    if (plist < 0)
        return "damaged";
    bool virtual = H5Pget_layout(plist) == H5D_VIRTUAL;
    int external = H5Pget_external_count(plist);
    bool damaged = !virtual && external == 0 && is_misfit(data, plist);
    H5Pclose(plist);
    return virtual ? "a virtual dataset, put together from others"
           : external != 0 ? "stored outside of this file"
           : damaged ? "damaged: its values do not fit its shape"
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
    return walk->rc != MERCER_OK || walk->arrays->count >= MRC_MAX_ARRAYS;
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
    return walk->rc != MERCER_OK || walk->arrays->count >= MRC_MAX_ARRAYS;
}

/* List the datasets of a file and the links that lead out of it. */
static mercer_status list_file(hid_t file, const char *shown, mrc_arrays *arrays, mercer_error *err)
{
    struct walk walk = {.file = file, .arrays = arrays, .err = err};
    if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk) < 0 ||
        (walk.rc == MERCER_OK && arrays->count < MRC_MAX_ARRAYS &&
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
    struct dataset *set = self;
    mrc_hdf5_saved saved;
    mrc_hdf5_enter(&saved);
    close_ids(set);
    mrc_hdf5_leave(&saved);
    mrc_free(set->window.values);
    mrc_free(set);
}

/* The smaller of two lengths. */
static hsize_t least_of(hsize_t a, hsize_t b)
{
    return a < b ? a : b;
}

/* Values of rows by the library's own conversion, in as many calls as blocks ask for. */
static mercer_status read_values(struct dataset *set, int64_t first, int64_t count, hid_t type,
                                 void *out, mercer_error *err)
{
    hsize_t from[H5S_MAX_RANK] = {0}, to[H5S_MAX_RANK] = {0}, length[H5S_MAX_RANK];
    const hsize_t rows = (hsize_t)count, width = set->axes > 1 ? set->shape[1] : 1;
    mrc_hdf5_saved saved;
    mercer_status rc = MERCER_OK;
    memcpy(length, set->shape, sizeof length);
    length[0] = rows;
    mrc_hdf5_enter(&saved);
    /* Both sides have the same axes: for flat memory the library would map every single value of
     * blocks that are narrower than a row, in far more time and memory than the values take. */
    hid_t there = H5Dget_space(set->data), here = H5Screate_simple(set->axes, length, NULL);
    bool good = there >= 0 && here >= 0;
    for (; good && to[0] < rows; to[0] += set->step[0]) {
        from[0] = (hsize_t)first + to[0];
        length[0] = least_of(set->step[0], rows - to[0]);
        for (hsize_t j = 0; good && j < width; j += set->step[1]) {
            from[1] = to[1] = j;
            length[1] = least_of(set->step[1], width - j);
            good = H5Sselect_hyperslab(there, H5S_SELECT_SET, from, NULL, length, NULL) >= 0 &&
                   H5Sselect_hyperslab(here, H5S_SELECT_SET, to, NULL, length, NULL) >= 0 &&
                   H5Dread(set->data, type, here, there, H5P_DEFAULT, out) >= 0;
        }
    }
    if (!good)
        rc = fail_read(set->shown, set->data, err);
    if (there >= 0)
        H5Sclose(there);
    if (here >= 0)
        H5Sclose(here);
    mrc_hdf5_leave(&saved);
    return rc;
}

static int64_t width_of(mrc_dtype dtype)
{
    return dtype == MRC_U8 ? 1
           : dtype == MRC_F32 ? (int64_t)sizeof(float)
                              : (int64_t)sizeof(double);
}

/* Fill the window with the rows from `first` on, as far as the blocks go that have it. */
static mercer_status fill_window(struct dataset *set, int64_t first, mercer_error *err)
{
    struct window *window = &set->window;
    int64_t end = (first / window->band + 1) * window->band, rows = (int64_t)set->shape[0];
    end = end < rows ? end : rows;
    window->first = first;
    window->rows = end - first < window->capacity ? end - first : window->capacity;
    hid_t type = set->dtype == MRC_U8 ? H5T_NATIVE_UCHAR
                 : set->dtype == MRC_F32 ? H5T_NATIVE_FLOAT
                                         : H5T_NATIVE_DOUBLE;
    mercer_status rc = read_values(set, first, window->rows, type, window->values, err);
    window->rows = rc == MERCER_OK ? window->rows : 0;
    return rc;
}

static void widen(mrc_dtype dtype, const void *values, int64_t at, int64_t count, double *out)
{
    if (dtype == MRC_F64)
        memcpy(out, (const double *)values + at, (size_t)count * sizeof *out);
    else if (dtype == MRC_F32)
        for (int64_t i = 0; i < count; i++)
            out[i] = (double)((const float *)values)[at + i];
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = ((const uint8_t *)values)[at + i];
}

static mercer_status read_rows(void *self, mercer_ctx *ctx, int64_t first, int64_t count,
                               double *out, mercer_error *err)
{
    struct dataset *set = self;
    struct window *window = &set->window;
    mercer_status rc = MERCER_OK;
    (void)ctx;
    if (!window->values)
        return read_values(set, first, count, H5T_NATIVE_DOUBLE, out, err);
    while (rc == MERCER_OK && count > 0) {
        int64_t at = first - window->first, taken = window->rows - at;
        if (at < 0 || taken <= 0) {
            rc = fill_window(set, first, err);
            continue;
        }
        taken = taken < count ? taken : count;
        widen(set->dtype, window->values, at * set->columns, taken * set->columns, out);
        first += taken;
        count -= taken;
        out += taken * set->columns;
    }
    return rc;
}

/* How a dataset is stored in blocks. */
struct blocks {
    int64_t rows;    /* of a block, at most those of the dataset; 0: there are none */
    int64_t bytes;   /* of one, unpacked */
    int64_t touched; /* by one call */
    bool packed;
};

/* Let one call touch no more than `most` blocks, whole ones: fewer rows of them, then fewer along
 * the second axis. Returns how many it touches. */
static int64_t choose_step(struct dataset *set, const hsize_t *block, hsize_t most)
{
    hsize_t behind = 1, side = set->axes > 1 ? across(set->shape[1], block[1]) : 1;
    for (int i = 2; i < set->axes; i++)
        if (__builtin_mul_overflow(behind, across(set->shape[i], block[i]), &behind))
            behind = INT64_MAX / TOUCHED_BYTES;
    behind = least_of(behind, INT64_MAX / TOUCHED_BYTES); /* no budget has that */
    const hsize_t sides = behind < most ? least_of(side, most / behind) : 1;
    hsize_t touched = behind * sides;
    if (set->axes > 1 && sides < side)
        set->step[1] = sides * block[1];
    const hsize_t bands = touched < most ? most / touched : 1;
    if (bands < across(set->shape[0], block[0])) {
        set->step[0] = bands * block[0];
        touched *= bands;
    } else {
        touched *= across(set->shape[0], block[0]);
    }
    return (int64_t)touched;
}

/* left: bytes of the budget. */
static struct blocks find_blocks(struct dataset *set, int64_t left)
{
    hsize_t block[H5S_MAX_RANK] = {0};
    struct blocks found = {0};
    hid_t plist = H5Dget_create_plist(set->data), type = H5Dget_type(set->data);
    set->step[0] = set->shape[0];
    set->step[1] = set->axes > 1 ? set->shape[1] : 1;
    bool blocked = plist >= 0 && type >= 0 && H5Pget_layout(plist) == H5D_CHUNKED &&
                   H5Pget_chunk(plist, H5S_MAX_RANK, block) == set->axes;
    for (int i = 0; i < set->axes; i++)
        blocked = blocked && block[i] > 0;
    if (blocked) {
        found.bytes = (int64_t)H5Tget_size(type);
        for (int i = 0; i < set->axes; i++)
            if (__builtin_mul_overflow(found.bytes, (int64_t)block[i], &found.bytes))
                found.bytes = INT64_MAX;
        found.rows = (int64_t)least_of(block[0], set->shape[0]);
        found.packed = H5Pget_nfilters(plist) > 0;
        const hsize_t most = (hsize_t)(left / BUDGET_SHARE / TOUCHED_BYTES);
        found.touched = choose_step(set, block, most < MAX_TOUCHED ? most : MAX_TOUCHED);
    }
    if (type >= 0)
        H5Tclose(type);
    if (plist >= 0)
        H5Pclose(plist);
    return found;
}

/* Choose the rows to ask for at a time, and the window when blocks are longer than these: so that
 * none is unpacked more than MAX_PASSES times. All that this takes is taken from the budget. */
static mercer_status choose_chunk(struct dataset *set, mrc_matrix *matrix, mercer_error *err)
{
    const char *what = "blocks as large as those of its dataset";
    const struct blocks blocks = find_blocks(set, mrc_budget_left(matrix->budget));
    struct window *window = &set->window;
    int64_t row = set->columns * (int64_t)sizeof(double);
    int64_t narrow = set->columns * width_of(set->dtype);
    mercer_status rc = MERCER_OK;
    /* A packed block and what comes out of it are there together; never two blocks, but what the
     * library notes about all that a call touches. */
    MRC_TRY(mrc_budget_take(matrix->budget, blocks.bytes, blocks.packed ? 2 : 1, what, err));
    MRC_TRY(mrc_budget_take(matrix->budget, blocks.touched, TOUCHED_BYTES, "this number of blocks",
                            err));
    int64_t share = mrc_budget_left(matrix->budget) / BUDGET_SHARE;
    int64_t most = share < CHUNK_BYTES ? share : CHUNK_BYTES;
    int64_t fitting = most / row > 0 ? most / row : 1;
    matrix->chunk_rows = fitting;
    if (blocks.rows == 0)
        goto out;
    if (blocks.rows <= fitting) {
        matrix->chunk_rows = fitting / blocks.rows * blocks.rows;
        goto out;
    }
    int64_t least = blocks.packed ? (blocks.rows - 1) / MAX_PASSES + 1 : 1;
    int64_t rows = share / narrow > 0 ? share / narrow : 1;
    if (rows < least)
        MRC_TRY(mrc_budget_fail(matrix->budget, what, (double)least * (double)narrow * BUDGET_SHARE,
                                err));
    /* Not more rows than needed, and as many each time. */
    int64_t passes = (blocks.rows - 1) / rows + 1;
    window->capacity = (blocks.rows - 1) / passes + 1;
    window->band = blocks.rows;
    MRC_TRY(mrc_budget_take(matrix->budget, window->capacity, narrow, what, err));
    MRC_TRY(mrc_alloc2_raw(&window->values, window->capacity, narrow, 1, err));
out:
    return rc;
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
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is empty", file);
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
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is %s; only %s", full, found->note,
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
    matrix->dtype = set->dtype = dtype_of(set->data);
    MRC_TRY(choose_chunk(set, matrix, err));
    matrix->self = set;
    matrix->destroy = destroy;
out:
    if (rc != MERCER_OK) {
        close_ids(set);
        mrc_free(set->window.values);
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
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: '%s' is %s; only %s", file,
                    suspect.name, suspect.what, MRC_HDF5_ALONE);
out:
    H5Fclose(suspect.file);
    return rc;
}
#endif
