/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of a fit: steps against a plain form, turned rows, sparse rows, threads, and what a model
 * with a map does. */
#include "support.h"

#include "fit_support.h"

#include "methods/common/agop.h"
#include "model/map.h"
#include "naive.h"
#include "views.h"

#include <lapacke.h>
#include <math.h>
#include <stdio.h>

static mrc_kernel resolved(mercer_ctx *ctx, const char *spec, const mercer_rows *rows)
{
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    return kernel;
}

/* M by its definition, gradients by central differences of predictions; scaled to trace d. */
static void naive_step(const mrc_kernel *kernel, double ridge, const double *x, const double *y,
                       int64_t n, int64_t d, int64_t outputs, double *m)
{
    double *k = malloc((size_t)(n * n) * 8), *a = malloc((size_t)(n * outputs) * 8);
    double *mean = calloc((size_t)n, 8), all = 0, trace = 0;
    for (int64_t i = 0; i < n * n; i++)
        k[i] = naive_kernel(kernel, x + i / n * d, x + i % n * d, d);
    for (int64_t i = 0; i < n * n; i++) {
        mean[i % n] += k[i] / (double)n;
        all += k[i] / (double)(n * n);
    }
    for (int64_t i = 0; i < n * n; i++)
        k[i] += all - mean[i % n] - mean[i / n];
    for (int64_t i = 0; i < n; i++)
        trace += k[i * n + i];
    for (int64_t i = 0; i < n; i++)
        k[i * n + i] += ridge * trace;
    for (int64_t c = 0; c < outputs; c++) {
        double center = 0;
        for (int64_t i = 0; i < n; i++)
            center += y[i * outputs + c] / (double)n;
        for (int64_t i = 0; i < n; i++)
            a[i * outputs + c] = y[i * outputs + c] - center;
    }
    assert_int_equal(
        LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (int)n, (int)outputs, k, (int)n, a, (int)outputs), 0);
    memset(m, 0, (size_t)(d * d) * 8);
    for (int64_t t = 0; t < n; t++)
        for (int64_t c = 0; c < outputs; c++) {
            double g[32];
            for (int64_t q = 0; q < d; q++) {
                long double both[2] = {0, 0};
                double at[32];
                for (int side = 0; side < 2; side++) {
                    memcpy(at, x + t * d, (size_t)d * 8);
                    at[q] += side ? -1e-5 : 1e-5;
                    for (int64_t i = 0; i < n; i++)
                        both[side] += (long double)a[i * outputs + c] *
                                      naive_kernel(kernel, at, x + i * d, d);
                }
                g[q] = (double)((both[0] - both[1]) / 2e-5L);
            }
            for (int64_t p = 0; p < d; p++)
                for (int64_t q = 0; q < d; q++)
                    m[p * d + q] += g[p] * g[q];
        }
    trace = 0;
    for (int64_t q = 0; q < d; q++)
        trace += m[q * d + q];
    for (int64_t i = 0; i < d * d; i++)
        m[i] *= (double)d / trace;
    free(k);
    free(a);
    free(mean);
}

/* M = L L'; of a diagonal map its weights. */
static void step(mercer_ctx *ctx, const mrc_kernel *kernel, double ridge, bool diagonal,
                 const mercer_rows *rows, const double *y, int64_t outputs, double *m)
{
    int64_t d = rows->d, width = 0;
    double *matrix = NULL, weights[32];
    assert_ok(mrc_agop_step(ctx, kernel, ridge, diagonal, rows, y, outputs, &matrix, &width,
                            weights, err));
    assert_true(width > 0 && width <= d && (matrix == NULL) == diagonal);
    for (int64_t p = 0; p < d; p++)
        for (int64_t q = 0; q < d; q++) {
            double sum = 0;
            for (int64_t j = 0; matrix && j < width; j++)
                sum += matrix[p * width + j] * matrix[q * width + j];
            m[p * d + q] = matrix ? sum : p == q ? weights[p] : 0;
        }
    for (int64_t p = 0; p < d; p++)
        assert_true(fabs(m[p * d + p] - weights[p]) <= 1e-13 * (double)d);
    mrc_free(matrix);
}

static double *targets_of(const double *x, int64_t n, int64_t d, int64_t outputs)
{
    double *y = malloc((size_t)(n * outputs) * 8);
    for (int64_t i = 0; i < n * outputs; i++)
        y[i] = sin(2 * x[i / outputs * d]) + (double)(i % outputs) * x[i / outputs * d + d - 1];
    return y;
}

