/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether features are nested: the first k of a fit with more components against a fit with k, for
 * every method and every key of its schema, must be what the one predicate says; and what tuning
 * tells of a number of components is what a fit with that number gives. */
#include "support.h"

#include "methods/common/registry.h"

#include <mercer/evaluate.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 200, COLUMNS = 20, MOST = 16, FEWER = 5, OUTPUTS = 20, FOLDS = 3 };

/* Where the defaults take long, or all rows are one block, the keys that each of the others is
 * tried beside instead. */
static const struct {
    const char *method, *keys;
} quicker[] = {{"koca", "iterations=5"},
               {"kica", "iterations=50"},
               {"kha", "passes=3"},
               {"ikpca", "first=100"}};
enum { QUICKER = sizeof quicker / sizeof *quicker };

static double *x;
static mercer_rows *rows;
static mercer_targets *classes, *values, *many; /* many classes */

/* Two overlapping clouds, of a dozen relevant directions: no kernel matrix of it has a low rank. */
static int set_up(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mrc_rng rng;
    int64_t codes[ROWS], of_many[ROWS];
    double *y = new_doubles((int64_t)ROWS * OUTPUTS);
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    (void)state;
    x = new_doubles((int64_t)ROWS * COLUMNS);
    mrc_rng_seed(&rng, 7);
    for (int64_t i = 0; i < ROWS; i++) {
        codes[i] = i % 2;
        of_many[i] = i % 8;
        for (int64_t j = 0; j < COLUMNS; j++)
            x[i * COLUMNS + j] =
                mrc_rng_normal(&rng) * (1 + 8.0 / (double)(j + 2)) + (double)(codes[i] * (j < 4));
        for (int64_t o = 0; o < OUTPUTS; o++)
            y[i * OUTPUTS + o] = x[i * COLUMNS + o] + 0.5 * mrc_rng_normal(&rng);
    }
    rows = view(ctx, x, ROWS, COLUMNS);
    assert_ok(mercer_targets_new_classes(codes, ROWS, names, 2, NULL, &classes, err));
    assert_ok(mercer_targets_new_classes(of_many, ROWS, names, 8, NULL, &many, err));
    assert_ok(mercer_targets_new_values(y, ROWS, OUTPUTS, NULL, &values, err));
    free(y);
    mercer_ctx_free(ctx);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mercer_rows_free(rows);
    mercer_targets_free(classes);
    mercer_targets_free(values);
    mercer_targets_free(many);
    free(x);
    return 0;
}

