/* SPDX-License-Identifier: BSD-3-Clause */
/* An allocator that refuses one call: malloc and its like in place of the C library's, those of all
 * libraries included. Included once per program or module, by a file that defines
 *     static bool refuses(const void *caller): whether this allocation fails, errno set.
 *
 * OpenBLAS uses what malloc gives to its AVX-512 kernels for small products without looking at it,
 * and nobody can do anything about it from outside (docs/concepts/trust.md). So refuses() has
 * is_in_blas() to leave its allocations alone. */
#ifndef MERCER_TESTS_REFUSING_MALLOC_H
#define MERCER_TESTS_REFUSING_MALLOC_H

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static bool refuses(const void *caller);

static _Atomic uintptr_t blas_first, blas_last; /* addresses of the code of OpenBLAS */

/* Note where OpenBLAS is. */
static int look_for_blas(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "openblas"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        atomic_store(&blas_last, info->dlpi_addr + part->p_vaddr + part->p_memsz);
        atomic_store(&blas_first, info->dlpi_addr + part->p_vaddr);
    }
    return 1;
}

__attribute__((constructor)) static void find_blas(void)
{
    dl_iterate_phdr(look_for_blas, NULL);
}

static bool is_in_blas(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    return at >= atomic_load(&blas_first) && at < atomic_load(&blas_last);
}

void *malloc(size_t bytes)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t bytes)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}

#endif