static void test_step(void **state)
{
    static const char *const kernels[] = {"exponential", "rbf",           "matern",
                                          "rq",          "poly:degree=2", "laplacian"};
    static const int64_t sizes[][3] = {{20, 2, 1}, {40, 5, 2}, {70, 12, 3}};
    (void)state;
    for (int k = 0; k < 6; k++)
        for (int s = 0; s < 3; s++) {
            int64_t n = sizes[s][0], d = sizes[s][1], outputs = sizes[s][2];
            mercer_ctx *ctx = new_ctx(1);
            double *x = normal_rows((uint64_t)n, n, d, 0, 1), *y = targets_of(x, n, d, outputs);
            double plain[144], full[144], diagonal[144], trace = 0;
            mercer_rows *rows = NULL;
            assert_ok(view_f64(ctx, x, n, d, d, &rows, err));
            mrc_kernel kernel = resolved(ctx, kernels[k], rows);
            naive_step(&kernel, 1e-3, x, y, n, d, outputs, plain);
            step(ctx, &kernel, 1e-3, false, rows, y, outputs, full);
            step(ctx, &kernel, 1e-3, true, rows, y, outputs, diagonal);
            for (int64_t i = 0; i < d * d; i++) {
                /* Differences with a step of 1e-5 have seven digits or more. */
                if (!(fabs(full[i] - plain[i]) <= 1e-7 * (double)d))
                    fail_msg("%s, %d x %d: %.12g, not %.12g", kernels[k], (int)n, (int)d, full[i],
                             plain[i]);
                if (i % (d + 1) == 0) {
                    trace += diagonal[i];
                    assert_true(fabs(diagonal[i] - full[i]) <= 1e-12 * (double)d);
                }
            }
            assert_true(fabs(trace - (double)d) <= 1e-12 * (double)d);
            mercer_rows_free(rows);
            free(x);
            free(y);
            mercer_ctx_free(ctx);
        }
}

/* Rows turned by Q turn M; threads change no bit; sparse rows have the weights of dense ones. */
static void test_turned_threads_sparse(void **state)
{
    enum { ROWS = 90, D = 11 };
    double turned[ROWS * D], q[D], m[D * D], other[D * D], sum = 0;
    double *x = normal_rows(3, ROWS, D, 0, 1), *y = targets_of(x, ROWS, D, 2);
    mercer_ctx *ctx = new_ctx(1), *two = new_ctx(2);
    mercer_rows *rows = NULL, *others = NULL, *csr = NULL;
    int64_t map[D];
    (void)state;
    for (int64_t k = 0; k < D; k++) { /* a reflection */
        q[k] = sin((double)k + 1);
        sum += q[k] * q[k];
        map[k] = k;
    }
    for (int64_t i = 0; i < ROWS; i++) {
        double along = 0;
        for (int64_t k = 0; k < D; k++)
            along += x[i * D + k] * q[k];
        for (int64_t k = 0; k < D; k++)
            turned[i * D + k] = x[i * D + k] - 2 * along / sum * q[k];
    }
    assert_ok(view_f64(ctx, x, ROWS, D, D, &rows, err));
    assert_ok(view_f64(ctx, turned, ROWS, D, D, &others, err));
    mrc_kernel kernel = resolved(ctx, "rbf:sigma=3", rows);
    step(ctx, &kernel, 1e-3, false, rows, y, 2, m);
    step(ctx, &kernel, 1e-3, false, others, y, 2, other);
    for (int64_t a = 0; a < D; a++)
        for (int64_t b = 0; b < D; b++) { /* (Q'MQ)_ab, Q = I - 2 q q' / q'q */
            double value = 0;
            for (int64_t i = 0; i < D; i++)
                for (int64_t j = 0; j < D; j++)
                    value += ((a == i) - 2 * q[a] * q[i] / sum) * m[i * D + j] *
                             ((j == b) - 2 * q[j] * q[b] / sum);
            assert_true(fabs(value - other[a * D + b]) <= 1e-10 * D);
        }
    step(two, &kernel, 1e-3, false, rows, y, 2, other);
    assert_memory_equal(m, other, sizeof m);
    assert_ok(mrc_rows_arrange(rows, map, D, true, &csr, err));
    step(ctx, &kernel, 1e-3, true, rows, y, 2, m);
    step(ctx, &kernel, 1e-3, true, csr, y, 2, other);
    for (int64_t i = 0; i < D * D; i++)
        assert_true(fabs(m[i] - other[i]) <= 1e-10 * D);
    mercer_rows_free(rows);
    mercer_rows_free(others);
    mercer_rows_free(csr);
    free(x);
    free(y);
    mercer_ctx_free(ctx);
    mercer_ctx_free(two);
}

/* ---- fits ---- */

enum { N = 240, COLUMNS = 6 };

