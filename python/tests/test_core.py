#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The extension and what needs NumPy alone: test_core.py MERCER [WORD...] [-jN]"""
import copy
import gc
import io
import os
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy as np

import damage
from support import ArrowTable, Skip, blobs, fit, need_plain_memory, program, quiet, raises, resident, run_tests, same, slow_test, test

import mercer
from mercer import _core, _runtime

MERCER = program()


@test
def a_kept_context_keeps_no_progress():
    """What is called during a fit, and all that hangs on it, goes with the call."""
    import gc
    import weakref

    class Told:
        def __call__(self, phase, done):
            pass

    told = Told()
    with _runtime.Call((None, None, 1, told)) as context:
        pass
    alive = weakref.ref(told)
    del told
    gc.collect()
    assert alive() is None and context in _runtime._CONTEXTS.free


@test
def every_status_has_an_exception():
    for name, number, error in _core.statuses():
        assert (error is None) == (number == 0), name
        if number and issubclass(error, mercer.MercerError):
            assert getattr(mercer, error.__name__) is error
    expected = {"ERR_ARGUMENT": ValueError, "ERR_DATA": ValueError, "ERR_FORMAT": ValueError, "ERR_IO": OSError,
                "ERR_BUDGET": MemoryError, "ERR_MEMORY": MemoryError, "ERR_UNSUPPORTED": NotImplementedError,
                "ERR_NUMERIC": ArithmeticError, "ERR_CANCELLED": KeyboardInterrupt, "ERR_PEER": RuntimeError,
                "ERR_LIMIT": ValueError}
    told = {name: error for name, _, error in _core.statuses() if error}
    assert set(told) == set(expected)
    assert all(issubclass(told[name], expected[name]) for name in expected)


