/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles of functions of a distance from products in single precision. */
#ifndef MRC_KERNEL_SINGLE_H
#define MRC_KERNEL_SINGLE_H

#include "kernel/kernel.h"

/* Whether tiles of these points may be made so: the kernel is a function of |x - y|^2, and the rows
 * came as floats or bytes. */
bool mrc_single_serves(const mrc_kernel *kernel, const mrc_points *points, const mercer_rows *rows);
/* Doubles that a worker needs for tiles of `tile` rows and columns. */
int64_t mrc_single_size(const mrc_points *points, int64_t tile);
/* out (na x nb, row stride ldo, room for nb rounded up to MRC_PACK_SINGLE) = k(x_i, x_j) for i from
 * a0 and j from b0, to some 1e-6. space: mrc_single_size() doubles, of one worker; *column: what it
 * holds, -1 at first. False, with out undefined: many pairs are near each other, so double
 * precision is needed. */
bool mrc_single_tile(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *points,
                     int64_t a0, int64_t na, int64_t b0, int64_t nb, int64_t tile, double *space,
                     int64_t *column, double *out, int64_t ldo);

#endif