struct set {
    mercer_ctx *ctx;
    double *x, y[N];
    int64_t codes[N];
    mercer_rows *rows;
    mercer_targets *values, *classes;
    char notice[256];
};

static void hear(void *host, const mercer_notice *notice)
{
    struct set *s = host;
    snprintf(s->notice, sizeof s->notice, "%.255s", notice->text);
}

/* kind 0: two columns matter; 1: none does; 2: the target is constant. */
static void set_init(struct set *s, int threads, int kind)
{
    static const char *const names[] = {"low", "middle", "high"};
    double *noise = normal_rows(9, N, 1, 0, 1);
    *s = (struct set){.ctx = new_ctx(threads), .x = normal_rows(8, N, COLUMNS, 0, 1)};
    mercer_ctx_set_notice(s->ctx, hear, s);
    /* The folds are drawn by the seed. With each of 1 to 8 a map is taken where two columns matter;
     * where none does, one is taken with 4 and 6, as a standard error lets through one in six. */
    mercer_ctx_set_seed(s->ctx, 1);
    for (int64_t i = 0; i < N; i++) {
        const double *x = s->x + i * COLUMNS;
        s->y[i] = kind == 2 ? 5 : kind == 1 ? noise[i] : 1e3 * (sin(2 * x[1]) + x[4] * x[4]);
        s->codes[i] = kind == 2 ? 1 : s->y[i] < 500 ? 0 : s->y[i] < 1200 ? 1 : 2;
    }
    assert_ok(view_f64(s->ctx, s->x, N, COLUMNS, COLUMNS, &s->rows, err));
    assert_ok(mercer_targets_new_values(s->y, N, 1, NULL, &s->values, err));
    assert_ok(mercer_targets_new_classes(s->codes, N, names, 3, NULL, &s->classes, err));
    free(noise);
}

static void set_destroy(struct set *s)
{
    mercer_rows_free(s->rows);
    mercer_targets_free(s->values);
    mercer_targets_free(s->classes);
    free(s->x);
    mercer_ctx_free(s->ctx);
}

static mercer_model *fit(struct set *s, const char *method, const char *kernel, const char *map,
                         const mercer_targets *targets)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.scale = "standard";
    options.map = map;
    assert_ok(mercer_fit(s->ctx, &options, s->rows, targets, &model, NULL, err));
    return model;
}

static double *features_of(struct set *s, const mercer_model *model)
{
    double *out = malloc((size_t)(N * model->components) * 8);
    assert_ok(mercer_model_transform(s->ctx, model, s->rows, NULL, out, NULL, err));
    return out;
}

/* Models of any method with a map: the columns that matter lead, bits are the same for any number
 * of threads, through a file and one row at a time. */
static void test_models(void **state)
{
    static const struct {
        const char *method, *kernel, *map;
        bool classes;
    } cases[] = {{"krr", NULL, "agop", false},
                 {"krr", "exponential", "agop:form=diagonal", false},
                 {"kpls:components=3", "matern", "agop:form=full,steps=2", true},
                 {"kfd", NULL, "agop:form=full", true},
                 {"kpca:components=4", NULL, "agop", false},
                 {"rkopls:components=2", NULL, "agop", false}};
    (void)state;
    for (int c = 0; c < 6; c++) {
        mercer_model *first = NULL;
        double *expected = NULL;
        struct set sets[2];
        for (int t = 0; t < 2; t++) {
            struct set *s = &sets[t];
            set_init(s, t + 1, 0);
            mercer_model *model = fit(s, cases[c].method, cases[c].kernel, cases[c].map,
                                      cases[c].classes ? s->classes : s->values);
            mercer_model_info info = {.struct_size = sizeof info};
            mercer_model_get_info(model, &info);
            if (!info.map || strncmp(info.map, "agop:steps=", 11) != 0)
                fail_msg("case %d: no map: %s", c, s->notice);
            const double *weights = info.map_weights;
            double sum = 0, least = fmin(weights[1], weights[4]);
            for (int64_t k = 0; k < COLUMNS; k++) {
                sum += weights[k];
                if (k != 1 && k != 4 && !(weights[k] < least))
                    fail_msg("case %d, %s: column %d counts %g, not less than %g", c, info.map,
                             (int)k, weights[k], least);
            }
            assert_true(fabs(sum - COLUMNS) < 1e-9);
            double *features = features_of(s, model);
            if (t == 0) {
                first = model;
                expected = features;
                void *bytes = NULL;
                size_t size = 0;
                mercer_model *back = NULL;
                assert_ok(mercer_model_to_bytes(s->ctx, model, &bytes, &size, err));
                assert_ok(mercer_model_from_bytes(s->ctx, bytes, size, &back, err));
                mercer_free(bytes);
                double *again = features_of(s, back);
                assert_memory_equal(again, expected, (size_t)(N * model->components) * 8);
                mercer_model_get_info(back, &info);
                assert_string_equal(info.map, model->map_text);
                free(again);
                mercer_model_free(back);
                for (int64_t i = 0; i < 5; i++) { /* one row at a time */
                    double one[8];
                    mercer_rows *row = NULL;
                    assert_ok(view_f64(s->ctx, s->x + i * COLUMNS, 1, COLUMNS, COLUMNS, &row, err));
                    assert_ok(mercer_model_transform(s->ctx, model, row, NULL, one, NULL, err));
                    assert_memory_equal(one, expected + i * model->components,
                                        (size_t)model->components * 8);
                    mercer_rows_free(row);
                }
                continue;
            }
            assert_memory_equal(features, expected, (size_t)(N * model->components) * 8);
            free(features);
            mercer_model_free(model);
        }
        mercer_model_free(first);
        free(expected);
        set_destroy(&sets[0]);
        set_destroy(&sets[1]);
    }
}

