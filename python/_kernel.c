/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of kernels, and kernels written in Python: called from the threads of the library, each of
 * which takes the interpreter lock for it. Rows are handed over as copies, so that a function may
 * keep them. */
#include "_core.h"

#include <stdio.h>
#include <string.h>

/* In the key of an error: the exception of a callback, whose number is in row. */
static const char callback_key[] = "callback";
enum { MAX_KEPT = 64 }; /* exceptions of threads that nobody asked about */

struct kernel {
    core_state *state;
    PyObject *function;
};

static void kernel_release(void *host)
{
    struct kernel *kernel = host;
    const PyGILState_STATE held = PyGILState_Ensure();
    Py_DECREF(kernel->function);
    PyMem_Free(kernel);
    PyGILState_Release(held);
}

/* Rows as bytes without what lies between them. */
static PyObject *pack(const double *x, int64_t n, int64_t ld, int64_t d)
{
    const Py_ssize_t row = (Py_ssize_t)d * (Py_ssize_t)sizeof *x;
    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n * row);
    char *to = out ? PyBytes_AsString(out) : NULL;
    for (int64_t i = 0; to && i < n; i++)
        memcpy(to + i * row, x + i * ld, (size_t)row);
    return out;
}

/* Remember the exception that is raised now, and say in err which one it is. */
static mercer_status keep(core_state *state, mercer_error *err)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        PyException_SetTraceback(value, traceback);
    if (PyDict_Size(state->raised) >= MAX_KEPT)
        PyDict_Clear(state->raised);
    PyObject *number = PyLong_FromLongLong(++state->raised_count);
    if (number && value && PyDict_SetItem(state->raised, number, value) == 0) {
        err->row = state->raised_count;
        snprintf(err->key, sizeof err->key, "%s", callback_key);
    }
    PyErr_Clear();
    snprintf(err->text, sizeof err->text, "the kernel function raised an exception");
    Py_XDECREF(number);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return err->code = MERCER_ERR_DATA;
}

PyObject *core_take_raised(core_state *state, const mercer_error *err)
{
    if (strcmp(err->key, callback_key) != 0)
        return NULL;
    PyObject *number = PyLong_FromLongLong(err->row);
    PyObject *value = number ? PyDict_GetItemWithError(state->raised, number) : NULL;
    Py_XINCREF(value);
    if (value)
        PyDict_DelItem(state->raised, number);
    Py_XDECREF(number);
    PyErr_Clear();
    return value;
}

static mercer_status kernel_call(void *host, const double *x, int64_t nx, int64_t ldx,
                                 const double *y, int64_t ny, int64_t ldy, int64_t d, double *out,
                                 int64_t ldo, mercer_error *err)
{
    const struct kernel *kernel = host;
    const PyGILState_STATE held = PyGILState_Ensure();
    mercer_status rc = MERCER_OK;
    PyObject *left = pack(x, nx, ldx, d), *right = left ? pack(y, ny, ldy, d) : NULL;
    PyObject *answer = right ? PyObject_CallFunction(kernel->function, "LLLOO", (long long)nx,
                                                     (long long)ny, (long long)d, left, right)
                             : NULL;
    Py_buffer values;
    if (answer && core_get_buffer(answer, "d", (Py_ssize_t)(nx * ny), false,
                                  "what the kernel gives", &values)) {
        for (int64_t i = 0; i < nx; i++)
            memcpy(out + i * ldo, (const double *)values.buf + i * ny, (size_t)ny * sizeof *out);
        PyBuffer_Release(&values);
    } else
        rc = keep(kernel->state, err);
    Py_XDECREF(answer);
    Py_XDECREF(left);
    Py_XDECREF(right);
    PyGILState_Release(held);
    return rc;
}

PyDoc_STRVAR(
    add_kernel_doc,
    "add_kernel(context, name, function, semidefinite)\n--\n\n"
    "Give a kernel of Python a name in a context. The function gets (nx, ny, d, x, y), x and\n"
    "y as bytes of doubles, and gives nx x ny doubles.");
