/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer_stream: rows as they come, gathered to blocks for a streaming method; see streaming.h. */
#include "methods/streaming/streaming.h"

#include "data/checksum.h"
#include "methods/common/options.h"

#include <assert.h>
#include <string.h>

/* ---- life ---- */

/* The plan of a request of a streaming method, checked. */
static mercer_status plan_blocks(const mrc_request *r, mrc_plan *plan, mercer_error *err)
{
    if (mrc_kernel_is_precomputed(&r->kernel))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "method %s takes rows as they come, so their kernel cannot be precomputed",
                        r->method->entry.name);
    return r->method->streaming->plan(r, plan, err);
}

mercer_status mrc_streaming_check(const mrc_request *r, mercer_error *err)
{
    return plan_blocks(r, &(mrc_plan){0}, err);
}

/* kernel: that of a model to go on from, or NULL: the options say which. */
static mercer_status start(mercer_ctx *ctx, const mercer_fit_options *options,
                           const mrc_kernel *kernel, mercer_stream **out, mercer_error *err)
{
    mercer_stream *stream = NULL;
    mrc_request *r;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(mrc_alloc(&stream, 1, sizeof *stream, err));
    r = &stream->request;
    r->fitted_kernel = kernel;
    MRC_TRY(mrc_request_read(ctx, options, r, err));
    r->fitted_kernel = NULL;
    mrc_kernel_hold(&r->kernel); /* the context of later calls may be another */
    stream->holds_kernel = true;
    if (!r->method->streaming)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "method %s does not learn from a stream",
                 r->method->entry.name);
    MRC_TRY(mrc_strdup(&stream->command, r->options.command, err));
    r->options.command = stream->command;
    MRC_TRY(plan_blocks(r, &stream->plan, err));
    r->problem.kernel = &r->kernel;
    stream->library.kernel = &r->kernel;
    *out = stream;
    stream = NULL;
out:
    mercer_stream_free(stream);
    return rc;
}

mercer_status mercer_stream_new(mercer_ctx *ctx, const mercer_fit_options *options,
                                mercer_stream **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(options);
    mercer_stream *stream = NULL;
    mercer_status rc = start(ctx, options, NULL, &stream, err);
    if (rc != MERCER_OK)
        return rc;
    rc = mrc_options_refuse(&stream->request.options, MERCER_CALL_STREAM, err);
    if (rc == MERCER_OK && stream->request.options.want_features)
        rc = mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "want_features"),
                         "want_features: needs all rows at once, which a stream does not have");
    if (rc == MERCER_OK)
        *out = stream;
    else
        mercer_stream_free(stream);
    return rc;
}

void mercer_stream_free(mercer_stream *stream)
{
    if (!stream)
        return;
    mercer_model_free(stream->base);
    mercer_model_free(stream->current);
    mrc_library_destroy(&stream->library);
    mrc_state_destroy(&stream->state);
    mercer_rows_free(stream->window);
    mercer_rows_free(stream->pending);
    mrc_free(stream->command);
    if (stream->holds_kernel)
        mrc_kernel_drop(&stream->request.kernel);
    mrc_request_destroy(&stream->request);
    mrc_free(stream);
}

static int64_t pending_rows(const mercer_stream *stream)
{
    return stream->pending ? stream->pending->n : 0;
}

/* More rows that fill the next block. */
static int64_t wanted_rows(const mercer_stream *stream)
{
    int64_t size = stream->rows == 0 ? stream->plan.first : stream->plan.block;
    return size - pending_rows(stream);
}

