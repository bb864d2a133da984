/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel optimal component analysis: the performance function and its gradient against plain
 * definitions, the geometry of subspaces, and what fits promise. */
#include "support.h"

#include "fit_support.h"
#include "linalg/grassmann.h"
#include "methods/koca/objective.h"

#include <stdio.h>
#include <unistd.h>

/* ---- the performance function from its definition ---- */

enum { N = 60, V = 25, M = 7, R = 3, CLASSES = 4 };

struct set {
    double *z;
    int64_t codes[N], list[N];
    mrc_koca_rows rows;
};

/* Overlapping classes of different size in m dimensions; every third row is left out of the list.
 */
static void make_set(struct set *s, uint64_t seed, int64_t n, int64_t m, bool listed)
{
    int64_t count = 0;
    s->z = normal_rows(seed, n, m, 0, 1);
    for (int64_t i = 0; i < n; i++) {
        s->codes[i] = i % 7 < 3 ? 0 : i % 7 < 5 ? 1 : i % 7 == 5 ? 2 : 3;
        for (int64_t k = 0; k < m; k++)
            s->z[i * m + k] += 0.7 * (double)(s->codes[i] * (k % 3));
        if (i % 3 != 1)
            s->list[count++] = i;
    }
    s->rows = (mrc_koca_rows){.z = s->z, .codes = s->codes, .n = n};
    if (listed) {
        s->rows.list = s->list;
        s->rows.listed = count;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean or k-th of the k smallest of count values; NAN when there are none. */
static double nearest(double *d, int64_t count, const mrc_koca_rule *rule)
{
    int64_t k = rule->neighbours < count ? rule->neighbours : count;
    double sum = 0;
    qsort(d, (size_t)count, sizeof *d, by_size);
    for (int64_t i = 0; i < k; i++)
        sum += d[i] / (double)k;
    return k == 0 ? NAN : rule->kth ? d[k - 1] : sum;
}

static bool is_listed(const mrc_koca_rows *rows, int64_t i)
{
    for (int64_t t = 0; rows->list && t < rows->listed; t++)
        if (rows->list[t] == i)
            return true;
    return !rows->list;
}

static double naive_value(const mrc_koca_rows *from, const mrc_koca_rows *judged, int64_t m,
                          int64_t r, const mrc_koca_rule *rule, const double *u)
{
    double sum[CLASSES] = {0}, count[CLASSES] = {0}, own[N], other[N], f = 0, present = 0;
    for (int64_t i = 0; i < judged->n; i++) {
        int64_t owns = 0, others = 0;
        for (int64_t t = 0; t < from->n && is_listed(judged, i); t++) {
            double d = 0;
            if (!is_listed(from, t) || (from->z == judged->z && t == i))
                continue;
            for (int64_t j = 0; j < r; j++) {
                double y = 0;
                for (int64_t k = 0; k < m; k++)
                    y += (judged->z[i * m + k] - from->z[t * m + k]) * u[k * r + j];
                d += y * y;
            }
            if (from->codes[t] == judged->codes[i])
                own[owns++] = d;
            else
                other[others++] = d;
        }
        if (owns == 0 || others == 0)
            continue;
        double rho = nearest(other, others, rule) / (nearest(own, owns, rule) + rule->epsilon);
        sum[judged->codes[i]] += 1 / (1 + exp(-2 * rule->beta * (rho - 1)));
        count[judged->codes[i]]++;
    }
    for (int c = 0; c < CLASSES; c++)
        present += count[c] > 0;
    for (int c = 0; c < CLASSES; c++)
        f += count[c] > 0 ? sum[c] / count[c] / present : 0;
    return f;
}

static void subspace(uint64_t seed, int64_t m, int64_t r, double *u)
{
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    mrc_random_subspace(&rng, m, r, u);
}

/* Value and gradient in one configuration. */
static void check_objective(mercer_ctx *ctx, const mrc_koca_rows *from, const mrc_koca_rows *judged,
                            int64_t m, int64_t r, const mrc_koca_rule *rule)
{
    mrc_koca_objective o = {0};
    double u[M * M], g[M * M], differences[M * M];
    subspace(5, m, r, u);
    assert_ok(mrc_koca_init(&o, ctx, m, r, CLASSES, from, judged, rule, rule->neighbours, err));
    double f = mrc_koca_value(&o, u);
    assert_true(fabs(f - naive_value(from, judged, m, r, rule, u)) < 1e-12);
    mrc_koca_gradient(&o, g);
    for (int64_t i = 0; i < m * r; i++) {
        static const double STEP = 1e-7;
        double at = u[i], up;
        u[i] = at + STEP;
        up = mrc_koca_value(&o, u);
        u[i] = at - STEP;
        differences[i] = (up - mrc_koca_value(&o, u)) / (2 * STEP);
        u[i] = at;
    }
    assert_true(largest_modulus(g, m * r) > 1e-4);
    assert_close(g, differences, m * r, 1e-6 * fmax(1, largest_modulus(g, m * r)));
    mrc_koca_destroy(&o);
}

static void test_gradient_matches_differences(void **state)
{
    static const int64_t neighbours[] = {1, 2, 4, 50}; /* 50: more than a class has */
    (void)state;
    for (int config = 0; config < 8; config++) {
        /* A basis of all dimensions, or one cut down to few. */
        int64_t m = config & 4 ? R + 1 : M;
        bool listed = config & 1;
        mercer_ctx *ctx = new_ctx(config & 2 ? 2 : 1);
        struct set train, other;
        make_set(&train, 1, N, m, listed);
        make_set(&other, 2, V, m, listed);
        for (size_t k = 0; k < 4; k++)
            for (int kth = 0; kth < 2; kth++)
                for (int64_t r = 1; r <= R; r++) {
                    mrc_koca_rule rule = {
                        .neighbours = neighbours[k], .kth = kth, .beta = 0.3, .epsilon = 1e-3};
                    check_objective(ctx, &train.rows, &train.rows, m, r, &rule); /* loo */
                    check_objective(ctx, &train.rows, &other.rows, m, r, &rule);
                }
        /* One part of the rows judged by the others. */
        mrc_koca_rule rule = {.neighbours = 1, .beta = 1, .epsilon = 1e-9};
        mrc_koca_rows front = train.rows, back = train.rows;
        front.list = back.list = train.list;
        front.listed = 20;
        back.list += 20;
        back.listed = 15;
        check_objective(ctx, &front, &back, m, R, &rule);
        mercer_ctx_free(ctx);
        free(train.z);
        free(other.z);
    }
}

static void test_performance_belongs_to_the_subspace(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mrc_koca_rule rule = {.neighbours = 2, .beta = 0.5, .epsilon = 1e-9};
    mrc_koca_objective o = {0};
    struct set s;
    double u[M * R], turn[R * R], turned[M * R] = {0};
    mrc_rng rng;
    (void)state;
    make_set(&s, 3, N, M, false);
    subspace(6, M, R, u);
    mrc_rng_seed(&rng, 4);
    mrc_random_subspace(&rng, R, R, turn);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < R; j++)
            for (int k = 0; k < R; k++)
                turned[i * R + j] += u[i * R + k] * turn[k * R + j];
    assert_ok(mrc_koca_init(&o, ctx, M, R, CLASSES, &s.rows, &s.rows, &rule, 3, err));
    double f = mrc_koca_value(&o, u), rate = mrc_koca_rate(&o);
    assert_true(fabs(mrc_koca_value(&o, turned) - f) < 1e-13);
    assert_true(fabs(mrc_koca_rate(&o) - rate) < 1e-15);
    mrc_koca_destroy(&o);
    mercer_ctx_free(ctx);
    free(s.z);
}

/* beta to infinity: the recognition rate of each class, averaged over classes. */
static void test_performance_tends_to_the_rate(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mrc_koca_rule rule = {.neighbours = 1, .beta = 1e9, .epsilon = 1e-12};
    mrc_koca_objective o = {0};
    struct set s;
    double u[M * R], right[CLASSES] = {0}, size[CLASSES] = {0}, rate = 0;
    (void)state;
    make_set(&s, 3, N, M, false);
    subspace(6, M, R, u);
    assert_ok(mrc_koca_init(&o, ctx, M, R, CLASSES, &s.rows, &s.rows, &rule, 3, err));
    double f = mrc_koca_value(&o, u);
    for (int64_t i = 0; i < N; i++) {
        double least = INFINITY;
        int64_t winner = -1;
        for (int64_t t = 0; t < N; t++) {
            double d = 0;
            for (int j = 0; j < R; j++) {
                double y = 0;
                for (int k = 0; k < M; k++)
                    y += (s.z[i * M + k] - s.z[t * M + k]) * u[k * R + j];
                d += y * y;
            }
            if (t != i && d < least) {
                least = d;
                winner = s.codes[t];
            }
        }
        size[s.codes[i]]++;
        right[s.codes[i]] += winner == s.codes[i];
    }
    for (int c = 0; c < CLASSES; c++)
        rate += right[c] / size[c] / CLASSES;
    assert_true(rate > 0.3 && rate < 0.95); /* neither way out is trivial */
    assert_true(fabs(f - rate) < 1e-9);
    assert_true(fabs(mrc_koca_rate(&o) - rate) < 1e-12);
    rule.beta = 0.2;
    assert_true(fabs(mrc_koca_value_by(&o, &rule) - naive_value(&s.rows, &s.rows, M, R, &rule, u)) <
                1e-12);
    o.rule.neighbours = 3; /* F by fewer neighbours than were looked for */
    mrc_koca_value(&o, u);
    for (int kth = 0; kth < 2; kth++) {
        mrc_koca_rule fewer = {.neighbours = 2, .kth = kth, .beta = 0.4, .epsilon = 1e-9};
        assert_true(fabs(mrc_koca_value_by(&o, &fewer) -
                         naive_value(&s.rows, &s.rows, M, R, &fewer, u)) < 1e-12);
    }
    mrc_koca_destroy(&o);
    mercer_ctx_free(ctx);
    free(s.z);
}

/* All distances zero: every row is halfway lost, h(-1), and nothing is undefined. Rows that
 * coincide with one of another class and one of their own count half in the rate. */
static void test_performance_of_coinciding_rows(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mrc_koca_rule rule = {.neighbours = 1, .beta = 1, .epsilon = 1e-9};
    mrc_koca_objective o = {0};
    double z[6 * M] = {0}, u[M * R], g[M * R];
    const int64_t codes[] = {0, 0, 1, 1, 1, 2}; /* the last class has one row, which is skipped */
    mrc_koca_rows rows = {.z = z, .codes = codes, .n = 6};
    (void)state;
    subspace(7, M, R, u);
    assert_ok(mrc_koca_init(&o, ctx, M, R, 3, &rows, &rows, &rule, 3, err));
    assert_int_equal(o.counted, 5);
    assert_true(fabs(mrc_koca_value(&o, u) - 1 / (1 + exp(2))) < 1e-15);
    assert_true(fabs(mrc_koca_rate(&o) - 0.5) < 1e-15);
    mrc_koca_gradient(&o, g);
    for (int i = 0; i < M * R; i++)
        assert_true(g[i] == 0);
    mrc_koca_destroy(&o);
    mercer_ctx_free(ctx);
}

/* ---- subspaces ---- */

static void test_geodesics_keep_columns_orthonormal(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double u[M * R], next[M * R], h[M * R], work[4 * R * R + R];
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 8);
    mrc_random_subspace(&rng, M, R, u);
    for (int step = 0; step < 1000; step++) {
        for (int i = 0; i < M * R; i++)
            h[i] = mrc_rng_normal(&rng);
        mrc_make_tangent(M, R, u, h, work);
        assert_ok(mrc_geodesic(ctx, M, R, u, h, 0.3, work, next, err));
        memcpy(u, next, sizeof u);
    }
    for (int a = 0; a < R; a++)
        for (int b = 0; b < R; b++) {
            double dot = a == b ? -1 : 0;
            for (int i = 0; i < M; i++)
                dot += u[i * R + a] * u[i * R + b];
            assert_true(fabs(dot) < 1e-12);
        }
    mercer_ctx_free(ctx);
}

