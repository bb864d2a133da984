/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema as JSON, and what entries and parameters say of themselves: compared with what the
 * library does. */
#include "classes_support.h"

#include "base/memory.h"
#include "base/params.h"

#include <jansson.h>
#include <stdio.h>

enum { N = 60 };
typedef const mercer_entry *(*entry_at)(int index);
static const entry_at lists[] = {mercer_method_at, mercer_kernel_at, mercer_head_at};
static const char *const list_names[] = {"methods", "kernels", "heads"};
enum { LISTS = sizeof lists / sizeof *lists };

CLASSES_GROUP(N)

static mercer_entry_info info_of(const mercer_entry *entry)
{
    mercer_entry_info info = {.struct_size = sizeof info};
    mercer_entry_get_info(entry, &info);
    return info;
}

/* ---- parameters ---- */

/* Whether the schema of the entry takes key=value. */
static bool takes(const mercer_entry *entry, const char *key, const char *value)
{
    max_align_t params[128] = {0};
    char spec[256];
    snprintf(spec, sizeof spec, "%s:%s=%s", entry->name, key, value);
    return mrc_params_parse(entry->params, "it", spec, params, NULL) == MERCER_OK;
}

static bool takes_number(const mercer_entry *entry, const mercer_parameter *p, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    return takes(entry, p->key, text);
}

