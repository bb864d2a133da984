/* Sizes as people read them; see bytes.h. */
#include "base/bytes.h"

#include <math.h>
#include <stdio.h>

mrc_bytes mrc_bytes_text(double bytes)
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
    if (unit > 0 && bytes < 9.95) { /* by whole numbers: "%.1f" would follow the host's locale */
        int tenths = (int)rint(10 * bytes);
        snprintf(out.text, sizeof out.text, "%d.%d %s", tenths / 10, tenths % 10, units[unit]);
    } else
        snprintf(out.text, sizeof out.text, "%.0f %s", bytes, units[unit]);
    return out;
}
