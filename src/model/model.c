/* SPDX-License-Identifier: BSD-3-Clause */
/* The model as an object: made empty, filled by a method or the loader, sealed, then only read.
 *
 * Sealing is the one place that checks whether the parts fit together, so that projecting and
 * pre-images need no checks of their own, and a damaged file cannot reach them. */
#include "model/model.h"
#include "model/preimage.h"

#include "base/memory.h"
#include "model/map.h"
#include "model/parts.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Z as the kernel wants it, once somebody has asked for it. */
struct mrc_lazy_points {
    mrc_points points;
    _Atomic bool ready;
    _Atomic int64_t maker; /* process with a thread that is making the points; 0: there is none */
    _Atomic int few_rows[MRC_SIMDS];
};

const char *mrc_center_name(mrc_center center)
{
    switch (center) {
    case MRC_CENTER_NONE:
        return "none";
    case MRC_CENTER_EXACT:
        return "exact";
    case MRC_CENTER_SPAN:
        return "span";
    }
    return "none";
}

mercer_status mrc_model_new(mercer_model **out, mercer_error *err)
{
    mercer_status rc = mrc_alloc(out, 1, sizeof **out, err);
    if (rc == MERCER_OK)
        mrc_numbers_init(*out);
    return rc;
}

int64_t mrc_head_functions(const mrc_head *head)
{
    int64_t o = head->outputs;
    if (head->kind == MERCER_TARGET_VALUES)
        return o;
    return o < INT32_MAX ? o * (o - 1) / 2 : 0; /* a damaged file may say anything */
}

int64_t mrc_head_increments(const mrc_head *head, int64_t l)
{
    /* Sizes of a file are anything; no array is as long as the largest. */
    return (double)(l + 1) * (double)head->outputs < 9e18 ? (l + 1) * head->outputs : INT64_MAX;
}

void mrc_state_destroy(mrc_state *state)
{
    mrc_arrays_free(MRC_GROUP_state, state);
    mrc_csr_owned_destroy(&state->kept_csr);
}

void mrc_model_set_kernel(mercer_model *model, const mrc_kernel *kernel)
{
    mrc_kernel_hold(kernel);
    mrc_kernel_drop(&model->kernel);
    model->kernel = *kernel;
}

mercer_model *mercer_model_share(const mercer_model *model)
{
    mercer_model *shared = (mercer_model *)model; /* of which only the number of owners changes */
    if (shared)
        atomic_fetch_add_explicit(&shared->other_owners, 1, memory_order_relaxed);
    return shared;
}

void mercer_model_free(mercer_model *model)
{
    if (!model || atomic_fetch_sub_explicit(&model->other_owners, 1, memory_order_acq_rel) > 0)
        return;
    mrc_kernel_drop(&model->kernel);
    if (model->lazy)
        mrc_points_destroy(&model->lazy->points);
    mrc_free(model->lazy);
    mercer_rows_free(model->z_rows);
    mrc_free(model->z);
    mrc_free(model->z_place);
    mrc_free(model->z_packed);
    mrc_csr_owned_destroy(&model->z_csr);
    mrc_free(model->extended);
    mrc_prepare_destroy(&model->prepare);
    mrc_scale_destroy(&model->scale);
    mrc_numbers_free(model);
    mrc_arrays_free(MRC_GROUP_model, model);
    mrc_arrays_free(MRC_GROUP_head, &model->head);
    mrc_state_destroy(&model->state);
    mrc_free(model);
}

mercer_status mrc_model_not_finite(const char *name, mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_NUMERIC,
                    "model: %s holds a value that is not finite: kernel values or sums of them are "
                    "out of the range of numbers; scale the columns",
                    name);
}

