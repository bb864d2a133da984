/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports as JSON: of models, fits and evaluations, compared with the structs that say the same. */
#include "classes_support.h"

#include "base/memory.h"

#include <jansson.h>
#include <stdio.h>

enum { N = 60 };

CLASSES_GROUP(N)

static json_t *read_text(char *text)
{
    json_error_t why;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!json)
        fail_msg("%s: %s", why.text, text);
    mercer_free(text);
    return json;
}

static void is_text(const json_t *json, const char *key, const char *text)
{
    const json_t *value = json_object_get(json, key);
    assert_non_null(value);
    assert_true(text ? strcmp(json_string_value(value), text) == 0 : json_is_null(value));
}

static void is_count(const json_t *json, const char *key, int64_t count)
{
    assert_true(json_is_integer(json_object_get(json, key)));
    assert_true(json_integer_value(json_object_get(json, key)) == count);
}

static void same_real(const json_t *value, double number)
{
    assert_non_null(value);
    assert_true(isfinite(number) ? json_is_real(value) && json_real_value(value) == number
                                 : json_is_null(value));
}

static void is_real(const json_t *json, const char *key, double number)
{
    same_real(json_object_get(json, key), number);
}

static void are_reals(const json_t *json, const char *key, const double *values, int64_t count)
{
    const json_t *array = json_object_get(json, key);
    assert_true(json_is_array(array));
    assert_int_equal(json_array_size(array), values ? count : 0);
    for (int64_t i = 0; values && i < count; i++)
        same_real(json_array_get(array, (size_t)i), values[i]);
}

/* What reports of a fit and of a model have in common. */
static void check_common(const json_t *json, const mercer_model *model,
                         const mercer_model_info *info)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(info->method, ":"), info->method);
    is_text(json, "method", name);
    is_text(json, "method_spec", info->method);
    is_text(json, "kernel", info->kernel);
    is_text(json, "center", info->center);
    is_text(json, "scale", info->scale);
    is_count(json, "rows", info->rows);
    is_count(json, "columns", info->columns);
    is_text(json, "encode", info->encode);
    is_text(json, "missing", info->missing);
    is_count(json, "components", info->components);
    is_count(json, "expansion_points", info->expansion_points);
    are_reals(json, "spectrum", info->spectrum, info->components);
    is_real(json, "novelty_threshold", info->novelty_threshold);
    is_real(json, "novelty_share", info->novelty_share > 0 ? info->novelty_share : NAN);
    is_text(json, "head", info->head);
    is_count(json, "head_rows", info->head_rows);
    is_text(json, "head_metric", info->head ? "error_rate" : NULL);
    are_reals(json, "head_errors", info->head_errors, info->components);
    is_text(json, "scale_target", info->scale_target);
    for (int64_t i = 0; i < info->head_outputs; i++)
        assert_string_equal(
            json_string_value(json_array_get(json_object_get(json, "head_names"), (size_t)i)),
            mercer_model_output_name(model, i));
    const json_t *share = json_object_get(json, "share");
    for (int64_t i = 0; info->spectrum && i < info->components; i++)
        assert_true(fabs(json_real_value(json_array_get(share, (size_t)i)) -
                         info->spectrum[i] / (info->weight * info->total_variance)) < 1e-14);
    assert_int_equal(json_array_size(json_object_get(json, "selected")),
                     info->selected ? info->selected_count : 0);
    assert_int_equal(json_array_size(json_object_get(json, "selection")),
                     info->selection ? info->selected_count : 0);
    for (int64_t i = 0; info->selection && i < info->selected_count; i++) {
        const json_t *step = json_array_get(json_object_get(json, "selection"), (size_t)i);
        const double *row = info->selection + i * MERCER_SELECTION_COLUMNS;
        is_count(step, "row", info->selected[i]);
        is_real(step, "score", row[MERCER_SELECTION_SCORE]);
        is_real(step, "projection_variance", row[MERCER_SELECTION_VARIANCE]);
    }
    double sum = 0;
    const json_t *alignment = json_object_get(json, "alignment");
    assert_int_equal(json_array_size(alignment), info->alignment ? info->components : 0);
    for (int64_t i = 0; info->alignment && i < info->components; i++)
        same_real(json_array_get(alignment, (size_t)i), sum += info->alignment[i]);
    assert_int_equal(json_object_get(json, "bound") != NULL, info->alignment != NULL);
    const json_t *trace = json_object_get(json, "trace");
    assert_int_equal(json_array_size(trace), info->trace ? info->trace_count : 0);
    for (int64_t i = 0; info->trace && i < info->trace_count; i++)
        is_real(json_array_get(trace, (size_t)i), "rate",
                info->trace[i * MERCER_TRACE_COLUMNS + MERCER_TRACE_RATE]);
    if (info->stream_blocks)
        is_count(json, "blocks", info->stream_blocks);
    else
        assert_null(json_object_get(json, "blocks"));
}

