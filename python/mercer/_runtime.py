# SPDX-License-Identifier: BSD-3-Clause
"""What every call shares: contexts, settings, notices, and arrays as the library takes them.

Needs NumPy alone. A context is kept per thread, since making one reads what the machine has; one
that is in a call (a callback that calls the library again) is not in the list, so a second is made.
"""
import os
import sys
import threading
import warnings

import numpy as np

from . import _core

FLOAT64, FLOAT32, UINT8 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.uint8)
DEFAULT_SEED = 1


class MercerWarning(UserWarning):
    """What the library says about a call that succeeded: fewer components than asked, say."""


class _Contexts(threading.local):
    def __init__(self):
        self.free = []


_CONTEXTS = _Contexts()


def take_context(threads=None, memory=None, seed=DEFAULT_SEED, progress=None):
    """A context of this thread with these settings, to be given back."""
    free = _CONTEXTS.free
    context = free.pop() if free else _core.Context()
    _core.set(context, threads, memory, seed, progress)
    return context


def give_context(context, silent=(), keep=True):
    """Give a context back, and warn of what the library had to say; causes in `silent` are left out."""
    notices = _core.take_notices(context)
    if keep:
        _CONTEXTS.free.append(context)
    for text, cause in notices:
        if cause not in silent:
            warnings.warn(text, MercerWarning, stacklevel=outer_level())


def drop_context(context):
    """The same after a failure: the exception tells enough."""
    _CONTEXTS.free.append(context)
    _core.take_notices(context)


