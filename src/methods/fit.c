/* mercer_fit: from options and rows to a sealed model.
 *
 * Texts become a method, a kernel and choices; rows are scaled; what the kernel leaves open is
 * learnt from them; the method fills the model; provenance and derived parts come last. */
#include "base/order.h"
#include "methods/criterion.h"
#include "methods/novelty.h"
#include "methods/registry.h"
#include "methods/request.h"
#include "methods/streaming.h"

#include "linalg/blas.h"

#include <mercer/fit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void mercer_fit_options_init_sized(mercer_fit_options *options, size_t size)
{
    if (!options)
        return;
    const mercer_fit_options defaults = {.struct_size = size};
    mrc_give_options(&defaults, sizeof defaults, options, size);
}

mercer_status mrc_problem_gram(mercer_ctx *ctx, const mrc_problem *problem,
                               mrc_gram_request *request, mrc_gram **out, mercer_error *err)
{
    request->store = problem->store;
    request->single = problem->single;
    return mrc_gram_new(out, ctx, problem->kernel, problem->rows, request, problem->report, err);
}

mercer_status mrc_problem_check_range(const mrc_problem *problem, mercer_error *err)
{
    static const double MOST = 1e140; /* the square of it, of sums of it, and of their inverses */
    int64_t column;
    if (!problem->rows) /* a stream, whose rows have gone by */
        return MERCER_OK;
    double value = mrc_rows_largest(problem->rows, 0, problem->rows->n, &column);
    if (value == 0 || (fabs(value) < MOST && fabs(value) > 1 / MOST))
        return MERCER_OK;
    return mrc_fail(
        err, MERCER_ERR_DATA,
        "the largest value is %g (column %lld), and kernel values of such rows are out of "
        "the range of numbers: scale the data (--scale standard)",
        fabs(value), (long long)(column + 1));
}

mercer_status mrc_problem_no_component(const mrc_problem *problem, mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    mercer_status rc = mrc_problem_check_range(problem, err);
    if (rc != MERCER_OK)
        return rc;
    if (!mrc_kernel_is_semidefinite(problem->kernel))
        return mrc_fail(err, MERCER_ERR_DATA,
                        "no k(x,x) of the %skernel matrix is positive, so there is no component to "
                        "extract",
                        centered ? "centred " : "");
    return mrc_fail(
        err, MERCER_ERR_DATA,
        "the %skernel matrix is zero to rounding: %s, so there is no component to extract",
        centered ? "centred " : "",
        centered ? "the rows do not differ, or by less than rounding beside their mean"
                 : "the kernel takes every row for zero");
}

/* The index of text among the words "a|b|c"; NULL is the first one. */
static mercer_status choose(const char *what, const char *text, const char *words, int *out,
                            mercer_error *err)
{
    *out = 0;
    if (!text)
        return MERCER_OK;
    size_t length = strlen(text);
    for (const char *word = words; word; (*out)++) {
        const char *end = strchr(word, '|');
        size_t size = end ? (size_t)(end - word) : strlen(word);
        if (size == length && strncmp(word, text, size) == 0)
            return MERCER_OK;
        word = end ? end + 1 : NULL;
    }
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s '%s' is not one of %s", what, text, words);
}

static mercer_status read_components(mrc_request *r, mercer_error *err)
{
    mrc_common_params *common = r->params;
    if (r->options.components != 0)
        common->components =
            r->options.components == MERCER_COMPONENTS_BOUND ? MRC_WORD(0) : r->options.components;
    double wanted = common->components;
    if (wanted == MRC_WORD(0) && r->method->entry.params[0].choices) {
        r->problem.by_bound = true;
        r->problem.components = MRC_MOST_BY_BOUND;
        return MERCER_OK;
    }
    if (wanted == MRC_WORD(0))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: only methods that learn from labels have a bound, and %s "
                        "does not",
                        r->method->entry.name);
    if (!isfinite(wanted) || wanted <= 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: %g is neither a number of components nor a share of the "
                        "variance between 0 and 1",
                        wanted);
    if (wanted >= 1 && (wanted != floor(wanted) || wanted > 1e9))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "components: %g is not a whole number (a share of the variance is below 1)",
                        wanted);
    r->problem.components = wanted >= 1 ? (int64_t)wanted : 0;
    r->problem.share = wanted >= 1 ? 0 : wanted;
    return MERCER_OK;
}

