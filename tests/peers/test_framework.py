#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The supervised framework against a plain one in numpy (framework.py), method by method.

    test_framework.py MERCER [all] [TEST...]

Features of training and new rows column by column, chosen rows, D(S), B(S) and predictions, on small
tables: smooth and rough kernels, repeated rows, deficient rank, tiny and huge scales, one and
several targets, two and three classes. Then what has to be equal to what, that every chosen row is
the best one, and the ends of the range: constant labels, one class, labels that are not +-1,
separable rows. Each method is tried on every fourth of the tables, or on all of them; TEST
runs some of the tests below alone. Closes with "N passed, N failed".
"""
import csv
import ctypes
import functools
import json
import os
import pathlib
import sys

import numpy as np
from scipy.linalg import eigh
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import framework as fw  # noqa: E402
import harness  # noqa: E402

MERCER = harness.program()
ALL, TESTS = "all" in sys.argv[2:], [word for word in sys.argv[2:] if word != "all"]
STEP, TURNS = 1 if ALL else 4, {}   # not the number of kinds of labels, so that each kind has turns
EPS = np.finfo(float).eps
# Rounding of the kernel values is random; where it moves the reference, an honest program may differ
# by as much: 30 times what one draw of it does is allowed, and columns moved by 1e-7 are not compared.
NOISE, TOO_SOFT = 30, 1e-7


check = functools.partial(harness.check, quiet=True)
call = functools.partial(harness.call, MERCER)


class Problem:
    """A table with labels, as files and as arrays."""

    def __init__(self, name, x, new, kernel, targets=None, codes=None):
        self.name, self.x, self.new, self.kernel, self.codes = name, x, new, kernel, codes
        self.y = fw.indicator(codes) if targets is None else targets
        self.k = fw.kernel(kernel, x, x)
        self.k_new = fw.kernel(kernel, new, x)
        names = [f"x{i}" for i in range(x.shape[1])]
        labels = ["label"] if targets is None else [f"t{i}" for i in range(targets.shape[1])]
        with open("train.csv", "w") as file:
            file.write(",".join(names + labels) + "\n")
            for i, row in enumerate(x):
                end = [f"kind {codes[i]}"] if targets is None else [repr(float(v)) for v in targets[i]]
                file.write(",".join([repr(float(v)) for v in row] + end) + "\n")
        np.savetxt("all.csv", np.r_[x, new], delimiter=",", header=",".join(names), comments="",
                   fmt="%.17g")
        self.options = ["-k", kernel] + ([] if targets is None else ["--target", ",".join(labels)])

    def grams(self, center, noise=0.0):
        """Gram matrices of the training and the new rows, about the mean when asked for."""
        k = self.k * (1 + noise)
        if center == "none":
            return k, self.k_new
        k, map_new = fw.centre(k)
        return k, map_new(self.k_new)


def fit(problem, spec, features, *more, data="train.csv"):
    """Report, features of the training and the new rows, predictions of both; or None and a message."""
    kernel = [] if spec.startswith("pls") else problem.options[:2]
    done = call("fit", data, "-m", spec, *kernel, *problem.options[2:], "-n", features, "-o", "a.model",
                "--json", *more)
    if done.returncode:
        return {"fault": done.stderr.strip(), "status": done.returncode}, None, None, None
    report = json.loads(done.stdout)
    done = call("transform", "a.model", "all.csv", "-o", "a.npy", "--quiet")
    if done.returncode:
        return {"fault": done.stderr.strip(), "status": done.returncode}, None, None, None
    t, n = np.load("a.npy"), len(problem.x)
    t = t.reshape(n + len(problem.new), -1)
    done = call("predict", "a.model", "all.csv", "-o", "p.csv", "--quiet")
    predicted = None
    if done.returncode == 0:
        with open("p.csv") as file:
            predicted = list(csv.reader(file))
    return report, t[:n], t[n:], predicted


# ---------------------------------------------------------------------------- one method, one table

def keys_of(spec):
    name, _, rest = spec.partition(":")
    return name, dict(word.split("=") for word in rest.split(",") if word)


def reference(spec, k, y, codes, features, follow=None, tied=None):
    """T, A over all rows, B and rows chosen, from the plain implementation on the Gram matrix k; tied: of
    features on several rows, whether others are as good."""
    name, keys = keys_of(spec)
    centred, chosen, n = y - y.mean(0), [], len(k)
    if name == "kboost":
        t, a, _ = fw.kboost(k, y[:, 0], keys.get("loss", "exp"), features, follow)
        return t, a, None, None
    if name == "rkopls":
        t, a = fw.rkopls(k, centred, list(range(n)), features)
        return t, a, None, None
    nu = float(keys.get("nu", 1))
    keep = {"mr": fw.keep_residual, "mi": fw.keep_information, "eps": fw.keep_tube}[
        keys.get("heuristic", "mr")](nu, k)
    if name in ("pls", "kpls"):
        choose = fw.kpls(k, fw.discriminant(codes) if keys.get("discriminant") == "on" else centred)
    elif name == "cr":
        choose = fw.continuum(k, centred, float(keys["alpha"]))
    elif name == "blf":
        choose = fw.blf(k, y, keys["loss"], keep if "nu" in keys else None)
    elif name == "skpls":
        choose = fw.skpls(k, centred, keep)
    elif int(keys.get("sparsity", 1)) > 1:
        choose = fw.subset_matching(k, y if keys.get("labels") == "raw" else centred, name == "sma",
                                    int(keys["sparsity"]), chosen, tied)
    else:
        choose = fw.matching(k, y if keys.get("labels") == "raw" else centred, name == "sma",
                             keys.get("norm"), chosen)
    found = fw.extract(k, choose, features)
    return found.t, found.a, found.b, chosen


def softness(spec, problem, center, features, expected, follow=None):
    """How far rounding of k moves each column of the features of the training rows."""
    random, worst = np.random.default_rng(0), np.zeros(expected.shape[1])
    for _ in range(2):
        noise = random.choice([-EPS, EPS], size=problem.k.shape)
        noise = np.triu(noise) + np.triu(noise, 1).T
        t = reference(spec, problem.grams(center, noise)[0], problem.y, problem.codes, features,
                      follow)[0]
        for j in range(len(worst)):
            moved = fw.up_to_sign(t[:, j:j + 1], expected[:, j:j + 1]) if j < t.shape[1] else 1.0
            worst[j] = max(worst[j], moved)
    return np.maximum.accumulate(worst)


CENTRE = {"pls": "exact", "kpls": "exact", "blf": "exact", "cr": "exact", "sma": "none", "smc": "none",
          "skpls": "none", "rkopls": "none", "kboost": "none"}
# Loss fits end at a gradient of their own choice (a tiny ridge is allowed, too), so that directions
# of exp and log after the first agree to that and not to rounding.
LOOSE = {"blf:loss=exp": 1e-6, "blf:loss=log": 1e-6}


def spread(k):
    """Condition of k in the range that the pencils keep."""
    values = np.linalg.svd(k)[1]
    return values[0] / values[values > fw.RANGE * values[0]][-1]


def compare(problem, spec, features, *more):
    """All there is to compare of one method on one table, when it is its turn."""
    TURNS[spec] = TURNS.get(spec, -1) + 1
    if TURNS[spec] % STEP:
        return
    name = f"{problem.name}, {spec}{' ' + ' '.join(more) if more else ''}"
    report, t, new, predicted = fit(problem, spec, features, *more)
    if t is None:
        check(name, False, report["fault"])
        return
    check(name + ": predictions", predicted is not None)
    method = keys_of(spec)[0]
    check(name + ": centring", "--center" in more or report["center"] == CENTRE[method],
          report["center"])
    k, k_new = problem.grams(report["center"])
    # Boosting passes errors on ten times larger when alpha is 10: each round is judged from the
    # program's own rounds before it.
    tied = []
    t0, a0, b0, chosen = reference(spec, k, problem.y, problem.codes, features, t, tied)
    soft = softness(spec, problem, report["center"], features, t0, t)
    firm = int((NOISE * soft < TOO_SOFT).sum())
    open_end = False
    if spec in LOOSE:   # without a finite fit the next direction is anyone's, unless there is none
        signs = problem.y[:, 0]
        ends = [j for j in range(1, t0.shape[1] + 1) if fw.nearly_separable(signs, t0[:, :j])
                and not fw.separable(signs, t0[:, :j])]
        firm, open_end = min([firm] + ends), bool(ends)
    if method in ("sma", "smc") and "sparsity" not in spec:
        rows = report["selected"]
        if rows[:firm] == chosen[:firm]:
            check(name + ": rows", True)
        else:  # equal scores, as all are when one direction is left
            y = problem.y - (0 if "labels=raw" in spec else problem.y.mean(0))
            follow(f"{name}: rows, {rows} instead of {chosen}", k, y, method == "sma", rows, firm)
            again = fw.matching(k, y, method == "sma", keys_of(spec)[1].get("norm"), None, rows)
            b0 = fw.extract(k, again, features).b
    # Entries that say nothing new end a sparse form; to look at others instead is as good.
    if "nu=" in spec and t.shape[1] > t0.shape[1]:
        t, new = t[:, :t0.shape[1]], new[:, :t0.shape[1]]
        report["components"], predicted = t.shape[1], None
    same_count = t.shape[1] == t0.shape[1] or (
        t.shape[1] >= firm and (open_end or firm < t0.shape[1]))
    check(name + ": number of features", same_count and firm > 0 and report["components"] == t.shape[1],
          f"{t.shape[1]} instead of {t0.shape[1]}, {firm} of them determined")
    firm = min(firm, t.shape[1])
    if firm == 0:
        return
    # Through the model's coefficients: eps times the condition of M, or of what is inverted.
    found = fw.Features(k, list(b0.T[:firm]), list(t0.T[:firm])) if b0 is not None else None
    through = EPS * (found.condition() if found else spread(k))
    allowed = max(1e-10, NOISE * soft[firm - 1], through, LOOSE.get(",".join(spec.split(",")[:1]), 0))
    off = fw.up_to_sign(t[:, :firm], t0[:, :firm])
    check(name + ": features", off <= allowed, f"{off:.1e} > {allowed:.1e}; up to scale "
          f"{fw.along(t[:, :firm], t0[:, :firm]):.1e}; by column "
          + " ".join(f"{fw.up_to_sign(t[:, j:j + 1], t0[:, j:j + 1]):.0e}" for j in range(firm)))
    scale = np.abs(t0[:, :firm]).max(0)
    sign = np.sign((t[:, :firm] * t0[:, :firm]).sum(0))
    off = (np.abs(new[:, :firm] * sign - (k_new @ a0)[:, :firm]) / scale).max()
    check(name + ": features of new rows", off <= 10 * allowed, f"{off:.1e} > {10 * allowed:.1e}")
    if method not in ("kboost",):
        gram = t[:, :firm].T @ t[:, :firm]
        gram /= np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
        off = np.abs(gram - np.eye(firm)).max()
        # Kernel values of rows far from the origin are rounded in units of their size.
        check(name + ": orthogonal", off <= max(1e-10, through, NOISE * soft[firm - 1]), f"{off:.1e}")
    y = problem.y - problem.y.mean(0)
    if "labels=raw" in spec:
        y = problem.y
    if "discriminant" in spec:
        y = fw.discriminant(problem.codes)
    if method not in ("kboost",):
        d = fw.alignment(t0[:, :firm], y)
        off = np.abs(np.array(report["alignment"][:firm]) - d).max()
        check(name + ": D(S)", off <= 10 * max(allowed, 1e-10), f"{off:.1e}: {report['alignment']} "
              f"instead of {d}")
    if b0 is not None:
        known = tied.index(True) if True in tied[:firm] else firm
        b = fw.covariance(t0[:, :firm], y, b0[:, :firm], k)
        off = np.abs(np.array(report["covariance"][:firm]) / b - 1)[:known].max(initial=0)
        check(name + ": B(S)", off <= 10 * max(allowed, 1e-10), f"{off:.1e}: {report['covariance']} "
              f"instead of {b}, {known} of them determined")
    compare_bound(name, report, fw.stability(k, a0[:, :firm], y, 0.1), allowed)
    near = np.sort((y ** 2).sum(1) * np.diag(k))[::-1][:len(report["influence"])]
    told = np.array([pair["value"] for pair in report["influence"]])
    check(name + ": rows of most influence", len(told) and np.allclose(told, near, rtol=1e-9),
          f"{told} instead of {near}")
    if firm == t.shape[1] == t0.shape[1] < len(t) and predicted is not None:
        compare_predictions(name, problem, spec, report["head"], t0, np.r_[t0, k_new @ a0], predicted,
                            allowed)


def compare_margins(name, problem, loss, t0, all0, rows, scores, allowed):
    """exp and log predict by their own fit: the margin for the second class, minus it for the first."""
    f = scores[:, 1]
    check(name + ": two margins", np.array_equal(scores[:, 0], -f))
    check(name + ": classes", all(r[0] == f"kind {int(m > 0)}" for r, m in zip(rows, f)))
    fitted = fw.fit_loss(loss, problem.y[:, 0], t0)
    if fitted is None:    # separable: no fit is best, but all training rows are on their side
        check(name + ": separated", (f[:len(t0)] * problem.y[:, 0] > 0).all())
        return
    if fw.nearly_separable(problem.y[:, 0], t0):    # nor here, but the least loss is known
        margin = f[:len(t0)] * problem.y[:, 0]
        least = np.exp(-margin).sum() if loss == "exp" else np.logaddexp(0, -margin).sum()
        check(name + ": least loss", least < fitted[1] * (1 + 1e-8), f"{least} instead of {fitted[1]}")
        return
    design = np.c_[np.ones(len(t0)), t0]
    expected = np.c_[np.ones(len(all0)), all0] @ np.linalg.lstsq(design, fitted[0], rcond=None)[0]
    off = np.abs(f - expected).max() / np.abs(expected).max()
    check(name + ": margins", off <= 30 * allowed, f"{off:.1e}")


def compare_bound(name, report, expected, allowed):
    """Theorem 5.5 of every prefix, term by term."""
    found = np.array([[b["empirical"], b["complexity"], b["confidence"]] for b in report["bound"]])
    off = np.abs(found[:len(expected)] / expected[:, :3] - 1).max()
    check(name + ": terms of the bound", off <= 30 * allowed, f"{off:.1e}: {found[:len(expected)].tolist()} "
          f"instead of {expected[:, :3].tolist()}")


def compare_predictions(name, problem, spec, head, t0, all0, predicted, allowed):
    own = keys_of(spec)[1].get("loss", "ls") if spec.startswith("blf") else "ls"
    own = "centre" if "discriminant=on" in spec else own
    check(name + ": predicts by its own loss", head == own, head)
    rows = np.array(predicted[1:])
    design = np.c_[np.ones(len(t0)), t0]
    allowed *= np.linalg.cond(design / np.linalg.norm(design, axis=0))  # features of kboost are alike
    if problem.codes is None:
        expected = fw.least_squares(t0, problem.y, all0)[-1]
        off = (np.abs(rows.astype(float) - expected) / np.abs(problem.y).max(0)).max()
        check(name + ": predictions", off <= max(1e-8, 30 * allowed), f"{off:.1e}")
        return
    names = [f"kind {c}" for c in range(problem.codes.max() + 1)]
    if "discriminant=on" in spec:
        expected = fw.nearest_centre(t0, problem.codes, all0)
        good = [r[0] == names[c] for r, c in zip(rows, expected)]
        check(name + ": nearest centres", all(good), f"{good.count(False)} differ")
        return
    order = [predicted[0].index(f"score_{c}") for c in names]
    scores = rows[:, order].astype(float)
    if head in ("exp", "log"):
        compare_margins(name, problem, head, t0, all0, rows, scores, allowed)
        return
    expected = fw.least_squares(t0, np.eye(len(names))[problem.codes], all0)[-1]
    off = np.abs(scores - expected).max()
    check(name + ": scores", off <= max(1e-8, 30 * allowed), f"{off:.1e}")
    check(name + ": classes", all(s[names.index(r[0])] == s.max() for r, s in zip(rows, scores)))


def tables():
    """Small tables with labels of every kind, as functions since files are written over."""
    random = np.random.default_rng(11)
    x = random.normal(size=(45, 4))
    new = random.normal(size=(15, 4))
    wave = np.c_[np.sin(2 * x[:, 0]) + x[:, 1], x[:, 2] ** 2, x.sum(1)] + 0.3 * random.normal(size=(45, 3))
    two = (wave[:, 0] + random.normal(size=45) > 0.6).astype(int)
    three = np.digitize(wave[:, 2] + random.normal(size=45), (-1, 1))
    twice = x[np.r_[0:30, 0:15]]
    flat = x @ random.normal(size=(4, 2)) @ random.normal(size=(2, 6))
    flat_new = new @ random.normal(size=(4, 6))
    for what, table, other, kernels in (
            ("plain", x, new, ("linear", "rbf:sigma=0.7", "rbf:sigma=3", "laplacian:gamma=0.5")),
            ("repeated rows", twice, new, ("linear", "rbf:sigma=1")),
            ("rank 2", flat, flat_new, ("linear",)),
            ("tiny", 1e-30 * x, 1e-30 * new, ("linear", "rbf:sigma=2e-30")),
            ("huge", 1e30 * x, 1e30 * new, ("linear", "rbf:sigma=2e30")),
            ("far from the origin", x + 100, new + 100, ("linear", "rbf:sigma=2"))):
        for kernel in kernels:
            def labels(kind, what=what, table=table, other=other, kernel=kernel):
                y = wave[np.r_[0:30, 0:15]] if what == "repeated rows" else wave
                name = f"{what} {kernel} {kind}"
                if kind == "one target":
                    return Problem(name, table, other, kernel, targets=y[:, :1])
                if kind == "large target":
                    return Problem(name, table, other, kernel, targets=1e12 * y[:, :1] + 1e12)
                if kind == "three targets":
                    return Problem(name, table, other, kernel, targets=y)
                return Problem(name, table, other, kernel,
                               codes=two if kind == "two classes" else three)
            yield what, kernel, labels


def test_methods():
    sparse = ["skpls:nu=0.3,heuristic=mr", "skpls:nu=0.3,heuristic=mi,cache=45",
              "skpls:nu=0.3,heuristic=eps"]
    regression = ["kpls", "cr:alpha=0", "cr:alpha=0.25", "cr:alpha=0.5", "cr:alpha=0.8", "cr:alpha=1",
                  "blf:loss=ls", "sma", "smc", "sma:norm=direction", "smc:norm=feature",
                  "sma:labels=raw", "smc:labels=raw", "rkopls:subset=45",
                  "blf:loss=ls,nu=0.4,heuristic=mr", "blf:loss=ls,nu=0.4,heuristic=mi,cache=45",
                  "blf:loss=ls,nu=0.4,heuristic=eps", *sparse]
    for what, kernel, labels in tables():
        main = what == "plain"
        for kind in ("one target", "large target", "three targets", "two classes", "three classes"):
            if not main and kind in ("large target", "three targets"):
                continue
            problem = labels(kind)
            if kernel == "linear":
                compare(problem, "pls", 3)
            for spec in regression:
                if not main and spec in ("cr:alpha=0.25", "sma:norm=direction", "smc:norm=feature"):
                    continue
                if kind == "large target" and spec in ("cr:alpha=0.25", "cr:alpha=0.8"):
                    continue
                # Rows of one class have the same residual at first: which of them stay is not said.
                if "heuristic=mr" in spec and "classes" in kind:
                    continue
                # More entries than rank: the path ends where rounding of large kernel values decides.
                if "heuristic=eps" in spec and (what, kernel) == ("far from the origin", "linear"):
                    continue
                compare(problem, spec, 5)
            if kind in ("two classes", "three classes"):
                compare(problem, "kpls:discriminant=on", 3)
            if kind == "two classes":
                compare(problem, "blf:loss=exp", 4)
                compare(problem, "blf:loss=log", 4)
                compare(problem, "kboost:loss=exp,rounds=4", 4)
                compare(problem, "kboost:loss=log,rounds=4", 4)


def test_sparsity():
    """Every subset of a few rows: fewer rows than elsewhere."""
    random = np.random.default_rng(12)
    x, new = random.normal(size=(22, 5)), random.normal(size=(6, 5))
    y = np.c_[np.sin(x[:, 0] * 2), x[:, 1] + x[:, 2] ** 2] + 0.2 * random.normal(size=(22, 2))
    half = np.r_[0:11, 0:11]
    for kernel in ("linear", "rbf:sigma=1.5", "rbf:sigma=4", "laplacian:gamma=0.5"):
        for problem in (
                lambda: Problem(f"22 rows {kernel}", x, new, kernel, targets=y[:, :1]),
                lambda: Problem(f"two targets {kernel}", x, new, kernel, targets=y),
                lambda: Problem(f"two classes {kernel}", x, new, kernel, codes=(y[:, 0] > 0).astype(int)),
                lambda: Problem(f"three classes {kernel}", x, new, kernel,
                                codes=np.digitize(y[:, 1], (0.5, 1.5))),
                lambda: Problem(f"repeated rows {kernel}", x[half], new, kernel, targets=y[:, :1])):
            problem = problem()
            for spec in ("sma:sparsity=2", "smc:sparsity=2", "smc:sparsity=2,labels=raw"):
                compare(problem, spec, 4)
            if problem.name.startswith("22"):
                compare(problem, "sma:sparsity=3", 3)
                compare(problem, "smc:sparsity=3", 3)


def test_extremes():
    """Far corners of what is allowed, still against the reference."""
    random = np.random.default_rng(13)
    x, new = random.normal(size=(40, 4)), random.normal(size=(6, 4))
    y = np.sin(x[:, :1] * 2) + x[:, 1:2] + 0.3 * random.normal(size=(40, 1))
    two = (y[:, 0] > 0.1).astype(int)
    few = np.where(np.arange(40) == 7, 2, two)   # a class of one row
    for kernel in ("linear", "rbf:sigma=1"):
        problem = Problem(f"extreme keys {kernel}", x, new, kernel, targets=y)
        for spec in ("cr:alpha=0.01", "cr:alpha=0.4999", "cr:alpha=0.95", "cr:alpha=0.999",
                     "skpls:nu=0.001,heuristic=mr", "skpls:nu=0.001,heuristic=eps",
                     "skpls:nu=0.001,heuristic=mi,cache=40", "skpls:nu=0.99,heuristic=mr",
                     "rkopls:subset=1000"):
            compare(problem, spec, 3)
        for name, scaled in (("small", 1e-100 * y), ("large", 1e100 * y),
                             ("one wild", np.where(np.arange(40)[:, None] == 3, 1e6, y))):
            problem = Problem(f"{name} target {kernel}", x, new, kernel, targets=scaled)
            for spec in ("kpls", "cr:alpha=0.3", "blf:loss=ls", "sma", "smc", "sma:sparsity=2",
                         "skpls:nu=0.3,heuristic=mr", "skpls:nu=0.3,heuristic=eps", "rkopls:subset=40"):
                compare(problem, spec, 3)
        problem = Problem(f"a class of one row {kernel}", x, new, kernel, codes=few)
        for spec in ("kpls", "kpls:discriminant=on", "cr:alpha=0.3", "sma", "smc", "blf:loss=ls",
                     "rkopls:subset=40"):
            compare(problem, spec, 3)
    for n in (2, 3):
        problem = Problem(f"{n} rows", x[:n], new, "rbf:sigma=1", targets=y[:n])
        for spec in ("kpls", "cr:alpha=0.3", "blf:loss=ls", "sma", "smc", "skpls:nu=0.5,heuristic=mr",
                     "rkopls:subset=10"):
            compare(problem, spec, 1)
    problem = Problem("one column", x[:, :1], new[:, :1], "linear", targets=y)
    for spec in ("kpls", "cr:alpha=0.3", "blf:loss=ls", "sma", "smc", "sma:sparsity=2", "smc:sparsity=2",
                 "skpls:nu=0.5,heuristic=mr", "rkopls:subset=40"):
        compare(problem, spec, 3)


def test_stores():
    """Every store, a precomputed matrix, and the first features of a longer fit give the same."""
    for kind in ("one", "classes"):
        problem = simple("rbf:sigma=1.5", kind=kind)
        options = problem.options[2:]
        names = [f"k{i}" for i in range(51)]
        with open("train.csv") as file:
            labels = [line.rstrip().split(",")[4:] for line in file]
        with open("gram.csv", "w") as file:
            file.write(",".join(names + labels[0]) + "\n")
            for row, label in zip(problem.k, labels[1:]):
                file.write(",".join([repr(float(v)) for v in row] + label) + "\n")
        np.savetxt("gram_all.csv", np.r_[problem.k, problem.k_new], delimiter=",", fmt="%.17g",
                   header=",".join(names), comments="")
        specs = SUPERVISED if kind == "one" else ["blf:loss=exp", "blf:loss=log", "kboost:loss=exp",
                                                  "kboost:loss=log", "kpls:discriminant=on"]
        for spec in specs:
            report, t, new, predicted = fit(problem, spec, 4)
            if t is None:
                check(f"{spec}: stores", False, report["fault"])
                continue
            for store in ("dense", "stream", "lowrank"):
                again, t2, new2, _ = fit(problem, spec, 4, "--store", store)
                off = np.inf if t2 is None else fw.up_to_sign(np.r_[t, new], np.r_[t2, new2])
                # eps times the condition of the kernel matrix, about 1e5
                check(f"{spec}, {kind}: store {store}", off < 1e-8, again.get("fault") or f"{off:.1e}")
            done = call("fit", "gram.csv", "-m", spec, "-k", "precomputed", *options, "-n", 4, "-o",
                        "k.model", "--json")
            if done.returncode == 0:
                done = call("transform", "k.model", "gram_all.csv", "-o", "k.npy", "--quiet")
            other = np.load("k.npy") if done.returncode == 0 else None
            off = np.inf if other is None else fw.up_to_sign(np.r_[t, new], other)
            check(f"{spec}, {kind}: precomputed", off < 1e-8, done.stderr.strip() or f"{off:.1e}")
            if t.shape[1] < 3:
                continue
            fit(problem, spec, 4)
            call("truncate", "a.model", "-n", 2, "-o", "short.model")
            call("transform", "short.model", "all.csv", "-o", "short.npy", "--quiet")
            call("predict", "a.model", "all.csv", "-n", 2, "-o", "few.csv", "--quiet")
            with open("few.csv") as file:
                few = list(csv.reader(file))
            _, t2, new2, predicted2 = fit(problem, spec, 2)
            short = np.load("short.npy")
            check(f"{spec}, {kind}: nested", fw.up_to_sign(short, np.r_[t2, new2]) < 1e-12
                  and fw.up_to_sign(short, np.r_[t, new][:, :2]) < 1e-12)
            check(f"{spec}, {kind}: predictions are nested", len(few) == len(predicted2) and all(
                a[0] == b[0] if kind == "classes" else abs(float(a[0]) - float(b[0])) < 1e-9
                for a, b in zip(few[1:], predicted2[1:])))


# ---------------------------------------------------------------------------- equal to what

def simple(kernel="rbf:sigma=1.5", n=51, kind="one", seed=3, noise=0.3):
    random = np.random.default_rng(seed)
    x, new = random.normal(size=(n, 4)), random.normal(size=(12, 4))
    y = np.sin(x[:, :1] * 2) + x[:, 1:2] + noise * random.normal(size=(n, 1))
    if kind == "one":
        return Problem("simple", x, new, kernel, targets=y)
    return Problem("simple", x, new, kernel, codes=(y[:, 0] > 0.2).astype(int))


def equal(name, problem, spec, other, features, tolerance, *more, scaled=True, other_more=()):
    report, t, new, _ = fit(problem, spec, features, *more)
    report2, t2, new2, _ = fit(problem, other, features, *(other_more or more))
    if t is None or t2 is None:
        check(name, False, report.get("fault") or report2.get("fault"))
        return
    how = fw.up_to_sign if scaled else fw.along
    off = how(np.r_[t, new], np.r_[t2, new2]) if t.shape == t2.shape else np.inf
    check(name, off <= tolerance, f"{spec} and {other}: {off:.1e}, {t.shape[1]} and {t2.shape[1]} features")


def test_identities():
    for kernel in ("linear", "rbf:sigma=1.5"):
        problem = simple(kernel)
        features = 3 if kernel == "linear" else 6
        for p in ("sma", "smc"):
            equal("sparsity=1", problem, p + ":sparsity=1", p, features, 0)
            equal("labels=centred is the default", problem, p + ":labels=centred", p, features, 0)
            equal("as many candidates as rows", problem, p + ":candidates=51", p, features, 1e-12)
            equal("more candidates than rows", problem, p + ":candidates=500", p, features, 1e-12)
        for heuristic in ("mr", "mi,cache=51", "eps"):
            equal("nu = 1 is kpls", problem, f"skpls:nu=1,heuristic={heuristic}", "kpls", features, 1e-9,
                  "--center", "none")
            equal("nu = 1 is kpls, centred", problem, f"skpls:nu=1,heuristic={heuristic}", "kpls",
                  features, 1e-9, "--center", "exact")
            equal("nu = 1 is blf", problem, f"blf:loss=ls,nu=1,heuristic={heuristic.split(',')[0]}",
                  "blf:loss=ls", features, 1e-9)
        equal("blf(ls) is kpls on a centred kernel", problem, "blf:loss=ls", "kpls", features, 1e-9,
              "--center", "exact", scaled=False)
        equal("continuum regression half way is kpls", problem, "cr:alpha=0.5", "kpls", features, 1e-9)
        equal("continuum regression at its end is kpca", problem, "cr:alpha=1", "kpca", features, 1e-8)
    problem = simple("rbf:sigma=1.5")
    one = fit(problem, "blf:loss=ls", 3, "--center", "none")[1]
    two = fit(problem, "kpls", 3, "--center", "none")[1]
    check("blf(ls) is not kpls without centring: it has an intercept",
          one is not None and fw.along(one[:, 1:], two[:, 1:]) > 1e-3)
    problem = simple("rbf:sigma=1.5", kind="classes")
    for loss in ("exp", "log"):
        equal(f"blf({loss}) begins with the direction of kpls", problem, f"blf:loss={loss}", "kpls", 1,
              1e-9, scaled=False)


def test_limits():
    """Least squares, PLSRegression and principal component regression as predictions."""
    problem = simple("linear", noise=1.0)
    x, y, every = problem.x, problem.y, np.r_[problem.x, problem.new]
    for spec, features, expected in (
            ("pls", 3, PLSRegression(3, scale=False).fit(x, y).predict(every)),
            ("kpls", 3, PLSRegression(3, scale=False).fit(x, y).predict(every)),
            ("cr:alpha=0.5", 2, PLSRegression(2, scale=False).fit(x, y).predict(every)),
            ("kpls", 4, LinearRegression().fit(x, y).predict(every)),
            ("cr:alpha=0", 1, LinearRegression().fit(x, y).predict(every)),
            ("cr:alpha=1", 4, LinearRegression().fit(x, y).predict(every)),
            ("sma", 4, None), ("smc", 4, None)):
        if expected is None:  # the rows span the columns, not their mean: no centring here
            expected = LinearRegression().fit(x, y).predict(every)
        predicted = fit(problem, spec, features)[3]
        off = np.inf if predicted is None else np.abs(
            np.array(predicted[1:]).astype(float).ravel() - np.ravel(expected)).max()
        check(f"{spec}, {features} features: predictions of scikit-learn", off <= 1e-8, f"{off:.1e}")


# ---------------------------------------------------------------------------- the best row, always

def follow(name, k, y, aligned, rows, last):
    """Whether each of rows is the best after those before it, up to what rounding of k can turn.

    In long double, so that this side adds no rounding of its own; k is rounded to double by anyone.
    """
    wide, y = k.astype(np.longdouble), y.astype(np.longdouble)
    left, taken, norms = wide.copy(), [], (wide ** 2).sum(0)
    for j, row in enumerate(rows[:last]):
        score = fw.matching_scores(left, wide, y, aligned, taken)
        best = int(np.argmax(score))
        size = np.sqrt(((left ** 2).sum(0) / norms)[[row, best]].min())
        slack = float(1e-10 + 300 * EPS * np.sqrt(len(k)) / size)
        if score[row] < score[best] * (1 - slack):
            check(name, False, f"pick {j}: row {row} has {float(score[row] / score[best]):.12f} of row "
                  f"{best}'s score, {slack:.0e} allowed")
            return
        taken.append(row)
        left = fw.remove(left, [left[:, row]])
    # Fewer: then no column is admissible any more, by a margin for rounding.
    rest = np.delete((left ** 2).sum(0) / norms, taken)
    check(name, len(rows) >= last or rest.max() < 2 * fw.ADMIT,
          f"{len(rows)} rows of {last}, a column with {np.sqrt(float(rest.max())):.1e} of its length left")


def better_rows(k, y, aligned, rows):
    """How many rows would have been better than each of rows when it was taken."""
    left, found = k, []
    for j, row in enumerate(rows):
        score = fw.matching_scores(left, k, y, aligned, rows[:j])
        found.append(int((score > score[row]).sum()))
        left = fw.remove(left, [left[:, row]])
    return found


def test_best_rows():
    random = np.random.default_rng(21)
    x, new = random.normal(size=(110, 3)), random.normal(size=(5, 3))
    for kernel in ("rbf:sigma=0.5", "rbf:sigma=2", "rbf:sigma=8", "laplacian:gamma=0.3", "linear"):
        for outputs in (1, 2):
            y = np.sin(2 * x[:, :outputs]) + 0.3 * random.normal(size=(110, outputs))
            problem = Problem(kernel, x, new, kernel, targets=y)
            values = eigh(problem.k)[0][::-1]
            last = min(int((values > 5e-10 * values[0]).sum()), 109)
            for spec in ("sma", "smc", "sma:candidates=110", "smc:candidates=110", "sma:labels=raw",
                         "smc:labels=raw"):
                for more in ((), ("--store", "stream")) if outputs == 1 else ((),):
                    report = fit(problem, spec, last, *more)[0]
                    name = f"{spec} {' '.join(more)}, {kernel}, {outputs} target(s), {last} rows"
                    if "fault" in report:
                        check(name, False, report["fault"])
                        continue
                    used = y if "raw" in spec else y - y.mean(0)
                    follow(name, problem.k, used, spec.startswith("sma"), report["selected"], last)
    # Few candidates: which were drawn is not told, but a pick must be new, admissible, and by chance.
    problem = simple("rbf:sigma=1")
    for spec in ("sma:candidates=8", "smc:candidates=8"):
        one, again, two = (fit(problem, spec, 10, "--seed", s)[0] for s in (1, 1, 2))
        rows = one.get("selected", [])
        check(f"{spec}: ten different rows", len(set(rows)) == 10 and max(rows) < 51, rows)
        check(f"{spec}: the seed decides", rows == again.get("selected") != two.get("selected"))
        # The best of eight has about 51 / 9 better rows; ten picks at random would have 25.
        better = better_rows(problem.k, problem.y - problem.y.mean(0), "sma" in spec, rows)
        check(f"{spec}: the best of eight is among the better rows", np.mean(better) < 15, better)
    # Repeated rows: the second copy is never taken, and does not end the selection.
    x = np.repeat(random.normal(size=(12, 3)), 3, axis=0)
    problem = Problem("copies", x, new, "rbf:sigma=1", targets=np.sin(x[:, :1]) + x[:, 1:2])
    for spec in ("sma", "smc", "sma:candidates=5", "smc:candidates=5"):
        report = fit(problem, spec, 36)[0]
        rows = report.get("selected", [])
        check(f"{spec}: twelve of 36 rows in twelve threes", sorted(r // 3 for r in rows) == list(range(12)),
              report.get("fault", rows))
        check(f"{spec}: the notice of an exhausted rank", any("12" in n for n in report.get("notices", [])),
              report.get("notices"))
        if "candidates" not in spec:
            check(f"{spec}: the first of equal rows", all(r % 3 == 0 for r in rows), rows)


# ---------------------------------------------------------------------------- absolute deviations

def lad_is_unique(y, t):
    """Whether exactly as many rows are met as there are coefficients, with multipliers inside +-1."""
    f, _ = fw.fit_loss("lad", y, t)
    met = np.abs(y - f) <= 1e-9 * np.abs(y).max()
    design = np.c_[np.ones(len(y)), t]
    if met.sum() != design.shape[1] or np.linalg.cond(design[met]) > 1e10:
        return False
    duals = np.linalg.solve(design[met].T, -design[~met].T @ np.sign(y - f)[~met])
    return np.abs(duals).max() < 1 - 1e-7


def test_absolute_deviations():
    compared = 0
    for kernel in ("linear", "rbf:sigma=1.5", "rbf:sigma=0.6"):
        for seed in range(4):
            # An odd number of rows: the median, hence the first direction, is determined.
            problem = simple(kernel, seed=seed, noise=1.0)
            report, t, _, _ = fit(problem, "blf:loss=lad", 3 if kernel == "linear" else 5)
            name = f"blf:loss=lad, {kernel}, table {seed}"
            if t is None:
                check(name, False, report["fault"])
                continue
            k = problem.grams(report["center"])[0]
            check(name + ": length one", np.abs((t ** 2).sum(0) - 1).max() < 1e-10)
            gram = t.T @ t
            check(name + ": orthogonal", np.abs(gram - np.eye(len(gram))).max() < 1e-10)
            # Its predictions have the least loss, whichever fit has it, for every number of features.
            for j in range(1, t.shape[1] + 1):
                call("predict", "a.model", "all.csv", "-n", j, "-o", "p.csv", "--quiet")
                f = np.loadtxt("p.csv", skiprows=1)[:len(t)]
                least = fw.fit_loss("lad", problem.y[:, 0], t[:, :j])[1]
                loss = np.abs(problem.y[:, 0] - f).sum()
                check(f"{name}: least deviations of {j}", abs(loss / least - 1) < 1e-9,
                      f"{loss!r} instead of {least!r}")
            # After the first the fit need not be unique: go along with the program's features, and
            # where the fit to them is unique the next one follows.
            for j in range(t.shape[1]):
                if not lad_is_unique(problem.y[:, 0], t[:, :j]):
                    continue
                w = fw.gradient("lad", problem.y[:, 0], t[:, :j])
                beta = fw.remove(w[:, None], list(t[:, :j].T))
                tau = fw.remove(k @ beta, list(t[:, :j].T))
                off = fw.along(t[:, j:j + 1], tau)
                compared += 1
                check(f"{name}: feature {j + 1}", off < 1e-8, f"{off:.1e}")
    check("blf:loss=lad: most features are determined", compared >= 40, compared)
    # Unbalanced classes: the constant median is already optimal and may end it; a clear end is enough.
    problem = simple("rbf:sigma=1.5", kind="classes")
    report = fit(problem, "blf:loss=lad", 4)[0]
    check("blf:loss=lad, classes: an answer", "fault" in report or report["components"] >= 1, report)


# ---------------------------------------------------------------------------- sparse kernel PLS

def test_sparse_pls():
    for kernel in ("rbf:sigma=0.7", "laplacian:gamma=1"):   # well conditioned: beta can be told from T
        for nu in (0.1, 0.3, 0.6):
            problem = simple(kernel)
            name = f"skpls:heuristic=eps, nu={nu}, {kernel}"
            report, t, _, _ = fit(problem, f"skpls:nu={nu},heuristic=eps", 1)
            if t is None:
                check(name, False, report["fault"])
                continue
            k, y = problem.k, (problem.y - problem.y.mean(0))[:, 0]
            beta = np.linalg.solve(k, t[:, 0])
            support = np.abs(beta) > 1e-9 * np.abs(beta).max()
            n = fw.kept(nu, len(k))
            check(name + ": entries", support.sum() == n, f"{support.sum()} instead of {n}")
            # K(y - s beta) = eps sign(beta) on the support for some s and eps, and inside elsewhere.
            sign = np.sign(beta)
            best = np.inf
            for way in (1, -1):
                design = np.c_[t[support, 0], way * sign[support]]
                fit_ = np.linalg.lstsq(design, (k @ y)[support], rcond=None)[0]
                rest = np.abs((k @ y)[support] - design @ fit_).max()
                if way * fit_[0] < 0 or fit_[1] < 0:
                    continue
                outside = (np.abs(k @ y - fit_[0] * t[:, 0]) - fit_[1])[~support].max()
                best = min(best, max(rest, outside) / np.abs(k @ y).max())
            check(name + ": a lasso solution", best < 1e-8, f"{best:.1e}")
    # A cache smaller than the table: at most as many entries, by chance.
    problem = simple("rbf:sigma=0.7")
    spec = "skpls:nu=0.5,heuristic=mi,cache=10"
    one, t, _, _ = fit(problem, spec, 1, "--seed", 1)
    two, t2, _, _ = fit(problem, spec, 1, "--seed", 2)
    if t is None:
        check(spec, False, one["fault"])
        return
    beta = np.linalg.solve(problem.k, t[:, 0])
    support = np.flatnonzero(np.abs(beta) > 1e-9 * np.abs(beta).max())
    check(spec + ": ten entries", len(support) == 10, len(support))
    y = (problem.y - problem.y.mean(0))[:, 0]
    off = fw.along(beta[support, None], y[support, None])
    check(spec + ": they are the labels", off < 1e-9, f"{off:.1e}")
    check(spec + ": the seed decides", fw.up_to_sign(t, t2) > 1e-3)


# ---------------------------------------------------------------------------- pencils

def test_reduced():
    for kernel in ("linear", "rbf:sigma=1.5"):
        problem = simple(kernel)
        report, t, _, _ = fit(problem, "rkopls:subset=10", 5)
        if t is None:
            check("rkopls:subset=10", False, report["fault"])
            continue
        name = f"rkopls:subset=10, {kernel}"
        check(name + ": one label, one feature", t.shape[1] == 1, t.shape)
        check(name + ": length one", abs(np.linalg.norm(t[:, 0]) - 1) < 1e-9)
        rows = report["selected"]
        check(name + ": its rows are told", len(set(rows)) == 10, rows)
        if len(rows) == 10:
            expected = fw.rkopls(problem.k, problem.y - problem.y.mean(0), rows, 1)[0]
            off = fw.up_to_sign(t, expected)
            check(name + ": least squares on its columns", off < 1e-8, f"{off:.1e}")
        other = fit(problem, "rkopls:subset=10", 5, "--seed", 7)[0]
        check(name + ": the seed decides", other.get("selected") != rows)
        check(name + ": points kept", kernel == "linear" or report["expansion_points"] <= 10,
              report["expansion_points"])


# ---------------------------------------------------------------------------- ends of the range

SUPERVISED = ["kpls", "cr:alpha=0.3", "cr:alpha=1", "blf:loss=ls", "blf:loss=lad", "sma", "smc",
              "sma:sparsity=2", "smc:sparsity=2", "skpls:nu=0.5,heuristic=mr",
              "skpls:nu=0.5,heuristic=mi,cache=20", "skpls:nu=0.5,heuristic=eps", "rkopls:subset=10"]


def plain_end(name, report, t):
    """Nothing to learn: a clear error of one line, or no features and a notice.

    The specification has 0 features here; the issue allows "a notice or a clear error", and a model
    without features is not a model that the other commands could use.
    """
    if t is None:
        message = report["fault"]
        check(name, report["status"] == 1 and message.startswith("mercer: ") and "\n" not in message,
              message)
    else:
        check(name, t.shape[1] == 0 and report["notices"], report)


def test_ends():
    random = np.random.default_rng(8)
    x, new = random.normal(size=(20, 3)), random.normal(size=(4, 3))
    y = x[:, :1] + random.normal(size=(20, 1))
    for value in (0.0, 3.7, 0.1, 1e-300):
        problem = Problem("constant", x, new, "rbf:sigma=1", targets=np.full((20, 1), value))
        for spec in SUPERVISED + ["blf:loss=exp", "blf:loss=log", "kboost:loss=exp", "kboost:loss=log"]:
            plain_end(f"{spec}, constant labels {value}", *fit(problem, spec, 3)[:2])
    problem = Problem("one class", x, new, "rbf:sigma=1", codes=np.zeros(20, int) + 2)
    for spec in SUPERVISED + ["blf:loss=exp", "blf:loss=log", "kboost:loss=exp", "kpls:discriminant=on"]:
        plain_end(f"{spec}, one class", *fit(problem, spec, 3)[:2])
    problem = Problem("one row", x[:1], new, "rbf:sigma=1", targets=y[:1])
    for spec in SUPERVISED:
        plain_end(f"{spec}, one row", *fit(problem, spec, 3)[:2])
    # Labels that are not +-1.
    for bad in (np.where(y > 0, 1.0, 0.0), np.where(y > 0, 2.0, -2.0), y):
        problem = Problem("not +-1", x, new, "rbf:sigma=1", targets=bad)
        for spec in ("blf:loss=exp", "blf:loss=log", "kboost:loss=exp", "kboost:loss=log"):
            report, t, _, _ = fit(problem, spec, 3)
            good = t is None and report["status"] in (1, 2) and "\n" not in report["fault"] \
                and "1" in report["fault"]
            check(f"{spec}, labels that are not +-1", good, report.get("fault", "accepted"))
    problem = Problem("+-1", x, new, "rbf:sigma=1", targets=np.where(y > 0, 1.0, -1.0))
    for spec in ("blf:loss=exp", "blf:loss=log", "kboost:loss=exp", "kboost:loss=log"):
        report, t, _, _ = fit(problem, spec, 2)
        check(f"{spec}, +-1 as values", t is not None and t.shape[1] >= 1, report.get("fault"))
    # Rank exhausted, or everything explained.
    flat = np.c_[x[:, 0], 2 * x[:, 0], x[:, 1]]
    problem = Problem("rank 2", flat, new, "linear", targets=y)
    for spec in ["pls"] + SUPERVISED:
        report, t, _, _ = fit(problem, spec, 6)
        most = 1 if spec.startswith("rkopls") else 2
        check(f"{spec}, rank 2", t is not None and 1 <= t.shape[1] <= most and report["notices"],
              report.get("fault") or (t.shape, report["notices"]))
    exact = Problem("explained", x, new, "linear", targets=x @ np.array([[1.0], [2.0], [-1.0]]) + 4)
    for spec in ("pls", "kpls", "blf:loss=ls", "cr:alpha=0", "cr:alpha=0.5"):
        report, t, _, predicted = fit(exact, spec, 8)
        good = t is not None and t.shape[1] <= 3 and report["notices"] and np.abs(
            np.array(predicted[1:], float).ravel()
            - (np.r_[x, new] @ np.array([1.0, 2, -1]) + 4)).max() < 1e-8
        check(f"{spec}, labels fully explained", good, report.get("fault") or t.shape)
    # Zero rows are never chosen: their kernel column is nothing.
    gap = x.copy()
    gap[[0, 5]] = 0
    problem = Problem("zero rows", gap, new, "linear", targets=y)
    for spec in ("sma", "smc", "smc:candidates=4", "sma:candidates=4"):
        report = fit(problem, spec, 3)[0]
        check(f"{spec}, rows of zeros", not {0, 5} & set(report.get("selected", [0])), report.get("fault"))
    # Separable rows: no finite fit, so exp and log end when the features separate, and say so.
    for kernel in ("linear", "rbf:sigma=1"):
        apart = x + 3 * np.sign(x[:, :1]) * np.array([1.0, 0, 0])
        problem = Problem("separable", apart, new, kernel, codes=(x[:, 0] > 0).astype(int))
        for loss in ("exp", "log"):
            spec = f"blf:loss={loss}"
            report, t, _, _ = fit(problem, spec, 6)
            k = problem.grams("exact")[0]
            expected = fw.extract(k, fw.blf(k, problem.y, loss), 6).t.shape[1]
            check(f"{spec}, separable rows, {kernel}", t is not None and t.shape[1] == expected
                  and np.isfinite(t).all() and report["notices"],
                  report.get("fault") or (t.shape, expected, report["notices"]))
            spec = f"kboost:loss={loss}"
            report, t, _, _ = fit(problem, spec, 6)
            check(f"{spec}, separable rows, {kernel}", t is not None and np.isfinite(t).all(),
                  report.get("fault"))


# ---------------------------------------------------------------------------- threads, sparse rows, sums

def test_threads():
    random = np.random.default_rng(30)
    x, new = random.normal(size=(900, 5)), random.normal(size=(5, 5))
    y = np.sin(x[:, :1]) + random.normal(size=(900, 1))
    for spec in SUPERVISED + ["sma:candidates=50", "smc:candidates=50", "blf:loss=exp", "blf:loss=log",
                              "kboost:loss=exp,rounds=3"]:
        slow = any(word in spec for word in ("sparsity", "eps", "kboost", "lad", "cr"))
        rows = slice(300 if slow else 900)
        problem = Problem("threads", x[rows], new, "rbf:sigma=2", targets=np.sign(y[rows]))
        one, t, _, _ = fit(problem, spec, 4, "--threads", 1)
        two, t2, _, _ = fit(problem, spec, 4, "--threads", 2)
        check(f"{spec}: one and two threads", t is not None and t2 is not None and np.array_equal(t, t2),
              one.get("fault") or two.get("fault") or "the features differ")


def test_sparse_rows():
    """LIBSVM text and a table give the same, and the first direction of smc takes off the mean."""
    random = np.random.default_rng(31)
    common = random.uniform(0.5, 1, size=12)
    x = np.c_[common * (random.uniform(size=(120, 12)) < 0.8),
              random.exponential(0.4, size=(120, 60)) * (random.uniform(size=(120, 60)) < 0.05)]
    y = np.where(x[:, 12:30].sum(1) + 0.1 * random.normal(size=120) > 0.45, 1.0, -1.0)
    new = x[:7]
    problem = Problem("sparse", x, new, "linear", codes=(y > 0).astype(int))
    with open("train.svm", "w") as file:
        for row, label in zip(x, y):
            file.write(f"{label:g} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(row) if v) + "\n")
    for spec in ("sma", "smc", "smc:labels=raw", "kpls", "skpls:nu=0.3,heuristic=mr", "rkopls:subset=120",
                 "blf:loss=log", "cr:alpha=0.5", "kboost:loss=exp"):
        t = fit(problem, spec, 4)[1]
        done = call("fit", "train.svm", "-m", spec, "-k", "linear", "-n", 4, "-o", "b.model", "--json",
                    "--label", "label")
        if done.returncode or t is None:
            check(f"{spec}, LIBSVM text", False, done.stderr)
            continue
        call("transform", "b.model", "train.svm", "-o", "b.npy", "--quiet")
        other = np.load("b.npy")
        check(f"{spec}, LIBSVM text as the table", fw.up_to_sign(t, other) < 1e-9,
              f"{fw.up_to_sign(t, other):.1e}")
        if spec.startswith("smc"):
            q = other[:, 0] / np.linalg.norm(other[:, 0])
            left = (x - np.outer(q, q @ x)).mean(0)
            share = 1 - (left @ left) / (x.mean(0) @ x.mean(0))
            check(f"{spec}: the first direction removes most of the mean", share > 0.5, f"{share:.3f}")
            check(f"{spec}: k features from k rows", json.loads(done.stdout)["expansion_points"] <= 4)


class Options(ctypes.Structure):
    """mercer_fit_options of include/mercer/fit.h, as far as it is used here; it grows at its end."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("method", ctypes.c_char_p), ("criterion", ctypes.c_void_p),
                ("kernel", ctypes.c_char_p), ("components", ctypes.c_double)] + [
        (key, ctypes.c_char_p) for key in ("center", "scale", "scale_target")] + [
        (key, ctypes.c_void_p) for key in ("landmarks", "validation", "validation_targets")] + [
        ("head", ctypes.c_char_p), ("novelty", ctypes.c_double)] + [
        (key, ctypes.c_char_p) for key in ("store", "precision", "command")]


