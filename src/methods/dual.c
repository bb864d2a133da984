/* The deflation engine; see dual.h.
 *
 * Adding a feature costs 8 n j for two passes of Gram-Schmidt beside the product K beta of the
 * method; the coefficients A take n k^2 at the end (k^3 for directions of single rows). */
#include "methods/dual.h"

#include "linalg/linalg.h"
#include "methods/expansion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the earlier features must leave of a direction: of a combination of rows in units of what
 * rounding could make of it, of a single row in units of its own column. */
static const double LEAST = 1e-10, LEAST_OF_ROW = 1e-8;

mercer_status mrc_dual_init(mrc_dual *dual, mercer_ctx *ctx, mrc_gram *gram, const double *y,
                            int64_t outputs, int64_t most, bool single_rows, mercer_error *err)
{
    int64_t n = mrc_gram_size(gram);
    double *norms2 = NULL;
    mercer_status rc = MERCER_OK;
    dual->ctx = ctx;
    dual->gram = gram;
    dual->n = n;
    dual->outputs = outputs;
    dual->most = most < n ? most : n;
    MRC_TRY(mrc_alloc2_raw(&dual->y, n, outputs, sizeof(double), err));
    memcpy(dual->y, y, (size_t)(n * outputs) * sizeof *y);
    MRC_TRY(mrc_alloc2_raw(&dual->rest, n, outputs, sizeof(double), err));
    memcpy(dual->rest, y, (size_t)(n * outputs) * sizeof *y);
    MRC_TRY(mrc_alloc2_raw(&dual->q, dual->most, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&dual->norms, dual->most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&dual->aligned, dual->most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&dual->covariance, dual->most, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&dual->m, dual->most, (dual->most + 1) / 2 + 1, sizeof(double), err));
    if (single_rows) {
        MRC_TRY(mrc_alloc(&dual->selected, dual->most, sizeof *dual->selected, err));
        MRC_TRY(mrc_alloc(&dual->scale, dual->most, sizeof(double), err));
    } else {
        MRC_TRY(mrc_alloc2_raw(&dual->beta, dual->most, n, sizeof(double), err));
    }
    if (single_rows)
        goto out;
    MRC_TRY(mrc_alloc(&norms2, n, sizeof *norms2, err));
    MRC_TRY(mrc_gram_row_norms2(gram, NULL, n, NULL, norms2, err));
    for (int64_t i = 0; i < n; i++)
        dual->largest = fmax(dual->largest, sqrt(norms2[i]));
out:
    mrc_free(norms2);
    return rc;
}

void mrc_dual_destroy(mrc_dual *dual)
{
    mrc_free(dual->y);
    mrc_free(dual->rest);
    mrc_free(dual->q);
    mrc_free(dual->norms);
    mrc_free(dual->aligned);
    mrc_free(dual->covariance);
    mrc_free(dual->m);
    mrc_free(dual->selected);
    mrc_free(dual->scale);
    mrc_free(dual->beta);
    memset(dual, 0, sizeof *dual);
}

mercer_status mrc_dual_project(mrc_dual *dual, double *v, double *dots, mercer_error *err)
{
    double *more = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&more, dual->count + 1, sizeof *more, err));
    memset(dots, 0, (size_t)dual->count * sizeof *dots);
    for (int pass = 0; pass < 2; pass++) { /* the second one for what rounding left of the first */
        MRC_TRY(mrc_wide_dots(dual->ctx, dual->q, dual->count, dual->n, v, more, err));
        mrc_wide_times(dual->ctx, dual->q, dual->count, dual->n, -1, more, 1, v);
        for (int64_t t = 0; t < dual->count; t++)
            dots[t] += more[t];
    }
out:
    mrc_free(more);
    return rc;
}

/* q_j from tau in q + count n, and what it does to the targets. */
static void take_off_targets(mrc_dual *dual)
{
    const double *q = dual->q + dual->count * dual->n;
    double all = 0, aligned = 0;
    for (int64_t c = 0; c < dual->outputs; c++) {
        double dot = 0, rest = 0;
        for (int64_t i = 0; i < dual->n; i++) {
            dot += q[i] * dual->y[i * dual->outputs + c];
            rest += q[i] * dual->rest[i * dual->outputs + c];
            all += dual->y[i * dual->outputs + c] * dual->y[i * dual->outputs + c];
        }
        aligned += dot * dot;
        for (int64_t i = 0; i < dual->n; i++)
            dual->rest[i * dual->outputs + c] -= rest * q[i];
    }
    dual->aligned[dual->count] = all > 0 ? aligned / all : 0;
    dual->covariance[dual->count] = aligned * dual->norms[dual->count] * dual->norms[dual->count] /
                                    ((double)dual->n * (double)dual->n);
}

/* Add the feature whose K beta stands in q + count n unless what is left of it is no larger. */
static mercer_status add_image(mrc_dual *dual, double least, bool *added, mercer_error *err)
{
    int64_t j = dual->count;
    double *tau = dual->q + j * dual->n, *dots = NULL;
    double *column = dual->m + j * (j + 1) / 2;
    mercer_status rc = MERCER_OK;
    *added = false;
    MRC_TRY(mrc_alloc(&dots, j + 1, sizeof *dots, err));
    MRC_TRY(mrc_dual_project(dual, tau, dots, err));
    double norm = sqrt(mrc_dot(tau, tau, dual->n));
    if (!(norm > least))
        goto out;
    for (int64_t t = 0; t < j; t++)
        column[t] = dots[t] / dual->norms[t];
    column[j] = 1;
    for (int64_t i = 0; i < dual->n; i++)
        tau[i] /= norm;
    dual->norms[j] = norm;
    take_off_targets(dual);
    dual->count++;
    *added = true;
out:
    mrc_free(dots);
    return rc;
}

