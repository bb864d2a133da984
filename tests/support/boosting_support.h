/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of blf and kboost share: a set with labels of every kind, fits with their notices,
 * features of the training rows. Include after support.h. */
#ifndef MRC_TESTS_BOOSTING_SUPPORT_H
#define MRC_TESTS_BOOSTING_SUPPORT_H

#include "fit_support.h"

#include <stdio.h>

enum { N = 61, D = 3 };

static char notice[1024]; /* all of a fit, a line each */

static inline void keep_notice(void *host, const mercer_notice *given)
{
    size_t used = strlen(notice);
    (void)host;
    snprintf(notice + used, sizeof notice - used, "%s\n", given->text);
}

/* Rows, one smooth target with noise, and noisy signs. */
struct set {
    mercer_ctx *ctx;
    double *x, *y, *signs;
    mercer_rows *rows;
    mercer_targets *values, *classes;
};

static inline struct set make_set(int threads)
{
    static const char *const names[] = {"no", "yes"};
    struct set s = {.ctx = new_ctx(threads),
                    .x = normal_rows(1, N, D, 0, 1),
                    .y = normal_rows(2, N, 1, 0, 0.3),
                    .signs = normal_rows(3, N, 1, 0, 0.8)};
    int64_t codes[N];
    for (int64_t i = 0; i < N; i++) {
        const double *row = s.x + i * D;
        s.y[i] += 5 + sin(2 * row[0]) + row[1];
        s.signs[i] = s.signs[i] + row[0] + row[2] > 0.2 ? 1 : -1;
        codes[i] = s.signs[i] > 0;
    }
    s.rows = view(s.ctx, s.x, N, D);
    assert_ok(mercer_targets_new_values(s.y, N, 1, NULL, &s.values, err));
    assert_ok(mercer_targets_new_classes(codes, N, names, 2, NULL, &s.classes, err));
    mercer_ctx_set_notice(s.ctx, keep_notice, NULL);
    return s;
}

static inline void free_set(struct set *s)
{
    mercer_rows_free(s->rows);
    mercer_targets_free(s->values);
    mercer_targets_free(s->classes);
    free(s->x);
    free(s->y);
    free(s->signs);
    mercer_ctx_free(s->ctx);
}

static inline mercer_fit_options options_of(const char *method, const char *kernel,
                                            const char *center, int64_t components)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.center = center;
    options.components = (double)components;
    return options;
}

/* Features of the training rows (room for N x components); how many there are. */
static inline int64_t features_of(const struct set *s, const mercer_targets *targets,
                                  const mercer_fit_options *options, double *t)
{
    mercer_model *model = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    notice[0] = 0;
    assert_ok(mercer_fit(s->ctx, options, s->rows, targets, &model, NULL, err));
    mercer_model_get_info(model, &info);
    assert_ok(mercer_model_transform(s->ctx, model, s->rows, NULL, t, NULL, err));
    mercer_model_free(model);
    return info.components;
}

/* The status of a fit that fails, with its text. */
static inline mercer_status failure_of(const struct set *s, const mercer_targets *targets,
                                       const char *method, mercer_error *why)
{
    mercer_fit_options options = options_of(method, "rbf:sigma=2", NULL, 3);
    mercer_model *model = NULL;
    mercer_status rc = mercer_fit(s->ctx, &options, s->rows, targets, &model, NULL, why);
    assert_null(model);
    return rc;
}

/* Columns that are equal up to their signs. */
static inline void check_same_columns(const double *a, const double *b, int64_t columns,
                                      double tolerance)
{
    for (int64_t j = 0; j < columns; j++) {
        double dot = 0, most = 0, off = 0;
        for (int64_t i = 0; i < N; i++)
            dot += a[i * columns + j] * b[i * columns + j];
        for (int64_t i = 0; i < N; i++) {
            double other = b[i * columns + j] * (dot < 0 ? -1 : 1);
            assert_true(isfinite(other) && isfinite(a[i * columns + j]));
            most = fmax(most, fabs(other));
            off = fmax(off, fabs(a[i * columns + j] - other));
        }
        if (!(off <= tolerance * most))
            fail_msg("feature %d differs by %.3g of %.3g", (int)j, off, most);
    }
}

/* The Gram matrix of the set. */
static inline double *gram_of(const struct set *s, const char *text, bool centered)
{
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, text, err));
    assert_ok(mrc_kernel_resolve(&kernel, s->ctx, s->rows, err));
    return naive_gram(&kernel, s->x, N, D, centered);
}

#endif
