/* SPDX-License-Identifier: BSD-3-Clause */
/* Eigenpairs with a tolerance: eigenvalues are off by no more than that share of the trace, and by
 * no more than the report tells, for every store, kernel, centring and unit of the columns, against
 * LAPACK on the matrix written out. */
#include "support.h"

#include "fit_support.h"
#include "linalg/linalg.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WANTED = 6 };

/* All eigenvalues of the centred matrix, the largest first, and its trace. */
static double *plain_values(mercer_ctx *ctx, const char *spec, const mercer_rows *rows,
                            const double *x, int64_t n, int64_t d, bool centered, double *trace)
{
    mrc_kernel kernel;
    double *values = new_doubles(n);
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    double *k = naive_gram(&kernel, x, n, d, centered);
    *trace = 0;
    for (int64_t i = 0; i < n; i++)
        *trace += k[i * n + i];
    assert_ok(mrc_eigen_symmetric(ctx, n, k, values, err));
    for (int64_t i = 0; i < n / 2; i++) {
        double swap = values[i];
        values[i] = values[n - 1 - i];
        values[n - 1 - i] = swap;
    }
    free(k);
    return values;
}

static mercer_model *fit(mercer_ctx *ctx, const mercer_rows *rows, const char *method,
                         const char *kernel, const char *center, const char *store,
                         double tolerance, mercer_fit_report *report)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    mercer_fit_report_init(report);
    options.method = method;
    options.kernel = kernel;
    options.center = center;
    options.components = WANTED;
    options.store = store;
    options.tolerance = tolerance;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, report, err));
    return model;
}

/* What a tolerance promises, of as many pairs as there are above what is left out. */
static void compare(const mercer_model *model, const mercer_fit_report *report,
                    const double *values, int64_t n, double trace, double tolerance,
                    const char *what)
{
    double rounding = 64 * (double)n * DBL_EPSILON * trace;
    double allowed = fmax(tolerance * trace, tolerance * values[0]) + rounding;
    /* The residual of an iteration says that an eigenvalue is near, not which one: of equal ones it
     * may pass one by. What a factor leaves out bounds all of them. */
    bool bounded = strcmp(report->solver, "krylov") != 0;
    double told = bounded ? report->residual * values[0] + rounding : INFINITY;
    assert_in_range(model->components, 1, WANTED);
    /* A pair that is missing may be one that the tolerance hides, but no other. */
    if (model->components < WANTED && !(values[model->components] <= 2 * allowed))
        fail_msg("%s: %d pairs, the next eigenvalue is %g of %g", what, (int)model->components,
                 values[model->components], trace);
    for (int64_t j = 0; j < model->components; j++) {
        double off = fabs(model->spectrum[j] - values[j]);
        if (!(off <= allowed) || !(off <= told))
            fail_msg("%s: eigenvalue %d is %.17g, not %.17g: off by %g, allowed %g, told %g", what,
                     (int)j, model->spectrum[j], values[j], off, allowed, told);
    }
}

static void test_eigenvalues(void **state)
{
    static const char *const kernels[] = {
        "rbf:sigma=4",           "rbf:sigma=1", "poly:degree=3,coef0=1",
        "matern:nu=2.5,sigma=3", "linear",      "laplacian:gamma=0.1"};
    static const char *const stores[] = {"auto", "dense", "stream", "lowrank"};
    static const double tolerances[] = {1e-12, 1e-9, 1e-6, 1e-4, 1e-2};
    static const int64_t sizes[] = {30, 420, 520}; /* by LAPACK, and above its limit */
    (void)state;
    for (int size = 0; size < 3; size++)
        for (int k = 0; k < 6; k++)
            for (int centered = 0; centered < 2; centered++) {
                mercer_ctx *ctx = new_ctx(2);
                int64_t n = sizes[size], d = k == 4 ? 12 : 2;
                double *x = k == 4 ? normal_rows(7, n, d, 3, 1) : ring_rows(3 + (uint64_t)k, n);
                double trace;
                mercer_rows *rows = view(ctx, x, n, d);
                double *values = plain_values(ctx, kernels[k], rows, x, n, d, centered, &trace);
                for (int s = 0; s < 4; s++)
                    for (int t = 0; t < 5; t++) {
                        mercer_fit_report report;
                        char what[160];
                        if (s == 3 && k == 5)
                            continue; /* its rank is that of all rows */
                        snprintf(what, sizeof what, "%d rows, %s, %s, %s, %g", (int)n, kernels[k],
                                 centered ? "exact" : "none", stores[s], tolerances[t]);
                        mercer_model *model =
                            fit(ctx, rows, "kpca", kernels[k], centered ? "exact" : "none",
                                stores[s], tolerances[t], &report);
                        compare(model, &report, values, n, trace, tolerances[t], what);
                        mercer_model_free(model);
                    }
                mercer_rows_free(rows);
                mercer_ctx_free(ctx);
                free(values);
                free(x);
            }
}

