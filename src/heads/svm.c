/* SPDX-License-Identifier: BSD-3-Clause */
/* Support vector machines on the features, by LIBSVM: C- or nu-classification, one machine for each
 * pair of classes, or epsilon-regression, one for each target column.
 *
 * What is kept is plain: f_p(x) = sum_i dual_ip k(z_i, x) + offset_p over the support vectors z_i,
 * or w_p'x + offset_p for a linear kernel. That is the one model form, so that predictions go the
 * way of all features and need no LIBSVM, which runs in a process of its own (training.h). Each
 * pair votes for a class, and the first one with the most votes is predicted, as LIBSVM does.
 * Scores: of two classes f and -f; of more, the votes plus s / (3 |s| + 3), s being the sum of the
 * class's decision values, which stays below half a vote. Cost: LIBSVM's, between n^2 l and n^3; a
 * row costs (l + functions) operations a support vector.
 */
#include "base/share.h"
#include "heads/heads.h"
#include "heads/training.h"
#include "linalg/linalg.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

struct svm_params {
    int type;
    double c, nu, epsilon;
    int kernel;
    double gamma;
    int weight;
    double tolerance;
};
enum { TYPE_AUTO, TYPE_C, TYPE_NU, TYPE_SVR };
enum { KERNEL_LINEAR, KERNEL_RBF };
enum { GAMMA_SCALE, GAMMA_AUTO };

static const mrc_param svm_schema[] = {
    MRC_CHOICE(struct svm_params, type, TYPE_AUTO, "auto|c|nu|svr",
               "C- or nu-classification, or regression; auto: c for classes, svr for values"),
    MRC_REAL_ALSO(struct svm_params, c, "C", 1, DBL_MIN, DBL_MAX,
                  "cost of errors (c, svr); C is understood, too"),
    MRC_REAL(struct svm_params, nu, 0.5, DBL_MIN, 1,
             "nu: share of support vectors at least, of margin errors at most"),
    MRC_REAL(struct svm_params, epsilon, 0.1, 0, DBL_MAX,
             "svr: errors up to this one cost nothing, in units of the targets as they are scaled"),
    MRC_CHOICE(struct svm_params, kernel, KERNEL_LINEAR, "linear|rbf", "of the features"),
    MRC_REAL_OR(struct svm_params, gamma, MRC_KEYWORD(GAMMA_SCALE), DBL_MIN, DBL_MAX, "scale|auto",
                "rbf: exp(-gamma |x - y|^2); scale: 1 / (l variance of the features), auto: 1 / l"),
    MRC_CHOICE(struct svm_params, weight, 0, MRC_CLASS_WEIGHTS,
               "of the cost of a class (c): balanced: n / (classes n_c), opposite: share of the "
               "other rows"),
    MRC_REAL(struct svm_params, tolerance, 1e-3, DBL_MIN, 1, "when to stop"),
    MRC_PARAM_END};

static mercer_status svm_check(const void *params, mercer_target_kind kind, mercer_error *err)
{
    const struct svm_params *p = params;
    bool values = kind == MERCER_TARGET_VALUES;
    if (p->type != TYPE_AUTO && (p->type == TYPE_SVR) != values)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "head svm: type=%s is for %s, not for %s",
                        p->type == TYPE_SVR ? "svr"
                        : p->type == TYPE_C ? "c"
                                            : "nu",
                        values ? "classes" : "target values", values ? "target values" : "classes");
    if (p->weight != 0 && (values || p->type == TYPE_NU))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "head svm: weight is for type=c, whose cost it changes");
    return MERCER_OK;
}

/* The largest nu of two classes is twice the share of the smaller one, and leaves it no row off the
 * bound. */
static mercer_status check_nu(const struct svm_params *p, const mrc_head_data *data,
                              const mrc_head *head, mercer_error *err)
{
    int64_t classes = data->outputs, *count = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&count, classes, sizeof *count, err));
    for (int64_t i = 0; i < data->n; i++)
        count[data->codes[i]]++;
    for (int64_t a = 0; a < classes; a++)
        for (int64_t b = a + 1; b < classes; b++) {
            int64_t fewer = count[a] < count[b] ? count[a] : count[b], both = count[a] + count[b];
            if (mrc_share_floor(p->nu, both) >= 2 * fewer)
                MRC_FAIL(err, MERCER_ERR_DATA,
                         "head svm: nu=%g is too large for classes '%s' and '%s' of %lld and %lld "
                         "rows: it must be below %.6g",
                         p->nu, head->names[a], head->names[b], (long long)count[a],
                         (long long)count[b], 2 * (double)fewer / (double)both);
        }
out:
    mrc_free(count);
    return rc;
}

