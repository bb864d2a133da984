/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits that the caller has set: how much of a file is taken, how long work may last, which files
 * are opened at all. Whoever opens a file keeps a copy of those of its context, so that they do not
 * change while it is read. A zeroed one sets no limit. */
#ifndef MRC_BASE_LIMITS_H
#define MRC_BASE_LIMITS_H

#include "base/error.h"

#include <mercer/context.h>

#include <stdbool.h>

typedef struct mrc_limits {
    mercer_limits set;
    double deadline; /* on the clock of mrc_seconds(); 0: none */
} mrc_limits;

/* MERCER_ERR_LIMIT when a table has more rows or columns, a file more bytes or a name more bytes
 * than allowed. shown: the file. exact: `found` is their number, else there are at least that many.
 * name: which one it is ("class"). */
mercer_status mrc_limit_rows(const mrc_limits *limits, const char *shown, int64_t found, bool exact,
                             mercer_error *err);
mercer_status mrc_limit_columns(const mrc_limits *limits, const char *shown, int64_t found,
                                bool exact, mercer_error *err);
mercer_status mrc_limit_bytes(const mrc_limits *limits, const char *shown, int64_t found,
                              bool exact, mercer_error *err);
mercer_status mrc_limit_name(const mrc_limits *limits, const char *shown, const char *name,
                             size_t bytes, mercer_error *err);
/* MERCER_ERR_LIMIT when the time is over. shown: the file that is read, or NULL. */
mercer_status mrc_limit_time(const mrc_limits *limits, const char *shown, mercer_error *err);

/* Wait until the descriptor can be read, or its end is; at most until the time is over. */
mercer_status mrc_limit_wait(const mrc_limits *limits, int fd, const char *shown,
                             mercer_error *err);

/* Flags for open() of a file that is read: with plain_files no link is followed, and no pipe is
 * waited for. */
int mrc_limit_flags(const mrc_limits *limits);
/* The failure of such an open(), by errno: a link is said to be one. */
mercer_status mrc_limit_fail_open(const mrc_limits *limits, const char *shown, int errnum,
                                  mercer_error *err);
/* What was opened has to be a plain file (or folder, where one is expected) if only those are
 * allowed, and of no more than max_bytes. */
mercer_status mrc_limit_opened(const mrc_limits *limits, const char *shown, int fd, bool folder,
                               mercer_error *err);
/* The same of a name that somebody else will open. */
mercer_status mrc_limit_named(const mrc_limits *limits, const char *path, bool folder,
                              mercer_error *err);

/* Whether a status ends all work, not the piece alone that came to it. */
bool mrc_is_end(mercer_status status);

#endif
