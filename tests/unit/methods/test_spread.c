/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits to rows that are spread over ranks: the model of one rank, bit for bit, whatever the number
 * of ranks and threads; and no rank is left behind where one fails.
 *
 * `test_spread all` compares every fit on 1, 2, 3, 4 and 7 ranks. Without a word the first fit of a
 * method and kind of rows is compared on all of them, each other one on one of these numbers, the
 * next on another; fits of many rows and long searches are left out, and fewer of the calls that
 * can fail do. Ranks have one thread or two, in turns. `test_spread all NAME` runs one test.
 *
 * `test_spread every` makes each allocation and each exchange of a rank fail, one after the other,
 * in a fit of every kind: some minutes. */
#include "ranks.h"

#include "base/strips.h"

static bool all_of_it, every;

/* Sparse rows: those of a table, or of a part of it. */
struct entries {
    int64_t *start;
    int32_t *column;
    double *value;
};

/* A fit, and the model that one rank makes of all rows. */
struct spread_fit {
    const char *method, *kernel, *scale, *center, *store, *head;
    double components, tolerance;
    int64_t n, d;
    mercer_dtype dtype;
    const void *x;
    const struct entries *sparse; /* instead of x */
    const int64_t *codes;         /* n: classes, or */
    const double *values;         /* n x outputs, or neither */
    int64_t outputs;
    const double *landmarks; /* landmark_count x d, or NULL */
    int64_t landmark_count;
    int threads;
    int64_t *sent; /* per rank: bytes, or NULL: nobody asks */
    char *bytes;   /* of the model of one rank */
    size_t size;
    mercer_fit_report report;
};

static mercer_fit_options options_of(const struct spread_fit *f)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = f->method;
    options.kernel = f->kernel;
    options.scale = f->scale;
    options.center = f->center;
    options.store = f->store;
    options.head = f->head;
    options.components = f->components;
    options.tolerance = f->tolerance;
    return options;
}

static size_t item_bytes(const struct spread_fit *f)
{
    return f->dtype == MERCER_F64 ? 8 : f->dtype == MERCER_F32 ? 4 : 1;
}

static mercer_array array_of(const struct spread_fit *f, int64_t first, int64_t count)
{
    return (mercer_array){.struct_size = sizeof(mercer_array),
                          .data = (const char *)f->x + (size_t)(first * f->d) * item_bytes(f),
                          .dtype = f->dtype,
                          .rank = 2,
                          .shape = {count, f->d}};
}

/* Targets of some rows, classes in the order of the first row that has them, as readers list them.
 */
static mercer_status targets_of(const struct spread_fit *f, int64_t first, int64_t count,
                                mercer_targets **out, mercer_error *err)
{
    enum { MOST = 8 };
    static const char *const all[MOST] = {"red", "green", "blue", "7", "x", "y", "z", "a"};
    const char *names[MOST];
    int64_t place[MOST], known = 0, *codes;
    mercer_status rc;
    *out = NULL;
    if (count == 0 || (!f->codes && !f->values))
        return MERCER_OK;
    if (f->values)
        return mercer_targets_new_values(f->values + first * f->outputs, count, f->outputs, NULL,
                                         out, err);
    codes = malloc((size_t)count * sizeof *codes);
    assert_non_null(codes);
    for (int c = 0; c < MOST; c++)
        place[c] = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t code = f->codes[first + i];
        if (place[code] < 0) {
            names[known] = all[code];
            place[code] = known++;
        }
        codes[i] = place[code];
    }
    rc = mercer_targets_new_classes(codes, count, names, known, "colour", out, err);
    free(codes);
    return rc;
}

/* Rows [first, first + count) as rows of their own, or as a part of the table. */
static mercer_status rows_of(const struct spread_fit *f, mercer_ctx *ctx, int64_t first,
                             int64_t count, bool part, mercer_rows **out, mercer_error *err)
{
    const mercer_array dense = array_of(f, first, count);
    int64_t *start;
    if (!f->sparse)
        return part ? mercer_rows_view_part(ctx, &dense, f->n, out, err)
                    : mercer_rows_view(ctx, &dense, out, err);
    const struct entries *e = f->sparse;
    start = malloc((size_t)(count + 1) * sizeof *start); /* copied below, by its type */
    assert_non_null(start);
    for (int64_t i = 0; i <= count; i++)
        start[i] = e->start[first + i] - e->start[first];
    mercer_array s = vector_array(MERCER_I64, start, count + 1);
    mercer_array c = vector_array(MERCER_I32, e->column + e->start[first], start[count]);
    mercer_array v = vector_array(MERCER_F64, e->value + e->start[first], start[count]);
    s.release = free;
    s.host = start;
    return part ? mercer_rows_view_csr_part(ctx, &s, &c, &v, f->d, f->n, out, err)
                : mercer_rows_view_csr(ctx, &s, &c, &v, f->d, out, err);
}

static mercer_status landmarks_of(const struct spread_fit *f, mercer_ctx *ctx, mercer_rows **out,
                                  mercer_error *err)
{
    const mercer_array array = {.struct_size = sizeof(mercer_array),
                                .data = f->landmarks,
                                .dtype = MERCER_F64,
                                .rank = 2,
                                .shape = {f->landmark_count, f->d}};
    return f->landmarks ? mercer_rows_view(ctx, &array, out, err) : MERCER_OK;
}

static void fit_alone(struct spread_fit *f, int threads)
{
    mercer_targets *targets = NULL;
    mercer_ctx *ctx = new_ctx(threads);
    mercer_rows *rows = NULL, *landmarks = NULL;
    mercer_model *model = NULL;
    mercer_fit_options options = options_of(f);
    void *bytes = NULL;
    size_t size = 0;
    f->report = (mercer_fit_report){.struct_size = sizeof f->report};
    assert_ok(rows_of(f, ctx, 0, f->n, false, &rows, err));
    assert_ok(landmarks_of(f, ctx, &landmarks, err));
    options.landmarks = landmarks;
    assert_ok(targets_of(f, 0, f->n, &targets, err));
    assert_ok(mercer_fit(ctx, &options, rows, targets, &model, &f->report, err));
    mercer_targets_free(targets);
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, err));
    f->bytes = bytes;
    f->size = size;
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_rows_free(landmarks);
    mercer_ctx_free(ctx);
}

/* NaN: there is none. */
static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static mercer_status fit_here(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    const struct spread_fit *f = rank->arg;
    mercer_fit_options options = options_of(f);
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_rows *rows = NULL, *landmarks = NULL;
    mercer_targets *targets = NULL;
    mercer_model *model = NULL;
    void *bytes = NULL;
    size_t size = 0;
    int64_t first = 0, count = 0, left = -1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mercer_ctx_set_threads(ctx, f->threads, err));
    MRC_TRY(mercer_ctx_part(ctx, f->n, &first, &count, err));
    rc = rows_of(f, ctx, first, count, true, &rows, err);
    if (rc == MERCER_OK)
        rc = targets_of(f, first, count, &targets, err);
    if (rc == MERCER_OK)
        rc = landmarks_of(f, ctx, &landmarks, err);
    options.landmarks = landmarks;
    MRC_TRY(mercer_ctx_agree(ctx, rc, err));
    rc = mercer_fit(ctx, &options, rows, targets, &model, &report, err);
    left = mrc_alloc_fail_here(-1); /* of what follows none fails */
    if (f->sent)
        f->sent[rank->rank] = mercer_ctx_sent(ctx);
    if (rc != MERCER_OK || !f->bytes)
        goto out;
    MRC_TRY(mercer_model_to_bytes(ctx, model, &bytes, &size, err));
    assert_true(size == f->size);
    assert_memory_equal(bytes, f->bytes, size);
    assert_string_equal(report.store, f->report.store);
    assert_string_equal(report.store_reason, f->report.store_reason);
    assert_true(report.store_bytes == f->report.store_bytes);
    assert_true(is_same(report.total_variance, f->report.total_variance));
    assert_true(is_same(report.projection_variance, f->report.projection_variance));
    assert_true(is_same(report.reconstruction_error, f->report.reconstruction_error));
    assert_true(is_same(report.residual, f->report.residual));
out:
    if (left >= 0)
        (void)mrc_alloc_fail_here(left);
    mercer_free(bytes);
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_rows_free(landmarks);
    return rc;
}

/* What the ranks of the last fit had to exchange: how often, and steps of a factor, whose pivots
 * rank 0 broadcasts. */
static int64_t exchanges_made, steps_made;

/* On as many ranks as are told, all with the same outcome. */
static void run_fit(struct spread_fit *f, int size, int threads, struct rank *ranks)
{
    enum { PIVOTS = 8 + 16 * 8 + 16 * 16 * 8 };
    struct rank_world world = {.size = size, .fail_rank = -1, .choice_bytes = PIVOTS};
    f->threads = threads;
    for (int r = 0; r < size; r++) {
        ranks[r].fail_alloc = -1;
        ranks[r].arg = f;
    }
    run_ranks(&world, ranks, fit_here);
    exchanges_made = world.exchanges;
    steps_made = world.choices;
}

enum { SIZES = 5, MOST_THREADS = 2 };
static const int rank_counts[SIZES] = {3, 7, 2, 4, 1};
static int64_t met[SIZES][MOST_THREADS]; /* fits that were compared */

/* The numbers of threads take turns from fit to fit, and from one number of ranks to the next. */
static void check_fit(struct spread_fit f)
{
    static const struct entries *kind; /* of rows, and the method, of the fit before */
    static const char *method = "";
    static size_t fits;
    const size_t turn = fits % SIZES, round = fits / SIZES;
    const bool whole = all_of_it || strcmp(f.method, method) != 0 || !f.sparse != !kind;
    method = f.method;
    kind = f.sparse;
    fits++;
    fit_alone(&f, 2);
    for (size_t s = whole ? 0 : turn; s < (whole ? SIZES : turn + 1); s++) {
        struct rank ranks[MAX_RANKS] = {0};
        const int size = rank_counts[s], more = (int)((round + turn + s) % MOST_THREADS);
        run_fit(&f, size, 1 + more, ranks);
        for (int r = 0; r < size; r++)
            if (ranks[r].rc != MERCER_OK)
                fail_msg("%s %s, %lld rows, %d ranks, rank %d: %s", f.method, f.kernel,
                         (long long)f.n, size, r, ranks[r].why.text);
        met[s][more]++;
    }
    mercer_free(f.bytes);
}

/* Runs after all others. */
static void test_all_ranks_and_threads_were_met(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (int more = 0; more < MOST_THREADS; more++) {
            printf("%lld fits on %d rank%s with %d thread%s\n", (long long)met[s][more],
                   rank_counts[s], rank_counts[s] > 1 ? "s" : "", 1 + more, more ? "s" : "");
            assert_true(met[s][more] > 0);
        }
}

static float *as_floats(const double *x, int64_t count)
{
    float *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)x[i];
    return out;
}

