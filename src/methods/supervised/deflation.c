/* SPDX-License-Identifier: BSD-3-Clause */
/* The deflation engine; see deflation.h.
 *
 * Adding a feature costs 8 n j for two passes of Gram-Schmidt beside the product K beta; the
 * coefficients A take p k^2 at the end, p being the rows that the directions use.
 *
 * Rows that are spread over ranks: vectors have the rows that are here. Sums over the rows are
 * those of one rank, by parts or handed on; eigenvectors and what BLAS makes of numbers that all
 * ranks have are rank 0's. So all ranks take the same decisions. */
#include "methods/supervised/deflation.h"

#include "base/running.h"
#include "linalg/linalg.h"
#include "methods/common/expansion.h"
#include "methods/supervised/bound.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the earlier features must leave of a direction: of a combination of rows in units of what
 * rounding could make of it, of a single row in units of its own column. */
static const double LEAST = 1e-10, MIN_OF_ROW = 1e-8;
/* Share of |v|^2 above which one projection is as good as two, except for half a digit. */
static const double ENOUGH = 0.1;
enum {
    FEW = 8,      /* rows whose columns are fetched instead of a product with the matrix */
    TOGETHER = 8, /* running sums that a rank hands on at a time */
};

mercer_status mrc_deflation_init(mrc_deflation *dual, mercer_ctx *ctx, mrc_gram *gram,
                                 const double *y, int64_t outputs, int64_t most, bool sparse,
                                 mercer_error *err)
{
    int64_t n = mrc_gram_size(gram);
    mercer_status rc = MERCER_OK;
    dual->ctx = ctx;
    dual->gram = gram;
    dual->n = n;
    dual->span = mrc_gram_span(gram);
    dual->stride = mrc_wide_stride(&dual->span);
    dual->outputs = outputs;
    dual->most = most < dual->span.total ? most : dual->span.total;
    dual->sparse = sparse;
    dual->targets2 = -1;
    MRC_TRY(mrc_alloc2_raw(&dual->y, n, outputs, sizeof(double), err));
    memcpy(dual->y, y, (size_t)(n * outputs) * sizeof *y);
    MRC_TRY(mrc_alloc2_raw(&dual->rest, n, outputs, sizeof(double), err));
    memcpy(dual->rest, y, (size_t)(n * outputs) * sizeof *y);
    MRC_TRY(mrc_alloc(&dual->blur, outputs, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&dual->q, dual->most, dual->stride, sizeof(double), err));
    MRC_TRY(mrc_alloc(&dual->norms, dual->most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&dual->given, dual->most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&dual->aligned, dual->most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&dual->covariance, dual->most, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&dual->m, dual->most, (dual->most + 1) / 2 + 1, sizeof(double), err));
    if (!sparse) {
        MRC_TRY(mrc_alloc2_raw(&dual->values, dual->most, n, sizeof(double), err));
        goto out;
    }
    MRC_TRY(mrc_alloc(&dual->start, dual->most + 1, sizeof *dual->start, err));
    MRC_TRY(mrc_alloc(&dual->used, dual->most, sizeof *dual->used, err));
    if (dual->span.spread) /* selected grows with the rows used */
        goto out;
    MRC_TRY(mrc_alloc(&dual->selected, n, sizeof *dual->selected, err));
    MRC_TRY(mrc_alloc(&dual->place, n, sizeof *dual->place, err));
    for (int64_t i = 0; i < n; i++)
        dual->place[i] = -1;
out:
    return rc;
}

void mrc_deflation_destroy(mrc_deflation *dual)
{
    mrc_free(dual->y);
    mrc_free(dual->rest);
    mrc_free(dual->blur);
    mrc_free(dual->q);
    mrc_free(dual->norms);
    mrc_free(dual->m);
    mrc_free(dual->given);
    mrc_free(dual->values);
    mrc_free(dual->start);
    mrc_free(dual->point);
    mrc_free(dual->selected);
    mrc_free(dual->used);
    mrc_free(dual->place);
    mrc_free(dual->column_norms2);
    mrc_free(dual->aligned);
    mrc_free(dual->covariance);
    memset(dual, 0, sizeof *dual);
}

/* ---- sums over the rows of all ranks ---- */

static mercer_status run(const mrc_deflation *dual, double *sums, int64_t count,
                         mrc_relay_body body, void *arg, mercer_error *err)
{
    return mrc_run_span(dual->ctx, &dual->span, sums, count, TOGETHER, body, arg, err);
}

struct factors {
    const double *a, *b;
    int64_t count;
};

