/* SPDX-License-Identifier: BSD-3-Clause */
/* The novelty threshold: the share it promises, outliers, and what must not change by it. */
#include "support.h"

#include "model/model.h"

#include <mercer/mercer.h>

enum { ROWS = 600, NEW_ROWS = 2000 };

static mercer_fit_options options_of(const char *method, const char *kernel, double share)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.components = 6;
    options.novelty = share;
    return options;
}

/* The share of the rows above the threshold of the model. */
static double novel_share(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows)
{
    int64_t n = mercer_rows_count(rows), above = 0;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    double *features = new_doubles(n * info.components), *errors = new_doubles(n);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, errors, err));
    for (int64_t i = 0; i < n; i++)
        above += errors[i] > info.novelty_threshold;
    free(features);
    free(errors);
    return (double)above / (double)n;
}

static void test_share_of_like_rows(void **state)
{
    static const double shares[] = {0.02, 0.05, 0.2};
    static const char *const scales[] = {"none", "standard"};
    mercer_ctx *ctx = new_ctx(2);
    double *train = ring_rows(1, ROWS), *fresh = ring_rows(2, NEW_ROWS);
    mercer_rows *rows = view(ctx, train, ROWS, 2), *others = view(ctx, fresh, NEW_ROWS, 2);
    (void)state;
    for (int i = 0; i < 6; i++) {
        mercer_fit_options options = options_of("kpca", NULL, shares[i / 2]);
        options.scale = scales[i % 2];
        mercer_model *model = NULL;
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        double share = novel_share(ctx, model, others);
        /* 120 held-out rows: three standard deviations of a binomial share. */
        double slack = 3 * sqrt(shares[i / 2] / 120);
        if (fabs(share - shares[i / 2]) > slack)
            fail_msg("share %g: %g of the new rows are novel", shares[i / 2], share);
        mercer_model_free(model);
    }
    mercer_rows_free(rows);
    mercer_rows_free(others);
    free(train);
    free(fresh);
    mercer_ctx_free(ctx);
}

static void test_outliers(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *train = ring_rows(1, ROWS);
    static const double far[] = {0, 0, 20, 0, 0, -25, 14, 14};
    mercer_rows *rows = view(ctx, train, ROWS, 2), *outliers = view(ctx, far, 4, 2);
    mercer_fit_options options = options_of("kpca", "rbf:sigma=4", 0.05);
    mercer_model *model = NULL;
    (void)state;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
    assert_true(novel_share(ctx, model, outliers) == 1);
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_rows_free(outliers);
    free(train);
    mercer_ctx_free(ctx);
}

/* A model with and without threshold is the same, and so is what follows in the random state. */
static void test_nothing_else_changes(void **state)
{
    double *train = ring_rows(1, ROWS);
    double features[2][2 * 6], next[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        mercer_ctx *ctx = new_ctx(1 + i);
        mercer_rows *rows = view(ctx, train, ROWS, 2), *two = view(ctx, train, 2, 2);
        mercer_fit_options options = options_of("kpca", NULL, i * 0.1);
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model *model = NULL;
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        mercer_model_get_info(model, &info);
        assert_true(isnan(info.novelty_threshold) == (i == 0));
        assert_true(info.novelty_share == i * 0.1);
        assert_ok(mercer_model_transform(ctx, model, two, NULL, features[i], NULL, err));
        next[i] = mrc_rng_uniform(&ctx->rng);
        mercer_model_free(model);
        mercer_rows_free(rows);
        mercer_rows_free(two);
        mercer_ctx_free(ctx);
    }
    assert_memory_equal(features[0], features[1], sizeof features[0]);
    assert_true(next[0] == next[1]);
    free(train);
}

/* A kernel matrix computed elsewhere gives the threshold that its kernel gives. */
static void test_precomputed(void **state)
{
    enum { N = 150 };
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(3, N), *k = new_doubles(N * N), threshold[2];
    mercer_rows *rows[2] = {view(ctx, x, N, 2), NULL};
    mrc_kernel kernel;
    (void)state;
    assert_ok(mrc_kernel_parse(&kernel, "rbf:sigma=4", err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows[0], err));
    for (int64_t i = 0; i < N * N; i++)
        k[i] = naive_kernel(&kernel, x + 2 * (i / N), x + 2 * (i % N), 2);
    rows[1] = view(ctx, k, N, N);
    for (int i = 0; i < 2; i++) {
        mercer_fit_options options = options_of("kpca", i ? "precomputed" : "rbf:sigma=4", 0.1);
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model *model = NULL;
        assert_ok(mercer_fit(ctx, &options, rows[i], NULL, &model, NULL, err));
        mercer_model_get_info(model, &info);
        threshold[i] = info.novelty_threshold;
        mercer_model_free(model);
        mercer_rows_free(rows[i]);
    }
    assert_true(fabs(threshold[0] - threshold[1]) < 1e-10);
    free(x);
    free(k);
    mercer_ctx_free(ctx);
}

