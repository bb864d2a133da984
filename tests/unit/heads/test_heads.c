/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads: least squares against plain normal equations, nearest centres against a loop, for every
 * number of features; what is kept, what is refused. */
#include "heads_support.h"

#include "linalg/lad.h"

/* Coefficients of the first k of l features and the intercept, by elimination in long double. */
static void plain_least_squares(const double *f, int64_t l, int64_t k, const double *y,
                                int64_t outputs, int64_t output, int64_t n, long double *b)
{
    long double a[L + 1][L + 2] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p <= k; p++) {
            long double left = p < k ? f[i * l + p] : 1;
            for (int64_t q = 0; q <= k; q++)
                a[p][q] += left * (q < k ? f[i * l + q] : 1);
            a[p][k + 1] += left * y[i * outputs + output];
        }
    for (int64_t p = 0; p <= k; p++)
        for (int64_t q = 0; q <= k; q++) {
            long double factor = q == p ? 0 : a[q][p] / a[p][p];
            for (int64_t c = p; c <= k + 1; c++)
                a[q][c] -= factor * a[p][c];
        }
    for (int64_t p = 0; p <= k; p++)
        b[p] = a[p][k + 1] / a[p][p];
}

/* Uncorrelated features, correlated ones, and features with a mean. */
static const struct {
    const char *method, *center;
    bool correlated;
} forms[] = {{"kpca", "exact", false}, {"akfa", "exact", true}, {"kpca", "none", true}};
enum { FORMS = sizeof forms / sizeof *forms };

static void test_ls_is_the_plain_fit_for_every_prefix(void **state)
{
    struct set s = make_set();
    (void)state;
    for (int m = 0; m < FORMS; m++) {
        mercer_fit_options options = options_of(forms[m].method, "ls");
        mercer_model *model = NULL;
        options.center = forms[m].center;
        assert_ok(mercer_fit(ctx, &options, s.rows, s.values, &model, NULL, &err));
        assert_int_equal(model->head.basis != NULL, forms[m].correlated);
        double *f = features_of(model, s.rows), *g = features_of(model, s.new_rows);
        for (int64_t k = 1; k <= L; k++) {
            double scores[FRESH * 2], missed = 0;
            assert_ok(mercer_model_predict(ctx, model, s.new_rows, k, scores, NULL, &err));
            for (int64_t o = 0; o < 2; o++) {
                long double b[L + 1];
                plain_least_squares(f, L, k, s.y, 2, o, N, b);
                for (int64_t i = 0; i < FRESH; i++) {
                    long double want = b[k];
                    for (int64_t j = 0; j < k; j++)
                        want += b[j] * g[i * L + j];
                    assert_true(fabsl(want - scores[2 * i + o]) < 1e-9L);
                }
                for (int64_t i = 0; i < N; i++) {
                    long double left = b[k] - s.y[2 * i + o];
                    for (int64_t j = 0; j < k; j++)
                        left += b[j] * f[i * L + j];
                    missed += (double)(left * left);
                }
            }
            assert_true(fabs(model->head.errors[k - 1] - sqrt(missed / (2 * N))) < 1e-10);
        }
        mrc_free(f);
        mrc_free(g);
        mercer_model_free(model);
    }
    free_set(&s);
}

/* Call the head itself: methods give no features this bad. */
static mrc_head learn_ls(const double *f, int64_t n, int64_t l, const double *y)
{
    mrc_head head = {.outputs = 1};
    mrc_head_data data = {.n = n, .l = l, .features = f, .outputs = 1, .values = y};
    assert_ok(mrc_head_ls.fit(ctx, NULL, &data, &head, &err));
    return head;
}

static double score(const mrc_head *head, const double *f, int64_t l)
{
    double sum;
    mrc_head_start(head, &sum);
    for (int64_t j = 0; j < l; j++)
        mrc_head_ls.add_feature(head, f, l, j, &sum);
    return sum;
}

static void free_ls(mrc_head *head)
{
    mrc_free(head->center);
    mrc_free(head->basis);
    mrc_free(head->weights);
    mrc_free(head->intercept);
}

/* Feature 3 is a combination, 4 is constant, 5 is feature 1 except for 1e-7 of it, which y needs.
 */
