/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer_evaluate: folds, and in each of them the choice of what is tuned, a fit, a judgement.
 *
 * A fold is a task of its own with a context of its own, whose random state depends on the seed and
 * the fold alone. Whatever is learnt (scaling, widths, landmarks, head) is learnt from the fold's
 * training rows, which are a copy: rows held out cannot reach it. Sums between pairs of rows may be
 * computed for all rows at once, because each sum depends only on its two rows.
 *
 * Several ranks share the work in two rounds: the inner folds of all folds, then the folds, each
 * dealt in turn. After a round every rank knows what all of them came to, in all bits, and so each
 * comes to the whole result, which is that of one rank. */
#include "base/bytes.h"
#include "base/comm.h"
#include "eval/importance.h"
#include "eval/job.h"
#include "eval/moments.h"
#include "eval/notices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- one fold ---- */

/* Choose within the training part of fold f, fit it, judge the rows held out. known: what tells the
 * choice, where it was made already; else NULL. */
static mercer_status run_fold(mercer_ctx *ctx, mrc_job *job, int64_t f, const mrc_fold_rows *train,
                              const mrc_fold_rows *test, const mrc_scores *known,
                              mrc_fold_result *fold, mercer_error *err)
{
    const mrc_grid *grid = &job->result->grid;
    static const double as_given = 0;
    const double *numbers = grid->components ? grid->components : &as_given;
    int64_t count = mrc_grid_numbers(grid), best = 0;
    mercer_notice_fn notice = ctx->notice;
    void *notice_host = ctx->notice_host;
    mrc_rng start = ctx->rng;
    mrc_scores scores = {0};
    mercer_notice left_out;
    mercer_status rc = MERCER_OK;
    mercer_ctx_set_notice(ctx, NULL, NULL); /* of what is only tried */
    fold->inner = NAN;
    if (mrc_job_is_tuned(job) && !known) {
        MRC_TRY(mrc_choose(ctx, job, train, f, &scores, &left_out, err));
        if (left_out.text[0])
            mrc_notice_keep(fold, &left_out);
        known = &scores;
    }
    if (known) {
        best = known->chosen;
        fold->inner = known->mean[best];
    }
    fold->choice = best / count;
    ctx->rng = start; /* as without a choice: a fit does not know how many were tried */
    mercer_ctx_set_notice(ctx, mrc_notice_keep, fold);
    if (job->result->kind != MERCER_TARGET_NONE)
        mrc_notice_missing_classes(ctx, train->targets, test->targets);
    MRC_TRY(mrc_job_reserve(job, test->rows->n, &fold->scores, &fold->codes, err));
    if (job->options.importance)
        MRC_TRY(mrc_alloc(&fold->importance, job->rows->d, sizeof *fold->importance, err));
    if (fold->codes && test->targets) {
        MRC_TRY(mrc_alloc(&fold->truth, fold->n, sizeof *fold->truth, err));
        memcpy(fold->truth, test->targets->codes, (size_t)fold->n * sizeof *fold->truth);
    }
    mrc_trial trial = {.fit = &job->fit,
                       .choice = &grid->choices[fold->choice],
                       .scoring = &job->scoring,
                       .train = train,
                       .test = test,
                       .numbers = numbers + best % count,
                       .count = 1,
                       .values = &fold->value,
                       .scores = fold->scores,
                       .codes = fold->codes,
                       .importance = fold->importance,
                       .of_test_file = !job->folds};
    MRC_TRY(mrc_trial_run(ctx, &trial, err));
    fold->components = trial.components;
    fold->points = trial.points;
    if (isnan(fold->value) && !job->scoring.together)
        mrc_notice(ctx,
                   "all rows held out are of one class: %s is not defined there, and the mean "
                   "is without it",
                   job->result->metric->name);
    mrc_job_count_step(job, ctx);
out:
    mrc_scores_destroy(&scores);
    mercer_ctx_set_notice(ctx, notice, notice_host);
    return rc;
}

