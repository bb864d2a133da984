/* SPDX-License-Identifier: BSD-3-Clause */
/* RKPCA, greedy KPCA and Nystroem: kernel PCA on the span of chosen points. Chosen as plain
 * deflation chooses, equal to kernel PCA when the points are all rows, and to centred Nystroem PCA
 * by its formula when they are given. */
#include "selection_support.h"

#include "linalg/linalg.h"

static void test_subset_picks(void **state)
{
    (void)state;
    for (int which = 0; which < SETS; which++) {
        compare_all(which, 60, 60, 0);
        compare_all(which, 300, 100, 0);
    }
    assert_int_equal(failures, 0);
}

/* Depth 1 is pivoted Cholesky (the largest residual), depth n AKFA on the uncentred matrix; maxerr
 * and mserr end it. */
static void test_subset_greedy(void **state)
{
    enum { N = 120, L = 30 };
    double *x = ring_rows(35, N), *gram = gram_of("rbf:sigma=3", x, N, 2, false);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int64_t depth = 1; depth <= N; depth = depth == 1 ? 7 : depth == 7 ? N : N + 1) {
        struct rule rule = {.depth = depth};
        struct deflated f = deflate_plainly(gram, N, L, &rule);
        int64_t by_most = 0, by_mean = 0;
        double most = f.most[19] * 1.0001, mean = f.error[11] * 1.0001;
        char method[128];
        while (f.most[by_most++] > most) {
        }
        while (f.error[by_mean++] > mean) {
        }
        for (int stop = 0; stop < 3; stop++) {
            snprintf(method, sizeof method, "greedy:points=%d,depth=%lld", L, (long long)depth);
            if (stop > 0)
                snprintf(method + strlen(method), sizeof method - strlen(method), ",%s=%.17g",
                         stop == 1 ? "maxerr" : "mserr", stop == 1 ? most : mean);
            struct deflated cut = f;
            cut.count = stop == 0 ? L : stop == 1 ? by_most : by_mean;
            struct outcome o = fit_well(method, "rbf:sigma=3", "span", "dense", 5, rows);
            if (check_picks(method, &o, &cut, NULL))
                check_subset(method, &o, &cut, gram, true);
            mercer_model_free(o.model);
        }
        deflated_free(&f);
    }
    mercer_rows_free(rows);
    free(gram);
    free(x);
    assert_int_equal(failures, 0);
}

/* Criterion top: the growth of the largest eigenvalues, as many as features are wanted. */
static void test_subset_top_eigenvalues(void **state)
{
    enum { N = 50, L = 10, M = 3 };
    const struct rule top = {.spread = true, .top = M};
    double *x = ring_rows(36, N), *gram = gram_of("rbf:sigma=3", x, N, 2, false);
    mercer_rows *rows = view(ctx, x, N, 2);
    struct deflated f = deflate_plainly(gram, N, L, &top);
    struct outcome o =
        fit_well("rkpca:points=10,criterion=top", "rbf:sigma=3", "span", "dense", M, rows);
    (void)state;
    if (check_picks("rkpca top", &o, &f, NULL))
        check_subset("rkpca top", &o, &f, gram, true);
    mercer_model_free(o.model);
    mercer_rows_free(rows);
    deflated_free(&f);
    free(gram);
    free(x);
    assert_int_equal(failures, 0);
}

/* |y| of two models on the same rows. */
static void assert_same_features(const struct outcome *a, const struct outcome *b,
                                 const mercer_rows *rows, double tolerance)
{
    int64_t count = mercer_rows_count(rows) * a->info.components;
    double *one = features_of(a, rows, NULL, NULL), *two = features_of(b, rows, NULL, NULL);
    assert_int_equal(a->info.components, b->info.components);
    for (int64_t i = 0; i < count; i++) {
        one[i] = fabs(one[i]);
        two[i] = fabs(two[i]);
    }
    assert_close(one, two, count, tolerance * largest_modulus(two, count));
    assert_close(a->info.spectrum, b->info.spectrum, a->info.components,
                 tolerance * b->info.spectrum[0]);
    free(one);
    free(two);
}

