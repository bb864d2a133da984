/* SPDX-License-Identifier: BSD-3-Clause */
/* The best direction on one, two or three rows (Dhanjal, Gunn, Shawe-Taylor 2009, section 4.3).
 *
 * A direction on the rows S with weights a, a' G_SS a = 1, matches the labels by |g_S' a|^2, where
 * g_i (a number per label) is the match of row i. The best weights of S are the leading solution of
 * g_S g_S' a = value G_SS a. */
#ifndef MRC_METHODS_SUPERVISED_COMBINATIONS_H
#define MRC_METHODS_SUPERVISED_COMBINATIONS_H

#include "base/ctx.h"
#include "base/memory.h"

enum {
    MRC_MAX_COMBINED = 3,
    MRC_COMBINED_TRIPLES =
        4096, /* rows of which triples may be asked for: 128 MB of correlations */
};

typedef struct mrc_combination_search {
    int64_t size;        /* rows to choose from */
    int64_t most;        /* in a subset: 1 to MRC_MAX_COMBINED */
    int64_t outputs;     /* labels */
    const double *match; /* outputs x size: g_i / sqrt(G_ii) */
    const double *blur;  /* size: relative error of what is known of row i, beside rounding */
    /* Write rows first to first + count - 1 of the correlations G_ab / sqrt(G_aa G_bb), count x
     * size, of which only b > a is looked at. Called for runs of at most MRC_COMBINED_ROWS rows. */
    mercer_status (*correlate)(void *self, int64_t first, int64_t count, double *out,
                               mercer_error *err);
    void *self;
} mrc_combination_search;

enum { MRC_COMBINED_ROWS = 32 };

typedef struct mrc_combination {
    int64_t count; /* 0: no row matches at all */
    int64_t row[MRC_MAX_COMBINED];
    double weight[MRC_MAX_COMBINED]; /* times sqrt(G_ii); the first is positive */
} mrc_combination;

/* The subset of largest value; of those equal to rounding the smallest, then the first. Subsets
 * whose correlations are singular are left out: a smaller one has the same value. Pairs take
 * MRC_COMBINED_ROWS x size doubles, triples size x size. */
mercer_status mrc_combination_find(mercer_ctx *ctx, const mrc_combination_search *search,
                                   mrc_combination *out, mercer_error *err);

#endif
