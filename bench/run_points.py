#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sampled points against greedy ones: run_points.py [--build BUILD] [--quick]

Writes RESULTS-points.md and results-points.json to BUILD/bench and prints the former. Measured is what
nystroem:sampling=rpcholesky leaves out at which time, beside akfa and beside points that are drawn alike. Each aim stands
beside its figure.

--quick makes it a smoke test on small data. The status is 1 when a measurement failed.
"""
import sys

import numpy as np
from sklearn.datasets import load_digits

from common import judge_parts, markdown, ring, seconds, times

THREADS = 2
AIM_LEFT_OUT, AIM_AKFA_TIME, AIM_UNIFORM = 2, 20, 1.05


def samples(rows):
    """Name: rows and a width of the kernel; digits where there are enough of them."""
    random, images = np.random.default_rng(1), load_digits().data / 16
    found = {"ring": (ring(rows), 4), "cube": (random.uniform(size=(rows, 3)), .5), "normal, 10 columns":
             (random.normal(size=(rows, 10)), 3), "heavy tails": (random.standard_t(2, (rows, 5)), 3)}
    return {**found, "digits": (images[:rows], 3)} if rows <= 2000 else found


def measure_size(bench, count, points):
    """[name, rows, store of akfa, left out by akfa, rpcholesky, uniform; seconds of akfa, rpcholesky, akfa on the matrix]"""
    lines, seeds = [], range(1, 2 if bench.quick else 17)
    for name, (rows, sigma) in samples(count).items():
        data, words = bench.data("points", rows), ("-k", f"rbf:sigma={sigma}", "-n", points, "--center", "none")
        slow = {store: bench.fastest_fit(f"akfa, {name}, {store}", data, "-m", "akfa", *words, "--store", store, threads=THREADS,
                                         repeats=1 if bench.quick else 3) for store in ("auto", "dense")}
        greedy = slow["auto"]
        left = {sampling: [bench.fastest_fit(f"{sampling}, {name}", data, "-m", f"nystroem:points={points},sampling={sampling}",
                                             *words, "--seed", seed, threads=THREADS) for seed in seeds]
                for sampling in ("rpcholesky", "uniform")}
        if None in slow.values() or None in left["rpcholesky"] + left["uniform"]:
            continue
        share = {sampling: float(np.mean([answer["reconstruction_error"] for answer in answers]))
                 for sampling, answers in left.items()}
        lines.append([name, len(rows), greedy["store"], greedy["reconstruction_error"], share["rpcholesky"], share["uniform"],
                      greedy["seconds"], min(answer["seconds"] for answer in left["rpcholesky"]), slow["dense"]["seconds"]])
    return lines


def measure(bench):
    lines, points = [], 20 if bench.quick else 100
    for count in (300,) if bench.quick else (2000, 5000, 10000):
        found = measure_size(bench, count, points)
        for what, at in (("akfa", 6), ("akfa on the matrix", 8)):
            bench.judge(f"time of {what} over that of rpcholesky, {count} rows", [line[at] / line[7] for line in found],
                        AIM_AKFA_TIME, most=False)
        lines += found
    bench.judge("left out by rpcholesky over akfa's", [line[4] / line[3] for line in lines], AIM_LEFT_OUT)
    bench.judge("left out by rpcholesky over that of uniform points", [line[4] / line[5] for line in lines], AIM_UNIFORM)
    return {"points": lines, "count": points}


def report(found):
    """The table; found has what measure() gave."""
    return ["## Left out, and time\n", f"The mean squared residual of the rows beside {found['count']} points; sampled ones are "
            "means of sixteen seeds. Seconds are of fits alone.\n",
            markdown(["table", "rows", "store of akfa", "akfa", "rpcholesky", "uniform", "rpcholesky over akfa", "akfa, time",
                      "akfa on the matrix", "rpcholesky, time", "faster than akfa by", "than akfa on the matrix"],
                     [[name, rows, store, f"{a:.3g}", f"{r:.3g}", f"{u:.3g}", f"{r / a:.2f}", seconds(slow),
                       seconds(matrix), seconds(fast), times(slow / fast), times(matrix / fast)]
                      for name, rows, store, a, r, u, slow, fast, matrix in found["points"]])]


if __name__ == "__main__":
    sys.exit(judge_parts(__doc__, "sampled points", THREADS, ("nystroem", "akfa"), measure, report, "-points"))