/* What each key is set to beside its default. A key of a schema that is not here fails the test. */
static const struct setting {
    const char *method, *key, *values;
} settings[] = {
    {"kpca", "groups", "4"},
    {"kpca", "points", "all"},
    {"akfa", "captured", "0.9"},
    {"akfa", "candidates", "50"},
    {"ackfa", "delta", "0.01"},
    {"ackfa", "relative", "on|off"},
    {"ackfa", "candidates", "50"},
    {"skfa", "criterion", "variance"},
    {"skfa", "l1", "features"},
    {"skfa", "candidates", "50"},
    {"skfa", "terms", "50"},
    {"rkpca", "points", "70"},
    {"rkpca", "captured", "0.5"},
    {"rkpca", "criterion", "top"},
    {"greedy", "points", "70"},
    {"greedy", "depth", "1|10"},
    {"greedy", "maxerr", "0.9"},
    {"greedy", "mserr", "0.6"},
    {"nystroem", "points", "70"},
    {"nystroem", "sampling", "kmeans|greedy|rpcholesky"},
    {"tipping", "noise", "0.01"},
    {"tipping", "tolerance", "0.0001"},
    {"tipping", "points", "30"},
    {"tipping", "directions", "model"},
    {"kica", "contrast", "cube|gauss"},
    {"kica", "scheme", "symmetric"},
    {"kica", "iterations", "20"},
    {"kica", "energy", "0.7"},
    {"kica", "rank", "30"},
    {"kica", "points", "all"},
    {"pls", "discriminant", "on"},
    {"kpls", "discriminant", "on"},
    {"kpls", "points", "all"},
    {"sma", "candidates", "50"},
    {"sma", "sparsity", "2"},
    {"sma", "labels", "raw"},
    {"sma", "norm", "direction"},
    {"smc", "candidates", "50"},
    {"smc", "sparsity", "2"},
    {"smc", "labels", "raw"},
    {"smc", "norm", "feature"},
    {"skpls", "nu", "0.5"},
    {"skpls", "heuristic", "mr|eps"},
    {"skpls", "cache", "50"},
    {"rkopls", "subset", "60"},
    {"cr", "alpha", "0.2|1"},
    {"cr", "points", "all"},
    {"blf", "loss", "lad|exp|log"},
    {"blf", "nu", "0.5"},
    {"blf", "heuristic", "mr|eps"},
    {"blf", "cache", "50"},
    {"blf", "points", "all"},
    {"kboost", "loss", "log"},
    {"kboost", "rounds", "25"},
    {"kboost", "points", "all"},
    {"kfd", "ridge", "auto|1e-3"},
    {"koca", "neighbours", "3"},
    {"koca", "aggregate", "kth"},
    {"koca", "beta", "1"},
    {"koca", "epsilon", "0.001"},
    {"koca", "energy", "0.9"},
    {"koca", "rank", "40"},
    {"koca", "points", "60"},
    {"koca", "start", "random|kica"},
    {"koca", "restarts", "1"},
    {"koca", "search", "anneal"},
    {"koca", "iterations", "5"},
    {"koca", "continuation", "off"},
    {"koca", "temperature", "0.1"},
    {"koca", "cooling", "1.1"},
    {"koca", "validation", "split"},
    {"koca", "holdout", "0.2"},
    {"ikpca", "captured", "0.9"},
    {"ikpca", "block", "50"},
    {"ikpca", "first", "100"},
    {"ikpca", "rank", "50"},
    {"ikpca", "library", "80"},
    {"ikpca", "compress", "preimage|none"},
    {"ikpca", "tolerance", "0.001"},
    {"ikpca", "forget", "0.01"},
    {"ikpca", "window", "120"},
    {"kha", "rate", "0.05"},
    {"kha", "schedule", "constant|decay"},
    {"kha", "passes", "5"},
    {"kha", "block", "100"},
    {"kha", "first", "100"},
    {"kha", "library", "60"},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Keys set together with each of the others: what another key means may hang on them. */
static const struct {
    const char *method, *keys;
} beside[] = {
    {"rkpca", "points=70"}, {"rkpca", "criterion=top"},     {"greedy", "points=70"},
    {"greedy", "depth=10"}, {"nystroem", "points=70"},      {"ikpca", "rank=50,first=100"},
    {"blf", "nu=0.5"},      {"kha", "passes=3,library=60"}, {"tipping", "noise=0.01"},
};
enum { BESIDE = sizeof beside / sizeof *beside };

static const mercer_targets *targets_of(const char *method)
{
    if (strcmp(method, "kfd") == 0)
        return many; /* it has one component less than there are classes */
    return strcmp(method, "rkopls") == 0 || strcmp(method, "pls") == 0 ? values : classes;
}

/* Features of the training rows, and how many there are; NULL when the keys do not go together. */
static double *features_of(const char *name, const char *spec, int64_t components, int64_t *l,
                           bool *nested)
{
    mercer_ctx *ctx = new_ctx(2);
    mercer_fit_options options;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model *model = NULL;
    mercer_error why = {0};
    double *out = NULL;
    mercer_fit_options_init(&options);
    options.method = spec;
    options.kernel =
        strcmp(name, "pca") == 0 || strcmp(name, "pls") == 0 ? "linear" : "rbf:sigma=6";
    options.components = (double)components;
    options.head = "none";
    mercer_status rc = mercer_fit(ctx, &options, rows, targets_of(name), &model, NULL, &why);
    if (rc != MERCER_OK && rc != MERCER_ERR_ARGUMENT)
        fail_msg("%s, %lld components: %s", spec, (long long)components, why.text);
    if (rc == MERCER_OK) {
        mercer_model_get_info(model, &info);
        *l = info.components;
        *nested = info.nested;
        out = new_doubles(ROWS * *l);
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, out, NULL, err));
    }
    mercer_model_free(model);
    mercer_ctx_free(ctx);
    return out;
}

/* The largest difference between features that both fits have, over the size of the features. */
static double difference(const double *more, int64_t l, const double *few, int64_t k)
{
    double largest = 0, size = 0;
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < FEWER && j < k && j < l; j++) {
            largest = fmax(largest, fabs(more[i * l + j] - few[i * k + j]));
            size = fmax(size, fabs(more[i * l + j]));
        }
    return largest / size;
}

/* 1: tried. */
static int check(const char *name, const char *spec)
{
    const double ROUNDING = 1e-6; /* rounding is below, another fit above */
    int64_t l = 0, k = 0;
    double largest = 0;
    bool says = false, also = false, asked = false;
    double *more = features_of(name, spec, MOST, &l, &says), *few;
    if (!more)
        return 0;
    if (l < 2)
        fail_msg("%s: %lld component tells nothing", spec, (long long)l);
    few = features_of(name, spec, l > FEWER ? FEWER : l - 1, &k, &also);
    assert_non_null(few);
    assert_int_equal(says, also);
    largest = difference(more, l, few, k);
    free(few);
    assert_ok(mrc_spec_is_nested(spec, &asked, err));
    assert_int_equal(says, asked);
    if (says != (largest < ROUNDING))
        fail_msg("%s: the first features and a fit with fewer components differ by %.3g, but "
                 "the method says that they are %snested",
                 spec, largest, says ? "" : "not ");
    free(more);
    return 1;
}