mercer_status mercer_stream_continue(mercer_ctx *ctx, const mercer_model *model,
                                     mercer_stream **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(model);
    mercer_fit_options options;
    mercer_stream *stream = NULL;
    mercer_status rc = MERCER_OK;
    if (!model->state.factor)
        MRC_FAIL(err, MERCER_ERR_UNSUPPORTED,
                 "the model cannot learn from more rows: it was made by '%s', which keeps no state "
                 "to go on from",
                 model->method);
    mercer_fit_options_init(&options);
    options.method = model->method;
    options.center = model->center == MRC_CENTER_NONE ? "none" : "exact";
    options.scale = mrc_scale_name(model->scale.kind);
    options.command = model->command;
    MRC_TRY(start(ctx, &options, &model->kernel, &stream, err));
    MRC_TRY(mrc_stream_restore(stream, model, err));
    if (wanted_rows(stream) < 1) /* only a file that was tampered with says so */
        MRC_FAIL(err, MERCER_ERR_FORMAT,
                 "the model cannot learn from more rows: %lld of them wait for a block of %lld",
                 (long long)pending_rows(stream), (long long)stream->plan.block);
    if (model->head.spec)
        mrc_notice(ctx, "the head belongs to the features as they were and is left out");
    if (model->novelty_share > 0)
        mrc_notice(ctx, "the novelty threshold belongs to the features as they were and is left "
                        "out");
    *out = stream;
    stream = NULL;
out:
    mercer_stream_free(stream);
    return rc;
}

/* ---- blocks ---- */

mercer_status mrc_stream_checksum(const mercer_rows *rows, unsigned long *crc, mercer_error *err)
{
    mercer_rows *row = NULL;
    mercer_status rc = MERCER_OK;
    if (!mercer_rows_is_sparse(rows))
        return mrc_rows_checksum(rows, crc, err);
    for (int64_t i = 0; i < rows->n; i++) {
        MRC_TRY(mrc_rows_slice(rows, i, 1, &row, err));
        MRC_TRY(mrc_rows_checksum(row, crc, err));
        mercer_rows_free(row);
        row = NULL;
    }
out:
    mercer_rows_free(row);
    return rc;
}

/* The state has changed, so the model derived from it is another. */
static void forget_model(mercer_stream *stream)
{
    mercer_model_free(stream->current);
    stream->current = NULL;
}

/* What the first block teaches for good: scaling, and what the kernel leaves open. *scaled is a
 * scaled copy, or NULL. */
static mercer_status learn(mercer_ctx *ctx, mercer_stream *stream, const mercer_rows *block,
                           mercer_rows **scaled, mercer_error *err)
{
    mrc_request *r = &stream->request;
    mrc_rng *rng = &ctx->rng;
    mercer_status rc = MERCER_OK;
    mrc_scale_destroy(&stream->base->scale); /* of an attempt that failed */
    memset(&stream->base->scale, 0, sizeof stream->base->scale);
    MRC_TRY(mrc_request_advise(ctx, block, r, err));
    MRC_TRY(mrc_request_scale(ctx, block, stream->base, r->scale, scaled, err));
    MRC_TRY(mrc_kernel_resolve(&r->kernel, ctx, *scaled ? *scaled : block, err));
    mrc_model_set_kernel(stream->base, &r->kernel);
    for (int i = 0; i < 4; i++) /* from here on the stream has a generator of its own */
        stream->state.random[i] = mrc_rng_next(rng);
out:
    return rc;
}

/* Fold a block in; on error nothing has changed. */
static mercer_status fold(mercer_ctx *ctx, mercer_stream *stream, const mercer_rows *block,
                          mercer_error *err)
{
    mercer_rows *scaled = NULL;
    unsigned long crc = stream->crc;
    mrc_kernel kernel = stream->request.kernel; /* as it is without this block, */
    mrc_rng rng = ctx->rng; /* and the generator that the first one draws from */
    mercer_status rc = MERCER_OK;
    assert(stream->base); /* since the rows of the block were pushed */
    MRC_TRY(mrc_check_cancel(ctx, err));
    MRC_TRY(mrc_stream_checksum(block, &crc, err));
    if (!stream->learnt)
        MRC_TRY(learn(ctx, stream, block, &scaled, err));
    else if (stream->base->scale.kind != MRC_SCALE_NONE)
        MRC_TRY(mrc_scale_rows(&stream->base->scale, block, &scaled, err));
    MRC_TRY(stream->request.method->streaming->fold(ctx, stream, scaled ? scaled : block, err));
    stream->state.block_evaluations = stream->library.evaluations;
    stream->state.evaluations += stream->library.evaluations;
    stream->library.evaluations = 0;
    stream->learnt = true;
    stream->crc = crc;
    stream->rows += block->n;
    forget_model(stream);
out:
    if (rc != MERCER_OK && !stream->learnt) {
        stream->request.kernel = kernel;
        ctx->rng = rng;
    }
    mercer_rows_free(scaled);
    return rc;
}

