/* SPDX-License-Identifier: BSD-3-Clause */
/* Models that every later version must read: compat_models write FOLDER | check FOLDER FORMAT
 *
 * `write` makes one small model of every kind, with rows and their features as raw doubles; `check`
 * loads those of a format and transforms the rows again. Of streams, models with a state (format
 * 1), there are also the features after they have learnt from the rows. tests/compat/format_1 and
 * format_2 were written once and stay. */
#include "model_support.h"

#include <mercer/stream.h>

static const struct {
    const char *name;
    struct recipe recipe;
    mrc_scale_kind scale;
    int format;
} samples[] = {
    {"rbf-exact",
     {.kernel = "rbf:sigma=1.7", .center = MRC_CENTER_EXACT, .n = 9, .d = 2, .l = 2, .basis = 5},
     MRC_SCALE_NONE,
     1},
    {"poly-span",
     {.kernel = "poly:gamma=0.1,coef0=0.7,degree=3",
      .center = MRC_CENTER_SPAN,
      .n = 9,
      .d = 3,
      .l = 2,
      .basis = 6},
     MRC_SCALE_STANDARD,
     1},
    {"sigmoid-none",
     {.kernel = "sigmoid:gamma=0.3,coef0=0.1", .n = 6, .d = 2, .l = 1},
     MRC_SCALE_NONE,
     1},
    {"cosine-none", {.kernel = "cosine", .n = 6, .d = 3, .l = 2}, MRC_SCALE_NONE, 1},
    {"rbf-packed",
     {.kernel = "rbf:sigma=1.3",
      .center = MRC_CENTER_EXACT,
      .n = 7,
      .d = 3,
      .l = 2,
      .packed = true},
     MRC_SCALE_NONE,
     2},
    {"linear-collapsed",
     {.kernel = "linear", .center = MRC_CENTER_EXACT, .n = 8, .d = 4, .l = 2, .collapse = true},
     MRC_SCALE_MINMAX,
     1},
};
enum { SAMPLES = sizeof samples / sizeof *samples, ROWS = 5 };

/* Streams of LEARNT rows of two columns, one of which waits for its block. The early one is from
 * before kernel values were counted, and is not written any more. */
static const struct {
    const char *name, *method;
} streams[] = {
    {"stream-subset", "ikpca:components=2,rank=4,library=6,first=6,block=4"},
    {"stream-window", "ikpca:components=2,rank=4,library=6,first=6,block=4,window=8"},
    {"stream-kha", "kha:components=2,library=5,first=6,block=4"},
    {"stream-early", NULL},
};
enum { STREAMS = sizeof streams / sizeof *streams, LEARNT = 11 };

static const char *const names[] = {"age", "h\xc3\xb6he", "latin \xe9", "x"};

static char path[512];

static const char *file(const char *folder, const char *name, const char *ending)
{
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    return path;
}

static void write_doubles(const char *to, const double *x, int64_t count)
{
    FILE *out = fopen(to, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(x, sizeof *x, (size_t)count, out), count);
    assert_int_equal(fclose(out), 0);
}

static void read_doubles(const char *from, double *x, int64_t count)
{
    FILE *in = fopen(from, "rb");
    assert_non_null(in);
    assert_int_equal(fread(x, sizeof *x, (size_t)count, in), count);
    fclose(in);
}

static void write_sample(const char *folder, int which)
{
    const struct recipe *recipe = &samples[which].recipe;
    double *x = recipe_rows(recipe), *fresh = ref_rows(77, ROWS, recipe->d, 1, 0), features[64];
    mercer_rows *train = view(x, recipe->n, recipe->d), *rows = view(fresh, ROWS, recipe->d);
    mrc_scale scale = {0};

    assert_ok(mrc_scale_fit(&scale, samples[which].scale, train, &err));
    mrc_scale_apply(&scale, x, recipe->n, recipe->d);
    mercer_model *model = unsealed_model(recipe, x);
    model->scale = scale;
    assert_ok(mrc_copy_names(&model->column_names, (char *const *)names, recipe->d, &err));
    assert_ok(mrc_strdup(&model->command, "compat_models write", &err));
    assert_ok(mrc_model_seal(model, ctx, &err));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
    assert_ok(mercer_model_save(ctx, model, file(folder, samples[which].name, "mercer"), &err));
    write_doubles(file(folder, samples[which].name, "rows"), fresh, ROWS * recipe->d);
    write_doubles(file(folder, samples[which].name, "features"), features,
                  ROWS * model->components);
    mercer_model_free(model);
    mercer_rows_free(train);
    mercer_rows_free(rows);
    mrc_free(x);
    mrc_free(fresh);
}

static char heard[512];

static void hear(void *host, const mercer_notice *given)
{
    (void)host;
    snprintf(heard, sizeof heard, "%s", given->text);
}

/* Old files do not say whether features are nested: their method does, wherever it is asked. */
static void check_nested(const mercer_model *model, bool expected)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model *first = NULL;
    mercer_model_get_info(model, &info);
    assert_int_equal(info.nested, expected);
    if (info.components < 2)
        return;
    heard[0] = 0;
    mercer_ctx_set_notice(ctx, hear, NULL);
    assert_ok(mercer_model_truncate(ctx, model, 1, &first, &err));
    mercer_ctx_set_notice(ctx, NULL, NULL);
    assert_int_equal(strstr(heard, "not those of a fit with 1") == NULL, expected);
    mercer_model_get_info(first, &info);
    assert_int_equal(info.nested, expected);
    mercer_model_free(first);
}

