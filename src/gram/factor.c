/* SPDX-License-Identifier: BSD-3-Clause */
/* Work on a factor F of the kernel matrix, a strip of rows at a time: a strip is packed first, so
 * that BLAS gets whole rows. Sums over rows are taken by parts (base/strips.h). Cost of each: n q l
 * or n q^2 flops. */
#include "gram/factor.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/strips.h"
#include "linalg/linalg.h"

#include <cblas.h>
#include <math.h>

void mrc_factor_free(mrc_factor *f)
{
    if (f) {
        mrc_free(f->values);
        mrc_free(f->pivots);
        mrc_free(f->mean);
    }
    mrc_free(f);
}

static void pack_strip(const mrc_factor *f, int64_t first, int64_t rows, int64_t columns,
                       double *out)
{
    for (int64_t r = 0; r < rows; r++)
        mrc_factor_row(f, first + r, columns, out + r * columns);
}

/* Work on strips of F: what to do with a packed strip. */
struct strip_work {
    const mrc_factor *f;
    double **scratch; /* per worker: MRC_STRIP x rank, and MRC_STRIP x rank more for products */
    const double *mean, *weights;
    double *means, *diag; /* center_strip: see mrc_factor_center() */
    double *out;
    int64_t l;
};

static mercer_status strip_scratch(const mrc_factor *f, double ***scratch, mercer_error *err)
{
    mercer_status rc = mrc_alloc(scratch, f->threads, sizeof **scratch, err);
    for (int i = 0; rc == MERCER_OK && i < f->threads; i++)
        rc = mrc_alloc2(&(*scratch)[i], 2 * MRC_STRIP, f->rank, sizeof(double), err);
    return rc;
}

static void strip_scratch_free(const mrc_factor *f, double **scratch)
{
    for (int i = 0; scratch && i < f->threads; i++)
        mrc_free(scratch[i]);
    mrc_free(scratch);
}

static mercer_status run_strips(struct strip_work *w, mercer_parfor_body body, mercer_error *err)
{
    mercer_status rc = strip_scratch(w->f, &w->scratch, err);
    if (rc == MERCER_OK)
        rc = mrc_parfor_checked(w->f->ctx, mrc_strips(w->f->n), body, w, err);
    strip_scratch_free(w->f, w->scratch);
    return rc;
}

/* Means of the uncentred matrix for a strip (F_i . mean), then subtract the mean from F. */
static void center_strip(void *arg, int64_t task, int worker)
{
    struct strip_work *w = arg;
    const mrc_factor *f = w->f;
    int64_t first = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, f->n - first), q = f->rank;
    double *strip = w->scratch[worker];
    pack_strip(f, first, rows, q, strip);
    for (int64_t r = 0; r < rows; r++) {
        double dot = 0, norm = 0;
        for (int64_t c = 0; c < q; c++) {
            double centered = strip[r * q + c] - w->mean[c];
            dot += strip[r * q + c] * w->mean[c];
            norm += centered * centered;
            mrc_factor_panel(f, c)[(first + r) * MRC_PANEL + c % MRC_PANEL] = centered;
        }
        w->means[first + r] = dot;
        w->diag[first + r] = norm;
    }
}

struct column_sums {
    const mrc_factor *f;
    int64_t columns;
};

static void sum_columns(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct column_sums *w = arg;
    (void)worker;
    for (int64_t c = 0; c < w->columns; c += MRC_PANEL) {
        const double *values = mrc_factor_panel(w->f, c);
        int64_t width = mrc_min64(MRC_PANEL, w->columns - c);
        for (int64_t i = first; i < end; i++)
            for (int64_t t = 0; t < width; t++)
                sum[c + t] += values[i * MRC_PANEL + t];
    }
}

mercer_status mrc_factor_mean(const mrc_factor *f, int64_t columns, double *mean, mercer_error *err)
{
    struct column_sums w = {.f = f, .columns = columns};
    double n = (double)f->span.total, size = (double)f->n * (double)columns;
    mercer_status rc =
        mrc_sum_span(f->ctx, &f->span, columns, size, size, 0, sum_columns, &w, mean, err);
    for (int64_t c = 0; rc == MERCER_OK && c < columns; c++)
        mean[c] /= n;
    return rc;
}

mercer_status mrc_factor_center(mrc_factor *f, double *means, double *grand, double *diag,
                                mercer_error *err)
{
    double *mean = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&mean, f->rank, sizeof *mean, err));
    MRC_TRY(mrc_factor_mean(f, f->rank, mean, err));
    *grand = 0;
    for (int64_t c = 0; c < f->rank; c++)
        *grand += mean[c] * mean[c];
    struct strip_work w = {.f = f, .mean = mean, .means = means, .diag = diag};
    MRC_TRY(run_strips(&w, center_strip, err));
    f->mean = mean;
    mean = NULL;
out:
    mrc_free(mean);
    return rc;
}