/* Shorter models keep the map; pre-images go back through it, unless it lost columns. */
static void test_truncate_and_inverse(void **state)
{
    struct set s;
    mercer_model *model, *shorter = NULL, *back = NULL;
    (void)state;
    set_init(&s, 1, 0);
    for (int form = 0; form < 2; form++) {
        double features[N * 5], few[N * 2], image[N * COLUMNS], errors[N];
        model = fit(&s, "kpca:components=5", NULL, form ? "agop:form=diagonal" : "agop:form=full",
                    s.values);
        assert_true(model->map_weights && (model->map == NULL) == (form == 1));
        assert_ok(mercer_model_transform(s.ctx, model, s.rows, NULL, features, errors, err));
        assert_ok(mercer_model_truncate(s.ctx, model, 2, &shorter, err));
        assert_ok(mercer_model_transform(s.ctx, shorter, s.rows, NULL, few, NULL, err));
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < 2; j++)
                assert_true(fabs(few[2 * i + j] - features[5 * i + j]) <= 1e-12);
        /* Pre-images of u, then x with x L = u: the features of x are those of u. */
        assert_true(mrc_model_width(model) == COLUMNS);
        mrc_map map = mrc_map_of(model);
        double u[N * COLUMNS], x[N * COLUMNS];
        assert_ok(mercer_model_inverse(s.ctx, model, features, N, image, NULL, err));
        for (int64_t i = 0; i < N * COLUMNS; i++) /* as scaled */
            x[i] = (image[i] - model->scale.shift[i % COLUMNS]) * model->scale.factor[i % COLUMNS];
        mrc_map_apply(&map, s.ctx->simd, x, N, u);
        assert_ok(mrc_map_undo(s.ctx, &map, u, N, err));
        for (int64_t i = 0; i < N * COLUMNS; i++)
            assert_true(fabs(u[i] - x[i]) <= 1e-6 * (1 + fabs(x[i])));
        /* Kernel PCA reconstructs with less error from a pre-image than from the mean. */
        double again[N * 5], off = 0, all = 0;
        mercer_rows *images = NULL;
        assert_ok(view_f64(s.ctx, image, N, COLUMNS, COLUMNS, &images, err));
        assert_ok(mercer_model_transform(s.ctx, model, images, NULL, again, NULL, err));
        for (int64_t i = 0; i < N * 5; i++) {
            off += pow(again[i] - features[i], 2);
            all += pow(features[i], 2);
        }
        assert_true(off < 0.2 * all);
        mercer_rows_free(images);
        mercer_model_free(shorter);
        shorter = NULL;
        if (form) { /* a column less */
            model->map_weights[0] = 0;
            assert_int_equal(mercer_model_inverse(s.ctx, model, features, N, image, NULL, NULL),
                             MERCER_ERR_UNSUPPORTED);
            mercer_model_info info = {.struct_size = sizeof info};
            mercer_model_get_info(model, &info);
            assert_false(info.invertible);
        }
        mercer_model_free(model);
    }
    mercer_model_free(back);
    set_destroy(&s);
}

/* All features of the training rows give the rows back, or it is refused since the map has lost
 * more than half of the digits: the more steps, the less is left of columns that do not matter. */
