/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of text from an input, in a buffer that holds at least the row at hand.
 *
 * The buffer has UTF-8, or whatever bytes the file has: nobody looks at those of numbers twice.
 * Other encodings are turned into UTF-8 on their way into the buffer. */
#include "io/text.h"

#include "base/bytes.h"

#include <string.h>

enum {
    TEXT_FIRST = 1 << 18, /* bytes read at a time: fits the second-level cache */
    MAX_TEXT = 1 << 26,   /* longest row; a file with longer ones is not a table */
    MAX_UTF8 = 3,         /* bytes that a byte of another encoding can become */
    MIN_DECODED = 64      /* room for some characters, whatever they are */
};

static mercer_status make_room(mrc_text *text, size_t capacity, mercer_error *err)
{
    int64_t more = (int64_t)(capacity - text->capacity);
    if (more > mrc_budget_left(text->budget)) {
        const mrc_bytes_pair sizes =
            mrc_bytes_texts((double)text->capacity, (double)text->budget->most);
        return mrc_fail_at(
            err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory", .line = text->line, .names_file = 1),
            "%s:%lld: a row of more than %s does not fit the memory budget of %s: "
            "raise it (or does a quote or a line never end?)",
            text->input->shown, (long long)text->line, sizes.first.text, sizes.second.text);
    }
    mercer_status rc = mrc_grow(&text->data, (int64_t)capacity + 1, 1, err);
    return rc == MERCER_OK ? mrc_budget_take(text->budget, more, 1, "", err) : rc;
}

/* Append a character as UTF-8; returns its bytes. */
static size_t put_utf8(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* What Windows-1252 has in place of the control characters 0x80 to 0x9f; five are not used, and
 * stay what they are. */
static const uint16_t windows_1252[32] = {
    0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};

/* The next character of a text in UTF-16: its bytes in `from`, 0 when it is not complete; 0xffff
 * stands for half a pair. */
static size_t take_utf16(const unsigned char *from, size_t count, bool big, uint32_t *c)
{
    if (count < 2)
        return 0;
    *c = big ? (uint32_t)(from[0] << 8 | from[1]) : (uint32_t)(from[1] << 8 | from[0]);
    if (*c < 0xd800 || *c > 0xdfff)
        return 2;
    if (count < 4)
        return 0;
    uint32_t low = big ? (uint32_t)(from[2] << 8 | from[3]) : (uint32_t)(from[3] << 8 | from[2]);
    *c = *c < 0xdc00 && low >= 0xdc00 && low <= 0xdfff
             ? 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00)
             : 0xffff;
    return 4;
}

/* Decode `count` bytes, as far as characters are complete: *used of them give *written bytes. */
static mercer_status decode(const mrc_text *text, const unsigned char *raw, size_t count, char *out,
                            size_t *used, size_t *written, mercer_error *err)
{
    *used = *written = 0;
    while (*used < count) {
        uint32_t c = raw[*used];
        size_t length = 1;
        if (text->encoding == MRC_LATIN1)
            c = c >= 0x80 && c < 0xa0 ? windows_1252[c - 0x80] : c;
        else
            length = take_utf16(raw + *used, count - *used, text->encoding == MRC_UTF16_BIG, &c);
        if (length == 0)
            break;
        if (c == 0xffff)
            return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                               "%s: is not UTF-16: half a character stands alone",
                               text->input->shown);
        *written += put_utf8(c, out + *written);
        *used += length;
    }
    return MERCER_OK;
}

static mercer_status fail_inside(const mrc_text *text, mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: ends inside a character of UTF-16",
                       text->input->shown);
}

/* Up to `most` bytes of text, as mrc_input_some() gives them, in UTF-8. */
static mercer_status decode_some(mrc_text *text, char *out, size_t most, size_t *got,
                                 mercer_error *err)
{
    enum { RAW = 1 << 13 };
    unsigned char raw[RAW];
    size_t there = text->raw_count, more, used, room = most / MAX_UTF8;
    mercer_status rc = MERCER_OK;
    room = room < RAW ? room : RAW;
    memcpy(raw, text->raw, there);
    *got = 0;
    while (*got == 0) { /* more than once when a character comes in pieces */
        MRC_TRY(mrc_input_some(text->input, raw + there, room - there, &more, err));
        if (more == 0) {
            rc = there > 0 ? fail_inside(text, err) : MERCER_OK;
            goto out;
        }
        there += more;
        MRC_TRY(decode(text, raw, there, out, &used, got, err));
        there -= used;
        memmove(raw, raw + used, there);
    }
    memcpy(text->raw, raw, there);
    text->raw_count = there;
out:
    return rc;
}