static mercer_status add_products(void *arg, int64_t begin, int64_t end, double *out,
                                  mercer_error *err)
{
    const struct factors *w = arg;
    double sum = *out;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < w->count; i++)
        sum += w->a[i] * w->b[i];
    *out = sum;
    return MERCER_OK;
}

mercer_status mrc_deflation_dot(const mrc_deflation *dual, const double *a, const double *b,
                                int64_t width, double *out, mercer_error *err)
{
    struct factors w = {.a = a, .b = b, .count = dual->n * width};
    *out = 0;
    return run(dual, out, 1, add_products, &w, err);
}

/* |v|^2 */
static mercer_status square(const mrc_deflation *dual, const double *v, double *out,
                            mercer_error *err)
{
    return mrc_deflation_dot(dual, v, v, 1, out, err);
}

/* ---- what the features leave ---- */

mercer_status mrc_deflation_column_norms2(mrc_deflation *dual, const double **out,
                                          mercer_error *err)
{
    double *norms2 = NULL;
    mercer_status rc = MERCER_OK;
    if (!dual->column_norms2) {
        MRC_TRY(mrc_alloc(&norms2, dual->n, sizeof *norms2, err));
        MRC_TRY(mrc_gram_row_norms2(dual->gram, NULL, dual->n, NULL, norms2, err));
        dual->column_norms2 = norms2;
        norms2 = NULL;
    }
    *out = dual->column_norms2;
out:
    mrc_free(norms2);
    return rc;
}

mercer_status mrc_deflation_project(mrc_deflation *dual, double *v, double *dots, mercer_error *err)
{
    double *more = NULL;
    mercer_status rc = MERCER_OK;
    double before, after = 0;
    MRC_TRY(mrc_alloc(&more, dual->count + 1, sizeof *more, err));
    memset(dots, 0, (size_t)dual->count * sizeof *dots);
    for (int pass = 0; pass < 2; pass++) { /* the second one for what rounding left of the first */
        if (pass == 0)
            MRC_TRY(square(dual, v, &before, err));
        else
            before = after;
        MRC_TRY(mrc_wide_dots_of_span(dual->ctx, dual->q, dual->count, &dual->span, v, more, err));
        mrc_wide_times_of_span(dual->ctx, dual->q, dual->count, &dual->span, -1, more, 1, v);
        for (int64_t t = 0; t < dual->count; t++)
            dots[t] += more[t];
        MRC_TRY(square(dual, v, &after, err));
        if (after > ENOUGH * before)
            break;
    }
out:
    mrc_free(more);
    return rc;
}

/* The column of the targets from `first` on, or a feature and the targets. */
struct against_targets {
    const mrc_deflation *dual;
    const double *q;
    int64_t column;
};

static mercer_status add_squares(void *arg, int64_t begin, int64_t end, double *out,
                                 mercer_error *err)
{
    const struct against_targets *w = arg;
    const mrc_deflation *dual = w->dual;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < dual->n; i++) {
        const double y = dual->y[i * dual->outputs + w->column];
        *out += y * y;
    }
    return MERCER_OK;
}

/* q'y and q'rest of each column, one after the other. */
static mercer_status add_alignments(void *arg, int64_t begin, int64_t end, double *out,
                                    mercer_error *err)
{
    const struct against_targets *w = arg;
    const mrc_deflation *dual = w->dual;
    (void)err;
    for (int64_t k = begin; k < end; k++) {
        const double *y = (k % 2 ? dual->rest : dual->y) + k / 2;
        for (int64_t i = 0; i < dual->n; i++)
            out[k] += w->q[i] * y[i * dual->outputs];
    }
    return MERCER_OK;
}

/* q_j from tau in q + count stride, and what it does to the targets; doubt: what share of q_j may
 * be rounding, which is then left of what q_j explains of the targets. */
static mercer_status take_off_targets(mrc_deflation *dual, double doubt, mercer_error *err)
{
    const double n = (double)dual->span.total;
    const double *q = dual->q + dual->count * dual->stride;
    struct against_targets w = {.dual = dual, .q = q};
    double *sums = NULL, aligned = 0, all = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&sums, dual->outputs, 2, sizeof *sums, err));
    if (dual->targets2 < 0) {
        for (w.column = 0; w.column < dual->outputs; w.column++)
            MRC_TRY(run(dual, &all, 1, add_squares, &w, err));
        dual->targets2 = all;
    }
    MRC_TRY(run(dual, sums, 2 * dual->outputs, add_alignments, &w, err));
    for (int64_t c = 0; c < dual->outputs; c++) {
        aligned += sums[2 * c] * sums[2 * c];
        dual->blur[c] += doubt * fabs(sums[2 * c]);
        for (int64_t i = 0; i < dual->n; i++)
            dual->rest[i * dual->outputs + c] -= sums[2 * c + 1] * q[i];
    }
    dual->aligned[dual->count] = dual->targets2 > 0 ? aligned / dual->targets2 : 0;
    dual->covariance[dual->count] =
        aligned * dual->norms[dual->count] * dual->norms[dual->count] / (n * n);
