/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of supervised methods share: a table with labels, fits of it, and the deflation
 * framework in its plainest form, with K deflated as a matrix. Include after support.h. */
#ifndef MRC_TESTS_FEATURES_SUPPORT_H
#define MRC_TESTS_FEATURES_SUPPORT_H

#include "model/model.h"

#include <mercer/mercer.h>

enum { TABLE_ROWS = 60, TABLE_COLUMNS = 4, TABLE_FRESH = 20 };

/* Rows, new rows, one target, two targets, three classes; the same labels as centred columns. */
struct table {
    mercer_ctx *ctx;
    double *x, *fresh;
    double one[TABLE_ROWS], two[TABLE_ROWS * 2], three[TABLE_ROWS * 3];
    mercer_rows *rows, *new_rows;
    mercer_targets *targets[3];
    const double *centred[3];
    int64_t outputs[3];
};
enum { ONE_TARGET, TWO_TARGETS, THREE_CLASSES, LABELS };

static inline void center_columns(double *y, int64_t n, int64_t m)
{
    for (int64_t c = 0; c < m; c++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++)
            mean += y[i * m + c] / (double)n;
        for (int64_t i = 0; i < n; i++)
            y[i * m + c] -= mean;
    }
}

static inline struct table *new_table(void)
{
    static const char *const names[] = {"a", "b", "c"};
    struct table *t = calloc(1, sizeof *t);
    int64_t codes[TABLE_ROWS];
    assert_non_null(t);
    t->ctx = new_ctx(2);
    t->x = normal_rows(1, TABLE_ROWS, TABLE_COLUMNS, 0.3, 1);
    t->fresh = normal_rows(2, TABLE_FRESH, TABLE_COLUMNS, 0.3, 1);
    for (int64_t i = 0; i < TABLE_ROWS; i++) {
        const double *row = t->x + i * TABLE_COLUMNS;
        t->one[i] = t->two[2 * i] = sin(row[0]) + 0.5 * row[1] * row[2] + 3;
        t->two[2 * i + 1] = cos(row[3]) - row[1];
        codes[i] = row[0] > 0.5 ? 0 : row[1] > 0.2 ? 1 : 2;
        t->three[3 * i + codes[i]] = 1;
    }
    t->rows = view(t->ctx, t->x, TABLE_ROWS, TABLE_COLUMNS);
    t->new_rows = view(t->ctx, t->fresh, TABLE_FRESH, TABLE_COLUMNS);
    assert_ok(mercer_targets_new_values(t->one, TABLE_ROWS, 1, NULL, &t->targets[0], err));
    assert_ok(mercer_targets_new_values(t->two, TABLE_ROWS, 2, NULL, &t->targets[1], err));
    assert_ok(mercer_targets_new_classes(codes, TABLE_ROWS, names, 3, NULL, &t->targets[2], err));
    t->centred[0] = t->one;
    t->centred[1] = t->two;
    t->centred[2] = t->three;
    for (int64_t i = 0; i < LABELS; i++)
        t->outputs[i] = i + 1;
    center_columns(t->one, TABLE_ROWS, 1);
    center_columns(t->two, TABLE_ROWS, 2);
    center_columns(t->three, TABLE_ROWS, 3);
    return t;
}

static inline void free_table(struct table *t)
{
    for (int i = 0; i < LABELS; i++)
        mercer_targets_free(t->targets[i]);
    mercer_rows_free(t->rows);
    mercer_rows_free(t->new_rows);
    mercer_ctx_free(t->ctx);
    free(t->x);
    free(t->fresh);
    free(t);
}

static inline mercer_fit_options options_of(const char *method, const char *kernel,
                                            const char *center, double components)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.center = center;
    options.components = components;
    return options;
}

static inline mercer_model *fit_table(const struct table *t, const char *method, const char *kernel,
                                      const char *center, double components, int labels)
{
    mercer_fit_options options = options_of(method, kernel, center, components);
    mercer_model *model = NULL;
    mercer_ctx_set_seed(t->ctx, 7);
    assert_ok(mercer_fit(t->ctx, &options, t->rows, t->targets[labels], &model, NULL, err));
    return model;
}

static inline double *features_of(const struct table *t, const mercer_model *model,
                                  const mercer_rows *rows)
{
    double *f = new_doubles(rows->n * model->components);
    assert_ok(mercer_model_transform(t->ctx, model, rows, NULL, f, NULL, err));
    return f;
}

static inline double *gram_of_table(const struct table *t, const char *spec, bool centered)
{
    mrc_kernel kernel;
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, NULL, t->rows, err));
    return naive_gram(&kernel, t->x, TABLE_ROWS, TABLE_COLUMNS, centered);
}

/* Largest difference of columns that may differ in sign, over the largest entry. */
static inline double differ_up_to_sign(const double *a, const double *b, int64_t n, int64_t l)
{
    double most = 0;
    for (int64_t j = 0; j < l; j++) {
        double dot = 0;
        for (int64_t i = 0; i < n; i++)
            dot += a[i * l + j] * b[i * l + j];
        for (int64_t i = 0; i < n; i++)
            most = fmax(most, fabs(a[i * l + j] - (dot < 0 ? -1 : 1) * b[i * l + j]));
    }
    return most / largest_modulus(b, n * l);
}

/* Every training row goes through the model to a feature, and features are orthogonal. */
static inline void check_orthogonal(const double *f, int64_t n, int64_t l)
{
    for (int64_t j = 0; j < l; j++)
        for (int64_t k = 0; k < j; k++) {
            double dot = 0, a = 0, b = 0;
            for (int64_t i = 0; i < n; i++) {
                dot += f[i * l + j] * f[i * l + k];
                a += f[i * l + j] * f[i * l + j];
                b += f[i * l + k] * f[i * l + k];
            }
            assert_true(fabs(dot) <= 1e-9 * sqrt(a) * sqrt(b));
        }
}

/* left (n x n, P_j K) and y (n x m, P_j Y) without the direction of tau. */
static inline void take_off(double *a, int64_t n, int64_t columns, const double *tau)
{
    double norm2 = 0;
    for (int64_t i = 0; i < n; i++)
        norm2 += tau[i] * tau[i];
    for (int64_t c = 0; c < columns; c++) {
        double dot = 0;
        for (int64_t i = 0; i < n; i++)
            dot += tau[i] * a[i * columns + c];
        for (int64_t i = 0; i < n; i++)
            a[i * columns + c] -= tau[i] * dot / norm2;
    }
}

#endif
