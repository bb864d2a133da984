/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over shared columns of sparse rows.
 *
 * Two rows of a text share few columns, so a tile of values is mostly work that need not be done.
 * The index holds, for each block of BLOCK rows, the entries of the block grouped by column, and a
 * small hash table that finds the group of a column. A row then meets a block by looking up each of
 * its columns once and touching only the pairs that share it: about (entries of the row) look-ups
 * and (shared columns) additions for BLOCK values. The tables of a block stay in the second-level
 * cache while a tile's rows pass by.
 *
 * Words follow Zipf's law: a handful of columns is in a large part of the rows and makes up most of
 * the additions. For dot products these columns are kept dense, n x (at most FREQUENT), and go
 * through GEMM; the index holds the others. Ranks that share the rows agree on these columns. */
#include "kernel/sparse.h"

#include "base/comm.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/share.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 256,    /* rows; a row's place in its block is a byte */
    SEEN_BITS = 16, /* of a hash that tells quickly what is not there: 8 KB a block */
    SEEN_WORDS = (1 << SEEN_BITS) / 64,
    FREQUENT = 64, /* columns kept dense at most */
    PLACES = 256,  /* slots to look them up */
    GROUP = 64,    /* rows whose frequent columns are multiplied together */
    MEETINGS = 64  /* columns looked up together */
};

/* Share of the rows that have a column from which GEMM beats single additions. */
static const double OFTEN = 0.15;

struct slot {
    int32_t column;     /* -1: empty */
    int32_t begin, end; /* of the column's entries, counted from the block's first */
};

struct mrc_sparse_index {
    int64_t *first;       /* blocks + 1: entries before a block */
    int64_t *table_first; /* blocks + 1: slots before a block, a power of two of them in each */
    struct slot *table;
    uint64_t *seen; /* SEEN_WORDS a block: bits of columns that may be there */
    uint8_t *row;   /* of an entry, within its block; entries of a column stand together */
    double *value;
    int64_t frequent; /* columns kept dense */
    struct place {
        int32_t column, place;
    } places[PLACES]; /* where they stand; column -1: empty */
    double *dense;    /* n x frequent */
};

mrc_sparse_row mrc_sparse_row_of(const mrc_points *points, int64_t i)
{
    int64_t row = points->picked ? points->picked[i] : i, start = points->csr.start[row];
    return (mrc_sparse_row){.column = points->csr.column + start,
                            .value = points->csr.value + start,
                            .count = points->csr.start[row + 1] - start};
}

mrc_sparse_row mrc_any_row_of(const mrc_points *points, int64_t i)
{
    if (mrc_points_are_sparse(points))
        return mrc_sparse_row_of(points, i);
    return (mrc_sparse_row){.value = points->x + i * points->ld, .count = points->d};
}

/* ---- the index ---- */

/* Slots for `columns` different columns: at most half of them get used. */
static int64_t table_size(int64_t columns)
{
    int64_t size = 4;
    while (size < 2 * columns)
        size *= 2;
    return size;
}

static inline uint32_t mix(int32_t column)
{
    uint32_t mixed = (uint32_t)column * 2654435769u; /* Fibonacci hashing */
    return mixed ^ mixed >> 15;
}

/* The slot of a column, or the empty one where it belongs. */
static inline struct slot *find_slot(struct slot *table, uint32_t mask, int32_t column)
{
    uint32_t at = mix(column) & mask;
    while (table[at].column != column && table[at].column >= 0)
        at = (at + 1) & mask;
    return &table[at];
}

/* Whether a column may be in a block. Most columns of a row are not in most blocks: the bits, which
 * stay in the nearest cache, tell so without a look at the table. */
static inline bool may_have(const uint64_t *seen, int32_t column)
{
    uint32_t bit = mix(column) >> (32 - SEEN_BITS);
    return seen[bit / 64] >> bit % 64 & 1;
}

/* The place of a column among the frequent ones, or -1. */
static inline int64_t find_place(const struct mrc_sparse_index *index, int32_t column)
{
    uint32_t at = mix(column) % PLACES;
    while (index->places[at].column != column && index->places[at].column >= 0)
        at = (at + 1) % PLACES;
    return index->places[at].column >= 0 ? index->places[at].place : -1;
}

