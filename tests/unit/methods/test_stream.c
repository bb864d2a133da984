/* SPDX-License-Identifier: BSD-3-Clause */
/* The streaming interface: rows however they come, models at any time, and going on from a file as
 * if nothing had happened. */
#include "support.h"

#include "stream_support.h"

#include "base/memory.h"
#include "model/model.h"

#include <stdio.h>
#include <unistd.h>

static const char *const methods[] = {
    "ikpca:components=3,first=20,block=15,library=20,rank=6",
    "ikpca:components=3,first=20,block=15,library=20,rank=6,compress=preimage",
    "ikpca:components=3,first=20,block=15,compress=none",
    "ikpca:components=3,first=20,block=15,library=20,forget=0.01",
    "ikpca:components=3,first=20,block=15,library=20,window=50",
    "kha:components=3,first=20,block=15,library=12,passes=3",
};
enum { METHODS = sizeof methods / sizeof *methods, N = 217 };

static char path[] = "/tmp/mercer-stream-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

/* The bytes of a model's file; the caller frees them. */
static char *bytes_of(mercer_ctx *ctx, const mercer_model *model, size_t *size)
{
    assert_ok(mercer_model_save(ctx, model, path, err));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void assert_same_model(mercer_ctx *ctx, const mercer_model *a, const mercer_model *b)
{
    size_t size_a, size_b;
    char *bytes_a = bytes_of(ctx, a, &size_a), *bytes_b = bytes_of(ctx, b, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
}

static mercer_stream *stream_of(mercer_ctx *ctx, const char *method, const char *scale)
{
    mercer_fit_options options = options_of(method, "rbf");
    mercer_stream *stream = NULL;
    options.scale = scale;
    mercer_ctx_set_seed(ctx, 1);
    assert_ok(mercer_stream_new(ctx, &options, &stream, err));
    return stream;
}

/* However rows come, and whether they come at once, the model is the same. */
static void test_stream_gives_the_same_model_for_any_pieces(void **state)
{
    static const int64_t pieces[] = {N, 1, 7, 15, 100};
    double *x = ring_rows(1, N);
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        mercer_ctx *ctx = new_ctx(1);
        mercer_fit_options options = options_of(methods[m], "rbf");
        mercer_rows *rows = view(ctx, x, N, 2);
        mercer_model *whole = NULL;
        options.scale = "standard";
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &whole, NULL, err));
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            assert_int_equal(mercer_ctx_set_threads(ctx, p % 2 ? 1 : 2, NULL), MERCER_OK);
            mercer_stream *stream = stream_of(ctx, methods[m], "standard");
            push_rows(ctx, stream, x, N, 2, pieces[p]);
            assert_ok(mercer_stream_flush(ctx, stream, err));
            assert_same_model(ctx, whole, model_of(ctx, stream));
            mercer_stream_free(stream);
        }
        mercer_model_free(whole);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
    }
    free(x);
}

/* Saved and loaded after any row, also with rows that wait, it goes on as if nothing had been. */
static void test_stream_goes_on_from_a_file_bit_for_bit(void **state)
{
    static const int64_t stops[] = {20, 21, 34, 35, 100, 216};
    double *x = ring_rows(1, N);
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        mercer_ctx *ctx = new_ctx(1);
        mercer_stream *through = stream_of(ctx, methods[m], "minmax");
        push_rows(ctx, through, x, N, 2, N);
        for (size_t s = 0; s < sizeof stops / sizeof *stops; s++) {
            mercer_stream *stream = stream_of(ctx, methods[m], "minmax"), *later = NULL;
            mercer_model *loaded = NULL;
            mercer_stream_info info = {.struct_size = sizeof info};
            push_rows(ctx, stream, x, stops[s], 2, N);
            assert_ok(mercer_model_save(ctx, model_of(ctx, stream), path, err));
            mercer_stream_free(stream);
            mercer_ctx_set_seed(ctx, 99); /* the state of ctx must not matter */
            assert_ok(mercer_model_load(ctx, path, &loaded, err));
            assert_ok(mercer_stream_continue(ctx, loaded, &later, err));
            mercer_stream_get_info(later, &info);
            assert_int_equal(info.rows + info.pending, stops[s]);
            assert_int_equal(info.pending, (stops[s] - 20) % 15);
            assert_int_equal(info.wanted, 15 - info.pending);
            push_rows(ctx, later, x + 2 * stops[s], N - stops[s], 2, 50);
            assert_same_model(ctx, model_of(ctx, through), model_of(ctx, later));
            mercer_stream_free(later);
            mercer_model_free(loaded);
        }
        mercer_stream_free(through);
        mercer_ctx_free(ctx);
    }
    free(x);
}

