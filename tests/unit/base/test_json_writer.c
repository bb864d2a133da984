/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON texts: what Jansson reads in them is what was written, and what they look like. */
#include "support.h"

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/rng.h"

#include <jansson.h>
#include <stdio.h>

static json_t *read_back(mrc_json_writer *json, char **text)
{
    json_error_t why;
    assert_int_equal(mrc_json_finish(json, text), MERCER_OK);
    json_t *value = json_loads(*text, JSON_REJECT_DUPLICATES, &why);
    if (!value)
        fail_msg("%s: %s", why.text, *text);
    return value;
}

/* An object with something of each kind. */
static void write_sample(mrc_json_writer *json, mercer_error *err)
{
    const double values[] = {1, 0.1, NAN};
    mrc_json_start(json, err);
    mrc_json_put_text(json, "text", "a \"b\" \\ \n\t\x01/");
    mrc_json_put_text(json, "nothing", NULL);
    mrc_json_open_array(json, "list");
    mrc_json_open_object(json, NULL);
    mrc_json_close(json);
    mrc_json_open_object(json, NULL);
    mrc_json_put_int(json, "least", INT64_MIN);
    mrc_json_put_truth(json, "truth", true);
    mrc_json_close(json);
    mrc_json_open_array(json, NULL);
    mrc_json_close(json);
    mrc_json_put_real(json, NULL, -0.0);
    mrc_json_close(json);
    mrc_json_put_truth(json, "lie", false);
    mrc_json_put_reals(json, "reals", values, 3, 2);
    mrc_json_put_reals(json, "none", NULL, 3, 1);
    mrc_json_put_words(json, "words", "a|bc|d", '|');
    mrc_json_put_words(json, "no_word", "", '|');
    mrc_json_put_words(json, "no_words", NULL, '|');
}

static const char sample[] =
    "{\n"
    "  \"text\": \"a \\\"b\\\" \\\\ \\n\\t\\u0001/\",\n"
    "  \"nothing\": null,\n"
    "  \"list\": [{}, {\"least\": -9223372036854775808, \"truth\": true}, [], -0.0],\n"
    "  \"lie\": false,\n"
    "  \"reals\": [2.0, 0.2, null],\n"
    "  \"none\": [],\n"
    "  \"words\": [\"a\", \"bc\", \"d\"],\n"
    "  \"no_word\": [],\n"
    "  \"no_words\": null\n"
    "}";

static void test_layout(void **state)
{
    mrc_json_writer json;
    char *text = NULL;
    (void)state;
    write_sample(&json, NULL);
    json_decref(read_back(&json, &text));
    assert_string_equal(text, sample);
    mrc_free(text);
    mrc_json_start(&json, NULL);
    json_decref(read_back(&json, &text));
    assert_string_equal(text, "{}");
    mrc_free(text);
}

static void test_numbers(void **state)
{
    enum { COUNT = 20000 };
    mrc_rng rng;
    mrc_json_writer json;
    char *text = NULL;
    double *values = new_doubles(COUNT);
    (void)state;
    mrc_rng_seed(&rng, 1);
    for (int i = 0; i < COUNT; i++) {
        uint64_t bits = mrc_rng_next(&rng); /* of any size, subnormal, not finite */
        memcpy(&values[i], &bits, sizeof bits);
        if (i % 4 == 0)
            values[i] = floor(1e6 * mrc_rng_uniform(&rng));
    }
    mrc_json_start(&json, NULL);
    mrc_json_put_reals(&json, "x", values, COUNT, 1);
    json_t *read = read_back(&json, &text), *list = json_object_get(read, "x");
    assert_int_equal(json_array_size(list), COUNT);
    for (int i = 0; i < COUNT; i++) {
        const json_t *entry = json_array_get(list, (size_t)i);
        const double found = json_real_value(entry);
        assert_true(isfinite(values[i]) ? json_is_real(entry) : json_is_null(entry));
        assert_true(json_is_null(entry) || memcmp(&found, &values[i], sizeof found) == 0);
    }
    json_decref(read);
    mrc_free(text);
    free(values);
}

/* Bytes of all kinds; those that are not UTF-8 lose what is not ASCII. */
static void test_texts(void **state)
{
    enum { COUNT = 20000, LENGTH = 9 };
    static const char *const pieces[] = {
        "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\x1F", "\"", "\x7F", "\xC3", "\x80"};
    mrc_rng rng;
    int broken = 0;
    (void)state;
    mrc_rng_seed(&rng, 2);
    for (int c = 0; c < COUNT; c++) {
        char from[4 * LENGTH + 1] = "", expected[4 * LENGTH + 1], *text = NULL;
        const int kinds = c % 2 ? 7 : 9; /* the last two alone are not UTF-8 */
        for (int i = 0; i < LENGTH; i++) {
            const size_t used = strlen(from);
            snprintf(from + used, sizeof from - used, "%s",
                     pieces[(int)(kinds * mrc_rng_uniform(&rng))]);
        }
        json_t *plain = json_string(from);
        snprintf(expected, sizeof expected, "%s", from);
        for (char *at = expected; !plain && *at; at++)
            *at = (unsigned char)*at >= 0x80 ? '?' : *at;
        broken += !plain;
        assert_true(plain || kinds == 9);
        mrc_json_writer json;
        mrc_json_start(&json, NULL);
        mrc_json_put_text(&json, "x", from);
        json_t *read = read_back(&json, &text);
        assert_string_equal(json_string_value(json_object_get(read, "x")), expected);
        json_decref(read);
        json_decref(plain);
        mrc_free(text);
    }
    assert_true(broken > COUNT / 10);
    /* A part that ends within a sequence. */
    char *text = NULL;
    mrc_json_writer json;
    mrc_json_start(&json, NULL);
    mrc_json_put_text_part(&json, "x", "b\xC3\xA9", 2);
    json_t *read = read_back(&json, &text);
    assert_string_equal(json_string_value(json_object_get(read, "x")), "b?");
    json_decref(read);
    mrc_free(text);
}

/* Never a text that is cut. */
static void test_failing_allocations(void **state)
{
    mercer_status rc = MERCER_ERR_MEMORY;
    const int64_t live = mrc_alloc_live();
    int64_t k = 0;
    (void)state;
    for (; rc != MERCER_OK; k++) {
        mrc_json_writer json;
        mercer_error why = {0};
        char *text = NULL;
        mrc_alloc_fail_after(k);
        write_sample(&json, &why);
        for (int i = 0; i < 3000; i++) { /* so that the text grows twice */
            mrc_json_put_text(&json, "more", "some text");
        }
        rc = mrc_json_finish(&json, &text);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || (rc == MERCER_ERR_MEMORY && !text && why.text[0]));
        if (rc == MERCER_OK)
            assert_true(text[strlen(text) - 1] == '}');
        mrc_free(text);
        assert_int_equal(mrc_alloc_live(), live);
    }
    assert_true(k > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
