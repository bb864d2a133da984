/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded into a helper program by LD_PRELOAD: lets one allocation fail, or something worse happen
 * there.
 *
 * MERCER_TEST_PROGRAM names the helper (others are left alone), MERCER_TEST_AT the allocation,
 * counted from 1 and from the helper's own start (its first close_range), MERCER_TEST_EVENT what
 * happens: fail (default), segv, abort, exit, hang or spin. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool started;
static atomic_long left;
static const char *event;

static void __attribute__((constructor)) look_around(void)
{
    const char *program = getenv("MERCER_TEST_PROGRAM"), *at = getenv("MERCER_TEST_AT");
    if (!program || !at || strcmp(program, program_invocation_short_name) != 0)
        return;
    event = getenv("MERCER_TEST_EVENT");
    event = event ? event : "fail";
    left = strtol(at, NULL, 10);
}

/* Whether this allocation fails. */
static bool strikes(void)
{
    if (!started || !event || atomic_fetch_sub(&left, 1) != 1)
        return false;
    if (strcmp(event, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(event, "abort") == 0)
        abort();
    if (strcmp(event, "exit") == 0)
        _exit(3);
    while (strcmp(event, "hang") == 0)
        pause();
    for (volatile int i = 0; strcmp(event, "spin") == 0;)
        i++;
    errno = ENOMEM;
    return true;
}

int close_range(unsigned first, unsigned last, int flags)
{
    (void)flags;
    for (unsigned fd = first; fd <= last && fd < 1024; fd++)
        close((int)fd);
    started = true;
    return 0;
}

void *malloc(size_t size)
{
    return strikes() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return strikes() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return strikes() ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return strikes() ? NULL : __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
    return strikes() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (strikes())
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
