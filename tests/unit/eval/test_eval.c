/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds and metrics against their definitions. */
#include "data_support.h"

#include "eval/folds.h"
#include "eval/metrics.h"

#include <math.h>

/* Every row is held out once a repeat, sizes and classes are even, repeats differ. */
static void test_folds(void **state)
{
    enum { N = 53, CLASSES = 4, REPEATS = 3 };
    int64_t codes[N], rest[N];
    mrc_folds folds;
    (void)state;
    for (int64_t i = 0; i < N; i++)
        codes[i] = i < 30 ? 0 : i < 50 ? 1 : i < 52 ? 3 : 2;
    for (int64_t k = 2; k <= N; k += k < 10 ? 1 : N - k > 1 ? N - k : 1) {
        const mrc_fold_plan plan = {
            .n = N, .codes = codes, .classes = CLASSES, .count = k, .repeats = REPEATS};
        assert_ok(mrc_folds_draw(ctx, &plan, &folds, &err));
        assert_int_equal(folds.count, k * REPEATS);
        for (int64_t r = 0; r < REPEATS; r++) {
            int seen[N] = {0};
            for (int64_t f = r * k; f < (r + 1) * k; f++) {
                int64_t held = folds.start[f + 1] - folds.start[f], of_class[CLASSES] = {0};
                assert_true(held == N / k || held == N / k + 1);
                assert_int_equal(mrc_folds_rest(&folds, f, rest), N - held);
                int in_rest[N] = {0};
                for (int64_t i = 0; i < N - held; i++)
                    in_rest[rest[i]]++;
                for (int64_t e = folds.start[f]; e < folds.start[f + 1]; e++) {
                    seen[folds.rows[e]]++;
                    in_rest[folds.rows[e]]++;
                    of_class[codes[folds.rows[e]]]++;
                    assert_true(e == folds.start[f] || folds.rows[e] > folds.rows[e - 1]);
                }
                for (int64_t i = 0; i < N; i++)
                    assert_int_equal(in_rest[i], 1);
                assert_true(of_class[0] == 30 / k || of_class[0] == 30 / k + 1);
                assert_true(of_class[1] == 20 / k || of_class[1] == 20 / k + 1);
            }
            for (int64_t i = 0; i < N; i++)
                assert_int_equal(seen[i], 1);
        }
        if (k < N)
            assert_int_not_equal(memcmp(folds.rows, folds.rows + N, sizeof rest), 0);
        mrc_folds_destroy(&folds);
    }
    mrc_fold_plan few = {.n = 3, .count = 4, .repeats = 1};
    assert_int_equal(mrc_folds_draw(ctx, &few, &folds, &err), MERCER_ERR_DATA);
    assert_non_null(strstr(err.text, "3 rows"));
    few.count = 1;
    assert_int_equal(mrc_folds_draw(ctx, &few, &folds, &err), MERCER_ERR_ARGUMENT);
}

/* Groups are never cut, every row is held out once per repeat, no fold is empty, and sizes are as
 * even as the largest group allows. */
static void test_folds_of_groups(void **state)
{
    enum { MOST = 200, CLASSES = 3, REPEATS = 2 };
    int64_t groups[MOST], codes[MOST], fold_of[MOST];
    mrc_folds folds;
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 3);
    for (int round = 0; round < 60; round++) {
        int64_t n = 20 + mrc_rng_below(&rng, MOST - 20), kinds = 2 + mrc_rng_below(&rng, 18);
        int64_t size[MOST] = {0}, present = 0, largest = 0;
        for (int64_t i = 0; i < n; i++) {
            groups[i] = mrc_rng_below(&rng, 1 + mrc_rng_below(&rng, kinds));
            codes[i] = mrc_rng_below(&rng, CLASSES);
            present += size[groups[i]]++ == 0;
        }
        for (int64_t g = 0; g < kinds; g++)
            largest = size[g] > largest ? size[g] : largest;
        mrc_fold_plan plan = {.n = n,
                              .codes = round % 2 ? codes : NULL,
                              .classes = round % 2 ? CLASSES : 0,
                              .groups = groups,
                              .count = present + 1,
                              .repeats = REPEATS};
        assert_int_equal(mrc_folds_draw(ctx, &plan, &folds, &err), MERCER_ERR_DATA);
        if (present < 2)
            continue;
        plan.count = 2 + mrc_rng_below(&rng, present - 1);
        assert_ok(mrc_folds_draw(ctx, &plan, &folds, &err));
        assert_int_equal(folds.count, plan.count * REPEATS);
        for (int64_t r = 0; r < REPEATS; r++) {
            memset(fold_of, -1, sizeof fold_of);
            for (int64_t f = r * plan.count; f < (r + 1) * plan.count; f++) {
                int64_t held = folds.start[f + 1] - folds.start[f];
                assert_true(held > 0);
                if (!plan.codes)
                    assert_true((double)held <= (double)n / (double)plan.count + (double)largest);
                for (int64_t e = folds.start[f]; e < folds.start[f + 1]; e++) {
                    assert_int_equal(fold_of[folds.rows[e]], -1);
                    fold_of[folds.rows[e]] = f;
                }
            }
            for (int64_t i = 0; i < n; i++) {
                assert_true(fold_of[i] >= 0);
                for (int64_t j = 0; j < i; j++)
                    assert_true(groups[i] != groups[j] || fold_of[i] == fold_of[j]);
            }
        }
        mrc_folds_destroy(&folds);
    }
}

