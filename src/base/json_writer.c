/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON texts, written piece by piece; see json_writer.h. */
#include "base/json_writer.h"

#include "base/memory.h"
#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int mrc_utf8_length(const unsigned char *s)
{
    int more;
    unsigned char least = 0x80, most = 0xBF; /* of the second byte */
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        more = 1;
    else if (s[0] >= 0xE0 && s[0] <= 0xEF)
        more = 2;
    else if (s[0] >= 0xF0 && s[0] <= 0xF4)
        more = 3;
    else
        return 0;
    if (s[0] == 0xE0)
        least = 0xA0; /* shorter forms exist */
    else if (s[0] == 0xED)
        most = 0x9F; /* surrogates */
    else if (s[0] == 0xF0)
        least = 0x90;
    else if (s[0] == 0xF4)
        most = 0x8F; /* beyond Unicode */
    if (s[1] < least || s[1] > most)
        return 0;
    for (int i = 2; i <= more; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return more + 1;
}

static void put(mrc_json_writer *json, const char *bytes, size_t length)
{
    enum { FIRST_ROOM = 4096 };
    if (json->rc != MERCER_OK)
        return;
    const int64_t needed = json->length + (int64_t)length + 1; /* with a zero byte at the end */
    if (needed > json->room) {
        int64_t room = json->room ? json->room : FIRST_ROOM;
        while (room < needed)
            room *= 2;
        json->rc = mrc_grow(&json->text, room, 1, json->err);
        if (json->rc != MERCER_OK)
            return;
        json->room = room;
    }
    memcpy(json->text + json->length, bytes, length);
    json->length += (int64_t)length;
    json->text[json->length] = 0;
}

static void put_word(mrc_json_writer *json, const char *word)
{
    put(json, word, strlen(word));
}

/* A string in quotation marks; plain: bytes beyond ASCII become '?'. */
static void put_quoted(mrc_json_writer *json, const char *text, size_t length, bool plain)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    put_word(json, "\"");
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        const char *special = c ? strchr(escaped, c) : NULL;
        char code[8];
        if (special)
            snprintf(code, sizeof code, "\\%c", letters[special - escaped]);
        else if (c < 0x20)
            snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
        else
            snprintf(code, sizeof code, "%c", plain && c >= 0x80 ? '?' : c);
        put_word(json, code);
    }
    put_word(json, "\"");
}

/* What stands before a value: a comma, the name of the member. */
static void put_key(mrc_json_writer *json, const char *key)
{
    const bool outermost = json->depth == 1;
    if (json->filled)
        put_word(json, outermost ? "," : ", ");
    if (outermost)
        put_word(json, "\n  ");
    json->filled = true;
    if (!key)
        return;
    put_quoted(json, key, strlen(key), false);
    put_word(json, ": ");
}

static void open_bracket(mrc_json_writer *json, char closing)
{
    assert(json->depth < MRC_JSON_DEPTH);
    json->closing[json->depth++] = closing;
    json->filled = false;
    put_word(json, closing == '}' ? "{" : "[");
}

void mrc_json_start(mrc_json_writer *json, mercer_error *err)
{
    *json = (mrc_json_writer){.rc = MERCER_OK, .err = err};
    open_bracket(json, '}');
}

mercer_status mrc_json_finish(mrc_json_writer *json, char **out)
{
    assert(json->depth == 1);
    if (json->filled)
        put_word(json, "\n");
    put_word(json, "}");
    if (json->rc != MERCER_OK) {
        mrc_free(json->text);
        json->text = NULL;
    }
    *out = json->text;
    json->text = NULL;
    return json->rc;
}

void mrc_json_open_object(mrc_json_writer *json, const char *key)
{
    put_key(json, key);
    open_bracket(json, '}');
}

void mrc_json_open_array(mrc_json_writer *json, const char *key)
{
    put_key(json, key);
    open_bracket(json, ']');
}

void mrc_json_close(mrc_json_writer *json)
{
    assert(json->depth > 1);
    const char closing[] = {json->closing[--json->depth], 0};
    put_word(json, closing);
    json->filled = true;
}

void mrc_json_put_text_part(mrc_json_writer *json, const char *key, const char *text, size_t length)
{
    bool plain = false;
    for (size_t i = 0; i < length && !plain;) {
        char piece[5] = ""; /* so that a sequence does not go on beyond the part */
        memcpy(piece, text + i, length - i < 4 ? length - i : 4);
        const int bytes = mrc_utf8_length((const unsigned char *)piece);
        plain = bytes == 0;
        i += (size_t)bytes;
    }
    put_key(json, key);
    put_quoted(json, text, length, plain);
}

void mrc_json_put_text(mrc_json_writer *json, const char *key, const char *text)
{
    if (text)
        mrc_json_put_text_part(json, key, text, strlen(text));
    else
        mrc_json_put_null(json, key);
}

void mrc_json_put_int(mrc_json_writer *json, const char *key, int64_t value)
{
    char text[MRC_NUMBER_SIZE];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put_key(json, key);
    put_word(json, text);
}

void mrc_json_put_real(mrc_json_writer *json, const char *key, double value)
{
    char text[MRC_NUMBER_SIZE];
    if (!isfinite(value)) {
        mrc_json_put_null(json, key);
        return;
    }
    mrc_format_double(value, text);
    put_key(json, key);
    put_word(json, text);
    if (!strpbrk(text, ".e"))
        put_word(json, ".0"); /* or readers would take it for an integer */
}

void mrc_json_put_truth(mrc_json_writer *json, const char *key, bool value)
{
    put_key(json, key);
    put_word(json, value ? "true" : "false");
}

void mrc_json_put_null(mrc_json_writer *json, const char *key)
{
    put_key(json, key);
    put_word(json, "null");
}

void mrc_json_put_reals(mrc_json_writer *json, const char *key, const double *values, int64_t count,
                        double factor)
{
    mrc_json_open_array(json, key);
    for (int64_t i = 0; values && i < count; i++)
        mrc_json_put_real(json, NULL, values[i] * factor);
    mrc_json_close(json);
}

void mrc_json_put_words(mrc_json_writer *json, const char *key, const char *words, char separator)
{
    const char ends[] = {separator, 0};
    if (!words) {
        mrc_json_put_null(json, key);
        return;
    }
    mrc_json_open_array(json, key);
    for (size_t length; *words; words += length + (words[length] != 0)) {
        length = strcspn(words, ends);
        mrc_json_put_text_part(json, NULL, words, length);
    }
    mrc_json_close(json);
}
