/* SPDX-License-Identifier: BSD-3-Clause */
/* Model files: the same bits back, the same bytes every time, and nothing damaged gets in. */
#include "model_support.h"

#include <zlib.h>

/* One model of every shape a file can have. */
enum { SHAPES = 7, PACKED = 6 };

static mercer_model *shape(int which)
{
    static const struct recipe recipes[SHAPES] = {
        {.kernel = "rbf:sigma=1.7", .center = MRC_CENTER_EXACT, .n = 9, .d = 2, .l = 2, .basis = 5},
        {.kernel = "poly:gamma=0.1,coef0=0.7,degree=3",
         .center = MRC_CENTER_SPAN,
         .n = 9,
         .d = 3,
         .l = 2,
         .basis = 6},
        {.kernel = "sigmoid:gamma=0.3", .n = 6, .d = 2, .l = 1},
        {.kernel = "linear", .center = MRC_CENTER_EXACT, .n = 6, .d = 3, .l = 2, .collapse = true},
        {.kernel = "cosine", .n = 6, .d = 3, .l = 2},
        {.kernel = "rbf:gamma=0.1", .n = 6, .d = 2, .l = 1},
        {.kernel = "rbf:gamma=0.1", .n = 7, .d = 3, .l = 1, .packed = true},
    };
    static const char *const names[] = {"plain", "sm\xc3\xb6rg\xc3\xa5s \"x\",\\ \n",
                                        "latin-1: \xe9\xff", "\xee\xbe\x80 private"};
    double *x = recipe_rows(&recipes[which]);
    mercer_model *model = unsealed_model(&recipes[which], x);
    mrc_free(x);
    if (which == 0 || which == 1) {
        assert_ok(mrc_copy_names(&model->column_names, (char *const *)names + (which == 0 ? 2 : 0),
                                 model->columns, &err));
        assert_ok(mrc_strdup(&model->command, "mercer fit a.csv -m \"kpca\" \xff", &err));
        assert_ok(mrc_strdup(&model->data_hash, "crc32:01234567", &err));
        model->seed = UINT64_MAX;
        model->total_variance = 0.1;
        model->reconstruction_error = 1e-300;
        model->novelty_threshold = 1 / 3.0;
        model->novelty_share = 0.05;
    }
    if (which == 1) {
        model->scale = (mrc_scale){.kind = MRC_SCALE_STANDARD, .d = 3};
        model->scale.shift = ref_rows(4, 3, 1, 1, 0);
        model->scale.factor = ref_rows(5, 3, 1, 1, 3);
        model->selected_count = 6;
        assert_ok(mrc_alloc(&model->selected, 6, sizeof(int64_t), &err));
        for (int i = 0; i < 6; i++)
            model->selected[i] = 5 - i;
    }
    if (which == 3) {
        model->prepare.image = MRC_IMAGE_PIXELS;
        model->prepare.size = (mrc_image_size){1, 1, 3};
        model->prepare.missing = MRC_MISSING_MEAN;
        model->prepare.means = ref_rows(7, 3, 1, 1, 0);
        model->prepare.means_count = 3;
    }
    if (which == 2) { /* d = 2: one column of the file, two values */
        static const char *const values[] = {"blau \xff", "r\xc3\xb6t"};
        mercer_prepare *prepare = &model->prepare;
        prepare->sources = 1;
        prepare->missing = MRC_MISSING_DROP;
        assert_ok(mrc_alloc(&prepare->encodings, 1, sizeof *prepare->encodings, &err));
        assert_ok(mrc_copy_names(&prepare->encodings[0].values, (char *const *)values, 2, &err));
        prepare->encodings[0].count = 2;
        assert_ok(mrc_copy_names(&prepare->source_names, (char *const *)names, 1, &err));
    }
    if (which == 4) { /* kernel values instead of rows */
        mrc_free(model->z);
        model->z = NULL;
        model->kernel = kernel_of("precomputed", 1);
        model->columns = model->rows;
        model->orthonormal = false;
    }
    assert_ok(mrc_model_seal(model, ctx, &err));
    return model;
}

static void assert_same_array(const void *a, const void *b, int64_t count)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_memory_equal(a, b, (size_t)count * 8);
}

