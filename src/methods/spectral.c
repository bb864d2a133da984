/* From eigenpairs to the model form.
 *
 * K^ u_j = lambda_j u_j gives directions w_j = sum_i a_ij phi(x_i), a_j = u_j / sqrt(lambda_j), of
 * norm one. Centred: the columns of B = a are made to sum to zero exactly, so that
 * features(x) = B' k(X, x) + b with b = -B' m (m: column means of K), and the mean is v = 1/n.
 * A linear kernel collapses to W = X' B. Mean reconstruction error: (trace - sum lambda_j) / n. */
#include "methods/spectral.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

/* B: eigenvectors divided by sqrt(lambda); in place. */
static void scale_to_coefficients(mrc_spectrum *s, int64_t n, bool centered)
{
    int64_t l = s->count;
    for (int64_t j = 0; j < l; j++) {
        double mean = 0, root = sqrt(s->values[j]);
        for (int64_t i = 0; i < n; i++) {
            s->vectors[i * l + j] /= root;
            mean += s->vectors[i * l + j];
        }
        mean /= (double)n;
        for (int64_t i = 0; centered && i < n; i++)
            s->vectors[i * l + j] -= mean;
    }
}

/* Rows as the model's points, dense, packed or sparse as they are. */
static mercer_status copy_points(const mercer_rows *rows, mercer_model *model, mercer_error *err)
{
    mercer_rows *copy = NULL;
    mercer_status rc = mrc_rows_take(rows, NULL, rows->n, &copy, err);
    if (rc != MERCER_OK)
        return rc;
    mrc_model_take_points(model, copy);
    mercer_rows_free(copy);
    return MERCER_OK;
}

/* W = (X - c)' B and c for sparse rows: X' B - c (1' B), nothing of which fills X. */
static void collapse_sparse(const mercer_rows *rows, const double *b, int64_t l, bool centered,
                            mercer_model *model)
{
    const mrc_csr *x = &rows->csr;
    int64_t n = rows->n, d = rows->d;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = x->start[i]; k < x->start[i + 1]; k++) {
            double *to = model->weights + (int64_t)x->column[k] * l;
            for (int64_t j = 0; j < l; j++)
                to[j] += x->value[k] * b[i * l + j];
            if (centered)
                model->input_center[x->column[k]] += x->value[k] / (double)n;
        }
    for (int64_t j = 0; centered && j < l; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += b[i * l + j];
        for (int64_t k = 0; k < d; k++)
            model->weights[k * l + j] -= model->input_center[k] * sum;
    }
}

/* W = (X - c)' B and c for dense rows, of which a block at a time is copied. */
static mercer_status collapse_dense(mercer_ctx *ctx, const mercer_rows *rows, const double *b,
                                    int64_t l, bool centered, mercer_model *model,
                                    mercer_error *err)
{
    enum { BLOCK_DOUBLES = 1 << 21, LEAST_ROWS = 1024 }; /* fewer rows make slow products */
    int64_t n = rows->n, d = rows->d, block = BLOCK_DOUBLES / d;
    double *x = NULL, *product = NULL, *center = model->input_center;
    mercer_status rc = MERCER_OK;
    block = block < LEAST_ROWS ? LEAST_ROWS : block;
    block = block < n ? block : n;
    MRC_TRY(mrc_alloc2_raw(&x, block, d, sizeof *x, err));
    MRC_TRY(mrc_alloc2_raw(&product, d, l, sizeof *product, err));
    for (int64_t i = 0; centered && i < n; i++) {
        const double *line = mrc_rows_line(rows, i, x);
        for (int64_t k = 0; k < d; k++)
            center[k] += line[k] / (double)n;
    }
    for (int64_t i = 0; i < n; i += block) {
        int64_t count = n - i < block ? n - i : block;
        mercer_rows_copy(rows, i, count, x);
        for (int64_t r = 0; r < count; r++) /* the centre of uncentred rows is zero */
            for (int64_t k = 0; k < d; k++)
                x[r * d + k] -= center[k];
        MRC_TRY(mrc_tall_product(ctx, x, d, d, b + i * l, l, l, count, product, err));
        for (int64_t k = 0; k < d * l; k++)
            model->weights[k] += product[k];
    }
out:
    mrc_free(x);
    mrc_free(product);
    return rc;
}

/* Linear kernel: W = (X - c)' B with c the mean (or zero). */
static mercer_status collapse(mercer_ctx *ctx, const mrc_problem *problem, const double *b,
                              int64_t l, bool centered, mercer_model *model, mercer_error *err)
{
    int64_t d = problem->rows->d;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&model->input_center, d, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&model->weights, d, l, sizeof(double), err));
    if (mercer_rows_is_sparse(problem->rows))
        collapse_sparse(problem->rows, b, l, centered, model);
    else
        MRC_TRY(collapse_dense(ctx, problem->rows, b, l, centered, model, err));
out:
    return rc;
}

