/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the extension share: objects that own what the library hands out, calls without
 * the interpreter lock, and errors as exceptions.
 *
 * The extension speaks the Limited API of Python 3.11 and the buffer protocol: one binary serves
 * every later Python, and NumPy of any version, whose headers are not needed. It has no globals:
 * types and exceptions live in the state of the module. Functions of the module take a context
 * first; what is nicer to use is written in Python on top of them. */
#ifndef MERCER_PYTHON_CORE_H
#define MERCER_PYTHON_CORE_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <mercer/mercer.h>

#include <stdbool.h>

enum { CORE_STATUSES = MERCER_ERR_LIMIT + 1 };

typedef struct core_state {
    PyTypeObject *context, *rows, *targets, *model, *view, *evaluation, *arrow;
    PyObject *base_error;
    PyObject *errors[CORE_STATUSES]; /* the exception of each status; NULL: none of ours */
    /* Exceptions of kernels, {number: exception}, until the call that they end surfaces them. */
    PyObject *raised;
    int64_t raised_count;
} core_state;

/* One per thread and call. All members belong to the thread that holds the interpreter lock. */
typedef struct core_context {
    PyObject_HEAD core_state *state;
    mercer_ctx *ctx;
    PyObject *progress; /* called with (phase, done); NULL: nobody asks */
    PyObject *notices;  /* list of what the library had to say */
    /* The exception that a signal or a callback raised during the call; NULL: none. */
    PyObject *raised_type, *raised_value, *raised_traceback;
    bool is_busy;
    /* What the library chose itself, to be restored; 0: never changed. */
    int64_t own_memory;
    int own_threads;
} core_context;

typedef struct core_rows {
    PyObject_HEAD mercer_rows *rows;
    /* Arrays of the host that the rows borrow; obj is NULL where there is none. */
    Py_buffer buffers[3];
} core_rows;

typedef struct core_targets {
    PyObject_HEAD mercer_targets *targets;
} core_targets;

typedef struct core_model {
    PyObject_HEAD mercer_model *model;
} core_model;

typedef struct core_evaluation {
    PyObject_HEAD mercer_evaluation *evaluation;
} core_evaluation;

/* Memory that others may look at through the buffer protocol. */
typedef struct core_view {
    PyObject_HEAD PyObject *owner; /* kept alive meanwhile; or NULL */
    void *memory;                  /* given back by mercer_free(); or NULL */
    const void *data;
    const char *format;
    int rank;
    Py_ssize_t item, shape[2], strides[2];
} core_view;

/* The state of the module that a function was called on. */
core_state *core_state_of(PyObject *module);

/* Raise what an error of the library stands for; always NULL. context may be NULL. */
PyObject *core_raise(core_state *state, core_context *context, mercer_status status,
                     const mercer_error *err);
/* Keep the exception that is raised now, so that the running call surfaces it. Holds the lock. */
void core_keep_exception(core_context *context);

/* The exception of a callback that an error stands for, whose reference goes to the caller; NULL:
 * it stands for none. */
PyObject *core_take_raised(core_state *state, const mercer_error *err);

/* Around every call of the library that may take long: false with an exception where the context is
 * in another call. Between the two the interpreter lock is not held. */
bool core_begin(core_context *context, PyThreadState **thread);
void core_end(core_context *context, PyThreadState *thread);

/* A new object of a type of ours, its members zero; and the end of one, whose members are gone. */
void *core_new(PyTypeObject *type);
void core_delete(PyObject *self);
/* The description core_<what>_spec of a type that only functions of ours make objects of. */
#define CORE_TYPE(what, title, doc)                                                                \
    static PyType_Slot what##_slots[] = {                                                          \
        {Py_tp_doc, (void *)(doc)}, {Py_tp_dealloc, (void *)what##_dealloc}, {0, NULL}};           \
    PyType_Spec core_##what##_spec = {.name = "mercer._core." title,                               \
                                      .basicsize = sizeof(core_##what),                            \
                                      .flags =                                                     \
                                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,  \
                                      .slots = what##_slots}
/* A type from its description, for core_exec(). */
PyTypeObject *core_add_type(PyObject *module, PyType_Spec *spec);

/* Get a buffer: of `item` as struct spells it, packed; values of them (or any when negative).
 * false with an exception where it is another. */
bool core_get_buffer(PyObject *object, const char *item, Py_ssize_t values, bool writable,
                     const char *name, Py_buffer *out);
/* The same where the object may be None: out->obj and out->buf are NULL then. */
bool core_get_buffer_or_none(PyObject *object, const char *item, Py_ssize_t values, bool writable,
                             const char *name, Py_buffer *out);
/* A list of texts of ours, "" where there is none. */
PyObject *core_text(const char *text);
/* Names that a Python sequence of str holds; NULL with an exception. The strings are borrowed from
 * *held, which the caller drops after PyMem_Free() of what is returned. */
const char **core_names(PyObject *sequence, Py_ssize_t *count, PyObject **held);

/* Rows or targets, or NULL for None; false with an exception. */
bool core_rows_or_none(core_state *state, PyObject *object, const mercer_rows **out);
bool core_targets_or_none(core_state *state, PyObject *object, const mercer_targets **out);
/* Set options of a fit from a dict of texts, which they borrow; false with an exception. */
bool core_read_options(core_state *state, PyObject *texts, mercer_fit_options *options);

/* A view of memory; a reference to owner is taken, memory is handed over (on failure too). */
PyObject *core_view_new(core_state *state, PyObject *owner, void *memory,
                        const mercer_array *array);

extern PyType_Spec core_context_spec, core_rows_spec, core_targets_spec, core_model_spec,
    core_view_spec, core_evaluation_spec, core_arrow_spec;
extern PyMethodDef core_rows_functions[], core_model_functions[], core_evaluate_functions[],
    core_arrow_functions[], core_kernel_functions[];

#endif
