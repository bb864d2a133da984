/* SPDX-License-Identifier: BSD-3-Clause */
/* What rows that were held out say about new ones.
 *
 * The errors of the training rows are too small to judge new rows by: the features were chosen to
 * make them small, and so were predictions. So the rows are split by the seed, 80 to 20; a model
 * with the same kernel and as many components is fitted to the larger part, and the errors of the
 * smaller part are sorted. With h held-out rows and a share s the threshold is the k-th smallest
 * error, k = ceil((1 - s) (h + 1)): the error of one more row from the same source is larger with
 * probability s at most, whatever the distribution (split conformal prediction; Papadopoulos et al.
 * 2002). The same errors give p-values, and distances between predictions and targets the widths of
 * intervals. The model itself has seen all rows, so its errors are a little smaller, and the share
 * a little lower; unless the one of 0.8 n rows is kept, with the kernel that these rows ask for.
 *
 * Rows of one group (a patient, a machine) are alike, so a row whose group was fitted says little
 * about one of a new group. Then groups are split 80 to 20, and of each group held out one row is
 * judged, drawn by the seed: these rows and a row of a new group are exchangeable, which all rows
 * of some groups are not (Dunn, Wasserman, Ramdas 2018).
 * Cost: a fit to 0.8 n rows and the features of 0.2 n. */
#include "methods/novelty.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/share.h"
#include "data/prepare.h"
#include "methods/common/options.h"
#include "methods/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELD_OUT_PART = 5, /* one row of this many is held out: fewer give a better model, more a better
                          threshold */
    KEPT = 10000       /* errors that a model keeps at most, of rows at random: p-values of 1e-4 */
};

/* The caller's rows in two parts. For a precomputed kernel the columns are split like the rows. */
struct split {
    int64_t *order; /* rows by the seed: first those to fit, then those that are judged */
    int64_t fitted, held;
    mercer_rows *fit_rows, *held_rows;
    mercer_targets *fit_targets, *held_targets; /* or NULL */
    int64_t *fit_groups;                        /* or NULL */
    double *self; /* k(x,x) of the held-out rows, precomputed kernels only */
};

static mercer_status draw_order(mrc_rng *rng, int64_t n, int64_t **out, mercer_error *err)
{
    int64_t *order = NULL;
    mercer_status rc = mrc_alloc(&order, n, sizeof *order, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < n; i++) {
        int64_t j = mrc_rng_below(rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    *out = order;
    return MERCER_OK;
}

/* How many groups there are; rows without groups are one each. */
static mercer_status count_groups(const int64_t *groups, int64_t n, int64_t *out, mercer_error *err)
{
    bool *seen = NULL;
    mercer_status rc = MERCER_OK;
    *out = groups ? 0 : n;
    if (!groups)
        goto out;
    MRC_TRY(mrc_alloc(&seen, n, sizeof *seen, err));
    for (int64_t i = 0; i < n; i++) {
        if (groups[i] < 0 || groups[i] >= n)
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "groups", .row = i + 1),
                        "groups: row %lld has %lld, which is not from 0 to %lld", (long long)i + 1,
                        (long long)groups[i], (long long)n - 1);
        *out += !seen[groups[i]];
        seen[groups[i]] = true;
    }
out:
    mrc_free(seen);
    return rc;
}

/* From rows in random order to those of the groups that are fitted, then one row of each group that
 * is held out, the first of its group in that order; other rows of these groups are left out.
 * Groups are drawn, each as likely as the others, whatever its number of rows. */
static mercer_status split_groups(mrc_rng *rng, const int64_t *groups, int64_t n,
                                  struct split *split, mercer_error *err)
{
    enum { NEW = -1, JUDGED = -2 };
    int64_t *place = NULL, *drawn = NULL, *order = NULL, count, found = 0, fitted = 0, held = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(count_groups(groups, n, &count, err));
    split->held = count / HELD_OUT_PART;
    MRC_TRY(draw_order(rng, count, &drawn, err));
    MRC_TRY(mrc_alloc(&place, n, sizeof *place, err)); /* of each group: in the order drawn */
    MRC_TRY(mrc_alloc(&order, n, sizeof *order, err));
    for (int64_t i = 0; i < n; i++)
        place[i] = NEW;
    for (int64_t i = 0; i < n; i++)
        if (place[groups[i]] == NEW)
            place[groups[i]] = drawn[found++];
    for (int64_t i = 0; i < n; i++) {
        int64_t *of_group = &place[groups[split->order[i]]];
        if (*of_group >= split->held) {
            order[fitted++] = split->order[i];
        } else if (*of_group != JUDGED) {
            order[n - ++held] = split->order[i];
            *of_group = JUDGED;
        }
    }
    memmove(order + fitted, order + n - held, (size_t)held * sizeof *order);
    split->fitted = fitted;
    mrc_free(split->order);
    split->order = order;
    order = NULL;
out:
    mrc_free(place);
    mrc_free(drawn);
    mrc_free(order);
    return rc;
}