/* Where no plane has a margin with so few errors as a small nu allows, the weights vanish up to the
 * tolerance of the solver, and what they are divided by does. Of the n rows of two classes the
 * coefficients of one class come to nu n / 2 over the margin. */
static void notify_margins(const mercer_ctx *ctx, const struct svm_params *p,
                           const mrc_head_data *data, const mrc_head *head)
{
    int64_t functions = mrc_head_functions(head), f = 0;
    for (int64_t a = 0; a < head->outputs; a++)
        for (int64_t b = a + 1; b < head->outputs; b++, f++) {
            double both = 0, sum = 0;
            for (int64_t i = 0; i < data->n; i++)
                both += data->codes[i] == a || data->codes[i] == b;
            for (int64_t s = 0; s < head->rows; s++)
                sum += fmax(head->dual[s * functions + f], 0);
            if (!(p->nu * both / 2 > p->tolerance * sum))
                mrc_notice(ctx,
                           "head svm: nu=%g leaves no margin between classes '%s' and '%s', so "
                           "their scores mean little: a larger nu may",
                           p->nu, head->names[a], head->names[b]);
        }
}

/* The number behind gamma=scale or auto. */
static double find_gamma(const mrc_head_data *data, double given)
{
    double count = (double)data->n * (double)data->l, mean = 0, variance = 0;
    if (given > 0)
        return given;
    for (int64_t i = 0; i < data->n * data->l; i++)
        mean += data->features[i] / count;
    for (int64_t i = 0; i < data->n * data->l; i++)
        variance += (data->features[i] - mean) * (data->features[i] - mean) / count;
    double gamma = 1 / (double)data->l;
    if (given == MRC_KEYWORD(GAMMA_SCALE) && variance > 0)
        gamma /= variance;
    return fmin(fmax(gamma, DBL_MIN), 1e200); /* features may be as small as they like */
}

/* What LIBSVM is given and what it gives back. */
struct training {
    mrc_train_request request;
    double *weight;     /* of the classes */
    double *targets;    /* n, of one machine */
    mrc_machine *found; /* one, or one for each target column */
    int64_t count;
    int64_t *place; /* of each row among the support vectors, from 1; 0: it is none */
};

static void training_destroy(struct training *t)
{
    for (int64_t m = 0; t->found && m < t->count; m++)
        mrc_machine_destroy(&t->found[m]);
    mrc_free(t->found);
    mrc_free(t->weight);
    mrc_free(t->targets);
    mrc_free(t->place);
}

static mercer_status pose(const mercer_ctx *ctx, const struct svm_params *p,
                          const mrc_head_data *data, struct training *t, mercer_error *err)
{
    int64_t n = data->n, l = data->l, classes = data->codes ? data->outputs : 0;
    mercer_status rc = MERCER_OK;
    if (n > INT_MAX || l > INT_MAX - 2)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "head svm: %lld rows x %lld features are too many",
                 (long long)n, (long long)l);
    t->count = data->codes ? 1 : data->outputs;
    MRC_TRY(mrc_alloc(&t->found, t->count, sizeof *t->found, err));
    MRC_TRY(mrc_alloc(&t->targets, n, sizeof *t->targets, err));
    MRC_TRY(mrc_alloc(&t->place, n, sizeof *t->place, err));
    MRC_TRY(mrc_alloc(&t->weight, classes, sizeof *t->weight, err));
    if (classes)
        mrc_head_weigh_classes(data, p->weight, t->weight);
    t->request = (mrc_train_request){
        .kind = !data->codes         ? MRC_TRAIN_SVR
                : p->type == TYPE_NU ? MRC_TRAIN_NU
                                     : MRC_TRAIN_C,
        .rbf = p->kernel == KERNEL_RBF,
        .n = n,
        .l = l,
        .classes = classes,
        .machines = t->count,
        .c = p->c,
        .nu = p->nu,
        .epsilon = p->epsilon,
        .gamma = p->gamma,
        .tolerance = p->tolerance,
        /* MB for kernel values, a tenth of the budget; more than 100 save few of them. */
        .cache_mb = fmin(100, fmax(1, (double)mercer_ctx_memory(ctx) / 0x1p20 / 10))};
out:
    return rc;
}

/* The machine of all classes, or one for each target column. */
static mercer_status train_all(mercer_ctx *ctx, const mrc_head_data *data, struct training *t,
                               mercer_error *err)
{
    int64_t n = data->n;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_train_begin(ctx, "svm", &t->request, data->features, t->weight, err));
    for (int64_t m = 0; m < t->count; m++) {
        mrc_progress(ctx, "support vectors", (double)m / (double)t->count);
        for (int64_t i = 0; i < n; i++)
            t->targets[i] = data->codes ? (double)data->codes[i] : data->values[i * t->count + m];
        MRC_TRY(mrc_train_next(ctx, "svm", &t->request, t->targets, &t->found[m], err));
    }
    mrc_progress(ctx, "support vectors", 1);
