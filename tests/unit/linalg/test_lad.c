/* SPDX-License-Identifier: BSD-3-Clause */
/* Least absolute deviations: against every vertex where those can be counted, and by the
 * multipliers that prove an optimum where they cannot. */
#include "support.h"

#include "reference.h"

#include "linalg/lad.h"
#include "linalg/linalg.h"

/* Solve m x = b (p x p, both overwritten) by elimination; false when singular. */
static bool eliminate(double *m, double *b, int64_t p)
{
    for (int64_t c = 0; c < p; c++) {
        int64_t best = c;
        for (int64_t i = c; i < p; i++)
            if (fabs(m[i * p + c]) > fabs(m[best * p + c]))
                best = i;
        if (fabs(m[best * p + c]) < 1e-9)
            return false;
        for (int64_t j = 0; j < p; j++) {
            double swap = m[c * p + j];
            m[c * p + j] = m[best * p + j];
            m[best * p + j] = swap;
        }
        double swap = b[c];
        b[c] = b[best];
        b[best] = swap;
        for (int64_t i = 0; i < p; i++) {
            double factor = m[i * p + c] / m[c * p + c];
            for (int64_t j = 0; i != c && j < p; j++)
                m[i * p + j] -= factor * m[c * p + j];
            b[i] -= i == c ? 0 : factor * b[c];
        }
    }
    for (int64_t c = 0; c < p; c++)
        b[c] /= m[c * p + c];
    return true;
}

static double loss_of(const double *a, const double *y, int64_t n, int64_t p, const double *c)
{
    double loss = 0;
    for (int64_t i = 0; i < n; i++) {
        double r = y[i];
        for (int64_t j = 0; j < p; j++)
            r -= c[j] * a[j * n + i];
        loss += fabs(r);
    }
    return loss;
}

/* The least loss of all fits through p of the n rows; there is an optimum among them. */
static double best_vertex(const double *a, const double *y, int64_t n, int64_t p)
{
    double best = INFINITY, m[16], c[4];
    int64_t rows[4];
    for (int64_t i = 0; i < p; i++)
        rows[i] = i;
    while (rows[0] <= n - p) {
        for (int64_t i = 0; i < p; i++) {
            for (int64_t j = 0; j < p; j++)
                m[i * p + j] = a[j * n + rows[i]];
            c[i] = y[rows[i]];
        }
        if (eliminate(m, c, p))
            best = fmin(best, loss_of(a, y, n, p, c));
        int64_t last = p - 1;
        while (last > 0 && rows[last] == n - p + last)
            last--;
        rows[last]++;
        for (int64_t i = last + 1; i < p; i++)
            rows[i] = rows[i - 1] + 1;
    }
    return best;
}

/* 0: normal numbers; 1: whole numbers with many ties; 2: labels of +-1; 3: mostly one label. */
static void fill(mrc_rng *rng, int kind, double *a, double *y, int64_t n, int64_t p)
{
    for (int64_t i = 0; i < n * p; i++)
        a[i] = i < n ? 1 : kind == 0 ? mrc_rng_normal(rng) : (double)mrc_rng_below(rng, 5) - 2;
    for (int64_t i = 0; i < n; i++)
        y[i] = kind == 0   ? 100 * mrc_rng_normal(rng)
               : kind == 1 ? (double)mrc_rng_below(rng, 4)
               : kind == 2 ? (mrc_rng_below(rng, 2) ? 1 : -1)
                           : (mrc_rng_below(rng, 6) ? 1 : -1);
}

static void test_lad_finds_the_best_vertex(void **state)
{
    enum { N = 13, P = 4 };
    double a[P * N], y[N];
    mrc_rng rng;
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mrc_rng_seed(&rng, 5);
    for (int kind = 0; kind < 4; kind++)
        for (int trial = 0; trial < 50; trial++) {
            mrc_lad lad;
            fill(&rng, kind, a, y, N, P);
            assert_ok(mrc_lad_init(&lad, ctx, y, N, P, err));
            for (int64_t p = 1; p <= P; p++) { /* each from the one before */
                double best = best_vertex(a, y, N, p);
                assert_ok(mrc_lad_fit(&lad, a, p, err));
                if (isfinite(best)) /* else the columns depend on each other */
                    assert_true(fabs(lad.loss - best) <= 1e-11 * (1 + best));
                assert_true(fabs(lad.loss - loss_of(a, y, N, p, lad.coefficients)) <= 1e-9);
            }
            mrc_lad_destroy(&lad);
        }
    mercer_ctx_free(ctx);
}

/* Columns that say nothing new get no coefficient; the fit is that of the others. */
static void test_lad_leaves_dependent_columns_out(void **state)
{
    enum { N = 12 };
    double a[6 * N], y[N], plain[3 * N];
    mrc_rng rng;
    mrc_lad lad;
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mrc_rng_seed(&rng, 6);
    fill(&rng, 0, plain, y, N, 3);
    for (int64_t i = 0; i < N; i++) {
        a[i] = plain[i];
        a[N + i] = 7; /* constant again */
        a[2 * N + i] = plain[N + i];
        a[3 * N + i] = 0;
        a[4 * N + i] = 3 * plain[N + i] - 2;
        a[5 * N + i] = plain[2 * N + i];
    }
    assert_ok(mrc_lad_init(&lad, ctx, y, N, 6, err));
    assert_ok(mrc_lad_fit(&lad, a, 6, err));
    assert_int_equal(lad.count, 3);
    assert_true(lad.coefficients[1] == 0 && lad.coefficients[3] == 0 && lad.coefficients[4] == 0);
    assert_true(fabs(lad.loss - best_vertex(plain, y, N, 3)) <= 1e-11 * lad.loss);
    mrc_lad_destroy(&lad);
    mercer_ctx_free(ctx);
}

