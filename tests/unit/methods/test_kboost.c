/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel boosting against the plain form: the n x n weights written out, the base direction from a
 * Jacobi eigen-solver in the range of K, sums over all pairs. */
#include "support.h"

#include "boosting_support.h"
#include "reference.h"

/* T (N x rounds) by the definition; how many rounds there were. */
static int64_t plain_boosting(const double *gram, const double *y, bool logistic, int64_t rounds,
                              double *t)
{
    double *values = ref_alloc(N, 1), *q = ref_alloc(N, N), *copy = ref_alloc(N, N);
    double *f = ref_alloc(N, N), *d = ref_alloc(N, N), *m = ref_alloc(N, N);
    double *mu = ref_alloc(N, 1), *c = ref_alloc(N, N);
    int64_t r = 0, done = 0;
    memcpy(copy, gram, N * N * sizeof *copy);
    ref_eigen(copy, N, values, q);
    while (r < N && values[r] > 1e-10 * values[0])
        r++;
    for (; done < rounds; done++) {
        double tau[N] = {0}, most = 0, right = 0, wrong = 0, dot = 0;
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++) {
                double margin = y[i] * y[j] * f[i * N + j];
                d[i * N + j] = logistic ? 1 / (1 + exp(margin)) : exp(-margin);
            }
        memset(m, 0, N * N * sizeof *m);
        for (int64_t a = 0; a < r; a++)
            for (int64_t b = 0; b < r; b++)
                for (int64_t i = 0; i < N; i++)
                    for (int64_t j = 0; j < N; j++)
                        m[a * r + b] += q[i * N + a] * d[i * N + j] * y[i] * y[j] * q[j * N + b];
        ref_eigen(m, r, mu, c);
        for (int64_t i = 0; i < N; i++) {
            for (int64_t a = 0; a < r; a++)
                tau[i] += q[i * N + a] * c[a * r];
            most = fmax(most, fabs(tau[i]));
            dot += y[i] * tau[i];
        }
        for (int64_t i = 0; i < N; i++)
            tau[i] /= dot < 0 ? -most : most;
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++) {
                double pair = y[i] * y[j] * tau[i] * tau[j];
                *(pair > 0 ? &right : &wrong) += d[i * N + j] * fabs(pair);
            }
        double alpha = wrong > 0 ? fmin(10, log(right / wrong) / 2) : 10;
        if (mu[0] <= 0 || alpha <= 0)
            break;
        for (int64_t i = 0; i < N; i++) {
            t[i * rounds + done] = sqrt(alpha) * tau[i];
            for (int64_t j = 0; j < N; j++)
                f[i * N + j] += alpha * tau[i] * tau[j];
        }
    }
    mrc_free(values);
    mrc_free(q);
    mrc_free(copy);
    mrc_free(f);
    mrc_free(d);
    mrc_free(m);
    mrc_free(mu);
    mrc_free(c);
    return done;
}

static void test_kboost_is_the_plain_form(void **state)
{
    enum { ROUNDS = 5 };
    static const char *const kernels[] = {"linear", "poly:degree=2"};
    static const char *const methods[] = {"kboost", "kboost:loss=log"};
    (void)state;
    struct set s = make_set(2);
    for (int k = 0; k < 2; k++)
        for (int m = 0; m < 2; m++) {
            double ours[N * ROUNDS], plain[N * ROUNDS];
            double *gram = gram_of(&s, kernels[k], false);
            mercer_fit_options options = options_of(methods[m], kernels[k], NULL, ROUNDS);
            assert_int_equal(features_of(&s, s.classes, &options, ours), ROUNDS);
            assert_int_equal(plain_boosting(gram, s.signs, m == 1, ROUNDS, plain), ROUNDS);
            assert_close(ours, plain, N * ROUNDS, 1e-9 * largest_modulus(plain, N * ROUNDS));
            free(gram);
        }
    free_set(&s);
}

/* Directions come from another solver when the rank is large; and where the matrix of the pairs
 * does not fit, that is said first. */
static void test_kboost_of_many_rows(void **state)
{
    enum { ROWS = 400 };
    double *x = normal_rows(7, ROWS, 2, 0, 1), y[ROWS], t[ROWS];
    mercer_targets *targets = NULL;
    mercer_model *model = NULL;
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *rows = view(ctx, x, ROWS, 2);
    for (int64_t i = 0; i < ROWS; i++)
        y[i] = x[2 * i] * x[2 * i + 1] > 0 ? 1 : -1;
    assert_ok(mercer_targets_new_values(y, ROWS, 1, NULL, &targets, err));
    /* Every label can be had, so that the first direction is the labels and its weight the most. */
    mercer_fit_options options = options_of("kboost:rounds=1", "laplacian:gamma=3", NULL, 7);
    assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, t, NULL, err));
    for (int64_t i = 0; i < ROWS; i++)
        assert_true(fabs(t[i] - sqrt(10) * y[i]) < 1e-9);
    mercer_model_free(model);
    assert_ok(mercer_ctx_set_memory(ctx, 1 << 20, err));
    assert_int_equal(mercer_fit(ctx, &options, rows, targets, &model, NULL, NULL),
                     MERCER_ERR_BUDGET);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_kboost_counts_rounds(void **state)
{
    double t[N * 6];
    (void)state;
    struct set s = make_set(1);
    mercer_fit_options options = options_of("kboost:rounds=6", "linear", NULL, 2);
    assert_int_equal(features_of(&s, s.classes, &options, t), 6); /* rounds before components */
    assert_non_null(strstr(notice, "3 of the 6 rounds repeat"));  /* of three columns */
    options.method = "kboost";
    assert_int_equal(features_of(&s, s.classes, &options, t), 2);
    assert_string_equal(notice, "");
    free_set(&s);
}

static void test_kboost_is_linear_by_default(void **state)
{
    double left[N * 2], linear[N * 2], rbf[N * 2];
    mercer_model *model = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    (void)state;
    struct set s = make_set(1);
    mercer_fit_options options = options_of("kboost", NULL, NULL, 2);
    assert_ok(mercer_fit(s.ctx, &options, s.rows, s.classes, &model, NULL, err));
    mercer_model_get_info(model, &info);
    assert_string_equal(info.kernel, "linear");
    mercer_model_free(model);
    assert_int_equal(features_of(&s, s.classes, &options, left), 2);
    options.kernel = "linear";
    assert_int_equal(features_of(&s, s.classes, &options, linear), 2);
    assert_memory_equal(left, linear, sizeof left);
    options.kernel = "rbf"; /* no other is refused */
    assert_int_equal(features_of(&s, s.classes, &options, rbf), 2);
    assert_memory_not_equal(left, rbf, sizeof left);
    free_set(&s);
}

static void test_kboost_refuses_other_labels(void **state)
{
    mercer_error why;
    (void)state;
    struct set s = make_set(1);
    assert_int_equal(failure_of(&s, s.values, "kboost", &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "kernel boosting is for two classes"));
    assert_int_equal(failure_of(&s, s.classes, "kboost:rounds=-1", &why), MERCER_ERR_ARGUMENT);
    assert_int_equal(failure_of(&s, s.classes, "kboost:loss=ls", &why), MERCER_ERR_ARGUMENT);
    free_set(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kboost_is_the_plain_form),
        cmocka_unit_test(test_kboost_of_many_rows),
        cmocka_unit_test(test_kboost_counts_rounds),
        cmocka_unit_test(test_kboost_is_linear_by_default),
        cmocka_unit_test(test_kboost_refuses_other_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
