/* SPDX-License-Identifier: BSD-3-Clause */
/* Models that store the pivots of a low-rank factor instead of all rows: the same features, errors
 * and predictions as models of all rows, for every method that has the choice, over kernels,
 * centrings, sizes and units of the columns. */
#include "support.h"

#include "model/model.h"
#include "naive.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 2, FRESH = 40, MAX_ROWS = 400, CLASSES = 2 };

struct data {
    mercer_ctx *ctx;
    double *x, *fresh;
    int64_t n;
    mercer_rows *rows, *new_rows;
    mercer_targets *targets;
};

/* A ring with noise, in units of `unit`, and new rows of the same kind; two classes. */
static struct data new_data(int64_t n, uint64_t seed, double unit)
{
    static const char *const names[CLASSES] = {"left", "right"};
    struct data d = {.ctx = new_ctx(2), .n = n};
    int64_t codes[MAX_ROWS];
    d.x = normal_rows(seed, n, COLUMNS, 0, 1);
    d.fresh = normal_rows(seed + 1000, FRESH, COLUMNS, 0, 1);
    for (int64_t i = 0; i < n + FRESH; i++) {
        double *row = i < n ? d.x + i * COLUMNS : d.fresh + (i - n) * COLUMNS;
        double length = hypot(row[0], row[1]), radius = 8 + 0.5 * (row[0] - row[1]);
        row[0] *= unit * radius / length;
        row[1] *= unit * radius / length;
        if (i < n)
            codes[i] = row[0] + 0.3 * row[1] > 0;
    }
    codes[0] = 0;
    codes[1] = 1;
    d.rows = view(d.ctx, d.x, n, COLUMNS);
    d.new_rows = view(d.ctx, d.fresh, FRESH, COLUMNS);
    assert_ok(mercer_targets_new_classes(codes, n, names, CLASSES, NULL, &d.targets, err));
    return d;
}

static void free_data(struct data *d)
{
    mercer_rows_free(d->rows);
    mercer_rows_free(d->new_rows);
    mercer_targets_free(d->targets);
    mercer_ctx_free(d->ctx);
    free(d->x);
    free(d->fresh);
}

static mercer_model *fit(const struct data *d, const char *method, const char *points,
                         const char *kernel, const char *center, double components)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    char spec[64];
    mercer_fit_options_init(&options);
    snprintf(spec, sizeof spec, "%s%spoints=%s", method, strchr(method, ':') ? "," : ":", points);
    options.method = spec;
    options.kernel = kernel;
    options.center = center;
    options.components = components;
    options.store = "lowrank";
    mercer_ctx_set_seed(d->ctx, 5);
    assert_ok(mercer_fit(d->ctx, &options, d->rows, d->targets, &model, NULL, err));
    return model;
}

/* Features of rows by a model, and errors where it has them. */
struct answers {
    double *features, *errors;
};

static struct answers ask(const struct data *d, const mercer_model *model, const mercer_rows *rows,
                          int64_t n)
{
    struct answers a = {new_doubles(n * model->components), new_doubles(n)};
    assert_ok(mercer_model_transform(d->ctx, model, rows, NULL, a.features,
                                     model->orthonormal ? a.errors : NULL, err));
    return a;
}

static void free_answers(struct answers *a)
{
    free(a->features);
    free(a->errors);
}

/* Euclidean length of column j of B. */
static double length_of(const mercer_model *model, int64_t j)
{
    double sum = 0;
    for (int64_t i = 0; i < model->points; i++) {
        double b = model->coefficients[i * model->components + j];
        sum += b * b;
    }
    return sqrt(sum);
}

/* How far features of the two models may lie apart. Rounding puts either off by a few eps sqrt(n)
 * kmax |B_j| (methods/common/expansion.c), B of all rows. Of new rows the model of all rows also
 * has what lies outside the span of the pivots: of row i sqrt(left_out) at most, by the residual,
 * and of the new row sqrt(k(x, x)) at most, so n rows have sqrt(n left_out kmax) |B_j| of it. */
