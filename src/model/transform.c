/* SPDX-License-Identifier: BSD-3-Clause */
/* Features of new rows: features(x) = B' k(Z, x) + t mean(x) + b, and squared reconstruction
 * errors.
 *
 * Rows go in groups of chunks of 64; a chunk is multiplied tile by tile of Z, k(x, Z_tile) times
 * [B, v]_tile, so that one product gives the features and the mean term. Cost per row: m (d + l)
 * multiply-adds and m kernel values; the points from m' on carry nothing but the mean and are
 * visited only when it is needed: for errors, or when features have a share t of it. With
 * orthonormal basis vectors
 *
 *   error(x) = k^(x,x) - |y|^2,   k^(x,x) = k(x,x) - 2 v'k(Z,x) + g   (k(x,x) without centring)
 *
 * Of predictions (krr) the variance stands in its place, s^2 (k^(x,x) - |T'k(Z, x) + t|^2 + floor).
 *
 * A collapsed linear model has features W'(x - c) and, without cancellation, |x - c - W y|^2.
 *
 * Sparse rows stay sparse with a model of sparse points, and with a collapsed one, where a feature
 * is a sum over the row's entries; dense points need them dense, a chunk at a time. Dense rows are
 * made sparse for sparse points.
 *
 * A row gives the same bits whatever stands beside it: BLAS picks other inner loops for other
 * shapes, so every chunk is padded to the full height and every product has the same shape. For a
 * few rows this is most of the work. So before the first few rows of a model its products are
 * tried with numbers drawn at random: if loops of our own give each row the bits of a full chunk,
 * as they do where BLAS adds up each sum in order with fused multiply-add, they are used, else
 * chunks of less height, if those do. Which inner loops BLAS takes depends on shapes alone. */
#include "linalg/linalg.h"
#include "model/map.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    CHUNK = 64, /* rows per product. Higher: fewer passes over Z, but more padding for one row */
    FEW = 8,    /* rows that need no full chunk; more would be slower one by one */
    TILE = 256, /* points per product. CHUNK x TILE kernel values should stay in the L2 cache */
    GROUP_CHUNKS = 64,      /* chunks between two looks at cancellation, at most */
    GROUP_DOUBLES = 1 << 22 /* copied values per group, unless the threads need more chunks */
};

/* What the products of a trial are added to; as large as their terms, so that it hides none. */
static const double START = 0.1;

/* How few rows are transformed. */
enum way { UNKNOWN, IN_CHUNKS, IN_SHORT_CHUNKS, ONE_BY_ONE };

struct job {
    mercer_ctx *ctx;
    const mercer_model *model;
    const mercer_rows *rows;
    const mrc_points *z; /* Z prepared for the kernel */
    int64_t *map;        /* column of rows for each model column or kept point; NULL: the same */
    const double *self;
    double *out;          /* features of this group */
    double *errors;       /* of all rows */
    int64_t first, count; /* rows of this group */
    int64_t height;       /* rows of its chunks, with those that only pad */
    bool one_by_one;      /* products by mrc_gemm_rows() */
    bool sparse;          /* the group is sparse */
    int64_t *place;       /* of sparse rows: model column of each column, or -1 */
    double *raw;          /* per worker: a chunk before the map, if there is one */
    double *x;            /* group of rows as the kernel sees them, padded to whole chunks; or */
    mercer_rows *group;   /* the same, sparse */
    double *center_dots;  /* collapsed, sparse: W' c */
    int64_t *known;       /* places of the group in the set that Z was taken from, too; or NULL */
    mrc_points points;    /* the group prepared for the kernel */
    double *scratch;      /* per worker */
    int64_t scratch_size;
    bool asks_host; /* for kernel values */
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

mercer_status mrc_model_arrange(const mercer_model *model, const mercer_rows *rows, bool sparse,
                                mercer_rows **out, mercer_error *err)
{
    int64_t *map = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&map, model->columns, sizeof *map, err));
    MRC_TRY(mrc_model_map_columns(model, rows, map, err));
    MRC_TRY(mrc_rows_arrange(rows, map, model->columns, sparse, out, err));
out:
    mrc_free(map);
    return rc;
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
    return !mrc_kernel_is_precomputed(&model->kernel);
}

