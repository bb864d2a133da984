#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Estimators as people use them: test_estimators.py MERCER [WORD...] [-jN]"""
import copy
import json
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np

from support import ArrowTable, Skip, blobs, need_sklearn, program, quiet, raises, run_tests, same, slow_test, test

need_sklearn()
from scipy import sparse  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.decomposition import PCA as TheirPCA  # noqa: E402
from sklearn.decomposition import KernelPCA as TheirKernelPCA  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import mercer  # noqa: E402
from mercer import _core  # noqa: E402

MERCER = program()
CLASSES = [name for name in mercer.ESTIMATORS if name != "PLSRegression"]


def data_for(name, rows=90, columns=4, seed=0):
    X, y = blobs(rows, columns, 2 if name == "KernelBoostClassifier" else 3, seed)
    if name.endswith("Regressor") or name == "PLSRegression":
        y = X[:, 0] - 0.5 * X[:, 1] ** 2
    return X, y


def fitted(name, **parameters):
    X, y = data_for(name)
    if name == "ACKFA":
        parameters = {"relative": True, "delta": 0.1} | parameters
    with quiet():
        cls = getattr(mercer, name)
        return cls(**({"n_components": 2} if "n_components" in cls().get_params() else {}) | parameters).fit(X, y), X, y


def up_to_sign(a, b, tolerance=1e-10):
    signs = np.sign((a * b).sum(axis=0))
    np.testing.assert_allclose(a * signs, b, atol=tolerance * np.abs(b).max())


@test
def every_class_does_what_it_says():
    for name in CLASSES:
        estimator, X, y = fitted(name)
        assert estimator.transform(X).shape == (90, estimator.n_components_), name
        assert estimator.n_features_in_ == 4 and isinstance(estimator.model_, mercer.Model)
        assert estimator.kernel_ == estimator.model_.info["kernel"] and estimator.report_["seconds"] >= 0
        assert list(estimator.get_feature_names_out()) == [f"{name.lower()}{i}" for i in range(estimator.n_components_)]
        if name.endswith("Classifier"):
            assert estimator.score(X, y) > 0.6, (name, estimator.score(X, y))
            assert set(estimator.predict(X)) <= set(estimator.classes_)
        if name.endswith("Regressor"):
            assert estimator.score(X, y) > 0.3, (name, estimator.score(X, y))
        again = pickle.loads(pickle.dumps(estimator))
        assert same(again.transform(X), estimator.transform(X)) and same(copy.deepcopy(estimator).transform(X), estimator.transform(X))
        if hasattr(estimator, "predict"):
            assert list(again.predict(X)) == list(estimator.predict(X))
        assert "model_" not in clone(estimator).__dict__
        estimator.save("one.model")
        assert same(mercer.load("one.model").transform(X), estimator.transform(X))
        done = subprocess.run([MERCER, "info", "one.model", "--json"], capture_output=True, text=True, check=False)
        assert json.loads(done.stdout)["components"] == estimator.n_components_, name


@test
def a_map_is_learnt_from_y():
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 5))
    y = np.sin(3 * X[:, 1]) + .1 * X[:, 3]
    plain = mercer.KernelRidgeRegressor(random_state=1).fit(X[:150], y[:150])
    mapped = mercer.KernelRidgeRegressor(map="agop", random_state=1).fit(X[:150], y[:150])
    assert mapped.score(X[150:], y[150:]) > plain.score(X[150:], y[150:]) + .05
    assert mapped.model_.info["map"].startswith("agop:steps=") and plain.model_.info["map"] is None
    assert np.argmax(mapped.model_.array("map_weights")) == 1 and plain.model_.array("map_weights") is None
    again = pickle.loads(pickle.dumps(mapped))
    assert same(again.predict(X), mapped.predict(X)) and clone(mapped).map == "agop"
    with raises(ValueError, "has no gradients"):
        mercer.KernelRidgeRegressor(map="agop", kernel="linear").fit(X, y)


@test
def fit_transform_is_fit_and_transform():
    for name in CLASSES:
        for kind in (np.float64, np.float32):
            estimator, X, y = fitted(name)
            X = X.astype(kind)
            with quiet():
                features = clone(estimator).fit_transform(X, y)
                expected = clone(estimator).fit(X, y).transform(X)
            assert features.dtype == kind and features.flags.writeable, name
            np.testing.assert_allclose(features, expected, atol=(1e-11 if kind == np.float64 else 1e-5) * np.abs(expected).max())


@test
def nothing_works_before_fit():
    X, y = blobs()
    for name in CLASSES:
        estimator = getattr(mercer, name)()
        uses = [estimator.transform, estimator.inverse_transform, estimator.reconstruction_errors, estimator.is_novel]
        uses += [estimator.predict] if hasattr(estimator, "predict") else []
        for use in uses:
            with raises(NotFittedError, name):
                use(X)
        for word in ("eigenvalues_", "selected_", "X_fit_", "dual_coef_", "kernel_"):
            assert not hasattr(estimator, word), word
        with raises(NotFittedError):
            estimator.save("x.model")


