/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a file through a model and out to another, block by block in bounded memory: what
 * transform, predict and inverse share. share.c has what several ranks do about them. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_row_pipe_start(cli_row_pipe *p, cli_app *app, bool images)
{
    const cli_settings *set = &app->set;
    *p = (cli_row_pipe){
        .app = app, .path = set->operand[1], .start = cli_now(), .error = NAN, .within = NAN};
    p->info.struct_size = sizeof p->info;
    const bool writes = mercer_ctx_rank(app->ctx) == 0;
    int status = images   ? cli_gallery_open(&p->gallery, set)
                 : writes ? cli_check_output(set->output)
                          : CLI_DONE;
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, set->operand[0], "model");
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, p->path, "data");
    if (status == CLI_DONE)
        status = cli_check_overwrite_options(set->output, set);
    if (status == CLI_DONE)
        status = cli_spool(app);
    if (status != CLI_DONE)
        return status;
    p->live = cli_is_live(p->path);
    status = cli_load_model(app, set->operand[0], &p->model, &p->err);
    if (status != CLI_DONE)
        return status;
    mercer_model_get_info(p->model, &p->info);
    return cli_gallery_check(&p->gallery, set, &p->info);
}

mercer_status cli_row_pipe_open(cli_row_pipe *p, const mercer_read_options *reading,
                                int64_t columns, int64_t extra_numbers_per_row, char **names,
                                int64_t width, int extra)
{
    p->by_name = reading->only != NULL;
    p->names = names;
    p->width = width;
    p->extra = extra;
    p->extra_numbers_per_row = extra_numbers_per_row;
    p->room = cli_block_rows(extra_numbers_per_row, INT64_MAX);
    p->wanted = cli_block_rows(columns + extra_numbers_per_row, 0);
    const mercer_status rc = mercer_reader_open(p->app->ctx, p->path, reading, &p->reader, &p->err);
    if (rc != MERCER_OK)
        return rc;
    mercer_ctx_set_progress(p->app->ctx, NULL, NULL); /* the rows are the progress */
    p->values = cli_alloc((size_t)p->room, (size_t)width * 8);
    if (extra) {
        p->errors = cli_alloc((size_t)p->room, 8);
        p->joined = cli_alloc((size_t)p->room, (size_t)(width + extra) * 8);
    }
    return mercer_ctx_ranks(p->app->ctx) > 1 ? cli_share_open(p) : MERCER_OK;
}

mercer_status cli_row_pipe_next(cli_row_pipe *p, const mercer_rows **rows)
{
    const bool shared = mercer_ctx_ranks(p->app->ctx) > 1;
    int64_t most = p->wanted;
    mercer_status rc = MERCER_OK;
    mercer_table_free(p->block);
    p->block = NULL;
    *rows = NULL;
    while (!p->block && rc == MERCER_OK) {
        if (shared)
            rc = cli_share_next(p, &most);
        if (rc != MERCER_OK || most == 0)
            return rc;
        rc = mercer_reader_next(p->app->ctx, p->reader, most < p->wanted ? most : p->wanted,
                                &p->block, &p->err);
        if (!shared)
            break;
        p->share.ended = !p->block;
    }
    if (rc == MERCER_OK && p->block) {
        *rows = mercer_table_rows(p->block);
        p->before = p->at;
        p->at += mercer_rows_count(*rows);
    }
    return rc;
}

void cli_row_pipe_tally(cli_row_pipe *p, double value)
{
    if (p->addend_count == p->addend_room) {
        p->addend_room = 2 * p->addend_room + 64;
        p->addends = cli_resize(p->addends, (size_t)p->addend_room, sizeof *p->addends);
    }
    p->addends[p->addend_count++] = value;
}

void cli_row_pipe_fold(cli_row_pipe *p)
{
    for (int64_t i = 0; i < p->addend_count; i++)
        p->total.sum += p->addends[i];
    p->total.rows += p->own.rows;
    p->total.novel += p->own.novel;
    p->total.judged += p->own.judged;
    p->total.within += p->own.within;
    p->own = (cli_tally){0};
    p->addend_count = 0;
}

void cli_row_pipe_note_skipped(cli_row_pipe *p)
{
    const char *first;
    const int64_t skipped = mercer_reader_skipped(p->reader, &first);
    if (skipped == 0)
        return;
    char *text =
        skipped == 1
            ? cli_format("%s: column '%s' is not used by the model", cli_shown(p->path), first)
            : cli_format("%s: %lld columns are not used by the model, the first is '%s'",
                         cli_shown(p->path), (long long)skipped, first);
    cli_notice(p->app, text);
    free(text);
}

/* The rows at hand into the table that goes out. */
static mercer_status write_table(cli_row_pipe *p, int64_t count, const mercer_targets *kept)
{
    const cli_settings *set = &p->app->set;
    const cli_ids ids = {.table = p->block};
    mercer_status rc = MERCER_OK;
    /* Opened only now: a call that cannot work leaves nothing behind, not even a header. */
    if (!p->sink.writer)
        rc = cli_sink_open(&p->sink, p->app, set->output, set->output_format, p->width + p->extra,
                           (const char *const *)p->names, kept, &ids, &p->err);
    if (rc == MERCER_OK)
        rc = cli_sink_rows(&p->sink, p->app->ctx, p->errors ? p->joined : p->values, count, kept,
                           &ids, &p->err);
    if (rc == MERCER_OK && p->live)
        rc = cli_sink_flush(&p->sink, &p->err);
    return rc;
}