/* Rows of which many are the same as one in another part, some entries being -0. */
static double *twins(int64_t n, int64_t d)
{
    double *x = normal_rows(5, n, d, 0, 1);
    for (int64_t i = n / 2; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = x[(i - n / 2) * d + j];
    for (int64_t i = 0; i < n * d; i += 7)
        x[i] = -0.0;
    return x;
}

static void test_few_rows(void **state)
{
    static const int64_t counts[] = {1, 2, 255, 256, 257, 1025, 2499, 2500};
    static const char *const stores[] = {NULL, "lowrank"};
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int s = 0; s < 2; s++) {
            double *x = twins(counts[k], 3);
            struct spread_fit f = {.method = "kpca",
                                   .kernel = "rbf:sigma=4",
                                   .center = counts[k] < 2 ? "none" : NULL,
                                   .store = stores[s],
                                   .components = counts[k] < 10 ? 1 : 6,
                                   .n = counts[k],
                                   .d = 3,
                                   .dtype = MERCER_F64,
                                   .x = x};
            check_fit(f);
            f.method = "pca";
            f.kernel = NULL;
            f.components = 1;
            if (s == 0 || counts[k] > 3)
                check_fit(f);
            free(x);
        }
}

static void test_kernels_and_options(void **state)
{
    enum { N = 2700, D = 3, WIDE = 40 };
    double *x = twins(N, D), *wide = twins(N, WIDE), *positive = twins(N, D);
    float *floats = as_floats(x, (int64_t)N * D), *wide_floats = as_floats(wide, (int64_t)N * WIDE);
    unsigned char *bytes = malloc((size_t)N * D);
    struct spread_fit base = {.method = "kpca",
                              .components = 5,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x,
                              .store = "lowrank"},
                      f;
    (void)state;
    for (int64_t i = 0; i < (int64_t)N * D; i++) {
        positive[i] = fabs(x[i]);
        bytes[i] = (unsigned char)(20 * fabs(x[i]));
    }
    static const char *const kernels[] = {"rbf:sigma=9",
                                          "poly:degree=2",
                                          "linear",
                                          "cosine",
                                          "0.5*rbf:sigma=9 + 2*linear",
                                          "rq:sigma=20",
                                          "rbf:sigma=9 * poly:degree=1,coef0=1"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        check_fit(f);
        f.center = "none";
        check_fit(f);
    }
    /* Scaling, a learnt width, a share of the variance, a tolerance. */
    static const char *const scales[] = {"standard", "minmax", "norm", "unit", "rowstandard"};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        f = base;
        f.kernel = k % 2                            ? "linear"
                   : strcmp(scales[k], "norm") == 0 ? "rbf:sigma=1"
                                                    : "rbf:sigma=9";
        f.scale = scales[k];
        check_fit(f);
    }
    f = base;
    f.kernel = "poly:degree=2";
    f.components = 0.9;
    check_fit(f);
    f = base;
    f.kernel = "rbf"; /* the median distance */
    f.tolerance = 1e-3;
    check_fit(f);
    /* As auto takes it. */
    f.store = NULL;
    f.tolerance = 0;
    f.kernel = "rbf:sigma=9";
    check_fit(f);
    f.method = "pca";
    f.kernel = NULL;
    f.scale = "standard";
    check_fit(f);
    /* Many columns, whose means are subtracted first; single and byte numbers. */
    f = base;
    f.d = WIDE;
    f.x = wide;
    f.tolerance = 1e-3;
    f.kernel = "rbf:sigma=60";
    check_fit(f);
    f.kernel = "linear";
    check_fit(f);
    f.dtype = MERCER_F32;
    f.x = wide_floats;
    f.kernel = "rbf:sigma=60";
    check_fit(f);
    f.kernel = NULL;
    f.method = "pca";
    check_fit(f);
    f = base;
    f.dtype = MERCER_F32;
    f.x = floats;
    f.kernel = "rbf:sigma=9";
    check_fit(f);
    f.dtype = MERCER_U8;
    f.x = bytes;
    f.kernel = "poly:degree=2";
    check_fit(f);
    f = base;
    f.x = positive;
    f.kernel = "intersection";
    f.components = 3;
    f.tolerance = 0.01;
    check_fit(f);
    free(x);
    free(wide);
    free(positive);
    free(floats);
    free(wide_floats);
    free(bytes);
}

/* Points that are drawn from the rows of all ranks. */
static void test_nystroem(void **state)
{
    enum { N = 2700, D = 3, WIDE = 40 };
    static const int64_t counts[] = {1, 2, 257, 2499, 2500, 2700, 3077};
    static const char *const kernels[] = {"rbf:sigma=2", "poly:degree=2", "linear", "sigmoid",
                                          "0.5*rbf:sigma=9 + 2*linear"};
    double *x = twins(3077, D), *wide = twins(N, WIDE);
    float *floats = as_floats(wide, (int64_t)N * WIDE);
    struct spread_fit base = {.method = "nystroem:points=70",
                              .kernel = "rbf:sigma=2",
                              .components = 5,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x},
                      f;
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        f = base;
        f.n = counts[k];
        f.center = counts[k] < 2 ? "none" : NULL;
        f.components = counts[k] < 10 ? 1 : 5;
        check_fit(f);
    }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        f.center = "none";
        check_fit(f);
        f.center = "span";
        f.scale = "standard";
        check_fit(f);
    }
    f = base;
    f.method = "nystroem"; /* three points per component */
    f.kernel = "rbf";
    check_fit(f);
    f.components = 0.8;
    check_fit(f);
    f = base;
    f.method = "nystroem:points=2700"; /* more than any rank has, and twins depend on each other */
    f.kernel = "rbf:sigma=9";
    check_fit(f);
    f = base;
    f.d = WIDE; /* whose means are subtracted first */
    f.x = wide;
    f.kernel = "rbf:sigma=6";
    check_fit(f);
    f.kernel = "linear";
    check_fit(f);
    f.dtype = MERCER_F32;
    f.x = floats;
    f.kernel = "rbf:sigma=6";
    check_fit(f);
    free(x);
    free(wide);
    free(floats);
}

static void test_nystroem_of_many_rows(void **state)
{
    enum { N = 20123 };
    double *x = normal_rows(3, N, 6, 0, 1);
    struct spread_fit f = {.method = "nystroem:points=250",
                           .kernel = "rbf:sigma=2",
                           .components = 10,
                           .n = N,
                           .d = 6,
                           .dtype = MERCER_F64,
                           .x = x};
    (void)state;
    assert_true(mrc_sum_is_wide(&(mrc_span){.total = N}, (int64_t)250 * 250));
    check_fit(f);
    f.method = "nystroem:points=12"; /* long blocks */
    check_fit(f);
    free(x);
}

/* Points that every rank has: rows of the table among them, twice, and others. */
static void test_landmarks(void **state)
{
    enum { N = 3077, D = 3, WIDE = 40, POINTS = 60, MANY = 20123 };
    static const char *const methods[] = {"nystroem", "rkpca", "greedy"};
    static const char *const kernels[] = {"poly:degree=2", "linear", "sigmoid"};
    static const int64_t counts[] = {1, 2, 257, 2499, 2500, 3077};
    double *x = twins(N, D), *wide = twins(N, WIDE), *points = normal_rows(8, POINTS, WIDE, 0, 1);
    double *many = normal_rows(3, MANY, D, 0, 1);
    float *floats = as_floats(wide, (int64_t)N * WIDE);
    struct spread_fit base = {.method = "nystroem",
                              .kernel = "rbf:sigma=2",
                              .components = 5,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x,
                              .landmarks = points,
                              .landmark_count = POINTS},
                      f;
    (void)state;
    memcpy(points, x, (size_t)10 * D * sizeof *x);
    memcpy(points + (size_t)20 * D, x, (size_t)10 * D * sizeof *x);
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        f = base;
        f.method = methods[k];
        check_fit(f);
    }
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        f = base;
        f.n = counts[k];
        f.center = counts[k] < 2 ? "none" : NULL;
        f.components = counts[k] < 10 ? 1 : 5;
        check_fit(f);
        f.landmark_count = 1;
        f.components = 1;
        check_fit(f);
    }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        f.center = "none";
        check_fit(f);
        f.center = "span";
        f.scale = "standard";
        check_fit(f);
    }
    f = base;
    f.kernel = "rbf";
    f.components = 0.8;
    check_fit(f);
    f = base;
    f.n = MANY;
    f.x = many;
    check_fit(f);
    f = base;
    f.d = WIDE;
    f.x = floats;
    f.dtype = MERCER_F32;
    f.kernel = "rbf:sigma=6";
    check_fit(f);
    free(x);
    free(wide);
    free(points);
    free(many);
    free(floats);
}

/* Points that are chosen among the rows of all ranks; of twins the one of the lower row. */
static void test_rkpca(void **state)
{
    enum { N = 3077, D = 3, WIDE = 40, MANY = 20123 };
    static const int64_t counts[] = {2, 257, 1025, 2499, 2500, 3077};
    static const char *const kernels[] = {"poly:degree=2", "linear", "0.5*rbf:sigma=9 + 2*linear"};
    double *x = twins(N, D), *wide = twins(N, WIDE), *many = ring_rows(3, MANY);
    float *floats = as_floats(wide, (int64_t)N * WIDE);
    struct spread_fit base = {.method = "rkpca:points=25",
                              .kernel = "rbf:sigma=4",
                              .components = 5,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x},
                      f;
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int s = 0; s < 2; s++) {
            f = base;
            f.n = counts[k];
            f.components = counts[k] < 10 ? 1 : 5;
            f.store = s ? "lowrank" : NULL;
            check_fit(f);
        }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        f.center = "none";
        f.components = 3;
        check_fit(f);
        f.center = "span";
        f.scale = "standard";
        check_fit(f);
    }
    f = base;
    f.method = "rkpca"; /* three points per component */
    f.kernel = "rbf:sigma=9";
    check_fit(f);
    f.method = "rkpca:points=400"; /* more than the matrix has rank */
    check_fit(f);
    f = base;
    f.d = WIDE;
    f.x = floats;
    f.dtype = MERCER_F32;
    f.method = "rkpca:points=10";
    f.kernel = "poly:degree=1,coef0=1";
    check_fit(f);
    f = base;
    f.n = MANY;
    f.d = 2;
    f.x = many;
    f.method = "rkpca:points=60";
    check_fit(f);
    for (int64_t i = 0; i < 2 * (int64_t)MANY; i++) /* a few rows again and again */
        many[i] = many[i % 200];
    if (all_of_it)
        check_fit(f);
    free(x);
    free(wide);
    free(many);
    free(floats);
}

/* Sparse rows of which some are empty, some equal to one in another part, some columns in nearly
 * all rows, others in few or none, and the last ones in only the last rows; whole: no value is
 * below zero. */
static struct entries sparse_rows(int64_t n, int64_t d, bool whole)
{
    double *x = normal_rows(21, n, d, 0, 1), *u = normal_rows(22, n, d, 0, 1);
    struct entries e;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) {
            const double often = j < 3 ? 1 : j < 5 ? -0.9 : j == d / 2 ? -9 : -1.6;
            const bool last = j >= d - 2, twin = i >= n / 2 && i % 5 == 0;
            double *to = x + i * d + j;
            if (twin)
                *to = x[(i - n / 2) * d + j];
            else if (u[i * d + j] > often || (i % 97 == 13) || (last && i < n - 200))
                *to = 0;
            else if (whole)
                *to = fabs(*to);
            at += *to != 0;
        }
    e.start = calloc((size_t)n + 1, sizeof *e.start);
    e.column = malloc((size_t)(at + n) * sizeof *e.column);
    e.value = malloc((size_t)(at + n) * sizeof *e.value);
    assert_true(e.start && e.column && e.value);
    at = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < d; j++)
            if (x[i * d + j] != 0 || (i % 50 == 7 && j == 1)) { /* zeroes may be entries, too */
                e.column[at] = (int32_t)j;
                e.value[at++] = x[i * d + j] == 0 ? -0.0 : x[i * d + j];
            }
        e.start[i + 1] = at;
    }
    free(x);
    free(u);
    return e;
}

