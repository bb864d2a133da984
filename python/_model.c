/* SPDX-License-Identifier: BSD-3-Clause */
/* Models: fitting, streams, features, predictions, pre-images, bytes and files, arrays. */
#include "_core.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void model_dealloc(PyObject *self)
{
    mercer_model_free(((core_model *)self)->model);
    core_delete(self);
}

static PyType_Slot model_slots[] = {
    {Py_tp_doc, (void *)"A fitted model; mercer.Model builds on it."},
    {Py_tp_dealloc, (void *)model_dealloc},
    {0, NULL},
};
PyType_Spec core_model_spec = {.name = "mercer._core.Model",
                               .basicsize = sizeof(core_model),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                               .slots = model_slots};

/* Wrap a model in an object of type, a class below ours. The model is handed over, on failure too.
 */
static PyObject *wrap(PyObject *type, mercer_model *model)
{
    core_model *out = core_new((PyTypeObject *)type);
    if (out)
        out->model = model;
    else
        mercer_model_free(model);
    return (PyObject *)out;
}

/* Converters of PyArg_ParseTuple cannot see the state, so types are checked one by one. */
static bool is_model_type(core_state *state, PyObject *type)
{
    if (PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, state->model))
        return true;
    PyErr_SetString(PyExc_TypeError, "a class of models is needed");
    return false;
}

/* The model of an object that parsing has seen to be one; NULL with an exception when it was made
 * by its class and never filled. */
static mercer_model *model_of(core_model *object)
{
    if (!object->model)
        PyErr_SetString(PyExc_ValueError, "this model is empty: it was neither fitted nor loaded");
    return object->model;
}

/* What is known of the model of such an object; false with an exception when it has none. */
static bool get_info(core_model *object, mercer_model_info *out)
{
    mercer_model_info_init(out);
    mercer_model_get_info(model_of(object), out);
    return object->model != NULL;
}