static int64_t rows_of_chunk(const struct job *job, int64_t task)
{
    int64_t left = job->count - task * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

/* Mapped columns [first, first + count) of a dense or packed row. */
static void load_values(const struct job *job, int64_t row, int64_t first, int64_t count, double *x)
{
    const int64_t *map = job->map + first;
    const double *from = job->rows->x ? job->rows->x + row * job->rows->ld : NULL;
    for (int64_t j = 0; from && j < count; j++)
        x[j] = from[map[j]];
    for (int64_t j = 0; !from && j < count; j++)
        x[j] = mrc_rows_at(job->rows, row, map[j]);
}

/* Copy one row in the model's column order. */
static void load_row(const struct job *job, int64_t row, double *x)
{
    int64_t d = job->model->columns;
    const mrc_csr *csr = &job->rows->csr;
    if (!csr->start) {
        load_values(job, row, 0, d, x);
        return;
    }
    memset(x, 0, (size_t)d * sizeof *x);
    for (int64_t k = csr->start[row]; k < csr->start[row + 1]; k++)
        if (job->place[csr->column[k]] >= 0)
            x[job->place[csr->column[k]]] = csr->value[k];
}

/* Copy one chunk in the model's column order, scaled and mapped; the rest of the chunk is zero. */
static void load_chunk(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t d = model->columns, width = mrc_model_width(model), rows = rows_of_chunk(job, task);
    double *to = job->x + task * CHUNK * width, *x = job->raw ? job->raw + worker * CHUNK * d : to;
    for (int64_t i = 0; i < rows; i++)
        load_row(job, job->first + task * CHUNK + i, x + i * d);
    mrc_scale_apply(&model->scale, x, rows, d);
    if (job->raw) {
        const mrc_map map = mrc_map_of(model);
        mrc_map_apply(&map, job->ctx->simd, x, rows, to);
    }
    memset(to + rows * width, 0, (size_t)((job->height - rows) * width) * sizeof(double));
}

/* Append an entry to a row that starts at `start`, keeping its columns in order. */
static void insert_entry(mrc_csr_owned *csr, int64_t start, int64_t *end, int64_t column,
                         double value)
{
    int64_t at = (*end)++;
    for (; at > start && csr->column[at - 1] > column; at--) {
        csr->column[at] = csr->column[at - 1];
        csr->value[at] = csr->value[at - 1];
    }
    csr->column[at] = (int32_t)column;
    csr->value[at] = value;
}

/* Entries of a row that are not zero, in the model's columns. */
static void append_row(const struct job *job, int64_t row, mrc_csr_owned *csr, int64_t *end)
{
    const mercer_rows *rows = job->rows;
    int64_t start = *end;
    if (!rows->csr.start) {
        for (int64_t j = 0; j < job->model->columns; j++) {
            double value = mrc_rows_at(rows, row, job->map[j]);
            if (value != 0)
                insert_entry(csr, start, end, j, value);
        }
        return;
    }
    for (int64_t k = rows->csr.start[row]; k < rows->csr.start[row + 1]; k++)
        if (job->place[rows->csr.column[k]] >= 0)
            insert_entry(csr, start, end, job->place[rows->csr.column[k]], rows->csr.value[k]);
}

/* Most entries that rows first .. first + count can have. */
static int64_t entries_of(const mercer_rows *rows, int64_t first, int64_t count)
{
    if (rows->csr.start)
        return rows->csr.start[first + count] - rows->csr.start[first];
    int64_t entries = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < rows->d; j++)
            entries += mrc_rows_at(rows, first + i, j) != 0;
    return entries;
}

/* The group as sparse rows, scaled, with empty rows up to whole chunks. */
static mercer_status load_sparse(struct job *job, int64_t padded, mercer_error *err)
{
    mrc_csr_owned csr = {0};
    mercer_rows *scaled = NULL;
    int64_t most = entries_of(job->rows, job->first, job->count), end = 0;
    mercer_status rc = MERCER_OK;

    mercer_rows_free(job->group);
    job->group = NULL;
    MRC_TRY(mrc_alloc(&csr.start, padded + 1, sizeof *csr.start, err));
    MRC_TRY(mrc_alloc2_raw(&csr.column, most, 1, sizeof *csr.column, err));
    MRC_TRY(mrc_alloc2_raw(&csr.value, most, 1, sizeof *csr.value, err));
    for (int64_t i = 0; i < padded; i++) {
        if (i < job->count)
            append_row(job, job->first + i, &csr, &end);
        csr.start[i + 1] = end;
    }
    MRC_TRY(mrc_rows_adopt_csr(&csr, padded, job->model->columns, &job->group, err));
    if (job->model->scale.kind != MRC_SCALE_NONE) {
        MRC_TRY(mrc_scale_rows(&job->model->scale, job->group, &scaled, err));
        mercer_rows_free(job->group);
        job->group = scaled;
    }
    if (job->model->map_weights) {
        const mrc_map map = mrc_map_of(job->model);
        mercer_rows *mapped = NULL;
        MRC_TRY(mrc_map_rows(job->ctx, &map, job->group, &mapped, err));
        mercer_rows_free(job->group);
        job->group = mapped;
    }
out:
    mrc_csr_owned_destroy(&csr);
    return rc;
}

