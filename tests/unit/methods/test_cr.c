/* SPDX-License-Identifier: BSD-3-Clause */
/* Continuum regression: its ends are least squares, PLS and principal components, and between them
 * no direction that brute force finds is better. */
#include "support.h"

#include "features_support.h"
#include "fit_support.h"

#include <stdio.h>

enum { N = TABLE_ROWS, D = TABLE_COLUMNS };

static double *features_by(const struct table *t, const char *method, const char *kernel,
                           const char *center, int64_t l, int labels)
{
    mercer_model *model = fit_table(t, method, kernel, center, (double)l, labels);
    assert_int_equal(model->components, l);
    double *f = features_of(t, model, t->new_rows);
    mercer_model_free(model);
    return f;
}

/* ---- the ends ---- */

static const struct {
    const char *method, *same;
    double tolerance;
} ends[] = {{"cr:alpha=0.5", "kpls", 1e-9},          {"cr:alpha=0.500001", "kpls", 1e-3},
            {"cr:alpha=0.499999", "kpls", 1e-3},     {"cr:alpha=1", "kpca", 1e-8},
            {"cr:alpha=0.99999999", "kpca", 1e-3},   {"cr:alpha=0.5000000001", "kpls", 1e-7},
            {"cr:alpha=0.4999999999", "kpls", 1e-7}, {"cr", "kpls", 1e-9}};

static void test_cr_ends_in_pls_and_components(void **state)
{
    static const char *const kernels[] = {"linear", "rbf:sigma=1.5"};
    struct table *t = new_table();
    (void)state;
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (int k = 0; k < 2; k++)
            for (int labels = 0; labels < LABELS; labels++)
                for (int centered = 0; centered < 2; centered++) {
                    const char *center = centered ? "exact" : "none";
                    double *f = features_by(t, ends[e].method, kernels[k], center, 3, labels);
                    double *g = features_by(t, ends[e].same, kernels[k], center, 3, labels);
                    double off = differ_up_to_sign(f, g, TABLE_FRESH, 3);
                    if (!(off < ends[e].tolerance))
                        fail_msg("%s, %s, labels %d, %s: %g", ends[e].method, kernels[k], labels,
                                 center, off);
                    free(f);
                    free(g);
                }
    free_table(t);
}

/* alpha = 0: one feature for each dimension of the labels, together their least-squares fit: the
 * same predictions as all components give. */
static void test_cr_ends_in_least_squares(void **state)
{
    static const int64_t features[] = {1, 2, 2};
    struct table *t = new_table();
    (void)state;
    for (int labels = 0; labels < LABELS; labels++)
        for (int near = 0; near < 2; near++) {
            mercer_model *model = fit_table(t, near ? "cr:alpha=1e-9" : "cr:alpha=0", "linear",
                                            NULL, near ? (double)features[labels] : 10, labels);
            mercer_fit_options options = options_of("pca", NULL, NULL, D);
            mercer_model *all = NULL;
            double a[TABLE_FRESH * 3], b[TABLE_FRESH * 3];
            options.head = "ls";
            assert_ok(mercer_fit(t->ctx, &options, t->rows, t->targets[labels], &all, NULL, err));
            assert_int_equal(model->components, features[labels]);
            assert_ok(mercer_model_predict(t->ctx, model, t->new_rows, 0, a, NULL, err));
            assert_ok(mercer_model_predict(t->ctx, all, t->new_rows, 0, b, NULL, err));
            assert_close(a, b, TABLE_FRESH * t->outputs[labels], near ? 1e-6 : 1e-10);
            mercer_model_free(model);
            mercer_model_free(all);
        }
    free_table(t);
}

