/* SPDX-License-Identifier: BSD-3-Clause */
/* Preparation of input: image features against their definition, learnt on one table, applied to
 * another, kept in a model's file; and every allocation failing in turn. */
#include "data_support.h"

#include "data/prepare.h"
#include "io/image.h"
#include "io/reader.h"
#include "model/model.h"

#include <math.h>

static mercer_read_options reading;

static int each_reading(void **state)
{
    mercer_read_options_init(&reading);
    return each_setup(state);
}

/* An NPY file of doubles with the given shape, filled with fill(i). */
static const char *put_npy(const char *name, const char *shape, int64_t count, double (*fill)(int))
{
    enum { HEADER = 128 };
    int64_t bytes = HEADER + 8 * count;
    char *file = test_malloc((size_t)bytes), text[HEADER];
    snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    memset(file, ' ', HEADER);
    memcpy(file, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(file + 10, text, strlen(text));
    file[HEADER - 1] = '\n';
    for (int i = 0; i < count; i++) {
        double value = fill(i);
        memcpy(file + HEADER + 8 * i, &value, 8);
    }
    const char *path = put_bytes(name, file, (size_t)bytes);
    test_free(file);
    return path;
}

static double pixel(int i)
{
    return (i * 37 + i * i % 11) % 256;
}

/* --- rectangle features --- */

static double rectangle(const double *image, int width, int x, int y, int wide, int high)
{
    double sum = 0;
    for (int j = y; j < y + high; j++)
        for (int i = x; i < x + wide; i++)
            sum += image[j * width + i];
    return sum;
}

/* The definition, cell by cell; returns how many there are. */
static int64_t plain_features(const double *image, int width, int height, double *out)
{
    static const struct {
        int across, down, sign[4];
    } kinds[] = {{2, 1, {-1, 1}},
                 {1, 2, {-1, 1}},
                 {3, 1, {-1, 1, -1}},
                 {1, 3, {-1, 1, -1}},
                 {2, 2, {1, -1, -1, 1}}};
    int64_t count = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int high = 1; high * kinds[k].down <= height; high++)
            for (int y = 0; y + high * kinds[k].down <= height; y++)
                for (int wide = 1; wide * kinds[k].across <= width; wide++)
                    for (int x = 0; x + wide * kinds[k].across <= width; x++, count++) {
                        out[count] = 0;
                        for (int cell = 0; cell < kinds[k].across * kinds[k].down; cell++)
                            out[count] += kinds[k].sign[cell] *
                                          rectangle(image, width, x + cell % kinds[k].across * wide,
                                                    y + cell / kinds[k].across * high, wide, high);
                    }
    return count;
}

static void test_haar_count(void **state)
{
    (void)state;
    assert_int_equal(mrc_haar_count(19, 19), 63960);
    assert_int_equal(mrc_haar_count(24, 24), 162336); /* the number of the first authors */
    assert_int_equal(mrc_haar_count(1, 1), 0);
    assert_int_equal(mrc_haar_count(2, 1), 1);
    assert_int_equal(mrc_haar_count(1, 3), 3);
}

static void test_haar_values(void **state)
{
    enum { N = 3, W = 7, H = 5, MOST = 4096 };
    double image[N * W * H], wanted[MOST], *got;
    (void)state;
    for (int i = 0; i < N * W * H; i++)
        image[i] = pixel(i);
    int64_t count = mrc_haar_count(W, H);
    assert_true(count > 0 && count <= MOST);
    assert_ok(mrc_alloc2(&got, N, count, sizeof *got, &err));
    assert_ok(mrc_haar_rows(ctx, image, N, W, H, got, &err));
    for (int n = 0; n < N; n++) {
        assert_int_equal(plain_features(image + n * W * H, W, H, wanted), count);
        for (int64_t j = 0; j < count; j++)
            assert_true(got[n * count + j] == wanted[j]); /* whole numbers: no rounding */
    }
    mrc_free(got);
}