/* Rows as the stream keeps them: columns in the model's order, all sparse or all doubles. *own is
 * NULL when they are so already. */
static mercer_status arrange(mercer_ctx *ctx, mercer_stream *stream, const mercer_rows *rows,
                             mercer_rows **own, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!stream->base) {
        MRC_TRY(mrc_model_new(&stream->base, err));
        rc = mrc_request_describe(ctx, rows, &stream->request, stream->base, err);
        if (rc != MERCER_OK) {
            mercer_model_free(stream->base);
            stream->base = NULL;
            goto out;
        }
        stream->sparse = mercer_rows_is_sparse(rows);
    }
    const mercer_model *base = stream->base;
    bool same =
        !rows->packed && mercer_rows_is_sparse(rows) == stream->sparse && rows->d == base->columns;
    for (int64_t j = 0; same && rows->names && base->column_names && j < base->columns; j++)
        same = strcmp(rows->names[j], base->column_names[j]) == 0;
    if (!same)
        MRC_TRY(mrc_model_arrange(base, rows, stream->sparse, own, err));
out:
    return rc;
}

/* Pass over the rows of a resumed input at the start of rows; *count is their number. */
static mercer_status pass_over(mercer_stream *stream, const mercer_rows *rows, int64_t *count,
                               mercer_error *err)
{
    mercer_rows *part = NULL;
    unsigned long crc = stream->passed_crc;
    mercer_status rc = MERCER_OK;
    *count = rows->n < stream->passed_over ? rows->n : stream->passed_over;
    if (*count == 0)
        return MERCER_OK;
    MRC_TRY(mrc_rows_slice(rows, 0, *count, &part, err));
    MRC_TRY(mrc_stream_checksum(part, &crc, err));
    stream->differs = *count == stream->passed_over && (int64_t)crc != stream->state.input_crc;
    if (stream->differs)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the first %lld rows are not those that were learnt from before the interruption",
                 (long long)stream->state.input_rows);
    stream->passed_crc = crc;
    stream->passed_over -= *count;
out:
    mercer_rows_free(part);
    return rc;
}

/* Rows behind those that wait; with them the block is full, or not. *part is NULL afterwards. */
static mercer_status add_part(mercer_ctx *ctx, mercer_stream *stream, mercer_rows **part, bool full,
                              mercer_error *err)
{
    unsigned long crc = (unsigned long)stream->state.input_crc;
    int64_t count = (*part)->n;
    mercer_rows *joined = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_stream_checksum(*part, &crc, err));
    if (stream->pending) {
        MRC_TRY(mrc_rows_append(&joined, stream->pending, err));
        MRC_TRY(mrc_rows_append(&joined, *part, err));
    } else {
        joined = *part;
        *part = NULL;
    }
    if (full)
        MRC_TRY(fold(ctx, stream, joined, err));
    mercer_rows_free(stream->pending);
    stream->pending = full ? NULL : joined;
    joined = full ? joined : NULL;
    stream->state.input_rows += count;
    stream->state.input_crc = (int64_t)crc;
    stream->state.input_finished = 0;
    forget_model(stream);
out:
    mercer_rows_free(joined);
    mercer_rows_free(*part);
    *part = NULL;
    return rc;
}

/* An error names a row of its block, which starts `start` rows after the first of the call, or
 * before it: tell the row of the call, if it is one of its rows. */
static mercer_status place_row(mercer_status rc, int64_t start, mercer_error *err)
{
    if (rc != MERCER_OK && err && err->row > 0)
        err->row = err->row + start > 0 ? err->row + start : 0;
    return rc;
}

mercer_status mercer_stream_push(mercer_ctx *ctx, mercer_stream *stream, const mercer_rows *rows,
                                 mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(stream);
    MRC_NEED(rows);
    MRC_NEED_WHOLE(rows);
    mercer_rows *own = NULL, *part = NULL;
    int64_t at = 0;
    mercer_status rc = MERCER_OK;
    mrc_ctx_enter(ctx);
    MRC_TRY(arrange(ctx, stream, rows, &own, err));
    const mercer_rows *from = own ? own : rows;
    MRC_TRY(pass_over(stream, from, &at, err));
    for (int64_t count; at < from->n; at += count) {
        int64_t wanted = wanted_rows(stream);
        count = from->n - at < wanted ? from->n - at : wanted;
        mrc_progress(ctx, "stream", (double)at / (double)from->n);
        MRC_TRY(mrc_rows_slice(from, at, count, &part, err));
        int64_t start = at - pending_rows(stream);
        MRC_TRY(place_row(add_part(ctx, stream, &part, count == wanted, err), start, err));
    }
out:
    mercer_rows_free(own);
    mercer_rows_free(part);
    return mrc_ctx_leave(ctx, rc, err);
}

