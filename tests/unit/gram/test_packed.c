/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of floats and bytes: every result has the bits of the same numbers as doubles, except the
 * dense store in single precision, whose values are compared with plain ones. */
#include "data_support.h"

#include "data/rows.h"
#include "gram/store.h"

#include "reference.h"

#include <math.h>

enum { MANY = 1100, FEW = 70, NEW = 90, MAX_D = 12, LD = 13, L = 3 };
/* MANY rows are more than a thread copies: tiles get windows. FEW are copied. */

/* The same numbers as doubles, and packed with another stride. */
struct both {
    double *x;
    void *packed;
    mercer_rows *wide, *rows;
};

static struct both make(mrc_dtype dtype, uint64_t seed, int64_t n, int64_t d)
{
    struct both b = {.x = ref_rows(seed, n, d, 20, 100)};
    b.packed = test_malloc((size_t)(n * LD) * mrc_dtype_bytes(dtype));
    memset(b.packed, 0, (size_t)(n * LD) * mrc_dtype_bytes(dtype));
    for (int64_t i = 0; i < n * d; i++)
        b.x[i] = dtype == MRC_F32 ? (double)(float)b.x[i] : fmin(fmax(round(b.x[i]), 0), 255);
    for (int64_t i = 0; i < n; i++)
        mrc_pack(dtype, b.x + i * d, d, b.packed, i * LD);
    assert_ok(view_f64(ctx, b.x, n, d, d, &b.wide, &err));
    if (dtype == MRC_F32) {
        assert_ok(view_f32(ctx, b.packed, n, d, LD, &b.rows, &err));
    } else {
        assert_ok(mrc_rows_adopt(dtype, b.packed, n, d, &b.rows, &err));
        b.rows->owned = NULL;
        b.rows->ld = LD;
    }
    return b;
}

static void destroy(struct both *b)
{
    mercer_rows_free(b->wide);
    mercer_rows_free(b->rows);
    mrc_free(b->x);
    test_free(b->packed);
}

static void assert_same_rows(const mercer_rows *a, const mercer_rows *b)
{
    double left[MAX_D], right[MAX_D];
    assert_true(a->n == b->n && a->d == b->d);
    for (int64_t i = 0; i < a->n; i++) {
        mercer_rows_copy(a, i, 1, left);
        mercer_rows_copy(b, i, 1, right);
        assert_memory_equal(left, right, (size_t)a->d * sizeof *left);
        assert_true(mrc_rows_at(b, i, a->d - 1) == left[a->d - 1]);
        assert_memory_equal(mrc_rows_line(b, i, right), left, (size_t)a->d * sizeof *left);
    }
}

static void test_view(void **state)
{
    float x[] = {1.5f, 2, 9, -0.0f, 4, 9};
    mercer_rows *rows, *copy;
    int64_t second = 1;
    (void)state;
    assert_ok(view_f32(ctx, x, 2, 2, 3, &rows, &err));
    assert_true(rows->packed == x && !rows->owned && !rows->x && rows->dtype == MRC_F32);
    assert_int_equal(mercer_rows_is_sparse(rows), 0);
    assert_int_equal(mercer_rows_entries(rows), 4);
    assert_ok(mrc_rows_take(rows, &second, 1, &copy, &err));
    assert_true(copy->dtype == MRC_F32 && copy->d == 2 && mrc_rows_at(copy, 0, 1) == 4);
    assert_true(signbit(mrc_rows_at(copy, 0, 0)));
    mercer_rows_free(copy);
    mercer_rows_free(rows);
    x[4] = NAN;
    assert_fails(view_f32(ctx, x, 2, 2, 3, &rows, &err), MERCER_ERR_DATA,
                 "row 2, column 2: nan is not finite");
    assert_null(rows);
    x[4] = INFINITY;
    assert_fails(view_f32(ctx, x, 2, 2, 3, &rows, &err), MERCER_ERR_DATA, "inf");
    assert_fails(view_f32(ctx, NULL, 2, 2, 3, &rows, &err), MERCER_ERR_ARGUMENT, "viewed");
}

