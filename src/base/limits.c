/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits that the caller has set, and the one line that each says when it is exceeded: the file,
 * what was found in it, the limit, and what to do. */
#include "base/limits.h"

#include "base/bytes.h"
#include "base/ctx.h"
#include "base/params.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

enum { WAIT_MS = 50 };

MRC_VERSIONED(limits, )

void mercer_limits_untrusted(mercer_limits *limits)
{
    const mercer_limits tight = {.max_rows = 1000000,
                                 .max_columns = 100000,
                                 .max_bytes = (int64_t)1 << 30,
                                 .max_name_bytes = 255,
                                 .max_seconds = 600,
                                 .plain_files = 1,
                                 .confine = 1};
    if (limits)
        mrc_give_struct(&tight, sizeof tight, limits);
}

mercer_status mercer_ctx_set_limits(mercer_ctx *ctx, const mercer_limits *limits, mercer_error *err)
{
    mrc_limits new = {.set = {.struct_size = sizeof new.set}};
    mercer_status rc = MERCER_OK;
    MRC_NEED(ctx);
    MRC_TRY(mrc_options_import("limits", limits, &new.set, sizeof new.set, err));
    const mercer_limits *set = &new.set;
    if (set->max_rows < 0 || set->max_columns < 0 || set->max_bytes < 0 ||
        set->max_name_bytes < 0 || !isfinite(set->max_seconds) || set->max_seconds < 0)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "limit"),
                    "a limit is a number from 0 on, which stands for none");
    if (set->max_seconds > 0)
        new.deadline = mrc_seconds() + set->max_seconds;
    ctx->limits = new;
    atomic_store(&ctx->expired, 0);
out:
    return rc;
}

/* "x.csv: has 12 rows, the limit is 10: ..." or "has more than 10 rows, ...", with the limit that
 * would do as advice. */
static mercer_status fail_count(const char *shown, int64_t found, bool exact, const char *what,
                                int64_t most, mercer_error *err)
{
    char advice[32], limit[48] = "which is the limit";
    snprintf(advice, sizeof advice, "%s=N", what);
    if (exact) {
        snprintf(advice, sizeof advice, "%s=%lld", what, (long long)found);
        snprintf(limit, sizeof limit, "the limit is %lld", (long long)most);
    }
    return mrc_fail_at(err, MERCER_ERR_LIMIT,
                       MRC_AT(.names_file = 1, .advice_key = "limit", .advice_value = advice),
                       "%s: has %s%lld %s, %s: raise it if you trust this file", shown,
                       exact ? "" : "more than ", (long long)(exact ? found : most), what, limit);
}

mercer_status mrc_limit_rows(const mrc_limits *limits, const char *shown, int64_t found, bool exact,
                             mercer_error *err)
{
    const int64_t most = limits->set.max_rows;
    if (most == 0 || found <= most)
        return MERCER_OK;
    return fail_count(shown, found, exact, "rows", most, err);
}

mercer_status mrc_limit_columns(const mrc_limits *limits, const char *shown, int64_t found,
                                bool exact, mercer_error *err)
{
    const int64_t most = limits->set.max_columns;
    if (most == 0 || found <= most)
        return MERCER_OK;
    return fail_count(shown, found, exact, "columns", most, err);
}

mercer_status mrc_limit_bytes(const mrc_limits *limits, const char *shown, int64_t found,
                              bool exact, mercer_error *err)
{
    const int64_t most = limits->set.max_bytes;
    if (most == 0 || found <= most)
        return MERCER_OK;
    return fail_count(shown, found, exact, "bytes", most, err);
}

mercer_status mrc_limit_name(const mrc_limits *limits, const char *shown, const char *name,
                             size_t bytes, mercer_error *err)
{
    const int64_t most = limits->set.max_name_bytes;
    if (most == 0 || (int64_t)bytes <= most)
        return MERCER_OK;
    char advice[32];
    snprintf(advice, sizeof advice, "names=%lld", (long long)bytes);
    return mrc_fail_at(err, MERCER_ERR_LIMIT,
                       MRC_AT(.names_file = 1, .advice_key = "limit", .advice_value = advice),
                       "%s: the name of %s has %lld bytes, the limit is %lld: raise it if you "
                       "trust this file",
                       shown, name, (long long)bytes, (long long)most);
}