static void check_words(const mercer_entry *entry, const mercer_parameter *p)
{
    char words[256], *rest = NULL;
    snprintf(words, sizeof words, "%s", p->choices ? p->choices : "");
    for (char *word = strtok_r(words, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
        assert_true(takes(entry, p->key, word));
    assert_false(takes(entry, p->key, "nonsense"));
}

static void check_range(const mercer_entry *entry, const mercer_parameter *p)
{
    const bool whole = p->type == MERCER_PARAMETER_WHOLE;
    if (isfinite(p->minimum)) {
        const double below = whole ? p->minimum - 1 : nextafter(p->minimum, -INFINITY);
        assert_int_equal(takes_number(entry, p, p->minimum), !p->minimum_open);
        assert_false(takes_number(entry, p, below));
        assert_true(takes_number(entry, p, whole ? p->minimum + 1 : p->minimum + 1e-300));
    } else {
        assert_true(takes_number(entry, p, -1e300) || whole);
    }
    if (isfinite(p->maximum)) {
        const double above = whole ? p->maximum + 1 : nextafter(p->maximum, INFINITY);
        assert_int_equal(takes_number(entry, p, p->maximum), !p->maximum_open);
        assert_false(takes_number(entry, p, above));
    } else {
        assert_true(takes_number(entry, p, whole ? 9e18 : 1e300));
    }
}

static void test_parameters(void **state)
{
    int numbers = 0, words = 0, others = 0;
    (void)state;
    for (int l = 0; l < LISTS; l++)
        for (int i = 0; lists[l](i); i++) {
            const mercer_entry *entry = lists[l](i);
            mercer_parameter p = {.struct_size = sizeof p};
            for (int k = 0; mercer_entry_parameter(entry, k, &p); k++) {
                const bool number = p.default_word[0] == 0;
                assert_int_equal(number, !isnan(p.default_number));
                assert_int_equal(p.type == MERCER_PARAMETER_COMPONENTS, l == 0 && k == 0);
                assert_true(takes(entry, p.key, p.default_value));
                if (number) {
                    numbers++;
                    assert_true(strtod(p.default_value, NULL) == p.default_number);
                    assert_true(p.default_number >= p.minimum && p.default_number <= p.maximum);
                } else {
                    words++;
                    assert_string_equal(p.default_word, p.default_value);
                    assert_non_null(strstr(p.choices, p.default_word));
                }
                check_words(entry, &p);
                if (p.type == MERCER_PARAMETER_CHOICE)
                    assert_true(isinf(p.minimum) && isinf(p.maximum) && !takes(entry, p.key, "7"));
                else
                    check_range(entry, &p);
                if (p.other_key) {
                    others++;
                    assert_true(takes(entry, p.other_key, p.default_value));
                }
            }
        }
    assert_true(numbers > 20 && words > 20 && others == 2); /* C of svm and of linsvm */
}

/* ---- entries ---- */

/* The targets that a fit of the method takes, MERCER_LEARNS_...; 0: it needs none. */
static unsigned learnt_by(const mercer_fit_options *options)
{
    static const char *const names[] = {"a", "b", "c"};
    const double *columns = x;
    double values[N];
    int64_t codes[N];
    mercer_targets *three = NULL, *real = NULL;
    mercer_model *model = NULL;
    unsigned found = 0;
    for (int i = 0; i < N; i++) {
        codes[i] = i % 3;
        values[i] = columns[3 * i] + 0.1 * i;
    }
    if (mercer_fit(ctx, options, rows, NULL, &model, NULL, NULL) == MERCER_OK) {
        mercer_model_free(model);
        return 0;
    }
    assert_ok(mercer_targets_new_classes(codes, N, names, 3, NULL, &three, err));
    assert_ok(mercer_targets_new_values(values, N, 1, NULL, &real, err));
    const mercer_targets *kinds[] = {classes, three, real};
    bool taken[3];
    for (int i = 0; i < 3; i++) {
        taken[i] = mercer_fit(ctx, options, rows, kinds[i], &model, NULL, NULL) == MERCER_OK;
        mercer_model_free(model);
    }
    assert_true(taken[0] && (taken[1] || !taken[2]));
    found = taken[1] ? MERCER_LEARNS_CLASSES : MERCER_LEARNS_TWO_CLASSES;
    found |= taken[2] ? (unsigned)MERCER_LEARNS_VALUES : 0;
    mercer_targets_free(three);
    mercer_targets_free(real);
    return found;
}

static void check_centers(const mercer_entry_info *info, mercer_fit_options options)
{
    static const char *const centers[] = {"none", "exact", "span"};
    mercer_error why;
    for (int i = 0; i < 3; i++) {
        options.center = centers[i];
        bool taken = mercer_fit_options_check(&options, 0, &why) == MERCER_OK;
        if (taken != (mrc_text_cell_find(info->centers, centers[i], strlen(centers[i])) >= 0))
            fail_msg("%s, center %s: the list is %s, the check says: %s", info->name, centers[i],
                     info->centers, taken ? "fine" : why.text);
    }
}

/* A fit that is told the default is the one that is not told. */
static void check_default_center(const mercer_entry_info *info, mercer_fit_options options,
                                 const mercer_model *untold)
{
    mercer_model *model = NULL;
    void *bytes[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    options.center = info->default_center;
    mercer_ctx_set_seed(ctx, 1);
    assert_ok(mercer_fit(ctx, &options, rows, classes, &model, NULL, err));
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes[0], &sizes[0], err));
    assert_ok(mercer_model_to_bytes(ctx, untold, &bytes[1], &sizes[1], err));
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    mercer_free(bytes[0]);
    mercer_free(bytes[1]);
    mercer_model_free(model);
}

static void test_methods(void **state)
{
    int streams = 0, linear = 0, landmarks = 0, validation = 0, widths = 0, nested = 0, heads = 0;
    (void)state;
    for (int i = 0; mercer_method_at(i); i++) {
        const mercer_entry *entry = mercer_method_at(i);
        const mercer_entry_info info = info_of(entry);
        mercer_model *model = NULL;
        mercer_model_info of_model = {.struct_size = sizeof of_model};
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        options.method = info.name;
        mercer_parameter first = {.struct_size = sizeof first};
        assert_int_equal(mercer_entry_parameter(entry, 0, &first), 1);
        const bool by_outputs = first.choices && strcmp(first.choices, "all") == 0;
        options.components = by_outputs ? 0 : 2;
        check_centers(&info, options);
        assert_int_equal(info.streams, mercer_entry_streams(entry));
        assert_int_equal(info.learns, learnt_by(&options));
        assert_int_equal(info.learns != 0, info.default_head != NULL);
        mercer_ctx_set_seed(ctx, 1);
        assert_ok(mercer_fit(ctx, &options, rows, classes, &model, NULL, err));
        mercer_model_get_info(model, &of_model);
        check_default_center(&info, options, model);
        assert_int_equal(of_model.nested, !info.not_nested);
        assert_int_equal(of_model.head != NULL, info.default_head != NULL);
        assert_memory_equal(of_model.kernel, info.default_kernel, strlen(info.default_kernel));
        if (strcmp(info.name, "blf") == 0) /* whose default is of values */
            assert_string_equal(of_model.head, "log");
        else if (info.default_head)
            assert_memory_equal(of_model.head, info.default_head, strcspn(info.default_head, ":"));
        mercer_model_free(model);
        options.center = "none";
        assert_int_equal(mercer_fit_options_check(&options, MERCER_EXPECT_LANDMARKS, NULL) ==
                             MERCER_OK,
                         info.takes_landmarks);
        assert_int_equal(mercer_fit_options_check(&options, MERCER_EXPECT_VALIDATION, NULL) ==
                             MERCER_OK,
                         info.takes_validation);
        options.center = NULL;
        options.kernel = "poly";
        assert_int_equal(mercer_fit_options_check(&options, 0, NULL) != MERCER_OK,
                         info.linear_only);
        options.kernel = "rbf:sigma=learn";
        assert_int_equal(mercer_fit_options_check(&options, 0, NULL) == MERCER_OK,
                         info.learns_width);
        assert_true(!info.endings && !info.writes);
        streams += info.streams;
        linear += info.linear_only;
        landmarks += info.takes_landmarks;
        validation += info.takes_validation;
        widths += info.learns_width;
        nested += !info.not_nested;
        heads += info.default_head != NULL;
    }
    /* Each of them tells some methods from others. */
    assert_true(streams == 2 && linear == 2 && landmarks == 4 && validation == 1 && widths == 1);
    assert_true(nested > 5 && heads > 5);
}

static void test_other_entries(void **state)
{
    (void)state;
    for (int i = 0; mercer_head_at(i); i++) {
        const mercer_entry_info info = info_of(mercer_head_at(i));
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        const bool of_predictions = strcmp(info.name, "direct") == 0;
        options.method = of_predictions ? "krr" : "kpca";
        options.components = of_predictions ? 0 : 2;
        options.head = info.name;
        assert_int_equal(info.learns, learnt_by(&options));
        assert_true(!info.default_center && !info.default_head && !info.centers && !info.endings);
    }
    for (int i = 0; mercer_kernel_at(i); i++) {
        const mercer_entry_info info = info_of(mercer_kernel_at(i));
        assert_string_equal(info.name, mercer_entry_name(mercer_kernel_at(i)));
        assert_string_equal(info.summary, mercer_entry_summary(mercer_kernel_at(i)));
        assert_string_equal(info.reference, mercer_entry_reference(mercer_kernel_at(i)));
        assert_true(!info.learns && !info.centers && !info.endings);
    }
    for (int i = 0; mercer_format_at(i); i++) {
        const mercer_entry_info info = info_of(mercer_format_at(i));
        assert_non_null(info.endings);
        assert_int_equal(info.writes, mercer_entry_writes(mercer_format_at(i)));
        assert_int_equal(info.has_header,
                         strcmp(info.name, "csv") == 0 || strcmp(info.name, "tsv") == 0);
        assert_int_equal(info.has_arrays, strcmp(info.name, "npz") == 0 ||
                                              strcmp(info.name, "mat") == 0 ||
                                              strcmp(info.name, "hdf5") == 0);
        assert_true(!info.learns && !info.centers);
    }
    mercer_entry_info untouched = {.struct_size = sizeof untouched};
    mercer_entry_get_info(NULL, &untouched);
    assert_null(untouched.name);
}

/* ---- JSON ---- */

static const char *text_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_string(value) || json_is_null(value));
    return json_string_value(value);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_limit(const json_t *value, double limit)
{
    assert_true(isfinite(limit) ? json_is_number(value) && json_number_value(value) == limit
                                : json_is_null(value));
}

