/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's part of a table, for rows that are spread over ranks.
 *
 * Formats that can step over rows (NPY, text) are read from the first row of the part on. Of others
 * every rank reads what comes before its part, too, block by block, and keeps nothing of it; of
 * sparse matrices, which are read at once, it keeps the entries of its rows (io/csr_build.c). Where
 * the format does not tell how many rows there are (text), they are counted first, in a pass of
 * their own that only looks for the ends of rows. What has to be learnt from all rows before they
 * are numbers is refused: a rank would learn it from others than the next one.
 *
 * A bad row is found by the rank that has it, and ranks before it find those that come before it:
 * what the lowest of them says is what one rank says. Whether classes are values is judged by the
 * classes of all ranks. */
#include "base/bytes.h"
#include "base/comm.h"
#include "base/params.h"
#include "base/strips.h"
#include "data/spread_targets.h"
#include "io/reader.h"

#include <string.h>

enum { BLOCK_BYTES = 1 << 23 };

/* The rows of this rank, as they come. */
struct part {
    int64_t total, first, count; /* rows of the table, and which of them */
    int64_t filled;
    bool begun;
    char *x; /* count x d numbers; or, of sparse rows, NULL and */
    mrc_csr_owned csr;
    int64_t entry_capacity;
    mrc_dtype dtype;
    int64_t d;
    char **names;
    mercer_prepare *prepare;
    mercer_targets targets; /* of these rows */
};

static bool says_other(const char *text, const char *usual)
{
    return text && strcmp(text, usual) != 0;
}

static mercer_status check_options(const mercer_read_options *o, mercer_error *err)
{
    const char *key = says_other(o->encode, "none")             ? "encode"
                      : says_other(o->missing, "error")         ? "missing"
                      : says_other(o->unlabelled, "error")      ? "unlabelled"
                      : says_other(o->image_features, "pixels") ? "image_features"
                      : o->labels_file                          ? "labels"
                      : o->groups                               ? "groups"
                                                                : NULL;
    if (!key)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = key),
                       "%s is not possible where rows are spread over ranks: leave it out, or use "
                       "one rank",
                       key);
}

/* What was learnt from the first rows must be nothing. */
static mercer_status check_block(const mercer_reader *reader, const mercer_rows *rows,
                                 mercer_error *err)
{
    const mercer_prepare *p = rows->prepare;
    if (p && (p->sources > 0 || p->missing != MRC_MISSING_ERROR || p->image != MRC_IMAGE_NONE ||
              p->dress || p->target_dress))
        return mrc_fail_at(
            err, MERCER_ERR_UNSUPPORTED, MRC_IN_FILE,
            "%s: its cells are not plain numbers, and what they mean has to be learnt "
            "from all rows, which are spread over ranks: use one rank, or write them "
            "as numbers first",
            reader->source.input.shown);
    return MERCER_OK;
}

/* Rows of blocks that are read and, most of them, passed on or forgotten. */
static int64_t block_rows(const mercer_reader *reader)
{
    int64_t columns = reader->source.columns.count > 0 ? reader->source.columns.count : 1;
    int64_t rows = BLOCK_BYTES / (int64_t)sizeof(double) / columns;
    return rows > 256 ? rows : 256;
}

/* How many rows there are, of a format that does not tell. */
static mercer_status count_rows(mercer_ctx *ctx, mercer_reader *reader, int64_t *out,
                                mercer_error *err)
{
    mrc_table_source *source = &reader->source;
    mercer_status rc = MERCER_OK;
    if (source->rows == 0 && source->format->survey)
        MRC_TRY(source->format->survey(reader->self, ctx, err));
    *out = source->rows;
    if (*out == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE,
                    "%s: its rows cannot be counted before they are read, or there are none: rows "
                    "that are spread over ranks have to be in a file",
                    source->input.shown);
    MRC_TRY(mrc_budget_rows(&source->budget, *out, true, err));
out:
    return rc;
}

static mercer_status fail_budget(const mercer_ctx *ctx, const mercer_reader *reader,
                                 const struct part *p, double bytes, mercer_error *err)
{
    const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, (double)mercer_ctx_memory(ctx));
    return mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory", .names_file = 1),
                       "%s: the %lld rows of this rank need %s, the memory budget is %s: raise it, "
                       "or take more ranks",
                       reader->source.input.shown, (long long)p->count, sizes.first.text,
                       sizes.second.text);
}

