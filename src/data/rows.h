/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows, targets and tables from the inside. */
#ifndef MRC_DATA_ROWS_H
#define MRC_DATA_ROWS_H

#include "base/ctx.h"
#include "base/memory.h"
#include "base/strips.h"

#include <mercer/io.h>
#include <mercer/rows.h>

/* Sparse rows: row i has the entries start[i] .. start[i + 1) - 1, columns increasing. */
typedef struct mrc_csr {
    const int64_t *start; /* n + 1; NULL when there are no sparse rows here */
    const int32_t *column;
    const double *value;
} mrc_csr;

/* The same with the right to free it; mrc_csr_owned_destroy() accepts a zeroed one. */
typedef struct mrc_csr_owned {
    int64_t *start;
    int32_t *column;
    double *value;
} mrc_csr_owned;

/* What dense numbers are kept as. Packed ones take less room and are the same numbers: floats and
 * bytes become doubles without rounding, and all work on them is done in doubles. */
typedef enum mrc_dtype { MRC_F64 = MERCER_F64, MRC_F32 = MERCER_F32, MRC_U8 = MERCER_U8 } mrc_dtype;

/* What to call, if not NULL, when a host's array is no longer needed. */
typedef struct mrc_release {
    void (*release)(void *host);
    void *host;
} mrc_release;

/* n x d numbers: dense (row i starts at number i*ld of x), packed (the same with packed, x being
 * NULL), or sparse (both are NULL). */
struct mercer_rows {
    int64_t n, d, ld;
    const double *x;
    const void *packed;
    mrc_dtype dtype; /* of packed; else MRC_F64 */
    mrc_csr csr;
    void *owned;             /* == x or packed when the rows own their storage, else NULL */
    mrc_csr_owned owned_csr; /* the same for sparse rows */
    char **names;            /* d strings, or NULL */
    mercer_prepare *prepare; /* how they came about; owned, or NULL */
    /* Rows of a set whose pairs are known (kernel/pairs.h), which outlives them; else NULL. */
    const struct mrc_pairs *pairs;
    int64_t *place;       /* n: which rows of the set they are; owned */
    mrc_release given[3]; /* arrays of a host that are borrowed */
    /* Cells that were missing and are filled, i * d + j, increasing; owned. How: borrowed from the
     * rows of the table. gaps.c tells what for. */
    int64_t *gaps, gap_count;
    const mercer_prepare *gap_prepare;
    /* Rows [first, first + n) of `total` that are spread over ranks; total is 0 for all others. */
    int64_t first, total;
    /* Two rows this near differ by no more than the rounding of their scaling; 0: as given. */
    double blur;
};

/* Bytes of one number. */
size_t mrc_dtype_bytes(mrc_dtype dtype);
/* out[k] = number first + k of an array, count of them. */
void mrc_unpack(mrc_dtype dtype, const void *from, int64_t first, int64_t count, double *out);
/* The way back, for numbers that dtype can hold: number first + k of an array becomes x[k]. */
void mrc_pack(mrc_dtype dtype, const double *x, int64_t count, void *to, int64_t first);

/* One number of dense or packed rows; for whole rows mrc_rows_line() is faster. */
static inline double mrc_rows_at(const mercer_rows *rows, int64_t i, int64_t j)
{
    int64_t at = i * rows->ld + j;
    if (rows->x)
        return rows->x[at];
    return rows->dtype == MRC_F32 ? (double)((const float *)rows->packed)[at]
                                  : ((const uint8_t *)rows->packed)[at];
}
/* The value of largest modulus in rows first .. first + count, and its column. */
double mrc_rows_largest(const mercer_rows *rows, int64_t first, int64_t count, int64_t *column);
/* A dense or packed row: borrowed from the rows, or unpacked into scratch (d doubles). */
const double *mrc_rows_line(const mercer_rows *rows, int64_t i, double *scratch);

/* Rows that borrow x, row i starting at number i*ld; values must be finite, which is checked. */
mercer_status mrc_rows_view(mrc_dtype dtype, const void *x, int64_t n, int64_t d, int64_t ld,
                            mercer_rows **out, mercer_error *err);
/* The same of rows that are a part of a table, from row `first` on; errors count the rows of the
 * table. */
mercer_status mrc_rows_view_from(mrc_dtype dtype, const void *x, int64_t n, int64_t d, int64_t ld,
                                 int64_t first, mercer_rows **out, mercer_error *err);
/* A caller's array, as much of it as the caller knows, with strides as they are used and a rank of
 * 2 (a vector is one column); MERCER_ERR_ARGUMENT for what no array in memory can be. `what` begins
 * messages. */
mercer_status mrc_array_import(const char *what, const mercer_array *given, mercer_array *out,
                               mercer_error *err);
