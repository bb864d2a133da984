/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy's archives: ZIP files whose members are NPY files, stored or deflated.
 *
 * Only the table at the end of the file is believed, and of it only what fits in the file: it names
 * each member, its place, its sizes and its check sum. ZIP64 fields are understood. The array's
 * bytes are then a stream like any other and go through the NPY reader.
 *
 * SciPy keeps a sparse matrix as several arrays: format, shape and data, with indices and indptr
 * (csr, csc) or row and col (coo). These are read at once and make sparse rows. The arrays of csr
 * are gone through, and no more is kept than the rows that are wanted. */
#include "base/number.h"
#include "io/csr_build.h"
#include "io/npy.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TAIL_SIZE = 22, /* the record at the very end, without its comment */
    MAX_TAIL = TAIL_SIZE + 65535,
    LOCATOR_SIZE = 20, /* of ZIP64, in front of it */
    TAIL64_SIZE = 56,
    ENTRY_SIZE = 46, /* of the table, without name, extra fields and comment */
    LOCAL_SIZE = 30, /* in front of a member, without name and extra fields */
    STORED = 0,
    DEFLATED = 8,
    EXTRA_ZIP64 = 1
};
#define MAX_TABLE ((int64_t)1 << 28) /* an archive of arrays has no larger table */

struct member {
    char *name; /* of the array: without .npy; owned */
    mrc_part part;
    int64_t header; /* where its local header stands */
    int method;
    bool encrypted;
};

struct archive {
    mrc_input *input;   /* borrowed */
    mrc_budget *budget; /* likewise; or NULL */
    char *file;         /* its name, owned; input->shown changes */
    int64_t size;
    struct member *members;
    int64_t count, capacity;
};

static uint32_t get2(const unsigned char *p)
{
    return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t get4(const unsigned char *p)
{
    return get2(p) | get2(p + 2) << 16;
}

static uint64_t get8(const unsigned char *p)
{
    return get4(p) | (uint64_t)get4(p + 4) << 32;
}

static mercer_status fail_damaged(const struct archive *archive, const char *what,
                                  mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: is not a whole NPZ file (%s)",
                       archive->file, what);
}

/* Bytes that must be there. */
static mercer_status need(struct archive *archive, uint64_t offset, void *out, size_t count,
                          mercer_error *err)
{
    size_t got = 0;
    mercer_status rc = MERCER_OK;
    if (offset <= (uint64_t)archive->size)
        rc = mrc_input_at(archive->input, (int64_t)offset, out, count, &got, err);
    if (rc == MERCER_OK && got < count)
        return fail_damaged(archive, "it ends too early", err);
    return rc;
}

/* Where the table of members is, from the record at the end of the file. */
static mercer_status find_table(struct archive *archive, uint64_t *offset, uint64_t *bytes,
                                mercer_error *err)
{
    unsigned char *tail = NULL, locator[LOCATOR_SIZE], tail64[TAIL64_SIZE];
    int64_t length = archive->size < MAX_TAIL ? archive->size : MAX_TAIL, at;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&tail, length + 1, 1, err));
    MRC_TRY(need(archive, (uint64_t)(archive->size - length), tail, (size_t)length, err));
    for (at = length - TAIL_SIZE; at >= 0; at--)
        if (memcmp(tail + at, "PK\5\6", 4) == 0 &&
            at + TAIL_SIZE + (int64_t)get2(tail + at + 20) <= length)
            break;
    if (at < 0 && length >= 4 && memcmp(tail, "PK", 2) != 0 && archive->size == length)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: is not an NPZ file", archive->file);
    if (at < 0)
        MRC_TRY(fail_damaged(archive, "its table of arrays is missing; truncated?", err));
    *bytes = get4(tail + at + 12);
    *offset = get4(tail + at + 16);
    if (get2(tail + at + 10) == 0xffff || *bytes == 0xffffffff || *offset == 0xffffffff) {
        int64_t where = archive->size - length + at - LOCATOR_SIZE;
        if (where < 0)
            MRC_TRY(fail_damaged(archive, "its ZIP64 record is missing", err));
        MRC_TRY(need(archive, (uint64_t)where, locator, sizeof locator, err));
        if (memcmp(locator, "PK\6\7", 4) == 0) { /* else the numbers happen to be these */
            MRC_TRY(need(archive, get8(locator + 8), tail64, sizeof tail64, err));
            if (memcmp(tail64, "PK\6\6", 4) != 0)
                MRC_TRY(fail_damaged(archive, "its ZIP64 record is damaged", err));
            *bytes = get8(tail64 + 40);
            *offset = get8(tail64 + 48);
        }
    }
    if (*offset > (uint64_t)archive->size || *bytes > (uint64_t)archive->size - *offset ||
        *bytes > (uint64_t)MAX_TABLE)
        MRC_TRY(fail_damaged(archive, "its table of arrays lies outside; truncated?", err));
