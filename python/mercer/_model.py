# SPDX-License-Identifier: BSD-3-Clause
"""Models without an estimator: what a file, a pickle or `est.model_` holds. Needs NumPy alone."""
import numpy as np

from . import _core
from ._runtime import FLOAT32, FLOAT64, Call, HostKernel, components_of, is_sparse, prepared, rows_of, spec_of, threads_of


class Model(_core.Model):
    """A fitted model: features, predictions, pre-images, and the file they come from.

    Made by `mercer.load`, by estimators (`est.model_`) and by unpickling. It never changes, and any
    number of threads may use it at a time. Columns are matched by name when both the model and the
    table have names, else by position.

    Attributes
    ----------
    info : dict
        What the model is: method, kernel with the numbers used, sizes, variance, provenance.
    """

    _host = None  # the kernel, where it is a function of the caller's

    def _with(self, host):
        self._host = host
        return self

    @property
    def info(self):
        return _core.info(self)

    @property
    def n_components(self):
        """Features per row."""
        return _core.sizes(self)[1]

    @property
    def column_names(self):
        """Names of the input columns, or None."""
        return _core.names(self, False)

    @property
    def output_names(self):
        """What the head predicts: names of classes or target columns, or None."""
        return _core.names(self, True)

    def array(self, name):
        """An array of the model by its name in docs/format.md, without a copy and read-only; None
        when this model has none of that name."""
        view = _core.array(self, name)
        return None if view is None else np.asarray(view)

    def transform(self, X, *, n_jobs=None):
        """Features of rows, shape (n_rows, n_components); float32 for float32."""
        X, names = prepared(X)
        out = np.empty((X.shape[0], self.n_components), FLOAT32 if X.dtype == FLOAT32 else FLOAT64)
        with Call((n_jobs, None, 1, None)) as context:
            _core.transform(context, self, rows_of(context, X, names), None, out, None)
        return out

    def reconstruction_errors(self, X, *, self_kernel=None, n_jobs=None):
        """Squared distances in feature space between rows and what the features keep of them.

        With a precomputed kernel self_kernel gives k(x, x) of the rows."""
        X, names = prepared(X)
        out = np.empty((X.shape[0], self.n_components))
        errors = np.empty(X.shape[0])
        own = None if self_kernel is None else np.ascontiguousarray(self_kernel, FLOAT64)
        with Call((n_jobs, None, 1, None)) as context:
            _core.transform(context, self, rows_of(context, X, names), own, out, errors)
        return errors

    def is_novel(self, X, *, self_kernel=None, n_jobs=None):
        """Which rows are farther from the training rows than the threshold that was learnt."""
        threshold = self.info["novelty_threshold"]
        if threshold is None:
            raise _core.UnsupportedError("the model has no novelty threshold (try novelty=0.05)")
        return self.reconstruction_errors(X, self_kernel=self_kernel, n_jobs=n_jobs) > threshold

    def novelty_p_values(self, X, *, self_kernel=None, n_jobs=None):
        """How many rows like the training rows are at least as far off, as a share: p-values by the rows that
        `novelty` holds out. A row from the same source has p of at most a with probability a at most."""
        errors = self.reconstruction_errors(X, self_kernel=self_kernel, n_jobs=n_jobs)
        out = np.empty_like(errors)
        _core.p_values(self, errors, out)
        return out

    def predict_scores(self, X, *, n_components=None, n_jobs=None):
        """(scores, codes) by the model's head; codes are indices of output_names, or None for values."""
        X, names = prepared(X)
        info = self.info
        scores = np.empty((X.shape[0], info["head_outputs"]))
        codes = np.empty(X.shape[0], np.int64) if info["head_kind"] == "classes" else None
        with Call((n_jobs, None, 1, None)) as context:
            _core.predict(context, self, rows_of(context, X, names), components_of(n_components), scores, codes)
        return scores, codes

    def predict(self, X, *, n_components=None, n_jobs=None):
        """Predictions by the model's head: names of classes, or values."""
        scores, codes = self.predict_scores(X, n_components=n_components, n_jobs=n_jobs)
        if codes is None:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        return take_classes(np.asarray(self.output_names), codes)

    def predict_interval(self, X, *, coverage=0.9, n_jobs=None):
        """(low, high) around predicted values, by the rows that `intervals` holds out: the true value of a row
        from the same source lies within with this probability at least, each target on its own."""
        half = self.half_widths(coverage)
        scores, _ = self.predict_scores(X, n_jobs=n_jobs)
        low, high = scores - half, scores + half
        return (low[:, 0], high[:, 0]) if scores.shape[1] == 1 else (low, high)

    def half_widths(self, coverage):
        """Half the widths of these intervals, one per target."""
        if not 0 < coverage < 1:
            raise _core.ParameterError(f"coverage={coverage!r} is not between 0 and 1 (parameter coverage)")
        half = np.empty(_core.sizes(self)[2])
        _core.half_widths(self, coverage, half)
        return half

    def inverse_transform(self, features, *, n_jobs=None):
        """Rows whose features are near the given ones, in the units of the input."""
        features = np.ascontiguousarray(features, FLOAT64)
        if features.ndim != 2 or features.shape[1] != self.n_components:
            raise _core.DataError(f"features of shape {features.shape}; the model has {self.n_components} per row")
        out = np.empty((features.shape[0], self.info["columns"]))
        if features.shape[0]:
            with Call((n_jobs, None, 1, None)) as context:
                _core.inverse(context, self, features, out, None)
        return out

    def truncate(self, n_components):
        """The first components as a model of their own."""
        with Call() as context:
            return _core.truncate(context, type(self), self, components_of(n_components))._with(self._host)

    def update(self, X):
        """A model that has learnt from more rows, as `mercer update` does, bit for bit; streaming
        methods only. This one stays as it is."""
        X, names = prepared(X)
        with Call(kernel=self._host) as context:
            return _core.learn(context, type(self), self, {}, rows_of(context, X, names))[0]._with(self._host)

    def save(self, path):
        """Write the model to a file that the command line, C and `mercer.load` read."""
        if self._host is not None:
            raise _core.UnsupportedError("a kernel that is a Python function cannot be saved to a file; pickle the model")
        with Call() as context:
            _core.save(context, self, path)

    def to_bytes(self):
        """The bytes of that file."""
        with Call() as context:
            return _core.to_bytes(context, self)

    @classmethod
    def from_bytes(cls, data, kernel=None):
        """The model of such bytes; every length and the checksum are looked at. kernel: the function
        that was its kernel, if one was."""
        host = HostKernel(kernel) if kernel is not None else None
        with Call(kernel=host) as context:
            return _core.from_bytes(context, cls, data)._with(host)

    def __reduce__(self):
        function = () if self._host is None else (self._host.function,)
        return _from_pickle, (type(self), self.to_bytes(), *function)

    def __copy__(self):
        return self  # it never changes

    def __deepcopy__(self, memo):
        return self

    def _repr_html_(self):
        from ._card import card
        return card(self)

    def __repr__(self):
        try:
            info = self.info
        except ValueError:
            return "<mercer.Model, empty>"
        return (f"<mercer.Model: {info['method']}, kernel {info['kernel']}, {info['components']} components "
                f"of {info['columns']} columns, {info['rows']} rows>")