static void assert_same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_real(double a, double b)
{
    assert_true((isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0);
}

static void assert_same_model(const mercer_model *a, const mercer_model *b)
{
    assert_same_text(a->method, b->method);
    assert_same_text(a->version, b->version);
    assert_same_text(a->command, b->command);
    assert_same_text(a->data_hash, b->data_hash);
    assert_string_equal(a->kernel_text, b->kernel_text);
    assert_ptr_equal(a->kernel.part[0].def, b->kernel.part[0].def);
    assert_same_real(a->kernel.part[0].gamma, b->kernel.part[0].gamma);
    assert_same_real(a->kernel.part[0].sigma, b->kernel.part[0].sigma);
    assert_same_real(a->kernel.part[0].coef0, b->kernel.part[0].coef0);
    assert_int_equal(a->kernel.part[0].degree, b->kernel.part[0].degree);
    assert_int_equal(a->center, b->center);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->components, b->components);
    assert_int_equal(a->points, b->points);
    assert_int_equal(a->basis_points, b->basis_points);
    assert_int_equal(a->orthonormal, b->orthonormal);
    assert_int_equal(a->selected_count, b->selected_count);
    assert_true(a->seed == b->seed);
    assert_same_real(a->mean_norm2, b->mean_norm2);
    assert_same_real(a->total_variance, b->total_variance);
    assert_same_real(a->reconstruction_error, b->reconstruction_error);
    assert_same_real(a->novelty_threshold, b->novelty_threshold);
    assert_same_real(a->novelty_share, b->novelty_share);
    assert_same_array(a->z, b->z, a->points * a->columns);
    assert_int_equal(a->z_dtype, b->z_dtype);
    assert_int_equal(a->z_packed == NULL, b->z_packed == NULL);
    if (a->z_packed)
        assert_memory_equal(a->z_packed, b->z_packed,
                            (size_t)(a->points * a->columns) * mrc_dtype_bytes(a->z_dtype));
    assert_same_array(a->coefficients, b->coefficients, a->basis_points * a->components);
    assert_same_array(a->offsets, b->offsets, a->components);
    assert_same_array(a->mean, b->mean, a->points);
    assert_same_array(a->weights, b->weights, a->columns * a->components);
    assert_same_array(a->input_center, b->input_center, a->columns);
    assert_same_array(a->spectrum, b->spectrum, a->components);
    assert_same_array(a->selected, b->selected, a->selected_count);
    assert_int_equal(a->prepare.image, b->prepare.image);
    assert_memory_equal(&a->prepare.size, &b->prepare.size, sizeof a->prepare.size);
    assert_int_equal(a->prepare.missing, b->prepare.missing);
    assert_int_equal(a->prepare.sources, b->prepare.sources);
    for (int64_t s = 0; s < a->prepare.sources; s++) {
        const mrc_encoding *left = &a->prepare.encodings[s], *right = &b->prepare.encodings[s];
        assert_string_equal(a->prepare.source_names[s], b->prepare.source_names[s]);
        assert_int_equal(left->count, right->count);
        for (int64_t k = 0; k < left->count; k++)
            assert_string_equal(left->values[k], right->values[k]);
    }
    assert_same_array(a->prepare.means, b->prepare.means, a->prepare.means_count);
    assert_int_equal(a->scale.kind, b->scale.kind);
    assert_same_array(a->scale.shift, b->scale.shift, a->columns);
    assert_same_array(a->scale.factor, b->scale.factor, a->columns);
    for (int64_t j = 0; j < a->columns; j++)
        assert_same_text(mercer_model_column_name(a, j), mercer_model_column_name(b, j));
}

/* The bytes of a saved model; test_free() them. */
static char *saved(const mercer_model *model, size_t *length)
{
    const char *path = in_scratch("saved.mercer");
    assert_ok(mercer_model_save(ctx, model, path, &err));
    return get_bytes(path, length);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        mercer_model *model = shape(i), *back = NULL, *again = NULL;
        size_t length, second;
        char *bytes = saved(model, &length), *repeated;
        assert_ok(mercer_model_load(ctx, in_scratch("saved.mercer"), &back, &err));
        assert_same_model(model, back);
        assert_ok(mercer_model_from_bytes(ctx, bytes, length, &again, &err));
        assert_same_model(model, again);
        repeated = saved(again, &second);
        assert_int_equal(length, second);
        assert_memory_equal(bytes, repeated, length);
        test_free(bytes);
        test_free(repeated);
        mercer_model_free(model);
        mercer_model_free(back);
        mercer_model_free(again);
    }
}