/* One direction: a great circle. And the length of a short way is its distance, up to the square
 * root of two that the norm of UU' has. */
static void test_geodesic_is_a_great_circle(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double u[M] = {1}, h[M] = {0, 3}, work[16], out[M];
    double w[M * R], v[M * R], k[M * R], dots[4 * R * R + R], length2 = 0;
    (void)state;
    assert_ok(mrc_geodesic(ctx, M, 1, u, h, 0.5, work, out, err));
    assert_true(fabs(out[0] - cos(1.5)) < 1e-14 && fabs(out[1] - sin(1.5)) < 1e-14);
    subspace(9, M, R, w);
    for (int i = 0; i < M * R; i++)
        k[i] = sin(3.0 * i);
    mrc_make_tangent(M, R, w, k, dots);
    for (int i = 0; i < M * R; i++)
        length2 += k[i] * k[i];
    assert_ok(mrc_geodesic(ctx, M, R, w, k, 1e-4, dots, v, err));
    double away = mrc_subspace_distance(M, R, w, v, dots);
    assert_true(fabs(away / (1e-4 * sqrt(2 * length2)) - 1) < 1e-6);
    mercer_ctx_free(ctx);
}

/* ---- fits ---- */

/* Three classes in two dimensions that matter, among four that do not and are wider. */
static double *noisy_classes(uint64_t seed, int64_t n, int64_t *codes)
{
    double *x = normal_rows(seed, n, 6, 0, 1);
    for (int64_t i = 0; i < n; i++) {
        codes[i] = i % 3;
        for (int k = 2; k < 6; k++)
            x[i * 6 + k] *= 3;
        x[i * 6] = 0.3 * x[i * 6] + 2 * cos(2.1 * (double)codes[i]);
        x[i * 6 + 1] = 0.3 * x[i * 6 + 1] + 2 * sin(2.1 * (double)codes[i]);
    }
    return x;
}

