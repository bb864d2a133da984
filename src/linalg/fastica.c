/* SPDX-License-Identifier: BSD-3-Clause */
/* FastICA; see ica.h.
 *
 * A fixed point step for the contrast with derivative g:
 *     w <- E[x g(w'x)] - E[g'(w'x)] w,
 * then w is made orthogonal to the directions found before it (deflation), or all of them are made
 * orthonormal at once, W (W'W)^-1/2 (symmetric). Cost: 4 n m a step and direction. */
#include "linalg/fastica.h"

#include "linalg/grassmann.h"
#include "linalg/linalg.h"
#include "linalg/orthonormal.h"

#include <math.h>
#include <string.h>

/* A direction stands still when it turns by less than about the root of this. */
static const double STILL = 1e-12;

enum { COLUMNS = 64 }; /* of X that a task multiplies */

struct ica {
    mercer_ctx *ctx;
    const double *x;
    int64_t n, m, width; /* width: directions moved at a time */
    int contrast;
    double *s;     /* n x width: w'x, then g(w'x) */
    double *slope; /* width: E[g'(w'x)] */
    double *old;   /* m x width: the directions a step starts from */
    double *next;  /* m x width: where it leads */
    double *inner; /* 3 width^2 */
};

static void bend(int contrast, double s, double *value, double *slope)
{
    if (contrast == 0) {
        *value = tanh(s);
        *slope = 1 - *value * *value;
    } else if (contrast == 1) {
        *value = s * s * s;
        *slope = 3 * s * s;
    } else {
        double e = exp(-s * s / 2);
        *value = s * e;
        *slope = (1 - s * s) * e;
    }
}

static void transposed_panel(void *arg, int64_t task, int worker)
{
    const struct ica *p = arg;
    int64_t first = task * COLUMNS, count = p->m - first < COLUMNS ? p->m - first : COLUMNS;
    (void)worker;
    mrc_gemm(true, false, count, p->width, p->n, 1 / (double)p->n, p->x + first, p->m, p->s,
             p->width, 0, p->next + first * p->width, p->width);
}

/* The fixed point step from old to next. */
static void step(struct ica *p)
{
    int64_t n = p->n, l = p->width;
    mrc_tall_times(p->ctx, n, l, p->m, 1, p->x, p->m, p->old, l, 0, p->s, l);
    memset(p->slope, 0, (size_t)l * sizeof *p->slope);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < l; j++) {
            double slope;
            bend(p->contrast, p->s[i * l + j], &p->s[i * l + j], &slope);
            p->slope[j] += slope / (double)n;
        }
    mrc_parfor_sized(p->ctx, (p->m + COLUMNS - 1) / COLUMNS, 2 * (double)n * (double)(p->m * l),
                     transposed_panel, p);
    for (int64_t k = 0; k < p->m; k++)
        for (int64_t j = 0; j < l; j++)
            p->next[k * l + j] -= p->slope[j] * p->old[k * l + j];
}

/* How many of the directions turned from old (m x width) to those in w (row stride ld). */
static int64_t count_moved(const struct ica *p, const double *w, int64_t ld)
{
    int64_t moved = 0;
    for (int64_t j = 0; j < p->width; j++) {
        double dot = 0;
        for (int64_t k = 0; k < p->m; k++)
            dot += p->old[k * p->width + j] * w[k * ld + j];
        moved += !(1 - fabs(dot) < STILL);
    }
    return moved;
}

static mercer_status look_up(const struct ica *p, double done, mercer_error *err)
{
    mrc_progress(p->ctx, "independent components", done);
    return mrc_check_cancel(p->ctx, err);
}

static void put_column(int64_t m, int64_t l, int64_t j, const double *column, double *w)
{
    for (int64_t k = 0; k < m; k++)
        w[k * l + j] = column[k];
}

/* Direction j into its column of w (m x l), orthogonal to those before it. */
static mercer_status find_one(struct ica *p, int64_t j, int64_t l, int64_t iterations, double *w,
                              int64_t *left, mercer_error *err)
{
    int64_t m = p->m, moved = 1;
    mercer_status rc = MERCER_OK;
    do {
        for (int64_t k = 0; k < m; k++)
            w[k * l + j] = mrc_rng_normal(&p->ctx->rng);
    } while (!mrc_orthonormalise_column(m, l, j, mrc_column_floor, w));
    for (int64_t t = 0; t < iterations && moved; t++) {
        MRC_TRY(look_up(p, ((double)j + (double)t / (double)iterations) / (double)l, err));
        for (int64_t k = 0; k < m; k++)
            p->old[k] = w[k * l + j];
        step(p);
        put_column(m, l, j, p->next, w);
        if (!mrc_orthonormalise_column(m, l, j, mrc_column_floor,
                                       w)) { /* nowhere to go from here */
            put_column(m, l, j, p->old, w);
            break;
        }
        moved = count_moved(p, w + j, l);
    }
    *left += moved;
out:
    return rc;
}