/* Give buffers back (those that were never got, too), and None unless an exception was raised. */
static PyObject *release(Py_buffer *buffers, int count)
{
    for (int i = 0; i < count; i++)
        PyBuffer_Release(&buffers[i]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

bool core_rows_or_none(core_state *state, PyObject *object, const mercer_rows **out)
{
    if (object == Py_None)
        *out = NULL;
    else if (PyObject_TypeCheck(object, state->rows))
        *out = ((core_rows *)object)->rows;
    else
        PyErr_SetString(PyExc_TypeError, "Rows or None are needed");
    return !PyErr_Occurred();
}

bool core_targets_or_none(core_state *state, PyObject *object, const mercer_targets **out)
{
    if (object == Py_None)
        *out = NULL;
    else if (PyObject_TypeCheck(object, state->targets))
        *out = ((core_targets *)object)->targets;
    else
        PyErr_SetString(PyExc_TypeError, "Targets or None are needed");
    return !PyErr_Occurred();
}

bool core_read_options(core_state *state, PyObject *texts, mercer_fit_options *options)
{
    PyObject *key = NULL, *value = NULL;
    Py_ssize_t at = 0;
    mercer_error err;
    mercer_fit_options_init(options);
    while (PyDict_Next(texts, &at, &key, &value)) {
        Py_ssize_t length = 0;
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        const char *text = name ? PyUnicode_AsUTF8AndSize(value, &length) : NULL;
        if (!text)
            return false;
        if (strlen(text) != (size_t)length) {
            PyErr_Format(state->errors[MERCER_ERR_ARGUMENT], "%s: %R holds a zero byte", name,
                         value);
            return false;
        }
        if (strcmp(name, "command") == 0) { /* people do not set provenance as an option */
            options->command = text;
            continue;
        }
        const mercer_status rc = mercer_fit_options_set(options, name, text, &err);
        if (rc != MERCER_OK) {
            core_raise(state, NULL, rc, &err);
            return false;
        }
    }
    return true;
}

static PyObject *report_dict(const mercer_fit_report *report)
{
    return Py_BuildValue(
        "{sssssssLsLsLsdsdsdsdsd}", "store", report->store, "store_reason", report->store_reason,
        "solver", report->solver, "store_bytes", (long long)report->store_bytes, "store_rank",
        (long long)report->store_rank, "passes", (long long)report->passes, "residual",
        report->residual, "reconstruction_error", report->reconstruction_error,
        "projection_variance", report->projection_variance, "total_variance",
        report->total_variance, "seconds", report->seconds);
}

PyDoc_STRVAR(fit_doc,
             "fit(context, type, options, rows, targets, landmarks, validation,\n"
             "    validation_targets, want_features)\n--\n\n"
             "Fit a model: (model, report, features of the rows or None). options is a dict of\n"
             "texts, type the class of the model; targets and the next three may be None.");
static PyObject *fit(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *type = NULL, *texts = NULL, *targets = NULL, *landmarks = NULL;
    PyObject *validation = NULL, *validation_targets = NULL;
    core_rows *rows = NULL;
    const mercer_targets *learnt = NULL;
    PyThreadState *thread = NULL;
    mercer_fit_options options;
    mercer_fit_report report;
    mercer_model *model = NULL;
    mercer_error err;
    int want_features = 0;
    if (!PyArg_ParseTuple(args, "O!OO!O!OOOOp", state->context, &context, &type, &PyDict_Type,
                          &texts, state->rows, &rows, &targets, &landmarks, &validation,
                          &validation_targets, &want_features) ||
        !is_model_type(state, type) || !core_read_options(state, texts, &options) ||
        !core_targets_or_none(state, targets, &learnt) ||
        !core_rows_or_none(state, landmarks, &options.landmarks) ||
        !core_rows_or_none(state, validation, &options.validation) ||
        !core_targets_or_none(state, validation_targets, &options.validation_targets))
        return NULL;
    options.want_features = want_features;
    mercer_fit_report_init(&report);
    if (!core_begin(context, &thread))
        return NULL;
    const mercer_status rc =
        mercer_fit(context->ctx, &options, rows->rows, learnt, &model, &report, &err);
    core_end(context, thread);
    if (rc != MERCER_OK)
        return core_raise(state, context, rc, &err);
    mercer_model_info info;
    mercer_model_info_init(&info);
    mercer_model_get_info(model, &info);
    const mercer_array table = {.struct_size = sizeof table,
                                .data = report.features,
                                .dtype = MERCER_F64,
                                .rank = 2,
                                .shape = {mercer_rows_count(rows->rows), info.components}};
    PyObject *features =
        report.features ? core_view_new(state, NULL, report.features, &table) : Py_NewRef(Py_None);
    PyObject *wrapped = wrap(type, model);
    PyObject *told = report_dict(&report);
    PyObject *out = wrapped && told && features ? PyTuple_Pack(3, wrapped, told, features) : NULL;
    Py_XDECREF(wrapped);
    Py_XDECREF(told);
    Py_XDECREF(features);
    return out;
}

/* All rows into a stream, to its end, and a share of its model. */
static mercer_status learn(mercer_ctx *ctx, const mercer_model *from,
                           const mercer_fit_options *options, const mercer_rows *rows,
                           mercer_model **out, mercer_fit_report *report, mercer_error *err)
{
    mercer_stream *stream = NULL;
    const mercer_model *lent = NULL;
    mercer_status rc = from ? mercer_stream_continue(ctx, from, &stream, err)
                            : mercer_stream_new(ctx, options, &stream, err);
    if (rc == MERCER_OK) {
        mercer_stream_begin_input(stream);
        rc = mercer_stream_push(ctx, stream, rows, err);
    }
    if (rc == MERCER_OK)
        rc = mercer_stream_flush(ctx, stream, err);
    if (rc == MERCER_OK)
        rc = mercer_stream_model(ctx, stream, &lent, report, err);
    if (rc == MERCER_OK)
        *out = mercer_model_share(lent);
    mercer_stream_free(stream);
    return rc;
}

PyDoc_STRVAR(learn_doc, "learn(context, type, model, options, rows)\n--\n\n"
                        "Let a streaming method learn from rows: (model, report). It goes on from\n"
                        "model, or starts by options where that is None.");
static PyObject *learn_rows(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *type = NULL, *from = NULL, *texts = NULL;
    core_rows *rows = NULL;
    PyThreadState *thread = NULL;
    mercer_fit_options options;
    mercer_fit_report report;
    mercer_model *model = NULL;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!OOO!O!", state->context, &context, &type, &from, &PyDict_Type,
                          &texts, state->rows, &rows) ||
        !is_model_type(state, type) || !core_read_options(state, texts, &options))
        return NULL;
    if (from != Py_None &&
        (!PyObject_TypeCheck(from, state->model) || !model_of((core_model *)from))) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a model or None is needed");
        return NULL;
    }
    mercer_fit_report_init(&report);
    if (!core_begin(context, &thread))
        return NULL;
    const mercer_status rc =
        learn(context->ctx, from == Py_None ? NULL : ((core_model *)from)->model, &options,
              rows->rows, &model, &report, &err);
    core_end(context, thread);
    if (rc != MERCER_OK)
        return core_raise(state, context, rc, &err);
    PyObject *wrapped = wrap(type, model);
    PyObject *told = wrapped ? report_dict(&report) : NULL;
    PyObject *out = told ? PyTuple_Pack(2, wrapped, told) : NULL;
    Py_XDECREF(wrapped);
    Py_XDECREF(told);
    return out;
}

