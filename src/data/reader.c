/* Reading tables: formats, the roles of columns, classes, and blocks of rows.
 *
 * A reader holds one open file. Reading a whole table is reading one block without a limit, so both
 * ways share every line. Class indices are given in order of first appearance and kept in the
 * reader, so later blocks continue them; each block carries the names seen so far. */
#include "data/containers.h"
#include "data/matrix.h"
#include "data/prepare.h"

#include "base/params.h"

#include "base/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FIRST_BYTES = 1 << 16, /* first memory of a block of unknown length */
    ORIGIN_SIZE = 256,     /* of the line that says where classes or targets come from */
    LISTED_SIZE = 240,     /* of the columns listed in an error */
    CLASSES_FIRST = 16,
    ENTRIES_FIRST = 1 << 10, /* entries of sparse rows */
    LABELLED_MOST = 1 << 24  /* columns of a sparse matrix that get a role each */
};

struct mercer_reader {
    mrc_budget budget;
    mrc_input input;
    mrc_format format;
    mrc_columns columns;
    mrc_classes classes;
    mrc_csv csv;
    mrc_npy npy;
    mrc_libsvm libsvm;
    mrc_matrix matrix;   /* every format but CSV, TSV and LIBSVM */
    bool folder_classes; /* classes are the sub-folders of images */
    bool with_labels;    /* classes come from a file of their own */
    bool labels_named;   /* whose first line is a name */
    mercer_prepare *prepare;
    bool given;        /* the preparation is a model's; else it is learnt from the first block */
    mrc_prepared done; /* what it did */
    int64_t dropped;   /* rows left out */
    mrc_input labels_input;
    mrc_text labels;
    int64_t rows; /* read so far */
    char origin[ORIGIN_SIZE];
    bool ended;
};

void mercer_read_options_init_sized(mercer_read_options *options, size_t size)
{
    if (!options)
        return;
    const mercer_read_options defaults = {.struct_size = size};
    mrc_give_options(&defaults, sizeof defaults, options, size);
}

static bool has_ending(const char *path, size_t length, const char *ending)
{
    size_t size = strlen(ending);
    return length > size && memcmp(path + length - size, ending, size) == 0;
}

static const struct {
    const char *name, *ending;
    mrc_format format;
} known_formats[] = {{"csv", ".csv", MRC_FORMAT_CSV},          {"tsv", ".tsv", MRC_FORMAT_TSV},
                     {"tab", ".tab", MRC_FORMAT_TSV},          {"npy", ".npy", MRC_FORMAT_NPY},
                     {"libsvm", ".svm", MRC_FORMAT_LIBSVM},    {"mtx", ".mtx", MRC_FORMAT_MTX},
                     {"libsvm", ".libsvm", MRC_FORMAT_LIBSVM}, {"npz", ".npz", MRC_FORMAT_NPZ},
                     {"mat", ".mat", MRC_FORMAT_MAT},          {"hdf5", ".h5", MRC_FORMAT_HDF5},
                     {"hdf5", ".hdf5", MRC_FORMAT_HDF5},       {"images", "/", MRC_FORMAT_IMAGES}};

/* Index into known_formats, or -1; path without ".gz" has this length. */
static int find_format(const char *path, size_t length, const char *name)
{
    for (int i = 0; i < (int)(sizeof known_formats / sizeof *known_formats); i++)
        if (name ? strcmp(name, known_formats[i].name) == 0
                 : has_ending(path, length, known_formats[i].ending))
            return i;
    return -1;
}

mercer_status mrc_format_find(const char *path, const char *name, mrc_format *out, bool *gzip,
                              mercer_error *err)
{
    size_t length = strlen(path);
    *gzip = has_ending(path, length, ".gz");
    int found = find_format(path, length - (*gzip ? 3 : 0), name);
    *out = found >= 0 ? known_formats[found].format : MRC_FORMAT_UNKNOWN;
    if (name && found < 0) {
        char shown[MRC_SHOWN_SIZE];
        return mrc_fail(
            err, MERCER_ERR_ARGUMENT,
            "unknown format '%s' (known: csv, tsv, npy, libsvm; for reading also npz, mat, hdf5, "
            "mtx, images)",
            mrc_show(shown, name, strlen(name)));
    }
    return MERCER_OK;
}

const char *mercer_format_name(const char *path, const char *format)
{
    if (!path)
        path = "";
    size_t length = strlen(path);
    int found = find_format(path, length - (has_ending(path, length, ".gz") ? 3 : 0), format);
    return found >= 0 ? known_formats[found].name : NULL;
}

mercer_status mrc_format_fail(const char *path, mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_ARGUMENT,
                    "%s: the ending tells no format (known: .csv, .tsv, .tab, .npy, .svm, .libsvm, "
                    "each also with .gz; for reading also .mtx, .npz, .mat, .h5, .hdf5 and folders "
                    "of images)",
                    path);
}

/* --- classes --- */

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static bool same_text(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == 0;
}

static const char too_many_classes[] = "so many different classes or texts";

/* Double the hash table and enter all classes again. */
static mercer_status grow_slots(mrc_classes *classes, mercer_error *err)
{
    int64_t count = classes->slot_count ? 2 * classes->slot_count : 2 * CLASSES_FIRST, *slots;
    mercer_status rc = mrc_budget_take(classes->budget, count - classes->slot_count, sizeof *slots,
                                       too_many_classes, err);
    if (rc == MERCER_OK)
        rc = mrc_alloc(&slots, count, sizeof *slots, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < classes->count; i++) {
        uint64_t at = hash_text(classes->names[i], strlen(classes->names[i]));
        while (slots[at & (uint64_t)(count - 1)])
            at++;
        slots[at & (uint64_t)(count - 1)] = i + 1;
    }
    classes->taken += (count - classes->slot_count) * (int64_t)sizeof *slots;
    mrc_free(classes->slots);
    classes->slots = slots;
    classes->slot_count = count;
    return MERCER_OK;
}

mercer_status mrc_classes_code(mrc_classes *classes, const char *text, size_t length, int64_t *code,
                               mercer_error *err)
{
    char *name = NULL;
    mercer_status rc = MERCER_OK;
    if (classes->count && same_text(classes->names[classes->last], text, length)) {
        *code = classes->last;
        return MERCER_OK;
    }
    if (2 * (classes->count + 1) > classes->slot_count)
        MRC_TRY(grow_slots(classes, err));
    uint64_t at = hash_text(text, length), mask = (uint64_t)(classes->slot_count - 1);
    for (; classes->slots[at & mask]; at++)
        if (same_text(classes->names[classes->slots[at & mask] - 1], text, length))
            break;
    if (!classes->slots[at & mask]) {
        if (classes->count == classes->capacity) {
            int64_t capacity = 2 * classes->capacity + CLASSES_FIRST;
            MRC_TRY(mrc_grow(&classes->names, capacity, sizeof *classes->names, err));
            classes->capacity = capacity;
        }
        const int64_t bytes = MRC_NAME_BYTES + 2 * (int64_t)length;
        MRC_TRY(mrc_budget_take(classes->budget, 1, bytes, too_many_classes, err));
        classes->taken += bytes;
        MRC_TRY(mrc_alloc(&name, (int64_t)length + 1, 1, err));
        memcpy(name, text, length);
        classes->names[classes->count++] = name;
        classes->slots[at & mask] = classes->count;
    }
    classes->last = classes->slots[at & mask] - 1;
    *code = classes->last;
out:
    return rc;
}

