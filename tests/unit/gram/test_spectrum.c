/* SPDX-License-Identifier: BSD-3-Clause */
/* The eigen-solvers against LAPACK on the matrix written out: residuals, orthogonality,
 * eigenvalues; clusters, zero, negative and multiple eigenvalues. */
#include "support.h"

#include "gram/gram.h"
#include "linalg/linalg.h"

struct spectrum_case {
    const char *kernel;
    int64_t n, d;
    double spread;
    const mrc_store *store;
    int64_t count, expected;
    const char *solver;
};

static const struct spectrum_case cases[] = {
    {"rbf:sigma=4", 900, 2, 3, &mrc_store_dense, 10, 10, "krylov"},
    {"rbf:sigma=4", 900, 2, 3, &mrc_store_stream, 10, 10, "krylov"},
    {"rbf:sigma=4", 900, 2, 3, &mrc_store_lowrank, 10, 10, "lowrank"},
    {"rbf:sigma=4", 300, 2, 3, &mrc_store_dense, 10, 10, "lapack"},
    {"rbf:sigma=1", 1200, 30, 1, &mrc_store_dense, 40, 40, "krylov"}, /* nearly flat */
    {"rbf:sigma=1", 600, 30, 1, &mrc_store_dense, 40, 40, "lapack"},  /* much of it */
    {"rbf:sigma=4", 401, 2, 3, &mrc_store_dense, 2, 2, "krylov"},     /* little of it */
    {"sigmoid:gamma=0.5,coef0=-1", 600, 4, 1, &mrc_store_dense, 60, -1, "lapack"},
    {"rbf:sigma=0.0001", 600, 3, 1, &mrc_store_dense, 7, 7, "krylov"}, /* all equal to one */
    {"linear", 500, 3, 1, &mrc_store_stream, 10, 3, "krylov"},         /* rank 3 of 10 */
    {"linear", 500, 3, 1, &mrc_store_lowrank, 10, 3, "lowrank"},
    {"linear", 100, 200, 1e-9, &mrc_store_dense, 99, 99, "lapack"}, /* tiny scale */
    {"linear", 450, 600, 1e9, &mrc_store_dense, 5, 5, "krylov"},    /* huge scale */
    {"poly:gamma=1,coef0=1,degree=2", 500, 2, 1, &mrc_store_stream, 20, 5, "krylov"},
    {"sigmoid:gamma=0.5,coef0=-1", 500, 4, 1, &mrc_store_dense, 10, 10, "krylov"},
    {"sigmoid:gamma=0.5,coef0=-1", 200, 4, 1, &mrc_store_dense, 10, 10, "lapack"},
    {"rbf:sigma=3", 450, 2, 2, &mrc_store_stream, 120, -1, "lapack"}, /* most of the rank */
};

static double *reference_values(mercer_ctx *ctx, const double *gram, int64_t n)
{
    double *copy = new_doubles(n * n), *values = new_doubles(n), *decreasing = new_doubles(n);
    memcpy(copy, gram, (size_t)(n * n) * sizeof *copy);
    assert_ok(mrc_eigen_symmetric(ctx, n, copy, values, err));
    for (int64_t i = 0; i < n; i++)
        decreasing[i] = values[n - 1 - i];
    free(copy);
    free(values);
    return decreasing;
}

/* max |K u - lambda u| / lambda_1 and max |U'U - I|. */
static void check_pairs(const double *gram, int64_t n, const mrc_spectrum *s, double residual,
                        double orthogonality)
{
    int64_t l = s->count;
    double worst = 0, skew = 0;
    for (int64_t j = 0; j < l; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            double r = -s->values[j] * s->vectors[i * l + j];
            for (int64_t t = 0; t < n; t++)
                r += gram[i * n + t] * s->vectors[t * l + j];
            sum += r * r;
        }
        worst = fmax(worst, sqrt(sum) / s->values[0]);
        for (int64_t k = 0; k <= j; k++) {
            double dot = j == k ? -1 : 0;
            for (int64_t i = 0; i < n; i++)
                dot += s->vectors[i * l + j] * s->vectors[i * l + k];
            skew = fmax(skew, fabs(dot));
        }
    }
    if (!(worst <= residual && skew <= orthogonality))
        fail_msg("residual %.2e (allowed %.0e), orthogonality %.2e (allowed %.0e)", worst, residual,
                 skew, orthogonality);
}