PyDoc_STRVAR(transform_doc,
             "transform(context, model, rows, self, out, errors)\n--\n\n"
             "Features of rows into out, a table of doubles or floats; squared reconstruction\n"
             "errors into errors, doubles, unless it is None. self: k(x,x) for a precomputed\n"
             "kernel, or None.");
static PyObject *transform(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_model *model = NULL;
    core_rows *rows = NULL;
    PyObject *self_object = NULL, *out_object = NULL, *errors_object = NULL;
    Py_buffer all[3] = {0}, *self = all, *out = all + 1, *errors = all + 2;
    PyThreadState *thread = NULL;
    mercer_model_info info;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!O!O!OOO", state->context, &context, state->model, &model,
                          state->rows, &rows, &self_object, &out_object, &errors_object) ||
        !get_info(model, &info))
        return NULL;
    const Py_ssize_t n = mercer_rows_count(rows->rows);
    if (PyObject_GetBuffer(out_object, out, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE))
        return NULL;
    const char format = out->format && !out->format[1] ? out->format[0] : '?';
    mercer_array into = {.struct_size = sizeof into,
                         .data = out->buf,
                         .dtype = format == 'f' ? MERCER_F32 : MERCER_F64,
                         .rank = 2,
                         .shape = {n, info.components}};
    if ((format != 'd' && format != 'f') || out->len / out->itemsize != n * info.components)
        PyErr_SetString(PyExc_ValueError, "out must be a table of doubles or floats of this size");
    else if (core_get_buffer_or_none(self_object, "d", n, false, "self", self) &&
             core_get_buffer_or_none(errors_object, "d", n, true, "errors", errors) &&
             core_begin(context, &thread)) {
        const mercer_status rc = mercer_model_transform_into(context->ctx, model->model, rows->rows,
                                                             self->buf, &into, errors->buf, &err);
        core_end(context, thread);
        if (rc != MERCER_OK)
            core_raise(state, context, rc, &err);
    }
    return release(all, 3);
}

PyDoc_STRVAR(predict_doc, "predict(context, model, rows, components, scores, codes)\n--\n\n"
                          "Predictions of the first components (0: all) into scores, doubles, and\n"
                          "codes of classes, int64, unless that is None.");
