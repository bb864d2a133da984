/* SPDX-License-Identifier: BSD-3-Clause */
/* Checked, zeroed, aligned memory. */
#include "base/memory.h"

#include "base/bytes.h"

#include <mercer/context.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef MRC_ALLOC_AUDIT
#include <malloc.h>
#include <stdatomic.h>

static _Atomic int64_t audit_left = -1; /* allocations until the failing one; negative: never */
static _Thread_local int64_t audit_left_here = -1;
static _Atomic int64_t audit_live = 0;
static _Atomic int64_t audit_bytes = 0, audit_peak = 0;

void mrc_alloc_fail_after(int64_t after)
{
    atomic_store(&audit_left, after);
}

int64_t mrc_alloc_fail_here(int64_t after)
{
    int64_t left = audit_left_here;
    audit_left_here = after;
    return left;
}

int64_t mrc_alloc_live(void)
{
    return atomic_load(&audit_live);
}

static bool audit_refuses(void)
{
    int64_t left = atomic_load(&audit_left);
    if (audit_left_here >= 0 && audit_left_here-- == 0)
        return true;
    while (left >= 0 && !atomic_compare_exchange_weak(&audit_left, &left, left - 1))
        ;
    return left == 0;
}

int64_t mrc_alloc_peak(bool again)
{
    int64_t peak = atomic_load(&audit_peak);
    if (again)
        atomic_store(&audit_peak, atomic_load(&audit_bytes));
    return peak;
}

/* A block is there, with as many bytes as the allocator has given. */
static void audit_take(void *block)
{
    int64_t size = (int64_t)malloc_usable_size(block);
    int64_t bytes = atomic_fetch_add(&audit_bytes, size) + size, peak = atomic_load(&audit_peak);
    atomic_fetch_add(&audit_live, 1);
    while (bytes > peak && !atomic_compare_exchange_weak(&audit_peak, &peak, bytes))
        ;
}

/* It is about to go. */
static void audit_give(void *block)
{
    if (!block)
        return;
    atomic_fetch_sub(&audit_bytes, (int64_t)malloc_usable_size(block));
    atomic_fetch_sub(&audit_live, 1);
}
#else
void mrc_alloc_fail_after(int64_t after)
{
    (void)after;
}

int64_t mrc_alloc_fail_here(int64_t after)
{
    (void)after;
    return -1;
}

int64_t mrc_alloc_live(void)
{
    return 0;
}

static bool audit_refuses(void)
{
    return false;
}

int64_t mrc_alloc_peak(bool again)
{
    (void)again;
    return 0;
}

static void audit_take(const void *block)
{
    (void)block;
}

static void audit_give(const void *block)
{
    (void)block;
}
#endif

/* Cache-line and vector alignment: rows of tiles start on a boundary, so results never depend on
 * where the system's allocator happened to put an array. Large arrays start on a huge page and ask
 * for huge pages: filling 400 MB page by page would cost as much as computing it. */
enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, LARGE = 4 * HUGE_PAGE };

mercer_status mrc_size_mul(int64_t a, int64_t b, size_t *out, mercer_error *err)
{
    int64_t product;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) || product > INT64_MAX / 2)
        return mrc_fail(err, MERCER_ERR_MEMORY, "%lld x %lld elements cannot be addressed",
                        (long long)a, (long long)b);
    *out = (size_t)product;
    return MERCER_OK;
}

static mercer_status allocate(void **out, int64_t rows, int64_t cols, size_t size,
                              mercer_error *err)
{
    size_t count = 0, bytes = 0;
    *out = NULL;
    mercer_status rc = mrc_size_mul(rows, cols, &count, err);
    if (rc == MERCER_OK)
        rc = mrc_size_mul((int64_t)count, (int64_t)size, &bytes, err);
    if (rc != MERCER_OK)
        return rc;
    size_t alignment = bytes >= LARGE ? HUGE_PAGE : ALIGNMENT;
    size_t rounded = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* never zero */
    /* aligned_alloc() wants a multiple of the alignment, which would be most of a huge page more.
     */
    if (!audit_refuses() && posix_memalign(out, alignment, rounded) != 0)
        *out = NULL;
    /* A hint; refusal changes nothing. Of the last page only a part is wanted: no huge one. */
    if (*out && bytes >= LARGE)
        (void)madvise(*out, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    if (!*out)
        return mrc_fail(err, MERCER_ERR_MEMORY, "out of memory (%s wanted)",
                        mrc_bytes_text((double)bytes).text);
    audit_take(*out);
    return MERCER_OK;
}

mercer_status mrc_alloc2_raw(void *out, int64_t rows, int64_t cols, size_t size, mercer_error *err)
{
    void *block;
    mercer_status rc = allocate(&block, rows, cols, size, err);
    memcpy(out, &block, sizeof block);
    return rc;
}

mercer_status mrc_alloc2(void *out, int64_t rows, int64_t cols, size_t size, mercer_error *err)
{
    void *block;
    mercer_status rc = allocate(&block, rows, cols, size, err);
    if (rc == MERCER_OK)
        memset(block, 0, (size_t)rows * (size_t)cols * size);
    memcpy(out, &block, sizeof block);
    return rc;
}

mercer_status mrc_alloc(void *out, int64_t count, size_t size, mercer_error *err)
{
    return mrc_alloc2(out, count, 1, size, err);
}

mercer_status mrc_grow(void *io, int64_t count, size_t size, mercer_error *err)
{
    void *old, *grown = NULL;
    size_t bytes = 0;
    memcpy(&old, io, sizeof old);
    mercer_status rc = mrc_size_mul(count, (int64_t)size, &bytes, err);
    if (rc != MERCER_OK)
        return rc;
    if (!audit_refuses()) {
        audit_give(old);
        grown = realloc(old, bytes ? bytes : 1); /* it may move pages without copying them */
        if (grown || old)
            audit_take(grown ? grown : old); /* the old one stays when there is no memory */
    }
    if (!grown)
        return mrc_fail(err, MERCER_ERR_MEMORY, "out of memory (%s wanted)",
                        mrc_bytes_text((double)bytes).text);
    memcpy(io, &grown, sizeof grown);
    return MERCER_OK;
}

mercer_status mrc_strdup(char **out, const char *text, mercer_error *err)
{
    *out = NULL;
    if (!text)
        return MERCER_OK;
    size_t length = strlen(text) + 1;
    mercer_status rc = mrc_alloc2_raw(out, (int64_t)length, 1, 1, err);
    if (rc == MERCER_OK)
        memcpy(*out, text, length);
    return rc;
}

void mrc_free(void *pointer)
{
    if (!pointer)
        return;
    audit_give(pointer);
    free(pointer);
}

void mercer_free(void *memory)
{
    mrc_free(memory);
}