@test
def imports_without_sklearn():
    code = ("import sys; sys.modules['sklearn'] = None\nimport mercer, numpy\n"
            "mercer.Model, mercer.load\n"
            "try: mercer.KernelPCA\nexcept ImportError as error: print('needs', error.name)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("needs sklearn"), done.stderr


@test
def errors_name_key_row_and_column():
    X, _ = blobs()
    with raises(mercer.ParameterError, "sigma", "parameter sigma") as caught:
        fit(X, kernel="rbf:sigma=-1")
    assert caught[0].key == "sigma"
    with raises(mercer.ParameterError, "n_components") as caught:
        fit(X, components="many")
    assert caught[0].key == "n_components"
    X[7, 2] = np.nan
    with raises(mercer.DataError, "NaN", "row 7", "column 2") as caught:
        fit(X)
    assert caught[0].row == 7 and caught[0].column == "2"
    with raises(mercer.DataError, "row 7", "'width'"):
        fit(X, names=["a", "b", "width", "d"])
    X[7, 2] = -np.inf
    with raises(mercer.DataError, "inf", "row 7"):
        fit(X)
    with raises(mercer.FileError, "no/such/file") as caught:
        mercer.load("no/such/file")
    assert isinstance(caught[0], OSError)
    with raises(mercer.UnsupportedError):
        fit(blobs()[0]).predict(blobs()[0])
    with raises(mercer.UnsupportedError, "novelty"):
        fit(blobs()[0]).is_novel(blobs()[0])
    with raises(mercer.BudgetError):
        with _runtime.Call((None, 1 << 20, 1, None)) as context:
            _core.fit(context, mercer.Model, {"method": "kpca", "store": "dense"},
                      _runtime.rows_of(context, np.random.default_rng(0).normal(size=(3000, 3))), None, None, None, None, False)


@test
def an_empty_model_is_no_crash():
    empty = mercer.Model()
    X, _ = blobs()
    for use in (lambda: empty.transform(X), lambda: empty.info, lambda: empty.save("x"), lambda: empty.truncate(1),
                lambda: pickle.dumps(empty), lambda: empty.update(X), lambda: empty.array("z"), lambda: empty.predict(X),
                lambda: empty.inverse_transform(X), lambda: empty.column_names, lambda: empty.reconstruction_errors(X)):
        with raises(ValueError, "empty"):
            use()
    assert "empty" in repr(empty)


@test
def wrong_arguments_are_type_errors():
    context = _core.Context()
    model, X = fit(blobs()[0]), blobs()[0]
    rows = _core.rows_dense(context, X, None)
    for call in (lambda: _core.fit(), lambda: _core.fit(1, 2, 3, 4, 5, 6, 7, 8, 9),
                 lambda: _core.fit(context, int, {"method": "kpca"}, rows, None, None, None, None, False),
                 lambda: _core.fit(context, mercer.Model, {"method": 3}, rows, None, None, None, None, False),
                 lambda: _core.fit(context, mercer.Model, {"method": "kpca"}, rows, 5, None, None, None, False),
                 lambda: _core.transform(context, model, rows, None, None, None),
                 lambda: _core.transform(context, rows, model, None, np.empty((120, 10)), None),
                 lambda: _core.rows_dense(context, "text", None), lambda: _core.rows_dense(context, np.zeros((2, 2, 2)), None),
                 lambda: _core.rows_dense(context, np.zeros((2, 2), complex), None),
                 lambda: _core.rows_dense(context, X, [1, 2, 3, 4]), lambda: _core.targets_classes([1], ["a"]),
                 lambda: _core.targets_values([1.0]), lambda: _core.arrow_read(3), lambda: _core.info(3),
                 lambda: _core.set(context, "a", None, 1, None), lambda: _core.take_notices(1),
                 lambda: _core.Context(1), lambda: _core.View(), lambda: _core.Rows(), lambda: _core.evaluation_info(1)):
        with raises((TypeError, ValueError, BufferError)):
            call()
    for bad in (np.empty((120, 9)), np.empty((119, 10)), np.empty((120, 10), np.int32), np.empty((10, 120)).T):
        with raises((ValueError, BufferError, TypeError)):
            _core.transform(context, model, rows, None, bad, None)
    with raises((ValueError, BufferError)):
        frozen = np.empty((120, 10))
        frozen.flags.writeable = False
        _core.transform(context, model, rows, None, frozen, None)
    with raises(ValueError, "names"):
        _core.rows_dense(context, X, ["a"])
    with raises(ValueError, "zero byte"):
        _core.rows_dense(context, X, ["a", "b\0", "c", "d"])
    with raises(ValueError):
        _core.targets_classes(np.array([0, 5]), ["a", "b"])


@test
def rows_are_borrowed():
    """What is changed behind the library's back is seen: there is no copy."""
    X, _ = blobs()
    model = fit(X, components="3")
    with _runtime.Call() as context:
        for array in (X.copy(), X.astype(np.float32), X.copy()[:, :], np.hstack([X, X])[:, :4]):
            rows = _core.rows_dense(context, array, None)
            array[5] = X[6]
            out = np.empty((120, 3))
            _core.transform(context, model, rows, None, out, None)
            tolerance = 1e-6 if array.dtype == np.float32 else 0
            np.testing.assert_allclose(out[5], model.transform(X)[6], rtol=tolerance, atol=tolerance)
        from scipy.sparse import csr_matrix
        sparse = csr_matrix(X)
        assert sparse.indices.dtype == np.int32
        rows = _runtime.rows_of(context, sparse)
        sparse.data[20:24] = X[6]
        _core.transform(context, model, rows, None, out, None)
        np.testing.assert_allclose(out[5], model.transform(X)[6], atol=1e-12)
        fortran = np.asfortranarray(X)
        rows = _core.rows_dense(context, fortran, None)
        fortran[5] = X[6]
        _core.transform(context, model, rows, None, out, None)
        assert same(out[5], model.transform(X)[5])


@test
def layouts_give_the_same_bits():
    X, _ = blobs(200, 6)
    expected = fit(X).to_bytes()
    wide = np.zeros((200, 12))
    wide[:, ::2] = X
    unaligned = np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    record = np.zeros(200, [("a", "i1"), ("x", "f8", (6,))])
    record["x"] = X
    for array in (np.asfortranarray(X), X[::-1][::-1], wide[:, ::2], unaligned, record["x"], X.tolist(),
                  X.astype(">f8"), X.astype(object)):
        assert fit(_runtime.prepared(array)[0]).to_bytes() == expected
    whole = np.random.default_rng(0).integers(0, 255, (100, 5))
    expected = fit(whole.astype(float)).transform(whole.astype(float))
    for kind in (np.uint8, np.int16, np.int64, np.uint32):
        np.testing.assert_array_equal(fit(_runtime.prepared(whole.astype(kind))[0]).transform(whole.astype(kind)), expected)
    single = X.astype(np.float32)
    features = fit(single).transform(single)
    assert features.dtype == np.float32
    assert same(features, fit(single).transform(single.astype(np.float64)).astype(np.float32))


@slow_test
def no_copy_by_peak_memory():
    """Features of 400 MB take little more than the data."""
    need_plain_memory()
    code = ("import numpy as np, resource, sys, mercer\nfrom mercer import _core, _runtime\n"
            "kind = sys.argv[1]\nrandom = np.random.default_rng(0)\n"
            "if kind == 'csr':\n"
            "    from scipy.sparse import csr_matrix\n"
            "    n, k = 300000, 100\n"
            "    X = csr_matrix((random.random(n * k), np.tile(np.arange(k, dtype=np.int32), n), np.arange(0, n * k + 1, k)), (n, 200))\n"
            "    assert X.indices.dtype == np.int32\n"
            "else:\n"
            "    X = random.random((1000000, 50 if kind == 'float64' else 100), dtype=kind)\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "with _runtime.Call() as context:\n"
            "    rows = _runtime.rows_of(context, X)\n"
            "    model = _core.fit(context, mercer.Model, {'method': 'ikpca:first=50', 'components': '2'},\n"
            "                      _runtime.rows_of(context, X[:50]), None, None, None, None, False)[0]\n"
            "    _core.transform(context, model, rows, None, np.empty((X.shape[0], 2), np.float32), None)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n")
    for kind in ("float64", "float32", "csr"):
        done = subprocess.run([sys.executable, "-c", code, kind], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) < 60 * 1024, f"{kind}: {done.stdout} kB"


@test
def arrow_streams_are_read():
    random = np.random.default_rng(0)
    kinds = {"c": np.int8, "C": np.uint8, "s": np.int16, "S": np.uint16, "i": np.int32, "I": np.uint32, "l": np.int64,
             "L": np.uint64, "f": np.float32, "g": np.float64}
    columns = {f"column {letter}": (letter, random.integers(0, 100, 103).astype(kind), None)
               for letter, kind in kinds.items()}
    columns["bits"] = ("b", random.integers(0, 2, 103), None)
    columns["all there"] = ("g", random.normal(size=103), np.ones(103, bool))
    expected = np.column_stack([values.astype(float) for _, values, _ in columns.values()])
    for batches, offset in ((1, 0), (7, 0), (5, 3), (103, 13), (200, 1)):
        table = ArrowTable(columns, batches, offset)
        named = _runtime.from_arrow(table)
        assert named.columns == list(columns) and same(named.values, expected)
        gc.collect()
        assert table.released == table.given and table.given["stream"] == 1, table.released
    floats = ArrowTable({"a": ("f", np.ones(5, np.float32), None)}, 2)
    assert _runtime.from_arrow(floats).values.dtype == np.float32
    model = fit(expected, names=list(columns))
    assert same(model.transform(ArrowTable(columns, 3)), model.transform(expected))
    turned = dict(reversed(columns.items()))  # columns are found by their names
    assert same(model.transform(ArrowTable(turned, 3)), model.transform(expected))


@test
def arrow_streams_that_cannot_be_used():
    good = ("g", np.ones(20), None)
    hole = np.ones(20, bool)
    hole[13] = False
    for columns, words in (({"a": good, "word": ("u", np.ones(20), None)}, ("'word'", "texts")),
                           ({"a": good, "day": ("tdD", np.ones(20), None)}, ("'day'", "dates")),
                           ({"kind": ("dictionary", np.ones(20, np.int32), None)}, ("'kind'", "categories")),
                           ({"a": good, "none": ("n", np.ones(20), None)}, ("'none'", "null")),
                           ({"a": good, "list": ("+l", np.ones(20), None)}, ("'list'", "lists")),
                           ({"a": good, "gap": ("g", np.ones(20), hole)}, ("'gap'", "missing", "row 13"))):
        for batches in (1, 3):
            table = ArrowTable(columns, batches, 2)
            with raises(mercer.DataError, *words):
                _runtime.from_arrow(table)
            gc.collect()
            assert table.released == table.given, (words, table.released, table.given)
    for fail, word in (("schema", "the disk is on fire"), ("next", "the disk is on fire"), ("children", "damaged"),
                       ("row", "row 1 is missing")):
        table = ArrowTable({"a": good, "b": good}, 3, fail=fail)
        with raises(mercer.DataError, word):
            _runtime.from_arrow(table)
        gc.collect()
        assert table.released == table.given
    with raises(ValueError, "already"):
        once = ArrowTable({"a": good})
        twice = once.__arrow_c_stream__()
        _core.arrow_read(twice)
        _core.arrow_read(twice)


@test
def arrow_streams_by_chance():
    random = np.random.default_rng(3)
    for _ in range(300):
        damage.try_arrow(random)
    refused = sum(damage.try_spoilt_arrow(random) is not None for _ in range(1500))
    assert refused > 500, refused


@test
def files_of_strangers():
    X, y = blobs()
    fit(X, "kpls", y, components="3").save("here.model")
    assert mercer.load("here.model", untrusted=True).to_bytes() == pathlib.Path("here.model").read_bytes()
    os.symlink("here.model", "link.model")
    os.mkfifo("pipe.model")
    mercer.load("link.model")
    for name, word in (("link.model", "is a symbolic link"), ("pipe.model", "is a pipe"), ("/dev/zero", "is a device")):
        with raises(mercer.LimitError, word):
            mercer.load(name, untrusted=True)
    mercer.load("link.model")  # the limits were of that call alone


@test
def files_bytes_pickles_and_copies():
    X, y = blobs()
    model = fit(X, "kpls", y, names=["a", "b", "c", "d"], components="3")
    model.save("here.model")
    data = pathlib.Path("here.model").read_bytes()
    assert model.to_bytes() == data
    again = [mercer.load("here.model"), mercer.load(pathlib.Path("here.model")), mercer.Model.from_bytes(data),
             mercer.Model.from_bytes(memoryview(data)), pickle.loads(pickle.dumps(model)), copy.copy(model),
             copy.deepcopy(model)]
    for other in again:
        assert type(other) is mercer.Model and other.to_bytes() == data
        assert same(other.transform(X), model.transform(X)) and list(other.predict(X)) == list(model.predict(X))
        assert other.column_names == ["a", "b", "c", "d"] and other.output_names == ["0", "1", "2"]
    assert b"mercer" not in pickle.dumps(model).split(data)[1] or len(pickle.dumps(model)) < len(data) + 200
    done = subprocess.run([MERCER, "info", "here.model", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@test
def damaged_bytes_are_refused():
    """Thousands of damaged models and pickles: an exception or a model that works, never a crash."""
    random, models = np.random.default_rng(2), damage.model_bytes()
    assert all(damage.resealed(data) == data for data in models)
    outcomes = {attempt: [attempt(random, data, models) is None for data in models for _ in range(count)]
                for attempt, count in ((damage.try_model, 200), (damage.try_resealed_model, 200), (damage.try_pickle, 300))}
    accepted, refused = (outcomes[damage.try_resealed_model].count(outcome) for outcome in (True, False))
    assert accepted > 50 and refused > 300, (accepted, refused)
    assert outcomes[damage.try_pickle].count(False) > 1500, outcomes[damage.try_pickle].count(False)
    for nothing in (b"", b"x", b"\x80\x04", os.urandom(100)):
        with raises(mercer.FormatError):
            mercer.Model.from_bytes(nothing)
    with raises(TypeError):
        mercer.Model.from_bytes("text")


@test
def arrays_are_views_that_keep_the_model():
    X, _ = blobs()
    model = fit(X, "akfa", components="4", center="span")
    z, coefficients = model.array("z"), model.array("coefficients")
    assert z.shape == (4, 4) and coefficients.shape[0] == 4 and not z.flags.writeable
    assert same(z, X[model.array("selected")])
    with raises(ValueError):
        z[0, 0] = 1
    expected = z.copy()
    del model
    gc.collect()
    assert same(z, expected)
    model = fit(X)
    for name in _core.array_names():
        array = model.array(name)
        assert array is None or array.size > 0
    with raises(mercer.ParameterError):
        model.array("no such array")


@test
def columns_by_name():
    class Frame:
        """Enough of a DataFrame for functions without scikit-learn."""

        def __init__(self, values, columns):
            self.values, self.columns = values, columns

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.values, dtype)

    X, _ = blobs()
    model = fit(X, names=list("abcd"))
    assert same(model.transform(Frame(X[:, ::-1], list("dcba"))), model.transform(X))
    with raises(mercer.DataError, "'d'"):
        model.transform(Frame(X[:, :3], list("abc")))
    assert same(model.transform(Frame(X, [1, 2, 3, 4])), model.transform(X))


@test
def streams_are_those_of_the_command_line():
    X, _ = blobs(500, 5)
    np.save("first.npy", X[:350])
    np.save("second.npy", X[350:])
    for method in ("ikpca:first=100", "kha:first=100,block=60,passes=3"):
        for word in (["fit", "first.npy", "-m", method, "-n", "3", "-o", "a.model", "--seed", "7"],
                     ["update", "a.model", "second.npy", "-o", "b.model"]):
            done = subprocess.run([MERCER, *word], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        with _runtime.Call((None, None, 7, None)) as context:
            first, _ = _core.learn(context, mercer.Model, None, {"method": method, "components": "3"},
                                   _runtime.rows_of(context, X[:350]))
        assert same(first.transform(X), mercer.load("a.model").transform(X))
        first.save("c.model")
        for start in (first, mercer.load("c.model"), pickle.loads(pickle.dumps(first)), mercer.load("a.model")):
            assert same(start.update(X[350:]).transform(X), mercer.load("b.model").transform(X))
    with raises(mercer.UnsupportedError):
        fit(X).update(X)


@test
def notices_are_warnings_of_the_caller():
    import warnings
    X, _ = blobs(30, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(X, kernel="linear", components="5")
    assert [w.category for w in caught] == [mercer.MercerWarning], [str(w.message) for w in caught]
    assert "component" in str(caught[0].message) and caught[0].filename == fit.__code__.co_filename, caught[0].filename


@test
def progress_and_exceptions_in_it():
    X = np.random.default_rng(0).normal(size=(3000, 20))
    told = []
    with _runtime.Call((None, None, 1, lambda phase, done: told.append((phase, done)))) as context:
        _core.fit(context, mercer.Model, {"method": "akfa", "components": "20"}, _runtime.rows_of(context, X), None, None, None, None, False)
    assert told and all(isinstance(phase, str) and done <= 1 for phase, done in told)

    def stop(phase, done):
        raise LookupError("enough")
    with raises(LookupError, "enough"):
        with _runtime.Call((None, None, 1, stop)) as context:
            _core.fit(context, mercer.Model, {"method": "akfa", "components": "20"}, _runtime.rows_of(context, X), None, None, None, None, False)
    assert fit(X[:100]).n_components == 10  # the context works again


@test
def progress_by_tqdm():
    """A bar per phase, closed in the end, also after an exception."""
    import types
    bars = []

    class Bar:
        def __init__(self, total, desc, leave):
            self.total, self.desc, self.n, self.is_open = total, desc, 0, True
            bars.append(self)

        def update(self, count):
            assert self.is_open and count >= 0
            self.n += count

        def close(self):
            self.is_open = False

    X = np.random.default_rng(0).normal(size=(500, 20))
    former = {name: sys.modules.get(name) for name in ("tqdm", "tqdm.auto")}
    sys.modules["tqdm"], sys.modules["tqdm.auto"] = types.ModuleType("tqdm"), types.SimpleNamespace(tqdm=Bar)
    try:
        with _runtime.Call((None, None, 1, _runtime.progress_of(True))) as context:
            _core.fit(context, mercer.Model, {"method": "akfa", "components": "20", "center": "span"},
                      _runtime.rows_of(context, X), None, None, None, None, False)
        assert len(bars) >= 2 and not any(bar.is_open for bar in bars), [bar.desc for bar in bars]
        assert all(0 <= bar.n <= bar.total for bar in bars) and any(bar.n > 0 for bar in bars), [bar.n for bar in bars]
        with raises(LookupError):
            bar = _runtime.progress_of(True)
            with _runtime.Call((None, None, 1, bar)):
                bar("phase", 0.5)
                raise LookupError
        assert bars[-1].desc == "phase" and not bars[-1].is_open
        sys.modules["tqdm.auto"] = None  # as if it were not installed
        assert type(_runtime.progress_of(True)) is _runtime.Lines
    finally:
        for name, module in former.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


@test
def no_exception_of_a_callback_is_lost():
    """Whenever it comes, also when nothing is left to be cancelled."""
    X, y = blobs(80, 4)
    model = fit(X, "kpls", y)

    def calls(progress):
        with _runtime.Call((None, None, 1, progress)) as context:
            rows = _runtime.rows_of(context, X)
            for options in ({"method": "akfa", "center": "span"}, {"method": "kpca"}):
                _core.fit(context, mercer.Model, options, rows, None, None, None, None, False)
            _core.transform(context, model, rows, None, np.empty((80, model.n_components)), None)
    told = []
    calls(lambda phase, done: told.append(phase))
    assert len(told) > 4, told
    for last in range(len(told)):
        def stop(phase, done, left=[last]):
            left[0] -= 1
            if left[0] < 0:
                raise LookupError("enough")
        with raises(LookupError, "enough"):
            calls(stop)
        assert fit(X).n_components == 10


@test
def a_callback_may_call_the_library():
    X, _ = blobs()
    inner = []
    big = np.random.default_rng(0).normal(size=(3000, 20))
    with _runtime.Call((None, None, 1, lambda phase, done: inner.append(fit(X).to_bytes()))) as context:
        _core.fit(context, mercer.Model, {"method": "akfa", "components": "5"}, _runtime.rows_of(context, big), None, None, None, None, False)
    assert inner and set(inner) == {fit(X).to_bytes()}
    context = _core.Context()
    with raises(RuntimeError, "in a call"):
        def again(phase, done):
            _core.rows_dense(context, X, None)
        _core.set(context, None, None, 1, again)
        _core.fit(context, mercer.Model, {"method": "akfa", "components": "5"}, _core.rows_dense(context, big, None), None, None, None, None, False)


@test
def threads_share_a_model():
    X, _ = blobs(2000, 8)
    model = fit(X[:300])
    expected = model.transform(X)
    wrong = []

    def work():
        for _ in range(20):
            if not same(model.transform(X), expected):
                wrong.append(1)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@test
def forked_children_work():
    import multiprocessing
    X, _ = blobs(600, 5)
    expected = fit(X).to_bytes()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_fit_bytes, [X] * 6) == [expected] * 6


def _fit_bytes(X):
    return fit(X).to_bytes()


@slow_test
def ten_thousand_fits_leak_nothing():
    need_plain_memory()
    X, y = blobs(30, 3)

    def some(count):
        for _ in range(count):
            model = fit(X, "kpls", y, components="2")
            model.predict(X)
            model.array("coefficients")
            try:
                fit(X, kernel="rbf:sigma=-1")
            except mercer.ParameterError:
                pass
        gc.collect()
    with quiet():
        some(1000)
        before = resident()
        some(10000)
    assert resident() - before < 1 << 20, f"{resident() - before} bytes"


@test
def kernels_of_blas():
    """Other kernels give the bits of the command line on them; those that the user asks for stay."""
    if _core.library()["blas"] != "private":
        raise Skip("the BLAS of this build is not private")
    np.save("x.npy", np.random.default_rng(0).normal(size=(700, 30)))
    code = ("import sys, numpy as np, mercer\nfrom mercer import _core, _runtime\n"
            "if sys.argv[1] != 'own' and not _core.take_kernels(sys.argv[1]): sys.exit(3)\n"
            "import os; assert ('OPENBLAS_CORETYPE' in os.environ) == (sys.argv[1] == 'own')\n"
            "with _runtime.Call() as context:\n"
            "    X = np.load('x.npy')\n"
            "    model = _core.fit(context, mercer.Model, {'method': 'kpca', 'components': '5'}, _core.rows_dense(context, X, None),\n"
            "                      None, None, None, None, False)[0]\n"
            "np.save('ours.npy', model.transform(X)); print(_core.library()['kernels'])\n")
    seen = {}
    widths = ["SSE3", "SSE4.2", "AVX", "AVX2", "AVX-512"]
    has = _core.library()["processor_vectors"]
    assert has in widths, has
    for name, needs in (("Prescott", "SSE3"), ("Haswell", "AVX2"), ("SkylakeX", "AVX-512")):
        if widths.index(needs) > widths.index(has):
            continue  # OpenBLAS takes what it is told, and the processor cannot run it
        surroundings = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
        asked = dict(surroundings, OPENBLAS_CORETYPE=name)
        for words, env in (([name], surroundings), (["own"], asked)):
            done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, env=env)
            assert done.returncode == 0 and done.stdout.strip() == name, done.stdout + done.stderr
            told = subprocess.run([MERCER, "fit", "x.npy", "-m", "kpca", "-n", "5", "-o", "x.model", "--quiet"], env=asked, check=False)
            assert told.returncode == 0
            subprocess.run([MERCER, "transform", "x.model", "x.npy", "-o", "theirs.npy", "--quiet"], env=asked, check=True)
            assert same(np.load("ours.npy"), np.load("theirs.npy")), name
            seen[name] = np.load("ours.npy").tobytes()
    assert seen.keys() >= {"Prescott"} and len(set(seen.values())) == len(seen), "kernels that all give the same bits show nothing"


@test
def settings():
    assert _runtime.bytes_of("4G") == 4 << 30 and _runtime.bytes_of("1.5 MB") == 3 << 19 and _runtime.bytes_of(7) == 7
    assert _runtime.bytes_of(None) is None
    for bad in ("much", "4X", "", True, "nan"):
        with raises(mercer.ParameterError, "memory"):
            _runtime.bytes_of(bad)
    assert _runtime.seed_of(None) == 1 and _runtime.seed_of(np.int64(5)) == 5
    assert _runtime.seed_of(np.random.RandomState(3)) == _runtime.seed_of(np.random.RandomState(3))
    for bad in ("a", -1, 1.5, 1 << 64, True):
        with raises(mercer.ParameterError, "random_state"):
            _runtime.seed_of(bad)
    assert _runtime.threads_of(3) == 3 and _runtime.threads_of(-1) == len(os.sched_getaffinity(0))
    os.environ["OMP_NUM_THREADS"] = "1"
    assert _runtime.threads_of(None) == 1
    os.environ["OMP_NUM_THREADS"] = "none"
    assert _runtime.threads_of(None) is None
    for bad in (0, "a", 2.5):
        with raises(mercer.ParameterError, "n_jobs"):
            _runtime.threads_of(bad)
    context = _core.Context()
    _core.set(context, 2, 1 << 30, 9, None)
    _core.set(context, None, None, 9, None)
    with raises(mercer.ParameterError):
        _core.set(context, 100000, None, 1, None)
    error = io.StringIO()
    was, sys.stderr = sys.stderr, error
    try:
        show = _runtime.Lines()
        show("one", 0.1), show("one", 0.5), show("two", -1)
    finally:
        sys.stderr = was
    assert error.getvalue() == "mercer: one\nmercer: two\n"


if __name__ == "__main__":
    sys.exit(run_tests())
