/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers.
 *
 * A sequence: xoshiro256++ seeded by splitmix64. The state is plain data, so that a streaming model
 * can store it.
 *
 * By counter: a number that belongs to a row is a hash of (seed, stream, row). It does not depend
 * on who asks for it, in which order, or for how many other rows, so neither threads nor a division
 * of the rows can show in a result. The seed of such a draw is one number of the sequence. */
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
/* Put the whole list into random order. For lists that everyone holds in full: it takes a number of
 * the sequence for each place. */
void mrc_rng_shuffle(mrc_rng *rng, int64_t *list, int64_t count);
/* Put a random choice of `wanted` of the list (count different numbers) in front, in random order:
 * those of the smallest hashes, whatever the order of the list is. It takes one number of the
 * sequence. */
void mrc_rng_draw(mrc_rng *rng, int64_t *list, int64_t count, int64_t wanted);
/* One number of each of `count` <= n equal stretches of 0 .. n - 1, increasing: a sample that
 * neither the order of rows nor a period among them shows in. It takes one number of the sequence.
 */
void mrc_rng_spread(mrc_rng *rng, int64_t n, int64_t *list, int64_t count);

/* A round of splitmix64. */
static inline uint64_t mrc_rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* 64 random bits. For one seed and stream no two indices give the same bits: every step is
 * invertible. Here, because loops over rows keep what seed and stream give. */
static inline uint64_t mrc_rng_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    const uint64_t step = 0x9e3779b97f4a7c15u, odd = 0xd1342543de82ef95u;
    uint64_t key = mrc_rng_mix(mrc_rng_mix(seed + step) + stream * odd + step);
    /* Multiplied by odd alone, the indices of two streams would be stretches of one sequence. */
    return mrc_rng_mix(key ^ mrc_rng_mix(index * odd + step));
}

/* In (0, 1), an odd multiple of 2^-53: neither its logarithm nor that of the rest to 1 is zero or
 * infinite. */
static inline double mrc_rng_uniform_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return ((double)(mrc_rng_at(seed, stream, index) >> 12) + 0.5) * 0x1p-52;
}

double mrc_rng_normal_at(uint64_t seed, uint64_t stream, uint64_t index); /* mean 0, variance 1 */

#endif
