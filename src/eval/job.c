/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and checking a call of mercer_evaluate, and what its folds share while they run. */
#include "eval/job.h"

#include "base/comm.h"
#include "base/hash.h"
#include "data/checksum.h"
#include "heads/heads.h"
#include "methods/common/options.h"
#include "methods/common/registry.h"
#include "methods/common/request.h"

#include <stdio.h>
#include <string.h>

MRC_VERSIONED(evaluate_options, )

/* ---- what is judged ---- */

/* Rows that can be judged without labels, by columns predicted from others: dense ones that have
 * other columns, and a method that does not want labels of its own. */
static bool has_columns(const mrc_job *job, const mrc_method *method)
{
    return job->rows->d > 1 && !mercer_rows_is_sparse(job->rows) && !job->precomputed &&
           !method->default_head;
}

/* Rows that are scaled one by one know of the columns that are to be predicted. */
static bool scales_rows(const mrc_job *job)
{
    return job->scale == MRC_SCALE_UNIT || job->scale == MRC_SCALE_ROWSTANDARD;
}

/* What is to be predicted, and by which metric it is judged. */
static mercer_status decide_metric(mrc_job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    const mercer_fit_options *fit = &job->fit;
    const mrc_method *method;
    mrc_head_choice head = {0};
    mrc_map_params map;
    const char *name = job->options.metric;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_method_find(fit->method, &method, err));
    MRC_TRY(mrc_map_parse(fit->map, &map, err));
    MRC_TRY(mrc_head_find(fit->head ? fit->head : method->default_head, &head, err));
    if (!head.def && job->options.predictions)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.advice_key = "head", .advice_value = "ls"),
                    "nothing is predicted: name a head that does, for example ls");
    if (!head.def) {
        if (!name)
            name = has_columns(job, method) && !job->options.importance ? "structure"
                                                                        : "reconstruction";
        MRC_TRY(mrc_metric_find(name, MERCER_TARGET_NONE, 0, &result->metric, err));
        bool of_columns =
            result->metric->of == MRC_OF_COLUMNS || result->metric->of == MRC_OF_STRUCTURE;
        if (of_columns && !has_columns(job, method))
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "metric %s needs dense rows of two columns at least, and a method that "
                     "does not learn from labels",
                     result->metric->name);
        if (result->metric->of == MRC_OF_COLUMNS && map.steps > 0)
            MRC_FAIL_AT(
                err, MERCER_ERR_ARGUMENT,
                MRC_AT(.key = "map metric", .advice_key = "metric", .advice_value = "structure"),
                "metric columns predicts columns from others, and a map is learnt from "
                "labels: use metric structure, or no map");
        if (result->metric->of == MRC_OF_COLUMNS && scales_rows(job))
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT,
                        MRC_AT(.advice_key = "metric", .advice_value = "structure"),
                        "metric columns predicts columns from others, and rows scaled one by one "
                        "know of them: use metric structure");
        if (job->precomputed && job->options.test)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "kernel precomputed: k(x,x) of the test rows is not known; hold rows out by "
                     "folds or splits instead");
        job->targets = method->default_head || map.steps > 0 ? job->targets : NULL;
        goto out;
    }
    if (!job->targets || job->targets->kind == MERCER_TARGET_NONE)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "there are no labels or targets to predict");
    result->kind = job->targets->kind;
    bool classes = result->kind == MERCER_TARGET_CLASSES;
    result->outputs = classes ? job->targets->classes : job->targets->columns;
    MRC_TRY(mrc_metric_find(name, result->kind, result->outputs, &result->metric, err));
    if (job->options.predictions == MERCER_PREDICTIONS_RANKED && !(classes && result->outputs == 2))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "a ROC curve is of two classes, not of %s",
                 classes ? "more" : "values");
out:
    mrc_head_choice_destroy(&head);
    return rc;
}

