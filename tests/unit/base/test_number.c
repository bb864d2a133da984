/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as text: correctly rounded reading, exact round trips, no locale. */
#include "data_support.h"

#include "base/number.h"
#include "base/rng.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static int same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static double parsed(const char *text)
{
    double value = -12345;
    assert_true(mrc_parse_double(text, strlen(text), &value));
    return value;
}

static void check_like_strtod(const char *text)
{
    double ours = parsed(text), theirs = strtod(text, NULL);
    if (!same_bits(ours, theirs))
        print_error("%s: %a, strtod %a\n", text, ours, theirs);
    assert_true(same_bits(ours, theirs));
}

static void test_parse_plain(void **state)
{
    static const char *const texts[] = {"0",
                                        "-0",
                                        "+0",
                                        "1",
                                        "-1",
                                        "+1.5",
                                        ".5",
                                        "5.",
                                        "-.5e1",
                                        "1e0",
                                        "1E+2",
                                        "1e-2",
                                        "0.1",
                                        "123456789012345678",
                                        "9007199254740993",
                                        "9007199254740992.5",
                                        "9007199254740993.0000001",
                                        "1e22",
                                        "1e23",
                                        "8.5e22",
                                        "1.7976931348623157e308",
                                        "1.7976931348623159e308",
                                        "1e309",
                                        "-1e400",
                                        "4.9e-324",
                                        "2.4e-324",
                                        "2.5e-324",
                                        "1e-400",
                                        "2.2250738585072011e-308",
                                        "2.2250738585072014e-308",
                                        "0.000000000000000000000000000000000000000000001",
                                        "1000000000000000000000000000000",
                                        "18446744073709551616",
                                        "99999999999999999999e-20",
                                        "0.1000000000000000055511151231257827021181583404541015625",
                                        "1e999999999999",
                                        "1e-99999999",
                                        "0e99999999999",
                                        "00000000000000000000000000000001.5",
                                        "6.0221409e+23",
                                        "1e64",
                                        "1e65",
                                        "1e-64",
                                        "1e-65",
                                        "7.2057594037927933e16",
                                        "5e-324",
                                        "123456789e-320"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_like_strtod(texts[i]);
}

static void test_parse_refuses(void **state)
{
    static const char *const texts[] = {"",      " ",    "+",    "-",  ".",      "e5",    "1e",
                                        "1e+",   "1,5",  "0x10", "1 ", " 1",     "1.2.3", "--1",
                                        "infin", "nano", "1f",   "١",  "nan(1)", "1e5x",  "+-1"};
    double value = 7;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(mrc_parse_double(texts[i], strlen(texts[i]), &value));
    assert_true(value == 7);
}

static void test_parse_not_finite(void **state)
{
    (void)state;
    assert_true(isnan(parsed("nan")) && isnan(parsed("NaN")) && isnan(parsed("-NAN")));
    assert_true(parsed("inf") == HUGE_VAL && parsed("+Infinity") == HUGE_VAL);
    assert_true(parsed("-INF") == -HUGE_VAL && parsed("1e999") == HUGE_VAL);
}

static void test_parse_random_decimals(void **state)
{
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 7);
    for (int i = 0; i < 200000; i++) {
        char text[64];
        uint64_t digits = mrc_rng_next(&rng) >> mrc_rng_below(&rng, 64);
        int exponent = (int)mrc_rng_below(&rng, i % 4 ? 60 : 700) - (i % 4 ? 40 : 360);
        snprintf(text, sizeof text, "%llu%se%d", (unsigned long long)digits, i % 2 ? ".5" : "",
                 exponent);
        check_like_strtod(text);
    }
}

/* Exactly between two doubles, and a hair to either side of it. */
static void test_parse_halfway(void **state)
{
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 11);
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = mrc_rng_next(&rng) & 0x7fffffffffffffffu;
        double low;
        memcpy(&low, &bits, sizeof low);
        if (i % 2)
            low = (double)(mrc_rng_next(&rng) >> 11) * ldexp(1, (int)mrc_rng_below(&rng, 60) - 30);
        double high = nextafter(low, INFINITY);
        if (!isfinite(low) || !isfinite(high))
            continue;
        static char text[2500], more[2600];
        long double middle = ((long double)low + (long double)high) / 2;
        snprintf(text, sizeof text, "%.1200Lf", middle);
        check_like_strtod(text);
        snprintf(more, sizeof more, "%s1", text);
        check_like_strtod(more);
    }
}

static void test_parse_many_digits(void **state)
{
    static char text[6000];
    (void)state;
    /* 2^53 + 1 lies halfway between two doubles; a digit far behind the point decides. */
    snprintf(text, sizeof text, "9007199254740993.");
    memset(text + 17, '0', 4000);
    text[4017] = 0;
    assert_true(parsed(text) == 9007199254740992.0);
    text[4016] = '1';
    assert_true(parsed(text) == 9007199254740994.0);
    memset(text, '0', 5000);
    text[1] = '.';
    memcpy(text + 4990, "25e4989", 8);
    assert_true(parsed(text) == 2.5);
    memset(text, '1', 400);
    text[400] = 0;
    assert_true(parsed(text) == HUGE_VAL);
    memcpy(text + 400, "e-399", 6);
    check_like_strtod(text);
}