/* Ordered folds have all rows before a run to learn from, and none behind it. */
static void test_folds_in_order(void **state)
{
    enum { MOST = 60 };
    int64_t rest[MOST];
    mrc_folds folds;
    (void)state;
    for (int64_t n = 3; n <= MOST; n++)
        for (int64_t k = 2; k < n; k++) {
            mrc_fold_plan plan = {.n = n, .ordered = true, .count = k, .repeats = 1};
            int64_t size = n / (k + 1);
            assert_ok(mrc_folds_draw(ctx, &plan, &folds, &err));
            assert_int_equal(folds.count, k);
            for (int64_t f = 0; f < k; f++) {
                int64_t first = n - (k - f) * size;
                assert_int_equal(folds.start[f + 1] - folds.start[f], size);
                for (int64_t i = 0; i < size; i++)
                    assert_int_equal(folds.rows[folds.start[f] + i], first + i);
                assert_int_equal(mrc_folds_rest(&folds, f, rest), first);
                for (int64_t i = 0; i < first; i++)
                    assert_int_equal(rest[i], i);
            }
            mrc_folds_destroy(&folds);
        }
    mrc_fold_plan few = {.n = 3, .ordered = true, .count = 3, .repeats = 1};
    assert_int_equal(mrc_folds_draw(ctx, &few, &folds, &err), MERCER_ERR_DATA);
}

static double measure(const char *name, const mrc_predictions *judged)
{
    const mrc_metric *metric;
    double value = NAN;
    assert_ok(mrc_metric_find(name, judged->truth ? MERCER_TARGET_CLASSES : MERCER_TARGET_VALUES,
                              judged->outputs, &metric, &err));
    assert_ok(metric->measure(judged, &value, &err));
    return value;
}

static void test_metrics_of_classes(void **state)
{
    /* One of five rows of class 0 and one of three of class 1 are wrong, one row of class 2 was won
     * by nobody; class 3 does not occur. */
    const int64_t truth[] = {0, 0, 0, 0, 0, 1, 1, 1, 2}, predicted[] = {0, 0, 0, 0, 1, 1, 1, 0, -1};
    const mrc_predictions judged = {.n = 9, .outputs = 4, .predicted = predicted, .truth = truth};
    int64_t table[16] = {0}, undecided[4] = {0};
    (void)state;
    assert_true(fabs(measure("error", &judged) - 3. / 9) < 1e-15);
    assert_true(fabs(measure("balanced", &judged) - (1 - (4. / 5 + 2. / 3 + 0) / 3)) < 1e-15);
    mrc_confusion_add(&judged, table, undecided);
    assert_true(undecided[2] == 1 && undecided[0] + undecided[1] + undecided[3] == 0);
    assert_int_equal(table[0], 4);
    assert_int_equal(table[1], 1);
    assert_int_equal(table[4], 1);
    assert_int_equal(table[5], 2);
    assert_int_equal(table[2 * 4 + 3], 0);
    const mrc_metric *metric;
    assert_int_equal(mrc_metric_find("auc", MERCER_TARGET_CLASSES, 3, &metric, &err),
                     MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "error, balanced"));
    assert_int_equal(mrc_metric_find("error", MERCER_TARGET_VALUES, 1, &metric, &err),
                     MERCER_ERR_ARGUMENT);
}

