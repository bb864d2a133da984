/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers by counter: their bits against another implementation (rng_values.py), how they
 * are spread over one stream, over streams and seeds, and what is drawn with them. */
#include "support.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint64_t seed, stream, index, bits;
    double uniform, normal;
} table[] = {
#include "rng_values.inc"
};

static void expect_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", value, tolerance, expected);
}

static void test_bits_are_those_of_the_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t seed = table[i].seed, stream = table[i].stream, index = table[i].index;
        assert_true(mrc_rng_at(seed, stream, index) == table[i].bits);
        assert_true(mrc_rng_uniform_at(seed, stream, index) == table[i].uniform);
        /* Logarithm and cosine are those of two libraries. */
        expect_near(mrc_rng_normal_at(seed, stream, index), table[i].normal, 1e-13);
    }
}

/* ---- ways through (seed, stream, index) that a weak hash shows itself on ---- */

struct way {
    const char *name;
    uint64_t seed, stream, index, by_seed, by_stream, by_index;
};

static const struct way ways[] = {
    {"indices", 1, 0, 0, 0, 0, 1},
    {"indices of seed 0, from far on", 0, 3, UINT64_C(1) << 40, 0, 0, 1},
    {"every 256th index", 1, 0, 0, 0, 0, 256},
    {"high bits of the index", 1, 0, 0, 0, 0, UINT64_C(1) << 44},
    {"streams", 1, 0, 0, 0, 1, 0},
    {"streams of one far row", 5, 0, 999999, 0, 1, 0},
    {"seeds", 0, 0, 0, 1, 0, 0},
    {"seeds of one row and stream", 0, 17, 4096, 1, 0, 0},
    {"index and stream together", 1, 0, 0, 0, 1, 1},
    {"index against stream", 1, 1 << 20, 0, 0, UINT64_MAX, 1},
    {"seed and stream together", 0, 0, 7, 1, 1, 0},
};

static uint64_t along(const struct way *w, uint64_t i)
{
    return mrc_rng_at(w->seed + i * w->by_seed, w->stream + i * w->by_stream,
                      w->index + i * w->by_index);
}

enum { LONG = 1 << 18 };

/* Chi squared over 256 equal stretches has mean 255 and variance 510: six standard deviations. */
static void expect_even(const char *name, const int64_t *counts, int64_t total)
{
    double chi2 = 0, expected = (double)total / 256;
    for (int i = 0; i < 256; i++)
        chi2 += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    if (fabs(chi2 - 255) > 6 * sqrt(510.0))
        fail_msg("%s: chi squared %g of 255 degrees of freedom", name, chi2);
}

static void test_each_byte_is_uniform(void **state)
{
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int shift = 0; shift < 64; shift += 8) {
            int64_t counts[256] = {0};
            for (uint64_t i = 0; i < LONG; i++)
                counts[along(&ways[w], i) >> shift & 255]++;
            expect_even(ways[w].name, counts, LONG);
        }
}

/* Pairs of neighbours, at several distances, over 16 x 16 squares: high bits and low ones. */
static void test_neighbours_are_independent(void **state)
{
    static const uint64_t distances[] = {1, 2, 3, 16, 255, 256, 4096};
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
            int64_t high[256] = {0}, low[256] = {0};
            for (uint64_t i = 0; i < LONG; i++) {
                uint64_t a = along(&ways[w], i), b = along(&ways[w], i + distances[d]);
                high[(a >> 60) * 16 + (b >> 60)]++;
                low[(a & 15) * 16 + (b & 15)]++;
            }
            expect_even(ways[w].name, high, LONG);
            expect_even(ways[w].name, low, LONG);
        }
}

/* Two streams, or two seeds, over the same rows: correlation of the numbers has a standard
 * deviation of 1/sqrt(LONG). Also shifted by some rows, where sequences would overlap. */
