/* SPDX-License-Identifier: BSD-3-Clause */
/* From the options of a fit to what they mean: texts become a method, a kernel and choices, checked
 * against each other before any data is touched. */
#include "methods/common/request.h"

#include "base/order.h"
#include "data/checksum.h"
#include "methods/common/options.h"
#include "methods/common/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static mercer_status read_components(mrc_request *r, mercer_error *err)
{
    mrc_common_params *common = r->params;
    if (r->options.components != 0)
        common->components = r->options.components == MERCER_COMPONENTS_BOUND
                                 ? MRC_KEYWORD(0)
                                 : r->options.components;
    double wanted = common->components;
    if (r->method->counts_outputs && r->options.components == MERCER_COMPONENTS_BOUND)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: method %s has no bound; it has as many features as the "
                        "targets allow",
                        r->method->entry.name);
    if (r->method->counts_outputs && wanted > 0 && wanted < 1)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: %g: method %s has a number of features, no share of a "
                        "variance",
                        wanted, r->method->entry.name);
    if (r->method->counts_outputs && wanted == MRC_KEYWORD(0))
        return MERCER_OK;
    if (wanted == MRC_KEYWORD(0) && r->method->entry.params[0].choices) {
        r->problem.by_bound = true;
        r->problem.components = MRC_MAX_BY_BOUND;
        return MERCER_OK;
    }
    if (wanted == MRC_KEYWORD(0))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: only methods that learn from labels have a bound, and %s "
                        "does not",
                        r->method->entry.name);
    if (!isfinite(wanted) || wanted <= 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: %g is neither a number of components nor a share of the "
                        "variance between 0 and 1",
                        wanted);
    if (wanted >= 1 && (wanted != floor(wanted) || wanted > MRC_MAX_COMPONENTS))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: %g is not a whole number (a share of the variance is below 1)",
                        wanted);
    r->problem.components = wanted >= 1 ? (int64_t)wanted : 0;
    r->problem.share = wanted >= 1 ? 0 : wanted;
    return MERCER_OK;
}

static mercer_status read_center(mrc_request *r, mercer_error *err)
{
    int center = mrc_option_word(&r->options, MRC_OPTION_center);
    r->problem.center = center < 0 ? r->method->default_center : (mrc_center)center;
    const char *name = mrc_center_name(r->problem.center), *centers = r->method->centers;
    if (!centers || mrc_text_cell_find(centers, name, strlen(name)) >= 0)
        return MERCER_OK;
    size_t first = strcspn(centers, "|"); /* of two */
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "method %s: center is %.*s or %s",
                    r->method->entry.name, (int)first, centers, centers + first + 1);
}

static bool learns_width(const mrc_method *method)
{
    return method->learns_width;
}

static mercer_status read_kernel(const mercer_ctx *ctx, mrc_request *r, mercer_error *err)
{
    char text[256];
    bool linear = r->method->linear_kernel;
    const char *spec = r->options.kernel ? r->options.kernel : mrc_method_default_kernel(r->method);
    mercer_status rc = MERCER_OK;
    if (r->fitted_kernel)
        r->kernel = *r->fitted_kernel;
    else
        rc = mrc_kernel_parse_in(&r->kernel, ctx, spec, err);
    if (rc == MERCER_OK && linear && !mrc_kernel_is_linear(&r->kernel))
        rc = mrc_fail(err, MERCER_ERR_ARGUMENT,
                      "method %s has a linear kernel; for kernel %s use method kpca",
                      r->method->entry.name, mrc_kernel_name(&r->kernel));
    if (rc != MERCER_OK || !mrc_kernel_learns_width(&r->kernel))
        return rc;
    r->problem.learn_width = true;
    if (!r->method->learns_width)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "sigma=learn requires method %s, not %s",
                        mrc_methods_with(learns_width, text, sizeof text), r->method->entry.name);
    if (mrc_kernel_is_combined(&r->kernel))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "sigma=learn is for one kernel, not for a part of a sum or product");
    return MERCER_OK;
}

static bool takes_landmarks(const mrc_method *method)
{
    return method->takes_landmarks;
}

/* Landmarks take the place of everything a method could be told about its choice. */
static bool takes_tolerance(const mrc_method *method)
{
    return method->takes_tolerance;
}

static mercer_status check_tolerance(const mrc_request *r, mercer_error *err)
{
    static const double LEAST = 1e-12, MOST = 0.01; /* what Krylov reaches; two digits */
    char text[256];
    double tolerance = r->options.tolerance;
    if (tolerance == 0)
        return MERCER_OK;
    if (!r->method->takes_tolerance)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "tolerance"),
                           "tolerance: method %s does not take any; %s do", r->method->entry.name,
                           mrc_methods_with(takes_tolerance, text, sizeof text));
    if (!(tolerance >= LEAST && tolerance <= MOST))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "tolerance"),
                           "tolerance: %g is not between %g and %g", tolerance, LEAST, MOST);
    return MERCER_OK;
}

