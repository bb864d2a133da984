# SPDX-License-Identifier: BSD-3-Clause
"""Estimators judged by rows held out, by the library's own cross-validation: one fit and one projection
serve all numbers of components, one distance matrix all widths; choices, and what a fit will cost. Needs
NumPy alone beside the estimator."""
import itertools

import numpy as np

from . import _core
from ._runtime import FLOAT64, Call, class_names, prepared, rows_of, text_of, value_targets, whole_number

LEAVE_ONE_OUT = -1
IN_ORDER = "time:"
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
    tuning : Tuning or None
        What it chooses on all rows, where something was tuned in folds.
    importances_mean, importances_std : ndarray of shape (n_features,) or None
        By how much the metric of held-out rows gets worse without what a column tells, over the folds;
        where `importance` was asked for.
    feature_names : list of str or None
        Of the columns, where they have names.
    confusion : ndarray or None
        Rows of class i that were predicted as j.
    classes : ndarray or None
    folds : list of dict
        For each fold: value, rows held out (`row`), predicted `codes` and `scores`, `components`, `points`.
    """

    def __init__(self, handle, job):
        self._handle, self.classes, self.feature_names = handle, job.classes, job.names
        self.name = type(job.estimator).__name__
        info = _core.evaluation_info(handle)
        self.metric, self.summary, self.larger_is_better = info["metric"], info["summary"], info["larger_is_better"]
        self.mean, self.sd, self.choices, self.positive = info["mean"], info["sd"], info["choices"], info["positive"]
        place = None if info["kind"] != "classes" else np.argsort(job.order)  # of our classes among the library's
        self.confusion = None if place is None or info["confusion"] is None else np.asarray(info["confusion"])[np.ix_(place, place)]
        self.folds = [_fold(handle, i, job.order, place) for i in range(info["folds"])]
        self.values = np.array([fold["value"] for fold in self.folds])
        self.chosen = [{"n_components": fold["components"], **_chosen(fold["chosen"])} for fold in self.folds]
        self.tuning = None if _core.evaluation_tuning(handle) is None else Tuning(handle, job.estimator)
        importance = _core.evaluation_importance(handle)
        self.importances_mean, self.importances_std = (None, None) if importance is None else np.asarray(importance).T

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


class Tuning:
    """A choice of parameters, by folds of all rows.

    The mean of what is chosen is optimistic, because it was chosen by it; `evaluate(tune=...)` tells what
    the choice is worth.

    Attributes
    ----------
    params : dict
        What is chosen, by parameter.
    estimator : estimator
        A copy of the estimator with these parameters, not fitted.
    grid : list of dict
        Every combination.
    metric : str
    larger_is_better : bool
    mean, se : ndarray of shape (n_combinations,)
        The metric over the folds and its standard error; NaN: the combination cannot be fitted.
    values : ndarray of shape (n_folds, n_combinations)
    best, chosen : int
        Of the combinations the one with the best mean, and the one that the rule takes.
    rule : str
    further : dict
        Values to try by parameter, where the one that is chosen lies at the edge of the grid.
    """

    def __init__(self, handle, estimator):
        info, told = _core.evaluation_info(handle), _core.evaluation_tuning(handle)
        self.metric, self.larger_is_better, self.rule = info["metric"], info["larger_is_better"], told["rule"]
        self.best, self.chosen = told["best"], told["chosen"]
        self.mean, self.se, self.values = (np.asarray(told[key]) for key in ("mean", "se", "values"))
        names = [_parameter(key) for key, *_ in told["axes"]]
        values = [[_value(estimator, name, text) for text in texts] for name, (_, texts, *_) in zip(names, told["axes"])]
        self.grid = [dict(zip(names, cell)) for cell in itertools.product(*values)]
        self.params = self.grid[self.chosen]
        self.further = {name: axis[3] for name, axis in zip(names, told["axes"]) if axis[3] is not None}
        self.estimator = _with(estimator, self.params, told["head"])

    def __repr__(self):
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        spread = "" if np.isnan(self.se[self.chosen]) else f" (se {self.se[self.chosen]:.3g})"
        return (f"<mercer.Tuning of {type(self.estimator).__name__}: {chosen}, {self.metric} {self.mean[self.chosen]:.4g}{spread}, "
                f"of {len(self.grid)} choices>")


def _parameter(key):
    """kernel.sigma, components as estimators call them; keys of heads stay what they are."""
    names = {told: name for name, told in TUNED.items()}
    return names.get(key, key if key.startswith("head.") else key.split(".")[-1])


def _value(estimator, name, text):
    """A value of a tuned parameter as people would give it to the estimator."""
    if isinstance(estimator._keys.get(name), bool):
        return text == "on"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _with(estimator, params, head):
    """A copy of an estimator with other parameters. A kernel that was chosen has its numbers inside, or its own defaults."""
    from sklearn.base import clone
    params = {name: value for name, value in params.items() if not name.startswith("head.")} | (
        {"head": head} if any(name.startswith("head.") for name in params) and hasattr(estimator, "head") else {})
    if "kernel" in params:
        params = dict.fromkeys(("gamma", "sigma", "degree", "coef0", "kernel_params")) | params
    return clone(estimator).set_params(**params)


def _fold(handle, index, order, place):
    fold = {key: np.asarray(value) if isinstance(value, _core.View) else value
            for key, value in _core.evaluation_fold(handle, index).items()}
    if place is not None and fold["codes"] is not None:
        fold["codes"] = np.append(order, -1)[fold["codes"]]  # -1: no class won
    if place is not None and fold["scores"] is not None:
        fold["scores"] = fold["scores"][:, place]
    return fold


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


def _folds(cv, name="cv"):
    """(folds, are rows in the order of time?) of a number, "loo" or "time:5"."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise _core.ParameterError(f"{name}={cv}: give 2 folds or more")
        return int(cv), False
    if cv == "loo":
        return LEAVE_ONE_OUT, False
    count = str(cv).removeprefix(IN_ORDER)
    if not isinstance(cv, str) or not cv.startswith(IN_ORDER) or not count.isdecimal() or int(count) < 2:
        raise _core.ParameterError(f"{name}={cv!r}: give a number of folds, \"loo\" or \"time:5\""
                                   + (", or splits" if name == "cv" else ""))
    return int(count), True