static void test_ls_stands_dependent_features(void **state)
{
    double *x = normals(5, N * 3), f[N * 6], y[N];
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        const double *from = x + 3 * i;
        const double row[6] = {
            from[0], from[1], 2 * from[0] - 3 * from[1] + 7, 5, from[0] + 1e-7 * from[2], from[2]};
        memcpy(f + 6 * i, row, sizeof row);
        y[i] = 4 + from[0] - from[1] + 2 * from[2];
    }
    mrc_head head = learn_ls(f, N, 6, y);
    assert_true(head.weights[2] == 0 && head.weights[3] == 0); /* nothing new in them */
    for (int64_t i = 0; i < N; i++)
        assert_true(fabs(score(&head, f + 6 * i, 6) - y[i]) < 1e-7);
    free_ls(&head);
    mrc_free(x);
}

/* More features than rows, and all of them zero. */
static void test_ls_fits_few_rows_exactly(void **state)
{
    double *f = normals(6, 4 * 8), zero[8] = {0};
    static const double y[] = {1, -2, 5, 7};
    (void)state;
    mrc_head head = learn_ls(f, 4, 8, y);
    for (int64_t i = 0; i < 4; i++)
        assert_true(fabs(score(&head, f + 8 * i, 8) - y[i]) < 1e-10);
    free_ls(&head);
    head = learn_ls(zero, 4, 2, y);
    assert_true(fabs(score(&head, f, 2) - 11. / 4) < 1e-14);
    free_ls(&head);
    mrc_free(f);
}

static void test_classes_by_ls_are_the_largest_indicator(void **state)
{
    struct set s = make_set();
    mercer_model *model = fit(&s, "akfa", "ls", s.classes);
    static const int64_t codes_of[] = {0, 1, 3};
    double *f = features_of(model, s.rows), *scores = normals(1, N * 3), *y = normals(1, N * 3);
    int64_t codes[N], wrong = 0;
    (void)state;
    assert_int_equal(model->head.outputs, 3); /* nobody is in the fourth */
    assert_string_equal(mercer_model_output_name(model, 2), "south");
    assert_null(mercer_model_output_name(model, 3));
    for (int64_t i = 0; i < N; i++)
        for (int64_t o = 0; o < 3; o++)
            y[3 * i + o] = s.codes[i] == codes_of[o];
    assert_ok(mercer_model_predict(ctx, model, s.rows, 0, scores, codes, &err));
    for (int64_t o = 0; o < 3; o++) {
        long double b[L + 1];
        plain_least_squares(f, L, L, y, 3, o, N, b);
        for (int64_t i = 0; i < N; i++) {
            long double want = b[L];
            for (int64_t j = 0; j < L; j++)
                want += b[j] * f[i * L + j];
            assert_true(fabsl(want - scores[3 * i + o]) < 1e-10L);
            assert_true(scores[3 * i + codes[i]] >= scores[3 * i + o]);
        }
    }
    for (int64_t i = 0; i < N; i++)
        wrong += codes_of[codes[i]] != s.codes[i];
    assert_true(wrong > 0 && wrong < N / 3);
    assert_true(fabs(model->head.errors[L - 1] - (double)wrong / N) < 1e-15);
    mrc_free(f);
    mrc_free(scores);
    mrc_free(y);
    mercer_model_free(model);
    free_set(&s);
}

/* With every number of features the sums of -dL/df, alone and times each feature, are zero, which
 * only the least loss has; the scores of the classes are opposite. */
