/* Features of new rows: features(x) = B' k(Z, x) + b, and squared reconstruction errors.
 *
 * Rows go in groups of chunks of 64; a chunk is multiplied tile by tile of Z, k(x, Z_tile) times
 * [B, v]_tile, so that one product gives the features and the mean term. Cost per row: m (d + l)
 * multiply-adds and m kernel values; the points from m' on are visited only when errors are
 * wanted, because they carry nothing but the mean. With orthonormal basis vectors
 *
 *   error(x) = k^(x,x) - |y|^2,   k^(x,x) = k(x,x) - 2 v'k(Z,x) + g   (k(x,x) without centring)
 *
 * A collapsed linear model has features W'(x - c) and, without cancellation, |x - c - W y|^2.
 *
 * A row gives the same bits whatever stands beside it: BLAS picks other inner loops for other
 * shapes, so every chunk is padded to the full height and every product has the same shape. */
#include "linalg/linalg.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK = 64, /* rows per product. Higher: fewer passes over Z, but more padding for one row */
    TILE = 256, /* points per product. CHUNK x TILE kernel values should stay in the L2 cache */
    GROUP_CHUNKS = 64,      /* chunks between two looks at cancellation, at most */
    GROUP_DOUBLES = 1 << 22 /* copied values per group, unless the threads need more chunks */
};

struct job {
    mercer_ctx *ctx;
    const mercer_model *model;
    const mercer_rows *rows;
    const int64_t *map; /* column of rows for each model column or kept point; NULL: the same */
    const double *self;
    double *out, *errors;
    int64_t first, count; /* rows of this group */
    double *x;            /* group of scaled rows, padded to whole chunks */
    mrc_points points;    /* the same, prepared for the kernel */
    double *scratch;      /* per worker */
    int64_t scratch_size;
};

mercer_status mrc_model_map_columns(const mercer_model *model, const mercer_rows *rows,
                                    int64_t *map, mercer_error *err)
{
    if (!model->column_names || !rows->names) {
        if (rows->d != model->columns)
            return mrc_fail(err, MERCER_ERR_DATA, "%lld column%s where %lld %s expected",
                            (long long)rows->d, rows->d == 1 ? "" : "s", (long long)model->columns,
                            model->columns == 1 ? "was" : "were");
        for (int64_t j = 0; j < model->columns; j++)
            map[j] = j;
        return MERCER_OK;
    }
    for (int64_t j = 0; j < model->columns; j++) {
        const char *name = model->column_names[j];
        /* The usual case, and the only sensible reading of a name that occurs twice. */
        if (j < rows->d && strcmp(rows->names[j], name) == 0)
            map[j] = j;
        else
            map[j] = mrc_rows_find(rows, name);
        if (map[j] < 0)
            return mrc_fail(err, MERCER_ERR_DATA,
                            "column '%s' is missing (the model was fitted with it)", name);
    }
    return MERCER_OK;
}

/* Which column of rows holds the kernel value of each kept point. */
static mercer_status map_points(const mercer_model *model, const mercer_rows *rows, int64_t *map,
                                mercer_error *err)
{
    bool kept_only = rows->d == model->points;
    if (!kept_only && rows->d != model->columns)
        return mrc_fail(err, MERCER_ERR_DATA,
                        model->points == model->columns
                            ? "%lld columns where %lld were expected"
                            : "%lld columns where %lld (training rows) or %lld (kept points) were "
                              "expected",
                        (long long)rows->d, (long long)model->columns, (long long)model->points);
    for (int64_t i = 0; i < model->points; i++)
        map[i] = kept_only ? i : model->selected[i];
    return MERCER_OK;
}

static bool has_rows(const mercer_model *model)
{
    return model->kernel.kind != MRC_KERNEL_precomputed;
}