/* w = next (next'next)^-1/2. */
static mercer_status make_orthonormal(struct ica *p, double *w, mercer_error *err)
{
    int64_t m = p->m, l = p->width;
    double *b = p->inner, *scaled = b + l * l, *root = scaled + l * l;
    mercer_status rc = MERCER_OK;
    mrc_gemm(true, false, l, l, m, 1, p->next, l, p->next, l, 0, b, l);
    MRC_TRY(mrc_eigen_symmetric(p->ctx, l, b, p->slope, err)); /* eigenvectors in the rows */
    for (int64_t k = 0; k < l; k++)
        for (int64_t j = 0; j < l; j++)
            scaled[k * l + j] = b[k * l + j] / sqrt(fmax(p->slope[k], 1e-300));
    mrc_gemm(true, false, l, l, l, 1, b, l, scaled, l, 0, root, l);
    mrc_gemm(false, false, m, l, l, 1, p->next, l, root, l, 0, w, l);
    mrc_orthonormalise(m, l, w); /* what rounding left of it */
out:
    return rc;
}

static mercer_status find_all(struct ica *p, int64_t iterations, double *w, int64_t *left,
                              mercer_error *err)
{
    int64_t m = p->m, l = p->width;
    mercer_status rc = MERCER_OK;
    mrc_random_subspace(&p->ctx->rng, m, l, w);
    *left = l;
    for (int64_t t = 0; t<iterations && * left> 0; t++) {
        MRC_TRY(look_up(p, (double)t / (double)iterations, err));
        memcpy(p->old, w, (size_t)(m * l) * sizeof *w);
        step(p);
        MRC_TRY(make_orthonormal(p, w, err));
        *left = count_moved(p, w, l);
    }
out:
    return rc;
}

/* Least normal first, by the mean of log cosh against that of a normal variable. */
static mercer_status sort_directions(const struct ica *p, int64_t l, double *w, mercer_error *err)
{
    static const double NORMAL = 0.374567207491438; /* E[log cosh] */
    int64_t n = p->n, m = p->m;
    double *s = NULL, *measure = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&s, n, l, sizeof *s, err));
    MRC_TRY(mrc_alloc(&measure, l, sizeof *measure, err));
    MRC_TRY(mrc_tall_times_checked(p->ctx, n, l, m, 1, p->x, m, w, l, 0, s, l, err));
    for (int64_t j = 0; j < l; j++) {
        for (int64_t i = 0; i < n; i++) {
            double a = fabs(s[i * l + j]);
            measure[j] += (a + log1p(exp(-2 * a)) - log(2) - NORMAL) / (double)n;
        }
        measure[j] = fabs(measure[j]);
    }
    for (int64_t j = 1; j < l; j++) /* few, and mostly in order */
        for (int64_t t = j; t > 0 && measure[t] > measure[t - 1]; t--) {
            double swap = measure[t];
            measure[t] = measure[t - 1];
            measure[t - 1] = swap;
            for (int64_t k = 0; k < m; k++) {
                swap = w[k * l + t];
                w[k * l + t] = w[k * l + t - 1];
                w[k * l + t - 1] = swap;
            }
        }
out:
    mrc_free(s);
    mrc_free(measure);
    return rc;
}

mercer_status mrc_ica_run(mercer_ctx *ctx, const double *x, int64_t n, int64_t m, int64_t l,
                          const mrc_ica_options *options, double *w, int64_t *left,
                          mercer_error *err)
{
    struct ica p = {.ctx = ctx,
                    .x = x,
                    .n = n,
                    .m = m,
                    .width = options->symmetric ? l : 1,
                    .contrast = options->contrast};
    mercer_status rc = MERCER_OK;
    *left = 0;
    MRC_TRY(mrc_alloc2_raw(&p.s, n, p.width, sizeof(double), err));
    MRC_TRY(mrc_alloc(&p.slope, p.width, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&p.old, m, p.width, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&p.next, m, p.width, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&p.inner, 3 * p.width, p.width, sizeof(double), err));
    if (options->symmetric)
        MRC_TRY(find_all(&p, options->iterations, w, left, err));
    for (int64_t j = 0; !options->symmetric && j < l; j++)
        MRC_TRY(find_one(&p, j, l, options->iterations, w, left, err));
    rc = sort_directions(&p, l, w, err);
out:
    mrc_free(p.s);
    mrc_free(p.slope);
    mrc_free(p.old);
    mrc_free(p.next);
    mrc_free(p.inner);
    return rc;
}
