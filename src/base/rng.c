/* SPDX-License-Identifier: BSD-3-Clause */
/* xoshiro256++ (Blackman and Vigna), normals by the polar method; by counter rounds of splitmix64,
 * normals by Box and Muller. */
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
        rng->s[i] = mrc_rng_mix(seed);
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

void mrc_rng_shuffle(mrc_rng *rng, int64_t *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t other = i + mrc_rng_below(rng, count - i), swap = list[i];
        list[i] = list[other];
        list[other] = swap;
    }
}

double mrc_rng_normal_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    double length = mrc_rng_uniform_at(seed, stream, 2 * index);
    double angle = mrc_rng_uniform_at(seed, stream, 2 * index + 1);
    return sqrt(-2 * log(length)) * cos(2 * M_PI * angle);
}

/* A draw: its hashes are of stream 0, in which no two are equal. */
static uint64_t key_of(uint64_t seed, int64_t number)
{
    return mrc_rng_at(seed, 0, (uint64_t)number);
}

/* Let a number sink to its place in a heap with the largest key on top. */
static void sink(uint64_t seed, int64_t *heap, int64_t size, int64_t at)
{
    int64_t number = heap[at];
    uint64_t key = key_of(seed, number);
    for (int64_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
        uint64_t below = key_of(seed, heap[child]);
        if (child + 1 < size) {
            uint64_t beside = key_of(seed, heap[child + 1]);
            child += beside > below;
            below = beside > below ? beside : below;
        }
        if (below <= key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = number;
}

static void swap_places(int64_t *list, int64_t i, int64_t j)
{
    int64_t number = list[i];
    list[i] = list[j];
    list[j] = number;
}

/* The front of the list is a heap of the smallest keys so far, which is sorted at the end. */
void mrc_rng_draw(mrc_rng *rng, int64_t *list, int64_t count, int64_t wanted)
{
    uint64_t seed = mrc_rng_next(rng);
    if (wanted < 1)
        return;
    for (int64_t i = wanted / 2; i-- > 0;)
        sink(seed, list, wanted, i);
    uint64_t largest = key_of(seed, list[0]);
    for (int64_t i = wanted; i < count; i++)
        if (key_of(seed, list[i]) < largest) {
            swap_places(list, 0, i);
            sink(seed, list, wanted, 0);
            largest = key_of(seed, list[0]);
        }
    for (int64_t size = wanted - 1; size > 0; size--) {
        swap_places(list, 0, size);
        sink(seed, list, size, 0);
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
    uint64_t seed = mrc_rng_next(rng);
    for (int64_t i = 0; i < count; i++) {
        int64_t first = stretch_start(i, count, n), length = stretch_start(i + 1, count, n) - first;
        /* Below length after rounding, too: u is at most 1 - 2^-53, and length 2^-53 is more than
         * half the distance of length from the double before it, or that distance. */
        list[i] = first + (int64_t)(mrc_rng_uniform_at(seed, 0, (uint64_t)i) * (double)length);
    }
}