static void test_loaded_model_gives_the_same_features(void **state)
{
    struct recipe recipe = {
        .kernel = "rbf:sigma=3", .center = MRC_CENTER_EXACT, .n = 90, .d = 20, .l = 6, .offset = 5};
    double *x = ref_rows(3, 33, 20, 1, 5), a[198], b[198], errors_a[33], errors_b[33];
    (void)state;
    mercer_model *model = make_model(&recipe), *back = NULL;
    mercer_rows *rows = view(x, 33, 20);
    size_t length;
    test_free(saved(model, &length));
    assert_ok(mercer_model_load(ctx, in_scratch("saved.mercer"), &back, &err));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, a, errors_a, &err));
    assert_ok(mercer_model_transform(ctx, back, rows, NULL, b, errors_b, &err));
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(errors_a, errors_b, sizeof errors_a);
    mercer_rows_free(rows);
    mercer_model_free(model);
    mercer_model_free(back);
    mrc_free(x);
}

/* Truncating copies a model part by part; one that is forgotten is missing in the file. */
static void test_truncating_nothing_keeps_every_byte(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        mercer_model *model = shape(i), *same = NULL;
        size_t length, second;
        model->reconstruction_error = model->orthonormal ? 0.5 : NAN;
        assert_ok(mercer_model_truncate(ctx, model, model->components, &same, &err));
        char *before = saved(model, &length), *after = saved(same, &second);
        assert_int_equal(length, second);
        assert_memory_equal(before, after, length);
        test_free(before);
        test_free(after);
        mercer_model_free(same);
        mercer_model_free(model);
    }
}

static void test_header_layout(void **state)
{
    mercer_model *model = shape(0);
    size_t length;
    uint64_t header;
    char *bytes = saved(model, &length);
    (void)state;
    memcpy(&header, bytes, sizeof header);
    assert_int_equal((8 + header) % 8, 0);
    assert_int_equal(bytes[8], '{');
    assert_true(8 + header < length);
    assert_non_null(strstr(bytes + 8, "\"format\":\"mercer-model\",\"format_version\":\"1\""));
    assert_non_null(strstr(bytes + 8, "\"kernel\":\"rbf:sigma=1.7\""));
    test_free(bytes);
    mercer_model_free(model);
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        mercer_model *model = shape(i), *out;
        size_t length;
        char *bytes = saved(model, &length);
        for (size_t cut = 0; cut < length; cut++) {
            char *exact = test_malloc(cut ? cut : 1); /* so that reading past it is caught */
            memcpy(exact, bytes, cut);
            out = model;
            assert_fails(mercer_model_from_bytes(ctx, exact, cut, &out, &err), MERCER_ERR_FORMAT,
                         cut < 8 ? "is not a Mercer model" : "is truncated");
            assert_null(out);
            test_free(exact);
        }
        assert_fails(mercer_model_from_bytes(ctx, bytes, length + 1, &out, &err), MERCER_ERR_FORMAT,
                     "bytes after its end");
        test_free(bytes);
        mercer_model_free(model);
    }
}

static void test_every_flipped_bit_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        mercer_model *model = shape(i), *out = NULL;
        size_t length;
        char *bytes = saved(model, &length);
        for (size_t bit = 0; bit < 8 * length; bit++) {
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            mercer_status rc = mercer_model_from_bytes(ctx, bytes, length, &out, &err);
            if (rc != MERCER_ERR_FORMAT)
                print_error("bit %zu of %zu: status %d\n", bit, 8 * length, (int)rc);
            assert_int_equal(rc, MERCER_ERR_FORMAT);
            assert_null(out);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        }
        test_free(bytes);
        mercer_model_free(model);
    }
}

/* A safetensors file: header text and as many zero bytes. */
static void refuse_header(const char *text, size_t zeroes, const char *words)
{
    static char bytes[1 << 16];
    mercer_model *out = NULL;
    uint64_t length = strlen(text);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + 8, text, length);
    assert_fails(mercer_model_from_bytes(ctx, bytes, 8 + length + zeroes, &out, &err),
                 MERCER_ERR_FORMAT, words);
    assert_null(out);
}

#define META(version, oldest)                                                                      \
    "{\"__metadata__\":{\"format\":\"mercer-model\",\"format_version\":\"" version                 \
    "\",\"oldest_readable_version\":\"" oldest "\",\"checksum\":\"crc32:00000000\"}"

