/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzzers of the readers share. Whatever the bytes are, a reader either says one line or
 * gives tables that hold together; reading whole and reading in blocks must agree. */
#ifndef MRC_FUZZ_READER_H
#define MRC_FUZZ_READER_H

#include "fuzz_seed.h"

#include "io/reader.h"

#include <fcntl.h>
#include <unistd.h>

/* A value and its place as one number, 0 for zero; their sum tells what was read, in any order. */
static inline uint64_t fuzz_hash(int64_t row, int64_t column, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits ^= (uint64_t)row * 0x9e3779b97f4a7c15u ^ (uint64_t)column * 0xbf58476d1ce4e5b9u;
    return value == 0 ? 0 : (bits ^ bits >> 29) * 0x94d049bb133111ebu;
}

/* Check rows and give their sum; `before` rows came earlier. */
static inline uint64_t fuzz_check_rows(const mercer_rows *rows, int64_t before)
{
    uint64_t sum = 0;
    if (mercer_rows_is_sparse(rows)) {
        if (mrc_csr_check(&rows->csr, rows->n, rows->d, "fuzz", NULL) != MERCER_OK)
            abort();
        for (int64_t i = 0; i < rows->n; i++)
            for (int64_t k = rows->csr.start[i]; k < rows->csr.start[i + 1]; k++)
                sum += fuzz_hash(before + i, rows->csr.column[k], rows->csr.value[k]);
        return sum;
    }
    const void *x = rows->x ? rows->x : rows->packed;
    if (mrc_first_not_finite_of(rows->dtype, x, 0, rows->n * rows->d) >= 0)
        abort();
    for (int64_t i = 0; i < rows->n * rows->d; i++)
        sum += fuzz_hash(before + i / rows->d, i % rows->d, mrc_rows_at(rows, 0, i));
    return sum;
}

/* The same for the targets of n rows. */
static inline uint64_t fuzz_check_targets(const mercer_targets *targets, int64_t n, int64_t before)
{
    uint64_t sum = 0;
    mercer_target_kind kind = mercer_targets_kind(targets);
    int64_t columns = kind == MERCER_TARGET_VALUES ? mercer_targets_columns(targets) : 0;
    for (int64_t i = 0; i < n * columns; i++)
        sum += fuzz_hash(before + i / columns, -1 - i % columns, mercer_targets_values(targets)[i]);
    for (int64_t i = 0; i < n && kind == MERCER_TARGET_CLASSES; i++) {
        int64_t code = mercer_targets_codes(targets)[i];
        if (code < 0 || !mercer_targets_class_name(targets, code))
            abort();
        sum += fuzz_hash(before + i, INT64_MIN, (double)code + 1);
    }
    return sum;
}

/* Read all blocks of path or, when that is NULL, of the bytes. Returns the number of rows, or minus
 * the status. */
static inline int64_t fuzz_read(const mercer_read_options *options, const char *path,
                                const void *bytes, size_t count, int64_t max_rows, uint64_t *sum)
{
    mercer_ctx *ctx = NULL;
    mercer_reader *reader = NULL;
    int64_t rows = 0;
    mercer_error err;
    mercer_status rc = mercer_ctx_new(&ctx, &err);
    if (rc == MERCER_OK) /* what a file announces is not worth the time to read it */
        rc = mercer_ctx_set_memory(ctx, 64 << 20, &err);
    if (rc == MERCER_OK)
        rc = path ? mercer_reader_open(ctx, path, options, &reader, &err)
                  : mrc_reader_open_memory(ctx, "fuzz", bytes, count, options, &reader, &err);
    *sum = 0;
    while (rc == MERCER_OK) {
        mercer_table *block;
        rc = mercer_reader_next(ctx, reader, max_rows, &block, &err);
        if (rc != MERCER_OK || !block)
            break;
        const mercer_rows *part = mercer_table_rows(block);
        *sum += fuzz_check_rows(part, rows) +
                fuzz_check_targets(mercer_table_targets(block), part->n, rows) +
                (uint64_t)(part->n * part->d);
        rows += part->n;
        mercer_table_free(block);
    }
    mercer_reader_close(reader);
    mercer_ctx_free(ctx);
    return rc == MERCER_OK ? rows : -(int64_t)rc;
}

/* Read whole and in blocks of max_rows; both must give the same, or both fail. Whether they load.
 */
static inline bool fuzz_compare(const mercer_read_options *options, const char *path,
                                const void *bytes, size_t count, int64_t max_rows)
{
    uint64_t whole_sum, block_sum;
    int64_t whole = fuzz_read(options, path, bytes, count, INT64_MAX, &whole_sum);
    /* Rows that were never written can be more than memory or time has; in blocks they would come.
     */
    if (whole == -(int64_t)MERCER_ERR_BUDGET)
        return false;
    int64_t blocks = fuzz_read(options, path, bytes, count, max_rows, &block_sum);
    /* Numbers that cannot be classes are refused where all of them are known, not block by block.
     */
    if (whole == -(int64_t)MERCER_ERR_DATA && blocks >= 0 && options->label)
        return false;
    if ((whole < 0) != (blocks < 0) || (whole >= 0 && (whole != blocks || whole_sum != block_sum)))
        abort();
    return whole >= 0;
}