@test
def kernel_pca_is_scikit_learns():
    """gamma="auto" is 1 / n_features: its features, up to sign."""
    X = datasets.load_digits().data[:300] / 16
    for kernel, parameters in (("rbf", {"gamma": 0.03}), ("linear", {}), ("poly", {"degree": 2, "gamma": 0.1, "coef0": 1}),
                               ("cosine", {}), ("sigmoid", {"gamma": 0.001, "coef0": 0.1}), ("rbf", {"gamma": "auto"})):
        theirs = dict(parameters)
        if theirs.get("gamma") == "auto":
            theirs["gamma"] = None
        a = TheirKernelPCA(8, kernel=kernel, **theirs).fit(X[:200])
        b = mercer.KernelPCA(8, kernel=kernel, **parameters).fit(X[:200])
        up_to_sign(a.transform(X), b.transform(X), 1e-9)
        np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-9)
    K = X[:200] @ X[:200].T
    a = TheirKernelPCA(4, kernel="precomputed").fit(K)
    b = mercer.KernelPCA(4, kernel="precomputed").fit(K)
    up_to_sign(a.transform(X[200:] @ X[:200].T), b.transform(X[200:] @ X[:200].T), 1e-9)
    assert b._is_pairwise()
    scores = cross_val_score(make_pipeline(mercer.KernelPLSClassifier(4, kernel="precomputed")), K,
                             datasets.load_digits().target[:200], cv=3)
    assert scores.mean() > 0.6


@test
def kernel_pca_takes_what_theirs_takes():
    import inspect
    for key, parameter in inspect.signature(TheirKernelPCA).parameters.items():
        if key in ("self", "kernel", "degree", "coef0"):
            continue
        assert key in inspect.signature(mercer.KernelPCA).parameters, key
        mercer.KernelPCA(**{key: parameter.default})
    X, _ = blobs(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        all_of_them = mercer.KernelPCA().fit(X)
    assert all_of_them.n_components_ > 20
    assert mercer.PCA().fit(X).n_components_ == 4
    assert mercer.KernelPCA(kernel="linear", gamma=3, degree=2, fit_inverse_transform=True, alpha=0.1, eigen_solver="arpack",
                            remove_zero_eig=True).fit(X).n_components_ == 4


@test
def other_spellings_of_kernels():
    """A name that the library takes in another spelling keeps its parameters; a wrong one is refused."""
    X, _ = blobs(60)
    expected = mercer.KernelPCA(2, gamma=0.3).fit(X).transform(X)
    for kernel in ("RBF", "Rbf", "gaussian"):
        try:
            got = mercer.KernelPCA(2, kernel=kernel, gamma=0.3).fit(X).transform(X)
        except mercer.ParameterError:
            continue  # a library that takes no other spellings
        assert same(got, expected), kernel
    with raises(mercer.ParameterError, "kernel"):
        mercer.KernelPCA(2, kernel="gausian_", gamma=0.3).fit(X)


@test
def pca_is_scikit_learns():
    X, _ = blobs(80, 6)
    a, b = TheirPCA(3).fit(X), mercer.PCA(3).fit(X)
    up_to_sign(a.transform(X), b.transform(X), 1e-12)
    np.testing.assert_allclose(np.abs(a.components_), np.abs(b.components_), atol=1e-12)
    np.testing.assert_allclose(a.explained_variance_ratio_, b.explained_variance_ratio_, rtol=1e-12)
    np.testing.assert_allclose(a.inverse_transform(a.transform(X)), b.inverse_transform(b.transform(X)), atol=1e-12)
    assert mercer.PCA(0.9).fit(X).n_components_ == TheirPCA(0.9).fit(X).n_components_


@test
def attributes_add_up():
    """Features are k(x, Z) B + b."""
    X, _ = blobs(70)
    estimator = mercer.KernelPCA(3, sigma=2.0).fit(X)
    K = np.exp(-((X[:, None] - estimator.X_fit_) ** 2).sum(axis=2) / 8)
    features = K @ estimator.dual_coef_ + estimator.model_.array("offsets")
    np.testing.assert_allclose(features, estimator.transform(X), atol=1e-12)
    shares = estimator.explained_variance_ratio_
    features = estimator.transform(X)
    np.testing.assert_allclose(shares, (features ** 2).mean(axis=0) / estimator.model_.info["total_variance"], rtol=1e-9)
    np.testing.assert_allclose(estimator.reconstruction_errors(X).mean(), estimator.reconstruction_error_, rtol=1e-9)
    assert estimator.kernel_ == "rbf:sigma=2"
    chosen = fitted("AKFA", center="span")[0]
    assert same(chosen.X_fit_, fitted("AKFA")[1][chosen.selected_])
    with raises(AttributeError, "selected"):
        estimator.selected_
    with raises(AttributeError):
        mercer.PCA(2).fit(X).dual_coef_
    rows = sparse.random(100, 30, 0.2, "csr", random_state=0)
    expansion = mercer.KernelPCA(3).fit(rows).X_fit_
    assert sparse.issparse(expansion) and abs(expansion - rows).sum() == 0


@test
def inputs_of_every_kind():
    X, y = blobs(80, 5)
    X = np.abs(X).round(1)
    estimator = mercer.KernelPCA(3, sigma=3.0)
    expected = estimator.fit_transform(X)
    frames = [X.tolist(), np.asfortranarray(X), X[::-1][::-1], ArrowTable({f"c{i}": ("g", X[:, i].copy(), None) for i in range(5)}, 4)]
    for table in frames:
        assert same(clone(estimator).fit_transform(table), expected), type(table)
    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.lil_matrix, sparse.dok_matrix):
        np.testing.assert_allclose(clone(estimator).fit_transform(kind(X)), expected, atol=1e-12)
    single = clone(estimator).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32 and single.transform(X).dtype == np.float64
    np.testing.assert_allclose(single.transform(X.astype(np.float32)), expected, atol=1e-5)
    whole = (X * 10).astype(np.uint8)
    assert same(clone(estimator).fit(whole).transform(whole), clone(estimator).fit(whole.astype(float)).transform(whole.astype(float)))
    big = sparse.csr_matrix(X)
    big.indices, big.indptr = big.indices.astype(np.int64), big.indptr.astype(np.int64)
    np.testing.assert_allclose(clone(estimator).fit_transform(big), expected, atol=1e-12)
    messy = sparse.csr_matrix((np.r_[1.0, 2.0, 3.0, 4.0], np.r_[1, 0, 0, 1], np.r_[0, 2, 4]), (2, 3))  # unsorted
    twice = sparse.csr_matrix((np.r_[1.0, 2.0, 3.0, 4.0], np.r_[0, 0, 1, 1], np.r_[0, 2, 4]), (2, 3))  # the same entry twice
    for matrix in (messy, twice):
        before = matrix.copy()
        model = mercer.PCA(1).fit(np.random.default_rng(0).normal(size=(9, 3)))
        np.testing.assert_allclose(model.transform(matrix), model.transform(matrix.toarray()), atol=1e-12)
        assert (matrix.data == before.data).all()


