/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse kernel PCA by maximum likelihood (Tipping 2001): the mapped rows are draws from a Gaussian
 * whose covariance is noise and a sum of weighted outer products of mapped rows; most weights are
 * zero where the likelihood is largest, and the others name the rows that the features use.
 *
 * Weights come from coordinate ascent (likelihood.c), a product with the matrix and 6 n m a step.
 * The data are centred, the mapped points are not, so that a centred model is sparse. noise=auto is
 * the first eigenvalue behind the components, over n: the variance of the directions left out. It
 * cannot be learnt along with the weights, since the space has as many dimensions as one likes.
 * directions=span: kernel PCA in the span of these rows (subset.c). directions=model: the leading
 * eigenvectors of the covariance, as published; with w = 1/n on all rows they are kernel PCA's. */
#include "methods/points/likelihood.h"
#include "methods/points/subset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct tipping_params {
    double components, noise, tolerance;
    int64_t points;
    int directions;
};

static const mrc_param tipping_schema[] = {
    MRC_COMPONENTS(struct tipping_params, 10),
    MRC_REAL_OR(struct tipping_params, noise, MRC_KEYWORD(0), DBL_MIN, DBL_MAX, "auto",
                "variance in every direction beside the model; auto: that of the first component "
                "left out"),
    MRC_REAL(struct tipping_params, tolerance, 1e-3, 1e-8, 1,
             "stop once no weight raises the log-likelihood by this per row"),
    MRC_INT(struct tipping_params, points, 0, 0, 1e9,
            "rows the features use at most; 0: as many as the likelihood takes"),
    MRC_CHOICE(struct tipping_params, directions, 0, "span|model",
               "kernel PCA in the span of the rows taken, or the directions of the likelihood's "
               "own covariance"),
    MRC_PARAM_END};

struct tipping {
    const struct tipping_params *params;
    double noise;   /* as used */
    bool by_itself; /* and chosen here */
    double *weights;
    int64_t steps;
};

/* Shares of the largest variance: noise chosen here is not below the first, noise asked for not
 * below the second. What the noise leaves of rows that are well explained is told by digits that
 * kernel values do not have below. */
static double least_share(bool chosen, bool single)
{
    return single ? 1e4 * FLT_EPSILON : chosen ? 1e-6 : 1e-8;
}

/* The eigenvalue behind the components, over n. */
static mercer_status choose_noise(mercer_ctx *ctx, const mrc_problem *problem, double *noise,
                                  mercer_error *err)
{
    int64_t n = problem->rows->n, l = problem->components;
    mrc_gram_request request = {.centered = problem->center != MRC_CENTER_NONE,
                                .solver_columns = mrc_spectrum_columns(n, l + 1),
                                .solver_pairs = l + 1};
    mrc_gram *gram = NULL;
    mrc_spectrum s = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &gram, err));
    if (problem->share > 0) {
        MRC_TRY(mrc_gram_spectrum(gram, 0, problem->share, &s, err));
        l = s.count;
        mrc_spectrum_destroy(&s);
    }
    MRC_TRY(mrc_gram_spectrum(gram, l + 1, 0, &s, err));
    if (s.count == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    *noise = fmax(s.count > l ? s.values[l] : 0, least_share(true, problem->single) * s.values[0]) /
             (double)n;
out:
    mrc_spectrum_destroy(&s);
    mrc_gram_free(gram);
    return rc;
}

/* What stands in the way of any weight. */
static mercer_status check_noise(const struct tipping *t, const mrc_problem *problem, double limit,
                                 mercer_error *err)
{
    double least = least_share(false, problem->single) * limit;
    if (limit <= 0)
        return mrc_problem_no_component(problem, err);
    if (t->noise >= limit)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "noise"),
                           "method tipping: noise is %g, and must be below %g, the variance that "
                           "the best row explains: no row would be taken",
                           t->noise, limit);
    if (t->noise < least)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "noise"),
                           "method tipping: noise is %g, and must be at least %g: kernel values "
                           "have too few digits for less",
                           t->noise, least);
    return MERCER_OK;
}

/* Weights that are zero, and noise that leaves something to explain: a flat spectrum has more in
 * the component left out than any row explains. */
