/* SPDX-License-Identifier: BSD-3-Clause */
/* Support vector machines: optimality of what LIBSVM and LIBLINEAR found as the model keeps it, the
 * votes, what is kept, what is refused. The programs of both libraries and scikit-learn judge in
 * tests/peers. */
#include "heads_support.h"

/* Decision values of the pairs of classes, plainly. */
static double decide(const mrc_head *head, double gamma, const double *x, int64_t p)
{
    int64_t functions = mrc_head_functions(head);
    double sum = head->function_offsets[p];
    for (int64_t j = 0; head->function_weights && j < L; j++)
        sum += head->function_weights[j * functions + p] * x[j];
    for (int64_t i = 0; i < head->rows; i++) {
        double d = 0;
        for (int64_t j = 0; j < L; j++)
            d += (head->points[i * L + j] - x[j]) * (head->points[i * L + j] - x[j]);
        sum += head->dual[i * functions + p] * exp(-gamma * d);
    }
    return sum;
}

/* The conditions that tell a minimum: rows beyond the margin have no part in it, rows within it
 * have all they may, and the parts of both classes are equal. */
static void test_pairs_of_classes_are_optimal(void **state)
{
    struct set s = make_set();
    static const int64_t code_of[] = {0, 1, 3};
    mercer_model *model =
        fit(&s, "akfa", "svm:kernel=rbf,gamma=3,c=2,tolerance=1e-9,weight=balanced", s.classes);
    const mrc_head *head = &model->head;
    double *f = features_of(model, s.rows), cost[3];
    int64_t pairs = mrc_head_functions(head), p = 0;
    (void)state;
    assert_int_equal(pairs, 3);
    assert_true(head->whole && head->rows > 3 && head->rows < N);
    for (int64_t k = 0; k < 3; k++) {
        double count = 0;
        for (int64_t i = 0; i < N; i++)
            count += s.codes[i] == code_of[k];
        cost[k] = 2. * N / (3 * count);
    }
    for (int64_t a = 0; a < 3; a++)
        for (int64_t b = a + 1; b < 3; b++, p++) {
            double balance = 0;
            for (int64_t i = 0; i < N; i++) {
                int64_t own = s.codes[i] == code_of[a] ? a : b;
                double sign = own == a ? 1 : -1, part = 0;
                if (s.codes[i] != code_of[own])
                    continue;
                for (int64_t v = 0; v < head->rows; v++)
                    if (memcmp(head->points + v * L, f + i * L, L * sizeof *f) == 0)
                        part = sign * head->dual[v * pairs + p];
                double margin = sign * decide(head, 3, f + i * L, p);
                assert_true(part >= 0 && part <= cost[own] * (1 + 1e-12));
                assert_true(part > 0 || margin > 1 - 1e-6);
                assert_true(part >= cost[own] * (1 - 1e-12) || margin < 1 + 1e-6 || part == 0);
                balance += sign * part;
            }
            assert_true(fabs(balance) < 1e-9);
        }
    mrc_free(f);
    mercer_model_free(model);
    free_set(&s);
}

static void check_votes(const struct set *s, const mercer_model *model, double gamma)
{
    double *g = features_of(model, s->new_rows), scores[FRESH * 3];
    int64_t codes[FRESH];
    assert_ok(mercer_model_predict(ctx, model, s->new_rows, 0, scores, codes, &err));
    for (int64_t i = 0; i < FRESH; i++) {
        double votes[3] = {0}, sums[3] = {0};
        int64_t p = 0, best = 0;
        for (int64_t a = 0; a < 3; a++)
            for (int64_t b = a + 1; b < 3; b++, p++) {
                double value = decide(&model->head, gamma, g + i * L, p);
                votes[value > 0 ? a : b]++;
                sums[a] += value;
                sums[b] -= value;
            }
        for (int64_t k = 1; k < 3; k++)
            best = votes[k] > votes[best] ? k : best;
        assert_int_equal(codes[i], best);
        for (int64_t k = 0; k < 3; k++)
            assert_true(fabs(scores[3 * i + k] - votes[k] - sums[k] / (3 * (fabs(sums[k]) + 1))) <
                        1e-11);
    }
    mrc_free(g);
}

