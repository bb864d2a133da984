/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel Hebbian algorithm: towards the subspace of kernel PCA, by every schedule; what it says
 * of rates and rows that are too much for it. */
#include "support.h"

#include "stream_support.h"

#include <stdio.h>

/* Smallest cosine of the angle between a feature of b, over all rows, and the span of those of a.
 */
static double subspace_cosine(const double *a, const double *b, int64_t n, int64_t l)
{
    double *q = new_doubles(n * l), worst = 1;
    for (int64_t j = 0; j < l; j++) { /* Gram-Schmidt of the columns of a */
        for (int64_t i = 0; i < n; i++)
            q[j * n + i] = a[i * l + j];
        for (int pass = 0; pass < 2; pass++)
            for (int64_t k = 0; k < j; k++) {
                double dot = 0;
                for (int64_t i = 0; i < n; i++)
                    dot += q[k * n + i] * q[j * n + i];
                for (int64_t i = 0; i < n; i++)
                    q[j * n + i] -= dot * q[k * n + i];
            }
        double norm = 0;
        for (int64_t i = 0; i < n; i++)
            norm += q[j * n + i] * q[j * n + i];
        for (int64_t i = 0; i < n; i++)
            q[j * n + i] /= sqrt(norm);
    }
    for (int64_t j = 0; j < l; j++) {
        double all = 0, within = 0;
        for (int64_t i = 0; i < n; i++)
            all += b[i * l + j] * b[i * l + j];
        for (int64_t k = 0; k < l; k++) {
            double dot = 0;
            for (int64_t i = 0; i < n; i++)
                dot += q[k * n + i] * b[i * l + j];
            within += dot * dot;
        }
        worst = fmin(worst, sqrt(within / all));
    }
    free(q);
    return worst;
}

static void test_kha_finds_the_subspace_of_kernel_pca(void **state)
{
    static const struct {
        const char *method;
        int64_t n;
        double cosine, error; /* at least, and at most relative to kernel PCA's */
    } cases[] = {
        {"kha:components=4,passes=5", 200, 0.98, 1.5},
        {"kha:components=4,passes=100", 200, 0.9999, 1.001},
        {"kha:components=4,schedule=constant,passes=100", 200, 0.999, 1.03},
        {"kha:components=4,schedule=decay,passes=100", 200, 0.9, 3},
        {"kha:components=4", 3100, 0.999, 1.05}, /* ten blocks */
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_ctx *ctx = new_ctx(1);
        int64_t n = cases[c].n;
        double *x = parabola_rows(1, n);
        mercer_model *batch = fit_model(ctx, "kpca:components=4", "rbf:sigma=1", NULL, x, n, 2);
        mercer_model *model = fit_model(ctx, cases[c].method, "rbf:sigma=1", NULL, x, n, 2);
        double *a = features_of(ctx, batch, x, n, 2), *b = features_of(ctx, model, x, n, 2);
        double cosine = subspace_cosine(a, b, n, 4);
        double error = info_of(model).reconstruction_error / info_of(batch).reconstruction_error;
        print_message("%s, %d rows: cosine %.5f, error %.4f\n", cases[c].method, (int)n, cosine,
                      error);
        assert_true(info_of(model).orthonormal && info_of(model).correlated);
        assert_true(cosine >= cases[c].cosine && error <= cases[c].error);
        free(a);
        free(b);
        free(x);
        mercer_model_free(batch);
        mercer_model_free(model);
        mercer_ctx_free(ctx);
    }
}

/* Without a mean it goes to the directions of the raw images. */
static void test_kha_without_centring(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = parabola_rows(1, 200);
    (void)state;
    mercer_model *batch = fit_model(ctx, "kpca:components=3", "rbf:sigma=1", "none", x, 200, 2);
    mercer_model *model =
        fit_model(ctx, "kha:components=3,passes=100", "rbf:sigma=1", "none", x, 200, 2);
    double error = info_of(model).reconstruction_error / info_of(batch).reconstruction_error;
    assert_true(error < 1.01);
    mercer_model_free(batch);
    mercer_model_free(model);
    free(x);
    mercer_ctx_free(ctx);
}

