/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel that is nowhere but here and in kernels.def beside it: a mixture of laplacians,
 * 1 / (1 + gamma sum |x-y|). The tests run whatever is listed, and so this one, too. */
#include "kernel/named.h"

#include <float.h>

static const mrc_param toy_params[] = {MRC_PARAM_GAMMA("factor of the distance; auto: 1 / columns"),
                                       MRC_PARAM_END};

static void toy_value(const mrc_kernel_part *part, const mrc_simd_loops *loops, double *sums,
                      int64_t n)
{
    (void)loops;
    for (int64_t j = 0; j < n; j++)
        sums[j] = 1 / (1 + part->gamma * sums[j]);
}

const mrc_kernel_def mrc_kernel_def_toy = {
    .entry = {"toy", "of the tests", "1 / (1 + gamma |x-y|_1)", toy_params},
    .term = MRC_TERM_ABSOLUTE,
    .unit_diagonal = true,
    .value = toy_value,
};
