/* SPDX-License-Identifier: BSD-3-Clause */
/* The module: contexts, errors as exceptions, and what there is in the library. */
#include "_core.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

core_state *core_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

void *core_new(PyTypeObject *type)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

void core_delete(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyTypeObject *core_add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, (PyTypeObject *)type) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

PyObject *core_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text ? text : "", text ? (Py_ssize_t)strlen(text) : 0, "replace");
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
    mercer_status status;
    const char *name, *doc;
    PyObject **base; /* the exception of Python that it is, too */
} error_list[] = {
    {MERCER_ERR_ARGUMENT, "ParameterError",
     "A parameter is unknown, missing or out of range; `key` names it.", &PyExc_ValueError},
    {MERCER_ERR_DATA, "DataError", "The data cannot be used; `row` and `column` tell where.",
     &PyExc_ValueError},
    {MERCER_ERR_FORMAT, "FormatError", "A file or its bytes are damaged, or of another kind.",
     &PyExc_ValueError},
    {MERCER_ERR_BUDGET, "BudgetError", "The work does not fit into the memory budget.",
     &PyExc_MemoryError},
    {MERCER_ERR_UNSUPPORTED, "UnsupportedError", "The model or kernel cannot do this.",
     &PyExc_NotImplementedError},
    {MERCER_ERR_NUMERIC, "NumericError", "A computation did not converge.", &PyExc_ArithmeticError},
    {MERCER_ERR_IO, "FileError", "A file cannot be read or written.", &PyExc_OSError},
    {MERCER_ERR_PEER, "PeerError", "Another rank of the evaluation failed.", &PyExc_RuntimeError},
    {MERCER_ERR_LIMIT, "LimitError", "A file has more than is taken of those that are not trusted.",
     &PyExc_ValueError},
};

static bool add_errors(PyObject *module, core_state *state)
{
    char name[64];
    state->base_error = PyErr_NewExceptionWithDoc(
        "mercer.MercerError", "Every error of the library, whatever else it is.", NULL, NULL);
    if (!state->base_error || PyModule_AddObjectRef(module, "MercerError", state->base_error) < 0)
        return false;
    for (size_t i = 0; i < sizeof error_list / sizeof *error_list; i++) {
        snprintf(name, sizeof name, "mercer.%s", error_list[i].name);
        PyObject *bases = PyTuple_Pack(2, state->base_error, *error_list[i].base);
        PyObject *error =
            bases ? PyErr_NewExceptionWithDoc(name, error_list[i].doc, bases, NULL) : NULL;
        Py_XDECREF(bases);
        if (!error)
            return false;
        state->errors[error_list[i].status] = error;
        if (PyModule_AddObjectRef(module, error_list[i].name, error) < 0)
            return false;
    }
    return true;
}

/* The parameter of an estimator that a key of the library is, into name. */
static void spell_key(const char *key, size_t length, char *name, size_t size)
{
    static const char *const spelled[][2] = {{"components", "n_components"},
                                             {"seed", "random_state"},
                                             {"threads", "n_jobs"},
                                             {"missing", ""},
                                             {"method", ""}};
    const char *dot = memchr(key, '.', length);
    const bool of_head = dot && strncmp(key, "head.", 5) == 0;
    if (dot && !of_head) { /* kernel.sigma, method.delta */
        length -= (size_t)(dot + 1 - key);
        key = dot + 1;
    } else if (of_head)
        length = 4;
    snprintf(name, size, "%.*s", (int)length, key);
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++)
        if (strcmp(name, spelled[i][0]) == 0)
            snprintf(name, size, "%s", spelled[i][1]);
}

/* Append what the parameter is called here, and what may help. */
static void spell(const mercer_error *err, char *text, size_t size)
{
    char name[64];
    const char *key = err->key;
    for (size_t used = strlen(text); *key; used = strlen(text)) {
        const size_t length = strcspn(key, " ");
        spell_key(key, length, name, sizeof name);
        const bool is_advice =
            strlen(err->advice_key) == length && strncmp(key, err->advice_key, length) == 0;
        if (*name && !is_advice)
            snprintf(text + used, size - used, " (parameter %s)", name);
        key += length + (key[length] == ' ');
    }
    if (err->advice_key[0]) {
        const size_t used = strlen(text);
        spell_key(err->advice_key, strlen(err->advice_key), name, sizeof name);
        if (*name && err->advice_value[0])
            snprintf(text + used, size - used, " (try %s='%s')", name, err->advice_value);
        else if (*name)
            snprintf(text + used, size - used, " (see parameter %s)", name);
    }
}