static void test_margins_are_of_least_loss_for_every_prefix(void **state)
{
    static const char *const names[] = {"no", "yes"}, *const heads[] = {"exp", "log"};
    struct set s = make_set();
    int64_t codes[N];
    mercer_targets *targets = NULL;
    (void)state;
    for (int64_t i = 0; i < N; i++)
        codes[i] = s.x[i * D] + s.y[2 * i + 1] > 0.3;
    assert_ok(mercer_targets_new_classes(codes, N, names, 2, NULL, &targets, &err));
    for (int m = 0; m < FORMS; m++)
        for (int h = 0; h < 2; h++) {
            mercer_fit_options options = options_of(forms[m].method, heads[h]);
            mercer_model *model = NULL;
            options.center = forms[m].center;
            assert_ok(mercer_fit(ctx, &options, s.rows, targets, &model, NULL, &err));
            double *f = features_of(model, s.rows);
            for (int64_t k = 1; k <= L; k++) {
                double scores[N * 2], w[N], all = 0;
                int64_t wrong = 0;
                assert_ok(mercer_model_predict(ctx, model, s.rows, k, scores, NULL, &err));
                for (int64_t i = 0; i < N; i++) {
                    double y = codes[i] ? 1 : -1, e = exp(-y * scores[2 * i + 1]);
                    assert_true(scores[2 * i] == -scores[2 * i + 1]);
                    w[i] = y * (h == 0 ? e : e / (1 + e));
                    all += fabs(w[i]);
                    wrong += y * scores[2 * i + 1] < 0;
                }
                assert_true(fabs(model->head.errors[k - 1] - (double)wrong / N) < 1e-12);
                for (int64_t j = -1; j < k; j++) {
                    double sum = 0, size = 0;
                    for (int64_t i = 0; i < N; i++) {
                        double a = j < 0 ? 1 : f[i * L + j];
                        sum += w[i] * a;
                        size = fmax(size, fabs(a));
                    }
                    assert_true(fabs(sum) <= 1e-9 * all * size);
                }
            }
            mrc_free(f);
            mercer_model_free(model);
        }
    mercer_targets_free(targets);
    free_set(&s);
}

/* With every number of features the deviations sum up to what a fit to only these features has. */
static void test_lad_is_the_least_sum_for_every_prefix(void **state)
{
    struct set s = make_set();
    (void)state;
    for (int m = 0; m < FORMS; m++) {
        mercer_fit_options options = options_of(forms[m].method, "lad");
        mercer_model *model = NULL;
        options.center = forms[m].center;
        assert_ok(mercer_fit(ctx, &options, s.rows, s.values, &model, NULL, &err));
        double *f = features_of(model, s.rows), columns[(L + 1) * N], y[N];
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j <= L; j++)
                columns[j * N + i] = j == 0 ? 1 : f[i * L + j - 1];
        for (int64_t k = 1; k <= L; k++)
            for (int64_t o = 0; o < 2; o++) {
                double scores[N * 2], sum = 0;
                mrc_lad plain;
                assert_ok(mercer_model_predict(ctx, model, s.rows, k, scores, NULL, &err));
                for (int64_t i = 0; i < N; i++) {
                    y[i] = s.y[2 * i + o];
                    sum += fabs(scores[2 * i + o] - y[i]);
                }
                assert_ok(mrc_lad_init(&plain, ctx, y, N, k + 1, &err));
                assert_ok(mrc_lad_fit(&plain, columns, k + 1, &err));
                assert_true(fabs(sum - plain.loss) <= 1e-9 * plain.loss);
                mrc_lad_destroy(&plain);
            }
        mrc_free(f);
        mercer_model_free(model);
    }
    free_set(&s);
}

static void test_centre_finds_the_nearest_for_every_prefix(void **state)
{
    struct set s = make_set();
    mercer_model *model = fit(&s, "kpca", "centre", s.classes);
    double *f = features_of(model, s.rows), *g = features_of(model, s.new_rows);
    static const int64_t codes_of[] = {0, 1, 3};
    double centers[3][L] = {{0}}, count[3] = {0}, scores[FRESH * 3];
    int64_t codes[FRESH];
    (void)state;
    for (int64_t i = 0; i < N; i++)
        for (int64_t o = 0; o < 3; o++)
            for (int64_t j = 0; codes_of[o] == s.codes[i] && j <= L; j++) {
                if (j < L)
                    centers[o][j] += f[i * L + j];
                else
                    count[o]++;
            }
    for (int64_t k = 1; k <= L; k++) {
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, k, scores, codes, &err));
        for (int64_t i = 0; i < FRESH; i++)
            for (int64_t o = 0; o < 3; o++) {
                double distance = 0;
                for (int64_t j = 0; j < k; j++)
                    distance += pow(g[i * L + j] - centers[o][j] / count[o], 2);
                assert_true(fabs(distance + scores[3 * i + o]) < 1e-12);
                assert_true(scores[3 * i + codes[i]] >= scores[3 * i + o]);
            }
    }
    mrc_free(f);
    mrc_free(g);
    mercer_model_free(model);
    free_set(&s);
}

