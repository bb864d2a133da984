/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal of an evaluation: one file per rank, FILE.0, FILE.1, ..., whose first line says what
 * it is, with one line per trial behind it:
 *
 *     KEY KIND INDEX RECORD CHECKSUM
 *
 * KEY is the hash of everything that the result depends on (rows, options, seed, version, BLAS
 * kernels), so that lines of another evaluation are passed over; KIND is trial or fold; RECORD has
 * the bytes of the outcome in hexadecimal, that is, numbers with all their bits; CHECKSUM is the
 * CRC-32 of what stands before it. A line is written by one call, and lines reach the disk within a
 * second. What a killed process has left of a line is not a line: its checksum, or its end, is
 * missing. A file that does not end with a line gets an end first.
 *
 * The first line and the name of a new file are on the disk before another line is written: after a
 * crash of the machine a journal has its first line, or is not longer than that, and then it is
 * begun again. */
#include "eval/journal.h"

#include "base/ctx.h"
#include "base/descriptor.h"

#include <mercer/evaluate.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char *const kind_names[MRC_JOURNAL_KINDS] = {"trial", "fold"};
static const char header[] = "mercer journal 1\n";
enum { HEADER = sizeof header - 1 };
static const double SYNC_SECONDS = 1; /* what a lost machine costs, besides trials under way */

/* ---- the files ---- */

typedef enum beginning { FOREIGN, OURS, TORN } beginning;

/* How a file begins: as ours do; or it ends within the first line, of which a crash has left some
 * bytes and zeros; or it is a file of somebody else. */
static mercer_status look_at(int fd, const char *file, beginning *out, mercer_error *err)
{
    char first[HEADER + 1];
    const ssize_t got = mrc_read_at(fd, first, sizeof first, 0);
    if (got < 0 && errno != ESPIPE) /* a pipe has no beginning */
        return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be read", file);
    *out = got <= HEADER ? TORN : OURS;
    for (int i = 0; i < HEADER && i < got; i++)
        if (first[i] != header[i])
            *out = *out == TORN && first[i] == 0 ? TORN : FOREIGN;
    if (*out == TORN && got == HEADER && memcmp(first, header, HEADER) == 0)
        *out = OURS;
    return MERCER_OK;
}

/* Call what(path of the file, arg) for each file of a journal; the first failure ends it. A file
 * that only has such a name may be anything of the user's. */
static mercer_status for_each_file(const char *path,
                                   mercer_status (*what)(const char *file, void *arg,
                                                         mercer_error *err),
                                   void *arg, mercer_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *file = NULL;
    mercer_status rc = MERCER_OK;
    const int folder = mrc_open_folder(path);
    DIR *entries = folder >= 0 ? fdopendir(folder) : NULL; /* which then has the descriptor */
    if (!entries) {
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errno, "%.*s: cannot be read",
                            (int)(slash > path ? slash - path : 1), slash ? path : ".");
        if (folder >= 0)
            close(folder);
        goto out;
    }
    const size_t length = strlen(name), size = strlen(path) + 32;
    MRC_TRY(mrc_alloc(&file, (int64_t)size, 1, err));
    for (const struct dirent *entry; (entry = readdir(entries));) {
        const char *number = entry->d_name + length + 1;
        if (strncmp(entry->d_name, name, length) != 0 || entry->d_name[length] != '.' || !*number ||
            strlen(number) > 9 || strspn(number, "0123456789") != strlen(number))
            continue;
        snprintf(file, size, "%s.%s", path, number);
        MRC_TRY(what(file, arg, err));
    }
out:
    if (entries)
        closedir(entries);
    mrc_free(file);
    return rc;
}

static mercer_status remove_file(const char *file, void *arg, mercer_error *err)
{
    beginning begins;
    mercer_status rc = MERCER_OK;
    const int fd = mrc_open(file, O_RDONLY | O_CLOEXEC, 0);
    (void)arg;
    if (fd < 0 && errno != ENOENT && errno != EACCES)
        return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be removed", file);
    if (fd < 0)
        return rc;
    MRC_TRY(look_at(fd, file, &begins, err));
    if (begins == OURS && unlink(file) != 0 && errno != ENOENT)
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be removed", file);
out:
    close(fd);
    return rc;
}

mercer_status mercer_journal_remove(const char *path, mercer_error *err)
{
    MRC_NEED(path);
    return for_each_file(path, remove_file, NULL, err);
}