class Error(ctypes.Structure):
    """mercer_error of include/mercer/status.h, whole: the library writes all of it."""
    _fields_ = [("code", ctypes.c_int), ("cause", ctypes.c_int), ("text", ctypes.c_char * 512),
                ("key", ctypes.c_char * 32), ("input", ctypes.c_char * 32), ("column", ctypes.c_char * 64),
                ("row", ctypes.c_int64), ("line", ctypes.c_int64), ("names_file", ctypes.c_int),
                ("advice_key", ctypes.c_char * 32), ("advice_value", ctypes.c_char * 32),
                ("reserved", ctypes.c_char * 60)]


class Array(ctypes.Structure):
    """mercer_array of include/mercer/array.h."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_int), ("shape", ctypes.c_int64 * 2), ("stride", ctypes.c_int64 * 2),
                ("release", ctypes.c_void_p), ("host", ctypes.c_void_p)]


NUMBERS = ctypes.POINTER(ctypes.c_double)
CHOOSE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, NUMBERS, ctypes.c_void_p)


class Criterion(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("choose", CHOOSE), ("host", ctypes.c_void_p), ("sparse", ctypes.c_int)]


class Step:
    """What a criterion sees, as arrays."""

    def __init__(self, library, step):
        self.library, self.step = library, ctypes.c_void_p(step)
        size = [getattr(library, f"mercer_step_{what}") for what in ("rows", "outputs", "features")]
        for function in size:
            function.restype = ctypes.c_int64
        self.n, self.outputs, self.features = (function(self.step) for function in size)

    def array(self, name):
        function = getattr(self.library, f"mercer_step_{name}")
        function.restype = NUMBERS
        return np.ctypeslib.as_array(function(self.step), (self.n, self.outputs)).copy()

    def diagonal(self):
        out = NUMBERS()
        assert self.library.mercer_step_diagonal(self.step, ctypes.byref(out), None) == 0
        return np.ctypeslib.as_array(out, (self.n,)).copy()

    def apply(self, v):
        v, out = np.ascontiguousarray(v), np.zeros(v.shape)
        assert self.library.mercer_step_apply(self.step, v.ctypes, ctypes.c_int64(v.shape[1]),
                                              out.ctypes, None) == 0
        return out

    def columns(self):
        rows, out = np.arange(self.n, dtype=np.int64), np.zeros((self.n, self.n))
        assert self.library.mercer_step_columns(self.step, rows.ctypes, ctypes.c_int64(self.n),
                                                out.ctypes, None) == 0
        return out.T

    def deflate(self, v):
        out = np.ascontiguousarray(v).copy()
        assert self.library.mercer_step_deflate(self.step, out.ctypes, None) == 0
        return out


def fit_criterion(library, problem, choose, features, sparse, center):
    """Features of training and new rows by a criterion in Python; or the message of its failure."""
    def called(host, step, beta, err):
        found = choose(Step(library, step))
        if isinstance(found, int):
            return found
        np.ctypeslib.as_array(beta, (len(problem.x),))[:] = found
        return 0

    options, error, every = Options(), Error(), np.ascontiguousarray(np.r_[problem.x, problem.new])
    handles = [ctypes.c_void_p() for _ in range(4)]
    ctx, rows, targets, model = handles
    criterion = Criterion(ctypes.sizeof(Criterion), b"judge", CHOOSE(called), None, sparse)
    library.mercer_fit_options_init_sized(ctypes.byref(options),
                                          ctypes.c_size_t(ctypes.sizeof(Options)))
    options.kernel, options.components = problem.kernel.encode(), features
    options.center = center.encode()
    options.criterion = ctypes.cast(ctypes.pointer(criterion), ctypes.c_void_p)
    y = np.ascontiguousarray(problem.y)
    n, d, m = (ctypes.c_int64(v) for v in (*problem.x.shape, y.shape[1]))
    library.mercer_ctx_new(ctypes.byref(ctx), None)
    array = Array(ctypes.sizeof(Array), every.ctypes.data, 0, 2, (n.value, d.value))
    library.mercer_rows_view(ctx, ctypes.byref(array), ctypes.byref(rows), None)
    library.mercer_targets_new_values(y.ctypes, n, m, None, ctypes.byref(targets), None)
    if library.mercer_fit(ctx, ctypes.byref(options), rows, targets, ctypes.byref(model), None,
                          ctypes.byref(error)):
        return error.text.decode()
    assert library.mercer_model_save(ctx, model, b"c.model", ctypes.byref(error)) == 0, error.text
    call("transform", "c.model", "all.csv", "-o", "c.npy", "--quiet")
    report = json.loads(call("info", "c.model", "--json").stdout)
    t = np.load("c.npy").reshape(len(every), -1)
    library.mercer_model_free(model)
    library.mercer_targets_free(targets)
    library.mercer_rows_free(rows)
    library.mercer_ctx_free(ctx)
    return t, report


def test_criterion():
    """A method of the caller's own, through the C interface."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(MERCER), "libmercer.so"))
    random = np.random.default_rng(40)
    x, new = random.normal(size=(50, 3)), random.normal(size=(9, 3))
    y = np.c_[np.sin(2 * x[:, 0]), x[:, 1]] + 0.2 * random.normal(size=(50, 2))
    for kernel in ("linear", "rbf:sigma=1"):
        features = 3 if kernel == "linear" else 5
        for center in ("none", "exact"):
            problem = Problem("criterion", x, new, kernel, targets=y)
            k, k_new = problem.grams(center)
            centred = y - y.mean(0)
            views = []

            def look(step):
                """As kpls, and every view of the step is held against the reference."""
                rest = step.array("residual_targets")
                q = np.array(views[-1][1]).T if views else np.zeros((50, 0))
                views.append((max(
                    np.abs(step.array("targets") - centred).max(), np.abs(step.diagonal() - np.diag(k)).max(),
                    np.abs(step.columns() - k).max(), np.abs(step.apply(centred) - k @ centred).max() / 50,
                    np.abs(step.deflate(y[:, 0]) - fw.remove(y, list(q.T))[:, 0]).max(),
                    abs(step.features - q.shape[1])), list(q.T)))
                beta = fw.leading(k, rest)
                views[-1][1].append(fw.remove((k @ beta)[:, None], list(q.T))[:, 0])
                return 3 * beta     # its length does not matter

            name = f"criterion, {kernel}, centring {center}"
            found = fit_criterion(library, problem, look, features, 0, center)
            expected = fw.extract(k, fw.kpls(k, centred), features)
            if isinstance(found, str):
                check(name, False, found)
                continue
            off = fw.along(found[0], np.r_[expected.t, expected.project(k_new)])
            check(name + ": kpls again", off < 1e-8, f"{off:.1e}")
            worst = max(view[0] for view in views)
            check(name + ": what a step shows", worst < 1e-9, f"{worst:.1e}")
            # A criterion of a few rows: the model keeps no others.
            def single(step):
                beta = np.zeros(50)
                beta[2 * step.features + 1] = -1
                return beta
            found = fit_criterion(library, problem, single, features, 1, center)
            expected = fw.extract(k, lambda left, t: np.eye(50)[2 * len(t) + 1], features)
            off = np.inf if isinstance(found, str) else fw.along(
                found[0], np.r_[expected.t, expected.project(k_new)])
            check(name + ": single rows", off < 1e-8, found if isinstance(found, str) else f"{off:.1e}")
            if center == "none" and kernel != "linear" and not isinstance(found, str):
                check(name + ": five points kept", found[1]["expansion_points"] == 5,
                      found[1]["expansion_points"])
            # The same direction again, or none, ends it; a failure is the caller's own.
            ways = [np.arange(50.0), np.sin(np.arange(50.0))]
            for what, last in (("a direction again", ways[0]), ("no direction", np.zeros(50))):
                found = fit_criterion(library, problem, lambda step: (ways + [last])[step.features], 5, 0,
                                      center)
                count = found if isinstance(found, str) else found[0].shape[1]
                check(f"{name}: {what} ends it", count == 2, count)
            found = fit_criterion(library, problem, lambda step: 3, 5, 0, center)
            check(name + ": a callback that fails", isinstance(found, str), found)
            found = fit_criterion(library, problem, lambda step: np.full(50, np.nan), 5, 0, center)
            check(name + ": NaN is refused", isinstance(found, str), found)


