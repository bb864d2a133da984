/* SPDX-License-Identifier: BSD-3-Clause */
/* One fit for all supervised methods: operator, targets, features one after the other, model. */
#include "methods/supervised/supervised.h"

#include "base/running.h"
#include "base/share.h"
#include "linalg/linalg.h"
#include "methods/common/expansion.h"

#include <math.h>

/* Targets of the rows here. */
struct classes {
    const mercer_targets *targets;
    const double *y; /* n x outputs */
    int64_t n, outputs;
};

static mercer_status add_sizes(void *arg, int64_t begin, int64_t end, double *sizes,
                               mercer_error *err)
{
    const struct classes *w = arg;
    (void)err;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t c = w->outputs > 1 ? w->targets->codes[i] : 0;
        if (c >= begin && c < end)
            sizes[c] += w->outputs > 1 ? 1 : w->y[i] * w->y[i];
    }
    return MERCER_OK;
}

/* Y (Y'Y)^-1/2 for indicators Y: columns over the root of the class's size; the one column of two
 * classes gets length one. A class missing here keeps its column of zeroes. */
static mercer_status balance(mercer_ctx *ctx, const mrc_span *span, const mercer_targets *targets,
                             int64_t outputs, double *y, mercer_error *err)
{
    enum { TOGETHER = 64 }; /* classes whose sizes a rank hands on at a time */
    struct classes w = {.targets = targets, .y = y, .n = span->n, .outputs = outputs};
    double *sizes = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&sizes, outputs, sizeof *sizes, err));
    MRC_TRY(mrc_run_span(ctx, span, sizes, outputs, TOGETHER, add_sizes, &w, err));
    for (int64_t i = 0; i < span->n; i++)
        for (int64_t c = 0; c < outputs; c++)
            y[i * outputs + c] /= sizes[c] > 0 ? sqrt(sizes[c]) : 1;
out:
    mrc_free(sizes);
    return rc;
}

static bool is_enough(const mrc_deflation *dual, const mrc_problem *problem, double explained)
{
    return dual->count >= dual->most ||
           (problem->share > 0 && explained >= mrc_share_target(problem->share, 1));
}

/* <K, YY'> / (|K| |YY'|), the cosine between the matrix and the one the targets would like. It has
 * no unit, but squares of kernel values need the usual one; the operator is left in it. */
static mercer_status align_kernel(mrc_deflation *dual, double *out, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs;
    double *product = NULL, *inner = NULL, kernel2, along;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&product, n, m, sizeof *product, err));
    MRC_TRY(mrc_alloc2(&inner, m, m, sizeof *inner, err));
    mrc_deflation_set_unit(dual, mrc_gram_usual_unit(dual->gram));
    MRC_TRY(mrc_gram_apply(dual->gram, dual->y, m, product, err));
    MRC_TRY(mrc_gram_squares(dual->gram, &kernel2, err));
    /* |YY'| = |Y'Y| */
    MRC_TRY(mrc_gram_of_span(dual->ctx, dual->y, &dual->span, m, m, 0, inner, err));
    MRC_TRY(mrc_deflation_dot(dual, dual->y, product, m, &along, err));
    double largest = 0, targets2 = 0;
    for (int64_t i = 0; i < m * m; i++)
        largest = fmax(largest, fabs(inner[i]));
    for (int64_t i = 0; largest > 0 && i < m * m; i++)
        targets2 += (inner[i] / largest) * (inner[i] / largest);
    double cosine = along / largest / sqrt(targets2) / sqrt(kernel2);
    *out = isfinite(cosine) ? cosine : NAN;
out:
    mrc_free(product);
    mrc_free(inner);
    return rc;
}

/* This is asked of the operator for n rows like those of the problem; most: features at most. */
static mrc_gram_request request_of(const mrc_problem *problem, const mrc_supervised *method,
                                   int64_t n, int64_t outputs, int64_t most)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    bool few =
        method->few_columns > 0 && (double)method->few_columns * (double)most < (double)n / 2;
    /* How many features a share takes is not known before. */
    double times = method->only_products && problem->components > 0 ? (double)most + 1 : 0;
    return (mrc_gram_request){.centered = centered,
                              .products = times,
                              .vectors = outputs > 0 ? outputs : 1,
                              .few_columns = few && !centered,
                              .by_products = method->sparse,
                              .work_columns = (method->sparse ? 1 : 3) * most + 4 * outputs + 8 +
                                              method->work_columns,
                              .solver_columns = method->solver_columns};
}