static void test_inverse_of_many_steps(void **state)
{
    double *features = malloc(sizeof *features * N * N);
    int refused = 0, found = 0;
    (void)state;
    for (int seed = 0; seed < 3; seed++)
        for (int steps = 1; steps <= 4; steps++)
            for (int form = 0; form < 2; form++) {
                double *x = normal_rows(50 + (uint64_t)seed, N, COLUMNS, 0, 1), y[N];
                double image[N * COLUMNS];
                mercer_ctx *ctx = new_ctx(1);
                mercer_rows *rows = NULL;
                mercer_targets *values = NULL;
                mercer_fit_options options;
                mercer_model *model = NULL;
                mercer_error why;
                char map[64];
                for (int64_t i = 0; i < N; i++)
                    y[i] = sin(2 * x[i * COLUMNS]);
                assert_ok(view_f64(ctx, x, N, COLUMNS, COLUMNS, &rows, err));
                assert_ok(mercer_targets_new_values(y, N, 1, NULL, &values, err));
                snprintf(map, sizeof map, "agop:steps=%d,form=%s,choose=none", steps,
                         form ? "diagonal" : "full");
                mercer_fit_options_init(&options);
                options.method = "kpca";
                options.components = N - 1;
                options.map = map;
                assert_ok(mercer_fit(ctx, &options, rows, values, &model, NULL, err));
                assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, err));
                mercer_status rc = mercer_model_inverse(ctx, model, features, N, image, NULL, &why);
                mercer_model_info info = {.struct_size = sizeof info};
                mercer_model_get_info(model, &info);
                assert_int_equal(info.invertible != 0, rc == MERCER_OK);
                if (rc == MERCER_ERR_UNSUPPORTED)
                    refused += strstr(why.text, "half of the digits") != NULL;
                for (int64_t i = 0; rc == MERCER_OK && i < N * COLUMNS; i++)
                    if (!(fabs(image[i] - x[i]) <= 1e-6))
                        fail_msg("seed %d, %s: %g, not %g", seed, map, image[i], x[i]);
                found += rc == MERCER_OK;
                mercer_model_free(model);
                mercer_rows_free(rows);
                mercer_targets_free(values);
                free(x);
                mercer_ctx_free(ctx);
            }
    assert_true(refused > 0 && found > 0);
    free(features);
}

/* Where a map does not help there is none, and the model is that of a fit without; where one cannot
 * be learnt, too, or it is refused. */
static void test_none(void **state)
{
    struct set s;
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_error why;
    (void)state;
    set_init(&s, 1, 1);
    mercer_model *plain = fit(&s, "krr", NULL, NULL, s.values);
    model = fit(&s, "krr", NULL, "agop", s.values);
    assert_non_null(strstr(s.notice, "as well without a map"));
    assert_null(model->map_weights);
    double *a = features_of(&s, plain), *b = features_of(&s, model);
    assert_memory_equal(a, b, N * 8);
    assert_string_equal(plain->kernel_text, model->kernel_text);
    free(a);
    free(b);
    mercer_model_free(plain);
    mercer_model_free(model);
    model = NULL;

    static const struct {
        const char *method, *kernel, *map, *text;
        bool targets;
    } refused[] = {{"krr", "linear", "agop", "poly, rbf, laplacian", true},
                   {"kpca", "chi2", "agop", "has no gradients", true},
                   {"krr", "rbf+matern", "agop", "has no gradients", true},
                   {"pls", NULL, "agop", "has no gradients", true},
                   {"kpca", NULL, "agop", "learnt from labels", false},
                   {"krr", NULL, "lda", "unknown map 'lda' (known: agop, none)", true},
                   {"krr", NULL, "agop:steps=0", "steps", true},
                   {"krr", NULL, "agop:depth=3", "depth", true},
                   {"ikpca", NULL, "agop", "stream", true}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        mercer_fit_options_init(&options);
        options.method = refused[i].method;
        options.kernel = refused[i].kernel;
        options.map = refused[i].map;
        assert_int_equal(mercer_fit(s.ctx, &options, s.rows, refused[i].targets ? s.values : NULL,
                                    &model, NULL, &why),
                         MERCER_ERR_ARGUMENT);
        if (!strstr(why.text, refused[i].text))
            fail_msg("%s: '%s'", refused[i].text, why.text);
    }
    set_destroy(&s);

    set_init(&s, 1, 2);
    model = fit(&s, "kpca:components=2", NULL, "agop", s.values);
    assert_non_null(strstr(s.notice, "constant"));
    assert_null(model->map_weights);
    mercer_model_free(model);
    set_destroy(&s);
}

