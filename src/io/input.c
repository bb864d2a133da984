/* SPDX-License-Identifier: BSD-3-Clause */
/* Where bytes come from.
 *
 * The first bytes are read ahead to see whether they are gzip's, so that this also works on a pipe.
 * Plain data then go straight into the caller's buffer. A gzip file may consist of several members
 * one after another, as gzip itself allows; zlib's memory is ours, so that it is counted. */
#include "io/input.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RAW_SIZE = 1 << 16,    /* compressed bytes at a time; more does not help */
    MAX_READ = 1 << 30,    /* bytes per read(); the kernel stops a little below 2^31 */
    GZIP_WINDOW = 15 + 16, /* largest window, gzip wrapper expected */
    PLAIN_WINDOW = -15,    /* largest window, no wrapper: members of ZIP files */
    DRAIN_SIZE = 1 << 14,
    MAX_DEFLATE = 1032 /* deflate makes no byte out of fewer than 1/1032 */
};

voidpf mrc_zlib_alloc(voidpf opaque, uInt items, uInt size)
{
    void *block;
    (void)opaque;
    return mrc_alloc2(&block, items, size, 1, NULL) == MERCER_OK ? block : NULL;
}

void mrc_zlib_free(voidpf opaque, voidpf address)
{
    (void)opaque;
    mrc_free(address);
}

/* Bytes as they are in the file. *got = 0 only at the end. */
static mercer_status read_raw(mrc_input *input, void *out, size_t wanted, size_t *got,
                              mercer_error *err)
{
    if (wanted > MAX_READ)
        wanted = MAX_READ;
    if (input->part && (int64_t)wanted > input->packed)
        wanted = (size_t)input->packed;
    if (input->fd < 0) {
        *got = wanted < input->memory_left ? wanted : input->memory_left;
        if (*got)
            memcpy(out, input->memory, *got);
        input->memory += *got;
        input->memory_left -= *got;
    } else {
        ssize_t done;
        mercer_status rc = mrc_limit_wait(&input->limits, input->fd, input->shown, err);
        if (rc != MERCER_OK)
            return rc;
        do
            done = read(input->fd, out, wanted);
        while (done < 0 && errno == EINTR);
        if (done < 0)
            return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", input->shown);
        *got = (size_t)done;
    }
    input->taken += (int64_t)*got;
    input->packed -= input->part ? (int64_t)*got : 0;
    return MERCER_OK;
}

/* Make sure that some raw bytes are there, unless the data have ended. */
static mercer_status fill_raw(mrc_input *input, size_t least, mercer_error *err)
{
    if (input->raw_at > 0) {
        memmove(input->raw, input->raw + input->raw_at, input->raw_end - input->raw_at);
        input->raw_end -= input->raw_at;
        input->raw_at = 0;
    }
    while (input->raw_end < least && !input->raw_ended) {
        size_t got = 0;
        mercer_status rc =
            read_raw(input, input->raw + input->raw_end, RAW_SIZE - input->raw_end, &got, err);
        if (rc != MERCER_OK)
            return rc;
        input->raw_end += got;
        input->raw_ended = got == 0;
    }
    return MERCER_OK;
}

static bool raw_is_gzip(const mrc_input *input)
{
    const unsigned char *p = input->raw + input->raw_at;
    return input->raw_end - input->raw_at >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

static bool ends_in_gz(const char *path)
{
    size_t length = strlen(path);
    return length >= 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* The common end of opening: read ahead, and start zlib when the bytes call for it. */
static mercer_status look_ahead(mrc_input *input, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&input->raw, RAW_SIZE, 1, 1, err));
    MRC_TRY(fill_raw(input, 2, err));
    if (input->raw_end == 0)
        goto out;
    input->gzip = raw_is_gzip(input);
    if (!input->gzip && ends_in_gz(input->shown))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: is called .gz but is not a gzip file",
                    input->shown);
    if (input->gzip) {
        input->z = (z_stream){.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
        if (inflateInit2(&input->z, GZIP_WINDOW) != Z_OK)
            MRC_FAIL_AT(err, MERCER_ERR_MEMORY, MRC_IN_FILE, "%s: out of memory for unzipping",
                        input->shown);
        input->gzip_live = true;
    }
out:
    return rc;
}

/* flags: more of those of open(). */
static mercer_status open_file(mrc_input *input, const char *path, int flags, mercer_error *err)
{
    mercer_status rc = mrc_strdup(&input->shown, path, err);
    if (rc != MERCER_OK)
        return rc;
    flags |= O_RDONLY | O_CLOEXEC | O_NOCTTY | mrc_limit_flags(&input->limits);
    input->fd = mrc_open(path, flags, 0);
    return input->fd < 0 ? mrc_limit_fail_open(&input->limits, path, errno, err) : MERCER_OK;
}

