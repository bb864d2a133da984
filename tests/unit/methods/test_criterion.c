/* SPDX-License-Identifier: BSD-3-Clause */
/* Directions chosen by the caller: our own methods written as criteria give the same features; what
 * a criterion may do wrong; and what a fit tells about its features: kernel values of a new row,
 * alignment of kernel and targets, the bound, against plain sums. */
#include "support.h"

#include "fit_support.h"
#include "model/model.h"
#include "reference.h"

#include <mercer/mercer.h>

#include <math.h>
#include <stdio.h>

enum { N = 70, D = 3, L = 5 };

static mercer_ctx *ctx;
static mercer_error why;

struct set {
    double *x, *y;
    mercer_rows *rows;
    mercer_targets *values;
};

static struct set make_set(int64_t columns)
{
    struct set s = {.x = ref_rows(1, N, D, 1, 0), .y = ref_rows(2, N, columns, 0.1, 1)};
    for (int64_t i = 0; i < N; i++)
        for (int64_t c = 0; c < columns; c++)
            s.y[i * columns + c] += sin(s.x[i * D + c % D] + (double)c) * s.x[i * D + 1];
    assert_ok(view_f64(ctx, s.x, N, D, D, &s.rows, err));
    assert_ok(mercer_targets_new_values(s.y, N, columns, NULL, &s.values, err));
    return s;
}

static void free_set(struct set *s)
{
    mercer_rows_free(s->rows);
    mercer_targets_free(s->values);
    mrc_free(s->x);
    mrc_free(s->y);
}

/* What stands first in a criterion. */
#define SIZED sizeof(mercer_criterion)

static mercer_fit_options options_of(const char *method, const mercer_criterion *criterion)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.criterion = criterion;
    options.kernel = "rbf:sigma=1.5";
    options.components = L;
    return options;
}

/* Features of the training rows, which are all there are. */
static double *features_of(const struct set *s, const mercer_fit_options *options,
                           mercer_model **model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    assert_ok(mercer_fit(ctx, options, s->rows, s->values, model, NULL, err));
    mercer_model_get_info(*model, &info);
    double *features = ref_alloc(N, info.components);
    assert_int_equal(mercer_model_transform(ctx, *model, s->rows, NULL, features, NULL, &why),
                     MERCER_OK);
    return features;
}

/* ---- our own methods as criteria ---- */

/* One target: what is left of it. */
static mercer_status partial_least_squares(void *host, mercer_step *step, double *beta,
                                           mercer_error *err)
{
    (void)host, (void)err;
    assert_int_equal(mercer_step_outputs(step), 1);
    memcpy(beta, mercer_step_residual_targets(step), (size_t)mercer_step_rows(step) * sizeof *beta);
    return MERCER_OK;
}

/* The row of largest covariance with what is left. */
static mercer_status matching(void *host, mercer_step *step, double *beta, mercer_error *given)
{
    double *scores = ref_alloc(N, 1);
    const double *diagonal;
    int64_t best = 0;
    (void)host, (void)given;
    assert_ok(mercer_step_apply(step, mercer_step_residual_targets(step), 1, scores, err));
    assert_ok(mercer_step_diagonal(step, &diagonal, err));
    for (int64_t i = 1; i < N; i++)
        if (scores[i] * scores[i] / diagonal[i] > scores[best] * scores[best] / diagonal[best])
            best = i;
    beta[best] = 1;
    mrc_free(scores);
    return MERCER_OK;
}

/* The leading eigenvector of the deflated matrix, whatever the targets are. */
static mercer_status leading(void *host, mercer_step *step, double *beta, mercer_error *given)
{
    double *k = ref_alloc(N, N), *vectors = ref_alloc(N, N), *values = ref_alloc(N, 1);
    (void)host, (void)given;
    for (int64_t i = 0; i < N; i++) {
        assert_ok(mercer_step_columns(step, &i, 1, k + i * N, err));
        assert_ok(mercer_step_deflate(step, k + i * N, err));
    }
    ref_eigen(k, N, values, vectors);
    for (int64_t i = 0; i < N; i++)
        beta[i] = vectors[i * N];
    mrc_free(k);
    mrc_free(vectors);
    mrc_free(values);
    return MERCER_OK;
}