/* The classes of a block by their names: who steps over rows gives others other codes. */
static inline uint64_t fuzz_check_names(const mercer_targets *targets, int64_t n, int64_t before)
{
    uint64_t sum = 0;
    if (mercer_targets_kind(targets) != MERCER_TARGET_CLASSES)
        return fuzz_check_targets(targets, n, before);
    for (int64_t i = 0; i < n; i++) {
        const char *name = mercer_targets_class_name(targets, mercer_targets_codes(targets)[i]);
        for (int64_t k = 0; name[k]; k++)
            sum += fuzz_hash(before + i, INT64_MIN + k, (unsigned char)name[k]);
    }
    return sum;
}

/* Every second block of max_rows, from the first on; the others are stepped over, or read and
 * forgotten. No more than 1000 blocks: a sparse table may announce a million rows. Returns the
 * number of rows, or minus the status. */
static inline int64_t fuzz_read_some(const mercer_read_options *options, const void *bytes,
                                     size_t count, int64_t max_rows, bool skips, uint64_t *sum)
{
    mercer_ctx *ctx = NULL;
    mercer_reader *reader = NULL;
    int64_t rows = 0;
    mercer_error err;
    mercer_status rc = mercer_ctx_new(&ctx, &err);
    if (rc == MERCER_OK)
        rc = mercer_ctx_set_memory(ctx, 64 << 20, &err);
    if (rc == MERCER_OK)
        rc = mrc_reader_open_memory(ctx, "fuzz", bytes, count, options, &reader, &err);
    *sum = 0;
    for (int64_t step = 0; rc == MERCER_OK && step < 1000; step++) {
        mercer_table *block = NULL;
        int64_t skipped = 0;
        if (step % 2 && skips)
            rc = mercer_reader_skip(ctx, reader, max_rows, &skipped, &err);
        else
            rc = mercer_reader_next(ctx, reader, max_rows, &block, &err);
        if (rc != MERCER_OK || (!block && skipped == 0))
            break;
        const mercer_rows *part = mercer_table_rows(block);
        if (step % 2 == 0)
            *sum += fuzz_check_rows(part, rows) +
                    fuzz_check_names(mercer_table_targets(block), part->n, rows) +
                    (uint64_t)(part->n * part->d);
        rows += block ? part->n : skipped;
        mercer_table_free(block);
    }
    mercer_reader_close(reader);
    mercer_ctx_free(ctx);
    return rc == MERCER_OK ? rows : -(int64_t)rc;
}

/* Who steps over rows gets the others as they are; of what is wrong in rows that are stepped over
 * nothing need be seen. */
static inline void fuzz_compare_skipping(const mercer_read_options *options, const void *bytes,
                                         size_t count, int64_t max_rows)
{
    uint64_t all_sum, some_sum;
    const int64_t all = fuzz_read_some(options, bytes, count, max_rows, false, &all_sum);
    const int64_t some = fuzz_read_some(options, bytes, count, max_rows, true, &some_sum);
    if (all >= 0 && (some != all || some_sum != all_sum))
        abort();
}

static char fuzz_path[256];

static inline void fuzz_remove_file(void)
{
    unlink(fuzz_path);
}

/* The bytes as a file, for formats whose libraries want one; a path that stays valid until the next
 * call. It has a name in a folder: libhdf5 opens none without. Every input gets a file of its own,
 * because libhdf5 knows files it still has open by their number. */
static inline const char *fuzz_file(const void *bytes, size_t count)
{
    if (!fuzz_path[0]) {
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
        snprintf(fuzz_path, sizeof fuzz_path, "%s/mercer-fuzz-%ld", folder ? folder : "/tmp",
                 (long)getpid());
        atexit(fuzz_remove_file);
    }
    unlink(fuzz_path);
    int fd = open(fuzz_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count || close(fd) != 0)
        abort();
    return fuzz_path;
}

/* Bytes as a file of a format without column names: the first one chooses columns and block size,
 * the rest is the file. as_file: for a format whose library wants a file. */
static inline int fuzz_format(const char *format, bool as_file, const uint8_t *data, size_t size)
{
    mercer_read_options options;
    if (size == 0)
        return fuzz_result(false);
    mercer_read_options_init(&options);
    options.format = format;
    options.label = data[0] & 1 ? "1" : NULL;
    options.target = (data[0] & 3) == 2 ? "2" : NULL;
    if (!as_file)
        fuzz_compare_skipping(&options, data + 1, size - 1, 1 + (data[0] >> 3));
    return fuzz_result(fuzz_compare(&options, as_file ? fuzz_file(data + 1, size - 1) : NULL,
                                    data + 1, size - 1, 1 + (data[0] >> 3)));
}

#endif
