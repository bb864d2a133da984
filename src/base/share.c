/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of counts.
 *
 * A decimal share is off by half a unit in its last place at most, and so is the product: within
 * 2^-52 of its size in all. A true product that is not a whole number is farther away, unless the
 * share has more than twelve digits beyond those of n. */
#include "base/share.h"

#include <float.h>
#include <math.h>

/* x, or the whole number that it differs from only by rounding. */
static double settled(double x)
{
    double whole = nearbyint(x);
    return fabs(x - whole) <= 2 * DBL_EPSILON * fabs(x) ? whole : x;
}

int64_t mrc_share_floor(double share, int64_t n)
{
    return (int64_t)floor(settled(share * (double)n));
}

int64_t mrc_share_ceil(double share, int64_t n)
{
    return (int64_t)ceil(settled(share * (double)n));
}

int64_t mrc_share_least(double share)
{
    double least = ceil(settled(1 / share));
    return least < 0x1p62 ? (int64_t)least : INT64_MAX;
}

double mrc_share_target(double share, double total)
{
    static const double ROUNDING = 1e-12; /* of sums of many parts, each of its own size */
    return share * total * (1 - ROUNDING);
}
