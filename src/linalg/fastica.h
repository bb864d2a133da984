/* SPDX-License-Identifier: BSD-3-Clause */
/* FastICA (Hyvarinen 1999): directions of white data along which they are least like a normal
 * distribution. */
#ifndef MRC_LINALG_FASTICA_H
#define MRC_LINALG_FASTICA_H

#include "base/ctx.h"

typedef struct mrc_ica_options {
    int contrast;       /* index into MRC_ICA_CONTRASTS */
    bool symmetric;     /* all directions at once; else one after the other */
    int64_t iterations; /* of each direction, or of all at once, at most */
} mrc_ica_options;

#define MRC_ICA_CONTRASTS "tanh|cube|gauss"

/* W (m x l, orthonormal columns) for white data X (n x m, X'X = n I, columns of mean zero), least
 * normal first. Starts from the random state of ctx. *left: how many directions still moved when
 * the iterations were used up. */
mercer_status mrc_ica_run(mercer_ctx *ctx, const double *x, int64_t n, int64_t m, int64_t l,
                          const mrc_ica_options *options, double *w, int64_t *left,
                          mercer_error *err);

#endif
