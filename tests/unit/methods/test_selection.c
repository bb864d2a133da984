/* SPDX-License-Identifier: BSD-3-Clause */
/* AKFA, ACKFA and SKFA through the public interface, judged by plain deflation: the same rows are
 * picked whatever the store, features and errors are those of the deflation, and rows that carry
 * nothing are never picked. */
#include "selection_support.h"

static void test_selection_ring(void **state)
{
    (void)state;
    compare_all(0, 60, 60, 1e-6);
    compare_all(0, 300, 100, 0.05);
    assert_int_equal(failures, 0);
}

static void test_selection_blobs(void **state)
{
    (void)state;
    compare_all(1, 60, 60, 0.05);
    compare_all(1, 300, 100, 1e-6);
    assert_int_equal(failures, 0);
}

static void test_selection_wide(void **state)
{
    (void)state;
    compare_all(2, 60, 60, 0.5);
    compare_all(2, 300, 100, 0.3);
    assert_int_equal(failures, 0);
}

/* The readings of SKFA, a threshold times the mean diagonal, and all rows as candidates. */
static void test_selection_variants(void **state)
{
    enum { N = 80, L = 15 };
    static const struct {
        const char *method;
        struct rule rule;
    } variants[] = {
        {"skfa:criterion=moment,l1=images", {.l1 = true}},
        {"skfa:criterion=variance", {.l1 = true, .spread = true}},
        {"skfa:l1=features", {.l1 = true, .features = true}},
        {"skfa:criterion=variance,l1=features", {.l1 = true, .features = true, .spread = true}},
        {"ackfa:delta=0.4,relative=on", {.delta = 0.4}},
        {"ackfa", {.delta = 0.5}}, /* its default is relative */
        {"akfa:candidates=80", {0}},
        {"skfa:candidates=80,terms=80", {.l1 = true}}};
    double *x = ring_rows(31, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int v = 0; v < 8; v++)
        for (int centered = 0; centered < 2; centered++) {
            double *gram = gram_of("rbf:sigma=4", x, N, 2, centered), mean = 0;
            struct rule rule = variants[v].rule;
            for (int64_t i = 0; i < N; i++)
                mean += gram[i * (N + 1)] / N;
            rule.delta *= mean;
            struct deflated f = deflate_plainly(gram, N, L, &rule);
            struct outcome o = fit_well(variants[v].method, "rbf:sigma=4",
                                        centered ? "exact" : "none", "dense", L, rows);
            if (check_picks(variants[v].method, &o, &f, NULL))
                check_features(variants[v].method, &o, &f, gram, rows, NULL);
            mercer_model_free(o.model);
            deflated_free(&f);
            free(gram);
        }
    mercer_rows_free(rows);
    free(x);
    assert_int_equal(failures, 0);
}

/* A random subset of candidates: the same for the same seed, other picks for another, an
 * orthonormal basis all the same. */
static void test_selection_of_few_candidates(void **state)
{
    enum { N = 200, L = 8 };
    static const char *const methods[] = {"akfa:candidates=10", "skfa:candidates=10",
                                          "ackfa:delta=0.01,relative=off,candidates=10",
                                          "skfa:terms=20"};
    double *x = ring_rows(32, N), *gram = gram_of("rbf:sigma=4", x, N, 2, true);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int m = 0; m < 4; m++) {
        int64_t first[L] = {0};
        int differ = 0;
        for (int run = 0; run < 6; run++) { /* seeds 1, 1, 2, 3, 4, 5 */
            mercer_ctx_set_seed(ctx, (uint64_t)(run ? run : 1));
            struct outcome o = fit_well(methods[m], "rbf:sigma=4", "exact", "dense", L, rows);
            assert_int_equal(o.info.selected_count, L);
            if (run == 0)
                memcpy(first, o.info.selected, sizeof first);
            if (run == 1)
                assert_memory_equal(o.info.selected, first, sizeof first);
            differ += memcmp(o.info.selected, first, sizeof first) != 0;
            double *y = features_of(&o, rows, NULL, NULL);
            for (int64_t a = 0; a < L; a++) /* Y Y' = K on the picked rows */
                for (int64_t b = 0; b <= a; b++) {
                    int64_t p = o.info.selected[a], q = o.info.selected[b];
                    double dot = -gram[p * N + q];
                    for (int64_t j = 0; j < L; j++)
                        dot += y[p * L + j] * y[q * L + j];
                    assert_true(fabs(dot) <= 1e-12);
                }
            free(y);
            mercer_model_free(o.model);
        }
        assert_true(differ >= 3);
    }
    mercer_rows_free(rows);
    free(gram);
    free(x);
}