void mrc_classes_destroy(mrc_classes *classes)
{
    mrc_free_names(classes->names, classes->count);
    mrc_free(classes->slots);
    mrc_budget_give(classes->budget, classes->taken, 1);
    *classes = (mrc_classes){.budget = classes->budget};
}

/* --- blocks --- */

int64_t mrc_block_row_bytes(const mrc_block *block, const mrc_columns *columns)
{
    const int64_t number = (int64_t)sizeof(double);
    int64_t data = block->sparse ? number : columns->data * (int64_t)mrc_dtype_bytes(block->dtype);
    return data + columns->targets * number + (block->with_codes ? number : 0);
}

enum { ENTRY_BYTES = sizeof(int32_t) + sizeof(double) };

bool mrc_block_is_full(mrc_block *block, const mrc_columns *columns)
{
    int64_t row = mrc_block_row_bytes(block, columns);
    int64_t entries = block->sparse && block->n > 0 ? block->csr.start[block->n] : 0;
    block->full = block->elastic && block->n > 0 &&
                  block->n + 1 > (mrc_budget_left(block->budget) / 2 - entries * ENTRY_BYTES) / row;
    return block->full;
}

/* Fail because rows, or their entries, go on beyond the budget. */
static mercer_status fail_rows(const mrc_block *block, double bytes, mercer_error *err)
{
    const mrc_budget *budget = block->budget;
    double done = mrc_input_done(budget->input);
    char all[48] = "";
    if (done > 0 && done < 1)
        snprintf(all, sizeof all, " (about %.1f MB in all)", bytes / done / 0x1p20);
    return mrc_fail(
        err, MERCER_ERR_BUDGET,
        "%s: its rows take more than the memory budget of %.1f MB%s: raise --memory, or "
        "read fewer rows or columns",
        budget->input->shown, (double)budget->most / 0x1p20, all);
}

/* Rows that the block can have at most. */
static int64_t rows_that_fit(const mrc_block *block, const mrc_columns *columns)
{
    int64_t left = mrc_budget_left(block->budget) - block->entry_capacity * ENTRY_BYTES;
    int64_t row = mrc_block_row_bytes(block, columns);
    int64_t fitting = left >= row ? left / row - block->sparse : 0; /* one start more than rows */
    int64_t half = fitting / 2 > 1 ? fitting / 2 : 1;
    return block->elastic && half < fitting ? half : fitting;
}

mercer_status mrc_block_reserve(mrc_block *block, const mrc_columns *columns, int64_t rows,
                                mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    size_t cells;
    if (rows > block->n && rows > rows_that_fit(block, columns))
        MRC_TRY(fail_rows(block, (double)rows * (double)mrc_block_row_bytes(block, columns), err));
    if (block->sparse) {
        MRC_TRY(mrc_grow(&block->csr.start, rows + 1, sizeof *block->csr.start, err));
        block->csr.start[0] = 0;
    } else {
        MRC_TRY(mrc_size_mul(rows, columns->data, &cells, err));
        if (block->dtype == MRC_F64)
            MRC_TRY(mrc_grow(&block->x, (int64_t)cells, sizeof *block->x, err));
        else
            MRC_TRY(mrc_grow(&block->packed, (int64_t)cells, mrc_dtype_bytes(block->dtype), err));
    }
    if (columns->targets) {
        MRC_TRY(mrc_size_mul(rows, columns->targets, &cells, err));
        MRC_TRY(mrc_grow(&block->values, (int64_t)cells, sizeof *block->values, err));
    }
    if (block->with_codes)
        MRC_TRY(mrc_grow(&block->codes, rows, sizeof *block->codes, err));
    block->capacity = rows;
out:
    return rc;
}

mercer_status mrc_block_grow(mrc_block *block, const mrc_columns *columns, int64_t most,
                             mercer_error *err)
{
    int64_t width = (block->sparse ? 1 : columns->data) + columns->targets;
    int64_t first = FIRST_BYTES / (int64_t)sizeof(double) / width + 1;
    int64_t rows = block->capacity ? block->capacity + block->capacity / 2 + 1 : first;
    int64_t fitting = rows_that_fit(block, columns);
    if (fitting <= block->n)
        return fail_rows(block,
                         (double)(block->n + 1) * (double)mrc_block_row_bytes(block, columns) +
                             (double)block->entry_capacity * ENTRY_BYTES,
                         err);
    rows = rows < fitting ? rows : fitting;
    return mrc_block_reserve(block, columns, rows < most ? rows : most, err);
}

/* Room for exactly that many entries. */
static mercer_status reserve_entries(mrc_block *block, int64_t count, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_grow(&block->csr.column, count, sizeof *block->csr.column, err));
    MRC_TRY(mrc_grow(&block->csr.value, count, sizeof *block->csr.value, err));
    block->entry_capacity = count;
out:
    return rc;
}

mercer_status mrc_block_grow_entries(mrc_block *block, int64_t least, mercer_error *err)
{
    int64_t more = block->entry_capacity + block->entry_capacity / 2 + ENTRIES_FIRST;
    int64_t starts = (block->capacity + 1) * (int64_t)sizeof *block->csr.start;
    int64_t fitting = (mrc_budget_left(block->budget) - starts) / ENTRY_BYTES;
    if (least > fitting)
        return fail_rows(block, (double)least * ENTRY_BYTES + (double)starts, err);
    more = more > least ? more : least;
    return reserve_entries(block, more < fitting ? more : fitting, err);
}

static void block_destroy(mrc_block *block)
{
    mrc_csr_owned_destroy(&block->csr);
    mrc_free(block->x);
    mrc_free(block->packed);
    mrc_free(block->values);
    mrc_free(block->codes);
    *block = (mrc_block){.budget = block->budget, .elastic = block->elastic};
}

/* --- columns and their roles --- */

/* Append the columns' names to text for a message, as many as fit. */
static void list_columns(const mrc_columns *columns, char *text, size_t size)
{
    size_t used = 0;
    if (!columns->names) {
        snprintf(text, size, "it has %lld column%s without names", (long long)columns->count,
                 columns->count == 1 ? "" : "s");
        return;
    }
    used = (size_t)snprintf(text, size, "columns: ");
    for (int64_t i = 0; i < columns->count; i++) {
        char shown[MRC_SHOWN_SIZE];
        size_t left = size - used;
        mrc_show(shown, columns->names[i], strlen(columns->names[i]));
        if (strlen(shown) + sizeof ", , ..." > left) {
            snprintf(text + used, left, "%s...", i ? ", " : "");
            return;
        }
        used += (size_t)snprintf(text + used, left, "%s%s", i ? ", " : "", shown);
    }
}

/* The column with this name or, failing that, at this 1-based position; -1 for none. */
static int64_t find_column(const mrc_columns *columns, const char *text, size_t length)
{
    int64_t position;
    for (int64_t i = 0; columns->names && i < columns->count; i++)
        if (same_text(columns->names[i], text, length))
            return i;
    if (mrc_parse_int(text, length, &position) && position >= 1 && position <= columns->count)
        return position - 1;
    return -1;
}

