/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer_fit: from options and rows to a sealed model.
 *
 * The options are read (common/request.c); rows are scaled; what the kernel leaves open is learnt
 * from them; the method fills the model; provenance and derived parts come last. */
#include "methods/fit.h"
#include "base/bytes.h"
#include "base/comm.h"
#include "base/hash.h"
#include "data/checksum.h"
#include "data/prepare.h"
#include "data/spread_targets.h"
#include "linalg/blas.h"
#include "methods/common/options.h"
#include "methods/common/request.h"
#include "methods/novelty.h"
#include "methods/streaming/streaming.h"
#include "model/map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static mercer_status check_rows(const mercer_rows *rows, const mrc_request *r, mercer_error *err)
{
    const int64_t n = mrc_rows_total(rows);
    if (n < 2 && r->problem.center != MRC_CENTER_NONE)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "%lld row is not enough: centred features need at least two", (long long)n);
    return MERCER_OK;
}

/* Before the long work: can it be learnt from these targets? */
static mercer_status check_targets(const mercer_rows *rows, const mercer_targets *targets,
                                   const mrc_request *r, mercer_error *err)
{
    mrc_head_choice own = {0};
    const mrc_head_choice *learner = &r->head;
    mercer_status rc = MERCER_OK;
    if (!learner->def) { /* the method itself may learn from them */
        MRC_TRY(mrc_head_find(r->method->default_head, &own, err));
        learner = &own;
    }
    if (!learner->def)
        goto out;
    MRC_TRY(
        mrc_head_check_targets(learner, targets, r->scale_target, rows->n, r->problem.ranks, err));
    if (targets && targets->kind == MERCER_TARGET_VALUES) {
        int64_t bad = mrc_first_not_finite(targets->values, rows->n * targets->columns);
        if (bad >= 0)
            MRC_FAIL_AT(err, MERCER_ERR_DATA,
                        MRC_AT(.row = rows->first + bad / targets->columns + 1),
                        "row %lld: target %lld is not a finite number",
                        (long long)(rows->first + bad / targets->columns) + 1,
                        (long long)(bad % targets->columns) + 1);
    }
out:
    mrc_head_choice_destroy(&own);
    return rc;
}

/* Rows beside the training rows, in their form. */
struct more_rows {
    mercer_rows *landmarks, *scaled_landmarks, *validation, *scaled_validation;
    int64_t *codes; /* classes of the validation rows */
};

static void more_rows_destroy(struct more_rows *more)
{
    mercer_rows_free(more->landmarks);
    mercer_rows_free(more->scaled_landmarks);
    mercer_rows_free(more->validation);
    mercer_rows_free(more->scaled_validation);
    mrc_free(more->codes);
}

/* *rows, scaled ones that belong to us or NULL, become those that the kernel sees; *seen is what
 * they are to be made of, and then what they are. */
static mercer_status map_rows(mercer_ctx *ctx, const mercer_model *model, mercer_rows **rows,
                              const mercer_rows **seen, mercer_error *err)
{
    const mrc_map map = mrc_map_of(model);
    mercer_rows *mapped = NULL;
    mercer_status rc = MERCER_OK;
    if (!model->map_weights)
        return MERCER_OK;
    rc = mrc_map_rows(ctx, &map, *seen, &mapped, err);
    if (rc != MERCER_OK)
        return rc;
    mercer_rows_free(*rows);
    *rows = mapped;
    *seen = mapped;
    return rc;
}

