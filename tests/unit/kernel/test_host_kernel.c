/* Kernels that a host program adds to the context. */
#include "support.h"

#include "model/model.h"

#include <mercer/mercer.h>

#include <stdio.h>
#include <unistd.h>

enum { N = 300, D = 3, T = 40, L = 5 };

/* exp(-gamma |x - y|^2), gamma being the host's. */
static void gaussian(void *host, const double *x, int64_t nx, int64_t ldx, const double *y,
                     int64_t ny, int64_t ldy, int64_t d, double *out, int64_t ldo)
{
    for (int64_t i = 0; i < nx; i++)
        for (int64_t j = 0; j < ny; j++) {
            double sum = 0;
            for (int64_t k = 0; k < d; k++)
                sum += (x[i * ldx + k] - y[j * ldy + k]) * (x[i * ldx + k] - y[j * ldy + k]);
            out[i * ldo + j] = exp(-*(const double *)host * sum);
        }
}

static void broken(void *host, const double *x, int64_t nx, int64_t ldx, const double *y,
                   int64_t ny, int64_t ldy, int64_t d, double *out, int64_t ldo)
{
    (void)host, (void)x, (void)ldx, (void)y, (void)ldy, (void)d;
    for (int64_t i = 0; i < nx; i++)
        for (int64_t j = 0; j < ny; j++)
            out[i * ldo + j] = nx * ny > 1 ? NAN : 1;
}

static mercer_status fit(mercer_ctx *ctx, const mercer_rows *rows, const char *kernel,
                         const char *store, mercer_model **model, mercer_error *why)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = kernel;
    options.store = store;
    options.components = L;
    options.scale = "standard";
    return mercer_fit(ctx, &options, rows, NULL, model, NULL, why);
}

/* The host's Gaussian equals ours in every store, alone and combined, also after a file. */
static void test_host_kernel_equals_ours(void **state)
{
    static const char *const pairs[][2] = {
        {"mine", "rbf:gamma=0.3"},
        {"2*mine + linear*mine", "2*rbf:gamma=0.3 + linear*rbf:gamma=0.3"}};
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    static double gamma = 0.3;
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/mercer-host-%ld.mercer", (long)getpid());
    for (int p = 0; p < 2; p++)
        for (int s = 0; s < 3; s++) {
            mercer_ctx *ctx = new_ctx(2), *other = new_ctx(1);
            double *x = normal_rows(1, N, D, 1, 2), *fresh = normal_rows(2, T, D, 1, 2);
            double *y[3];
            mercer_rows *rows = view(ctx, x, N, D), *new_rows = view(ctx, fresh, T, D);
            mercer_model *model = NULL;
            mercer_error why;
            assert_ok(mercer_ctx_add_kernel(ctx, "mine", gaussian, &gamma, 1, err));
            for (int k = 0; k < 2; k++) {
                y[k] = new_doubles(T * L);
                assert_ok(fit(ctx, rows, pairs[p][k], stores[s], &model, err));
                assert_ok(mercer_model_transform(ctx, model, new_rows, NULL, y[k], NULL, err));
                if (k == 0)
                    assert_ok(mercer_model_save(ctx, model, path, err));
                mercer_model_free(model);
            }
            assert_close(y[0], y[1], T * L, 1e-9 * largest_modulus(y[1], T * L));
            assert_int_equal(mercer_model_load(other, path, &model, &why), MERCER_ERR_FORMAT);
            assert_non_null(strstr(why.text, "unknown kernel 'mine'"));
            assert_ok(mercer_ctx_add_kernel(other, "mine", gaussian, &gamma, 1, err));
            assert_ok(mercer_model_load(other, path, &model, err));
            mercer_ctx_free(other); /* a model outlives the context it was loaded with */
            y[2] = new_doubles(T * L);
            assert_ok(mercer_model_transform(ctx, model, new_rows, NULL, y[2], NULL, err));
            assert_memory_equal(y[0], y[2], T * L * sizeof(double));
            mercer_model_free(model);
            mercer_rows_free(rows);
            mercer_rows_free(new_rows);
            mercer_ctx_free(ctx);
            for (int k = 0; k < 3; k++)
                free(y[k]);
            free(x);
            free(fresh);
        }
    unlink(path);
}

static void test_host_kernel_refusals(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mercer_error why;
    mercer_model *model = NULL;
    double *x = normal_rows(1, 600, D, 1, 2), gamma = 1;
    mercer_rows *rows = view(ctx, x, 600, D), *sparse = sparse_copy(x, 600, D);
    static const char *const bad[] = {"rbf", "", "a b", "a:b", "1e3", "sum+this"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(mercer_ctx_add_kernel(ctx, bad[i], gaussian, &gamma, 1, &why),
                         MERCER_ERR_ARGUMENT);
    assert_int_equal(mercer_ctx_add_kernel(ctx, "mine", NULL, NULL, 1, &why), MERCER_ERR_ARGUMENT);
    assert_ok(mercer_ctx_add_kernel(ctx, "mine", gaussian, &gamma, 0, err));
    assert_int_equal(mercer_ctx_add_kernel(ctx, "mine", gaussian, &gamma, 1, &why),
                     MERCER_ERR_ARGUMENT);
    assert_string_equal(why.text, "there is a kernel 'mine' already");
    assert_int_equal(fit(ctx, rows, "mine:sigma=2", NULL, &model, &why), MERCER_ERR_ARGUMENT);
    /* Not vouched for: no low-rank factor. */
    assert_int_equal(fit(ctx, rows, "mine", "lowrank", &model, &why), MERCER_ERR_ARGUMENT);
    assert_ok(mercer_ctx_add_kernel(ctx, "broken", broken, NULL, 0, err));
    assert_int_equal(fit(ctx, rows, "broken", NULL, &model, &why), MERCER_ERR_NUMERIC);
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = "mine";
    assert_int_equal(mercer_fit(ctx, &options, sparse, NULL, &model, NULL, &why), MERCER_ERR_DATA);
    assert_string_equal(why.text, "kernel mine takes dense rows, and these are sparse");
    assert_null(model);
    mercer_rows_free(rows);
    mercer_rows_free(sparse);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_kernel_equals_ours),
        cmocka_unit_test(test_host_kernel_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
