/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer_evaluate: folds, and in each of them the choice of what is tuned, a fit, a judgement.
 *
 * A fold is a task of its own with a context of its own, whose random state depends on the seed and
 * the fold alone. Whatever is learnt (scaling, widths, landmarks, head) is learnt from the fold's
 * training rows, which are a copy: rows held out cannot reach it. Sums between pairs of rows may be
 * computed for all rows at once, because each sum depends only on its two rows. */
#include "base/bytes.h"
#include "eval/folds.h"
#include "eval/notices.h"
#include "eval/trial.h"
#include "heads/heads.h"
#include "methods/common/options.h"
#include "methods/common/registry.h"
#include "methods/common/request.h"

#include <mercer/evaluate.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

MRC_VERSIONED(evaluate_options, )

/* What all folds share. */
struct job {
    mercer_ctx *ctx;
    const mercer_evaluate_options *options;
    const mercer_rows *rows;
    const mercer_targets *targets; /* or NULL */
    const mrc_folds *folds;        /* NULL: the test rows of the options */
    int64_t inner_folds;
    mrc_scoring aim;
    bool precomputed; /* rows are a kernel matrix */
    bool streaming;   /* the method looks at blocks of rows */
    mrc_scale_kind scale;
    bool wanted[MRC_TERMS]; /* pairs that kernels of the grid are made of */
    int64_t steps;          /* fits in all, for the progress bar */
    mercer_evaluation *result;
    mercer_ctx **workers;
    atomic_llong done;
};

/* ---- one fold ---- */

/* One fit more is done. Only the calling thread, whose context is the first, may talk to the host.
 */
static void count_step(const mercer_ctx *ctx, struct job *job)
{
    long long done = atomic_fetch_add(&job->done, 1) + 1;
    if (ctx == job->ctx || ctx == job->workers[0])
        mrc_progress(job->ctx, "fits", (double)done / (double)job->steps);
}

/* Room for predictions of n rows, unless nothing is predicted. */
static mercer_status reserve(const mercer_evaluation *result, int64_t n, double **scores,
                             int64_t **codes, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (result->kind == MERCER_TARGET_NONE)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2(scores, n, result->outputs, sizeof **scores, err));
    if (result->kind == MERCER_TARGET_CLASSES)
        MRC_TRY(mrc_alloc(codes, n, sizeof **codes, err));
out:
    return rc;
}

/* Whether sums between all pairs of the rows are worth computing for this number of fits: those of
 * a set of rows are looked up by every kernel and for every part of the set. */
static bool pairs_pay(const struct job *job, const mercer_ctx *ctx, const mercer_rows *rows,
                      int64_t fits)
{
    enum { MIN_FITS = 4, MIN_COLUMNS = 8, MAX_ROWS = 4096 }; /* beyond: n^2 may not be needed */
    double bytes = mrc_pairs_bytes(rows->n, job->wanted);
    return bytes > 0 && bytes <= (double)ctx->memory / 4 && fits >= MIN_FITS &&
           rows->d > MIN_COLUMNS && rows->n <= MAX_ROWS && !mercer_rows_is_sparse(rows) &&
           !job->precomputed && rows->gap_count == 0; /* gaps are filled anew in each fold */
}

/* What the inner folds say of every choice and number: choices x numbers each. */
struct tally {
    double *sums;
    double *folds;    /* with a defined metric */
    bool *failed;     /* by choice: some fold cannot be fitted with it */
    mercer_error why; /* of the first that failed */
    mercer_status rc; /* and its status */
};

/* A choice may not suit the rows of an inner fold (too few of a class for nu, a width that makes
 * all rows equal): it cannot be chosen then. What has to do with the call or the machine ends the
 * run. */
static mercer_status note_failure(struct tally *tally, const mrc_grid *grid, int64_t choice,
                                  mercer_status rc, mercer_error *err)
{
    if (grid->count > 1 && rc != MERCER_ERR_CANCELLED)
        mrc_fail_within(err, rc, NULL, "%.100s: ", grid->choices[choice].text);
    if (rc != MERCER_ERR_DATA && rc != MERCER_ERR_NUMERIC)
        return rc;
    tally->failed[choice] = true;
    if (tally->rc == MERCER_OK)
        tally->why = *err;
    tally->rc = tally->rc == MERCER_OK ? rc : tally->rc;
    return MERCER_OK;
}

