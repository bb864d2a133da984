/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel PCA: training scores, the ring's known error, rank deficiency, notices. */
#include "support.h"

#include "model/model.h"

#include <mercer/mercer.h>

#include <stdio.h>

static mercer_cause told_cause; /* of the last notice */

static void keep_notice(void *host, const mercer_notice *given)
{
    told_cause = given->cause;
    snprintf(host, 512, "%s", given->text);
}

static mercer_model *fit(mercer_ctx *ctx, const mercer_rows *rows, const char *kernel,
                         const char *center, const char *store, double components)
{
    mercer_model *model = NULL;
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = "kpca:points=all"; /* B over the rows is looked at */
    options.kernel = kernel;
    options.center = center;
    options.store = store;
    options.components = components;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    return model;
}

/* Transforming the training rows gives sqrt(lambda) u = lambda B, on rank-deficient and repeated
 * rows too. */
static void test_kpca_training_scores(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=4", "poly:gamma=0.5,degree=2", "cosine",
                                          "sigmoid:gamma=0.2", "rbf:sigma=0.5"};
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    enum { N = 480, D = 3, L = 12 };
    (void)state;
    double *x = normal_rows(5, N, D, 1, 1);
    for (int64_t i = N / 2; i < N; i++) /* every row twice */
        memcpy(x + i * D, x + (i - N / 2) * D, D * sizeof *x);
    for (int k = 0; k < 5; k++)
        for (int s = 0; s < 3; s++)
            for (int centered = 0; centered < 2; centered++) {
                if (k == 3 && s == 2)
                    continue; /* an indefinite kernel has no low-rank factor */
                mercer_ctx *ctx = new_ctx(2);
                mercer_rows *rows = view(ctx, x, N, D);
                mercer_model *model =
                    fit(ctx, rows, kernels[k], centered ? "exact" : "none", stores[s], L);
                int64_t l = model->components;
                double *scores = new_doubles(N * l), *expected = new_doubles(N * l);
                assert_ok(mercer_model_transform(ctx, model, rows, NULL, scores, NULL, err));
                for (int64_t i = 0; i < N; i++)
                    for (int64_t j = 0; j < l; j++)
                        expected[i * l + j] = model->spectrum[j] * model->coefficients[i * l + j];
                print_message("%s %s centred=%d: %lld components\n", kernels[k], stores[s],
                              centered, (long long)l);
                assert_close(scores, expected, N * l, 1e-10 * largest_modulus(scores, N * l));
                free(scores);
                free(expected);
                mercer_model_free(model);
                mercer_rows_free(rows);
                mercer_ctx_free(ctx);
            }
    free(x);
}

/* Ring of radius 8 with unit noise, sigma 4, centred, ten components: a mean error of 0.0555 at
 * every size (the figure of the literature's Table 2). */
static void test_kpca_ring_error(void **state)
{
    (void)state;
    for (int64_t n = 500; n <= 3500; n += 500) {
        double mean = 0;
        for (uint64_t seed = 1; seed <= 5; seed++) {
            mercer_ctx *ctx = new_ctx(2);
            mercer_dataset_options options;
            mercer_table *table = NULL;
            mercer_model_info info = {.struct_size = sizeof info};
            mercer_dataset_options_init(&options);
            options.rows = n;
            mercer_ctx_set_seed(ctx, seed);
            assert_ok(mercer_dataset_generate(ctx, "circle", &options, &table, err));
            mercer_model *model =
                fit(ctx, mercer_table_rows(table), "rbf:sigma=4", NULL, "auto", 10);
            mercer_model_get_info(model, &info);
            mean += info.reconstruction_error / 5;
            mercer_model_free(model);
            mercer_table_free(table);
            mercer_ctx_free(ctx);
        }
        print_message("n=%lld: %.4f\n", (long long)n, mean);
        assert_true(fabs(mean - 0.0555) <= 0.003);
    }
}

static void test_kpca_says_what_it_drops(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    char notice[512] = "";
    double *x = normal_rows(5, 100, 2, 0, 1);
    mercer_rows *rows = view(ctx, x, 100, 2);
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_ctx_set_notice(ctx, keep_notice, notice);
    mercer_model *model = fit(ctx, rows, "linear", NULL, "auto", 10);
    mercer_model_get_info(model, &info);
    assert_int_equal(info.components, 2);
    assert_non_null(strstr(notice, "10 components asked for"));
    assert_non_null(strstr(notice, "2 kept"));
    assert_int_equal(told_cause, MERCER_CAUSE_FEWER_COMPONENTS);
    mercer_model_free(model);
    notice[0] = 0;
    model = fit(ctx, rows, "sigmoid:gamma=1,coef0=-1", NULL, "auto", 5);
    assert_non_null(strstr(notice, "not positive semidefinite"));
    assert_int_equal(told_cause, MERCER_CAUSE_NONE);
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_fit_options_must_be_initialised(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(5, 20, 2, 0, 1);
    mercer_rows *rows = view(ctx, x, 20, 2);
    mercer_fit_options options = {.method = "kpca"};
    mercer_model *model = NULL;
    mercer_error fault;
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &fault),
                     MERCER_ERR_ARGUMENT);
    assert_string_equal(fault.text, "fit options were not initialised");
    assert_null(model);
    /* A caller built before the last members were added. */
    mercer_fit_options_init(&options);
    options.method = "kpca:components=2";
    options.store = "no such store";
    options.struct_size = offsetof(mercer_fit_options, store);
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kpca_training_scores),
        cmocka_unit_test(test_kpca_ring_error),
        cmocka_unit_test(test_kpca_says_what_it_drops),
        cmocka_unit_test(test_fit_options_must_be_initialised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
