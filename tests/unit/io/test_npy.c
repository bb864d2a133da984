/* SPDX-License-Identifier: BSD-3-Clause */
/* NPY files: every dtype and order, and files that lie about themselves. */
#include "data_support.h"

#include "io/reader.h"

#include <math.h>
#include <zlib.h>

static mercer_table *table;
static unsigned char file_bytes[1 << 16];
static size_t file_length;

/* A file of the given version with this header text and these data. */
static const char *put_npy_version(int version, const char *header, const void *data, size_t bytes)
{
    size_t length = strlen(header), used = 0;
    memcpy(file_bytes, "\x93NUMPY", 6);
    used = 6;
    file_bytes[used++] = (unsigned char)version;
    file_bytes[used++] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        file_bytes[used++] = (unsigned char)(length >> (8 * i));
    memcpy(file_bytes + used, header, length);
    used += length;
    if (bytes)
        memcpy(file_bytes + used, data, bytes);
    file_length = used + bytes;
    return put_bytes("a.npy", file_bytes, file_length);
}

static const char *put_npy(const char *dtype, int fortran, const char *shape, const void *data,
                           size_t bytes)
{
    char header[256];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }   \n",
             dtype, fortran ? "True" : "False", shape);
    return put_npy_version(1, header, data, bytes);
}

static void reads(const char *path)
{
    mercer_table_free(table);
    table = NULL;
    assert_ok(mercer_table_read(ctx, path, NULL, &table, &err));
}

static void refuses(const char *path, mercer_status code, const char *words)
{
    mercer_table *none;
    assert_fails(mercer_table_read(ctx, path, NULL, &none, &err), code, words);
    assert_null(none);
}

static void holds(int64_t n, int64_t d, const double *expected)
{
    const mercer_rows *rows = mercer_table_rows(table);
    assert_int_equal(rows->n, n);
    assert_int_equal(rows->d, d);
    for (int64_t i = 0; i < n * d; i++)
        assert_true(mrc_rows_at(rows, 0, i) == expected[i]);
}

static void swap_bytes(void *data, size_t count, size_t width)
{
    unsigned char *p = data;
    for (size_t i = 0; i < count; i++, p += width)
        for (size_t k = 0; k < width / 2; k++) {
            unsigned char keep = p[k];
            p[k] = p[width - 1 - k];
            p[width - 1 - k] = keep;
        }
}

static void test_dtypes(void **state)
{
    (void)state;
#define CHECK(type, name, kept, ...)                                                               \
    do {                                                                                           \
        type values[] = {__VA_ARGS__};                                                             \
        const double expected[] = {__VA_ARGS__};                                                   \
        char dtype[4] = "<" name;                                                                  \
        dtype[0] = sizeof(type) == 1 ? '|' : '<';                                                  \
        reads(put_npy(dtype, 0, "(2, 2)", values, sizeof values));                                 \
        holds(2, 2, expected);                                                                     \
        dtype[0] = '>';                                                                            \
        swap_bytes(values, 4, sizeof(type));                                                       \
        reads(put_npy(dtype, 0, "(2, 2)", values, sizeof values));                                 \
        holds(2, 2, expected);                                                                     \
        assert_int_equal(mercer_table_rows(table)->dtype, kept);                                   \
    } while (0)
    CHECK(double, "f8", MRC_F64, 1.5, -2, 1e300, 5e-324);
    CHECK(float, "f4", MRC_F32, 1.5f, -2, 1e30f, -0.25f);
    CHECK(int8_t, "i1", MRC_F32, -128, 127, 0, 1);
    CHECK(int16_t, "i2", MRC_F32, -32768, 32767, 0, 1);
    CHECK(int32_t, "i4", MRC_F64, INT32_MIN, INT32_MAX, 0, 1);
    CHECK(int64_t, "i8", MRC_F64, INT64_MIN, -1, 0, 1LL << 53);
    CHECK(uint8_t, "u1", MRC_U8, 0, 255, 1, 2);
    CHECK(uint16_t, "u2", MRC_F32, 0, 65535, 1, 2);
    CHECK(uint32_t, "u4", MRC_F64, 0, UINT32_MAX, 1, 2);
    CHECK(uint64_t, "u8", MRC_F64, 0, 1ULL << 63, 1, 2);
    const unsigned char flags[] = {0, 1, 2, 1};
    reads(put_npy("|b1", 0, "(2, 2)", flags, 4));
    holds(2, 2, (const double[]){0, 1, 1, 1});
    assert_int_equal(mercer_table_rows(table)->dtype, MRC_U8);
    const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0001};
    reads(put_npy("<f2", 0, "(2, 2)", halves, 8));
    holds(2, 2, (const double[]){1, -2, 65504, 0x1p-24});
    assert_int_equal(mercer_table_rows(table)->dtype, MRC_F32);
}