/* Eigenvalues down to rounding: what can be had of the fit is had. */
static void test_cr_stands_smooth_kernels(void **state)
{
    static const char *const methods[] = {"cr:alpha=0", "cr:alpha=0.01", "cr:alpha=0.9"};
    struct table *t = new_table();
    (void)state;
    for (int m = 0; m < 3; m++)
        for (int labels = 0; labels < LABELS; labels++) {
            mercer_model *model = fit_table(t, methods[m], "rbf:sigma=20", "exact", 2, labels);
            double *f = features_of(t, model, t->rows);
            for (int64_t i = 0; i < N * model->components; i++)
                assert_true(isfinite(f[i]));
            assert_true(m == 2 || model->alignment[0] > 0.3);
            free(f);
            mercer_model_free(model);
        }
    free_table(t);
}

/* ---- between the ends ---- */

/* X_j'X_j and X_j'Y. */
struct moments {
    double g[D][D], d[D][3];
    int64_t m;
    double power;
};

static struct moments moments_of(const double *x, const double *y, int64_t m, double alpha)
{
    struct moments s = {.m = m, .power = alpha / (1 - alpha) - 1};
    for (int64_t i = 0; i < N; i++)
        for (int p = 0; p < D; p++) {
            for (int q = 0; q < D; q++)
                s.g[p][q] += x[i * D + p] * x[i * D + q];
            for (int64_t c = 0; c < m; c++)
                s.d[p][c] += x[i * D + p] * y[i * m + c];
        }
    return s;
}

/* The logarithm of the criterion for any u. */
static double worth(const struct moments *s, const double *u)
{
    double norm2 = 0, a = 0, size = 0;
    for (int p = 0; p < D; p++) {
        norm2 += u[p] * u[p];
        for (int q = 0; q < D; q++)
            size += u[p] * s->g[p][q] * u[q];
    }
    for (int64_t c = 0; c < s->m; c++) {
        double dot = 0;
        for (int p = 0; p < D; p++)
            dot += u[p] * s->d[p][c];
        a += dot * dot;
    }
    return log(a / norm2) + s->power * log(size / norm2);
}

/* Random directions, the best of them improved by ever smaller random steps. */
static double brute_force(const struct moments *s)
{
    mrc_rng rng;
    double best[D] = {0}, most = -INFINITY;
    mrc_rng_seed(&rng, 1);
    for (int trial = 0; trial < 60000; trial++) {
        double u[D], width = trial < 20000 ? 0 : pow(0.9995, trial - 20000);
        for (int p = 0; p < D; p++)
            u[p] = trial < 20000 ? mrc_rng_normal(&rng) : best[p] + width * mrc_rng_normal(&rng);
        double value = worth(s, u), norm = 0;
        for (int p = 0; p < D; p++)
            norm += u[p] * u[p];
        if (value > most) {
            most = value;
            for (int p = 0; p < D; p++)
                best[p] = u[p] / sqrt(norm);
        }
    }
    return most;
}

/* Every feature t = X_j u of the model, u of length one, is worth what the best u is. */
static void test_cr_is_the_best_direction(void **state)
{
    static const double alphas[] = {0.02, 0.2, 0.4, 0.49, 0.6, 0.8, 0.97};
    struct table *t = new_table();
    (void)state;
    for (int a = 0; a < 7; a++)
        for (int labels = 0; labels < LABELS; labels++) {
            char method[40];
            double x[N * D];
            snprintf(method, sizeof method, "cr:alpha=%g", alphas[a]);
            mercer_model *model = fit_table(t, method, "linear", "exact", 3, labels);
            int64_t l = model->components, m = t->outputs[labels];
            double *f = features_of(t, model, t->rows);
            check_orthogonal(f, N, l);
            memcpy(x, t->x, sizeof x);
            center_columns(x, N, D);
            assert_int_equal(l, 3);
            for (int64_t j = 0; j < l; j++) {
                struct moments s = moments_of(x, t->centred[labels], m, alphas[a]);
                double tau[N], size = 0, covariance = 0;
                for (int64_t i = 0; i < N; i++) {
                    tau[i] = f[i * l + j];
                    size += tau[i] * tau[i];
                }
                for (int64_t c = 0; c < m; c++) {
                    double dot = 0;
                    for (int64_t i = 0; i < N; i++)
                        dot += tau[i] * t->centred[labels][i * m + c];
                    covariance += dot * dot;
                }
                double value = log(covariance) + s.power * log(size), want = brute_force(&s);
                if (!(fabs(value - want) < 1e-7))
                    fail_msg("%s, labels %d, feature %d: %.12g instead of %.12g", method, labels,
                             (int)j, value, want);
                take_off(x, N, D, tau);
            }
            free(f);
            mercer_model_free(model);
        }
    free_table(t);
}