static void test_stream_of_sparse_rows(void **state)
{
    enum { D = 30 };
    static const char *const sparse_methods[] = {
        "ikpca:components=3,first=20,block=15,library=25",
        "ikpca:components=3,first=20,block=15,library=25,window=50"};
    double *x = normal_rows(5, N, D, 0, 1);
    (void)state;
    thin_out(6, x, N * D, 0.8);
    memset(x + 37 * D, 0, 3 * D * sizeof *x); /* rows without entries that wait */
    for (int m = 0; m < 2; m++) {
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *rows = sparse_copy(x, N, D), *first = NULL, *rest = NULL;
        mercer_model *whole = NULL, *loaded = NULL;
        mercer_fit_options options = options_of(sparse_methods[m], "cosine");
        mercer_ctx_set_seed(ctx, 1);
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &whole, NULL, err));
        mercer_model_info info = info_of(whole);
        assert_true(info.expansion_entries > 0);
        mercer_stream *stream = new_stream(ctx, sparse_methods[m], "cosine"), *later = NULL;
        assert_ok(mrc_rows_slice(rows, 0, 40, &first, err));
        assert_ok(mrc_rows_slice(rows, 40, N - 40, &rest, err));
        assert_ok(mercer_stream_push(ctx, stream, first, err));
        assert_ok(mercer_model_save(ctx, model_of(ctx, stream), path, err));
        assert_ok(mercer_model_load(ctx, path, &loaded, err));
        assert_ok(mercer_stream_continue(ctx, loaded, &later, err));
        assert_ok(mercer_stream_push(ctx, later, rest, err));
        assert_ok(mercer_stream_flush(ctx, later, err));
        assert_same_model(ctx, whole, model_of(ctx, later));
        /* Dense rows are taken, too, and are the same. */
        mercer_stream *dense = NULL;
        assert_ok(mercer_stream_continue(ctx, loaded, &dense, err));
        push_rows(ctx, dense, x + 40 * D, N - 40, D, N);
        assert_ok(mercer_stream_flush(ctx, dense, err));
        assert_same_model(ctx, whole, model_of(ctx, dense));
        mercer_stream_free(stream);
        mercer_stream_free(later);
        mercer_stream_free(dense);
        mercer_model_free(whole);
        mercer_model_free(loaded);
        mercer_rows_free(rows);
        mercer_rows_free(first);
        mercer_rows_free(rest);
        mercer_ctx_free(ctx);
    }
    free(x);
}

