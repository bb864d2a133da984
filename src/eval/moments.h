/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean and spread of values, of which those that are NaN are not told. Values are taken in units of
 * the power of two next to the largest one, which changes no bit: squares of huge ones would leave
 * the range of numbers, and those of tiny ones vanish. */
#ifndef MRC_EVAL_MOMENTS_H
#define MRC_EVAL_MOMENTS_H

#include <math.h>
#include <stdint.h>

typedef struct mrc_moments {
    double told;    /* how many are */
    double unit;    /* of mean and, squared, of squares */
    double mean;    /* NaN: none is told */
    double squares; /* the sum of squared differences from the mean */
} mrc_moments;

/* Value number i of what arg is. */
typedef double (*mrc_value_at)(const void *arg, int64_t i);

static inline mrc_moments mrc_moments_of(mrc_value_at at, const void *arg, int64_t count)
{
    enum { MOST = 1000 }; /* the inverse of the unit is a number, too */
    mrc_moments out = {.unit = 1};
    double largest = 0, sum = 0;
    int exponent;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(at(arg, i)));
    if (largest > 0 && isfinite(largest)) {
        frexp(largest, &exponent);
        out.unit = ldexp(1, exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent);
    }
    for (int64_t i = 0; i < count; i++)
        if (!isnan(at(arg, i))) {
            sum += at(arg, i) / out.unit;
            out.told++;
        }
    out.mean = sum / out.told;
    for (int64_t i = 0; i < count; i++)
        if (!isnan(at(arg, i)))
            out.squares += pow(at(arg, i) / out.unit - out.mean, 2);
    return out;
}

static inline double mrc_moments_sd(const mrc_moments *of)
{
    return of->told > 1 ? of->unit * sqrt(of->squares / (of->told - 1)) : NAN;
}

static inline double mrc_moments_mean(const mrc_moments *of)
{
    return of->unit * of->mean;
}

#endif
