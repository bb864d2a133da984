/* SPDX-License-Identifier: BSD-3-Clause */
/* xoshiro256++ (Blackman and Vigna), normals by the polar method. */
#include "base/rng.h"

#include <math.h>

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void mrc_rng_seed(mrc_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        rng->s[i] = z ^ (z >> 31);
    }
    rng->spare = 0;
    rng->has_spare = 0;
}

uint64_t mrc_rng_next(mrc_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double mrc_rng_uniform(mrc_rng *rng)
{
    return (double)(mrc_rng_next(rng) >> 11) * 0x1p-53;
}

double mrc_rng_normal(mrc_rng *rng)
{
    if (rng->has_spare) {
        rng->has_spare = 0;
        return rng->spare;
    }
    double u, v, s;
    do {
        u = 2 * mrc_rng_uniform(rng) - 1;
        v = 2 * mrc_rng_uniform(rng) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    double factor = sqrt(-2 * log(s) / s);
    rng->spare = v * factor;
    rng->has_spare = 1;
    return u * factor;
}

int64_t mrc_rng_below(mrc_rng *rng, int64_t bound)
{
    uint64_t range = (uint64_t)bound;
    uint64_t limit = UINT64_MAX - UINT64_MAX % range; /* a multiple of range: no bias below it */
    uint64_t x;
    do
        x = mrc_rng_next(rng);
    while (x >= limit);
    return (int64_t)(x % range);
}

void mrc_rng_draw(mrc_rng *rng, int64_t *list, int64_t count, int64_t wanted)
{
    for (int64_t i = 0; i < wanted; i++) {
        int64_t other = i + mrc_rng_below(rng, count - i), swap = list[i];
        list[i] = list[other];
        list[other] = swap;
    }
}

/* floor(n i / parts) for i up to parts. In doubles the quotient would come out below an integer
 * that it is; n is split first, so that the product does not overflow. */
static int64_t stretch_start(int64_t i, int64_t parts, int64_t n)
{
    return n / parts * i + n % parts * i / parts;
}

void mrc_rng_spread(mrc_rng *rng, int64_t n, int64_t *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t first = stretch_start(i, count, n), length = stretch_start(i + 1, count, n) - first;
        list[i] = first + (length > 1 ? mrc_rng_below(rng, length) : 0);
    }
}
