/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of the caller: each of them with every format, whole and block by block. What has exactly
 * as much as is allowed is read, one more is refused. Then time, and which files are opened. */
#include "data_support.h"

#include "sanitizer.h"

#include <ctype.h>
#include <pthread.h>
#include <sys/resource.h>
#include <zlib.h>

#ifdef MRC_HAVE_HDF5
#include <hdf5.h>
#endif
#ifdef MRC_HAVE_MATIO
#include <matio.h>
#endif

enum { ROWS = 40, COLUMNS = 3, VALUES = ROWS * COLUMNS };

/* A table of ROWS x COLUMNS numbers in one of the formats. */
typedef struct sample {
    const char *format;
    const char *path;
    int64_t name;  /* bytes of its longest name; 0: it has none */
    int64_t bytes; /* of the file or of what is in it, whichever is more */
} sample;

enum { MAX_SAMPLES = 24 };
static sample samples[MAX_SAMPLES];
static int sample_count;
static char paths[MAX_SAMPLES][512];

static int64_t file_size(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

static void add_sample(const char *format, const char *file, int64_t name, int64_t unpacked)
{
    struct stat info;
    assert_true(sample_count < MAX_SAMPLES);
    snprintf(paths[sample_count], sizeof paths[0], "%s", in_scratch(file));
    const char *path = paths[sample_count];
    assert_int_equal(stat(path, &info), 0);
    const int64_t size = S_ISDIR(info.st_mode) ? 0 : info.st_size;
    samples[sample_count++] = (sample){format, path, name, size > unpacked ? size : unpacked};
}

/* ROWS lines, each a start and COLUMNS numbers. */
static char *make_text(const char *head, const char *start, const char *between)
{
    enum { ROOM = 1 << 14 };
    char *text = test_malloc(ROOM);
    size_t at = (size_t)snprintf(text, ROOM, "%s", head);
    for (int i = 0; i < ROWS; i++) {
        at += (size_t)snprintf(text + at, ROOM - at, "%s", start);
        for (int j = 0; j < COLUMNS; j++)
            at += (size_t)snprintf(text + at, ROOM - at, "%s%d", j ? between : "", i + j + 1);
        at += (size_t)snprintf(text + at, ROOM - at, "\n");
    }
    return text;
}

static void put_text_sample(const char *format, const char *file, const char *head,
                            const char *start, const char *between, int64_t name)
{
    char *text = make_text(head, start, between);
    put_text(file, text);
    add_sample(format, file, name, 0);
    test_free(text);
}

static void put_gzip_sample(void)
{
    char *text = make_text("abc,d,e\n", "", ",");
    gzFile file = gzopen(in_scratch("a.csv.gz"), "wb9");
    assert_true(file && gzputs(file, text) > 0);
    assert_int_equal(gzclose(file), Z_OK);
    assert_true(file_size(in_scratch("a.csv.gz")) < (int64_t)strlen(text));
    add_sample("csv", "a.csv.gz", 3, (int64_t)strlen(text));
    test_free(text);
}

/* An NPY file in memory, of bytes. */
static size_t make_npy(unsigned char *out, size_t room)
{
    int length = snprintf((char *)out, room, "%s",
                          "\x93NUMPY\x01"); /* and a zero byte, which ends the text */
    out[length++] = 0;
    char head[119];
    memset(head, ' ', sizeof head);
    int used =
        snprintf(head, sizeof head, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }",
                 ROWS, COLUMNS);
    head[used] = ' ';
    head[117] = '\n';
    out[length++] = 118;
    out[length++] = 0;
    memcpy(out + length, head, 118);
    length += 118;
    for (int i = 0; i < VALUES; i++)
        out[length++] = (unsigned char)i;
    return (size_t)length;
}

static unsigned char *put_number(unsigned char *p, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *p++ = (unsigned char)(value >> (8 * i));
    return p;
}