/* Against the definitions by pairs and by ranks, with ties. */
static void test_rankings(void **state)
{
    enum { N = 60 };
    double scores[2 * N], pairs = 0, wins = 0, precision = 0, relevant = 0;
    int64_t truth[N], predicted[N] = {0};
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 7);
    for (int64_t i = 0; i < N; i++) {
        truth[i] = mrc_rng_below(&rng, 3) == 0;
        scores[2 * i] = (double)mrc_rng_below(&rng, 4);
        scores[2 * i + 1] = (double)(mrc_rng_below(&rng, 6) + truth[i]);
    }
    for (int64_t i = 0; i < N; i++) {
        double own = scores[2 * i + 1] - scores[2 * i], above = 0, found = 0;
        if (!truth[i])
            continue;
        relevant++;
        for (int64_t j = 0; j < N; j++) {
            double other = scores[2 * j + 1] - scores[2 * j];
            above += other >= own;
            found += other >= own && truth[j];
            pairs += !truth[j];
            wins += truth[j] ? 0 : own > other ? 1 : own == other ? 0.5 : 0;
        }
        precision += found / above;
    }
    const mrc_predictions judged = {.n = N,
                                    .outputs = 2,
                                    .predicted = predicted,
                                    .truth = truth,
                                    .scores = scores,
                                    .positive = 1};
    assert_true(fabs(measure("auc", &judged) - wins / pairs) < 1e-14);
    assert_true(fabs(measure("ap", &judged) - precision / relevant) < 1e-14);
    /* Looking for the other class is looking for it among classes that changed their places. */
    double swapped_scores[2 * N];
    int64_t swapped_truth[N];
    for (int64_t i = 0; i < N; i++) {
        swapped_scores[2 * i] = scores[2 * i + 1];
        swapped_scores[2 * i + 1] = scores[2 * i];
        swapped_truth[i] = 1 - truth[i];
    }
    mrc_predictions swapped = judged;
    swapped.scores = swapped_scores;
    swapped.truth = swapped_truth;
    swapped.positive = 0;
    assert_true(measure("ap", &swapped) == measure("ap", &judged));
    assert_true(measure("auc", &swapped) == measure("auc", &judged));
    swapped.positive = 1;
    assert_true(fabs(measure("ap", &swapped) - measure("ap", &judged)) > 1e-3);
    const mrc_predictions one = {.n = N,
                                 .outputs = 2,
                                 .predicted = predicted,
                                 .truth = predicted,
                                 .scores = scores,
                                 .positive = 1};
    const mrc_metric *metric;
    double value;
    assert_ok(mrc_metric_find("auc", MERCER_TARGET_CLASSES, 2, &metric, &err));
    assert_ok(metric->measure(&one, &value, &err));
    assert_true(isnan(value)); /* one class has no ranking */
    assert_ok(mrc_metric_find("ap", MERCER_TARGET_CLASSES, 2, &metric, &err));
    assert_ok(metric->measure(&one, &value, &err));
    assert_true(isnan(value));
    double *points = NULL;
    int64_t count;
    assert_int_equal(mrc_roc(&one, &points, &count, &err), MERCER_ERR_DATA);
    assert_ok(mrc_roc(&judged, &points, &count, &err));
    for (int64_t p = 0; p < count; p++) {
        double positive = 0, negative = 0;
        for (int64_t i = 0; i < N; i++)
            if (scores[2 * i + 1] - scores[2 * i] >= points[3 * p + 2])
                (truth[i] ? (positive += 1) : (negative += 1));
        assert_true(fabs(points[3 * p] - negative / (N - relevant)) < 1e-15);
        assert_true(fabs(points[3 * p + 1] - positive / relevant) < 1e-15);
    }
    assert_true(count > 3 && points[3 * count - 3] == 1 && points[3 * count - 2] == 1);
    mrc_free(points);
}

static void test_metrics_of_values(void **state)
{
    const double got[] = {1, 2, 3, 4}, values[] = {1, 1, 3, 2};
    const mrc_predictions judged = {.n = 2, .outputs = 2, .scores = got, .values = values};
    (void)state;
    assert_true(fabs(measure(NULL, &judged) - sqrt(5. / 4)) < 1e-15);
    double huge[] = {1e200, 3e200, 0, 0};
    const double none[4] = {0};
    mrc_predictions extreme = {.n = 2, .outputs = 2, .scores = huge, .values = none};
    assert_true(fabs(measure(NULL, &extreme) / (1e200 * sqrt(10. / 4)) - 1) < 1e-15);
    huge[0] = INFINITY; /* a prediction that diverged is wrong, not unknown */
    assert_true(isinf(measure(NULL, &extreme)));
    extreme.scores = none;
    assert_true(measure(NULL, &extreme) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_folds),          TEST(test_folds_of_groups),
        TEST(test_folds_in_order), TEST(test_metrics_of_classes),
        TEST(test_rankings),       TEST(test_metrics_of_values),
    };
    return RUN_TESTS(tests);
}
