/* SPDX-License-Identifier: BSD-3-Clause */
/* Nearest neighbours against a plain loop over all rows, for every number of features; ties of
 * votes and of distances; what is kept, what is refused. */
#include "heads_support.h"

/* Rows of f in order of their distance from x among the first k features, equal ones in order. */
static void sort_rows(const double *f, int64_t n, const double *x, int64_t k, int64_t l,
                      int64_t *order)
{
    double distance[N];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        double d = 0;
        for (int64_t j = 0; j < k; j++)
            d += (x[j] - f[i * l + j]) * (x[j] - f[i * l + j]);
        for (; at > 0 && distance[at - 1] > d; at--) {
            distance[at] = distance[at - 1];
            order[at] = order[at - 1];
        }
        distance[at] = d;
        order[at] = i;
    }
}

static void test_votes_are_those_of_a_plain_loop_for_every_prefix(void **state)
{
    static const int64_t place_of[] = {0, 1, -1, 2};
    struct set s = make_set();
    mercer_model *model = fit(&s, "akfa", "knn:k=7", s.classes);
    double *f = features_of(model, s.rows), *g = features_of(model, s.new_rows);
    (void)state;
    assert_int_equal(model->head.rows, N);
    for (int64_t k = 1; k <= L; k++) {
        double scores[FRESH * 3];
        int64_t codes[FRESH], order[N];
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, k, scores, codes, &err));
        for (int64_t i = 0; i < FRESH; i++) {
            double votes[3] = {0};
            int64_t best = -1;
            sort_rows(f, N, g + i * L, k, L, order);
            for (int64_t j = 0; j < 7; j++)
                votes[place_of[s.codes[order[j]]]]++;
            for (int64_t j = 0; j < 7; j++) { /* the nearest of those with the most votes */
                int64_t o = place_of[s.codes[order[j]]];
                if (best < 0 || votes[o] > votes[best])
                    best = o;
            }
            assert_int_equal(codes[i], best);
            for (int64_t o = 0; o < 3; o++)
                assert_true(scores[3 * i + o] == votes[o] / 7);
        }
    }
    mrc_free(f);
    mrc_free(g);
    mercer_model_free(model);
    free_set(&s);
}

static void test_values_are_means_of_the_neighbours(void **state)
{
    struct set s = make_set();
    mercer_model *model = fit(&s, "kpca", "knn:k=4", s.values), *loaded = reload(model, s.new_rows);
    double *f = features_of(model, s.rows), *g = features_of(model, s.new_rows), sum = 0;
    double scores[FRESH * 2], own[N * 2];
    int64_t order[N];
    (void)state;
    assert_ok(mercer_model_predict(ctx, loaded, s.new_rows, 0, scores, NULL, &err));
    for (int64_t i = 0; i < FRESH; i++) {
        sort_rows(f, N, g + i * L, L, L, order);
        for (int64_t o = 0; o < 2; o++) {
            double mean = 0;
            for (int64_t j = 0; j < 4; j++)
                mean += s.y[2 * order[j] + o] / 4;
            assert_true(fabs(scores[2 * i + o] - mean) < 1e-11);
        }
    }
    assert_ok(mercer_model_predict(ctx, model, s.rows, 0, own, NULL, &err));
    for (int64_t i = 0; i < 2 * N; i++)
        sum += (own[i] - s.y[i]) * (own[i] - s.y[i]);
    assert_true(fabs(model->head.errors[L - 1] - sqrt(sum / (2 * N))) < 1e-12);
    for (int64_t j = 0; j < L - 1; j++)
        assert_true(isnan(model->head.errors[j]));
    mrc_free(f);
    mrc_free(g);
    mercer_model_free(model);
    mercer_model_free(loaded);
    free_set(&s);
}

/* Ask a head that keeps these rows itself: no method gives such features. */
struct small {
    mrc_head head;
    mrc_head_choice choice;
};

static struct small keep_rows(const char *spec, const double *f, int64_t n, int64_t l,
                              const int64_t *codes, int64_t classes)
{
    struct small s = {.head = {.kind = MERCER_TARGET_CLASSES, .outputs = classes}};
    mrc_head_data data = {.n = n, .l = l, .features = f, .outputs = classes, .codes = codes};
    assert_ok(mrc_head_find(spec, &s.choice, &err));
    assert_ok(mrc_head_knn.fit(ctx, s.choice.params, &data, &s.head, &err));
    return s;
}

