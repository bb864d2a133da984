/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear support vector machine on the features, by LIBLINEAR: linear in the rows, where LIBSVM is
 * quadratic at least. One weight vector for two classes, one class against the others for more.
 *
 *   min |w|^2 / 2 + c sum_i weight(y_i) max(0, 1 - y_i f(x_i))^2    f(x) = w'x + intercept
 *
 * squared losses in the primal by a trust region Newton method, plain ones (hinge) in the dual by
 * coordinate descent, whose random order starts the same way every time. The intercept is the
 * weight of one more feature, which is always `bias`, and so is regularised with the others.
 * Scores: f, of the first of two classes f and of the second -f. Cost: some ten passes over n l
 * numbers. LIBLINEAR runs in a process of its own (training.h). */
#include "heads/heads.h"
#include "heads/training.h"

#include <float.h>
#include <limits.h>

struct linsvm_params {
    double c;
    int loss;
    int weight;
    double bias;
    double tolerance;
};
enum { LOSS_SQUARED, LOSS_HINGE };

static const mrc_param linsvm_schema[] = {
    MRC_REAL_ALSO(struct linsvm_params, c, "C", 1, DBL_MIN, DBL_MAX,
                  "cost of errors; C is understood, too"),
    MRC_CHOICE(struct linsvm_params, loss, LOSS_SQUARED, "squared|hinge",
               "squares of the amounts below the margin, or the amounts"),
    MRC_CHOICE(struct linsvm_params, weight, 0, MRC_CLASS_WEIGHTS,
               "of the cost of a class: balanced: n / (classes n_c), opposite: share of the other "
               "rows"),
    MRC_REAL(struct linsvm_params, bias, 1, 0, DBL_MAX,
             "value of the feature that makes the intercept; 0: no intercept"),
    MRC_REAL(struct linsvm_params, tolerance, 1e-4, DBL_MIN, 1, "when to stop"),
    MRC_PARAM_END};

/* What LIBLINEAR is given and what it gives back. */
struct training {
    mrc_train_request request;
    double *weight;  /* of the classes */
    double *targets; /* n */
    mrc_machine found;
};

static mercer_status pose(const struct linsvm_params *p, const mrc_head_data *data,
                          struct training *t, mercer_error *err)
{
    int64_t n = data->n, l = data->l, classes = data->outputs;
    mercer_status rc = MERCER_OK;
    if (n > INT_MAX || l > INT_MAX - 2)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "head linsvm: %lld rows x %lld features are too many",
                 (long long)n, (long long)l);
    MRC_TRY(mrc_alloc(&t->targets, n, sizeof *t->targets, err));
    MRC_TRY(mrc_alloc(&t->weight, classes, sizeof *t->weight, err));
    for (int64_t i = 0; i < n; i++)
        t->targets[i] = (double)data->codes[i];
    mrc_head_weigh_classes(data, p->weight, t->weight);
    t->request = (mrc_train_request){.kind = p->loss == LOSS_HINGE ? MRC_TRAIN_LINEAR_HINGE
                                                                   : MRC_TRAIN_LINEAR_SQUARED,
                                     .n = n,
                                     .l = l,
                                     .classes = classes,
                                     .machines = 1,
                                     .c = p->c,
                                     .tolerance = p->tolerance,
                                     .bias = p->bias};
out:
    return rc;
}

/* Two classes have one vector, for the class LIBLINEAR met first. */
static void take_weights(const struct training *t, const struct linsvm_params *p, int64_t l,
                         mrc_head *head)
{
    int64_t outputs = head->outputs, vectors = outputs == 2 ? 1 : outputs;
    for (int64_t v = 0; v < outputs; v++) {
        int64_t column = vectors == 1 ? 0 : v, o = t->found.label[v];
        double sign = vectors == 1 && v == 1 ? -1 : 1;
        for (int64_t j = 0; j < l; j++)
            head->weights[j * outputs + o] = sign * t->found.w[j * vectors + column];
        if (p->bias > 0)
            head->intercept[o] = sign * p->bias * t->found.w[l * vectors + column];
    }
}

static mercer_status linsvm_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                                mrc_head *head, mercer_error *err)
{
    const struct linsvm_params *p = params;
    struct training t = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&head->weights, data->l, data->outputs, sizeof(double), err));
    MRC_TRY(mrc_alloc(&head->intercept, data->outputs, sizeof(double), err));
    MRC_TRY(pose(p, data, &t, err));
    mrc_progress(ctx, "linear SVM", 0);
    MRC_TRY(mrc_train_begin(ctx, "linsvm", &t.request, data->features, t.weight, err));
    MRC_TRY(mrc_train_next(ctx, "linsvm", &t.request, t.targets, &t.found, err));
    take_weights(&t, p, data->l, head);
    mrc_progress(ctx, "linear SVM", 1);
out:
    mrc_machine_destroy(&t.found);
    mrc_free(t.weight);
    mrc_free(t.targets);
    return rc;
}

static bool linsvm_is_complete(const mrc_head *head)
{
    return head->weights && head->intercept;
}

static void linsvm_add_feature(const mrc_head *head, const double *features, int64_t l, int64_t j,
                               double *scores)
{
    (void)l;
    for (int64_t k = 0; k < head->outputs; k++)
        scores[k] += features[j] * head->weights[j * head->outputs + k];
}

const mrc_head_def mrc_head_linsvm = {
    .entry = {.name = "linsvm",
              .summary = "linear support vector machine, for many rows",
              .reference = "Fan, Chang, Hsieh, Wang, Lin 2008 (LIBLINEAR)",
              .params = linsvm_schema},
    .params_size = sizeof(struct linsvm_params),
    .needs_all_features = true,
    .copies = 2, /* a node is two doubles */
    .fit = linsvm_fit,
    .is_complete = linsvm_is_complete,
    .add_feature = linsvm_add_feature,
};
