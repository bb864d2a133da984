/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON texts: what Jansson's reader makes of them, for texts of all kinds, right and wrong. */
#include "data_support.h"

#include "base/rng.h"
#include "model/json.h"
#include "model/text_code.h"

/* Both readers agree: on whether a text is JSON, and on what it says. */
static bool agree(const char *text, size_t length)
{
    json_t *found = NULL;
    json_error_t why;
    const char *reason = NULL;
    mercer_status rc = mrc_json_parse(text, length, &found, &reason, &err);
    json_t *expected = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    assert_true(rc == MERCER_OK || rc == MERCER_ERR_FORMAT);
    if ((rc == MERCER_OK) != (expected != NULL))
        fail_msg("'%s': %s; Jansson: %s", text, rc == MERCER_OK ? "taken" : reason,
                 expected ? "taken" : why.text);
    if (expected && !json_equal(found, expected))
        fail_msg("'%s' is read as something else", text);
    assert_true(rc == MERCER_OK || (reason && *reason && !found));
    json_decref(found);
    json_decref(expected);
    return rc == MERCER_OK;
}

static void test_texts(void **state)
{
    static const char *const right[] = {"{}",
                                        "[]",
                                        " [ ] ",
                                        "0",
                                        "-0",
                                        "1.5",
                                        "1e3",
                                        "-2.5E-3",
                                        "1e+2",
                                        "true",
                                        "false",
                                        "null",
                                        "\"\"",
                                        "\"a\"",
                                        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                        "\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"",
                                        "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
                                        "[1,2,[3,[4]],{\"a\":{}}]",
                                        "\t{\r\n\"a\" : 1 , \"b\":[ ] }\n",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "{\"\":0}",
                                        "[\"\x7f\"]",
                                        "1e-400",
                                        "0.1",
                                        "12345678901234567e-3",
                                        "{\"a\":{\"a\":{\"a\":1}}}"};
    static const char *const wrong[] = {"",
                                        " ",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "[1",
                                        "[1,",
                                        "[1,]",
                                        "[,1]",
                                        "{\"a\"",
                                        "{\"a\":",
                                        "{\"a\":1",
                                        "{\"a\":1,",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "{1:1}",
                                        "{\"a\" 1}",
                                        "{\"a\":1 \"b\":2}",
                                        "[1 2]",
                                        "01",
                                        "-",
                                        "+1",
                                        ".5",
                                        "1.",
                                        "1e",
                                        "1e+",
                                        "1.e3",
                                        "--1",
                                        "0x1",
                                        "1f",
                                        "nan",
                                        "Infinity",
                                        "tru",
                                        "True",
                                        "truefalse",
                                        "nul",
                                        "\"",
                                        "\"a",
                                        "\"\\\"",
                                        "\"\\x\"",
                                        "\"\\u12\"",
                                        "\"\\u12g4\"",
                                        "\"\\u0000\"",
                                        "\"\\ud83d\"",
                                        "\"\\ude00\"",
                                        "\"\\ud83d\\u0041\"",
                                        "\"\\ud83dx\"",
                                        "\"\t\"",
                                        "\"\n\"",
                                        "\"\xff\"",
                                        "\"\xc3\"",
                                        "\"\xc0\xaf\"",
                                        "\"\xed\xa0\x80\"",
                                        "\"\xf4\x90\x80\x80\"",
                                        "'a'",
                                        "{} {}",
                                        "1 1",
                                        "[] x",
                                        "{\"a\":1,\"a\":1}",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "1e400",
                                        "-1e400",
                                        "\xef\xbb\xbf{}",
                                        "/**/1",
                                        "[1,2"};
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (!agree(right[i], strlen(right[i])))
            fail_msg("'%s' is refused", right[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (agree(wrong[i], strlen(wrong[i])))
            fail_msg("'%s' is taken", wrong[i]);
    assert_false(agree("[1]\0[1]", 7)); /* a zero byte in between */
    assert_false(agree("\"a\0b\"", 5));
}

/* Deeper than any file needs. */
static void test_depth(void **state)
{
    char text[2001];
    const char *reason = NULL;
    json_t *out = NULL;
    (void)state;
    memset(text, '[', 1000);
    memset(text + 1000, ']', 1000);
    text[2000] = 0;
    assert_int_equal(mrc_json_parse(text, 2000, &out, &reason, &err), MERCER_ERR_FORMAT);
    assert_non_null(strstr(reason, "too deep"));
    assert_null(out);
    assert_int_equal(mrc_json_parse(text + 950, 100, &out, &reason, &err), MERCER_OK);
    json_decref(out);
}

/* Bytes changed, cut out and put in, in a header like those of models. */
static void test_texts_that_were_changed(void **state)
{
    enum { TRIALS = 60000 };
    static const char seed[] =
        "{\"__metadata__\":{\"format\":\"mercer-model\",\"names\":\"[\\\"x\\\",\\\"\\u00e9\\\"]\"},"
        "\"z\":{\"dtype\":\"F64\",\"shape\":[20,-3],\"data_offsets\":[0,1.5e2],\"t\":true}}";
    static const char pool[] = "{}[],:\"\\0123456789-+.eEu tfnrabcdxyz\x01\x7f\xc3\xa9\xe2\x82\xac";
    mrc_rng rng = {0};
    int taken = 0;
    (void)state;
    mrc_rng_seed(&rng, 1);
    for (int trial = 0; trial < TRIALS; trial++) {
        char text[2 * sizeof seed];
        size_t length = sizeof seed - 1;
        memcpy(text, seed, sizeof seed);
        int changes = 1 + (int)(mrc_rng_next(&rng) % 3);
        for (int c = 0; c < changes && length > 0; c++) {
            size_t at = mrc_rng_next(&rng) % length;
            char byte = pool[mrc_rng_next(&rng) % (sizeof pool - 1)];
            switch (mrc_rng_next(&rng) % 3) {
            case 0:
                text[at] = byte;
                break;
            case 1:
                memmove(text + at, text + at + 1, length-- - at);
                break;
            default:
                memmove(text + at + 1, text + at, ++length - at);
                text[at] = byte;
            }
        }
        taken += agree(text, length);
    }
    assert_true(taken > TRIALS / 20 && taken < TRIALS / 2);
}

/* Any bytes become UTF-8 and come back; UTF-8 stays as it is, except the characters that stand for
 * bytes. */
static void test_any_bytes_as_utf8(void **state)
{
    static const struct {
        const char *text, *encoded;
    } cases[] = {
        {"", ""},
        {"plain \xc3\xa9 \xe2\x82\xac", "plain \xc3\xa9 \xe2\x82\xac"},
        {"\x80\xff", "\xee\xbe\x80\xee\xbf\xbf"},
        {"\xee\xbe\x80", "\xee\xbf\xae\xee\xbe\xbe\xee\xbe\x80"},
        {"cut \xe2\x82", "cut \xee\xbf\xa2\xee\xbe\x82"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        assert_ok(mrc_text_encode(cases[i].text, &text, &err));
        assert_string_equal(text, cases[i].encoded);
        mrc_text_decode(text);
        assert_string_equal(text, cases[i].text);
        mrc_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_any_bytes_as_utf8),
        TEST(test_texts),
        TEST(test_depth),
        TEST(test_texts_that_were_changed),
    };
    return cmocka_run_group_tests(tests, setup_scratch, teardown_scratch);
}