static void check_same_up_to_sign(const double *a, const double *b, int64_t l, double tolerance)
{
    for (int64_t j = 0; j < l; j++) {
        double same = 0, size = 0, dot = 0;
        for (int64_t i = 0; i < N; i++)
            dot += a[i * l + j] * b[i * l + j];
        for (int64_t i = 0; i < N; i++) {
            same = fmax(same, fabs(a[i * l + j] - copysign(1, dot) * b[i * l + j]));
            size = fmax(size, fabs(b[i * l + j]));
        }
        assert_true(same <= tolerance * size);
    }
}

static void test_methods_as_criteria(void **state)
{
    static const struct {
        const char *method;
        mercer_criterion criterion;
        const char *center;
    } cases[] = {{"kpls", {SIZED, "mine", partial_least_squares, NULL, 0}, "exact"},
                 {"kpls", {SIZED, "mine", partial_least_squares, NULL, 1}, "none"},
                 {"smc", {SIZED, "my_smc-2", matching, NULL, 1}, "none"},
                 {"kpca", {SIZED, "spectral", leading, NULL, 0}, "exact"}};
    (void)state;
    struct set s = make_set(1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_model *own = NULL, *given = NULL;
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_fit_options options = options_of(NULL, &cases[c].criterion);
        options.center = cases[c].center;
        double *ours = features_of(&s, &options, &given);
        options.method = cases[c].method;
        options.criterion = NULL;
        double *theirs = features_of(&s, &options, &own);
        check_same_up_to_sign(ours, theirs, L, 1e-9);
        mercer_model_get_info(given, &info);
        assert_int_equal(
            strncmp(info.method, cases[c].criterion.name, strlen(cases[c].criterion.name)), 0);
        if (strcmp(cases[c].method, "smc") == 0)
            assert_int_equal(info.expansion_points, L);
        mrc_free(ours);
        mrc_free(theirs);
        mercer_model_free(own);
        mercer_model_free(given);
    }
    free_set(&s);
}

/* ---- what can go wrong ---- */

static mercer_status refusing(void *host, mercer_step *step, double *beta, mercer_error *err)
{
    (void)host, (void)step, (void)beta;
    err->code = MERCER_ERR_DATA;
    snprintf(err->text, sizeof err->text, "no, thank you");
    return MERCER_ERR_DATA;
}

static mercer_status infinite(void *host, mercer_step *step, double *beta, mercer_error *err)
{
    (void)host, (void)step, (void)err;
    beta[3] = INFINITY;
    return MERCER_OK;
}

/* Two directions, then none. */
static mercer_status ending(void *host, mercer_step *step, double *beta, mercer_error *err)
{
    (void)host, (void)err;
    if (mercer_step_features(step) < 2)
        beta[mercer_step_features(step)] = 1;
    return MERCER_OK;
}

/* A row that does not exist. */
static mercer_status outside(void *host, mercer_step *step, double *beta, mercer_error *err)
{
    int64_t row = N;
    double column[N];
    (void)host, (void)beta;
    return mercer_step_columns(step, &row, 1, column, err);
}

static void expect_refusal(const struct set *s, const mercer_criterion *criterion,
                           const char *method, const char *text)
{
    mercer_model *model = NULL;
    mercer_fit_options options = options_of(method, criterion);
    assert_int_not_equal(mercer_fit(ctx, &options, s->rows, s->values, &model, NULL, &why),
                         MERCER_OK);
    assert_null(model);
    assert_non_null(strstr(why.text, text));
}

