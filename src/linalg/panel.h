/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of a large matrix with a few columns, once per vector width.
 *
 * With 8 or 16 columns a BLAS product spends most of its time packing the large matrix. These loops
 * read it once and pack nothing. Blocks of vectors have `width` columns, a multiple of
 * MRC_PANEL_LANES; T is rows x cols with row stride `stride`. */
#ifndef MRC_LINALG_PANEL_H
#define MRC_LINALG_PANEL_H

#include "base/ctx.h"

enum {
    MRC_PANEL_LANES = 8,
    MRC_PACK = 16,        /* rows of a group of packed ones */
    MRC_PACK_SINGLE = 32, /* the same in single precision */
};

typedef struct mrc_panel_loops {
    /* y (rows x width) = beta y + alpha T v, v: cols x width. */
    void (*times)(const double *tile, int64_t stride, int64_t rows, int64_t cols, double alpha,
                  const double *v, int64_t ldv, double beta, double *y, int64_t ldy, int64_t width);
    /* y (cols x width) += T' v, v: rows x width. */
    void (*transposed_times)(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                             const double *v, int64_t ldv, double *y, int64_t ldy, int64_t width);
    /* Both at once for a tile of a symmetric matrix: y_rows += T v_cols, y_cols += T' v_rows; all
     * blocks tightly packed. */
    void (*both)(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                 const double *v_rows, const double *v_cols, double *y_rows, double *y_cols,
                 int64_t width);
    /* The same bits where the tile is held in single precision. */
    void (*both_single)(const float *tile, int64_t stride, int64_t rows, int64_t cols,
                        const double *v_rows, const double *v_cols, double *y_rows, double *y_cols,
                        int64_t width);
    /* The same for one vector: y_rows += T v_cols and, unless y_cols is NULL, y_cols += T' v_rows.
     */
    void (*both_one)(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                     const double *v_rows, const double *v_cols, double *y_rows, double *y_cols);
    /* c (rows x all packed rows, row stride ldc) = a b', b in `groups` groups as mrc_pack_rows()
     * leaves them. Sums run over parts of the columns, and are the same for every row of a and
     * place in b. In single precision products and sums of a part are, c is not. */
    void (*products)(const double *a, int64_t lda, int64_t rows, int64_t d, const double *packed,
                     int64_t groups, double *c, int64_t ldc);
    void (*products_single)(const float *a, int64_t lda, int64_t rows, int64_t d,
                            const float *packed, int64_t groups, double *c, int64_t ldc);
    /* One row x: y (cols) += alpha x T, and y (rows) += alpha T x. Each sum runs from its first
     * term to its last. */
    void (*row_times)(const double *x, const double *tile, int64_t stride, int64_t rows,
                      int64_t cols, double alpha, double *y);
    void (*times_row)(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                      const double *x, double alpha, double *y);
    /* A sparse row and a panel of MRC_PANEL_LANES columns: panel[column[k]] += value[k] across,
     * and out = sum over k of value[k] panel[column[k]]. */
    void (*scatter)(const int32_t *column, const double *value, int64_t count, const double *across,
                    double *panel);
    void (*gather)(const int32_t *column, const double *value, int64_t count, const double *panel,
                   double *out);
} mrc_panel_loops;

const mrc_panel_loops *mrc_panel_loops_narrow(void);
#if defined(__x86_64__)
const mrc_panel_loops *mrc_panel_loops_avx2(void);
const mrc_panel_loops *mrc_panel_loops_avx512(void);
#endif

/* Rows b (count x d, row stride ldb) in groups of MRC_PACK: number k of the i-th row of a group is
 * at k MRC_PACK + i of its MRC_PACK d numbers. Rows that a last group lacks are zeroes. */
void mrc_pack_rows(const double *b, int64_t ldb, int64_t count, int64_t d, double *packed);
/* The same in groups of MRC_PACK_SINGLE. */
void mrc_pack_rows_single(const float *b, int64_t ldb, int64_t count, int64_t d, float *packed);

/* The loops for a vector width the processor has. */
const mrc_panel_loops *mrc_panel_loops_for(mrc_simd simd);

#endif
