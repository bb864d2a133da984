/* SPDX-License-Identifier: BSD-3-Clause */
/* The front of the Gram operator: checks, centring, and the operations methods call. The store does
 * the rest, and where it has only this rank's share, the ranks' results are summed.
 *
 * Centring is implicit: H K (H v) for products, K - m_i - m_j + g for entries. The column means m
 * ride along with the first product as one more column of ones. */
#include "gram/store.h"

#include "base/running.h"
#include "gram/factor.h"
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a new one ---- */

mercer_status mrc_check_kmax(mercer_ctx *ctx, const mrc_kernel *kernel, const mercer_rows *rows,
                             double kmax, mercer_error *err)
{
    const int64_t n = mrc_rows_total(rows);
    /* Denormal numbers have fewer digits: entries of 1e-16 of the largest one are still none.
     * Above, sums over the rows, and centred ones, are to be numbers. */
    const double least = DBL_MIN / DBL_EPSILON, most = DBL_MAX / 4 / (double)n;
    if (kmax <= most && (kmax == 0 || kmax >= least))
        return MERCER_OK;
    int64_t column;
    double value;
    mercer_status rc = mrc_rows_largest_of_all(ctx, rows, &value, &column, err);
    if (rc != MERCER_OK)
        return rc;
    bool given = mrc_kernel_is_precomputed(kernel);
    return mrc_fail_at(err, MERCER_ERR_DATA,
                       MRC_AT(.column_number = column + 1, .advice_key = given ? NULL : "scale",
                              .advice_value = given ? NULL : "standard"),
                       "kernel values of about %.0e are outside the range in which %lld rows keep "
                       "all digits, %.0e to %.0e: the largest value of the %s is %g (column "
                       "%lld); %s",
                       kmax, (long long)n, least, most, given ? "matrix" : "rows", fabs(value),
                       (long long)(column + 1),
                       given ? "multiply the matrix by a constant" : "scale the data");
}

static mercer_status check_range(const mrc_gram *g, mercer_error *err)
{
    for (int64_t i = 0; i < g->n; i++)
        if (!isfinite(g->raw_diag[i])) {
            int64_t column;
            double value = mrc_rows_largest(g->rows, i, 1, &column);
            return mrc_fail_at(err, MERCER_ERR_DATA,
                               MRC_AT(.row = g->span.first + i + 1, .column_number = column + 1,
                                      .advice_key = "scale", .advice_value = "standard"),
                               "the kernel overflows on row %lld: column %lld holds %g; scale the "
                               "data",
                               (long long)(g->span.first + i + 1), (long long)(column + 1), value);
        }
    /* Entries of 1e-7 of the largest one are still whole numbers of single precision. */
    if (g->single && (g->kmax > FLT_MAX || (g->kmax > 0 && g->kmax < FLT_MIN / FLT_EPSILON)))
        return mrc_fail(err, MERCER_ERR_DATA,
                        "kernel values of about %.0e are out of the range of single precision, "
                        "%.0e to %.0e: scale the data, or take double precision",
                        g->kmax, (double)FLT_MIN / FLT_EPSILON, (double)FLT_MAX);
    return mrc_check_kmax(g->ctx, g->kernel, g->rows, g->kmax, err);
}