/* captured= and a share of components stop at the first feature that reaches the share. */
static void test_selection_stops_at_a_share(void **state)
{
    enum { N = 150, L = 60 };
    double *x = ring_rows(33, N), *gram = gram_of("rbf:sigma=3", x, N, 2, true), total = 0;
    mercer_rows *rows = view(ctx, x, N, 2);
    struct deflated f = deflate_plainly(gram, N, L, &akfa_rule);
    (void)state;
    for (int64_t i = 0; i < N; i++)
        total += gram[i * (N + 1)] / N;
    for (int share = 50; share <= 95; share += 15) {
        char method[64];
        int64_t expected = 0;
        while (1 - f.error[expected++] / total < share / 100.0) {
        }
        snprintf(method, sizeof method, "akfa:captured=0.%d", share);
        struct outcome o = fit_well(method, "rbf:sigma=3", "exact", "dense", L, rows);
        assert_int_equal(o.info.components, expected);
        assert_memory_equal(o.info.selected, f.selected, (size_t)expected * sizeof(int64_t));
        mercer_model_free(o.model);
        snprintf(method, sizeof method, "akfa:components=0.%d", share);
        o = fit_well(method, "rbf:sigma=3", "exact", "dense", 0, rows);
        assert_int_equal(o.info.components, expected);
        mercer_model_free(o.model);
    }
    mercer_rows_free(rows);
    deflated_free(&f);
    free(gram);
    free(x);
}

/* Rows the model has not seen: C'k^_S(t) and k^(t,t) - |y|^2, with the means of the training rows.
 */
static void test_selection_of_new_rows(void **state)
{
    static const char *const specs[] = {"rbf:sigma=4", "poly:degree=2,gamma=0.05", "linear",
                                        "exponential:gamma=0.2"};
    enum { N = 90, T = 25, L = 6 };
    double *x = ring_rows(34, N + T);
    mercer_rows *rows = view(ctx, x, N, 2), *fresh = view(ctx, x + 2 * N, T, 2);
    (void)state;
    for (int s = 0; s < 4; s++)
        for (int centered = 0; centered < 2; centered++) {
            double *all = gram_of(specs[s], x, N + T, 2, false), *mean = new_doubles(N + T);
            double grand = 0, *errors = new_doubles(T);
            struct outcome o =
                fit_well("akfa", specs[s], centered ? "exact" : "none", "dense", L, rows);
            for (int64_t i = 0; centered && i < N + T; i++)
                for (int64_t j = 0; j < N; j++)
                    mean[i] += all[i * (N + T) + j] / N;
            for (int64_t j = 0; j < N; j++)
                grand += mean[j] / N;
            for (int64_t i = 0; i < N + T; i++) /* centre by only the training rows */
                for (int64_t j = 0; j < N + T; j++)
                    all[i * (N + T) + j] += grand - mean[i] - mean[j];
            double *gram = new_doubles(N * N);
            for (int64_t i = 0; i < N; i++)
                memcpy(gram + i * N, all + i * (N + T), N * sizeof *gram);
            struct deflated f = deflate_plainly(gram, N, L, &akfa_rule);
            int64_t l = o.info.components;
            double *y = features_of(&o, fresh, errors, NULL);
            assert_int_equal(l, f.count);
            for (int64_t t = 0; t < T; t++) {
                double left = all[(N + t) * (N + T + 1)];
                for (int64_t j = 0; j < l; j++) {
                    double value = 0;
                    for (int64_t q = 0; q < l; q++)
                        value += f.c[q * L + j] * all[(N + t) * (N + T) + f.selected[q]];
                    assert_true(fabs(value - y[t * l + j]) <= 1e-10 * sqrt(f.kmax));
                    left -= value * value;
                }
                assert_true(fabs(left - errors[t]) <= 1e-10 * f.kmax);
            }
            assert_true(centered ? o.info.expansion_points == N || o.info.expansion_points == 0
                                 : o.info.expansion_points <= L);
            mercer_model_free(o.model);
            deflated_free(&f);
            free(gram);
            free(all);
            free(mean);
            free(errors);
            free(y);
        }
    mercer_rows_free(rows);
    mercer_rows_free(fresh);
    free(x);
}

