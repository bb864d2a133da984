/* SPDX-License-Identifier: BSD-3-Clause */
/* A factor of the kernel matrix from rows that are drawn at random, by the weight of what the rows
 * before leave of them. */
#ifndef MRC_GRAM_SAMPLED_H
#define MRC_GRAM_SAMPLED_H

#include "gram/factor.h"
#include "gram/gram.h"

typedef struct mrc_sampled {
    mrc_factor *factor; /* F with F F' <= K and its pivots, owned; of the centred matrix when the
                           operator is */
    double trace;       /* of K */
    double left;        /* trace of K - F F', at least 0 */
    bool complete;      /* nothing but rounding is left */
    bool indefinite;    /* a diagonal entry of K - F F' is clearly negative: so is an eigenvalue of
                           K, and the factor ends there */
} mrc_sampled;

/* At most `most` columns; fewer when they leave at most `target` of the trace, or rounding. seed:
 * which rows are drawn. The same bits for any number of threads and ranks, all of which ask the
 * same where rows are spread. */
mercer_status mrc_gram_sample(mrc_gram *gram, int64_t most, double target, uint64_t seed,
                              mrc_sampled *out, mercer_error *err);
void mrc_sampled_destroy(mrc_sampled *sampled);

#endif
