/* SPDX-License-Identifier: BSD-3-Clause */
/* The factor of a low-rank store: what it leaves of the kernel matrix, and that it takes nothing
 * that is not there, against the matrix in long doubles; how many columns it has, against a plain
 * pivoted Cholesky factorisation in long doubles; its pivots; its bits for any number of threads.
 * On rows of many kinds, those that a pool drawn by weight may miss among them. */
#include "support.h"

#include "gram/factor.h"
#include "gram/store.h"
#include "linalg/linalg.h"

#include <stdio.h>

/* What the factor may leave on the diagonal, and a bound of rounding, of kmax. Kernel values of the
 * library and of naive.h differ by some eps; a dot of two rows of F by q eps at most, less by far
 * where signs mix; a pivot leaves 20 eps in each row (see lowrank.c), of either sign. */
static const double LEFT = 1e-13, ROUNDING = 4e-14;

static mrc_gram *factored(mercer_ctx *ctx, const mrc_kernel *kernel, const mercer_rows *rows,
                          bool centered)
{
    mrc_gram *g = NULL;
    mrc_gram_request request = {.store = &mrc_store_lowrank, .centered = centered};
    assert_ok(mrc_gram_new(&g, ctx, kernel, rows, &request, NULL, err));
    assert_non_null(mrc_gram_factor(g));
    return g;
}

/* Row i of F before it was centred. */
static void plain_row(const mrc_factor *f, int64_t i, double *out)
{
    mrc_factor_row(f, i, f->rank, out);
    for (int64_t c = 0; f->mean && c < f->rank; c++)
        out[c] += f->mean[c];
}

/* Columns of a Cholesky factorisation that always takes the largest of all, to this residual. */
static int64_t plain_rank(const double *k, int64_t n, double floor)
{
    long double *left = calloc((size_t)(n * n), sizeof *left);
    int64_t rank = 0;
    for (int64_t i = 0; i < n * n; i++)
        left[i] = k[i];
    for (; rank < n; rank++) {
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
            best = left[i * n + i] > left[best * n + best] ? i : best;
        long double pivot = left[best * n + best];
        if (!(pivot > floor))
            break;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; i != best && j < n; j++)
                if (j != best)
                    left[i * n + j] -= left[i * n + best] * left[best * n + j] / pivot;
        for (int64_t i = 0; i < n; i++)
            left[i * n + best] = left[best * n + i] = 0;
    }
    free(left);
    return rank;
}

/* F in the rows of its pivots is lower triangular to rounding, and no row is taken twice. Beside
 * the triangle is what rounding left of a row that was taken, over the root of a later pivot. */
static void check_pivots(const mrc_factor *f, double kmax)
{
    double *row = new_doubles(f->rank), *triangle = NULL;
    unsigned char *seen = calloc((size_t)f->n, 1);
    assert_ok(mrc_factor_triangle(f, &triangle, err));
    for (int64_t t = 0; t < f->rank; t++) {
        int64_t pivot = f->pivots[t];
        assert_in_range(pivot, 0, f->n - 1);
        assert_false(seen[pivot]);
        seen[pivot] = 1;
        assert_true(triangle[t * f->rank + t] > 0);
        plain_row(f, pivot, row);
        for (int64_t c = t + 1; c < f->rank; c++)
            assert_true(fabs(row[c]) * triangle[c * f->rank + c] <= ROUNDING * kmax);
    }
    mrc_free(triangle);
    free(row);
    free(seen);
}

struct found {
    int64_t rank, plain;
};