static PyObject *predict(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_model *model = NULL;
    core_rows *rows = NULL;
    long long components = 0;
    PyObject *scores_object = NULL, *codes_object = NULL;
    Py_buffer all[2] = {0}, *scores = all, *codes = all + 1;
    PyThreadState *thread = NULL;
    mercer_model_info info;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!O!O!LOO", state->context, &context, state->model, &model,
                          state->rows, &rows, &components, &scores_object, &codes_object) ||
        !get_info(model, &info))
        return NULL;
    const Py_ssize_t n = mercer_rows_count(rows->rows);
    if (core_get_buffer(scores_object, "d", n * info.head_outputs, true, "scores", scores) &&
        core_get_buffer_or_none(codes_object, "q", n, true, "codes", codes) &&
        core_begin(context, &thread)) {
        const mercer_status rc = mercer_model_predict(context->ctx, model->model, rows->rows,
                                                      components, scores->buf, codes->buf, &err);
        core_end(context, thread);
        if (rc != MERCER_OK)
            core_raise(state, context, rc, &err);
    }
    return release(all, 2);
}

PyDoc_STRVAR(p_values_doc, "p_values(model, errors, out)\n--\n\n"
                           "p-values of reconstruction errors into out; all doubles.");
static PyObject *p_values(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_model *model = NULL;
    PyObject *errors_object = NULL, *out_object = NULL;
    Py_buffer all[2] = {0}, *errors = all, *out = all + 1;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!OO", state->model, &model, &errors_object, &out_object) ||
        !model_of(model) || !core_get_buffer(errors_object, "d", -1, false, "errors", errors))
        return NULL;
    const Py_ssize_t count = errors->len / errors->itemsize;
    if (core_get_buffer(out_object, "d", count, true, "out", out)) {
        const mercer_status rc =
            mercer_model_p_values(model->model, errors->buf, count, out->buf, &err);
        if (rc != MERCER_OK)
            core_raise(state, NULL, rc, &err);
    }
    return release(all, 2);
}

PyDoc_STRVAR(half_widths_doc, "half_widths(model, coverage, out)\n--\n\n"
                              "Half the widths of intervals around predictions into out, doubles,\n"
                              "one per target.");
static PyObject *half_widths(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_model *model = NULL;
    PyObject *out_object = NULL;
    Py_buffer out = {0};
    double coverage = 0;
    mercer_model_info info;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!dO", state->model, &model, &coverage, &out_object) ||
        !get_info(model, &info))
        return NULL;
    if (core_get_buffer(out_object, "d", (Py_ssize_t)info.head_outputs, true, "out", &out)) {
        const mercer_status rc = mercer_model_half_widths(model->model, coverage, out.buf, &err);
        if (rc != MERCER_OK)
            core_raise(state, NULL, rc, &err);
    }
    return release(&out, 1);
}

PyDoc_STRVAR(inverse_doc, "inverse(context, model, features, out, errors)\n--\n\n"
                          "Pre-images of features into out, squared distances into errors unless\n"
                          "that is None; all doubles.");
static PyObject *inverse(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_model *model = NULL;
    PyObject *features_object = NULL, *out_object = NULL, *errors_object = NULL;
    Py_buffer all[3] = {0}, *features = all, *out = all + 1, *errors = all + 2;
    PyThreadState *thread = NULL;
    mercer_model_info info;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!O!OOO", state->context, &context, state->model, &model,
                          &features_object, &out_object, &errors_object) ||
        !get_info(model, &info) ||
        !core_get_buffer(features_object, "d", -1, false, "features", features))
        return NULL;
    const Py_ssize_t n = features->len / features->itemsize / (Py_ssize_t)info.components;
    if (features->len / features->itemsize != n * info.components)
        PyErr_Format(PyExc_ValueError, "features do not have the %lld columns of the model",
                     (long long)info.components);
    else if (core_get_buffer(out_object, "d", n * info.columns, true, "out", out) &&
             core_get_buffer_or_none(errors_object, "d", n, true, "errors", errors) &&
             core_begin(context, &thread)) {
        const mercer_status rc = mercer_model_inverse(context->ctx, model->model, features->buf, n,
                                                      out->buf, errors->buf, &err);
        core_end(context, thread);
        if (rc != MERCER_OK)
            core_raise(state, context, rc, &err);
    }
    return release(all, 3);
}

