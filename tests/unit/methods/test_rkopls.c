/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduced orthonormalised PLS against plain least squares on the columns of the rows it drew. */
#include "support.h"

#include "features_support.h"
#include "fit_support.h"

enum { N = TABLE_ROWS };

/* An orthonormal basis of the columns `rows` of gram, by Gram-Schmidt twice in long double, those
 * that depend on others left out; in rows, how many is returned. */
static int64_t plain_basis(const double *gram, const int64_t *rows, int64_t count,
                           long double basis[][N])
{
    int64_t rank = 0;
    for (int64_t c = 0; c < count; c++) {
        long double *v = basis[rank], norm = 0, before = 0;
        for (int64_t i = 0; i < N; i++) {
            v[i] = gram[i * N + rows[c]];
            before += v[i] * v[i];
        }
        for (int64_t b = 0; b < 2 * rank; b++) {
            const long double *q = basis[b % rank];
            long double dot = 0;
            for (int64_t i = 0; i < N; i++)
                dot += q[i] * v[i];
            for (int64_t i = 0; i < N; i++)
                v[i] -= dot * q[i];
        }
        for (int64_t i = 0; i < N; i++)
            norm += v[i] * v[i];
        if (norm <= 1e-20L * before)
            continue;
        for (int64_t i = 0; i < N; i++)
            v[i] /= sqrtl(norm);
        rank++;
    }
    return rank;
}

/* P Y for the basis. */
static void fit_labels(long double basis[][N], int64_t rank, const double *y, int64_t m,
                       double *fit)
{
    memset(fit, 0, (size_t)(N * m) * sizeof *fit);
    for (int64_t b = 0; b < rank; b++)
        for (int64_t c = 0; c < m; c++) {
            long double dot = 0;
            for (int64_t i = 0; i < N; i++)
                dot += basis[b][i] * y[i * m + c];
            for (int64_t i = 0; i < N; i++)
                fit[i * m + c] += (double)(dot * basis[b][i]);
        }
}

/* Features have length one, are orthogonal, and span what the columns can fit of the labels. */
static void check_fit(const struct table *t, const char *method, const char *kernel, bool centered,
                      int labels, int64_t features)
{
    static long double basis[N][N];
    mercer_model *model = fit_table(t, method, kernel, centered ? "exact" : "none", 10, labels);
    double *gram = gram_of_table(t, kernel, centered), *f = features_of(t, model, t->rows);
    int64_t l = model->components, m = t->outputs[labels];
    double fit[N * 3];
    assert_int_equal(l, features);
    check_orthogonal(f, N, l);
    int64_t rank = plain_basis(gram, model->selected, model->selected_count, basis);
    fit_labels(basis, rank, t->centred[labels], m, fit);
    for (int64_t j = 0; j < l; j++) {
        double norm2 = 0;
        for (int64_t i = 0; i < N; i++)
            norm2 += f[i * l + j] * f[i * l + j];
        assert_true(fabs(norm2 - 1) < 1e-7);
    }
    for (int64_t c = 0; c < m; c++) { /* the fit is in the span of the features */
        double left[N], size = 0, rest = 0;
        for (int64_t i = 0; i < N; i++) {
            left[i] = fit[i * m + c];
            size += left[i] * left[i];
        }
        for (int64_t j = 0; j < l; j++) {
            double dot = 0;
            for (int64_t i = 0; i < N; i++)
                dot += f[i * l + j] * fit[i * m + c];
            for (int64_t i = 0; i < N; i++)
                left[i] -= dot * f[i * l + j];
        }
        for (int64_t i = 0; i < N; i++)
            rest += left[i] * left[i];
        assert_true(sqrt(rest) < 1e-7 * sqrt(size));
    }
    free(f);
    free(gram);
    mercer_model_free(model);
}

static void test_rkopls_is_the_least_squares_fit(void **state)
{
    static const int64_t features[] = {1, 2, 2}; /* three classes have two dimensions */
    struct table *t = new_table();
    (void)state;
    for (int labels = 0; labels < LABELS; labels++)
        for (int centered = 0; centered < 2; centered++) {
            check_fit(t, "rkopls:subset=12", "rbf:sigma=1.5", centered, labels, features[labels]);
            check_fit(t, "rkopls", "rbf:sigma=0.7", centered, labels, features[labels]);
            /* more rows than the rank: the pencil is singular */
            check_fit(t, "rkopls:subset=30", "linear", centered, labels, features[labels]);
        }
    free_table(t);
}

