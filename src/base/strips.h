/* SPDX-License-Identifier: BSD-3-Clause */
/* How n rows are cut, whoever works on them: into strips, and these into parts. It depends on n
 * alone. Sums over rows are taken part by part, and the sums of the parts added in order, so that
 * neither the number of threads nor a division of the parts among machines shows in the bits. */
#ifndef MRC_BASE_STRIPS_H
#define MRC_BASE_STRIPS_H

#include <mercer/context.h>

#include <stdbool.h>
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

/* The rows that a rank has of all: n of `total`, from `first` on. Not spread: all of them. A rank
 * has whole parts, and the ranks have them in order; there may be fewer parts than ranks. */
typedef struct mrc_span {
    int64_t first, n, total;
    bool spread;
} mrc_span;

static inline mrc_span mrc_span_whole(int64_t n)
{
    return (mrc_span){.n = n, .total = n};
}

/* The first part of a rank; of the rank behind the last one: how many there are. */
static inline int64_t mrc_rank_parts(int64_t n, int64_t rank, int64_t ranks)
{
    int64_t parts = mrc_parts(n);
    return parts / ranks * rank + parts % ranks * rank / ranks;
}

/* The rows of a rank. */
static inline mrc_span mrc_span_of_rank(int64_t n, int64_t rank, int64_t ranks)
{
    int64_t first = mrc_part_start(n, mrc_rank_parts(n, rank, ranks));
    int64_t end = mrc_part_start(n, mrc_rank_parts(n, rank + 1, ranks));
    return (mrc_span){.first = first, .n = end - first, .total = n, .spread = ranks > 1};
}

/* The parts of a span: those of its rank where it is spread. */
void mrc_span_parts(const mercer_ctx *ctx, const mrc_span *span, int64_t *first, int64_t *end);

/* A sum over n rows of arrays of `width` numbers, into out: body adds the rows from `first` up to
 * `end`, one part, to sum, which holds zeroes. Parts run in parallel; worker indexes scratch, as in
 * mrc_parfor(). room: numbers that sums of parts may take together beside one, flops: work in all,
 * both for speed alone. After a cancellation, which is the status then, out is not defined; a body
 * that takes long looks for it itself. */
typedef void (*mrc_part_body)(void *arg, int64_t first, int64_t end, double *sum, int worker);
/* Bytes that the sums of parts take meanwhile. */
double mrc_sum_bytes(const mercer_ctx *ctx, int64_t n, int64_t width, double room);
mercer_status mrc_sum_parts(mercer_ctx *ctx, int64_t n, int64_t width, double room, double flops,
                            mrc_part_body body, void *arg, double *out, mercer_error *err);
/* The same over all rows of a span, each rank having those of its own: body counts rows from the
 * first of these. The bits do not depend on the number of ranks. bound: 0, or a number that no
 * entry of a sum of rows exceeds in modulus, whichever they are; it is the same on all ranks. With
 * a bound wide sums of many parts are exact to 2^-70 of it in any order, so that ranks exchange two
 * numbers per entry; without one they exchange one per entry and part. */
mercer_status mrc_sum_span(mercer_ctx *ctx, const mrc_span *span, int64_t width, double room,
                           double flops, double bound, mrc_part_body body, void *arg, double *out,
                           mercer_error *err);
/* Whether a bound is of use for sums of this width: whoever has to compute one asks before. Few
 * parts are not much more than the two numbers per entry that a bound allows. */
static inline bool mrc_sum_is_wide(const mrc_span *span, int64_t width)
{
    enum { FEW_PARTS = 8, NARROW = 1 << 20 }; /* numbers of all parts that ranks exchange: 8 MB */
    int64_t parts = mrc_parts(span->total);
    return parts > FEW_PARTS && (double)parts * (double)width > NARROW;
}
/* The sum of n numbers, by parts; on the calling thread. */
double mrc_sum_rows(const double *values, int64_t n);
/* The same of all rows of a span; values has those of this rank. */
mercer_status mrc_sum_span_rows(mercer_ctx *ctx, const mrc_span *span, const double *values,
                                double *out, mercer_error *err);

/* Sums of doubles that are exact in any order (Demmel and Nguyen's idea with a bound known before):
 * each addend is rounded to a multiple of u1, what is left to a multiple of u2, and both are added
 * up apart. count addends of modulus up to bound leave 53 bits above each u. */
typedef struct mrc_grids {
    double scale, first, second; /* 1.5 2^52 u, which rounds to multiples of u when added */
} mrc_grids;
mrc_grids mrc_grids_for(double bound, int64_t count);
static inline void mrc_grids_add(const mrc_grids *g, double x, double *high, double *low)
{
    double value = x * g->scale, rounded = (value + g->first) - g->first;
    *high += rounded;
    *low += (value - rounded + g->second) - g->second;
}
static inline double mrc_grids_sum(const mrc_grids *g, double high, double low)
{
    return (high + low) / g->scale;
}

#endif
