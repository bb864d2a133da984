/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as the options of a fit: lines KEY=VALUE, of which `targets` says what the rows come
 * with (classes, values, none) and `tune` is a grid (KEY=VALUES) to choose from first. What fits is
 * used: a model that was written and read again gives the same features, bit for bit, and so does
 * the same fit once more. Work that takes long is cancelled, which is an error like any other. */
#include "fuzz_seed.h"

#include <mercer/mercer.h>

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ROWS = 24,
    COLUMNS = 3,
    CLASSES = 3,
    MAX_LINES = 12,
    MAX_TUNED = 3,
    MAX_FEATURES = ROWS,
    SEED = 5
};

struct wish {
    char text[1024]; /* the input, its lines ended by zeros */
    mercer_fit_options fit;
    const char *tune[MAX_TUNED];
    int tuned;
    const char *targets;
};

/* Whether the options are taken. */
static bool read_wish(const uint8_t *data, size_t size, struct wish *wish)
{
    mercer_fit_options_init(&wish->fit);
    if (size >= sizeof wish->text)
        return false;
    memcpy(wish->text, data, size);
    wish->text[size] = 0;
    char *line = wish->text;
    for (int i = 0; line && i < MAX_LINES; i++) {
        char *end = strchr(line, '\n'), *value = strchr(line, '=');
        if (end)
            *end = 0;
        if (!value || (end && value > end))
            return false;
        *value++ = 0;
        if (strcmp(line, "targets") == 0)
            wish->targets = value;
        else if (strcmp(line, "tune") == 0 && wish->tuned < MAX_TUNED)
            wish->tune[wish->tuned++] = value;
        else if (mercer_fit_options_set(&wish->fit, line, value, NULL) != MERCER_OK)
            return false;
        line = end && end[1] ? end + 1 : NULL;
    }
    wish->fit.want_features = 0;
    return mercer_fit_options_check(&wish->fit, 0, NULL) == MERCER_OK;
}

/* The features of the rows by a model, and how many numbers that are; 0 when it gives none. */
static int64_t features_of(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows,
                           double *out)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    if (info.components > MAX_FEATURES ||
        mercer_model_transform(ctx, model, rows, NULL, out, NULL, NULL) != MERCER_OK)
        return 0;
    for (int64_t i = 0; i < ROWS * info.components; i++)
        if (!isfinite(out[i]))
            abort();
    return ROWS * info.components;
}

static void compare(mercer_ctx *ctx, const mercer_model *other, const mercer_rows *rows,
                    const double *features, int64_t count)
{
    static double again[ROWS * MAX_FEATURES];
    if (features_of(ctx, other, rows, again) != count ||
        memcmp(again, features, (size_t)count * sizeof *again) != 0)
        abort();
}

/* Whether all that a model promises is kept: abort() if not. */
static void use(mercer_ctx *ctx, const struct wish *wish, const mercer_model *model,
                const mercer_rows *rows, const mercer_targets *targets)
{
    static double features[ROWS * MAX_FEATURES];
    mercer_model *other = NULL;
    void *bytes = NULL;
    size_t size = 0;
    int64_t count = features_of(ctx, model, rows, features);
    if (count == 0)
        return;
    if (mercer_model_to_bytes(ctx, model, &bytes, &size, NULL) != MERCER_OK ||
        mercer_model_from_bytes(ctx, bytes, size, &other, NULL) != MERCER_OK)
        abort();
    compare(ctx, other, rows, features, count);
    mercer_model_free(other);
    mercer_free(bytes);
    other = NULL;
    if (mercer_model_truncate(ctx, model, 1, &other, NULL) == MERCER_OK) {
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model_get_info(other, &info);
        if (info.components != 1)
            abort();
    }
    mercer_model_free(other);
    other = NULL;
    mercer_ctx_set_seed(ctx, SEED); /* from the start of the sequence, as the first one */
    if (mercer_fit(ctx, &wish->fit, rows, targets, &other, NULL, NULL) == MERCER_OK)
        compare(ctx, other, rows, features, count);
    mercer_model_free(other);
}

static mercer_status make_targets(const char *kind, mercer_targets **out)
{
    static const char *const names[CLASSES] = {"a", "b", "c"};
    int64_t codes[ROWS];
    double values[ROWS];
    *out = NULL;
    const int classes = kind && strcmp(kind, "two") == 0 ? 2 : CLASSES;
    for (int i = 0; i < ROWS; i++) {
        codes[i] = i % classes;
        values[i] = (double)(i * i % 11) - 4.5;
    }
    if (kind && (classes == 2 || strcmp(kind, "classes") == 0))
        return mercer_targets_new_classes(codes, ROWS, names, classes, NULL, out, NULL);
    if (kind && strcmp(kind, "values") == 0)
        return mercer_targets_new_values(values, ROWS, 1, NULL, out, NULL);
    return MERCER_OK;
}

static void tune(mercer_ctx *ctx, const struct wish *wish, const mercer_rows *rows,
                 const mercer_targets *targets)
{
    mercer_evaluate_options options;
    mercer_evaluation *chosen = NULL;
    mercer_evaluate_options_init(&options);
    options.fit = &wish->fit;
    options.folds = options.inner_folds = 3;
    options.tune = wish->tune;
    options.tune_count = wish->tuned;
    if ((mercer_tune(ctx, &options, rows, targets, &chosen, NULL) == MERCER_OK) != (chosen != NULL))
        abort();
    mercer_evaluation_free(chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double SECONDS = 1; /* for all of it */
    static struct wish wish;
    double x[ROWS * COLUMNS], end = fuzz_seconds() + SECONDS;
    const mercer_array array = {
        .struct_size = sizeof array, .data = x, .rank = 2, .shape = {ROWS, COLUMNS}};
    mercer_ctx *ctx = NULL;
    mercer_rows *rows = NULL;
    mercer_targets *targets = NULL;
    mercer_model *model = NULL;
    bool fitted = false;

    memset(&wish, 0, sizeof wish);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (double)(i * 7919 % 97) / 16 - 3;
    if (!read_wish(data, size, &wish) || mercer_ctx_new(&ctx, NULL) != MERCER_OK)
        return fuzz_result(false);
    mercer_ctx_set_poll(ctx, fuzz_is_over, &end);
    if (mercer_ctx_set_threads(ctx, 1, NULL) == MERCER_OK &&
        mercer_rows_view(ctx, &array, &rows, NULL) == MERCER_OK &&
        make_targets(wish.targets, &targets) == MERCER_OK) {
        if (wish.tuned > 0)
            tune(ctx, &wish, rows, targets);
        mercer_ctx_set_seed(ctx, SEED);
        mercer_status rc = mercer_fit(ctx, &wish.fit, rows, targets, &model, NULL, NULL);
        if ((rc == MERCER_OK) != (model != NULL))
            abort();
        fitted = model != NULL;
        if (fitted)
            use(ctx, &wish, model, rows, targets);
    }
    mercer_model_free(model);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    return fuzz_result(fitted);
}