/* Nothing, or nothing but repetitions: as specified, and never NaN. */
static void test_selection_edges(void **state)
{
    static const char *const methods[] = {"akfa", "skfa", "ackfa:delta=1e-3,relative=on"};
    (void)state;
    for (int m = 0; m < 3; m++) {
        check_rank(methods[m], "none");
        check_rank(methods[m], "exact");
        check_empty_rows(m == 2 ? "ackfa:delta=1e-6,relative=off" : methods[m]);
        check_equal_rows(methods[m], "exact");
    }
}

/* A delta above every residual leaves nothing to pick, and the error says what to change. */
static void test_selection_cuts_everything(void **state)
{
    enum { N = 40 };
    double *x = ring_rows(42, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int relative = 0; relative < 2; relative++) {
        struct outcome o =
            fit(relative ? "ackfa:delta=3,relative=on" : "ackfa:delta=1.5,relative=off",
                "rbf:sigma=4", "exact", "dense", 5, rows);
        assert_int_equal(o.rc, MERCER_ERR_DATA);
        assert_null(o.model);
        assert_non_null(strstr(o.why.text, "delta"));
    }
    mercer_rows_free(rows);
    free(x);
}

/* A kernel with negative eigenvalues: the rule for validity keeps the picks plain, and numbers. */
static void test_selection_with_an_indefinite_kernel(void **state)
{
    static const char kernel[] = "sigmoid:gamma=0.05,coef0=-0.5";
    enum { N = 60, L = 12 };
    double *x = normal_rows(43, N, 4, 0, 2);
    mercer_rows *rows = view(ctx, x, N, 4);
    (void)state;
    for (int m = 0; m < 3; m++)
        for (int centered = 0; centered < 2; centered++) {
            const struct rule cutting = {.delta = 0.05};
            const struct rule *rule = m == 0 ? &akfa_rule : m == 1 ? &skfa_rule : &cutting;
            static const char *const methods[] = {"akfa", "skfa", "ackfa:delta=0.05,relative=off"};
            double *gram = gram_of(kernel, x, N, 4, centered);
            struct deflated f = deflate_plainly(gram, N, L, rule);
            struct outcome o =
                fit_well(methods[m], kernel, centered ? "exact" : "none", "dense", L, rows);
            check_picks(methods[m], &o, &f, NULL);
            assert_finite(&o, rows);
            mercer_model_free(o.model);
            deflated_free(&f);
            free(gram);
        }
    mercer_rows_free(rows);
    free(x);
    assert_int_equal(failures, 0);
}

/* A precomputed kernel without a mean needs the kept points alone. */
static void test_selection_of_a_matrix_keeps_few_columns(void **state)
{
    (void)state;
    check_kept_columns("akfa", "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_selection_ring),
        TEST(test_selection_blobs),
        TEST(test_selection_wide),
        TEST(test_selection_variants),
        TEST(test_selection_of_few_candidates),
        TEST(test_selection_stops_at_a_share),
        TEST(test_selection_of_new_rows),
        TEST(test_selection_edges),
        TEST(test_selection_cuts_everything),
        TEST(test_selection_with_an_indefinite_kernel),
        TEST(test_selection_of_a_matrix_keeps_few_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
