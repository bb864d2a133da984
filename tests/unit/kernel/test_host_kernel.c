/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that a host program adds to the context. */
#include "support.h"

#include "fit_support.h"
#include "model/model.h"

#include <mercer/mercer.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 300, D = 3, T = 40, L = 5 };

/* exp(-gamma |x - y|^2), gamma being the host's. */
static mercer_status gaussian(void *host, const double *x, int64_t nx, int64_t ldx, const double *y,
                              int64_t ny, int64_t ldy, int64_t d, double *out, int64_t ldo,
                              mercer_error *why)
{
    (void)why;
    return host_gaussian(*(const double *)host, x, nx, ldx, y, ny, ldy, d, out, ldo);
}

static mercer_status broken(void *host, const double *x, int64_t nx, int64_t ldx, const double *y,
                            int64_t ny, int64_t ldy, int64_t d, double *out, int64_t ldo,
                            mercer_error *why)
{
    (void)host, (void)x, (void)ldx, (void)y, (void)ldy, (void)d, (void)why;
    for (int64_t i = 0; i < nx; i++)
        for (int64_t j = 0; j < ny; j++)
            out[i * ldo + j] = nx * ny > 1 ? NAN : 1;
    return MERCER_OK;
}

static mercer_status fit(mercer_ctx *ctx, const mercer_rows *rows, const char *kernel,
                         const char *store, mercer_model **model, mercer_error *why)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = kernel;
    options.store = store;
    options.components = L;
    options.scale = "standard";
    return mercer_fit(ctx, &options, rows, NULL, model, NULL, why);
}

/* The host's Gaussian equals ours in every store, alone and combined, also after a file. */
static void test_host_kernel_equals_ours(void **state)
{
    static const char *const pairs[][2] = {
        {"mine", "rbf:gamma=0.3"},
        {"2*mine + linear*mine", "2*rbf:gamma=0.3 + linear*rbf:gamma=0.3"}};
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    static double gamma = 0.3;
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/mercer-host-%ld.mercer", (long)getpid());
    for (int p = 0; p < 2; p++)
        for (int s = 0; s < 3; s++) {
            mercer_ctx *ctx = new_ctx(2), *other = new_ctx(1);
            double *x = normal_rows(1, N, D, 1, 2), *fresh = normal_rows(2, T, D, 1, 2);
            double *y[3];
            mercer_rows *rows = view(ctx, x, N, D), *new_rows = view(ctx, fresh, T, D);
            mercer_model *model = NULL;
            mercer_error why;
            assert_ok(mercer_ctx_add_kernel(ctx, "mine", gaussian, &gamma, 1, err));
            for (int k = 0; k < 2; k++) {
                y[k] = new_doubles(T * L);
                assert_ok(fit(ctx, rows, pairs[p][k], stores[s], &model, err));
                assert_ok(mercer_model_transform(ctx, model, new_rows, NULL, y[k], NULL, err));
                if (k == 0)
                    assert_ok(mercer_model_save(ctx, model, path, err));
                mercer_model_free(model);
            }
            assert_close(y[0], y[1], T * L, 1e-9 * largest_modulus(y[1], T * L));
            assert_int_equal(mercer_model_load(other, path, &model, &why), MERCER_ERR_FORMAT);
            assert_non_null(strstr(why.text, "unknown kernel 'mine'"));
            assert_ok(mercer_ctx_add_kernel(other, "mine", gaussian, &gamma, 1, err));
            assert_ok(mercer_model_load(other, path, &model, err));
            mercer_ctx_free(other); /* a model outlives the context it was loaded with */
            y[2] = new_doubles(T * L);
            assert_ok(mercer_model_transform(ctx, model, new_rows, NULL, y[2], NULL, err));
            assert_memory_equal(y[0], y[2], T * L * sizeof(double));
            mercer_model_free(model);
            mercer_rows_free(rows);
            mercer_rows_free(new_rows);
            mercer_ctx_free(ctx);
            for (int k = 0; k < 3; k++)
                free(y[k]);
            free(x);
            free(fresh);
        }
    unlink(path);
}

