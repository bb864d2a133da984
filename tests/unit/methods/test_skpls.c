/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse kernel PLS against deflation of the matrix itself, and nu = 1 against kernel PLS. */
#include "support.h"

#include "features_support.h"
#include "fit_support.h"

enum { N = TABLE_ROWS, L = 5 };

/* Features of one label by the largest residuals or the most information of all rows, with K_j and
 * y_j as arrays. */
static double *plain_features(const double *gram, const double *label, int64_t wanted,
                              bool information)
{
    double *left = new_doubles(N * N), y[N], *t = new_doubles(N * L);
    memcpy(left, gram, N * N * sizeof *left);
    memcpy(y, label, sizeof y);
    for (int j = 0; j < L; j++) {
        double score[N], beta[N] = {0}, tau[N] = {0}, length2 = 0;
        for (int64_t i = 0; i < N; i++) {
            double image = 0;
            for (int64_t k = 0; k < N; k++)
                image += left[k * N + i] * y[k]; /* K_j'y */
            score[i] = information ? y[i] * image : fabs(y[i]);
        }
        for (int64_t i = 0; i < N; i++) {
            int64_t better = 0;
            for (int64_t k = 0; k < N; k++)
                better += score[k] > score[i] || (score[k] == score[i] && k < i);
            beta[i] = better < wanted ? y[i] : 0;
        }
        for (int64_t i = 0; i < N; i++)
            for (int64_t k = 0; k < N; k++) {
                tau[i] += left[i * N + k] * beta[k];
                length2 += beta[i] * gram[i * N + k] * beta[k];
            }
        for (int64_t i = 0; i < N; i++)
            t[i * L + j] = tau[i] / sqrt(length2);
        take_off(left, N, N, tau);
        take_off(y, N, 1, tau);
    }
    free(left);
    return t;
}

static void test_skpls_is_plain_deflation(void **state)
{
    static const char *const methods[] = {"skpls:nu=0.3,heuristic=mr",
                                          "skpls:nu=0.3,heuristic=mi,cache=60",
                                          "skpls:nu=0.01,heuristic=mr"};
    struct table *t = new_table();
    (void)state;
    for (int m = 0; m < 3; m++)
        for (int centered = 0; centered < 2; centered++) {
            double *gram = gram_of_table(t, "rbf:sigma=1.5", centered);
            double *want = plain_features(gram, t->one, m == 2 ? 1 : 18, m == 1);
            mercer_model *model = fit_table(t, methods[m], "rbf:sigma=1.5",
                                            centered ? "exact" : "none", L, ONE_TARGET);
            assert_int_equal(model->components, L);
            double *f = features_of(t, model, t->rows);
            assert_true(differ_up_to_sign(f, want, N, L) < 1e-9);
            free(f);
            free(want);
            free(gram);
            mercer_model_free(model);
        }
    free_table(t);
}

static void test_skpls_of_all_rows_is_kpls(void **state)
{
    static const char *const methods[] = {
        "skpls:nu=1,heuristic=mr", "skpls:nu=1,heuristic=mi,cache=5", "skpls:nu=1,heuristic=eps"};
    static const char *const kernels[] = {"linear", "rbf:sigma=1.5"};
    struct table *t = new_table();
    (void)state;
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < 2; k++)
            for (int labels = 0; labels < LABELS; labels++)
                for (int centered = 0; centered < 2; centered++) {
                    const char *center = centered ? "exact" : "none";
                    int64_t l = k == 0 ? 3 : L;
                    mercer_model *model =
                        fit_table(t, methods[m], kernels[k], center, (double)l, labels);
                    mercer_model *same =
                        fit_table(t, "kpls", kernels[k], center, (double)l, labels);
                    double *f = features_of(t, model, t->new_rows);
                    double *g = features_of(t, same, t->new_rows);
                    assert_true(differ_up_to_sign(f, g, TABLE_FRESH, l) < 1e-9);
                    free(f);
                    free(g);
                    mercer_model_free(model);
                    mercer_model_free(same);
                }
    free_table(t);
}

/* Each direction is in the span of its rows, which the model keeps; features are orthogonal. */
static void test_skpls_keeps_the_rows_it_uses(void **state)
{
    static const char *const methods[] = {"skpls:nu=0.1,heuristic=mr",
                                          "skpls:nu=0.1,heuristic=mi,cache=20",
                                          "skpls:nu=0.1,heuristic=eps"};
    struct table *t = new_table();
    (void)state;
    for (int m = 0; m < 3; m++)
        for (int labels = 0; labels < LABELS; labels++) {
            mercer_model *model =
                fit_table(t, methods[m], "laplacian:gamma=0.5", "none", L, labels);
            assert_int_equal(model->components, L);
            assert_true(model->points >= 6 && model->points <= 6 * L);
            double *f = features_of(t, model, t->rows);
            check_orthogonal(f, N, L);
            free(f);
            mercer_model *first = NULL;
            assert_ok(mercer_model_truncate(t->ctx, model, 1, &first, err));
            assert_int_equal(first->points, 6); /* ceil(0.1 * 60) */
            mercer_model_free(first);
            mercer_model_free(model);
        }
    free_table(t);
}

static void test_skpls_draws_by_the_seed_alone(void **state)
{
    struct table *t = new_table();
    double *f[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        mercer_fit_options options =
            options_of("skpls:nu=0.2,heuristic=mi,cache=25", "rbf:sigma=1.5", NULL, 4);
        mercer_model *model = NULL;
        mercer_ctx_set_seed(t->ctx, i == 2 ? 2 : 1);
        assert_ok(mercer_ctx_set_threads(t->ctx, i == 0 ? 1 : 2, err));
        assert_ok(mercer_fit(t->ctx, &options, t->rows, t->targets[0], &model, NULL, err));
        f[i] = features_of(t, model, t->rows);
        mercer_model_free(model);
    }
    assert_memory_equal(f[0], f[1], N * 4 * sizeof **f);
    assert_true(largest_difference(f[0], f[2], N * 4) > 1e-3);
    for (int i = 0; i < 3; i++)
        free(f[i]);
    free_table(t);
}

static void test_skpls_allocations_may_fail(void **state)
{
    static const char *const methods[] = {"skpls:nu=0.2,heuristic=mr",
                                          "skpls:nu=0.2,heuristic=mi,cache=20",
                                          "skpls:nu=0.2,heuristic=eps"};
    struct table *t = new_table();
    (void)state;
    assert_ok(mercer_ctx_set_threads(t->ctx, 1, err));
    for (int m = 0; m < 3; m++) {
        mercer_fit_options options = options_of(methods[m], "rbf:sigma=1.5", NULL, 2);
        check_failing_allocations(t->ctx, &options, t->rows, t->targets[THREE_CLASSES]);
    }
    free_table(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skpls_is_plain_deflation),
        cmocka_unit_test(test_skpls_of_all_rows_is_kpls),
        cmocka_unit_test(test_skpls_keeps_the_rows_it_uses),
        cmocka_unit_test(test_skpls_draws_by_the_seed_alone),
        cmocka_unit_test(test_skpls_allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