/* Other kernels: Z = all rows, B, b, v, g. Takes over the coefficients. */
static mercer_status expand(mrc_gram *gram, const mrc_problem *problem, mrc_spectrum *s,
                            bool centered, mercer_model *model, mercer_error *err)
{
    int64_t n = problem->rows->n, l = s->count;
    const double *means;
    mercer_status rc = MERCER_OK;
    model->points = n;
    model->basis_points = n;
    if (problem->kernel->kind != MRC_KERNEL_precomputed)
        MRC_TRY(copy_points(problem->rows, model, err));
    MRC_TRY(mrc_alloc(&model->offsets, l, sizeof(double), err));
    if (centered) {
        MRC_TRY(mrc_gram_means(gram, &means, &model->mean_norm2, err));
        MRC_TRY(mrc_alloc(&model->mean, n, sizeof(double), err));
        for (int64_t i = 0; i < n; i++) {
            model->mean[i] = 1 / (double)n;
            for (int64_t j = 0; j < l; j++)
                model->offsets[j] -= s->vectors[i * l + j] * means[i];
        }
    }
    model->coefficients = s->vectors;
    s->vectors = NULL;
out:
    return rc;
}

/* Whether W takes less than Z and B: always for dense rows, not for sparse ones of very many
 * columns. */
static bool is_smaller_collapsed(const mrc_problem *problem, int64_t l)
{
    const mercer_rows *rows = problem->rows;
    double z = (mercer_rows_is_sparse(rows) ? 1.5 : 1) * (double)mercer_rows_entries(rows);
    return problem->kernel->kind == MRC_KERNEL_linear &&
           (double)(rows->d * l) <= z + (double)(rows->n * l);
}

static void tell(const mercer_ctx *ctx, const mrc_problem *problem, const mrc_spectrum *s)
{
    if (problem->components > s->count)
        mrc_notice(
            ctx, "%lld components asked for, but the %skernel matrix has rank %lld: %lld kept",
            (long long)problem->components, problem->center == MRC_CENTER_NONE ? "" : "centred ",
            (long long)s->count, (long long)s->count);
    if (s->most_negative < 0)
        mrc_notice(
            ctx,
            "the kernel is not positive semidefinite on these rows: eigenvalues down to %.3g "
            "(largest %.3g); only positive ones are used, so shares may exceed 100 %% and "
            "errors may be negative",
            s->most_negative, s->values[0]);
    /* A kernel matrix like the identity: each row resembles itself alone. */
    if (problem->kernel->sigma > 0 && problem->rows->n >= 20 &&
        s->values[0] * (double)problem->rows->n < 3 * s->trace)
        mrc_notice(ctx,
                   "the kernel matrix is close to the identity: sigma=%.3g is far below the "
                   "distances between rows; try a larger one, or sigma=median",
                   problem->kernel->sigma);
}

mercer_status mrc_spectral_fit(mercer_ctx *ctx, const mrc_problem *problem, mercer_model *model,
                               mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    int64_t n = problem->rows->n;
    mercer_fit_report *report = problem->report;
    mrc_gram *gram = NULL;
    mrc_spectrum s = {0};
    mercer_status rc = MERCER_OK;

    /* Eigenvectors, B beside v, and Z in the model's and in each kernel's form stay when the solver
     * is done. */
    int64_t wanted = problem->components < n ? problem->components : n, points = 0;
    if (problem->kernel->kind != MRC_KERNEL_precomputed)
        points = (int64_t)(mrc_rows_bytes(problem->rows) / (double)n / 8 +
                           mrc_points_row_size(ctx, problem->kernel, problem->rows));
    MRC_TRY(mrc_problem_gram(ctx, problem, centered, 3 * wanted + points,
                             mrc_spectrum_columns(n, wanted), &gram, err));
    MRC_TRY(mrc_gram_spectrum(gram, problem->components, problem->share, &s, err));
    if (s.count == 0 && s.most_negative < 0)
        MRC_FAIL(
            err, MERCER_ERR_DATA,
            "the %skernel matrix has no positive eigenvalue, so there is no component to extract",
            centered ? "centred " : "");
    if (s.count == 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the %skernel matrix is zero to rounding: %s, so there is no component to extract",
                 centered ? "centred " : "",
                 centered ? "the rows do not differ" : "the kernel takes every row for zero");
    tell(ctx, problem, &s);

    double kept = 0;
    for (int64_t j = 0; j < s.count; j++)
        kept += s.values[j];
    model->components = s.count;
    model->orthonormal = true;
    model->total_variance = s.trace / (double)n;
    model->reconstruction_error = (s.trace - kept) / (double)n;
    if (model->reconstruction_error < 0 && s.most_negative == 0)
        model->reconstruction_error = 0; /* rounding */
    report->projection_variance = kept / (double)n;
    report->passes = s.passes;
    report->residual = s.residual;
    memcpy(report->solver, s.solver, strlen(s.solver) + 1);

    scale_to_coefficients(&s, n, centered);
    model->spectrum = s.values;
    s.values = NULL;
    if (is_smaller_collapsed(problem, s.count))
        MRC_TRY(collapse(ctx, problem, s.vectors, s.count, centered, model, err));
    else
        MRC_TRY(expand(gram, problem, &s, centered, model, err));
out:
    mrc_spectrum_destroy(&s);
    mrc_gram_free(gram);
    return rc;
}
