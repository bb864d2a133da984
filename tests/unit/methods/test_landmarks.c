/* SPDX-License-Identifier: BSD-3-Clause */
/* Points that the caller gives (landmarks), points that k-means finds, and which mean a model in
 * their span keeps. */
#include "support.h"

#include "fit_support.h"

#include <stdio.h>

enum { N = 90, L = 3 };

static mercer_ctx *ctx;
static char notice[512];

static void keep_notice(void *host, const mercer_notice *given)
{
    (void)host;
    snprintf(notice, sizeof notice, "%s", given->text);
}

static int setup(void **state)
{
    (void)state;
    ctx = new_ctx(2);
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    notice[0] = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mercer_ctx_free(ctx);
    return 0;
}

static mercer_fit_options options_of(const char *method, const char *kernel,
                                     const mercer_rows *landmarks)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.components = L;
    options.landmarks = landmarks;
    return options;
}

static mercer_model *fit(const mercer_fit_options *options, const mercer_rows *rows)
{
    mercer_model *model = NULL;
    assert_ok(mercer_fit(ctx, options, rows, NULL, &model, NULL, err));
    return model;
}

static mercer_model_info info_of(const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    return info;
}

static double *features(const mercer_model *model, const mercer_rows *rows, double *errors)
{
    double *y = new_doubles(mercer_rows_count(rows) * L);
    assert_int_equal(info_of(model).components, L);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, y, errors, err));
    return y;
}

/* Two models give the same features of rows. */
static void assert_same(const mercer_model *a, const mercer_rows *rows_a, const mercer_model *b,
                        const mercer_rows *rows_b, double tolerance)
{
    double *one = features(a, rows_a, NULL), *two = features(b, rows_b, NULL);
    assert_close(one, two, N * L, tolerance);
    assert_true(largest_modulus(one, N * L) > 1e-3);
    free(one);
    free(two);
}

/* Landmarks that are training rows: the same as choosing these. */
static void test_landmarks_that_are_rows(void **state)
{
    double *x = normal_rows(1, N, 3, 2, 1), *z = new_doubles(8 * 3);
    mercer_rows *rows = view(ctx, x, N, 3);
    mercer_fit_options chosen = options_of("rkpca:points=8", "rbf:sigma=2", NULL);
    mercer_model *by_rule = fit(&chosen, rows);
    mercer_model_info info = info_of(by_rule);
    (void)state;
    assert_int_equal(info.selected_count, 8);
    for (int64_t s = 0; s < 8; s++)
        memcpy(z + s * 3, x + info.selected[s] * 3, 3 * sizeof *x);
    mercer_rows *landmarks = view(ctx, z, 8, 3);
    static const char *const methods[] = {"rkpca", "greedy", "nystroem"};
    for (int m = 0; m < 3; m++) {
        mercer_fit_options given = options_of(methods[m], "rbf:sigma=2", landmarks);
        mercer_model *model = fit(&given, rows);
        assert_same(by_rule, rows, model, rows, 1e-9);
        assert_int_equal(info_of(model).expansion_points, 8);
        assert_int_equal(info_of(model).selected_count, 0);
        assert_true(fabs(info_of(model).reconstruction_error - info.reconstruction_error) < 1e-10);
        mercer_model_free(model);
    }
    mercer_model_free(by_rule);
    mercer_rows_free(landmarks);
    mercer_rows_free(rows);
    free(x);
    free(z);
}

