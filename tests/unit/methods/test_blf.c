/* SPDX-License-Identifier: BSD-3-Clause */
/* Boosted latent features against explicit deflation with losses minimised one coefficient at a
 * time; that least squares are kpls; the ends: separated classes, labels that do not fit, medians
 * that cannot be improved. */
#include "support.h"

#include "boosting_support.h"

#include "linalg/losses.h"

/* -dL/df and the second derivative. */
static double slope_of(const char *loss, double y, double f, double *curve)
{
    double e = exp(-y * f);
    if (strcmp(loss, "ls") == 0) {
        *curve = 1;
        return y - f;
    }
    *curve = strcmp(loss, "exp") == 0 ? e : e / ((1 + e) * (1 + e));
    return strcmp(loss, "exp") == 0 ? y * e : y * e / (1 + e);
}

/* f = mu + T c of least loss: Newton steps of one coefficient after the other, many times. */
static void minimise(const char *loss, const double *y, const double *t, int64_t k, int64_t stride,
                     double *f)
{
    for (int64_t i = 0; i < N; i++)
        f[i] = 0;
    for (int sweep = 0; sweep < 3000; sweep++)
        for (int64_t j = -1; j < k; j++) {
            double slope = 0, curve = 0, h;
            for (int64_t i = 0; i < N; i++) {
                double a = j < 0 ? 1 : t[i * stride + j];
                slope += a * slope_of(loss, y[i], f[i], &h);
                curve += a * a * h;
            }
            for (int64_t i = 0; i < N; i++)
                f[i] += slope / curve * (j < 0 ? 1 : t[i * stride + j]);
        }
}

/* Feature j of length one from w: tau = P_j K P_j w, K deflated in place. */
static void deflate(double *left, const double *w, double *t, int64_t j, int64_t stride)
{
    double beta[N], norm2 = 0;
    memcpy(beta, w, sizeof beta);
    for (int64_t c = 0; c < j; c++) {
        double dot = 0;
        for (int64_t i = 0; i < N; i++)
            dot += t[i * stride + c] * beta[i];
        for (int64_t i = 0; i < N; i++)
            beta[i] -= dot * t[i * stride + c];
    }
    for (int64_t i = 0; i < N; i++) {
        double sum = 0;
        for (int64_t c = 0; c < N; c++)
            sum += left[i * N + c] * beta[c];
        t[i * stride + j] = sum;
        norm2 += sum * sum;
    }
    for (int64_t i = 0; i < N; i++)
        t[i * stride + j] /= sqrt(norm2);
    for (int64_t c = 0; c < N; c++) {
        double dot = 0;
        for (int64_t i = 0; i < N; i++)
            dot += t[i * stride + j] * left[i * N + c];
        for (int64_t i = 0; i < N; i++)
            left[i * N + c] -= dot * t[i * stride + j];
    }
}

static void test_blf_is_explicit_deflation(void **state)
{
    enum { K = 4 };
    static const char *const losses[] = {"ls", "exp", "log"};
    static const char *const centers[] = {"exact", "none"};
    (void)state;
    struct set s = make_set(1);
    for (int l = 0; l < 3; l++)
        for (int c = 0; c < 2; c++)
            for (int as_classes = 0; as_classes <= (l > 0); as_classes++) {
                char method[32];
                double ours[N * K], plain[N * K], f[N], w[N], h;
                const double *y = l == 0 ? s.y : s.signs;
                mercer_targets *targets = NULL;
                assert_ok(mercer_targets_new_values(y, N, 1, NULL, &targets, err));
                snprintf(method, sizeof method, "blf:loss=%s", losses[l]);
                mercer_fit_options options = options_of(method, "rbf:sigma=2", centers[c], K);
                assert_int_equal(features_of(&s, as_classes ? s.classes : targets, &options, ours),
                                 K);
                double *left = gram_of(&s, "rbf:sigma=2", c == 0);
                for (int64_t j = 0; j < K; j++) {
                    minimise(losses[l], y, plain, j, K, f);
                    for (int64_t i = 0; i < N; i++)
                        w[i] = slope_of(losses[l], y[i], f[i], &h);
                    deflate(left, w, plain, j, K);
                }
                check_same_columns(ours, plain, K, l == 0 ? 1e-10 : 1e-8);
                mercer_targets_free(targets);
                free(left);
            }
    free_set(&s);
}