static void test_host_kernel_refusals(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mercer_error why;
    mercer_model *model = NULL;
    double *x = normal_rows(1, 600, D, 1, 2), gamma = 1;
    mercer_rows *rows = view(ctx, x, 600, D), *sparse = sparse_copy(x, 600, D);
    static const char *const bad[] = {"rbf", "", "a b", "a:b", "1e3", "sum+this"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(mercer_ctx_add_kernel(ctx, bad[i], gaussian, &gamma, 1, &why),
                         MERCER_ERR_ARGUMENT);
    assert_int_equal(mercer_ctx_add_kernel(ctx, "mine", NULL, NULL, 1, &why), MERCER_ERR_ARGUMENT);
    assert_ok(mercer_ctx_add_kernel(ctx, "mine", gaussian, &gamma, 0, err));
    assert_int_equal(mercer_ctx_add_kernel(ctx, "mine", gaussian, &gamma, 1, &why),
                     MERCER_ERR_ARGUMENT);
    assert_string_equal(why.text, "there is a kernel 'mine' already");
    assert_int_equal(fit(ctx, rows, "mine:sigma=2", NULL, &model, &why), MERCER_ERR_ARGUMENT);
    /* Not vouched for: no low-rank factor. */
    assert_int_equal(fit(ctx, rows, "mine", "lowrank", &model, &why), MERCER_ERR_ARGUMENT);
    assert_ok(mercer_ctx_add_kernel(ctx, "broken", broken, NULL, 0, err));
    assert_int_equal(fit(ctx, rows, "broken", NULL, &model, &why), MERCER_ERR_NUMERIC);
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = "mine";
    assert_int_equal(mercer_fit(ctx, &options, sparse, NULL, &model, NULL, &why), MERCER_ERR_DATA);
    assert_string_equal(why.text, "kernel mine takes dense rows, and these are sparse");
    assert_null(model);
    mercer_rows_free(rows);
    mercer_rows_free(sparse);
    mercer_ctx_free(ctx);
    free(x);
}

/* ---- a function that fails ---- */

/* A Gaussian that fails in its call number `at` (from 0; -1: never), or for rows whose last value
 * is above `limit`: it names the first of them. */
struct picky {
    double gamma, limit;
    mercer_status code;
    bool silent; /* no text */
    atomic_llong at, calls;
    atomic_int released;
};

static const struct picky willing = {
    .gamma = 0.3, .limit = INFINITY, .code = MERCER_ERR_UNSUPPORTED, .at = -1};

static mercer_status refuse(const struct picky *p, double id, mercer_error *why)
{
    if (!p->silent)
        snprintf(why->text, sizeof why->text, "no value for row %g", id);
    why->row = 7;
    return p->code;
}

static mercer_status picky(void *host, const double *x, int64_t nx, int64_t ldx, const double *y,
                           int64_t ny, int64_t ldy, int64_t d, double *out, int64_t ldo,
                           mercer_error *why)
{
    struct picky *p = host;
    assert_string_equal(why->text, "");
    if (atomic_fetch_add(&p->calls, 1) == p->at)
        return refuse(p, x[d - 1], why);
    for (int64_t i = 0; i < nx; i++)
        if (x[i * ldx + d - 1] > p->limit)
            return refuse(p, x[i * ldx + d - 1], why);
    for (int64_t j = 0; j < ny; j++)
        if (y[j * ldy + d - 1] > p->limit)
            return refuse(p, y[j * ldy + d - 1], why);
    return gaussian(&p->gamma, x, nx, ldx, y, ny, ldy, d, out, ldo, why);
}

static void let_go(void *host)
{
    atomic_fetch_add(&((struct picky *)host)->released, 1);
}

/* Rows of D columns, the last of which is a number of its own for each, in no order. */
static double *numbered_rows(int64_t n)
{
    double *x = normal_rows(5, n, D, 0, 1);
    for (int64_t i = 0; i < n; i++)
        x[i * D + D - 1] = (double)(i * 37 % n) / (double)n;
    return x;
}

static mercer_targets *two_classes(const double *x, int64_t n)
{
    static const char *const names[] = {"a", "b"};
    mercer_targets *targets = NULL;
    int64_t *codes = calloc((size_t)n, sizeof *codes);
    assert_non_null(codes);
    for (int64_t i = 0; i < n; i++)
        codes[i] = x[i * D] * x[i * D + 1] > 0;
    assert_ok(mercer_targets_new_classes(codes, n, names, 2, NULL, &targets, err));
    free(codes);
    return targets;
}

static mercer_fit_options options_for(const char *method, const char *store)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = "2*mine + linear*mine";
    options.store = store;
    options.components = 3;
    return options;
}

