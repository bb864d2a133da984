/* SPDX-License-Identifier: BSD-3-Clause */
/* What rows are like: spreads, repeats, and how much of them few features hold, from a sample. */
#include "base/order.h"
#include "gram/gram.h"
#include "methods/common/request.h"

#include <mercer/survey.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 1000,   /* rows, */
    CELLS = 2000000, /* of which all together have this many numbers at most, */
    LEAST = 100,     /* or as few rows as this */
    FEATURES = 10,
};

MRC_VERSIONED(survey, )

/* A row and what it is sorted by. */
struct hashed {
    uint64_t hash;
    int64_t row;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static uint64_t hash_of(const double *x, int64_t d)
{
    uint64_t hash = UINT64_C(1469598103934665603);
    for (int64_t j = 0; j < d; j++) {
        double value = x[j] == 0 ? 0 : x[j]; /* -0, too */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash = (hash ^ bits) * UINT64_C(1099511628211);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool same_row(const double *a, const double *b, int64_t d)
{
    for (int64_t j = 0; j < d; j++)
        if (a[j] != b[j])
            return false;
    return true;
}

/* x: m x d. */
static mercer_status count_repeats(const double *x, int64_t m, int64_t d, int64_t *out,
                                   mercer_error *err)
{
    struct hashed *list = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&list, m, sizeof *list, err));
    for (int64_t i = 0; i < m; i++)
        list[i] = (struct hashed){.hash = hash_of(x + i * d, d), .row = i};
    qsort(list, (size_t)m, sizeof *list, by_hash);
    for (int64_t i = 1; i < m; i++)
        if (list[i].hash == list[i - 1].hash &&
            same_row(x + list[i].row * d, x + list[i - 1].row * d, d))
            ++*out;
out:
    mrc_free(list);
    return rc;
}

/* Whether a column of all rows holds one value. */
static bool is_constant(const mercer_rows *rows, int64_t j)
{
    for (int64_t i = 1; i < rows->n; i++)
        if (mrc_rows_at(rows, i, j) != mrc_rows_at(rows, 0, j))
            return false;
    return true;
}

/* x: m x d, of the rows. */
static mercer_status look_at_columns(const mercer_rows *rows, const double *x, int64_t m,
                                     mercer_survey *s, mercer_error *err)
{
    int64_t d = rows->d;
    double *spreads = NULL;
    mercer_status rc = MERCER_OK;
    int64_t count = 0;
    double widest = 0;
    MRC_TRY(mrc_alloc(&spreads, d, sizeof *spreads, err));
    s->whole_numbers = 1;
    for (int64_t j = 0; j < d; j++) {
        double mean = 0, sum = 0, low = x[j], high = x[j];
        for (int64_t i = 0; i < m; i++) {
            double value = x[i * d + j];
            mean += value / (double)m;
            low = fmin(low, value);
            high = fmax(high, value);
            if (value != floor(value))
                s->whole_numbers = 0;
        }
        double half = high / 2 - low / 2; /* tiny or huge values have no squares */
        for (int64_t i = 0; i < m && half > 0; i++)
            sum += pow((x[i * d + j] - mean) / half, 2) / (double)m;
        s->least = j ? fmin(s->least, low) : low;
        s->largest = j ? fmax(s->largest, high) : high;
        if (low == high) {
            s->constant_columns += is_constant(rows, j);
            continue;
        }
        double spread = sqrt(sum) * half;
        spreads[count++] = spread;
        if (spread > widest) {
            widest = spread;
            s->widest_column = j;
        }
    }
    s->spread_ratio = count ? widest / mrc_median(spreads, count) : NAN;
out:
    mrc_free(spreads);
    return rc;
}

static bool is_symmetric(const double *x, int64_t m)
{
    double largest = 0;
    for (int64_t i = 0; i < m * m; i++)
        largest = fmax(largest, fabs(x[i]));
    for (int64_t i = 0; i < m; i++) {
        if (!(x[i * m + i] > 0))
            return false;
        for (int64_t j = 0; j < i; j++)
            if (!(fabs(x[i * m + j] - x[j * m + i]) <= 1e-9 * largest))
                return false;
    }
    return m > 1;
}

/* The share of the variance in the leading directions of the centred matrix. */
static mercer_status find_share(mercer_ctx *ctx, const mrc_kernel *kernel, const mercer_rows *rows,
                                double *share, mercer_error *err)
{
    const mrc_gram_request request = {.centered = true};
    mrc_gram *g = NULL;
    mrc_spectrum s = {0};
    mercer_status rc = MERCER_OK;
    double sum = 0;
    MRC_TRY(mrc_gram_new(&g, ctx, kernel, rows, &request, NULL, err));
    MRC_TRY(mrc_gram_spectrum(g, FEATURES, 0, &s, err));
    for (int64_t j = 0; j < s.count; j++)
        sum += s.values[j];
    *share = s.trace > 0 ? sum / s.trace : NAN;
out:
    mrc_spectrum_destroy(&s);
    mrc_gram_free(g);
    return rc;
}

static mercer_status find_shares(mercer_ctx *ctx, const mercer_rows *rows, bool square,
                                 mercer_survey *s, mercer_error *err)
{
    mrc_kernel linear, rbf;
    mercer_status rc = MERCER_OK;
    if (square) {
        MRC_TRY(mrc_kernel_parse(&linear, "precomputed", err));
        MRC_TRY(find_share(ctx, &linear, rows, &s->kernel_share, err));
        goto out;
    }
    MRC_TRY(mrc_kernel_parse(&linear, "linear", err));
    MRC_TRY(mrc_kernel_parse(&rbf, "rbf", err));
    MRC_TRY(find_share(ctx, &linear, rows, &s->linear_share, err));
    MRC_TRY(mrc_kernel_resolve(&rbf, ctx, rows, err));
    s->median_distance = mrc_kernel_width(&rbf);
    MRC_TRY(find_share(ctx, &rbf, rows, &s->kernel_share, err));
out:
    /* Rows that do not differ have no shares; what is wrong with them is said by a fit. */
    return rc == MERCER_ERR_MEMORY || mrc_is_end(rc) ? rc : MERCER_OK;
}

static mercer_status survey(mercer_ctx *ctx, const mercer_rows *rows, const char *scale,
                            mercer_survey *s, mercer_error *err)
{
    int64_t *which = NULL, d = rows->d, m = CELLS / (d > 0 ? d : 1);
    mercer_rows *sample = NULL, *scaled = NULL;
    double *x = NULL;
    mercer_status rc = MERCER_OK;
    mrc_rng rng;
    bool square = !rows->csr.start && rows->n == d;
    mrc_rng_seed(&rng, 1);
    m = m < LEAST ? LEAST : m > SAMPLE ? SAMPLE : m;
    m = m < rows->n ? m : rows->n;
    s->looked_at = m;
    s->features = FEATURES;
    s->spread_ratio = s->median_distance = s->linear_share = s->kernel_share = NAN;
    MRC_TRY(mrc_alloc(&which, m, sizeof *which, err));
    mrc_rng_spread(&rng, rows->n, which, m);
    if (square) {
        MRC_TRY(mrc_rows_take_block(rows, which, m, which, m, &sample, err));
        s->square_symmetric = is_symmetric(sample->x, m);
        if (!s->square_symmetric) {
            mercer_rows_free(sample);
            sample = NULL;
        }
    }
    if (!sample)
        MRC_TRY(mrc_rows_take(rows, which, m, &sample, err));
    if (!sample->csr.start && !s->square_symmetric) {
        MRC_TRY(mrc_alloc2_raw(&x, m, d, sizeof *x, err));
        mercer_rows_copy(sample, 0, m, x);
        MRC_TRY(look_at_columns(rows, x, m, s, err));
        MRC_TRY(count_repeats(x, m, d, &s->repeated_rows, err));
    }
    if (m < 2)
        goto out;
    if (scale && strcmp(scale, "none") != 0 && !s->square_symmetric)
        MRC_TRY(mercer_rows_scale(ctx, sample, scale, &scaled, err));
    MRC_TRY(find_shares(ctx, scaled ? scaled : sample, s->square_symmetric, s, err));
out:
    mrc_free(which);
    mrc_free(x);
    mercer_rows_free(sample);
    mercer_rows_free(scaled);
    return rc;
}

mercer_status mercer_rows_survey(mercer_ctx *ctx, const mercer_rows *rows, const char *scale,
                                 mercer_survey *out, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(rows);
    MRC_NEED_WHOLE(rows);
    MRC_NEED(out);
    mercer_survey told = {.struct_size = sizeof told};
    const mrc_rng rng = ctx->rng; /* of the fits to come */
    mrc_ctx_enter(ctx);
    mercer_status rc = survey(ctx, rows, scale, &told, err);
    ctx->rng = rng;
    if (rc == MERCER_OK)
        mrc_give_struct(&told, sizeof told, out);
    return mrc_ctx_leave(ctx, rc, err);
}