mercer_status mrc_gram_new(mrc_gram **out, mercer_ctx *ctx, const mrc_kernel *kernel,
                           const mercer_rows *rows, const mrc_gram_request *request,
                           mercer_fit_report *report, mercer_error *err)
{
    mrc_gram *g = NULL;
    char reason[224] = "";
    mercer_status rc = MERCER_OK;

    *out = NULL;
    MRC_TRY(mrc_alloc(&g, 1, sizeof *g, err));
    g->ctx = ctx;
    g->kernel = kernel;
    g->rows = rows;
    g->n = rows->n;
    g->span = mrc_rows_span(ctx, rows);
    if (mercer_rows_is_sparse(rows))
        MRC_TRY(mrc_rows_entries_of_all(ctx, rows, &g->entries, err));
    g->threads = ctx->threads;
    g->single = request->single;
    g->tolerance = request->tolerance;
    g->centered = request->centered;
    g->eps = request->single ? FLT_EPSILON : DBL_EPSILON;
    g->unit = 1;
    MRC_TRY(mrc_alloc(&g->raw_diag, g->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&g->diag, g->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&g->means, g->n, sizeof(double), err));
    if (mrc_kernel_is_precomputed(kernel)) {
        MRC_TRY(mrc_precomputed_read(g, err));
    } else {
        MRC_TRY(mrc_kernel_check_rows(kernel, ctx, rows, g->span.first, err));
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(mrc_points_init(&g->points, ctx, kernel, rows, NULL, err));
        if (mrc_kernel_is_linear(kernel) && g->centered && !rows->csr.start)
            MRC_TRY(mrc_points_shift(&g->points, ctx, rows, err));
        MRC_TRY(mrc_check_cancel(ctx, err)); /* the rows may be many */
        MRC_TRY(mrc_kernel_whole_diag(kernel, ctx, &g->points, g->raw_diag, err));
    }
    for (int64_t i = 0; i < g->n; i++)
        g->kmax = fmax(g->kmax, fabs(g->raw_diag[i]));
    if (g->span.spread)
        MRC_TRY(mrc_comm_largest(ctx, &g->kmax, err));
    /* Only a semidefinite matrix has its largest entry on the diagonal. */
    if (mrc_kernel_max_abs(kernel) > 0)
        g->kmax = mrc_kernel_max_abs(kernel);
    MRC_TRY(check_range(g, err));
    memcpy(g->diag, g->raw_diag, (size_t)g->n * sizeof *g->diag);
    MRC_TRY(mrc_store_choose(g, request, reason, sizeof reason, err));
    if (g->store->caps & (MRC_STORE_CHEAP_PASSES | MRC_STORE_NARROW)) /* products stay narrower */
        MRC_TRY(mrc_gram_learn_means(g, err));
    if (report) {
        const mrc_factor *factor = mrc_gram_factor(g);
        snprintf(report->store, sizeof report->store, "%s", g->store->name);
        snprintf(report->store_reason, sizeof report->store_reason, "%s", reason);
        report->store_rank = factor ? factor->rank : 0;
        report->store_bytes = mrc_gram_bytes(g, false);
    }
    *out = g;
    g = NULL;
out:
    mrc_gram_free(g);
    return rc;
}

void mrc_gram_release_points(mrc_gram *g)
{
    if (g->store->caps & MRC_STORE_COMPLETE)
        mrc_points_destroy(&g->points);
}

void mrc_gram_release(mrc_gram *g)
{
    if (g->self)
        g->store->destroy(g->self);
    g->self = NULL;
    mrc_points_destroy(&g->points);
}

void mrc_gram_free(mrc_gram *g)
{
    if (!g)
        return;
    mrc_gram_release(g);
    mrc_free(g->raw_diag);
    mrc_free(g->diag);
    mrc_free(g->means);
    mrc_free(g);
}

int64_t mrc_gram_size(const mrc_gram *g)
{
    return g->n;
}

mrc_span mrc_gram_span(const mrc_gram *g)
{
    return g->span;
}

bool mrc_gram_centered(const mrc_gram *g)
{
    return g->centered;
}

double mrc_gram_eps(const mrc_gram *g)
{
    return g->eps;
}

double mrc_gram_kmax(const mrc_gram *g)
{
    return g->kmax;
}

double mrc_gram_size_of(const mrc_gram *g, double largest)
{
    if (g->centered || mrc_gram_factor(g) || !mrc_kernel_is_semidefinite(g->kernel))
        return g->kmax;
    return g->single ? fmax(largest, FLT_MIN / FLT_EPSILON) : largest; /* smaller: fewer digits */
}

bool mrc_gram_holds_columns(const mrc_gram *g)
{
    return mrc_gram_bytes(g, true) > 0 || mrc_kernel_is_precomputed(g->kernel);
}

const mrc_store *mrc_gram_store(const mrc_gram *g)
{
    return g->store;
}

const mrc_factor *mrc_gram_factor(const mrc_gram *g)
{
    return g->store->factor ? g->store->factor(g->self) : NULL;
}

int64_t mrc_gram_bytes(const mrc_gram *g, bool held)
{
    return g->store->bytes ? g->store->bytes(g->self, held) : 0;
}

double mrc_gram_left_out(const mrc_gram *g)
{
    const mrc_factor *factor = mrc_gram_factor(g);
    return factor ? factor->left_out : 0;
}