static void assert_refusal(mercer_status rc, const struct picky *p, const mercer_error *why)
{
    if (rc != p->code || why->code != p->code || strncmp(why->text, "no value for row ", 17) != 0 ||
        why->row != 7)
        fail_msg("status %d, row %d: %s", (int)rc, (int)why->row, why->text);
}

/* Fail in calls 0, 1, 2, 3, 5, 8, ... of a fit: it ends with that error; and in the end it succeeds
 * with the bits of a fit that never failed. False when the method does not take the kernel. */
static bool fit_with_failures(mercer_ctx *ctx, struct picky *p, const mercer_fit_options *options,
                              const mercer_rows *rows, const mercer_targets *targets)
{
    mercer_model *good = NULL, *model = NULL;
    mercer_error why = {0};
    double *y[2] = {new_doubles(N * L), new_doubles(N * L)};
    mercer_status rc;
    bool takes = true;
    p->at = -1;
    rc = mercer_fit(ctx, options, rows, targets, &good, NULL, &why);
    if (rc == MERCER_ERR_ARGUMENT)
        takes = false;
    else if (rc != MERCER_OK)
        fail_msg("%s: %s", options->method, why.text);
    int64_t more = 0, failures = 0;
    for (int64_t at = 0; takes; at += 1 + more, more = at / 2) {
        p->at = at;
        p->calls = 0;
        p->code = MERCER_ERR_DATA + (int)(failures % 6);
        mercer_ctx_set_seed(ctx, 1);
        rc = mercer_fit(ctx, options, rows, targets, &model, NULL, &why);
        if (p->calls <= at)
            break;
        assert_refusal(rc, p, &why);
        assert_null(model);
        failures++;
    }
    if (takes) {
        assert_int_equal(rc, MERCER_OK);
        assert_true(failures > 3);
        p->at = -1;
        assert_ok(mercer_model_transform(ctx, good, rows, NULL, y[0], NULL, err));
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, y[1], NULL, err));
        assert_memory_equal(y[0], y[1], N * 3 * sizeof(double));
    }
    mercer_model_free(good);
    mercer_model_free(model);
    free(y[0]);
    free(y[1]);
    return takes;
}