struct build {
    struct mrc_sparse_index *index;
    const mrc_points *points;
    int32_t **scratch; /* per worker: per column, the last block it was counted in, plus one */
    int64_t *columns;  /* different ones in each block */
};

static int64_t rows_of_block(const struct build *b, int64_t block)
{
    return mrc_min64(BLOCK, b->points->n - block * BLOCK);
}

static void count_columns(void *arg, int64_t block, int worker)
{
    const struct build *b = arg;
    int32_t *last = b->scratch[worker], mark = (int32_t)block + 1;
    for (int64_t r = 0; r < rows_of_block(b, block); r++) {
        mrc_sparse_row row = mrc_sparse_row_of(b->points, block * BLOCK + r);
        for (int64_t k = 0; k < row.count; k++) {
            if (find_place(b->index, row.column[k]) >= 0)
                continue;
            b->columns[block] += last[row.column[k]] != mark;
            last[row.column[k]] = mark;
        }
    }
}

/* Count the entries of each column, give it a place, and put them side by side. */
static void index_block(void *arg, int64_t block, int worker)
{
    const struct build *b = arg;
    struct mrc_sparse_index *index = b->index;
    struct slot *table = index->table + index->table_first[block];
    int64_t first = index->first[block],
            slots = index->table_first[block + 1] - index->table_first[block];
    uint64_t *seen = index->seen + block * SEEN_WORDS;
    uint32_t mask = (uint32_t)slots - 1;
    (void)worker;
    for (int64_t s = 0; s < slots; s++)
        table[s] = (struct slot){.column = -1};
    for (int64_t r = 0; r < rows_of_block(b, block); r++) {
        mrc_sparse_row row = mrc_sparse_row_of(b->points, block * BLOCK + r);
        for (int64_t k = 0; k < row.count; k++) {
            if (find_place(index, row.column[k]) >= 0)
                continue;
            struct slot *slot = find_slot(table, mask, row.column[k]);
            uint32_t bit = mix(row.column[k]) >> (32 - SEEN_BITS);
            slot->column = row.column[k];
            slot->end++;
            seen[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    }
    for (int64_t s = 0, sum = 0; s < slots; s++) {
        int32_t count = table[s].end;
        table[s].begin = table[s].end = (int32_t)sum;
        sum += count;
    }
    for (int64_t r = 0; r < rows_of_block(b, block); r++) {
        mrc_sparse_row row = mrc_sparse_row_of(b->points, block * BLOCK + r);
        for (int64_t k = 0; k < row.count; k++) {
            int64_t place = find_place(index, row.column[k]);
            if (place >= 0) {
                index->dense[(block * BLOCK + r) * index->frequent + place] = row.value[k];
                continue;
            }
            int64_t at = first + find_slot(table, mask, row.column[k])->end++;
            index->row[at] = (uint8_t)r;
            index->value[at] = row.value[k];
        }
    }
}

double mrc_sparse_index_bytes(int64_t rows, int64_t entries)
{
    /* An entry, and three slots for each column, which are fewer than the entries. */
    double per_entry = 9 + 3 * sizeof(struct slot);
    double dense = 8 * fmin(FREQUENT * (double)rows, (double)entries / OFTEN);
    return per_entry * (double)entries + dense + 8 * (SEEN_WORDS + 4) * ceil((double)rows / BLOCK);
}

/* How many rows of all ranks have each column: where a column is kept decides on the order in which
 * the products of two rows are added. */
static mercer_status count_rows_with(const mrc_points *points, mercer_ctx *ctx,
                                     const mrc_span *span, int64_t *count, mercer_error *err)
{
    enum { TOGETHER = 1 << 14 };
    double *numbers = NULL;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < points->n; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(points, i);
        for (int64_t k = 0; k < row.count; k++)
            count[row.column[k]]++;
    }
    if (!span->spread)
        return rc;
    MRC_TRY(mrc_alloc(&numbers, mrc_min64(points->d, TOGETHER), sizeof *numbers, err));
    for (int64_t first = 0; first < points->d; first += TOGETHER) {
        const int64_t columns = mrc_min64(points->d - first, TOGETHER);
        for (int64_t c = 0; c < columns; c++)
            numbers[c] = (double)count[first + c];
        MRC_TRY(mrc_comm_sum(ctx, numbers, columns, err));
        for (int64_t c = 0; c < columns; c++)
            count[first + c] = (int64_t)numbers[c];
    }
out:
    mrc_free(numbers);
    return rc;
}

/* Find the columns that many rows have, give each a place, and make room for their values. */
static mercer_status find_frequent(struct mrc_sparse_index *index, const mrc_points *points,
                                   mercer_ctx *ctx, const mrc_span *span, mercer_error *err)
{
    int64_t *count = NULL, most = mrc_share_floor(OFTEN, span->total);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&count, points->d, sizeof *count, err));
    MRC_TRY(count_rows_with(points, ctx, span, count, err));
    for (;; most += most / 8 + 1) { /* where more qualify than there is room, the bar is raised */
        index->frequent = 0;
        for (int64_t c = 0; c < points->d; c++)
            index->frequent += count[c] > most;
        if (index->frequent <= FREQUENT)
            break;
    }
    for (int64_t c = 0, place = 0; c < points->d && index->frequent > 0; c++) {
        if (count[c] <= most)
            continue;
        uint32_t at = mix((int32_t)c) % PLACES;
        while (index->places[at].column >= 0)
            at = (at + 1) % PLACES;
        index->places[at] = (struct place){.column = (int32_t)c, .place = (int32_t)place};
        place++;
    }
    MRC_TRY(mrc_alloc2(&index->dense, points->n, index->frequent, sizeof *index->dense, err));
