/* SPDX-License-Identifier: BSD-3-Clause */
/* CSV and TSV: what is read, and the exact words for what is not. */
#include "data_support.h"

#include "io/reader.h"

#include <math.h>
#include <zlib.h>

static mercer_table *table;
static mercer_read_options options;
static char notice[512];

static void keep_notice(void *host, const mercer_notice *given)
{
    (void)host;
    snprintf(notice, sizeof notice, "%s", given->text);
}

static void fresh(void)
{
    mercer_read_options_init(&options);
    mercer_table_free(table);
    table = NULL;
}

/* Read a text as data.csv, which must work. */
static void reads(const char *text)
{
    mercer_table_free(table);
    assert_ok(mercer_table_read(ctx, put_text("data.csv", text), &options, &table, &err));
    assert_non_null(table);
}

static void refuses(const char *text, mercer_status code, const char *words)
{
    mercer_table *none = (mercer_table *)text;
    assert_fails(mercer_table_read(ctx, put_text("data.csv", text), &options, &none, &err), code,
                 words);
    assert_null(none);
    assert_memory_equal(err.text, scratch, strlen(scratch));
    /* The same without an error to fill. */
    assert_int_equal(mercer_table_read(ctx, in_scratch("data.csv"), &options, &none, NULL), code);
}

static void shape(int64_t n, int64_t d)
{
    assert_int_equal(mercer_rows_count(mercer_table_rows(table)), n);
    assert_int_equal(mercer_rows_columns(mercer_table_rows(table)), d);
}

static double at(int64_t i, int64_t j)
{
    const mercer_rows *rows = mercer_table_rows(table);
    assert_true(i < rows->n && j < rows->d);
    return rows->x[i * rows->ld + j];
}

static void named(int64_t column, const char *name)
{
    const char *given = mercer_rows_name(mercer_table_rows(table), column);
    if (name)
        assert_string_equal(given, name);
    else
        assert_null(given);
}

static void test_plain(void **state)
{
    (void)state;
    fresh();
    reads("x,y\n1,2\n3.5,-4e2\n");
    shape(2, 2);
    named(0, "x");
    named(1, "y");
    assert_true(at(0, 0) == 1 && at(0, 1) == 2 && at(1, 0) == 3.5 && at(1, 1) == -400);
    assert_int_equal(mercer_targets_kind(mercer_table_targets(table)), MERCER_TARGET_NONE);
    assert_null(mercer_table_target_origin(table));
    reads("1,2\n3,4");
    shape(2, 2);
    named(0, NULL);
    reads("7");
    shape(1, 1);
    fresh();
}

static void test_line_ends_and_blanks(void **state)
{
    static const char *const texts[] = {"a,b\n1,2\n3,4\n",
                                        "a,b\r\n1,2\r\n3,4\r\n",
                                        "a,b\r1,2\r3,4",
                                        ("\xef\xbb\xbf"
                                         "a,b\n1,2\n3,4"),
                                        " a , b \n 1 ,\t2\n3, 4 ",
                                        "a,b\n1,2\n3,4\n\n\r\n  \n",
                                        "\"a\",\"b\"\n\"1\",\"2\"\n \"3\" , 4",
                                        "a,b\n1,2\r3,4\r"};
    (void)state;
    fresh();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        reads(texts[i]);
        shape(2, 2);
        named(0, "a");
        named(1, "b");
        assert_true(at(0, 0) == 1 && at(0, 1) == 2 && at(1, 0) == 3 && at(1, 1) == 4);
    }
    fresh();
}

static void test_header_rule(void **state)
{
    (void)state;
    fresh();
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    reads("x,2010\n1,2\n"); /* a word above a number */
    shape(1, 2);
    named(1, "2010");
    assert_non_null(strstr(notice, "1 of its 2 cells is a number"));
    mercer_ctx_set_notice(ctx, NULL, NULL);
    reads("\"1\",\"2\"\n1,2\n"); /* quoted numbers above plain ones */
    shape(1, 2);
    named(0, "1");
    reads("\"1\",\"2\"\n\"1\",\"2\"\n");
    shape(2, 2);
    reads(",x,y\n1,2,3\n"); /* a column without a name */
    shape(1, 3);
    named(0, "column1");
    options.label = "3";
    reads("5.1,3.5,setosa\n4.9,3.0,setosa\n"); /* words below words: data */
    shape(2, 2);
    named(0, NULL);
    fresh();
    options.label = "3";
    refuses("1,,a\n1,2,b\n", MERCER_ERR_DATA, ":1: column 2 is empty");
    fresh();
    refuses("1,nan\n1,2\n", MERCER_ERR_DATA, ":1: column 2: 'nan' is not finite");
}

