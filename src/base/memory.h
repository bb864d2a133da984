/* SPDX-License-Identifier: BSD-3-Clause */
/* All memory of the library. Sizes are multiplied with a check, memory is zeroed, and a test can
 * make the k-th allocation fail and count what is still alive. */
#ifndef MRC_BASE_MEMORY_H
#define MRC_BASE_MEMORY_H

#include "base/error.h"

#include <stdbool.h>

/* *out = a * b in bytes; MERCER_ERR_MEMORY when it overflows or exceeds INT64_MAX. */
mercer_status mrc_size_mul(int64_t a, int64_t b, size_t *out, mercer_error *err);

/* Zeroed array of count elements, aligned to 64 bytes. count = 0 gives a valid pointer. The result
 * goes to *(void **)out; on error it is NULL. Freed by mrc_free. */
mercer_status mrc_alloc(void *out, int64_t count, size_t size, mercer_error *err);
/* Zeroed rows x cols elements. */
mercer_status mrc_alloc2(void *out, int64_t rows, int64_t cols, size_t size, mercer_error *err);
/* Same as mrc_alloc2, but the contents are not defined: for large arrays that are filled at once,
 * where touching every page twice would cost as much as the work. */
mercer_status mrc_alloc2_raw(void *out, int64_t rows, int64_t cols, size_t size, mercer_error *err);
/* Grow (or shrink) the array at *(void **)io to count elements; new ones are not defined. On error
 * the old array stays valid. Arrays that grow come from mrc_grow alone (start with NULL). */
mercer_status mrc_grow(void *io, int64_t count, size_t size, mercer_error *err);
/* A copy of a string; NULL stays NULL. */
mercer_status mrc_strdup(char **out, const char *text, mercer_error *err);
void mrc_free(void *pointer);

/* For tests, and without effect unless the library was built with MRC_ALLOC_AUDIT: make the
 * allocation after the next `after` ones fail (negative: never), and the number of live blocks. */
void mrc_alloc_fail_after(int64_t after);
/* The same of the allocations of the calling thread only; returns how many were still to succeed
 * until then, negative when one has failed or none was to. */
int64_t mrc_alloc_fail_here(int64_t after);
int64_t mrc_alloc_live(void);
/* The most bytes that were there at a time, since the last call with `again`; for tests, too. */
int64_t mrc_alloc_peak(bool again);

#endif
