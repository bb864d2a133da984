/* Sums over shared columns of sparse rows.
 *
 * Two rows of a text share few columns, so a tile of values is mostly work that need not be done.
 * The index holds, for each block of BLOCK rows, the entries of the block grouped by column, and a
 * small hash table that finds the group of a column. A row then meets a block by looking up each of
 * its columns once and touching only the pairs that share it: about (entries of the row) look-ups
 * and (shared columns) additions for BLOCK values. The tables of a block stay in the second-level
 * cache while a tile's rows pass by.
 *
 * Every way adds up a pair's columns in increasing order, so all give the same bits. */
#include "kernel/sparse.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256 }; /* rows; a row's place in its block is a byte */

struct mrc_sparse_index {
    int64_t *first; /* blocks + 1: entries before a block; groups are counted from there, too */
    int64_t *table_first; /* blocks + 1: slots before a block, a power of two of them in each */
    int32_t *table;       /* group of a column, plus one; 0: empty */
    int32_t *column;      /* of a group */
    int32_t *end;         /* of a group's entries, counted from the block's first */
    uint8_t *row;         /* of an entry, within its block */
    double *value;
};

mrc_sparse_row mrc_sparse_row_of(const mrc_points *points, int64_t i)
{
    int64_t row = points->picked ? points->picked[i] : i, start = points->csr.start[row];
    return (mrc_sparse_row){.column = points->csr.column + start,
                            .value = points->csr.value + start,
                            .count = points->csr.start[row + 1] - start};
}

/* ---- the index ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Slots for this many entries: at most half of them get used. */
static int64_t table_size(int64_t entries)
{
    int64_t size = 4;
    while (size < 2 * entries)
        size *= 2;
    return size;
}

static uint32_t slot_of(int32_t column, uint32_t mask)
{
    uint32_t mixed = (uint32_t)column * 2654435769u; /* Fibonacci hashing */
    return (mixed ^ mixed >> 15) & mask;
}

/* The group of a column in a block, or -1. */
static inline int64_t find_group(const struct mrc_sparse_index *index, int64_t block,
                                 int32_t column)
{
    const int32_t *table = index->table + index->table_first[block];
    const int32_t *columns = index->column + index->first[block];
    uint32_t mask = (uint32_t)(index->table_first[block + 1] - index->table_first[block] - 1);
    for (uint32_t slot = slot_of(column, mask); table[slot]; slot = (slot + 1) & mask)
        if (columns[table[slot] - 1] == column)
            return table[slot] - 1;
    return -1;
}

struct build {
    struct mrc_sparse_index *index;
    const mrc_points *points;
};

/* Number the different columns of a block, count their entries, and put those side by side. */
static void index_block(void *arg, int64_t block, int worker)
{
    const struct build *b = arg;
    struct mrc_sparse_index *index = b->index;
    int64_t first = index->first[block], rows = least(BLOCK, b->points->n - block * BLOCK);
    int32_t *table = index->table + index->table_first[block];
    int32_t *column = index->column + first, *end = index->end + first, groups = 0;
    uint32_t mask = (uint32_t)(index->table_first[block + 1] - index->table_first[block] - 1);
    (void)worker;
    for (int64_t r = 0; r < rows; r++) {
        mrc_sparse_row row = mrc_sparse_row_of(b->points, block * BLOCK + r);
        for (int64_t k = 0; k < row.count; k++) {
            uint32_t slot = slot_of(row.column[k], mask);
            while (table[slot] && column[table[slot] - 1] != row.column[k])
                slot = (slot + 1) & mask;
            if (!table[slot]) {
                column[groups] = row.column[k];
                end[groups] = 0;
                table[slot] = ++groups;
            }
            end[table[slot] - 1]++;
        }
    }
    for (int32_t g = 0, sum = 0; g < groups; g++) { /* for now, where the group's entries start */
        int32_t count = end[g];
        end[g] = sum;
        sum += count;
    }
    for (int64_t r = 0; r < rows; r++) {
        mrc_sparse_row row = mrc_sparse_row_of(b->points, block * BLOCK + r);
        for (int64_t k = 0; k < row.count; k++) {
            int64_t at = first + end[find_group(index, block, row.column[k])]++;
            index->row[at] = (uint8_t)r;
            index->value[at] = row.value[k];
        }
    }
}