static void test_truncated_and_loaded_models_predict_the_same(void **state)
{
    static const char *const heads[] = {"ls", "centre", "lad"};
    struct set s = make_set();
    (void)state;
    for (int h = 0; h < 3; h++)
        for (int64_t kept = 1; kept <= L; kept++) {
            mercer_model *model = fit(&s, "akfa", heads[h], s.classes), *shorter = NULL;
            mercer_model *loaded = NULL;
            mercer_model_info info = {.struct_size = sizeof info};
            double a[FRESH * 3], b[FRESH * 3];
            assert_ok(mercer_model_truncate(ctx, model, kept, &shorter, &err));
            assert_ok(mercer_model_predict(ctx, model, s.new_rows, kept, a, NULL, &err));
            assert_ok(mercer_model_predict(ctx, shorter, s.new_rows, 0, b, NULL, &err));
            for (int64_t i = 0; i < FRESH * 3; i++)
                assert_true(fabs(a[i] - b[i]) < 1e-11);
            assert_true(shorter->head.errors[kept - 1] == model->head.errors[kept - 1]);

            const char *path = in_scratch("head.model");
            assert_ok(mercer_model_save(ctx, shorter, path, &err));
            assert_ok(mercer_model_load(ctx, path, &loaded, &err));
            assert_ok(mercer_model_predict(ctx, loaded, s.new_rows, 0, a, NULL, &err));
            assert_memory_equal(a, b, sizeof a);
            mercer_model_get_info(loaded, &info);
            assert_string_equal(info.head, heads[h]);
            assert_int_equal(info.head_kind, MERCER_TARGET_CLASSES);
            assert_int_equal(info.head_outputs, 3);
            assert_string_equal(mercer_model_output_name(loaded, 1), "a, \"b\"\xff");
            assert_memory_equal(info.head_errors, model->head.errors,
                                (size_t)kept * sizeof(double));
            mercer_model_free(model);
            mercer_model_free(shorter);
            mercer_model_free(loaded);
        }
    free_set(&s);
}

static void test_constant_target_is_predicted(void **state)
{
    struct set s = make_set();
    double same[N], scores[FRESH];
    mercer_targets *targets = NULL;
    (void)state;
    for (int64_t i = 0; i < N; i++)
        same[i] = 0.1;
    assert_ok(mercer_targets_new_values(same, N, 1, NULL, &targets, &err));
    mercer_model *model = fit(&s, "kpca", "ls", targets);
    assert_ok(mercer_model_predict(ctx, model, s.new_rows, 0, scores, NULL, &err));
    for (int64_t i = 0; i < FRESH; i++)
        assert_true(fabs(scores[i] - 0.1) < 1e-14);
    mercer_model_free(model);
    mercer_targets_free(targets);
    free_set(&s);
}

/* Scaling the targets changes what a method sees, not what least squares predicts. */
static void test_scaled_targets(void **state)
{
    struct set s = make_set();
    mercer_fit_options options = options_of("kpca", "ls");
    mercer_model *model = fit(&s, "kpca", "ls", s.values), *scaled = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_targets *targets = NULL;
    double a[FRESH * 2], b[FRESH * 2], sum = 0, squares = 0;
    (void)state;
    options.scale_target = "norm";
    assert_ok(mercer_fit(ctx, &options, s.rows, s.values, &scaled, NULL, &err));
    assert_ok(mercer_model_predict(ctx, model, s.new_rows, 0, a, NULL, &err));
    assert_ok(mercer_model_predict(ctx, scaled, s.new_rows, 0, b, NULL, &err));
    assert_memory_equal(a, b, sizeof a);
    mercer_model_get_info(scaled, &info);
    assert_string_equal(info.scale_target, "norm");

    assert_ok(mrc_targets_scale(s.values, MRC_SCALE_NORM, &targets, &err));
    for (int64_t i = 0; i < N; i++) {
        sum += targets->values[2 * i];
        squares += targets->values[2 * i] * targets->values[2 * i];
    }
    assert_true(fabs(sum) < 1e-12 && fabs(squares - 1) < 1e-12);
    assert_string_equal(mercer_targets_name(targets, 1), "second");
    mercer_targets_free(targets);
    mercer_model_free(model);
    mercer_model_free(scaled);
    free_set(&s);
}

/* Shift and unit of each column: standard has deviation 1, norm length 1. */
static void plain_scale(const double *y, bool norm, double *shift, double *unit)
{
    for (int64_t o = 0; o < 2; o++) {
        double squares = 0;
        shift[o] = 0;
        for (int64_t i = 0; i < N; i++)
            shift[o] += y[2 * i + o] / N;
        for (int64_t i = 0; i < N; i++)
            squares += (y[2 * i + o] - shift[o]) * (y[2 * i + o] - shift[o]);
        unit[o] = sqrt(norm ? squares : squares / N);
    }
}