static void test_foreign_files(void **state)
{
    (void)state;
    refuse_header("{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8,
                  "bytes: is not a Mercer model (a safetensors file without Mercer's metadata)");
    refuse_header("{\"__metadata__\":{\"format\":\"pt\"}}", 0, "without Mercer's metadata");
    refuse_header("[1, 2]", 0, "is not a Mercer model (it has no safetensors header)");
    refuse_header("{\"a\":", 0, "is damaged (its header is not valid JSON");
    refuse_header("{\"a\":1,\"a\":2}", 0, "not valid JSON");
    refuse_header(META("4", "3") "}", 0,
                  "bytes: was written by a newer Mercer (format 4, this reads up to 2)");
    refuse_header(META("1", "1") "}", 0, "no metadata rows");
    refuse_header(META("0", "0") "}", 0, "format 0");
    refuse_header(META("x", "1") "}", 0, "not a usable integer: format_version");
    refuse_header(
        META("1", "1") ",\"z\":{\"data_offsets\":[0,16]},\"y\":{\"data_offsets\":[8,24]}}", 24,
        "gap or overlap before tensor y");
    refuse_header(META("1", "1") ",\"z\":{\"data_offsets\":[8,16]}}", 16, "gap or overlap");
    refuse_header(META("1", "1") ",\"z\":{\"data_offsets\":[8,0]}}", 16,
                  "data_offsets for tensor z");
    refuse_header(META("1", "1") ",\"z\":{\"data_offsets\":[0,9223372036854775807]}}", 16,
                  "data_offsets for tensor z");
    refuse_header(META("1", "1") ",\"z\":[]}", 0, "data_offsets for tensor z");
    refuse_header(META("1", "1") ",\"z\":{\"data_offsets\":[0,1000000000000]}}", 16,
                  "is truncated (1000000000");
}

static void test_files_of_another_kind(void **state)
{
    mercer_model *out = NULL;
    const char *csv = put_text("DATA.csv", "a,b\n1,2\n3,4\n5,6\n");
    (void)state;
    assert_fails(mercer_model_load(ctx, csv, &out, &err), MERCER_ERR_FORMAT,
                 "DATA.csv: is not a Mercer model (it has no safetensors header)");
    assert_fails(mercer_model_load(ctx, put_text("empty", ""), &out, &err), MERCER_ERR_FORMAT,
                 "is not a Mercer model (it is empty)");
    assert_fails(mercer_model_load(ctx, in_scratch("none"), &out, &err), MERCER_ERR_IO,
                 "No such file");
    assert_fails(mercer_model_load(ctx, scratch, &out, &err), MERCER_ERR_IO, "directory");
    assert_null(out);
}

/* Replace text in a saved model by text of the same length and mend the checksum. */
static void replace(char *bytes, size_t length, const char *old, const char *new)
{
    static const char key[] = "\"checksum\":\"crc32:";
    char *at = memmem(bytes, length, old, strlen(old));
    char *digits = memmem(bytes, length, key, sizeof key - 1), text[9];
    assert_non_null(at);
    assert_int_equal(strlen(old), strlen(new));
    memcpy(at, new, strlen(new));
    digits += sizeof key - 1;
    memset(digits, '0', 8);
    snprintf(text, sizeof text, "%08lx", crc32(0, (const Bytef *)bytes, (uInt)length));
    memcpy(digits, text, 8);
}