out:
    mrc_free(tail);
    return rc;
}

/* Sizes and place that did not fit their fields stand in an extra field, in this order. */
static void take_zip64(const unsigned char *extra, size_t length, uint64_t *unpacked,
                       uint64_t *packed, uint64_t *header)
{
    uint64_t *wanted[3] = {unpacked, packed, header};
    while (length >= 4) {
        size_t size = get2(extra + 2);
        if (size > length - 4)
            return;
        const unsigned char *p = extra + 4, *end = p + size;
        for (int i = 0; get2(extra) == EXTRA_ZIP64 && i < 3; i++)
            if (*wanted[i] == 0xffffffff && end - p >= 8) {
                *wanted[i] = get8(p);
                p += 8;
            }
        extra += 4 + size;
        length -= 4 + size;
    }
}

/* Enter one row of the table when it is an NPY file; whatever else is in the archive is left. */
static mercer_status add_member(struct archive *archive, const unsigned char *entry,
                                mercer_error *err)
{
    size_t length = get2(entry + 28);
    const char *name = (const char *)entry + ENTRY_SIZE;
    uint64_t packed = get4(entry + 20), unpacked = get4(entry + 24), header = get4(entry + 42);
    mercer_status rc = MERCER_OK;
    if (length < 4 || memcmp(name + length - 4, ".npy", 4) != 0 || memchr(name, 0, length))
        return MERCER_OK;
    take_zip64(entry + ENTRY_SIZE + length, get2(entry + 30), &unpacked, &packed, &header);
    if (header > (uint64_t)archive->size || packed > (uint64_t)archive->size ||
        unpacked > INT64_MAX / 2)
        return fail_damaged(archive, "its table of arrays is damaged", err);
    if (archive->count == archive->capacity) {
        int64_t capacity = 2 * archive->capacity + 16;
        MRC_TRY(mrc_grow(&archive->members, capacity, sizeof *archive->members, err));
        archive->capacity = capacity;
    }
    struct member *member = &archive->members[archive->count];
    *member = (struct member){.part = {.packed = (int64_t)packed,
                                       .unpacked = (int64_t)unpacked,
                                       .check = get4(entry + 16),
                                       .deflated = get2(entry + 10) == DEFLATED},
                              .header = (int64_t)header,
                              .method = (int)get2(entry + 10),
                              .encrypted = get2(entry + 8) & 1};
    MRC_TRY(mrc_budget_take(archive->budget, 1, MRC_NAME_BYTES + (int64_t)sizeof *member,
                            "this number of arrays", err));
    MRC_TRY(mrc_alloc(&member->name, (int64_t)length - 3, 1, err));
    memcpy(member->name, name, length - 4);
    archive->count++;
out:
    return rc;
}

static mercer_status read_table(struct archive *archive, mercer_error *err)
{
    unsigned char *table = NULL;
    uint64_t offset = 0, bytes = 0, at = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(find_table(archive, &offset, &bytes, err));
    MRC_TRY(mrc_budget_take(archive->budget, (int64_t)bytes, 1, "this number of arrays", err));
    MRC_TRY(mrc_alloc2_raw(&table, (int64_t)bytes + 1, 1, 1, err));
    MRC_TRY(need(archive, offset, table, (size_t)bytes, err));
    while (bytes - at >= ENTRY_SIZE && memcmp(table + at, "PK\1\2", 4) == 0) {
        const unsigned char *entry = table + at;
        uint64_t length = ENTRY_SIZE + get2(entry + 28) + get2(entry + 30) + get2(entry + 32);
        if (length > bytes - at)
            MRC_TRY(fail_damaged(archive, "its table of arrays is damaged", err));
        MRC_TRY(add_member(archive, entry, err));
        at += length;
    }
    if (at < bytes)
        MRC_TRY(fail_damaged(archive, "its table of arrays is damaged", err));
out:
    mrc_free(table);
    return rc;
}