out:
    mrc_free(count);
    return rc;
}

static mercer_status count_slots(struct build *b, mercer_ctx *ctx, int64_t blocks,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&b->columns, blocks, sizeof *b->columns, err));
    MRC_TRY(mrc_alloc(&b->scratch, ctx->threads, sizeof *b->scratch, err));
    for (int i = 0; i < ctx->threads; i++)
        MRC_TRY(mrc_alloc(&b->scratch[i], b->points->d, sizeof **b->scratch, err));
    MRC_TRY(mrc_parfor_checked(ctx, blocks, count_columns, b, err));
    for (int64_t block = 0; block < blocks; block++)
        b->index->table_first[block + 1] =
            b->index->table_first[block] + table_size(b->columns[block]);
out:
    for (int i = 0; b->scratch && i < ctx->threads; i++)
        mrc_free(b->scratch[i]);
    mrc_free(b->scratch);
    mrc_free(b->columns);
    return rc;
}

mercer_status mrc_sparse_index_build(mrc_points *points, bool products, mercer_ctx *ctx,
                                     const mrc_span *span, mercer_error *err)
{
    struct mrc_sparse_index *index = NULL;
    int64_t blocks = (points->n + BLOCK - 1) / BLOCK;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&index, 1, sizeof *index, err));
    MRC_TRY(mrc_alloc(&index->first, blocks + 1, sizeof *index->first, err));
    MRC_TRY(mrc_alloc(&index->table_first, blocks + 1, sizeof *index->table_first, err));
    for (int64_t b = 0; b < blocks; b++) {
        int64_t end = mrc_min64((b + 1) * BLOCK, points->n);
        int64_t entries = points->csr.start[end] - points->csr.start[b * BLOCK];
        if (entries > INT32_MAX / 4 || blocks >= INT32_MAX)
            MRC_FAIL(err, MERCER_ERR_DATA,
                     "rows %lld to %lld have %lld entries: too many for sparse rows",
                     (long long)(b * BLOCK + 1), (long long)end, (long long)entries);
        index->first[b + 1] = index->first[b] + entries;
    }
    struct build build = {.index = index, .points = points};
    for (int i = 0; i < PLACES; i++)
        index->places[i].column = -1;
    if (products)
        MRC_TRY(find_frequent(index, points, ctx, span, err));
    MRC_TRY(count_slots(&build, ctx, blocks, err));
    int64_t entries = index->first[blocks];
    MRC_TRY(
        mrc_alloc2_raw(&index->table, index->table_first[blocks], 1, sizeof *index->table, err));
    MRC_TRY(mrc_alloc2(&index->seen, blocks, SEEN_WORDS, sizeof *index->seen, err));
    MRC_TRY(mrc_alloc2_raw(&index->row, entries, 1, sizeof *index->row, err));
    MRC_TRY(mrc_alloc2_raw(&index->value, entries, 1, sizeof *index->value, err));
    MRC_TRY(mrc_parfor_checked(ctx, blocks, index_block, &build, err));
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
    mrc_free(index->seen);
    mrc_free(index->row);
    mrc_free(index->value);
    mrc_free(index->dense);
    mrc_free(index);
}