static mercer_status check_sizes(const mercer_model *model, mercer_error *err)
{
    if (!model->method || !model->version)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: method or version is missing");
    if (model->components < 1 || model->columns < 1 || model->rows < 1)
        return mrc_fail(
            err, MERCER_ERR_ARGUMENT, "model: %lld components of %lld rows x %lld columns",
            (long long)model->components, (long long)model->rows, (long long)model->columns);
    if (model->points < 0 || model->basis_points < 0 || model->basis_points > model->points)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: %lld of %lld points in the basis",
                        (long long)model->basis_points, (long long)model->points);
    if (model->selected_count < 0 || (model->selected_count > 0 && !model->selected))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: selected rows are missing");
    for (int64_t i = 0; i < model->selected_count; i++)
        if (model->selected[i] < 0 || model->selected[i] >= model->rows)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "model: selected row %lld is not one of %lld rows",
                            (long long)model->selected[i], (long long)model->rows);
    return MERCER_OK;
}

static mercer_status check_kernel(const mrc_kernel *kernel, mercer_error *err)
{
    /* Words are negative numbers beyond 1e299 (MRC_KEYWORD): a parameter that was never resolved.
     */
    static const double MOST = 1e290;
    static const char *const names[] = {"gamma", "sigma", "coef0"};
    for (int p = 0; p < kernel->parts; p++) {
        const mrc_kernel_part *part = &kernel->part[p];
        const double values[] = {part->gamma, part->sigma, part->coef0};
        if (part->gamma < -MOST || part->sigma < -MOST)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "model: the kernel has a parameter without a number");
        for (int i = 0; i < 3; i++)
            if (!(fabs(values[i]) < MOST))
                return mrc_fail(err, MERCER_ERR_ARGUMENT,
                                "kernel: %s is %g, out of the range of a model (%.0e): distances "
                                "of the rows are too small or too large; scale the columns",
                                names[i], values[i], MOST);
    }
    return MERCER_OK;
}

static mercer_status check_scale(const mercer_model *model, mercer_error *err)
{
    const mrc_scale *scale = &model->scale;
    bool columns = scale->kind == MRC_SCALE_STANDARD || scale->kind == MRC_SCALE_MINMAX ||
                   scale->kind == MRC_SCALE_NORM || scale->kind == MRC_SCALE_ROBUST;
    if (scale->kind != MRC_SCALE_NONE && scale->d != model->columns)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: scaling of %lld columns, not %lld",
                        (long long)scale->d, (long long)model->columns);
    if (columns != (scale->shift && scale->factor))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: scaling '%s' has the wrong numbers",
                        mrc_scale_name(scale->kind));
    for (int64_t j = 0; columns && j < model->columns; j++)
        if (!isfinite(scale->shift[j]) || !isfinite(scale->factor[j]) || scale->factor[j] == 0)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "model: the scaling of column %lld cannot be used", (long long)j + 1);
    return MERCER_OK;
}

static bool has_points(const mercer_model *model)
{
    return model->z || model->z_packed || model->z_csr.start;
}

static mercer_status check_map(const mercer_model *model, mercer_error *err)
{
    bool any = false;
    if (!model->map_weights && !model->map && model->map_columns == 0)
        return MERCER_OK;
    if (!model->map_weights || (model->map != NULL) != (model->map_columns > 0) ||
        model->map_columns > model->columns)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: parts of the map are missing");
    if (!has_points(model) || model->state.factor || (model->map && model->z_csr.start))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: a map where there can be none");
    for (int64_t k = 0; k < model->columns; k++) {
        if (!(model->map_weights[k] >= 0))
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: column %lld counts for less than 0",
                            (long long)k + 1);
        any = any || model->map_weights[k] > 0;
    }
    if (!any)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: no column counts in the map");
    return MERCER_OK;
}

void mrc_model_take_points(mercer_model *model, mercer_rows *rows)
{
    if (rows->packed)
        model->z_packed = rows->owned;
    else
        model->z = rows->owned;
    model->z_dtype = rows->dtype;
    model->z_csr = rows->owned_csr;
    model->z_entries = mercer_rows_is_sparse(rows) ? mercer_rows_entries(rows) : 0;
    model->z_pairs = rows->pairs;
    model->z_place = rows->place;
    rows->place = NULL;
    rows->owned = NULL;
    rows->owned_csr = (mrc_csr_owned){0};
}