/* An archive of one array, deflated. */
static void put_npz_sample(void)
{
    static const char name[] = "long.npy";
    enum { NAME = sizeof name - 1, CUT = 4 };
    unsigned char npy[1024], packed[2048], file[4096], *p = file;
    const size_t size = make_npy(npy, sizeof npy);
    z_stream z = {
        .next_in = npy, .avail_in = (uInt)size, .next_out = packed, .avail_out = sizeof packed};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    const size_t length = z.total_out;
    deflateEnd(&z);
    const uint64_t sum = crc32(0, npy, (uInt)size);
    for (int central = 0; central < 2; central++) {
        p = put_number(p, central ? 0x02014b50 : 0x04034b50, 4);
        p = put_number(p, 20, central ? 4 : 2); /* version, also of the maker */
        p = put_number(p, 0, 2);                /* flags */
        p = put_number(p, 8, 2);                /* deflated */
        p = put_number(p, 0, 4);                /* time */
        p = put_number(p, sum, 4);
        p = put_number(p, length, 4);
        p = put_number(p, size, 4);
        p = put_number(p, NAME, 2);
        p = put_number(p, 0, 2);
        if (central) {
            p = put_number(p, 0, 8);
            p = put_number(p, 0, 6); /* the rest of the attributes, and where it starts */
        }
        memcpy(p, name, NAME);
        p += NAME;
        if (!central) {
            memcpy(p, packed, length);
            p += length;
        }
    }
    const size_t start = 30 + NAME + length, end = (size_t)(p - file);
    p = put_number(p, 0x06054b50, 4);
    p = put_number(p, 0, 4);
    p = put_number(p, 0x00010001, 4);
    p = put_number(p, end - start, 4);
    p = put_number(p, start, 4);
    p = put_number(p, 0, 2);
    put_bytes("a.npz", file, (size_t)(p - file));
    add_sample("npz", "a.npz", NAME - CUT, (int64_t)size);
}