/* ---- sums ---- */

static inline double shared(mrc_term term, double x, double y)
{
    switch (term) {
    case MRC_TERM_ABSOLUTE: /* 0 for opposite signs */
        return (x < 0) == (y < 0) ? fmin(fabs(x), fabs(y)) : 0;
    case MRC_TERM_CHI2:
        return x + y > 0 ? 2 * x * y / (x + y) : 0;
    case MRC_TERM_MIN:
        return fmin(x, y);
    default:
        return x * y;
    }
}

/* A column that a row and a block may share. */
struct meeting {
    double x;
    const struct slot *slot;
};

/* Collect up to MEETINGS columns of a row, from *at on, that are in a block. In three steps without
 * branches that depend on one another, so that the cache misses of the tables overlap. */
static inline int meet(struct slot *table, uint32_t mask, const uint64_t *seen, mrc_sparse_row row,
                       int64_t *at, const uint8_t *rows, const double *values,
                       struct meeting *found)
{
    int32_t columns[MEETINGS] = {0};
    int maybe = 0, count = 0;
    for (; *at < row.count && maybe < MEETINGS; ++*at) {
        int32_t column = row.column[*at];
        columns[maybe] = column;
        found[maybe].x = row.value[*at];
        __builtin_prefetch(&table[mix(column) & mask]);
        maybe += may_have(seen, column);
    }
    for (int i = 0; i < maybe; i++) {
        const struct slot *slot = find_slot(table, mask, columns[i]);
        found[count] = (struct meeting){.x = found[i].x, .slot = slot};
        __builtin_prefetch(rows + slot->begin);
        __builtin_prefetch(values + slot->begin);
        count += slot->column >= 0;
    }
    return count;
}

/* Add the sums of one row with rows [first, first + count) of indexed points; the j-th goes to
 * out[j * step]. */
static inline __attribute__((always_inline)) void
row_with_index(mrc_term term, mrc_sparse_row row, const struct mrc_sparse_index *index,
               int64_t first, int64_t count, double *out, int64_t step)
{
    struct meeting found[MEETINGS] = {{0}};
    for (int64_t block = first / BLOCK; block * BLOCK < first + count; block++) {
        struct slot *table = index->table + index->table_first[block];
        uint32_t mask = (uint32_t)(index->table_first[block + 1] - index->table_first[block] - 1);
        const uint64_t *seen = index->seen + block * SEEN_WORDS;
        const uint8_t *rows = index->row + index->first[block];
        const double *values = index->value + index->first[block];
        int64_t shift = block * BLOCK - first; /* of a place in the block to a place in out */
        bool whole = shift >= 0 && shift + BLOCK <= count;
        double *to = out + shift * step;
        for (int64_t at = 0; at < row.count;) {
            int met = meet(table, mask, seen, row, &at, rows, values, found);
            for (int m = 0; m < met; m++)
                for (int32_t e = found[m].slot->begin; e < found[m].slot->end; e++)
                    if (whole || (shift + rows[e] >= 0 && shift + rows[e] < count))
                        to[rows[e] * step] += shared(term, found[m].x, values[e]);
        }
    }
}

/* The sum of two rows, by walking along both. */
static double merged(mrc_term term, mrc_sparse_row a, mrc_sparse_row b)
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

/* The frequent columns of rows [first, first + count), count <= GROUP, as a dense block. */
static void frequent_block(const struct mrc_sparse_index *index, const mrc_points *points,
                           int64_t first, int64_t count, double *out)
{
    memset(out, 0, (size_t)(count * index->frequent) * sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(points, first + i);
        for (int64_t k = 0; k < row.count; k++) {
            int64_t place = find_place(index, row.column[k]);
            if (place >= 0)
                out[i * index->frequent + place] = row.value[k];
        }
    }
}