out:
    mrc_free(sums);
    return rc;
}

/* ---- adding a feature ---- */

/* K beta into image, and the longest column it could be made of. */
static mercer_status multiply(mrc_deflation *dual, const int64_t *rows, int64_t count,
                              const double *values, double *image, double *longest,
                              mercer_error *err)
{
    int64_t n = dual->n;
    double *scratch = NULL;
    mercer_status rc = MERCER_OK;
    if (!rows) {
        MRC_TRY(mrc_gram_apply(dual->gram, values, 1, image, err));
    } else if (count > FEW) {
        MRC_TRY(mrc_alloc(&scratch, n, sizeof *scratch, err));
        for (int64_t i = 0; i < count; i++) {
            int64_t row = rows[i] - dual->span.first;
            if (row >= 0 && row < n)
                scratch[row] = values[i];
        }
        MRC_TRY(mrc_gram_apply(dual->gram, scratch, 1, image, err));
    } else {
        MRC_TRY(mrc_alloc2_raw(&scratch, count, n, sizeof *scratch, err));
        MRC_TRY(mrc_gram_columns(dual->gram, rows, count, scratch, err));
        memset(image, 0, (size_t)n * sizeof *image);
        for (int64_t i = 0; i < count; i++) {
            const double *column = scratch + i * n;
            double length2;
            MRC_TRY(square(dual, column, &length2, err));
            *longest = fmax(*longest, sqrt(length2));
            for (int64_t t = 0; t < n; t++)
                image[t] += values[i] * column[t];
        }
    }
out:
    mrc_free(scratch);
    return rc;
}

/* A direction of all rows, and its image. */
struct direction {
    const double *values, *image;
    int64_t n;
};

enum { LENGTH2, WEIGHT, MEASURES };

static mercer_status add_measures(void *arg, int64_t begin, int64_t end, double *out,
                                  mercer_error *err)
{
    const struct direction *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < w->n; i++) {
        out[LENGTH2] += w->values[i] * w->image[i];
        out[WEIGHT] += fabs(w->values[i]);
    }
    return MERCER_OK;
}

/* beta' K beta and sum |beta_i|. */
static mercer_status measure(const mrc_deflation *dual, const int64_t *rows, int64_t count,
                             const double *values, const double *image, double *out,
                             mercer_error *err)
{
    struct direction w = {.values = values, .image = image, .n = dual->n};
    double *at = NULL;
    mercer_status rc = MERCER_OK;
    out[LENGTH2] = out[WEIGHT] = 0;
    if (!rows)
        return run(dual, out, MEASURES, add_measures, &w, err);
    MRC_TRY(mrc_alloc(&at, count, sizeof *at, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = rows[i] - dual->span.first;
        if (row >= 0 && row < dual->n)
            at[i] = image[row];
    }
    if (dual->span.spread)
        MRC_TRY(mrc_comm_merge_numbers(dual->ctx, at, count, err));
    w = (struct direction){.values = values, .image = at, .n = count};
    MRC_TRY(add_measures(&w, 0, MEASURES, out, err));
out:
    mrc_free(at);
    return rc;
}

static mercer_status find_longest(mrc_deflation *dual, double *longest, mercer_error *err)
{
    const double *norms2;
    mercer_status rc = MERCER_OK;
    *longest = 0;
    MRC_TRY(mrc_deflation_column_norms2(dual, &norms2, err));
    for (int64_t i = 0; i < dual->n; i++)
        *longest = fmax(*longest, sqrt(norms2[i]));
    if (dual->span.spread)
        MRC_TRY(mrc_comm_largest(dual->ctx, longest, err));
out:
    return rc;
}

/* The first row of all whose value is the largest. */
static mercer_status find_largest(const mrc_deflation *dual, const double *values, int64_t *row,
                                  mercer_error *err)
{
    const int64_t size = dual->ctx->comm.table.size;
    double mine[2] = {0, -1}, *all = NULL;
    mercer_status rc = MERCER_OK;
    *row = 0;
    for (int64_t i = 1; i < dual->n; i++)
        *row = values[i] > values[*row] ? i : *row;
    if (!dual->span.spread)
        return rc;
    if (dual->n > 0) {
        mine[0] = values[*row];
        mine[1] = (double)(dual->span.first + *row);
    }
    MRC_TRY(mrc_alloc2(&all, size, 2, sizeof *all, err));
    MRC_TRY(mrc_comm_collect(dual->ctx, mine, 2, all, err));
    int64_t best = -1;
    for (int64_t r = 0; r < size; r++)
        if (all[2 * r + 1] >= 0 && (best < 0 || all[2 * r] > all[2 * best]))
            best = r;
    *row = (int64_t)all[2 * best + 1];
out:
    mrc_free(all);
    return rc;
}

/* The length of the column of the row with the largest K_ii, which the longest is not below. */
static mercer_status one_length(mrc_deflation *dual, double *out, mercer_error *err)
{
    const double *diag;
    double *column = NULL;
    int64_t row;
    mercer_status rc = MERCER_OK;
    *out = dual->one_length;
    if (*out > 0)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&column, dual->n, sizeof *column, err));
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    MRC_TRY(find_largest(dual, diag, &row, err));
    MRC_TRY(mrc_gram_columns(dual->gram, &row, 1, column, err));
    MRC_TRY(square(dual, column, out, err));
    *out = dual->one_length = sqrt(*out);
