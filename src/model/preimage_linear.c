/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-images of the linear kernel: x = sum_i g_i z_i, or center + W y, is P itself, and the errors
 * stay zero. */
#include "linalg/linalg.h"
#include "model/preimage.h"

#include <string.h>

enum { PANEL = MRC_PREIMAGE_PANEL, TILE = MRC_PREIMAGE_TILE };

/* One block of columns of x = sum_i g_i z_i, or of x = center + W y. */
static void linear_block(void *arg, int64_t task, int worker)
{
    struct mrc_preimage_job *job = arg;
    const mercer_model *model = job->model;
    int64_t d = model->columns, m = model->points, l = model->components;
    int64_t c0 = task * TILE, nc = mrc_tile_length(d, c0);
    (void)worker;
    for (int64_t i = 0; i < job->batch; i++)
        for (int64_t j = 0; j < nc; j++)
            job->x[i * d + c0 + j] = model->input_center ? model->input_center[c0 + j] : 0.0;
    for (int64_t p = 0; p < job->batch; p += PANEL) {
        double *x = job->x + p * d + c0;
        if (m == 0)
            mrc_gemm(false, true, PANEL, nc, l, 1.0, job->y + p * l, l, model->weights + c0 * l, l,
                     1.0, x, d);
        for (int64_t z0 = 0; z0 < m; z0 += TILE)
            mrc_gemm(false, false, PANEL, nc, mrc_tile_length(m, z0), 1.0, job->gamma + p * m + z0,
                     m, job->z + z0 * d + c0, d, 1.0, x, d);
    }
}

/* One row of x = sum_i g_i z_i over sparse points. */
static void linear_row(void *arg, int64_t row, int worker)
{
    struct mrc_preimage_job *job = arg;
    int64_t d = job->model->columns, m = job->model->points;
    (void)worker;
    memset(job->x + row * d, 0, (size_t)d * sizeof(double));
    mrc_preimage_add_sparse(job->points, 0, m, job->gamma + row * m, job->x + row * d);
}

static mercer_status linear_solve(struct mrc_preimage_job *job, mercer_error *err)
{
    int64_t tasks = (job->model->columns + TILE - 1) / TILE;
    return job->model->z_csr.start ? mrc_parfor_checked(job->ctx, job->count, linear_row, job, err)
                                   : mrc_parfor_checked(job->ctx, tasks, linear_block, job, err);
}

const mrc_preimage mrc_preimage_linear = {.solve = linear_solve};