static void free_entries(struct entries *e)
{
    free(e->start);
    free(e->column);
    free(e->value);
}

static void test_sparse_rows(void **state)
{
    enum { N = 3077, D = 12, WIDE = 400, MANY = 20123 };
    static const int64_t counts[] = {1, 2, 255, 257, 1025, 2499, 2500, 3077};
    struct entries e = sparse_rows(N, D, false), wide = sparse_rows(N, WIDE, false);
    struct entries whole = sparse_rows(N, D, true), many = sparse_rows(MANY, D, false);
    struct spread_fit base = {.method = "kpca",
                              .kernel = "rbf:sigma=12",
                              .components = 5,
                              .n = N,
                              .d = D,
                              .sparse = &e,
                              .tolerance = 1e-4,
                              .store = "lowrank"},
                      f;
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int s = 0; s < 2; s++) {
            f = base;
            f.n = counts[k];
            f.center = counts[k] < 2 ? "none" : NULL;
            f.components = counts[k] < 10 ? 1 : 5;
            f.store = s ? "lowrank" : NULL;
            check_fit(f);
        }
    static const char *const kernels[] = {"poly:degree=2", "poly:degree=2,coef0=0",
                                          "0.5*rbf:sigma=20 + 2*poly:degree=1,coef0=1",
                                          "rq:sigma=40", "rbf:sigma=20 * poly:degree=1,coef0=1"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        check_fit(f);
        f.center = "none";
        f.scale = "unit";
        check_fit(f);
    }
    f = base;
    f.kernel = "rbf"; /* the median distance */
    f.tolerance = 1e-2;
    check_fit(f);
    f.tolerance = 0; /* the store that auto takes */
    f.store = NULL;
    f.kernel = "rbf:sigma=60";
    check_fit(f);
    f = base;
    f.sparse = &whole;
    f.kernel = "rbf:sigma=4";
    f.scale = "minmax";
    check_fit(f);
    f.components = 0.9;
    f.scale = "unit";
    f.kernel = "poly:degree=2";
    check_fit(f);
    f.kernel = "intersection";
    f.components = 3;
    f.tolerance = 0.01;
    check_fit(f);
    f.kernel = "laplacian:gamma=0.001";
    f.scale = NULL;
    f.n = all_of_it ? N : 1300; /* two parts */
    check_fit(f);
    f = base;
    f.n = MANY;
    f.sparse = &many;
    f.kernel = "poly:degree=3";
    f.tolerance = 0;
    check_fit(f);
    free_entries(&e);
    free_entries(&wide);
    free_entries(&whole);
    free_entries(&many);
}

/* A linear kernel, of whose matrix there are products: sums that ranks hand on, a solver. */
static void test_products_of_sparse_rows(void **state)
{
    enum { N = 3077, D = 12, WIDE = 400, MANY = 20123, OUT = 9 };
    static const int64_t counts[] = {500, 1025, 2499, 2500, 3077};
    struct entries e = sparse_rows(N, D, false), wide = sparse_rows(N, WIDE, false);
    struct entries whole = sparse_rows(N, D, true), many = sparse_rows(MANY, 40, false);
    double *y = normal_rows(11, MANY, OUT, 5, 1);
    int64_t *codes = malloc((size_t)MANY * sizeof *codes);
    struct spread_fit base = {.method = "pca", .components = 3, .n = N, .d = WIDE, .sparse = &wide},
                      f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < MANY; i++)
        codes[i] = i < 1100 ? i % 2 : i < 2800 ? 2 + i % 3 % 2 : 4;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        f = base;
        f.n = counts[k];
        f.store = counts[k] < 2500 ? "lowrank" : NULL;
        f.method = "kpca";
        f.kernel = "linear";
        check_fit(f);
        f.center = "none";
        f.components = 9;
        check_fit(f);
        f.store = NULL;
        f.method = "kpls";
        f.values = y;
        f.outputs = 1;
        check_fit(f);
    }
    f = base;
    f.components = 30; /* blocks of 16 */
    f.scale = "unit";
    check_fit(f);
    f.sparse = &e; /* more than there are: vectors that are rounding */
    f.d = D;
    check_fit(f);
    f.center = "none";
    f.tolerance = 1e-3;
    f.components = 5;
    check_fit(f);
    f = base;
    f.d = D;
    f.sparse = &whole;
    f.scale = "minmax";
    check_fit(f);
    f.head = "ls";
    f.values = y;
    f.outputs = OUT;
    check_fit(f);
    f = base;
    f.n = MANY;
    f.d = 40;
    f.sparse = &many;
    f.components = 5;
    check_fit(f);
    f.method = "pls";
    f.values = y;
    f.outputs = OUT;
    check_fit(f);
    f = base;
    f.method = "pls:discriminant=on";
    f.codes = codes;
    check_fit(f);
    f.method = "kpls";
    f.kernel = "linear";
    f.components = 40; /* more than the targets have use for */
    f.sparse = &e;
    f.d = D;
    check_fit(f);
    f.components = MERCER_COMPONENTS_BOUND;
    check_fit(f);
    free(y);
    free(codes);
    free_entries(&e);
    free_entries(&wide);
    free_entries(&whole);
    free_entries(&many);
}

/* Ridge regression on products with sparse rows of a linear kernel: gradients, a preconditioner
 * made of rows that are drawn, and features as a map of the columns. */
static void test_regression_of_sparse_rows(void **state)
{
    enum { N = 3077, D = 12, WIDE = 400, WIDER = 1500, MANY = 20123, OUT = 9 };
    static const int64_t counts[] = {257, 1025, 2499, 2500, 3077};
    struct entries e = sparse_rows(N, D, false), wide = sparse_rows(N, WIDE, false);
    struct entries wider = sparse_rows(N, WIDER, false), many = sparse_rows(MANY, 40, false);
    double *y = normal_rows(11, MANY, OUT, 5, 1);
    int64_t *codes = malloc((size_t)MANY * sizeof *codes);
    struct spread_fit base = {.method = "krr",
                              .kernel = "linear",
                              .n = N,
                              .d = WIDE,
                              .sparse = &wide,
                              .values = y,
                              .outputs = 1},
                      f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < MANY; i++)
        codes[i] = i < 1100 ? i % 2 : i < 2800 ? 2 + i % 3 % 2 : 4;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int given = 0; given < 2; given++) {
            f = base;
            f.n = counts[k];
            f.store = counts[k] < 2500 ? "lowrank" : NULL;
            f.method = given ? "krr:ridge=1e-4" : "krr";
            f.outputs = given ? OUT : 2;
            check_fit(f);
            f.center = "none";
            f.values = NULL;
            f.codes = codes;
            check_fit(f);
            f.center = NULL;
            f.method = given ? "kfd:ridge=1e-6" : "kfd";
            check_fit(f);
        }
    f = base;
    f.scale = "unit";
    f.outputs = OUT;
    check_fit(f);
    f.head = "ls";
    check_fit(f);
    f = base; /* fewer columns than are drawn in a step */
    f.sparse = &e;
    f.d = D;
    check_fit(f);
    f.center = "none";
    f.values = NULL;
    f.codes = codes;
    check_fit(f);
    f.method = "kfd";
    f.center = "span";
    f.components = 2;
    check_fit(f);
    f = base; /* the rows drawn leave some of the matrix */
    f.n = all_of_it ? N : 2500;
    f.sparse = &wider;
    f.d = WIDER;
    check_fit(f);
    f = base;
    f.n = MANY; /* rows that one rank cuts otherwise */
    f.d = 40;
    f.sparse = &many;
    f.outputs = 3;
    check_fit(f);
    for (int64_t i = 0; i < MANY; i++)
        codes[i] = i < 8 ? i : i % 7;
    f.method = "kfd";
    f.values = NULL;
    f.codes = codes;
    check_fit(f);
    free(y);
    free(codes);
    free_entries(&e);
    free_entries(&wide);
    free_entries(&wider);
    free_entries(&many);
}

/* Rows that are chosen by what they add to the variance captured, likewise. */
static void test_rows_of_products(void **state)
{
    enum { N = 3077, D = 12, WIDE = 400, FEW = 1300 };
    static const int64_t counts[] = {257, 1300, 2500, 3077};
    struct entries e = sparse_rows(N, D, false), wide = sparse_rows(N, WIDE, false);
    struct spread_fit base = {.method = "rkpca",
                              .kernel = "linear",
                              .components = 3,
                              .n = N,
                              .d = WIDE,
                              .sparse = &wide},
                      f;
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        f = base;
        f.n = counts[k];
        f.store = counts[k] < 2500 ? "lowrank" : NULL;
        f.method = k % 2 ? "rkpca:points=20" : "rkpca";
        check_fit(f);
        f.center = "none";
        f.scale = k % 2 ? "unit" : NULL;
        check_fit(f);
    }
    f = base; /* more points than there are, of which the last have rounding left */
    f.sparse = &e;
    f.d = D;
    f.n = FEW;
    f.store = "lowrank";
    f.method = "rkpca:points=20";
    check_fit(f);
    f.center = "none";
    check_fit(f);
    free_entries(&e);
    free_entries(&wide);
}

/* Rows whose columns match the labels best, among all sparse rows of a linear kernel. */
static void test_matches_of_sparse_rows(void **state)
{
    enum { N = 3077, D = 12, WIDE = 400, OUT = 9, FEW = 1300 };
    static const int64_t counts[] = {257, 1300, 2499, 2500, 3077};
    static const char *const methods[] = {"smc", "sma"};
    struct entries e = sparse_rows(N, D, false), wide = sparse_rows(N, WIDE, false);
    double *y = normal_rows(11, N, OUT, 5, 1);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    struct spread_fit base = {.kernel = "linear",
                              .components = 5,
                              .n = N,
                              .d = WIDE,
                              .sparse = &wide,
                              .values = y,
                              .outputs = 1},
                      f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++)
        codes[i] = i < 1100 ? i % 2 : i < 2800 ? 2 + i % 3 % 2 : 4;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        base.method = methods[m];
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            f = base;
            f.n = counts[k];
            f.store = counts[k] < 2500 ? "lowrank" : NULL;
            f.outputs = k % 2 ? OUT : 1;
            check_fit(f);
            f.values = NULL;
            f.codes = codes;
            f.scale = k % 2 ? "unit" : NULL;
            f.head = k % 2 ? "ls" : "centre";
            check_fit(f);
        }
        f = base; /* more than there are: what ends it depends on lengths */
        f.sparse = &e;
        f.d = D;
        f.n = FEW;
        f.store = "lowrank";
        f.components = 2 * D;
        check_fit(f);
        f.components = 0.2; /* a share of the targets */
        f.outputs = 2;
        check_fit(f);
    }
    free(y);
    free(codes);
    free_entries(&e);
    free_entries(&wide);
}

