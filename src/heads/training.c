/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's side of training in a process of its own. */
#include "heads/training.h"

#include "base/memory.h"
#include "linalg/blas.h"

#include <stdio.h>

int64_t mrc_machine_pairs(int64_t classes)
{
    return classes > 0 ? classes * (classes - 1) / 2 : 1;
}

void mrc_machine_destroy(mrc_machine *machine)
{
    mrc_free(machine->label);
    mrc_free(machine->count);
    mrc_free(machine->index);
    mrc_free(machine->rho);
    mrc_free(machine->coef);
    mrc_free(machine->w);
    *machine = (mrc_machine){0};
}

static bool is_linear(const mrc_train_request *request)
{
    return request->kind >= MRC_TRAIN_LINEAR_SQUARED;
}

/* After an error nobody knows where in the exchange the helper is: the next training starts
 * another. One that has died gets an error of its own. */
static mercer_status give_up(mercer_ctx *ctx, const char *head, const mrc_train_request *request,
                             mercer_status rc, mercer_error *err)
{
    const char *library = is_linear(request) ? "LIBLINEAR" : "LIBSVM";
    mrc_fate fate = ctx->trainer.fate;
    if (fate == MRC_FATE_EXIT)
        rc = mrc_fail(err, MERCER_ERR_IO, "head %s: cannot be trained: %s does not run", head,
                      ctx->trainer.path);
    else if (fate != MRC_FATE_ALIVE)
        rc = mrc_fail(err, MERCER_ERR_MEMORY,
                      "head %s: %s ended before it was done; out of memory?", head, library);
    mrc_helper_stop(&ctx->trainer);
    return rc;
}

/* The helper's BLAS, which LIBLINEAR calls, takes the kernels that ours has: on a processor that
 * OpenBLAS does not know it would take others, and the head get other last digits. */
static mercer_status start_trainer(mrc_helper *trainer, const char *head, mercer_error *err)
{
    char setting[64];
    const char *kernels = mercer_blas_kernels();
    const int length = snprintf(setting, sizeof setting, "OPENBLAS_CORETYPE=%s", kernels);
    const bool is_known = *kernels && length < (int)sizeof setting;
    return mrc_helper_start(trainer, MRC_TRAIN_PROGRAM, is_known ? setting : NULL, head, err);
}

mercer_status mrc_train_begin(mercer_ctx *ctx, const char *head, mrc_train_request *request,
                              const double *features, const double *class_weights,
                              mercer_error *err)
{
    mrc_helper *trainer = &ctx->trainer;
    mercer_status rc = MERCER_OK;
    request->version = MRC_TRAIN_VERSION;
    request->memory = mercer_ctx_memory(ctx);
    MRC_TRY(mrc_check_cancel(ctx, err));
    if (!mrc_helper_is_ours(trainer)) {
        mrc_helper_stop(trainer); /* of the process that we were forked from */
        MRC_TRY(start_trainer(trainer, head, err));
    }
    MRC_TRY(mrc_helper_send(trainer, ctx, request, sizeof *request, err));
    MRC_TRY(mrc_helper_send(trainer, ctx, features,
                            (size_t)(request->n * request->l) * sizeof *features, err));
    MRC_TRY(mrc_helper_send(trainer, ctx, class_weights,
                            (size_t)request->classes * sizeof *class_weights, err));
out:
    return rc == MERCER_OK ? rc : give_up(ctx, head, request, rc, err);
}

/* Whether the answer can be one to this request. */
static bool is_sound(const mrc_train_request *request, const mrc_train_answer *answer)
{
    bool linear = is_linear(request);
    int64_t most = request->classes == 2 ? 1 : request->classes;
    return answer->classes == request->classes && answer->vectors >= 0 &&
           answer->vectors <= (linear ? 0 : request->n) &&
           answer->weights == (linear ? (request->l + (request->bias > 0)) * most : 0);
}