/* What the first line is when the caller says so, when he names a column, and to a caller who was
 * compiled before the option was there. */
static void test_header_given(void **state)
{
    static const char text[] = "2019,2020,kind\n1,2,a\n3,4,b\n";
    static const char *const model[] = {"2020", "2019"};
    (void)state;
    fresh();
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    options.label = "3";
    options.header = "yes";
    notice[0] = 0;
    reads(text);
    shape(2, 2);
    named(0, "2019");
    assert_string_equal(notice, "");
    options.header = "no";
    reads(text);
    shape(3, 2);
    assert_string_equal(notice, "");
    options.header = NULL;
    reads(text);
    shape(3, 2);
    assert_non_null(strstr(notice, "no other row is of class 'kind'"));
    notice[0] = 0;
    options.label = "kind";
    reads(text);
    shape(2, 2);
    assert_string_equal(notice, "");
    options.label = NULL;
    options.only = model;
    options.only_count = 2;
    reads(text);
    shape(2, 2);
    named(0, "2020");
    assert_true(at(0, 0) == 2 && at(1, 1) == 3);
    fresh();
    options.header = "maybe";
    mercer_table *none;
    assert_fails(mercer_table_read(ctx, put_text("data.csv", text), &options, &none, &err),
                 MERCER_ERR_ARGUMENT, "header 'maybe' is not one of yes, no");
    options.label = "3"; /* the field lies beyond the end of an older struct */
    options.struct_size = offsetof(mercer_read_options, header);
    reads(text);
    shape(3, 2);
    mercer_ctx_set_notice(ctx, NULL, NULL);
    fresh();
}

/* Blocks get shorter where they would not fit the budget, and hold the same rows; a whole table is
 * refused. */
static void test_budget(void **state)
{
    enum { ROWS = 30000, COLUMNS = 10 };
    int64_t memory = mercer_ctx_memory(ctx), rows = 0, blocks = 0;
    mercer_reader *reader = NULL;
    mercer_table *block = NULL, *none;
    char *text = NULL;
    size_t used = 0;
    (void)state;
    fresh();
    assert_ok(mrc_grow(&text, ROWS * COLUMNS * 8, 1, &err));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            used += (size_t)snprintf(text + used, 8, "%d%c", (i + j) % 1000, j < 9 ? ',' : '\n');
    const char *path = put_text("data.csv", text);
    assert_ok(mercer_ctx_set_memory(ctx, 1 << 20, &err));
    assert_fails(mercer_table_read(ctx, path, &options, &none, &err), MERCER_ERR_BUDGET,
                 "data.csv: its rows take more than the memory budget of 1.0 MB (about ");
    assert_null(none);
    assert_ok(mercer_reader_open(ctx, path, &options, &reader, &err));
    for (;; blocks++) {
        assert_ok(mercer_reader_next(ctx, reader, 20000, &block, &err));
        if (!block)
            break;
        const mercer_rows *got = mercer_table_rows(block);
        assert_true(got->n * COLUMNS * 8 <= 1 << 19);
        for (int64_t i = 0; i < got->n; i++)
            for (int64_t j = 0; j < COLUMNS; j++)
                assert_true(got->x[i * got->ld + j] == (double)((rows + i + j) % 1000));
        rows += got->n;
        mercer_table_free(block);
    }
    assert_true(rows == ROWS && blocks > 4);
    mercer_reader_close(reader);
    assert_ok(mercer_ctx_set_memory(ctx, 4 << 20, &err));
    assert_ok(mercer_table_read(ctx, path, &options, &table, &err));
    shape(ROWS, COLUMNS);
    assert_ok(mercer_ctx_set_memory(ctx, memory, &err));
    mrc_free(text);
    fresh();
}