static void check_sample(const char *folder, int which)
{
    int64_t d = samples[which].recipe.d;
    double x[64], features[64], wanted[64];
    mercer_model *model = NULL;
    assert_ok(mercer_model_load(ctx, file(folder, samples[which].name, "mercer"), &model, &err));
    int64_t l = model->components;
    check_nested(model, true);
    read_doubles(file(folder, samples[which].name, "rows"), x, ROWS * d);
    read_doubles(file(folder, samples[which].name, "features"), wanted, ROWS * l);
    mercer_rows *rows = view(x, ROWS, d);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
    assert_true(ref_difference(features, wanted, ROWS * l) < 1e-12);
    mercer_rows_free(rows);
    mercer_model_free(model);
}

/* Features of rows by the model as it is, and after it has learnt from them. */
static void stream_features(const mercer_model *model, const mercer_rows *rows, double *features,
                            double *after)
{
    mercer_stream *stream = NULL;
    const mercer_model *later = NULL;
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
    assert_ok(mercer_stream_continue(ctx, model, &stream, &err));
    assert_ok(mercer_stream_push(ctx, stream, rows, &err));
    assert_ok(mercer_stream_flush(ctx, stream, &err));
    assert_ok(mercer_stream_model(ctx, stream, &later, NULL, &err));
    assert_int_equal(later->rows, LEARNT + ROWS);
    assert_ok(mercer_model_transform(ctx, later, rows, NULL, after, NULL, &err));
    mercer_stream_free(stream);
}

static void write_stream(const char *folder, int which)
{
    const char *name = streams[which].name;
    double *x = ref_rows(78, LEARNT, 2, 1, 0), *fresh = ref_rows(77, ROWS, 2, 1, 0);
    double features[2 * ROWS], after[2 * ROWS];
    mercer_rows *train = view(x, LEARNT, 2), *rows = view(fresh, ROWS, 2);
    mercer_stream *stream = NULL;
    const mercer_model *model = NULL;
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = streams[which].method;
    options.kernel = "rbf:sigma=1.5";
    options.scale = "standard";
    options.command = "compat_models write";
    assert_ok(mrc_copy_names(&train->names, (char *const *)names, 2, &err));
    assert_ok(mercer_stream_new(ctx, &options, &stream, &err));
    assert_ok(mercer_stream_push(ctx, stream, train, &err));
    assert_ok(mercer_stream_model(ctx, stream, &model, NULL, &err));
    assert_int_equal(model->state.pending, 1);
    stream_features(model, rows, features, after);
    assert_ok(mercer_model_save(ctx, model, file(folder, name, "mercer"), &err));
    write_doubles(file(folder, name, "rows"), fresh, ROWS * 2);
    write_doubles(file(folder, name, "features"), features, ROWS * 2);
    write_doubles(file(folder, name, "after"), after, ROWS * 2);
    mercer_stream_free(stream);
    mercer_rows_free(train);
    mercer_rows_free(rows);
    mrc_free(x);
    mrc_free(fresh);
}

static void check_stream(const char *folder, int which)
{
    const char *name = streams[which].name;
    double x[2 * ROWS], wanted[2 * ROWS], features[2 * ROWS], after[2 * ROWS];
    mercer_model *model = NULL;
    assert_ok(mercer_model_load(ctx, file(folder, name, "mercer"), &model, &err));
    read_doubles(file(folder, name, "rows"), x, ROWS * 2);
    mercer_rows *rows = view(x, ROWS, 2);
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    check_nested(model, strcmp(name, "stream-kha") != 0);
    assert_int_equal(info.stream_unfinished, streams[which].method != NULL); /* a row waits */
    assert_int_equal(info.stream_evaluations > 0, streams[which].method != NULL);
    stream_features(model, rows, features, after);
    read_doubles(file(folder, name, "features"), wanted, ROWS * 2);
    assert_true(ref_difference(features, wanted, ROWS * 2) < 1e-12);
    read_doubles(file(folder, name, "after"), wanted, ROWS * 2);
    assert_true(ref_difference(after, wanted, ROWS * 2) < 1e-9);
    mercer_rows_free(rows);
    mercer_model_free(model);
}

static const char *folder;
static int format;

static void test_check(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++)
        if (samples[i].format == format)
            check_sample(folder, i);
    for (int i = 0; i < STREAMS && format == 1; i++)
        check_stream(folder, i);
}

static void test_write(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++)
        write_sample(folder, i);
    for (int i = 0; i < STREAMS; i++)
        if (streams[i].method)
            write_stream(folder, i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest check[] = {TEST(test_check)}, write[] = {TEST(test_write)};
    if (argc != 3 && argc != 4)
        return 2;
    folder = argv[2];
    format = argc == 4 && strcmp(argv[3], "2") == 0 ? 2 : 1;
    return strcmp(argv[1], "write") == 0 ? RUN_TESTS(write) : RUN_TESTS(check);
}
