/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing, sorting and what comes from it. */
#ifndef MRC_BASE_ORDER_H
#define MRC_BASE_ORDER_H

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

#endif
