/* SPDX-License-Identifier: BSD-3-Clause */
/* sma and smc against plain deflation: every column, pair and triple is looked at. What new rows
 * cost, what is refused, and what is said. */
#include "support.h"

#include "fit_support.h"
#include "reference.h"

#include "model/model.h"

#include <stdio.h>

enum { N = 26, D = 4, P = 3, SEVERAL = 3 };

static char notice[2048];

static void keep_notice(void *host, const mercer_notice *given)
{
    (void)host;
    snprintf(notice, sizeof notice, "%s", given->text);
}

/* Rows, of which two are the same, and labels that depend on them. */
struct set {
    double *x, y[N * SEVERAL];
    int64_t outputs;
    mercer_rows *rows;
    mercer_targets *targets;
};

static struct set make_set(mercer_ctx *ctx, uint64_t seed, int64_t outputs)
{
    static const char *const names[] = {"a", "b", "c"};
    struct set s = {.x = normal_rows(seed, N, D, 0, 1), .outputs = outputs};
    double *noise = normal_rows(seed + 100, N, SEVERAL, 0, 0.1);
    memcpy(s.x + 7 * D, s.x + 3 * D, D * sizeof *s.x);
    for (int64_t i = 0; i < N; i++) {
        const double *row = s.x + i * D;
        double all[SEVERAL] = {2 + sin(2 * row[0]), row[1] * row[2], cos(row[3])};
        for (int64_t o = 0; o < outputs; o++)
            s.y[i * outputs + o] = all[o] + noise[i * SEVERAL + o];
    }
    free(noise);
    s.rows = view(ctx, s.x, N, D);
    assert_ok(mercer_targets_new_values(s.y, N, outputs, names, &s.targets, err));
    return s;
}

static void free_set(struct set *s)
{
    mercer_rows_free(s->rows);
    mercer_targets_free(s->targets);
    free(s->x);
}

static mercer_fit_options options_of(const char *method, const char *kernel, const char *store,
                                     int64_t features)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.store = store;
    options.components = (double)features;
    return options;
}

/* ---- plain deflation ---- */

struct plain {
    bool alignment;
    int64_t most, outputs;
    double *k, *left; /* n x n: K, and what the features leave of its columns */
    double *y;
};

/* The best value of the subset of q rows, and its weights; 0 when it is singular. */
static double plain_value(const struct plain *p, const int64_t *rows, int64_t q, double *weights)
{
    double g[P * P], corr[P * P], values[P], vectors[P * P], root[P * P] = {0}, w[P * P] = {0};
    double match[P * SEVERAL] = {0}, length[P], least = 1;
    for (int64_t a = 0; a < q; a++)
        for (int64_t b = 0; b < q; b++) {
            g[a * q + b] = p->alignment ? 0 : p->k[rows[a] * N + rows[b]];
            for (int64_t t = 0; p->alignment && t < N; t++)
                g[a * q + b] += p->left[t * N + rows[a]] * p->left[t * N + rows[b]];
        }
    for (int64_t a = 0; a < q; a++) {
        length[a] = sqrt(g[a * q + a]);
        for (int64_t o = 0; o < p->outputs; o++)
            for (int64_t t = 0; t < N; t++)
                match[a * SEVERAL + o] += p->left[t * N + rows[a]] * p->y[t * p->outputs + o];
    }
    for (int64_t a = 0; a < q; a++)
        for (int64_t b = 0; b < q; b++)
            corr[a * q + b] = g[a * q + b] / length[a] / length[b];
    ref_eigen(corr, q, values, vectors);
    for (int64_t e = 0; e < q; e++)
        least *= values[e];
    if (!(least > 1e-10))
        return 0;
    /* corr^-1/2 N corr^-1/2 */
    for (int64_t a = 0; a < q; a++)
        for (int64_t b = 0; b < q; b++)
            for (int64_t e = 0; e < q; e++)
                root[a * q + b] += vectors[a * q + e] * vectors[b * q + e] / sqrt(values[e]);
    for (int64_t o = 0; o < p->outputs; o++) {
        double h[P] = {0};
        for (int64_t a = 0; a < q; a++)
            for (int64_t b = 0; b < q; b++)
                h[a] += root[a * q + b] * match[b * SEVERAL + o] / length[b];
        for (int64_t a = 0; a < q; a++)
            for (int64_t b = 0; b < q; b++)
                w[a * q + b] += h[a] * h[b];
    }
    ref_eigen(w, q, values, vectors);
    for (int64_t a = 0; a < q; a++) {
        weights[a] = 0;
        for (int64_t b = 0; b < q; b++)
            weights[a] += root[a * q + b] * vectors[b * q] / length[a];
    }
    return values[0];
}