/* Least squares with centred rows are kpls, whose features have other lengths. */
static void test_blf_of_least_squares_is_kpls(void **state)
{
    enum { K = 5 };
    static const char *const kernels[] = {"rbf:sigma=1", "poly:degree=2"};
    double y[2 * N], ours[N * K], kpls[N * K];
    mercer_targets *targets = NULL;
    (void)state;
    struct set s = make_set(1);
    for (int64_t i = 0; i < N; i++) {
        y[2 * i] = s.y[i];
        y[2 * i + 1] = s.signs[i] + s.x[i * D];
    }
    assert_ok(mercer_targets_new_values(y, N, 2, NULL, &targets, err));
    for (int k = 0; k < 2; k++) {
        mercer_fit_options options = options_of("blf:loss=ls", kernels[k], NULL, K);
        assert_int_equal(features_of(&s, targets, &options, ours), K);
        options.method = "kpls";
        assert_int_equal(features_of(&s, targets, &options, kpls), K);
        for (int64_t j = 0; j < K; j++) {
            double norm2 = 0;
            for (int64_t i = 0; i < N; i++)
                norm2 += kpls[i * K + j] * kpls[i * K + j];
            for (int64_t i = 0; i < N; i++)
                kpls[i * K + j] /= sqrt(norm2);
        }
        check_same_columns(ours, kpls, K, 1e-9);
    }
    mercer_targets_free(targets);
    free_set(&s);
}

/* Each feature follows the signs of what the best fit to those before it leaves. */
static void test_blf_follows_absolute_deviations(void **state)
{
    enum { K = 4 };
    double ours[N * K], plain[N * K], columns[(K + 1) * N], w[N], last = INFINITY;
    mrc_loss_fit fit;
    (void)state;
    struct set s = make_set(1);
    mercer_fit_options options = options_of("blf:loss=lad", "rbf:sigma=2", NULL, K);
    assert_int_equal(features_of(&s, s.values, &options, ours), K);
    assert_string_equal(notice, "");
    double *left = gram_of(&s, "rbf:sigma=2", true);
    assert_ok(mrc_loss_fit_init(&fit, s.ctx, MRC_LOSS_LAD, s.y, N, K + 1, err));
    for (int64_t j = 0; j < K; j++) {
        int64_t above = 0, below = 0;
        for (int64_t i = 0; i < N; i++)
            columns[j * N + i] = j == 0 ? 1 / sqrt((double)N) : plain[i * K + j - 1];
        assert_ok(mrc_loss_fit_update(&fit, columns, j + 1, err));
        mrc_loss_fit_gradient(&fit, w, 1);
        assert_true(fit.value < last);
        last = fit.value;
        for (int64_t i = 0; i < N; i++) {
            above += w[i] > 0;
            below += w[i] < 0;
        }
        /* The fit goes through j + 1 rows; the median has as many above it as below. */
        assert_int_equal(above + below, N - j - 1);
        assert_true(j > 0 || above == below);
        deflate(left, w, plain, j, K);
    }
    check_same_columns(ours, plain, K, 1e-9);
    mrc_loss_fit_destroy(&fit);
    free(left);
    free_set(&s);
}

static void test_blf_says_when_the_median_cannot_be_improved(void **state)
{
    double t[N * 3], y[N];
    mercer_targets *targets = NULL;
    (void)state;
    struct set s = make_set(1);
    for (int64_t i = 0; i < N; i++)
        y[i] = i % 15 == 0 ? 1 : -1;
    assert_ok(mercer_targets_new_values(y, N, 1, NULL, &targets, err));
    mercer_fit_options options = options_of("blf:loss=lad", "linear", NULL, 3);
    assert_int_equal(features_of(&s, targets, &options, t), 3);
    assert_non_null(strstr(notice, "the median fits as well"));
    options.method = "blf:loss=log";
    assert_int_equal(features_of(&s, targets, &options, t), 3);
    assert_string_equal(notice, "");
    mercer_targets_free(targets);
    free_set(&s);
}

