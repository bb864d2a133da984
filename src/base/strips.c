/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over rows by parts, added in their order. Wide sums of many parts would take more memory
 * than the rows, so parts are taken in groups: how large one is changes no bits. */
#include "base/strips.h"

#include "base/ctx.h"
#include "base/memory.h"

#include <string.h>

struct part_sums {
    mercer_ctx *ctx;
    int64_t n, width, first, count; /* of a group: its first part, and how many */
    mrc_part_body body;
    void *arg;
    double *partial; /* count x width */
    double *out;
};

static void sum_part(void *arg, int64_t task, int worker)
{
    const struct part_sums *s = arg;
    int64_t part = s->first + task;
    double *sum = s->partial + task * s->width;
    if (mrc_check_cancel(s->ctx, NULL) != MERCER_OK)
        return; /* the caller sees it, too */
    memset(sum, 0, (size_t)s->width * sizeof *sum);
    s->body(s->arg, mrc_part_start(s->n, part), mrc_part_start(s->n, part + 1), sum, worker);
}

/* Numbers of the sum that a task adds the parts of. */
enum { SLICE = 4096 };

static void add_slice(void *arg, int64_t task, int worker)
{
    const struct part_sums *s = arg;
    int64_t begin = task * SLICE, end = s->width - begin < SLICE ? s->width : begin + SLICE;
    (void)worker;
    for (int64_t part = 0; part < s->count; part++)
        for (int64_t i = begin; i < end; i++)
            s->out[i] += s->partial[part * s->width + i];
}

mercer_status mrc_sum_parts(mercer_ctx *ctx, int64_t n, int64_t width, double room, double flops,
                            mrc_part_body body, void *arg, double *out, mercer_error *err)
{
    static const double ENOUGH = 1 << 21; /* 16 MB: larger groups are not faster, unless there are
                                             more threads than parts in one */
    int64_t parts = mrc_parts(n);
    double cap = 4 * (double)ctx->threads * (double)width;
    double group = room < ENOUGH || room < cap ? room : ENOUGH > cap ? ENOUGH : cap;
    group = width > 0 ? group / (double)width : 1;
    struct part_sums s = {.ctx = ctx, .n = n, .width = width, .body = body, .arg = arg, .out = out};
    mercer_status rc = MERCER_OK;
    int64_t most = group < 1 ? 1 : group < (double)parts ? (int64_t)group : parts;
    if (parts == 0)
        memset(out, 0, (size_t)width * sizeof *out);
    MRC_TRY(mrc_alloc2_raw(&s.partial, most, width, sizeof *s.partial, err));
    for (; s.first < parts; s.first += s.count) {
        s.count = parts - s.first < most ? parts - s.first : most;
        mrc_parfor_sized(ctx, s.count, flops * (double)s.count / (double)parts, sum_part, &s);
        MRC_TRY(mrc_check_cancel(ctx, err));
        if (s.first == 0)
            memset(out, 0, (size_t)width * sizeof *out);
        mrc_parfor_sized(ctx, (width + SLICE - 1) / SLICE, (double)s.count * (double)width,
                         add_slice, &s);
    }
out:
    mrc_free(s.partial);
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
