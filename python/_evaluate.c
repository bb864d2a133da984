/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluations: methods judged by rows held out; choices; what a fit will cost. */
#include "_core.h"

#include <math.h>
#include <string.h>

static void evaluation_dealloc(PyObject *self)
{
    mercer_evaluation_free(((core_evaluation *)self)->evaluation);
    core_delete(self);
}

CORE_TYPE(evaluation, "Evaluation", "The result of an evaluation.");

/* What the call borrows while it runs. */
struct inputs {
    mercer_fit_options fit;
    mercer_evaluate_options options;
    const char **tune;
    PyObject *tune_held;
    Py_buffer split_start, split_rows, groups;
};

static void inputs_destroy(struct inputs *in)
{
    PyMem_Free(in->tune);
    Py_XDECREF(in->tune_held);
    PyBuffer_Release(&in->split_start);
    PyBuffer_Release(&in->split_rows);
    PyBuffer_Release(&in->groups);
}

static bool read_splits(PyObject *start, PyObject *rows, struct inputs *in)
{
    if (!core_get_buffer_or_none(start, "q", -1, false, "split starts", &in->split_start) ||
        !core_get_buffer_or_none(rows, "q", -1, false, "split rows", &in->split_rows))
        return false;
    if (!in->split_start.obj || !in->split_rows.obj)
        return true;
    const int64_t *starts = in->split_start.buf;
    const int64_t splits = in->split_start.len / 8 - 1;
    if (splits < 1 || starts[0] != 0 || starts[splits] != in->split_rows.len / 8) {
        PyErr_SetString(PyExc_ValueError, "split starts and rows do not belong together");
        return false;
    }
    for (int64_t i = 0; i < splits; i++)
        if (starts[i] > starts[i + 1]) {
            PyErr_SetString(PyExc_ValueError, "split starts do not increase");
            return false;
        }
    in->options.splits = splits;
    in->options.split_start = starts;
    in->options.split_rows = in->split_rows.buf;
    return true;
}

/* (folds, repeats, split starts, split rows, groups, ordered) */
static bool read_plan(PyObject *plan, int64_t n, struct inputs *in)
{
    PyObject *start = NULL, *rows = NULL, *groups = NULL;
    long long folds = 0, repeats = 0;
    if (!PyArg_ParseTuple(plan, "LLOOOp", &folds, &repeats, &start, &rows, &groups,
                          &in->options.ordered) ||
        !read_splits(start, rows, in) ||
        !core_get_buffer_or_none(groups, "q", (Py_ssize_t)n, false, "groups", &in->groups))
        return false;
    in->options.folds = folds;
    in->options.repeats = repeats;
    in->options.groups = in->groups.buf;
    return true;
}

/* (tune, inner folds, rule) */
static bool read_choice(PyObject *choice, struct inputs *in)
{
    PyObject *tune = NULL;
    Py_ssize_t count = 0;
    long long inner = 0;
    if (!PyArg_ParseTuple(choice, "OLz", &tune, &inner, &in->options.tune_rule) ||
        !(in->tune = core_names(tune, &count, &in->tune_held)))
        return false;
    in->options.tune = in->tune;
    in->options.tune_count = count;
    in->options.inner_folds = inner;
    return true;
}

PyDoc_STRVAR(
    evaluate_doc,
    "evaluate(context, options, rows, targets, plan, test, judge, choice, alone)\n--\n\n"
    "Judge a fit by rows held out. plan: (folds, repeats, split starts or None, split rows or\n"
    "None, groups or None, rows are in order); test: (rows or None, targets or None); judge:\n"
    "(metric or None, positive class or None, importance of columns); choice: (list of texts,\n"
    "inner folds, rule or None), which alone ends in a choice without an evaluation.");
static PyObject *evaluate(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_rows *rows = NULL;
    PyObject *texts = NULL, *targets = NULL, *plan = NULL, *test = NULL, *test_targets = NULL;
    PyObject *choice = NULL;
    const char *metric = NULL, *positive = NULL;
    struct inputs in = {0};
    PyThreadState *thread = NULL;
    mercer_error err;
    mercer_status rc = MERCER_ERR_ARGUMENT;
    core_evaluation *out = NULL;
    int alone = 0, importance = 0;
    if (!PyArg_ParseTuple(args, "O!O!O!OO!(OO)(zzp)O!p", state->context, &context, &PyDict_Type,
                          &texts, state->rows, &rows, &targets, &PyTuple_Type, &plan, &test,
                          &test_targets, &metric, &positive, &importance, &PyTuple_Type, &choice,
                          &alone))
        return NULL;
    mercer_evaluate_options_init(&in.options);
    const mercer_targets *learnt = NULL;
    if (!core_read_options(state, texts, &in.fit) ||
        !core_targets_or_none(state, targets, &learnt) ||
        !core_rows_or_none(state, test, &in.options.test) ||
        !core_targets_or_none(state, test_targets, &in.options.test_targets) ||
        !read_plan(plan, mercer_rows_count(rows->rows), &in) || !read_choice(choice, &in) ||
        !(out = core_new(state->evaluation)) || !core_begin(context, &thread))
        goto out;
    in.options.fit = &in.fit;
    in.options.metric = metric;
    in.options.positive = positive;
    in.options.importance = importance;
    in.options.choose = !alone; /* where something is tuned */
    rc = (alone ? mercer_tune : mercer_evaluate)(context->ctx, &in.options, rows->rows, learnt,
                                                 &out->evaluation, &err);
    core_end(context, thread);
    if (rc != MERCER_OK)
        core_raise(state, context, rc, &err);
out:
    inputs_destroy(&in);
    if (rc != MERCER_OK)
        Py_CLEAR(out);
    return (PyObject *)out;
}

