/* SPDX-License-Identifier: BSD-3-Clause */
/* Supervised methods: a choice of direction for the deflation engine. */
#ifndef MRC_METHODS_SUPERVISED_SUPERVISED_H
#define MRC_METHODS_SUPERVISED_SUPERVISED_H

#include "methods/supervised/deflation.h"

typedef struct mrc_supervised mrc_supervised;

/* Choose a direction from what the engine holds (rest = P_j Y, Q, the operator) and add it;
 * *added is false when there is none left. */
typedef mercer_status (*mrc_choose)(void *self, mrc_deflation *dual, bool *added,
                                    mercer_error *err);

struct mrc_supervised {
    mrc_choose choose;
    void *self;
    bool sparse;         /* directions are of few rows */
    bool only_products;  /* each feature asks for one product with as many vectors as outputs */
    int64_t few_columns; /* columns asked for by each feature; 0: all */
    bool raw_targets;    /* not about their means */
    bool balanced;       /* classes weigh the same, whatever their size */
    bool follows_rest;   /* directions are made of what is left of the targets: it ends when that is
                            rounding */
    mrc_deflation_scale scale;
    bool sees_values;     /* kernel values are shown to a caller: never in another unit than one */
    int64_t work_columns; /* n-vectors it holds beside the engine's, for the forecast, */
    int64_t solver_columns; /* and those that a low-rank store spares it */
};

/* Build the operator, add features until there are enough or none is left, fill the model. */
mercer_status mrc_supervised_fit(mercer_ctx *ctx, const mrc_problem *problem,
                                 const mrc_supervised *method, mercer_model *model,
                                 mercer_error *err);

/* What that takes for n rows (see mrc_method), with `passes` products with the operator per
 * feature.
 */
void mrc_supervised_work(const mrc_problem *problem, int64_t n, const mrc_supervised *method,
                         double passes, mrc_work *work);
/* The same for those below. */
void mrc_kpls_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem, int64_t n,
                   mrc_work *work);

/* check_spread of both forms of it. */
mercer_status mrc_kpls_check_spread(const struct mrc_request *request, mercer_error *err);

/* The features of kernel partial least squares; discriminant: classes weigh the same. */
mercer_status mrc_kpls_features(mercer_ctx *ctx, const mrc_problem *problem, bool discriminant,
                                mercer_model *model, mercer_error *err);

#endif
