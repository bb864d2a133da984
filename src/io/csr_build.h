/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of a sparse matrix in any order, and the rows made of them. */
#ifndef MRC_IO_CSR_BUILD_H
#define MRC_IO_CSR_BUILD_H

#include "io/matrix.h"

typedef struct mrc_entries {
    int64_t count, capacity;
    int64_t *row; /* from 0, as the columns */
    int32_t *column;
    double *value;
    mrc_budget *budget; /* that they are taken from, borrowed; or NULL */
} mrc_entries;

/* Room for exactly that many entries in all, and one more entry. The caller checks the ranges. */
mercer_status mrc_entries_reserve(mrc_entries *entries, int64_t count, mercer_error *err);
mercer_status mrc_entries_add(mrc_entries *entries, int64_t row, int64_t column, double value,
                              mercer_error *err);
/* Refuse a shape that sparse rows cannot have; before any entry is entered. */
mercer_status mrc_sparse_check(const mrc_matrix *matrix, mercer_error *err);
/* Set the rows of matrix, whose shape is known. Entries in one place are added up in their order.
 */
mercer_status mrc_sparse_build(mrc_matrix *matrix, const mrc_entries *entries, mercer_error *err);
void mrc_entries_destroy(mrc_entries *entries);

#endif
