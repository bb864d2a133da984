/* SPDX-License-Identifier: BSD-3-Clause */
/* pls and kpls of a linear kernel, by products with the rows: features against those of plain
 * deflation and of the other stores, in any unit, of rows of any kind. */
#include "support.h"

#include "fit_support.h"

enum { FEATURES = 5, MOST_OUTPUTS = 10 };

struct problem {
    int64_t n, d, outputs;
    double scale, far;
    double *x, *y;
    mercer_targets *targets;
};

static struct problem make(int64_t n, int64_t d, int64_t outputs, double scale, double far,
                           uint64_t seed)
{
    struct problem p = {.n = n, .d = d, .outputs = outputs, .scale = scale, .far = far};
    double *noise = normal_rows(seed + 50, n, outputs, 0, 0.3);
    p.x = normal_rows(seed, n, d, far * scale, scale);
    p.y = new_doubles(n * outputs);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < outputs; c++) {
            double z = (p.x[i * d + c % d] - far * scale) / scale,
                   w = (p.x[i * d + (c + 1) % d] - far * scale) / scale;
            p.y[i * outputs + c] = z + 0.5 * w * w + noise[i * outputs + c];
        }
    assert_ok(mercer_targets_new_values(p.y, n, outputs, NULL, &p.targets, err));
    free(noise);
    return p;
}

static void destroy(struct problem *p)
{
    mercer_targets_free(p->targets);
    free(p->x);
    free(p->y);
}

/* Features of the training rows, each of length one and about zero; n x FEATURES. */
static double *features_of(const struct problem *p, const char *method, const char *store,
                           const char *expected, bool packed, int threads)
{
    mercer_ctx *ctx = new_ctx(threads);
    mercer_fit_options options;
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model *model = NULL;
    mercer_rows *rows = NULL;
    double *out = new_doubles(p->n * FEATURES);
    float *single = calloc((size_t)(p->n * p->d), sizeof *single);
    assert_non_null(single);
    for (int64_t i = 0; i < p->n * p->d; i++)
        single[i] = (float)p->x[i];
    if (packed)
        assert_ok(view_f32(ctx, single, p->n, p->d, p->d, &rows, err));
    else
        rows = view(ctx, p->x, p->n, p->d);
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = strcmp(method, "pls") == 0 ? NULL : "linear";
    options.components = FEATURES;
    options.head = "none";
    options.store = store;
    assert_ok(mercer_fit(ctx, &options, rows, p->targets, &model, &report, err));
    assert_string_equal(report.store, expected);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, out, NULL, err));
    for (int64_t j = 0; j < FEATURES; j++) {
        long double sum = 0, sign = 0;
        for (int64_t i = 0; i < p->n; i++)
            sum += (long double)out[i * FEATURES + j] * out[i * FEATURES + j];
        for (int64_t i = 0; i < p->n; i++)
            sign += (long double)out[i * FEATURES + j] * p->y[i * p->outputs];
        for (int64_t i = 0; i < p->n; i++)
            out[i * FEATURES + j] *= (double)((sign < 0 ? -1 : 1) / sqrtl(sum));
    }
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(single);
    return out;
}