@test
def names_of_columns():
    X, _ = blobs(50, 3)
    table = ArrowTable({name: ("g", X[:, i].copy(), None) for i, name in enumerate(("length", "width", "mass"))})
    estimator = mercer.KernelPCA(2).fit(table)
    assert list(estimator.feature_names_in_) == ["length", "width", "mass"]
    assert estimator.model_.column_names == ["length", "width", "mass"]
    assert same(estimator.transform(table), estimator.model_.transform(X))
    other = ArrowTable({name: ("g", X[:, i].copy(), None) for i, name in enumerate(("length", "width", "colour"))})
    with raises(ValueError, "feature names", "colour"):
        estimator.transform(other)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.transform(X)
    assert any("feature names" in str(w.message) for w in caught)
    bad = X.copy()
    bad[4, 1] = np.nan
    with raises(mercer.DataError, "'width'", "row 4"):
        mercer.KernelPCA(2).fit(ArrowTable({name: ("g", bad[:, i].copy(), None)
                                            for i, name in enumerate(("length", "width", "mass"))}))


def tables_of(X, names):
    """The same numbers in every library that is there: {name: table}."""
    out = {}
    for library in ("pandas", "polars", "pyarrow"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        make = module.table if library == "pyarrow" else module.DataFrame
        out[library] = make({name: X[:, i] for i, name in enumerate(names)})
    return out


@test
def real_tables():
    """pandas, Polars and pyarrow give what arrays give, with names; texts and gaps are refused by name."""
    X, y = blobs(60, 3)
    names = ["length", "width", "mass"]
    tables = tables_of(X, names)
    if not tables:
        raise Skip("neither pandas, Polars nor pyarrow is installed")
    plain = mercer.KernelPCA(2, sigma=2.0).fit(X)
    for library, table in tables.items():
        estimator = mercer.KernelPCA(2, sigma=2.0).fit(table)
        assert same(estimator.transform(table), plain.transform(X)), library
        assert list(estimator.feature_names_in_) == names and estimator.model_.column_names == names, library
        assert same(estimator.model_.transform(table), plain.transform(X)), library
        for other in tables.values():  # what was fitted to one library's table takes another's
            assert same(estimator.transform(other), plain.transform(X))
        turned = tables_of(X[:, ::-1], names[::-1])[library]
        with raises(ValueError, "order"):
            estimator.transform(turned)
        assert same(estimator.model_.transform(turned), plain.transform(X)), library
    if "pandas" in tables:
        import pandas
        for column, word in ((["x", "y", "z"], "'x'"), ([1, "2x", 3], "'2x'"), ([1.0, None, pandas.NA], "row 1"),
                             (pandas.date_range("2020-01-01", periods=3), "dates"), (pandas.Categorical(["p", "q", "p"]), "'p'")):
            frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "word": column})
            for use in (mercer.KernelPCA(2).fit, plain.model_.transform):
                with raises(mercer.DataError, "'word'", word):
                    use(frame)
        numbers = pandas.DataFrame({"a": [1, 2, 5], "b": [True, False, True], "c": ["1", "2", "4"]}, dtype=object)
        assert same(mercer.PCA(1).fit_transform(numbers), mercer.PCA(1).fit_transform(numbers.to_numpy().astype(float)))
    if "polars" in tables:
        import polars
        with raises(mercer.DataError, "'word'", "texts"):
            mercer.KernelPCA(2).fit(polars.DataFrame({"a": [1.0, 2.0], "word": ["x", "y"]}))
        with raises(mercer.DataError, "'a'", "missing", "row 1"):
            mercer.KernelPCA(2).fit(polars.DataFrame({"a": [1.0, None, 3.0]}))
        kinds = polars.DataFrame({"a": [1, 2, 5], "b": [True, False, True], "c": [0.5, 1.5, 2.5]})
        assert same(mercer.PCA(1).fit_transform(kinds), mercer.PCA(1).fit_transform(kinds.to_numpy().astype(float)))
        floats = kinds.select(polars.col("c").cast(polars.Float32))
        assert mercer.PCA(1).fit_transform(floats).dtype == np.float32
        if hasattr(mercer.PCA(1), "set_output"):
            try:
                frame = mercer.PCA(1).set_output(transform="polars").fit_transform(kinds)
            except ValueError:
                pass  # scikit-learn before 1.4
            else:
                assert isinstance(frame, polars.DataFrame)


