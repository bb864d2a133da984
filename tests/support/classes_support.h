/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by tests of the whole interface: a context, and rows of two classes. */
#ifndef MRC_TESTS_CLASSES_SUPPORT_H
#define MRC_TESTS_CLASSES_SUPPORT_H

#include "support.h"

#include <mercer/mercer.h>

static mercer_ctx *ctx;
static double *x;
static mercer_rows *rows;
static mercer_targets *classes;

/* n rows of three columns; the class of a row does not follow from one column. */
static inline void set_up_classes(int64_t n)
{
    enum { D = 3 };
    static const char *const names[] = {"a", "b"};
    ctx = new_ctx(1);
    x = normal_rows(3, n, D, 0, 1);
    int64_t *codes = calloc((size_t)n, sizeof *codes);
    assert_non_null(codes);
    for (int64_t i = 0; i < n; i++)
        codes[i] = x[i * D] + x[i * D + 1] * x[i * D + 2] > 0;
    rows = view(ctx, x, n, D);
    assert_ok(mercer_targets_new_classes(codes, n, names, 2, NULL, &classes, err));
    free(codes);
}

static inline void tear_down_classes(void)
{
    mercer_rows_free(rows);
    mercer_targets_free(classes);
    mercer_ctx_free(ctx);
    free(x);
}

/* set_up() and tear_down() of a group of tests that need no more than these. */
#define CLASSES_GROUP(n)                                                                           \
    static int set_up(void **state)                                                                \
    {                                                                                              \
        (void)state;                                                                               \
        set_up_classes(n);                                                                         \
        return 0;                                                                                  \
    }                                                                                              \
    static int tear_down(void **state)                                                             \
    {                                                                                              \
        (void)state;                                                                               \
        tear_down_classes();                                                                       \
        return 0;                                                                                  \
    }

#endif
