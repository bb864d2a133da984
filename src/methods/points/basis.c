/* SPDX-License-Identifier: BSD-3-Clause */
/* The basis of the span; see basis.h. Cost: the spectrum, or n p^2 for p points; and n m l for l
 * directions. */
#include "methods/points/basis.h"

#include "linalg/linalg.h"
#include "methods/common/expansion.h"

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

/* How many of the eigenvalues (decreasing) the limits leave. */
static int64_t count_dimensions(const mrc_basis_limits *limits, const double *values, int64_t count)
{
    int64_t m = 0;
    while (m < count && values[m] > limits->floor * values[0] &&
           (limits->rank == 0 || m < limits->rank))
        m++;
    return m;
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

static mercer_status init_from_rows(mrc_basis *b, const mrc_problem *problem,
                                    const mrc_basis_limits *limits, mercer_error *err)
{
    mercer_fit_report *report = problem->report;
    int64_t n = problem->rows->n, wanted = 0;
    mrc_spectrum s = {0};
    mercer_status rc = MERCER_OK;
    if (limits->energy >= 1)
        wanted = limits->rank > 0 && limits->rank < n ? limits->rank : n;
    mrc_gram_request request = {.centered = problem->center != MRC_CENTER_NONE,
                                .work_columns = 2 * wanted,
                                .solver_columns = mrc_spectrum_columns(n, wanted)};
    MRC_TRY(mrc_problem_gram(b->ctx, problem, &request, &b->gram, err));
    MRC_TRY(find_pairs(b->gram, problem, limits, wanted, &s, err));
    b->m = count_dimensions(limits, s.values, s.count);
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

enum { STRIP = 256 }; /* rows of Z that a task makes */

struct turning {
    mrc_basis *b;
    const double *axes;
};

static void turn_strip(void *arg, int64_t task, int worker)
{
    const struct turning *t = arg;
    mrc_basis *b = t->b;
    int64_t first = task * STRIP, rows = b->n - first < STRIP ? b->n - first : STRIP;
    (void)worker;
    mrc_gemm(true, false, rows, b->m, b->frame.m, 1, b->frame.coordinates + first, b->n, t->axes,
             b->m, 0, b->coordinates + first * b->m, b->m);
}

/* Z and the directions from the eigenvectors of P'P (in the rows of w, increasing). */
static mercer_status turn_frame(mrc_basis *b, const double *w, mercer_error *err)
{
    const mrc_frame *f = &b->frame;
    int64_t p = f->m, m = b->m;
    double *axes = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&axes, p, m, sizeof *axes, err));
    MRC_TRY(mrc_alloc2(&b->directions, p, m, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&b->coordinates, b->n, m, sizeof(double), err));
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < m; j++)
            axes[i * m + j] = w[(p - 1 - j) * p + i];
    mrc_tall_times(b->ctx, p, m, p, 1, f->basis, p, axes, m, 0, b->directions, m);
    struct turning t = {.b = b, .axes = axes};
    mrc_parfor_sized(b->ctx, (b->n + STRIP - 1) / STRIP, 2 * (double)b->n * (double)(p * m),
                     turn_strip, &t);
out:
    mrc_free(axes);
    return rc;
}

static mercer_status init_from_points(mrc_basis *b, const mrc_problem *problem,
                                      const mrc_basis_limits *limits, mercer_model *model,
                                      mercer_error *err)
{
    mrc_subset_choice choice = {.points = limits->points, .rule = {.score = MRC_SCORE_RESIDUAL}};
    mrc_frame *f = &b->frame;
    double *scatter = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    if (problem->center != MRC_CENTER_NONE)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "points and landmarks require center none here");
    MRC_TRY(mrc_subset_frame(b->ctx, problem, &choice, f, model, err));
    MRC_TRY(mrc_alloc2(&scatter, f->m, f->m, sizeof *scatter, err));
    MRC_TRY(mrc_alloc(&values, f->m, sizeof *values, err));
    MRC_TRY(mrc_alloc(&b->values, f->m, sizeof *values, err));
    MRC_TRY(mrc_wide_gram(b->ctx, f->coordinates, f->m, b->n, scatter, err));
    double unit = mrc_usual_unit(f->diagonal); /* LAPACK scales by other numbers */
    for (int64_t i = 0; unit != 1 && i < f->m * f->m; i++)
        scatter[i] /= unit;
    MRC_TRY(mrc_eigen_symmetric(b->ctx, f->m, scatter, values, err));
    for (int64_t j = 0; j < f->m; j++)
        b->values[j] = values[f->m - 1 - j] * unit;
    b->trace = f->diagonal * (double)b->n;
    int64_t held =
        mrc_wanted_pairs(b->values, f->m, f->floor, 0, fmin(limits->energy, 1), b->trace);
    held = held < problem->components ? problem->components : held;
    b->m = count_dimensions(limits, b->values, held < f->m ? held : f->m);
    if (b->m == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    MRC_TRY(turn_frame(b, scatter, err));
out:
    mrc_free(scatter);
    mrc_free(values);
    return rc;
}

mercer_status mrc_basis_init(mrc_basis *b, mercer_ctx *ctx, const mrc_problem *problem,
                             const mrc_basis_limits *limits, mercer_model *model, mercer_error *err)
{
    b->ctx = ctx;
    b->n = problem->rows->n;
    return limits->points > 0 || problem->landmarks
               ? init_from_points(b, problem, limits, model, err)
               : init_from_rows(b, problem, limits, err);
}

void mrc_basis_destroy(mrc_basis *b)
{
    mrc_gram_free(b->gram);
    mercer_rows_free(b->taken);
    mrc_frame_destroy(&b->frame);
    mrc_free(b->directions);
    mrc_free(b->values);
    mrc_free(b->coordinates);
    memset(b, 0, sizeof *b);
}