static void test_predictions_are_votes_of_the_pairs(void **state)
{
    static const char *const specs[] = {"svm:kernel=rbf,gamma=2", "svm:c=4",
                                        "svm:type=nu,nu=0.3,kernel=rbf,gamma=2"};
    struct set s = make_set();
    (void)state;
    for (int h = 0; h < 3; h++) {
        mercer_model *model = fit(&s, "kpca", specs[h], s.classes);
        mercer_model *loaded = reload(model, s.new_rows);
        assert_int_equal(model->head.function_weights != NULL, h == 1);
        assert_int_equal(model->head.rows == 0, h == 1);
        check_votes(&s, model, 2);
        assert_string_equal(loaded->head.spec, specs[h]);
        assert_true(loaded->head.whole);
        assert_true(loaded->head.errors[L - 1] == model->head.errors[L - 1]);
        mercer_model_free(model);
        mercer_model_free(loaded);
    }
    free_set(&s);
}

/* Errors beyond epsilon have all the cost, smaller ones none, for each target column. */
static void test_regression_is_optimal(void **state)
{
    struct set s = make_set();
    mercer_model *model =
        fit(&s, "kpca", "svm:kernel=rbf,gamma=1,c=3,epsilon=0.2,tolerance=1e-9", s.values);
    mercer_model *loaded = reload(model, s.new_rows);
    const mrc_head *head = &loaded->head;
    double *f = features_of(model, s.rows), scores[N * 2];
    int64_t inside = 0, outside = 0;
    (void)state;
    assert_ok(mercer_model_predict(ctx, loaded, s.rows, 0, scores, NULL, &err));
    for (int64_t i = 0; i < N; i++)
        for (int64_t o = 0; o < 2; o++) {
            double missed = s.y[2 * i + o] - scores[2 * i + o], part = 0;
            assert_true(fabs(decide(head, 1, f + i * L, o) - scores[2 * i + o]) < 1e-10);
            for (int64_t v = 0; v < head->rows; v++)
                if (memcmp(head->points + v * L, f + i * L, L * sizeof *f) == 0)
                    part = head->dual[v * 2 + o];
            if (fabs(missed) < 0.2 - 1e-6) {
                assert_true(part == 0);
                inside++;
            } else if (fabs(missed) > 0.2 + 1e-6) {
                assert_true(fabs(part - copysign(3, missed)) < 1e-9);
                outside++;
            }
        }
    assert_true(inside > 10 && outside > 10);
    mrc_free(f);
    mercer_model_free(model);
    mercer_model_free(loaded);
    free_set(&s);
}

/* No support vector is left when nothing is missed by more than epsilon. */
static void test_constant_values_need_no_vector(void **state)
{
    static const char *const specs[] = {"svm", "svm:kernel=rbf"};
    struct set s = make_set();
    (void)state;
    for (int64_t i = 0; i < N * 2; i++)
        s.values->values[i] = 7;
    for (int h = 0; h < 2; h++) {
        mercer_model *model = fit(&s, "kpca", specs[h], s.values);
        double scores[FRESH * 2];
        assert_int_equal(model->head.rows, 0);
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, 0, scores, NULL, &err));
        for (int64_t i = 0; i < FRESH * 2; i++)
            assert_true(fabs(scores[i] - 7) <= 0.1 + 1e-9);
        mercer_model_free(model);
    }
    free_set(&s);
}