static int64_t ask(const struct small *s, const double *x, int64_t l, double *scores)
{
    mrc_head_query query = {.features = x, .n = 1, .l = l, .k = l};
    int64_t code = 0;
    assert_ok(mrc_head_predict(ctx, &s->choice, &s->head, &query, scores, &code, &err));
    return code;
}

static void forget(struct small *s)
{
    mrc_head_choice_destroy(&s->choice);
    mrc_free(s->head.points);
    mrc_free(s->head.codes);
}

static void test_ties_of_votes(void **state)
{
    static const double f[] = {1, 2, -3, 4, 9};
    static const int64_t codes[] = {2, 1, 1, 2, 0};
    static const struct {
        const char *spec;
        int64_t want;
    } cases[] = {{"knn:k=4", 2},
                 {"knn:k=4,ties=nearest", 2},
                 {"knn:k=4,ties=lowest", 1},
                 {"knn:k=4,ties=strict", MERCER_NO_CLASS},
                 {"knn:k=3,ties=strict", 1},
                 {"knn:k=1,ties=strict", 2}};
    static const double zero = 0;
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct small s = keep_rows(cases[c].spec, f, 5, 1, codes, 3);
        double scores[3];
        assert_int_equal(ask(&s, &zero, 1, scores), cases[c].want);
        assert_true(scores[0] == 0);
        forget(&s);
    }
}

/* Far from zero products lose every digit of the distances; equal distances go to the lower row. */
static void test_cancellation_and_equal_distances(void **state)
{
    enum { MANY = 700 };
    double f[2 * MANY], scores[MANY];
    int64_t codes[MANY];
    static const double x[2] = {1e8, 1e8}, huge[2] = {1e200, -1e200};
    (void)state;
    for (int64_t i = 0; i < MANY; i++) {
        f[2 * i] = 1e8 + 1 + 1e-7 * (double)(MANY - i % 500);
        f[2 * i + 1] = 1e8;
        codes[i] = i;
    }
    struct small s = keep_rows("knn:k=1", f, MANY, 2, codes, MANY);
    assert_int_equal(ask(&s, x, 2, scores), 499);  /* the smallest step that 1e8 leaves */
    assert_int_equal(ask(&s, huge, 2, scores), 0); /* infinitely far from all of them */
    for (int64_t i = 0; i < MANY; i++)
        assert_true(isfinite(scores[i]));
    forget(&s);
    for (int64_t i = 0; i < MANY; i++)
        f[2 * i] = 1e8 + (i == 300 || i == 600 ? 1 : 2);
    s = keep_rows("knn:k=2", f, MANY, 2, codes, MANY);
    assert_int_equal(ask(&s, x, 2, scores), 300);
    assert_true(scores[300] == 0.5 && scores[600] == 0.5);
    forget(&s);
}

static void test_more_neighbours_than_rows(void **state)
{
    static const double f[] = {0, 1, 2};
    static const int64_t codes[] = {0, 1, 1};
    double scores[2], x = 0;
    (void)state;
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    struct small s = keep_rows("knn", f, 3, 1, codes, 2);
    assert_string_equal(notice, "head knn: k=10, but there are 3 rows: all of them vote");
    assert_int_equal(ask(&s, &x, 1, scores), 1);
    assert_true(scores[0] == 1. / 3 && scores[1] == 2. / 3);
    forget(&s);
}

/* The error of n training rows takes n^2 operations: of very many it stays unknown. */
static void test_many_rows_have_no_training_error(void **state)
{
    static const char *const names[] = {"low", "high"};
    int64_t most = mrc_head_knn.most_tried, *codes = NULL;
    double *x = normals(3, most + 1);
    (void)state;
    assert_ok(mrc_alloc(&codes, most + 1, sizeof *codes, &err));
    for (int64_t i = 0; i <= most; i++)
        codes[i] = x[i] > 0;
    for (int64_t n = 100; n <= most + 1; n += most + 1 - 100) {
        mercer_fit_options options = options_of("pca", "knn:k=3");
        mercer_rows *rows = NULL;
        mercer_targets *targets = NULL;
        mercer_model *model = NULL;
        options.kernel = NULL;
        options.components = 1;
        assert_ok(view_f64(ctx, x, n, 1, 1, &rows, &err));
        assert_ok(mercer_targets_new_classes(codes, n, names, 2, NULL, &targets, &err));
        assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, &err));
        assert_int_equal(isnan(model->head.errors[0]) != 0, n > most);
        mercer_model_free(model);
        mercer_targets_free(targets);
        mercer_rows_free(rows);
    }
    mrc_free(x);
    mrc_free(codes);
}