static void assert_near(const double *got, const double *want, const double *unit, const char *what)
{
    for (int64_t i = 0; i < FRESH * 2; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-7 * unit[i % 2]))
            fail_msg("%s: row %lld is %.17g, not %.17g", what, (long long)(i / 2), got[i], want[i]);
}

/* The same by an evaluation whose test rows are the new ones; their targets do not matter. */
static void assert_evaluated(const struct set *s, const mercer_fit_options *fit, const double *want,
                             const double *unit)
{
    mercer_evaluate_options options;
    mercer_evaluation *result = NULL;
    mercer_evaluation_fold fold = {.struct_size = sizeof fold};
    mercer_targets *truth = NULL;
    mercer_evaluate_options_init(&options);
    assert_ok(mercer_targets_new_values(s->y, FRESH, 2, NULL, &truth, &err));
    options.fit = fit;
    options.test = s->new_rows;
    options.test_targets = truth;
    assert_ok(mercer_evaluate(ctx, &options, s->rows, s->values, &result, &err));
    mercer_evaluation_get_fold(result, 0, &fold);
    double sum = 0;
    for (int64_t i = 0; i < FRESH * 2; i++)
        sum += (want[i] - s->y[i]) * (want[i] - s->y[i]) / (FRESH * 2);
    assert_near(fold.scores, want, unit, fit->head);
    assert_true(fabs(fold.value - sqrt(sum)) <= 1e-7 * sqrt(sum));
    mercer_evaluation_free(result);
    mercer_targets_free(truth);
}

/* Every head that predicts values: learning from scaled targets is learning from targets that the
 * caller has scaled, and predicting in their own units. */
static void test_every_head_learns_from_scaled_targets(void **state)
{
    static const char *const specs[] = {"ls",
                                        "lad",
                                        "knn:k=3",
                                        "svm:tolerance=1e-10",
                                        "svm:epsilon=0.01,tolerance=1e-10",
                                        "svm:kernel=rbf,c=10,tolerance=1e-10"};
    static const char *const kinds[] = {"standard", "norm"};
    struct set s = make_set();
    const mercer_entry *entry;
    (void)state;
    for (int h = 0; (entry = mercer_head_at(h)); h++) { /* none is missing */
        mrc_head_choice choice = {0};
        bool tried = false;
        assert_ok(mrc_head_find(mercer_entry_name(entry), &choice, &err));
        for (size_t c = 0; c < sizeof specs / sizeof *specs; c++)
            tried |= strncmp(specs[c], mercer_entry_name(entry), strcspn(specs[c], ":")) == 0;
        /* Predictions that are handed on are tested with the method that makes them (test_krr.c).
         */
        assert_int_equal(tried,
                         choice.def->values && !choice.def->signs && !choice.def->of_predictions);
        mrc_head_choice_destroy(&choice);
    }
    for (int c = 0; c < 12; c++) {
        mercer_fit_options options = options_of("kpca", specs[c / 2]);
        double shift[2], unit[2], y[N * 2], want[FRESH * 2], got[FRESH * 2], raw[FRESH * 2];
        mercer_model *model = NULL, *plain = NULL, *as_is = fit(&s, "kpca", specs[c / 2], s.values);
        mercer_targets *scaled = NULL;
        plain_scale(s.y, c % 2, shift, unit);
        for (int64_t i = 0; i < N * 2; i++)
            y[i] = (s.y[i] - shift[i % 2]) / unit[i % 2];
        assert_ok(mercer_targets_new_values(y, N, 2, NULL, &scaled, &err));
        assert_ok(mercer_fit(ctx, &options, s.rows, scaled, &plain, NULL, &err));
        options.scale_target = kinds[c % 2];
        assert_ok(mercer_fit(ctx, &options, s.rows, s.values, &model, NULL, &err));
        assert_ok(mercer_model_predict(ctx, plain, s.new_rows, 0, want, NULL, &err));
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, 0, got, NULL, &err));
        assert_ok(mercer_model_predict(ctx, as_is, s.new_rows, 0, raw, NULL, &err));
        for (int64_t i = 0; i < FRESH * 2; i++)
            want[i] = want[i] * unit[i % 2] + shift[i % 2];
        assert_near(got, want, unit, specs[c / 2]);
        if (specs[c / 2][0] != 's') /* the others do not care */
            assert_near(raw, want, unit, specs[c / 2]);
        assert_evaluated(&s, &options, want, unit);
        mercer_model_free(model);
        mercer_model_free(plain);
        mercer_model_free(as_is);
        mercer_targets_free(scaled);
    }
    free_set(&s);
}