def test_diagnostics():
    problem = simple("rbf:sigma=1.5")
    report, t, _, _ = fit(problem, "smc", 6)
    k, y = problem.k, problem.y - problem.y.mean(0)
    check("smc, rbf: six points for six features", report["expansion_points"] == 6)
    d = np.array(report["alignment"])
    check("D(S) does not fall and is at most one", (np.diff(d) >= 0).all() and d[-1] <= 1 + 1e-12)
    for kernel, kind in (("rbf:sigma=1.5", "one"), ("linear", "classes")):
        problem = simple(kernel, kind=kind)
        for spec, center in (("smc", "none"), ("kpls", "exact")):
            report = fit(problem, spec, 4)[0]
            k, y = problem.grams(center)[0], problem.y - problem.y.mean(0)
            off = abs(report["kernel_alignment"] - fw.target_alignment(k, y))
            check(f"{spec}, {kernel}: alignment of kernel and labels", off < 1e-10, f"{off:.1e}")
            needed = report["kernel_evaluations"]
            check(f"{spec}, {kernel}: kernel values of a new row",
                  needed == ([1, 2, 3, 4] if spec == "smc" else [51] * 4), needed)
            order = np.argsort(-(y ** 2).sum(1) * np.diag(k), kind="stable")[:5]
            told = [pair["row"] for pair in report["influence"]]
            check(f"{spec}, {kernel}: rows of most influence", told == order.tolist(), f"{told} {order}")
            # As many features as make the bound, less half the first empirical term each, largest.
            long = fit(problem, spec, 100)[0]["bound"]
            terms = np.array([[b["empirical"], -b["complexity"], -b["confidence"]] for b in long])
            worth = terms.sum(1) - terms[0, 0] / 2 * np.arange(1, len(terms) + 1)
            report = fit(problem, spec, "bound")[0]
            check(f"{spec}, {kernel}: -n bound", report.get("components") == int(worth.argmax()) + 1,
                  report.get("fault") or (report["components"], int(worth.argmax()) + 1))


with harness.scratch():
    fw.self_check()
    harness.run_parts([test_methods, test_sparsity, test_extremes, test_stores, test_identities, test_limits,
                       test_best_rows, test_absolute_deviations, test_sparse_pls, test_reduced, test_ends, test_threads,
                       test_sparse_rows, test_criterion, test_diagnostics], TESTS)
sys.exit(harness.close())