/* Eight rows with orthogonal columns of the given lengths; y = shares of the columns' directions.
 * Returns the first feature in the columns' directions. */
static void fit_design(double alpha, const double lengths[3], const double shares[3], double u[3])
{
    static const double h[3][8] = {
        {1, 1, 1, 1, -1, -1, -1, -1}, {1, 1, -1, -1, 1, 1, -1, -1}, {1, -1, 1, -1, 1, -1, 1, -1}};
    mercer_ctx *ctx = new_ctx(1);
    double x[8 * 3], y[8] = {0}, f[8];
    char method[40];
    mercer_targets *targets = NULL;
    mercer_model *model = NULL;
    for (int i = 0; i < 8; i++)
        for (int c = 0; c < 3; c++) {
            x[i * 3 + c] = lengths[c] * h[c][i] / sqrt(8);
            y[i] += shares[c] * h[c][i] / sqrt(8);
        }
    mercer_rows *rows = view(ctx, x, 8, 3);
    snprintf(method, sizeof method, "cr:alpha=%.17g", alpha);
    mercer_fit_options options = options_of(method, "linear", NULL, 1);
    assert_ok(mercer_targets_new_values(y, 8, 1, NULL, &targets, err));
    assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, f, NULL, err));
    for (int c = 0; c < 3; c++) {
        u[c] = 0;
        for (int i = 0; i < 8; i++)
            u[c] += h[c][i] / sqrt(8) * f[i] / lengths[c];
    }
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
}

static double worth_in_design(double alpha, const double lengths[3], const double shares[3],
                              const double u[3])
{
    double norm2 = 0, dot = 0, size = 0;
    for (int c = 0; c < 3; c++) {
        norm2 += u[c] * u[c];
        dot += u[c] * lengths[c] * shares[c];
        size += u[c] * u[c] * lengths[c] * lengths[c];
    }
    return log(dot * dot / norm2) + (alpha / (1 - alpha) - 1) * log(size / norm2);
}

/* Two local maxima, one near the long column and one near the short: the better one is found. */
static void test_cr_finds_the_global_maximum(void **state)
{
    static const double lengths[] = {1, 1e-4, 1e-4}, alpha = 0.25;
    (void)state;
    for (int which = 0; which < 2; which++) {
        const double shares[] = {which ? 0.1 : 0.01, 1, 0};
        double most = -INFINITY, u[3], at = 0, last[3] = {-INFINITY, -INFINITY, -INFINITY};
        int maxima = 0;
        for (double s = -40; s <= 30; s += 0.001) { /* u = (1, e^s), all that is of one sign */
            const double v[] = {1, exp(s), 0};
            double value = worth_in_design(alpha, lengths, shares, v);
            at = value > most ? s : at;
            most = fmax(most, value);
            last[0] = last[1];
            last[1] = last[2];
            last[2] = value;
            maxima += last[1] > last[0] && last[1] > last[2];
        }
        assert_int_equal(maxima, 2);
        fit_design(alpha, lengths, shares, u);
        assert_true(fabs(worth_in_design(alpha, lengths, shares, u) - most) < 1e-6);
        assert_true(fabs(log(fabs(u[1] / u[0])) - at) < 0.002);
        assert_true(which ? fabs(u[0]) > 0.5 : fabs(u[0]) < 0.5);
    }
}

