/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of heads, and fitting one to the features of the training rows.
 *
 * The features come from the model itself, as those of new rows will. Classes that no row has are
 * left out: nothing could be said about them. Where scores grow feature by feature, every prefix of
 * the features gets its training error in one pass; else only all of them together do. Cost: the
 * features of n rows, the fit, n l^2 or n predictions. */
#include "heads/heads.h"

#include "base/bytes.h"
#include "base/running.h"

#include <mercer/fit.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const mrc_head_def *const heads[] = {
#define MRC_HEAD(name) &mrc_head_##name,
#include "heads/heads.def"
#undef MRC_HEAD
};

enum { HEADS = sizeof heads / sizeof *heads };

const mercer_entry *mercer_head_at(int index)
{
    return index >= 0 && index < HEADS ? &heads[index]->entry : NULL;
}

const mrc_head_def *mrc_head_of(const mercer_entry *entry)
{
    for (int i = 0; i < HEADS; i++)
        if (&heads[i]->entry == entry)
            return heads[i];
    return NULL;
}

const mercer_entry *mercer_head_find(const char *spec)
{
    return mrc_entry_find(mercer_head_at, spec);
}

void mrc_head_choice_destroy(mrc_head_choice *choice)
{
    mrc_free(choice->params);
    *choice = (mrc_head_choice){0};
}

/* Its parameters, as the spec has them. */
static mercer_status take_params(const mrc_head_def *def, const char *spec, mrc_head_choice *out,
                                 mercer_error *err)
{
    char what[64];
    mercer_status rc = MERCER_OK;
    out->def = def;
    MRC_TRY(mrc_alloc2(&out->params, (int64_t)def->params_size, 1, 1, err));
    mrc_params_defaults(def->entry.params, out->params);
    snprintf(what, sizeof what, "head %s", def->entry.name);
    MRC_TRY(mrc_params_parse(def->entry.params, what, spec, out->params, err));
out:
    return rc;
}

mercer_status mrc_head_find(const char *spec, mrc_head_choice *out, mercer_error *err)
{
    char known[256] = "";
    size_t length = spec ? mrc_spec_name_length(spec) : 0;
    *out = (mrc_head_choice){0};
    if (!spec || strcmp(spec, "none") == 0)
        return MERCER_OK;
    for (int i = 0; i < HEADS; i++) {
        const char *name = heads[i]->entry.name;
        size_t used = strlen(known);
        if (mrc_is_called(name, spec, length))
            return take_params(heads[i], spec, out, err);
        snprintf(known + used, sizeof known - used, "%s, ", name);
    }
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "unknown head '%.*s' (known: %snone)", (int)length,
                    spec, known);
}

/* MERCER_ERR_DATA: all rows, of all ranks, are of one class. */
static mercer_status check_classes(const mercer_targets *targets, mercer_ctx *ranks,
                                   mercer_error *err)
{
    double *sizes = NULL;
    int64_t occurring = 0, last = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&sizes, targets->classes, sizeof *sizes, err));
    for (int64_t i = 0; i < targets->n; i++)
        sizes[targets->codes[i]]++;
    if (ranks)
        MRC_TRY(mrc_comm_sum(ranks, sizes, targets->classes, err));
    for (int64_t c = 0; c < targets->classes; c++)
        if (sizes[c] > 0) {
            occurring++;
            last = c;
        }
    if (occurring < 2)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "all rows are of class '%s': there is no other class to tell it from",
                 targets->class_names[last]);
out:
    mrc_free(sizes);
    return rc;
}

