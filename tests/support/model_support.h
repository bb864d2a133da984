/* SPDX-License-Identifier: BSD-3-Clause */
/* Models for the tests of the model layer, made by plain formulas instead of a method. */
#ifndef MERCER_TESTS_MODEL_SUPPORT_H
#define MERCER_TESTS_MODEL_SUPPORT_H

#include "data_support.h"

#include "reference.h"

#include "model/model.h"

/* What a test model should be like; zero means the first of each. */
struct recipe {
    const char *kernel;    /* "rbf:sigma=2" */
    mrc_center center;     /* of the mean over all n rows */
    int64_t n, d, l;       /* l = 0: as many as the basis has */
    int64_t basis;         /* rows that span the basis, the first ones; 0: all */
    double spread, offset; /* of the rows; spread 0: 1 */
    uint64_t seed;
    bool collapse; /* linear kernel: W and centre instead of points */
    bool packed;   /* points are floats, which the rows are too */
};

/* One of each form, small enough to fail at every allocation. */
static const struct recipe small_recipes[] = {
    {.kernel = "rbf:sigma=2", .center = MRC_CENTER_SPAN, .n = 20, .d = 3, .l = 2, .basis = 10},
    {.kernel = "rbf:sigma=2", .center = MRC_CENTER_EXACT, .n = 20, .d = 12, .l = 2},
    {.kernel = "poly:degree=2,gamma=1", .n = 20, .d = 3, .l = 2},
    {.kernel = "rbf:sigma=2", .n = 20, .d = 12, .l = 2, .packed = true},
    {.kernel = "linear", .n = 20, .d = 3, .l = 2, .collapse = true}};

static inline mrc_kernel kernel_of(const char *spec, int64_t d)
{
    mrc_kernel kernel;
    double nothing[64] = {0};
    mercer_rows rows = {.n = 1, .d = d, .ld = 0, .x = nothing};
    assert_ok(mrc_kernel_parse(&kernel, spec, &err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, &rows, &err));
    return kernel;
}

static inline void copy_points(mercer_model *model, const double *x, int64_t m)
{
    model->points = m;
    model->z = ref_alloc(m, model->columns);
    memcpy(model->z, x, (size_t)(m * model->columns) * sizeof(double));
}

/* Orthonormal basis of the (centred) images of the first m rows, from their Gram matrix k. */
static inline void basis_of(mercer_model *model, const double *k, int64_t m, bool centred,
                            int64_t wanted)
{
    double *a = ref_alloc(m, m), *values = ref_alloc(m, 1), *vectors = ref_alloc(m, m);
    int64_t l = 0;
    memcpy(a, k, (size_t)(m * m) * sizeof(double));
    if (centred)
        ref_center(a, m);
    ref_eigen(a, m, values, vectors);
    while (l < m && (wanted == 0 || l < wanted) && values[l] > 1e-9 * values[0])
        l++;
    assert_true(l >= 1);
    model->components = l;
    model->basis_points = m;
    model->coefficients = ref_alloc(m, l);
    model->spectrum = ref_alloc(l, 1);
    for (int64_t j = 0; j < l; j++) {
        double sum = 0;
        model->spectrum[j] = values[j] / (double)m;
        for (int64_t i = 0; i < m; i++)
            model->coefficients[i * l + j] = vectors[i * m + j] / sqrt(values[j]);
        /* Rounding leaves a sum of eps times the condition, which is not nothing. */
        for (int64_t i = 0; centred && i < m; i++)
            sum += model->coefficients[i * l + j] / (double)m;
        for (int64_t i = 0; centred && i < m; i++)
            model->coefficients[i * l + j] -= sum;
    }
    mrc_free(a);
    mrc_free(values);
    mrc_free(vectors);
}

/* v, g and b = -<w_j, mean>, from v itself and the Gram matrix k of the m points. */
static inline void mean_of(mercer_model *model, const double *k, double *v)
{
    int64_t m = model->points, l = model->components;
    double *kv = ref_alloc(m, 1);
    model->mean = v;
    model->mean_norm2 = 0;
    model->offsets = ref_alloc(l, 1);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++)
            kv[i] += k[i * m + j] * v[j];
    for (int64_t i = 0; i < m; i++)
        model->mean_norm2 += v[i] * kv[i];
    for (int64_t i = 0; i < model->basis_points; i++)
        for (int64_t j = 0; j < l; j++)
            model->offsets[j] -= model->coefficients[i * l + j] * kv[i];
    mrc_free(kv);
}

/* Coefficients of the mean of n images projected on the span of the first m: K_m^+ K_mn 1/n. */
static inline double *span_mean(const double *k, int64_t n, int64_t m)
{
    double *a = ref_alloc(m, m), *values = ref_alloc(m, 1), *vectors = ref_alloc(m, m);
    double *right = ref_alloc(m, 1), *v = ref_alloc(m, 1);
    for (int64_t i = 0; i < m; i++) {
        memcpy(a + i * m, k + i * n, (size_t)m * sizeof(double));
        for (int64_t j = 0; j < n; j++)
            right[i] += k[i * n + j] / (double)n;
    }
    ref_eigen(a, m, values, vectors);
    for (int64_t q = 0; q < m && values[q] > 1e-9 * values[0]; q++) {
        double along = 0;
        for (int64_t i = 0; i < m; i++)
            along += vectors[i * m + q] * right[i] / values[q];
        for (int64_t i = 0; i < m; i++)
            v[i] += along * vectors[i * m + q];
    }
    mrc_free(a);
    mrc_free(values);
    mrc_free(vectors);
    mrc_free(right);
    return v;
}

