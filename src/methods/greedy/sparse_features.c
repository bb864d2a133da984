/* SPDX-License-Identifier: BSD-3-Clause */
/* From selected rows to features: AKFA, ACKFA, SKFA.
 *
 * Feature j is the projection on v_j = sum_s C_sj (phi(x_s) - mean), the j-th direction of the
 * selection on the centred operator (without centring: no mean). To project a new row exactly takes
 * the mean's kernel values with all training rows, so an exactly centred model keeps them all.
 * `span` replaces the mean by its projection on the l selected mapped rows, sum_s a_s
 * phi(x_s) with a = K_SS^-1 m_S, and needs only those: with rho^2 the squared norm of what this
 * leaves out and c = C'1, the directions sum_s C_sj (phi(x_s) - span mean) have inner products
 * I - rho^2 c c', so a triangular T makes them orthonormal again: B = (C - a c') T. Features of
 * row i move from U_i to (U_i + h_i c') T, h_i = (m_i - g)(1 - sum a) - U_i U_S' a.
 * Cost: the selection, and n l^2 for U'U where there is a mean. */
#include "methods/greedy/sparse_features.h"

#include "linalg/linalg.h"
#include "methods/common/expansion.h"

#include <math.h>
#include <stdio.h>

/* The model with the mean in the span of l selected rows. */
struct span {
    int64_t l, kept;  /* directions, and those that remain */
    double *products; /* m_S, l */
    double *mean;     /* a, l */
    double *c;        /* C'1, l */
    double *mix;      /* T, l x kept columns used (row stride l) */
    int64_t *which;   /* direction of each kept column */
    double *inner;    /* U'U, l x l */
    double *moved;    /* (U + h c')'(U + h c'), l x l */
    double *across;   /* U'(U + h c'), l x l */
    double rho2, norm2, grand;
};

static void span_destroy(struct span *p)
{
    mrc_free(p->products);
    mrc_free(p->mean);
    mrc_free(p->c);
    mrc_free(p->mix);
    mrc_free(p->which);
    mrc_free(p->inner);
    mrc_free(p->moved);
    mrc_free(p->across);
}

/* a = K_SS^+ m_S, by eigenvalues: mapped rows may be dependent where centred ones are not. */
static mercer_status solve_mean(struct span *p, mercer_ctx *ctx, const mrc_residual_gram *def,
                                mercer_error *err)
{
    int64_t l = p->l;
    double unit = mrc_gram_usual_unit(def->gram); /* LAPACK scales by other numbers */
    double *k = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&k, l, l, sizeof *k, err));
    MRC_TRY(mrc_alloc(&values, l, sizeof *values, err));
    for (int64_t s = 0; s < l; s++)
        for (int64_t t = 0; t <= s; t++) {
            double sum = p->products[s] + p->products[t] - p->grand;
            for (int64_t j = 0; j <= t; j++) /* U_sj = 0 for j > s */
                sum += def->projections[j * def->n + def->selected[s]] *
                       def->projections[j * def->n + def->selected[t]];
            k[s * l + t] = k[t * l + s] = sum / unit;
        }
    MRC_TRY(mrc_eigen_symmetric(ctx, l, k, values, err));
    for (int64_t e = 0; e < l; e++) {
        const double *vector = k + e * l;
        double dot = 0;
        if (values[e] <= 1e-13 * values[l - 1])
            continue;
        for (int64_t s = 0; s < l; s++)
            dot += vector[s] * (p->products[s] / unit);
        for (int64_t s = 0; s < l; s++)
            p->mean[s] += dot / values[e] * vector[s];
    }
    p->norm2 = 0;
    for (int64_t s = 0; s < l; s++)
        p->norm2 += p->mean[s] * p->products[s];
    p->rho2 = fmax(p->grand - p->norm2, 0);
out:
    mrc_free(k);
    mrc_free(values);
    return rc;
}

/* T: Gram-Schmidt on unit vectors with the inner products I - rho^2 c c'. A direction that the
 * others of the span already reach goes. */