def _plan(cv, repeats, X, y, groups):
    """The folds as _core.evaluate() takes them; splits are pairs of training and test rows as scikit-learn gives them."""
    groups = _group_codes(groups, X.shape[0])
    if isinstance(cv, (int, np.integer, str)):
        folds, ordered = _folds(cv)
        return folds, repeats, None, None, groups, ordered
    n, held = X.shape[0], []
    for train, test in list(cv.split(X, y, groups) if hasattr(cv, "split") else cv):
        train, test = (np.flatnonzero(part) if np.asarray(part).dtype == bool else part for part in (train, test))
        test = np.unique(np.asarray(test, np.int64))
        if len(test) + len(np.unique(train)) != n or len(np.intersect1d(test, train)):
            raise _core.ParameterError("cv: a split must hold every row once, in its training or its test part "
                                       "(rows in the order of time: cv=\"time:5\")")
        held.append(test)
    if not held:
        raise _core.ParameterError("cv gives no splits")
    starts = np.cumsum([0] + [len(test) for test in held], dtype=np.int64)
    return 0, repeats, starts, np.concatenate(held), groups, False


def _group_codes(groups, n):
    """Groups as numbers from 0 on; anything that can be told apart names one."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise _core.DataError(f"groups has shape {groups.shape}, X has {n} rows: give one group per row (parameter groups)")
    known, codes = {}, np.empty(n, np.int64)
    for i, group in enumerate(groups.tolist()):
        if group is None or not _same_as_itself(group):
            raise _core.DataError(f"groups: row {i}, counted from 0, has none (parameter groups)")
        codes[i] = known.setdefault(group, len(known))
    return codes


def _same_as_itself(value):
    """NaN is not, and of pandas' NA nobody knows."""
    try:
        return bool(value == value)
    except TypeError:
        return False