/* Which rows a fold holds out. */
static mercer_status describe_fold(const mrc_job *job, int64_t f, mrc_fold_result *fold,
                                   mercer_error *err)
{
    const mrc_folds *folds = job->folds;
    fold->n = folds->start[f + 1] - folds->start[f];
    mercer_status rc = mrc_alloc(&fold->rows, fold->n, sizeof *fold->rows, err);
    if (rc == MERCER_OK)
        memcpy(fold->rows, folds->rows + folds->start[f], (size_t)fold->n * sizeof *fold->rows);
    return rc;
}

/* Both portions of fold f; to be destroyed, also after an error. */
static mercer_status take_fold(const mrc_job *job, int64_t f, mrc_fold_rows *train,
                               mrc_fold_rows *test, mercer_error *err)
{
    const mrc_folds *folds = job->folds;
    int64_t *rest = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&rest, folds->n, sizeof *rest, err));
    mrc_split split = {.learn = rest,
                       .learn_count = mrc_folds_rest(folds, f, rest),
                       .held = folds->rows + folds->start[f],
                       .held_count = folds->start[f + 1] - folds->start[f]};
    MRC_TRY(mrc_fold_rows_take(job->rows, job->targets, job->options.groups, job->precomputed,
                               &split, train, test, err));
out:
    mrc_free(rest);
    return rc;
}

/* The random state of everything in a fold depends on the seed and the fold alone. */
static void seed_fold(mercer_ctx *ctx, const mrc_job *job, int64_t f)
{
    mercer_ctx_set_seed(ctx, job->ctx->seed + 0x9E3779B97F4A7C15u * ((uint64_t)f + 1));
}

static mercer_status prepare_fold(mercer_ctx *ctx, mrc_job *job, int64_t f, mrc_fold_result *fold,
                                  mercer_error *err)
{
    mrc_fold_rows train = {0}, test = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(describe_fold(job, f, fold, err));
    MRC_TRY(take_fold(job, f, &train, &test, err));
    MRC_TRY(run_fold(ctx, job, f, &train, &test, NULL, fold, err));
out:
    mrc_fold_rows_destroy(&train);
    mrc_fold_rows_destroy(&test);
    return rc;
}

/* ---- what a fold came to, as a record ---- */

/* An array that a record has or has not. */
static mercer_status put_array(mrc_record *out, const void *data, int64_t bytes, mercer_error *err)
{
    const int64_t here = data ? bytes : -1;
    mercer_status rc = mrc_record_put(out, &here, sizeof here, err);
    return rc == MERCER_OK && data ? mrc_record_put(out, data, bytes, err) : rc;
}

/* An array of `expected` bytes goes to *(void **)data; NULL when the record has none. Another
 * length is refused: a journal is a file, and the arrays are indexed by what the job says. */
static mercer_status get_array(mrc_reading *from, void *data, int64_t expected, mercer_error *err)
{
    int64_t bytes;
    char *copy = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_record_get(from, &bytes, sizeof bytes, err));
    if (bytes >= 0 && bytes != expected)
        MRC_FAIL(err, MERCER_ERR_PEER, "the record of a fold does not fit the evaluation");
    if (bytes >= 0) {
        MRC_TRY(mrc_alloc(&copy, bytes, 1, err));
        MRC_TRY(mrc_record_get(from, copy, bytes, err));
    }
    memcpy(data, &copy, sizeof copy);
    copy = NULL;
out:
    mrc_free(copy);
    return rc;
}

/* An error or a notice, whose texts are ended. */
static mercer_status get_error(mrc_reading *from, mercer_error **out, mercer_error *err)
{
    mercer_status rc = get_array(from, out, sizeof **out, err);
    if (rc == MERCER_OK && *out)
        mrc_fail_again(*out, (*out)->code, *out);
    return rc;
}