static mercer_status read_center(mrc_request *r, mercer_error *err)
{
    int center;
    mercer_status rc = choose("center", r->options.center, "none|exact|span", &center, err);
    r->problem.center = r->options.center ? (mrc_center)center : r->method->default_center;
    if (rc == MERCER_OK && r->method->refuses_span && r->problem.center == MRC_CENTER_SPAN)
        rc = mrc_fail(err, MERCER_ERR_ARGUMENT, "method %s: center is none or exact",
                      r->method->entry.name);
    return rc;
}

static mercer_status read_kernel(const mercer_ctx *ctx, mrc_request *r, mercer_error *err)
{
    bool linear = r->method->needs == MRC_NEEDS_LINEAR_KERNEL;
    const char *spec = r->options.kernel ? r->options.kernel : linear ? "linear" : "rbf";
    mercer_status rc = mrc_kernel_parse_in(&r->kernel, ctx, spec, err);
    if (rc == MERCER_OK && linear && r->kernel.kind != MRC_KERNEL_linear)
        rc = mrc_fail(err, MERCER_ERR_ARGUMENT,
                      "method %s has a linear kernel; for kernel %s use method kpca",
                      r->method->entry.name, mrc_kernel_def_of(r->kernel.kind)->entry.name);
    if (rc != MERCER_OK || !mrc_kernel_learns_width(&r->kernel))
        return rc;
    r->problem.learn_width = true;
    if (!r->method->learns_width)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "sigma=learn goes with method koca, not with %s",
                        r->method->entry.name);
    if (r->kernel.kind == MRC_KERNEL_COMBINED)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "sigma=learn is for one kernel, not for a part of a sum or product");
    return MERCER_OK;
}

/* Landmarks take the place of everything a method could be told about its choice. */
static mercer_status check_landmarks(const mrc_request *r, mercer_error *err)
{
    const struct mercer_entry *entry = &r->method->entry;
    char text[1024];
    mercer_status rc = MERCER_OK;
    if (!r->method->takes_landmarks)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "landmarks: method %s does not stand on chosen points; rkpca, greedy, "
                        "nystroem and koca do",
                        entry->name);
    if (r->problem.center == MRC_CENTER_EXACT)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "landmarks go with center span or none: span gives the same features as "
                        "exact");
    if (r->kernel.kind == MRC_KERNEL_precomputed && r->options.novelty > 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "novelty: landmarks of a precomputed kernel may be among the rows held "
                        "out");
    MRC_TRY(mrc_params_format(entry->params, entry->name, r->params, 0, text, sizeof text, err));
    for (const char *key = strchr(text, ':'); key; key = strchr(key + 1, ','))
        if (r->method->landmarks_keep_keys
                ? strncmp(key + 1, "points=", strlen("points=")) == 0
                : strncmp(key + 1, "components=", strlen("components=")) != 0)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "method %s: %.*s does not go with landmarks, which leave nothing to "
                            "choose",
                            entry->name, (int)strcspn(key + 1, "="), key + 1);
out:
    return rc;
}

static mercer_status check_validation(const mrc_request *r, mercer_error *err)
{
    if (!r->method->takes_validation)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "validation: method %s has no use for more labelled rows; koca has",
                        r->method->entry.name);
    if (r->kernel.kind == MRC_KERNEL_precomputed)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "validation: a precomputed kernel has no values with other rows");
    return MERCER_OK;
}