/* With every row among the points nothing is lost: kernel PCA. */
static void test_subset_of_all_rows_is_kpca(void **state)
{
    static const char *const specs[] = {"laplacian:gamma=0.3", "rbf:sigma=1", "linear"};
    enum { N = 60, L = 5 };
    double *x = normal_rows(37, N + 20, 2, 0, 3);
    mercer_rows *rows = view(ctx, x, N, 2), *fresh = view(ctx, x + 2 * N, 20, 2);
    (void)state;
    for (int s = 0; s < 3; s++) {
        struct outcome all =
            fit_well("rkpca:points=60", specs[s], "span", "dense", s == 2 ? 2 : L, rows);
        struct outcome kpca = fit_well("kpca", specs[s], "exact", "dense", s == 2 ? 2 : L, rows);
        assert_same_features(&all, &kpca, rows, 1e-7);
        assert_same_features(&all, &kpca, fresh, 1e-7);
        assert_true(fabs(all.info.reconstruction_error - kpca.info.reconstruction_error) <= 1e-9);
        mercer_model_free(all.model);
        mercer_model_free(kpca.model);
    }
    mercer_rows_free(rows);
    mercer_rows_free(fresh);
    free(x);
}

/* Centred Nystroem PCA by its formula, F = (K_nm - kbar) K_mm^-1/2 and the PCA of F: eigenvalues,
 * and |features| of the n rows (n x l). k is the Gram matrix of the n rows and then the m points.
 */
static void plain_nystroem(const double *k, int64_t n, int64_t m, int64_t l, double *spectrum,
                           double *features)
{
    int64_t all = n + m;
    double *a = new_doubles(m * m), *values = new_doubles(m), *u = new_doubles(m * m);
    double *f = new_doubles(n * m), *mean = new_doubles(m), *s = new_doubles(m * m);
    for (int64_t i = 0; i < m; i++)
        memcpy(a + i * m, k + (n + i) * all + n, (size_t)m * sizeof *a);
    ref_eigen(a, m, values, u);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            for (int64_t z = 0; z < m; z++)
                f[i * m + j] += k[i * all + n + z] * u[z * m + j] / sqrt(values[j]);
            mean[j] += f[i * m + j] / (double)n;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p < m; p++)
            for (int64_t q = 0; q < m; q++)
                s[p * m + q] += (f[i * m + p] - mean[p]) * (f[i * m + q] - mean[q]);
    ref_eigen(s, m, values, u);
    memcpy(spectrum, values, (size_t)l * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < l; j++) {
            double y = 0;
            for (int64_t p = 0; p < m; p++)
                y += (f[i * m + p] - mean[p]) * u[p * m + j];
            features[i * l + j] = fabs(y);
        }
    free(a);
    free(values);
    free(u);
    free(f);
    free(mean);
    free(s);
}

/* What rkpca makes of the points it chose. */
static void test_subset_is_nystroem_of_its_points(void **state)
{
    enum { N = 100, M = 6, L = 3 };
    double *x = new_doubles(2 * (N + M)), *ring = ring_rows(45, N), spectrum[L], plain[N * L];
    mercer_rows *rows = view(ctx, ring, N, 2);
    struct outcome o = fit_well("rkpca:points=6", "rbf:sigma=4", "span", "dense", L, rows);
    double *y = features_of(&o, rows, NULL, NULL), *gram;
    (void)state;
    memcpy(x, ring, 2 * N * sizeof *x);
    for (int64_t i = 0; i < M; i++)
        memcpy(x + 2 * (N + i), ring + 2 * o.info.selected[i], 2 * sizeof *x);
    gram = gram_of("rbf:sigma=4", x, N + M, 2, false);
    plain_nystroem(gram, N, M, L, spectrum, plain);
    for (int64_t i = 0; i < N * L; i++)
        y[i] = fabs(y[i]);
    assert_close(y, plain, N * L, 1e-10 * largest_modulus(plain, N * L));
    assert_close(o.info.spectrum, spectrum, L, 1e-10 * spectrum[0]);
    mercer_model_free(o.model);
    mercer_rows_free(rows);
    free(ring);
    free(gram);
    free(x);
    free(y);
}