/* Rows that take over the storage x (n x d, tightly packed, from mrc_alloc2 or mrc_grow); on error
 * x still belongs to the caller. The values are trusted to be finite. */
mercer_status mrc_rows_adopt(mrc_dtype dtype, void *x, int64_t n, int64_t d, mercer_rows **out,
                             mercer_error *err);
/* The same for sparse rows (arrays from mrc_alloc or mrc_grow); *csr is zeroed on success. */
mercer_status mrc_rows_adopt_csr(mrc_csr_owned *csr, int64_t n, int64_t d, mercer_rows **out,
                                 mercer_error *err);
void mrc_csr_owned_destroy(mrc_csr_owned *csr);
/* MERCER_ERR_DATA unless start, columns and values are as they must be; `what` begins messages. */
mercer_status mrc_csr_check(const mrc_csr *csr, int64_t n, int64_t d, const char *what,
                            mercer_error *err);
/* The same of rows that are a part of a table, from row `first` on, in which errors count. */
mercer_status mrc_csr_check_from(const mrc_csr *csr, int64_t n, int64_t d, int64_t first,
                                 const char *what, mercer_error *err);
/* The rows which[0], which[1], ..., or the first count when which is NULL, as rows of their own,
 * sparse, dense or packed as the given ones; names are left out, known pairs are kept. */
mercer_status mrc_rows_take(const mercer_rows *rows, const int64_t *which, int64_t count,
                            mercer_rows **out, mercer_error *err);

/* Let rows that were taken have the gaps of these. */
mercer_status mrc_gaps_take(const mercer_rows *rows, const int64_t *which, mercer_rows *taken,
                            mercer_error *err);
/* Fill the gaps of both by the rows to learn from; both own their numbers, which are doubles. */
mercer_status mrc_gaps_refill(mercer_rows *learn, mercer_rows *held, mercer_error *err);

/* Rows which[0], ... and of each the columns[0], ..., as doubles: only dense or packed rows. */
mercer_status mrc_rows_take_block(const mercer_rows *rows, const int64_t *which, int64_t count,
                                  const int64_t *columns, int64_t columns_count, mercer_rows **out,
                                  mercer_error *err);
/* out[i] = number which[i] of row which[i]; likewise. */
void mrc_rows_take_diagonal(const mercer_rows *rows, const int64_t *which, int64_t count,
                            double *out);

/* Rows [first, first + count) as rows of their own, likewise. */
mercer_status mrc_rows_slice(const mercer_rows *rows, int64_t first, int64_t count,
                             mercer_rows **out, mercer_error *err);
/* *rows, which may be NULL, with more behind them: both sparse, or both doubles. */
mercer_status mrc_rows_append(mercer_rows **rows, const mercer_rows *more, mercer_error *err);

/* A copy of dense or packed rows as doubles; names are left out. */
mercer_status mrc_rows_widen(const mercer_rows *rows, mercer_rows **out, mercer_error *err);

/* Index of the first value that is not finite, or -1. */
int64_t mrc_first_not_finite(const double *x, int64_t count);
/* The same from number `first` on of an array that may be packed. */
int64_t mrc_first_not_finite_of(mrc_dtype dtype, const void *x, int64_t first, int64_t count);

/* ---- rows that are spread over ranks ---- */

/* What the rows are of all that the ranks of ctx have. */
mrc_span mrc_rows_span(const mercer_ctx *ctx, const mercer_rows *rows);
/* How many rows there are on all ranks. */
static inline int64_t mrc_rows_total(const mercer_rows *rows)
{
    return rows->total > 0 ? rows->total : rows->n;
}
/* Let taken, as many rows as the given ones and made of them, be the same part of a table. */
static inline void mrc_rows_keep_part(const mercer_rows *rows, mercer_rows *taken)
{
    taken->first = rows->first;
    taken->total = rows->total;
}
/* MERCER_ERR_UNSUPPORTED, in the name of `what`, for rows that are a part of a table: this would
 * take them for all there are. */
mercer_status mrc_rows_need_whole(const mercer_rows *rows, const char *what, mercer_error *err);
/* The same for a public function, by its name; returns from it. */
#define MRC_NEED_WHOLE(rows)                                                                       \
    do {                                                                                           \
        mercer_status part_ = mrc_rows_need_whole(rows, __func__, err);                            \
        if (part_ != MERCER_OK)                                                                    \
            return part_;                                                                          \
    } while (0)
/* *wanted of all the rows that ranks have in their lists (counted in the whole table, different
 * ones), drawn at random, or all of them where they are fewer: *out, to be freed, *wanted of them,
 * in the same order on all ranks. A draw takes one number of the sequence of ctx, and puts the list
 * into another order. */
mercer_status mrc_draw_of_all(mercer_ctx *ctx, const mrc_span *span, int64_t *list, int64_t count,
                              int64_t most, int64_t **out, int64_t *found, mercer_error *err);
