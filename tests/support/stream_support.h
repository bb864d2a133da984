/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of streaming methods: streams from arrays, and features compared with those
 * of kernel PCA. Include after support.h. */
#ifndef MRC_TESTS_STREAM_SUPPORT_H
#define MRC_TESTS_STREAM_SUPPORT_H

#include <mercer/mercer.h>

/* The 2-D problem of Chin and Suter: x in [-1, 1], y = x^2 + noise of 0.2. */
static inline double *parabola_rows(uint64_t seed, int64_t n)
{
    mrc_rng rng;
    double *x = new_doubles(2 * n);
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n; i++) {
        x[2 * i] = 2 * mrc_rng_uniform(&rng) - 1;
        x[2 * i + 1] = x[2 * i] * x[2 * i] + 0.2 * mrc_rng_normal(&rng);
    }
    return x;
}

static inline mercer_fit_options options_of(const char *method, const char *kernel)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    return options;
}

static inline mercer_model *fit_model(mercer_ctx *ctx, const char *method, const char *kernel,
                                      const char *center, const double *x, int64_t n, int64_t d)
{
    mercer_fit_options options = options_of(method, kernel);
    mercer_rows *rows = view(ctx, x, n, d);
    mercer_model *model = NULL;
    options.center = center;
    mercer_ctx_set_seed(ctx, 1);
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    mercer_rows_free(rows);
    return model;
}

static inline mercer_model_info info_of(const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    return info;
}

/* Features of rows, n x components. */
static inline double *features_of(mercer_ctx *ctx, const mercer_model *model, const double *x,
                                  int64_t n, int64_t d)
{
    mercer_rows *rows = view(ctx, x, n, d);
    double *out = new_doubles(n * info_of(model).components);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, out, NULL, err));
    mercer_rows_free(rows);
    return out;
}

/* Largest difference of feature j of two sets of n, of la and lb features, up to its sign. */
static inline double feature_difference(const double *a, int64_t la, const double *b, int64_t lb,
                                        int64_t n, int64_t j)
{
    double plus = 0, minus = 0;
    for (int64_t i = 0; i < n; i++) {
        plus = fmax(plus, fabs(a[i * la + j] - b[i * lb + j]));
        minus = fmax(minus, fabs(a[i * la + j] + b[i * lb + j]));
    }
    return fmin(plus, minus);
}

/* |correlation| of feature j of two sets. */
static inline double feature_correlation(const double *a, int64_t la, const double *b, int64_t lb,
                                         int64_t n, int64_t j)
{
    double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
    for (int64_t i = 0; i < n; i++) {
        ma += a[i * la + j] / (double)n;
        mb += b[i * lb + j] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        double u = a[i * la + j] - ma, v = b[i * lb + j] - mb;
        aa += u * u;
        bb += v * v;
        ab += u * v;
    }
    return fabs(ab) / sqrt(aa * bb);
}

/* Push rows in pieces of at most `piece`. */
static inline void push_rows(mercer_ctx *ctx, mercer_stream *stream, const double *x, int64_t n,
                             int64_t d, int64_t piece)
{
    for (int64_t i = 0; i < n; i += piece) {
        mercer_rows *rows = view(ctx, x + i * d, n - i < piece ? n - i : piece, d);
        assert_ok(mercer_stream_push(ctx, stream, rows, err));
        mercer_rows_free(rows);
    }
}

static inline mercer_stream *new_stream(mercer_ctx *ctx, const char *method, const char *kernel)
{
    mercer_fit_options options = options_of(method, kernel);
    mercer_stream *stream = NULL;
    mercer_ctx_set_seed(ctx, 1);
    assert_ok(mercer_stream_new(ctx, &options, &stream, err));
    return stream;
}

static inline const mercer_model *model_of(mercer_ctx *ctx, mercer_stream *stream)
{
    const mercer_model *model = NULL;
    assert_ok(mercer_stream_model(ctx, stream, &model, NULL, err));
    return model;
}

#endif
