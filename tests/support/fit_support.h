/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that any fit must pass. Include after support.h. */
#ifndef MRC_TESTS_FIT_SUPPORT_H
#define MRC_TESTS_FIT_SUPPORT_H

#include "base/memory.h"

#include <mercer/mercer.h>

#include <math.h>

/* exp(-gamma |x - y|^2), as a kernel function of a host may compute it. */
static inline mercer_status host_gaussian(double gamma, const double *x, int64_t nx, int64_t ldx,
                                          const double *y, int64_t ny, int64_t ldy, int64_t d,
                                          double *out, int64_t ldo)
{
    for (int64_t i = 0; i < nx; i++)
        for (int64_t j = 0; j < ny; j++) {
            double sum = 0;
            for (int64_t k = 0; k < d; k++)
                sum += (x[i * ldx + k] - y[j * ldy + k]) * (x[i * ldx + k] - y[j * ldy + k]);
            out[i * ldo + j] = exp(-gamma * sum);
        }
    return MERCER_OK;
}

/* Every allocation of a fit fails in turn: an error code, no model, nothing left behind; and in the
 * end the fit succeeds. */
static inline void check_failing_allocations(mercer_ctx *ctx, const mercer_fit_options *options,
                                             const mercer_rows *rows, const mercer_targets *targets)
{
    int64_t alive = mrc_alloc_live(), after = 0;
    mercer_status rc;
    do {
        mercer_model *model = NULL;
        mrc_alloc_fail_after(after++);
        rc = mercer_fit(ctx, options, rows, targets, &model, NULL, NULL);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(model != NULL, rc == MERCER_OK);
        mercer_model_free(model);
        assert_int_equal(mrc_alloc_live(), alive);
    } while (rc != MERCER_OK);
    assert_true(after > 10);
}

#endif