void mrc_factor_scale(mrc_factor *f, double factor)
{
    double root = sqrt(factor);
    for (int64_t c = 0; c < f->rank; c++) {
        double *panel = mrc_factor_panel(f, c);
        for (int64_t i = 0; i < f->n; i++)
            panel[i * MRC_PANEL + c % MRC_PANEL] *= root;
        if (f->mean)
            f->mean[c] *= root;
    }
    f->left_out *= factor;
}

static void times_strip(void *arg, int64_t task, int worker)
{
    struct strip_work *w = arg;
    const mrc_factor *f = w->f;
    int64_t first = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, f->n - first), q = f->rank;
    double *strip = w->scratch[worker];
    pack_strip(f, first, rows, q, strip);
    mrc_gemm(false, false, rows, w->l, q, 1, strip, q, w->weights, w->l, 0, w->out + first * w->l,
             w->l);
}

mercer_status mrc_factor_times(const mrc_factor *f, const double *weights, int64_t l, double *out,
                               mercer_error *err)
{
    struct strip_work w = {.f = f, .weights = weights, .l = l, .out = out};
    return run_strips(&w, times_strip, err);
}

static void quadratic_strip(void *arg, int64_t task, int worker)
{
    struct strip_work *w = arg;
    const mrc_factor *f = w->f;
    int64_t first = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, f->n - first), q = f->rank;
    double *strip = w->scratch[worker], *product = strip + MRC_STRIP * q;
    pack_strip(f, first, rows, q, strip);
    mrc_gemm(false, false, rows, q, q, 1, strip, q, w->weights, q, 0, product, q);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t c = 0; c < q; c++)
            sum += strip[r * q + c] * product[r * q + c];
        w->out[first + r] = sum;
    }
}

mercer_status mrc_factor_quadratic(const mrc_factor *f, const double *s, double *out,
                                   mercer_error *err)
{
    struct strip_work w = {.f = f, .weights = s, .out = out};
    return run_strips(&w, quadratic_strip, err);
}

struct inner {
    const mrc_factor *f;
    mrc_factor_sums sums;
    const double *mean; /* subtracted from F first, or NULL */
    const double *v;    /* NULL: F'F, else F'V */
    int64_t l;
    double **scratch;
};

/* Rows of a strip without their part along the directions; dots: rows x count of scratch. Twice,
 * for what rounding leaves of the first time. */
static void take_off(const mrc_factor_sums *sums, double *strip, int64_t rows, int64_t q,
                     double *dots)
{
    int64_t l = sums->count;
    for (int pass = 0; pass < 2; pass++) {
        mrc_gemm(false, true, rows, l, q, 1, strip, q, sums->directions, q, 0, dots, l);
        mrc_gemm(false, false, rows, q, l, -1, dots, l, sums->directions, q, 1, strip, q);
    }
}

static void inner_part(void *arg, int64_t begin, int64_t end, double *sum, int worker)
{
    struct inner *w = arg;
    const mrc_factor *f = w->f;
    int64_t q = f->rank;
    double *strip = w->scratch[worker];
    for (int64_t first = begin; first < end; first += MRC_STRIP) {
        int64_t rows = mrc_min64(MRC_STRIP, end - first);
        if (mrc_check_cancel(f->ctx, NULL) != MERCER_OK)
            return; /* the caller sees it, too */
        pack_strip(f, first, rows, q, strip);
        for (int64_t i = 0; w->mean && i < rows * q; i++)
            strip[i] -= w->mean[i % q];
        for (int64_t r = 0; w->sums.mask && r < rows; r++)
            if (!w->sums.mask[first + r])
                memset(strip + r * q, 0, (size_t)q * sizeof *strip);
        if (w->sums.count > 0)
            take_off(&w->sums, strip, rows, q, strip + MRC_STRIP * q);
        if (w->v)
            mrc_gemm(true, false, q, w->l, rows, 1, strip, q, w->v + first * w->l, w->l, 1, sum,
                     w->l);
        else
            cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, mrc_blas_int(q), mrc_blas_int(rows),
                        1, strip, mrc_blas_int(q), 1, sum, mrc_blas_int(q));
    }
}

static void sum_squares(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct inner *w = arg;
    (void)worker;
    for (int64_t c = 0; c < w->f->rank; c += MRC_PANEL) {
        const double *values = mrc_factor_panel(w->f, c);
        int64_t width = mrc_min64(MRC_PANEL, w->f->rank - c);
        double column[MRC_PANEL] = {0}; /* apart: one sum would wait for itself */
        for (int64_t i = first; i < end; i++)
            for (int64_t t = 0; t < width; t++)
                column[t] += values[i * MRC_PANEL + t] * values[i * MRC_PANEL + t];
        for (int64_t t = 0; t < width; t++)
            *sum += column[t];
    }
}

/* No entry of the sum of F_t F_t' over any rows is larger than that of |F_t|^2 over all of them.
 * About their mean, rows have up to four times that sum of squares. */
