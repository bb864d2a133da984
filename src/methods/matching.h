/* Sparse maximal alignment and sparse maximal covariance: directions of single rows that match the
 * labels (Dhanjal, Gunn, Shawe-Taylor 2009). */
#ifndef MRC_METHODS_MATCHING_H
#define MRC_METHODS_MATCHING_H

#include "methods/supervised.h"

typedef struct mrc_matching_rule {
    bool alignment;     /* |Y'K_j e_i|^2 over |K_j e_i|^2 (SMA), else over K_ii (SMC) */
    int64_t candidates; /* columns looked at for each feature, drawn at random; 0: all */
    bool unit_features;
} mrc_matching_rule;

mercer_status mrc_matching_fit(mercer_ctx *ctx, const mrc_problem *problem,
                               const mrc_matching_rule *rule, mercer_model *model,
                               mercer_error *err);

#endif
