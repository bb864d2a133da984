#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the Python package costs over the library, and beside scikit-learn: run_python.py [--build BUILD] [--quick]

One row through transform (the case in which only overhead counts) by the estimator, by the calls of the
library that it makes, and by scikit-learn's KernelPCA: the smallest times of several rounds. And a fit of the digits by
the estimator, by scikit-learn and by the command line, as it tells its own time (without start and reading) and as the
shell sees it: medians of rounds in turn, with their quartiles.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as TheirKernelPCA

ROOT = pathlib.Path(__file__).resolve().parent.parent
GAMMA = 0.001


def smallest(call, rounds, times=1, clock=time.perf_counter):
    """Seconds of one call, in the best round; of a call on one thread best by time.thread_time."""
    best = float("inf")
    for _ in range(rounds):
        start = clock()
        for _ in range(times):
            call()
        best = min(best, (clock() - start) / times)
    return best


def one_row(X, points, rounds, times):
    """(microseconds of the estimator over the library, times faster than scikit-learn), both without threads. The three
    take turns, so that a busy machine slows all of them down."""
    from threadpoolctl import threadpool_limits

    import mercer
    from mercer import _core, _runtime
    ours = mercer.KernelPCA(50, gamma=GAMMA, n_jobs=1).fit(X[:points])
    theirs = TheirKernelPCA(50, kernel="rbf", gamma=GAMMA).fit(X[:points])
    row, out, context = X[:1].copy(), np.empty((1, 50)), _runtime.take_context(threads=1)

    def plain():
        _core.transform(context, ours.model_, _core.rows_dense(context, row, None), None, out, None)

    calls = (plain, lambda: ours.transform(row), lambda: theirs.transform(row))
    with threadpool_limits(1):
        taken = [min(seconds) for seconds in
                 zip(*([smallest(call, 1, times, time.thread_time) for call in calls] for _ in range(rounds)))]
    for name, seconds in zip(("calls of the library", "estimator", "scikit-learn"), taken):
        print(f"| one row, {points} points, {name} | {1e6 * seconds:.1f} us |")
    return 1e6 * (taken[1] - taken[0]), taken[2] / taken[1]


def measure_fits(program, table, rows, rounds):
    """{who: seconds of each round} of the same fit. All take turns, so that a machine in a mood slows all of them down."""
    import mercer
    ours = mercer.KernelPCA(50, gamma=GAMMA, n_jobs=2)
    theirs = TheirKernelPCA(50, kernel="rbf", gamma=GAMMA)
    command = [program, "fit", table, "-m", "kpca", "-k", f"rbf:gamma={GAMMA}", "-n", "50", "--threads", "2", "--json"]
    fits = {"estimator": [], "command line, its own time": [], "command line, from the shell": [], "scikit-learn": []}
    for _ in range(rounds):
        fits["estimator"].append(smallest(lambda: ours.fit(rows), 1))
        fits["scikit-learn"].append(smallest(lambda: theirs.fit(rows), 1))
        start = time.perf_counter()
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        fits["command line, from the shell"].append(time.perf_counter() - start)
        fits["command line, its own time"].append(json.loads(told)["seconds"])
    return fits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true", help="accepted like the other benches; nothing is published")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    sys.path.insert(0, str(build / "python"))
    import mercer

    X = load_digits().data
    rows = X[:300] if options.quick else X
    few, times = (3, 50) if options.quick else (10, 500)
    folder = build / "bench"
    folder.mkdir(exist_ok=True)
    np.save(folder / "digits.npy", rows)
    fits = measure_fits(build / "mercer", folder / "digits.npy", rows, 3 if options.quick else 15)

    print("| work | time |\n|---|---|")
    over, times_faster = zip(*(one_row(X, points, few, times) for points in ((200,) if options.quick else (300, len(X)))))
    for name, seconds in fits.items():
        low, middle, high = np.percentile(seconds, (25, 50, 75))
        print(f"| fit of the digits, {name} | {1e3 * middle:.1f} ms ({1e3 * low:.1f} to {1e3 * high:.1f}) |")
    cli, started, ours = (np.median(fits[name]) for name in ("command line, its own time", "command line, from the shell", "estimator"))
    print(f"\nOne row: at most {max(over):.1f} us over the library (aim: 40), at least {min(times_faster):.1f} times "
          f"faster than scikit-learn (aim: 5). Fit: {cli / ours:.2f} times the speed of the command line's own fit (aim: 1), "
          f"{started / ours:.2f} times that of the command.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
