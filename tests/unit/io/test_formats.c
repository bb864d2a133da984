/* SPDX-License-Identifier: BSD-3-Clause */
/* Container files and image folders from inside the library: every allocation failing in turn, and
 * reading block by block. What other programs write is tested by tests/formats. */
#include "data_support.h"

#include "io/containers.h"

#include <math.h>

#ifdef MRC_HAVE_HDF5
#include <hdf5.h>
#endif
#ifdef MRC_HAVE_MATIO
#include <matio.h>
#endif

/* Fail every allocation in turn until the table is read; it must be 2 x 3 of 1, 2, ... */
static void read_failing(const char *path, const mercer_read_options *options, int64_t classes)
{
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    for (int k = 0; rc != MERCER_OK; k++) {
        mercer_table *got = NULL;
        assert_true(k < 1000);
        mrc_alloc_fail_after(k);
        rc = mercer_table_read(ctx, path, options, &got, &err);
        mrc_alloc_fail_after(-1);
        if (rc != MERCER_OK && rc != MERCER_ERR_MEMORY)
            print_error("%s\n", err.text);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        if (rc == MERCER_OK) {
            const mercer_rows *rows = mercer_table_rows(got);
            assert_int_equal(rows->n, 2);
            assert_int_equal(rows->d, 3);
            double x[6];
            mercer_rows_copy(rows, 0, 2, x);
            for (int i = 0; i < 6; i++)
                assert_true(x[i] == i + 1);
            assert_int_equal(mercer_targets_classes(mercer_table_targets(got)), classes);
        }
        mercer_table_free(got);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

/* The same for what runs inside mercer-read, in this process; array may be NULL. */
static void open_failing(mrc_container format, const char *path, const char *array)
{
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    for (int k = 0; rc != MERCER_OK; k++) {
        mrc_matrix matrix = {0};
        char *shown = NULL;
        double x[6];
        assert_true(k < 1000);
        mrc_alloc_fail_after(k);
        rc = format == MRC_CONTAINER_MAT ? mrc_mat_open(path, array, &matrix, &shown, &err)
                                         : mrc_hdf5_open(path, array, &matrix, &shown, &err);
        mrc_alloc_fail_after(-1);
        if (rc != MERCER_OK && rc != MERCER_ERR_MEMORY)
            print_error("%s\n", err.text);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        if (rc == MERCER_OK) {
            assert_int_equal(matrix.rows * matrix.columns, 6);
            if (matrix.csr.start)
                memcpy(x, matrix.csr.value, sizeof x);
            else
                assert_ok(matrix.read(matrix.self, ctx, 0, 2, x, &err));
            for (int i = 0; i < 6; i++)
                assert_true(x[i] == i + 1);
        }
        mrc_matrix_destroy(&matrix);
        mrc_free(shown);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

/* A seed of the fuzzer without its option byte, as a file. */
static const char *put_seed(const char *seed, const char *name)
{
    char path[1024];
    size_t length;
    snprintf(path, sizeof path, "%s/npz/%s", MERCER_CORPUS, seed);
    char *bytes = get_bytes(path, &length);
    const char *out = put_bytes(name, bytes + 1, length - 1);
    test_free(bytes);
    return out;
}

static void test_npz_failing(void **state)
{
    (void)state;
    read_failing(put_seed("stored", "a.npz"), NULL, 0);
    read_failing(put_seed("deflated", "b.npz"), NULL, 0);
    read_failing(put_seed("two", "c.npz"), NULL, 0);
    read_failing(put_seed("zip64_tail", "d.npz"), NULL, 0);
    put_seed("two", "e.npz");
    read_failing(in_scratch("e.npz:X"), NULL, 0);
}

static void test_npz_messages(void **state)
{
    mercer_table *table;
    (void)state;
    put_seed("two_tables", "a.npz");
    assert_fails(mercer_table_read(ctx, in_scratch("a.npz"), NULL, &table, &err), MERCER_ERR_DATA,
                 "a.npz: name one of its arrays as FILE:NAME (arrays: A (2x3), B (2x2))");
    assert_fails(mercer_table_read(ctx, in_scratch("a.npz:C"), NULL, &table, &err), MERCER_ERR_DATA,
                 "a.npz: there is no array 'C' (arrays: A (2x3), B (2x2))");
    assert_fails(mercer_table_read(ctx, put_seed("wrong_sum", "b.npz"), NULL, &table, &err),
                 MERCER_ERR_FORMAT, "b.npz:X: the zip data are damaged (wrong check sum)");
    assert_fails(mercer_table_read(ctx, put_seed("cut", "c.npz"), NULL, &table, &err),
                 MERCER_ERR_FORMAT, "c.npz: is not a whole NPZ file");
}

static void test_npz_sparse(void **state)
{
    static const char *const formats[] = {"sparse_csr", "sparse_csc", "sparse_coo"};
    mercer_table *table;
    (void)state;
    for (int i = 0; i < 3; i++)
        read_failing(put_seed(formats[i], "a.npz"), NULL, 0);
    assert_ok(mercer_table_read(ctx, in_scratch("a.npz"), NULL, &table, &err));
    assert_true(mercer_rows_is_sparse(mercer_table_rows(table)));
    mercer_table_free(table);
    /* One of its arrays, when it is named. */
    assert_ok(mercer_table_read(ctx, in_scratch("a.npz:data"), NULL, &table, &err));
    assert_int_equal(mercer_rows_count(mercer_table_rows(table)), 6);
    mercer_table_free(table);
    assert_fails(mercer_table_read(ctx, put_seed("sparse_bsr", "b.npz"), NULL, &table, &err),
                 MERCER_ERR_FORMAT, "b.npz: a sparse matrix of format 'bsr' is not read");
    assert_fails(mercer_table_read(ctx, put_seed("sparse_short", "c.npz"), NULL, &table, &err),
                 MERCER_ERR_FORMAT, "c.npz: the arrays of this sparse matrix do not fit together");
    assert_fails(mercer_table_read(ctx, put_seed("sparse_missing", "d.npz"), NULL, &table, &err),
                 MERCER_ERR_FORMAT, "d.npz: a sparse matrix without its array 'indptr'");
}

#define COORDINATE "%%MatrixMarket matrix coordinate real "
#define ARRAY "%%MatrixMarket matrix array real "

static void test_mtx(void **state)
{
    (void)state;
    read_failing(put_text("a.mtx", COORDINATE "general\n% c\n\n2 3 7\n2 3 6\n1 1 1\n1 3 2\n1 2 2\n"
                                              "2 1 4\n2 2 5\n1 3 1\n"),
                 NULL, 0);
    read_failing(put_text("a.mtx", ARRAY "general\r\n2 3\r\n1\n4\n2\n% c\n5\n3\n6"), NULL, 0);
}

/* Symmetry, patterns, and roles of columns, also block by block. */
static void test_mtx_kinds(void **state)
{
    static const struct {
        const char *text;
        double x[9];
    } cases[] = {
        {COORDINATE "symmetric\n3 3 3\n1 1 1\n3 1 2\n2 3 5\n", {1, 0, 2, 0, 0, 5, 2, 5, 0}},
        {COORDINATE "skew-symmetric\n3 3 2\n2 1 2\n3 2 5\n", {0, -2, 0, 2, 0, -5, 0, 5, 0}},
        {"%%matrixmarket MATRIX Coordinate Pattern General\n3 3 2\n3 2\n1 1\n",
         {1, 0, 0, 0, 0, 0, 0, 1, 0}},
        {ARRAY "symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", {1, 2, 3, 2, 4, 5, 3, 5, 6}},
        {ARRAY "skew-symmetric\n3 3\n1\n2\n3\n", {0, -1, -2, 1, 0, -3, 2, 3, 0}},
    };
    mercer_read_options options;
    mercer_reader *reader;
    mercer_table *table;
    double x[9];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_text("a.mtx", cases[i].text);
        assert_ok(mercer_table_read(ctx, in_scratch("a.mtx"), NULL, &table, &err));
        assert_true(mercer_rows_is_sparse(mercer_table_rows(table)) == (i < 3));
        mercer_rows_copy(mercer_table_rows(table), 0, 3, x);
        assert_memory_equal(x, cases[i].x, sizeof x);
        mercer_table_free(table);
    }
    put_text("a.mtx", cases[0].text);
    mercer_read_options_init(&options);
    options.target = "3,1";
    assert_ok(mercer_reader_open(ctx, in_scratch("a.mtx"), &options, &reader, &err));
    for (int i = 0; i < 3; i++) {
        assert_ok(mercer_reader_next(ctx, reader, 1, &table, &err));
        const double *values = mercer_targets_values(mercer_table_targets(table));
        mercer_rows_copy(mercer_table_rows(table), 0, 1, x);
        assert_true(x[0] == cases[0].x[3 * i + 1] && values[0] == cases[0].x[3 * i + 2] &&
                    values[1] == cases[0].x[3 * i]);
        mercer_table_free(table);
    }
    mercer_reader_close(reader);
    options.target = NULL;
    options.label = "3";
    assert_ok(mercer_table_read(ctx, in_scratch("a.mtx"), &options, &table, &err));
    assert_string_equal(mercer_targets_class_name(mercer_table_targets(table), 2), "0");
    mercer_table_free(table);
}

static void test_mtx_refusals(void **state)
{
    static const struct {
        const char *text, *words;
        mercer_status status;
    } cases[] = {
        {"", "a.mtx: is empty", MERCER_ERR_DATA},
        {"1 2 3\n", "a.mtx: is not a Matrix Market file", MERCER_ERR_FORMAT},
        {"%%MatrixMarket matrix\n", "a.mtx:1: expected: %%MatrixMarket", MERCER_ERR_FORMAT},
        {"%%MatrixMarket matrix array complex general\n", "a.mtx:1: values of kind 'complex'",
         MERCER_ERR_FORMAT},
        {ARRAY "hermitian\n", "a.mtx:1: a matrix that is 'hermitian'", MERCER_ERR_FORMAT},
        {COORDINATE "general\n", "a.mtx:1: expected: rows columns entries", MERCER_ERR_FORMAT},
        {COORDINATE "general\n2 2\n", "a.mtx:2: expected: rows columns entries", MERCER_ERR_FORMAT},
        {ARRAY "general\n2 -2\n", "a.mtx:2: expected: rows columns", MERCER_ERR_FORMAT},
        {ARRAY "general\n0 2\n", "a.mtx: has no rows", MERCER_ERR_DATA},
        {ARRAY "symmetric\n1 2\n", "as many columns as rows", MERCER_ERR_FORMAT},
        {ARRAY "general\n1 2\n1\n", "ends after 1 of the 2 values", MERCER_ERR_FORMAT},
        {ARRAY "general\n1 2\n1\n2\n3\n", "a.mtx:5: more than the 2 values", MERCER_ERR_FORMAT},
        {ARRAY "general\n1 2\n1 2\n", "a.mtx:3: expected one value", MERCER_ERR_FORMAT},
        {ARRAY "general\n1 2\n1\nx\n", "a.mtx:4: 'x' is not a number", MERCER_ERR_DATA},
        {ARRAY "general\n1 1\ninf\n", "a.mtx:3: 'inf' is not finite", MERCER_ERR_DATA},
        {COORDINATE "general\n2 2 1\n3 1 1\n", "a.mtx:3: expected a row from 1 to 2",
         MERCER_ERR_FORMAT},
        {COORDINATE "general\n2 2 1\n1 1\n", "a.mtx:3: expected: row column value",
         MERCER_ERR_FORMAT},
        {COORDINATE "general\n2 2 2\n1 1 1\n", "ends after 1 of the 2", MERCER_ERR_FORMAT},
        {COORDINATE "general\n2 2 1\n1 1 1\n1 1 1\n", "a.mtx:4: more than", MERCER_ERR_FORMAT},
        {COORDINATE "general\n2 2 2\n1 1 1e308\n1 1 1e308\n", "row 1, column 1: inf is not",
         MERCER_ERR_DATA},
        {COORDINATE "general\n999999999 2 1\n1 1 1\n", "nearly all are empty", MERCER_ERR_DATA},
        {COORDINATE "general\n2 9999999999 1\n1 1 1\n", "more than 2147483647 columns",
         MERCER_ERR_DATA},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mercer_table *table;
        put_text("a.mtx", cases[i].text);
        assert_fails(mercer_table_read(ctx, in_scratch("a.mtx"), NULL, &table, &err),
                     cases[i].status, cases[i].words);
        assert_null(table);
    }
}

static void test_mat_failing(void **state)
{
    (void)state;
#ifdef MRC_HAVE_MATIO
    int16_t x[] = {1, 4, 2, 5, 3, 6}, images[] = {1, 2, 3, 4, 5, 6};
    /* A matrix; images of one line, of one column, of one pixel in colour. */
    size_t shape[2] = {2, 3}, shapes[][4] = {{2, 3}, {1, 3, 2}, {3, 1, 2}, {1, 1, 3, 2}};
    static const int ranks[] = {2, 3, 3, 4};
    for (int i = 0; i < 8; i++) {
        mat_t *mat = Mat_CreateVer(in_scratch("a.mat"), NULL, MAT_FT_MAT5);
        matvar_t *var = Mat_VarCreate("x", MAT_C_INT16, MAT_T_INT16, ranks[i / 2], shapes[i / 2],
                                      i < 2 ? x : images, 0);
        assert_true(mat && var);
        assert_int_equal(
            Mat_VarWrite(mat, var, i % 2 ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE), 0);
        Mat_VarFree(var);
        Mat_Close(mat);
        read_failing(in_scratch("a.mat"), NULL, 0);
        read_failing(in_scratch("a.mat:x"), NULL, 0);
        open_failing(MRC_CONTAINER_MAT, in_scratch("a.mat"), i % 2 ? "x" : NULL);
    }
    uint32_t ir[] = {0, 1, 0, 1, 0, 1}, jc[] = {0, 2, 4, 6};
    double values[] = {1, 4, 2, 5, 3, 6};
    mat_sparse_t sparse = {
        .nzmax = 6, .ir = ir, .nir = 6, .jc = jc, .njc = 4, .ndata = 6, .data = values};
    mat_t *mat = Mat_CreateVer(in_scratch("s.mat"), NULL, MAT_FT_MAT5);
    matvar_t *var =
        Mat_VarCreate("x", MAT_C_SPARSE, MAT_T_DOUBLE, 2, shape, &sparse, MAT_F_DONT_COPY_DATA);
    assert_true(mat && var);
    assert_int_equal(Mat_VarWrite(mat, var, MAT_COMPRESSION_ZLIB), 0);
    Mat_VarFree(var);
    Mat_Close(mat);
    read_failing(in_scratch("s.mat"), NULL, 0);
    open_failing(MRC_CONTAINER_MAT, in_scratch("s.mat"), NULL);
#else
    skip();
#endif
}

static void test_hdf5_failing(void **state)
{
    (void)state;
#ifdef MRC_HAVE_HDF5
    const float x[] = {1, 2, 3, 4, 5, 6};
    hsize_t shape[2] = {2, 3};
    hid_t file = H5Fcreate(in_scratch("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, shape, NULL);
    hid_t data =
        H5Dcreate2(file, "x", H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(data);
    H5Sclose(space);
    H5Fclose(file);
    read_failing(in_scratch("a.h5"), NULL, 0);
    read_failing(in_scratch("a.h5:/x"), NULL, 0);
    open_failing(MRC_CONTAINER_HDF5, in_scratch("a.h5"), "/x");
#else
    skip();
#endif
}

static void put_images(void)
{
    char path[64];
    mkdir(in_scratch("faces"), 0700);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "faces/p%d", i ? 10 : 9);
        mkdir(in_scratch(path), 0700);
        snprintf(path, sizeof path, "faces/p%d/a.pgm", i ? 10 : 9);
        put_text(path, i ? "P2 3 1 255\n4 5 6\n" : "P5 3 1 255\n\1\2\3");
    }
}

static void remove_images(void)
{
    assert_int_equal(unlink(in_scratch("faces/p9/a.pgm")), 0);
    assert_int_equal(unlink(in_scratch("faces/p10/a.pgm")), 0);
    assert_int_equal(rmdir(in_scratch("faces/p9")), 0);
    assert_int_equal(rmdir(in_scratch("faces/p10")), 0);
    assert_int_equal(rmdir(in_scratch("faces")), 0);
}

static void test_images_failing(void **state)
{
    mercer_read_options options;
    mercer_reader *reader;
    mercer_table *block;
    (void)state;
    put_images();
    mercer_read_options_init(&options);
    read_failing(in_scratch("faces"), NULL, 2);
    options.resize_width = 3;
    options.resize_height = 1;
    read_failing(in_scratch("faces"), &options, 2);
    options.no_label = 1;
    read_failing(in_scratch("faces"), &options, 0);
    /* Image by image, the class indices of later blocks going on. */
    assert_ok(mercer_reader_open(ctx, in_scratch("faces"), NULL, &reader, &err));
    for (int i = 0; i < 2; i++) {
        assert_ok(mercer_reader_next(ctx, reader, 1, &block, &err));
        const mercer_targets *targets = mercer_table_targets(block);
        assert_int_equal(mercer_targets_codes(targets)[0], i);
        assert_string_equal(mercer_targets_class_name(targets, i), i ? "p10" : "p9");
        mercer_table_free(block);
    }
    assert_ok(mercer_reader_next(ctx, reader, 1, &block, &err));
    assert_null(block);
    mercer_reader_close(reader);
    remove_images();
}

/* Averages over areas: down by a whole factor, down by a fraction, up. */
static void test_images_resize(void **state)
{
    static const struct {
        int width;
        double x[4];
    } cases[] = {{1, {25}}, {2, {15, 35}}, {3, {12.5, 25, 37.5}}, {4, {10, 20, 30, 40}}};
    mercer_read_options options;
    (void)state;
    mkdir(in_scratch("flat"), 0700);
    put_text("flat/1.pgm", "P2 4 1 255\n10 20 30 40\n");
    mercer_read_options_init(&options);
    options.resize_height = 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mercer_table *table;
        options.resize_width = cases[i].width;
        assert_ok(mercer_table_read(ctx, in_scratch("flat"), &options, &table, &err));
        const mercer_rows *rows = mercer_table_rows(table);
        assert_int_equal(rows->d, 2 * cases[i].width);
        for (int j = 0; j < rows->d; j++)
            assert_true(fabs(rows->x[j] - cases[i].x[j % cases[i].width]) < 1e-12);
        mercer_table_free(table);
    }
    unlink(in_scratch("flat/1.pgm"));
    rmdir(in_scratch("flat"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_npz_failing),   TEST(test_npz_messages), TEST(test_mat_failing),
        TEST(test_npz_sparse),    TEST(test_mtx),          TEST(test_mtx_kinds),
        TEST(test_mtx_refusals),  TEST(test_hdf5_failing), TEST(test_images_failing),
        TEST(test_images_resize),
    };
    return RUN_TESTS(tests);
}
