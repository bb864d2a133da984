/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel Fisher discriminants, or generalised discriminant analysis: directions along which class
 * means lie far apart and rows of a class close together (Mika et al. 1999; Baudat, Anouar 2000).
 *
 * They maximise w'S_B w / w'(S_W + mu I)w, S_B and S_W the scatter between and within classes. One
 * ridge regression on the class indicators Y has them all: with (K^ + mu I) A = HY, N the class
 * sizes and E = Y'K^A,
 *   N^-1/2 E N^-1/2 g_j = tau_j g_j,  w_j = sum of centred mapped rows with coefficients A N^-1/2
 * g_j and the ratio is tau_j / (1 - tau_j). w'(S_W + mu I)w, which is tau (1 - tau), is computed
 * from the features' squares within classes, without cancellation, and brought to n - c. At most c
 * - 1 features; with a linear kernel and no ridge they are linear discriminant analysis. Cost: the
 * solver's for c columns, and c^3. */
#include "methods/supervised/regression.h"

#include "base/running.h"
#include "gram/factor.h"
#include "heads/heads.h"
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>

struct kfd_params {
    double components, ridge;
};

static const mrc_param kfd_schema[] = {
    MRC_COMPONENTS_OUTPUTS(struct kfd_params,
                           "features to extract, at most one less than there are classes"),
    MRC_RIDGE_KEY(struct kfd_params, 0), MRC_PARAM_END};

enum { TOGETHER = 8 }; /* classes or features whose sums a rank hands on at a time */

/* What sums are taken over; the rows of r are those that are here, of all. */
struct rows_of_classes {
    const mrc_regression *r;
    mrc_span span;
};

/* Sums of what is fitted to the rows of the classes begin / c up to end / c. */
static mercer_status add_fitted(void *arg, int64_t begin, int64_t end, double *e, mercer_error *err)
{
    const struct rows_of_classes *rows = arg;
    const mrc_regression *r = rows->r;
    const int64_t c = r->outputs;
    (void)err;
    for (int64_t i = 0; i < rows->span.n; i++) {
        const int64_t at = r->codes[i] * c;
        if (at >= begin && at < end)
            for (int64_t k = 0; k < c; k++)
                e[at + k] += r->ridge.fitted[i * c + k];
    }
    return MERCER_OK;
}

/* N^-1/2 Y'K^A N^-1/2, c x c, symmetric; e holds zeroes. */
static mercer_status between_classes(mercer_ctx *ctx, struct rows_of_classes *rows, double *e,
                                     mercer_error *err)
{
    const mrc_regression *r = rows->r;
    const int64_t c = r->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_run_span(ctx, &rows->span, e, c * c, TOGETHER * c, add_fitted, rows, err));
    for (int64_t j = 0; j < c; j++)
        for (int64_t k = 0; k <= j; k++) {
            double mean = (e[j * c + k] + e[k * c + j]) / 2 / sqrt(r->sizes[j]) / sqrt(r->sizes[k]);
            e[j * c + k] = e[k * c + j] = mean;
        }
out:
    return rc;
}

/* C (c x l), tau (l), and the features (n x l) that they give. */
struct discriminants {
    int64_t l;
    double *combine, *tau, *features;
};

static void discriminants_destroy(struct discriminants *d)
{
    mrc_free(d->combine);
    mrc_free(d->tau);
    mrc_free(d->features);
}

/* Features from what is fitted, in blocks of whole strips, as a rank has them: mrc_tall_times()
 * cuts longer ones otherwise. */
static void combine_fitted(mercer_ctx *ctx, const mrc_regression *r, int64_t n,
                           struct discriminants *d)
{
    enum { BLOCK = 32 * MRC_STRIP };
    const int64_t c = r->outputs, l = d->l;
    for (int64_t first = 0; first < n; first += BLOCK)
        mrc_tall_times(ctx, n - first < BLOCK ? n - first : BLOCK, l, c, 1,
                       r->ridge.fitted + first * c, c, d->combine, l, 0, d->features + first * l,
                       l);
}