enum {
    PLAIN = 128,    /* kmax from 2^-128 to 2^128 has a fourth power, and 1e-77 of it */
    FARTHEST = 1022 /* power of two that has an inverse, both with all their digits */
};

double mrc_usual_unit(double kmax)
{
    int exponent;
    if (!(kmax > 0 && kmax <= DBL_MAX))
        return 1;
    frexp(kmax, &exponent);
    if (exponent >= -PLAIN && exponent <= PLAIN)
        return 1;
    exponent = exponent > FARTHEST ? FARTHEST : exponent < -FARTHEST ? -FARTHEST : exponent;
    return ldexp(1, exponent - (exponent % 2 + 2) % 2);
}

double mrc_gram_usual_unit(const mrc_gram *g)
{
    return g->single ? 1 : mrc_usual_unit(g->kmax * g->unit);
}

double mrc_gram_unit(const mrc_gram *g)
{
    return g->unit;
}

void mrc_gram_set_unit(mrc_gram *g, double unit)
{
    double factor = g->unit / unit;
    if (factor == 1)
        return;
    g->unit = unit;
    for (int64_t i = 0; i < g->n; i++) {
        g->raw_diag[i] *= factor;
        g->diag[i] *= factor;
        g->means[i] *= factor;
    }
    g->grand *= factor;
    g->kmax *= factor;
    g->store->scale(g->self, factor);
}

/* ---- the store's operations ---- */

static mrc_pick all_rows(const mrc_gram *g)
{
    return (mrc_pick){.count = g->n};
}

/* An answer would be that of the rows here alone. */
static mercer_status refuse_spread(const mrc_gram *g, mercer_error *err)
{
    return g->span.spread ? mrc_rows_need_whole(g->rows, "products with the kernel matrix", err)
                          : MERCER_OK;
}

/* Whether the store exchanges what products with rows of other ranks take. */
static mercer_status need_whole(const mrc_gram *g, mercer_error *err)
{
    return g->store->caps & MRC_STORE_SPREADS ? MERCER_OK : refuse_spread(g, err);
}

/* Ranks that hold shares of the matrix have computed addends. */
static mercer_status sum_ranks(const mrc_gram *g, double *out, int64_t count, mercer_error *err)
{
    return g->store->caps & MRC_STORE_PARTIAL ? mrc_comm_sum(g->ctx, out, count, err) : MERCER_OK;
}

/* out (count x l) = K[J, :] v as the store has K. */
static mercer_status store_apply(const mrc_gram *g, mrc_pick j, const double *v, int64_t l,
                                 double *out, mercer_error *err)
{
    mercer_status rc = need_whole(g, err);
    if (rc == MERCER_OK)
        rc = g->store->apply(g->self, j, v, l, out, err);
    return rc == MERCER_OK ? sum_ranks(g, out, j.count * l, err) : rc;
}

static mercer_status store_row_norms2(const mrc_gram *g, mrc_pick j, const mrc_shift *shift,
                                      double *out, mercer_error *err)
{
    mercer_status rc = need_whole(g, err);
    if (rc == MERCER_OK)
        rc = g->store->row_norms2(g->self, j, shift, out, err);
    return rc == MERCER_OK ? sum_ranks(g, out, j.count, err) : rc;
}

void mrc_fetched_destroy(mrc_fetched *fetched)
{
    mrc_points_destroy(&fetched->points);
    mercer_rows_free(fetched->rows);
    mrc_free(fetched->means);
    *fetched = (mrc_fetched){0};
}

mercer_status mrc_fetch(const mrc_gram *g, mrc_pick j, const mrc_shift *shift, mrc_fetched *out,
                        mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!j.rows) /* columns of all ranks */
        return mrc_rows_need_whole(g->rows, "all columns", err);
    MRC_TRY(mrc_rows_take_of_all(g->ctx, g->rows, j.rows, j.count, &out->rows, err));
    if (shift->row) {
        MRC_TRY(mrc_alloc(&out->means, j.count, sizeof *out->means, err));
        for (int64_t i = 0; i < j.count; i++) {
            int64_t at = j.rows[i] - g->span.first;
            out->means[i] = at >= 0 && at < g->n ? shift->row[at] : 0;
        }
        MRC_TRY(mrc_comm_merge_numbers(g->ctx, out->means, j.count, err));
    }
    MRC_TRY(mrc_points_init(&out->points, g->ctx, g->kernel, out->rows, &g->points, err));