mercer_status mrc_head_check_targets(const mrc_head_choice *choice, const mercer_targets *targets,
                                     mrc_scale_kind scale, int64_t n, mercer_ctx *ranks,
                                     mercer_error *err)
{
    const mrc_head_def *def = choice->def;
    if (mercer_targets_kind(targets) == MERCER_TARGET_NONE)
        return mrc_fail_at(err, MERCER_ERR_DATA,
                           MRC_AT(.key = def->values ? "label target" : "label"),
                           "there is nothing to predict: name the column of the classes%s",
                           def->values ? " or the columns of the values" : "");
    if (targets->n != n)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%lld targets for %lld rows",
                        (long long)targets->n, (long long)n);
    if (targets->kind == MERCER_TARGET_VALUES && !def->values)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "head %s is for classes; target values are for heads ls, lad, knn and svm",
                        def->entry.name);
    if (def->check && def->check(choice->params, targets->kind, err) != MERCER_OK)
        return MERCER_ERR_ARGUMENT;
    if (scale != MRC_SCALE_NONE && targets->kind == MERCER_TARGET_CLASSES)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "scale_target: classes have no values to scale");
    if (scale != MRC_SCALE_NONE && def->signs)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "scale_target: head %s is for targets of -1 and +1, which have no scale",
                        def->entry.name);
    if (def->signs) {
        char what[64];
        snprintf(what, sizeof what, "loss %s", def->entry.name);
        mercer_status rc = mrc_targets_check_signs(targets, what, err);
        if (rc != MERCER_OK)
            return rc;
    }
    return targets->kind == MERCER_TARGET_CLASSES ? check_classes(targets, ranks, err) : MERCER_OK;
}

/* Names of the outputs; of classes, those that occur, and *codes for them. */
static mercer_status describe(mercer_ctx *ctx, const mrc_span *span, const mercer_targets *targets,
                              mrc_head *head, int64_t **codes, mercer_error *err)
{
    double *sizes = NULL;
    int64_t *place = NULL, count = 0; /* of each class among those that occur, from 1 */
    const char **names = NULL;
    mercer_status rc = MERCER_OK;
    head->kind = targets->kind;
    if (targets->kind == MERCER_TARGET_VALUES) {
        head->outputs = targets->columns;
        return mrc_copy_names(&head->names, targets->names, targets->columns, err);
    }
    MRC_TRY(mrc_alloc(&place, targets->classes, sizeof *place, err));
    MRC_TRY(mrc_alloc(&names, targets->classes, sizeof *names, err));
    MRC_TRY(mrc_alloc(codes, targets->n, sizeof **codes, err));
    MRC_TRY(mrc_alloc(&sizes, targets->classes, sizeof *sizes, err));
    for (int64_t i = 0; i < targets->n; i++)
        sizes[targets->codes[i]]++;
    if (span->spread)
        MRC_TRY(mrc_comm_sum(ctx, sizes, targets->classes, err));
    for (int64_t k = 0; k < targets->classes; k++)
        if (sizes[k] > 0) {
            names[count] = targets->class_names[k];
            place[k] = ++count;
        }
    for (int64_t i = 0; i < targets->n; i++)
        (*codes)[i] = place[targets->codes[i]] - 1;
    head->outputs = count;
    MRC_TRY(mrc_copy_names(&head->names, (char *const *)names, count, err));
out:
    mrc_free(sizes);
    mrc_free(place);
    mrc_free(names);
    return rc;
}

void mrc_head_start(const mrc_head *head, double *scores)
{
    for (int64_t k = 0; k < head->outputs; k++)
        scores[k] = head->intercept ? head->intercept[k] : 0;
}