PyDoc_STRVAR(truncate_doc, "truncate(context, type, model, components)\n--\n\n"
                           "The first components of a model as a model of its own.");
static PyObject *truncate_model(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_model *model = NULL;
    PyObject *type = NULL;
    long long components = 0;
    PyThreadState *thread = NULL;
    mercer_model *shorter = NULL;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!OO!L", state->context, &context, &type, state->model, &model,
                          &components) ||
        !is_model_type(state, type) || !model_of(model) || !core_begin(context, &thread))
        return NULL;
    const mercer_status rc =
        mercer_model_truncate(context->ctx, model->model, components, &shorter, &err);
    core_end(context, thread);
    return rc == MERCER_OK ? wrap(type, shorter) : core_raise(state, context, rc, &err);
}

PyDoc_STRVAR(save_doc, "save(context, model, path)\n--\n\n"
                       "Write a model to a file, whole or not at all.");
static PyObject *save(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_model *model = NULL;
    PyObject *path = NULL;
    PyThreadState *thread = NULL;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!O!O&", state->context, &context, state->model, &model,
                          PyUnicode_FSConverter, &path))
        return NULL;
    if (model_of(model) && core_begin(context, &thread)) {
        const mercer_status rc =
            mercer_model_save(context->ctx, model->model, PyBytes_AsString(path), &err);
        core_end(context, thread);
        if (rc != MERCER_OK)
            core_raise(state, context, rc, &err);
    }
    Py_DECREF(path);
    return release(NULL, 0);
}

PyDoc_STRVAR(load_doc, "load(context, type, path, untrusted)\n--\n\n"
                       "The model of a file; untrusted: under the limits for those of strangers.");
static PyObject *load(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *type = NULL, *path = NULL, *out = NULL;
    PyThreadState *thread = NULL;
    mercer_model *model = NULL;
    mercer_error err;
    mercer_limits limits;
    int untrusted = 0;
    if (!PyArg_ParseTuple(args, "O!OO&p", state->context, &context, &type, PyUnicode_FSConverter,
                          &path, &untrusted))
        return NULL;
    mercer_limits_init(&limits);
    if (untrusted)
        mercer_limits_untrusted(&limits);
    if (is_model_type(state, type) && core_begin(context, &thread)) {
        mercer_status rc = mercer_ctx_set_limits(context->ctx, &limits, &err);
        if (rc == MERCER_OK)
            rc = mercer_model_load(context->ctx, PyBytes_AsString(path), &model, &err);
        (void)mercer_ctx_set_limits(context->ctx, NULL, NULL); /* others will use the context */
        core_end(context, thread);
        out = rc == MERCER_OK ? wrap(type, model) : core_raise(state, context, rc, &err);
    }
    Py_DECREF(path);
    return out;
}

PyDoc_STRVAR(to_bytes_doc, "to_bytes(context, model)\n--\n\nThe bytes of the file of a model.");
static PyObject *to_bytes(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_model *model = NULL;
    PyThreadState *thread = NULL;
    void *bytes = NULL;
    size_t size = 0;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!O!", state->context, &context, state->model, &model) ||
        !model_of(model) || !core_begin(context, &thread))
        return NULL;
    const mercer_status rc = mercer_model_to_bytes(context->ctx, model->model, &bytes, &size, &err);
    core_end(context, thread);
    if (rc != MERCER_OK)
        return core_raise(state, context, rc, &err);
    PyObject *out = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    mercer_free(bytes);
    return out;
}

