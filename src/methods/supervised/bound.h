/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be promised about the features of a supervised method beyond the training rows: the
 * stability bound of Dhanjal, Gunn, Shawe-Taylor 2009, Theorem 5.5. */
#ifndef MRC_METHODS_SUPERVISED_BOUND_H
#define MRC_METHODS_SUPERVISED_BOUND_H

#include "methods/supervised/deflation.h"

/* The coordinate of feature j on the training rows along q_t: T = Q R, R upper triangular. */
double mrc_deflation_coordinate(const mrc_deflation *dual, mrc_deflation_scale scale, int64_t t,
                                int64_t j);

/* For every prefix of the features, whose coefficients are a (points x count): the three terms of
 * the bound, into bound (count x MERCER_BOUND_COLUMNS). */
mercer_status mrc_bound_terms(mrc_deflation *dual, mrc_deflation_scale scale, const double *a,
                              int64_t points, double *bound, mercer_error *err);

/* How many of the count features make the bound less q for each feature largest; q is half of what
 * the first feature adds to the empirical term. */
int64_t mrc_bound_choose(const double *bound, int64_t count);

/* The rows with the largest |y_i|^2 K_ii, on which the bound hangs: at most MRC_INFLUENTIAL pairs
 * of row and value into out, decreasing; returns how many. */
enum { MRC_INFLUENTIAL = 5 };
mercer_status mrc_bound_rows(mrc_deflation *dual, double *out, int64_t *count, mercer_error *err);

#endif
