/* SPDX-License-Identifier: BSD-3-Clause */
/* How rows are cut, and sums over them: the bits of a plain loop over the parts in order, whatever
 * memory they may take and however many threads and ranks there are; wide ones are exact. */
#include "ranks.h"

#include "quadruple.h"

#include "base/ctx.h"
#include "base/rng.h"
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
    int64_t columns;     /* 0: width; else rows have as many, again and again */
    mercer_ctx *cancels; /* or NULL */
};

static void add_rows(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct table *t = arg;
    int64_t columns = t->columns > 0 ? t->columns : t->width;
    (void)worker;
    for (int64_t i = first; i < end; i++)
        for (int64_t j = 0; j < columns; j++)
            sum[j] += t->x[i * columns + j];
    for (int64_t j = columns; j < t->width; j++)
        sum[j] = sum[j - columns];
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

/* ---- ranks ---- */

/* A sum of many numbers per row: by parts with their bits, or wide enough for the grids. */
struct spread_sum {
    const struct table *table;
    int64_t n;
    double bound;
    double *expected;
};

static mercer_status sum_here(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    const struct spread_sum *w = rank->arg;
    int64_t width = w->table->width;
    mrc_span span = mrc_span_of_rank(w->n, mercer_ctx_rank(ctx), mercer_ctx_ranks(ctx));
    struct table mine = *w->table;
    mine.x += span.first * (mine.columns > 0 ? mine.columns : width);
    double *out = NULL, total = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&out, width, sizeof *out, err));
    MRC_TRY(mrc_sum_span(ctx, &span, width, 1e4, 1e12, w->bound, add_rows, &mine, out, err));
    assert_memory_equal(out, w->expected, (size_t)width * sizeof *out);
    if (width == 1) {
        MRC_TRY(mrc_sum_span_rows(ctx, &span, mine.x, &total, err));
        assert_true(total == w->expected[0]);
    }
out:
    mrc_free(out);
    return mrc_comm_agree(ctx, rc, err);
}

static void run_spread(const struct spread_sum *w)
{
    static const int sizes[] = {1, 2, 3, 4, 7};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct rank_world world = {.size = sizes[s], .fail_rank = -1};
        struct rank ranks[MAX_RANKS] = {0};
        for (int r = 0; r < sizes[s]; r++) {
            ranks[r].fail_alloc = -1;
            ranks[r].arg = (void *)(uintptr_t)w;
        }
        run_ranks(&world, ranks, sum_here);
        for (int r = 0; r < sizes[s]; r++)
            if (ranks[r].rc != MERCER_OK)
                fail_msg("%d ranks, rank %d: %s", sizes[s], r, ranks[r].why.text);
    }
}

static void test_ranks_have_whole_parts(void **state)
{
    static const int64_t counts[] = {1, 255, 256, 257, 2500, 100000, 4000000};
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int ranks = 1; ranks < 20; ranks++) {
            int64_t next = 0;
            for (int r = 0; r < ranks; r++) {
                mrc_span span = mrc_span_of_rank(counts[k], r, ranks);
                assert_true(span.first == next && span.n >= 0 && span.total == counts[k]);
                assert_true(span.n == 0 || span.first % MRC_STRIP == 0);
                next += span.n;
            }
            assert_true(next == counts[k]);
        }
}

static void test_spread_sums_have_the_bits_of_one_rank(void **state)
{
    static const int64_t counts[] = {1, 255, 257, 2500, 20011};
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int64_t width = 1; width < 10; width += 8) {
            double *x = new_doubles(counts[k] * width), *expected = new_doubles(width);
            struct table t = {.x = x, .width = width};
            for (int64_t i = 0; i < counts[k] * width; i++)
                x[i] = sin(1.7 * (double)i) * ldexp(1, (int)(i * 7 % 60) - 30);
            plain_sum(&t, counts[k], expected);
            run_spread(&(struct spread_sum){.table = &t, .n = counts[k], .expected = expected});
            free(x);
            free(expected);
        }
}