static void test_kha_catches_a_rate_that_is_too_large(void **state)
{
    static const double rates[] = {3, 100, 1e6};
    mercer_ctx *ctx = new_ctx(1);
    double *x = parabola_rows(1, 500);
    mercer_rows *rows = view(ctx, x, 500, 2);
    (void)state;
    for (int i = 0; i < 3; i++) {
        char method[64];
        mercer_model *model = NULL;
        mercer_error why = {0};
        snprintf(method, sizeof method, "kha:components=4,rate=%g", rates[i]);
        mercer_fit_options options = options_of(method, "rbf:sigma=1");
        assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why),
                         MERCER_ERR_NUMERIC);
        assert_non_null(strstr(why.text, "is too large"));
        assert_non_null(strstr(why.text, "try rate="));
        assert_null(model);
    }
    mercer_rows_free(rows);
    free(x);
    mercer_ctx_free(ctx);
}

static void keep_notice(void *host, const mercer_notice *given)
{
    snprintf(host, 256, "%.255s", given->text);
}

/* Rows the landmarks do not span are not learnt from, and that is said. */
static void test_kha_tells_what_lies_outside_the_landmarks(void **state)
{
    char notice[256] = "";
    mercer_ctx *ctx = new_ctx(1);
    double *x = parabola_rows(1, 1200);
    mercer_stream_info info = {.struct_size = sizeof info};
    (void)state;
    mercer_stream *stream = new_stream(ctx, "kha:components=4,library=40", "rbf:sigma=1");
    mercer_ctx_set_notice(ctx, keep_notice, notice);
    push_rows(ctx, stream, x, 600, 2, 600);
    model_of(ctx, stream);
    mercer_stream_get_info(stream, &info);
    assert_int_equal(info.points, 40);
    assert_true(info.outside < 0.01);
    assert_string_equal(notice, "");
    for (int64_t i = 1200; i < 2400; i++) /* another place */
        x[i] += 10;
    push_rows(ctx, stream, x + 1200, 600, 2, 600);
    model_of(ctx, stream);
    mercer_stream_get_info(stream, &info);
    assert_true(info.outside > 0.9);
    assert_non_null(strstr(notice, "outside the span of the landmarks"));
    mercer_stream_free(stream);
    free(x);
    mercer_ctx_free(ctx);
}

/* No more components than kernel PCA finds: few rows, rows twice, few columns, one more block. */
static void test_kha_has_no_more_components_than_the_rank(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=2", "linear", "poly:degree=2"};
    static const char *const centers[] = {"exact", "none"};
    enum { D = 2, MOST = 9 };
    (void)state;
    for (int c = 0; c < 3 * 2 * 2; c++)
        for (int64_t n = 2; n <= MOST; n++) {
            const char *kernel = kernels[c % 3], *center = centers[c / 3 % 2];
            bool twice = c / 6;
            mercer_ctx *ctx = new_ctx(1);
            double *x = normal_rows(20 + (uint64_t)n, 2 * n, D, 1, 1);
            char method[64];
            if (twice)
                memcpy(x + n * D, x, (size_t)(n * D) * sizeof *x);
            snprintf(method, sizeof method, "kpca:components=%d", MOST + 1);
            mercer_model *pca = fit_model(ctx, method, kernel, center, x, n, D);
            snprintf(method, sizeof method, "kha:components=%d,first=%lld", MOST + 1, (long long)n);
            mercer_model *kha = fit_model(ctx, method, kernel, center, x, twice ? 2 * n : n, D);
            if (info_of(kha).components != info_of(pca).components)
                fail_msg("%s, center %s, %lld rows%s: %lld components, the rank is %lld", kernel,
                         center, (long long)n, twice ? " twice" : "",
                         (long long)info_of(kha).components, (long long)info_of(pca).components);
            mercer_model_free(pca);
            mercer_model_free(kha);
            mercer_ctx_free(ctx);
            free(x);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kha_finds_the_subspace_of_kernel_pca),
        cmocka_unit_test(test_kha_without_centring),
        cmocka_unit_test(test_kha_has_no_more_components_than_the_rank),
        cmocka_unit_test(test_kha_catches_a_rate_that_is_too_large),
        cmocka_unit_test(test_kha_tells_what_lies_outside_the_landmarks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
