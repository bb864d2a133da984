/* SPDX-License-Identifier: BSD-3-Clause */
/* Every store of the Gram operator against the matrix written out. */
#include "ranks.h"

#include "gram/store.h"
#include "kernel/simd.h"

#include <pthread.h>
#include <stdio.h>

struct store_case {
    const char *kernel;
    int64_t n, d;
    double center, spread;
    const mrc_store *store;
    bool single;
};

/* Sizes that are not multiples of the tile, one tile, several tiles, an odd and an even number of
 * them; smooth and rough kernels; small and large dimension; data far from the origin. */
static const struct store_case cases[] = {
    {"rbf:sigma=4", 300, 2, 0, 3, &mrc_store_dense, false},
    {"rbf:sigma=4", 520, 2, 0, 3, &mrc_store_stream, false},
    {"rbf:sigma=4", 520, 2, 0, 3, &mrc_store_lowrank, false},
    {"rbf:sigma=0.1", 600, 3, 0, 3, &mrc_store_dense, false},
    {"rbf:sigma=0.1", 600, 3, 0, 3, &mrc_store_stream, false},
    {"rbf:sigma=5", 530, 20, 1000, 1, &mrc_store_dense, false},
    {"rbf:sigma=5", 530, 20, 1000, 1, &mrc_store_stream, false},
    {"rbf:sigma=20", 530, 20, 1000, 1, &mrc_store_lowrank, false},
    {"poly:gamma=0.3,coef0=1,degree=2", 520, 4, 0, 1, &mrc_store_stream, false},
    {"poly:gamma=0.3,coef0=1,degree=2", 520, 4, 0, 1, &mrc_store_lowrank, false},
    {"linear", 300, 5, 1, 1, &mrc_store_lowrank, false},
    {"linear", 257, 300, 1, 1, &mrc_store_dense, false},
    {"cosine", 300, 5, 1, 1, &mrc_store_lowrank, false},
    {"cosine", 300, 5, 1, 1, &mrc_store_stream, false},
    {"sigmoid:gamma=0.1,coef0=-0.5", 300, 5, 0, 1, &mrc_store_dense, false},
    {"laplacian:gamma=0.3", 270, 3, 0, 1, &mrc_store_dense, false},
    {"laplacian:gamma=0.05", 130, 37, 1000, 1, &mrc_store_stream, false},
    {"laplacian:gamma=0.05", 130, 37, 0, 1, &mrc_store_lowrank, false},
    {"exponential:sigma=2", 270, 3, 0, 1, &mrc_store_stream, false},
    {"exponential:gamma=0.5", 130, 20, 1000, 1, &mrc_store_dense, false},
    {"matern:sigma=2,nu=0.5", 130, 20, 0, 1, &mrc_store_dense, false},
    {"matern:sigma=2,nu=1.5", 270, 2, 0, 1, &mrc_store_stream, false},
    {"matern:sigma=3,nu=2.5", 130, 20, 0, 1, &mrc_store_stream, false},
    {"matern:sigma=3,nu=inf", 270, 2, 0, 1, &mrc_store_lowrank, false},
    {"rq:sigma=2,alpha=0.7", 270, 2, 0, 1, &mrc_store_lowrank, false},
    {"rq:sigma=2,alpha=1e5", 130, 20, 0, 1, &mrc_store_stream, false},
    {"chi2:gamma=0.4", 270, 3, 0, 1, &mrc_store_stream, false},
    {"chi2", 130, 33, 0, 0.1, &mrc_store_lowrank, false},
    {"intersection", 270, 5, 0, 1, &mrc_store_dense, false},
    {"intersection", 130, 33, 0, 1, &mrc_store_stream, false},
    {"0.7*rbf:sigma=2 + linear", 270, 3, 0, 1, &mrc_store_lowrank, false},
    {"0.7*rbf:sigma=2 + linear", 270, 30, 0, 1, &mrc_store_stream, false},
    {"rbf:sigma=2*poly:gamma=0.1,degree=2*0.25 + 3", 130, 20, 0, 1, &mrc_store_dense, false},
    {"chi2*laplacian:gamma=0.1 + 2*intersection + cosine", 130, 9, 0, 1, &mrc_store_stream, true},
    {"rbf:sigma=4", 520, 2, 0, 3, &mrc_store_dense, true},
    {"rbf:sigma=4", 520, 2, 0, 3, &mrc_store_stream, true},
    {"rbf:sigma=4", 1, 2, 0, 3, &mrc_store_dense, false},
    {"rbf:sigma=4", 2, 2, 0, 3, &mrc_store_stream, false},
};

