/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of WIDTH doubles, for loops that are compiled once per instruction set. The including
 * file defines WIDTH. */
#include <stdint.h>
#include <string.h>

typedef double vector __attribute__((vector_size(WIDTH * 8)));
typedef int64_t bits __attribute__((vector_size(WIDTH * 8)));   /* also what a comparison gives */
typedef uint64_t words __attribute__((vector_size(WIDTH * 8))); /* for sums that may wrap */

static inline vector load(const double *from)
{
    vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(double *to, vector v)
{
    memcpy(to, &v, sizeof v);
}
