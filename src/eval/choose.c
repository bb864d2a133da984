/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of what is tuned, by inner folds of the rows at hand.
 *
 * An inner fold is a task of its own, whose random state depends on the seed and the fold alone:
 * every cell of the grid is fitted to the same rows with the same draws, so that cells can be
 * compared, and results depend on neither the number of threads nor that of ranks. Inner folds of
 * all rows are dealt to the ranks here; those of folds are tried ahead, for all folds at once. */
#include "eval/job.h"

#include "base/comm.h"

#include <math.h>
#include <stdio.h>

/* What an inner fold came to. */
struct inner_fold {
    uint64_t seed;
    bool known;       /* from a record: not to be tried */
    mercer_status rc; /* of the fold as a whole, and */
    mercer_error err; /* why */
    bool *failed;     /* choices that cannot be fitted */
    mercer_status first_rc;
    mercer_error first; /* why not, of the first of them */
};

struct choosing {
    mrc_job *job;
    int64_t fold; /* whose rows they are */
    mercer_ctx *ctx;
    const mrc_fold_rows *rows;
    mrc_folds inner;
    struct inner_fold *folds;
    mrc_scores *scores;
    atomic_bool failed; /* an inner fold has; those after it need not be tried */
};

static void set_failed(struct inner_fold *fold, int64_t choice, mercer_status rc,
                       const mercer_error *why)
{
    fold->failed[choice] = true;
    if (fold->first_rc == MERCER_OK) {
        fold->first = *why;
        fold->first_rc = rc;
    }
}

/* A choice may not suit the rows of an inner fold (too few of a class for nu, a width that makes
 * all rows equal): it cannot be chosen then. What has to do with the call or the machine ends the
 * run. */
static mercer_status note_failure(struct inner_fold *fold, const mrc_grid *grid, int64_t choice,
                                  mercer_status rc, mercer_error *err)
{
    if (grid->count > 1 && !mrc_is_end(rc))
        mrc_fail_within(err, rc, NULL, "%.100s: ", grid->choices[choice].text);
    if (rc != MERCER_ERR_DATA && rc != MERCER_ERR_NUMERIC)
        return rc;
    set_failed(fold, choice, rc, err);
    return MERCER_OK;
}

/* ---- the journal ---- */

/* A trial is known by the status of its fit, why, and a value per number of components. With more
 * memory than its share a trial may come to other digits, so that these are neither found nor kept.
 */
static mercer_status find_trial(const mrc_job *job, int64_t index, int64_t choice, int64_t numbers,
                                struct inner_fold *fold, double *values, bool *found,
                                mercer_error *err)
{
    mrc_reading from;
    mercer_error why;
    mercer_status failed_with, rc = MERCER_OK;
    *found = !job->large && mrc_journal_find(&job->journal, MRC_OF_TRIAL, index, &from);
    if (!*found)
        return rc;
    MRC_TRY(mrc_record_get_error(&from, &failed_with, &why, err));
    MRC_TRY(mrc_record_get(&from, values, numbers * (int64_t)sizeof *values, err));
    if (failed_with != MERCER_OK)
        set_failed(fold, choice, failed_with, &why);
out:
    return rc;
}

static mercer_status keep_trial(mrc_job *job, int64_t index, mercer_status failed_with,
                                const mercer_error *why, const double *values, int64_t numbers,
                                mercer_error *err)
{
    mrc_record record = {0};
    mercer_status rc = MERCER_OK;
    if (!job->journal.path || job->large)
        return rc;
    MRC_TRY(mrc_record_put_error(&record, failed_with, why, err));
    MRC_TRY(mrc_record_put(&record, values, numbers * (int64_t)sizeof *values, err));
    MRC_TRY(mrc_journal_keep(&job->journal, MRC_OF_TRIAL, index, &record, err));
out:
    mrc_record_destroy(&record);
    return rc;
}

