/* SPDX-License-Identifier: BSD-3-Clause */
/* What a problem is to all methods: its Gram operator, what is said where nothing can be extracted,
 * and a method as it was used. */
#include "methods/common/method.h"

#include <mercer/fit.h>

#include <math.h>

mercer_status mrc_problem_gram(mercer_ctx *ctx, const mrc_problem *problem,
                               mrc_gram_request *request, mrc_gram **out, mercer_error *err)
{
    request->store = problem->store;
    request->single = problem->single;
    request->tolerance = problem->tolerance;
    return mrc_gram_new(out, ctx, problem->kernel, problem->rows, request, problem->report, err);
}

int64_t mrc_problem_outputs(const mrc_problem *problem)
{
    const mercer_targets *targets = problem->targets;
    if (!targets || targets->kind == MERCER_TARGET_NONE)
        return 0;
    if (targets->kind == MERCER_TARGET_VALUES)
        return targets->columns;
    return targets->classes > 2 ? targets->classes : 1;
}

int64_t mrc_problem_entries(const mrc_problem *problem)
{
    return problem->ranks && mercer_rows_is_sparse(problem->rows)
               ? problem->entries
               : mercer_rows_entries(problem->rows);
}

mercer_status mrc_problem_check_range(const mrc_problem *problem, mercer_error *err)
{
    static const double MOST = 1e140; /* the square of it, of sums of it, and of their inverses */
    int64_t column;
    double value;
    if (!problem->rows) /* a stream, whose rows have gone by */
        return MERCER_OK;
    mercer_status rc = mrc_rows_largest_of_all(problem->ranks, problem->rows, &value, &column, err);
    if (rc != MERCER_OK)
        return rc;
    if (value == 0 || (fabs(value) < MOST && fabs(value) > 1 / MOST))
        return MERCER_OK;
    return mrc_fail_at(
        err, MERCER_ERR_DATA,
        MRC_AT(.column_number = column + 1, .advice_key = "scale", .advice_value = "standard"),
        "the largest value is %g (column %lld), and kernel values of such rows are out of "
        "the range of numbers: scale the data",
        fabs(value), (long long)(column + 1));
}

mercer_status mrc_problem_no_component(const mrc_problem *problem, mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    mercer_status rc = mrc_problem_check_range(problem, err);
    if (rc != MERCER_OK)
        return rc;
    if (!mrc_kernel_is_semidefinite(problem->kernel))
        return mrc_fail(err, MERCER_ERR_DATA,
                        "no k(x,x) of the %skernel matrix is positive, so there is no component to "
                        "extract",
                        centered ? "centred " : "");
    if (problem->tolerance > 0)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_AT(.key = "tolerance"),
                           "tolerance: no component of the %skernel matrix is above what %g of the "
                           "variance leaves out: give a smaller one, or none",
                           centered ? "centred " : "", problem->tolerance);
    return mrc_fail(
        err, MERCER_ERR_DATA,
        "the %skernel matrix is zero to rounding: %s, so there is no component to extract",
        centered ? "centred " : "",
        centered ? "the rows do not differ, or by less than rounding beside their mean"
                 : "the kernel takes every row for zero");
}

mercer_status mrc_method_describe(const mrc_method *method, const void *params, mercer_model *model,
                                  mercer_error *err)
{
    char text[256];
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_params_format(method->entry.params, method->entry.name, params, 0, text,
                              sizeof text, err));
    mrc_free(model->method);
    MRC_TRY(mrc_strdup(&model->method, text, err));
out:
    return rc;
}
