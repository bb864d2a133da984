#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `mercer evaluate --tune` promises, against the model of the line that it ends with.

Usage: run_tuning_tests.py MERCER DATA [NAME SEEDS]. DATA holds the data sets, which are no part of the repository;
what is not there is skipped. Of each set some rows, drawn at random, are for `evaluate`; the line it
prints is run, and its model predicts the others. The difference between its error there and the nested
estimate has to be within two standard errors on nine of ten sets: that of the estimate, from the spread
of its folds, and that of the error, from the spread over the fresh rows, added as squares. Prints a line
per set and closes with "N passed, N failed". With NAME that set alone is cut by SEEDS seeds, and the mean and spread of
the differences, in standard errors, tell a bias from chance: one beyond three of its own standard errors fails.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy as np

from common import MERCER

DATA = pathlib.Path(sys.argv[2]).resolve()
SEED = 20

KPCA = ["-m", "kpca", "--head", "knn:k=5", "--scale", "standard", "--tune", "components=2,5,10,20"]
KPLS = ["-m", "kpls", "--scale", "standard", "--tune", "components=1:6:+1"]
KRR = ["-m", "krr", "--scale", "standard", "--tune", "method.ridge=0.01:10:*10"]
WIDTHS = ["--tune", "kernel.sigma=2:32:*2"]
NARROW = ["--tune", "kernel.sigma=0.25:4:*2"]

# Name, rows to learn from, fresh rows at most, how they are tuned.
SETS = [("wdbc.csv", 300, 269, KPCA + WIDTHS), ("ionosphere.csv", 180, 171, KPLS + WIDTHS),
        ("sonar.csv", 110, 98, KPLS + WIDTHS), ("ida_banana.csv", 400, 2000, KRR + NARROW),
        ("ida_image.csv", 500, 1800, KPCA + WIDTHS), ("ida_thyroid.csv", 110, 105, KPCA + NARROW),
        ("ida_flare_solar.csv", 400, 660, KPLS + NARROW), ("optdigits.train.csv", 500, 2000, KPCA + WIDTHS),
        ("baseball.csv", 180, 157, KRR + WIDTHS), ("bank32nm.csv", 400, 2000, KPLS + WIDTHS)]


def mercer(*words):
    return subprocess.run([MERCER, *map(str, words)], check=True, capture_output=True, text=True).stdout


def cut(name, rows, fresh):
    """train.csv and fresh.csv; the answers of the fresh rows, and whether they are classes."""
    head, *lines = (DATA / name).read_text().splitlines()
    order = np.random.default_rng(SEED).permutation(len(lines))
    parts = order[:rows], order[rows:rows + fresh]
    for part, path in zip(parts, ("train.csv", "fresh.csv")):
        pathlib.Path(path).write_text("\n".join([head] + [lines[i] for i in part]) + "\n")
    return [lines[i].rsplit(",", 1)[1] for i in parts[1]], head.endswith("label")


def errors(model, answers, classes):
    """Of each fresh row: 1 when its class is wrong, or the squared error of its value."""
    head, *lines = mercer("predict", model, "fresh.csv").splitlines()
    told = [line.split(",")[head.split(",").index("prediction")] for line in lines]
    if classes:
        return np.array([a != b for a, b in zip(told, answers)], float)
    return np.array([(float(a) - float(b)) ** 2 for a, b in zip(told, answers)])


def judge(name, rows, fresh, words):
    """Nested estimate, error on fresh rows, standard error of the difference."""
    answers, classes = cut(name, rows, fresh)
    told = json.loads(mercer("evaluate", "train.csv", *words, "--json"))
    line = shlex.split(told["command"])
    mercer(*line[1:], "--quiet")
    wrong = errors(line[line.index("-o") + 1], answers, classes)
    spread = wrong.std(ddof=1) / len(wrong) ** 0.5
    value = wrong.mean()
    if not classes:  # of a root: by its derivative
        value = value ** 0.5
        spread /= 2 * value
    return told, value, (told["sd"] ** 2 / len(told["folds"]) + spread ** 2) ** 0.5


def look_closer(name, seeds):
    """One set, cut anew by each seed."""
    global SEED
    found = []
    for SEED in range(20, 20 + seeds):
        told, value, se = judge(*next(entry for entry in SETS if entry[0] == name))
        found.append((value - told["mean"]) / se)
        print(f"seed {SEED}: nested {told['mean']:.4g}, fresh {value:.4g}, {found[-1]:+.2f} standard errors", flush=True)
    mean, spread = np.mean(found), np.std(found, ddof=1)
    good = abs(mean) <= 3 * spread / len(found) ** 0.5
    print(f"mean {mean:+.2f}, SD {spread:.2f}, {sum(abs(z) <= 2 for z in found)} of {len(found)} within two")
    print(f"{int(good)} passed, {int(not good)} failed")
    return 0 if good else 1


def main():
    if len(sys.argv) > 4:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            return look_closer(sys.argv[3], int(sys.argv[4]))
    within = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(f"{'set':22} {'nested':>9} {'chosen':>9} {'fresh':>9} {'difference':>10} {'its SE':>9}   choice")
        for name, rows, fresh, words in SETS:
            if not (DATA / name).exists():
                print(f"skipped: {name} is not there")
                continue
            told, value, se = judge(name, rows, fresh, words)
            grid, difference = told["grid"], value - told["mean"]
            inner = grid["cells"][grid["chosen"]]["mean"]
            good = abs(difference) <= 2 * se
            within += good
            tried += 1
            print(f"{name:22} {told['mean']:9.4g} {inner:9.4g} {value:9.4g} {difference:+10.4g} {se:9.4g} "
                  f"{' ' if good else '!'} {told['chosen']}", flush=True)
    enough = within >= tried - max(1, tried // 10)
    print(f"{within} of {tried} within two standard errors")
    print(f"{int(enough)} passed, {int(not enough)} failed")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