static const char *const class_names[] = {"a", "b", "c", "d"};

static mercer_targets *classes(const int64_t *codes, int64_t n)
{
    mercer_targets *targets = NULL;
    assert_ok(mercer_targets_new_classes(codes, n, class_names, 4, NULL, &targets, err));
    return targets;
}

static mercer_status fit(mercer_ctx *ctx, const char *method, const char *kernel, double components,
                         const mercer_rows *rows, const mercer_targets *targets,
                         mercer_model **model, mercer_error *err)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.components = components;
    mercer_ctx_set_seed(ctx, 5);
    return mercer_fit(ctx, &options, rows, targets, model, NULL, err);
}

static mercer_model_info info_of(const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    return info;
}

static double traced(const mercer_model *model, int64_t step, int column)
{
    return info_of(model).trace[step * MERCER_TRACE_COLUMNS + column];
}

/* Share of rows whose nearest neighbour in the features is of their class. */
static double neighbour_rate(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows,
                             const int64_t *codes)
{
    int64_t n = mercer_rows_count(rows), l = info_of(model).components;
    double *y = new_doubles(n * l), right = 0;
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, y, NULL, err));
    for (int64_t i = 0; i < n; i++) {
        double least = INFINITY;
        int64_t winner = -1;
        for (int64_t t = 0; t < n; t++) {
            double d = 0;
            for (int64_t j = 0; j < l; j++)
                d += pow(y[i * l + j] - y[t * l + j], 2);
            if (t != i && d < least) {
                least = d;
                winner = codes[t];
            }
        }
        right += winner == codes[i];
    }
    free(y);
    return right / (double)n;
}

