#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What mercer advise promises: its first command takes as long as it says, and is as good as any.

Usage: run_advise_tests.py MERCER FOLDER [NAME...]. FOLDER has the data sets; those that are not there are left out.
For each set the first command of advise is run: its seconds must lie within a factor of 2 of the forecast (below a
second nothing is judged), and where it predicts, its error within 10 % or one standard error of the best of several
methods. Times are those of this moment: on a busy machine both are. Prints a table, then "N passed, N failed".
"""
import os
import shlex
import sys
import time

import numpy as np

from common import run
from harness import check, close, run_parts, scratch

FOLDER = sys.argv[2]
RIVALS = ["kfd", "krr", "kpls:components=10", "kpls:components=20", "smc:components=20"]


def judge(name, *words):
    """The first command, timed; errors of rivals, where there are labels."""
    status, told, _ = run("advise", *words, "--json")
    check(f"{name}: advice", status == 0 and bool(told["advice"]), f"status {status}")
    if status != 0:
        return
    first = told["advice"][0]
    command = shlex.split(first["command"])[1:]
    start = time.monotonic()
    status, report, _ = run(*command, "--json")
    spent = time.monotonic() - start
    took = report["seconds"] if report else float("nan")
    ratio = took / first["seconds"]
    check(f"{name}: {first['method']} as forecast", status == 0 and (took < 1 or 0.5 <= ratio <= 2),
          f"{first['seconds']:.1f} s ({first['seconds_low']:.1f} to {first['seconds_high']:.1f}) forecast, {took:.1f} s "
          f"taken ({spent:.1f} s with reading), {ratio:.2f} times; load {os.getloadavg()[0]:.1f}")
    if told["goal"] != "predict" or status != 0:
        return
    method = command.index("-m")
    rivals = RIVALS if told["classes"] else [rival for rival in RIVALS if rival != "kfd"]
    others = [word for rival in rivals for word in ("-m", rival)]
    rest = command[1:method] + command[method + 2:]
    status, table, _ = run("compare", *rest, *others, "--json")
    best = min(table["methods"], key=lambda entry: entry["mean"])
    own = report["mean"]
    error = best["sd"] / len(best["folds"]) ** 0.5
    check(f"{name}: {first['method']} is as good as any", own <= max(1.1 * best["mean"], best["mean"] + error),
          f"{own:.4f}; best {best['method']} {best['mean']:.4f}, standard error {error:.4f}")


def shared(name):
    return os.path.join(FOLDER, name)


def given(name, *words):
    def part(folder):
        if os.path.exists(shared(name)):
            judge(name, shared(name), *words)
    part.__name__ = name
    return part


def ring(folder):
    data = os.path.join(folder, "ring.csv")
    run("generate", "circle", "--rows", "5000", "--seed", "3", "-o", data, "--quiet")
    judge("ring of 5,000", data)


def yale(folder):
    if not os.path.exists(shared("yale_32x32.X.npy")):
        return
    labels = os.path.join(folder, "yale.txt")
    np.savetxt(labels, np.load(shared("yale_32x32.y.npy")), fmt="%d")
    judge("Yale faces", shared("yale_32x32.X.npy"), "--labels", labels)


def normal_100000(folder):
    data = os.path.join(folder, "normal.npy")
    np.save(data, np.random.default_rng(1).normal(size=(100000, 50)))
    judge("100,000 x 50", data)


def a_million(folder):
    data = os.path.join(folder, "million.npy")
    np.save(data, np.random.default_rng(1).normal(size=(1000000, 2)))
    judge("1,000,000 x 2", data)


def matrix(folder):
    data = os.path.join(folder, "matrix.npy")
    x = np.random.default_rng(1).normal(size=(3000, 5))
    square = (x ** 2).sum(1)
    np.save(data, np.exp(-(square[:, None] + square[None] - 2 * x @ x.T).clip(0) / 4))
    judge("a precomputed matrix", data)


with scratch() as here:
    run_parts([ring, given("optdigits.train.csv"), given("wdbc.csv"), given("reuters21578.train.svm"), yale, normal_100000,
               a_million, matrix, given("ida_image.csv"), given("bank32nm.csv")], sys.argv[3:], here)
sys.exit(close())