/* Other rows of the caller's as rows are: *arranged in the caller's units, *out scaled. */
static mercer_status take_rows(mercer_ctx *ctx, const mrc_request *r, const char *what,
                               const mercer_rows *given, const mercer_rows *rows,
                               const mercer_model *model, mercer_rows **arranged,
                               mercer_rows **scaled, const mercer_rows **out, mercer_error *err)
{
    mercer_status rc = mrc_rows_need_whole(given, what, err);
    if (rc == MERCER_OK)
        rc = mrc_model_arrange(model, given, mercer_rows_is_sparse(rows), arranged, err);
    if (rc != MERCER_OK)
        MRC_TRY(mrc_fail_within(err, rc, what, "%s: ", what));
    *out = *arranged;
    if (r->scale != MRC_SCALE_NONE) {
        MRC_TRY(mrc_scale_rows(&model->scale, *arranged, scaled, err));
        *out = *scaled;
    }
    MRC_TRY(map_rows(ctx, model, scaled, out, err));
out:
    return rc;
}

static mercer_status take_landmarks(mercer_ctx *ctx, mrc_request *r, const mercer_rows *rows,
                                    const mercer_model *model, mercer_rows **arranged,
                                    mercer_rows **scaled, mercer_error *err)
{
    const mercer_rows *landmarks = r->options.landmarks;
    mercer_status rc = MERCER_OK;
    if (!landmarks)
        return MERCER_OK;
    if (mrc_kernel_is_precomputed(&r->kernel)) {
        if (landmarks->d != 1)
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.input = "landmarks"),
                        "landmarks: %lld columns where one was expected: row numbers, from 0",
                        (long long)landmarks->d);
        r->problem.landmarks = landmarks;
        goto out;
    }
    MRC_TRY(take_rows(ctx, r, "landmarks", landmarks, rows, model, arranged, scaled,
                      &r->problem.landmarks, err));
    r->options.landmarks = *arranged;
out:
    return rc;
}

/* The classes of the validation rows as codes of the training rows. */
static mercer_status match_classes(const mercer_targets *given, const mercer_targets *targets,
                                   int64_t n, int64_t **out, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (mercer_targets_kind(given) != MERCER_TARGET_CLASSES || given->n != n)
        MRC_FAIL(err, MERCER_ERR_DATA, "validation: every row needs a class, as the data have");
    MRC_TRY(mrc_alloc(out, n, sizeof **out, err));
    for (int64_t i = 0; i < n; i++) {
        const char *name = given->class_names[given->codes[i]];
        int64_t c = 0;
        while (c < targets->classes && strcmp(targets->class_names[c], name) != 0)
            c++;
        if (c == targets->classes)
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.row = i + 1, .input = "validation"),
                        "validation: row %lld is of class '%s', unknown in the data",
                        (long long)i + 1, name);
        (*out)[i] = c;
    }
out:
    return rc;
}

static mercer_status take_validation(mercer_ctx *ctx, mrc_request *r, const mercer_rows *rows,
                                     const mercer_targets *targets, const mercer_model *model,
                                     struct more_rows *more, mercer_error *err)
{
    const mercer_rows *given = r->options.validation;
    mercer_status rc = MERCER_OK;
    if (!given)
        return MERCER_OK;
    MRC_TRY(take_rows(ctx, r, "validation", given, rows, model, &more->validation,
                      &more->scaled_validation, &r->problem.validation, err));
    MRC_TRY(match_classes(r->options.validation_targets, targets, given->n, &more->codes, err));
    r->problem.validation_codes = more->codes;
out:
    return rc;
}

/* A method that looks at all rows at once: its model, sealed; and the rows beside the
 * training rows that it used, which the options point to. */