def _coded(estimator, y, classes=None):
    """(targets, classes, order) as the estimator would learn from them; what learns from rows alone tells classes by
    their type."""
    if y is None:
        return None, None, None
    from ._base import class_labels, class_targets, target_values
    kind = getattr(estimator, "_estimator_type", None)
    if kind == "regressor" or (kind is None and classes is None and np.asarray(y).dtype.kind == "f"):
        return value_targets(target_values(y, estimator)), None, None
    y, what = class_labels(y), "training" if classes is None else "test"
    classes = np.unique(y) if classes is None else classes
    targets, order = class_targets(y, classes, what)
    return targets, classes, order


class _Job:
    """An estimator with rows, as evaluate and tune give them to the library."""

    def __init__(self, estimator, X, y, head, positive):
        if isinstance(estimator, type) or not hasattr(estimator, "_kernel_spec"):
            raise TypeError(f"{estimator!r} is not an estimator of this package; scikit-learn's cross_val_score and GridSearchCV "
                            "take any other, and pipelines")
        self.estimator = estimator
        self.table, self.names = prepared(X)
        self.options = estimator._options(*self.table.shape)
        self.options.pop("command", None)
        if head is not None:
            self.options["head"] = head
        self.targets, self.classes, self.order = _coded(estimator, y)
        predicts = "head" in self.options or hasattr(estimator, "predict")
        if positive is None and predicts and self.classes is not None and len(self.classes) == 2:
            positive = self.classes[1]
        self.positive = positive
        if positive is not None:
            if self.classes is None or positive not in list(self.classes):
                raise _core.ParameterError(f"positive={positive!r} is not a class of y (parameter positive)")
            self.positive = class_names(self.classes)[list(self.classes).index(positive)]

    def run(self, plan, test, metric, importance, choice, alone):
        estimator, host = self.estimator, self.estimator._host()
        for key in ("novelty", "intervals", "keep"):  # of the model that is kept, not of its judgement
            self.options.pop(key, None)
        with Call(estimator._settings(), estimator._silent(), host) as context:
            judged = judged_targets = None
            if test is not None:
                other, other_names = prepared(test[0])
                judged = rows_of(context, other, other_names)
                judged_targets = _coded(estimator, test[1], self.classes)[0]
            return _core.evaluate(context, self.options, rows_of(context, self.table, self.names), self.targets, plan,
                                  (judged, judged_targets), (metric, self.positive, importance), choice, alone)