/* All of it for one set of rows, centred or not. */
static struct found check_factor(const char *spec, double *x, int64_t n, int64_t d, bool centered,
                                 const char *what)
{
    mercer_ctx *ctx = new_ctx(2);
    mrc_kernel kernel;
    make_nonnegative(spec, x, n * d);
    mercer_rows *rows = view(ctx, x, n, d);
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    double *k = naive_gram(&kernel, x, n, d, false), kmax = 0;
    for (int64_t i = 0; i < n; i++)
        kmax = fmax(kmax, k[i * n + i]);
    mrc_gram *g = factored(ctx, &kernel, rows, centered);
    const mrc_factor *f = mrc_gram_factor(g);
    int64_t q = f->rank;
    double *values = new_doubles(n * q), *left = new_doubles(n * n), *eigen = new_doubles(n);
    for (int64_t i = 0; i < n; i++)
        plain_row(f, i, values + i * q);
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            long double sum = k[i * n + j];
            for (int64_t c = 0; c < q; c++)
                sum -= (long double)values[i * q + c] * values[j * q + c];
            left[i * n + j] = left[j * n + i] = (double)(sum / (kmax > 0 ? kmax : 1));
            most = fmax(most, fabs(left[i * n + j]));
            if (!(fabs(left[i * n + j]) <= LEFT + ROUNDING))
                fail_msg("%s, %s, %lld rows: %g of K - FF' is left at %lld, %lld", what, spec,
                         (long long)n, left[i * n + j], (long long)i, (long long)j);
        }
    if (!(f->left_out <= LEFT * kmax * (1 + 1e-12)))
        fail_msg("%s, %s: left out %g of kmax", what, spec, f->left_out / kmax);
    /* FF' <= K: no eigenvalue of what is left is negative, except for the rounding of n entries. */
    assert_ok(mrc_eigen_symmetric(ctx, n, left, eigen, err));
    if (!(eigen[0] >= -ROUNDING * sqrt((double)n)))
        fail_msg("%s, %s, %lld rows: FF' exceeds K by %g", what, spec, (long long)n, -eigen[0]);
    if (kmax > 0)
        check_pivots(f, kmax);
    struct found found = {.rank = q, .plain = plain_rank(k, n, f->left_out)};
    for (int threads = 1; threads < 6; threads += 2) { /* the same bits */
        mercer_ctx *other = new_ctx(threads);
        mrc_gram *again = factored(other, &kernel, rows, centered);
        const mrc_factor *same = mrc_gram_factor(again);
        assert_int_equal(same->rank, q);
        assert_memory_equal(same->pivots, f->pivots, (size_t)q * sizeof *f->pivots);
        double *row = new_doubles(q);
        for (int64_t i = 0; i < n; i++) {
            plain_row(same, i, row);
            assert_memory_equal(row, values + i * q, (size_t)q * sizeof *row);
        }
        free(row);
        mrc_gram_free(again);
        mercer_ctx_free(other);
    }
    mrc_gram_free(g);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(values);
    free(left);
    free(eigen);
    free(k);
    return found;
}

static const char *const kernels[] = {"rbf:sigma=0.3",
                                      "rbf:sigma=2",
                                      "rbf:sigma=30",
                                      "poly:degree=2,gamma=0.5,coef0=1",
                                      "poly:degree=3,gamma=1,coef0=0",
                                      "poly:degree=5,gamma=1,coef0=0.01",
                                      "cosine",
                                      "laplacian:gamma=0.3",
                                      "exponential:sigma=3",
                                      "matern:sigma=3,nu=2.5",
                                      "rq:sigma=2,alpha=0.5",
                                      "chi2:gamma=0.4",
                                      "intersection",
                                      "0.7*rbf:sigma=2 + poly:degree=2,gamma=0.1,coef0=0"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Rows by kind; n x d, to be freed. */
enum { PLAIN, CLUSTERS, DUPLICATES, ZEROES, OUTLIER, WIDE_RANGE, LINE, HEAVY, FAR, KINDS };
static const char *const kind_names[KINDS] = {"plain",     "clusters",    "duplicates",
                                              "zeroes",    "outlier",     "wide range",
                                              "on a line", "heavy tails", "far off"};

static double *rows_of(int kind, uint64_t seed, int64_t n, int64_t d)
{
    double *x = normal_rows(seed, n, d, 0, 1);
    mrc_rng rng;
    mrc_rng_seed(&rng, seed + 1000);
    for (int64_t i = 0; i < n; i++) {
        double *row = x + i * d, size = 1;
        if (kind == WIDE_RANGE) /* diagonals of poly over twelve decades and more */
            size = pow(10, 6 * mrc_rng_uniform(&rng) - 3);
        else if (kind == HEAVY)
            size = 1 / fabs(mrc_rng_normal(&rng) + 1e-3);
        else if (kind == OUTLIER && i == n / 2)
            size = 1e6;
        for (int64_t k = 0; k < d; k++) {
            if (kind == CLUSTERS) /* five of them, of a size of 1e-6 */
                row[k] = 1e-6 * row[k] + (double)((i % 5) * (k + 1) % 7);
            else if (kind == DUPLICATES)
                row[k] = x[(i % (1 + n / 4)) * d + k];
            else if (kind == ZEROES && i % 3 == 0)
                row[k] = 0;
            else if (kind == LINE)
                row[k] = row[0] * (double)(k + 1);
            else if (kind == FAR)
                row[k] += 1e4;
            row[k] *= size;
        }
    }
    return x;
}

/* Columns beyond those of a factorisation that looks at all rows for each of its pivots: a share,
 * and a few where ranks are small. */
static void check_ranks(const struct found *sum, const char *what)
{
    if ((double)sum->rank > 1.06 * (double)sum->plain)
        fail_msg("%s: %lld columns for %lld", what, (long long)sum->rank, (long long)sum->plain);
}

static void test_factor_of_every_kind_of_rows(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 16, 17, 129, 300};
    struct found sum = {0};
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < KERNELS; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                int64_t n = sizes[s], d = 1 + (kind + k + (int)s) % 4;
                double *x = rows_of(kind, (uint64_t)(100 * kind + 10 * k) + s, n, d);
                struct found found =
                    check_factor(kernels[k], x, n, d, (k + (int)s) % 2, kind_names[kind]);
                assert_true(found.rank <= n);
                if (kind == DUPLICATES)
                    assert_true(found.rank <= 1 + n / 4);
                sum.rank += found.rank;
                sum.plain += found.plain;
                free(x);
            }
    print_message("%lld columns, %lld of complete pivoting\n", (long long)sum.rank,
                  (long long)sum.plain);
    check_ranks(&sum, "all rows");
}