static void test_quotes(void **state)
{
    (void)state;
    fresh();
    options.label = "name";
    reads("\"a \"\"b\"\"\",\"x,\ny\",name\n1,2,\"first \"\"one\"\"\nand more\"\n3,4,  plain \"q\" "
          "\n");
    shape(2, 2);
    named(0, "a \"b\"");
    named(1, "x,\ny");
    const mercer_targets *targets = mercer_table_targets(table);
    assert_int_equal(mercer_targets_classes(targets), 2);
    assert_string_equal(mercer_targets_class_name(targets, 0), "first \"one\"\nand more");
    assert_string_equal(mercer_targets_class_name(targets, 1), "plain \"q\"");
    refuses("x,name\n1,\"a\n", MERCER_ERR_FORMAT, ":2: a quoted cell is never closed");
    refuses("x,name\n1,\"a\"b\n", MERCER_ERR_FORMAT, ":2: text behind the closing quote");
    refuses("x,name\n1,\"\"\n", MERCER_ERR_DATA, ":2: column 'name' is empty");
    /* physical lines are counted through quoted line ends */
    refuses("x,name\n1,\"a\nb\r\nc\rd\"\nq,b\n", MERCER_ERR_DATA,
            ":6: column 'x': 'q' is not a number");
    fresh();
}

static void test_labels_by_rule(void **state)
{
    (void)state;
    fresh();
    reads("x,label,y\n1,b,2\n3,a,4\n5,b,6\n");
    shape(3, 2);
    named(1, "y");
    assert_true(at(2, 0) == 5 && at(2, 1) == 6);
    const mercer_targets *targets = mercer_table_targets(table);
    assert_int_equal(mercer_targets_kind(targets), MERCER_TARGET_CLASSES);
    assert_int_equal(mercer_targets_classes(targets), 2);
    assert_string_equal(mercer_targets_class_name(targets, 0), "b");
    assert_string_equal(mercer_targets_class_name(targets, 1), "a");
    assert_null(mercer_targets_class_name(targets, 2));
    assert_string_equal(mercer_targets_name(targets, 0), "label");
    const int64_t *codes = mercer_targets_codes(targets);
    assert_true(codes[0] == 0 && codes[1] == 1 && codes[2] == 0);
    assert_string_equal(mercer_table_target_origin(table), "classes from column 'label'");
    reads("x,target\n1,-2\n3,0.5\n");
    shape(2, 1);
    targets = mercer_table_targets(table);
    assert_int_equal(mercer_targets_kind(targets), MERCER_TARGET_VALUES);
    assert_int_equal(mercer_targets_columns(targets), 1);
    assert_true(mercer_targets_values(targets)[1] == 0.5);
    assert_string_equal(mercer_table_target_origin(table), "values from column 'target'");
    options.no_label = 1;
    reads("x,target\n1,-2\n");
    shape(1, 2);
    fresh();
    refuses("x,label,target\n1,2,3\n", MERCER_ERR_ARGUMENT, "'label' and a column 'target'");
}

static void test_label_and_targets_given(void **state)
{
    (void)state;
    fresh();
    options.label = "2";
    reads("1,red\n2,blue\n");
    assert_string_equal(mercer_table_target_origin(table), "classes from column 2");
    assert_null(mercer_targets_name(mercer_table_targets(table), 0));
    fresh();
    options.target = "c,1";
    reads("a,b,c,label\n1,2,3,4\n5,6,7,8\n");
    shape(2, 2);
    named(1, "label"); /* an explicit choice turns the rule off */
    const mercer_targets *targets = mercer_table_targets(table);
    assert_int_equal(mercer_targets_columns(targets), 2);
    const double *values = mercer_targets_values(targets);
    assert_true(values[0] == 3 && values[1] == 1 && values[2] == 7 && values[3] == 5);
    assert_string_equal(mercer_targets_name(targets, 0), "c");
    assert_string_equal(mercer_targets_name(targets, 1), "a");
    assert_null(mercer_targets_name(targets, 2));
    assert_string_equal(mercer_table_target_origin(table), "values from columns 'c', 'a'");
    options.target = "a,b"; /* a name with a comma */
    reads("x,\"a,b\"\n1,2\n");
    shape(1, 1);
    options.target = "a,a";
    refuses("a,b\n1,2\n", MERCER_ERR_ARGUMENT, "target column 'a' is given twice");
    fresh();
}

static void test_missing_columns(void **state)
{
    (void)state;
    fresh();
    options.label = "kind";
    refuses("a,b,c\n1,2,3\n", MERCER_ERR_ARGUMENT, "there is no column 'kind' (columns: a, b, c)");
    refuses("1,2,3\n", MERCER_ERR_ARGUMENT, "no column 'kind' (it has 3 columns without names)");
    options.label = "4";
    refuses("1,2,3\n", MERCER_ERR_ARGUMENT, "no column '4'");
    options.label = "0";
    refuses("1,2,3\n", MERCER_ERR_ARGUMENT, "no column '0'");
    options.label = "a";
    refuses("a\n1\n", MERCER_ERR_DATA, "no data columns are left beside the label");
    fresh();
    options.target = "a,";
    refuses("a,b\n1,2\n", MERCER_ERR_ARGUMENT, "no column ''");
    options.target = "a,1";
    refuses("a,b\n1,2\n", MERCER_ERR_ARGUMENT, "target column '1' is given twice");
}