/* Every choice on one inner fold: its values are added to the tally. */
static mercer_status try_choices(mercer_ctx *ctx, struct job *job, const mrc_fold_rows *all,
                                 const mrc_split *split, const mrc_trial *as, struct tally *tally,
                                 mercer_error *err)
{
    const mrc_grid *grid = &job->result->grid;
    mrc_pair_cache known = {0};
    mrc_fold_rows learn = {0}, held = {0};
    mrc_kept_features *kept = NULL; /* one per number */
    mercer_error why;
    mrc_trial trial = *as;
    const mercer_rows *rows = all->rows;
    mercer_status rc = MERCER_OK;
    if (!rows->pairs && !job->streaming && pairs_pay(job, ctx, rows, grid->count)) {
        MRC_TRY(mrc_pair_cache_init(&known, ctx, rows, job->scale, split, job->wanted, err));
        rows = &known.rows;
        trial.scaled = true;
    }
    MRC_TRY(mrc_portions_take(rows, all->targets, job->precomputed, split, &learn, &held, err));
    trial.train = &learn;
    trial.test = &held;
    if (grid->heads)
        MRC_TRY(mrc_alloc(&kept, trial.count, sizeof *kept, err));
    trial.kept = kept;
    for (int64_t c = 0; c < grid->count; c++) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        trial.choice = &grid->choices[c];
        if (tally->failed[c]) {
            count_step(ctx, job);
            continue;
        }
        rc = mrc_trial_run(ctx, &trial, &why);
        if (rc != MERCER_OK)
            rc = note_failure(tally, grid, c, rc, &why);
        if (rc != MERCER_OK)
            MRC_TRY(mrc_fail_again(err, rc, &why));
        for (int64_t k = 0; k < trial.count && !tally->failed[c]; k++)
            if (!isnan(trial.values[k])) {
                tally->sums[c * trial.count + k] += trial.values[k];
                tally->folds[c * trial.count + k]++;
            }
        count_step(ctx, job);
    }
out:
    mrc_fold_rows_destroy(&learn);
    mrc_fold_rows_destroy(&held);
    for (int64_t k = 0; kept && k < trial.count; k++)
        mercer_model_free(kept[k].model);
    mrc_free(kept);
    mrc_pair_cache_destroy(&known);
    return rc;
}

/* Every choice on the inner folds of train. */
static mercer_status try_all(mercer_ctx *ctx, struct job *job, const mrc_fold_rows *train,
                             const double *numbers, int64_t count, struct tally *tally,
                             mercer_error *err)
{
    const mercer_targets *targets = train->targets;
    int64_t n = train->rows->n, *rest = NULL;
    mrc_scoring aim = job->aim;
    mrc_trial trial = {.fit = job->options->fit, .aim = &aim, .numbers = numbers, .count = count};
    mrc_folds inner = {0};
    mercer_status rc = MERCER_OK;
    aim.together = false; /* inner folds have more rows than one */
    MRC_TRY(mrc_alloc(&rest, n, sizeof *rest, err));
    MRC_TRY(mrc_alloc(&trial.values, count, sizeof *trial.values, err));
    MRC_TRY(reserve(job->result, n, &trial.scores, &trial.codes, err));
    if (n < job->inner_folds)
        MRC_FAIL_AT(
            err, MERCER_ERR_DATA, MRC_AT(.key = "inner"),
            "%lld training rows cannot be split into %lld inner folds for tuning: ask for fewer",
            (long long)n, (long long)job->inner_folds);
    MRC_TRY(mrc_folds_draw(ctx, n, targets ? targets->codes : NULL, targets ? targets->classes : 0,
                           job->inner_folds, 1, &inner, err));
    mrc_rng seeds = ctx->rng, start; /* of an inner fold, whatever is tried there */
    trial.start = &start;
    for (int64_t f = 0; f < inner.count; f++) {
        mrc_rng_seed(&start, mrc_rng_next(&seeds));
        mrc_split split = {.learn = rest,
                           .learn_count = mrc_folds_rest(&inner, f, rest),
                           .held = inner.rows + inner.start[f],
                           .held_count = inner.start[f + 1] - inner.start[f]};
        MRC_TRY(try_choices(ctx, job, train, &split, &trial, tally, err));
    }
out:
    mrc_folds_destroy(&inner);
    mrc_free(rest);
    mrc_free(trial.values);
    mrc_free(trial.scores);
    mrc_free(trial.codes);
    return rc;
}

static const double EQUAL = 1e-12; /* shares of rows differ by more, sums of them by rounding */

