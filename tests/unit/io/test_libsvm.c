/* SPDX-License-Identifier: BSD-3-Clause */
/* LIBSVM text: rows, labels of all kinds, blocks, what is refused, and failing allocations. */
#include "data_support.h"

#include "io/reader.h"

#include <locale.h>

/* Read text as a file; the caller frees the table. */
static mercer_table *read_text(const char *text, const mercer_read_options *options)
{
    mercer_table *table;
    assert_ok(mercer_table_read(ctx, put_text("a.svm", text), options, &table, &err));
    assert_true(mercer_rows_is_sparse(mercer_table_rows(table)));
    return table;
}

static void assert_rows(const mercer_table *table, int64_t n, int64_t d, const double *x)
{
    const mercer_rows *rows = mercer_table_rows(table);
    double got[64];
    assert_int_equal(rows->n, n);
    assert_int_equal(rows->d, d);
    assert_true(n * d <= 64);
    mercer_rows_copy(rows, 0, n, got);
    for (int64_t i = 0; i < n * d; i++)
        assert_true(got[i] == x[i]);
}

static void test_rows(void **state)
{
    const double x[] = {0.5, 0, -2e-3, 0, 0, 0, 0, 7, 0};
    mercer_table *table =
        read_text("# a comment\n+1 1:.5 3:-2e-3 # 9:9\n\n  -1  \r\n1.0\t2:7", NULL);
    const mercer_targets *targets = mercer_table_targets(table);
    (void)state;
    assert_rows(table, 3, 3, x);
    assert_int_equal(mercer_rows_entries(mercer_table_rows(table)), 3);
    assert_int_equal(mercer_targets_kind(targets), MERCER_TARGET_CLASSES);
    assert_int_equal(mercer_targets_classes(targets), 2);
    assert_string_equal(mercer_targets_class_name(targets, 0), "1");
    assert_string_equal(mercer_targets_class_name(targets, 1), "-1");
    assert_int_equal(mercer_targets_codes(targets)[2], 0);
    assert_string_equal(mercer_table_target_origin(table), "classes from the labels in front");
    mercer_table_free(table);
    table = read_text("3 qid:7 1:1\n4 qid:8\n", NULL);
    assert_rows(table, 2, 1, (const double[]){1, 0});
    mercer_table_free(table);
}

static void test_values(void **state)
{
    mercer_table *table = read_text("2,3 1:1\n2,3 1:2\n-1,0.5 1:3\n", NULL);
    const mercer_targets *targets = mercer_table_targets(table);
    (void)state;
    assert_int_equal(mercer_targets_kind(targets), MERCER_TARGET_VALUES);
    assert_int_equal(mercer_targets_columns(targets), 2);
    const double values[] = {2, 3, 2, 3, -1, 0.5};
    assert_memory_equal(mercer_targets_values(targets), values, sizeof values);
    assert_string_equal(mercer_table_target_origin(table), "values from the labels in front");
    mercer_table_free(table);
}

static void test_label_options(void **state)
{
    mercer_read_options options;
    mercer_table *table;
    (void)state;
    mercer_read_options_init(&options);
    options.label = "label";
    table = read_text("spam 1:1\n1.50 1:2\n1.5 1:2\n", &options);
    assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 2);
    assert_string_equal(mercer_targets_class_name(mercer_table_targets(table), 1), "1.5");
    mercer_table_free(table);
    options.label = "1";
    assert_fails(mercer_table_read(ctx, in_scratch("a.svm"), &options, &table, &err),
                 MERCER_ERR_ARGUMENT, "the label is 'label' or 0, not '1'");
    options.label = NULL;
    options.target = "0";
    table = read_text("1 1:1\n2 1:2\n", &options);
    assert_int_equal(mercer_targets_kind(mercer_table_targets(table)), MERCER_TARGET_VALUES);
    mercer_table_free(table);
    put_text("a.svm", "1:1\n2:2\n");
    assert_fails(mercer_table_read(ctx, in_scratch("a.svm"), &options, &table, &err),
                 MERCER_ERR_FORMAT, "a.svm:1: '1:1' where a label is expected");
    options.target = NULL;
    options.no_label = 1;
    table = read_text("spam 1:1\n2 1:2\n", &options);
    assert_int_equal(mercer_targets_kind(mercer_table_targets(table)), MERCER_TARGET_NONE);
    assert_null(mercer_table_target_origin(table));
    mercer_table_free(table);
    options.no_label = 0;
    options.labels_file = put_text("labels", "a\nb\n");
    table = read_text("1 1:1\n1 1:2\n", &options);
    assert_string_equal(mercer_targets_class_name(mercer_table_targets(table), 1), "b");
    mercer_table_free(table);
    /* No row has a label, or sets of them. */
    table = read_text("1:1\n2:2\n", NULL);
    assert_int_equal(mercer_targets_kind(mercer_table_targets(table)), MERCER_TARGET_NONE);
    assert_rows(table, 2, 2, (const double[]){1, 0, 0, 2});
    mercer_table_free(table);
    table = read_text("1,3 1:1\n2 1:2\n+1,3.0 1:2\n", NULL);
    assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 2);
    assert_string_equal(mercer_targets_class_name(mercer_table_targets(table), 0), "1,3");
    mercer_table_free(table);
}