def evaluate(estimator, X, y=None, *, cv=5, repeats=1, metric=None, tune=None, inner_cv=5, tune_rule=None, groups=None,
             importance=False, test=None, head=None, positive=None):
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
    cv : int, "loo", "time:5", splitter or list of (train, test), default=5
        "time:5": rows are in the order of time; five runs of rows at the end are held out in turn, and
        learnt are all rows before each.
    repeats : int, default=1
        How often folds are drawn.
    metric : str, default=None
        error, balanced, auc or ap of classes; rmse of values; structure, columns, reconstruction or preimage
        where nothing is predicted. None: error, rmse, or structure.
    tune : dict, optional
        Values to choose from by parameter, for example {"sigma": [1, 2, 4], "n_components": [2, 5, 10]}.
    inner_cv : int, default=5
        Folds of the choice.
    tune_rule : {"best", "1se"}, default=None
        "1se": of all that are within one standard error of the best the one with the fewest components, then
        the widest kernel, then the most ridge. None: "best".
    groups : array-like of shape (n_samples,), optional
        Rows of one group are in one fold, outer and inner; "loo" leaves one group out.
    importance : bool, default=False
        Tell how much each column matters.
    test : (X, y), optional
        Judge by these rows instead of folds.
    head : str, optional
        What predicts from the features; of estimators without prediction, too ("knn:k=3").
    positive : class, optional
        Which of two classes auc, ap and the ROC curve look for; None: the second.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = mercer.evaluate(mercer.KernelPLSClassifier(3), X, y, importance=True)
    >>> result.metric, result.values.shape, result.importances_mean.shape
    ('error', (5,), (4,))
    """
    job = _Job(estimator, X, y, head, positive)
    plan = (0, repeats, None, None, _group_codes(groups, job.table.shape[0]), False)
    if test is None:
        plan = _plan(cv, repeats, job.table, y, groups)
    handle = job.run(plan, test, metric, importance, (_tune_texts(estimator, tune), inner_cv, tune_rule), False)
    return Evaluation(handle, job)


def tune(estimator, grid, X, y=None, *, cv=5, metric=None, rule=None, groups=None, head=None, positive=None):
    """Choose parameters of an estimator by cross-validation.

    What `mercer fit --tune` does before it fits: one fit serves all numbers of components, and one distance
    matrix all widths, so that it is much faster than a search that fits every combination. Any
    parameter of the method, the kernel and the head can be chosen; others by scikit-learn's GridSearchCV.

    Parameters
    ----------
    estimator : estimator of this package
        Not fitted, and not changed.
    grid : dict
        Values to choose from by parameter, for example {"sigma": [1, 2, 4], "n_components": [2, 5, 10]};
        "1:64:*2" is a range, "head.k" a key of the head.
    X : array-like, sparse matrix or DataFrame
    y : array-like, optional
        Classes or values; without it the features themselves are judged.
    cv : int or "time:5", default=5
        Folds; "time:5" where rows are in the order of time, as for `evaluate`.
    metric : str, default=None
        As for `evaluate`.
    rule : {"best", "1se"}, default=None
        As `tune_rule` of `evaluate`; None: "best".
    groups : array-like of shape (n_samples,), optional
        Rows of one group are in one fold.
    head : str, optional
        What predicts from the features; of estimators without prediction, too ("knn:k=3").
    positive : class, optional
        As for `evaluate`.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = mercer.tune(mercer.KernelPLSClassifier(), {"n_components": [1, 2, 4], "sigma": [1, 2]}, X, y)
    >>> sorted(choice.params), len(choice.grid)
    (['n_components', 'sigma'], 6)
    >>> choice.estimator.fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """
    folds, ordered = _folds(cv, "tune: cv")
    if folds == LEAVE_ONE_OUT:
        raise _core.ParameterError("tune: cv=\"loo\": give a number of folds or \"time:5\"")
    job = _Job(estimator, X, y, head, positive)
    plan = (0, 0, None, None, _group_codes(groups, job.table.shape[0]), ordered)
    return Tuning(job.run(plan, None, metric, False, (_tune_texts(estimator, grid), folds, rule), True), estimator)


def forecast(estimator, X, y=None, *, n_rows=None):
    """What a fit will cost here, before it is done; it takes about 0.2 seconds.

    Parameters
    ----------
    estimator : estimator of this package
        Not fitted, and not changed.
    X : array-like, sparse matrix or DataFrame
    y : array-like, optional
    n_rows : int, optional
        Forecast a fit of so many rows like these; None: of these.

    Returns
    -------
    dict
        seconds, with seconds_low and seconds_high between which they should lie; memory_bytes beyond the rows;
        store and store_reason, how the kernel matrix would be held and why; cheaper, an estimator that does nearly
        the same in less than half of the time, with cheaper_seconds, or "". NaN: nobody knows.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> told = mercer.forecast(mercer.KernelPCA(10), np.random.default_rng(0).normal(size=(500, 5)), n_rows=20000)
    >>> told["seconds_low"] <= told["seconds"] <= told["seconds_high"], told["memory_bytes"] > 0
    (True, True)
    """
    job = _Job(estimator, X, y, None, None)
    if n_rows is not None and whole_number(n_rows, "n_rows") < 1:
        raise _core.ParameterError(f"n_rows={n_rows}: give 1 or more")
    with Call(estimator._settings(), kernel=estimator._host()) as context:
        told = _core.forecast(context, job.options, rows_of(context, job.table, job.names), job.targets, n_rows or 0)
    told["cheaper"] = _spelled(told["cheaper"], estimator)
    return told


def _spelled(spec, estimator):
    """NAME:key=value of a method as the estimator that it is, of the same kind; "" where there is none."""
    from . import _estimators
    name, _, keys = spec.partition(":")
    for cls in vars(_estimators).values():
        if getattr(cls, "_method", None) == name and getattr(cls, "_estimator_type", None) == getattr(estimator, "_estimator_type", None):
            return f"{cls.__name__}({keys.replace(',', ', ')})"
    return ""


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
