#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Importance of columns against scikit-learn's permutation_importance.

    test_importance.py MERCER

The same models on the same rows: least squares on linear features. Ours is the mean of 5 shuffles per fold, the peer's of
100: they differ by the standard deviation of one shuffle times sqrt(1/5 + 1/100), and over F folds by that over sqrt(F).
A permutation leaves one row in place on the mean, ours none, so that a squared error rises by n / (n - 1) of the peer's.
Closes with "N passed, N failed".
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
COLUMNS, FOLDS, TIMES, PEER_TIMES = 6, 10, 5, 100


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
            found = permutation_importance(model, x[held], y[held], n_repeats=PEER_TIMES, random_state=seed,
                                           scoring="neg_mean_squared_error").importances
            base = np.mean((model.predict(x[held]) - y[held])**2)
            rise = np.sqrt(np.maximum(base + found * held.sum() / (held.sum() - 1), 0)) - np.sqrt(base)
            losses.append(rise.mean(1))
            errors.append(rise.std(1, ddof=1))
        mean, error = np.mean(losses, 0), np.sqrt(np.sum(np.square(errors), 0) * (1 / TIMES + 1 / PEER_TIMES)) / FOLDS
        check("names", [one["column"] for one in ours] == ["a", "b", "c", "noise", "more", "constant"])
        for k, one in enumerate(ours[:5]):
            off.append(abs(one["loss"] - mean[k]) / error[k])
            check(f"seed {seed}, column {one['column']}: within 3 standard errors", off[-1] < 3, f"{off[-1]:.2f}")
        check("a constant column has no importance", ours[5]["loss"] == 0 and ours[5]["sd"] == 0, ours[5])
        check("columns that matter come first", ours[0]["loss"] > ours[1]["loss"] > ours[2]["loss"] > ours[3]["loss"])
    check("19 of 20 are within 2 standard errors, as chance has it", np.mean(np.array(off) < 2) > .9, np.round(off, 2))


def order():
    """The same rows sorted by class, alternating and shuffled, the same ones held out: one result, but for chance."""
    random, n, half = np.random.default_rng(5), 800, 40
    classes = np.arange(n) % 2
    x = np.column_stack([2 * classes + random.normal(size=n), random.normal(size=n)])
    held = np.isin(np.arange(n), np.concatenate([random.choice(np.flatnonzero(classes == c), half, False) for c in (0, 1)]))
    model = LinearRegression().fit(x[~held], classes[~held])
    found = permutation_importance(model, x[held], classes[held], n_repeats=1000, random_state=1,
                                   scoring=lambda m, a, b: np.mean((m.predict(a) > .5) == b)).importances
    mean = found.mean(1) * held.sum() / (held.sum() - 1)  # the error is a mean over rows: exact on the mean
    error = found.std(1, ddof=1) * np.sqrt(1 / TIMES + 1 / 1000)
    orders = {"sorted": np.argsort(classes, kind="stable"), "alternating": np.arange(n), "shuffled": random.permutation(n),
              "sorted by the column": np.argsort(x[:, 0])}
    for name, rows in orders.items():
        pathlib.Path("o.csv").write_text("a,noise,label\n" + "".join(
            f"{x[i, 0]!r},{x[i, 1]!r},{'no' if classes[i] else 'yes'}\n" for i in rows), encoding="ascii")
        pathlib.Path("held.csv").write_text(",".join(map(str, np.flatnonzero(~held[rows]))) + "\n", encoding="ascii")
        ours = json.loads(output(MERCER, "evaluate", "o.csv", "-m", "pca", "-n", 2, "--head", "ls", "--label", "label",
                                 "--split", "held.csv", "--importance", "--json"))["importance"]
        for one in ours:
            k = ["a", "noise"].index(one["column"])
            off = abs(one["loss"] - mean[k]) / error[k]
            check(f"{name}, column {one['column']}: {one['loss']:.3f}, of many permutations {mean[k]:.3f}", off < 3,
                  f"{off:.2f} standard errors")


with scratch():
    run_parts([values, order], sys.argv[2:])
sys.exit(close())