static void test_stream_matches_columns_by_name(void **state)
{
    static const char *const names[] = {"u", "v"}, *const turned[] = {"v", "more", "u"};
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 60), other[3 * 30];
    mercer_stream *a = new_stream(ctx, methods[0], "rbf:sigma=4");
    mercer_stream *b = new_stream(ctx, methods[0], "rbf:sigma=4");
    mercer_rows *first = view(ctx, x, 30, 2), *second = view(ctx, x + 60, 30, 2), *wide, *narrow;
    mercer_error why;
    (void)state;
    for (int i = 0; i < 30; i++) {
        other[3 * i] = x[60 + 2 * i + 1];
        other[3 * i + 1] = 1e6;
        other[3 * i + 2] = x[60 + 2 * i];
    }
    wide = view(ctx, other, 30, 3);
    narrow = view(ctx, x, 30, 1);
    assert_ok(mercer_rows_set_names(first, names, err));
    assert_ok(mercer_rows_set_names(second, names, err));
    assert_ok(mercer_rows_set_names(wide, turned, err));
    assert_ok(mercer_stream_push(ctx, a, first, err));
    assert_ok(mercer_stream_push(ctx, a, second, err));
    mercer_ctx_set_seed(ctx, 1);
    assert_ok(mercer_stream_push(ctx, b, first, err));
    assert_ok(mercer_stream_push(ctx, b, wide, err));
    assert_same_model(ctx, model_of(ctx, a), model_of(ctx, b));
    assert_int_equal(mercer_stream_push(ctx, a, narrow, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "1 column where 2"));
    assert_same_model(ctx, model_of(ctx, a), model_of(ctx, b)); /* nothing has changed */
    mercer_stream_free(a);
    mercer_stream_free(b);
    mercer_rows_free(first);
    mercer_rows_free(second);
    mercer_rows_free(wide);
    mercer_rows_free(narrow);
    free(x);
    mercer_ctx_free(ctx);
}

/* What the first block taught stays: later rows do not move scaling and sigma. */
static void test_stream_freezes_scaling_and_sigma(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 200);
    (void)state;
    for (int64_t i = 40; i < 400; i++)
        x[i] *= 100;
    mercer_stream *stream = stream_of(ctx, methods[0], "standard");
    char kernel[64];
    push_rows(ctx, stream, x, 20, 2, 20);
    snprintf(kernel, sizeof kernel, "%s", info_of(model_of(ctx, stream)).kernel);
    double shift = model_of(ctx, stream)->scale.shift[0];
    push_rows(ctx, stream, x + 40, 180, 2, 20);
    assert_string_equal(info_of(model_of(ctx, stream)).kernel, kernel);
    assert_true(model_of(ctx, stream)->scale.shift[0] == shift);
    mercer_stream_free(stream);
    free(x);
    mercer_ctx_free(ctx);
}

static void test_stream_refuses_what_it_cannot_do(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 60);
    mercer_stream *stream = NULL;
    mercer_error why;
    (void)state;
    mercer_fit_options options = options_of("kpca", "rbf");
    assert_int_equal(mercer_stream_new(ctx, &options, &stream, &why), MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "kpca does not learn from a stream"));
    options.method = "ikpca";
    options.novelty = 0.1;
    assert_int_equal(mercer_stream_new(ctx, &options, &stream, &why), MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "novelty"));
    assert_null(stream);

    const mercer_model *none = NULL;
    stream = new_stream(ctx, methods[0], "rbf");
    push_rows(ctx, stream, x, 5, 2, 5);
    assert_int_equal(mercer_stream_model(ctx, stream, &none, NULL, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "waits for 15 rows"));
    assert_null(none);
    mercer_stream_free(stream);

    /* One row has no direction about its mean; the second one gives the first. */
    stream = new_stream(ctx, "ikpca:first=1,block=1", "rbf:sigma=4");
    push_rows(ctx, stream, x, 1, 2, 1);
    assert_int_equal(mercer_stream_model(ctx, stream, &none, NULL, &why), MERCER_ERR_DATA);
    push_rows(ctx, stream, x + 2, 1, 2, 1);
    assert_int_equal(info_of(model_of(ctx, stream)).components, 1);
    mercer_stream_free(stream);

    mercer_model *batch = fit_model(ctx, "kpca", "rbf", NULL, x, 60, 2), *shorter = NULL;
    assert_int_equal(mercer_stream_continue(ctx, batch, &stream, &why), MERCER_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "kpca"));
    mercer_model_free(batch);
    batch = fit_model(ctx, methods[0], "rbf", NULL, x, 60, 2);
    assert_ok(mercer_model_truncate(ctx, batch, 2, &shorter, err)); /* it has directions no more */
    assert_int_equal(mercer_stream_continue(ctx, shorter, &stream, &why), MERCER_ERR_UNSUPPORTED);
    mercer_model_free(batch);
    mercer_model_free(shorter);
    free(x);
    mercer_ctx_free(ctx);
}