/* The class that rankings look for: the one named, or the second. */
static mercer_status find_positive(mrc_job *job, mercer_error *err)
{
    mercer_evaluation *result = job->result;
    const char *name = job->options.positive;
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

/* ---- what is tried ---- */

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

/* A key that lacks its kind, "sigma=1,2": name the kind that has it. */
static mercer_status check_keys(const mrc_job *job, mercer_error *err)
{
    static const char *const kinds[] = {"kernel", "method", "head"};
    mercer_status rc = MERCER_OK;
    char *longer = NULL;
    for (int64_t t = 0; t < job->options.tune_count; t++) {
        const char *text = job->options.tune[t], *equals = strchr(text, '=');
        const size_t length = strcspn(text, "=");
        if (!equals || memchr(text, '.', length) || strncmp(text, "components=", 11) == 0 ||
            strncmp(text, "kernel=", 7) == 0)
            continue;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const size_t size = strlen(text) + 16;
            mrc_free(longer);
            longer = NULL;
            MRC_TRY(mrc_alloc(&longer, (int64_t)size, 1, err));
            snprintf(longer, size, "%s.%s", kinds[k], text);
            if (mercer_fit_options_can_tune(&job->fit, longer))
                MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                         "tune: '%.*s' is not components, kernel, method.KEY, kernel.KEY or "
                         "head.KEY; did you mean %.200s?",
                         (int)length, text, longer);
        }
    }
out:
    mrc_free(longer);
    return rc;
}

/* What is tried, all of it known to make sense before the first fit. */
static mercer_status make_choices(mrc_job *job, mercer_error *err)
{
    mrc_grid *grid = &job->result->grid;
    const mrc_method *method;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_method_find(job->fit.method, &method, err));
    MRC_TRY(check_keys(job, err));
    MRC_TRY(make_grid(&job->fit, job->options.tune, job->options.tune_count, grid, err));
    job->streaming = method->streaming != NULL;
    MRC_TRY(mrc_scale_parse(job->fit.scale, &job->scale, err));
    for (int64_t c = 0; c < grid->count; c++) {
        mrc_kernel parsed;
        MRC_TRY(check_choice(job->ctx, &job->fit, &grid->choices[c], err));
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
out:
    return rc;
}

/* ---- the call ---- */

/* Groups, and rows in the order of time: whether folds can be made of them. */
static mercer_status check_order(const mrc_job *job, mercer_error *err)
{
    const mercer_evaluate_options *options = &job->options;
    const mercer_targets *targets = job->targets;
    int64_t n = job->rows->n, count, in_two;
    bool classes = targets && targets->kind == MERCER_TARGET_CLASSES;
    mercer_status rc = MERCER_OK;
    if (options->ordered && options->groups)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "groups"),
                    "rows in the order of time cannot be kept in groups, too");
    if (options->ordered && (options->repeats > 1 || options->folds == MERCER_LEAVE_ONE_OUT))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "rows in the order of time have folds that cannot be drawn again, nor hold one "
                 "row out");
    if (options->ordered && (options->splits || options->test) && !mrc_job_is_tuned(job))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "rows in the order of time need folds to hold out later ones");
    if (!options->groups)
        goto out;
    if (options->test && !mrc_job_is_tuned(job))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "groups"),
                    "groups are kept within folds, and with test rows there are none");
    for (int64_t i = 0; i < n; i++)
        if (options->groups[i] < 0 || options->groups[i] >= n)
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "groups", .row = i + 1),
                        "groups: row %lld has %lld, which is not from 0 to %lld", (long long)i + 1,
                        (long long)options->groups[i], (long long)n - 1);
    mrc_fold_plan plan = {.n = n,
                          .codes = classes ? targets->codes : NULL,
                          .classes = classes ? targets->classes : 0,
                          .groups = options->groups};
    MRC_TRY(mrc_groups_count(&plan, &count, classes ? &in_two : NULL, err));
    if (count < 2)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "groups"),
                    "all rows are of one group: none can be held out");
    if (classes && in_two < 2)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "groups"),
                    "%s in one group only: what is held out cannot be learnt",
                    in_two == 0 ? "each class is" : "all classes but one are");
out:
    return rc;
}

static mercer_status check_call(const mrc_job *job, mercer_error *err)
{
    const mercer_evaluate_options *options = &job->options;
    const mercer_targets *targets = job->targets;
    if (!job->fit.method)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "evaluate: no method given");
    if ((options->folds != 0) + (options->splits != 0) + (options->test != NULL) > 1)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "folds, splits and test rows: only one of them can be used");
    if (options->inner_folds == 1 || options->inner_folds < 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "inner folds: %lld, at least 2 are needed",
                        (long long)options->inner_folds);
    if (job->fit.want_features)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "want_features"),
                           "want_features: an evaluation has no features to hand over");
    mercer_status rc = mrc_options_refuse(&job->fit, MERCER_CALL_EVALUATE, err);
    if (rc != MERCER_OK)
        return rc;
    if (targets && targets->kind != MERCER_TARGET_NONE && targets->n != job->rows->n)
        return mrc_fail(err, MERCER_ERR_DATA, "targets of %lld rows for %lld rows",
                        (long long)targets->n, (long long)job->rows->n);
    return MERCER_OK;
}