static double allowed(const mercer_model *all, int64_t j, double kmax, bool fresh)
{
    double n = (double)all->points, rounding = 32 * DBL_EPSILON * sqrt(n) * kmax;
    double outside = fresh ? sqrt(n * 1e-13) * kmax : 0;
    return (rounding + outside) * length_of(all, j);
}

static void compare(const struct data *d, const mercer_model *few, const mercer_model *all,
                    double kmax, const char *what)
{
    const mercer_rows *rows[] = {d->rows, d->new_rows};
    int64_t l = all->components, counts[] = {d->n, FRESH};
    assert_int_equal(few->components, l);
    assert_int_equal(all->points, d->n);
    assert_true(few->points <= d->n);
    for (int part = 0; part < 2; part++) {
        struct answers a = ask(d, few, rows[part], counts[part]);
        struct answers b = ask(d, all, rows[part], counts[part]);
        for (int64_t j = 0; j < l; j++) {
            double most = allowed(all, j, kmax, part == 1), off = 0;
            for (int64_t i = 0; i < counts[part]; i++)
                off = fmax(off, fabs(a.features[i * l + j] - b.features[i * l + j]));
            if (off > most)
                print_error("%s, %lld rows, part %d: feature %lld is off by %g, more than %g\n",
                            what, (long long)d->n, part, (long long)j + 1, off, most);
            assert_true(off <= most);
        }
        for (int64_t i = 0; part == 0 && i < counts[part]; i++)
            assert_true(fabs(a.errors[i] - b.errors[i]) <= 1e-12 * kmax);
        free_answers(&a);
        free_answers(&b);
    }
}

/* Largest kernel value of a row with itself. */
static double find_kmax(const struct data *d, const char *kernel)
{
    mrc_kernel k;
    double kmax = 0;
    assert_ok(mrc_kernel_parse(&k, kernel, err));
    assert_ok(mrc_kernel_resolve(&k, d->ctx, d->rows, err));
    for (int64_t i = 0; i < d->n; i++)
        kmax = fmax(kmax, naive_kernel(&k, d->x + i * COLUMNS, d->x + i * COLUMNS, COLUMNS));
    return kmax;
}

static void check(int64_t n, double unit, const char *method, const char *kernel,
                  const char *center, double components)
{
    struct data d = new_data(n, (uint64_t)n, unit);
    mercer_model *few = fit(&d, method, "auto", kernel, center, components);
    mercer_model *all = fit(&d, method, "all", kernel, center, components);
    char what[128];
    snprintf(what, sizeof what, "%s, %s, center %s, unit %g", method, kernel, center, unit);
    compare(&d, few, all, find_kmax(&d, kernel), what);
    mercer_model_free(few);
    mercer_model_free(all);
    free_data(&d);
}

static const char *const METHODS[] = {"kpca", "kpca:groups=3", "kica",  "kpls",
                                      "cr",   "blf:loss=ls",   "kboost"};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS };

static void test_pivots_give_the_features_of_all_rows(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=4", "rbf:sigma=16", "poly:degree=3",
                                          "rbf:sigma=8+linear", "rq:sigma=8*rbf:sigma=20"};
    (void)state;
    for (int m = 0; m < METHOD_COUNT; m++)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
            for (int64_t n = 12; n <= MAX_ROWS; n += n < 30 ? 7 : 123)
                for (int none = 0; none < 2; none++)
                    check(n, 1, METHODS[m], kernels[k], none ? "none" : "exact", 6);
}

/* Kernel values of 1e-110 to 1e130, which the polynomial kernel has of such columns. */
static void test_pivots_at_any_scale(void **state)
{
    static const double units[] = {1e-55, 1e-20, 1e-3, 1e3, 1e20, 1e60};
    (void)state;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (int none = 0; none < 2; none++)
            check(150, units[u], "kpca", "poly:degree=2,gamma=1,coef0=0", none ? "none" : "exact",
                  3);
}