static mercer_status lead(mercer_ctx *ctx, struct rows_of_classes *rows, int64_t wanted,
                          struct discriminants *d, mercer_error *err)
{
    const mrc_regression *r = rows->r;
    int64_t c = r->outputs, n = rows->span.n;
    double *e = NULL, *values = NULL;
    /* What the solver's rounding makes of a share of zero. */
    double floor = 1e-10 + (r->ridge.ridge > 0 ? 100 * DBL_EPSILON / r->ridge.ridge : 0);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&e, c, c, sizeof *e, err));
    MRC_TRY(mrc_alloc(&values, c, sizeof *values, err));
    MRC_TRY(between_classes(ctx, rows, e, err));
    MRC_TRY(mrc_eigen_symmetric_of_all(ctx, &rows->span, c, e, values, err));
    while (d->l < c - 1 && d->l < wanted && values[c - 1 - d->l] > fmin(floor, 0.1))
        d->l++;
    if (d->l == 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "the class means do not differ by more than rounding: there is no feature to "
                 "extract");
    MRC_TRY(mrc_alloc2(&d->combine, c, d->l, sizeof *d->combine, err));
    MRC_TRY(mrc_alloc(&d->tau, d->l, sizeof *d->tau, err));
    MRC_TRY(mrc_alloc2_raw(&d->features, n, d->l, sizeof *d->features, err));
    for (int64_t j = 0; j < d->l; j++) {
        d->tau[j] = fmin(values[c - 1 - j], 1);
        for (int64_t k = 0; k < c; k++)
            d->combine[k * d->l + j] = e[(c - 1 - j) * c + k] / sqrt(r->sizes[k]);
    }
    combine_fitted(ctx, r, n, d);
out:
    mrc_free(e);
    mrc_free(values);
    return rc;
}

/* Sums of products of w and image, rows x l. */
struct lengths {
    int64_t rows, l;
    const double *w, *image;
};

static mercer_status add_lengths(void *arg, int64_t begin, int64_t end, double *norms,
                                 mercer_error *err)
{
    const struct lengths *s = arg;
    (void)err;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = begin; j < end; j++)
            norms[j] += s->w[i * s->l + j] * s->image[i * s->l + j];
    return MERCER_OK;
}

/* |w_j|^2: in the coordinates of a factor, which all ranks have, or A C and its image. */
static mercer_status direction_norms(mercer_ctx *ctx, const struct rows_of_classes *rows,
                                     const struct discriminants *d, double *norms,
                                     mercer_error *err)
{
    const mrc_regression *r = rows->r;
    const mrc_ridge *s = &r->ridge;
    const mrc_span all = s->f ? mrc_span_whole(s->f->rank) : rows->span;
    int64_t count = all.n, l = d->l;
    double *w = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&w, count, l, sizeof *w, err));
    MRC_TRY(mrc_tall_times_as_one(ctx, &all, l, r->outputs, s->f ? s->weights : s->dual, d->combine,
                                  w, err));
    struct lengths lengths = {.rows = count, .l = l, .w = w, .image = s->f ? w : d->features};
    MRC_TRY(mrc_run_span(ctx, &all, norms, l, TOGETHER, add_lengths, &lengths, err));
    MRC_TRY(mrc_decide_numbers(ctx, &rows->span, norms, l, err));
out:
    mrc_free(w);
    return rc;
}

/* What is found out about a feature of the rows: squares about the means of the classes and about
 * zero, and the value of the largest modulus, the first one among equals. */
enum { WITHIN, SQUARES, LARGEST, MEASURES };

struct measured {
    const struct rows_of_classes *rows;
    const struct discriminants *d;
    const double *means; /* c x l */
};

/* The features are those from begin / MEASURES up to end / MEASURES. */
static mercer_status add_measures(void *arg, int64_t begin, int64_t end, double *found,
                                  mercer_error *err)
{
    const struct measured *w = arg;
    const int64_t l = w->d->l;
    (void)err;
    for (int64_t i = 0; i < w->rows->span.n; i++)
        for (int64_t j = begin / MEASURES; j < end / MEASURES; j++) {
            const double value = w->d->features[i * l + j];
            double *own = found + j * MEASURES;
            own[WITHIN] += pow(value - w->means[w->rows->r->codes[i] * l + j], 2);
            own[SQUARES] += value * value;
            own[LARGEST] = fabs(value) > fabs(own[LARGEST]) ? value : own[LARGEST];
        }
    return MERCER_OK;
}

/* found: l x MEASURES, zeroes. */
static mercer_status measure(mercer_ctx *ctx, const struct rows_of_classes *rows,
                             const struct discriminants *d, double *found, mercer_error *err)
{
    const int64_t c = rows->r->outputs, l = d->l;
    const mrc_head_data data = {.n = rows->span.n,
                                .l = l,
                                .features = d->features,
                                .outputs = c,
                                .codes = rows->r->codes,
                                .span = rows->span};
    double *means = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&means, c, l, sizeof *means, err));
    MRC_TRY(mrc_head_class_means(ctx, &data, means, err));
    struct measured w = {.rows = rows, .d = d, .means = means};
    MRC_TRY(mrc_run_span(ctx, &rows->span, found, l * MEASURES, (int64_t)TOGETHER * MEASURES,
                         add_measures, &w, err));