static void test_models_and_fits(void **state)
{
    static const char *const methods[] = {"kpca", "akfa", "kpls", "koca:iterations=3",
                                          "ikpca:first=30"};
    static const char *const names[] = {"x", "caf\xC3\xA9", "\xFF\"broken"};
    (void)state;
    assert_ok(mercer_rows_set_names(rows, names, err));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        mercer_fit_options options;
        mercer_fit_report report;
        mercer_model *model = NULL;
        mercer_model_info info = {.struct_size = sizeof info};
        char *text = NULL;
        mercer_fit_options_init(&options);
        mercer_fit_report_init(&report);
        options.method = methods[i];
        options.components = 2;
        options.scale = "standard";
        options.novelty = i == 0 ? 0.1 : 0;
        assert_ok(mercer_fit(ctx, &options, rows, classes, &model, &report, err));
        mercer_model_get_info(model, &info);
        assert_ok(mercer_model_info_json(model, &text, err));
        json_t *json = read_text(text);
        check_common(json, model, &info);
        is_real(json, "weight", info.weight);
        is_real(json, "total_variance", info.total_variance);
        is_real(json, "reconstruction_error", info.reconstruction_error);
        is_text(json, "version", info.version);
        is_text(json, "data_hash", info.data_hash);
        assert_true(json_is_true(json_object_get(json, "orthonormal")) == info.orthonormal);
        const json_t *columns = json_object_get(json, "column_names");
        assert_string_equal(json_string_value(json_array_get(columns, 1)), names[1]);
        assert_string_equal(json_string_value(json_array_get(columns, 2)), "?\"broken");
        json_decref(json);
        assert_ok(mercer_fit_report_json(model, &report, &text, err));
        json = read_text(text);
        check_common(json, model, &info);
        is_real(json, "reconstruction_error", report.reconstruction_error);
        is_real(json, "projection_variance", report.projection_variance);
        is_real(json, "total_variance", report.total_variance);
        is_text(json, "store", report.store);
        is_text(json, "store_reason", report.store_reason);
        is_count(json, "store_bytes", report.store_bytes);
        is_count(json, "store_rank", report.store_rank);
        is_text(json, "solver", report.solver);
        is_count(json, "passes", report.passes);
        is_real(json, "residual", report.residual);
        is_real(json, "seconds", report.seconds);
        json_decref(json);
        /* A report of a caller that knows less. */
        mercer_fit_report old = report;
        old.struct_size = offsetof(mercer_fit_report, residual);
        assert_ok(mercer_fit_report_json(model, &old, &text, err));
        json = read_text(text);
        is_count(json, "passes", report.passes);
        is_real(json, "seconds", 0);
        json_decref(json);
        old.struct_size = 0;
        text = (char *)"";
        assert_int_equal(mercer_fit_report_json(model, &old, &text, NULL), MERCER_ERR_ARGUMENT);
        assert_null(text);
        mercer_model_free(model);
    }
}

static mercer_evaluation *evaluated(const char *const *tune, int64_t count)
{
    mercer_fit_options fit;
    mercer_evaluate_options options;
    mercer_evaluation *e = NULL;
    mercer_fit_options_init(&fit);
    mercer_evaluate_options_init(&options);
    fit.method = "kpls";
    fit.components = 2;
    options.fit = &fit;
    options.folds = 3;
    options.inner_folds = 2;
    options.tune = tune;
    options.tune_count = count;
    assert_ok(mercer_evaluate(ctx, &options, rows, classes, &e, err));
    return e;
}