/* A factor ends by a share of what centring leaves, in any unit; and the larger the tolerance, the
 * fewer columns it has. */
static void test_columns(void **state)
{
    static const double shifts[] = {0, 100}, units[] = {1, 1e-40, 1e40};
    enum { ROWS = 600, COLUMNS = 3 };
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int u = 0; u < 3; u++) {
            mercer_ctx *ctx = new_ctx(1);
            double *x = normal_rows(11, ROWS, COLUMNS, shifts[s] * units[u], units[u]), trace;
            double last = INFINITY;
            char kernel[64];
            /* Rows far from the origin: most of every kernel value is common to all of them. */
            snprintf(kernel, sizeof kernel, "poly:degree=2,gamma=%.17g,coef0=1",
                     1 / units[u] / units[u]);
            mercer_rows *rows = view(ctx, x, ROWS, COLUMNS);
            double *values = plain_values(ctx, kernel, rows, x, ROWS, COLUMNS, true, &trace);
            for (double tolerance = 1e-10; tolerance < 0.05; tolerance *= 1e4) {
                mercer_fit_report report;
                char what[160];
                snprintf(what, sizeof what, "shift %g, unit %g, %g", shifts[s], units[u],
                         tolerance);
                mercer_model *model =
                    fit(ctx, rows, "kpca", kernel, "exact", "lowrank", tolerance, &report);
                compare(model, &report, values, ROWS, trace, tolerance, what);
                assert_true((double)report.store_rank <= last);
                last = (double)report.store_rank;
                mercer_model_free(model);
            }
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
            free(values);
            free(x);
        }
}

/* Rows of very different lengths: the trace is that of a few, and the others are far below what
 * counts as zero beside these. Every tolerance comes to an end, and to what it promises or, where
 * rounding is larger, to what it tells. */
static void test_uneven_rows(void **state)
{
    enum { ROWS = 450, COLUMNS = 3 };
    static const double decades[] = {1, 2, 3, 4};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int centered = 0; centered < 2; centered++) {
            mercer_ctx *ctx = new_ctx(2);
            double *x = normal_rows(17 + (uint64_t)k, ROWS, COLUMNS, 0, 1), trace;
            const char *kernel = "poly:degree=2,gamma=1,coef0=1";
            for (int64_t i = 0; i < ROWS; i++)
                for (int64_t c = 0; c < COLUMNS; c++)
                    x[i * COLUMNS + c] *= i < 3 ? pow(10, decades[k]) : 1;
            mercer_rows *rows = view(ctx, x, ROWS, COLUMNS);
            double *values = plain_values(ctx, kernel, rows, x, ROWS, COLUMNS, centered, &trace);
            for (double tolerance = 1e-12; tolerance < 0.05; tolerance *= 10) {
                mercer_fit_report report;
                char what[160];
                snprintf(what, sizeof what, "%g decades, %d, %g", decades[k], centered, tolerance);
                mercer_model *model = fit(ctx, rows, "kpca", kernel, centered ? "exact" : "none",
                                          "lowrank", tolerance, &report);
                compare(model, &report, values, ROWS, trace, tolerance, what);
                mercer_model_free(model);
            }
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
            free(values);
            free(x);
        }
}

