/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel ridge regression, and with it Gaussian process regression: the features are predictions,
 * one per target or class (Saunders, Gammerman, Vovk 1998; Rasmussen, Williams 2006).
 *
 *   f(x) = mean y + a'(k(x) - kbar),  (K^ + mu I) a = y - mean y,  mu = ridge tr K^
 *
 * and, without centring, f(x) = a'k(x), (K + mu I) a = y. Classes are 0/1 indicators. The solver is
 * gram/solve.c.
 *
 * On the low-rank store the model also knows how uncertain it is: with f the centred coordinates of
 * a row and F those of the training rows, the variance of a Gaussian process with noise mu is
 *   s^2 (k^(x,x) - f'M f + mu / n),  M = F'F (F'F + mu I)^-1,  s^2 = y'a / (n - 1),
 * the last term for the free intercept; of several outputs it is the sum. f'M f is kept as
 * |T'k(P, x) + t|^2 over the pivots P. Cost: the solver's, and q^3. */
#include "methods/supervised/regression.h"

#include "gram/factor.h"
#include "linalg/linalg.h"
#include "methods/common/request.h"

#include <math.h>
#include <string.h>

struct krr_params {
    double components, ridge;
};

static const mrc_param krr_schema[] = {
    MRC_COMPONENTS_OUTPUTS(struct krr_params, "one per target or class; another number is refused"),
    MRC_RIDGE_KEY(struct krr_params, 1e-12), MRC_PARAM_END};

/* The sum over the outputs of s^2. */
static double scale_of(const mrc_regression *r, int64_t n, bool centered)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < r->outputs; c++) {
            double y = r->targets[i * r->outputs + c] - r->ridge.mean[c];
            sum += y * ((y - r->ridge.fitted[i * r->outputs + c]) / r->ridge.mu);
        }
    double degrees = centered ? (double)(n - 1) : (double)n;
    return fmax(sum, 0) / degrees;
}

/* T, t and the rest of the variance; values and vectors are those of F'F. */
static mercer_status keep_variance(const mrc_problem *problem, const mrc_regression *r,
                                   mercer_model *model, mercer_error *err)
{
    const mrc_ridge *s = &r->ridge;
    const mrc_factor *f = s->f;
    int64_t n = problem->rows->n, q = f->rank;
    bool centered = problem->center != MRC_CENTER_NONE;
    double *triangle = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&model->variance, q, q, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->variance_offsets, q, sizeof(double), err));
    model->variance_rank = q;
    for (int64_t j = 0; j < q; j++) {
        double root = sqrt(s->values[j] / (s->values[j] + s->mu));
        for (int64_t i = 0; i < q; i++) {
            model->variance[i * q + j] = root * s->vectors[j * q + i];
            if (f->mean && f->pivots) /* a map subtracts the mean itself */
                model->variance_offsets[j] -= root * s->vectors[j * q + i] * f->mean[i];
        }
    }
    if (f->pivots) {
        MRC_TRY(mrc_regression_triangle(f, &triangle, err));
        mrc_lower_solve(false, true, q, q, triangle, q, model->variance, q);
    }
    model->variance_scale = scale_of(r, n, centered);
    model->variance_floor = centered ? s->mu / (double)n : 0;
out:
    mrc_free(triangle);
    return rc;
}

static mercer_status krr_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    struct krr_params used = *(const struct krr_params *)params;
    mrc_regression r = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_regression_targets(problem, &r, err));
    if (problem->components > 0 && problem->components != r.outputs)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "components"),
                    "%lld components: krr has one feature per target or class, which are %lld",
                    (long long)problem->components, (long long)r.outputs);
    MRC_TRY(mrc_regression_solve(ctx, problem, used.ridge, &r, err));
    used.ridge = r.ridge.ridge;
    MRC_TRY(mrc_regression_model(ctx, problem, &r, NULL, r.outputs, model, err));
    problem->report->projection_variance = NAN; /* predictions do not have one */
    for (int64_t c = 0; c < r.outputs; c++)
        model->offsets[c] += r.ridge.mean[c];
    if (r.ridge.f)
        MRC_TRY(keep_variance(problem, &r, model, err));
    MRC_TRY(mrc_method_describe(&mrc_method_krr, &used, model, err));
out:
    mrc_regression_destroy(&r);
    return rc;
}

const mrc_method mrc_method_krr = {
    .entry = {.name = "krr",
              .summary = "kernel ridge regression, Gaussian process regression",
              .reference = "Saunders, Gammerman, Vovk 1998",
              .params = krr_schema},
    .params_size = sizeof(struct krr_params),
    .default_center = MRC_CENTER_EXACT,
    .counts_outputs = true,
    .predicts = true,
    .fit = krr_fit,
    .work = mrc_regression_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "direct",
    .is_nested = mrc_never_nested,
};