mercer_status mrc_job_init(mrc_job *job, mercer_ctx *ctx, const mercer_evaluate_options *given,
                           const mercer_rows *rows, const mercer_targets *targets,
                           mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *job = (mrc_job){.ctx = ctx, .rows = rows, .targets = targets, .start = ctx->rng};
    mercer_evaluate_options_init(&job->options);
    mercer_fit_options_init(&job->fit);
    MRC_TRY(mrc_options_import("evaluate", given, &job->options, sizeof job->options, err));
    MRC_TRY(mrc_options_import("fit", job->options.fit, &job->fit, sizeof job->fit, err));
    MRC_TRY(check_call(job, err));
    job->fit.novelty = 0; /* what else rows held out say costs a fit more, and changes no score */
    job->fit.intervals = job->fit.keep = NULL;
    job->fit.groups = NULL;
    if (targets && targets->kind == MERCER_TARGET_NONE)
        job->targets = NULL;
    job->inner_folds = job->options.inner_folds;
    const char *rule = job->options.tune_rule ? job->options.tune_rule : "best";
    const int index = mrc_text_cell_find(MRC_RULES, rule, strlen(rule));
    if (index < 0)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune rule '%s' is neither best nor 1se", rule);
    job->rule = (mrc_rule)index;
    MRC_TRY(mrc_alloc(&job->result, 1, sizeof *job->result, err));
    MRC_TRY(make_choices(job, err));
    MRC_TRY(decide_metric(job, err));
    if (job->result->metric->of == MRC_OF_COLUMNS) /* which are not all there in a fit */
        memset(job->wanted, 0, sizeof job->wanted);
    MRC_TRY(find_positive(job, err));
    MRC_TRY(check_order(job, err));
    job->inner_most = job->inner_folds ? job->inner_folds : MRC_USUAL_FOLDS;
    job->scoring.metric = job->result->metric;
    job->scoring.targets = job->targets;
    job->scoring.outputs = job->result->outputs;
    job->scoring.positive = job->result->positive;
    if (mrc_job_is_tuned(job))
        job->fits = job->result->grid.count * job->inner_most;
out:
    return rc;
}

void mrc_job_destroy(mrc_job *job)
{
    for (int w = 0; job->workers && w < job->ctx->threads; w++)
        mercer_ctx_free(job->workers[w]);
    mrc_free(job->workers);
    mrc_free(job->todo);
    mrc_outcomes_destroy(&job->ahead);
    mrc_journal_close(&job->journal);
    mrc_pair_cache_destroy(&job->known);
    mercer_evaluation_free(job->result);
}

/* ---- ranks ---- */

static uint64_t hash_targets(uint64_t hash, const mercer_targets *targets)
{
    if (!targets || targets->kind == MERCER_TARGET_NONE)
        return mrc_hash(hash, "", 0);
    const int64_t shape[] = {targets->kind, targets->n, targets->classes, targets->columns};
    hash = mrc_hash(hash, shape, sizeof shape);
    if (targets->kind == MERCER_TARGET_CLASSES)
        hash = mrc_hash(hash, targets->codes, targets->n * (int64_t)sizeof *targets->codes);
    else
        hash = mrc_hash(hash, targets->values,
                        targets->n * targets->columns * (int64_t)sizeof *targets->values);
    for (int64_t c = 0; c < targets->classes && targets->class_names; c++)
        hash = mrc_hash_text(hash, targets->class_names[c]);
    return hash;
}

/* A number that tells this job from all that could come to another result. */
static mercer_status hash_job(const mrc_job *job, uint64_t *out, mercer_error *err)
{
    const mercer_evaluate_options *options = &job->options;
    const mrc_grid *grid = &job->result->grid;
    const int64_t numbers[] = {options->folds,       options->repeats, options->splits,
                               options->ordered,     options->choose,  options->importance,
                               options->predictions, job->inner_folds, (int64_t)job->rule,
                               job->result->positive};
    uint64_t hash = mrc_hash_text(0, MERCER_VERSION);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_rows_hash(job->rows, &hash, err));
    hash = hash_targets(hash, job->targets);
    if (options->test)
        MRC_TRY(mrc_rows_hash(options->test, &hash, err));
    hash = hash_targets(hash, options->test_targets);
    hash = mrc_hash(hash, numbers, sizeof numbers);
    if (options->splits) {
        hash = mrc_hash(hash, options->split_start, (options->splits + 1) * (int64_t)sizeof hash);
        hash = mrc_hash(hash, options->split_rows,
                        options->split_start[options->splits] * (int64_t)sizeof hash);
    }
    if (options->groups)
        hash = mrc_hash(hash, options->groups, job->rows->n * (int64_t)sizeof *options->groups);
    hash = mrc_hash_text(hash, job->result->metric->name);
    const uint64_t fit = mrc_options_hash(&job->fit);
    hash = mrc_hash(hash, &fit, sizeof fit);
    for (int64_t c = 0; c < grid->count; c++) {
        hash = mrc_hash_text(hash, grid->choices[c].method);
        hash = mrc_hash_text(hash, grid->choices[c].kernel);
        hash = mrc_hash_text(hash, grid->choices[c].head);
    }
    hash = mrc_hash(hash, grid->components,
                    grid->components_count * (int64_t)sizeof *grid->components);
    hash = mrc_hash(hash, &job->ctx->seed, sizeof job->ctx->seed);
    *out = mrc_hash(hash, job->start.s, sizeof job->start.s);