/* Wide sums: one result on any number of ranks, the true one to 2^-70 of the bound and rounding. */
static void test_wide_sums_are_exact_on_any_number_of_ranks(void **state)
{
    enum { N = 20011, WIDTH = 60000 };
    static const double sizes[] = {1, 1e-300, 1e290};
    double *x = calloc((size_t)N * 4, sizeof *x), *out = new_doubles(WIDTH);
    long double sums[4];
    mercer_ctx *ctx = new_ctx(2);
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        memset(sums, 0, sizeof sums);
        for (int64_t i = 0; i < (int64_t)N * 4; i++) {
            double value = sin(1.3 * (double)i) * pow(10, (double)(i * 11 % 15) - 15);
            if (i % 4 == 3) /* cancels except for a little */
                value = (i / 4 % 2 ? -1 : 1) + (i / 4 == N - 1 ? 1e-9 - 1 : 0);
            x[i] = value * sizes[s];
            sums[i % 4] += (long double)value;
        }
        struct table t = {.x = x, .width = WIDTH, .columns = 4};
        mrc_span whole = mrc_span_whole(N);
        double bound = 2.0 * N * sizes[s];
        assert_ok(mrc_sum_span(ctx, &whole, WIDTH, 1e6, 1e12, bound, add_rows, &t, out, err));
        for (int64_t j = 0; j < WIDTH; j++)
            assert_true(fabsl((long double)(out[j] / sizes[s]) - sums[j % 4]) <=
                        3e-15L + 2e-16L * fabsl(sums[j % 4]));
        run_spread(&(struct spread_sum){.table = &t, .n = N, .expected = out, .bound = bound});
    }
    free(x);
    free(out);
    mercer_ctx_free(ctx);
}

/* Whatever the order and the tree of additions. */
static void test_grids_are_exact_in_any_order(void **state)
{
    enum { MANY = 1024 };
    double x[MANY];
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 3);
    for (int round = 0; round < 200; round++) {
        double bound = 0, first = 0;
        for (int i = 0; i < MANY; i++) {
            x[i] = mrc_rng_normal(&rng) * pow(10, -15 * mrc_rng_uniform(&rng));
            if (i % 2 && round % 2)
                x[i] = -x[i - 1] * (1 + 1e-12 * mrc_rng_uniform(&rng));
            bound = fmax(bound, fabs(x[i]));
        }
        quad exact = 0;
        mrc_grids g = mrc_grids_for(bound, MANY);
        for (int i = 0; i < MANY; i++)
            exact += x[i];
        for (int order = 0; order < 5; order++) {
            double high[MANY] = {0}, low[MANY] = {0};
            int left = MANY;
            for (int i = 0; i < MANY; i++)
                mrc_grids_add(&g, x[i], &high[i], &low[i]);
            while (left > 1) { /* a random pair becomes one */
                int a = (int)mrc_rng_below(&rng, left), b = (int)mrc_rng_below(&rng, left - 1);
                b += b >= a;
                high[a] += high[b];
                low[a] += low[b];
                left--;
                high[b] = high[left];
                low[b] = low[left];
            }
            double sum = mrc_grids_sum(&g, high[0], low[0]);
            if (order == 0)
                first = sum;
            assert_true(sum == first);
            assert_true(fabs((double)(sum - exact)) <=
                        1.2e-16 * fabs((double)exact) + 1e-18 * bound);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_cover_the_rows),
        cmocka_unit_test(test_sums_are_those_of_parts_in_order),
        cmocka_unit_test(test_a_sum_can_be_cancelled),
        cmocka_unit_test(test_ranks_have_whole_parts),
        cmocka_unit_test(test_spread_sums_have_the_bits_of_one_rank),
        cmocka_unit_test(test_wide_sums_are_exact_on_any_number_of_ranks),
        cmocka_unit_test(test_grids_are_exact_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
