/* Numbers as text.
 *
 * Reading takes three ways, each correctly rounded. Up to 19 digits are collected in an integer w.
 * (1) w < 2^53 and |q| <= 22: w and 10^|q| are exact doubles, so one operation rounds once
 * (Clinger 1990). (2) |q| <= 64: multiply w by a 128-bit approximation of 5^q and look whether the
 * error could change the rounding (Lemire 2021); it hardly ever does. (3) Everything else: strtod
 * in the C locale. The tables stop at |q| = 64 because data hardly ever go further, and because
 * subnormal results then need no care in (2).
 *
 * newlocale(LC_ALL_MASK, "C") hands out a constant object in glibc, so making one per call costs
 * nothing and keeps the library free of global state. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_MOST = 19,        /* any 19 digits fit into 64 bits */
    POWER_MOST = 64,         /* of the table of powers of five */
    CLINGER_MOST = 22,       /* 10^22 is the largest power of ten that is an exact double */
    SLOW_STACK = 512,        /* digits of a very long number that need no memory of their own */
    EXPONENT_CAP = 999999999 /* beyond any double and any file; their sum still fits a long */
};

__extension__ typedef unsigned __int128 uint128;

static const uint64_t powers_of_five[2 * POWER_MOST + 1][2] = {
#include "base/powers_of_five.inc"
};

static const double powers_of_ten[CLINGER_MOST + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* w * 10^q for w > 0 and |q| <= 64; false when 128 bits cannot tell which way to round. */
static bool multiply_exactly(uint64_t w, int q, double *out)
{
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    const uint64_t *power = powers_of_five[q + POWER_MOST];
    uint128 product = (uint128)w * power[0];
    if (((uint64_t)(product >> 64) & 0x1ff) == 0x1ff)
        product += (uint64_t)(((uint128)w * power[1]) >> 64);
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if (low == UINT64_MAX && (q < -27 || q > 55))
        return false;
    int upper = (int)(high >> 63), shift = upper + 64 - 52 - 3;
    uint64_t mantissa = high >> shift;
    int exponent = ((217706 * q) >> 16) + 63 + upper - zeros; /* floor(q log2(10)) + ... */
    /* Exactly halfway can only happen where 5^q is exact: then round to even. */
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << shift == high)
        mantissa &= ~(uint64_t)1;
    mantissa += mantissa & 1;
    mantissa >>= 1;
    if (mantissa >= (uint64_t)1 << 53) {
        mantissa = (uint64_t)1 << 52;
        exponent++;
    }
    uint64_t bits = (mantissa & ~((uint64_t)1 << 52)) | (uint64_t)(exponent + 1023) << 52;
    memcpy(out, &bits, sizeof bits);
    return true;
}

/* strtod in the C locale on text[0 .. length), known to be a decimal number. */
static double slow_double(const char *text, size_t length)
{
    /* A number of more digits than the buffer holds keeps its leading ones. 767 digits decide every
     * double; beyond the cut a nonzero digit is put in the place of the rest, so that a value just
     * above a halfway point still rounds up. */
    char copy[SLOW_STACK * 2 + 32];
    double value = 0;
    size_t used = 0;
    long dropped = 0;
    bool point = false, started = false, sticky = false;
    size_t i = 0;
    if (i < length && (text[i] == '-' || text[i] == '+'))
        copy[used++] = text[i++];
    copy[used++] = '0'; /* so that there is a digit, whatever follows */
    for (; i < length && text[i] != 'e' && text[i] != 'E'; i++) {
        char c = text[i];
        if (c == '.') {
            point = true;
            continue;
        }
        started |= c != '0';
        if (!started || used >= SLOW_STACK * 2) {
            sticky |= started && c != '0';
            dropped += started && !point ? 1 : 0;
            dropped -= !started && point ? 1 : 0;
        } else {
            copy[used++] = c;
            dropped -= point ? 1 : 0;
        }
    }
    if (sticky) {
        copy[used++] = '1';
        dropped--;
    }
    if (i < length) {
        long exponent = 0;
        bool negative = text[++i] == '-';
        if (text[i] == '-' || text[i] == '+')
            i++;
        for (; i < length; i++)
            if (exponent < EXPONENT_CAP)
                exponent = exponent * 10 + (text[i] - '0');
        dropped += negative ? -exponent : exponent;
    }
    snprintf(copy + used, sizeof copy - used, "e%ld", dropped);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    value = plain ? strtod_l(copy, NULL, plain) : strtod(copy, NULL);
    if (plain)
        freelocale(plain);
    return value;
}

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

