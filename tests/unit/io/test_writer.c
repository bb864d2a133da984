/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing tables: exact round trips, quoting, compression, and nothing left behind on failure. */
#include "data_support.h"

#include "base/rng.h"
#include "io/reader.h"

#include <math.h>
#include <signal.h>

static mercer_writer *writer;

static void write_file(const char *path, const char *format, int64_t columns,
                       const char *const *names, const char *text_name, const double *x, int64_t n,
                       const char *const *text)
{
    assert_ok(mercer_writer_open(ctx, path, format, columns, names, text_name, &writer, &err));
    assert_ok(mercer_writer_rows(ctx, writer, x, n, columns, text, &err));
    assert_ok(mercer_writer_finish(ctx, writer, &err));
}

static void test_csv_text(void **state)
{
    static const char *const names[] = {"a", "b,c"}, *const text[] = {"x", "say \"hi\"", "", " y"};
    const double x[] = {1, 0.1, -2.5, 1e300, 0, 3, 4, 5};
    (void)state;
    write_file(in_scratch("o.csv"), NULL, 2, names, "label", x, 4, text);
    assert_file_is(in_scratch("o.csv"), "label,a,\"b,c\"\nx,1,0.1\n\"say \"\"hi\"\"\",-2.5,1e+300\n"
                                        "\"\",0,3\n\" y\",4,5\n");
    write_file(in_scratch("o.tsv"), NULL, 2, names, NULL, x, 1, NULL);
    assert_file_is(in_scratch("o.tsv"), "a\tb,c\n1\t0.1\n");
    write_file(in_scratch("o"), "csv", 2, NULL, NULL, x, 1, NULL);
    assert_file_is(in_scratch("o"), "1,0.1\n");
    write_file(in_scratch("t.csv"), NULL, 0, names, "only", NULL, 2, text);
    assert_file_is(in_scratch("t.csv"), "only\nx\n\"say \"\"hi\"\"\"\n");
    const double bad[] = {(double)NAN, -HUGE_VAL};
    write_file(in_scratch("n.csv"), NULL, 2, NULL, NULL, bad, 1, NULL);
    assert_file_is(in_scratch("n.csv"), "nan,-inf\n");
    write_file(in_scratch("e.csv"), NULL, 2, names, NULL, x, 0, NULL);
    assert_file_is(in_scratch("e.csv"), "a,\"b,c\"\n");
}