mercer_status mrc_limit_time(const mrc_limits *limits, const char *shown, mercer_error *err)
{
    if (limits->deadline == 0 || mrc_seconds() <= limits->deadline)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_LIMIT, MRC_AT(.names_file = shown != NULL, .key = "limit"),
                       "%s%s takes more than %g seconds, which is the limit: raise it, or take "
                       "fewer rows",
                       shown ? shown : "this", shown ? ": reading it" : "",
                       limits->set.max_seconds);
}

mercer_status mrc_limit_wait(const mrc_limits *limits, int fd, const char *shown, mercer_error *err)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    mercer_status rc = MERCER_OK;
    if (limits->deadline == 0)
        return MERCER_OK;
    while ((rc = mrc_limit_time(limits, shown, err)) == MERCER_OK &&
           poll(&waiting, 1, WAIT_MS) <= 0)
        ;
    return rc;
}

/* ---- which files ---- */

int mrc_limit_flags(const mrc_limits *limits)
{
    return limits->set.plain_files ? O_NOFOLLOW | O_NONBLOCK : 0;
}

static mercer_status fail_kind(const char *shown, mode_t mode, bool folder, mercer_error *err)
{
    const char *kind = S_ISLNK(mode)    ? "a symbolic link"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISDIR(mode)  ? "a folder"
                       : S_ISREG(mode)  ? "a file"
                                        : "a device";
    return mrc_fail_at(err, MERCER_ERR_LIMIT, MRC_AT(.names_file = 1, .key = "untrusted"),
                       "%s: is %s, not a plain %s, which is refused where files are not trusted: "
                       "name the %s itself",
                       shown, kind, folder ? "folder" : "file", folder ? "folder" : "file");
}

mercer_status mrc_limit_fail_open(const mrc_limits *limits, const char *shown, int errnum,
                                  mercer_error *err)
{
    if (limits->set.plain_files && errnum == ELOOP)
        return fail_kind(shown, S_IFLNK, false, err);
    if (limits->set.plain_files && errnum == ENXIO) /* a socket; or a device that is not there */
        return fail_kind(shown, S_IFCHR, false, err);
    return mrc_fail_errno(err, MERCER_ERR_IO, errnum, "%s: cannot open", shown);
}

static mercer_status check_kind(const mrc_limits *limits, const char *shown,
                                const struct stat *info, bool folder, mercer_error *err)
{
    if (limits->set.plain_files && !(folder ? S_ISDIR(info->st_mode) : S_ISREG(info->st_mode)))
        return fail_kind(shown, info->st_mode, folder, err);
    return S_ISREG(info->st_mode) ? mrc_limit_bytes(limits, shown, info->st_size, true, err)
                                  : MERCER_OK;
}

mercer_status mrc_limit_opened(const mrc_limits *limits, const char *shown, int fd, bool folder,
                               mercer_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot open", shown);
    return check_kind(limits, shown, &info, folder, err);
}

mercer_status mrc_limit_named(const mrc_limits *limits, const char *path, bool folder,
                              mercer_error *err)
{
    struct stat info;
    char name[PATH_MAX];
    const int flags = limits->set.plain_files ? AT_SYMLINK_NOFOLLOW : 0;
    size_t length = (size_t)snprintf(name, sizeof name, "%s", path);
    length = length < sizeof name ? length : sizeof name - 1;
    while (length > 1 && name[length - 1] == '/') /* behind which a link is followed */
        name[--length] = 0;
    if (fstatat(AT_FDCWD, name, &info, flags) != 0)
        return MERCER_OK; /* whoever opens it finds out */
    return check_kind(limits, path, &info, folder, err);
}

bool mrc_is_end(mercer_status status)
{
    return status == MERCER_ERR_CANCELLED || status == MERCER_ERR_LIMIT ||
           status == MERCER_ERR_PEER;
}