PyDoc_STRVAR(forecast_doc, "forecast(context, options, rows, targets, n)\n--\n\n"
                           "What a fit of n rows like these (0: of these) will cost, as a dict.");
static PyObject *forecast(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_rows *rows = NULL;
    PyObject *texts = NULL, *targets = NULL;
    const mercer_targets *learnt = NULL;
    PyThreadState *thread = NULL;
    mercer_fit_options options;
    mercer_forecast told;
    mercer_error err;
    long long n = 0;
    if (!PyArg_ParseTuple(args, "O!O!O!OL", state->context, &context, &PyDict_Type, &texts,
                          state->rows, &rows, &targets, &n) ||
        !core_read_options(state, texts, &options) ||
        !core_targets_or_none(state, targets, &learnt) || !core_begin(context, &thread))
        return NULL;
    mercer_forecast_init(&told);
    const mercer_status rc =
        mercer_fit_forecast(context->ctx, &options, rows->rows, learnt, n, 0, &told, &err);
    core_end(context, thread);
    if (rc != MERCER_OK)
        return core_raise(state, context, rc, &err);
    return Py_BuildValue("{sdsdsdsssssLsLsssd}", "seconds", told.seconds, "seconds_low",
                         told.seconds_low, "seconds_high", told.seconds_high, "store", told.store,
                         "store_reason", told.store_reason, "store_rank",
                         (long long)told.store_rank, "memory_bytes", (long long)told.memory_bytes,
                         "cheaper", told.cheaper, "cheaper_seconds", told.cheaper_seconds);
}

/* A view of count x columns numbers (columns 0: a vector), or None where there are none. */
static PyObject *numbers(core_state *state, PyObject *owner, const void *data, mercer_dtype dtype,
                         int64_t count, int64_t columns)
{
    const mercer_array what = {.struct_size = sizeof what,
                               .data = data,
                               .dtype = dtype,
                               .rank = columns ? 2 : 1,
                               .shape = {count, columns ? columns : 1}};
    return data ? core_view_new(state, owner, NULL, &what) : Py_NewRef(Py_None);
}

PyDoc_STRVAR(evaluation_info_doc, "evaluation_info(evaluation)\n--\n\nThe result as a dict.");
static PyObject *evaluation_info(PyObject *module, PyObject *object)
{
    core_state *state = core_state_of(module);
    static const char *const kinds[] = {"none", "classes", "values"};
    mercer_evaluation_info told;
    if (!PyObject_TypeCheck(object, state->evaluation))
        return PyErr_Format(PyExc_TypeError, "an Evaluation is needed");
    mercer_evaluation_info_init(&told);
    mercer_evaluation_get_info(((core_evaluation *)object)->evaluation, &told);
    return Py_BuildValue(
        "{sssssNsdsdsLsssLsNsLsNsz}", "metric", told.metric, "summary", told.summary,
        "larger_is_better", PyBool_FromLong(told.larger_is_better), "mean", told.mean, "sd",
        told.sd, "folds", (long long)told.folds, "kind", kinds[told.kind], "outputs",
        (long long)told.outputs, "confusion",
        numbers(state, object, told.confusion, MERCER_I64, told.outputs, told.outputs), "choices",
        (long long)told.choices, "undecided",
        numbers(state, object, told.undecided, MERCER_I64, told.outputs, 0), "positive",
        told.positive);
}

PyDoc_STRVAR(evaluation_fold_doc, "evaluation_fold(evaluation, index)\n--\n\nOne fold as a dict.");
static PyObject *evaluation_fold(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_evaluation *object = NULL;
    long long index = 0;
    mercer_evaluation_info told;
    mercer_evaluation_fold fold;
    if (!PyArg_ParseTuple(args, "O!L", state->evaluation, &object, &index))
        return NULL;
    mercer_evaluation_info_init(&told);
    mercer_evaluation_get_info(object->evaluation, &told);
    if (index < 0 || index >= told.folds) {
        PyErr_SetString(PyExc_IndexError, "there is no such fold");
        return NULL;
    }
    mercer_evaluation_fold_init(&fold);
    mercer_evaluation_get_fold(object->evaluation, index, &fold);
    PyObject *self = (PyObject *)object;
    return Py_BuildValue(
        "{sdsdsssLsLsLsNsNsN}", "value", fold.value, "inner", fold.inner, "chosen",
        fold.chosen ? fold.chosen : "", "components", (long long)fold.components, "points",
        (long long)fold.points, "rows", (long long)fold.rows, "row",
        numbers(state, self, fold.row, MERCER_I64, fold.rows, 0), "codes",
        numbers(state, self, fold.codes, MERCER_I64, fold.rows, 0), "scores",
        numbers(state, self, fold.scores, MERCER_F64, fold.rows, told.outputs ? told.outputs : 1));
}