mercer_status mrc_text_more(mrc_text *text, mercer_error *err)
{
    size_t kept = text->end - text->start, got;
    if (text->start > 0 && kept > 0)
        memmove(text->data, text->data + text->start, kept);
    text->start = 0;
    text->end = kept;
    if (text->capacity - kept < TEXT_FIRST / 2) {
        if (text->capacity >= MAX_TEXT)
            return mrc_fail_at(err, MERCER_ERR_FORMAT,
                               MRC_AT(.key = "memory", .line = text->line, .names_file = 1),
                               "%s:%lld: a row of more than %d MB (a quote that is never closed?)",
                               text->input->shown, (long long)text->line, MAX_TEXT >> 20);
        size_t capacity = text->capacity ? 2 * text->capacity : TEXT_FIRST;
        mercer_status grown = make_room(text, capacity, err);
        if (grown != MERCER_OK)
            return grown;
        text->capacity = capacity;
    }
    /* A pipe gives what it has: that is enough when a row may end in it, and a long row is not
     * parsed again for every little piece. */
    bool line_end = false;
    while (!line_end && !text->ended && text->end < text->capacity) {
        char *new = text->data + text->end;
        size_t room = text->capacity - text->end;
        if (text->encoding != MRC_UTF8 && room < MIN_DECODED)
            break;
        mercer_status rc = text->encoding == MRC_UTF8
                               ? mrc_input_some(text->input, new, room, &got, err)
                               : decode_some(text, new, room, &got, err);
        if (rc != MERCER_OK)
            return rc;
        line_end = memchr(new, '\n', got) || memchr(new, '\r', got);
        text->ended = got == 0;
        text->end += got;
    }
    text->data[text->end] = '\n';
    return MERCER_OK;
}

size_t mrc_text_first_bad(const char *bytes, size_t length)
{
    const unsigned char *s = (const unsigned char *)bytes;
    for (size_t i = 0; i < length;) {
        unsigned char c = s[i];
        size_t rest = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : 3;
        if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || rest >= length - i)
            return i;
        for (size_t k = 1; k <= rest; k++)
            if ((s[i + k] & 0xc0) != 0x80)
                return i;
        if ((c == 0xe0 && s[i + 1] < 0xa0) || (c == 0xed && s[i + 1] > 0x9f) ||
            (c == 0xf0 && s[i + 1] < 0x90) || (c == 0xf4 && s[i + 1] > 0x8f))
            return i; /* longer than need be, half a pair, or beyond the last character */
        i += rest + 1;
    }
    return length;
}

mercer_status mrc_text_fail_bad(const mrc_text *text, int64_t line, unsigned char byte,
                                mercer_error *err)
{
    return mrc_fail_at(
        err, MERCER_ERR_FORMAT,
        MRC_AT(.line = line, .names_file = 1, .advice_key = "encoding", .advice_value = "latin1"),
        "%s:%lld: byte 0x%02x is not UTF-8; if the file is Latin-1 or "
        "Windows-1252, say so: encoding latin1",
        text->input->shown, (long long)line, byte);
}

/* Which of the two orders of bytes a text in UTF-16 without a mark has: most characters of a table
 * are below 256, so one byte of most pairs is zero. */
static mrc_encoding_kind guess_order(const unsigned char *bytes, size_t count)
{
    size_t first = 0, second = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        first += bytes[i] == 0;
        second += bytes[i + 1] == 0;
    }
    return first > second ? MRC_UTF16_BIG : MRC_UTF16_LITTLE;
}

