/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel ridge regression through the public interface, against plain dense elimination: new rows,
 * intercept, variance, every store; classes, scaled targets, and what is refused. */
#include "support.h"

#include "fit_support.h"
#include "quadruple.h"

#include "model/model.h"

#include <stdio.h>

enum { N = 90, NEW = 25, D = 2 };

/* b (n x l) becomes a^-1 b. */
static void solve(const double *a, int64_t n, double *b, int64_t l)
{
    quad *matrix = quads_of(a, n * n), *sides = quads_of(b, n * l);
    quad_eliminate(matrix, n, sides, l);
    for (int64_t i = 0; i < n * l; i++)
        b[i] = (double)sides[i];
    free(matrix);
    free(sides);
}

/* Predictions and variances of NEW rows, written from the formulas. */
static void reference(const char *spec, const double *x, const double *fresh, const double *y,
                      int64_t l, bool centered, double ridge, double *out, double *variance)
{
    mrc_kernel kernel;
    double mean[N] = {0}, grand = 0, trace = 0, scale = 0;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, NULL, NULL, err));
    double *k = naive_gram(&kernel, x, N, D, false), *c = naive_gram(&kernel, x, N, D, centered);
    double *a = new_doubles(N * (l + NEW)), *cross = new_doubles(NEW * N);
    for (int64_t i = 0; i < N; i++) {
        trace += c[i * N + i];
        for (int64_t j = 0; j < N; j++)
            mean[i] += centered ? k[i * N + j] / N : 0;
        grand += mean[i] / N;
    }
    double mu = ridge * trace;
    for (int64_t t = 0; t < l; t++) {
        double middle = 0;
        for (int64_t i = 0; centered && i < N; i++)
            middle += y[i * l + t] / N;
        for (int64_t i = 0; i < N; i++)
            a[i * (l + NEW) + t] = y[i * l + t] - middle;
        for (int64_t r = 0; r < NEW; r++)
            out[r * l + t] = middle;
    }
    for (int64_t r = 0; r < NEW; r++) {
        double row = 0;
        for (int64_t i = 0; i < N; i++) {
            cross[r * N + i] = naive_kernel(&kernel, fresh + r * D, x + i * D, D);
            row += centered ? cross[r * N + i] / N : 0;
        }
        variance[r] = naive_kernel(&kernel, fresh + r * D, fresh + r * D, D) - 2 * row + grand +
                      (centered ? mu / N : 0);
        for (int64_t i = 0; i < N; i++) {
            cross[r * N + i] += grand - mean[i] - row;
            a[i * (l + NEW) + l + r] = cross[r * N + i];
        }
    }
    double *rest = new_doubles(N * l);
    for (int64_t i = 0; i < N; i++) {
        memcpy(rest + i * l, a + i * (l + NEW), (size_t)l * sizeof *rest);
        c[i * N + i] += mu;
    }
    solve(c, N, a, l + NEW);
    for (int64_t i = 0; i < N; i++)
        for (int64_t t = 0; t < l; t++)
            scale += rest[i * l + t] * a[i * (l + NEW) + t] / (centered ? N - 1 : N);
    for (int64_t r = 0; r < NEW; r++) {
        for (int64_t i = 0; i < N; i++) {
            for (int64_t t = 0; t < l; t++)
                out[r * l + t] += cross[r * N + i] * a[i * (l + NEW) + t];
            variance[r] -= cross[r * N + i] * a[i * (l + NEW) + l + r];
        }
        variance[r] *= scale;
    }
    free(k);
    free(c);
    free(a);
    free(cross);
    free(rest);
}

static mercer_status fit(mercer_ctx *ctx, const mercer_fit_options *given, const mercer_rows *rows,
                         const double *y, int64_t l, mercer_model **model, mercer_error *why)
{
    mercer_targets *targets = NULL;
    assert_ok(mercer_targets_new_values(y, mercer_rows_count(rows), l, NULL, &targets, err));
    mercer_status rc = mercer_fit(ctx, given, rows, targets, model, NULL, why);
    mercer_targets_free(targets);
    return rc;
}