/* The best of all choices and numbers by the inner folds of train, the first among equals. */
static mercer_status choose(mercer_ctx *ctx, struct job *job, const mrc_fold_rows *train,
                            const double *numbers, int64_t count, int64_t *best, double *value,
                            mrc_fold_result *fold, mercer_error *err)
{
    int64_t choices = job->result->grid.count, all = choices * count, failed = 0;
    bool larger_is_better = job->result->metric->larger_is_better;
    struct tally tally = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&tally.sums, all, sizeof *tally.sums, err));
    MRC_TRY(mrc_alloc(&tally.folds, all, sizeof *tally.folds, err));
    MRC_TRY(mrc_alloc(&tally.failed, choices, sizeof *tally.failed, err));
    MRC_TRY(try_all(ctx, job, train, numbers, count, &tally, err));
    *value = NAN;
    for (int64_t c = 0; c < choices; c++)
        failed += tally.failed[c];
    if (failed == choices)
        MRC_TRY(mrc_fail_again(err, tally.rc, &tally.why));
    if (failed > 0) { /* counted with the numbers, like mercer_evaluation_info.choices */
        mrc_fail_within(&tally.why, MERCER_OK, NULL,
                        "tune: %lld of %lld choices cannot be fitted, and are left out: ",
                        (long long)(failed * count), (long long)all);
        mrc_notice_keep(fold, &tally.why);
    }
    for (int64_t c = 0; c < all; c++) {
        if (tally.failed[c / count])
            continue;
        double mean = tally.sums[c] / tally.folds[c]; /* NaN: in no fold the metric is defined */
        double margin = isinf(*value) ? 0 : EQUAL * fabs(*value);
        if (isnan(*value) || (larger_is_better ? mean > *value + margin : mean < *value - margin)) {
            *value = mean;
            *best = c;
        }
    }
    if (isnan(*value))
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "no inner fold for tuning has rows of both classes to judge a ranking by");
out:
    mrc_free(tally.sums);
    mrc_free(tally.folds);
    mrc_free(tally.failed);
    return rc;
}

/* Choose within the training part, fit it, judge the rows held out. */
static mercer_status run_fold(mercer_ctx *ctx, struct job *job, const mrc_fold_rows *train,
                              const mrc_fold_rows *test, mrc_fold_result *fold, mercer_error *err)
{
    const mrc_grid *grid = &job->result->grid;
    static const double as_given = 0;
    const double *numbers = grid->components ? grid->components : &as_given;
    int64_t count = grid->components ? grid->components_count : 1, best = 0;
    mercer_notice_fn notice = ctx->notice;
    void *notice_host = ctx->notice_host;
    mrc_rng start = ctx->rng;
    mercer_status rc = MERCER_OK;
    mercer_ctx_set_notice(ctx, NULL, NULL); /* of what is only tried */
    fold->inner = NAN;
    if (grid->count * count > 1)
        MRC_TRY(choose(ctx, job, train, numbers, count, &best, &fold->inner, fold, err));
    fold->choice = best / count;
    ctx->rng = start; /* as without a choice: a fit does not know how many were tried */
    mercer_ctx_set_notice(ctx, mrc_notice_keep, fold);
    mrc_notice_missing_classes(ctx, train->targets, test->targets);
    MRC_TRY(reserve(job->result, test->rows->n, &fold->scores, &fold->codes, err));
    if (fold->codes && test->targets) {
        MRC_TRY(mrc_alloc(&fold->truth, fold->n, sizeof *fold->truth, err));
        memcpy(fold->truth, test->targets->codes, (size_t)fold->n * sizeof *fold->truth);
    }
    mrc_trial trial = {.fit = job->options->fit,
                       .choice = &grid->choices[fold->choice],
                       .aim = &job->aim,
                       .train = train,
                       .test = test,
                       .numbers = numbers + best % count,
                       .count = 1,
                       .values = &fold->value,
                       .scores = fold->scores,
                       .codes = fold->codes,
                       .of_test_file = !job->folds};
    MRC_TRY(mrc_trial_run(ctx, &trial, err));
    fold->components = trial.components;
    fold->points = trial.points;
    if (isnan(fold->value) && !job->aim.together)
        mrc_notice(ctx,
                   "all rows held out are of one class: %s is not defined there, and the mean "
                   "is without it",
                   job->result->metric->name);
    count_step(ctx, job);
out:
    mercer_ctx_set_notice(ctx, notice, notice_host);
    return rc;
}

static mercer_status prepare_fold(mercer_ctx *ctx, struct job *job, int64_t f,
                                  mrc_fold_result *fold, mercer_error *err)
{
    const mrc_folds *folds = job->folds;
    mrc_fold_rows train = {0}, test = {0};
    int64_t *rest = NULL;
    mercer_status rc = MERCER_OK;
    fold->n = folds->start[f + 1] - folds->start[f];
    MRC_TRY(mrc_alloc(&rest, folds->n, sizeof *rest, err));
    MRC_TRY(mrc_alloc(&fold->rows, fold->n, sizeof *fold->rows, err));
    memcpy(fold->rows, folds->rows + folds->start[f], (size_t)fold->n * sizeof *rest);
    mrc_split split = {.learn = rest,
                       .learn_count = mrc_folds_rest(folds, f, rest),
                       .held = fold->rows,
                       .held_count = fold->n};
    MRC_TRY(
        mrc_portions_take(job->rows, job->targets, job->precomputed, &split, &train, &test, err));
    MRC_TRY(run_fold(ctx, job, &train, &test, fold, err));
out:
    mrc_fold_rows_destroy(&train);
    mrc_fold_rows_destroy(&test);
    mrc_free(rest);
    return rc;
}