double mrc_sparse_index_bytes(int64_t rows, int64_t entries)
{
    double per_entry = 4 * 3 + 4 + 4 + 1 + 8; /* three slots on average */
    return per_entry * (double)entries + 24 * ceil((double)rows / BLOCK);
}

mercer_status mrc_sparse_index_build(mrc_points *points, mercer_ctx *ctx, mercer_error *err)
{
    struct mrc_sparse_index *index = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&index, 1, sizeof *index, err));
    int64_t blocks = (points->n + BLOCK - 1) / BLOCK;
    MRC_TRY(mrc_alloc(&index->first, blocks + 1, sizeof *index->first, err));
    MRC_TRY(mrc_alloc(&index->table_first, blocks + 1, sizeof *index->table_first, err));
    for (int64_t b = 0; b < blocks; b++) {
        int64_t end = least((b + 1) * BLOCK, points->n);
        int64_t entries = points->csr.start[end] - points->csr.start[b * BLOCK];
        if (entries > INT32_MAX / 4)
            MRC_FAIL(err, MERCER_ERR_DATA,
                     "rows %lld to %lld have %lld entries: too many for sparse rows",
                     (long long)(b * BLOCK + 1), (long long)end, (long long)entries);
        index->first[b + 1] = index->first[b] + entries;
        index->table_first[b + 1] = index->table_first[b] + table_size(entries);
    }
    int64_t entries = index->first[blocks];
    MRC_TRY(mrc_alloc(&index->table, index->table_first[blocks], sizeof *index->table, err));
    MRC_TRY(mrc_alloc2_raw(&index->column, entries, 1, sizeof *index->column, err));
    MRC_TRY(mrc_alloc2_raw(&index->end, entries, 1, sizeof *index->end, err));
    MRC_TRY(mrc_alloc2_raw(&index->row, entries, 1, sizeof *index->row, err));
    MRC_TRY(mrc_alloc2_raw(&index->value, entries, 1, sizeof *index->value, err));
    struct build build = {.index = index, .points = points};
    mrc_parfor(ctx, blocks, index_block, &build);
    points->index = index;
    index = NULL;
out:
    mrc_sparse_index_free(index);
    return rc;
}

void mrc_sparse_index_free(struct mrc_sparse_index *index)
{
    if (!index)
        return;
    mrc_free(index->first);
    mrc_free(index->table_first);
    mrc_free(index->table);
    mrc_free(index->column);
    mrc_free(index->end);
    mrc_free(index->row);
    mrc_free(index->value);
    mrc_free(index);
}

/* ---- sums ---- */

static inline double shared(mrc_shared_term term, double x, double y)
{
    switch (term) {
    case MRC_SHARED_ABSOLUTE: /* 0 for opposite signs */
        return (x < 0) == (y < 0) ? fmin(fabs(x), fabs(y)) : 0;
    case MRC_SHARED_CHI2:
        return x + y > 0 ? 2 * x * y / (x + y) : 0;
    case MRC_SHARED_LEAST:
        return fmin(x, y);
    default:
        return x * y;
    }
}

/* Add the sums of one row with rows [first, first + count) of indexed points; the j-th goes to
 * out[j * step]. */