static void orthonormalise(struct span *p)
{
    static const double LEAST = 1e-8; /* share of a direction that must be new */
    int64_t l = p->l;
    for (int64_t j = 0; j < l; j++) {
        double *t = p->mix + p->kept, dot_c, norm2;
        for (int64_t i = 0; i < l; i++)
            t[i * l] = i == j;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t k = 0; k < p->kept; k++) {
                double dot = 0, tc = 0, kc = 0;
                for (int64_t i = 0; i < l; i++) {
                    dot += t[i * l] * p->mix[i * l + k];
                    tc += t[i * l] * p->c[i];
                    kc += p->mix[i * l + k] * p->c[i];
                }
                dot -= p->rho2 * tc * kc;
                for (int64_t i = 0; i < l; i++)
                    t[i * l] -= dot * p->mix[i * l + k];
            }
        norm2 = dot_c = 0;
        for (int64_t i = 0; i < l; i++) {
            norm2 += t[i * l] * t[i * l];
            dot_c += t[i * l] * p->c[i];
        }
        norm2 -= p->rho2 * dot_c * dot_c;
        if (norm2 <= LEAST)
            continue;
        for (int64_t i = 0; i < l; i++)
            t[i * l] /= sqrt(norm2);
        p->which[p->kept++] = j;
    }
}

/* Inner products of the features before and after the mean moved into the span. */
static mercer_status compare_features(struct span *p, mercer_ctx *ctx, const mrc_residual_gram *def,
                                      const double *means, mercer_error *err)
{
    int64_t l = p->l, n = def->n;
    double *h = NULL, *dots = NULL, left = 1, norm2 = 0;
    double root = sqrt(mrc_gram_usual_unit(def->gram));
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&h, n, sizeof *h, err));
    MRC_TRY(mrc_alloc(&dots, l, sizeof *dots, err));
    for (int64_t s = 0; s < l; s++)
        left -= p->mean[s];
    for (int64_t j = 0; j < l; j++)
        for (int64_t s = 0; s < l; s++) /* U_S' a */
            dots[j] += def->projections[j * n + def->selected[s]] * p->mean[s];
    for (int64_t i = 0; i < n; i++)
        h[i] = (means[i] - p->grand) * left;
    mrc_wide_times(ctx, def->projections, l, n, -1, dots, 1, h);
    for (int64_t i = 0; i < n; i++) /* h scales as c does: squares of kernel values may overflow */
        h[i] /= root;
    MRC_TRY(mrc_wide_gram(ctx, def->projections, l, n, p->inner, err));
    MRC_TRY(mrc_wide_dots(ctx, def->projections, l, n, h, dots, err));
    for (int64_t i = 0; i < n; i++)
        norm2 += h[i] * h[i];
    for (int64_t i = 0; i < l; i++)
        for (int64_t j = 0; j < l; j++) {
            double own = p->c[i] * root, other = p->c[j] * root;
            p->across[i * l + j] = p->inner[i * l + j] + dots[i] * other;
            p->moved[i * l + j] = p->across[i * l + j] + own * dots[j] + norm2 * own * other;
        }
out:
    mrc_free(h);
    mrc_free(dots);
    return rc;
}

static mercer_status span_init(struct span *p, mercer_ctx *ctx, mrc_gram *gram,
                               const mrc_residual_gram *def, mercer_error *err)
{
    int64_t l = p->l = def->count;
    const double *means;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_means(gram, &means, &p->grand, err));
    MRC_TRY(mrc_alloc(&p->products, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&p->mean, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&p->c, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&p->which, l, sizeof *p->which, err));
    MRC_TRY(mrc_alloc2(&p->mix, l, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&p->inner, l, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&p->moved, l, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&p->across, l, l, sizeof(double), err));
    for (int64_t s = 0; s < l; s++) {
        const double *column = def->coefficients + s * (s + 1) / 2;
        p->products[s] = means[def->selected[s]];
        for (int64_t i = 0; i <= s; i++)
            p->c[s] += column[i];
    }
    MRC_TRY(solve_mean(p, ctx, def, err));
    orthonormalise(p);
    MRC_TRY(compare_features(p, ctx, def, means, err));
