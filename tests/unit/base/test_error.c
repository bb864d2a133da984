/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors as data: what the library says in words is also in the members of mercer_error. */
#include "data_support.h"

#include "base/ctx.h"
#include "base/error.h"

#include <mercer/mercer.h>

/* Members that nobody set are none, whatever the storage held. */
static void test_fail_fills_all_of_it(void **state)
{
    mercer_error filled, zero = {0};
    (void)state;
    memset(&filled, 0x55, sizeof filled);
    assert_int_equal(mrc_fail(&filled, MERCER_ERR_DATA, "no %s", "way"), MERCER_ERR_DATA);
    assert_string_equal(filled.text, "no way");
    assert_int_equal(filled.code, MERCER_ERR_DATA);
    assert_int_equal(filled.cause, MERCER_CAUSE_NONE);
    assert_string_equal(filled.key, "");
    assert_string_equal(filled.input, "");
    assert_string_equal(filled.column, "");
    assert_string_equal(filled.advice_key, "");
    assert_string_equal(filled.advice_value, "");
    assert_true(filled.row == 0 && filled.line == 0 && filled.names_file == 0);
    assert_memory_equal(filled.reserved, zero.reserved, sizeof zero.reserved);
    assert_int_equal(mrc_fail_at(NULL, MERCER_ERR_DATA, MRC_AT(.row = 1), "x"), MERCER_ERR_DATA);
    assert_int_equal(mrc_fail_within(NULL, MERCER_ERR_DATA, "test", "x"), MERCER_ERR_DATA);
    assert_int_equal(mrc_fail_again(NULL, MERCER_ERR_DATA, &zero), MERCER_ERR_DATA);
}

static void test_fail_at_tells_where(void **state)
{
    char name[100];
    (void)state;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    mrc_fail_at(&err, MERCER_ERR_BUDGET,
                MRC_AT(.cause = MERCER_CAUSE_NOT_A_NUMBER, .key = "memory", .input = "test",
                       .column = name, .row = 3, .line = 4, .names_file = 1, .advice_key = "scale",
                       .advice_value = "standard"),
                "f.csv: %d", 7);
    assert_string_equal(err.text, "f.csv: 7");
    assert_int_equal(err.cause, MERCER_CAUSE_NOT_A_NUMBER);
    assert_string_equal(err.key, "memory");
    assert_string_equal(err.input, "test");
    assert_int_equal(strlen(err.column), sizeof err.column - 1);
    assert_true(err.row == 3 && err.line == 4 && err.names_file == 1);
    assert_string_equal(err.advice_key, "scale");
    assert_string_equal(err.advice_value, "standard");

    const mrc_at at = mrc_at_of(&err); /* borrows from what is overwritten */
    mrc_fail_at(&err, MERCER_ERR_DATA, &at, "%s, again", err.text);
    assert_string_equal(err.text, "f.csv: 7, again");
    assert_string_equal(err.key, "memory");
    mrc_fail_at(&err, MERCER_ERR_DATA, MRC_AT(.column_number = 12), "x");
    assert_string_equal(err.column, "12");
}