static void test_points_of_sparse_rows(void **state)
{
    enum { N = 3077, WIDE = 400, POINTS = 60, MANY = 20123, NARROW = 12 };
    static const int64_t counts[] = {1, 2, 257, 2499, 2500, 3077};
    static const char *const methods[] = {"nystroem", "rkpca", "greedy"};
    static const char *const kernels[] = {
        "poly:degree=2",       "linear", "cosine", "sigmoid", "0.5*rbf:sigma=9 + 2*linear",
        "laplacian:gamma=0.01"};
    struct entries wide = sparse_rows(N, WIDE, false), many = sparse_rows(MANY, NARROW, false);
    double *points = normal_rows(8, POINTS, WIDE, 0, 1);
    struct spread_fit base = {.method = "nystroem:points=70",
                              .kernel = "rbf:sigma=9",
                              .components = 5,
                              .n = N,
                              .d = WIDE,
                              .sparse = &wide},
                      f;
    (void)state;
    for (int64_t i = 0; i < (int64_t)POINTS * WIDE; i++)
        points[i] = fabs(points[i]) < 1.5 ? 0 : points[i];
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        f = base;
        f.n = counts[k];
        f.center = counts[k] < 2 ? "none" : NULL;
        f.components = counts[k] < 10 ? 1 : 5;
        check_fit(f);
        f.method = "nystroem";
        f.landmarks = points;
        f.landmark_count = POINTS;
        check_fit(f);
    }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        f.center = "none";
        check_fit(f);
        f.center = "span";
        f.scale = "unit";
        check_fit(f);
        f.landmarks = points;
        f.landmark_count = POINTS;
        f.method = "nystroem";
        check_fit(f);
    }
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        f = base;
        f.method = methods[k];
        f.landmarks = points;
        f.landmark_count = POINTS;
        check_fit(f);
        f.kernel = "linear";
        check_fit(f);
    }
    f = base;
    f.kernel = "rbf"; /* a learnt width, and as many points as a share takes */
    f.method = "nystroem";
    f.components = 0.5;
    check_fit(f);
    f = base;
    f.method = "nystroem:points=250"; /* sums on two grids */
    f.n = MANY;
    f.d = NARROW;
    f.sparse = &many;
    check_fit(f);
    f.method = "nystroem:points=250";
    f.kernel = "linear";
    check_fit(f);
    free(points);
    free_entries(&wide);
    free_entries(&many);
}

/* Points that are drawn by what the others leave of the rows of all ranks. */
static void test_points_by_what_is_left(void **state)
{
    enum { N = 3077, D = 3, WIDE = 400, MANY = 20123 };
    static const int64_t counts[] = {2, 257, 2500, 3077};
    static const char *const kernels[] = {"poly:degree=2", "linear", "cosine",
                                          "laplacian:gamma=0.1", "0.5*rbf:sigma=9 + 2*linear"};
    double *x = twins(N, D), *many = normal_rows(4, MANY, 2, 0, 1);
    struct entries wide = sparse_rows(N, WIDE, false);
    float *floats = as_floats(x, (int64_t)N * D);
    struct spread_fit base = {.method = "nystroem:sampling=rpcholesky,points=70",
                              .kernel = "rbf:sigma=2",
                              .components = 5,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x},
                      f;
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        f = base;
        f.n = counts[k];
        f.components = counts[k] < 10 ? 1 : 5;
        check_fit(f);
    }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k]; /* some have fewer points than are asked for */
        f.scale = k % 2 ? "standard" : NULL;
        f.center = k % 2 ? "none" : "span";
        check_fit(f);
        f.sparse = &wide;
        f.d = WIDE;
        f.scale = k % 2 ? "unit" : NULL;
        check_fit(f);
    }
    f = base;
    f.dtype = MERCER_F32;
    f.x = floats;
    f.kernel = "rbf"; /* a learnt width, and as many points as a share takes */
    f.method = "nystroem:sampling=rpcholesky";
    f.components = 0.5;
    check_fit(f);
    f = base;
    f.n = MANY;
    f.d = 2;
    f.x = many;
    f.kernel = "rbf:sigma=0.2";
    f.method = "nystroem:sampling=rpcholesky,points=250"; /* sums on two grids */
    check_fit(f);
    free(x);
    free(many);
    free(floats);
    free_entries(&wide);
}

static void test_sparse_rows_with_targets(void **state)
{
    enum { N = 3077, D = 12, OUT = 2 };
    static const int64_t counts[] = {257, 2499, 2500, 3077};
    static const char *const methods[] = {"krr", "kfd", "rkpca:points=25", "kpls", "smc", "sma"};
    struct entries e = sparse_rows(N, D, false);
    double *y = normal_rows(11, N, OUT, 5, 1);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    struct spread_fit base = {.kernel = "poly:degree=2", .n = N, .d = D, .sparse = &e}, f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++)
        codes[i] = i < 1100 ? i % 2 : i < 2800 ? 2 + i % 3 % 2 : 4;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            f = base;
            f.n = counts[k];
            f.method = methods[m];
            f.store = counts[k] < 2500 ? "lowrank" : NULL;
            f.codes = codes;
            f.components = strcmp(methods[m], "krr") == 0 || strcmp(methods[m], "kfd") == 0 ? 0 : 5;
            if (strcmp(methods[m], "kpls") == 0)
                f.head = "ls";
            check_fit(f);
            if (strcmp(methods[m], "krr") == 0) {
                f.values = y;
                f.codes = NULL;
                f.outputs = OUT;
                f.scale = "unit";
                f.kernel = "poly:degree=1,coef0=1";
                check_fit(f);
            }
        }
    f = base;
    f.method = "kpca";
    f.components = 4;
    f.codes = codes;
    f.head = "centre";
    check_fit(f);
    free(y);
    free(codes);
    free_entries(&e);
}

/* Targets of the rows that a rank has: values, and classes of which some ranks have not all. */
static void test_krr(void **state)
{
    enum { N = 3077, D = 3, OUT = 2 };
    static const int64_t counts[] = {2, 257, 2499, 2500, 3077};
    static const char *const kernels[] = {"linear", "poly:degree=2", "0.5*rbf:sigma=9 + 2*linear"};
    double *x = twins(N, D), *y = normal_rows(11, N, OUT, 5, 1);
    float *floats = as_floats(x, (int64_t)N * D);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    struct spread_fit base = {.method = "krr",
                              .kernel = "rbf:sigma=9",
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x,
                              .values = y,
                              .outputs = OUT,
                              .store = "lowrank"},
                      f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++) {
        y[i * OUT] += x[i * D] * x[i * D];
        codes[i] = i < 1100 ? (x[i * D] > 0) : i < 2800 ? 2 + (x[i * D + 1] > 0) : 4;
    }
    codes[0] = 0;
    codes[1] = 1;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int s = 0; s < 2; s++) {
            f = base;
            f.n = counts[k];
            f.store = s ? "lowrank" : NULL;
            f.method = s ? "krr:ridge=0.01" : "krr";
            if (f.n < 10)
                f.kernel = "rbf:sigma=0.1";
            check_fit(f);
            f.values = NULL;
            f.codes = codes;
            check_fit(f);
        }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        f.scale = "standard";
        check_fit(f);
        f.center = "none";
        f.values = NULL;
        f.codes = codes;
        check_fit(f);
    }
    f = base;
    f.dtype = MERCER_F32;
    f.x = floats;
    f.kernel = "rbf";
    check_fit(f);
    free(x);
    free(y);
    free(floats);
    free(codes);
}

/* Classes of which some are on one rank alone, and more of them than are handed on at a time. */
static void test_kfd(void **state)
{
    enum { N = 3077, D = 3, MANY = 20123 };
    static const int64_t counts[] = {257, 2499, 2500, 3077};
    static const char *const kernels[] = {"linear", "poly:degree=2", "0.5*rbf:sigma=9 + 2*linear"};
    double *x = twins(N, D), *many = normal_rows(4, MANY, 2, 0, 1);
    float *floats = as_floats(x, (int64_t)N * D);
    int64_t *codes = malloc((size_t)MANY * sizeof *codes);
    struct spread_fit base = {.method = "kfd",
                              .kernel = "rbf:sigma=9",
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x,
                              .codes = codes,
                              .store = "lowrank"},
                      f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++)
        codes[i] = i < 1100 ? (x[i * D] > 0) : i < 2800 ? 2 + (x[i * D + 1] > 0) : 4;
    codes[0] = 0;
    codes[1] = 1;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int s = 0; s < 2; s++) {
            f = base;
            f.n = counts[k];
            f.store = s ? "lowrank" : NULL;
            f.method = s ? "kfd:ridge=0.01" : "kfd";
            check_fit(f);
        }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        f.scale = "standard";
        check_fit(f);
        f.center = "span";
        f.components = 1;
        check_fit(f);
    }
    f = base;
    f.dtype = MERCER_F32;
    f.x = floats;
    f.kernel = "rbf";
    check_fit(f);
    f.head = "none";
    check_fit(f);
    /* One row of a class, the last, and two classes, whose products have one column. */
    f = base;
    for (int64_t i = 0; i < N; i++)
        codes[i] = i == N - 1;
    check_fit(f);
    f.method = "kpca";
    f.components = 4;
    f.head = "centre";
    check_fit(f);
    f.components = 0;
    f.method = "krr"; /* whose features another head may take, too */
    f.head = "centre";
    check_fit(f);
    /* As many rows as are cut otherwise on one rank, and the most classes. */
    for (int64_t i = 0; i < MANY; i++)
        codes[i] = i < 8 ? i : (many[i * 2] > 0) + 2 * (many[i * 2 + 1] > 0) + 4 * (i > 20000);
    f = (struct spread_fit){.method = "kfd",
                            .kernel = "poly:degree=3",
                            .n = MANY,
                            .d = 2,
                            .dtype = MERCER_F64,
                            .x = many,
                            .codes = codes};
    check_fit(f);
    free(x);
    free(many);
    free(floats);
    free(codes);
}