static mercer_status read_head(mrc_request *r, mercer_error *err)
{
    const mercer_fit_options *options = &r->options;
    int kind = 0;
    mercer_status rc = MERCER_OK;
    const char *own =
        r->method->choose_head ? r->method->choose_head(r->params) : r->method->default_head;
    MRC_TRY(mrc_head_find(options->head ? options->head : own, &r->head, err));
    if (own && options->novelty > 0)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "novelty: method %s has no reconstruction errors, which a threshold is made of",
                 r->method->entry.name);
    MRC_TRY(choose("scale_target", options->scale_target, "none|standard|norm", &kind, err));
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
    r->problem.criterion = criterion;
    r->method = &mrc_method_criterion;
    return name ? mrc_method_find(name, &r->method, err) : mrc_criterion_check(criterion, err);
}

mercer_status mrc_request_read(const mercer_ctx *ctx, const mercer_fit_options *given,
                               mrc_request *r, mercer_error *err)
{
    const mercer_fit_options *options = &r->options;
    mercer_status rc = MERCER_OK;
    char what[64];
    int store, precision;

    mercer_fit_options_init(&r->options);
    MRC_TRY(mrc_take_options("fit", given, &r->options, sizeof r->options, err));
    MRC_TRY(find_method(r, err));
    MRC_TRY(mrc_alloc2(&r->params, (int64_t)r->method->params_size, 1, 1, err));
    snprintf(what, sizeof what, "method %s", r->method->entry.name);
    mrc_params_defaults(r->method->entry.params, r->params);
    if (options->method)
        MRC_TRY(mrc_params_parse(r->method->entry.params, what, options->method, r->params, err));
    MRC_TRY(read_components(r, err));
    MRC_TRY(mrc_novelty_check(options->novelty, err));
    MRC_TRY(read_center(r, err));
    MRC_TRY(read_kernel(ctx, r, err));
    MRC_TRY(choose("store", options->store, "auto|dense|stream|lowrank", &store, err));
    MRC_TRY(choose("precision", options->precision, "double|single", &precision, err));
    MRC_TRY(mrc_scale_parse(options->scale, &r->scale, err));
    MRC_TRY(read_head(r, err));
    r->problem.store = (mrc_store_kind)store;
    r->problem.single = precision == 1;
    if (r->problem.single && r->problem.store == MRC_STORE_LOWRANK)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "precision single goes with --store dense or stream, not lowrank");
    if (r->kernel.kind == MRC_KERNEL_precomputed && r->problem.single)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "precision single: a precomputed kernel matrix is used as it is given");
    if (r->kernel.kind == MRC_KERNEL_precomputed && r->scale != MRC_SCALE_NONE)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "scale: a precomputed kernel matrix cannot be scaled");
    if (options->landmarks || options->expects_landmarks)
        MRC_TRY(check_landmarks(r, err));
    if (options->validation || options->expects_validation)
        MRC_TRY(check_validation(r, err));
    if (r->method->streaming)
        MRC_TRY(mrc_streaming_plan(r, &(mrc_plan){0}, err));
out:
    return rc;
}

void mrc_request_destroy(mrc_request *r)
{
    mrc_free(r->params);
    mrc_head_choice_destroy(&r->head);
}

mercer_status mercer_fit_options_check(const mercer_fit_options *options, mercer_error *err)
{
    MRC_NEED(options);
    mrc_request r = {0};
    mercer_status rc = mrc_request_read(NULL, options, &r, err);
    mrc_request_destroy(&r);
    return rc;
}

/* Distances and dot products see only the widest columns when spreads differ a lot; most people who
 * leave the scaling out did not mean that. */