out:
    return rc;
}

/* ---- centring ---- */

static mercer_status set_means(mrc_gram *g, const double *sums, int64_t stride, mercer_error *err)
{
    const double n = (double)g->span.total;
    for (int64_t i = 0; i < g->n; i++)
        g->means[i] = sums[i * stride] / n;
    mercer_status rc = mrc_sum_span_rows(g->ctx, &g->span, g->means, &g->grand, err);
    if (rc != MERCER_OK)
        return rc;
    g->grand /= n;
    for (int64_t i = 0; i < g->n; i++)
        g->diag[i] = g->raw_diag[i] - 2 * g->means[i] + g->grand;
    g->means_known = true;
    return MERCER_OK;
}

mercer_status mrc_gram_learn_means(mrc_gram *g, mercer_error *err)
{
    double *ones = NULL, *sums = NULL;
    mercer_status rc = MERCER_OK;
    if (!g->centered || g->means_known)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&ones, g->n, sizeof *ones, err));
    MRC_TRY(mrc_alloc(&sums, g->n, sizeof *sums, err));
    for (int64_t i = 0; i < g->n; i++)
        ones[i] = 1;
    MRC_TRY(store_apply(g, all_rows(g), ones, 1, sums, err));
    MRC_TRY(set_means(g, sums, 1, err));
out:
    mrc_free(ones);
    mrc_free(sums);
    return rc;
}

mercer_status mrc_gram_diag(mrc_gram *g, const double **out, mercer_error *err)
{
    mercer_status rc = mrc_gram_learn_means(g, err);
    *out = g->diag;
    return rc;
}

mercer_status mrc_gram_means(mrc_gram *g, const double **out, double *grand, mercer_error *err)
{
    mercer_status rc = mrc_gram_learn_means(g, err);
    *out = g->means;
    *grand = g->grand;
    return rc;
}

/* Whether products and entries are to be centred here. */
static bool centers_here(const mrc_gram *g)
{
    return g->centered && !(g->store->caps & MRC_STORE_CENTERS);
}

/* Subtract the mean of each column of v (n x l, stride l); means: l values of scratch. */
static mercer_status center_columns(const mrc_gram *g, int64_t l, double *v, double *means,
                                    mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_column_sums_of_span(g->ctx, &g->span, v, l, means, err));
    for (int64_t j = 0; j < l; j++)
        means[j] /= (double)g->span.total;
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t j = 0; j < l; j++)
            v[i * l + j] -= means[j];
out:
    return rc;
}

/* ---- operations ---- */

static mercer_status apply_centered(mrc_gram *g, const double *v, int64_t l, double *out,
                                    mercer_error *err)
{
    double *input = NULL, *output = NULL, *scratch = NULL;
    /* Until the means are known, a column of ones rides along. */
    int64_t width = g->means_known ? l : l + 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&scratch, width, sizeof *scratch, err));
    MRC_TRY(mrc_alloc2_raw(&input, g->n, width, sizeof *input, err));
    if (width > l)
        MRC_TRY(mrc_alloc2_raw(&output, g->n, width, sizeof *output, err));
    memcpy(out, v, (size_t)(g->n * l) * sizeof *out);
    MRC_TRY(center_columns(g, l, out, scratch, err));
    for (int64_t i = 0; i < g->n; i++) {
        memcpy(input + i * width, out + i * l, (size_t)l * sizeof *input);
        if (width > l)
            input[i * width + l] = 1;
    }
    MRC_TRY(store_apply(g, all_rows(g), input, width, width > l ? output : out, err));
    if (width > l) {
        MRC_TRY(set_means(g, output + l, width, err));
        for (int64_t i = 0; i < g->n; i++)
            memcpy(out + i * l, output + i * width, (size_t)l * sizeof *out);
    }
    MRC_TRY(center_columns(g, l, out, scratch, err));
out:
    mrc_free(input);
    mrc_free(output);
    mrc_free(scratch);
    return rc;
}

mercer_status mrc_gram_apply(mrc_gram *g, const double *v, int64_t l, double *out,
                             mercer_error *err)
{
    return centers_here(g) ? apply_centered(g, v, l, out, err)
                           : store_apply(g, all_rows(g), v, l, out, err);
}