/* c (height x n) += alpha a b, or a b'. */
static void add_product(const struct job *job, bool transpose_b, int64_t n, int64_t k, double alpha,
                        const double *a, int64_t lda, const double *b, int64_t ldb, double *c,
                        int64_t ldc)
{
    if (job->one_by_one)
        mrc_gemm_rows(job->ctx->simd, transpose_b, job->height, n, k, alpha, a, lda, b, ldb, 1, c,
                      ldc);
    else
        mrc_gemm(false, transpose_b, job->height, n, k, alpha, a, lda, b, ldb, 1, c, ldc);
}

/* k (height x TILE) = kernel values between a chunk and points [z0, z0 + nz); behind k is room for
 * a window of the points. */
static void kernel_values(const struct job *job, int64_t task, int64_t z0, int64_t nz, double *k)
{
    const mercer_model *model = job->model;
    int64_t rows = rows_of_chunk(job, task);
    if (has_rows(model)) {
        mrc_points own;
        const mrc_points *z = mrc_points_window(job->z, &z0, nz, k + job->height * TILE, &own);
        /* Beyond the last row there are zeroes, which a function of the host may not be for. */
        int64_t count = job->asks_host ? rows : job->height;
        mrc_kernel_tile(&model->kernel, job->ctx, &job->points, task * CHUNK, count, z, z0, nz, k,
                        TILE);
        memset(k + count * TILE, 0, (size_t)((job->height - count) * TILE) * sizeof(double));
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        load_values(job, job->first + task * CHUNK + i, z0, nz, k + i * TILE);
    memset(k + rows * TILE, 0, (size_t)((job->height - rows) * TILE) * sizeof(double));
}

/* Room for T'u of a chunk, zeroed, where errors are variances; else NULL. */
static double *variance_sums(const struct job *job, int worker)
{
    const mercer_model *model = job->model;
    if (!job->errors || !model->variance)
        return NULL;
    size_t count = (size_t)(job->height * model->variance_rank);
    double *turned = job->scratch + (worker + 1) * job->scratch_size - count;
    memset(turned, 0, count * sizeof *turned);
    return turned;
}

/* Add the part of u, height x TILE of it, from row z0 of T on. */
static void add_variance(const struct job *job, const double *u, int64_t z0, int64_t nz,
                         double *turned)
{
    int64_t q = job->model->variance_rank;
    if (turned)
        add_product(job, false, q, nz, 1.0, u, TILE, job->model->variance + z0 * q, q, turned, q);
}

/* From k^(x,x) and T'u to the variance; below 0 is rounding. */
static double variance_of(const mercer_model *model, double self, const double *turned)
{
    for (int64_t c = 0; c < model->variance_rank; c++) {
        double y = turned[c] + model->variance_offsets[c];
        self -= y * y;
    }
    return model->variance_scale * (fmax(self, 0) + model->variance_floor);
}

static void project_chunk(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t l = model->components, ld = l + 1, rows = rows_of_chunk(job, task);
    int64_t width = model->mean ? l + 1 : l; /* the same with and without errors: same bits */
    double *sums = job->scratch + worker * job->scratch_size; /* height x ld */
    double *k = sums + job->height * ld;                      /* height x TILE */
    double *turned = variance_sums(job, worker);              /* height x q, or NULL */
    double diag[CHUNK];

    if (mrc_check_cancel(job->ctx, NULL) != MERCER_OK)
        return;
    memset(sums, 0, (size_t)(job->height * ld) * sizeof(double));
    for (int64_t z0 = 0; z0 < model->basis_points; z0 += TILE) {
        int64_t nz = model->basis_points - z0 < TILE ? model->basis_points - z0 : TILE;
        kernel_values(job, task, z0, nz, k);
        add_product(job, false, width, nz, 1.0, k, TILE, model->extended + z0 * ld, ld, sums, ld);
        add_variance(job, k, z0, nz, turned);
    }
    if (model->mean && (job->errors || model->mean_weights))
        for (int64_t z0 = model->basis_points; z0 < model->points; z0 += TILE) {
            int64_t nz = model->points - z0 < TILE ? model->points - z0 : TILE;
            kernel_values(job, task, z0, nz, k);
            add_product(job, false, 1, nz, 1.0, k, TILE, model->mean + z0, 1, sums + l, ld);
        }
    int64_t at = job->first + task * CHUNK;
    for (int64_t i = 0; model->mean_weights && i < rows; i++)
        for (int64_t j = 0; j < l; j++)
            sums[i * ld + j] += model->mean_weights[j] * sums[i * ld + l];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < l; j++)
            job->out[(task * CHUNK + i) * l + j] = sums[i * ld + j] + model->offsets[j];
    if (!job->errors)
        return;
    if (has_rows(model))
        mrc_kernel_diag(&model->kernel, job->ctx, &job->points, task * CHUNK, rows, diag);
    else
        memcpy(diag, job->self + at, (size_t)rows * sizeof(double));
    bool clip = mrc_kernel_is_semidefinite(&model->kernel); /* then a negative error is rounding */
    for (int64_t i = 0; i < rows; i++) {
        double left = diag[i];
        if (model->mean)
            left += model->mean_norm2 - 2 * sums[i * ld + l];
        if (turned) {
            job->errors[at + i] = variance_of(model, left, turned + i * model->variance_rank);
            continue;
        }
        for (int64_t j = 0; j < l; j++) {
            /* Without a mean the offsets do not belong to the projection. */
            double y = sums[i * ld + j] + (model->mean ? model->offsets[j] : 0.0);
            left -= y * y;
        }
        job->errors[at + i] = clip && left < 0 ? 0.0 : left;
    }
}