static void check_operator(mrc_gram *g, const double *gram, int64_t n, double tolerance)
{
    enum { L = 5, J = 70 };
    int64_t chosen[J], count = n < J ? n : J;
    const double *diag;
    mrc_rng rng;
    double *v = normal_rows(7, n, L, 0, 1), *out = new_doubles(n * (n + L)),
           *expected = new_doubles(n * (n + L));
    unsigned char *mask = calloc((size_t)n, 1);
    double kmax = largest_modulus(gram, n * n), scale = kmax * sqrt((double)n);

    mrc_rng_seed(&rng, 3);
    for (int64_t i = 0; i < count; i++)
        chosen[i] = mrc_rng_below(&rng, n);
    for (int64_t i = 0; i < n; i++)
        mask[i] = mrc_rng_uniform(&rng) < 0.4;

    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < n; t++)
            for (int64_t j = 0; j < L; j++)
                expected[i * L + j] += gram[i * n + t] * v[t * L + j];
    assert_ok(mrc_gram_apply(g, v, L, out, err));
    assert_close(out, expected, n * L, tolerance * scale);
    assert_ok(mrc_gram_apply(g, v, L, out, err)); /* once more, now with known means */
    assert_close(out, expected, n * L, tolerance * scale);
    double *part = new_doubles(count * L);
    for (int64_t i = 0; i < count; i++)
        memcpy(part + i * L, expected + chosen[i] * L, L * sizeof *part);
    assert_ok(mrc_gram_apply_rows(g, chosen, count, v, L, out, err));
    assert_close(out, part, count * L, tolerance * scale);

    assert_ok(mrc_gram_columns(g, chosen, count, out, err));
    for (int64_t i = 0; i < count; i++)
        assert_close(out + i * n, gram + chosen[i] * n, n, tolerance * kmax);

    assert_ok(mrc_gram_diag(g, &diag, err));
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(diag[i] - gram[i * n + i]) <= tolerance * kmax);

    for (int masked = 0; masked < 2; masked++) {
        for (int64_t i = 0; i < n; i++) {
            expected[i] = 0;
            for (int64_t t = 0; t < n; t++)
                expected[i] += masked && !mask[t] ? 0 : gram[i * n + t] * gram[i * n + t];
        }
        double norm = largest_modulus(expected, n);
        assert_ok(mrc_gram_row_norms2(g, NULL, n, masked ? mask : NULL, out, err));
        assert_close(out, expected, n, 8 * tolerance * norm);
        for (int64_t i = 0; i < count; i++)
            part[i] = expected[chosen[i]];
        assert_ok(mrc_gram_row_norms2(g, chosen, count, masked ? mask : NULL, out, err));
        assert_close(out, part, count, 8 * tolerance * norm);
    }
    free(v);
    free(out);
    free(expected);
    free(mask);
    free(part);
}

/* The same matrix given by the caller. */
static void check_given(mercer_ctx *ctx, const mrc_kernel *kernel, const double *x,
                        const struct store_case *k, const double *gram, bool centered)
{
    double *given = naive_gram(kernel, x, k->n, k->d, false);
    mercer_rows *matrix = view(ctx, given, k->n, k->n);
    mrc_kernel precomputed;
    mrc_gram *g = NULL;
    mrc_gram_request request = {.centered = centered};
    assert_ok(mrc_kernel_parse(&precomputed, "precomputed", err));
    assert_ok(mrc_gram_new(&g, ctx, &precomputed, matrix, &request, NULL, err));
    assert_ptr_equal(mrc_gram_store(g), &mrc_store_precomputed);
    check_operator(g, gram, k->n, 2e-12);
    mrc_gram_free(g);
    mercer_rows_free(matrix);
    free(given);
}

