/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows and targets from arrays of the host, borrowed where they lie as the library wants them, and
 * memory of the library as buffers. */
#include "_core.h"

#include <string.h>

/* ---- buffers --------------------------------------------------------------------------------- */

/* The type of a buffer's values, or -1: format as the module struct spells it. */
static int dtype_of(const Py_buffer *buffer)
{
    const char *format = buffer->format ? buffer->format : "B";
    if (*format == '=' || *format == '@' || (*format == '<' && PY_LITTLE_ENDIAN))
        format++;
    if (format[0] == '\0' || format[1] != '\0')
        return -1;
    switch (*format) {
    case 'd':
        return MERCER_F64;
    case 'f':
        return MERCER_F32;
    case 'B':
        return MERCER_U8;
    case 'q':
        return MERCER_I64;
    case 'l':
        return buffer->itemsize == 8 ? MERCER_I64 : MERCER_I32;
    case 'i':
        return MERCER_I32;
    default:
        return -1;
    }
}

bool core_get_buffer(PyObject *object, const char *item, Py_ssize_t values, bool writable,
                     const char *name, Py_buffer *out)
{
    static const char letters[] = "dfBqi"; /* in the order of mercer_dtype */
    if (PyObject_GetBuffer(object, out,
                           PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)))
        return false;
    const int dtype = dtype_of(out);
    const bool is_wanted = dtype >= 0 && letters[dtype] == *item;
    if (is_wanted && (values < 0 || out->len / out->itemsize == values))
        return true;
    if (is_wanted)
        PyErr_Format(PyExc_ValueError, "%s has %zd values where %zd are needed", name,
                     out->len / out->itemsize, values);
    else
        PyErr_Format(PyExc_TypeError, "%s has values of type '%s' where '%s' is needed", name,
                     out->format ? out->format : "B", item);
    PyBuffer_Release(out);
    return false;
}

bool core_get_buffer_or_none(PyObject *object, const char *item, Py_ssize_t values, bool writable,
                             const char *name, Py_buffer *out)
{
    memset(out, 0, sizeof *out);
    return object == Py_None || core_get_buffer(object, item, values, writable, name, out);
}

/* A buffer as the library describes arrays; rank 1 or 2, of any layout. */
static bool describe(const Py_buffer *buffer, const char *name, mercer_array *out)
{
    const int dtype = dtype_of(buffer);
    mercer_array_init(out);
    if (dtype < 0 || buffer->ndim < 1 || buffer->ndim > 2) {
        PyErr_Format(PyExc_TypeError, "%s must be a table of numbers: it has %d axes of type '%s'",
                     name, buffer->ndim, buffer->format ? buffer->format : "B");
        return false;
    }
    out->data = buffer->buf;
    out->dtype = (mercer_dtype)dtype;
    out->rank = buffer->ndim;
    out->shape[1] = 1;
    for (int i = 0; i < buffer->ndim; i++) {
        const Py_ssize_t step = buffer->strides ? buffer->strides[i] : buffer->itemsize;
        if (step % buffer->itemsize) {
            PyErr_Format(PyExc_ValueError, "the steps of %s are not multiples of its values", name);
            return false;
        }
        out->shape[i] = buffer->shape[i];
        out->stride[i] = step / buffer->itemsize;
    }
    return true;
}

static void view_dealloc(PyObject *self)
{
    core_view *view = (core_view *)self;
    mercer_free(view->memory);
    Py_XDECREF(view->owner);
    core_delete(self);
}

static int view_get_buffer(PyObject *self, Py_buffer *out, int flags)
{
    core_view *view = (core_view *)self;
    const Py_ssize_t count = view->shape[0] * (view->rank > 1 ? view->shape[1] : 1);
    out->obj = NULL;
    const bool is_own = view->memory != NULL; /* handed over: nobody else looks at it */
    if (!is_own && (flags & PyBUF_WRITABLE)) {
        PyErr_SetString(PyExc_BufferError, "the arrays of a model cannot be changed");
        return -1;
    }
    memset(out, 0, sizeof *out);
    out->obj = Py_NewRef(self);
    out->buf = (void *)view->data;
    out->len = count * view->item;
    out->itemsize = view->item;
    out->readonly = !is_own;
    out->ndim = view->rank;
    out->format = flags & PyBUF_FORMAT ? (char *)view->format : NULL;
    out->shape = flags & PyBUF_ND ? view->shape : NULL;
    out->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? view->strides : NULL;
    return 0;
}