/* Sparse rows have a diagonal map, stay sparse, and give the features of the same rows dense. */
static void test_sparse_rows(void **state)
{
    struct set s;
    mercer_rows *csr = NULL, *dense;
    mercer_model *models[2] = {NULL, NULL};
    mercer_fit_options options;
    int64_t map[COLUMNS] = {0, 1, 2, 3, 4, 5};
    double features[2][N * 3], crossed[N * 3];
    mercer_error why;
    (void)state;
    set_init(&s, 1, 0);
    dense = s.rows;
    assert_ok(mrc_rows_arrange(dense, map, COLUMNS, true, &csr, err));
    mercer_fit_options_init(&options);
    options.method = "kpls:components=3";
    options.kernel = "rbf:sigma=2";
    options.map = "agop:form=diagonal";
    for (int v = 0; v < 2; v++) {
        assert_ok(mercer_fit(s.ctx, &options, v ? csr : dense, s.values, &models[v], NULL, err));
        assert_true(models[v]->map_weights && !models[v]->map);
        assert_true((models[v]->z_csr.start != NULL) == v);
        assert_ok(mercer_model_transform(s.ctx, models[v], v ? csr : dense, NULL, features[v], NULL,
                                         err));
        assert_ok(
            mercer_model_transform(s.ctx, models[v], v ? dense : csr, NULL, crossed, NULL, err));
        for (int64_t i = 0; i < N * 3; i++)
            assert_true(fabs(crossed[i] - features[v][i]) < 1e-9);
    }
    for (int64_t i = 0; i < N * 3; i++)
        assert_true(fabs(features[0][i] - features[1][i]) < 1e-6);
    options.map = "agop:form=full";
    mercer_model *none = NULL;
    assert_int_equal(mercer_fit(s.ctx, &options, csr, s.values, &none, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "diagonal"));
    mercer_model_free(models[0]);
    mercer_model_free(models[1]);
    mercer_rows_free(csr);
    set_destroy(&s);
}

/* Rows and targets held out may be anything: what a fold learns stays, to the last bit. */
static void test_no_leak(void **state)
{
    enum { HELD = 40 };
    static const int64_t start[] = {0, HELD};
    int64_t held[HELD];
    double scores[2];
    (void)state;
    for (int64_t i = 0; i < HELD; i++)
        held[i] = i;
    for (int v = 0; v < 2; v++) {
        struct set s;
        mercer_fit_options options;
        mercer_evaluate_options how;
        mercer_evaluation *e = NULL;
        set_init(&s, 1, 0);
        mercer_rows_free(s.rows);
        mercer_targets_free(s.values);
        for (int64_t i = 1; v == 1 && i < HELD; i++) { /* row 0 stays */
            s.y[i] = 1e6 * (double)i;
            for (int64_t k = 0; k < COLUMNS; k++)
                s.x[i * COLUMNS + k] = 1e3 * (double)(i + k);
        }
        assert_ok(view_f64(s.ctx, s.x, N, COLUMNS, COLUMNS, &s.rows, err));
        assert_ok(mercer_targets_new_values(s.y, N, 1, NULL, &s.values, err));
        mercer_fit_options_init(&options);
        options.method = "krr";
        options.scale = "standard";
        options.map = "agop";
        mercer_evaluate_options_init(&how);
        how.fit = &options;
        how.splits = 1;
        how.split_start = start;
        how.split_rows = held;
        assert_ok(mercer_evaluate(s.ctx, &how, s.rows, s.values, &e, err));
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(e, 0, &fold);
        scores[v] = fold.scores[0];
        mercer_evaluation_free(e);
        set_destroy(&s);
    }
    assert_true(scores[0] == scores[1]);
}

/* A threshold compares errors of two fits: the second has a map of the same steps and form. */
static void test_novelty(void **state)
{
    struct set s;
    mercer_fit_options options;
    mercer_model *model = NULL;
    double features[N * 3], errors[N];
    int64_t above = 0;
    (void)state;
    set_init(&s, 1, 0);
    mercer_fit_options_init(&options);
    options.method = "kpca:components=3";
    options.map = "agop";
    options.novelty = 0.2;
    assert_ok(mercer_fit(s.ctx, &options, s.rows, s.values, &model, NULL, err));
    assert_non_null(model->map_weights);
    assert_ok(mercer_model_transform(s.ctx, model, s.rows, NULL, features, errors, err));
    for (int64_t i = 0; i < N; i++)
        above += errors[i] > model->novelty_threshold;
    assert_in_range(above, N / 20, N * 2 / 5);
    mercer_model_free(model);

    /* As told: where folds take none, too. */
    set_destroy(&s);
    set_init(&s, 1, 1);
    model = fit(&s, "krr", NULL, "agop:steps=2,choose=none", s.values);
    assert_string_equal(model->map_text, "agop:steps=2,form=full,ridge=0.0001,rows=2000");
    mercer_model_free(model);
    set_destroy(&s);
}