static mercer_status need_column(const mercer_reader *reader, const char *text, size_t length,
                                 int64_t *out, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], listed[LISTED_SIZE];
    *out = find_column(&reader->columns, text, length);
    if (*out >= 0)
        return MERCER_OK;
    list_columns(&reader->columns, listed, sizeof listed);
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: there is no column '%s' (%s)",
                    reader->input.shown, mrc_show(shown, text, length), listed);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Two columns of one name could be taken for each other; refuse them. */
static mercer_status check_names(const mercer_reader *reader, mercer_error *err)
{
    const mrc_columns *columns = &reader->columns;
    char **sorted = NULL;
    mercer_status rc = MERCER_OK;
    if (!columns->names)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&sorted, columns->count, 1, sizeof *sorted, err));
    memcpy(sorted, columns->names, (size_t)columns->count * sizeof *sorted);
    qsort(sorted, (size_t)columns->count, sizeof *sorted, compare_names);
    for (int64_t i = 1; i < columns->count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            char shown[MRC_SHOWN_SIZE];
            MRC_FAIL(err, MERCER_ERR_DATA, "%s: two columns are called '%s'", reader->input.shown,
                     mrc_show(shown, sorted[i], strlen(sorted[i])));
        }
out:
    mrc_free(sorted);
    return rc;
}

/* Mark the columns listed in text (a name, or comma-separated names and positions) as targets. */
static mercer_status mark_targets(mercer_reader *reader, const char *text, mercer_error *err)
{
    mrc_columns *columns = &reader->columns;
    int64_t column = find_column(columns, text, strlen(text));
    if (column >= 0) { /* also a name with a comma in it */
        columns->role[column] = MRC_ROLE_TARGET(0);
        columns->targets = 1;
        return MERCER_OK;
    }
    for (;;) {
        size_t length = strcspn(text, ",");
        mercer_status rc = need_column(reader, text, length, &column, err);
        if (rc != MERCER_OK)
            return rc;
        if (columns->role[column] <= MRC_ROLE_TARGET(0)) {
            char shown[MRC_SHOWN_SIZE];
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: target column '%s' is given twice",
                            reader->input.shown, mrc_show(shown, text, length));
        }
        columns->role[column] = MRC_ROLE_TARGET(columns->targets);
        columns->targets++;
        if (!text[length])
            return MERCER_OK;
        text += length + 1;
    }
}

/* "column 'age'" or "column 3", appended. */
static void append_column(char *text, size_t size, const mrc_columns *columns, int64_t column)
{
    char shown[MRC_SHOWN_SIZE];
    size_t used = strlen(text);
    if (columns->names)
        snprintf(text + used, size - used, "'%s'",
                 mrc_show(shown, columns->names[column], strlen(columns->names[column])));
    else
        snprintf(text + used, size - used, "%lld", (long long)column + 1);
}

static void describe_origin(mercer_reader *reader, const char *labels_file)
{
    const mrc_columns *columns = &reader->columns;
    char *text = reader->origin;
    if (labels_file) {
        snprintf(text, ORIGIN_SIZE, "classes from %s", labels_file);
    } else if (columns->label >= 0) {
        snprintf(text, ORIGIN_SIZE, "classes from column ");
        append_column(text, ORIGIN_SIZE, columns, columns->label);
    } else if (columns->targets) {
        snprintf(text, ORIGIN_SIZE, "values from column%s ", columns->targets > 1 ? "s" : "");
        for (int64_t k = 0; k < columns->targets; k++)
            for (int64_t i = 0; i < columns->count; i++)
                if (columns->role[i] == MRC_ROLE_TARGET(k)) {
                    size_t used = strlen(text);
                    snprintf(text + used, ORIGIN_SIZE - used, "%s", k ? ", " : "");
                    append_column(text, ORIGIN_SIZE, columns, i);
                }
    }
}

static mercer_status check_options(const mercer_read_options *options, mercer_error *err)
{
    if (options->label && options->target)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "a label and targets cannot both be given");
    if (options->labels_file && (options->label || options->target))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "classes from %s and a label or target column cannot both be given",
                        options->labels_file);
    if (options->no_label && (options->label || options->target))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "a label or target is given although there is to be none");
    if (options->header && strcmp(options->header, "yes") != 0 &&
        strcmp(options->header, "no") != 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "header '%s' is not one of yes, no",
                        options->header);
    if (options->columns < 0 || options->columns > INT32_MAX)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "a table cannot have %lld columns",
                        (long long)options->columns);
    return MERCER_OK;
}

/* The rule of io.h: columns called "label" and "target" when the caller says nothing. */
static mercer_status decide_by_name(mercer_reader *reader, const mercer_read_options *options,
                                    mercer_error *err)
{
    mrc_columns *columns = &reader->columns;
    if (!columns->names || options->no_label)
        return MERCER_OK;
    int64_t label = -1, target = -1;
    for (int64_t i = 0; i < columns->count; i++) {
        label = strcmp(columns->names[i], "label") == 0 ? i : label;
        target = strcmp(columns->names[i], "target") == 0 ? i : target;
    }
    if (options->labels_file && (label >= 0 || target >= 0))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "%s: has a column '%s', but classes are to come from %s (with no-label the "
                        "column is data)",
                        reader->input.shown, label >= 0 ? "label" : "target", options->labels_file);
    if (label >= 0 && target >= 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "%s: has a column 'label' and a column 'target'; say which one to learn",
                        reader->input.shown);
    if (label >= 0)
        columns->label = label;
    if (target >= 0) {
        columns->role[target] = MRC_ROLE_TARGET(0);
        columns->targets = 1;
    }
    return MERCER_OK;
}

/* The columns that were asked for by name, in that order. */
static mercer_status take_only(mercer_reader *reader, const mercer_read_options *options,
                               mercer_error *err)
{
    mrc_columns *columns = &reader->columns;
    char listed[LISTED_SIZE];
    int64_t *where = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&where, options->only_count, sizeof *where, err));
    for (int64_t j = 0; j < options->only_count; j++) {
        where[j] = -1;
        for (int64_t i = 0; i < columns->count && where[j] < 0; i++)
            if (columns->role[i] == 0 && strcmp(columns->names[i], options->only[j]) == 0)
                where[j] = i;
        if (where[j] < 0) {
            list_columns(columns, listed, sizeof listed);
            MRC_FAIL(err, MERCER_ERR_DATA, "%s: needed column '%s' is missing (%s)",
                     reader->input.shown, options->only[j], listed);
        }
    }
    for (int64_t i = 0; i < columns->count; i++)
        if (columns->role[i] == 0) {
            columns->role[i] = MRC_ROLE_SKIPPED;
            columns->skipped++;
        }
    for (int64_t j = 0; j < options->only_count; j++)
        columns->role[where[j]] = j;
    columns->data = options->only_count;
    columns->skipped -= options->only_count;
out:
    mrc_free(where);
    return rc;
}

int64_t mercer_reader_skipped(const mercer_reader *reader, const char **first)
{
    if (first)
        *first = NULL;
    if (!reader)
        return 0;
    const mrc_columns *columns = &reader->columns;
    const char *name = NULL;
    for (int64_t i = 0; columns->skipped && i < columns->count && !name; i++)
        if (columns->role[i] == MRC_ROLE_SKIPPED)
            name = columns->names[i];
    if (first)
        *first = name;
    return columns->skipped;
}