bool mrc_choose_is_known(const mrc_job *job, int64_t fold, int64_t inner)
{
    const int64_t choices = job->result->grid.count;
    mrc_reading from;
    for (int64_t c = 0; c < choices; c++)
        if (!mrc_journal_find(&job->journal, MRC_OF_TRIAL,
                              (fold * job->inner_most + inner) * choices + c, &from))
            return false;
    return true;
}

/* ---- an inner fold ---- */

/* Every choice on one inner fold; values: a row of the scores; first: its first trial in the
 * journal. */
static mercer_status try_choices(mercer_ctx *ctx, mrc_job *job, const mrc_fold_rows *all,
                                 const mrc_split *split, const mrc_trial *given, int64_t first,
                                 struct inner_fold *fold, double *values, mercer_error *err)
{
    const mrc_grid *grid = &job->result->grid;
    mrc_trial trial = *given; /* which gets the rows of this call */
    mrc_pair_cache known = {0};
    mrc_fold_rows learn = {0}, held = {0};
    mrc_kept_features *kept = NULL; /* one per number */
    mercer_error why;
    const mercer_rows *rows = all->rows;
    mercer_status rc = MERCER_OK;
    if (!rows->pairs && !job->streaming &&
        mrc_job_pairs_pay(job, mercer_ctx_memory(ctx), rows, grid->count)) {
        MRC_TRY(mrc_pair_cache_init(&known, ctx, rows, job->scale, split, job->wanted, err));
        rows = &known.rows;
        trial.scaled = true;
    }
    MRC_TRY(mrc_fold_rows_take(rows, all->targets, all->groups, job->precomputed, split, &learn,
                               &held, err));
    trial.train = &learn;
    trial.test = &held;
    if (grid->heads)
        MRC_TRY(mrc_alloc(&kept, trial.count, sizeof *kept, err));
    trial.kept = kept;
    for (int64_t c = 0; c < grid->count; c++) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        trial.choice = &grid->choices[c];
        trial.values = values + c * trial.count;
        bool found;
        MRC_TRY(find_trial(job, first + c, c, trial.count, fold, trial.values, &found, err));
        if (!found) {
            const mercer_status outcome = mrc_trial_run(ctx, &trial, &why);
            if (outcome != MERCER_OK)
                rc = note_failure(fold, grid, c, outcome, &why);
            if (rc != MERCER_OK)
                MRC_TRY(mrc_fail_again(err, rc, &why));
            MRC_TRY(keep_trial(job, first + c, outcome, &why, trial.values, trial.count, err));
        }
        mrc_job_count_step(job, ctx);
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

static mercer_status try_fold(mercer_ctx *ctx, struct choosing *choosing, int64_t f,
                              mercer_error *err)
{
    mrc_job *job = choosing->job;
    const mrc_grid *grid = &job->result->grid;
    const mrc_folds *inner = &choosing->inner;
    static const double as_given = 0;
    mrc_rng start;
    mrc_scoring scoring = job->scoring;
    mrc_trial trial = {.fit = &job->fit,
                       .scoring = &scoring,
                       .numbers = grid->components ? grid->components : &as_given,
                       .count = mrc_grid_numbers(grid),
                       .start = &start};
    int64_t *rest = NULL;
    mercer_status rc = MERCER_OK;
    scoring.together = false; /* inner folds have more rows than one */
    mrc_rng_seed(&start, choosing->folds[f].seed);
    MRC_TRY(mrc_alloc(&rest, inner->n, sizeof *rest, err));
    MRC_TRY(mrc_job_reserve(job, inner->n, &trial.scores, &trial.codes, err));
    mrc_split split = {.learn = rest,
                       .learn_count = mrc_folds_rest(inner, f, rest),
                       .held = inner->rows + inner->start[f],
                       .held_count = inner->start[f + 1] - inner->start[f]};
    MRC_TRY(try_choices(ctx, job, choosing->rows, &split, &trial,
                        (choosing->fold * job->inner_most + f) * grid->count, &choosing->folds[f],
                        choosing->scores->values + f * choosing->scores->cells, err));
out:
    mrc_free(rest);
    mrc_free(trial.scores);
    mrc_free(trial.codes);
    return rc;
}

/* A worker tries all inner folds of its fold; those of all rows are dealt to the ranks. The first
 * error is told. Several ranks find out which that is when all have tried theirs; else folds are
 * begun in their order, and none after one that has failed. */
static void fold_task(void *arg, int64_t task, int worker)
{
    struct choosing *choosing = arg;
    mrc_job *job = choosing->job;
    mercer_ctx *ctx = choosing->ctx;
    int64_t f = task;
    if (ctx == job->ctx) {
        ctx = job->workers[worker];
        mercer_ctx_set_seed(ctx, job->ctx->seed);
        f = mrc_job_piece(job, task);
    }
    struct inner_fold *fold = &choosing->folds[f];
    if (fold->known || atomic_load(&choosing->failed))
        return;
    fold->rc = try_fold(ctx, choosing, f, &fold->err);
    mrc_job_end(job, choosing->fold, fold->rc, &fold->err);
    if (mrc_job_is_final(job, fold->rc) && mercer_ctx_ranks(choosing->ctx) == 1)
        atomic_store(&choosing->failed, true);
}

/* Folds that did not fit a worker's share of the memory have all of it, one after the other. */
static void run_large_folds(struct choosing *choosing)
{
    mrc_job *job = choosing->job;
    if (choosing->ctx != job->ctx || job->ctx->threads == 1)
        return;
    job->workers[0]->budget = job->memory;
    job->large = true;
    atomic_store(&choosing->failed, false);
    for (int64_t k = 0; k < mrc_job_dealt(job, choosing->inner.count); k++) {
        const struct inner_fold *fold = &choosing->folds[mrc_job_piece(job, k)];
        if (fold->rc == MERCER_ERR_BUDGET && mrc_check_cancel(job->ctx, NULL) == MERCER_OK)
            fold_task(choosing, k, 0);
        if (fold->rc != MERCER_OK && mercer_ctx_ranks(job->ctx) == 1)
            break; /* that is told */
    }
    job->large = false;
    job->workers[0]->budget = job->share;
}

/* Folds of the rows. Where groups are fewer than the usual number of folds, there are as many folds
 * as groups, unless the caller asked for a number. */
static mercer_status draw_folds(mercer_ctx *ctx, const mrc_job *job, const mrc_fold_rows *rows,
                                mrc_folds *out, mercer_error *err)
{
    int64_t n = rows->rows->n, count = job->inner_most;
    int64_t pieces = n - (job->options.ordered != 0);
    mercer_status rc = MERCER_OK;
    mrc_fold_plan plan = mrc_job_plan(job, rows, count, 1);
    if (plan.groups)
        MRC_TRY(mrc_groups_count(&plan, &pieces, NULL, err));
    if (plan.groups && !job->inner_folds && pieces < count)
        plan.count = count = pieces;
    if (pieces < count || pieces < 2)
        MRC_FAIL_AT(
            err, MERCER_ERR_DATA, MRC_AT(.key = "inner"),
            "%lld training %s%s cannot be split into %lld inner folds for tuning: ask for fewer",
            (long long)(plan.groups ? pieces : n), plan.groups ? "group" : "row",
            (plan.groups ? pieces : n) == 1 ? "" : "s", (long long)(count < 2 ? 2 : count));
    MRC_TRY(mrc_folds_draw(ctx, &plan, out, err));
out:
    return rc;
}

/* Which cells are left, when some cannot be fitted. */
static mercer_status leave_out(const struct choosing *choosing, const mrc_grid *grid,
                               mercer_notice *left_out, mercer_error *err)
{
    const struct inner_fold *first = NULL;
    int64_t numbers = mrc_grid_numbers(grid), failed = 0;
    left_out->text[0] = 0;
    for (int64_t c = 0; c < grid->count; c++) {
        bool fails = false;
        for (int64_t f = 0; f < choosing->inner.count; f++)
            fails |= choosing->folds[f].failed[c];
        for (int64_t k = 0; k < numbers; k++)
            choosing->scores->failed[c * numbers + k] = fails;
        failed += fails;
    }
    for (int64_t f = 0; f < choosing->inner.count && !first; f++)
        if (choosing->folds[f].first_rc != MERCER_OK)
            first = &choosing->folds[f];
    if (!first)
        return MERCER_OK;
    if (failed == grid->count)
        return mrc_fail_again(err, first->first_rc, &first->first);
    *left_out = first->first;
    /* counted with the numbers, like mercer_evaluation_info.choices */
    mrc_fail_within(left_out, MERCER_OK, NULL,
                    "tune: %lld of %lld choices cannot be fitted, and are left out: ",
                    (long long)(failed * numbers), (long long)mrc_grid_cells(grid));
    return MERCER_OK;
}

/* ---- records ---- */

static mercer_status put_fold(const struct choosing *choosing, int64_t f, mrc_record *out,
                              mercer_error *err)
{
    const struct inner_fold *fold = &choosing->folds[f];
    const int64_t cells = choosing->scores->cells;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_record_put_error(out, fold->rc, &fold->err, err));
    MRC_TRY(mrc_record_put_error(out, fold->first_rc, &fold->first, err));
    MRC_TRY(mrc_record_put(out, fold->failed, choosing->job->result->grid.count, err));
    MRC_TRY(mrc_record_put(out, choosing->scores->values + f * cells,
                           cells * (int64_t)sizeof(double), err));
out:
    return rc;
}