static void test_blf_ends_when_classes_are_separated(void **state)
{
    static const char *const methods[] = {"blf:loss=exp", "blf:loss=log"};
    double t[N * 20], y[N];
    mercer_targets *targets = NULL;
    (void)state;
    struct set s = make_set(1);
    for (int64_t i = 0; i < N; i++)
        y[i] = s.x[i * D] > 0 ? 1 : -1;
    assert_ok(mercer_targets_new_values(y, N, 1, NULL, &targets, err));
    for (int m = 0; m < 2; m++) {
        mercer_fit_options options = options_of(methods[m], "rbf:sigma=1", NULL, 20);
        int64_t k = features_of(&s, targets, &options, t);
        assert_true(k >= 1 && k < 20);
        assert_non_null(strstr(notice, "they separate the classes"));
        for (int64_t i = 0; i < N * k; i++)
            assert_true(isfinite(t[i]));
    }
    /* Copies of a row with both labels cannot be separated: the others are, and then it ends. */
    for (int64_t i = N - 4; i < N; i++) {
        memcpy(s.x + i * D, s.x + (i - 4) * D, D * sizeof *s.x);
        y[i] = -y[i - 4];
    }
    mercer_targets_free(targets);
    assert_ok(mercer_targets_new_values(y, N, 1, NULL, &targets, err));
    mercer_fit_options copies = options_of("blf:loss=exp", "rbf:sigma=0.3", NULL, 20);
    assert_true(features_of(&s, targets, &copies, t) < 20);
    assert_non_null(strstr(notice, "no direction that reduces the loss further"));
    /* Least squares end when the labels are explained. */
    for (int64_t i = 0; i < N; i++)
        y[i] = 3 * s.x[i * D] - s.x[i * D + 1];
    mercer_targets_free(targets);
    assert_ok(mercer_targets_new_values(y, N, 1, NULL, &targets, err));
    for (int m = 0; m < 2; m++) {
        mercer_fit_options options =
            options_of(m == 0 ? "blf" : "blf:loss=lad", "rbf:sigma=0.3", NULL, N);
        assert_true(features_of(&s, targets, &options, (double[N * N]){0}) < N);
        assert_non_null(strstr(notice, "nothing is left"));
    }
    mercer_targets_free(targets);
    free_set(&s);
}

static void test_blf_refuses_labels_without_margins(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    int64_t codes[N];
    double two[2 * N];
    mercer_targets *three = NULL, *columns = NULL;
    mercer_error why;
    (void)state;
    struct set s = make_set(1);
    for (int64_t i = 0; i < N; i++) {
        codes[i] = i % 3;
        two[2 * i] = two[2 * i + 1] = s.signs[i];
    }
    assert_ok(mercer_targets_new_classes(codes, N, names, 3, NULL, &three, err));
    assert_ok(mercer_targets_new_values(two, N, 2, NULL, &columns, err));
    assert_int_equal(failure_of(&s, s.values, "blf:loss=exp", &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "loss exp is for two classes"));
    assert_non_null(strstr(why.text, "row 1 has"));
    assert_int_equal(failure_of(&s, three, "blf:loss=log", &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "here are 3 classes"));
    assert_int_equal(failure_of(&s, columns, "blf:loss=log", &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "here are 2 targets"));
    assert_int_equal(failure_of(&s, s.values, "blf:nu=0", &why), MERCER_ERR_ARGUMENT);
    assert_int_equal(failure_of(&s, s.values, "blf:loss=l1", &why), MERCER_ERR_ARGUMENT);
    double t[N * 3]; /* the others take any */
    mercer_fit_options options = options_of("blf:loss=lad", "rbf:sigma=2", NULL, 3);
    assert_int_equal(features_of(&s, three, &options, t), 3);
    assert_int_equal(features_of(&s, columns, &options, t), 3);
    mercer_targets_free(three);
    mercer_targets_free(columns);
    free_set(&s);
}

