/* Predictions for new rows: their features, then the scores of the model's head. A row gives the
 * same bits whatever stands beside it. Cost a row: its features, and l^2 + l o at most. */
#include "heads/heads.h"

struct job {
    const mrc_head_def *def;
    const mercer_model *model;
    const double *features;
    int64_t n, k;
    double *scores;
    int64_t *codes;
};

enum { TASK_ROWS = 256 };

static void predict_rows(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mrc_head *head = &job->model->head;
    int64_t l = job->model->components, first = task * TASK_ROWS, left = job->n - first;
    int64_t end = first + (left < TASK_ROWS ? left : TASK_ROWS);
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        double *scores = job->scores + i * head->outputs;
        mrc_head_start(head, scores);
        for (int64_t j = 0; j < job->k; j++)
            job->def->step(head, job->features + i * l, l, j, scores);
        if (job->codes && head->kind == MERCER_TARGET_CLASSES)
            job->codes[i] = mrc_head_winner(scores, head->outputs);
    }
}

mercer_status mercer_model_predict(mercer_ctx *ctx, const mercer_model *model,
                                   const mercer_rows *rows, int64_t components, double *scores,
                                   int64_t *codes, mercer_error *err)
{
    int64_t l = model->components;
    struct job job = {.model = model, .n = rows->n, .scores = scores, .codes = codes};
    double *features = NULL;
    mercer_status rc = MERCER_OK;

    if (!model->head.spec)
        MRC_FAIL(err, MERCER_ERR_UNSUPPORTED,
                 "the model has no head to predict with; fit it with --head ls or centre");
    if (components < 0 || components > l)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%lld components to predict from: the model has %lld, so 1 to %lld are possible",
                 (long long)components, (long long)l, (long long)l);
    MRC_TRY(mrc_head_find(model->head.spec, &job.def, err));
    if (!job.def || !job.def->is_complete(&model->head))
        MRC_FAIL(err, MERCER_ERR_FORMAT, "model: parts of head '%s' are missing", model->head.spec);
    job.k = components > 0 ? components : l;
    MRC_TRY(mrc_alloc2_raw(&features, rows->n, l, sizeof *features, err));
    MRC_TRY(mercer_model_transform(ctx, model, rows, NULL, features, NULL, err));
    job.features = features;
    mrc_parfor(ctx, (job.n + TASK_ROWS - 1) / TASK_ROWS, predict_rows, &job);
out:
    mrc_free(features);
    return rc;
}
