/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a context asks the machine for nothing that takes long: the limits of memory are in files,
 * which are read when a budget is first asked for, and once a process. */
#include "support.h"

#include <stdio.h>

static int opened;

/* Where files may be large, fopen() is called by its other name. */
#define COUNTED(name)                                                                              \
    FILE *__real_##name(const char *path, const char *mode);                                       \
    FILE *__wrap_##name(const char *path, const char *mode);                                       \
    FILE *__wrap_##name(const char *path, const char *mode)                                        \
    {                                                                                              \
        opened++;                                                                                  \
        return __real_##name(path, mode);                                                          \
    }
COUNTED(fopen)
COUNTED(fopen64)

static void test_contexts_read_no_file(void **state)
{
    mercer_ctx *first = NULL, *second = NULL;
    (void)state;
    assert_ok(mercer_ctx_new(&first, err));
    assert_ok(mercer_ctx_new(&second, err));
    assert_int_equal(opened, 0);
    assert_ok(mercer_ctx_set_memory(second, 1 << 21, err));
    assert_int_equal(mercer_ctx_memory(second), 1 << 21);
    assert_int_equal(opened, 0);
    int64_t found = mercer_ctx_memory(first);
    assert_true(found >= 1 << 20 && opened > 0);
    int once = opened;
    mercer_ctx_free(second);
    assert_ok(mercer_ctx_new(&second, err));
    assert_int_equal(mercer_ctx_memory(second), found);
    assert_int_equal(opened, once);
    mercer_ctx_free(first);
    mercer_ctx_free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts_read_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