def _from_pickle(cls, data, *kernel):
    return cls.from_bytes(data, *kernel)


def take_classes(classes, codes):
    """The classes that codes stand for; nobody may win a vote of neighbours."""
    if codes.size and codes.min() < 0:
        raise _core.UnsupportedError(f"row {int(np.argmin(codes))}: no class wins the vote of its neighbours "
                                     "(head knn:ties=strict)")
    return classes[codes]


def load(path, *, untrusted=False):
    """The model of a file that Mercer wrote, from Python, C or the command line.

    Parameters
    ----------
    path : str or path-like
    untrusted : bool, default=False
        The file comes from strangers: it has to be a plain file, no link, pipe or device, of at most 1 GiB,
        and be read in 10 minutes, else `LimitError`.

    Returns
    -------
    Model
    """
    with Call() as context:
        return _core.load(context, Model, path, untrusted)


def kernel_matrix(X, Y=None, *, kernel="rbf", n_jobs=None, **keys):
    """Values of a kernel for all pairs of rows, as the library computes them.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n, d)
    Y : the same of shape (m, d), optional
        None: X.
    kernel : str or callable, default="rbf"
        As for the estimators.
    n_jobs : int, optional
        Threads; None: all.
    **keys
        Keys of the kernel, for example sigma=2.0. A width that is not given is the median of X.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import mercer
    >>> mercer.kernel_matrix([[0.0], [1.0]], kernel="rbf", gamma=0.5).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    host = HostKernel(kernel) if callable(kernel) else None
    spec = host.name if host else spec_of(kernel, keys)
    table, _ = prepared(X)
    n = table.shape[0]
    settings = (threads_of(n_jobs), None, 1, None)
    if Y is None:
        both, index = table, np.arange(n)
    else:
        other, _ = prepared(Y)
        if other.shape[1] != table.shape[1]:
            raise _core.DataError(f"Y has {other.shape[1]} columns, X has {table.shape[1]}")
        if host is None:  # the median is that of X, not of both
            with Call(settings, (_core.FEWER_COMPONENTS,)) as context:
                spec = _core.fit(context, Model, {"method": "nystroem:points=1", "components": "1", "kernel": spec, "center": "none"},
                                 rows_of(context, table), None, None, None, None, False)[0].info["kernel"]
        if is_sparse(table) or is_sparse(other):
            from scipy.sparse import csr_matrix, vstack
            both = vstack([csr_matrix(table), csr_matrix(other)], format="csr")
        else:
            both = np.vstack([table, other])
        index = np.arange(n, both.shape[0])
    if both.shape[0] == 1:  # one row is not enough for a fit, whose kernel matrix this is
        both = np.vstack([both, both]) if not is_sparse(both) else both[[0, 0]]
    out = np.empty((len(index), both.shape[0]))
    with Call(settings, kernel=host) as context:
        _core.kernel_columns(context, spec, rows_of(context, both), index, out)
    return np.ascontiguousarray(out[:, :n].T)