static void test_libsvm_text(void **state)
{
    static const char *const text[] = {"1", "-1.5,2", "0"}, *const word[] = {"setosa"};
    const double x[] = {1, 0, -2.5, 0, 0, 0, 0, 1e300, 0.1};
    const int64_t start[] = {0, 2, 2, 4};
    const int32_t column[] = {0, 2, 1, 2};
    const double value[] = {1, -2.5, 1e300, 0.1};
    mercer_rows *rows;
    (void)state;
    write_file(in_scratch("o.svm"), NULL, 3, NULL, "label", x, 3, text);
    assert_file_is(in_scratch("o.svm"), "1 1:1 3:-2.5\n-1.5,2\n0 2:1e+300 3:0.1\n");
    write_file(in_scratch("o"), "libsvm", 3, (const char *const[]){"a", "b", "c"}, NULL, x, 2,
               NULL);
    assert_file_is(in_scratch("o"), "0 1:1 3:-2.5\n0\n");
    /* Sparse rows, to this format and to others. */
    assert_ok(view_csr(ctx, start, column, value, 3, 3, &rows, &err));
    for (int i = 0; i < 2; i++) {
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int k = 0; rc != MERCER_OK; k++) {
            mrc_alloc_fail_after(k);
            rc = mercer_writer_open(ctx, in_scratch(i ? "s.svm" : "s.csv"), NULL, 3, NULL, "y",
                                    &writer, &err);
            if (rc == MERCER_OK) {
                rc = mercer_writer_add(ctx, writer, rows, text, &err);
                if (rc == MERCER_OK)
                    rc = mercer_writer_finish(ctx, writer, &err);
                else
                    mercer_writer_abort(writer);
            }
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
    assert_file_is(in_scratch("s.svm"), "1 1:1 3:-2.5\n-1.5,2\n0 2:1e+300 3:0.1\n");
    assert_file_is(in_scratch("s.csv"), "1,1,0,-2.5\n\"-1.5,2\",0,0,0\n0,0,1e+300,0.1\n");
    assert_ok(mercer_writer_open(ctx, in_scratch("w.svm"), NULL, 3, NULL, "y", &writer, &err));
    assert_fails(mercer_writer_rows(ctx, writer, x, 1, 3, word, &err), MERCER_ERR_DATA,
                 "w.svm: label 'setosa' is not a number");
    assert_fails(mercer_writer_add(ctx, writer, rows, NULL, &err), MERCER_ERR_ARGUMENT,
                 "do not fit the table");
    mercer_writer_abort(writer);
    mercer_rows_free(rows);
    assert_string_equal(mercer_entry_name(mercer_format_find("a.libsvm.gz", NULL)), "libsvm");
    assert_string_equal(mercer_entry_name(mercer_format_find("a", "tsv")), "tsv");
    assert_null(mercer_format_find("a.xls", NULL));
}

/* A format that is a file and a line (tests/toys): found, listed, written and read as others are,
 * plain and gzipped, whole and in blocks, with labels by column, and with every allocation failing.
 */
static void test_toy_format(void **state)
{
    static const char *const files[] = {"t.toy", "t.toy.gz"};
    const double x[] = {0, 0.1, 7, 1, -2.5, 8, 2, 1e300, 7};
    const mercer_entry *entry = NULL;
    bool listed = false;
    (void)state;
    for (int i = 0; (entry = mercer_format_at(i)) && !listed; i++)
        listed = strcmp(mercer_entry_name(entry), "toy") == 0 && mercer_entry_writes(entry) &&
                 mercer_entry_summary(entry) && !mercer_entry_streams(entry) &&
                 !mercer_entry_parameter(entry, 0, &(mercer_parameter){0});
    assert_true(listed);
    assert_string_equal(mercer_entry_name(mercer_format_find("a.toy.gz", NULL)), "toy");
    for (int f = 0; f < 2; f++) {
        const char *path = in_scratch(files[f]);
        mercer_read_options options;
        mercer_table *table = NULL;
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        write_file(path, NULL, 3, NULL, NULL, x, 3, NULL);
        mercer_read_options_init(&options);
        options.label = "3";
        for (int k = 0; rc == MERCER_ERR_MEMORY; k++) {
            mercer_table_free(table);
            assert_int_equal(mrc_alloc_live(), live);
            mrc_alloc_fail_after(k);
            rc = mercer_table_read(ctx, path, &options, &table, &err);
            mrc_alloc_fail_after(-1);
        }
        assert_ok(rc);
        double got[6];
        mercer_rows_copy(mercer_table_rows(table), 0, 3, got);
        for (int i = 0; i < 6; i++)
            assert_true(got[i] == x[i / 2 * 3 + i % 2]);
        assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 2);
        mercer_table_free(table);
        mercer_reader *reader = NULL;
        int64_t rows = 0;
        assert_ok(mercer_reader_open(ctx, path, NULL, &reader, &err));
        for (table = NULL; mercer_reader_next(ctx, reader, 2, &table, &err) == MERCER_OK && table;
             mercer_table_free(table))
            rows += mercer_rows_count(mercer_table_rows(table));
        assert_int_equal(rows, 3);
        mercer_reader_close(reader);
    }
    assert_file_is(in_scratch("t.toy"), "0;0.1;7\n1;-2.5;8\n2;1e+300;7\n");
    mercer_reader *reader = NULL; /* a stream is known by its first bytes */
    assert_ok(mrc_reader_open_memory(ctx, "stream", "0;1\n", 4, NULL, &reader, &err));
    mercer_reader_close(reader);
    assert_fails(mercer_table_read(ctx, in_scratch("t.toy:a"), NULL, &(mercer_table *){NULL}, &err),
                 MERCER_ERR_ARGUMENT, "(.npz, .mat and .h5 have)");
}

static void test_stride(void **state)
{
    const double x[] = {1, 2, 9, 3, 4, 9};
    (void)state;
    assert_ok(mercer_writer_open(ctx, in_scratch("s.csv"), NULL, 2, NULL, NULL, &writer, &err));
    assert_ok(mercer_writer_rows(ctx, writer, x, 2, 3, NULL, &err));
    assert_ok(mercer_writer_finish(ctx, writer, &err));
    assert_file_is(in_scratch("s.csv"), "1,2\n3,4\n");
}