/* First entry of a sparse row from this column on. */
static int64_t entry_from(const mrc_csr *csr, int64_t row, int64_t column)
{
    int64_t low = csr->start[row], high = csr->start[row + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (csr->column[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* tile (height x TILE) = columns [c0, c0 + nc) of a chunk, minus the centre. */
static void centered_columns(const struct job *job, int64_t task, int64_t c0, int64_t nc,
                             double *tile)
{
    int64_t d = job->model->columns;
    const double *center = job->model->input_center;
    for (int64_t i = 0; i < job->height; i++) {
        const double *x = job->sparse ? NULL : job->x + (task * CHUNK + i) * d + c0;
        for (int64_t j = 0; j < nc; j++)
            tile[i * TILE + j] = (x ? x[j] : 0.0) - (center ? center[c0 + j] : 0.0);
        if (x)
            continue;
        const mrc_csr *csr = &job->group->csr;
        int64_t row = task * CHUNK + i, k = entry_from(csr, row, c0);
        for (; k < csr->start[row + 1] && csr->column[k] < c0 + nc; k++)
            tile[i * TILE + csr->column[k] - c0] += csr->value[k];
    }
}

/* sums (height x l) = W' (x - c) from the entries of sparse rows. */
static void project_entries(const struct job *job, int64_t task, double *sums)
{
    const mrc_csr *csr = &job->group->csr;
    int64_t l = job->model->components;
    for (int64_t i = 0; i < job->height; i++) {
        double *to = sums + i * l;
        for (int64_t j = 0; j < l; j++)
            to[j] = -job->center_dots[j];
        for (int64_t k = csr->start[task * CHUNK + i]; k < csr->start[task * CHUNK + i + 1]; k++) {
            const double *weights = job->model->weights + (int64_t)csr->column[k] * l;
            for (int64_t j = 0; j < l; j++)
                to[j] += csr->value[k] * weights[j];
        }
    }
}

static void project_chunk_collapsed(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t l = model->components, d = model->columns, rows = rows_of_chunk(job, task);
    double *sums = job->scratch + worker * job->scratch_size; /* height x l */
    double *tile = sums + job->height * (l + 1);              /* height x TILE */
    int64_t at = job->first + task * CHUNK;

    if (mrc_check_cancel(job->ctx, NULL) != MERCER_OK)
        return;
    memset(sums, 0, (size_t)(job->height * l) * sizeof(double));
    if (job->sparse)
        project_entries(job, task, sums);
    for (int64_t c0 = 0; c0 < d && !job->sparse; c0 += TILE) {
        int64_t nc = d - c0 < TILE ? d - c0 : TILE;
        centered_columns(job, task, c0, nc, tile);
        add_product(job, false, l, nc, 1.0, tile, TILE, model->weights + c0 * l, l, sums, l);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < l; j++)
            job->out[(task * CHUNK + i) * l + j] = sums[i * l + j] + model->offsets[j];
    if (!job->errors)
        return;
    for (int64_t i = 0; i < rows; i++)
        job->errors[at + i] = 0;
    double *turned = variance_sums(job, worker);
    for (int64_t c0 = 0; c0 < d && turned; c0 += TILE) { /* errors gather |x - c|^2 first */
        int64_t nc = d - c0 < TILE ? d - c0 : TILE;
        centered_columns(job, task, c0, nc, tile);
        add_variance(job, tile, c0, nc, turned);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < nc; j++)
                job->errors[at + i] += tile[i * TILE + j] * tile[i * TILE + j];
    }
    for (int64_t i = 0; turned && i < rows; i++)
        job->errors[at + i] = variance_of(model, job->errors[at + i], turned + i * d);
    if (turned)
        return;
    for (int64_t c0 = 0; c0 < d; c0 += TILE) {
        int64_t nc = d - c0 < TILE ? d - c0 : TILE;
        centered_columns(job, task, c0, nc, tile);
        add_product(job, true, nc, l, -1.0, sums, l, model->weights + c0 * l, l, tile, TILE);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < nc; j++)
                job->errors[at + i] += tile[i * TILE + j] * tile[i * TILE + j];
    }
}

static mercer_status check_errors(const mercer_model *model, const mercer_rows *rows,
                                  const double *self, mercer_error *err)
{
    if (!model->orthonormal && model->head.spec &&
        strncmp(model->head.spec, "direct", strlen("direct")) == 0 && !model->variance)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "this model has no variances of predictions: they need a fit on the "
                        "low-rank store, and a ridge that rounding leaves digits of");
    if (!model->orthonormal && !model->variance)
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
            return mrc_fail_at(err, MERCER_ERR_DATA, MRC_AT(.row = i + 1),
                               "k(x,x) of row %lld is not finite", (long long)i + 1);
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
    int64_t width = mrc_model_width(model);
    mercer_rows dense = {.n = chunks * job->height, .d = width, .ld = width};
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_check_cancel(job->ctx, err));
    if (has_rows(model)) {
        if (job->sparse)
            MRC_TRY(load_sparse(job, dense.n, err));
        else
            MRC_TRY(mrc_parfor_checked(job->ctx, chunks, load_chunk, job, err));
        dense.x = job->x;
        if (job->known) {
            memset(job->known, 0,
                   (size_t)dense.n * sizeof *job->known); /* any row, beyond the end */
            memcpy(job->known, job->rows->place + job->first,
                   (size_t)job->count * sizeof *job->known);
            dense.pairs = job->rows->pairs;
            dense.place = job->known;
        }
        const mercer_rows *group = job->sparse ? job->group : &dense;
        MRC_TRY(mrc_kernel_check_rows(&model->kernel, job->ctx, group, job->first, err));
        if (model->z_rows)
            MRC_TRY(mrc_points_init(&job->points, job->ctx, &model->kernel, group, job->z, err));
        job->points.one_by_one = job->one_by_one;
    }
    MRC_TRY(mrc_parfor_checked(job->ctx, chunks,
                               model->points ? project_chunk : project_chunk_collapsed, job, err));
    for (int64_t i = 0; i < job->count * model->components; i++)
        if (!isfinite(job->out[i]))
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.row = job->first + i / model->components + 1),
                        "row %lld is too large: its kernel values with the training rows overflow",
                        (long long)(job->first + i / model->components + 1));
    for (int64_t i = job->first; job->errors && i < job->first + job->count; i++)
        if (!isfinite(job->errors[i]))
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.row = i + 1),
                        "row %lld is too large: its error overflows", (long long)i + 1);