/* Features learnt one after the other, with the heads that predict from them. */
static void check_deflation(const char *method)
{
    const bool is_kpls = strcmp(method, "kpls") == 0, is_smc = strcmp(method, "smc") == 0;
    enum { N = 3077, D = 3, OUT = 2, MANY = 17123, FEW = 3500, WIDE = 40 };
    static const int64_t counts[] = {2, 257, 2499, 2500, 3077};
    static const char *const kernels[] = {"poly:degree=2", "0.5*rbf:sigma=9 + 2*linear", "rbf"};
    double *x = twins(N, D), *y = normal_rows(11, N, OUT, 5, 1), *ring = ring_rows(3, MANY),
           *targets = normal_rows(12, FEW, WIDE, 0, 1);
    float *floats = as_floats(x, (int64_t)N * D);
    int64_t *codes = malloc((size_t)MANY * sizeof *codes);
    struct spread_fit base = {.method = method,
                              .kernel = "rbf:sigma=9",
                              .components = 5,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x,
                              .values = y,
                              .outputs = OUT,
                              .store = "lowrank"},
                      f;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++) {
        y[i * OUT] += x[i * D] * x[i * D];
        codes[i] = i < 1100 ? (x[i * D] > 0) : i < 2800 ? 2 + (x[i * D + 1] > 0) : 4;
    }
    codes[0] = 0;
    codes[1] = 1;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int s = 0; s < 2; s++) {
            f = base;
            f.n = counts[k];
            f.store = s ? "lowrank" : NULL;
            if (f.n < 10)
                f.kernel = "rbf:sigma=0.1";
            f.components = f.n < 10 ? 1 : 5;
            check_fit(f);
            f.values = NULL;
            f.codes = codes;
            check_fit(f);
        }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        f = base;
        f.kernel = kernels[k];
        f.scale = "standard";
        f.center = k == 1 ? "none" : NULL;
        check_fit(f);
        /* A share of the targets. Where it is not reached, smc and sma try every row in turn. */
        f.components = is_kpls ? 0.6 : 0.2;
        f.values = NULL;
        f.codes = codes;
        if (all_of_it || k == (is_smc ? 2 : 1)) /* the others take hundreds of features */
            check_fit(f);
    }
    f = base;
    f.components = MERCER_COMPONENTS_BOUND;
    if (!is_smc && (all_of_it || is_kpls)) /* smc then tries every row in turn */
        check_fit(f);
    f = base;
    f.kernel = "linear";
    f.components = 2;
    if (is_kpls)
        f.store = NULL; /* products go through the rows */
    check_fit(f);
    f = base;
    f.kernel = "poly:degree=1,coef0=1"; /* more than there are: what ends it depends on lengths */
    f.components = 9;
    f.n = 1100; /* smc tries every row in turn */
    check_fit(f);
    f = base;
    f.dtype = MERCER_F32;
    f.x = floats;
    f.head = "none";
    check_fit(f);
    f.values = NULL;
    f.codes = codes;
    f.head = "centre";
    check_fit(f);
    /* Two classes, one of a single row, the last. */
    for (int64_t i = 0; i < N; i++)
        codes[i] = i == N - 1;
    f.head = NULL;
    check_fit(f);
    /* Many rows and targets, and features whose blocks end within the rows of a rank. */
    f = (struct spread_fit){.method = method,
                            .kernel = "rbf:sigma=4",
                            .components = 30,
                            .n = FEW,
                            .d = 2,
                            .dtype = MERCER_F64,
                            .x = ring,
                            .values = targets,
                            .outputs = WIDE};
    check_fit(f);
    f.n = MANY;
    f.values = NULL;
    for (int64_t i = 0; i < MANY; i++)
        codes[i] = i < 8 ? i : (ring[i * 2] > 0) + 2 * (ring[i * 2 + 1] > 0) + 4 * (i > 17000);
    f.codes = codes;
    f.components = 8;
    if (all_of_it || is_kpls)
        check_fit(f);
    free(x);
    free(y);
    free(ring);
    free(targets);
    free(floats);
    free(codes);
}

static void test_kpls(void **state)
{
    (void)state;
    check_deflation("kpls");
}

static void test_kpls_of_classes_that_weigh_the_same(void **state)
{
    enum { N = 3077, D = 3 };
    double *x = twins(N, D);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    (void)state;
    assert_non_null(codes);
    for (int64_t classes = 2; classes < 6; classes += 3) {
        for (int64_t i = 0; i < N; i++)
            codes[i] = i < classes ? i : x[i * D] > 1 ? classes - 1 : i % 2;
        struct spread_fit f = {.method = "kpls:discriminant=on",
                               .kernel = "rbf:sigma=9",
                               .components = 4,
                               .n = N,
                               .d = D,
                               .dtype = MERCER_F64,
                               .x = x,
                               .codes = codes};
        check_fit(f);
    }
    free(x);
    free(codes);
}

/* Products through the rows: parts of them that begin on one rank and end on another one. */
static void test_pls(void **state)
{
    enum { N = 20123, D = 6, WIDE = 40, OUT = 9 };
    static const int64_t counts[] = {2, 257, 2499, 2500, 3077, 20123};
    double *x = twins(N, D), *wide = twins(3077, WIDE), *y = normal_rows(11, N, OUT, 5, 1);
    float *floats = as_floats(wide, (int64_t)3077 * WIDE);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    struct spread_fit base = {.method = "pls",
                              .components = 3,
                              .n = 3077,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x,
                              .values = y,
                              .outputs = 2},
                      f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++) {
        y[i * OUT] += x[i * D];
        codes[i] = i < 3 ? i : (x[i * D] > 0) + (i > 2000);
    }
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        f = base;
        f.n = counts[k];
        f.components = f.n < 10 ? 1 : 3;
        check_fit(f);
        f.values = NULL;
        f.codes = codes;
        f.scale = "standard";
        check_fit(f);
    }
    f = base;
    f.components = 12; /* more than there are columns: what ends it depends on lengths */
    check_fit(f);
    f.components = MERCER_COMPONENTS_BOUND;
    check_fit(f);
    f = base;
    f.outputs = OUT;
    f.center = "none";
    check_fit(f);
    f.method = "kpls";
    f.kernel = "linear";
    check_fit(f);
    f = base;
    f.method = "pls:discriminant=on";
    f.values = NULL;
    f.codes = codes;
    check_fit(f);
    f = base;
    f.x = wide;
    f.d = WIDE;
    check_fit(f);
    f.x = floats;
    f.dtype = MERCER_F32;
    f.components = 45;
    check_fit(f);
    for (int64_t i = 0; i < (int64_t)3077 * D; i++)
        x[i] *= 1e90; /* squares of kernel values are out of range */
    f = base;
    check_fit(f);
    free(x);
    free(wide);
    free(y);
    free(floats);
    free(codes);
}

static void test_smc(void **state)
{
    (void)state;
    check_deflation("smc");
}

static void test_sma(void **state)
{
    (void)state;
    check_deflation("sma");
}

/* Rows that are drawn among those of all ranks: their columns alone, of a matrix of any rank, and
 * with a factor; so few that others must be drawn, and twins of them. */
static void test_candidates(void **state)
{
    enum { N = 3077, D = 3, WIDE = 400, OUT = 2 };
    static const int64_t counts[] = {257, 1100, 2499, 2500, 3077};
    static const char *const methods[] = {"smc:candidates=59", "sma:candidates=59",
                                          "smc:candidates=1", "sma:candidates=2"};
    static const char *const kernels[] = {"rbf:sigma=0.2", "poly:degree=2", "linear", "sigmoid",
                                          "0.5*rbf:sigma=1 + 2*linear"};
    static const char *const products[] = {"linear", "cosine", "rbf:sigma=3", "poly:degree=2"};
    double *x = twins(N, D), *y = normal_rows(11, N, OUT, 5, 1);
    float *floats = as_floats(x, (int64_t)N * D);
    struct entries wide = sparse_rows(N, WIDE, false);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    struct spread_fit base = {.kernel = "rbf:sigma=1",
                              .components = 6,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x,
                              .values = y,
                              .outputs = OUT},
                      f;
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++) {
        y[i * OUT] += x[i * D] * x[i * D];
        codes[i] = i < 1100 ? i % 2 : i < 2800 ? 2 + i % 3 % 2 : 4;
    }
    for (size_t m = 0; m < (all_of_it ? sizeof methods / sizeof *methods : 2); m++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            f = base;
            f.method = methods[m];
            f.n = counts[k];
            f.store = counts[k] < 2500 ? "lowrank" : NULL;
            f.kernel = f.store ? "rbf:sigma=9" : "rbf:sigma=1";
            check_fit(f);
        }
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            f = base;
            f.method = methods[m];
            f.kernel = kernels[k];
            check_fit(f);
            f.values = NULL;
            f.codes = codes;
            f.scale = "standard";
            check_fit(f);
        }
        for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
            f = base;
            f.method = methods[m];
            f.kernel = products[k];
            f.d = WIDE;
            f.sparse = &wide;
            f.components = 12;
            check_fit(f);
        }
        f = base;
        f.method = methods[m];
        f.dtype = MERCER_F32;
        f.x = floats;
        check_fit(f);
    }
    f = base;
    f.method = "sma:candidates=700"; /* so many that the matrix is held */
    f.kernel = "rbf:sigma=9";
    check_fit(f);
    f.method = "sma:candidates=40"; /* more features than the matrix has rank, or nearly so */
    f.kernel = "poly:degree=1,coef0=1";
    f.components = 9;
    f.store = "lowrank";
    check_fit(f);
    free(x);
    free(y);
    free(floats);
    free(codes);
    free_entries(&wide);
}

/* Bytes that the first rank sends in a fit with a given number of features. */
static int64_t sent_with(struct spread_fit f, double components, int size)
{
    int64_t sent[MAX_RANKS] = {0};
    struct rank ranks[MAX_RANKS] = {0};
    f.components = components;
    f.bytes = NULL; /* of another fit */
    f.sent = sent;
    run_fit(&f, size, 1, ranks);
    for (int r = 0; r < size; r++)
        assert_int_equal(ranks[r].rc, MERCER_OK);
    return sent[0];
}

/* What docs/scale-out.md says of it: the bytes of more features. */
static void test_what_features_send(void **state)
{
    enum { N = 6000, D = 3, OUT = 2, FEW = 3, MORE = 9, SIZE = 3 };
    double *x = normal_rows(9, N, D, 0, 1), *y = normal_rows(11, N, OUT, 5, 1);
    const double parts = (double)mrc_parts(N);
    struct spread_fit f = {.method = "kpls",
                           .kernel = "rbf:sigma=6",
                           .head = "none",
                           .components = FEW,
                           .n = N,
                           .d = D,
                           .dtype = MERCER_F64,
                           .x = x,
                           .values = y,
                           .outputs = OUT};
    (void)state;
    fit_alone(&f, 1);
    double expected = 8 * parts * (MORE * MORE - FEW * FEW), q = (double)f.report.store_rank;
    for (int j = FEW; j < MORE; j++)
        expected += 8 * parts * (q * (OUT + 1) + OUT * OUT + j) + 8 * SIZE * (2 * OUT + 10);
    double found = (double)(sent_with(f, MORE, SIZE) - sent_with(f, FEW, SIZE));
    if (found < expected || found > 1.1 * expected + 16 * 50 * (MORE - FEW))
        fail_msg("%.0f bytes, %.0f expected", found, expected);
    mercer_free(f.bytes);
    free(x);
    free(y);
}

/* ---- bytes that are sent: the tables of docs/scale-out.md, added up ---- */

/* What a fit sends on these ranks, without the 16 bytes by which they agree before an exchange. */
static double payload(struct spread_fit f, int size)
{
    enum { AGREEMENT = 16 };
    const int64_t sent = sent_with(f, f.components, size);
    return (double)(sent - exchanges_made / 2 * AGREEMENT);
}

static void check_near(const char *what, int size, double found, double expected, double slack)
{
    if (fabs(found - expected) > slack * expected)
        fail_msg("%s on %d ranks: %.0f bytes, %.0f expected", what, size, found, expected);
}

static void check_sent(const struct spread_fit *f, int size, double expected, double slack)
{
    check_near(f->method, size, payload(*f, size), expected, slack);
}

/* The sizes that the tables have, for rows of which all products are added up part by part. */
struct table {
    double parts, ranks, d, q, k, c;
};

static double inner_of(const struct table *t)
{
    return 8 * t->q * t->q * t->parts;
}

static double points_of(const struct table *t)
{
    return 8 * t->q * (t->d + t->q);
}

/* What kernel PCA sends beyond its factor. */
static double pca_sends(const struct table *t, bool centered)
{
    return (centered ? 16 * t->q * t->parts : 0) + inner_of(t) + 8 * t->k * (t->q + t->ranks) +
           points_of(t);
}