/* Any bits, any format, in pieces: what is read back is what was written. */
static void test_round_trips(void **state)
{
    static const char *const files[] = {"r.csv",    "r.tsv",    "r.npy",   "r.csv.gz",
                                        "r.tsv.gz", "r.npy.gz", "r.tab.gz"};
    static const char *const names[] = {"1", "a\nb", "label"};
    enum { N = 5000, D = 3 };
    double *x = test_malloc(sizeof(double) * N * D);
    mercer_read_options options;
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 5);
    for (int i = 0; i < N * D; i++)
        do {
            uint64_t bits = mrc_rng_next(&rng);
            memcpy(&x[i], &bits, sizeof bits);
        } while (!isfinite(x[i]));
    mercer_read_options_init(&options);
    options.no_label = 1;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        const char *path = in_scratch(files[f]);
        mercer_table *table;
        assert_ok(mercer_writer_open(ctx, path, NULL, D, names, NULL, &writer, &err));
        for (int64_t i = 0; i < N; i += 700)
            assert_ok(mercer_writer_rows(ctx, writer, x + i * D, N - i < 700 ? N - i : 700, D, NULL,
                                         &err));
        assert_ok(mercer_writer_finish(ctx, writer, &err));
        assert_ok(mercer_table_read(ctx, path, &options, &table, &err));
        assert_int_equal(table->rows->n, N);
        assert_int_equal(table->rows->d, D);
        assert_memory_equal(table->rows->x, x, sizeof(double) * N * D);
        if (!strstr(path, "npy"))
            for (int j = 0; j < D; j++)
                assert_string_equal(mercer_rows_name(table->rows, j), names[j]);
        mercer_table_free(table);
    }
    test_free(x);
}

static void test_npy_header(void **state)
{
    const double x[] = {1, 2, 3};
    size_t length;
    (void)state;
    write_file(in_scratch("h.npy"), NULL, 3, NULL, NULL, x, 1, NULL);
    char *bytes = get_bytes(in_scratch("h.npy"), &length);
    assert_int_equal(length, 128 + 24);
    assert_memory_equal(bytes, "\x93NUMPY\x01\0\x76\0", 10);
    assert_memory_equal(bytes + 10, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }",
                        59);
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, x, 24);
    test_free(bytes);
}

static void test_pipes(void **state)
{
    static const char *const formats[] = {"csv", "npy"};
    const double x[] = {1, 2, 3, 4};
    (void)state;
    for (int f = 0; f < 2; f++) {
        char name[32], bytes[512];
        int ends[2];
        mercer_reader *reader;
        mercer_read_options options;
        mercer_table *table;
        assert_int_equal(pipe(ends), 0);
        snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
        write_file(name, formats[f], 2, NULL, NULL, x, 2, NULL);
        close(ends[1]);
        ssize_t got = read(ends[0], bytes, sizeof bytes);
        close(ends[0]);
        assert_true(got > 0);
        mercer_read_options_init(&options);
        options.format = formats[f];
        assert_ok(
            mrc_reader_open_memory(ctx, "memory", bytes, (size_t)got, &options, &reader, &err));
        assert_ok(mercer_reader_next(ctx, reader, 10, &table, &err));
        assert_memory_equal(table->rows->x, x, sizeof x);
        mercer_table_free(table);
        mercer_reader_close(reader);
    }
}

static void refuses(const char *path, const char *format, int64_t columns, const char *text_name,
                    const char *words)
{
    assert_fails(mercer_writer_open(ctx, path, format, columns, NULL, text_name, &writer, &err),
                 MERCER_ERR_ARGUMENT, words);
    assert_null(writer);
}

