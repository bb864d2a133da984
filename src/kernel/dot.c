/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of the dot product: linear x.y; poly (gamma x.y + coef0)^degree; sigmoid tanh(gamma x.y +
 * coef0), not positive semidefinite; cosine x.y / (|x| |y|), 0 for a zero row. */
#include "kernel/named.h"

#include <float.h>
#include <math.h>

#define PARAM_COEF0                                                                                \
    MRC_REAL(mrc_kernel_part, coef0, 1, -DBL_MAX, DBL_MAX, "constant added to the dot product")

static const mrc_param no_params[] = {MRC_PARAM_END};
static const mrc_param poly_params[] = {
    MRC_PARAM_GAMMA("factor of the dot product; auto: 1 / columns"), PARAM_COEF0,
    MRC_INT(mrc_kernel_part, degree, 3, 1, 64, "power"), MRC_PARAM_END};
static const mrc_param sigmoid_params[] = {
    MRC_PARAM_GAMMA("factor of the dot product; auto: 1 / columns"), PARAM_COEF0, MRC_PARAM_END};

static double columns_limit(const mrc_kernel_part *part, int64_t d)
{
    (void)part;
    return (double)d;
}

const mrc_kernel_def mrc_kernel_def_linear = {
    .entry = {"linear", "dot product: ordinary PCA", "x.y", no_params},
    .term = MRC_TERM_PRODUCT,
    .rank_limit = columns_limit,
};

static double cosine_self(const mrc_kernel_part *part, double sum)
{
    (void)part;
    return sum > 0 ? 1 : 0;
}

const mrc_kernel_def mrc_kernel_def_cosine = {
    .entry = {"cosine", "angle between rows", "x.y / (|x| |y|)", no_params},
    .term = MRC_TERM_PRODUCT,
    .rows = MRC_ROWS_UNIT,
    .rank_limit = columns_limit,
    .self = cosine_self,
};

static bool poly_semidefinite(const mrc_kernel_part *part)
{
    return part->coef0 >= 0;
}

/* Monomials of degree p in d variables, or in d + 1 when there is a constant. */
static double poly_rank_limit(const mrc_kernel_part *part, int64_t d)
{
    double count = 1, variables = (double)(part->coef0 != 0 ? d + 1 : d);
    for (int64_t k = 1; k <= part->degree && isfinite(count); k++)
        count *= (variables + (double)k - 1) / (double)k;
    return count;
}

static void poly_value(const mrc_kernel_part *part, const mrc_simd_loops *loops, double *sums,
                       int64_t n)
{
    loops->power(sums, n, part->gamma, part->coef0, part->degree);
}

static double poly_self(const mrc_kernel_part *part, double sum)
{
    return pow(part->gamma * sum + part->coef0, (double)part->degree);
}

static void poly_slope(const mrc_kernel_part *part, double *sums, int64_t n)
{
    double factor = part->gamma * (double)part->degree;
    for (int64_t i = 0; i < n; i++)
        sums[i] = factor * pow(part->gamma * sums[i] + part->coef0, (double)(part->degree - 1));
}

const mrc_kernel_def mrc_kernel_def_poly = {
    .entry = {"poly", "polynomial", "(gamma x.y + coef0)^degree", poly_params},
    .term = MRC_TERM_PRODUCT,
    .semidefinite = poly_semidefinite,
    .rank_limit = poly_rank_limit,
    .value = poly_value,
    .slope = poly_slope,
    .self = poly_self,
};

static void sigmoid_value(const mrc_kernel_part *part, const mrc_simd_loops *loops, double *sums,
                          int64_t n)
{
    loops->hyperbolic_tangent(sums, n, part->gamma, part->coef0);
}

static double sigmoid_self(const mrc_kernel_part *part, double sum)
{
    return tanh(part->gamma * sum + part->coef0);
}

const mrc_kernel_def mrc_kernel_def_sigmoid = {
    .entry = {"sigmoid", "hyperbolic tangent, not positive semidefinite", "tanh(gamma x.y + coef0)",
              sigmoid_params},
    .term = MRC_TERM_PRODUCT,
    .max_abs = 1, /* the diagonal need not have the largest value */
    .semidefinite = mrc_never_semidefinite,
    .value = sigmoid_value,
    .self = sigmoid_self,
};