/* --- images --- */

static void test_stack_of_images(void **state)
{
    mercer_table *table;
    double wanted[256];
    (void)state;
    const char *path = put_npy("x.npy", "(2, 3, 4)", 24, pixel);
    assert_ok(mercer_table_read(ctx, path, NULL, &table, &err));
    assert_int_equal(table->rows->prepare->image, MRC_IMAGE_PIXELS);
    assert_int_equal(table->rows->prepare->size.width, 4);
    assert_int_equal(table->rows->prepare->size.height, 3);
    assert_int_equal(table->rows->d, 12);
    mercer_table_free(table);

    reading.image_features = "haar";
    assert_ok(mercer_table_read(ctx, path, &reading, &table, &err));
    assert_int_equal(table->rows->d, mrc_haar_count(4, 3));
    double image[12];
    for (int i = 0; i < 12; i++)
        image[i] = pixel(12 + i);
    plain_features(image, 4, 3, wanted);
    for (int64_t j = 0; j < table->rows->d; j++)
        assert_true(table->rows->x[table->rows->d + j] == wanted[j]);

    /* The same of rows that only have as many numbers; not of others. */
    mercer_prepare *model;
    assert_ok(mrc_prepare_clone(table->rows->prepare, &model, &err));
    mercer_table_free(table);
    mercer_read_options_init(&reading);
    reading.prepare = model;
    assert_ok(
        mercer_table_read(ctx, put_npy("flat.npy", "(2, 12)", 24, pixel), &reading, &table, &err));
    for (int64_t j = 0; j < table->rows->d; j++)
        assert_true(table->rows->x[table->rows->d + j] == wanted[j]);
    mercer_table_free(table);
    assert_fails(
        mercer_table_read(ctx, put_npy("y.npy", "(2, 4, 3)", 24, pixel), &reading, &table, &err),
        MERCER_ERR_DATA, "grey images of 3x4 pixels, but the model's are grey and have 4x3");
    assert_fails(
        mercer_table_read(ctx, put_npy("y.npy", "(3, 8)", 24, pixel), &reading, &table, &err),
        MERCER_ERR_DATA, "8 columns where 12 were expected (the model's images have 4x3");
    mrc_prepare_free(model);
}

static void test_images_refused(void **state)
{
    mercer_table *table;
    (void)state;
    reading.image_features = "hair";
    const char *grey = put_npy("x.npy", "(2, 3, 4)", 24, pixel);
    assert_fails(mercer_table_read(ctx, grey, &reading, &table, &err), MERCER_ERR_ARGUMENT,
                 "'hair' are not one of pixels, haar");
    reading.image_features = "haar";
    assert_fails(mercer_table_read(ctx, put_text("a.csv", "x,y\n1,2\n"), &reading, &table, &err),
                 MERCER_ERR_ARGUMENT, "a.csv: has no image features");
    assert_fails(
        mercer_table_read(ctx, put_npy("c.npy", "(2, 2, 2, 3)", 24, pixel), &reading, &table, &err),
        MERCER_ERR_DATA, "c.npy: haar features need grey images");
    reading.label = "1"; /* what is left is not an image */
    assert_fails(mercer_table_read(ctx, grey, &reading, &table, &err), MERCER_ERR_ARGUMENT,
                 "has no image features");
    reading.label = NULL;
    assert_ok(mercer_ctx_set_memory(ctx, 1 << 20, &err));
    assert_fails(
        mercer_table_read(ctx, put_npy("b.npy", "(1, 30, 30)", 900, pixel), &reading, &table, &err),
        MERCER_ERR_BUDGET, "the haar features, 1 x 394725 numbers, need 3.0 MB");
    assert_ok(mercer_ctx_set_memory(ctx, 1 << 30, &err));
}