/* The operator of the points, which selection did not need. */
static mercer_status make_gram_of_points(mrc_basis *b, const mrc_problem *problem,
                                         mercer_error *err)
{
    const mrc_frame *f = &b->frame;
    mrc_gram_request request = {.store = &mrc_store_stream};
    mercer_status rc = MERCER_OK;
    if (b->gram)
        return MERCER_OK;
    if (f->selected)
        MRC_TRY(mrc_rows_take(problem->rows, f->selected, f->m, &b->taken, err));
    MRC_TRY(mrc_gram_new(&b->gram, b->ctx, problem->kernel, b->taken ? b->taken : f->points,
                         &request, NULL, err));
out:
    return rc;
}

mercer_status mrc_basis_project(mrc_basis *b, const mrc_problem *problem, const mercer_rows *rows,
                                double **out, mercer_error *err)
{
    enum { VALUES = 1 << 21 }; /* kernel values held: more take memory, fewer prepare rows anew */
    int64_t points = b->directions ? b->frame.m : b->n, m = b->m, count = rows->n;
    int64_t block = VALUES / points > 256 ? VALUES / points : 256;
    const double *d = b->directions ? b->directions : b->coordinates;
    double *values = NULL, *to = NULL, unit = b->directions ? 1 : mrc_usual_unit(b->values[0]);
    mercer_status rc = MERCER_OK;
    *out = NULL;
    block = block < count ? block : count;
    MRC_TRY(make_gram_of_points(b, problem, err));
    MRC_TRY(mrc_alloc2_raw(&values, block, points, sizeof *values, err));
    MRC_TRY(mrc_alloc2_raw(&to, count, m, sizeof *to, err));
    for (int64_t first = 0; first < count; first += block) {
        int64_t some = count - first < block ? count - first : block;
        MRC_TRY(mrc_gram_cross(b->gram, rows, first, some, values, err));
        for (int64_t i = 0; unit != 1 && i < some * points; i++) /* K Z is of the size of L^3/2 */
            values[i] /= unit;
        mrc_tall_times(b->ctx, some, m, points, 1, values, points, d, m, 0, to + first * m, m);
    }
    for (int64_t i = 0; !b->directions && i < count; i++) /* D = Z L^-1 */
        for (int64_t j = 0; j < m; j++)
            to[i * m + j] /= b->values[j] / unit;
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

/* Coefficients of the directions U over the points: D U, D = V L^-1/2 = Z L^-1 for all rows. Long
 * or short directions times L^-1 may be no numbers where D U is, so L is in its usual unit, which
 * the product leaves. */
static mercer_status find_coefficients(const mrc_basis *b, const double *u, int64_t l, double **out,
                                       mercer_error *err)
{
    int64_t points = b->directions ? b->frame.m : b->n;
    const double *d = b->directions ? b->directions : b->coordinates;
    double *scaled = NULL, unit = b->directions ? 1 : mrc_usual_unit(b->values[0]);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&scaled, b->m, l, sizeof *scaled, err));
    for (int64_t k = 0; k < b->m; k++)
        for (int64_t j = 0; j < l; j++)
            scaled[k * l + j] = b->directions ? u[k * l + j] : u[k * l + j] / (b->values[k] / unit);
    MRC_TRY(mrc_alloc2_raw(out, points, l, sizeof **out, err));
    mrc_tall_times(b->ctx, points, l, b->m, 1, d, b->m, scaled, l, 0, *out, l);
    for (int64_t i = 0; unit != 1 && i < points * l; i++)
        (*out)[i] /= unit;
    mrc_fix_signs(points, l, *out);
out:
    mrc_free(scaled);
    return rc;
}

mercer_status mrc_basis_carry(const mrc_basis *from, const double *u, int64_t l,
                              const mrc_basis *to, double *out, mercer_error *err)
{
    double *coefficients = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(find_coefficients(from, u, l, &coefficients, err));
    MRC_TRY(mrc_tall_product(to->ctx, to->coordinates, to->m, to->m, coefficients, l, l, to->n, out,
                             err));
out:
    mrc_free(coefficients);
    return rc;
}

/* Sums of squares of the features along unit directions: u' L u, the columns of Z being
 * uncorrelated. */
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
    mrc_expansion e = {.points = b->frame.points,
                       .selected = b->frame.selected,
                       .count = b->directions ? b->frame.m : b->n,
                       .components = l,
                       .centered_images = centered,
                       .gram = b->gram};
    double kept = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(find_coefficients(b, u, l, &e.coefficients, err));
    if (centered) {
        const mrc_span whole = mrc_span_whole(b->n);
        MRC_TRY(mrc_center_columns(b->ctx, &whole, l, e.coefficients, err));
        MRC_TRY(mrc_gram_means(b->gram, &e.mean_products, &e.mean_norm2, err));
    }
    if (unit) {
        MRC_TRY(mrc_alloc(&model->spectrum, l, sizeof(double), err));
        find_spectrum(b, u, l, model->spectrum);
    }
    for (int64_t j = 0; j < l && unit; j++)
        kept += model->spectrum[j];
    model->orthonormal = unit;
    model->total_variance = b->trace / (double)b->n;
    model->reconstruction_error = unit ? (b->trace - kept) / (double)b->n : NAN;
    if (model->reconstruction_error < 0 && !b->indefinite)
        model->reconstruction_error = 0; /* rounding */
    problem->report->projection_variance = unit ? kept / (double)b->n : NAN;
    MRC_TRY(mrc_expand(b->ctx, problem, &e, model, err));
out:
    mrc_free(e.coefficients);
    return rc;
}
