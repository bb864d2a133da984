/* Failing with a reason. Every function that can fail returns mercer_status and explains itself in
 * the caller's mercer_error; there is no other error state. */
#ifndef MRC_BASE_ERROR_H
#define MRC_BASE_ERROR_H

#include <mercer/status.h>

/* Fill err (when not NULL) and return status, so that `return mrc_fail(...)` is one line. */
mercer_status mrc_fail(mercer_error *err, mercer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Same, with ": " and the text of errno at the end. */
mercer_status mrc_fail_errno(mercer_error *err, mercer_status status, int errnum,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));

#ifdef __clang_analyzer__
/* Static analysis sees one file at a time and cannot know that failing never returns MERCER_OK. */
#define mrc_fail(err, status, ...) (mrc_fail(err, status, __VA_ARGS__), (status))
#define mrc_fail_errno(err, status, ...) (mrc_fail_errno(err, status, __VA_ARGS__), (status))
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

#endif