static void test_subset_given_landmarks(void **state)
{
    static const char *const specs[] = {"rbf:sigma=4", "laplacian:gamma=0.1", "poly:degree=2"};
    static const char *const methods[] = {"nystroem", "rkpca", "greedy"};
    enum { N = 100, M = 5, L = 3 };
    double *x = ring_rows(38, N + M); /* the points are not training rows */
    mercer_rows *rows = view(ctx, x, N, 2), *points = view(ctx, x + 2 * N, M, 2);
    (void)state;
    for (int s = 0; s < 3; s++) {
        double *gram = gram_of(specs[s], x, N + M, 2, false), spectrum[L], plain[N * L];
        plain_nystroem(gram, N, M, L, spectrum, plain);
        for (int m = 0; m < 3; m++) {
            mercer_fit_options options;
            mercer_fit_options_init(&options);
            options.method = methods[m];
            options.kernel = specs[s];
            options.center = "span";
            options.components = L;
            options.landmarks = points;
            struct outcome o = fit_by(&options, rows);
            if (o.rc != MERCER_OK)
                fail_msg("%s %s: %s", methods[m], specs[s], o.why.text);
            double *y = features_of(&o, rows, NULL, NULL);
            assert_int_equal(o.info.components, L);
            assert_int_equal(o.info.expansion_points, M);
            for (int64_t i = 0; i < N * L; i++)
                y[i] = fabs(y[i]);
            assert_close(y, plain, N * L, 1e-9 * largest_modulus(plain, N * L));
            assert_close(o.info.spectrum, spectrum, L, 1e-9 * spectrum[0]);
            free(y);
            mercer_model_free(o.model);
        }
        free(gram);
    }
    mercer_rows_free(rows);
    mercer_rows_free(points);
    free(x);
}

/* Points chosen by their gain capture more than points drawn at random. */
static void test_subset_beats_random_points(void **state)
{
    static const int points[] = {4, 10, 25};
    enum { N = 200, SEEDS = 5 };
    (void)state;
    for (int which = 0; which < SETS; which++) {
        struct set set = make_set(which, N);
        mercer_rows *rows = view(ctx, set.x, N, set.d);
        for (int k = 3; k < 5; k++) /* rbf, laplacian */
            for (int p = 0; p < 3; p++) {
                const char *kernel = kernel_text(k, set.scale);
                char method[64];
                snprintf(method, sizeof method, "rkpca:points=%d", points[p]);
                struct outcome chosen = fit_well(method, kernel, "span", "dense", points[p], rows);
                for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                    mercer_ctx_set_seed(ctx, seed);
                    snprintf(method, sizeof method, "nystroem:points=%d,sampling=uniform",
                             points[p]);
                    struct outcome drawn =
                        fit_well(method, kernel, "span", "dense", points[p], rows);
                    if (!(chosen.report.projection_variance > drawn.report.projection_variance))
                        complain(set.name, "%s, %d points, seed %d: %.6g chosen, %.6g drawn",
                                 kernel, points[p], (int)seed, chosen.report.projection_variance,
                                 drawn.report.projection_variance);
                    mercer_model_free(drawn.model);
                }
                mercer_model_free(chosen.model);
            }
        mercer_rows_free(rows);
        free(set.x);
    }
    assert_int_equal(failures, 0);
}

/* Features of the rows and what each point added, by the plain order of columns from a matrix that
 * is held (dense) and in blocks where none is (stream). Two of the points may change places where
 * rounding decides which of them has more left, so what is compared is the features and the sums.
 */
static void compare_listed(const char *method, const char *kernel, const char *center, int64_t l,
                           const mercer_rows *rows)
{
    mercer_ctx_set_seed(ctx, 3);
    struct outcome held = fit_well(method, kernel, center, "dense", l, rows);
    mercer_ctx_set_seed(ctx, 3); /* the same points */
    struct outcome blocks = fit_well(method, kernel, center, "stream", l, rows);
    int64_t n = rows->n, count = held.model->components, m = held.model->selected_count;
    double *a = new_doubles(n * count), *b = new_doubles(n * count);
    const double *from = held.model->selection, *to = blocks.model->selection;
    double variance = held.model->total_variance;
    assert_int_equal(blocks.model->components, count);
    assert_int_equal(blocks.model->selected_count, m);
    assert_ok(mercer_model_transform(ctx, held.model, rows, NULL, a, NULL, err));
    assert_ok(mercer_model_transform(ctx, blocks.model, rows, NULL, b, NULL, err));
    double *outer_a = new_doubles(n * n), *outer_b = new_doubles(n * n);
    for (int64_t i = 0; i < n; i++) /* signs and equal eigenvalues leave these alone */
        for (int64_t j = 0; j < n; j++) {
            outer_a[i * n + j] = mrc_dot(a + i * count, a + j * count, count);
            outer_b[i * n + j] = mrc_dot(b + i * count, b + j * count, count);
        }
    double off = largest_difference(outer_a, outer_b, n * n) / largest_modulus(outer_a, n * n);
    if (!(off < 1e-9))
        complain(method, "%s, center %s, %lld rows: features differ by %.3g", kernel, center,
                 (long long)n, off);
    for (int c = MERCER_SELECTION_ERROR; c <= MERCER_SELECTION_VARIANCE; c++) { /* of all points */
        double x = from[(m - 1) * MERCER_SELECTION_COLUMNS + c];
        double y = to[(m - 1) * MERCER_SELECTION_COLUMNS + c];
        if (!(fabs(x - y) < 1e-9 * variance))
            complain(method, "%s, center %s: column %d of the selection is %.12g, not %.12g",
                     kernel, center, c, y, x);
    }
    free(a);
    free(b);
    free(outer_a);
    free(outer_b);
    mercer_model_free(held.model);
    mercer_model_free(blocks.model);
}

