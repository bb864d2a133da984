/* SPDX-License-Identifier: BSD-3-Clause */
/* Ridge regression as a model; see regression.h.
 *
 * Without a factor the model has all rows, B = A C. With one it has the pivots of the factor
 * (methods/common/expansion.h), with the weights W C. The rows of a linear kernel are its factor,
 * and W itself is the map of the columns. */
#include "methods/supervised/regression.h"

#include "base/comm.h"
#include "gram/factor.h"
#include "linalg/linalg.h"
#include "methods/common/expansion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double WORTH_SAYING = 1e-4; /* of the trace, that a stand-in leaves out */

void mrc_regression_destroy(mrc_regression *r)
{
    mrc_free(r->targets);
    mrc_free(r->sizes);
    mrc_free(r->codes);
    mrc_ridge_destroy(&r->ridge);
    mrc_gram_free(r->gram);
    memset(r, 0, sizeof *r);
}

/* Indicators of the classes that occur, in their order. */
static mercer_status take_classes(const mrc_problem *problem, mrc_regression *r, mercer_error *err)
{
    const mercer_targets *targets = problem->targets;
    int64_t *place = NULL, n = problem->rows->n;
    double *sizes = NULL; /* of all classes, on all ranks */
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&place, targets->classes, sizeof *place, err));
    MRC_TRY(mrc_alloc(&sizes, targets->classes, sizeof *sizes, err));
    MRC_TRY(mrc_alloc(&r->sizes, targets->classes, sizeof *r->sizes, err));
    MRC_TRY(mrc_alloc(&r->codes, n, sizeof *r->codes, err));
    for (int64_t i = 0; i < n; i++)
        sizes[targets->codes[i]]++;
    if (problem->ranks)
        MRC_TRY(mrc_comm_sum(problem->ranks, sizes, targets->classes, err));
    for (int64_t c = 0; c < targets->classes; c++)
        if (sizes[c] > 0) {
            r->sizes[r->outputs] = sizes[c];
            place[c] = r->outputs++;
        }
    MRC_TRY(mrc_alloc2(&r->targets, n, r->outputs, sizeof *r->targets, err));
    for (int64_t i = 0; i < n; i++) {
        r->codes[i] = place[targets->codes[i]];
        r->targets[i * r->outputs + r->codes[i]] = 1;
    }
out:
    mrc_free(place);
    mrc_free(sizes);
    return rc;
}

mercer_status mrc_regression_targets(const mrc_problem *problem, mrc_regression *r,
                                     mercer_error *err)
{
    const mercer_targets *targets = problem->targets;
    int64_t n = problem->rows->n;
    double size;
    mercer_status rc = MERCER_OK;
    if (!targets || targets->kind == MERCER_TARGET_NONE)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "label target"),
                    "this method learns from labels: name the columns of classes or values");
    if (targets->kind == MERCER_TARGET_CLASSES) {
        rc = take_classes(problem, r, err);
        goto out;
    }
    r->outputs = targets->columns;
    MRC_TRY(mrc_alloc2_raw(&r->targets, n, r->outputs, sizeof *r->targets, err));
    memcpy(r->targets, targets->values, (size_t)(n * r->outputs) * sizeof *r->targets);
    MRC_TRY(mrc_targets_check_sizes(problem->ranks, r->targets, n, r->outputs, &size, err));
out:
    return rc;
}

/* The operator and the solution in units of one. */
static void leave_unit(mrc_regression *r)
{
    mrc_ridge *s = &r->ridge;
    double unit = mrc_gram_unit(r->gram), root = sqrt(unit);
    int64_t n = mrc_gram_size(r->gram), l = r->outputs, q = s->f ? s->f->rank : 0;
    for (int64_t i = 0; s->dual && i < n * l; i++)
        s->dual[i] /= unit;
    for (int64_t i = 0; i < q * l; i++)
        s->weights[i] /= root;
    for (int64_t j = 0; j < q; j++)
        s->values[j] *= unit;
    s->mu *= unit;
    s->trace *= unit;
    mrc_gram_set_unit(r->gram, 1);
}

static mrc_gram_request request_of(const mercer_ctx *ctx, const mrc_problem *problem, int64_t n,
                                   int64_t outputs)
{
    return (mrc_gram_request){.centered = problem->center != MRC_CENTER_NONE,
                              .by_products = true,
                              .work_columns = 4 * outputs + 8,
                              .solver_columns = mrc_solve_columns(ctx, n, outputs)};
}

void mrc_regression_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                         int64_t n, mrc_work *work)
{
    enum { PRODUCTS = 40, SAMPLE = 1000 }; /* of the gradients; rows of their preconditioner */
    int64_t outputs = mrc_problem_outputs(problem);
    double m = n < SAMPLE ? (double)n : SAMPLE;
    (void)params;
    work->request = request_of(ctx, problem, n, outputs);
    work->passes = PRODUCTS;
    work->vectors = (double)(outputs > 0 ? outputs : 1);
    work->columns = m;
    work->flops = 4 * (double)n * m * (m + PRODUCTS * work->vectors);
    work->order = m;
    work->points = (double)n;
    work->spread = 3;
}

mercer_status mrc_regression_check_spread(const struct mrc_request *request, mercer_error *err)
{
    (void)request;
    (void)err;
    return MERCER_OK;
}

