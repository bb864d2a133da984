/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a sequence of calls of the public API, in any order a caller could think of. Each
 * call takes its arguments from the bytes that follow, and objects from slots, which may hold
 * nothing: NULL is an error code then. Whatever is called, an error comes with one line and gives
 * no object, success gives one, numbers that come out are finite, and a model that was written and
 * read again gives the same features. */
#include "fuzz_seed.h"

#include <mercer/mercer.h>

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 4, MAX_ROWS = 24, MAX_COLUMNS = 4, MAX_CALLS = 60, MAX_WIDTH = 32 };

static const char *const METHODS[] = {"kpca",
                                      "kpca:components=2",
                                      "pca",
                                      "akfa:components=3",
                                      "skfa:components=2",
                                      "ackfa",
                                      "rkpca",
                                      "greedy",
                                      "nystroem:points=5",
                                      "kica:components=2",
                                      "ikpca",
                                      "ikpca:block=3",
                                      "kha",
                                      "kpls:components=2",
                                      "pls",
                                      "sma",
                                      "smc",
                                      "blf",
                                      "skpls",
                                      "cr",
                                      "rkopls",
                                      "kboost",
                                      "kfd",
                                      "krr",
                                      "koca:components=1",
                                      "tipping",
                                      "nonsense",
                                      "kpca:x=1"};
static const char *const KERNELS[] = {
    NULL,     "rbf:sigma=1",         "rbf:sigma=median", "linear",      "poly:degree=2,coef0=1",
    "cosine", "laplacian:gamma=0.5", "sigmoid",          "precomputed", "rbf:sigma=-1"};
static const char *const HEADS[] = {NULL,  "none",   "ls",      "centre", "knn:k=2",
                                    "lad", "linsvm", "svm:c=2", "log",    "direct"};
static const char *const SCALES[] = {NULL, "standard", "minmax", "norm", "robust", "huge"};

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

struct play {
    const uint8_t *data;
    size_t size, at;
    mercer_ctx *ctx;
    mercer_rows *rows[SLOTS];
    double *values[SLOTS]; /* that the rows are views of */
    mercer_targets *targets[SLOTS];
    mercer_model *models[SLOTS];
    mercer_stream *streams[SLOTS];
    mercer_evaluation *evaluations[SLOTS];
    double end; /* processor time at which calls are given up */
    bool fitted;
    mercer_status status; /* of the last call that makes something */
};

static int take(struct play *p, int below)
{
    return p->at < p->size ? p->data[p->at++] % below : 0;
}

/* What every call promises: an object or an error of one line, never both. */
static bool check_call(mercer_status status, const void *object, const mercer_error *err)
{
    if ((status == MERCER_OK) != (object != NULL))
        abort();
    if (status != MERCER_OK && (!err->text[0] || strchr(err->text, '\n')))
        abort();
    return status == MERCER_OK;
}

/* The call, then what came of it: arguments of one function have no order. */
#define CALL(object, call) (p->status = (call), check_call(p->status, object, &err))

static void check_finite(const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            abort();
}

/* ---- calls ---- */

static void call_make_rows(struct play *p)
{
    static const double UNITS[] = {1, 1e-6, 1e100, 0};
    int slot = take(p, SLOTS), columns = 1 + take(p, MAX_COLUMNS);
    int64_t count = 1 + take(p, MAX_ROWS);
    double unit = UNITS[take(p, COUNT(UNITS))];
    mercer_error err;
    double *values = malloc((size_t)(count * columns) * sizeof *values);
    if (!values)
        abort();
    for (int64_t i = 0; i < count * columns; i++)
        values[i] = unit * ((double)((i * 37 + take(p, 256)) % 251) / 16 - 7);
    mercer_array array = {.struct_size = sizeof array,
                          .data = values,
                          .rank = 2,
                          .shape = {count, columns},
                          .stride = {0, 0}};
    if (take(p, 4) == 1) /* the other way round */
        array.stride[0] = 1, array.stride[1] = count;
    mercer_rows_free(p->rows[slot]);
    free(p->values[slot]);
    p->rows[slot] = NULL;
    p->values[slot] = values;
    CALL(p->rows[slot], mercer_rows_view(p->ctx, &array, &p->rows[slot], &err));
}

