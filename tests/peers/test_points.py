#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows drawn by what is left of them against the method as published, in plain numpy.

    test_points.py MERCER [SEEDS [WORD...]]

RPCholesky (Chen, Epperly, Tropp, Webber 2023) draws one row at a time. `nystroem:sampling=rpcholesky` draws several
and takes each with the probability that it still has, which must give the same points in distribution. So the traces
that both leave out are compared: means over SEEDS draws (20), in standard errors of their difference, over tables,
kernels and numbers of points. The draws of both are fixed by seeds, so that the figures do not change from run to run.
"""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import check, close, output, program, run_parts, scratch  # noqa: E402

MERCER = program()
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20


def squares(x):
    norms = (x * x).sum(1)
    return np.maximum(norms[:, None] + norms - 2 * x @ x.T, 0)


def ring(random, rows):
    angle = random.uniform(0, 2 * np.pi, rows)
    return np.c_[np.cos(angle), np.sin(angle)] * 8 + random.normal(size=(rows, 2))


TABLES = {"ring": ring, "cube": lambda random, rows: random.uniform(size=(rows, 3)), "normal":
          lambda random, rows: random.normal(size=(rows, 10)), "heavy tails":
          lambda random, rows: random.standard_t(2, (rows, 5)), "twins":
          lambda random, rows: np.repeat(random.normal(size=(rows // 2, 4)), 2, axis=0), "clusters":
          lambda random, rows: random.normal(size=(rows, 3)) * .1 + 5 * random.integers(0, 8, rows)[:, None]}
# Those whose values of a row with itself differ weigh the first draws, too.
KERNELS = {"rbf:sigma=2": lambda x: np.exp(-squares(x) / 8), "laplacian:gamma=0.5":
           lambda x: np.exp(-.5 * np.abs(x[:, None] - x).sum(2)), "poly:degree=3,gamma=0.1,coef0=1":
           lambda x: (.1 * x @ x.T + 1)**3}
ROUNDING = 1e-10  # as a share of the trace: more is left of every case that few rows do not span
CASES = [(rows, points) for rows in (90, 300) for points in (1, 6, 25)]


def published(matrix, points, random):
    """The share of the trace that `points` draws leave, one after the other."""
    left, factor = matrix.diagonal().copy(), np.zeros((len(matrix), points))
    for k in range(points):
        if left.sum() <= ROUNDING * matrix.trace():  # few rows span all
            return 0
        row = random.choice(len(left), p=left / left.sum())
        column = matrix[:, row] - factor @ factor[row]
        factor[:, k] = column / np.sqrt(column[row])
        left = np.maximum(left - factor[:, k]**2, 0)
        left[row] = 0
    return left.sum() / matrix.trace()


def ours(spec, points):
    told = json.loads(output(MERCER, "fit", "x.npy", "-m", f"nystroem:points={points},sampling=rpcholesky", "-k", spec, "-n",
                             points, "--center", "none", "--seed", ours.seed, "-o", "x.model", "--json", "--quiet"))
    ours.seed += 1
    return told["left_out_share"]


def same_distribution():
    errors, ours.seed = [], 1
    for at, (name, table) in enumerate(TABLES.items()):
        for spec, kernel in KERNELS.items():
            rows, points = CASES[(at + 2 * list(KERNELS).index(spec)) % len(CASES)]
            random = np.random.default_rng(len(errors))
            x = table(random, rows)
            np.save("x.npy", x)
            matrix = kernel(x)
            theirs = np.array([published(matrix, points, random) for _ in range(SEEDS)])
            found = np.array([ours(spec, points) for _ in range(SEEDS)])
            spread = np.sqrt((theirs.var(ddof=1) + found.var(ddof=1)) / SEEDS)
            errors.append((found.mean() - theirs.mean()) / max(spread, ROUNDING))
            print(f"{name}, {spec}, {points} of {rows} rows: {found.mean():.4g}, as published {theirs.mean():.4g}, "
                  f"{errors[-1]:+.1f} standard errors")
    errors = np.abs(errors)
    # One of 20 honest differences is above two standard errors, one of 16,000 above four.
    check("means over seeds are within two standard errors", np.mean(errors <= 2) >= .85, f"{np.sum(errors <= 2)} of {len(errors)}")
    check("none is above four", errors.max() <= 4, f"{errors.max():.1f}")


def all_tables_together():
    """A small shift that no table shows alone: shares of the published mean, averaged over 60 small tables."""
    shares, ours.seed = [], 100000
    for index in range(60):
        random = np.random.default_rng(1000 + index)
        x = TABLES["heavy tails"](random, 60) if index % 2 else TABLES["normal"](random, 60)
        np.save("x.npy", x)
        matrix = KERNELS["rbf:sigma=2"](x)
        theirs = np.mean([published(matrix, 12, random) for _ in range(SEEDS)])
        shares.append(np.mean([ours("rbf:sigma=2", 12) for _ in range(max(SEEDS // 5, 1))]) / theirs)
    error = (np.mean(shares) - 1) / (np.std(shares, ddof=1) / np.sqrt(len(shares)))
    check("60 tables together are within three standard errors", abs(error) <= 3, f"{error:+.1f}, {np.mean(shares):.4f} of it")


with scratch():
    run_parts([same_distribution, all_tables_together], sys.argv[3:])
sys.exit(close())