mercer_status mrc_gram_apply_rows(mrc_gram *g, const int64_t *rows, int64_t count, const double *v,
                                  int64_t l, double *out, mercer_error *err)
{
    const mrc_pick pick = {.rows = rows, .count = count};
    double *centered = NULL, *means = NULL;
    mercer_status rc = MERCER_OK;

    if (!centers_here(g))
        return store_apply(g, pick, v, l, out, err);
    MRC_TRY(refuse_spread(g, err));
    MRC_TRY(mrc_gram_learn_means(g, err));
    MRC_TRY(mrc_alloc(&means, l, sizeof *means, err));
    MRC_TRY(mrc_alloc2_raw(&centered, g->n, l, sizeof *centered, err));
    memcpy(centered, v, (size_t)(g->n * l) * sizeof *centered);
    MRC_TRY(center_columns(g, l, centered, means, err));
    MRC_TRY(store_apply(g, pick, centered, l, out, err));
    /* (H K H V)_J = (K H V)_J - m' H V */
    memset(means, 0, (size_t)l * sizeof *means);
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t j = 0; j < l; j++)
            means[j] += g->means[i] * centered[i * l + j];
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < l; j++)
            out[i * l + j] -= means[j];
out:
    mrc_free(centered);
    mrc_free(means);
    return rc;
}

/* The shift that centres the matrix: K_it + (g - m_i) - m_t. */
static mercer_status centring(mrc_gram *g, const unsigned char *mask, mrc_shift *shift,
                              mercer_error *err)
{
    *shift = (mrc_shift){.mask = mask};
    if (!centers_here(g))
        return MERCER_OK;
    shift->row = shift->column = g->means;
    mercer_status rc = mrc_gram_learn_means(g, err);
    shift->base = g->grand;
    return rc;
}

mercer_status mrc_gram_columns(mrc_gram *g, const int64_t *rows, int64_t count, double *out,
                               mercer_error *err)
{
    const mrc_pick pick = {.rows = rows, .count = count};
    mrc_shift shift;
    mercer_status rc = MERCER_OK;
    if (!(g->store->caps & MRC_STORE_SPREADS_COLUMNS))
        MRC_TRY(need_whole(g, err));
    MRC_TRY(centring(g, NULL, &shift, err));
    MRC_TRY(g->store->columns(g->self, pick, &shift, out, err));
    MRC_TRY(sum_ranks(g, out, count * g->n, err));
out:
    return rc;
}

mercer_status mrc_gram_row_norms2(mrc_gram *g, const int64_t *rows, int64_t count,
                                  const unsigned char *mask, double *out, mercer_error *err)
{
    const mrc_pick pick = {.rows = rows, .count = rows ? count : g->n};
    mrc_shift shift;
    mercer_status rc = MERCER_OK;
    MRC_TRY(centring(g, mask, &shift, err));
    MRC_TRY(store_row_norms2(g, pick, &shift, out, err));
out:
    return rc;
}

mercer_status mrc_gram_collapse(mrc_gram *g, const double *b, int64_t l, double **out,
                                mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!g->store->collapse)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(out, g->rows->d, l, sizeof **out, err));
    MRC_TRY(g->store->collapse(g->self, b, l, *out, err));
out:
    if (rc != MERCER_OK) {
        mrc_free(*out);
        *out = NULL;
    }
    return rc;
}

mercer_status mrc_gram_squares(mrc_gram *g, double *out, mercer_error *err)
{
    double *norms2 = NULL;
    mercer_status rc = MERCER_OK;
    if (g->store->squares) {
        MRC_TRY(mrc_gram_learn_means(g, err));
        MRC_TRY(g->store->squares(g->self, out, err));
        MRC_TRY(sum_ranks(g, out, 1, err));
        goto out;
    }
    MRC_TRY(mrc_alloc(&norms2, g->n, sizeof *norms2, err));
    MRC_TRY(mrc_gram_row_norms2(g, NULL, g->n, NULL, norms2, err));
    MRC_TRY(mrc_column_sums_of_span(g->ctx, &g->span, norms2, 1, out, err));
out:
    mrc_free(norms2);
    return rc;
}

