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
 * |T'k(P, x) + t|^2 over the pivots P. Cost: the solver's, and q^3.
 *
 * y'a = |W|^2 + |y - F W|^2 / mu, because y = F W + mu a and W = F'a: a sum of squares, where y'a
 * itself would divide what is left of y by mu, and with it its rounding.
 *
 * k^(x,x) - f'M f is a difference of numbers of the size of kmax, whose least value, that of
 * training rows, is about mu: with a tiny ridge nothing is left of it but rounding. So variances of
 * some training rows are computed a second way, without a difference: k^ = f'f there, up to what
 * the factor leaves out, and f'f - f'M f = mu f'(F'F + mu I)^-1 f. New rows have the same rounding,
 * and no less variance. */
#include "methods/supervised/regression.h"

#include "base/running.h"
#include "gram/factor.h"
#include "kernel/kernel.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

struct krr_params {
    double components, ridge;
};

static const mrc_param krr_schema[] = {
    MRC_COMPONENTS_OUTPUTS(struct krr_params, "one per target or class; another number is refused"),
    MRC_RIDGE_KEY(struct krr_params, 1e-12), MRC_PARAM_END};

/* Shares of a variance that rounding may be: more than the first is told, with more than the second
 * variances are not kept. */
static const double TOLD = 1e-3;
static const double USELESS = 0.1;

/* What is left of target `at`, c being its output. */
static double rest_of(const mrc_regression *r, int64_t at, int64_t c)
{
    return r->targets[at] - r->ridge.mean[c] - r->ridge.fitted[at];
}

static mercer_status add_rest(void *arg, int64_t begin, int64_t end, double *left,
                              mercer_error *err)
{
    const mrc_regression *r = arg;
    int64_t n = r->ridge.f->n;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < r->outputs; c++) {
            double rest = rest_of(r, i * r->outputs + c, c);
            *left += rest * rest;
        }
    return MERCER_OK;
}

/* The sum over the outputs of s^2; NaN where that is not a number. */
static mercer_status find_scale(mercer_ctx *ctx, mrc_regression *r, bool centered, double *out,
                                mercer_error *err)
{
    const mrc_ridge *s = &r->ridge;
    const double n = (double)s->f->span.total;
    double sum = 0, left = 0, largest = 0;
    mercer_status rc = MERCER_OK;
    for (int64_t j = 0; j < s->f->rank * r->outputs; j++) {
        sum += s->weights[j] * s->weights[j];
        largest = fmax(largest, fabs(s->weights[j]));
    }
    for (int64_t at = 0; at < s->f->n * r->outputs; at++)
        largest = fmax(largest, fabs(rest_of(r, at, at % r->outputs)));
    if (s->f->span.spread)
        MRC_TRY(mrc_comm_largest(ctx, &largest, err));
    MRC_TRY(mrc_run_span(ctx, &s->f->span, &left, 1, 1, add_rest, r, err));
    double scale = (sum + left / s->mu) / (centered ? n - 1 : n);
    *out = isnormal(scale) || largest == 0 ? scale : NAN;
out:
    return rc;
}

/* T, t and the rest of the variance; values and vectors are those of F'F. */
static mercer_status keep_variance(mercer_ctx *ctx, const mrc_problem *problem, mrc_regression *r,
                                   mercer_model *model, mercer_error *err)
{
    const mrc_ridge *s = &r->ridge;
    const mrc_factor *f = s->f;
    int64_t n = mrc_rows_total(problem->rows), q = f->rank;
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
        MRC_TRY(mrc_factor_triangle(f, &triangle, err));
        mrc_lower_solve(false, true, q, q, triangle, q, model->variance, q);
    }
    MRC_TRY(find_scale(ctx, r, centered, &model->variance_scale, err));
    model->variance_floor = centered ? s->mu / (double)n : 0;
out:
    mrc_free(triangle);
    return rc;
}

/* k^(x,x) - |T'u + t|^2 of some training rows as the model will compute it; f: their coordinates,
 * count x q. */
static mercer_status as_the_model_does(mercer_ctx *ctx, const mrc_problem *problem,
                                       const mrc_factor *f, const int64_t *which, int64_t count,
                                       const double *coordinates, const mercer_model *model,
                                       double *out, mercer_error *err)
{
    int64_t q = f->rank;
    mercer_rows *pivots = NULL, *rows = NULL;
    mrc_points a = {0}, b = {0};
    double *u = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&u, count, q, sizeof *u, err));
    if (f->pivots) {
        MRC_TRY(mrc_rows_take_of_all(ctx, problem->rows, f->pivots, q, &pivots, err));
        MRC_TRY(mrc_rows_take_of_all(ctx, problem->rows, which, count, &rows, err));
        MRC_TRY(mrc_points_init(&b, ctx, problem->kernel, pivots, NULL, err));
        MRC_TRY(mrc_points_init(&a, ctx, problem->kernel, rows, &b, err));
        mrc_kernel_tile(problem->kernel, ctx, &a, 0, count, &b, 0, q, u, q);
        mrc_kernel_diag(problem->kernel, ctx, &a, 0, count, out);
    } else {
        memcpy(u, coordinates, (size_t)(count * q) * sizeof *u);
        for (int64_t i = 0; i < count; i++)
            out[i] = mrc_dot(u + i * q, u + i * q, q);
    }
    for (int64_t i = 0; i < count; i++) {
        if (f->pivots && model->mean)
            out[i] += model->mean_norm2 - 2 * mrc_dot(model->mean, u + i * q, q);
        for (int64_t j = 0; j < q; j++) {
            double y = model->variance_offsets[j];
            for (int64_t c = 0; c < q; c++)
                y += model->variance[c * q + j] * u[i * q + c];
            out[i] -= y * y;
        }
    }
