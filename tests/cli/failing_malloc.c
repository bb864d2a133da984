/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program (LD_PRELOAD): its k-th allocation fails, k from MERCER_FAIL_ALLOCATION,
 * counted from main() on. The allocations are those of all libraries. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_long left = 0; /* up to the failing one; 0: none fails */

/* Constructors of what is loaded first come last: the libraries of the program are ready. */
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("MERCER_FAIL_ALLOCATION");
    atomic_store(&left, text ? strtol(text, NULL, 10) : 0);
}

static bool refuses(void)
{
    if (atomic_load(&left) <= 0 || atomic_fetch_sub(&left, 1) != 1)
        return false;
    errno = ENOMEM;
    return true;
}

#include "../support/refusing_malloc.h" /* needs refuses() */
