/* SPDX-License-Identifier: BSD-3-Clause */
/* Trying a choice.
 *
 * Where features are nested (registry.h) one fit with the most components serves all numbers of
 * them, else each number has a fit of its own, as what is chosen will have. A head that needs all
 * its features is fitted for each number alone. Choices that differ in their head share the
 * features when they follow each other.
 *
 * Without labels the columns are what is predicted. They are dealt out to up to five groups; the
 * features of all columns but one group's predict that group's, by least squares on the training
 * rows, and the value is the mean squared error on the test rows over the variance of the training
 * rows, both summed over all columns. No cell is used to predict itself, so the
 * value has its least where features say most about what they have not seen, in units of the
 * columns: kernels, widths and numbers of features can be compared by it. Columns are scaled, and
 * open widths resolved, before they are dealt out, and those left are stretched so that squared
 * distances and products keep their mean size. Cost: a fit for each group. */
#include "eval/trial.h"

#include "eval/importance.h"

#include "heads/heads.h"
#include "methods/common/agop.h"
#include "methods/common/registry.h"
#include "model/map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GROUPS = 5 }; /* more: fewer columns miss, for more fits */

/* ---- one fit, or as many as it takes ---- */

/* What is tried beside a choice must not change what is told of it: no draw is another one's next.
 */
static void restart(mercer_ctx *ctx, const mrc_trial *trial)
{
    if (trial->start)
        ctx->rng = *trial->start;
}

/* head: instead of the choice's, unless NULL. */
static mercer_status fit(mercer_ctx *ctx, const mrc_trial *trial, double components,
                         const char *head, mercer_model **model, mercer_error *err)
{
    mercer_fit_options options = *trial->fit;
    options.method = trial->choice->method;
    options.kernel = trial->choice->kernel;
    options.head = head ? head : trial->choice->head;
    if (trial->scaled)
        options.scale = "none";
    if (options.map)
        options.groups = trial->train->groups; /* which its folds keep together */
    if (head && strcmp(head, "none") == 0 && !trial->learns)
        options.scale_target = NULL; /* the head's alone, see try_heads() */
    if (components > 0)
        options.components = components;
    restart(ctx, trial);
    return mercer_fit(ctx, &options, trial->train->rows, trial->train->targets, model, NULL, err);
}

static mercer_status judge(mercer_ctx *ctx, const mrc_trial *trial, const mercer_model *model,
                           int64_t first, int64_t count, mercer_error *err)
{
    mercer_status rc = mrc_score_model(ctx, trial->scoring, model, trial->train, trial->test,
                                       trial->numbers + first, count, trial->values + first,
                                       trial->scores, trial->codes, err);
    if (rc == MERCER_ERR_DATA && trial->of_test_file && err)
        snprintf(err->input, sizeof err->input, "test");
    if (rc == MERCER_OK && trial->importance)
        rc = mrc_importance_of_columns(ctx, trial->scoring, model, trial->train, trial->test,
                                       trial->numbers[first + count - 1], trial->importance, err);
    return rc;
}

/* The choice's features without a head: those kept, or new ones, which are kept from now on. */
static mercer_status fit_features(mercer_ctx *ctx, const mrc_trial *trial, mercer_error *err)
{
    mrc_kept_features *kept = trial->kept;
    const mrc_choice *choice = trial->choice;
    if (kept->model && strcmp(kept->choice->method, choice->method) == 0 &&
        strcmp(kept->choice->kernel, choice->kernel) == 0)
        return MERCER_OK;
    mercer_model_free(kept->model);
    kept->model = NULL;
    kept->choice = choice;
    return fit(ctx, trial, trial->numbers[trial->count - 1], "none", &kept->model, err);
}

/* A head on features: one for all numbers of them or, when it is whole, one for each number, whose
 * parameters are its own (learning fills in what depends on the features). */
