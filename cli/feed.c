/* Rows of a file or pipe into a stream, block by block in bounded memory, with checkpoints: what
 * update and the fit of streaming methods share. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Rows to read next: to the end of a block, of as many as are worth it, but not past the next
 * checkpoint. */
static int64_t wanted_rows(const cli_feed *feed, const mercer_stream_info *info)
{
    enum { BLOCKS = 32 };
    const int64_t checkpoint = feed->app->set.checkpoint, block = info->block;
    if (info->rows + info->pending == 0) /* what happens to columns is learnt from the first read */
        return info->wanted;
    /* Blocks read ahead only cost memory: learning from one takes longer than a read. */
    int64_t room = cli_block_rows(feed->columns, BLOCKS * block) - info->wanted;
    const int64_t due = checkpoint - feed->since - info->wanted;
    if (checkpoint && room > due + block - 1)
        room = due + block - 1;
    return info->wanted + (room > 0 ? room / block * block : 0);
}

static mercer_status save(cli_feed *feed)
{
    const double start = cli_now();
    const mercer_model *model = NULL;
    mercer_status rc = mercer_stream_model(feed->app->ctx, feed->stream, &model, NULL, &feed->err);
    if (rc == MERCER_OK)
        rc = mercer_model_save(feed->app->ctx, model, feed->output, &feed->err);
    feed->seconds_write += cli_now() - start;
    return rc;
}

static mercer_status checkpoint(cli_feed *feed)
{
    const mercer_status rc = save(feed);
    feed->since = 0;
    feed->checkpoints += rc == MERCER_OK;
    return rc == MERCER_ERR_DATA ? MERCER_OK : rc; /* nothing to extract yet */
}

static void look_at(cli_feed *feed, const mercer_table *table)
{
    const mercer_rows *rows = mercer_table_rows(table);
    const mercer_targets *targets = mercer_table_targets(table);
    if (!feed->origin && mercer_table_target_origin(table))
        feed->origin = cli_copy(mercer_table_target_origin(table));
    if (targets && mercer_targets_kind(targets) == MERCER_TARGET_CLASSES)
        feed->classes = mercer_targets_classes(targets);
    feed->columns = mercer_rows_columns(rows);
    feed->sparse = mercer_rows_is_sparse(rows);
    feed->entries += mercer_rows_entries(rows);
}

/* One read and what follows from it; *more: there may be others. */
static mercer_status step(cli_feed *feed, mercer_reader *reader, bool *more)
{
    mercer_ctx *ctx = feed->app->ctx;
    mercer_stream_info info = {.struct_size = sizeof info};
    mercer_table *table = NULL;
    double start = cli_now();
    mercer_stream_get_info(feed->stream, &info);
    mercer_status rc =
        mercer_reader_next(ctx, reader, wanted_rows(feed, &info), &table, &feed->err);
    feed->seconds_read += cli_now() - start;
    *more = rc == MERCER_OK && table;
    if (!*more)
        return rc;
    const int64_t before = info.input_rows, count = mercer_rows_count(mercer_table_rows(table));
    look_at(feed, table);
    start = cli_now();
    rc = mercer_stream_push(ctx, feed->stream, mercer_table_rows(table), &feed->err);
    feed->seconds += cli_now() - start;
    mercer_table_free(table);
    mercer_stream_get_info(feed->stream, &info);
    if (rc == MERCER_ERR_DATA && feed->read > 0 && !info.input_differs) {
        const size_t used = strlen(feed->err.text);
        snprintf(feed->err.text + used, sizeof feed->err.text - used,
                 ", counted after the first %lld rows", (long long)feed->read);
    }
    if (rc != MERCER_OK)
        return rc;
    feed->read += count;
    feed->learnt += info.input_rows - before;
    feed->since += info.input_rows - before;
    if (feed->app->set.checkpoint && info.pending == 0 && feed->since >= feed->app->set.checkpoint)
        rc = checkpoint(feed);
    char phase[48];
    snprintf(phase, sizeof phase, "%s rows", cli_text_count(feed->read).text);
    cli_progress(NULL, phase, -1);
    return rc;
}

/* All rows were read: are they enough? Fewer than a finished input had may be part of it or another
 * one; nobody can tell, so nothing is learnt from them. */
static mercer_status check_count(cli_feed *feed)
{
    mercer_stream_info info = {.struct_size = sizeof info};
    mercer_stream_get_info(feed->stream, &info);
    if (feed->read == 0)
        snprintf(feed->err.text, sizeof feed->err.text, "has no rows");
    else if (info.input_finished && feed->read < info.input_rows)
        snprintf(feed->err.text, sizeof feed->err.text,
                 "has only %lld rows, but the model learnt last from %lld; if they are others, it "
                 "learns from them without --resume",
                 (long long)feed->read, (long long)info.input_rows);
    else
        return MERCER_OK;
    return MERCER_ERR_DATA;
}

mercer_status cli_feed_run(cli_feed *feed, mercer_read_options *reading)
{
    mercer_reader *reader = NULL;
    bool more = true;
    reading->patient = 1; /* nobody waits for an answer before the end */
    mercer_status rc = mercer_reader_open(feed->app->ctx, feed->path, reading, &reader, &feed->err);
    mercer_ctx_set_progress(feed->app->ctx, NULL, NULL); /* the rows are the progress */
    while (rc == MERCER_OK && more)
        rc = step(feed, reader, &more);
    mercer_reader_close(reader);
    if (rc == MERCER_OK)
        rc = check_count(feed);
    const double start = cli_now();
    if (rc == MERCER_OK)
        rc = mercer_stream_flush(feed->app->ctx, feed->stream, &feed->err);
    feed->seconds += cli_now() - start;
    if (rc == MERCER_OK && feed->output)
        rc = save(feed);
    return rc;
}

/* Whether the rows can be read once more. */
static bool is_read_again(const char *path)
{
    struct stat what;
    return strcmp(path, "-") != 0 &&
           (stat(path, &what) != 0 || S_ISREG(what.st_mode) || S_ISDIR(what.st_mode));
}

bool cli_feed_start_over(cli_feed *feed)
{
    mercer_stream_info info = {.struct_size = sizeof info};
    if (!feed->stream)
        return false;
    mercer_stream_get_info(feed->stream, &info);
    if (!info.input_differs || !info.input_finished)
        return false;
    if (!is_read_again(feed->path)) {
        snprintf(feed->err.text, sizeof feed->err.text,
                 "is another input than the model learnt from last, and cannot be read once more; "
                 "without --resume the model learns from it");
        return false;
    }
    cli_feed_end(feed);
    *feed = (cli_feed){.app = feed->app, .path = feed->path, .output = feed->output};
    cli_notice(feed->app, "nothing had been learnt from these rows: they are a new input");
    return true;
}

mercer_status cli_feed_begin(cli_feed *feed)
{
    mercer_stream_begin_input(feed->stream);
    /* From here on an interruption leaves a model that knows how much of this input it has seen. */
    return feed->app->set.checkpoint ? save(feed) : MERCER_OK;
}

void cli_feed_end(cli_feed *feed)
{
    mercer_stream_free(feed->stream);
    free(feed->origin);
}