static void call_make_targets(struct play *p)
{
    static const char *const names[] = {"a", "b", "c"};
    int slot = take(p, SLOTS), kind = take(p, 3);
    int64_t count = 1 + take(p, MAX_ROWS), codes[MAX_ROWS + 1];
    double values[MAX_ROWS + 1];
    mercer_error err;
    for (int64_t i = 0; i < count; i++) {
        codes[i] = (i + take(p, 4)) % 4 - (kind == 2); /* sometimes none of the three */
        values[i] = (double)(i * i % 11) + take(p, 16);
    }
    mercer_targets_free(p->targets[slot]);
    p->targets[slot] = NULL;
    mercer_status rc =
        kind == 0
            ? mercer_targets_new_values(values, count, 1, NULL, &p->targets[slot], &err)
            : mercer_targets_new_classes(codes, count, names, 3, "k", &p->targets[slot], &err);
    CALL(p->targets[slot], rc);
}

static void take_options(struct play *p, mercer_fit_options *options)
{
    mercer_fit_options_init(options);
    options->method = METHODS[take(p, COUNT(METHODS))];
    options->kernel = KERNELS[take(p, COUNT(KERNELS))];
    options->head = HEADS[take(p, COUNT(HEADS))];
    options->scale = SCALES[take(p, COUNT(SCALES))];
    if (take(p, 4) == 1)
        options->components = take(p, 9);
    if (take(p, 8) == 1)
        options->novelty = 0.25;
    if (take(p, 8) == 1)
        options->landmarks = p->rows[take(p, SLOTS)];
    if (take(p, 8) == 1)
        options->intervals = "on";
}

static void call_fit(struct play *p)
{
    int slot = take(p, SLOTS);
    const mercer_rows *rows = p->rows[take(p, SLOTS)];
    const mercer_targets *targets = p->targets[take(p, SLOTS)];
    mercer_fit_options options;
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model *model = NULL;
    mercer_error err;
    take_options(p, &options);
    options.want_features = take(p, 4) == 1;
    if (CALL(model, mercer_fit(p->ctx, &options, rows, targets, &model, &report, &err))) {
        mercer_model_info info = {.struct_size = sizeof info};
        char *json = NULL;
        mercer_model_get_info(model, &info);
        if (options.want_features)
            check_finite(report.features, mercer_rows_count(rows) * info.components);
        CALL(json, mercer_fit_report_json(model, &report, &json, &err));
        mercer_free(json);
        mercer_free(report.features);
        p->fitted = true;
    }
    mercer_model_free(p->models[slot]);
    p->models[slot] = model;
}