static void test_subset_of_listed_rows_in_blocks(void **state)
{
    static const char *const samplings[] = {"uniform", "kmeans", "rpcholesky"};
    static const char *const centers[] = {"none", "span", "exact"};
    static const int sizes[] = {5, 20, 90, 333};
    (void)state;
    for (int which = 0; which < SETS; which++)
        for (int z = 0; z < 4; z++) {
            struct set set = make_set(which, sizes[z]);
            mercer_rows *rows = view(ctx, set.x, sizes[z], set.d);
            for (int k = 3; k < 5; k++) /* rbf, laplacian */
                for (int w = 0; w < 3; w++)
                    for (int c = 0; c < 3; c++) {
                        char method[64];
                        int points = sizes[z] < 70 ? (sizes[z] + 1) / 2 : 70;
                        snprintf(method, sizeof method, "nystroem:points=%d,sampling=%s", points,
                                 samplings[w]);
                        compare_listed(method, kernel_text(k, set.scale), centers[c],
                                       points < 6 ? points - 1 : 5, rows);
                    }
            mercer_rows_free(rows);
            free(set.x);
        }
    assert_int_equal(failures, 0);
}

/* Split and merge: as good as one problem when it keeps enough, and never better. */
static void test_subset_in_groups(void **state)
{
    enum { N = 200, L = 5 };
    double *x = ring_rows(39, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    struct outcome whole = fit_well("kpca", "rbf:sigma=4", "exact", "dense", L, rows);
    struct outcome parts = fit_well("kpca:groups=4", "rbf:sigma=4", "exact", "dense", L, rows);
    (void)state;
    assert_int_equal(parts.info.components, L);
    assert_true(parts.info.reconstruction_error >= whole.info.reconstruction_error - 1e-12);
    assert_true(parts.info.reconstruction_error <= 1.2 * whole.info.reconstruction_error);
    mercer_model_free(whole.model);
    mercer_model_free(parts.model);
    mercer_rows_free(rows);
    free(x);
}

static void test_subset_edges(void **state)
{
    static const char *const methods[] = {
        "rkpca:points=24", "greedy:points=24", "nystroem:points=10",
        "nystroem:points=10,sampling=kmeans", "nystroem:points=10,sampling=greedy"};
    static const char kernel[] = "sigmoid:gamma=0.05,coef0=-0.5";
    double *x = normal_rows(43, 60, 4, 0, 2);
    mercer_rows *rows = view(ctx, x, 60, 4);
    (void)state;
    for (int m = 0; m < 5; m++) {
        check_rank(methods[m], "none");
        check_rank(methods[m], "span");
        if (m < 2)
            check_empty_rows(methods[m]);
        check_equal_rows(methods[m], "span");
        for (int centered = 0; centered < 2; centered++) { /* negative eigenvalues */
            struct outcome o =
                fit_well(methods[m], kernel, centered ? "span" : "none", "dense", 4, rows);
            assert_finite(&o, rows);
            mercer_model_free(o.model);
        }
    }
    mercer_rows_free(rows);
    free(x);
}

static void test_subset_of_a_matrix_keeps_few_columns(void **state)
{
    (void)state;
    check_kept_columns("rkpca:points=6", "span");
    check_kept_columns("greedy:points=6", "span");
    check_kept_columns("nystroem:points=6", "span");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_subset_picks),
        TEST(test_subset_greedy),
        TEST(test_subset_top_eigenvalues),
        TEST(test_subset_of_all_rows_is_kpca),
        TEST(test_subset_is_nystroem_of_its_points),
        TEST(test_subset_given_landmarks),
        TEST(test_subset_beats_random_points),
        TEST(test_subset_of_listed_rows_in_blocks),
        TEST(test_subset_in_groups),
        TEST(test_subset_edges),
        TEST(test_subset_of_a_matrix_keeps_few_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