static int64_t rows_of_chunk(const struct job *job, int64_t task)
{
    int64_t left = job->count - task * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

/* Copy one chunk in the model's column order, scaled; the rest of the chunk is zero. */
static void load_chunk(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    int64_t d = job->model->columns, rows = rows_of_chunk(job, task);
    double *x = job->x + task * CHUNK * d;
    (void)worker;
    for (int64_t i = 0; i < rows; i++) {
        const double *from = job->rows->x + (job->first + task * CHUNK + i) * job->rows->ld;
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = from[job->map[j]];
    }
    mrc_scale_apply(&job->model->scale, x, rows, d);
    memset(x + rows * d, 0, (size_t)((CHUNK - rows) * d) * sizeof(double));
}

/* k (CHUNK x TILE) = kernel values between a chunk and points [z0, z0 + nz). */
static void kernel_values(const struct job *job, int64_t task, int64_t z0, int64_t nz, double *k)
{
    const mercer_model *model = job->model;
    if (has_rows(model)) {
        mrc_kernel_tile(&model->kernel, job->ctx->simd, &job->points, task * CHUNK, CHUNK,
                        &model->z_points, z0, nz, k, TILE);
        return;
    }
    int64_t rows = rows_of_chunk(job, task);
    for (int64_t i = 0; i < rows; i++) {
        const double *from = job->rows->x + (job->first + task * CHUNK + i) * job->rows->ld;
        for (int64_t j = 0; j < nz; j++)
            k[i * TILE + j] = from[job->map[z0 + j]];
    }
    memset(k + rows * TILE, 0, (size_t)((CHUNK - rows) * TILE) * sizeof(double));
}

static void project_chunk(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t l = model->components, ld = l + 1, rows = rows_of_chunk(job, task);
    int64_t width = model->mean ? l + 1 : l; /* the same with and without errors: same bits */
    double *sums = job->scratch + worker * job->scratch_size; /* CHUNK x ld */
    double *k = sums + CHUNK * ld;                            /* CHUNK x TILE */
    double diag[CHUNK];

    if (mrc_check_cancel(job->ctx, NULL) != MERCER_OK)
        return;
    memset(sums, 0, (size_t)(CHUNK * ld) * sizeof(double));
    for (int64_t z0 = 0; z0 < model->basis_points; z0 += TILE) {
        int64_t nz = model->basis_points - z0 < TILE ? model->basis_points - z0 : TILE;
        kernel_values(job, task, z0, nz, k);
        mrc_gemm(false, false, CHUNK, width, nz, 1.0, k, TILE, model->extended + z0 * ld, ld, 1.0,
                 sums, ld);
    }
    if (job->errors && model->mean)
        for (int64_t z0 = model->basis_points; z0 < model->points; z0 += TILE) {
            int64_t nz = model->points - z0 < TILE ? model->points - z0 : TILE;
            kernel_values(job, task, z0, nz, k);
            mrc_gemm(false, false, CHUNK, 1, nz, 1.0, k, TILE, model->mean + z0, 1, 1.0, sums + l,
                     ld);
        }
    int64_t at = job->first + task * CHUNK;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < l; j++)
            job->out[(at + i) * l + j] = sums[i * ld + j] + model->offsets[j];
    if (!job->errors)
        return;
    if (has_rows(model))
        mrc_kernel_diag(&model->kernel, &job->points, task * CHUNK, rows, diag);
    else
        memcpy(diag, job->self + at, (size_t)rows * sizeof(double));
    bool clip = mrc_kernel_is_semidefinite(&model->kernel); /* then a negative error is rounding */
    for (int64_t i = 0; i < rows; i++) {
        double left = diag[i];
        if (model->mean)
            left += model->mean_norm2 - 2 * sums[i * ld + l];
        for (int64_t j = 0; j < l; j++) {
            /* Without a mean the offsets are no part of the projection. */
            double y = sums[i * ld + j] + (model->mean ? model->offsets[j] : 0.0);
            left -= y * y;
        }
        job->errors[at + i] = clip && left < 0 ? 0.0 : left;
    }
}

/* tile (CHUNK x TILE) = columns [c0, c0 + nc) of a chunk, minus the centre. */
static void centred_columns(const struct job *job, int64_t task, int64_t c0, int64_t nc,
                            double *tile)
{
    int64_t d = job->model->columns;
    const double *x = job->x + task * CHUNK * d, *center = job->model->input_center;
    for (int64_t i = 0; i < CHUNK; i++)
        for (int64_t j = 0; j < nc; j++)
            tile[i * TILE + j] = x[i * d + c0 + j] - (center ? center[c0 + j] : 0.0);
}

static void project_chunk_collapsed(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t l = model->components, d = model->columns, rows = rows_of_chunk(job, task);
    double *sums = job->scratch + worker * job->scratch_size; /* CHUNK x l */
    double *tile = sums + CHUNK * (l + 1);                    /* CHUNK x TILE */
    int64_t at = job->first + task * CHUNK;

    if (mrc_check_cancel(job->ctx, NULL) != MERCER_OK)
        return;
    memset(sums, 0, (size_t)(CHUNK * l) * sizeof(double));
    for (int64_t c0 = 0; c0 < d; c0 += TILE) {
        int64_t nc = d - c0 < TILE ? d - c0 : TILE;
        centred_columns(job, task, c0, nc, tile);
        mrc_gemm(false, false, CHUNK, l, nc, 1.0, tile, TILE, model->weights + c0 * l, l, 1.0, sums,
                 l);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < l; j++)
            job->out[(at + i) * l + j] = sums[i * l + j] + model->offsets[j];
    if (!job->errors)
        return;
    for (int64_t i = 0; i < rows; i++)
        job->errors[at + i] = 0;
    for (int64_t c0 = 0; c0 < d; c0 += TILE) {
        int64_t nc = d - c0 < TILE ? d - c0 : TILE;
        centred_columns(job, task, c0, nc, tile);
        mrc_gemm(false, true, CHUNK, nc, l, -1.0, sums, l, model->weights + c0 * l, l, 1.0, tile,
                 TILE);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < nc; j++)
                job->errors[at + i] += tile[i * TILE + j] * tile[i * TILE + j];
    }
}