mercer_status mrc_input_open_regular(mrc_input *input, const char *path, const mrc_limits *limits,
                                     mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    struct stat info;
    *input = (mrc_input){.fd = -1, .size = -1};
    if (limits)
        input->limits = *limits;
    /* To open a pipe that nobody writes to would wait for ever; O_NONBLOCK means nothing to files,
     * and what the name stood for when it was listed does not count. */
    MRC_TRY(open_file(input, path, O_NONBLOCK, err));
    if (fstat(input->fd, &info) != 0) {
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", path);
        goto out;
    }
    if (!S_ISREG(info.st_mode))
        MRC_FAIL_AT(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: is not a regular file", path);
    MRC_TRY(mrc_limit_opened(&input->limits, path, input->fd, false, err));
    input->size = info.st_size > 0 ? info.st_size : -1;
    MRC_TRY(look_ahead(input, err));
out:
    if (rc != MERCER_OK)
        mrc_input_close(input);
    return rc;
}

mercer_status mrc_input_open(mrc_input *input, const char *path, const mrc_limits *limits,
                             mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    struct stat info;
    *input = (mrc_input){.fd = -1, .size = -1};
    if (limits)
        input->limits = *limits;
    if (!path || !*path)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "the name of the input file is empty");
    if (strcmp(path, "-") == 0) {
        MRC_TRY(mrc_strdup(&input->shown, "standard input", err));
        input->fd = STDIN_FILENO;
        input->borrowed_fd = true;
    } else {
        MRC_TRY(open_file(input, path, 0, err));
    }
    if (fstat(input->fd, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            MRC_FAIL_AT(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: is a folder, not a file", path);
        off_t at = S_ISREG(info.st_mode) ? lseek(input->fd, 0, SEEK_CUR) : -1;
        if (at >= 0 && at <= info.st_size && info.st_size > 0) {
            input->size = info.st_size - at; /* files of /proc say 0 and have bytes */
            input->start = at;
        }
    }
    if (!input->borrowed_fd)
        MRC_TRY(mrc_limit_opened(&input->limits, path, input->fd, false, err));
    MRC_TRY(look_ahead(input, err));
out:
    if (rc != MERCER_OK)
        mrc_input_close(input);
    return rc;
}

mercer_status mrc_input_open_memory(mrc_input *input, const char *shown, const void *bytes,
                                    size_t count, const mrc_limits *limits, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *input = (mrc_input){.fd = -1, .memory = bytes, .memory_left = count, .size = (int64_t)count};
    input->memory_all = bytes;
    input->memory_size = count;
    if (limits)
        input->limits = *limits;
    MRC_TRY(mrc_strdup(&input->shown, shown, err));
    MRC_TRY(mrc_limit_bytes(&input->limits, shown, (int64_t)count, true, err));
    MRC_TRY(look_ahead(input, err));
out:
    if (rc != MERCER_OK)
        mrc_input_close(input);
    return rc;
}

/* After the end of a gzip member: another one, nothing, or something that should not be there. */
static mercer_status next_member(mrc_input *input, mercer_error *err)
{
    mercer_status rc = fill_raw(input, 2, err);
    if (rc != MERCER_OK)
        return rc;
    if (input->raw_at == input->raw_end) {
        input->gzip_ended = true;
        return MERCER_OK;
    }
    if (!raw_is_gzip(input) || inflateReset2(&input->z, GZIP_WINDOW) != Z_OK)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: something else follows the gzip data", input->shown);
    return MERCER_OK;
}

/* some: enough once there are bytes and the next ones would have to be read. */
static mercer_status read_gzip(mrc_input *input, unsigned char *out, size_t wanted, bool some,
                               size_t *got, mercer_error *err)
{
    const char *packing = input->part ? "zip" : "gzip";
    mercer_status rc;
    size_t used = 0;
    while (used < wanted && !input->gzip_ended) {
        if (input->raw_at == input->raw_end && some && used > 0)
            break;
        if (input->raw_at == input->raw_end && (rc = fill_raw(input, 1, err)) != MERCER_OK)
            return rc;
        uInt room = wanted - used < UINT_MAX ? (uInt)(wanted - used) : UINT_MAX;
        uInt have = (uInt)(input->raw_end - input->raw_at);
        input->z.next_in = input->raw + input->raw_at;
        input->z.avail_in = have;
        input->z.next_out = out + used;
        input->z.avail_out = room;
        int status = inflate(&input->z, Z_NO_FLUSH);
        input->raw_at += have - input->z.avail_in;
        used += room - input->z.avail_out;
        if (status == Z_STREAM_END && input->part) {
            input->gzip_ended = true;
        } else if (status == Z_STREAM_END) {
            if ((rc = next_member(input, err)) != MERCER_OK)
                return rc;
        } else if (status == Z_MEM_ERROR) {
            return mrc_fail_at(err, MERCER_ERR_MEMORY, MRC_IN_FILE,
                               "%s: out of memory for unzipping", input->shown);
        } else if (status == Z_BUF_ERROR || (status == Z_OK && have == 0)) {
            if (have == 0 && input->raw_ended)
                return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                                   "%s: the %s data end too early (truncated file)", input->shown,
                                   packing);
        } else if (status != Z_OK) {
            return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                               "%s: the %s data are damaged (%s)", input->shown, packing,
                               input->z.msg ? input->z.msg : "wrong check sum");
        }
    }
    *got = used;
    return MERCER_OK;
}