static bool set_text(PyObject *object, const char *name, const char *text)
{
    PyObject *value = text[0] ? core_text(text) : Py_NewRef(Py_None);
    const bool good = value && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return good;
}

static bool set_count(PyObject *object, const char *name, int64_t count)
{
    PyObject *value = count > 0 ? PyLong_FromLongLong(count - 1) : Py_NewRef(Py_None);
    const bool good = value && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return good;
}

/* Raise what a callback raised, if one did. */
static bool core_raise_kept(core_context *context)
{
    if (!context->raised_type)
        return false;
    PyErr_Restore(context->raised_type, context->raised_value, context->raised_traceback);
    context->raised_type = context->raised_value = context->raised_traceback = NULL;
    return true;
}

PyObject *core_raise(core_state *state, core_context *context, mercer_status status,
                     const mercer_error *err)
{
    if (context && core_raise_kept(context))
        return NULL;
    PyObject *raised = core_take_raised(state, err);
    if (raised) {
        PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
        Py_DECREF(raised);
        return NULL;
    }
    if (status == MERCER_ERR_MEMORY)
        return PyErr_NoMemory();
    PyObject *type = status > 0 && (int)status < CORE_STATUSES ? state->errors[status] : NULL;
    if (!type) { /* cancelled, by whom nobody said */
        PyErr_SetString(PyExc_KeyboardInterrupt, mercer_status_text(status));
        return NULL;
    }
    char text[sizeof err->text + 256];
    snprintf(text, sizeof text, "%s", err->text[0] ? err->text : mercer_status_text(status));
    spell(err, text, sizeof text);
    PyObject *message = core_text(text);
    PyObject *error = message ? PyObject_CallFunctionObjArgs(type, message, NULL) : NULL;
    char key[64] = "";
    spell_key(err->key, strcspn(err->key, " "), key, sizeof key);
    if (error && set_text(error, "key", key) && set_text(error, "column", err->column) &&
        set_text(error, "input", err->input) && set_count(error, "row", err->row) &&
        set_text(error, "advice_key", err->advice_key) &&
        set_text(error, "advice_value", err->advice_value))
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(message);
    return NULL;
}

/* ---- contexts -------------------------------------------------------------------------------- */

void core_keep_exception(core_context *context)
{
    if (context->raised_type) { /* the first one is the reason */
        PyErr_Clear();
        return;
    }
    PyErr_Fetch(&context->raised_type, &context->raised_value, &context->raised_traceback);
}

static int poll(void *host)
{
    core_context *context = host;
    const PyGILState_STATE held = PyGILState_Ensure();
    if (PyErr_CheckSignals() != 0)
        core_keep_exception(context);
    const int cancel = context->raised_type != NULL;
    PyGILState_Release(held);
    return cancel;
}

static void progress(void *host, const char *phase, double done)
{
    core_context *context = host;
    const PyGILState_STATE held = PyGILState_Ensure();
    if (context->progress && !context->raised_type) {
        PyObject *answer = PyObject_CallFunction(context->progress, "sd", phase, done);
        if (!answer) {
            core_keep_exception(context);
            mercer_ctx_cancel(context->ctx);
        }
        Py_XDECREF(answer);
    }
    PyGILState_Release(held);
}

static void notice(void *host, const mercer_notice *what)
{
    core_context *context = host;
    const PyGILState_STATE held = PyGILState_Ensure();
    char text[sizeof what->text + 256];
    snprintf(text, sizeof text, "%s", what->text);
    spell(what, text, sizeof text);
    PyObject *line = core_text(text), *cause = PyLong_FromLong(what->cause);
    PyObject *pair = line && cause ? PyTuple_Pack(2, line, cause) : NULL;
    if (!pair || PyList_Append(context->notices, pair) < 0)
        core_keep_exception(context);
    Py_XDECREF(pair);
    Py_XDECREF(line);
    Py_XDECREF(cause);
    PyGILState_Release(held);
}