/* The gradient of the squared loss with class weights is zero, the intercept's included. */
static void test_linear_machine_is_optimal(void **state)
{
    struct set s = make_set();
    (void)state;
    for (int64_t i = 0; i < N; i++)
        s.classes->codes[i] = s.codes[i] == 3 ? 3 : 1;
    mercer_model *model =
        fit(&s, "kpca", "linsvm:c=2,weight=opposite,bias=0.5,tolerance=1e-10", s.classes);
    mercer_model *loaded = reload(model, s.new_rows);
    const mrc_head *head = &loaded->head;
    double *f = features_of(model, s.rows), scores[N * 2], gradient[L + 1], count = 0;
    (void)state;
    assert_ok(mercer_model_predict(ctx, loaded, s.rows, 0, scores, NULL, &err));
    for (int64_t i = 0; i < N; i++)
        count += s.codes[i] == 3;
    for (int64_t j = 0; j < L; j++)
        gradient[j] = head->weights[2 * j];
    gradient[L] = head->intercept[0] / 0.5; /* the weight of a feature that is 0.5 */
    for (int64_t i = 0; i < N; i++) {
        double sign = s.codes[i] == 3 ? -1 : 1;
        double weight = s.codes[i] == 3 ? 1 - count / N : count / N;
        double missed = fmax(0, 1 - sign * scores[2 * i]);
        assert_true(scores[2 * i] == -scores[2 * i + 1]);
        for (int64_t j = 0; j <= L; j++)
            gradient[j] -= 2 * 2 * weight * sign * missed * (j < L ? f[i * L + j] : 0.5);
    }
    for (int64_t j = 0; j <= L; j++)
        assert_true(fabs(gradient[j]) < 1e-6);
    mrc_free(f);
    mercer_model_free(model);
    mercer_model_free(loaded);
    free_set(&s);
}

/* Hinge loss goes through random numbers of the C library: the same ones whatever the host has
 * drawn before, whose own ones go on as if nothing had happened. */
static void test_hinge_loss_has_its_own_random_numbers(void **state)
{
    struct set s = make_set();
    double weights[2][L * 3];
    char own[64] = {0}, copy[64], *before = NULL;
    (void)state;
    for (unsigned run = 0; run < 2; run++) {
        char *last = initstate(5 + run, own, sizeof own);
        before = before ? before : last;
        memcpy(copy, own, sizeof copy);
        mercer_model *model = fit(&s, "kpca", "linsvm:loss=hinge", s.classes);
        assert_memory_equal(copy, own, sizeof own);
        memcpy(weights[run], model->head.weights, sizeof weights[run]);
        mercer_model_free(model);
    }
    setstate(before);
    assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
    free_set(&s);
}

/* Two classes of which `few` rows of N are the first, told apart by a column except for noise. */
static mercer_targets *two_classes(const struct set *s, int64_t few, double noise)
{
    static const char *const names[] = {"few", "many"};
    mercer_targets *targets = NULL;
    int64_t codes[N], left = few;
    mrc_rng rng;
    mrc_rng_seed(&rng, 4);
    for (int64_t i = 0; i < N; i++) {
        bool first = s->x[i * D] + noise * mrc_rng_normal(&rng) > 0.1;
        codes[i] = !(left > 0 && (first || N - i <= left));
        left -= codes[i] == 0;
    }
    assert_ok(mercer_targets_new_classes(codes, N, names, 2, NULL, &targets, &err));
    return targets;
}

/* A library that ends at its limit of steps, short of its tolerance, is told. */
static void test_steps_that_run_out_are_told(void **state)
{
    struct set s = make_set();
    mercer_targets *mixed = two_classes(&s, 60, 1e6);
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    notice[0] = 0;
    mercer_model_free(fit(&s, "kpca", "linsvm:loss=hinge,c=1e4,bias=100", mixed));
    assert_string_equal(notice,
                        "head linsvm: LIBLINEAR ended at its limit of 1000 steps, short of "
                        "tolerance=0.0001, so its scores may be far from the best ones: scaled "
                        "columns, a smaller c or loss=squared may help");
    notice[0] = 0;
    mercer_model_free(fit(&s, "kpca", "linsvm:loss=squared,c=1e4,bias=100", mixed));
    mercer_model_free(fit(&s, "kpca", "linsvm:loss=hinge,c=0.01", mixed));
    mercer_model_free(fit(&s, "kpca", "svm", mixed));
    assert_string_equal(notice, "");
    mercer_ctx_set_notice(ctx, NULL, NULL);
    mercer_targets_free(mixed);
    free_set(&s);
}