static mercer_status find_bound(struct inner *w, double *bound, mercer_error *err)
{
    const mrc_factor *f = w->f;
    double size = (double)f->n * (double)f->rank;
    *bound = 0;
    if (w->v || !mrc_sum_is_wide(&f->span, f->rank * f->rank))
        return MERCER_OK;
    mercer_status rc = mrc_sum_span(f->ctx, &f->span, 1, size, size, 0, sum_squares, w, bound, err);
    *bound *= 4.5; /* and rounding */
    return rc;
}

static mercer_status run_inner(struct inner *w, double *out, mercer_error *err)
{
    const mrc_factor *f = w->f;
    double size = (double)f->n * (double)f->rank, bound;
    int64_t width = w->v ? w->l : f->rank;
    mercer_status rc = MERCER_OK;
    MRC_TRY(strip_scratch(f, &w->scratch, err));
    MRC_TRY(find_bound(w, &bound, err));
    /* The sums of parts together stay below half the size of F. */
    MRC_TRY(mrc_sum_span(f->ctx, &f->span, f->rank * width, size / 2, size * (double)width, bound,
                         inner_part, w, out, err));
out:
    strip_scratch_free(f, w->scratch);
    return rc;
}

mercer_status mrc_factor_inner(const mrc_factor *f, const mrc_factor_sums *sums, double *s,
                               mercer_error *err)
{
    struct inner w = {.f = f};
    double *mean = NULL;
    mercer_status rc = MERCER_OK;
    if (sums)
        w.sums = *sums;
    if (w.sums.about_mean) {
        MRC_TRY(mrc_alloc(&mean, f->rank, sizeof *mean, err));
        MRC_TRY(mrc_factor_mean(f, f->rank, mean, err));
        w.mean = mean;
    }
    MRC_TRY(run_inner(&w, s, err));
    for (int64_t i = 0; i < f->rank; i++)
        for (int64_t j = 0; j < i; j++)
            s[j * f->rank + i] = s[i * f->rank + j];
out:
    mrc_free(mean);
    return rc;
}

mercer_status mrc_factor_transposed_times(const mrc_factor *f, const double *v, int64_t l,
                                          double *out, mercer_error *err)
{
    struct inner w = {.f = f, .v = v, .l = l};
    return run_inner(&w, out, err);
}

struct left {
    const mrc_factor *f;
    const int64_t *rows;
    int64_t count;
    const mrc_factor_sums *sums;
    double *out;
    double **scratch;
};

static void left_strip(void *arg, int64_t task, int worker)
{
    const struct left *w = arg;
    int64_t q = w->f->rank, first = task * MRC_STRIP, rows = mrc_min64(MRC_STRIP, w->count - first);
    double *out = w->out + first * q;
    for (int64_t i = 0; !w->f->span.spread && i < rows; i++)
        mrc_factor_row(w->f, w->rows[first + i], q, out + i * q);
    if (w->sums->count > 0)
        take_off(w->sums, out, rows, q, w->scratch[worker]);
}

mercer_status mrc_factor_rows_left(const mrc_factor *f, const int64_t *rows, int64_t count,
                                   const mrc_factor_sums *sums, double *out, mercer_error *err)
{
    struct left w = {.f = f, .rows = rows, .count = count, .sums = sums, .out = out};
    mercer_status rc = MERCER_OK;
    MRC_TRY(strip_scratch(f, &w.scratch, err));
    if (f->span.spread)
        MRC_TRY(mrc_factor_rows_of_all(f, rows, count, out, err));
    MRC_TRY(mrc_parfor_checked(f->ctx, mrc_strips(count), left_strip, &w, err));
out:
    strip_scratch_free(f, w.scratch);
    return rc;
}

mercer_status mrc_factor_triangle(const mrc_factor *f, double **out, mercer_error *err)
{
    int64_t q = f->rank;
    mercer_status rc = mrc_alloc2(out, q, q, sizeof **out, err);
    if (rc == MERCER_OK)
        rc = mrc_factor_rows_of_all(f, f->pivots, q, *out, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; f->mean && i < q; i++)
        for (int64_t j = 0; j <= i; j++)
            (*out)[i * q + j] += f->mean[j];
    return MERCER_OK;
}

void mrc_factor_rows(const mrc_factor *f, const int64_t *rows, int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++)
        mrc_factor_row(f, rows ? rows[i] : i, f->rank, out + i * f->rank);
}

mercer_status mrc_factor_rows_of_all(const mrc_factor *f, const int64_t *rows, int64_t count,
                                     double *out, mercer_error *err)
{
    if (!f->span.spread) {
        mrc_factor_rows(f, rows, count, out);
        return MERCER_OK;
    }
    memset(out, 0, (size_t)(count * f->rank) * sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = (rows ? rows[i] : i) - f->span.first;
        if (row >= 0 && row < f->n)
            mrc_factor_row(f, row, f->rank, out + i * f->rank);
    }
    return mrc_comm_merge_numbers(f->ctx, out, count * f->rank, err);
}