static void test_fail_within_keeps_what_it_is_about(void **state)
{
    char filler[600];
    (void)state;
    mrc_fail_at(&err, MERCER_ERR_DATA, MRC_AT(.row = 3, .key = "k", .names_file = 1), "row 3: bad");
    assert_int_equal(mrc_fail_within(&err, MERCER_ERR_DATA, "test", "test rows: "),
                     MERCER_ERR_DATA);
    assert_string_equal(err.text, "test rows: row 3: bad");
    assert_string_equal(err.input, "test");
    assert_string_equal(err.key, "k");
    assert_true(err.row == 3 && !err.names_file);
    mrc_fail_within(&err, MERCER_ERR_DATA, NULL, "fold %d: ", 2);
    assert_string_equal(err.text, "fold 2: test rows: row 3: bad");
    assert_string_equal(err.input, "test");
    memset(filler, 'x', sizeof filler);
    filler[sizeof filler - 1] = 0;
    mrc_fail_within(&err, MERCER_ERR_DATA, NULL, "%s", filler);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

/* What another program sent may have no end. */
static void test_fail_again_ends_texts(void **state)
{
    mercer_error sent;
    (void)state;
    memset(&sent, 'x', sizeof sent);
    assert_int_equal(mrc_fail_again(&err, MERCER_ERR_IO, &sent), MERCER_ERR_IO);
    assert_int_equal(err.code, MERCER_ERR_IO);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strlen(err.key), sizeof err.key - 1);
    assert_int_equal(strlen(err.input), sizeof err.input - 1);
    assert_int_equal(strlen(err.column), sizeof err.column - 1);
    assert_int_equal(strlen(err.advice_key), sizeof err.advice_key - 1);
    assert_int_equal(strlen(err.advice_value), sizeof err.advice_value - 1);
}

static void refuse_table(const char *name, const char *text, mercer_status code)
{
    mercer_table *table = NULL;
    assert_int_equal(mercer_table_read(ctx, put_text(name, text), NULL, &table, &err), code);
    assert_null(table);
    assert_int_equal(err.code, code);
    assert_int_equal(err.names_file, 1);
}

static void test_bad_cells(void **state)
{
    (void)state;
    refuse_table("a.csv", "name,age\n1,2\n1,abc\n", MERCER_ERR_DATA);
    assert_int_equal(err.cause, MERCER_CAUSE_NOT_A_NUMBER);
    assert_true(err.row == 2 && err.line == 3);
    assert_string_equal(err.column, "age");
    assert_string_equal(err.advice_key, "");
    refuse_table("a.csv", "1,2\n1,1e999\n", MERCER_ERR_DATA); /* a number, but not finite */
    assert_int_equal(err.cause, MERCER_CAUSE_NONE);
    assert_true(err.row == 2 && err.line == 2);
    assert_string_equal(err.column, "2");
    refuse_table("a.csv", "a,b\n1,2\n1\n", MERCER_ERR_FORMAT);
    assert_true(err.row == 2 && err.line == 3);
    refuse_table("a.libsvm", "1 1:2\n1 1:x\n", MERCER_ERR_DATA);
    assert_int_equal(err.line, 2);
}

static void test_missing_values(void **state)
{
    (void)state;
    static const char *const texts[] = {"a,b\n1,2\n,2\n", "a,b\n1,2\nNA,2\n"};
    for (int i = 0; i < 2; i++) {
        refuse_table("a.csv", texts[i], MERCER_ERR_DATA);
        assert_int_equal(err.cause, MERCER_CAUSE_MISSING_VALUE);
        assert_true(err.row == 2 && err.line == 3);
        assert_string_equal(err.column, "a");
        assert_string_equal(err.advice_key, "missing");
        assert_string_equal(err.advice_value, "mean");
    }
}

static void refuse_fit(const double *x, int64_t n, int64_t d, const mercer_fit_options *options,
                       mercer_status code)
{
    mercer_rows *rows = NULL;
    mercer_model *model = NULL;
    assert_ok(view_f64(ctx, x, n, d, d, &rows, &err));
    assert_int_equal(mercer_fit(ctx, options, rows, NULL, &model, NULL, &err), code);
    assert_null(model);
    mercer_rows_free(rows);
}

static void test_bad_keys(void **state)
{
    const double x[] = {1, 2, 3, 4, 5, 7};
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = "rbf:sigma=-1";
    refuse_fit(x, 3, 2, &options, MERCER_ERR_ARGUMENT);
    assert_string_equal(err.key, "kernel.sigma");
    options.kernel = "rbf:width=1";
    refuse_fit(x, 3, 2, &options, MERCER_ERR_ARGUMENT);
    assert_string_equal(err.key, "kernel.width");
    options.kernel = "linear";
    options.store = "box";
    refuse_fit(x, 3, 2, &options, MERCER_ERR_ARGUMENT);
    assert_string_equal(err.key, "store");
    assert_int_equal(mercer_fit_options_set(&options, "colour", "red", &err), MERCER_ERR_ARGUMENT);
    assert_string_equal(err.key, "colour");
}

