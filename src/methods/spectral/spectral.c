/* SPDX-License-Identifier: BSD-3-Clause */
/* From eigenpairs to the model form.
 *
 * K^ u_j = lambda_j u_j gives directions w_j = sum_i a_ij phi(x_i), a_j = u_j / sqrt(lambda_j), of
 * norm one. Centred: the columns of B = a are made to sum to zero exactly, so that
 * features(x) = B' k(X, x) + b with b = -B' m (m: column means of K), and the mean is v = 1/n.
 * A linear kernel collapses to W = X' B. Mean reconstruction error: (trace - sum lambda_j) / n. */
#include "methods/spectral/spectral.h"

#include "base/share.h"
#include "methods/common/expansion.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* B: eigenvectors divided by sqrt(lambda); in place. */
static void scale_to_coefficients(mrc_spectrum *s, int64_t n)
{
    int64_t l = s->count;
    for (int64_t j = 0; j < l; j++) {
        double root = sqrt(s->values[j]);
        for (int64_t i = 0; i < n; i++)
            s->vectors[i * l + j] /= root;
    }
}

/* What a tolerance has left out is no longer told from what has no variance. */
static void notify_tolerance(const mercer_ctx *ctx, const mrc_problem *problem,
                             const mrc_spectrum *s)
{
    double kept = 0;
    for (int64_t j = 0; j < s->count; j++)
        kept += s->values[j];
    if (problem->components > s->count)
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%lld components asked for, but with a tolerance of %g only %lld are above "
                      "what is left out: %lld kept; a smaller tolerance finds more",
                      (long long)problem->components, problem->tolerance, (long long)s->count,
                      (long long)s->count);
    else if (problem->components == 0 && kept < mrc_share_target(problem->share, s->trace))
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%g of the variance asked for, but with a tolerance of %g only %.4g of it is "
                      "reached: a smaller tolerance reaches more",
                      problem->share, problem->tolerance, kept / s->trace);
}

static void notify(const mercer_ctx *ctx, const mrc_problem *problem, const mrc_spectrum *s)
{
    if (problem->tolerance > 0)
        notify_tolerance(ctx, problem, s);
    else if (problem->components > s->count)
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%lld components asked for, but the %skernel matrix has rank %lld: %lld kept",
                      (long long)problem->components,
                      problem->center == MRC_CENTER_NONE ? "" : "centred ", (long long)s->count,
                      (long long)s->count);
    if (s->most_negative < 0)
        mrc_notice(
            ctx,
            "the kernel is not positive semidefinite on these rows: eigenvalues down to %.3g "
            "(largest %.3g); only positive ones are used, so shares may exceed 100 %% and "
            "errors may be negative",
            s->most_negative, s->values[0]);
    /* A kernel matrix like the identity: each row resembles only itself, and the largest eigenvalue
     * is a few mean ones. A larger factor warns about data that merely are in many directions, and
     * few rows have no eigenvalue far above the mean. */
    enum { FEW_MEANS = 3, ENOUGH_ROWS = 20 };
    const int64_t n = mrc_rows_total(problem->rows);
    if (mrc_kernel_width(problem->kernel) > 0 && n >= ENOUGH_ROWS &&
        s->values[0] * (double)n < FEW_MEANS * s->trace)
        mrc_notice(ctx,
                   "the kernel matrix is close to the identity: sigma=%.3g is far below the "
                   "distances between rows; try a larger one, or sigma=median",
                   mrc_kernel_width(problem->kernel));
}

mercer_status mrc_spectral_model(mercer_ctx *ctx, const mrc_problem *problem, mrc_gram *gram,
                                 mrc_spectrum *s, mercer_model *model, mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    const mrc_span span = mrc_rows_span(ctx, problem->rows);
    int64_t n = mrc_rows_total(problem->rows);
    mercer_fit_report *report = problem->report;
    double kept = 0;
    mercer_status rc = MERCER_OK;
    if (s->count == 0 && s->most_negative < 0)
        return mrc_fail(
            err, MERCER_ERR_DATA,
            "the %skernel matrix has no positive eigenvalue, so there is no component to extract",
            centered ? "centred " : "");
    if (s->count == 0)
        return mrc_problem_no_component(problem, err);
    notify(ctx, problem, s);
    for (int64_t j = 0; j < s->count; j++)
        kept += s->values[j];
    model->orthonormal = true;
    model->total_variance = s->trace / (double)n;
    model->reconstruction_error = (s->trace - kept) / (double)n;
    if (model->reconstruction_error < 0 && s->most_negative == 0)
        model->reconstruction_error = 0; /* rounding */
    report->projection_variance = kept / (double)n;
    report->passes = s->passes;
    report->residual = s->residual;
    memcpy(report->solver, s->solver, strlen(s->solver) + 1);
    if (centered && !(span.spread && s->inner)) /* of which the model is made then */
        MRC_TRY(mrc_center_columns(ctx, &span, s->count, s->vectors, err));
    model->spectrum = s->values;
    s->values = NULL;
    mrc_expansion e = {.count = n,
                       .components = s->count,
                       .coefficients = s->vectors,
                       .inner = s->inner,
                       .centered_images = centered,
                       .gram = gram};
    s->vectors = NULL;
    if (centered)
        rc = mrc_gram_means(gram, &e.mean_products, &e.mean_norm2, err);
    if (rc == MERCER_OK)
        rc = mrc_expand(ctx, problem, &e, model, err);
    else
        mrc_free(e.coefficients);
out:
    return rc;
}