/* Values of 1e-100 and 1e100, by a factor of the kernel and by the rows. */
static void test_factor_at_every_scale(void **state)
{
    (void)state;
    for (int power = -100; power <= 100; power += 25)
        for (int kind = 0; kind < KINDS; kind++) {
            char spec[96];
            int quarter = power / 4;
            double *x = rows_of(kind, (uint64_t)(7 * kind + power + 100), 150, 2);
            snprintf(spec, sizeof spec, "1e%d*rbf:sigma=1", power);
            struct found scaled = check_factor(spec, x, 150, 2, kind % 2, kind_names[kind]);
            assert_true(scaled.rank <= scaled.plain + 16);
            for (int64_t i = 0; i < 300; i++)
                x[i] *= pow(10, quarter);
            check_factor("poly:degree=2,gamma=1,coef0=0", x, 150, 2, kind % 2, kind_names[kind]);
            free(x);
        }
}

/* What many seeds of the rows say: none of them may miss anything. */
static void test_factor_of_many_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int64_t n = 140 + (int64_t)seed;
        double *x = rows_of((int)seed % KINDS, seed, n, 2);
        check_factor(kernels[seed % KERNELS], x, n, 2, seed % 2, kind_names[seed % KINDS]);
        free(x);
    }
}

/* Many rows: the diagonal that is left of all of them, and some columns. */
static int64_t check_many(const char *spec, const double *x, int64_t n, int64_t d)
{
    enum { COLUMNS = 40 };
    mercer_ctx *ctx = new_ctx(2);
    mercer_rows *rows = view(ctx, x, n, d);
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    mrc_gram *g = factored(ctx, &kernel, rows, false);
    const mrc_factor *f = mrc_gram_factor(g);
    int64_t q = f->rank;
    double *a = new_doubles(q), *b = new_doubles(q), kmax = mrc_gram_kmax(g);
    for (int64_t t = -1; t < COLUMNS; t++) {
        int64_t j = (t + 1) * (n - 1) / COLUMNS;
        plain_row(f, j, b);
        for (int64_t i = 0; i < n; i++) {
            int64_t other = t < 0 ? i : j;
            plain_row(f, i, a);
            long double left = naive_kernel(&kernel, x + i * d, x + other * d, d);
            for (int64_t c = 0; c < q; c++)
                left -= (long double)a[c] * (t < 0 ? a[c] : b[c]);
            if (!(fabsl(left) <= (LEFT + ROUNDING) * kmax))
                fail_msg("%s: %Lg of kmax is left at %lld, %lld", spec, left / kmax, (long long)i,
                         (long long)other);
        }
    }
    check_pivots(f, kmax);
    mrc_gram_free(g);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(a);
    free(b);
    return q;
}

/* One row among many that nothing else is like: its weight is a small share of all weights, and it
 * must not be left out. Its residual is that of the others, or a thousand times theirs, or so
 * large that theirs are rounding. */
static void test_factor_finds_a_single_row(void **state)
{
    enum { N = 60000 };
    static const double sizes[] = {1, 30, 1e4, 1e7};
    (void)state;
    for (size_t s = 0; s < 4; s++) {
        double *x = ring_rows(5 + s, N);
        x[2 * 41234] = 0;
        x[2 * 41234 + 1] = sizes[s]; /* rbf: far from the ring; poly: a diagonal up to 1e28 */
        check_many("rbf:sigma=4", x, N, 2);
        check_many("poly:degree=2,gamma=1,coef0=1", x, N, 2);
        free(x);
    }
}

/* Columns and pivots per step on the ring do not grow as they would with neighbours in the pool. */
static void test_factor_of_a_large_ring(void **state)
{
    double *x = ring_rows(3, 50000), *same = new_doubles(2 * 50000);
    (void)state;
    int64_t q = check_many("rbf:sigma=4", x, 50000, 2);
    print_message("ring of 50000 rows: %lld columns\n", (long long)q);
    assert_in_range(q, 200, 300);
    for (int64_t i = 0; i < 2 * 50000; i++) /* a hundred different rows, over and over */
        same[i] = x[i % 200];
    assert_true(check_many("rbf:sigma=4", same, 50000, 2) <= 100);
    free(x);
    free(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factor_of_every_kind_of_rows),
        cmocka_unit_test(test_factor_at_every_scale),
        cmocka_unit_test(test_factor_of_many_seeds),
        cmocka_unit_test(test_factor_finds_a_single_row),
        cmocka_unit_test(test_factor_of_a_large_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