out:
    mrc_free(column);
    return rc;
}

/* What rounding of kernel values alone can make of an image. Where rows do not differ but by
 * rounding, the longest column is that long, too. The eps is that of doubles: what is stored in
 * single precision is computed with exactly. */
static double noise_of(const mrc_deflation *dual, double weight)
{
    enum { SAFETY = 4 }; /* entries are off by eps kmax; below half of what counts in a spectrum */
    return SAFETY * DBL_EPSILON * mrc_gram_kmax(dual->gram) * sqrt((double)dual->span.total) *
           weight;
}

/* Whether what is left of an image, of length norm, is more than a share of weight times the
 * longest column. longest = 0: not known yet. Lengths may be worth n^2 kernel values, so bounds are
 * asked first, which decide nearly always: the answer is the same. Rounding in the length of one
 * column is far below the factor of 0.999. */
static mercer_status is_more(mrc_deflation *dual, double norm, double share, double weight,
                             double longest, bool *more, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    bool known = longest > 0 || dual->column_norms2;
    *more = false;
    if (norm <= noise_of(dual, weight))
        goto out;
    for (int close = 0; !known && close < 2; close++) {
        double most, least;
        MRC_TRY(mrc_gram_longest(dual->gram, close, &most, err));
        *more = norm > share * most * weight;
        if (*more)
            goto out;
        if (!close) {
            MRC_TRY(one_length(dual, &least, err));
            if (norm < 0.999 * share * least * weight)
                goto out;
        }
    }
    if (longest == 0)
        MRC_TRY(find_longest(dual, &longest, err));
    *more = norm > share * longest * weight;
out:
    return rc;
}

/* Where the row stands among the first `points` selected ones; -1: it is none of them. */
static int64_t find_place(const mrc_deflation *dual, int64_t points, int64_t row)
{
    int64_t at = 0;
    if (dual->place)
        return dual->place[row];
    while (at < points && dual->selected[at] != row)
        at++;
    return at < points ? at : -1;
}

/* Keep beta / length as the direction of feature dual->count. */
static mercer_status keep_direction(mrc_deflation *dual, const int64_t *rows, int64_t count,
                                    const double *values, double length, mercer_error *err)
{
    int64_t j = dual->count, first = dual->sparse ? dual->start[j] : j * dual->n;
    mercer_status rc = MERCER_OK;
    if (dual->sparse) {
        int64_t points = j > 0 ? dual->used[j - 1] : 0;
        MRC_TRY(mrc_grow(&dual->values, first + count, sizeof *dual->values, err));
        MRC_TRY(mrc_grow(&dual->point, first + count, sizeof *dual->point, err));
        if (!dual->place)
            MRC_TRY(mrc_grow(&dual->selected, points + count, sizeof *dual->selected, err));
        for (int64_t i = 0; i < count; i++) {
            int64_t row = rows ? rows[i] : i, at = find_place(dual, points, row);
            if (at < 0) {
                dual->selected[points] = row;
                at = points++;
                if (dual->place)
                    dual->place[row] = at;
            }
            dual->point[first + i] = at;
        }
        dual->used[j] = points;
        dual->start[j + 1] = first + count;
    }
    for (int64_t i = 0; i < count; i++)
        dual->values[first + i] = values[i] / length;
out:
    return rc;
}