/* Without memory for it the status has to do. */
static void keep_error(mrc_fold_result *fold, const mercer_error *err)
{
    if (mrc_alloc(&fold->why, 1, sizeof *fold->why, NULL) == MERCER_OK)
        *fold->why = *err;
}

static void fold_task(void *arg, int64_t task, int worker)
{
    struct job *job = arg;
    mrc_fold_result *fold = &job->result->folds[task];
    mercer_ctx *ctx = job->workers[worker];
    mercer_error err = {0};
    mercer_ctx_set_seed(ctx, job->ctx->seed + 0x9E3779B97F4A7C15u * ((uint64_t)task + 1));
    fold->rc = prepare_fold(ctx, job, task, fold, &err);
    if (fold->rc != MERCER_OK)
        keep_error(fold, &err);
}

/* Folds that did not fit a worker's share of the memory have all of it, one after the other. */
static void run_large_folds(struct job *job)
{
    if (job->ctx->threads == 1)
        return;
    job->workers[0]->memory = job->ctx->memory;
    for (int64_t f = 0; f < job->result->count; f++)
        if (job->result->folds[f].rc == MERCER_ERR_BUDGET &&
            mrc_check_cancel(job->ctx, NULL) == MERCER_OK) {
            mrc_fold_result_destroy(&job->result->folds[f]);
            fold_task(job, f, 0);
        }
}

/* Contexts of one thread for the workers, which share the memory. */
static mercer_status make_workers(struct job *job, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&job->workers, job->ctx->threads, sizeof *job->workers, err));
    for (int w = 0; w < job->ctx->threads; w++) {
        MRC_TRY(mercer_ctx_new(&job->workers[w], err));
        mrc_ctx_inherit(job->workers[w], job->ctx);
        job->workers[w]->threads = 1;
        job->workers[w]->memory = job->ctx->memory / job->ctx->threads;
    }
out:
    return rc;
}

static mercer_status run_folds(struct job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    mercer_status rc = MERCER_OK;
    MRC_TRY(make_workers(job, err));
    mrc_progress(job->ctx, "fits", 0);
    MRC_TRY(mrc_parfor_checked(job->ctx, result->count, fold_task, job, err));
    run_large_folds(job);
    for (int64_t f = 0; f < result->count; f++) {
        const mrc_fold_result *fold = &result->folds[f];
        const char *why = fold->why ? fold->why->text : mercer_status_text(fold->rc);
        if (fold->rc == MERCER_ERR_CANCELLED)
            MRC_FAIL(err, fold->rc, "%s", why);
        if (fold->rc == MERCER_OK)
            continue;
        mrc_at at = fold->why ? mrc_at_of(fold->why) : (mrc_at){0};
        const bool within = at.row > 0;
        at.row = 0; /* of the fold: not one of the rows given */
        MRC_FAIL_AT(err, fold->rc, &at, "fold %lld: %.450s%s", (long long)f + 1, why,
                    within ? " (rows counted within the fold)" : "");
    }
out:
    for (int w = 0; job->workers && w < job->ctx->threads; w++)
        mercer_ctx_free(job->workers[w]);
    mrc_free(job->workers);
    return rc;
}

