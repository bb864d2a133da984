#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is chosen for the user, and what it saves: run_stores.py [--build BUILD] [--quick]

Writes RESULTS-stores.md and results-stores.json to BUILD/bench and prints the former. Measured are fits with
--store auto beside every store that can be forced, on tables whose kernel matrices are low-rank, nearly so, or not; models on
pivots beside those on all rows; and what a fit or a transform of little data costs beyond its arithmetic. Each aim stands
beside its figure.

--quick makes it a smoke test on small data. The status is 1 when a measurement failed, or when features of the two models
differ.
"""
import subprocess
import sys
import time

import numpy as np

from common import RING_GAMMA, digits, judge_parts, markdown, rbf, ring, seconds, times

THREADS = 2
AIM_AUTO, AIM_TRANSFORM, AIM_FILE = 1.15, 500, 100
COMPONENTS = 10
FORCED = ("lowrank", "dense", "stream")


def tables(rows):
    """Name: rows and the width of the kernel."""
    random = np.random.default_rng(1)
    cube = random.uniform(size=(rows, 3))
    found = {f"cube, sigma {sigma}": (cube, sigma) for sigma in (.2, .3, .4, .5)}
    found |= {f"normal, {d} columns": (random.normal(size=(rows, d)), sigma) for d, sigma in ((5, 3), (10, 4), (20, 6))}
    return found | {"ring": (ring(rows), 4)}


def measure_auto(bench):
    """[table, rows, store that auto took, seconds of auto, {store: seconds}]"""
    lines = []
    sizes = (400,) if bench.quick else (3000, 8000, 20000)
    work = [(name, *table) for rows in sizes for name, table in tables(rows).items()]
    work.append(("digits", digits(bench.quick)[0], 8 ** .5))
    for name, rows, sigma in work:
        data, spent, taken = bench.data("stores", rows), {}, None
        # Nothing spans rows of many columns: their factor would take minutes.
        stores = ("auto", *(FORCED if rows.shape[1] < 10 or bench.quick else FORCED[1:]))
        for _ in range(1 if bench.quick else 3):
            for store in stores:
                answer = bench.checked(f"{name}, {len(rows)} rows, {store}",
                                       bench.fit(data, "kpca", f"rbf:sigma={sigma}", COMPONENTS, THREADS, 1, store=store))
                if answer:
                    spent.setdefault(store, []).append(answer["fit_s"])
                    taken = answer["store"] if store == "auto" else taken
        if len(spent) == len(stores):
            best = {store: float(min(found)) for store, found in spent.items()}
            lines.append([name, len(rows), taken, best.pop("auto"), best])
    bench.judge("time of --store auto over that of the best store", [line[3] / min(line[4].values()) for line in lines], AIM_AUTO)
    return lines


def measure_compact(bench):
    """[points, kB of the file, rows per second] of models on pivots and on all rows."""
    rows, counts = (4000, {"auto": 2000, "all": 200}) if bench.quick else (400000, {"auto": 1000000, "all": 1000})
    data, lines, features = bench.data("compact", ring(rows)), [], []
    for points, new in counts.items():
        fresh = bench.data("fresh", .99 * ring(max(counts.values()))[:new])
        model, output = bench.folder / f"compact-{points}.model", bench.folder / f"compact-{points}.npy"
        told = bench.fastest_fit(f"points={points}", data, "-m", f"kpca:points={points}", "-k", rbf(RING_GAMMA), "-n", COMPONENTS,
                                 "--store", "lowrank", "--memory", "8G", "-o", model, threads=THREADS)
        if not told:
            return []
        taken = []
        for _ in range(3):
            answer, _ = bench.run([bench.build / "mercer", "transform", model, fresh, "-o", output, "--threads", THREADS, "--json"],
                                  THREADS, 300)
            if not bench.checked(f"transform, points={points}", answer):
                return []
            taken.append(answer["seconds"])
        features.append(np.load(output))
        lines.append([told["expansion_points"], model.stat().st_size / 1e3, new / min(taken)])
    off = np.abs(features[0][:len(features[1])] - features[1]).max() / np.abs(features[1]).max()
    bench.expect(off < 1e-9, f"features of the two models differ by {off:.1e}")
    bench.judge("rows per second of a model on pivots over one on all rows", [lines[0][2] / lines[1][2]], AIM_TRANSFORM, most=False)
    bench.judge("kB of a model on pivots", [lines[0][1]], AIM_FILE)
    return lines


def whole_command(words, repeats):
    """The least wall seconds of a command."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(list(map(str, words)), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
        taken.append(time.perf_counter() - start)
    return min(taken)


def measure_small(bench):
    """[what, seconds of the work alone, of the whole command]"""
    repeats, mercer = 2 if bench.quick else 20, bench.build / "mercer"
    lines = [["`true`", None, whole_command(["true"], repeats)],
             ["`mercer --version`", None, whole_command([mercer, "--version"], repeats)]]
    for rows in (20, 100, 300, 499):
        data = bench.data(f"few{rows}", np.random.default_rng(1).normal(size=(rows, 5)))
        model, words = bench.folder / "few.model", ["-m", "kpca", "-n", 5, "-k", "rbf:sigma=2", "--threads", THREADS, "--quiet"]
        alone = bench.checked(f"{rows} rows", bench.fit(data, "kpca", "rbf:sigma=2", 5, THREADS, repeats))
        if not alone:
            return lines
        lines.append([f"fit of {rows} rows", alone["fit_s"], whole_command([mercer, "fit", data, *words, "-o", model], repeats)])
        one = bench.data("one", np.random.default_rng(2).normal(size=(1, 5)))
        told = min((bench.run([mercer, "transform", model, one, "--json", "-o", bench.folder / "one-out.npy"], 1, 60)[0]["seconds"]
                    for _ in range(repeats)), default=None)
        lines.append([f"transform of one row, {rows} points", told,
                      whole_command([mercer, "transform", model, one, "-o", bench.folder / "one-out.npy"], repeats)])
    return lines


def measure(bench):
    return {"auto": measure_auto(bench), "compact": measure_compact(bench), "small": measure_small(bench)}


def report(found):
    return ["## The store that is chosen\n",
            f"Fits of {COMPONENTS} components, the least of three rounds in turn, in which every store has its turn.\n",
            markdown(["table", "rows", "chosen", "auto", *FORCED, "auto over the best"],
                     [[name, rows, store, seconds(auto), *(seconds(best.get(forced)) for forced in FORCED),
                       f"{auto / min(best.values()):.2f}"] for name, rows, store, auto, best in found["auto"]]),
            "## Models on pivots\n",
            "Kernel PCA of a ring on the low-rank store; the model keeps the rows that span the others, or all (`points=all`).\n",
            markdown(["points", "file", "new rows per second", "times as many"],
                     [[f"{points:,}", f"{size:,.0f} kB", f"{rate:,.0f}", times(rate / found["compact"][1][2])]
                      for points, size, rate in found["compact"]]),
            "## Little data\n",
            "Seconds of the work alone, as the library takes them (a transform with reading and writing), and of the whole "
            "command with its start; the least of twenty.\n",
            markdown(["work", "alone", "whole command"],
                     [[what, seconds(alone), seconds(whole)] for what, alone, whole in found["small"]])]


if __name__ == "__main__":
    sys.exit(judge_parts(__doc__, "what is chosen", THREADS, ("kpca",), measure, report, "-stores"))
