/* Rows, targets and tables from the inside. */
#ifndef MRC_DATA_ROWS_H
#define MRC_DATA_ROWS_H

#include "base/ctx.h"
#include "base/memory.h"

#include <mercer/io.h>
#include <mercer/rows.h>

/* n x d doubles; row i starts at x + i*ld. */
struct mercer_rows {
    int64_t n, d, ld;
    const double *x;
    double *owned; /* == x when the rows own their storage (freed by mrc_free), else NULL */
    char **names;  /* d strings, or NULL */
};

/* Rows that take over the storage x (n x d, tightly packed, from mrc_alloc2 or mrc_grow); on error
 * x still belongs to the caller. The values are trusted to be finite. */
mercer_status mrc_rows_adopt(double *x, int64_t n, int64_t d, mercer_rows **out, mercer_error *err);

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