mercer_status mrc_deflation_add(mrc_deflation *dual, const int64_t *rows, int64_t count,
                                const double *values, const double *image, bool *added,
                                mercer_error *err)
{
    int64_t n = dual->n, j = dual->count;
    double *tau = dual->q + j * dual->stride, *dots = NULL, *column = dual->m + j * (j + 1) / 2;
    double measured[MEASURES], longest = 0, norm2;
    mercer_status rc = MERCER_OK;
    *added = false;
    count = rows ? count : n;
    MRC_TRY(mrc_alloc(&dots, j + 1, sizeof *dots, err));
    if (image)
        memcpy(tau, image, (size_t)n * sizeof *image);
    else
        MRC_TRY(multiply(dual, rows, count, values, tau, &longest, err));
    MRC_TRY(measure(dual, rows, count, values, tau, measured, err));
    if (!(measured[LENGTH2] > 0))
        goto out;
    MRC_TRY(square(dual, tau, &norm2, err));
    if (image && rows)
        longest = sqrt(norm2) / measured[WEIGHT];
    double least = LEAST * sqrt(norm2); /* of one that repeats */
    MRC_TRY(mrc_deflation_project(dual, tau, dots, err));
    MRC_TRY(square(dual, tau, &norm2, err));
    double norm = sqrt(norm2), length = sqrt(measured[LENGTH2]);
    bool is_new = norm > least;
    if (!dual->repeats)
        MRC_TRY(is_more(dual, norm, rows && count == 1 ? MIN_OF_ROW : LEAST, measured[WEIGHT],
                        longest, &is_new, err));
    if (!is_new && !dual->repeats)
        goto out;
    MRC_TRY(keep_direction(dual, rows, count, values, length, err));
    for (int64_t t = 0; t < j; t++)
        column[t] = dual->norms[t] > 0 ? dots[t] / length / dual->norms[t] : 0;
    column[j] = 1;
    for (int64_t i = 0; i < n; i++)
        tau[i] = is_new ? tau[i] / norm : 0;
    dual->norms[j] = is_new ? norm / length : 0;
    dual->repeated += !is_new;
    dual->given[j] = length;
    double doubt = is_new ? noise_of(dual, measured[WEIGHT]) / norm : 0;
    MRC_TRY(take_off_targets(dual, doubt, err));
    dual->count++;
    *added = true;
out:
    mrc_free(dots);
    return rc;
}

mercer_status mrc_deflation_remains(mrc_deflation *dual, const double *beta, const double *image,
                                    bool *remains, mercer_error *err)
{
    double *tau = NULL, *dots = NULL, measured[MEASURES], norm2;
    bool more;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&tau, dual->n, sizeof *tau, err));
    MRC_TRY(mrc_alloc(&dots, dual->count + 1, sizeof *dots, err));
    memcpy(tau, image, (size_t)dual->n * sizeof *tau);
    MRC_TRY(mrc_deflation_project(dual, tau, dots, err));
    MRC_TRY(measure(dual, NULL, dual->n, beta, image, measured, err));
    MRC_TRY(square(dual, tau, &norm2, err));
    MRC_TRY(is_more(dual, sqrt(norm2), LEAST, measured[WEIGHT], 0, &more, err));
    *remains = measured[LENGTH2] > 0 && more;
out:
    mrc_free(tau);
    mrc_free(dots);
    return rc;
}

/* Sums of squares of the targets and of what is left of them, column by column. */
static mercer_status add_lengths(void *arg, int64_t begin, int64_t end, double *out,
                                 mercer_error *err)
{
    const mrc_deflation *dual = arg;
    (void)err;
    for (int64_t i = 0; i < dual->n; i++)
        for (int64_t k = begin; k < end; k++) {
            const double value = (k % 2 ? dual->rest : dual->y)[i * dual->outputs + k / 2];
            out[k] += value * value;
        }
    return MERCER_OK;
}

/* Means of targets and products with q_j are sums of n numbers, each addition right to eps. */
mercer_status mrc_deflation_explains(mrc_deflation *dual, bool *all, mercer_error *err)
{
    const double share = (double)dual->span.total * DBL_EPSILON;
    double *squares = NULL;
    mercer_status rc = MERCER_OK;
    *all = dual->count > 0;
    if (dual->count == 0)
        return rc;
    MRC_TRY(mrc_alloc2(&squares, dual->outputs, 2, sizeof *squares, err));
    MRC_TRY(run(dual, squares, 2 * dual->outputs, add_lengths, dual, err));
    for (int64_t c = 0; c < dual->outputs; c++) {
        if (sqrt(squares[2 * c + 1]) > dual->blur[c] + share * sqrt(squares[2 * c])) {
            *all = false;
            continue;
        }
        for (int64_t i = 0; i < dual->n; i++)
            dual->rest[i * dual->outputs + c] = 0;
    }
out:
    mrc_free(squares);
    return rc;
}