out:
    return rc;
}

/* sum_i of (row i of the features a) . (row i of b) for columns j of T: t_j' inner t_j. */
static double quadratic(const struct span *p, const double *inner, int64_t j)
{
    double sum = 0;
    for (int64_t r = 0; r < p->l; r++)
        for (int64_t s = 0; s < p->l; s++)
            sum += p->mix[r * p->l + j] * inner[r * p->l + s] * p->mix[s * p->l + j];
    return sum;
}

/* Root mean square of the features, and of what span changes in them. */
static void span_difference(const struct span *p, int64_t n, double *size, double *difference)
{
    double all = 0, changed = 0;
    for (int64_t k = 0; k < p->kept; k++) {
        int64_t j = p->which[k];
        double across = 0;
        for (int64_t s = 0; s < p->l; s++)
            across += p->across[j * p->l + s] * p->mix[s * p->l + k];
        all += p->inner[j * p->l + j];
        changed += p->inner[j * p->l + j] - 2 * across + quadratic(p, p->moved, k);
    }
    *size = sqrt(all / (double)(n * p->kept));
    *difference = sqrt(fmax(changed, 0) / (double)(n * p->kept));
}

mercer_status mrc_selection_describe(const mrc_selection *s, mercer_model *model, mercer_error *err)
{
    int64_t count = s->def.count;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&model->selection, count, MERCER_SELECTION_COLUMNS, sizeof(double), err));
    for (int64_t i = 0; i < count; i++) {
        double *row = model->selection + i * MERCER_SELECTION_COLUMNS;
        row[MERCER_SELECTION_SCORE] = s->score[i];
        row[MERCER_SELECTION_RESIDUAL] = s->residual[i];
        row[MERCER_SELECTION_ERROR] = s->error[i];
        row[MERCER_SELECTION_VARIANCE] = s->variance[i];
    }
out:
    return rc;
}

/* B and the spectrum of a model without a mean or with the exact one. */
static mercer_status expand_directions(const mrc_selection *s, mrc_expansion *e,
                                       mercer_model *model, mercer_error *err)
{
    int64_t l = s->def.count, n = s->def.n;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&e->coefficients, l, l, sizeof(double), err));
    mrc_residual_gram_coefficients(&s->def, e->coefficients);
    MRC_TRY(mrc_alloc(&model->spectrum, l, sizeof(double), err));
    for (int64_t j = 0; j < l; j++) {
        const double *u = s->def.projections + j * n;
        for (int64_t i = 0; i < n; i++)
            model->spectrum[j] += u[i] * u[i];
    }
    e->components = l;
    model->total_variance = s->total_variance;
    model->reconstruction_error = s->error[l - 1];
out:
    return rc;
}

/* The same with the mean in the span: B = (C - a c') T. */
static mercer_status expand_span(const mrc_selection *s, const struct span *p, mrc_expansion *e,
                                 mercer_model *model, mercer_error *err)
{
    int64_t l = p->l, kept = p->kept;
    double *c = NULL, captured = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&c, l, l, sizeof *c, err));
    MRC_TRY(mrc_alloc2(&e->coefficients, l, kept, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->spectrum, kept, sizeof(double), err));
    mrc_residual_gram_coefficients(&s->def, c);
    for (int64_t i = 0; i < l; i++)
        for (int64_t j = 0; j < l; j++)
            c[i * l + j] -= p->mean[i] * p->c[j];
    mrc_gemm(false, false, l, kept, l, 1, c, l, p->mix, l, 0, e->coefficients, kept);
    for (int64_t j = 0; j < kept; j++) {
        model->spectrum[j] = quadratic(p, p->moved, j);
        captured += model->spectrum[j] / (double)s->def.n;
    }
    e->components = kept;
    e->mean_span = p->mean;
    e->mean_norm2 = p->norm2;
    model->total_variance = s->total_variance + p->grand - p->norm2;
    model->reconstruction_error = model->total_variance - captured;