/* Lengths of the arrays of a sparse Z are as the file says; what stands in them may be anything. */
static mercer_status check_csr(const mercer_model *model, const mrc_csr_owned *owned, int64_t rows,
                               int64_t entries, bool dense_too, mercer_error *err)
{
    mrc_csr csr = {owned->start, owned->column, owned->value};
    if (!csr.start && !csr.column && !csr.value)
        return MERCER_OK;
    /* Rows of zeroes have no entries, and then no arrays of them. */
    bool entries_there = entries > 0 ? csr.column && csr.value : true;
    if (!csr.start || !entries_there || dense_too)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: parts of sparse points are missing");
    if (model->columns > INT32_MAX || csr.start[rows] != entries)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: sparse points of the wrong size");
    for (int64_t i = 0; i < rows; i++) /* before anything is looked up by them */
        if (csr.start[i] < 0 || csr.start[i] > csr.start[i + 1])
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: sparse points out of order");
    return mrc_csr_check(&csr, rows, model->columns, "model", err);
}

static mercer_status check_sparse(const mercer_model *model, mercer_error *err)
{
    return check_csr(model, &model->z_csr, model->points, model->z_entries,
                     model->z || model->z_packed, err);
}

static mercer_status check_collapsed(const mercer_model *model, mercer_error *err)
{
    if (!mrc_kernel_is_linear(&model->kernel) || !model->weights)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: no expansion points and no weights");
    if (!model->input_center && model->center != MRC_CENTER_NONE)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: the centre of the input is missing");
    if (model->coefficients || has_points(model) || model->mean || model->mean_weights)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: weights beside expansion points");
    return MERCER_OK;
}

static mercer_status check_expansion(const mercer_model *model, mercer_error *err)
{
    bool precomputed = mrc_kernel_is_precomputed(&model->kernel);
    if (!model->coefficients || model->basis_points < 1 || precomputed == has_points(model))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: points or coefficients are missing");
    if (model->weights || model->input_center)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: weights beside expansion points");
    if ((model->center != MRC_CENTER_NONE) != (model->mean != NULL))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: centring '%s' %s a mean",
                        mrc_center_name(model->center), model->mean ? "with" : "without");
    if (!model->mean && model->mean_weights)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: weights of a mean that is not there");
    if (!model->mean && model->points != model->basis_points)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: %lld points carry nothing",
                        (long long)(model->points - model->basis_points));
    if (precomputed && (model->columns != model->rows || model->scale.kind != MRC_SCALE_NONE))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "model: a precomputed kernel takes square, unscaled input");
    if (precomputed && model->points != model->columns && model->points != model->selected_count)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "model: %lld points of a precomputed kernel, but %lld selected rows",
                        (long long)model->points, (long long)model->selected_count);
    return MERCER_OK;
}

static mercer_status check_variance(const mercer_model *model, mercer_error *err)
{
    if (!(model->variance_scale >= 0 && model->variance_floor >= 0) ||
        !isfinite(model->variance_scale) || !isfinite(model->variance_floor))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: the variance cannot be used");
    int64_t q = model->points == 0 ? model->columns : model->basis_points;
    if (model->variance && (!model->variance_offsets || model->variance_rank != q))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: parts of the variance are missing");
    return MERCER_OK;
}

/* Each column of what was held out, which p-values and intervals are looked up in. */
static mercer_status check_held_out(const char *name, const double *values, int64_t rows,
                                    int64_t columns, mercer_error *err)
{
    for (int64_t i = columns; values && i < rows * columns; i++)
        if (values[i] < values[i - columns])
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "model: %s is not in increasing order", name);
    return MERCER_OK;
}

