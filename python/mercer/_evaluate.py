# SPDX-License-Identifier: BSD-3-Clause
"""Estimators judged by rows held out, by the library's own cross-validation: one fit and one projection
serve all numbers of components, one distance matrix all widths. Needs NumPy alone beside the estimator."""
import numpy as np

from . import _core
from ._runtime import FLOAT64, Call, class_names, prepared, rows_of, text_of, value_targets

LEAVE_ONE_OUT = -1
TUNED = {"n_components": "components", "kernel": "kernel", "gamma": "kernel.gamma", "sigma": "kernel.sigma",
         "degree": "kernel.degree", "coef0": "kernel.coef0"}


class Evaluation:
    """How well features predict, or keep, rows that were not learnt from.

    Attributes
    ----------
    metric : str
        What was measured, and `summary` in words.
    mean, sd : float
        Over the folds.
    larger_is_better : bool
    values : ndarray of shape (n_folds,)
        The metric of each fold.
    chosen : list of dict
        What tuning chose in each fold.
    confusion : ndarray or None
        Rows of class i that were predicted as j.
    classes : ndarray or None
    folds : list of dict
        For each fold: value, rows held out (`row`), predicted `codes` and `scores`, `components`, `points`.
    """

    def __init__(self, handle, classes, name):
        self._handle, self.classes, self.name = handle, classes, name
        info = _core.evaluation_info(handle)
        self.metric, self.summary, self.larger_is_better = info["metric"], info["summary"], info["larger_is_better"]
        self.mean, self.sd, self.choices, self.positive = info["mean"], info["sd"], info["choices"], info["positive"]
        self.confusion = None if info["kind"] != "classes" or info["confusion"] is None else np.asarray(info["confusion"])
        self.folds = [_fold(handle, i) for i in range(info["folds"])]
        self.values = np.array([fold["value"] for fold in self.folds])
        self.chosen = [{"n_components": fold["components"], **_chosen(fold["chosen"])} for fold in self.folds]

    def roc(self):
        """The ROC curve of two classes: arrays of false positive rate, true positive rate, threshold."""
        points = np.frombuffer(_core.evaluation_roc(self._handle), FLOAT64).reshape(-1, 3)
        return points[:, 0].copy(), points[:, 1].copy(), points[:, 2].copy()

    def plot(self, *, ax=None):
        """The metric of every fold, or the ROC curve's axes; needs matplotlib. Returns the axes."""
        from . import _plot
        return _plot.evaluation(self, ax)

    def __repr__(self):
        spread = "" if np.isnan(self.sd) else f" (sd {self.sd:.3g})"
        return f"<mercer.Evaluation of {self.name}: {self.metric} {self.mean:.4g}{spread} over {len(self.folds)} folds>"


def _fold(handle, index):
    fold = _core.evaluation_fold(handle, index)
    return {key: np.asarray(value) if isinstance(value, _core.View) else value for key, value in fold.items()}


def _chosen(text):
    """kernel.sigma=2,method.delta=0.5 as {"sigma": 2.0, "delta": 0.5}."""
    out = {}
    for pair in filter(None, text.replace(" ", ",").split(",")):
        key, _, value = pair.partition("=")
        try:
            out[key.split(".")[-1]] = float(value)
        except ValueError:
            out[key.split(".")[-1]] = value
    return out


def _tune_texts(estimator, tune):
    """{"sigma": [1, 2]} as the library reads it."""
    texts = []
    for name, values in (tune or {}).items():
        if name in TUNED:
            key = TUNED[name]
        elif name in estimator._keys:
            key = f"method.{name}"
        elif name.startswith("head."):
            key = name
        else:
            raise _core.ParameterError(f"tune: {type(estimator).__name__} has no parameter {name!r} that is tuned")
        values = [values] if isinstance(values, (str, int, float)) else values
        texts.append(f"{key}={','.join(text_of(value) for value in values)}")
    return texts


def _splits(cv, X, y):
    """(folds, starts, rows) of a number, "loo", or pairs of training and test rows as scikit-learn gives them."""
    if isinstance(cv, (int, np.integer)):
        return int(cv), None, None
    if isinstance(cv, str):
        if cv != "loo":
            raise _core.ParameterError(f"cv={cv!r}: give a number of folds, \"loo\", or splits")
        return LEAVE_ONE_OUT, None, None
    pairs = list(cv.split(X, y) if hasattr(cv, "split") else cv)
    n, held = X.shape[0], []
    for train, test in pairs:
        test = np.unique(np.asarray(test, np.int64))
        if len(test) + len(np.unique(train)) != n or len(np.intersect1d(test, train)):
            raise _core.ParameterError("cv: a split must hold every row once, in its training or its test part")
        held.append(test)
    if not held:
        raise _core.ParameterError("cv gives no splits")
    starts = np.cumsum([0] + [len(test) for test in held], dtype=np.int64)
    return 0, starts, np.concatenate(held)