/* Move the input to the bytes of a member. */
static mercer_status enter_member(struct archive *archive, const struct member *member,
                                  mercer_error *err)
{
    unsigned char local[LOCAL_SIZE];
    mrc_part part = member->part;
    char *shown = NULL;
    mercer_status rc = MERCER_OK;
    size_t room = strlen(archive->file) + strlen(member->name) + 2;
    MRC_TRY(mrc_alloc(&shown, (int64_t)room, 1, err));
    snprintf(shown, room, "%s:%s", archive->file, member->name);
    if (member->encrypted || (member->method != STORED && member->method != DEFLATED))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: is %s, which cannot be read", shown,
                    member->encrypted ? "encrypted" : "packed in an unusual way");
    MRC_TRY(need(archive, (uint64_t)member->header, local, sizeof local, err));
    part.offset =
        member->header + LOCAL_SIZE + (int64_t)get2(local + 26) + (int64_t)get2(local + 28);
    if (memcmp(local, "PK\3\4", 4) != 0 || part.offset > archive->size ||
        part.packed > archive->size - part.offset ||
        (member->method == STORED && part.packed != part.unpacked))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: the array is not where the table says (damaged file)", shown);
    MRC_TRY(mrc_input_part(archive->input, &part, shown, err));
out:
    mrc_free(shown);
    return rc;
}

/* Shapes of all arrays, from the head of each. */
static mercer_status list_members(struct archive *archive, mrc_arrays *arrays, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < archive->count; i++) {
        const struct member *member = &archive->members[i];
        rc = enter_member(archive, member, err);
        if (rc == MERCER_OK)
            rc = mrc_npy_peek(archive->input, arrays, member->name, err);
        if (rc == MERCER_ERR_FORMAT || rc == MERCER_ERR_DATA)
            rc = mrc_arrays_add_other(arrays, member->name, "damaged", err);
        MRC_TRY(rc);
    }
out:
    return rc;
}

/* The member of this name, with or without .npy; -1 for none. */
static int64_t find_member(const struct archive *archive, const char *name)
{
    size_t length = strlen(name);
    for (int64_t i = 0; i < archive->count; i++)
        if (strcmp(archive->members[i].name, name) == 0)
            return i;
    if (length > 4 && strcmp(name + length - 4, ".npy") == 0)
        for (int64_t i = 0; i < archive->count; i++)
            if (strlen(archive->members[i].name) == length - 4 &&
                strncmp(archive->members[i].name, name, length - 4) == 0)
                return i;
    return -1;
}

/* --- sparse matrices of SciPy's --- */

static const char too_large[] = "the arrays of its sparse matrix";

/* An array with one axis, as doubles; they hold every index exactly. */
struct column {
    double *values;
    int64_t count, room, taken; /* taken: of the budget */
    mrc_budget *budget;
};

static void column_destroy(struct column *column)
{
    mrc_budget_give(column->budget, column->taken, sizeof *column->values);
    mrc_free(column->values);
    *column = (struct column){0};
}

/* Values [first, first + count) of an array, in order and each once. */
typedef mercer_status (*take_values)(void *arg, const double *values, int64_t first, int64_t count,
                                     mercer_error *err);

/* Go through an array with one axis. begin: what has to be seen to once it is known that it has
 * `count` values. */