out:
    mrc_points_destroy(&job->points);
    memset(&job->points, 0, sizeof job->points);
    return rc;
}

/* Where columns of sparse rows go: the map turned round. */
static mercer_status place_columns(struct job *job, mercer_error *err)
{
    mercer_status rc = mrc_alloc(&job->place, job->rows->d, sizeof *job->place, err);
    for (int64_t c = 0; rc == MERCER_OK && c < job->rows->d; c++)
        job->place[c] = -1;
    for (int64_t j = 0; rc == MERCER_OK && j < job->model->columns; j++)
        job->place[job->map[j]] = j;
    return rc;
}

static mercer_status find_center_dots(struct job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t l = model->components;
    mercer_status rc = mrc_alloc(&job->center_dots, l, sizeof(double), err);
    for (int64_t k = 0; rc == MERCER_OK && model->input_center && k < model->columns; k++)
        for (int64_t j = 0; j < l; j++)
            job->center_dots[j] += model->input_center[k] * model->weights[k * l + j];
    return rc;
}

/* Products of a full chunk beside the same made in other ways. All numbers are drawn at random, in
 * place of the model's, too: sums of small weights would be lost beside what they are added to, and
 * zeroes hide the order of a sum. */
struct trial {
    const struct job *job;
    double *a, *full, *other; /* CHUNK rows of `length` numbers each */
    double *b;                /* TILE rows of `length` numbers */
    double *window;           /* of packed points */
    int64_t length;
    bool rows_agree, short_chunks_agree;
};