out:
    mrc_points_destroy(&a);
    mrc_points_destroy(&b);
    mercer_rows_free(pivots);
    mercer_rows_free(rows);
    mrc_free(u);
    return rc;
}

/* The largest share of a variance that rounding is, over some training rows. */
static mercer_status judge_variance(mercer_ctx *ctx, const mrc_problem *problem,
                                    const mrc_regression *r, const mercer_model *model,
                                    double *share, mercer_error *err)
{
    enum { CHECKED = 32 };
    const mrc_ridge *s = &r->ridge;
    int64_t n = mrc_rows_total(problem->rows), q = s->f->rank, count = n < CHECKED ? n : CHECKED;
    int64_t which[CHECKED];
    double *coordinates = NULL, found[CHECKED];
    mrc_rng rng;
    mercer_status rc = MERCER_OK;
    *share = 0;
    MRC_TRY(mrc_alloc2_raw(&coordinates, count, q, sizeof *coordinates, err));
    mrc_rng_seed(&rng, 1);
    mrc_rng_spread(&rng, n, which, count);
    MRC_TRY(mrc_factor_rows_of_all(s->f, which, count, coordinates, err));
    MRC_TRY(as_the_model_does(ctx, problem, s->f, which, count, coordinates, model, found, err));
    for (int64_t i = 0; i < count; i++) {
        double expected = 0;
        for (int64_t j = 0; j < q; j++) {
            double along = mrc_dot(s->vectors + j * q, coordinates + i * q, q);
            expected += along * along * (s->mu / (s->values[j] + s->mu));
        }
        double off = fabs(found[i] - expected), whole = expected + model->variance_floor;
        if (off > 0)
            *share = fmax(*share, whole > 0 ? off / whole : INFINITY);
    }
    MRC_TRY(mrc_decide_numbers(ctx, &s->f->span, share, 1, err));
out:
    mrc_free(coordinates);
    return rc;
}

static void drop_variance(mercer_model *model)
{
    mrc_free(model->variance);
    mrc_free(model->variance_offsets);
    model->variance = model->variance_offsets = NULL;
    model->variance_rank = 0;
    model->variance_scale = model->variance_floor = 0;
}

/* Variances, unless rounding is all that they would be. */
static mercer_status add_variance(mercer_ctx *ctx, const mrc_problem *problem, mrc_regression *r,
                                  mercer_model *model, mercer_error *err)
{
    double share;
    mercer_status rc = MERCER_OK;
    MRC_TRY(keep_variance(ctx, problem, r, model, err));
    if (isnan(model->variance_scale)) {
        drop_variance(model);
        mrc_notice_at(ctx, MRC_TRY_SCALING,
                      "targets and kernel values are of such different sizes that variances of "
                      "predictions are out of the range of numbers: the model has none; scale the "
                      "columns or the targets");
        goto out;
    }
    MRC_TRY(judge_variance(ctx, problem, r, model, &share, err));
    if (share > USELESS) {
        drop_variance(model);
        mrc_notice_at(ctx, MRC_AT(.key = "ridge"),
                      "a ridge of %.3g leaves nothing of the variances of predictions but "
                      "rounding: the model has none; give a larger one",
                      r->ridge.ridge);
    } else if (share > TOLD) {
        mrc_notice_at(ctx, MRC_AT(.key = "ridge"),
                      "rounding is up to %.0e of the least variances of predictions: a ridge of "
                      "%.3g is small for the digits of this kernel matrix",
                      share, r->ridge.ridge);
    }
out:
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
    MRC_TRY(mrc_regression_solve(ctx, problem, used.ridge, r.outputs, &r, err));
    used.ridge = r.ridge.ridge;
    MRC_TRY(mrc_regression_model(ctx, problem, &r, NULL, r.outputs, model, err));
    problem->report->projection_variance = NAN; /* predictions do not have one */
    for (int64_t c = 0; c < r.outputs; c++)
        model->offsets[c] += r.ridge.mean[c];
    if (r.ridge.f)
        MRC_TRY(add_variance(ctx, problem, &r, model, err));
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
    .check_spread = mrc_regression_check_spread,
    .fit = krr_fit,
    .work = mrc_regression_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "direct",
    .is_nested = mrc_never_nested,
};