static void test_failure_ends_every_fit(void **state)
{
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    const mercer_entry *entry;
    double *x = numbered_rows(N);
    mercer_targets *targets = two_classes(x, N);
    int took = 0;
    (void)state;
    for (int m = 0; (entry = mercer_method_at(m)); m++)
        for (int s = 0; s < 3; s++) {
            struct picky p = willing;
            mercer_ctx *ctx = new_ctx(1);
            mercer_rows *rows = view(ctx, x, N, D);
            mercer_fit_options options = options_for(mercer_entry_name(entry), stores[s]);
            assert_ok(mercer_ctx_add_kernel(ctx, "mine", picky, &p, 1, err));
            took += fit_with_failures(ctx, &p, &options, rows, targets);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
    assert_true(took > 40);
    mercer_targets_free(targets);
    free(x);
}

/* Many rows have no value: the error is the same whatever the number of threads. */
static void test_failure_is_the_same_on_any_threads(void **state)
{
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    static const char *const methods[] = {"kpca", "akfa", "ikpca:block=64", "nystroem"};
    enum { MANY = 1100 };
    double *x = numbered_rows(MANY);
    (void)state;
    for (int run = 0; run < 24; run++) {
        char first[512] = "";
        for (int threads = 1; threads <= 4; threads += run % 2 ? 1 : 3) {
            struct picky p = willing;
            mercer_ctx *ctx = new_ctx(threads);
            mercer_rows *rows = view(ctx, x, MANY, D);
            mercer_fit_options options = options_for(methods[run / 3 % 4], stores[run % 3]);
            mercer_model *model = NULL;
            mercer_error why = {0};
            p.limit = 0.5 + 0.02 * run;
            assert_ok(mercer_ctx_add_kernel(ctx, "mine", picky, &p, 1, err));
            assert_refusal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why), &p, &why);
            if (threads > 1)
                assert_string_equal(why.text, first);
            memcpy(first, why.text, sizeof first);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
    }
    free(x);
}

static void test_failure_ends_other_calls(void **state)
{
    double *x = numbered_rows(N), *y = new_doubles(N * L);
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct picky p = willing;
        mercer_ctx *ctx = new_ctx(threads);
        mercer_rows *rows = view(ctx, x, N, D);
        mercer_targets *targets = two_classes(x, N);
        mercer_fit_options options = options_for("kpca", NULL);
        mercer_evaluate_options evaluate;
        mercer_evaluation *result = NULL;
        mercer_model *model = NULL;
        mercer_error why = {0};
        int64_t codes[N];
        const char *tune[] = {"components=1,2"};
        mercer_array out = {
            .struct_size = sizeof out, .data = y, .dtype = MERCER_F32, .rank = 2, .shape = {N, 3}};
        options.head = "ls";
        assert_ok(mercer_ctx_add_kernel(ctx, "mine", picky, &p, 1, err));
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
        p.limit = 0.6;
        assert_refusal(mercer_model_transform(ctx, model, rows, NULL, y, NULL, &why), &p, &why);
        assert_refusal(mercer_model_transform(ctx, model, rows, NULL, y, y, &why), &p, &why);
        assert_refusal(mercer_model_transform_into(ctx, model, rows, NULL, &out, NULL, &why), &p,
                       &why);
        assert_refusal(mercer_model_predict(ctx, model, rows, 0, y, codes, &why), &p, &why);
        assert_int_equal(mercer_model_transform(ctx, model, rows, NULL, y, NULL, NULL), p.code);
        mercer_evaluate_options_init(&evaluate);
        evaluate.fit = &options;
        evaluate.folds = 3;
        for (int tuned = 0; tuned < 2; tuned++) {
            evaluate.tune = tune;
            evaluate.tune_count = tuned;
            p.limit = 0.6;
            p.code = MERCER_ERR_DATA; /* with which a choice of a grid is passed over otherwise */
            assert_refusal(mercer_evaluate(ctx, &evaluate, rows, targets, &result, &why), &p, &why);
            assert_null(result);
            p.limit = INFINITY;
            assert_ok(mercer_evaluate(ctx, &evaluate, rows, targets, &result, err));
            mercer_evaluation_free(result);
        }
        evaluate.folds = 0;
        evaluate.test = rows;
        evaluate.test_targets = targets;
        p.limit = 0.6;
        assert_refusal(mercer_evaluate(ctx, &evaluate, rows, targets, &result, &why), &p, &why);
        p.silent = true;
        assert_int_equal(mercer_model_transform(ctx, model, rows, NULL, y, NULL, &why), p.code);
        assert_string_equal(why.text, "kernel mine failed: the data cannot be used");
        mercer_model_free(model);
        mercer_rows_free(rows);
        mercer_targets_free(targets);
        mercer_ctx_free(ctx);
    }
    free(x);
    free(y);
}

/* A block is folded in or not: after a failure the same rows are pushed again, and the model has
 * the bits of a stream that never failed. */