void mrc_supervised_work(const mrc_problem *problem, int64_t n, const mrc_supervised *method,
                         double passes, mrc_work *work)
{
    enum { LIKELY = 20 }; /* features that a share of the labels may take */
    int64_t outputs = mrc_problem_outputs(problem);
    int64_t most = problem->components > 0 ? problem->components : LIKELY;
    most = most < n ? most : n;
    work->request = request_of(problem, method, n, outputs, most);
    if (work->request.few_columns) {
        work->columns = (double)(method->few_columns * most);
    } else {
        work->passes = passes * (double)most + 1;
        work->norms = 1;
        work->vectors = (double)(outputs > 0 ? outputs : 1);
    }
    work->flops = 4 * (double)n * (double)most * (double)(most + outputs);
    work->points = method->sparse ? (double)most : (double)n;
}

mercer_status mrc_supervised_fit(mercer_ctx *ctx, const mrc_problem *problem,
                                 const mrc_supervised *method, mercer_model *model,
                                 mercer_error *err)
{
    const mrc_span span = mrc_rows_span(ctx, problem->rows);
    int64_t n = span.total, outputs = 0, wanted = problem->components;
    double *y = NULL, explained = 0, size;
    mrc_gram *gram = NULL;
    mrc_deflation dual = {0};
    bool added = true;
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_deflation_targets(problem, method->raw_targets, &y, &outputs, err));
    if (method->balanced && problem->targets->kind == MERCER_TARGET_CLASSES)
        MRC_TRY(balance(ctx, &span, problem->targets, outputs, y, err));
    MRC_TRY(mrc_targets_check_sizes(span.spread ? ctx : NULL, y, span.n, outputs, &size, err));
    if (size == 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the labels are the same for every row: there is nothing to learn from them");
    int64_t most = wanted > 0 && wanted < n ? wanted : n;
    mrc_gram_request request = request_of(problem, method, n, outputs, most);
    if (!method->sparse)
        MRC_TRY(mrc_expansion_check_spread(problem, problem->components, err));
    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &gram, err));
    /* Matches are squares of kernel values. Features as given are what the method makes of them. */
    bool as_is = method->scale == MRC_AS_GIVEN || method->sees_values;
    double unit = as_is ? 1 : mrc_gram_usual_unit(gram);
    mrc_gram_set_unit(gram, unit);
    MRC_TRY(mrc_deflation_init(&dual, ctx, gram, y, outputs, most, method->sparse, err));
    while (added && !is_enough(&dual, problem, explained)) {
        bool all = false;
        mrc_progress(ctx, "features", (double)dual.count / (double)most);
        MRC_TRY(mrc_check_cancel(ctx, err));
        if (method->follows_rest)
            MRC_TRY(mrc_deflation_explains(&dual, &all, err));
        if (all)
            break;
        MRC_TRY(method->choose(method->self, &dual, &added, err));
        explained += added ? dual.aligned[dual.count - 1] : 0;
    }
    if (dual.count == 0)
        MRC_TRY(mrc_problem_check_range(problem, err));
    if (dual.count == 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the rows do not differ, or their kernel values have nothing to do with the "
                 "labels: there is no feature to extract");
    if (dual.count < wanted && !problem->by_bound)
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%lld features asked for, but after %lld nothing is left: %s",
                      (long long)wanted, (long long)dual.count,
                      dual.ended             ? dual.ended
                      : explained > 1 - 1e-9 ? "they explain the labels in full"
                                             : "the kernel matrix has no higher rank");
    problem->report->passes = dual.count;
    if (!request.few_columns && mrc_gram_squares_pay(gram, &request))
        MRC_TRY(align_kernel(&dual, &model->kernel_alignment, err));
    mrc_deflation_leave_unit(&dual, unit);
    MRC_TRY(mrc_deflation_finish(&dual, problem, method->scale, model, err));
out:
    mrc_free(y);
    mrc_deflation_destroy(&dual);
    mrc_gram_free(gram);
    return rc;
}