static void test_only_some_columns(void **state)
{
    const char *const wanted[] = {"c", "a"};
    (void)state;
    fresh();
    options.only = wanted;
    options.only_count = 2;
    reads("a,name,c,label\n1,red,3,u\n4,\"blue, dark\",6,v\n");
    shape(2, 2);
    named(0, "c");
    named(1, "a");
    assert_true(at(0, 0) == 3 && at(0, 1) == 1 && at(1, 0) == 6 && at(1, 1) == 4);
    assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 2);
    reads("7,8,9\n"); /* without names the columns are taken as they come */
    shape(1, 3);
    refuses("a,b\n1,2\n", MERCER_ERR_DATA, "column 'c' is missing");
    refuses("a,b,c\n1,x\n", MERCER_ERR_FORMAT, "2 cells where 3 were expected");
    mercer_reader *reader = NULL;
    const char *first = NULL;
    assert_ok(mercer_reader_open(ctx, put_text("data.csv", "b,c,d,a\n1,2,3,4\n"), &options, &reader,
                                 &err));
    assert_int_equal(mercer_reader_skipped(reader, &first), 2);
    assert_string_equal(first, "b");
    mercer_reader_close(reader);
    fresh();
}

static void test_conflicting_options(void **state)
{
    const char *path = put_text("data.csv", "a,b\n1,2\n");
    mercer_table *none;
    (void)state;
    fresh();
    options.label = "a";
    options.target = "b";
    assert_fails(mercer_table_read(ctx, path, &options, &none, &err), MERCER_ERR_ARGUMENT, "both");
    options.target = NULL;
    options.no_label = 1;
    assert_fails(mercer_table_read(ctx, path, &options, &none, &err), MERCER_ERR_ARGUMENT,
                 "no-label makes every column data");
    fresh();
    options.format = "xls";
    assert_fails(
        mercer_table_read(ctx, path, &options, &none, &err), MERCER_ERR_ARGUMENT,
        "unknown format 'xls' (known: csv, tsv, npy, libsvm, toy; for reading also mtx, npz");
    fresh();
    options.struct_size = 0;
    assert_fails(mercer_table_read(ctx, path, &options, &none, &err), MERCER_ERR_ARGUMENT,
                 "initialised");
    fresh();
    assert_fails(mercer_table_read(ctx, put_text("data.txt", "1"), NULL, &none, &err),
                 MERCER_ERR_ARGUMENT, "extension");
    assert_ok(mercer_table_read(ctx, path, NULL, &table, &err));
    fresh();
}

static void test_bad_cells(void **state)
{
    (void)state;
    fresh();
    refuses("name,age\n1,2\n1,abc\n", MERCER_ERR_DATA,
            "data.csv:3: column 'age': 'abc' is not a number");
    refuses("1,2\n1,abc\n", MERCER_ERR_DATA, "data.csv:2: column 2: 'abc' is not a number");
    refuses("a,b\n1,nan\n", MERCER_ERR_DATA, ":2: column 'b': 'nan' is not finite");
    refuses("a,b\n-Inf,1\n", MERCER_ERR_DATA, ":2: column 'a': '-Inf' is not finite");
    refuses("a,b\n1,1e999\n", MERCER_ERR_DATA, "'1e999' is not finite");
    refuses("a,b\n1,2\n,2\n", MERCER_ERR_DATA,
            ":3: column 'a' is empty; the mean can replace a missing value, or its row be dropped");
    refuses("a,b\n1,NA\n", MERCER_ERR_DATA,
            "'NA' is not a number; the mean can replace a missing value, or its row be dropped");
    refuses("a,b\n1,0x10\n", MERCER_ERR_DATA, "is not a number");
    refuses("a,b\n1,1 2\n", MERCER_ERR_DATA, "'1 2' is not a number");
    refuses("a,b\n1,\"2\n3\"\n", MERCER_ERR_DATA, "'2?3' is not a number");
    refuses("a,b\n1,2e\n", MERCER_ERR_DATA, "'2e' is not a number");
    refuses("a,b\n# note\n1,2\n", MERCER_ERR_FORMAT, ":2: 1 cell where 2 were expected");
    char text[300];
    snprintf(text, sizeof text, "a\n1\n%0*d x\n", 200, 7);
    refuses(text, MERCER_ERR_DATA, "000...' is not a number");
}