PyDoc_STRVAR(from_bytes_doc, "from_bytes(context, type, bytes)\n--\n\nThe model of such bytes.");
static PyObject *from_bytes(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *type = NULL, *out = NULL;
    Py_buffer bytes;
    PyThreadState *thread = NULL;
    mercer_model *model = NULL;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!Oy*", state->context, &context, &type, &bytes))
        return NULL;
    if (is_model_type(state, type) && core_begin(context, &thread)) {
        const mercer_status rc =
            mercer_model_from_bytes(context->ctx, bytes.buf, (size_t)bytes.len, &model, &err);
        core_end(context, thread);
        out = rc == MERCER_OK ? wrap(type, model) : core_raise(state, context, rc, &err);
    }
    PyBuffer_Release(&bytes);
    return out;
}

/* ---- what a model is --------------------------------------------------------------------------
 */

static bool put(PyObject *dict, const char *key, PyObject *value)
{
    const bool good = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return good;
}

static bool put_text(PyObject *dict, const char *key, const char *text)
{
    return put(dict, key, text ? core_text(text) : Py_NewRef(Py_None));
}

static bool put_count(PyObject *dict, const char *key, int64_t count)
{
    return put(dict, key, PyLong_FromLongLong(count));
}

static bool put_real(PyObject *dict, const char *key, double value)
{
    return put(dict, key, isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value));
}

static bool put_truth(PyObject *dict, const char *key, int value)
{
    return put(dict, key, PyBool_FromLong(value));
}

static PyObject *info_dict(const mercer_model_info *info)
{
    PyObject *out = PyDict_New();
    if (!out)
        return NULL;
    static const char *const kinds[] = {"none", "classes", "values"};
    const bool good =
        put_text(out, "method", info->method) && put_text(out, "kernel", info->kernel) &&
        put_text(out, "center", info->center) && put_text(out, "scale", info->scale) &&
        put_count(out, "components", info->components) &&
        put_count(out, "columns", info->columns) && put_count(out, "rows", info->rows) &&
        put_count(out, "expansion_points", info->expansion_points) &&
        put_truth(out, "orthonormal", info->orthonormal) &&
        put_truth(out, "has_spectrum", info->spectrum != NULL) &&
        put_real(out, "total_variance", info->total_variance) &&
        put_real(out, "reconstruction_error", info->reconstruction_error) &&
        put_text(out, "version", info->version) && put_text(out, "command", info->command) &&
        put_text(out, "data_hash", info->data_hash) &&
        put(out, "seed", PyLong_FromUnsignedLongLong(info->seed)) &&
        put_real(out, "novelty_threshold", info->novelty_threshold) &&
        put_real(out, "novelty_share", info->novelty_share) &&
        put_truth(out, "correlated", info->correlated) && put_text(out, "head", info->head) &&
        put_text(out, "head_kind", info->head ? kinds[info->head_kind] : NULL) &&
        put_count(out, "head_outputs", info->head_outputs) &&
        put_text(out, "scale_target", info->scale_target) && put_text(out, "map", info->map) &&
        put_count(out, "stream_blocks", info->stream_blocks) &&
        put_truth(out, "stream_unfinished", info->stream_unfinished) &&
        put_real(out, "weight", info->weight) && put_truth(out, "nested", info->nested) &&
        put_truth(out, "invertible", info->invertible) &&
        put_truth(out, "precomputed", info->precomputed) && put_truth(out, "sparse", info->sparse);
    if (!good)
        Py_CLEAR(out);
    return out;
}

PyDoc_STRVAR(info_doc, "info(model)\n--\n\nWhat a model is, as a dict.");
static PyObject *info(PyObject *module, PyObject *model)
{
    mercer_model_info told;
    if (!PyObject_TypeCheck(model, core_state_of(module)->model))
        return PyErr_Format(PyExc_TypeError, "a model is needed");
    if (!get_info((core_model *)model, &told))
        return NULL;
    return info_dict(&told);
}