bool core_begin(core_context *context, PyThreadState **thread)
{
    if (context->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "this context is in a call already");
        return false;
    }
    context->is_busy = true;
    mercer_ctx_resume(context->ctx);
    *thread = PyEval_SaveThread();
    return true;
}

void core_end(core_context *context, PyThreadState *thread)
{
    PyEval_RestoreThread(thread);
    context->is_busy = false;
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    mercer_error err;
    if (!PyArg_ParseTuple(args, "") || (keywords && PyDict_Size(keywords) > 0)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "Context takes no arguments");
        return NULL;
    }
    core_context *context = core_new(type);
    if (!context)
        return NULL;
    context->state = PyType_GetModuleState(type);
    context->notices = PyList_New(0);
    const mercer_status rc = mercer_ctx_new(&context->ctx, &err);
    if (rc != MERCER_OK && !PyErr_Occurred())
        core_raise(context->state, NULL, rc, &err);
    if (PyErr_Occurred()) {
        Py_DECREF(context);
        return NULL;
    }
    mercer_ctx_set_poll(context->ctx, poll, context);
    mercer_ctx_set_notice(context->ctx, notice, context);
    return (PyObject *)context;
}

static void context_dealloc(PyObject *self)
{
    core_context *context = (core_context *)self;
    mercer_ctx_free(context->ctx);
    Py_XDECREF(context->progress);
    Py_XDECREF(context->notices);
    Py_XDECREF(context->raised_type);
    Py_XDECREF(context->raised_value);
    Py_XDECREF(context->raised_traceback);
    core_delete(self);
}

static PyType_Slot context_slots[] = {
    {Py_tp_doc, (void *)"Threads, memory budget, seed and callbacks of one call at a time."},
    {Py_tp_new, (void *)context_new},
    {Py_tp_dealloc, (void *)context_dealloc},
    {0, NULL},
};
PyType_Spec core_context_spec = {.name = "mercer._core.Context",
                                 .basicsize = sizeof(core_context),
                                 .flags = Py_TPFLAGS_DEFAULT,
                                 .slots = context_slots};

static bool set_threads(core_context *context, PyObject *threads, mercer_status *rc,
                        mercer_error *err)
{
    if (threads == Py_None) {
        if (context->own_threads)
            *rc = mercer_ctx_set_threads(context->ctx, context->own_threads, err);
        return true;
    }
    const long count = PyLong_AsLong(threads);
    if (count == -1 && PyErr_Occurred())
        return false;
    if (!context->own_threads)
        context->own_threads = mercer_ctx_threads(context->ctx);
    *rc = mercer_ctx_set_threads(context->ctx,
                                 count < INT32_MIN   ? INT32_MIN
                                 : count > INT32_MAX ? INT32_MAX
                                                     : (int)count,
                                 err);
    return true;
}

static bool set_memory(core_context *context, PyObject *memory, mercer_status *rc,
                       mercer_error *err)
{
    if (memory == Py_None) {
        if (context->own_memory)
            *rc = mercer_ctx_set_memory(context->ctx, context->own_memory, err);
        return true;
    }
    const int64_t bytes = PyLong_AsLongLong(memory);
    if (bytes == -1 && PyErr_Occurred())
        return false;
    if (!context->own_memory)
        context->own_memory = mercer_ctx_memory(context->ctx);
    *rc = mercer_ctx_set_memory(context->ctx, bytes, err);
    return true;
}

PyDoc_STRVAR(set_doc, "set(context, threads, memory, seed, progress)\n--\n\n"
                      "Prepare a context for a call; None stands for the library's own choice.");