static void test_ragged(void **state)
{
    (void)state;
    fresh();
    refuses("a,b,c,d,e\n1,2,3,4,5\n1,2,3\n", MERCER_ERR_FORMAT,
            ":3: 3 cells where 5 were expected");
    refuses("1,2\n3,4,\n", MERCER_ERR_FORMAT, ":2: 3 cells where 2 were expected");
    refuses("1\n2,3", MERCER_ERR_FORMAT, ":2: 2 cells where 1 was expected");
    refuses("1,2\n3", MERCER_ERR_FORMAT, ":2: 1 cell where 2 were expected");
    reads("\n \na,b\n\n1,2\n\n\n3,4\n"); /* blank lines are skipped, */
    shape(2, 2);
    reads("\n1\n2\n\n"); /* but of one column only around the rows */
    shape(2, 1);
    refuses("1\n\n2\n", MERCER_ERR_FORMAT, ":2: a blank line inside a table of one column");
    refuses("a,b,a\n1,2,3\n", MERCER_ERR_DATA, "two columns are called 'a'");
}

static void test_empty(void **state)
{
    (void)state;
    fresh();
    refuses("", MERCER_ERR_DATA, "data.csv: is empty");
    refuses("\n\n \n", MERCER_ERR_DATA, "is empty");
    refuses("\xef\xbb\xbf", MERCER_ERR_DATA, "is empty");
    refuses("a,b", MERCER_ERR_DATA, "has a header but no rows");
    refuses("a,b\r\n\n", MERCER_ERR_DATA, "has a header but no rows");
}

static void test_files_that_are_no_tables(void **state)
{
    mercer_table *none;
    (void)state;
    fresh();
    assert_fails(mercer_table_read(ctx, in_scratch("none.csv"), NULL, &none, &err), MERCER_ERR_IO,
                 "none.csv: cannot open: No such file");
    mkdir(in_scratch("folder.csv"), 0755);
    assert_fails(mercer_table_read(ctx, in_scratch("folder.csv"), NULL, &none, &err),
                 MERCER_ERR_DATA, "is a folder without images");
    fresh();
    options.format = "csv";
    assert_fails(mercer_table_read(ctx, in_scratch("folder.csv"), &options, &none, &err),
                 MERCER_ERR_IO, "is a folder, not a file");
    assert_fails(mercer_table_read(ctx, "", NULL, &none, &err), MERCER_ERR_ARGUMENT, "empty");
    assert_fails(mercer_table_read(ctx, NULL, NULL, &none, &err), MERCER_ERR_ARGUMENT, "NULL");
    assert_fails(mercer_table_read(ctx, put_bytes("b.csv", "1,2\n\0", 5), NULL, &none, &err),
                 MERCER_ERR_FORMAT, "not a text file");
    assert_fails(mercer_table_read(ctx,
                                   put_bytes("u.csv",
                                             "\xff\xfe"
                                             "1\0\n",
                                             5),
                                   NULL, &none, &err),
                 MERCER_ERR_FORMAT, "ends inside a character of UTF-16");
    assert_fails(mercer_table_read(ctx, put_text("p.csv.gz", "1,2\n"), NULL, &none, &err),
                 MERCER_ERR_FORMAT, "not a gzip file");
    /* zero bytes behind the first buffer */
    size_t size = 1 << 20;
    char *text = test_malloc(size);
    for (size_t i = 0; i < size; i += 2)
        memcpy(text + i, "1\n", 2);
    text[size - 3] = 0;
    assert_fails(mercer_table_read(ctx, put_bytes("z.csv", text, size), NULL, &none, &err),
                 MERCER_ERR_FORMAT, "zero byte");
    test_free(text);
}

static void test_tsv(void **state)
{
    (void)state;
    fresh();
    assert_ok(mercer_table_read(ctx, put_text("a.tsv", "a b\tc,d\n1\t2\n"), NULL, &table, &err));
    shape(1, 2);
    named(0, "a b");
    named(1, "c,d");
    fresh();
    assert_ok(mercer_table_read(ctx, put_text("a.tab", "1\t2\n"), NULL, &table, &err));
    shape(1, 2);
    mercer_table *none;
    assert_fails(mercer_table_read(ctx, put_text("b.tsv", "a\tb\n\t2\n"), NULL, &none, &err),
                 MERCER_ERR_DATA, ":2: column 'a' is empty");
    fresh();
    options.format = "tsv";
    assert_ok(mercer_table_read(ctx, put_text("c.txt", "1\t2\n"), &options, &table, &err));
    fresh();
}