static void test_krr_matches_elimination(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=2", "linear",
                                          "poly:gamma=0.5,coef0=1,degree=2"};
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    static const double ridges[] = {1e-1, 1e-5};
    (void)state;
    double *x = normal_rows(1, N, D, 0.5, 2), *fresh = normal_rows(2, NEW, D, 0.5, 2);
    double *y = normal_rows(3, N, 2, 4, 1), expected[NEW * 2], variance[NEW], found[NEW * 2],
           errors[NEW];
    mercer_ctx *ctx = new_ctx(2);
    mercer_rows *rows = view(ctx, x, N, D), *new_rows = view(ctx, fresh, NEW, D);
    for (int64_t i = 0; i < N; i++)
        y[2 * i] += 3 * sin(x[2 * i]) * x[2 * i + 1];
    for (int k = 0; k < 3; k++)
        for (int s = 0; s < 3; s++)
            for (int r = 0; r < 2; r++)
                for (int center = 0; center < 2; center++) {
                    mercer_fit_options options;
                    mercer_model *model = NULL;
                    char method[64];
                    snprintf(method, sizeof method, "krr:ridge=%g", ridges[r]);
                    mercer_fit_options_init(&options);
                    options.method = method;
                    options.kernel = kernels[k];
                    options.store = stores[s];
                    options.center = center ? "exact" : "none";
                    print_message("%s %s %s %s\n", kernels[k], stores[s], method, options.center);
                    assert_ok(fit(ctx, &options, rows, y, 2, &model, err));
                    reference(kernels[k], x, fresh, y, 2, center, ridges[r], expected, variance);
                    double size = largest_modulus(expected, NEW * 2);
                    /* The factor leaves up to 1e-13 kmax of K; |A| <= |Y| / mu, and mu is about
                     * ridge n kmax here: predictions may move by 1e-13 / ridge of the targets. */
                    double most = s == 2 ? fmax(1e-9, 1e-13 / ridges[r]) : 1e-9;
                    assert_ok(mercer_model_transform(ctx, model, new_rows, NULL, found, NULL, err));
                    assert_close(found, expected, NEW * 2, most * size);
                    assert_ok(mercer_model_predict(ctx, model, new_rows, 0, found, NULL, err));
                    assert_close(found, expected, NEW * 2, most * size);
                    mercer_error err = {0};
                    mercer_status rc =
                        mercer_model_transform(ctx, model, new_rows, NULL, found, errors, &err);
                    assert_int_equal(rc, s == 2 ? MERCER_OK : MERCER_ERR_UNSUPPORTED);
                    if (s == 2)
                        assert_close(errors, variance, NEW,
                                     1e-8 * largest_modulus(variance, NEW) + 1e-10);
                    else
                        assert_non_null(strstr(err.text, "low-rank"));
                    mercer_model_free(model);
                }
    mercer_rows_free(rows);
    mercer_rows_free(new_rows);
    mercer_ctx_free(ctx);
    free(x);
    free(fresh);
    free(y);
}

/* A kernel value; of a linear kernel, which is the rows' own product, to all digits. */
static quad quad_kernel(const mrc_kernel *kernel, const char *spec, const double *a,
                        const double *b)
{
    quad sum = 0;
    for (int64_t c = 0; c < D; c++)
        sum += (quad)a[c] * (quad)b[c];
    return strcmp(spec, "linear") == 0 ? sum : naive_kernel(kernel, a, b, D);
}

/* Variances of rows, in quadruple precision from the kernel values themselves. */
static void quad_variances(const char *spec, const double *x, const double *fresh, int64_t rows,
                           const double *y, bool centered, double ridge, double *out)
{
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, NULL, NULL, err));
    quad *k = new_quads(N * N), *mean = new_quads(N), *side, grand = 0, trace = 0, middle = 0,
         scale = 0;
    int64_t l = 1 + rows;
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            k[i * N + j] = quad_kernel(&kernel, spec, x + i * D, x + j * D);
            mean[i] += centered ? k[i * N + j] / N : 0;
        }
        grand += mean[i] / N;
        middle += centered ? (quad)y[i] / N : 0;
    }
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++)
            k[i * N + j] += grand - mean[i] - mean[j];
        trace += k[i * N + i];
    }
    quad mu = (quad)ridge * trace, *cross = new_quads(N * rows), *self = new_quads(rows);
    side = new_quads(N * l);
    for (int64_t r = 0; r < rows; r++) {
        quad row = 0;
        for (int64_t i = 0; i < N; i++) {
            cross[r * N + i] = quad_kernel(&kernel, spec, fresh + r * D, x + i * D);
            row += centered ? cross[r * N + i] / N : 0;
        }
        self[r] = quad_kernel(&kernel, spec, fresh + r * D, fresh + r * D) - 2 * row + grand +
                  (centered ? mu / N : 0);
        for (int64_t i = 0; i < N; i++) {
            cross[r * N + i] += grand - mean[i] - row;
            side[i * l + 1 + r] = cross[r * N + i];
        }
    }
    for (int64_t i = 0; i < N; i++) {
        side[i * l] = y[i] - middle;
        k[i * N + i] += mu;
    }
    quad_eliminate(k, N, side, l);
    for (int64_t i = 0; i < N; i++)
        scale += (y[i] - middle) * side[i * l] / (centered ? N - 1 : N);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < N; i++)
            self[r] -= cross[r * N + i] * side[i * l + 1 + r];
        out[r] = (double)(scale * self[r]);
    }
    free(k);
    free(mean);
    free(side);
    free(cross);
    free(self);
}