static void put_container_samples(void)
{
#ifdef MRC_HAVE_MATIO
    double x[VALUES];
    size_t shape[2] = {ROWS, COLUMNS};
    for (int i = 0; i < VALUES; i++)
        x[i] = i % 5;
    mat_t *mat = Mat_CreateVer(in_scratch("a.mat"), NULL, MAT_FT_MAT5);
    matvar_t *var = Mat_VarCreate("long", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, shape, x, 0);
    assert_true(mat && var);
    assert_int_equal(Mat_VarWrite(mat, var, MAT_COMPRESSION_ZLIB), 0);
    Mat_VarFree(var);
    Mat_Close(mat);
    assert_true(file_size(in_scratch("a.mat")) < (int64_t)sizeof x);
    add_sample("mat", "a.mat", 4, sizeof x);
#endif
#ifdef MRC_HAVE_HDF5
    static float wide[VALUES];
    hsize_t axes[2] = {ROWS, COLUMNS};
    hid_t file = H5Fcreate(in_scratch("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, axes, NULL);
    hid_t data =
        H5Dcreate2(file, "long", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < VALUES; i++)
        wide[i] = (float)i;
    assert_true(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, wide) >= 0);
    H5Dclose(data);
    H5Sclose(space);
    H5Fclose(file);
    add_sample("hdf5", "a.h5", 5, sizeof wide); /* with the slash in front */
#endif
}

static void image_name(int i, char out[64])
{
    snprintf(out, 64, "faces/%s/%02d.pgm", i % 2 ? "first" : "other", i);
}

static void put_images(void)
{
    mkdir(in_scratch("faces"), 0700);
    mkdir(in_scratch("faces/first"), 0700);
    mkdir(in_scratch("faces/other"), 0700);
    for (int i = 0; i < ROWS; i++) {
        char name[64];
        image_name(i, name);
        put_text(name, "P2 3 1 255\n4 5 6\n");
    }
    add_sample("images", "faces", 6, VALUES);
}

static void remove_images(void)
{
    for (int i = 0; i < ROWS; i++) {
        char name[64];
        image_name(i, name);
        unlink(in_scratch(name));
    }
    rmdir(in_scratch("faces/first"));
    rmdir(in_scratch("faces/other"));
    rmdir(in_scratch("faces"));
}

static int put_samples(void **state)
{
    unsigned char npy[1024];
    char head[96];
    each_setup(state);
    sample_count = 0;
    put_text_sample("csv", "a.csv", "long,b,c\n", "", ",", 4);
    put_text_sample("csv", "b.csv", "", "", ",", 0);
    put_text_sample("tsv", "a.tsv", "a\tlong\tc\n", "", "\t", 4);
    put_gzip_sample();
    snprintf(head, sizeof head, "%%%%MatrixMarket matrix array real general\n%d %d\n", ROWS,
             COLUMNS);
    put_text_sample("mtx", "a.mtx", head, "", "\n", 0);
    put_text_sample("toy", "a.toy", "", "", ";", 0);
    char *text = test_malloc(1 << 14);
    size_t at = 0;
    for (int i = 0; i < ROWS; i++)
        at += (size_t)snprintf(text + at, (1 << 14) - at, "%d 1:%d 3:5\n", 10 + i % 2, i + 1);
    put_text("a.svm", text);
    test_free(text);
    add_sample("libsvm", "a.svm", 2, 0);
    put_bytes("a.npy", npy, make_npy(npy, sizeof npy));
    add_sample("npy", "a.npy", 0, 0);
    put_npz_sample();
    put_container_samples();
    put_images();
    return 0;
}

static int remove_samples(void **state)
{
    (void)state;
    remove_images();
    return mercer_ctx_set_limits(ctx, NULL, &err) == MERCER_OK ? 0 : -1;
}

/* Read all of it, in one go or in blocks; nothing is handed over on an error. */
static mercer_status read_all(const char *path, int64_t rows_at_a_time)
{
    mercer_table *table = NULL;
    mercer_reader *reader = NULL;
    int64_t rows = 0;
    if (rows_at_a_time == 0) {
        mercer_status rc = mercer_table_read(ctx, path, NULL, &table, &err);
        assert_true((rc == MERCER_OK) == (table != NULL));
        if (table)
            assert_int_equal(mercer_rows_count(mercer_table_rows(table)), ROWS);
        mercer_table_free(table);
        return rc;
    }
    mercer_status rc = mercer_reader_open(ctx, path, NULL, &reader, &err);
    while (rc == MERCER_OK) {
        rc = mercer_reader_next(ctx, reader, rows_at_a_time, &table, &err);
        if (!table)
            break;
        rows += mercer_rows_count(mercer_table_rows(table));
        mercer_table_free(table);
    }
    mercer_reader_close(reader);
    assert_true(rc != MERCER_OK || rows == ROWS);
    return rc;
}

/* With a limit of exactly `found` it is read, with one less it is not. */
static void assert_limit(const sample *s, size_t member, int64_t found, const char *words)
{
    static const int64_t ways[] = {0, 7, ROWS};
    const int64_t live = mrc_alloc_live();
    const bool helped = strcmp(s->format, "images") == 0 || strcmp(s->format, "mat") == 0 ||
                        strcmp(s->format, "hdf5") == 0;
    for (int confined = 0; confined <= helped; confined++) {
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            mercer_limits limits;
            mercer_limits_init(&limits);
            limits.confine = confined;
            memcpy((char *)&limits + member, &found, sizeof found);
            assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
            assert_ok(read_all(s->path, ways[w]));
            if (found == 1)
                continue; /* 0 is none */
            const int64_t less = found - 1;
            memcpy((char *)&limits + member, &less, sizeof less);
            assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
            assert_fails(read_all(s->path, ways[w]), MERCER_ERR_LIMIT, words);
            assert_non_null(strstr(err.text, "raise it if you trust this file"));
            assert_int_equal(err.names_file, 1);
            assert_string_equal(err.advice_key, "limit");
            assert_int_equal(strncmp(err.text, scratch, strlen(scratch)), 0);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
    assert_ok(mercer_ctx_set_limits(ctx, NULL, &err));
}

static void test_rows(void **state)
{
    (void)state;
    for (int i = 0; i < sample_count; i++)
        assert_limit(&samples[i], offsetof(mercer_limits, max_rows), ROWS, " rows, ");
}

static void test_columns(void **state)
{
    (void)state;
    for (int i = 0; i < sample_count; i++)
        assert_limit(&samples[i], offsetof(mercer_limits, max_columns), COLUMNS, " columns, ");
}

static void test_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < sample_count; i++)
        assert_limit(&samples[i], offsetof(mercer_limits, max_bytes), samples[i].bytes, " bytes, ");
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < sample_count; i++)
        if (samples[i].name)
            assert_limit(&samples[i], offsetof(mercer_limits, max_name_bytes), samples[i].name,
                         ": the name of ");
}

