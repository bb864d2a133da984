/* Checks that any fit must pass. Include after support.h. */
#ifndef MRC_TESTS_FIT_SUPPORT_H
#define MRC_TESTS_FIT_SUPPORT_H

#include "base/memory.h"

#include <mercer/mercer.h>

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
