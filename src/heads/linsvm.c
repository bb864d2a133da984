/* Linear support vector machine on the features, by LIBLINEAR: linear in the rows, where LIBSVM is
 * quadratic at least. One weight vector for two classes, one class against the others for more.
 *
 *   min |w|^2 / 2 + c sum_i weight(y_i) max(0, 1 - y_i f(x_i))^2    f(x) = w'x + intercept
 *
 * squared losses in the primal by a trust region Newton method, plain ones (hinge) in the dual by
 * coordinate descent, whose random order starts the same way every time. The intercept is the
 * weight of one more feature, which is always `bias`, and so is regularised with the others.
 * Scores: f, of the first of two classes f and of the second -f. Cost: some ten passes over n l
 * numbers. */
#include "heads/heads.h"

#include <float.h>
#include <limits.h>
#include <linear.h>
#include <pthread.h>
#include <stdlib.h>

struct linsvm_params {
    double c;
    int loss;
    int weight;
    double bias;
    double tolerance;
};
enum { LOSS_SQUARED, LOSS_HINGE };

static const mrc_param linsvm_schema[] = {
    MRC_REAL(struct linsvm_params, c, 1, DBL_MIN, DBL_MAX, "cost of errors"),
    MRC_CHOICE(struct linsvm_params, loss, LOSS_SQUARED, "squared|hinge",
               "squares of what misses the margin, or what misses it"),
    MRC_CHOICE(struct linsvm_params, weight, 0, MRC_CLASS_WEIGHTS,
               "of the cost of a class: balanced: n / (classes n_c), opposite: share of the other "
               "rows"),
    MRC_REAL(struct linsvm_params, bias, 1, 0, DBL_MAX,
             "value of the feature that makes the intercept; 0: no intercept"),
    MRC_REAL(struct linsvm_params, tolerance, 1e-4, DBL_MIN, 1, "when to stop"),
    MRC_PARAM_END};

struct training {
    struct problem problem;
    struct parameter parameter;
    struct feature_node *nodes; /* n x (l + 2) */
    int *labels;                /* of the class weights */
    struct model *found;
};

/* The order of coordinate descent comes from the C library's random numbers, which belong to the
 * whole process: they start anew here, one training at a time, and the host's go on afterwards. */
static void train_alone(void *arg, int64_t task, int worker)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct training *t = arg;
    char state[128]; /* as long as the one that a program starts with */
    (void)task, (void)worker;
    pthread_mutex_lock(&one_at_a_time);
    set_print_string_function(mrc_head_print_nothing);
    char *before = initstate(1, state, sizeof state);
    t->found = train(&t->problem, &t->parameter);
    setstate(before);
    pthread_mutex_unlock(&one_at_a_time);
}

static mercer_status pose(const struct linsvm_params *p, const mrc_lesson *lesson,
                          struct training *t, mercer_error *err)
{
    int64_t n = lesson->n, l = lesson->l, classes = lesson->outputs;
    int extra = p->bias > 0;
    mercer_status rc = MERCER_OK;
    if (n > INT_MAX || l >= INT_MAX - 1)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "head linsvm: %lld rows x %lld features are too many",
                 (long long)n, (long long)l);
    MRC_TRY(mrc_alloc2_raw(&t->nodes, n, l + 2, sizeof *t->nodes, err));
    MRC_TRY(mrc_alloc(&t->problem.x, n, sizeof *t->problem.x, err));
    MRC_TRY(mrc_alloc(&t->problem.y, n, sizeof *t->problem.y, err));
    MRC_TRY(mrc_alloc(&t->labels, classes, sizeof *t->labels, err));
    MRC_TRY(mrc_alloc(&t->parameter.weight, classes, sizeof(double), err));
    t->problem.l = (int)n;
    t->problem.n = (int)l + extra;
    t->problem.bias = extra ? p->bias : -1;
    for (int64_t i = 0; i < n; i++) {
        struct feature_node *row = t->nodes + i * (l + 2);
        for (int64_t j = 0; j < l; j++)
            row[j] = (struct feature_node){(int)j + 1, lesson->features[i * l + j]};
        row[l] = (struct feature_node){(int)l + 1, p->bias};
        row[l + extra] = (struct feature_node){-1, 0};
        t->problem.x[i] = row;
        t->problem.y[i] = (double)lesson->codes[i];
    }
    for (int64_t k = 0; k < classes; k++)
        t->labels[k] = (int)k;
    mrc_head_weigh_classes(lesson, p->weight, t->parameter.weight);
    t->parameter.solver_type = p->loss == LOSS_HINGE ? L2R_L1LOSS_SVC_DUAL : L2R_L2LOSS_SVC;
    t->parameter.eps = p->tolerance;
    t->parameter.C = p->c;
    t->parameter.nr_weight = (int)classes;
    t->parameter.weight_label = t->labels;
out:
    return rc;
}

/* Two classes have one vector, for the class LIBLINEAR met first. */
static void take_weights(const struct training *t, const struct linsvm_params *p, int64_t l,
                         mrc_head *head)
{
    int64_t outputs = head->outputs, vectors = outputs == 2 ? 1 : outputs;
    for (int64_t v = 0; v < outputs; v++) {
        int64_t column = vectors == 1 ? 0 : v, o = t->found->label[v];
        double sign = vectors == 1 && v == 1 ? -1 : 1;
        for (int64_t j = 0; j < l; j++)
            head->weights[j * outputs + o] = sign * t->found->w[j * vectors + column];
        if (p->bias > 0)
            head->intercept[o] = sign * p->bias * t->found->w[l * vectors + column];
    }
}

static mercer_status linsvm_fit(mercer_ctx *ctx, void *params, const mrc_lesson *lesson,
                                mrc_head *head, mercer_error *err)
{
    const struct linsvm_params *p = params;
    struct training t = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&head->weights, lesson->l, lesson->outputs, sizeof(double), err));
    MRC_TRY(mrc_alloc(&head->intercept, lesson->outputs, sizeof(double), err));
    MRC_TRY(pose(p, lesson, &t, err));
    const char *wrong = check_parameter(&t.problem, &t.parameter);
    if (wrong)
        MRC_FAIL(err, MERCER_ERR_DATA, "head linsvm: %s", wrong);
    mrc_progress(ctx, "linear SVM", 0);
    MRC_TRY(mrc_check_cancel(ctx, err));
    mrc_serial(ctx, train_alone, &t); /* it calls BLAS */
    take_weights(&t, p, lesson->l, head);
    mrc_progress(ctx, "linear SVM", 1);
out:
    if (t.found)
        free_and_destroy_model(&t.found);
    mrc_free(t.nodes);
    mrc_free(t.problem.x);
    mrc_free(t.problem.y);
    mrc_free(t.labels);
    mrc_free(t.parameter.weight);
    return rc;
}

static bool linsvm_is_complete(const mrc_head *head)
{
    return head->weights && head->intercept;
}

static void linsvm_step(const mrc_head *head, const double *features, int64_t l, int64_t j,
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
    .whole = true,
    .copies = 2, /* a node is two doubles */
    .fit = linsvm_fit,
    .is_complete = linsvm_is_complete,
    .step = linsvm_step,
};