static void test_refusals(void **state)
{
    const double x[] = {1, 2};
    (void)state;
    refuses(in_scratch("a.xls"), NULL, 2, NULL,
            ".csv, .tsv, .tab, .npy, .svm, .libsvm, .toy, each also with .gz; for reading also "
            ".mtx, .npz, .mat, .h5, .hdf5 and folders of images)");
    refuses(
        in_scratch("a"), "xls", 2, NULL,
        "unknown format 'xls' (known: csv, tsv, npy, libsvm, toy; for reading also mtx, npz, mat, "
        "hdf5, images)");
    refuses(in_scratch("a.mtx"), NULL, 2, NULL, "(.csv, .tsv, .npy, .svm and .toy are)");
    refuses(in_scratch("a.csv"), NULL, 0, NULL, "0 columns");
    refuses(in_scratch("a.npy"), NULL, 2, "label", "text column 'label'");
    refuses("", NULL, 2, NULL, "empty");
    refuses(NULL, NULL, 2, NULL, "empty");
    assert_fails(
        mercer_writer_open(ctx, in_scratch("no/a.csv"), NULL, 2, NULL, NULL, &writer, &err),
        MERCER_ERR_IO, "does not exist");
    assert_ok(mercer_writer_open(ctx, in_scratch("a.csv"), NULL, 2, NULL, NULL, &writer, &err));
    assert_fails(mercer_writer_rows(ctx, writer, x, 1, 1, NULL, &err), MERCER_ERR_ARGUMENT,
                 "do not fit");
    assert_fails(mercer_writer_rows(ctx, writer, x, -1, 2, NULL, &err), MERCER_ERR_ARGUMENT,
                 "do not fit");
    const char *const text[] = {"t"};
    assert_fails(mercer_writer_rows(ctx, writer, x, 1, 2, text, &err), MERCER_ERR_ARGUMENT,
                 "do not fit");
    mercer_writer_abort(writer);
    mercer_writer_abort(NULL);
    assert_int_equal(count_scratch(0), 0);
}

static void test_abort_and_cancel_keep_the_old_file(void **state)
{
    const double x[] = {1, 2};
    const char *path = put_text("a.csv", "old");
    (void)state;
    assert_ok(mercer_writer_open(ctx, path, NULL, 2, NULL, NULL, &writer, &err));
    assert_ok(mercer_writer_rows(ctx, writer, x, 1, 2, NULL, &err));
    mercer_writer_abort(writer);
    assert_ok(mercer_writer_open(ctx, path, NULL, 2, NULL, NULL, &writer, &err));
    mercer_ctx_cancel(ctx);
    mercer_status rows = mercer_writer_rows(ctx, writer, x, 1, 2, NULL, NULL);
    mercer_status finish = mercer_writer_finish(ctx, writer, &err);
    mercer_ctx_resume(ctx);
    assert_int_equal(rows, MERCER_ERR_CANCELLED);
    assert_fails(finish, MERCER_ERR_CANCELLED, "cancelled");
    assert_file_is(path, "old");
    assert_int_equal(count_scratch(0), 1);
}

static void test_disk_full(void **state)
{
    double x[64] = {0};
    (void)state;
    assert_ok(mercer_writer_open(ctx, "/dev/full", "npy", 64, NULL, NULL, &writer, &err));
    assert_ok(mercer_writer_rows(ctx, writer, x, 1, 64, NULL, &err));
    assert_fails(mercer_writer_finish(ctx, writer, &err), MERCER_ERR_IO, "disk is full");
}

/* A table whose rows come from a part in turns, cut where it happens to be. */
static mercer_status write_in_parts(const char *path, const char *const *names, const double *x,
                                    int64_t n, const char *const *text)
{
    const char *const text_name = "label";
    mercer_writer *file = NULL, *part = NULL;
    mercer_status rc =
        mercer_writer_open(ctx, path, NULL, 2, names, text ? text_name : NULL, &file, &err);
    if (rc == MERCER_OK)
        rc = mercer_writer_open_part(ctx, path, NULL, 2, text != NULL, text ? &text_name : NULL,
                                     &part, &err);
    for (int64_t i = 0; i < n && rc == MERCER_OK; i += 700) {
        const int64_t count = n - i < 700 ? n - i : 700;
        mercer_writer *to = i % 1400 ? part : file;
        const void *bytes = NULL;
        size_t size = 0;
        int64_t rows = 0;
        rc = mercer_writer_rows(ctx, to, x + i * 2, count, 2, text ? text + i : NULL, &err);
        if (rc == MERCER_OK)
            rc = mercer_writer_take(part, &bytes, &size, &rows, &err);
        if (rc == MERCER_OK)
            rc = mercer_writer_append(ctx, file, bytes, size / 3, 0, &err);
        if (rc == MERCER_OK && to == part)
            rc = mercer_writer_append(ctx, file, (const char *)bytes + size / 3, size - size / 3,
                                      rows, &err);
        assert_true(rc != MERCER_OK || rows == (to == part ? count : 0));
    }
    mercer_writer_abort(part);
    if (rc == MERCER_OK)
        return mercer_writer_finish(ctx, file, &err);
    mercer_writer_abort(file);
    return rc;
}