mercer_status cli_row_pipe_write(cli_row_pipe *p, const mercer_targets *kept)
{
    const cli_settings *set = &p->app->set;
    const mercer_rows *rows = mercer_table_rows(p->block);
    const int64_t count = mercer_rows_count(rows), width = p->width;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; p->errors && i < count; i++) {
        double *row = p->joined + i * (width + p->extra);
        memcpy(row, p->values + i * width, (size_t)width * sizeof *row);
        row[width] = p->errors[i];
        cli_row_pipe_tally(p, p->errors[i]);
        if (p->extra > 1) {
            row[width + 1] = p->errors[i] > p->info.novelty_threshold;
            p->own.novel += p->errors[i] > p->info.novelty_threshold;
        }
        if (p->extra > 2 && rc == MERCER_OK)
            rc = mercer_model_p_values(p->model, p->errors + i, 1, row + width + 2, &p->err);
    }
    if (rc != MERCER_OK)
        return rc;
    if (p->top)
        cli_top_add(p->top, p->block, kept, p->errors, p->before);
    else
        rc = p->gallery.wanted
                 ? cli_gallery_rows(&p->gallery, p->app, &p->info, p->values, count, &p->err)
                 : write_table(p, count, kept);
    if (rc != MERCER_OK)
        return rc;
    p->begun = true;
    p->own.rows += count;
    if (mercer_ctx_ranks(p->app->ctx) == 1)
        cli_row_pipe_fold(p);
    p->wanted =
        cli_block_rows(mercer_rows_entries(rows) / count + p->extra_numbers_per_row, p->room);
    char phase[48];
    snprintf(phase, sizeof phase, "%s rows", cli_text_count(p->at).text);
    if (!p->live || !cli_is_stdout(set->output)) /* else a bar would stand between the answers */
        cli_progress(NULL, phase, -1);
    return MERCER_OK;
}

mercer_status cli_row_pipe_finish(cli_row_pipe *p, const char *what, const char *width_key,
                                  const char *error_key)
{
    const cli_settings *set = &p->app->set;
    if (p->total.rows == 0)
        return cli_error(&p->err, MERCER_ERR_DATA, "has no rows");
    if (mercer_ctx_rank(p->app->ctx) > 0)
        return MERCER_OK; /* rank 0 has all rows, and tells */
    const bool images = p->gallery.wanted;
    const mercer_status rc = p->top   ? cli_top_write(p->top, p->app, p->model, p->extra, &p->err)
                             : images ? cli_gallery_finish(&p->gallery, p->app, &p->info, &p->err)
                                      : cli_sink_finish(&p->sink, p->app->ctx, &p->err);
    if (rc != MERCER_OK)
        return rc;
    const bool on_stdout = cli_is_stdout(set->output);
    const double seconds = cli_now() - p->start;
    const int64_t shown = p->shown ? p->shown : p->width;
    cli_progress_clear();
    if (set->json) {
        json_t *json = json_object();
        json_object_set_new(json, "model", cli_json_text(set->operand[0]));
        json_object_set_new(json, "data", cli_json_text(p->path));
        json_object_set_new(json, "output",
                            cli_json_text(images   ? set->output
                                          : p->top ? (set->output ? set->output : "-")
                                                   : p->sink.path));
        json_object_set_new(json, "rows", json_integer(p->total.rows));
        json_object_set_new(json, width_key, json_integer(shown));
        json_object_set_new(
            json, error_key,
            cli_json_real(p->errors ? p->total.sum / (double)p->total.rows : p->error));
        if (p->extra > 1)
            json_object_set_new(json, "novel", json_integer(p->total.novel));
        if (!isnan(p->within))
            json_object_set_new(json, "within", cli_json_real(p->within));
        json_object_set_new(json, "seconds", cli_json_real(seconds));
        json_object_set_new(json, "peak_memory_bytes", json_integer(cli_peak_memory()));
        json_object_set_new(json, "notices", cli_json_notices(p->app));
        cli_json_print(on_stdout ? stderr : stdout, json);
        return MERCER_OK;
    }
    cli_print_notices(p->app);
    if (p->extra > 1)
        snprintf(p->note, sizeof p->note, "; %s novel", cli_text_count(p->total.novel).text);
    if (images && !set->quiet)
        printf("%s: %s image%s of %lldx%lld pixels in %s\n", cli_visible(set->output),
               cli_text_count(p->total.rows).text, p->total.rows == 1 ? "" : "s",
               (long long)p->info.image_width, (long long)p->info.image_height,
               cli_text_seconds(seconds).text);
    else if (p->top && !on_stdout && !set->quiet)
        printf("%s: the %s of %s rows with the largest errors, in %s%s\n", cli_visible(set->output),
               cli_text_count(set->top < p->total.rows ? set->top : p->total.rows).text,
               cli_text_count(p->total.rows).text, cli_text_seconds(seconds).text, p->note);
    else if (!on_stdout && !set->quiet)
        printf("%s: %s rows x %lld %s in %s%s\n", cli_visible(p->sink.path),
               cli_text_count(p->total.rows).text, (long long)shown, what,
               cli_text_seconds(seconds).text, p->note);
    if (!on_stdout && !set->quiet)
        cli_print_ranks_sent(stdout, p->app, p->share.sent);
    return MERCER_OK;
}

int cli_row_pipe_end(cli_row_pipe *p, mercer_status rc, int status)
{
    if (rc != MERCER_OK)
        status = p->by_name ? cli_fail_library(rc, &p->err, p->path)
                            : cli_fail_reading(&p->app->set, rc, &p->err, p->path);
    cli_sink_abort(&p->sink);
    cli_gallery_free(&p->gallery);
    cli_top_free(p->top);
    mercer_table_free(p->block);
    mercer_reader_close(p->reader);
    mercer_model_free(p->model);
    cli_names_free(p->names, p->width + p->extra);
    free(p->values);
    free(p->errors);
    free(p->joined);
    free(p->addends);
    free(p->share.piece);
    return status;
}