/* Columns in another order and one more of them; scaled like the rows. */
static void test_landmarks_are_matched_and_scaled(void **state)
{
    static const char *const names[] = {"a", "b"}, *const other[] = {"b", "more", "a"};
    double *x = normal_rows(2, N, 2, 5, 3), *z = new_doubles(6 * 2), *w = new_doubles(6 * 3);
    mercer_rows *rows = view(ctx, x, N, 2), *plain, *moved;
    (void)state;
    for (int64_t i = 0; i < 6; i++) {
        z[2 * i] = w[3 * i + 2] = x[2 * i] + 0.5;
        z[2 * i + 1] = w[3 * i] = x[2 * i + 1] - 0.5;
        w[3 * i + 1] = 99;
    }
    plain = view(ctx, z, 6, 2);
    moved = view(ctx, w, 6, 3);
    assert_ok(mercer_rows_set_names(rows, names, err));
    assert_ok(mercer_rows_set_names(moved, other, err));
    mercer_fit_options options = options_of("nystroem", "rbf:sigma=1", plain);
    options.scale = "standard";
    mercer_model *one = fit(&options, rows);
    options.landmarks = moved;
    options.novelty = 0.2; /* rows held out have no names, but the same order of columns */
    mercer_model *two = fit(&options, rows);
    assert_same(one, rows, two, rows, 0);
    assert_true(info_of(two).novelty_threshold > 0 && info_of(two).novelty_threshold < 1);
    /* By hand: scale rows and landmarks first. */
    double *both = new_doubles((N + 6) * 2);
    for (int64_t k = 0; k < 2; k++) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < N; i++)
            mean += x[2 * i + k] / N;
        for (int64_t i = 0; i < N; i++)
            variance += (x[2 * i + k] - mean) * (x[2 * i + k] - mean) / N;
        for (int64_t i = 0; i < N + 6; i++)
            both[2 * i + k] = ((i < N ? x[2 * i + k] : z[2 * (i - N) + k]) - mean) / sqrt(variance);
    }
    mercer_rows *scaled = view(ctx, both, N, 2), *points = view(ctx, both + 2 * N, 6, 2);
    options = options_of("nystroem", "rbf:sigma=1", points);
    mercer_model *by_hand = fit(&options, scaled);
    assert_same(one, rows, by_hand, scaled, 1e-9);
    mercer_model_free(one);
    mercer_model_free(two);
    mercer_model_free(by_hand);
    mercer_rows_free(rows);
    mercer_rows_free(plain);
    mercer_rows_free(moved);
    mercer_rows_free(scaled);
    mercer_rows_free(points);
    free(x);
    free(z);
    free(w);
    free(both);
}

/* Sparse rows and dense landmarks, and the other way round. */
static void test_landmarks_sparse_or_dense(void **state)
{
    double *x = normal_rows(3, N, 8, 0, 1);
    (void)state;
    thin_out(4, x, N * 8, 0.5);
    mercer_rows *dense = view(ctx, x, N, 8), *sparse = sparse_copy(x, N, 8);
    mercer_rows *points = view(ctx, x, 7, 8), *sparse_points = sparse_copy(x, 7, 8);
    mercer_fit_options options = options_of("nystroem", "rbf:sigma=3", points);
    mercer_model *one = fit(&options, dense), *two = fit(&options, sparse);
    options.landmarks = sparse_points;
    mercer_model *three = fit(&options, dense);
    assert_same(one, dense, two, sparse, 1e-9);
    assert_same(one, dense, three, dense, 1e-12);
    mercer_model_free(one);
    mercer_model_free(two);
    mercer_model_free(three);
    mercer_rows_free(dense);
    mercer_rows_free(sparse);
    mercer_rows_free(points);
    mercer_rows_free(sparse_points);
    free(x);
}

static void test_landmarks_that_depend_on_others(void **state)
{
    double *x = normal_rows(5, N, 2, 0, 1), z[12];
    (void)state;
    for (int64_t i = 0; i < 12; i++)
        z[i] = x[i % 8]; /* rows 0 to 3, and 0 and 1 again */
    mercer_rows *rows = view(ctx, x, N, 2), *landmarks = view(ctx, z, 6, 2);
    mercer_fit_options options = options_of("rkpca", "rbf:sigma=1", landmarks);
    mercer_model *model = fit(&options, rows);
    assert_int_equal(info_of(model).expansion_points, 4);
    assert_non_null(strstr(notice, "2 of 6 landmarks depend on the others"));
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_rows_free(landmarks);
    free(x);
}

static void check_refused(const mercer_fit_options *options, const mercer_rows *rows,
                          mercer_status expected, const char *part)
{
    mercer_model *model = NULL;
    mercer_error why = {0};
    assert_int_equal(mercer_fit(ctx, options, rows, NULL, &model, NULL, &why), expected);
    assert_null(model);
    if (!strstr(why.text, part))
        fail_msg("'%s' is not in '%s'", part, why.text);
}