static void test_koca_finds_what_tells_classes_apart(void **state)
{
    static const char *const methods[] = {"koca",
                                          "koca:start=random",
                                          "koca:start=kica",
                                          "koca:validation=split",
                                          "koca:holdout=0.3",
                                          "koca:search=anneal,restarts=1,iterations=1500",
                                          "koca:neighbours=3,aggregate=kth",
                                          "koca:energy=1"};
    enum { n = 120 };
    mercer_ctx *ctx = new_ctx(2);
    int64_t codes[n];
    double *x = noisy_classes(1, n, codes);
    mercer_rows *rows = view(ctx, x, n, 6);
    mercer_targets *targets = classes(codes, n);
    (void)state;
    for (size_t t = 0; t < sizeof methods / sizeof *methods; t++) {
        mercer_model *model = NULL;
        assert_ok(fit(ctx, methods[t], "linear", 2, rows, targets, &model, err));
        double rate = neighbour_rate(ctx, model, rows, codes);
        int64_t last = info_of(model).trace_count - 1;
        if (!(rate > 0.97))
            fail_msg("%s: %.3f of the rows are near their class", methods[t], rate);
        assert_true(last > 0);
        assert_true(t > 0 || traced(model, last, MERCER_TRACE_DISTANCE) > 1);
        for (int64_t i = 0; i <= last; i++)
            assert_true(traced(model, i, MERCER_TRACE_ITERATION) == (double)i);
        assert_true(info_of(model).orthonormal);
        mercer_model_free(model);
    }
    mercer_model *start = NULL, *end = NULL;
    assert_ok(fit(ctx, "koca:iterations=0,continuation=off", "rbf", 2, rows, targets, &start, err));
    assert_ok(fit(ctx, "koca", "rbf", 2, rows, targets, &end, err));
    assert_true(neighbour_rate(ctx, start, rows, codes) < 0.7);
    assert_true(neighbour_rate(ctx, end, rows, codes) > 0.97);
    mercer_model_free(start);
    mercer_model_free(end);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* Where there are many rows, some are looked at first, and all of them in the end. */
static void test_koca_judges_all_of_many_rows(void **state)
{
    enum { n = 4500 };
    mercer_ctx *ctx = new_ctx(2);
    static int64_t codes[n];
    double *x = noisy_classes(10, n, codes);
    mercer_rows *rows = view(ctx, x, n, 6);
    mercer_targets *targets = classes(codes, n);
    mercer_model *all = NULL, *some = NULL;
    (void)state;
    assert_ok(
        fit(ctx, "koca:iterations=0,continuation=off", "linear", 2, rows, targets, &all, err));
    assert_ok(fit(ctx, "koca:iterations=40", "linear", 2, rows, targets, &some, err));
    double first = traced(all, 0, MERCER_TRACE_RATE), drawn = traced(some, 0, MERCER_TRACE_RATE);
    assert_true(fabs(first - neighbour_rate(ctx, all, rows, codes)) < 1e-9);
    assert_true(drawn != first && fabs(drawn - first) < 0.1);
    double last = traced(some, info_of(some).trace_count - 1, MERCER_TRACE_RATE);
    assert_true(last > 0.97);
    assert_true(fabs(last - neighbour_rate(ctx, some, rows, codes)) < 1e-9);
    mercer_model_free(all);
    mercer_model_free(some);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* Steps of ascent are taken only when they gain. */
static void test_koca_ascends(void **state)
{
    enum { n = 90 };
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(2, n, codes);
    mercer_rows *rows = view(ctx, x, n, 6);
    mercer_targets *targets = classes(codes, n);
    mercer_model *model = NULL;
    (void)state;
    assert_ok(
        fit(ctx, "koca:continuation=off,iterations=60", "rbf", 3, rows, targets, &model, err));
    for (int64_t i = 1; i < info_of(model).trace_count; i++)
        assert_true(traced(model, i, MERCER_TRACE_PERFORMANCE) >
                    traced(model, i - 1, MERCER_TRACE_PERFORMANCE));
    assert_non_null(info_of(model).trace_seconds);
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* As many components as dimensions: the kernel PCA subspace, whatever was asked for. */
static void test_koca_of_all_dimensions_is_kernel_pca(void **state)
{
    enum { n = 60 };
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(3, n, codes), *y = new_doubles(n * 4), *z = new_doubles(n * 4);
    mercer_rows *rows = view(ctx, x, n, 6);
    mercer_targets *targets = classes(codes, n);
    mercer_model *koca = NULL, *kpca = NULL;
    mercer_fit_options options;
    (void)state;
    assert_ok(fit(ctx, "koca:rank=4,energy=1", "rbf", 4, rows, targets, &koca, err));
    assert_int_equal(info_of(koca).trace_count, 1);
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.components = 4;
    options.center = "none";
    options.kernel = info_of(koca).kernel;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &kpca, NULL, err));
    assert_ok(mercer_model_transform(ctx, koca, rows, NULL, y, NULL, err));
    assert_ok(mercer_model_transform(ctx, kpca, rows, NULL, z, NULL, err));
    assert_close(y, z, n * 4, 1e-9);
    assert_true(fabs(info_of(koca).reconstruction_error - info_of(kpca).reconstruction_error) <
                1e-12);
    mercer_model_free(koca);
    mercer_model_free(kpca);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
    free(y);
    free(z);
}

/* Judging the training rows as validation rows: F of another set that has the same coordinates, in
 * which every row is its own nearest neighbour. */
static void test_koca_validation_rows_lie_where_they_should(void **state)
{
    enum { n = 60 };
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(7, n, codes);
    mercer_rows *rows = view(ctx, x, n, 6), *some = view(ctx, x + 20 * 6, n - 20, 6);
    mercer_targets *targets = classes(codes, n), *theirs = classes(codes + 20, n - 20);
    (void)state;
    for (int centred = 0; centred < 2; centred++) {
        mercer_model *model = NULL;
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        options.method = "koca:iterations=0,continuation=off";
        options.components = 2;
        options.center = centred ? "exact" : "none";
        options.validation = some;
        options.validation_targets = theirs;
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
        assert_true(fabs(traced(model, 0, MERCER_TRACE_RATE) - 1) < 1e-12);
        assert_true(fabs(traced(model, 0, MERCER_TRACE_PERFORMANCE) - 1) < 1e-9);
        mercer_model_free(model);
    }
    mercer_targets_free(targets);
    mercer_targets_free(theirs);
    mercer_rows_free(rows);
    mercer_rows_free(some);
    mercer_ctx_free(ctx);
    free(x);
}

/* The same with a linear kernel of rows times a power of two: products of kernel values and
 * coordinates are not numbers there. */
static void test_koca_validation_rows_may_be_in_any_unit(void **state)
{
    enum { n = 60 };
    static const int powers[] = {0, -480, -360, 360, 480};
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(7, n, codes), expected = 0;
    mercer_targets *targets = classes(codes, n), *theirs = classes(codes + 20, n - 20);
    (void)state;
    for (int p = 0; p < 5; p++) {
        double *scaled = new_doubles(n * 6);
        for (int64_t i = 0; i < n * 6; i++)
            scaled[i] = ldexp(x[i], powers[p]);
        mercer_rows *rows = view(ctx, scaled, n, 6), *some = view(ctx, scaled + 20 * 6, n - 20, 6);
        mercer_model *model = NULL;
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        options.method = "koca:iterations=0,continuation=off,epsilon=auto";
        options.kernel = "linear";
        options.components = 2;
        options.validation = some;
        options.validation_targets = theirs;
        mercer_ctx_set_seed(ctx, 5);
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
        double value = traced(model, 0, MERCER_TRACE_PERFORMANCE);
        if (p == 0)
            expected = value;
        assert_true(fabs(value - expected) < 1e-12);
        assert_true(fabs(traced(model, 0, MERCER_TRACE_RATE) - 1) < 1e-12);
        mercer_model_free(model);
        mercer_rows_free(rows);
        mercer_rows_free(some);
        free(scaled);
    }
    mercer_targets_free(targets);
    mercer_targets_free(theirs);
    mercer_ctx_free(ctx);
    free(x);
}

/* A board of squares, judged by rows beside the training rows: the search goes on from where it
 * ended at the median distance and takes widths that gain alone, so it ends higher than there. */
static void test_koca_learns_the_width(void **state)
{
    enum { n = 240, T = 120, KERNELS = 8 };
    static const char *const kernels[KERNELS] = {
        "rbf",
        "rbf:sigma=learn",
        "rq",
        "rq:sigma=learn", /* the median distance is about 2 */
        "rbf:sigma=0.25",
        "rbf:sigma=0.5",
        "rbf:sigma=1",
        "rbf:sigma=4"};
    mercer_ctx *ctx = new_ctx(2);
    mrc_rng rng;
    int64_t codes[n + T];
    double *x = new_doubles(2 * (n + T)), last[KERNELS];
    char found[KERNELS][64];
    (void)state;
    mrc_rng_seed(&rng, 2);
    for (int64_t i = 0; i < n + T; i++) {
        x[2 * i] = 4 * mrc_rng_uniform(&rng);
        x[2 * i + 1] = 4 * mrc_rng_uniform(&rng);
        codes[i] = (int64_t)(floor(x[2 * i]) + floor(x[2 * i + 1])) % 2;
    }
    mercer_rows *rows = view(ctx, x, n, 2), *fresh = view(ctx, x + 2 * n, T, 2);
    mercer_targets *targets = classes(codes, n), *theirs = classes(codes + n, T);
    for (int k = 0; k < KERNELS; k++) {
        mercer_model *model = NULL;
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        options.method = "koca:energy=0.99,iterations=60";
        options.kernel = kernels[k];
        options.components = 2;
        options.validation = fresh;
        options.validation_targets = theirs;
        mercer_ctx_set_seed(ctx, 5);
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
        mercer_model_info info = info_of(model);
        last[k] = traced(model, info.trace_count - 1, MERCER_TRACE_PERFORMANCE);
        snprintf(found[k], sizeof found[k], "%s", info.kernel);
        for (int64_t i = 1; i < info.trace_count; i++) {
            assert_true(traced(model, i, MERCER_TRACE_ITERATION) == (double)i);
            assert_true(info.trace_seconds[i] >= info.trace_seconds[i - 1]);
        }
        mercer_model_free(model);
    }
    for (int k = 0; k < KERNELS; k++)
        print_message("%s: %.5f with %s\n", kernels[k], last[k], found[k]);
    for (int k = 0; k < 4; k += 2) {
        assert_true(last[k] < 0.99); /* there is something to gain */
        assert_true(last[k + 1] > last[k]);
        assert_string_not_equal(found[k], found[k + 1]);
    }
    /* A search by turns ends at the next optimum, and rounding decides which one that is: over the
     * kernels of OpenBLAS the two end between .908 and 1. A width that is too large is never kept.
     */
    assert_true(last[1] > last[KERNELS - 1]);
    mercer_error why;
    mercer_model *model = NULL;
    assert_int_equal(fit(ctx, "kpca", "rbf:sigma=learn", 2, rows, targets, &model, &why),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "koca"));
    assert_int_equal(fit(ctx, "koca", "rbf:sigma=learn + linear", 2, rows, targets, &model, &why),
                     MERCER_ERR_ARGUMENT);
    assert_int_equal(fit(ctx, "koca:points=20", "rbf:sigma=learn", 2, rows, targets, &model, &why),
                     MERCER_ERR_ARGUMENT);
    assert_ok(fit(ctx, "koca:iterations=20", "matern:sigma=learn", 2, rows, targets, &model, err));
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_targets_free(theirs);
    mercer_rows_free(rows);
    mercer_rows_free(fresh);
    mercer_ctx_free(ctx);
    free(x);
}