enum {
    OWN = 24,
    JUDGED = OWN + 8
}; /* training rows, which have the least variance, and new ones */
static char told[512];

static void keep_notice(void *host, const mercer_notice *given)
{
    (void)host;
    snprintf(told, sizeof told, "%s", given->text);
}

/* Variances are right, or as far off as a notice says, or there are none. The rounding of some rows
 * stands for that of all, so a factor of 5 is left between them. */
static void check_variances(mercer_ctx *ctx, const char *kernel, const double *x,
                            const double *fresh, const double *y, bool centered, double ridge,
                            int counts[3])
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_error why = {0};
    double expected[JUDGED], found[JUDGED], errors[JUDGED], share = 1e-3;
    char method[64], what[256];
    mercer_rows *rows = view(ctx, x, N, D), *judged = view(ctx, fresh, JUDGED, D);
    snprintf(method, sizeof method, "krr:ridge=%g", ridge);
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.store = "lowrank";
    options.center = centered ? "exact" : "none";
    snprintf(what, sizeof what, "%s %s center %s", kernel, method, options.center);
    told[0] = 0;
    mercer_status rc = fit(ctx, &options, rows, y, 1, &model, &why);
    if (rc != MERCER_OK) { /* the fit itself is out of digits */
        if (rc != MERCER_ERR_DATA || !strstr(why.text, "ridge"))
            fail_msg("%s: %s", what, why.text);
        counts[2]++;
    } else if (strstr(told, "the model has none")) {
        assert_null(model->variance);
        assert_int_equal(mercer_model_transform(ctx, model, judged, NULL, found, errors, &why),
                         MERCER_ERR_UNSUPPORTED);
        assert_non_null(strstr(why.text, "ridge"));
        counts[2]++;
    } else {
        if (sscanf(told, "rounding is up to %lf of the least variances", &share) == 1)
            counts[1]++;
        else
            counts[0]++;
        double worst = 0;
        assert_ok(mercer_model_transform(ctx, model, judged, NULL, found, errors, err));
        quad_variances(kernel, x, fresh, JUDGED, y, centered, ridge, expected);
        for (int64_t i = 0; i < JUDGED; i++)
            worst = fmax(worst, fabs(errors[i] / expected[i] - 1));
        if (!(worst <= 5 * share))
            fail_msg("%s: variances are off by %g, told %g (%s)", what, worst, share, told);
    }
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_rows_free(judged);
}

static void test_krr_variances_of_tiny_ridges(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=1", "rbf:sigma=6", "rbf:sigma=600", "linear",
                                          "poly:gamma=0.5,coef0=1,degree=3"};
    static const double ridges[] = {1e-3, 1e-7, 1e-9, 1e-11, 1e-12};
    static const double shifts[] = {0.5, 1e3};
    int counts[3] = {0};
    mercer_ctx *ctx = new_ctx(2);
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
        double *x = normal_rows(1, N, D, shifts[s], 2), y[N];
        double *fresh = normal_rows(2, JUDGED, D, shifts[s], 2);
        memcpy(fresh, x, OWN * D * sizeof *x);
        for (int64_t i = 0; i < N; i++)
            y[i] = 1 + sin(x[2 * i]);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
            for (size_t r = 0; r < sizeof ridges / sizeof *ridges; r++)
                for (int center = 0; center < 2; center++)
                    check_variances(ctx, kernels[k], x, fresh, y, center, ridges[r], counts);
        free(x);
        free(fresh);
    }
    print_message("%d silent, %d told, %d without\n", counts[0], counts[1], counts[2]);
    assert_true(counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
    mercer_ctx_free(ctx);
}

