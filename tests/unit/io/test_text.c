/* SPDX-License-Identifier: BSD-3-Clause */
/* Messy texts from inside the library: what is found out about them, and every allocation failing.
 */
#include "data_support.h"

#include "data/dress.h"
#include "io/reader.h"
#include "io/sniff.h"

#include <math.h>

static void test_sniffing(void **state)
{
    static const struct {
        const char *text;
        char delimiter, decimal;
        bool doubtful;
    } cases[] = {{"a,b\n1,2\n", ',', '.', false},
                 {"a;b\n1,5;2\n", ';', ',', false},
                 {"1,5;2,5\n3,5;4,5\n", ';', ',', false},
                 {"a\tb\n1\t2\n", '\t', '.', false},
                 {"a|b\n1|2\n", '|', '.', false},
                 {"a b\n1  2\n", ' ', '.', false},
                 {"Jane Doe\nJohn Roe\n", ',', '.', false},
                 {"x\n1\n2\n", ',', '.', false},
                 {"a;b\n1,065;2\n", ';', '.', false},
                 {"a;b\n1.065;2.500\n", ';', '.', true},
                 {"a;b\n1.065;2,5\n", ';', ',', false},
                 {"a;b\n1.065;2.5\n", ';', '.', false},
                 {"a;b\n1,5;2.5\n", ';', '.', false},
                 {"\"a;b\",c\n\"1;2\",3\n", ',', '.', false},
                 {"", ',', '.', false},
                 {"\"never closed\n1;2", ',', '.', false}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bool doubtful;
        size_t size = strlen(cases[c].text);
        char delimiter = mrc_sniff_delimiter(cases[c].text, size, 0);
        assert_int_equal(delimiter, cases[c].delimiter);
        assert_int_equal(mrc_sniff_decimal(cases[c].text, size, delimiter, 0, &doubtful),
                         cases[c].decimal);
        assert_int_equal(doubtful, cases[c].doubtful);
    }
    assert_int_equal(mrc_sniff_delimiter("# a,b,c\na;b\n1;2\n", 16, '#'), ';');
}

static void test_dressed_numbers(void **state)
{
    static const struct {
        const char *text;
        mrc_style style;
        mrc_dress dress; /* PLAIN: it is none */
        double value;
        bool certain;
    } cases[] = {
        {"1,065", {.decimal = '.'}, MRC_GROUPED, 1065, false},
        {"1,065", {.decimal = '.', .comma_separated = true}, MRC_GROUPED, 1065, true},
        {"-1,065.25", {.decimal = '.'}, MRC_GROUPED, -1065.25, true},
        {"1.065", {.decimal = ','}, MRC_GROUPED, 1065, false},
        {"12'345'678", {.decimal = '.'}, MRC_GROUPED, 12345678, true},
        {"1,06", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"1,0655", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"0,065", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"1234,567", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"1,065,", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"1,065'000", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"1,065", {.decimal = '.', .thousands = MRC_THOUSANDS_NONE}, MRC_PLAIN, 0, false},
        {"1 065", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"1 065", {.decimal = '.', .thousands = ' '}, MRC_GROUPED, 1065, true},
        {"5%", {.decimal = '.'}, MRC_PERCENT, 5, true},
        {"-2,5 %", {.decimal = ','}, MRC_PERCENT, -2.5, true},
        {"%", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"TRUE", {.decimal = '.'}, MRC_BOOLEAN, 1, true},
        {"No", {.decimal = '.'}, MRC_BOOLEAN, 0, true},
        {"2024-03-01", {.decimal = '.'}, MRC_PLAIN, 0, false},
        {"2024-03-01", {.decimal = '.', .dates = true}, MRC_DATE, 19783, true},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mrc_dressed got = {0};
        bool found = mrc_undress(cases[c].text, strlen(cases[c].text), &cases[c].style, &got);
        assert_int_equal(found, cases[c].dress != MRC_PLAIN);
        if (!found)
            continue;
        assert_int_equal(got.dress, cases[c].dress);
        assert_true(got.value == cases[c].value);
        assert_int_equal(got.certain, cases[c].certain);
    }
}