static mercer_status decide_roles(mercer_reader *reader, const mercer_read_options *options,
                                  mercer_error *err)
{
    mrc_columns *columns = &reader->columns;
    mercer_status rc = MERCER_OK;
    columns->label = -1;
    if (reader->format == MRC_FORMAT_LIBSVM) /* its labels are no columns */
        goto out;
    if (reader->matrix.csr.start && !options->label && !options->target) {
        columns->data = columns->count; /* there may be many, and none is told apart */
        describe_origin(reader, options->labels_file);
        goto out;
    }
    if (reader->matrix.csr.start && columns->count > LABELLED_MOST)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "%s: label and target cannot be columns of a sparse matrix of more than %d",
                 reader->input.shown, LABELLED_MOST);
    MRC_TRY(mrc_budget_take(&reader->budget, columns->count, 2 * (int64_t)sizeof *columns->role,
                            "so many columns", err)); /* for their names in order, too */
    MRC_TRY(check_names(reader, err));
    MRC_TRY(mrc_alloc2(&columns->role, columns->count, 1, sizeof *columns->role, err));
    if (options->label)
        MRC_TRY(need_column(reader, options->label, strlen(options->label), &columns->label, err));
    else if (options->target)
        MRC_TRY(mark_targets(reader, options->target, err));
    else
        MRC_TRY(decide_by_name(reader, options, err));
    if (columns->label >= 0)
        columns->role[columns->label] = MRC_ROLE_LABEL;
    bool chosen = options->only && columns->names;
    if (chosen)
        MRC_TRY(take_only(reader, options, err));
    for (int64_t i = 0; i < columns->count && !chosen; i++)
        if (columns->role[i] == 0)
            columns->role[i] = columns->data++;
    if (columns->data == 0)
        MRC_FAIL(err, MERCER_ERR_DATA, "%s: no data columns are left beside the %s",
                 reader->input.shown, columns->label >= 0 ? "label" : "targets");
    describe_origin(reader, options->labels_file);
out:
    return rc;
}

/* --- opening and closing --- */

/* The caller's options, of whatever age, over the defaults. */
static mercer_status take_options(const mercer_read_options *given, mercer_read_options *out,
                                  mercer_error *err)
{
    mercer_read_options_init(out);
    mercer_status rc = mrc_take_options("read", given, out, sizeof *out, err);
    return rc == MERCER_OK ? check_options(out, err) : rc;
}

/* What has to be known of the preparation before the first cell is read. */
static mercer_status begin_prepare(mercer_reader *reader, const mercer_read_options *options,
                                   mercer_error *err)
{
    static const char *const hints[2][3] = {
        {" (a missing value; 'fit --missing mean' or 'drop' takes them)", NULL, NULL},
        {" (the model was fitted without missing values)", NULL,
         " (such rows were left out when the model was fitted, it has no means to fill them with)"},
    };
    mercer_status rc = MERCER_OK;
    reader->given = options->prepare != NULL;
    if (reader->given) {
        MRC_TRY(mrc_prepare_clone(options->prepare, &reader->prepare, err));
    } else {
        MRC_TRY(mrc_prepare_new(&reader->prepare, err));
        MRC_TRY(mrc_missing_parse(options->missing, &reader->prepare->missing, err));
    }
    if (!reader->given && options->encode && strcmp(options->encode, "none") != 0) {
        if (strcmp(options->encode, "onehot") != 0)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "encode '%s' is not one of none, onehot",
                     options->encode);
        reader->columns.texts_open = true;
    }
    reader->columns.encode = reader->columns.texts_open || reader->prepare->sources > 0;
    mrc_missing missing = reader->prepare->missing;
    reader->columns.missing =
        missing == MRC_MISSING_MEAN || (missing == MRC_MISSING_DROP && !reader->given);
    reader->columns.missing_hint = hints[reader->given][missing];
out:
    return rc;
}

/* What a file without a telling ending is: a stream is CSV unless it starts like NPY. */
static mercer_status decide_format(mercer_reader *reader, const char *path,
                                   const mercer_read_options *options, mercer_error *err)
{
    bool gzip;
    mercer_status rc = mrc_format_find(path, options->format, &reader->format, &gzip, err);
    if (rc != MERCER_OK || reader->format != MRC_FORMAT_UNKNOWN)
        return rc;
    struct stat info;
    bool regular = reader->input.fd >= 0 && !reader->input.borrowed_fd &&
                   strncmp(path, "/dev/", 5) != 0 && fstat(reader->input.fd, &info) == 0 &&
                   S_ISREG(info.st_mode);
    if (regular)
        return mrc_format_fail(path, err);
    size_t ahead = reader->input.raw_end - reader->input.raw_at;
    bool npy = !reader->input.gzip && ahead >= 6 &&
               memcmp(reader->input.raw + reader->input.raw_at, "\x93NUMPY", 6) == 0;
    reader->format = npy ? MRC_FORMAT_NPY : MRC_FORMAT_CSV;
    return MERCER_OK;
}

/* Formats that come as a stream of bytes: reader->input is open. */
static mercer_status start_stream(mercer_reader *reader, mercer_ctx *ctx, const char *path,
                                  const char *array, const mercer_read_options *options,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(decide_format(reader, path, options, err));
    if (array && reader->format != MRC_FORMAT_NPZ) {
        char shown[MRC_SHOWN_SIZE];
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%s: has no arrays by name, so ':%s' cannot follow (.npz, .mat and .h5 have)",
                 path, mrc_show(shown, array, strlen(array)));
    }
    mrc_budget *budget = &reader->budget;
    switch (reader->format) {
    case MRC_FORMAT_NPZ:
        MRC_TRY(mrc_npz_find(&reader->input, ctx, array, &reader->matrix, err));
        if (reader->matrix.csr.start) {
            reader->columns.count = reader->matrix.columns;
            break;
        } /* fallthrough */
    case MRC_FORMAT_NPY:
        MRC_TRY(mrc_npy_open(&reader->npy, &reader->input, budget, &reader->columns, err));
        mrc_npy_matrix(&reader->npy, &reader->matrix);
        break;
    case MRC_FORMAT_MTX:
        MRC_TRY(mrc_mtx_open(ctx, &reader->input, &reader->matrix, err));
        reader->columns.count = reader->matrix.columns;
        break;
    case MRC_FORMAT_LIBSVM:
        MRC_TRY(mrc_libsvm_open(&reader->libsvm, &reader->input, budget, options, err));
        break;
    case MRC_FORMAT_CSV:
    case MRC_FORMAT_TSV:
        MRC_TRY(mrc_csv_open(&reader->csv, ctx, &reader->input, budget,
                             reader->format == MRC_FORMAT_TSV ? '\t' : ',', options,
                             &reader->columns, err));
        break;
    default:
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: this format has to be a plain file", path);
    }
out:
    return rc;
}

