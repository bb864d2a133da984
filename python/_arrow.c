/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables through the Arrow C stream interface, which Polars, pandas, pyarrow and DuckDB offer:
 * columns of numbers become a table of doubles, or of floats when all of them are.
 *
 * The structs are the published, fixed interface (Arrow C data interface, Arrow C stream
 * interface); no library of Arrow is needed. What a producer says is checked before memory is
 * touched: lengths, numbers of buffers and children. Its pointers have to be believed. */
#include "_core.h"

#include <string.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

typedef struct core_arrow {
    PyObject_HEAD struct ArrowSchema schema;
    struct ArrowArray *chunks;
    Py_ssize_t count, room;
    int64_t rows;
} core_arrow;

static void arrow_dealloc(PyObject *self)
{
    core_arrow *table = (core_arrow *)self;
    PyObject *kind = NULL, *value = NULL, *traceback = NULL;
    PyErr_Fetch(&kind, &value, &traceback); /* a producer may be written in Python */
    for (Py_ssize_t i = 0; i < table->count; i++)
        if (table->chunks[i].release)
            table->chunks[i].release(&table->chunks[i]);
    PyMem_Free(table->chunks);
    if (table->schema.release)
        table->schema.release(&table->schema);
    PyErr_Restore(kind, value, traceback);
    core_delete(self);
}

CORE_TYPE(arrow, "ArrowTable", "A table that came through the Arrow C stream interface.");

/* One letter for each type of number that is read, as Arrow spells them; b is a bit. */
static const char number_types[] = "bcCsSiIlLfg";

static const char *type_name(const char *format)
{
    switch (*format) {
    case 'n':
        return "nothing but nulls";
    case 'u':
    case 'U':
        return "texts";
    case 'z':
    case 'Z':
        return "bytes";
    case 'v':
        return "texts or bytes";
    case 'e':
        return "half floats";
    case 'd':
        return "decimals";
    case 't':
        return "dates or times";
    case '+':
        return "lists or structs";
    default:
        return "values of an unknown type";
    }
}

/* Refuse a column that does not hold numbers; false with an exception. */
static bool check_columns(core_state *state, const struct ArrowSchema *schema)
{
    if (!schema->format || strcmp(schema->format, "+s") != 0 || schema->n_children < 0 ||
        (schema->n_children > 0 && !schema->children)) {
        PyErr_SetString(state->errors[MERCER_ERR_DATA], "the Arrow stream holds no table");
        return false;
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *column = schema->children[i];
        const char *format = column && column->format ? column->format : "";
        if (column && !column->dictionary && format[0] && !format[1] &&
            strchr(number_types, format[0]))
            continue;
        PyErr_Format(state->errors[MERCER_ERR_DATA],
                     "column '%s' holds %s; columns of numbers are needed",
                     column && column->name ? column->name : "",
                     column && column->dictionary ? "categories" : type_name(format));
        return false;
    }
    return true;
}

/* The first of an array's values from first to first + count - 1, counted from there, that is null;
 * -1: none. */
static int64_t find_null(const struct ArrowArray *array, int64_t first, int64_t count)
{
    const uint8_t *valid = array->n_buffers > 0 && array->buffers ? array->buffers[0] : NULL;
    for (int64_t i = 0; valid && array->null_count != 0 && i < count; i++) {
        const int64_t at = array->offset + first + i;
        if (!(valid[at / 8] >> (at % 8) & 1))
            return i;
    }
    return -1;
}

/* Whether a column has the rows of its chunk, whose offset counts on top of its own, and can be
 * read; how long its buffers are is the producer's word alone. */
static bool has_rows(const struct ArrowArray *column, const struct ArrowArray *chunk)
{
    int64_t last;
    return column && column->n_buffers == 2 && column->buffers && column->offset >= 0 &&
           column->length >= 0 && chunk->length <= column->length &&
           chunk->offset <= column->length - chunk->length &&
           !__builtin_add_overflow(column->offset, column->length, &last) &&
           (chunk->length == 0 || column->buffers[1]);
}

