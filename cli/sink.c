/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables going out: classes or target values in front, then numbers. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int64_t cli_block_rows(int64_t numbers, int64_t most)
{
    /* Raising BYTES saves little: a block already takes far longer than its overhead. But the
     * library computes with CHUNK rows per thread, and fewer cost as much. */
    enum { BYTES = 8 << 20, MAX_BYTES = 64 << 20, CHUNK = 64, FEW = 4 * CHUNK, FIRST = 64 };
    const int64_t bytes = 8 * (numbers + 1);
    int64_t rows = BYTES / bytes;
    if (rows < FEW)
        rows = MAX_BYTES / bytes < FEW ? MAX_BYTES / bytes : FEW;
    if (rows > CHUNK)
        rows -= rows % CHUNK;
    if (rows < 1)
        rows = 1;
    if (most == 0)
        most = FIRST;
    return rows < most ? rows : most;
}

/* True for standard output, and for devices and pipes whose names tell no format. */
static bool is_stream(const char *path)
{
    if (strcmp(path, "-") == 0)
        return true;
    const char *slash = strrchr(path, '/');
    struct stat there;
    return !strchr(slash ? slash : path, '.') && stat(path, &there) == 0 && !S_ISREG(there.st_mode);
}

/* Whether ids go out, in a format that has room for them. */
static bool takes_ids(cli_app *app, const char *path, const mercer_entry *format,
                      const cli_ids *ids)
{
    if (!ids || !mercer_table_id_name(ids->table))
        return false;
    if (cli_has_header(format))
        return true;
    char *text = cli_format("%s: the format %s has no room for ids: they are left out", path,
                            mercer_entry_name(format));
    cli_notice(app, text);
    free(text);
    return false;
}

mercer_status cli_sink_open(cli_sink *sink, cli_app *app, const char *path, const char *format,
                            int64_t columns, const char *const *names,
                            const mercer_targets *targets, const cli_ids *ids, mercer_error *err)
{
    *sink = (cli_sink){.path = path ? path : "-"};
    if (is_stream(sink->path)) /* what went out stays there */
        cli_interrupt_note("");
    if (!format && is_stream(sink->path))
        format = "csv";
    const mercer_entry *entry = mercer_format_find(sink->path, format);
    const char *form = mercer_entry_name(entry);
    const bool libsvm = form && strcmp(form, "libsvm") == 0;
    const mercer_target_kind kind = targets ? mercer_targets_kind(targets) : MERCER_TARGET_NONE;
    const char *text_name = NULL, *text_names[2] = {NULL, NULL};
    sink->ids = takes_ids(app, sink->path, entry, ids);
    if (kind == MERCER_TARGET_CLASSES) {
        text_name = mercer_targets_name(targets, 0);
        if (!text_name)
            text_name = "label";
        sink->text = true;
    } else if (kind == MERCER_TARGET_VALUES && libsvm) {
        text_name = "target";
        sink->text = true;
        sink->labels = mercer_targets_columns(targets);
    } else if (kind == MERCER_TARGET_VALUES) {
        sink->leading = mercer_targets_columns(targets);
    }
    sink->columns = sink->leading + columns;

    const char **all = NULL;
    char **made = NULL;
    if (names) {
        all = cli_alloc((size_t)sink->columns, sizeof *all);
        made = cli_names_numbered("target", sink->leading, 0);
        for (int64_t j = 0; j < sink->leading; j++) {
            const char *name = mercer_targets_name(targets, j);
            all[j] = name ? name : made[j];
        }
        for (int64_t j = 0; j < columns; j++)
            all[sink->leading + j] = names[j];
    }
    if (sink->ids)
        text_names[0] = mercer_table_id_name(ids->table);
    text_names[sink->ids] = text_name;
    const mercer_status rc =
        mercer_ctx_rank(app->ctx) > 0
            ? mercer_writer_open_part(app->ctx, sink->path, format, sink->columns,
                                      sink->ids + sink->text, text_names, &sink->writer, err)
            : mercer_writer_open_texts(app->ctx, sink->path, format, sink->columns, all,
                                       sink->ids + sink->text, text_names, &sink->writer, err);
    cli_names_free(made, names ? sink->leading : 0);
    free(all);
    return rc;
}

static void make_room(cli_sink *sink, int64_t count)
{
    if (count <= sink->room)
        return;
    free(sink->buffer);
    free(sink->names);
    free(sink->formatted);
    sink->room = count;
    sink->buffer = sink->leading ? cli_alloc((size_t)count, (size_t)sink->columns * 8) : NULL;
    const size_t texts = (size_t)(sink->ids + sink->text);
    sink->names = texts ? cli_alloc((size_t)count * texts, sizeof *sink->names) : NULL;
    sink->formatted =
        sink->labels ? cli_alloc((size_t)count, (size_t)sink->labels * MERCER_NUMBER_SIZE) : NULL;
}