/* Floats stay floats when a column is taken out, and become doubles where values are filled in. */
static void test_packed_columns(void **state)
{
    const float x[] = {1.5f, 7, 2.5f, 3.5f, 8, NAN};
    mercer_read_options options;
    mercer_table *got;
    (void)state;
    put_npy("<f4", 0, "(2, 3)", x, sizeof x);
    mercer_read_options_init(&options);
    options.label = "2";
    refuses(in_scratch("a.npy"), MERCER_ERR_DATA, "row 2, column 3: nan is not finite");
    options.missing = "mean";
    assert_ok(mercer_table_read(ctx, in_scratch("a.npy"), &options, &got, &err));
    assert_true(got->rows->dtype == MRC_F64 && got->rows->x[3] == 2.5 && got->rows->x[2] == 3.5);
    mercer_table_free(got);
    put_npy("<f4", 0, "(1, 3)", x, 12);
    options.missing = NULL;
    assert_ok(mercer_table_read(ctx, in_scratch("a.npy"), &options, &got, &err));
    assert_true(got->rows->dtype == MRC_F32 && got->rows->d == 2);
    assert_true(mrc_rows_at(got->rows, 0, 0) == 1.5 && mrc_rows_at(got->rows, 0, 1) == 2.5);
    assert_string_equal(mercer_targets_class_name(mercer_table_targets(got), 0), "7");
    mercer_table_free(got);
}

static void test_shapes(void **state)
{
    double x[24], expected[24];
    (void)state;
    for (int i = 0; i < 24; i++)
        x[i] = i;
    reads(put_npy("<f8", 0, "(3,)", x, 24));
    holds(3, 1, x);
    reads(put_npy("<f8", 1, "(3,)", x, 24));
    holds(3, 1, x);
    reads(put_npy("<f8", 0, "(2, 3, 4)", x, sizeof x));
    holds(2, 12, x);
    reads(put_npy("<f8", 1, "(6, 4)", x, sizeof x));
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 4; j++)
            expected[i * 4 + j] = j * 6 + i;
    holds(6, 4, expected);
    /* Element [i][j][k] of a Fortran array stands at i + 2j + 6k. */
    reads(put_npy("<f8", 1, "(2, 3, 4)", x, sizeof x));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                expected[i * 12 + j * 4 + k] = i + 2 * j + 6 * k;
    holds(2, 12, expected);
    reads(put_npy("<f8", 1, "(1, 2, 3)", x, 48));
    holds(1, 6, (const double[]){0, 2, 4, 1, 3, 5});
    reads(put_npy("<f8", 1, "(4L, 1L)", x, 32));
    holds(4, 1, x);
}

static void test_versions_and_spelling(void **state)
{
    const double x[] = {1, 2};
    (void)state;
    for (int version = 1; version <= 3; version++) {
        reads(put_npy_version(
            version, "{\"shape\":(2,1),\"descr\":\"<f8\",\"fortran_order\":False}", x, 16));
        holds(2, 1, x);
    }
    reads(put_npy("=f8", 0, "(2, 1)", x, 16));
    holds(2, 1, x);
    put_npy("<f8", 0, "(2, 1)", x, 16);
    file_bytes[file_length] = 7; /* more bytes than the shape says are let be, as NumPy does */
    reads(put_bytes("a.npy", file_bytes, file_length + 1));
    holds(2, 1, x);
}

