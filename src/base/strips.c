/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over rows by parts, added in their order. Wide sums of many parts would take more memory
 * than the rows, so parts are taken in groups: how large one is changes no bits.
 *
 * Rows that are spread over ranks: each puts the sums of its parts into their places of a zeroed
 * array, the ranks add the arrays up, which is exact as all other addends are zeroes, and all of
 * them add the parts in their order. Where that array would be large (wide sums of many parts) and
 * a bound is known, parts are not added in their order but exactly, on two grids. */
#include "base/strips.h"

#include "base/ctx.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct part_sums {
    mercer_ctx *ctx;
    mrc_span span;
    int64_t width, first, count; /* of a group: its first part, and how many */
    mrc_part_body body;
    void *arg;
    double *partial; /* count x width */
    double *out;
    mrc_grids grids;
    double *sums; /* on the grids, 2 x width: high ones, then low ones; NULL: in order, into out */
};

static void sum_part(void *arg, int64_t task, int worker)
{
    const struct part_sums *s = arg;
    int64_t part = s->first + task, total = s->span.total;
    double *sum = s->partial + task * s->width;
    if (mrc_check_cancel(s->ctx, NULL) != MERCER_OK)
        return; /* the caller sees it, too */
    memset(sum, 0, (size_t)s->width * sizeof *sum);
    s->body(s->arg, mrc_part_start(total, part) - s->span.first,
            mrc_part_start(total, part + 1) - s->span.first, sum, worker);
}

/* Numbers of the sum that a task adds the parts of. */
enum { SLICE = 4096 };

static void add_slice(void *arg, int64_t task, int worker)
{
    const struct part_sums *s = arg;
    int64_t begin = task * SLICE, end = s->width - begin < SLICE ? s->width : begin + SLICE;
    const mrc_grids grids = s->grids; /* a copy, which no sum can be part of */
    (void)worker;
    for (int64_t part = 0; part < s->count; part++) {
        const double *partial = s->partial + part * s->width;
        if (s->sums)
            for (int64_t i = begin; i < end; i++)
                mrc_grids_add(&grids, partial[i], &s->sums[i], &s->sums[s->width + i]);
        else
            for (int64_t i = begin; i < end; i++)
                s->out[i] += partial[i];
    }
}

static void add_parts(struct part_sums *s)
{
    mrc_parfor_sized(s->ctx, (s->width + SLICE - 1) / SLICE, (double)s->count * (double)s->width,
                     add_slice, s);
}

void mrc_span_parts(const mercer_ctx *ctx, const mrc_span *span, int64_t *first, int64_t *end)
{
    int64_t rank = span->spread ? ctx->comm.table.rank : 0;
    int64_t ranks = span->spread ? ctx->comm.table.size : 1;
    *first = mrc_rank_parts(span->total, rank, ranks);
    *end = mrc_rank_parts(span->total, rank + 1, ranks);
}

mrc_grids mrc_grids_for(double bound, int64_t count)
{
    enum { BITS = 52, FAR = 800, STEP = 600 };
    int exponent = 0, spare = 1;
    mrc_grids g = {.scale = 1};
    if (!(bound <= DBL_MAX)) /* then there is no sum either */
        return (mrc_grids){.scale = NAN};
    frexp(bound, &exponent);
    /* Grids far below the numbers are to be numbers, and so are those that round to them. */
    g.scale = exponent > FAR ? ldexp(1, -STEP) : exponent < -FAR ? ldexp(1, STEP) : 1;
    exponent += exponent > FAR ? -STEP : exponent < -FAR ? STEP : 0;
    while (count > 1) {
        count -= count / 2;
        spare++;
    }
    g.first = ldexp(1.5, exponent + spare);
    g.second = ldexp(g.first, spare - BITS);
    return g;
}

/* All parts of this rank, in groups of `most`. */
static mercer_status run_groups(struct part_sums *s, int64_t first, int64_t end, int64_t most,
                                double flops, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&s->partial, most, s->width, sizeof *s->partial, err));
    for (s->first = first; s->first < end; s->first += s->count) {
        s->count = end - s->first < most ? end - s->first : most;
        mrc_parfor_sized(s->ctx, s->count, flops * (double)s->count, sum_part, s);
        MRC_TRY(mrc_check_cancel(s->ctx, err));
        if (!s->sums && s->first == 0)
            memset(s->out, 0, (size_t)s->width * sizeof *s->out);
        add_parts(s);
    }
out:
    mrc_free(s->partial);
    return rc;
}