/* All components that the matrix has: the last eigenvalues are near rounding. */
static void test_pivots_of_all_components(void **state)
{
    (void)state;
    for (int64_t n = 20; n <= 300; n += 70) {
        check(n, 1, "kpca", "rbf:sigma=8", "exact", (double)n);
        check(n, 1, "kpca", "rbf:sigma=8", "none", 0.9999999);
    }
}

/* The figures of the documents: a ring that the rows cover densely. */
static void test_pivots_of_a_ring(void **state)
{
    struct data d = new_data(MAX_ROWS, 1, 1);
    mercer_model *few = fit(&d, "kpca", "auto", "rbf:sigma=8", NULL, 10);
    mercer_model *all = fit(&d, "kpca", "all", "rbf:sigma=8", NULL, 10);
    struct answers a = ask(&d, few, d.new_rows, FRESH), b = ask(&d, all, d.new_rows, FRESH);
    double largest = largest_modulus(b.features, FRESH * 10);
    (void)state;
    assert_true(few->points < MAX_ROWS / 4);
    assert_true(largest_difference(a.features, b.features, FRESH * 10) < 1e-11 * largest);
    assert_true(largest_difference(a.errors, b.errors, FRESH) < 1e-12);
    assert_int_equal(few->selected_count, 0);
    assert_float_equal(few->reconstruction_error, all->reconstruction_error, 0);
    free_answers(&a);
    free_answers(&b);
    mercer_model_free(few);
    mercer_model_free(all);
    free_data(&d);
}

/* What is done to models afterwards: bytes and back, fewer components, a head, pre-images. */
static void test_pivots_through_the_life_of_a_model(void **state)
{
    struct data d = new_data(300, 3, 1);
    mercer_model *few = fit(&d, "kpca", "auto", "rbf:sigma=8", NULL, 6), *back = NULL, *less = NULL;
    struct answers a = ask(&d, few, d.new_rows, FRESH), b, c;
    double *inverse = new_doubles(FRESH * COLUMNS);
    void *bytes = NULL;
    size_t size = 0;
    (void)state;
    assert_ok(mercer_model_to_bytes(d.ctx, few, &bytes, &size, err));
    assert_ok(mercer_model_from_bytes(d.ctx, bytes, size, &back, err));
    b = ask(&d, back, d.new_rows, FRESH);
    assert_memory_equal(a.features, b.features, FRESH * 6 * sizeof(double));
    assert_memory_equal(a.errors, b.errors, FRESH * sizeof(double));
    assert_ok(mercer_model_truncate(d.ctx, few, 2, &less, err));
    c = ask(&d, less, d.new_rows, FRESH);
    for (int64_t i = 0; i < FRESH; i++)
        for (int j = 0; j < 2; j++)
            assert_float_equal(c.features[i * 2 + j], a.features[i * 6 + j], 1e-13);
    /* Fresh rows lie on the ring, and so do their pre-images, within what six components miss. */
    assert_ok(mercer_model_inverse(d.ctx, few, a.features, FRESH, inverse, NULL, err));
    for (int64_t i = 0; i < FRESH; i++)
        assert_true(
            hypot(inverse[i * 2] - d.fresh[i * 2], inverse[i * 2 + 1] - d.fresh[i * 2 + 1]) < 1.5);
    mercer_free(bytes);
    free(inverse);
    free_answers(&a);
    free_answers(&b);
    free_answers(&c);
    mercer_model_free(few);
    mercer_model_free(back);
    mercer_model_free(less);
    free_data(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pivots_give_the_features_of_all_rows),
        cmocka_unit_test(test_pivots_at_any_scale),
        cmocka_unit_test(test_pivots_of_all_components),
        cmocka_unit_test(test_pivots_of_a_ring),
        cmocka_unit_test(test_pivots_through_the_life_of_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