static void test_spectrum_matches_lapack(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int centered = 0; centered < 2; centered++) {
            const struct spectrum_case *k = &cases[c];
            mercer_ctx *ctx = new_ctx(2);
            double *x = normal_rows(c + 11, k->n, k->d, 0, k->spread);
            mercer_rows *rows = view(ctx, x, k->n, k->d);
            mrc_kernel kernel;
            mrc_gram *g = NULL;
            mrc_spectrum s;
            mrc_gram_request request = {.store = k->store, .centered = centered};
            print_message("%s n=%lld count=%lld centred=%d\n", k->kernel, (long long)k->n,
                          (long long)k->count, centered);
            assert_ok(mrc_kernel_parse(&kernel, k->kernel, err));
            assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
            double *gram = naive_gram(&kernel, x, k->n, k->d, centered);
            double *values = reference_values(ctx, gram, k->n);
            assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
            assert_ok(mrc_gram_spectrum(g, k->count, 0, &s, err));
            assert_string_equal(s.solver, k->solver);
            if (k->expected > 0) /* the uncentred polynomial has the constant as sixth feature */
                assert_int_equal(s.count,
                                 k->expected +
                                     (kernel.part[0].def == &mrc_kernel_def_poly && !centered));
            assert_close(s.values, values, s.count, 1e-12 * values[0]);
            check_pairs(gram, k->n, &s, 1e-11, k->expected == -1 ? 1e-6 : 1e-10);
            double smallest = values[k->n - 1];
            if (kernel.part[0].def == &mrc_kernel_def_sigmoid) {
                assert_true(s.most_negative < 0);
                assert_true(s.most_negative >= smallest * (1 + 1e-9));
            } else {
                assert_true(s.most_negative == 0);
            }
            /* Signs: the entry of largest modulus is positive. */
            for (int64_t j = 0; j < s.count; j++) {
                double largest = 0;
                for (int64_t i = 0; i < k->n; i++)
                    if (fabs(s.vectors[i * s.count + j]) > fabs(largest))
                        largest = s.vectors[i * s.count + j];
                assert_true(largest > 0);
            }
            mrc_spectrum_destroy(&s);
            mrc_gram_free(g);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
            free(gram);
            free(values);
            free(x);
        }
}

/* Zero eigenvalues carry LAPACK's rounding, which exceeds n eps kmax here: they must neither count
 * as components nor make the kernel look indefinite. */
static void test_spectrum_rank_of_a_ring(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 300);
    mercer_rows *rows = view(ctx, x, 300, 2);
    mrc_kernel kernel;
    mrc_gram *g = NULL;
    mrc_spectrum s;
    mrc_gram_request request = {.store = &mrc_store_dense, .centered = true};
    assert_ok(mrc_kernel_parse(&kernel, "cosine", err));
    assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
    assert_ok(mrc_gram_spectrum(g, 10, 0, &s, err));
    assert_int_equal(s.count, 2);
    assert_true(s.most_negative == 0);
    mrc_spectrum_destroy(&s);
    mrc_gram_free(g);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* A share of the variance: the smallest number of pairs that reaches it, by every solver. */