static mercer_status try_heads(mercer_ctx *ctx, const mrc_trial *trial, const char *spec,
                               const mercer_model *model, mercer_error *err)
{
    const mrc_fold_rows *train = trial->train;
    mrc_head_choice head = {0};
    mercer_model *first = NULL;
    mrc_scale_kind scale;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_head_find(spec, &head, err));
    MRC_TRY(mrc_scale_parse(trial->fit->scale_target, &scale, err));
    MRC_TRY(mrc_head_check_targets(&head, train->targets, scale, train->rows->n, NULL, err));
    int64_t step = head.def->needs_all_features ? 1 : trial->count;
    for (int64_t c = 0; c < trial->count; c += step) {
        mercer_model_free(first);
        first = NULL;
        mrc_head_choice_destroy(&head);
        MRC_TRY(mrc_head_find(spec, &head, err));
        MRC_TRY(mercer_model_truncate(
            ctx, model, mrc_prefix_of(model, trial->numbers[c + step - 1]), &first, err));
        first->head.scale = scale;
        restart(ctx, trial);
        MRC_TRY(mrc_head_learn(ctx, &head, train->rows, train->targets, NULL, false, first, err));
        MRC_TRY(judge(ctx, trial, first, c, step, err));
    }
out:
    mrc_head_choice_destroy(&head);
    mercer_model_free(first);
    return rc;
}

/* All numbers of the trial from one fit with the most of them. head: of all features; NULL: the
 * choice's. */
static mercer_status try_at_once(mercer_ctx *ctx, mrc_trial *trial, const char *head,
                                 mercer_error *err)
{
    mrc_kept_features own = {0};
    mrc_trial sharing = *trial;
    mercer_model *model = NULL;
    const mrc_method *method;
    mrc_head_choice chosen = {0};
    const char *spec = head ? head : trial->choice->head;
    double most = trial->numbers[trial->count - 1];
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_method_find(trial->choice->method, &method, err));
    MRC_TRY(mrc_head_find(spec, &chosen, err));
    sharing.learns = method->default_head != NULL;
    if (!sharing.kept)
        sharing.kept = &own;
    if (chosen.def)
        MRC_TRY(fit_features(ctx, &sharing, err));
    else
        MRC_TRY(fit(ctx, trial, most, head, &model, err));
    const mercer_model *features = chosen.def ? sharing.kept->model : model;
    trial->components = mrc_prefix_of(features, most);
    trial->points = features->points;
    if (chosen.def)
        MRC_TRY(try_heads(ctx, trial, spec, features, err));
    else
        MRC_TRY(judge(ctx, trial, model, 0, trial->count, err));
out:
    mrc_head_choice_destroy(&chosen);
    mercer_model_free(own.model);
    mercer_model_free(model);
    return rc;
}

/* The same where features are nested; else a fit for each number, increasing. */
static mercer_status try_features(mercer_ctx *ctx, mrc_trial *trial, const char *head,
                                  mercer_error *err)
{
    mrc_trial one = *trial;
    bool nested;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_spec_is_nested(trial->choice->method, &nested, err));
    if (nested)
        return try_at_once(ctx, trial, head, err);
    one.count = 1;
    for (int64_t c = 0; c < trial->count; c++) {
        one.numbers = trial->numbers + c;
        one.values = trial->values + c;
        one.kept = trial->kept ? trial->kept + c : NULL;
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(try_at_once(ctx, &one, head, err));
    }
    trial->components = one.components;
    trial->points = one.points;
out:
    return rc;
}

/* ---- columns from other columns ---- */

/* Which columns are of a group, and which are not; d entries of which the first `held` are. */
static int64_t deal_columns(int64_t d, int64_t groups, int64_t group, int64_t *columns)
{
    int64_t held = 0, at = 0;
    for (int64_t j = group; j < d; j += groups)
        columns[held++] = j;
    at = held;
    for (int64_t j = 0; j < d; j++)
        if (j % groups != group)
            columns[at++] = j;
    return held;
}

