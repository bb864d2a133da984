/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of a distance. Of the Euclidean one, r: rbf exp(-r^2 / (2 sigma^2)); exponential
 * exp(-r / sigma); matern, with s = sqrt(2 nu) r / sigma, exp(-s), (1 + s) exp(-s),
 * (1 + s + s^2 / 3) exp(-s) for nu = 0.5, 1.5, 2.5, and rbf in the limit; rq
 * (1 + r^2 / (2 alpha sigma^2))^-alpha. Of the sum of differences: laplacian
 * exp(-gamma sum |x-y|). */
#include "kernel/named.h"

#include <float.h>
#include <math.h>

static const mrc_param rbf_params[] = {
    MRC_PARAM_SIGMA("width"),
    MRC_PARAM_GAMMA_OR_SIGMA("1 / (2 sigma^2), may be given instead of sigma"), MRC_PARAM_END};
static const mrc_param laplacian_params[] = {
    MRC_PARAM_GAMMA("factor of the distance; auto: 1 / columns"), MRC_PARAM_END};
static const mrc_param exponential_params[] = {
    MRC_PARAM_SIGMA("length"),
    MRC_PARAM_GAMMA_OR_SIGMA(
        "1 / sigma, may be given instead of sigma (kernlab's laplacedot calls it sigma)"),
    MRC_PARAM_END};
enum { NU_HALF, NU_THREE_HALVES, NU_FIVE_HALVES, NU_INFINITE };
static const mrc_param matern_params[] = {MRC_PARAM_SIGMA("length"),
                                          MRC_CHOICE(mrc_kernel_part, nu, NU_THREE_HALVES,
                                                     "0.5|1.5|2.5|inf",
                                                     "smoothness: 0.5 is exponential, inf is rbf"),
                                          MRC_PARAM_END};
static const mrc_param rq_params[] = {
    MRC_PARAM_SIGMA("length"),
    MRC_REAL(mrc_kernel_part, alpha, 1, DBL_MIN, DBL_MAX,
             "power: small ones mix many lengths, large ones come near rbf"),
    MRC_PARAM_END};

static void exponential_of_sum(const mrc_kernel_part *part, const mrc_simd_loops *loops,
                               double *sums, int64_t n)
{
    loops->exponential(sums, n, -part->gamma);
}

static void exponential_slope(const mrc_kernel_part *part, double *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] = -part->gamma * exp(-part->gamma * sums[i]);
}

/* The function is exp(-factor sqrt(s)), which has no slope at 0. */
static void root_slopes(double factor, double *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double r = sqrt(sums[i]);
        sums[i] = r > 0 ? -factor * exp(-factor * r) / (2 * r) : 0;
    }
}

static void rbf_by_differences(const mrc_kernel_part *part, const mrc_simd_loops *loops,
                               const double *a, int64_t lda, int64_t na, const mrc_points *b,
                               int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    loops->gaussian_by_differences(a, na, lda, b->transposed + b0, nb, b->n, b->d, part->gamma, out,
                                   ldo);
}

const mrc_kernel_def mrc_kernel_def_rbf = {
    .entry = {"rbf", "Gaussian", "exp(-|x-y|^2 / (2 sigma^2))", rbf_params},
    .term = MRC_TERM_SQUARE,
    .width = MRC_WIDTH_INVERSE_SQUARE,
    .unit_diagonal = true,
    .value = exponential_of_sum,
    .slope = exponential_slope,
    .by_differences = rbf_by_differences,
};

const mrc_kernel_def mrc_kernel_def_laplacian = {
    .entry = {"laplacian", "exponential of the sum of differences", "exp(-gamma |x-y|_1)",
              laplacian_params},
    .term = MRC_TERM_ABSOLUTE,
    .unit_diagonal = true,
    .value = exponential_of_sum,
    .slope = exponential_slope,
};

static void exponential_value(const mrc_kernel_part *part, const mrc_simd_loops *loops,
                              double *sums, int64_t n)
{
    loops->exponential_of_root(sums, n, -part->gamma);
}

static void root_slope(const mrc_kernel_part *part, double *sums, int64_t n)
{
    root_slopes(part->gamma, sums, n);
}

const mrc_kernel_def mrc_kernel_def_exponential = {
    .entry = {"exponential", "exponential of the distance: rougher than rbf", "exp(-|x-y| / sigma)",
              exponential_params},
    .term = MRC_TERM_SQUARE,
    .width = MRC_WIDTH_INVERSE,
    .unit_diagonal = true,
    .value = exponential_value,
    .slope = root_slope,
};

/* The factor of the squared distance; nu = 0.5: of the distance. */
static double matern_scale(const mrc_kernel_part *part)
{
    double sigma = part->sigma;
    switch (part->nu) {
    case NU_HALF:
        return 1 / sigma;
    case NU_THREE_HALVES:
        return 3 / (sigma * sigma);
    case NU_FIVE_HALVES:
        return 5 / (sigma * sigma);
    default:
        return 0.5 / (sigma * sigma);
    }
}

static void matern_value(const mrc_kernel_part *part, const mrc_simd_loops *loops, double *sums,
                         int64_t n)
{
    double scale = matern_scale(part);
    if (part->nu == NU_HALF)
        loops->exponential_of_root(sums, n, -scale);
    else if (part->nu == NU_INFINITE)
        loops->exponential(sums, n, -scale);
    else
        loops->matern(sums, n, scale, part->nu);
}

static void matern_slope(const mrc_kernel_part *part, double *sums, int64_t n)
{
    double scale = matern_scale(part);
    if (part->nu == NU_HALF) {
        root_slopes(scale, sums, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double s = sqrt(scale * sums[i]);
        sums[i] = part->nu == NU_THREE_HALVES  ? -scale / 2 * exp(-s)
                  : part->nu == NU_FIVE_HALVES ? -scale / 6 * (1 + s) * exp(-s)
                                               : -scale * exp(-scale * sums[i]);
    }
}

const mrc_kernel_def mrc_kernel_def_matern = {
    .entry = {"matern", "between exponential and rbf",
              "nu = 1.5: (1 + s) exp(-s), s = sqrt(3) |x-y| / sigma", matern_params},
    .term = MRC_TERM_SQUARE,
    .unit_diagonal = true,
    .scale = matern_scale,
    .value = matern_value,
    .slope = matern_slope,
};

static double rq_scale(const mrc_kernel_part *part)
{
    return 0.5 / (part->alpha * part->sigma * part->sigma);
}

static void rq_value(const mrc_kernel_part *part, const mrc_simd_loops *loops, double *sums,
                     int64_t n)
{
    loops->rational(sums, n, rq_scale(part), part->alpha);
}

static void rq_slope(const mrc_kernel_part *part, double *sums, int64_t n)
{
    double scale = rq_scale(part);
    for (int64_t i = 0; i < n; i++)
        sums[i] = -part->alpha * scale * exp(-(part->alpha + 1) * log1p(scale * sums[i]));
}

const mrc_kernel_def mrc_kernel_def_rq = {
    .entry = {"rq", "rational quadratic: rbf of many widths",
              "(1 + |x-y|^2 / (2 alpha sigma^2))^-alpha", rq_params},
    .term = MRC_TERM_SQUARE,
    .unit_diagonal = true,
    .most = 1e150, /* where squares of distances overflow, it can be far from zero */
    .scale = rq_scale,
    .value = rq_value,
    .slope = rq_slope,
};