/* The same rows, dense and sparse: the same threshold, and truncating keeps the sparse points. */
static void test_sparse(void **state)
{
    enum { N = 120, D = 6 };
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(5, N, D, 0, 1), threshold[2], features[2][N];
    int64_t start[N + 1] = {0};
    int32_t column[N * D];
    double value[N * D];
    mercer_rows *rows[2];
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        start[i + 1] = start[i];
        for (int32_t j = 0; j < D; j++) {
            if ((i + j) % 3)
                x[i * D + j] = 0;
            else {
                column[start[i + 1]] = j;
                value[start[i + 1]++] = x[i * D + j];
            }
        }
    }
    rows[0] = view(ctx, x, N, D);
    assert_ok(view_csr(ctx, start, column, value, N, D, &rows[1], err));
    for (int i = 0; i < 2; i++) {
        mercer_fit_options options = options_of("kpca", "rbf:sigma=2", 0.1);
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model *model = NULL, *shorter = NULL;
        assert_ok(mercer_fit(ctx, &options, rows[i], NULL, &model, NULL, err));
        mercer_model_get_info(model, &info);
        threshold[i] = info.novelty_threshold;
        assert_ok(mercer_model_truncate(ctx, model, 1, &shorter, err));
        assert_ok(mercer_model_transform(ctx, shorter, rows[i], NULL, features[i], NULL, err));
        mercer_model_free(shorter);
        mercer_model_free(model);
        mercer_rows_free(rows[i]);
    }
    assert_true(fabs(threshold[0] - threshold[1]) < 1e-10);
    assert_close(features[0], features[1], N, 1e-9);
    free(x);
    mercer_ctx_free(ctx);
}

static void test_refusals(void **state)
{
    static const double wrong[] = {-0.1, 1, 2, NAN};
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, 94);
    mercer_rows *rows = view(ctx, x, 94, 2);
    mercer_model *model = NULL;
    mercer_error err;
    (void)state;
    for (int i = 0; i < 4; i++) {
        mercer_fit_options options = options_of("kpca", NULL, wrong[i]);
        assert_int_equal(mercer_fit_options_check(&options, 0, &err), MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, "novelty"));
    }
    mercer_fit_options options = options_of("kpca", NULL, 0.05);
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err), MERCER_ERR_DATA);
    assert_string_equal(err.text, "novelty 0.05 needs at least 95 rows, of which one in 5 is held "
                                  "out; there are 94");
    assert_null(model);
    mercer_rows_free(rows);
    free(x);

    x = ring_rows(1, 95);
    rows = view(ctx, x, 95, 2);
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &err), MERCER_OK);
    mercer_model_free(model);
    mercer_rows_free(rows);
    free(x);
    mercer_ctx_free(ctx);
}

/* ---- p-values and intervals ---- */

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The rows in the order of a split: first those that are fitted, then those held out. Written from
 * the documents, not from the library. */
static void draw(uint64_t seed, int64_t n, int64_t *order)
{
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = mrc_rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static void fill_targets(uint64_t seed, const double *x, int64_t n, double *y)
{
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = x[2 * i] * x[2 * i + 1] / 8 + mrc_rng_normal(&rng);
        y[2 * i + 1] = 1e3 * exp(mrc_rng_normal(&rng));
    }
}

