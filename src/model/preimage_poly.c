/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-images of the polynomial (a x.z + c)^p: Gauss-Newton for f, whose first factor is the fixed
 * point of the gradient and whose rank-one part mends the length, with halving until f falls. p = 2
 * replaces the fifth start by the leading eigenvector of P, seen as a quadratic form (the best
 * rank-one fit).
 *
 * Along a direction: with z = [sqrt(a) x, sqrt(c)] the best rank-one approximation e of the
 * symmetric tensor sum_i a_i z_i^(x)p, by power iteration (degree 2: an eigenvector);
 * y = e_x / e_0 sqrt(c / a). */
#include "kernel/sparse.h"
#include "linalg/linalg.h"
#include "model/preimage.h"

#include <math.h>
#include <string.h>

enum {
    SLOTS = MRC_SLOTS,
    STARTS = MRC_SLOTS_STARTS,
    TILE = MRC_PREIMAGE_TILE,
    HALVINGS = 40,
    POWER_STEPS = 40 /* a start need not be exact */
};

struct work {
    struct mrc_slots slots;
    double *step;  /* SLOTS x d */
    double *u, *v; /* SLOTS x m: x.z_i and step.z_i */
};

static double integer_power(double base, int64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* out (SLOTS x m) = rows . z_i for the active ones of SLOTS rows. */
static void products_with_points(const struct work *work, const double *rows, double *out)
{
    const mercer_model *model = work->slots.job->model;
    int64_t d = model->columns, m = model->points;
    for (int s = 0; model->z_csr.start && s < SLOTS; s++)
        for (int64_t i = 0; work->slots.active[s] && i < m; i++)
            out[s * m + i] =
                mrc_sparse_dot(mrc_sparse_row_of(work->slots.job->points, i), rows + s * d);
    for (int64_t z0 = 0; work->slots.job->z && z0 < m; z0 += TILE)
        mrc_gemm(false, true, SLOTS, mrc_tile_length(m, z0), d, 1.0, rows, d,
                 work->slots.job->z + z0 * d, d, 0.0, out + z0, m);
}

/* sum = sum_i w_i z_i with w_i = g_i (a u_i + c_s)^exponent; total = sum_i w_i. */
static void weighted_points(struct work *work, double a, const double c[SLOTS], int64_t exponent,
                            double total[SLOTS])
{
    const struct mrc_preimage_job *job = work->slots.job;
    const mercer_model *model = job->model;
    int64_t d = model->columns, m = model->points;
    memset(work->slots.sum, 0, (size_t)(SLOTS * d) * sizeof(double));
    memset(total, 0, SLOTS * sizeof *total);
    for (int64_t z0 = 0; z0 < m; z0 += TILE) {
        int64_t nz = mrc_tile_length(m, z0);
        for (int s = 0; s < SLOTS; s++) {
            double *w = work->slots.tile + s * TILE;
            const double *u = work->u + s * m + z0;
            const double *gamma =
                work->slots.active[s] ? job->gamma + work->slots.row[s] * m + z0 : NULL;
            for (int64_t i = 0; i < nz; i++) {
                w[i] = gamma ? gamma[i] * integer_power(a * u[i] + c[s], exponent) : 0.0;
                total[s] += w[i];
            }
        }
        mrc_slots_add_points(&work->slots, job->z, z0, nz);
    }
}

/* f - |P|^2 at x + t step, from the products with the points alone. Sets the noise it has. */
static double polynomial_value(struct work *work, int s, double t)
{
    const mercer_model *model = work->slots.job->model;
    const mrc_kernel_part *k = &model->kernel.part[0];
    int64_t d = model->columns, m = model->points;
    const double *gamma = work->slots.job->gamma + work->slots.row[s] * m;
    const double *u = work->u + s * m, *v = work->v + s * m;
    const double *x = work->slots.x + s * d, *step = work->step + s * d;
    double inner = 0, norm2 = 0, size = 0;
    for (int64_t i = 0; i < m; i++) {
        double product = t == 0 ? u[i] : u[i] + t * v[i];
        double term = gamma[i] * integer_power(k->gamma * product + k->coef0, k->degree);
        inner += term;
        size += fabs(term);
    }
    for (int64_t j = 0; j < d; j++) {
        double next = t == 0 ? x[j] : x[j] + t * step[j];
        norm2 += next * next;
    }
    double self = integer_power(k->gamma * norm2 + k->coef0, k->degree);
    work->slots.noise[s] = MRC_PREIMAGE_NOISE * (self + size);
    return self - 2 * inner;
}

/* Gauss-Newton steps of all active iterates; those that have arrived become inactive. */
static void polynomial_steps(struct work *work)
{
    const mrc_kernel_part *k = &work->slots.job->model->kernel.part[0];
    int64_t d = work->slots.job->model->columns;
    double c[SLOTS], total[SLOTS];
    for (int s = 0; s < SLOTS; s++)
        c[s] = k->coef0;
    weighted_points(work, k->gamma, c, k->degree - 1, total);
    for (int s = 0; s < SLOTS; s++) {
        const double *x = work->slots.x + s * d;
        double *step = work->step + s * d;
        double norm2 = mrc_dot(x, x, d), base = k->gamma * norm2 + k->coef0;
        double scale = integer_power(base, k->degree - 1);
        memset(step, 0, (size_t)d * sizeof(double));
        if (!work->slots.active[s])
            continue;
        if (!(scale > 0) || !(base > 0)) { /* the origin of a homogeneous kernel: no gradient */
            work->slots.active[s] = false;
            continue;
        }
        for (int64_t j = 0; j < d; j++)
            step[j] = work->slots.sum[s * d + j] / scale - x[j];
        /* (I + q x x')^-1 of the Gauss-Newton matrix, which curbs changes of length. */
        double q = (double)(k->degree - 1) * k->gamma / base;
        double along = mrc_dot(x, step, d) * q / (1 + q * norm2);
        for (int64_t j = 0; j < d; j++)
            step[j] -= along * x[j];
        if (!(mrc_dot(step, step, d) > MRC_PREIMAGE_CONVERGED * MRC_PREIMAGE_CONVERGED * norm2))
            work->slots.active[s] = false;
    }
}

static void descend(struct work *work)
{
    int64_t d = work->slots.job->model->columns, m = work->slots.job->model->points;
    products_with_points(work, work->slots.x, work->u);
    for (int s = 0; s < SLOTS; s++)
        if (work->slots.active[s])
            mrc_slots_keep_best(&work->slots, s, polynomial_value(work, s, 0));
    for (int iteration = 0;
         iteration < MRC_PREIMAGE_ITERATIONS && mrc_slots_any_active(&work->slots); iteration++) {
        polynomial_steps(work);
        products_with_points(work, work->step, work->v);
        for (int s = 0; s < SLOTS; s++) {
            double t = 2, f = INFINITY;
            bool fell = false;
            if (!work->slots.active[s])
                continue;
            for (int h = 0; h < HALVINGS && !fell; h++) {
                t *= 0.5;
                f = polynomial_value(work, s, t);
                /* A whole step within rounding is taken, too: x is found when steps vanish. */
                fell = f < work->slots.best[s] ||
                       (h == 0 && f <= work->slots.best[s] + work->slots.noise[s]);
            }
            if (!fell) {
                work->slots.active[s] = false;
                continue;
            }
            for (int64_t j = 0; j < d; j++)
                work->slots.x[s * d + j] += t * work->step[s * d + j];
            for (int64_t i = 0; i < m; i++)
                work->u[s * m + i] += t * work->v[s * m + i];
            mrc_slots_keep_best(&work->slots, s, f);
        }
    }
}

/* Degree 2: P is the quadratic form M = sum g_i z~_i z~_i' with z~ = (sqrt(a) z, sqrt(c)), and the
 * image of x is the square of x~. The leading eigenpair of M, by power steps on M + shift I, gives
 * the start of the last slot of each row. */
static void eigenvector_starts(struct work *work)
{
    const mrc_kernel_part *k = &work->slots.job->model->kernel.part[0];
    int64_t d = work->slots.job->model->columns;
    double root = sqrt(k->gamma), last[SLOTS] = {0}, c[SLOTS], total[SLOTS];
    double value[SLOTS] = {0}, shift[SLOTS] = {0}, largest[SLOTS] = {0};

    memcpy(work->step, work->slots.x,
           (size_t)(SLOTS * d) * sizeof(double)); /* the starts wait here */
    for (int s = STARTS - 1; s < SLOTS; s += STARTS) {
        /* From the best training point of the row. */
        memcpy(work->slots.x + s * d, work->step + (s - STARTS + 1) * d,
               (size_t)d * sizeof(double));
        for (int64_t j = 0; j < d; j++)
            work->slots.x[s * d + j] *= root;
        last[s] = sqrt(k->coef0);
    }
    for (int s = 0; s < SLOTS; s++)
        work->slots.active[s] = work->slots.row[s] >= 0 && s % STARTS == STARTS - 1;
    for (int step = 0; step < 2 * POWER_STEPS; step++) {
        for (int s = 0; s < SLOTS; s++) {
            double *x = work->slots.x + s * d;
            double length = sqrt(mrc_dot(x, x, d) + last[s] * last[s]);
            for (int64_t j = 0; length > 0 && j < d; j++)
                x[j] /= length;
            last[s] /= length > 0 ? length : 1;
            c[s] = sqrt(k->coef0) * last[s];
            largest[s] = fmax(largest[s], step ? length - shift[s] : 0);
            /* Half the norm makes the largest eigenvalue dominate, negative ones or not. */
            if (step == POWER_STEPS)
                shift[s] = 0.5 * largest[s];
        }
        products_with_points(work, work->slots.x, work->u);
        weighted_points(work, root, c, 1, total);
        for (int s = STARTS - 1; s < SLOTS; s += STARTS) {
            double *x = work->slots.x + s * d, next_last = sqrt(k->coef0) * total[s];
            value[s] = root * mrc_dot(x, work->slots.sum + s * d, d) + last[s] * next_last;
            for (int64_t j = 0; j < d; j++)
                x[j] = root * work->slots.sum[s * d + j] + shift[s] * x[j];
            last[s] = next_last + shift[s] * last[s];
        }
    }
    for (int s = STARTS - 1; s < SLOTS; s += STARTS) {
        double *x = work->slots.x + s * d;
        double length = sqrt(mrc_dot(x, x, d) + last[s] * last[s]);
        double sign = k->coef0 > 0 ? last[s] : mrc_dot(x, work->step + (s - STARTS + 1) * d, d);
        work->slots.active[s] = work->slots.row[s] >= 0 && value[s] > 0 && length > 0;
        double factor =
            work->slots.active[s] ? copysign(sqrt(value[s]) / (length * root), sign) : 0;
        for (int64_t j = 0; j < d; j++)
            x[j] *= factor;
    }
    for (int s = 0; s < SLOTS; s++)
        if (s % STARTS != STARTS - 1) {
            work->slots.active[s] = work->slots.row[s] >= 0;
            memcpy(work->slots.x + s * d, work->step + s * d, (size_t)d * sizeof(double));
        }
}

static int64_t polynomial_extra(const mercer_model *model)
{
    return SLOTS * (model->columns + 2 * model->points);
}

static void polynomial_task(void *arg, int64_t task, int worker)
{
    struct mrc_preimage_job *job = arg;
    struct work work;
    int64_t d = job->model->columns, m = job->model->points;
    mrc_slots_init(&work.slots, job, task, worker);
    work.step = work.slots.extra;
    work.u = work.step + SLOTS * d;
    work.v = work.u + SLOTS * m;
    memset(work.step, 0, (size_t)(SLOTS * d) * sizeof(double));
    if (job->model->kernel.part[0].degree == 2) {
        /* With fewer points than starts the last slot is free, but belongs to the row all the
         * same. */
        for (int s = STARTS - 1; s < SLOTS; s += STARTS)
            work.slots.row[s] = work.slots.row[s - STARTS + 1];
        eigenvector_starts(&work);
    }
    descend(&work);
    mrc_slots_finish(&work.slots, job);
}

static const char *polynomial_refusal(const mrc_kernel_part *kernel)
{
    return kernel->coef0 < 0 ? "kernel 'poly' with coef0 below 0 spans no feature space" : NULL;
}

/* ---- along a direction ---- */

static double polynomial_pair(const mrc_kernel_part *kernel, const double *x, const double *y,
                              int64_t d)
{
    return pow(kernel->gamma * mrc_dot(x, y, d) + kernel->coef0, (double)kernel->degree);
}

/* next = sum_i a_i (z_i . e)^(degree - 1) z_i, for the direction e. */
static void tensor_step(const mrc_direction *a, const double *e, double *next)
{
    int64_t d = a->d;
    double root = sqrt(a->kernel->gamma), constant = sqrt(a->kernel->coef0);
    memset(next, 0, (size_t)(d + 1) * sizeof *next);
    for (int64_t i = 0; i < a->m; i++) {
        const double *x = a->x + i * d;
        double product = root * mrc_dot(x, e, d) + constant * e[d];
        double weight = a->weights[i] * pow(product, (double)(a->kernel->degree - 1));
        for (int64_t j = 0; j < d; j++)
            next[j] += weight * root * x[j];
        next[d] += weight * constant;
    }
}

/* From the direction e to one where the tensor has a maximum; false: there is none. */
static bool power_iteration(const mrc_direction *a, double *e, double *next)
{
    int64_t d = a->d;
    for (int step = 0;; step++) {
        double length = sqrt(mrc_dot(e, e, d + 1));
        if (!(length > 0) || !isfinite(length))
            return false;
        for (int64_t j = 0; j <= d; j++)
            e[j] /= length;
        if (step == MRC_DIRECTION_STEPS)
            return true;
        tensor_step(a, e, next);
        /* A shift towards where we are keeps an odd or indefinite tensor from going to and fro. */
        double norm = sqrt(mrc_dot(next, next, d + 1));
        double sign = mrc_dot(next, e, d + 1) < 0 ? -1 : 1;
        for (int64_t j = 0; j <= d; j++)
            e[j] = sign * next[j] + 0.5 * norm * e[j];
    }
}

static bool polynomial_along(mrc_direction *a, double *y, double *next)
{
    const mrc_kernel_part *kernel = a->kernel;
    double constant = sqrt(kernel->coef0), root = sqrt(kernel->gamma);
    for (int64_t j = 0; j < a->d; j++)
        y[j] *= root;
    y[a->d] = constant;
    if (!power_iteration(a, y, next) || (constant > 0 && y[a->d] == 0)) /* it lies at infinity */
        return false;
    /* Without a constant any length will do: that of the rows. */
    double length =
        constant > 0 ? constant / y[a->d] : pow(a->largest, 0.5 / (double)kernel->degree);
    for (int64_t j = 0; j < a->d; j++)
        y[j] *= length / root;
    return true;
}

const mrc_preimage mrc_preimage_poly = {
    .refusal = polynomial_refusal,
    .extra = polynomial_extra,
    .iterate = polynomial_task,
    .pair = polynomial_pair,
    .along = polynomial_along,
};