/* The same of n classes. */
static mercer_status get_codes(const mrc_job *job, mrc_reading *from, int64_t **codes, int64_t n,
                               mercer_error *err)
{
    mercer_status rc = get_array(from, codes, n * (int64_t)sizeof **codes, err);
    for (int64_t i = 0; rc == MERCER_OK && *codes && i < n; i++)
        if ((*codes)[i] < 0 || (*codes)[i] >= job->targets->classes)
            rc = mrc_fail(err, MERCER_ERR_PEER,
                          "the record of a fold has a class that is not there");
    return rc;
}

static mercer_status put_result(const mrc_job *job, const mrc_fold_result *fold, mrc_record *out,
                                mercer_error *err)
{
    const double values[] = {fold->value, fold->inner};
    const int64_t numbers[] = {fold->choice, fold->components, fold->points, fold->notice_count,
                               fold->rc};
    const int64_t n = fold->n, outputs = job->result->outputs, word = sizeof(int64_t);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_record_put(out, values, sizeof values, err));
    MRC_TRY(mrc_record_put(out, numbers, sizeof numbers, err));
    MRC_TRY(put_array(out, fold->why, sizeof *fold->why, err));
    MRC_TRY(put_array(out, fold->codes, n * word, err));
    MRC_TRY(put_array(out, fold->truth, n * word, err));
    MRC_TRY(put_array(out, fold->scores, n * outputs * word, err));
    MRC_TRY(put_array(out, fold->importance, job->rows->d * word, err));
    for (int i = 0; i < fold->notice_count; i++)
        MRC_TRY(put_array(out, fold->notices[i], sizeof *fold->notices[i], err));
out:
    return rc;
}

static mercer_status get_result(const mrc_job *job, mrc_reading from, mrc_fold_result *fold,
                                mercer_error *err)
{
    const int64_t n = fold->n, outputs = job->result->outputs, word = sizeof(int64_t);
    double values[2];
    int64_t numbers[5], *codes = NULL;
    double *scores = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_record_get(&from, values, sizeof values, err));
    MRC_TRY(mrc_record_get(&from, numbers, sizeof numbers, err));
    fold->value = values[0];
    fold->inner = values[1];
    if (numbers[0] < 0 || numbers[0] >= job->result->grid.count)
        MRC_FAIL(err, MERCER_ERR_PEER, "the record of a fold has a choice that is not there");
    fold->choice = numbers[0];
    fold->components = numbers[1];
    fold->points = numbers[2];
    fold->rc = (mercer_status)numbers[4];
    MRC_TRY(get_error(&from, &fold->why, err));
    MRC_TRY(get_codes(job, &from, &fold->codes, n, err));
    MRC_TRY(get_codes(job, &from, &fold->truth, n, err));
    MRC_TRY(get_array(&from, &fold->scores, n * outputs * word, err));
    MRC_TRY(get_array(&from, &fold->importance, job->rows->d * word, err));
    for (int i = 0; i < numbers[3] && i < MRC_MAX_NOTICES; i++) {
        MRC_TRY(get_error(&from, &fold->notices[i], err));
        if (!fold->notices[i])
            MRC_FAIL(err, MERCER_ERR_PEER, "the record of a fold lacks a notice");
        fold->notice_count++;
    }
    MRC_TRY(mrc_job_reserve(job, n, &scores, &codes, err)); /* which of them there have to be */
    if (fold->rc == MERCER_OK &&
        (!codes != !fold->codes || (!codes || !job->targets) != !fold->truth ||
         !scores != !fold->scores || !job->options.importance != !fold->importance))
        MRC_FAIL(err, MERCER_ERR_PEER, "the record of a fold does not fit the evaluation");
out:
    mrc_free(scores);
    mrc_free(codes);
    return rc;
}

/* ---- folds that this rank runs ---- */

/* Without memory for it the status has to do. */
static void keep_error(mrc_fold_result *fold, const mercer_error *err)
{
    if (mrc_alloc(&fold->why, 1, sizeof *fold->why, NULL) == MERCER_OK)
        *fold->why = *err;
}