/* A portion without the columns of a group, which are its targets. */
static mercer_status without_columns(const mercer_rows *rows, const int64_t *columns, int64_t held,
                                     mrc_fold_rows *out, mercer_error *err)
{
    int64_t n = rows->n, d = rows->d;
    double *x = NULL, *y = NULL, factor = sqrt((double)d / (double)(d - held));
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&x, n, d - held, sizeof *x, err));
    MRC_TRY(mrc_alloc2_raw(&y, n, held, sizeof *y, err));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < held; j++)
            y[i * held + j] = mrc_rows_at(rows, i, columns[j]);
        for (int64_t j = held; j < d; j++)
            x[i * (d - held) + j - held] = factor * mrc_rows_at(rows, i, columns[j]);
    }
    MRC_TRY(mercer_targets_new_values(y, n, held, NULL, &out->targets, err));
    MRC_TRY(mrc_rows_adopt(MRC_F64, x, n, d - held, &out->rows, err));
    x = NULL;
out:
    mrc_free(x);
    mrc_free(y);
    return rc;
}

static mercer_status sum_of_squares(const mrc_predictions *judged, double *out, mercer_error *err)
{
    (void)err;
    *out = 0;
    for (int64_t i = 0; i < judged->n * judged->outputs; i++)
        *out += pow(judged->scores[i] - judged->values[i], 2);
    return MERCER_OK;
}

static const mrc_metric squares = {
    .name = "squares", .of = MRC_OF_VALUES, .measure = sum_of_squares};

/* One group: errors for every number are added to sums, what they are compared with to *all. */
static mercer_status try_group(mercer_ctx *ctx, mrc_trial *trial, const mercer_rows *train,
                               const mercer_rows *test, const int64_t *columns, int64_t held,
                               double *sums, double *all, mercer_error *err)
{
    mrc_fold_rows learn = {0}, judged = {0};
    mrc_scoring scoring = {.metric = &squares, .outputs = held};
    mrc_trial own = *trial;
    mercer_status rc = MERCER_OK;
    own.scoring = &scoring;
    own.train = &learn;
    own.test = &judged;
    own.scaled = true;
    own.kept = NULL;
    own.scores = own.values = NULL;
    own.codes = NULL;
    MRC_TRY(without_columns(train, columns, held, &learn, err));
    MRC_TRY(without_columns(test, columns, held, &judged, err));
    scoring.targets = learn.targets;
    MRC_TRY(mrc_alloc(&own.values, own.count, sizeof *own.values, err));
    MRC_TRY(mrc_alloc2_raw(&own.scores, test->n, held, sizeof *own.scores, err));
    MRC_TRY(try_features(ctx, &own, "ls", err));
    for (int64_t c = 0; c < own.count; c++)
        sums[c] += own.values[c];
    /* The training rows say how far rows spread: a few test rows may be near the mean by chance. */
    *all += mrc_spread(learn.targets->values, train->n, held) * (double)test->n;
    trial->components = own.components;
    trial->points = own.points;
out:
    mrc_free(own.values);
    mrc_free(own.scores);
    mrc_fold_rows_destroy(&learn);
    mrc_fold_rows_destroy(&judged);
    return rc;
}