static void test_streams_and_seeds_are_independent(void **state)
{
    static const uint64_t others[][3] = {{1, 1, 0}, {2, 0, 0},  {1, 2, 0},   {1, 1, 1},
                                         {1, 1, 5}, {1, 64, 0}, {3, 3, 256}, {UINT64_MAX, 0, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        double sum = 0;
        for (uint64_t i = 0; i < LONG; i++)
            sum += (mrc_rng_uniform_at(1, 0, i) - 0.5) *
                   (mrc_rng_uniform_at(others[k][0], others[k][1], i + others[k][2]) - 0.5);
        expect_near(12 * sum / LONG, 0, 6 / sqrt((double)LONG));
    }
}

/* One bit of seed, stream or index changes half of the 64 bits: the mean over 4096 places has a
 * standard deviation of 4/64 of a bit. */
static void test_one_bit_changes_half_of_all(void **state)
{
    enum { PLACES = 4096 };
    (void)state;
    for (int which = 0; which < 3; which++)
        for (int bit = 0; bit < 64; bit++) {
            uint64_t one = UINT64_C(1) << bit;
            int64_t changed = 0;
            for (uint64_t i = 0; i < PLACES; i++)
                changed += __builtin_popcountll(mrc_rng_at(9, i / 64, i % 64) ^
                                                mrc_rng_at(9 ^ (which == 0 ? one : 0),
                                                           (i / 64) ^ (which == 1 ? one : 0),
                                                           (i % 64) ^ (which == 2 ? one : 0)));
            expect_near((double)changed / PLACES, 32, 6 * 4 / 64.0);
        }
}

static int by_bits(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void test_no_two_rows_of_a_stream_are_equal(void **state)
{
    uint64_t *all = NULL;
    (void)state;
    assert_int_equal(mrc_alloc(&all, LONG, sizeof *all, NULL), MERCER_OK);
    for (uint64_t i = 0; i < LONG; i++)
        all[i] = mrc_rng_at(4, 2, i);
    qsort(all, LONG, sizeof *all, by_bits);
    for (int i = 1; i < LONG; i++)
        assert_true(all[i - 1] != all[i]);
    mrc_free(all);
}

/* Kolmogorov's distance of the normals from their distribution, and their moments. */
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_normals(void **state)
{
    double *x = NULL;
    (void)state;
    assert_int_equal(mrc_alloc(&x, LONG, sizeof *x, NULL), MERCER_OK);
    for (uint64_t stream = 0; stream < 6; stream++) {
        double moment[5] = {0}, furthest = 0;
        for (int64_t i = 0; i < LONG; i++) {
            x[i] = mrc_rng_normal_at(1, stream, (uint64_t)i);
            for (int m = 1; m < 5; m++)
                moment[m] += pow(x[i], m) / LONG;
        }
        qsort(x, LONG, sizeof *x, by_value);
        for (int64_t i = 0; i < LONG; i++)
            furthest = fmax(furthest, fabs(0.5 * erfc(-x[i] / sqrt(2)) - ((double)i + 0.5) / LONG));
        assert_true(furthest * sqrt((double)LONG) < 2); /* beyond with probability 7e-4 */
        expect_near(moment[1], 0, 6 / sqrt((double)LONG));
        expect_near(moment[2], 1, 6 * sqrt(2.0 / LONG));
        expect_near(moment[3], 0, 6 * sqrt(15.0 / LONG));
        expect_near(moment[4], 3, 6 * sqrt(96.0 / LONG));
    }
    mrc_free(x);
}

/* Logarithms of the uniform numbers and of their rest to 1 are finite, at both ends: the table has
 * the places where all bits are 0, and all are 1. */
static void test_uniform_ends(void **state)
{
    int zeroes = 0, ones = 0;
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double u = mrc_rng_uniform_at(table[i].seed, table[i].stream, table[i].index);
        zeroes += u == 0x1p-53;
        ones += u == 1 - 0x1p-53;
        assert_true(isfinite(log(u)) && -log(u) > 0 && isfinite(log(1 - u)) && -log(1 - u) > 0);
    }
    assert_true(zeroes > 0 && ones > 0);
}

/* ---- what is drawn ---- */

static uint64_t key_of(uint64_t seed, int64_t number)
{
    return mrc_rng_at(seed, 0, (uint64_t)number);
}

/* A draw is a plain sort by hashes, cut off; the rest of the list is still there; neither the order
 * of the list nor numbers that are not drawn matter. */
static void test_draw_is_a_sort_by_hashes(void **state)
{
    static const int64_t counts[] = {1, 2, 3, 7, 64, 100, 1001};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int64_t wanted = 0; wanted <= counts[c]; wanted += 1 + wanted / 7)
            for (uint64_t seed = 0; seed < 5; seed++) {
                int64_t count = counts[c], list[1001], again[1001], sorted[1001];
                mrc_rng rng, same;
                mrc_rng_seed(&rng, seed);
                same = rng;
                for (int64_t i = 0; i < count; i++) {
                    list[i] = sorted[i] = 3 * i + 1;
                    again[i] = 3 * (count - 1 - i) + 1;
                }
                uint64_t key = mrc_rng_next(&same);
                mrc_rng_draw(&rng, list, count, wanted);
                assert_memory_equal(rng.s, same.s, sizeof rng.s); /* one number of the sequence */
                for (int64_t i = 1; i < count; i++)               /* insertion */
                    for (int64_t j = i;
                         j > 0 && key_of(key, sorted[j]) < key_of(key, sorted[j - 1]); j--) {
                        int64_t swap = sorted[j];
                        sorted[j] = sorted[j - 1];
                        sorted[j - 1] = swap;
                    }
                for (int64_t i = 0; i < wanted; i++)
                    assert_int_equal(list[i], sorted[i]);
                mrc_rng_seed(&rng, seed);
                mrc_rng_draw(&rng, again, count, wanted);
                for (int64_t i = 0; i < wanted; i++)
                    assert_int_equal(again[i], list[i]);
                qsort(list, (size_t)count, sizeof *list, mrc_compare_rows);
                for (int64_t i = 0; i < count; i++)
                    assert_int_equal(list[i], 3 * i + 1);
            }
}

