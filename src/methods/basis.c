/* The basis of the span; see basis.h. Cost: the spectrum, and n m l for l directions. */
#include "methods/basis.h"

#include "linalg/linalg.h"
#include "methods/expansion.h"

#include <math.h>
#include <string.h>

/* Z = V L^1/2 of the leading m eigenpairs. */
static mercer_status take_coordinates(mrc_basis *b, const mrc_spectrum *s, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&b->values, b->m, sizeof(double), err));
    memcpy(b->values, s->values, (size_t)b->m * sizeof(double));
    MRC_TRY(mrc_alloc2_raw(&b->coordinates, b->n, b->m, sizeof(double), err));
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t j = 0; j < b->m; j++)
            b->coordinates[i * b->m + j] = s->vectors[i * s->count + j] * sqrt(s->values[j]);
out:
    return rc;
}

/* The eigenpairs that energy or rank leave, and at least as many as there are components. */
static mercer_status find_pairs(mrc_gram *gram, const mrc_problem *problem,
                                const mrc_basis_limits *limits, int64_t wanted, mrc_spectrum *s,
                                mercer_error *err)
{
    int64_t n = problem->rows->n, least = problem->components < n ? problem->components : n;
    const double *diag;
    double trace = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_diag(gram, &diag, err));
    for (int64_t i = 0; i < n; i++)
        trace += diag[i];
    if (!(trace > 0)) /* there is no share of it */
        MRC_TRY(mrc_problem_no_component(problem, err));
    MRC_TRY(mrc_gram_spectrum(gram, wanted, wanted > 0 ? 0 : limits->energy, s, err));
    if (wanted == 0 && s->count < least) {
        mrc_spectrum_destroy(s);
        MRC_TRY(mrc_gram_spectrum(gram, least, 0, s, err));
    }
out:
    return rc;
}

mercer_status mrc_basis_init(mrc_basis *b, mercer_ctx *ctx, const mrc_problem *problem,
                             const mrc_basis_limits *limits, mercer_error *err)
{
    mercer_fit_report *report = problem->report;
    int64_t n = problem->rows->n, wanted = 0;
    mrc_spectrum s = {0};
    mercer_status rc = MERCER_OK;
    b->ctx = ctx;
    b->n = n;
    if (limits->energy >= 1)
        wanted = limits->rank > 0 && limits->rank < n ? limits->rank : n;
    mrc_gram_request request = {.centered = problem->center != MRC_CENTER_NONE,
                                .work_columns = 2 * wanted,
                                .solver_columns = mrc_spectrum_columns(n, wanted)};
    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &b->gram, err));
    MRC_TRY(find_pairs(b->gram, problem, limits, wanted, &s, err));
    while (b->m < s.count && s.values[b->m] > limits->floor * s.values[0] &&
           (limits->rank == 0 || b->m < limits->rank))
        b->m++;
    if (b->m == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    MRC_TRY(take_coordinates(b, &s, err));
    b->trace = s.trace;
    b->indefinite = s.most_negative < 0;
    report->passes = s.passes;
    report->residual = s.residual;
    memcpy(report->solver, s.solver, strlen(s.solver) + 1);
out:
    mrc_spectrum_destroy(&s);
    return rc;
}

void mrc_basis_destroy(mrc_basis *b)
{
    mrc_gram_free(b->gram);
    mrc_free(b->values);
    mrc_free(b->coordinates);
    memset(b, 0, sizeof *b);
}

mercer_status mrc_basis_project(mrc_basis *b, const mercer_rows *rows, double **out,
                                mercer_error *err)
{
    enum { VALUES = 1 << 21 }; /* kernel values held: more take memory, fewer prepare rows anew */
    int64_t n = b->n, m = b->m, count = rows->n, block = VALUES / n > 256 ? VALUES / n : 256;
    double *values = NULL, *to = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    block = block < count ? block : count;
    MRC_TRY(mrc_alloc2_raw(&values, block, n, sizeof *values, err));
    MRC_TRY(mrc_alloc2_raw(&to, count, m, sizeof *to, err));
    for (int64_t first = 0; first < count; first += block) {
        int64_t some = count - first < block ? count - first : block;
        MRC_TRY(mrc_gram_cross(b->gram, rows, first, some, values, err));
        mrc_tall_times(b->ctx, some, m, n, 1, values, n, b->coordinates, m, 0, to + first * m, m);
    }
    for (int64_t i = 0; i < count; i++) /* D = Z L^-1 */
        for (int64_t j = 0; j < m; j++)
            to[i * m + j] /= b->values[j];
    *out = to;
    to = NULL;
out:
    mrc_free(values);
    mrc_free(to);
    return rc;
}

int64_t mrc_basis_components(const mrc_basis *b, const mrc_problem *problem)
{
    return problem->components > 0
               ? problem->components
               : mrc_wanted_pairs(b->values, b->m, 0, 0, problem->share, b->trace);
}

/* Coefficients of the directions U over the rows: V L^-1/2 U = Z L^-1 U. */
static mercer_status find_coefficients(const mrc_basis *b, const double *u, int64_t l, double **out,
                                       mercer_error *err)
{
    double *scaled = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&scaled, b->m, l, sizeof *scaled, err));
    for (int64_t k = 0; k < b->m; k++)
        for (int64_t j = 0; j < l; j++)
            scaled[k * l + j] = u[k * l + j] / b->values[k];
    MRC_TRY(mrc_alloc2_raw(out, b->n, l, sizeof **out, err));
    mrc_tall_times(b->ctx, b->n, l, b->m, 1, b->coordinates, b->m, scaled, l, 0, *out, l);
    mrc_fix_signs(b->n, l, *out);
out:
    mrc_free(scaled);
    return rc;
}

/* Sums of squares of the features: u' L u, the columns of Z being uncorrelated. */
static void find_spectrum(const mrc_basis *b, const double *u, int64_t l, double *spectrum)
{
    for (int64_t k = 0; k < b->m; k++)
        for (int64_t j = 0; j < l; j++)
            spectrum[j] += u[k * l + j] * u[k * l + j] * b->values[k];
}

mercer_status mrc_basis_model(mrc_basis *b, const mrc_problem *problem, const double *u, int64_t l,
                              bool unit, mercer_model *model, mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    mrc_expansion e = {.count = b->n, .components = l, .centred_images = centered};
    double kept = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(find_coefficients(b, u, l, &e.coefficients, err));
    if (centered) {
        mrc_center_columns(b->n, l, e.coefficients);
        MRC_TRY(mrc_gram_means(b->gram, &e.mean_products, &e.mean_norm2, err));
    }
    MRC_TRY(mrc_alloc(&model->spectrum, l, sizeof(double), err));
    find_spectrum(b, u, l, model->spectrum);
    for (int64_t j = 0; j < l; j++)
        kept += model->spectrum[j];
    model->orthonormal = unit;
    model->total_variance = b->trace / (double)b->n;
    model->reconstruction_error = unit ? (b->trace - kept) / (double)b->n : NAN;
    if (model->reconstruction_error < 0 && !b->indefinite)
        model->reconstruction_error = 0; /* rounding */
    problem->report->projection_variance = kept / (double)b->n;
    MRC_TRY(mrc_expand(b->ctx, problem, &e, model, err));
out:
    mrc_free(e.coefficients);
    return rc;
}