mercer_status mrc_dual_add(mrc_dual *dual, const double *beta, const double *image, bool *added,
                           mercer_error *err)
{
    double weight = 0;
    for (int64_t i = 0; i < dual->n; i++)
        weight += fabs(beta[i]);
    memcpy(dual->q + dual->count * dual->n, image, (size_t)dual->n * sizeof *image);
    memcpy(dual->beta + dual->count * dual->n, beta, (size_t)dual->n * sizeof *beta);
    return add_image(dual, LEAST * dual->largest * weight, added, err);
}

mercer_status mrc_dual_add_row(mrc_dual *dual, int64_t row, double scale, bool *added,
                               mercer_error *err)
{
    double *tau = dual->q + dual->count * dual->n;
    mercer_status rc = mrc_gram_columns(dual->gram, &row, 1, tau, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < dual->n; i++)
        tau[i] *= scale;
    dual->selected[dual->count] = row;
    dual->scale[dual->count] = scale;
    return add_image(dual, LEAST_OF_ROW * sqrt(mrc_dot(tau, tau, dual->n)), added, err);
}

/* A = B M^-1, points x k, column by column: a_j = beta_j - sum_t M_tj a_t. */
static void solve_coefficients(const mrc_dual *dual, int64_t points, double *a)
{
    int64_t k = dual->count;
    for (int64_t j = 0; j < k; j++) {
        const double *column = dual->m + j * (j + 1) / 2;
        for (int64_t i = 0; i < points; i++) {
            double value =
                dual->selected ? (i == j ? dual->scale[j] : 0) : dual->beta[j * dual->n + i];
            for (int64_t t = 0; t < j; t++)
                value -= column[t] * a[i * k + t];
            a[i * k + j] = value;
        }
    }
}

mercer_status mrc_dual_finish(mrc_dual *dual, const mrc_problem *problem, bool unit_features,
                              mercer_model *model, mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    int64_t n = dual->n, k = dual->count, points = dual->selected ? k : n;
    mercer_fit_report *report = problem->report;
    double *products = NULL;
    const double *means, *diag;
    mrc_expansion e = {
        .selected = dual->selected, .count = points, .components = k, .centred_images = centered};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&e.coefficients, points, k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->spectrum, k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->alignment, k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->covariance, k, sizeof(double), err));
    memcpy(model->alignment, dual->aligned, (size_t)k * sizeof(double));
    memcpy(model->covariance, dual->covariance, (size_t)k * sizeof(double));
    solve_coefficients(dual, points, e.coefficients);
    for (int64_t j = 0; j < k; j++) {
        double factor = unit_features ? 1 / dual->norms[j] : 1, mean = 0;
        for (int64_t i = 0; i < points; i++) {
            e.coefficients[i * k + j] *= factor;
            mean += e.coefficients[i * k + j] / (double)points;
        }
        /* Centred images of all rows add up to zero, and so may their coefficients. */
        for (int64_t i = 0; centered && !dual->selected && i < points; i++)
            e.coefficients[i * k + j] -= mean;
        model->spectrum[j] = unit_features ? 1 : dual->norms[j] * dual->norms[j];
        report->projection_variance += model->spectrum[j] / (double)n;
    }
    if (centered) {
        MRC_TRY(mrc_gram_means(dual->gram, &means, &e.mean_norm2, err));
        MRC_TRY(mrc_alloc(&products, points, sizeof *products, err));
        for (int64_t s = 0; s < points; s++)
            products[s] = means[dual->selected ? dual->selected[s] : s];
        e.mean_products = products;
    }
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    for (int64_t i = 0; i < n; i++)
        model->total_variance += diag[i] / (double)n;
    model->reconstruction_error = NAN; /* the directions are not orthogonal in feature space */
    report->residual = NAN;
    snprintf(report->solver, sizeof report->solver, "deflation");
    MRC_TRY(mrc_expand(dual->ctx, problem, &e, model, err));
out:
    mrc_free(e.coefficients);
    mrc_free(products);
    return rc;
}

/* One column of the targets about its mean. */
static void center_column(double *y, int64_t n, int64_t outputs, int64_t c)
{
    double mean = 0, error = 0;
    for (int64_t i = 0; i < n; i++)
        mean += y[i * outputs + c] / (double)n;
    for (int64_t i = 0; i < n; i++)
        error += (y[i * outputs + c] - mean) / (double)n;
    for (int64_t i = 0; i < n; i++)
        y[i * outputs + c] -= mean + error;
}

mercer_status mrc_dual_targets(const mrc_problem *problem, double **y, int64_t *outputs,
                               mercer_error *err)
{
    const mercer_targets *targets = problem->targets;
    int64_t n = problem->rows->n;
    mercer_status rc = MERCER_OK;
    *y = NULL;
    if (!targets || targets->kind == MERCER_TARGET_NONE)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "this method learns from labels: name them by --label or --target");
    bool classes = targets->kind == MERCER_TARGET_CLASSES;
    *outputs = !classes ? targets->columns : targets->classes == 2 ? 1 : targets->classes;
    MRC_TRY(mrc_alloc2(y, n, *outputs, sizeof **y, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < *outputs; c++)
            (*y)[i * *outputs + c] = !classes        ? targets->values[i * targets->columns + c]
                                     : *outputs == 1 ? (targets->codes[i] == 1 ? 1 : -1)
                                                     : targets->codes[i] == c;
    for (int64_t c = 0; c < *outputs; c++)
        center_column(*y, n, *outputs, c);
out:
    return rc;
}