static mercer_status check_numbers(const mercer_model *model, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    int64_t m = model->points, d = mrc_model_width(model);
    if (model->z && mrc_first_not_finite(model->z, m * d) >= 0)
        MRC_TRY(mrc_model_not_finite("z", err));
    if (model->z_packed && mrc_first_not_finite_of(model->z_dtype, model->z_packed, 0, m * d) >= 0)
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "model: z holds a value that is not finite");
    MRC_TRY(mrc_arrays_check(model, MRC_GROUP_model, err));
    MRC_TRY(check_held_out("held_errors", model->held_errors, model->held_errors_count, 1, err));
    MRC_TRY(check_held_out("held_residuals", model->held_residuals, model->held_residuals_count,
                           model->head.outputs, err));
    if (!isfinite(model->mean_norm2))
        MRC_TRY(mrc_model_not_finite("mean_norm2", err));
    if (!(model->weight > 0 && isfinite(model->weight)))
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "model: the rows have no weight");
    if (!isfinite(model->novelty_threshold))
        MRC_TRY(mrc_model_not_finite("novelty_threshold", err));
out:
    return rc;
}

mercer_status mrc_model_check_head(const mercer_model *model, mercer_error *err)
{
    const mrc_head *head = &model->head;
    mercer_status rc = MERCER_OK;
    if (!head->spec)
        return MERCER_OK;
    /* Else nothing says how many outputs there are. */
    bool backed =
        head->names || head->weights || head->increments || head->values || head->function_offsets;
    if (head->outputs < 1 || !head->errors || !backed ||
        (head->kind == MERCER_TARGET_CLASSES && !head->names))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: parts of the head are missing");
    for (int64_t i = 0; head->codes && i < head->rows; i++)
        if (head->codes[i] < 0 || head->codes[i] >= head->outputs)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: row %lld of the head is of class %lld",
                     (long long)i + 1, (long long)head->codes[i]);
    MRC_TRY(mrc_arrays_check(model, MRC_GROUP_head, err));
out:
    return rc;
}

mercer_status mrc_model_check_state(const mercer_model *model, mercer_error *err)
{
    const mrc_state *s = &model->state;
    int64_t m = model->points, kept = s->window + s->pending;
    mercer_status rc = MERCER_OK;
    if (!s->factor)
        return MERCER_OK;
    if (!s->basis || !s->singular || !s->mean || s->rank < model->components ||
        (s->window > 0) != (s->coordinates != NULL) ||
        (kept > 0) != (s->kept || s->kept_csr.start) || !has_points(model) || model->z_packed ||
        model->basis_points != m || (kept > 0 && !s->kept != !model->z))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: parts of the streaming state are missing");
    if (!(s->weight > 0) || !(s->largest > 0) || !isfinite(s->weight) || !isfinite(s->largest) ||
        !isfinite(s->diagonal) || !isfinite(s->lost) || !isfinite(s->outside) ||
        !isfinite(s->halving) || !isfinite(s->reach) || s->blocks < 1)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: the streaming state cannot be used");
    for (int64_t i = 0; i < m; i++)
        if (!(s->factor[i * m + i] > 0))
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "model: state.factor has no positive diagonal");
    MRC_TRY(mrc_arrays_check(model, MRC_GROUP_state, err));
    MRC_TRY(check_csr(model, &s->kept_csr, kept, s->kept_entries, s->kept != NULL, err));
out:
    return rc;
}

/* [B, v] over the points of the basis. */
static mercer_status build_extended(mercer_model *model, mercer_error *err)
{
    int64_t l = model->components, m = model->basis_points;
    mercer_status rc = mrc_alloc2_raw(&model->extended, m, l + 1, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < m; i++) {
        memcpy(model->extended + i * (l + 1), model->coefficients + i * l,
               (size_t)l * sizeof(double));
        model->extended[i * (l + 1) + l] = model->mean ? model->mean[i] : 0.0;
    }
    return MERCER_OK;
}

