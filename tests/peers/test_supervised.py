#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Supervised features against scikit-learn and against explicit deflation in numpy.

    test_supervised.py MERCER [DATA [WORD...]]

pls and kpls with the linear kernel: scores of PLSRegression up to scale, one and several targets,
classes. sma and smc: the rows that brute force over all deflated columns chooses, in every store,
kernel by kernel; all columns as candidates choose the same. Everywhere: features of the training
rows are orthogonal. blf with absolute deviations: the optimum of scipy's linear programme for every
number of features; with the logistic loss: scikit-learn's margins. With DATA (../shared/data): the
first ten picks on Reuters-21578. Closes with
"N passed, N failed".
"""
import json
import pathlib
import sys

import numpy as np
from scipy.optimize import linprog
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import call, check, close, output, program, run_parts, scratch, skip  # noqa: E402

MERCER = program()
DATA = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
REUTERS = {"sma": [15, 1123, 6042, 4680, 6655, 6953, 7002, 2209, 2243, 6037],
           "sma:labels=raw": [2939, 2060, 5593, 6655, 1123, 641, 8956, 2242, 1402, 614],
           "smc": [7713, 3171, 3669, 8960, 6509, 5141, 5290, 5079, 5278, 7156],
           "smc:labels=raw": [332, 3171, 8960, 5290, 6509, 9399, 2618, 2259, 69, 5079]}


def fit(data, method, kernel, features, *more):
    """The report of a fit and the features of its own rows, or the message."""
    done = call(MERCER, "fit", data, "-m", method, "-k", kernel, "-n", features, "-o", "a.model", "--json", *more)
    if done.returncode != 0:
        return {"fault": done.stderr.strip()}, None
    output(MERCER, "transform", "a.model", data, "-o", "a.npy", "--quiet")
    return json.loads(done.stdout), np.load("a.npy")


def write(name, x, targets):
    names = [f"x{i}" for i in range(x.shape[1])] + [f"t{i}" for i in range(targets.shape[1])]
    np.savetxt(name, np.c_[x, targets], delimiter=",", header=",".join(names), comments="",
               fmt="%.17g")
    return ["--target", ",".join(f"t{i}" for i in range(targets.shape[1]))]


def orthogonality(t):
    gram = t.T @ t
    scale = np.sqrt(np.diag(gram))
    return np.abs(gram / np.outer(scale, scale) - np.eye(len(gram))).max()


def along(a, b):
    """Largest distance of columns of a from multiples of those of b, in units of their size."""
    worst = 0
    for p, q in zip(a.T, b.T):
        worst = max(worst, np.abs(p - q * (p @ q) / (q @ q)).max() / np.abs(p).max())
    return worst


def kernel_matrix(kernel, x):
    if kernel == "linear":
        return x @ x.T
    square = ((x[:, None] - x[None]) ** 2).sum(-1)
    return np.exp(-square / (2 * float(kernel.split("=")[1]) ** 2))


def explicit(k, y, features, alignment):
    """Rows chosen by deflating every column."""
    diag, y = np.diag(k), y - y.mean(0)
    left, chosen = k.copy(), []
    for _ in range(features):
        below = (left ** 2).sum(0) if alignment else diag
        good = ((left ** 2).sum(0) > 1e-16 * (k ** 2).sum(0)) & (below > 0)
        good[chosen] = False
        if not good.any():
            break
        score = np.where(good, ((y.T @ left) ** 2).sum(0) / np.where(good, below, 1), -1)
        best = int(np.flatnonzero(score >= score.max() * (1 - 1e-10))[0])
        chosen.append(best)
        q = left[:, best] / np.linalg.norm(left[:, best])
        for _ in range(2):
            left -= np.outer(q, q @ left)
    return chosen


def test_partial_least_squares():
    random = np.random.default_rng(0)
    x = random.normal(size=(150, 8)) @ random.normal(size=(8, 8)) + 5
    for outputs in (1, 3):
        y = x @ random.normal(size=(8, outputs)) + random.normal(size=(150, outputs))
        target = write("pls.csv", x, y)
        scores = PLSRegression(5, scale=False, max_iter=100000, tol=1e-15).fit(x, y).x_scores_
        for method, kernel in (("pls", "linear"), ("kpls", "linear")):
            report, t = fit("pls.csv", method, kernel, 5, *target)
            if t is None:
                check(f"{method} {outputs}", False, report["fault"])
                continue
            check(f"{method}, {outputs} target(s): PLSRegression's scores", along(t, scores) < 1e-7,
                  f"{along(t, scores):.1e}")
            check(f"{method}, {outputs} target(s): orthogonal", orthogonality(t) < 1e-10)
    wine = load_wine()
    names = [f"x{i}" for i in range(wine.data.shape[1])] + ["label"]
    with open("wine.csv", "w") as file:
        file.write(",".join(names) + "\n")
        for row, code in zip(wine.data, wine.target):
            file.write(",".join(repr(float(v)) for v in row) + f",kind {code}\n")
    indicator = np.eye(3)[wine.target]
    scaled = (wine.data - wine.data.mean(0)) / wine.data.std(0)
    scores = PLSRegression(4, scale=False, max_iter=100000, tol=1e-15).fit(scaled, indicator).x_scores_
    report, t = fit("wine.csv", "pls", "linear", 4, "--scale", "standard")
    check("pls, three classes: PLSRegression on the indicator matrix",
          t is not None and along(t, scores) < 1e-7, "" if t is None else f"{along(t, scores):.1e}")


def test_matching():
    random = np.random.default_rng(1)
    x = random.normal(size=(300, 6))
    for outputs in (1, 2):
        y = np.sin(x[:, :outputs] * 2) + 0.1 * random.normal(size=(300, outputs))
        target = write("match.csv", x, y)
        for kernel in ("linear", "rbf:sigma=1", "rbf:sigma=4", "rbf:sigma=20"):
            k = kernel_matrix(kernel, x)
            for method in ("sma", "smc"):
                features = 6 if kernel == "linear" else 40
                rows = explicit(k, y, features, method == "sma")
                for more in ([], ["--store", "dense"], ["--store", "stream"]):
                    report, t = fit("match.csv", method, kernel, features, *target, *more)
                    name = f"{method}, {kernel}, {outputs} target(s), {more[1:] or 'auto'}"
                    if t is None:
                        check(name, False, report["fault"])
                        continue
                    same = report["selected"] == rows
                    if kernel == "linear" and not same:  # one direction is left: any row will do
                        same = report["selected"][:5] == rows[:5]
                    check(name + ": rows of brute force", same,
                          "" if same else f"{report['selected']} instead of {rows}")
                    # Through the model's coefficients: eps times the condition of M.
                    wide = kernel == "rbf:sigma=20"
                    check(name + ": orthogonal", orthogonality(t) < (1e-6 if wide else 1e-10),
                          f"{orthogonality(t):.1e}")
                report, t = fit("match.csv", f"{method}:candidates=300", kernel, features, *target)
                check(f"{method}, {kernel}, {outputs} target(s), all rows as candidates",
                      t is not None and report["selected"][:5] == rows[:5])
                report, t = fit("match.csv", f"{method}:candidates=30", kernel, 5, *target)
                check(f"{method}, {kernel}, {outputs} target(s), 30 candidates",
                      t is not None and len(set(report["selected"])) == 5 and orthogonality(t) < 1e-10)


def least_deviations(t, y):
    """The optimum of the linear programme: y = A c + u - v, u and v not negative, least sum."""
    a = np.c_[np.ones(len(t)), t]
    rows, columns = a.shape
    found = linprog(np.r_[np.zeros(columns), np.ones(2 * rows)],
                    A_eq=np.c_[a, np.eye(rows), -np.eye(rows)], b_eq=y,
                    bounds=[(None, None)] * columns + [(0, None)] * (2 * rows), method="highs")
    return found.fun


def predictions(features):
    output(MERCER, "predict", "a.model", "loss.csv", "-n", features, "-o", "p.csv", "--quiet")
    return np.loadtxt("p.csv", delimiter=",", skiprows=1, usecols=0)


def test_losses():
    """blf predicts by the loss it minimises, with every number of features."""
    random = np.random.default_rng(2)
    x = random.normal(size=(120, 4))
    smooth = np.sin(2 * x[:, 0]) + x[:, 1] + 0.3 * random.standard_t(2, size=120)
    signs = np.where(x[:, 0] + x[:, 1] + random.normal(size=120) > 0.5, 1.0, -1.0)
    twice = np.r_[0:60, 0:60]
    for name, rows, y in (("heavy tails", x, smooth), ("whole numbers", np.round(x), np.round(smooth)),
                          ("rows that repeat", x[twice], smooth), ("signs", x, signs)):
        target = write("loss.csv", rows, y[:, None])
        for kernel in ("linear", "rbf:sigma=2"):
            report, t = fit("loss.csv", "blf:loss=lad", kernel, 4, *target)
            if t is None:
                check(f"blf, absolute deviations, {name}, {kernel}", False, report["fault"])
                continue
            worst = 0
            for k in range(1, t.shape[1] + 1):
                sum_ = np.abs(predictions(k) - y).sum()
                worst = max(worst, abs(sum_ / least_deviations(t[:, :k], y) - 1))
            check(f"blf, absolute deviations, {name}, {kernel}: the linear programme's", worst < 1e-9,
                  f"{worst:.1e}")
    target = write("loss.csv", x, signs[:, None])
    report, t = fit("loss.csv", "blf:loss=log", "linear", 3, *target)
    for k in (1, 2, 3):
        peer = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(
            t[:, :k] * np.sqrt(120), signs)
        off = np.abs(predictions(k) - peer.decision_function(t[:, :k] * np.sqrt(120))).max()
        check(f"blf, logistic loss, {k} feature(s): LogisticRegression's margins", off < 1e-8,
              f"{off:.1e}")


def test_reuters():
    data = DATA / "reuters21578.train.svm" if DATA else None
    if not data or not data.exists():
        return skip("Reuters-21578", "reuters21578.train.svm is not there")
    for method, rows in REUTERS.items():
        done = call(MERCER, "fit", data, "-m", method, "-k", "linear", "-n", 10, "--label", "label", "--json")
        report = json.loads(done.stdout) if done.returncode == 0 else {"selected": done.stderr}
        check(f"{method}, Reuters-21578: the first ten rows", report["selected"] == rows,
              report["selected"])


with scratch():
    run_parts([test_partial_least_squares, test_matching, test_losses, test_reuters], sys.argv[3:])
sys.exit(close())
