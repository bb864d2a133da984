#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Folds, choices, intervals, p-values, importance and forecasts: test_evaluate.py MERCER [WORD...] [-jN]

The command line is another client of the same functions: what it writes as JSON is what must come out here.
"""
import json
import math
import pathlib
import subprocess
import sys

import numpy as np

from support import blobs, need_sklearn, program, raises, run_tests, same, test

need_sklearn()
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit  # noqa: E402

import mercer  # noqa: E402

MERCER = program()
GRID = {"sigma": [0.5, 2.0, 8.0], "n_components": [1, 2, 4]}
CLASSES = np.array([2, 0, 1])[np.arange(120) % 3]  # they appear in another order than theirs
TUNE = ["--tune", "kernel.sigma=0.5,2,8", "--tune", "components=1,2,4"]


def table(y, path="rows.csv", label="label"):
    """(X, groups): rows of 120, and a file of them with their group and y."""
    random = np.random.default_rng(5)
    X = random.normal(size=(120, 4)) + 1.2 * random.normal(size=(3, 4))[np.arange(120) % 3]
    if y is None:
        y = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.3 * random.normal(size=120)
    groups = np.array([f"p{i // 3 % 12}" for i in range(120)])
    texts = [repr(float(value)) if label == "target" else f"c{value}" for value in y]
    lines = [",".join([*map(repr, map(float, row)), group, text]) for row, group, text in zip(X, groups, texts)]
    pathlib.Path(path).write_text("\n".join([f"a,b,c,d,person,{label}", *lines]) + "\n")
    return X, groups, np.asarray(y)


def told(*words):
    done = subprocess.run([MERCER, *words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def equal(ours, theirs):
    """Numbers that JSON holds, where null stands for NaN."""
    theirs = np.array([math.nan if value is None else value for value in theirs])
    np.testing.assert_array_equal(np.asarray(ours, float), theirs)


@test
def folds_are_the_command_lines():
    X, groups, y = table(CLASSES)
    estimator = mercer.KernelPLSClassifier(3, random_state=7)
    for words, options in ((["--drop", "person", "--cv", "time:4"], {"cv": "time:4"}),
                           (["--groups", "person", "--cv", "4"], {"cv": 4, "groups": groups}),
                           (["--groups", "person", "--cv", "loo"], {"cv": "loo", "groups": groups}),
                           (["--drop", "person", "--repeats", "3"], {"repeats": 3}),
                           (["--drop", "person", "--cv", "loo"], {"cv": "loo"})):
        theirs = told("evaluate", "rows.csv", "-m", "kpls", "-n", "3", "--seed", "7", *words)
        ours = mercer.evaluate(estimator, X, y, **options)
        assert ours.mean == theirs["mean"], words
        equal(ours.values, [fold["value"] for fold in theirs["folds"]])
        assert [len(fold["row"]) for fold in ours.folds] == [fold["rows"] for fold in theirs["folds"]]
        assert ours.tuning is None and ours.importances_mean is None
        place = [theirs["classes"].index(f"c{name}") for name in ours.classes]
        assert ours.confusion.tolist() == [[theirs["confusion"][i][j] for j in place] for i in place], words
        for fold in ours.folds:  # predictions and scores are of the classes as they are listed
            assert (fold["scores"].argmax(axis=1) == fold["codes"]).all()
        rows, codes = (np.concatenate([fold[key] for fold in ours.folds]) for key in ("row", "codes"))
        confusion = np.zeros((3, 3), int)
        np.add.at(confusion, (y[rows], codes), 1)
        assert (confusion == ours.confusion).all()
    ordered = mercer.evaluate(estimator, X, y, cv="time:4").folds
    assert [list(fold["row"]) for fold in ordered] == [list(range(24 * (i + 1), 24 * (i + 2))) for i in range(4)]
    whole = mercer.evaluate(estimator, X, y, groups=groups).folds
    for fold in whole:
        assert not set(groups[fold["row"]]) & set(np.delete(groups, fold["row"]))
    assert sorted(np.concatenate([fold["row"] for fold in whole])) == list(range(120))
    assert len(mercer.evaluate(estimator, X, y, groups=groups, cv=GroupKFold(4)).folds) == 4
    masks = [(np.isin(np.arange(120), test, invert=True), np.isin(np.arange(120), test)) for _, test in KFold(3).split(X)]
    assert mercer.evaluate(estimator, X, y, cv=masks).mean == mercer.evaluate(estimator, X, y, cv=KFold(3)).mean
    numbers = np.unique(groups, return_inverse=True)[1] * 1.0
    assert mercer.evaluate(estimator, X, y, groups=numbers).mean == mercer.evaluate(estimator, X, y, groups=groups).mean


@test
def folds_that_cannot_be_are_refused():
    X, groups, y = table(CLASSES)
    estimator = mercer.KernelPLSClassifier(3)
    numbers = np.arange(120.0)
    numbers[17] = np.nan
    for options, words in (({"cv": "time"}, ("time:5",)), ({"cv": "time:1"}, ("time:1",)), ({"cv": 1}, ("2 folds",)),
                           ({"cv": TimeSeriesSplit(3)}, ("time:5",)), ({"cv": "time:4", "groups": groups}, ("order of time", "groups")),
                           ({"groups": groups[:-1]}, ("(119,)", "120 rows", "groups")), ({"groups": numbers}, ("groups", "row 17")),
                           ({"groups": groups, "cv": KFold(4)}, ("group", "held out")), ({"groups": np.zeros(120)}, ("group",)),
                           ({"positive": 7}, ("positive=7",)), ({"tune": GRID, "tune_rule": "least"}, ("least",)),
                           ({"test": (X, y), "cv": 3, "tune": {"scale": [1]}}, ("scale",))):
        with raises(ValueError, *words):
            mercer.evaluate(estimator, X, y, **options)
    with raises(ValueError, "119"):
        mercer.evaluate(estimator, X, y[:-1])


@test
def choices_are_the_command_lines():
    X, groups, y = table(CLASSES)
    estimator = mercer.KernelPLSClassifier(random_state=3)
    for words, options in (([], {}), (["--tune-rule", "1se"], {"rule": "1se"}), (["--cv", "time:3"], {"cv": "time:3"}),
                           (["--cv", "7", "--metric", "balanced"], {"cv": 7, "metric": "balanced"}),
                           (["--groups", "person"], {"groups": groups})):
        drop = [] if "groups" in options else ["--drop", "person"]
        theirs = told("fit", "rows.csv", "-m", "kpls", *TUNE, "--seed", "3", "-o", "cli.model", *drop, *words)["grid"]
        ours = mercer.tune(estimator, GRID, X, y, **options)
        assert (ours.rule, ours.best, ours.chosen) == (theirs["rule"], theirs["best"], theirs["chosen"]), words
        equal(ours.mean, [cell["mean"] for cell in theirs["cells"]])
        equal(ours.se, [cell["se"] for cell in theirs["cells"]])
        for column, cell in zip(ours.values.T, theirs["cells"]):
            equal(column, cell["values"])
        assert ours.grid == [{"sigma": cell["kernel.sigma"], "n_components": cell["components"]} for cell in theirs["cells"]]
        assert ours.params == ours.grid[ours.chosen]
        assert ours.further == {name: axis["further"] for name, axis in zip(("sigma", "n_components"), theirs["axes"])
                                if axis["further"] is not None}
        fitted = ours.estimator.fit(X, y)
        assert same(fitted.transform(X), mercer.load("cli.model").transform(X)), words
        assert "model_" not in estimator.__dict__ and estimator.sigma is None
    theirs = told("evaluate", "rows.csv", "-m", "kpls", *TUNE, "--seed", "3", "--groups", "person", "--tune-rule", "1se")
    ours = mercer.evaluate(estimator, X, y, groups=groups, tune=GRID, tune_rule="1se")
    assert ours.mean == theirs["mean"] and ours.tuning.rule == "1se"
    assert ours.tuning.params == {"sigma": theirs["chosen"]["kernel.sigma"], "n_components": theirs["chosen"]["components"]}
    assert repr(ours.tuning).startswith("<mercer.Tuning of KernelPLSClassifier: sigma=")


@test
def what_is_chosen_is_what_was_tried():
    """The estimator of a choice has the parameters of its cell, and no others that were given before."""
    X, y = blobs(90, 4)
    for estimator, grid, expected in (
            (mercer.KernelPLSClassifier(3, sigma=9.0, head="knn:k=3"), {"kernel": ["rbf:sigma=2", "poly:degree=2"]}, {"sigma": None}),
            (mercer.KernelPLSClassifier(3, head="knn"), {"head.k": [3, 5]}, {}),
            (mercer.ACKFA(3), {"relative": [True, False], "delta": [0.1, 0.2]}, {}),
            (mercer.SKFA(2), {"criterion": ["moment", "variance"]}, {}),
            (mercer.KernelPCA(), {"n_components": "1:4:+1"}, {})):
        for y_or_none in (y, None) if not hasattr(estimator, "predict") else (y,):
            head = "knn:k=3" if y_or_none is not None and not hasattr(estimator, "predict") else None
            choice = mercer.tune(estimator, grid, X, y_or_none, cv=3, head=head)
            parameters = choice.estimator.get_params()
            for name, value in choice.params.items():
                if name.startswith("head."):
                    assert parameters["head"] == f"knn:k={value}", parameters["head"]
                else:
                    assert parameters[name] == value and type(parameters[name]) is type(value), name
            others = estimator.get_params() | choice.params | expected
            others.pop("head.k", None)
            assert all(parameters[name] == value for name, value in others.items() if name != "head"), choice
            # the same folds with these parameters alone give the mean of the cell
            alone = mercer.tune(choice.estimator, {"n_components": [parameters["n_components"] or 4]}, X, y_or_none, cv=3, head=head)
            np.testing.assert_allclose(alone.mean[0], choice.mean[choice.chosen], rtol=1e-9)  # components are nested to rounding
    for bad, words in (({}, ("nothing to choose",)), ({"scale": ["none"]}, ("'scale'",)), ({"sigma": [-1]}, ("sigma",)),
                       ({"kernel": ["rbf"], "sigma": [1]}, ("kernel",)), ({"gamma": [1]}, ("sigma or gamma",))):
        with raises(ValueError, *words):
            mercer.tune(mercer.KernelPLSClassifier(3, sigma=2.0), bad, X, y)
    for cv in ("loo", KFold(3), 1, None):
        with raises(ValueError, "cv"):
            mercer.tune(mercer.KernelPLSClassifier(3), GRID, X, y, cv=cv)


@test
def rankings_look_for_the_second_class():
    """Not for the one that appears second."""
    X, _, y = table(CLASSES)
    y = np.where(y == 0, "no", "yes")
    assert y[0] == "yes"
    for positive in (None, "yes", "no"):
        result = mercer.evaluate(mercer.KernelPLSClassifier(1), X, y, metric="ap", positive=positive)
        assert result.positive == (positive or "yes")
    values = {positive: mercer.evaluate(mercer.KernelPLSClassifier(1), X, y, metric="ap", positive=positive).mean
              for positive in (None, "yes", "no")}
    assert values[None] == values["yes"] != values["no"]
    assert mercer.evaluate(mercer.KernelPCA(2), X, y).metric == "structure"


@test
def what_cannot_be_judged_is_told():
    X, y = blobs(60, 3)
    gaps = y.astype(float)
    gaps[4] = np.nan
    classifier, regressor = mercer.KernelPLSClassifier(2), mercer.KernelPLSRegressor(2)
    for estimator, targets, kind in ((classifier, gaps, ValueError), (classifier, X[:, 0], ValueError), (regressor, gaps, ValueError),
                                     (classifier, np.column_stack([y, y]), ValueError), (regressor, ["a"] * 60, ValueError),
                                     (classifier, np.ma.masked_array(y, mask=y == 1), ValueError), (object(), y, TypeError),
                                     (mercer.KernelPLSClassifier, y, TypeError)):
        for use in (lambda: mercer.evaluate(estimator, X, targets), lambda: mercer.tune(estimator, {"n_components": [1]}, X, targets)):
            with raises(kind):
                use()


@test
def importance_is_the_command_lines():
    X, _, y = table(CLASSES)
    theirs = told("evaluate", "rows.csv", "-m", "kpls", "-n", "3", "--drop", "person", "--importance")["importance"]
    ours = mercer.evaluate(mercer.KernelPLSClassifier(3), X, y, importance=True)
    equal(ours.importances_mean, [column["loss"] for column in theirs])
    equal(ours.importances_std, [column["sd"] for column in theirs])
    assert ours.feature_names is None
    try:
        import pandas
    except ImportError:
        return
    named = mercer.evaluate(mercer.KernelPLSClassifier(3), pandas.DataFrame(X, columns=list("abcd")), y, importance=True)
    assert named.feature_names == list("abcd") and same(named.importances_mean, ours.importances_mean)


@test
def intervals_are_the_command_lines():
    X, _, y = table(None, label="target")
    new = np.random.default_rng(9).normal(size=(50, 4))
    np.save("new.npy", new)
    for keep in (None, "fitted"):
        words = ["--keep", keep] if keep else []
        told("fit", "rows.csv", "-m", "kpls", "-n", "3", "--drop", "person", "--intervals", "on", "-o", "cli.model", *words)
        assert subprocess.run([MERCER, "predict", "cli.model", "new.npy", "--coverage", "0.8", "-o", "predicted.csv", "-q"],
                              check=False).returncode == 0
        theirs = np.genfromtxt("predicted.csv", delimiter=",", names=True)
        estimator = mercer.KernelPLSRegressor(3, intervals=True, keep=keep).fit(X, y)
        low, high = estimator.predict_interval(new, coverage=0.8)
        names = theirs.dtype.names
        for ours, name in ((estimator.predict(new), names[0]), (low, names[1]), (high, names[2])):
            np.testing.assert_array_equal(ours, theirs[name])
        for ours, again in zip((low, high), mercer.load("cli.model").predict_interval(new, coverage=0.8)):
            assert same(ours, again)
        assert clone(estimator).get_params()["intervals"] is True
    two = mercer.PLSRegressor(2, intervals=True).fit(X, np.column_stack([y, 10 * X[:, 1]]))
    low, high = two.predict_interval(new)
    assert low.shape == high.shape == (50, 2)
    np.testing.assert_allclose((low + high) / 2, two.predict(new), atol=1e-12)
    for coverage in (0, 1, 2, -0.5, 0.9999):
        with raises(ValueError, "coverage"):
            estimator.predict_interval(new, coverage=coverage)
    with raises(mercer.UnsupportedError, "intervals"):
        mercer.KernelPLSRegressor(3).fit(X, y).predict_interval(new)
    with raises(ValueError, "keep"):
        mercer.KernelPLSRegressor(3, keep="fitted").fit(X, y)


@test
def intervals_hold_what_they_promise():
    """Of fresh rows 0.8 lie within, over many tables; within three standard errors of the share of all rows."""
    inside = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        X = random.normal(size=(250, 3))
        y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * random.standard_t(3, size=250)
        estimator = mercer.KernelPLSRegressor(4, intervals=True, keep="fitted", random_state=seed).fit(X[:150], y[:150])
        low, high = estimator.predict_interval(X[150:], coverage=0.8)
        inside.append(((low <= y[150:]) & (y[150:] <= high)).mean())
    error = np.std(inside, ddof=1) / np.sqrt(len(inside))
    assert 0.8 - 3 * error < np.mean(inside) < 0.8 + 1 / 31 + 3 * error, (np.mean(inside), error)  # 30 rows are held out


@test
def p_values_are_the_command_lines():
    X, _ = blobs(150, 4, 1)
    new = np.vstack([X[:20] + 0.1, np.full((2, 4), 40.0)])
    np.save("rows.npy", X)
    np.save("new.npy", new)
    told("fit", "rows.npy", "-m", "kpca", "-n", "4", "--novelty", "0.1", "-o", "cli.model")
    assert subprocess.run([MERCER, "transform", "cli.model", "new.npy", "--errors", "-o", "errors.csv", "-q"],
                          check=False).returncode == 0
    theirs = np.genfromtxt("errors.csv", delimiter=",", names=True)
    estimator = mercer.KernelPCA(4, novelty=0.1).fit(X)
    ours = estimator.novelty_p_values(new)
    np.testing.assert_array_equal(ours, theirs["p"])
    assert same(ours, mercer.load("cli.model").novelty_p_values(new))
    assert ours[-1] == ours[-2] == 1 / 31 and (ours > 0).all() and (ours <= 1).all()  # 30 rows are held out
    with raises(mercer.UnsupportedError, "novelty"):
        mercer.KernelPCA(4).fit(X).novelty_p_values(new)


@test
def forecasts():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 5)), random.normal(size=400)
    estimator = mercer.KernelPCA(10, memory="1G")
    few, many = mercer.forecast(estimator, X), mercer.forecast(estimator, X, n_rows=20000)
    assert set(few) == set(many) and few["store"] == "dense"
    assert many["seconds"] > 4 * few["seconds"] and many["memory_bytes"] > 10 * few["memory_bytes"]
    assert "model_" not in estimator.__dict__
    long = mercer.forecast(mercer.KernelPLSClassifier(10, store="stream"), X, y > 0, n_rows=50000)
    assert long["cheaper"] == "ReducedKernelOPLSClassifier(subset=1000)" and long["cheaper_seconds"] < long["seconds"], long
    assert mercer.forecast(mercer.KernelPLSRegressor(3), X, y)["seconds"] >= 0
    assert mercer.forecast(mercer.KernelPCA(3, kernel=mercer.matrix_kernel(lambda A, B: A @ B.T)), X)["memory_bytes"] > 0
    for options, kind, word in (({"n_rows": 0}, ValueError, "n_rows"), ({"n_rows": 2.5}, ValueError, "n_rows"),
                                ({"n_rows": 10 ** 7}, MemoryError, "budget")):
        with raises(kind, word):
            mercer.forecast(mercer.KernelPCA(10, store="dense"), X, **options)


if __name__ == "__main__":
    sys.exit(run_tests())
