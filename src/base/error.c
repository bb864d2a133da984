/* Status texts and the filling of mercer_error. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *mercer_status_text(mercer_status status)
{
    switch (status) {
#define STATUS_CASE(name, number, text)                                                            \
    case MERCER_##name:                                                                            \
        return text;
        MERCER_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *mercer_version(void)
{
    return MERCER_VERSION;
}

mercer_status(mrc_fail)(mercer_error *err, mercer_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = status;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

mercer_status(mrc_fail_errno)(mercer_error *err, mercer_status status, int errnum,
                              const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = status;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        size_t used = strlen(err->text);
        char reason[128];
        /* The GNU strerror_r returns the text; it may or may not use the buffer. */
        const char *text = strerror_r(errnum, reason, sizeof reason);
        snprintf(err->text + used, sizeof err->text - used, ": %s", text);
    }
    return status;
}