static void test_criteria_that_fail(void **state)
{
    (void)state;
    struct set s = make_set(1);
    mercer_model *model = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    expect_refusal(&s, &(mercer_criterion){SIZED, "a", refusing, NULL, 0}, NULL, "no, thank you");
    expect_refusal(&s, &(mercer_criterion){SIZED, "a", infinite, NULL, 0}, NULL, "not finite");
    expect_refusal(&s, &(mercer_criterion){SIZED, "a", outside, NULL, 0}, NULL, "row 70");
    expect_refusal(&s, &(mercer_criterion){SIZED, "a:b", ending, NULL, 0}, NULL, "':'");
    expect_refusal(&s, &(mercer_criterion){SIZED, "", ending, NULL, 0}, NULL, "name");
    expect_refusal(&s, &(mercer_criterion){SIZED, "a", NULL, NULL, 0}, NULL, "no function");
    expect_refusal(&s, &(mercer_criterion){SIZED, "a", ending, NULL, 0}, "kpls", "only one");
    expect_refusal(&s, &(mercer_criterion){0, "a", ending, NULL, 0}, NULL, "not initialised");
    expect_refusal(&s, NULL, NULL, "no method");
    mercer_criterion two = {SIZED, "two", ending, NULL, 1};
    mercer_fit_options options = options_of(NULL, &two);
    mrc_free(features_of(&s, &options, &model));
    mercer_model_get_info(model, &info);
    assert_int_equal(info.components, 2);
    assert_int_equal(info.expansion_points, N); /* exact centring keeps all rows */
    mercer_model_free(model);
    check_failing_allocations(ctx, &options, s.rows, s.values);
    free_set(&s);
}

/* ---- what is told about the features ---- */

/* |A'K A|_F of the first k features, and the largest and squared |y|^2 K_ii. */
static void check_bound(const mercer_model *model, const double *t, const double *k,
                        const double *y, int64_t outputs)
{
    int64_t l = model->components, m = model->basis_points;
    const double *a = model->coefficients;
    double spread = 0, radius2 = 0;
    double *y2 = ref_alloc(N, 1);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t c = 0; c < outputs; c++)
            y2[i] += y[i * outputs + c] * y[i * outputs + c];
        spread += pow(y2[i] * k[i * N + i], 2);
        radius2 = fmax(radius2, y2[i] * k[i * N + i]);
    }
    for (int64_t kept = 1; kept <= l; kept++) {
        const double *terms = model->bound + (kept - 1) * MERCER_BOUND_COLUMNS;
        double empirical = 0, c2 = 0;
        for (int64_t j = 0; j < kept; j++) {
            for (int64_t i = 0; i < N; i++)
                empirical += y2[i] * t[i * l + j] * t[i * l + j] / N;
            for (int64_t h = 0; h < kept; h++) {
                double product = 0;
                for (int64_t p = 0; p < m; p++)
                    for (int64_t q = 0; q < m; q++) {
                        int64_t row = model->selected ? model->selected[p] : p;
                        int64_t other = model->selected ? model->selected[q] : q;
                        product += a[p * l + j] * k[row * N + other] * a[q * l + h];
                    }
                c2 += product * product;
            }
        }
        assert_true(fabs(terms[MERCER_BOUND_EMPIRICAL] - empirical) <= 1e-9 * empirical);
        double complexity = 2 * sqrt(c2) / N * sqrt(spread);
        double confidence = 3 * sqrt(c2) * radius2 * sqrt(log(20) / (2. * N));
        assert_true(fabs(terms[MERCER_BOUND_COMPLEXITY] - complexity) <= 1e-9 * complexity);
        assert_true(fabs(terms[MERCER_BOUND_CONFIDENCE] - confidence) <= 1e-9 * confidence);
    }
    assert_int_equal(model->influence_count, 5);
    for (int64_t i = 0; i < 5; i++) {
        int64_t row = (int64_t)model->influence[2 * i], larger = 0;
        assert_true(fabs(model->influence[2 * i + 1] - y2[row] * k[row * N + row]) <= 1e-12);
        for (int64_t r = 0; r < N; r++)
            larger += y2[r] * k[r * N + r] > y2[row] * k[row * N + row];
        assert_true(larger <= i);
    }
    mrc_free(y2);
}

