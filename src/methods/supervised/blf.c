/* SPDX-License-Identifier: BSD-3-Clause */
/* Boosted latent features, on any kernel: each feature is the direction in which a loss falls
 * fastest, after the features before it (Momma, Bennett 2005; as one case of a deflation framework:
 * Dhanjal, Gunn, Shawe-Taylor 2009).
 *
 * The model f = mu 1 + T c is fitted anew after each feature, all coefficients at once; w = -dL/df
 * there, n x outputs, and beta = P_j w a, of all |a| = 1 the longest one in feature space. Features
 * have length one. ls: w = y - f in closed form, and with centred mapped rows these are the
 * features of kpls. lad: the exact fit of linalg/lad.c, w = sign(y - f). exp, log: Newton, for
 * labels of +-1. nu < 1 keeps few entries of beta. Cost of a feature: a product with `outputs`
 * columns, and the refit: n k (ls), n k a step (lad), n k^2 a step (exp, log). */
#include "linalg/linalg.h"
#include "linalg/losses.h"
#include "methods/supervised/supervised.h"
#include "methods/supervised/thinning.h"

#include <math.h>
#include <string.h>

struct blf_params {
    double components;
    int loss;
    double nu;
    int heuristic;
    int64_t cache;
    int points;
};

enum { AUTO, LS, LAD, EXP, LOG }; /* the words */

static const mrc_param blf_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct blf_params, 10),
    MRC_CHOICE(struct blf_params, loss, AUTO, "auto|ls|lad|exp|log",
               "what the features reduce: squares, absolute deviations, or for two classes the "
               "exponential or logistic loss of margins; auto: lad for values, log for two "
               "classes, ls for more"),
    MRC_THINNING(struct blf_params, 1), MRC_STORED_ROWS(struct blf_params), MRC_PARAM_END};

static const double NOTHING = 1e-10; /* of the labels, or of signs: what is left is rounding */

static const double STALLED = 1e-9; /* of the first loss: no decrease */

struct blf {
    const struct blf_params *params;
    mrc_thinning rule;
    double *y; /* targets as they are, outputs x n */
    int64_t outputs;
    mrc_loss_fit *fits; /* one per output; NULL for ls */
    double *columns;    /* [1 Q]', every one of length one */
    double first_loss;  /* of the constant fit */
    double loss;
    int64_t refits;
};

static void destroy(struct blf *b)
{
    for (int64_t c = 0; b->fits && c < b->outputs; c++)
        mrc_loss_fit_destroy(b->fits + c);
    mrc_free(b->fits);
    mrc_free(b->y);
    mrc_free(b->columns);
}

static mrc_loss loss_of(int word)
{
    return word == LAD ? MRC_LOSS_LAD : word == EXP ? MRC_LOSS_EXP : MRC_LOSS_LOG;
}

static mercer_status reserve(struct blf *b, const mrc_deflation *dual, mercer_error *err)
{
    int64_t n = dual->n, most = dual->most + 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&b->columns, most, n, sizeof(double), err));
    for (int64_t i = 0; i < n; i++)
        b->columns[i] = 1 / sqrt((double)n);
    MRC_TRY(mrc_alloc(&b->fits, b->outputs, sizeof *b->fits, err));
    for (int64_t c = 0; c < b->outputs; c++)
        MRC_TRY(mrc_loss_fit_init(b->fits + c, dual->ctx, loss_of(b->params->loss), b->y + c * n, n,
                                  most, err));
out:
    return rc;
}

/* w = P_j w of least squares with an intercept: what is left of the targets, without its part along
 * what is left of the ones. */
static mercer_status take_residuals(mrc_deflation *dual, double *w, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs;
    double *ones = NULL, *dots = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&ones, n, 1, sizeof *ones, err));
    MRC_TRY(mrc_alloc(&dots, dual->count + 1, sizeof *dots, err));
    for (int64_t i = 0; i < n; i++)
        ones[i] = 1 / sqrt((double)n);
    MRC_TRY(mrc_deflation_project(dual, ones, dots, err));
    double norm2 = mrc_dot(ones, ones, n);
    memcpy(w, dual->rest, (size_t)(n * m) * sizeof *w);
    for (int64_t c = 0; norm2 > NOTHING && c < m; c++) {
        double dot = 0;
        for (int64_t i = 0; i < n; i++)
            dot += ones[i] * w[i * m + c];
        for (int64_t i = 0; i < n; i++)
            w[i * m + c] -= dot / norm2 * ones[i];
    }
out:
    mrc_free(ones);
    mrc_free(dots);
    return rc;
}

/* w = P_j of the gradient after fitting all coefficients to the features so far. */
static mercer_status refit(struct blf *b, mrc_deflation *dual, double *w, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs, k = dual->count;
    double *dots = NULL, *column = NULL;
    mercer_status rc = MERCER_OK;
    if (!b->fits)
        MRC_TRY(reserve(b, dual, err));
    MRC_TRY(mrc_alloc(&dots, k + 1, sizeof *dots, err));
    MRC_TRY(mrc_alloc2_raw(&column, n, 1, sizeof *column, err));
    if (k > 0)
        memcpy(b->columns + k * n, dual->q + (k - 1) * n, (size_t)n * sizeof *column);
    b->loss = 0;
    for (int64_t c = 0; c < m; c++) {
        mrc_loss_fit *fit = b->fits + c;
        MRC_TRY(mrc_loss_fit_update(fit, b->columns, k + 1, err));
        b->loss += fit->value;
        mrc_loss_fit_gradient(fit, column, 1);
        MRC_TRY(mrc_deflation_project(dual, column, dots, err));
        for (int64_t i = 0; i < n; i++)
            w[i * m + c] = column[i];
    }
    b->refits++;
    if (k == 0)
        b->first_loss = b->loss;
out:
    mrc_free(dots);
    mrc_free(column);
    return rc;
}

