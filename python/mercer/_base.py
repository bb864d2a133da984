# SPDX-License-Identifier: BSD-3-Clause
"""What the estimators share; the classes themselves, in _estimators.py, are generated.

`__init__` only stores. `fit` turns parameters into the options of the library, which checks them, and
keeps a `Model`. Rows that come as scikit-learn would take them go straight to the library, which looks
for NaN and infinity itself; anything else goes through scikit-learn's checks first.
"""
import functools
import inspect

import numpy as np
from sklearn.base import (BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, RegressorMixin,
                          TransformerMixin)
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from . import _core, _sklearn
from ._model import Model, take_classes
from ._names import KERNEL_KEYS
from ._runtime import (FLOAT32, FLOAT64, UINT8, Call, HostKernel, bytes_of, class_names, components_of, drop_context, from_arrow, give_context,
                       is_pandas, no_number, progress_of, refuse_odd, rows_of, seed_of, spec_of, take_context, text_of, threads_of,
                       value_targets)

KERNEL_PARAMETERS = ("gamma", "sigma", "degree", "coef0")


class _Kernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features of a method; subclasses say which."""

    _method = None       # name in the library
    _keys = {}           # parameter: default, of the method's own keys
    _takes_all = False   # n_components=None: all components that are not zero
    _is_linear = False   # it has no other kernel

    # -------------------------------------------------------------------------------------- options

    def _kernel_spec(self):
        """The kernel with its keys as the library reads them. Of gamma, sigma, degree and coef0 those
        count that the kernel has, as in scikit-learn; keys in kernel_params must all be known."""
        kernel = self.kernel
        if callable(kernel):
            return HostKernel(kernel).name
        if not isinstance(kernel, str):
            raise _core.ParameterError(f"kernel={kernel!r} is not a name of a kernel (parameter kernel)")
        given = {key: getattr(self, key) for key in KERNEL_PARAMETERS}
        own = dict(self.kernel_params or {})
        if not kernel.isidentifier():  # keys of its own, a sum or a product
            given = {key: value for key, value in given.items() if value is not None} | own
            if given:
                raise _core.ParameterError(f"kernel={kernel!r} has its numbers inside; {next(iter(given))} is given "
                                           "beside it (parameter kernel)")
            return kernel
        known = KERNEL_KEYS.get(kernel, KERNEL_PARAMETERS)  # another spelling: the library looks at all
        keys = {key: value for key, value in given.items() if value is not None and key in known}
        if "gamma" in keys and "sigma" in keys:
            raise _core.ParameterError("gamma and sigma are two names of one width; give one (parameter gamma)")
        return spec_of(kernel, keys | own)

    def _options(self, rows, columns):
        """The options of a fit of so many rows and columns, as texts."""
        keys = {key: getattr(self, key) for key, default in self._keys.items()
                if not _same(getattr(self, key), default)}
        options = {"method": spec_of(self._method, keys), "command": self._command()}
        components = getattr(self, "n_components", "all")
        if components is not None and components != "all":
            if isinstance(components, (int, float, np.number)) and not components > 0:
                raise _core.ParameterError(f"n_components={components!r} is not above 0 (parameter n_components)")
            options["components"] = text_of(components)
        elif self._takes_all:
            options["components"] = text_of(min(rows, columns) if self._is_linear else rows)
        if not self._is_linear:
            options["kernel"] = self._kernel_spec()
        for key in ("center", "scale", "novelty", "keep", "intervals", "store", "precision", "tolerance", "head",
                    "scale_target", "map"):
            value = None if key in self._keys else getattr(self, key, None)  # ikpca has a key of the name tolerance
            if value is not None and not (key in ("novelty", "intervals") and value is False):
                options[key] = _scale_text(value) if key.startswith("scale") else text_of(value)
        return options

    def _command(self):
        """How the model was made, which it keeps: the class with what differs from its defaults."""
        told = [f"{name}={getattr(self, name)!r}" for name, default in _defaults(type(self)).items()
                if isinstance(getattr(self, name), (int, float, str)) and not _same(getattr(self, name), default)
                and name not in ("verbose", "n_jobs", "memory")]
        return f"{type(self).__name__}({', '.join(told)})"

    def _host(self):
        """The kernel where it is a function."""
        kernel = getattr(self, "kernel", None)
        return HostKernel(kernel) if callable(kernel) else None

    def _settings(self):
        return (threads_of(self.n_jobs), bytes_of(self.memory), seed_of(self.random_state), progress_of(self.verbose))

    def _silent(self):
        """Causes of notices that would tell people what they asked for: all components there are."""
        return (_core.FEWER_COMPONENTS,) if getattr(self, "n_components", "all") is None else ()

    # ----------------------------------------------------------------------------------------- input

    def _check_rows(self, X, reset):
        """A table or CSR matrix that the library takes, after scikit-learn's checks; names and number
        of its columns are kept (reset) or compared."""
        named = from_arrow(X)
        _sklearn.check_feature_names(self, X if named is None else named, reset)
        X = X if named is None else named.values
        refuse_odd(X)
        as_bytes = isinstance(X, np.ndarray) and X.dtype == UINT8
        try:
            X = _sklearn.check_rows(X, self, None if as_bytes else [FLOAT64, FLOAT32])
        except (TypeError, ValueError) as error:
            told = no_number(X) if is_pandas(X) or type(error) is ValueError else None
            if told is None:
                raise
            raise told from None
        _sklearn.check_n_features(self, X, reset)
        return X

    def _model(self):
        try:
            return self.__dict__["model_"]
        except KeyError:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                                 "appropriate arguments before using this estimator.") from None

    def _new_rows(self, X):
        """Rows for a fitted model. The usual case is quick: no names, the right number of columns."""
        if (type(X) is np.ndarray and (X.dtype is FLOAT64 or X.dtype is FLOAT32) and X.ndim == 2
                and X.shape[1] == self.n_features_in_ and X.shape[0] > 0 and "feature_names_in_" not in self.__dict__):
            return X
        return self._check_rows(X, reset=False)

    def __setstate__(self, state):
        super().__setstate__(state)
        for name, default in _defaults(type(self)).items():  # parameters that are newer than the pickle
            self.__dict__.setdefault(name, default)
        if "classes_" in self.__dict__:  # early versions counted them in their own order
            self.__dict__.setdefault("_order", np.arange(len(self.classes_)))

    # --------------------------------------------------------------------------------------- fitting

    def _fit(self, X, targets=None, landmarks=None, validation=None, validation_targets=None, want_features=False):
        """Fit to checked rows. want_features: give theirs, which most methods have at hand, instead of self."""
        names = getattr(self, "feature_names_in_", None)
        options = self._options(*X.shape)
        host = self._host()
        with Call(self._settings(), self._silent(), host) as context:
            rows = rows_of(context, X, names)
            extra = [None if more is None else rows_of(context, self._check_rows(more, reset=False), names)
                     for more in (landmarks, validation)]
            try:
                self.model_, self.report_, features = _core.fit(context, Model, options, rows, targets, *extra,
                                                                validation_targets, want_features)
            except _core.DataError as error:
                if X.shape[0] > 1:
                    raise
                raise _core.DataError(f"{error} (n_samples=1)") from None
        self.model_._with(host)
        self._n_features_out = self.n_components_ = self.model_.n_components
        return np.asarray(features).astype(_features_dtype(X), copy=False) if want_features else self

    def _fit_with(self, X, y, landmarks=None, validation=None):
        """fit with rows of which the method makes special use."""
        if y is not None or isinstance(self, _Supervised):
            self._need_y(y)
        X = self._check_rows(X, reset=True)
        targets = None if y is None else self._targets(X, y)
        if validation is None:
            return self._fit(X, targets, landmarks)
        rows, classes = validation
        return self._fit(X, targets, landmarks, rows, self._validation_targets(classes))

    def fit(self, X, y=None):
        """Learn features from rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With kernel="precomputed", kernel values of all pairs of rows.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        return self._fit(self._check_rows(X, reset=True))

    def transform(self, X):
        """Features of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            float32 for float32, else float64.
        """
        model = self._model()
        X = self._new_rows(X)
        context = take_context(threads_of(self.n_jobs), bytes_of(self.memory))
        try:
            out = np.empty((X.shape[0], self.n_components_), _features_dtype(X))
            _core.transform(context, model, rows_of(context, X), None, out, None)
        except BaseException:
            drop_context(context)
            raise
        give_context(context)
        return out

    def fit_transform(self, X, y=None, **options):
        """Learn features from rows, and give theirs: fit(X, y).transform(X), to rounding and often without the
        work of transform.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), for methods that learn from it

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        if options:
            return self.fit(X, y, **options).transform(X)
        X = self._check_rows(X, reset=True)
        return self._fit(X, self._targets(X, y), want_features=True)

    def _targets(self, X, y):
        return None

    def inverse_transform(self, X):
        """Rows whose features are near the given ones (pre-images), in the units of the input.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_features_in_)
        """
        model = self._model()
        features = check_array(X, dtype=[FLOAT64, FLOAT32], estimator=self)
        rows = model.inverse_transform(features, n_jobs=threads_of(self.n_jobs))
        return rows.astype(features.dtype, copy=False)

    def reconstruction_errors(self, X, *, self_kernel=None):
        """Squared distances in feature space between rows and what their features keep of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        self_kernel : array-like of shape (n_samples,), optional
            k(x, x) of the rows; needed with kernel="precomputed" alone.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._model().reconstruction_errors(self._new_rows(X), self_kernel=self_kernel,
                                                   n_jobs=threads_of(self.n_jobs))

    def is_novel(self, X, *, self_kernel=None):
        """Which rows are unlike the training rows, by the threshold that `novelty` asks for.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        self_kernel : array-like of shape (n_samples,), optional
            As for `reconstruction_errors`.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
        """
        return self._model().is_novel(self._new_rows(X), self_kernel=self_kernel, n_jobs=threads_of(self.n_jobs))

    def novelty_p_values(self, X, *, self_kernel=None):
        """How likely rows like the training rows are at least as far off, by the rows that `novelty` holds out.

        A row from the same source as the training rows has p of at most a with probability a at most.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        self_kernel : array-like of shape (n_samples,), optional
            As for `reconstruction_errors`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._model().novelty_p_values(self._new_rows(X), self_kernel=self_kernel, n_jobs=threads_of(self.n_jobs))

    def truncate(self, n_components):
        """A fitted estimator with the first components of this one.

        Parameters
        ----------
        n_components : int

        Returns
        -------
        estimator of the same class
        """
        from copy import copy
        shorter = copy(self)
        shorter.model_ = self._model().truncate(n_components)
        shorter._n_features_out = shorter.n_components_ = shorter.model_.n_components
        if hasattr(self, "n_components"):
            shorter.n_components = shorter.n_components_
        return shorter

    def save(self, path):
        """Write the model to a file for the command line, C and `mercer.load`.

        Parameters
        ----------
        path : str or path-like
        """
        self._model().save(path)

    # ------------------------------------------------------------------------------------ attributes

    @property
    def eigenvalues_(self):
        """Of the kernel matrix, decreasing, one per component."""
        return self._need_array("spectrum", "eigenvalues")

    @property
    def explained_variance_ratio_(self):
        """Share of the variance in feature space along each component."""
        info = self._model().info
        return self._need_array("spectrum", "eigenvalues") / (info["weight"] * info["total_variance"])

    @property
    def selected_(self):
        """Training rows that were chosen, in that order, counted from 0."""
        return self._need_array("selected", "selected rows")

    @property
    def X_fit_(self):
        """Rows that features are expressed by, as the kernel sees them (scaled)."""
        model = self._model()
        start = model.array("z_start")
        if start is not None:
            from scipy.sparse import csr_matrix
            return csr_matrix((model.array("z_value"), model.array("z_column"), start),
                              shape=(len(start) - 1, model.info["columns"]))
        return self._need_array("z", "expansion points")

    @property
    def dual_coef_(self):
        """Coefficients of these rows, one column per component."""
        return self._need_array("coefficients", "coefficients of rows")

    @property
    def components_(self):
        """Directions in the columns of the input, one per row, where the kernel is linear."""
        return self._need_array("weights", "directions in the input").T

    @property
    def kernel_(self):
        """The kernel with the numbers used."""
        return self._model().info["kernel"]

    @property
    def reconstruction_error_(self):
        """Mean over the training rows of what the features leave of them; None where undefined."""
        return self._model().info["reconstruction_error"]

    def _need_array(self, name, what):
        array = self._model().array(name)
        if array is None:
            raise AttributeError(f"this {type(self).__name__} has no {what}")
        return array

    # ------------------------------------------------------------------------------------------ tags

    def _is_pairwise(self):
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, str) and kernel.lower() == "precomputed"

    def _more_tags(self):
        return {"preserves_dtype": [np.float64, np.float32], "pairwise": self._is_pairwise()}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_pairwise()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ----------------------------------------------------------------------------------------- plots

    def plot_features(self, X, y=None, *, axes=(0, 1), ax=None):
        """Scatter of two features of rows, coloured by y; needs matplotlib. Returns the axes."""
        from . import _plot
        return _plot.features(self, X, y, axes, ax)

    def plot_spectrum(self, *, ax=None):
        """Share of the variance per component, and its sum; needs matplotlib. Returns the axes."""
        from . import _plot
        return _plot.spectrum(self, ax)

    def plot_errors(self, X, *, ax=None):
        """Reconstruction errors of rows, with the novelty threshold; needs matplotlib. Returns the axes."""
        from . import _plot
        return _plot.errors(self, X, ax)

    def plot_preimages(self, X, *, shape=None, count=8, figure=None):
        """Rows and the pre-images of their features, as pictures of a shape or as curves; needs
        matplotlib. Returns the figure."""
        from . import _plot
        return _plot.preimages(self, X, shape, count, figure)


def _features_dtype(X):
    return FLOAT32 if X.dtype == FLOAT32 else FLOAT64


@functools.lru_cache
def _defaults(cls):
    """{parameter: default} of a class, in the order of its signature."""
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def _same(value, default):
    """Whether a parameter is its default; arrays are not."""
    return value is default or (type(value) in (int, float, str, bool) and type(default) in (int, float, str, bool)
                                and value == default)


def _scale_text(value):
    """scale=True is scikit-learn's word for standard."""
    if isinstance(value, (bool, np.bool_)):
        return "standard" if value else "none"
    return text_of(value)