static mercer_status keep_fold(mrc_job *job, int64_t f, mercer_error *err)
{
    mrc_record record = {0};
    mercer_status rc = MERCER_OK;
    if (!job->journal.path)
        return rc;
    MRC_TRY(put_result(job, &job->result->folds[f], &record, err));
    MRC_TRY(mrc_journal_keep(&job->journal, MRC_OF_FOLD, f, &record, err));
out:
    mrc_record_destroy(&record);
    return rc;
}

/* Folds that the journal knows are done; the others are to do. */
static mercer_status list_folds(mrc_job *job, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&job->todo, job->result->count, sizeof *job->todo, err));
    for (int64_t f = 0; f < job->result->count; f++) {
        mrc_reading from;
        if (!mrc_journal_find(&job->journal, MRC_OF_FOLD, f, &from)) {
            job->todo[job->todo_count++] = f;
            continue;
        }
        MRC_TRY(describe_fold(job, f, &job->result->folds[f], err));
        MRC_TRY(get_result(job, from, &job->result->folds[f], err));
    }
out:
    return rc;
}

/* The error of the first fold that has one is told. Several ranks find out which that is when all
 * have run theirs; one that is alone begins folds in their order, and none after one that has
 * failed. */
static void fold_task(void *arg, int64_t task, int worker)
{
    mrc_job *job = arg;
    const int64_t f = job->todo[mrc_job_piece(job, task)];
    mrc_fold_result *fold = &job->result->folds[f];
    mercer_ctx *ctx = job->workers[worker];
    mercer_error err = {0};
    if (atomic_load(&job->failed))
        return;
    seed_fold(ctx, job, f);
    fold->rc = prepare_fold(ctx, job, f, fold, &err);
    if (fold->rc == MERCER_OK)
        fold->rc = keep_fold(job, f, &err);
    if (fold->rc == MERCER_OK)
        return;
    keep_error(fold, &err);
    mrc_job_end(job, f, fold->rc, &err);
    if (mrc_job_is_final(job, fold->rc) && mercer_ctx_ranks(job->ctx) == 1)
        atomic_store(&job->failed, true);
}

/* Folds that did not fit a worker's share of the memory have all of it, one after the other. */
static void run_large_folds(mrc_job *job)
{
    if (job->ctx->threads == 1)
        return;
    job->workers[0]->budget = job->memory;
    job->large = true;
    atomic_store(&job->failed, false);
    for (int64_t k = 0; k < mrc_job_dealt(job, job->todo_count); k++) {
        mrc_fold_result *fold = &job->result->folds[job->todo[mrc_job_piece(job, k)]];
        if (fold->rc == MERCER_ERR_BUDGET && mrc_check_cancel(job->ctx, NULL) == MERCER_OK) {
            mrc_fold_result_destroy(fold);
            fold_task(job, k, 0);
        }
        if (fold->rc != MERCER_OK && mercer_ctx_ranks(job->ctx) == 1)
            break; /* that is told */
    }
    job->large = false;
    job->workers[0]->budget = job->share;
}

/* ---- ranks ---- */

/* Inner folds to be tried before the folds are run: p % inner_most of fold p / inner_most. */
struct ahead {
    mrc_job *job;
    int64_t *pieces, count;
};

static void ahead_task(void *arg, int64_t task, int worker)
{
    const struct ahead *ahead = arg;
    mrc_job *job = ahead->job;
    const int64_t p = ahead->pieces[mrc_job_piece(job, task)], f = p / job->inner_most;
    mercer_ctx *ctx = job->workers[worker];
    mrc_fold_rows train = {0}, test = {0};
    mercer_error err = {0};
    seed_fold(ctx, job, f);
    mercer_status rc = take_fold(job, f, &train, &test, &err);
    if (rc == MERCER_OK)
        rc = mrc_choose_ahead(ctx, job, &train, f, p % job->inner_most, &err);
    mrc_job_end(job, f, rc, &err);
    mrc_fold_rows_destroy(&train);
    mrc_fold_rows_destroy(&test);
}

