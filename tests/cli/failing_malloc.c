/* Loaded before a program (LD_PRELOAD): its k-th allocation fails, k from MERCER_FAIL_ALLOCATION,
 * counted from main() on. The allocations are those of all libraries. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long left = 0; /* up to the failing one; 0: none fails */

/* Constructors of what is loaded first come last: the libraries of the program are ready. */
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("MERCER_FAIL_ALLOCATION");
    atomic_store(&left, text ? strtol(text, NULL, 10) : 0);
}

static int refuses(void)
{
    if (atomic_load(&left) <= 0 || atomic_fetch_sub(&left, 1) != 1)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return refuses() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t bytes)
{
    return refuses() ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return refuses() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = refuses() ? NULL : __libc_memalign(alignment, bytes);
    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}