static double median_residual(mercer_ctx *ctx, mercer_fit_options *options, const char *keep,
                              const mercer_rows *rows, const mercer_targets *values)
{
    mercer_model *model = NULL;
    options->keep = keep;
    assert_ok(mercer_fit(ctx, options, rows, values, &model, NULL, err));
    assert_non_null(model->map_weights);
    double middle = model->held_residuals[model->held_residuals_count / 2];
    mercer_model_free(model);
    return middle;
}

/* The column that matters has a tenth of the spread of others, so that widths of mapped rows are
 * not those of rows: residuals of the model that has not seen the held-out rows are those that a
 * refitted model keeps, up to the widths of 80 % and of all rows. */
static void test_held_out_map(void **state)
{
    enum { ROWS = 300 };
    static const char *const maps[] = {"agop", "agop:form=full", "agop:steps=3,choose=none"};
    (void)state;
    for (int seed = 0; seed < 3; seed++) {
        double *x = normal_rows(20 + (uint64_t)seed, ROWS, COLUMNS, 0, 1), y[ROWS];
        double *noise = normal_rows(30 + (uint64_t)seed, ROWS, 1, 0, 1);
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *rows = NULL;
        mercer_targets *values = NULL;
        for (int64_t i = 0; i < ROWS; i++) {
            y[i] = sin(2 * x[i * COLUMNS]) + 0.05 * noise[i];
            x[i * COLUMNS] *= 0.1;
        }
        assert_ok(view_f64(ctx, x, ROWS, COLUMNS, COLUMNS, &rows, err));
        assert_ok(mercer_targets_new_values(y, ROWS, 1, NULL, &values, err));
        for (int m = 0; m < 3; m++) {
            mercer_fit_options options;
            mercer_fit_options_init(&options);
            options.method = "krr";
            options.intervals = "on";
            options.map = maps[m];
            double fitted = median_residual(ctx, &options, "fitted", rows, values);
            double refit = median_residual(ctx, &options, "refit", rows, values);
            if (!(refit < 1.5 * fitted && fitted < 1.5 * refit))
                fail_msg("seed %d, %s: %g, not %g", seed, maps[m], refit, fitted);
        }
        mercer_rows_free(rows);
        mercer_targets_free(values);
        free(x);
        free(noise);
        mercer_ctx_free(ctx);
    }
}

/* Rows that are not held out may give no map where all rows do: too few of them, or targets that
 * are constant among them. Errors without the map are never kept. */
static void test_held_out_without_map(void **state)
{
    enum { MOST = 20 };
    static const int64_t sizes[] = {12, 13, 16, MOST};
    double *x = normal_rows(5, MOST, 3, 0, 1), y[MOST];
    mercer_ctx *ctx = new_ctx(1);
    mercer_fit_options options;
    mercer_error why;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "kpca:components=2";
    options.map = "agop:steps=1,form=full,choose=none";
    for (int novelty = 0; novelty < 2; novelty++)
        for (int s = 0; s < 4; s++) {
            int64_t n = sizes[s];
            int refused = 0, tries = n < MOST ? 1 : MOST;
            options.novelty = novelty ? 0.4 : 0;
            options.head = novelty ? NULL : "ls";
            options.intervals = novelty ? NULL : "on";
            for (int t = 0; t < tries; t++) {
                mercer_rows *rows = NULL;
                mercer_targets *values = NULL;
                mercer_model *model = NULL;
                for (int64_t i = 0; i < n; i++)
                    y[i] = n < MOST ? x[i * 3] : i == t;
                assert_ok(view_f64(ctx, x, n, 3, 3, &rows, err));
                assert_ok(mercer_targets_new_values(y, n, 1, NULL, &values, err));
                mercer_status rc = mercer_fit(ctx, &options, rows, values, &model, NULL, &why);
                refused += rc == MERCER_ERR_DATA;
                if (rc == MERCER_ERR_DATA)
                    assert_non_null(strstr(why.text, "that are not held out"));
                else
                    assert_true(rc == MERCER_OK && model->map_weights);
                mercer_model_free(model);
                mercer_rows_free(rows);
                mercer_targets_free(values);
            }
            /* 12 and 13 rows leave 10 and 11; of 20, four are held out. */
            assert_int_equal(refused, n < 14 ? 1 : n == MOST ? 4 : 0);
        }
    free(x);
    mercer_ctx_free(ctx);
}

/* Rows of a group share a target and the place in one column, which says nothing of other groups.
 * Folds of rows take a map that finds the group; folds of groups do not, in a fit, in one to 80 %
 * of the rows, and in each fold of an evaluation. */