/* Without a loss the targets choose it, and the head with it; the model says which. */
static void test_blf_takes_the_loss_that_suits_the_targets(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char *const expected[] = {"lad", "log", "ls", "lad"};
    int64_t codes[N];
    double two[2 * N], left[N * 3], named[N * 3];
    mercer_targets *three = NULL, *columns = NULL;
    (void)state;
    struct set s = make_set(1);
    for (int64_t i = 0; i < N; i++) {
        codes[i] = i % 3;
        two[2 * i] = two[2 * i + 1] = s.signs[i];
    }
    two[1] = 3;
    assert_ok(mercer_targets_new_classes(codes, N, names, 3, NULL, &three, err));
    assert_ok(mercer_targets_new_values(two, N, 2, NULL, &columns, err));
    const mercer_targets *targets[] = {s.values, s.classes, three, columns};
    for (int t = 0; t < 4; t++) {
        char spec[64];
        mercer_model *model = NULL;
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_fit_options options = options_of("blf:components=3", "rbf:sigma=2", NULL, 0);
        assert_ok(mercer_fit(s.ctx, &options, s.rows, targets[t], &model, NULL, err));
        mercer_model_get_info(model, &info);
        snprintf(spec, sizeof spec, "blf:components=3,loss=%s", expected[t]);
        assert_string_equal(info.method, spec);
        assert_string_equal(info.head, expected[t]);
        mercer_model_free(model);
        assert_int_equal(features_of(&s, targets[t], &options, left), 3);
        options.method = spec;
        assert_int_equal(features_of(&s, targets[t], &options, named), 3);
        assert_memory_equal(left, named, sizeof left);
        options = options_of("blf:components=3", "rbf:sigma=2", NULL, 0);
        options.head = "knn"; /* one that is asked for stays */
        if (t > 0 && t < 3) {
            assert_ok(mercer_fit(s.ctx, &options, s.rows, targets[t], &model, NULL, err));
            mercer_model_get_info(model, &info);
            assert_string_equal(info.method, spec);
            assert_ptr_equal(strstr(info.head, "knn"), info.head);
            mercer_model_free(model);
        }
    }
    mercer_targets_free(three);
    mercer_targets_free(columns);
    free_set(&s);
}

/* nu < 1: the model needs few rows; nu = 1 is the dense form, whatever the heuristic. */
static void test_blf_of_few_rows(void **state)
{
    static const char *const sparse[] = {"blf:loss=log,nu=0.1,heuristic=mr,components=3",
                                         "blf:loss=lad,nu=0.1,heuristic=mi,components=3",
                                         "blf:loss=ls,nu=0.1,heuristic=eps,components=3"};
    double all[N * 3], same[N * 3];
    (void)state;
    struct set s = make_set(1);
    for (int m = 0; m < 3; m++) {
        mercer_model *model = NULL;
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_fit_options options = options_of(sparse[m], "rbf:sigma=2", "none", 0);
        assert_ok(mercer_fit(s.ctx, &options, s.rows, s.classes, &model, NULL, err));
        mercer_model_get_info(model, &info);
        assert_int_equal(info.components, 3);
        assert_true(info.expansion_points >= 7 && info.expansion_points <= 21);
        mercer_model_free(model);
    }
    mercer_fit_options options = options_of("blf:loss=log", "rbf:sigma=2", NULL, 3);
    assert_int_equal(features_of(&s, s.classes, &options, all), 3);
    options.method = "blf:loss=log,nu=1,heuristic=eps";
    assert_int_equal(features_of(&s, s.classes, &options, same), 3);
    assert_memory_equal(all, same, sizeof all);
    free_set(&s);
}

static void test_blf_survives_every_failing_allocation(void **state)
{
    static const char *const methods[] = {"blf:loss=lad", "blf:loss=log", "blf:loss=exp,nu=0.2",
                                          "blf"};
    (void)state;
    struct set s = make_set(1);
    for (int m = 0; m < 4; m++) {
        mercer_fit_options options = options_of(methods[m], "rbf:sigma=2", NULL, 3);
        check_failing_allocations(s.ctx, &options, s.rows, s.classes);
    }
    free_set(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blf_is_explicit_deflation),
        cmocka_unit_test(test_blf_of_least_squares_is_kpls),
        cmocka_unit_test(test_blf_follows_absolute_deviations),
        cmocka_unit_test(test_blf_says_when_the_median_cannot_be_improved),
        cmocka_unit_test(test_blf_ends_when_classes_are_separated),
        cmocka_unit_test(test_blf_refuses_labels_without_margins),
        cmocka_unit_test(test_blf_takes_the_loss_that_suits_the_targets),
        cmocka_unit_test(test_blf_of_few_rows),
        cmocka_unit_test(test_blf_survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