/* A row far off, and the others close together: their mean is hardly in the span of the first
 * pivot, so that the rest of the variance seems to be many times what it is. */
static void test_one_row_far_off(void **state)
{
    enum { ROWS = 500, COLUMNS = 5 };
    static const struct {
        double spread, far;
        const char *kernel;
    } cases[] = {{0.01, 1, "poly:gamma=1,coef0=1000,degree=2"},
                 {0.001, 0.06, "poly:gamma=1,coef0=1,degree=2"},
                 {0.1, 30, "rbf:sigma=1"},
                 {0.01, 1, "linear"}};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            mercer_ctx *ctx = new_ctx(1);
            double *x = normal_rows(seed, ROWS, COLUMNS, 0, cases[k].spread), trace;
            for (int64_t c = 0; c < COLUMNS; c++)
                x[c] = c == 0 ? cases[k].far : 0;
            mercer_rows *rows = view(ctx, x, ROWS, COLUMNS);
            double *values =
                plain_values(ctx, cases[k].kernel, rows, x, ROWS, COLUMNS, true, &trace);
            for (double tolerance = 1e-4; tolerance < 0.05; tolerance *= 10) {
                mercer_fit_report report;
                char what[160];
                snprintf(what, sizeof what, "%s, seed %d, %g", cases[k].kernel, (int)seed,
                         tolerance);
                mercer_model *model =
                    fit(ctx, rows, "kpca", cases[k].kernel, "exact", "lowrank", tolerance, &report);
                compare(model, &report, values, ROWS, trace, tolerance, what);
                mercer_model_free(model);
            }
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
            free(values);
            free(x);
        }
}

static char heard[512];

static void hear(void *host, const mercer_error *notice)
{
    (void)host;
    snprintf(heard, sizeof heard, "%s", notice->text);
}

/* What a tolerance leaves out counts as an error, and is told where it is asked for. */
static void test_what_is_left_out(void **state)
{
    enum { ROWS = 600, COLUMNS = 3 };
    static const double tolerances[] = {1e-6, 1e-4, 1e-3, 1e-2};
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(3, ROWS, COLUMNS, 0, 1), features[ROWS * WANTED], errors[ROWS];
    mercer_rows *rows = view(ctx, x, ROWS, COLUMNS);
    (void)state;
    mercer_ctx_set_notice(ctx, hear, NULL);
    for (int t = 0; t < 4; t++)
        for (int centered = 0; centered < 2; centered++) {
            mercer_fit_report report;
            double mean = 0;
            mercer_model *model =
                fit(ctx, rows, "kpca", "rbf:sigma=1.5", centered ? "exact" : "none", "lowrank",
                    tolerances[t], &report);
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, errors, err));
            for (int64_t i = 0; i < ROWS; i++)
                mean += errors[i] / ROWS;
            /* Too large by what the mean of the mapped rows has in it, at most. */
            double above = model->reconstruction_error - mean;
            if (!(above > -1e-9 * mean && above <= tolerances[t] * model->total_variance))
                fail_msg("tolerance %g: an error of %.17g is told, %.17g is the mean",
                         tolerances[t], model->reconstruction_error, mean);
            mercer_model_free(model);
        }
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = "rbf:sigma=1.5";
    options.store = "lowrank";
    options.tolerance = 0.01;
    options.components = 0.99;
    heard[0] = 0;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    assert_non_null(strstr(heard, "0.99 of the variance asked for, but with a tolerance of 0.01"));
    mercer_model_free(model);
    options.components = 300;
    heard[0] = 0;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    assert_non_null(strstr(heard, "300 components asked for, but with a tolerance of 0.01"));
    mercer_model_free(model);
    options.components = 0.8;
    heard[0] = 0;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    assert_int_equal(heard[0], 0);
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