static mercer_status fit_at_once(mercer_ctx *ctx, mrc_request *r, const mercer_rows *rows,
                                 const mercer_targets *targets, mercer_fit_report *report,
                                 struct more_rows *more, mercer_model **out, mercer_error *err)
{
    mercer_rows *scaled = NULL;
    mercer_targets *scaled_targets = NULL;
    mercer_model *model = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_request_advise(ctx, rows, r, err));
    MRC_TRY(mrc_model_new(&model, err));
    MRC_TRY(mrc_request_scale(ctx, rows, model, r->scale, &scaled, err));
    r->problem.rows = scaled ? scaled : rows;
    if (r->scale_target != MRC_SCALE_NONE)
        MRC_TRY(mrc_targets_scale(targets, r->scale_target, &scaled_targets, err));
    r->problem.targets = scaled_targets ? scaled_targets : targets;
    r->problem.report = report;
    model->columns = rows->d;
    if (r->map.steps > 0) {
        MRC_TRY(mrc_map_learn(ctx, &r->map, &r->kernel, r->problem.rows, r->problem.targets,
                              r->options.groups, model, err));
        MRC_TRY(map_rows(ctx, model, &scaled, &r->problem.rows, err));
    }
    if (r->mapped_kernel) {
        r->kernel = *r->mapped_kernel;
        r->problem.learn_width = false; /* it has been */
    }
    r->problem.own_rows = scaled;
    MRC_TRY(mrc_kernel_resolve(&r->kernel, ctx, r->problem.rows, err));
    r->problem.kernel = &r->kernel;
    MRC_TRY(mrc_request_describe(ctx, rows, r, model, err));
    MRC_TRY(take_landmarks(ctx, r, rows, model, &more->landmarks, &more->scaled_landmarks, err));
    MRC_TRY(take_validation(ctx, r, rows, targets, model, more, err));
    MRC_TRY(r->method->fit(ctx, r->params, &r->problem, model, err));
    MRC_TRY(mrc_model_seal(model, ctx, err));
    *out = model;
    model = NULL;
out:
    mercer_model_free(model);
    mercer_rows_free(scaled);
    mercer_targets_free(scaled_targets);
    return rc;
}

/* ---- ranks ---- */

/* Before the first exchange of a fit to rows that are spread: all ranks mean the same fit. */
static mercer_status compare_calls(mercer_ctx *ctx, const mrc_request *r, const mercer_rows *rows,
                                   mercer_error *err)
{
    const int64_t shape[] = {rows->total, rows->d, rows->dtype, mercer_rows_is_sparse(rows)};
    const mercer_rows *landmarks = r->options.landmarks;
    uint64_t mine = mrc_options_hash(&r->options), first;
    mercer_status rc = MERCER_OK;
    if (landmarks) {
        const int64_t own[] = {landmarks->n, landmarks->d};
        mine = mrc_hash(mine, own, sizeof own);
        MRC_TRY(mrc_rows_hash(landmarks, &mine, err));
    }
    mine = mrc_hash(mine, shape, sizeof shape);
    mine = mrc_hash(mine, ctx->rng.s, sizeof ctx->rng.s);
    first = mine;
    MRC_TRY(mrc_comm_broadcast(ctx, &first, sizeof first, err));
    if (first != mine)
        MRC_FAIL(
            err, MERCER_ERR_DATA,
            "the options, the seed, the landmarks, or the number of rows and columns are not those "
            "of rank 0: every rank must read its part of the same table");
out:
    return rc;
}

/* Few rows, of which one rank would hold the whole matrix: every rank gets all of them and fits for
 * itself, so that its model is the one of one rank. */
static mercer_status gather_rows(mercer_ctx *ctx, const mercer_rows *rows, int64_t entries,
                                 mercer_rows **out, mercer_error *err)
{
    const double numbers = mercer_rows_is_sparse(rows) ? (double)entries * 2 /* a column for each */
                                                       : (double)rows->total * (double)rows->d;
    const double bytes = numbers * (double)sizeof(double);
    mercer_rows *all = NULL;
    mercer_status rc = MERCER_OK;
    if (bytes > (double)mercer_ctx_memory(ctx)) {
        const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, (double)mercer_ctx_memory(ctx));
        MRC_FAIL_AT(err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                    "%lld rows, which every rank is to have, need %s, the memory budget is %s: "
                    "raise it, or take store lowrank",
                    (long long)rows->total, sizes.first.text, sizes.second.text);
    }
    MRC_TRY(mrc_rows_take_of_all(ctx, rows, NULL, rows->total, &all, err));
    MRC_TRY(mrc_copy_names(&all->names, rows->names, rows->d, err));
    if (rows->prepare)
        MRC_TRY(mrc_prepare_clone(rows->prepare, &all->prepare, err));
    *out = all;
    all = NULL;