/* The first of several features has the most to do with the labels. */
static void test_rkopls_orders_its_features(void **state)
{
    struct table *t = new_table();
    mercer_model *model = fit_table(t, "rkopls", "rbf:sigma=1.5", "none", 2, THREE_CLASSES);
    (void)state;
    assert_true(model->alignment[0] > model->alignment[1]);
    mercer_model *one = fit_table(t, "rkopls", "rbf:sigma=1.5", "none", 1, THREE_CLASSES);
    double *f = features_of(t, model, t->new_rows), *g = features_of(t, one, t->new_rows);
    double first[TABLE_FRESH];
    for (int64_t i = 0; i < TABLE_FRESH; i++)
        first[i] = f[2 * i];
    assert_true(differ_up_to_sign(g, first, TABLE_FRESH, 1) < 1e-9);
    free(f);
    free(g);
    mercer_model_free(one);
    mercer_model_free(model);
    free_table(t);
}

/* A new row needs the rows drawn and no others, nor did the fit. */
static void test_rkopls_asks_for_its_columns_alone(void **state)
{
    enum { MANY = 3000 };
    mercer_ctx *ctx = new_ctx(2);
    double *x = normal_rows(5, MANY, 3, 0, 1), *y = new_doubles(MANY);
    mercer_rows *rows = view(ctx, x, MANY, 3);
    mercer_targets *targets = NULL;
    mercer_fit_options options = options_of("rkopls:subset=20", "rbf:sigma=1.5", NULL, 1);
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model *model = NULL;
    (void)state;
    for (int64_t i = 0; i < MANY; i++)
        y[i] = sin(x[3 * i]);
    assert_ok(mercer_targets_new_values(y, MANY, 1, NULL, &targets, err));
    /* room for some 60 columns: neither the matrix nor a pass over it is thought of */
    assert_ok(mercer_ctx_set_memory(ctx, (int64_t)16 << 20, err));
    assert_ok(mercer_fit(ctx, &options, rows, targets, &model, &report, err));
    assert_string_equal(report.store, "stream");
    assert_int_equal(model->points, 20);
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
    free(y);
}

static void test_rkopls_draws_by_the_seed_alone(void **state)
{
    struct table *t = new_table();
    mercer_model *model[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        mercer_fit_options options = options_of("rkopls:subset=10", "rbf:sigma=1.5", NULL, 1);
        mercer_ctx_set_seed(t->ctx, i == 2 ? 2 : 1);
        assert_ok(mercer_ctx_set_threads(t->ctx, i == 0 ? 1 : 2, err));
        assert_ok(mercer_fit(t->ctx, &options, t->rows, t->targets[0], &model[i], NULL, err));
        assert_int_equal(model[i]->selected_count, 10);
    }
    double *f = features_of(t, model[0], t->rows), *g = features_of(t, model[1], t->rows);
    assert_memory_equal(f, g, N * sizeof *f);
    assert_memory_equal(model[0]->selected, model[1]->selected, 10 * sizeof(int64_t));
    assert_memory_not_equal(model[0]->selected, model[2]->selected, 10 * sizeof(int64_t));
    for (int i = 0; i < 3; i++)
        mercer_model_free(model[i]);
    free(f);
    free(g);
    free_table(t);
}

static void test_rkopls_allocations_may_fail(void **state)
{
    struct table *t = new_table();
    mercer_fit_options options = options_of("rkopls:subset=10", "rbf:sigma=1.5", NULL, 2);
    (void)state;
    assert_ok(mercer_ctx_set_threads(t->ctx, 1, err));
    check_failing_allocations(t->ctx, &options, t->rows, t->targets[THREE_CLASSES]);
    free_table(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rkopls_is_the_least_squares_fit),
        cmocka_unit_test(test_rkopls_orders_its_features),
        cmocka_unit_test(test_rkopls_asks_for_its_columns_alone),
        cmocka_unit_test(test_rkopls_draws_by_the_seed_alone),
        cmocka_unit_test(test_rkopls_allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
