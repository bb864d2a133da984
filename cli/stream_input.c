/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a file or pipe into a stream, block by block in bounded memory, with checkpoints: what
 * update and the fit of streaming methods share. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Rows to read next: to the end of a block, of as many as are worth it, but not past the next
 * checkpoint. */
static int64_t wanted_rows(const cli_stream_input *input, const mercer_stream_info *info)
{
    enum { BLOCKS = 32 };
    const int64_t checkpoint = input->app->set.checkpoint, block = info->block;
    if (info->rows + info->pending == 0) /* what happens to columns is learnt from the first read */
        return info->wanted;
    /* Blocks read ahead only cost memory: learning from one takes longer than a read. */
    int64_t room = cli_block_rows(input->columns, BLOCKS * block) - info->wanted;
    const int64_t due = checkpoint - input->since - info->wanted;
    if (checkpoint && room > due + block - 1)
        room = due + block - 1;
    return info->wanted + (room > 0 ? room / block * block : 0);
}

static mercer_status save(cli_stream_input *input)
{
    const double start = cli_now();
    const mercer_model *model = NULL;
    mercer_status rc =
        mercer_stream_model(input->app->ctx, input->stream, &model, NULL, &input->err);
    if (rc == MERCER_OK)
        rc = mercer_model_save(input->app->ctx, model, input->output, &input->err);
    input->seconds_write += cli_now() - start;
    return rc;
}

static mercer_status checkpoint(cli_stream_input *input)
{
    const mercer_status rc = save(input);
    mercer_stream_info info = {.struct_size = sizeof info};
    input->since = 0;
    input->checkpoints += rc == MERCER_OK;
    mercer_stream_get_info(input->stream, &info);
    if (rc == MERCER_OK) {
        char *note = cli_format("%s holds the first %s rows: go on with --resume", input->output,
                                cli_text_count(info.input_rows).text);
        cli_interrupt_note(note);
        free(note);
    }
    return rc == MERCER_ERR_DATA ? MERCER_OK : rc; /* nothing to extract yet */
}

static void look_at(cli_stream_input *input, const mercer_table *table)
{
    const mercer_rows *rows = mercer_table_rows(table);
    const mercer_targets *targets = mercer_table_targets(table);
    if (!input->origin && mercer_table_target_origin(table))
        input->origin = cli_copy(mercer_table_target_origin(table));
    if (targets && mercer_targets_kind(targets) == MERCER_TARGET_CLASSES)
        input->classes = mercer_targets_classes(targets);
    input->columns = mercer_rows_columns(rows);
    input->sparse = mercer_rows_is_sparse(rows);
    input->entries += mercer_rows_entries(rows);
}

/* One read and what follows from it; *more: there may be others. */
static mercer_status step(cli_stream_input *input, mercer_reader *reader, bool *more)
{
    mercer_ctx *ctx = input->app->ctx;
    mercer_stream_info info = {.struct_size = sizeof info};
    mercer_table *table = NULL;
    double start = cli_now();
    mercer_stream_get_info(input->stream, &info);
    mercer_status rc =
        mercer_reader_next(ctx, reader, wanted_rows(input, &info), &table, &input->err);
    input->seconds_read += cli_now() - start;
    *more = rc == MERCER_OK && table;
    if (!*more)
        return rc;
    const int64_t before = info.input_rows, count = mercer_rows_count(mercer_table_rows(table));
    look_at(input, table);
    start = cli_now();
    rc = mercer_stream_push(ctx, input->stream, mercer_table_rows(table), &input->err);
    input->seconds += cli_now() - start;
    mercer_table_free(table);
    mercer_stream_get_info(input->stream, &info);
    if (rc == MERCER_ERR_DATA && !info.input_differs)
        cli_error_place_block(&input->err, input->read);
    if (rc != MERCER_OK)
        return rc;
    input->read += count;
    input->learnt += info.input_rows - before;
    input->since += info.input_rows - before;
    if (input->app->set.checkpoint && info.pending == 0 &&
        input->since >= input->app->set.checkpoint)
        rc = checkpoint(input);
    char phase[48];
    snprintf(phase, sizeof phase, "%s rows", cli_text_count(input->read).text);
    cli_progress(NULL, phase, -1);
    return rc;
}

/* All rows were read: are they enough? Fewer than a finished input had may be part of it or another
 * one; that is not known, so nothing is learnt from them. */
static mercer_status check_count(cli_stream_input *input)
{
    mercer_stream_info info = {.struct_size = sizeof info};
    mercer_stream_get_info(input->stream, &info);
    if (input->read == 0)
        return cli_error(&input->err, MERCER_ERR_DATA, "has no rows");
    if (info.input_finished && input->read < info.input_rows)
        return cli_error(&input->err, MERCER_ERR_DATA,
                         "has only %lld rows, but the model learnt last from %lld; if they are "
                         "others, it learns from them without --resume",
                         (long long)input->read, (long long)info.input_rows);
    return MERCER_OK;
}

mercer_status cli_stream_input_run(cli_stream_input *input, mercer_read_options *reading)
{
    mercer_reader *reader = NULL;
    bool more = true;
    reading->fill_blocks = 1; /* nobody waits for an answer before the end */
    mercer_status rc =
        mercer_reader_open(input->app->ctx, input->path, reading, &reader, &input->err);
    mercer_ctx_set_progress(input->app->ctx, NULL, NULL); /* the rows are the progress */
    while (rc == MERCER_OK && more)
        rc = step(input, reader, &more);
    mercer_reader_close(reader);
    if (rc == MERCER_OK)
        rc = check_count(input);
    const double start = cli_now();
    if (rc == MERCER_OK)
        rc = mercer_stream_flush(input->app->ctx, input->stream, &input->err);
    input->seconds += cli_now() - start;
    if (rc == MERCER_OK && input->output)
        rc = save(input);
    return rc;
}

/* Whether the rows can be read once more. */
static bool is_read_again(const char *path)
{
    struct stat what;
    return strcmp(path, "-") != 0 &&
           (stat(path, &what) != 0 || S_ISREG(what.st_mode) || S_ISDIR(what.st_mode));
}

bool cli_stream_input_start_over(cli_stream_input *input)
{
    mercer_stream_info info = {.struct_size = sizeof info};
    if (!input->stream)
        return false;
    mercer_stream_get_info(input->stream, &info);
    if (!info.input_differs || !info.input_finished)
        return false;
    if (!is_read_again(input->path)) {
        cli_error(&input->err, MERCER_ERR_DATA,
                  "is another input than the model learnt from last, and cannot be read once more; "
                  "without --resume the model learns from it");
        return false;
    }
    cli_stream_input_end(input);
    *input = (cli_stream_input){.app = input->app, .path = input->path, .output = input->output};
    cli_notice(input->app, "nothing had been learnt from these rows: they are a new input");
    return true;
}

mercer_status cli_stream_input_begin(cli_stream_input *input)
{
    mercer_stream_begin_input(input->stream);
    /* From here on an interruption leaves a model that knows how much of this input it has seen. */
    return input->app->set.checkpoint ? save(input) : MERCER_OK;
}

void cli_stream_input_end(cli_stream_input *input)
{
    mercer_stream_free(input->stream);
    free(input->origin);
}