def outer_level():
    """How many frames up the caller of the package is, for warnings."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mercer."):
        frame, level = frame.f_back, level + 1
    return level


class Call:
    """A context for the time of a with statement. One that knows a kernel of the caller's own is not
    kept: the kernel would stay with it."""

    def __init__(self, settings=(None, None, DEFAULT_SEED, None), silent=(), kernel=None):
        self.settings, self.silent, self.kernel = settings, silent, kernel

    def __enter__(self):
        if self.kernel is None:
            self.context = take_context(*self.settings)
        else:
            self.context = _core.Context()
            _core.set(self.context, *self.settings)
            _core.add_kernel(self.context, self.kernel.name, self.kernel, self.kernel.semidefinite)
        return self.context

    def __exit__(self, kind, *rest):
        progress = self.settings[3]
        if progress is not None:
            getattr(progress, "close", lambda: None)()
            _core.set(self.context, *self.settings[:3], None)  # a context that is kept must not keep it
        if kind is None:
            give_context(self.context, self.silent, keep=self.kernel is None)
        elif self.kernel is None:
            drop_context(self.context)


class HostKernel:
    """A function of the caller's as the library calls it: with two blocks of rows.

    As in scikit-learn the function gets two rows and gives a number; marked by `matrix_kernel` it gets
    two tables and gives all their values at once, which is very much faster."""

    def __init__(self, function):
        self.function = function
        self.takes_matrices, self.semidefinite = getattr(function, "_mercer_kernel", (False, False))
        word = "".join(c if c.isalnum() and c.isascii() or c in "_-" else "-" for c in getattr(function, "__name__", "kernel"))
        self.name = f"python-{word.strip('-')}"[:63]

    def __call__(self, nx, ny, d, x, y):
        x, y = np.frombuffer(x).reshape(nx, d), np.frombuffer(y).reshape(ny, d)
        if self.takes_matrices:
            values = np.ascontiguousarray(self.function(x, y), FLOAT64)
            if values.shape != (nx, ny):
                raise _core.DataError(f"the kernel gave values of shape {values.shape} for {nx} x {ny} pairs of rows "
                                      "(parameter kernel)")
        else:
            values = np.array([[self.function(a, b) for b in y] for a in x], FLOAT64)
            if values.shape != (nx, ny):
                raise _core.DataError("the kernel gave an array for two rows; a function of two tables is marked by "
                                      "mercer.matrix_kernel (parameter kernel)")
        if not np.isfinite(values).all():
            raise _core.DataError("the kernel gave a value that is not finite (parameter kernel)")
        return values


def matrix_kernel(function=None, *, semidefinite=False):
    """Mark a kernel that takes two tables, (n, d) and (m, d), and gives their n x m values at once.

    It must be symmetric and finite, and give the same value whatever stands beside a row.

    Parameters
    ----------
    function : callable
    semidefinite : bool, default=False
        Say that it has no negative eigenvalues on any rows, which lets more be saved and checked.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> @mercer.matrix_kernel(semidefinite=True)
    ... def cauchy(X, Y):
    ...     return 1 / (1 + ((X[:, None] - Y) ** 2).sum(axis=2))
    >>> mercer.KernelPCA(2, kernel=cauchy).fit_transform(np.eye(5)).shape
    (5, 2)
    """
    if function is None:
        return lambda function: matrix_kernel(function, semidefinite=semidefinite)
    function._mercer_kernel = (True, bool(semidefinite))
    return function


# ------------------------------------------------------------------------------------------ settings

def threads_of(n_jobs):
    """n_jobs as a number of threads, None for all: joblib tells its workers by OMP_NUM_THREADS."""
    if n_jobs is None:
        told = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        return int(told) if told.isdigit() and int(told) > 0 else None
    count = whole_number(n_jobs, "n_jobs")
    if count == 0:
        raise _core.ParameterError("n_jobs is 0; give a number of threads, or -1 for all")
    if count < 0:
        return max(1, len(os.sched_getaffinity(0)) + 1 + count)
    return count


MAX_WHOLE = (1 << 63) - 1  # the library's whole numbers
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def bytes_of(memory):
    """A memory budget, 4e9 or "4G", in bytes; None for half of the machine."""
    if memory is None:
        return None
    if isinstance(memory, (int, np.integer)) and not isinstance(memory, bool):
        return min(int(memory), MAX_WHOLE)
    text = str(memory).strip().upper().removesuffix("IB").removesuffix("B")
    unit = text[-1:] if text[-1:].isalpha() else ""
    try:
        return min(int(float(text.removesuffix(unit)) * UNITS[unit]), MAX_WHOLE)
    except (KeyError, ValueError, OverflowError):
        raise _core.ParameterError(f"memory={memory!r}: give bytes, or a text like '4G'") from None


def seed_of(random_state):
    """The seed of the library: an integer as it is, a generator of NumPy by a number it draws."""
    if random_state is None:
        return DEFAULT_SEED
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    seed = whole_number(random_state, "random_state")
    if not 0 <= seed < 1 << 64:
        raise _core.ParameterError(f"random_state={seed} is out of range; give 0 or more")
    return seed


def whole_number(value, name):
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise _core.ParameterError(f"{name}={value!r} is not a whole number")


def components_of(value):
    """How many of the components are wanted, 0 for None: all of them."""
    if value is None:
        return 0
    count = whole_number(value, "n_components")
    if count < 1:
        raise _core.ParameterError(f"n_components={count}: give 1 or more (parameter n_components)")
    return min(count, MAX_WHOLE)


class Lines:
    """Progress as a line per phase, on standard error."""

    def __init__(self):
        self.phase = None

    def __call__(self, phase, done):
        if phase != self.phase:
            self.phase = phase
            print(f"mercer: {phase}", file=sys.stderr, flush=True)


class Bar:
    """Progress by tqdm, a bar per phase."""

    def __init__(self, tqdm):
        self.tqdm, self.bar, self.phase = tqdm, None, None

    def __call__(self, phase, done):
        if phase != self.phase:
            self.close()
            self.phase, self.bar = phase, self.tqdm(total=1000, desc=phase, leave=False)
        if done >= 0:
            self.bar.update(int(1000 * done) - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()
        self.bar = None


def progress_of(verbose):
    """What is called with (phase, done): verbose itself, a bar of tqdm, lines, or nothing."""
    if callable(verbose):
        return verbose
    if not verbose:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Lines()
    return Bar(tqdm)


# -------------------------------------------------------------------------------------------- arrays

def is_pandas(X):
    return type(X).__module__.split(".")[0] == "pandas"


class NamedTable:
    """A table that came through Arrow, with the names of its columns."""

    def __init__(self, values, names):
        self.values, self.columns = values, names


def from_arrow(X):
    """Numbers and names of a table that offers the Arrow C stream interface (Polars, pyarrow), else None."""
    if is_pandas(X) or not hasattr(X, "__arrow_c_stream__"):
        return None
    table, rows, names, floats = _core.arrow_read(X.__arrow_c_stream__())
    values = np.empty((rows, len(names)), FLOAT32 if floats else FLOAT64)
    if values.size:
        _core.arrow_fill(table, values)
    return NamedTable(values, names)


def column_names(X):
    """The names of the columns of a table; None where they are not all texts."""
    names = getattr(X, "columns", None)
    if names is None:
        return None
    names = list(names)
    return names if names and all(isinstance(name, str) for name in names) else None


def is_sparse(X):
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def no_number(X):
    """A DataError that names the first cell of a table that is no number; None where all are, or it is no table."""
    names = column_names(X)
    try:
        cells = np.asarray(X, object)
    except ValueError:
        return None
    for j in range(cells.shape[1] if cells.ndim == 2 else 0):
        for i, cell in enumerate(cells[:, j]):
            try:
                float(cell)
            except (TypeError, ValueError):
                if isinstance(cell, complex):  # which has an error of its own
                    return None
                where = f"column {j}" if names is None else f"column {names[j]!r}"
                told = _core.DataError(f"{where}, row {i}: {str(cell)[:40]!r} is not a number (both counted from 0); "
                                       "encode, impute or drop it first")
                told.row, told.column = i, str(j if names is None else names[j])
                return told
    return None


def refuse_odd(X, name="X"):
    """Refuse arrays that NumPy and SciPy would take for numbers, and should not."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        where = np.argwhere(np.ma.getmaskarray(X))[0].tolist()
        raise _core.DataError(f"{name} has masked values, the first at {where}, counted from 0; fill or drop them first")
    if isinstance(X, np.ndarray) and (X.dtype.kind in "mM" or X.dtype.names is not None):
        kind = "records" if X.dtype.names is not None else "dates or times"
        raise _core.DataError(f"{name} holds {kind} ({X.dtype}); numbers are needed")
    if is_pandas(X):  # a table, or a column
        kinds = X.dtypes.items() if hasattr(X, "columns") else [(name, X.dtype)]
        for column, kind in kinds:
            if getattr(kind, "kind", "") in "mM":
                raise _core.DataError(f"{name}: column {column!r} holds dates or times ({kind}); numbers are needed")
    if is_sparse(X) and X.format in ("csr", "csc"):  # SciPy believes these arrays, and would read beyond them
        start, lines = X.indptr, X.shape[0] if X.format == "csr" else X.shape[1]
        good = (start.shape == (lines + 1,) and start[0] == 0 and X.indices.shape == X.data.shape
                and start[-1] <= len(X.indices) and (start[1:] >= start[:-1]).all())
        if good and X.format == "csc" and len(X.indices):
            good = 0 <= X.indices.min() and X.indices.max() < X.shape[0]
        if not good:
            raise _core.DataError(f"{name} is a damaged sparse matrix: its indptr and indices do not belong together")