/* Learn from all rows, judge the test rows: one fold, on all threads. */
static mercer_status run_test(struct job *job, mercer_error *err)
{
    const mercer_evaluate_options *options = job->options;
    mrc_fold_result *fold = &job->result->folds[0];
    mrc_fold_rows train = {.rows = (mercer_rows *)job->rows,
                           .targets = (mercer_targets *)job->targets};
    mrc_fold_rows test = {0};
    const mercer_targets *truth = options->test_targets;
    int64_t *codes = NULL;
    mercer_status rc = MERCER_OK;
    fold->n = options->test->n;
    MRC_TRY(mrc_alloc(&fold->rows, fold->n, sizeof *fold->rows, err));
    for (int64_t i = 0; i < fold->n; i++)
        fold->rows[i] = i;
    test.rows = (mercer_rows *)options->test;
    if (job->targets && (!truth || truth->kind == MERCER_TARGET_NONE))
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.input = "test"),
                    "the test rows have no %s to judge predictions by, as the training rows have",
                    job->targets->kind == MERCER_TARGET_CLASSES ? "labels" : "target values");
    if (job->targets && truth->kind != job->targets->kind)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.input = "test"),
                    "the test rows have %s, the training rows %s",
                    truth->kind == MERCER_TARGET_CLASSES ? "classes" : "target values",
                    job->targets->kind == MERCER_TARGET_CLASSES ? "classes" : "target values");
    if (job->targets && (truth->n != fold->n || truth->columns != job->targets->columns))
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.input = "test"),
                    "the test rows have %lld x %lld target values, %lld x %lld are expected",
                    (long long)truth->n, (long long)truth->columns, (long long)fold->n,
                    (long long)job->targets->columns);
    if (job->targets && truth->kind == MERCER_TARGET_CLASSES) { /* by name */
        MRC_TRY(mrc_alloc(&codes, fold->n, sizeof *codes, err));
        for (int64_t i = 0; i < fold->n; i++) {
            const char *name = truth->class_names[truth->codes[i]];
            codes[i] = -1;
            for (int64_t c = 0; c < job->targets->classes; c++)
                if (strcmp(job->targets->class_names[c], name) == 0)
                    codes[i] = c;
            if (codes[i] < 0)
                MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.input = "test", .row = i + 1),
                            "row %lld is of class '%s', which the training rows do not have",
                            (long long)i + 1, name);
        }
        MRC_TRY(mercer_targets_new_classes(codes, fold->n,
                                           (const char *const *)job->targets->class_names,
                                           job->targets->classes, NULL, &test.targets, err));
    } else if (job->targets) {
        test.targets = (mercer_targets *)truth;
    }
    MRC_TRY(run_fold(job->ctx, job, &train, &test, fold, err));
out:
    if (codes)
        mercer_targets_free(test.targets);
    mrc_free(codes);
    return rc;
}

/* ---- the whole ---- */

static const double SILENT = 0.9; /* of the variance left: not worth choosing by */

/* Mean and spread; of folds of one row the metric of all together, where a row is in one fold. */
static mercer_status summarise(const struct job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    int64_t n = job->rows->n, o = result->outputs;
    double *scores = NULL, sum = 0, squares = 0, told = 0;
    int64_t *codes = NULL;
    mercer_status rc = MERCER_OK;
    for (int64_t f = 0; f < result->count; f++)
        if (!isnan(result->folds[f].value)) {
            sum += result->folds[f].value;
            told++;
        }
    result->mean = sum / told;
    for (int64_t f = 0; f < result->count; f++)
        if (!isnan(result->folds[f].value))
            squares += pow(result->folds[f].value - result->mean, 2);
    result->sd = told > 1 ? sqrt(squares / (told - 1)) : NAN;
    if (result->metric->of == MRC_OF_COLUMNS && result->mean > SILENT)
        mrc_notice(job->ctx,
                   "the columns hardly predict each other (%.3g of their variance is left): this "
                   "metric says little about kernel, width and number of features",
                   result->mean);
    if (told == 0 && !job->aim.together)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the rows held out are all of one class in every fold: there is no ranking to "
                 "judge");
    if (result->kind == MERCER_TARGET_CLASSES) {
        MRC_TRY(mrc_alloc2(&result->confusion, o, o, sizeof *result->confusion, err));
        MRC_TRY(mrc_alloc(&result->undecided, o, sizeof *result->undecided, err));
        MRC_TRY(mrc_copy_names(&result->class_names, job->targets->class_names, o, err));
    }
    for (int64_t f = 0; result->confusion && f < result->count; f++) {
        const mrc_fold_result *fold = &result->folds[f];
        mrc_confusion_add(
            &(mrc_predictions){
                .n = fold->n, .outputs = o, .predicted = fold->codes, .truth = fold->truth},
            result->confusion, result->undecided);
    }
    if (!job->aim.together ||
        result->kind == MERCER_TARGET_NONE) /* without predictions rows are never judged together */
        goto out;
    MRC_TRY(reserve(result, n, &scores, &codes, err));
    for (int64_t f = 0; f < result->count; f++) {
        const mrc_fold_result *fold = &result->folds[f];
        memcpy(scores + fold->rows[0] * o, fold->scores, (size_t)o * sizeof *scores);
        if (codes)
            codes[fold->rows[0]] = fold->codes[0];
    }
    mrc_predictions judged = {.n = n,
                              .outputs = o,
                              .predicted = codes,
                              .truth = job->targets->codes,
                              .scores = scores,
                              .values = job->targets->values,
                              .positive = result->positive};
    result->sd = NAN;
    MRC_TRY(result->metric->measure(&judged, &result->mean, err));
    if (isnan(result->mean))
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the rows are all of one class: there is no ranking to judge");
out:
    mrc_free(scores);
    mrc_free(codes);
    return rc;
}