static PyObject *context_set(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_context *context = NULL;
    PyObject *threads = NULL, *memory = NULL, *progress_fn = NULL;
    unsigned long long seed = 0;
    mercer_error err;
    mercer_status rc = MERCER_OK;
    if (!PyArg_ParseTuple(args, "O!OOKO", state->context, &context, &threads, &memory, &seed,
                          &progress_fn))
        return NULL;
    if (!set_threads(context, threads, &rc, &err))
        return NULL;
    if (rc == MERCER_OK && !set_memory(context, memory, &rc, &err))
        return NULL;
    if (rc != MERCER_OK)
        return core_raise(state, NULL, rc, &err);
    mercer_ctx_set_seed(context->ctx, seed);
    PyObject *former = context->progress;
    context->progress = progress_fn == Py_None ? NULL : Py_NewRef(progress_fn);
    Py_XDECREF(former);
    mercer_ctx_set_progress(context->ctx, context->progress ? progress : NULL, context);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(take_notices_doc, "take_notices(context)\n--\n\n"
                               "What the library had to say since the last call: (text, cause).\n"
                               "An exception in a callback that came too late to end that call is\n"
                               "raised here.");
static PyObject *take_notices(PyObject *module, PyObject *context)
{
    if (!PyObject_TypeCheck(context, core_state_of(module)->context))
        return PyErr_Format(PyExc_TypeError, "a Context is needed");
    core_context *self = (core_context *)context;
    PyObject *fresh = PyList_New(0), *told = self->notices;
    if (!fresh)
        return NULL;
    self->notices = fresh;
    if (core_raise_kept(self))
        Py_CLEAR(told);
    return told;
}

/* ---- what there is ----------------------------------------------------------------------------
 */

PyDoc_STRVAR(library_doc, "library()\n--\n\n"
                          "Version of the library, and which BLAS it runs with.");
static PyObject *library(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("{sssssssssssz}", "version", mercer_version(), "blas", mercer_blas(),
                         "kernels", mercer_blas_kernels(), "kernels_vectors",
                         mercer_blas_kernels_vectors(), "processor_vectors",
                         mercer_processor_vectors(), "kernels_wider", mercer_blas_kernels_wider());
}

PyDoc_STRVAR(statuses_doc, "statuses()\n--\n\n"
                           "Every status of the library: (name, number, exception or None).");
static PyObject *statuses(PyObject *module, PyObject *unused)
{
    static const struct {
        const char *name;
        int number;
    } list[] = {
#define STATUS(name, number, text) {#name, number},
        MERCER_STATUS_LIST(STATUS)
#undef STATUS
    };
    const core_state *state = core_state_of(module);
    const size_t count = sizeof list / sizeof *list;
    (void)unused;
    PyObject *out = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; out && i < count; i++) {
        PyObject *error = list[i].number == MERCER_ERR_MEMORY      ? PyExc_MemoryError
                          : list[i].number == MERCER_ERR_CANCELLED ? PyExc_KeyboardInterrupt
                          : list[i].number < CORE_STATUSES         ? state->errors[list[i].number]
                                                                   : NULL;
        PyObject *row =
            Py_BuildValue("(siO)", list[i].name, list[i].number, error ? error : Py_None);
        if (!row || PyList_SetItem(out, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(out);
    }
    return out;
}

PyDoc_STRVAR(schema_doc, "schema()\n--\n\n"
                         "Methods, kernels, heads, options and formats with their keys, as JSON.");
static PyObject *schema(PyObject *module, PyObject *unused)
{
    char *json = NULL;
    mercer_error err;
    (void)unused;
    const mercer_status rc = mercer_schema_json(&json, &err);
    PyObject *out =
        rc == MERCER_OK ? core_text(json) : core_raise(core_state_of(module), NULL, rc, &err);
    mercer_free(json);
    return out;
}

/* OpenBLAS chooses its kernels when it is loaded, and an OpenBLAS older than the processor takes
 * the plainest it has. The program starts itself again with other surroundings then; a module
 * cannot, so our private OpenBLAS chooses once more, before anybody has called it. These two are
 * its own functions; weak, because other builds of BLAS do not have them. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

static const char kernels_variable[] = "OPENBLAS_CORETYPE";

/* Take the named kernels; false where this BLAS cannot. */
static bool take_kernels(const char *name)
{
    if (strcmp(mercer_blas(), "private") != 0 || !gotoblas_dynamic_init || !gotoblas_dynamic_quit)
        return false;
    if (setenv(kernels_variable, name, 1) != 0)
        return false;
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv(kernels_variable);
    return strcmp(mercer_blas_kernels(), name) == 0;
}

/* By the rule of the program: unless the user has asked for some, none narrower than the processor.
 */
static void take_wide_kernels(void)
{
    const char *wider = mercer_blas_kernels_wider(), *asked = getenv(kernels_variable);
    if (wider && !(asked && *asked))
        (void)take_kernels(wider); /* the narrow ones do the same, only slower */
}

PyDoc_STRVAR(take_kernels_doc,
             "take_kernels(name)\n--\n\n"
             "Let the private BLAS take these kernels; for tests, before any fit.");
static PyObject *take_named_kernels(PyObject *module, PyObject *name)
{
    (void)module;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    return text ? PyBool_FromLong(take_kernels(text)) : NULL;
}

static PyMethodDef core_functions[] = {
    {"take_kernels", take_named_kernels, METH_O, take_kernels_doc},
    {"set", context_set, METH_VARARGS, set_doc},
    {"take_notices", take_notices, METH_O, take_notices_doc},
    {"library", library, METH_NOARGS, library_doc},
    {"schema", schema, METH_NOARGS, schema_doc},
    {"statuses", statuses, METH_NOARGS, statuses_doc},
    {NULL, NULL, 0, NULL},
};

/* ---- the module -------------------------------------------------------------------------------
 */

static int core_exec(PyObject *module)
{
    core_state *state = core_state_of(module);
    const struct {
        PyTypeObject **type;
        PyType_Spec *spec;
    } types[] = {
        {&state->context, &core_context_spec},
        {&state->rows, &core_rows_spec},
        {&state->targets, &core_targets_spec},
        {&state->model, &core_model_spec},
        {&state->view, &core_view_spec},
        {&state->arrow, &core_arrow_spec},
        {&state->evaluation, &core_evaluation_spec},
    };
    PyMethodDef *const functions[] = {core_functions,       core_rows_functions,
                                      core_model_functions, core_evaluate_functions,
                                      core_arrow_functions, core_kernel_functions};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!(*types[i].type = core_add_type(module, types[i].spec)))
            return -1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (PyModule_AddFunctions(module, functions[i]) < 0)
            return -1;
    take_wide_kernels();
    if (PyModule_AddIntConstant(module, "FEWER_COMPONENTS", MERCER_CAUSE_FEWER_COMPONENTS) < 0)
        return -1;
    state->raised = PyDict_New();
    return state->raised && add_errors(module, state) ? 0 : -1;
}

/* Everything of the state that owns a reference. */
static int core_visit(core_state *state, visitproc visit, void *arg)
{
    Py_VISIT(state->context);
    Py_VISIT(state->rows);
    Py_VISIT(state->targets);
    Py_VISIT(state->model);
    Py_VISIT(state->view);
    Py_VISIT(state->evaluation);
    Py_VISIT(state->arrow);
    Py_VISIT(state->base_error);
    Py_VISIT(state->raised);
    for (int i = 0; i < CORE_STATUSES; i++)
        Py_VISIT(state->errors[i]);
    return 0;
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    return core_visit(core_state_of(module), visit, arg);
}

static int core_clear(PyObject *module)
{
    core_state *state = core_state_of(module);
    Py_CLEAR(state->context);
    Py_CLEAR(state->rows);
    Py_CLEAR(state->targets);
    Py_CLEAR(state->model);
    Py_CLEAR(state->view);
    Py_CLEAR(state->evaluation);
    Py_CLEAR(state->arrow);
    Py_CLEAR(state->base_error);
    Py_CLEAR(state->raised);
    for (int i = 0; i < CORE_STATUSES; i++)
        Py_CLEAR(state->errors[i]);
    return 0;
}

static void core_free(void *module)
{
    core_clear(module);
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, (void *)core_exec}, {0, NULL}};
static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "The library as Python sees it; use the package mercer instead.",
    .m_size = sizeof(core_state),
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
    .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