static void test_parse_int(void **state)
{
    int64_t value = 5;
    (void)state;
    assert_true(mrc_parse_int("-9223372036854775808", 20, &value) && value == INT64_MIN);
    assert_true(mrc_parse_int("+9223372036854775807", 20, &value) && value == INT64_MAX);
    assert_false(mrc_parse_int("9223372036854775808", 19, &value));
    assert_false(mrc_parse_int("", 0, &value) || mrc_parse_int("-", 1, &value));
    assert_false(mrc_parse_int("1.0", 3, &value) || mrc_parse_int("1e3", 3, &value));
    assert_true(value == INT64_MAX);
}

static void check_round_trip(double value)
{
    char text[MRC_NUMBER_SIZE];
    int length = mrc_format_double(value, text);
    double back;
    assert_int_equal(length, strlen(text));
    assert_true(mrc_parse_double(text, (size_t)length, &back));
    if (!same_bits(back, value))
        print_error("%a -> %s -> %a\n", value, text, back);
    assert_true(same_bits(back, value));
    assert_true(same_bits(strtod(text, NULL), value));
}

static void test_format_round_trip_of_any_bits(void **state)
{
    mrc_rng rng;
    int done = 0;
    (void)state;
    mrc_rng_seed(&rng, 3);
    while (done < 10000) {
        uint64_t bits = mrc_rng_next(&rng);
        double value;
        if (done % 10 == 0)
            bits &= 0x800fffffffffffffu; /* subnormal */
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        check_round_trip(value);
        check_round_trip(mrc_rng_normal(&rng));
        done++;
    }
    check_round_trip(DBL_MAX);
    check_round_trip(-DBL_MAX);
    check_round_trip(DBL_MIN);
    check_round_trip(5e-324);
    check_round_trip(0.0);
    check_round_trip(-0.0);
}

static void check_format(double value, const char *expected)
{
    char text[MRC_NUMBER_SIZE];
    mrc_format_double(value, text);
    assert_string_equal(text, expected);
}

/* No shorter text of the same value exists, and none of the same length is nearer. */
static void test_format_is_shortest(void **state)
{
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 17);
    for (int i = 0; i < 50000; i++) {
        char text[MRC_NUMBER_SIZE], reference[64];
        double value =
            ldexp((double)(mrc_rng_next(&rng) >> 11), (int)mrc_rng_below(&rng, 300) - 200);
        if (i % 5 == 0) /* few digits */
            value = (double)mrc_rng_below(&rng, 100000) / pow(10, (double)mrc_rng_below(&rng, 20));
        if (i % 7 == 0)
            value = ldexp(1, (int)mrc_rng_below(&rng, 400) - 200);
        check_round_trip(value);
        mrc_format_double(value, text);
        int digits = 0, expected = 0;
        for (const char *p = text + strspn(text, "0."); *p && *p != 'e'; p++)
            digits += *p != '.';
        if (!strchr(text, '.') && !strchr(text, 'e'))
            continue; /* a whole number with its zeros */
        for (int n = 1; n <= 17 && !expected; n++) {
            snprintf(reference, sizeof reference, "%.*e", n - 1, value);
            expected = strtod(reference, NULL) == value ? n : 0;
        }
        assert_true(digits <= expected);
    }
}

/* The significant digits of a number as text; returns their count. */
static int significant(const char *text, char out[32])
{
    int count = 0, kept = 0;
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p < '0' || *p > '9' || (count == 0 && *p == '0'))
            continue;
        out[count++] = *p;
        kept = *p == '0' ? kept : count;
    }
    out[kept] = 0;
    return kept;
}

/* The decimal of `count` digits that is nearest to value, of those that read back to it; false when
 * none does. Only the three next to value can: one beside the nearest where doubles stand closer on
 * one side. */
static bool reads_back(double value, int count, char out[64])
{
    char nearest[64];
    snprintf(nearest, sizeof nearest, "%.*e", count - 1, value);
    char *e = strchr(nearest, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10) - (count - 1);
    int64_t digits = 0;
    for (const char *p = nearest; p < e; p++)
        digits = *p == '.' ? digits : 10 * digits + (*p - '0');
    static const int steps[] = {0, 1, -1};
    for (int i = 0; i < 3; i++) {
        snprintf(out, 64, "%llde%d", (long long)digits + steps[i], exponent);
        if (strtod(out, NULL) == value)
            return true;
    }
    return false;
}

static void check_shortest(double value)
{
    char text[MRC_NUMBER_SIZE], plain[64] = "", shorter[64], digits[32], expected[32];
    mrc_format_double(value, text);
    assert_true(same_bits(strtod(text, NULL), value));
    /* A decimal has one that is a digit longer and as near: a zero more. */
    for (int count = 17; count >= 1 && reads_back(value, count, shorter); count--)
        memcpy(plain, shorter, sizeof plain);
    significant(text, digits);
    significant(plain, expected);
    if (strcmp(digits, expected) != 0)
        print_error("%a is written %s, the shortest is %s\n", value, text, plain);
    assert_string_equal(digits, expected);
}