static PyType_Slot view_slots[] = {
    {Py_tp_doc, (void *)"Memory of the library, through the buffer protocol."},
    {Py_tp_dealloc, (void *)view_dealloc},
    {Py_bf_getbuffer, (void *)view_get_buffer},
    {0, NULL},
};
PyType_Spec core_view_spec = {.name = "mercer._core.View",
                              .basicsize = sizeof(core_view),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              .slots = view_slots};

PyObject *core_view_new(core_state *state, PyObject *owner, void *memory, const mercer_array *array)
{
    static const struct {
        const char *format;
        Py_ssize_t size;
    } types[] = {{"d", 8}, {"f", 4}, {"B", 1}, {"q", 8}, {"i", 4}};
    core_view *view = core_new(state->view);
    if (!view) {
        mercer_free(memory);
        return NULL;
    }
    view->owner = Py_XNewRef(owner);
    view->memory = memory;
    view->data = array->data;
    view->format = types[array->dtype].format;
    view->item = types[array->dtype].size;
    view->rank = array->rank;
    view->shape[0] = array->shape[0];
    view->shape[1] = array->rank > 1 ? array->shape[1] : 1;
    view->strides[1] = view->item;
    view->strides[0] = array->rank > 1 ? view->shape[1] * view->item : view->item;
    return (PyObject *)view;
}

const char **core_names(PyObject *sequence, Py_ssize_t *count, PyObject **held)
{
    *held = PySequence_Tuple(sequence);
    if (!*held)
        return NULL;
    *count = PyTuple_Size(*held);
    const char **names = PyMem_Calloc((size_t)*count + 1, sizeof *names);
    for (Py_ssize_t i = 0; names && i < *count; i++) {
        PyObject *name = PyTuple_GetItem(*held, i);
        Py_ssize_t length = 0;
        names[i] = PyUnicode_AsUTF8AndSize(name, &length);
        if (names[i] && strlen(names[i]) != (size_t)length) {
            PyErr_Format(PyExc_ValueError, "the name %R holds a zero byte", name);
            names[i] = NULL;
        }
        if (!names[i]) {
            PyMem_Free(names);
            Py_CLEAR(*held);
            return NULL;
        }
    }
    if (!names) {
        PyErr_NoMemory();
        Py_CLEAR(*held);
    }
    return names;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void rows_dealloc(PyObject *self)
{
    core_rows *rows = (core_rows *)self;
    mercer_rows_free(rows->rows);
    for (int i = 0; i < 3; i++)
        PyBuffer_Release(&rows->buffers[i]);
    core_delete(self);
}

CORE_TYPE(rows, "Rows", "Rows of numbers, dense or sparse, borrowed from arrays.");

/* Give the columns names; false with an exception. */
static bool name_columns(core_state *state, mercer_rows *rows, PyObject *names)
{
    PyObject *held = NULL;
    Py_ssize_t count = 0;
    mercer_error err;
    if (names == Py_None)
        return true;
    const char **list = core_names(names, &count, &held);
    if (!list)
        return false;
    mercer_status rc = MERCER_OK;
    if (count != mercer_rows_columns(rows))
        PyErr_Format(PyExc_ValueError, "%zd names for %lld columns", count,
                     (long long)mercer_rows_columns(rows));
    else
        rc = mercer_rows_set_names(rows, list, &err);
    PyMem_Free(list);
    Py_DECREF(held);
    if (rc != MERCER_OK)
        core_raise(state, NULL, rc, &err);
    return !PyErr_Occurred();
}

/* Rows that a call has made, with their names; freed where it failed. */
static PyObject *finish_rows(core_state *state, core_context *context, core_rows *out,
                             PyObject *names, mercer_status rc, const mercer_error *err)
{
    if (rc != MERCER_OK)
        core_raise(state, context, rc, err);
    else if (name_columns(state, out->rows, names))
        return (PyObject *)out;
    Py_DECREF(out);
    return NULL;
}

PyDoc_STRVAR(
    rows_dense_doc,
    "rows_dense(context, array, names)\n--\n\n"
    "Rows of a table of doubles, floats or bytes. It is borrowed when its rows lie in one\n"
    "piece each, and copied else; names are those of its columns, or None.");
static PyObject *rows_dense(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *object = NULL, *names = NULL;
    PyThreadState *thread = NULL;
    mercer_array array;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!OO", state->context, &context, &object, &names))
        return NULL;
    core_rows *out = core_new(state->rows);
    if (!out)
        return NULL;
    if (PyObject_GetBuffer(object, &out->buffers[0], PyBUF_STRIDES | PyBUF_FORMAT) != 0 ||
        !describe(&out->buffers[0], "the table", &array) || !core_begin(context, &thread)) {
        Py_DECREF(out);
        return NULL;
    }
    const mercer_status rc = mercer_rows_view(context->ctx, &array, &out->rows, &err);
    core_end(context, thread);
    return finish_rows(state, context, out, names, rc, &err);
}

PyDoc_STRVAR(rows_csr_doc,
             "rows_csr(context, start, column, value, columns, names)\n--\n\n"
             "Sparse rows from the three arrays of CSR; what is not int64, int32 and\n"
             "float64 is copied.");
static PyObject *rows_csr(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *objects[3], *names = NULL;
    PyThreadState *thread = NULL;
    long long columns = 0;
    mercer_array arrays[3];
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!OOOLO", state->context, &context, &objects[0], &objects[1],
                          &objects[2], &columns, &names))
        return NULL;
    core_rows *out = core_new(state->rows);
    if (!out)
        return NULL;
    static const char *const called[] = {"indptr", "indices", "data"};
    for (int i = 0; i < 3; i++)
        if (PyObject_GetBuffer(objects[i], &out->buffers[i], PyBUF_STRIDES | PyBUF_FORMAT) != 0 ||
            !describe(&out->buffers[i], called[i], &arrays[i])) {
            Py_DECREF(out);
            return NULL;
        }
    if (!core_begin(context, &thread)) {
        Py_DECREF(out);
        return NULL;
    }
    const mercer_status rc = mercer_rows_view_csr(context->ctx, &arrays[0], &arrays[1], &arrays[2],
                                                  columns, &out->rows, &err);
    core_end(context, thread);
    return finish_rows(state, context, out, names, rc, &err);
}