static bool plain_admits(const struct plain *p, int64_t i)
{
    double left = 0, full = 0;
    for (int64_t t = 0; t < N; t++) {
        left += p->left[t * N + i] * p->left[t * N + i];
        full += p->k[t * N + i] * p->k[t * N + i];
    }
    return !p->alignment || left > 1e-16 * full;
}

/* The best subset of all; how many rows it has. */
static int64_t plain_choice(const struct plain *p, int64_t *rows, double *weights)
{
    double best = 0;
    int64_t count = 0;
    for (int64_t q = 1; q <= p->most; q++)
        for (int64_t a = 0; a < N; a++)
            for (int64_t b = q > 1 ? a + 1 : 0; b < (q > 1 ? N : 1); b++)
                for (int64_t c = q > 2 ? b + 1 : 0; c < (q > 2 ? N : 1); c++) {
                    int64_t set[P] = {a, b, c};
                    double of_set[P], value;
                    if (!plain_admits(p, a) || (q > 1 && !plain_admits(p, b)) ||
                        (q > 2 && !plain_admits(p, c)))
                        continue;
                    value = plain_value(p, set, q, of_set);
                    if (value > best * (1 + 1e-10)) {
                        best = value;
                        count = q;
                        memcpy(rows, set, sizeof set);
                        memcpy(weights, of_set, sizeof of_set);
                    }
                }
    return count;
}

/* tau of each feature, deflated one after the other; used[row] is set. */
static double *plain_features(const struct set *s, const char *kernel, bool alignment, int64_t most,
                              bool raw, int64_t features, unsigned char *used)
{
    struct plain p = {.alignment = alignment, .most = most, .outputs = s->outputs};
    double *tau = new_doubles(N * features), y[N * SEVERAL];
    mrc_kernel k;
    assert_ok(mrc_kernel_parse(&k, kernel, err));
    p.k = naive_gram(&k, s->x, N, D, false);
    p.left = naive_gram(&k, s->x, N, D, false);
    p.y = y;
    for (int64_t o = 0; o < s->outputs; o++) {
        double mean = 0;
        for (int64_t i = 0; i < N; i++)
            mean += raw ? 0 : s->y[i * s->outputs + o] / N;
        for (int64_t i = 0; i < N; i++)
            y[i * s->outputs + o] = s->y[i * s->outputs + o] - mean;
    }
    for (int64_t j = 0; j < features; j++) {
        int64_t rows[P];
        double weights[P], norm2 = 0;
        int64_t count = plain_choice(&p, rows, weights);
        assert_true(count > 0);
        for (int64_t i = 0; i < N; i++) {
            for (int64_t a = 0; a < count; a++)
                tau[i * features + j] += weights[a] * p.left[i * N + rows[a]];
            norm2 += tau[i * features + j] * tau[i * features + j];
        }
        for (int64_t a = 0; a < count; a++)
            used[rows[a]] = 1;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t c = 0; c < N; c++) {
                double dot = 0;
                for (int64_t i = 0; i < N; i++)
                    dot += tau[i * features + j] * p.left[i * N + c];
                for (int64_t i = 0; i < N; i++)
                    p.left[i * N + c] -= dot / norm2 * tau[i * features + j];
            }
    }
    free(p.k);
    free(p.left);
    return tau;
}

/* ---- what is compared ---- */