/* State that the method does not have: a file may say anything. */
static void test_stream_refuses_state_that_does_not_fit(void **state)
{
    static const char *const others[] = {"ikpca:components=3,first=20,block=2",
                                         "kha:components=1,first=20,block=15"};
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 60);
    (void)state;
    for (int i = 0; i < 2; i++) {
        mercer_stream *stream = new_stream(ctx, methods[0], "rbf:sigma=4"), *later = NULL;
        mercer_model *loaded = NULL;
        mercer_error why = {0};
        push_rows(ctx, stream, x, 30, 2, 30); /* of which ten wait */
        assert_ok(mercer_model_save(ctx, model_of(ctx, stream), path, err));
        assert_ok(mercer_model_load(ctx, path, &loaded, err));
        mrc_free(loaded->method);
        assert_ok(mrc_strdup(&loaded->method, others[i], err));
        mercer_status rc = mercer_stream_continue(ctx, loaded, &later, &why);
        assert_int_equal(rc, i == 0 ? MERCER_ERR_FORMAT : MERCER_OK);
        if (later)
            assert_int_equal(mercer_stream_flush(ctx, later, &why), MERCER_ERR_FORMAT);
        assert_non_null(strstr(why.text, i == 0 ? "10 of them wait" : "directions"));
        mercer_stream_free(stream);
        mercer_stream_free(later);
        mercer_model_free(loaded);
    }
    free(x);
    mercer_ctx_free(ctx);
}

/* After an error the stream is as it was after the last block: going on gives the same model. */
static void test_stream_survives_every_failing_allocation(void **state)
{
    double *x = ring_rows(1, 80);
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        mercer_ctx *ctx = new_ctx(1);
        int64_t alive = mrc_alloc_live();
        mercer_stream *clean = stream_of(ctx, methods[m], "none");
        push_rows(ctx, clean, x, 80, 2, 80);
        mercer_stream *stream = stream_of(ctx, methods[m], "none");
        push_rows(ctx, stream, x, 70, 2, 70); /* some of which wait */
        mercer_rows *rows = view(ctx, x + 2 * 70, 10, 2);
        mercer_status rc;
        int64_t after = 0;
        do {
            mrc_alloc_fail_after(after++);
            rc = mercer_stream_push(ctx, stream, rows, NULL);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        } while (rc != MERCER_OK);
        assert_true(after > 20);
        assert_same_model(ctx, model_of(ctx, clean), model_of(ctx, stream));
        mercer_rows_free(rows);
        mercer_stream_free(stream);
        mercer_stream_free(clean);
        assert_int_equal(mrc_alloc_live(), alive);
        mercer_ctx_free(ctx);
    }
    free(x);
}