static void test_failure_leaves_a_stream_as_it_was(void **state)
{
    static const char *const methods[] = {"ikpca:block=50", "ikpca:block=50,window=120",
                                          "kha:block=50"};
    double *x = numbered_rows(N), *y[2] = {new_doubles(N * L), new_doubles(N * L)};
    (void)state;
    for (int m = 0; m < 3; m++)
        for (int64_t at = -1; at < 40; at++) {
            struct picky p = willing;
            mercer_ctx *ctx = new_ctx(1 + (int)(at & 1));
            mercer_rows *rows = view(ctx, x, N, D);
            mercer_fit_options options = options_for(methods[m], NULL);
            mercer_stream *stream = NULL;
            const mercer_model *model = NULL;
            mercer_error why = {0};
            assert_ok(mercer_ctx_add_kernel(ctx, "mine", picky, &p, 1, err));
            assert_ok(mercer_stream_new(ctx, &options, &stream, err));
            p.at = at;
            for (int64_t from = 0; from < N; from += 25) {
                mercer_rows *part = view(ctx, x + from * D, 25, D);
                mercer_status rc = mercer_stream_push(ctx, stream, part, &why);
                if (rc != MERCER_OK) {
                    assert_refusal(rc, &p, &why);
                    assert_ok(mercer_stream_push(ctx, stream, part, err));
                }
                mercer_rows_free(part);
            }
            assert_ok(mercer_stream_flush(ctx, stream, err));
            assert_ok(mercer_stream_model(ctx, stream, &model, NULL, err));
            p.at = -1;
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, y[at >= 0], NULL, err));
            if (at >= 0)
                assert_memory_equal(y[0], y[1], N * 3 * sizeof(double));
            mercer_stream_free(stream);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
    free(x);
    free(y[0]);
    free(y[1]);
}

/* ---- what it is asked for ---- */

/* Features of the training rows out of a fit cost no kernel value where the fit has them. */
static void test_features_of_a_fit_cost_no_values(void **state)
{
    static const char *const methods[] = {"kpca", "akfa", "ackfa", "skfa"};
    static const char *const stores[] = {"dense", "stream"};
    double *x = numbered_rows(N);
    (void)state;
    for (int f = 0; f < 8; f++) {
        long long calls[2];
        for (int want = 0; want < 2; want++) {
            struct picky p = willing;
            mercer_ctx *ctx = new_ctx(1);
            mercer_rows *rows = view(ctx, x, N, D);
            mercer_fit_options options = options_for(methods[f / 2], stores[f % 2]);
            mercer_fit_report report = {.struct_size = sizeof report};
            mercer_model *model = NULL;
            options.want_features = want;
            assert_ok(mercer_ctx_add_kernel(ctx, "mine", picky, &p, 1, err));
            assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, &report, err));
            calls[want] = p.calls;
            assert_true((report.features != NULL) == want);
            mercer_free(report.features);
            mercer_model_free(model);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
        assert_true(calls[0] > 0);
        assert_int_equal(calls[0], calls[1]);
    }
    free(x);
}

/* ---- who owns it ---- */

/* A context, a model, a truncated one, one loaded, a stream and its model: freed in every order,
 * the function is released with the last of them, and once. */