/* Bytes that are not compressed. */
static mercer_status read_plain(mrc_input *input, unsigned char *out, size_t wanted, bool some,
                                size_t *got, mercer_error *err)
{
    size_t ahead = input->raw_end - input->raw_at;
    size_t used = ahead < wanted ? ahead : wanted;
    memcpy(out, input->raw + input->raw_at, used);
    input->raw_at += used;
    while (used < wanted && !input->raw_ended && !(some && used > 0)) {
        size_t more = 0;
        mercer_status rc = read_raw(input, out + used, wanted - used, &more, err);
        if (rc != MERCER_OK)
            return rc;
        used += more;
        input->raw_ended = more == 0;
    }
    *got = used;
    return MERCER_OK;
}

static mercer_status read_bytes(mrc_input *input, void *out, size_t wanted, bool some, size_t *got,
                                mercer_error *err)
{
    const int64_t most = input->limits.set.max_bytes;
    *got = 0;
    if (input->part && (int64_t)wanted > input->unpacked)
        wanted = (size_t)input->unpacked;
    if (most > 0 && (int64_t)wanted > most - input->handed) /* one more tells that there are more */
        wanted = (size_t)(most - input->handed) + 1;
    mercer_status rc = input->gzip ? read_gzip(input, out, wanted, some, got, err)
                                   : read_plain(input, out, wanted, some, got, err);
    input->handed += (int64_t)*got;
    if (rc == MERCER_OK)
        rc = mrc_limit_bytes(&input->limits, input->shown, input->handed, false, err);
    if (rc != MERCER_OK || !input->part || *got == 0)
        return rc;
    input->check = crc32_z(input->check, out, *got);
    input->unpacked -= (int64_t)*got;
    if (input->unpacked == 0 && input->check != input->check_wanted)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: the zip data are damaged (wrong check sum)", input->shown);
    return MERCER_OK;
}

mercer_status mrc_input_read(mrc_input *input, void *out, size_t wanted, size_t *got,
                             mercer_error *err)
{
    return read_bytes(input, out, wanted, false, got, err);
}

mercer_status mrc_input_some(mrc_input *input, void *out, size_t most, size_t *got,
                             mercer_error *err)
{
    return read_bytes(input, out, most, true, got, err);
}

mercer_status mrc_input_skip(mrc_input *input, int64_t bytes, mercer_error *err)
{
    enum { STEP = 1 << 16 };
    const bool seeks = !input->gzip && mrc_input_rewinds(input) && input->fd >= 0;
    unsigned char *scratch = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&scratch, STEP, 1, err));
    while (bytes > 0) {
        /* What was read ahead, to see what kind of file it is, is taken first. */
        int64_t ahead = (int64_t)(input->raw_end - input->raw_at);
        int64_t most = seeks && ahead < STEP ? ahead : STEP;
        size_t wanted = (size_t)(bytes < most ? bytes : most), got;
        if (wanted == 0)
            break;
        MRC_TRY(mrc_input_read(input, scratch, wanted, &got, err));
        bytes -= (int64_t)got;
        if (got < wanted)
            goto out;
    }
    if (bytes > 0 && lseek(input->fd, (off_t)bytes, SEEK_CUR) < 0)
        MRC_TRY(mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", input->shown));
    input->taken += bytes;
out:
    mrc_free(scratch);
    return rc;
}

bool mrc_input_ready(const mrc_input *input)
{
    struct pollfd pipe = {.fd = input->fd, .events = POLLIN};
    if (input->fd < 0 || input->raw_at < input->raw_end || input->raw_ended)
        return true;
    return poll(&pipe, 1, 0) != 0; /* files always are */
}

bool mrc_input_seekable(const mrc_input *input)
{
    return !input->gzip && !input->borrowed_fd && input->size >= 0;
}

