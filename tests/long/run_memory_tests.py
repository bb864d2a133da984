#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do fits take the memory that was forecast?

Usage: run_memory_tests.py MEASURE_FORECAST. Ten kinds of fits, of 50 MB and more: what the process takes beyond the rows
must lie within 10 % of the forecast, and within 25 % with a low-rank factor, whose columns are an estimate from a sample.
Each fit is made twice, and the second one counts: buffers of BLAS are there by then. Prints "N passed, N failed".
"""
import pathlib
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import check, close, scratch  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROWS = 4000


def normal(name, rows, columns, target=False):
    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, columns))
    np.save(name, np.c_[x, np.sin(x[:, 0]) + x[:, 1] ** 2] if target else x)


def ring(name, rows):
    random = np.random.default_rng(rows)
    angle, radius = random.uniform(0, 2 * np.pi, rows), random.normal(10, 0.5, rows)
    np.save(name, np.c_[radius * np.cos(angle), radius * np.sin(angle)])


def judge(what, store, most, *words):
    done = subprocess.run([PROGRAM, "-f", "1e9", *map(str, words), words[-1]], capture_output=True, text=True, check=False)
    found = re.findall(r"; (\S+) \d+, was (\S+) \d+; ([0-9.]+) MB, was ([0-9.]+): ([0-9.]+);", done.stdout)
    check(f"{what}: the fit", done.returncode == 0 and len(found) == 2, done.stdout + done.stderr)
    forecast, taken, told, was, ratio = found[1]
    check(f"{what}: store {store}", forecast == taken == store, f"{forecast} forecast, {taken} taken")
    check(f"{what}: memory", float(told) > 50 and abs(float(ratio) - 1) <= most, f"{told} MB forecast, {was} MB taken, {ratio}")


def all_fits():
    normal("rough.npy", ROWS, 100)
    judge("kpca", "dense", .1, "-n", 10, "rough.npy", "kpca")
    judge("kpca, scaled", "dense", .1, "-n", 10, "-s", "standard", "rough.npy", "kpca")
    judge("kpca, laplacian", "dense", .1, "-n", 10, "-k", "laplacian", "rough.npy", "kpca")
    judge("akfa", "dense", .1, "-n", 10, "rough.npy", "akfa")
    judge("rkpca", "dense", .1, "-n", 10, "rough.npy", "rkpca")
    normal("labelled.npy", ROWS, 100, target=True)
    judge("kpls", "dense", .1, "-n", 10, "-t", 101, "labelled.npy", "kpls")
    judge("krr", "dense", .1, "-t", 101, "labelled.npy", "krr")
    normal("more.npy", 10000, 100)
    judge("kpca, stream", "stream", .1, "-n", 10, "-S", "stream", "more.npy", "kpca")
    judge("nystroem", "stream", .1, "-n", 10, "more.npy", "nystroem:points=1000")
    normal("tall.npy", 300000, 20)
    judge("pca", "lowrank", .1, "-n", 10, "tall.npy", "pca")
    ring("ring.npy", 40000)
    judge("kpca, ring", "lowrank", .25, "-n", 10, "-k", "rbf:sigma=4", "ring.npy", "kpca")
    judge("akfa, ring", "lowrank", .25, "-n", 10, "-k", "rbf:sigma=4", "ring.npy", "akfa")


with scratch():
    all_fits()
sys.exit(close())