mercer_status mrc_request_advise(const mercer_ctx *ctx, const mercer_rows *rows,
                                 const mrc_request *r, mercer_error *err)
{
    static const double WORTH_SAYING = 100; /* largest spread over the median one */
    double *least = NULL, *spread = NULL, *sorted = NULL;
    int64_t d = rows->d, widest = 0, count = 0;
    mercer_status rc = MERCER_OK;
    if (r->scale != MRC_SCALE_NONE || r->kernel.kind == MRC_KERNEL_precomputed || d < 2 ||
        mercer_rows_is_sparse(rows)) /* whose columns cannot be shifted anyway */
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&least, d, sizeof *least, err));
    MRC_TRY(mrc_alloc(&spread, d, sizeof *spread, err));
    MRC_TRY(mrc_alloc(&sorted, d, sizeof *sorted, err));
    mercer_rows_copy(rows, 0, 1, least);
    mercer_rows_copy(rows, 0, 1, spread);   /* the largest values, at first */
    for (int64_t i = 1; i < rows->n; i++) { /* in the order of memory */
        const double *x = mrc_rows_line(rows, i, sorted);
        for (int64_t k = 0; k < d; k++) {
            least[k] = x[k] < least[k] ? x[k] : least[k];
            spread[k] = x[k] > spread[k] ? x[k] : spread[k];
        }
    }
    for (int64_t k = 0; k < d; k++) {
        spread[k] -= least[k];
        if (spread[k] > 0)
            sorted[count++] = spread[k];
        if (spread[k] > spread[widest])
            widest = k;
    }
    double factor = count > 1 ? spread[widest] / mrc_median(sorted, count) : 0;
    if (factor > WORTH_SAYING && rows->names)
        mrc_notice(ctx,
                   "column '%s' spreads %.4g times as wide as the median column and will dominate; "
                   "if that is not meant, scale the columns (--scale standard)",
                   rows->names[widest], factor);
    else if (factor > WORTH_SAYING)
        mrc_notice(ctx,
                   "column %lld spreads %.4g times as wide as the median column and will dominate; "
                   "if that is not meant, scale the columns (--scale standard)",
                   (long long)(widest + 1), factor);
out:
    mrc_free(least);
    mrc_free(spread);
    mrc_free(sorted);
    return rc;
}

static mercer_status check_rows(const mercer_rows *rows, const mrc_request *r, mercer_error *err)
{
    if (rows->n < 2 && r->problem.center != MRC_CENTER_NONE)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "%lld row is not enough: centred features need at least two",
                        (long long)rows->n);
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
    MRC_TRY(mrc_head_check_targets(learner, targets, r->scale_target, rows->n, err));
    if (targets->kind == MERCER_TARGET_VALUES) {
        int64_t bad = mrc_first_not_finite(targets->values, rows->n * targets->columns);
        if (bad >= 0)
            MRC_FAIL(err, MERCER_ERR_DATA, "row %lld: target %lld is not a finite number",
                     (long long)(bad / targets->columns) + 1,
                     (long long)(bad % targets->columns) + 1);
    }
out:
    mrc_head_choice_destroy(&own);
    return rc;
}

mercer_status mrc_request_scale(const mercer_rows *rows, mercer_model *model, mrc_scale_kind kind,
                                mercer_rows **scaled, mercer_error *err)
{
    mercer_status rc = mrc_scale_fit(&model->scale, kind, rows, err);
    if (rc == MERCER_OK && kind != MRC_SCALE_NONE)
        rc = mrc_scale_rows(&model->scale, rows, scaled, err);
    return rc;
}

/* Of the numbers themselves, so that a model tells which data made it: packed rows have that of the
 * same numbers as doubles. */
mercer_status mrc_rows_checksum(const mercer_rows *rows, unsigned long *crc, mercer_error *err)
{
    double *line = NULL;
    mercer_status rc = MERCER_OK;
    if (rows->packed)
        MRC_TRY(mrc_alloc(&line, rows->d, sizeof *line, err));
    for (int64_t i = 0; i < rows->n && !mercer_rows_is_sparse(rows); i++)
        *crc = crc32_z(*crc, (const Bytef *)mrc_rows_line(rows, i, line),
                       (size_t)rows->d * sizeof *line);
    if (mercer_rows_is_sparse(rows) && mercer_rows_entries(rows) > 0) {
        size_t entries = (size_t)mercer_rows_entries(rows);
        *crc = crc32_z(*crc, (const Bytef *)rows->csr.start,
                       (size_t)(rows->n + 1) * sizeof *rows->csr.start);
        *crc = crc32_z(*crc, (const Bytef *)rows->csr.column, entries * sizeof *rows->csr.column);
        *crc = crc32_z(*crc, (const Bytef *)rows->csr.value, entries * sizeof *rows->csr.value);
    }
out:
    mrc_free(line);
    return rc;
}