/* What cannot be scaled is refused by fits and evaluations alike. */
static void test_targets_that_have_no_scale(void **state)
{
    struct set s = make_set();
    mercer_fit_options options = options_of("kpca", "exp");
    mercer_evaluate_options judged;
    mercer_evaluation *result = NULL;
    mercer_targets *signs = NULL;
    double y[N];
    (void)state;
    for (int64_t i = 0; i < N; i++)
        y[i] = s.x[i * D] > 0 ? 1 : -1;
    assert_ok(mercer_targets_new_values(y, N, 1, NULL, &signs, &err));
    mercer_evaluate_options_init(&judged);
    judged.fit = &options;
    options.scale_target = "standard";
    refuse(&s, &options, signs, MERCER_ERR_ARGUMENT,
           "scale_target: head exp is for targets of -1 and +1, which have no scale");
    assert_int_equal(mercer_evaluate(ctx, &judged, s.rows, signs, &result, &err),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "which have no scale"));
    options.head = "ls";
    refuse(&s, &options, s.classes, MERCER_ERR_ARGUMENT,
           "scale_target: classes have no values to scale");
    assert_int_equal(mercer_evaluate(ctx, &judged, s.rows, s.classes, &result, &err),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "classes have no values to scale"));
    mercer_targets_free(signs);
    free_set(&s);
}

static void test_any_number_of_threads_gives_the_same_bits(void **state)
{
    struct set s = make_set();
    double scores[2][FRESH * 3];
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        assert_ok(mercer_ctx_set_threads(ctx, threads, &err));
        mercer_model *model = fit(&s, "akfa", "ls", s.classes);
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, 0, scores[threads - 1], NULL, &err));
        mercer_model_free(model);
    }
    assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
    free_set(&s);
}

static void test_targets_that_cannot_be(void **state)
{
    static const char *const names[] = {"a", "b"};
    static const int64_t codes[] = {0, 1, 2};
    static const double values[] = {1, 2, 3, NAN};
    mercer_targets *targets = NULL;
    (void)state;
    assert_fails(mercer_targets_new_classes(codes, 3, names, 2, NULL, &targets, &err),
                 MERCER_ERR_DATA, "targets: row 3 is of class 2, and there are 2");
    assert_fails(mercer_targets_new_values(values, 2, 2, NULL, &targets, &err), MERCER_ERR_DATA,
                 "targets: row 2, column 2: the value is not finite");
    assert_fails(mercer_targets_new_values(values, 0, 2, NULL, &targets, &err), MERCER_ERR_ARGUMENT,
                 "targets: 0 rows of 2 columns or classes");
    assert_fails(mercer_targets_new_classes(NULL, 3, names, 2, NULL, &targets, &err),
                 MERCER_ERR_ARGUMENT, "targets: 3 rows of 2 columns or classes");
    assert_null(targets);
}

