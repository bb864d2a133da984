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

#include "gram/factor.h"
#include "linalg/linalg.h"
#include "methods/common/request.h"

#include <float.h>
#include <math.h>

struct kfd_params {
    double components, ridge;
};

static const mrc_param kfd_schema[] = {
    MRC_COMPONENTS_OUTPUTS(struct kfd_params,
                           "features to extract, at most one less than there are classes"),
    MRC_RIDGE_KEY(struct kfd_params, 0), MRC_PARAM_END};

/* N^-1/2 Y'K^A N^-1/2, c x c, symmetric. */
static void between_classes(const mrc_regression *r, int64_t n, double *e)
{
    int64_t c = r->outputs;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++)
            e[r->codes[i] * c + k] += r->ridge.fitted[i * c + k];
    for (int64_t j = 0; j < c; j++)
        for (int64_t k = 0; k <= j; k++) {
            double mean = (e[j * c + k] + e[k * c + j]) / 2 / sqrt(r->sizes[j]) / sqrt(r->sizes[k]);
            e[j * c + k] = e[k * c + j] = mean;
        }
}

/* w'(S_W + mu I)w of feature t (n values, stride l), whose direction has squared length norm2. */
static mercer_status scatter_within(const mrc_regression *r, int64_t n, const double *t, int64_t l,
                                    double norm2, double *out, mercer_error *err)
{
    double *means = NULL, sum = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&means, r->outputs, sizeof *means, err));
    for (int64_t i = 0; i < n; i++)
        means[r->codes[i]] += t[i * l] / r->sizes[r->codes[i]];
    for (int64_t i = 0; i < n; i++)
        sum += pow(t[i * l] - means[r->codes[i]], 2);
    *out = sum + r->ridge.mu * norm2;
out:
    mrc_free(means);
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

static mercer_status lead(mercer_ctx *ctx, const mrc_regression *r, int64_t n, int64_t wanted,
                          struct discriminants *d, mercer_error *err)
{
    int64_t c = r->outputs;
    double *e = NULL, *values = NULL;
    /* What the solver's rounding makes of a share of zero. */
    double floor = 1e-10 + (r->ridge.ridge > 0 ? 100 * DBL_EPSILON / r->ridge.ridge : 0);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&e, c, c, sizeof *e, err));
    MRC_TRY(mrc_alloc(&values, c, sizeof *values, err));
    between_classes(r, n, e);
    MRC_TRY(mrc_eigen_symmetric(ctx, c, e, values, err));
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
    mrc_tall_times(ctx, n, d->l, c, 1, r->ridge.fitted, c, d->combine, d->l, 0, d->features, d->l);
out:
    mrc_free(e);
    mrc_free(values);
    return rc;
}

/* |w_j|^2: in the coordinates of a factor, or A C and its image. */
static mercer_status direction_norms(mercer_ctx *ctx, const mrc_regression *r, int64_t n,
                                     const struct discriminants *d, double *norms,
                                     mercer_error *err)
{
    const mrc_ridge *s = &r->ridge;
    int64_t rows = s->f ? s->f->rank : n, l = d->l;
    double *w = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&w, rows, l, sizeof *w, err));
    mrc_tall_times(ctx, rows, l, r->outputs, 1, s->f ? s->weights : s->dual, r->outputs, d->combine,
                   l, 0, w, l);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < l; j++)
            norms[j] += w[i * l + j] * (s->f ? w : d->features)[i * l + j];
out:
    mrc_free(w);
    return rc;
}

/* Bring every feature to its scale and sign, and fill the parts of the model that tell about them.
 */
static mercer_status finish(mercer_ctx *ctx, const mrc_regression *r, int64_t n,
                            struct discriminants *d, mercer_model *model, mercer_error *err)
{
    int64_t c = r->outputs, l = d->l;
    double *norms = NULL, degrees = n > c ? (double)(n - c) : 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&norms, l, sizeof *norms, err));
    MRC_TRY(mrc_alloc(&model->spectrum, l, sizeof *model->spectrum, err));
    MRC_TRY(direction_norms(ctx, r, n, d, norms, err));
    for (int64_t j = 0; j < l; j++) {
        double within, squares = 0, largest = 0;
        MRC_TRY(scatter_within(r, n, d->features + j, l, norms[j], &within, err));
        for (int64_t i = 0; i < n; i++) {
            double value = d->features[i * l + j];
            squares += value * value;
            largest = fabs(value) > fabs(largest) ? value : largest;
        }
        if (!(within > DBL_EPSILON * squares))
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "ridge"),
                        "rows of a class do not differ along a direction that separates the "
                        "classes: without a larger ridge its ratio is infinite");
        double scale = (largest < 0 ? -1 : 1) * sqrt(degrees / within);
        for (int64_t k = 0; k < c; k++)
            d->combine[k * l + j] *= scale;
        model->spectrum[j] = squares * scale * scale;
    }
    model->fisher = d->tau;
    d->tau = NULL;
out:
    mrc_free(norms);
    return rc;
}

static mercer_status kfd_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                             mercer_model *model, mercer_error *err)
{
    struct kfd_params used = *(const struct kfd_params *)params;
    int64_t n = problem->rows->n;
    mrc_regression r = {0};
    struct discriminants d = {0};
    mercer_status rc = MERCER_OK;
    if (!problem->targets || problem->targets->kind != MERCER_TARGET_CLASSES)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "label"),
                    "kfd separates classes: name the column of the classes");
    MRC_TRY(mrc_regression_targets(problem, &r, err));
    MRC_TRY(mrc_regression_solve(ctx, problem, used.ridge, &r, err));
    if (r.ridge.ridge == 0 && r.ridge.rank > n - r.outputs)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "ridge"),
                    "ridge 0: a kernel matrix of rank %lld separates %lld rows of %lld classes in "
                    "full; give a ridge",
                    (long long)r.ridge.rank, (long long)n, (long long)r.outputs);
    used.ridge = r.ridge.ridge;
    MRC_TRY(lead(ctx, &r, n, problem->components > 0 ? problem->components : r.outputs, &d, err));
    if (d.l < problem->components)
        mrc_notice(ctx, "%lld features asked for, but %lld classes have no more than %lld",
                   (long long)problem->components, (long long)r.outputs, (long long)d.l);
    MRC_TRY(finish(ctx, &r, n, &d, model, err));
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
    .fit = kfd_fit,
    .work = mrc_regression_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "centre",
};