/* The labels have nothing to do with the longest column, which still has its part beyond 1/2. */
static void test_cr_beyond_pls_without_the_first_component(void **state)
{
    static const double lengths[] = {4, 2, 1}, shares[] = {0, 1, 1};
    (void)state;
    for (int a = 0; a < 3; a++) {
        double alpha = a == 0 ? 0.6 : a == 1 ? 0.8 : 0.95, u[3], most = -INFINITY;
        fit_design(alpha, lengths, shares, u);
        for (double p = 0; p < 1.5707; p += 0.001)
            for (double q = 0; q < 1.5707; q += 0.001) {
                const double v[] = {sin(p), cos(p) * cos(q), cos(p) * sin(q)};
                most = fmax(most, worth_in_design(alpha, lengths, shares, v));
            }
        double value = worth_in_design(alpha, lengths, shares, u);
        assert_true(value > most - 1e-9 && value < most + 1e-5);
        assert_true(a == 0 || fabs(u[0]) > 0.1);
    }
}

/* Components of one length: the labels decide. */
static void test_cr_breaks_ties_of_components(void **state)
{
    static const double lengths[] = {2, 2, 1}, shares[] = {3, 4, 1};
    double u[3];
    (void)state;
    fit_design(1, lengths, shares, u);
    assert_true(fabs(fabs(u[0]) - 0.6) < 1e-9 && fabs(fabs(u[1]) - 0.8) < 1e-9);
    assert_true(fabs(u[2]) < 1e-9);
}

static void test_cr_gives_the_same_bits_for_any_thread_count(void **state)
{
    enum { MANY = 700, L = 3 }; /* enough rows for several threads */
    static const struct {
        const char *method, *kernel;
        int64_t n;
    } trials[] = {{"cr:alpha=0", "linear", MANY},
                  {"cr:alpha=0.3", "linear", MANY},
                  {"cr:alpha=1", "linear", MANY},
                  {"cr:alpha=0.8", "laplacian", 300}};
    double *x = normal_rows(8, MANY, 5, 0, 1), y[MANY * 2], *f[2];
    (void)state;
    for (int64_t i = 0; i < MANY; i++) {
        y[2 * i] = sin(x[5 * i]);
        y[2 * i + 1] = x[5 * i + 1] * x[5 * i + 2];
    }
    for (int trial = 0; trial < 4; trial++) {
        int64_t count[2], n = trials[trial].n;
        for (int threads = 1; threads <= 2; threads++) {
            mercer_ctx *ctx = new_ctx(threads);
            mercer_rows *rows = view(ctx, x, n, 5);
            mercer_targets *targets = NULL;
            mercer_model *model = NULL;
            mercer_fit_options options =
                options_of(trials[trial].method, trials[trial].kernel, NULL, L);
            assert_ok(mercer_targets_new_values(y, n, 2, NULL, &targets, err));
            assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
            count[threads - 1] = n * model->components;
            f[threads - 1] = new_doubles(count[threads - 1]);
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, f[threads - 1], NULL, err));
            mercer_model_free(model);
            mercer_targets_free(targets);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
        assert_int_equal(count[0], count[1]);
        assert_memory_equal(f[0], f[1], (size_t)count[0] * sizeof **f);
        free(f[0]);
        free(f[1]);
    }
    free(x);
}

static void test_cr_allocations_may_fail(void **state)
{
    static const char *const methods[] = {"cr:alpha=0.3", "cr:alpha=0.7"};
    struct table *t = new_table();
    (void)state;
    assert_ok(mercer_ctx_set_threads(t->ctx, 1, err));
    for (int m = 0; m < 2; m++) {
        mercer_fit_options options = options_of(methods[m], "linear", NULL, 2);
        check_failing_allocations(t->ctx, &options, t->rows, t->targets[ONE_TARGET]);
    }
    free_table(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cr_ends_in_pls_and_components),
        cmocka_unit_test(test_cr_ends_in_least_squares),
        cmocka_unit_test(test_cr_stands_smooth_kernels),
        cmocka_unit_test(test_cr_is_the_best_direction),
        cmocka_unit_test(test_cr_finds_the_global_maximum),
        cmocka_unit_test(test_cr_beyond_pls_without_the_first_component),
        cmocka_unit_test(test_cr_breaks_ties_of_components),
        cmocka_unit_test(test_cr_gives_the_same_bits_for_any_thread_count),
        cmocka_unit_test(test_cr_allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
