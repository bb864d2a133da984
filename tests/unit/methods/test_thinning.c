/* SPDX-License-Identifier: BSD-3-Clause */
/* The lasso path by its conditions of optimality, and the choice of few entries of a dual
 * direction against plain versions of it. */
#include "support.h"

#include "fit_support.h"

#include "linalg/lasso.h"
#include "methods/supervised/thinning.h"

enum { N = 60 };

/* ---- the lasso path ---- */

static mercer_status plain_column(void *self, int64_t i, double *out, mercer_error *err)
{
    const double *g = self;
    (void)err;
    memcpy(out, g + i * N, N * sizeof *out);
    return MERCER_OK;
}

/* X X' of rows of the given rank, every one of the last third equal to one of the first. */
static double *semidefinite(uint64_t seed, int64_t rank, bool repeated)
{
    double *x = normal_rows(seed, N, rank, 0, 1), *g = new_doubles(N * N);
    for (int64_t i = 2 * N / 3; repeated && i < N; i++)
        memcpy(x + i * rank, x + (i - 2 * N / 3) * rank, (size_t)rank * sizeof *x);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            for (int64_t k = 0; k < rank; k++)
                g[i * N + j] += x[i * rank + k] * x[j * rank + k];
    free(x);
    return g;
}

/* c = G(w - b): |c_i| <= price, and c_i = price sign(b_i) where b_i is not zero. Convex, so nothing
 * else is a minimum. Returns the largest |c_i| outside the support. */
static double check_optimal(const double *g, const double *w, const int64_t *rows,
                            const double *values, int64_t count, double price)
{
    double rest[N], most = 0, scale = 0;
    memcpy(rest, w, sizeof rest);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            scale = fmax(scale, fabs(g[i * N + j]) * N);
    for (int64_t a = 0; a < count; a++) {
        assert_true(values[a] != 0);
        assert_true(a == 0 || rows[a] > rows[a - 1]);
        rest[rows[a]] -= values[a];
    }
    for (int64_t i = 0, a = 0; i < N; i++) {
        double c = 0;
        for (int64_t j = 0; j < N; j++)
            c += g[i * N + j] * rest[j];
        if (a < count && rows[a] == i)
            assert_true(fabs(c - (values[a++] > 0 ? price : -price)) <= 1e-11 * scale);
        else
            most = fmax(most, fabs(c));
    }
    assert_true(most <= price + 1e-11 * scale);
    return most;
}

static void test_lasso_is_optimal_with_so_many_entries(void **state)
{
    static const int64_t ranks[] = {N, N / 2, 5};
    mercer_ctx *ctx = new_ctx(1);
    (void)state;
    for (int r = 0; r < 3; r++)
        for (int repeated = 0; repeated < 2; repeated++) {
            double *g = semidefinite((uint64_t)r + 1, ranks[r], repeated), aim[N] = {0};
            double *w = normal_rows(9, N, 1, 0, 1);
            mrc_lasso_matrix matrix = {.n = N, .column = plain_column, .self = g};
            for (int64_t i = 0; i < N; i++)
                for (int64_t j = 0; j < N; j++)
                    aim[i] += g[i * N + j] * w[j];
            int64_t rank = repeated && ranks[r] == N ? 2 * N / 3 : ranks[r];
            for (int64_t most = 1; most <= N; most++) {
                int64_t rows[N], count;
                double values[N], price;
                assert_ok(
                    mrc_lasso_path(ctx, &matrix, aim, most, rows, values, &count, &price, err));
                double outside = check_optimal(g, w, rows, values, count, price);
                assert_true(count <= most);
                if (most < rank) { /* another one stands at the price */
                    assert_int_equal(count, most);
                    assert_true(price > 0 && fabs(outside - price) < 1e-9 * price);
                } else if (most > rank)
                    assert_true(price <= 1e-9 * largest_modulus(aim, N));
            }
            free(g);
            free(w);
        }
    mercer_ctx_free(ctx);
}

static void test_lasso_of_nothing(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *g = semidefinite(1, 3, false), aim[N] = {0}, values[N], price = 1;
    int64_t rows[N], count = 1;
    mrc_lasso_matrix matrix = {.n = N, .column = plain_column, .self = g};
    (void)state;
    assert_ok(mrc_lasso_path(ctx, &matrix, aim, 4, rows, values, &count, &price, err));
    assert_int_equal(count, 0);
    assert_true(price == 0);
    free(g);
    mercer_ctx_free(ctx);
}

/* ---- entries of a direction ---- */

struct setting {
    mercer_ctx *ctx;
    double *x, *y, *gram;
    mercer_rows *rows;
    mrc_kernel kernel;
    mrc_gram *op;
    mrc_deflation dual;
};

