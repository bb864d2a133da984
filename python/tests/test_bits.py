#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The command line and the estimators give the same bits: test_bits.py MERCER [WORD...] [-jN]

For every class, random legal settings until every key of its method, and every option, has been part of
a fit that succeeded. What the command line refuses the estimator must refuse, too. The program is
another client of the same C library, with the BLAS of the system instead of the package's own.
"""
import inspect
import json
import pathlib
import subprocess
import sys

import numpy as np

from support import Fault, need_sklearn, program, quiet, run_tests, same, test

need_sklearn()
import mercer  # noqa: E402
from mercer import _core  # noqa: E402

MERCER = program()
SCHEMA = json.loads(_core.schema())
METHODS = {method["name"]: method for method in SCHEMA["methods"]}
CLASSES = [name for name in mercer.ESTIMATORS if name != "PLSRegression"]
ROWS, COLUMNS, MAX_TRIES = 90, 5, 60
# Whole numbers are drawn up to this, so that a fit stays a matter of milliseconds.
MOST = {"restarts": 2, "iterations": 15, "groups": 3, "passes": 4, "candidates": 40, "terms": 40, "points": 40,
        "depth": 20, "rank": 40, "block": 40, "first": 80, "library": 60, "subset": 60, "cache": 50, "neighbours": 4,
        "window": 80, "sparsity": 2, "rounds": 8}


def draw_key(random, key):
    """A legal value of a key, and how the command line writes it."""
    if key["choices"] == ["off", "on"]:
        value = bool(random.integers(2))
        return value, "on" if value else "off"
    if key["type"] == "choice":
        value = str(random.choice(key["choices"]))
        return value, value
    low = key["minimum"] if key["minimum"] is not None else 0.01
    high = key["maximum"] if key["maximum"] is not None else 10.0
    if key["type"] == "integer":
        value = int(random.integers(int(low), min(int(high), MOST.get(key["key"], 50)) + 1))
        return value, str(value)
    low, high = max(low, 1e-3), min(high, 2.0)
    value = float(np.exp(random.uniform(np.log(low), np.log(high))))
    return value, repr(value)


def draw(random, name):
    """(parameters of the class, words of the command line, names of what was set)."""
    cls = getattr(mercer, name)
    method = METHODS[cls._method]
    known = inspect.signature(cls).parameters
    parameters, words, spec, used = {}, [], [], set()
    for key in method["parameters"]:
        if key["key"] == "components" or random.random() < 0.5:
            continue
        parameters[key["key"]], text = draw_key(random, key)
        spec.append(f"{key['key']}={text}")
        used.add(key["key"])
    words += ["-m", cls._method + (":" + ",".join(spec) if spec else "")]
    if "n_components" in known and random.random() < 0.9:
        count = int(random.integers(1, 6 if cls._method != "kfd" else 3))
        parameters["n_components"] = count
        words += ["-n", str(count)]
    elif cls._takes_all:  # the command line has 10 by default
        parameters["n_components"] = 10
    if "kernel" in known:
        kernel = str(random.choice(["rbf", "poly", "laplacian", "exponential", "matern", "rq", "sigmoid", "cosine", "linear"]))
        keys = {}
        for key in next(k for k in SCHEMA["kernels"] if k["name"] == kernel)["parameters"]:
            if random.random() < 0.5 or (key["key"] == "gamma" and "sigma" in keys):
                continue
            value, text = draw_key(random, key)
            keys[key["key"]] = text
            if key["key"] in ("gamma", "sigma", "degree", "coef0"):
                parameters[key["key"]] = value
            else:
                parameters.setdefault("kernel_params", {})[key["key"]] = value
        parameters["kernel"] = kernel
        words += ["-k", kernel + (":" + ",".join(f"{k}={v}" for k, v in keys.items()) if keys else "")]
        used.add("kernel")
    for option in SCHEMA["fit_options"]:
        key = option["key"]
        if key not in ("center", "scale", "scale_target", "store", "precision") or key not in known or random.random() < 0.6:
            continue
        parameters[key] = str(random.choice(option["choices"]))
        words += [f"--{key.replace('_', '-')}", parameters[key]]
        used.add(key)
    if "head" in known and random.random() < 0.5:
        heads = ["ls", "centre", "knn:k=3", "svm:c=2", "linsvm"] if name.endswith("Classifier") else ["ls", "lad", "knn:k=4", "svm"]
        parameters["head"] = str(random.choice(heads))
        words += ["--head", parameters["head"]]
        used.add("head")
    if random.random() < 0.2:
        parameters["novelty"] = 0.1
        words += ["--novelty", "0.1"]
        used.add("novelty")
    if "intervals" in known and random.random() < 0.2:
        parameters["intervals"] = True
        words += ["--intervals", "on"]
        used.add("intervals")
    if used & {"novelty", "intervals"} and random.random() < 0.5:
        parameters["keep"] = "fitted"
        words += ["--keep", "fitted"]
    parameters["random_state"] = int(random.integers(1, 1000))
    return parameters, words + ["--seed", str(parameters["random_state"])], used


def run(*words):
    return subprocess.run([MERCER, *map(str, words)], capture_output=True, text=True, check=False, timeout=120)


def write_table(path, X, extra=None):
    """A CSV file that holds every bit; extra: (name, values) of a last column."""
    names = [f"x{i}" for i in range(X.shape[1])] + ([extra[0]] if extra else [])
    lines = [",".join([*map(repr, map(float, row)), *([str(extra[1][i])] if extra else [])]) for i, row in enumerate(X)]
    pathlib.Path(path).write_text("\n".join([",".join(names), *lines]) + "\n")


def compare(name, seed):
    random = np.random.default_rng(seed)
    cls = getattr(mercer, name)
    classes = 2 if cls.__dict__.get("_two_classes") or cls._method in ("blf", "kboost") else 3
    X = random.normal(size=(ROWS, COLUMNS)) + 2.0 * random.normal(size=(classes, COLUMNS))[np.arange(ROWS) % classes]
    y, extra = None, None
    if name.endswith("Classifier"):
        y = np.array(["cab"[i % classes] for i in range(ROWS)])  # classes appear in another order than theirs
        extra = ("label", y)
    elif name.endswith("Regressor"):
        y = X[:, 0] + np.sin(X[:, 1]) + 0.1 * random.normal(size=ROWS)
        extra = ("target", [repr(float(value)) for value in y])
    write_table("rows.csv", X, extra)
    new = random.normal(size=(40, COLUMNS)) * 2
    write_table("new.csv", new)
    wanted = {key["key"] for key in METHODS[cls._method]["parameters"]} - {"components", "validation"}
    wanted |= {"kernel"} & set(inspect.signature(cls).parameters)
    fits = 0
    for _ in range(MAX_TRIES):
        parameters, words, used = draw(random, name)
        told = run("fit", "rows.csv", *words, "-o", "cli.model", "--quiet")
        told_words = f"{cls.__name__}({parameters}): mercer fit {' '.join(words)}"
        estimator = cls(**parameters)
        try:
            with quiet():
                estimator.fit(X, y) if y is not None else estimator.fit(X)
        except (mercer.MercerError, ValueError) as error:
            if told.returncode == 0:
                raise Fault(f"{told_words}: only the estimator refuses: {error}") from error
            continue
        if told.returncode != 0:
            raise Fault(f"{told_words}: only the command line refuses: {told.stderr}")
        fits += 1
        wanted -= used
        assert run("transform", "cli.model", "new.csv", "-o", "features.npy").returncode == 0
        if not same(np.load("features.npy").reshape(40, -1), estimator.transform(new)):
            raise Fault(f"{told_words}: features differ by "
                        f"{np.abs(np.load('features.npy').reshape(40, -1) - estimator.transform(new)).max()}")
        for part in ("coefficients", "spectrum", "selected", "z", "weights", "head.weights", "head.intercept"):
            ours, theirs = estimator.model_.array(part), mercer.load("cli.model").array(part)
            assert (ours is None) == (theirs is None) and (ours is None or same(ours, theirs)), f"{told_words}: {part}"
        if y is not None:
            told = run("predict", "cli.model", "new.csv", "-o", "predicted.csv")
            assert told.returncode == 0, told.stderr
            lines = [line.split(",")[0] for line in pathlib.Path("predicted.csv").read_text().splitlines()[1:]]
            ours = estimator.predict(new)
            theirs = lines if name.endswith("Classifier") else [float(line) for line in lines]
            if list(ours) != theirs:
                raise Fault(f"{told_words}: predictions differ: {list(ours)[:5]} {theirs[:5]}")
        if not wanted and fits >= 6:
            return
    raise Fault(f"{name}: {fits} fits; never part of one: {', '.join(sorted(wanted)) or 'nothing'}")


def _make(name, seed):
    def bits():
        compare(name, seed)
    bits.__name__ = f"bits_of_{name}"
    test(bits)


for number, each in enumerate(CLASSES):
    _make(each, number)

if __name__ == "__main__":
    sys.exit(run_tests())