int64_t mrc_head_winner(const double *scores, int64_t outputs)
{
    int64_t best = 0;
    for (int64_t k = 1; k < outputs; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}

/* Errors of the training rows, a block of them per task. */
struct trial {
    const mrc_head_def *def;
    const mrc_head *head;
    const mrc_head_data *data;
    double unit;    /* of values */
    double *scores; /* per worker */
    double *sums;   /* per task: l */
};

enum { TRIAL_ROWS = 1024 };

static double largest_value(const mrc_head_data *data)
{
    double largest = 0;
    for (int64_t i = 0; !data->codes && i < data->n * data->outputs; i++)
        largest = fmax(largest, fabs(data->values[i]));
    return largest;
}

/* The power of two next to the largest value: squares of huge or tiny ones leave the range. */
static double unit_of(double largest)
{
    enum { MOST = 1000 }; /* its inverse is a number, too */
    int exponent;
    frexp(largest > 0 ? largest : 1, &exponent);
    return ldexp(1, exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent);
}

/* The sum of the squares of what values miss, in units. */
static double squared_error(const mrc_head_data *data, double unit, int64_t row,
                            const double *scores)
{
    int64_t o = data->outputs;
    double sum = 0;
    for (int64_t k = 0; k < o; k++) {
        double difference = (scores[k] - data->values[row * o + k]) / unit;
        sum += difference * difference;
    }
    return sum;
}

/* Add what rows from `first` up to `end` miss to sums (l). */
static void add_trials(const struct trial *t, int64_t first, int64_t end, double *scores,
                       double *sums)
{
    const int64_t l = t->data->l;
    for (int64_t i = first; i < end; i++) {
        mrc_head_start(t->head, scores);
        for (int64_t j = 0; j < l; j++) {
            t->def->add_feature(t->head, t->data->features + i * l, l, j, scores);
            sums[j] += t->data->codes
                           ? mrc_head_winner(scores, t->head->outputs) != t->data->codes[i]
                           : squared_error(t->data, t->unit, i, scores);
        }
    }
}

/* The first row of a task, counted in those that are here; of the task behind the last one: how
 * many there are. Tasks are of TRIAL_ROWS rows of all, of which a rank may have the end of the
 * first and the beginning of the last. */
static int64_t task_start(const mrc_head_data *data, int64_t task)
{
    int64_t at = (data->span.first / TRIAL_ROWS + task) * TRIAL_ROWS - data->span.first;
    return at < 0 ? 0 : at < data->n ? at : data->n;
}

static void try_rows(void *arg, int64_t task, int worker)
{
    const struct trial *t = arg;
    add_trials(t, task_start(t->data, task), task_start(t->data, task + 1),
               t->scores + worker * t->head->outputs, t->sums + task * t->data->l);
}

/* state: the sums of all tasks before, and those of the one that the rank before has begun. */
static mercer_status join_trials(void *arg, int64_t begin, int64_t end, double *state,
                                 mercer_error *err)
{
    const struct trial *t = arg;
    const mrc_head_data *data = t->data;
    const int64_t l = data->l, last = data->span.first + data->n;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t task = 0; task_start(data, task) < data->n; task++) {
        const int64_t next = task_start(data, task + 1);
        double *open = state + l;
        if (task == 0 && data->span.first % TRIAL_ROWS > 0)
            add_trials(t, 0, next, t->scores, open);
        else
            memcpy(open, t->sums + task * l, (size_t)l * sizeof *open);
        if (next == data->n && last % TRIAL_ROWS > 0 && last < data->span.total)
            break; /* the next rank goes on with it */
        for (int64_t j = 0; j < l; j++) {
            state[j] += open[j];
            open[j] = 0;
        }
    }
    return MERCER_OK;
}

/* What the sum of misses over all rows means: the share of wrong rows, or the root mean square. */
static double error_of(const mrc_head_data *data, int64_t rows, double unit, double sum)
{
    double n = (double)rows;
    return data->codes ? sum / n : unit * sqrt(sum / (n * (double)data->outputs));
}

/* For every number of features. */
static mercer_status find_errors(mercer_ctx *ctx, const mrc_head_def *def,
                                 const mrc_head_data *data, mrc_head *head, mercer_error *err)
{
    const int64_t l = data->l, end = data->span.first + data->n;
    int64_t tasks = (end + TRIAL_ROWS - 1) / TRIAL_ROWS - data->span.first / TRIAL_ROWS;
    struct trial t = {.def = def, .head = head, .data = data};
    double *state = NULL, largest = largest_value(data);
    mercer_status rc = MERCER_OK;
    if (data->span.spread)
        MRC_TRY(mrc_comm_largest(ctx, &largest, err));
    t.unit = unit_of(largest);
    tasks = data->n > 0 ? tasks : 0;
    MRC_TRY(mrc_alloc2(&t.scores, ctx->threads, data->outputs, sizeof *t.scores, err));
    MRC_TRY(mrc_alloc2(&t.sums, tasks, l, sizeof *t.sums, err));
    MRC_TRY(mrc_alloc2(&state, 2, l, sizeof *state, err));
    MRC_TRY(mrc_parfor_checked(ctx, tasks, try_rows, &t, err));
    MRC_TRY(mrc_run_span(ctx, &data->span, state, 2 * l, 2 * l, join_trials, &t, err));
    for (int64_t j = 0; j < l; j++)
        head->errors[j] = error_of(data, data->span.total, t.unit, state[j]);
out:
    mrc_free(t.scores);
    mrc_free(t.sums);
    mrc_free(state);
    return rc;
}