/* Whether some rows of a product are the same from `first` of the full chunk on. */
static bool agrees(const struct trial *trial, int64_t first, int64_t rows, bool one_by_one,
                   bool transpose_b, int64_t n, int64_t k, int64_t ldb)
{
    int64_t length = trial->length;
    const double *a = trial->a + first * length;
    for (int64_t i = 0; i < rows * length; i++)
        trial->other[i] = START;
    if (one_by_one)
        mrc_gemm_rows(trial->job->ctx->simd, transpose_b, rows, n, k, 1, a, length, trial->b, ldb,
                      1, trial->other, length);
    else
        mrc_gemm(false, transpose_b, rows, n, k, 1, a, length, trial->b, ldb, 1, trial->other,
                 length);
    for (int64_t i = 0; i < rows; i++)
        if (memcmp(trial->full + (first + i) * length, trial->other + i * length,
                   (size_t)n * sizeof(double)) != 0)
            return false;
    return true;
}

/* CHUNK x k times k x n, b' with this many numbers to a row. Different loops round one sum in
 * several alike, so that many are compared: of few columns, those of all rows. */
static void try_product(struct trial *trial, bool transpose_b, int64_t n, int64_t k, int64_t ldb)
{
    int64_t length = trial->length, step = n < FEW ? 1 : FEW + 1;
    for (int64_t i = 0; i < CHUNK * length; i++)
        trial->full[i] = START;
    mrc_gemm(false, transpose_b, CHUNK, n, k, 1, trial->a, length, trial->b, ldb, 1, trial->full,
             length);
    for (int64_t i = 0; i < CHUNK && trial->rows_agree; i += step)
        trial->rows_agree = agrees(trial, i, 1, true, transpose_b, n, k, ldb);
    for (int64_t i = 0; i < CHUNK && trial->short_chunks_agree; i += n < FEW ? FEW : CHUNK)
        trial->short_chunks_agree = agrees(trial, i, FEW, false, transpose_b, n, k, ldb);
}

/* The products of the first and the last tile of points, which stand for all of these. */
static void try_points(struct trial *trial, int64_t first, int64_t end)
{
    const struct job *job = trial->job;
    const mercer_model *model = job->model;
    int64_t l = model->components, q = model->variance_rank;
    bool basis = first < model->basis_points;
    for (int64_t z0 = first, next; z0 < end; z0 = next) {
        int64_t last = first + (end - 1 - first) / TILE * TILE;
        int64_t nz = end - z0 < TILE ? end - z0 : TILE, at = z0;
        mrc_points own;
        const mrc_points *z = mrc_points_window(job->z, &at, nz, trial->window, &own);
        if (z->x && !z->transposed)
            try_product(trial, true, nz, z->d, z->ld);
        if (basis)
            try_product(trial, false, model->mean ? l + 1 : l, nz, l + 1);
        else if (model->mean)
            try_product(trial, false, 1, nz, 1);
        if (basis && model->variance)
            try_product(trial, false, q, nz, q);
        next = z0 < last ? last : end;
    }
}

static void try_columns(struct trial *trial)
{
    const mercer_model *model = trial->job->model;
    int64_t l = model->components, d = model->columns, last = (d - 1) / TILE * TILE;
    for (int64_t c0 = 0, next; c0 < d; c0 = next) {
        int64_t nc = d - c0 < TILE ? d - c0 : TILE;
        try_product(trial, false, l, nc, l);
        try_product(trial, true, nc, l, l);
        if (model->variance)
            try_product(trial, false, d, nc, d);
        next = c0 < last ? last : d;
    }
}

static void try_products(void *arg, int64_t task, int worker)
{
    struct trial *trial = arg;
    const mercer_model *model = trial->job->model;
    mrc_rng rng;
    (void)task;
    (void)worker;
    mrc_rng_seed(&rng, 1);
    for (int64_t i = 0; i < CHUNK * trial->length; i++)
        trial->a[i] = mrc_rng_uniform(&rng) - 0.5;
    for (int64_t i = 0; i < TILE * trial->length; i++)
        trial->b[i] = mrc_rng_uniform(&rng) - 0.5;
    if (!model->points)
        try_columns(trial);
    try_points(trial, 0, model->basis_points);
    try_points(trial, model->basis_points, model->points);
}

/* Find out how few rows of this model are to be transformed, once. Threads that do so at the same
 * time find the same. Combinations of kernels make their products in blocks of their own. */