/* The method with some keys, and each value of one more. */
static int check_setting(const struct setting *setting, const char *keys)
{
    char spec[160];
    int tried = 0;
    for (const char *value = setting->values, *end; *value; value = *end ? end + 1 : end) {
        end = value + strcspn(value, "|");
        snprintf(spec, sizeof spec, "%s:%s%s%s=%.*s", setting->method, keys, *keys ? "," : "",
                 setting->key, (int)(end - value), value);
        tried += check(setting->method, spec);
    }
    return tried;
}

static bool has_key(const char *keys, const char *key)
{
    char sought[64];
    snprintf(sought, sizeof sought, "%s=", key);
    return strstr(keys, sought) != NULL;
}

static const char *usual_keys(const char *method, const char *key)
{
    for (int q = 0; q < QUICKER; q++)
        if (strcmp(quicker[q].method, method) == 0 && !has_key(quicker[q].keys, key))
            return quicker[q].keys;
    return "";
}

static void test_every_method_and_key(void **state)
{
    const mercer_entry *entry;
    mercer_parameter parameter = {.struct_size = sizeof parameter};
    (void)state;
    for (int m = 0; (entry = mercer_method_at(m)); m++) {
        const char *name = mercer_entry_name(entry);
        if (strcmp(name, "krr") == 0) { /* one feature per target: another number is refused */
            int64_t l;
            bool nested;
            assert_null(features_of(name, name, FEWER, &l, &nested));
            continue;
        }
        assert_int_equal(check(name, name), 1);
        for (int p = 0; mercer_entry_parameter(entry, p, &parameter); p++) {
            int known = strcmp(parameter.key, "components") == 0, tried = 0;
            for (int s = 0; s < SETTINGS; s++) {
                if (strcmp(settings[s].method, name) != 0 ||
                    strcmp(settings[s].key, parameter.key) != 0)
                    continue;
                known = 1;
                tried += check_setting(&settings[s], usual_keys(name, parameter.key));
                for (int b = 0; b < BESIDE; b++)
                    if (strcmp(beside[b].method, name) == 0 &&
                        !has_key(beside[b].keys, parameter.key))
                        tried += check_setting(&settings[s], beside[b].keys);
                if (tried == 0)
                    fail_msg("%s: no value of %s was tried", name, parameter.key);
            }
            if (!known)
                fail_msg("method %s has a key %s that this test does not set", name, parameter.key);
        }
    }
}

/* What the inner folds of each fold say of what was chosen. */
static void tune(const mercer_fit_options *fit, const char *components, const char *widths,
                 double *inner, int64_t *chosen)
{
    mercer_ctx *ctx = new_ctx(2);
    const char *texts[] = {components, widths};
    mercer_evaluate_options options;
    mercer_evaluation *result = NULL;
    mercer_evaluate_options_init(&options);
    options.fit = fit;
    options.folds = FOLDS;
    options.tune = texts;
    options.tune_count = widths ? 2 : 1;
    assert_ok(mercer_evaluate(ctx, &options, rows, classes, &result, err));
    for (int64_t f = 0; f < FOLDS; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(result, f, &fold);
        inner[f] = fold.inner;
        chosen[f] = fold.components;
        if (widths) /* twice the same, to have inner folds */
            assert_string_equal(fold.chosen, "kernel.sigma=6");
    }
    mercer_evaluation_free(result);
    mercer_ctx_free(ctx);
}

/* Several numbers at once, against each number alone, which is fitted as it is. */
static void test_tuning_tells_what_a_fit_gives(void **state)
{
    static const char *const methods[] = {"kpca",
                                          "rkpca",
                                          "greedy",
                                          "greedy:depth=1",
                                          "rkpca:criterion=top",
                                          "rkpca:points=50",
                                          "ikpca:first=60",
                                          "nystroem",
                                          "nystroem:points=40",
                                          "kha:passes=2",
                                          "akfa:candidates=10"};
    static const char *const heads[] = {"ls", "knn:k=3", "svm"};
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
            mercer_fit_options fit;
            double inner[FOLDS], few[FOLDS], more[FOLDS];
            int64_t chosen[FOLDS], number[FOLDS];
            mercer_fit_options_init(&fit);
            fit.method = methods[m];
            fit.kernel = "rbf:sigma=6";
            fit.head = heads[h];
            tune(&fit, "components=2,12", NULL, inner, chosen);
            tune(&fit, "components=2", "kernel.sigma=6,6", few, number);
            tune(&fit, "components=12", "kernel.sigma=6,6", more, number);
            for (int64_t f = 0; f < FOLDS; f++) {
                double alone = chosen[f] == 2 ? few[f] : more[f];
                if (!(fabs(inner[f] - alone) <= 1e-12) || inner[f] > fmin(few[f], more[f]) + 1e-12)
                    fail_msg("%s, %s, fold %lld: %lld components with %g; alone 2 have %g, 12 %g",
                             methods[m], heads[h], (long long)f, (long long)chosen[f], inner[f],
                             few[f], more[f]);
            }
        }
}