static void test_damaged(void **state)
{
    const double x[] = {1, 2, 3, 4};
    (void)state;
    refuses(put_text("a.npy", ""), MERCER_ERR_DATA, "is empty");
    refuses(put_text("a.npy", "1,2\n3,4\n"), MERCER_ERR_FORMAT, "is not an NPY file");
    refuses(put_text("a.npy", "\x93NUMPY"), MERCER_ERR_FORMAT, "header ends too early");
    put_npy("<f8", 0, "(2, 2)", x, 32);
    for (size_t cut = 1; cut < file_length; cut++)
        refuses(put_bytes("a.npy", file_bytes, cut), MERCER_ERR_FORMAT,
                cut < 6                  ? "not an NPY file"
                : cut < file_length - 32 ? "header ends too early"
                                         : "bytes of data where 32 were expected");
    refuses(put_npy_version(4, "{}", x, 0), MERCER_ERR_FORMAT, "version 4.0");
    refuses(put_npy_version(1, "{}", x, 0), MERCER_ERR_FORMAT, "damaged");
    refuses(put_npy_version(1, "", x, 0), MERCER_ERR_FORMAT, "damaged");
    refuses(put_npy_version(1, "{'descr': '<f8', 'shape': (2,)", x, 0), MERCER_ERR_FORMAT,
            "damaged");
    refuses(put_npy_version(1, "{'descr': '<f8', 'fortran_order': 1, 'shape': (2,)}", x, 16),
            MERCER_ERR_FORMAT, "damaged");
    refuses(put_npy_version(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}",
                            x, 16),
            MERCER_ERR_FORMAT, "values of type 'with fields' cannot be read");
    refuses(put_npy("<c8", 0, "(2, 2)", x, 32), MERCER_ERR_FORMAT, "type '<c8'");
    refuses(put_npy("<U5", 0, "(2, 2)", x, 32), MERCER_ERR_FORMAT, "type '<U5'");
    refuses(put_npy("|O", 0, "(2, 2)", x, 32), MERCER_ERR_FORMAT, "type '|O'");
    refuses(put_npy("<f8", 0, "()", x, 8), MERCER_ERR_DATA, "a single number");
    refuses(put_npy("<f8", 0, "(0, 2)", x, 0), MERCER_ERR_DATA, "no rows");
    refuses(put_npy("<f8", 0, "(2, 0)", x, 0), MERCER_ERR_DATA, "no columns");
    refuses(put_npy("<f8", 0, "(-2, 2)", x, 0), MERCER_ERR_FORMAT, "damaged");
    refuses(put_npy("<f8", 0, "(2 2)", x, 32), MERCER_ERR_FORMAT, "damaged");
    refuses(put_npy("<f8", 0, "(4611686018427387904, 4)", x, 32), MERCER_ERR_FORMAT, "too large");
    refuses(put_npy("|u1", 0, "(2305843009213693952, 1)", x, 32), MERCER_ERR_FORMAT, "too large");
    refuses(put_npy("<f8", 0, "(99999999999999999999, 4)", x, 32), MERCER_ERR_FORMAT, "damaged");
    refuses(put_npy("<f8", 0, "(1000000000000, 4)", x, 32), MERCER_ERR_FORMAT,
            "32 bytes of data where 32000000000000 were expected");
    memcpy(file_bytes, "\x93NUMPY\x02\0\xff\xff\xff\xff{", 13);
    refuses(put_bytes("a.npy", file_bytes, 13), MERCER_ERR_FORMAT, "header ends too early");
}

static void test_not_finite(void **state)
{
    double x[] = {1, 2, 3, 4, 5, (double)NAN};
    (void)state;
    refuses(put_npy("<f8", 0, "(3, 2)", x, sizeof x), MERCER_ERR_DATA,
            "a.npy: row 3, column 2: nan is not finite");
    refuses(put_npy("<f8", 1, "(3, 2)", x, sizeof x), MERCER_ERR_DATA, "row 3, column 2: nan");
    const float y[] = {1, -(float)INFINITY};
    refuses(put_npy("<f4", 0, "(1, 2)", y, sizeof y), MERCER_ERR_DATA, "row 1, column 2: -inf");
}