/* What the steps of a factor send: there are about q / 2 columns in one of them. */
static double steps_send(const struct table *t, int64_t steps)
{
    return (double)steps * (8 * t->parts + 2072 * t->ranks + 1024 * (t->d + t->q / 2 + 1) + 2184);
}

/* What features of kpls, smc and sma send; rows: how many are tried for each. */
static double features_send(const struct table *t, bool combines, double again, double rows)
{
    double sum = 8 * t->ranks * (3 * t->c + t->k) + 8 * t->k * t->k * t->parts +
                 8 * t->c * t->c * t->parts + 8 * t->q * t->c * t->parts;
    for (double j = 0; j < t->k; j++)
        sum += 8 * t->q * t->c * t->parts +
               (combines ? 8 * t->c * (t->c * t->parts + 1) : rows * (16 * t->ranks + 8 * t->q)) +
               (j > 0 ? again * 8 * t->q * t->parts : 0) + 8 * j * t->parts +
               8 * t->ranks * (2 * t->c + 10);
    return sum;
}

static void test_what_fits_send(void **state)
{
    enum { N = 6000, D = 3, M = 50, K = 5, FEW = 3000, WIDE = 1600, NARROW = 300, OUT = 3, W = 8 };
    static const int sizes[] = {2, 3, 7};
    double *x = normal_rows(9, N, D, 0, 1);
    struct entries wide = sparse_rows(FEW, WIDE, false), narrow = sparse_rows(FEW, NARROW, false);
    const double parts = (double)mrc_parts(N);
    struct spread_fit base = {.method = "kpca",
                              .kernel = "rbf:sigma=4",
                              .components = K,
                              .n = N,
                              .d = D,
                              .dtype = MERCER_F64,
                              .x = x};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const double ranks = sizes[s];
        struct spread_fit f = base;
        fit_alone(&f, 1);
        const struct table t = {parts, ranks, D, (double)f.report.store_rank, K, 0};
        mercer_free(f.bytes);
        f.bytes = NULL;
        const double found = payload(f, sizes[s]);
        assert_in_range(steps_made, (uint64_t)(t.q / 16), (uint64_t)(t.q / 8));
        check_near("kpca", sizes[s], found, steps_send(&t, steps_made) + pca_sends(&t, true), 0.1);
        f = base;
        f.method = "nystroem:points=50";
        check_sent(&f, sizes[s],
                   16 * M * ranks + 16 * M * D + 24 * M * (M + 1) + 24 * (M + ranks) +
                       8 * M * parts + 8 * M * M * parts,
                   0.05);
        f.method = "nystroem:sampling=rpcholesky,points=50";
        check_sent(&f, sizes[s],
                   M / 12. * (280 * ranks + 8 * parts + 128 * (D + M / 2.) + 4300) +
                       8 * M * (D + 2 * M) + 32 * M * parts + 8 * M * M * parts + 8 * M * (M + 1),
                   0.2);
        f = base;
        f.method = "pca";
        f.kernel = "linear";
        f.components = 3;
        f.n = FEW;
        f.d = WIDE;
        f.sparse = &wide;
        fit_alone(&f, 1);
        const double products = 8 * WIDE * W * ranks * (double)f.report.passes;
        mercer_free(f.bytes);
        f.bytes = NULL;
        check_sent(&f, sizes[s], products, 0.3);
        f = base;
        f.method = "krr";
        f.kernel = "linear";
        f.components = 0;
        f.n = FEW;
        f.d = NARROW;
        f.sparse = &narrow;
        f.values = x;
        f.outputs = OUT;
        fit_alone(&f, 1);
        const double r = NARROW, few = (double)mrc_parts(FEW), passes = (double)f.report.passes;
        const double drawn =
            280 * ranks + 8 * few + 128 * r / 2 + 4400 + 256 * (double)narrow.start[FEW] / FEW;
        mercer_free(f.bytes);
        check_sent(&f, sizes[s],
                   r / 12 * drawn + 8 * r * r * few + 8 * r * (r + 1) + 16 * r * OUT * few +
                       120 * ranks + passes * (8 * NARROW * W + 64 * OUT) * ranks +
                       passes * 8 * r * OUT * (few + 1) + 8 * NARROW * OUT * ranks,
                   0.1);
    }
    free(x);
    free_entries(&wide);
    free_entries(&narrow);
}

/* Tables of what is sent beyond the factor, which kernel PCA tells: the same rows are its pivots.
 */
static void test_what_is_sent_beyond_a_factor(void **state)
{
    enum { N = 6000, D = 3, K = 4, C = 3, POINTS = 8 };
    static const int sizes[] = {2, 3, 7};
    static const char *const centers[] = {"none", "span"};
    double *x = normal_rows(9, N, D, 0, 1), *y = normal_rows(11, N, C, 5, 1);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    const struct spread_fit base = {.method = "kpca",
                                    .kernel = "rbf:sigma=4",
                                    .head = "none",
                                    .components = K,
                                    .n = N,
                                    .d = D,
                                    .dtype = MERCER_F64,
                                    .x = x};
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++)
        codes[i] = i % C;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const double ranks = sizes[s];
        struct table t[2];
        double factor[2];
        struct spread_fit f;
        for (int centered = 0; centered < 2; centered++) {
            f = base;
            f.center = centers[centered];
            fit_alone(&f, 1);
            mercer_free(f.bytes);
            f.bytes = NULL;
            t[centered] =
                (struct table){(double)mrc_parts(N), ranks, D, (double)f.report.store_rank, K, C};
            factor[centered] = payload(f, sizes[s]) - pca_sends(&t[centered], centered);
        }
        const double q = t[1].q, parts = t[1].parts;
        const double means = 16 * q * parts;
        const double shared = means + inner_of(&t[1]) + points_of(&t[1]) + 8 * q * (q + 1) +
                              56 * C * ranks + 32 * q * C * (parts + 1) + 120 * ranks +
                              128 * (D + q + C * ranks);
        f = base;
        f.method = "krr";
        f.head = "direct";
        f.components = 0;
        f.values = y;
        f.outputs = C;
        check_near("krr", sizes[s], payload(f, sizes[s]) - factor[1],
                   shared + points_of(&t[1]) + 256 * (D + q), 0.001);
        f = base;
        f.method = "kfd";
        f.head = "centre";
        f.components = 0;
        f.codes = codes;
        const double l = C - 1;
        check_near("kfd", sizes[s], payload(f, sizes[s]) - factor[1],
                   shared + 8 * C * C * ranks + 8 * C * (C + 1) + 8 * l * (C + 3) * ranks +
                       8 * l * (C * ranks + 1) + 8 * C,
                   0.001);
        f = base;
        f.method = "kpls";
        f.values = y;
        f.outputs = C;
        check_near("kpls", sizes[s], payload(f, sizes[s]) - factor[1],
                   means + inner_of(&t[1]) + points_of(&t[1]) + features_send(&t[1], true, 0, 0) +
                       8 * q * K * parts,
                   0.001);
        f.method = "smc";
        check_near("smc", sizes[s], payload(f, sizes[s]) - factor[0],
                   inner_of(&t[0]) + features_send(&t[0], false, 0, 1) + 8 * D * K, 0.002);
        f.method = "sma";
        check_near("sma", sizes[s], payload(f, sizes[s]) - factor[0],
                   2 * inner_of(&t[0]) + features_send(&t[0], false, 1, 1) + 8 * D * K, 0.002);
        f = base;
        f.method = "rkpca:points=8"; /* few enough that hardly a row is in doubt */
        f.center = "none";
        const double q0 = t[0].q;
        check_near("rkpca", sizes[s], payload(f, sizes[s]) - factor[0],
                   8 * q0 * parts + inner_of(&t[0]) + 8 * q0 * q0 +
                       POINTS * (400 * ranks + 8 * (3 * q0 + 2 * POINTS)) + 16 * POINTS * POINTS +
                       8 * POINTS * parts + 8 * POINTS * POINTS * parts + 8 * POINTS * (POINTS + 1),
                   0.01);
    }
    free(x);
    free(y);
    free(codes);
}

/* Fits without a factor: the difference that features or a head make. */
static void test_what_is_sent_without_a_factor(void **state)
{
    enum { N = 6000, D = 27, FEW = 2, MORE = 5, C = 12, DRAWN = 40 };
    static const int sizes[] = {2, 3, 7};
    double *x = normal_rows(9, N, D, 0, 1), *y = normal_rows(11, N, C, 5, 1);
    const struct spread_fit base = {.kernel = "rbf:sigma=4",
                                    .head = "none",
                                    .components = FEW,
                                    .n = N,
                                    .d = D,
                                    .dtype = MERCER_F64,
                                    .x = x,
                                    .values = y,
                                    .outputs = C};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct table t = {(double)mrc_parts(N), sizes[s], D, 0, FEW, C};
        struct spread_fit f = base;
        f.method = "pls";
        f.kernel = NULL;
        double found = -payload(f, sizes[s]), expected = -features_send(&t, true, 0, 0);
        f.components = MORE;
        t.k = MORE;
        found += payload(f, sizes[s]);
        expected += features_send(&t, true, 0, 0) +
                    (MORE - FEW) * (8 * D * 16 * t.parts + 16 * C * t.ranks);
        check_near("pls", sizes[s], found, expected, 0.05);
        f = base;
        f.method = "sma:candidates=40";
        found = -payload(f, sizes[s]);
        t.k = FEW;
        expected = -features_send(&t, false, 0, 0);
        f.components = MORE;
        t.k = MORE;
        found += payload(f, sizes[s]);
        expected += features_send(&t, false, 0, 0);
        for (int j = FEW; j < MORE; j++)
            expected += DRAWN * (16 * t.ranks + 8 * D + 8 * (C + j) * t.parts);
        check_near("sma:candidates", sizes[s], found, expected, 0.1);
        for (int l = 3; l <= 80; l += 77) { /* rows that wait for a block, and whole blocks */
            const int64_t w = 1 + l + C, block = 4 * w > 256 ? 4 * w : 256;
            f = base;
            f.method = "nystroem:points=100";
            f.components = l;
            found = -payload(f, sizes[s]);
            f.head = "ls";
            found += payload(f, sizes[s]);
            expected = (double)(8 * l * (l + C + 1) + 8 * C + 16 * l * sizes[s]);
            for (int r = 0; r < sizes[s]; r++) {
                const mrc_span span = mrc_span_of_rank(N, r, sizes[s]);
                expected += (double)(8 * w * (w + (span.first + span.n) % block));
            }
            check_near("ls", sizes[s], found, expected, 0.05);
        }
    }
    free(x);
    free(y);
}

/* Least squares on the features of a method that does not look at targets. */
static void test_head_ls(void **state)
{
    enum { N = 5000, D = 3, OUT = 2 };
    double *x = twins(N, D), *y = normal_rows(11, N, OUT, 5, 1);
    struct spread_fit f = {.method = "kpca",
                           .kernel = "rbf:sigma=9",
                           .head = "ls",
                           .components = 6,
                           .n = N,
                           .d = D,
                           .dtype = MERCER_F64,
                           .x = x,
                           .values = y,
                           .outputs = OUT};
    (void)state;
    check_fit(f);
    f.components = 70; /* blocks of more rows than a strip */
    check_fit(f);
    f.method = "krr"; /* correlated features */
    f.components = 0;
    check_fit(f);
    free(x);
    free(y);
}

