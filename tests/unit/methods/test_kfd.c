/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel Fisher discriminants through the public interface: what defines them, checked on the
 * features themselves (the ratio cannot be improved, the scale), every store; edges. The peers
 * tests compare with scikit-learn. */
#include "support.h"

#include "fit_support.h"

#include <stdio.h>

enum { N = 120, D = 3, CLASSES = 4 };

static const char *const names[] = {"a", "b", "c", "d"};

struct data {
    double *x;
    int64_t codes[N];
    mercer_ctx *ctx;
    mercer_rows *rows;
    mercer_targets *targets;
};

static struct data make(uint64_t seed, int threads)
{
    struct data s = {.x = normal_rows(seed, N, D, 0, 1), .ctx = new_ctx(threads)};
    for (int64_t i = 0; i < N; i++) {
        s.codes[i] = i % CLASSES;
        s.x[i * D] += (double)(s.codes[i] % 2) * 1.5;
        s.x[i * D + 1] *= 1 + (double)s.codes[i] / 2;
    }
    s.rows = view(s.ctx, s.x, N, D);
    assert_ok(mercer_targets_new_classes(s.codes, N, names, CLASSES, NULL, &s.targets, err));
    return s;
}

static void drop(struct data *s)
{
    mercer_targets_free(s->targets);
    mercer_rows_free(s->rows);
    mercer_ctx_free(s->ctx);
    free(s->x);
}

static mercer_status fit(struct data *s, const char *method, const char *kernel, const char *store,
                         double components, mercer_model **model, mercer_error *why)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.store = store;
    options.components = components;
    return mercer_fit(s->ctx, &options, s->rows, s->targets, model, NULL, why);
}

/* Scatter of a feature between and within classes. */
static void scatter(const double *t, int64_t l, int64_t j, const int64_t *codes, double *between,
                    double *within)
{
    double means[CLASSES] = {0}, sizes[CLASSES] = {0}, grand = 0;
    for (int64_t i = 0; i < N; i++)
        sizes[codes[i]]++;
    for (int64_t i = 0; i < N; i++) {
        means[codes[i]] += t[i * l + j] / sizes[codes[i]];
        grand += t[i * l + j] / N;
    }
    *between = *within = 0;
    for (int64_t i = 0; i < N; i++) {
        *between += pow(means[codes[i]] - grand, 2);
        *within += pow(t[i * l + j] - means[codes[i]], 2);
    }
}

/* With a linear kernel |w| is at hand: w'(S_W + mu I)w is n - c, the ratio is tau / (1 - tau), and
 * no other direction has a larger one. */
static void test_kfd_is_the_best_direction(void **state)
{
    static const double ridges[] = {0, 1e-3, 1e-1};
    (void)state;
    struct data s = make(1, 2);
    for (int r = 0; r < 3; r++) {
        mercer_model *model = NULL;
        mercer_array tau = {.struct_size = sizeof tau}, w = {.struct_size = sizeof w};
        double features[N * (CLASSES - 1)], trace = 0, mean[D] = {0};
        char method[64];
        mrc_rng rng;
        snprintf(method, sizeof method, "kfd:ridge=%g", ridges[r]);
        assert_ok(fit(&s, method, "linear", "lowrank", 0, &model, err));
        assert_ok(mercer_model_transform(s.ctx, model, s.rows, NULL, features, NULL, err));
        assert_ok(mercer_model_array(model, "fisher", &tau, err));
        assert_ok(mercer_model_array(model, "weights", &w, err));
        assert_int_equal(tau.shape[0], CLASSES - 1);
        for (int64_t i = 0; i < N * D; i++)
            mean[i % D] += s.x[i] / N;
        for (int64_t i = 0; i < N * D; i++)
            trace += pow(s.x[i] - mean[i % D], 2);
        double mu = ridges[r] * trace, best = 0;
        for (int64_t j = 0; j < CLASSES - 1; j++) {
            double between, within, norm2 = 0, share = ((const double *)tau.data)[j];
            scatter(features, CLASSES - 1, j, s.codes, &between, &within);
            for (int64_t k = 0; k < D; k++)
                norm2 += pow(((const double *)w.data)[k * (CLASSES - 1) + j], 2);
            assert_true(fabs(within + mu * norm2 - (N - CLASSES)) < 1e-9 * N);
            double ratio = between / (within + mu * norm2);
            assert_true(fabs(ratio - share / (1 - share)) < 1e-9 * (1 + ratio));
            best = j == 0 ? ratio : best;
            assert_true(ratio <= best * (1 + 1e-12));
        }
        mrc_rng_seed(&rng, 7);
        for (int trial = 0; trial < 300; trial++) {
            double w2 = 0, one[N], direction[D], between, within;
            for (int64_t k = 0; k < D; k++) {
                direction[k] = ((const double *)w.data)[k * (CLASSES - 1)] +
                               (trial % 2 ? 0.01 : 10) * mrc_rng_normal(&rng);
                w2 += direction[k] * direction[k];
            }
            for (int64_t i = 0; i < N; i++) {
                one[i] = 0;
                for (int64_t k = 0; k < D; k++)
                    one[i] += direction[k] * s.x[i * D + k];
            }
            scatter(one, 1, 0, s.codes, &between, &within);
            assert_true(between / (within + mu * w2) <= best * (1 + 1e-12));
        }
        mercer_model_free(model);
    }
    drop(&s);
}