mercer_status mercer_stream_flush(mercer_ctx *ctx, mercer_stream *stream, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(stream);
    mercer_status rc = MERCER_OK;
    mrc_ctx_enter(ctx);
    if (stream->passed_over > 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "%lld rows were learnt from before the interruption, but now there are only %lld",
                 (long long)stream->state.input_rows,
                 (long long)(stream->state.input_rows - stream->passed_over));
    if (stream->pending)
        MRC_TRY(place_row(fold(ctx, stream, stream->pending, err), -stream->pending->n, err));
    mercer_rows_free(stream->pending);
    stream->pending = NULL;
    stream->state.input_finished = 1;
    forget_model(stream);
out:
    return mrc_ctx_leave(ctx, rc, err);
}

/* ---- questions ---- */

mercer_status mercer_stream_model(mercer_ctx *ctx, mercer_stream *stream, const mercer_model **out,
                                  mercer_fit_report *report, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(stream);
    mercer_fit_report filled = {.struct_size = sizeof filled}, theirs = filled;
    mercer_status rc = MERCER_OK;
    mrc_ctx_enter(ctx);
    if (!stream->current)
        MRC_TRY(mrc_stream_derive(ctx, stream, &stream->current, err));
    *out = stream->current;
    if (report) {
        mrc_take_struct(report, &theirs, sizeof theirs);
        mrc_stream_report(stream, *out, &filled);
        filled.seconds = theirs.seconds;
        mrc_give_struct(&filled, sizeof filled, report);
    }
out:
    return mrc_ctx_leave(ctx, rc, err);
}

void mercer_stream_begin_input(mercer_stream *stream)
{
    if (!stream)
        return;
    stream->state.input_rows = stream->state.input_crc = stream->state.input_finished = 0;
    stream->passed_over = 0;
    stream->differs = false;
    forget_model(stream);
}

void mercer_stream_resume_input(mercer_stream *stream)
{
    if (!stream)
        return;
    stream->passed_over = stream->state.input_rows;
    stream->passed_crc = 0;
    stream->differs = false;
}

MRC_VERSIONED(stream_info, )

void mercer_stream_get_info(const mercer_stream *stream, mercer_stream_info *info)
{
    if (!stream || !info)
        return;
    const mrc_state *s = &stream->state;
    int64_t last = stream->request.problem.components;
    last = last > 0 && last < s->rank ? last : s->rank;
    double least = s->rank > 0 ? s->singular[last - 1] : 0;
    mercer_stream_info full = {
        .rows = stream->rows,
        .pending = pending_rows(stream),
        .wanted = wanted_rows(stream),
        .block = stream->plan.block,
        .blocks = s->blocks,
        .input_rows = s->input_rows,
        .points = stream->library.count,
        .rank = s->rank,
        .outside = s->outside,
        .evaluations = s->evaluations,
        .block_evaluations = s->block_evaluations,
        .input_finished = s->input_finished != 0,
        .input_differs = stream->differs,
        .lost = least > 0 ? s->lost / (least * least) : 0,
    };
    mrc_give_struct(&full, sizeof full, info);
}

mercer_status mrc_stream_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                             const mercer_rows *rows, mercer_fit_report *report, mercer_model **out,
                             mercer_error *err)
{
    mercer_stream *stream = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(start(ctx, options, NULL, &stream, err));
    MRC_TRY(mercer_stream_push(ctx, stream, rows, err));
    MRC_TRY(mercer_stream_flush(ctx, stream, err));
    MRC_TRY(mrc_stream_derive(ctx, stream, out, err));
    mrc_stream_report(stream, *out, report);
out:
    mercer_stream_free(stream);
    return rc;
}