/* Every format of the list has a sample. */
static void test_all_formats(void **state)
{
    const mercer_entry *entry;
    (void)state;
    for (int i = 0; (entry = mercer_format_at(i)); i++) {
        mercer_entry_info info = {.struct_size = sizeof info};
        bool found = false;
        mercer_entry_get_info(entry, &info);
        for (int k = 0; k < sample_count; k++)
            found |= strcmp(samples[k].format, info.name) == 0;
#ifndef MRC_HAVE_HDF5
        found |= strcmp(info.name, "hdf5") == 0;
#endif
#ifndef MRC_HAVE_MATIO
        found |= strcmp(info.name, "mat") == 0;
#endif
        if (!found)
            print_error("%s has no sample\n", info.name);
        assert_true(found);
    }
}

/* Names that are neither columns nor arrays: classes, ids, groups, a file of classes. */
static void test_other_names(void **state)
{
    static const char *const texts[] = {"a,label\n1,long\n2,u\n", "who,a\nlong,1\nu,2\n",
                                        "who,a\nlong,1\nu,2\n", "a,b\n1,2\n3,4\n"};
    mercer_read_options options[4];
    mercer_limits limits;
    mercer_table *table;
    (void)state;
    for (int i = 0; i < 4; i++)
        mercer_read_options_init(&options[i]);
    options[1].id = "who";
    options[2].groups = "who";
    options[3].labels_file = in_scratch("classes");
    put_text("classes", "long\nu\n");
    mercer_limits_init(&limits);
    for (int i = 0; i < 4; i++) {
        const char *path = put_text("t.csv", texts[i]);
        limits.max_name_bytes = i ? 4 : 5; /* "label" is one, too */
        assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
        assert_ok(mercer_table_read(ctx, path, &options[i], &table, &err));
        mercer_table_free(table);
        limits.max_name_bytes = 3;
        assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
        assert_fails(mercer_table_read(ctx, path, &options[i], &table, &err), MERCER_ERR_LIMIT,
                     "t.csv: the name of ");
    }
    /* The file of classes is a file of its own. */
    limits.max_name_bytes = 0;
    limits.max_bytes = 6;
    options[3].label = NULL;
    put_text("t.csv", "1\n2\n");
    assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
    assert_fails(mercer_table_read(ctx, in_scratch("t.csv"), &options[3], &table, &err),
                 MERCER_ERR_LIMIT, "classes: has 7 bytes, the limit is 6");
}

/* A small file of many bytes stops at the first too many. */
static void test_bombs(void **state)
{
    static char zeros[1 << 20];
    mercer_limits limits;
    mercer_table *table;
    (void)state;
    gzFile file = gzopen(in_scratch("bomb.csv.gz"), "wb9");
    for (size_t i = 0; i < sizeof zeros; i += 2)
        memcpy(zeros + i, "1\n", 2);
    for (int i = 0; i < 64; i++)
        assert_int_equal(gzwrite(file, zeros, sizeof zeros), sizeof zeros);
    assert_int_equal(gzclose(file), Z_OK);
    mercer_limits_init(&limits);
    limits.max_bytes = 1 << 20;
    assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
    assert_fails(mercer_table_read(ctx, in_scratch("bomb.csv.gz"), NULL, &table, &err),
                 MERCER_ERR_LIMIT, "bomb.csv.gz: has more than 1048576 bytes, which is the limit");
    assert_string_equal(err.advice_value, "bytes=N");
}

