/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes as people read them; see bytes.h. */
#include "base/bytes.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* extra: decimals beyond those of mrc_bytes_text(). */
static mrc_bytes format_bytes(double bytes, int extra)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    enum { LAST = sizeof units / sizeof *units - 1 };
    mrc_bytes out;
    int unit = 0;
    bytes = fmin(bytes, 1e24);               /* a forecast may be infinite */
    while (bytes >= 1023.5 && unit < LAST) { /* what would be shown as 1024 */
        bytes /= 1024;
        unit++;
    }
    int decimals = unit == 0 ? 0 : extra + (bytes < 9.95);
    if (decimals > 0 && bytes < 1e9) { /* by whole numbers: "%.1f" would follow the host's locale */
        int64_t power = 1;
        for (int i = 0; i < decimals; i++)
            power *= 10;
        int64_t count = (int64_t)rint((double)power * bytes);
        snprintf(out.text, sizeof out.text, "%lld.%0*lld %s", (long long)(count / power), decimals,
                 (long long)(count % power), units[unit]);
    } else
        snprintf(out.text, sizeof out.text, "%.0f %s", bytes, units[unit]);
    return out;
}

mrc_bytes mrc_bytes_text(double bytes)
{
    return format_bytes(bytes, 0);
}

mrc_bytes_pair mrc_bytes_texts(double first, double second)
{
    enum { MAX_EXTRA = 3 }; /* more decimals are harder to read than all digits */
    mrc_bytes_pair out;
    for (int extra = 0; extra <= MAX_EXTRA; extra++) {
        out.first = format_bytes(first, extra);
        out.second = format_bytes(second, extra);
        if (strcmp(out.first.text, out.second.text) != 0)
            return out;
    }
    if (first == second)
        return (mrc_bytes_pair){mrc_bytes_text(first), mrc_bytes_text(second)};
    snprintf(out.first.text, sizeof out.first.text, "%.0f bytes", fmin(first, 1e24));
    snprintf(out.second.text, sizeof out.second.text, "%.0f bytes", fmin(second, 1e24));
    return out;
}
