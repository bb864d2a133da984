/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of a sparse matrix in any order, and the rows made of them. */
#ifndef MRC_IO_CSR_BUILD_H
#define MRC_IO_CSR_BUILD_H

#include "io/matrix.h"

typedef struct mrc_entries {
    int64_t count, capacity;
    int64_t listed;  /* those that are not kept among them */
    mrc_span wanted; /* rows whose entries are kept */
    int64_t *row;    /* counted from the first of these; columns from 0 */
    int32_t *column;
    double *value;
    mrc_budget *budget; /* that they are taken from, borrowed; or NULL */
} mrc_entries;

/* None yet, for a matrix whose shape is known. */
mrc_entries mrc_entries_of(const mrc_matrix *matrix);
/* Room for exactly that many entries in all, if those of all rows are kept. */
mercer_status mrc_entries_reserve(mrc_entries *entries, int64_t count, mercer_error *err);
/* One more entry, kept if its row is wanted. The caller checks the ranges. */
mercer_status mrc_entries_add(mrc_entries *entries, int64_t row, int64_t column, double value,
                              mercer_error *err);
/* Refuse a shape that sparse rows cannot have; before any entry is entered. */
mercer_status mrc_sparse_check(const mrc_matrix *matrix, mercer_error *err);
/* Set the rows of matrix, whose shape is known. Entries in one place are added up in their order.
 */
mercer_status mrc_sparse_build(mrc_matrix *matrix, const mrc_entries *entries, mercer_error *err);
/* The same of entries that lie row by row already, out of order within a row; csr is taken over,
 * after an error, too. listed: entries of all rows. */
mercer_status mrc_sparse_adopt(mrc_matrix *matrix, mrc_csr_owned *csr, mrc_span wanted,
                               int64_t listed, mercer_error *err);
void mrc_entries_destroy(mrc_entries *entries);

#endif