static void compare(mercer_ctx *ctx, const struct set *s, const mercer_fit_options *options,
                    const double *tau, const unsigned char *used)
{
    int64_t k = (int64_t)options->components, count = 0;
    mercer_model *model = NULL;
    double *t = new_doubles(N * k);
    assert_ok(mercer_fit(ctx, options, s->rows, s->targets, &model, NULL, err));
    assert_int_equal(model->components, k);
    for (int64_t i = 0; i < N; i++)
        count += used[i];
    if (model->selected_count != count)
        fail_msg("%s, %s, %d outputs: %d rows, not %d", options->method, options->kernel,
                 (int)s->outputs, (int)model->selected_count, (int)count);
    for (int64_t a = 0; a < count; a++)
        if (!used[model->selected[a]])
            fail_msg("%s, %s: row %d", options->method, options->kernel, (int)model->selected[a]);
    assert_ok(mercer_model_transform(ctx, model, s->rows, NULL, t, NULL, err));
    for (int64_t j = 0; j < k; j++) {
        double same = 0, opposite = 0, size = 0;
        for (int64_t i = 0; i < N; i++) {
            same = fmax(same, fabs(t[i * k + j] - tau[i * k + j]));
            opposite = fmax(opposite, fabs(t[i * k + j] + tau[i * k + j]));
            size = fmax(size, fabs(tau[i * k + j]));
        }
        if (!(fmin(same, opposite) <= 1e-7 * size))
            fail_msg("%s, %s: feature %d differs by %.1e", options->method, options->kernel, (int)j,
                     fmin(same, opposite) / size);
    }
    free(t);
    mercer_model_free(model);
}

/* Every criterion, up to three rows a direction, one label and several, all rows and candidates,
 * labels about their mean and not, in every store. */
static void test_directions_are_the_best(void **state)
{
    static const char *const kernels[] = {"linear", "rbf:gamma=0.3"};
    static const char *const stores[] = {"dense", "stream"};
    (void)state;
    for (int64_t outputs = 1; outputs <= SEVERAL; outputs += 2)
        for (int alignment = 0; alignment < 2; alignment++)
            for (int k = 0; k < 2; k++)
                for (int p = 1; p <= P; p++) {
                    mercer_ctx *ctx = new_ctx(2);
                    struct set s = make_set(ctx, 1 + (uint64_t)(p + 10 * k), outputs);
                    bool raw = (p + k) % 2;
                    int64_t features = k == 0 ? D - p : 5; /* more of linear: all subsets tie */
                    unsigned char used[N] = {0};
                    double *tau = plain_features(&s, kernels[k], alignment, p, raw, features, used);
                    for (int c = 0; c < 2; c++)
                        for (int store = 0; store < 2; store++) {
                            char method[100];
                            snprintf(method, sizeof method,
                                     "%s:sparsity=%d,candidates=%d,labels=%s",
                                     alignment ? "sma" : "smc", p, c * N, raw ? "raw" : "centred");
                            mercer_fit_options options =
                                options_of(method, kernels[k], stores[store], features);
                            compare(ctx, &s, &options, tau, used);
                        }
                    free(tau);
                    free_set(&s);
                    mercer_ctx_free(ctx);
                }
}

/* Two classes are -1 and 1: raw labels of unequal classes have a mean. */
static void test_raw_classes_are_signs(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    static const char *const names[] = {"no", "yes"};
    static const char *const minus[] = {"sign"};
    struct set s = make_set(ctx, 5, 1);
    int64_t codes[N];
    double signs[N], t[2][N * 4];
    mercer_targets *classes = NULL, *values = NULL;
    mercer_fit_options options = options_of("sma:labels=raw", "rbf:gamma=0.3", NULL, 4);
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        codes[i] = s.y[i] > 1.5;
        signs[i] = codes[i] ? 1 : -1;
    }
    assert_ok(mercer_targets_new_classes(codes, N, names, 2, "label", &classes, err));
    assert_ok(mercer_targets_new_values(signs, N, 1, minus, &values, err));
    for (int c = 0; c < 3; c++) {
        mercer_model *model = NULL;
        options.method = c < 2 ? "sma:labels=raw" : "sma";
        assert_ok(mercer_fit(ctx, &options, s.rows, c ? values : classes, &model, NULL, err));
        assert_ok(mercer_model_transform(ctx, model, s.rows, NULL, t[c > 0], NULL, err));
        mercer_model_free(model);
        if (c > 0)
            assert_int_equal(memcmp(t[0], t[1], sizeof *t) == 0, c == 1);
    }
    mercer_targets_free(classes);
    mercer_targets_free(values);
    free_set(&s);
    mercer_ctx_free(ctx);
}