static mercer_status try_columns(mercer_ctx *ctx, mrc_trial *trial, mercer_error *err)
{
    const mercer_rows *train = trial->train->rows, *test = trial->test->rows;
    int64_t d = train->d, groups = d < GROUPS ? d : GROUPS, *columns = NULL;
    mercer_rows *scaled_train = NULL, *scaled_test = NULL;
    mrc_trial resolved = *trial;
    mrc_choice choice = *trial->choice;
    char spec[512];
    mrc_kernel kernel;
    mrc_scale scale = {0};
    mrc_scale_kind kind;
    double *sums = NULL, all = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_scale_parse(trial->scaled ? NULL : trial->fit->scale, &kind, err));
    MRC_TRY(mrc_scale_fit(&scale, kind, train, err));
    MRC_TRY(mrc_scale_rows(&scale, train, &scaled_train, err));
    MRC_TRY(mrc_scale_join_equal(&scale, ctx, train, scaled_train, err));
    MRC_TRY(mrc_scale_rows(&scale, test, &scaled_test, err));
    MRC_TRY(mrc_kernel_parse_in(&kernel, ctx, choice.kernel, err));
    MRC_TRY(mrc_kernel_resolve(&kernel, ctx, scaled_train, err));
    MRC_TRY(mrc_kernel_format(&kernel, spec, sizeof spec, err));
    choice.kernel = spec;
    resolved.choice = &choice;
    MRC_TRY(mrc_alloc(&columns, d, sizeof *columns, err));
    MRC_TRY(mrc_alloc(&sums, trial->count, sizeof *sums, err));
    for (int64_t g = 0; g < groups; g++) {
        int64_t held = deal_columns(d, groups, g, columns);
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(
            try_group(ctx, &resolved, scaled_train, scaled_test, columns, held, sums, &all, err));
    }
    for (int64_t c = 0; c < trial->count; c++)
        trial->values[c] = all > 0 ? sums[c] / all : 0;
    trial->components = resolved.components;
    trial->points = resolved.points;
out:
    mrc_scale_destroy(&scale);
    mercer_rows_free(scaled_train);
    mercer_rows_free(scaled_test);
    mrc_free(columns);
    mrc_free(sums);
    return rc;
}

/* ---- rows against rows with shuffled columns ---- */

static const mrc_metric images = {.name = "images", .of = MRC_OF_IMAGES};

/* Count rows of the columns of these rows, every column in an order of its own; again from its
 * beginning when there are not as many. */
static mercer_status shuffle_columns(const mercer_rows *rows, int64_t count, mrc_rng *rng,
                                     mrc_fold_rows *out, mercer_error *err)
{
    int64_t n = rows->n, d = rows->d, *order = NULL;
    double *x = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&order, n, sizeof *order, err));
    MRC_TRY(mrc_alloc2_raw(&x, count, d, sizeof *x, err));
    for (int64_t j = 0; j < d; j++) {
        for (int64_t i = 0; i < n; i++)
            order[i] = i;
        mrc_rng_shuffle(rng, order, n);
        for (int64_t i = 0; i < count; i++)
            x[i * d + j] = mrc_rows_at(rows, order[i % n], j);
    }
    MRC_TRY(mrc_rows_adopt(MRC_F64, x, count, d, &out->rows, err));
    x = NULL;
out:
    mrc_free(order);
    mrc_free(x);
    return rc;
}

/* The map of the choice with the scaling before it, learnt from the rows to learn from; without
 * weights when there is none. */
static mercer_status learn_map(mercer_ctx *ctx, const mrc_trial *trial, mercer_model **out,
                               mercer_error *err)
{
    const mercer_rows *rows = trial->train->rows;
    mercer_model *model = NULL;
    mercer_rows *scaled = NULL;
    mrc_scale_kind kind;
    mrc_map_params params;
    mrc_kernel kernel;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_map_parse(trial->fit->map, &params, err));
    MRC_TRY(mrc_model_new(&model, err));
    model->columns = rows->d;
    if (params.steps > 0) {
        MRC_TRY(mrc_scale_parse(trial->scaled ? NULL : trial->fit->scale, &kind, err));
        MRC_TRY(mrc_scale_fit(&model->scale, kind, rows, err));
        MRC_TRY(mrc_scale_rows(&model->scale, rows, &scaled, err));
        MRC_TRY(mrc_scale_join_equal(&model->scale, ctx, rows, scaled, err));
        MRC_TRY(mrc_kernel_parse_in(&kernel, ctx, trial->choice->kernel, err));
        restart(ctx, trial);
        MRC_TRY(mrc_map_learn(ctx, &params, &kernel, scaled, trial->train->targets,
                              trial->train->groups, model, err));
    }
    *out = model;
    model = NULL;
out:
    mercer_model_free(model);
    mercer_rows_free(scaled);
    return rc;
}

