/* SPDX-License-Identifier: BSD-3-Clause */
/* Judging a model by rows held out.
 *
 * Rows are projected once. A head answers for all numbers of components together, in blocks that
 * fit a fixed room, and each answer is measured. Cost: the projection, one prediction from all
 * components, and a measurement a number. */
#include "eval/scoring.h"

#include "heads/heads.h"

#include <math.h>
#include <string.h>

int64_t mrc_prefix_of(const mercer_model *model, double number)
{
    return number > 0 && number < (double)model->components ? (int64_t)number : model->components;
}

/* Where each class of the model's head stands among all classes. */
static mercer_status place_classes(const mrc_head *head, const mercer_targets *all, int64_t **out,
                                   mercer_error *err)
{
    mercer_status rc = mrc_alloc(out, head->outputs, sizeof **out, err);
    for (int64_t o = 0; rc == MERCER_OK && o < head->outputs; o++)
        for (int64_t c = 0; c < all->classes; c++)
            if (strcmp(head->names[o], all->class_names[c]) == 0)
                (*out)[o] = c;
    return rc;
}

/* Predictions of one number of components in terms of all classes. */
static void spread_to_all_classes(const mrc_scoring *scoring, const int64_t *place, int64_t known,
                                  int64_t n, const double *own, const int64_t *own_codes,
                                  double *scores, int64_t *codes)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < scoring->outputs; c++) /* a class that was not there to learn */
            scores[i * scoring->outputs + c] = -INFINITY;
        for (int64_t o = 0; o < known; o++)
            scores[i * scoring->outputs + place[o]] = own[i * known + o];
        codes[i] = own_codes[i] < 0 ? -1 : place[own_codes[i]];
    }
}

/* The head's answers from the features for some numbers of components. */
static mercer_status answer(mercer_ctx *ctx, const mercer_model *model, const double *features,
                            int64_t n, const mrc_prefixes *prefixes, double *scores, int64_t *codes,
                            mercer_error *err)
{
    int64_t l = model->components;
    mrc_head_query query = {.features = features, .n = n, .l = l, .k = l};
    mrc_head_choice choice = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_head_find(model->head.spec, &choice, err));
    rc = model->head.whole
             ? mrc_head_predict(ctx, &choice, &model->head, &query, scores, codes, err)
             : mrc_head_predict_prefixes(ctx, &choice, &model->head, &query, prefixes, scores,
                                         codes, err);
out:
    mrc_head_choice_destroy(&choice);
    return rc;
}

static mercer_status judge_predictions(mercer_ctx *ctx, const mrc_scoring *scoring,
                                       const mercer_model *model, const mrc_fold_rows *test,
                                       const double *features, const int64_t *prefixes,
                                       int64_t count, double *values, double *scores,
                                       int64_t *codes, mercer_error *err)
{
    enum { ROOM = 1 << 22 }; /* numbers of answers at a time; more gains nothing */
    int64_t n = test->rows->n, known = model->head.outputs, block = ROOM / (n * known);
    bool classes = scoring->targets->kind == MERCER_TARGET_CLASSES;
    mrc_predictions judged = {
        .n = n, .outputs = scoring->outputs, .scores = scores, .positive = scoring->positive};
    double *own = NULL;
    int64_t *own_codes = NULL, *place = NULL;
    mercer_status rc = MERCER_OK;
    block = block < 1 ? 1 : block < count ? block : count;
    judged.predicted = classes ? codes : NULL;
    judged.truth = test->targets->codes;
    judged.values = test->targets->values;
    MRC_TRY(mrc_alloc2_raw(&own, block * n, known, sizeof *own, err));
    if (classes) {
        MRC_TRY(mrc_alloc2_raw(&own_codes, block, n, sizeof *own_codes, err));
        MRC_TRY(place_classes(&model->head, scoring->targets, &place, err));
    }
    for (int64_t first = 0; first < count; first += block) {
        int64_t here = count - first < block ? count - first : block;
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(answer(ctx, model, features, n, &(mrc_prefixes){prefixes + first, here}, own,
                       own_codes, err));
        for (int64_t c = 0; c < here; c++) {
            const double *of = own + c * n * known;
            if (classes)
                spread_to_all_classes(scoring, place, known, n, of, own_codes + c * n, scores,
                                      codes);
            else
                memcpy(scores, of, (size_t)(n * known) * sizeof *scores);
            values[first + c] = NAN;
            if (!scoring->together)
                MRC_TRY(scoring->metric->measure(&judged, &values[first + c], err));
        }
    }
out:
    mrc_free(own);
    mrc_free(own_codes);
    mrc_free(place);
    return rc;
}