/* p = (1 + errors at least as large) / (h + 1), counted; ties; what is novel has p <= share. */
static void test_p_values(void **state)
{
    enum { N = 300, NEW = 200 };
    static const double shares[] = {0.05, 0.1, 0.31};
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(3, N), *fresh = ring_rows(4, NEW), *features = new_doubles(NEW * 6);
    double errors[NEW], p[NEW];
    mercer_rows *rows = view(ctx, x, N, 2), *others = view(ctx, fresh, NEW, 2);
    (void)state;
    for (int s = 0; s < 6; s++) {
        mercer_fit_options options = options_of("kpca", "rbf:sigma=4", shares[s / 2]);
        mercer_model *model = NULL;
        mercer_model_info info = {.struct_size = sizeof info};
        options.keep = s % 2 ? "fitted" : NULL;
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        mercer_model_get_info(model, &info);
        assert_int_equal(info.rows, s % 2 ? N - N / 5 : N);
        assert_ok(mercer_model_transform(ctx, model, others, NULL, features, errors, err));
        assert_int_equal(model->held_errors_count, N / 5);
        for (int i = 0; i < 10; i++) /* ties with held-out errors themselves */
            errors[i] = model->held_errors[i * i % (N / 5)];
        errors[10] = NAN;
        errors[11] = INFINITY;
        errors[12] = -INFINITY;
        assert_ok(mercer_model_p_values(model, errors, NEW, p, err));
        for (int64_t i = 0; i < NEW; i++) {
            int64_t above = 0;
            for (int64_t h = 0; h < N / 5; h++)
                above += model->held_errors[h] >= errors[i];
            if (i == 10) {
                assert_true(isnan(p[i]));
                continue;
            }
            assert_true(p[i] == (double)(1 + above) / (N / 5 + 1));
            assert_int_equal(errors[i] > info.novelty_threshold, p[i] <= shares[s / 2] + 1e-12);
        }
        mrc_free(model->held_errors); /* as models of early versions are */
        model->held_errors = NULL;
        model->held_errors_count = 0;
        assert_int_equal(mercer_model_p_values(model, errors, 1, p, NULL), MERCER_ERR_UNSUPPORTED);
        mercer_model_free(model);
    }
    mercer_rows_free(rows);
    mercer_rows_free(others);
    free(x);
    free(fresh);
    free(features);
    mercer_ctx_free(ctx);
}

/* 1000 draws of training rows and one new row: p <= a has probability a at most, and intervals of
 * 80 % hold at least that share of the new targets, whatever they are. */
static void test_promises_hold(void **state)
{
    enum { DRAWS = 1000, N = 45 }; /* 9 rows held out */
    int64_t low = 0, within[2] = {0}, half = 0;
    mercer_ctx *ctx = new_ctx(1);
    (void)state;
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        double *x = ring_rows(seed, N + 1), y[2 * (N + 1)], features[3], error, p, got[2], width[2];
        mercer_rows *rows = view(ctx, x, N, 2), *next = view(ctx, x + 2 * N, 1, 2);
        mercer_targets *targets = NULL;
        mercer_model *model = NULL;
        fill_targets(seed + DRAWS, x, N + 1, y);
        assert_ok(mercer_targets_new_values(y, N, 2, NULL, &targets, err));
        mercer_fit_options options = options_of("kpca", NULL, 0.1);
        options.components = 3;
        options.head = "ls";
        options.intervals = "on";
        options.keep = "fitted";
        mercer_ctx_set_seed(ctx, seed);
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
        assert_ok(mercer_model_transform(ctx, model, next, NULL, features, &error, err));
        assert_ok(mercer_model_p_values(model, &error, 1, &p, err));
        low += p <= 0.1 + 1e-12;
        half += p <= 0.5 + 1e-12;
        assert_ok(mercer_model_predict(ctx, model, next, 0, got, NULL, err));
        assert_ok(mercer_model_half_widths(model, 0.8, width, err));
        for (int c = 0; c < 2; c++)
            within[c] += fabs(got[c] - y[2 * N + c]) <= width[c];
        mercer_model_free(model);
        mercer_targets_free(targets);
        mercer_rows_free(rows);
        mercer_rows_free(next);
        free(x);
    }
    print_message("p <= 0.1 in %lld, p <= 0.5 in %lld, within 80 %% in %lld and %lld of %d draws\n",
                  (long long)low, (long long)half, (long long)within[0], (long long)within[1],
                  DRAWS);
    /* Exactly 0.1, 0.5 and 0.8 with 9 rows held out: three standard errors on both sides. */
    assert_true(fabs((double)low - 100) <= 3 * sqrt(1000 * 0.09));
    assert_true(fabs((double)half - 500) <= 3 * sqrt(1000 * 0.25));
    for (int c = 0; c < 2; c++)
        assert_true(fabs((double)within[c] - 800) <= 3 * sqrt(1000 * 0.16));
    mercer_ctx_free(ctx);
}

/* Rows in groups of 1 to 5, near the centre of their group, with a target that is the group's
 * except for a little; one more group of one row at the end. Returns how many rows there are. */