static mercer_status check_landmarks(const mrc_request *r, mercer_error *err)
{
    const struct mercer_entry *entry = &r->method->entry;
    char text[1024];
    mercer_status rc = MERCER_OK;
    if (!r->method->takes_landmarks)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "landmarks: method %s does not take any; %s do",
                        entry->name, mrc_methods_with(takes_landmarks, text, sizeof text));
    if (r->problem.center == MRC_CENTER_EXACT)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "landmarks require center span or none: span gives the same features as "
                        "exact");
    if (mrc_kernel_is_precomputed(&r->kernel) && r->options.novelty > 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "novelty: landmarks of a precomputed kernel may be among the rows held "
                        "out");
    MRC_TRY(mrc_params_format(entry->params, entry->name, r->params, 0, text, sizeof text, err));
    for (const char *key = strchr(text, ':'); key; key = strchr(key + 1, ','))
        if (r->method->landmarks_replace
                ? strncmp(key + 1, "points=", strlen("points=")) == 0
                : strncmp(key + 1, "components=", strlen("components=")) != 0)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "method %s: %.*s cannot be set with landmarks, which leave nothing to "
                            "choose",
                            entry->name, (int)strcspn(key + 1, "="), key + 1);
out:
    return rc;
}

static bool takes_validation(const mrc_method *method)
{
    return method->takes_validation;
}

static mercer_status check_validation(const mrc_request *r, mercer_error *err)
{
    char text[256];
    if (!r->method->takes_validation)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "validation: method %s has no use for more labelled rows; %s has",
                        r->method->entry.name,
                        mrc_methods_with(takes_validation, text, sizeof text));
    if (mrc_kernel_is_precomputed(&r->kernel))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "validation: a precomputed kernel has no values with other rows");
    return MERCER_OK;
}

static bool predicts(const mrc_method *method)
{
    return method->predicts;
}

static mercer_status read_head(mrc_request *r, mercer_error *err)
{
    char text[256];
    const mercer_fit_options *options = &r->options;
    int kind = mrc_option_word(options, MRC_OPTION_scale_target);
    mercer_status rc = MERCER_OK;
    const char *own =
        r->method->choose_head ? r->method->choose_head(r->params) : r->method->default_head;
    MRC_TRY(mrc_head_find(options->head ? options->head : own, &r->head, err));
    if (r->head.def && r->head.def->of_predictions && !r->method->predicts)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "head %s is for methods whose features are predictions (%s), which those of "
                 "method %s are not",
                 r->head.def->entry.name, mrc_methods_with(predicts, text, sizeof text),
                 r->method->entry.name);
    if (own && options->novelty > 0)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "novelty: method %s has no reconstruction errors, which a threshold is made of",
                 r->method->entry.name);
    r->scale_target = kind == 1 ? MRC_SCALE_STANDARD : kind == 2 ? MRC_SCALE_NORM : MRC_SCALE_NONE;
    if (kind > 0 && !r->head.def && !r->method->default_head)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "scale_target: method %s does not look at targets; give it a head that does",
                 r->method->entry.name);
out:
    return rc;
}

static mercer_status find_method(mrc_request *r, mercer_error *err)
{
    const char *name = r->options.method;
    const mercer_criterion *criterion = r->options.criterion;
    if (!name && !criterion)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "no method given");
    if (name && criterion)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "method %s and a criterion: only one can choose",
                        name);
    if (name)
        return mrc_method_find(name, &r->method, err);
    r->problem.criterion = &r->criterion;
    r->method = &mrc_method_criterion;
    mercer_criterion_init(&r->criterion);
    return mrc_options_import("criterion", criterion, &r->criterion, sizeof r->criterion, err);
}

static bool can_be_spread(const mrc_method *method)
{
    return method->check_spread != NULL;
}

/* Rows that are spread over ranks teach only what every step of the fit takes from all ranks:
 * everything else would be that of the rows of one. */