mercer_status mrc_deflation_lead(mrc_deflation *dual, const double *w, int64_t columns,
                                 double *beta, double *image, mercer_error *err)
{
    int64_t n = dual->n, m = columns;
    double *product = NULL, *inner = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&product, n, m, sizeof *product, err));
    MRC_TRY(mrc_alloc2(&inner, m, m, sizeof *inner, err));
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    MRC_TRY(mrc_gram_apply(dual->gram, w, m, product, err));
    MRC_TRY(mrc_tall_product_of_span(dual->ctx, w, m, m, product, m, m, &dual->span, inner, err));
    if (mrc_decides(dual->ctx, &dual->span))
        MRC_TRY(mrc_eigen_symmetric(dual->ctx, m, inner, values, err));
    MRC_TRY(mrc_decide_numbers(dual->ctx, &dual->span, inner + (m - 1) * m, m, err));
    const double *a = inner + (m - 1) * m;
    for (int64_t i = 0; i < n; i++) {
        beta[i] = image[i] = 0;
        for (int64_t c = 0; c < m; c++) {
            beta[i] += w[i * m + c] * a[c];
            image[i] += product[i * m + c] * a[c];
        }
    }
out:
    mrc_free(product);
    mrc_free(inner);
    mrc_free(values);
    return rc;
}

/* ---- the model ---- */

void mrc_deflation_set_unit(mrc_deflation *dual, double unit)
{
    if (mrc_gram_unit(dual->gram) == unit)
        return;
    mrc_gram_set_unit(dual->gram, unit);
    mrc_free(dual->column_norms2);
    dual->column_norms2 = NULL;
    dual->one_length = 0;
}

void mrc_deflation_leave_unit(mrc_deflation *dual, double unit)
{
    double root = sqrt(unit);
    int64_t k = dual->count, size = dual->sparse ? dual->start[k] : k * dual->n;
    mrc_deflation_set_unit(dual, 1);
    if (unit == 1)
        return;
    for (int64_t i = 0; i < size; i++)
        dual->values[i] /= root;
    for (int64_t j = 0; j < k; j++) {
        dual->norms[j] *= root;
        dual->given[j] *= root;
        dual->covariance[j] *= unit;
    }
}

struct solve {
    const double *m; /* k x k */
    int64_t points, k;
    double *a;
};

enum { SOLVED_ROWS = 1024 };

static void solve_range(void *arg, int64_t task, int worker)
{
    const struct solve *p = arg;
    int64_t first = task * SOLVED_ROWS;
    int64_t rows = p->points - first < SOLVED_ROWS ? p->points - first : SOLVED_ROWS;
    (void)worker;
    mrc_solve_upper(p->m, p->k, p->a + first * p->k, rows);
}

/* A = B M^-1, points x k, in the scale of the features; A = B when they are as given. */
static mercer_status solve_coefficients(const mrc_deflation *dual, int64_t points,
                                        mrc_deflation_scale scale, double *a, mercer_error *err)
{
    int64_t k = dual->count;
    double *m = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&m, k, k, sizeof *m, err));
    memset(a, 0, (size_t)(points * k) * sizeof *a);
    for (int64_t j = 0; j < k; j++) {
        int64_t first = dual->sparse ? dual->start[j] : j * dual->n;
        int64_t end = dual->sparse ? dual->start[j + 1] : first + dual->n;
        double factor = scale == MRC_AS_GIVEN ? dual->given[j] : 1;
        for (int64_t e = first; e < end; e++)
            a[(dual->sparse ? dual->point[e] : e - first) * k + j] = factor * dual->values[e];
        /* Features of length one: B (N M)^-1, N being the lengths they would have. */
        for (int64_t t = 0; t <= j; t++)
            m[t * k + j] =
                dual->m[j * (j + 1) / 2 + t] * (scale == MRC_UNIT_FEATURES ? dual->norms[t] : 1);
    }
    struct solve p = {.m = m, .points = points, .k = k, .a = a};
    if (scale != MRC_AS_GIVEN)
        mrc_parfor_sized(dual->ctx, (points + SOLVED_ROWS - 1) / SOLVED_ROWS,
                         (double)points * (double)k * (double)k, solve_range, &p);
    if (dual->sparse) /* else these are rows of this rank alone */
        MRC_TRY(mrc_decide_numbers(dual->ctx, &dual->span, a, points * k, err));