static double longest_column2(const double *w, int64_t n, int64_t m)
{
    double most = 0;
    for (int64_t c = 0; c < m; c++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += w[i * m + c] * w[i * m + c];
        most = fmax(most, sum);
    }
    return most;
}

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    struct blf *b = self;
    int64_t n = dual->n, m = dual->outputs;
    double *w = NULL;
    mercer_status rc = MERCER_OK;
    *added = false;
    MRC_TRY(mrc_alloc2_raw(&w, n, m, sizeof *w, err));
    if (b->params->loss == LS)
        MRC_TRY(take_residuals(dual, w, err));
    else
        MRC_TRY(refit(b, dual, w, err));
    if (b->fits && b->fits[0].separated) {
        dual->ended = "they separate the classes, so the loss cannot be reduced further";
        goto out;
    }
    /* Signs do not have the unit of the values. */
    double whole2 = b->params->loss == LAD ? (double)n : longest_column2(dual->y, n, m);
    if (longest_column2(w, n, m) <= NOTHING * NOTHING * whole2) {
        dual->ended = "they explain the labels in full";
        goto out;
    }
    MRC_TRY(mrc_thin_add(&b->rule, dual, w, m, added, err));
    /* As when only copies of a row with both labels are left, whatever the rank. */
    if (!*added && b->fits)
        dual->ended = "the kernel has no direction that reduces the loss further";
out:
    mrc_free(w);
    return rc;
}

/* The targets as they are, output by output. */
static mercer_status take_targets(struct blf *b, const mrc_problem *problem, mercer_error *err)
{
    int64_t n = problem->rows->n;
    double *y = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_deflation_targets(problem, true, &y, &b->outputs, err));
    if (b->params->loss > LAD)
        MRC_TRY(mrc_targets_check_signs(problem->targets,
                                        b->params->loss == EXP ? "loss exp" : "loss log", err));
    MRC_TRY(mrc_alloc2_raw(&b->y, b->outputs, n, sizeof *b->y, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b->outputs; c++)
            b->y[c * n + i] = y[i * b->outputs + c];
out:
    mrc_free(y);
    return rc;
}

static mercer_status blf_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    const struct blf_params *p = params;
    struct blf b = {.params = p, .rule = {p->nu, p->heuristic, p->cache}};
    mrc_supervised method = {
        .choose = choose, .self = &b, .sparse = p->nu < 1, .scale = MRC_UNIT_FEATURES};
    mercer_status rc = MERCER_OK;
    MRC_TRY(take_targets(&b, problem, err));
    mrc_thin_columns(&b.rule, problem, &method.work_columns, &method.solver_columns);
    int64_t most = problem->components > 0 ? problem->components : problem->rows->n;
    method.work_columns += b.outputs + (p->loss == LS ? 0 : 2 * most);
    MRC_TRY(mrc_supervised_fit(ctx, problem, &method, model, err));
    if (p->loss == LAD && b.refits > 1 && b.loss >= (1 - STALLED) * b.first_loss)
        mrc_notice(
            ctx, "the features do not reduce the absolute deviations: the median fits as well, for "
                 "example because classes have unequal sizes; loss=ls, exp or log use all rows");
out:
    destroy(&b);
    return rc;
}

/* Each of more than two classes is smaller than the others together, so that the median of its
 * indicator is a constant, which absolute deviations would not leave. */
static void settle(void *params, const mercer_targets *targets)
{
    struct blf_params *p = params;
    if (p->loss != AUTO)
        return;
    if (targets->kind == MERCER_TARGET_CLASSES)
        p->loss = targets->classes > 2 ? LS : LOG;
    else
        p->loss = LAD;
}

/* Predictions minimise the same loss. */
static const char *choose_head(const void *params)
{
    static const char *const heads[] = {"lad", "ls", "lad", "exp", "log"};
    const struct blf_params *p = params;
    return heads[p->loss];
}

static void blf_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                     int64_t n, mrc_work *work)
{
    const struct blf_params *p = params;
    const mrc_supervised method = {.choose = choose, .sparse = p->nu < 1};
    (void)ctx;
    mrc_supervised_work(problem, n, &method, 2, work);
    work->points = (double)n;
    work->flops *= p->loss == LS ? 1 : 20; /* a fit to the features so far after each */
    work->spread = 3;
}

static bool blf_on_pivots(const void *params)
{
    const struct blf_params *p = params;
    return p->points == MRC_ROWS_AUTO;
}

const mrc_method mrc_method_blf = {
    .entry = {.name = "blf",
              .summary = "boosted latent features",
              .reference = "Momma, Bennett 2005",
              .params = blf_schema},
    .params_size = sizeof(struct blf_params),
    .default_center = MRC_CENTER_EXACT,
    .centers = "none|exact",
    .fit = blf_fit,
    .on_pivots = blf_on_pivots,
    .work = blf_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "lad",
    .settle = settle,
    .choose_head = choose_head,
};
