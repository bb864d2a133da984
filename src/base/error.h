/* SPDX-License-Identifier: BSD-3-Clause */
/* Failing with a reason. Every function that can fail returns mercer_status and explains itself in
 * the caller's mercer_error; there is no other error state. */
#ifndef MRC_BASE_ERROR_H
#define MRC_BASE_ERROR_H

#include <mercer/status.h>

/* Fill err (when not NULL) and return status, so that `return mrc_fail(...)` is one line. */
mercer_status mrc_fail(mercer_error *err, mercer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What an error or a notice is about; what is not set is none. The members are those of
 * mercer_error. Texts are cut to the room there. */
typedef struct mrc_at {
    mercer_cause cause;
    const char *key, *input, *column, *advice_key, *advice_value;
    int64_t column_number; /* from 1, of a column without a name */
    int64_t position;      /* from 1, of a column with or without one */
    int64_t row, line;
    int names_file;
} mrc_at;
#define MRC_AT(...) (&(const mrc_at){__VA_ARGS__})
/* The text starts with the name of the file. */
#define MRC_IN_FILE MRC_AT(.names_file = 1)
#define MRC_AT_MEMORY MRC_AT(.key = "memory")
#define MRC_TRY_SCALING MRC_AT(.advice_key = "scale", .advice_value = "standard")

/* The same as mrc_fail, and what it is about. */
mercer_status mrc_fail_at(mercer_error *err, mercer_status status, const mrc_at *at,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* What an error is about, for another text; borrows from why. */
mrc_at mrc_at_of(const mercer_error *why);

/* Put a text in front of that of err, and keep what it is about; input, unless NULL, is which rows
 * of the call. status is that of err, which may be NULL. The text no longer starts with a file. */
mercer_status mrc_fail_within(mercer_error *err, mercer_status status, const char *input,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Hand on an error that was kept elsewhere, or came from another program: its strings are ended. */
mercer_status mrc_fail_again(mercer_error *err, mercer_status status, const mercer_error *why);

/* Same as mrc_fail for a file, whose name starts the text, with ": " and the text of errno at the
 * end. */
mercer_status mrc_fail_errno(mercer_error *err, mercer_status status, int errnum,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));

#ifdef __clang_analyzer__
/* Static analysis sees one file at a time and cannot know that failing never returns MERCER_OK. */
#define mrc_fail(err, status, ...) (mrc_fail(err, status, __VA_ARGS__), (status))
#define mrc_fail_errno(err, status, ...) (mrc_fail_errno(err, status, __VA_ARGS__), (status))
#define mrc_fail_at(err, status, ...) (mrc_fail_at(err, status, __VA_ARGS__), (status))
#define mrc_fail_within(err, status, ...) (mrc_fail_within(err, status, __VA_ARGS__), (status))
#define mrc_fail_again(err, status, why) (mrc_fail_again(err, status, why), (status))
#endif

/* Evaluate a call; on failure keep its status in rc and go to out. */
#define MRC_TRY(call)                                                                              \
    do {                                                                                           \
        rc = (call);                                                                               \
        if (rc != MERCER_OK)                                                                       \
            goto out;                                                                              \
    } while (0)

/* Refuse a pointer of the caller's that is NULL where the header does not allow it: the first lines
 * of a public function, before anything is looked at. */
#define MRC_NEED(pointer)                                                                          \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: %s is NULL", __func__, #pointer);       \
    } while (0)

/* Fail from a function that has an out: label. */
#define MRC_FAIL(...)                                                                              \
    do {                                                                                           \
        rc = mrc_fail(__VA_ARGS__);                                                                \
        goto out;                                                                                  \
    } while (0)

#define MRC_FAIL_AT(...)                                                                           \
    do {                                                                                           \
        rc = mrc_fail_at(__VA_ARGS__);                                                             \
        goto out;                                                                                  \
    } while (0)

/* Fill what err is about, but not its code and text: for notices. */
void mrc_error_place(mercer_error *err, const mrc_at *at);

#endif
