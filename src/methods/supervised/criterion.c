/* SPDX-License-Identifier: BSD-3-Clause */
/* Supervised methods of the caller's own: the choice of direction is a callback. */
#include "methods/common/request.h"
#include "methods/supervised/supervised.h"

#include <ctype.h>
#include <string.h>

struct mercer_step {
    mrc_deflation *dual;
};

int64_t mercer_step_rows(const mercer_step *step)
{
    if (!step)
        return 0;
    return step->dual->n;
}

int64_t mercer_step_outputs(const mercer_step *step)
{
    if (!step)
        return 0;
    return step->dual->outputs;
}

int64_t mercer_step_features(const mercer_step *step)
{
    if (!step)
        return 0;
    return step->dual->count;
}

const double *mercer_step_targets(const mercer_step *step)
{
    if (!step)
        return NULL;
    return step->dual->y;
}

const double *mercer_step_residual_targets(const mercer_step *step)
{
    if (!step)
        return NULL;
    return step->dual->rest;
}

mercer_status mercer_step_apply(mercer_step *step, const double *v, int64_t columns, double *out,
                                mercer_error *err)
{
    MRC_NEED(step);
    MRC_NEED(v);
    MRC_NEED(out);
    return mrc_gram_apply(step->dual->gram, v, columns, out, err);
}

mercer_status mercer_step_columns(mercer_step *step, const int64_t *rows, int64_t count,
                                  double *out, mercer_error *err)
{
    MRC_NEED(step);
    MRC_NEED(rows);
    MRC_NEED(out);
    for (int64_t i = 0; i < count; i++)
        if (rows[i] < 0 || rows[i] >= step->dual->n)
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "row %lld is not one of %lld rows",
                            (long long)rows[i], (long long)step->dual->n);
    return mrc_gram_columns(step->dual->gram, rows, count, out, err);
}

mercer_status mercer_step_diagonal(mercer_step *step, const double **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(step);
    return mrc_gram_diag(step->dual->gram, out, err);
}

mercer_status mercer_step_deflate(mercer_step *step, double *v, mercer_error *err)
{
    MRC_NEED(step);
    MRC_NEED(v);
    double *dots = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&dots, step->dual->count + 1, sizeof *dots, err));
    MRC_TRY(mrc_deflation_project(step->dual, v, dots, err));
out:
    mrc_free(dots);
    return rc;
}

/* A criterion needs a function, and a name that can stand in a model. */
static mercer_status criterion_check(const mrc_request *request, mercer_error *err)
{
    const mercer_criterion *criterion = request->problem.criterion;
    size_t length = criterion->name ? strlen(criterion->name) : 0;
    if (!criterion->choose)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "criterion: there is no function");
    if (length < 1 || length > 63)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "criterion: a name of 1 to 63 letters is needed");
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)criterion->name[i]) && !strchr("_-", criterion->name[i]))
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "criterion: '%c' cannot be in a name, only letters, digits, '_' and "
                            "'-'",
                            criterion->name[i]);
    return MERCER_OK;
}

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    const mercer_criterion *criterion = self;
    mercer_step step = {dual};
    double *beta = NULL;
    int64_t *rows = NULL, count = 0;
    mercer_error told = {0}; /* the host fills what it knows of */
    mercer_status rc = MERCER_OK;
    *added = false;
    MRC_TRY(mrc_alloc(&beta, dual->n, sizeof *beta, err));
    MRC_TRY(mrc_alloc(&rows, dual->n, sizeof *rows, err));
    rc = criterion->choose(criterion->host, &step, beta, &told);
    if (rc != MERCER_OK)
        MRC_TRY(mrc_fail_again(err, rc, &told));
    int64_t bad = mrc_first_not_finite(beta, dual->n);
    if (bad >= 0)
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "criterion %s: row %lld of direction %lld is not finite",
                 criterion->name, (long long)bad, (long long)dual->count + 1);
    for (int64_t i = 0; i < dual->n; i++)
        if (beta[i] != 0)
            rows[count++] = i;
    if (count == 0)
        goto out;
    if (!criterion->sparse) {
        MRC_TRY(mrc_deflation_add(dual, NULL, dual->n, beta, NULL, added, err));
        goto out;
    }
    for (int64_t i = 0; i < count; i++) /* rows increase: no entry is read after it was written */
        beta[i] = beta[rows[i]];
    MRC_TRY(mrc_deflation_add(dual, rows, count, beta, NULL, added, err));
out:
    mrc_free(beta);
    mrc_free(rows);
    return rc;
}

static mercer_status criterion_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                                   mercer_model *model, mercer_error *err)
{
    mercer_criterion criterion = *problem->criterion;
    mrc_supervised method = {
        .choose = choose, .self = &criterion, .sparse = criterion.sparse != 0, .sees_values = true};
    (void)params;
    return mrc_supervised_fit(ctx, problem, &method, model, err);
}

static const mrc_param schema[] = {MRC_COMPONENTS_SUPERVISED(mrc_common_params, 10), MRC_PARAM_END};

const mrc_method mrc_method_criterion = {
    .entry = {.name = "criterion",
              .summary = "a choice of direction of the caller's own",
              .reference = "Dhanjal, Gunn, Shawe-Taylor 2009",
              .params = schema},
    .params_size = sizeof(mrc_common_params),
    .default_center = MRC_CENTER_EXACT,
    .centers = "none|exact",
    .check = criterion_check,
    .fit = criterion_fit,
    .default_head = "ls",
};
