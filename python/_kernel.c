/* Kernels written in Python: called from the threads of the library, each of which takes the
 * interpreter lock for it. Rows are handed over as copies, so that a function may keep them. */
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

PyMethodDef core_kernel_functions[] = {
    {"add_kernel", add_kernel, METH_VARARGS, add_kernel_doc},
    {NULL, NULL, 0, NULL},
};