/* Features, errors, predictions and pre-images of rows that may be any. */
static void call_use(struct play *p)
{
    static double features[(MAX_ROWS + 1) * MAX_WIDTH], again[(MAX_ROWS + 1) * MAX_WIDTH];
    static double errors[MAX_ROWS + 1], back[(MAX_ROWS + 1) * MAX_WIDTH];
    int64_t codes[MAX_ROWS + 1];
    const mercer_model *model = p->models[take(p, SLOTS)];
    const mercer_rows *rows = p->rows[take(p, SLOTS)];
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model *loaded = NULL;
    mercer_error err;
    void *bytes = NULL;
    size_t size;
    if (!model || !rows) {
        if (mercer_model_transform(p->ctx, model, rows, NULL, features, NULL, &err) == MERCER_OK)
            abort();
        return;
    }
    mercer_model_get_info(model, &info);
    if (info.components > MAX_WIDTH || info.head_outputs > MAX_WIDTH || info.columns > MAX_WIDTH)
        return;
    int64_t n = mercer_rows_count(rows);
    if (mercer_model_transform(p->ctx, model, rows, NULL, features, NULL, &err) != MERCER_OK)
        return;
    check_finite(features, n * info.components);
    mercer_model_transform(p->ctx, model, rows, NULL, again, errors, &err);
    if (mercer_model_predict(p->ctx, model, rows, take(p, 4), back, codes, &err) == MERCER_OK)
        check_finite(back, n * info.head_outputs);
    if (mercer_model_inverse(p->ctx, model, features, n, back, errors, &err) == MERCER_OK)
        check_finite(back, n * info.columns);
    if (!CALL(bytes, mercer_model_to_bytes(p->ctx, model, &bytes, &size, &err)))
        return;
    if (CALL(loaded, mercer_model_from_bytes(p->ctx, bytes, size, &loaded, &err)) &&
        mercer_model_transform(p->ctx, loaded, rows, NULL, again, NULL, &err) == MERCER_OK &&
        memcmp(features, again, (size_t)(n * info.components) * sizeof *again) != 0)
        abort();
    mercer_model_free(loaded);
    mercer_free(bytes);
}

static void call_change_model(struct play *p)
{
    int from = take(p, SLOTS), to = take(p, SLOTS), how = take(p, 3);
    mercer_model *made = NULL;
    mercer_error err;
    if (how == 0)
        CALL(made, mercer_model_truncate(p->ctx, p->models[from], take(p, 5), &made, &err));
    else if (how == 1)
        made = p->models[from] ? mercer_model_share(p->models[from]) : NULL;
    mercer_model_free(p->models[to]);
    p->models[to] = made;
}

static void call_start_stream(struct play *p)
{
    int slot = take(p, SLOTS);
    mercer_fit_options options;
    mercer_stream *stream = NULL;
    mercer_error err;
    if (take(p, 2)) {
        take_options(p, &options);
        CALL(stream, mercer_stream_new(p->ctx, &options, &stream, &err));
    } else {
        CALL(stream, mercer_stream_continue(p->ctx, p->models[take(p, SLOTS)], &stream, &err));
    }
    mercer_stream_free(p->streams[slot]);
    p->streams[slot] = stream;
}

static void call_feed_stream(struct play *p)
{
    mercer_stream *stream = p->streams[take(p, SLOTS)];
    mercer_error err;
    int how = take(p, 4);
    if (how == 0)
        mercer_stream_flush(p->ctx, stream, &err);
    else
        mercer_stream_push(p->ctx, stream, p->rows[take(p, SLOTS)], &err);
    if (stream && how == 3) {
        mercer_stream_info info = {.struct_size = sizeof info};
        mercer_stream_get_info(stream, &info);
        if (info.rows < 0 || info.pending < 0)
            abort();
    }
}

static void call_take_from_stream(struct play *p)
{
    mercer_stream *stream = p->streams[take(p, SLOTS)];
    int slot = take(p, SLOTS);
    const mercer_model *model = NULL;
    mercer_error err;
    if (mercer_stream_model(p->ctx, stream, &model, NULL, &err) != MERCER_OK)
        return;
    mercer_model_free(p->models[slot]);
    p->models[slot] = mercer_model_share(model);
    p->fitted = true;
}

static void call_evaluate(struct play *p)
{
    int slot = take(p, SLOTS);
    const mercer_rows *rows = p->rows[take(p, SLOTS)];
    const mercer_targets *targets = p->targets[take(p, SLOTS)];
    static const char *const tune[] = {"components=1,2"};
    mercer_fit_options fit_options;
    mercer_evaluate_options options;
    mercer_evaluation *made = NULL;
    mercer_error err;
    char *json = NULL;
    take_options(p, &fit_options);
    mercer_evaluate_options_init(&options);
    options.fit = &fit_options;
    options.folds = take(p, 4);
    options.inner_folds = 2;
    options.tune = tune;
    options.tune_count = take(p, 2);
    if (CALL(made, mercer_evaluate(p->ctx, &options, rows, targets, &made, &err))) {
        CALL(json, mercer_evaluation_json(made, &json, &err));
        mercer_free(json);
    }
    mercer_evaluation_free(p->evaluations[slot]);
    p->evaluations[slot] = made;
}