/* W = Z'B and the mean row, in place of points and coefficients. */
static inline void collapse(mercer_model *model)
{
    int64_t m = model->points, mb = model->basis_points, d = model->columns, l = model->components;
    model->weights = ref_alloc(d, l);
    model->input_center = ref_alloc(d, 1);
    for (int64_t i = 0; i < mb; i++)
        for (int64_t k = 0; k < d; k++)
            for (int64_t j = 0; j < l; j++)
                model->weights[k * l + j] += model->z[i * d + k] * model->coefficients[i * l + j];
    for (int64_t i = 0; model->mean && i < m; i++)
        for (int64_t k = 0; k < d; k++)
            model->input_center[k] += model->mean[i] * model->z[i * d + k];
    mrc_free(model->z);
    mrc_free(model->coefficients);
    mrc_free(model->mean);
    mrc_free(model->offsets);
    model->z = model->coefficients = model->mean = model->offsets = NULL;
    model->points = model->basis_points = 0;
}

static inline void pack_points(mercer_model *model)
{
    int64_t values = model->points * model->columns;
    assert_ok(mrc_alloc(&model->z_packed, values, sizeof(float), &err));
    model->z_dtype = MRC_F32;
    mrc_pack(MRC_F32, model->z, values, model->z_packed, 0);
    mrc_free(model->z);
    model->z = NULL;
}

static inline mercer_model *unsealed_model(const struct recipe *recipe, const double *x)
{
    mercer_model *model = NULL;
    int64_t n = recipe->n, d = recipe->d, m = recipe->basis ? recipe->basis : n;
    double *k, *k_basis = ref_alloc(m, m);

    assert_ok(mrc_model_new(&model, &err));
    assert_ok(mrc_strdup(&model->method, "kpca", &err));
    assert_ok(mrc_strdup(&model->version, "0.1.0", &err));
    model->kernel = kernel_of(recipe->kernel, d);
    model->center = recipe->center;
    model->rows = n;
    model->columns = d;
    model->orthonormal = true;
    model->seed = 1;
    model->total_variance = 1;
    model->reconstruction_error = NAN;
    k = ref_cross(&model->kernel, x, n, x, n, d);
    for (int64_t i = 0; i < m; i++)
        memcpy(k_basis + i * m, k + i * n, (size_t)m * sizeof(double));
    basis_of(model, k_basis, m, recipe->center == MRC_CENTER_EXACT, recipe->l);
    if (recipe->center == MRC_CENTER_EXACT) {
        double *v = ref_alloc(n, 1);
        for (int64_t i = 0; i < n; i++)
            v[i] = 1 / (double)n;
        copy_points(model, x, n);
        mean_of(model, k, v);
    } else {
        copy_points(model, x, m);
        if (recipe->center == MRC_CENTER_SPAN)
            mean_of(model, k_basis, span_mean(k, n, m));
    }
    if (recipe->collapse)
        collapse(model);
    if (recipe->packed)
        pack_points(model);
    mrc_free(k);
    mrc_free(k_basis);
    return model;
}

static inline double *recipe_rows(const struct recipe *recipe)
{
    double *x = ref_rows(recipe->seed + 1, recipe->n, recipe->d,
                         recipe->spread != 0 ? recipe->spread : 1, recipe->offset);
    for (int64_t i = 0; recipe->packed && i < recipe->n * recipe->d; i++)
        x[i] = (float)x[i];
    return x;
}

static inline mercer_model *make_model(const struct recipe *recipe)
{
    double *x = recipe_rows(recipe);
    mercer_model *model = unsealed_model(recipe, x);
    assert_ok(mrc_model_seal(model, ctx, &err));
    mrc_free(x);
    return model;
}

/* features and squared errors of t rows by the formulas; model must have points and a kernel with a
 * formula. */
static inline void naive_transform(const mercer_model *model, const double *x, int64_t t,
                                   double *features, double *errors)
{
    int64_t l = model->components, d = model->columns;
    for (int64_t r = 0; r < t; r++) {
        const double *row = x + r * d;
        long double left = naive_kernel(&model->kernel, row, row, d);
        for (int64_t i = 0; model->mean && i < model->points; i++)
            left -= 2.0L * model->mean[i] * naive_kernel(&model->kernel, model->z + i * d, row, d);
        left += model->mean ? model->mean_norm2 : 0;
        for (int64_t j = 0; j < l; j++) {
            long double y = model->offsets[j];
            for (int64_t i = 0; i < model->basis_points; i++)
                y += (long double)model->coefficients[i * l + j] *
                     naive_kernel(&model->kernel, model->z + i * d, row, d);
            features[r * l + j] = (double)y;
            left -= y * y;
        }
        errors[r] = (double)left;
    }
}

static inline mercer_rows *view(const double *x, int64_t n, int64_t d)
{
    mercer_rows *rows = NULL;
    assert_ok(view_f64(ctx, x, n, d, d, &rows, &err));
    return rows;
}

#endif