static mercer_status get_fold(const struct choosing *choosing, int64_t f, mrc_reading from,
                              mercer_error *err)
{
    struct inner_fold *fold = &choosing->folds[f];
    const int64_t cells = choosing->scores->cells;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_record_get_error(&from, &fold->rc, &fold->err, err));
    MRC_TRY(mrc_record_get_error(&from, &fold->first_rc, &fold->first, err));
    MRC_TRY(mrc_record_get(&from, fold->failed, choosing->job->result->grid.count, err));
    MRC_TRY(mrc_record_get(&from, choosing->scores->values + f * cells,
                           cells * (int64_t)sizeof(double), err));
    fold->known = true;
out:
    return rc;
}

/* What the inner folds of all rows came to, from the ranks that have tried them. */
static mercer_status share_folds(const struct choosing *choosing, mercer_error *err)
{
    const mrc_job *job = choosing->job;
    const int64_t folds = choosing->inner.count;
    mrc_outcomes outcomes = {0};
    mercer_status rc = MERCER_OK;
    if (mercer_ctx_ranks(job->ctx) == 1)
        return rc;
    MRC_TRY(mrc_outcomes_init(&outcomes, folds, err));
    for (int64_t k = 0; k < mrc_job_dealt(job, folds); k++) {
        int64_t f = mrc_job_piece(job, k);
        MRC_TRY(put_fold(choosing, f, &outcomes.pieces[f], err));
    }
    MRC_TRY(mrc_outcomes_share(job->ctx, &outcomes, err));
    for (int64_t f = 0; f < folds; f++) {
        mrc_reading from = {0};
        (void)mrc_outcomes_find(&outcomes, f, &from);
        MRC_TRY(get_fold(choosing, f, from, err));
    }
out:
    mrc_outcomes_destroy(&outcomes);
    return rc;
}

