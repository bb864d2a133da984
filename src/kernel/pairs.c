/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums between all pairs of rows: one triangle in tiles, mirrored. Distances are sums of
 * differences, not products about a mean: a mean would depend on all rows. Cost: n^2 d / 2 terms
 * for each sum. */
#include "kernel/pairs.h"

#include "kernel/named.h"
#include "linalg/linalg.h"

#include <string.h>

mrc_term mrc_pair_term(const mrc_kernel_part *part)
{
    const mrc_kernel_def *def = part->def;
    /* Bare products are of rows that were shifted or normed first, and cheap. */
    return def->term == MRC_TERM_PRODUCT && !def->value ? MRC_TERM_NONE : def->term;
}

void mrc_pairs_want(const mrc_kernel *kernel, bool wanted[MRC_TERMS])
{
    for (int p = 0; p < kernel->parts; p++) {
        mrc_term term = mrc_pair_term(&kernel->part[p]);
        if (term != MRC_TERM_NONE)
            wanted[term] = true;
    }
}

double mrc_pairs_bytes(int64_t n, const bool wanted[MRC_TERMS])
{
    double bytes = 0;
    for (int s = 0; s < MRC_TERMS; s++)
        bytes += wanted[s] ? 8 * (double)n * (double)n : 0;
    return bytes;
}

enum { EDGE = 64 };

struct work {
    mercer_ctx *ctx;
    mrc_pairs *pairs;
    const mrc_simd_loops *loops;
    int64_t d;
    const double *x;    /* n x d */
    double *transposed; /* d x n */
};

/* Rows [task EDGE, ...) against all up to them. */
static void sum_rows(void *arg, int64_t task, int worker)
{
    const struct work *w = arg;
    int64_t n = w->pairs->n, d = w->d, a = task * EDGE, na = n - a < EDGE ? n - a : EDGE;
    (void)worker;
    if (mrc_check_cancel(w->ctx, NULL) != MERCER_OK)
        return;
    for (int s = 0; s < MRC_TERMS; s++) {
        double *sums = w->pairs->sums[s];
        for (int64_t b = 0; sums && b <= a; b += EDGE) {
            int64_t nb = n - b < EDGE ? n - b : EDGE;
            double *out = sums + a * n + b;
            if (s == MRC_TERM_PRODUCT)
                mrc_gemm(false, true, na, nb, d, 1, w->x + a * d, d, w->x + b * d, d, 0, out, n);
            else
                w->loops->column_sums((mrc_term)s, w->x + a * d, na, d, w->transposed + b, nb, n, d,
                                      out, n);
            for (int64_t i = 0; i < na; i++)
                for (int64_t j = 0; j < nb && b + j < a + i; j++)
                    sums[(b + j) * n + a + i] = out[i * n + j];
        }
    }
}

mercer_status mrc_pairs_init(mrc_pairs *pairs, mercer_ctx *ctx, const mercer_rows *rows,
                             const bool wanted[MRC_TERMS], mercer_error *err)
{
    int64_t n = rows->n, d = rows->d;
    mercer_rows *own = NULL;
    struct work w = {.ctx = ctx, .pairs = pairs, .loops = mrc_simd_loops_for(ctx->simd), .d = d};
    mercer_status rc = MERCER_OK;
    memset(pairs, 0, sizeof *pairs);
    pairs->n = n;
    for (int s = 0; s < MRC_TERMS; s++)
        if (wanted[s])
            MRC_TRY(mrc_alloc2_raw(&pairs->sums[s], n, n, sizeof(double), err));
    MRC_TRY(mrc_rows_widen(rows, &own, err));
    MRC_TRY(mrc_alloc2_raw(&w.transposed, d, n, sizeof(double), err));
    w.x = own->x;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < d; k++)
            w.transposed[k * n + i] = own->x[i * d + k];
        MRC_TRY(mrc_check_pass(ctx, i, d, err));
    }
    MRC_TRY(mrc_parfor_checked(ctx, (n + EDGE - 1) / EDGE, sum_rows, &w, err));
out:
    mrc_free(w.transposed);
    mercer_rows_free(own);
    return rc;
}

void mrc_pairs_destroy(mrc_pairs *pairs)
{
    for (int s = 0; s < MRC_TERMS; s++)
        mrc_free(pairs->sums[s]);
    memset(pairs, 0, sizeof *pairs);
}
