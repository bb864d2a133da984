# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the package share. They run as tests/cli does: test_x.py MERCER [WORD...] [-jN]."""
import contextlib
import ctypes
import os
import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from harness import Fault, Skip, call, output, program, run_tests, slow_test, test  # noqa: E402, F401

import numpy as np  # noqa: E402

import mercer  # noqa: E402
from mercer import _core, _runtime  # noqa: E402

os.environ["PYTHONPATH"] = str(pathlib.Path(mercer.__file__).resolve().parent.parent)  # tests change folders


def need_sklearn():
    """Leave with status 77, skipped, where scikit-learn is not there."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        print("skipped: scikit-learn is not installed")
        sys.exit(77)


def need_plain_memory():
    """Skip a test that measures memory where a sanitizer keeps what was freed."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        raise Skip("the sanitizer keeps memory that was freed")


@contextlib.contextmanager
def raises(kind, *words):
    """The block must raise kind, with every word in its text. Gives a list that will hold it."""
    caught = []
    try:
        yield caught
    except kind as error:
        for word in words:
            if word not in str(error):
                raise Fault(f"'{word}' is not in: {error}") from error
        caught.append(error)
    else:
        raise Fault(f"no {getattr(kind, '__name__', kind)} was raised")


@contextlib.contextmanager
def quiet():
    """Notices of the library are not what the block is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.MercerWarning)
        yield


def same(a, b):
    """The same bits."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def blobs(rows=120, columns=4, classes=3, seed=0):
    """(X, y): clouds of points, their classes in the order in which they first appear."""
    random = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    return random.normal(size=(rows, columns)) + 3.0 * random.normal(size=(classes, columns))[y], y


def fit(X, method="kpca", y=None, names=None, seed=1, **options):
    """A model without an estimator."""
    with _runtime.Call((None, None, seed, None)) as context:
        rows = _runtime.rows_of(context, X, names)
        targets = None
        if y is not None:
            classes, codes = np.unique(y, return_inverse=True)
            targets = _core.targets_classes(codes.astype(np.int64), [str(name) for name in classes.tolist()])
        return _core.fit(context, mercer.Model, {"method": method, **options}, rows, targets, None, None, None, False)[0]


def resident():
    """Memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")


# --------------------------------------------------------------------- a producer of Arrow streams

class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", RELEASE_SCHEMA), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                  ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
                  ("release", RELEASE_ARRAY), ("private_data", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", GET_ERROR),
                   ("release", RELEASE_STREAM), ("private_data", ctypes.c_void_p)]


class ArrowTable:
    """A table that offers the Arrow C stream interface, made of NumPy arrays: {name: (format, values, valid)};
    rows come in batches, behind `offset` values of each column and `skip` rows of the table that are not meant.
    change(struct) may spoil what is handed out. Counts what was released, which must be everything."""

    def __init__(self, columns, batches=1, offset=0, fail=None, skip=0, change=None):
        self.columns, self.batches, self.offset, self.fail, self.skip, self.change = columns, batches, offset, fail, skip, change
        self.released = {"schema": 0, "array": 0, "stream": 0}
        self.given = {"schema": 0, "array": 0, "stream": 0}
        self.held = []

    @property
    def column_names(self):
        return list(self.columns)

    def _hold(self, thing):
        self.held.append(thing)
        return thing

    def _release(self, kind, null):
        def release(pointer):
            self.released[kind] += 1
            pointer.contents.release = null()
        return self._hold({"schema": RELEASE_SCHEMA, "array": RELEASE_ARRAY, "stream": RELEASE_STREAM}[kind](release))

    def _get_schema(self, stream, out):
        if self.fail == "schema":
            return 5
        children = (ctypes.POINTER(Schema) * max(1, len(self.columns)))()
        for i, (name, (format_text, *_)) in enumerate(self.columns.items()):
            child = self._hold(Schema(format=format_text.encode(), name=name.encode()))
            if format_text == "dictionary":
                child.format, child.dictionary = b"i", ctypes.pointer(self._hold(Schema(format=b"u")))
            children[i] = ctypes.pointer(child)
        self._hold(children)
        out.contents.format, out.contents.name = b"+s", b""
        out.contents.n_children, out.contents.children = len(self.columns), children
        out.contents.release = self._release("schema", RELEASE_SCHEMA)
        if self.change:
            self.change(out.contents)
        self.given["schema"] += 1
        return 0

    def _get_next(self, stream, out):
        if self.fail == "next":
            return 5
        if self.at >= self.batches:
            return 0
        length = len(next(iter(self.columns.values()))[1]) if self.columns else 0
        first, last = length * self.at // self.batches, length * (self.at + 1) // self.batches
        children = (ctypes.POINTER(Array) * max(1, len(self.columns)))()
        for i, (format_text, values, valid) in enumerate(self.columns.values()):
            part = np.concatenate([np.zeros(self.offset + self.skip, values.dtype), values[first:last]])
            bits = None if valid is None else np.packbits(
                np.concatenate([np.zeros(self.offset + self.skip, bool), valid[first:last]]), bitorder="little")
            if format_text == "b":
                part = np.packbits(part.astype(bool), bitorder="little")
            part = self._hold(np.ascontiguousarray(part))
            buffers = self._hold((ctypes.c_void_p * 2)(None if bits is None else self._hold(bits).ctypes.data,
                                                       part.ctypes.data))
            child = self._hold(Array(length=self.skip + last - first, offset=self.offset, n_buffers=2, buffers=buffers,
                                     null_count=0 if valid is None else int((~valid[first:last]).sum())))
            children[i] = ctypes.pointer(child)
        self._hold(children)
        out.contents.length, out.contents.n_buffers, out.contents.offset = last - first, 1, self.skip
        out.contents.buffers = self._hold((ctypes.c_void_p * 1)(None))
        if self.fail == "row":  # the second row of each batch is none at all
            bits = self._hold(np.packbits(np.arange(last - first) != 1, bitorder="little"))
            out.contents.buffers, out.contents.null_count = self._hold((ctypes.c_void_p * 1)(bits.ctypes.data)), 1
        out.contents.n_children, out.contents.children = len(self.columns), children
        if self.fail == "children":
            out.contents.n_children = len(self.columns) - 1
        out.contents.release = self._release("array", RELEASE_ARRAY)
        if self.change:
            self.change(out.contents)
        self.given["array"] += 1
        self.at += 1
        return 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.at = 0
        stream = self._hold(Stream(get_schema=self._hold(GET_SCHEMA(self._get_schema)),
                                   get_next=self._hold(GET_NEXT(self._get_next)),
                                   get_last_error=self._hold(GET_ERROR(lambda stream: b"the disk is on fire")),
                                   release=self._release("stream", RELEASE_STREAM)))
        self.given["stream"] += 1
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return capsule(ctypes.addressof(stream), b"arrow_array_stream", None)
