/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns by a list of the caller's: names, positions from 1, ranges and patterns, separated by
 * commas.
 *
 * A column of exactly the text's name wins, of the whole text first (a name may have a comma), then
 * of each item. Else an item is name:NAME or position:N, a position, a range 3-15 or 3- (to the
 * last column), or a pattern in which * stands for any text and ? for one character. An item that
 * matches nothing is refused: a column that stays by a typing error would be a silent mistake. */
#include "io/reader.h"

#include <string.h>

/* Whether name, up to its end, fits the pattern. Of several stars only the last one has to be
 * tried again, so the cost is at most the product of both lengths. */
static bool fits_pattern(const char *pattern, size_t length, const char *name)
{
    const char *end = pattern + length, *star = NULL, *retry = NULL;
    while (*name) {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            retry = name;
        } else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
            bool any = *pattern++ == '?';
            name++;
            while (any && ((unsigned char)*name & 0xc0) == 0x80)
                name++; /* the rest of a UTF-8 character */
        } else if (star) {
            pattern = star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

static mercer_status match_item(const mercer_reader *reader, const char *key, const char *text,
                                size_t length, bool *out, mercer_error *err)
{
    const mrc_columns *columns = &reader->source.columns;
    char shown[MRC_SHOWN_SIZE], near[MRC_SHOWN_SIZE + 24];
    int64_t first, last, column = mrc_column_named(columns, text, length);
    mrc_asked asked = mrc_column_asked(text, length, columns->count);
    bool any = false;
    if (column < 0)
        column =
            asked.name ? mrc_column_named(columns, asked.name, asked.length) : asked.position - 1;
    if (column >= 0 && column == asked.position - 1) {
        out[column] = true;
        return MERCER_OK;
    }
    if (column >= 0) { /* all that have this name */
        for (int64_t i = column; i < columns->count; i++)
            out[i] |= strcmp(columns->names[i], columns->names[column]) == 0;
        return MERCER_OK;
    }
    if (mrc_column_range(text, length, columns->count, &first, &last)) {
        for (column = first - 1; column < last; column++)
            out[column] = true;
        return MERCER_OK;
    }
    bool pattern = memchr(text, '*', length) || memchr(text, '?', length);
    for (int64_t i = 0; pattern && columns->names && i < columns->count; i++)
        if (fits_pattern(text, length, columns->names[i]))
            any = out[i] = true;
    if (any)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = key, .names_file = 1),
                       "%s: no column matches '%s'%s", reader->source.input.shown,
                       mrc_show(shown, text, length),
                       columns->names ? mrc_column_near(near, columns, text, length)
                                      : "; its columns have no names");
}

mercer_status mrc_column_list(const mercer_reader *reader, const char *key, const char *text,
                              bool *out, mercer_error *err)
{
    int64_t whole = mrc_column_named(&reader->source.columns, text, strlen(text));
    if (whole >= 0)
        return match_item(reader, key, text, strlen(text), out, err);
    for (;;) {
        size_t length = strcspn(text, ",");
        mercer_status rc = match_item(reader, key, text, length, out, err);
        if (rc != MERCER_OK || !text[length])
            return rc;
        text += length + 1;
    }
}
