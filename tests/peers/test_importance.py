#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Importance of columns against scikit-learn's permutation_importance.

    test_importance.py MERCER

The same models on the same rows: least squares on linear features. A rotation is one permutation, so its loss differs from the mean over many by their
standard deviation; the mean over folds by the standard error of that. Closes with "N passed, N failed".
"""
import json
import pathlib
import sys

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import check, close, output, program, run_parts, scratch  # noqa: E402

MERCER = program()
COLUMNS, FOLDS = 6, 10


def table(seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=(1000, COLUMNS)) * [1, 2, 3, 1, 1, 0] + [0, 0, 5, 0, 0, 7]
    y = 3 * x[:, 0] - x[:, 1] + .2 * x[:, 2] + random.normal(size=1000)
    np.savetxt("a.csv", np.column_stack([x, y]), delimiter=",", header="a,b,c,noise,more,constant,y", comments="",
               fmt="%.17g")
    rows = np.arange(1000)
    pathlib.Path("folds.csv").write_text("".join(",".join(map(str, rows[rows % FOLDS != fold])) + "\n"
                                                 for fold in range(FOLDS)), encoding="ascii")
    return x, y


def values():
    off = []
    for seed in range(1, 4):
        x, y = table(seed)
        ours = json.loads(output(MERCER, "evaluate", "a.csv", "-m", "pca", "-n", 5, "--head", "ls", "--target", "y",
                                 "--split", "folds.csv", "--importance", "--json"))["importance"]
        losses, errors = [], []
        for fold in range(FOLDS):
            held = np.arange(1000) % FOLDS == fold
            model = LinearRegression().fit(x[~held], y[~held])
            found = permutation_importance(model, x[held], y[held], n_repeats=100, random_state=seed,
                                           scoring="neg_root_mean_squared_error")
            losses.append(found.importances_mean)
            errors.append(found.importances_std)
        mean, error = np.mean(losses, 0), np.sqrt(np.sum(np.square(errors), 0)) / FOLDS
        check("names", [one["column"] for one in ours] == ["a", "b", "c", "noise", "more", "constant"])
        for k, one in enumerate(ours[:5]):
            off.append(abs(one["loss"] - mean[k]) / error[k])
            check(f"seed {seed}, column {one['column']}: within 3 standard errors", off[-1] < 3, f"{off[-1]:.2f}")
        check("a constant column has no importance", ours[5]["loss"] == 0 and ours[5]["sd"] == 0, ours[5])
        check("columns that matter come first", ours[0]["loss"] > ours[1]["loss"] > ours[2]["loss"] > ours[3]["loss"])
    check("19 of 20 are within 2 standard errors, as chance has it", np.mean(np.array(off) < 2) > .9, np.round(off, 2))


with scratch():
    run_parts([values], sys.argv[2:])
sys.exit(close())