/* ---- targets --------------------------------------------------------------------------------- */

static void targets_dealloc(PyObject *self)
{
    mercer_targets_free(((core_targets *)self)->targets);
    core_delete(self);
}

CORE_TYPE(targets, "Targets", "Classes or values of rows.");

PyDoc_STRVAR(targets_classes_doc, "targets_classes(codes, names)\n--\n\n"
                                  "One class per row: int64 indices of the names.");
static PyObject *targets_classes(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    PyObject *codes = NULL, *names = NULL, *held = NULL;
    Py_buffer buffer;
    Py_ssize_t count = 0;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "OO", &codes, &names) ||
        !core_get_buffer(codes, "q", -1, false, "codes", &buffer))
        return NULL;
    const char **list = core_names(names, &count, &held);
    core_targets *out = list ? core_new(state->targets) : NULL;
    if (out) {
        const mercer_status rc = mercer_targets_new_classes(
            buffer.buf, buffer.len / buffer.itemsize, list, count, NULL, &out->targets, &err);
        if (rc != MERCER_OK) {
            Py_CLEAR(out);
            core_raise(state, NULL, rc, &err);
        }
    }
    PyMem_Free(list);
    Py_XDECREF(held);
    PyBuffer_Release(&buffer);
    return (PyObject *)out;
}

PyDoc_STRVAR(targets_values_doc, "targets_values(values)\n--\n\n"
                                 "One or more values per row: a table of float64.");
static PyObject *targets_values(PyObject *module, PyObject *values)
{
    core_state *state = core_state_of(module);
    Py_buffer buffer;
    mercer_error err;
    if (!core_get_buffer(values, "d", -1, false, "values", &buffer))
        return NULL;
    core_targets *out = NULL;
    if (buffer.ndim != 2)
        PyErr_SetString(PyExc_ValueError, "values of targets have two axes");
    else if ((out = core_new(state->targets))) {
        const mercer_status rc = mercer_targets_new_values(
            buffer.buf, buffer.shape[0], buffer.shape[1], NULL, &out->targets, &err);
        if (rc != MERCER_OK) {
            Py_CLEAR(out);
            core_raise(state, NULL, rc, &err);
        }
    }
    PyBuffer_Release(&buffer);
    return (PyObject *)out;
}

PyMethodDef core_rows_functions[] = {
    {"rows_dense", rows_dense, METH_VARARGS, rows_dense_doc},
    {"rows_csr", rows_csr, METH_VARARGS, rows_csr_doc},
    {"targets_classes", targets_classes, METH_VARARGS, targets_classes_doc},
    {"targets_values", targets_values, METH_O, targets_values_doc},
    {NULL, NULL, 0, NULL},
};