/* Folds as the options want them. */
static mercer_status make_folds(mercer_ctx *ctx, const mercer_evaluate_options *options,
                                const mercer_rows *rows, const mercer_targets *targets,
                                mrc_folds *out, mercer_error *err)
{
    int64_t n = rows->n, k = options->folds == MERCER_LEAVE_ONE_OUT ? n
                             : options->folds == 0                  ? 5
                                                                    : options->folds;
    mercer_status rc = MERCER_OK;
    if (options->repeats < 0 || options->repeats > 1000000)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "repeats: %lld is not a number from 1 to 1000000",
                 (long long)options->repeats);
    int64_t repeats = options->repeats ? options->repeats : 1;
    double bytes = (double)repeats * ((double)k * sizeof(mrc_fold_result) + 8 * (double)n);
    if (options->splits == 0 && bytes > (double)ctx->memory) {
        const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, (double)ctx->memory);
        MRC_FAIL_AT(err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                    "%lld folds drawn %lld times take %s, the memory budget is %s: ask for "
                    "fewer, or raise it",
                    (long long)k, (long long)repeats, sizes.first.text, sizes.second.text);
    }
    if (options->splits == 0)
        return mrc_folds_draw(ctx, n, targets ? targets->codes : NULL,
                              targets ? targets->classes : 0, k, repeats, out, err);
    out->n = n;
    out->count = options->splits;
    int64_t entries = options->split_start[options->splits];
    MRC_TRY(mrc_alloc(&out->start, out->count + 1, sizeof *out->start, err));
    MRC_TRY(mrc_alloc(&out->rows, entries, sizeof *out->rows, err));
    memcpy(out->start, options->split_start, (size_t)(out->count + 1) * sizeof *out->start);
    memcpy(out->rows, options->split_rows, (size_t)entries * sizeof *out->rows);
    for (int64_t s = 0; s < out->count; s++) {
        int64_t held = out->start[s + 1] - out->start[s];
        if (held < 1 || held >= n)
            MRC_FAIL(err, MERCER_ERR_DATA, "split %lld holds out %lld of %lld rows",
                     (long long)s + 1, (long long)held, (long long)n);
        for (int64_t e = out->start[s]; e < out->start[s + 1]; e++)
            if (out->rows[e] < 0 || out->rows[e] >= n ||
                (e > out->start[s] && out->rows[e] <= out->rows[e - 1]))
                MRC_FAIL(err, MERCER_ERR_DATA, "split %lld: row %lld of %lld rows, or twice",
                         (long long)s + 1, (long long)out->rows[e], (long long)n);
    }
out:
    return rc;
}

/* Rows that can be judged without labels, by columns predicted from others: dense ones that have
 * other columns, and a method that does not want labels of its own. */
static bool has_columns(const struct job *job, const mrc_method *method)
{
    return job->rows->d > 1 && !mercer_rows_is_sparse(job->rows) && !job->precomputed &&
           !method->default_head;
}

/* Rows that are scaled one by one know of the columns that are to be predicted. */
static bool scales_rows(const struct job *job)
{
    return job->scale == MRC_SCALE_UNIT || job->scale == MRC_SCALE_ROWSTANDARD;
}

/* What is to be predicted, and by which metric it is judged. */
static mercer_status decide_metric(struct job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    const mercer_fit_options *fit = job->options->fit;
    const mrc_method *method;
    mrc_head_choice head = {0};
    const char *name = job->options->metric;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_method_find(fit->method, &method, err));
    MRC_TRY(mrc_head_find(fit->head ? fit->head : method->default_head, &head, err));
    if (!head.def && job->options->predictions)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.advice_key = "head", .advice_value = "ls"),
                    "nothing is predicted: name a head that does, for example ls");
    if (!head.def) {
        if (!name)
            name = has_columns(job, method) ? "structure" : "reconstruction";
        MRC_TRY(mrc_metric_find(name, MERCER_TARGET_NONE, 0, &result->metric, err));
        bool of_columns =
            result->metric->of == MRC_OF_COLUMNS || result->metric->of == MRC_OF_STRUCTURE;
        if (of_columns && !has_columns(job, method))
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "metric %s needs dense rows of two columns at least, and a method that "
                     "does not learn from labels",
                     result->metric->name);
        if (result->metric->of == MRC_OF_COLUMNS && scales_rows(job))
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT,
                        MRC_AT(.advice_key = "metric", .advice_value = "structure"),
                        "metric columns predicts columns from others, and rows scaled one by one "
                        "know of them: use metric structure");
        if (job->precomputed && job->options->test)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "kernel precomputed: k(x,x) of the test rows is not known; hold rows out by "
                     "folds or splits instead");
        job->targets = method->default_head ? job->targets : NULL;
        goto out;
    }
    if (!job->targets || job->targets->kind == MERCER_TARGET_NONE)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "there are no labels or targets to predict");
    result->kind = job->targets->kind;
    bool classes = result->kind == MERCER_TARGET_CLASSES;
    result->outputs = classes ? job->targets->classes : job->targets->columns;
    MRC_TRY(mrc_metric_find(name, result->kind, result->outputs, &result->metric, err));
    if (job->options->predictions == MERCER_PREDICTIONS_RANKED &&
        !(classes && result->outputs == 2))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "a ROC curve is of two classes, not of %s",
                 classes ? "more" : "values");