mercer_status mrc_format_checksum(unsigned long crc, int64_t n, int64_t d, char **out,
                                  mercer_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "crc32:%08lx %lldx%lld", crc, (long long)n, (long long)d);
    return mrc_strdup(out, text, err);
}

mercer_status mrc_request_describe(const mercer_ctx *ctx, const mercer_rows *rows,
                                   const mrc_request *r, mercer_model *model, mercer_error *err)
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
    MRC_TRY(mrc_rows_checksum(rows, &crc, err));
    MRC_TRY(mrc_format_checksum(crc, rows->n, rows->d, &model->data_hash, err));
    if (rows->prepare)
        MRC_TRY(mrc_prepare_copy(rows->prepare, &model->prepare, err));
    MRC_TRY(mrc_copy_names(&model->column_names, rows->names, rows->d, err));
    model->kernel = r->kernel;
    MRC_TRY(mrc_kernel_format(&r->kernel, model->kernel_text, sizeof model->kernel_text, err));
    model->center = r->problem.center;
    model->whole = !mrc_method_is_nested(r->method, r->params, r->options.landmarks != NULL);
    model->rows = rows->n;
    model->columns = rows->d;
    model->seed = ctx->seed;
out:
    return rc;
}

mercer_status mrc_rows_arrange(const mercer_rows *rows, bool sparse, const mercer_model *model,
                               mercer_rows **out, mercer_error *err)
{
    int64_t n = rows->n, d = model->columns, *map = NULL;
    double *line = NULL, *x = NULL;
    mrc_csr_owned csr = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&map, d, sizeof *map, err));
    MRC_TRY(mrc_model_map_columns(model, rows, map, err));
    MRC_TRY(mrc_alloc(&line, rows->d, sizeof *line, err));
    if (sparse)
        MRC_TRY(mrc_alloc(&csr.start, n + 1, sizeof *csr.start, err));
    else
        MRC_TRY(mrc_alloc2(&x, n, d, sizeof *x, err));
    for (int64_t i = 0, end = 0; i < n; i++) {
        mercer_rows_copy(rows, i, 1, line);
        if (sparse) {
            MRC_TRY(mrc_grow(&csr.column, end + d, sizeof *csr.column, err));
            MRC_TRY(mrc_grow(&csr.value, end + d, sizeof *csr.value, err));
        }
        for (int64_t k = 0; k < d; k++) {
            double value = line[map[k]];
            if (!sparse) {
                x[i * d + k] = value;
            } else if (value != 0) {
                csr.column[end] = (int32_t)k;
                csr.value[end++] = value;
            }
        }
        if (sparse)
            csr.start[i + 1] = end;
    }
    rc = sparse ? mrc_rows_adopt_csr(&csr, n, d, out, err)
                : mrc_rows_adopt(MRC_F64, x, n, d, out, err);
    x = rc == MERCER_OK ? NULL : x;
out:
    mrc_free(map);
    mrc_free(line);
    mrc_free(x);
    mrc_csr_owned_destroy(&csr);
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

/* Other rows of the caller's as rows are: *arranged in the caller's units, *out scaled. */
static mercer_status take_rows(const mrc_request *r, const char *what, const mercer_rows *given,
                               const mercer_rows *rows, const mercer_model *model,
                               mercer_rows **arranged, mercer_rows **scaled,
                               const mercer_rows **out, mercer_error *err)
{
    mercer_status rc = mrc_rows_arrange(given, mercer_rows_is_sparse(rows), model, arranged, err);
    if (rc != MERCER_OK) {
        char why[sizeof err->text];
        snprintf(why, sizeof why, "%s", err ? err->text : "");
        MRC_FAIL(err, rc, "%s: %s", what, why);
    }
    *out = *arranged;
    if (r->scale != MRC_SCALE_NONE) {
        MRC_TRY(mrc_scale_rows(&model->scale, *arranged, scaled, err));
        *out = *scaled;
    }
out:
    return rc;
}