out:
    mrc_free(m);
    return rc;
}

/* t't of feature j on the training rows. */
static double sum_squares(const mrc_deflation *dual, mrc_deflation_scale scale, int64_t j)
{
    double sum = 0;
    for (int64_t t = 0; t <= j; t++) {
        double along = mrc_deflation_coordinate(dual, scale, t, j);
        sum += along * along;
    }
    return sum;
}

/* What the method tells about its features: alignment, covariance, kernel values of a new row, and
 * the bound, which may choose how many features there are. */
static mercer_status describe(mrc_deflation *dual, const mrc_problem *problem,
                              mrc_deflation_scale scale, const double *a, int64_t points,
                              mercer_model *model, mercer_error *err)
{
    int64_t k = dual->count, width = MERCER_BOUND_COLUMNS;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&model->bound, k, width, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->alignment, k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->covariance, k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->evaluations, k, sizeof *model->evaluations, err));
    MRC_TRY(mrc_alloc2(&model->influence, MRC_INFLUENTIAL, 2, sizeof(double), err));
    MRC_TRY(mrc_bound_terms(dual, scale, a, points, model->bound, err));
    MRC_TRY(mrc_bound_rows(dual, model->influence, &model->influence_count, err));
    if (problem->by_bound)
        dual->count = mrc_bound_choose(model->bound, k);
    for (int64_t j = 0; j < dual->count; j++) {
        model->alignment[j] = dual->aligned[j];
        model->covariance[j] = dual->covariance[j];
        model->evaluations[j] = dual->sparse ? dual->used[j] : dual->span.total;
    }
    if (mrc_first_not_finite(model->bound, k * width) >= 0 ||
        mrc_first_not_finite(model->influence, 2 * model->influence_count) >= 0) {
        mrc_free(model->bound); /* targets so large that their squares overflow */
        mrc_free(model->influence);
        model->bound = model->influence = NULL;
        model->influence_count = 0;
        goto out;
    }
    const double *last = model->bound + (dual->count - 1) * width;
    if (problem->by_bound && last[MERCER_BOUND_EMPIRICAL] <=
                                 last[MERCER_BOUND_COMPLEXITY] + last[MERCER_BOUND_CONFIDENCE])
        mrc_notice(
            dual->ctx,
            "the bound is below zero and so vacuous: its choice of %lld features means little",
            (long long)dual->count);
out:
    return rc;
}

/* Coefficients of the rows here, or the diagonal there. */
struct shares {
    const double *values; /* n x k */
    int64_t n, k;
    double total; /* rows of all ranks */
};

static mercer_status add_shares(void *arg, int64_t begin, int64_t end, double *out,
                                mercer_error *err)
{
    const struct shares *w = arg;
    (void)err;
    for (int64_t j = begin; j < end; j++)
        for (int64_t i = 0; i < w->n; i++)
            out[j] += w->values[i * w->k + j] / w->total;
    return MERCER_OK;
}

/* Centred mapped rows add up to zero, and so may their coefficients, n x k. */
static mercer_status center_coefficients(const mrc_deflation *dual, int64_t k, double *a,
                                         mercer_error *err)
{
    struct shares w = {.values = a, .n = dual->n, .k = k, .total = (double)dual->span.total};
    double *means = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&means, k, sizeof *means, err));
    MRC_TRY(run(dual, means, k, add_shares, &w, err));
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < dual->n; i++)
            a[i * k + j] -= means[j];
out:
    mrc_free(means);
    return rc;
}