static void test_spectrum_by_share(void **state)
{
    static const struct {
        int64_t n;
        const mrc_store *store;
        const char *kernel;
        double share;
    } shares[] = {
        {300, &mrc_store_dense, "rbf:sigma=4", 0.95},
        {900, &mrc_store_dense, "rbf:sigma=4", 0.95},
        {900, &mrc_store_lowrank, "rbf:sigma=4", 0.95},
        {900, &mrc_store_stream, "rbf:sigma=4", 0.999},
        {600, &mrc_store_dense, "rbf:sigma=0.2", 0.9}, /* needs most of the spectrum: LAPACK */
    };
    (void)state;
    for (size_t c = 0; c < sizeof shares / sizeof *shares; c++) {
        mercer_ctx *ctx = new_ctx(2);
        int64_t n = shares[c].n, expected = 0;
        double *x = normal_rows(3, n, 2, 0, 3), total = 0, sum = 0;
        mercer_rows *rows = view(ctx, x, n, 2);
        mrc_kernel kernel;
        mrc_gram *g = NULL;
        mrc_spectrum s;
        mrc_gram_request request = {.store = shares[c].store, .centered = true};
        assert_ok(mrc_kernel_parse(&kernel, shares[c].kernel, err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        double *gram = naive_gram(&kernel, x, n, 2, true);
        double *values = reference_values(ctx, gram, n);
        for (int64_t i = 0; i < n; i++)
            total += values[i];
        while (sum < shares[c].share * total)
            sum += values[expected++];
        assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
        assert_ok(mrc_gram_spectrum(g, 0, shares[c].share, &s, err));
        assert_int_equal(s.count, expected);
        assert_close(s.values, values, s.count, 1e-12 * values[0]);
        mrc_spectrum_destroy(&s);
        mrc_gram_free(g);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        free(gram);
        free(values);
        free(x);
    }
}

/* Little memory: many restarts, the same answer. */
static void test_spectrum_with_restarts(void **state)
{
    enum { N = 2000 };
    (void)state;
    mercer_ctx *ctx = new_ctx(2);
    double *x = normal_rows(8, N, 6, 0, 1), *values[2];
    mercer_rows *rows = view(ctx, x, N, 6);
    int64_t passes[2];
    for (int tight = 0; tight < 2; tight++) {
        mrc_kernel kernel;
        mrc_gram *g = NULL;
        mrc_spectrum s;
        mrc_gram_request request = {.store = &mrc_store_stream, .centered = true};
        assert_ok(mercer_ctx_set_memory(ctx, tight ? 2 << 20 : 1 << 28, err));
        assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=1", err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
        assert_ok(mrc_gram_spectrum(g, 12, 0, &s, err));
        assert_int_equal(s.count, 12);
        assert_true(s.residual <= 4e-12);
        values[tight] = new_doubles(12);
        memcpy(values[tight], s.values, 12 * sizeof(double));
        passes[tight] = s.passes;
        mrc_spectrum_destroy(&s);
        mrc_gram_free(g);
    }
    assert_true(passes[1] > passes[0]); /* it did restart */
    assert_close(values[0], values[1], 12, 1e-11 * values[0][0]);
    free(values[0]);
    free(values[1]);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* Cancelling ends the work; a failing allocation is reported and nothing leaks. */
static void test_spectrum_cancel_and_memory(void **state)
{
    enum { N = 600 };
    static const mrc_store *const stores[] = {&mrc_store_dense, &mrc_store_stream,
                                              &mrc_store_lowrank};
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(5, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    for (size_t c = 0; c < 3; c++) {
        mrc_kernel kernel;
        mrc_gram_request request = {.store = stores[c], .centered = true};
        assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=4", err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
        mercer_ctx_cancel(ctx);
        mrc_gram *g = NULL;
        mrc_spectrum s = {0};
        mercer_status rc = mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, NULL);
        if (rc == MERCER_OK)
            rc = mrc_gram_spectrum(g, 10, 0, &s, NULL);
        assert_int_equal(rc, MERCER_ERR_CANCELLED);
        mrc_gram_free(g);
        mercer_ctx_resume(ctx);
        int64_t alive = mrc_alloc_live();
        for (int64_t after = 0;; after++) {
            mrc_alloc_fail_after(after);
            g = NULL;
            rc = mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, NULL);
            if (rc == MERCER_OK)
                rc = mrc_gram_spectrum(g, 10, 0, &s, NULL);
            mrc_alloc_fail_after(-1);
            mrc_spectrum_destroy(&s);
            mrc_gram_free(g);
            assert_int_equal(mrc_alloc_live(), alive);
            if (rc == MERCER_OK)
                break;
            assert_int_equal(rc, MERCER_ERR_MEMORY);
            assert_true(after < 5000);
        }
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spectrum_matches_lapack),
        cmocka_unit_test(test_spectrum_rank_of_a_ring),
        cmocka_unit_test(test_spectrum_by_share),
        cmocka_unit_test(test_spectrum_with_restarts),
        cmocka_unit_test(test_spectrum_cancel_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