/* A model file keeps the answer, also where the method's keys alone would give another one. */
static void test_files_keep_whether_features_are_nested(void **state)
{
    static const struct {
        const char *method;
        bool landmarks, nested;
    } cases[] = {{"nystroem", false, false}, {"nystroem", true, true}, {"kpca", false, true}};
    char path[] = "nested_XXXXXX";
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *few = view(ctx, x, 30, COLUMNS);
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_fit_options options;
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model *model = NULL, *loaded = NULL;
        mercer_fit_options_init(&options);
        options.method = cases[c].method;
        options.landmarks = cases[c].landmarks ? few : NULL;
        options.components = 4;
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        assert_ok(mercer_model_save(ctx, model, path, err));
        assert_ok(mercer_model_load(ctx, path, &loaded, err));
        mercer_model_get_info(loaded, &info);
        assert_int_equal(info.nested, cases[c].nested);
        mercer_model_free(model);
        mercer_model_free(loaded);
    }
    unlink(path);
    mercer_rows_free(few);
    mercer_ctx_free(ctx);
}

/* Inner values of what is chosen among some texts for one key, and values of the folds. */
static void tune_key(const mercer_fit_options *fit, const char *text, double *inner, double *value,
                     char chosen[][64])
{
    mercer_ctx *ctx = new_ctx(2);
    mercer_evaluate_options options;
    mercer_evaluation *result = NULL;
    mercer_evaluate_options_init(&options);
    options.fit = fit;
    options.folds = FOLDS;
    options.inner_folds = 3;
    options.tune = &text;
    options.tune_count = 1;
    assert_ok(mercer_evaluate(ctx, &options, rows, classes, &result, err));
    for (int64_t f = 0; f < FOLDS; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(result, f, &fold);
        inner[f] = fold.inner;
        value[f] = fold.value;
        snprintf(chosen[f], 64, "%s", fold.chosen);
    }
    mercer_evaluation_free(result);
    mercer_ctx_free(ctx);
}

/* Methods that draw: a choice is told the same alone, among others, and in any order of them. */
static void test_tuning_a_random_method_knows_no_neighbours(void **state)
{
    static const struct {
        const char *method, *head;
    } cases[] = {{"nystroem", "ls"},
                 {"nystroem:sampling=kmeans", "none"},
                 {"kha:passes=2", "ls"},
                 {"koca:iterations=3,start=random", "knn:k=1"},
                 {"kica:iterations=20", "ls"},
                 {"akfa:candidates=5", "none"},
                 {"rkopls", "ls"}};
    static const char *const widths[] = {"4", "6", "9"};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_fit_options fit;
        double inner[FOLDS], value[FOLDS], turned[FOLDS], other[FOLDS];
        char chosen[FOLDS][64], also[FOLDS][64];
        mercer_fit_options_init(&fit);
        fit.method = cases[c].method;
        fit.kernel = "rbf";
        fit.head = cases[c].head;
        fit.components = 4;
        tune_key(&fit, "kernel.sigma=4,6,9", inner, value, chosen);
        tune_key(&fit, "kernel.sigma=9,4,6", turned, other, also);
        for (int f = 0; f < FOLDS; f++) {
            if (inner[f] != turned[f])
                fail_msg("%s, fold %d: %.17g, in another order %.17g", fit.method, f, inner[f],
                         turned[f]);
            if (strcmp(chosen[f], also[f]) == 0)
                assert_true(value[f] == other[f]);
        }
        for (int w = 0; w < 3; w++) {
            char text[64];
            double alone[FOLDS];
            snprintf(text, sizeof text, "kernel.sigma=%s,%s", widths[w], widths[w]);
            tune_key(&fit, text, alone, other, also);
            for (int f = 0; f < FOLDS; f++)
                if (strcmp(chosen[f], also[f]) == 0 &&
                    (inner[f] != alone[f] || value[f] != other[f]))
                    fail_msg("%s, %s, fold %d: inner %.17g, alone %.17g; %.17g, alone %.17g",
                             fit.method, chosen[f], f, inner[f], alone[f], value[f], other[f]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method_and_key),
        cmocka_unit_test(test_files_keep_whether_features_are_nested),
        cmocka_unit_test(test_tuning_tells_what_a_fit_gives),
        cmocka_unit_test(test_tuning_a_random_method_knows_no_neighbours),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