static void test_truncated_and_loaded_models_predict_the_same(void **state)
{
    struct set s = make_set();
    mercer_model *model = fit(&s, "akfa", "knn:k=3,ties=lowest", s.classes), *shorter = NULL;
    double a[FRESH * 3], b[FRESH * 3];
    int64_t ca[FRESH], cb[FRESH];
    (void)state;
    assert_ok(mercer_model_truncate(ctx, model, 2, &shorter, &err));
    assert_int_equal(shorter->head.rows, N);
    mercer_model *loaded = reload(shorter, s.new_rows);
    assert_string_equal(loaded->head.spec, "knn:k=3,ties=lowest");
    assert_ok(mercer_model_predict(ctx, model, s.new_rows, 2, a, ca, &err));
    assert_ok(mercer_model_predict(ctx, loaded, s.new_rows, 0, b, cb, &err));
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(ca, cb, sizeof ca);
    loaded->head.codes[5] = 3;
    assert_fails(mrc_model_check_head(loaded, &err), MERCER_ERR_ARGUMENT,
                 "model: row 6 of the head is of class 3");
    mercer_model_free(model);
    mercer_model_free(shorter);
    mercer_model_free(loaded);
    free_set(&s);
}

static void test_a_row_gives_the_same_bits_in_any_company(void **state)
{
    struct set s = make_set();
    double all[FRESH * 3], alone[3];
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        assert_ok(mercer_ctx_set_threads(ctx, threads, &err));
        mercer_model *model = fit(&s, "kpca", "knn:k=5", s.classes);
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, 0, all, NULL, &err));
        for (int64_t i = 0; i < FRESH; i += 23) {
            mercer_rows *one = NULL;
            assert_ok(view_f64(ctx, s.fresh + i * D, 1, D, D, &one, &err));
            assert_ok(mercer_model_predict(ctx, model, one, 0, alone, NULL, &err));
            assert_memory_equal(alone, all + 3 * i, sizeof alone);
            mercer_rows_free(one);
        }
        mercer_model_free(model);
    }
    free_set(&s);
}

static void test_what_knn_refuses(void **state)
{
    struct set s = make_set();
    mercer_fit_options none = options_of("kpca", "knn:k=0"),
                       ties = options_of("kpca", "knn:ties=x");
    mercer_fit_options good = options_of("kpca", "knn");
    mercer_model *model = NULL;
    double scores[FRESH * 3];
    (void)state;
    refuse(&s, &none, s.classes, MERCER_ERR_ARGUMENT,
           "head knn: k=0 is out of range (1 .. 2147483647)");
    refuse(&s, &ties, s.classes, MERCER_ERR_ARGUMENT,
           "head knn: ties=x is not one of nearest, lowest, strict");
    assert_ok(mercer_fit(ctx, &good, s.rows, s.classes, &model, NULL, &err));
    mrc_free(model->head.codes);
    model->head.codes = NULL;
    assert_fails(mercer_model_predict(ctx, model, s.new_rows, 0, scores, NULL, &err),
                 MERCER_ERR_FORMAT, "model: parts of head 'knn' are missing");
    mercer_model_free(model);
    free_set(&s);
}

static void test_every_number_of_features_at_once(void **state)
{
    (void)state;
    expect_answers_of_each("knn:k=5");
    expect_answers_of_each("knn:k=4,ties=strict");
    expect_answers_of_each("ls");
    expect_answers_of_each("centre");
    expect_answers_of_each("lad");
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    let_allocations_fail("knn:k=3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_votes_are_those_of_a_plain_loop_for_every_prefix),
        TEST(test_values_are_means_of_the_neighbours),
        TEST(test_ties_of_votes),
        TEST(test_cancellation_and_equal_distances),
        TEST(test_more_neighbours_than_rows),
        TEST(test_many_rows_have_no_training_error),
        TEST(test_truncated_and_loaded_models_predict_the_same),
        TEST(test_a_row_gives_the_same_bits_in_any_company),
        TEST(test_what_knn_refuses),
        TEST(test_every_number_of_features_at_once),
        TEST(test_every_allocation_may_fail),
    };
    return RUN_TESTS(tests);
}
