/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over columns between all pairs of a set of rows, computed once for the many kernels, and
 * the many parts of the set, that an evaluation goes through.
 *
 * Rows that are taken from a set whose sums are known (mercer_rows.pairs and .place) keep them, and
 * so do points prepared from such rows, and models that use them: kernel values between two
 * of them are looked up. A sum depends only on its two rows, bit for bit: rows that were taken
 * learn nothing about the others. */
#ifndef MRC_KERNEL_PAIRS_H
#define MRC_KERNEL_PAIRS_H

#include "kernel/kernel.h"
#include "kernel/simd.h"

typedef struct mrc_pairs {
    int64_t n;
    double *sums[MRC_TERMS]; /* of each term, n x n; NULL: not wanted */
} mrc_pairs;

/* The term whose sums a kernel is a function of; MRC_TERM_NONE: none that is worth keeping. */
mrc_term mrc_pair_term(const mrc_kernel_part *part);
/* Mark the sums that a kernel is made of. */
void mrc_pairs_want(const mrc_kernel *kernel, bool wanted[MRC_TERMS]);
/* Bytes that the wanted sums of n rows take. */
double mrc_pairs_bytes(int64_t n, const bool wanted[MRC_TERMS]);
/* Compute the wanted sums of dense or packed rows. To be destroyed, also after an error. */
mercer_status mrc_pairs_init(mrc_pairs *pairs, mercer_ctx *ctx, const mercer_rows *rows,
                             const bool wanted[MRC_TERMS], mercer_error *err);
void mrc_pairs_destroy(mrc_pairs *pairs);

#endif