/* A folder of images; its sub-folders are the classes unless the caller wants none. */
static mercer_status start_images(mercer_reader *reader, mercer_ctx *ctx, const char *path,
                                  const mercer_read_options *options, mercer_error *err)
{
    int64_t width = options->resize_width, height = options->resize_height;
    const mrc_image_size *model = options->prepare ? &options->prepare->size : NULL;
    mercer_status rc = MERCER_OK;
    reader->format = MRC_FORMAT_IMAGES;
    MRC_TRY(mrc_strdup(&reader->input.shown, path, err));
    if (model && model->width > 0) {
        if ((width || height) && (width != model->width || height != model->height))
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "%s: cannot be resized to %lldx%lld: the model's images have %lldx%lld pixels",
                     path, (long long)width, (long long)height, (long long)model->width,
                     (long long)model->height);
        width = model->width;
        height = model->height;
    }
    MRC_TRY(mrc_images_open(ctx, path, reader->input.shown, width, height, &reader->matrix, err));
    reader->columns.count = reader->matrix.columns;
    reader->folder_classes = mrc_images_class(&reader->matrix, 0) && !options->no_label;
    if (reader->folder_classes && (options->label || options->target || options->labels_file))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%s: its sub-folders are the classes; no other label or target can be given "
                 "(with no-label they are not)",
                 path);
out:
    return rc;
}

/* MAT and HDF5: their libraries open the file. */
static mercer_status start_library(mercer_reader *reader, mercer_ctx *ctx, const char *path,
                                   const char *array, const struct stat *info, mrc_format format,
                                   mercer_error *err)
{
    size_t length = strlen(path);
    mercer_status rc = MERCER_OK;
    reader->format = format;
    bool other = info->st_mode && !S_ISREG(info->st_mode); /* what is not there is found later */
    if (strcmp(path, "-") == 0 || has_ending(path, length, ".gz") || other)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: %s data have to be a plain file (no pipe, no .gz)",
                 strcmp(path, "-") == 0 ? "standard input" : path,
                 format == MRC_FORMAT_MAT ? "MAT" : "HDF5");
    MRC_TRY(
        mrc_containers_open(ctx, format, path, array, &reader->matrix, &reader->input.shown, err));
    reader->columns.count = reader->matrix.columns;
out:
    return rc;
}

static bool is_sparse(const mercer_reader *reader)
{
    return reader->format == MRC_FORMAT_LIBSVM || reader->matrix.csr.start;
}

/* Of sparse rows no column is text and no value is missing: what is not written is 0. */
static mercer_status check_sparse(const mercer_reader *reader, mercer_error *err)
{
    const mercer_prepare *prepare = reader->prepare;
    if (!is_sparse(reader))
        return MERCER_OK;
    if (!reader->given && (reader->columns.encode || prepare->missing != MRC_MISSING_ERROR))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "%s: its rows are sparse; --missing and --encode are for dense tables",
                        reader->input.shown);
    if (prepare->sources > 0 || prepare->image == MRC_IMAGE_HAAR)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "%s: its rows are sparse, but the model makes its columns of %s",
                        reader->input.shown, prepare->sources > 0 ? "text columns" : "images");
    return MERCER_OK;
}

/* Whether rows of this file can be what a model was fitted to. */
static mercer_status match_model(const mercer_reader *reader, mercer_error *err)
{
    const mercer_prepare *prepare = reader->prepare;
    const mrc_image_size *here = &reader->matrix.size, *model = &prepare->size;
    int64_t columns = reader->columns.data;
    int64_t wanted = prepare->sources > 0 ? prepare->sources : prepare->means_count;
    if (reader->format == MRC_FORMAT_LIBSVM)
        return MERCER_OK; /* options.columns tells how many there are */
    if (prepare->image == MRC_IMAGE_NONE && wanted > 0 && columns != wanted)
        return mrc_fail(err, MERCER_ERR_DATA, "%s: %lld columns where %lld were expected",
                        reader->input.shown, (long long)columns, (long long)wanted);
    if (prepare->image == MRC_IMAGE_NONE)
        return MERCER_OK;
    if (here->channels && (here->width != model->width || here->height != model->height ||
                           here->channels != model->channels))
        return mrc_fail(err, MERCER_ERR_DATA,
                        "%s: %s images of %lldx%lld pixels, but the model's are %s and have "
                        "%lldx%lld",
                        reader->input.shown, here->channels == 1 ? "grey" : "colour",
                        (long long)here->width, (long long)here->height,
                        model->channels == 1 ? "grey" : "in colour", (long long)model->width,
                        (long long)model->height);
    if (columns != mrc_image_values(model))
        return mrc_fail(err, MERCER_ERR_DATA,
                        "%s: %lld columns where %lld were expected (the model's images have "
                        "%lldx%lld pixels)",
                        reader->input.shown, (long long)columns, (long long)mrc_image_values(model),
                        (long long)model->width, (long long)model->height);
    return MERCER_OK;
}

/* The image features the caller asks for. */
static mercer_status start_features(mercer_reader *reader, const mercer_read_options *options,
                                    mercer_error *err)
{
    const mrc_image_size *size = &reader->matrix.size;
    bool images = size->channels && reader->columns.data == reader->matrix.columns;
    mrc_image_kind kind;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_image_kind_parse(options->image_features, &kind, err));
    if (kind != MRC_IMAGE_NONE && !images)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%s: has no image features, because its rows are no images (a folder of images or "
                 "an array of three axes is expected)",
                 reader->input.shown);
    if (kind == MRC_IMAGE_HAAR &&
        (size->channels != 1 || mrc_haar_count(size->width, size->height) == 0))
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "%s: haar features need grey images of two pixels or more, these are %s and have "
                 "%lldx%lld",
                 reader->input.shown, size->channels == 1 ? "grey" : "in colour",
                 (long long)size->width, (long long)size->height);
    if (images) {
        reader->prepare->image = kind == MRC_IMAGE_NONE ? MRC_IMAGE_PIXELS : kind;
        reader->prepare->size = *size;
    }
out:
    return rc;
}

/* The next line of the labels file without blanks around it; *length 0 when nothing but blank lines
 * is left. */
static mercer_status next_label(mercer_reader *reader, mercer_ctx *ctx, const char **out,
                                size_t *length, mercer_error *err)
{
    const mrc_text *text = &reader->labels;
    const char *first, *stop;
    int64_t blank = 0;
    *length = 0;
    for (;;) {
        mercer_status rc = mrc_text_line(&reader->labels, ctx, &first, &stop, err);
        if (rc != MERCER_OK || !first)
            return rc;
        while (first < stop && (*first == ' ' || *first == '\t'))
            first++;
        while (first < stop && strchr(" \t\r", stop[-1]))
            stop--;
        if (first == stop) {
            blank = blank ? blank : text->line - 1;
            continue;
        }
        if (blank)
            return mrc_fail(err, MERCER_ERR_FORMAT, "%s:%lld: a blank line between classes",
                            text->input->shown, (long long)blank);
        if (memchr(first, 0, (size_t)(stop - first)))
            return mrc_fail(err, MERCER_ERR_FORMAT, "%s:%lld: a zero byte; this is not a text file",
                            text->input->shown, (long long)text->line - 1);
        *out = first;
        *length = (size_t)(stop - first);
        return MERCER_OK;
    }
}

/* Step over the first line of the labels file when it is a name: "label" or "target", or anything
 * when the caller says that tables have a header. */
static mercer_status skip_labels_name(mercer_reader *reader, mercer_ctx *ctx, const char *header,
                                      mercer_error *err)
{
    size_t length = 0;
    const char *text = NULL;
    mercer_status rc = MERCER_OK;
    if (header && strcmp(header, "no") == 0)
        goto out;
    MRC_TRY(next_label(reader, ctx, &text, &length, err));
    reader->labels_named = length > 0 && (header || same_text("label", text, length) ||
                                          same_text("target", text, length));
    if (length > 0 && !reader->labels_named) { /* back to it */
        reader->labels.start = (size_t)(text - reader->labels.data);
        reader->labels.line--;
    }
out:
    return rc;
}

