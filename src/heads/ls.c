/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares on the features, with an intercept: of target values, or of one 0/1 indicator for
 * each class, the largest one winning.
 *
 * One QR factorisation of [1 F Y], n rows of l features and o targets, has it all: the column of
 * ones takes the means off, and R is triangular, so that its leading columns belong only to
 * the first features. Gram-Schmidt on the columns of R writes the features as uncorrelated ones,
 *   q_j = sum_i<=j basis_ji (f_i - center_i),  basis_jj = 1,  score_o = intercept_o + sum_j q_j
 * w_jo, and the sum over the first k is the least squares fit to the first k features, for every k.
 * A feature that is a combination of those before it adds nothing: its weights are 0. Householder
 * QR squares no condition number. Rows go in blocks under the R of those before. Cost: 2 n (1 + l +
 * o)^2, and l^3.
 *
 * Rows that are spread over ranks: each rank goes on with the R of the rank before, and with its
 * last rows where they do not fill a block. What comes of R in the end is rank 0's. */
#include "heads/heads.h"

#include "base/running.h"
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double LEAST = 1e-12;   /* of a feature that must be new; below it is rounding */
static const double NOTHING = 1e-12; /* correlation that is none: it moves scores by rounding */

static const mrc_param ls_schema[] = {MRC_PARAM_END};

/* One row of [1 F Y]. */
static void fill_row(const mrc_head_data *data, int64_t row, double *to)
{
    int64_t l = data->l, o = data->outputs;
    to[0] = 1;
    memcpy(to + 1, data->features + row * l, (size_t)l * sizeof *to);
    if (data->codes) {
        memset(to + 1 + l, 0, (size_t)o * sizeof *to);
        to[1 + l + data->codes[row]] = 1;
    } else {
        memcpy(to + 1 + l, data->values + row * o, (size_t)o * sizeof *to);
    }
}

/* R of the rows so far, and those behind it that wait for a block to be full. */
struct blocks {
    int64_t w, block, waiting;
    double *r; /* w x w, and `block` rows under it */
};

static mercer_status add_block(mercer_ctx *ctx, struct blocks *b, mercer_error *err)
{
    mercer_status rc = mrc_check_cancel(ctx, err);
    if (rc == MERCER_OK && b->waiting > 0)
        rc = mrc_qr_factor(ctx, b->w + b->waiting, b->w, b->r, err);
    b->waiting = 0;
    return rc;
}

/* The rows that are here. */
static mercer_status add_rows(mercer_ctx *ctx, const mrc_head_data *data, struct blocks *b,
                              mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < data->n; i++) {
        fill_row(data, i, b->r + (b->w + b->waiting) * b->w);
        b->waiting++;
        if (b->waiting == b->block)
            MRC_TRY(add_block(ctx, b, err));
    }
out:
    return rc;
}

/* Rows of one rank after the other; all have the state of the last one in the end. */
static mercer_status hand_on(mercer_ctx *ctx, const mrc_head_data *data, struct blocks *b,
                             mercer_error *err)
{
    const int64_t size = (b->w + b->block) * b->w;
    mercer_status rc = MERCER_OK;
    for (int r = 0; r < ctx->comm.table.size; r++) {
        const bool mine = ctx->comm.table.rank == r;
        double waiting = 0;
        if (mine)
            MRC_TRY(add_rows(ctx, data, b, err));
        if (mine)
            waiting = (double)b->waiting;
        MRC_TRY(mrc_comm_sum(ctx, &waiting, 1, err));
        b->waiting = (int64_t)waiting;
        const int64_t used = (b->w + b->waiting) * b->w;
        memset(b->r + (mine ? used : 0), 0, (size_t)(size - (mine ? used : 0)) * sizeof *b->r);
        MRC_TRY(mrc_comm_merge_numbers(ctx, b->r, used, err));
    }
out:
    return rc;
}

/* *r: the triangular factor of [1 F Y], w x w with w = 1 + l + o, in a larger array. */
static mercer_status factor_rows(mercer_ctx *ctx, const mrc_head_data *data, double **r,
                                 mercer_error *err)
{
    enum { MIN_BLOCK = 256 };
    const int64_t n = data->span.spread ? data->span.total : data->n;
    struct blocks b = {.w = 1 + data->l + data->outputs};
    mercer_status rc = MERCER_OK;
    /* More gain little over R itself. */
    b.block = 4 * b.w > MIN_BLOCK ? 4 * b.w : MIN_BLOCK;
    if (b.block > n)
        b.block = n;
    MRC_TRY(mrc_alloc2(&b.r, b.w + b.block, b.w, sizeof(double), err));
    MRC_TRY(data->span.spread ? hand_on(ctx, data, &b, err) : add_rows(ctx, data, &b, err));
    MRC_TRY(add_block(ctx, &b, err));
    *r = b.r;
    b.r = NULL;
out:
    mrc_free(b.r);
    return rc;
}

/* Features as rows of orthonormal vectors, one after the other. */
struct steps {
    int64_t l;
    double *unit; /* l x l: row j, of j + 1 entries, is q_j of length 1; zero when nothing is new */
    double *length; /* l: of q_j */
    double *along;  /* l: of feature j along the q before it */
    bool correlated;
};