/* out = what the frequent columns add to the tile, of which one side has an index. */
static void frequent_products(const mrc_points *a, int64_t a0, int64_t na, const mrc_points *b,
                              int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    double block[GROUP * FREQUENT];
    const struct mrc_sparse_index *index = b->index ? b->index : a->index;
    int64_t f = index->frequent;
    for (int64_t i = 0; b->index && i < na; i += GROUP) {
        int64_t rows = mrc_min64(GROUP, na - i);
        frequent_block(index, a, a0 + i, rows, block);
        mrc_gemm(false, true, rows, nb, f, 1, block, f, index->dense + b0 * f, f, 0, out + i * ldo,
                 ldo);
    }
    for (int64_t j = 0; !b->index && j < nb; j += GROUP) {
        int64_t rows = mrc_min64(GROUP, nb - j);
        frequent_block(index, b, b0 + j, rows, block);
        mrc_gemm(false, true, na, rows, f, 1, index->dense + a0 * f, f, block, f, 0, out + j, ldo);
    }
}

static inline __attribute__((always_inline)) void sums(mrc_term term, const mrc_points *a,
                                                       int64_t a0, int64_t na, const mrc_points *b,
                                                       int64_t b0, int64_t nb, double *out,
                                                       int64_t ldo)
{
    const struct mrc_sparse_index *index = b->index ? b->index : a->index;
    if (index && index->frequent > 0)
        frequent_products(a, a0, na, b, b0, nb, out, ldo);
    else
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

void mrc_sparse_sums(mrc_term term, const mrc_points *a, int64_t a0, int64_t na,
                     const mrc_points *b, int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    for (int64_t i = 0; !mrc_points_are_sparse(a) && i < na; i++)
        for (int64_t j = 0; j < nb; j++)
            out[i * ldo + j] =
                mrc_sparse_dot(mrc_sparse_row_of(b, b0 + j), a->x + (a0 + i) * a->ld);
    if (!mrc_points_are_sparse(a))
        return;
    switch (term) { /* a loop of its own for each term */
    case MRC_TERM_ABSOLUTE:
        sums(MRC_TERM_ABSOLUTE, a, a0, na, b, b0, nb, out, ldo);
        break;
    case MRC_TERM_CHI2:
        sums(MRC_TERM_CHI2, a, a0, na, b, b0, nb, out, ldo);
        break;
    case MRC_TERM_MIN:
        sums(MRC_TERM_MIN, a, a0, na, b, b0, nb, out, ldo);
        break;
    default:
        sums(MRC_TERM_PRODUCT, a, a0, na, b, b0, nb, out, ldo);
    }
}

static double column_term(mrc_term term, double x, double y)
{
    switch (term) {
    case MRC_TERM_ABSOLUTE:
        return fabs(x - y);
    case MRC_TERM_CHI2:
        return x + y > 0 ? (x - y) * (x - y) / (x + y) : 0;
    case MRC_TERM_MIN:
        return fmin(x, y);
    default:
        return (x - y) * (x - y);
    }
}

static int64_t column_of(mrc_sparse_row row, int64_t entry)
{
    return row.column ? row.column[entry] : entry;
}

double mrc_sparse_pair(mrc_term term, const mrc_points *a, int64_t i, const mrc_points *b,
                       int64_t j)
{
    mrc_sparse_row x = mrc_any_row_of(a, i), y = mrc_sparse_row_of(b, j);
    double sum = 0;
    for (int64_t p = 0, q = 0; p < x.count || q < y.count;) {
        if (q == y.count || (p < x.count && column_of(x, p) < y.column[q]))
            sum += column_term(term, x.value[p++], 0);
        else if (p == x.count || y.column[q] < column_of(x, p))
            sum += column_term(term, 0, y.value[q++]);
        else
            sum += column_term(term, x.value[p++], y.value[q++]);
    }
    return sum;
}

double mrc_sparse_distance2(const mrc_points *points, double factor, int64_t i, int64_t j)
{
    mrc_sparse_row x = mrc_sparse_row_of(points, i), y = mrc_sparse_row_of(points, j);
    double sum = 0;
    for (int64_t p = 0, q = 0; p < x.count || q < y.count;) {
        bool has_x = p < x.count && (q == y.count || x.column[p] <= y.column[q]);
        bool has_y = q < y.count && (p == x.count || y.column[q] <= x.column[p]);
        double difference =
            mrc_scaled_difference(factor, has_x ? x.value[p++] : 0, has_y ? y.value[q++] : 0);
        sum += difference * difference;
    }
    return sum;
}