static int64_t grouped_rows(uint64_t seed, int64_t count, double *x, double *y, int64_t *groups)
{
    double *centers = ring_rows(seed, count + 1);
    int64_t n = 0;
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    for (int64_t g = 0; g <= count; g++) {
        double own = mrc_rng_normal(&rng);
        int64_t size = g == count ? 1 : 1 + mrc_rng_below(&rng, 5);
        for (int64_t i = 0; i < size; i++, n++) {
            x[2 * n] = centers[2 * g] + 0.01 * mrc_rng_normal(&rng);
            x[2 * n + 1] = centers[2 * g + 1] + 0.01 * mrc_rng_normal(&rng);
            y[n] = own + 0.01 * mrc_rng_normal(&rng);
            groups[n] = g;
        }
    }
    free(centers);
    return n - 1;
}

/* The same promises for a row of a new group. Where rows are held out, others of their groups are
 * fitted, and both promises are broken. */
static void test_promises_hold_for_new_groups(void **state)
{
    enum { DRAWS = 1000, GROUPS = 45, MOST = 5 * GROUPS + 1 }; /* 9 groups held out */
    int64_t low[2] = {0}, within[2] = {0};
    mercer_ctx *ctx = new_ctx(1);
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * DRAWS; seed++) {
        double x[2 * MOST], y[MOST], features[30], error, p, got, width;
        int64_t groups[MOST], n = grouped_rows(seed, GROUPS, x, y, groups);
        bool by_group = seed <= DRAWS;
        mercer_rows *rows = view(ctx, x, n, 2), *next = view(ctx, x + 2 * n, 1, 2);
        mercer_targets *targets = NULL;
        mercer_model *model = NULL;
        mercer_model_info info = {.struct_size = sizeof info};
        assert_ok(mercer_targets_new_values(y, n, 1, NULL, &targets, err));
        mercer_fit_options options = options_of("kpca", "rbf:sigma=0.5", 0.1);
        options.components = 30;
        options.head = "ls";
        options.intervals = "on";
        options.keep = "fitted";
        options.groups = by_group ? groups : NULL;
        mercer_ctx_set_seed(ctx, seed);
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
        mercer_model_get_info(model, &info);
        if (by_group) {
            assert_int_equal(model->held_errors_count, GROUPS / 5);
            assert_true(info.rows < n - GROUPS / 5 + 1);
        }
        assert_ok(mercer_model_transform(ctx, model, next, NULL, features, &error, err));
        assert_ok(mercer_model_p_values(model, &error, 1, &p, err));
        low[by_group] += p <= 0.1 + 1e-12;
        assert_ok(mercer_model_predict(ctx, model, next, 0, &got, NULL, err));
        assert_ok(mercer_model_half_widths(model, 0.8, &width, err));
        within[by_group] += fabs(got - y[n]) <= width;
        mercer_model_free(model);
        mercer_targets_free(targets);
        mercer_rows_free(rows);
        mercer_rows_free(next);
    }
    print_message("groups held out: p <= 0.1 in %lld, within 80 %% in %lld of %d draws; rows held "
                  "out: %lld, %lld\n",
                  (long long)low[1], (long long)within[1], DRAWS, (long long)low[0],
                  (long long)within[0]);
    assert_true(fabs((double)low[1] - 100) <= 3 * sqrt(1000 * 0.09));
    assert_true(fabs((double)within[1] - 800) <= 3 * sqrt(1000 * 0.16));
    assert_true(low[0] > 200 && within[0] < 600);
    mercer_ctx_free(ctx);
}