/* As many columns as rows, or more: nothing is left. Equal values: the first column has it all. */
static void test_lad_goes_through_every_row_when_it_can(void **state)
{
    enum { N = 5 };
    double a[8 * N], y[N];
    mrc_rng rng;
    mrc_lad lad;
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mrc_rng_seed(&rng, 7);
    fill(&rng, 0, a, y, N, 8);
    assert_ok(mrc_lad_init(&lad, ctx, y, N, 8, err));
    assert_ok(mrc_lad_fit(&lad, a, 8, err));
    assert_true(lad.loss == 0 && loss_of(a, y, N, 8, lad.coefficients) < 1e-9);
    mrc_lad_destroy(&lad);
    for (int64_t i = 0; i < N; i++)
        y[i] = -3;
    assert_ok(mrc_lad_init(&lad, ctx, y, N, 8, err));
    assert_ok(mrc_lad_fit(&lad, a, 3, err));
    assert_true(lad.loss == 0 && fabs(lad.coefficients[0] + 3) < 1e-12);
    mrc_lad_destroy(&lad);
    mercer_ctx_free(ctx);
}

/* z with A'z = 0, |z_i| <= 1 and y'z = loss: no fit can do better. */
static void check_certificate(const mrc_lad *lad, const double *a)
{
    int64_t n = lad->n, p = lad->count;
    double *m = ref_alloc(p, p), *z = ref_alloc(p, 1), dual = 0, worst = 0;
    for (int64_t j = 0; j < p; j++) {
        for (int64_t b = 0; b < p; b++)
            m[j * p + b] = a[lad->used[j] * n + lad->basis[b]];
        for (int64_t i = 0; i < n; i++)
            z[j] -= lad->sign[i] * a[lad->used[j] * n + i];
    }
    assert_true(eliminate(m, z, p));
    for (int64_t b = 0; b < p; b++) {
        worst = fmax(worst, fabs(z[b]));
        dual += z[b] * lad->y[lad->basis[b]];
        assert_true(lad->residual[lad->basis[b]] == 0 && lad->sign[lad->basis[b]] == 0);
    }
    for (int64_t i = 0; i < n; i++) {
        dual += lad->sign[i] * lad->y[i];
        assert_true(lad->residual[i] * lad->sign[i] >= 0);
    }
    assert_true(worst <= 1 + 1e-7);
    assert_true(fabs(dual - lad->loss) <= 1e-9 * (1 + lad->loss));
    mrc_free(m);
    mrc_free(z);
}

static void test_lad_proves_its_optimum_on_degenerate_data(void **state)
{
    enum { N = 600, P = 20 };
    double *a = new_doubles(P * N), *y = new_doubles(N);
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 8);
    for (int trial = 0; trial < 8; trial++) {
        int kind = trial % 4;
        double loss[2];
        fill(&rng, kind, a, y, N, P);
        /* Columns that are nearly alike: rounding must not be taken for descent. */
        for (int64_t i = N; trial >= 4 && i < P * N; i++)
            a[i] += 1e4 + a[i - N];
        for (int64_t i = N / 2; kind > 0 && i < N; i++) /* the same rows, other values */
            for (int64_t j = 0; j < P; j++)
                a[j * N + i] = a[j * N + i - N / 2];
        for (int threads = 1; threads <= 2; threads++) {
            mercer_ctx *ctx = new_ctx(threads);
            mrc_lad lad;
            assert_ok(mrc_lad_init(&lad, ctx, y, N, P, err));
            for (int64_t p = 1; p <= P; p++) {
                assert_ok(mrc_lad_fit(&lad, a, p, err));
                if (lad.loss > 0)
                    check_certificate(&lad, a);
            }
            print_message("trial %d: %lld steps\n", trial, (long long)lad.steps);
            assert_true(lad.steps < 2 * N * P); /* no turning in circles */
            loss[threads - 1] = lad.loss;
            mrc_lad_destroy(&lad);
            mercer_ctx_free(ctx);
        }
        assert_true(loss[0] == loss[1]);
    }
    free(a);
    free(y);
}

static void test_lad_survives_every_failing_allocation(void **state)
{
    double a[40], y[20];
    mrc_rng rng;
    mercer_status rc;
    int64_t alive = mrc_alloc_live(), after = 0;
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    int64_t before = mrc_alloc_live();
    mrc_rng_seed(&rng, 9);
    fill(&rng, 0, a, y, 20, 2);
    do {
        mrc_lad lad = {0};
        mrc_alloc_fail_after(after++);
        rc = mrc_lad_init(&lad, ctx, y, 20, 2, NULL);
        if (rc == MERCER_OK)
            rc = mrc_lad_fit(&lad, a, 2, NULL);
        mrc_alloc_fail_after(-1);
        mrc_lad_destroy(&lad);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), before);
    } while (rc != MERCER_OK);
    assert_true(after > 12);
    mercer_ctx_free(ctx);
    assert_int_equal(mrc_alloc_live(), alive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lad_finds_the_best_vertex),
        cmocka_unit_test(test_lad_leaves_dependent_columns_out),
        cmocka_unit_test(test_lad_goes_through_every_row_when_it_can),
        cmocka_unit_test(test_lad_proves_its_optimum_on_degenerate_data),
        cmocka_unit_test(test_lad_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
