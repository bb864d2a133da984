/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rows of a table are to a model: features, errors, predictions. Computed once for all
 * pictures of a report. */
#include "draw.h"

#include <stdlib.h>
#include <string.h>

void chart_data_free(chart_data *data)
{
    if (!data)
        return;
    free(data->features);
    free(data->errors);
    free(data->predicted);
    free(data->scores);
    free(data);
}

/* count x width numbers; NULL, and *rc, when there is no memory. */
static void *take(int64_t count, int64_t width, mercer_status *rc, mercer_error *err)
{
    void *memory = *rc == MERCER_OK ? reallocarray(NULL, (size_t)count, (size_t)width * 8) : NULL;
    if (*rc == MERCER_OK && !memory)
        *rc = chart_fail(err, MERCER_ERR_MEMORY, "out of memory for the features of %lld rows",
                         (long long)count);
    return memory;
}

/* Whether the rows are those that the model was fitted to. */
static mercer_status compare_rows(chart_data *data, const mercer_rows *rows, mercer_error *err)
{
    char *checksum = NULL;
    if (!data->info.data_hash || !*data->info.data_hash)
        return MERCER_OK;
    const mercer_status rc = mercer_rows_checksum(rows, &checksum, err);
    /* A file may say anything, and numbers of its rows are looked up in these. */
    data->training = rc == MERCER_OK && data->info.rows == data->rows &&
                     strcmp(checksum, data->info.data_hash) == 0;
    mercer_free(checksum);
    return rc;
}

mercer_status chart_data_new(mercer_ctx *ctx, const mercer_model *model, const mercer_table *table,
                             const double *self, chart_data **out, mercer_error *err)
{
    chart_data *data = calloc(1, sizeof *data);
    const mercer_rows *rows = mercer_table_rows(table);
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!data)
        return chart_fail(err, MERCER_ERR_MEMORY, "out of memory");
    data->model = model;
    data->table = table;
    data->info.struct_size = sizeof data->info;
    mercer_model_get_info(model, &data->info);
    data->targets = mercer_table_targets(table);
    if (data->targets && mercer_targets_kind(data->targets) == MERCER_TARGET_NONE)
        data->targets = NULL;
    data->rows = mercer_rows_count(rows);
    if (data->rows == 0)
        rc = chart_fail(err, MERCER_ERR_DATA, "has no rows");
    data->features = take(data->rows, data->info.components, &rc, err);
    if (data->info.orthonormal && (self || !data->info.precomputed))
        data->errors = take(data->rows, 1, &rc, err);
    if (rc == MERCER_OK)
        rc = mercer_model_transform(ctx, model, rows, self, data->features, data->errors, err);
    if (data->info.head) {
        data->scores = take(data->rows, data->info.head_outputs, &rc, err);
        if (data->info.head_kind == MERCER_TARGET_CLASSES)
            data->predicted = take(data->rows, 1, &rc, err);
        if (rc == MERCER_OK)
            rc = mercer_model_predict(ctx, model, rows, 0, data->scores, data->predicted, err);
    }
    if (rc == MERCER_OK)
        rc = compare_rows(data, rows, err);
    if (rc != MERCER_OK) {
        chart_data_free(data);
        return rc;
    }
    *out = data;
    return MERCER_OK;
}
