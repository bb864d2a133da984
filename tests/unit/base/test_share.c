/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of counts against exact fractions, and where they are used. */
#include "support.h"

#include "base/share.h"

#include <mercer/mercer.h>

#include <stdio.h>

/* p / 10^digits of n, in whole numbers. */
static void check(int64_t p, int64_t ten, int64_t n)
{
    double share = (double)p / (double)ten; /* the double next to the decimal */
    int64_t down = p * n / ten, up = (p * n + ten - 1) / ten;
    if (mrc_share_floor(share, n) != down || mrc_share_ceil(share, n) != up)
        fail_msg("%.17g of %lld: %lld and %lld, not %lld and %lld", share, (long long)n,
                 (long long)mrc_share_floor(share, n), (long long)mrc_share_ceil(share, n),
                 (long long)down, (long long)up);
}

static void test_every_share_of_few_digits(void **state)
{
    (void)state;
    for (int64_t ten = 10; ten <= 1000; ten *= 10)
        for (int64_t p = 0; p <= ten; p++)
            for (int64_t n = 0; n <= 3000; n++)
                check(p, ten, n);
}

static void test_shares_of_more_digits(void **state)
{
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 1);
    for (int64_t ten = 10000; ten <= 100000000; ten *= 10)
        for (int t = 0; t < 200000; t++) {
            int64_t p = mrc_rng_below(&rng, ten + 1), n = mrc_rng_below(&rng, 5000);
            check(p, ten, n);
            check(p, ten, n * (ten / 1000)); /* where whole products are */
        }
}

static void test_least_number(void **state)
{
    (void)state;
    for (int64_t ten = 10; ten <= 1000000; ten *= 10)
        for (int64_t p = 1; p <= ten; p += ten > 1000 ? 37 : 1) {
            double share = (double)p / (double)ten;
            assert_int_equal(mrc_share_least(share), (ten + p - 1) / p);
        }
    assert_int_equal(mrc_share_least(1e-300), INT64_MAX);
}

static void test_sums_of_equal_parts(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 100; n++) { /* k of n equal parts are k / n of them, k - 1 are less */
        double part = 1.0 / 3, total = 0, sum = 0;
        for (int64_t i = 0; i < n; i++)
            total += part;
        for (int64_t k = 1; k <= n; k++) {
            double target = mrc_share_target((double)k / (double)n, total);
            assert_false(sum >= target);
            sum += part;
            assert_true(sum >= target);
        }
    }
}

/* Components that a share takes of rows that are all alike: unit vectors. */
static void test_share_of_equal_variances(void **state)
{
    enum { N = 100 };
    static const char *const methods[] = {"kpca", "akfa", "akfa:captured", "rkpca:points=100"};
    mercer_ctx *ctx = new_ctx(1);
    double *gram = new_doubles(N * N);
    mercer_rows *rows = NULL;
    (void)state;
    for (int64_t i = 0; i < N; i++)
        gram[i * N + i] = 1;
    rows = view(ctx, gram, N, N);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int64_t percent = 1; percent < 100; percent++) {
            mercer_fit_options options;
            mercer_model *model = NULL;
            mercer_model_info info = {.struct_size = sizeof info};
            char text[64];
            bool stop = strstr(methods[m], "captured") != NULL;
            mercer_fit_options_init(&options);
            snprintf(text, sizeof text, stop ? "%s=0.%02lld" : "%s", methods[m],
                     (long long)percent);
            options.method = text;
            options.kernel = "precomputed";
            options.center = "none";
            options.components = stop ? N : (double)percent / 100;
            assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
            mercer_model_get_info(model, &info);
            if (info.components != percent)
                fail_msg("%s, %lld %%: %lld components", text, (long long)percent,
                         (long long)info.components);
            mercer_model_free(model);
        }
    mercer_rows_free(rows);
    free(gram);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_share_of_few_digits),
        cmocka_unit_test(test_shares_of_more_digits),
        cmocka_unit_test(test_least_number),
        cmocka_unit_test(test_sums_of_equal_parts),
        cmocka_unit_test(test_share_of_equal_variances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