static mercer_status split_rows(const mercer_ctx *ctx, const mercer_rows *rows,
                                const mercer_targets *targets, const int64_t *groups,
                                bool precomputed, struct split *split, mercer_error *err)
{
    const int64_t *held;
    mrc_rng rng; /* its own: the fit must not depend on whether a threshold is wanted */
    mercer_status rc = MERCER_OK;
    mrc_rng_seed(&rng, ctx->seed);
    split->held = rows->n / HELD_OUT_PART;
    split->fitted = rows->n - split->held;
    MRC_TRY(draw_order(&rng, rows->n, &split->order, err));
    if (groups) {
        MRC_TRY(split_groups(&rng, groups, rows->n, split, err));
        MRC_TRY(
            mrc_groups_take(groups, rows->n, split->order, split->fitted, &split->fit_groups, err));
    }
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
        /* The model of these rows may be kept: it has to read new ones as they were read. */
        MRC_TRY(mrc_copy_names(&split->fit_rows->names, rows->names, rows->d, err));
        MRC_TRY(mrc_prepare_clone(rows->prepare, &split->fit_rows->prepare, err));
        MRC_TRY(mrc_gaps_refill(split->fit_rows, split->held_rows, err));
    }
    if (mercer_targets_kind(targets) != MERCER_TARGET_NONE) {
        MRC_TRY(mrc_targets_take(targets, split->order, split->fitted, &split->fit_targets, err));
        MRC_TRY(mrc_targets_take(targets, held, split->held, &split->held_targets, err));
    }
out:
    return rc;
}

static void split_destroy(struct split *split)
{
    mrc_free(split->order);
    mrc_free(split->fit_groups);
    mercer_rows_free(split->fit_rows);
    mercer_rows_free(split->held_rows);
    mercer_targets_free(split->fit_targets);
    mercer_targets_free(split->held_targets);
    mrc_free(split->self);
}

static bool wants_intervals(const mercer_fit_options *options)
{
    return mrc_option_word(options, MRC_OPTION_intervals) == 1;
}

bool mrc_holds_out(const mercer_fit_options *options)
{
    return options->novelty > 0 || wants_intervals(options);
}

bool mrc_keeps_fitted(const mercer_fit_options *options)
{
    return mrc_option_word(options, MRC_OPTION_keep) == 1;
}

mercer_status mrc_held_out_check(const mercer_fit_options *options, const mercer_rows *rows,
                                 const mercer_targets *targets, bool precomputed, bool head,
                                 mercer_error *err)
{
    const char *units = options->groups ? "groups" : "rows";
    int64_t count;
    mercer_status rc = count_groups(options->groups, rows->n, &count, err);
    if (rc != MERCER_OK)
        return rc;
    int64_t held = count / HELD_OUT_PART;
    if (mrc_keeps_fitted(options) && !mrc_holds_out(options))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "keep"),
                           "keep fitted: no rows are held out; it is for novelty or intervals");
    if (mrc_keeps_fitted(options) && precomputed)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "keep"),
                           "keep fitted: the columns of a precomputed kernel are all rows, which "
                           "that model would not take");
    if (wants_intervals(options) && (!head || mercer_targets_kind(targets) != MERCER_TARGET_VALUES))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "intervals"),
                           "intervals: need %s, which predictions are compared with",
                           head ? "target values, not classes" : "target values and a head");
    if (wants_intervals(options) && held < 1)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_AT(.key = "intervals"),
                           "intervals need at least %d %s, of which one in %d is held out; there "
                           "are %lld",
                           HELD_OUT_PART, units, HELD_OUT_PART, (long long)count);
    double share = options->novelty;
    if (share > 0 && held + 1 - mrc_share_floor(share, held + 1) > held)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "novelty %g needs at least %.0f %s, of which one in %d is held out; "
                        "there are %lld",
                        share, HELD_OUT_PART * (double)(mrc_share_least(share) - 1), units,
                        HELD_OUT_PART, (long long)count);
    return MERCER_OK;
}