static void test_landmarks_refused(void **state)
{
    double *x = normal_rows(6, N, 3, 0, 1);
    mercer_rows *rows = view(ctx, x, N, 3), *landmarks = view(ctx, x, 5, 3);
    mercer_rows *narrow = view(ctx, x, 5, 2);
    (void)state;
    mercer_fit_options options = options_of("akfa", "rbf", landmarks);
    check_refused(&options, rows, MERCER_ERR_ARGUMENT, "method akfa");
    options = options_of("nystroem:sampling=kmeans", "rbf", landmarks);
    check_refused(&options, rows, MERCER_ERR_ARGUMENT, "sampling cannot be set with landmarks");
    options = options_of("greedy", "rbf", landmarks);
    options.center = "exact";
    check_refused(&options, rows, MERCER_ERR_ARGUMENT, "center span or none");
    options = options_of("greedy", "rbf", narrow);
    check_refused(&options, rows, MERCER_ERR_DATA, "landmarks: 2 columns where 3");
    mercer_error why = {0};
    options = options_of("rkpca:points=4", "rbf", NULL);
    /* before they are there */
    assert_int_equal(mercer_fit_options_check(&options, MERCER_EXPECT_LANDMARKS, &why),
                     MERCER_ERR_ARGUMENT);
    assert_ok(mercer_fit_options_check(&options, 0, err));
    mercer_rows_free(rows);
    mercer_rows_free(landmarks);
    mercer_rows_free(narrow);
    free(x);
}

/* Kernel matrix of rows under rbf:sigma=1. */
static double *matrix_of(const double *x, int64_t n, int64_t d)
{
    mrc_kernel kernel;
    mercer_rows *rows = view(ctx, x, n, d);
    assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=1", err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    mercer_rows_free(rows);
    return naive_gram(&kernel, x, n, d, false);
}

static void test_landmarks_of_a_matrix(void **state)
{
    static const double numbers[] = {4, 80, 17, 33, 60}, twice[] = {4, 80, 4}, beyond[] = {4, N};
    double *x = normal_rows(7, N, 2, 0, 1), *k = matrix_of(x, N, 2), z[10];
    mercer_rows *rows = view(ctx, x, N, 2), *matrix = view(ctx, k, N, N);
    mercer_rows *given = view(ctx, numbers, 5, 1), *points;
    (void)state;
    for (int64_t s = 0; s < 5; s++)
        memcpy(z + 2 * s, x + 2 * (int64_t)numbers[s], 2 * sizeof *x);
    points = view(ctx, z, 5, 2);
    mercer_fit_options options = options_of("nystroem", "rbf:sigma=1", points);
    mercer_model *one = fit(&options, rows);
    options = options_of("nystroem", "precomputed", given);
    mercer_model *two = fit(&options, matrix);
    assert_same(one, rows, two, matrix, 1e-9);
    assert_int_equal(info_of(two).selected_count, 5);
    options.novelty = 0.2;
    check_refused(&options, matrix, MERCER_ERR_ARGUMENT, "novelty");
    options.novelty = 0;
    mercer_rows *bad = view(ctx, twice, 3, 1);
    options.landmarks = bad;
    check_refused(&options, matrix, MERCER_ERR_DATA, "row 4 is given twice");
    mercer_rows_free(bad);
    bad = view(ctx, beyond, 2, 1);
    options.landmarks = bad;
    check_refused(&options, matrix, MERCER_ERR_DATA, "90 is not the number of a row, 0 to 89");
    options.landmarks = points;
    check_refused(&options, matrix, MERCER_ERR_DATA, "2 columns where one");
    mercer_rows_free(bad);
    mercer_model_free(one);
    mercer_model_free(two);
    mercer_rows_free(rows);
    mercer_rows_free(matrix);
    mercer_rows_free(given);
    mercer_rows_free(points);
    free(x);
    free(k);
}

/* The exact mean and the one in the span: same features, errors that differ by what the span leaves
 * of the mean, and mean errors as reported. */
