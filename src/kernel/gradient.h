/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of functions made of kernels, for kernels that have a slope (named.h). */
#ifndef MRC_KERNEL_GRADIENT_H
#define MRC_KERNEL_GRADIENT_H

#include "kernel/kernel.h"

/* Whether the kernel has gradients; a combination has none. */
bool mrc_kernel_has_gradient(const mrc_kernel *kernel);
/* Names of the kernels that do, "rbf, poly, ...", in text, which is returned. */
const char *mrc_kernels_with_gradient(char *text, size_t size);

/* out (count x n) = derivatives of k(x_t, x_i) by the sum that it is a function of, for
 * t = first .. first + count and all n points; near (as many): which pairs are so near that their
 * differences are to be taken one by one. Points are prepared for the kernel and not packed;
 * sparse ones need no index, but are faster with one. Single-threaded, like the next one. */
void mrc_kernel_slopes(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *points,
                       int64_t first, int64_t count, double *out, bool *near);
/* out (count x d) = gradients, at the same points, of f(x) = sum_i a[i outputs] k(x, x_i). A kernel
 * that has none where two points are equal is left out there. scratch: mrc_gradient_scratch()
 * doubles. */
int64_t mrc_gradient_scratch(const mrc_points *points, int64_t count);
void mrc_kernel_gradients(const mrc_kernel *kernel, const mrc_points *points, int64_t first,
                          int64_t count, const double *slopes, const bool *near, const double *a,
                          int64_t outputs, double *scratch, double *out);

#endif
