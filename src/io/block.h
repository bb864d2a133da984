/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows being filled by a format. */
#ifndef MRC_IO_BLOCK_H
#define MRC_IO_BLOCK_H

#include "data/columns.h"
#include "data/rows.h"
#include "io/input.h"

typedef struct mrc_block {
    const mrc_input *input; /* borrowed: what is read, for messages */
    int64_t n, capacity;
    int64_t before;  /* rows of earlier blocks; set by the reader */
    double *x;       /* capacity x data */
    void *packed;    /* the same instead of x, when dtype is not MRC_F64 */
    mrc_dtype dtype; /* set by the reader */
    double *values;  /* capacity x targets, when there are targets */
    int64_t *codes;  /* capacity, when there are classes */
    bool with_codes; /* set by the reader */
    bool sparse;     /* likewise; the rows are then in csr, not in x */
    mrc_csr_owned csr;
    int64_t entry_capacity;
    mrc_row_texts ids, groups; /* of the rows, as in mercer_table */
    mrc_budget *budget;        /* that the rows have to fit, borrowed; or NULL */
    bool elastic;              /* set by the reader: a block may end early where the budget does */
    bool full;                 /* it did */
} mrc_block;

/* Bytes of one row, entries of sparse ones aside. */
int64_t mrc_block_row_bytes(const mrc_block *block, const mrc_columns *columns);
/* Whether another row has room in memory: an elastic block that has rows is full once it takes half
 * of what is left, because whoever gets it needs memory, too. */
bool mrc_block_is_full(mrc_block *block, const mrc_columns *columns);
/* Make room for exactly `rows` rows. */
mercer_status mrc_block_reserve(mrc_block *block, const mrc_columns *columns, int64_t rows,
                                mercer_error *err);
/* Make room for at least one more row, and for at most `most` rows in all. */
mercer_status mrc_block_grow(mrc_block *block, const mrc_columns *columns, int64_t most,
                             mercer_error *err);

/* Set the text (ids or groups of the block) of a row for which there is room; those of the rows
 * before it are set. */
mercer_status mrc_block_set_text(const mrc_block *block, mrc_row_texts *texts, int64_t row,
                                 const char *text, size_t length, mercer_error *err);
/* The same of a number. */
mercer_status mrc_block_set_number(const mrc_block *block, mrc_row_texts *texts, int64_t row,
                                   double value, mercer_error *err);
/* Let row `to` have the text of row `from`, which is not before it. */
void mrc_row_texts_move(mrc_row_texts *texts, int64_t from, int64_t to);

/* Make room for at least that many entries of sparse rows. */
mercer_status mrc_block_grow_entries(mrc_block *block, int64_t least, mercer_error *err);
/* Room for exactly that many entries. */
mercer_status mrc_block_reserve_entries(mrc_block *block, int64_t count, mercer_error *err);
/* Accepts a zeroed one; what the reader has set stays. */
void mrc_block_destroy(mrc_block *block);

#endif