out:
    mrc_free(c);
    return rc;
}

/* The features of the training rows are U, and a transform gives K[:, S] C. Rounding of the sums,
 * and what a low-rank factor leaves out, count as often as the entries of C add up to. Where that
 * is little beside the largest feature, U is handed over. A matrix in single precision is not the
 * one of a transform. */
static mercer_status keep_features(const mrc_problem *problem, const mrc_gram *gram,
                                   const mrc_residual_gram *def, const double *c, mercer_error *err)
{
    int64_t l = def->count, n = def->n;
    double off = sqrt((double)n) * DBL_EPSILON * mrc_gram_kmax(gram) + mrc_gram_left_out(gram);
    double largest = 0, sums = 0;
    if (problem->single)
        return MERCER_OK;
    for (int64_t i = 0; i < n * l; i++)
        largest = fmax(largest, fabs(def->projections[i]));
    for (int64_t j = 0; j < l; j++) {
        double sum = 0;
        for (int64_t s = 0; s <= j; s++)
            sum += fabs(c[s * l + j]);
        sums = fmax(sums, sum);
    }
    if (!(4 * off * sums <= MRC_FEATURES_TOLERANCE * largest))
        return MERCER_OK;
    mercer_status rc = mrc_alloc2_raw(problem->features, n, l, sizeof(double), err);
    for (int64_t i = 0; rc == MERCER_OK && i < n; i++)
        for (int64_t j = 0; j < l; j++)
            (*problem->features)[i * l + j] = def->projections[j * n + i];
    return rc;
}

/* Rows are preferred whose residual rounding has made small, so that features come out too long
 * where residuals are near the rounding of kernel values. */
static void notify(const mercer_ctx *ctx, const mrc_problem *problem, const mrc_selection *s,
                   const struct span *p, const mercer_model *model)
{
    static const double TOLD = 1e-4; /* share of the variance */
    long long found = model->components, wanted = problem->components, n = s->def.n;
    if (problem->center == MRC_CENTER_SPAN && p->kept < p->l)
        mrc_notice(ctx,
                   "%lld of %lld features are left out: with the mean in their span they are "
                   "combinations of the others",
                   (long long)(p->l - p->kept), (long long)p->l);
    if (s->exhausted && s->cut > 0)
        mrc_notice(ctx, "stopped after %lld features: every other row has less than %.3g left",
                   (long long)s->def.count, s->delta);
    else if (s->exhausted && wanted > 0)
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%lld features asked for, but after %lld no row has anything left: the "
                      "%skernel matrix has no higher rank",
                      wanted, (long long)s->def.count,
                      problem->center == MRC_CENTER_NONE ? "" : "centred ");
    const double over = -model->reconstruction_error / model->total_variance;
    if (over > TOLD && mrc_kernel_is_semidefinite(problem->kernel))
        mrc_notice(ctx,
                   "the features hold %.2g more of the variance than there is, which is rounding: "
                   "kernel values are far larger than their differences; scale the columns, or "
                   "subtract their means first",
                   over);
    if (model->center == MRC_CENTER_EXACT && model->points > found && p->kept > 0) {
        double size, difference;
        span_difference(p, n, &size, &difference);
        mrc_notice_at(
            ctx, MRC_AT(.advice_key = "center", .advice_value = "span"),
            "features need %lld rows, their exact mean all %lld, so the model keeps them; "
            "the mean in their span keeps %lld and moves features by %.2g (their own size is %.2g, "
            "root mean square)",
            (long long)s->def.count, n, (long long)s->def.count, difference, size);
    }
}

static mercer_status nothing_selected(const mrc_problem *problem, const mrc_selection *s,
                                      mercer_error *err)
{
    double largest = 0;
    for (int64_t j = 0; j < s->def.n; j++)
        largest = fmax(largest, s->def.residual[j]);
    if (largest <= s->least_residual)
        return mrc_problem_no_component(problem, err);
    return mrc_fail(err, MERCER_ERR_DATA,
                    "delta %.3g leaves no row to begin with: the largest squared norm of a row "
                    "is %.3g; lower delta, or give it in units of the mean one by relative=on",
                    s->delta, largest);
}