/* Enough rows and columns for sums on two grids. */
static void test_many_rows(void **state)
{
    enum { N = 20123 };
    double *x = ring_rows(3, N);
    struct spread_fit f = {.method = "kpca",
                           .kernel = "rbf:sigma=4",
                           .components = 10,
                           .n = N,
                           .d = 2,
                           .dtype = MERCER_F64,
                           .x = x};
    (void)state;
    check_fit(f);
    assert_true(mrc_sum_is_wide(&(mrc_span){.total = N}, (int64_t)250 * 250));
    free(x);
}

/* ---- what is refused ---- */

static void check_refusal(const struct spread_fit *f, mercer_status expected, const char *words)
{
    for (int size = 2; size < 4; size++) {
        struct spread_fit mine = *f;
        struct rank ranks[MAX_RANKS] = {0};
        bool told = false;
        run_fit(&mine, size, 1, ranks);
        for (int r = 0; r < size; r++) {
            if (ranks[r].rc == MERCER_OK)
                fail_msg("%s: rank %d of %d took it", words, r, size);
            if (ranks[r].rc == expected)
                told = true;
            if (!strstr(ranks[r].why.text, words))
                fail_msg("rank %d: '%s' instead of '%s'", r, ranks[r].why.text, words);
        }
        assert_true(told);
    }
}

/* Multiples of one row are equal rows once each is scaled: no rank learns from the rounding. One
 * row that is not a multiple is seen by all, also by those that have none. */
static void test_multiples_of_a_row(void **state)
{
    enum { D = 3, MOST = 2700 };
    static const int64_t counts[] = {2, 257, MOST};
    static const int sizes[] = {1, 2, 3, 7};
    double *x = normal_rows(5, MOST, D, 0, 1), *factor = normal_rows(6, MOST, 1, 0, 3);
    struct entries e = {.start = calloc(MOST + 1, sizeof *e.start),
                        .column = calloc((size_t)MOST * D, sizeof *e.column),
                        .value = x};
    (void)state;
    assert_true(e.start && e.column);
    for (int64_t i = 0; i < MOST * D; i++) {
        x[i] = exp(factor[i / D]) * (i % D == 1 ? -0.3 : 0.1 + (double)(i % D));
        e.column[i] = (int32_t)(i % D);
        e.start[i / D + 1] = i + 1;
    }
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int way = 0; way < 3; way++) {
            struct spread_fit f = {.method = "kpca",
                                   .kernel = "rbf:sigma=1e-16",
                                   .scale = way == 1 ? "rowstandard" : "unit",
                                   .components = 1,
                                   .n = counts[k],
                                   .d = D,
                                   .dtype = MERCER_F64,
                                   .x = x,
                                   .sparse = way == 2 ? &e : NULL};
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                struct rank ranks[MAX_RANKS] = {0};
                run_fit(&f, sizes[s], 1, ranks);
                for (int r = 0; r < sizes[s]; r++)
                    if (ranks[r].rc == MERCER_OK || !strstr(ranks[r].why.text, "do not differ"))
                        fail_msg("%s, way %d, %lld rows, rank %d of %d: '%s'", f.scale, way,
                                 (long long)f.n, r, sizes[s], ranks[r].why.text);
            }
            x[(f.n - 1) * D] *= -3;
            f.kernel = "rbf:sigma=1";
            check_fit(f);
            x[(f.n - 1) * D] /= -3;
        }
    free(x);
    free(factor);
    free(e.start);
    free(e.column);
}

static void test_what_is_not_spread_is_refused(void **state)
{
    enum { N = 3000, D = 3 };
    double *x = normal_rows(9, N, D, 0, 1), *bad = normal_rows(9, N, D, 0, 1);
    const struct spread_fit base = {.method = "kpca",
                                    .kernel = "rbf:sigma=6",
                                    .components = 4,
                                    .n = N,
                                    .d = D,
                                    .dtype = MERCER_F64,
                                    .x = x};
    struct spread_fit f;
    (void)state;
    static const char *const methods[] = {"akfa", "tipping", "kica", "skpls", "ikpca"};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        f = base;
        f.method = methods[k];
        check_refusal(&f, MERCER_ERR_ARGUMENT, "spread over ranks");
    }
    f = base;
    f.method = "kpca:groups=3";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "groups cannot be set");
    f.method = "kpca:points=all";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "points cannot be set");
    static const char *const samplings[] = {"nystroem:sampling=kmeans", "nystroem:sampling=greedy"};
    for (size_t k = 0; k < sizeof samplings / sizeof *samplings; k++) {
        f.method = samplings[k];
        check_refusal(&f, MERCER_ERR_ARGUMENT, "sampling=uniform");
    }
    f.method = "greedy";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "give it landmarks");
    f.method = "kpls:points=all";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "points cannot be set");
    f.method = "sma:sparsity=2";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "sparsity cannot be set");
    f.method = "sma";
    f.center = "exact";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "use center none");
    f = base;
    f.method = "pls";
    f.kernel = NULL;
    f.store = "lowrank";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "leave it out");
    f.store = NULL;
    f.components = 0.9;
    check_refusal(&f, MERCER_ERR_ARGUMENT, "give a number of components");
    f = base;
    f.method = "kpls";
    f.head = "knn";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "head: not possible");
    f = base;
    static const char *const refined[] = {"rkpca:criterion=top", "rkpca:captured=0.5",
                                          "rkpca:points=1"};
    for (size_t k = 0; k < sizeof refined / sizeof *refined; k++) {
        f.method = refined[k];
        check_refusal(&f, MERCER_ERR_ARGUMENT, "criterion=trace");
    }
    f.method = "rkpca";
    f.components = 0.9;
    check_refusal(&f, MERCER_ERR_ARGUMENT, "criterion=trace");
    f = base;
    f.method = "rkpca";
    f.center = "exact";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "use center span");
    f = base;
    f.method = "rkpca";
    f.kernel = "rbf:sigma=0.01";
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "need a low-rank kernel matrix");
    f = base;
    f.method = "rkpca";
    f.landmarks = x;
    f.landmark_count = 9;
    f.store = "lowrank";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "leave it out");
    f = base;
    f.method = "nystroem";
    f.center = "exact";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "use center span");
    f.center = NULL;
    f.store = "lowrank";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "leave it out");
    f = base;
    f.store = "dense";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "a store other than lowrank");
    f = base;
    f.scale = "robust";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "scale robust");
    f = base;
    f.kernel = "precomputed";
    check_refusal(&f, MERCER_ERR_ARGUMENT, "kernel precomputed");
    f = base;
    f.kernel = "rbf:sigma=0.01"; /* like the identity */
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "need a low-rank kernel matrix");
    f.kernel = "sigmoid";
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "not positive semidefinite");
    /* Sparse rows of a dot product, whose matrix is products with all of them. */
    struct entries e = sparse_rows(N, D, false);
    f = base;
    f.sparse = &e;
    f.kernel = "cosine";
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "linear with scale unit");
    f.method = "pca";
    f.kernel = NULL;
    f.components = 0.9;
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "only products with the matrix");
    f.components = 4;
    f.n = 300;
    f.store = "lowrank";
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "only products with the matrix");
    f.n = N;
    f.store = NULL;
    f.d = 1 << 20; /* columns that no row has */
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "the model would hold");
    f.method = "krr";
    f.kernel = "linear";
    f.components = 0;
    f.values = x;
    f.outputs = 1;
    check_refusal(&f, MERCER_ERR_UNSUPPORTED, "the model would hold");
    f.d = D;
    int64_t codes[N];
    for (int64_t i = 0; i < N; i++)
        codes[i] = i % 2;
    f.method = "kfd:ridge=0";
    f.values = NULL;
    f.codes = codes;
    check_refusal(&f, MERCER_ERR_ARGUMENT, "ridge 0 needs the low-rank store");
    f.codes = NULL;
    f.values = x;
    f.method = "kpls";
    f.components = 0.9;
    check_refusal(&f, MERCER_ERR_ARGUMENT, "give a number of components");
    f.components = 4;
    f.values = NULL;
    f.kernel = "rbf:sigma=6";
    f.method = "kpca";
    f.scale = "standard";
    check_refusal(&f, MERCER_ERR_DATA, "unit keeps");
    f.scale = "minmax";
    check_refusal(&f, MERCER_ERR_DATA, "unit keeps");
    f.scale = NULL;
    f.kernel = "intersection";
    check_refusal(&f, MERCER_ERR_DATA, "takes values >= 0 only");
    e.value[e.start[2900]] = NAN;
    check_refusal(&f, MERCER_ERR_DATA, "row 2901, column");
    free_entries(&e);
    /* What one rank has in its rows, counted in those of the table. */
    bad[2999 * D + 2] = NAN;
    f = base;
    f.x = bad;
    check_refusal(&f, MERCER_ERR_DATA, "row 3000, column 3: nan is not finite");
    bad[2999 * D + 2] = 1e200;
    f.kernel = "poly:degree=3";
    check_refusal(&f, MERCER_ERR_DATA, "row 3000");
    for (int64_t i = 0; i < (int64_t)N * D; i++)
        bad[i] = 3;
    f.kernel = "rbf:sigma=6";
    check_refusal(&f, MERCER_ERR_DATA, "zero to rounding");
    free(x);
    free(bad);
}

static mercer_status take_for_all(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    const struct spread_fit *f = rank->arg;
    mercer_fit_options options = options_of(f);
    mercer_evaluate_options how;
    mercer_rows *rows = NULL, *scaled = NULL;
    mercer_evaluation *evaluation = NULL;
    char *text = NULL;
    int64_t first = 0, count = 0;
    mercer_status rc = MERCER_OK;
    mercer_evaluate_options_init(&how);
    how.fit = &options;
    MRC_TRY(mercer_ctx_part(ctx, f->n, &first, &count, err));
    mercer_array array = array_of(f, first, count + 1);
    assert_int_equal(mercer_rows_view_part(ctx, &array, f->n, &rows, err), MERCER_ERR_ARGUMENT);
    array = array_of(f, first, count);
    assert_int_equal(mercer_rows_view_part(ctx, &array, 0, &rows, err), MERCER_ERR_ARGUMENT);
    MRC_TRY(mercer_rows_view_part(ctx, &array, f->n, &rows, err));
    assert_int_equal(mercer_rows_scale(ctx, rows, "standard", &scaled, err),
                     MERCER_ERR_UNSUPPORTED);
    assert_int_equal(mercer_rows_checksum(rows, &text, err), MERCER_ERR_UNSUPPORTED);
    assert_int_equal(mercer_evaluate(ctx, &how, rows, NULL, &evaluation, err),
                     MERCER_ERR_UNSUPPORTED);
    assert_int_equal(mercer_tune(ctx, &how, rows, NULL, &evaluation, err), MERCER_ERR_UNSUPPORTED);
    if (count < f->n) { /* a context without ranks would see only these rows */
        mercer_ctx *other = new_ctx(1);
        mercer_model *model = NULL;
        assert_int_equal(mercer_fit(other, &options, rows, NULL, &model, NULL, err),
                         MERCER_ERR_ARGUMENT);
        mercer_ctx_free(other);
    }
out:
    mercer_rows_free(rows);
    return rc;
}