static void test_evaluations(void **state)
{
    static const char *const tunes[][2] = {
        {"kernel.sigma=0.5,2", "method.discriminant=off,on"},
        {"kernel=rbf:sigma=2,poly:degree=2,coef0=3,matern:nu=inf", "components=1,2"}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        mercer_evaluation *e = evaluated(tunes[t], 2);
        mercer_evaluation_info info = {.struct_size = sizeof info};
        char *text = NULL;
        mercer_evaluation_get_info(e, &info);
        assert_ok(mercer_evaluation_json(e, &text, err));
        json_t *json = read_text(text);
        is_text(json, "metric", info.metric);
        is_text(json, "positive", info.positive);
        is_real(json, "mean", info.mean);
        is_real(json, "sd", info.sd);
        is_count(json, "choices", info.choices);
        const json_t *folds = json_object_get(json, "folds");
        assert_int_equal(json_array_size(folds), info.folds);
        for (int64_t f = 0; f < info.folds; f++) {
            mercer_evaluation_fold fold = {.struct_size = sizeof fold};
            const json_t *entry = json_array_get(folds, (size_t)f);
            const json_t *chosen = json_object_get(entry, "chosen");
            char again[256];
            mercer_evaluation_get_fold(e, f, &fold);
            is_real(entry, "value", fold.value);
            is_real(entry, "inner", fold.inner);
            is_count(entry, "rows", fold.rows);
            is_count(entry, "expansion_points", fold.points);
            is_count(chosen, "components", fold.components);
            if (t == 0)
                snprintf(again, sizeof again, "kernel.sigma=%g,method.discriminant=%s",
                         json_real_value(json_object_get(chosen, "kernel.sigma")),
                         json_string_value(json_object_get(chosen, "method.discriminant")));
            else
                snprintf(again, sizeof again, "kernel=%s",
                         json_string_value(json_object_get(chosen, "kernel")));
            assert_string_equal(again, fold.chosen);
            assert_int_equal(json_object_size(chosen), t == 0 ? 3 : 2);
        }
        assert_string_equal(json_string_value(json_array_get(json_object_get(json, "classes"), 1)),
                            "b");
        for (int64_t i = 0; i < 4; i++)
            assert_int_equal(
                json_integer_value(json_array_get(
                    json_array_get(json_object_get(json, "confusion"), (size_t)(i / 2)),
                    (size_t)(i % 2))),
                info.confusion[i]);
        json_decref(json);
        mercer_evaluation_free(e);
    }
    /* A choice that reads like a number and is not finite stays a word. */
    static const char *const infinite[] = {"kernel.nu=inf"};
    mercer_fit_options fit;
    mercer_evaluate_options options;
    mercer_evaluation *e = NULL;
    char *text = NULL;
    mercer_fit_options_init(&fit);
    mercer_evaluate_options_init(&options);
    fit.method = "kpls";
    fit.kernel = "matern";
    fit.components = 1;
    options.fit = &fit;
    options.folds = 2;
    options.tune = infinite;
    options.tune_count = 1;
    assert_ok(mercer_evaluate(ctx, &options, rows, classes, &e, err));
    assert_ok(mercer_evaluation_json(e, &text, err));
    json_t *json = read_text(text);
    is_text(json_object_get(json_array_get(json_object_get(json, "folds"), 0), "chosen"),
            "kernel.nu", "inf");
    json_decref(json);
    mercer_evaluation_free(e);
}

static void test_failing_allocations(void **state)
{
    mercer_fit_options options;
    mercer_fit_report report;
    mercer_model *model = NULL;
    (void)state;
    mercer_fit_options_init(&options);
    mercer_fit_report_init(&report);
    options.method = "kpls";
    options.components = 2;
    assert_ok(mercer_fit(ctx, &options, rows, classes, &model, &report, err));
    mercer_evaluation *e = evaluated(NULL, 0);
    for (int which = 0; which < 3; which++) {
        const int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int64_t k = 0; rc != MERCER_OK; k++) {
            char *text = (char *)"";
            mrc_alloc_fail_after(k);
            rc = which == 0   ? mercer_model_info_json(model, &text, NULL)
                 : which == 1 ? mercer_fit_report_json(model, &report, &text, NULL)
                              : mercer_evaluation_json(e, &text, NULL);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK ? text != NULL && k > 0 : rc == MERCER_ERR_MEMORY && !text);
            mercer_free(text);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
    mercer_evaluation_free(e);
    mercer_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_and_fits),
        cmocka_unit_test(test_evaluations),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
