/* The first components of a model as a model of its own.
 *
 * Where features are nested, feature j does not depend on how many follow it: the first l columns
 * of B (or W), of b and of the spectrum are the model with l components. Else they are still the
 * first features of the larger model, and a notice says that a fit with l components has others.
 * Points that only the dropped ones needed go, too, unless the mean stands on them.
 * What the dropped ones carried becomes error: with orthonormal directions the mean reconstruction
 * error grows by (lambda_l+1 + ... ) / n. Cost: a copy of the model. */
#include "base/memory.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* *out = the first `kept` of `columns` columns; NULL stays NULL. */
static mercer_status copy_columns(double **out, const double *x, int64_t rows, int64_t columns,
                                  int64_t kept, mercer_error *err)
{
    if (!x)
        return MERCER_OK;
    mercer_status rc = mrc_alloc2_raw(out, rows, kept, sizeof *x, err);
    for (int64_t i = 0; rc == MERCER_OK && i < rows; i++)
        memcpy(*out + i * kept, x + i * columns, (size_t)kept * sizeof *x);
    return rc;
}

static mercer_status copy_all(double **out, const double *x, int64_t rows, int64_t columns,
                              mercer_error *err)
{
    return copy_columns(out, x, rows, columns, columns, err);
}

/* *out = a copy of count whole numbers; NULL stays NULL. */
static mercer_status copy_integers(int64_t **out, const int64_t *x, int64_t count,
                                   mercer_error *err)
{
    mercer_status rc = x ? mrc_alloc2_raw(out, count, 1, sizeof *x, err) : MERCER_OK;
    if (rc == MERCER_OK && x)
        memcpy(*out, x, (size_t)count * sizeof *x);
    return rc;
}

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
    if (model->kernel.kind == MRC_KERNEL_precomputed && model->points == model->columns)
        copy->points = copy->basis_points = model->points;
}

static mercer_status copy_selection(mercer_model *copy, const mercer_model *model,
                                    mercer_error *err)
{
    int64_t count = model->selected_count, width = MERCER_SELECTION_COLUMNS;
    mercer_status rc = MERCER_OK;
    if (!model->selected)
        return MERCER_OK;
    if (count == model->basis_points) /* the selected rows are the points of the basis */
        count = copy->basis_points;
    else if (model->correlated && count == model->components) /* a feature for each of them */
        count = copy->components;
    MRC_TRY(copy_integers(&copy->selected, model->selected, count, err));
    MRC_TRY(copy_all(&copy->selection, model->selection, count, width, err));
    copy->selected_count = count;
out:
    return rc;
}

mercer_status mrc_model_copy_description(mercer_model *copy, const mercer_model *model,
                                         mercer_error *err)
{
    int64_t d = model->columns;
    mercer_status rc = MERCER_OK;
    copy->kernel = model->kernel;
    copy->center = model->center;
    copy->whole = model->whole;
    copy->rows = model->rows;
    copy->columns = d;
    copy->seed = model->seed;
    copy->scale.kind = model->scale.kind;
    copy->scale.d = model->scale.d;
    MRC_TRY(copy_all(&copy->scale.shift, model->scale.shift, d, 1, err));
    MRC_TRY(copy_all(&copy->scale.factor, model->scale.factor, d, 1, err));
    MRC_TRY(mrc_strdup(&copy->method, model->method, err));
    MRC_TRY(mrc_strdup(&copy->version, model->version, err));
    MRC_TRY(mrc_strdup(&copy->command, model->command, err));
    MRC_TRY(mrc_strdup(&copy->data_hash, model->data_hash, err));
    MRC_TRY(mrc_prepare_copy(&model->prepare, &copy->prepare, err));
    MRC_TRY(mrc_copy_names(&copy->column_names, model->column_names, d, err));
out:
    return rc;
}

/* What does not depend on the number of components, and the points. */
static mercer_status copy_common(mercer_model *copy, const mercer_model *model, mercer_error *err)
{
    mercer_rows *z = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_model_copy_description(copy, model, err));
    if (model->coefficients)
        count_points(copy, model);
    copy->mean_norm2 = model->mean_norm2;
    copy->orthonormal = model->orthonormal;
    copy->correlated = model->correlated;
    copy->total_variance = model->total_variance;
    copy->weight = model->weight;
    if (model->z_rows) { /* dense, packed or sparse */
        MRC_TRY(mrc_rows_take(model->z_rows, NULL, copy->points, &z, err));
        mrc_model_take_points(copy, z);
    }
    MRC_TRY(copy_all(&copy->mean, model->mean, copy->points, 1, err));
    MRC_TRY(copy_all(&copy->input_center, model->input_center, model->columns, 1, err));
    MRC_TRY(copy_selection(copy, model, err));
