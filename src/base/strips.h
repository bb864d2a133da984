/* SPDX-License-Identifier: BSD-3-Clause */
/* How n rows are cut, whoever works on them: into strips, and these into parts. It depends on n
 * alone. Sums over rows are taken part by part, and the sums of the parts added in order, so that
 * neither the number of threads nor a division of the parts among machines shows in the bits. */
#ifndef MRC_BASE_STRIPS_H
#define MRC_BASE_STRIPS_H

#include <stdint.h>

enum {
    MRC_STRIP = 256, /* rows handled together: enough for BLAS, few enough for the cache */
    MRC_PARTS =
        1024, /* most parts: as many can work at once, and narrow sums of so many are small */
};

static inline int64_t mrc_strips(int64_t n)
{
    return (n + MRC_STRIP - 1) / MRC_STRIP;
}

/* At least four strips each, where there are as many. */
static inline int64_t mrc_parts(int64_t n)
{
    int64_t parts = (mrc_strips(n) + 3) / 4;
    return parts < MRC_PARTS ? parts : MRC_PARTS;
}

/* The first row of a part, a multiple of MRC_STRIP; of the part behind the last one: n. */
static inline int64_t mrc_part_start(int64_t n, int64_t part)
{
    int64_t strips = mrc_strips(n), parts = mrc_parts(n);
    return part < parts ? (strips / parts * part + strips % parts * part / parts) * MRC_STRIP : n;
}

#endif