/* Chosen points, landmarks and validation rows, with every allocation failing in turn. */
static void test_koca_survives_failing_allocations(void **state)
{
    enum { n = 60 };
    static const char *const methods[] = {"koca:iterations=1,points=12", "koca:iterations=1",
                                          "koca:iterations=1,continuation=off"};
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(8, n, codes);
    mercer_rows *rows = view(ctx, x, n, 6), *few = view(ctx, x, 15, 6);
    mercer_targets *targets = classes(codes, n), *theirs = classes(codes, 15);
    (void)state;
    for (int landmarks = 0; landmarks < 3; landmarks++) {
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        options.method = methods[landmarks];
        options.components = 2;
        options.scale = "standard";
        options.landmarks = landmarks == 1 ? few : NULL;
        options.kernel = landmarks == 2 ? "rbf:sigma=learn" : "rbf";
        options.validation = few;
        options.validation_targets = theirs;
        check_failing_allocations(ctx, &options, rows, targets);
    }
    mercer_targets_free(targets);
    mercer_targets_free(theirs);
    mercer_rows_free(rows);
    mercer_rows_free(few);
    mercer_ctx_free(ctx);
    free(x);
}

/* 0.29 of 100 rows are 29, and so are 0.290001 of them: the same rows are held out. */
static void test_koca_holds_out_the_share_it_was_told(void **state)
{
    enum { n = 200 };
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(4, n, codes), *trace[2] = {0};
    mercer_rows *rows = view(ctx, x, n, 6);
    static const char *const methods[] = {"koca:holdout=0.29,iterations=20",
                                          "koca:holdout=0.290001,iterations=20"};
    int64_t steps[2];
    (void)state;
    for (int64_t i = 0; i < n; i++)
        codes[i] = i % 2;
    mercer_targets *targets = classes(codes, n);
    for (int m = 0; m < 2; m++) {
        mercer_model *model = NULL;
        assert_ok(fit(ctx, methods[m], NULL, 2, rows, targets, &model, err));
        mercer_model_info info = info_of(model);
        steps[m] = info.trace_count * MERCER_TRACE_COLUMNS;
        trace[m] = new_doubles(steps[m]);
        memcpy(trace[m], info.trace, (size_t)steps[m] * sizeof *trace[m]);
        mercer_model_free(model);
    }
    assert_int_equal(steps[0], steps[1]);
    assert_memory_equal(trace[0], trace[1], (size_t)steps[0] * sizeof *trace[0]);
    free(trace[0]);
    free(trace[1]);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* What can be refused before there are rows is. */
static void test_koca_checks_what_goes_together(void **state)
{
    static const struct {
        const char *method, *kernel, *says;
        unsigned expected;
    } cases[] = {{"koca:validation=rows", NULL, "there are none", 0},
                 {"koca:validation=rows", NULL, NULL, MERCER_EXPECT_VALIDATION},
                 {"koca:validation=loo", NULL, "validation=loo", MERCER_EXPECT_VALIDATION},
                 {"koca:validation=split", NULL, "validation=split", MERCER_EXPECT_VALIDATION},
                 {"koca", NULL, NULL, MERCER_EXPECT_VALIDATION},
                 {"koca:points=20", "rbf:sigma=learn", "not of points", 0},
                 {"koca", "rbf:sigma=learn", "not of points", MERCER_EXPECT_LANDMARKS},
                 {"koca", "rbf:sigma=learn", NULL, 0}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_fit_options options;
        mercer_error why = {0};
        mercer_fit_options_init(&options);
        options.method = cases[c].method;
        options.kernel = cases[c].kernel;
        assert_int_equal(mercer_fit_options_check(&options, cases[c].expected, &why),
                         cases[c].says ? MERCER_ERR_ARGUMENT : MERCER_OK);
        assert_non_null(strstr(why.text, cases[c].says ? cases[c].says : ""));
    }
}

static void test_koca_refuses_what_it_cannot_do(void **state)
{
    enum { n = 30 };
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n], one[n] = {0}, each[n];
    double *x = noisy_classes(4, n, codes);
    mercer_rows *rows = view(ctx, x, n, 6), *four = view(ctx, x, 4, 6);
    mercer_targets *targets = classes(codes, n), *same = classes(one, n), *values = NULL, *apart;
    mercer_model *model = NULL;
    mercer_error why;
    (void)state;
    for (int64_t i = 0; i < n; i++)
        each[i] = i % 4;
    apart = classes(each, 4);
    assert_ok(mercer_targets_new_values(x, n, 1, NULL, &values, err));
    assert_int_equal(fit(ctx, "koca", "linear", 7, rows, targets, &model, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "7 components asked for"));
    assert_non_null(strstr(why.text, "6 dimensions"));
    assert_int_equal(fit(ctx, "koca", NULL, 2, rows, same, &model, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "there is no other class"));
    assert_int_equal(fit(ctx, "koca", NULL, 2, rows, values, &model, &why), MERCER_ERR_DATA);
    assert_int_equal(fit(ctx, "koca", NULL, 2, rows, NULL, &model, &why), MERCER_ERR_DATA);
    assert_int_equal(fit(ctx, "koca", NULL, 2, four, apart, &model, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "no row can be judged"));
    assert_int_equal(fit(ctx, "koca:holdout=0.01", NULL, 2, rows, targets, &model, &why),
                     MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "holdout"));
    assert_int_equal(fit(ctx, "koca:epsilon=0", NULL, 2, rows, targets, &model, &why),
                     MERCER_ERR_ARGUMENT);
    assert_null(model);
    mercer_targets_free(targets);
    mercer_targets_free(same);
    mercer_targets_free(values);
    mercer_targets_free(apart);
    mercer_rows_free(rows);
    mercer_rows_free(four);
    mercer_ctx_free(ctx);
    free(x);
}