/* A flat folder of one image, 4 x 3 or 8 x 3 pixels with the same areas. */
static void put_folder(bool wide)
{
    mkdir(in_scratch("flat"), 0700);
    put_text("flat/1.pgm", wide ? "P2 8 3 255\n1 1 2 2 3 3 4 4\n5 5 6 6 7 7 8 8\n"
                                  "9 9 8 8 7 7 6 6\n"
                                : "P2 4 3 255\n1 2 3 4\n5 6 7 8\n9 8 7 6\n");
}

static void remove_folder(void)
{
    unlink(in_scratch("flat/1.pgm"));
    rmdir(in_scratch("flat"));
}

static void test_folder_takes_the_size_of_the_model(void **state)
{
    mercer_table *table, *other;
    (void)state;
    reading.image_features = "haar";
    put_folder(false);
    assert_ok(mercer_table_read(ctx, in_scratch("flat"), &reading, &table, &err));
    put_folder(true);
    mercer_read_options_init(&reading);
    reading.prepare = table->rows->prepare;
    assert_ok(mercer_table_read(ctx, in_scratch("flat"), &reading, &other, &err));
    assert_int_equal(other->rows->d, table->rows->d);
    for (int64_t j = 0; j < table->rows->d; j++)
        assert_true(fabs(other->rows->x[j] - table->rows->x[j]) < 1e-10);
    mercer_table_free(other);
    reading.resize_width = 4;
    reading.resize_height = 2;
    assert_fails(mercer_table_read(ctx, in_scratch("flat"), &reading, &other, &err),
                 MERCER_ERR_ARGUMENT, "cannot be resized to 4x2: the model's images have 4x3");
    mercer_table_free(table);
    remove_folder();
}

/* --- with a model --- */

/* Read, fit, save, load, read again by the model, transform, with the k-th allocation failing. */
static mercer_status whole_way(const char *path, const char *file, mercer_read_options options)
{
    mercer_fit_options fitting;
    mercer_table *table = NULL;
    mercer_model *model = NULL, *back = NULL;
    double *features = NULL;
    mercer_status rc = MERCER_OK;
    mercer_fit_options_init(&fitting);
    fitting.method = "pca";
    fitting.components = 1;
    MRC_TRY(mercer_table_read(ctx, path, &options, &table, &err));
    MRC_TRY(mercer_fit(ctx, &fitting, table->rows, NULL, &model, NULL, &err));
    MRC_TRY(mercer_model_save(ctx, model, file, &err));
    MRC_TRY(mercer_model_load(ctx, file, &back, &err));
    mercer_table_free(table);
    table = NULL;
    mercer_read_options_init(&options);
    mercer_model_read_options(back, &options);
    MRC_TRY(mercer_table_read(ctx, path, &options, &table, &err));
    MRC_TRY(mrc_alloc(&features, table->rows->n, sizeof *features, &err));
    MRC_TRY(mercer_model_transform(ctx, back, table->rows, NULL, features, NULL, &err));
out:
    mrc_free(features);
    mercer_table_free(table);
    mercer_model_free(model);
    mercer_model_free(back);
    return rc;
}

