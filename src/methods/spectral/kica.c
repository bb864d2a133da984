/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel ICA: FastICA in the kernel PCA space.
 *
 * The centred mapped rows have coordinates Z = V L^1/2 on m unit directions (basis.h), so X = n^1/2
 * V is white. FastICA finds W (m x l), and the features X W have mean 0, variance 1 and are
 * uncorrelated; as directions on the basis they are n^1/2 L^-1/2 W. All m dimensions are whitened:
 * those of the l largest eigenvalues alone would give the kernel PCA subspace back. Cost: the
 * spectrum, and 4 n m a step. */
#include "linalg/fastica.h"
#include "methods/points/basis.h"
#include "methods/spectral/spectral.h"

#include <math.h>

struct kica_params {
    double components;
    int contrast;
    int scheme;
    int64_t iterations;
    double energy;
    int64_t rank;
    int points;
};

static const mrc_param kica_schema[] = {
    MRC_COMPONENTS(struct kica_params, 10),
    MRC_CHOICE(
        struct kica_params, contrast, 0, MRC_ICA_CONTRASTS,
        "derivative of the function that measures the difference from a normal distribution"),
    MRC_CHOICE(struct kica_params, scheme, 0, "deflation|symmetric",
               "components one after the other, or all at once"),
    MRC_INT(struct kica_params, iterations, 200, 1, 1e6,
            "steps of each component, or of all at once, at most"),
    MRC_ENERGY(struct kica_params, 0.99),
    MRC_RANK(struct kica_params),
    MRC_STORED_ROWS(struct kica_params),
    MRC_PARAM_END};

/* Z becomes white. */
static void whiten(mrc_basis *b)
{
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t j = 0; j < b->m; j++)
            b->coordinates[i * b->m + j] *= sqrt((double)b->n / b->values[j]);
}

static void unwhiten(mrc_basis *b)
{
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t j = 0; j < b->m; j++)
            b->coordinates[i * b->m + j] *= sqrt(b->values[j] / (double)b->n);
}

static mercer_status kica_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    const struct kica_params *p = params;
    /* Whitening divides rounding errors by the eigenvalue, of which this share of the largest
     * leaves nine digits. A lower one takes in directions that are noise. */
    static const double MIN_SHARE = 1e-7;
    mrc_basis_limits limits = {.floor = MIN_SHARE, .energy = p->energy, .rank = p->rank};
    mrc_ica_options options = {
        .contrast = p->contrast, .symmetric = p->scheme == 1, .iterations = p->iterations};
    int64_t l, left;
    mrc_basis b = {0};
    double *w = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_basis_init(&b, ctx, problem, &limits, model, err));
    l = mrc_basis_components(&b, problem);
    if (l > b.m) {
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%lld components asked for, but the kernel PCA space has %lld dimensions",
                      (long long)l, (long long)b.m);
        l = b.m;
    }
    MRC_TRY(mrc_alloc2(&w, b.m, l, sizeof *w, err));
    whiten(&b);
    MRC_TRY(mrc_ica_run(ctx, b.coordinates, b.n, b.m, l, &options, w, &left, err));
    unwhiten(&b);
    if (left > 0)
        mrc_notice(ctx,
                   "%lld of %lld components still moved after %lld steps; more iterations, or "
                   "another seed, may settle them",
                   (long long)left, (long long)l, (long long)p->iterations);
    for (int64_t k = 0; k < b.m; k++)
        for (int64_t j = 0; j < l; j++)
            w[k * l + j] *= sqrt((double)b.n / b.values[k]);
    MRC_TRY(mrc_basis_model(&b, problem, w, l, false, model, err));
out:
    mrc_basis_destroy(&b);
    mrc_free(w);
    return rc;
}

static void kica_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                      int64_t n, mrc_work *work)
{
    enum { DIMENSIONS = 100, STEPS = 30 }; /* that hold the energy; of a component */
    const struct kica_params *p = params;
    double m = p->rank > 0 ? (double)p->rank : DIMENSIONS;
    mrc_spectral_work(ctx, params, problem, n, work);
    work->flops = STEPS * work->pairs * 4 * (double)n * m;
    work->pairs = m < (double)n ? m : (double)n;
    work->spread = 3;
}

static bool kica_on_pivots(const void *params)
{
    const struct kica_params *p = params;
    return p->points == MRC_ROWS_AUTO;
}

const mrc_method mrc_method_kica = {
    .entry = {.name = "kica",
              .summary = "kernel independent component analysis",
              .reference = "Hyvarinen 1999; Liu, Mio 2005",
              .params = kica_schema},
    .params_size = sizeof(struct kica_params),
    .default_center = MRC_CENTER_EXACT,
    .is_nested = mrc_never_nested,
    .fit = kica_fit,
    .on_pivots = kica_on_pivots,
    .work = kica_work,
};
