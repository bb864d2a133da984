/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-images: a row x whose image is near a point P of feature space,
 *
 *   P = mean + sum_j y_j w_j = sum_i g_i phi(z_i),  g = B y + v;   f(x) = |P - phi(x)|^2
 *     = |P|^2 - 2 <P, phi(x)> + k(x,x),  |P|^2 = g'K g, whose K g the search for starts has anyway.
 *
 * Here is what all kernels share: g, the search for starts, iterates that move together. How x is
 * found from there is in preimage_<kernel>.c; preimages.def lists them. Iterations start from the
 * five training points with the smallest f.
 *
 * Cost: m^2 kernel values per 64 to 256 rows for the starts, then 5 m (2 d + 1) per iteration and
 * row; with sparse points 10 multiply-adds an entry and 5 d, since a pre-image is dense.
 * Products have fixed shapes, so that a row does not depend on its neighbours.
 *
 * Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch: Kernel PCA and de-noising in feature spaces,
 * NIPS 11, 1999. */
#include "model/preimage.h"

#include "base/order.h"
#include "kernel/sparse.h"
#include "linalg/linalg.h"
#include "model/map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PANEL = MRC_PREIMAGE_PANEL, /* feature rows per product of the starting search */
    MAX_PANELS = 4,             /* share one pass over the m x m kernel values */
    PANEL_DOUBLES =
        1 << 23, /* coefficients per batch, when m is so large that panels must be few */
    BLOCK = 64,  /* points per task of the search */
    TILE = MRC_PREIMAGE_TILE,
    SLOTS = MRC_SLOTS,
    STARTS = MRC_SLOTS_STARTS,
    ROWS_PER_TASK = MRC_SLOTS_ROWS
};

/* ---- Which kernels have them ---- */

#define MRC_PREIMAGE(kernel) extern const mrc_preimage mrc_preimage_##kernel;
#include "model/preimages.def"
#undef MRC_PREIMAGE

static const struct {
    const char *name;
    const mrc_kernel_def *kernel;
    const mrc_preimage *preimage;
} known[] = {
#define MRC_PREIMAGE(kernel) {#kernel, &mrc_kernel_def_##kernel, &mrc_preimage_##kernel},
#include "model/preimages.def"
#undef MRC_PREIMAGE
};

enum { KNOWN = sizeof known / sizeof *known };

const mrc_preimage *mrc_preimage_of(const mrc_kernel *kernel)
{
    for (int i = 0; i < KNOWN; i++)
        if (known[i].kernel == mrc_kernel_def_of(kernel))
            return known[i].preimage;
    return NULL;
}

/* Scaling of columns can be undone; what rows were divided by is not known. */
static bool scales_columns(const mercer_model *model)
{
    return model->scale.kind != MRC_SCALE_UNIT && model->scale.kind != MRC_SCALE_ROWSTANDARD;
}

bool mrc_model_is_invertible(const mercer_model *model)
{
    const mrc_preimage *preimage = mrc_preimage_of(&model->kernel);
    const mrc_map map = mrc_map_of(model);
    return model->orthonormal && preimage && scales_columns(model) &&
           (!model->map_weights || !mrc_map_refusal(&map)) &&
           (!preimage->refusal || !preimage->refusal(&model->kernel.part[0]));
}

/* "linear, poly and rbf" */
static void list_known(char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < KNOWN; i++) {
        const char *before = i == 0 ? "" : i + 1 == KNOWN ? " and " : ", ";
        int more = snprintf(text + used, size - used, "%s%s", before, known[i].name);
        used += (size_t)more < size - used ? (size_t)more : size - used - 1;
    }
}

/* ---- Work ---- */

void mrc_preimage_add_sparse(const mrc_points *points, int64_t z0, int64_t nz, const double *w,
                             double *x)
{
    for (int64_t i = 0; i < nz; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(points, z0 + i);
        for (int64_t k = 0; k < row.count; k++)
            x[row.column[k]] += w[i] * row.value[k];
    }
}

/* ---- Coefficients of P ---- */