static void test_scaling(void **state)
{
    static const char *const kinds[] = {"none", "standard", "minmax",
                                        "norm", "unit",     "rowstandard"};
    (void)state;
    for (int dtype = MRC_F32; dtype <= MRC_U8; dtype++) {
        struct both b = make((mrc_dtype)dtype, 3, FEW, 5);
        assert_same_rows(b.wide, b.rows);
        for (int i = 0; i < 6; i++) {
            mercer_rows *wide, *packed;
            assert_ok(mercer_rows_scale(ctx, b.wide, kinds[i], &wide, &err));
            assert_ok(mercer_rows_scale(ctx, b.rows, kinds[i], &packed, &err));
            assert_int_equal(packed->dtype, i == 0 ? (mrc_dtype)dtype : MRC_F64);
            assert_same_rows(wide, packed);
            mercer_rows_free(wide);
            mercer_rows_free(packed);
        }
        destroy(&b);
    }
}

static void test_writing(void **state)
{
    static const char *const names[] = {"w.csv", "w.npy", "w.svm"};
    struct both b = make(MRC_F32, 4, FEW, 5);
    (void)state;
    for (int i = 0; i < 3; i++) {
        char *bytes[2];
        size_t length[2];
        for (int packed = 0; packed < 2; packed++) {
            mercer_writer *writer;
            assert_ok(
                mercer_writer_open(ctx, in_scratch(names[i]), NULL, 5, NULL, NULL, &writer, &err));
            assert_ok(mercer_writer_add(ctx, writer, packed ? b.rows : b.wide, NULL, &err));
            assert_ok(mercer_writer_finish(ctx, writer, &err));
            bytes[packed] = get_bytes(in_scratch(names[i]), &length[packed]);
        }
        assert_int_equal(length[0], length[1]);
        assert_memory_equal(bytes[0], bytes[1], length[0]);
        test_free(bytes[0]);
        test_free(bytes[1]);
    }
    destroy(&b);
}

/* whole: the values of new rows 1 to NEW - 1, which are those of their blocks: to the last bit
 * where the same rows are multiplied together, 64 at a time. */
static void same_in_blocks(mrc_gram *g, const mercer_rows *fresh, const double *whole)
{
    static const int64_t sizes[] = {1, 7, 64, 65};
    const int64_t n = mrc_gram_size(g);
    double *out = ref_alloc(NEW, n), largest = 0;
    for (int64_t i = 0; i < (NEW - 1) * n; i++)
        largest = fmax(largest, fabs(whole[i]));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int64_t first = 1; first < NEW; first += sizes[s]) {
            int64_t count = NEW - first < sizes[s] ? NEW - first : sizes[s];
            const double *right = whole + (first - 1) * n;
            assert_ok(mrc_gram_cross(g, fresh, first, count, out, &err));
            for (int64_t i = 0; i < count * n; i++)
                assert_true(fabs(out[i] - right[i]) <= (sizes[s] == 64 ? 0 : 1e-12 * largest));
        }
    mrc_free(out);
}

/* Everything the operator gives, one after the other. */
static double *operator_values(const mercer_rows *rows, const mercer_rows *fresh,
                               const char *kernel_text, const mrc_store *store, bool single,
                               int64_t *count)
{
    enum { J = 70 };
    int64_t n = rows->n, chosen[J];
    double *out = ref_alloc(n * L + J * (L + n) + J + NEW * n + n, 1), *at = out;
    double *v = ref_rows(9, n, L, 1, 0);
    mrc_gram_request request = {.store = store, .single = single, .centered = true};
    const double *diag;
    mrc_kernel kernel;
    mrc_gram *g;
    mercer_ctx_set_seed(ctx, 1);
    assert_ok(mrc_kernel_parse(&kernel, kernel_text, &err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, &err));
    assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, &err));
    for (int64_t i = 0; i < J; i++)
        chosen[i] = i * 13 % n;
    assert_ok(mrc_gram_apply(g, v, L, at, &err));
    at += n * L;
    assert_ok(mrc_gram_apply_rows(g, chosen, J, v, L, at, &err));
    at += (int64_t)J * L;
    assert_ok(mrc_gram_columns(g, chosen, J, at, &err));
    at += J * n;
    assert_ok(mrc_gram_row_norms2(g, chosen, J, NULL, at, &err));
    at += J;
    if (fresh) {
        assert_ok(mrc_gram_cross(g, fresh, 1, NEW - 1, at, &err));
        same_in_blocks(g, fresh, at);
    }
    at += NEW * n;
    assert_ok(mrc_gram_diag(g, &diag, &err));
    memcpy(at, diag, (size_t)n * sizeof *diag);
    *count = at + n - out;
    mrc_gram_free(g);
    mrc_free(v);
    return out;
}