/* Whether a chunk is as the schema says, and has no nulls; false with an exception. */
static bool check_chunk(core_state *state, const core_arrow *table, const struct ArrowArray *chunk)
{
    PyObject *error = state->errors[MERCER_ERR_DATA];
    int64_t null = -1, rows, last;
    if (chunk->n_children != table->schema.n_children || chunk->length < 0 || chunk->offset < 0 ||
        (chunk->n_children > 0 && !chunk->children) ||
        __builtin_add_overflow(chunk->offset, chunk->length, &last) ||
        __builtin_add_overflow(table->rows, chunk->length, &rows) ||
        __builtin_mul_overflow(rows, chunk->n_children, &rows) ||
        rows > PY_SSIZE_T_MAX / (Py_ssize_t)sizeof(double)) {
        PyErr_SetString(error, "the Arrow stream is damaged: a batch is not as its schema says");
        return false;
    }
    for (int64_t i = 0; i < chunk->n_children; i++) {
        const struct ArrowArray *column = chunk->children[i];
        const char *name = table->schema.children[i]->name;
        if (!has_rows(column, chunk)) {
            PyErr_Format(error, "the Arrow stream is damaged: column '%s'", name ? name : "");
            return false;
        }
        null = find_null(column, chunk->offset, chunk->length);
        if (null >= 0) {
            PyErr_Format(error,
                         "column '%s' has a missing value (null) in row %lld; fill or "
                         "drop missing values first",
                         name ? name : "", (long long)(table->rows + null));
            return false;
        }
    }
    null = find_null(chunk, 0, chunk->length);
    if (null >= 0) {
        PyErr_Format(error, "row %lld is missing as a whole (null); drop it first",
                     (long long)(table->rows + null));
        return false;
    }
    return true;
}

static bool add_chunk(core_state *state, core_arrow *table, struct ArrowArray *chunk)
{
    if (table->count == table->room) {
        const Py_ssize_t room = 2 * table->room + 8;
        struct ArrowArray *grown =
            PyMem_Realloc(table->chunks, (size_t)room * sizeof *table->chunks);
        if (!grown) {
            PyErr_NoMemory();
            return false;
        }
        table->chunks = grown;
        table->room = room;
    }
    if (!check_chunk(state, table, chunk))
        return false;
    table->chunks[table->count++] = *chunk; /* moved: the array is ours to release now */
    chunk->release = NULL;
    table->rows += table->chunks[table->count - 1].length;
    return true;
}

static bool read_stream(core_state *state, struct ArrowArrayStream *stream, core_arrow *table)
{
    int failed = stream->get_schema(stream, &table->schema);
    if (failed)
        table->schema.release = NULL;
    else if (!check_columns(state, &table->schema))
        return false;
    while (!failed) {
        struct ArrowArray chunk = {0};
        failed = stream->get_next(stream, &chunk);
        if (failed || !chunk.release)
            break;
        const bool good = add_chunk(state, table, &chunk);
        if (!good) {
            PyObject *kind = NULL, *value = NULL, *traceback = NULL;
            PyErr_Fetch(&kind, &value, &traceback);
            chunk.release(&chunk);
            PyErr_Restore(kind, value, traceback);
        }
        if (!good || PyErr_CheckSignals() != 0)
            return false;
    }
    if (failed && !PyErr_Occurred()) {
        const char *why = stream->get_last_error ? stream->get_last_error(stream) : NULL;
        PyErr_Format(state->errors[MERCER_ERR_DATA], "the Arrow stream failed: %s",
                     why ? why : "it did not say why");
    }
    return !failed && !PyErr_Occurred();
}

PyDoc_STRVAR(arrow_read_doc,
             "arrow_read(capsule)\n--\n\n"
             "Read an Arrow stream to its end: (table, rows, names, are all columns\n"
             "floats?). Columns of other than numbers, and nulls, are refused.");