/* Results are the same to the bit on one thread and on three, where the work is shared. */
static void test_any_number_of_threads_gives_the_same_bits(void **state)
{
    enum { LARGE = 700, K = 4 };
    static const char *const methods[] = {"sma:sparsity=2", "smc:sparsity=2",
                                          "smc:sparsity=3,candidates=150",
                                          "sma:sparsity=3,candidates=90", "sma:candidates=80"};
    double *x = normal_rows(1, LARGE, D, 0, 1), *y = normal_rows(2, LARGE, 2, 0, 1);
    static const char *const names[] = {"a", "b"};
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        double *t[2];
        for (int c = 0; c < 2; c++) {
            mercer_ctx *ctx = new_ctx(c ? 3 : 1);
            mercer_rows *rows = view(ctx, x, LARGE, D);
            mercer_targets *targets = NULL;
            mercer_model *model = NULL;
            mercer_fit_options options = options_of(methods[m], "rbf:gamma=0.3", "dense", K);
            assert_ok(mercer_targets_new_values(y, LARGE, 2, names, &targets, err));
            assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
            t[c] = new_doubles(LARGE * K);
            assert_ok(mercer_model_transform(ctx, model, rows, NULL, t[c], NULL, err));
            mercer_model_free(model);
            mercer_targets_free(targets);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
        assert_memory_equal(t[0], t[1], LARGE * K * sizeof(double));
        free(t[0]);
        free(t[1]);
    }
    free(x);
    free(y);
}

/* ---- what new rows cost ---- */

/* A Gaussian that counts its values. */
static mercer_status counted(void *host, const double *x, int64_t nx, int64_t ldx, const double *y,
                             int64_t ny, int64_t ldy, int64_t d, double *out, int64_t ldo,
                             mercer_error *why)
{
    (void)why;
    *(int64_t *)host += nx * ny;
    return host_gaussian(0.3, x, nx, ldx, y, ny, ldy, d, out, ldo);
}

/* The kernel values of new rows are those with the selected rows, and no others. */
static void test_new_rows_meet_the_selected_ones_alone(void **state)
{
    enum { FRESH = 70, K = 6 };
    static const struct {
        const char *method;
        int64_t least, most;
    } cases[] = {{"sma", K, K},
                 {"smc", K, K},
                 {"sma:candidates=9", K, K},
                 {"smc:sparsity=2", K, 2 * K},
                 {"kpls", N, N}};
    (void)state;
    for (size_t m = 0; m < sizeof cases / sizeof *cases; m++) {
        int64_t values = 0;
        mercer_ctx *ctx = new_ctx(1);
        struct set s = make_set(ctx, 3, 1);
        double *fresh = normal_rows(9, FRESH, D, 0, 1), *t = new_doubles(FRESH * K);
        mercer_rows *new_rows = view(ctx, fresh, FRESH, D);
        mercer_fit_options options = options_of(cases[m].method, "mine", NULL, K);
        mercer_model *model = NULL;
        assert_ok(mercer_ctx_add_kernel(ctx, "mine", counted, &values, 1, err));
        options.center = "none";
        assert_ok(mercer_fit(ctx, &options, s.rows, s.targets, &model, NULL, err));
        values = 0;
        assert_ok(mercer_model_transform(ctx, model, new_rows, NULL, t, NULL, err));
        if (values < FRESH * cases[m].least || values > FRESH * cases[m].most)
            fail_msg("%s: %d kernel values for %d rows", cases[m].method, (int)values, FRESH);
        if (model->selected)
            assert_int_equal(values, FRESH * model->selected_count);
        mercer_model_free(model);
        mercer_rows_free(new_rows);
        free(fresh);
        free(t);
        free_set(&s);
        mercer_ctx_free(ctx);
    }
}

/* ---- edges ---- */

