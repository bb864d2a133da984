/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions for new rows: their features, then the scores of the model's head. A row gives the
 * same bits whatever stands beside it. Cost a row: its features, and what the head takes, l^2 + l o
 * at most for one that goes feature by feature. */
#include "heads/heads.h"

#include <string.h>

struct job {
    const mrc_head_def *def;
    const mrc_head *head;
    const mrc_head_query *query;
    const mrc_prefixes *prefixes;
    double *scores;
    int64_t *codes;
    double *sums; /* per worker: outputs */
};

enum { TASK_ROWS = 256 };

/* Scores of a block of rows, kept wherever a number of features is reached. */
static void predict_rows(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mrc_head *head = job->head;
    int64_t l = job->query->l, n = job->query->n, o = head->outputs;
    int64_t first = task * TASK_ROWS, left = n - first;
    int64_t end = first + (left < TASK_ROWS ? left : TASK_ROWS);
    double *sums = job->sums + worker * o;
    for (int64_t i = first; i < end; i++) {
        mrc_head_start(head, sums);
        for (int64_t p = 0, j = 0; p < job->prefixes->count; p++) {
            for (; j < job->prefixes->numbers[p]; j++)
                job->def->add_feature(head, job->query->features + i * l, l, j, sums);
            memcpy(job->scores + (p * n + i) * o, sums, (size_t)o * sizeof *sums);
            if (job->codes && head->kind == MERCER_TARGET_CLASSES)
                job->codes[p * n + i] = mrc_head_winner(sums, o);
        }
    }
}

mercer_status mrc_head_predict_prefixes(mercer_ctx *ctx, const mrc_head_choice *choice,
                                        const mrc_head *head, const mrc_head_query *query,
                                        const mrc_prefixes *prefixes, double *scores,
                                        int64_t *codes, mercer_error *err)
{
    struct job job = {choice->def, head, query, prefixes, scores, codes, NULL};
    mercer_status rc = MERCER_OK;
    if (choice->def->predict_prefixes)
        return choice->def->predict_prefixes(ctx, choice->params, head, query, prefixes, scores,
                                             codes, err);
    MRC_TRY(mrc_alloc2(&job.sums, ctx->threads, head->outputs, sizeof *job.sums, err));
    MRC_TRY(
        mrc_parfor_checked(ctx, (query->n + TASK_ROWS - 1) / TASK_ROWS, predict_rows, &job, err));
out:
    mrc_free(job.sums);
    return rc;
}

mercer_status mrc_head_predict(mercer_ctx *ctx, const mrc_head_choice *choice, const mrc_head *head,
                               const mrc_head_query *query, double *scores, int64_t *codes,
                               mercer_error *err)
{
    if (choice->def->predict)
        return choice->def->predict(ctx, choice->params, head, query, scores, codes, err);
    return mrc_head_predict_prefixes(ctx, choice, head, query, &(mrc_prefixes){&query->k, 1},
                                     scores, codes, err);
}

mercer_status mercer_model_predict(mercer_ctx *ctx, const mercer_model *model,
                                   const mercer_rows *rows, int64_t components, double *scores,
                                   int64_t *codes, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(model);
    MRC_NEED(rows);
    MRC_NEED(scores);
    int64_t l = model->components;
    mrc_head_query query = {.n = rows->n, .l = l, .k = components > 0 ? components : l};
    mrc_head_choice choice = {0};
    double *features = NULL;
    mercer_status rc = MERCER_OK;

    if (!model->head.spec)
        MRC_FAIL_AT(
            err, MERCER_ERR_UNSUPPORTED, MRC_AT(.advice_key = "head", .advice_value = "ls"),
            "the model has no head to predict with; fit it with one, for example ls or centre");
    if (components < 0 || components > l)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%lld components to predict from: the model has %lld, so 1 to %lld are possible",
                 (long long)components, (long long)l, (long long)l);
    MRC_TRY(mrc_head_find(model->head.spec, &choice, err));
    if (!choice.def || !choice.def->is_complete(&model->head))
        MRC_FAIL(err, MERCER_ERR_FORMAT, "model: parts of head '%s' are missing", model->head.spec);
    if (choice.def->needs_all_features && query.k < l)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "head %s predicts from all %lld features together, not from the first %lld: fit "
                 "with %lld components",
                 choice.def->entry.name, (long long)l, (long long)query.k, (long long)query.k);
    MRC_TRY(mrc_alloc2_raw(&features, rows->n, l, sizeof *features, err));
    MRC_TRY(mercer_model_transform(ctx, model, rows, NULL, features, NULL, err));
    query.features = features;
    MRC_TRY(mrc_head_predict(ctx, &choice, &model->head, &query, scores, codes, err));
out:
    mrc_head_choice_destroy(&choice);
    mrc_free(features);
    return rc;
}