/* What the misses of predictions are added up from. */
struct misses {
    const mrc_head_data *data;
    double unit;
    const double *scores;
    const int64_t *codes;
};

static mercer_status add_misses(void *arg, int64_t begin, int64_t end, double *sum,
                                mercer_error *err)
{
    const struct misses *w = arg;
    const mrc_head_data *data = w->data;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < data->n; i++)
        *sum += data->codes ? w->codes[i] != data->codes[i]
                            : squared_error(data, w->unit, i, w->scores + i * data->outputs);
    return MERCER_OK;
}

/* For all features together; and where the head can, with each row left out. */
static mercer_status find_error(mercer_ctx *ctx, const mrc_head_choice *choice,
                                const mrc_head_data *data, mrc_head *head, mercer_error *err)
{
    const mrc_span *span = &data->span;
    int64_t n = data->n, l = data->l;
    double *scores = NULL, largest = largest_value(data), unit;
    int64_t *codes = NULL;
    mercer_status rc = MERCER_OK;
    if (choice->def->most_tried && span->total > choice->def->most_tried)
        return MERCER_OK;
    if (span->spread)
        MRC_TRY(mrc_comm_largest(ctx, &largest, err));
    unit = unit_of(largest);
    MRC_TRY(mrc_alloc2_raw(&scores, n, data->outputs, sizeof *scores, err));
    MRC_TRY(mrc_alloc2_raw(&codes, n, 1, sizeof *codes, err));
    const int ways = choice->def->leaves_out && n > 1 ? 2 : 1;
    for (int own = 0; own < ways; own++) {
        mrc_head_query query = {
            .features = data->features, .n = n, .l = l, .k = l, .own = own != 0};
        struct misses w = {.data = data, .unit = unit, .scores = scores, .codes = codes};
        double sum = 0;
        MRC_TRY(mrc_head_predict(ctx, choice, head, &query, scores, codes, err));
        MRC_TRY(mrc_run_span(ctx, span, &sum, 1, 1, add_misses, &w, err));
        *(own ? &head->left_out : &head->errors[l - 1]) = error_of(data, span->total, unit, sum);
    }
out:
    mrc_free(scores);
    mrc_free(codes);
    return rc;
}

static mercer_status check_budget(const mercer_ctx *ctx, const mrc_head_def *def, int64_t n,
                                  int64_t l, mercer_error *err)
{
    double bytes = (double)n * (double)l * (double)sizeof(double) * (1 + def->copies);
    if (bytes <= (double)mercer_ctx_memory(ctx))
        return MERCER_OK;
    const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, (double)mercer_ctx_memory(ctx));
    return mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                       "head %s needs the features of all rows, %lld x %lld numbers or %s; the "
                       "memory budget is %s: raise it, or ask for fewer components",
                       def->entry.name, (long long)n, (long long)l, sizes.first.text,
                       sizes.second.text);
}

void mrc_head_weigh_classes(const mrc_head_data *data, int choice, double *weights)
{
    enum { NONE, BALANCED };
    double n = (double)data->n;
    for (int64_t k = 0; k < data->outputs; k++) {
        double count = 0;
        for (int64_t i = 0; i < data->n; i++)
            count += data->codes[i] == k;
        weights[k] = choice == NONE       ? 1
                     : choice == BALANCED ? n / ((double)data->outputs * count)
                                          : (n - count) / n;
    }
}

struct class_means {
    const mrc_head_data *data;
    const double *sizes;
};

/* Sums of the features of the classes begin / l up to end / l. */
static mercer_status add_features(void *arg, int64_t begin, int64_t end, double *means,
                                  mercer_error *err)
{
    const struct class_means *w = arg;
    const mrc_head_data *data = w->data;
    const int64_t l = data->l;
    (void)err;
    for (int64_t i = 0; i < data->n; i++) {
        const int64_t code = data->codes[i];
        if (code * l >= begin && code * l < end)
            for (int64_t j = 0; j < l; j++)
                means[code * l + j] += data->features[i * l + j] / w->sizes[code];
    }
    return MERCER_OK;
}

