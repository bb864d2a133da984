#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernel ridge regression and learnt maps against scikit-learn: run_ridge.py [--build BUILD] [--quick]

Writes RESULTS-ridge.md and results-ridge.json to BUILD/bench and prints the former. Measured are krr against KernelRidge
on the ring, the time and memory of krr on many rows, and the error of krr with and without a learnt map on tables beside
a random forest and a gradient booster whose keys folds chose. Each aim stands beside its figure.

--quick makes it a smoke test on small data. Tables that are not there are left out, with a line. The status is 1 when a
measurement failed or predictions are not those of KernelRidge.
"""
import sys

import numpy as np

from common import BENCH, PYTHON, RING_GAMMA, judge_parts, markdown, rbf, ring, seconds, times

THREADS = 2
DATA = BENCH.parent.parent / "shared" / "data"
TABLES = ("pumadyn32nm", "bank32nm", "ailerons.train", "pol", "baseball")
ALPHA = 1e-3
AIM_KERNEL_RIDGE, AIM_GIGABYTES = 10, 2


def predictions(bench, model, data, count):
    """What a model predicts of the first rows of a table."""
    new, out = bench.folder / "new.npy", bench.folder / "predicted.npy"
    np.save(new, np.load(data)[:count, :-1])
    bench.checked("predict", bench.run([bench.build / "mercer", "predict", model, new, "-o", out, "--json", "--quiet"],
                                       THREADS, 600)[0])
    return np.load(out)[:, 0]


# ---- KernelRidge ----

def measure_kernel_ridge(bench):
    """[rows, krr, KernelRidge, faster, agree]: same kernel, same ridge, no centring."""
    lines, model, other = [], bench.folder / "r.model", bench.folder / "theirs.npy"
    for rows in (300,) if bench.quick else (5000, 20000):
        x, random = ring(rows), np.random.default_rng(2)
        y = np.cos(3 * np.arctan2(x[:, 1], x[:, 0])) + x[:, 0] / 8 + random.normal(size=rows) / 10
        data = bench.data(f"ridge{rows}", np.c_[x, y])
        ours = bench.fastest_fit(f"krr, ring of {rows}", data, "-m", f"krr:ridge={ALPHA / rows!r}", "-k", rbf(RING_GAMMA),
                                 "--target", 3, "--center", "none", "-o", model, repeats=1 if bench.quick else 3)
        theirs = bench.checked(f"KernelRidge, ring of {rows}", bench.run(
            [PYTHON, BENCH / "peer_ridge.py", "kernel", data, RING_GAMMA, ALPHA, 1, other], THREADS, 1200)[0])
        if ours and theirs:
            off = np.abs(predictions(bench, model, data, 200) - np.load(other)).max()
            bench.expect(off < 1e-6, f"ring of {rows}: predictions differ from KernelRidge by {off:.1e}")
            lines.append([rows, ours["seconds"], theirs["fit_s"], theirs["fit_s"] / ours["seconds"], off])
    bench.judge("times faster than KernelRidge, ring, most rows", [line[3] for line in lines[-1:]], AIM_KERNEL_RIDGE,
                most=False)
    return lines


def measure_large(bench):
    """[rows, ridge, store, passes, time, peak]: normal rows of 20 columns, which no few rows span."""
    lines = []
    for rows in (300,) if bench.quick else (100000,):
        random = np.random.default_rng(1)
        x = random.normal(size=(rows, 20))
        y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + random.normal(size=rows) / 10
        answer = bench.fastest_fit(f"krr, {rows} x 20", bench.data(f"large{rows}", np.c_[x, y]), "-m", "krr", "-k",
                                   "rbf:sigma=6", "--target", 21, "--memory", "1900M", cap=3600)
        if answer:
            lines.append([rows, answer["method_spec"], answer["store"], answer["passes"], answer["seconds"],
                          answer["peak_memory_bytes"] / 1e9])
    bench.judge("gigabytes of 100,000 x 20" if not bench.quick else "gigabytes", [line[5] for line in lines], AIM_GIGABYTES)
    return lines


# ---- maps ----

def split(bench, name):
    """Standardised rows to learn from and to judge by, as files; None where there is no such table."""
    path = DATA / f"{name}.csv"
    if not path.exists():
        bench.leave_out(f"{path.name}: not beside the repository")
        return None
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    table = table[np.random.default_rng(1).permutation(len(table))]
    cut = 100 if bench.quick else min(1800, int(.6 * len(table)))
    table = table[:300] if bench.quick else table[:3300]
    return bench.data(f"{name}-learn", table[:cut]), bench.data(f"{name}-test", table[cut:])


def error_of(bench, name, learn, test, *more):
    """(squared error over variance, map) of krr."""
    model = bench.folder / "map.model"
    answer = bench.fastest_fit(f"krr, {name} {' '.join(more)}", learn, "-m", "krr", "--scale", "standard", "--target",
                               np.load(learn).shape[1], "-o", model, *more)
    if not answer:
        return None
    truth = np.load(test)[:, -1]
    return float(np.mean((predictions(bench, model, test, len(truth)) - truth)**2) / truth.var())


def measure_maps(bench):
    """[table, krr, krr with a map, forest, booster]"""
    lines = []
    for name in TABLES[-1:] if bench.quick else TABLES:
        files = split(bench, name)
        if not files:
            continue
        ours = [error_of(bench, name, *files), error_of(bench, name, *files, "--map", "agop")]
        trees = [bench.checked(f"{peer}, {name}", bench.run([PYTHON, BENCH / "peer_ridge.py", peer, *files], THREADS, 3600)[0])
                 for peer in (() if bench.quick else ("forest", "booster"))]
        if None not in ours and None not in trees:
            lines.append([name.split(".")[0], *ours, *(tree["error"] for tree in trees)])
    if not bench.quick and lines:
        bench.judge("share of tables where a map beats forest and booster",
                    [np.mean([line[2] < min(line[3:]) for line in lines])], .5, most=False)
    return lines


def report(found):
    """The tables; found has what measure() gave."""
    trees = any(len(line) > 3 for line in found["maps"])
    return ["## KernelRidge\n", "The ring, one target, the same kernel and ridge, no centring, fits alone. Predictions of 200 "
            "rows must agree to 1e-6, or the run fails.\n",
            markdown(["rows", "krr", "KernelRidge", "faster by", "largest difference"],
                     [[rows, seconds(ours), seconds(theirs), times(faster), f"{off:.1e}"]
                      for rows, ours, theirs, faster, off in found["kernel_ridge"]]),
            "## Many rows\n", "20 normal columns, `rbf:sigma=6`, the ridge by leave-one-out, `--memory 1900M`.\n",
            markdown(["rows", "method", "store", "passes", "time", "peak, GB"],
                     [[rows, spec, store, passes, seconds(took), f"{peak:.2f}"]
                      for rows, spec, store, passes, took, peak in found["large"]]),
            "## Learnt maps and trees\n", "Squared error of rows not learnt from over the variance of their targets. 1800 rows to "
            "learn from (60 % of a smaller table). All choices are made inside these rows: the ridge, the map's steps and form; "
            "for the trees 12 and 24 settings by three folds.\n",
            markdown(["table", "krr", "krr, --map agop"] + ["random forest", "gradient booster"] * trees,
                     [[line[0]] + [f"{error:.3f}" for error in line[1:]] for line in found["maps"]])]


def measure(bench):
    return {"kernel_ridge": measure_kernel_ridge(bench), "large": measure_large(bench), "maps": measure_maps(bench)}


if __name__ == "__main__":
    sys.exit(judge_parts(__doc__, "kernel ridge and learnt maps", THREADS, ("krr",), measure, report,
                         "-ridge"))
