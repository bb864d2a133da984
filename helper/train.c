/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer-train: trains machines by LIBSVM and LIBLINEAR for the library (src/heads/training.c).
 *
 * A process of its own, because both crash when they get no memory. It answers requests until its
 * host closes the socket. */
#include "serve.h"

#include "base/memory.h"
#include "heads/training.h"

#include <libsvm/svm.h>
#include <limits.h>
#include <linear.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beside the problem and the budget. */
enum { OWN_BYTES = 1 << 28 };

/* A request with what came behind it, in the types of the libraries. */
struct task {
    mrc_train_request request;
    double *features, *weight, *targets;
    int *labels;
    struct svm_node *nodes; /* n x (l + 1) */
    struct svm_node **rows;
    struct feature_node *linear_nodes; /* n x (l + 2) */
    struct feature_node **linear_rows;
    mercer_ctx *ctx;
    int64_t unread; /* numbers that the host will send before it looks for an answer */
};

static void destroy(struct task *task)
{
    mrc_free(task->features);
    mrc_free(task->weight);
    mrc_free(task->targets);
    mrc_free(task->labels);
    mrc_free(task->nodes);
    mrc_free(task->rows);
    mrc_free(task->linear_nodes);
    mrc_free(task->linear_rows);
}

/* Steps of the longest run of the training at hand. The libraries end a run at a limit without
 * another sign than what they print. */
static int64_t steps;

static void count_steps(const char *text)
{
    const char *said = strstr(text, "#iter = ");
    long count = said ? strtol(said + strlen("#iter = "), NULL, 10) : 0;
    steps = count > steps ? count : steps;
}

/* The limit of coordinate descent in LIBLINEAR, and of LIBSVM: at least, and for each variable, of
 * which regression has two per row. */
enum { LINEAR_STEPS = 1000, SVM_STEPS = 10000000, SVM_STEPS_EACH = 100 };

static int64_t svm_limit(const mrc_train_request *request)
{
    int64_t variables = request->classes > 0 ? request->n : 2 * request->n;
    return variables > SVM_STEPS / SVM_STEPS_EACH ? SVM_STEPS_EACH * variables : SVM_STEPS;
}

static bool send_error(mercer_status status, const char *text)
{
    mrc_train_answer answer = {.version = MRC_TRAIN_VERSION, .status = (int32_t)status};
    snprintf(answer.text, sizeof answer.text, "%s", text);
    return serve_send(&answer, sizeof answer);
}

static bool is_linear(const struct task *task)
{
    return task->request.kind >= MRC_TRAIN_LINEAR_SQUARED;
}

/* Rows as LIBSVM wants them. */
static mercer_status make_nodes(struct task *task, mercer_error *err)
{
    int64_t n = task->request.n, l = task->request.l;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&task->nodes, n, l + 1, sizeof *task->nodes, err));
    MRC_TRY(mrc_alloc(&task->rows, n, sizeof *task->rows, err));
    for (int64_t i = 0; i < n; i++) {
        struct svm_node *row = task->nodes + i * (l + 1);
        for (int64_t j = 0; j < l; j++)
            row[j] = (struct svm_node){(int)j + 1, task->features[i * l + j]};
        row[l] = (struct svm_node){-1, 0};
        task->rows[i] = row;
    }
out:
    return rc;
}

/* The same for LIBLINEAR, with the feature that makes the intercept. */
static mercer_status make_linear_nodes(struct task *task, mercer_error *err)
{
    int64_t n = task->request.n, l = task->request.l;
    int extra = task->request.bias > 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&task->linear_nodes, n, l + 2, sizeof *task->linear_nodes, err));
    MRC_TRY(mrc_alloc(&task->linear_rows, n, sizeof *task->linear_rows, err));
    for (int64_t i = 0; i < n; i++) {
        struct feature_node *row = task->linear_nodes + i * (l + 2);
        for (int64_t j = 0; j < l; j++)
            row[j] = (struct feature_node){(int)j + 1, task->features[i * l + j]};
        row[l] = (struct feature_node){(int)l + 1, task->request.bias};
        row[l + extra] = (struct feature_node){-1, 0};
        task->linear_rows[i] = row;
    }