static const char *put_gzip(const char *name, const char *text, int members)
{
    unlink(in_scratch(name));
    for (int i = 0; i < members; i++) {
        gzFile file = gzopen(in_scratch(name), "ab");
        assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
        gzclose(file);
    }
    return in_scratch(name);
}

static void test_gzip(void **state)
{
    mercer_table *none;
    size_t length;
    (void)state;
    fresh();
    assert_ok(mercer_table_read(ctx, put_gzip("a.csv.gz", "1,2\n", 3), NULL, &table, &err));
    shape(3, 2);
    fresh();
    put_gzip("b.csv", "1,2\n", 1); /* known by its bytes, whatever it is called */
    assert_ok(mercer_table_read(ctx, in_scratch("b.csv"), NULL, &table, &err));
    shape(1, 2);
    char *bytes = get_bytes(in_scratch("a.csv.gz"), &length);
    for (size_t cut = 1; cut < length / 3; cut++) {
        put_bytes("cut.csv.gz", bytes, cut);
        mercer_status rc = mercer_table_read(ctx, in_scratch("cut.csv.gz"), NULL, &none, &err);
        assert_fails(rc, MERCER_ERR_FORMAT, cut < 2 ? "not a gzip file" : "truncated");
    }
    bytes[12] ^= 0x55;
    assert_fails(mercer_table_read(ctx, put_bytes("d.csv.gz", bytes, length), NULL, &none, &err),
                 MERCER_ERR_FORMAT, "damaged");
    bytes[12] ^= 0x55;
    memcpy(bytes + length, "more", 4);
    assert_fails(
        mercer_table_read(ctx, put_bytes("e.csv.gz", bytes, length + 4), NULL, &none, &err),
        MERCER_ERR_FORMAT, "something else follows");
    assert_fails(mercer_table_read(ctx, put_text("f.csv.gz", ""), NULL, &none, &err),
                 MERCER_ERR_DATA, "is empty");
    test_free(bytes);
    fresh();
}

static void from_stdin(const char *path)
{
    int saved = dup(0), file = open(path, O_RDONLY);
    dup2(file, 0);
    close(file);
    mercer_status rc = mercer_table_read(ctx, "-", &options, &table, &err);
    dup2(saved, 0);
    close(saved);
    assert_ok(rc);
}

static void test_stdin(void **state)
{
    mercer_table *none;
    (void)state;
    fresh();
    from_stdin(put_text("plain", "a,b\n1,2\n"));
    shape(1, 2);
    fresh();
    from_stdin(put_gzip("zipped", "a,b\n1,2\n", 1));
    shape(1, 2);
    fresh();
    options.format = "tsv";
    from_stdin(put_text("plain", "a\tb\n1\t2\n"));
    shape(1, 2);
    fresh();
    int saved = dup(0), file = open(put_text("plain", "a\nb\n"), O_RDONLY);
    dup2(file, 0);
    close(file);
    mercer_status rc = mercer_table_read(ctx, "-", NULL, &none, &err);
    dup2(saved, 0);
    close(saved);
    assert_fails(rc, MERCER_ERR_DATA, "standard input:2: column 'a': 'b' is not a number");
}