/* A search that would not end is refused before it begins, with what would do. */
static void test_endless_searches_are_refused(void **state)
{
    enum { MANY = 60000 };
    static const struct {
        const char *method, *text;
    } cases[] = {
        {"sma:sparsity=2", "sparsity=2 looks at all pairs of 60000 rows for each of 10 features, "
                           "which would "
                           "take too long: use candidates=5773 or fewer"},
        {"smc:sparsity=3",
         "sparsity=3 looks at all triples of 60000 rows for each of 10 features, which would "
         "take too long: use candidates=4096 or fewer"},
        {"smc:sparsity=3,candidates=5000",
         "sparsity=3 looks at all triples of 5000 rows for each of 10 features, which would "
         "take too long: use candidates=4096 or fewer"}};
    mercer_ctx *ctx = new_ctx(1);
    double *x = normal_rows(1, MANY, 1, 0, 1);
    static const char *const names[] = {"x"};
    mercer_rows *rows = view(ctx, x, MANY, 1);
    mercer_targets *targets = NULL;
    (void)state;
    assert_ok(mercer_targets_new_values(x, MANY, 1, names, &targets, err));
    for (size_t m = 0; m < sizeof cases / sizeof *cases; m++) {
        mercer_fit_options options = options_of(cases[m].method, "linear", NULL, 10);
        mercer_model *model = NULL;
        mercer_error why;
        assert_int_equal(mercer_fit(ctx, &options, rows, targets, &model, NULL, &why),
                         MERCER_ERR_ARGUMENT);
        assert_string_equal(why.text, cases[m].text);
    }
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    free(x);
    mercer_ctx_free(ctx);
}

static void test_candidates_that_do_not_pay(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    struct set s = make_set(ctx, 3, 1);
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    for (int c = 0; c < 2; c++) {
        mercer_fit_options options =
            options_of(c ? "sma:candidates=20" : "sma:candidates=5", "rbf:gamma=0.3", NULL, 6);
        mercer_model *model = NULL;
        notice[0] = 0;
        assert_ok(mercer_fit(ctx, &options, s.rows, s.targets, &model, NULL, err));
        assert_string_equal(notice, c ? "a look at all 26 rows takes no longer than 20 candidates "
                                        "for each of 6 features, and finds the best: leave "
                                        "candidates out"
                                      : "");
        mercer_model_free(model);
    }
    free_set(&s);
    mercer_ctx_free(ctx);
}

/* Pairs and triples end with the rank, and say so. */
static void test_rank_exhausted(void **state)
{
    static const char *const methods[] = {"sma:sparsity=2", "smc:sparsity=2", "sma:sparsity=3",
                                          "smc:sparsity=3", "sma:sparsity=2,candidates=4"};
    mercer_ctx *ctx = new_ctx(1);
    struct set s = make_set(ctx, 4, 1);
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        mercer_fit_options options = options_of(methods[m], "linear", NULL, 10);
        mercer_model *model = NULL;
        notice[0] = 0;
        assert_ok(mercer_fit(ctx, &options, s.rows, s.targets, &model, NULL, err));
        if (model->components < 2 || model->components > D)
            fail_msg("%s: %d features", methods[m], (int)model->components);
        assert_non_null(strstr(notice, "10 features asked for, but after"));
        mercer_model_free(model);
    }
    free_set(&s);
    mercer_ctx_free(ctx);
}

static void test_every_allocation_may_fail(void **state)
{
    static const char *const methods[] = {"sma", "sma:sparsity=3", "smc:sparsity=2,candidates=9"};
    mercer_ctx *ctx = new_ctx(1);
    struct set s = make_set(ctx, 3, 2);
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        mercer_fit_options options = options_of(methods[m], "rbf:gamma=0.3", "dense", 3);
        check_failing_allocations(ctx, &options, s.rows, s.targets);
    }
    free_set(&s);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directions_are_the_best),
        cmocka_unit_test(test_raw_classes_are_signs),
        cmocka_unit_test(test_any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(test_new_rows_meet_the_selected_ones_alone),
        cmocka_unit_test(test_endless_searches_are_refused),
        cmocka_unit_test(test_candidates_that_do_not_pay),
        cmocka_unit_test(test_rank_exhausted),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