def _coded(estimator, y, classes=None):
    """(targets, classes) as the estimator would learn from them."""
    if y is None:
        return None, None
    y = np.asarray(y)
    kind = getattr(estimator, "_estimator_type", None)
    if kind == "regressor" or (kind is None and y.dtype.kind == "f" and classes is None):
        return value_targets(y), None
    if classes is None:
        classes = np.unique(y)
    codes = np.searchsorted(classes, y).clip(0, len(classes) - 1)
    if not np.array_equal(classes[codes], y):
        raise _core.DataError("the test rows have a class that the training rows do not have")
    return _core.targets_classes(np.ascontiguousarray(codes, np.int64), class_names(classes)), classes


def evaluate(estimator, X, y=None, *, cv=5, repeats=1, metric=None, tune=None, inner_cv=5, test=None, head=None,
             positive=None):
    """Judge an estimator by rows held out.

    Scaling, kernel widths and heads are learnt from the training part of every fold alone; tuning too, in
    folds of its own. Same numbers as `mercer evaluate`, for any number of threads.

    Parameters
    ----------
    estimator : estimator of this package
        Not fitted, and not changed.
    X : array-like, sparse matrix or DataFrame
    y : array-like, optional
        Classes or values; without it the features themselves are judged.
    cv : int, "loo", splitter or list of (train, test), default=5
    repeats : int, default=1
        How often folds are drawn.
    metric : str, default=None
        error, balanced, auc or ap of classes; rmse of values; structure, columns, reconstruction or preimage
        where nothing is predicted. None: error, rmse, or structure.
    tune : dict, optional
        Values to choose from by parameter, for example {"sigma": [1, 2, 4], "n_components": [2, 5, 10]}.
    inner_cv : int, default=5
        Folds of the choice.
    test : (X, y), optional
        Judge by these rows instead of folds.
    head : str, optional
        What predicts from the features; of estimators without prediction, too ("knn:k=3").
    positive : class, optional
        Which of two classes auc, ap and the ROC curve look for; None: the second.

    Returns
    -------
    Evaluation
    """
    table, names = prepared(X)
    options = estimator._options(*table.shape)
    options.pop("command", None)
    if head is not None:
        options["head"] = head
    folds, starts, rows = _splits(cv, table, y)
    targets, classes = _coded(estimator, y)
    told = positive if positive is None else class_names(classes)[list(classes).index(positive)]
    host = estimator._host()
    with Call(estimator._settings(), estimator._silent(), host) as context:
        judged = judged_targets = None
        if test is not None:
            other, other_names = prepared(test[0])
            judged = rows_of(context, other, other_names)
            judged_targets = _coded(estimator, test[1], classes)[0]
            folds, starts, rows = 0, None, None
        handle = _core.evaluate(context, options, rows_of(context, table, names), targets, folds, repeats, (starts, rows),
                                judged, judged_targets, metric, _tune_texts(estimator, tune), inner_cv, told)
    return Evaluation(handle, classes, type(estimator).__name__)


def compare(estimators, X, y=None, **options):
    """Judge several estimators by the same folds.

    Parameters
    ----------
    estimators : list, or dict of name to estimator
    X, y, **options
        As for `evaluate`; tune is given to the estimators that have all its parameters.

    Returns
    -------
    dict of name to Evaluation, the best first
    """
    if not isinstance(estimators, dict):
        named = {}
        for estimator in estimators:
            name = type(estimator).__name__
            named[name if name not in named else f"{name} {len(named) + 1}"] = estimator
        estimators = named
    tune = options.pop("tune", None)
    results = {}
    for name, estimator in estimators.items():
        known = tune and all(key in estimator.get_params(deep=False) for key in tune)
        results[name] = evaluate(estimator, X, y, tune=tune if known else None, **options)
    best_first = sorted(results.items(), key=lambda pair: -pair[1].mean if pair[1].larger_is_better else pair[1].mean)
    return dict(best_first)