/* ---- reading ---- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next word of a line, ended in place; NULL: there is none. */
static char *next_word(char **at)
{
    char *word = *at;
    if (!word || !*word)
        return NULL;
    char *blank = strchr(word, ' ');
    if (blank)
        *blank = 0;
    *at = blank ? blank + 1 : NULL;
    return word;
}

static mercer_status take_record(const char *hex, mrc_record *out, mercer_error *err)
{
    const size_t digits = strlen(hex);
    mercer_status rc = MERCER_OK;
    if (out->data || digits % 2) /* the same trial twice: the first one holds */
        return rc;
    for (size_t i = 0; i < digits; i += 2) {
        const int high = digit_of(hex[i]), low = digit_of(hex[i + 1]);
        const char byte = (char)(16 * high + low);
        if (high < 0 || low < 0) {
            mrc_record_destroy(out);
            return rc;
        }
        MRC_TRY(mrc_record_put(out, &byte, 1, err));
    }
out:
    return rc;
}

/* A line, which is changed; one that is torn, or of another evaluation, is passed over. */
static mercer_status take_line(mrc_journal *journal, char *line, mercer_error *err)
{
    char *sum = strrchr(line, ' '), *end = NULL;
    if (!sum ||
        strtoul(sum + 1, &end, 16) != crc32_z(0, (const Bytef *)line, (size_t)(sum - line)) ||
        end != sum + 9 || *end)
        return MERCER_OK;
    *sum = 0;
    char *at = line;
    const char *key = next_word(&at), *kind = next_word(&at), *index = next_word(&at),
               *hex = next_word(&at);
    if (!hex || at || strtoull(key, NULL, 16) != journal->key)
        return MERCER_OK;
    const long long number = strtoll(index, NULL, 10);
    for (int k = 0; k < MRC_JOURNAL_KINDS; k++)
        if (strcmp(kind, kind_names[k]) == 0 && number >= 0 && number < journal->known[k].count)
            return take_record(hex, &journal->known[k].pieces[number], err);
    return MERCER_OK;
}

static mercer_status read_file(const char *file, void *arg, mercer_error *err)
{
    mrc_journal *journal = arg;
    char *text = NULL;
    struct stat info;
    int64_t used = 0;
    beginning begins;
    mercer_status rc = MERCER_OK;
    const int fd = mrc_open(file, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0 || fstat(fd, &info) != 0)
        MRC_TRY(mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be read", file));
    MRC_TRY(look_at(fd, file, &begins, err));
    if (begins != OURS)
        goto out;
    MRC_TRY(mrc_alloc(&text, info.st_size + 1, 1, err));
    used = mrc_read_at(fd, text, (size_t)info.st_size, 0);
    if (used < 0)
        MRC_TRY(mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be read", file));
    text[used] = 0;
    char *line = text; /* a crash may leave bytes of any kind, but no line with its checksum */
    for (char *end; (end = memchr(line, '\n', (size_t)(text + used - line))); line = end + 1) {
        *end = 0;
        MRC_TRY(take_line(journal, line, err));
    }
out:
    if (fd >= 0)
        close(fd);
    mrc_free(text);
    return rc;
}

/* ---- the journal ---- */

static mercer_status write_all(const mrc_journal *journal, const char *data, int64_t bytes,
                               mercer_error *err)
{
    for (int64_t done = 0; done < bytes;) {
        const ssize_t put = write(journal->fd, data + done, (size_t)(bytes - done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be written",
                                  journal->path);
        done += put;
    }
    return MERCER_OK;
}

/* Bring the lines of a journal to the disk. */
static mercer_status sync_lines(const mrc_journal *journal, mercer_error *err)
{
    const int errnum = mrc_sync(journal->fd);
    return errnum
               ? mrc_fail_errno(err, MERCER_ERR_IO, errnum, "%s: cannot be written", journal->path)
               : MERCER_OK;
}

/* The first line of an empty file, or of one that a crash has left without it. */
static mercer_status begin_file(const mrc_journal *journal, mercer_error *err)
{
    int folder = -1, errnum;
    mercer_status rc = MERCER_OK;
    if (ftruncate(journal->fd, 0) != 0 && errno != EINVAL) /* a device has no length */
        MRC_TRY(mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be written", journal->path));
    MRC_TRY(write_all(journal, header, HEADER, err));
    MRC_TRY(sync_lines(journal, err));
    folder = mrc_open_folder(journal->path); /* one that cannot be read cannot be synced */
    errnum = folder >= 0 ? mrc_sync(folder) : errno == EACCES || errno == EPERM ? 0 : errno;
    if (errnum)
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errnum, "%s: its folder cannot be synced",
                            journal->path);
out:
    if (folder >= 0)
        close(folder);
    return rc;
}

/* The file of this rank, ready for the next line. */
static mercer_status open_own(mrc_journal *journal, mercer_error *err)
{
    beginning begins;
    mercer_status rc = MERCER_OK;
    journal->fd = mrc_open(journal->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal->fd < 0)
        MRC_TRY(mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot be written", journal->path));
    MRC_TRY(look_at(journal->fd, journal->path, &begins, err));
    if (begins == TORN) {
        MRC_TRY(begin_file(journal, err));
    } else if (begins == OURS) {
        MRC_TRY(write_all(journal, "\n", 1, err)); /* the last line may be torn */
    } else {
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: is there already, and is not a journal: name another one, or remove it",
                    journal->path);
    }
out:
    return rc;
}

mercer_status mrc_journal_open(mrc_journal *journal, mercer_ctx *ctx, const char *path,
                               uint64_t key, const int64_t counts[MRC_JOURNAL_KINDS],
                               mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!path)
        return rc;
    if (!*path || path[strlen(path) - 1] == '/') /* its files would be hidden ones, .0 and .1 */
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "journal"),
                           "journal: '%s' is not the name of a file", path);
    const size_t size = strlen(path) + 32;
    pthread_mutex_init(&journal->lock, NULL);
    journal->fd = -1;
    MRC_TRY(mrc_alloc(&journal->path, (int64_t)size, 1, err));
    snprintf(journal->path, size, "%s.%d", path, mercer_ctx_rank(ctx));
    journal->key = key;
    for (int k = 0; k < MRC_JOURNAL_KINDS; k++)
        MRC_TRY(mrc_outcomes_init(&journal->known[k], counts[k], err));
    if (mercer_ctx_rank(ctx) == 0)
        MRC_TRY(for_each_file(path, read_file, journal, err));
    for (int k = 0; k < MRC_JOURNAL_KINDS; k++)
        MRC_TRY(mrc_outcomes_share(ctx, &journal->known[k], err));
    MRC_TRY(open_own(journal, err));
    journal->synced = mrc_seconds();
out:
    return rc;
}