/* The words of an array, joined. */
static const char *joined(const json_t *array, char *out, size_t size)
{
    out[0] = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i ? "|" : "",
                 json_string_value(json_array_get(array, i)));
    }
    return out;
}

static void check_parameter(const json_t *json, const mercer_parameter *p)
{
    static const char *const types[] = {"integer",    "real",  "choice", "spec",
                                        "components", "share", "rows"};
    const json_t *value = json_object_get(json, "default");
    const bool choice = p->type == MERCER_PARAMETER_CHOICE;
    char words[256];
    assert_string_equal(text_at(json, "key"), p->key);
    assert_true(same_text(text_at(json, "other_key"), p->other_key));
    assert_string_equal(text_at(json, "type"), types[p->type]);
    assert_string_equal(text_at(json, "default_text"), p->default_value);
    assert_string_equal(text_at(json, "allowed"), p->allowed);
    assert_string_equal(text_at(json, "help"), p->help);
    if (!p->default_value[0])
        assert_true(json_is_null(value));
    else if (isnan(p->default_number))
        assert_string_equal(json_string_value(value), p->default_value);
    else
        assert_true(json_number_value(value) == p->default_number);
    if (p->type == MERCER_PARAMETER_WHOLE)
        assert_true(json_is_integer(value));
    if (p->type == MERCER_PARAMETER_REAL)
        assert_true(json_is_real(value) || json_is_string(value));
    check_limit(json_object_get(json, "minimum"), p->minimum);
    check_limit(json_object_get(json, "maximum"), p->maximum);
    assert_int_equal(json_is_true(json_object_get(json, "exclusive_minimum")), p->minimum_open);
    assert_int_equal(json_is_true(json_object_get(json, "exclusive_maximum")), p->maximum_open);
    assert_int_equal(json_is_array(json_object_get(json, "choices")), choice);
    assert_string_equal(
        joined(json_object_get(json, choice ? "choices" : "words"), words, sizeof words),
        p->choices ? p->choices : "");
    if (choice)
        assert_int_equal(json_array_size(json_object_get(json, "words")), 0);
}

static void check_truth(const json_t *json, const char *key, int value)
{
    assert_true(json_is_boolean(json_object_get(json, key)));
    assert_int_equal(json_is_true(json_object_get(json, key)), value);
}