/* It saves something: columns of a factor, and passes. */
static void test_saves(void **state)
{
    enum { ROWS = 3000, WIDE = 60 };
    mercer_ctx *ctx = new_ctx(2);
    double *x = ring_rows(1, ROWS), *wide = normal_rows(2, ROWS, WIDE, 0, 1);
    mercer_rows *ring = view(ctx, x, ROWS, 2), *rough = view(ctx, wide, ROWS, WIDE);
    mercer_fit_report exact, early;
    (void)state;
    mercer_model_free(fit(ctx, ring, "kpca", "rbf:sigma=4", NULL, "lowrank", 0, &exact));
    mercer_model_free(fit(ctx, ring, "kpca", "rbf:sigma=4", NULL, "lowrank", 1e-6, &early));
    if (!(early.store_rank * 5 < exact.store_rank * 3))
        fail_msg("%d columns, and %d with a tolerance", (int)exact.store_rank,
                 (int)early.store_rank);
    assert_true(early.residual > exact.residual);
    mercer_model_free(fit(ctx, rough, "kpca", "rbf:sigma=8", NULL, "dense", 0, &exact));
    mercer_model_free(fit(ctx, rough, "kpca", "rbf:sigma=8", NULL, "dense", 1e-4, &early));
    if (!(early.passes < exact.passes))
        fail_msg("%d passes, and %d with a tolerance", (int)exact.passes, (int)early.passes);
    mercer_model_free(fit(ctx, rough, "pca", NULL, NULL, "stream", 1e-4, &early));
    mercer_rows_free(ring);
    mercer_rows_free(rough);
    mercer_ctx_free(ctx);
    free(x);
    free(wide);
}

/* Blocks of a stream are wider where its rows are long: the same pairs in fewer passes. */
static void test_wide_blocks(void **state)
{
    enum { ROWS = 900, WIDE = 80 };
    mercer_ctx *ctx = new_ctx(2);
    double *x = normal_rows(5, ROWS, WIDE, 0, 1);
    mercer_rows *rows = view(ctx, x, ROWS, WIDE);
    mercer_fit_report dense, stream;
    (void)state;
    mercer_model *held = fit(ctx, rows, "kpca", "rbf:sigma=9", NULL, "dense", 0, &dense);
    mercer_model *again = fit(ctx, rows, "kpca", "rbf:sigma=9", NULL, "stream", 0, &stream);
    if (!(stream.passes < dense.passes))
        fail_msg("%d passes of a stream, %d of a stored matrix", (int)stream.passes,
                 (int)dense.passes);
    assert_int_equal(held->components, again->components);
    for (int64_t j = 0; j < held->components; j++)
        assert_true(fabs(held->spectrum[j] - again->spectrum[j]) < 1e-12 * held->spectrum[0]);
    mercer_model_free(held);
    mercer_model_free(again);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *method;
        double tolerance;
        const char *words;
    } cases[] = {
        {"akfa", 1e-6, "tolerance: method akfa does not take any; pca and kpca do"},
        {"kpca:groups=2", 1e-6, "groups are approximate already"},
        {"kpca", 1e-13, "tolerance: 1e-13 is not between 1e-12 and 0.01"},
        {"pca", 0.02, "tolerance: 0.02 is not between 1e-12 and 0.01"},
        {"kpca", -1, "tolerance"},
        {"kpca", NAN, "tolerance"},
    };
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 40);
    mercer_rows *rows = view(ctx, x, 40, 2);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mercer_fit_options options;
        mercer_model *model = NULL;
        mercer_error why;
        mercer_fit_options_init(&options);
        options.method = cases[i].method;
        options.tolerance = cases[i].tolerance;
        assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why),
                         MERCER_ERR_ARGUMENT);
        if (!strstr(why.text, cases[i].words))
            fail_msg("'%s' is not in '%s'", cases[i].words, why.text);
    }
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eigenvalues),      cmocka_unit_test(test_columns),
        cmocka_unit_test(test_uneven_rows),      cmocka_unit_test(test_one_row_far_off),
        cmocka_unit_test(test_what_is_left_out), cmocka_unit_test(test_saves),
        cmocka_unit_test(test_wide_blocks),      cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