const char *mrc_scan_double(const char *text, const char *limit, double *out)
{
    const char *p = text;
    bool negative = false;
    if (p < limit && (*p == '-' || *p == '+'))
        negative = *p++ == '-';
    uint64_t w = 0;
    const char *first = p;
    while (p < limit && is_digit(*p))
        w = w * 10 + (uint64_t)(*p++ - '0'); /* wraps beyond 19 digits; then w is not used */
    ptrdiff_t digits = p - first;
    long q = 0;
    if (p < limit && *p == '.') {
        const char *fraction = ++p;
        while (p < limit && is_digit(*p))
            w = w * 10 + (uint64_t)(*p++ - '0');
        q = fraction - p;
        digits += p - fraction;
    }
    if (digits == 0)
        return NULL;
    if (digits > DIGITS_MOST) { /* leading zeros do not count */
        for (const char *s = first; s < p && (*s == '0' || *s == '.'); s++)
            digits -= *s == '0';
    }
    if (p < limit && (*p == 'e' || *p == 'E')) {
        const char *e = p + 1;
        bool down = false;
        long exponent = 0;
        if (e < limit && (*e == '-' || *e == '+'))
            down = *e++ == '-';
        if (e == limit || !is_digit(*e))
            return NULL;
        for (; e < limit && is_digit(*e); e++)
            if (exponent < EXPONENT_CAP)
                exponent = exponent * 10 + (*e - '0');
        q += down ? -exponent : exponent;
        p = e;
    }
    double value;
    if (digits <= DIGITS_MOST && w == 0) {
        value = 0;
    } else if (digits <= DIGITS_MOST && w < (uint64_t)1 << 53 && q >= -CLINGER_MOST &&
               q <= CLINGER_MOST) {
        value = (double)w;
        value = q < 0 ? value / powers_of_ten[-q] : value * powers_of_ten[q];
    } else if (digits > DIGITS_MOST || q < -POWER_MOST || q > POWER_MOST ||
               !multiply_exactly(w, (int)q, &value)) {
        *out = slow_double(text, (size_t)(p - text));
        return p;
    }
    *out = negative ? -value : value;
    return p;
}

/* Does text[0 .. length) spell word (given in lower case), in any case? */
static bool spells(const char *text, size_t length, const char *word)
{
    if (strlen(word) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((text[i] | 0x20) != word[i])
            return false;
    return true;
}

bool mrc_parse_double(const char *text, size_t length, double *out)
{
    if (length == 0)
        return false;
    double value;
    const char *end = mrc_scan_double(text, text + length, &value);
    if (end) {
        if (end != text + length)
            return false;
        *out = value;
        return true;
    }
    bool negative = text[0] == '-';
    if (negative || text[0] == '+') {
        text++;
        length--;
    }
    if (spells(text, length, "nan"))
        *out = (double)NAN;
    else if (spells(text, length, "inf") || spells(text, length, "infinity"))
        *out = negative ? -(double)INFINITY : (double)INFINITY;
    else
        return false;
    return true;
}

bool mrc_parse_int(const char *text, size_t length, int64_t *out)
{
    size_t i = 0;
    bool negative = length > 0 && text[0] == '-';
    int64_t value = 0;
    if (negative || (length > 0 && text[0] == '+'))
        i++;
    if (i == length)
        return false;
    for (; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        int digit = text[i] - '0';
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

/* A whole number below 2^53 in digits. */
static int format_whole(int64_t value, char out[MRC_NUMBER_SIZE])
{
    char reversed[MRC_NUMBER_SIZE];
    int used = 0, length = 0;
    uint64_t rest = value < 0 ? (uint64_t)-value : (uint64_t)value;
    do {
        reversed[used++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        out[length++] = '-';
    while (used)
        out[length++] = reversed[--used];
    out[length] = 0;
    return length;
}

int mrc_format_double(double value, char out[MRC_NUMBER_SIZE])
{
    if (!isfinite(value))
        return snprintf(out, MRC_NUMBER_SIZE, "%s",
                        isnan(value) ? "nan"
                        : value < 0  ? "-inf"
                                     : "inf");
    if (fabs(value) < 1e15 && value == (double)(int64_t)value && !(value == 0 && signbit(value)))
        return format_whole((int64_t)value, out);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    int length = 0;
    /* A normal number has at least 15 good digits; a subnormal one can need a single one. */
    for (int digits = isnormal(value) ? 15 : 1; digits <= 17; digits++) {
        double back;
        length = snprintf(out, MRC_NUMBER_SIZE, "%.*g", digits, value);
        if (mrc_scan_double(out, out + length, &back) && back == value)
            break;
    }
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return length;
}

const char *mrc_show(char out[MRC_SHOWN_SIZE], const char *text, size_t length)
{
    static const char dots[] = "...";
    size_t room = MRC_SHOWN_SIZE - sizeof dots;
    bool cut = length > room;
    if (cut) {
        length = room;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--; /* not in the middle of a UTF-8 character */
    }
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    memcpy(out + length, cut ? dots : "", cut ? sizeof dots : 1);
    return out;
}