/* Sorted errors of the held-out rows: the threshold, and those that p-values come from. */
static mercer_status learn_threshold(double share, double *errors, int64_t held,
                                     mercer_model *model, mercer_error *err)
{
    int64_t rank = held + 1 - mrc_share_floor(share, held + 1); /* the rest, rounded up */
    int64_t kept = held < KEPT ? held : KEPT;
    mercer_status rc = mrc_alloc(&model->held_errors, kept, sizeof(double), err);
    if (rc != MERCER_OK)
        return rc;
    model->held_errors_count = kept;
    memcpy(model->held_errors, errors, (size_t)kept * sizeof *errors);
    qsort(model->held_errors, (size_t)kept, sizeof *errors, mrc_compare_doubles);
    qsort(errors, (size_t)held, sizeof *errors, mrc_compare_doubles);
    model->novelty_threshold = errors[rank < 1 ? 0 : rank - 1];
    model->novelty_share = share;
    return MERCER_OK;
}

/* Sorted distances between predictions and targets, each target on its own. */
static mercer_status learn_residuals(const double *predicted, const struct split *split,
                                     mercer_model *model, mercer_error *err)
{
    int64_t kept = split->held < KEPT ? split->held : KEPT, outputs = split->held_targets->columns;
    double *column = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&column, kept, sizeof *column, err));
    MRC_TRY(mrc_alloc2(&model->held_residuals, kept, outputs, sizeof(double), err));
    model->held_residuals_count = kept;
    for (int64_t c = 0; c < outputs; c++) {
        for (int64_t i = 0; i < kept; i++)
            column[i] =
                fabs(predicted[i * outputs + c] - split->held_targets->values[i * outputs + c]);
        qsort(column, (size_t)kept, sizeof *column, mrc_compare_doubles);
        for (int64_t i = 0; i < kept; i++)
            model->held_residuals[i * outputs + c] = column[i];
    }
out:
    mrc_free(column);
    return rc;
}

/* What the held-out rows are to a model that has not seen them, into `model`. */
static mercer_status judge(mercer_ctx *ctx, const mercer_fit_options *options,
                           const mercer_model *partial, const struct split *split,
                           mercer_model *model, mercer_error *err)
{
    double *features = NULL, *errors = NULL, *predicted = NULL;
    int64_t held = split->held;
    mercer_status rc = MERCER_OK;
    if (options->novelty > 0) {
        MRC_TRY(mrc_alloc2_raw(&features, held, partial->components, sizeof *features, err));
        MRC_TRY(mrc_alloc(&errors, held, sizeof *errors, err));
        MRC_TRY(mercer_model_transform(ctx, partial, split->held_rows, split->self, features,
                                       errors, err));
        MRC_TRY(learn_threshold(options->novelty, errors, held, model, err));
    }
    if (wants_intervals(options)) {
        MRC_TRY(mrc_alloc2_raw(&predicted, held, partial->head.outputs, sizeof *predicted, err));
        MRC_TRY(mercer_model_predict(ctx, partial, split->held_rows, 0, predicted, NULL, err));
        MRC_TRY(learn_residuals(predicted, split, model, err));
    }
out:
    mrc_free(features);
    mrc_free(errors);
    mrc_free(predicted);
    return rc;
}

static mercer_fit_options without_held_out(const mercer_fit_options *options)
{
    mercer_fit_options plain = *options;
    plain.novelty = 0;
    plain.intervals = plain.keep = NULL;
    plain.groups = NULL;
    return plain;
}