mercer_status mrc_deflation_finish(mrc_deflation *dual, const mrc_problem *problem,
                                   mrc_deflation_scale scale, mercer_model *model,
                                   mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    int64_t n = dual->n, k = dual->count, points = dual->sparse ? dual->used[k - 1] : n;
    mercer_fit_report *report = problem->report;
    double *products = NULL;
    const double *means, *diag;
    mrc_expansion e = {.selected = dual->selected,
                       .count = dual->sparse ? points : dual->span.total,
                       .components = k,
                       .centered_images = centered,
                       .gram = dual->gram};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&e.coefficients, points, k, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->spectrum, k, sizeof(double), err));
    MRC_TRY(solve_coefficients(dual, points, scale, e.coefficients, err));
    MRC_TRY(describe(dual, problem, scale, e.coefficients, points, model, err));
    if (dual->count < k) {
        int64_t kept = dual->count;
        points = dual->sparse ? dual->used[kept - 1] : n;
        e.count = dual->sparse ? points : dual->span.total;
        for (int64_t i = 0; i < points; i++)
            memmove(e.coefficients + i * kept, e.coefficients + i * k,
                    (size_t)kept * sizeof(double));
        e.components = k = kept;
    }
    if (centered && !dual->sparse)
        MRC_TRY(center_coefficients(dual, k, e.coefficients, err));
    for (int64_t j = 0; j < k; j++) {
        model->spectrum[j] = sum_squares(dual, scale, j);
        report->projection_variance += model->spectrum[j] / (double)dual->span.total;
    }
    if (centered) {
        MRC_TRY(mrc_gram_means(dual->gram, &means, &e.mean_norm2, err));
        MRC_TRY(mrc_alloc(&products, points, sizeof *products, err));
        for (int64_t s = 0; s < points; s++)
            products[s] = means[dual->sparse ? dual->selected[s] : s];
        e.mean_products = products;
    }
    MRC_TRY(mrc_gram_diag(dual->gram, &diag, err));
    struct shares trace = {.values = diag, .n = n, .k = 1, .total = (double)dual->span.total};
    MRC_TRY(run(dual, &model->total_variance, 1, add_shares, &trace, err));
    model->correlated = scale == MRC_AS_GIVEN;
    model->reconstruction_error = NAN; /* the directions are not orthogonal in feature space */
    report->residual = NAN;
    snprintf(report->solver, sizeof report->solver, "deflation");
    MRC_TRY(mrc_expand(dual->ctx, problem, &e, model, err));
out:
    mrc_free(e.coefficients);
    mrc_free(products);
    return rc;
}

/* The columns of the targets, and what is subtracted from each. */
struct columns {
    const double *y, *mean;
    mrc_span span;
    int64_t outputs;
};

static mercer_status add_means(void *arg, int64_t begin, int64_t end, double *out,
                               mercer_error *err)
{
    const struct columns *w = arg;
    (void)err;
    for (int64_t c = begin; c < end; c++)
        for (int64_t i = 0; i < w->span.n; i++)
            out[c] += (w->y[i * w->outputs + c] - w->mean[c]) / (double)w->span.total;
    return MERCER_OK;
}

/* The targets about their means, which are found twice, for what rounding leaves of them. */
static mercer_status center_columns(mercer_ctx *ctx, const mrc_span *span, double *y,
                                    int64_t outputs, mercer_error *err)
{
    struct columns w = {.y = y, .span = *span, .outputs = outputs};
    double *mean = NULL, *rest = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&mean, outputs, sizeof *mean, err));
    MRC_TRY(mrc_alloc(&rest, outputs, sizeof *rest, err));
    w.mean = rest; /* zeroes */
    MRC_TRY(mrc_run_span(ctx, span, mean, outputs, TOGETHER, add_means, &w, err));
    w.mean = mean;
    MRC_TRY(mrc_run_span(ctx, span, rest, outputs, TOGETHER, add_means, &w, err));
    for (int64_t i = 0; i < span->n; i++)
        for (int64_t c = 0; c < outputs; c++)
            y[i * outputs + c] -= mean[c] + rest[c];
out:
    mrc_free(mean);
    mrc_free(rest);
    return rc;
}

mercer_status mrc_deflation_targets(const mrc_problem *problem, bool raw, double **y,
                                    int64_t *outputs, mercer_error *err)
{
    const mercer_targets *targets = problem->targets;
    const mrc_span span = mrc_rows_span(problem->ranks, problem->rows);
    int64_t n = span.n;
    mercer_status rc = MERCER_OK;
    *y = NULL;
    if (!targets || targets->kind == MERCER_TARGET_NONE)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "label target"),
                           "this method learns from labels: name the columns of classes or values");
    bool classes = targets->kind == MERCER_TARGET_CLASSES;
    *outputs = !classes ? targets->columns : targets->classes == 2 ? 1 : targets->classes;
    MRC_TRY(mrc_alloc2(y, n, *outputs, sizeof **y, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < *outputs; c++)
            (*y)[i * *outputs + c] = !classes        ? targets->values[i * targets->columns + c]
                                     : *outputs == 1 ? (targets->codes[i] == 1 ? 1 : -1)
                                                     : targets->codes[i] == c;
    if (!raw)
        MRC_TRY(center_columns(problem->ranks, &span, *y, *outputs, err));
out:
    return rc;
}
