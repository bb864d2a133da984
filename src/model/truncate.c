/* SPDX-License-Identifier: BSD-3-Clause */
/* The first components of a model as a model of its own.
 *
 * Where features are nested, feature j does not depend on how many follow it: the first l columns
 * of B (or W), of b and of the spectrum are the model with l components. Else they are still the
 * first features of the larger model, and a notice says that a fit with l components has others.
 * Points that only the dropped ones needed go, too, unless the mean uses them.
 * What the dropped ones carried becomes error: with orthonormal directions the mean reconstruction
 * error grows by (lambda_l+1 + ... ) / n. Cost: a copy of the model. */
#include "base/memory.h"
#include "model/parts.h"

#include <math.h>
#include <string.h>

/* Points of the basis that the first `kept` components need: the later rows of B are zero for
 * directions of selected rows. */
static int64_t needed_points(const mercer_model *model, int64_t kept)
{
    int64_t m = model->basis_points, l = model->components;
    for (; m > 1; m--)
        for (int64_t j = 0; j < kept; j++)
            if (model->coefficients[(m - 1) * l + j] != 0)
                return m;
    return m;
}

/* Their number in the model to be, and that of all points. */
static void count_points(mercer_model *copy, const mercer_model *model)
{
    copy->basis_points = needed_points(model, copy->components);
    copy->points = model->mean ? model->points : copy->basis_points;
    /* The points of a precomputed kernel are rows in training order once all are kept. */
    if (mrc_kernel_is_precomputed(&model->kernel) && model->points == model->columns)
        copy->points = copy->basis_points = model->points;
}

/* Selected rows of the model to be. */
static int64_t count_selected(const mercer_model *copy, const mercer_model *model)
{
    if (model->selected_count == model->basis_points) /* they are the points of the basis */
        return copy->basis_points;
    if (model->correlated && model->selected_count == model->components) /* a feature for each */
        return copy->components;
    return model->selected_count;
}

static mercer_status copy_doubles(double **out, const double *x, int64_t count, mercer_error *err)
{
    mercer_status rc = x ? mrc_alloc2_raw(out, count, 1, sizeof *x, err) : MERCER_OK;
    if (rc == MERCER_OK && x)
        memcpy(*out, x, (size_t)count * sizeof *x);
    return rc;
}

mercer_status mrc_model_copy_description(mercer_model *copy, const mercer_model *model,
                                         mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_numbers_copy(copy, model, MRC_GROUP_model, true, err));
    mrc_model_set_kernel(copy, &model->kernel);
    copy->scale.d = model->scale.d;
    MRC_TRY(copy_doubles(&copy->scale.shift, model->scale.shift, model->columns, err));
    MRC_TRY(copy_doubles(&copy->scale.factor, model->scale.factor, model->columns, err));
    MRC_TRY(mrc_prepare_copy(&model->prepare, &copy->prepare, err));
out:
    return rc;
}

/* The parts of the model itself; copy->components says how many are kept. */
static mercer_status copy_model(mercer_model *copy, const mercer_model *model, int64_t components,
                                mercer_error *err)
{
    mercer_rows *z = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_model_copy_description(copy, model, err));
    MRC_TRY(mrc_numbers_copy(copy, model, MRC_GROUP_model, false, err));
    copy->components = components;
    if (model->coefficients)
        count_points(copy, model);
    copy->selected_count = count_selected(copy, model);
    if (model->z_rows) { /* dense, packed or sparse */
        MRC_TRY(mrc_rows_take(model->z_rows, NULL, copy->points, &z, err));
        mrc_model_take_points(copy, z);
    }
    MRC_TRY(mrc_arrays_truncate(copy, model, MRC_GROUP_model, err));
out:
    mercer_rows_free(z);
    return rc;
}

/* The head for the first components: the leading part of everything. */
static mercer_status copy_head(const mercer_ctx *ctx, mercer_model *copy, const mercer_model *model,
                               mercer_error *err)
{
    const mrc_head *head = &model->head;
    mercer_status rc = MERCER_OK;
    if (head->whole && copy->components < model->components) {
        mrc_notice(ctx, "head %.*s needs all %lld components and is left out",
                   (int)strcspn(head->spec, ":"), head->spec, (long long)model->components);
        return MERCER_OK;
    }
    MRC_TRY(mrc_numbers_copy(copy, model, MRC_GROUP_head, false, err));
    MRC_TRY(mrc_arrays_truncate(copy, model, MRC_GROUP_head, err));
    if (copy->components < model->components)
        copy->head.left_out = NAN; /* it is of all features */
out:
    return rc;
}

/* Mean reconstruction error with `kept` components. */
static double truncated_error(const mercer_model *model, int64_t kept)
{
    double error = model->reconstruction_error;
    if (!model->spectrum || !model->orthonormal)
        return NAN;
    for (int64_t j = kept; j < model->components; j++)
        error += model->spectrum[j] / model->weight;
    return error;
}

mercer_status mercer_model_truncate(mercer_ctx *ctx, const mercer_model *model, int64_t components,
                                    mercer_model **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(model);
    int64_t l = model->components;
    mercer_model *copy = NULL;
    mercer_status rc = MERCER_OK;

    if (components < 1 || components > l)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%lld components cannot be kept: the model has %lld, so 1 to %lld are possible",
                 (long long)components, (long long)l, (long long)l);
    MRC_TRY(mrc_model_new(&copy, err));
    MRC_TRY(copy_model(copy, model, components, err));
    MRC_TRY(copy_head(ctx, copy, model, err));
    copy->reconstruction_error = truncated_error(model, components);
    if (components == l) {
        MRC_TRY(mrc_numbers_copy(copy, model, MRC_GROUP_novelty, false, err));
    } else if (model->novelty_share > 0) {
        mrc_notice(ctx, "the novelty threshold was learnt with %lld components and is left out",
                   (long long)l);
    }
    if (model->whole == MRC_TRUE && components < l)
        mrc_notice(ctx,
                   "method %.*s: these are the first %lld features of a fit with %lld components, "
                   "not those of a fit with %lld",
                   (int)strcspn(model->method, ":"), model->method, (long long)components,
                   (long long)l, (long long)components);
    MRC_TRY(mrc_model_seal(copy, ctx, err));
    *out = copy;
    copy = NULL;
out:
    mercer_model_free(copy);
    return rc;
}