/* Take feature j, whose column of R has j + 1 entries, apart; size: its length with the mean. */
static void take_apart(struct steps *s, double size, int64_t j)
{
    double *v = s->unit + j * s->l, whole = sqrt(mrc_dot(v, v, j + 1));
    memset(s->along, 0, (size_t)s->l * sizeof *s->along);
    for (int pass = 0; pass < 2; pass++) /* twice is enough */
        for (int64_t i = 0; i < j; i++) {
            const double *u = s->unit + i * s->l;
            double part = mrc_dot(u, v, i + 1);
            for (int64_t k = 0; k <= i; k++)
                v[k] -= part * u[k];
            s->along[i] += part;
            s->correlated |= fabs(part) > NOTHING * whole;
        }
    s->length[j] = sqrt(mrc_dot(v, v, j + 1));
    bool is_new = s->length[j] > LEAST * size;
    for (int64_t k = 0; k <= j; k++)
        v[k] = is_new ? v[k] / s->length[j] : 0;
}

/* From R to the parts of the head. */
static mercer_status solve(mercer_ctx *ctx, const mrc_head_data *data, const double *r,
                           struct steps *s, mrc_head *head, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    int64_t l = data->l, o = data->outputs, w = 1 + l + o;
    for (int64_t k = 0; k < o; k++)
        head->intercept[k] = r[1 + l + k] / r[0];
    for (int64_t j = 0; j < l; j++) {
        double *basis = head->basis + j * l, *v = s->unit + j * l;
        MRC_TRY(mrc_check_cancel(ctx, err));
        for (int64_t i = 0; i <= j; i++)
            v[i] = r[(1 + i) * w + 1 + j];
        head->center[j] = r[1 + j] / r[0];
        take_apart(s, hypot(sqrt(mrc_dot(v, v, j + 1)), r[1 + j]), j);
        basis[j] = 1;
        for (int64_t i = 0; i < j; i++)
            for (int64_t k = 0; k <= i && s->along[i] != 0; k++)
                basis[k] -= s->along[i] / s->length[i] * head->basis[i * l + k];
        for (int64_t i = 0; i <= j; i++)
            for (int64_t k = 0; k < o && v[i] != 0; k++)
                head->weights[j * o + k] += v[i] * r[(1 + i) * w + 1 + l + k] / s->length[j];
    }
out:
    return rc;
}

/* The parts of the head as rank 0 has them. */
static mercer_status decide(mercer_ctx *ctx, const mrc_head_data *data, struct steps *s,
                            mrc_head *head, mercer_error *err)
{
    const int64_t l = data->l, o = data->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_decide_numbers(ctx, &data->span, head->center, l, err));
    MRC_TRY(mrc_decide_numbers(ctx, &data->span, head->intercept, o, err));
    MRC_TRY(mrc_decide_numbers(ctx, &data->span, head->basis, l * l, err));
    MRC_TRY(mrc_decide_numbers(ctx, &data->span, head->weights, l * o, err));
    MRC_TRY(mrc_decide(ctx, &data->span, &s->correlated, sizeof s->correlated, err));
out:
    return rc;
}

static mercer_status ls_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                            mrc_head *head, mercer_error *err)
{
    int64_t l = data->l, o = data->outputs;
    struct steps s = {.l = l};
    double *r = NULL;
    mercer_status rc = MERCER_OK;
    (void)params;
    MRC_TRY(mrc_alloc(&head->center, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&head->intercept, o, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&head->basis, l, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&head->weights, l, o, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s.unit, l, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s.length, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s.along, l, sizeof(double), err));
    MRC_TRY(factor_rows(ctx, data, &r, err));
    MRC_TRY(solve(ctx, data, r, &s, head, err));
    MRC_TRY(decide(ctx, data, &s, head, err));
    if (!s.correlated) {
        mrc_free(head->basis);
        head->basis = NULL;
    }
out:
    mrc_free(s.unit);
    mrc_free(s.length);
    mrc_free(s.along);
    mrc_free(r);
    return rc;
}

static bool ls_is_complete(const mrc_head *head)
{
    return head->center && head->weights && head->intercept;
}

/* sum of basis_i (features_i - center_i), in four parts that the processor can add side by side. */
static double sum_about(const double *basis, const double *features, const double *center,
                        int64_t count)
{
    enum { PARTS = 4 };
    double part[PARTS] = {0};
    int64_t i = 0;
    for (; i + PARTS <= count; i += PARTS)
        for (int p = 0; p < PARTS; p++)
            part[p] += basis[i + p] * (features[i + p] - center[i + p]);
    for (; i < count; i++)
        part[0] += basis[i] * (features[i] - center[i]);
    return (part[0] + part[1]) + (part[2] + part[3]);
}

static void ls_add_feature(const mrc_head *head, const double *features, int64_t l, int64_t j,
                           double *scores)
{
    double q = features[j] - head->center[j];
    if (head->basis)
        q += sum_about(head->basis + j * l, features, head->center, j);
    for (int64_t k = 0; k < head->outputs; k++)
        scores[k] += q * head->weights[j * head->outputs + k];
}

const mrc_head_def mrc_head_ls = {
    .entry = {.name = "ls",
              .summary = "least squares: values, or classes by their fitted indicators",
              .reference = "Dhanjal, Gunn, Shawe-Taylor 2009, section 3",
              .params = ls_schema},
    .values = true,
    .scale_free = true,
    .spreads = true,
    .fit = ls_fit,
    .is_complete = ls_is_complete,
    .add_feature = ls_add_feature,
};