/* The same by the book, one target: t = K r, made orthogonal to those before, subtracted from r. */
static double *plain_features(const struct problem *p)
{
    int64_t n = p->n, d = p->d;
    long double *x = calloc((size_t)(n * d), sizeof *x), *r = calloc((size_t)n, sizeof *r),
                *t = calloc((size_t)(n * FEATURES), sizeof *t), *w = calloc((size_t)d, sizeof *w);
    double *out = new_doubles(n * FEATURES);
    assert_true(x && r && t && w);
    for (int64_t k = 0; k < d; k++) {
        long double mean = 0;
        for (int64_t i = 0; i < n; i++)
            mean += p->x[i * d + k] / (long double)n;
        for (int64_t i = 0; i < n; i++)
            x[i * d + k] = (p->x[i * d + k] - mean) / p->scale;
    }
    long double mean = 0;
    for (int64_t i = 0; i < n; i++)
        mean += p->y[i] / (long double)n;
    for (int64_t i = 0; i < n; i++)
        r[i] = p->y[i] - mean;
    for (int64_t j = 0; j < FEATURES; j++) {
        long double *q = t + j * n, norm = 0, along = 0, sign = 0;
        memset(w, 0, (size_t)d * sizeof *w);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < d; k++)
                w[k] += x[i * d + k] * r[i];
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < d; k++)
                q[i] += x[i * d + k] * w[k];
        for (int pass = 0; pass < 2; pass++)
            for (int64_t s = 0; s < j; s++) {
                long double dot = 0;
                for (int64_t i = 0; i < n; i++)
                    dot += t[s * n + i] * q[i];
                for (int64_t i = 0; i < n; i++)
                    q[i] -= dot * t[s * n + i];
            }
        for (int64_t i = 0; i < n; i++)
            norm += q[i] * q[i];
        for (int64_t i = 0; i < n; i++) {
            q[i] /= sqrtl(norm);
            along += q[i] * r[i];
            sign += q[i] * p->y[i];
        }
        for (int64_t i = 0; i < n; i++) {
            r[i] -= along * q[i];
            out[i * FEATURES + j] = (double)(sign < 0 ? -q[i] : q[i]);
        }
    }
    free(x);
    free(r);
    free(t);
    free(w);
    return out;
}

static void assert_alike(const double *a, const double *b, int64_t n, double tolerance,
                         const char *what)
{
    double off = largest_difference(a, b, n * FEATURES);
    if (!(off <= tolerance))
        fail_msg("%s: features off by %g", what, off);
}

static void test_features_are_those_of_plain_deflation(void **state)
{
    static const struct {
        int64_t n, d;
        double scale, far;
    } cases[] = {{200, 6, 1, 0},       {900, 40, 1, 100},    {1500, 7, 1e-100, 1}, {700, 300, 1, 0},
                 {1100, 30, 1e100, 1}, {800, 600, 1e-30, 3}, {650, 900, 1, 0}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct problem p =
            make(cases[c].n, cases[c].d, 1, cases[c].scale, cases[c].far, (uint64_t)c + 1);
        double *plain = plain_features(&p);
        print_message("%lld x %lld\n", (long long)p.n, (long long)p.d);
        double *rows = features_of(&p, "pls", NULL, "rows", false, 1);
        double *two = features_of(&p, "kpls", NULL, "rows", false, 2);
        double *dense = features_of(&p, "kpls", "dense", "dense", false, 2);
        assert_alike(rows, plain, p.n, 1e-9, "plain");
        assert_alike(rows, dense, p.n, 1e-9, "dense");
        assert_memory_equal(rows, two, (size_t)(p.n * FEATURES) * sizeof *rows);
        free(plain);
        free(rows);
        free(two);
        free(dense);
        destroy(&p);
    }
}

/* Several targets, and rows that stay packed. */
static void test_other_targets_and_rows(void **state)
{
    (void)state;
    for (int64_t outputs = 1; outputs <= MOST_OUTPUTS; outputs += 3) {
        struct problem p = make(2300, 30, outputs, 1, 1, 70 + (uint64_t)outputs);
        for (int64_t i = 0; i < p.n * p.d; i++)
            p.x[i] = (float)p.x[i];
        double *rows = features_of(&p, "kpls", NULL, "rows", false, 2);
        double *packed = features_of(&p, "kpls", NULL, "rows", true, 2);
        double *factor = features_of(&p, "kpls", "lowrank", "lowrank", false, 2);
        assert_alike(rows, factor, p.n, 1e-9, "lowrank");
        assert_alike(rows, packed, p.n, 1e-12, "packed");
        free(rows);
        free(packed);
        free(factor);
        destroy(&p);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct problem p = make(wide ? 650 : 300, wide ? 700 : 9, 2, 1, 0, 9);
        mercer_ctx *ctx = new_ctx(2);
        mercer_rows *rows = view(ctx, p.x, p.n, p.d);
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        options.method = "pls";
        options.components = 3;
        check_failing_allocations(ctx, &options, rows, p.targets);
        mercer_rows_free(rows);
        mercer_ctx_free(ctx);
        destroy(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_are_those_of_plain_deflation),
        cmocka_unit_test(test_other_targets_and_rows),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
