/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of an evaluation as JSON; docs/json.md lists the members. */
#include "base/json_writer.h"
#include "base/number.h"
#include "eval/result.h"

#include <mercer/json.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the choice that starts at text ends: at a comma before the next key, since kernels have
 * commas too. */
static size_t choice_length(const char *text)
{
    static const char *const keys[] = {"kernel=", "kernel.", "method.", "head."};
    size_t length = strcspn(text, ",");
    while (text[length]) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(text + length + 1, keys[i], strlen(keys[i])) == 0)
                return length;
        length += 1 + strcspn(text + length + 1, ",");
    }
    return length;
}

/* "kernel.sigma=2,method.loss=ls" as members; numbers are numbers. */
static void put_chosen(mrc_json_writer *json, const mercer_evaluation_fold *fold)
{
    enum { KEY_SIZE = 96 }; /* KIND.KEY, which the grid has found in a schema */
    mrc_json_open_object(json, "chosen");
    mrc_json_put_int(json, "components", fold->components);
    for (const char *text = fold->chosen; *text;) {
        const size_t length = choice_length(text), key_length = strcspn(text, "=");
        const char *value = text + key_length + 1;
        const size_t value_length = length - key_length - 1;
        char key[KEY_SIZE];
        double number;
        snprintf(key, sizeof key, "%.*s", (int)key_length, text);
        if (mrc_parse_double(value, value_length, &number) && isfinite(number))
            mrc_json_put_real(json, key, number);
        else
            mrc_json_put_text_part(json, key, value, value_length);
        text += length + (text[length] != 0);
    }
    mrc_json_close(json);
}

static void put_counts(mrc_json_writer *json, const char *key, const int64_t *counts, int64_t count)
{
    mrc_json_open_array(json, key);
    for (int64_t i = 0; i < count; i++)
        mrc_json_put_int(json, NULL, counts[i]);
    mrc_json_close(json);
}

static void put_confusion(mrc_json_writer *json, const mercer_evaluation *e)
{
    mrc_json_open_array(json, "classes");
    for (int64_t i = 0; i < e->outputs; i++)
        mrc_json_put_text(json, NULL, e->class_names[i]);
    mrc_json_close(json);
    mrc_json_open_array(json, "confusion");
    for (int64_t i = 0; i < e->outputs; i++)
        put_counts(json, NULL, e->confusion + i * e->outputs, e->outputs);
    mrc_json_close(json);
    put_counts(json, "undecided", e->undecided, e->outputs);
}

mercer_status mercer_evaluation_json(const mercer_evaluation *evaluation, char **out,
                                     mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(evaluation);
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mrc_json_writer json;
    mercer_evaluation_get_info(evaluation, &info);
    mrc_json_start(&json, err);
    mrc_json_put_text(&json, "metric", info.metric);
    mrc_json_put_truth(&json, "larger_is_better", info.larger_is_better != 0);
    mrc_json_put_text(&json, "positive", info.positive);
    mrc_json_put_real(&json, "mean", info.mean);
    mrc_json_put_real(&json, "sd", info.sd);
    mrc_json_put_int(&json, "choices", info.choices);
    mrc_json_open_array(&json, "folds");
    for (int64_t f = 0; f < info.folds; f++) {
        mercer_evaluation_fold fold = {.struct_size = sizeof fold};
        mercer_evaluation_get_fold(evaluation, f, &fold);
        mrc_json_open_object(&json, NULL);
        mrc_json_put_real(&json, "value", fold.value);
        mrc_json_put_real(&json, "inner", fold.inner);
        mrc_json_put_int(&json, "rows", fold.rows);
        mrc_json_put_int(&json, "expansion_points", fold.points);
        put_chosen(&json, &fold);
        mrc_json_close(&json);
    }
    mrc_json_close(&json);
    if (info.confusion)
        put_confusion(&json, evaluation);
    return mrc_json_finish(&json, out);
}