static void test_parts(void **state)
{
    static const char *const files[] = {"p.csv", "p.tsv.gz", "p.npy", "p.npy.gz", "p.svm", "p.toy"};
    static const char *const names[] = {"a", "b"};
    enum { N = 5000 };
    double *x = test_malloc(sizeof(double) * N * 2);
    const char **text = test_malloc(sizeof *text * N);
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 5);
    for (int i = 0; i < N * 2; i++)
        x[i] = mrc_rng_uniform(&rng) - 0.5;
    for (int i = 0; i < N; i++)
        text[i] = i % 3 ? "1" : "2";
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (int with_text = 0; with_text < 1 + (f < 2 || f == 4); with_text++) {
            const char *const *labels = with_text ? text : NULL;
            const char *path = in_scratch(files[f]);
            size_t length, again;
            write_file(path, NULL, 2, names, with_text ? "label" : NULL, x, N, labels);
            char *expected = get_bytes(path, &length);
            assert_ok(write_in_parts(path, names, x, N, labels));
            char *got = get_bytes(path, &again);
            assert_int_equal(again, length);
            assert_memory_equal(got, expected, length);
            test_free(expected);
            test_free(got);
            const int64_t live = mrc_alloc_live();
            mercer_status rc = MERCER_ERR_MEMORY;
            for (int k = 0; rc != MERCER_OK; k++) {
                mrc_alloc_fail_after(k);
                rc = write_in_parts(path, names, x, 1000, labels);
                mrc_alloc_fail_after(-1);
                assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
                assert_int_equal(mrc_alloc_live(), live);
            }
        }
    /* What a part is not for. */
    const void *bytes;
    size_t size;
    int64_t rows;
    assert_fails(mercer_writer_open_part(ctx, "a.npy", NULL, 2, 1, (const char *const[]){"y"},
                                         &writer, &err),
                 MERCER_ERR_ARGUMENT, "a.npy: an NPY file cannot hold the text column 'y'");
    assert_ok(mercer_writer_open_part(ctx, "no/a.csv", NULL, 2, 0, NULL, &writer, &err));
    assert_fails(mercer_writer_finish(ctx, writer, &err), MERCER_ERR_ARGUMENT, "has no file");
    assert_ok(mercer_writer_open(ctx, in_scratch("p.csv"), NULL, 2, NULL, NULL, &writer, &err));
    assert_fails(mercer_writer_take(writer, &bytes, &size, &rows, &err), MERCER_ERR_ARGUMENT,
                 "cannot be taken");
    assert_fails(mercer_writer_append(ctx, writer, "", 0, -1, &err), MERCER_ERR_ARGUMENT,
                 "-1 rows cannot be appended");
    mercer_writer_abort(writer);
    test_free(x);
    test_free(text);
}

static void test_every_allocation_fails(void **state)
{
    static const char *const files[] = {"a.csv", "a.npy", "a.csv.gz", "a.npy.gz"};
    const double x[] = {1, 2, 3, 4};
    (void)state;
    for (int f = 0; f < 4; f++) {
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int k = 0; rc != MERCER_OK; k++) {
            count_scratch(1);
            assert_true(k < 1000);
            mrc_alloc_fail_after(k);
            rc = mercer_writer_open(ctx, in_scratch(files[f]), NULL, 2, NULL, NULL, &writer, &err);
            if (rc == MERCER_OK)
                rc = mercer_writer_rows(ctx, writer, x, 2, 2, NULL, &err);
            if (rc == MERCER_OK)
                rc = mercer_writer_finish(ctx, writer, &err);
            else
                mercer_writer_abort(writer);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(count_scratch(0), rc == MERCER_OK);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_csv_text),  TEST(test_libsvm_text), TEST(test_toy_format),
        TEST(test_stride),    TEST(test_round_trips), TEST(test_npy_header),
        TEST(test_pipes),     TEST(test_refusals),    TEST(test_abort_and_cancel_keep_the_old_file),
        TEST(test_disk_full), TEST(test_parts),       TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