static mercer_status go_through(struct archive *archive, mercer_ctx *ctx, const char *name,
                                mercer_status (*begin)(void *arg, int64_t count, mercer_error *err),
                                take_values take, void *arg, mercer_error *err)
{
    int64_t member = find_member(archive, name);
    mrc_matrix matrix = {.budget = archive->budget};
    double *values = NULL;
    mercer_status rc = MERCER_OK;
    if (member < 0)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: a sparse matrix without its array '%s'", archive->file, name);
    MRC_TRY(enter_member(archive, &archive->members[member], err));
    MRC_TRY(mrc_npy_open(archive->input, &matrix, err));
    if (matrix.columns != 1)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: has more than one axis",
                    matrix.shown);
    MRC_TRY(begin(arg, matrix.rows, err));
    const int64_t chunk = mrc_matrix_chunk(&matrix);
    MRC_TRY(
        mrc_alloc2_raw(&values, chunk < matrix.rows ? chunk : matrix.rows, 1, sizeof *values, err));
    for (int64_t at = 0, count; at < matrix.rows; at += count) {
        count = matrix.rows - at < chunk ? matrix.rows - at : chunk;
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(matrix.read(matrix.self, ctx, at, count, values, err));
        MRC_TRY(take(arg, values, at, count, err));
    }
    MRC_TRY(mrc_input_drain(archive->input, err));
out:
    mrc_free(values);
    mrc_matrix_destroy(&matrix);
    return rc;
}

static mercer_status begin_column(void *arg, int64_t count, mercer_error *err)
{
    struct column *column = arg;
    mercer_status rc =
        mrc_budget_take(column->budget, count, sizeof *column->values, too_large, err);
    column->taken = rc == MERCER_OK ? count : 0;
    return rc;
}

/* A header is not believed: memory grows with the values that come. */
static mercer_status take_column(void *arg, const double *values, int64_t first, int64_t count,
                                 mercer_error *err)
{
    struct column *column = arg;
    mercer_status rc = MERCER_OK;
    if (first + count > column->room) {
        const int64_t room = 2 * column->room + count;
        column->room = room < column->taken ? room : column->taken;
        MRC_TRY(mrc_grow(&column->values, column->room, sizeof *column->values, err));
    }
    assert(column->values); /* none of the chunks is empty */
    memcpy(column->values + first, values, (size_t)count * sizeof *values);
    column->count = first + count;
out:
    return rc;
}

static mercer_status read_column(struct archive *archive, mercer_ctx *ctx, const char *name,
                                 struct column *out, mercer_error *err)
{
    out->budget = archive->budget;
    return go_through(archive, ctx, name, begin_column, take_column, out, err);
}

/* The text in the array `format`, three letters of one or four bytes each. */
static mercer_status read_format(struct archive *archive, char out[4], mercer_error *err)
{
    char bytes[512];
    size_t got, used = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(enter_member(archive, &archive->members[find_member(archive, "format")], err));
    MRC_TRY(mrc_input_read(archive->input, bytes, sizeof bytes, &got, err));
    memset(out, 0, 4);
    for (size_t i = got; i > 0 && used < 3; i--)
        if (bytes[i - 1])
            out[2 - used++] = bytes[i - 1];
out:
    return rc;
}

/* A whole number from 0 to most; -1 for anything else. */
static int64_t index_of(double value, int64_t most)
{
    return value >= 0 && value <= (double)most && value == floor(value) ? (int64_t)value : -1;
}

static mercer_status fail_sparse(const struct archive *archive, mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                       "%s: the arrays of this sparse matrix do not fit together", archive->file);
}

/* The entries of compressed columns. */
static mercer_status take_columns(struct archive *archive, mercer_ctx *ctx,
                                  const mrc_matrix *matrix, const struct column *data,
                                  mrc_entries *entries, mercer_error *err)
{
    struct column start = {0}, row = {0};
    int64_t from = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(read_column(archive, ctx, "indptr", &start, err));
    MRC_TRY(read_column(archive, ctx, "indices", &row, err));
    assert(start.values && row.values); /* empty arrays are refused */
    if (start.count != matrix->columns + 1 || start.values[0] != 0 || row.count < data->count)
        MRC_TRY(fail_sparse(archive, err));
    MRC_TRY(mrc_entries_reserve(entries, data->count, err));
    for (int64_t j = 0; j < matrix->columns; j++) {
        int64_t to = index_of(start.values[j + 1], data->count);
        if (to < from)
            MRC_TRY(fail_sparse(archive, err));
        for (; from < to; from++) {
            int64_t i = index_of(row.values[from], matrix->rows - 1);
            if (i < 0)
                MRC_TRY(fail_sparse(archive, err));
            MRC_TRY(mrc_entries_add(entries, i, j, data->values[from], err));
        }
    }
out:
    column_destroy(&start);
    column_destroy(&row);
    return rc;
}