static void same_operator(const struct both *b, const struct both *fresh, const char *kernel,
                          const mrc_store *store, bool single)
{
    int64_t count;
    double *wide =
        operator_values(b->wide, fresh ? fresh->wide : NULL, kernel, store, single, &count);
    double *packed =
        operator_values(b->rows, fresh ? fresh->rows : NULL, kernel, store, single, &count);
    if (memcmp(wide, packed, (size_t)count * sizeof *wide) != 0)
        fail_msg("%s, store %s: other bits", kernel, store ? store->name : "auto");
    mrc_free(wide);
    mrc_free(packed);
}

static const struct {
    const char *kernel;
    int64_t d;
    const mrc_store *store;
    bool single;
} cases[] = {
    {"rbf", 3, &mrc_store_stream, false},
    {"rbf", 12, &mrc_store_stream, false},
    {"rbf", 12, &mrc_store_dense, false},
    {"rbf", 3, &mrc_store_dense, true},
    {"rbf", 12, &mrc_store_stream, true},
    {"rbf:sigma=900", 12, &mrc_store_lowrank, false},
    {"laplacian:gamma=0.001", 12, &mrc_store_stream, false},
    {"chi2", 5, &mrc_store_stream, false},
    {"intersection", 5, &mrc_store_dense, false},
    {"cosine", 12, &mrc_store_stream, false},
    {"cosine", 5, &mrc_store_lowrank, false},
    {"poly:gamma=1e-4,coef0=1,degree=2", 4, &mrc_store_lowrank, false},
    {"sigmoid:gamma=1e-5,coef0=-0.5", 5, &mrc_store_stream, false},
    {"linear", 12, &mrc_store_lowrank, false},
    {"linear", 12, &mrc_store_stream, false},
    {"0.5*rbf + laplacian:gamma=0.01*cosine", 12, &mrc_store_stream, false},
};

static void test_operator(void **state)
{
    static const int64_t sizes[] = {MANY, FEW};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int size = 0; size < 2; size++) {
            mrc_dtype dtype = i % 2 ? MRC_U8 : MRC_F32;
            struct both b = make(dtype, 5, sizes[size], cases[i].d);
            struct both fresh = make(dtype, 6, size == 0 ? MANY : NEW, cases[i].d);
            same_operator(&b, &fresh, cases[i].kernel, cases[i].store, cases[i].single);
            destroy(&b);
            destroy(&fresh);
        }
}

/* ---- products in single precision ---- */

enum data { SPREAD, CLUSTERS, NEARLY_NEAR, COPIES, OUTLIER, BYTES, DATA };

static float *draw_rows(enum data kind, uint64_t seed, int64_t n, int64_t d, float scale)
{
    mrc_rng rng;
    float *x = test_malloc((size_t)(n * d) * sizeof *x);
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < d; k++) {
            double value = mrc_rng_normal(&rng);
            int64_t from = i % 5;
            if (kind == CLUSTERS) /* within them: a share of 1e-4 of the squared norms */
                value = (i < 5 ? 100 * value : x[from * d + k] / scale) + (i < 5 ? 0 : value);
            if (kind == NEARLY_NEAR) /* a share of .07: pairs are repaired below .0625 */
                value = (i < 5 ? 4 * value : x[from * d + k] / scale) + (i < 5 ? 0 : value);
            if (kind == COPIES && i % 97 == 50)
                value = x[(i - 3) * d + k] / scale + 1e-4 * (k == 0);
            if (kind == OUTLIER && i == 7)
                value *= 1e12;
            if (kind == BYTES)
                value = fmin(fmax(round(128 + 40 * value), 0), 255) / scale;
            x[i * d + k] = (float)(scale * value);
        }
    return x;
}

