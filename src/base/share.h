/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of counts. Every share that becomes a count goes through here: 0.29 of 100 are 29 and 0.07
 * of 100 are 7, though the products of the doubles are 28.999999999999996 and 7.000000000000001. */
#ifndef MRC_BASE_SHARE_H
#define MRC_BASE_SHARE_H

#include <stdint.h>

/* share * n of the decimal number that share stands for, rounded down or up; share >= 0, n >= 0. A
 * product that lies within rounding of a whole number is that number. */
int64_t mrc_share_floor(double share, int64_t n);
int64_t mrc_share_ceil(double share, int64_t n);

/* The least number of which the share, in (0,1], is one at least. */
int64_t mrc_share_least(double share);

/* What a sum of parts has to come to, to be this share of their total: 18 equal ones of 20 are 0.9
 * of them, whatever the last digits say. */
double mrc_share_target(double share, double total);

#endif
