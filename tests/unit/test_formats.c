/* Container files and image folders from inside the library: every allocation failing in turn, and
 * reading block by block. What other programs write is tested by tests/formats. */
#include "data_support.h"

#include "data/reader.h"

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
            for (int i = 0; i < 6; i++)
                assert_true(rows->x[i] == i + 1);
            assert_int_equal(mercer_targets_classes(mercer_table_targets(got)), classes);
        }
        mercer_table_free(got);
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

static void test_mat_failing(void **state)
{
    (void)state;
#ifdef MRC_HAVE_MATIO
    int16_t x[] = {1, 4, 2, 5, 3, 6};
    size_t shape[2] = {2, 3};
    for (int packed = 0; packed < 2; packed++) {
        mat_t *mat = Mat_CreateVer(in_scratch("a.mat"), NULL, MAT_FT_MAT5);
        matvar_t *var = Mat_VarCreate("x", MAT_C_INT16, MAT_T_INT16, 2, shape, x, 0);
        assert_true(mat && var);
        assert_int_equal(
            Mat_VarWrite(mat, var, packed ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE), 0);
        Mat_VarFree(var);
        Mat_Close(mat);
        read_failing(in_scratch("a.mat"), NULL, 0);
        read_failing(in_scratch("a.mat:x"), NULL, 0);
    }
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
        TEST(test_npz_failing),  TEST(test_npz_messages),   TEST(test_mat_failing),
        TEST(test_hdf5_failing), TEST(test_images_failing), TEST(test_images_resize),
    };
    return RUN_TESTS(tests);
}