static mercer_status try_ahead(mrc_job *job, mercer_error *err)
{
    struct ahead ahead = {.job = job};
    const int64_t most = job->inner_most;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_outcomes_init(&job->ahead, job->result->count * most, err));
    MRC_TRY(mrc_alloc(&ahead.pieces, job->todo_count * most, sizeof *ahead.pieces, err));
    for (int64_t p = 0; p < job->todo_count * most; p++)
        if (!mrc_choose_is_known(job, job->todo[p / most], p % most))
            ahead.pieces[ahead.count++] = job->todo[p / most] * most + p % most;
    mrc_comm_listen(job->ctx, true);
    rc = mrc_parfor_checked(job->ctx, mrc_job_dealt(job, ahead.count), ahead_task, &ahead, err);
    mrc_comm_listen(job->ctx, false);
    if (rc != MERCER_OK)
        goto out;
    MRC_TRY(mrc_outcomes_share(job->ctx, &job->ahead, err));
out:
    mrc_free(ahead.pieces);
    return rc;
}

/* What all folds came to, from the ranks that have run them. */
static mercer_status share_results(mrc_job *job, mercer_error *err)
{
    mrc_outcomes outcomes = {0};
    mercer_status rc = MERCER_OK;
    if (mercer_ctx_ranks(job->ctx) == 1)
        return rc;
    MRC_TRY(mrc_outcomes_init(&outcomes, job->todo_count, err));
    for (int64_t k = 0; k < mrc_job_dealt(job, job->todo_count); k++) {
        int64_t i = mrc_job_piece(job, k);
        MRC_TRY(put_result(job, &job->result->folds[job->todo[i]], &outcomes.pieces[i], err));
    }
    MRC_TRY(mrc_outcomes_share(job->ctx, &outcomes, err));
    for (int64_t i = 0; i < job->todo_count; i++) {
        mrc_fold_result *fold = &job->result->folds[job->todo[i]];
        mrc_reading from = {0};
        if (i % mercer_ctx_ranks(job->ctx) == mercer_ctx_rank(job->ctx))
            continue;
        if (job->folds)
            MRC_TRY(describe_fold(job, job->todo[i], fold, err));
        (void)mrc_outcomes_find(&outcomes, i, &from);
        MRC_TRY(get_result(job, from, fold, err));
    }
out:
    mrc_outcomes_destroy(&outcomes);
    return rc;
}

static mercer_status run_folds(mrc_job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    mercer_status rc = MERCER_OK;
    MRC_TRY(list_folds(job, err));
    if (mercer_ctx_ranks(job->ctx) > 1 && mrc_job_is_tuned(job))
        MRC_TRY(try_ahead(job, err));
    mrc_comm_listen(job->ctx, true);
    rc = mrc_parfor_checked(job->ctx, mrc_job_dealt(job, job->todo_count), fold_task, job, err);
    if (rc == MERCER_OK)
        run_large_folds(job);
    mrc_comm_listen(job->ctx, false);
    MRC_TRY(rc == MERCER_OK ? mrc_check_cancel(job->ctx, err) : rc);
    MRC_TRY(share_results(job, err));
    for (int64_t f = 0; f < result->count; f++) {
        const mrc_fold_result *fold = &result->folds[f];
        if (fold->rc != MERCER_OK)
            MRC_TRY(mrc_job_fail_fold(f, fold->rc, fold->why, err));
    }
out:
    return rc;
}