@test
def bad_input_is_told():
    X, y = blobs(40, 3)
    estimator = mercer.KernelPCA(2).fit(X)
    with raises(ValueError, "X has 2 features, but KernelPCA is expecting 3"):
        estimator.transform(X[:, :2])
    with raises(ValueError, "Expected 2D array", "Reshape"):
        estimator.transform(X[0])
    with raises(ValueError, "Complex"):
        estimator.transform(X + 1j)
    with raises(ValueError, "NaN"):
        estimator.transform(np.where(X == X[3, 2], np.nan, X))
    with raises(ValueError, "inf"):
        mercer.PLSRegressor(2).fit(X, np.where(np.arange(40) == 3, np.inf, 1.0 * y))
    for wrong in (np.array([["a", "b", "c"]] * 40), np.array([[object()] * 3] * 40), "text", 3, None, {"a": 1}, np.zeros((0, 3)),
                  np.zeros((3, 0))):
        with raises((ValueError, TypeError)):
            mercer.KernelPCA(2).fit(wrong)
        with raises((ValueError, TypeError)):
            estimator.transform(wrong)
    with raises(mercer.DataError, "column 1", "row 2", "'two'") as caught:
        mercer.KernelPCA(2).fit([["1", "2"], ["3", "4"], ["5", "two"]])
    assert caught[0].row == 2 and caught[0].column == "1"
    with raises(ValueError, "requires y"):
        mercer.KernelPLSClassifier().fit(X, None)
    with raises(ValueError, "class"):
        mercer.KernelPLSClassifier().fit(X, np.zeros(40, int))
    with raises(ValueError, "inconsistent"):
        mercer.KernelPLSClassifier().fit(X, y[:-1])
    with raises(ValueError, "binary"):
        mercer.KernelBoostClassifier().fit(X, y)
    for parameters, word in (({"n_components": 0}, "n_components"), ({"n_components": "many"}, "n_components"),
                             ({"n_components": -2}, "n_components"), ({"kernel": "no"}, "kernel"), ({"kernel": 3}, "kernel"),
                             ({"sigma": 0}, "sigma"), ({"gamma": 1, "sigma": 1}, "gamma"), ({"kernel_params": {"a": 1}}, "'a'"),
                             ({"kernel": "rbf:sigma=2", "gamma": 1}, "gamma"), ({"scale": "big"}, "scale"),
                             ({"center": "left"}, "center"), ({"center": False}, "center"), ({"novelty": 2}, "novelty"), ({"store": "here"}, "store"),
                             ({"precision": "half"}, "precision"), ({"memory": "lots"}, "memory"), ({"memory": 10}, "parameter memory"), ({"n_jobs": 10 ** 9}, "parameter n_jobs"),
                             ({"random_state": "x"}, "random_state"), ({"n_jobs": 0}, "n_jobs"), ({"groups": 0}, "groups")):
        with raises(ValueError, word):
            mercer.KernelPCA(**{"n_components": 2} | parameters).fit(X)
    assert issubclass(_core.ParameterError, ValueError)


@test
def arrays_that_only_look_like_numbers():
    """What NumPy or SciPy would turn into numbers without a word, or crash on."""
    X, y = blobs(40, 3)
    estimator = mercer.KernelPCA(2).fit(X)
    days = np.array([["2020-01-01", "2020-01-03", "2020-02-01"]] * 40, "M8[D]")
    records = np.zeros((40, 3), [("a", float), ("b", np.int8)])
    for table, word in ((np.ma.masked_array(X, mask=X == X[7, 2]), "[7, 2]"), (days, "dates"), (days - days[0, 0], "times"),
                        (records, "records")):
        for use in (mercer.KernelPCA(2).fit, estimator.transform, estimator.model_.transform, estimator.reconstruction_errors):
            with raises(mercer.DataError, word):
                use(table)
    assert same(mercer.KernelPCA(2).fit(np.ma.masked_array(X)).transform(X), estimator.transform(X))
    with raises(mercer.DataError, "y has masked", "[4]"):
        mercer.KernelPLSRegressor(2).fit(X, np.ma.masked_array(X[:, 0], mask=np.arange(40) == 4))
    with raises(mercer.DataError, "y has masked"):
        mercer.KernelPLSClassifier(2).fit(X, np.ma.masked_array(y, mask=np.arange(40) == 4))
    with raises(mercer.DataError, "y holds dates"):
        mercer.KernelPLSRegressor(2).fit(X, days[:, 0])
    records["a"] = X  # a field of them is a table whose steps are not multiples of its numbers
    assert same(mercer.KernelPCA(2).fit(records["a"]).transform(records["a"]), estimator.transform(X))
    matrix = sparse.random(40, 20, 0.3, "csr", random_state=0)
    for kind in ("csr", "csc"):
        for damage in ("start", "short", "index", "values"):
            broken = matrix.asformat(kind, copy=True)
            broken.has_canonical_format = damage == "index"
            if damage == "start":
                broken.indptr[5] = 10 ** 6
            elif damage == "short":
                broken.indptr = broken.indptr[:-1]
            elif damage == "index":
                broken.indices[3] = 10 ** 6
            else:
                broken.data = broken.data[:-4]
            for use in (mercer.KernelPCA(2).fit, estimator.model_.transform, mercer.kernel_matrix):
                with raises(ValueError):
                    use(broken)
    for text in ("rbf\0", "rbf:sigma=2\0"):
        with raises(mercer.ParameterError, "zero byte"):
            mercer.KernelPCA(2, kernel=text).fit(X)