/* A dual of `features` single rows; row 7 has no kernel value. */
static void set_up(struct setting *s, const char *kernel, int64_t features, bool centered)
{
    mrc_gram_request request = {.store = &mrc_store_dense, .centered = centered};
    memset(s, 0, sizeof *s);
    s->ctx = new_ctx(2);
    s->x = normal_rows(3, N, 3, 0.5, 1);
    memset(s->x + 7 * 3, 0, 3 * sizeof *s->x);
    s->y = normal_rows(4, N, 1, 0, 1);
    s->y[7] = 9;
    s->rows = view(s->ctx, s->x, N, 3);
    assert_ok(mrc_kernel_parse(&s->kernel, kernel, err));
    assert_ok(mrc_kernel_resolve(&s->kernel, NULL, s->rows, err));
    assert_ok(mrc_gram_new(&s->op, s->ctx, &s->kernel, s->rows, &request, NULL, err));
    assert_ok(mrc_deflation_init(&s->dual, s->ctx, s->op, s->y, 1, 10, true, err));
    for (int64_t j = 0; j < features; j++) {
        int64_t row = 2 * j + 1;
        double one = 1;
        bool added;
        assert_ok(mrc_deflation_add(&s->dual, &row, 1, &one, NULL, &added, err));
        assert_true(added);
    }
    s->gram = naive_gram(&s->kernel, s->x, N, 3, centered);
}

static void tear_down(struct setting *s)
{
    mrc_deflation_destroy(&s->dual);
    mrc_gram_free(s->op);
    mercer_rows_free(s->rows);
    free(s->x);
    free(s->y);
    free(s->gram);
    mercer_ctx_free(s->ctx);
}

/* P K P, or K P, over the features there are. */
static double *deflated_gram(const struct setting *s, bool both)
{
    double *k = new_doubles(N * N);
    memcpy(k, s->gram, N * N * sizeof *k);
    for (int side = both ? 0 : 1; side < 2; side++)
        for (int64_t t = 0; t < s->dual.count; t++)
            for (int64_t i = 0; i < N; i++) {
                const double *q = s->dual.q + t * N;
                double dot = 0;
                for (int64_t j = 0; j < N; j++)
                    dot += q[j] * (side == 0 ? k[j * N + i] : k[i * N + j]);
                for (int64_t j = 0; j < N; j++)
                    *(side == 0 ? &k[j * N + i] : &k[i * N + j]) -= q[j] * dot;
            }
    return k;
}

/* Whether row i is among the `wanted` rows of largest score, lower rows first among equals. */
static bool is_among(const double *score, int64_t i, int64_t wanted)
{
    int64_t before = 0;
    for (int64_t j = 0; j < N; j++)
        before += score[j] > score[i] || (score[j] == score[i] && j < i);
    return before < wanted;
}

static void check_kept(const double *score, const double *w, int64_t wanted, const int64_t *rows,
                       const double *values, int64_t count)
{
    assert_int_equal(count, wanted);
    for (int64_t a = 0; a < count; a++) {
        assert_true(a == 0 || rows[a] > rows[a - 1]);
        assert_true(is_among(score, rows[a], wanted));
        assert_true(values[a] == w[rows[a]]);
    }
}

static void test_thinning_keeps_the_largest(void **state)
{
    static const double shares[] = {1e-3, 0.07, 0.25, 0.5, 0.9};
    static const int64_t wanted[] = {1, 5, 15, 30, 54};
    (void)state;
    for (int features = 0; features < 4; features += 3)
        for (int k = 0; k < 2; k++) {
            struct setting s;
            set_up(&s, k == 0 ? "linear" : "rbf:sigma=1", k == 0 && features ? 2 : features, false);
            double *g = deflated_gram(&s, false), residual[N], information[N], values[N];
            const double *w = s.dual.rest;
            int64_t rows[N], count;
            for (int64_t i = 0; i < N; i++) {
                information[i] = 0;
                for (int64_t j = 0; j < N; j++)
                    information[i] += w[i] * g[i * N + j] * w[j];
                residual[i] = fabs(w[i]);
            }
            if (k == 0) /* its kernel values are zero */
                residual[7] = information[7] = -1e9;
            for (int n = 0; n < 5; n++) {
                mrc_thinning rule = {.nu = shares[n], .heuristic = MRC_LARGEST_RESIDUAL};
                assert_ok(mrc_thin(&rule, &s.dual, w, rows, values, &count, err));
                check_kept(residual, w, wanted[n], rows, values, count);
                rule.heuristic = MRC_LARGEST_INFORMATION;
                rule.cache = 1000;
                assert_ok(mrc_thin(&rule, &s.dual, w, rows, values, &count, err));
                check_kept(information, w, wanted[n], rows, values, count);
            }
            free(g);
            tear_down(&s);
        }
}

static void test_thinning_breaks_ties_by_row(void **state)
{
    struct setting s;
    mrc_thinning rule = {.nu = 0.1};
    double w[N], values[N];
    int64_t rows[N], count;
    (void)state;
    set_up(&s, "rbf:sigma=1", 0, false);
    for (int64_t i = 0; i < N; i++)
        w[i] = i % 2 ? 1 : -1;
    assert_ok(mrc_thin(&rule, &s.dual, w, rows, values, &count, err));
    assert_int_equal(count, 6);
    for (int64_t a = 0; a < count; a++)
        assert_int_equal(rows[a], a);
    tear_down(&s);
}