static mercer_status check_spread(const mrc_request *r, mercer_error *err)
{
    char text[256];
    const mercer_fit_options *o = &r->options;
    const bool spreads = !r->problem.store || mrc_store_spreads(r->problem.store);
    const struct {
        bool given;
        const char *key;
    } whole[] = {
        {r->head.def && !r->head.def->spreads, "head"},
        {o->novelty > 0, "novelty"},
        {mrc_option_word(o, MRC_OPTION_intervals) > 0, "intervals"},
        {mrc_option_word(o, MRC_OPTION_keep) > 0, "keep"},
        {r->map.steps > 0, "map"},
        {o->validation || (r->expected & MERCER_EXPECT_VALIDATION), "validation"},
        {r->scale == MRC_SCALE_ROBUST, "scale robust"},
        {r->scale_target != MRC_SCALE_NONE, "scale_target"},
        {r->problem.single, "precision single"},
        {!spreads, "a store other than lowrank"},
        {mrc_kernel_is_precomputed(&r->kernel), "kernel precomputed"},
        {mrc_kernel_asks_host(&r->kernel), "a kernel of the host"},
        {o->want_features != 0, "want_features"},
    };
    if (!r->method->check_spread)
        return mrc_fail_at(
            err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "method"),
            "method %s cannot learn from rows that are spread over ranks: %s can, or "
            "fit on one rank",
            r->method->entry.name, mrc_methods_with(can_be_spread, text, sizeof text));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (whole[i].given)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "%s: not possible where rows are spread over ranks: leave it out, or "
                            "fit on one rank",
                            whole[i].key);
    return r->method->check_spread(r, err);
}

mercer_status mrc_request_read(const mercer_ctx *ctx, const mercer_fit_options *given,
                               mrc_request *r, mercer_error *err)
{
    const mercer_fit_options *options = &r->options;
    mercer_status rc = MERCER_OK;
    char what[64];

    mercer_fit_options_init(&r->options);
    MRC_TRY(mrc_options_import("fit", given, &r->options, sizeof r->options, err));
    MRC_TRY(find_method(r, err));
    MRC_TRY(mrc_alloc2(&r->params, (int64_t)r->method->params_size, 1, 1, err));
    snprintf(what, sizeof what, "method %s", r->method->entry.name);
    mrc_params_defaults(r->method->entry.params, r->params);
    if (options->method)
        MRC_TRY(mrc_params_parse(r->method->entry.params, what, options->method, r->params, err));
    MRC_TRY(read_components(r, err));
    MRC_TRY(mrc_scale_parse(options->scale, &r->scale, err));
    MRC_TRY(mrc_options_check(options, err));
    MRC_TRY(read_center(r, err));
    MRC_TRY(read_kernel(ctx, r, err));
    MRC_TRY(read_head(r, err));
    MRC_TRY(mrc_map_parse(options->map, &r->map, err));
    if (r->map.steps > 0 && r->method->streaming)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "map"),
                    "map: method %s learns from a stream, which has no targets",
                    r->method->entry.name);
    if (r->map.steps > 0)
        MRC_TRY(mrc_map_check_kernel(&r->kernel, err));
    r->problem.store =
        mrc_option_word(options, MRC_OPTION_store) > 0 ? mrc_store_find(options->store) : NULL;
    r->problem.on_pivots = r->method->on_pivots && r->method->on_pivots(r->params);
    r->problem.single = mrc_option_word(options, MRC_OPTION_precision) == 1;
    MRC_TRY(check_tolerance(r, err));
    r->problem.tolerance = options->tolerance;
    if (r->problem.single && r->problem.store && !mrc_store_holds_single(r->problem.store))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "precision store"),
                    "precision single requires store dense or stream, not %s", options->store);
    if (mrc_kernel_is_precomputed(&r->kernel) && r->problem.single)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "precision single: a precomputed kernel matrix is used as it is given");
    if (mrc_kernel_is_precomputed(&r->kernel) && r->scale != MRC_SCALE_NONE)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "scale: a precomputed kernel matrix cannot be scaled");
    if (mrc_request_has_landmarks(r))
        MRC_TRY(check_landmarks(r, err));
    if (options->validation || (r->expected & MERCER_EXPECT_VALIDATION))
        MRC_TRY(check_validation(r, err));
    if (r->method->check)
        MRC_TRY(r->method->check(r, err));
    if (r->expected & MERCER_EXPECT_SPREAD)
        MRC_TRY(check_spread(r, err));
out:
    return rc;
}

mercer_status mrc_request_settle(mrc_request *r, const mercer_targets *targets, mercer_error *err)
{
    if (!r->method->settle || !targets)
        return MERCER_OK;
    r->method->settle(r->params, targets);
    mrc_head_choice_destroy(&r->head);
    return read_head(r, err); /* which may follow from them */
}

void mrc_request_destroy(mrc_request *r)
{
    mrc_free(r->params);
    mrc_head_choice_destroy(&r->head);
}