PyDoc_STRVAR(sizes_doc,
             "sizes(model)\n--\n\n(columns, components, outputs of the head) of a model.");
static PyObject *sizes(PyObject *module, PyObject *model)
{
    mercer_model_info told;
    if (!PyObject_TypeCheck(model, core_state_of(module)->model))
        return PyErr_Format(PyExc_TypeError, "a model is needed");
    if (!get_info((core_model *)model, &told))
        return NULL;
    return Py_BuildValue("(LLL)", (long long)told.columns, (long long)told.components,
                         (long long)told.head_outputs);
}

PyDoc_STRVAR(names_doc,
             "names(model, outputs)\n--\n\n"
             "Names of the columns, or of the head's outputs; None where there are none.");
static PyObject *names(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_model *model = NULL;
    int outputs = 0;
    mercer_model_info told;
    if (!PyArg_ParseTuple(args, "O!p", state->model, &model, &outputs) || !get_info(model, &told))
        return NULL;
    const int64_t count = outputs ? told.head_outputs : told.columns;
    PyObject *out = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; out && i < count; i++) {
        const char *name = outputs ? mercer_model_output_name(model->model, i)
                                   : mercer_model_column_name(model->model, i);
        if (!name) {
            Py_DECREF(out);
            Py_RETURN_NONE;
        }
        PyObject *text = core_text(name);
        if (!text || PyList_SetItem(out, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(out);
    }
    return out;
}

PyDoc_STRVAR(array_doc, "array(model, name)\n--\n\n"
                        "An array of the model as a buffer, or None when this model has none.");
static PyObject *array(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_model *model = NULL;
    const char *name = NULL;
    mercer_array what;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!s", state->model, &model, &name) || !model_of(model))
        return NULL;
    mercer_array_init(&what);
    const mercer_status rc = mercer_model_array(model->model, name, &what, &err);
    if (rc == MERCER_ERR_UNSUPPORTED)
        Py_RETURN_NONE;
    if (rc != MERCER_OK)
        return core_raise(state, NULL, rc, &err);
    return core_view_new(state, (PyObject *)model, NULL, &what);
}

PyDoc_STRVAR(array_names_doc, "array_names()\n--\n\nNames of all arrays that models have.");
static PyObject *array_names(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *out = PyList_New(0);
    const char *name = NULL;
    for (int i = 0; out && (name = mercer_model_array_name(i)); i++) {
        PyObject *text = core_text(name);
        if (!text || PyList_Append(out, text) < 0)
            Py_CLEAR(out);
        Py_XDECREF(text);
    }
    return out;
}

PyMethodDef core_model_functions[] = {
    {"fit", fit, METH_VARARGS, fit_doc},
    {"learn", learn_rows, METH_VARARGS, learn_doc},
    {"transform", transform, METH_VARARGS, transform_doc},
    {"predict", predict, METH_VARARGS, predict_doc},
    {"p_values", p_values, METH_VARARGS, p_values_doc},
    {"half_widths", half_widths, METH_VARARGS, half_widths_doc},
    {"inverse", inverse, METH_VARARGS, inverse_doc},
    {"truncate", truncate_model, METH_VARARGS, truncate_doc},
    {"save", save, METH_VARARGS, save_doc},
    {"load", load, METH_VARARGS, load_doc},
    {"to_bytes", to_bytes, METH_VARARGS, to_bytes_doc},
    {"from_bytes", from_bytes, METH_VARARGS, from_bytes_doc},
    {"info", info, METH_O, info_doc},
    {"sizes", sizes, METH_O, sizes_doc},
    {"names", names, METH_VARARGS, names_doc},
    {"array", array, METH_VARARGS, array_doc},
    {"array_names", array_names, METH_NOARGS, array_names_doc},
    {NULL, NULL, 0, NULL},
};