@test
def classes_in_any_order():
    """classes_ are sorted, whatever the order in which they appear and the library counts them."""
    X, y = blobs(90, 4)
    expected = mercer.KernelPLSClassifier(3).fit(X, y)
    for names in ([0, 1, 2], [2, 0, 1], ["b", "c", "a"], [True, False, True], [10, 2, 1]):
        named = np.array(names)[y]
        estimator = mercer.KernelPLSClassifier(3).fit(X, named)
        for one in (estimator, pickle.loads(pickle.dumps(estimator)), estimator.truncate(3)):
            assert list(one.classes_) == sorted(set(names))
            scores, predicted = one.decision_function(X), one.predict(X)
            if len(set(names)) > 2:
                assert (one.classes_[scores.argmax(axis=1)] == predicted).all()
                assert (predicted == np.array(names)[expected.predict(X)]).mean() > 0.95  # to rounding
            else:
                assert ((scores > 0) == (predicted == one.classes_[1])).all()
            assert (one.model_.predict(X) == np.array([str(name) for name in predicted.tolist()])).all()
    early = mercer.KernelPLSClassifier(3).fit(X, y)
    state = dict(early.__getstate__())
    del state["_order"]  # as early versions had it
    later = mercer.KernelPLSClassifier()
    later.__setstate__(state)
    assert (later.predict(X) == early.predict(X)).all()


@test
def predictions_of_few_features():
    X, y = data_for("KernelPLSClassifier")
    estimator = mercer.KernelPLSClassifier(5).fit(X, y)
    for k in (1, 3, 5):
        assert list(estimator.predict(X, n_components=k)) == list(estimator.truncate(k).predict(X)), k
    shorter = estimator.truncate(2)
    assert shorter.n_components_ == 2 and estimator.n_components_ == 5
    np.testing.assert_allclose(shorter.transform(X), estimator.transform(X)[:, :2], atol=1e-12)
    for count in (6, 0, -1, 1.5, 2 ** 70):
        with raises(ValueError, "components"):
            estimator.predict(X, n_components=count)
        with raises(ValueError, "components"):
            estimator.truncate(count)
    two = mercer.PLSRegressor(2).fit(X, np.column_stack([y, X[:, 0]]))
    assert two.predict(X).shape == (90, 2)
    assert mercer.PLSRegression is mercer.PLSRegressor
    scores = estimator.decision_function(X)
    assert (estimator.classes_[scores.argmax(axis=1)] == estimator.predict(X)).all()
    strict = mercer.KernelPLSClassifier(2, head="knn:k=2,ties=strict").fit(X, y)
    noise = np.random.default_rng(0).normal(size=(500, 4)) * 5
    with raises(mercer.UnsupportedError, "no class wins"):
        strict.predict(noise)


@test
def novelty():
    X, _ = blobs(200, 4, 1)
    estimator = mercer.KernelPCA(5, novelty=0.05).fit(X)
    far = np.full((3, 4), 50.0)
    assert estimator.is_novel(far).all() and estimator.is_novel(X).mean() < 0.2
    assert estimator.is_novel(X).dtype == bool
    with raises(mercer.UnsupportedError, "novelty"):
        mercer.KernelPCA(5).fit(X).is_novel(X)
    K, cross = X @ X.T, np.vstack([X, far]) @ X.T
    own = (np.vstack([X, far]) ** 2).sum(axis=1)
    plain, given = (mercer.KernelPCA(2, kernel=kernel, novelty=0.05).fit(rows) for kernel, rows in (("linear", X), ("precomputed", K)))
    assert list(given.is_novel(cross, self_kernel=own)) == list(plain.is_novel(np.vstack([X, far])))
    np.testing.assert_array_equal(given.novelty_p_values(cross, self_kernel=own), plain.novelty_p_values(np.vstack([X, far])))


@test
def partial_fit_is_update():
    X, _ = blobs(400, 4)
    np.save("a.npy", X[:250])
    np.save("b.npy", X[250:])
    for cls, method in ((mercer.IncrementalKernelPCA, "ikpca"), (mercer.KernelHebbian, "kha")):
        for words in (["fit", "a.npy", "-m", method, "-n", "3", "-o", "a.model", "--seed", "1"], ["update", "a.model", "b.npy"]):
            assert subprocess.run([MERCER, *words], capture_output=True, check=False).returncode == 0
        with quiet():
            estimator = cls(3).partial_fit(X[:250])
            again = pickle.loads(pickle.dumps(estimator)).partial_fit(X[250:])
            estimator.partial_fit(X[250:])
            whole = cls(3).fit(X)
            parts = cls(3).fit(X[:250]).partial_fit(X[250:])
        expected = mercer.load("a.model").transform(X)
        assert same(estimator.transform(X), expected) and same(again.transform(X), expected)
        assert same(parts.transform(X), expected) and whole.n_components_ == 3
        with raises(ValueError, "features"):
            estimator.partial_fit(X[:, :2])
    with raises(ValueError, "novelty", "stream"):
        mercer.IncrementalKernelPCA(3, novelty=0.1).partial_fit(X)