mercer_status mercer_fit_options_check(const mercer_fit_options *options, unsigned expected,
                                       mercer_error *err)
{
    MRC_NEED(options);
    mrc_request r = {.expected = expected};
    mercer_status rc = mrc_request_read(NULL, options, &r, err);
    mrc_request_destroy(&r);
    return rc;
}

/* Distances and dot products see only the widest columns when spreads differ a lot; most people who
 * leave the scaling out did not mean that. */
mercer_status mrc_request_advise(mercer_ctx *ctx, const mercer_rows *rows, const mrc_request *r,
                                 mercer_error *err)
{
    static const double WORTH_SAYING = 100; /* largest spread over the median one */
    double *least = NULL, *spread = NULL, *sorted = NULL;
    int64_t d = rows->d, widest = 0, count = 0;
    mercer_status rc = MERCER_OK;
    if (r->scale != MRC_SCALE_NONE || mrc_kernel_is_precomputed(&r->kernel) || d < 2 ||
        mercer_rows_is_sparse(rows)) /* whose columns cannot be shifted anyway */
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&least, d, sizeof *least, err));
    MRC_TRY(mrc_alloc(&spread, d, sizeof *spread, err));
    MRC_TRY(mrc_alloc(&sorted, d, sizeof *sorted, err));
    MRC_TRY(mrc_rows_ranges(ctx, rows, least, spread, sorted, err)); /* the largest, at first */
    for (int64_t k = 0; k < d; k++) {
        spread[k] -= least[k];
        if (spread[k] > 0)
            sorted[count++] = spread[k];
        if (spread[k] > spread[widest])
            widest = k;
    }
    double factor = count > 1 ? spread[widest] / mrc_median(sorted, count) : 0;
    if (factor > WORTH_SAYING && rows->names)
        mrc_notice_at(
            ctx, MRC_TRY_SCALING,
            "column '%s' has %.4g times the spread of the median column and will dominate; "
            "consider scaling the columns",
            rows->names[widest], factor);
    else if (factor > WORTH_SAYING)
        mrc_notice_at(
            ctx, MRC_TRY_SCALING,
            "column %lld has %.4g times the spread of the median column and will dominate; "
            "consider scaling the columns",
            (long long)(widest + 1), factor);
out:
    mrc_free(least);
    mrc_free(spread);
    mrc_free(sorted);
    return rc;
}

mercer_status mrc_request_scale(mercer_ctx *ctx, const mercer_rows *rows, mercer_model *model,
                                mrc_scale_kind kind, mercer_rows **scaled, mercer_error *err)
{
    mercer_status rc = mrc_scale_fit_of_all(&model->scale, kind, ctx, rows, err);
    if (rc == MERCER_OK && kind != MRC_SCALE_NONE)
        rc = mrc_scale_rows(&model->scale, rows, scaled, err);
    if (rc != MERCER_OK || !*scaled)
        return rc;
    mrc_rows_keep_part(rows, *scaled);
    return mrc_scale_join_equal(&model->scale, ctx, rows, *scaled, err);
}

mercer_status mrc_request_describe(mercer_ctx *ctx, const mercer_rows *rows, const mrc_request *r,
                                   mercer_model *model, mercer_error *err)
{
    unsigned long crc = 0;
    mercer_status rc = MERCER_OK;
    char method[1024];
    const char *name = r->problem.criterion ? r->problem.criterion->name : r->method->entry.name;
    MRC_TRY(
        mrc_params_format(r->method->entry.params, name, r->params, 0, method, sizeof method, err));
    MRC_TRY(mrc_strdup(&model->method, method, err));
    MRC_TRY(mrc_strdup(&model->version, MERCER_VERSION, err));
    MRC_TRY(mrc_strdup(&model->command, r->options.command ? r->options.command : "", err));
    MRC_TRY(mrc_rows_checksum_of_all(ctx, rows, &crc, err));
    MRC_TRY(mrc_format_checksum(crc, mrc_rows_total(rows), rows->d, &model->data_hash, err));
    if (rows->prepare)
        MRC_TRY(mrc_prepare_copy(rows->prepare, &model->prepare, err));
    MRC_TRY(mrc_copy_names(&model->column_names, rows->names, rows->d, err));
    mrc_model_set_kernel(model, &r->kernel);
    MRC_TRY(mrc_kernel_format(&r->kernel, model->kernel_text, sizeof model->kernel_text, err));
    model->center = r->problem.center;
    bool given = r->options.landmarks != NULL;
    model->whole = mrc_method_is_nested(r->method, r->params, given) ? MRC_FALSE : MRC_TRUE;
    model->rows = mrc_rows_total(rows);
    model->columns = rows->d;
    model->seed = ctx->seed;
out:
    return rc;
}