mercer_status mrc_model_seal(mercer_model *model, mercer_ctx *ctx, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    bool collapsed = model->points == 0;

    MRC_TRY(check_sizes(model, err));
    if (model->weight == 0)
        model->weight = (double)model->rows;
    MRC_TRY(check_kernel(&model->kernel, err));
    MRC_TRY(mrc_prepare_check(&model->prepare, model->columns, err));
    MRC_TRY(check_scale(model, err));
    MRC_TRY(collapsed ? check_collapsed(model, err) : check_expansion(model, err));
    MRC_TRY(check_map(model, err));
    MRC_TRY(check_variance(model, err));
    MRC_TRY(check_sparse(model, err));
    MRC_TRY(check_numbers(model, err));
    MRC_TRY(mrc_model_check_head(model, err));
    MRC_TRY(mrc_model_check_state(model, err));
    MRC_TRY(mrc_kernel_format(&model->kernel, model->kernel_text, sizeof model->kernel_text, err));
    if (!model->offsets)
        MRC_TRY(mrc_alloc(&model->offsets, model->components, sizeof(double), err));
    if (!collapsed)
        MRC_TRY(build_extended(model, err));
    if (has_points(model)) {
        MRC_TRY(mrc_alloc(&model->z_rows, 1, sizeof *model->z_rows, err));
        model->z_rows->n = model->points;
        model->z_rows->d = model->z_rows->ld = mrc_model_width(model);
        model->z_rows->x = model->z;
        model->z_rows->packed = model->z_packed;
        model->z_rows->dtype = model->z_dtype;
        model->z_rows->pairs = model->z_pairs;
        model->z_rows->place = model->z_place;
        model->z_place = NULL;
        model->z_rows->csr = (mrc_csr){model->z_csr.start, model->z_csr.column, model->z_csr.value};
        MRC_TRY(mrc_kernel_check_rows(&model->kernel, ctx, model->z_rows, 0, err));
    }
    MRC_TRY(mrc_alloc(&model->lazy, 1, sizeof *model->lazy, err));
out:
    return rc;
}

static mercer_status prepare_points(const mercer_model *model, mercer_ctx *ctx, mercer_error *err)
{
    mrc_points points = {0};
    mercer_status rc = mrc_points_init(&points, ctx, &model->kernel, model->z_rows, NULL, err);
    if (rc == MERCER_OK)
        rc = mrc_points_build_index(&points, ctx, err);
    if (rc == MERCER_OK)
        model->lazy->points = points;
    else
        mrc_points_destroy(&points);
    return rc;
}

/* No lock: one that a thread holds when its process forks stays locked in the child for ever. */
mercer_status mrc_model_points(const mercer_model *model, mercer_ctx *ctx, const mrc_points **out,
                               mercer_error *err)
{
    static const struct timespec short_while = {.tv_nsec = 200000};
    struct mrc_lazy_points *prepared = model->lazy;
    mercer_status rc = MERCER_OK;
    *out = &prepared->points;
    while (model->z_rows && !atomic_load(&prepared->ready)) {
        int64_t maker = 0, self = getpid();
        if (atomic_compare_exchange_strong(&prepared->maker, &maker, self) ||
            /* The parent of this process was making it. */
            (maker != self && atomic_compare_exchange_strong(&prepared->maker, &maker, self))) {
            /* Another thread may have been ready in between. */
            if (!atomic_load(&prepared->ready))
                rc = prepare_points(model, ctx, err);
            if (rc == MERCER_OK)
                atomic_store(&prepared->ready, true);
            atomic_store(&prepared->maker, 0);
        } else {
            nanosleep(&short_while, NULL);
            rc = mrc_check_cancel(ctx, err);
        }
        if (rc != MERCER_OK)
            return rc;
    }
    return MERCER_OK;
}

_Atomic int *mrc_model_few_rows(const mercer_model *model, mrc_simd simd)
{
    return &model->lazy->few_rows[simd];
}

MRC_VERSIONED(model_info, )