out:
    return rc;
}

/* Index of the pair of classes a < b. */
static int64_t pair(int64_t a, int64_t b, int64_t classes)
{
    return a * classes - a * (a + 1) / 2 + b - a - 1;
}

/* LIBSVM numbers classes in the order in which they occur, and keeps of a support vector only its
 * coefficients for the pairs of its own class. */
static void take_pairs(const struct training *t, mrc_head *head)
{
    const mrc_machine *model = &t->found[0];
    int64_t functions = mrc_head_functions(head), begin = 0, at = 0;
    for (int64_t i = 0; i < model->classes; begin += model->count[i++]) {
        int64_t other = begin + model->count[i];
        for (int64_t j = i + 1; j < model->classes; other += model->count[j++]) {
            bool swap = model->label[i] > model->label[j];
            int64_t f = swap ? pair(model->label[j], model->label[i], head->outputs)
                             : pair(model->label[i], model->label[j], head->outputs);
            double sign = swap ? -1 : 1;
            head->function_offsets[f] = -sign * model->rho[at++];
            for (int64_t s = begin; s < begin + model->count[i]; s++)
                head->dual[(t->place[model->index[s] - 1] - 1) * functions + f] =
                    sign * model->coef[(j - 1) * model->vectors + s];
            for (int64_t s = other; s < other + model->count[j]; s++)
                head->dual[(t->place[model->index[s] - 1] - 1) * functions + f] =
                    sign * model->coef[i * model->vectors + s];
        }
    }
}

static void take_columns(const struct training *t, mrc_head *head)
{
    for (int64_t o = 0; o < t->count; o++) {
        const mrc_machine *model = &t->found[o];
        head->function_offsets[o] = -model->rho[0];
        for (int64_t s = 0; s < model->vectors; s++)
            head->dual[(t->place[model->index[s] - 1] - 1) * t->count + o] = model->coef[s];
    }
}

/* The support vectors of all machines, in the order of the rows. */
static mercer_status take_vectors(struct training *t, const mrc_head_data *data, mrc_head *head,
                                  mercer_error *err)
{
    int64_t l = data->l, functions = mrc_head_functions(head);
    mercer_status rc = MERCER_OK;
    for (int64_t m = 0; m < t->count; m++)
        for (int64_t s = 0; s < t->found[m].vectors; s++)
            t->place[t->found[m].index[s] - 1] = 1;
    for (int64_t i = 0; i < data->n; i++)
        if (t->place[i])
            t->place[i] = ++head->rows;
    MRC_TRY(mrc_alloc2_raw(&head->points, head->rows, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&head->dual, head->rows, functions, sizeof(double), err));
    MRC_TRY(mrc_alloc(&head->function_offsets, functions, sizeof(double), err));
    for (int64_t i = 0; i < data->n; i++)
        if (t->place[i])
            memcpy(head->points + (t->place[i] - 1) * l, data->features + i * l,
                   (size_t)l * sizeof(double));
    data->codes ? take_pairs(t, head) : take_columns(t, head);
out:
    return rc;
}

/* Weights of the features instead of the support vectors; all zero where there are none. */
static mercer_status collapse(mercer_ctx *ctx, int64_t l, mrc_head *head, mercer_error *err)
{
    int64_t functions = mrc_head_functions(head);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&head->function_weights, l, functions, sizeof(double), err));
    if (head->rows > 0)
        MRC_TRY(mrc_tall_product(ctx, head->points, l, l, head->dual, functions, functions,
                                 head->rows, head->function_weights, err));
    mrc_free(head->points);
    mrc_free(head->dual);
    head->points = head->dual = NULL;
    head->rows = 0;
out:
    return rc;
}

static mercer_status svm_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                             mrc_head *head, mercer_error *err)
{
    struct svm_params *p = params;
    struct training t = {0};
    mercer_status rc = MERCER_OK;
    p->gamma = p->kernel == KERNEL_RBF ? find_gamma(data, p->gamma) : p->gamma;
    bool nu = data->codes && p->type == TYPE_NU;
    if (nu)
        MRC_TRY(check_nu(p, data, head, err));
    MRC_TRY(pose(ctx, p, data, &t, err));
    MRC_TRY(train_all(ctx, data, &t, err));
    MRC_TRY(take_vectors(&t, data, head, err));
    if (nu)
        notify_margins(ctx, p, data, head);
    if (p->kernel == KERNEL_LINEAR || head->rows == 0)
        MRC_TRY(collapse(ctx, data->l, head, err));
out:
    training_destroy(&t);
    return rc;
}