static void test_released_once_in_every_order(void **state)
{
    enum { OWNERS = 6, ORDERS = 720 };
    double *x = numbered_rows(N), y[N * L];
    (void)state;
    for (int order = 0; order < ORDERS; order++) {
        struct picky p = willing;
        mercer_ctx *ctx = new_ctx(1), *other = new_ctx(2);
        mercer_rows *rows = view(other, x, 60, D);
        mercer_fit_options options = options_for("ikpca:block=20", NULL);
        mercer_model *model = NULL, *shorter = NULL, *loaded = NULL;
        mercer_stream *stream = NULL, *more = NULL;
        void *bytes = NULL;
        size_t size = 0;
        int left[OWNERS] = {0, 1, 2, 3, 4, 5}, code = order;
        assert_ok(mercer_ctx_add_kernel_owned(ctx, "mine", picky, &p, let_go, 1, err));
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        assert_ok(mercer_model_truncate(ctx, model, 2, &shorter, err));
        assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, err));
        assert_ok(mercer_model_from_bytes(ctx, bytes, size, &loaded, err));
        assert_ok(mercer_stream_new(ctx, &options, &stream, err));
        assert_ok(mercer_stream_continue(other, model, &more, err)); /* knows no such kernel */
        mercer_free(bytes);
        for (int k = OWNERS; k > 0; code /= k, k--) {
            int pick = code % k, owner = left[pick];
            assert_int_equal(p.released, 0);
            memmove(left + pick, left + pick + 1, (size_t)(k - 1 - pick) * sizeof *left);
            if (owner == 0) {
                mercer_ctx_free(ctx);
            } else if (owner < 4) {
                mercer_model *one = owner == 1 ? model : owner == 2 ? shorter : loaded;
                assert_ok(mercer_model_transform(other, one, rows, NULL, y, NULL, err));
                mercer_model_free(one);
            } else {
                assert_ok(mercer_stream_push(other, owner == 4 ? stream : more, rows, err));
                mercer_stream_free(owner == 4 ? stream : more);
            }
        }
        assert_int_equal(p.released, 1);
        mercer_rows_free(rows);
        mercer_ctx_free(other);
    }
    free(x);
}

/* Never used; added twice under two names; refused: then it is still the caller's. */
static void test_released_by_the_context(void **state)
{
    struct picky p = willing;
    mercer_ctx *ctx = new_ctx(1);
    (void)state;
    assert_ok(mercer_ctx_add_kernel_owned(ctx, "one", picky, &p, let_go, 1, err));
    assert_ok(mercer_ctx_add_kernel_owned(ctx, "two", picky, &p, let_go, 1, err));
    assert_ok(mercer_ctx_add_kernel_owned(ctx, "three", picky, &p, NULL, 1, err));
    assert_int_equal(mercer_ctx_add_kernel_owned(ctx, "two", picky, &p, let_go, 1, NULL),
                     MERCER_ERR_ARGUMENT);
    mrc_alloc_fail_after(0);
    assert_int_equal(mercer_ctx_add_kernel_owned(ctx, "four", picky, &p, let_go, 1, NULL),
                     MERCER_ERR_MEMORY);
    mrc_alloc_fail_after(-1);
    assert_int_equal(p.released, 0);
    mercer_ctx_free(ctx);
    assert_int_equal(p.released, 2);
}

/* A model file that names a known kernel and an unknown one is refused, and drops nothing. */
static void test_refused_model_owns_nothing(void **state)
{
    struct picky p = willing;
    double *x = numbered_rows(60);
    mercer_ctx *ctx = new_ctx(1), *other = new_ctx(1);
    mercer_rows *rows = view(ctx, x, 60, D);
    mercer_fit_options options = options_for("kpca", NULL);
    mercer_model *model = NULL;
    void *bytes = NULL;
    size_t size = 0;
    (void)state;
    assert_ok(mercer_ctx_add_kernel_owned(ctx, "mine", picky, &p, let_go, 1, err));
    assert_ok(mercer_ctx_add_kernel_owned(ctx, "yours", picky, &p, NULL, 1, err));
    options.kernel = "mine + yours";
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, err));
    mercer_model_free(model);
    mercer_ctx_free(ctx);
    assert_int_equal(p.released, 1);
    assert_ok(mercer_ctx_add_kernel_owned(other, "mine", picky, &p, let_go, 1, err));
    assert_int_equal(mercer_model_from_bytes(other, bytes, size, &model, NULL), MERCER_ERR_FORMAT);
    assert_int_equal(p.released, 1);
    assert_ok(mercer_ctx_add_kernel_owned(other, "yours", picky, &p, NULL, 1, err));
    int64_t live = mrc_alloc_live();
    mercer_status rc = MERCER_ERR_MEMORY;
    for (int64_t k = 0; rc == MERCER_ERR_MEMORY; k++) {
        mrc_alloc_fail_after(k);
        rc = mercer_model_from_bytes(other, bytes, size, &model, NULL);
        mrc_alloc_fail_after(-1);
        assert_int_equal(rc == MERCER_OK, model != NULL);
        assert_int_equal(p.released, 1);
        assert_true(model || mrc_alloc_live() == live);
    }
    assert_int_equal(rc, MERCER_OK);
    mercer_ctx_free(other);
    assert_int_equal(p.released, 1);
    mercer_model_free(model);
    assert_int_equal(p.released, 2);
    mercer_free(bytes);
    mercer_rows_free(rows);
    free(x);
}