/* Begin again in another encoding: what was read so far is decoded. */
static mercer_status decode_start(mrc_text *text, mrc_encoding_kind encoding, mercer_error *err)
{
    char *raw = text->data;
    size_t count = text->end, used = 0;
    mercer_status rc = MERCER_OK;
    text->encoding = encoding;
    text->data = NULL;
    text->end = 0;
    MRC_TRY(mrc_alloc2_raw(&text->data, (int64_t)text->capacity * MAX_UTF8 + 1, 1, 1, err));
    MRC_TRY(mrc_budget_take(text->budget, (MAX_UTF8 - 1) * (int64_t)text->capacity, 1, "its text",
                            err));
    text->capacity *= MAX_UTF8;
    MRC_TRY(decode(text, (const unsigned char *)raw, count, text->data, &used, &text->end, err));
    text->raw_count = count - used;
    memcpy(text->raw, raw + used, text->raw_count);
    if (text->ended && text->raw_count > 0)
        MRC_TRY(fail_inside(text, err));
    text->data[text->end] = '\n';
out:
    mrc_free(raw);
    return rc;
}

/* Step over a byte order mark. */
static void skip_mark(mrc_text *text)
{
    if (text->end >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0)
        text->start = 3;
}

mercer_status mrc_text_init_encoded(mrc_text *text, mrc_input *input, mrc_budget *budget,
                                    const char *encoding, mercer_error *err)
{
    *text = (mrc_text){.input = input, .budget = budget, .line = 1};
    mercer_status rc = mrc_text_more(text, err);
    if (rc != MERCER_OK)
        return rc;
    const unsigned char *first = (const unsigned char *)text->data;
    bool latin1 = encoding && strcmp(encoding, "latin1") == 0;
    bool little = text->end >= 2 && first[0] == 0xff && first[1] == 0xfe;
    bool big = text->end >= 2 && first[0] == 0xfe && first[1] == 0xff;
    if (latin1)
        rc = decode_start(text, MRC_LATIN1, err);
    else if (little || big)
        rc = decode_start(text, big ? MRC_UTF16_BIG : MRC_UTF16_LITTLE, err);
    else if (encoding && strcmp(encoding, "utf16") == 0)
        rc = decode_start(text, guess_order(first, text->end), err);
    if (rc != MERCER_OK)
        return rc;
    if (memchr(text->data, 0, text->end))
        return mrc_fail_at(err, MERCER_ERR_FORMAT,
                           MRC_AT(.names_file = 1, .advice_key = text->encoding ? NULL : "encoding",
                                  .advice_value = text->encoding ? NULL : "utf16"),
                           "%s: is not a text file (it holds zero bytes)%s", input->shown,
                           text->encoding ? "" : ", unless it is UTF-16");
    skip_mark(text);
    return MERCER_OK;
}

mercer_status mrc_text_restart(mrc_text *text, mercer_error *err)
{
    const mrc_text before = *text;
    mercer_status rc = MERCER_OK;
    mrc_text_destroy(text);
    *text = (mrc_text){.input = before.input,
                       .budget = before.budget,
                       .line = 1,
                       .fill_blocks = before.fill_blocks};
    MRC_TRY(mrc_input_rewind(text->input, err));
    MRC_TRY(mrc_text_more(text, err));
    if (before.encoding != MRC_UTF8)
        MRC_TRY(decode_start(text, before.encoding, err));
    skip_mark(text);
out:
    return rc;
}

mercer_status mrc_text_init(mrc_text *text, mrc_input *input, mrc_budget *budget, mercer_error *err)
{
    return mrc_text_init_encoded(text, input, budget, NULL, err);
}

mercer_status mrc_text_line(mrc_text *text, mercer_ctx *ctx, const char **first, const char **end,
                            mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *first = NULL;
    for (;;) {
        const char *p = text->data + text->start, *limit = text->data + text->end;
        *end = memchr(p, '\n', (size_t)(limit - p) + 1); /* there is one at limit */
        if (*end < limit || text->ended) {
            *first = p < limit ? p : NULL;
            text->start += (size_t)(*end - p) + (*end < limit);
            text->line += p < limit;
            goto out;
        }
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(mrc_text_more(text, err));
        mrc_progress(ctx, "reading", mrc_input_done(text->input));
    }
out:
    return rc;
}

bool mrc_text_would_wait(const mrc_text *text)
{
    return !text->fill_blocks && !text->ended && !mrc_input_ready(text->input);
}

void mrc_text_destroy(mrc_text *text)
{
    mrc_budget_give(text->budget, (int64_t)text->capacity, 1);
    mrc_free(text->data);
    *text = (mrc_text){0};
}