/* Rows and targets times powers of two: variances are the same times a power, or there are none. */
static void test_krr_variances_in_any_unit(void **state)
{
    static const int powers[] = {0, -330, -160, -20, 20, 160, 330};
    enum { POWERS = sizeof powers / sizeof *powers };
    double expected[N], found[N], errors[N], y[N];
    int kept = 0, none = 0;
    mercer_ctx *ctx = new_ctx(1);
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    for (int p = 0; p < POWERS; p++)
        for (int t = 0; t < POWERS; t++) {
            double *x = normal_rows(1, N, D, 0.5, 2);
            mercer_fit_options options;
            mercer_model *model = NULL;
            mercer_error why = {0};
            for (int64_t i = 0; i < N; i++)
                y[i] = ldexp(1 + sin(x[2 * i]), powers[t]);
            for (int64_t i = 0; i < N * D; i++)
                x[i] = ldexp(x[i], powers[p]);
            mercer_rows *rows = view(ctx, x, N, D);
            mercer_fit_options_init(&options);
            options.method = "krr:ridge=0.01";
            options.kernel = "linear";
            options.store = "lowrank";
            told[0] = 0;
            assert_ok(fit(ctx, &options, rows, y, 1, &model, err));
            mercer_status rc = mercer_model_transform(ctx, model, rows, NULL, found, errors, &why);
            if (rc == MERCER_OK) {
                for (int64_t i = 0; i < N; i++) {
                    double back = ldexp(errors[i], -2 * powers[t]);
                    if (p == 0 && t == 0)
                        expected[i] = back;
                    if (!(fabs(back - expected[i]) <= 1e-9 * expected[i]))
                        fail_msg("rows times 2^%d, targets times 2^%d: %g, not %g", powers[p],
                                 powers[t], back, expected[i]);
                }
                kept++;
            } else {
                assert_int_equal(rc, MERCER_ERR_UNSUPPORTED);
                assert_non_null(strstr(told, "the model has none"));
                assert_non_null(strstr(told, "scale"));
                none++;
            }
            mercer_model_free(model);
            mercer_rows_free(rows);
            free(x);
        }
    print_message("%d with variances, %d without\n", kept, none);
    assert_true(kept > 3 * none && none > 0);
    mercer_ctx_free(ctx);
}

/* A model of few points, though the mean is exact; variances and predictions survive a file. */
static void test_krr_on_pivots_in_a_file(void **state)
{
    (void)state;
    double *x = ring_rows(1, 400), *y = normal_rows(3, 400, 1, 0, 0.1), before[800], after[800];
    mercer_ctx *ctx = new_ctx(2);
    mercer_rows *rows = view(ctx, x, 400, 2);
    mercer_model *model = NULL, *loaded = NULL;
    mercer_fit_options options;
    mercer_model_info info = {.struct_size = sizeof info};
    void *bytes = NULL;
    size_t size = 0;
    for (int64_t i = 0; i < 400; i++)
        y[i] += x[2 * i] * x[2 * i];
    mercer_fit_options_init(&options);
    options.method = "krr";
    options.store = "lowrank";
    assert_ok(fit(ctx, &options, rows, y, 1, &model, err));
    mercer_model_get_info(model, &info);
    assert_true(info.expansion_points < 400);
    assert_non_null(strstr(info.method, "krr:ridge="));
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, err));
    assert_ok(mercer_model_from_bytes(ctx, bytes, size, &loaded, err));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, before, before + 400, err));
    assert_ok(mercer_model_transform(ctx, loaded, rows, NULL, after, after + 400, err));
    assert_memory_equal(before, after, sizeof before);
    for (int64_t i = 400; i < 800; i++)
        assert_true(before[i] > 0);
    mercer_free(bytes);
    mercer_model_free(model);
    mercer_model_free(loaded);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
    free(y);
}