static void call_ask(struct play *p)
{
    const mercer_model *model = p->models[take(p, SLOTS)];
    mercer_error err;
    char *json = NULL;
    double half[MAX_WIDTH];
    mercer_model_info info = {.struct_size = sizeof info};
    if (!model)
        return;
    mercer_model_get_info(model, &info);
    CALL(json, mercer_model_info_json(model, &json, &err));
    mercer_free(json);
    for (int i = 0; mercer_model_array_name(i); i++) {
        mercer_array array = {.struct_size = sizeof array};
        mercer_model_array(model, mercer_model_array_name(i), &array, &err);
    }
    if (info.head_outputs <= MAX_WIDTH)
        mercer_model_half_widths(model, take(p, 10) / 10.0, half, &err);
}

static void call_set(struct play *p)
{
    mercer_error err;
    mercer_limits limits;
    switch (take(p, 6)) {
    case 0:
        mercer_ctx_set_threads(p->ctx, take(p, 4), &err);
        break;
    case 1:
        mercer_ctx_set_memory(p->ctx, (int64_t)take(p, 256) << (8 + take(p, 20)), &err);
        break;
    case 2:
        mercer_ctx_set_seed(p->ctx, (uint64_t)take(p, 256));
        break;
    case 3:
        mercer_limits_init(&limits);
        limits.max_rows = take(p, 40) - 1;
        mercer_ctx_set_limits(p->ctx, take(p, 2) ? &limits : NULL, &err);
        break;
    case 4:
        mercer_ctx_cancel(p->ctx);
        break;
    default:
        mercer_ctx_resume(p->ctx);
    }
}

static void call_free_one(struct play *p)
{
    int slot = take(p, SLOTS);
    switch (take(p, 4)) {
    case 0:
        mercer_model_free(p->models[slot]);
        p->models[slot] = NULL;
        break;
    case 1:
        mercer_stream_free(p->streams[slot]);
        p->streams[slot] = NULL;
        break;
    case 2:
        mercer_targets_free(p->targets[slot]);
        p->targets[slot] = NULL;
        break;
    default:
        mercer_rows_free(p->rows[slot]);
        p->rows[slot] = NULL;
    }
}

static void (*const CALLS[])(struct play *) = {
    call_make_rows,        call_make_targets, call_fit,         call_use,
    call_change_model,     call_start_stream, call_feed_stream, call_feed_stream,
    call_take_from_stream, call_evaluate,     call_ask,         call_set,
    call_free_one};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double SECONDS = 1; /* for all calls */
    struct play p = {.data = data, .size = size, .end = fuzz_seconds() + SECONDS};
    if (mercer_ctx_new(&p.ctx, NULL) != MERCER_OK)
        return fuzz_result(false);
    mercer_ctx_set_poll(p.ctx, fuzz_is_over, &p.end);
    for (int i = 0; i < MAX_CALLS && p.at < p.size && fuzz_seconds() < p.end; i++)
        CALLS[take(&p, COUNT(CALLS))](&p);
    for (int slot = 0; slot < SLOTS; slot++) {
        mercer_model_free(p.models[slot]);
        mercer_stream_free(p.streams[slot]);
        mercer_evaluation_free(p.evaluations[slot]);
        mercer_targets_free(p.targets[slot]);
        mercer_rows_free(p.rows[slot]);
        free(p.values[slot]);
    }
    mercer_ctx_free(p.ctx);
    return fuzz_result(p.fitted);
}