static void test_columns(void **state)
{
    mercer_read_options options;
    mercer_table *table;
    (void)state;
    mercer_read_options_init(&options);
    options.columns = 3;
    table = read_text("1 2:5\n", &options);
    assert_rows(table, 1, 3, (const double[]){0, 5, 0});
    mercer_table_free(table);
    put_text("a.svm", "1 2:5\n1 2:5 4:1 9:2\n");
    assert_fails(mercer_table_read(ctx, in_scratch("a.svm"), &options, &table, &err),
                 MERCER_ERR_DATA, "a.svm:2: index 4 where 3 is the last column");
    options.ignore_extra_columns = 1;
    table = read_text("1 2:5\n1 2:5 4:1 9:2\n", &options);
    assert_rows(table, 2, 3, (const double[]){0, 5, 0, 0, 5, 0});
    mercer_table_free(table);
    options.columns = -1;
    assert_fails(mercer_table_read(ctx, in_scratch("a.svm"), &options, &table, &err),
                 MERCER_ERR_ARGUMENT, "-1 columns");
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *words;
        mercer_status status;
    } cases[] = {
        {"", "a.svm: is empty", MERCER_ERR_DATA},
        {"# only\n\n", "a.svm: is empty", MERCER_ERR_DATA},
        {"1\n2\n", "a.svm: has no columns", MERCER_ERR_DATA},
        {"1 1:1\nx 1:1\n", "a.svm:2: label 'x' is not a number", MERCER_ERR_DATA},
        {"nan 1:1\n", "a.svm:1: label 'nan' is not a number", MERCER_ERR_DATA},
        {"1, 1:1\n", "a.svm:1: label '1,' is not a number", MERCER_ERR_DATA},
        {"1 1:1\n\n2:2\n", "a.svm:3: '2:2' where a label is expected", MERCER_ERR_FORMAT},
        {"1:1\n2 2:2\n", "a.svm:2: '2' is a label", MERCER_ERR_FORMAT},
        {"1.5,2 1:1\n1.5 1:1\n", "a.svm:2: rows with different numbers", MERCER_ERR_FORMAT},
        {"1,2 1:1\n1 1:1\n1.5 1:1\n", "a.svm:3: rows with different", MERCER_ERR_FORMAT},
        {"1 3:1 2:1\n", "a.svm:1: '2:1' does not come after", MERCER_ERR_FORMAT},
        {"1 3:1 3:1\n", "a.svm:1: '3:1' does not come after", MERCER_ERR_FORMAT},
        {"1 0:1\n", "a.svm:1: '0:1' has index 0, but indices count from 1", MERCER_ERR_FORMAT},
        {"1 -1:1\n", "a.svm:1: '-1:1' is not a pair", MERCER_ERR_FORMAT},
        {"1 1:1 2\n", "a.svm:1: '2' is not a pair index:value", MERCER_ERR_FORMAT},
        {"1 :1\n", "a.svm:1: ':1' is not a pair", MERCER_ERR_FORMAT},
        {"1 2147483648:1\n", "beyond 2147483647", MERCER_ERR_FORMAT},
        {"1 qid:1:1\n", "a.svm:1: 'qid:1:1' is not a pair", MERCER_ERR_FORMAT},
        {"1 1:x\n", "a.svm:1: '1:x' has a value that is not a number", MERCER_ERR_DATA},
        {"1 1:\n", "a.svm:1: '1:' has a value that is not a number", MERCER_ERR_DATA},
        {"1 1:1,5\n", "a.svm:1: '1:1,5' has a value that is not a number", MERCER_ERR_DATA},
        {"1 1:1:2\n", "a.svm:1: '1:1:2' has a value that is not a number", MERCER_ERR_DATA},
        {"1 1:-inf\n", "a.svm:1: '1:-inf' has a value that is not finite", MERCER_ERR_DATA},
        {"1 1:1e999\n", "not finite", MERCER_ERR_DATA},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mercer_table *table;
        put_text("a.svm", cases[i].text);
        assert_fails(mercer_table_read(ctx, in_scratch("a.svm"), NULL, &table, &err),
                     cases[i].status, cases[i].words);
        assert_null(table);
    }
}

