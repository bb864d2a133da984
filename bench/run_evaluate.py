#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer evaluate against scikit-learn's GridSearchCV: run_evaluate.py [--build BUILD] [--quick]

Writes RESULTS-evaluate.md and results-evaluate.json to BUILD/bench and prints the former. Nested
cross-validation of kernel PCA with five neighbours or least squares on the Wisconsin breast cancer
data (569 x 30, scikit-learn's own copy): 5 folds drawn 3 times, 5 inner folds, 8 widths, every number
of features. Both programs are given the same folds. With nothing tuned their errors must be equal,
or the run fails; tuned, the inner folds are each program's own.

--quick makes it a smoke test on few rows. The status is 1 when a measurement failed or errors differ.
"""
import sys
import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedStratifiedKFold

from common import BENCH, PYTHON, Judge, machine, markdown, parse_options, publish, seconds, times, yes

THREADS = 2
AIM = 20
FIXED_SIGMA, FIXED_COMPONENTS = 8, 10


class Work:
    """Data and folds, as files; how much is tried."""

    def __init__(self, bench):
        self.data, self.splits = bench.folder / "wdbc.csv", bench.folder / "wdbc.splits"
        self.sigmas = [2, 8] if bench.quick else [1, 2, 4, 8, 16, 32, 64, 128]
        self.components, self.inner = (4, 2) if bench.quick else (30, 5)
        self.peer_folds = 2 if bench.quick else 3  # of the 15: scikit-learn would take minutes for all
        wdbc = load_breast_cancer()
        rows = 120 if bench.quick else len(wdbc.data)
        with open(self.data, "w", encoding="utf-8") as out:
            print(",".join(name.replace(" ", "_") for name in wdbc.feature_names) + ",label", file=out)
            for row, code in zip(wdbc.data[:rows], wdbc.target[:rows]):
                print(",".join(map(repr, row.tolist())) + "," + wdbc.target_names[code], file=out)
        folds = RepeatedStratifiedKFold(n_splits=3 if bench.quick else 5, n_repeats=1 if bench.quick else 3,
                                        random_state=1)
        training = [train for train, _ in folds.split(wdbc.data[:rows], wdbc.target[:rows])]
        self.folds = len(training)
        self.splits.write_text("".join(",".join(map(str, train)) + "\n" for train in training))


def ours(bench, work, what, head, *more):
    answer, _ = bench.run([bench.build / "mercer", "evaluate", work.data, "-m", "kpca", "--head", head, "--scale",
                           "standard", "--split", work.splits, "--threads", THREADS, "--json", "--quiet", *more],
                          THREADS, 900)
    return bench.checked(f"mercer evaluate, {what}", answer)


def theirs(bench, work, what, head, folds, components, inner, sigmas):
    answer, _ = bench.run([PYTHON, BENCH / "peer_evaluate.py", head, work.data, work.splits, folds, components, inner,
                           THREADS, *sigmas], 1, 1800)
    return bench.checked(f"scikit-learn, {what}", answer)


def values(answer):
    return [fold["value"] for fold in answer["folds"]]


def measure_fixed(bench, work, name, head):
    """[head, mean error, the same by scikit-learn, largest difference of a fold]"""
    what = f"{name}, nothing tuned"
    mine = ours(bench, work, what, head, "-k", f"rbf:sigma={FIXED_SIGMA}", "-n", FIXED_COMPONENTS)
    peer = theirs(bench, work, what, name, work.folds, FIXED_COMPONENTS, 0, [FIXED_SIGMA])
    if not (mine and peer):
        return []
    off = float(np.max(np.abs(np.array(values(mine)) - peer["errors"])))
    bench.expect(off < 1e-12, f"{name}: errors of a fold differ by {off}")
    return [[name, f"{mine['mean']:.4f}", f"{np.mean(peer['errors']):.4f}", f"{off:.1g}"]]


def measure_tuned(bench, work, name, head):
    """{head, fits, seconds and error of both, faster}; times of scikit-learn are scaled to all folds."""
    what = f"{name}, tuned"
    mine = ours(bench, work, what, head, "--inner", work.inner, "--tune",
                "kernel.sigma=" + ",".join(map(str, work.sigmas)), "--tune", f"components=1:{work.components}:+1")
    peer = theirs(bench, work, what, name, work.peer_folds, work.components, work.inner, work.sigmas)
    if not (mine and peer):
        return []
    scaled = peer["seconds"] * work.folds / work.peer_folds
    return [{"head": name, "choices": len(work.sigmas) * work.components, "seconds": mine["seconds"],
             "peer_seconds": scaled, "faster": scaled / mine["seconds"], "error": mine["mean"],
             "error_there": float(np.mean(values(mine)[:work.peer_folds])), "peer_error": float(np.mean(peer["errors"]))}]


def report(bench, work, fixed, tuned, about, taken):
    some = f"the first {work.peer_folds}"
    parts = ["# Benchmark: evaluate\n", f"{about}; {taken:.0f} s in all, {THREADS} threads.\n",
             "## Aims\n", markdown(["figure", "aim", "worst", "met"], bench.aims),
             "## Nested cross-validation\n",
             f"{work.folds} folds, {work.inner} inner folds, {len(work.sigmas)} widths x {work.components} numbers of "
             "features, columns scaled in each fold. GridSearchCV has `n_jobs=2`; its time is that of "
             f"{some} folds, scaled to all {work.folds}. Errors of {some} folds stand side by side: inner folds are "
             "each program's own, so they need not be equal.\n",
             markdown(["head", "choices", "mercer evaluate", "GridSearchCV", "faster by", f"at least {AIM}x",
                       "error, all folds", f"error, {some}", "scikit-learn's"],
                      [[row["head"], row["choices"], seconds(row["seconds"]), seconds(row["peer_seconds"]),
                        times(row["faster"]), yes(row["faster"] >= AIM), f"{row['error']:.4f}",
                        f"{row['error_there']:.4f}", f"{row['peer_error']:.4f}"] for row in tuned]),
             "## The same errors\n",
             f"Nothing tuned: sigma {FIXED_SIGMA}, {FIXED_COMPONENTS} features, all {work.folds} folds.\n",
             markdown(["head", "mercer evaluate", "scikit-learn", "largest difference of a fold"], fixed)]
    return "\n".join(parts)


def main():
    options = parse_options(__doc__)
    start, about = time.monotonic(), machine(options.build)
    bench = Judge(options.build, options.quick, ("kpca",))
    work = Work(bench)
    fixed, tuned = [], []
    for name, head in (("knn", "knn:k=5"), ("ls", "ls")):
        fixed += measure_fixed(bench, work, name, head)
        tuned += measure_tuned(bench, work, name, head)
    bench.judge("times faster than GridSearchCV", [row["faster"] for row in tuned], AIM, most=False)
    text = report(bench, work, fixed, tuned, about, time.monotonic() - start)
    return publish(bench, options, text, {"machine": about, "aims": bench.aims, "fixed": fixed, "tuned": tuned},
                   "-evaluate")


if __name__ == "__main__":
    sys.exit(main())