static inline void row_with_index(mrc_shared_term term, mrc_sparse_row row,
                                  const struct mrc_sparse_index *index, int64_t first,
                                  int64_t count, double *out, int64_t step)
{
    for (int64_t block = first / BLOCK; block * BLOCK < first + count; block++) {
        const int32_t *end = index->end + index->first[block];
        const uint8_t *rows = index->row + index->first[block];
        const double *values = index->value + index->first[block];
        int64_t shift = block * BLOCK - first; /* of a place in the block to a place in out */
        bool whole = shift >= 0 && shift + BLOCK <= count;
        for (int64_t k = 0; k < row.count; k++) {
            int64_t group = find_group(index, block, row.column[k]);
            if (group < 0)
                continue;
            double x = row.value[k];
            int32_t e = group ? end[group - 1] : 0;
            if (whole) {
                for (; e < end[group]; e++)
                    out[(shift + rows[e]) * step] += shared(term, x, values[e]);
                continue;
            }
            for (; e < end[group]; e++) {
                int64_t at = shift + rows[e];
                if (at >= 0 && at < count)
                    out[at * step] += shared(term, x, values[e]);
            }
        }
    }
}

/* The sum of two rows, by walking along both. */
static double merged(mrc_shared_term term, mrc_sparse_row a, mrc_sparse_row b)
{
    double sum = 0;
    for (int64_t i = 0, j = 0; i < a.count && j < b.count;) {
        if (a.column[i] == b.column[j])
            sum += shared(term, a.value[i++], b.value[j++]);
        else if (a.column[i] < b.column[j])
            i++;
        else
            j++;
    }
    return sum;
}

static inline void sums(mrc_shared_term term, const mrc_points *a, int64_t a0, int64_t na,
                        const mrc_points *b, int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    for (int64_t i = 0; i < na; i++)
        memset(out + i * ldo, 0, (size_t)nb * sizeof *out);
    if (b->index)
        for (int64_t i = 0; i < na; i++)
            row_with_index(term, mrc_sparse_row_of(a, a0 + i), b->index, b0, nb, out + i * ldo, 1);
    else if (a->index)
        for (int64_t j = 0; j < nb; j++)
            row_with_index(term, mrc_sparse_row_of(b, b0 + j), a->index, a0, na, out + j, ldo);
    else
        for (int64_t i = 0; i < na; i++)
            for (int64_t j = 0; j < nb; j++)
                out[i * ldo + j] =
                    merged(term, mrc_sparse_row_of(a, a0 + i), mrc_sparse_row_of(b, b0 + j));
}

void mrc_sparse_sums(mrc_shared_term term, const mrc_points *a, int64_t a0, int64_t na,
                     const mrc_points *b, int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    switch (term) { /* a loop of its own for each term */
    case MRC_SHARED_PRODUCT:
        sums(MRC_SHARED_PRODUCT, a, a0, na, b, b0, nb, out, ldo);
        break;
    case MRC_SHARED_ABSOLUTE:
        sums(MRC_SHARED_ABSOLUTE, a, a0, na, b, b0, nb, out, ldo);
        break;
    case MRC_SHARED_CHI2:
        sums(MRC_SHARED_CHI2, a, a0, na, b, b0, nb, out, ldo);
        break;
    case MRC_SHARED_LEAST:
        sums(MRC_SHARED_LEAST, a, a0, na, b, b0, nb, out, ldo);
        break;
    }
}

static double column_term(mrc_column_term term, double x, double y)
{
    switch (term) {
    case MRC_TERM_ABSOLUTE:
        return fabs(x - y);
    case MRC_TERM_CHI2:
        return x + y > 0 ? (x - y) * (x - y) / (x + y) : 0;
    case MRC_TERM_LEAST:
        return fmin(x, y);
    default:
        return (x - y) * (x - y);
    }
}

double mrc_sparse_pair(mrc_column_term term, const mrc_points *a, int64_t i, const mrc_points *b,
                       int64_t j)
{
    mrc_sparse_row x = mrc_sparse_row_of(a, i), y = mrc_sparse_row_of(b, j);
    double sum = 0;
    for (int64_t p = 0, q = 0; p < x.count || q < y.count;) {
        if (q == y.count || (p < x.count && x.column[p] < y.column[q]))
            sum += column_term(term, x.value[p++], 0);
        else if (p == x.count || y.column[q] < x.column[p])
            sum += column_term(term, 0, y.value[q++]);
        else
            sum += column_term(term, x.value[p++], y.value[q++]);
    }
    return sum;
}
