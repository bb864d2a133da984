/* Rows, targets and tables from the inside. */
#ifndef MRC_DATA_ROWS_H
#define MRC_DATA_ROWS_H

#include "base/ctx.h"
#include "base/memory.h"

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

/* n x d numbers, either dense (row i starts at x + i*ld) or sparse (x is NULL). */
struct mercer_rows {
    int64_t n, d, ld;
    const double *x;
    mrc_csr csr;
    double *owned;           /* == x when dense rows own their storage, else NULL */
    mrc_csr_owned owned_csr; /* the same for sparse rows */
    char **names;            /* d strings, or NULL */
    mercer_prepare *prepare; /* how they came about; owned, or NULL */
};

/* Rows that take over the storage x (n x d, tightly packed, from mrc_alloc2 or mrc_grow); on error
 * x still belongs to the caller. The values are trusted to be finite. */
mercer_status mrc_rows_adopt(double *x, int64_t n, int64_t d, mercer_rows **out, mercer_error *err);
/* The same for sparse rows (arrays from mrc_alloc or mrc_grow); *csr is zeroed on success. */
mercer_status mrc_rows_adopt_csr(mrc_csr_owned *csr, int64_t n, int64_t d, mercer_rows **out,
                                 mercer_error *err);
void mrc_csr_owned_destroy(mrc_csr_owned *csr);
/* MERCER_ERR_DATA unless start, columns and values are as they must be; `what` begins messages. */
mercer_status mrc_csr_check(const mrc_csr *csr, int64_t n, int64_t d, const char *what,
                            mercer_error *err);
/* Rows of their own with the same numbers, sparse or dense as the given ones; names are left out.
 */
mercer_status mrc_rows_clone(const mercer_rows *rows, mercer_rows **out, mercer_error *err);

/* The rows which[0], which[1], ... as rows of their own, sparse or dense as the given ones; names
 * are left out. */
mercer_status mrc_rows_take(const mercer_rows *rows, const int64_t *which, int64_t count,
                            mercer_rows **out, mercer_error *err);

/* Index of the first value that is not finite, or -1. */
int64_t mrc_first_not_finite(const double *x, int64_t count);

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

/* Free what targets hold and make them of kind NONE; accepts zeroed ones. */
void mrc_targets_destroy(mercer_targets *targets);

struct mercer_table {
    mercer_rows *rows;
    struct mercer_targets targets;
    char *origin; /* text of mercer_table_target_origin, or NULL */
};

/* Free an array of strings; accepts NULL. */
void mrc_free_names(char **names, int64_t count);
/* A copy of count strings; NULL stays NULL. */
mercer_status mrc_copy_names(char ***out, char *const *names, int64_t count, mercer_error *err);

#endif