static bool svm_is_complete(const mrc_head *head)
{
    return head->function_offsets &&
           (head->function_weights || (head->rows > 0 && head->points && head->dual));
}

/* The decision functions as a model of the one form, whose components they are. */
static mercer_status functions_as_model(mercer_ctx *ctx, const struct svm_params *p,
                                        const mrc_head *head, int64_t l, mercer_model **out,
                                        mercer_error *err)
{
    int64_t functions = mrc_head_functions(head), rows = head->function_weights ? l : head->rows;
    const double *from = head->function_weights ? head->function_weights : head->dual;
    double *to = NULL;
    mercer_model *model = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_model_new(&model, err));
    model->rows = 1;
    model->columns = l;
    model->components = functions;
    MRC_TRY(mrc_strdup(&model->method, "svm", err));
    MRC_TRY(mrc_strdup(&model->version, "", err));
    MRC_TRY(mrc_alloc2_raw(&model->offsets, functions, 1, sizeof(double), err));
    memcpy(model->offsets, head->function_offsets, (size_t)functions * sizeof(double));
    MRC_TRY(mrc_alloc2_raw(&to, rows, functions, sizeof(double), err));
    memcpy(to, from, (size_t)(rows * functions) * sizeof(double));
    if (head->function_weights) {
        model->weights = to;
        MRC_TRY(mrc_kernel_parse(&model->kernel, "linear", err));
    } else {
        model->coefficients = to;
        model->points = model->basis_points = head->rows;
        MRC_TRY(mrc_kernel_parse(&model->kernel, "rbf:gamma=1", err));
        model->kernel.part[0].gamma = p->gamma; /* every bit of it */
        model->kernel.part[0].sigma = sqrt(0.5 / p->gamma);
        MRC_TRY(mrc_alloc2_raw(&model->z, head->rows, l, sizeof(double), err));
        memcpy(model->z, head->points, (size_t)(head->rows * l) * sizeof(double));
    }
    MRC_TRY(mrc_model_seal(model, ctx, err));
    *out = model;
    model = NULL;
out:
    mercer_model_free(model);
    return rc;
}

/* Scores of the classes from the decision values of all pairs; the predicted one is returned. */
static int64_t count_votes(const double *decisions, int64_t classes, double *scores, double *sums)
{
    memset(scores, 0, (size_t)classes * sizeof *scores);
    memset(sums, 0, (size_t)classes * sizeof *sums);
    for (int64_t a = 0; a < classes; a++)
        for (int64_t b = a + 1; b < classes; b++) {
            double f = *decisions++;
            scores[f > 0 ? a : b]++;
            sums[a] += f;
            sums[b] -= f;
        }
    int64_t winner = mrc_head_winner(scores, classes);
    for (int64_t k = 0; k < classes; k++)
        scores[k] = classes == 2 ? sums[k] : scores[k] + sums[k] / (3 * fabs(sums[k]) + 3);
    return winner;
}

static mercer_status svm_predict(mercer_ctx *ctx, const void *params, const mrc_head *head,
                                 const mrc_head_query *query, double *scores, int64_t *codes,
                                 mercer_error *err)
{
    int64_t n = query->n, outputs = head->outputs, functions = mrc_head_functions(head);
    bool classes = head->kind == MERCER_TARGET_CLASSES;
    mercer_model *model = NULL;
    mercer_rows *rows = NULL;
    double *decisions = NULL, *sums = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(functions_as_model(ctx, params, head, query->l, &model, err));
    MRC_TRY(mrc_rows_view(MRC_F64, query->features, n, query->l, query->l, &rows, err));
    if (classes) {
        MRC_TRY(mrc_alloc2_raw(&decisions, n, functions, sizeof(double), err));
        MRC_TRY(mrc_alloc2_raw(&sums, outputs, 1, sizeof(double), err));
    }
    MRC_TRY(
        mercer_model_transform(ctx, model, rows, NULL, classes ? decisions : scores, NULL, err));
    for (int64_t i = 0; classes && i < n; i++) {
        int64_t code = count_votes(decisions + i * functions, outputs, scores + i * outputs, sums);
        if (codes)
            codes[i] = code;
    }
out:
    mercer_model_free(model);
    mercer_rows_free(rows);
    mrc_free(decisions);
    mrc_free(sums);
    return rc;
}

const mrc_head_def mrc_head_svm = {
    .entry = {.name = "svm",
              .summary = "support vector machine: one for each pair of classes, or regression",
              .reference = "Chang, Lin 2011 (LIBSVM)",
              .params = svm_schema},
    .params_size = sizeof(struct svm_params),
    .values = true,
    .needs_all_features = true,
    .copies = 3, /* a node is two doubles; the support vectors */
    .check = svm_check,
    .fit = svm_fit,
    .is_complete = svm_is_complete,
    .predict = svm_predict,
};