/* ---- the choice ---- */

/* Folds of the rows, and seeds of their own. */
static mercer_status begin(struct choosing *choosing, mercer_error *err)
{
    const mrc_grid *grid = &choosing->job->result->grid;
    mercer_ctx *ctx = choosing->ctx;
    mercer_status rc = MERCER_OK;
    MRC_TRY(draw_folds(ctx, choosing->job, choosing->rows, &choosing->inner, err));
    int64_t folds = choosing->inner.count;
    MRC_TRY(mrc_scores_init(choosing->scores, folds, mrc_grid_cells(grid), err));
    MRC_TRY(mrc_alloc(&choosing->folds, folds, sizeof *choosing->folds, err));
    mrc_rng seeds = ctx->rng;
    for (int64_t f = 0; f < folds; f++) {
        choosing->folds[f].seed = mrc_rng_next(&seeds);
        MRC_TRY(mrc_alloc(&choosing->folds[f].failed, grid->count, sizeof(bool), err));
    }
out:
    return rc;
}

static void end(struct choosing *choosing)
{
    for (int64_t f = 0; choosing->folds && f < choosing->inner.count; f++)
        mrc_free(choosing->folds[f].failed);
    mrc_free(choosing->folds);
    mrc_folds_destroy(&choosing->inner);
}