/* Squared length of the mapped rows that the first features do not keep, over all of it. */
static void judge_reconstruction(const double *features, const double *errors, int64_t n, int64_t l,
                                 const int64_t *prefixes, int64_t count, double *values)
{
    double all = 0, kept = 0;
    for (int64_t i = 0; i < n; i++)
        all += errors[i];
    for (int64_t i = 0; i < n * l; i++)
        all += features[i] * features[i];
    for (int64_t c = 0, j = 0; c < count; c++) {
        for (; j < prefixes[c]; j++)
            for (int64_t i = 0; i < n; i++)
                kept += features[i * l + j] * features[i * l + j];
        values[c] = all > 0 ? (all - kept) / all : 0;
    }
}

/* Scaled rows as doubles. */
static mercer_status scaled_copy(const mercer_model *model, const mercer_rows *rows, double **out,
                                 mercer_error *err)
{
    mercer_status rc = mrc_alloc2_raw(out, rows->n, rows->d, sizeof **out, err);
    if (rc == MERCER_OK) {
        mercer_rows_copy(rows, 0, rows->n, *out);
        mrc_scale_apply(&model->scale, *out, rows->n, rows->d);
    }
    return rc;
}

double mrc_spread(const double *x, int64_t n, int64_t d)
{
    double sum = 0;
    for (int64_t j = 0; j < d; j++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++)
            mean += x[i * d + j] / (double)n;
        for (int64_t i = 0; i < n; i++)
            sum += pow(x[i * d + j] - mean, 2) / (double)n;
    }
    return sum;
}

/* How far pre-images of the first features are from the rows, in the units that the kernel sees. */
static mercer_status judge_preimages(mercer_ctx *ctx, const mercer_model *model,
                                     const mrc_fold_rows *train, const mrc_fold_rows *test,
                                     const double *features, const int64_t *prefixes, int64_t count,
                                     double *values, mercer_error *err)
{
    int64_t n = test->rows->n, l = model->components, d = model->columns;
    double *first = NULL, *x = NULL, *back = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(scaled_copy(model, train->rows, &x, err));
    double all = mrc_spread(x, train->rows->n, d);
    mrc_free(x);
    x = NULL;
    MRC_TRY(scaled_copy(model, test->rows, &x, err));
    MRC_TRY(mrc_alloc2_raw(&back, n, d, sizeof *back, err));
    MRC_TRY(mrc_alloc2(&first, n, l, sizeof *first, err));
    for (int64_t c = 0; c < count; c++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            memcpy(first + i * l, features + i * l, (size_t)prefixes[c] * sizeof *first);
        MRC_TRY(mercer_model_inverse(ctx, model, first, n, back, NULL, err));
        if (model->scale.shift) /* a scaling of rows is not undone */
            mrc_scale_apply(&model->scale, back, n, d);
        for (int64_t i = 0; i < n * d; i++)
            sum += (back[i] - x[i]) * (back[i] - x[i]);
        values[c] = all > 0 ? sum / (double)n / all : 0;
    }
out:
    mrc_free(first);
    mrc_free(x);
    mrc_free(back);
    return rc;
}

mercer_status mrc_score_model(mercer_ctx *ctx, const mrc_scoring *scoring,
                              const mercer_model *model, const mrc_fold_rows *train,
                              const mrc_fold_rows *test, const double *numbers, int64_t count,
                              double *values, double *scores, int64_t *codes, mercer_error *err)
{
    int64_t n = test->rows->n, l = model->components, *prefixes = NULL;
    bool images = scoring->metric->of == MRC_OF_IMAGES;
    double *features = NULL, *errors = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&prefixes, count, sizeof *prefixes, err));
    for (int64_t c = 0; c < count; c++)
        prefixes[c] = mrc_prefix_of(model, numbers[c]);
    MRC_TRY(mrc_alloc2_raw(&features, n, l, sizeof *features, err));
    if (images)
        MRC_TRY(mrc_alloc(&errors, n, sizeof *errors, err));
    MRC_TRY(mercer_model_transform(ctx, model, test->rows, test->self, features, errors, err));
    if (images)
        judge_reconstruction(features, errors, n, l, prefixes, count, values);
    else if (scoring->metric->of == MRC_OF_PREIMAGES)
        rc = judge_preimages(ctx, model, train, test, features, prefixes, count, values, err);
    else
        rc = judge_predictions(ctx, scoring, model, test, features, prefixes, count, values, scores,
                               codes, err);
out:
    mrc_free(prefixes);
    mrc_free(features);
    mrc_free(errors);
    return rc;
}
