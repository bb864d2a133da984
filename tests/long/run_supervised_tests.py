#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The sparse supervised methods on text and on a million rows.

Usage: run_supervised_tests.py MERCER DATA [TEST...]. DATA holds the data sets, which are no part of
the repository; what is not there is skipped. The rows chosen on Reuters-21578 are those of an
independent implementation; what the features are worth there, and the paper's other tables and
figures, is for experiments/. Prints a line per test and closes with "N passed, N failed".
"""
import os
import pathlib
import sys

import numpy as np
from sklearn.datasets import load_svmlight_file

from common import run
from harness import check, close, run_parts, scratch

DATA = pathlib.Path(sys.argv[2]).resolve()


def fit(data, method, features, *more):
    """The report of a fit with the linear kernel; it must succeed."""
    status, report, _ = run("fit", data, "-m", method, "-k", "linear", "-n", features, "--json",
                            "--quiet", *more)
    if status != 0:
        raise RuntimeError(f"{method} on {data}: status {status}")
    return report


def missing(name):
    if not (DATA / name).exists():
        print(f"skipped: {name} is not there")
    return not (DATA / name).exists()


# ---- Reuters-21578 ----

# First ten rows, alignment at 100, 200, 300 and 400 features.
REUTERS = {
    "sma": ([15, 1123, 6042, 4680, 6655, 6953, 7002, 2209, 2243, 6037],
            [.66818, .71849, .74548, .76343]),
    "sma:labels=raw": ([2939, 2060, 5593, 6655, 1123, 641, 8956, 2242, 1402, 614],
                       [.68497, .73432, .75997, .77755]),
    "smc": ([7713, 3171, 3669, 8960, 6509, 5141, 5290, 5079, 5278, 7156],
            [.65554, .71513, .74318, .76149]),
    "smc:labels=raw": ([332, 3171, 8960, 5290, 6509, 9399, 2618, 2259, 69, 5079],
                       [.67783, .72963, .75775, .77526]),
}
COUNTS = (100, 200, 300, 400)


def reuters(folder):
    """All columns: the rows and alignments of an independent implementation."""
    train = DATA / "reuters21578.train.svm"
    if missing(train.name):
        return
    x, _ = load_svmlight_file(str(train))
    first = {}  # document: the first row that has it
    document = [first.setdefault((row.indices.tobytes(), row.data.tobytes()), i)
                for i, row in enumerate(x)]
    check("at least 134 rows repeat another", len(first) <= x.shape[0] - 134, x.shape[0] - len(first))
    for method, (rows, alignment) in REUTERS.items():
        report = fit(train, method, 400, "--label", "label")
        picked, found = report["selected"], np.array(report["alignment"])[np.array(COUNTS) - 1]
        check(f"Reuters, {method}: the first ten rows", picked[:10] == rows, picked[:10])
        off = np.abs(found - alignment)
        check(f"Reuters, {method}: alignment", off[0] <= 1e-5 and off.max() <= 1e-4,
              " ".join(f"{a:.5f}" for a in found))
        check(f"Reuters, {method}: no document twice, and of copies the first",
              len(picked) == 400 and [document[i] for i in picked] == picked)


# ---- a million rows ----

def a_million_rows(folder):
    """500 candidates, 50 features, of 1,000,000 rows in 4 GB."""
    data = os.path.join(folder, "million.npy")
    x = np.random.default_rng(1).normal(size=(1000000, 10))
    np.save(data, np.c_[x, np.sin(x[:, 0]) + x[:, 1] * x[:, 2]])
    for method in ("sma", "smc"):
        status, report, peak = run("fit", data, "--target", 11, "-m", f"{method}:candidates=500",
                                   "-k", "rbf:sigma=3", "-n", 50, "--memory", "4G", "--json",
                                   "--quiet")
        check(f"{method}, 500 candidates of a million rows in 4 GB",
              status == 0 and peak < 4.4e9 and report["components"] == 50,
              f"status {status}, peak {peak / 1e6:.0f} MB, {report and report['seconds']:.0f} s")


with scratch() as here:
    run_parts([reuters, a_million_rows], sys.argv[3:], here)
sys.exit(close())