static PyObject *add_kernel(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *function = NULL;
    const char *name = NULL;
    int semidefinite = 0;
    mercer_error err;
    if (!PyArg_ParseTuple(args, "O!sOp", state->context, &context, &name, &function, &semidefinite))
        return NULL;
    struct kernel *kernel = PyMem_Calloc(1, sizeof *kernel);
    if (!kernel)
        return PyErr_NoMemory();
    *kernel = (struct kernel){state, Py_NewRef(function)};
    const mercer_status rc = mercer_ctx_add_kernel_owned(context->ctx, name, kernel_call, kernel,
                                                         kernel_release, semidefinite, &err);
    if (rc != MERCER_OK) {
        kernel_release(kernel);
        return core_raise(state, context, rc, &err);
    }
    Py_RETURN_NONE;
}

/* ---- values of kernels ------------------------------------------------------------------------
 */

/* Columns of the kernel matrix, which a criterion may ask for. */
struct columns {
    const int64_t *rows;
    int64_t count;
    double *out;
    bool is_done;
};

/* Take the columns and choose no direction, which ends the fit. */
static mercer_status take_columns(void *host, mercer_step *step, double *beta, mercer_error *err)
{
    struct columns *wanted = host;
    (void)beta;
    const mercer_status rc =
        mercer_step_columns(step, wanted->rows, wanted->count, wanted->out, err);
    wanted->is_done = rc == MERCER_OK;
    return rc;
}

PyDoc_STRVAR(kernel_columns_doc, "kernel_columns(context, kernel, rows, index, out)\n--\n\n"
                                 "Kernel values of all rows with those of index, int64, into out:\n"
                                 "len(index) x rows doubles.");
static PyObject *kernel_columns(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    core_rows *rows = NULL;
    const char *kernel = NULL;
    PyObject *index_object = NULL, *out_object = NULL;
    Py_buffer index = {0}, out = {0};
    PyThreadState *thread = NULL;
    mercer_error err = {0}; /* a fit may succeed without the columns */
    if (!PyArg_ParseTuple(args, "O!sO!OO", state->context, &context, &kernel, state->rows, &rows,
                          &index_object, &out_object) ||
        !core_get_buffer(index_object, "q", -1, false, "index", &index))
        return NULL;
    const int64_t n = mercer_rows_count(rows->rows);
    struct columns wanted = {.rows = index.buf, .count = index.len / 8};
    bool good = core_get_buffer(out_object, "d", (Py_ssize_t)(n * wanted.count), true, "out", &out);
    for (int64_t i = 0; good && i < wanted.count; i++)
        if (wanted.rows[i] < 0 || wanted.rows[i] >= n) {
            PyErr_SetString(PyExc_IndexError, "index names no row");
            good = false;
        }
    /* A criterion learns from targets; these are not looked at. */
    double *zeroes = good ? PyMem_Calloc((size_t)n + 1, sizeof *zeroes) : NULL;
    mercer_targets *targets = NULL;
    mercer_model *model = NULL;
    if (zeroes) {
        zeroes[0] = 1;
        mercer_criterion criterion;
        mercer_fit_options options;
        mercer_criterion_init(&criterion);
        criterion.name = "columns";
        criterion.choose = take_columns;
        criterion.host = &wanted;
        mercer_fit_options_init(&options);
        options.criterion = &criterion;
        options.kernel = kernel;
        options.center = "none";
        options.store = "stream"; /* exact, and holds nothing */
        options.head = "none";
        wanted.out = out.buf;
        mercer_status rc = mercer_targets_new_values(zeroes, n, 1, NULL, &targets, &err);
        if (rc == MERCER_OK && core_begin(context, &thread)) {
            rc = mercer_fit(context->ctx, &options, rows->rows, targets, &model, NULL, &err);
            core_end(context, thread);
        }
        if (!wanted.is_done && !PyErr_Occurred())
            core_raise(state, context, rc == MERCER_OK ? MERCER_ERR_UNSUPPORTED : rc, &err);
    } else if (good)
        PyErr_NoMemory();
    mercer_model_free(model);
    mercer_targets_free(targets);
    PyMem_Free(zeroes);
    PyBuffer_Release(&out);
    PyBuffer_Release(&index);
    if (!wanted.is_done)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef core_kernel_functions[] = {
    {"kernel_columns", kernel_columns, METH_VARARGS, kernel_columns_doc},
    {"add_kernel", add_kernel, METH_VARARGS, add_kernel_doc},
    {NULL, NULL, 0, NULL},
};