static void test_labels_file(void **state)
{
    const char *data = put_text("data.csv", "x\n1\n2\n3\n");
    mercer_table *none;
    (void)state;
    fresh();
    options.labels_file = put_text("labels.txt", "red wine\r\n blue \nred wine\n\n");
    assert_ok(mercer_table_read(ctx, data, &options, &table, &err));
    const mercer_targets *targets = mercer_table_targets(table);
    assert_int_equal(mercer_targets_classes(targets), 2);
    assert_string_equal(mercer_targets_class_name(targets, 0), "red wine");
    assert_string_equal(mercer_targets_class_name(targets, 1), "blue");
    assert_int_equal(mercer_targets_codes(targets)[2], 0);
    assert_non_null(strstr(mercer_table_target_origin(table), "classes from /tmp"));
    options.header = "yes"; /* of the table alone */
    mercer_table_free(table);
    assert_ok(mercer_table_read(ctx, data, &options, &table, &err));
    shape(3, 1);
    options.labels_header = "yes";
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_DATA,
                 "labels.txt: has 2 labels after its first line, which is read as a name, but");
    options.labels_header = "perhaps";
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_ARGUMENT,
                 "labels_header 'perhaps' is not one of yes, no");
    options.header = options.labels_header = NULL;
    put_text("labels.txt", "a\nb\n");
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_DATA,
                 "labels.txt: has 2 labels, but");
    put_text("labels.txt", "a\nb\nc\nd\n");
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_DATA,
                 "labels.txt:4: more labels than the 3 rows of");
    put_text("labels.txt", "a\n\nc\nd\n");
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_FORMAT,
                 "labels.txt:2: a blank line");
    unlink(in_scratch("labels.txt"));
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_IO, "cannot open");
    options.label = "x";
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_ARGUMENT, "both");
    options.label = NULL;
    put_text("labels.txt", "a\n");
    put_text("data.csv", "x,label\n1,2\n");
    assert_fails(mercer_table_read(ctx, data, &options, &none, &err), MERCER_ERR_ARGUMENT,
                 "has a column 'label', but classes are to come from");
    options.no_label = 1;
    mercer_table_free(table);
    assert_ok(mercer_table_read(ctx, data, &options, &table, &err));
    shape(1, 2);
    fresh();
}

/* A file of many buffers, with quoted line ends here and there, read whole and in blocks. */
static void test_large_and_blocks(void **state)
{
    enum { ROWS = 40000 };
    const char *path = in_scratch("large.csv");
    FILE *file = fopen(path, "w");
    static const int64_t sizes[] = {1, 7, 4096, ROWS, ROWS + 1};
    (void)state;
    fresh();
    fprintf(file, "x,label,y\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "%.17g,%s%d%s,%d\n", sin(i), i % 3 ? "" : "\"c\n", i % 5, i % 3 ? "" : "\"",
                i);
    fclose(file);
    assert_ok(mercer_table_read(ctx, path, NULL, &table, &err));
    shape(ROWS, 2);
    for (int i = 0; i < ROWS; i++)
        assert_true(at(i, 0) == sin(i) && at(i, 1) == i);
    assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 10);
    for (size_t s = 1; s < sizeof sizes / sizeof *sizes; s++) {
        mercer_reader *reader;
        mercer_table *block;
        int64_t seen = 0;
        assert_ok(mercer_reader_open(ctx, path, NULL, &reader, &err));
        for (;;) {
            assert_ok(mercer_reader_next(ctx, reader, sizes[s], &block, &err));
            if (!block)
                break;
            int64_t n = block->rows->n;
            assert_true(n == sizes[s] || seen + n == ROWS);
            assert_memory_equal(block->rows->x, table->rows->x + 2 * seen, 16 * (size_t)n);
            assert_memory_equal(block->targets.codes, table->targets.codes + seen, 8 * (size_t)n);
            assert_string_equal(block->rows->names[1], "y");
            seen += n;
            mercer_table_free(block);
        }
        assert_int_equal(seen, ROWS);
        assert_ok(mercer_reader_next(ctx, reader, sizes[s], &block, &err));
        assert_null(block);
        assert_fails(mercer_reader_next(ctx, reader, 0, &block, &err), MERCER_ERR_ARGUMENT, "0");
        mercer_reader_close(reader);
    }
    mercer_reader_close(NULL);
    fresh();
}

/* Every way of cutting the file between two reads: a short file behind padding of every length. */
static void test_buffer_ends_anywhere(void **state)
{
    static const char tail[] = "\"a\"\"b\r\nc\",1.5e1\r\n zz , \"-2\" \r\nq,3";
    enum { BUFFER = 1 << 18 };
    char *text = test_malloc(BUFFER + 100);
    (void)state;
    fresh();
    options.label = "1";
    for (size_t shift = 0; shift < sizeof tail + 2; shift++) {
        size_t used = 0, start = BUFFER - shift;
        while (used + 4 <= start - 8)
            memcpy(text + used, "p,1\n", 4), used += 4;
        memset(text + used, 'p', start - used - 3);
        memcpy(text + start - 3, ",1\n", 3);
        memcpy(text + start, tail, sizeof tail - 1);
        put_bytes("data.csv", text, start + sizeof tail - 1);
        mercer_table_free(table);
        assert_ok(mercer_table_read(ctx, in_scratch("data.csv"), &options, &table, &err));
        int64_t n = mercer_rows_count(mercer_table_rows(table));
        const mercer_targets *targets = mercer_table_targets(table);
        assert_true(at(n - 3, 0) == 15 && at(n - 2, 0) == -2 && at(n - 1, 0) == 3);
        assert_int_equal(mercer_targets_classes(targets), 5);
        assert_string_equal(mercer_targets_class_name(targets, 2), "a\"b\r\nc");
        assert_string_equal(mercer_targets_class_name(targets, 3), "zz");
        assert_string_equal(mercer_targets_class_name(targets, 4), "q");
    }
    test_free(text);
    fresh();
}