/* The common end of opening: the format is open and its columns are known. */
static mercer_status start(mercer_reader *reader, mercer_ctx *ctx,
                           const mercer_read_options *options, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(decide_roles(reader, options, err));
    MRC_TRY(check_sparse(reader, err));
    MRC_TRY(reader->given ? match_model(reader, err) : start_features(reader, options, err));
    if (reader->columns.encode)
        MRC_TRY(mrc_encode_load(reader->prepare, &reader->columns, err));
    for (int64_t j = 0; reader->columns.texts && j < reader->columns.data; j++)
        reader->columns.texts[j].budget = &reader->budget;
    if (reader->folder_classes)
        snprintf(reader->origin, ORIGIN_SIZE, "classes from the sub-folders of %s",
                 reader->input.shown);
    if (options->labels_file) {
        MRC_TRY(mrc_input_open(&reader->labels_input, options->labels_file, err));
        MRC_TRY(mrc_text_init(&reader->labels, &reader->labels_input, &reader->budget, err));
        reader->with_labels = true;
        MRC_TRY(skip_labels_name(reader, ctx, options->header, err));
    }
out:
    return rc;
}

static mercer_status reader_alloc(const mercer_ctx *ctx, mercer_reader **out, mercer_error *err)
{
    mercer_status rc = mrc_alloc(out, 1, sizeof **out, err);
    mercer_reader *reader = *out;
    if (rc == MERCER_OK) {
        reader->input.fd = -1;
        reader->labels_input.fd = -1;
        reader->budget = (mrc_budget){.input = &reader->input, .most = ctx->memory};
        reader->classes.budget = reader->matrix.budget = &reader->budget;
    }
    return rc;
}

/* FILE:NAME into its parts: what exists as it stands is a file, else the longest FILE that exists.
 * *file is owned by the caller; *array points into path, or is NULL. */
static mercer_status split_path(const char *path, char **file, const char **array,
                                struct stat *info, mercer_error *err)
{
    path = path ? path : "";
    mercer_status rc = mrc_strdup(file, path, err);
    *array = NULL;
    if (rc != MERCER_OK || strcmp(*file, "-") == 0 || stat(*file, info) == 0)
        return rc;
    for (size_t at = strlen(*file); at > 1; at--) {
        if ((*file)[at - 1] != ':' || !path[at])
            continue;
        (*file)[at - 1] = 0;
        if (stat(*file, info) == 0 && S_ISREG(info->st_mode)) {
            *array = path + at;
            return MERCER_OK;
        }
        (*file)[at - 1] = ':';
    }
    *info = (struct stat){0};
    return MERCER_OK;
}

mercer_status mercer_reader_open(mercer_ctx *ctx, const char *path,
                                 const mercer_read_options *options, mercer_reader **out,
                                 mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(path);
    mercer_reader *reader = NULL;
    mercer_read_options taken;
    char *file = NULL;
    const char *array;
    struct stat info = {0};
    mrc_format format;
    bool gzip;
    mercer_status rc = MERCER_OK;
    MRC_TRY(take_options(options, &taken, err));
    MRC_TRY(reader_alloc(ctx, &reader, err));
    MRC_TRY(begin_prepare(reader, &taken, err));
    MRC_TRY(split_path(path, &file, &array, &info, err));
    MRC_TRY(mrc_format_find(file, taken.format, &format, &gzip, err));
    bool folder = S_ISDIR(info.st_mode) && (!taken.format || format == MRC_FORMAT_IMAGES);
    if ((taken.resize_width || taken.resize_height) && !folder)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: is not a folder of images, so it cannot be resized",
                 file);
    if (!folder && format == MRC_FORMAT_IMAGES && *file) {
        if (info.st_mode)
            MRC_FAIL(err, MERCER_ERR_IO, "%s: is not a folder of images", file);
        rc = mrc_fail_errno(err, MERCER_ERR_IO, ENOENT, "%s: cannot open", file);
        goto out;
    }
    if (folder) {
        MRC_TRY(start_images(reader, ctx, file, &taken, err));
    } else if (format == MRC_FORMAT_MAT || format == MRC_FORMAT_HDF5) {
        MRC_TRY(start_library(reader, ctx, file, array, &info, format, err));
    } else {
        MRC_TRY(mrc_input_open(&reader->input, file, err));
        MRC_TRY(start_stream(reader, ctx, file, array, &taken, err));
    }
    if (taken.header && reader->format != MRC_FORMAT_CSV && reader->format != MRC_FORMAT_TSV &&
        !taken.labels_file)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%s: is neither CSV nor TSV, so it has no header that could be told of",
                 reader->input.shown);
    MRC_TRY(start(reader, ctx, &taken, err));
    reader->csv.text.patient = reader->libsvm.text.patient = taken.patient;
    *out = reader;
    reader = NULL;
out:
    mrc_free(file);
    mercer_reader_close(reader);
    return rc;
}

mercer_status mrc_reader_open_memory(mercer_ctx *ctx, const char *shown, const void *bytes,
                                     size_t count, const mercer_read_options *options,
                                     mercer_reader **out, mercer_error *err)
{
    mercer_reader *reader = NULL;
    mercer_read_options taken;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(take_options(options, &taken, err));
    MRC_TRY(reader_alloc(ctx, &reader, err));
    MRC_TRY(begin_prepare(reader, &taken, err));
    MRC_TRY(mrc_input_open_memory(&reader->input, shown, bytes, count, err));
    MRC_TRY(start_stream(reader, ctx, shown, NULL, &taken, err));
    MRC_TRY(start(reader, ctx, &taken, err));
    *out = reader;
    reader = NULL;
out:
    mercer_reader_close(reader);
    return rc;
}

void mercer_reader_close(mercer_reader *reader)
{
    if (!reader)
        return;
    mrc_csv_destroy(&reader->csv);
    mrc_libsvm_destroy(&reader->libsvm);
    mrc_matrix_destroy(&reader->matrix);
    mrc_npy_destroy(&reader->npy);
    mrc_text_destroy(&reader->labels);
    mrc_input_close(&reader->labels_input);
    mrc_input_close(&reader->input);
    for (int64_t j = 0; reader->columns.texts && j < reader->columns.data; j++)
        mrc_classes_destroy(&reader->columns.texts[j]);
    mrc_free(reader->columns.texts);
    mrc_classes_destroy(&reader->classes);
    mrc_free_names(reader->columns.names, reader->columns.count);
    mrc_free(reader->columns.role);
    mrc_prepare_free(reader->prepare);
    mrc_free(reader);
}

/* --- reading --- */