out:
    mrc_head_choice_destroy(&head);
    return rc;
}

/* The class that rankings look for: the one named, or the second. */
static mercer_status find_positive(struct job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    const char *name = job->options->positive;
    if (!job->targets || result->kind != MERCER_TARGET_CLASSES || result->outputs != 2) {
        if (!name)
            return MERCER_OK;
        return mrc_fail(
            err, MERCER_ERR_ARGUMENT,
            "positive: it names one of two classes, and what is predicted is not two classes");
    }
    char **names = job->targets->class_names;
    result->positive = name && strcmp(name, names[0]) == 0 ? 0 : 1;
    if (name && strcmp(name, names[result->positive]) != 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "positive: class '%s' is neither '%s' nor '%s'",
                        name, names[0], names[1]);
    return mrc_strdup(&result->positive_name, names[result->positive], err);
}

/* The grid of some texts around the fit's own method, kernel and head. */
static mercer_status make_grid(const mercer_fit_options *fit, const char *const *texts,
                               int64_t count, mrc_grid *out, mercer_error *err)
{
    const mrc_method *method;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_method_find(fit->method, &method, err));
    const char *kernel = mrc_method_default_kernel(method);
    MRC_TRY(mrc_grid_init(out, fit->method, fit->kernel ? fit->kernel : kernel, fit->head, texts,
                          count, err));
out:
    return rc;
}

/* ctx: where the host's kernels are; may be NULL. */
static mercer_status check_choice(const mercer_ctx *ctx, const mercer_fit_options *fit,
                                  const mrc_choice *choice, mercer_error *err)
{
    mercer_fit_options options = *fit;
    mrc_request request = {0};
    options.method = choice->method;
    options.kernel = choice->kernel;
    options.head = choice->head;
    mercer_status rc = mrc_request_read(ctx, &options, &request, err);
    mrc_request_destroy(&request);
    return rc;
}

int mercer_fit_options_can_tune(const mercer_fit_options *given, const char *tune)
{
    mrc_grid grid = {0};
    mercer_fit_options fit;
    mercer_fit_options_init(&fit);
    mercer_status rc = mrc_options_import("fit", given, &fit, sizeof fit, NULL);
    if (!fit.method || !tune)
        return 0;
    if (rc == MERCER_OK)
        rc = make_grid(&fit, &tune, 1, &grid, NULL);
    if (rc == MERCER_OK)
        rc = check_choice(NULL, &fit, &grid.choices[0], NULL);
    mrc_grid_destroy(&grid);
    return rc == MERCER_OK;
}

/* What is tried, all of it known to make sense before the first fit. */
static mercer_status make_choices(struct job *job, mercer_error *err)
{
    const mercer_evaluate_options *options = job->options;
    mrc_grid *grid = &job->result->grid;
    const mrc_method *method;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_method_find(options->fit->method, &method, err));
    MRC_TRY(make_grid(options->fit, options->tune, options->tune_count, grid, err));
    job->streaming = method->streaming != NULL;
    MRC_TRY(mrc_scale_parse(options->fit->scale, &job->scale, err));
    for (int64_t c = 0; c < grid->count; c++) {
        mrc_kernel parsed;
        MRC_TRY(check_choice(job->ctx, options->fit, &grid->choices[c], err));
        MRC_TRY(mrc_kernel_parse_in(&parsed, job->ctx, grid->choices[c].kernel, err));
        mrc_pairs_want(&parsed, job->wanted);
        bool precomputed = mrc_kernel_is_precomputed(&parsed);
        if (c > 0 && precomputed != job->precomputed)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "tune: a precomputed kernel cannot be compared with one of the rows");
        job->precomputed = precomputed;
    }
    if (job->precomputed && (mercer_rows_is_sparse(job->rows) || job->rows->n != job->rows->d))
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "kernel precomputed: the matrix is %s%lld x %lld; to be cut into folds it must be "
                 "dense and square",
                 mercer_rows_is_sparse(job->rows) ? "sparse, " : "", (long long)job->rows->n,
                 (long long)job->rows->d);
    bool tuned = grid->count > 1 || grid->components_count > 1;
    job->steps = tuned ? grid->count * job->inner_folds + 1 : 1;