static void fail_in_turn(const char *given)
{
    char path[512]; /* in_scratch() forgets */
    snprintf(path, sizeof path, "%s", given);
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    for (int k = 0; rc != MERCER_OK; k++) {
        assert_true(k < 3000);
        mrc_alloc_fail_after(k);
        rc = whole_way(path, in_scratch("a.model"), reading);
        mrc_alloc_fail_after(-1);
        if (rc != MERCER_OK && rc != MERCER_ERR_MEMORY)
            print_error("%s\n", err.text);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

/* --- missing values --- */

static const char holes[] = "a,b,label\n1,NA,x\n,4,y\n3,8,x\n?,nan,y\n";

static void test_missing_words(void **state)
{
    static const char *const words[] = {"",    "\"\"", "NA",   "N/A",  "n/a",    "na", "NaN",
                                        "nan", "null", "NULL", "None", "\"NA\"", "?"};
    mercer_table *table;
    (void)state;
    reading.missing = "mean";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[64];
        snprintf(text, sizeof text, "a,b\n1,2\n%s,4\n5,6\n", words[i]);
        assert_ok(mercer_table_read(ctx, put_text("a.csv", text), &reading, &table, &err));
        assert_true(table->rows->x[2] == 3);
        mercer_table_free(table);
    }
    /* A first row of data with a hole is not a header. */
    assert_ok(
        mercer_table_read(ctx, put_text("a.csv", "NA,1\n2,3\n4,5\n"), &reading, &table, &err));
    assert_int_equal(table->rows->n, 3);
    assert_true(table->rows->x[0] == 3);
    mercer_table_free(table);
    assert_fails(mercer_table_read(ctx, put_text("a.csv", "a,b\n1,inf\n"), &reading, &table, &err),
                 MERCER_ERR_DATA, ":2: column 'b': 'inf' is not finite");
    assert_fails(mercer_table_read(ctx, put_text("a.csv", "a,b\n1,x\n"), &reading, &table, &err),
                 MERCER_ERR_DATA, ":2: column 'b': 'x' is not a number");
    assert_fails(
        mercer_table_read(ctx, put_text("a.csv", "a,target\n1,NA\n"), &reading, &table, &err),
        MERCER_ERR_DATA, ":2: column 'target' is 'NA' where a value is expected");
    reading.missing = "zero";
    assert_fails(mercer_table_read(ctx, in_scratch("a.csv"), &reading, &table, &err),
                 MERCER_ERR_ARGUMENT, "missing 'zero' is not one of error, mean, median, drop");
}

static void test_missing_mean(void **state)
{
    static const double wanted[] = {1, 6, 2, 4, 3, 8, 2, 6};
    mercer_table *table, *block;
    mercer_reader *reader;
    (void)state;
    reading.missing = "mean";
    assert_ok(mercer_table_read(ctx, put_text("a.csv", holes), &reading, &table, &err));
    assert_int_equal(table->rows->n, 4);
    assert_memory_equal(table->rows->x, wanted, sizeof wanted);
    /* The same means for another table, block by block. */
    mercer_read_options_init(&reading);
    reading.prepare = table->rows->prepare;
    put_text("b.csv", "a,b\n,NA\n7,\n");
    assert_ok(mercer_reader_open(ctx, in_scratch("b.csv"), &reading, &reader, &err));
    assert_ok(mercer_reader_next(ctx, reader, 1, &block, &err));
    assert_true(block->rows->x[0] == 2 && block->rows->x[1] == 6);
    mercer_table_free(block);
    assert_ok(mercer_reader_next(ctx, reader, 1, &block, &err));
    assert_true(block->rows->x[0] == 7 && block->rows->x[1] == 6);
    mercer_table_free(block);
    mercer_reader_close(reader);
    assert_fails(mercer_table_read(ctx, put_text("b.csv", "1,2,3\n"), &reading, &block, &err),
                 MERCER_ERR_DATA, "3 columns where 2 were expected");
    mercer_table_free(table);
    mercer_read_options_init(&reading);
    reading.missing = "mean";
    assert_fails(
        mercer_table_read(ctx, put_text("b.csv", "a,b\n1,?\n2,\n"), &reading, &block, &err),
        MERCER_ERR_DATA, "b.csv: column 'b' has no value to take the mean of");
    put_text("b.csv", "a,b\n1,1e308\n2,1e308\n3,\n");
    assert_fails(mercer_table_read(ctx, in_scratch("b.csv"), &reading, &block, &err),
                 MERCER_ERR_DATA, "b.csv: column 'b' has values too large to take the mean of");
}

static void test_missing_drop(void **state)
{
    mercer_table *table, *other;
    (void)state;
    reading.missing = "drop";
    assert_ok(mercer_table_read(ctx, put_text("a.csv", holes), &reading, &table, &err));
    assert_int_equal(table->rows->n, 1);
    assert_true(table->rows->x[0] == 3 && table->rows->x[1] == 8);
    const mercer_targets *targets = mercer_table_targets(table);
    assert_string_equal(mercer_targets_class_name(targets, mercer_targets_codes(targets)[0]), "x");
    /* For new rows it is an error: what comes out must stand beside what went in. */
    mercer_read_options_init(&reading);
    reading.prepare = table->rows->prepare;
    assert_fails(mercer_table_read(ctx, in_scratch("a.csv"), &reading, &other, &err),
                 MERCER_ERR_DATA, ":2: column 'b': 'NA' is not a number (such rows were left out");
    mercer_table_free(table);
    /* Blocks whose rows are all left out are passed over, and values stay with their rows. */
    mercer_reader *reader;
    mercer_read_options_init(&reading);
    reading.missing = "drop";
    put_text("t.csv", "a,target\n,1\n,2\n3,3\n,4\n5,5\n");
    assert_ok(mercer_reader_open(ctx, in_scratch("t.csv"), &reading, &reader, &err));
    for (int value = 3; value <= 5; value += 2) {
        assert_ok(mercer_reader_next(ctx, reader, 2, &table, &err));
        assert_int_equal(table->rows->n, 1);
        assert_true(table->rows->x[0] == value && table->targets.values[0] == value);
        mercer_table_free(table);
    }
    assert_ok(mercer_reader_next(ctx, reader, 2, &table, &err));
    assert_null(table);
    mercer_reader_close(reader);
    assert_fails(
        mercer_table_read(ctx, put_text("b.csv", "a,b\n1,?\n,2\n"), &reading, &other, &err),
        MERCER_ERR_DATA, "b.csv: every row has a missing value");
}

static double with_hole(int i)
{
    return i == 7 ? NAN : pixel(i);
}

static void test_missing_pixels(void **state)
{
    mercer_table *table;
    (void)state;
    const char *path = put_npy("x.npy", "(3, 2, 2)", 12, with_hole);
    assert_fails(mercer_table_read(ctx, path, &reading, &table, &err), MERCER_ERR_DATA,
                 "x.npy: row 2, column 4: nan is not finite; the mean can replace a missing value");
    reading.missing = "mean";
    reading.image_features = "haar";
    assert_ok(mercer_table_read(ctx, path, &reading, &table, &err));
    double image[4] = {pixel(4), pixel(5), pixel(6), (pixel(3) + pixel(11)) / 2}, wanted[16];
    int64_t count = plain_features(image, 2, 2, wanted);
    assert_int_equal(count, table->rows->d);
    for (int64_t j = 0; j < count; j++)
        assert_true(table->rows->x[count + j] == wanted[j]);
    mercer_table_free(table);
    fail_in_turn(path);
}

static void test_missing_failing(void **state)
{
    (void)state;
    reading.missing = "mean";
    fail_in_turn(put_text("a.csv", holes));
}

/* --- text columns --- */

static const char mixed[] = "size,x,colour,label\n3,1,red,a\nXL,2,blue,b\n3.0,3,red,a\nM,4,NA,b\n";

static void assert_rows(const mercer_table *table, const double *wanted, int64_t n, int64_t d)
{
    assert_int_equal(table->rows->n, n);
    assert_int_equal(table->rows->d, d);
    for (int64_t i = 0; i < n * d; i++)
        assert_true(table->rows->x[i] == wanted[i]);
}

static void test_encode(void **state)
{
    /* size=3, size=M, size=XL, x, colour=blue, colour=red; what is missing: shares of the values */
    static const double wanted[] = {1, 0, 0, 1, 0, 1, 0, 0, 1, 2, 1,       0,
                                    1, 0, 0, 3, 0, 1, 0, 1, 0, 4, 1 / 3.0, 2 / 3.0};
    static const char *const names[] = {"size=3", "size=M",      "size=XL",
                                        "x",      "colour=blue", "colour=red"};
    static const double others[] = {0, 0, 0, 5, 1, 0, 1, 0, 0, 6, 0, 0};
    mercer_table *table, *other;
    (void)state;
    assert_fails(mercer_table_read(ctx, put_text("a.csv", mixed), &reading, &table, &err),
                 MERCER_ERR_DATA, "a.csv:2: column 'colour': 'red' is not a number");
    reading.encode = "onehot";
    assert_fails(
        mercer_table_read(ctx, in_scratch("a.csv"), &reading, &table, &err), MERCER_ERR_DATA,
        "a.csv:5: column 'colour': 'NA' is not a number; the mean can replace a missing value");
    reading.missing = "mean";
    assert_ok(mercer_table_read(ctx, in_scratch("a.csv"), &reading, &table, &err));
    for (int j = 0; j < 6; j++)
        assert_string_equal(mercer_rows_name(table->rows, j), names[j]);
    for (int i = 0; i < 24; i++)
        assert_true(fabs(table->rows->x[i] - wanted[i]) < 1e-15);
    assert_int_equal(table->rows->n, 4);
    /* New rows: a text nobody has seen, a number in a text column, texts in a column of numbers. */
    mercer_read_options_init(&reading);
    reading.prepare = table->rows->prepare;
    put_text("b.csv", "size,x,colour\nL,5,blue\n3,6,green\n");
    assert_ok(mercer_table_read(ctx, in_scratch("b.csv"), &reading, &other, &err));
    assert_rows(other, others, 2, 6);
    mercer_table_free(other);
    assert_fails(mercer_table_read(ctx, put_text("b.csv", "size,x,colour\n3,one,red\n"), &reading,
                                   &other, &err),
                 MERCER_ERR_DATA, "b.csv:2: column 'x': 'one' is not a number");
    assert_fails(mercer_table_read(ctx, put_text("b.csv", "3,1\n"), &reading, &other, &err),
                 MERCER_ERR_DATA, "2 columns where 3 were expected");
    mercer_table_free(table);
}

static void test_encode_by_block(void **state)
{
    static const double first[] = {1, 0, 0, 1}, second[] = {0, 0, 1, 0};
    mercer_reader *reader;
    mercer_table *block;
    (void)state;
    reading.encode = "onehot";
    reading.no_label = 1;
    /* No header: no names. What the first block does not have is unknown to the second. */
    assert_ok(mercer_reader_open(ctx, put_text("t.csv", "1,a\n1,b\n1,c\n1,a\n"), &reading, &reader,
                                 &err));
    assert_ok(mercer_reader_next(ctx, reader, 2, &block, &err));
    assert_null(mercer_rows_name(block->rows, 0));
    assert_int_equal(block->rows->d, 3);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(block->rows->x + 3 * i + 1, first + 2 * i, 2 * sizeof *first);
    mercer_table_free(block);
    assert_ok(mercer_reader_next(ctx, reader, 2, &block, &err));
    for (int i = 0; i < 2; i++)
        assert_memory_equal(block->rows->x + 3 * i + 1, second + 2 * i, 2 * sizeof *second);
    mercer_table_free(block);
    mercer_reader_close(reader);
}

static void test_encode_choices(void **state)
{
    static const double wanted[] = {1, 1, 0, 3, 0, 1};
    mercer_table *table;
    (void)state;
    /* A row that is left out leaves no value behind; None is one where text is taken. */
    reading.encode = "onehot";
    reading.missing = "drop";
    put_text("a.csv", "x,kind\n1,None\n,odd\n3,some\n");
    assert_ok(mercer_table_read(ctx, in_scratch("a.csv"), &reading, &table, &err));
    assert_rows(table, wanted, 2, 3);
    mercer_table_free(table);
    /* Nothing to encode: the columns as they stand. */
    reading.missing = NULL;
    assert_ok(mercer_table_read(ctx, put_text("a.csv", "x,y\n1,2\n"), &reading, &table, &err));
    assert_null(table->rows->prepare);
    assert_string_equal(mercer_rows_name(table->rows, 1), "y");
    mercer_table_free(table);
    reading.encode = "hot";
    assert_fails(mercer_table_read(ctx, in_scratch("a.csv"), &reading, &table, &err),
                 MERCER_ERR_ARGUMENT, "encode 'hot' is neither none nor onehot");
}

static void test_encode_failing(void **state)
{
    (void)state;
    reading.encode = "onehot";
    reading.missing = "mean";
    fail_in_turn(put_text("a.csv", mixed));
}

/* --- images out --- */

static void test_image_write(void **state)
{
    static const double grey[] = {-3, 0.4, 1.5, 254.6, 300, 7};
    static const unsigned char bytes[] = {0, 0, 2, 255, 255, 7};
    int64_t clipped = 1;
    size_t length;
    (void)state;
    assert_ok(mercer_image_write(ctx, in_scratch("a.pgm"), NULL, grey, 3, 2, 1, &clipped, &err));
    assert_int_equal(clipped, 3); /* -3 and 300; 0.4 and 254.6 only round */
    char *file = get_bytes(in_scratch("a.pgm"), &length);
    assert_int_equal(length, 17);
    assert_memory_equal(file, "P5\n3 2\n255\n", 11);
    assert_memory_equal(file + 11, bytes, 6);
    test_free(file);
    for (int colour = 0; colour < 2; colour++) {
        const char *name = colour ? "c.png" : "g.png";
        mrc_pixels got;
        assert_ok(mercer_image_write(ctx, in_scratch(name), NULL, grey, colour ? 1 : 3, 2,
                                     colour ? 3 : 1, NULL, &err));
        file = get_bytes(in_scratch(name), &length);
#ifdef MRC_HAVE_STB
        assert_ok(mrc_image_decode(name, (unsigned char *)file, length, &got, &err));
        assert_int_equal(got.channels, colour ? 3 : 1);
        assert_int_equal(got.width, colour ? 1 : 3);
        assert_int_equal(got.height, 2);
        assert_memory_equal(got.values, bytes, 6);
        mrc_free(got.values);
#else
        (void)got;
#endif
        test_free(file);
    }
    assert_fails(mercer_image_write(ctx, in_scratch("a.ppm"), NULL, grey, 3, 2, 1, NULL, &err),
                 MERCER_ERR_ARGUMENT, "a grey image is written as .pgm or .png");
    assert_fails(mercer_image_write(ctx, in_scratch("a.pgm"), NULL, grey, 1, 2, 3, NULL, &err),
                 MERCER_ERR_ARGUMENT, "a colour image is written as .ppm or .png");
    assert_fails(mercer_image_write(ctx, in_scratch("a.pgm"), NULL, grey, 0, 2, 1, NULL, &err),
                 MERCER_ERR_ARGUMENT, "0x2 pixels cannot be written");
}

/* The bytes are those of the file; PNG alone takes a fourth channel. */
static void test_image_to_png(void **state)
{
    static const double pixels[] = {-3, 0.4, 1.5, 254.6, 300, 7, 8, 9};
    static const unsigned char rounded[] = {0, 0, 2, 255, 255, 7, 8, 9};
    int64_t clipped = 0;
    size_t length, size = 1;
    void *png = NULL;
    (void)state;
    assert_ok(mercer_image_write(ctx, in_scratch("g.png"), NULL, pixels, 3, 2, 1, NULL, &err));
    char *file = get_bytes(in_scratch("g.png"), &length);
    assert_ok(mercer_image_to_png(pixels, 3, 2, 1, &clipped, &png, &size, &err));
    assert_int_equal(clipped, 2);
    assert_int_equal(size, length);
    assert_memory_equal(png, file, length);
    test_free(file);
    mercer_free(png);
    assert_ok(mercer_image_to_png(pixels, 2, 1, 4, NULL, &png, &size, &err));
    const unsigned char *bytes = png;
    unsigned char lines[16];
    uLongf filled = sizeof lines;
    assert_int_equal(bytes[25], 6); /* red, green, blue, opacity */
    assert_int_equal(uncompress(lines, &filled, bytes + 41, size - 41 - 16), Z_OK);
    assert_int_equal(filled, 9);
    assert_int_equal(lines[0], 0);
    assert_memory_equal(lines + 1, rounded, 8);
    mercer_free(png);
    assert_fails(mercer_image_to_png(pixels, 1, 2, 2, NULL, &png, &size, &err), MERCER_ERR_ARGUMENT,
                 "1x2 pixels cannot be written");
    assert_null(png);
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    for (int k = 0; rc != MERCER_OK; k++) {
        assert_true(k < 100);
        mrc_alloc_fail_after(k);
        rc = mercer_image_to_png(pixels, 3, 2, 1, NULL, &png, &size, &err);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_true((png == NULL) == (rc != MERCER_OK));
        assert_int_equal(mrc_alloc_live(), live + (png != NULL));
        mercer_free(png);
    }
}

static void test_image_write_failing(void **state)
{
    static const double grey[] = {1, 2, 3, 4, 5, 6};
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    (void)state;
    for (int k = 0; rc != MERCER_OK; k++) {
        assert_true(k < 100);
        mrc_alloc_fail_after(k);
        rc = mercer_image_write(ctx, in_scratch("a.png"), NULL, grey, 3, 2, 1, NULL, &err);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), live);
        assert_int_equal(count_scratch(0), rc == MERCER_OK); /* nothing half-written stays */
    }
}

