/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays as they lie in memory: what a program and the library show each other without a copy. */
#ifndef MERCER_ARRAY_H
#define MERCER_ARRAY_H

#include <mercer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of values; those of the machine. */
typedef enum mercer_dtype {
    MERCER_F64 = 0,
    MERCER_F32 = 1,
    MERCER_U8 = 2,
    MERCER_I64 = 3,
    MERCER_I32 = 4,
} mercer_dtype;

/* A vector (rank 1, shape[1] is 1) or a matrix (rank 2). Set struct_size before a call that fills
 * one. Experimental. */
typedef struct mercer_array {
    size_t struct_size;
    const void *data;
    mercer_dtype dtype;
    int rank;
    int64_t shape[2];
    int64_t stride[2];           /* in values; both 0: packed, row-major */
    void (*release)(void *host); /* called with host when a view of the data is freed, or NULL */
    void *host;
} mercer_array;
MERCER_VERSIONED(array)

#ifdef __cplusplus
}
#endif
#endif