out:
    return rc;
}

static mercer_status check_call(const mercer_evaluate_options *options, const mercer_rows *rows,
                                const mercer_targets *targets, mercer_error *err)
{
    if (!options->fit->method)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "evaluate: no method given");
    if ((options->folds != 0) + (options->splits != 0) + (options->test != NULL) > 1)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "folds, splits and test rows: only one of them can be used");
    if (options->inner_folds == 1 || options->inner_folds < 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "inner folds: %lld, at least 2 are needed",
                        (long long)options->inner_folds);
    if (options->fit->want_features)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "want_features"),
                           "want_features: an evaluation has no features to hand over");
    mercer_status rc = mrc_options_refuse(options->fit, MERCER_CALL_EVALUATE, err);
    if (rc != MERCER_OK)
        return rc;
    if (targets && targets->kind != MERCER_TARGET_NONE && targets->n != rows->n)
        return mrc_fail(err, MERCER_ERR_DATA, "targets of %lld rows for %lld rows",
                        (long long)targets->n, (long long)rows->n);
    return MERCER_OK;
}

mercer_status mercer_evaluate(mercer_ctx *ctx, const mercer_evaluate_options *given,
                              const mercer_rows *rows, const mercer_targets *targets,
                              mercer_evaluation **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(given);
    MRC_NEED(rows);
    mercer_evaluate_options options;
    mercer_fit_options fit;
    struct job job = {.ctx = ctx, .options = &options, .rows = rows, .targets = targets};
    mrc_folds folds = {0};
    mrc_pair_cache known = {0};
    mercer_status rc = MERCER_OK;
    mrc_ctx_enter(ctx);
    mercer_evaluate_options_init(&options);
    mercer_fit_options_init(&fit);
    MRC_TRY(mrc_options_import("evaluate", given, &options, sizeof options, err));
    MRC_TRY(mrc_options_import("fit", options.fit, &fit, sizeof fit, err));
    options.fit = &fit;
    MRC_TRY(check_call(&options, rows, targets, err));
    if (targets && targets->kind == MERCER_TARGET_NONE)
        job.targets = NULL;
    job.inner_folds = options.inner_folds ? options.inner_folds : 5;
    MRC_TRY(mrc_alloc(&job.result, 1, sizeof *job.result, err));
    MRC_TRY(make_choices(&job, err));
    MRC_TRY(decide_metric(&job, err));
    if (job.result->metric->of == MRC_OF_COLUMNS) /* which are not all there in a fit */
        memset(job.wanted, 0, sizeof job.wanted);
    MRC_TRY(find_positive(&job, err));
    if (!options.test) {
        MRC_TRY(make_folds(ctx, &options, rows, job.targets, &folds, err));
        job.folds = &folds;
        job.aim.together = job.result->kind != MERCER_TARGET_NONE && folds.count == rows->n &&
                           options.splits == 0 && folds.start[1] == 1 && options.repeats <= 1;
    }
    job.aim.metric = job.result->metric;
    job.aim.targets = job.targets;
    job.aim.outputs = job.result->outputs;
    job.aim.positive = job.result->positive;
    job.result->count = options.test ? 1 : folds.count;
    job.steps *= job.result->count;
    MRC_TRY(mrc_alloc(&job.result->folds, job.result->count, sizeof *job.result->folds, err));
    if (job.scale == MRC_SCALE_NONE && !job.streaming && pairs_pay(&job, ctx, rows, job.steps)) {
        MRC_TRY(mrc_pair_cache_init(&known, ctx, rows, MRC_SCALE_NONE, NULL, job.wanted, err));
        job.rows = &known.rows;
    }
    MRC_TRY(options.test ? run_test(&job, err) : run_folds(&job, err));
    mrc_notices_tell(ctx, job.result, !options.test);
    MRC_TRY(summarise(&job, err));
    MRC_TRY(mrc_check_cancel(ctx, err));
    *out = job.result;
    job.result = NULL;
out:
    mrc_pair_cache_destroy(&known);
    mrc_folds_destroy(&folds);
    mercer_evaluation_free(job.result);
    return mrc_ctx_leave(ctx, rc, err);
}
