/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of any bytes as UTF-8 and back, see text_code.h. */
#include "model/text_code.h"

#include "base/json_writer.h"
#include "base/memory.h"

#include <string.h>

/* U+EF80 .. U+EFFF stand for the bytes 0x80 .. 0xFF that are not UTF-8. */
static bool is_byte_code(const unsigned char *s)
{
    return s[0] == 0xEE && (s[1] == 0xBE || s[1] == 0xBF);
}

mercer_status mrc_text_encode(const char *text, char **out, mercer_error *err)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char *to;
    mercer_status rc = mrc_alloc2_raw(out, (int64_t)strlen(text) + 1, 3, 1, err);
    if (rc != MERCER_OK)
        return rc;
    to = (unsigned char *)*out;
    while (*s) {
        int length = mrc_utf8_length(s);
        if (length == 0 || is_byte_code(s)) {
            *to++ = 0xEE;
            *to++ = *s < 0xC0 ? 0xBE : 0xBF;
            *to++ = *s < 0xC0 ? *s : (unsigned char)(*s - 0x40);
            s++;
        } else {
            memcpy(to, s, (size_t)length);
            to += length;
            s += length;
        }
    }
    *to = 0;
    return MERCER_OK;
}

void mrc_text_decode(char *text)
{
    unsigned char *s = (unsigned char *)text, *to = s;
    while (*s) {
        if (is_byte_code(s)) {
            *to++ = s[1] == 0xBE ? s[2] : (unsigned char)(s[2] + 0x40);
            s += 3;
        } else {
            *to++ = *s++;
        }
    }
    *to = 0;
}