static void test_long_rows(void **state)
{
    enum { COLUMNS = 100000 };
    const char *path = in_scratch("wide.csv");
    FILE *file = fopen(path, "w");
    (void)state;
    fresh();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < COLUMNS; j++)
            fprintf(file, i ? "%d%c" : "c%d%c", i * j, j + 1 < COLUMNS ? ',' : '\n');
    fclose(file);
    mercer_table *none;
    assert_fails(mercer_table_read(ctx, path, NULL, &none, &err), MERCER_ERR_DATA,
                 "two columns are called 'c0'");
    file = fopen(path, "w");
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < COLUMNS; j++)
            fprintf(file, "%d%c", i * j, j + 1 < COLUMNS ? ',' : '\n');
    fclose(file);
    assert_ok(mercer_table_read(ctx, path, NULL, &table, &err));
    shape(2, COLUMNS);
    assert_true(at(1, COLUMNS - 1) == COLUMNS - 1);
    fresh();
}

static void test_many_classes(void **state)
{
    const char *path = in_scratch("classes.csv");
    FILE *file = fopen(path, "w");
    (void)state;
    fresh();
    for (int i = 0; i < 3000; i++)
        fprintf(file, "%d,k%d\n", i, i % 1000);
    fclose(file);
    options.label = "2";
    assert_ok(mercer_table_read(ctx, path, &options, &table, &err));
    assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 1000);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(mercer_targets_codes(mercer_table_targets(table))[i], i % 1000);
    fresh();
}

static void test_cancel(void **state)
{
    const char *path = in_scratch("long.csv");
    FILE *file = fopen(path, "w");
    mercer_table *none;
    (void)state;
    fresh();
    for (int i = 0; i < 100000; i++)
        fprintf(file, "%d,%d\n", i, i);
    fclose(file);
    mercer_ctx_cancel(ctx);
    mercer_status rc = mercer_table_read(ctx, path, NULL, &none, &err);
    mercer_ctx_resume(ctx);
    assert_fails(rc, MERCER_ERR_CANCELLED, "cancelled");
    assert_null(none);
}

static void test_every_allocation_fails(void **state)
{
    static const char *const texts[] = {"\"x\"\"1\",label,y\n1,\"a\"\"b\",2\n3,c,4\n",
                                        "x,label,y\n1,a,2\n3,q\"q,4\n"};
    (void)state;
    fresh();
    for (int way = 0; way < 4; way++) {
        const char *path =
            way == 3 ? put_gzip("data.csv", texts[0], 1) : put_text("data.csv", texts[way % 2]);
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        fresh();
        if (way == 2) {
            options.no_label = 1;
            path = put_text("data.csv", "x,y\n1,2\n3,4\n");
            options.labels_file = put_text("labels.txt", "a\nb\n");
        }
        for (int k = 0; rc != MERCER_OK; k++) {
            mercer_table *got = NULL;
            assert_true(k < 1000);
            mrc_alloc_fail_after(k);
            rc = mercer_table_read(ctx, path, &options, &got, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_true((rc == MERCER_OK) == (got != NULL));
            mercer_table_free(got);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plain),
        TEST(test_line_ends_and_blanks),
        TEST(test_header_rule),
        TEST(test_header_given),
        TEST(test_budget),
        TEST(test_quotes),
        TEST(test_labels_by_rule),
        TEST(test_label_and_targets_given),
        TEST(test_missing_columns),
        TEST(test_only_some_columns),
        TEST(test_conflicting_options),
        TEST(test_bad_cells),
        TEST(test_ragged),
        TEST(test_empty),
        TEST(test_files_that_are_no_tables),
        TEST(test_tsv),
        TEST(test_gzip),
        TEST(test_stdin),
        TEST(test_labels_file),
        TEST(test_large_and_blocks),
        TEST(test_buffer_ends_anywhere),
        TEST(test_long_rows),
        TEST(test_many_classes),
        TEST(test_cancel),
        TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
