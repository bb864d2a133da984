/* Sums over columns between all pairs of a set of rows, computed once for the many kernels, and
 * the many parts of the set, that an evaluation goes through.
 *
 * Rows that are taken from a set whose sums are known (mercer_rows.pairs and .place) keep them, and
 * so do points prepared from such rows, and models that stand on them: kernel values between two
 * of them are looked up. A sum depends on its two rows alone, bit for bit: rows that were taken
 * learn nothing about the others. */
#ifndef MRC_KERNEL_PAIRS_H
#define MRC_KERNEL_PAIRS_H

#include "kernel/kernel.h"
#include "kernel/simd.h"

/* The sums of mrc_column_term, and products. */
enum { MRC_PAIR_PRODUCT = MRC_TERM_LEAST + 1, MRC_PAIR_SUMS };

typedef struct mrc_pairs {
    int64_t n;
    double *sums[MRC_PAIR_SUMS]; /* n x n each; NULL: not wanted */
} mrc_pairs;

/* Which sum a kernel is a function of; -1: none that is worth keeping. */
int mrc_pair_sum_of(mrc_kernel_kind kind);
/* Mark the sums that a kernel is made of. */
void mrc_pairs_want(const mrc_kernel *kernel, bool wanted[MRC_PAIR_SUMS]);
/* Bytes that the wanted sums of n rows take. */
double mrc_pairs_bytes(int64_t n, const bool wanted[MRC_PAIR_SUMS]);
/* Compute the wanted sums of dense or packed rows. To be destroyed, also after an error. */
mercer_status mrc_pairs_init(mrc_pairs *pairs, mercer_ctx *ctx, const mercer_rows *rows,
                             const bool wanted[MRC_PAIR_SUMS], mercer_error *err);
void mrc_pairs_destroy(mrc_pairs *pairs);

#endif