mercer_status mrc_held_out_learn(mercer_ctx *ctx, const mercer_fit_options *options,
                                 const mercer_rows *rows, const mercer_targets *targets,
                                 mercer_model *model, mercer_error *err)
{
    mercer_fit_options same = without_held_out(options);
    bool intervals = wants_intervals(options);
    char map[256];
    mercer_notice_fn notice = ctx->notice;
    mrc_rng rng = ctx->rng;
    mercer_model *partial = NULL;
    struct split split = {0};
    mercer_status rc = MERCER_OK;
    if (!intervals) {
        same.head = "none";
        same.scale_target = NULL;
    }
    /* The kernel has the numbers that were used, so that errors compare. With a map they are those
     * of mapped rows: the map is learnt anew, in as many steps and in the same form, with the
     * kernel that the model's was learnt with. */
    same.map = NULL;
    if (model->map_text) {
        snprintf(map, sizeof map, "%s,choose=none", model->map_text);
        same.map = map;
    } else {
        same.kernel = model->kernel_text;
    }
    same.components = (double)model->components;
    MRC_TRY(split_rows(ctx, rows, intervals || model->map_text ? targets : NULL, options->groups,
                       mrc_kernel_is_precomputed(&model->kernel), &split, err));
    ctx->notice = NULL; /* what there is to say has been said about all rows */
    MRC_TRY(mrc_fit_with(ctx, &same, model->map_text ? &model->kernel : NULL, split.fit_rows,
                         split.fit_targets, &partial, NULL, err));
    if (model->map_text && !partial->map_text) /* its errors are those of another kernel */
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "map"),
                    "%s: the %lld rows that are not held out are too few for a map, or their "
                    "targets are constant, but the model has one: fit to more rows, or without map",
                    intervals ? "intervals" : "novelty", (long long)split.fitted);
    MRC_TRY(judge(ctx, options, partial, &split, model, err));
out:
    ctx->notice = notice;
    ctx->rng = rng;
    mercer_model_free(partial);
    split_destroy(&split);
    return rc;
}

mercer_status mrc_held_out_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                               const mercer_rows *rows, const mercer_targets *targets,
                               mercer_fit_report *report, mercer_model **out, mercer_error *err)
{
    mercer_fit_options plain = without_held_out(options);
    struct split split = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(split_rows(ctx, rows, targets, options->groups, false, &split, err));
    plain.groups = split.fit_groups;
    MRC_TRY(mercer_fit(ctx, &plain, split.fit_rows, split.fit_targets, out, report, err));
    MRC_TRY(judge(ctx, options, *out, &split, *out, err));
out:
    split_destroy(&split);
    return rc;
}

/* ---- what a model says of new rows ---- */

mercer_status mercer_model_p_values(const mercer_model *model, const double *errors, int64_t count,
                                    double *p, mercer_error *err)
{
    MRC_NEED(model);
    MRC_NEED(errors);
    MRC_NEED(p);
    int64_t h = model->held_errors_count;
    if (!model->held_errors || h < 1)
        return mrc_fail_at(err, MERCER_ERR_UNSUPPORTED,
                           MRC_AT(.advice_key = "novelty", .advice_value = "0.05"),
                           "the model keeps no errors of held-out rows, which p-values come from; "
                           "fit it with novelty");
    for (int64_t i = 0; i < count; i++) {
        int64_t low = 0, high = h; /* the first error that is not below lies in between */
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (model->held_errors[middle] < errors[i])
                low = middle + 1;
            else
                high = middle;
        }
        p[i] = isnan(errors[i]) ? NAN : (double)(1 + h - low) / (double)(h + 1);
    }
    return MERCER_OK;
}

mercer_status mercer_model_half_widths(const mercer_model *model, double coverage, double *half,
                                       mercer_error *err)
{
    MRC_NEED(model);
    MRC_NEED(half);
    int64_t h = model->held_residuals_count, outputs = model->head.outputs;
    if (!(coverage > 0 && coverage < 1))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "coverage"),
                           "coverage %g is not between 0 and 1", coverage);
    if (!model->held_residuals || h < 1)
        return mrc_fail_at(err, MERCER_ERR_UNSUPPORTED,
                           MRC_AT(.advice_key = "intervals", .advice_value = "on"),
                           "the model does not know how far its predictions are off; fit it with "
                           "intervals on");
    int64_t rank = mrc_share_ceil(coverage, h + 1);
    if (rank > h)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "coverage"),
                           "coverage %g: %lld rows were held out, which promise %.4g at most; fit "
                           "the model to more rows, or, where they have groups, to more groups: "
                           "one row of a group is held out",
                           coverage, (long long)h, (double)h / (double)(h + 1));
    for (int64_t c = 0; c < outputs; c++)
        half[c] = model->held_residuals[(rank < 1 ? 0 : rank - 1) * outputs + c];
    return MERCER_OK;
}