out:
    return rc;
}

/* The same work, and the same answer to what fits into memory: the smallest of all ranks. */
static mercer_status agree_on_job(mrc_job *job, mercer_error *err)
{
    mercer_ctx *ctx = job->ctx;
    uint64_t first;
    mercer_status rc = MERCER_OK;
    job->memory = mercer_ctx_memory(ctx);
    job->share = job->memory / ctx->threads;
    if (mercer_ctx_ranks(ctx) == 1 && !job->options.journal)
        return rc;
    MRC_TRY(hash_job(job, &job->key, err));
    first = job->key;
    MRC_TRY(mrc_comm_broadcast(ctx, &first, sizeof first, err));
    if (first != job->key)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the rows, the options or the seed are not those of rank 0: every rank must read "
                 "the same data");
    double memory = -(double)job->memory, share = -(double)job->share;
    MRC_TRY(mrc_comm_largest(ctx, &memory, err));
    MRC_TRY(mrc_comm_largest(ctx, &share, err));
    job->memory = (int64_t)-memory;
    job->share = (int64_t)-share;
out:
    return rc;
}

/* Trials of other BLAS kernels than those of rank 0 would mix two kinds of last digits. */
static mercer_status open_journal(mrc_job *job, mercer_error *err)
{
    const int64_t count = job->result->count;
    const int64_t counts[MRC_JOURNAL_KINDS] = {[MRC_OF_TRIAL] = (count + 1) * job->inner_most *
                                                                job->result->grid.count,
                                               [MRC_OF_FOLD] = job->folds ? count : 0};
    mercer_status rc = MERCER_OK;
    if (!job->options.journal)
        return rc;
    uint64_t key = mrc_hash_text(job->key, mercer_blas_kernels());
    MRC_TRY(mrc_comm_broadcast(job->ctx, &key, sizeof key, err));
    MRC_TRY(mrc_journal_open(&job->journal, job->ctx, job->options.journal, key, counts, err));
out:
    return rc;
}

int64_t mrc_job_dealt(const mrc_job *job, int64_t count)
{
    const int rank = mercer_ctx_rank(job->ctx), ranks = mercer_ctx_ranks(job->ctx);
    return count > rank ? (count - rank - 1) / ranks + 1 : 0;
}

int64_t mrc_job_piece(const mrc_job *job, int64_t k)
{
    return k * mercer_ctx_ranks(job->ctx) + mercer_ctx_rank(job->ctx);
}

mercer_status mrc_job_start(mrc_job *job, int64_t steps, mercer_error *err)
{
    mercer_ctx *ctx = job->ctx;
    mercer_status rc = MERCER_OK;
    job->steps = mrc_job_dealt(job, steps);
    MRC_TRY(agree_on_job(job, err));
    MRC_TRY(open_journal(job, err));
    MRC_TRY(mrc_alloc(&job->workers, ctx->threads, sizeof *job->workers, err));
    for (int w = 0; w < ctx->threads; w++) {
        MRC_TRY(mercer_ctx_new(&job->workers[w], err));
        mrc_ctx_inherit(job->workers[w], ctx);
        job->workers[w]->threads = 1;
        job->workers[w]->budget = job->share;
    }
    if (job->scale == MRC_SCALE_NONE && !job->streaming &&
        mrc_job_pairs_pay(job, job->memory, job->rows, steps)) {
        MRC_TRY(mrc_pair_cache_init(&job->known, ctx, job->rows, MRC_SCALE_NONE, NULL, job->wanted,
                                    err));
        job->rows = &job->known.rows;
    }
    mrc_progress(ctx, "fits", 0);
out:
    return rc;
}

