/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of predictions.
 *
 * The score of a row in favour of one of two classes is its score of that class less that of the
 * other. Equal scores form one step of the ROC curve, so the area under it counts a tie as half
 * (Mann, Whitney); the average precision, a mean over the relevant rows of the precision at their
 * rank, takes all rows of a tie as found at once. */
#include "eval/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mercer_status error_rate(const mrc_predictions *judged, double *out, mercer_error *err)
{
    int64_t wrong = 0;
    (void)err;
    for (int64_t i = 0; i < judged->n; i++)
        wrong += judged->predicted[i] != judged->truth[i];
    *out = (double)wrong / (double)judged->n;
    return MERCER_OK;
}

/* Mean over the classes that occur of the share of their rows in the wrong class. */
static mercer_status balanced_error(const mrc_predictions *judged, double *out, mercer_error *err)
{
    double *right = NULL, *rows, sum = 0;
    int64_t occurring = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&right, 2, judged->outputs, sizeof *right, err));
    rows = right + judged->outputs;
    for (int64_t i = 0; i < judged->n; i++) {
        rows[judged->truth[i]]++;
        right[judged->truth[i]] += judged->predicted[i] == judged->truth[i];
    }
    for (int64_t c = 0; c < judged->outputs; c++)
        if (rows[c] > 0) {
            sum += right[c] / rows[c];
            occurring++;
        }
    *out = 1 - sum / (double)occurring;
out:
    mrc_free(right);
    return rc;
}

static mercer_status root_mean_square(const mrc_predictions *judged, double *out, mercer_error *err)
{
    double sum = 0, largest = 0;
    int64_t count = judged->n * judged->outputs;
    (void)err;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(judged->scores[i] - judged->values[i]));
    double unit = largest > 0 ? largest : 1; /* squares of huge or tiny values leave the range */
    for (int64_t i = 0; i < count; i++)
        sum += pow((judged->scores[i] - judged->values[i]) / unit, 2);
    *out = isinf(largest) ? largest : unit * sqrt(sum / (double)count);
    return MERCER_OK;
}

/* ---- rankings ---- */

struct ranked {
    double score;
    int relevant;
};

static int by_score(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->score, y = ((const struct ranked *)b)->score;
    return (x < y) - (x > y);
}

/* How many rows are of the class looked for. */
static int64_t count_relevant(const mrc_predictions *judged)
{
    int64_t count = 0;
    for (int64_t i = 0; i < judged->n; i++)
        count += judged->truth[i] == judged->positive;
    return count;
}

/* All rows, the most likely of the class looked for first; *relevant of them are. */
static mercer_status rank(const mrc_predictions *judged, struct ranked **out, int64_t *relevant,
                          mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *relevant = count_relevant(judged);
    MRC_TRY(mrc_alloc(out, judged->n, sizeof **out, err));
    for (int64_t i = 0; i < judged->n; i++) {
        const double *scores = judged->scores + 2 * i;
        (*out)[i].score = scores[judged->positive] - scores[1 - judged->positive];
        (*out)[i].relevant = judged->truth[i] == judged->positive;
    }
    qsort(*out, (size_t)judged->n, sizeof **out, by_score);
out:
    return rc;
}

mercer_status mrc_roc(const mrc_predictions *judged, double **points, int64_t *count,
                      mercer_error *err)
{
    struct ranked *ranked = NULL;
    int64_t relevant, found = 0, n = judged->n;
    mercer_status rc = MERCER_OK;
    *points = NULL;
    *count = 1;
    MRC_TRY(rank(judged, &ranked, &relevant, err));
    if (relevant == 0 || relevant == n)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the rows held out are all of one class: there is no ranking to judge");
    MRC_TRY(mrc_alloc2(points, n + 1, 3, sizeof **points, err));
    (*points)[2] = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        found += ranked[i].relevant;
        if (i + 1 < n && ranked[i + 1].score == ranked[i].score)
            continue;
        double *point = *points + 3 * (*count)++;
        point[0] = (double)(i + 1 - found) / (double)(n - relevant);
        point[1] = (double)found / (double)relevant;
        point[2] = ranked[i].score;
    }
