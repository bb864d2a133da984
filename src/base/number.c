/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as text.
 *
 * Reading takes three ways, each correctly rounded. Up to 19 digits are collected in an integer w.
 * (1) w < 2^53 and |q| <= 22: w and 10^|q| are exact doubles, so one operation rounds once
 * (Clinger 1990). (2) |q| <= 64: multiply w by a 128-bit approximation of 5^q and look whether the
 * error could change the rounding (Lemire 2021); it hardly ever does. (3) Everything else: strtod
 * in the C locale. The tables stop at |q| = 64 because data hardly ever go further, and because
 * subnormal results then need no care in (2).
 *
 * Writing looks for the shortest decimal that rounds to the value: by 128-bit products with the
 * same table (Giulietti 2020), or by trying 15, 16 and 17 digits where the table ends.
 *
 * newlocale(LC_ALL_MASK, "C") hands out a constant object in glibc, so making one per call costs
 * nothing and keeps the library free of global state. */
#include "base/number.h"

#include "base/json_writer.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DIGITS = 19,  /* any 19 digits fit into 64 bits */
    MAX_POWER = 64,   /* of the table of powers of five */
    MAX_CLINGER = 22, /* 10^22 is the largest power of ten that is an exact double */
    MIN_FIXED = -4,   /* exponents written without an "e", as C's %g and Python's repr do */
    MAX_FIXED = 16,
    SLOW_STACK = 512,        /* digits of a very long number that need no memory of their own */
    EXPONENT_CAP = 999999999 /* beyond any double and any file; their sum still fits a long */
};

static const double whole_most = 1e15; /* whole numbers below are written by their digits at once */

__extension__ typedef unsigned __int128 uint128;

static const uint64_t powers_of_five[2 * MAX_POWER + 1][2] = {
#include "base/powers_of_five.inc"
};