bool mrc_gram_squares_pay(const mrc_gram *g, const mrc_gram_request *request)
{
    return !g->store->squares_pay || g->store->squares_pay(g->self, request);
}

static mercer_status add_positive(void *arg, int64_t begin, int64_t end, double *sum,
                                  mercer_error *err)
{
    const mrc_gram *g = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < g->n; i++)
        *sum += fmax(g->diag[i], 0);
    return MERCER_OK;
}

/* K = F F' with rows f_i of F, in whatever space, has |K e_i| = |F f_i| <= |F| |f_i|, where |f_i|^2
 * is K_ii and |F|^2 the largest eigenvalue of K, which is at most its trace. The entries and the
 * diagonal that are computed are off by rounding, by `off` at most (|x| |y| <= kmax, whatever the
 * number of columns): the diagonal is made larger by that much, and sqrt(n) of it are added for the
 * entries of a column. */
mercer_status mrc_gram_longest(mrc_gram *g, bool close, double *out, mercer_error *err)
{
    const double off = 64 * g->eps * g->kmax, n = (double)g->span.total;
    const double *diag;
    double largest = 0, most = 0, bound;
    mercer_status rc = MERCER_OK;
    *out = INFINITY;
    MRC_TRY(mrc_gram_diag(g, &diag, err));
    if (!mrc_kernel_is_semidefinite(g->kernel))
        goto out;
    for (int64_t i = 0; i < g->n; i++)
        largest = fmax(largest, diag[i]);
    if (g->span.spread)
        MRC_TRY(mrc_comm_largest(g->ctx, &largest, err));
    MRC_TRY(mrc_run_span(g->ctx, &g->span, &most, 1, 1, add_positive, g, err));
    if (close && g->store->eigen_bound) {
        MRC_TRY(g->store->eigen_bound(g->self, &bound, err));
        most = fmin(most, bound);
    }
    *out = sqrt(largest + off) * sqrt(most + n * off) + sqrt(n) * off;
out:
    return rc;
}

mercer_status mrc_gram_row_variances(mrc_gram *g, double *out, mercer_error *err)
{
    double *shares = NULL, *means = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(g->store->row_variances ? need_whole(g, err) : refuse_spread(g, err));
    if (g->store->row_variances) {
        MRC_TRY(g->store->row_variances(g->self, out, err));
        MRC_TRY(sum_ranks(g, out, g->n, err));
        goto out;
    }
    MRC_TRY(mrc_alloc(&shares, g->n, sizeof *shares, err));
    MRC_TRY(mrc_alloc(&means, g->n, sizeof *means, err));
    for (int64_t i = 0; i < g->n; i++)
        shares[i] = 1 / (double)g->n;
    MRC_TRY(store_apply(g, all_rows(g), shares, 1, means, err));
    MRC_TRY(store_row_norms2(g, all_rows(g), &(mrc_shift){.row = means}, out, err));
out:
    mrc_free(shares);
    mrc_free(means);
    return rc;
}

/* ---- new rows ---- */

struct cross_work {
    mrc_gram *g;
    const mrc_points *points;
    int64_t count;
    double *out;
    double *scratch; /* per worker: windows of both */
    int64_t scratch_size;
};

static void cross_group(void *arg, int64_t task, int worker)
{
    struct cross_work *w = arg;
    mrc_gram *g = w->g;
    int64_t first = task * MRC_GATHER;
    int64_t rows = w->count - first < MRC_GATHER ? w->count - first : MRC_GATHER;
    double *out = w->out + first * g->n, *scratch = w->scratch + worker * w->scratch_size;
    int64_t a0 = first;
    mrc_points a_own, b_own;
    const mrc_points *a = mrc_points_window(w->points, &a0, rows, scratch, &a_own);
    scratch += MRC_GATHER * mrc_points_window_size(w->points);
    for (int64_t c = 0; c < g->n; c += MRC_TILE) {
        int64_t cols = g->n - c < MRC_TILE ? g->n - c : MRC_TILE, b0 = c;
        const mrc_points *b = mrc_points_window(&g->points, &b0, cols, scratch, &b_own);
        mrc_kernel_tile(g->kernel, g->ctx, a, a0, rows, b, b0, cols, out + c, g->n);
    }
    for (int64_t i = 0; g->unit != 1 && i < rows * g->n; i++)
        out[i] /= g->unit;
    for (int64_t i = 0; g->centered && !g->span.spread && i < rows; i++) {
        double *row = out + i * g->n, mean = 0;
        for (int64_t t = 0; t < g->n; t++)
            mean += row[t];
        mean /= (double)g->n;
        for (int64_t t = 0; t < g->n; t++)
            row[t] += g->grand - mean - g->means[t];
    }
}