/* Classes of the block's rows from the labels file; at the end of the rows it must end, too. */
static mercer_status take_labels(mercer_reader *reader, mercer_ctx *ctx, mrc_block *block,
                                 mercer_error *err)
{
    const char *text = NULL;
    size_t length;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < block->n; i++) {
        MRC_TRY(next_label(reader, ctx, &text, &length, err));
        if (length == 0)
            MRC_FAIL(err, MERCER_ERR_DATA, "%s: has %lld labels%s, but %s has more rows",
                     reader->labels_input.shown, (long long)(reader->rows + i),
                     reader->labels_named ? " behind a name in its first line" : "",
                     reader->input.shown);
        MRC_TRY(mrc_classes_code(&reader->classes, text, length, &block->codes[i], err));
    }
    if (reader->ended) {
        MRC_TRY(next_label(reader, ctx, &text, &length, err));
        if (length > 0)
            MRC_FAIL(err, MERCER_ERR_DATA, "%s:%lld: more labels than the %lld rows of %s%s",
                     reader->labels_input.shown, (long long)reader->labels.line - 1,
                     (long long)(reader->rows + block->n), reader->input.shown,
                     reader->labels_named ? ""
                                          : " (if its first line is a name, --header yes says so)");
    }
out:
    return rc;
}

/* The names of the columns of one kind, in the order of their roles. */
static mercer_status names_of_role(const mrc_columns *columns, int64_t count, bool data,
                                   char ***out, mercer_error *err)
{
    char **names = NULL;
    mercer_status rc = MERCER_OK;
    if (!columns->names || count == 0)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&names, count, sizeof *names, err));
    for (int64_t i = 0; i < columns->count; i++) {
        int64_t role = columns->role[i];
        if (role == MRC_ROLE_SKIPPED)
            continue;
        if ((role >= 0) == data && (data || role != MRC_ROLE_LABEL))
            MRC_TRY(
                mrc_strdup(&names[data ? role : MRC_ROLE_TARGET(role)], columns->names[i], err));
    }
    *out = names;
    names = NULL;
out:
    mrc_free_names(names, count);
    return rc;
}

/* Whether what is done to columns has to be learnt from the rows that come next. */
static bool learns(const mercer_reader *reader)
{
    return !reader->given && reader->rows == 0 &&
           (reader->columns.texts_open || reader->prepare->missing == MRC_MISSING_MEAN);
}

/* Rows of the next block: fewer than wanted where the columns made of them would not fit. */
static int64_t rows_to_prepare(const mercer_reader *reader, int64_t wanted)
{
    int64_t data = reader->columns.data, width = mrc_prepare_width(reader->prepare, data);
    int64_t bytes = (width + data) * (int64_t)sizeof(double);
    if (width == data || is_sparse(reader))
        return wanted;
    int64_t fitting = mrc_budget_left(&reader->budget) / 2 / bytes;
    return fitting >= wanted ? wanted : fitting > 1 ? fitting : 1;
}

/* Images can have thousands of features: say what the table will take before the first is read. */
static mercer_status forecast(const mercer_reader *reader, const mercer_ctx *ctx, int64_t rows,
                              mercer_error *err)
{
    if (reader->prepare->image != MRC_IMAGE_HAAR)
        return MERCER_OK;
    int64_t left = reader->matrix.rows - reader->matrix.next;
    int64_t width = mrc_prepare_width(reader->prepare, reader->columns.data);
    if (reader->matrix.read && rows > left)
        rows = left;
    double bytes = (double)rows * (double)(width + reader->columns.data) * (double)sizeof(double);
    if (rows == INT64_MAX || bytes <= (double)ctx->memory)
        return MERCER_OK; /* a stream, whose length nobody knows, grows as it comes */
    return mrc_fail(err, MERCER_ERR_BUDGET,
                    "%s: the haar features, %lld x %lld numbers, need %.1f MB, the memory budget "
                    "is %.1f MB: raise --memory, or make the images smaller (--resize)",
                    reader->input.shown, (long long)rows, (long long)width, bytes / 0x1p20,
                    (double)ctx->memory / 0x1p20);
}

/* Turn a block into a table; the block's memory goes over to it. */
static mercer_status make_table(mercer_reader *reader, mercer_ctx *ctx, mrc_block *block,
                                mercer_table **out, mercer_error *err)
{
    mrc_columns *columns = &reader->columns;
    mercer_prepare *prepare = reader->prepare;
    mercer_table *table = NULL;
    mercer_targets *targets;
    mercer_status rc = MERCER_OK;
    if (block->capacity > block->n)
        MRC_TRY(mrc_block_reserve(block, columns, block->n, err)); /* give back what is spare */
    MRC_TRY(mrc_alloc(&table, 1, sizeof *table, err));
    targets = &table->targets;
    if (block->sparse) {
        MRC_TRY(reserve_entries(block, block->csr.start[block->n], err));
        MRC_TRY(mrc_rows_adopt_csr(&block->csr, block->n, columns->data, &table->rows, err));
    } else if (block->packed) {
        MRC_TRY(mrc_rows_adopt(block->dtype, block->packed, block->n, columns->data, &table->rows,
                               err));
        block->packed = NULL;
    } else {
        MRC_TRY(mrc_prepare_rows(prepare, ctx, reader->input.shown, columns, &block->x, block->n,
                                 &reader->done, err));
        int64_t width = mrc_prepare_width(prepare, columns->data);
        MRC_TRY(mrc_rows_adopt(MRC_F64, block->x, block->n, width, &table->rows, err));
        block->x = NULL;
    }
    if (prepare->sources > 0)
        MRC_TRY(mrc_encode_names(prepare, &table->rows->names, err));
    else if (prepare->image == MRC_IMAGE_NONE)
        MRC_TRY(names_of_role(columns, columns->data, true, &table->rows->names, err));
    if (!mrc_prepare_is_empty(prepare))
        MRC_TRY(mrc_prepare_clone(prepare, &table->rows->prepare, err));
    targets->n = block->n;
    if (block->with_codes) {
        targets->kind = MERCER_TARGET_CLASSES;
        MRC_TRY(mrc_copy_names(&targets->class_names, reader->classes.names, reader->classes.count,
                               err));
        targets->classes = reader->classes.count;
        targets->codes = block->codes;
        block->codes = NULL;
        if (columns->label >= 0 && columns->names)
            MRC_TRY(mrc_copy_names(&targets->names, &columns->names[columns->label], 1, err));
    } else if (columns->targets) {
        targets->kind = MERCER_TARGET_VALUES;
        targets->columns = columns->targets;
        targets->values = block->values;
        block->values = NULL;
        MRC_TRY(names_of_role(columns, columns->targets, false, &targets->names, err));
    }
    if (reader->origin[0])
        MRC_TRY(mrc_strdup(&table->origin, reader->origin, err));
    *out = table;
    table = NULL;
out:
    mercer_table_free(table);
    return rc;
}

static bool misses_a_value(const mrc_columns *columns, const double *row)
{
    for (int64_t j = 0; j < columns->data; j++)
        if (mrc_is_missing(columns, row[j]))
            return true;
    return false;
}

/* Leave out the rows with a missing value. */
static void drop_rows(mercer_reader *reader, mrc_block *block)
{
    int64_t d = reader->columns.data, targets = reader->columns.targets, kept = 0;
    for (int64_t i = 0; i < block->n; i++) {
        if (misses_a_value(&reader->columns, block->x + i * d))
            continue;
        if (kept < i) {
            memcpy(block->x + kept * d, block->x + i * d, (size_t)d * sizeof *block->x);
            if (targets)
                memcpy(block->values + kept * targets, block->values + i * targets,
                       (size_t)targets * sizeof *block->values);
            if (block->codes)
                block->codes[kept] = block->codes[i];
        }
        kept++;
    }
    reader->dropped += block->n - kept;
    block->n = kept;
}