out:
    mrc_free(means);
    return rc;
}

/* Bring every feature to its scale and sign, and fill the parts of the model that tell about them.
 */
static mercer_status finish(mercer_ctx *ctx, const struct rows_of_classes *rows,
                            struct discriminants *d, mercer_model *model, mercer_error *err)
{
    const mrc_regression *r = rows->r;
    int64_t c = r->outputs, l = d->l, n = rows->span.total;
    double *norms = NULL, *found = NULL, degrees = n > c ? (double)(n - c) : 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&norms, l, sizeof *norms, err));
    MRC_TRY(mrc_alloc2(&found, l, MEASURES, sizeof *found, err));
    MRC_TRY(mrc_alloc(&model->spectrum, l, sizeof *model->spectrum, err));
    MRC_TRY(direction_norms(ctx, rows, d, norms, err));
    MRC_TRY(measure(ctx, rows, d, found, err));
    for (int64_t j = 0; j < l; j++) {
        const double squares = found[j * MEASURES + SQUARES];
        /* w'(S_W + mu I)w */
        const double within = found[j * MEASURES + WITHIN] + r->ridge.mu * norms[j];
        if (!(within > DBL_EPSILON * squares))
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "ridge"),
                        "rows of a class do not differ along a direction that separates the "
                        "classes: without a larger ridge its ratio is infinite");
        double scale = (found[j * MEASURES + LARGEST] < 0 ? -1 : 1) * sqrt(degrees / within);
        for (int64_t k = 0; k < c; k++)
            d->combine[k * l + j] *= scale;
        model->spectrum[j] = squares * scale * scale;
    }
    model->fisher = d->tau;
    d->tau = NULL;
out:
    mrc_free(norms);
    mrc_free(found);
    return rc;
}

static mercer_status kfd_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    struct kfd_params used = *(const struct kfd_params *)params;
    const int64_t n = mrc_rows_total(problem->rows);
    mrc_regression r = {0};
    struct rows_of_classes rows = {.r = &r, .span = mrc_rows_span(ctx, problem->rows)};
    struct discriminants d = {0};
    mercer_status rc = MERCER_OK;
    if (!problem->targets || problem->targets->kind != MERCER_TARGET_CLASSES)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "label"),
                    "kfd separates classes: name the column of the classes");
    MRC_TRY(mrc_regression_targets(problem, &r, err));
    const int64_t wanted = problem->components > 0 ? problem->components : r.outputs;
    MRC_TRY(mrc_regression_solve(ctx, problem, used.ridge,
                                 wanted < r.outputs ? wanted : r.outputs - 1, &r, err));
    if (r.ridge.ridge == 0 && r.ridge.rank > n - r.outputs)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "ridge"),
                    "ridge 0: a kernel matrix of rank %lld separates %lld rows of %lld classes in "
                    "full; give a ridge",
                    (long long)r.ridge.rank, (long long)n, (long long)r.outputs);
    used.ridge = r.ridge.ridge;
    MRC_TRY(lead(ctx, &rows, wanted, &d, err));
    if (d.l < problem->components)
        mrc_notice(ctx, "%lld features asked for, but %lld classes have no more than %lld",
                   (long long)problem->components, (long long)r.outputs, (long long)d.l);
    MRC_TRY(finish(ctx, &rows, &d, model, err));
    MRC_TRY(mrc_regression_model(ctx, problem, &r, d.combine, d.l, model, err));
    for (int64_t j = 0; j < d.l; j++)
        problem->report->projection_variance += model->spectrum[j] / (double)n;
    MRC_TRY(mrc_method_describe(&mrc_method_kfd, &used, model, err));
out:
    discriminants_destroy(&d);
    mrc_regression_destroy(&r);
    return rc;
}

const mrc_method mrc_method_kfd = {
    .entry = {.name = "kfd",
              .summary = "kernel Fisher discriminants",
              .reference = "Baudat, Anouar 2000",
              .params = kfd_schema},
    .params_size = sizeof(struct kfd_params),
    .default_center = MRC_CENTER_EXACT,
    .centers = "exact|span", /* scatter is about the mean */
    .learns = MERCER_LEARNS_CLASSES,
    .counts_outputs = true,
    .check_spread = mrc_regression_check_spread,
    .fit = kfd_fit,
    .work = mrc_regression_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "centre",
};
