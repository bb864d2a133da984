/* SPDX-License-Identifier: BSD-3-Clause */
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

int mercer_version_number(void)
{
    return 10000 * MERCER_VERSION_MAJOR + 100 * MERCER_VERSION_MINOR + MERCER_VERSION_PATCH;
}

static void put(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text ? text : "");
}

void mrc_error_place(mercer_error *err, const mrc_at *at)
{
    err->cause = at->cause;
    put(err->key, sizeof err->key, at->key);
    put(err->input, sizeof err->input, at->input);
    put(err->column, sizeof err->column, at->column);
    if (at->column_number > 0)
        snprintf(err->column, sizeof err->column, "%lld", (long long)at->column_number);
    err->position = at->position > 0 ? at->position : at->column_number;
    err->row = at->row;
    err->line = at->line;
    err->names_file = at->names_file;
    put(err->advice_key, sizeof err->advice_key, at->advice_key);
    put(err->advice_value, sizeof err->advice_value, at->advice_value);
}

/* The format's arguments may be texts of err itself: they are read before anything is changed. */
static void fill(mercer_error *err, mercer_status status, const mrc_at *at, const char *format,
                 va_list args)
{
    mercer_error new = {.code = status};
    vsnprintf(new.text, sizeof new.text, format, args);
    mrc_error_place(&new, at);
    *err = new;
}

mercer_status(mrc_fail)(mercer_error *err, mercer_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, MRC_AT(0), format, args);
        va_end(args);
    }
    return status;
}

mercer_status(mrc_fail_at)(mercer_error *err, mercer_status status, const mrc_at *at,
                           const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, at, format, args);
        va_end(args);
    }
    return status;
}

mrc_at mrc_at_of(const mercer_error *why)
{
    return (mrc_at){.cause = why->cause,
                    .key = why->key,
                    .input = why->input,
                    .column = why->column,
                    .position = why->position,
                    .advice_key = why->advice_key,
                    .advice_value = why->advice_value,
                    .row = why->row,
                    .line = why->line,
                    .names_file = why->names_file};
}

mercer_status(mrc_fail_within)(mercer_error *err, mercer_status status, const char *input,
                               const char *format, ...)
{
    if (err) {
        char text[sizeof err->text];
        va_list args;
        va_start(args, format);
        const int used = vsnprintf(text, sizeof text, format, args);
        va_end(args);
        if (used >= 0 && (size_t)used < sizeof text)
            put(text + used, sizeof text - (size_t)used, err->text);
        memcpy(err->text, text, sizeof text);
        err->code = status;
        err->names_file = 0;
        if (input)
            put(err->input, sizeof err->input, input);
    }
    return status;
}

mercer_status(mrc_fail_again)(mercer_error *err, mercer_status status, const mercer_error *why)
{
    if (err) {
        *err = *why;
        err->code = status;
        err->text[sizeof err->text - 1] = 0;
        err->key[sizeof err->key - 1] = 0;
        err->input[sizeof err->input - 1] = 0;
        err->column[sizeof err->column - 1] = 0;
        err->advice_key[sizeof err->advice_key - 1] = 0;
        err->advice_value[sizeof err->advice_value - 1] = 0;
    }
    return status;
}

mercer_status(mrc_fail_errno)(mercer_error *err, mercer_status status, int errnum,
                              const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, MRC_IN_FILE, format, args);
        va_end(args);
        size_t used = strlen(err->text);
        char reason[128];
        /* The GNU strerror_r returns the text; it may or may not use the buffer. */
        const char *text = strerror_r(errnum, reason, sizeof reason);
        snprintf(err->text + used, sizeof err->text - used, ": %s", text);
    }
    return status;
}