static mercer_status begin(struct tipping *t, mercer_ctx *ctx, const mrc_problem *problem,
                           mrc_gram *gram, mrc_likelihood *l, mercer_error *err)
{
    double unit = mrc_gram_unit(gram);
    bool about_mean = problem->center != MRC_CENTER_NONE;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_likelihood_init(l, ctx, gram, about_mean, t->noise / unit, err));
    double limit = mrc_likelihood_limit(l) * unit;
    if (t->by_itself && t->noise > limit / 2 && limit > 0) {
        mrc_notice(ctx,
                   "noise is %g: the first component left out has a variance of %g, and no row "
                   "explains more than %g",
                   limit / 2, t->noise, limit);
        t->noise = limit / 2;
        mrc_likelihood_destroy(l);
        MRC_TRY(mrc_likelihood_init(l, ctx, gram, about_mean, t->noise / unit, err));
    }
    MRC_TRY(check_noise(t, problem, limit, err));
out:
    return rc;
}

static mercer_status choose_by_likelihood(void *self, mercer_ctx *ctx, const mrc_problem *problem,
                                          mrc_gram *gram, int64_t *list, int64_t *count,
                                          mercer_error *err)
{
    struct tipping *t = self;
    const struct tipping_params *p = t->params;
    double asked = mrc_gram_unit(gram);
    mrc_likelihood l = {0};
    mercer_status rc = MERCER_OK;
    mrc_gram_set_unit(gram, mrc_gram_usual_unit(gram));
    MRC_TRY(begin(t, ctx, problem, gram, &l, err));
    MRC_TRY(mrc_likelihood_climb(&l, p->points > 0 ? p->points : l.n, p->tolerance, err));
    if (l.count == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "noise"),
                    "method tipping: no row raises the log-likelihood by tolerance=%g per row: the "
                    "noise, %g, is near %g, the most variance that a row explains",
                    p->tolerance, t->noise, mrc_likelihood_limit(&l) * mrc_gram_unit(gram));
    if (!l.converged)
        mrc_notice(ctx,
                   "the weights were changed %lld times and still gain: a larger tolerance "
                   "ends earlier",
                   (long long)l.steps);
    memcpy(list, l.active, (size_t)l.count * sizeof *list);
    memcpy(t->weights, l.weights, (size_t)l.n * sizeof *t->weights);
    *count = l.count;
    t->steps = l.steps;
out:
    mrc_likelihood_destroy(&l);
    mrc_gram_set_unit(gram, asked);
    return rc;
}

static mercer_status tipping_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                                 mercer_model *model, mercer_error *err)
{
    struct tipping_params used = *(const struct tipping_params *)params;
    struct tipping t = {
        .params = &used, .noise = used.noise, .by_itself = used.noise == MRC_KEYWORD(0)};
    mrc_subset_choice choice = {
        .points = used.points, .choose = choose_by_likelihood, .self = &t, .many_passes = true};
    mercer_status rc = MERCER_OK;
    if (t.by_itself)
        MRC_TRY(choose_noise(ctx, problem, &t.noise, err));
    MRC_TRY(mrc_alloc(&t.weights, problem->rows->n, sizeof *t.weights, err));
    if (used.directions == 1)
        choice.weights = t.weights;
    MRC_TRY(mrc_subset_fit(ctx, problem, &choice, model, err));
    snprintf(problem->report->solver, sizeof problem->report->solver, "likelihood");
    problem->report->passes = t.steps;
    used.noise = t.noise;
    MRC_TRY(mrc_method_describe(&mrc_method_tipping, &used, model, err));
out:
    mrc_free(t.weights);
    return rc;
}

/* Noise chosen by the spectrum hangs on the number of components, and so do the points. */
static bool tipping_is_nested(const void *params)
{
    const struct tipping_params *p = params;
    return p->noise != MRC_KEYWORD(0);
}

/* The noise is an eigenvalue, and a step takes a product. */
static void tipping_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                         int64_t n, mrc_work *work)
{
    enum { STEPS = 6 }; /* for each point that stays */
    const struct tipping_params *p = params;
    mrc_subset_choice choice = {
        .points = p->points, .choose = choose_by_likelihood, .many_passes = true};
    mrc_subset_work(ctx, problem, n, &choice, work);
    work->passes = STEPS * work->points;
    work->vectors = 1;
    work->flops += 6 * (double)n * work->points * work->passes;
    work->pairs = p->noise == MRC_KEYWORD(0) ? (double)problem->components + 1 : 0;
    work->spread = 4;
}

const mrc_method mrc_method_tipping = {
    .entry = {.name = "tipping",
              .summary = "sparse kernel PCA by maximum likelihood",
              .reference = "Tipping 2001",
              .params = tipping_schema},
    .params_size = sizeof(struct tipping_params),
    .default_center = MRC_CENTER_SPAN,
    .fit = tipping_fit,
    .is_nested = tipping_is_nested,
    .work = tipping_work,
    .cheaper = "nystroem:points=1000",
};
