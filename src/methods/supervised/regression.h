/* SPDX-License-Identifier: BSD-3-Clause */
/* What methods made of one ridge regression share: targets, solution, model. */
#ifndef MRC_METHODS_SUPERVISED_REGRESSION_H
#define MRC_METHODS_SUPERVISED_REGRESSION_H

#include "gram/solve.h"
#include "methods/common/method.h"

/* The key `ridge` of such a method; auto is MRC_KEYWORD(0). */
#define MRC_RIDGE_KEY(type, least)                                                                 \
    MRC_REAL_OR(type, ridge, MRC_KEYWORD(0), least, 1e12, "auto",                                  \
                "penalty, as a share of the trace of the kernel matrix; auto: of 15 values from "  \
                "1e-7 to 1 the one with the least leave-one-out error")

typedef struct mrc_regression {
    int64_t outputs;
    double *targets; /* n x outputs: values, or 0/1 indicators of the classes that occur */
    double *sizes;   /* outputs: rows of each class; NULL: values */
    int64_t *codes;  /* n: class among those that occur; NULL: values */
    mrc_gram *gram;
    mrc_ridge ridge; /* in units of one, like the operator */
} mrc_regression;

/* MERCER_ERR_DATA when squares of the targets leave the range of numbers. To be destroyed, also
 * after an error, like all of these. */
mercer_status mrc_regression_targets(const mrc_problem *problem, mrc_regression *r,
                                     mercer_error *err);
/* The operator, and the regression on it; ridge as the key has it. features: that a model is made
 * of at most. */
mercer_status mrc_regression_solve(mercer_ctx *ctx, const mrc_problem *problem, double ridge,
                                   int64_t features, mrc_regression *r, mercer_error *err);
/* check_spread of such a method: everything goes through the factor, or products. */
mercer_status mrc_regression_check_spread(const struct mrc_request *request, mercer_error *err);
/* What that takes for n rows; see mrc_method. */
void mrc_regression_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                         int64_t n, mrc_work *work);
/* Features A C' K^ of the solution, C (outputs x l; NULL: the unit matrix): points, coefficients,
 * offsets and mean of the model. Of a factor: on its pivots, or as a map of the columns. */
mercer_status mrc_regression_model(mercer_ctx *ctx, const mrc_problem *problem, mrc_regression *r,
                                   const double *combine, int64_t l, mercer_model *model,
                                   mercer_error *err);
void mrc_regression_destroy(mrc_regression *r);

#endif