static void test_a_part_is_not_taken_for_all(void **state)
{
    double *x = normal_rows(9, 600, 2, 0, 1);
    struct spread_fit f = {.method = "kpca", .n = 599, .d = 2, .dtype = MERCER_F64, .x = x};
    (void)state;
    for (int size = 1; size < 4; size++) {
        struct rank_world world = {.size = size, .fail_rank = -1};
        struct rank ranks[MAX_RANKS] = {0};
        for (int r = 0; r < size; r++) {
            ranks[r].fail_alloc = -1;
            ranks[r].arg = &f;
        }
        run_ranks(&world, ranks, take_for_all);
        for (int r = 0; r < size; r++)
            assert_int_equal(ranks[r].rc, MERCER_OK);
    }
    free(x);
}

/* Ranks that mean different fits. */
static void test_calls_must_be_the_same(void **state)
{
    double *x = normal_rows(9, 3000, 2, 0, 1);
    struct spread_fit f[3];
    struct rank_world world = {.size = 3, .fail_rank = -1};
    struct rank ranks[MAX_RANKS] = {0};
    (void)state;
    for (int r = 0; r < 3; r++) {
        f[r] = (struct spread_fit){.method = "kpca",
                                   .kernel = r == 2 ? "rbf:sigma=3" : "rbf:sigma=4",
                                   .components = 3,
                                   .n = 3000,
                                   .d = 2,
                                   .dtype = MERCER_F64,
                                   .x = x,
                                   .threads = 1};
        ranks[r].fail_alloc = -1;
        ranks[r].arg = &f[r];
    }
    run_ranks(&world, ranks, fit_here);
    assert_int_equal(ranks[2].rc, MERCER_ERR_DATA);
    assert_int_equal(ranks[0].rc, MERCER_ERR_PEER);
    assert_non_null(strstr(ranks[0].why.text, "rank 2: the options"));
    /* Landmarks are compared, too. */
    memset(ranks, 0, sizeof ranks);
    for (int r = 0; r < 3; r++) {
        f[r].method = "nystroem";
        f[r].kernel = "rbf:sigma=4";
        f[r].landmarks = r == 1 ? x + 2 : x;
        f[r].landmark_count = 20;
        ranks[r].fail_alloc = -1;
        ranks[r].arg = &f[r];
    }
    run_ranks(&world, ranks, fit_here);
    assert_int_equal(ranks[1].rc, MERCER_ERR_DATA);
    assert_int_equal(ranks[0].rc, MERCER_ERR_PEER);
    free(x);
}

/* ---- failures ---- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What fails on one rank: its allocation k, or its exchange k. */
enum failing { AN_ALLOCATION, AN_EXCHANGE };

/* Fail once, and say whether it came to that: all ranks end then with an error, and have nothing
 * left; else all have the model of one rank. */
static bool fail_once(struct spread_fit *f, enum failing what, int size, int failing, int64_t k)
{
    struct rank_world world = {
        .size = size, .fail_rank = what == AN_EXCHANGE ? failing : -1, .fail_call = k};
    struct rank ranks[MAX_RANKS] = {0};
    const int64_t live = mrc_alloc_live();
    for (int r = 0; r < size; r++) {
        ranks[r].fail_alloc = what == AN_ALLOCATION && r == failing ? k : -1;
        ranks[r].arg = f;
    }
    run_ranks(&world, ranks, fit_here);
    const bool failed = what == AN_ALLOCATION ? ranks[failing].alloc_failed : world.lost;
    const mercer_status its = what == AN_ALLOCATION ? MERCER_ERR_MEMORY : MERCER_ERR_IO;
    for (int r = 0; r < size; r++) {
        const struct rank *rank = &ranks[r];
        const mercer_status expected = !failed ? MERCER_OK : r == failing ? its : MERCER_ERR_PEER;
        if (rank->rc != expected || (failed && (rank->why.code != expected || !rank->why.text[0])))
            fail_msg("%s, %s %lld of rank %d: rank %d has %d (%d) '%s'", f->method,
                     what == AN_ALLOCATION ? "allocation" : "exchange", (long long)k, failing, r,
                     (int)rank->rc, (int)rank->why.code, rank->why.text);
    }
    if (mrc_alloc_live() != live)
        fail_msg("%s, %s %lld of rank %d: %lld blocks are left", f->method,
                 what == AN_ALLOCATION ? "allocation" : "exchange", (long long)k, failing,
                 (long long)(mrc_alloc_live() - live));
    return failed;
}

static int64_t failures[2];

/* Allocations of a rank fail in turn, and so do exchanges: all of the first, some of the others; of
 * `every` all of one rank, which is another one in the next fit. */
static void fail_everywhere(struct spread_fit f)
{
    enum { SIZE = 3 };
    static int turn;
    const int64_t share = all_of_it ? 8 : 2;
    const int only = turn++ % SIZE;
    const double start = seconds();
    int64_t calls[2] = {0};
    fit_alone(&f, 1);
    for (int failing = 0; failing < SIZE; failing++)
        for (int what = AN_ALLOCATION; what <= AN_EXCHANGE && (!every || failing == only); what++) {
            int64_t k = 0;
            for (; fail_once(&f, (enum failing)what, SIZE, failing, k); failures[what]++)
                k += every ? 1 : 1 + k / share;
            calls[what] = k;
        }
    if (every)
        printf("%s%s, rank %d: %lld allocations, %lld exchanges, %.0f s\n", f.method,
               f.sparse ? ", sparse rows" : "", only, (long long)calls[AN_ALLOCATION],
               (long long)calls[AN_EXCHANGE], seconds() - start);
    fflush(stdout);
    mercer_free(f.bytes);
}

static void test_failures_end_all_ranks(void **state)
{
    enum { N = 2600, D = 3 };
    double *x = normal_rows(9, N, D, 0, 1);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    const struct {
        const char *method;
        double components;
        const double *values;
        const int64_t *codes;
        int64_t landmarks;
        bool sparse;
    } fits[] = {{"kpca", 3, NULL, NULL, 0, false},
                {"nystroem:points=20", 3, NULL, NULL, 0, false},
                {"rkpca", 3, NULL, NULL, 20, false},
                {"rkpca", 3, NULL, NULL, 0, false},
                {"krr", 0, x, NULL, 0, false},
                {"kfd", 0, NULL, codes, 0, false},
                {"kpls", 3, x, NULL, 0, false},
                {"kpls:discriminant=on", 3, NULL, codes, 0, false},
                {"smc", 3, NULL, codes, 0, false},
                {"sma", 3, x, NULL, 0, false},
                {"sma:candidates=20", 3, x, NULL, 0, false},
                {"smc:candidates=20", 3, x, NULL, 0, true},
                {"pls", 2, x, NULL, 0, false},
                {"kpca", 3, NULL, NULL, 0, true},
                {"pca", 2, NULL, NULL, 0, true},
                {"pls", 2, x, NULL, 0, true},
                {"nystroem:points=20", 3, NULL, NULL, 0, true},
                {"kpls", 3, x, NULL, 0, true}};
    struct entries e = sparse_rows(N, D, true);
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++)
        codes[i] = i % 3;
    for (size_t k = 0; k < sizeof fits / sizeof *fits; k++)
        fail_everywhere((struct spread_fit){.method = fits[k].method,
                                            .kernel = strcmp(fits[k].method, "pls") == 0 ||
                                                              strcmp(fits[k].method, "pca") == 0
                                                          ? NULL
                                                          : "rbf:sigma=20",
                                            .scale = fits[k].sparse ? "minmax" : "standard",
                                            .sparse = fits[k].sparse ? &e : NULL,
                                            .components = fits[k].components,
                                            .n = N,
                                            .d = D,
                                            .dtype = MERCER_F64,
                                            .x = x,
                                            .values = fits[k].values,
                                            .outputs = 1,
                                            .codes = fits[k].codes,
                                            .landmarks = fits[k].landmarks ? x : NULL,
                                            .landmark_count = fits[k].landmarks,
                                            .threads = 1});
    printf("%lld allocations and %lld exchanges failed\n", (long long)failures[AN_ALLOCATION],
           (long long)failures[AN_EXCHANGE]);
    free_entries(&e);
    free(x);
    free(codes);
}

/* The same where rows are drawn by what is left of them, for themselves or to precondition, and
 * where rows are chosen by products. */
static void test_failures_where_rows_are_drawn(void **state)
{
    enum { N = 2600, D = 3 };
    double *x = normal_rows(9, N, D, 0, 1);
    int64_t *codes = malloc((size_t)N * sizeof *codes);
    struct entries e = sparse_rows(N, D, true);
    struct spread_fit f = {.method = "krr",
                           .kernel = "linear",
                           .n = N,
                           .d = D,
                           .sparse = &e,
                           .values = x,
                           .outputs = 1,
                           .threads = 1};
    (void)state;
    assert_non_null(codes);
    for (int64_t i = 0; i < N; i++)
        codes[i] = i % 3;
    fail_everywhere(f);
    f.method = "kfd:ridge=0.1";
    f.values = NULL;
    f.codes = codes;
    fail_everywhere(f);
    f.method = "sma";
    f.components = 2;
    fail_everywhere(f);
    f.method = "rkpca:points=2";
    f.codes = NULL;
    fail_everywhere(f);
    f.method = "nystroem:sampling=rpcholesky,points=20";
    f.kernel = "rbf:sigma=2";
    f.components = 3;
    f.codes = NULL;
    fail_everywhere(f);
    free_entries(&e);
    free(x);
    free(codes);
}

int main(int argc, char **argv)
{
    all_of_it = argc > 1 && strcmp(argv[1], "all") == 0;
    every = argc > 1 && strcmp(argv[1], "every") == 0;
    if (every)
        cmocka_set_test_filter("test_failures_end_all_ranks");
    else if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_kernels_and_options),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_nystroem),
        cmocka_unit_test(test_krr),
        cmocka_unit_test(test_kfd),
        cmocka_unit_test(test_kpls),
        cmocka_unit_test(test_kpls_of_classes_that_weigh_the_same),
        cmocka_unit_test(test_pls),
        cmocka_unit_test(test_smc),
        cmocka_unit_test(test_sma),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_head_ls),
        cmocka_unit_test(test_what_features_send),
        cmocka_unit_test(test_what_fits_send),
        cmocka_unit_test(test_what_is_sent_beyond_a_factor),
        cmocka_unit_test(test_what_is_sent_without_a_factor),
        cmocka_unit_test(test_points_by_what_is_left),
        cmocka_unit_test(test_nystroem_of_many_rows),
        cmocka_unit_test(test_landmarks),
        cmocka_unit_test(test_rkpca),
        cmocka_unit_test(test_sparse_rows),
        cmocka_unit_test(test_products_of_sparse_rows),
        cmocka_unit_test(test_regression_of_sparse_rows),
        cmocka_unit_test(test_rows_of_products),
        cmocka_unit_test(test_matches_of_sparse_rows),
        cmocka_unit_test(test_points_of_sparse_rows),
        cmocka_unit_test(test_sparse_rows_with_targets),
        cmocka_unit_test(test_multiples_of_a_row),
        cmocka_unit_test(test_what_is_not_spread_is_refused),
        cmocka_unit_test(test_a_part_is_not_taken_for_all),
        cmocka_unit_test(test_calls_must_be_the_same),
        cmocka_unit_test(test_failures_end_all_ranks),
        cmocka_unit_test(test_failures_where_rows_are_drawn),
        cmocka_unit_test(test_all_ranks_and_threads_were_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
