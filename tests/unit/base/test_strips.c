/* SPDX-License-Identifier: BSD-3-Clause */
/* How rows are cut, and sums over them: the bits of a plain loop over the parts in order, whatever
 * memory they may take and however many threads there are. */
#include "support.h"

#include "base/ctx.h"
#include "base/strips.h"

static void test_parts_cover_the_rows(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 3000000; n = n < 3000 ? n + 1 : n + n / 97) {
        int64_t strips = 0, parts, longest = 0, shortest = INT64_MAX;
        while (strips * 256 < n)
            strips++;
        parts = strips % 4 ? strips / 4 + 1 : strips / 4;
        parts = parts > 1024 ? 1024 : parts;
        assert_int_equal(mrc_strips(n), strips);
        assert_int_equal(mrc_parts(n), parts);
        assert_int_equal(mrc_part_start(n, parts), n);
        for (int64_t p = 0; p < parts; p++) {
            int64_t first = mrc_part_start(n, p), end = mrc_part_start(n, p + 1);
            assert_true(p > 0 || first == 0);
            assert_int_equal(first % 256, 0);
            int64_t size = (end - first + 255) / 256; /* strips */
            longest = size > longest ? size : longest;
            shortest = size < shortest ? size : shortest;
        }
        if (parts > 0) /* as even as whole strips can be */
            assert_true(shortest >= 1 && longest - shortest <= 1);
    }
}

struct table {
    const double *x;
    int64_t width;
    mercer_ctx *cancels; /* or NULL */
};

static void add_rows(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct table *t = arg;
    (void)worker;
    for (int64_t i = first; i < end; i++)
        for (int64_t j = 0; j < t->width; j++)
            sum[j] += t->x[i * t->width + j];
    if (t->cancels)
        mercer_ctx_cancel(t->cancels);
}

/* The same in one loop, from the definition. */
static void plain_sum(const struct table *t, int64_t n, double *out)
{
    int64_t strips = (n + 255) / 256, parts = (strips + 3) / 4;
    parts = parts > 1024 ? 1024 : parts;
    for (int64_t j = 0; j < t->width; j++) {
        out[j] = 0;
        for (int64_t p = 0; p < parts; p++) {
            double sum = 0;
            for (int64_t i = strips * p / parts * 256; i < strips * (p + 1) / parts * 256; i++)
                sum += i < n ? t->x[i * t->width + j] : 0;
            out[j] += sum;
        }
    }
}

static void test_sums_are_those_of_parts_in_order(void **state)
{
    static const int64_t sizes[][2] = {{0, 3},       {1, 1},      {255, 2},   {1024, 5},
                                       {1025, 1},    {5000, 7},   {20000, 1}, {70000, 40},
                                       {1200000, 1}, {9000, 5000}};
    static const double rooms[] = {0, 1, 100, 1e4, 1e9};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s][0], width = sizes[s][1];
        double *x = new_doubles(n * width), *expected = new_doubles(width),
               *out = new_doubles(width);
        for (int64_t i = 0; i < n * width; i++) /* of many sizes: order shows */
            x[i] = mrc_rng_normal_at(1, s, (uint64_t)i) * pow(10, (double)(i % 9) - 4);
        struct table t = {.x = x, .width = width};
        plain_sum(&t, n, expected);
        for (int threads = 1; threads < 5; threads++) {
            mercer_ctx *ctx = new_ctx(threads);
            for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++)
                for (int large = 0; large < 2; large++) {
                    memset(out, 0x55, (size_t)width * sizeof *out);
                    assert_ok(mrc_sum_parts(ctx, n, width, rooms[r], large ? 1e12 : 0, add_rows, &t,
                                            out, err));
                    assert_memory_equal(out, expected, (size_t)width * sizeof *out);
                }
            mercer_ctx_free(ctx);
        }
        if (width == 1)
            assert_true(mrc_sum_rows(x, n) == expected[0]);
        free(x);
        free(expected);
        free(out);
    }
}

static void test_a_sum_can_be_cancelled(void **state)
{
    mercer_ctx *ctx = new_ctx(2);
    double *x = new_doubles(100000), out;
    struct table t = {.x = x, .width = 1, .cancels = ctx};
    (void)state;
    assert_int_equal(mrc_sum_parts(ctx, 100000, 1, 1, 1e12, add_rows, &t, &out, NULL),
                     MERCER_ERR_CANCELLED);
    free(x);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_cover_the_rows),
        cmocka_unit_test(test_sums_are_those_of_parts_in_order),
        cmocka_unit_test(test_a_sum_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
