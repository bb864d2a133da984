/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluation against a plain loop of fits; nothing of the rows held out reaches a fit; grids. */
#include "support.h"

#include "base/memory.h"
#include "data/rows.h"
#include "eval/folds.h"
#include "eval/grid.h"
#include "eval/importance.h"

#include <mercer/mercer.h>

#include <stdio.h>

enum { N = 90, D = 3 };

static mercer_ctx *ctx;
static mercer_error why;

struct set {
    double *x;
    double y[N];
    int64_t codes[N];
    mercer_rows *rows;
    mercer_targets *classes, *values;
};

static void fill_set(struct set *s)
{
    static const char *const names[] = {"a", "b", "c"};
    for (int64_t i = 0; i < N; i++) {
        s->y[i] = sin(s->x[i * D]) + s->x[i * D + 1];
        s->codes[i] = s->y[i] > 0.7 ? 2 : s->y[i] > -0.4;
    }
    assert_ok(view_f64(ctx, s->x, N, D, D, &s->rows, err));
    assert_ok(mercer_targets_new_classes(s->codes, N, names, 3, NULL, &s->classes, err));
    assert_ok(mercer_targets_new_values(s->y, N, 1, NULL, &s->values, err));
}

static void free_set(struct set *s)
{
    mercer_rows_free(s->rows);
    mercer_targets_free(s->classes);
    mercer_targets_free(s->values);
    free(s->x);
}

static mercer_fit_options fit_options(const char *method)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = "rbf:sigma=median";
    options.scale = "standard";
    options.components = 4;
    return options;
}

static mercer_evaluate_options options_around(const mercer_fit_options *fit, int64_t folds)
{
    mercer_evaluate_options options;
    mercer_evaluate_options_init(&options);
    options.fit = fit;
    options.folds = folds;
    return options;
}

static mercer_evaluation *evaluate(const mercer_evaluate_options *options, const struct set *s,
                                   const mercer_targets *targets)
{
    mercer_evaluation *e = NULL;
    mercer_ctx_set_seed(ctx, 5);
    assert_ok(mercer_evaluate(ctx, options, s->rows, targets, &e, err));
    return e;
}

static mercer_evaluation_info info_of(const mercer_evaluation *e)
{
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_get_info(e, &info);
    return info;
}

static mercer_evaluation_fold fold_of(const mercer_evaluation *e, int64_t f)
{
    mercer_evaluation_fold fold = {.struct_size = sizeof fold};
    mercer_evaluation_get_fold(e, f, &fold);
    return fold;
}

/* Every fold's predictions are those of a fit to the other rows. */
static void test_folds_are_fits(void **state)
{
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpls");
    mercer_evaluate_options options = options_around(&fit, 4);
    (void)state;
    fill_set(&s);
    options.repeats = 2;
    mercer_evaluation *e = evaluate(&options, &s, s.values);
    mercer_evaluation_info info = info_of(e);
    double mean = 0, squares = 0;
    assert_int_equal(info.folds, 8);
    for (int64_t f = 0; f < info.folds; f++) {
        mercer_evaluation_fold fold = fold_of(e, f);
        double x[N * D], y[N], predicted[N], sum = 0;
        int64_t used = 0;
        for (int64_t i = 0, held = 0; i < N; i++) {
            if (held < fold.rows && fold.row[held] == i) {
                held++;
                continue;
            }
            memcpy(x + used * D, s.x + i * D, D * sizeof *x);
            y[used++] = s.y[i];
        }
        assert_int_equal(used + fold.rows, N);
        mercer_rows *rows = NULL, *all = NULL;
        mercer_targets *targets = NULL;
        mercer_model *model = NULL;
        assert_ok(view_f64(ctx, x, used, D, D, &rows, err));
        assert_ok(view_f64(ctx, s.x, N, D, D, &all, err));
        assert_ok(mercer_targets_new_values(y, used, 1, NULL, &targets, err));
        /* Widths by the median draw rows: the seed of a fold is a function of its number. */
        mercer_ctx_set_seed(ctx, 5 + 0x9E3779B97F4A7C15u * ((uint64_t)f + 1));
        assert_ok(mercer_fit(ctx, &fit, rows, targets, &model, NULL, err));
        assert_ok(mercer_model_predict(ctx, model, all, 0, predicted, NULL, err));
        for (int64_t i = 0; i < fold.rows; i++) {
            assert_true(fabs(fold.scores[i] - predicted[fold.row[i]]) <= 1e-12);
            sum += pow(predicted[fold.row[i]] - s.y[fold.row[i]], 2) / (double)fold.rows;
        }
        assert_true(fabs(fold.value - sqrt(sum)) <= 1e-12);
        mean += fold.value / 8;
        mercer_model_free(model);
        mercer_rows_free(rows);
        mercer_rows_free(all);
        mercer_targets_free(targets);
    }
    for (int64_t f = 0; f < info.folds; f++)
        squares += pow(fold_of(e, f).value - mean, 2);
    assert_true(fabs(info.mean - mean) <= 1e-14);
    assert_true(fabs(info.sd - sqrt(squares / 7)) <= 1e-14);
    mercer_evaluation_free(e);
    free_set(&s);
}

/* What is tuned is the best of a plain search over the same inner folds; one fit serves all numbers
 * of components. */