/* Damage that has a right checksum: made by hand, or by a bad program. */
static void test_wrong_contents_are_refused(void **state)
{
    static const struct {
        const char *old, *new, *words;
    } changes[] = {
        {"\"kernel\":\"rbf:sigma=1.7\"", "\"kernel\":\"rbf:sigma=1.x\"", "1.x"},
        {"\"kernel\":\"rbf:sigma=1.7\"", "\"kernel\":\"rbf\",\"a\":\"aaa\"", "not a number: rbf"},
        {"\"kernel\":\"rbf:sigma=1.7\"", "\"kernel\":\"abf:sigma=1.7\"", "unknown kernel"},
        {"\"kernel\":\"rbf:sigma=1.7\"", "\"kernel\":\"precomputed\"  ", "is damaged"},
        {"\"center\":\"exact\"", "\"center\":\"exalt\"", "unknown centring exalt"},
        {"\"center\":\"exact\"", "\"center\":\"none\" ", "with a mean"},
        {"\"scale\":\"none\"", "\"scale\":\"nine\"", "unknown scaling nine"},
        {"\"scale\":\"none\"", "\"scale\":\"norm\"", "scaling"},
        {"\"columns\":\"2\"", "\"columns\":\"3\"", "is damaged"},
        {"\"components\":\"2\"", "\"components\":\"9\"", "is damaged"},
        {"\"components\":\"2\"", "\"components\":\"-\"", "not a usable integer: components"},
        {"\"orthonormal\":\"true\"", "\"orthonormal\":\"tree\"", "neither true nor false"},
        {"\"total_variance\":\"0.1\"", "\"total_variance\":\"0,1\"",
         "not a number: total_variance"},
        {"\"novelty_share\":\"0.05\"", "\"novelty_share\":\"1.05\"", "novelty_share"},
        {"\"novelty_share\":\"0.05\"", "\"novelty_shore\":\"0.05\"", "no metadata novelty_share"},
        {"\"novelty_threshold\":\"0.33", "\"novelty_threshold\":\"x.33", "novelty_threshold"},
        {"\"dtype\":\"F64\",\"shape\":[9,2]", "\"dtype\":\"F32\",\"shape\":[9,2]", "tensor z"},
        {"\"dtype\":\"F64\",\"shape\":[9,2]", "\"dtype\":\"F64\",\"shape\":[2,9]", "tensor z"},
        {"\"shape\":[5,2]", "\"shape\":[4,2]", "tensor coefficients"},
        {"\"coefficients\":{", "\"coefficient_\":{", "missing"},
        {"\"method\":\"kpca\"", "\"nethod\":\"kpca\"", "no metadata method"},
        {"\"column_names\":\"[", "\"column_names\":\"{",
         "not the right number of names in column_names"},
    };
    mercer_model *model = shape(0), *out = NULL;
    size_t length;
    char *bytes = saved(model, &length), *copy = test_malloc(length);
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        memcpy(copy, bytes, length);
        replace(copy, length, changes[i].old, changes[i].new);
        assert_fails(mercer_model_from_bytes(ctx, copy, length, &out, &err), MERCER_ERR_FORMAT,
                     changes[i].words);
    }
    /* A number that is none, in the bytes of the last tensor. */
    const double nan = NAN;
    memcpy(copy, bytes, length);
    memcpy(copy + length - 8, &nan, sizeof nan);
    replace(copy, length, "kpca", "kpca");
    assert_fails(mercer_model_from_bytes(ctx, copy, length, &out, &err), MERCER_ERR_FORMAT,
                 "not finite");
    /* What a later format adds is passed over. */
    memcpy(copy, bytes, length);
    replace(copy, length, "\"format_version\":\"1\"", "\"format_version\":\"7\"");
    replace(copy, length, "\"spectrum\":{", "\"specials\":{");
    assert_ok(mercer_model_from_bytes(ctx, copy, length, &out, &err));
    assert_null(out->spectrum);
    mercer_model_free(out);
    test_free(bytes);
    test_free(copy);
    mercer_model_free(model);
}

/* A head and a streaming state have their numbers and their arrays, or neither. */
static void test_half_a_group_is_refused(void **state)
{
    static const struct recipe recipe = {.kernel = "rbf:gamma=0.1", .n = 6, .d = 2, .l = 1};
    static const char *const classes[] = {"a", "b"};
    static const struct {
        const char *old, *new, *words;
    } changes[] = {
        {"\"head\":\"", "\"heat\":\"", "no metadata for tensor head.errors"},
        {"\"state_rank\":", "\"state_bank\":", "no metadata for tensor state.factor"},
        {"\"state.factor\":", "\"state.fact__\":", "no tensor for metadata state_rank"},
        {"\"state.basis\":", "\"state.bas__\":", "parts of the streaming state are missing"},
    };
    double *x = recipe_rows(&recipe);
    mercer_model *model = unsealed_model(&recipe, x), *out = NULL;
    size_t length;
    (void)state;
    mrc_free(x);
    assert_ok(mrc_strdup(&model->head.spec, "centre", &err));
    assert_ok(mrc_copy_names(&model->head.names, (char *const *)classes, 2, &err));
    model->head.kind = MERCER_TARGET_CLASSES;
    model->head.outputs = 2;
    model->head.errors = ref_alloc(1, 1);
    model->state.rank = model->state.blocks = 1;
    model->state.weight = model->state.largest = 1;
    model->state.factor = ref_alloc(6, 6);
    for (int i = 0; i < 6; i++)
        model->state.factor[i * 6 + i] = 1;
    model->state.basis = ref_alloc(6, 1);
    model->state.singular = ref_alloc(1, 1);
    model->state.mean = ref_alloc(6, 1);
    assert_ok(mrc_model_seal(model, ctx, &err));
    char *bytes = saved(model, &length), *copy = test_malloc(length);
    assert_ok(mercer_model_from_bytes(ctx, bytes, length, &out, &err));
    mercer_model_free(out);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        memcpy(copy, bytes, length);
        replace(copy, length, changes[i].old, changes[i].new);
        assert_fails(mercer_model_from_bytes(ctx, copy, length, &out, &err), MERCER_ERR_FORMAT,
                     changes[i].words);
    }
    test_free(bytes);
    test_free(copy);
    mercer_model_free(model);
}