/* Plain values; which: the kernel. */
static double plain_value(int which, double distance2, double sigma)
{
    double s = sqrt(3 * distance2) / sigma;
    switch (which) {
    case 0:
        return exp(-distance2 / (2 * sigma * sigma));
    case 1:
        return exp(-sqrt(distance2) / sigma);
    case 2:
        return (1 + s) * exp(-s);
    default:
        return 1 / (1 + distance2 / (2 * sigma * sigma));
    }
}

/* The largest error of the values that the dense store holds in single precision. */
static double single_error(enum data kind, int which, int64_t n, int64_t d, float scale,
                           double width, int threads)
{
    static const char *const names[] = {"rbf:sigma=%.17g", "exponential:sigma=%.17g",
                                        "matern:nu=1.5,sigma=%.17g", "rq:alpha=1,sigma=%.17g"};
    float *x = draw_rows(kind, (uint64_t)(n + which), n, d, scale);
    double sigma = width * (kind == BYTES ? 40 : scale) * sqrt(2 * (double)d), worst = 0;
    double *k = ref_alloc(n, n);
    unsigned char *bytes = test_malloc((size_t)(n * d));
    char text[64];
    mrc_gram_request request = {.store = &mrc_store_dense, .single = true};
    mercer_ctx *own;
    mercer_rows *rows;
    mrc_kernel kernel;
    mrc_gram *g;
    assert_ok(mercer_ctx_new(&own, &err));
    assert_ok(mercer_ctx_set_threads(own, threads, &err));
    for (int64_t i = 0; kind == BYTES && i < n * d; i++)
        bytes[i] = (unsigned char)x[i];
    assert_ok(mrc_rows_view(kind == BYTES ? MRC_U8 : MRC_F32, kind == BYTES ? (void *)bytes : x, n,
                            d, d, &rows, &err));
    snprintf(text, sizeof text, names[which], sigma);
    assert_ok(mrc_kernel_parse(&kernel, text, &err));
    assert_ok(mrc_kernel_resolve(&kernel, own, rows, &err));
    assert_ok(mrc_gram_new(&g, own, &kernel, rows, &request, NULL, &err));
    assert_ok(mrc_gram_columns(g, NULL, n, k, &err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double distance2 = 0;
            for (int64_t c = 0; c < d; c++) {
                double difference = (double)x[i * d + c] - x[j * d + c];
                distance2 += difference * difference;
            }
            assert_true(k[i * n + j] == k[j * n + i]);
            worst = fmax(worst, fabs(k[i * n + j] - plain_value(which, distance2, sigma)));
        }
    mrc_gram_free(g);
    mercer_rows_free(rows);
    mercer_ctx_free(own);
    mrc_free(k);
    test_free(x);
    test_free(bytes);
    return worst;
}

static void test_products_in_single_precision(void **state)
{
    static const int64_t columns[] = {9, 64, 784, 193};
    static const float scales[] = {1, 1e-15F, 1e15F};
    static const double widths[] = {1, 0.1, 10};
    (void)state;
    for (enum data kind = 0; kind < DATA; kind++)
        for (int round = 0; round < 12; round++) {
            /* Many rows stay packed; 17 of 273, and 49 of 305, make a tile of their own. */
            int64_t n = round % 4 == 0 ? MANY : round % 4 == 1 ? 273 : 305;
            float scale = kind == BYTES ? 1 : scales[round % 3];
            double worst = single_error(kind, round % 4, n, columns[round % 4], scale,
                                        widths[round / 4], 1 + round % 2);
            if (!(worst < 3e-6))
                fail_msg("data %d, round %d: off by %g", kind, round, worst);
        }
}

/* A kernel matrix of floats. */
static void test_precomputed(void **state)
{
    enum { N = 300 };
    float *k = test_malloc(sizeof *k * N * N);
    struct both b = {.x = ref_alloc(N, N)};
    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            b.x[i * N + j] = k[i * N + j] = expf(-fabsf((float)(i - j)) / 50);
    assert_ok(view_f64(ctx, b.x, N, N, N, &b.wide, &err));
    assert_ok(view_f32(ctx, k, N, N, N, &b.rows, &err));
    b.packed = k;
    same_operator(&b, NULL, "precomputed", NULL, false);
    destroy(&b);
}

/* From the fit to features, errors and pre-images, with the model saved and loaded in between. */
static mercer_model *fitted(const mercer_rows *rows, const char *method, const char *kernel,
                            const char *scale, double *features, const mercer_rows *fresh,
                            double *errors)
{
    mercer_fit_options options;
    mercer_model *model, *loaded;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.scale = scale;
    options.components = L;
    options.novelty = 0.1;
    mercer_ctx_set_seed(ctx, 1);
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err));
    assert_ok(mercer_model_save(ctx, model, in_scratch("m.mercer"), &err));
    assert_ok(mercer_model_load(ctx, in_scratch("m.mercer"), &loaded, &err));
    assert_ok(mercer_model_transform(ctx, loaded, fresh, NULL, features, errors, &err));
    mercer_model_free(model);
    return loaded;
}