out:
    mercer_rows_free(all);
    return rc;
}

/* The targets of rows that are spread, where something learns from them; else NULL. whole: those of
 * all rows. */
static mercer_status join_targets(mercer_ctx *ctx, const mrc_request *r, const mercer_rows *rows,
                                  bool whole, const mercer_targets *given, mercer_targets **out,
                                  mercer_error *err)
{
    const mrc_span span = mrc_rows_span(ctx, rows);
    mercer_targets *own = NULL;
    mercer_status rc = MERCER_OK;
    if (!r->head.def && !r->method->default_head)
        return MERCER_OK;
    MRC_TRY(mrc_targets_join(ctx, given, rows->n, &own, err));
    if (whole) {
        MRC_TRY(mrc_targets_gather(ctx, own, &span, out, err));
    } else {
        *out = own;
        own = NULL;
    }
out:
    mercer_targets_free(own);
    return rc;
}

/* What ranks see to before a fit to rows that are spread; *all: rows for every rank, or NULL. */
static mercer_status join_ranks(mercer_ctx *ctx, mrc_request *r, const mercer_rows *rows,
                                mercer_rows **all, mercer_error *err)
{
    const mrc_span own = mrc_span_of_rank(rows->total, ctx->comm.table.rank, ctx->comm.table.size);
    int64_t entries = 0;
    mercer_status rc = MERCER_OK;
    if (own.first != rows->first || own.n != rows->n)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "the rows are not those that rank %d of %d has of %lld (mercer_ctx_part)",
                 ctx->comm.table.rank, ctx->comm.table.size, (long long)rows->total);
    MRC_TRY(compare_calls(ctx, r, rows, err));
    if (mercer_rows_is_sparse(rows))
        MRC_TRY(mrc_rows_entries_of_all(ctx, rows, &entries, err));
    if (rows->total < MRC_FACTOR_ROWS && !r->problem.store) {
        MRC_TRY(gather_rows(ctx, rows, entries, all, err));
    } else {
        r->problem.ranks = ctx;
        r->problem.entries = entries;
    }
out:
    return rc;
}

/* Whether the caller's report has a member for the features. */
static mercer_status check_report(const mercer_fit_report *report, mercer_error *err)
{
    const size_t needed = offsetof(mercer_fit_report, features) + sizeof report->features;
    if (!report || report->struct_size < needed || report->struct_size > MRC_MAX_STRUCT)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "want_features"),
                           "want_features: %s to hand the features over in",
                           report ? "the report has no member" : "there is no report");
    return MERCER_OK;
}

/* The features of the training rows, where the method left none. */
static mercer_status find_features(mercer_ctx *ctx, const mercer_rows *rows,
                                   const mercer_model *model, double **features, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(features, rows->n, model->components, sizeof **features, err));
    MRC_TRY(mercer_model_transform(ctx, model, rows, NULL, *features, NULL, err));
out:
    return rc;
}