/* Every day of four centuries, against counting them. */
static void test_days(void **state)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t day = -25567; /* 1900-01-01 */
    double got;
    (void)state;
    for (int year = 1900; year < 2300; year++)
        for (int month = 1; month <= 12; month++) {
            int leap = month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for (int d = 1; d <= lengths[month - 1] + leap; d++, day++) {
                char text[48];
                snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, d);
                assert_true(mrc_parse_date(text, 10, NULL, &got));
                assert_true(got == (double)day);
            }
            char text[48];
            snprintf(text, sizeof text, "%04d-%02d-%02d", year, month,
                     lengths[month - 1] + leap + 1);
            assert_false(mrc_parse_date(text, 10, NULL, &got));
        }
}

/* Medians and quartiles against plain sorting is in tests/cli; here: fill values of parts. */
static void test_gaps(void **state)
{
    mercer_read_options options;
    mercer_table *table = NULL;
    mercer_rows *learn = NULL, *held = NULL;
    const int64_t first[] = {0, 1, 2}, last[] = {3, 4};
    (void)state;
    mercer_read_options_init(&options);
    options.missing = "mean";
    assert_ok(mercer_table_read(ctx, put_text("g.csv", "a,b\n1,\n3,4\n,6\n100,\n,9\n"), &options,
                                &table, &err));
    assert_int_equal(mercer_table_rows(table)->gap_count, 4);
    assert_ok(mrc_rows_take(mercer_table_rows(table), first, 3, &learn, &err));
    assert_ok(mrc_rows_take(mercer_table_rows(table), last, 2, &held, &err));
    assert_ok(mrc_gaps_refill(learn, held, &err));
    assert_true(learn->x[1] == 5 && learn->x[4] == 2 && held->x[1] == 5 && held->x[2] == 2);
    assert_true(learn->x[0] == 1 && held->x[0] == 100 && held->x[3] == 9);
    mercer_rows_free(learn);
    mercer_rows_free(held);
    mercer_table_free(table);
}

static void test_every_allocation_fails(void **state)
{
    static const char text[] = "k;p;f;d;c;x;y\n"
                               "u1;1.065,5;yes;2024-01-01;r;5%;1,5\n"
                               "u2;2.000;no;2024-01-02;s;-;2,5\n"
                               "u3;2.500;no;2024-01-03;s;7%;2,5\n";
    mercer_read_options options;
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    (void)state;
    mercer_read_options_init(&options);
    options.id = "k";
    options.target = "y";
    options.na = "-,.";
    options.missing = "median";
    options.encode = "onehot,dates";
    put_text("data.csv", text);
    for (int k = 0; rc != MERCER_OK; k++) {
        mercer_table *got = NULL, *again = NULL;
        mercer_read_options more;
        mrc_alloc_fail_after(k);
        rc = mercer_table_read(ctx, in_scratch("data.csv"), &options, &got, &err);
        mercer_read_options_init(&more);
        mercer_table_read_options(got, &more);
        if (rc == MERCER_OK)
            rc = mercer_table_read(ctx, in_scratch("data.csv"), &more, &again, &err);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        if (rc == MERCER_OK) {
            const double *x = mercer_table_rows(got)->x;
            assert_int_equal(mercer_rows_columns(mercer_table_rows(got)), 6);
            assert_true(x[0] == 1065.5 && x[1] == 1 && x[2] == 19723 && x[3] == 1 && x[4] == 0);
            assert_true(x[5] == 5 && x[11] == 6);
            assert_memory_equal(x, mercer_table_rows(again)->x, 18 * sizeof *x);
        }
        mercer_table_free(got);
        mercer_table_free(again);
        assert_int_equal(mrc_alloc_live(), live);
    }
    /* The same in UTF-16 and Latin-1. */
    for (int code = 0; code < 2; code++) {
        static const char utf16[] = "\xff\xfe"
                                    "a\0,\0b\0\n\0\xf6\0,\0"
                                    "2\0\n\0";
        mercer_read_options_init(&options);
        options.label = "1";
        options.encoding = code ? "latin1" : "utf16";
        if (code)
            put_text("e.csv", "a,b\n\xf6,2\n");
        else
            put_bytes("e.csv", utf16, sizeof utf16 - 1);
        rc = MERCER_ERR_MEMORY;
        for (int k = 0; rc != MERCER_OK; k++) {
            mercer_table *got = NULL;
            mrc_alloc_fail_after(k);
            rc = mercer_table_read(ctx, in_scratch("e.csv"), &options, &got, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            if (rc == MERCER_OK)
                assert_string_equal(mercer_targets_class_name(mercer_table_targets(got), 0), "ö");
            mercer_table_free(got);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sniffing), TEST(test_dressed_numbers),        TEST(test_days),
        TEST(test_gaps),     TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