/* ---- which files ---- */

static void refuse_file(const char *path, const char *words)
{
    mercer_table *table = NULL;
    mercer_model *model = NULL;
    assert_fails(mercer_table_read(ctx, path, NULL, &table, &err), MERCER_ERR_LIMIT, words);
    assert_string_equal(err.key, "untrusted");
    if (!strstr(words, "folder"))
        assert_fails(mercer_model_load(ctx, path, &model, &err), MERCER_ERR_LIMIT, words);
    assert_null(table);
    assert_null(model);
}

static void test_plain_files(void **state)
{
    static const char *const names[] = {"a.csv", "a.npy", "a.mat", "a.h5", "a.svm", "a.npz"};
    mercer_limits limits;
    (void)state;
    mercer_limits_init(&limits);
    limits.plain_files = 1;
    for (int confined = 0; confined < 2; confined++) {
        limits.confine = confined;
        assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
        for (int i = 0; i < sample_count; i++)
            assert_ok(read_all(samples[i].path, 0));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char link[64];
            snprintf(link, sizeof link, "link_%s", names[i]);
            assert_int_equal(symlink(in_scratch(names[i]), in_scratch(link)), 0);
            refuse_file(in_scratch(link), "is a symbolic link, not a plain file");
            assert_int_equal(unlink(in_scratch(link)), 0);
            assert_int_equal(mkfifo(in_scratch(link), 0600), 0);
            refuse_file(in_scratch(link), "is a pipe, not a plain file");
            assert_int_equal(unlink(in_scratch(link)), 0);
        }
        refuse_file("/dev/zero", "/dev/zero: is a device, not a plain file");
        assert_int_equal(symlink(in_scratch("faces"), in_scratch("link")), 0);
        refuse_file(in_scratch("link"), "link: is a symbolic link, not a plain folder");
        refuse_file(in_scratch("link/"), "link/: is a symbolic link, not a plain folder");
        assert_int_equal(unlink(in_scratch("link")), 0);
        assert_int_equal(symlink(in_scratch("faces/first/01.pgm"), in_scratch("faces/first/x.pgm")),
                         0);
        mercer_table *table = NULL;
        assert_fails(mercer_table_read(ctx, in_scratch("faces"), NULL, &table, &err),
                     MERCER_ERR_LIMIT, "faces/first/x.pgm: is a symbolic link");
        assert_int_equal(unlink(in_scratch("faces/first/x.pgm")), 0);
        mercer_limits_init(&limits);
        assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
        assert_int_equal(symlink(in_scratch("a.csv"), in_scratch("l.csv")), 0);
        assert_ok(read_all(in_scratch("l.csv"), 0)); /* as ever without a limit */
        assert_int_equal(unlink(in_scratch("l.csv")), 0);
        limits.plain_files = 1;
    }
}

static void test_models(void **state)
{
    mercer_fit_options options;
    mercer_limits limits;
    mercer_model *model = NULL;
    mercer_table *table;
    void *bytes = NULL;
    size_t size = 0;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "pca";
    options.components = 1;
    assert_ok(mercer_table_read(ctx, in_scratch("a.csv"), NULL, &table, &err));
    assert_ok(mercer_fit(ctx, &options, mercer_table_rows(table), NULL, &model, NULL, &err));
    assert_ok(mercer_model_save(ctx, model, in_scratch("m.model"), &err));
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, &err));
    mercer_model_free(model);
    mercer_table_free(table);
    mercer_limits_init(&limits);
    for (int less = 0; less < 2; less++) {
        limits.max_bytes = (int64_t)size - less;
        assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
        const mercer_status wanted = less ? MERCER_ERR_LIMIT : MERCER_OK;
        assert_int_equal(mercer_model_load(ctx, in_scratch("m.model"), &model, &err), wanted);
        mercer_model_free(model);
        assert_int_equal(mercer_model_from_bytes(ctx, bytes, size, &model, &err), wanted);
        mercer_model_free(model);
        const int old = dup(STDIN_FILENO), file = open(in_scratch("m.model"), O_RDONLY);
        assert_true(dup2(file, STDIN_FILENO) == STDIN_FILENO);
        assert_int_equal(mercer_model_load(ctx, "-", &model, &err), wanted);
        mercer_model_free(model);
        dup2(old, STDIN_FILENO);
        close(old);
        close(file);
    }
    mercer_free(bytes);
}

