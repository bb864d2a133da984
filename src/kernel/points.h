/* SPDX-License-Identifier: BSD-3-Clause */
/* How rows are prepared for kernel tiles. */
#ifndef MRC_KERNEL_POINTS_H
#define MRC_KERNEL_POINTS_H

#include "kernel/kernel.h"

/* Up to this many columns a Gaussian is computed from differences instead of GEMM: the plain loop
 * costs 2 d operations per pair but keeps every digit. */
enum { MRC_SMALL_DIMENSION = 8 };

#endif