/* Block by block the numbers are those of the whole table, also where only the last row tells the
 * columns and that labels are values, and where the buffer ends inside rows. */
static void test_blocks(void **state)
{
    enum { N = 20000, D = 12 };
    mercer_read_options options;
    (void)state;
    char *text = test_malloc(N * 64), *at = text;
    for (int i = 0; i < N; i++)
        at += snprintf(at, 64, "%s %d:%d\n", i + 1 == N ? "0.5" : "3",
                       i + 1 == N ? D : 1 + i % (D - 1), i);
    put_text("a.svm", text);
    test_free(text);
    mercer_read_options_init(&options);
    for (int given = 0; given < 2; given++) {
        mercer_reader *reader;
        mercer_table *block;
        int64_t done = 0;
        options.columns = given ? D + 1 : 0;
        assert_ok(mercer_reader_open(ctx, in_scratch("a.svm"), &options, &reader, &err));
        for (;;) {
            assert_ok(mercer_reader_next(ctx, reader, 777, &block, &err));
            if (!block)
                break;
            const mercer_rows *rows = mercer_table_rows(block);
            const mercer_targets *targets = mercer_table_targets(block);
            assert_int_equal(rows->d, D + given);
            assert_int_equal(mercer_targets_kind(targets), MERCER_TARGET_VALUES);
            for (int64_t i = 0; i < rows->n; i++, done++) {
                assert_true(mercer_targets_values(targets)[i] == (done + 1 == N ? 0.5 : 3));
                assert_true(rows->csr.value[i] == (double)done);
                assert_int_equal(rows->csr.column[i],
                                 done + 1 == N ? D - 1 : (int)(done % (D - 1)));
            }
            mercer_table_free(block);
        }
        assert_int_equal(done, N);
        mercer_reader_close(reader);
    }
}

/* A stream has no second pass: its columns must be known, and its labels stay what they were. */
static void put_in_pipe(const int ends[2], const char *text)
{
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
}

/* A pipe with this text in it, and a reader of what comes through it. */
static mercer_reader *open_pipe(int ends[2], const char *text, int64_t columns, int skip_labels)
{
    mercer_read_options options;
    mercer_reader *reader;
    char path[32];
    mercer_read_options_init(&options);
    options.format = "libsvm";
    options.columns = columns;
    options.skip_labels = skip_labels;
    assert_int_equal(pipe(ends), 0);
    put_in_pipe(ends, text);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_ok(mercer_reader_open(ctx, path, &options, &reader, &err));
    return reader;
}

static void test_streams(void **state)
{
    mercer_table *block;
    int ends[2];
    (void)state;
    for (int i = 0; i < 3; i++) {
        mercer_reader *reader = open_pipe(ends, "1 1:1\n2.5 2:1\n", i == 1 ? 2 : 0, 0);
        close(ends[1]);
        if (i == 0) {
            assert_fails(mercer_reader_next(ctx, reader, 1, &block, &err), MERCER_ERR_ARGUMENT,
                         "how many columns");
        } else if (i == 1) {
            assert_ok(mercer_reader_next(ctx, reader, 1, &block, &err));
            mercer_table_free(block);
            assert_fails(mercer_reader_next(ctx, reader, 1, &block, &err), MERCER_ERR_DATA,
                         ":2: label '2.5' is not a whole number");
        } else {
            assert_ok(mercer_reader_next(ctx, reader, INT64_MAX, &block, &err));
            assert_rows(block, 2, 2, (const double[]){1, 0, 0, 1});
            mercer_table_free(block);
        }
        mercer_reader_close(reader);
        close(ends[0]);
    }
}