mercer_status mrc_input_at(mrc_input *input, int64_t offset, void *out, size_t wanted, size_t *got,
                           mercer_error *err)
{
    *got = 0;
    if (input->fd < 0) {
        if (offset >= 0 && offset < (int64_t)input->memory_size) {
            size_t there = input->memory_size - (size_t)offset;
            *got = wanted < there ? wanted : there;
            memcpy(out, input->memory_all + offset, *got);
        }
        return MERCER_OK;
    }
    while (*got < wanted) {
        size_t part = wanted - *got < MAX_READ ? wanted - *got : MAX_READ;
        ssize_t done =
            pread(input->fd, (unsigned char *)out + *got, part, (off_t)(offset + (int64_t)*got));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", input->shown);
        if (done == 0)
            break;
        *got += (size_t)done;
    }
    return MERCER_OK;
}

bool mrc_input_rewinds(const mrc_input *input)
{
    return !input->part && input->size >= 0;
}

mercer_status mrc_input_rewind(mrc_input *input, mercer_error *err)
{
    input->memory = input->memory_all;
    input->memory_left = input->memory_size;
    if (input->fd >= 0 && lseek(input->fd, (off_t)input->start, SEEK_SET) < 0)
        return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", input->shown);
    if (input->gzip_live)
        inflateReset2(&input->z, GZIP_WINDOW);
    input->raw_at = input->raw_end = 0;
    input->raw_ended = input->gzip_ended = false;
    input->taken = input->handed = 0;
    return MERCER_OK;
}

mercer_status mrc_input_part(mrc_input *input, const mrc_part *part, const char *shown,
                             mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    char *name = NULL;
    MRC_TRY(mrc_limit_bytes(&input->limits, shown, part->unpacked, true, err));
    MRC_TRY(mrc_strdup(&name, shown, err));
    if (input->fd < 0) {
        size_t offset = (size_t)part->offset;
        offset = offset < input->memory_size ? offset : input->memory_size;
        input->memory = input->memory_all + offset;
        input->memory_left = input->memory_size - offset;
    } else if (lseek(input->fd, (off_t)part->offset, SEEK_SET) < 0) {
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", input->shown);
        goto out;
    }
    if (part->deflated && !input->gzip_live) {
        input->z = (z_stream){.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
        if (inflateInit2(&input->z, PLAIN_WINDOW) != Z_OK)
            MRC_FAIL_AT(err, MERCER_ERR_MEMORY, MRC_IN_FILE, "%s: out of memory for unzipping",
                        shown);
        input->gzip_live = true;
    } else if (part->deflated) {
        inflateReset2(&input->z, PLAIN_WINDOW);
    }
    input->raw_at = input->raw_end = 0;
    input->raw_ended = input->gzip_ended = false;
    input->gzip = part->deflated;
    input->part = true;
    input->size = part->packed;
    input->taken = input->handed = 0;
    input->packed = part->packed;
    input->unpacked = part->unpacked;
    input->check = crc32_z(0, NULL, 0);
    input->check_wanted = part->check;
    mrc_free(input->shown);
    input->shown = name;
    name = NULL;
out:
    mrc_free(name);
    return rc;
}

mercer_status mrc_input_drain(mrc_input *input, mercer_error *err)
{
    unsigned char bytes[DRAIN_SIZE];
    size_t got = 1;
    mercer_status rc = MERCER_OK;
    while (rc == MERCER_OK && got > 0 && input->part && input->unpacked > 0)
        rc = mrc_input_read(input, bytes, sizeof bytes, &got, err);
    return rc;
}

int64_t mrc_input_left(const mrc_input *input)
{
    if (input->part) {
        int64_t packed = input->packed + (int64_t)(input->raw_end - input->raw_at), most;
        if (!input->gzip)
            return packed < input->unpacked ? packed : input->unpacked;
        /* What zlib has taken in may still come out: a window and a block's codes at most. */
        if (__builtin_mul_overflow(packed + RAW_SIZE, (int64_t)MAX_DEFLATE, &most))
            most = INT64_MAX - 1;
        return most < input->unpacked ? most : input->unpacked;
    }
    if (input->gzip || input->size < 0)
        return INT64_MAX;
    int64_t unread = input->size > input->taken ? input->size - input->taken : 0;
    return unread + (int64_t)(input->raw_end - input->raw_at);
}

double mrc_input_done(const mrc_input *input)
{
    if (input->size <= 0)
        return -1;
    /* Compressed bytes that wait may be most of what there will be. */
    int64_t done = input->taken - (int64_t)(input->raw_end - input->raw_at);
    return done < input->size ? (double)done / (double)input->size : 1;
}

void mrc_input_close(mrc_input *input)
{
    if (input->gzip_live)
        inflateEnd(&input->z);
    if (input->fd >= 0 && !input->borrowed_fd)
        close(input->fd);
    mrc_free(input->raw);
    mrc_free(input->shown);
    *input = (mrc_input){.fd = -1};
}