/* gamma = y B' + (1 + y t) v on one tile of points. */
static void expand_tile(void *arg, int64_t task, int worker)
{
    const struct mrc_preimage_job *job = arg;
    const mercer_model *model = job->model;
    int64_t m = model->points, l = model->components, z0 = task * TILE,
            nz = mrc_min64(TILE, m - z0);
    int64_t nb = model->basis_points - z0; /* points of the basis in this tile */
    (void)worker;
    for (int64_t i = 0; i < job->batch; i++) {
        double share =
            model->mean_weights ? 1 + mrc_dot(job->y + i * l, model->mean_weights, l) : 1;
        for (int64_t j = 0; j < nz; j++)
            job->gamma[i * m + z0 + j] = model->mean ? share * model->mean[z0 + j] : 0.0;
    }
    if (nb <= 0)
        return;
    for (int64_t p = 0; p < job->batch; p += PANEL)
        mrc_gemm(false, true, PANEL, mrc_min64(nb, nz), l, 1.0, job->y + p * l, l,
                 model->coefficients + z0 * l, l, 1.0, job->gamma + p * m + z0, m);
}

/* dots = gamma K on one block of points, all panels sharing the kernel values. */
static void search_block(void *arg, int64_t task, int worker)
{
    struct mrc_preimage_job *job = arg;
    const mercer_model *model = job->model;
    int64_t m = model->points, b0 = task * BLOCK, nb = mrc_min64(BLOCK, m - b0);
    double *k = job->scratch + worker * job->scratch_size; /* TILE x BLOCK */
    if (mrc_check_cancel(job->ctx, NULL) != MERCER_OK)
        return;
    for (int64_t i = 0; i < job->batch; i++)
        memset(job->dots + i * m + b0, 0, (size_t)nb * sizeof(double));
    for (int64_t z0 = 0; z0 < m; z0 += TILE) {
        int64_t nz = mrc_min64(TILE, m - z0);
        mrc_kernel_tile(&model->kernel, job->ctx, job->points, z0, nz, job->points, b0, nb, k,
                        BLOCK);
        for (int64_t p = 0; p < job->batch; p += PANEL)
            mrc_gemm(false, false, PANEL, nb, nz, 1.0, job->gamma + p * m + z0, m, k, BLOCK, 1.0,
                     job->dots + p * m + b0, m);
    }
    mrc_kernel_diag(&model->kernel, job->ctx, job->points, b0, nb, job->diag + b0);
}

/* The STARTS points with the smallest f, best first; the lower index wins a tie. Returns how many
 * there are. */
static int best_points(const struct mrc_preimage_job *job, int64_t row, int64_t best[STARTS])
{
    int64_t m = job->model->points;
    const double *dots = job->dots + row * m;
    double f[STARTS];
    int count = 0;
    for (int64_t i = 0; i < m; i++) {
        double value = job->diag[i] - 2 * dots[i];
        if (count == STARTS && !(value < f[STARTS - 1]))
            continue;
        int at = count < STARTS ? count++ : STARTS - 1;
        for (; at > 0 && value < f[at - 1]; at--) {
            f[at] = f[at - 1];
            best[at] = best[at - 1];
        }
        f[at] = value;
        best[at] = i;
    }
    return count;
}

/* ---- Iterates that move together ---- */

static int64_t slots_size(const mercer_model *model, const mrc_preimage *preimage)
{
    int64_t d = model->columns;
    int64_t size = SLOTS * (3 * d + TILE);
    if (preimage->extra)
        size += preimage->extra(model);
    return size > TILE * BLOCK ? size : TILE * BLOCK;
}

void mrc_slots_init(struct mrc_slots *slots, struct mrc_preimage_job *job, int64_t task, int worker)
{
    int64_t d = job->model->columns;
    double *scratch = job->scratch + worker * job->scratch_size;
    slots->job = job;
    slots->x = scratch;
    slots->best_x = slots->x + SLOTS * d;
    slots->sum = slots->best_x + SLOTS * d;
    slots->tile = slots->sum + SLOTS * d;
    slots->extra = slots->tile + SLOTS * TILE;
    memset(slots->x, 0, (size_t)(2 * SLOTS * d) * sizeof(double));
    for (int s = 0; s < SLOTS; s++) {
        slots->row[s] = -1;
        slots->active[s] = false;
        slots->best[s] = INFINITY;
        slots->noise[s] = 0;
    }
    for (int r = 0; r < ROWS_PER_TASK; r++) {
        int64_t row = task * ROWS_PER_TASK + r, points[STARTS];
        int found = row < job->count ? best_points(job, row, points) : 0;
        for (int k = 0; k < found; k++) {
            int s = r * STARTS + k;
            slots->row[s] = row;
            slots->active[s] = true;
            mercer_rows_copy(job->model->z_rows, points[k], 1, slots->x + s * d);
        }
    }
}