/* Identical rows of different classes, a class with one row: fewer rows are told apart, no more. */
static void test_koca_lives_with_twins_and_single_rows(void **state)
{
    enum { n = 41 };
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(5, n, codes);
    (void)state;
    memcpy(x + 6, x, 6 * sizeof *x); /* rows 0 and 1, of classes 0 and 1 */
    codes[40] = 3;
    mercer_rows *rows = view(ctx, x, n, 6);
    mercer_targets *targets = classes(codes, n);
    mercer_model *model = NULL;
    assert_ok(fit(ctx, "koca", "rbf", 2, rows, targets, &model, err));
    assert_true(neighbour_rate(ctx, model, rows, codes) > 0.85);
    assert_true(traced(model, info_of(model).trace_count - 1, MERCER_TRACE_RATE) < 1);
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* Rows that are all the same lie in one dimension, at distance zero: nothing to search for, and
 * every row is halfway lost, h(-1). */
static void test_koca_of_equal_rows(void **state)
{
    enum { n = 12 };
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(9, n, codes);
    mercer_model *model = NULL;
    mercer_error why;
    (void)state;
    for (int i = 1; i < n; i++)
        memcpy(x + (ptrdiff_t)i * 6, x, 6 * sizeof *x);
    mercer_rows *rows = view(ctx, x, n, 6);
    mercer_targets *targets = classes(codes, n);
    assert_ok(fit(ctx, "koca:beta=0.3", "rbf:sigma=1", 1, rows, targets, &model, err));
    assert_int_equal(info_of(model).trace_count, 1);
    assert_true(fabs(traced(model, 0, MERCER_TRACE_PERFORMANCE) - 1 / (1 + exp(0.6))) < 1e-9);
    mercer_model_free(model);
    model = NULL;
    assert_int_equal(fit(ctx, "koca", "rbf:sigma=1", 2, rows, targets, &model, &why),
                     MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "1 dimension:"));
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* The steps survive a file; the clock does not, or equal fits would be different files. */
static void test_koca_keeps_its_trace(void **state)
{
    enum { n = 60 };
    char path[] = "/tmp/mercer-koca-XXXXXX";
    mercer_ctx *ctx = new_ctx(1);
    int64_t codes[n];
    double *x = noisy_classes(6, n, codes);
    mercer_rows *rows = view(ctx, x, n, 6);
    mercer_targets *targets = classes(codes, n);
    mercer_model *model = NULL, *loaded = NULL;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_ok(fit(ctx, "koca:iterations=20", NULL, 2, rows, targets, &model, err));
    assert_ok(mercer_model_save(ctx, model, path, err));
    assert_ok(mercer_model_load(ctx, path, &loaded, err));
    int64_t count = info_of(model).trace_count;
    assert_true(count > 5);
    assert_int_equal(info_of(loaded).trace_count, count);
    assert_memory_equal(info_of(model).trace, info_of(loaded).trace,
                        (size_t)count * MERCER_TRACE_COLUMNS * sizeof(double));
    assert_null(info_of(loaded).trace_seconds);
    unlink(path);
    mercer_model_free(model);
    mercer_model_free(loaded);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_matches_differences),
        cmocka_unit_test(test_performance_belongs_to_the_subspace),
        cmocka_unit_test(test_performance_tends_to_the_rate),
        cmocka_unit_test(test_performance_of_coinciding_rows),
        cmocka_unit_test(test_geodesics_keep_columns_orthonormal),
        cmocka_unit_test(test_geodesic_is_a_great_circle),
        cmocka_unit_test(test_koca_finds_what_tells_classes_apart),
        cmocka_unit_test(test_koca_judges_all_of_many_rows),
        cmocka_unit_test(test_koca_ascends),
        cmocka_unit_test(test_koca_of_all_dimensions_is_kernel_pca),
        cmocka_unit_test(test_koca_validation_rows_lie_where_they_should),
        cmocka_unit_test(test_koca_validation_rows_may_be_in_any_unit),
        cmocka_unit_test(test_koca_learns_the_width),
        cmocka_unit_test(test_koca_survives_failing_allocations),
        cmocka_unit_test(test_koca_holds_out_the_share_it_was_told),
        cmocka_unit_test(test_koca_checks_what_goes_together),
        cmocka_unit_test(test_koca_refuses_what_it_cannot_do),
        cmocka_unit_test(test_koca_lives_with_twins_and_single_rows),
        cmocka_unit_test(test_koca_of_equal_rows),
        cmocka_unit_test(test_koca_keeps_its_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