out:
    mercer_rows_free(z);
    return rc;
}

/* The head for the first components: the leading part of everything. */
static mercer_status copy_head(const mercer_ctx *ctx, mercer_model *copy, const mercer_model *model,
                               mercer_error *err)
{
    const mrc_head *from = &model->head;
    mrc_head *to = &copy->head;
    int64_t l = model->components, kept = copy->components, outputs = from->outputs;
    int64_t rows = from->rows, functions = mrc_head_functions(from);
    mercer_status rc = MERCER_OK;
    if (from->whole && kept < l) {
        mrc_notice(ctx, "head %.*s needs all %lld components and is left out",
                   (int)strcspn(from->spec, ":"), from->spec, (long long)l);
        return MERCER_OK;
    }
    MRC_TRY(mrc_strdup(&to->spec, from->spec, err));
    MRC_TRY(mrc_copy_names(&to->names, from->names, outputs, err));
    to->kind = from->kind;
    to->outputs = outputs;
    to->scale = from->scale;
    to->whole = from->whole;
    to->rows = rows;
    MRC_TRY(copy_columns(&to->errors, from->errors, 1, l, kept, err));
    MRC_TRY(copy_columns(&to->center, from->center, 1, l, kept, err));
    MRC_TRY(copy_columns(&to->basis, from->basis, kept, l, kept, err));
    MRC_TRY(copy_all(&to->weights, from->weights, kept, outputs, err));
    MRC_TRY(copy_all(&to->intercept, from->intercept, 1, outputs, err));
    MRC_TRY(copy_columns(&to->class_centers, from->class_centers, outputs, l, kept, err));
    if (from->increments)
        MRC_TRY(copy_columns(&to->increments, from->increments, kept, (l + 1) * outputs,
                             (kept + 1) * outputs, err));
    MRC_TRY(copy_columns(&to->points, from->points, rows, l, kept, err));
    MRC_TRY(copy_integers(&to->codes, from->codes, rows, err));
    MRC_TRY(copy_all(&to->values, from->values, rows, outputs, err));
    MRC_TRY(copy_all(&to->dual, from->dual, rows, functions, err));
    MRC_TRY(copy_all(&to->function_weights, from->function_weights, l, functions, err));
    MRC_TRY(copy_all(&to->function_offsets, from->function_offsets, 1, functions, err));
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
    int64_t l = model->components, d = model->columns;
    mercer_model *copy = NULL;
    mercer_status rc = MERCER_OK;

    if (components < 1 || components > l)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "%lld components cannot be kept: the model has %lld, so 1 to %lld are possible",
                 (long long)components, (long long)l, (long long)l);
    MRC_TRY(mrc_model_new(&copy, err));
    copy->components = components;
    MRC_TRY(copy_common(copy, model, err));
    MRC_TRY(copy_columns(&copy->coefficients, model->coefficients, copy->basis_points, l,
                         components, err));
    MRC_TRY(copy_columns(&copy->mean_weights, model->mean_weights, 1, l, components, err));
    MRC_TRY(copy_columns(&copy->weights, model->weights, d, l, components, err));
    MRC_TRY(copy_columns(&copy->offsets, model->offsets, 1, l, components, err));
    MRC_TRY(copy_columns(&copy->spectrum, model->spectrum, 1, l, components, err));
    MRC_TRY(copy_columns(&copy->alignment, model->alignment, 1, l, components, err));
    MRC_TRY(copy_columns(&copy->covariance, model->covariance, 1, l, components, err));
    MRC_TRY(copy_columns(&copy->bound, model->bound, 1, l * MERCER_BOUND_COLUMNS,
                         components * MERCER_BOUND_COLUMNS, err));
    MRC_TRY(copy_all(&copy->influence, model->influence, model->influence_count, 2, err));
    copy->influence_count = model->influence_count;
    copy->kernel_alignment = model->kernel_alignment;
    MRC_TRY(copy_integers(&copy->evaluations, model->evaluations, components, err));
    MRC_TRY(copy_head(ctx, copy, model, err));
    copy->reconstruction_error = truncated_error(model, components);
    if (components == l) {
        copy->novelty_share = model->novelty_share;
        copy->novelty_threshold = model->novelty_threshold;
    } else if (model->novelty_share > 0) {
        mrc_notice(ctx, "the novelty threshold was learnt with %lld components and is left out",
                   (long long)l);
    }
    if (model->whole && components < l)
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