def dense(X):
    """A table of doubles, floats or bytes from whatever NumPy understands."""
    refuse_odd(X)
    table, X = X, np.asarray(X)
    if X.dtype.kind == "c":
        raise _core.DataError("Complex data not supported: the table holds complex numbers")
    if X.dtype not in (FLOAT64, FLOAT32, UINT8):
        try:
            X = X.astype(FLOAT64)
        except (TypeError, ValueError) as error:
            raise (no_number(table)
                   or _core.DataError(f"the table holds values that are not numbers: {error}")) from None
    if X.ndim != 2:
        raise _core.DataError(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using "
                              "array.reshape(-1, 1) if it has one column or array.reshape(1, -1) if it is one row.")
    return X


def rows_of(context, X, names=None):
    """The library's rows of a table or sparse matrix, which must stay as it is meanwhile."""
    try:
        return _rows_of(context, X, names)
    except _core.DataError as error:
        raise in_words_of_python(error, names) from None


def in_words_of_python(error, names):
    """An error about a cell that is not finite, counted from 0 and with the name of its column."""
    text, row, column = str(error), getattr(error, "row", None), getattr(error, "column", None)
    if row is None or column is None or "is not finite" not in text:
        return error
    what = "NaN" if "nan" in text else "infinity (inf)"
    if column.isdigit():
        column = int(column) - 1
        where = f"column {column}" if names is None else f"column {names[column]!r}"
    else:
        where = f"column {column!r}"
    told = _core.DataError(f"Input X contains {what}: row {row}, {where}, both counted from 0; impute or drop it first")
    told.__dict__.update(error.__dict__, column=str(column))
    return told


def _rows_of(context, X, names):
    if is_sparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data
        if values.dtype not in (FLOAT64, FLOAT32, UINT8):
            if values.dtype.kind == "c":
                raise _core.DataError("Complex data not supported: the matrix holds complex numbers")
            values = values.astype(FLOAT64)
        return _core.rows_csr(context, X.indptr, X.indices, values, X.shape[1], names)
    if not X.flags.forc and any(step % X.itemsize for step in X.strides):  # a field of records
        X = np.ascontiguousarray(X)
    return _core.rows_dense(context, X, names)


def prepared(X):
    """(table, names) of anything people have tables in, for the functions without an estimator."""
    named = from_arrow(X)
    if named is not None:
        return named.values, named.columns
    if is_sparse(X):
        refuse_odd(X)
        return X, None
    return dense(X), column_names(X)


def value_targets(y):
    refuse_odd(y, "y")
    y = np.ascontiguousarray(y, FLOAT64)
    return _core.targets_values(y.reshape(len(y), -1))


def class_names(classes):
    """Classes as the texts that the model keeps; numbers where two would read the same."""
    names = [str(name) for name in np.asarray(classes).tolist()]
    return names if len(set(names)) == len(names) and "" not in names else [str(i) for i in range(len(names))]


# ------------------------------------------------------------------------------------------- options

def text_of(value):
    """A value of a key as the library reads it; numbers keep every bit."""
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


def spec_of(name, keys):
    """NAME:key=value,... of the keys that are not None."""
    pairs = [f"{key}={text_of(value)}" for key, value in keys.items() if value is not None]
    return f"{name}:{','.join(pairs)}" if pairs else name