/* Whether the arrays hold together, so that nobody reads beyond them. */
static bool fits(const mrc_train_request *request, const mrc_machine *machine)
{
    int64_t sum = 0;
    bool good = true;
    for (int64_t k = 0; k < machine->classes; k++) {
        good &= machine->label[k] >= 0 && machine->label[k] < machine->classes;
        for (int64_t i = 0; i < k; i++)
            good &= machine->label[i] != machine->label[k];
        good &= machine->count[k] >= 0;
        sum += machine->count[k];
    }
    for (int64_t s = 0; s < machine->vectors; s++)
        good &= machine->index[s] >= 1 && machine->index[s] <= request->n;
    return good && (machine->classes == 0 || sum == machine->vectors);
}

static mercer_status receive_array(mercer_ctx *ctx, void *out, int64_t count, size_t size,
                                   mercer_error *err)
{
    void *array;
    mercer_status rc = mrc_alloc(&array, count, size, err);
    *(void **)out = array;
    if (rc == MERCER_OK)
        rc = mrc_helper_receive(&ctx->trainer, ctx, array, (size_t)count * size, err);
    return rc;
}

static mercer_status receive_machine(mercer_ctx *ctx, const mrc_train_request *request,
                                     const mrc_train_answer *answer, mrc_machine *m,
                                     mercer_error *err)
{
    bool linear = is_linear(request);
    int64_t pairs = linear ? 0 : mrc_machine_pairs(answer->classes);
    int64_t lines = answer->classes > 0 ? answer->classes - 1 : 1;
    mercer_status rc = MERCER_OK;
    m->classes = answer->classes;
    m->vectors = answer->vectors;
    m->weights = answer->weights;
    m->given_up = answer->given_up;
    MRC_TRY(receive_array(ctx, &m->label, m->classes, sizeof *m->label, err));
    MRC_TRY(receive_array(ctx, &m->count, m->classes, sizeof *m->count, err));
    MRC_TRY(receive_array(ctx, &m->index, m->vectors, sizeof *m->index, err));
    MRC_TRY(receive_array(ctx, &m->rho, pairs, sizeof *m->rho, err));
    MRC_TRY(receive_array(ctx, &m->coef, lines * m->vectors, sizeof *m->coef, err));
    MRC_TRY(receive_array(ctx, &m->w, m->weights, sizeof *m->w, err));
out:
    return rc;
}

static void notify_given_up(const mercer_ctx *ctx, const char *head,
                            const mrc_train_request *request, const mrc_machine *machine)
{
    if (machine->given_up > 0)
        mrc_notice(ctx,
                   "head %s: %s ended at its limit of %lld steps, short of tolerance=%g, so its "
                   "scores may be far from the best ones: scaled columns%s may help",
                   head, is_linear(request) ? "LIBLINEAR" : "LIBSVM", (long long)machine->given_up,
                   request->tolerance,
                   is_linear(request) ? ", a smaller c or loss=squared" : " or a smaller c");
}

mercer_status mrc_train_next(mercer_ctx *ctx, const char *head, const mrc_train_request *request,
                             const double *targets, mrc_machine *out, mercer_error *err)
{
    mrc_train_answer answer;
    mercer_status rc = MERCER_OK;
    MRC_TRY(
        mrc_helper_send(&ctx->trainer, ctx, targets, (size_t)request->n * sizeof *targets, err));
    MRC_TRY(mrc_helper_receive(&ctx->trainer, ctx, &answer, sizeof answer, err));
    answer.text[sizeof answer.text - 1] = 0;
    if (answer.version == MRC_TRAIN_VERSION && answer.status > MERCER_OK)
        MRC_FAIL(err, (mercer_status)answer.status, "head %s: %s", head, answer.text);
    if (answer.version != MRC_TRAIN_VERSION || !is_sound(request, &answer))
        MRC_FAIL(err, MERCER_ERR_IO, "head %s: cannot be trained: %s is of another version", head,
                 ctx->trainer.path);
    MRC_TRY(receive_machine(ctx, request, &answer, out, err));
    if (!fits(request, out))
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "head %s: what %s found does not hold together", head,
                 is_linear(request) ? "LIBLINEAR" : "LIBSVM");
    notify_given_up(ctx, head, request, out);
out:
    return rc == MERCER_OK ? rc : give_up(ctx, head, request, rc, err);
}