/* Targets that the method sees scaled are predicted in their own units: ridge does not have any. */
static void test_krr_scaled_targets(void **state)
{
    static const char *const scales[] = {"none", "standard", "norm"};
    (void)state;
    double *x = normal_rows(1, N, D, 0, 1), *y = normal_rows(3, N, 2, 1000, 50), found[3][N * 2];
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *rows = view(ctx, x, N, D);
    for (int s = 0; s < 3; s++) {
        mercer_fit_options options;
        mercer_model *model = NULL;
        mercer_fit_options_init(&options);
        options.method = "krr:ridge=0.01";
        options.scale_target = scales[s];
        assert_ok(fit(ctx, &options, rows, y, 2, &model, err));
        assert_ok(mercer_model_predict(ctx, model, rows, 0, found[s], NULL, err));
        assert_close(found[s], found[0], N * 2, 1e-9);
        mercer_model_free(model);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
    free(y);
}

/* Classes are fitted indicators: scores add up to one, whatever class is empty or small. */
static void test_krr_classes(void **state)
{
    static const char *const names[] = {"a", "nobody", "b", "lonely"};
    (void)state;
    double *x = normal_rows(1, N, D, 0, 1), scores[N * 3];
    int64_t codes[N], found[N], wrong = 0;
    mercer_ctx *ctx = new_ctx(2);
    mercer_rows *rows = view(ctx, x, N, D);
    mercer_targets *targets = NULL;
    mercer_model *model = NULL;
    mercer_fit_options options;
    for (int64_t i = 0; i < N; i++)
        codes[i] = i == 0 ? 3 : x[2 * i] * x[2 * i + 1] > 0 ? 2 : 0;
    assert_ok(mercer_targets_new_classes(codes, N, names, 4, NULL, &targets, err));
    mercer_fit_options_init(&options);
    options.method = "krr";
    assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
    assert_ok(mercer_model_predict(ctx, model, rows, 0, scores, found, err));
    for (int64_t i = 0; i < N; i++) {
        assert_true(fabs(scores[3 * i] + scores[3 * i + 1] + scores[3 * i + 2] - 1) < 1e-9);
        wrong += found[i] != (codes[i] == 0 ? 0 : codes[i] - 1);
    }
    assert_true(wrong < N / 8);
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_krr_edges(void **state)
{
    (void)state;
    double *x = normal_rows(1, N, D, 0, 1), y[N], found[N];
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *rows = view(ctx, x, N, D);
    mercer_model *model = NULL;
    mercer_fit_options options;
    mercer_error why = {0};
    for (int64_t i = 0; i < N; i++)
        y[i] = 7.1;
    mercer_fit_options_init(&options);
    options.method = "krr";
    assert_ok(fit(ctx, &options, rows, y, 1, &model, err));
    assert_ok(mercer_model_predict(ctx, model, rows, 0, found, NULL, err));
    for (int64_t i = 0; i < N; i++)
        assert_true(fabs(found[i] - 7.1) < 1e-14);
    mercer_model_free(model);
    static const struct {
        const char *method, *kernel, *head, *word;
        double components, size;
        mercer_status status;
    } bad[] = {
        {"krr:ridge=0", NULL, NULL, "ridge", 0, 1, MERCER_ERR_ARGUMENT},
        {"krr:ridge=nan", NULL, NULL, "ridge", 0, 1, MERCER_ERR_ARGUMENT},
        {"krr", NULL, NULL, "one feature per target", 2, 1, MERCER_ERR_ARGUMENT},
        {"krr", NULL, NULL, "share", 0.5, 1, MERCER_ERR_ARGUMENT},
        {"krr", NULL, NULL, "no bound", MERCER_COMPONENTS_BOUND, 1, MERCER_ERR_ARGUMENT},
        {"krr", "sigmoid:gamma=1,coef0=-1", NULL, "semidefinite", 0, 1, MERCER_ERR_DATA},
        {"krr", NULL, NULL, "squares overflow", 0, 1e200, MERCER_ERR_DATA},
        {"kpca", NULL, "direct", "krr", 0, 1, MERCER_ERR_ARGUMENT},
    };
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        mercer_fit_options_init(&options);
        options.method = bad[b].method;
        options.kernel = bad[b].kernel;
        options.head = bad[b].head;
        options.components = bad[b].components;
        for (int64_t i = 0; i < N; i++)
            y[i] = bad[b].size * x[2 * i];
        assert_int_equal(fit(ctx, &options, rows, y, 1, &model, &why), bad[b].status);
        if (!strstr(why.text, bad[b].word))
            fail_msg("'%s' does not say '%s'", why.text, bad[b].word);
        assert_null(model);
    }
    static const char *const names[] = {"only", "nobody"};
    mercer_targets *targets = NULL;
    int64_t codes[N] = {0};
    assert_ok(mercer_targets_new_classes(codes, N, names, 2, NULL, &targets, err));
    mercer_fit_options_init(&options);
    options.method = "krr";
    assert_int_equal(mercer_fit(ctx, &options, rows, targets, &model, NULL, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "all rows are of class 'only'"));
    assert_null(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_krr_matches_elimination),
        cmocka_unit_test(test_krr_variances_of_tiny_ridges),
        cmocka_unit_test(test_krr_variances_in_any_unit),
        cmocka_unit_test(test_krr_on_pivots_in_a_file),
        cmocka_unit_test(test_krr_scaled_targets),
        cmocka_unit_test(test_krr_classes),
        cmocka_unit_test(test_krr_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
