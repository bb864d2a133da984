/* Kernel partial least squares: each feature is the direction of largest covariance between the
 * images and the targets, after the features before it (Rosipal, Trejo 2001).
 *
 * beta = Y_j a with a the leading eigenvector of Y_j' K Y_j (outputs x outputs), Y_j = P_j Y,
 * scaled so that the direction has length one: beta' K beta = 1. One product with `outputs` columns
 * a feature; K is never deflated. */
#include "linalg/linalg.h"
#include "methods/supervised.h"

#include <math.h>
#include <string.h>

struct kpls_params {
    double components;
    int discriminant;
};

static const mrc_param kpls_schema[] = {
    MRC_COMPONENTS(struct kpls_params, 10),
    MRC_CHOICE(struct kpls_params, discriminant, 0, "off|on",
               "classes weigh the same whatever their size, and prediction is the nearest centre"),
    MRC_PARAM_END};

/* beta = Y_j a and image = K beta from product = K Y_j; *length2 = beta' K beta. */
static mercer_status lead(mrc_dual *dual, const double *product, double *beta, double *image,
                          double *length2, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs;
    double *inner = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, m, m, sizeof *inner, err));
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    MRC_TRY(mrc_tall_product(dual->ctx, dual->rest, m, m, product, m, m, n, inner, err));
    MRC_TRY(mrc_eigen_symmetric(dual->ctx, m, inner, values, err));
    const double *a = inner + (m - 1) * m;
    *length2 = values[m - 1];
    for (int64_t i = 0; i < n; i++) {
        beta[i] = image[i] = 0;
        for (int64_t c = 0; c < m; c++) {
            beta[i] += dual->rest[i * m + c] * a[c];
            image[i] += product[i * m + c] * a[c];
        }
    }
out:
    mrc_free(inner);
    mrc_free(values);
    return rc;
}

static mercer_status choose(void *self, mrc_dual *dual, bool *added, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs;
    double *product = NULL, *beta = NULL, *image = NULL, length2;
    mercer_status rc = MERCER_OK;
    (void)self;
    *added = false;
    MRC_TRY(mrc_alloc2_raw(&product, n, m, sizeof *product, err));
    MRC_TRY(mrc_alloc2(&beta, 2, n, sizeof *beta, err));
    image = beta + n;
    MRC_TRY(mrc_gram_apply(dual->gram, dual->rest, m, product, err));
    MRC_TRY(lead(dual, product, beta, image, &length2, err));
    if (!(length2 > 0))
        goto out;
    for (int64_t i = 0; i < n; i++) {
        beta[i] /= sqrt(length2);
        image[i] /= sqrt(length2);
    }
    MRC_TRY(mrc_dual_add(dual, beta, image, added, err));
out:
    mrc_free(product);
    mrc_free(beta);
    return rc;
}

mercer_status mrc_kpls_features(mercer_ctx *ctx, const mrc_problem *problem, bool discriminant,
                                mercer_model *model, mercer_error *err)
{
    mrc_supervised method = {.choose = choose, .balanced = discriminant};
    return mrc_supervised_fit(ctx, problem, &method, model, err);
}

static mercer_status kpls_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    const struct kpls_params *p = params;
    return mrc_kpls_features(ctx, problem, p->discriminant == 1, model, err);
}

static const char *choose_head(const void *params)
{
    const struct kpls_params *p = params;
    return p->discriminant == 1 ? "centre" : "ls";
}

const mrc_method mrc_method_kpls = {
    .abi = MRC_METHOD_ABI,
    .entry = {.name = "kpls",
              .summary = "kernel partial least squares",
              .reference = "Rosipal, Trejo 2001",
              .params = kpls_schema},
    .params_size = sizeof(struct kpls_params),
    .needs = MRC_NEEDS_NOTHING,
    .default_center = MRC_CENTER_EXACT,
    .fit = kpls_fit,
    .default_head = "ls",
    .choose_head = choose_head,
};