static void same_fit(mrc_dtype dtype, int64_t n, int64_t d, const char *method, const char *kernel,
                     const char *scale, size_t *sizes)
{
    struct both b = make(dtype, 7, n, d), fresh = make(dtype, 8, NEW, d);
    mercer_model *models[2];
    mercer_model_info info[2];
    double features[2][NEW * L], errors[2][NEW], inverse[2][NEW * MAX_D];
    for (int k = 0; k < 2; k++) {
        struct stat file;
        models[k] = fitted(k ? b.rows : b.wide, method, kernel, scale, features[k],
                           k ? fresh.rows : fresh.wide, errors[k]);
        stat(in_scratch("m.mercer"), &file);
        sizes[k] = (size_t)file.st_size;
        info[k] = (mercer_model_info){.struct_size = sizeof info[k]};
        mercer_model_get_info(models[k], &info[k]);
        assert_ok(mercer_model_inverse(ctx, models[k], features[k], 5, inverse[k], NULL, &err));
    }
    assert_memory_equal(features[0], features[1], sizeof features[0]);
    assert_memory_equal(errors[0], errors[1], sizeof errors[0]);
    assert_memory_equal(inverse[0], inverse[1], (size_t)(5 * d) * sizeof(double));
    assert_string_equal(info[0].data_hash, info[1].data_hash);
    assert_string_equal(info[0].kernel, info[1].kernel);
    assert_true(info[0].novelty_threshold == info[1].novelty_threshold);
    mercer_model_free(models[0]);
    mercer_model_free(models[1]);
    destroy(&b);
    destroy(&fresh);
}

static void test_fits(void **state)
{
    size_t bytes[2];
    (void)state;
    same_fit(MRC_F32, MANY + 300, 12, "kpca", "rbf", NULL, bytes); /* windows in the parts, too */
    assert_int_equal(bytes[0] - bytes[1], (MANY + 300) * 12 * 4);
    same_fit(MRC_U8, FEW, 12, "kpca", "poly:degree=2", NULL, bytes);
    assert_int_equal(bytes[0] - bytes[1], FEW * 12 * 7);
    same_fit(MRC_U8, MANY, 3, "kpca", "rbf", NULL, bytes);
    same_fit(MRC_F32, MANY, 12, "pca", NULL, NULL, bytes); /* no points: nothing to pack */
    assert_int_equal(bytes[0], bytes[1]);
    same_fit(MRC_F32, FEW, 5, "kpca", "rbf", "standard", bytes); /* scaled points are doubles */
    assert_int_equal(bytes[0], bytes[1]);
}

static void test_every_allocation_fails(void **state)
{
    struct both b = make(MRC_F32, 7, MANY, 3);
    mercer_fit_options options;
    mercer_model *model = NULL;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "pca";
    assert_each_allocation_fails(20, mercer_fit(ctx, &options, b.rows, NULL, &model, NULL, &err),
                                 mercer_model_free(model));
    destroy(&b);
}

static int one_thread(void **state)
{
    int rc = setup_scratch(state);
    return rc ? rc : mercer_ctx_set_threads(ctx, 1, NULL) != MERCER_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_view),
        TEST(test_scaling),
        TEST(test_writing),
        TEST(test_operator),
        TEST(test_products_in_single_precision),
        TEST(test_precomputed),
        TEST(test_fits),
        TEST(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, one_thread, teardown_scratch);
}