out:
    mrc_free(ranked);
    return rc;
}

static mercer_status area_under_roc(const mrc_predictions *judged, double *out, mercer_error *err)
{
    int64_t count, relevant = count_relevant(judged);
    double *points = NULL;
    mercer_status rc = MERCER_OK;
    *out = NAN;
    if (relevant == 0 || relevant == judged->n)
        return MERCER_OK;
    MRC_TRY(mrc_roc(judged, &points, &count, err));
    *out = 0;
    for (const double *p = points + 3; p < points + 3 * count; p += 3)
        *out += (p[0] - p[-3]) * (p[1] + p[-2]) / 2;
out:
    mrc_free(points);
    return rc;
}

static mercer_status average_precision(const mrc_predictions *judged, double *out,
                                       mercer_error *err)
{
    struct ranked *ranked = NULL;
    int64_t relevant, found = 0, n = judged->n;
    mercer_status rc = MERCER_OK;
    MRC_TRY(rank(judged, &ranked, &relevant, err));
    *out = relevant > 0 ? 0 : NAN;
    for (int64_t i = 0, end; i < n; i = end) {
        int64_t here = 0;
        for (end = i; end < n && ranked[end].score == ranked[i].score; end++)
            here += ranked[end].relevant;
        found += here;
        *out += (double)here / (double)relevant * (double)found / (double)end;
    }
out:
    mrc_free(ranked);
    return rc;
}

static const mrc_metric metrics[] = {
    {"error", "fraction misclassified", MRC_OF_CLASSES, false, false, error_rate},
    {"balanced", "fraction misclassified, mean over the classes", MRC_OF_CLASSES, false, false,
     balanced_error},
    {"auc", "area under the ROC curve", MRC_OF_CLASSES, true, true, area_under_roc},
    {"ap", "average precision of the rows ranked", MRC_OF_CLASSES, true, true, average_precision},
    {"rmse", "root mean squared error", MRC_OF_VALUES, false, false, root_mean_square},
    {"columns", "share of the variance of columns that features of the others do not predict",
     MRC_OF_COLUMNS, false, false, NULL},
    {"structure",
     "share of the squared length of held-out rows in feature space that the features keep, minus "
     "that of rows with shuffled columns",
     MRC_OF_STRUCTURE, false, true, NULL},
    {"reconstruction",
     "share of the squared length of held-out rows in feature space that the features do not keep",
     MRC_OF_IMAGES, false, false, NULL},
    {"preimage",
     "mean squared distance of rows from their pre-images, over that of training rows from their "
     "mean",
     MRC_OF_PREIMAGES, false, false, NULL},
};

enum { METRICS = sizeof metrics / sizeof *metrics };

static bool can_judge(const mrc_metric *metric, mercer_target_kind kind, int64_t outputs)
{
    if (kind == MERCER_TARGET_CLASSES)
        return metric->of == MRC_OF_CLASSES && (!metric->two || outputs == 2);
    return kind == MERCER_TARGET_VALUES ? metric->of == MRC_OF_VALUES : metric->of > MRC_OF_VALUES;
}

mercer_status mrc_metric_find(const char *name, mercer_target_kind kind, int64_t outputs,
                              const mrc_metric **out, mercer_error *err)
{
    char known[128] = "";
    *out = NULL;
    for (int i = 0; i < METRICS; i++) {
        const mrc_metric *metric = &metrics[i];
        if (!can_judge(metric, kind, outputs))
            continue;
        if (!name || strcmp(name, metric->name) == 0) {
            *out = metric;
            return MERCER_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", metric->name);
    }
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "metric '%s' is not one of %s, which %s", name, known,
                    kind == MERCER_TARGET_CLASSES  ? "these classes have"
                    : kind == MERCER_TARGET_VALUES ? "values have"
                                                   : "need no head");
}

void mrc_confusion_add(const mrc_predictions *judged, int64_t *table, int64_t *undecided)
{
    for (int64_t i = 0; i < judged->n; i++) {
        if (judged->predicted[i] >= 0)
            table[judged->truth[i] * judged->outputs + judged->predicted[i]]++;
        else
            undecided[judged->truth[i]]++;
    }
}