void mrc_journal_close(mrc_journal *journal)
{
    if (!journal->path)
        return;
    if (journal->fd >= 0) {
        (void)mrc_sync(journal->fd); /* lines that are lost now are computed again */
        close(journal->fd);
    }
    for (int k = 0; k < MRC_JOURNAL_KINDS; k++)
        mrc_outcomes_destroy(&journal->known[k]);
    mrc_free(journal->path);
    pthread_mutex_destroy(&journal->lock);
    *journal = (mrc_journal){0};
}

bool mrc_journal_find(const mrc_journal *journal, mrc_journal_kind kind, int64_t index,
                      mrc_reading *out)
{
    return mrc_outcomes_find(&journal->known[kind], index, out);
}

mercer_status mrc_journal_keep(mrc_journal *journal, mrc_journal_kind kind, int64_t index,
                               const mrc_record *record, mercer_error *err)
{
    static const char digits[] = "0123456789abcdef";
    enum { WORDS = 80 }; /* all but the record */
    char *line = NULL;
    mercer_status rc = MERCER_OK;
    if (!journal->path)
        return rc;
    MRC_TRY(mrc_alloc(&line, 2 * record->size + WORDS, 1, err));
    int64_t used = snprintf(line, WORDS, "%016llx %s %lld ", (unsigned long long)journal->key,
                            kind_names[kind], (long long)index);
    for (int64_t i = 0; i < record->size; i++) {
        const unsigned char byte = (unsigned char)record->data[i];
        line[used++] = digits[byte / 16];
        line[used++] = digits[byte % 16];
    }
    const unsigned long sum = crc32_z(0, (const Bytef *)line, (size_t)used);
    used += snprintf(line + used, 16, " %08lx\n", sum);
    pthread_mutex_lock(&journal->lock);
    rc = write_all(journal, line, used, err);
    if (rc == MERCER_OK && mrc_seconds() - journal->synced >= SYNC_SECONDS) {
        rc = sync_lines(journal, err);
        journal->synced = mrc_seconds();
    }
    pthread_mutex_unlock(&journal->lock);
out:
    mrc_free(line);
    return rc;
}
