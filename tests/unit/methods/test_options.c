/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a fit as a list: what is told of them, setting them by name, and refusals. */
#include "support.h"

#include "methods/common/options.h"

#include <stdio.h>

static mercer_parameter parameter_at(int index)
{
    mercer_parameter out = {.struct_size = sizeof out};
    assert_int_equal(mercer_fit_option_at(index, &out), 1);
    return out;
}

static void test_options_are_listed(void **state)
{
    mercer_parameter out = {.struct_size = sizeof out};
    bool store = false;
    (void)state;
    assert_int_equal(mercer_fit_option_at(-1, &out), 0);
    assert_int_equal(mercer_fit_option_at(MRC_OPTIONS, &out), 0);
    assert_int_equal(mercer_fit_option_at(0, NULL), 0);
    for (int i = 0; i < MRC_OPTIONS; i++) {
        mercer_parameter p = parameter_at(i);
        assert_true(p.key && *p.key && p.help && *p.help && p.allowed[0] && p.calls);
        assert_true((p.type == MERCER_PARAMETER_CHOICE) <= (p.choices != NULL));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(p.key, parameter_at(j).key);
        if (strcmp(p.key, "store") != 0)
            continue;
        store = true;
        assert_string_equal(p.default_value, "auto");
        assert_string_equal(p.allowed,
                            "auto, dense, stream, lowrank, toy"); /* that of the tests, too */
        assert_int_equal(p.calls, MERCER_CALL_FIT | MERCER_CALL_EVALUATE);
    }
    assert_true(store);
}

/* Every choice of every option, by its index and by its name. */
static void test_choices_are_set_by_name(void **state)
{
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    for (int i = 0; i < MRC_OPTIONS; i++) {
        mercer_parameter p = parameter_at(i);
        char words[128], *rest = NULL;
        int index = 0;
        if (p.type != MERCER_PARAMETER_CHOICE)
            continue;
        int untouched = mrc_option_word(&options, (mrc_option_id)i);
        assert_int_equal(
            untouched, *p.default_value
                           ? mrc_text_cell_find(p.choices, p.default_value, strlen(p.default_value))
                           : -1);
        snprintf(words, sizeof words, "%s", p.choices);
        for (char *word = strtok_r(words, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
            assert_ok(mercer_fit_options_set(&options, p.key, word, err));
            assert_ok(mrc_options_check(&options, err));
            assert_int_equal(mrc_option_word(&options, (mrc_option_id)i), index++);
        }
        mercer_error why = {0};
        assert_int_equal(mercer_fit_options_set(&options, p.key, "nonsense", &why),
                         MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, p.choices));
        assert_int_equal(mrc_option_word(&options, (mrc_option_id)i), index - 1);
        assert_ok(mercer_fit_options_set(&options, p.key, NULL, err));
        assert_int_equal(mrc_option_word(&options, (mrc_option_id)i), untouched);
    }
}

static void test_other_members_are_set_by_name(void **state)
{
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    assert_ok(mercer_fit_options_set(&options, "method", "kpca", err));
    assert_ok(mercer_fit_options_set(&options, "kernel", "rbf:sigma=2", err));
    assert_ok(mercer_fit_options_set(&options, "components", "0.95", err));
    assert_ok(mercer_fit_options_set(&options, "novelty", "0.05", err));
    assert_string_equal(options.method, "kpca");
    assert_string_equal(options.kernel, "rbf:sigma=2");
    assert_true(options.components == 0.95);
    assert_true(options.novelty == 0.05);
    assert_ok(mercer_fit_options_check(&options, 0, err));
    assert_ok(mercer_fit_options_set(&options, "components", "bound", err));
    assert_true(options.components == MERCER_COMPONENTS_BOUND);
    assert_ok(mercer_fit_options_set(&options, "components", NULL, err));
    assert_true(options.components == 0);
}

