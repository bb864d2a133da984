#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docstrings and examples say holds, and old pickles load: test_docs.py MERCER [WORD...] [-jN]"""
import doctest
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np

from support import ROOT, Fault, need_sklearn, program, quiet, run_tests, test

need_sklearn()
import mercer  # noqa: E402
from mercer import _base, _evaluate, _model, _runtime  # noqa: E402

program()
PICKLES = ROOT / "tests" / "compat" / "python_1"


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
    paths = sorted(PICKLES.glob("*.pickle"))
    assert len(paths) >= 6
    for path in paths:
        expected = np.load(path.with_suffix(".npy"))
        rows = np.load(PICKLES / "rows.npy")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # another version of scikit-learn
            thing = pickle.loads(path.read_bytes())
            got = thing.predict(rows) if "predict" in path.stem else thing.transform(rows)
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())
        else:
            assert list(got) == list(expected), path.name


if __name__ == "__main__":
    sys.exit(run_tests())