static void check_entry(const json_t *json, const mercer_entry *entry)
{
    const mercer_entry_info info = info_of(entry);
    const json_t *keys = json_object_get(json, "parameters"),
                 *learns = json_object_get(json, "learns");
    mercer_parameter p = {.struct_size = sizeof p};
    char words[256];
    size_t count = 0;
    assert_string_equal(text_at(json, "name"), info.name);
    assert_string_equal(text_at(json, "summary"), info.summary);
    assert_true(same_text(text_at(json, "reference"), info.reference));
    for (; mercer_entry_parameter(entry, (int)count, &p); count++)
        check_parameter(json_array_get(keys, count), &p);
    assert_int_equal(json_array_size(keys), count);
    if (info.learns || info.centers) {
        const unsigned bits = info.learns;
        joined(learns, words, sizeof words);
        assert_int_equal(mrc_text_cell_find(words, "classes", 7) >= 0,
                         (bits & MERCER_LEARNS_CLASSES) != 0);
        assert_int_equal(mrc_text_cell_find(words, "two classes", 11) >= 0,
                         (bits & MERCER_LEARNS_TWO_CLASSES) != 0);
        assert_int_equal(mrc_text_cell_find(words, "values", 6) >= 0,
                         (bits & MERCER_LEARNS_VALUES) != 0);
    } else {
        assert_null(learns);
    }
    if (info.centers) {
        assert_string_equal(joined(json_object_get(json, "centers"), words, sizeof words),
                            info.centers);
        assert_string_equal(text_at(json, "default_center"), info.default_center);
        assert_true(same_text(text_at(json, "default_head"), info.default_head));
        assert_string_equal(text_at(json, "default_kernel"), info.default_kernel);
        check_truth(json, "streams", info.streams);
        check_truth(json, "linear_only", info.linear_only);
        check_truth(json, "takes_landmarks", info.takes_landmarks);
        check_truth(json, "takes_validation", info.takes_validation);
        check_truth(json, "learns_width", info.learns_width);
        check_truth(json, "not_nested", info.not_nested);
    }
    if (info.endings) {
        json_t *endings = json_object_get(json, "endings");
        joined(endings, words, sizeof words);
        for (char *bar = words; (bar = strchr(bar, '|'));)
            *bar = ' ';
        assert_string_equal(words, info.endings);
        check_truth(json, "writes", info.writes);
        check_truth(json, "has_header", info.has_header);
        check_truth(json, "has_arrays", info.has_arrays);
    }
}

static void test_schema(void **state)
{
    char *text = NULL;
    json_error_t why;
    (void)state;
    assert_ok(mercer_schema_json(&text, err));
    json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!schema)
        fail_msg("%s", why.text);
    assert_string_equal(text_at(schema, "version"), mercer_version());
    for (int l = 0; l <= LISTS; l++) {
        const entry_at at = l < LISTS ? lists[l] : mercer_format_at;
        const json_t *all = json_object_get(schema, l < LISTS ? list_names[l] : "formats");
        int count = 0;
        for (; at(count); count++)
            check_entry(json_array_get(all, (size_t)count), at(count));
        assert_int_equal(json_array_size(all), count);
    }
    const json_t *all = json_object_get(schema, "fit_options");
    mercer_parameter p = {.struct_size = sizeof p};
    int count = 0;
    for (; mercer_fit_option_at(count, &p); count++) {
        const json_t *option = json_array_get(all, (size_t)count);
        char words[64];
        check_parameter(option, &p);
        joined(json_object_get(option, "calls"), words, sizeof words);
        assert_int_equal(mrc_text_cell_find(words, "fit", 3) >= 0,
                         (p.calls & MERCER_CALL_FIT) != 0);
        assert_int_equal(mrc_text_cell_find(words, "evaluate", 8) >= 0,
                         (p.calls & MERCER_CALL_EVALUATE) != 0);
    }
    assert_int_equal(json_array_size(all), count);
    json_decref(schema);
    mercer_free(text);
}

static void test_failing_allocations(void **state)
{
    mercer_status rc = MERCER_ERR_MEMORY;
    const int64_t live = mrc_alloc_live();
    int64_t k = 0;
    (void)state;
    for (; rc != MERCER_OK; k++) {
        char *text = (char *)"";
        mrc_alloc_fail_after(k);
        rc = mercer_schema_json(&text, NULL);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK ? text != NULL : rc == MERCER_ERR_MEMORY && !text);
        mercer_free(text);
        assert_int_equal(mrc_alloc_live(), live);
    }
    assert_true(k > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),          cmocka_unit_test(test_methods),
        cmocka_unit_test(test_other_entries),       cmocka_unit_test(test_schema),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