static PyObject *arrow_read(PyObject *module, PyObject *capsule)
{
    core_state *state = core_state_of(module);
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (!stream)
        return NULL;
    if (!stream->release) {
        PyErr_SetString(PyExc_ValueError, "this Arrow stream was read already");
        return NULL;
    }
    core_arrow *table = core_new(state->arrow);
    if (!table)
        return NULL;
    const bool good = read_stream(state, stream, table);
    PyObject *kind = NULL, *value = NULL, *traceback = NULL;
    PyErr_Fetch(&kind, &value, &traceback);
    stream->release(stream);
    PyErr_Restore(kind, value, traceback);
    PyObject *names = good ? PyList_New((Py_ssize_t)table->schema.n_children) : NULL;
    int floats = table->schema.n_children > 0;
    for (int64_t i = 0; names && i < table->schema.n_children; i++) {
        PyObject *name = core_text(table->schema.children[i]->name);
        floats = floats && table->schema.children[i]->format[0] == 'f';
        if (!name || PyList_SetItem(names, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(names);
    }
    PyObject *out = names ? Py_BuildValue("(OLOO)", (PyObject *)table, (long long)table->rows,
                                          names, floats ? Py_True : Py_False)
                          : NULL;
    Py_XDECREF(names);
    Py_DECREF(table);
    return out;
}

/* Values [from, from + count) of a column into out, `step` apart, as doubles or floats. */
#define COPY(type)                                                                                 \
    for (int64_t i = 0; i < count; i++)                                                            \
        if (floats)                                                                                \
            ((float *)out)[i * step] = (float)((const type *)data)[from + i];                      \
        else                                                                                       \
            ((double *)out)[i * step] = (double)((const type *)data)[from + i];                    \
    break

static void copy_column(char type, const void *data, int64_t from, int64_t count, void *out,
                        int64_t step, bool floats)
{
    switch (type) {
    case 'b':
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = from + i;
            ((double *)out)[i * step] = ((const uint8_t *)data)[at / 8] >> (at % 8) & 1;
        }
        break;
    case 'c':
        COPY(int8_t);
    case 'C':
        COPY(uint8_t);
    case 's':
        COPY(int16_t);
    case 'S':
        COPY(uint16_t);
    case 'i':
        COPY(int32_t);
    case 'I':
        COPY(uint32_t);
    case 'l':
        COPY(int64_t);
    case 'L':
        COPY(uint64_t);
    case 'f':
        COPY(float);
    default:
        COPY(double);
    }
}

PyDoc_STRVAR(arrow_fill_doc, "arrow_fill(table, out)\n--\n\n"
                             "Copy the numbers into out, rows x columns, doubles; or floats, when\n"
                             "all columns are.");
static PyObject *arrow_fill(PyObject *module, PyObject *args)
{
    core_state *state = core_state_of(module);
    core_arrow *table = NULL;
    PyObject *object = NULL;
    Py_buffer out;
    if (!PyArg_ParseTuple(args, "O!O", state->arrow, &table, &object))
        return NULL;
    const int64_t columns = table->schema.n_children;
    bool floats = columns > 0;
    for (int64_t j = 0; j < columns; j++)
        floats = floats && table->schema.children[j]->format[0] == 'f';
    if (!core_get_buffer(object, floats ? "f" : "d", (Py_ssize_t)(table->rows * columns), true,
                         "out", &out))
        return NULL;
    char *row = out.buf;
    for (Py_ssize_t i = 0; i < table->count; i++) {
        const struct ArrowArray *chunk = &table->chunks[i];
        for (int64_t j = 0; j < columns; j++) {
            const struct ArrowArray *column = chunk->children[j];
            copy_column(table->schema.children[j]->format[0], column->buffers[1],
                        column->offset + chunk->offset, chunk->length, row + j * out.itemsize,
                        columns, floats);
        }
        row += chunk->length * columns * out.itemsize;
    }
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

PyMethodDef core_arrow_functions[] = {
    {"arrow_read", arrow_read, METH_O, arrow_read_doc},
    {"arrow_fill", arrow_fill, METH_VARARGS, arrow_fill_doc},
    {NULL, NULL, 0, NULL},
};