/* Rows of a portion as the kernel sees them after such a map. */
static mercer_status map_portion(mercer_ctx *ctx, const mercer_model *model,
                                 const mercer_rows *rows, mrc_fold_rows *out, mercer_error *err)
{
    const mrc_map map = mrc_map_of(model);
    mercer_rows *scaled = NULL;
    mercer_status rc = mrc_scale_rows(&model->scale, rows, &scaled, err);
    if (rc == MERCER_OK)
        rc = mrc_map_rows(ctx, &map, scaled, &out->rows, err);
    mercer_rows_free(scaled);
    return rc;
}

/* What the features keep of two portions, by a fit to the first. map: learn_map()'s. */
static mercer_status try_portions(mercer_ctx *ctx, const mercer_model *map, mrc_trial *own,
                                  mercer_error *err)
{
    const mrc_fold_rows *train = own->train, *test = own->test;
    mrc_fold_rows mapped_train = {0}, mapped_test = {0};
    mercer_fit_options plain = *own->fit;
    mrc_trial mapped = *own;
    mercer_notice_fn notice = ctx->notice;
    mercer_status rc = MERCER_OK;
    plain.map = NULL;
    mapped.fit = &plain;
    if (map->map_weights) {
        MRC_TRY(map_portion(ctx, map, train->rows, &mapped_train, err));
        MRC_TRY(map_portion(ctx, map, test->rows, &mapped_test, err));
        mapped.train = &mapped_train;
        mapped.test = &mapped_test;
        mapped.scaled = true;
        ctx->notice = NULL; /* no advice to scale what the map has weighted */
    }
    MRC_TRY(try_features(ctx, &mapped, NULL, err));
    own->components = mapped.components;
    own->points = mapped.points;
out:
    ctx->notice = notice;
    mrc_fold_rows_destroy(&mapped_train);
    mrc_fold_rows_destroy(&mapped_test);
    return rc;
}

/* What the features keep of the rows, and of rows that have nothing but the columns in common with
 * them: cells of training rows both to learn from and to judge, since few rows held out could not
 * be shuffled. The same for all choices of a fold, so that they can be compared. Both go through
 * one map, learnt from the rows: without columns that it leaves out, any rows are easy to keep. */
static mercer_status try_structure(mercer_ctx *ctx, mrc_trial *trial, mercer_error *err)
{
    mrc_fold_rows train = {0}, test = {0};
    mrc_scoring scoring = {.metric = &images};
    mrc_trial own = *trial;
    mercer_model *map = NULL;
    double *left = NULL;
    mrc_rng rng;
    mercer_status rc = MERCER_OK;
    mrc_rng_seed(&rng, ctx->seed);
    own.scoring = &scoring;
    own.kept = NULL;
    MRC_TRY(mrc_alloc(&left, own.count, sizeof *left, err));
    MRC_TRY(learn_map(ctx, trial, &map, err));
    MRC_TRY(try_portions(ctx, map, &own, err));
    trial->components = own.components;
    trial->points = own.points;
    MRC_TRY(shuffle_columns(trial->train->rows, trial->train->rows->n, &rng, &train, err));
    MRC_TRY(shuffle_columns(trial->train->rows, trial->test->rows->n, &rng, &test, err));
    own.train = &train;
    own.test = &test;
    own.values = left;
    MRC_TRY(try_portions(ctx, map, &own, err));
    for (int64_t c = 0; c < own.count; c++)
        trial->values[c] = left[c] - trial->values[c];
out:
    mrc_free(left);
    mercer_model_free(map);
    mrc_fold_rows_destroy(&train);
    mrc_fold_rows_destroy(&test);
    return rc;
}

mercer_status mrc_trial_run(mercer_ctx *ctx, mrc_trial *trial, mercer_error *err)
{
    restart(ctx, trial);
    switch (trial->scoring->metric->of) {
    case MRC_OF_COLUMNS:
        return try_columns(ctx, trial, err);
    case MRC_OF_STRUCTURE:
        return try_structure(ctx, trial, err);
    default:
        return try_features(ctx, trial, NULL, err);
    }
}