static void check_case(const struct store_case *k, uint64_t seed, bool centered, bool sparse)
{
    mercer_ctx *ctx = new_ctx(2);
    double *x = normal_rows(seed, k->n, k->d, k->center, k->spread);
    make_nonnegative(k->kernel, x, k->n * k->d);
    if (sparse)
        thin_out(seed, x, k->n * k->d, 0.7);
    mercer_rows *rows = sparse ? sparse_copy(x, k->n, k->d) : view(ctx, x, k->n, k->d);
    mrc_kernel kernel;
    mrc_gram *g = NULL;
    mrc_gram_request request = {.store = k->store, .single = k->single, .centered = centered};
    mercer_fit_report report = {0};
    print_message("%s n=%lld centred=%d store=%s sparse=%d\n", k->kernel, (long long)k->n, centered,
                  k->store->name, sparse);
    assert_ok(mrc_kernel_parse(&kernel, k->kernel, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    bool dots = mrc_kernel_is_product(&kernel);
    double *gram = naive_gram(&kernel, x, k->n, k->d, centered);
    assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, &report, err));
    assert_ptr_equal(mrc_gram_store(g), sparse && dots && k->store == &mrc_store_lowrank
                                            ? &mrc_store_implicit
                                            : k->store);
    check_operator(g, gram, k->n, k->single ? 1e-6 : 2e-12);
    mrc_gram_free(g);
    if (!sparse)
        check_given(ctx, &kernel, x, k, gram, centered);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(gram);
    free(x);
}

static void test_gram_stores_match_the_matrix(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int centered = 0; centered < 2; centered++)
            for (int sparse = 0; sparse < 2; sparse++)
                check_case(&cases[c], c + 1, centered, sparse);
}

/* Every store that callers may ask for, by its being listed; the toy is one of them. */
static void test_gram_listed_stores_match_the_matrix(void **state)
{
    char words[256], *rest = NULL;
    int stores = 0;
    (void)state;
    snprintf(words, sizeof words, "%s", mrc_store_choices);
    assert_string_equal(strtok_r(words, "|", &rest), "auto");
    for (char *word; (word = strtok_r(NULL, "|", &rest)); stores++) {
        struct store_case k = {"rbf:sigma=4", 300, 2, 0, 3, mrc_store_find(word), false};
        for (int centered = 0; centered < 2; centered++)
            for (int sparse = 0; sparse < 2; sparse++)
                check_case(&k, 1, centered, sparse);
    }
    assert_int_equal(stores, 4);
    assert_ptr_equal(mrc_store_find("toy"), &mrc_store_toy);
    assert_null(mrc_store_find("auto"));
}

/* ---- ranks ---- */

enum {
    RANK_N = 300,
    RANK_L = 3,
    RANK_J = 70,
    RANK_VALUES = RANK_N * RANK_L + RANK_J * RANK_L + RANK_J * RANK_N + RANK_N + RANK_J + RANK_N
};

/* Ranks with a store that holds columns of the matrix each, and one with the whole of it. */
struct shared {
    const double *x;
    const mrc_store *store;
    bool centered;
    double results[RANK_VALUES];
};

/* All that the operator gives, one result after the other. */
static mercer_status operate(struct shared *r, mrc_gram *g, mercer_error *err)
{
    double *v = normal_rows(7, RANK_N, RANK_L, 0, 1), *out = r->results;
    unsigned char mask[RANK_N];
    int64_t chosen[RANK_J];
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < RANK_N; i++)
        mask[i] = i % 3 != 1;
    for (int64_t i = 0; i < RANK_J; i++)
        chosen[i] = i * 37 % RANK_N;
    MRC_TRY(mrc_gram_apply(g, v, RANK_L, out, err));
    out += RANK_N * RANK_L;
    MRC_TRY(mrc_gram_apply_rows(g, chosen, RANK_J, v, RANK_L, out, err));
    out += RANK_J * RANK_L;
    MRC_TRY(mrc_gram_columns(g, chosen, RANK_J, out, err));
    out += RANK_J * RANK_N;
    MRC_TRY(mrc_gram_row_norms2(g, NULL, RANK_N, mask, out, err));
    out += RANK_N;
    MRC_TRY(mrc_gram_row_norms2(g, chosen, RANK_J, NULL, out, err));
    out += RANK_J;
    if (!r->centered)
        MRC_TRY(mrc_gram_row_variances(g, out, err));
out:
    free(v);
    return rc;
}