/* Draws are fresh, of the cache's size, and the most informative of them are kept. */
static void test_thinning_among_rows_drawn(void **state)
{
    struct setting s;
    mrc_thinning few = {.nu = 0.1, .heuristic = MRC_LARGEST_INFORMATION, .cache = 20};
    mrc_thinning all = {.nu = 0.5, .heuristic = MRC_LARGEST_INFORMATION, .cache = 8};
    double values[N];
    int64_t rows[N], other[N], count;
    bool seen[N] = {false};
    int64_t found = 0;
    (void)state;
    set_up(&s, "rbf:sigma=1", 2, false);
    assert_ok(mrc_thin(&few, &s.dual, s.dual.rest, rows, values, &count, err));
    assert_int_equal(count, 6);
    assert_ok(mrc_thin(&few, &s.dual, s.dual.rest, other, values, &count, err));
    assert_memory_not_equal(rows, other, 6 * sizeof *rows);
    for (int draw = 0; draw < 60; draw++) { /* every row comes up: 60 times 8 of 60 */
        assert_ok(mrc_thin(&all, &s.dual, s.dual.rest, rows, values, &count, err));
        assert_int_equal(count, 8);
        for (int64_t a = 0; a < count; a++)
            seen[rows[a]] = true;
    }
    for (int64_t i = 0; i < N; i++)
        found += seen[i];
    assert_true(found >= N - 2);
    tear_down(&s);
}

static void test_thinning_by_a_tube_is_a_lasso_solution(void **state)
{
    static const double shares[] = {0.02, 0.1, 0.3, 0.6};
    (void)state;
    for (int centered = 0; centered < 2; centered++)
        for (int features = 0; features < 6; features += 5)
            for (int n = 0; n < 4; n++) {
                struct setting s;
                mrc_thinning rule = {.nu = shares[n], .heuristic = MRC_WITHIN_TUBE};
                double values[N], price = 0;
                int64_t rows[N], count;
                set_up(&s, "laplacian:gamma=1", features, centered);
                double *g = deflated_gram(&s, true);
                assert_ok(mrc_thin(&rule, &s.dual, s.dual.rest, rows, values, &count, err));
                assert_int_equal(count, (int64_t)ceil(shares[n] * N - 1e-9));
                double rest[N];
                memcpy(rest, s.dual.rest, sizeof rest);
                for (int64_t a = 0; a < count; a++)
                    rest[rows[a]] -= values[a];
                for (int64_t j = 0; j < N; j++)
                    price += g[rows[0] * N + j] * rest[j];
                price = fabs(price);
                double outside = check_optimal(g, s.dual.rest, rows, values, count, price);
                assert_true(fabs(outside - price) < 1e-9 * price); /* and one more would come */
                free(g);
                tear_down(&s);
            }
}

static void test_thinning_of_all_rows_is_the_direction(void **state)
{
    struct setting s;
    double values[N];
    int64_t rows[N], count;
    (void)state;
    set_up(&s, "linear", 2, false);
    for (int heuristic = 0; heuristic < 3; heuristic++) {
        mrc_thinning rule = {.nu = 1, .heuristic = heuristic, .cache = 10};
        assert_ok(mrc_thin(&rule, &s.dual, s.dual.rest, rows, values, &count, err));
        assert_int_equal(count, N);
        assert_memory_equal(values, s.dual.rest, sizeof values);
        for (int64_t i = 0; i < N; i++)
            assert_int_equal(rows[i], i);
    }
    tear_down(&s);
}

/* A row that was taken leaves nothing when it comes up again: others stand in for it. */
static void test_thinning_finds_rows_that_are_left(void **state)
{
    struct setting s;
    mrc_thinning rule = {.nu = 1e-3};
    bool added = true;
    double w[N];
    (void)state;
    set_up(&s, "rbf:sigma=2", 3, false);
    memcpy(w, s.dual.rest, sizeof w);
    w[3] = 1e3; /* the row of the second feature has the largest residual */
    double dots[3];
    assert_ok(mrc_deflation_project(&s.dual, w, dots, err));
    int64_t most = 0;
    for (int64_t i = 0; i < N; i++)
        most = fabs(w[i]) > fabs(w[most]) ? i : most;
    assert_int_equal(most, 3);
    assert_ok(mrc_thin_add(&rule, &s.dual, w, 1, &added, err));
    assert_true(added);
    assert_int_equal(s.dual.count, 4);
    assert_true(s.dual.selected[3] != 3);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lasso_is_optimal_with_so_many_entries),
        cmocka_unit_test(test_lasso_of_nothing),
        cmocka_unit_test(test_thinning_keeps_the_largest),
        cmocka_unit_test(test_thinning_breaks_ties_by_row),
        cmocka_unit_test(test_thinning_among_rows_drawn),
        cmocka_unit_test(test_thinning_by_a_tube_is_a_lasso_solution),
        cmocka_unit_test(test_thinning_of_all_rows_is_the_direction),
        cmocka_unit_test(test_thinning_finds_rows_that_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