static mercer_status add_row(void *arg, int64_t begin, int64_t end, double *sums, mercer_error *err)
{
    const struct cross_work *w = arg;
    int64_t n = w->g->n;
    (void)err;
    for (int64_t i = begin; i < end; i++)
        for (int64_t t = 0; t < n; t++)
            sums[i] += w->out[i * n + t];
    return MERCER_OK;
}

/* The same centring where rows are spread: means are those of the values of all ranks. */
static mercer_status center_cross(const struct cross_work *w, mercer_error *err)
{
    enum { TOGETHER = 8 };
    const mrc_gram *g = w->g;
    struct cross_work own = *w;
    double *sums = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&sums, w->count, sizeof *sums, err));
    MRC_TRY(mrc_comm_relay(g->ctx, sums, w->count, TOGETHER, add_row, &own, err));
    for (int64_t i = 0; i < w->count; i++) {
        double *row = w->out + i * g->n, mean = sums[i] / (double)g->span.total;
        for (int64_t t = 0; t < g->n; t++)
            row[t] += g->grand - mean - g->means[t];
    }
out:
    mrc_free(sums);
    return rc;
}

mercer_status mrc_gram_grand_mean(mrc_gram *g, double *out, mercer_error *err)
{
    double n = (double)g->n, *shares = NULL, *means = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(refuse_spread(g, err));
    MRC_TRY(mrc_alloc(&shares, g->n, sizeof *shares, err));
    MRC_TRY(mrc_alloc(&means, g->n, sizeof *means, err));
    for (int64_t i = 0; i < g->n; i++)
        shares[i] = 1 / n;
    MRC_TRY(mrc_gram_apply(g, shares, 1, means, err));
    *out = 0;
    for (int64_t i = 0; i < g->n; i++)
        *out += means[i] / n;
out:
    mrc_free(shares);
    mrc_free(means);
    return rc;
}

mercer_status mrc_gram_cross(mrc_gram *g, const mercer_rows *rows, int64_t first, int64_t count,
                             double *out, mercer_error *err)
{
    mrc_points points = {0};
    struct cross_work w = {.g = g, .points = &points, .count = count, .out = out};
    mercer_rows *slice = NULL;
    mercer_status rc = MERCER_OK;
    if (g->store->caps & MRC_STORE_NO_NEW_ROWS)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "kernel precomputed: kernel values of new rows must be given");
    if (!rows->csr.start != !g->rows->csr.start)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "new rows must be sparse or dense as the training rows are");
    MRC_TRY(mrc_gram_learn_means(g, err));
    /* Callers go through many rows in blocks: whatever is done for a block is done for its rows
     * only, or it would be done n times for n rows. */
    if (count < rows->n)
        MRC_TRY(mrc_rows_slice(rows, first, count, &slice, err));
    const mercer_rows *block = slice ? slice : rows;
    MRC_TRY(mrc_kernel_check_rows(g->kernel, g->ctx, block, slice ? first : 0, err));
    MRC_TRY(mrc_points_init(&points, g->ctx, g->kernel, block, &g->points, err));
    MRC_TRY(mrc_points_build_index(&g->points, g->ctx, err)); /* the implicit store has none yet */
    w.scratch_size = MRC_GATHER * mrc_points_window_size(&points) +
                     MRC_TILE * mrc_points_window_size(&g->points);
    MRC_TRY(mrc_alloc2_raw(&w.scratch, g->threads, w.scratch_size, sizeof *w.scratch, err));
    MRC_TRY(
        mrc_parfor_checked(g->ctx, (count + MRC_GATHER - 1) / MRC_GATHER, cross_group, &w, err));
    if (g->centered && g->span.spread)
        MRC_TRY(center_cross(&w, err));
out:
    mrc_points_destroy(&points);
    mercer_rows_free(slice);
    mrc_free(w.scratch);
    return rc;
}