/* Learn from all rows, judge the test rows: one fold, on all threads. */
static mercer_status run_test(mrc_job *job, mercer_error *err)
{
    const mercer_evaluate_options *options = &job->options;
    mrc_fold_result *fold = &job->result->folds[0];
    const mrc_fold_rows train = mrc_job_rows(job);
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
    if (mrc_job_is_tuned(job)) /* the training part is all rows */
        MRC_TRY(mrc_tune_all(job, err));
    MRC_TRY(list_folds(job, err)); /* the only one, which is never in the journal */
    mrc_comm_listen(job->ctx, true);
    if (mrc_job_dealt(job, job->todo_count))
        rc = run_fold(job->ctx, job, 0, &train, &test,
                      mrc_job_is_tuned(job) ? &job->result->tuning.scores : NULL, fold, err);
    mrc_comm_listen(job->ctx, false);
    if (rc != MERCER_OK)
        goto out;
    MRC_TRY(share_results(job, err));
    /* the next call goes on with the random state of the rank that has fitted */
    MRC_TRY(mrc_comm_broadcast(job->ctx, &job->ctx->rng, sizeof job->ctx->rng, err));
out:
    if (codes)
        mercer_targets_free(test.targets);
    mrc_free(codes);
    return rc;
}

/* ---- the whole ---- */

static const double SILENT = 0.9; /* of the variance left: not worth choosing by */

static double value_of_fold(const void *result, int64_t f)
{
    return ((const mercer_evaluation *)result)->folds[f].value;
}

/* Mean and spread; of folds of one row the metric of all together, where a row is in one fold. */
static mercer_status summarise(const mrc_job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    int64_t n = job->rows->n, o = result->outputs;
    double *scores = NULL;
    int64_t *codes = NULL;
    mercer_status rc = MERCER_OK;
    const mrc_moments of = mrc_moments_of(value_of_fold, result, result->count);
    result->mean = mrc_moments_mean(&of);
    result->sd = mrc_moments_sd(&of);
    if (result->metric->of == MRC_OF_COLUMNS && result->mean > SILENT)
        mrc_notice(job->ctx,
                   "the columns hardly predict each other (%.3g of their variance is left): this "
                   "metric says little about kernel, width and number of features",
                   result->mean);
    if (of.told == 0 && !job->scoring.together)
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
    if (!job->scoring.together ||
        result->kind == MERCER_TARGET_NONE) /* without predictions rows are never judged together */
        goto out;
    MRC_TRY(mrc_job_reserve(job, n, &scores, &codes, err));
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

/* Splits of the caller: rows held out must be there, some of them and not all; a group must not be
 * on both sides. */
static mercer_status take_splits(const mrc_job *job, mrc_folds *out, mercer_error *err)
{
    const mercer_evaluate_options *options = &job->options;
    int64_t n = job->rows->n, entries = options->split_start[options->splits], *side = NULL;
    mercer_status rc = MERCER_OK;
    out->n = n;
    out->count = options->splits;
    MRC_TRY(mrc_alloc(&out->start, out->count + 1, sizeof *out->start, err));
    MRC_TRY(mrc_alloc(&out->rows, entries, sizeof *out->rows, err));
    memcpy(out->start, options->split_start, (size_t)(out->count + 1) * sizeof *out->start);
    memcpy(out->rows, options->split_rows, (size_t)entries * sizeof *out->rows);
    if (options->groups)
        MRC_TRY(mrc_alloc(&side, n, sizeof *side, err));
    for (int64_t s = 0; s < out->count; s++) {
        int64_t held = out->start[s + 1] - out->start[s], at = out->start[s];
        if (held < 1 || held >= n)
            MRC_FAIL(err, MERCER_ERR_DATA, "split %lld holds out %lld of %lld rows",
                     (long long)s + 1, (long long)held, (long long)n);
        for (int64_t e = out->start[s]; e < out->start[s + 1]; e++)
            if (out->rows[e] < 0 || out->rows[e] >= n ||
                (e > out->start[s] && out->rows[e] <= out->rows[e - 1]))
                MRC_FAIL(err, MERCER_ERR_DATA, "split %lld: row %lld of %lld rows, or twice",
                         (long long)s + 1, (long long)out->rows[e], (long long)n);
        for (int64_t i = 0; side && i < n; i++) {
            bool out_here = at < out->start[s + 1] && out->rows[at] == i;
            int64_t *group = &side[options->groups[i]], mark = 2 * (s + 1) + out_here;
            at += out_here;
            if (*group / 2 == s + 1 && *group != mark)
                MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "groups", .row = i + 1),
                            "split %lld: row %lld is of a group that is both held out and learnt "
                            "from",
                            (long long)s + 1, (long long)i);
            *group = mark;
        }
    }