void mrc_slots_add_points(struct mrc_slots *slots, const double *points, int64_t z0, int64_t nz)
{
    const mercer_model *model = slots->job->model;
    int64_t d = model->columns;
    if (!model->z_csr.start)
        mrc_gemm(false, false, SLOTS, d, nz, 1.0, slots->tile, TILE, points + z0 * d, d, 1.0,
                 slots->sum, d);
    for (int s = 0; model->z_csr.start && s < SLOTS; s++)
        if (slots->active[s])
            mrc_preimage_add_sparse(slots->job->points, z0, nz, slots->tile + s * TILE,
                                    slots->sum + s * d);
}

/* Near an optimum f is flat, and rounding alone would pick one of the last iterates: among those
 * whose f differ by no more than rounding the latest, which is nearest to the end, is kept. */
void mrc_slots_keep_best(struct mrc_slots *slots, int s, double f)
{
    int64_t d = slots->job->model->columns;
    if (!(f <= slots->best[s] + slots->noise[s]))
        return;
    slots->best[s] = fmin(f, slots->best[s]);
    memcpy(slots->best_x + s * d, slots->x + s * d, (size_t)d * sizeof(double));
}

bool mrc_slots_any_active(const struct mrc_slots *slots)
{
    if (mrc_check_cancel(slots->job->ctx, NULL) != MERCER_OK)
        return false;
    for (int s = 0; s < SLOTS; s++)
        if (slots->active[s])
            return true;
    return false;
}

/* The best start of each row is its result; the first of several that are as good. */
void mrc_slots_finish(const struct mrc_slots *slots, struct mrc_preimage_job *job)
{
    int64_t d = job->model->columns, m = job->model->points;
    for (int r = 0; r < ROWS_PER_TASK; r++) {
        int best = r * STARTS;
        for (int s = best + 1; s < (r + 1) * STARTS; s++)
            if (slots->best[s] < slots->best[best] - slots->noise[best])
                best = s;
        int64_t row = slots->row[best];
        if (row < 0)
            continue;
        memcpy(job->x + row * d, slots->best_x + best * d, (size_t)d * sizeof(double));
        double norm2 = mrc_dot(job->gamma + row * m, job->dots + row * m, m);
        job->value[row] = fmax(0.0, norm2 + slots->best[best]);
    }
}

/* ---- The whole ---- */

static mercer_status check_inverse(const mercer_model *model, const double *features, int64_t n,
                                   mercer_error *err)
{
    const mrc_kernel *kernel = &model->kernel;
    const mrc_preimage *preimage = mrc_preimage_of(kernel);
    if (!model->orthonormal)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "pre-images need an orthonormal basis, which '%s' does not give",
                        model->method);
    if (!preimage) {
        char kernels[128];
        list_known(kernels, sizeof kernels);
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "pre-images: not for kernel '%s' (%s have them)", mrc_kernel_name(kernel),
                        kernels);
    }
    const mrc_map map = mrc_map_of(model);
    const char *lost = model->map_weights ? mrc_map_refusal(&map) : NULL;
    if (lost)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED, "pre-images: the map of this model %s", lost);
    const char *refusal = preimage->refusal ? preimage->refusal(&kernel->part[0]) : NULL;
    if (refusal)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED, "pre-images: %s", refusal);
    for (int64_t i = 0; i < n * model->components; i++)
        if (!isfinite(features[i]))
            return mrc_fail_at(err, MERCER_ERR_DATA,
                               MRC_AT(.row = i / model->components + 1,
                                      .column_number = i % model->components + 1),
                               "row %lld: feature %lld is not finite",
                               (long long)(i / model->components + 1),
                               (long long)(i % model->components + 1));
    return MERCER_OK;
}

/* Features of the batch as coefficients of the w_j. */
static void load_batch(struct mrc_preimage_job *job, const double *features)
{
    const mercer_model *model = job->model;
    int64_t l = model->components;
    memset(job->y, 0, (size_t)(job->batch * l) * sizeof(double));
    for (int64_t i = 0; i < job->count; i++)
        for (int64_t j = 0; j < l; j++) {
            /* Without a mean the offsets do not belong to the projection. */
            double offset = model->mean ? 0.0 : model->offsets[j];
            job->y[i * l + j] = features[(job->first + i) * l + j] - offset;
        }
}