/* By parts in their order, over all ranks. */
static mercer_status sum_in_order(struct part_sums *s, int64_t first, int64_t end, int64_t parts,
                                  double flops, mercer_error *err)
{
    double *all = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&all, parts, s->width, sizeof *all, err));
    s->first = first;
    s->count = end - first;
    s->partial = all + first * s->width;
    mrc_parfor_sized(s->ctx, s->count, flops * (double)s->count, sum_part, s);
    MRC_TRY(mrc_comm_sum(s->ctx, all, parts * s->width, err));
    memset(s->out, 0, (size_t)s->width * sizeof *s->out);
    s->partial = all;
    s->count = parts;
    add_parts(s);
out:
    mrc_free(all);
    return rc;
}

/* How many of `parts` parts have sums at a time. */
static int64_t group_of(const mercer_ctx *ctx, int64_t parts, int64_t width, double room)
{
    static const double ENOUGH = 1 << 21; /* 16 MB: larger groups are not faster, unless there are
                                             more threads than parts in one */
    double cap = 4 * (double)ctx->threads * (double)width;
    double group = room < ENOUGH || room < cap ? room : ENOUGH > cap ? ENOUGH : cap;
    group = width > 0 ? group / (double)width : 1;
    return group < 1 ? 1 : group < (double)parts ? (int64_t)group : parts;
}

double mrc_sum_bytes(const mercer_ctx *ctx, int64_t n, int64_t width, double room)
{
    return 8 * (double)width * (double)group_of(ctx, mrc_parts(n), width, room);
}

mercer_status mrc_sum_span(mercer_ctx *ctx, const mrc_span *span, int64_t width, double room,
                           double flops, double bound, mrc_part_body body, void *arg, double *out,
                           mercer_error *err)
{
    int64_t parts = mrc_parts(span->total), first, end;
    struct part_sums s = {
        .ctx = ctx, .span = *span, .width = width, .body = body, .arg = arg, .out = out};
    mercer_status rc = MERCER_OK;
    bool wide = bound > 0 && mrc_sum_is_wide(span, width);
    mrc_span_parts(ctx, span, &first, &end);
    int64_t most = group_of(ctx, end - first, width, room);
    flops /= parts > 0 ? (double)parts : 1;
    if (parts == 0)
        memset(out, 0, (size_t)width * sizeof *out);
    if (!wide && span->spread) {
        rc = sum_in_order(&s, first, end, parts, flops, err);
        goto out;
    }
    if (wide) {
        s.grids = mrc_grids_for(bound, parts);
        MRC_TRY(mrc_alloc2(&s.sums, 2, width, sizeof *s.sums, err));
    }
    MRC_TRY(run_groups(&s, first, end, most, flops, err));
    if (wide && span->spread)
        MRC_TRY(mrc_comm_sum(ctx, s.sums, 2 * width, err));
    for (int64_t i = 0; wide && i < width; i++)
        out[i] = mrc_grids_sum(&s.grids, s.sums[i], s.sums[width + i]);
out:
    mrc_free(s.sums);
    return rc;
}

mercer_status mrc_sum_parts(mercer_ctx *ctx, int64_t n, int64_t width, double room, double flops,
                            mrc_part_body body, void *arg, double *out, mercer_error *err)
{
    const mrc_span whole = mrc_span_whole(n);
    return mrc_sum_span(ctx, &whole, width, room, flops, 0, body, arg, out, err);
}

mercer_status mrc_sum_span_rows(mercer_ctx *ctx, const mrc_span *span, const double *values,
                                double *out, mercer_error *err)
{
    double partial[MRC_PARTS] = {0};
    int64_t first, end, parts = mrc_parts(span->total);
    mercer_status rc = MERCER_OK;
    mrc_span_parts(ctx, span, &first, &end);
    for (int64_t part = first; part < end; part++) {
        int64_t last = mrc_part_start(span->total, part + 1) - span->first;
        for (int64_t i = mrc_part_start(span->total, part) - span->first; i < last; i++)
            partial[part] += values[i];
    }
    if (span->spread)
        MRC_TRY(mrc_comm_sum(ctx, partial, parts, err));
    *out = 0;
    for (int64_t part = 0; part < parts; part++)
        *out += partial[part];
out:
    return rc;
}

double mrc_sum_rows(const double *values, int64_t n)
{
    double sum = 0;
    for (int64_t part = 0; part < mrc_parts(n); part++) {
        double partial = 0;
        for (int64_t i = mrc_part_start(n, part); i < mrc_part_start(n, part + 1); i++)
            partial += values[i];
        sum += partial;
    }
    return sum;
}