static void test_fits_that_cannot_be(void **state)
{
    struct set s = make_set();
    mercer_fit_options ls = options_of("kpca", "ls"), centre = options_of("kpca", "centre");
    mercer_fit_options wrong = options_of("kpca", "svn"), keys = options_of("kpca", "ls:k=3");
    mercer_fit_options none = options_of("kpca", NULL), margins = options_of("kpca", "log");
    mercer_targets *few = NULL;
    (void)state;
    refuse(
        &s, &ls, NULL, MERCER_ERR_DATA,
        "there is nothing to predict: name the column of the classes or the columns of the values");
    assert_string_equal(err.key, "label target");
    refuse(&s, &centre, NULL, MERCER_ERR_DATA,
           "there is nothing to predict: name the column of the classes");
    assert_string_equal(err.key, "label");
    refuse(&s, &centre, s.values, MERCER_ERR_DATA,
           "head centre is for classes; target values are for heads ls, lad, knn and svm");
    refuse(&s, &margins, s.classes, MERCER_ERR_DATA,
           "loss log is for two classes, or for one target of -1 and +1: here are 4 classes");
    refuse(&s, &wrong, s.values, MERCER_ERR_ARGUMENT,
           "unknown head 'svn' (known: ls, centre, lad, exp, log, knn, svm, linsvm, direct, toy, "
           "none)");
    assert_int_equal(mercer_fit_options_check(&keys, 0, &err), MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "head ls"));
    none.scale_target = "standard";
    refuse(&s, &none, s.values, MERCER_ERR_ARGUMENT,
           "scale_target: method kpca does not look at targets; give it a head that does");
    ls.scale_target = "standard";
    refuse(&s, &ls, s.classes, MERCER_ERR_ARGUMENT,
           "scale_target: classes have no values to scale");
    ls.scale_target = NULL;
    assert_ok(mercer_targets_new_values(s.y, N - 1, 1, NULL, &few, &err));
    refuse(&s, &ls, few, MERCER_ERR_ARGUMENT, "119 targets for 120 rows");
    s.values->values[7] = NAN;
    refuse(&s, &ls, s.values, MERCER_ERR_DATA, "row 4: target 2 is not a finite number");
    for (int64_t i = 0; i < N; i++)
        s.classes->codes[i] = 3;
    refuse(&s, &centre, s.classes, MERCER_ERR_DATA,
           "all rows are of class 'south': there is no other class to tell it from");
    mercer_targets_free(few);
    free_set(&s);
}

static void test_predictions_that_cannot_be(void **state)
{
    struct set s = make_set();
    mercer_model *plain = fit(&s, "kpca", NULL, s.classes);
    mercer_model *model = fit(&s, "kpca", "ls", s.classes);
    double scores[FRESH * 3];
    (void)state;
    assert_fails(
        mercer_model_predict(ctx, plain, s.new_rows, 0, scores, NULL, &err), MERCER_ERR_UNSUPPORTED,
        "the model has no head to predict with; fit it with one, for example ls or centre");
    assert_string_equal(err.advice_key, "head");
    assert_fails(mercer_model_predict(ctx, model, s.new_rows, L + 1, scores, NULL, &err),
                 MERCER_ERR_ARGUMENT,
                 "7 components to predict from: the model has 6, so 1 to 6 are possible");
    mrc_free(model->head.weights);
    model->head.weights = NULL;
    assert_fails(mercer_model_predict(ctx, model, s.new_rows, 0, scores, NULL, &err),
                 MERCER_ERR_FORMAT, "model: parts of head 'ls' are missing");
    mercer_model_free(plain);
    mercer_model_free(model);
    free_set(&s);
}

static void test_head_needs_memory_for_the_features(void **state)
{
    struct set s = make_set();
    mercer_model *model = fit(&s, "kpca", NULL, s.classes);
    (void)state;
    int64_t before = ctx->budget;
    ctx->budget = N * L * 8 - 1;
    mrc_head_choice ls = {.def = &mrc_head_ls};
    assert_int_equal(mrc_head_learn(ctx, &ls, s.rows, s.classes, NULL, true, model, &err),
                     MERCER_ERR_BUDGET);
    ctx->budget = before;
    mercer_model_free(model);
    free_set(&s);
}

static void test_every_allocation_may_fail(void **state)
{
    static const char *const heads[] = {"ls", "centre", "lad"};
    (void)state;
    for (int h = 0; h < 3; h++)
        let_allocations_fail(heads[h]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ls_is_the_plain_fit_for_every_prefix),
        TEST(test_ls_stands_dependent_features),
        TEST(test_ls_fits_few_rows_exactly),
        TEST(test_classes_by_ls_are_the_largest_indicator),
        TEST(test_margins_are_of_least_loss_for_every_prefix),
        TEST(test_lad_is_the_least_sum_for_every_prefix),
        TEST(test_centre_finds_the_nearest_for_every_prefix),
        TEST(test_truncated_and_loaded_models_predict_the_same),
        TEST(test_constant_target_is_predicted),
        TEST(test_scaled_targets),
        TEST(test_every_head_learns_from_scaled_targets),
        TEST(test_targets_that_have_no_scale),
        TEST(test_any_number_of_threads_gives_the_same_bits),
        TEST(test_targets_that_cannot_be),
        TEST(test_fits_that_cannot_be),
        TEST(test_predictions_that_cannot_be),
        TEST(test_head_needs_memory_for_the_features),
        TEST(test_every_allocation_may_fail),
    };
    return RUN_TESTS(tests);
}