PyDoc_STRVAR(evaluation_roc_doc, "evaluation_roc(evaluation)\n--\n\n"
                                 "The ROC curve: rows of false rate, true rate and threshold, as\n"
                                 "bytes of doubles.");
static PyObject *evaluation_roc(PyObject *module, PyObject *object)
{
    core_state *state = core_state_of(module);
    const double *points = NULL;
    int64_t count = 0;
    mercer_error err;
    if (!PyObject_TypeCheck(object, state->evaluation))
        return PyErr_Format(PyExc_TypeError, "an Evaluation is needed");
    const mercer_status rc =
        mercer_evaluation_get_roc(((core_evaluation *)object)->evaluation, &points, &count, &err);
    if (rc != MERCER_OK)
        return core_raise(state, NULL, rc, &err);
    /* Copied: the next call for the curve takes the memory back. */
    return PyBytes_FromStringAndSize((const char *)points, (Py_ssize_t)count * MERCER_ROC_COLUMNS *
                                                               (Py_ssize_t)sizeof *points);
}

/* One key that was tuned: (key, values, which is chosen, values to try beyond or None). */
static PyObject *axis(const mercer_evaluation *evaluation, int64_t index)
{
    mercer_tuning_axis told;
    mercer_tuning_axis_init(&told);
    mercer_evaluation_get_axis(evaluation, index, &told);
    PyObject *values = PyList_New((Py_ssize_t)told.count);
    for (int64_t i = 0; values && i < told.count; i++) {
        PyObject *text = core_text(told.values[i]);
        if (!text || PyList_SetItem(values, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(values);
    }
    return values ? Py_BuildValue("(sNLz)", told.key, values, (long long)told.chosen, told.further)
                  : NULL;
}

PyDoc_STRVAR(evaluation_tuning_doc,
             "evaluation_tuning(evaluation)\n--\n\n"
             "What was chosen on all rows, as a dict; None where nothing was.");
static PyObject *evaluation_tuning(PyObject *module, PyObject *object)
{
    core_state *state = core_state_of(module);
    mercer_tuning told;
    if (!PyObject_TypeCheck(object, state->evaluation))
        return PyErr_Format(PyExc_TypeError, "an Evaluation is needed");
    const mercer_evaluation *evaluation = ((core_evaluation *)object)->evaluation;
    mercer_tuning_init(&told);
    mercer_evaluation_get_tuning(evaluation, &told);
    if (told.cells == 0)
        Py_RETURN_NONE;
    PyObject *axes = PyList_New(0);
    for (int64_t i = 0; axes && i < told.axes; i++) {
        PyObject *one = axis(evaluation, i);
        if (!one || PyList_Append(axes, one) < 0)
            Py_CLEAR(axes);
        Py_XDECREF(one);
    }
    if (!axes)
        return NULL;
    return Py_BuildValue("{sNsssNsNsNsLsLssszsd}", "axes", axes, "rule", told.rule, "mean",
                         numbers(state, object, told.mean, MERCER_F64, told.cells, 0), "se",
                         numbers(state, object, told.se, MERCER_F64, told.cells, 0), "values",
                         numbers(state, object, told.values, MERCER_F64, told.folds, told.cells),
                         "best", (long long)told.best, "chosen", (long long)told.chosen, "kernel",
                         told.kernel, "head", told.head, "components", told.components);
}

PyDoc_STRVAR(evaluation_importance_doc,
             "evaluation_importance(evaluation)\n--\n\n"
             "Loss and standard deviation of each column; None where importance was not asked\n"
             "for.");
static PyObject *evaluation_importance(PyObject *module, PyObject *object)
{
    core_state *state = core_state_of(module);
    const double *values = NULL;
    int64_t columns = 0;
    if (!PyObject_TypeCheck(object, state->evaluation))
        return PyErr_Format(PyExc_TypeError, "an Evaluation is needed");
    const mercer_evaluation *evaluation = ((core_evaluation *)object)->evaluation;
    mercer_evaluation_importance(evaluation, &values, &columns);
    if (!values)
        Py_RETURN_NONE;
    return numbers(state, object, values, MERCER_F64, columns, MERCER_IMPORTANCE_COLUMNS);
}

PyMethodDef core_evaluate_functions[] = {
    {"evaluate", evaluate, METH_VARARGS, evaluate_doc},
    {"evaluation_info", evaluation_info, METH_O, evaluation_info_doc},
    {"evaluation_fold", evaluation_fold, METH_VARARGS, evaluation_fold_doc},
    {"evaluation_roc", evaluation_roc, METH_O, evaluation_roc_doc},
    {"evaluation_tuning", evaluation_tuning, METH_O, evaluation_tuning_doc},
    {"evaluation_importance", evaluation_importance, METH_O, evaluation_importance_doc},
    {"forecast", forecast, METH_VARARGS, forecast_doc},
    {NULL, NULL, 0, NULL},
};