static void test_format_is_shortest_at_powers_of_two(void **state)
{
    (void)state;
    for (int power = -1074; power <= 1023; power++) {
        double value = ldexp(1, power);
        check_shortest(value);
        check_shortest(nextafter(value, HUGE_VAL));
        if (power > -1074)
            check_shortest(nextafter(value, 0));
    }
    check_shortest(DBL_MAX);
}

static void test_format_is_shortest_for_any_bits(void **state)
{
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 1074);
    for (int done = 0; done < 250000;) {
        uint64_t bits = mrc_rng_next(&rng) & INT64_MAX;
        double value;
        if (done % 64 == 0)
            bits &= 0x000fffffffffffffu; /* subnormal */
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || value == 0)
            continue;
        check_shortest(value);
        done++;
    }
}

static void test_format_is_short(void **state)
{
    (void)state;
    check_format(0, "0");
    check_format(-0.0, "-0");
    check_format(0.1, "0.1");
    check_format(-2.5, "-2.5");
    check_format(1000, "1000");
    check_format(-999999999999999, "-999999999999999");
    check_format(1e15, "1000000000000000");
    check_format(1234567890123456.5, "1234567890123456.5");
    check_format(1e16, "1e+16");
    check_format(1.5e16, "1.5e+16");
    check_format(123456, "123456");
    check_format(0.0001, "0.0001");
    check_format(0.00001, "1e-05");
    check_format(-0.000123, "-0.000123");
    check_format(2e-5, "2e-05");
    check_format(1e22, "1e+22");
    check_format(9007199254740992.0, "9007199254740992");
    check_format(5e-324, "5e-324");
    check_format(1e23, "1e+23");
    check_format(1.7976931348623157e308, "1.7976931348623157e+308");
    check_format(2.2250738585072014e-308, "2.2250738585072014e-308");
    check_format(-1.2345678901234567e-200, "-1.2345678901234567e-200");
    check_format(9.5367431640625e-07, "9.5367431640625e-07");
    check_format(1.0 / 3, "0.3333333333333333");
    check_format(0.1 + 0.2, "0.30000000000000004");
    check_format(5e-324, "5e-324");
    check_format((double)NAN, "nan");
    check_format(HUGE_VAL, "inf");
    check_format(-HUGE_VAL, "-inf");
}

static void test_show(void **state)
{
    char shown[MRC_SHOWN_SIZE];
    char text[200];
    (void)state;
    assert_string_equal(mrc_show(shown, "a\nb\tc\0d", 7), "a?b?c?d");
    assert_string_equal(mrc_show(shown, "", 0), "");
    /* Messages are UTF-8 whatever a file has; of U+009B, which begins commands of terminals,
     * nothing is left. */
    assert_string_equal(mrc_show(shown,
                                 "1\xb9"
                                 "2\xc3",
                                 4),
                        "1?2?");
    assert_string_equal(mrc_show(shown, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9),
                        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(mrc_show(shown,
                                 "a\xc2\x9b"
                                 "31m",
                                 6),
                        "a??31m");
    assert_string_equal(mrc_show(shown, "\xc3\xa4", 1),
                        "?"); /* no more than its length is looked at */
    memset(text, 'x', sizeof text);
    mrc_show(shown, text, sizeof text);
    assert_int_equal(strlen(shown), MRC_SHOWN_SIZE - 1);
    assert_string_equal(shown + strlen(shown) - 4, "x...");
    memcpy(text + 59, "\xc3\xa4", 2); /* a two-byte character over the cut is left out whole */
    mrc_show(shown, text, sizeof text);
    assert_string_equal(shown + strlen(shown) - 4, "x...");
}

/* With a decimal comma in force, numbers still have points. */
static void test_comma_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "de_DE",
                                        "fr_FR.UTF-8", "nl_NL.UTF-8", "ru_RU.UTF-8"};
    const char *set = NULL;
    char text[MRC_NUMBER_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    if (!set) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    snprintf(text, sizeof text, "%g", 1.5);
    assert_string_equal(text, "1,5");
    check_format(1.5, "1.5");
    check_format(1.0 / 3, "0.3333333333333333");
    double slow = parsed("1.5e300"), fast = parsed("2.25");
    assert_false(mrc_parse_double("1,5", 3, &fast));
    setlocale(LC_ALL, "C");
    assert_true(slow == 1.5e300 && fast == 2.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_parse_plain),
        TEST(test_parse_refuses),
        TEST(test_parse_not_finite),
        TEST(test_parse_random_decimals),
        TEST(test_parse_halfway),
        TEST(test_parse_many_digits),
        TEST(test_parse_int),
        TEST(test_format_round_trip_of_any_bits),
        TEST(test_format_is_shortest),
        TEST(test_format_is_shortest_at_powers_of_two),
        TEST(test_format_is_shortest_for_any_bits),
        TEST(test_format_is_short),
        TEST(test_show),
        TEST(test_comma_locale),
    };
    return RUN_TESTS(tests);
}