/* ---- time ---- */

static void test_slow_pipe(void **state)
{
    static const char *const starts[] = {"", "a,b\n1,2\n"};
    int ends[2];
    mercer_limits limits;
    mercer_table *table = NULL;
    mercer_model *model = NULL;
    (void)state;
    mercer_limits_init(&limits);
    limits.max_seconds = 0.15;
    for (int i = 0; i < 3; i++) {
        const int old = dup(STDIN_FILENO);
        assert_int_equal(pipe(ends), 0);
        assert_true(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
        close(ends[0]);
        const size_t length = strlen(starts[i % 2]);
        assert_int_equal(write(ends[1], starts[i % 2], length), length);
        assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
        assert_fails(i < 2 ? mercer_table_read(ctx, "-", NULL, &table, &err)
                           : mercer_model_load(ctx, "-", &model, &err),
                     MERCER_ERR_LIMIT,
                     "standard input: reading it takes more than 0.15 seconds, which is the limit");
        assert_null(table);
        assert_null(model);
        dup2(old, STDIN_FILENO);
        close(old);
        close(ends[1]);
    }
    assert_ok(mercer_ctx_set_limits(ctx, NULL, &err));
    assert_ok(read_all(in_scratch("a.csv"), 0));
}

/* Work of any kind ends, and the context is as good as new. */
static void test_long_work(void **state)
{
    enum { N = 3000, D = 20 };
    double *x = test_malloc(sizeof *x * N * D);
    mercer_fit_options options;
    mercer_limits limits;
    mercer_model *model = NULL;
    (void)state;
    for (int i = 0; i < N * D; i++)
        x[i] = (double)((i * 7919) % 1009) / 1009;
    mercer_rows *rows = NULL;
    assert_ok(view_f64(ctx, x, N, D, D, &rows, &err));
    mercer_fit_options_init(&options);
    options.method = "akfa";
    options.kernel = "rbf:sigma=0.1";
    options.components = 500;
    options.store = "stream";
    mercer_limits_init(&limits);
    limits.max_seconds = 0.2;
    assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
    assert_fails(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err), MERCER_ERR_LIMIT,
                 "this takes more than 0.2 seconds, which is the limit");
    assert_string_equal(err.key, "limit");
    assert_null(model);
    /* It stays over until the limits are set again. */
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err), MERCER_ERR_LIMIT);
    limits.max_seconds = 3600;
    assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
    options.method = "pca";
    options.kernel = NULL;
    options.store = NULL;
    options.components = 2;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err));
    mercer_model_free(model);
    mercer_rows_free(rows);
    test_free(x);
}

/* ---- the struct ---- */

static void test_setting(void **state)
{
    mercer_limits limits;
    (void)state;
    mercer_limits_init(&limits);
    mercer_limits_untrusted(&limits);
    assert_int_equal(limits.struct_size, sizeof limits);
    assert_true(limits.max_rows > 0 && limits.max_columns > 0 && limits.max_bytes > 0 &&
                limits.max_name_bytes > 0 && limits.max_seconds > 0 && limits.plain_files &&
                limits.confine);
    assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
    for (int i = 0; i < sample_count; i++)
        assert_ok(read_all(samples[i].path, i % 2));
    int64_t *const members[] = {&limits.max_rows, &limits.max_columns, &limits.max_bytes,
                                &limits.max_name_bytes};
    for (int i = 0; i < 4; i++) {
        mercer_limits_init(&limits);
        *members[i] = -1;
        assert_fails(mercer_ctx_set_limits(ctx, &limits, &err), MERCER_ERR_ARGUMENT, "a limit is");
    }
    mercer_limits_init(&limits);
    limits.max_seconds = -1;
    assert_fails(mercer_ctx_set_limits(ctx, &limits, &err), MERCER_ERR_ARGUMENT, "a limit is");
    limits.max_seconds = 0.0 / 0.0;
    assert_fails(mercer_ctx_set_limits(ctx, &limits, &err), MERCER_ERR_ARGUMENT, "a limit is");
    limits.struct_size = 0;
    assert_fails(mercer_ctx_set_limits(ctx, &limits, &err), MERCER_ERR_ARGUMENT,
                 "were not initialised");
}