out:
    return rc;
}

static bool send_svm(const struct task *task, const struct svm_model *model)
{
    int64_t classes = task->request.classes;
    mrc_train_answer answer = {.version = MRC_TRAIN_VERSION, .classes = classes};
    size_t vectors = (size_t)model->l;
    answer.vectors = model->l;
    answer.given_up = steps >= svm_limit(&task->request) ? steps : 0;
    bool alive = serve_send(&answer, sizeof answer) &&
                 serve_send(model->label, (size_t)classes * sizeof *model->label) &&
                 serve_send(model->nSV, (size_t)classes * sizeof *model->nSV) &&
                 serve_send(model->sv_indices, vectors * sizeof *model->sv_indices) &&
                 serve_send(model->rho, (size_t)mrc_machine_pairs(classes) * sizeof *model->rho);
    for (int k = 0; alive && k < model->nr_class - 1; k++)
        alive = serve_send(model->sv_coef[k], vectors * sizeof **model->sv_coef);
    return alive;
}

static bool train_svm(struct task *task)
{
    static const int types[] = {C_SVC, NU_SVC, EPSILON_SVR};
    const mrc_train_request *r = &task->request;
    struct svm_problem problem = {.l = (int)r->n, .y = task->targets, .x = task->rows};
    struct svm_parameter parameter = {.svm_type = types[r->kind],
                                      .kernel_type = r->rbf ? RBF : LINEAR,
                                      .gamma = r->gamma,
                                      .cache_size = r->cache_mb,
                                      .eps = r->tolerance,
                                      .C = r->c,
                                      .nu = r->nu,
                                      .p = r->epsilon,
                                      .shrinking = 1,
                                      .nr_weight = (int)r->classes,
                                      .weight_label = task->labels,
                                      .weight = task->weight};
    const char *wrong = svm_check_parameter(&problem, &parameter);
    if (wrong)
        return send_error(MERCER_ERR_DATA, wrong);
    steps = 0;
    struct svm_model *model = svm_train(&problem, &parameter);
    bool alive = send_svm(task, model);
    svm_free_and_destroy_model(&model);
    return alive;
}

struct linear_training {
    struct problem problem;
    struct parameter parameter;
    struct model *found;
};

static void train_alone(void *arg, int64_t number, int worker)
{
    struct linear_training *t = arg;
    char state[128]; /* as long as the one that a program starts with */
    (void)number, (void)worker;
    /* The order of coordinate descent: the same for every training. */
    char *before = initstate(1, state, sizeof state);
    t->found = train(&t->problem, &t->parameter);
    setstate(before);
}

static bool send_linear(const struct task *task, const struct model *model)
{
    int64_t classes = task->request.classes, vectors = classes == 2 ? 1 : classes;
    mrc_train_answer answer = {.version = MRC_TRAIN_VERSION, .classes = classes};
    int32_t *none = NULL;
    bool alive = mrc_alloc(&none, classes, sizeof *none, NULL) == MERCER_OK;
    answer.weights = (task->request.l + (task->request.bias > 0)) * vectors;
    answer.given_up =
        task->request.kind == MRC_TRAIN_LINEAR_HINGE && steps >= LINEAR_STEPS ? steps : 0;
    alive = alive && serve_send(&answer, sizeof answer) &&
            serve_send(model->label, (size_t)classes * sizeof *model->label) &&
            serve_send(none, (size_t)classes * sizeof *none) &&
            serve_send(model->w, (size_t)answer.weights * sizeof *model->w);
    mrc_free(none);
    return alive;
}