/* Compressed rows: all of their arrays are gone through, and the entries of the rows that are
 * wanted are kept. */
struct csr_part {
    const struct archive *archive;
    const mrc_matrix *matrix;
    mrc_span wanted;
    mrc_csr_owned csr;
    int64_t entries;         /* of all rows, */
    int64_t first, count;    /* and of those that are wanted */
    int64_t indices;         /* as many as the array has */
    int64_t columns, values; /* for which there is room */
};

/* Where rows begin, as the file says it; checked here. */
static mercer_status take_starts(struct csr_part *p, const struct column *start, mercer_error *err)
{
    const int64_t rows = p->matrix->rows, first = p->wanted.first;
    mercer_status rc = MERCER_OK;
    if (start->count != rows + 1 || start->values[0] != 0)
        MRC_TRY(fail_sparse(p->archive, err));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t to = index_of(start->values[i + 1], (int64_t)1 << 53);
        if (to < p->entries)
            MRC_TRY(fail_sparse(p->archive, err));
        p->entries = to;
    }
    p->first = (int64_t)start->values[first];
    p->count = (int64_t)start->values[first + p->wanted.n] - p->first;
    MRC_TRY(
        mrc_budget_take(p->matrix->budget, p->wanted.n + 1, sizeof *p->csr.start, too_large, err));
    MRC_TRY(mrc_alloc(&p->csr.start, p->wanted.n + 1, sizeof *p->csr.start, err));
    for (int64_t i = 0; i <= p->wanted.n; i++)
        p->csr.start[i] = (int64_t)start->values[first + i] - p->first;
out:
    return rc;
}

static mercer_status begin_indices(void *arg, int64_t count, mercer_error *err)
{
    struct csr_part *p = arg;
    p->indices = count;
    if (count < p->entries)
        return fail_sparse(p->archive, err);
    return mrc_budget_take(p->matrix->budget, p->count,
                           sizeof *p->csr.column + sizeof *p->csr.value, too_large, err);
}

/* Room for entry `end` and those before it, growing with what comes. */
static mercer_status reserve(void *memory, int64_t end, int64_t most, int64_t *room, size_t size,
                             mercer_error *err)
{
    if (end <= *room)
        return MERCER_OK;
    *room = 2 * *room + end < most ? 2 * *room + end : most;
    return mrc_grow(memory, *room, size, err);
}

static mercer_status take_indices(void *arg, const double *values, int64_t first, int64_t count,
                                  mercer_error *err)
{
    struct csr_part *p = arg;
    mercer_status rc = MERCER_OK;
    for (int64_t k = 0; k < count && first + k < p->entries; k++) {
        const int64_t j = index_of(values[k], p->matrix->columns - 1), own = first + k - p->first;
        if (j < 0)
            MRC_TRY(fail_sparse(p->archive, err));
        if (own < 0 || own >= p->count)
            continue;
        MRC_TRY(
            reserve(&p->csr.column, own + 1, p->count, &p->columns, sizeof *p->csr.column, err));
        p->csr.column[own] = (int32_t)j;
    }
out:
    return rc;
}

static mercer_status begin_data(void *arg, int64_t count, mercer_error *err)
{
    const struct csr_part *p = arg;
    return count < p->entries || p->indices < count ? fail_sparse(p->archive, err) : MERCER_OK;
}

static mercer_status take_data(void *arg, const double *values, int64_t first, int64_t count,
                               mercer_error *err)
{
    struct csr_part *p = arg;
    const int64_t from = first > p->first ? first : p->first, end = p->first + p->count;
    const int64_t to = first + count < end ? first + count : end;
    mercer_status rc = MERCER_OK;
    if (from >= to)
        goto out;
    MRC_TRY(reserve(&p->csr.value, to - p->first, p->count, &p->values, sizeof *p->csr.value, err));
    assert(p->csr.value);
    memcpy(p->csr.value + (from - p->first), values + (from - first),
           (size_t)(to - from) * sizeof *values);
out:
    return rc;
}