/* A block ends where the next line has not come yet, once columns and labels are settled. */
static void test_streams_are_not_waited_for(void **state)
{
    mercer_table *block;
    int ends[2];
    mercer_reader *reader = open_pipe(ends, "1 1:1\n# a comment\n2.5 2", 2, 1);
    (void)state;
    assert_ok(mercer_reader_next(ctx, reader, 100, &block, &err));
    assert_rows(block, 1, 2, (const double[]){1, 0});
    assert_int_equal(mercer_targets_kind(mercer_table_targets(block)), MERCER_TARGET_NONE);
    mercer_table_free(block);
    put_in_pipe(ends, ":3\n");
    assert_ok(mercer_reader_next(ctx, reader, 100, &block, &err));
    assert_rows(block, 1, 2, (const double[]){0, 3});
    mercer_table_free(block);
    put_in_pipe(ends, "word 2:4\n");
    close(ends[1]);
    assert_ok(mercer_reader_next(ctx, reader, 100, &block, &err));
    assert_rows(block, 1, 2, (const double[]){0, 4});
    mercer_table_free(block);
    assert_ok(mercer_reader_next(ctx, reader, 100, &block, &err));
    assert_null(block);
    mercer_reader_close(reader);
    close(ends[0]);
}

/* Gzip is not a stream: the file can be read twice. */
static void test_gzip_blocks(void **state)
{
    static const double x[] = {1, 0, 0, 2};
    mercer_writer *writer;
    mercer_reader *reader;
    mercer_table *block;
    (void)state;
    assert_ok(mercer_writer_open(ctx, in_scratch("a.svm.gz"), NULL, 2, NULL, NULL, &writer, &err));
    assert_ok(mercer_writer_rows(ctx, writer, x, 2, 2, NULL, &err));
    assert_ok(mercer_writer_finish(ctx, writer, &err));
    assert_ok(mercer_reader_open(ctx, in_scratch("a.svm.gz"), NULL, &reader, &err));
    for (int i = 0; i < 2; i++) {
        assert_ok(mercer_reader_next(ctx, reader, 1, &block, &err));
        assert_rows(block, 1, 2, x + 2 * i);
        mercer_table_free(block);
    }
    assert_ok(mercer_reader_next(ctx, reader, 1, &block, &err));
    assert_null(block);
    mercer_reader_close(reader);
}

/* A locale with a decimal comma changes neither what is read nor what is written. */
static void test_locale(void **state)
{
    static const double x[] = {0.5, -2.25};
    mercer_writer *writer;
    mercer_table *table;
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.utf8") && !setlocale(LC_ALL, "de_DE.UTF-8")) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    assert_ok(mercer_writer_open(ctx, in_scratch("a.svm"), NULL, 2, NULL, "y", &writer, &err));
    assert_ok(mercer_writer_rows(ctx, writer, x, 1, 2, (const char *const[]){"1.5"}, &err));
    assert_ok(mercer_writer_finish(ctx, writer, &err));
    mercer_status rc = mercer_table_read(ctx, in_scratch("a.svm"), NULL, &table, &err);
    put_text("a.mtx", "%%MatrixMarket matrix array real general\n1 2\n0.5\n-2.25\n");
    mercer_table *market = NULL;
    if (rc == MERCER_OK)
        rc = mercer_table_read(ctx, in_scratch("a.mtx"), NULL, &market, &err);
    setlocale(LC_ALL, "C");
    assert_ok(rc);
    assert_file_is(in_scratch("a.svm"), "1.5 1:0.5 2:-2.25\n");
    assert_rows(table, 1, 2, x);
    assert_rows(market, 1, 2, x);
    assert_true(mercer_targets_values(mercer_table_targets(table))[0] == 1.5);
    mercer_table_free(table);
    mercer_table_free(market);
}

static void test_failing(void **state)
{
    static const char *const texts[] = {"1 1:1 2:2\n2 3:3\n", "1 1:1 2:2\n2.5 3:3\n",
                                        "1:1 2:2\n3:3\n"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        put_text("a.svm", texts[i / 2]);
        for (int k = 0; rc != MERCER_OK; k++) {
            mercer_reader *reader;
            mercer_table *table = NULL;
            assert_true(k < 1000);
            mrc_alloc_fail_after(k);
            rc = mercer_reader_open(ctx, in_scratch("a.svm"), NULL, &reader, &err);
            if (rc == MERCER_OK)
                rc = mercer_reader_next(ctx, reader, i % 2 ? 2 : INT64_MAX, &table, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            if (rc == MERCER_OK)
                assert_rows(table, 2, 3, (const double[]){1, 2, 0, 0, 0, 3});
            mercer_table_free(table);
            mercer_reader_close(reader);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows),
        TEST(test_values),
        TEST(test_label_options),
        TEST(test_columns),
        TEST(test_refusals),
        TEST(test_blocks),
        TEST(test_streams),
        TEST(test_gzip_blocks),
        TEST(test_failing),
        TEST(test_locale),
        TEST(test_streams_are_not_waited_for),
    };
    return RUN_TESTS(tests);
}