/* Settle the limits of a rule for n rows, and ask for the operator it takes; *expected: rows that
 * it may select. */
static mrc_gram_request request_of(const mrc_problem *problem, int64_t n, mrc_selection_rule *rule,
                                   int64_t *expected)
{
    enum { LIKELY = 64 }; /* features of a fit by share */
    bool centered = problem->center != MRC_CENTER_NONE;
    rule->most = problem->components > 0 && problem->components < n ? problem->components : n;
    if (problem->share > 0)
        rule->captured = problem->share;
    *expected = problem->components > 0 || n < LIKELY ? rule->most : LIKELY;
    return (mrc_gram_request){.centered = centered,
                              .few_columns = !centered && mrc_selection_needs_few_columns(rule, n),
                              .work_columns =
                                  (rule->score == MRC_SCORE_L1_IMAGES ? 2 : 1) * *expected + 12};
}

void mrc_sparse_features_work(const mrc_problem *problem, int64_t n, mrc_selection_rule *rule,
                              mrc_work *work)
{
    int64_t expected;
    work->request = request_of(problem, n, rule, &expected);
    work->points = (double)(problem->center == MRC_CENTER_EXACT ? n : expected);
    mrc_selection_work(rule, n, expected, work);
}

mercer_status mrc_sparse_features_fit(mercer_ctx *ctx, const mrc_problem *problem,
                                      mrc_selection_rule *rule, mercer_model *model,
                                      mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    int64_t n = problem->rows->n, expected;
    mrc_gram_request request = request_of(problem, n, rule, &expected);
    mrc_selection s = {0};
    struct span p = {0};
    mrc_expansion e = {0};
    mrc_gram *gram = NULL;
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &gram, err));
    mrc_gram_release_points(gram);
    MRC_TRY(mrc_selection_run(&s, ctx, gram, rule, err));
    if (s.def.count == 0)
        MRC_TRY(nothing_selected(problem, &s, err));

    /* The mean of a linear map costs nothing, so it is exact. */
    bool collapses = mrc_expansion_collapses(problem, s.def.count, s.def.count);
    bool span = problem->center == MRC_CENTER_SPAN && !collapses;
    if (centered && !collapses)
        MRC_TRY(span_init(&p, ctx, gram, &s.def, err));
    if (span && p.kept == 0)
        MRC_FAIL_AT(
            err, MERCER_ERR_DATA, MRC_AT(.advice_key = "center", .advice_value = "exact"),
            "with the mean in the span of the selected rows no feature is left: ask for more "
            "components, or for the exact mean");
    e.selected = s.def.selected;
    e.count = s.def.count;
    e.mean_products = p.products;
    e.mean_norm2 = p.grand;
    e.centered_images = centered && !span;
    if (span)
        MRC_TRY(expand_span(&s, &p, &e, model, err));
    else
        MRC_TRY(expand_directions(&s, &e, model, err));
    if (problem->features && !span)
        MRC_TRY(keep_features(problem, gram, &s.def, e.coefficients, err));
    MRC_TRY(mrc_selection_describe(&s, model, err));
    model->orthonormal = true;
    model->correlated = true;
    problem->report->projection_variance = model->total_variance - model->reconstruction_error;
    problem->report->passes = s.def.count;
    problem->report->residual = NAN;
    snprintf(problem->report->solver, sizeof problem->report->solver, "greedy");
    mrc_gram_release(gram);
    MRC_TRY(mrc_expand(ctx, problem, &e, model, err));
    notify(ctx, problem, &s, &p, model);
out:
    mrc_free(e.coefficients); /* when it did not come to mrc_expand */
    span_destroy(&p);
    mrc_selection_destroy(&s);
    mrc_gram_free(gram);
    return rc;
}