/* Each group is held out as often as any other, whatever its size, and no row of it is fitted. */
static void test_groups_are_drawn_alike(void **state)
{
    enum { GROUPS = 20, DRAWS = 2000 };
    int64_t groups[GROUPS * 10], n = 0, often[GROUPS] = {0};
    double x[GROUPS * 10];
    mercer_ctx *ctx = new_ctx(1);
    (void)state;
    for (int64_t g = 0; g < GROUPS; g++)
        for (int64_t i = 0; i < (g < 2 ? 10 : 1 + g % 3); i++, n++) {
            x[n] = (double)g + 0.001 * (double)i; /* tells its group */
            groups[n] = (7 * g) % GROUPS;
        }
    mercer_rows *rows = view(ctx, x, n, 1);
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        bool fitted[GROUPS] = {false};
        int out = 0;
        mercer_model *model = NULL;
        mercer_fit_options options = options_of("kpca", "rbf:sigma=1", 0.3);
        options.components = 1;
        options.keep = "fitted";
        options.groups = groups;
        mercer_ctx_set_seed(ctx, seed);
        assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, NULL, err));
        mercer_array points;
        mercer_array_init(&points);
        assert_ok(mercer_model_array(model, "z", &points, err));
        const double *z = points.data;
        for (int64_t i = 0; i < points.shape[0]; i++)
            fitted[(int)floor(z[i] + 0.0005)] = true;
        for (int g = 0; g < GROUPS; g++) {
            often[g] += !fitted[g];
            out += !fitted[g];
        }
        assert_int_equal(out, GROUPS / 5);
        mercer_model_free(model);
    }
    for (int g = 0; g < GROUPS; g++) /* 1 in 5; four standard deviations */
        if (fabs((double)often[g] - DRAWS / 5.0) > 4 * sqrt(DRAWS * 0.16))
            fail_msg("group %d: held out in %lld of %d draws", g, (long long)often[g], DRAWS);
    mercer_fit_options options = options_of("kpca", "rbf:sigma=1", 0.1);
    mercer_model *model = NULL;
    mercer_error why = {0};
    options.groups = groups; /* 4 of 20 groups promise 0.2 at least */
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "needs at least 45 groups"));
    groups[3] = n;
    options.novelty = 0.3;
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    assert_string_equal(why.key, "groups");
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
}

/* Intervals against split conformal prediction written plainly: the split by the seed, a fit to one
 * part, sorted distances of the other. */
static void test_intervals(void **state)
{
    enum { N = 103, HELD = N / 5, FITTED = N - HELD };
    static const char *const methods[] = {"kpca", "krr"};
    static const double shares[] = {0.05, 0.5, 0.9, 0.95};
    mercer_ctx *ctx = new_ctx(2);
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        bool fitted = seed % 2;
        double *x = ring_rows(seed, N), y[2 * N], part[2 * FITTED], part_y[2 * FITTED];
        double held[2 * HELD], got[2 * HELD], off[HELD], width[2];
        int64_t order[N];
        mercer_rows *rows = view(ctx, x, N, 2);
        mercer_targets *targets = NULL, *some_targets = NULL;
        mercer_model *model = NULL, *plain = NULL;
        mercer_model_info info = {.struct_size = sizeof info};
        fill_targets(seed, x, N, y);
        assert_ok(mercer_targets_new_values(y, N, 2, NULL, &targets, err));
        mercer_fit_options options = options_of(methods[seed / 4 % 2], NULL, 0);
        options.components = seed / 4 % 2 ? 0 : 4;
        options.head = seed / 4 % 2 ? NULL : "ls";
        mercer_fit_options asked = options;
        asked.intervals = "on";
        asked.keep = fitted ? "fitted" : "refit";
        mercer_ctx_set_seed(ctx, seed);
        assert_ok(mercer_fit(ctx, &asked, rows, targets, &model, NULL, err));
        mercer_model_get_info(model, &info);
        draw(seed, N, order);
        for (int64_t i = 0; i < N; i++) {
            memcpy((i < FITTED ? part + 2 * i : held + 2 * (i - FITTED)), x + 2 * order[i],
                   2 * sizeof *x);
            if (i < FITTED)
                memcpy(part_y + 2 * i, y + 2 * order[i], 2 * sizeof *y);
        }
        mercer_rows *some = view(ctx, part, FITTED, 2), *others = view(ctx, held, HELD, 2);
        assert_ok(mercer_targets_new_values(part_y, FITTED, 2, NULL, &some_targets, err));
        if (!fitted)
            options.kernel = info.kernel;
        assert_ok(mercer_fit(ctx, &options, some, some_targets, &plain, NULL, err));
        assert_ok(mercer_model_predict(ctx, plain, others, 0, got, NULL, err));
        for (int c = 0; c < 2; c++)
            for (int s = 0; s < 4; s++) {
                int64_t rank = (int64_t)ceil(shares[s] * (HELD + 1) - 1e-9);
                for (int64_t i = 0; i < HELD; i++)
                    off[i] = fabs(got[2 * i + c] - y[2 * order[FITTED + i] + c]);
                qsort(off, HELD, sizeof *off, compare);
                assert_ok(mercer_model_half_widths(model, shares[s], width, err));
                assert_true(width[c] == off[rank - 1]);
            }
        mercer_error why = {0};
        assert_int_equal(mercer_model_half_widths(model, 0.96, width, &why), MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "20 rows were held out, which promise 0.9524 at most"));
        assert_int_equal(mercer_model_half_widths(plain, 0.9, width, NULL), MERCER_ERR_UNSUPPORTED);
        assert_int_equal(mercer_model_half_widths(model, 1, width, NULL), MERCER_ERR_ARGUMENT);
        mercer_model_free(model);
        mercer_model_free(plain);
        mercer_targets_free(targets);
        mercer_targets_free(some_targets);
        mercer_rows_free(rows);
        mercer_rows_free(some);
        mercer_rows_free(others);
        free(x);
    }
    mercer_ctx_free(ctx);
}