/* Room for more entries of sparse rows. */
static mercer_status reserve_entries(const mercer_ctx *ctx, const mercer_reader *reader,
                                     int64_t entries, struct part *p, mercer_error *err)
{
    enum { FIRST = 1 << 12, ENTRY = sizeof(int32_t) + sizeof(double) };
    const double starts = (double)(p->count + 1) * sizeof *p->csr.start;
    const double most = ((double)mercer_ctx_memory(ctx) - starts) / ENTRY;
    double capacity = 1.25 * (double)p->entry_capacity + FIRST;
    mercer_status rc = MERCER_OK;
    if ((double)entries > most)
        MRC_TRY(fail_budget(ctx, reader, p, starts + (double)entries * ENTRY, err));
    if (entries <= p->entry_capacity)
        goto out;
    capacity = capacity < most ? capacity : most;
    capacity = capacity < (double)entries ? (double)entries : capacity;
    MRC_TRY(mrc_grow(&p->csr.column, (int64_t)capacity, sizeof *p->csr.column, err));
    MRC_TRY(mrc_grow(&p->csr.value, (int64_t)capacity, sizeof *p->csr.value, err));
    p->entry_capacity = (int64_t)capacity;
out:
    return rc;
}

/* What the first block tells: how wide rows are, and what their columns are called. */
static mercer_status begin_part(const mercer_ctx *ctx, const mercer_reader *reader,
                                mercer_rows *rows, struct part *p, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_block(reader, rows, err));
    p->d = rows->d;
    p->dtype = rows->dtype;
    p->names = rows->names;
    rows->names = NULL;
    p->prepare = rows->prepare;
    rows->prepare = NULL;
    double bytes = (double)p->count * (double)p->d * (double)mrc_dtype_bytes(p->dtype);
    p->begun = true;
    if (mercer_rows_is_sparse(rows)) {
        MRC_TRY(mrc_alloc(&p->csr.start, p->count + 1, sizeof *p->csr.start, err));
        MRC_TRY(reserve_entries(ctx, reader, 0, p, err));
        goto out;
    }
    if (bytes > (double)mercer_ctx_memory(ctx))
        MRC_TRY(fail_budget(ctx, reader, p, bytes, err));
    MRC_TRY(mrc_alloc2_raw(&p->x, p->count, p->d, mrc_dtype_bytes(p->dtype), err));
out:
    return rc;
}

/* Rows of a block, behind those that are there. */
static mercer_status take_rows(const mercer_ctx *ctx, const mercer_reader *reader,
                               const mercer_rows *rows, struct part *p, mercer_error *err)
{
    const size_t bytes = (size_t)p->d * mrc_dtype_bytes(p->dtype);
    mercer_status rc = MERCER_OK;
    if (p->csr.start) {
        const int64_t at = p->csr.start[p->filled], count = mercer_rows_entries(rows);
        MRC_TRY(reserve_entries(ctx, reader, at + count, p, err));
        if (count > 0) {
            memcpy(p->csr.column + at, rows->csr.column, (size_t)count * sizeof *p->csr.column);
            memcpy(p->csr.value + at, rows->csr.value, (size_t)count * sizeof *p->csr.value);
        }
        for (int64_t i = 0; i < rows->n; i++)
            p->csr.start[p->filled + i + 1] = at + rows->csr.start[i + 1];
    } else {
        memcpy(p->x + (size_t)p->filled * bytes, rows->x ? (const void *)rows->x : rows->packed,
               (size_t)rows->n * bytes);
    }
    p->filled += rows->n;
out:
    return rc;
}

/* Targets of a block, whose rows have just been taken, or are not of this part. */
static mercer_status take_targets(mercer_targets *block, bool taken, struct part *p,
                                  mercer_error *err)
{
    mercer_targets *t = &p->targets;
    const int64_t before = p->filled - block->n, columns = block->columns;
    char **names;
    mercer_status rc = MERCER_OK;
    if (block->kind == MERCER_TARGET_NONE)
        return rc;
    if (t->kind == MERCER_TARGET_NONE) {
        t->kind = block->kind;
        t->columns = columns;
        if (t->kind == MERCER_TARGET_CLASSES)
            MRC_TRY(mrc_alloc(&t->codes, p->count, sizeof *t->codes, err));
        else
            MRC_TRY(mrc_alloc2(&t->values, p->count, columns, sizeof *t->values, err));
        t->names = block->names;
        block->names = NULL;
    }
    if (taken && t->kind == MERCER_TARGET_CLASSES)
        memcpy(t->codes + before, block->codes, (size_t)block->n * sizeof *t->codes);
    else if (taken)
        memcpy(t->values + before * columns, block->values,
               (size_t)(block->n * columns) * sizeof *t->values);
    if (block->classes > t->classes) { /* each block has those of the blocks before, too */
        names = t->class_names;
        t->class_names = block->class_names;
        block->class_names = names;
        int64_t classes = t->classes;
        t->classes = block->classes;
        block->classes = classes;
    }
out:
    return rc;
}