/* ---- the process that reads ---- */

#ifdef MRC_HAVE_HDF5
/* A line of /proc/PID/status of our only child. */
static long status_of_child(const char *key)
{
    DIR *processes = opendir("/proc");
    long found = -1;
    assert_non_null(processes);
    for (struct dirent *entry; (entry = readdir(processes));) {
        char path[300], line[256];
        long parent = 0, value = -1;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            if (strncmp(line, "PPid:", 5) == 0)
                parent = strtol(line + 5, NULL, 10);
            if (strncmp(line, key, strlen(key)) == 0)
                value = strtol(line + strlen(key), NULL, 10);
        }
        if (file)
            fclose(file);
        if (parent == getpid())
            found = value;
    }
    closedir(processes);
    return found;
}
#endif

static int64_t noted;
static void count_notices(void *host, const mercer_notice *notice)
{
    (void)host;
    noted += strstr(notice->text, "cannot confine") != NULL;
}

static void test_helper_is_confined(void **state)
{
    (void)state;
#if defined(MRC_HAVE_HDF5) && !defined(UNDER_SANITIZER)
    enum { MANY = 400000 };
    mercer_limits limits;
    mercer_reader *reader = NULL;
    mercer_table *table = NULL;
    hsize_t axes[2] = {MANY, 1};
    hid_t file = H5Fcreate(in_scratch("long.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, axes, NULL);
    hid_t data =
        H5Dcreate2(file, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    double *x = test_calloc(MANY, sizeof *x);
    assert_true(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    test_free(x);
    H5Dclose(data);
    H5Sclose(space);
    H5Fclose(file);
    mercer_ctx_set_notice(ctx, count_notices, NULL);
    for (int confined = 0; confined < 2; confined++) {
        mercer_limits_init(&limits);
        limits.confine = confined;
        noted = 0;
        assert_ok(mercer_ctx_set_limits(ctx, &limits, &err));
        assert_ok(mercer_reader_open(ctx, in_scratch("long.h5"), NULL, &reader, &err));
        assert_ok(mercer_reader_next(ctx, reader, 10, &table, &err));
        mercer_table_free(table);     /* the rest does not fit the pipe, so somebody waits */
        if (confined && noted == 0) { /* a container may have set them before */
            assert_int_equal(status_of_child("NoNewPrivs:"), 1);
            assert_int_equal(status_of_child("Seccomp:"), 2);
        }
        assert_true(confined || noted == 0);
        mercer_reader_close(reader);
    }
    mercer_ctx_set_notice(ctx, NULL, NULL);
#else
    (void)count_notices;
    skip();
#endif
}

#define LIMITED(name) cmocka_unit_test_setup_teardown(name, put_samples, remove_samples)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIMITED(test_rows),
        LIMITED(test_columns),
        LIMITED(test_bytes),
        LIMITED(test_names),
        LIMITED(test_all_formats),
        LIMITED(test_other_names),
        LIMITED(test_bombs),
        LIMITED(test_plain_files),
        LIMITED(test_models),
        LIMITED(test_slow_pipe),
        LIMITED(test_long_work),
        LIMITED(test_setting),
        LIMITED(test_helper_is_confined),
    };
    return cmocka_run_group_tests(tests, setup_scratch, teardown_scratch);
}