/* An input that was interrupted is pushed again from its start. */
static void test_stream_resumes_an_input(void **state)
{
    double *x = ring_rows(1, N), *other = ring_rows(2, N);
    mercer_stream_info info = {.struct_size = sizeof info};
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *all = sparse ? sparse_copy(x, N, 2) : view(ctx, x, N, 2);
        mercer_rows *wrong = sparse ? sparse_copy(other, N, 2) : view(ctx, other, N, 2), *first;
        mercer_stream *through = new_stream(ctx, methods[0], "rbf:sigma=4"), *later = NULL;
        assert_ok(mercer_stream_push(ctx, through, all, err));
        mercer_stream *stream = new_stream(ctx, methods[0], "rbf:sigma=4");
        assert_ok(mrc_rows_slice(all, 0, 90, &first, err));
        assert_ok(mercer_stream_push(ctx, stream, first, err));
        for (int good = 1; good >= 0; good--) {
            mercer_error why;
            assert_ok(mercer_stream_continue(ctx, model_of(ctx, stream), &later, err));
            mercer_stream_resume_input(later);
            mercer_status rc = mercer_stream_push(ctx, later, good ? all : wrong, &why);
            assert_int_equal(rc, good ? MERCER_OK : MERCER_ERR_DATA);
            mercer_stream_get_info(later, &info);
            assert_int_equal(info.input_differs, !good);
            mercer_stream_resume_input(later);
            mercer_stream_get_info(later, &info);
            assert_int_equal(info.input_differs, 0);
            if (good)
                assert_same_model(ctx, model_of(ctx, through), model_of(ctx, later));
            else
                assert_non_null(strstr(why.text, "the first 90 rows are not those"));
            mercer_stream_free(later);
            /* Fewer than there were cannot be the same. */
            assert_ok(mercer_stream_continue(ctx, model_of(ctx, stream), &later, err));
            mercer_stream_resume_input(later);
            push_rows(ctx, later, x, 80, 2, 80);
            assert_int_equal(mercer_stream_flush(ctx, later, &why), MERCER_ERR_DATA);
            assert_non_null(strstr(why.text, "only 80"));
            mercer_stream_get_info(later, &info);
            assert_int_equal(info.input_differs, 0);
            mercer_stream_free(later);
        }
        mercer_stream_free(stream);
        mercer_stream_free(through);
        mercer_rows_free(all);
        mercer_rows_free(wrong);
        mercer_rows_free(first);
        mercer_ctx_free(ctx);
    }
    free(x);
    free(other);
}

static void test_stream_counts_the_rows_of_an_input(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 80);
    mercer_stream *stream = new_stream(ctx, methods[0], "rbf:sigma=4"), *later = NULL;
    mercer_stream_info info = {.struct_size = sizeof info};
    (void)state;
    push_rows(ctx, stream, x, 50, 2, 50);
    mercer_stream_begin_input(stream);
    push_rows(ctx, stream, x + 100, 30, 2, 30);
    assert_ok(mercer_stream_continue(ctx, model_of(ctx, stream), &later, err));
    mercer_stream_get_info(later, &info);
    assert_int_equal(info.rows, 80);
    assert_int_equal(info.input_rows, 30);
    assert_int_equal(info.blocks, 5);
    assert_int_equal(info.input_finished, 0);
    assert_ok(mercer_stream_flush(ctx, stream, err));
    mercer_stream_free(later);
    assert_ok(mercer_stream_continue(ctx, model_of(ctx, stream), &later, err));
    mercer_stream_get_info(later, &info);
    assert_int_equal(info.input_finished, 1);
    push_rows(ctx, later, x, 1, 2, 1);
    mercer_stream_get_info(later, &info);
    assert_int_equal(info.input_finished, 0);
    mercer_stream_free(stream);
    mercer_stream_free(later);
    free(x);
    mercer_ctx_free(ctx);
}

/* Values of n rows with one another, in strips of 64 rows up to the diagonal. */
static int64_t triangle(int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i += 64) {
        int64_t rows = n - i < 64 ? n - i : 64;
        sum += rows * (i + rows);
    }
    return sum;
}

/* Kernel values are counted: a block's with the library and with itself, and every 256th block
 * those of the library; landmarks do without the second. */