static void test_memory_budget(void **state)
{
    enum { N = 1000 };
    static double x[N * 2];
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = "rbf:sigma=1";
    options.store = "dense";
    options.components = 2;
    for (int i = 0; i < N * 2; i++)
        x[i] = (double)(i * 7919 % 1009) / 100;
    assert_ok(mercer_ctx_set_memory(ctx, 4 << 20, &err));
    refuse_fit(x, N, 2, &options, MERCER_ERR_BUDGET);
    assert_string_equal(err.key, "store memory");
    assert_non_null(strstr(err.text, "memory budget"));
}

/* Rows too large for the kernel: which one, and what helps. */
static void test_overflow_names_row_and_advice(void **state)
{
    const double x[] = {1, 2, 3, 1e200, 5, 7};
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = "poly:degree=3";
    refuse_fit(x, 3, 2, &options, MERCER_ERR_DATA);
    assert_int_equal(err.row, 2);
    assert_string_equal(err.column, "2");
    assert_string_equal(err.advice_key, "scale");
    assert_string_equal(err.advice_value, "standard");
}

/* A stream folds blocks of its own; the row is that of the call. */
static void test_rows_of_a_stream(void **state)
{
    enum { N = 100, BAD = 95, FIRST = 25 };
    double x[N * 2];
    mercer_fit_options options;
    mercer_stream *stream = NULL;
    mercer_rows *first = NULL, *rows = NULL;
    (void)state;
    for (int i = 0; i < N * 2; i++)
        x[i] = (double)(i * 7919 % 1009) / 1000;
    x[2 * BAD + 1] = 1e200;
    mercer_fit_options_init(&options);
    options.method = "ikpca:block=10,first=20";
    options.kernel = "poly:degree=2";
    options.components = 2;
    assert_ok(mercer_stream_new(ctx, &options, &stream, &err));
    assert_ok(view_f64(ctx, x, FIRST, 2, 2, &first, &err));
    assert_ok(view_f64(ctx, x + 2 * FIRST, N - FIRST, 2, 2, &rows, &err));
    assert_ok(mercer_stream_push(ctx, stream, first, &err)); /* five rows wait */
    assert_int_equal(mercer_stream_push(ctx, stream, rows, &err), MERCER_ERR_DATA);
    assert_int_equal(err.row, BAD - FIRST + 1);
    mercer_stream_free(stream);
    mercer_rows_free(first);
    mercer_rows_free(rows);
}

static void keep_notice(void *host, const mercer_notice *given)
{
    *(mercer_notice *)host = *given;
}

static void test_notices_are_data_too(void **state)
{
    mercer_notice told = {.code = MERCER_ERR_IO};
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, &told);
    mrc_notice_at(ctx, MRC_AT(.advice_key = "center", .advice_value = "span"), "%d rows", 3);
    mercer_ctx_set_notice(ctx, NULL, NULL);
    assert_int_equal(told.code, MERCER_OK);
    assert_string_equal(told.text, "3 rows");
    assert_string_equal(told.advice_key, "center");
    assert_string_equal(told.advice_value, "span");
    assert_string_equal(told.key, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_fail_fills_all_of_it),
        TEST(test_fail_at_tells_where),
        TEST(test_fail_within_keeps_what_it_is_about),
        TEST(test_fail_again_ends_texts),
        TEST(test_bad_cells),
        TEST(test_missing_values),
        TEST(test_bad_keys),
        TEST(test_memory_budget),
        TEST(test_overflow_names_row_and_advice),
        TEST(test_rows_of_a_stream),
        TEST(test_notices_are_data_too),
    };
    return RUN_TESTS(tests);
}