@test
def partial_fit_keeps_its_kernel():
    X, _ = blobs(100, 3)

    @mercer.matrix_kernel(semidefinite=True)
    def first(A, B):
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / 20)

    with quiet():
        expected = mercer.IncrementalKernelPCA(3, kernel=first).partial_fit(X[:60]).partial_fit(X[60:])
        estimator = mercer.IncrementalKernelPCA(3, kernel=first).partial_fit(X[:60])
        early = estimator.model_
        before = early.transform(X)
        estimator.set_params(kernel="linear").partial_fit(X[60:])
    assert same(estimator.transform(X), expected.transform(X)) and same(early.transform(X), before)
    assert estimator.model_._host.function is first and estimator.model_.info["rows"] == 100


@test
def landmarks_and_validation():
    X, y = blobs(80, 3)
    for cls in (mercer.RKPCA, mercer.GreedyKernelPCA, mercer.NystroemKernelPCA):
        estimator = cls(3, center="span").fit(X, landmarks=X[:10])
        assert same(estimator.X_fit_, X[:10]) or len(estimator.X_fit_) <= 10
    with quiet():
        searched = mercer.KernelOCAClassifier(2, iterations=3).fit(X[:60], y[:60], validation=(X[60:], y[60:]))
    assert searched.predict(X).shape == (80,)
    with raises(ValueError, "class"):
        mercer.KernelOCAClassifier(2).fit(X[:60], y[:60], validation=(X[60:], y[60:] + 7))


@mercer.matrix_kernel(semidefinite=True)
def gauss(X, Y):
    return np.exp(-((X[:, None] - Y) ** 2).sum(axis=2) / 8)


def gauss_of_rows(x, y):
    return np.exp(-((x - y) ** 2).sum() / 8)


@test
def kernels_that_are_functions():
    X, y = blobs(60, 3)
    expected = mercer.KernelPCA(3, sigma=2.0).fit(X).transform(X)
    for kernel in (gauss, gauss_of_rows):
        estimator = mercer.KernelPCA(3, kernel=kernel).fit(X)
        np.testing.assert_allclose(estimator.transform(X), expected, atol=1e-10)
        again = pickle.loads(pickle.dumps(estimator))
        assert same(again.transform(X), estimator.transform(X)) and kernel.__name__ in estimator.kernel_
        assert same(pickle.loads(pickle.dumps(again)).truncate(2).transform(X), estimator.truncate(2).transform(X))
        with raises(mercer.UnsupportedError, "pickle"):
            estimator.save("x.model")
    named = mercer.KernelPLSClassifier(3, sigma=2.0)
    assert list(mercer.KernelPLSClassifier(3, kernel=gauss).fit(X, y).predict(X)) == list(named.fit(X, y).predict(X))
    assert mercer.evaluate(mercer.KernelPLSClassifier(3, kernel=gauss), X, y).mean == mercer.evaluate(named, X, y).mean
    theirs = TheirKernelPCA(3, kernel=gauss_of_rows).fit(X)
    up_to_sign(theirs.transform(X), expected, 1e-9)

    def bad(X, Y):
        raise LookupError("this kernel is broken")
    for use in (lambda: mercer.KernelPCA(2, kernel=bad).fit(X), lambda: mercer.KernelPCA(2, kernel=mercer.matrix_kernel(bad)).fit(X),
                lambda: mercer.evaluate(mercer.KernelPLSClassifier(2, kernel=bad), X, y)):
        with raises(LookupError, "broken"):
            use()
    with raises(mercer.DataError, "not finite"):
        mercer.KernelPCA(2, kernel=lambda x, y: np.nan).fit(X)
    with raises(mercer.DataError, "matrix_kernel"):
        mercer.KernelPCA(2, kernel=lambda x, y: np.ones(2)).fit(X)
    with raises(mercer.DataError, "shape"):
        mercer.KernelPCA(2, kernel=mercer.matrix_kernel(lambda X, Y: np.ones(3))).fit(X)
    with raises((TypeError, ValueError)):
        mercer.KernelPCA(2, kernel=lambda x, y: "text").fit(X)
    broken = []

    def later(x, y):
        if broken:
            raise KeyError("later")
        return gauss_of_rows(x, y)
    estimator = mercer.KernelPCA(2, kernel=later).fit(X)
    broken.append(1)
    with raises(KeyError, "later"):
        estimator.transform(X)


