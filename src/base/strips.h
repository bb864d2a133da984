/* SPDX-License-Identifier: BSD-3-Clause */
/* How n rows are cut, whoever works on them: into strips, and these into parts. It depends on n
 * alone. Sums over rows are taken part by part, and the sums of the parts added in order, so that
 * neither the number of threads nor a division of the parts among machines shows in the bits. */
#ifndef MRC_BASE_STRIPS_H
#define MRC_BASE_STRIPS_H

#include <mercer/context.h>

#include <stdint.h>

enum {
    MRC_STRIP = 256,  /* rows handled together: enough for BLAS, few enough for the cache */
    MRC_PARTS = 1024, /* at most: narrow sums of all parts stay small */
};

static inline int64_t mrc_strips(int64_t n)
{
    return (n + MRC_STRIP - 1) / MRC_STRIP;
}

/* At least four strips each, where there are as many. */
static inline int64_t mrc_parts(int64_t n)
{
    int64_t parts = (mrc_strips(n) + 3) / 4;
    return parts < MRC_PARTS ? parts : MRC_PARTS;
}

/* The first row of a part, a multiple of MRC_STRIP; of the part behind the last one: n. */
static inline int64_t mrc_part_start(int64_t n, int64_t part)
{
    int64_t strips = mrc_strips(n), parts = mrc_parts(n);
    return part < parts ? (strips / parts * part + strips % parts * part / parts) * MRC_STRIP : n;
}

/* A sum over n rows of arrays of `width` numbers, into out: body adds the rows from `first` up to
 * `end`, one part, to sum, which holds zeroes. Parts run in parallel; worker indexes scratch, as in
 * mrc_parfor(). room: numbers that sums of parts may take together beside one, flops: work in all,
 * both for speed alone. After a cancellation, which is the status then, out is not defined; a body
 * that takes long looks for it itself. */
typedef void (*mrc_part_body)(void *arg, int64_t first, int64_t end, double *sum, int worker);
mercer_status mrc_sum_parts(mercer_ctx *ctx, int64_t n, int64_t width, double room, double flops,
                            mrc_part_body body, void *arg, double *out, mercer_error *err);
/* The sum of n numbers, by parts; on the calling thread. */
double mrc_sum_rows(const double *values, int64_t n);

#endif