static mercer_status take_rows(struct archive *archive, mercer_ctx *ctx, mrc_matrix *matrix,
                               mercer_error *err)
{
    struct csr_part p = {.archive = archive,
                         .matrix = matrix,
                         .wanted = mrc_wanted_rows(matrix->part_of, matrix->rows)};
    struct column start = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(read_column(archive, ctx, "indptr", &start, err));
    MRC_TRY(take_starts(&p, &start, err));
    column_destroy(&start);
    MRC_TRY(go_through(archive, ctx, "indices", begin_indices, take_indices, &p, err));
    MRC_TRY(go_through(archive, ctx, "data", begin_data, take_data, &p, err));
    MRC_TRY(mrc_sparse_adopt(matrix, &p.csr, p.wanted, p.entries, err));
out:
    column_destroy(&start);
    mrc_csr_owned_destroy(&p.csr);
    return rc;
}

static mercer_status take_coordinates(struct archive *archive, mercer_ctx *ctx,
                                      const mrc_matrix *matrix, const struct column *data,
                                      mrc_entries *entries, mercer_error *err)
{
    struct column row = {0}, column = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(read_column(archive, ctx, "row", &row, err));
    MRC_TRY(read_column(archive, ctx, "col", &column, err));
    assert(row.values && column.values); /* empty arrays are refused */
    if (row.count != data->count || column.count != data->count)
        MRC_TRY(fail_sparse(archive, err));
    MRC_TRY(mrc_entries_reserve(entries, data->count, err));
    for (int64_t k = 0; k < data->count; k++) {
        int64_t i = index_of(row.values[k], matrix->rows - 1);
        int64_t j = index_of(column.values[k], matrix->columns - 1);
        if (i < 0 || j < 0)
            MRC_TRY(fail_sparse(archive, err));
        MRC_TRY(mrc_entries_add(entries, i, j, data->values[k], err));
    }
out:
    column_destroy(&row);
    column_destroy(&column);
    return rc;
}

static bool is_sparse(const struct archive *archive)
{
    return find_member(archive, "format") >= 0 && find_member(archive, "shape") >= 0 &&
           find_member(archive, "data") >= 0;
}

static mercer_status read_sparse(struct archive *archive, mercer_ctx *ctx, mrc_matrix *matrix,
                                 mercer_error *err)
{
    struct column shape = {0}, data = {0};
    mrc_entries entries = {0};
    char format[4], shown[MRC_SHOWN_SIZE];
    mercer_status rc = MERCER_OK;
    MRC_TRY(read_format(archive, format, err));
    bool coo = strcmp(format, "coo") == 0, csc = strcmp(format, "csc") == 0;
    if (!coo && !csc && strcmp(format, "csr") != 0)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: a sparse matrix of format '%s' is not read (csr, csc and coo are)",
                    archive->file, mrc_show(shown, format, strlen(format)));
    MRC_TRY(read_column(archive, ctx, "shape", &shape, err));
    if (shape.count != 2)
        MRC_TRY(fail_sparse(archive, err));
    matrix->shown = archive->file;
    matrix->rows = index_of(shape.values[0], (int64_t)1 << 53);
    matrix->columns = index_of(shape.values[1], (int64_t)1 << 53);
    MRC_TRY(mrc_sparse_check(matrix, err));
    if (coo || csc) {
        entries = mrc_entries_of(matrix);
        MRC_TRY(read_column(archive, ctx, "data", &data, err));
        MRC_TRY(coo ? take_coordinates(archive, ctx, matrix, &data, &entries, err)
                    : take_columns(archive, ctx, matrix, &data, &entries, err));
        MRC_TRY(mrc_sparse_build(matrix, &entries, err));
    } else {
        MRC_TRY(take_rows(archive, ctx, matrix, err));
    }
    /* The input goes by the name of the array read last; from now on it is the file again. */
    mrc_free(archive->input->shown);
    archive->input->shown = archive->file;
    archive->file = NULL;
