#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docstrings and examples say holds, and old pickles load: test_docs.py MERCER [WORD...] [-jN]"""
import doctest
import json
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np

from support import ROOT, Fault, need_sklearn, program, quiet, run_tests, test

need_sklearn()
import mercer  # noqa: E402
from mercer import _base, _core, _evaluate, _model, _runtime  # noqa: E402

program()
PICKLES = ROOT / "tests" / "compat"


@test
def docstrings():
    """Every example of every class and function."""
    finder, runner = doctest.DocTestFinder(recurse=True), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    examples = 0
    with quiet():
        for thing in [mercer, _base, _evaluate, _model, _runtime, *(getattr(mercer, name) for name in mercer.ESTIMATORS)]:
            for each in finder.find(thing):
                examples += len(each.examples)
                runner.run(each)
    assert examples > 100, examples
    assert runner.summarize(verbose=False).failed == 0


@test
def public_names_have_docstrings():
    for name in mercer.__all__:
        thing = getattr(mercer, name)
        assert thing.__doc__ and len(thing.__doc__) > 20, name
        if isinstance(thing, type):
            for key in dir(thing):
                member = getattr(thing, key, None)
                if not key.startswith("_") and callable(member) and getattr(member, "__module__", "").startswith("mercer"):
                    assert member.__doc__, f"{name}.{key}"


@test
def a_new_method_needs_no_table():
    """The generator makes estimators of methods that it has never heard of."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader
    loader = SourceFileLoader("generate_python", str(ROOT / "tools" / "generate-python"))
    generator = module_from_spec(spec_from_loader("generate_python", loader))
    loader.exec_module(generator)
    schema = json.loads(_core.schema())
    known = {method["name"]: method for method in schema["methods"]}
    schema["methods"] += [known["akfa"] | {"name": "newer"}, known["kpls"] | {"name": "newcomer"},
                          known["ikpca"] | {"name": "stream"}]
    files = {path.name: text for path, text in generator.write_all(schema).items()}
    names = {}
    exec(compile(files["_estimators.py"].replace("from ._base", "from mercer._base"), "_estimators.py", "exec"), names)
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    for name, method in (("NEWER", "akfa"), ("NewcomerClassifier", "kpls"), ("NewcomerRegressor", "kpls"), ("Stream", "ikpca")):
        assert f'"{name}",' in files["_names.py"] and f"[{name}](python/{name}.md)" in files["python.md"], name
        assert files[f"{name}.md"].startswith(f"# `{name}`") and "Cost" not in files[f"{name}.md"]
        cls = type(name, (names[name],), {"_method": method, "__init__": names[name].__init__})
        with quiet():
            assert cls(2).fit(X, y).transform(X).shape == (40, 2), name


def _make(path):
    def example():
        done = subprocess.run([sys.executable, "-W", "ignore", path], capture_output=True, text=True, check=False, timeout=200)
        if done.returncode != 0:
            raise Fault(done.stderr)
    example.__name__ = f"example_{path.stem}"
    test(example)


for each_path in sorted((ROOT / "python" / "examples").glob("*.py")):
    _make(each_path)


@test
def old_pickles_load():
    paths = sorted(PICKLES.glob("python_*/*.pickle"))
    assert len(paths) >= 16
    for path in paths:
        expected = np.load(path.with_suffix(".npy"))
        rows = np.load(path.with_name("rows.npy"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # another version of scikit-learn
            thing = pickle.loads(path.read_bytes())
            got = thing.predict(rows) if "predict" in path.stem else thing.transform(rows)
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())
        else:
            assert list(got) == list(expected), path.name
        if path.stem == "interval_predict":
            assert (thing.predict_interval(rows, coverage=0.5)[0] < got).all()
        if path.stem == "novel":
            assert not thing.is_novel(rows).all()
        if hasattr(thing, "decision_function"):
            assert list(thing.classes_[(thing.decision_function(rows) > 0).astype(int)]) == list(expected), path
        if hasattr(thing, "get_params"):  # those that came later, too
            assert set(type(thing)().get_params()) == set(thing.get_params()) and repr(thing)


if __name__ == "__main__":
    sys.exit(run_tests())