static void test_tuning(void **state)
{
    static const char *const tune[] = {"components=1:5:+2", "kernel.sigma=0.5,1,4"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpls");
    mercer_evaluate_options options = options_around(&fit, 3);
    (void)state;
    fill_set(&s);
    options.tune = tune;
    options.tune_count = 2;
    mercer_evaluation *e = evaluate(&options, &s, s.classes);
    assert_int_equal(info_of(e).choices, 9);
    assert_non_null(info_of(e).confusion);
    for (int64_t f = 0; f < 3; f++) {
        mercer_evaluation_fold fold = fold_of(e, f);
        assert_true(strncmp(fold.chosen, "kernel.sigma=", 13) == 0);
        assert_true(fold.components == 1 || fold.components == 3 || fold.components == 5);
        /* The same choice by hand gives the same predictions. */
        char kernel[64];
        mercer_fit_options one = fit;
        mercer_evaluate_options plain = options;
        snprintf(kernel, sizeof kernel, "rbf:%s", fold.chosen + 7);
        one.kernel = kernel;
        one.components = (double)fold.components;
        plain.fit = &one;
        plain.tune_count = 0;
        mercer_evaluation *other = evaluate(&plain, &s, s.classes);
        mercer_evaluation_fold again = fold_of(other, f);
        assert_int_equal(again.rows, fold.rows);
        assert_true(fabs(again.value - fold.value) < 1e-15);
        assert_memory_equal(again.codes, fold.codes, (size_t)fold.rows * sizeof *fold.codes);
        assert_true(isnan(again.inner) && !isnan(fold.inner));
        mercer_evaluation_free(other);
    }
    mercer_evaluation_free(e);
    free_set(&s);
}

/* The choice on all rows: the same with folds around it, with test rows, alone, and for any number
 * of threads; a fit of it is valid; refusals. */
static void test_choice_on_all_rows(void **state)
{
    static const char *const tune[] = {"components=1:5:+2", "kernel.sigma=0.5,1,4"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpls");
    mercer_evaluate_options options = options_around(&fit, 3);
    mercer_evaluation *nested, *alone = NULL, *tested = NULL;
    mercer_tuning a = {.struct_size = sizeof a}, b = a, c = a, none = a;
    mercer_tuning_axis axis = {.struct_size = sizeof axis};
    (void)state;
    fill_set(&s);
    options.tune = tune;
    options.tune_count = 2;
    nested = evaluate(&options, &s, s.classes);
    mercer_evaluation_get_tuning(nested, &none);
    assert_int_equal(none.cells, 0); /* it was not asked for */
    mercer_evaluation_free(nested);
    options.choose = 1;
    nested = evaluate(&options, &s, s.classes);
    options.folds = 0;
    mercer_ctx_set_seed(ctx, 5);
    assert_ok(mercer_ctx_set_threads(ctx, 1, err));
    assert_ok(mercer_tune(ctx, &options, s.rows, s.classes, &alone, err));
    options.test = s.rows;
    options.test_targets = s.classes;
    mercer_ctx_set_seed(ctx, 5);
    assert_ok(mercer_evaluate(ctx, &options, s.rows, s.classes, &tested, err));
    assert_ok(mercer_ctx_set_threads(ctx, 2, err));
    mercer_evaluation_get_tuning(nested, &a);
    mercer_evaluation_get_tuning(alone, &b);
    mercer_evaluation_get_tuning(tested, &c);
    assert_int_equal(a.cells, 9);
    assert_int_equal(a.axes, 2);
    assert_int_equal(a.folds, 5);
    assert_int_equal(a.rows, N);
    assert_string_equal(a.rule, "best");
    assert_memory_equal(a.values, b.values, 45 * sizeof *a.values);
    assert_memory_equal(a.values, c.values, 45 * sizeof *a.values);
    assert_true(a.chosen == b.chosen && a.chosen == c.chosen && a.chosen == a.best);
    assert_int_equal(info_of(alone).folds, 0);
    assert_true(fold_of(tested, 0).inner == a.mean[a.chosen]);
    for (int64_t cell = 0; cell < 9; cell++) {
        double sum = 0;
        for (int64_t f = 0; f < 5; f++)
            sum += a.values[f * 9 + cell];
        assert_true(fabs(a.mean[cell] - sum / 5) < 1e-15 && a.mean[a.best] <= a.mean[cell]);
    }
    mercer_evaluation_get_axis(nested, 1, &axis);
    assert_string_equal(axis.key, "components");
    assert_true(strtod(axis.values[axis.chosen], NULL) == a.components);
    mercer_evaluation_get_axis(nested, 0, &axis);
    assert_string_equal(axis.key, "kernel.sigma");
    assert_non_null(strstr(a.kernel, axis.values[axis.chosen]));
    mercer_evaluation_free(nested);
    mercer_evaluation_free(alone);
    mercer_evaluation_free(tested);
    assert_int_equal(mercer_tune(ctx, &options, s.rows, s.classes, &alone, NULL),
                     MERCER_ERR_ARGUMENT); /* test rows */
    options.test = NULL;
    options.test_targets = NULL;
    options.importance = 1;
    assert_int_equal(mercer_tune(ctx, &options, s.rows, s.classes, &alone, NULL),
                     MERCER_ERR_ARGUMENT);
    options.importance = 0;
    options.tune_count = 0;
    assert_int_equal(mercer_tune(ctx, &options, s.rows, s.classes, &alone, NULL),
                     MERCER_ERR_ARGUMENT);
    options.tune_rule = "2se";
    assert_int_equal(mercer_evaluate(ctx, &options, s.rows, s.classes, &alone, NULL),
                     MERCER_ERR_ARGUMENT);
    free_set(&s);
}

/* Rows held out may be anything: predictions of the others, and all that was chosen, stay. */
static void test_no_leak(void **state)
{
    static const char *const tune[] = {"components=1:6:+1", "kernel.sigma=0.5:4:*2"};
    static const int64_t start[] = {0, 30},
                         held[30] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                     15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
    mercer_fit_options fit = fit_options("kpls");
    mercer_evaluate_options options;
    mercer_evaluation *results[2];
    struct set sets[2];
    (void)state;
    mercer_evaluate_options_init(&options);
    options.fit = &fit;
    options.splits = 1;
    options.split_start = start;
    options.split_rows = held;
    options.tune = tune;
    options.tune_count = 2;
    for (int v = 0; v < 2; v++) {
        sets[v] = (struct set){.x = normal_rows(1, N, D, 0, 1)};
        /* The second time rows 1 to 29 are wild, and so are their labels. */
        for (int64_t i = 1; v == 1 && i < 30; i++)
            for (int64_t k = 0; k < D; k++)
                sets[v].x[i * D + k] = 1e3 * (double)(i * k);
        fill_set(&sets[v]);
        results[v] = evaluate(&options, &sets[v], sets[v].classes);
    }
    mercer_evaluation_fold a = fold_of(results[0], 0), b = fold_of(results[1], 0);
    assert_string_equal(a.chosen, b.chosen);
    assert_int_equal(a.components, b.components);
    assert_true(a.inner == b.inner);
    assert_memory_equal(a.scores, b.scores, 3 * sizeof *a.scores); /* of row 0 */
    for (int v = 0; v < 2; v++) {
        mercer_evaluation_free(results[v]);
        free_set(&sets[v]);
    }
}

/* Many columns: what is known of pairs of rows is computed once. */
enum { WIDE = 12 };

static mercer_rows *wide_rows(const double *x)
{
    mercer_rows *rows = NULL;
    assert_ok(view_f64(ctx, x, N, WIDE, WIDE, &rows, err));
    return rows;
}

/* Rows and labels held out may be anything, to the last bit of what is chosen and predicted, also
 * where kernel values of all rows come from sums that were computed for all of them at once. */
static void test_no_leak_through_pairs(void **state)
{
    static const char *const tune[] = {"components=1:6:+1", "kernel.sigma=1:8:*2"};
    static const char *const scales[] = {"none", "standard", "unit"};
    int64_t held[30];
    const int64_t start[] = {0, 30};
    (void)state;
    for (int64_t i = 0; i < 30; i++)
        held[i] = 3 * i;
    for (int v = 0; v < 6; v++) {
        mercer_fit_options fit = fit_options(v % 2 ? "kpls" : "kpca");
        mercer_evaluate_options options = options_around(&fit, 0);
        mercer_evaluation *results[2];
        fit.scale = scales[v / 2];
        fit.kernel = "rbf";
        fit.head = "knn:k=3";
        options.splits = 1;
        options.split_start = start;
        options.split_rows = held;
        options.tune = tune;
        options.tune_count = 2;
        for (int wild = 0; wild < 2; wild++) {
            struct set s = {.x = normal_rows(1, N, D, 0, 1)};
            double *x = normal_rows(2, N, WIDE, 3, 1);
            fill_set(&s);
            for (int64_t i = 1; wild && i < 30; i++) { /* all rows held out but the first */
                s.classes->codes[held[i]] = i % 3;
                for (int64_t k = 0; k < WIDE; k++)
                    x[held[i] * WIDE + k] = 1e4 * (double)(i - 2 * k);
            }
            mercer_rows_free(s.rows);
            s.rows = wide_rows(x);
            results[wild] = evaluate(&options, &s, s.classes);
            free_set(&s);
            free(x);
        }
        mercer_evaluation_fold a = fold_of(results[0], 0), b = fold_of(results[1], 0);
        assert_string_equal(a.chosen, b.chosen);
        assert_int_equal(a.components, b.components);
        assert_memory_equal(&a.inner, &b.inner, sizeof a.inner);
        assert_memory_equal(a.scores, b.scores, 3 * sizeof *a.scores); /* of the first row */
        mercer_evaluation_free(results[0]);
        mercer_evaluation_free(results[1]);
    }
}

/* Kernels of sums that are known are those of the rows, and so are slices of a given matrix. */
static void test_known_pairs_and_given_matrices(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=4", "laplacian:gamma=0.05", "matern:sigma=4",
                                          "poly:degree=2", "rbf:sigma=3 + 0.5*sigmoid:gamma=0.01"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    double *x = normal_rows(2, N, WIDE, 0, 1), *gram = NULL;
    (void)state;
    fill_set(&s);
    mercer_rows_free(s.rows);
    s.rows = wide_rows(x);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        mercer_fit_options fit = fit_options("kpls");
        mercer_evaluate_options options = options_around(&fit, 6);
        fit.scale = NULL;
        fit.kernel = kernels[k];
        mercer_evaluation *shared = evaluate(&options, &s, s.classes); /* six fits */
        for (int64_t f = 0; f < 6; f++) {                              /* and each alone */
            mercer_evaluation_fold fold = fold_of(shared, f);
            const int64_t start[] = {0, fold.rows};
            mercer_evaluate_options one = options_around(&fit, 0);
            one.splits = 1;
            one.split_start = start;
            one.split_rows = fold.row;
            mercer_evaluation *alone = evaluate(&one, &s, s.classes);
            for (int64_t i = 0; i < 3 * fold.rows; i++)
                assert_true(fabs(fold.scores[i] - fold_of(alone, 0).scores[i]) < 1e-9);
            mercer_evaluation_free(alone);
        }
        mercer_evaluation_free(shared);
    }
    /* A given matrix in folds, nested ones too, against the kernel itself. */
    static const char *const tune[] = {"components=1:5:+1"};
    mercer_fit_options fit = fit_options("kpls");
    mercer_evaluate_options options = options_around(&fit, 4);
    fit.scale = NULL;
    fit.kernel = "rbf:sigma=4";
    options.tune = tune;
    options.tune_count = 1;
    mercer_evaluation *by_rows = evaluate(&options, &s, s.classes);
    gram = malloc(sizeof *gram * N * N);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            double sum = 0;
            for (int64_t c = 0; c < WIDE; c++)
                sum += pow(x[i * WIDE + c] - x[j * WIDE + c], 2);
            gram[i * N + j] = exp(-sum / 32);
        }
    mercer_rows_free(s.rows);
    assert_ok(view_f64(ctx, gram, N, N, N, &s.rows, err));
    fit.kernel = "precomputed";
    mercer_evaluation *by_matrix = evaluate(&options, &s, s.classes);
    for (int64_t f = 0; f < 4; f++) {
        mercer_evaluation_fold a = fold_of(by_rows, f), b = fold_of(by_matrix, f);
        assert_int_equal(a.components, b.components);
        for (int64_t i = 0; i < 3 * a.rows; i++)
            assert_true(fabs(a.scores[i] - b.scores[i]) < 1e-9);
    }
    mercer_evaluation_free(by_matrix);
    fit.method = "kpca"; /* what is left of held-out rows needs their k(x,x) */
    by_matrix = evaluate(&options, &s, NULL);
    assert_true(info_of(by_matrix).mean > 0 && info_of(by_matrix).mean < 1);
    mercer_evaluation_free(by_rows);
    mercer_evaluation_free(by_matrix);
    free(gram);
    free_set(&s);
    free(x);
}