static const double powers_of_ten[MAX_CLINGER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* w * 10^q for w > 0 and |q| <= 64; false when 128 bits do not decide which way to round. */
static bool multiply_exactly(uint64_t w, int q, double *out)
{
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    const uint64_t *power = powers_of_five[q + MAX_POWER];
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

/* Add the digits at p to *w, eight at a time where eight are left; returns where they end. *w
 * wraps beyond 19 digits; it is not used then. */
static inline const char *take_digits(const char *p, const char *limit, uint64_t *w)
{
    uint64_t value = *w;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (limit - p >= 8) {
        uint64_t v;
        memcpy(&v, p, sizeof v);
        /* High halves of all bytes must be 3, and still be 3 after adding 6 to the low halves. */
        if (((v & 0xf0f0f0f0f0f0f0f0u) |
             (((v + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4)) != 0x3333333333333333u)
            break;
        /* Neighbours are joined: digits to pairs, pairs to fours, fours to one number. */
        v = (v & 0x0f0f0f0f0f0f0f0fu) * (1 + (10 << 8)) >> 8;
        v = (v & 0x00ff00ff00ff00ffu) * (1 + (100 << 16)) >> 16;
        v = (v & 0x0000ffff0000ffffu) * (1 + ((uint64_t)10000 << 32)) >> 32;
        value = value * 100000000 + v;
        p += 8;
    }
#endif
    while (p < limit && is_digit(*p))
        value = value * 10 + (uint64_t)(*p++ - '0');
    *w = value;
    return p;
}

const char *mrc_scan_double(const char *text, const char *limit, double *out)
{
    const char *p = text;
    bool negative = false;
    if (p < limit && (*p == '-' || *p == '+'))
        negative = *p++ == '-';
    uint64_t w = 0;
    const char *first = p;
    p = take_digits(p, limit, &w);
    ptrdiff_t digits = p - first;
    long q = 0;
    if (p < limit && *p == '.') {
        const char *fraction = ++p;
        p = take_digits(p, limit, &w);
        q = fraction - p;
        digits += p - fraction;
    }
    if (digits == 0)
        return NULL;
    if (digits > MAX_DIGITS) { /* leading zeros do not count */
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
    if (digits <= MAX_DIGITS && w == 0) {
        value = 0;
    } else if (digits <= MAX_DIGITS && w < (uint64_t)1 << 53 && q >= -MAX_CLINGER &&
               q <= MAX_CLINGER) {
        value = (double)w;
        value = q < 0 ? value / powers_of_ten[-q] : value * powers_of_ten[q];
    } else if (digits > MAX_DIGITS || q < -MAX_POWER || q > MAX_POWER ||
               !multiply_exactly(w, (int)q, &value)) {
        *out = slow_double(text, (size_t)(p - text));
        return p;
    }
    *out = negative ? -value : value;
    return p;
}

bool mrc_spells(const char *text, size_t length, const char *word)
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
    if (mrc_spells(text, length, "nan"))
        *out = (double)NAN;
    else if (mrc_spells(text, length, "inf") || mrc_spells(text, length, "infinity"))
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

/* A number as digits * 10^exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* g * c / 2^128, its last bit set when something was cut off. */
static uint64_t round_to_odd(const uint64_t g[2], uint64_t c)
{
    uint128 low = ((uint128)g[1] * c) >> 64, sum = (uint128)g[0] * c + low;
    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

/* The shortest decimal in the rounding interval of a positive normal value, the nearest one of
 * those (Schubfach). False when the table does not reach so far. */
static bool shortest_by_table(double value, struct decimal *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1), c = fraction | (uint64_t)1 << 52;
    int q = (int)(bits >> 52) - 1075;
    bool odd = c & 1, closer = fraction == 0; /* below a power of two doubles stand closer */
    int k = (q * 1262611 - (closer ? 524031 : 0)) >> 22; /* floor(log10(2^q)), of 3/4 of it */
    if (k < -MAX_POWER || k > MAX_POWER)
        return false;
    int h = q + ((-k * 1741647) >> 19) + 1; /* q + floor(log2(10^-k)) + 1 */
    uint64_t g[2] = {powers_of_five[MAX_POWER - k][0], powers_of_five[MAX_POWER - k][1]};
    g[1] += -k > 55; /* the table cuts inexact positive powers off; here they are rounded up */
    uint64_t lower = round_to_odd(g, (4 * c - 2 + closer) << h) + odd;
    uint64_t middle = round_to_odd(g, 4 * c << h);
    uint64_t upper = round_to_odd(g, (4 * c + 2) << h) - odd;
    uint64_t s = middle / 4, ten = s / 10;
    bool down = lower <= 40 * ten, up = 40 * ten + 40 <= upper;
    if (s >= 10 && down != up) {
        *out = (struct decimal){ten + up, k + 1};
        return true;
    }
    down = lower <= 4 * s;
    up = 4 * s + 4 <= upper;
    bool above = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1));
    *out = (struct decimal){s + (down != up ? up : above), k};
    return true;
}

static bool reads_as(const struct decimal *decimal, double value)
{
    char text[MRC_NUMBER_SIZE + 8];
    double back;
    int used = snprintf(text, sizeof text, "%llue%d", (unsigned long long)decimal->digits,
                        decimal->exponent);
    return mrc_scan_double(text, text + used, &back) && back == value;
}

/* The same by trying 15 to 17 digits (a subnormal value can need a single one). Below a power of
 * two doubles stand closer, so that the nearest decimal can lie below and miss where the next one
 * above still hits. The decimal point of the locale does not matter: only digits are looked at. */
static void shortest_by_trying(double value, struct decimal *out)
{
    for (int count = isnormal(value) ? 15 : 1; count <= 17; count++) {
        char text[MRC_NUMBER_SIZE + 8];
        int64_t exponent;
        snprintf(text, sizeof text, "%.*e", count - 1, value);
        const char *e = strchr(text, 'e');
        out->digits = 0;
        for (const char *p = text; p < e; p++)
            if (is_digit(*p))
                out->digits = out->digits * 10 + (uint64_t)(*p - '0');
        if (!mrc_parse_int(e + 1, strlen(e + 1), &exponent))
            exponent = 0;
        out->exponent = (int)exponent - (count - 1);
        if (reads_as(out, value))
            return;
        out->digits++;
        if (reads_as(out, value))
            return;
    }
}

/* Digits of value, last one first; returns how many. */
static int reverse_digits(uint64_t value, char out[MRC_NUMBER_SIZE])
{
    int used = 0;
    do {
        out[used++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return used;
}

int mrc_format_double(double value, char out[MRC_NUMBER_SIZE])
{
    char reversed[MRC_NUMBER_SIZE];
    struct decimal decimal;
    char *p = out;
    if (!isfinite(value))
        return snprintf(out, MRC_NUMBER_SIZE, "%s",
                        isnan(value) ? "nan"
                        : value < 0  ? "-inf"
                                     : "inf");
    if (signbit(value))
        *p++ = '-';
    value = fabs(value);
    if (value < whole_most && value == (double)(int64_t)value)
        decimal = (struct decimal){(uint64_t)value, 0};
    else if (!isnormal(value) || !shortest_by_table(value, &decimal))
        shortest_by_trying(value, &decimal);
    while (decimal.exponent < 0 && decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.exponent++;
    }
    int count = reverse_digits(decimal.digits, reversed);
    int leading = count - 1 + decimal.exponent; /* exponent of the first digit */
    if (leading >= MIN_FIXED && leading < MAX_FIXED) {
        if (leading < 0) {
            *p++ = '0';
            *p++ = '.';
            for (int i = -1; i > leading; i--)
                *p++ = '0';
        }
        for (int i = leading; count > 0; i--) {
            *p++ = reversed[--count];
            if (i == 0 && count > 0)
                *p++ = '.';
        }
        for (int i = 0; i < decimal.exponent; i++)
            *p++ = '0';
    } else {
        int last = 0;
        while (last < count - 1 && reversed[last] == '0')
            last++;
        *p++ = reversed[--count];
        if (count > last)
            *p++ = '.';
        while (count > last)
            *p++ = reversed[--count];
        p += snprintf(p, 8, "e%c%02d", leading < 0 ? '-' : '+', leading < 0 ? -leading : leading);
    }
    *p = 0;
    return (int)(p - out);
}

/* Bytes of the character at s that a terminal may get; 0 for a control character, of which U+0080
 * to U+009F begin commands, too, and for a byte that is not part of one. */
static size_t show_width(const unsigned char *s)
{
    if (*s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0))
        return 0;
    return (size_t)mrc_utf8_length(s);
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
    memcpy(out, length > 0 ? text : "", length); /* text may be NULL */
    out[length] = 0;
    for (size_t i = 0, width; i < length; i += width) {
        width = show_width((const unsigned char *)out + i);
        if (width == 0)
            out[i++] = '?';
    }
    memcpy(out + length, cut ? dots : "", cut ? sizeof dots : 1);
    return out;
}