static void test_all_features_or_none(void **state)
{
    static const char *const heads[] = {"svm", "svm:kernel=rbf", "linsvm"};
    struct set s = make_set();
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    for (int h = 0; h < 3; h++) {
        mercer_model *model = fit(&s, "akfa", heads[h], s.classes), *shorter = NULL, *same = NULL;
        double a[FRESH * 3], b[FRESH * 3];
        char text[128], name[8];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(heads[h], ":"), heads[h]);
        snprintf(text, sizeof text,
                 "head %s predicts from all 6 features together, not from the first 5: fit with "
                 "5 components",
                 name);
        assert_fails(mercer_model_predict(ctx, model, s.new_rows, L - 1, a, NULL, &err),
                     MERCER_ERR_ARGUMENT, text);
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, L, a, NULL, &err));
        assert_ok(mercer_model_truncate(ctx, model, L, &same, &err));
        assert_ok(mercer_model_predict(ctx, same, s.new_rows, 0, b, NULL, &err));
        assert_memory_equal(a, b, sizeof a);
        assert_ok(mercer_model_truncate(ctx, model, 2, &shorter, &err));
        assert_null(shorter->head.spec);
        snprintf(text, sizeof text, "head %s needs all 6 components and is left out", name);
        assert_string_equal(notice, text);
        mercer_model_free(model);
        mercer_model_free(shorter);
        mercer_model_free(same);
    }
    free_set(&s);
}

/* One member, two rows, features that are all zero. */
static void test_few_rows(void **state)
{
    static const char *const heads[] = {"svm", "svm:kernel=rbf", "linsvm", "linsvm:loss=hinge"};
    static const char *const names[] = {"many", "one"};
    double x[6] = {0, 0, 0, 0, 1, 1}, flat[6] = {0};
    int64_t codes[3] = {0, 0, 1};
    mercer_targets *targets = NULL;
    (void)state;
    assert_ok(mercer_targets_new_classes(codes, 3, names, 2, NULL, &targets, &err));
    for (int h = 0; h < 8; h++) {
        mercer_fit_options options = options_of("kpca", heads[h % 4]);
        mercer_rows *rows = NULL;
        mercer_model *model = NULL;
        double scores[6];
        options.components = 1;
        options.kernel = "linear";
        options.center = "none";
        assert_ok(view_f64(ctx, h < 4 ? x : flat, 3, 2, 2, &rows, &err));
        mercer_status rc = mercer_fit(ctx, &options, rows, targets, &model, NULL, &err);
        if (h < 4) {
            int64_t got[3];
            assert_ok(rc);
            assert_ok(mercer_model_predict(ctx, model, rows, 0, scores, got, &err));
            for (int64_t i = 0; i < 6; i++)
                assert_true(isfinite(scores[i]));
            assert_int_equal(got[0], 0);
        } else {
            assert_int_equal(rc, MERCER_ERR_DATA); /* kpca: nothing varies */
        }
        mercer_model_free(model);
        mercer_rows_free(rows);
    }
    mercer_targets_free(targets);
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *head;
        bool values;
        mercer_status status;
        const char *text;
    } cases[] = {
        {"svm:type=c", true, MERCER_ERR_ARGUMENT,
         "head svm: type=c is for classes, not for target values"},
        {"svm:type=svr", false, MERCER_ERR_ARGUMENT,
         "head svm: type=svr is for target values, not for classes"},
        {"svm:type=nu,weight=balanced", false, MERCER_ERR_ARGUMENT,
         "head svm: weight is for type=c, whose cost it changes"},
        {"svm:c=1,C=2", false, MERCER_ERR_ARGUMENT, "head svm: key 'c' is given twice"},
        {"svm:c=0", false, MERCER_ERR_ARGUMENT, "head svm: c=0 is out of range (> 0)"},
        {"linsvm", true, MERCER_ERR_DATA,
         "head linsvm is for classes; target values are for heads ls, lad, knn and svm"},
        {"linsvm:bias=-1", false, MERCER_ERR_ARGUMENT,
         "head linsvm: bias=-1 is out of range (>= 0)"},
    };
    struct set s = make_set();
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_fit_options options = options_of("kpca", cases[c].head);
        refuse(&s, &options, cases[c].values ? s.values : s.classes, cases[c].status,
               cases[c].text);
    }
    free_set(&s);
}