mercer_status mrc_regression_solve(mercer_ctx *ctx, const mrc_problem *problem, double ridge,
                                   int64_t features, mrc_regression *r, mercer_error *err)
{
    /* Without a factor a rank has the vectors of its own rows. */
    const bool factored =
        !mercer_rows_is_sparse(problem->rows) || !mrc_kernel_is_linear(problem->kernel);
    const int64_t n = factored ? mrc_rows_total(problem->rows) : problem->rows->n;
    mrc_gram_request request = request_of(ctx, problem, n, r->outputs);
    mercer_fit_report *report = problem->report;
    bool chosen = ridge == MRC_KEYWORD(0);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_expansion_check_spread(problem, features, err));
    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &r->gram, err));
    mrc_gram_set_unit(r->gram, mrc_gram_usual_unit(r->gram));
    rc = mrc_gram_solve(r->gram, r->targets, r->outputs, chosen ? MRC_RIDGE_AUTO : ridge, &r->ridge,
                        err);
    /* Ranks come to such an error together, unless one has failed for itself. */
    if (rc == MERCER_ERR_DATA && !(problem->ranks && problem->ranks->comm.parted) &&
        mrc_problem_check_range(problem, NULL) != MERCER_OK)
        MRC_TRY(mrc_problem_check_range(problem, err)); /* the reason to look at before others */
    MRC_TRY(rc);
    leave_unit(r);
    report->passes = r->ridge.products;
    report->residual = r->ridge.residual;
    snprintf(report->solver, sizeof report->solver, "%s", r->ridge.f ? "lowrank" : "gradients");
    if (chosen && r->ridge.stand_in_left > WORTH_SAYING)
        mrc_notice(ctx,
                   "ridge %.3g was chosen on %lld rows drawn at random, which leave out %.2g %% of "
                   "the kernel matrix; the fit itself is exact",
                   r->ridge.ridge, (long long)r->ridge.stand_in, 100 * r->ridge.stand_in_left);
out:
    return rc;
}

/* out (rows x l) = x C for x rows x outputs. */
static mercer_status combined(mercer_ctx *ctx, const double *x, int64_t rows, int64_t outputs,
                              const double *combine, int64_t l, double **out, mercer_error *err)
{
    mercer_status rc = mrc_alloc2_raw(out, rows, l, sizeof **out, err);
    if (rc != MERCER_OK)
        return rc;
    if (combine)
        mrc_tall_times(ctx, rows, l, outputs, 1, x, outputs, combine, l, 0, *out, l);
    else
        memcpy(*out, x, (size_t)(rows * l) * sizeof *x);
    return MERCER_OK;
}

/* The same for the dual coefficients of the rows here. */
static mercer_status combined_rows(mercer_ctx *ctx, const mrc_span *span, const mrc_regression *r,
                                   const double *combine, int64_t l, double **out,
                                   mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!combine)
        return combined(ctx, r->ridge.dual, span->n, r->outputs, NULL, l, out, err);
    MRC_TRY(mrc_alloc2_raw(out, span->n, l, sizeof **out, err));
    MRC_TRY(mrc_tall_times_as_one(ctx, span, l, r->outputs, r->ridge.dual, combine, *out, err));
out:
    return rc;
}

static mercer_status on_rows(mercer_ctx *ctx, const mrc_problem *problem, mrc_regression *r,
                             const double *combine, int64_t l, mercer_model *model,
                             mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    const mrc_span span = mrc_gram_span(r->gram);
    mrc_expansion e = {.count = span.total, .components = l, .centered_images = centered};
    mercer_status rc = MERCER_OK;
    MRC_TRY(combined_rows(ctx, &span, r, combine, l, &e.coefficients, err));
    if (centered) {
        MRC_TRY(mrc_center_columns(ctx, &span, l, e.coefficients, err));
        MRC_TRY(mrc_gram_means(r->gram, &e.mean_products, &e.mean_norm2, err));
    }
    MRC_TRY(mrc_expand(ctx, problem, &e, model, err));
out:
    mrc_free(e.coefficients);
    return rc;
}

static mercer_status on_pivots(mercer_ctx *ctx, const mrc_problem *problem, mrc_regression *r,
                               const double *combine, int64_t l, mercer_model *model,
                               mercer_error *err)
{
    double *weights = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(
        combined(ctx, r->ridge.weights, r->ridge.f->rank, r->outputs, combine, l, &weights, err));
    MRC_TRY(mrc_expand_on_pivots(ctx, problem, r->gram, weights, l, model, err));
out:
    mrc_free(weights);
    return rc;
}

static mercer_status as_map(mercer_ctx *ctx, const mrc_problem *problem, mrc_regression *r,
                            const double *combine, int64_t l, mercer_model *model,
                            mercer_error *err)
{
    double *weights = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(
        combined(ctx, r->ridge.weights, r->ridge.f->rank, r->outputs, combine, l, &weights, err));
    MRC_TRY(mrc_expand_map(ctx, problem, &weights, l, model, err));
out:
    mrc_free(weights);
    return rc;
}

mercer_status mrc_regression_model(mercer_ctx *ctx, const mrc_problem *problem, mrc_regression *r,
                                   const double *combine, int64_t l, mercer_model *model,
                                   mercer_error *err)
{
    const mrc_factor *f = r->ridge.f;
    mercer_status rc = MERCER_OK;
    MRC_TRY(!f          ? on_rows(ctx, problem, r, combine, l, model, err)
            : f->pivots ? on_pivots(ctx, problem, r, combine, l, model, err)
                        : as_map(ctx, problem, r, combine, l, model, err));
    if (!model->offsets)
        MRC_TRY(mrc_alloc(&model->offsets, l, sizeof(double), err));
    model->total_variance = r->ridge.trace / (double)mrc_rows_total(problem->rows);
    model->reconstruction_error = NAN; /* the directions are not orthogonal in feature space */
    model->correlated = true;
out:
    return rc;
}