static void test_subset_means(void **state)
{
    double *x = normal_rows(8, N, 2, 0, 1), *errors = new_doubles(N), reported[2];
    mercer_rows *rows = view(ctx, x, N, 2);
    mercer_model *model[2];
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        mercer_fit_options options = options_of("greedy:points=6", "rbf:sigma=1", NULL);
        options.center = exact ? "exact" : "span";
        model[exact] = fit(&options, rows);
        double mean = 0, *y = features(model[exact], rows, errors);
        for (int64_t i = 0; i < N; i++)
            mean += errors[i] / N;
        reported[exact] = info_of(model[exact]).reconstruction_error;
        assert_true(fabs(mean - reported[exact]) < 1e-10);
        assert_int_equal(info_of(model[exact]).expansion_points, exact ? N : 6);
        free(y);
    }
    assert_true(reported[1] < reported[0]); /* the true mean is nearer to the rows */
    assert_non_null(strstr(notice, "the mean in their span gives the same features and keeps 6"));
    assert_same(model[0], rows, model[1], rows, 1e-10);
    mercer_model_free(model[0]);
    mercer_model_free(model[1]);
    mercer_rows_free(rows);
    free(errors);
    free(x);
}

/* Nine tight clusters: one row of each, in input space and through a kernel matrix. */
static void test_kmeans_finds_clusters(void **state)
{
    double *x = normal_rows(9, N, 2, 0, 0.05), *k;
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        x[2 * i] += 4 * (double)(i % 9 % 3);
        x[2 * i + 1] += 4 * (double)(i % 9 / 3);
    }
    k = matrix_of(x, N, 2);
    mercer_rows *rows = view(ctx, x, N, 2), *matrix = view(ctx, k, N, N);
    mercer_rows *sparse = sparse_copy(x, N, 2);
    const mercer_rows *inputs[] = {rows, sparse, matrix};
    for (int given = 0; given < 3; given++) {
        int seen = 0;
        mercer_fit_options options = options_of("nystroem:points=9,sampling=kmeans",
                                                given == 2 ? "precomputed" : "rbf", NULL);
        mercer_model *model = fit(&options, inputs[given]);
        mercer_model_info info = info_of(model);
        assert_int_equal(info.selected_count, 9);
        for (int64_t s = 0; s < 9; s++)
            seen |= 1 << info.selected[s] % 9;
        assert_int_equal(seen, (1 << 9) - 1);
        mercer_model_free(model);
    }
    mercer_rows_free(rows);
    mercer_rows_free(sparse);
    mercer_rows_free(matrix);
    free(x);
    free(k);
}

/* A share of the variance: as many points as it takes, and no more. */
static void test_subset_by_share(void **state)
{
    double *x = ring_rows(10, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    mercer_fit_options options = options_of("rkpca", "rbf:sigma=4", NULL);
    (void)state;
    options.components = 0.9;
    mercer_model *model = fit(&options, rows);
    mercer_model_info info = info_of(model);
    assert_true(info.reconstruction_error <= 0.1 * info.total_variance);
    assert_true(info.selected_count < N / 2);
    mercer_model_free(model);
    options.method = "rkpca:captured=0.8"; /* which cannot hold it */
    model = fit(&options, rows);
    assert_non_null(strstr(notice, "0.9 of the variance asked for"));
    mercer_model_free(model);
    mercer_rows_free(rows);
    free(x);
}

/* Every allocation fails in turn, on the ways that a fit by defaults does not go. */
static void test_subset_survives_failing_allocations(void **state)
{
    static const char *const methods[] = {"rkpca:points=6,criterion=top",
                                          "nystroem:points=6,sampling=kmeans", "greedy"};
    double *x = normal_rows(11, 40, 2, 0, 1);
    mercer_rows *rows = view(ctx, x, 40, 2), *landmarks = view(ctx, x, 5, 2);
    (void)state;
    for (int m = 0; m < 3; m++) {
        mercer_fit_options options = options_of(methods[m], "rbf", m == 2 ? landmarks : NULL);
        options.scale = "standard";
        check_failing_allocations(ctx, &options, rows, NULL);
    }
    mercer_rows_free(rows);
    mercer_rows_free(landmarks);
    free(x);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_landmarks_that_are_rows),
        TEST(test_landmarks_are_matched_and_scaled),
        TEST(test_landmarks_sparse_or_dense),
        TEST(test_landmarks_that_depend_on_others),
        TEST(test_landmarks_refused),
        TEST(test_landmarks_of_a_matrix),
        TEST(test_subset_means),
        TEST(test_kmeans_finds_clusters),
        TEST(test_subset_by_share),
        TEST(test_subset_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