static void test_columns_by_position(void **state)
{
    double x[] = {1, 7, 2, 3, -8, 4, 5, 7, 6};
    mercer_read_options options;
    mercer_table *got;
    (void)state;
    put_npy("<f8", 0, "(3, 3)", x, sizeof x);
    mercer_read_options_init(&options);
    options.label = "2";
    assert_ok(mercer_table_read(ctx, in_scratch("a.npy"), &options, &got, &err));
    const mercer_targets *targets = mercer_table_targets(got);
    assert_int_equal(mercer_targets_classes(targets), 2);
    assert_string_equal(mercer_targets_class_name(targets, 0), "7");
    assert_string_equal(mercer_targets_class_name(targets, 1), "-8");
    assert_true(got->rows->d == 2 && got->rows->x[3] == 4);
    mercer_table_free(got);
    mercer_read_options_init(&options);
    options.target = "3,1";
    assert_ok(mercer_table_read(ctx, in_scratch("a.npy"), &options, &got, &err));
    const double *values = mercer_targets_values(mercer_table_targets(got));
    assert_true(values[0] == 2 && values[1] == 1 && values[4] == 6 && got->rows->x[1] == -8);
    mercer_table_free(got);
    options.target = "4";
    assert_fails(mercer_table_read(ctx, in_scratch("a.npy"), &options, &got, &err),
                 MERCER_ERR_ARGUMENT, "no column '4' (it has 3 columns without names)");
    x[4] = 7.5;
    put_npy("<f8", 0, "(3, 3)", x, sizeof x);
    mercer_read_options_init(&options);
    options.label = "2";
    assert_fails(mercer_table_read(ctx, in_scratch("a.npy"), &options, &got, &err), MERCER_ERR_DATA,
                 "classes from column 2 are numbers, and not all are whole ('7.5')");
}

/* Whole and in blocks, plain and gzipped, in both orders, with and without a label. */
static void test_blocks(void **state)
{
    enum { N = 5000, D = 7 };
    double *x = test_malloc(sizeof(double) * N * D), *t = test_malloc(sizeof(double) * N * D);
    char header[128] = "\x93NUMPY\x01";
    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++)
            t[j * N + i] = x[i * D + j] = i % 10 + j;
    for (int way = 0; way < 8; way++) {
        mercer_read_options options;
        mercer_reader *reader;
        mercer_table *block;
        int64_t seen = 0;
        const char *path = in_scratch(way & 1 ? "b.npy.gz" : "b.npy");
        int length =
            snprintf(header + 10, 118, "{'descr':'<f8','fortran_order':%s,'shape':(%d,%d)}",
                     way & 2 ? "True" : "False", N, D);
        header[8] = (char)length;
        gzFile file = gzopen(path, way & 1 ? "wb" : "wbT");
        gzwrite(file, header, (unsigned)length + 10);
        gzwrite(file, way & 2 ? t : x, sizeof(double) * N * D);
        gzclose(file);
        mercer_read_options_init(&options);
        options.label = way & 4 ? "1" : NULL;
        assert_ok(mercer_reader_open(ctx, path, &options, &reader, &err));
        for (;;) {
            assert_ok(mercer_reader_next(ctx, reader, 777, &block, &err));
            if (!block)
                break;
            int skip_one = way & 4 ? 1 : 0;
            assert_int_equal(block->rows->d, D - skip_one);
            for (int64_t i = 0; i < block->rows->n; i++) {
                for (int64_t j = 0; j < block->rows->d; j++)
                    assert_true(block->rows->x[i * block->rows->d + j] ==
                                x[(seen + i) * D + j + skip_one]);
                if (skip_one)
                    assert_int_equal(block->targets.codes[i], (seen + i) % 10);
            }
            seen += block->rows->n;
            mercer_table_free(block);
        }
        assert_int_equal(seen, N);
        mercer_reader_close(reader);
    }
    /* A gzip file whose header promises more than comes. */
    gzFile file = gzopen(in_scratch("c.npy.gz"), "wb");
    int length = snprintf(header + 10, 118, "{'descr':'<f8','fortran_order':False,'shape':(%d,%d)}",
                          N + 1, D);
    header[8] = (char)length;
    gzwrite(file, header, (unsigned)length + 10);
    gzwrite(file, x, sizeof(double) * N * D);
    gzclose(file);
    refuses(in_scratch("c.npy.gz"), MERCER_ERR_FORMAT,
            "280000 bytes of data where 280056 were expected");
    test_free(x);
    test_free(t);
}