static mercer_status take_landmarks(mrc_request *r, const mercer_rows *rows,
                                    const mercer_model *model, mercer_rows **arranged,
                                    mercer_rows **scaled, mercer_error *err)
{
    const mercer_rows *landmarks = r->options.landmarks;
    mercer_status rc = MERCER_OK;
    if (!landmarks)
        return MERCER_OK;
    if (r->kernel.kind == MRC_KERNEL_precomputed) {
        if (landmarks->d != 1)
            MRC_FAIL(err, MERCER_ERR_DATA,
                     "landmarks: %lld columns where one was expected: row numbers, from 0",
                     (long long)landmarks->d);
        r->problem.landmarks = landmarks;
        goto out;
    }
    MRC_TRY(take_rows(r, "landmarks", landmarks, rows, model, arranged, scaled,
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
            MRC_FAIL(err, MERCER_ERR_DATA,
                     "validation: row %lld is of class '%s', unknown in the data", (long long)i + 1,
                     name);
        (*out)[i] = c;
    }
out:
    return rc;
}

static mercer_status take_validation(mrc_request *r, const mercer_rows *rows,
                                     const mercer_targets *targets, const mercer_model *model,
                                     struct more_rows *more, mercer_error *err)
{
    const mercer_rows *given = r->options.validation;
    mercer_status rc = MERCER_OK;
    if (!given)
        return MERCER_OK;
    MRC_TRY(take_rows(r, "validation", given, rows, model, &more->validation,
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
    MRC_TRY(mrc_request_scale(rows, model, r->scale, &scaled, err));
    r->problem.rows = scaled ? scaled : rows;
    if (r->scale_target != MRC_SCALE_NONE)
        MRC_TRY(mrc_targets_scale(targets, r->scale_target, &scaled_targets, err));
    r->problem.targets = scaled_targets ? scaled_targets : targets;
    r->problem.report = report;
    MRC_TRY(mrc_kernel_resolve(&r->kernel, ctx, r->problem.rows, err));
    r->problem.kernel = &r->kernel;
    MRC_TRY(mrc_request_describe(ctx, rows, r, model, err));
    MRC_TRY(take_landmarks(r, rows, model, &more->landmarks, &more->scaled_landmarks, err));
    MRC_TRY(take_validation(r, rows, targets, model, more, err));
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

mercer_status mercer_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                         const mercer_rows *rows, const mercer_targets *targets, mercer_model **out,
                         mercer_fit_report *report, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(options);
    MRC_NEED(rows);
    mrc_request r = {0};
    mercer_fit_report filled = {.struct_size = sizeof filled};
    struct more_rows more = {0};
    mercer_model *model = NULL;
    double start = mrc_seconds();
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_request_read(ctx, options, &r, err));
    MRC_TRY(check_rows(rows, &r, err));
    MRC_TRY(check_targets(rows, targets, &r, err));
    if (mrc_blas_is_foreign())
        mrc_notice(ctx,
                   "BLAS is the %s build of OpenBLAS, not the OpenMP build that the library was "
                   "made for: the process had loaded it first, and numbers may differ in their "
                   "last digits",
                   mercer_blas());
    if (r.method->streaming)
        MRC_TRY(mrc_stream_fit(ctx, &r.options, rows, &filled, &model, err));
    else
        MRC_TRY(fit_at_once(ctx, &r, rows, targets, &filled, &more, &model, err));
    if (r.head.def) {
        model->head.scale = r.scale_target;
        MRC_TRY(mrc_head_learn(ctx, &r.head, rows, targets, true, model, err));
    }
    if (r.options.novelty > 0)
        MRC_TRY(mrc_novelty_learn(ctx, &r.options, rows, model, err));
    filled.reconstruction_error = model->reconstruction_error;
    filled.total_variance = model->total_variance;
    filled.seconds = mrc_seconds() - start;
    if (report)
        mrc_give_struct(&filled, sizeof filled, report);
    *out = model;
    model = NULL;
out:
    mercer_model_free(model);
    more_rows_destroy(&more);
    mrc_request_destroy(&r);
    return rc;
}
