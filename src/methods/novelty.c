/* SPDX-License-Identifier: BSD-3-Clause */
/* A threshold for reconstruction errors, from rows that were held out.
 *
 * The errors of the training rows are too small to judge new rows by: the features were chosen to
 * make them small. So the rows are split by the seed, 80 to 20; a model with the same kernel and as
 * many components is fitted to the larger part, and the errors of the smaller part are sorted. With
 * h held-out rows and a share s the threshold is the k-th smallest error, k = ceil((1 - s) (h +
 * 1)): the error of one more row from the same source is larger with probability s at most,
 * whatever the distribution (split conformal prediction; Papadopoulos et al. 2002). The model
 * itself has seen all rows, so its errors are a little smaller, and the share a little lower. Cost:
 * a fit to 0.8 n rows and the features of 0.2 n. */
#include "methods/novelty.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/share.h"

#include <math.h>
#include <stdlib.h>

enum {
    HELD_OUT_PART = 5
}; /* one row of this many is held out: fewer give a better model, more a better threshold */

/* The caller's rows in two parts. For a precomputed kernel the columns are split like the rows. */
struct split {
    int64_t *order; /* of all rows, by the seed: first those to fit, then those held out */
    int64_t fitted, held;
    mercer_rows *fit_rows, *held_rows;
    double *self; /* k(x,x) of the held-out rows, precomputed kernels only */
};

static mercer_status draw_order(const mercer_ctx *ctx, int64_t n, int64_t **out, mercer_error *err)
{
    int64_t *order = NULL;
    mrc_rng rng; /* its own: the fit must not depend on whether a threshold is wanted */
    mercer_status rc = mrc_alloc(&order, n, sizeof *order, err);
    if (rc != MERCER_OK)
        return rc;
    mrc_rng_seed(&rng, ctx->seed);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = mrc_rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    *out = order;
    return MERCER_OK;
}

static mercer_status split_rows(const mercer_ctx *ctx, const mercer_rows *rows, bool precomputed,
                                struct split *split, mercer_error *err)
{
    const int64_t *held;
    mercer_status rc = MERCER_OK;
    split->held = rows->n / HELD_OUT_PART;
    split->fitted = rows->n - split->held;
    MRC_TRY(draw_order(ctx, rows->n, &split->order, err));
    held = split->order + split->fitted;
    if (precomputed) {
        MRC_TRY(mrc_rows_take_block(rows, split->order, split->fitted, split->order, split->fitted,
                                    &split->fit_rows, err));
        MRC_TRY(mrc_rows_take_block(rows, held, split->held, split->order, split->fitted,
                                    &split->held_rows, err));
        MRC_TRY(mrc_alloc(&split->self, split->held, sizeof *split->self, err));
        mrc_rows_take_diagonal(rows, held, split->held, split->self);
    } else {
        MRC_TRY(mrc_rows_take(rows, split->order, split->fitted, &split->fit_rows, err));
        MRC_TRY(mrc_rows_take(rows, held, split->held, &split->held_rows, err));
    }
out:
    return rc;
}

static void split_destroy(struct split *split)
{
    mrc_free(split->order);
    mercer_rows_free(split->fit_rows);
    mercer_rows_free(split->held_rows);
    mrc_free(split->self);
}

/* Errors of the held-out rows under a model of the others. */
static mercer_status held_out_errors(mercer_ctx *ctx, const mercer_fit_options *options,
                                     const mercer_model *model, const struct split *split,
                                     double *errors, mercer_error *err)
{
    mercer_fit_options same = *options;
    mercer_model *partial = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_notice_fn notice = ctx->notice;
    mrc_rng rng = ctx->rng;
    double *features = NULL;
    mercer_status rc = MERCER_OK;

    same.novelty = 0;
    same.head = "none";
    same.scale_target = NULL;
    same.kernel = model->kernel_text; /* with the numbers that were used, so that errors compare */
    same.components = (double)model->components;
    ctx->notice = NULL; /* what there is to say has been said about all rows */
    MRC_TRY(mercer_fit(ctx, &same, split->fit_rows, NULL, &partial, NULL, err));
    mercer_model_get_info(partial, &info);
    MRC_TRY(mrc_alloc2_raw(&features, split->held, info.components, sizeof *features, err));
    MRC_TRY(
        mercer_model_transform(ctx, partial, split->held_rows, split->self, features, errors, err));
out:
    ctx->notice = notice;
    ctx->rng = rng;
    mercer_model_free(partial);
    mrc_free(features);
    return rc;
}

mercer_status mrc_novelty_learn(mercer_ctx *ctx, const mercer_fit_options *options,
                                const mercer_rows *rows, mercer_model *model, mercer_error *err)
{
    double share = options->novelty, *errors = NULL;
    struct split split = {0};
    mercer_status rc = MERCER_OK;
    int64_t held = rows->n / HELD_OUT_PART;
    int64_t rank = held + 1 - mrc_share_floor(share, held + 1); /* the rest, rounded up */

    if (rank < 1)
        rank = 1;
    if (rank > held)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "novelty %g needs at least %.0f rows, of which one in %d is held out; there are "
                 "%lld",
                 share, HELD_OUT_PART * (double)(mrc_share_least(share) - 1), HELD_OUT_PART,
                 (long long)rows->n);
    MRC_TRY(split_rows(ctx, rows, mrc_kernel_is_precomputed(&model->kernel), &split, err));
    MRC_TRY(mrc_alloc(&errors, held, sizeof *errors, err));
    MRC_TRY(held_out_errors(ctx, options, model, &split, errors, err));
    qsort(errors, (size_t)held, sizeof *errors, mrc_compare_doubles);
    model->novelty_threshold = errors[rank - 1];
    model->novelty_share = share;
out:
    split_destroy(&split);
    mrc_free(errors);
    return rc;
}