static void test_every_allocation_fails(void **state)
{
    const int32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    mercer_read_options options;
    (void)state;
    mercer_table_free(table);
    table = NULL;
    mercer_read_options_init(&options);
    for (int way = 0; way < 3; way++) {
        put_npy("<i4", way == 1, way == 1 ? "(2, 2, 2)" : "(2, 4)", x, sizeof x);
        options.label = way == 2 ? "1" : NULL;
        mercer_table *got = NULL;
        assert_each_allocation_fails(
            3, mercer_table_read(ctx, in_scratch("a.npy"), &options, &got, &err),
            mercer_table_free(got));
    }
}

/* Rows that are stepped over, in files where they need not be read and in others: what comes behind
 * them is what it would be. */
static void test_skip(void **state)
{
    static const char *const files[] = {"k.npy", "k.npy.gz", "k.csv", "f.npy"};
    static const int64_t skips[] = {0, 3, 1, 500, 2, 600};
    enum { N = 1200 };
    double *x = test_malloc(sizeof(double) * N * 2);
    (void)state;
    for (int i = 0; i < N * 2; i++)
        x[i] = i;
    for (int f = 0; f < 4; f++) {
        const char *path = in_scratch(files[f]);
        mercer_writer *writer;
        mercer_reader *reader;
        int64_t at = 0, skipped;
        assert_ok(mercer_writer_open(ctx, path, NULL, 2, NULL, NULL, &writer, &err));
        assert_ok(mercer_writer_rows(ctx, writer, x, N, 2, NULL, &err));
        assert_ok(mercer_writer_finish(ctx, writer, &err));
        if (f == 3) { /* the same numbers, said to lie column by column */
            size_t length;
            char *bytes = get_bytes(path, &length);
            memcpy(strstr(bytes + 10, "False"), "True ", 5);
            put_bytes(files[f], bytes, length);
            test_free(bytes);
        }
        assert_ok(mercer_reader_open(ctx, path, NULL, &reader, &err));
        for (size_t k = 0; k < sizeof skips / sizeof *skips; k++) {
            double row[2];
            assert_ok(mercer_reader_skip(ctx, reader, skips[k], &skipped, &err));
            assert_int_equal(skipped, skips[k]);
            at += skipped;
            assert_ok(mercer_reader_next(ctx, reader, 1, &table, &err));
            mercer_rows_copy(mercer_table_rows(table), 0, 1, row);
            assert_true(row[0] == (f == 3 ? (double)at : 2 * (double)at));
            assert_true(row[1] == row[0] + (f == 3 ? N : 1));
            mercer_table_free(table);
            at++;
        }
        assert_fails(mercer_reader_skip(ctx, reader, -1, &skipped, &err), MERCER_ERR_ARGUMENT,
                     "-1 rows cannot be skipped");
        assert_ok(mercer_reader_skip(ctx, reader, INT64_MAX, &skipped, &err));
        assert_int_equal(skipped, N - at);
        assert_ok(mercer_reader_skip(ctx, reader, 1, &skipped, &err));
        assert_int_equal(skipped, 0);
        assert_ok(mercer_reader_next(ctx, reader, 1, &table, &err));
        assert_null(table);
        mercer_reader_close(reader);
    }
    test_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_dtypes),
        TEST(test_packed_columns),
        TEST(test_shapes),
        TEST(test_versions_and_spelling),
        TEST(test_damaged),
        TEST(test_not_finite),
        TEST(test_columns_by_position),
        TEST(test_blocks),
        TEST(test_every_allocation_fails),
        TEST(test_skip),
    };
    return RUN_TESTS(tests);
}
