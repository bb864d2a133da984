/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing, sorting and what comes from it. */
#ifndef MRC_BASE_ORDER_H
#define MRC_BASE_ORDER_H

#include <mercer/status.h>

#include <stdint.h>

static inline int64_t mrc_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* For qsort: increasing. */
int mrc_compare_doubles(const void *a, const void *b);
int mrc_compare_rows(const void *a, const void *b); /* int64_t */

/* The median of n > 0 numbers, whose order it changes: the mean of the two in the middle when n is
 * even. Takes time linear in n. */
double mrc_median(double *values, int64_t n);

/* The groups of the rows `which`, numbered from 0 on as they come up; groups: of n rows, from 0 to
 * n - 1. *out is the caller's. */
mercer_status mrc_groups_take(const int64_t *groups, int64_t n, const int64_t *which, int64_t count,
                              int64_t **out, mercer_error *err);

#endif