static mercer_status choose_way(const struct job *job, enum way *way, mercer_error *err)
{
    const mercer_model *model = job->model;
    _Atomic int *known = mrc_model_few_rows(model, job->ctx->simd);
    struct trial trial = {.job = job, .rows_agree = true, .short_chunks_agree = true};
    const int64_t lengths[] = {TILE, model->columns, model->components + 1, model->variance_rank};
    mercer_status rc = MERCER_OK;
    *way = (enum way)atomic_load(known);
    if (mrc_kernel_is_combined(&model->kernel))
        *way = IN_CHUNKS;
    if (*way != UNKNOWN)
        return MERCER_OK;
    for (int i = 0; i < 4; i++)
        trial.length = lengths[i] > trial.length ? lengths[i] : trial.length;
    MRC_TRY(mrc_alloc2_raw(&trial.a, CHUNK, trial.length, sizeof *trial.a, err));
    MRC_TRY(mrc_alloc2_raw(&trial.full, CHUNK, trial.length, sizeof *trial.full, err));
    MRC_TRY(mrc_alloc2_raw(&trial.other, CHUNK, trial.length, sizeof *trial.other, err));
    MRC_TRY(mrc_alloc2_raw(&trial.b, TILE, trial.length, sizeof *trial.b, err));
    MRC_TRY(mrc_alloc2_raw(&trial.window, TILE, mrc_points_window_size(job->z),
                           sizeof *trial.window, err));
    MRC_TRY(mrc_parfor_checked(job->ctx, 1, try_products, &trial, err));
    *way = trial.rows_agree ? ONE_BY_ONE : trial.short_chunks_agree ? IN_SHORT_CHUNKS : IN_CHUNKS;
    atomic_store(known, (int)*way);
out:
    mrc_free(trial.a);
    mrc_free(trial.full);
    mrc_free(trial.other);
    mrc_free(trial.b);
    mrc_free(trial.window);
    return rc;
}

/* Maps and buffers for rows; chunks: of a group. */
static mercer_status prepare_rows(struct job *job, int64_t chunks, double **x, mercer_error *err)
{
    const mercer_model *model = job->model;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_model_map_columns(model, job->rows, job->map, err));
    if (mercer_rows_is_sparse(job->rows))
        MRC_TRY(place_columns(job, err));
    if (!job->sparse)
        MRC_TRY(mrc_alloc2_raw(x, chunks * job->height, mrc_model_width(model), sizeof **x, err));
    else if (!model->z_rows)
        MRC_TRY(find_center_dots(job, err));
    if (!job->sparse && model->map_weights)
        MRC_TRY(mrc_alloc2_raw(&job->raw, job->ctx->threads, CHUNK * model->columns,
                               sizeof *job->raw, err));
    if (job->rows->pairs && model->z_pairs == job->rows->pairs)
        MRC_TRY(mrc_alloc(&job->known, chunks * job->height, sizeof *job->known, err));
out:
    return rc;
}

/* Features of a group go to their place in an array of another type or layout. */
static mercer_status deliver(const struct job *job, const mercer_array *to, mercer_error *err)
{
    int64_t l = job->model->components;
    for (int64_t i = 0; i < job->count; i++)
        for (int64_t j = 0; j < l; j++) {
            double value = job->out[i * l + j];
            float narrow = (float)value;
            int64_t at = (job->first + i) * to->stride[0] + j * to->stride[1];
            /* The caller lends it for writing; bytes, for it need not be aligned. */
            char *place = (char *)(uintptr_t)to->data;
            if (to->dtype == MERCER_F64)
                memcpy(place + at * (int64_t)sizeof value, &value, sizeof value);
            else if (isfinite(narrow))
                memcpy(place + at * (int64_t)sizeof narrow, &narrow, sizeof narrow);
            else
                return mrc_fail(err, MERCER_ERR_DATA,
                                "row %lld: feature %lld is too large for float32",
                                (long long)(job->first + i + 1), (long long)j + 1);
        }
    return MERCER_OK;
}