static void test_images_failing(void **state)
{
    (void)state;
    reading.image_features = "haar";
    fail_in_turn(put_npy("x.npy", "(3, 2, 3)", 18, pixel));
}

static void test_model_keeps_images(void **state)
{
    mercer_fit_options fitting;
    mercer_table *table;
    mercer_model *model, *back;
    mercer_model_info info = {.struct_size = sizeof info};
    (void)state;
    reading.image_features = "haar";
    mercer_fit_options_init(&fitting);
    fitting.method = "pca";
    fitting.components = 2;
    assert_ok(
        mercer_table_read(ctx, put_npy("x.npy", "(4, 3, 2)", 24, pixel), &reading, &table, &err));
    assert_ok(mercer_fit(ctx, &fitting, table->rows, NULL, &model, NULL, &err));
    assert_ok(mercer_model_save(ctx, model, in_scratch("a.model"), &err));
    assert_ok(mercer_model_load(ctx, in_scratch("a.model"), &back, &err));
    mercer_model_get_info(back, &info);
    assert_string_equal(info.image_features, "haar");
    assert_int_equal(info.image_width, 2);
    assert_int_equal(info.image_height, 3);
    assert_int_equal(info.image_channels, 1);
    assert_int_equal(info.columns, mrc_haar_count(2, 3));
    /* A size that does not belong to the columns does not get through. */
    back->prepare.size.width = 3;
    assert_fails(mrc_prepare_check(&back->prepare, info.columns, &err), MERCER_ERR_ARGUMENT,
                 "but its images have");
    mercer_model_free(model);
    mercer_model_free(back);
    mercer_table_free(table);
}

#define READS(name) cmocka_unit_test_setup(name, each_reading)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READS(test_haar_count),
        READS(test_haar_values),
        READS(test_stack_of_images),
        READS(test_images_refused),
        READS(test_folder_takes_the_size_of_the_model),
        READS(test_missing_words),
        READS(test_missing_mean),
        READS(test_missing_drop),
        READS(test_missing_pixels),
        READS(test_missing_failing),
        READS(test_encode),
        READS(test_encode_by_block),
        READS(test_encode_choices),
        READS(test_encode_failing),
        READS(test_image_write),
        READS(test_image_to_png),
        READS(test_image_write_failing),
        READS(test_images_failing),
        READS(test_model_keeps_images),
    };
    return RUN_TESTS(tests);
}
