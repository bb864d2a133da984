/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of the data layer: cmocka, a scratch folder, small files, error texts. */
#ifndef MERCER_TESTS_DATA_SUPPORT_H
#define MERCER_TESTS_DATA_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "views.h"

#include <mercer/mercer.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];
static mercer_ctx *ctx;
static mercer_error err;

static inline int setup_scratch(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/mercer-test-XXXXXX");
    if (!mkdtemp(scratch))
        return -1;
    return mercer_ctx_new(&ctx, NULL) == MERCER_OK ? 0 : -1;
}

/* Names in the scratch folder; stops at the first call that finds none. */
static inline int count_scratch(int remove_them)
{
    int count = 0;
    DIR *folder = opendir(scratch);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[512];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", scratch, entry->d_name);
        if (remove_them && unlink(path) != 0)
            rmdir(path);
    }
    if (folder)
        closedir(folder);
    return count;
}

static inline int teardown_scratch(void **state)
{
    (void)state;
    mercer_ctx_free(ctx);
    count_scratch(1);
    return rmdir(scratch);
}

/* Every test starts with an empty folder, a fresh seed and no failing allocation. */
static inline int each_setup(void **state)
{
    (void)state;
    mrc_alloc_fail_after(-1);
    count_scratch(1);
    mercer_ctx_set_seed(ctx, 1);
    memset(&err, 0, sizeof err);
    return 0;
}

/* Path of a file in the scratch folder; eight at a time. */
static inline const char *in_scratch(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline const char *put_bytes(const char *name, const void *bytes, size_t length)
{
    const char *path = in_scratch(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *put_text(const char *name, const char *text)
{
    return put_bytes(name, text, strlen(text));
}

/* The contents of a file as a string; the caller frees it with test_free(). */
static inline char *get_bytes(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = test_malloc(1 << 20);
    *length = fread(bytes, 1, (1 << 20) - 1, file);
    bytes[*length] = 0;
    fclose(file);
    return bytes;
}

static inline void assert_file_is(const char *path, const char *expected)
{
    size_t length;
    char *bytes = get_bytes(path, &length);
    assert_string_equal(bytes, expected);
    test_free(bytes);
}

static inline void assert_fails(mercer_status rc, mercer_status expected, const char *words)
{
    if (rc != expected || !strstr(err.text, words))
        print_error("status %d, text: %s\nwanted %d: %s\n", (int)rc, err.text, (int)expected,
                    words);
    assert_int_equal(rc, expected);
    assert_int_equal(err.code, expected);
    assert_non_null(strstr(err.text, words));
    assert_null(strchr(err.text, '\n'));
}

static inline void assert_ok(mercer_status rc)
{
    if (rc != MERCER_OK)
        print_error("status %d, text: %s\n", (int)rc, err.text);
    assert_int_equal(rc, MERCER_OK);
}

/* Let every allocation of a call fail in turn, at least `least` of them, until it succeeds; release
 * frees what it made. */
#define assert_each_allocation_fails(least, call, release)                                         \
    do {                                                                                           \
        int64_t support_live = mrc_alloc_live(), support_k = 0;                                    \
        for (mercer_status support_rc = MERCER_ERR_MEMORY; support_rc != MERCER_OK; support_k++) { \
            assert_true(support_k < 1000);                                                         \
            mrc_alloc_fail_after(support_k);                                                       \
            support_rc = (call);                                                                   \
            mrc_alloc_fail_after(-1);                                                              \
            assert_true(support_rc == MERCER_OK || support_rc == MERCER_ERR_MEMORY);               \
            release;                                                                               \
            assert_int_equal(mrc_alloc_live(), support_live);                                      \
        }                                                                                          \
        assert_true(support_k > (least));                                                          \
    } while (0)

#define TEST(name) cmocka_unit_test_setup(name, each_setup)
#define RUN_TESTS(tests) cmocka_run_group_tests(tests, setup_scratch, teardown_scratch)

#endif
