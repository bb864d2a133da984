/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers: xoshiro256++ seeded by splitmix64. The state is plain data, so that a streaming
 * model can store it. */
#ifndef MRC_BASE_RNG_H
#define MRC_BASE_RNG_H

#include <stdint.h>

typedef struct mrc_rng {
    uint64_t s[4];
    double spare; /* second normal of a pair */
    int has_spare;
} mrc_rng;

void mrc_rng_seed(mrc_rng *rng, uint64_t seed);
uint64_t mrc_rng_next(mrc_rng *rng);
double mrc_rng_uniform(mrc_rng *rng);               /* in [0, 1) */
double mrc_rng_normal(mrc_rng *rng);                /* mean 0, variance 1 */
int64_t mrc_rng_below(mrc_rng *rng, int64_t bound); /* in [0, bound), unbiased; bound > 0 */
/* Shuffle list (count numbers) until the first `wanted` are a random choice, in random order. */
void mrc_rng_draw(mrc_rng *rng, int64_t *list, int64_t count, int64_t wanted);
/* One number of each of `count` <= n equal stretches of 0 .. n - 1, increasing: a sample that
 * neither the order of rows nor a period among them shows in. */
void mrc_rng_spread(mrc_rng *rng, int64_t n, int64_t *list, int64_t count);

#endif