out:
    mrc_entries_destroy(&entries);
    column_destroy(&shape);
    column_destroy(&data);
    if (rc != MERCER_OK)
        *matrix = (mrc_matrix){0};
    return rc;
}

/* Move the input, open at the start of the file, to the bytes of the array, and call it file:array
 * from then on; or, when the file is a sparse matrix of SciPy's, make its rows. */
static mercer_status find_array(mrc_input *input, mercer_ctx *ctx, const char *array,
                                mrc_matrix *matrix, mercer_error *err)
{
    struct archive archive = {.input = input, .budget = matrix->budget, .size = input->size};
    mrc_arrays arrays = {0};
    int64_t chosen = -1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_strdup(&archive.file, input->shown, err));
    if (input->raw_ended && input->raw_end == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is empty", archive.file);
    if (!mrc_input_seekable(input))
        MRC_FAIL_AT(err, MERCER_ERR_IO, MRC_IN_FILE,
                    "%s: an NPZ file has to be a plain file (no pipe, no .gz)", archive.file);
    MRC_TRY(read_table(&archive, err));
    if (!array && is_sparse(&archive)) {
        MRC_TRY(read_sparse(&archive, ctx, matrix, err));
        goto out;
    }
    if (array)
        chosen = find_member(&archive, array);
    else if (archive.count == 1)
        chosen = 0;
    if (chosen < 0) {
        MRC_TRY(list_members(&archive, &arrays, err));
        MRC_TRY(mrc_arrays_choose(&arrays, archive.file, array, &chosen, err));
    }
    MRC_TRY(enter_member(&archive, &archive.members[chosen], err));
out:
    for (int64_t i = 0; i < archive.count; i++)
        mrc_free(archive.members[i].name);
    mrc_free(archive.members);
    mrc_free(archive.file);
    mrc_arrays_destroy(&arrays);
    return rc;
}

static mercer_status npz_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                              mercer_error *err)
{
    mrc_matrix *matrix;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_matrix_new(source, &matrix, err));
    *self = matrix;
    MRC_TRY(find_array(&source->input, ctx, source->array, matrix, err));
    if (!matrix->csr.start)
        MRC_TRY(mrc_npy_open(&source->input, matrix, err));
    mrc_matrix_describe(matrix, source);
out:
    return rc;
}

static mercer_status npz_rows(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                              mercer_error *err)
{
    const mrc_matrix *matrix = self;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_matrix_rows(self, ctx, most, block, err));
    if (matrix->next == matrix->rows)
        MRC_TRY(mrc_input_drain(&matrix->source->input, err)); /* up to the check sum */
out:
    return rc;
}

/* Packed bytes have to be read to get behind them. */
static mercer_status npz_skip(void *self, mercer_ctx *ctx, int64_t rows, int64_t *skipped,
                              mercer_error *err)
{
    mrc_matrix *matrix = self;
    double *values = NULL;
    mercer_status rc = MERCER_OK;
    *skipped = 0;
    if (matrix->csr.start)
        return mrc_matrix_skip(self, ctx, rows, skipped, err);
    const int64_t left = matrix->rows - matrix->next, chunk = mrc_matrix_chunk(matrix);
    rows = rows < left ? rows : left;
    MRC_TRY(mrc_alloc2_raw(&values, chunk, matrix->columns, sizeof *values, err));
    while (*skipped < rows) {
        const int64_t count = rows - *skipped < chunk ? rows - *skipped : chunk;
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(matrix->read(matrix->self, ctx, matrix->next, count, values, err));
        matrix->next += count;
        *skipped += count;
    }
    if (matrix->next == matrix->rows)
        MRC_TRY(mrc_input_drain(&matrix->source->input, err)); /* up to the check sum */
out:
    mrc_free(values);
    return rc;
}

const mrc_format mrc_format_npz = {
    .entry = {.name = "npz", .summary = "archives of NumPy, sparse matrices of SciPy"},
    .endings = ".npz",
    .caps = MRC_HAS_ARRAYS,
    .open = npz_open,
    .rows = npz_rows,
    .skip = npz_skip,
    .close = mrc_matrix_close,
};
