#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the Python package costs over the library, and beside scikit-learn: run_python.py [--build BUILD] [--quick]

One row through transform (the case in which only overhead counts) by the estimator, by the calls of the
library that it makes, and by scikit-learn's KernelPCA; and a fit of the digits by the estimator, by
scikit-learn and by the command line, as it tells its own time. Times are the smallest of several rounds.
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true", help="accepted like the other benches; nothing is published")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    sys.path.insert(0, str(build / "python"))
    import mercer
    from mercer import _core, _runtime

    X = load_digits().data
    rows = X[:300] if options.quick else X
    few, times = (3, 50) if options.quick else (10, 500)
    ours = mercer.KernelPCA(50, gamma=GAMMA, n_jobs=2)
    theirs = TheirKernelPCA(50, kernel="rbf", gamma=GAMMA)
    fit_ours = smallest(lambda: ours.fit(rows), 3)
    fit_theirs = smallest(lambda: theirs.fit(rows), 3)
    folder = build / "bench"
    folder.mkdir(exist_ok=True)
    np.save(folder / "digits.npy", rows)
    told = [json.loads(subprocess.run([build / "mercer", "fit", folder / "digits.npy", "-m", "kpca", "-k", f"rbf:gamma={GAMMA}",
                                       "-n", "50", "--threads", "2", "--json"], capture_output=True, text=True, check=True).stdout)
            for _ in range(3)]
    fit_cli = min(one["seconds"] for one in told)

    row, out, context = X[:1].copy(), np.empty((1, 50)), _runtime.take_context()

    def plain():
        _core.transform(context, ours.model_, _core.rows_dense(context, row, None), None, out, None)

    one_plain = smallest(plain, few, times, time.thread_time)
    one_ours = smallest(lambda: ours.transform(row), few, times, time.thread_time)
    one_theirs = smallest(lambda: theirs.transform(row), few, times, time.thread_time)
    print("| work | time |\n|---|---|")
    for name, seconds in (("one row, calls of the library", one_plain), ("one row, estimator", one_ours),
                          ("one row, scikit-learn", one_theirs)):
        print(f"| {name} | {1e6 * seconds:.1f} us |")
    for name, seconds in (("fit of the digits, estimator", fit_ours), ("fit of the digits, command line", fit_cli),
                          ("fit of the digits, scikit-learn", fit_theirs)):
        print(f"| {name} | {1e3 * seconds:.1f} ms |")
    print(f"\nOne row: {1e6 * (one_ours - one_plain):.1f} us over the library (aim: 40), {one_theirs / one_ours:.1f} times "
          f"faster than scikit-learn (aim: 5). Fit: {fit_cli / fit_ours:.2f} times the speed of the command line (aim: 1).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