@test
def kernel_matrices():
    from sklearn.metrics import pairwise
    random = np.random.default_rng(3)
    for n, m, d, scale in ((1, 1, 1, 1.0), (5, 3, 2, 1e-3), (70, 300, 7, 1.0), (300, 20, 40, 10.0)):
        X, Y = scale * random.random((n, d)), scale * random.random((m, d))
        gamma = 0.5 / scale ** 2
        cases = {"linear": ({}, pairwise.linear_kernel), "rbf": ({"gamma": gamma}, lambda a, b: pairwise.rbf_kernel(a, b, gamma)),
                 "poly": ({"gamma": gamma, "coef0": 1, "degree": 2}, lambda a, b: pairwise.polynomial_kernel(a, b, 2, gamma, 1)),
                 "laplacian": ({"gamma": 0.3}, lambda a, b: pairwise.laplacian_kernel(a, b, 0.3)),
                 "sigmoid": ({"gamma": gamma, "coef0": 0.5}, lambda a, b: pairwise.sigmoid_kernel(a, b, gamma, 0.5)),
                 "cosine": ({}, pairwise.cosine_similarity),
                 "exponential": ({"sigma": 2.0}, lambda a, b: np.exp(-pairwise.euclidean_distances(a, b) / 2))}
        for kernel, (keys, plain) in cases.items():
            for other in (Y, None):
                expected = plain(X, X if other is None else other)
                got = mercer.kernel_matrix(X, other, kernel=kernel, **keys)
                assert got.shape == expected.shape and got.flags.c_contiguous
                np.testing.assert_allclose(got, expected, atol=1e-7 if kernel == "exponential" else 1e-11 * np.abs(expected).max(),
                                           err_msg=f"{kernel} {n} {m} {d}")
    X = random.normal(size=(60, 4))
    sigma = float(mercer.KernelPCA(2).fit(X).kernel_.split("sigma=")[1])
    np.testing.assert_allclose(mercer.kernel_matrix(X, X[:5]), mercer.kernel_matrix(X, sigma=sigma)[:, :5], atol=1e-14)
    np.testing.assert_allclose(mercer.kernel_matrix(X, X[:5] * 100), mercer.kernel_matrix(X, X[:5] * 100, sigma=sigma), atol=1e-14)
    np.testing.assert_allclose(mercer.kernel_matrix(X, X[:7], kernel=gauss), gauss(X, X[:7]), atol=1e-14)
    rows = sparse.random(50, 20, 0.3, "csr", random_state=1)
    np.testing.assert_allclose(mercer.kernel_matrix(rows, rows[:9], sigma=1.0), mercer.kernel_matrix(rows.toarray(), sigma=1.0)[:, :9],
                               atol=1e-12)
    for bad in ({"kernel": "no"}, {"sigma": -1}, {"Y": X[:, :2]}, {"kernel": "precomputed"}):
        with raises((ValueError, NotImplementedError)):
            mercer.kernel_matrix(X, **bad)