/* Every number is as likely at every place of a draw, and every pair of first two: 5 of 16. */
static void test_draw_is_fair(void **state)
{
    enum { DRAWS = 1 << 16 };
    int64_t at[16][5] = {{0}}, pairs[256] = {0};
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 3);
    for (int t = 0; t < DRAWS; t++) {
        int64_t list[16];
        for (int64_t i = 0; i < 16; i++)
            list[i] = i;
        mrc_rng_draw(&rng, list, 16, 5);
        for (int i = 0; i < 5; i++)
            at[list[i]][i]++;
        pairs[list[0] * 16 + list[1]]++;
    }
    for (int number = 0; number < 16; number++)
        for (int place = 0; place < 5; place++)
            expect_near((double)at[number][place], DRAWS / 16.0, 6 * sqrt(DRAWS / 16.0));
    for (int pair = 0; pair < 256; pair++)
        if (pair / 16 == pair % 16)
            assert_int_equal(pairs[pair], 0);
        else
            expect_near((double)pairs[pair], DRAWS / 240.0, 6 * sqrt(DRAWS / 240.0));
}

static void test_spread_takes_one_of_each_stretch(void **state)
{
    int64_t counts[256] = {0}, total = 0;
    (void)state;
    for (int64_t n = 1; n < 400; n += 1 + n / 5)
        for (int64_t count = 1; count <= n; count += 1 + count / 3)
            for (uint64_t seed = 0; seed < 20; seed++) {
                int64_t list[400];
                mrc_rng rng;
                mrc_rng_seed(&rng, seed);
                mrc_rng_spread(&rng, n, list, count);
                for (int64_t i = 0; i < count; i++)
                    assert_true(list[i] >= n * i / count && list[i] < n * (i + 1) / count);
            }
    for (uint64_t seed = 0; seed < 1000; seed++) { /* within a stretch each is as likely */
        int64_t list[100];
        mrc_rng rng;
        mrc_rng_seed(&rng, seed);
        mrc_rng_spread(&rng, 25600, list, 100);
        for (int i = 0; i < 100; i++, total++)
            counts[list[i] % 256]++;
    }
    expect_even("places in a stretch", counts, total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_are_those_of_the_definition),
        cmocka_unit_test(test_each_byte_is_uniform),
        cmocka_unit_test(test_neighbours_are_independent),
        cmocka_unit_test(test_streams_and_seeds_are_independent),
        cmocka_unit_test(test_one_bit_changes_half_of_all),
        cmocka_unit_test(test_no_two_rows_of_a_stream_are_equal),
        cmocka_unit_test(test_normals),
        cmocka_unit_test(test_uniform_ends),
        cmocka_unit_test(test_draw_is_a_sort_by_hashes),
        cmocka_unit_test(test_draw_is_fair),
        cmocka_unit_test(test_spread_takes_one_of_each_stretch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