/* Every allocation of a fit fails in turn, and the owners still count right. */
static void test_released_after_failing_allocations(void **state)
{
    static const char *const methods[] = {"kpca", "ikpca:block=20"};
    double *x = numbered_rows(40);
    (void)state;
    for (int m = 0; m < 2; m++) {
        struct picky p = willing;
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *rows = view(ctx, x, 40, D);
        mercer_fit_options options = options_for(methods[m], NULL);
        assert_ok(mercer_ctx_add_kernel_owned(ctx, "mine", picky, &p, let_go, 1, err));
        check_failing_allocations(ctx, &options, rows, NULL);
        assert_int_equal(p.released, 0);
        mercer_ctx_free(ctx);
        assert_int_equal(p.released, 1);
        mercer_rows_free(rows);
    }
    free(x);
}

struct user {
    const mercer_model *model;
    const double *x;
    double y[N * L];
    pthread_t thread;
};

static void *transform_alone(void *arg)
{
    struct user *user = arg;
    mercer_ctx *ctx = new_ctx(2);
    mercer_rows *rows = view(ctx, user->x, N, D);
    assert_ok(mercer_model_transform(ctx, user->model, rows, NULL, user->y, NULL, err));
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    return NULL;
}

/* A model with a kernel of the host works on several threads at once, its context being gone. */
static void test_model_on_several_threads(void **state)
{
    enum { USERS = 4 };
    struct picky p = willing;
    double *x = numbered_rows(N);
    struct user *users = calloc(USERS, sizeof *users);
    mercer_ctx *ctx = new_ctx(1);
    mercer_rows *rows = view(ctx, x, N, D);
    mercer_fit_options options = options_for("kpca", NULL);
    mercer_model *model = NULL;
    (void)state;
    assert_non_null(users);
    assert_ok(mercer_ctx_add_kernel_owned(ctx, "mine", picky, &p, let_go, 1, err));
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    for (int u = 0; u < USERS; u++) {
        users[u].model = model;
        users[u].x = x;
        assert_int_equal(pthread_create(&users[u].thread, NULL, transform_alone, &users[u]), 0);
    }
    for (int u = 0; u < USERS; u++)
        pthread_join(users[u].thread, NULL);
    for (int u = 1; u < USERS; u++)
        assert_memory_equal(users[0].y, users[u].y, N * 3 * sizeof(double));
    mercer_model_free(model);
    assert_int_equal(p.released, 1);
    free(users);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_kernel_equals_ours),
        cmocka_unit_test(test_host_kernel_refusals),
        cmocka_unit_test(test_failure_ends_every_fit),
        cmocka_unit_test(test_failure_is_the_same_on_any_threads),
        cmocka_unit_test(test_failure_ends_other_calls),
        cmocka_unit_test(test_failure_leaves_a_stream_as_it_was),
        cmocka_unit_test(test_features_of_a_fit_cost_no_values),
        cmocka_unit_test(test_released_once_in_every_order),
        cmocka_unit_test(test_released_by_the_context),
        cmocka_unit_test(test_refused_model_owns_nothing),
        cmocka_unit_test(test_released_after_failing_allocations),
        cmocka_unit_test(test_model_on_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