/* What cannot be is said before anything is fitted. */
static void test_intervals_refused(void **state)
{
    enum { N = 40 };
    static const char *const names[] = {"a", "b"};
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, N), y[2 * N], k[N * N] = {0};
    int64_t codes[N];
    mercer_rows *rows = view(ctx, x, N, 2), *few = view(ctx, x, 4, 2), *matrix;
    mercer_targets *values = NULL, *classes = NULL, *four = NULL;
    mercer_model *model = NULL;
    mercer_error why = {0};
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        codes[i] = i % 2;
        k[i * N + i] = 1;
    }
    matrix = view(ctx, k, N, N);
    fill_targets(1, x, N, y);
    assert_ok(mercer_targets_new_values(y, N, 2, NULL, &values, err));
    assert_ok(mercer_targets_new_values(y, 4, 2, NULL, &four, err));
    assert_ok(mercer_targets_new_classes(codes, N, names, 2, NULL, &classes, err));
    mercer_fit_options options = options_of("kpca", NULL, 0);
    options.keep = "fitted";
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "no rows are held out"));
    options.novelty = 0.2;
    options.kernel = "precomputed";
    assert_int_equal(mercer_fit(ctx, &options, matrix, NULL, &model, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "precomputed"));
    options = options_of("kpca", NULL, 0);
    options.intervals = "on";
    assert_int_equal(mercer_fit(ctx, &options, rows, values, &model, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "target values and a head"));
    options.head = "ls";
    assert_int_equal(mercer_fit(ctx, &options, rows, classes, &model, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "not classes"));
    options.components = 1;
    assert_int_equal(mercer_fit(ctx, &options, few, four, &model, NULL, &why), MERCER_ERR_DATA);
    assert_non_null(strstr(why.text, "at least 5 rows"));
    assert_null(model);
    mercer_targets_free(values);
    mercer_targets_free(classes);
    mercer_targets_free(four);
    mercer_rows_free(rows);
    mercer_rows_free(few);
    mercer_rows_free(matrix);
    free(x);
    mercer_ctx_free(ctx);
}

static void test_every_allocation_fails(void **state)
{
    enum { N = 24 };
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(1, N), k[N * N];
    for (int64_t i = 0; i < N * N; i++)
        k[i] = i / N == i % N ? 2 : 1;
    mercer_rows *rows[3] = {view(ctx, x, N, 2), view(ctx, k, N, N), view(ctx, x, N, 2)};
    (void)state;
    for (int i = 0; i < 3; i++) {
        mercer_fit_options options =
            options_of("kpca", i == 1 ? "precomputed" : "rbf", i == 2 ? 0.4 : 0.3);
        int64_t groups[N];
        for (int64_t j = 0; j < N; j++)
            groups[j] = j / 2 * 2;
        options.groups = i == 2 ? groups : NULL;
        mercer_status rc = MERCER_ERR_MEMORY;
        int64_t live = mrc_alloc_live();
        for (int64_t failing = 0; rc != MERCER_OK; failing++) {
            mercer_model *model = NULL;
            mrc_alloc_fail_after(failing);
            rc = mercer_fit(ctx, &options, rows[i], NULL, &model, NULL, NULL);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(model != NULL, rc == MERCER_OK);
            mercer_model_free(model);
            assert_int_equal(mrc_alloc_live(), live);
        }
        mercer_rows_free(rows[i]);
    }
    free(x);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_of_like_rows),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_nothing_else_changes),
        cmocka_unit_test(test_precomputed),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_p_values),
        cmocka_unit_test(test_promises_hold),
        cmocka_unit_test(test_promises_hold_for_new_groups),
        cmocka_unit_test(test_groups_are_drawn_alike),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_intervals_refused),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