out:
    mrc_free(side);
    return rc;
}

/* Folds as the options want them. */
static mercer_status make_folds(const mrc_job *job, mrc_folds *out, mercer_error *err)
{
    const mercer_evaluate_options *options = &job->options;
    const mrc_fold_rows all = mrc_job_rows(job);
    int64_t n = job->rows->n, k = options->folds == MERCER_LEAVE_ONE_OUT ? n
                                  : options->folds == 0                  ? 5
                                                                         : options->folds;
    mercer_status rc = MERCER_OK;
    if (options->splits)
        return take_splits(job, out, err);
    if (options->repeats < 0 || options->repeats > 1000000)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "repeats: %lld is not a number from 1 to 1000000",
                 (long long)options->repeats);
    int64_t repeats = options->repeats ? options->repeats : 1;
    mrc_fold_plan plan = mrc_job_plan(job, &all, k, repeats);
    if (plan.groups && options->folds == MERCER_LEAVE_ONE_OUT) {
        MRC_TRY(mrc_groups_count(&plan, &k, NULL, err));
        plan.count = k;
    }
    double bytes = (double)repeats * ((double)k * sizeof(mrc_fold_result) + 8 * (double)n);
    if (bytes > (double)mercer_ctx_memory(job->ctx)) {
        const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, (double)mercer_ctx_memory(job->ctx));
        MRC_FAIL_AT(err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                    "%lld folds drawn %lld times take %s, the memory budget is %s: ask for "
                    "fewer, or raise it",
                    (long long)k, (long long)repeats, sizes.first.text, sizes.second.text);
    }
    MRC_TRY(mrc_folds_draw(job->ctx, &plan, out, err));
out:
    return rc;
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
    MRC_NEED_WHOLE(rows);
    mrc_job job;
    mrc_folds folds = {0};
    mercer_status rc = MERCER_OK;
    mrc_ctx_enter(ctx);
    MRC_TRY(mrc_job_init(&job, ctx, given, rows, targets, err));
    const bool tested = job.options.test != NULL;
    /* With test rows the choice of the only fold is made on all rows. */
    const bool choose = job.options.choose && job.options.tune_count > 0 && !tested;
    if (!tested) {
        MRC_TRY(make_folds(&job, &folds, err));
        job.folds = &folds;
        job.scoring.together = job.result->kind != MERCER_TARGET_NONE && folds.count == rows->n &&
                               job.options.splits == 0 && folds.start[1] == 1 &&
                               job.options.repeats <= 1;
    }
    if (job.options.importance)
        MRC_TRY(mrc_importance_check(job.result->metric, rows, job.precomputed,
                                     job.scoring.together, err));
    job.result->count = tested ? 1 : folds.count;
    MRC_TRY(mrc_alloc(&job.result->folds, job.result->count, sizeof *job.result->folds, err));
    MRC_TRY(mrc_job_start(&job, job.result->count * (job.fits + 1) + (choose ? job.fits : 0), err));
    MRC_TRY(tested ? run_test(&job, err) : run_folds(&job, err));
    mrc_notices_tell(ctx, job.result, !tested);
    MRC_TRY(summarise(&job, err));
    if (choose)
        MRC_TRY(mrc_tune_all(&job, err));
    if (job.options.importance)
        MRC_TRY(mrc_importance_summarise(job.result, rows, err));
    MRC_TRY(mrc_check_cancel(ctx, err));
out:
    rc = mrc_job_conclude(&job, rc, err);
    rc = mrc_comm_agree(ctx, rc, err);
    if (rc == MERCER_OK) {
        *out = job.result;
        job.result = NULL;
    }
    mrc_job_destroy(&job);
    mrc_folds_destroy(&folds);
    return mrc_ctx_leave(ctx, rc, err);
}