/* All stores agree, and the first features are those of a fit with fewer. */
static void test_kfd_stores_and_prefixes(void **state)
{
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    static const char *const methods[] = {"kfd", "kfd:ridge=1e-5"};
    (void)state;
    struct data s = make(2, 2);
    for (int m = 0; m < 2; m++) {
        double features[3][N * (CLASSES - 1)], first[N];
        for (int k = 0; k < 3; k++) {
            mercer_model *model = NULL, *one = NULL;
            assert_ok(fit(&s, methods[m], "rbf:sigma=2", stores[k], 0, &model, err));
            assert_ok(fit(&s, methods[m], "rbf:sigma=2", stores[k], 1, &one, err));
            assert_ok(mercer_model_transform(s.ctx, model, s.rows, NULL, features[k], NULL, err));
            assert_ok(mercer_model_transform(s.ctx, one, s.rows, NULL, first, NULL, err));
            double size = largest_modulus(features[0], N * (CLASSES - 1));
            assert_close(features[k], features[0], N * (CLASSES - 1), 1e-7 * size);
            for (int64_t i = 0; i < N; i++)
                assert_true(fabs(first[i] - features[k][i * (CLASSES - 1)]) < 1e-9 * size);
            mercer_model_free(model);
            mercer_model_free(one);
        }
    }
    drop(&s);
}

static void test_kfd_edges(void **state)
{
    (void)state;
    static const struct {
        const char *method, *kernel, *store, *word;
        mercer_status status;
    } bad[] = {
        {"kfd:ridge=0", "rbf:sigma=0.5", "dense", "low-rank", MERCER_ERR_ARGUMENT},
        {"kfd:ridge=0", "rbf:sigma=0.2", "lowrank", "in full", MERCER_ERR_DATA},
        {"kfd:ridge=-1", NULL, NULL, "ridge", MERCER_ERR_ARGUMENT},
        {"kfd", "sigmoid:gamma=1,coef0=-1", NULL, "semidefinite", MERCER_ERR_DATA},
    };
    struct data s = make(3, 1);
    mercer_error why = {0};
    mercer_model *model = NULL;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        assert_int_equal(fit(&s, bad[b].method, bad[b].kernel, bad[b].store, 0, &model, &why),
                         bad[b].status);
        if (!strstr(why.text, bad[b].word))
            fail_msg("'%s' does not say '%s'", why.text, bad[b].word);
        assert_null(model);
    }
    /* One class; values; no mean. */
    mercer_targets *values = NULL, *one = NULL;
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = "kfd";
    int64_t same[N] = {0};
    assert_ok(mercer_targets_new_values(s.x, N, 1, NULL, &values, err));
    assert_ok(mercer_targets_new_classes(same, N, names, CLASSES, NULL, &one, err));
    assert_int_equal(mercer_fit(s.ctx, &options, s.rows, one, &model, NULL, &why), MERCER_ERR_DATA);
    assert_int_equal(mercer_fit(s.ctx, &options, s.rows, values, &model, NULL, &why),
                     MERCER_ERR_DATA);
    options.head = "ls"; /* which would take values */
    assert_int_equal(mercer_fit(s.ctx, &options, s.rows, values, &model, NULL, &why),
                     MERCER_ERR_DATA);
    options.head = NULL;
    options.center = "none";
    assert_int_equal(mercer_fit(s.ctx, &options, s.rows, s.targets, &model, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    mercer_targets_free(one);
    mercer_targets_free(values);
    drop(&s);
}

/* Classes of one row each, some or all. */
static void test_kfd_lonely_rows(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        enum { FEW = 8 };
        double *x = normal_rows(4, FEW, 2, 0, 1), features[FEW * FEW];
        const char *many[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
        int64_t codes[FEW];
        mercer_ctx *ctx = new_ctx(1);
        mercer_rows *rows = view(ctx, x, FEW, 2);
        mercer_targets *targets = NULL;
        mercer_model *model = NULL;
        mercer_fit_options options;
        mercer_model_info info = {.struct_size = sizeof info};
        for (int64_t i = 0; i < FEW; i++)
            codes[i] = all ? i : i < 2 ? i : 2;
        assert_ok(mercer_targets_new_classes(codes, FEW, many, all ? FEW : 3, NULL, &targets, err));
        mercer_fit_options_init(&options);
        options.method = "kfd:ridge=0.01";
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
        mercer_model_get_info(model, &info);
        assert_int_equal(info.components, all ? FEW - 1 : 2);
        assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, err));
        for (int64_t i = 0; i < FEW * info.components; i++)
            assert_true(isfinite(features[i]));
        mercer_model_free(model);
        mercer_targets_free(targets);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kfd_is_the_best_direction),
        cmocka_unit_test(test_kfd_stores_and_prefixes),
        cmocka_unit_test(test_kfd_edges),
        cmocka_unit_test(test_kfd_lonely_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
