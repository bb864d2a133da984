/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse maximal alignment and sparse maximal covariance: directions of few rows that match the
 * labels (Dhanjal, Gunn, Shawe-Taylor 2009). */
#ifndef MRC_METHODS_SUPERVISED_MATCHING_H
#define MRC_METHODS_SUPERVISED_MATCHING_H

#include "methods/supervised/supervised.h"

/* Parameters of sma and smc. */
struct mrc_matching_params {
    double components;
    int64_t candidates;
    int64_t sparsity;
    int labels;
    int norm;
};

/* Their schema; unit: what has length one when nothing is said, 0 direction or 1 feature. */
#define MRC_MATCHING_SCHEMA(unit)                                                                  \
    {                                                                                              \
        MRC_COMPONENTS_SUPERVISED(struct mrc_matching_params, 10),                                 \
            MRC_INT(struct mrc_matching_params, candidates, 0, 0, 1e9,                             \
                    "rows looked at for each feature, drawn at random; 0: all"),                   \
            MRC_INT(struct mrc_matching_params, sparsity, 1, 1, 3,                                 \
                    "rows that a direction may be made of; 2 and 3 look at all pairs or triples"), \
            MRC_CHOICE(struct mrc_matching_params, labels, 0, "centred|raw",                       \
                       "labels about their mean, or as they are; two classes are -1 and 1"),       \
            MRC_CHOICE(                                                                            \
                struct mrc_matching_params, norm, unit, "direction|feature",                       \
                "what has length one: the direction in feature space, or the feature of the "      \
                "rows"),                                                                           \
            MRC_PARAM_END                                                                          \
    }

/* alignment: |Y'K_j beta|^2 over |K_j beta|^2 (sma), else over beta'K beta (smc). */
mercer_status mrc_matching_fit(mercer_ctx *ctx, const struct mrc_matching_params *params,
                               bool alignment, const mrc_problem *problem, mercer_model *model,
                               mercer_error *err);

/* check_spread of both: one row per direction, chosen among all. */
mercer_status mrc_matching_check_spread(const struct mrc_request *request, mercer_error *err);

/* What that takes for n rows; see mrc_method. */
void mrc_matching_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work);

#endif