/* Read on to the end of the part; of a rank without rows the first one, for its columns. */
static mercer_status fill_part(mercer_ctx *ctx, mercer_reader *reader, struct part *p,
                               mercer_error *err)
{
    const mrc_format *format = reader->source.format;
    int64_t at = 0, skipped = 0, first = p->count > 0 ? p->first : 0;
    mercer_table *table = NULL;
    mercer_status rc = MERCER_OK;
    if (format->skip) {
        MRC_TRY(format->skip(reader->self, ctx, first, &skipped, err));
        reader->rows = at = skipped;
    }
    while (!p->begun || p->filled < p->count) {
        int64_t most = block_rows(reader), left = at < first ? first - at : p->count - p->filled;
        left = p->count > 0 ? left : 1;
        MRC_TRY(mercer_reader_next(ctx, reader, most < left ? most : left, &table, err));
        if (!table)
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: has fewer than %lld rows",
                        reader->source.input.shown, (long long)p->total);
        mercer_rows *rows = table->rows;
        if (!p->begun)
            MRC_TRY(begin_part(ctx, reader, rows, p, err));
        if (rows->d != p->d || rows->dtype != p->dtype ||
            mercer_rows_is_sparse(rows) != (p->csr.start != NULL))
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: its rows change their kind",
                        reader->source.input.shown);
        if (at >= first && p->count > 0)
            MRC_TRY(take_rows(ctx, reader, rows, p, err));
        MRC_TRY(take_targets(&table->targets, at >= first && p->count > 0, p, err));
        at += rows->n;
        mercer_table_free(table);
        table = NULL;
    }
out:
    mercer_table_free(table);
    return rc;
}

static mercer_status make_part(const mercer_reader *reader, struct part *p, mercer_table **out,
                               mercer_error *err)
{
    mercer_table *table = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&table, 1, sizeof *table, err));
    if (p->csr.start) {
        const int64_t entries = p->csr.start[p->count]; /* what is spare is given back */
        MRC_TRY(mrc_grow(&p->csr.column, entries, sizeof *p->csr.column, err));
        MRC_TRY(mrc_grow(&p->csr.value, entries, sizeof *p->csr.value, err));
        MRC_TRY(mrc_rows_adopt_csr(&p->csr, p->count, p->d, &table->rows, err));
    } else {
        MRC_TRY(mrc_rows_adopt(p->dtype, p->x, p->count, p->d, &table->rows, err));
        p->x = NULL;
    }
    table->rows->first = p->first;
    table->rows->total = p->total;
    table->rows->names = p->names;
    p->names = NULL;
    table->rows->prepare = p->prepare;
    p->prepare = NULL;
    table->targets = p->targets;
    p->targets = (mercer_targets){0};
    table->targets.n = p->count;
    if (reader->source.origin[0])
        MRC_TRY(mrc_strdup(&table->origin, reader->source.origin, err));
    *out = table;
    table = NULL;
out:
    mercer_table_free(table);
    return rc;
}

/* Ranks meet here whatever their classes are: who has none tells the others. */
static mercer_status judge_classes(mercer_ctx *ctx, const mercer_reader *reader,
                                   const mercer_table *table, mercer_error *err)
{
    const mercer_targets *targets = &table->targets;
    const bool judged =
        targets->kind == MERCER_TARGET_CLASSES && targets->n > 0 && !reader->source.classed;
    return mrc_targets_judge_together(
        ctx, reader->source.input.shown, reader->source.origin, judged ? targets : NULL,
        table->rows->n,
        judged && table->rows->first == 0 ? mrc_doubtful_class(reader, targets) : NULL, err);
}

mercer_status mercer_table_read_part(mercer_ctx *ctx, const char *path,
                                     const mercer_read_options *options, mercer_table **out,
                                     mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(path);
    mercer_reader *reader = NULL;
    mercer_read_options taken;
    struct part p = {0};
    mercer_table *table = NULL;
    mercer_status rc = MERCER_OK;
    mercer_read_options_init(&taken);
    MRC_TRY(mrc_options_import("read", options, &taken, sizeof taken, err));
    MRC_TRY(check_options(&taken, err));
    taken.fill_blocks = 1;
    MRC_TRY(mrc_reader_open(ctx, path, &taken, MRC_READ_PART, &reader, err));
    MRC_TRY(count_rows(ctx, reader, &p.total, err));
    MRC_TRY(mercer_ctx_part(ctx, p.total, &p.first, &p.count, err));
    MRC_TRY(fill_part(ctx, reader, &p, err));
    MRC_TRY(make_part(reader, &p, &table, err));
    MRC_TRY(judge_classes(ctx, reader, table, err));
out:
    mrc_free(p.x);
    mrc_csr_owned_destroy(&p.csr);
    mrc_targets_destroy(&p.targets);
    mrc_free_names(p.names, p.d);
    mrc_prepare_free(p.prepare);
    mercer_reader_close(reader);
    rc = mrc_comm_agree(ctx, rc, err);
    if (rc == MERCER_OK)
        *out = table;
    else
        mercer_table_free(table);
    return rc;
}