static void check_refused(mercer_fit_options *options, const char *key, const char *value,
                          const char *text)
{
    mercer_error why = {0};
    assert_int_equal(mercer_fit_options_set(options, key, value, &why), MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, text));
}

static void test_wrong_names_and_values_change_nothing(void **state)
{
    mercer_fit_options options, before;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.components = 3;
    before = options;
    check_refused(&options, "nonsense", "1", "unknown option 'nonsense' (known: method, kernel");
    check_refused(&options, "components", "many", "'many' is not a number");
    check_refused(&options, "components", "nan", "not a number");
    check_refused(&options, "novelty", "1.5", "1.5 is not a share of the rows between 0 and 1");
    check_refused(&options, "landmarks", "x.csv", "rows, not a text");
    assert_memory_equal(&options, &before, sizeof options);
}

/* A caller that was compiled before an option was there, and one that forgot to begin. */
static void test_structs_of_any_age(void **state)
{
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    options.struct_size = offsetof(mercer_fit_options, store);
    assert_ok(mercer_fit_options_set(&options, "head", "ls", err));
    check_refused(&options, "store", "dense", "newer than the program");
    assert_null(options.store);
    options.struct_size = 0;
    check_refused(&options, "head", "ls", "not initialised");
}

static void test_calls_refuse_what_they_cannot_have(void **state)
{
    mercer_fit_options options;
    mercer_error why = {0};
    (void)state;
    mercer_fit_options_init(&options);
    options.head = "none"; /* asks for nothing */
    for (unsigned call = MERCER_CALL_FIT; call <= MERCER_CALL_STREAM; call *= 2)
        assert_ok(mrc_options_refuse(&options, call, err));
    options.head = "ls";
    assert_ok(mrc_options_refuse(&options, MERCER_CALL_EVALUATE, err));
    assert_int_equal(mrc_options_refuse(&options, MERCER_CALL_STREAM, &why), MERCER_ERR_ARGUMENT);
    assert_string_equal(why.text, "head: needs all rows at once, which a stream does not have");
    options.head = NULL;
    options.novelty = 0.1;
    assert_int_equal(mrc_options_refuse(&options, MERCER_CALL_STREAM, &why), MERCER_ERR_ARGUMENT);
}

/* Everything that is listed is found by its name, with and without keys. */
static void test_entries_are_found_by_name(void **state)
{
    static const struct {
        const mercer_entry *(*at)(int index);
        const mercer_entry *(*find)(const char *spec);
    } lists[] = {{mercer_method_at, mercer_method_find},
                 {mercer_kernel_at, mercer_kernel_find},
                 {mercer_head_at, mercer_head_find}};
    (void)state;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const mercer_entry *entry;
        int count = 0;
        for (; (entry = lists[k].at(count)); count++) {
            char spec[128];
            assert_true(lists[k].find(mercer_entry_name(entry)) == entry);
            snprintf(spec, sizeof spec, "%s:key=1", mercer_entry_name(entry));
            assert_true(lists[k].find(spec) == entry);
            snprintf(spec, sizeof spec, "%sx", mercer_entry_name(entry));
            assert_null(lists[k].find(spec));
            assert_null(lists[k].find(""));
            assert_null(lists[k].find(":key=1"));
        }
        assert_true(count > 5);
    }
    assert_null(mercer_kernel_find("rbf:sigma=1 + linear"));
    assert_null(mercer_kernel_find("rbf:sigma=1+linear"));
    assert_null(mercer_kernel_find("0.5*rbf"));
    assert_null(mercer_kernel_find("rbf*linear"));
    assert_non_null(mercer_kernel_find("rbf:sigma=1e+3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_listed),
        cmocka_unit_test(test_choices_are_set_by_name),
        cmocka_unit_test(test_other_members_are_set_by_name),
        cmocka_unit_test(test_wrong_names_and_values_change_nothing),
        cmocka_unit_test(test_structs_of_any_age),
        cmocka_unit_test(test_calls_refuse_what_they_cannot_have),
        cmocka_unit_test(test_entries_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