/* Floats in the file, which only a reader of format 2 knows; theirs are checked like doubles. */
static void test_packed_points(void **state)
{
    mercer_model *model = shape(PACKED), *out = NULL;
    size_t length;
    char *bytes = saved(model, &length), *copy = test_malloc(length);
    const float inf = INFINITY;
    (void)state;
    assert_non_null(strstr(bytes + 8, "\"oldest_readable_version\":\"2\""));
    assert_non_null(strstr(bytes + 8, "\"dtype\":\"F32\",\"shape\":[7,3]"));
    memcpy(copy, bytes, length);
    memcpy(copy + length - sizeof inf, &inf, sizeof inf); /* the points come last */
    replace(copy, length, "kpca", "kpca");
    assert_fails(mercer_model_from_bytes(ctx, copy, length, &out, &err), MERCER_ERR_FORMAT,
                 "z holds a value that is not finite");
    memcpy(copy, bytes, length);
    replace(copy, length, "\"dtype\":\"F32\"", "\"dtype\":\"F16\"");
    assert_fails(mercer_model_from_bytes(ctx, copy, length, &out, &err), MERCER_ERR_FORMAT,
                 "tensor z");
    test_free(bytes);
    test_free(copy);
    mercer_model_free(model);
}

static void test_reading_from_a_pipe(void **state)
{
    mercer_model *model = shape(1), *out = NULL;
    size_t length;
    char *bytes = saved(model, &length), path[64];
    (void)state;
    for (int less = -1; less <= 1; less++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_true(length + 1 < 65536); /* fits into the pipe */
        assert_int_equal(write(ends[1], bytes, length - (size_t)less), length - (size_t)less);
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        mercer_status rc = mercer_model_load(ctx, path, &out, &err);
        if (less == 0) {
            assert_ok(rc);
            assert_same_model(model, out);
            mercer_model_free(out);
        } else {
            assert_fails(rc, MERCER_ERR_FORMAT, less > 0 ? "is truncated" : "after its end");
        }
        close(ends[0]);
    }
    test_free(bytes);
    mercer_model_free(model);
}

static void test_saving_fails_cleanly(void **state)
{
    mercer_model *model = shape(0);
    (void)state;
    assert_int_equal(mercer_model_save(ctx, model, in_scratch("none/x"), &err), MERCER_ERR_IO);
    assert_int_equal(count_scratch(0), 0);
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(mercer_model_save(ctx, model, "/dev/full", &err), MERCER_ERR_IO);
    mercer_model_free(model);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        mercer_model *model = shape(i), *out = NULL;
        const char *path = in_scratch("alloc.mercer");
        mercer_status rc = MERCER_ERR_MEMORY;
        int64_t live = mrc_alloc_live();
        for (int64_t k = 0; rc != MERCER_OK; k++) {
            mrc_alloc_fail_after(k);
            rc = mercer_model_save(ctx, model, path, &err);
            mrc_alloc_fail_after(-1);
            assert_int_equal(mrc_alloc_live(), live);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(access(path, F_OK), rc == MERCER_OK ? 0 : -1);
        }
        rc = MERCER_ERR_MEMORY;
        for (int64_t k = 0; rc != MERCER_OK; k++) {
            mrc_alloc_fail_after(k);
            rc = mercer_model_load(ctx, path, &out, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(out != NULL, rc == MERCER_OK);
            mercer_model_free(out);
            assert_int_equal(mrc_alloc_live(), live);
        }
        unlink(path);
        mercer_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_loaded_model_gives_the_same_features),
        TEST(test_truncating_nothing_keeps_every_byte),
        TEST(test_header_layout),
        TEST(test_every_truncation_is_refused),
        TEST(test_every_flipped_bit_is_refused),
        TEST(test_foreign_files),
        TEST(test_files_of_another_kind),
        TEST(test_wrong_contents_are_refused),
        TEST(test_half_a_group_is_refused),
        TEST(test_packed_points),
        TEST(test_reading_from_a_pipe),
        TEST(test_saving_fails_cleanly),
        TEST(test_failing_allocations),
    };
    return RUN_TESTS(tests);
}