static mercer_status run_operator(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    struct shared *r = rank->arg;
    mercer_rows *rows = NULL;
    mrc_kernel kernel;
    mrc_gram *g = NULL;
    mrc_gram_request request = {.store = r->store, .centered = r->centered};
    mercer_status rc = MERCER_OK;
    MRC_TRY(view_f64(ctx, r->x, RANK_N, 2, 2, &rows, err));
    MRC_TRY(mrc_kernel_parse(&kernel, "rbf:sigma=4", err));
    MRC_TRY(mrc_kernel_resolve(&kernel, ctx, rows, err));
    MRC_TRY(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
    MRC_TRY(operate(r, g, err));
out:
    mrc_gram_free(g);
    mercer_rows_free(rows);
    return rc;
}

static void test_gram_sums_the_shares_of_ranks(void **state)
{
    enum { SHARING = 3 };
    double *x = ring_rows(5, RANK_N);
    struct shared *of = calloc(SHARING + 1, sizeof *of); /* the last one: the whole matrix */
    (void)state;
    assert_non_null(of);
    for (int centered = 0; centered < 2; centered++) {
        struct rank_world world = {.size = SHARING, .fail_rank = -1}, alone = {.size = 1};
        struct rank ranks[SHARING + 1] = {0};
        for (int r = 0; r <= SHARING; r++) {
            of[r].x = x;
            of[r].store = r < SHARING ? &mrc_store_toy : &mrc_store_dense;
            of[r].centered = centered;
            ranks[r].arg = &of[r];
            ranks[r].fail_alloc = -1;
        }
        run_ranks(&world, ranks, run_operator);
        run_ranks(&alone, ranks + SHARING, run_operator);
        for (int r = 0; r <= SHARING; r++)
            if (ranks[r].rc != MERCER_OK)
                fail_msg("rank %d: %s", r, ranks[r].why.text);
        assert_true(world.exchanges >= 10);
        double size = largest_modulus(of[SHARING].results, RANK_VALUES);
        for (int r = 0; r < SHARING; r++) {
            assert_memory_equal(of[r].results, of[0].results, sizeof of[0].results);
            assert_close(of[r].results, of[SHARING].results, RANK_VALUES, 1e-13 * size);
        }
    }
    free(of);
    free(x);
}

/* The number of threads, and a host's own loop, must not change a bit. */
static void backwards_loop(void *host, int64_t tasks, int threads, mercer_parfor_body body,
                           void *arg)
{
    (void)host, (void)threads;
    for (int64_t i = tasks; i-- > 0;)
        body(arg, i, 0);
}

static void test_gram_is_the_same_for_any_thread_count(void **state)
{
    enum { N = 1500, L = 9 };
    static const mrc_store *const stores[] = {&mrc_store_dense, &mrc_store_stream,
                                              &mrc_store_lowrank};
    (void)state;
    double *x = ring_rows(5, N), *v = normal_rows(2, N, L, 0, 1);
    for (size_t s = 0; s < 3; s++) {
        double *results[4];
        for (int run = 0; run < 4; run++) {
            mercer_ctx *ctx = new_ctx(run == 0 ? 1 : run == 1 ? 2 : 3);
            if (run == 3)
                mercer_ctx_set_parfor(ctx, backwards_loop, NULL);
            mercer_rows *rows = view(ctx, x, N, 2);
            mrc_kernel kernel;
            mrc_gram *g = NULL;
            mrc_gram_request request = {.store = stores[s], .centered = true};
            assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=4", err));
            assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
            assert_ok(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, err));
            results[run] = new_doubles(N * L);
            assert_ok(mrc_gram_apply(g, v, L, results[run], err));
            assert_memory_equal(results[run], results[0], N * L * sizeof(double));
            mrc_gram_free(g);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
        for (int run = 0; run < 4; run++)
            free(results[run]);
    }
    free(x);
    free(v);
}

struct visits {
    int64_t here, all;
    pthread_t caller;
};

static void visit(void *arg, int64_t task, int worker)
{
    struct visits *v = arg;
    (void)task, (void)worker;
    if (pthread_equal(pthread_self(), v->caller))
        v->here++;
    __atomic_add_fetch(&v->all, 1, __ATOMIC_RELAXED);
}

/* Once the others came late, short loops stay on the calling thread for a while. */
static void test_loops_do_not_wait_for_late_threads(void **state)
{
    enum { TASKS = 1000 };
    static const double SHORT = 1e7, LONG = 1e10;
    mercer_ctx *ctx = new_ctx(2);
    (void)state;
    struct visits v = {.caller = pthread_self()};
    ctx->alone_until = INFINITY;
    mrc_parfor_sized(ctx, TASKS, SHORT, visit, &v);
    assert_int_equal(v.here, TASKS);
    mrc_parfor_sized(ctx, TASKS, LONG, visit, &v);
    assert_int_equal(v.all, 2 * TASKS);
    mercer_ctx_free(ctx);
}

static void test_first_below_is_that_of_a_plain_loop(void **state)
{
    enum { COUNT = 100 };
    double row[COUNT];
    (void)state;
    for (int simd = MRC_SIMD_BASELINE; simd <= (int)mrc_simd_detect(); simd++) {
        const mrc_simd_loops *loops = mrc_simd_loops_for((mrc_simd)simd);
        for (int64_t count = 0; count <= COUNT; count++)
            for (int64_t place = 0; place <= count; place += 3) {
                for (int64_t i = 0; i < count; i++)
                    row[i] = i == place || i == place + 5 ? 1 : i % 7 == 0 ? NAN : 2;
                assert_int_equal(loops->first_below(row, count, 2), place < count ? place : count);
                assert_int_equal(loops->first_below(row, count, 1), count);
            }
    }
}

static void test_gram_vector_widths_agree(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=3",
                                          "poly:gamma=0.2,degree=3",
                                          "sigmoid:gamma=0.1",
                                          "cosine",
                                          "laplacian",
                                          "exponential:sigma=2",
                                          "matern:sigma=2,nu=0.5",
                                          "matern:sigma=2",
                                          "matern:sigma=2,nu=2.5",
                                          "matern:sigma=2,nu=inf",
                                          "rq:sigma=2,alpha=0.3",
                                          "rq:sigma=1,alpha=1e9",
                                          "chi2:gamma=0.2",
                                          "intersection",
                                          "0.5*rbf:sigma=3*cosine + 2*laplacian + 0.25"};
    enum { COUNT = sizeof kernels / sizeof *kernels };
    (void)state;
    for (int wide = 0; wide < 2; wide++)
        for (size_t k = 0; k < COUNT; k++) {
            int64_t n = 261, d = wide ? 19 : 3;
            double *x = normal_rows(9, n, d, 0.5, 1), *first = NULL;
            make_nonnegative(kernels[k], x, n * d);
            for (mrc_simd simd = MRC_SIMD_BASELINE; simd <= mrc_simd_detect(); simd++) {
                mercer_ctx *ctx = new_ctx(2);
                ctx->simd = simd;
                mercer_rows *rows = view(ctx, x, n, d);
                mrc_kernel kernel;
                mrc_points points;
                double *tile = new_doubles(n * n);
                assert_ok(mrc_kernel_parse(&kernel, kernels[k], err));
                assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
                assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
                mrc_kernel_tile(&kernel, ctx, &points, 0, n, &points, 0, n, tile, n);
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++) {
                        double exact = naive_kernel(&kernel, x + i * d, x + j * d, d);
                        assert_true(fabs(tile[i * n + j] - exact) <= 1e-13 * fmax(1, fabs(exact)));
                    }
                if (first)
                    assert_close(tile, first, n * n, 1e-12);
                free(first);
                first = tile;
                mrc_points_destroy(&points);
                mercer_rows_free(rows);
                mercer_ctx_free(ctx);
            }
            free(first);
            free(x);
        }
}

