/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts and bytes of a page: escaped, and the sha256 (FIPS 180-4) by which the page's
 * policy names its script and style. */
#include "page_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

static uint32_t turned(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* The fractional parts of the roots of the first primes, as the standard has them: 32 bits of the
 * cube roots of 64 primes, and of the square roots of the first 8. Found exactly, by bisection. */
static void sha_constants(uint32_t cube[64], uint32_t square[8])
{
    int found = 0;
    for (uint64_t prime = 2; found < 64; prime++) {
        bool divided = false;
        for (uint64_t k = 2; k * k <= prime; k++)
            divided |= prime % k == 0;
        if (divided)
            continue;
        uint64_t low = 0, high = (uint64_t)1 << 36; /* root x 2^32 < 7 x 2^32 */
        while (high - low > 1) {
            const uint64_t middle = (low + high) / 2;
            const wide two = (wide)middle * middle;
            /* middle^3 <= prime 2^96, without a product of more than 128 bits */
            if (two <= ((wide)prime << 96) / middle)
                low = middle;
            else
                high = middle;
        }
        cube[found] = (uint32_t)low;
        if (found < 8) {
            for (low = 0, high = (uint64_t)1 << 36; high - low > 1;) {
                const uint64_t middle = (low + high) / 2;
                if ((wide)middle * middle <= (wide)prime << 64)
                    low = middle;
                else
                    high = middle;
            }
            square[found] = (uint32_t)low;
        }
        found++;
    }
}

static void sha_block(uint32_t state[8], const uint32_t cube[64], const unsigned char *block)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        const uint32_t one = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) +
                             ((s[4] & s[5]) ^ (~s[4] & s[6])) + cube[i] + w[i];
        const uint32_t two = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) +
                             ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void page_put_hash(chart_text *out, const char *text, size_t size)
{
    uint32_t cube[64], state[8];
    unsigned char last[128] = {0}, sum[32];
    sha_constants(cube, state);
    size_t done = 0;
    for (; size - done >= 64; done += 64)
        sha_block(state, cube, (const unsigned char *)text + done);
    const size_t left = size - done, end = left < 56 ? 64 : 128;
    memcpy(last, text + done, left);
    last[left] = 0x80;
    for (int i = 0; i < 8; i++)
        last[end - 1 - (size_t)i] = (unsigned char)((uint64_t)size * 8 >> (8 * i));
    for (size_t at = 0; at < end; at += 64)
        sha_block(state, cube, last + at);
    for (int i = 0; i < 32; i++)
        sum[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
    chart_put_base64(out, sum, sizeof sum);
}

void page_put_json(chart_text *out, const char *text)
{
    chart_text clean = {0};
    chart_put_name(&clean, text, INT64_MAX, false);
    if (clean.failed) {
        free(out->bytes);
        *out = (chart_text){.failed = true};
        return;
    }
    chart_put(out, "\"");
    for (const char *at = clean.bytes ? clean.bytes : ""; *at; at++) {
        if (strchr("\"\\<>&", *at)) /* none of them can end the script element, or begin another */
            chart_putf(out, "\\u%04x", (unsigned)(unsigned char)*at);
        else
            chart_put_bytes(out, at, 1);
    }
    chart_put(out, "\"");
    free(clean.bytes);
}

void page_put_real(chart_text *out, double value)
{
    char shown[MERCER_NUMBER_SIZE];
    mercer_number_format(isfinite(value) ? value : 0, shown, sizeof shown);
    chart_put(out, shown);
}

void page_put_text(chart_text *out, const char *text)
{
    chart_put_name(out, text, INT64_MAX, true);
}

void page_put_cell(chart_text *out, double value)
{
    chart_put(out, "<td class=\"n\">");
    if (!isnan(value))
        chart_put_number(out, value, 4);
    chart_put(out, "</td>");
}