static mercer_status run_batch(struct mrc_preimage_job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t m = model->points, tasks = (job->count + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_check_cancel(job->ctx, err));
    MRC_TRY(mrc_parfor_checked(job->ctx, (m + TILE - 1) / TILE, expand_tile, job, err));
    if (job->preimage->solve) {
        MRC_TRY(job->preimage->solve(job, err));
    } else {
        MRC_TRY(mrc_parfor_checked(job->ctx, (m + BLOCK - 1) / BLOCK, search_block, job, err));
        MRC_TRY(mrc_parfor_checked(job->ctx, tasks, job->preimage->iterate, job, err));
    }
    if (job->out_of_memory)
        MRC_FAIL(err, MERCER_ERR_MEMORY, "out of memory (pre-images)");
    const mrc_map map = mrc_map_of(model); /* as wide as the rows: else it was refused */
    if (model->map_weights)
        MRC_TRY(mrc_map_undo(job->ctx, &map, job->x, job->count, err));
    mrc_scale_undo(&model->scale, job->x, job->count, model->columns);
out:
    return rc;
}

/* The points as doubles. */
static mercer_status open_points(struct mrc_preimage_job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    mercer_status rc = MERCER_OK;
    job->z = model->z;
    if (!model->z_packed) {
        rc = mrc_model_points(model, job->ctx, &job->points, err);
        goto out;
    }
    MRC_TRY(mrc_rows_widen(model->z_rows, &job->wide, err));
    MRC_TRY(mrc_points_init(&job->wide_points, job->ctx, &model->kernel, job->wide, NULL, err));
    job->z = job->wide->x;
    job->points = &job->wide_points;
out:
    return rc;
}

static mercer_status job_init(struct mrc_preimage_job *job, int64_t n, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t m = model->points, panels = (n + PANEL - 1) / PANEL;
    mercer_status rc = MERCER_OK;

    panels = mrc_min64(panels, MAX_PANELS);
    while (panels > 1 && panels * PANEL * m > PANEL_DOUBLES)
        panels--;
    job->batch = panels * PANEL;
    MRC_TRY(open_points(job, err));
    MRC_TRY(mrc_alloc2(&job->y, job->batch, model->components, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&job->x, job->batch, model->columns, sizeof(double), err));
    MRC_TRY(mrc_alloc(&job->value, job->batch, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&job->gamma, job->batch, m, sizeof(double), err));
    if (job->preimage->solve)
        goto out;
    MRC_TRY(mrc_alloc2_raw(&job->dots, job->batch, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&job->diag, m, sizeof(double), err));
    if (job->preimage->prepare)
        MRC_TRY(job->preimage->prepare(job, err));
    job->scratch_size = slots_size(model, job->preimage);
    MRC_TRY(
        mrc_alloc2_raw(&job->scratch, job->ctx->threads, job->scratch_size, sizeof(double), err));
out:
    return rc;
}

static void job_destroy(struct mrc_preimage_job *job)
{
    mrc_points_destroy(&job->wide_points);
    mercer_rows_free(job->wide);
    mrc_free(job->y);
    mrc_free(job->x);
    mrc_free(job->value);
    mrc_free(job->gamma);
    mrc_free(job->dots);
    mrc_free(job->diag);
    mrc_free(job->center);
    mrc_free(job->centered);
    mrc_free(job->scratch);
}

mercer_status mercer_model_inverse(mercer_ctx *ctx, const mercer_model *model,
                                   const double *features, int64_t n, double *out, double *errors,
                                   mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(model);
    MRC_NEED(features);
    MRC_NEED(out);
    struct mrc_preimage_job job = {
        .ctx = ctx, .model = model, .preimage = mrc_preimage_of(&model->kernel)};
    int64_t d = model->columns;
    mercer_status rc = MERCER_OK;

    MRC_TRY(check_inverse(model, features, n, err));
    if (n == 0)
        goto out;
    if (!scales_columns(model))
        mrc_notice(ctx, "the row scaling '%s' cannot be undone: pre-images are in scaled units",
                   mrc_scale_name(model->scale.kind));
    MRC_TRY(job_init(&job, n, err));
    for (job.first = 0; job.first < n; job.first += job.count) {
        job.count = mrc_min64(job.batch, n - job.first);
        mrc_progress(ctx, "inverse", (double)job.first / (double)n);
        load_batch(&job, features);
        MRC_TRY(run_batch(&job, err));
        memcpy(out + job.first * d, job.x, (size_t)(job.count * d) * sizeof(double));
        if (errors)
            memcpy(errors + job.first, job.value, (size_t)job.count * sizeof(double));
    }
    mrc_progress(ctx, "inverse", 1.0);
out:
    job_destroy(&job);
    return rc;
}