/* The exponential behind every Gaussian, at every width: within one unit in the last place. */
static void test_kernel_exponential_is_exact_to_a_unit(void **state)
{
    enum { COUNT = 1003 }; /* not a multiple of any width */
    (void)state;
    for (mrc_simd simd = MRC_SIMD_BASELINE; simd <= mrc_simd_detect(); simd++) {
        const mrc_simd_loops *loops = mrc_simd_loops_for(simd);
        double x[COUNT], y[COUNT], edge[] = {0, 708.5, 1e4, INFINITY};
        mrc_rng rng;
        mrc_rng_seed(&rng, 5);
        for (int round = 0; round < 300; round++) {
            for (int i = 0; i < COUNT; i++) {
                double u = mrc_rng_uniform(&rng);
                x[i] = y[i] = round % 3 == 0 ? 700 * u : round % 3 == 1 ? 3 * u : pow(10, -20 * u);
            }
            loops->exponential(y, COUNT, -1);
            for (int i = 0; i < COUNT; i++) {
                long double exact = expl(-(long double)x[i]);
                assert_true(fabsl(y[i] - exact) <= exact * 0x1p-52L);
            }
        }
        loops->exponential(edge, 4, -1);
        assert_true(edge[0] == 1 && edge[1] == 0 && edge[2] == 0 && edge[3] == 0);
    }
}