@test
def pipelines_and_searches():
    X, y = blobs(120, 4)
    pipe = make_pipeline(StandardScaler(), mercer.KernelPCA(3), mercer.PLSClassifier(2))
    assert pipe.fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(mercer.KernelPLSClassifier(), {"n_components": [1, 3], "sigma": [1.0, 3.0]}, n_jobs=2, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    from joblib.externals.loky import get_reusable_executor
    get_reusable_executor().shutdown(wait=True)  # idle workers would keep the test for minutes
    from joblib import Parallel, delayed
    estimator = mercer.KernelPCA(3).fit(X)
    for part in Parallel(2)(delayed(estimator.transform)(X) for _ in range(3)):
        assert same(part, estimator.transform(X))
    get_reusable_executor().shutdown(wait=True)
    import joblib
    joblib.dump(estimator, "x.joblib")
    assert same(joblib.load("x.joblib").transform(X), estimator.transform(X))


@test
def set_output_and_one_row():
    X, _ = blobs()
    estimator = mercer.KernelPCA(3).fit(X)
    for i in (0, 7, 119):
        assert same(estimator.transform(X[i:i + 1])[0], estimator.transform(X)[i])
    try:
        import pandas  # noqa: F401
    except ImportError:
        return
    frame = estimator.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == ["kernelpca0", "kernelpca1", "kernelpca2"]


@test
def evaluation_is_the_command_lines():
    X, y = blobs(90, 4)
    lines = [",".join([*map(repr, map(float, row)), f"c{label}"]) for row, label in zip(X, y)]
    pathlib.Path("rows.csv").write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    words = [MERCER, "evaluate", "rows.csv", "-m", "kpls", "-n", "3", "--json", "--cv", "4", "--seed", "5"]
    theirs = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    ours = mercer.evaluate(mercer.KernelPLSClassifier(3, random_state=5), X, y, cv=4)
    told = json.dumps(theirs)
    assert repr(ours.mean) in told or f"{ours.mean:.12g}" in told or str(ours.mean) in told, (ours.mean, told[:2000])
    assert ours.confusion.sum() == 90 and ours.confusion.shape == (3, 3)
    assert sorted(np.concatenate([fold["row"] for fold in ours.folds])) == list(range(90))
    assert "error" in repr(ours) and list(ours.classes) == [0, 1, 2]
    tuned = mercer.evaluate(mercer.KernelPLSClassifier(), X, y, tune={"sigma": [0.5, 4.0], "n_components": [1, 2, 3]}, cv=3)
    assert tuned.choices == 6 and all(set(chosen) >= {"n_components", "sigma"} for chosen in tuned.chosen), tuned.chosen
    splits = list(KFold(3).split(X))
    assert len(mercer.evaluate(mercer.KernelPLSClassifier(3), X, y, cv=splits).folds) == 3
    assert len(mercer.evaluate(mercer.KernelPLSClassifier(3), X, y, cv=StratifiedKFold(4)).folds) == 4
    assert len(mercer.evaluate(mercer.PLSClassifier(2), X[:20], y[:20], cv="loo").folds) == 20
    held = mercer.evaluate(mercer.KernelPLSClassifier(3), X[:60], y[:60], test=(X[60:], y[60:]))
    direct = mercer.KernelPLSClassifier(3).fit(X[:60], y[:60])
    np.testing.assert_allclose(held.mean, 1 - direct.score(X[60:], y[60:]), atol=1e-12)
    assert mercer.evaluate(mercer.KernelPCA(3), X).metric == "structure"
    assert mercer.evaluate(mercer.KernelPCA(3), X, y, head="knn:k=3").metric == "error"
    values = mercer.evaluate(mercer.KernelPLSRegressor(3), X, X[:, 0])
    assert values.metric == "rmse" and values.confusion is None
    two = mercer.evaluate(mercer.KernelPLSClassifier(3), X, y > 0, metric="auc", positive=True)
    false, true, threshold = two.roc()
    assert false[0] == true[0] == 0 and false[-1] == true[-1] == 1 and np.isinf(threshold[0])
    best = mercer.compare([mercer.PLSClassifier(1), mercer.KernelPLSClassifier(3)], X, y)
    means = [one.mean for one in best.values()]
    assert means == sorted(means) and set(best) == {"PLSClassifier", "KernelPLSClassifier"}
    for bad in ({"cv": "many"}, {"cv": [([0], [1])]}, {"tune": {"nothing": [1]}}, {"metric": "no"}, {"cv": 1000}):
        with raises(ValueError):
            mercer.evaluate(mercer.KernelPLSClassifier(3), X, y, **bad)


@test
def cards_and_pictures():
    X, y = blobs()
    estimator = mercer.KernelPCA(3, novelty=0.1).fit(X)
    card = estimator.model_._repr_html_()
    assert "<svg" in card and "kpca" in card and "<script" not in card
    from xml.etree import ElementTree
    ElementTree.fromstring(card)
    evil = mercer.KernelPCA(3, random_state=5)
    evil._command = lambda: "<script>alert(1)</script>"
    assert "<script>" not in evil.fit(X).model_._repr_html_()
    assert "KernelPCA" in estimator._repr_html_()
    try:
        import matplotlib
    except ImportError as error:
        raise Skip("matplotlib is not installed") from error
    matplotlib.use("Agg")
    mercer.plot_features(estimator, X, y).figure.savefig("a.png")
    mercer.plot_features(estimator, X, X[:, 0]).figure.savefig("b.png")
    mercer.plot_features(estimator, X).figure.savefig("b.png")
    mercer.plot_spectrum(estimator).figure.savefig("c.png")
    mercer.plot_errors(estimator, X).figure.savefig("d.png")
    mercer.plot_preimages(estimator, X[:4], shape=(2, 2)).savefig("e.png")
    mercer.plot_preimages(estimator, X[:4]).savefig("e.png")
    result = mercer.evaluate(mercer.KernelPLSClassifier(2), X, y)
    mercer.plot_evaluation(result).figure.savefig("f.png")
    mercer.plot_evaluation(mercer.compare([mercer.PLSClassifier(2), mercer.KernelPLSClassifier(2)], X, y)).figure.savefig("g.png")
    assert all(pathlib.Path(f"{letter}.png").stat().st_size > 1000 for letter in "abcdefg")
    with raises(ValueError, "axes"):
        estimator.plot_features(X, axes=(0, 9))
    with raises(ValueError, "shape"):
        estimator.plot_preimages(X, shape=(3, 3))


@slow_test
def pictures_need_matplotlib_only_when_asked():
    code = ("import sys; sys.modules['matplotlib'] = None\nimport mercer, numpy as np\n"
            "est = mercer.KernelPCA(2).fit(np.random.default_rng(0).normal(size=(20, 3)))\n"
            "try: est.plot_spectrum()\nexcept ImportError as error: print(error)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "need matplotlib" in done.stdout, done.stderr


@test
def settings_reach_the_library():
    X = np.random.default_rng(0).normal(size=(400, 3))
    a, b = mercer.NystroemKernelPCA(3, random_state=1).fit(X), mercer.NystroemKernelPCA(3, random_state=2).fit(X)
    assert not same(a.transform(X), b.transform(X))
    assert same(a.transform(X), mercer.NystroemKernelPCA(3).fit(X).transform(X))
    assert same(a.transform(X), mercer.NystroemKernelPCA(3, n_jobs=1).fit(X).transform(X))
    assert mercer.KernelPCA(3, store="stream").fit(X).report_["store"] == "stream"
    with raises(MemoryError):
        mercer.KernelPCA(3, store="dense", memory="1M").fit(X)
    np.testing.assert_allclose(mercer.KernelPCA(2, scale=True).fit_transform(X), mercer.KernelPCA(2, scale="standard").fit_transform(X))
    told = []
    mercer.AKFA(20, verbose=lambda phase, done: told.append(phase), center="none").fit(np.random.default_rng(0).normal(size=(3000, 20)))
    assert told
    text = mercer.KernelPCA(3, sigma=2.0).fit(X).model_.info["command"]
    assert text == "KernelPCA(n_components=3, sigma=2.0)", text


if __name__ == "__main__":
    sys.exit(run_tests())