/* Choices that differ in the head alone share features, and say what they say when they are alone.
 */
static void test_heads_share_features(void **state)
{
    static const char *const together[] = {"kernel.sigma=1,2", "components=1,3", "head.k=1,5"};
    static const char *const apart[] = {"head.k=1,5", "components=1,3", "kernel.sigma=1,2"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpca");
    mercer_evaluate_options options = options_around(&fit, 3);
    (void)state;
    fill_set(&s);
    fit.head = "knn";
    options.tune = together;
    options.tune_count = 3;
    mercer_evaluation *a = evaluate(&options, &s, s.values);
    options.tune = apart;
    mercer_evaluation *b = evaluate(&options, &s, s.values);
    for (int64_t f = 0; f < 3; f++) {
        mercer_evaluation_fold one = fold_of(a, f), other = fold_of(b, f);
        assert_true(fabs(one.inner - other.inner) < 1e-9);
        assert_true(fabs(one.value - other.value) < 1e-9);
        assert_int_equal(one.components, other.components);
    }
    mercer_evaluation_free(a);
    mercer_evaluation_free(b);
    free_set(&s);
}

/* Heads that need all features are fitted for each number of them, the features once. */
static void test_whole_heads(void **state)
{
    static const char *const tune[] = {"components=1,2,4"};
    static const char *const heads[] = {"svm", "linsvm"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    (void)state;
    fill_set(&s);
    for (int h = 0; h < 2; h++) {
        mercer_fit_options fit = fit_options("kpca");
        mercer_evaluate_options options = options_around(&fit, 3);
        fit.head = heads[h];
        fit.kernel = "rbf:sigma=2";
        options.tune = tune;
        options.tune_count = 1;
        mercer_evaluation *e = evaluate(&options, &s, s.classes);
        for (int64_t f = 0; f < 3; f++) {
            mercer_evaluation_fold fold = fold_of(e, f);
            mercer_evaluate_options plain = options_around(&fit, 3);
            fit.components = (double)fold.components;
            mercer_evaluation *other = evaluate(&plain, &s, s.classes);
            assert_memory_equal(fold.codes, fold_of(other, f).codes,
                                (size_t)fold.rows * sizeof *fold.codes);
            assert_true(fold.inner >= 0 && fold.inner < 0.6);
            mercer_evaluation_free(other);
        }
        mercer_evaluation_free(e);
    }
    free_set(&s);
}

static void test_threads_and_rows_left_out(void **state)
{
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("sma:candidates=20");
    mercer_evaluate_options options = options_around(&fit, 5);
    (void)state;
    fill_set(&s);
    mercer_evaluation *two = evaluate(&options, &s, s.classes);
    assert_ok(mercer_ctx_set_threads(ctx, 1, err));
    mercer_evaluation *one = evaluate(&options, &s, s.classes);
    assert_ok(mercer_ctx_set_threads(ctx, 2, err));
    for (int64_t f = 0; f < 5; f++) {
        mercer_evaluation_fold a = fold_of(one, f), b = fold_of(two, f);
        assert_memory_equal(a.scores, b.scores, (size_t)a.rows * 3 * sizeof *a.scores);
    }
    mercer_evaluation_free(one);
    mercer_evaluation_free(two);
    options.folds = MERCER_LEAVE_ONE_OUT;
    mercer_evaluation *e = evaluate(&options, &s, s.classes);
    int64_t wrong = 0, counted = 0;
    for (int64_t f = 0; f < N; f++) {
        mercer_evaluation_fold fold = fold_of(e, f);
        assert_int_equal(fold.rows, 1);
        wrong += fold.codes[0] != s.codes[fold.row[0]];
    }
    assert_true(fabs(info_of(e).mean - (double)wrong / N) <= 1e-15);
    assert_true(isnan(info_of(e).sd));
    for (int64_t i = 0; i < 9; i++)
        counted += info_of(e).confusion[i];
    assert_int_equal(counted, N);
    mercer_evaluation_free(e);
    /* Without a head: what the features keep of the rows held out; all of it with all features. */
    fit = fit_options("kpca");
    fit.kernel = "linear";
    fit.components = D;
    options.folds = 3;
    options.metric = "reconstruction";
    e = evaluate(&options, &s, NULL);
    assert_string_equal(info_of(e).metric, "reconstruction");
    assert_true(fabs(info_of(e).mean) < 1e-12);
    mercer_evaluation_free(e);
    options.metric = "preimage"; /* of a linear kernel they are exact */
    fit.components = 2;
    double left[2];
    for (int v = 0; v < 2; v++) {
        e = evaluate(&options, &s, NULL);
        left[v] = info_of(e).mean;
        mercer_evaluation_free(e);
        options.metric = "reconstruction";
    }
    assert_true(left[0] > 0.1 && fabs(left[0] - left[1]) < 0.1 * left[1]); /* other units */
    free_set(&s);
}

/* Columns from features of the others: by hand, and what is chosen by it. */
static void test_columns(void **state)
{
    static const char *const tune[] = {"components=1:4:+1"};
    enum { COLUMNS = 6, RANK = 2 };
    double *x = malloc(sizeof *x * N * COLUMNS), *z = normal_rows(3, N, RANK, 0, 2);
    double *mix = normal_rows(4, COLUMNS, RANK, 0, 1), *noise = normal_rows(5, N, COLUMNS, 0, 0.1);
    mercer_rows *rows = NULL;
    mercer_fit_options fit = fit_options("pca");
    mercer_evaluate_options options = options_around(&fit, 3);
    mercer_evaluation *e = NULL;
    (void)state;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < COLUMNS; j++)
            x[i * COLUMNS + j] = noise[i * COLUMNS + j] + z[i * RANK] * mix[j * RANK] +
                                 z[i * RANK + 1] * mix[j * RANK + 1];
    assert_ok(view_f64(ctx, x, N, COLUMNS, COLUMNS, &rows, err));
    fit.kernel = NULL;
    fit.scale = NULL;
    options.tune = tune;
    options.tune_count = 1;
    options.metric = "columns";
    assert_ok(mercer_evaluate(ctx, &options, rows, NULL, &e, err));
    assert_true(info_of(e).mean > 0 && info_of(e).mean < 0.05);
    for (int64_t f = 0; f < 3; f++) /* two numbers are behind the columns */
        assert_true(fold_of(e, f).components >= RANK);
    double left = info_of(e).mean;
    mercer_evaluation_free(e);
    options.tune_count = 0;
    for (int64_t k = RANK; k > 0; k--) {
        fit.components = (double)k;
        assert_ok(mercer_evaluate(ctx, &options, rows, NULL, &e, err));
        assert_true(k == RANK ? info_of(e).mean < 1.2 * left : info_of(e).mean > 5 * left);
        mercer_evaluation_free(e);
    }
    options.tune_count = 1;
    /* Columns that have nothing to do with each other are not predicted, whatever the kernel. */
    static const char *const kernels[] = {"kernel=linear,rbf:sigma=1,poly:degree=2,coef0=1"};
    mercer_rows *alone = NULL;
    assert_ok(view_f64(ctx, noise, N, COLUMNS, COLUMNS, &alone, err));
    fit.method = "kpca";
    fit.components = 2;
    options.tune = kernels;
    assert_ok(mercer_evaluate(ctx, &options, alone, NULL, &e, err));
    assert_int_equal(info_of(e).choices, 3);
    assert_true(info_of(e).mean > 0.95);
    mercer_evaluation_free(e);
    mercer_rows_free(rows);
    mercer_rows_free(alone);
    free(x);
    free(z);
    free(mix);
    free(noise);
}

/* Nothing is left behind when memory runs out: pairs, inner folds, columns, ROC curve. */
static void test_allocations_may_fail(void **state)
{
    static const char *const tune[] = {"kernel.sigma=1:8:*2", "components=1,2"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    double *x = normal_rows(2, N, WIDE, 0, 1);
    mercer_rows *rows = NULL;
    mercer_targets *two = NULL;
    int64_t codes[30], groups[30];
    static const char *const names[] = {"a", "b"};
    (void)state;
    fill_set(&s);
    for (int64_t i = 0; i < 30; i++) {
        codes[i] = s.y[i] > 0;
        groups[i] = i % 7;
    }
    assert_ok(view_f64(ctx, x, 30, WIDE, WIDE, &rows, err));
    assert_ok(mercer_targets_new_classes(codes, 30, names, 2, NULL, &two, err));
    assert_ok(mercer_ctx_set_threads(ctx, 1, err));
    for (int v = 0; v < 3; v++) {
        mercer_fit_options fit = fit_options(v == 2 ? "kpca" : "kpls");
        mercer_evaluate_options options = options_around(&fit, 2);
        mercer_status rc = MERCER_ERR_MEMORY;
        fit.scale = v == 1 ? "standard" : NULL;
        options.inner_folds = 2;
        options.tune = tune;
        options.tune_count = 2;
        options.choose = 1;
        options.groups = v == 1 ? groups : NULL;
        options.tune_rule = v == 1 ? "1se" : NULL;
        int64_t alive = mrc_alloc_live();
        for (int64_t after = 0; rc != MERCER_OK; after += 1 + after / 16) {
            mercer_evaluation *e = NULL;
            const double *points;
            int64_t count;
            mercer_ctx_set_seed(ctx, 5);
            mrc_alloc_fail_after(after);
            rc = mercer_evaluate(ctx, &options, rows, v == 2 ? NULL : two, &e, NULL);
            if (rc == MERCER_OK && v < 2)
                rc = mercer_evaluation_get_roc(e, &points, &count, NULL);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            mercer_evaluation_free(e);
            assert_int_equal(mrc_alloc_live(), alive);
        }
    }
    assert_ok(mercer_ctx_set_threads(ctx, 2, err));
    mercer_rows_free(rows);
    mercer_targets_free(two);
    free_set(&s);
    free(x);
}

static void expect_refusal(mercer_evaluate_options options, const struct set *s,
                           const mercer_targets *targets, const char *text)
{
    mercer_evaluation *e = NULL;
    assert_int_not_equal(mercer_evaluate(ctx, &options, s->rows, targets, &e, &why), MERCER_OK);
    assert_null(e);
    if (!strstr(why.text, text))
        fail_msg("'%s' does not say '%s'", why.text, text);
}

static char told[512];

static void keep_told(void *host, const mercer_notice *given)
{
    (void)host;
    snprintf(told, sizeof told, "%s", given->text);
}

/* A value that the rows of an inner fold do not allow cannot be chosen, and that is said; the
 * run ends only when no value is left. */
static void test_values_that_cannot_be_fitted(void **state)
{
    static const char *const some[] = {"head.nu=0.05,0.9"}, *const none[] = {"head.nu=0.8,0.9"},
                             *const widths[] = {"kernel.sigma=2,1e9"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpca");
    mercer_evaluate_options options = options_around(&fit, 3);
    static const char *const names[] = {"a", "b"};
    mercer_targets *uneven = NULL;
    (void)state;
    fill_set(&s);
    for (int64_t i = 0; i < N; i++)
        s.codes[i] = i % 5 == 0;
    assert_ok(mercer_targets_new_classes(s.codes, N, names, 2, NULL, &uneven, err));
    mercer_ctx_set_notice(ctx, keep_told, NULL);
    fit.head = "svm:type=nu";
    options.tune = some;
    options.tune_count = 1;
    mercer_evaluation *e = evaluate(&options, &s, uneven);
    for (int64_t f = 0; f < 3; f++)
        assert_string_equal(fold_of(e, f).chosen, "head.nu=0.05");
    mercer_evaluation_free(e);
    options.tune = none;
    expect_refusal(options, &s, uneven, "head.nu=0.8: head svm: nu=0.8 is too large");
    fit.head = "ls";
    options.tune = widths;
    told[0] = 0;
    e = evaluate(&options, &s, uneven);
    for (int64_t f = 0; f < 3; f++)
        assert_string_equal(fold_of(e, f).chosen, "kernel.sigma=2");
    if (!strstr(told, "tune: 1 of 2 choices cannot be fitted, and are left out: kernel.sigma=1e9"))
        fail_msg("told: %s", told);
    mercer_evaluation_free(e);
    mercer_ctx_set_notice(ctx, NULL, NULL);
    mercer_targets_free(uneven);
    free_set(&s);
}

/* Heads on shared features are those of fits of their own: open parameters, targets that are
 * scaled, targets they are not for. */
static void test_heads_on_features_are_those_of_fits(void **state)
{
    static const char *const numbers[] = {"components=1,8"}, *const widths[] = {"kernel.sigma=3,3"};
    static const char *const costs[] = {"head.c=1,1"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpca");
    mercer_evaluate_options options = options_around(&fit, 3);
    (void)state;
    fill_set(&s);
    options.tune_count = 1;
    fit.kernel = "rbf:sigma=3";
    fit.components = 8;
    fit.head = "svm:kernel=rbf,c=1000"; /* gamma depends on the features */
    fit.scale_target = "standard";
    double inner[3];
    const char *const *const tunes[] = {numbers, widths};
    for (int way = 0; way < 2; way++) {
        options.tune = tunes[way];
        mercer_evaluation *e = evaluate(&options, &s, s.values);
        for (int64_t f = 0; f < 3; f++) {
            mercer_evaluation_fold fold = fold_of(e, f);
            assert_true(way == 1 || fold.components == 8);
            if (way == 0)
                inner[f] = fold.inner;
            else
                assert_true(fabs(inner[f] - fold.inner) <= 1e-9);
        }
        mercer_evaluation_free(e);
    }
    fit.scale_target = NULL;
    fit.head = "linsvm";
    options.tune = costs;
    expect_refusal(options, &s, s.values, "is for classes");
    options.tune = numbers;
    expect_refusal(options, &s, s.values, "is for classes");
    free_set(&s);
}

/* Rows left out one by one are judged together, but what is tuned is not. */
static void test_leave_one_out_tunes(void **state)
{
    static const char *const numbers[] = {"components=1,2"};
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpls");
    mercer_evaluate_options options = options_around(&fit, MERCER_LEAVE_ONE_OUT);
    (void)state;
    fill_set(&s);
    options.tune = numbers;
    options.tune_count = 1;
    mercer_evaluation *e = evaluate(&options, &s, s.classes);
    assert_int_equal(info_of(e).folds, N);
    assert_true(isnan(info_of(e).sd) && info_of(e).mean < 0.5);
    assert_true(fold_of(e, 0).inner >= 0 && fold_of(e, 0).inner < 0.5);
    mercer_evaluation_free(e);
    free_set(&s);
}

/* What metrics without labels must not see: the cells they predict, and rows they shuffle. */
static void test_metrics_without_labels_are_blind(void **state)
{
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpca");
    mercer_evaluate_options options = options_around(&fit, 3);
    double value[2];
    (void)state;
    fill_set(&s);
    fit.scale = "rowstandard"; /* makes each column a function of the others */
    mercer_evaluation *e = evaluate(&options, &s, NULL);
    assert_string_equal(info_of(e).metric, "structure");
    mercer_evaluation_free(e);
    options.metric = "columns";
    expect_refusal(options, &s, NULL, "one by one");
    fit.scale = "standard";
    static const char *const kernels[] = {"poly:degree=2,coef0=1",
                                          "poly:degree=2,coef0=1,gamma=0.33333333333333331"};
    for (int way = 0; way < 2; way++) { /* 1 / columns means all columns */
        fit.kernel = kernels[way];
        e = evaluate(&options, &s, NULL);
        value[way] = info_of(e).mean;
        mercer_evaluation_free(e);
    }
    assert_true(fabs(value[0] - value[1]) <= 1e-12);
    options = options_around(&fit, MERCER_LEAVE_ONE_OUT); /* a row alone cannot be shuffled */
    options.metric = "structure";
    fit.kernel = "rbf:sigma=2";
    e = evaluate(&options, &s, NULL);
    int64_t moved = 0;
    for (int64_t f = 0; f < N; f++)
        moved += fabs(fold_of(e, f).value) > 1e-6;
    assert_true(moved > N * 9 / 10);
    assert_true(fabs(info_of(e).mean) < 0.1); /* columns that have nothing to do with each other */
    mercer_evaluation_free(e);
    free_set(&s);
}

/* A map is learnt from the labels of the rows to learn from, also where nothing is predicted: the
 * values are those of a fit by hand. Columns predicted from others refuse it. */
static void test_map_without_head(void **state)
{
    enum { HELD = 30, L = 3 };
    static const char *const metrics[] = {"reconstruction", "preimage"};
    static const char *const numbers[] = {"components=1,3"};
    static const int64_t start[] = {0, HELD};
    struct set s = {.x = normal_rows(6, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpca");
    mercer_evaluate_options options;
    mercer_rows *learn = NULL, *judged = NULL;
    mercer_targets *values = NULL;
    mercer_model *model = NULL;
    int64_t held[HELD];
    double features[HELD * L], errors[HELD], back[HELD * D], all = 0, kept = 0, off = 0, spread = 0;
    (void)state;
    fill_set(&s);
    for (int64_t i = 0; i < HELD; i++)
        held[i] = i;
    fit.scale = NULL;
    fit.components = L;
    fit.map = "agop:steps=2,form=full,choose=none";
    assert_ok(view_f64(ctx, s.x + HELD * D, N - HELD, D, D, &learn, err));
    assert_ok(view_f64(ctx, s.x, HELD, D, D, &judged, err));
    assert_ok(mercer_targets_new_values(s.y + HELD, N - HELD, 1, NULL, &values, err));
    mercer_ctx_set_seed(ctx, 5);
    assert_ok(mercer_fit(ctx, &fit, learn, values, &model, NULL, err));
    assert_ok(mercer_model_transform(ctx, model, judged, NULL, features, errors, err));
    assert_ok(mercer_model_inverse(ctx, model, features, HELD, back, NULL, err));
    for (int64_t i = 0; i < HELD; i++)
        all += errors[i];
    for (int64_t i = 0; i < HELD * L; i++)
        kept += features[i] * features[i];
    for (int64_t i = 0; i < HELD * D; i++)
        off += pow(back[i] - s.x[i], 2) / HELD;
    for (int64_t j = 0; j < D; j++) {
        double mean = 0;
        for (int64_t i = HELD; i < N; i++)
            mean += s.x[i * D + j] / (N - HELD);
        for (int64_t i = HELD; i < N; i++)
            spread += pow(s.x[i * D + j] - mean, 2) / (N - HELD);
    }
    for (int m = 0; m < 2; m++) {
        options = options_around(&fit, 0);
        options.splits = 1;
        options.split_start = start;
        options.split_rows = held;
        options.metric = metrics[m];
        mercer_evaluation *e = evaluate(&options, &s, s.values);
        double expected = m ? off / spread : all / (all + kept);
        if (!(fabs(info_of(e).mean - expected) <= 1e-9 * expected))
            fail_msg("metric %d: %.12g, not %.12g", m, info_of(e).mean, expected);
        mercer_evaluation_free(e);
    }
    options = options_around(&fit, 3);
    expect_refusal(options, &s, NULL, "learnt from labels");
    options.metric = "columns";
    expect_refusal(options, &s, NULL, "columns predicts columns");
    expect_refusal(options, &s, s.values, "columns predicts columns");
    assert_string_equal(why.key, "map metric");
    /* Columns that have nothing to do with each other: a map that leaves one of them makes rows
     * easy to keep, whether they are shuffled or not. */
    options.metric = "structure";
    mercer_evaluation *e = evaluate(&options, &s, s.values);
    if (!(fabs(info_of(e).mean) < 0.1))
        fail_msg("structure %g of columns that have none", info_of(e).mean);
    mercer_evaluation_free(e);
    options = options_around(&fit, 0); /* a choice, too */
    options.tune = numbers;
    options.tune_count = 1;
    assert_ok(mercer_tune(ctx, &options, s.rows, s.classes, &e, err));
    assert_string_equal(info_of(e).metric, "structure");
    mercer_evaluation_free(e);
    mercer_model_free(model);
    mercer_rows_free(learn);
    mercer_rows_free(judged);
    mercer_targets_free(values);
    free_set(&s);
}

/* What the metric loses when a column of the held-out rows is rotated, plainly: a fit, predictions
 * of rows as they are and as they are changed. A constant column loses nothing at all. */
static void test_importance(void **state)
{
    enum { HELD = 31 };
    static const struct {
        const char *method, *head;
        bool classes, tuned;
    } cases[] = {{"kpca", "ls", false, false},
                 {"kpls", NULL, true, false},
                 {"kpca", "knn:k=3", true, true},
                 {"krr", NULL, false, false},
                 {"kpca", NULL, false, false}};
    static const char *const tune[] = {"components=1:4:+1", "kernel.sigma=1,2"};
    int64_t held[HELD];
    const int64_t start[] = {0, HELD};
    (void)state;
    for (int64_t i = 0; i < HELD; i++)
        held[i] = 2 * i + 1;
    for (int c = 0; c < 5; c++) {
        struct set s = {.x = normal_rows(3, N, D, 0, 1)};
        for (int64_t i = 0; i < N; i++)
            s.x[i * D + 2] = 7; /* constant */
        fill_set(&s);
        bool none = !cases[c].head && strcmp(cases[c].method, "kpca") == 0;
        mercer_fit_options fit = fit_options(cases[c].method);
        mercer_evaluate_options options = options_around(&fit, 0);
        fit.kernel = "rbf:sigma=2";
        fit.scale = NULL;
        fit.head = cases[c].head;
        fit.components = strcmp(cases[c].method, "krr") == 0 ? 0 : 4;
        options.splits = 1;
        options.split_start = start;
        options.split_rows = held;
        options.importance = 1;
        options.tune = cases[c].tuned ? tune : NULL;
        options.tune_count = cases[c].tuned ? 2 : 0;
        const mercer_targets *targets = none ? NULL : cases[c].classes ? s.classes : s.values;
        mercer_evaluation *e = evaluate(&options, &s, targets);
        const double *losses;
        int64_t columns;
        mercer_evaluation_importance(e, &losses, &columns);
        assert_int_equal(columns, D);
        mercer_evaluation_fold fold = fold_of(e, 0);

        /* The same by hand. */
        double part[(N - HELD) * D], part_y[N - HELD], rest[HELD * D];
        int64_t part_codes[N - HELD], learn = 0, at = 0;
        for (int64_t i = 0; i < N; i++)
            if (at < HELD && held[at] == i)
                memcpy(rest + D * at++, s.x + D * i, D * sizeof *rest);
            else {
                memcpy(part + D * learn, s.x + D * i, D * sizeof *part);
                part_y[learn] = s.y[i];
                part_codes[learn++] = s.codes[i];
            }
        static const char *const names[] = {"a", "b", "c"};
        mercer_rows *rows = NULL, *others = NULL;
        mercer_targets *some = NULL;
        mercer_model *model = NULL;
        char kernel[64] = "rbf:sigma=2";
        if (cases[c].tuned) {
            snprintf(kernel, sizeof kernel, "rbf:%s", strstr(fold.chosen, "sigma"));
            fit.components = (double)fold.components;
        }
        fit.kernel = kernel;
        assert_ok(view_f64(ctx, part, learn, D, D, &rows, err));
        assert_ok(view_f64(ctx, rest, HELD, D, D, &others, err));
        if (cases[c].classes)
            assert_ok(mercer_targets_new_classes(part_codes, learn, names, 3, NULL, &some, err));
        else
            assert_ok(mercer_targets_new_values(part_y, learn, 1, NULL, &some, err));
        assert_ok(mercer_fit(ctx, &fit, rows, none ? NULL : some, &model, NULL, err));
        double value[D + 1] = {0};
        int64_t ring[HELD];
        /* Each fold has a seed of its own, see evaluate.c. */
        mrc_importance_ring(mercer_ctx_seed(ctx) + 0x9E3779B97F4A7C15u, HELD, ring);
        for (int64_t run = 0; run < 1 + D * MRC_IMPORTANCE_TIMES; run++) {
            int64_t k = run == 0 ? -1 : (run - 1) / MRC_IMPORTANCE_TIMES;
            int64_t ahead = 1 + (run - 1) % MRC_IMPORTANCE_TIMES;
            double share = run == 0 ? 1 : 1.0 / MRC_IMPORTANCE_TIMES;
            double saved[HELD], features[HELD * 4], errors[HELD], scores[HELD * 3], sum = 0,
                                                                                    all = 0;
            int64_t codes[HELD];
            for (int64_t i = 0; k >= 0 && i < HELD; i++)
                saved[i] = rest[i * D + k];
            for (int64_t i = 0; k >= 0 && i < HELD; i++)
                rest[ring[i] * D + k] = saved[ring[(i + ahead) % HELD]];
            if (none) {
                assert_ok(mercer_model_transform(ctx, model, others, NULL, features, errors, err));
                for (int64_t i = 0; i < HELD; i++) {
                    sum += errors[i];
                    all += errors[i];
                    for (int64_t j = 0; j < 4; j++)
                        all += features[i * 4 + j] * features[i * 4 + j];
                }
                value[k + 1] += share * sum / all;
            } else {
                assert_ok(mercer_model_predict(ctx, model, others, 0, scores, codes, err));
                for (int64_t i = 0; i < HELD; i++)
                    sum += cases[c].classes ? codes[i] != s.codes[held[i]]
                                            : pow(scores[i] - s.y[held[i]], 2);
                value[k + 1] += share * (cases[c].classes ? sum / HELD : sqrt(sum / HELD));
            }
            for (int64_t i = 0; k >= 0 && i < HELD; i++)
                rest[i * D + k] = saved[i];
        }
        for (int64_t k = 0; k < D; k++) {
            double loss = losses[k * MERCER_IMPORTANCE_COLUMNS + MERCER_IMPORTANCE_LOSS];
            if (!(fabs(loss - (value[k + 1] - value[0])) <= 1e-9))
                fail_msg("case %d, column %d: loss %.12g, not %.12g", c, (int)k, loss,
                         value[k + 1] - value[0]);
            assert_true(k < 2 ? loss != 0 || cases[c].classes : loss == 0);
            assert_true(isnan(losses[k * MERCER_IMPORTANCE_COLUMNS + MERCER_IMPORTANCE_SD]));
        }
        mercer_evaluation_free(e);

        /* Folds: means of theirs, for any number of threads. */
        double first[D * MERCER_IMPORTANCE_COLUMNS];
        options.splits = 0;
        options.split_start = options.split_rows = NULL;
        options.folds = 4;
        fit.kernel = "rbf:sigma=2";
        for (int threads = 1; threads <= 3; threads += 2) {
            assert_ok(mercer_ctx_set_threads(ctx, threads, err));
            e = evaluate(&options, &s, targets);
            mercer_evaluation_importance(e, &losses, &columns);
            if (threads == 1)
                memcpy(first, losses, sizeof first);
            assert_memory_equal(losses, first, sizeof first);
            assert_true(losses[2 * MERCER_IMPORTANCE_COLUMNS] == 0);
            mercer_evaluation_free(e);
        }
        options.folds = MERCER_LEAVE_ONE_OUT;
        mercer_evaluation *nothing = NULL;
        if (!none) {
            assert_int_equal(mercer_evaluate(ctx, &options, s.rows, targets, &nothing, &why),
                             MERCER_ERR_ARGUMENT);
            assert_non_null(strstr(why.text, "no other row"));
        } else {
            options.folds = 3;
            options.metric = "structure";
            assert_int_equal(mercer_evaluate(ctx, &options, s.rows, targets, &nothing, &why),
                             MERCER_ERR_ARGUMENT);
            assert_non_null(strstr(why.text, "reconstruction"));
        }
        mercer_model_free(model);
        mercer_targets_free(some);
        mercer_rows_free(rows);
        mercer_rows_free(others);
        free_set(&s);
    }
}

/* The ring of rows is a permutation that the seed decides; every place leads to every other about
 * equally often. */
static void test_importance_ring(void **state)
{
    enum { ROWS = 7, DRAWS = 6000 };
    int64_t ring[ROWS], next[ROWS][ROWS] = {{0}};
    (void)state;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        bool seen[ROWS] = {false};
        mrc_importance_ring(draw, ROWS, ring);
        for (int64_t i = 0; i < ROWS; i++) {
            assert_in_range(ring[i], 0, ROWS - 1);
            assert_false(seen[ring[i]]);
            seen[ring[i]] = true;
            next[ring[i]][ring[(i + 1) % ROWS]]++;
        }
    }
    /* Binomial, of share 1/6; 42 counts, 5 standard deviations. */
    double expected = DRAWS / (ROWS - 1.0), limit = 5 * sqrt(expected * (1 - 1 / (ROWS - 1.0)));
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < ROWS; j++)
            assert_true(i == j ? next[i][j] == 0 : fabs((double)next[i][j] - expected) < limit);
}

static void test_refusals(void **state)
{
    struct set s = {.x = normal_rows(1, N, D, 0, 1)};
    mercer_fit_options fit = fit_options("kpls"), plain = fit_options("kpca");
    mercer_evaluate_options options;
    const int64_t start[] = {0, 2}, rows[] = {3, 3};
    const char *text;
    (void)state;
    fill_set(&s);
    mercer_evaluate_options_init(&options);
    options.tune = &text;
    options.fit = &fit;
    options.folds = N + 1;
    expect_refusal(options, &s, s.classes, "cannot be made of 90 rows");
    options.folds = 1;
    expect_refusal(options, &s, s.classes, "at least 2");
    options.folds = 0;
    expect_refusal(options, &s, NULL, "no labels or targets");
    options.metric = "auc";
    expect_refusal(options, &s, s.classes, "error, balanced");
    options.fit = &plain;
    expect_refusal(options, &s, s.classes, "head");
    options.fit = &fit;
    options.metric = NULL;
    fit.validation = s.rows;
    expect_refusal(options, &s, s.classes, "validation rows");
    fit.validation = NULL;
    options.splits = 1;
    options.split_start = start;
    options.split_rows = rows;
    expect_refusal(options, &s, s.classes, "twice");
    options.splits = 0;
    options.tune_count = 1;
    static const char *const wrong[][2] = {{"components", "KEY=VALUES"},
                                           {"components=0,2", "whole number"},
                                           {"sigma=1", "kernel.KEY"},
                                           {"kernel.sigma=", "KEY=VALUES"},
                                           {"kernel.sigma=1,,2", "empty"},
                                           {"kernel.sigma=1:2", "range"},
                                           {"kernel.sigma=4:1:*2", "never"},
                                           {"kernel.sigma=1:4:*1", "never"},
                                           {"kernel.sigma=1:4:+1e-9", "more than"},
                                           {"kernel.sigma=-1,2", "sigma"},
                                           {"method.nosuch=1", "nosuch"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        text = wrong[i][0];
        expect_refusal(options, &s, s.classes, wrong[i][1]);
    }
    free_set(&s);
}

static void test_grid(void **state)
{
    static const char *const texts[] = {"kernel.sigma=1:8:*2", "components=3,1", "head.k=1:2:+0.5"};
    mrc_grid grid;
    (void)state;
    assert_ok(
        mrc_grid_init(&grid, "kpca", "rbf:sigma=5,gamma=1", "knn:ties=lowest", texts, 3, err));
    assert_int_equal(grid.count, 12);
    assert_int_equal(grid.components_count, 2);
    assert_true(grid.components[0] == 1 && grid.components[1] == 3);
    assert_string_equal(grid.choices[5].kernel, "rbf:gamma=1,sigma=2");
    assert_string_equal(grid.choices[5].head, "knn:ties=lowest,k=2");
    assert_string_equal(grid.choices[5].text, "kernel.sigma=2,head.k=2");
    assert_string_equal(grid.choices[11].kernel, "rbf:gamma=1,sigma=8");
    mrc_grid_destroy(&grid);
    static const char *const kernels[] = {"kernel=linear,poly:degree=2,coef0=1,rbf:sigma=2"};
    assert_ok(mrc_grid_init(&grid, "kpca", "rbf", NULL, kernels, 1, err));
    assert_int_equal(grid.count, 3);
    assert_string_equal(grid.choices[0].kernel, "linear");
    assert_string_equal(grid.choices[1].kernel, "poly:degree=2,coef0=1");
    assert_string_equal(grid.choices[1].text, "kernel=poly:degree=2,coef0=1");
    assert_string_equal(grid.choices[2].kernel, "rbf:sigma=2");
    mrc_grid_destroy(&grid);
    static const char *const tenths[] = {"kernel.sigma=0.1:0.5:+0.1"};
    assert_ok(mrc_grid_init(&grid, "kpca", "rbf", NULL, tenths, 1, err));
    assert_string_equal(grid.choices[2].text, "kernel.sigma=0.3");
    mrc_grid_destroy(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_folds_are_fits),
        cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_choice_on_all_rows),
        cmocka_unit_test(test_importance),
        cmocka_unit_test(test_importance_ring),
        cmocka_unit_test(test_no_leak),
        cmocka_unit_test(test_no_leak_through_pairs),
        cmocka_unit_test(test_known_pairs_and_given_matrices),
        cmocka_unit_test(test_heads_share_features),
        cmocka_unit_test(test_whole_heads),
        cmocka_unit_test(test_threads_and_rows_left_out),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_values_that_cannot_be_fitted),
        cmocka_unit_test(test_heads_on_features_are_those_of_fits),
        cmocka_unit_test(test_leave_one_out_tunes),
        cmocka_unit_test(test_metrics_without_labels_are_blind),
        cmocka_unit_test(test_map_without_head),
        cmocka_unit_test(test_allocations_may_fail),
        cmocka_unit_test(test_refusals),
    };
    ctx = new_ctx(2);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mercer_ctx_free(ctx);
    return failed;
}