mrc_fold_plan mrc_job_plan(const mrc_job *job, const mrc_fold_rows *portion, int64_t count,
                           int64_t repeats)
{
    const mercer_targets *targets = portion->targets;
    return (mrc_fold_plan){.n = portion->rows->n,
                           .codes = targets ? targets->codes : NULL,
                           .classes = targets ? targets->classes : 0,
                           .groups = portion->groups,
                           .ordered = job->options.ordered != 0,
                           .count = count,
                           .repeats = repeats};
}

bool mrc_job_is_tuned(const mrc_job *job)
{
    return mrc_grid_cells(&job->result->grid) > 1;
}

mrc_fold_rows mrc_job_rows(const mrc_job *job)
{
    return (mrc_fold_rows){.rows = (mercer_rows *)job->rows,
                           .targets = (mercer_targets *)job->targets,
                           .groups = (int64_t *)job->options.groups};
}

/* ---- the end of a run that has failed ---- */

void mrc_job_end(mrc_job *job, int64_t fold, mercer_status rc, const mercer_error *why)
{
    if ((rc != MERCER_ERR_MEMORY && rc != MERCER_ERR_IO) || atomic_exchange(&job->ended, true))
        return;
    mrc_fail_again(&job->why, rc, why);
    job->why_fold = fold;
    mrc_ctx_stop(job->ctx, true);
}

mercer_status mrc_job_conclude(mrc_job *job, mercer_status rc, mercer_error *err)
{
    if (!atomic_load(&job->ended))
        return rc;
    mrc_ctx_stop(job->ctx, false);
    if (rc != MERCER_ERR_PEER)
        return rc;
    if (job->folds && job->why_fold < job->result->count)
        return mrc_job_fail_fold(job->why_fold, job->why.code, &job->why, err);
    return mrc_fail_again(err, job->why.code, &job->why); /* of all rows */
}

bool mrc_job_is_final(const mrc_job *job, mercer_status rc)
{
    const bool tried_again = rc == MERCER_ERR_BUDGET && job->ctx->threads > 1 && !job->large;
    return rc != MERCER_OK && !tried_again;
}

mercer_status mrc_job_fail_fold(int64_t f, mercer_status rc, const mercer_error *why,
                                mercer_error *err)
{
    const char *text = why ? why->text : mercer_status_text(rc);
    mrc_at at = why ? mrc_at_of(why) : (mrc_at){0};
    if (mrc_is_end(rc))
        return mrc_fail_at(err, rc, &at, "%s", text);
    const bool within = at.row > 0;
    at.row = 0; /* of the fold: not one of the rows given */
    return mrc_fail_at(err, rc, &at, "fold %lld: %.450s%s", (long long)f + 1, text,
                       within ? " (rows counted within the fold)" : "");
}

/* ---- while it runs ---- */

/* Only the calling thread, whose context is the first, may talk to the host. */
void mrc_job_count_step(mrc_job *job, const mercer_ctx *ctx)
{
    long long done = atomic_fetch_add(&job->done, 1) + 1;
    if (ctx == job->ctx || ctx == job->workers[0])
        mrc_progress(job->ctx, "fits", done < job->steps ? (double)done / (double)job->steps : 1);
}

mercer_status mrc_job_reserve(const mrc_job *job, int64_t n, double **scores, int64_t **codes,
                              mercer_error *err)
{
    const mercer_evaluation *result = job->result;
    mercer_status rc = MERCER_OK;
    if (result->kind == MERCER_TARGET_NONE)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2(scores, n, result->outputs, sizeof **scores, err));
    if (result->kind == MERCER_TARGET_CLASSES)
        MRC_TRY(mrc_alloc(codes, n, sizeof **codes, err));
out:
    return rc;
}

bool mrc_job_pairs_pay(const mrc_job *job, int64_t memory, const mercer_rows *rows, int64_t fits)
{
    enum { MIN_FITS = 4, MIN_COLUMNS = 8, MAX_ROWS = 4096 }; /* beyond: n^2 may not be needed */
    double bytes = mrc_pairs_bytes(rows->n, job->wanted);
    return bytes > 0 && bytes <= (double)memory / 4 && fits >= MIN_FITS && rows->d > MIN_COLUMNS &&
           rows->n <= MAX_ROWS && !mercer_rows_is_sparse(rows) && !job->precomputed &&
           rows->gap_count == 0; /* gaps are filled anew in each fold */
}