/* Features to out, or to an array when out is NULL. */
static mercer_status transform(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows,
                               const double *self, double *out, const mercer_array *array,
                               double *errors, mercer_error *err)
{
    struct job job = {.ctx = ctx,
                      .model = model,
                      .rows = rows,
                      .self = self,
                      .errors = errors,
                      .asks_host = mrc_kernel_asks_host(&model->kernel)};
    double *scratch = NULL, *part = NULL;
    int64_t width = mercer_rows_is_sparse(rows) ? mercer_rows_entries(rows) / rows->n + 1 : rows->d;
    enum way way = IN_CHUNKS;
    mercer_status rc = MERCER_OK;

    mrc_ctx_enter(ctx);
    job.sparse = mercer_rows_is_sparse(model->z_rows ? model->z_rows : rows);
    int64_t chunks = group_chunks(ctx, rows->n, job.sparse ? width : model->columns);
    if (errors)
        MRC_TRY(check_errors(model, rows, self, err));
    MRC_TRY(mrc_model_points(model, ctx, &job.z, err));
    if (rows->n <= FEW && !job.sparse) /* their tiles are not among the products tried */
        MRC_TRY(choose_way(&job, &way, err));
    job.one_by_one = way == ONE_BY_ONE;
    job.height = way == ONE_BY_ONE ? rows->n : way == IN_SHORT_CHUNKS ? FEW : CHUNK;
    MRC_TRY(mrc_alloc(&job.map, has_rows(model) ? model->columns : model->points, sizeof *job.map,
                      err));
    if (has_rows(model))
        MRC_TRY(prepare_rows(&job, chunks, &job.x, err));
    else if (mercer_rows_is_sparse(rows))
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "kernel precomputed: the kernel values are sparse; they must be given dense");
    else
        MRC_TRY(map_points(model, rows, job.map, err));
    job.scratch_size =
        job.height * (model->components + 1 + TILE) + TILE * mrc_points_window_size(job.z);
    if (errors && model->variance)
        job.scratch_size += job.height * model->variance_rank;
    MRC_TRY(mrc_alloc2_raw(&scratch, ctx->threads, job.scratch_size, sizeof *scratch, err));
    job.scratch = scratch;
    if (!out)
        MRC_TRY(mrc_alloc2_raw(&part, chunks * CHUNK, model->components, sizeof *part, err));
    for (job.first = 0; job.first < rows->n; job.first += job.count) {
        int64_t left = rows->n - job.first;
        job.count = left < chunks * CHUNK ? left : chunks * CHUNK;
        mrc_progress(ctx, "transform", (double)job.first / (double)rows->n);
        job.out = out ? out + job.first * model->components : part;
        MRC_TRY(run_group(&job, err));
        if (!out)
            MRC_TRY(deliver(&job, array, err));
    }
    mrc_progress(ctx, "transform", 1.0);
out:
    mrc_free(job.map);
    mrc_free(job.place);
    mrc_free(job.raw);
    mrc_free(job.x);
    mrc_free(job.center_dots);
    mrc_free(job.known);
    mercer_rows_free(job.group);
    mrc_free(scratch);
    mrc_free(part);
    return mrc_ctx_leave(ctx, rc, err);
}

mercer_status mercer_model_transform(mercer_ctx *ctx, const mercer_model *model,
                                     const mercer_rows *rows, const double *self, double *out,
                                     double *errors, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(model);
    MRC_NEED(rows);
    MRC_NEED(out);
    return transform(ctx, model, rows, self, out, NULL, errors, err);
}

/* Whether two values of an array may share a place. */
static bool overlaps(const mercer_array *a)
{
    int64_t s0 = a->stride[0] < 0 ? -a->stride[0] : a->stride[0];
    int64_t s1 = a->stride[1] < 0 ? -a->stride[1] : a->stride[1];
    int64_t row = (a->shape[1] - 1) * s1, column = (a->shape[0] - 1) * s0; /* from end to end */
    if ((a->shape[0] > 1 && s0 == 0) || (a->shape[1] > 1 && s1 == 0))
        return true;
    return a->shape[0] > 1 && a->shape[1] > 1 && s0 <= row && s1 <= column;
}

mercer_status mercer_model_transform_into(mercer_ctx *ctx, const mercer_model *model,
                                          const mercer_rows *rows, const double *self,
                                          const mercer_array *out, double *errors,
                                          mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(model);
    MRC_NEED(rows);
    MRC_NEED(out);
    mercer_array to = {0};
    mercer_status rc = mrc_array_import("features", out, &to, err);
    if (rc != MERCER_OK)
        return rc;
    if (to.dtype != MERCER_F64 && to.dtype != MERCER_F32)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "features: the array is not float64 or float32");
    if (to.shape[0] != rows->n || to.shape[1] != model->components)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "features: an array of %lld x %lld values, where %lld x %lld were expected",
                        (long long)to.shape[0], (long long)to.shape[1], (long long)rows->n,
                        (long long)model->components);
    if (overlaps(&to))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "features: with strides of %lld and %lld values overlap",
                        (long long)to.stride[0], (long long)to.stride[1]);
    bool packed = to.dtype == MERCER_F64 && to.stride[1] == 1 && to.stride[0] == to.shape[1] &&
                  (uintptr_t)to.data % sizeof(double) == 0;
    return transform(ctx, model, rows, self, packed ? (double *)(uintptr_t)to.data : NULL, &to,
                     errors, err);
}