mercer_status mrc_head_class_means(mercer_ctx *ctx, const mrc_head_data *data, double *means,
                                   mercer_error *err)
{
    enum { TOGETHER = 8 }; /* classes that a rank hands on at a time */
    double *sizes = NULL;
    struct class_means w = {.data = data};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&sizes, data->outputs, sizeof *sizes, err));
    for (int64_t i = 0; i < data->n; i++)
        sizes[data->codes[i]]++;
    if (data->span.spread)
        MRC_TRY(mrc_comm_sum(ctx, sizes, data->outputs, err));
    w.sizes = sizes;
    MRC_TRY(mrc_run_span(ctx, &data->span, means, data->outputs * data->l, TOGETHER * data->l,
                         add_features, &w, err));
out:
    mrc_free(sizes);
    return rc;
}

/* Learn from values that are scaled, and scale back what predicts them. */
static mercer_status fit_scaled(mercer_ctx *ctx, const mrc_head_choice *choice,
                                const mrc_head_data *data, mrc_head *head, mercer_error *err)
{
    int64_t n = data->n, outputs = data->outputs;
    mrc_head_data own = *data;
    mercer_rows *rows = NULL;
    mrc_scale scale = {0};
    double *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_rows_view(MRC_F64, data->values, n, outputs, outputs, &rows, err));
    MRC_TRY(mrc_scale_fit(&scale, head->scale, rows, err));
    MRC_TRY(mrc_alloc2_raw(&values, n, outputs, sizeof *values, err));
    memcpy(values, data->values, (size_t)(n * outputs) * sizeof *values);
    mrc_scale_apply(&scale, values, n, outputs);
    own.values = values;
    MRC_TRY(choice->def->fit(ctx, choice->params, &own, head, err));
    for (int64_t o = 0; o < outputs; o++) {
        double unit = 1 / scale.factor[o];
        head->function_offsets[o] = head->function_offsets[o] * unit + scale.shift[o];
        for (int64_t i = 0; head->dual && i < head->rows; i++)
            head->dual[i * outputs + o] *= unit;
        for (int64_t j = 0; head->function_weights && j < data->l; j++)
            head->function_weights[j * outputs + o] *= unit;
    }
out:
    mercer_rows_free(rows);
    mrc_scale_destroy(&scale);
    mrc_free(values);
    return rc;
}

mercer_status mrc_head_learn(mercer_ctx *ctx, const mrc_head_choice *choice,
                             const mercer_rows *rows, const mercer_targets *targets,
                             const double *given, bool with_errors, mercer_model *model,
                             mercer_error *err)
{
    const mrc_head_def *def = choice->def;
    mrc_head *head = &model->head;
    mrc_head_data data = {.n = rows->n,
                          .l = model->components,
                          .values = targets->values,
                          .span = mrc_rows_span(ctx, rows)};
    char spec[256];
    double *features = NULL;
    int64_t *codes = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_budget(ctx, def, data.n, data.l, err));
    MRC_TRY(describe(ctx, &data.span, targets, head, &codes, err));
    if (!given && rows->n > 0) {
        MRC_TRY(mrc_alloc2_raw(&features, data.n, data.l, sizeof *features, err));
        MRC_TRY(mercer_model_transform(ctx, model, rows, NULL, features, NULL, err));
    }
    data.features = given ? given : features;
    data.outputs = head->outputs;
    data.codes = codes;
    head->whole = def->needs_all_features;
    bool scaled = head->scale != MRC_SCALE_NONE && !codes && !def->scale_free;
    MRC_TRY(scaled ? fit_scaled(ctx, choice, &data, head, err)
                   : def->fit(ctx, choice->params, &data, head, err));
    MRC_TRY(mrc_params_format(def->entry.params, def->entry.name, choice->params, 0, spec,
                              sizeof spec, err));
    MRC_TRY(mrc_strdup(&head->spec, spec, err));
    MRC_TRY(mrc_alloc(&head->errors, data.l, sizeof *head->errors, err));
    for (int64_t j = 0; j < data.l; j++)
        head->errors[j] = NAN;
    head->left_out = NAN;
    if (with_errors)
        MRC_TRY(def->add_feature && !def->needs_all_features
                    ? find_errors(ctx, def, &data, head, err)
                    : find_error(ctx, choice, &data, head, err));
    MRC_TRY(mrc_model_check_head(model, err));
out:
    mrc_free(features);
    mrc_free(codes);
    return rc;
}
