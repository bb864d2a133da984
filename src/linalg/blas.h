/* SPDX-License-Identifier: BSD-3-Clause */
/* Which BLAS runs, and with which of its kernels. */
#ifndef MRC_LINALG_BLAS_H
#define MRC_LINALG_BLAS_H

#include <mercer/status.h>

#include <stdbool.h>

/* Vector instructions, narrow ones first. A processor that has one has those before it. */
typedef enum mrc_vectors {
    MRC_VECTORS_UNKNOWN,
    MRC_VECTORS_SSE2,
    MRC_VECTORS_SSE3,
    MRC_VECTORS_SSE42,
    MRC_VECTORS_AVX,
    MRC_VECTORS_AVX2,
    MRC_VECTORS_AVX512
} mrc_vectors;

/* The widest that kernels of OpenBLAS use, by their name; MRC_VECTORS_UNKNOWN for other names. */
mrc_vectors mrc_kernels_vectors(const char *kernels);

/* The kernels of OpenBLAS for a processor with these vector instructions where those taken are
 * narrower; NULL where they are not, or where that cannot be told. */
const char *mrc_kernels_wider(const char *taken, mrc_vectors processor);

/* Whether the BLAS is another one than the library was linked for: a host process that has loaded
 * another build of OpenBLAS first gives us that one. */
bool mrc_blas_is_foreign(void);

#endif
