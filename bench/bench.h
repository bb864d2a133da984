/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs of the benchmark share: clocks, a context, tables, lists of numbers. */
#ifndef MERCER_BENCH_H
#define MERCER_BENCH_H

#include <mercer/mercer.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Wall time. */
static inline double now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

/* Time of all threads together. */
static inline double cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static inline void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* threads 0: as many as the machine has. */
static inline mercer_ctx *open_context(int threads)
{
    mercer_error err;
    mercer_ctx *ctx = NULL;
    if (mercer_ctx_new(&ctx, &err) != MERCER_OK ||
        (threads > 0 && mercer_ctx_set_threads(ctx, threads, &err) != MERCER_OK))
        die("context", err.text);
    return ctx;
}

static inline mercer_table *read_table(mercer_ctx *ctx, const char *path)
{
    mercer_error err;
    mercer_table *table = NULL;
    if (mercer_table_read(ctx, path, NULL, &table, &err) != MERCER_OK)
        die(path, err.text);
    return table;
}

/* "name": value, with null for what JSON has no number for. */
static inline void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf("\"%s\": %.9g, ", name, value);
    else
        printf("\"%s\": null, ", name);
}

/* Which BLAS ran, with which kernels, on a processor with which vector instructions. */
static inline void print_blas(void)
{
    printf("\"blas\": \"%s\", \"kernels\": \"%s\", \"kernel_vectors\": \"%s\", "
           "\"processor_vectors\": \"%s\", ",
           mercer_blas(), mercer_blas_kernels(), mercer_blas_kernels_vectors(),
           mercer_processor_vectors());
}

/* "name": [a, b, ...] */
static inline void print_rows(const char *name, const int64_t *rows, int64_t count)
{
    printf("\"%s\": [", name);
    for (int64_t i = 0; i < count; i++)
        printf("%s%lld", i ? ", " : "", (long long)rows[i]);
    printf("]");
}

#endif