/* A nu up to twice the share of the smaller class, which itself leaves nothing to decide by. */
static void test_nu_that_is_too_large(void **state)
{
    static const struct {
        int64_t few;
        const char *head, *text; /* NULL: it can be had */
    } cases[] = {
        {12, "svm:type=nu,nu=0.2",
         "head svm: nu=0.2 is too large for classes 'few' and 'many' of 12 and 108 rows: it must "
         "be below 0.2"},
        {12, "svm:type=nu,nu=0.5",
         "head svm: nu=0.5 is too large for classes 'few' and 'many' of 12 and 108 rows: it must "
         "be below 0.2"},
        {12, "svm:type=nu,nu=0.199", NULL},
        {60, "svm:type=nu,nu=1,kernel=rbf",
         "head svm: nu=1 is too large for classes 'few' and 'many' of 60 and 60 rows: it must be "
         "below 1"},
        {60, "svm:type=nu,nu=0.99,kernel=rbf", NULL},
    };
    struct set s = make_set();
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_fit_options options = options_of("kpca", cases[c].head);
        mercer_targets *targets = two_classes(&s, cases[c].few, 0.2);
        mercer_model *model = NULL;
        if (cases[c].text) {
            refuse(&s, &options, targets, MERCER_ERR_DATA, cases[c].text);
        } else {
            assert_ok(mercer_fit(ctx, &options, s.rows, targets, &model, NULL, &err));
            mercer_model_free(model);
        }
        mercer_targets_free(targets);
    }
    free_set(&s);
}

/* A nu so small that no plane has a margin is told; one that leaves a margin is not. */
static void test_nu_without_a_margin_is_told(void **state)
{
    struct set s = make_set();
    mercer_targets *mixed = two_classes(&s, 60, 1e6), *apart = two_classes(&s, 60, 0);
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    notice[0] = 0;
    mercer_model_free(fit(&s, "kpca", "svm:type=nu,nu=0.01", mixed));
    assert_string_equal(notice, "head svm: nu=0.01 leaves no margin between classes 'few' and "
                                "'many', so their scores mean little: a larger nu may");
    notice[0] = 0;
    mercer_model_free(fit(&s, "kpca", "svm:type=nu,nu=0.9", mixed));
    mercer_model_free(fit(&s, "kpca", "svm:type=nu,nu=0.5", apart));
    assert_string_equal(notice, "");
    mercer_ctx_set_notice(ctx, NULL, NULL);
    mercer_targets_free(mixed);
    mercer_targets_free(apart);
    free_set(&s);
}

/* The cost is called c, and C is understood; the model says c. */
static void test_cost_by_both_names(void **state)
{
    static const char *const heads[][2] = {{"svm:C=3", "svm:c=3"}, {"linsvm:C=3", "linsvm:c=3"}};
    struct set s = make_set();
    (void)state;
    for (int h = 0; h < 2; h++)
        for (int way = 0; way < 2; way++) {
            mercer_model *model = fit(&s, "kpca", heads[h][way], s.classes);
            mercer_model_info info = {.struct_size = sizeof info};
            mercer_model_get_info(model, &info);
            assert_string_equal(info.head, heads[h][1]);
            mercer_model_free(model);
        }
    free_set(&s);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    let_allocations_fail("svm");
    let_allocations_fail("svm:kernel=rbf");
    let_allocations_fail("linsvm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pairs_of_classes_are_optimal),
        TEST(test_predictions_are_votes_of_the_pairs),
        TEST(test_regression_is_optimal),
        TEST(test_constant_values_need_no_vector),
        TEST(test_linear_machine_is_optimal),
        TEST(test_hinge_loss_has_its_own_random_numbers),
        TEST(test_steps_that_run_out_are_told),
        TEST(test_all_features_or_none),
        TEST(test_few_rows),
        TEST(test_what_is_refused),
        TEST(test_nu_that_is_too_large),
        TEST(test_nu_without_a_margin_is_told),
        TEST(test_cost_by_both_names),
        TEST(test_every_allocation_may_fail),
    };
    return RUN_TESTS(tests);
}