void mercer_model_get_info(const mercer_model *model, mercer_model_info *info)
{
    if (!model || !info)
        return;
    const mercer_prepare *prepare = &model->prepare;
    mercer_model_info full = {
        .method = model->method,
        .kernel = model->kernel_text,
        .center = mrc_center_name(model->center),
        .scale = mrc_scale_name(model->scale.kind),
        .components = model->components,
        .columns = model->columns,
        .rows = model->rows,
        .expansion_points = model->points,
        .orthonormal = model->orthonormal,
        .correlated = model->correlated,
        .spectrum = model->spectrum,
        .total_variance = model->total_variance,
        .reconstruction_error = model->reconstruction_error,
        .selected = model->selected,
        .selected_count = model->selected_count,
        .selection = model->selection,
        .alignment = model->alignment,
        .covariance = model->covariance,
        .kernel_evaluations = model->evaluations,
        .bound = model->bound,
        .influence = model->influence,
        .influence_count = model->influence_count,
        .kernel_alignment = model->kernel_alignment,
        .version = model->version,
        .command = model->command,
        .data_hash = model->data_hash,
        .seed = model->seed,
        .novelty_threshold = model->novelty_share > 0 ? model->novelty_threshold : NAN,
        .novelty_share = model->novelty_share,
        .image_features = mrc_image_kind_name(prepare->image),
        .image_width = prepare->size.width,
        .image_height = prepare->size.height,
        .image_channels = prepare->size.channels,
        .missing = mrc_missing_name(prepare->missing),
        .encode = prepare->sources > 0 ? "onehot" : "none",
        .expansion_entries = model->z_csr.start ? model->z_entries : -1,
        .head = model->head.spec,
        .head_kind = model->head.kind,
        .head_outputs = model->head.outputs,
        .head_rows = model->head.rows,
        .head_errors = model->head.errors,
        .scale_target = mrc_scale_name(model->head.scale),
        .trace = model->trace,
        .trace_seconds = model->trace_seconds,
        .trace_count = model->trace_count,
        .stream_blocks = model->state.blocks,
        .stream_evaluations = model->state.uncounted ? 0 : model->state.evaluations,
        .stream_block_evaluations = model->state.block_evaluations,
        .stream_unfinished = model->state.factor && !model->state.input_finished,
        .weight = model->weight,
        .nested = model->whole != MRC_TRUE,
        .invertible = mrc_model_is_invertible(model),
        .precomputed = mrc_kernel_is_precomputed(&model->kernel),
        .sparse = model->z_csr.start != NULL,
        .left_out_share = model->left_out_share,
        .map = model->map_text,
        .map_columns = model->map_weights ? mrc_model_width(model) : 0,
        .map_weights = model->map_weights,
        .head_left_out = model->head.spec ? model->head.left_out : NAN,
        .label_column = prepare->remembered.label,
        .id_column = prepare->remembered.id_unnamed || prepare->remembered.id_place > 0
                         ? "id"
                         : prepare->remembered.id,
    };
    mrc_give_struct(&full, sizeof full, info);
}

const char *mercer_model_column_name(const mercer_model *model, int64_t column)
{
    if (!model)
        return NULL;
    if (!model->column_names || column < 0 || column >= model->columns)
        return NULL;
    return model->column_names[column];
}

const char *mercer_model_target_name(const mercer_model *model, int64_t k)
{
    if (!model || k < 0 || k >= model->prepare.remembered.target_count)
        return NULL;
    return model->prepare.remembered.targets[k];
}

const char *mercer_model_output_name(const mercer_model *model, int64_t output)
{
    if (!model)
        return NULL;
    const mrc_head *head = &model->head;
    return head->names && output >= 0 && output < head->outputs ? head->names[output] : NULL;
}

void mercer_model_read_options(const mercer_model *model, mercer_read_options *options)
{
    if (!model || !options)
        return;
    mercer_read_options taken = {.struct_size = sizeof taken};
    if (mrc_options_import("read", options, &taken, sizeof taken, NULL) != MERCER_OK)
        return;
    mrc_read_options_like(&model->prepare, model->column_names, model->columns, &taken);
    if (mrc_kernel_is_precomputed(&model->kernel)) {
        taken.columns = 0;
        taken.only = NULL;
        taken.only_count = 0;
    }
    mrc_give_struct(&taken, sizeof taken, options);
}