static void test_stream_counts_kernel_values(void **state)
{
    enum { ROWS = 310, FIRST = 40 };
    static const struct {
        const char *method;
        int64_t block, window;
        bool landmarks;
    } cases[] = {
        {"ikpca:components=4,library=20,first=40,block=30", 30, 0, false},
        {"ikpca:components=4,library=20,first=40,block=1", 1, 0, false},
        {"ikpca:components=4,compress=none,first=40,block=100", 100, 0, false},
        {"ikpca:components=4,library=20,first=40,block=30,window=50", 30, 50, false},
        {"kha:components=4,first=40,block=30", 30, 0, true},
    };
    double *x = ring_rows(1, ROWS);
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mercer_ctx *ctx = new_ctx(2);
        mercer_stream *stream = new_stream(ctx, cases[k].method, "rbf:sigma=4");
        mercer_stream_info before = {.struct_size = sizeof before}, info = before;
        int64_t sum = 0, size = FIRST;
        for (int64_t at = 0; at < ROWS; at += size, size = cases[k].block) {
            int64_t rows = ROWS - at < size ? ROWS - at : size;
            mercer_stream_get_info(stream, &before);
            push_rows(ctx, stream, x + 2 * at, rows, 2, rows);
            assert_ok(mercer_stream_flush(ctx, stream, err));
            mercer_stream_get_info(stream, &info);
            int64_t wanted = before.points * rows;
            wanted += cases[k].landmarks && at > 0 ? rows : triangle(rows);
            if (info.blocks == 256)
                wanted += info.points * info.points;
            if (cases[k].window) { /* k(x,x) of its rows, and theirs with the new points */
                wanted += model_of(ctx, stream)->state.window;
                assert_true(info.block_evaluations >= wanted);
                assert_true(info.block_evaluations <= wanted + cases[k].window * rows);
            } else {
                assert_int_equal(info.block_evaluations, wanted);
            }
            sum += info.block_evaluations;
            assert_int_equal(info.evaluations, sum);
        }
        assert_true(cases[k].block > 1 || info.blocks > 256);
        mercer_model_info model = info_of(model_of(ctx, stream));
        assert_int_equal(model.stream_blocks, info.blocks);
        assert_int_equal(model.stream_evaluations, sum);
        assert_int_equal(model.stream_block_evaluations, info.block_evaluations);
        mercer_stream_free(stream);
        mercer_ctx_free(ctx);
    }
    free(x);
}

/* Pre-images are paid for, too. */
static void test_stream_counts_kernel_values_of_preimages(void **state)
{
    static const char *const ways[] = {"ikpca:components=4,library=10,first=40",
                                       "ikpca:components=4,library=10,first=40,compress=preimage"};
    double *x = ring_rows(1, 70);
    int64_t count[2];
    (void)state;
    for (int m = 0; m < 2; m++) {
        mercer_ctx *ctx = new_ctx(1);
        mercer_model *model = fit_model(ctx, ways[m], "rbf:sigma=4", NULL, x, 70, 2);
        count[m] = info_of(model).stream_evaluations;
        mercer_model_free(model);
        mercer_ctx_free(ctx);
    }
    /* 10 points, each the best of five starts, judged at both ends in two blocks. */
    assert_true(count[1] > count[0] + 2 * 10 * 5 * 2 * 10);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_gives_the_same_model_for_any_pieces),
        cmocka_unit_test(test_stream_goes_on_from_a_file_bit_for_bit),
        cmocka_unit_test(test_stream_of_sparse_rows),
        cmocka_unit_test(test_stream_matches_columns_by_name),
        cmocka_unit_test(test_stream_freezes_scaling_and_sigma),
        cmocka_unit_test(test_stream_refuses_what_it_cannot_do),
        cmocka_unit_test(test_stream_refuses_state_that_does_not_fit),
        cmocka_unit_test(test_stream_survives_every_failing_allocation),
        cmocka_unit_test(test_stream_resumes_an_input),
        cmocka_unit_test(test_stream_counts_the_rows_of_an_input),
        cmocka_unit_test(test_stream_counts_kernel_values),
        cmocka_unit_test(test_stream_counts_kernel_values_of_preimages),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