mercer_status mrc_choose_ahead(mercer_ctx *ctx, mrc_job *job, const mrc_fold_rows *rows,
                               int64_t fold, int64_t inner, mercer_error *err)
{
    mrc_record *out = &job->ahead.pieces[fold * job->inner_most + inner];
    mrc_scores scores = {0};
    struct choosing choosing = {
        .job = job, .fold = fold, .ctx = ctx, .rows = rows, .scores = &scores};
    mercer_status rc = MERCER_OK;
    MRC_TRY(begin(&choosing, err));
    if (inner >= choosing.inner.count)
        goto out;
    MRC_TRY(try_fold(ctx, &choosing, inner, err));
    MRC_TRY(put_fold(&choosing, inner, out, err));
out:
    if (rc != MERCER_OK)
        mrc_record_destroy(out);
    end(&choosing);
    mrc_scores_destroy(&scores);
    return rc;
}

mercer_status mrc_choose(mercer_ctx *ctx, mrc_job *job, const mrc_fold_rows *rows, int64_t fold,
                         mrc_scores *scores, mercer_notice *left_out, mercer_error *err)
{
    const mrc_grid *grid = &job->result->grid;
    struct choosing choosing = {
        .job = job, .fold = fold, .ctx = ctx, .rows = rows, .scores = scores};
    mercer_status rc = MERCER_OK;
    MRC_TRY(begin(&choosing, err));
    const int64_t folds = choosing.inner.count;
    for (int64_t f = 0; f < folds && !job->large; f++) {
        mrc_reading from; /* tried ahead with a share of the memory, as it would be here */
        if (mrc_outcomes_find(&job->ahead, fold * job->inner_most + f, &from))
            MRC_TRY(get_fold(&choosing, f, from, err));
    }
    mrc_comm_listen(ctx, true);
    rc = mrc_parfor_checked(ctx, ctx == job->ctx ? mrc_job_dealt(job, folds) : folds, fold_task,
                            &choosing, err);
    if (rc == MERCER_OK)
        run_large_folds(&choosing);
    mrc_comm_listen(ctx, false);
    MRC_TRY(rc == MERCER_OK ? mrc_check_cancel(ctx, err) : rc);
    if (ctx == job->ctx)
        MRC_TRY(share_folds(&choosing, err));
    for (int64_t f = 0; f < folds; f++)
        if (choosing.folds[f].rc != MERCER_OK)
            MRC_TRY(mrc_fail_again(err, choosing.folds[f].rc, &choosing.folds[f].err));
    MRC_TRY(leave_out(&choosing, grid, left_out, err));
    mrc_scores_conclude(scores, grid, job->rule, job->result->metric->larger_is_better);
    if (scores->chosen < 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "no inner fold for tuning has rows of both classes to judge a ranking by");
out:
    end(&choosing);
    return rc;
}