/* sum_ij K_ij (YY')_ij over the two norms. */
static double plain_alignment(const double *k, const double *y, int64_t outputs)
{
    double dot = 0, kernel2 = 0, targets2 = 0;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            double product = 0;
            for (int64_t c = 0; c < outputs; c++)
                product += y[i * outputs + c] * y[j * outputs + c];
            dot += product * k[i * N + j];
            kernel2 += k[i * N + j] * k[i * N + j];
            targets2 += product * product;
        }
    return dot / sqrt(kernel2 * targets2);
}

static void test_bound_and_alignment(void **state)
{
    static const char *const methods[] = {"sma", "smc", "kpls", "smc:norm=direction"};
    (void)state;
    for (int64_t outputs = 1; outputs <= 2; outputs++) {
        struct set s = make_set(outputs);
        mrc_kernel kernel;
        assert_ok(mrc_kernel_parse_in(&kernel, ctx, "rbf:sigma=1.5", err));
        assert_ok(mrc_kernel_resolve(&kernel, ctx, s.rows, err));
        double *k = ref_cross(&kernel, s.x, N, s.x, N, D), *y = ref_alloc(N, outputs);
        for (int64_t c = 0; c < outputs; c++) {
            double mean = 0;
            for (int64_t i = 0; i < N; i++)
                mean += s.y[i * outputs + c] / N;
            for (int64_t i = 0; i < N; i++)
                y[i * outputs + c] = s.y[i * outputs + c] - mean;
        }
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            mercer_model *model = NULL;
            mercer_fit_options options = options_of(methods[i], NULL);
            options.center = "none";
            double *t = features_of(&s, &options, &model);
            check_bound(model, t, k, y, outputs);
            assert_true(fabs(model->kernel_alignment - plain_alignment(k, y, outputs)) <= 1e-12);
            for (int64_t j = 0; j < L; j++)
                assert_int_equal(model->evaluations[j], i == 2 ? N : j + 1);
            mrc_free(t);
            mercer_model_free(model);
        }
        mrc_free(k);
        mrc_free(y);
        free_set(&s);
    }
}

/* The bound chooses the prefix that makes it largest less its price, and the model is that prefix.
 */
static void test_components_by_bound(void **state)
{
    (void)state;
    struct set s = make_set(1);
    static const char *const methods[] = {"smc", "kpls"};
    for (int i = 0; i < 2; i++) {
        mercer_model *all = NULL, *chosen = NULL;
        mercer_fit_options options = options_of(methods[i], NULL);
        options.components = 20;
        double *every = features_of(&s, &options, &all);
        options.components = MERCER_COMPONENTS_BOUND;
        double *some = features_of(&s, &options, &chosen);
        double best = -INFINITY;
        int64_t count = 0;
        for (int64_t j = 0; j < 20; j++) {
            const double *terms = all->bound + j * MERCER_BOUND_COLUMNS;
            double value = terms[0] - terms[1] - terms[2] - all->bound[0] / 2 * (double)(j + 1);
            if (value > best) {
                best = value;
                count = j + 1;
            }
        }
        assert_int_equal(chosen->components, count);
        for (int64_t r = 0; r < N; r++)
            for (int64_t j = 0; j < count; j++)
                assert_true(fabs(every[r * 20 + j] - some[r * count + j]) <= 1e-12);
        mrc_free(every);
        mrc_free(some);
        mercer_model_free(all);
        mercer_model_free(chosen);
    }
    mercer_fit_options options = options_of("kpca", NULL);
    options.components = MERCER_COMPONENTS_BOUND;
    assert_int_equal(mercer_fit_options_check(&options, 0, &why), MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "bound"));
    free_set(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_as_criteria),
        cmocka_unit_test(test_criteria_that_fail),
        cmocka_unit_test(test_bound_and_alignment),
        cmocka_unit_test(test_components_by_bound),
    };
    ctx = new_ctx(2);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mercer_ctx_free(ctx);
    return failed;
}