/* LIBSVM tells what its labels are only when rows are read. */
static mercer_status read_libsvm(mercer_reader *reader, mercer_ctx *ctx, int64_t most,
                                 mrc_block *block, mercer_error *err)
{
    mercer_status rc =
        mrc_libsvm_rows(&reader->libsvm, ctx, &reader->columns, &reader->classes, most, block, err);
    if (rc == MERCER_OK && reader->libsvm.labels != MRC_LABELS_NONE)
        snprintf(reader->origin, ORIGIN_SIZE, "%s from the labels in front",
                 reader->libsvm.labels == MRC_LABELS_VALUES ? "values" : "classes");
    return rc;
}

/* The next rows of the file with their classes. */
static mercer_status read_block(mercer_reader *reader, mercer_ctx *ctx, int64_t max_rows,
                                mrc_block *block, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    block->with_codes = reader->with_labels || reader->folder_classes || reader->columns.label >= 0;
    block->sparse = is_sparse(reader);
    /* What will be changed has to be doubles. */
    if (!reader->columns.missing && !reader->columns.encode &&
        reader->prepare->image != MRC_IMAGE_HAAR)
        block->dtype = reader->matrix.dtype;
    if (reader->matrix.shown)
        MRC_TRY(mrc_matrix_rows(&reader->matrix, ctx, &reader->columns, &reader->classes, max_rows,
                                block, err));
    else if (reader->format == MRC_FORMAT_LIBSVM)
        MRC_TRY(read_libsvm(reader, ctx, max_rows, block, err));
    else
        MRC_TRY(mrc_csv_rows(&reader->csv, ctx, &reader->columns, &reader->classes, max_rows, block,
                             err));
    reader->ended = block->n < max_rows && !reader->csv.text.paused &&
                    !reader->libsvm.text.paused && !block->full;
    if (reader->format == MRC_FORMAT_NPZ && reader->matrix.next == reader->matrix.rows)
        MRC_TRY(mrc_input_drain(&reader->input, err));
    for (int64_t i = 0; reader->folder_classes && i < block->n; i++) {
        const char *name = mrc_images_class(&reader->matrix, reader->rows + i);
        MRC_TRY(mrc_classes_code(&reader->classes, name, strlen(name), &block->codes[i], err));
    }
    if (reader->with_labels)
        MRC_TRY(take_labels(reader, ctx, block, err));
    reader->rows += block->n;
out:
    return rc;
}

/* Say once, at the end of the file, what was done to its rows. */
static mercer_status finish_prepare(const mercer_reader *reader, const mercer_ctx *ctx,
                                    mercer_error *err)
{
    if (reader->dropped > 0 && reader->dropped == reader->rows)
        return mrc_fail(err, MERCER_ERR_DATA, "%s: every row has a missing value",
                        reader->input.shown);
    if (reader->dropped > 0)
        mrc_notice(ctx, "%s: %lld of %lld rows have missing values and are left out",
                   reader->input.shown, (long long)reader->dropped, (long long)reader->rows);
    if (reader->done.filled > 0)
        mrc_notice(ctx, "%s: %lld missing value%s replaced by the mean of the column",
                   reader->input.shown, (long long)reader->done.filled,
                   reader->done.filled == 1 ? " is" : "s are");
    if (reader->done.unknown > 0)
        mrc_notice(ctx, "%s: %lld cell%s a text that the training table does not have: all 0",
                   reader->input.shown, (long long)reader->done.unknown,
                   reader->done.unknown == 1 ? " has" : "s have");
    return MERCER_OK;
}

/* A first row that could be names, and whose class no other row has. */
static void note_lonely_class(const mercer_reader *reader, const mercer_ctx *ctx,
                              const mercer_targets *targets)
{
    const char *name = targets->class_names[targets->codes[0]];
    char shown[MRC_SHOWN_SIZE];
    double value;
    if (!reader->csv.doubtful || reader->columns.label < 0 ||
        mrc_parse_double(name, strlen(name), &value))
        return;
    for (int64_t i = 1; i < targets->n; i++)
        if (targets->codes[i] == targets->codes[0])
            return;
    mrc_notice(ctx,
               "%s: the first row is taken as data, but its numbers can be names, and no other row "
               "is of class '%s' (--header yes makes it names, --header no says that it is none)",
               reader->input.shown, mrc_show(shown, name, strlen(name)));
}

/* The classes of a whole table. Those of images are the names of folders, whatever they look like.
 */
static mercer_status judge_classes(const mercer_reader *reader, const mercer_ctx *ctx,
                                   const mercer_targets *targets, mercer_error *err)
{
    if (targets->kind != MERCER_TARGET_CLASSES || reader->folder_classes)
        return MERCER_OK;
    note_lonely_class(reader, ctx, targets);
    return mrc_targets_judge_classes(ctx, reader->input.shown, reader->origin, targets, err);
}

mercer_status mercer_reader_next(mercer_ctx *ctx, mercer_reader *reader, int64_t max_rows,
                                 mercer_table **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(reader);
    mercer_table *table = NULL;
    bool whole = max_rows == INT64_MAX;
    mrc_block block = {.budget = &reader->budget, .elastic = !whole && !learns(reader)};
    mercer_status rc = MERCER_OK;
    if (max_rows < 1)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "a block of %lld rows cannot be read",
                 (long long)max_rows);
    if (reader->ended)
        goto out;
    if (block.elastic)
        max_rows = rows_to_prepare(reader, max_rows);
    MRC_TRY(forecast(reader, ctx, max_rows, err));
    while (!table && !reader->ended) { /* more than once only when all rows are left out */
        block_destroy(&block);
        MRC_TRY(read_block(reader, ctx, max_rows, &block, err));
        if (reader->columns.missing && reader->prepare->missing == MRC_MISSING_DROP)
            drop_rows(reader, &block);
        if (block.n > 0)
            MRC_TRY(make_table(reader, ctx, &block, &table, err));
    }
    if (reader->ended)
        MRC_TRY(finish_prepare(reader, ctx, err));
    if (whole && table)
        MRC_TRY(judge_classes(reader, ctx, &table->targets, err));
    *out = table;
    table = NULL;
out:
    mercer_table_free(table);
    block_destroy(&block);
    return rc;
}

mercer_status mercer_table_read(mercer_ctx *ctx, const char *path,
                                const mercer_read_options *options, mercer_table **out,
                                mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(path);
    mercer_reader *reader = NULL;
    mercer_table *table = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mercer_reader_open(ctx, path, options, &reader, err));
    reader->csv.text.patient = reader->libsvm.text.patient = true;
    MRC_TRY(mercer_reader_next(ctx, reader, INT64_MAX, &table, err));
    *out = table;
out:
    mercer_reader_close(reader);
    return rc;
}

void mercer_table_read_options(const mercer_table *table, mercer_read_options *options)
{
    if (!table || !options)
        return;
    const mercer_rows *rows = table->rows;
    mercer_read_options taken = {.struct_size = sizeof taken};
    if (mrc_take_options("read", options, &taken, sizeof taken, NULL) != MERCER_OK)
        return;
    mrc_read_options_like(rows->prepare, rows->names, rows->d, &taken);
    mrc_give_struct(&taken, sizeof taken, options);
}