/* Pairs of nearly equal rows far from the others: |x|^2 + |y|^2 - 2 x.y alone would lose them. */
static void test_kernel_keeps_small_distances(void **state)
{
    enum { N = 40, D = 30 };
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(4, N, D, 0, 1e6), tile[N * N];
    for (int64_t i = 1; i < N; i += 2)
        for (int64_t k = 0; k < D; k++)
            x[i * D + k] = x[(i - 1) * D + k] + (k == 0 ? 1e-3 : 0);
    mercer_rows *rows = view(ctx, x, N, D);
    mrc_kernel kernel;
    mrc_points points;
    assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=0.001", err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    assert_ok(mrc_points_init(&points, ctx, &kernel, rows, NULL, err));
    mrc_kernel_tile(&kernel, ctx, &points, 0, N, &points, 0, N, tile, N);
    for (int64_t i = 0; i < N; i += 2) {
        double exact = naive_kernel(&kernel, x + i * D, x + (i + 1) * D, D);
        assert_true(exact > 0.6 && exact < 0.61);
        assert_true(fabs(tile[i * N + i + 1] - exact) < 1e-5);
        assert_true(tile[i * N + i] == 1);
    }
    mrc_points_destroy(&points);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_gram_refuses_what_does_not_fit(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mercer_error why;
    int64_t n = 3000;
    double *x = normal_rows(1, n, 8, 0, 1);
    mercer_rows *rows = view(ctx, x, n, 8);
    mrc_kernel kernel;
    mrc_gram *g = NULL;
    mercer_fit_report report = {0};
    mrc_gram_request request = {
        .store = &mrc_store_dense, .centered = true, .work_columns = 40, .solver_columns = 100};
    assert_ok(mercer_ctx_set_memory(ctx, 8 << 20, err));
    assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=0.5", err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    assert_int_equal(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, &why), MERCER_ERR_BUDGET);
    assert_non_null(strstr(why.text, "use store stream"));
    assert_null(g);
    request.store = &mrc_store_lowrank;
    assert_int_equal(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, &why), MERCER_ERR_BUDGET);
    assert_non_null(strstr(why.text, "reached rank"));
    request.store = NULL;
    assert_int_equal(mrc_gram_new(&g, ctx, &kernel, rows, &request, &report, &why), MERCER_OK);
    assert_string_equal(report.store, "stream");
    assert_non_null(strstr(report.store_reason, "budget"));
    mrc_gram_free(g);
    assert_ok(mercer_ctx_set_memory(ctx, 1 << 20, err));
    assert_int_equal(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, &why), MERCER_ERR_BUDGET);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_gram_checks_the_given_matrix(void **state)
{
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    mercer_error why;
    mrc_kernel kernel;
    mrc_gram *g = NULL;
    mrc_gram_request request = {.centered = true};
    const double lopsided[] = {1, 0.5, 0.25, 1}, wide[] = {1, 2, 3, 4, 5, 6};
    mercer_rows *rows = view(ctx, lopsided, 2, 2);
    assert_ok(mrc_kernel_parse(&kernel, "precomputed", err));
    assert_int_equal(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "not symmetric: row 2 column 1"));
    mercer_rows_free(rows);
    rows = view(ctx, wide, 2, 3);
    assert_int_equal(mrc_gram_new(&g, ctx, &kernel, rows, &request, NULL, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "2 x 3"));
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gram_stores_match_the_matrix),
        cmocka_unit_test(test_gram_listed_stores_match_the_matrix),
        cmocka_unit_test(test_gram_sums_the_shares_of_ranks),
        cmocka_unit_test(test_gram_is_the_same_for_any_thread_count),
        cmocka_unit_test(test_loops_do_not_wait_for_late_threads),
        cmocka_unit_test(test_first_below_is_that_of_a_plain_loop),
        cmocka_unit_test(test_gram_vector_widths_agree),
        cmocka_unit_test(test_kernel_exponential_is_exact_to_a_unit),
        cmocka_unit_test(test_kernel_keeps_small_distances),
        cmocka_unit_test(test_gram_refuses_what_does_not_fit),
        cmocka_unit_test(test_gram_checks_the_given_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