def class_labels(y):
    """y as a vector that holds classes, as scikit-learn knows them."""
    if isinstance(y, np.ma.MaskedArray):
        refuse_odd(y, "y")
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    return y


def class_targets(y, classes, what="training"):
    """(the library's targets of labels, order): classes count in the order in which they appear, as the command line
    has it, so that both learn the same; the k-th of the library is classes[order[k]]."""
    codes = np.searchsorted(classes, y).clip(0, len(classes) - 1)
    if not np.array_equal(classes[codes], y):
        raise _core.DataError(f"the {what} rows have a class that the training rows do not have")
    seen, first = np.unique(codes, return_index=True)
    order = np.concatenate([seen[np.argsort(first)], np.setdiff1d(np.arange(len(classes)), seen)])
    names = class_names(classes)
    return _core.targets_classes(np.argsort(order)[codes].astype(np.int64), [names[i] for i in order]), order


def target_values(y, estimator):
    """y as numbers, with one axis or two."""
    refuse_odd(y, "y")
    return check_array(y, ensure_2d=False, dtype=FLOAT64, input_name="y", estimator=estimator)


class _Streaming(_Kernel):
    """A method that learns from rows as they come."""

    def partial_fit(self, X, y=None):
        """Learn from more rows, as `mercer update` does, bit for bit.

        The first rows decide number and names of the columns, and the parameters; rows that do not
        fill a block are folded in as a shorter one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        started = "model_" in self.__dict__
        X = self._check_rows(X, reset=not started)
        names = getattr(self, "feature_names_in_", None)
        options = {} if started else self._options(*X.shape)
        host = self.model_._host if started else self._host()  # the first rows decide the kernel too
        with Call(self._settings(), (), host) as context:
            self.model_, self.report_ = _core.learn(context, Model, self.model_ if started else None, options,
                                                    rows_of(context, X, names))
        self.model_._with(host)
        self._n_features_out = self.n_components_ = self.model_.n_components
        return self


class _Supervised(_Kernel):
    """A method that learns from classes or values, and predicts them."""

    def _need_y(self, y):
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")

    def fit(self, X, y):
        """Learn features that have to do with y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With kernel="precomputed", kernel values of all pairs of rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Classes of a classifier, values of a regressor.

        Returns
        -------
        self
        """
        self._need_y(y)
        X = self._check_rows(X, reset=True)
        return self._fit(X, self._targets(X, y))

    def fit_transform(self, X, y=None, **options):
        """Learn features that have to do with y, and give those of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        self._need_y(y)
        return super().fit_transform(X, y, **options)

    def _scores(self, X, n_components):
        """(scores, codes of classes)."""
        model = self._model()
        X = self._new_rows(X)
        context = take_context(threads_of(self.n_jobs), bytes_of(self.memory))
        try:
            scores = np.empty((X.shape[0], _core.sizes(model)[2]))
            codes = np.empty(X.shape[0], np.int64) if self._estimator_type == "classifier" else None
            _core.predict(context, model, rows_of(context, X), components_of(n_components), scores, codes)
        except BaseException:
            drop_context(context)
            raise
        give_context(context)
        return scores, codes

    def predict(self, X, *, n_components=None):
        """Classes of rows, or values of a regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        n_components : int, optional
            Predict from the first so many features only.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._predictions(*self._scores(X, n_components))

    def _more_tags(self):
        return super()._more_tags() | {"requires_y": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class _Classifier(ClassifierMixin, _Supervised):
    _estimator_type = "classifier"
    _two_classes = False  # it learns from no more

    def _targets(self, X, y):
        y = class_labels(y)
        check_consistent_length(X, y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: y holds {classes.tolist()[0]!r} alone")
        if self._two_classes and len(classes) > 2:
            raise ValueError("Only binary classification is supported. The type of the target is "
                             f"{type_of_target(y)}: y holds {len(classes)} classes.")
        self.classes_ = classes
        targets, self._order = class_targets(y, classes)
        return targets

    def _validation_targets(self, y):
        return class_targets(class_labels(y), self.classes_, "validation")[0]

    def _predictions(self, scores, codes):
        return take_classes(self.classes_[self._order], codes)

    def decision_function(self, X):
        """How much speaks for each class; for two classes, for the second rather than the first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X, None)[0][:, np.argsort(self._order)]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _more_tags(self):
        return super()._more_tags() | {"binary_only": self._two_classes}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self._two_classes
        return tags


class _Regressor(RegressorMixin, _Supervised):
    _estimator_type = "regressor"

    def _targets(self, X, y):
        y = target_values(y, self)
        check_consistent_length(X, y)
        self._y_ndim = y.ndim
        return value_targets(y)

    def _predictions(self, scores, codes):
        return scores[:, 0] if self._y_ndim == 1 else scores

    def predict_interval(self, X, *, coverage=0.9):
        """Intervals around predictions, where `intervals` was asked for: the true value of a row from the same
        source as the training rows lies within with this probability at least, each target on its own.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        (low, high), each as `predict` gives values
        """
        half = self._model().half_widths(coverage)
        scores, _ = self._scores(X, None)
        return self._predictions(scores - half, None), self._predictions(scores + half, None)

    def _more_tags(self):
        return super()._more_tags() | {"multioutput": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