mercer_status mrc_fit_with(mercer_ctx *ctx, const mercer_fit_options *options,
                           const mrc_kernel *mapped_kernel, const mercer_rows *rows,
                           const mercer_targets *targets, mercer_model **out,
                           mercer_fit_report *report, mercer_error *err)
{
    const bool spread = mrc_rows_span(ctx, rows).spread;
    mrc_request r = {.mapped_kernel = mapped_kernel, .expected = spread ? MERCER_EXPECT_SPREAD : 0};
    mercer_rows *all = NULL;
    mercer_targets *joined = NULL;
    mercer_fit_report filled = {.struct_size = sizeof filled};
    struct more_rows more = {0};
    mercer_model *model = NULL;
    double *features = NULL;
    double start = mrc_seconds();
    mercer_status rc = MERCER_OK;

    mrc_ctx_enter(ctx);
    MRC_TRY(mrc_request_read(ctx, options, &r, err));
    MRC_TRY(mrc_request_settle(&r, targets, err));
    if (spread) {
        MRC_TRY(join_ranks(ctx, &r, rows, &all, err));
        MRC_TRY(join_targets(ctx, &r, rows, all != NULL, targets, &joined, err));
        targets = joined;
    } else if (rows->n != mrc_rows_total(rows)) {
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "the rows are %lld of %lld that are spread over ranks, and the context has none",
                 (long long)rows->n, (long long)rows->total);
    }
    if (all)
        rows = all;
    const bool wanted = r.options.want_features != 0;
    r.options.want_features = 0; /* not of the fits inside this one */
    if (wanted)
        MRC_TRY(check_report(report, err));
    /* A head learns from the very bits that a transform gives. */
    if (wanted && !r.head.def)
        r.problem.features = &features;
    MRC_TRY(check_rows(rows, &r, err));
    MRC_TRY(check_targets(rows, targets, &r, err));
    if (mrc_blas_is_foreign())
        mrc_notice(ctx,
                   "BLAS is the %s build of OpenBLAS, not the OpenMP build that the library was "
                   "made for: the process had loaded it first, and numbers may differ in their "
                   "last digits",
                   mercer_blas());
    MRC_TRY(mrc_held_out_check(&r.options, rows, targets, mrc_kernel_is_precomputed(&r.kernel),
                               r.head.def != NULL, err));
    if (mrc_keeps_fitted(&r.options))
        MRC_TRY(mrc_held_out_fit(ctx, &r.options, rows, targets, &filled, &model, err));
    else if (r.method->streaming)
        MRC_TRY(mrc_stream_fit(ctx, &r.options, rows, &filled, &model, err));
    else
        MRC_TRY(fit_at_once(ctx, &r, rows, targets, &filled, &more, &model, err));
    if (wanted && !features)
        MRC_TRY(find_features(ctx, rows, model, &features, err));
    if (r.head.def && !mrc_keeps_fitted(&r.options)) {
        model->head.scale = r.scale_target;
        MRC_TRY(mrc_head_learn(ctx, &r.head, rows, targets, features, true, model, err));
    }
    if (mrc_holds_out(&r.options) && !mrc_keeps_fitted(&r.options))
        MRC_TRY(mrc_held_out_learn(ctx, &r.options, rows, targets, model, err));
    filled.reconstruction_error = model->reconstruction_error;
    filled.total_variance = model->total_variance;
    /* Features that are not projections may be longer than the rows: there is no share to tell. */
    if (filled.projection_variance > filled.total_variance * (1 + 1e-9))
        filled.projection_variance = NAN;
    MRC_TRY(mrc_check_cancel(ctx, err));
out:
    if (spread)
        rc = mrc_comm_agree(ctx, rc, err);
    if (rc == MERCER_OK) {
        filled.seconds = mrc_seconds() - start;
        filled.features = features;
        features = NULL;
        if (report)
            mrc_give_struct(&filled, sizeof filled, report);
        *out = model;
        model = NULL;
    }
    mrc_free(features);
    mercer_model_free(model);
    mercer_rows_free(all);
    mercer_targets_free(joined);
    more_rows_destroy(&more);
    mrc_request_destroy(&r);
    return mrc_ctx_leave(ctx, rc, err);
}

mercer_status mercer_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                         const mercer_rows *rows, const mercer_targets *targets, mercer_model **out,
                         mercer_fit_report *report, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(options);
    MRC_NEED(rows);
    return mrc_fit_with(ctx, options, NULL, rows, targets, out, report, err);
}