/* The texts in front of rows first, first + 1, ...; NULL when there are none. */
static const char *const *texts_of(cli_sink *sink, const mercer_targets *targets,
                                   const cli_ids *ids, int64_t first, int64_t count)
{
    const char **names = sink->names;
    const int64_t texts = sink->ids + sink->text;
    if (!names)
        return NULL;
    for (int64_t i = 0; i < count && sink->ids; i++)
        names[i * texts] = mercer_table_id(ids->table, ids->row ? ids->row[first + i] : first + i);
    if (!sink->text)
        return names;
    const char **text = names + sink->ids;
    for (int64_t i = 0; i < count && sink->labels; i++) {
        const double *values = mercer_targets_values(targets) + (first + i) * sink->labels;
        char *at = sink->formatted + i * sink->labels * MERCER_NUMBER_SIZE;
        text[i * texts] = at;
        for (int64_t k = 0; k < sink->labels; k++) {
            at += mercer_number_format(values[k], at, MERCER_NUMBER_SIZE);
            *at++ = k + 1 < sink->labels ? ',' : 0;
        }
    }
    for (int64_t i = 0; i < count && !sink->labels; i++)
        text[i * texts] =
            mercer_targets_class_name(targets, mercer_targets_codes(targets)[first + i]);
    return names;
}

/* count rows at x, whose targets are those from first on. */
static mercer_status put_rows(cli_sink *sink, mercer_ctx *ctx, const double *x, int64_t first,
                              int64_t count, const mercer_targets *targets, const cli_ids *ids,
                              mercer_error *err)
{
    make_room(sink, count);
    if (sink->leading) {
        const double *values = mercer_targets_values(targets) + first * sink->leading;
        const int64_t rest = sink->columns - sink->leading;
        for (int64_t i = 0; i < count; i++) {
            double *row = sink->buffer + i * sink->columns;
            memcpy(row, values + i * sink->leading, (size_t)sink->leading * sizeof *row);
            memcpy(row + sink->leading, x + i * rest, (size_t)rest * sizeof *row);
        }
        x = sink->buffer;
    }
    sink->rows += count;
    return mercer_writer_rows(ctx, sink->writer, x, count, sink->columns,
                              texts_of(sink, targets, ids, first, count), err);
}

mercer_status cli_sink_rows(cli_sink *sink, mercer_ctx *ctx, const double *x, int64_t count,
                            const mercer_targets *targets, const cli_ids *ids, mercer_error *err)
{
    return put_rows(sink, ctx, x, 0, count, targets, ids, err);
}

mercer_status cli_sink_table(cli_sink *sink, mercer_ctx *ctx, const mercer_rows *rows,
                             const mercer_targets *targets, const cli_ids *ids, mercer_error *err)
{
    const int64_t n = mercer_rows_count(rows), d = mercer_rows_columns(rows);
    if (!sink->leading) {
        make_room(sink, n);
        sink->rows += n;
        return mercer_writer_add(ctx, sink->writer, rows, texts_of(sink, targets, ids, 0, n), err);
    }
    const int64_t most = cli_block_rows(2 * d, INT64_MAX);
    double *values = cli_alloc((size_t)(n < most ? n : most), (size_t)d * 8);
    mercer_status rc = MERCER_OK;
    for (int64_t first = 0; first < n && rc == MERCER_OK; first += most) {
        const int64_t count = n - first < most ? n - first : most;
        mercer_rows_copy(rows, first, count, values);
        rc = put_rows(sink, ctx, values, first, count, targets, ids, err);
    }
    free(values);
    return rc;
}

static void sink_release(cli_sink *sink)
{
    sink->writer = NULL;
    free(sink->buffer);
    free(sink->names);
    free(sink->formatted);
    sink->buffer = NULL;
    sink->names = NULL;
    sink->formatted = NULL;
}

mercer_status cli_sink_flush(cli_sink *sink, mercer_error *err)
{
    return mercer_writer_flush(sink->writer, err);
}

mercer_status cli_sink_finish(cli_sink *sink, mercer_ctx *ctx, mercer_error *err)
{
    mercer_writer *writer = sink->writer;
    sink_release(sink);
    return mercer_writer_finish(ctx, writer, err);
}

void cli_sink_abort(cli_sink *sink)
{
    mercer_writer_abort(sink->writer);
    sink_release(sink);
}

mercer_status cli_predicted_classes(const int64_t *codes, int64_t n, const char *const *names,
                                    int64_t classes, mercer_targets **out, mercer_error *err)
{
    int64_t *shown = cli_alloc((size_t)n, sizeof *shown);
    const char **all = cli_alloc((size_t)classes + 1, sizeof *all);
    memcpy(all, names, (size_t)classes * sizeof *all);
    all[classes] = "";
    for (int64_t i = 0; i < n; i++)
        shown[i] = codes[i] == MERCER_NO_CLASS ? classes : codes[i];
    const mercer_status rc =
        mercer_targets_new_classes(shown, n, all, classes + 1, "prediction", out, err);
    free(shown);
    free(all);
    return rc;
}

char **cli_names(const mercer_rows *rows, const char *prefix, int64_t count)
{
    if (!mercer_rows_name(rows, 0))
        return prefix ? cli_names_numbered(prefix, count, 0) : NULL;
    char **names = cli_alloc((size_t)count, sizeof *names);
    for (int64_t j = 0; j < count; j++)
        names[j] = cli_copy(mercer_rows_name(rows, j));
    return names;
}

char **cli_names_numbered(const char *prefix, int64_t count, int extra)
{
    static const char *const more[] = {"error", "novel", "p"};
    char **names = cli_alloc((size_t)(count + extra), sizeof *names);
    for (int64_t j = 0; j < count; j++)
        names[j] = cli_format("%s%lld", prefix, (long long)j + 1);
    for (int j = 0; j < extra; j++)
        names[count + j] = cli_copy(more[j]);
    return names;
}

void cli_names_free(char **names, int64_t count)
{
    if (!names)
        return;
    for (int64_t j = 0; j < count; j++)
        free(names[j]);
    free(names);
}
