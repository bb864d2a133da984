/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of histograms and counts, values >= 0: chi2 exp(-gamma sum (x-y)^2 / (x+y)) and
 * intersection sum min(x, y). */
#include "kernel/named.h"

#include <float.h>

static const mrc_param no_params[] = {MRC_PARAM_END};
static const mrc_param chi2_params[] = {
    MRC_REAL(mrc_kernel_part, gamma, 1, DBL_MIN, DBL_MAX, "factor of the distance"), MRC_PARAM_END};

static void chi2_value(const mrc_kernel_part *part, const mrc_simd_loops *loops, double *sums,
                       int64_t n)
{
    loops->exponential(sums, n, -part->gamma);
}

const mrc_kernel_def mrc_kernel_def_chi2 = {
    .entry = {"chi2", "for histograms and counts: values >= 0", "exp(-gamma sum (x-y)^2 / (x+y))",
              chi2_params},
    .term = MRC_TERM_CHI2,
    .nonnegative = true,
    .unit_diagonal = true,
    .value = chi2_value,
};

const mrc_kernel_def mrc_kernel_def_intersection = {
    .entry = {"intersection", "overlap of histograms: values >= 0", "sum min(x, y)", no_params},
    .term = MRC_TERM_MIN,
    .nonnegative = true,
};