/* The features of the training rows are sqrt(lambda_j) u_j, and a transform gives K^ u_j /
 * sqrt(lambda_j). They differ by the residual of the eigenpair, and by rounding of the n products
 * with the coefficients, whose length is 1 / sqrt(lambda_j), or what a low-rank factor leaves out.
 * Whether both are small beside the largest feature. A matrix in single precision is not the one of
 * a transform. */
static bool features_are_exact(const mrc_problem *problem, const mrc_gram *gram,
                               const mrc_spectrum *s)
{
    /* Other solvers than krylov report a bound of n times eps, of which that root is met. */
    double n = (double)problem->rows->n, largest = 0;
    bool measured = strcmp(s->solver, "krylov") == 0;
    if (problem->single || s->count == 0)
        return false;
    for (int64_t i = 0; i < problem->rows->n * s->count; i++)
        largest = fmax(largest, fabs(s->values[i % s->count] * s->vectors[i]));
    double off = (measured ? s->residual : s->residual / sqrt(n)) * s->values[0] +
                 sqrt(n) * fmax(DBL_EPSILON * mrc_gram_kmax(gram), mrc_gram_left_out(gram));
    return 4 * off <= MRC_FEATURES_TOLERANCE * largest * sqrt(s->values[s->count - 1]);
}

/* From the coefficients u_j / sqrt(lambda_j). */
static mercer_status keep_features(const mrc_spectrum *s, int64_t n, double **out,
                                   mercer_error *err)
{
    mercer_status rc = mrc_alloc2_raw(out, n, s->count, sizeof **out, err);
    for (int64_t i = 0; rc == MERCER_OK && i < n * s->count; i++)
        (*out)[i] = s->values[i % s->count] * s->vectors[i];
    return rc;
}

/* This is asked of the operator for n rows like those of the problem. Eigenvectors and B beside v
 * stay when the solver is done. Rows of the fit's own are there all the time and become Z; else Z
 * takes the place of the prepared rows, and may be larger: packed rows are not copied to be
 * prepared. */
static mrc_gram_request request_of(const mercer_ctx *ctx, const mrc_problem *problem, int64_t n)
{
    enum { ENTRY = sizeof(double) + sizeof(int32_t) };
    const mercer_rows *rows = problem->rows;
    const int64_t entries = mrc_problem_entries(problem), all = mrc_rows_total(rows);
    const bool sparse = mercer_rows_is_sparse(rows);
    int64_t wanted = problem->components < n ? problem->components : n;
    double z = 0;
    if (!mrc_kernel_is_precomputed(problem->kernel) && (sparse || rows->n > 0))
        z = sparse ? (double)entries * ENTRY / (double)all / 8
                   : mrc_rows_bytes(rows) / (double)rows->n / 8;
    if (!problem->own_rows)
        z -= mrc_points_row_size_of(ctx, problem->kernel, rows, sparse ? all : rows->n, entries);
    return (mrc_gram_request){.centered = problem->center != MRC_CENTER_NONE,
                              .products = mrc_spectrum_passes(n, wanted),
                              .vectors = mrc_spectrum_block(wanted),
                              .work_columns = 3 * wanted + (z > 0 ? (int64_t)z : 0),
                              .solver_columns = mrc_spectrum_columns(n, wanted),
                              .solver_pairs = wanted};
}

void mrc_spectral_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work)
{
    enum { BY_SHARE = 32 }; /* pairs that a share of the variance may take */
    (void)params;
    work->request = request_of(ctx, problem, n);
    work->pairs = problem->components > 0 ? (double)problem->components : BY_SHARE;
    work->points = (double)n;
}

mercer_status mrc_spectral_fit(mercer_ctx *ctx, const mrc_problem *problem, mercer_model *model,
                               mercer_error *err)
{
    int64_t n = problem->rows->n;
    mrc_gram *gram = NULL;
    mrc_spectrum s = {0};
    mrc_gram_request request = request_of(ctx, problem, mrc_rows_total(problem->rows));
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_expansion_check_spread(problem, problem->components, err));
    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &gram, err));
    mrc_gram_release_points(gram);
    MRC_TRY(mrc_gram_spectrum(gram, problem->components, problem->share, &s, err));
    scale_to_coefficients(&s, n);
    if (problem->features && features_are_exact(problem, gram, &s))
        MRC_TRY(keep_features(&s, n, problem->features, err));
    MRC_TRY(mrc_spectral_model(ctx, problem, gram, &s, model, err));
out:
    mrc_spectrum_destroy(&s);
    mrc_gram_free(gram);
    return rc;
}
