/* SPDX-License-Identifier: BSD-3-Clause */
/* The median against sorting, over all small sizes and orders that make selection slow. */
#include "support.h"

#include "base/order.h"
#include "base/rng.h"

#include <float.h>

static double plain_median(const double *values, int64_t n)
{
    double *sorted = new_doubles(n);
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = i; j > 0 && sorted[j] < sorted[j - 1]; j--) {
            double larger = sorted[j - 1];
            sorted[j - 1] = sorted[j];
            sorted[j] = larger;
        }
    double median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    free(sorted);
    return median;
}

enum { RANDOM, TIES, RISING, FALLING, PIPES, EQUAL, SAWTOOTH, ORDERS };

static double value_of(int order, mrc_rng *rng, int64_t i, int64_t n)
{
    switch (order) {
    case RANDOM:
        return mrc_rng_normal(rng);
    case TIES:
        return (double)mrc_rng_below(rng, 4);
    case RISING:
        return (double)i;
    case FALLING:
        return (double)(n - i);
    case PIPES:
        return (double)(i < n / 2 ? i : n - i);
    case SAWTOOTH:
        return (double)(i * 7 % 13);
    default:
        return 3;
    }
}

static void test_median_equals_sorting(void **state)
{
    (void)state;
    mrc_rng rng;
    mrc_rng_seed(&rng, 1);
    for (int order = 0; order < ORDERS; order++)
        for (int64_t n = 1; n <= 400; n += n < 80 ? 1 : 9) {
            double values[400];
            for (int64_t i = 0; i < n; i++)
                values[i] = value_of(order, &rng, i, n);
            double plain = plain_median(values, n);
            if (mrc_median(values, n) != plain)
                fail_msg("order %d, %lld values: %.17g", order, (long long)n, plain);
        }
}

static void test_median_at_the_ends_of_doubles(void **state)
{
    (void)state;
    double huge[] = {DBL_MAX, DBL_MAX}, tiny[] = {0x1p-1074, 0x1p-1074}, far[] = {INFINITY, 1, 2};
    assert_true(mrc_median(huge, 2) == DBL_MAX);
    assert_true(mrc_median(tiny, 2) == 0x1p-1074);
    assert_true(mrc_median(far, 3) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_equals_sorting),
        cmocka_unit_test(test_median_at_the_ends_of_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
