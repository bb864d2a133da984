/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that grow, and numbers and names in them that read the same everywhere. */
#include "draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mercer_status chart_fail(mercer_error *err, mercer_status code, const char *format, ...)
{
    if (!err)
        return code;
    *err = (mercer_error){.code = code};
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

void chart_put_bytes(chart_text *text, const char *bytes, size_t count)
{
    if (text->failed)
        return;
    if (text->size + count + 1 > text->room) {
        const size_t room = 2 * (text->size + count) + 256;
        char *grown = realloc(text->bytes, room);
        if (!grown) {
            free(text->bytes);
            *text = (chart_text){.failed = true};
            return;
        }
        text->bytes = grown;
        text->room = room;
    }
    memcpy(text->bytes + text->size, bytes, count);
    text->size += count;
    text->bytes[text->size] = 0;
}

void chart_put(chart_text *text, const char *words)
{
    chart_put_bytes(text, words, strlen(words));
}

static void put_list(chart_text *text, const char *format, va_list args)
{
    char *words = NULL;
    const int length = vasprintf(&words, format, args);
    if (length < 0) {
        free(text->bytes);
        *text = (chart_text){.failed = true};
        return;
    }
    chart_put_bytes(text, words, (size_t)length);
    free(words);
}

void chart_putf(chart_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_list(text, format, args);
    va_end(args);
}

void chart_put_number(chart_text *text, double value, int digits)
{
    /* Rounded to `digits` digits and written by the library, which knows no locale. */
    char shown[64];
    const int exponent = value == 0 || !isfinite(value) ? 0 : (int)floor(log10(fabs(value)));
    const int places = digits - 1 - exponent;
    double rounded = value;
    if (isfinite(value) && abs(places) < 300)
        rounded = places >= 0 ? round(value * pow(10, places)) / pow(10, places)
                              : round(value / pow(10, -places)) * pow(10, -places);
    mercer_number_format(rounded, shown, sizeof shown);
    chart_put(text, shown);
}

void chart_put_count(chart_text *text, int64_t count)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    for (int i = 0; i < length; i++) {
        chart_put_bytes(text, digits + i, 1);
        const int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            chart_put(text, ",");
    }
}

void chart_put_base64(chart_text *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char four[4];
    for (size_t i = 0; i < count; i += 3) {
        const size_t left = count - i;
        const unsigned b = left > 1 ? bytes[i + 1] : 0, c = left > 2 ? bytes[i + 2] : 0;
        const unsigned all = (unsigned)bytes[i] << 16 | b << 8 | c;
        four[0] = digits[all >> 18];
        four[1] = digits[all >> 12 & 63];
        four[2] = left > 1 ? digits[all >> 6 & 63] : '=';
        four[3] = left > 2 ? digits[all & 63] : '=';
        chart_put_bytes(text, four, 4);
    }
}

/* The character at s: its bytes, and what it is; -1 where there is none in UTF-8. */
static size_t read_character(const unsigned char *s, int32_t *code)
{
    const size_t length = s[0] < 0x80                    ? 1
                          : s[0] >= 0xC2 && s[0] <= 0xDF ? 2
                          : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
                          : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                         : 0;
    *code = -1;
    if (length == 0)
        return 1;
    int32_t value = length == 1 ? s[0] : s[0] & (0x7F >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 1;
        value = value << 6 | (s[i] & 0x3F);
    }
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 1;
    *code = value;
    return length;
}

/* Control characters and ends of lines, turns of the writing direction, and what XML refuses. */
static bool is_unsafe(int32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || (code & 0xFFFE) == 0xFFFE;
}

void chart_put_name(chart_text *text, const char *name, int64_t most, bool xml)
{
    static const char special[] = "&<>\"'";
    static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const bool cut = chart_characters(name) > most;
    const unsigned char *s = (const unsigned char *)name;
    for (int64_t i = 0; *s && !(cut && i >= most - 1); i++) {
        int32_t code;
        const size_t length = read_character(s, &code);
        const char *found = xml && length == 1 ? strchr(special, *s) : NULL;
        if (is_unsafe(code))
            chart_put(text, "?");
        else if (found)
            chart_put(text, escaped[found - special]);
        else
            chart_put_bytes(text, (const char *)s, length);
        s += length;
    }
    if (cut)
        chart_put(text, "\xe2\x80\xa6");
}

int64_t chart_characters(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    int64_t count = 0;
    int32_t code;
    for (; *s; s += read_character(s, &code))
        count++;
    return count;
}

char *chart_take(chart_text *text)
{
    if (!text->bytes)
        chart_put(text, "");
    char *bytes = text->bytes;
    text->bytes = NULL;
    return bytes;
}

char *chart_format(chart *picture, const char *format, ...)
{
    chart_text text = {0};
    va_list args;
    va_start(args, format);
    put_list(&text, format, args);
    va_end(args);
    picture->failed |= text.failed;
    return chart_take(&text);
}

void chart_add_note(chart *picture, const char *format, ...)
{
    chart_text text = {0};
    if (picture->note) {
        chart_put(&text, picture->note);
        chart_put(&text, "; ");
    }
    va_list args;
    va_start(args, format);
    put_list(&text, format, args);
    va_end(args);
    picture->failed |= text.failed;
    free(picture->note);
    picture->note = chart_take(&text);
}

/* A whole number of up to 18 digits, which a class mostly is when it is a number. */
static bool is_whole(const char *name, int64_t *value)
{
    const size_t sign = *name == '-', digits = strspn(name + sign, "0123456789");
    if (digits == 0 || digits > 18 || name[sign + digits])
        return false;
    *value = strtoll(name, NULL, 10);
    return true;
}

static int compare_names(const void *a, const void *b, void *all)
{
    const char *const *names = all;
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    int64_t x = 0, y = 0;
    const bool first = is_whole(names[i], &x), second = is_whole(names[j], &y);
    if (first && second && x != y)
        return x < y ? -1 : 1;
    if (first != second)
        return first ? -1 : 1;
    const int order = strverscmp(names[i], names[j]);
    return order ? order : (i > j) - (i < j);
}

void chart_sort_names(const char *const *names, int64_t count, int64_t *order)
{
    for (int64_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, (size_t)count, sizeof *order, compare_names, (void *)names);
}
