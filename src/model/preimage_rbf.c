/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-images of the Gaussian: the fixed point of Mika et al. (1999),
 *
 *   x <- sum g_i k(x,z_i) z_i / sum g_i k(x,z_i),
 *
 * whose denominator is <P, phi(x)> itself, so that the best x seen is known for nothing. */
#include "linalg/linalg.h"
#include "model/preimage.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SLOTS = MRC_SLOTS, TILE = MRC_PREIMAGE_TILE };
static const double VANISHED = 1e-12; /* a denominator below this share of its terms is noise */

static mercer_status center_points(struct mrc_preimage_job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t m = model->points, d = model->columns;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&job->center, d, sizeof(double), err));
    if (!job->z)
        goto out;
    MRC_TRY(mrc_alloc2_raw(&job->centered, m, d, sizeof(double), err));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++)
            job->center[j] += job->z[i * d + j] / (double)m;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++)
            job->centered[i * d + j] = job->z[i * d + j] - job->center[j];
out:
    return rc;
}

/* One evaluation at all iterates: sum = sum_i g_i k(x,z_i) (z_i - center), total = sum_i g_i
 * k(x,z_i), and the size of its terms. */
static mercer_status gaussian_sums(struct mrc_slots *slots, double total[SLOTS], double size[SLOTS])
{
    const struct mrc_preimage_job *job = slots->job;
    const mercer_model *model = job->model;
    int64_t d = model->columns, m = model->points;
    mercer_rows rows = {.n = SLOTS, .d = d, .ld = d, .x = slots->x};
    mrc_points points;
    mercer_status rc = mrc_points_init(&points, job->ctx, &model->kernel, &rows, job->points, NULL);
    if (rc != MERCER_OK)
        return rc;
    memset(slots->sum, 0, (size_t)(SLOTS * d) * sizeof(double));
    memset(total, 0, SLOTS * sizeof *total);
    memset(size, 0, SLOTS * sizeof *size);
    for (int64_t z0 = 0; z0 < m; z0 += TILE) {
        int64_t nz = mrc_tile_length(m, z0);
        mrc_kernel_tile(&model->kernel, job->ctx, &points, 0, SLOTS, job->points, z0, nz,
                        slots->tile, TILE);
        for (int s = 0; s < SLOTS; s++) {
            double *w = slots->tile + s * TILE;
            const double *gamma = slots->active[s] ? job->gamma + slots->row[s] * m + z0 : NULL;
            for (int64_t i = 0; i < nz; i++) {
                w[i] = gamma ? gamma[i] * w[i] : 0.0;
                total[s] += w[i];
                size[s] += fabs(w[i]);
            }
        }
        mrc_slots_add_points(slots, job->centered, z0, nz);
    }
    mrc_points_destroy(&points);
    return MERCER_OK;
}

static void gaussian_task(void *arg, int64_t task, int worker)
{
    struct mrc_preimage_job *job = arg;
    int64_t d = job->model->columns;
    double sigma2 = 0.5 / job->model->kernel.part[0].gamma, total[SLOTS], size[SLOTS];
    struct mrc_slots slots;

    mrc_slots_init(&slots, job, task, worker);
    for (int iteration = 0; iteration < MRC_PREIMAGE_ITERATIONS && mrc_slots_any_active(&slots);
         iteration++) {
        if (gaussian_sums(&slots, total, size) != MERCER_OK) {
            job->out_of_memory = true;
            return;
        }
        for (int s = 0; s < SLOTS; s++) {
            double *x = slots.x + s * d, change = 0, length = 0;
            if (!slots.active[s])
                continue;
            slots.noise[s] = MRC_PREIMAGE_NOISE * (1 + size[s]);
            mrc_slots_keep_best(&slots, s, 1.0 - 2 * total[s]);
            if (!(fabs(total[s]) > VANISHED * size[s])) {
                slots.active[s] = false;
                continue;
            }
            for (int64_t j = 0; j < d; j++) {
                double next = job->center[j] + slots.sum[s * d + j] / total[s];
                change += (next - x[j]) * (next - x[j]);
                length += next * next;
                x[j] = next;
            }
            /* Far from the origin the last bit of x may be more than that share of sigma. */
            if (!(change > fmax(MRC_PREIMAGE_CONVERGED * MRC_PREIMAGE_CONVERGED * sigma2,
                                DBL_EPSILON * DBL_EPSILON * length)))
                slots.active[s] = false;
        }
    }
    mrc_slots_finish(&slots, job);
}

/* ---- along a direction ---- */

static double squared_distance(const double *x, const double *y, int64_t d)
{
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += (x[k] - y[k]) * (x[k] - y[k]);
    return sum;
}

static double gaussian_pair(const mrc_kernel_part *kernel, const double *x, const double *y,
                            int64_t d)
{
    return exp(-kernel->gamma * squared_distance(x, y, d));
}

/* One step of the fixed point from y to next. False: there is none. */
static bool fixed_point_step(mrc_direction *a, const double *y, double *next)
{
    double sum = 0, modulus = 0;
    memset(next, 0, (size_t)a->d * sizeof *next);
    for (int64_t i = 0; i < a->m; i++) {
        const double *x = a->x + i * a->d;
        double k = a->weights[i] * gaussian_pair(a->kernel, x, y, a->d);
        sum += k;
        modulus += fabs(k);
        for (int64_t j = 0; j < a->d; j++)
            next[j] += k * x[j];
    }
    a->evaluations += a->m;
    if (!(fabs(sum) > VANISHED * modulus))
        return false;
    for (int64_t j = 0; j < a->d; j++)
        next[j] /= sum;
    return true;
}

static bool gaussian_along(mrc_direction *a, double *y, double *next)
{
    static const double STILL = 1e-10; /* squared step relative to the kernel's width */
    for (int step = 0; step < MRC_DIRECTION_STEPS && fixed_point_step(a, y, next); step++) {
        double moved = squared_distance(y, next, a->d);
        memcpy(y, next, (size_t)a->d * sizeof *y);
        if (!(moved * a->kernel->gamma > STILL))
            break;
    }
    return true;
}

const mrc_preimage mrc_preimage_rbf = {
    .prepare = center_points,
    .iterate = gaussian_task,
    .pair = gaussian_pair,
    .along = gaussian_along,
};