static mercer_status check_errors(const mercer_model *model, const mercer_rows *rows,
                                  const double *self, mercer_error *err)
{
    if (!model->orthonormal)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "reconstruction errors need an orthonormal basis, which '%s' does not give",
                        model->method);
    if (has_rows(model))
        return MERCER_OK;
    if (!self)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "reconstruction errors with a precomputed kernel need k(x,x) of the rows");
    for (int64_t i = 0; i < rows->n; i++)
        if (!isfinite(self[i]))
            return mrc_fail(err, MERCER_ERR_DATA, "k(x,x) of row %lld is not finite",
                            (long long)i + 1);
    return MERCER_OK;
}

/* Chunks per group: enough for every thread, else as many as fit into GROUP_DOUBLES. */
static int64_t group_chunks(const mercer_ctx *ctx, int64_t rows, int64_t d)
{
    int64_t all = (rows + CHUNK - 1) / CHUNK, chunks = GROUP_DOUBLES / CHUNK / d;
    if (chunks > GROUP_CHUNKS)
        chunks = GROUP_CHUNKS;
    if (chunks < ctx->threads)
        chunks = ctx->threads;
    return chunks < all ? chunks : all;
}

static mercer_status run_group(struct job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t chunks = (job->count + CHUNK - 1) / CHUNK;
    mercer_rows group = {.n = chunks * CHUNK, .d = model->columns, .ld = model->columns};
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_check_cancel(job->ctx, err));
    if (has_rows(model)) {
        mrc_parfor(job->ctx, chunks, load_chunk, job);
        group.x = job->x;
        MRC_TRY(mrc_kernel_check_rows(&model->kernel, &group, job->first, err));
        if (model->z)
            MRC_TRY(mrc_points_init(&job->points, job->ctx, &model->kernel, &group,
                                    &model->z_points, err));
    }
    mrc_parfor(job->ctx, chunks, model->points ? project_chunk : project_chunk_collapsed, job);
    MRC_TRY(mrc_check_cancel(job->ctx, err));
    for (int64_t i = job->first * model->components;
         i < (job->first + job->count) * model->components; i++)
        if (!isfinite(job->out[i]))
            MRC_FAIL(err, MERCER_ERR_DATA,
                     "row %lld is too large: its kernel values with the training rows overflow",
                     (long long)(i / model->components + 1));
out:
    mrc_points_destroy(&job->points);
    memset(&job->points, 0, sizeof job->points);
    return rc;
}

mercer_status mercer_model_transform(mercer_ctx *ctx, const mercer_model *model,
                                     const mercer_rows *rows, const double *self, double *out,
                                     double *errors, mercer_error *err)
{
    struct job job = {
        .ctx = ctx, .model = model, .rows = rows, .self = self, .out = out, .errors = errors};
    int64_t *map = NULL;
    double *x = NULL, *scratch = NULL;
    int64_t chunks = group_chunks(ctx, rows->n, model->columns);
    mercer_status rc = MERCER_OK;

    if (errors)
        MRC_TRY(check_errors(model, rows, self, err));
    if (has_rows(model)) {
        MRC_TRY(mrc_alloc(&map, model->columns, sizeof *map, err));
        MRC_TRY(mrc_model_map_columns(model, rows, map, err));
        MRC_TRY(mrc_alloc2_raw(&x, chunks * CHUNK, model->columns, sizeof *x, err));
    } else {
        MRC_TRY(mrc_alloc(&map, model->points, sizeof *map, err));
        MRC_TRY(map_points(model, rows, map, err));
    }
    job.scratch_size = CHUNK * (model->components + 1 + TILE);
    MRC_TRY(mrc_alloc2_raw(&scratch, ctx->threads, job.scratch_size, sizeof *scratch, err));
    job.map = map;
    job.x = x;
    job.scratch = scratch;
    for (job.first = 0; job.first < rows->n; job.first += job.count) {
        int64_t left = rows->n - job.first;
        job.count = left < chunks * CHUNK ? left : chunks * CHUNK;
        mrc_progress(ctx, "transform", (double)job.first / (double)rows->n);
        MRC_TRY(run_group(&job, err));
    }
    mrc_progress(ctx, "transform", 1.0);
out:
    mrc_free(map);
    mrc_free(x);
    mrc_free(scratch);
    return rc;
}
