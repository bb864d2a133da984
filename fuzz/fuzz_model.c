/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a model file, whose checksum is not looked at. What loads is used: it must hold
 * together. */
#include "fuzz_seed.h"

#include "model/model.h"

#include <mercer/stream.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Use only what a file of this size can promise honestly. */
enum { MOST = 1 << 12, MAX_OUTPUTS = 64 };

/* What claims to be a stream learns from rows. */
static void continue_stream(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows)
{
    mercer_stream *stream = NULL;
    const mercer_model *later = NULL;
    if (strstr(model->method, "passes")) /* any number of them would be honest */
        return;
    if (mercer_stream_continue(ctx, model, &stream, NULL) == MERCER_OK &&
        mercer_stream_push(ctx, stream, rows, NULL) == MERCER_OK &&
        mercer_stream_flush(ctx, stream, NULL) == MERCER_OK)
        mercer_stream_model(ctx, stream, &later, NULL, NULL);
    mercer_stream_free(stream);
}

static void use_model(mercer_ctx *ctx, const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    double *x = NULL, *features = NULL, errors[2], self[2] = {1, 1};
    mercer_model_get_info(model, &info);
    if (info.columns > MOST || info.components > MOST ||
        mrc_alloc2(&x, 2, info.columns, sizeof *x, NULL) != MERCER_OK ||
        mrc_alloc2(&features, 2, info.components, sizeof *features, NULL) != MERCER_OK)
        goto out;
    for (int64_t j = 0; j < 2 * info.columns; j++)
        x[j] = (double)(j % 7) - 3;
    mercer_rows rows = {.n = 2, .d = info.columns, .ld = info.columns, .x = x};
    mercer_model_transform(ctx, model, &rows, self, features, info.orthonormal ? errors : NULL,
                           NULL);
    if (info.head && info.head_outputs <= MAX_OUTPUTS) {
        double scores[2 * MAX_OUTPUTS];
        int64_t codes[2];
        mercer_model_predict(ctx, model, &rows, 0, scores, codes, NULL);
    }
    continue_stream(ctx, model, &rows);
    for (int64_t j = 0; j < 2 * info.components; j++)
        features[j] = 0.1 * (double)j;
    mercer_model_inverse(ctx, model, features, 2, x, errors, NULL);
out:
    mrc_free(x);
    mrc_free(features);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mercer_ctx *ctx;
    mercer_model *model = NULL;
    mercer_error err;
    if (mercer_ctx_new(&ctx, NULL) != MERCER_OK)
        return fuzz_result(false);
    ctx->threads = 1;
    mercer_status rc = mercer_model_from_bytes(ctx, data, size, &model, &err);
    if ((rc == MERCER_OK) != (model != NULL))
        abort();
    if (model)
        use_model(ctx, model);
    mercer_model_free(model);
    mercer_ctx_free(ctx);
    return fuzz_result(rc == MERCER_OK);
}