static bool train_linear(struct task *task)
{
    const mrc_train_request *r = &task->request;
    bool extra = r->bias > 0;
    struct linear_training t = {.problem = {.l = (int)r->n,
                                            .n = (int)r->l + extra,
                                            .y = task->targets,
                                            .x = task->linear_rows,
                                            .bias = extra ? r->bias : -1},
                                .parameter = {.solver_type = r->kind == MRC_TRAIN_LINEAR_HINGE
                                                                 ? L2R_L1LOSS_SVC_DUAL
                                                                 : L2R_L2LOSS_SVC,
                                              .eps = r->tolerance,
                                              .C = r->c,
                                              .nr_weight = (int)r->classes,
                                              .weight_label = task->labels,
                                              .weight = task->weight}};
    const char *wrong = check_parameter(&t.problem, &t.parameter);
    if (wrong)
        return send_error(MERCER_ERR_DATA, wrong);
    steps = 0;
    mrc_serial(task->ctx, train_alone, &t); /* it calls BLAS */
    bool alive = send_linear(task, t.found);
    free_and_destroy_model(&t.found);
    return alive;
}

/* The features and weights behind a request. An error is told in place of the first answer. */
static bool receive_task(struct task *task, mercer_status *rc, mercer_error *err)
{
    const mrc_train_request *r = &task->request;
    int64_t values;
    if (r->n < 1 || r->n > INT_MAX || r->l < 1 || r->l > INT_MAX - 2 || r->classes < 0 ||
        r->classes > r->n || r->machines < 1 || r->kind < 0 || r->kind > MRC_TRAIN_LINEAR_HINGE ||
        __builtin_mul_overflow(r->n, r->l + 2, &values) || values > INT64_MAX / 64)
        return false;
    task->unread = r->n * r->l + r->classes + r->n;
    serve_limit((r->memory > 64 * values ? r->memory : 64 * values) + OWN_BYTES, 0);
    *rc = mrc_alloc2_raw(&task->features, r->n, r->l, sizeof(double), err);
    if (*rc == MERCER_OK)
        *rc = mrc_alloc(&task->weight, r->classes, sizeof(double), err);
    if (*rc == MERCER_OK)
        *rc = mrc_alloc(&task->targets, r->n, sizeof(double), err);
    if (*rc == MERCER_OK)
        *rc = mrc_alloc(&task->labels, r->classes, sizeof(int), err);
    if (*rc != MERCER_OK)
        return true;
    for (int64_t k = 0; k < r->classes; k++)
        task->labels[k] = (int)k;
    if (!serve_receive(task->features, (size_t)(r->n * r->l) * sizeof(double)) ||
        !serve_receive(task->weight, (size_t)r->classes * sizeof(double)))
        return false;
    task->unread = r->n;
    *rc = is_linear(task) ? make_linear_nodes(task, err) : make_nodes(task, err);
    return true;
}

/* Step over what the host is sending. */
static bool drain(int64_t numbers)
{
    double dropped[512];
    const int64_t most = sizeof dropped / sizeof *dropped;
    for (; numbers > 0; numbers -= most)
        if (!serve_receive(dropped, (size_t)(numbers < most ? numbers : most) * sizeof *dropped))
            return false;
    return true;
}

/* Answer one request; false when the host is gone, or an error has ended the exchange. */
static bool serve(struct task *task)
{
    mercer_error err = {.text = ""};
    mercer_status rc = MERCER_OK;
    if (!receive_task(task, &rc, &err))
        return false;
    if (rc != MERCER_OK) {
        if (drain(task->unread))
            send_error(rc, err.text);
        return false;
    }
    for (int64_t m = 0; m < task->request.machines; m++) {
        if (!serve_receive(task->targets, (size_t)task->request.n * sizeof(double)) ||
            !(is_linear(task) ? train_linear(task) : train_svm(task)))
            return false;
    }
    return true;
}

int main(void)
{
    struct task task = {.request = {.n = 0}};
    mercer_ctx *ctx;
    bool alive = true;
    if (!serve_confine() || !serve_watch() || mercer_ctx_new(&ctx, NULL) != MERCER_OK)
        return 1;
    svm_set_print_string_function(count_steps);
    set_print_string_function(count_steps);
    while (alive && serve_receive(&task.request, sizeof task.request)) {
        task.ctx = ctx;
        if (task.request.version != MRC_TRAIN_VERSION) {
            send_error(MERCER_ERR_IO, "");
            break;
        }
        alive = serve(&task);
        destroy(&task);
        task = (struct task){.request = {.n = 0}};
    }
    mercer_ctx_free(ctx);
    return 0;
}