static void test_groups(void **state)
{
    enum { GROUPS = 12, EACH = 15, ROWS = GROUPS * EACH, D = 4 };
    struct set s = {.ctx = new_ctx(1)};
    double *x = normal_rows(40, ROWS, D, 0, 1), *y = normal_rows(41, GROUPS, 1, 0, 1);
    double *place = normal_rows(42, GROUPS, 1, 0, 1), of[ROWS];
    int64_t groups[ROWS];
    mercer_rows *rows = NULL;
    mercer_targets *values = NULL;
    mercer_fit_options options;
    mercer_evaluate_options how;
    (void)state;
    mercer_ctx_set_notice(s.ctx, hear, &s);
    for (int64_t i = 0; i < ROWS; i++) {
        groups[i] = i % GROUPS * 3; /* not every number is there */
        of[i] = y[i % GROUPS];
        x[i * D] = place[i % GROUPS];
    }
    assert_ok(view_f64(s.ctx, x, ROWS, D, D, &rows, err));
    assert_ok(mercer_targets_new_values(of, ROWS, 1, NULL, &values, err));
    for (int grouped = 0; grouped < 2; grouped++)
        for (int way = 0; way < 4; way++) {
            mercer_model *model = NULL;
            mercer_evaluation *e = NULL;
            mercer_fit_options_init(&options);
            mercer_evaluate_options_init(&how);
            s.notice[0] = 0;
            options.method = "krr";
            options.map = "agop";
            how.fit = &options;
            how.folds = 3;
            if (way < 2) {
                options.intervals = way ? "on" : NULL;
                options.keep = way ? "fitted" : NULL;
                options.groups = grouped ? groups : NULL;
                assert_ok(mercer_fit(s.ctx, &options, rows, values, &model, NULL, err));
                assert_int_equal(model->map_weights == NULL, grouped);
                mercer_model_free(model);
            } else {
                /* Outer folds hold groups out either way; way 3: it is a choice, too. */
                static const char *const tune[] = {"kernel=rbf,matern"};
                how.groups = groups;
                how.tune = way == 3 ? tune : NULL;
                how.tune_count = way == 3;
                options.map = grouped ? "agop" : "agop:steps=1,choose=none";
                assert_ok(mercer_evaluate(s.ctx, &how, rows, values, &e, err));
                mercer_evaluation_free(e);
            }
            if (!!strstr(s.notice, "as well without a map") != grouped)
                fail_msg("way %d, groups %d: '%s'", way, grouped, s.notice);
        }
    /* One group, and one of nearly all rows: there are no folds, and that is said. */
    for (int64_t last = 0; last < 8; last += 7) {
        mercer_model *model = NULL;
        for (int64_t i = 0; i < ROWS; i++)
            groups[i] = i >= ROWS - last ? 9 : 7;
        mercer_fit_options_init(&options);
        options.method = "krr";
        options.map = "agop";
        options.groups = groups;
        assert_ok(mercer_fit(s.ctx, &options, rows, values, &model, NULL, err));
        assert_non_null(strstr(s.notice, "groups leave too few rows"));
        assert_null(model->map_weights);
        mercer_model_free(model);
    }
    mercer_rows_free(rows);
    mercer_targets_free(values);
    free(x);
    free(y);
    free(place);
    mercer_ctx_free(s.ctx);
}

/* Every allocation fails in turn. */
static void test_failing_allocations(void **state)
{
    enum { FEW = 18, D = 3 };
    double *x = normal_rows(2, FEW, D, 0, 1), y[FEW];
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *rows = NULL, *csr = sparse_copy(x, FEW, D);
    mercer_targets *values = NULL;
    mercer_fit_options options;
    (void)state;
    for (int64_t i = 0; i < FEW; i++)
        y[i] = 3 * x[i * D];
    assert_ok(view_f64(ctx, x, FEW, D, D, &rows, err));
    assert_ok(mercer_targets_new_values(y, FEW, 1, NULL, &values, err));
    mercer_fit_options_init(&options);
    options.method = "krr";
    options.map = "agop:steps=1,form=full";
    check_failing_allocations(ctx, &options, rows, values);
    options.map = "agop:steps=1";
    check_failing_allocations(ctx, &options, csr, values);
    mercer_rows_free(rows);
    mercer_rows_free(csr);
    mercer_targets_free(values);
    free(x);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_turned_threads_sparse),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_truncate_and_inverse),
        cmocka_unit_test(test_inverse_of_many_steps),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_sparse_rows),
        cmocka_unit_test(test_no_leak),
        cmocka_unit_test(test_novelty),
        cmocka_unit_test(test_held_out_map),
        cmocka_unit_test(test_held_out_without_map),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