/* The rows which[0], which[1], ... of the whole table, on all ranks, as mrc_rows_take() gives them;
 * which = NULL: the first count. */
mercer_status mrc_rows_take_of_all(mercer_ctx *ctx, const mercer_rows *rows, const int64_t *which,
                                   int64_t count, mercer_rows **out, mercer_error *err);
/* mercer_rows_entries() of the whole table. */
mercer_status mrc_rows_entries_of_all(mercer_ctx *ctx, const mercer_rows *rows, int64_t *out,
                                      mercer_error *err);
/* mrc_rows_largest() of the whole table. */
mercer_status mrc_rows_largest_of_all(mercer_ctx *ctx, const mercer_rows *rows, double *value,
                                      int64_t *column, mercer_error *err);

/* Bytes that the numbers take, roughly: with their columns when they are sparse. */
double mrc_rows_bytes(const mercer_rows *rows);

/* A copy whose column k is column map[k], for k below d, sparse or dense. */
mercer_status mrc_rows_arrange(const mercer_rows *rows, const int64_t *map, int64_t d, bool sparse,
                               mercer_rows **out, mercer_error *err);

/* Index of the column called name, or -1. */
int64_t mrc_rows_find(const mercer_rows *rows, const char *name);

struct mercer_targets {
    mercer_target_kind kind;
    int64_t n;
    int64_t classes;
    char **class_names; /* classes strings */
    int64_t *codes;     /* n */
    int64_t columns;
    double *values; /* n x columns */
    char **names;   /* of the label column, or of the target columns; may be NULL */
};

/* The targets of rows which[0], ..., as targets of their own. */
mercer_status mrc_targets_take(const mercer_targets *targets, const int64_t *which, int64_t count,
                               mercer_targets **out, mercer_error *err);

/* MERCER_ERR_DATA unless targets are two classes, or one column of -1 and +1; `what` begins the
 * message. */
mercer_status mrc_targets_check_signs(const mercer_targets *targets, const char *what,
                                      mercer_error *err);

/* The largest modulus of n x columns targets; ranks: of those of all ranks, unless NULL. Fails
 * where that of a column has no square, though it is not zero: nothing could be learnt from it. */
mercer_status mrc_targets_check_sizes(mercer_ctx *ranks, const double *values, int64_t n,
                                      int64_t columns, double *largest, mercer_error *err);

/* What the names of classes are: numbers, or words that do not stand for missing values; and the
 * first number that is not whole, borrowed, or NULL. */
typedef struct mrc_class_kinds {
    int64_t numbers, words;
    const char *fraction;
} mrc_class_kinds;
mrc_class_kinds mrc_targets_class_kinds(const mercer_targets *targets);
/* Whether a name is a number, or several that are separated by commas. */
bool mrc_class_is_number(const char *name, bool *whole);
/* Up to how many different numbers are taken for classes of that many rows without a word. */
int64_t mrc_usual_classes(int64_t rows);
/* Whether classes of a file (shown) can be classes: numbers that are not all whole are values,
 * which is MERCER_ERR_DATA; of more than the usual classes a notice is given. Words are always
 * classes, and so are numbers among words. origin: where they come from; from_list: that is a file
 * of their own. */
mercer_status mrc_class_kinds_judge(const mercer_ctx *ctx, const char *shown, const char *origin,
                                    bool from_list, const mrc_class_kinds *kinds, int64_t rows,
                                    mercer_error *err);
/* Notice that the first row of a file, whose class no other row has, may be names. */
void mrc_note_lonely_class(const mercer_ctx *ctx, const char *shown, const char *name);

/* Free what targets hold and make them of kind NONE; accepts zeroed ones. */
void mrc_targets_destroy(mercer_targets *targets);

/* Texts of rows, each with its zero byte, one behind the other: that of row i starts where that of
 * row i - 1 ends. */
typedef struct mrc_row_texts {
    char *bytes;  /* NULL: there are none */
    int64_t *end; /* one per row */
    int64_t room; /* bytes that there is room for */
} mrc_row_texts;
void mrc_row_texts_destroy(mrc_row_texts *texts);
/* That of a row which is there. */
const char *mrc_row_text(const mrc_row_texts *texts, int64_t row);

struct mercer_table {
    mercer_rows *rows;
    struct mercer_targets targets;
    char *origin; /* text of mercer_table_target_origin, or NULL */
    mrc_row_texts ids, groups;
    char *id_name;
    bool grouped_by_ids; /* the groups are the ids */
};

/* Free an array of strings; accepts NULL. */
void mrc_free_names(char **names, int64_t count);
/* A copy of count strings; NULL stays NULL. */
mercer_status mrc_copy_names(char ***out, char *const *names, int64_t count, mercer_error *err);

#endif
